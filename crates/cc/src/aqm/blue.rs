//! Blue: one probability, raised by losses and lowered by an idle line. Feng, Shin, Kandlur, Saha,
//! "The Blue active queue management algorithms", ToN 10(4), 2002, section III and figure 6.
//!
//! Overflow says that the probability is too low, an idle line that it is too high; it changes at
//! most once in `freeze_time`, so that a change can take effect.
//!
//! ```math
//! p <- p + d1  at an overflow
//! p <- p - d2  at an idle line
//! ```
//!
//! Deviations:
//! - D1: an arrival that the buffer has no room for counts as the loss, as policies are not told of
//!   losses; with `limit_ratio` below 1 a queue above that part of the buffer does (the paper's L).
//! - D2: while the line stays idle the probability falls each `freeze_time`.

use units::random::Stream;
use units::{Rate, Span, Time};

use super::policy::signal;
use crate::roles::{Backlog, Limit, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// Blue's parameters; the values are those of the authors' ns-1.1 code, by its port to ns-3.
    pub struct BlueParams {
        /// delta1, the increase at a loss.
        d1: f64 = 0.0025 => (0.0, 1.0);
        /// delta2, the decrease when the line is idle.
        d2: f64 = 0.000_25 => (0.0, 1.0);
        /// The least time between two changes.
        freeze_time: Span = Span::from_millis(100) => (1e-6, 1000.0);
        /// L, the part of the buffer above which the probability rises; 1: at a loss.
        limit_ratio: f64 = 1.0 => (0.0, 1.0);
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Blue {
    params: BlueParams,
    limit: Limit,
    capacity: Rate,
    stream: Stream,
    /// p_m.
    probability: f64,
    /// Before that it does not change.
    frozen_until: Time,
    /// When the line fell or will fall idle, if nothing waits.
    idle_since: Option<Time>,
}

impl Blue {
    /// Is there no room, or more than L waiting, if the line is busy?
    fn is_full(&self, backlog: Backlog, size: u32) -> bool {
        let ratio = self.params.limit_ratio;
        match self.limit {
            Limit::Bytes(limit) => {
                let bytes = backlog.bytes.saturating_add(u64::from(size));
                bytes as f64 > ratio * limit as f64
            }
            Limit::Packets(limit) => f64::from(backlog.packets) + 1.0 > ratio * f64::from(limit),
        }
    }

    /// The changes that an idle time up to `now` brings.
    fn end_idle(&mut self, now: Time) {
        let Some(since) = self.idle_since.take_if(|since| *since < now) else { return };
        let first = since.max(self.frozen_until);
        if first <= now {
            let more = now.since(first).0 / self.params.freeze_time.0.max(1);
            self.probability = (self.probability - self.params.d2 * (more + 1) as f64).max(0.0);
            self.frozen_until = first + self.params.freeze_time * (more + 1);
        }
    }
}

impl Router for Blue {
    type Params = BlueParams;
    type Header = ();

    fn new(params: &BlueParams, context: &RouterContext) -> Blue {
        Blue {
            params: params.clone(),
            limit: context.limit,
            capacity: context.capacity,
            stream: context.stream.clone(),
            probability: 0.0,
            frozen_until: Time::ZERO,
            idle_since: Some(Time::ZERO),
        }
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        // A packet that finds the line idle is served whatever the buffer's limit.
        let idle = self.idle_since.is_some_and(|since| since <= now);
        self.end_idle(now);
        if idle {
            self.idle_since = None;
        } else if now >= self.frozen_until && self.is_full(backlog, packet.size) {
            self.probability = (self.probability + self.params.d1).min(1.0);
            self.frozen_until = now + self.params.freeze_time;
        }
        if self.probability > 0.0 && self.stream.chance(self.probability) {
            return signal(self.params.ecn, packet);
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        let end = now + self.capacity.serialization(packet.size);
        self.idle_since = (backlog.packets == 0).then_some(end);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.capacity = capacity;
    }

    fn retune(&mut self, params: &BlueParams, context: &RouterContext) {
        self.params = params.clone();
        self.limit = context.limit;
        self.capacity = context.capacity;
    }

    const VARIABLES: &'static [Variable] = &[Variable::new("p_m", "", "probability of a mark")];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("p_m", self.probability);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{ms, near, passing, router_context};

    /// 8 Mb/s: 1 ms per packet; room for 10.
    fn blue() -> Blue {
        let params = BlueParams { d1: 0.02, d2: 0.002, ..BlueParams::default() };
        Blue::new(&params, &router_context(Rate(8_000_000), 10))
    }

    fn arrive(blue: &mut Blue, at: u64, waiting: u32) {
        let backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
        blue.on_arrival(ms(at), passing(&mut Ecn::Ect0), backlog);
    }

    fn depart(blue: &mut Blue, at: u64, left: u32) {
        let backlog = Backlog { packets: left, bytes: u64::from(left) * 1000 };
        blue.on_departure(ms(at), passing(&mut Ecn::Ect0), backlog);
    }

    #[test]
    fn losses_raise_it_once_in_a_freeze_time() {
        let mut blue = blue();
        depart(&mut blue, 0, 5);
        arrive(&mut blue, 10, 9);
        assert_eq!(blue.probability, 0.0);
        arrive(&mut blue, 20, 10);
        assert!(near(blue.probability, 0.02));
        arrive(&mut blue, 119, 10);
        assert!(near(blue.probability, 0.02));
        arrive(&mut blue, 120, 10);
        assert!(near(blue.probability, 0.04));
        // With L at half of the buffer the sixth in the queue is too much.
        blue.params.limit_ratio = 0.5;
        arrive(&mut blue, 300, 4);
        assert!(near(blue.probability, 0.04));
        arrive(&mut blue, 300, 5);
        assert!(near(blue.probability, 0.06));
    }

    #[test]
    fn an_idle_line_lowers_it_once_in_a_freeze_time() {
        let mut blue = blue();
        (blue.probability, blue.frozen_until) = (0.02, ms(150));
        depart(&mut blue, 99, 0);
        // Idle from 100 ms on, frozen until 150: changes at 150 and 250.
        arrive(&mut blue, 260, 0);
        assert!(near(blue.probability, 0.016));
        assert_eq!(blue.frozen_until, ms(350));
        // What waited keeps the line busy; idle times that end while it is frozen change nothing.
        depart(&mut blue, 260, 1);
        arrive(&mut blue, 340, 0);
        depart(&mut blue, 340, 0);
        arrive(&mut blue, 345, 0);
        assert!(near(blue.probability, 0.016));
    }

    #[test]
    fn it_stays_between_zero_and_one() {
        let mut blue = blue();
        depart(&mut blue, 0, 0);
        arrive(&mut blue, 10_000, 0);
        assert_eq!(blue.probability, 0.0);
        (blue.probability, blue.params.d1) = (0.9, 0.5);
        arrive(&mut blue, 20_000, 10);
        assert_eq!(blue.probability, 1.0);
        let mut ecn = Ecn::NotCapable;
        let backlog = Backlog { packets: 1, bytes: 1000 };
        assert_eq!(blue.on_arrival(ms(20_001), passing(&mut ecn), backlog), Verdict::Drop);
    }

    /// A buffer of 10 packets, or of 10,000 bytes: 11 and more are too much, whatever more; by
    /// bytes the last that fits is no loss and one byte above it is.
    #[test]
    fn a_loss_is_what_finds_no_room() {
        for (waiting, rises) in [(9, false), (10, true), (11, true), (500, true)] {
            let mut blue = blue();
            depart(&mut blue, 0, 5);
            arrive(&mut blue, 10, waiting);
            assert_eq!(blue.probability > 0.0, rises, "{waiting}");
        }
        for (bytes, rises) in [(9000, false), (9001, true), (20_000, true)] {
            let mut blue = blue();
            blue.limit = Limit::Bytes(10_000);
            depart(&mut blue, 0, 5);
            let backlog = Backlog { packets: 9, bytes };
            blue.on_arrival(ms(10), passing(&mut Ecn::Ect0), backlog);
            assert_eq!(blue.probability > 0.0, rises, "{bytes}");
        }
    }

    /// Without a buffer: what comes while a packet is on the line, up to 100 ms here, is lost and
    /// raises the probability; what comes at its end finds the line free, which has not been idle.
    #[test]
    fn a_packet_on_the_line_is_no_idle_line() {
        for (at, then) in [(99, 0.04), (100, 0.02), (101, 0.018)] {
            let mut blue = blue();
            (blue.params.limit_ratio, blue.probability) = (0.0, 0.02);
            depart(&mut blue, 99, 0);
            arrive(&mut blue, at, 0);
            assert!(near(blue.probability, then), "{at}: {}", blue.probability);
            // It goes on with the line busy.
            assert_eq!(blue.idle_since.is_some(), at == 99);
        }
    }

    /// Frozen up to 150 ms: an idle time that ends then changes it, at 149 ms it does not. Once
    /// more each 100 ms.
    #[test]
    fn a_freeze_ends_at_its_end() {
        for (at, then) in [(149, 0.02), (150, 0.018), (249, 0.018), (250, 0.016)] {
            let mut blue = blue();
            (blue.probability, blue.frozen_until) = (0.02, ms(150));
            depart(&mut blue, 99, 0);
            arrive(&mut blue, at, 0);
            assert!(near(blue.probability, then), "{at}: {}", blue.probability);
        }
    }

    /// As PI's. At a half some of 100 are marked, and some pass.
    #[test]
    fn a_probability_of_zero_draws_nothing() {
        let mut blue = blue();
        let mut before = blue.stream.clone();
        arrive(&mut blue, 0, 3);
        assert_eq!(blue.stream.bits(), before.bits());
        blue.probability = 0.5;
        let backlog = Backlog { packets: 1, bytes: 1000 };
        let marked = (0..100).filter(|_| {
            let mut ecn = Ecn::Ect0;
            blue.on_arrival(ms(1), passing(&mut ecn), backlog) == Verdict::Forward && ecn == Ecn::Ce
        });
        // 50, sd 5.
        assert!((25..75).contains(&marked.count()));
    }
}
