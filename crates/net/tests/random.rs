//! Random scenarios: whatever a user may write, nothing panics, no packet is lost from the books, no
//! line carries more than it can, and every finite transfer ends.
//!
//! `CLEARPIPE_RANDOM_SCENARIOS` sets how many (2,000 by default), `CLEARPIPE_RANDOM_FIRST` the first
//! number, so that a failure can be run alone.

use std::fmt::Write;

use clearpipe_net::{self as net, Outcome, Run};
use results::FlowRow;
use scenario::{Every, Probe, Scenario, Series};
use units::random::Stream;
use units::{Span, Time};

struct Generator(Stream);

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    /// A whole number between the two, even in its logarithm.
    fn spread(&mut self, low: f64, high: f64) -> u64 {
        let x = self.0.uniform(units::math::ln(low), units::math::ln(high));
        units::math::exp(x) as u64
    }

    fn protocol(&mut self) -> &'static str {
        self.pick(&["reno", "newreno", "sack", "ecn", "xcp", "vcp", "vcp-paced", "xcp-sack"])
    }

    fn queue(&mut self) -> &'static str {
        self.pick(&["droptail", "red", "red-drop", "xcp", "xcp-red", "vcp", "vcp-fifo"])
    }

    fn buffer(&mut self) -> String {
        match self.below(4) {
            0 => format!("\"{}pkt\"", self.spread(1.0, 200.0).max(1)),
            1 => format!("\"{}B\"", self.spread(1000.0, 200_000.0).max(1000)),
            2 => "\"0.1bdp\"\nbuffer_per_flow = \"2pkt\"".into(),
            _ => "\"1bdp\"\nbuffer_per_flow = \"1pkt\"".into(),
        }
    }

    fn rate(&mut self) -> String {
        format!("{}kbps", self.spread(100.0, 20_000.0))
    }

    fn flow(&mut self, name: &str, route: &str) -> String {
        let (protocol, count) = (self.protocol(), self.spread(1.0, 8.0).max(1));
        let mut text =
            format!("[flows.{name}]\nprotocol = \"{protocol}\"\ncount = {count}\n{route}");
        let start = match self.below(3) {
            0 => "0s".into(),
            1 => "uniform(0s, 1s)".to_owned(),
            _ => format!("{}ms", self.below(900)),
        };
        writeln!(text, "start = \"{start}\"").unwrap();
        match self.below(3) {
            0 => writeln!(text, "size = \"{}B\"", self.spread(1.0, 300_000.0)).unwrap(),
            1 => writeln!(text, "stop = \"{}ms\"", 1001 + self.below(1999)).unwrap(),
            _ => {}
        }
        text
    }

    fn dumbbell(&mut self) -> String {
        let mut text = format!(
            "[topology]\nkind = \"dumbbell\"\nrate = \"{}\"\nrtt = \"{}ms\"\nbuffer = {}\nqueue = \"{}\"\n",
            self.rate(),
            self.spread(1.0, 600.0).max(1),
            self.buffer(),
            self.queue(),
        );
        for (i, direction) in ["forward", "reverse"].iter().enumerate() {
            if i == 0 || self.below(2) == 0 {
                text += &self.flow(&format!("g{i}"), &format!("direction = \"{direction}\"\n"));
            }
        }
        text
    }

    /// A ring of nodes with chords: every node reaches every other in both directions.
    fn mesh(&mut self) -> String {
        let nodes = 2 + self.below(4);
        let mut text = String::new();
        for node in 0..nodes {
            self.line(&mut text, &format!("ring{node}"), node, (node + 1) % nodes);
        }
        for chord in 0..self.below(3) {
            let (from, to) = (self.below(nodes), self.below(nodes));
            if from != to {
                self.line(&mut text, &format!("chord{chord}"), from, to);
            }
        }
        for group in 0..1 + self.below(3) {
            let from = self.below(nodes);
            let to = (from + 1 + self.below(nodes - 1)) % nodes;
            let route = format!("from = \"n{from}\"\nto = \"n{to}\"\naccess_rate = \"100Mbps\"\n");
            text += &self.flow(&format!("g{group}"), &route);
        }
        text
    }

    fn line(&mut self, text: &mut String, name: &str, from: u64, to: u64) {
        let (rate, owd) = (self.rate(), self.below(60));
        let (buffer, queue) = (self.buffer(), self.queue());
        writeln!(
            text,
            "[links.{name}]\nfrom = \"n{from}\"\nto = \"n{to}\"\nrate = \"{rate}\"\nowd = \"{owd}ms\"\n\
             buffer = {buffer}\nqueue = \"{queue}\"\nduplex = true"
        )
        .unwrap();
    }

    fn scenario(&mut self, number: u64) -> String {
        let delayed = if self.below(4) == 0 { "delayed_ack = \"100ms\"\n" } else { "" };
        let preset = self.pick(&["rfc", "ns2"]);
        let (window, dup_thresh) = (self.spread(1.0, 12.0).max(1), 2 + self.below(3));
        let limited = self.below(2) == 0;
        let body = if self.below(2) == 0 { self.dumbbell() } else { self.mesh() };
        format!(
            "schema = 1\nname = \"random-{number}\"\nduration = \"3s\"\nwarmup = \"1s\"\n\
             [transport]\npreset = \"{preset}\"\ninitial_window = \"{window}pkt\"\n\
             dup_thresh = {dup_thresh}\nlimited_transmit = {limited}\n{delayed}{body}{EXTRAS}"
        )
    }
}

const EXTRAS: &str = r#"
[protocols.ecn]
kind = "sack"
ecn = true
[protocols.xcp-sack]
kind = "xcp"
recovery = "sack"
[protocols.vcp-paced]
kind = "vcp"
pace_large_rtt = true
[queues.red-drop]
kind = "red"
ecn = false
[queues.xcp-red]
kind = "xcp"
over = "red"
[queues.vcp-fifo]
kind = "vcp"
priority = false
"#;

fn run(scenario: &Scenario, seed: u64) -> Outcome {
    net::simulate(scenario, seed, 0, &mut |_| true)
}

fn check_books(outcome: &Outcome) {
    for flow in &outcome.tables.flows {
        let n = flow.flow;
        let places = flow.arrived_pkts + flow.dropped_pkts + flow.in_flight_pkts;
        assert_eq!(flow.sent_pkts, places, "data of flow {n}");
        let places = flow.acks_arrived_pkts + flow.acks_dropped_pkts + flow.acks_in_flight_pkts;
        assert_eq!(flow.acks_sent_pkts, places, "ACKs of flow {n}");
        assert!(flow.delivered_pkts <= flow.arrived_pkts);
        let new = flow.sent_pkts - flow.retransmitted_pkts;
        assert!(flow.delivered_pkts <= new, "flow {n} got more than was ever new");
        assert!(flow.goodput_bps.is_finite());
    }
    for link in &outcome.tables.links {
        let places = link.total_departures_pkts + link.total_drops_pkts + link.queued_end_pkts;
        assert_eq!(link.total_arrivals_pkts, places, "link {}", link.name);
        // One packet that the warm-up's end cut may be counted whole.
        let seconds = outcome.end.now.as_secs() - 1.0;
        let most = link.rate_bps * seconds + 8.0 * 1500.0;
        assert!(link.departures_bytes as f64 * 8.0 <= most, "link {} is too fast", link.name);
        assert!(link.queue_max_bytes <= link.buffer_bytes.max(1000) || link.buffer_bytes == 0);
    }
    let dropped: u64 = outcome.tables.links.iter().map(|l| l.total_drops_pkts).sum();
    let missed: u64 =
        outcome.tables.flows.iter().map(|f| f.dropped_pkts + f.acks_dropped_pkts).sum();
    assert_eq!(dropped, missed, "drops per link and per flow");
}

/// Finite transfers, and those that were stopped, end within an hour unless half of what they send is
/// lost.
fn check_completion(scenario: &mut Scenario, seed: u64) {
    let total: Vec<u64> = scenario
        .groups
        .iter()
        .flat_map(|g| {
            let bytes = match g.size {
                scenario::Size::Bytes(bytes) => bytes,
                _ => 0,
            };
            std::iter::repeat_n(bytes, g.count as usize)
        })
        .collect();
    scenario.duration = Span::from_secs(3600);
    let mut run = Run::new(scenario, seed, 0);
    // Unlimited flows make an hour long: look after growing spans whether all has ended.
    let mut budget = 1 << 14;
    let mut before = run.clone().finish();
    let outcome = loop {
        budget *= 2;
        let over = !run.advance(budget);
        let outcome = run.clone().finish();
        let hoping: Vec<_> = unfinished(&outcome, &total)
            .into_iter()
            .map(|flow| (&outcome.tables.flows[flow], &before.tables.flows[flow]))
            .filter(|(row, before)| !loses_half(row, before))
            .collect();
        assert!(!over || hoping.is_empty(), "not finished after an hour: {hoping:?}");
        if over || (hoping.is_empty() && outcome.end.now.as_secs() > 600.0) {
            break outcome;
        }
        if unfinished(&outcome, &total).is_empty() {
            break outcome;
        }
        before = outcome;
    };
    check_books(&outcome);
    for (row, total) in outcome.tables.flows.iter().zip(&total) {
        if *total > 0 && row.finish_s.is_some() && row.stop_s.is_none() {
            assert_eq!(row.delivered_bytes, *total, "every byte once: {row:?}");
        }
    }
}

/// Is half of what the flow sends lost on either way, in the long run: since `before`, when the run
/// was about half as long? A small buffer that others keep full locks a flow out.
fn loses_half(row: &FlowRow, before: &FlowRow) -> bool {
    let half = |lost: u64, sent: u64| 2 * lost > sent;
    half(row.dropped_pkts - before.dropped_pkts, row.sent_pkts - before.sent_pkts)
        || half(
            row.acks_dropped_pkts - before.acks_dropped_pkts,
            row.acks_sent_pkts - before.acks_sent_pkts,
        )
}

fn unfinished(outcome: &Outcome, total: &[u64]) -> Vec<usize> {
    let ends = |i: usize| total[i] > 0 || outcome.tables.flows[i].stop_s.is_some();
    (0..total.len()).filter(|&i| ends(i) && outcome.tables.flows[i].finish_s.is_none()).collect()
}

fn check(number: u64) {
    let mut generator = Generator(Stream::new(number, 0, "random scenarios"));
    let text = generator.scenario(number);
    let mut scenario = match scenario::parse("random.toml", &text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}\n{text}"),
    };
    let outcome = run(&scenario, number);
    check_books(&outcome);
    let probe = probe(number, scenario.groups.len());
    if !probe.series.is_empty() {
        let probed = run(&Scenario { probe, ..scenario.clone() }, number);
        check_same(&outcome, &probed, "with probes");
        for series in &probed.tables.series {
            assert!(series.t_s.is_sorted() && series.t_s.last() <= Some(&3.0), "{}", series.name);
        }
    }
    check_pauses(&mut scenario, number, &outcome);
    check_completion(&mut scenario, number);
}

/// Everything, some of it, or nothing; at a fixed step or on change.
fn probe(number: u64, groups: usize) -> Probe {
    let on_change: Vec<Series> = Series::ALL.into_iter().filter(|s| s.on_change()).collect();
    let sampled = Every::Span(Span::from_millis(7));
    let (series, every) = match number % 8 {
        0 => (Series::ALL.to_vec(), sampled),
        1 => (on_change, Every::Change),
        2 => (vec![Series::Goodput], sampled),
        3 => (vec![Series::Queue, Series::Sender], Every::Change),
        4 => (vec![Series::Cwnd], sampled),
        6 => (vec![Series::Queue, Series::Utilization], sampled),
        _ => (Vec::new(), sampled),
    };
    let some = |n: usize| number.is_multiple_of(3).then(|| vec![number as usize % n]);
    Probe { series, every, groups: some(groups), links: some(2) }
}

fn check_same(a: &Outcome, b: &Outcome, what: &str) {
    assert_eq!(a.fingerprint, b.fingerprint, "another run {what}");
    assert_eq!(a.tables.flows, b.tables.flows, "another flows' table {what}");
    assert_eq!(a.tables.links, b.tables.links, "another links' table {what}");
}

/// A run that pauses, goes on in a copy and pauses again is the run that does not; one that is stopped
/// somewhere is the run of that duration.
fn check_pauses(scenario: &mut Scenario, number: u64, outcome: &Outcome) {
    let mut stream = Stream::new(number, 0, "pauses");
    let mut run = Run::new(scenario, number, 0);
    let first = (stream.unit() * 3e12) as u64;
    run.pause_at(Time(first));
    while run.advance(1000) {}
    assert_eq!(run.progress().now, Time(first));
    let mut copy = run.branch(scenario).expect("nothing has changed");
    copy.pause_at(Time(first + (stream.unit() * 0.2e12) as u64));
    while copy.advance(1000) {}
    copy.pause_at(Time::NEVER);
    while copy.advance(1000) {}
    check_same(outcome, &copy.finish(), "in a branch");
    let mut stopped = run;
    stopped.pause_at(Time::NEVER);
    stopped.advance(stream.bits() % 2000);
    let stopped = stopped.finish();
    let whole = Span(stopped.end.now.since(Time::ZERO).0);
    let duration = std::mem::replace(&mut scenario.duration, whole);
    check_same(&stopped, &self::run(scenario, number), "when stopped");
    scenario.duration = duration;
}

#[test]
fn random_scenarios_keep_the_invariants() {
    let from_env = |name: &str, default: u64| {
        std::env::var(name).ok().map_or(default, |text| text.parse().expect("a whole number"))
    };
    let first = from_env("CLEARPIPE_RANDOM_FIRST", 0);
    let count = from_env("CLEARPIPE_RANDOM_SCENARIOS", 2000);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for number in (first + thread..first + count).step_by(threads as usize) {
                    let shown = std::panic::catch_unwind(|| check(number));
                    assert!(shown.is_ok(), "scenario {number} (CLEARPIPE_RANDOM_FIRST={number})");
                }
            });
        }
    });
}

/// As many links as a scenario may have, one after another.
#[test]
fn a_path_may_have_many_links() {
    for links in [255, 256, 1000] {
        let text = format!(
            "schema = 1\nname = \"row\"\nduration = \"60s\"\nwarmup = \"0s\"\n\
             [topology]\nkind = \"parking-lot\"\nlinks = {links}\nrate = \"10Mbps\"\nowd = \"10us\"\n\
             buffer = \"100pkt\"\n\
             [flows.long]\nprotocol = \"sack\"\npath = \"long\"\nsize = \"20kB\"\n"
        );
        let parsed = scenario::parse("row.toml", &text, &[]).expect("a valid scenario");
        let outcome = run(&parsed.scenario, 1);
        check_books(&outcome);
        assert!(outcome.tables.flows[0].finish_s.is_some(), "{links} links");
        assert_eq!(outcome.tables.links[0].total_arrivals_pkts, 20);
    }
}
