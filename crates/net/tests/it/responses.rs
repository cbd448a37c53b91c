//! Window-based end hosts against their response functions: one flow over a line that loses every
//! n-th packet and limits nothing else. `--nocapture` prints the tables.

use clearpipe_net::Outcome;
use scenario::{Line, Loss, LossModel, Scenario};
use units::math::{cbrt, pow, sqrt};

use crate::common;

const RTT: f64 = 0.1;

/// One flow over 10 Gb/s, RTT 100 ms, minimum RTO 200 ms. Limited slow start keeps the window small
/// until the first loss.
fn flow(duration: u64, protocol: &str, losses: LossModel, more: &str) -> Scenario {
    let text = format!(
        "schema = 1\nera = \"ns2\"\nname = \"responses\"\nduration = \"{duration}s\"\nwarmup = \"40%\"\n\
         [transport]\ninitial_window = \"1pkt\"\ndup_thresh = 3\nmin_rto = \"200ms\"\n\
         [packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"10Gbps\"\nrtt = \"100ms\"\nbuffer = \"100000pkt\"\n\
         [flows.one]\nprotocol = {{ {protocol}, slow_start = \"limited\" }}\n{more}"
    );
    let parsed = scenario::parse("responses.toml", &text, &[]);
    let mut scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
    let bottleneck = scenario.links.iter_mut().find(|link| link.name == "bottleneck");
    let loss = Some(Loss { model: losses, data_only: true });
    bottleneck.expect("a dumbbell has one").line = Line { loss, ..Line::default() };
    scenario
}

fn packets_per_rtt(outcome: &Outcome) -> f64 {
    let row = &outcome.tables.flows[0];
    assert_eq!(row.timeouts, 0);
    row.goodput_bps / 8000.0 * RTT
}

/// Goodput in packets per RTT when every n-th packet is lost, over 60 % of `losses` losses.
fn window_over(losses: f64, protocol: &str, n: u64, expected: f64) -> f64 {
    let duration = (losses * n as f64 / expected * RTT).clamp(60.0, 3000.0) as u64;
    packets_per_rtt(&common::run(&flow(duration, protocol, LossModel::Every(n), ""), 1, 0))
}

fn window(protocol: &str, n: u64, expected: f64) -> f64 {
    window_over(if n < 100_000 { 70.0 } else { 25.0 }, protocol, n, expected)
}

/// The mean window for every n-th packet lost is the formula's, within `bound`.
fn follows(protocol: &str, bound: f64, formula: impl Fn(f64) -> f64, ns: &[u64]) {
    for &n in ns {
        let expected = formula(1.0 / n as f64);
        let w = window(protocol, n, expected);
        println!("{protocol}, every {n}th: {w:.1} of {expected:.1}, {:.3}", w / expected);
        assert!((w / expected - 1.0).abs() < bound, "{protocol} {n}: {w} {expected}");
    }
}

/// AIMD(alpha, beta), beta being what a loss takes, by the sawtooth (Floyd, Handley, Padhye 2000).
fn aimd(alpha: f64, beta: f64, p: f64) -> f64 {
    sqrt(alpha * (2.0 - beta) / (2.0 * beta * p))
}

/// Mathis, Semke, Mahdavi, Ott, CCR 27(3) 1997: sqrt(3/2)/sqrt(p).
#[test]
fn sack_follows_the_square_root() {
    follows("kind = \"sack\"", 0.10, |p| sqrt(1.5 / p), &[1000, 10_000]);
    follows("kind = \"sack\"", 0.20, |p| sqrt(1.5 / p), &[100]);
}

/// RFC 3649 section 5: w = 0.12/p^0.835.
#[test]
fn hstcp_follows_rfc_3649() {
    follows("kind = \"hstcp\"", 0.10, |p| 0.12 / pow(p, 0.835), &[1000, 10_000, 100_000]);
}

/// The mean of the cubic function when a loss leaves `beta` (RFC 9438 section 5.1, with C = 0.4).
fn cubic_mean(beta: f64, p: f64) -> f64 {
    pow(0.4 * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25) * pow(RTT / p, 0.75)
}

/// The formula is the fixed point: each loss at W_max. Where it is flat the function moves by
/// C (t - K)^3 per loss only, so the way there is long, and the run begins near it: limited slow
/// start takes sqrt(max_ssthresh n) packets of window up to packet n.
fn cubic_stays_at_its_mean(protocol: &str, beta: f64) {
    for n in [10_000, 30_000, 100_000] {
        let w_max = 4.0 / (3.0 + beta) * cubic_mean(beta, 1.0 / n as f64);
        let start = format!("{protocol}, max_ssthresh = {:.3}", w_max * w_max / n as f64);
        follows(&start, 0.06, |p| cubic_mean(beta, p), &[n]);
    }
}

#[test]
fn cubic_follows_rfc_9438() {
    let protocol = "kind = \"cubic\", fast_convergence = false";
    cubic_stays_at_its_mean(protocol, 0.7);
    // Section 4.3: AIMD with the mean of Reno where that is more.
    follows(protocol, 0.10, |p| sqrt(1.5 / p), &[300, 1000]);
}

#[test]
fn cubic_2005_follows_its_mean() {
    cubic_stays_at_its_mean("kind = \"cubic-2005\"", 0.8);
}

/// From 7/8 W to W by 0.01 per ACK is 12.5 W packets in 100 ln(8/7) RTTs.
#[test]
fn scalable_goes_as_one_over_p() {
    let formula = |p: f64| 1.0 / p / (100.0 * units::math::ln(8.0 / 7.0));
    follows("kind = \"scalable\"", 0.10, formula, &[1000, 3000, 10_000]);
}

/// H-TCP without queue leaves 0.8, so it grows by 0.4 alpha(Delta) per RTT. The integral of alpha
/// is Delta up to 1 s and Delta + 5 x^2 + x^3/12 with x = Delta - 1 then, that of the integral
/// Delta^2/2 + 5 x^3/3 + x^4/48; W = 5 * 0.4/RTT times the first at the end, and 1/p packets in
/// between.
#[test]
fn htcp_follows_the_integral_of_alpha() {
    let mean = |p: f64| {
        let packets = |t: f64| {
            let x = (t - 1.0).max(0.0);
            let grown = t + 5.0 * x * x + x * x * x / 12.0;
            let area = t * t / 2.0 + 5.0 * x * x * x / 3.0 + x * x * x * x / 48.0;
            0.4 / RTT * (4.0 * grown * t + area) / RTT
        };
        let (mut low, mut high) = (0.0, 1000.0);
        for _ in 0..100 {
            let t = (low + high) / 2.0;
            if packets(t) < 1.0 / p { low = t } else { high = t }
        }
        1.0 / p * RTT / low
    };
    follows("kind = \"htcp\"", 0.10, mean, &[1000, 10_000, 100_000]);
}

/// The sawtooth of AIMD(0.31, 1/8) is 1.245 times Reno's, that of AIMD(0.2, 1/8) the same. Yang and
/// Lam chose 0.31 for losses at random with the timeouts they bring (1 % to 5 % here): 1.19, 1.20
/// and 1.16 of Reno, in the mean of five seeds.
#[test]
fn gaimd_is_tcp_friendly() {
    follows("kind = \"gaimd\"", 0.10, |p| aimd(0.31, 0.125, p), &[300, 1000, 10_000]);
    let fair = "kind = \"gaimd\", alpha = 0.2";
    follows(fair, 0.10, |p| sqrt(1.5 / p), &[300, 1000, 10_000]);
    for p in [0.01, 0.02, 0.05] {
        let [gaimd, reno] = ["gaimd", "reno"].map(|kind| {
            let protocol = format!("kind = \"{kind}\", recovery = \"reno\"");
            let outcome = common::run(&flow(2000, &protocol, LossModel::Random(p), ""), 1, 0);
            outcome.tables.flows[0].goodput_bps
        });
        println!("gaimd/reno, random losses of {p}: {:.3}", gaimd / reno);
        // Nearer to equal than without timeouts.
        assert!((1.0..1.245).contains(&(gaimd / reno)), "{p}: {gaimd} {reno}");
    }
}

/// Bansal and Balakrishnan: (alpha/(beta p))^(1/(k+l+1)), with k + l = 1 the square root; with k =
/// 0 and l = 0.5 the power 2/3.
#[test]
fn binomials_follow_their_powers() {
    let sqrt_rule = "kind = \"binomial\", rule = \"sqrt\"";
    follows(sqrt_rule, 0.10, |p| sqrt(1.5 / p), &[1000, 3000, 10_000]);
    // A loss takes 2/3 packets, so it takes hundreds to come down from slow start.
    let iiad = "kind = \"binomial\", rule = \"iiad\", max_ssthresh = 2.0";
    for n in [300, 1000, 3000] {
        let expected = sqrt(1.5 * n as f64);
        let w = window_over(400.0, iiad, n, expected);
        println!("{iiad}, every {n}th: {w:.1} of {expected:.1}, {:.3}", w / expected);
        assert!((w / expected - 1.0).abs() < 0.10, "{n}: {w} {expected}");
    }
    let own = "kind = \"binomial\", rule = \"own\", k = 0.0, l = 0.5";
    follows(own, 0.10, |p| pow(1.5 / p, 2.0 / 3.0), &[1000, 10_000]);
}

/// Two layers between 50 and 150 packets: AIMD(2, 0.15) around 111 packets.
#[test]
fn ltcp_is_aimd_of_its_layers() {
    follows("kind = \"ltcp\"", 0.10, |p| aimd(2.0, 0.15, p), &[1000]);
}

/// Without queueing delay AIMD(10, 1/8). Paced: any burst is a delay, and the largest so far is the
/// measure of the others. Of the W/80 RTTs between losses one goes to recovery.
#[test]
fn illinois_without_delay_is_fast() {
    let protocol = "kind = \"illinois\", paced = true";
    follows(protocol, 0.10, |p| aimd(10.0, 0.125, p), &[10_000, 30_000]);
}

/// Without queueing delay the whole window w grows by w^(3/4)/8 per RTT and a loss halves it: 1/p
/// packets are 8/1.25 (W^1.25 - (W/2)^1.25), in 8/0.25 (W^0.25 - (W/2)^0.25) RTTs.
#[test]
fn compound_goes_as_p_to_the_four_fifths() {
    let mean = |p: f64| {
        let w = pow(1.25 / 8.0 / p / (1.0 - pow(0.5, 1.25)), 0.8);
        1.0 / p / (8.0 / 0.25 * pow(w, 0.25) * (1.0 - pow(0.5, 0.25)))
    };
    follows("kind = \"compound\"", 0.10, mean, &[3000, 10_000, 100_000]);
}

/// Losses that are no congestion's: the estimate forgives them.
#[test]
fn westwood_forgives_losses() {
    let [westwood, sack] =
        ["westwood", "sack"].map(|kind| window(&format!("kind = \"{kind}\""), 1000, 38.7));
    println!("westwood/sack at every 1000th: {:.2}", westwood / sack);
    assert!(westwood > 2.0 * sack, "{westwood} {sack}");
}

/// Every loss costs Tahoe a slow start from one packet: lg(w/2) RTTs more than Reno's, so between
/// half of SACK's rate and all of it.
#[test]
fn tahoe_is_slower_than_sack() {
    let [tahoe, sack] =
        ["tahoe", "sack"].map(|kind| window(&format!("kind = \"{kind}\""), 1000, 38.7));
    println!("tahoe/sack at every 1000th: {:.2}", tahoe / sack);
    assert!((0.5..0.95).contains(&(tahoe / sack)), "{tahoe} {sack}");
}

/// The window at given instants after the only loss, of packet 20,000.
fn curve(protocol: &str, at: &[f64]) -> (f64, f64, Vec<f64>) {
    let probe = "[probe]\nseries = [\"cwnd\"]\nevery = \"change\"\n";
    let scenario = flow(60, protocol, LossModel::List([20_000].into()), probe);
    let outcome = common::run(&scenario, 1, 0);
    let series = outcome.tables.series.iter().find(|s| s.name == "cwnd_pkts").expect("asked for");
    let loss = (1..series.value.len()).find(|&i| series.value[i] < 0.95 * series.value[i - 1]);
    let loss = loss.expect("one loss");
    let value = |t: f64| {
        let after = series.t_s.partition_point(|&s| s <= series.t_s[loss] + t);
        series.value[after - 1]
    };
    (series.value[loss - 1], series.value[loss], at.iter().map(|&t| value(t)).collect())
}

/// Eq. (1) of RFC 9438 with K of eq. (2). Congestion avoidance begins an RTT after the loss, when
/// what was sent again has arrived, and an ACK moves towards the window of an RTT later, which it
/// has an RTT later: t - RTT of the curve at t.
#[test]
fn cubic_runs_along_its_curve() {
    let times = [1.0, 3.0, 5.0, 8.0, 10.0, 12.0, 15.0];
    let (w, left, cwnd) = curve("kind = \"cubic\"", &times);
    assert!((left / w - 0.7).abs() < 0.001, "{w} {left}");
    let k = cbrt(w * 0.3 / 0.4);
    for (t, cwnd) in times.into_iter().zip(cwnd) {
        let x = t - RTT - k;
        let expected = 0.4 * x * x * x + w;
        println!("cubic {t} s after the loss at {w:.0}: {cwnd:.1} of {expected:.1}");
        assert!((cwnd / expected - 1.0).abs() < 0.01, "{t}: {cwnd} {expected}");
    }
}

/// W(t) = 0.4 (t - K)^3 + W_max with K = cbrt(W_max 0.2/0.4), from the loss on.
#[test]
fn cubic_2005_runs_along_its_curve() {
    let times = [1.0, 3.0, 5.0, 8.0, 10.0, 12.0, 15.0];
    let (w, left, cwnd) = curve("kind = \"cubic-2005\"", &times);
    assert!((left / w - 0.8).abs() < 0.001, "{w} {left}");
    let k = cbrt(w * 0.2 / 0.4);
    for (t, cwnd) in times.into_iter().zip(cwnd) {
        let x = t - k;
        let expected = 0.4 * x * x * x + w;
        println!("cubic-2005 {t} s after the loss at {w:.0}: {cwnd:.1} of {expected:.1}");
        assert!((cwnd / expected - 1.0).abs() < 0.01, "{t}: {cwnd} {expected}");
    }
}

/// BIC per RTT: 32 packets while the gap d to the maximum is above 64, then d shrinks as exp(-t/(2
/// RTT)), as half of it is added over a window's ACKs.
#[test]
fn bic_closes_the_gap() {
    let times = [0.3, 0.5, 1.0, 1.5, 2.0];
    let (w, left, cwnd) = curve("kind = \"bic\"", &times);
    assert!((left / w - 0.875).abs() < 0.001, "{w} {left}");
    let gap = w - left;
    let linear = ((gap - 64.0) / 32.0).max(0.0);
    for (t, cwnd) in times.into_iter().zip(cwnd) {
        let rtts = t / RTT - 1.0; // after recovery
        let start = gap - 32.0 * linear;
        let d = if rtts < linear {
            gap - 32.0 * rtts
        } else {
            start * units::math::exp((linear - rtts) / 2.0)
        };
        println!("bic {t} s after the loss at {w:.0}: {cwnd:.1} of {:.1}", w - d);
        assert!((cwnd - (w - d)).abs() < 0.05 * gap, "{t}: {cwnd} {}", w - d);
    }
}

/// RFC 8257 over a step marker: one flow, whose window W* is what the path and the threshold hold.
/// It exceeds W* for one RTT of each sawtooth, so alpha^2 (1 - alpha/4) = (2 W* + 1)/(W* + 1)^2
/// (Alizadeh et al., SIGCOMM 2010, section 3.3), about sqrt(2/W*). That holds for g < 1.386/sqrt(2
/// W*) (eq. 15), which the default of 1/16 is up to 246 packets.
#[test]
fn dctcp_marks_as_many_as_its_theory() {
    for (rate, threshold, g) in [(50, 20, 0.0625), (100, 40, 0.0625), (400, 40, 0.03125)] {
        let text = format!(
            "schema = 1\nera = \"ns2\"\nname = \"dctcp\"\nduration = \"20s\"\nwarmup = \"10s\"\n\
             [transport]\ninitial_window = \"1pkt\"\n[packets]\ndata = \"1000B\"\n\
             [queues.k]\nkind = \"step\"\nk = {threshold}\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"{rate}Mbps\"\nrtt = \"10ms\"\n\
             buffer = \"2000pkt\"\nqueue = \"k\"\n\
             [flows.one]\nprotocol = {{ kind = \"dctcp\", g = {g} }}\n"
        );
        let parsed = scenario::parse("dctcp.toml", &text, &[]);
        let scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
        let outcome = common::run(&scenario, 1, 0);
        let link = common::link(&outcome, "bottleneck");
        let share = link.marks_pkts as f64 / link.departures_pkts as f64;
        let w = f64::from(rate) * 1e6 * 0.01 / 8000.0 + f64::from(threshold);
        let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        let (mut low, mut high): (f64, f64) = (0.0, 1.0);
        for _ in 0..60 {
            let alpha = (low + high) / 2.0;
            if alpha * alpha * (1.0 - alpha / 4.0) < right { low = alpha } else { high = alpha }
        }
        println!(
            "dctcp {rate} Mb/s, threshold {threshold}: marked {share:.4}, theory {low:.4}, {:.3}; \
             drops {}, utilization {:.4}",
            share / low,
            link.drops_pkts,
            link.utilization_ratio
        );
        assert!((share / low - 1.0).abs() < 0.15, "{share} {low}");
        assert_eq!(link.drops_pkts, 0);
    }
}

/// Slow start into a buffer of six BDPs. A round's first packets find an empty queue until the
/// window is a BDP, and are acknowledged a round later, so HyStart++ sees the smallest RTT grow at
/// a window of about four. From there on a round adds a quarter instead of doubling. The path holds
/// 7000 packets, and so many are sent beyond them before the first loss is known: 7000, or 1750.
#[test]
fn hystart_overshoots_less() {
    let drops = |protocol: &str| {
        let text = format!(
            "schema = 1\nera = \"ns2\"\nname = \"hystart\"\nduration = \"5s\"\n[transport]\ninitial_window = \"1pkt\"\n\
             [packets]\ndata = \"1000B\"\n[topology]\nkind = \"dumbbell\"\nrate = \"100Mbps\"\n\
             rtt = \"80ms\"\nbuffer = \"6000pkt\"\n[flows.one]\nprotocol = {{ {protocol} }}\n"
        );
        let parsed = scenario::parse("hystart.toml", &text, &[]);
        let scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
        let outcome = common::run(&scenario, 1, 0);
        let link = common::link(&outcome, "bottleneck");
        println!("{protocol}: {} drops, queue {:.1}", link.total_drops_pkts, link.queue_mean_pkts);
        link.total_drops_pkts
    };
    let near = |drops: u64, expected: f64| (drops as f64 / expected - 1.0).abs() < 0.05;
    assert!(near(drops("kind = \"sack\""), 7000.0));
    assert!(near(drops("kind = \"sack\", slow_start = \"hystart\""), 1750.0));
    assert!(near(drops("kind = \"hstcp\", slow_start = \"hystart\""), 1750.0));
}
