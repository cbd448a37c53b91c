//! Counting, by cachegrind.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use crate::suite::Bench;

/// What one operation costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Instructions.
    pub instructions: f64,
    /// Data accesses that the first cache does not have; whole runs only, as those below.
    pub d1_misses: f64,
    /// Accesses to instructions or data that the last cache does not have.
    pub ll_misses: f64,
    /// Branches that went elsewhere than foreseen.
    pub mispredicts: f64,
}

/// Is there a valgrind to run?
pub fn installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The counts of all benches, in their order; as many at a time as there are processors.
pub fn count(benches: &[Bench]) -> Result<Vec<Counts>, String> {
    let taken = AtomicUsize::new(0);
    // From the last to the first, since the last ones are the longest.
    let take = || benches.len().checked_sub(1 + taken.fetch_add(1, Ordering::Relaxed));
    let worker = || {
        let mut counted = Vec::new();
        while let Some(index) = take() {
            counted.push((index, count_one(&benches[index])?));
        }
        Ok(counted)
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<Result<Vec<(usize, Counts)>, String>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("workers do not panic")).collect()
    });
    let mut counts = vec![Counts::default(); benches.len()];
    for result in results {
        for (index, counted) in result? {
            counts[index] = counted;
        }
    }
    Ok(counts)
}

/// The difference of the two lengths over the difference of their operations.
fn count_one(bench: &Bench) -> Result<Counts, String> {
    let [short, long] = bench.lengths;
    let (short, long) = (Totals::of(bench, short)?, Totals::of(bench, long)?);
    let operations = long.operations - short.operations;
    if operations <= 0.0 {
        return Err(format!("{}: does no more when told to do more", bench.name));
    }
    let per_operation = |of: &[&str]| (long.sum(of) - short.sum(of)) / operations;
    Ok(Counts {
        instructions: per_operation(&["Ir"]),
        d1_misses: per_operation(&["D1mr", "D1mw"]),
        ll_misses: per_operation(&["ILmr", "DLmr", "DLmw"]),
        mispredicts: per_operation(&["Bcm", "Bim"]),
    })
}

/// What one process did from start to end.
struct Totals {
    operations: f64,
    /// cachegrind's name and count of each event.
    events: Vec<(String, f64)>,
}

impl Totals {
    fn of(bench: &Bench, length: u64) -> Result<Totals, String> {
        let output = run(bench, length).map_err(|error| format!("valgrind: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Totals::parse(&text).filter(|_| output.status.success()).ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("{} at length {length}: {}\n{said}", bench.name, output.status)
        })
    }

    fn parse(text: &str) -> Option<Totals> {
        let line = |key| text.lines().find_map(|line| line.strip_prefix(key));
        let operations = line("operations:")?.trim().parse().ok()?;
        let names = line("events:")?.split_whitespace().map(String::from);
        let sums = line("summary:")?.split_whitespace().map(|sum| sum.parse::<f64>().ok());
        let events =
            names.zip(sums).map(|(name, sum)| Some((name, sum?))).collect::<Option<_>>()?;
        Some(Totals { operations, events })
    }

    /// The sum of these events; none of those that were not counted.
    fn sum(&self, of: &[&str]) -> f64 {
        let wanted = self.events.iter().filter(|(name, _)| of.contains(&name.as_str()));
        wanted.map(|(_, count)| count).sum()
    }
}

/// Runs `bench` under cachegrind; both write to the standard output.
fn run(bench: &Bench, length: u64) -> std::io::Result<Output> {
    let simulated = if bench.whole_run { "yes" } else { "no" };
    Command::new("valgrind")
        .args(["-q", "--tool=cachegrind", "--cachegrind-out-file=/dev/stdout"])
        .args(CACHES)
        .arg(format!("--cache-sim={simulated}"))
        .arg(format!("--branch-sim={simulated}"))
        .arg(env::current_exe()?)
        .args(["run", &bench.name, &length.to_string()])
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("GLIBC_TUNABLES", TUNABLES)
        .output()
}

/// First caches of 32 KiB; as the last one 2 MiB, what a server's core has for itself.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"];

/// Lets every CPU run glibc's plain SSE2 variants, with the same thresholds. The names ending in
/// `_Usable` are those before glibc 2.33.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-EVEX,-ERMS,-FSRM,\
    -SSSE3,-SSE4_1,-SSE4_2,-BMI1,-BMI2,-LZCNT,-MOVBE,-RTM,-AVX_Usable,-AVX2_Usable,\
    -AVX512F_Usable,-AVX_Fast_Unaligned_Load,-Fast_Unaligned_Copy,-Fast_Copy_Backward\
    :glibc.cpu.x86_data_cache_size=32768\
    :glibc.cpu.x86_shared_cache_size=2097152\
    :glibc.cpu.x86_non_temporal_threshold=1048576";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_by_name() {
        let text = "operations: 3\ndesc: x\nevents: Ir D1mr D1mw\nfn=f\n1 2 3 4\nsummary: 9 5 7\n";
        let totals = Totals::parse(text).unwrap();
        assert_eq!(totals.operations, 3.0);
        assert_eq!(totals.sum(&["D1mr", "D1mw", "Bcm"]), 12.0);
        assert!(Totals::parse("operations: 3\n").is_none());
    }
}
