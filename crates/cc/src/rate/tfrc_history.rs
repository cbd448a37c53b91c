//! TFRC's loss history: which packets are lost, which losses are one event, and the loss event rate
//! of the last eight intervals between events (RFC 5348, section 5).

use units::{Span, Time};

/// n, the loss intervals that count (section 5.4).
const INTERVALS: usize = 8;

/// w_0 to w_7 (section 5.4).
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// NDUPACK: packets of higher numbers that make one lost (section 5.1).
const NDUPACK: usize = 3;

/// The least that history discounting leaves of a weight (section 5.5).
const THRESHOLD: f64 = 0.5;

/// Loss events that one gap can make; older ones are no longer in the history.
const EVENTS_PER_GAP: usize = INTERVALS + 1;

/// What the receiver knows of losses.
#[derive(Clone, Debug)]
pub(super) struct History {
    discounting: bool,
    /// All below it has arrived or is taken for lost.
    edge: u64,
    /// When the packet below it arrived, or was taken for lost.
    edge_at: Time,
    /// Arrivals above the edge, in order of their numbers.
    above: [(u64, Time); NDUPACK],
    waiting: usize,
    /// One past the highest number.
    end: u64,
    /// The first packet of the last loss event, and when it was lost.
    event: Option<(u64, Time)>,
    /// I_1 to I_8 and their discount factors, the first `known` of them.
    intervals: [f64; INTERVALS],
    discounts: [f64; INTERVALS],
    known: usize,
}

impl History {
    pub(super) fn new(discounting: bool) -> History {
        History {
            discounting,
            edge: 0,
            edge_at: Time::ZERO,
            above: [(0, Time::ZERO); NDUPACK],
            waiting: 0,
            end: 0,
            event: None,
            intervals: [0.0; INTERVALS],
            discounts: [1.0; INTERVALS],
            known: 0,
        }
    }

    /// A packet arrives; true when it makes a new loss event known. `first` gives the interval
    /// before the very first one (section 6.3.1).
    pub(super) fn arrived(
        &mut self,
        (seq, now): (u64, Time),
        rtt: Span,
        first: impl FnOnce() -> f64,
    ) -> bool {
        self.end = self.end.max(seq.saturating_add(1));
        if !self.insert(seq, now) {
            return false;
        }
        self.advance();
        if self.waiting < NDUPACK {
            return false;
        }
        // Packets from the edge up to the lowest of the three are lost (section 5.1).
        let (after, after_at) = self.above[0];
        let new = self.lost(self.edge..after, (self.edge_at, after_at), rtt, first);
        (self.edge, self.edge_at) = (after, after_at);
        self.advance();
        new
    }

    /// A packet with a mark arrives: it counts as lost now (section 5.1).
    pub(super) fn marked(
        &mut self,
        (seq, now): (u64, Time),
        rtt: Span,
        first: impl FnOnce() -> f64,
    ) -> bool {
        self.end = self.end.max(seq.saturating_add(1));
        self.lost(seq..seq.saturating_add(1), (now, now), rtt, first)
    }

    /// Is this packet one that was waited for?
    fn insert(&mut self, seq: u64, now: Time) -> bool {
        let waiting = &self.above[..self.waiting];
        let at = waiting.partition_point(|(other, _)| *other < seq);
        if seq < self.edge || waiting.get(at).is_some_and(|(other, _)| *other == seq) {
            return false; // late, or here already
        }
        self.above.copy_within(at..self.waiting.min(NDUPACK - 1), at + 1);
        self.above[at] = (seq, now);
        self.waiting += 1;
        true
    }

    /// Moves the edge over what has arrived.
    fn advance(&mut self) {
        while self.waiting > 0 && self.above[0].0 == self.edge {
            self.edge_at = self.edge_at.max(self.above[0].1);
            self.edge += 1;
            self.above.copy_within(1.., 0);
            self.waiting -= 1;
        }
    }

    /// These packets are lost, between the arrivals of their neighbours at `from` and `to`; was
    /// there a new event?
    fn lost(
        &mut self,
        lost: core::ops::Range<u64>,
        (from, to): (Time, Time),
        rtt: Span,
        first: impl FnOnce() -> f64,
    ) -> bool {
        let (mut seq, mut first, mut new) = (lost.start, Some(first), false);
        // Nominal times lie evenly between the neighbours' (section 5.2).
        let gap = to.since(from).0 as f64 / (lost.end - lost.start + 1) as f64;
        for _ in 0..EVENTS_PER_GAP {
            if seq >= lost.end {
                break;
            }
            let at = from + Span(((seq - lost.start + 1) as f64 * gap) as u64);
            let Some((start, since)) = self.event else {
                self.intervals[0] = first.take().map_or(1.0, |first| first()).max(1.0);
                self.known = 1;
                (self.event, new) = (Some((seq, at)), true);
                continue;
            };
            let over = since + rtt;
            if at <= over {
                // The first packet that is nominally lost after the event is over.
                let packets = (over.since(at).0 as f64 / gap) + 1.0;
                if !packets.is_finite() || packets >= (lost.end - seq) as f64 {
                    break;
                }
                seq += packets as u64;
                continue;
            }
            self.close(seq.saturating_sub(start) as f64);
            (self.event, new) = (Some((seq, at)), true);
        }
        new
    }

    /// A loss event begins: the interval before it is complete (sections 5.3 and 5.5).
    fn close(&mut self, interval: f64) {
        let discount = self.discount();
        for factor in &mut self.discounts {
            *factor *= discount;
        }
        self.intervals.copy_within(..INTERVALS - 1, 1);
        self.discounts.copy_within(..INTERVALS - 1, 1);
        (self.intervals[0], self.discounts[0]) = (interval.max(1.0), 1.0);
        self.known = (self.known + 1).min(INTERVALS);
    }

    /// I_0, the packets since the last loss event began.
    fn open(&self) -> f64 {
        self.event.map_or(0.0, |(start, _)| self.end.saturating_sub(start) as f64)
    }

    /// Sums of weighted intervals and of weights, of the first `count` from I_1 on with weights
    /// from w_`shift` on.
    fn sums(&self, count: usize, shift: usize, discount: f64) -> (f64, f64) {
        let weights = WEIGHTS.iter().skip(shift);
        let known = self.intervals.iter().zip(&self.discounts).take(count);
        known.zip(weights).fold((0.0, 0.0), |(total, sum), ((interval, factor), weight)| {
            let weight = weight * factor * discount;
            (total + interval * weight, sum + weight)
        })
    }

    /// DF, what a long interval without loss leaves of the older ones (section 5.5).
    fn discount(&self) -> f64 {
        let (total, weights) = self.sums(self.known, 0, 1.0);
        let mean = total / weights;
        if !self.discounting || self.known == 0 || self.open() <= 2.0 * mean {
            return 1.0;
        }
        (2.0 * mean / self.open()).max(THRESHOLD)
    }

    /// The loss event rate p; zero before the first loss (sections 5.4 and 5.5).
    pub(super) fn rate(&self) -> f64 {
        if self.known == 0 {
            return 0.0;
        }
        // I_tot0 of I_0 to I_(k-1), I_tot1 of I_1 to I_k: both have the weights w_0 to w_(k-1).
        let (older, older_weights) = self.sums(self.known - 1, 1, self.discount());
        let with_open = (self.open() * WEIGHTS[0] + older) / (WEIGHTS[0] + older_weights);
        let (closed, weights) = self.sums(self.known, 0, 1.0);
        1.0 / with_open.max(closed / weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near};

    /// Packets of these numbers come one each 10 ms, packet n at n*10 ms; RTT 100 ms.
    fn history(lost: &[u64], end: u64) -> (History, Events) {
        let mut history = History::new(true);
        let mut events = Events::default();
        for seq in (0..end).filter(|seq| !lost.contains(seq)) {
            if history.arrived((seq, ms(seq * 10)), Span::from_millis(100), || 40.0) {
                events.push(seq);
            }
        }
        (history, events)
    }

    /// The packets at whose arrival an event became known.
    #[derive(Default, PartialEq, Debug)]
    struct Events([u64; 12], usize);
    impl Events {
        fn push(&mut self, seq: u64) {
            self.0[self.1] = seq;
            self.1 += 1;
        }
        fn list(&self) -> &[u64] {
            &self.0[..self.1]
        }
    }

    #[test]
    fn a_loss_is_known_by_the_third_packet_after_it() {
        let (history, events) = history(&[5], 10);
        assert_eq!(events.list(), [8]);
        assert_eq!(history.event, Some((5, ms(50))));
        assert_eq!((history.edge, history.waiting), (10, 0));
    }

    #[test]
    fn losses_within_an_rtt_are_one_event() {
        // 5 at 50 ms; 12 and 15 are within 100 ms of it, 16 (160 ms) is not.
        let (history, events) = history(&[5, 12, 15, 16], 30);
        assert_eq!(events.list(), [8, 19]);
        assert_eq!(history.event.map(|(seq, _)| seq), Some(16));
        assert_eq!(history.intervals[..2], [11.0, 40.0]);
        assert_eq!(history.open(), 14.0);
    }

    #[test]
    fn a_long_gap_holds_several_events() {
        // 5 to 29 are lost: 5 at 50 ms, then the first after 150 ms, 16, and after 260 ms, 27.
        let lost: [u64; 25] = core::array::from_fn(|i| i as u64 + 5);
        let (history, events) = history(&lost, 40);
        assert_eq!(events.list(), [32]);
        assert_eq!(history.intervals[..3], [11.0, 11.0, 40.0]);
    }

    #[test]
    fn reordering_below_three_packets_is_no_loss() {
        let mut history = History::new(true);
        let rtt = Span::from_millis(100);
        for (i, seq) in [0, 3, 1, 2, 6, 5, 4, 7].into_iter().enumerate() {
            assert!(!history.arrived((seq, ms(i as u64)), rtt, || 1.0));
        }
        assert_eq!((history.edge, history.rate()), (8, 0.0));
    }

    #[test]
    fn the_rate_is_one_over_the_weighted_mean() {
        let mut history = History::new(false);
        history.known = 8;
        history.intervals = [100.0, 100.0, 100.0, 100.0, 50.0, 50.0, 50.0, 50.0];
        // (400 + 0.8*50 + 0.6*50 + 0.4*50 + 0.2*50)/6 = 500/6; nothing since.
        history.event = Some((0, ms(0)));
        assert!(near(history.rate(), 6.0 / 500.0));
        // 300 packets since, weights one further: (300 + 3*100 + 80 + 30 + 20 + 10)/6 = 740/6.
        history.end = 300;
        assert!(near(history.rate(), 6.0 / 740.0));
        // k = 1, one weight: I_tot1/W_tot = I_1 = 100, I_tot0/W_tot = I_0, so 1/max(I_0, I_1).
        history.known = 1;
        history.end = 50;
        assert!(near(history.rate(), 0.01));
        history.end = 120;
        assert!(near(history.rate(), 1.0 / 120.0));
        // k = 2, weights 1 and 1: (I_0 + I_1)/2 = (40 + 90)/2 = 65 and (I_1 + I_2)/2 = (90 +
        // 10)/2 = 50.
        (history.known, history.end) = (2, 40);
        (history.intervals[0], history.intervals[1]) = (90.0, 10.0);
        assert!(near(history.rate(), 1.0 / 65.0));
        // I_0 = 5: (5 + 90)/2 = 47.5 is less than 50.
        history.end = 5;
        assert!(near(history.rate(), 1.0 / 50.0));
    }

    #[test]
    fn a_long_interval_discounts_the_history() {
        let mut history = History::new(true);
        (history.known, history.intervals[0], history.intervals[1]) = (2, 100.0, 100.0);
        (history.event, history.end) = (Some((0, ms(0))), 250);
        // DF = 2*100/250 = 0.8, k = 2: (250 + 0.8*100)/(1 + 0.8) = 330/1.8.
        assert!(near(history.discount(), 0.8));
        assert!(near(history.rate(), 1.8 / 330.0));
        // At most to a half: (1000 + 50)/(1 + 0.5).
        history.end = 1000;
        assert!(near(history.rate(), 1.5 / 1050.0));
        // An event closes it: 1000 with factor 1, the older ones keep their half:
        // k = 3, I_tot1 = 1000 + 50 + 50 of weights 1, 0.5, 0.5 (I_tot0 = 1 + 1000 + 50 of 1, 1,
        // 0.5).
        history.close(1000.0);
        (history.event, history.end) = (Some((1000, ms(1))), 1001);
        assert_eq!(history.discounts[..3], [1.0, 0.5, 0.5]);
        assert!(near(history.rate(), 2.0 / 1100.0));
    }

    /// Section 5.1: copies of a packet and late ones are no packets of higher numbers: 1 and 2 are
    /// lost with the third number above them, and their coming after that changes nothing (D7).
    #[test]
    fn copies_and_late_packets_make_nothing_lost() {
        let mut history = History::new(true);
        let rtt = Span::from_millis(100);
        let mut at = 0;
        let mut arrives = |seq| {
            at += 1;
            (history.arrived((seq, ms(at)), rtt, || 8.0), history.edge, history.rate())
        };
        for seq in [0, 3, 3, 3, 0, 4, 4] {
            assert_eq!(arrives(seq), (false, 1, 0.0), "{seq}");
        }
        assert_eq!(arrives(5), (true, 6, 1.0 / 8.0));
        for seq in [1, 2, 5] {
            assert_eq!(arrives(seq), (false, 6, 1.0 / 8.0), "{seq}");
        }
        assert_eq!(arrives(6), (false, 7, 1.0 / 8.0));
    }

    /// Section 5.4 over nine events of which each interval is one more than the one before, 10 to
    /// 17: the oldest of the nine, 9, is forgotten. (17 + 16 + 15 + 14 + 0.8*13 + 0.6*12 + 0.4*11 +
    /// 0.2*10) over 6 are 86/6.
    #[test]
    fn eight_intervals_count() {
        let mut history = History::new(false);
        history.event = Some((0, ms(0)));
        for interval in 9..=17 {
            history.close(f64::from(interval));
        }
        assert_eq!((history.known, history.intervals[7]), (8, 10.0));
        assert!(near(history.rate(), 6.0 / 86.0), "{}", history.rate());
    }

    /// Section 5.5: an interval of 10 counts whole beside an open one of up to 20; beside one of 30
    /// it counts for 2*10/30.
    #[test]
    fn an_open_interval_discounts_beyond_twice_the_mean() {
        for (open, discount) in [(15, 1.0), (20, 1.0), (30, 2.0 / 3.0)] {
            let mut history = History::new(true);
            (history.known, history.event, history.end) = (1, Some((0, ms(0))), open);
            (history.intervals[0], history.discounts[0]) = (10.0, 1.0);
            assert!(near(history.discount(), discount), "{open}");
        }
    }
}
