//! Instruction counts of the packet engine and its parts: the same number every time, so that a
//! change of 3 % is seen on a machine whose clock time moves by 30 %.
//!
//! `make bench` prints the counts beside those of `benches/baseline.toml`; `make bench-gate` fails
//! when one is more than 3 % above, or when benches and baseline are not the same set; `make
//! bench-accept` writes the baseline anew. All from the repository's root.
//!
//! - **What is counted.** Every bench runs in a process of its own under valgrind's cachegrind, at
//!   two lengths. The difference of the two counts over the difference of the operations done is
//!   the count: start-up, parsing, set-up and tear-down are in both and drop out. The bench's loop
//!   is inside: `router/droptail-*`, a queue that does nothing, shows what it costs. Caches and
//!   branch predictor are simulated for whole runs; these figures are printed, not gated.
//! - **What is benched.** [`suite`] has the list: the mechanisms, the protocols and queues of the
//!   base cases, and the examples that between them use every part of the hot path.
//!   `make bench-accept` gives what is added there a baseline.
//! - **What it depends on.** The release profile as it is shipped (fat LTO builds in under a
//!   minute), the pinned compiler, the C library; not on the CPU: the environment is fixed, glibc's
//!   string functions are pinned, the simulated caches are given. A baseline is of one
//!   architecture.
//!
//! Exit status: 0, 2 wrong usage, 3 a bench failed, 4 the gate is shut, 5 skipped for want of
//! valgrind or because the baseline is another architecture's.
#![forbid(unsafe_code)]

mod baseline;
mod cc_steps;
mod mechanisms;
mod runs;
mod suite;
mod table;
mod valgrind;

use std::process::ExitCode;

use crate::baseline::Baseline;
use crate::suite::Bench;
use crate::valgrind::Counts;

const USAGE: u8 = 2;
const FAILED: u8 = 3;
const SHUT: u8 = 4;
const SKIPPED: u8 = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let status = match words[..] {
        ["show"] => measured(|_, _, _| Ok(0)),
        ["gate"] => measured(gate),
        ["accept"] => measured(accept),
        ["run", name, length] => suite::run(name, length).map(|operations| {
            println!("operations: {operations}");
            0
        }),
        _ => {
            eprintln!("usage: clearpipe-benches show | gate | accept");
            Ok(USAGE)
        }
    };
    ExitCode::from(status.unwrap_or_else(|message| {
        eprintln!("{message}");
        FAILED
    }))
}

/// What to do with the counts, beside the baseline as it is.
type Then = fn(&Baseline, &[Bench], &[Counts]) -> Result<u8, String>;

/// Counts all benches, prints the tables, and leaves the rest to `then`.
fn measured(then: Then) -> Result<u8, String> {
    if !valgrind::installed() {
        eprintln!("skipped: valgrind is not installed: make deps-dev");
        return Ok(SKIPPED);
    }
    let baseline = Baseline::read()?;
    let benches = suite::all()?;
    let counts = valgrind::count(&benches)?;
    table::print(&baseline, &benches, &counts);
    then(&baseline, &benches, &counts)
}

fn gate(baseline: &Baseline, benches: &[Bench], counts: &[Counts]) -> Result<u8, String> {
    if !baseline.is_of_this_machine() {
        eprintln!("skipped: benches/baseline.toml is of another architecture");
        return Ok(SKIPPED);
    }
    let complaints = baseline.complaints(benches, counts);
    if complaints.is_empty() {
        return Ok(0);
    }
    eprintln!("\nthe gate is shut:");
    for complaint in &complaints {
        eprintln!("  {complaint}");
    }
    eprintln!("If this is meant: make bench-accept, and say why in the commit.");
    Ok(SHUT)
}

fn accept(_: &Baseline, benches: &[Bench], counts: &[Counts]) -> Result<u8, String> {
    Baseline::of(benches, counts).write()?;
    Ok(0)
}
