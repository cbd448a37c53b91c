//! How much later than due packets leave.

use serde::{Deserialize, Serialize};

/// Bins of a microsecond.
const BINS: usize = 20_000;

/// A histogram of delays.
#[derive(Clone, Debug)]
pub struct Lateness {
    bins: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { bins: vec![0; BINS + 1], count: 0, max_ns: 0 }
    }
}

impl Lateness {
    /// A packet left so much too late [ns].
    pub fn add(&mut self, ns: u64) {
        self.bins[usize::try_from(ns / 1000).unwrap_or(BINS).min(BINS)] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    fn quantile(&self, part: f64) -> f64 {
        let wanted = (part * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return ((bin + 1) as f64 / 1e6).min(self.max_ns as f64 * 1e-9);
            }
        }
        self.max_ns as f64 * 1e-9
    }

    /// Its quantiles.
    pub fn report(&self) -> Late {
        Late {
            packets: self.count,
            p50_s: self.quantile(0.5),
            p90_s: self.quantile(0.9),
            p99_s: self.quantile(0.99),
            max_s: self.max_ns as f64 * 1e-9,
        }
    }
}

/// What a [`Lateness`] gives; quantiles to a microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Packets.
    pub packets: u64,
    /// Half of them were not later.
    pub p50_s: f64,
    /// 90 % were not later.
    pub p90_s: f64,
    /// 99 % were not later.
    pub p99_s: f64,
    /// The latest.
    pub max_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_edges_of_bins() {
        let mut late = Lateness::default();
        (0..100).for_each(|i| late.add(i * 1000));
        late.add(50_000_000);
        let report = late.report();
        // 101 values: the 51st is 50 us, the 91st 90 us, the 100th 99 us, in bins that end 1 us
        // later.
        assert_eq!((report.p50_s, report.p90_s, report.p99_s), (51e-6, 91e-6, 100e-6));
        assert_eq!((report.packets, report.max_s), (101, 0.05));
        assert_eq!(Lateness::default().report(), Late::default());
    }
}
