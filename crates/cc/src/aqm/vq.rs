//! VQ, the virtual queue of fixed size. Gibbens, Kelly, "Resource pricing and the evolution of
//! congestion control", Automatica 35 (1999), section 3; as a queue of ns-2: Vq (queue/vq.cc) with
//! its virtual capacity left alone.
//!
//! A queue that exists in a counter sees the same packets as the real one and is served at a part
//! of the capacity. What overflows it is marked, so sources hear of congestion before anything
//! waits, and the line's utilization stays near that part.
//!
//! ```math
//! C_v = capacity_ratio*C  the virtual capacity
//! ```
//!
//! Deviations:
//! - D1: by default only the packet that overflows is marked, as in ns-2; `marks = "busy-period"`
//!   is the paper's: from an overflow until the virtual queue is empty all are.
//! - D2: marks are put on arrivals, not on packets that leave.

use units::{Rate, Time};

use super::policy::{Counting, Gauge, signal};
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

choice! {
    /// What is marked after the virtual queue has overflowed.
    pub enum Marks {
        /// The packet that found no room.
        Overflow = "overflow",
        /// That and all that come until the virtual queue is empty.
        BusyPeriod = "busy-period",
    }
}

params! {
    /// The virtual queue's parameters.
    pub struct VqParams {
        /// What the virtual queue counts.
        counts: Counting = Counting::Buffer;
        /// theta, the virtual capacity as a part of the capacity.
        capacity_ratio: f64 = 0.95 => (0.001, 1.0);
        /// The virtual buffer as a part of the buffer (ns-2's buflim_).
        buffer_ratio: f64 = 1.0 => (0.0, 10.0);
        /// What is marked.
        marks: Marks = Marks::Overflow;
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
    }
}

/// The queue that exists in a counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualQueue {
    /// [packets]
    pub length: f64,
    /// When it was last served.
    last: Time,
}

impl VirtualQueue {
    /// An empty one.
    pub const EMPTY: VirtualQueue = VirtualQueue { length: 0.0, last: Time::ZERO };

    /// Serves it at `rate` [packets/s] up to now; gives the time since it was last served [s].
    #[inline]
    pub fn serve(&mut self, now: Time, rate: f64) -> f64 {
        let elapsed = now.since(self.last).as_secs();
        self.length = (self.length - rate * elapsed).max(0.0);
        self.last = self.last.max(now);
        elapsed
    }

    /// Takes a packet in; false if there is no room.
    #[inline]
    pub fn take(&mut self, packet: f64, limit: f64) -> bool {
        let fits = self.length + packet <= limit;
        if fits {
            self.length += packet;
        }
        fits
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Vq {
    params: VqParams,
    gauge: Gauge,
    /// [packets]
    limit: f64,
    /// [packets/s]
    rate: f64,
    queue: VirtualQueue,
    /// Has it overflowed in this busy period?
    overflowed: bool,
}

impl Router for Vq {
    type Params = VqParams;
    type Header = ();

    fn new(params: &VqParams, context: &RouterContext) -> Vq {
        let gauge = Gauge::new(params.counts, context.packet_bytes, context);
        Vq {
            params: params.clone(),
            gauge,
            limit: params.buffer_ratio * gauge.buffer(context.limit),
            rate: params.capacity_ratio * gauge.rate(context.capacity),
            queue: VirtualQueue::EMPTY,
            overflowed: false,
        }
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, _backlog: Backlog) -> Verdict {
        self.queue.serve(now, self.rate);
        let running = self.overflowed && self.queue.length > 0.0;
        let fits = self.queue.take(self.gauge.packet(packet.size), self.limit);
        self.overflowed = running || !fits;
        let picked = match self.params.marks {
            Marks::Overflow => !fits,
            Marks::BusyPeriod => self.overflowed,
        };
        if picked { signal(self.params.ecn, packet) } else { Verdict::Forward }
    }

    fn on_capacity(&mut self, now: Time, capacity: Rate) {
        self.queue.serve(now, self.rate);
        self.rate = self.params.capacity_ratio * self.gauge.rate(capacity);
    }

    fn retune(&mut self, params: &VqParams, context: &RouterContext) {
        *self = Vq { queue: self.queue, overflowed: self.overflowed, ..Vq::new(params, context) };
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("vq", "pkts", "virtual queue after the last arrival")];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("vq", self.queue.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{ms, near, passing, router_context};

    /// 8 Mb/s, half of it virtual: a packet in 2 ms; room for 4.
    fn vq(params: VqParams) -> Vq {
        let params = VqParams { capacity_ratio: 0.5, buffer_ratio: 0.4, ..params };
        Vq::new(&params, &router_context(Rate(8_000_000), 10))
    }

    fn marked(vq: &mut Vq, now: Time) -> bool {
        let mut ecn = Ecn::Ect0;
        assert_eq!(vq.on_arrival(now, passing(&mut ecn), Backlog::default()), Verdict::Forward);
        ecn == Ecn::Ce
    }

    #[test]
    fn what_overflows_the_virtual_queue_is_marked() {
        let mut vq = vq(VqParams::default());
        let marks: [bool; 6] = core::array::from_fn(|_| marked(&mut vq, ms(1)));
        assert_eq!(marks, [false, false, false, false, true, true]);
        // 3 ms later one and a half are gone: there is room for one, not for two.
        assert!(!marked(&mut vq, ms(4)) && near(vq.queue.length, 3.5));
        assert!(marked(&mut vq, ms(4)) && near(vq.queue.length, 3.5));
        // It does not fall below zero.
        assert!(!marked(&mut vq, ms(1000)) && near(vq.queue.length, 1.0));
    }

    #[test]
    fn by_busy_periods_all_are_marked_until_it_is_empty() {
        let mut vq = vq(VqParams { marks: Marks::BusyPeriod, ..VqParams::default() });
        let marks: [bool; 5] = core::array::from_fn(|_| marked(&mut vq, ms(1)));
        assert_eq!(marks, [false, false, false, false, true]);
        // Room, but not empty: 4 - 1.5 + 1 = 3.5. Seven ms later it is empty.
        assert!(marked(&mut vq, ms(4)));
        assert!(!marked(&mut vq, ms(11)));
    }

    #[test]
    fn what_is_not_capable_is_dropped() {
        let mut vq = vq(VqParams { buffer_ratio: 0.0, ..VqParams::default() });
        vq.limit = 0.0;
        let mut ecn = Ecn::NotCapable;
        assert_eq!(vq.on_arrival(ms(1), passing(&mut ecn), Backlog::default()), Verdict::Drop);
    }

    /// Four packets wait when the virtual link becomes as fast as the real one, 1 ms a packet: 3 ms
    /// later one of them is left, and the arrival.
    #[test]
    fn another_rate_serves_the_queue_that_is_there() {
        let mut vq = vq(VqParams::default());
        (0..4).for_each(|_| assert!(!marked(&mut vq, ms(1))));
        let params = VqParams { capacity_ratio: 1.0, buffer_ratio: 0.4, ..VqParams::default() };
        vq.retune(&params, &router_context(Rate(8_000_000), 10));
        assert!(!marked(&mut vq, ms(4)) && near(vq.queue.length, 2.0), "{}", vq.queue.length);
    }
}
