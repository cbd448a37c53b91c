//! The tables that `make bench` prints.

use crate::baseline::{Baseline, change};
use crate::suite::Bench;
use crate::valgrind::Counts;

/// Prints all counts beside the baseline, and for whole runs what else was counted.
pub fn print(baseline: &Baseline, benches: &[Bench], counts: &[Counts]) {
    println!("{:28}{:>14}{:>12}{:>10}", "bench", "instructions", "baseline", "change");
    for (bench, counts) in benches.iter().zip(counts) {
        let now = counts.instructions;
        let (then, change) = match baseline.instructions(&bench.name) {
            Some(then) => (format!("{then:.2}"), percent(change(then, now))),
            None => ("-".into(), "-".into()),
        };
        println!("{:28}{now:>14.2}{then:>12}{change:>10}", bench.name);
    }
    println!();
    println!(
        "{:28}{:>14}{:>12}{:>12}{:>14}",
        "per packet-hop", "instructions", "D1 misses", "LL misses", "mispredicts"
    );
    for (bench, counts) in benches.iter().zip(counts).filter(|(bench, _)| bench.whole_run) {
        let Counts { instructions, d1_misses, ll_misses, mispredicts } = counts;
        println!(
            "{:28}{instructions:>14.1}{d1_misses:>12.3}{ll_misses:>12.4}{mispredicts:>14.3}",
            bench.name
        );
    }
}

/// To two decimals, and no negative zero.
fn percent(part: f64) -> String {
    let rounded = (1e4 * part).round() / 100.0;
    format!("{:+.2} %", rounded + 0.0)
}
