//! The field's measures, defined once for all engines.

use units::{Span, Time};

/// Jain's fairness index of `values`: (sum x)^2 / (n sum x^2), between 1/n and 1 (Jain, Chiu, Hawe
/// 1984). `None` without a positive value.
pub fn jain_index(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Bins of a queue counted in bytes; its quantiles are exact to twice that part of the limit.
const BYTE_BINS: u64 = 2048;

/// Queues of up to this many packets have a bin for each length.
const EXACT_PACKETS: u64 = 4096;

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
    packet_scale: PacketScale,
    packet_bins: Bins,
    byte_bins: Bins,
    /// Logarithm of the bytes per bin.
    byte_shift: u32,
}

/// Bins for longer queues, up to the buffer's limit.
const LONG_BINS: u64 = 4096;

/// How long a value was in each bin.
#[derive(Clone, Debug)]
struct Bins(Vec<u64>);

impl Bins {
    fn new(bins: u64) -> Bins {
        Bins(vec![0; bins as usize])
    }

    #[inline]
    fn add(&mut self, bin: u64, lasted: Span) {
        let last = self.0.len() - 1;
        self.0[(bin as usize).min(last)] += lasted.0;
    }

    /// Moves what is in each bin to another.
    fn map(&mut self, to: impl Fn(u64) -> u64) {
        let empty = vec![0; self.0.len()];
        let old = std::mem::replace(&mut self.0, empty);
        for (bin, lasted) in old.into_iter().enumerate() {
            self.add(to(bin as u64), Span(lasted));
        }
    }

    /// The bin below whose end the share `p` of `total` was spent, the time in all bins.
    fn quantile(&self, p: f64, total: Span) -> u64 {
        let most = p * total.0 as f64;
        let mut below = 0_u64;
        for (bin, &time) in self.0.iter().enumerate() {
            below += time;
            // Few bins were ever used.
            if time > 0 && below as f64 >= most {
                return bin as u64;
            }
        }
        0
    }
}

/// The bins of a queue counted in packets.
#[derive(Clone, Copy, Debug)]
struct PacketScale {
    /// Logarithm of the packets per bin beyond [`EXACT_PACKETS`].
    shift: u32,
}

impl PacketScale {
    fn up_to(limit: u64) -> PacketScale {
        let beyond = limit.saturating_sub(EXACT_PACKETS).max(1);
        PacketScale { shift: beyond.div_ceil(LONG_BINS).next_power_of_two().ilog2() }
    }

    #[inline]
    fn bin(self, packets: u64) -> u64 {
        if packets < EXACT_PACKETS {
            packets
        } else {
            EXACT_PACKETS + ((packets - EXACT_PACKETS) >> self.shift)
        }
    }

    /// The largest number of packets in a bin.
    fn end(self, bin: u64) -> u64 {
        if bin < EXACT_PACKETS {
            bin
        } else {
            EXACT_PACKETS + ((bin - EXACT_PACKETS + 1) << self.shift) - 1
        }
    }
}

impl Occupancy {
    /// Counts from `from` on; the most that the buffer holds sets the resolution of the quantiles.
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
            packet_scale: PacketScale::up_to(limit_packets),
            packet_bins: Bins::new(EXACT_PACKETS + LONG_BINS + 1),
            byte_bins: Bins::new(2 * BYTE_BINS + 1),
            byte_shift: (limit_bytes / BYTE_BINS).max(1).ilog2(),
        }
    }

    /// The buffer now holds more: the bins become as wide as they would have been from the start.
    pub fn widen(&mut self, limit_packets: u64, limit_bytes: u64) {
        let scale = PacketScale::up_to(limit_packets);
        if scale.shift > self.packet_scale.shift {
            let old = std::mem::replace(&mut self.packet_scale, scale);
            self.packet_bins.map(|bin| scale.bin(old.end(bin)));
        }
        let byte_shift = (limit_bytes / BYTE_BINS).max(1).ilog2();
        if byte_shift > self.byte_shift {
            let narrower = byte_shift - self.byte_shift;
            self.byte_shift = byte_shift;
            self.byte_bins.map(|bin| bin >> narrower);
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
        self.packet_bins.add(self.packet_scale.bin(self.packets), lasted);
        self.byte_bins.add(self.bytes >> self.byte_shift, lasted);
    }

    /// Closes the count at `end`.
    pub fn finish(&mut self, end: Time) -> QueueStatistics {
        self.advance(end);
        let span = end.since(self.from).0.max(1) as f64;
        let total = self.since.since(self.from);
        QueueStatistics {
            mean_packets: self.packet_time as f64 / span,
            mean_bytes: self.byte_time as f64 / span,
            p90_packets: self.packet_scale.end(self.packet_bins.quantile(0.9, total)),
            p90_bytes: self.byte_bins.quantile(0.9, total) << self.byte_shift,
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
    /// Not exceeded 90 % of the time [packets]; exact up to 4096.
    pub p90_packets: u64,
    /// Not exceeded 90 % of the time [bytes], to 1/1024 of the limit.
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
    fn quantiles_of_long_queues_are_within_a_bin() {
        let ms = |t: u64| Time::ZERO + Span::from_millis(t);
        let mut queue = Occupancy::new(ms(0), 1_000_000, 1_000_000_000);
        queue.change(ms(0), 1_000_000, 1_000_000_000);
        let q = queue.finish(ms(1));
        // (1,000,000 - 4096) / 4096 bins is below 256 packets a bin.
        assert!(q.p90_packets.abs_diff(1_000_000) < 256, "{}", q.p90_packets);
        assert!(q.p90_bytes.abs_diff(1_000_000_000) < 1_000_000, "{}", q.p90_bytes);
    }

    /// A buffer that grew under way gives what one of its final size from the start gives.
    #[test]
    fn a_buffer_that_grows_keeps_its_quantiles() {
        let ms = |t: u64| Time::ZERO + Span::from_millis(t);
        let mut grown = Occupancy::new(ms(0), 10_000, 10_000_000);
        let mut large = Occupancy::new(ms(0), 1_000_000, 1_000_000_000);
        for t in 0..1000 {
            if t == 700 {
                grown.widen(1_000_000, 1_000_000_000);
            }
            let packets = if t < 700 { 7 * t } else { 900 * t };
            grown.change(ms(t), packets, packets * 1000);
            large.change(ms(t), packets, packets * 1000);
        }
        assert_eq!(grown.finish(ms(1000)), large.finish(ms(1000)));
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
