//! How much of a core the emulator takes, so that the system need not stop it.
//!
//! Linux lets real-time processes have `sched_rt_runtime_us` of each `sched_rt_period_us` of a core
//! (0.95 of a second by default), and then serves ordinary processes for the rest of the period:
//! 50 ms in which no packet moves. Work has to be done; watching the clock has not, so it is paid
//! from what work leaves of that share, and nothing is watched where work takes all of it. Where
//! work takes more, the emulator rests by itself, for so short a time that packets are late by a
//! part of a millisecond, and ordinary processes have had their share before they are given it.

use std::fs;

use crate::sys::Scheduling;

/// Of the kernel's share, left to others while the clock is watched. Measured on 6.18: at 0.80 of a
/// core nothing is stopped, at 0.86 it is.
const RESERVE: f64 = 0.2;
/// And while there is nothing but work.
const WORKING_RESERVE: f64 = 0.1;
/// Of a core without SCHED_FIFO: watching takes time from processes that have the same right.
const ORDINARY: f64 = 0.5;
/// What is saved up at most [ns]: a burst of watching is not to be noticed in the kernel's period.
const MOST_NS: f64 = 1e6;
/// What is owed at most [ns].
const DEBT_NS: f64 = 1e8;
/// A rest is not shorter, as the system takes some microseconds for each [ns].
const REST_NS: f64 = 200_000.0;

/// A share of a core: time that was slept pays for time that was not.
#[derive(Clone, Debug)]
struct Account {
    share: f64,
    saved_ns: f64,
}

impl Account {
    fn new(share: f64) -> Account {
        Account { share: share.clamp(0.0, 1.0), saved_ns: 0.0 }
    }

    fn passed(&mut self, slept_ns: u64, busy_ns: u64) {
        let more = self.share * slept_ns as f64 - (1.0 - self.share) * busy_ns as f64;
        self.saved_ns = (self.saved_ns + more).clamp(-DEBT_NS, MOST_NS);
    }
}

/// What a process may do with its time.
#[derive(Clone, Debug)]
pub struct Budget {
    watching: Account,
    /// None: nobody stops it.
    working: Option<Account>,
}

impl Budget {
    /// Of a process that watches the clock for up to this share of a core, whatever it does.
    pub fn new(share: f64) -> Budget {
        Budget { watching: Account::new(share), working: None }
    }

    /// Of this process on this system.
    pub fn of_system(scheduling: Scheduling) -> Budget {
        let number = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us"));
            text.ok().and_then(|text| text.trim().parse::<f64>().ok())
        };
        match scheduling {
            Scheduling::Ordinary => Budget::new(ORDINARY),
            Scheduling::Realtime => Budget::limited(limit(number("runtime"), number("period"))),
        }
    }

    fn limited(limit: f64) -> Budget {
        let mut budget = Budget::new(limit - RESERVE);
        if limit > 2.0 * WORKING_RESERVE && limit < 1.0 {
            budget.working = Some(Account::new(limit - WORKING_RESERVE));
        }
        budget
    }

    /// So long was slept, and so long not [ns].
    pub fn passed(&mut self, slept_ns: u64, busy_ns: u64) {
        self.watching.passed(slept_ns, busy_ns);
        if let Some(working) = &mut self.working {
            working.passed(slept_ns, busy_ns);
        }
    }

    /// May so long be watched?
    pub fn allows(&self, ns: u64) -> bool {
        let Account { share, saved_ns } = self.watching;
        saved_ns >= (1.0 - share) * ns as f64
    }

    /// How long to rest now so as not to be stopped for longer later [ns]; 0: not at all.
    pub fn rest(&self) -> u64 {
        let owed = self.working.as_ref().map_or(0.0, |account| -account.saved_ns / account.share);
        if owed < REST_NS { 0 } else { owed.min(2.0 * REST_NS) as u64 }
    }
}

/// What the kernel lets real-time processes use of a core; a runtime of -1 is no limit.
fn limit(runtime_us: Option<f64>, period_us: Option<f64>) -> f64 {
    match (runtime_us, period_us) {
        (Some(runtime), Some(period)) if runtime >= 0.0 && period > 0.0 => runtime / period,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_share() {
        assert!((limit(Some(950_000.0), Some(1_000_000.0)) - 0.95).abs() < 1e-12);
        assert_eq!(limit(Some(-1.0), Some(1_000_000.0)), 1.0);
        assert_eq!(limit(None, None), 1.0);
        // A kernel that gives real-time processes nothing is watched by none.
        assert!(!Budget::limited(0.0).allows(1));
    }

    /// Rounds of 1 ms with `work` [ns] to be done in each, and the clock watched for the rest if
    /// that is allowed: the part of the core that is used over 10 s, and at most over any 100 ms.
    fn used(limit: f64, work: u64) -> (f64, f64) {
        let mut budget = Budget::limited(limit);
        let (mut all, mut most, mut recent) = (0, 0, std::collections::VecDeque::new());
        for _ in 0..10_000 {
            let rest = 1_000_000 - work;
            let watches = budget.allows(rest);
            budget.passed(if watches { 0 } else { rest }, if watches { 1_000_000 } else { work });
            let busy = if watches { 1_000_000 } else { work };
            all += busy;
            recent.push_back(busy);
            if recent.len() > 100 {
                recent.pop_front();
            }
            most = most.max(recent.iter().sum::<u64>());
        }
        (all as f64 / 1e10, most as f64 / 1e8)
    }

    #[test]
    fn watching_fills_the_share_and_no_more() {
        for work in [100_000, 800_000] {
            let (all, most) = used(0.95, work);
            // A round of 1 ms is 0.01 of 100 ms, and 1 ms that was saved pays for 4 ms.
            let share = 0.75_f64.max(work as f64 / 1e6);
            assert!((all - share).abs() < 0.01 && most < share + 0.06, "{work}: {all} {most}");
        }
        // Work that needs more has it, and nothing is watched.
        assert!((used(0.95, 900_000).0 - 0.9).abs() < 1e-9);
    }

    #[test]
    fn who_works_all_the_time_rests_before_it_is_stopped() {
        let mut budget = Budget::limited(0.95);
        let (mut worked, mut rested, mut longest) = (0, 0, 0);
        for _ in 0..10_000 {
            worked += 100_000;
            budget.passed(0, 100_000);
            let rest = budget.rest();
            budget.passed(rest, 0);
            (rested, longest) = (rested + rest, longest.max(rest));
        }
        let share = worked as f64 / (worked + rested) as f64;
        assert!((share - 0.85).abs() < 0.005, "{share}");
        assert!((200_000..=400_000).contains(&longest), "{longest}");
        // Nobody stops a process without SCHED_FIFO, or without a limit.
        let mut free = [Budget::new(0.5), Budget::limited(1.0)];
        free.iter_mut().for_each(|budget| budget.passed(0, 1_000_000_000));
        assert_eq!(free.map(|budget| budget.rest()), [0, 0]);
    }
}
