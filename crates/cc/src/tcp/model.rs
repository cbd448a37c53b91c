//! What the model-based protocols share besides the delivery rate: the windowed maximum, the course
//! of a loss episode, few random numbers from few bytes, and the model in words.

use core::fmt;

use units::Time;
use units::random::Stream;

use crate::roles::{Ack, Departing};
use crate::tcp::delivery::after;

/// The maximum of the last so many units of a clock, from three samples: the best, and the best of
/// the last three quarters and of the last half of the window. Kathleen Nichols' algorithm as in
/// Linux's lib/minmax.c (there `minmax_running_max`); exact to the age of the best by construction,
/// and later by less than half a window for the second best.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    /// (when, value), the best first.
    samples: [(u32, f32); 3],
}

impl WindowedMax {
    /// The maximum.
    #[inline]
    pub fn max(&self) -> f32 {
        self.samples[0].1
    }

    /// Takes in a value of the instant `now` of a clock that only rises (modulo 2^32); the maximum.
    #[inline]
    pub fn update(&mut self, window: u32, now: u32, value: f32) -> f32 {
        let new = (now, value);
        let s = &mut self.samples;
        if value >= s[0].1 || now.wrapping_sub(s[2].0) > window {
            *s = [new; 3];
            return value;
        }
        if value >= s[1].1 {
            (s[1], s[2]) = (new, new);
        } else if value >= s[2].1 {
            s[2] = new;
        }
        let age = now.wrapping_sub(s[0].0);
        if age > window {
            *s = [s[1], s[2], new];
            if now.wrapping_sub(s[0].0) > window {
                *s = [s[1], s[2], new];
            }
        } else if s[1].0 == s[0].0 && age > window / 4 {
            (s[1], s[2]) = (new, new);
        } else if s[2].0 == s[1].0 && age > window / 2 {
            s[2] = new;
        }
        s[0].1
    }
}

/// By how much ACKs run ahead of the bandwidth, as aggregation and queues shared with others make
/// them: the most of some rounds. UpdateACKAggregation of draft-ietf-ccwg-bbr-06,
/// bbr_update_ack_aggregation in Linux.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregates {
    /// Over rounds [packets].
    most: WindowedMax,
    /// When the running epoch began, in which they are ahead all the time.
    pub start: Time,
    /// Delivered in it [packets].
    delivered: f32,
}

impl Aggregates {
    /// The most of the filter's rounds [packets].
    pub fn most(&self) -> f32 {
        self.most.max()
    }

    /// Nothing is expected up to now.
    pub fn restart(&mut self, now: Time) {
        (self.delivered, self.start) = (0.0, now);
    }

    /// An ACK of `acked` packets at the bandwidth `bw` [packets/s] and with the window `cwnd`, in
    /// round `round` with a filter of `window` rounds.
    pub fn update(
        &mut self,
        now: Time,
        acked: u32,
        (bw, cwnd): (f32, u32),
        (window, round): (u32, u32),
    ) {
        let mut expected = bw * now.since(self.start).as_secs() as f32;
        if self.delivered <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.delivered += acked as f32;
        let extra = (self.delivered - expected).min(cwnd as f32);
        self.most.update(window, round, extra);
    }
}

/// Where a connection is in mending losses, from what a sender is told: Linux's CA states Open,
/// Recovery and Loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mending {
    /// Nothing.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// What was sent before a timeout.
    Loss,
}

/// Follows [`Mending`]. Numbers of packets modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
pub struct Episode {
    state: Mending,
    una: u32,
    nxt: u32,
    /// `nxt` at the last timeout.
    recover: u32,
}

impl Episode {
    /// The state after the last event.
    #[inline]
    pub fn state(&self) -> Mending {
        self.state
    }

    /// A packet leaves.
    #[inline]
    pub fn on_send(&mut self, segment: &Departing) {
        let next = (segment.seq as u32).wrapping_add(1);
        if after(next, self.nxt) {
            self.nxt = next;
        }
    }

    /// The timer ran out.
    pub fn on_timeout(&mut self) {
        (self.state, self.recover) = (Mending::Loss, self.nxt);
    }

    /// An ACK has come; the states before and after it.
    #[inline]
    pub fn on_ack<H>(&mut self, ack: &Ack<H>) -> (Mending, Mending) {
        self.una = self.una.wrapping_add(ack.acked);
        let before = self.state;
        self.state = if ack.recovering {
            Mending::Recovery
        } else if before == Mending::Loss && after(self.recover, self.una) {
            Mending::Loss
        } else {
            Mending::Open
        };
        (before, self.state)
    }
}

/// Eight bytes of randomness where a [`Stream`] takes 32: seeded by one draw of the flow's,
/// continued by splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice of the component that `stream` belongs to.
    pub fn new(stream: &Stream) -> Dice {
        Dice(stream.clone().bits())
    }

    /// Uniform in [0, 1), with 24 bits.
    pub fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    }

    /// Uniform in 0..n.
    pub fn below(&mut self, n: u8) -> u8 {
        // The product is less than n.
        (self.unit() * f32::from(n)) as u8
    }
}

/// What BBR, of any version, says of its model: bits/s, s and packets.
pub(super) fn describe(
    out: &mut dyn fmt::Write,
    state: &str,
    gain: f64,
    path: Option<(f64, f64, u32)>,
) -> fmt::Result {
    let Some((bps, rtt, packets)) = path else {
        return write!(out, "BBR: {state}; no round trip is over yet");
    };
    let (mbps, ms) = (1e-6 * bps, 1e3 * rtt);
    write!(out, "BBR: {state}, pacing gain {gain:.2}; ")?;
    write!(out, "the model's path holds {mbps:.4} Mb/s x {ms:.4} ms = {packets} packets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, departing};

    /// A window of 10 over a peak of 9 at time 3, then 5s: the peak holds up to time 13, then the
    /// best of what came later.
    #[test]
    fn a_maximum_lasts_for_the_window() {
        let mut filter = WindowedMax::default();
        assert_eq!(filter.update(10, 0, 4.0), 4.0);
        assert_eq!(filter.update(10, 3, 9.0), 9.0);
        for now in 4..=13 {
            assert_eq!(filter.update(10, now, 5.0), 9.0, "{now}");
        }
        assert_eq!(filter.update(10, 14, 1.0), 5.0);
        // The last 5 was taken at 13 or, being equal, kept from before: gone at 24 at the latest.
        for now in 15..25 {
            filter.update(10, now, 1.0);
        }
        assert_eq!(filter.max(), 1.0);
        // Nothing for longer than the window: the new one alone.
        assert_eq!(filter.update(10, 100, 0.5), 0.5);
        // Round the end of the numbers.
        let mut filter = WindowedMax::default();
        filter.update(10, u32::MAX - 2, 7.0);
        assert_eq!(filter.update(10, 5, 1.0), 7.0);
        assert_eq!(filter.update(10, 9, 1.0), 1.0);
    }

    /// Linux's minmax, of a window of 12: the second best is taken in a quarter of the window, at
    /// 4, and is not replaced by what is less; when the best is 13 old it is the best.
    #[test]
    fn the_second_best_of_a_quarter_of_the_window_is_kept() {
        let mut filter = WindowedMax::default();
        for (now, value, most) in
            [(0, 9.0, 9.0), (4, 7.0, 9.0), (5, 5.0, 9.0), (13, 1.0, 7.0), (17, 1.0, 1.0)]
        {
            assert_eq!(filter.update(12, now, value), most, "{now}");
        }
    }

    #[test]
    fn a_timeout_is_over_when_what_was_sent_before_is_acknowledged() {
        let mut episode = Episode::default();
        for seq in 0..4 {
            episode.on_send(&Departing { seq, ..departing() });
        }
        let recovering = Ack { recovering: true, ..ack::<()>(1) };
        assert_eq!(episode.on_ack(&recovering), (Mending::Open, Mending::Recovery));
        episode.on_timeout();
        episode.on_send(&Departing { seq: 1, retransmission: true, ..departing() });
        episode.on_send(&Departing { seq: 4, ..departing() });
        assert_eq!(episode.on_ack(&ack::<()>(2)), (Mending::Loss, Mending::Loss));
        assert_eq!(episode.on_ack(&ack::<()>(1)), (Mending::Loss, Mending::Open));
        assert_eq!(episode.on_ack(&ack::<()>(1)).1, Mending::Open);
    }

    #[test]
    fn dice_are_fair() {
        let mut dice = Dice::new(&Stream::new(1, 0, "test"));
        let mut seen = [0_u32; 7];
        let mut sum = 0.0;
        for _ in 0..7000 {
            seen[usize::from(dice.below(7))] += 1;
            sum += dice.unit();
        }
        // 1000 each, sd 29; mean 0.5, sd 0.0035.
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert!((sum / 7000.0 - 0.5).abs() < 0.018, "{sum}");
    }

    /// Linux's minmax with a window of 12: within a quarter of it, 3, nothing less is taken for the
    /// second best, and within a half, 6, nothing for the third.
    #[test]
    fn the_quarter_and_the_half_are_over_after_their_end() {
        let run = |steps: &[(u32, f32, f32)]| {
            let mut filter = WindowedMax::default();
            for &(now, value, most) in steps {
                assert_eq!(filter.update(12, now, value), most, "{now}");
            }
        };
        run(&[(0, 9.0, 9.0), (2, 7.0, 9.0), (4, 5.0, 9.0), (13, 1.0, 5.0)]);
        run(&[(0, 9.0, 9.0), (3, 7.0, 9.0), (4, 5.0, 9.0), (13, 1.0, 5.0)]);
        let half = [(0, 9.0, 9.0), (4, 7.0, 9.0), (6, 5.0, 9.0), (7, 3.0, 9.0)];
        run(&[half[0], half[1], half[2], half[3], (13, 1.0, 7.0), (17, 1.0, 3.0)]);
        // What is more replaces both, what is as much as the third the third.
        run(&[(0, 9.0, 9.0), (4, 5.0, 9.0), (5, 6.0, 9.0), (13, 1.0, 6.0)]);
        // At 12 the best is there yet, at 13 it is not.
        run(&[(0, 9.0, 9.0), (4, 5.0, 9.0), (12, 1.0, 9.0), (13, 1.0, 5.0)]);
    }

    /// splitmix64 seeded with 0 (Steele, Lea, Flood) gives 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4
    /// and 0x06c45d188009454f; the upper 24 bits over 2^24.
    #[test]
    fn dice_are_splitmix64() {
        let mut dice = Dice(0);
        for bits in [0xe2_20a8_u32, 0x6e_789e, 0x06_c45d] {
            assert_eq!(dice.unit(), bits as f32 / 16_777_216.0);
        }
    }

    /// Draft, UpdateACKAggregation at 1000 packets/s: 30 at once; 15 more after 10 ms make 45 -
    /// 10 = 35; after 45 ms all is expected, so that the epoch begins anew with what came; never
    /// above the window.
    #[test]
    fn an_epoch_of_aggregates_ends_when_all_was_expected() {
        let mut all = Aggregates::default();
        let at = |ms| Time::ZERO + units::Span::from_millis(ms);
        for (now, acked, cwnd, most) in
            [(100, 30, 80, 30.0), (110, 15, 80, 35.0), (145, 5, 80, 35.0)]
        {
            all.update(at(now), acked, (1000.0, cwnd), (10, 0));
            assert!((all.most() - most).abs() < 1e-3, "{now}: {}", all.most());
        }
        assert!(all.start == at(145) && all.delivered == 5.0);
        all.update(at(145), 100, (1000.0, 50), (10, 0));
        assert_eq!(all.most(), 50.0);
    }

    /// Linux's minmax: with a window of 12 a value of time 4 is 12 old at 16, which is not too old;
    /// at 17 it is, and the third best of time 7 counts.
    #[test]
    fn what_is_as_old_as_the_window_still_counts() {
        let mut filter = WindowedMax::default();
        for (now, value, most) in
            [(0, 9.0, 9.0), (4, 7.0, 9.0), (7, 6.0, 9.0), (16, 1.0, 7.0), (17, 1.0, 6.0)]
        {
            assert_eq!(filter.update(12, now, value), most, "{now}");
        }
    }
}
