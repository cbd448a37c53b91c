//! qlog of whole runs, held to the books of the same runs and to losses that are known beforehand.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use capture::qlog::About;
use capture::{LogOf, Recorder, Window};
use clearpipe_net::{Outcome, simulate_recorded};
use scenario::Scenario;
use serde_json::Value;
use units::{Span, Time};

use crate::common;

/// Bytes that can be read when their writer is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log without its head.
struct Log(Vec<Value>);

impl Log {
    fn read(bytes: &[u8]) -> Log {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
        let records = text.split('\u{1e}').skip(2);
        Log(records.map(|record| serde_json::from_str(record).unwrap()).collect())
    }

    /// The events of this name.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |event| event["name"] == name)
    }

    fn numbers(&self, name: &str) -> Vec<u64> {
        let number = |event: &Value| event["data"]["header"]["packet_number"].as_u64().unwrap();
        self.all(name).map(number).collect()
    }

    /// The last value of a metric.
    fn metric(&self, name: &str) -> Option<f64> {
        let events = self.all("quic:recovery_metrics_updated");
        events.filter_map(|event| event["data"][name].as_f64()).last()
    }
}

fn logged(scenario: &Scenario, window: Window) -> (Outcome, Vec<Log>) {
    let mut recorder = Recorder::new(scenario.links.len(), window);
    let flows = scenario.groups.iter().map(|group| group.count).sum();
    let mut outs = Vec::new();
    for flow in 0..flows {
        let about = About { packet_bytes: scenario.packets.data_bytes, ..About::default() };
        let out = Shared::default();
        let file = format!("flow-{flow}.sqlog");
        recorder.log(LogOf { flow, about, file }, Box::new(out.clone())).unwrap();
        outs.push(out);
    }
    let (outcome, recorded) = simulate_recorded(scenario, (1, 0), recorder, &mut |_| true).unwrap();
    let logs: Vec<Log> = outs.iter().map(|out| Log::read(&out.0.lock().unwrap())).collect();
    let counts: Vec<u64> = recorded.logs.iter().map(|log| log.1).collect();
    assert_eq!(counts, logs.iter().map(|log| log.0.len() as u64).collect::<Vec<_>>());
    (outcome, logs)
}

/// Recoveries of all kinds, paced and not, with proxies, and without anything sent again.
fn scenarios() -> Vec<(&'static str, Scenario)> {
    let few = ["duration=4s", "warmup=1s", "topology.buffer=10pkt"];
    let starts = ["flows.fwd.start=0s", "flows.rev.start=0s", "topology.rate=5Mbps"];
    let crowd =
        |name, more: &[&str]| (name, common::example(name, &[&few, &starts, more].concat()));
    let example = |name, sets: &[&str]| (name, common::example(name, sets));
    vec![
        example("recoveries", &[]),
        crowd("base-case-sack-red", &["flows.fwd.count=3", "flows.rev.count=2"]),
        crowd("base-case-vcp", &["flows.fwd.count=3", "flows.rev.count=2"]),
        example("modern-hosts", &["duration=4s", "topology.rate=20Mbps", "topology.buffer=20pkt"]),
        example("satellite-pep", &["duration=6s", "warmup=1s"]),
        example("dccp", &["duration=4s", "warmup=1s"]),
        example("mlcp-fig05", &["duration=3s", "warmup=1s", "flows.fwd.count=2"]),
    ]
}

#[test]
fn a_log_has_what_the_books_have_and_changes_nothing() {
    for (name, scenario) in scenarios() {
        let plain = common::run(&scenario, 1, 0);
        let (outcome, logs) = logged(&scenario, Window::ALL);
        assert_eq!(outcome.fingerprint, plain.fingerprint, "{name}");
        assert_eq!(outcome.tables, plain.tables, "{name}");
        let mut again = 0;
        for (flow, log) in outcome.tables.flows.iter().zip(&logs) {
            let what = format!("{name}, flow {}", flow.flow);
            let count = |name: &str| log.all(name).count() as u64;
            assert_eq!(count("quic:packet_sent"), flow.sent_pkts, "{what}");
            assert_eq!(count("quic:packet_received"), flow.acks_arrived_pkts, "{what}");
            assert_eq!(count("quic:timer_updated"), flow.timeouts, "{what}");
            let resent = log
                .all("quic:packet_sent")
                .filter(|event| event["data"]["trigger"].as_str().is_some_and(|why| why.len() > 1));
            let resent = resent.count() as u64;
            assert_eq!(resent, flow.retransmitted_pkts, "{what}");
            again += resent;
            let srtt = flow.srtt_s.map(|s| (s * 1e12).round());
            assert_eq!(log.metric("smoothed_rtt").map(|ms| (ms * 1e9).round()), srtt, "{what}");
            assert!(log.0.is_sorted_by_key(|event| (event["time"].as_f64().unwrap() * 1e6) as u64));
        }
        let lossless = ["base-case-vcp", "dccp", "mlcp-fig05"].contains(&name);
        assert!(lossless || again > 0, "{name}: nothing was lost");
    }
}

/// What is lost was sent before, and is lost once at most for each time that it was sent. What is
/// sent again was lost, unless it is a probe or what RFC 6675's NextSeg sends by rules (3) and (4)
/// when nothing that is lost is left.
#[test]
fn what_is_sent_again_was_lost_before() {
    for (name, scenario) in scenarios() {
        let (_, logs) = logged(&scenario, Window::ALL);
        for (flow, log) in logs.iter().enumerate() {
            // Of each number: sent so often, lost so often.
            let mut known: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
            let mut spare = 0;
            for event in &log.0 {
                let data = &event["data"];
                let Some(number) = data["header"]["packet_number"].as_u64() else { continue };
                let (sent, lost) = known.entry(number).or_default();
                match event["name"].as_str().unwrap() {
                    "quic:packet_sent" => {
                        let what = format!("{name}, flow {flow}, segment {number}");
                        match data["trigger"].as_str() {
                            None => assert_eq!((*sent, *lost), (0, 0), "{what}"),
                            Some("pto_probe") => assert!(*sent > 0, "{what}"),
                            Some(_) if *lost == 0 => spare += 1,
                            Some(_) => assert!(*lost <= *sent, "{what}: {lost}"),
                        }
                        *sent += 1;
                    }
                    "quic:packet_lost" => {
                        *lost += 1;
                        assert!(*lost <= *sent, "{name}, flow {flow}, segment {number}");
                    }
                    _ => {}
                }
            }
            let resent = log.numbers("quic:packet_lost").len();
            assert!(spare * 10 <= resent, "{name}, flow {flow}: {spare} of {resent}");
        }
    }
}

/// The example loses the 60th, 62nd and 64th data packet of each flow, segments 59, 61 and 63, and
/// no others.
#[test]
fn known_losses_are_found_where_they_are() {
    let (_, logs) = logged(&common::example("recoveries", &[]), Window::ALL);
    let [tahoe, reno, newreno, sack, ..] = &logs[..] else { panic!("four flows") };
    for log in [newreno, sack] {
        assert_eq!(log.numbers("quic:packet_lost"), [59, 61, 63]);
        assert_eq!(log.all("quic:timer_updated").count(), 0);
    }
    for log in [tahoe, reno] {
        assert_eq!(log.numbers("quic:packet_lost")[0], 59);
    }
    // The way back loses its 60th, 62nd and 64th ACK, which are those of 60, 64 and 66: what comes
    // is the ACKs of 62, 65 and 67. By RFC 6675's IsLost three segments above are SACKed: for 59
    // and 61 with that of 65 (62, 64 and 65), for 63 with that of 67.
    let blocks = |event: &Value| event["data"]["frames"][0]["acked_ranges"].clone();
    let mut heard = Value::Null;
    let mut found = Vec::new();
    for event in &sack.0 {
        match event["name"].as_str().unwrap() {
            "quic:packet_received" => heard = blocks(event),
            "quic:packet_lost" => found.push(heard.clone()),
            _ => {}
        }
    }
    let (first, second) =
        (serde_json::json!([[64, 65], [62], [60]]), serde_json::json!([[64, 67], [62], [60]]));
    assert_eq!(found, [first.clone(), first, second]);
    let modes: Vec<&str> = sack
        .all("quic:congestion_state_updated")
        .map(|event| event["data"]["new"].as_str().unwrap())
        .collect();
    assert_eq!(modes, ["slow_start", "recovery", "congestion_avoidance"]);
}

#[test]
fn a_window_cuts_a_log_and_its_first_metrics_are_whole() {
    let (_, scenario) = scenarios().swap_remove(1);
    let at = |s: u64| Time::ZERO + Span::from_secs(s);
    let (_, whole) = logged(&scenario, Window::ALL);
    let (_, part) = logged(&scenario, Window { from: at(1), to: at(2) });
    let within = |event: &&Value| (1000.0..2000.0).contains(&event["time"].as_f64().unwrap());
    for (whole, part) in whole.iter().zip(&part) {
        let sent =
            |log: &Log| log.all("quic:packet_sent").filter(within).cloned().collect::<Vec<_>>();
        assert_eq!(sent(part), sent(whole));
        // The scenario and the parameters stand before it.
        assert_eq!(part.0.iter().filter(|event| !within(event)).count(), 2);
        let first = part.all("quic:recovery_metrics_updated").next().unwrap();
        for name in ["min_rtt", "smoothed_rtt", "congestion_window", "bytes_in_flight"] {
            assert!(first["data"][name].is_number(), "{first}");
        }
    }
}
