//! The list of benches.

use crate::{cc_steps, mechanisms, runs};

/// Something that can be done at any length.
pub struct Bench {
    /// Its name: crate or part, then what.
    pub name: String,
    /// The two lengths whose difference is counted.
    pub lengths: [u64; 2],
    /// Is it a whole run, whose operation is a packet-hop?
    pub whole_run: bool,
    /// Does it at a length; returns the operations that were done.
    pub work: Box<dyn Fn(u64) -> u64 + Sync>,
}

impl Bench {
    /// A bench of one step, done as often as the length says.
    pub fn step(name: String, work: impl Fn(u64) + Sync + 'static) -> Bench {
        let work = Box::new(move |steps| {
            work(steps);
            steps
        });
        Bench { name, lengths: [STEPS, 2 * STEPS], whole_run: false, work }
    }
}

/// Every bench, the longest last.
pub fn all() -> Result<Vec<Bench>, String> {
    let mut benches = mechanisms::benches();
    benches.extend(cc_steps::benches());
    benches.extend(runs::benches());
    Ok(benches)
}

/// Does the bench called `name` at `length`; returns the operations done.
pub fn run(name: &str, length: &str) -> Result<u64, String> {
    let length = length.parse().map_err(|_| format!("{length}: not a number"))?;
    let benches = all()?;
    let bench = benches.iter().find(|bench| bench.name == name);
    bench.map(|bench| (bench.work)(length)).ok_or_else(|| format!("{name}: no such bench"))
}

/// Enough for the timers of routers to run out many times over.
const STEPS: u64 = 50_000;
