//! Whole runs of the examples. One operation is a packet-hop.

use std::fs;
use std::path::{Path, PathBuf};

use net::Run;
use units::{Span, Time};

use crate::suite::Bench;

/// The examples that are benched: between them they use every part of the engine's hot path.
const EXAMPLES: [&str; 11] = [
    "abilene",
    "base-case-sack-red",
    "base-case-vcp",
    "base-case-xcp",
    "cellular-trace",
    "lossy-satellite",
    "parking-lot",
    "sweep-rtt",
    "two-paths",
    "web-traffic",
    "xcp-fig10",
];

/// One bench for each of [`EXAMPLES`].
pub fn benches() -> Vec<Bench> {
    EXAMPLES
        .iter()
        .map(|name| bench(PathBuf::from(format!("python/clearpipe/examples/{name}.toml"))))
        .collect()
}

fn bench(file: PathBuf) -> Bench {
    let name = format!("run/{}", file.file_stem().unwrap_or_default().display());
    let work = Box::new(move |milliseconds| advance(&file, milliseconds));
    Bench { name, lengths: MILLISECONDS, whole_run: true, work }
}

/// Runs the scenario in `file` for that much of simulated time; returns the packet-hops.
fn advance(file: &Path, milliseconds: u64) -> u64 {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let parsed = scenario::parse_with(&name, &text, &[], &scenario::beside(file));
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}"));
    let mut run = Run::new(&parsed.scenario, parsed.scenario.seed, 0);
    let until = Time::ZERO + Span::from_millis(milliseconds);
    while run.progress().now < until && run.advance(EVENTS) {}
    run.progress().packet_hops
}

/// Flows start in the first ten seconds of the base cases; 40 % of them have by the first of these.
const MILLISECONDS: [u64; 2] = [4_000, 7_000];

/// Events between two looks at the time.
const EVENTS: u64 = 1_000;
