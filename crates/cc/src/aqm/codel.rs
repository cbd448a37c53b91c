//! CoDel, controlled delay. RFC 8289 (January 2018), section 5.
//!
//! Packets are timed while they wait. When all that left for an INTERVAL had waited longer than
//! TARGET, the packet at the head is dropped, and further ones at times that come closer with the
//! square root of their count, until one has waited less or no more than one packet is left.
//!
//! ```math
//! t_next <- t_next + interval/sqrt(count)  the next drop, while the delay stays above the target
//! ```
//!
//! Deviations:
//! - D1: capable packets are marked instead of dropped unless `ecn` is off; a mark takes the place
//!   of the drop and lets the packet go out (RFC 8289 leaves marking open, RFC 8290 section 5.2 has
//!   it).
//! - D2: MAXPACKET is the size of a full data packet.
//! - D3: with `ce_threshold` every capable packet that has waited longer and is not dropped is
//!   marked besides, whatever the rest decides and with `ecn` off, too: Linux's option of that name
//!   (4.1 and later), for DCTCP. RFC 8289 has no such thing.
//! - D4: with `newton` 1/sqrt(count) is what Linux's codel_Newton_step (include/net/codel_impl.h)
//!   and ns-3's CoDelQueueDisc::NewtonStep make of it in 16 bits, from 1 on with one step per drop:
//!   after 100 ms come 50, 56 and 50 ms, where the root has 71, 58 and 50.

use units::{Rate, Span, Time, math};

use crate::classes::{Place, Scheduler};
use crate::roles::{Ecn, PacketKind, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// The two times of section 4.
    pub struct CoDelParams {
        /// TARGET, the waiting time that is accepted, section 4.3.
        target: Span = Span::from_millis(5) => (1e-6, 10.0);
        /// INTERVAL, about the longest usual round-trip time, section 4.2.
        interval: Span = Span::from_millis(100) => (1e-5, 100.0);
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
        /// A capable packet that has waited longer than this is marked whatever else is decided; 0
        /// is off.
        ce_threshold: Span = Span::ZERO => (0.0, 10.0);
        /// Is the root of the control law Linux's, one Newton step per drop, and not exact?
        newton: bool = false;
    }
}

/// TARGET, INTERVAL and MAXPACKET, and the wait beyond which all capable packets are marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub target: Span,
    pub interval: Span,
    /// [bytes]
    pub max_packet: u64,
    pub ce_threshold: Span,
    /// D4.
    pub newton: bool,
}

/// A threshold that no wait is above.
pub(crate) const NEVER: Span = Span(u64::MAX);

impl Law {
    /// The control law: INTERVAL/sqrt(count) later.
    fn next(&self, time: Time, (count, root): (u32, Root)) -> Time {
        if self.newton {
            return time + Span(((u128::from(self.interval.0) * u128::from(root.0)) >> 16) as u64);
        }
        time + Span::from_secs_f64(self.interval.as_secs() / math::sqrt(f64::from(count.max(1))))
    }
}

/// 1/sqrt(count) in units of 2^-16 (Linux's rec_inv_sqrt).
#[derive(Clone, Copy, Debug)]
struct Root(u16);

impl Default for Root {
    /// That of 1.
    fn default() -> Root {
        Root(u16::MAX)
    }
}

impl Root {
    /// codel_Newton_step: x <- x (3 - count x^2)/2.
    fn step(self, count: u32) -> Root {
        let x = u64::from(self.0) << 16;
        let square = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(count) * square) >> 2;
        Root((((rest.wrapping_mul(x)) >> 31) >> 16) as u16)
    }
}

/// The head of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub now: Time,
    /// How long it waited.
    pub sojourn: Span,
    /// What is left of its queue behind it [bytes].
    pub behind: u64,
    /// May it be marked?
    pub capable: bool,
    /// Was the packet before it dropped for the same service?
    pub again: bool,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Forward,
    Mark,
    Drop,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Control {
    /// When the packets at the head will have been late for an INTERVAL, if they are.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    root: Root,
    last_count: u32,
    dropping: bool,
    /// Dropping began with the packet before: the one behind it goes out whatever it waited.
    entered: bool,
}

impl Control {
    /// Section 5.6's test: late for an INTERVAL?
    fn late(&mut self, law: &Law, head: &Head) -> bool {
        if head.sojourn < law.target || head.behind <= law.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(head.now + law.interval);
                false
            }
            Some(time) => head.now >= time,
        }
    }

    /// Section 5.5, one packet at a time.
    pub(crate) fn decide(&mut self, law: &Law, head: Head) -> Act {
        let late = self.late(law, &head);
        if core::mem::take(&mut self.entered) && head.again {
            return Act::Forward;
        }
        if self.dropping {
            if !late {
                self.dropping = false;
                return Act::Forward;
            }
            if head.again {
                self.drop_next = law.next(self.drop_next, (self.count, self.root));
            }
            if head.now < self.drop_next {
                return Act::Forward;
            }
            self.count = self.count.saturating_add(1);
            self.root = self.root.step(self.count);
            if head.capable {
                self.drop_next = law.next(self.drop_next, (self.count, self.root));
                return Act::Mark;
            }
            return Act::Drop;
        }
        if !late {
            return Act::Forward;
        }
        self.dropping = true;
        // Soon after the last time: go on with the rate that had been reached.
        let delta = self.count.saturating_sub(self.last_count);
        let recent = head.now.since(self.drop_next) < law.interval * 16;
        (self.count, self.root) = match delta {
            2.. if recent => (delta, self.root.step(delta)),
            _ => (1, Root::default()),
        };
        self.drop_next = law.next(head.now, (self.count, self.root));
        self.last_count = self.count;
        self.entered = !head.capable;
        if head.capable { Act::Mark } else { Act::Drop }
    }

    /// Shows its variables.
    pub(crate) fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("count", f64::from(self.count));
        sink("dropping", f64::from(u8::from(self.dropping)));
    }
}

/// Asks `control` about a packet and marks it if that is the answer.
#[inline]
pub(crate) fn at_head(
    control: &mut Control,
    (law, ecn): (&Law, bool),
    now: Time,
    packet: Passing<'_, ()>,
    place: (u64, bool),
) -> Verdict {
    let (behind, again) = place;
    let capable = packet.kind == PacketKind::Data && *packet.ecn != Ecn::NotCapable;
    let sojourn = packet.queued_for;
    let head = Head { now, sojourn, behind, capable: ecn && capable, again };
    match control.decide(law, head) {
        Act::Forward if !capable || sojourn <= law.ce_threshold => Verdict::Forward,
        Act::Forward | Act::Mark => {
            *packet.ecn = Ecn::Ce;
            Verdict::Forward
        }
        Act::Drop => Verdict::Drop,
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct CoDel {
    law: Law,
    ecn: bool,
    control: Control,
    sojourn: Span,
}

impl Router for CoDel {
    type Params = CoDelParams;
    type Header = ();

    fn new(params: &CoDelParams, context: &RouterContext) -> CoDel {
        let (target, interval) = (params.target, params.interval);
        let ce_threshold = match params.ce_threshold {
            Span::ZERO => NEVER,
            threshold => threshold,
        };
        let max_packet = u64::from(context.packet_bytes);
        let law = Law { target, interval, max_packet, ce_threshold, newton: params.newton };
        CoDel { law, ecn: params.ecn, control: Control::default(), sojourn: Span::ZERO }
    }

    /// Times do not depend on the capacity.
    fn on_capacity(&mut self, _now: Time, _capacity: Rate) {}

    fn retune(&mut self, params: &CoDelParams, context: &RouterContext) {
        let (control, sojourn) = (self.control, self.sojourn);
        *self = CoDel { control, sojourn, ..CoDel::new(params, context) };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("sojourn", "s", "how long the last head had waited"),
        Variable::new("count", "pkts", "drops since dropping began, which set the next one's time"),
        Variable::new("dropping", "", "1 while packets are dropped"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("sojourn", self.sojourn.as_secs());
        self.control.probe(sink);
    }
}

impl Scheduler for CoDel {
    type Cell = ();

    fn on_head(
        &mut self,
        now: Time,
        packet: Passing<'_, ()>,
        place: &mut Place<'_, ()>,
    ) -> Verdict {
        self.sojourn = packet.queued_for;
        let behind = (place.queue.bytes, place.again);
        at_head(&mut self.control, (&self.law, self.ecn), now, packet, behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near};

    /// That of the defaults: the times below are those of RFC 8289's 5 and 100 ms.
    fn law() -> Law {
        let CoDelParams { target, interval, .. } = CoDelParams::default();
        Law { target, interval, max_packet: 1000, ce_threshold: NEVER, newton: false }
    }

    fn head(now: u64, sojourn: u64) -> Head {
        let sojourn = Span::from_millis(sojourn);
        Head { now: ms(now), sojourn, behind: 9000, capable: false, again: false }
    }

    #[test]
    fn the_control_law_is_interval_over_the_root_of_count() {
        // 100 ms, then 100/sqrt(2) = 70.711 ms, 100/sqrt(4) = 50 ms, 100/sqrt(25) = 20 ms.
        for (count, gap) in [(1, 0.1), (2, 0.070_710_678_118_654_76), (4, 0.05), (25, 0.02)] {
            let next = law().next(ms(1000), (count, Root::default()));
            assert!((next.as_secs() - 1.0 - gap).abs() < 2e-12, "{count}");
        }
        assert!(near(law().next(Time::ZERO, (0, Root::default())).as_secs(), 0.1));
    }

    /// A packet each ms that has waited 20 ms: late from 0, so the first is dropped at 100 ms, the
    /// second 100 ms later (count 1), the next after 100/sqrt(2) = 70.7, 100/sqrt(3) = 57.7 and
    /// 100/sqrt(4) = 50 ms: at 270.7, 328.4 and 378.4 ms, so with the packets of 271, 329 and 379
    /// ms.
    #[test]
    fn drops_come_closer_with_the_root_of_their_count() {
        let mut control = Control::default();
        let mut due = [100, 200, 271, 329, 379].into_iter();
        for now in 0..400 {
            let mut again = false;
            while control.decide(&law(), Head { again, ..head(now, 20) }) == Act::Drop {
                assert_eq!(due.next(), Some(now));
                again = true;
            }
        }
        assert_eq!(due.next(), None);
    }

    /// Newton's step from 1 (2^16 - 1 of 2^16): for count 2 it is (3 - 2)/2 = 1/2, for 3 it is
    /// 1/2 (3 - 3/4)/2 = 9/16, for 4 it is 9/16 (3 - 4 81/256)/2 = 0.487793. So what is late from 0
    /// ms on is dropped at 100, 200, 250, 306.25 and 355.03 ms.
    #[test]
    fn linux_takes_one_newton_step_per_drop() {
        let law = Law { newton: true, ..law() };
        let mut control = Control::default();
        let mut due = [1000, 2000, 2500, 3063, 3551].into_iter();
        for tenth in 0..3900_u64 {
            let (mut again, now) = (false, Time::ZERO + Span::from_micros(100 * tenth));
            while control.decide(&law, Head { now, again, ..head(0, 20) }) == Act::Drop {
                assert_eq!(due.next(), Some(tenth));
                again = true;
            }
        }
        assert_eq!(due.next(), None);
    }

    /// A step at 1 ms: a packet that has waited 1 ms goes out as it is, one that has waited longer
    /// is marked, one that is not capable is not, and what CoDel would drop of those it still
    /// drops.
    #[test]
    fn a_step_marks_what_has_waited_longer() {
        let law = Law { ce_threshold: Span::from_millis(1), ..law() };
        let mut control = Control::default();
        let mut pass = |sojourn: u64, mut ecn: Ecn| {
            let mut queued = crate::tests::passing(&mut ecn);
            queued.queued_for = Span::from_micros(sojourn);
            let verdict = at_head(&mut control, (&law, true), ms(0), queued, (9000, false));
            assert_eq!(verdict, Verdict::Forward);
            ecn
        };
        assert_eq!(pass(1000, Ecn::Ect0), Ecn::Ect0);
        assert_eq!(pass(1001, Ecn::Ect0), Ecn::Ce);
        assert_eq!(pass(1001, Ecn::NotCapable), Ecn::NotCapable);
    }

    /// Linux's `codel_dequeue` asks its option `ecn` about packets to drop, and not where it
    /// compares the wait with `ce_threshold`: without `ecn` what has waited longer is marked all
    /// the same, and capable packets are dropped like others.
    #[test]
    fn a_step_marks_without_ecn() {
        let law = Law { ce_threshold: Span::from_millis(1), ..law() };
        let mut control = Control::default();
        let mut pass = |now: u64, sojourn: u64, mut ecn: Ecn| {
            let mut queued = crate::tests::passing(&mut ecn);
            queued.queued_for = Span::from_millis(sojourn);
            let verdict = at_head(&mut control, (&law, false), ms(now), queued, (9000, false));
            (verdict, ecn)
        };
        assert_eq!(pass(0, 1, Ecn::Ect0), (Verdict::Forward, Ecn::Ect0));
        assert_eq!(pass(0, 2, Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        assert_eq!(pass(0, 2, Ecn::NotCapable), (Verdict::Forward, Ecn::NotCapable));
        // Above the target of 5 ms for an INTERVAL of 100 ms: a drop.
        assert_eq!(pass(1, 20, Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        assert_eq!(pass(101, 20, Ecn::Ect0).0, Verdict::Drop);
    }

    /// With a mark nothing leaves the queue; the times are the same.
    #[test]
    fn marks_take_the_place_of_drops() {
        let mut control = Control::default();
        let act = |control: &mut Control, now| {
            control.decide(&law(), Head { capable: true, ..head(now, 20) })
        };
        let marks = (0..400).filter(|&t| act(&mut control, t) == Act::Mark);
        assert!(marks.eq([100, 200, 271, 329, 379]));
    }

    #[test]
    fn a_short_wait_or_a_short_queue_ends_it() {
        for end in [head(150, 4), Head { behind: 1000, ..head(150, 20) }] {
            let mut control = Control::default();
            let drops = (0..=100).filter(|&t| control.decide(&law(), head(t, 20)) == Act::Drop);
            assert_eq!(drops.count(), 1);
            assert!(control.dropping);
            assert_eq!(control.decide(&law(), end), Act::Forward);
            assert!(!control.dropping && control.first_above.is_none());
            // Late again from 151 ms on: an INTERVAL must pass.
            assert_eq!(control.decide(&law(), head(151, 20)), Act::Forward);
            assert_eq!(control.decide(&law(), head(250, 20)), Act::Forward);
            assert_eq!(control.decide(&law(), head(251, 20)), Act::Drop);
        }
    }

    /// Five drops (count 5, began with 1), a pause, and late again within 16 INTERVALs: count is
    /// 5 - 1 = 4, the next drop after 100/sqrt(4) = 50 ms. Later than that it starts from 1.
    #[test]
    fn a_rate_that_was_reached_is_taken_up_again() {
        for (pause, count) in [(1000, 4), (2000, 1)] {
            let mut control = Control::default();
            for now in 0..400 {
                let mut again = false;
                while control.decide(&law(), Head { again, ..head(now, 20) }) == Act::Drop {
                    again = true;
                }
            }
            assert_eq!((control.count, control.last_count), (5, 1));
            assert_eq!(control.decide(&law(), head(400, 0)), Act::Forward);
            let start = 400 + pause;
            assert_eq!(control.decide(&law(), head(start, 20)), Act::Forward);
            assert_eq!(control.decide(&law(), head(start + 100, 20)), Act::Drop);
            assert_eq!(control.count, count);
            let next = (control.drop_next.as_secs() - ms(start + 100).as_secs()) * 1000.0;
            assert!(near(next, if count == 4 { 50.0 } else { 100.0 }), "{next}");
        }
    }

    /// The packet behind the first one dropped goes out though it is late; later in the state, all
    /// that are due are dropped at one service.
    #[test]
    fn dropping_begins_with_one_packet() {
        let mut control = Control::default();
        control.decide(&law(), head(0, 20));
        assert_eq!(control.decide(&law(), head(100, 20)), Act::Drop);
        assert_eq!(control.decide(&law(), Head { again: true, ..head(100, 20) }), Act::Forward);
        // 200, 270.7 and 328.4 ms are past at 330 ms, 378.4 ms is not: three drops.
        let mut again = false;
        let mut drops = 0;
        while control.decide(&law(), Head { again, ..head(330, 20) }) == Act::Drop {
            (again, drops) = (true, drops + 1);
        }
        assert_eq!(drops, 3);
    }

    /// RFC 8289 section 4.3: with the defaults 5 ms are too long from the first INTERVAL on, less
    /// is never.
    #[test]
    fn the_target_is_5_ms() {
        for (sojourn_us, drops) in [(5000, true), (4999, false)] {
            let sojourn = Span::from_micros(sojourn_us);
            let mut control = Control::default();
            let dropped = (0..1000)
                .find(|&t| control.decide(&law(), Head { sojourn, ..head(t, 0) }) == Act::Drop);
            assert_eq!(dropped, drops.then_some(100));
        }
    }

    /// RFC 8289 sections 4.1 and 5.3: MAXPACKET is a full packet of the link, 1000 bytes here:
    /// 1000 behind the head are too few, 1001 are not.
    #[test]
    fn a_full_packet_must_be_left() {
        let context = crate::tests::router_context(Rate(8_000_000), 100);
        let codel = CoDel::new(&CoDelParams::default(), &context);
        for (behind, drops) in [(1000, false), (1001, true)] {
            let mut control = Control::default();
            let any = (0..1000)
                .any(|t| control.decide(&codel.law, Head { behind, ..head(t, 20) }) == Act::Drop);
            assert_eq!(any, drops);
        }
    }

    /// RFC 8289 section 4.3: a line that falls silent or changes its rate does not move TARGET.
    #[test]
    fn another_capacity_leaves_the_target() {
        let context = crate::tests::router_context(Rate(8_000_000), 100);
        let mut codel = CoDel::new(&CoDelParams::default(), &context);
        codel.on_capacity(ms(5), Rate(1_000));
        assert_eq!(codel.law.target, Span::from_millis(5));
        assert_eq!(codel.law.interval, Span::from_millis(100));
    }
}
