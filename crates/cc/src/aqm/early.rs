//! What RED's relatives share: the slow average of a queue in packets that ages while the line is
//! idle, and the spread choice of packets between two thresholds. Floyd and Jacobson, "Random early
//! detection gateways for congestion avoidance", ToN 1993, section IV; formulas as printed there.

use units::random::Stream;
use units::{Rate, Span, Time, math};

use crate::roles::{Limit, RouterContext};

/// avg [packets].
#[derive(Clone, Debug)]
pub(crate) struct Average {
    /// The weight of a new sample.
    pub w_q: f64,
    capacity: Rate,
    packet_time: Span,
    packet_bytes: u32,
    pub value: f64,
    /// While nothing waits: when the line fell or will fall idle, or was last aged.
    idle_since: Time,
}

impl Average {
    /// While the line is idle it ages as if packets of `packet_bytes` passed.
    pub fn new(w_q: f64, capacity: Rate, packet_bytes: u32) -> Average {
        let packet_time = capacity.serialization(packet_bytes);
        Average { w_q, capacity, packet_time, packet_bytes, value: 0.0, idle_since: Time::ZERO }
    }

    /// An arrival finds `waiting` packets; `empty`: nothing waits at all.
    #[inline]
    pub fn update(&mut self, now: Time, waiting: f64, empty: bool) {
        if empty {
            let missed = now.since(self.idle_since).0 / self.packet_time.0.max(1);
            if missed > 0 {
                self.value *= math::pow(1.0 - self.w_q, missed as f64);
            }
            self.idle_since = self.idle_since.max(now);
        }
        self.value += self.w_q * (waiting - self.value);
    }

    /// The last packet goes out and the line is idle from `at`.
    pub fn emptied(&mut self, at: Time) {
        self.idle_since = at;
    }

    /// How long a packet takes.
    pub fn time(&self, size: u32) -> Span {
        self.capacity.serialization(size)
    }

    pub fn on_capacity(&mut self, capacity: Rate) {
        self.capacity = capacity;
        self.packet_time = capacity.serialization(self.packet_bytes);
    }

    /// The same average under new parameters.
    pub fn carried(self, before: &Average) -> Average {
        Average { value: before.value, idle_since: before.idle_since, ..self }
    }
}

/// Where between two thresholds which packet is picked.
#[derive(Clone, Debug)]
pub(crate) struct Early {
    /// [packets]
    pub min_th: f64,
    /// [packets]
    pub max_th: f64,
    max_p: f64,
    /// Packets since the last one picked; `None` below min_th.
    count: Option<u32>,
}

impl Early {
    pub fn new((min_th, max_th): (f64, f64), max_p: f64) -> Early {
        Early { min_th, max_th: max_th.max(min_th), max_p, count: None }
    }

    /// The same state under new parameters.
    pub fn carried(self, before: &Early) -> Early {
        Early { count: before.count, ..self }
    }

    /// p_b.
    pub fn initial(&self, average: f64) -> f64 {
        let width = self.max_th - self.min_th;
        if average >= self.max_th {
            return 1.0;
        }
        if width > 0.0 { (self.max_p * (average - self.min_th) / width).max(0.0) } else { 0.0 }
    }

    /// Is this arrival picked? With p_a = p_b/(1 - count p_b) between the thresholds, always above.
    pub fn picks(&mut self, average: f64, stream: &mut Stream) -> bool {
        if average < self.min_th {
            self.count = None;
            return false;
        }
        if average >= self.max_th {
            self.count = Some(0);
            return true;
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let p_b = self.initial(average);
        let rest = 1.0 - f64::from(count) * p_b;
        let picked = p_b > 0.0 && (rest <= p_b || stream.chance(p_b / rest));
        self.count = Some(if picked { 0 } else { count });
        picked
    }
}

/// A threshold in packets, or a part of the buffer if it is 0.
pub(crate) fn threshold(th: f64, ratio: f64, context: &RouterContext) -> f64 {
    let buffer = match context.limit {
        Limit::Bytes(bytes) => bytes as f64 / f64::from(context.packet_bytes.max(1)),
        Limit::Packets(packets) => f64::from(packets),
    };
    if th > 0.0 { th } else { ratio * buffer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near, router_context};

    #[test]
    fn the_average_moves_by_its_weight_and_ages_while_idle() {
        // 8 Mb/s: 1 ms for a packet of 1000 B.
        let mut average = Average::new(0.25, Rate(8_000_000), 1000);
        average.update(ms(0), 8.0, false);
        assert!(near(average.value, 2.0));
        average.update(ms(0), 8.0, false);
        // 2 + 0.25*(8 - 2).
        assert!(near(average.value, 3.5));
        average.emptied(ms(10));
        average.update(ms(12), 0.0, true);
        // Two packet times idle: 3.5*0.75^2, and once more for the empty queue.
        assert!(near(average.value, 3.5 * 0.421_875));
        // 80 Mb/s: 0.1 ms a packet; the idle time since 12 ms is ten of them.
        average.value = 1.0;
        average.on_capacity(Rate(80_000_000));
        average.update(ms(13), 0.0, true);
        assert!(near(average.value, math::pow(0.75, 11.0)));
    }

    #[test]
    fn the_gap_between_picks_is_uniform() {
        // p_b = 0.1*(15 - 10)/(20 - 10) = 0.05: a gap is uniform on 1..20, mean 10.5; the first
        // after the average rose has count 0 as well. Standard error of 4000 gaps: 0.09.
        let mut early = Early::new((10.0, 20.0), 0.1);
        assert!(near(early.initial(15.0), 0.05));
        let mut stream = Stream::new(1, 0, "test");
        early.count = Some(0);
        let (mut gap, mut sum, mut gaps, mut longest) = (0, 0, 0, 0);
        while gaps < 4000 {
            gap += 1;
            if early.picks(15.0, &mut stream) {
                longest = longest.max(gap);
                (sum, gaps, gap) = (sum + gap, gaps + 1, 0);
            }
        }
        let mean = f64::from(sum) / 4000.0;
        assert!((mean - 10.5).abs() < 0.45, "{mean}");
        assert!(longest <= 20, "{longest}");
    }

    #[test]
    fn nothing_below_and_all_above_the_thresholds() {
        let mut early = Early::new((10.0, 20.0), 0.1);
        let mut stream = Stream::new(1, 0, "test");
        assert!((0..100).all(|_| !early.picks(9.9, &mut stream)) && early.count.is_none());
        assert!((0..100).all(|_| early.picks(20.0, &mut stream)));
    }

    /// "min_th <= avg < max_th": at min_th packets are counted from 0, without a chance yet; at 15
    /// with max_p = 1 p_b is a half, so of the first two arrivals one is picked: 1/2, then 1/2/(1 -
    /// 1/2).
    #[test]
    fn the_count_begins_at_min_th() {
        let mut early = Early::new((10.0, 20.0), 1.0);
        let mut stream = Stream::new(1, 0, "test");
        assert!(!early.picks(10.0, &mut stream));
        assert_eq!(early.count, Some(0));
        assert!(!early.picks(10.0, &mut stream));
        assert_eq!(early.count, Some(1));
        let mut first = 0;
        for _ in 0..1000 {
            early.count = None;
            let picks = [early.picks(15.0, &mut stream), early.picks(15.0, &mut stream)];
            // After a pick count is 0 again, and the next has 1/2/(1 - 1/2) for count = 1.
            assert!(picks[0] || picks[1]);
            first += u32::from(picks[0]);
        }
        // 500, sd 16.
        assert!((430..570).contains(&first), "{first}");
        assert!(early.picks(20.0, &mut stream) && early.count == Some(0));
    }

    /// Thresholds that are the same leave nothing between them, and a maximum below the minimum is
    /// the minimum.
    #[test]
    fn a_region_of_no_width_is_never_entered() {
        for max_th in [10.0, 5.0] {
            let mut early = Early::new((10.0, max_th), 0.1);
            let mut stream = Stream::new(1, 0, "test");
            assert_eq!((early.initial(9.9), early.initial(10.0)), (0.0, 1.0));
            assert!(!early.picks(9.9, &mut stream) && early.picks(10.0, &mut stream));
        }
    }

    /// Without a chance nothing is drawn.
    #[test]
    fn at_min_th_nothing_is_drawn() {
        let mut stream = Stream::new(1, 0, "test");
        let mut before = stream.clone();
        Early::new((10.0, 20.0), 0.1).picks(10.0, &mut stream);
        assert_eq!(stream.bits(), before.bits());
    }

    /// Of a buffer of 15,000 bytes, 15 packets of 1000, a half is 7.5; of one of 40 packets 20. A
    /// threshold of its own goes before.
    #[test]
    fn a_ratio_is_of_the_buffer_in_packets() {
        let context = router_context(Rate(8_000_000), 40);
        let bytes = RouterContext { limit: Limit::Bytes(15_000), ..context.clone() };
        assert_eq!((threshold(0.0, 0.5, &bytes), threshold(0.0, 0.5, &context)), (7.5, 20.0));
        assert_eq!(threshold(3.0, 0.5, &bytes), 3.0);
    }
}
