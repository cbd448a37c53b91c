//! The field's measures, defined once for all engines.

use units::{Span, Time};

/// Jain's fairness index of `values`: (sum x)^2 / (n sum x^2), between 1/n and 1 (Jain, Chiu, Hawe
/// 1984). `None` without a positive value.
pub fn jain_index(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Number of bins of an [`Occupancy`]; quantiles are exact for shorter queues.
const BINS: u64 = 2048;

/// A queue's length, weighted by the time it lasted.
#[derive(Clone, Debug)]
pub struct Occupancy {
    from: Time,
    since: Time,
    packets: u64,
    bytes: u64,
    packet_time: u128,
    byte_time: u128,
    max_packets: u64,
    max_bytes: u64,
    packet_bins: Bins,
    byte_bins: Bins,
}

#[derive(Clone, Debug)]
struct Bins {
    width: u64,
    time: Vec<u64>,
}

impl Bins {
    fn new(limit: u64) -> Bins {
        Bins { width: limit.div_ceil(BINS).max(1), time: vec![0; 1] }
    }

    #[inline]
    fn add(&mut self, value: u64, lasted: Span) {
        let bin = (value / self.width) as usize;
        if bin >= self.time.len() {
            self.time.resize(bin + 1, 0);
        }
        self.time[bin] += lasted.0;
    }

    /// The upper edge of the bin below which the share `p` of the time was spent.
    fn quantile(&self, p: f64) -> u64 {
        let total: u128 = self.time.iter().map(|&t| u128::from(t)).sum();
        let wanted = p * total as f64;
        let mut below = 0_u128;
        for (bin, &time) in self.time.iter().enumerate() {
            below += u128::from(time);
            if below as f64 >= wanted {
                return bin as u64 * self.width + (self.width - 1);
            }
        }
        0
    }
}

impl Occupancy {
    /// Counts from `from` on; the limits set the resolution of the quantiles.
    pub fn new(from: Time, limit_packets: u64, limit_bytes: u64) -> Occupancy {
        Occupancy {
            from,
            since: from,
            packets: 0,
            bytes: 0,
            packet_time: 0,
            byte_time: 0,
            max_packets: 0,
            max_bytes: 0,
            packet_bins: Bins::new(limit_packets),
            byte_bins: Bins::new(limit_bytes),
        }
    }

    /// The queue changes at `now` to `packets` and `bytes`.
    #[inline]
    pub fn change(&mut self, now: Time, packets: u64, bytes: u64) {
        self.advance(now);
        self.packets = packets;
        self.bytes = bytes;
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        if now <= self.since {
            return;
        }
        let lasted = now.since(self.since);
        self.since = now;
        self.packet_time += u128::from(self.packets) * u128::from(lasted.0);
        self.byte_time += u128::from(self.bytes) * u128::from(lasted.0);
        self.max_packets = self.max_packets.max(self.packets);
        self.max_bytes = self.max_bytes.max(self.bytes);
        self.packet_bins.add(self.packets, lasted);
        self.byte_bins.add(self.bytes, lasted);
    }

    /// Closes the count at `end`.
    pub fn finish(&mut self, end: Time) -> QueueStatistics {
        self.advance(end);
        let span = end.since(self.from).0.max(1) as f64;
        QueueStatistics {
            mean_packets: self.packet_time as f64 / span,
            mean_bytes: self.byte_time as f64 / span,
            p90_packets: self.packet_bins.quantile(0.9),
            p90_bytes: self.byte_bins.quantile(0.9),
            max_packets: self.max_packets,
            max_bytes: self.max_bytes,
        }
    }
}

/// What an [`Occupancy`] gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueStatistics {
    /// Time-weighted mean [packets].
    pub mean_packets: f64,
    /// Time-weighted mean [bytes].
    pub mean_bytes: f64,
    /// Not exceeded 90 % of the time [packets].
    pub p90_packets: u64,
    /// Not exceeded 90 % of the time [bytes], to 1/2048 of the limit.
    pub p90_bytes: u64,
    /// Largest [packets].
    pub max_packets: u64,
    /// Largest [bytes].
    pub max_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_of_known_shares() {
        assert_eq!(jain_index(&[1.0, 1.0, 1.0, 1.0]), Some(1.0));
        // One of four gets everything: 1/4.
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 3)^2 / (2 * 10) = 0.8.
        assert_eq!(jain_index(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain_index(&[]), None);
        assert_eq!(jain_index(&[0.0]), None);
    }

    #[test]
    fn occupancy_weights_by_time() {
        let ms = |t: u64| Time::ZERO + Span::from_millis(t);
        let mut queue = Occupancy::new(ms(10), 100, 100_000);
        queue.change(ms(0), 50, 50_000); // before the warm-up's end
        queue.change(ms(12), 2, 2_000); // 2 ms of 50 counted
        queue.change(ms(20), 0, 0); // 8 ms of 2; then 10 ms of 0
        let q = queue.finish(ms(30));
        // (2 * 50 + 8 * 2 + 10 * 0) / 20 = 5.8.
        assert!((q.mean_packets - 5.8).abs() < 1e-12);
        assert!((q.mean_bytes - 5800.0).abs() < 1e-9);
        // 0 for half of the time, <= 2 for 90 % of it.
        assert_eq!(q.p90_packets, 2);
        assert_eq!((q.max_packets, q.max_bytes), (50, 50_000));
    }
}
