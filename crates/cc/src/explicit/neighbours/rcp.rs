//! RCP, the rate control protocol. Dukkipati, Kobayashi, Zhang-Shen, McKeown, "Processor sharing
//! flows in the Internet", IWQoS 2005, section 3; Dukkipati, PhD thesis, Stanford 2007, chapter 2.
//!
//! Every link has one rate R that it offers to all flows alike. It moves R every T by the spare
//! capacity and the queue, over an estimate C/R of the number of flows. A packet carries the
//! smallest R of its way to the receiver, which returns it, and the sender paces at that rate. So
//! flows share a link as under processor sharing, and a new one has its share after one RTT.
//!
//! ```math
//! R <- R*(1 + T/d_0*(alpha*(C - y) - beta*q/d_0)/C)  each T, with C reduced to eta*C
//! ```
//!
//! Deviations:
//! - D1: a flow's first packet asks for the rate, as the papers' SYN does; until its answer comes
//!   no other packet leaves.
//! - D2: two round trips' worth of packets at R may be out, which bounds what a dead path swallows.
//!   A loss changes nothing, a timeout begins again as D1 does.
//! - D3: d0 is an average over packets with weight 0.02, as in the authors' ns-2 code; T is the
//!   lesser of d0 and `period`.
//! - D4: R is not below 10^-3 of the capacity (ns-2 code), nor above eta*C. Where the capacity
//!   falls for a while, a sender that is told so little asks again after seconds only; `least_rate`
//!   is a bound that does not fall (50 packets/s in rcp_packet_queue.cc of ABC's authors).

use units::{Rate, Span, Time};

use super::rated::{Arrivals, Pace, RATES, Rated, Told, seconds};
use crate::roles::{
    Ack, Backlog, Departing, Header, Passing, Router, RouterContext, Variable, Verdict,
};

params! {
    /// The router's parameters.
    pub struct RcpRouterParams {
        /// alpha, the gain of the spare capacity (thesis eq. (2.2); IWQoS 2005 has 0.1).
        alpha: f64 = 0.5 => (0.0, 10.0);
        /// beta, the gain of the queue (thesis eq. (2.2); IWQoS 2005 has 1).
        beta: f64 = 0.25 => (0.0, 10.0);
        /// eta, the target utilization.
        eta: f64 = 1.0 => (0.01, 1.0);
        /// The longest T, the time between two updates of R (thesis section 2.2).
        period: Span = Span::from_millis(10) => (1e-5, 10.0);
        /// d0 before the first packet with an RTT.
        initial_rtt: Span = Span::from_millis(200) => (1e-5, 10.0);
        /// R at the start, over the capacity (ns-2 code).
        initial_rate: f64 = 0.05 => (0.001, 1.0);
        /// The least R [packets/s], whatever the capacity (D4).
        least_rate: f64 = 0.0 => (0.0, 1e6);
    }
}

params! {
    /// The sender has none: it does as it is told.
    pub struct RcpSenderParams {
    }
}

/// What packets carry (IWQoS 2005, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RcpHeader {
    /// R_p, the smallest rate of the way [bytes/s]; infinite when it leaves.
    pub rate: f64,
    /// The sender's RTT estimate [s]; 0 before the first.
    pub rtt: f64,
}

/// Wire units per second of RTT.
const RTT_UNITS: f64 = 1e6;

impl Header for RcpHeader {
    /// Big-endian: rate [bytes/s] in 64 bits, of which the largest is infinity, and RTT [us] in 32.
    const WIRE_BYTES: usize = 12;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_rate", "bytes/s", "the smallest R of the way"),
        Variable::new("h_rtt", "s", "the sender's RTT estimate; 0 before the first"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        // Float-to-integer casts saturate. An estimate never rounds to "no estimate".
        let rtt = ((self.rtt * RTT_UNITS + 0.5) as u32).max(u32::from(self.rtt > 0.0));
        wire[..8].copy_from_slice(&(self.rate as u64).to_be_bytes());
        wire[8..12].copy_from_slice(&rtt.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<RcpHeader> {
        let rate = match u64::from_be_bytes(wire.get(..8)?.try_into().ok()?) {
            u64::MAX => f64::INFINITY,
            rate => rate as f64,
        };
        let rtt = f64::from(u32::from_be_bytes(wire.get(8..12)?.try_into().ok()?)) / RTT_UNITS;
        Some(RcpHeader { rate, rtt })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_rate", self.rate);
        sink("h_rtt", self.rtt);
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct RcpRouter {
    params: RcpRouterParams,
    /// eta*C [bytes/s].
    capacity: f64,
    /// R [bytes/s].
    r: f64,
    /// Its least [bytes/s].
    least: f64,
    /// d0 (D3) and y, over T.
    arrivals: Arrivals,
}

impl RcpRouter {
    /// T (D3).
    fn period(params: &RcpRouterParams, d0: f64) -> Span {
        Span::from_secs_f64(d0).min(params.period).max(Span::from_micros(1))
    }

    /// R <- R*(1 + (T/d0)*(alpha*(eta*C - y) - beta*q/d0)/(eta*C)) (thesis eq. (2.2)).
    fn update(&mut self, t: f64, q: f64) {
        let RcpRouterParams { alpha, beta, .. } = self.params;
        let Arrivals { rtt: d0, y, .. } = self.arrivals;
        let spare = alpha * (self.capacity - y) - beta * q / d0;
        self.r *= 1.0 + t / d0 * spare / self.capacity;
        self.bound();
    }

    /// D4.
    fn bound(&mut self) {
        self.r = self.r.max(0.001 * self.capacity).min(self.capacity).max(self.least);
    }

    fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = self.params.eta * capacity.bytes_per_sec();
        self.bound();
    }
}

impl Router for RcpRouter {
    type Params = RcpRouterParams;
    type Header = RcpHeader;

    fn new(params: &RcpRouterParams, context: &RouterContext) -> RcpRouter {
        let capacity = params.eta * context.capacity.bytes_per_sec();
        let d0 = params.initial_rtt;
        let next = Time::ZERO + RcpRouter::period(params, d0.as_secs());
        let (r, arrivals) = (params.initial_rate * capacity, Arrivals::new(d0, next));
        let least = params.least_rate * f64::from(context.packet_bytes);
        let r = r.max(least);
        RcpRouter { capacity, r, least, arrivals, params: params.clone() }
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, RcpHeader>, _: Backlog) -> Verdict {
        self.arrivals.arrive(packet.size, packet.header.map_or(0.0, |header| header.rtt));
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, RcpHeader>, _: Backlog) {
        if let Some(header) = packet.header {
            header.rate = header.rate.min(self.r);
        }
    }

    fn next_timer(&self) -> Time {
        self.arrivals.next
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if let Some(t) = self.arrivals.end(now) {
            // A late timer counts as d0 at most, or R would jump.
            self.update(t.min(self.arrivals.rtt), backlog.bytes as f64);
        }
        self.arrivals.next = now + RcpRouter::period(&self.params, self.arrivals.rtt);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.set_capacity(capacity);
    }

    fn retune(&mut self, params: &RcpRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.least = params.least_rate * f64::from(context.packet_bytes);
        self.set_capacity(context.capacity);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("r", "bytes/s", "R, the rate offered to every flow"),
        Variable::new("d0", "s", "average RTT of the packets"),
        Variable::new("y", "bytes/s", "rate of arrivals in the last T"),
        Variable::new("n", "", "flows as RCP estimates them, eta*C/R"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("r", self.r);
        sink("d0", self.arrivals.rtt);
        sink("y", self.arrivals.y);
        sink("n", self.capacity / self.r);
    }
}

/// The end host's part.
pub type RcpSender = Rated<Rcp>;

/// It sends at R_p.
#[derive(Clone, Debug)]
pub struct Rcp;

impl Told for Rcp {
    type Params = RcpSenderParams;
    type Header = RcpHeader;

    fn new(_: &RcpSenderParams) -> Rcp {
        Rcp
    }

    fn ask(&self, _: Pace, segment: &Departing) -> RcpHeader {
        RcpHeader { rate: f64::INFINITY, rtt: seconds(segment.srtt) }
    }

    fn answer(&mut self, _: Pace, ack: &Ack<RcpHeader>) -> Option<f64> {
        Some(ack.header.rate).filter(|rate| RATES.contains(rate))
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("rate", "bytes/s", "rate that the path offers; 0 before the first answer")];

    fn probe(&self, rate: f64, sink: &mut impl FnMut(&'static str, f64)) {
        sink("rate", rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::roles::LossKind;
    use crate::roles::Sender;
    use crate::tests::{
        ack_after, departing, loss, ms, near, passing, router_context, sender_context,
    };

    /// 10 Mb/s, 1,250,000 bytes/s; d0 = 100 ms, T = 10 ms.
    fn router() -> RcpRouter {
        let initial_rtt = Span::from_millis(100);
        let params = RcpRouterParams { initial_rtt, ..RcpRouterParams::default() };
        RcpRouter::new(&params, &router_context(Rate(10_000_000), 100))
    }

    fn arrive(router: &mut RcpRouter, packets: u32) {
        for _ in 0..packets {
            let mut ecn = Ecn::NotCapable;
            router.on_arrival(ms(0), passing(&mut ecn), Backlog::default());
        }
    }

    /// 50 packets of 1000 B in a second are 50,000 bytes/s, of a line that is down to 10,000.
    #[test]
    fn the_least_rate_holds_where_the_capacity_falls() {
        let initial_rtt = Span::from_millis(100);
        let params = RcpRouterParams { initial_rtt, least_rate: 50.0, ..Default::default() };
        let mut router = RcpRouter::new(&params, &router_context(Rate(10_000_000), 100));
        assert!(near(router.r, 62_500.0));
        router.on_capacity(ms(1), Rate(80_000));
        assert!(near(router.r, 50_000.0));
    }

    #[test]
    fn the_rate_moves_by_spare_capacity_and_queue() {
        let mut router = router();
        assert!(near(router.r, 62_500.0) && router.next_timer() == ms(10));
        // 5 packets in 10 ms: y = 500,000. alpha*(1,250,000 - 500,000) = 375,000, no queue:
        // 1 + 0.1*0.3.
        arrive(&mut router, 5);
        router.on_timer(ms(10), Backlog::default());
        assert!(near(router.r, 62_500.0 * 1.03));
        // y = 1,500,000 and 20,000 B wait: -125,000 - 0.25*200,000 = -175,000: 1 - 0.1*0.14.
        router.r = 500_000.0;
        arrive(&mut router, 15);
        router.on_timer(ms(20), Backlog { packets: 20, bytes: 20_000 });
        assert!(near(router.r, 500_000.0 * 0.986));
    }

    #[test]
    fn the_rate_stays_within_the_capacity() {
        let mut router = router();
        for t in 1..2000 {
            router.on_timer(ms(10 * t), Backlog::default());
        }
        assert!(near(router.r, 1_250_000.0));
        router.on_capacity(ms(20_000), Rate(5_000_000));
        assert!(near(router.r, 625_000.0));
        for t in 2001..4000 {
            router.on_timer(ms(10 * t), Backlog { packets: 900, bytes: 900_000 });
        }
        assert!(near(router.r, 625.0));
    }

    #[test]
    fn a_packet_takes_the_smallest_rate_and_leaves_its_rtt() {
        let mut router = router();
        for (carried, left) in [(f64::INFINITY, 62_500.0), (1000.0, 1000.0)] {
            let (mut ecn, mut header) = (Ecn::NotCapable, RcpHeader { rate: carried, rtt: 0.2 });
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_departure(ms(0), packet, Backlog::default());
            assert_eq!(header.rate, left);
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_arrival(ms(0), packet, Backlog::default());
        }
        // 0.1 + 0.02*0.1 = 0.102; 0.102 + 0.02*0.098.
        assert!(near(router.arrivals.rtt, 0.10396));
    }

    #[test]
    fn the_sender_paces_at_the_rate_it_is_told() {
        let mut s = RcpSender::new(&RcpSenderParams::default(), &sender_context(10.0));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        assert_eq!(s.on_send(&departing()), RcpHeader { rate: f64::INFINITY, rtt: 0.0 });
        let header = RcpHeader { rate: 125_000.0, rtt: 0.0 };
        s.on_ack(&Ack { header, ..ack_after(ms(100), Span::from_millis(100)) });
        // 12.5 packets per RTT, twice.
        assert_eq!(s.pacing(), Some(Rate(1_000_000)));
        assert!(near(s.cwnd(), 25.0));
        s.on_loss(&loss(LossKind::DupAcks, 12));
        assert!(near(s.pace.rate, 125_000.0));
        s.on_loss(&loss(LossKind::Timeout, 12));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
    }
}
