//! How long the emulator may watch the clock instead of sleeping.
//!
//! Linux lets real-time processes have `sched_rt_runtime_us` of each `sched_rt_period_us` of a core
//! (0.95 of a second by default), and then stops them, or serves ordinary processes first, for the
//! rest of the period: 50 ms in which no packet moves. Work has to be done; watching has not, so it
//! is paid from what work leaves of that share. Where work alone takes all of it, nothing is
//! watched, and packets are as late as the system wakes us.

use std::fs;

use crate::sys::Scheduling;

/// Left to others beyond what the kernel keeps for them.
const RESERVE: f64 = 0.1;
/// Of a core without SCHED_FIFO: watching takes time from processes that have the same right.
const ORDINARY: f64 = 0.5;
/// What is saved up, or owed, at most [ns]: a tenth of the kernel's period.
const MOST_NS: f64 = 1e8;

/// Time that was slept pays for time that is watched.
#[derive(Clone, Debug)]
pub struct Budget {
    share: f64,
    saved_ns: f64,
}

impl Budget {
    /// Of a process that may use this share of a core.
    pub fn new(share: f64) -> Budget {
        Budget { share: share.clamp(0.0, 1.0), saved_ns: 0.0 }
    }

    /// Of this process on this system.
    pub fn of_system(scheduling: Scheduling) -> Budget {
        let number = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us"));
            text.ok().and_then(|text| text.trim().parse::<f64>().ok())
        };
        Budget::new(match scheduling {
            Scheduling::Ordinary => ORDINARY,
            Scheduling::Realtime => share(number("runtime"), number("period")),
        })
    }

    /// So long was slept, and so long not [ns].
    pub fn passed(&mut self, slept_ns: u64, busy_ns: u64) {
        let more = self.share * slept_ns as f64 - (1.0 - self.share) * busy_ns as f64;
        self.saved_ns = (self.saved_ns + more).clamp(-MOST_NS, MOST_NS);
    }

    /// May so long be watched?
    pub fn allows(&self, ns: u64) -> bool {
        self.saved_ns >= (1.0 - self.share) * ns as f64
    }
}

/// What a real-time process may use of a core; a runtime of -1 is no limit.
fn share(runtime_us: Option<f64>, period_us: Option<f64>) -> f64 {
    match (runtime_us, period_us) {
        (Some(runtime), Some(period)) if runtime >= 0.0 && period > 0.0 => {
            (runtime / period - RESERVE).max(0.0)
        }
        _ => 1.0 - RESERVE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_share_less_the_reserve() {
        assert!((share(Some(950_000.0), Some(1_000_000.0)) - 0.85).abs() < 1e-12);
        assert!((share(Some(-1.0), Some(1_000_000.0)) - 0.9).abs() < 1e-12);
        // A kernel that gives real-time processes nothing is watched by none.
        assert_eq!(share(Some(0.0), Some(1_000_000.0)), 0.0);
        assert!((share(None, None) - 0.9).abs() < 1e-12);
    }

    /// Rounds of 1 ms, `work` of it busy, the rest watched if allowed and else slept: the part of
    /// the core that is used.
    fn used(share: f64, work: u64) -> f64 {
        let (mut budget, mut busy) = (Budget::new(share), 0);
        for _ in 0..10_000 {
            let rest = 1_000_000 - work;
            let watches = budget.allows(rest);
            busy += if watches { 1_000_000 } else { work };
            budget.passed(if watches { 0 } else { rest }, if watches { 1_000_000 } else { work });
        }
        busy as f64 / 1e10
    }

    #[test]
    fn watching_fills_the_share_and_no_more() {
        // 10 s of which at most 0.1 s were saved before: 0.85 within 0.01.
        assert!((used(0.85, 100_000) - 0.85).abs() < 0.01, "{}", used(0.85, 100_000));
        assert!((used(0.85, 800_000) - 0.85).abs() < 0.01, "{}", used(0.85, 800_000));
        // Work that needs more has it, and nothing is watched.
        assert!((used(0.85, 900_000) - 0.9).abs() < 1e-9, "{}", used(0.85, 900_000));
    }
}
