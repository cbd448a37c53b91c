//! Golden runs: short ones whose numbers are written down, each beside the claim it is near. The
//! fingerprints must come out equal in every build (`make fingerprints` runs debug, release and
//! native code); if they move, so must `MODEL_VERSION`.
//!
//! With a new version, `CLEARPIPE_GOLDEN=write` writes the file anew.

mod common;

use std::fmt::Write;

use clearpipe_net::MODEL_VERSION;

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

fn table() -> String {
    let mut text = String::from(
        "# name seed fingerprint | link utilization_ppm queue_mean_millipackets total_drops ... # claim\n",
    );
    writeln!(text, "model {MODEL_VERSION}").unwrap();
    for (name, example, sets, claim) in RUNS {
        for seed in [1, 2] {
            let outcome = common::run(&common::example(example, sets), seed, 0);
            write!(text, "{name} {seed} {:032x} |", outcome.fingerprint).unwrap();
            for link in outcome.tables.links.iter().filter(|l| l.departures_pkts > 0).take(3) {
                let ppm = (link.utilization_ratio * 1e6).round() as u64;
                let queue = (link.queue_mean_pkts * 1e3).round() as u64;
                write!(text, " {} {ppm} {queue} {}", link.name, link.total_drops_pkts).unwrap();
            }
            writeln!(text, " # {claim}").unwrap();
        }
    }
    text
}

#[test]
fn golden_runs_have_not_moved() {
    let path = common::root("golden/packet-engine.txt");
    let now = table();
    let golden = std::fs::read_to_string(&path).expect("golden/packet-engine.txt");
    let model = |text: &str| text.lines().nth(1).map(str::to_owned);
    if model(&golden) != model(&now) {
        let write = std::env::var("CLEARPIPE_GOLDEN").is_ok_and(|mode| mode == "write");
        assert!(write, "a new model version needs new golden runs: set CLEARPIPE_GOLDEN=write");
        std::fs::write(&path, &now).expect("golden/ can be written");
        return;
    }
    for (old, new) in golden.lines().zip(now.lines()) {
        assert_eq!(old, new, "moved without a new MODEL_VERSION");
    }
    assert_eq!(golden.lines().count(), now.lines().count());
}

#[test]
fn another_seed_or_replication_is_another_run() {
    let scenario = common::example("base-case-xcp", &["duration=10s", "warmup=0s"]);
    let first = common::run(&scenario, 1, 0).fingerprint;
    assert_eq!(first, common::run(&scenario, 1, 0).fingerprint);
    assert_ne!(first, common::run(&scenario, 2, 0).fingerprint);
    assert_ne!(first, common::run(&scenario, 1, 1).fingerprint);
}
