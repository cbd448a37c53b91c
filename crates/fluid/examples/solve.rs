//! Solves a scenario file without Python: `solve FILE [KEY=VALUE ...]`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: solve FILE [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let sets: Vec<String> = arguments.collect();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return fail(&format!("{file}: {error}")),
    };
    let parsed = scenario::parse_with(&file, &text, &sets, &scenario::beside(Path::new(&file)));
    let scenario = match parsed {
        Ok(parsed) => parsed.scenario,
        Err(error) => return fail(&error.to_string()),
    };
    let outcome = match clearpipe_fluid::simulate(&scenario, scenario.seed, 0, &mut |_| true) {
        Ok(outcome) => outcome,
        Err(error) => return fail(&format!("{file}: {error}")),
    };
    for link in &outcome.tables.links {
        let (name, utilization) = (&link.name, link.utilization_ratio);
        let (queue, drops) = (link.queue_mean_pkts, link.total_drops_pkts);
        println!("{name}: utilization {utilization:.4}, queue {queue:.1} pkts, {drops} drops");
    }
    for group in &outcome.tables.groups {
        let (name, goodput) = (&group.group, group.goodput_bps / group.flows.max(1) as f64);
        println!("{name}: {} flows, {goodput:.0} bit/s each", group.flows);
    }
    println!("{:?}", outcome.numerics);
    println!("{:032x}", outcome.fingerprint);
    ExitCode::SUCCESS
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(3)
}
