//! Prague beside CUBIC over DualPI2: the rates of the runs next to those that the three laws give,
//! in closed form and as a fluid model with random marks.

use units::math::{cbrt, exp};
use units::random::Stream;

use crate::common;

/// RTTs [ms] and rates [Mb/s] of the tables in docs/evidence/l4s-coexistence.md.
const RTTS: [f64; 5] = [5.0, 10.0, 20.0, 50.0, 100.0];
const RATES: [f64; 5] = [4.0, 12.0, 40.0, 120.0, 200.0];
/// Packets [bit].
const PACKET: f64 = 12_000.0;
/// k and target, the same in Linux and in RFC 9332.
const K: f64 = 2.0;
const TARGET: f64 = 0.015;
/// Prague's reference RTT [s].
const REFERENCE: f64 = 0.025;
/// CUBIC's C and beta (RFC 9438, section 5).
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// The model's step [s].
const DT: f64 = 1e-3;

/// Rates of one Prague and one CUBIC flow [Mb/s] over this link and queue: 600 s of which the first
/// half does not count, so that CUBIC gets 30 marks at the least.
fn beside(rate: f64, rtt: f64, queue: &str, seconds: u32) -> (f64, f64) {
    let sets = [
        format!("duration={seconds}s"),
        format!("warmup={}s", seconds / 2),
        format!("topology.rate={rate}Mbps"),
        format!("topology.rtt={rtt}ms"),
        format!("topology.queue={queue}"),
    ];
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let outcome = common::run(&common::example("l4s-coexistence", &sets), 1, 0);
    (common::mean_mbps(&outcome, "prague"), common::mean_mbps(&outcome, "cubic"))
}

/// A link, in packets and seconds.
#[derive(Clone, Copy)]
struct Path {
    /// Packets per second.
    capacity: f64,
    /// Round trip of a scalable packet: the base, its own transmission on the link and on two
    /// access links of ten times its rate, and half a packet that is being sent when it arrives.
    scalable: f64,
    /// Of a classic one whose queue is empty.
    classic: f64,
}

impl Path {
    fn new(rate: f64, rtt: f64) -> Path {
        let capacity = rate * 1e6 / PACKET;
        let classic = rtt * 1e-3 + 1.2 / capacity;
        Path { capacity, scalable: classic + 0.5 / capacity, classic }
    }

    /// Prague's virtual RTT.
    fn virtual_rtt(self) -> f64 {
        self.scalable.max(REFERENCE)
    }
}

/// Marks that Prague gets in a virtual round trip at a constant probability `p`.
///
/// Per round it adds one packet times the unmarked share; a reduction takes half of alpha = p. It
/// reduces at the first mark after a round has passed since it last did, and that mark comes 1/m
/// of a round later, if there are m per round. So m p/2 of p windows goes, and (1 - p)(1 + 1/m)
/// packets come: m^2/2 = (1 - p)(m + 1), at small p m = 1 + sqrt(3).
fn marks_per_round(p: f64) -> f64 {
    let unmarked = 1.0 - p.min(1.0);
    unmarked + (unmarked * unmarked + 2.0 * unmarked).sqrt()
}

/// CUBIC's mean window at a mark in each 1/p packets: RFC 9438, figure 1 with its alpha for the
/// Reno-friendly region, and figure 6 (section 5.1) for the concave one.
fn cubic_window(p: f64, rtt: f64) -> f64 {
    let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
    let reno = (alpha * (1.0 + BETA) / (2.0 * (1.0 - BETA) * p)).sqrt();
    let late = rtt / p;
    let cubic = (C * (3.0 + BETA) / (4.0 * (1.0 - BETA)) * late * late * late).sqrt().sqrt();
    reno.max(cubic)
}

/// Prague's rate over CUBIC's if p' were constant: p_L = k p' and p_C = p'^2, and both fill the
/// link.
fn at_constant_p(rate: f64, rtt: f64) -> f64 {
    let path = Path::new(rate, rtt);
    let waiting = path.classic + TARGET;
    let (mut low, mut high) = (1e-6_f64, 1.0 / K);
    let mut ratio = 0.0;
    for _ in 0..100 {
        let p = (low * high).sqrt();
        let prague = marks_per_round(K * p) / (K * p * path.virtual_rtt());
        let cubic = cubic_window(p * p, waiting) / waiting;
        ratio = prague / cubic;
        if prague + cubic > path.capacity { low = p } else { high = p }
    }
    ratio
}

/// Prague in the model: its window moves continuously between reductions.
struct Prague {
    window: f64,
    alpha: f64,
    /// No reduction before.
    round: f64,
    /// Rounds until growth.
    wait: f64,
}

impl Prague {
    fn step(&mut self, path: Path, now: f64, p: f64, stream: &mut Stream) {
        let (v, dt) = (path.virtual_rtt(), DT);
        let sent = self.window / path.scalable * dt;
        // A Poisson number of marks.
        let (floor, mut product, mut marks) = (exp(-sent * p), stream.unit(), 0.0);
        while product > floor {
            marks += 1.0;
            product *= stream.unit();
        }
        let growth = (self.window / path.scalable * 1e-3).max(1.0);
        let step = if self.wait <= 0.0 { growth } else { 1.0 };
        let scale = (path.scalable / v).powi(2);
        self.window += (sent - marks).max(0.0) * step / self.window * scale;
        self.alpha += (marks / sent - self.alpha) / 16.0 * dt / v;
        self.wait -= dt / v;
        if marks > 0.0 && now >= self.round {
            self.wait = 7.0 + self.window / path.scalable * 1500.0 / 1.92e6;
            self.window -= self.window * self.alpha / 2.0;
            self.round = now + v;
        }
        // Its least rate, 12,500 bytes/s.
        self.window = self.window.max(12_500.0 / 1500.0 * path.scalable);
    }
}

/// CUBIC in the model.
struct Cubic {
    window: f64,
    w_max: f64,
    w_est: f64,
    prior: f64,
    k: f64,
    epoch: f64,
    /// No reduction before.
    round: f64,
}

impl Cubic {
    /// `sent` packets arrive in a step, and `marked` says whether one of them was.
    fn step(&mut self, now: f64, rtt: f64, sent: f64, marked: bool) {
        if marked && now >= self.round {
            let falls = self.window < self.w_max;
            self.w_max = if falls { self.window * (1.0 + BETA) / 2.0 } else { self.window };
            self.prior = self.window;
            self.window = (BETA * self.window).max(2.0);
            (self.w_est, self.epoch, self.round) = (self.window, now, now + rtt);
            self.k = cbrt((self.w_max - self.window).max(0.0) / C);
            return;
        }
        let alpha = if self.w_est < self.prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        self.w_est += alpha * sent / self.window;
        let at = |t: f64| C * (t - self.k).powi(3) + self.w_max;
        let t = now - self.epoch;
        if at(t) < self.w_est {
            self.window = self.window.max(self.w_est);
        } else {
            let target = at(t + rtt).clamp(self.window, 1.5 * self.window);
            self.window += (target - self.window) / self.window * sent;
        }
    }
}

/// Prague's rate over CUBIC's in the mean of the second half of so many seconds, where p' follows
/// the queue, and marks are random: Linux's PI2, no AQM of the L queue's own.
fn in_the_fluid(rate: f64, rtt: f64, seconds: f64) -> f64 {
    let path = Path::new(rate, rtt);
    let mut stream = Stream::new(1, 0, "l4s");
    let mut prague =
        Prague { window: path.capacity * path.scalable / 2.0, alpha: 0.05, round: 0.0, wait: 10.0 };
    let half = path.capacity * (path.classic + TARGET) / 2.0;
    let mut cubic = Cubic {
        window: half,
        w_max: half,
        w_est: half,
        prior: half,
        k: 0.0,
        epoch: 0.0,
        round: 0.0,
    };
    // A mark is heard a round trip later.
    let mut told = vec![0.0; (path.classic / DT) as usize + 1];
    let (mut q, mut before, mut p, mut update) = (0.0_f64, 0.0, 0.0_f64, 0.0);
    let (mut got, steps) = ([0.0; 2], (seconds / DT) as usize);
    for i in 0..steps {
        let now = i as f64 * DT;
        let slot = i % told.len();
        let heard = std::mem::replace(&mut told[slot], p);
        let scalable = prague.window / path.scalable;
        prague.step(path, now, (K * heard).min(1.0), &mut stream);
        // The L queue goes first; the credit leaves the C queue a tenth.
        let left = (path.capacity - scalable).max(path.capacity / 10.0);
        let waiting = path.classic + q;
        let out = if q > 0.0 { left } else { (cubic.window / waiting).min(left) };
        let marked = stream.chance(1.0 - exp(-out * DT * heard * heard));
        cubic.step(now, waiting, out * DT, marked);
        q = ((cubic.window - left * path.classic) / left).max(0.0);
        if now >= update {
            p += 41.0 / 256.0 * (q - TARGET) + 819.0 / 256.0 * (q - before);
            p = p.clamp(0.0, 1.0);
            (before, update) = (q, update + 0.016);
        }
        if i >= steps / 2 {
            got[0] += scalable.min(path.capacity) * DT;
            got[1] += out * DT;
        }
    }
    got[0] / got[1]
}

/// What udp_prague itself makes of random marks: packets per second of its prague_cc.cpp (e8e3435),
/// one flow of 1400 bytes over a fixed RTT without a queue, 900 s of which the first tenth does not
/// count. The closed form is within 4 % of it.
#[test]
fn pragues_marks_per_round_are_udp_pragues() {
    for (p, rtt, rate) in [
        (0.05, 0.05, 1035.3),
        (0.02, 0.05, 2660.8),
        (0.01, 0.05, 5403.0),
        (0.005, 0.1, 5262.0),
        (0.02, 0.01, 5339.9),
        (0.05, 0.005, 2071.5),
    ] {
        let ours = marks_per_round(p) / (p * f64::max(rtt, REFERENCE));
        println!("p {p}, {rtt} s: {ours:.1}, udp_prague {rate}");
        assert!((ours / rate - 1.0).abs() < 0.04, "{p}, {rtt}: {ours}");
    }
    assert!((marks_per_round(0.0) - (1.0 + 3.0_f64.sqrt())).abs() < 1e-12);
}

/// Tables 1 and 2 of RFC 9438, section 5.1, C = 0.4: RTTs of 0.1 and 0.01 s. They have Reno's 1.2
/// over the root of p for the square root of 1.5 here.
#[test]
fn cubics_response_is_the_rfcs() {
    for (p, rtt, window) in [
        (1e-2, 0.1, 12.0),
        (1e-3, 0.1, 38.0),
        (1e-4, 0.1, 187.0),
        (1e-5, 0.1, 1054.0),
        (1e-5, 0.01, 379.0),
        (1e-7, 0.01, 5926.0),
    ] {
        let ours = cubic_window(p, rtt);
        assert!((ours / window - 1.0).abs() < 0.03, "{p}, {rtt}: {ours}");
    }
}

/// Where the packets' own times play no part, runs are within 25 % of the fluid model, which has
/// neither packets nor ACKs, and twice apart from what p' would give if it were constant where the
/// bandwidth-delay product is large.
#[test]
fn runs_are_as_the_fluid() {
    for (rate, rtt) in [(40.0, 5.0), (40.0, 20.0), (40.0, 100.0), (120.0, 10.0)] {
        let (prague, cubic) = beside(rate, rtt, "\"dualpi2\"", 300);
        let fluid = in_the_fluid(rate, rtt, 2000.0);
        let (ratio, constant) = (prague / cubic, at_constant_p(rate, rtt));
        println!("{rate} Mb/s, {rtt} ms: {ratio:.2}, fluid {fluid:.2}, constant {constant:.2}");
        assert!((ratio / fluid - 1.0).abs() < 0.25, "{rate}, {rtt}");
    }
    assert!(in_the_fluid(40.0, 100.0, 2000.0) > 2.0 * at_constant_p(40.0, 100.0));
}

/// Prints the measured tables of docs/evidence/l4s-coexistence.md; the two fill the link.
#[test]
#[ignore = "minutes: prints tables"]
fn coexistence() {
    for queue in ["\"dualpi2\"", "{ kind = \"dualpi2\", preset = \"rfc9332\" }"] {
        println!("| {queue} |");
        for rate in RATES {
            let row = RTTS.map(|rtt| {
                let (prague, cubic) = beside(rate, rtt, queue, 600);
                assert!(prague + cubic > 0.9 * rate, "{rate}, {rtt}");
                format!("{:.2}", prague / cubic)
            });
            println!("| {rate} | {} |", row.join(" | "));
        }
    }
}

/// Prints its predicted tables.
#[test]
#[ignore = "prints tables"]
fn predictions() {
    type Law = fn(f64, f64) -> f64;
    let laws: [(&str, Law); 2] = [
        ("a constant p'", at_constant_p),
        ("the fluid model", |rate, rtt| in_the_fluid(rate, rtt, 5000.0)),
    ];
    for (name, law) in laws {
        println!("| {name} |");
        for rate in RATES {
            let row = RTTS.map(|rtt| format!("{:.2}", law(rate, rtt)));
            println!("| {rate} | {} |", row.join(" | "));
        }
    }
}
