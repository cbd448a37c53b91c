//! Pacing by bursts, as Linux paces: the segments of one large packet leave together, and the time
//! that they take at the pacing rate passes before the next.
//!
//! A sender that is late for its time, because nothing was to be sent, makes up for it by as much
//! as half of what the burst takes (Linux's `tcp_update_skb_after_send`, and the queue fq).

use units::{Span, Time};

/// A burst and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Segments that may leave together.
    most: u32,
    /// Of the last burst: its segments, when it left, how late, and what it takes.
    segments: u32,
    at: Time,
    late: Span,
    takes: Span,
}

impl Bursts {
    /// Bursts of up to `most` segments.
    pub fn new(most: u32) -> Bursts {
        Bursts { most, segments: most, at: Time::ZERO, late: Span::ZERO, takes: Span::ZERO }
    }

    /// May a segment more leave with the burst that has begun at `now`?
    pub fn goes_on(&self, now: Time) -> bool {
        self.segments < self.most && self.at == now
    }

    /// A segment leaves that takes so long at the pacing rate; `free` is when the pacer had allowed
    /// the next. Returns when it allows the one after.
    pub fn on_send(&mut self, now: Time, free: Time, takes: Span) -> Time {
        if self.goes_on(now) {
            self.segments += 1;
            self.takes += takes;
        } else {
            (self.segments, self.at) = (1, now);
            (self.late, self.takes) = (now.since(free), takes);
        }
        let saved = self.late.min(Span(self.takes.0 / 2));
        now + Span(self.takes.0 - saved.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Time {
        Time::ZERO + Span::from_millis(time)
    }

    /// A segment takes 4 ms. The first two leave at 100 ms, which is late by more than half of
    /// their 8 ms: the next may at 104 ms. It leaves then and the one after it with it, in time, so
    /// that the next may at 112 ms. That leaves at 113 ms alone: late by 1 ms, so 3 ms later, at
    /// 116 ms.
    #[test]
    fn pairs_leave_together_and_lateness_is_made_up_for_by_half() {
        let mut bursts = Bursts::new(2);
        let takes = Span::from_millis(4);
        let mut free = Time::ZERO;
        for (now, goes_on, then) in [
            (100, true, 102),
            (100, false, 104),
            (104, true, 108),
            (104, false, 112),
            (113, true, 116),
        ] {
            free = bursts.on_send(ms(now), free, takes);
            assert_eq!((free, bursts.goes_on(ms(now))), (ms(then), goes_on), "{now}");
        }
        assert!(!bursts.goes_on(ms(114)));
    }
}
