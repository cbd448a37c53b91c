//! Golden runs: short ones whose numbers are written down, each with the versions of the parts that
//! it uses. Some are near a claim of a paper; besides there is one of each protocol, each queue and
//! each recovery that the registry has, with its defaults and losses. The fingerprints must come
//! out equal in every build (`make fingerprints` runs debug, release and native code); if one
//! moves, so must the version of one of its parts.
//!
//! With a new version, `CLEARPIPE_GOLDEN=write` writes the file anew.

#[path = "it/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::fmt::Write;

use cc::registry::{Recovery, protocols, queues};
use scenario::Scenario;

/// Name, example, keys set, and the claim that the numbers are near.
const RUNS: [(&str, &str, &[&str], &str); 6] = [
    ("xcp", "base-case-xcp", &["duration=12s", "warmup=6s"], "utilization near 1: XCP section 5.2"),
    ("vcp", "base-case-vcp", &["duration=24s", "warmup=18s"], "0.93 and no drop: VCP section IV-A"),
    ("red", "base-case-sack-red", &["duration=12s", "warmup=6s"], "mean queue below max_th, 1000"),
    ("fig10", "xcp-fig10", &[], "utilization 0.95 and more, no drop: XCP Fig. 10"),
    (
        "lot",
        "parking-lot",
        &["duration=12s", "warmup=6s"],
        "above Low's floor for XCP, 0.80, on each link",
    ),
    ("paths", "two-paths", &["duration=10s", "warmup=5s"], "ACKs take 40/1000 of sat's rate back"),
];

/// A small network with losses, and data both ways; what the protocol and the queue are is TOML.
fn small(protocol: &str, rate: &str, queue: &str) -> Scenario {
    let text = format!(
        r#"
schema = 1
name = "small"
duration = "12s"
warmup = "2s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "100pkt"
queue = {queue}
loss = "0.2%"
[flows.long]
protocol = {protocol}
{rate}
count = 3
start = "uniform(0s, 500ms)"
[flows.short]
protocol = {protocol}
{rate}
direction = "reverse"
size = "200kB"
start = "1s"
"#
    );
    scenario::parse("small.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}")).scenario
}

/// One run of each protocol over the queue that it needs, of each queue that none of them needs,
/// and of each recovery.
fn each_part() -> Vec<(String, Scenario)> {
    let ends = || protocols().filter(|info| info.name != "python");
    let mut runs: Vec<(String, Scenario)> = ends()
        .map(|info| {
            let rate = if info.open_loop { "rate = \"4Mbps\"" } else { "" };
            let queue = format!("{:?}", info.router.unwrap_or("droptail"));
            (format!("small-{}", info.name), small(&format!("{:?}", info.name), rate, &queue))
        })
        .collect();
    let needed: Vec<&str> = ends().filter_map(|info| info.router).collect();
    for info in queues().filter(|info| info.name != "python" && !needed.contains(&info.name)) {
        let (protocol, queue) = match info.name {
            "xcp-police" => ("\"xcp\"", "{ kind = \"xcp\", over = \"xcp-police\" }".to_owned()),
            name if name.starts_with("xcp") => ("\"xcp\"", format!("{name:?}")),
            name => ("{ kind = \"sack\", ecn = true }", format!("{name:?}")),
        };
        runs.push((format!("small-queue-{}", info.name), small(protocol, "", &queue)));
    }
    for recovery in Recovery::ALL.into_iter().filter(|recovery| *recovery != Recovery::None) {
        let protocol = format!("{{ kind = \"cubic\", recovery = {:?} }}", recovery.name());
        let name = format!("small-recovery-{}", recovery.name());
        runs.push((name, small(&protocol, "", "\"droptail\"")));
    }
    runs
}

/// The rows, each with the versions of its parts before it.
fn rows() -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    for (name, example, sets, claim) in RUNS {
        let scenario = common::example(example, sets);
        rows.extend([1, 2].map(|seed| pair(name, &scenario, seed, claim)));
    }
    for (name, scenario) in each_part() {
        rows.push(pair(&name, &scenario, 1, "defaults, losses"));
    }
    rows
}

fn pair(name: &str, scenario: &Scenario, seed: u64, claim: &str) -> [String; 2] {
    let parts: Vec<String> = clearpipe_net::parts(scenario)
        .into_iter()
        .map(|(part, version)| format!("{part} {version}"))
        .collect();
    let outcome = common::run(scenario, seed, 0);
    let mut row = format!("{name} {seed} {:032x} |", outcome.fingerprint);
    for link in outcome.tables.links.iter().filter(|l| l.departures_pkts > 0).take(3) {
        let ppm = (link.utilization_ratio * 1e6).round() as u64;
        let queue = (link.queue_mean_pkts * 1e3).round() as u64;
        write!(row, " {} {ppm} {queue} {}", link.name, link.total_drops_pkts).unwrap();
    }
    [format!("{name} {seed} parts {}", parts.join(", ")), format!("{row} # {claim}")]
}

const HEADER: &str = "# name seed parts versions, then\n\
    # name seed fingerprint | link utilization_ppm queue_mean_millipackets total_drops ... # claim\n";

/// A row that differs from the one written down with the same parts.
fn moved<'a>(golden: &[&str], now: &'a [[String; 2]]) -> Option<&'a str> {
    let stale = |[parts, row]: &&[String; 2]| {
        let same = golden.iter().position(|line| line == parts);
        same.is_some_and(|at| golden.get(at + 1) != Some(&row.as_str()))
    };
    now.iter().find(stale).map(|[_, row]| row.as_str())
}

#[test]
fn golden_runs_have_not_moved() {
    let path = common::root("golden/packet-engine.txt");
    let now = rows();
    let golden = std::fs::read_to_string(&path).expect("golden/packet-engine.txt");
    let lines: Vec<&str> = golden.lines().collect();
    assert_eq!(moved(&lines, &now), None, "moved without a new version of one of its parts");
    let lines: Vec<String> = now.iter().map(|pair| pair.join("\n") + "\n").collect();
    let text = HEADER.to_owned() + &lines.concat();
    if golden != text {
        let write = std::env::var("CLEARPIPE_GOLDEN").is_ok_and(|mode| mode == "write");
        assert!(write, "a new version needs new golden runs: set CLEARPIPE_GOLDEN=write");
        std::fs::write(&path, &text).expect("golden/ can be written");
    }
}

#[test]
fn a_row_may_move_with_its_own_parts_alone() {
    let row = |text: &str| ["a 1 parts xcp 1".to_owned(), text.to_owned()];
    let golden = ["a 1 parts xcp 1", "a 1 ff |", "b 1 parts bbr 1", "b 1 ee |"];
    assert_eq!(moved(&golden, &[row("a 1 ff |")]), None);
    assert_eq!(moved(&golden, &[row("a 1 fe |")]), Some("a 1 fe |"));
    let newer = ["a 1 parts xcp 2".to_owned(), "a 1 fe |".to_owned()];
    assert_eq!(moved(&golden, &[newer]), None);
}

#[test]
fn every_part_has_a_run_of_its_own() {
    let met = each_part().iter().flat_map(|(_, scenario)| scenario::parts(scenario)).collect();
    let wanted = scenario::registered().into_iter().filter(|(name, _)| !name.ends_with("python"));
    let wanted: BTreeMap<String, String> = wanted.collect();
    assert_eq!(wanted, met);
}

#[test]
fn another_seed_or_replication_is_another_run() {
    let scenario = common::example("base-case-xcp", &["duration=10s", "warmup=0s"]);
    let first = common::run(&scenario, 1, 0).fingerprint;
    assert_eq!(first, common::run(&scenario, 1, 0).fingerprint);
    assert_ne!(first, common::run(&scenario, 2, 0).fingerprint);
    assert_ne!(first, common::run(&scenario, 1, 1).fingerprint);
}
