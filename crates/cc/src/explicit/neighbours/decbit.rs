//! DECbit. Ramakrishnan, Jain, "A binary feedback scheme for congestion avoidance in computer
//! networks", TOCS 8(2), 1990; first in SIGCOMM 1988.
//!
//! A router sets the congestion bit of a packet if the average of its queue, the packet in service
//! counted, is at least 1: the knee of the delay. The average is over time, over the last cycle of
//! a busy and an idle period and the busy period that has begun since. The receiver copies the bit
//! into the ACK. A sender waits for two windows' worth of ACKs after each change, looks at the bits
//! of the second, and adds 1 to its window if fewer than half of them are set, or multiplies it by
//! 0.875.
//!
//! ```math
//! avg = (A_last + A)/(t - t_last)  A: the queue's integral over this cycle, A_last the last one's
//! avg >= 1                         the bit is set
//! cwnd <- cwnd + 1                 fewer than half of the bits are set
//! cwnd <- 0.875*cwnd               otherwise
//! ```
//!
//! The bit is CE here, and packets go out as ECT(0).
//!
//! Deviations:
//! - D1: a loss is another matter to the scheme, which is to avoid it. Here it halves the window as
//!   Reno's does, and a timeout makes it one packet, as the authors' timeout scheme (CUTE) does.
//! - D2: an ACK that answers several packets (delayed ACKs) has the bit if one of them had.
//! - D3: the queue is told by what waits when a packet arrives or goes into service, so that a drop
//!   by the buffer is seen with the next of these.
//! - D4: a packet that comes at the instant at which the line would fall idle goes on with the busy
//!   period. Packets that ACKs have spaced come so, each of which would else be a cycle without an
//!   idle period, with an average of 1.

use units::{Rate, Time, math};

use crate::explicit::load::factor::after_loss;
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Ecn, EcnUse, Feedback, Loss, PacketKind, Passing, Receiver,
    Router, RouterContext, Sender, SenderContext, Variable, Verdict,
};

params! {
    /// The router's parameter.
    pub struct DecbitRouterParams {
        /// The average queue, the packet in service counted, from which on the bit is set
        /// [packets].
        threshold: f64 = 1.0 => (0.0, 1e9);
    }
}

params! {
    /// The sender's parameters.
    pub struct DecbitSenderParams {
        /// The share of set bits from which on the window shrinks.
        cutoff: f64 = 0.5 => (0.0, 1.0);
        /// By what it grows [packets].
        increase: f64 = 1.0 => (0.0, 1000.0);
        /// By what it is multiplied else.
        decrease: f64 = 0.875 => (0.0, 1.0);
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct DecbitRouter {
    threshold: f64,
    capacity: Rate,
    /// Packets here, the one in service counted.
    here: f64,
    /// When the packet in service is out.
    done: Time,
    /// Up to when `area`, the integral of `here` over the present cycle, goes [packets*s].
    seen: Time,
    area: f64,
    began: Time,
    /// The same of the cycle before.
    last_area: f64,
    last_began: Time,
    average: f64,
}

impl DecbitRouter {
    /// Time has come to `now`; the packet in service may have left before.
    #[inline]
    fn pass(&mut self, now: Time) {
        if self.seen < self.done && self.done <= now {
            self.area += self.here * self.done.since(self.seen).as_secs();
            (self.here, self.seen) = ((self.here - 1.0).max(0.0), self.done);
        }
        self.area += self.here * now.since(self.seen).as_secs();
        self.seen = self.seen.max(now);
    }

    /// A cycle begins with a packet that finds nobody.
    fn renew(&mut self, now: Time) {
        (self.last_area, self.last_began) = (self.area, self.began);
        (self.area, self.began) = (0.0, now);
    }
}

impl Router for DecbitRouter {
    type Params = DecbitRouterParams;
    type Header = ();

    fn new(params: &DecbitRouterParams, context: &RouterContext) -> DecbitRouter {
        DecbitRouter {
            threshold: params.threshold,
            capacity: context.capacity,
            here: 0.0,
            done: Time::ZERO,
            seen: Time::ZERO,
            area: 0.0,
            began: Time::ZERO,
            last_area: 0.0,
            last_began: Time::ZERO,
            average: 0.0,
        }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        self.pass(now);
        let serving = f64::from(u8::from(now < self.done));
        self.here = f64::from(backlog.packets) + serving;
        if self.here == 0.0 && (now > self.done || self.done == Time::ZERO) {
            self.renew(now); // D4
        }
        let length = now.since(self.last_began).as_secs();
        self.average = if length > 0.0 { (self.last_area + self.area) / length } else { 0.0 };
        self.here += 1.0;
        if self.average >= self.threshold
            && packet.kind == PacketKind::Data
            && *packet.ecn != Ecn::NotCapable
        {
            *packet.ecn = Ecn::Ce;
        }
        Verdict::Forward
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        self.pass(now);
        self.here = f64::from(backlog.packets) + 1.0;
        self.done = now + self.capacity.serialization(packet.size);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.capacity = capacity;
    }

    fn retune(&mut self, params: &DecbitRouterParams, context: &RouterContext) {
        (self.threshold, self.capacity) = (params.threshold, context.capacity);
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("average", "pkts", "queue with the packet in service, over two cycles")];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("average", self.average);
    }
}

/// The other end: an ACK has the bit if what it answers had (D2).
#[derive(Clone, Copy, Debug, Default)]
pub struct DecbitReceiver;

impl Receiver for DecbitReceiver {
    type Header = ();

    #[inline(never)] // the hot path has the dispatch alone
    fn on_data(&mut self, data: &Arrived<()>) -> Feedback<()> {
        let code = data.pending.map_or(data.ecn, |pending| pending.code.max(data.ecn));
        Feedback { header: (), code }
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct DecbitSender {
    cwnd: f64,
    params: DecbitSenderParams,
    /// ACKs since the last change, and those with the bit after the first window of them.
    acks: f64,
    bits: f64,
}

impl Sender for DecbitSender {
    type Params = DecbitSenderParams;
    type Header = ();
    type Receiver = DecbitReceiver;

    const STEADY: bool = true;

    fn new(params: &DecbitSenderParams, context: &SenderContext) -> DecbitSender {
        let cwnd = context.initial_window.max(1.0);
        DecbitSender { cwnd, params: params.clone(), acks: 0.0, bits: 0.0 }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect0)
    }

    fn on_send(&mut self, _: &Departing) {}

    #[inline(never)] // the hot path has the dispatch alone
    fn on_ack(&mut self, ack: &Ack<()>) {
        let window = math::floor(self.cwnd).max(1.0);
        let packets = f64::from(ack.delivered).min(1e6);
        self.acks += packets;
        if self.acks > window && ack.code == Ecn::Ce {
            self.bits += packets.min(self.acks - window);
        }
        if self.acks < 2.0 * window {
            return;
        }
        let share = self.bits / (self.acks - window);
        self.cwnd = if share < self.params.cutoff {
            (self.cwnd + self.params.increase).min(1e9)
        } else {
            (self.cwnd * self.params.decrease).max(1.0)
        };
        (self.acks, self.bits) = (0.0, 0.0);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.cwnd = after_loss(self.cwnd, loss);
        (self.acks, self.bits) = (0.0, 0.0);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "window"),
        Variable::new("acks", "pkts", "acknowledged since the window's last change"),
        Variable::new("bits", "pkts", "those of the second window of them that had the bit"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd);
        sink("acks", self.acks);
        sink("bits", self.bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::LossKind;
    use crate::tests::{ack, loss, ms, near, passing, router_context, sender_context};
    use units::Span;

    /// 8 Mb/s: 1 ms per packet. Packets come at 0, 0 and 0 ms and are served at 0, 1 and 2: 3, 2
    /// and 1 are here for 1 ms each, then nobody up to 10 ms. The cycle's average is 6 ms of
    /// packets over 10 ms, which the packet at 10 ms sees with nothing of its own.
    #[test]
    fn the_average_is_over_a_busy_and_an_idle_period() {
        let context = router_context(Rate(8_000_000), 100);
        let mut router = DecbitRouter::new(&DecbitRouterParams::default(), &context);
        let mut ecn = Ecn::Ect0;
        let queue = |packets| Backlog { packets, bytes: u64::from(packets) * 1000 };
        router.on_arrival(ms(0), passing(&mut ecn), queue(0));
        router.on_departure(ms(0), passing(&mut ecn), queue(0));
        router.on_arrival(ms(0), passing(&mut ecn), queue(0));
        router.on_arrival(ms(0), passing(&mut ecn), queue(1));
        router.on_departure(ms(1), passing(&mut ecn), queue(1));
        router.on_departure(ms(2), passing(&mut ecn), queue(0));
        router.on_arrival(ms(10), passing(&mut ecn), queue(0));
        assert!(near(router.average, 0.6), "{}", router.average);
        assert_eq!(ecn, Ecn::Ect0);
        router.on_departure(ms(10), passing(&mut ecn), queue(0));
        // Up to 10.5 ms it is 6.5 ms of packets over 10.5; ten wait then, up to 11 ms: 11 of them
        // for half a millisecond make 12 over 11.
        let half = ms(10) + Span::from_micros(500);
        router.on_arrival(half, passing(&mut ecn), queue(9));
        assert!(near(router.average, 6.5 / 10.5));
        router.on_departure(ms(11), passing(&mut ecn), queue(9));
        router.on_arrival(ms(11), passing(&mut ecn), queue(9));
        assert!(near(router.average, 12.0 / 11.0), "{}", router.average);
        assert_eq!(ecn, Ecn::Ce);
    }

    /// A window of 4 looks at the last 4 of 8 ACKs: with one or none of them marked it is 5, with
    /// two 3.5. What came before does not count.
    #[test]
    fn half_of_the_second_window_decides() {
        for (marked, cwnd) in [(0, 5.0), (1, 5.0), (2, 3.5), (4, 3.5)] {
            let mut s = DecbitSender::new(&DecbitSenderParams::default(), &sender_context(4.0));
            for i in 0..8 {
                let code = if i < 4 || i >= 8 - marked { Ecn::Ce } else { Ecn::Ect0 };
                assert_eq!(s.cwnd(), 4.0);
                s.on_ack(&Ack { code, ..ack(1) });
            }
            assert_eq!(s.cwnd(), cwnd, "{marked}");
        }
        let mut s = DecbitSender::new(&DecbitSenderParams::default(), &sender_context(8.0));
        s.on_loss(&loss(LossKind::DupAcks, 8));
        assert_eq!(s.cwnd(), 4.0);
        s.on_loss(&loss(LossKind::Timeout, 8));
        assert_eq!(s.cwnd(), 1.0);
    }

    /// 8 Mb/s: the first packet is out at 1 ms, when the second comes and waits for a line that
    /// takes it up later: one packet is here from 0 to 3 ms, so the average stays 1.
    #[test]
    fn a_packet_that_comes_as_another_is_out_counts_from_then() {
        let context = router_context(Rate(8_000_000), 100);
        let mut router = DecbitRouter::new(&DecbitRouterParams::default(), &context);
        let come = |router: &mut DecbitRouter, at, packets| {
            let mut ecn = Ecn::Ect0;
            let backlog = Backlog { packets, bytes: u64::from(packets) * 1000 };
            router.on_arrival(ms(at), passing(&mut ecn), backlog);
            (router.average, ecn)
        };
        assert_eq!(come(&mut router, 0, 0), (0.0, Ecn::Ect0));
        let mut ecn = Ecn::Ect0;
        router.on_departure(ms(0), passing(&mut ecn), Backlog::default());
        assert_eq!(come(&mut router, 1, 0), (1.0, Ecn::Ce));
        let (average, mark) = come(&mut router, 3, 1);
        assert!(near(average, 1.0) && mark == Ecn::Ce, "{average}");
        // Two from there to 5 ms: 3 + 4 in 5 ms.
        assert!(near(come(&mut router, 5, 2).0, 1.4));
    }

    /// ACKs of three packets and a window of 4: of the second three two are of the second window,
    /// 2 of 5 in all, and the window grows; were all three it would shrink.
    #[test]
    fn an_ack_counts_with_its_packets_of_the_second_window() {
        let mut s = DecbitSender::new(&DecbitSenderParams::default(), &sender_context(4.0));
        for (code, cwnd) in [(Ecn::Ce, 4.0), (Ecn::Ce, 4.0), (Ecn::Ect0, 5.0)] {
            s.on_ack(&Ack { code, ..ack(3) });
            assert_eq!(s.cwnd(), cwnd);
        }
        // A loss begins anew, with a window of 2: four more ACKs, of which two count.
        s.on_ack(&Ack { code: Ecn::Ce, ..ack(9) });
        s.on_loss(&loss(LossKind::DupAcks, 5));
        assert_eq!((s.cwnd(), s.acks, s.bits), (2.5, 0.0, 0.0));
        for (code, cwnd) in [(Ecn::Ce, 2.5), (Ecn::Ce, 2.5), (Ecn::Ect0, 2.5), (Ecn::Ect0, 3.5)] {
            s.on_ack(&Ack { code, ..ack(1) });
            assert_eq!(s.cwnd(), cwnd);
        }
    }

    /// A window of 4: of an ACK of six packets with the bit two are of the second window, and two
    /// more come without it. Two of four are half: the window falls.
    #[test]
    fn an_ack_over_both_windows_counts_for_its_part() {
        let mut s = DecbitSender::new(&DecbitSenderParams::default(), &sender_context(4.0));
        s.on_ack(&Ack { code: Ecn::Ce, ..ack(6) });
        assert_eq!(s.bits, 2.0);
        s.on_ack(&Ack { code: Ecn::Ect0, ..ack(2) });
        assert_eq!(s.cwnd(), 3.5);
    }
}
