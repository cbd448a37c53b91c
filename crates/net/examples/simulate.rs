//! Runs a scenario file without Python, as profilers want it:
//! `valgrind --tool=callgrind target/release/examples/simulate FILE [SEED [KEY=VALUE ...]]`.

use std::path::Path;
use std::process::ExitCode;

use clearpipe_net::{Outcome, simulate};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: simulate FILE [SEED [KEY=VALUE ...]]");
        return ExitCode::from(2);
    };
    let seed = arguments.next().and_then(|seed| seed.parse().ok());
    let sets: Vec<String> = arguments.collect();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return fail(&format!("{file}: {error}")),
    };
    match scenario::parse_with(&file, &text, &sets, &scenario::beside(Path::new(&file))) {
        Ok(parsed) => {
            let seed = seed.unwrap_or(parsed.scenario.seed);
            print(&simulate(&parsed.scenario, seed, 0, &mut |_| true));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(3)
}

fn print(outcome: &Outcome) {
    for link in &outcome.tables.links {
        let (name, utilization) = (&link.name, link.utilization_ratio);
        let (queue, drops) = (link.queue_mean_pkts, link.total_drops_pkts);
        println!("{name}: utilization {utilization:.4}, queue {queue:.1} pkts, {drops} drops");
    }
    println!("{} events, {} packet-hops", outcome.end.events, outcome.end.packet_hops);
    println!("{:032x}", outcome.fingerprint);
}
