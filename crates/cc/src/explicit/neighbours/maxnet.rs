//! MaxNet. Wydrowski, Zukerman, "MaxNet: a congestion control architecture for maxmin fairness",
//! IEEE Communications Letters 6(11), 2002; Wydrowski, Andrew, Mareels, "MaxNet: faster flow
//! control convergence", Networking 2004.
//!
//! Every link has a price, the integral of its excess over a target utilization. A packet carries
//! the largest price of its way, where other price-based schemes carry the sum, and the sender's
//! rate is a falling function D of it, the same for all. So flows with the same bottleneck have the
//! same rate, and rates are max-min fair.
//!
//! ```math
//! q <- q + kappa*T/d*(y - mu*C)/(mu*C)  a link's price, each T
//! x = w*X_ref*exp(-q)                   the sender's rate, by the largest price of the way
//! ```
//!
//! Deviations:
//! - D1: D(q) = w*X_ref*exp(-q), with X_ref = 1 Tb/s for everybody, so that prices are pure
//!   numbers. The papers leave D open; with this one a link's loop has the same gain whatever its
//!   flows.
//! - D2: the price moves by kappa*(T/d)*(y - mu*C)/(mu*C), with d the packets' mean RTT: the gain
//!   of the papers' integrator over the RTT that stability asks for.
//! - D3: a price does not fall below that at which one flow of weight 1 fills the link, nor rise
//!   above that at which 10^6 do: an idle link would let it run away.
//! - D4: a flow's first packet asks for the price; until its answer comes no other packet leaves.
//! - D5: two round trips' worth of packets may be out; a loss changes nothing, a timeout begins
//!   again as D4 does.

use units::{Rate, Span, Time, math};

use super::rated::{Arrivals, Pace, Rated, Told, seconds};
use crate::roles::{
    Ack, Backlog, Departing, Header, Passing, Router, RouterContext, Variable, Verdict,
};

params! {
    /// The router's parameters.
    pub struct MaxNetRouterParams {
        /// mu, the target utilization (Comm. Letters 2002, section II).
        mu: f64 = 0.96 => (0.01, 1.0);
        /// kappa, how much the price moves in an RTT at twice the target (D2).
        kappa: f64 = 0.5 => (0.001, 2.0);
        /// T, the time between two updates of the price.
        period: Span = Span::from_millis(10) => (1e-5, 10.0);
        /// d before the first packet with an RTT.
        initial_rtt: Span = Span::from_millis(200) => (1e-5, 10.0);
    }
}

params! {
    /// The sender's parameters.
    pub struct MaxNetSenderParams {
        /// w, the flow's weight: its demand is so many times D (D1).
        weight: f64 = 1.0 => (0.001, 1000.0);
    }
}

/// X_ref, the demand at price 0 [bytes/s] (D1).
const X_REF: f64 = 1e12 / 8.0;

/// The price at which the demand of a flow of weight 1 is `rate` [bytes/s].
fn price_of(rate: f64) -> f64 {
    math::ln(X_REF / rate.max(1e-6)).max(0.0)
}

/// What packets carry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaxNetHeader {
    /// q, the largest price of the way.
    pub price: f64,
    /// The sender's RTT estimate [s]; 0 before the first.
    pub rtt: f64,
}

/// Wire units of the price.
const PRICE_UNITS: f64 = 16_777_216.0;
/// Wire units per second of RTT.
const RTT_UNITS: f64 = 1e6;

impl Header for MaxNetHeader {
    /// Big-endian: price [2^-24] and RTT [us], in 32 bits each; both saturate.
    const WIRE_BYTES: usize = 8;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_price", "", "the largest price of the way"),
        Variable::new("h_rtt", "s", "the sender's RTT estimate; 0 before the first"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        // Float-to-integer casts saturate. An estimate never rounds to "no estimate".
        let rtt = ((self.rtt * RTT_UNITS + 0.5) as u32).max(u32::from(self.rtt > 0.0));
        wire[..4].copy_from_slice(&((self.price * PRICE_UNITS + 0.5) as u32).to_be_bytes());
        wire[4..8].copy_from_slice(&rtt.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<MaxNetHeader> {
        let price = u32::from_be_bytes(wire.get(..4)?.try_into().ok()?);
        let rtt = u32::from_be_bytes(wire.get(4..8)?.try_into().ok()?);
        Some(MaxNetHeader {
            price: f64::from(price) / PRICE_UNITS,
            rtt: f64::from(rtt) / RTT_UNITS,
        })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_price", self.price);
        sink("h_rtt", self.rtt);
    }
}

/// Flows that a link is made for (D3).
const MOST_FLOWS: f64 = 1e6;

/// The router's part.
#[derive(Clone, Debug)]
pub struct MaxNetRouter {
    params: MaxNetRouterParams,
    /// mu*C [bytes/s].
    target: f64,
    price: f64,
    /// The bounds of D3.
    least: f64,
    most: f64,
    /// d and y, over T.
    arrivals: Arrivals,
}

impl MaxNetRouter {
    fn set_capacity(&mut self, capacity: Rate) {
        self.target = self.params.mu * capacity.bytes_per_sec();
        self.least = price_of(self.target);
        self.most = price_of(self.target / MOST_FLOWS);
        self.price = self.price.clamp(self.least, self.most);
    }
}

impl Router for MaxNetRouter {
    type Params = MaxNetRouterParams;
    type Header = MaxNetHeader;

    fn new(params: &MaxNetRouterParams, context: &RouterContext) -> MaxNetRouter {
        let mut router = MaxNetRouter {
            target: 0.0,
            price: 0.0,
            least: 0.0,
            most: 0.0,
            arrivals: Arrivals::new(params.initial_rtt, Time::ZERO + params.period),
            params: params.clone(),
        };
        router.set_capacity(context.capacity);
        router
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, MaxNetHeader>, _: Backlog) -> Verdict {
        self.arrivals.arrive(packet.size, packet.header.map_or(0.0, |header| header.rtt));
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, MaxNetHeader>, _: Backlog) {
        if let Some(header) = packet.header {
            header.price = header.price.max(self.price);
        }
    }

    fn next_timer(&self) -> Time {
        self.arrivals.next
    }

    fn on_timer(&mut self, now: Time, _backlog: Backlog) {
        if let Some(t) = self.arrivals.end(now) {
            let excess = (self.arrivals.y - self.target) / self.target;
            // A late timer counts as d at most.
            let step = self.params.kappa * (t / self.arrivals.rtt).min(1.0) * excess; // D2
            self.price = (self.price + step).clamp(self.least, self.most);
        }
        self.arrivals.next = now + self.params.period;
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.set_capacity(capacity);
    }

    fn retune(&mut self, params: &MaxNetRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.set_capacity(context.capacity);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("price", "", "the link's price"),
        Variable::new("demand", "bytes/s", "D of it: what a flow of weight 1 sends"),
        Variable::new("y", "bytes/s", "rate of arrivals in the last T"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("price", self.price);
        sink("demand", X_REF * math::exp(-self.price));
        sink("y", self.arrivals.y);
    }
}

/// The end host's part.
pub type MaxNetSender = Rated<MaxNet>;

/// It sends at D of the largest price.
#[derive(Clone, Debug)]
pub struct MaxNet {
    weight: f64,
}

impl Told for MaxNet {
    type Params = MaxNetSenderParams;
    type Header = MaxNetHeader;

    fn new(params: &MaxNetSenderParams) -> MaxNet {
        MaxNet { weight: params.weight }
    }

    fn ask(&self, _: Pace, segment: &Departing) -> MaxNetHeader {
        MaxNetHeader { price: 0.0, rtt: seconds(segment.srtt) }
    }

    fn answer(&mut self, _: Pace, ack: &Ack<MaxNetHeader>) -> Option<f64> {
        let price = ack.header.price;
        // Without a router on the way nobody has answered.
        (price > 0.0 && price < 700.0).then(|| self.weight * X_REF * math::exp(-price)) // D1
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("rate", "bytes/s", "D of the largest price; 0 before the first answer")];

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
    use crate::tests::{ack_after, loss, ms, near, passing, router_context, sender_context};

    /// 10 Mb/s: mu*C = 1,200,000 bytes/s; d = 100 ms, T = 10 ms.
    fn router() -> MaxNetRouter {
        let initial_rtt = Span::from_millis(100);
        let params = MaxNetRouterParams { initial_rtt, ..MaxNetRouterParams::default() };
        MaxNetRouter::new(&params, &router_context(Rate(10_000_000), 100))
    }

    #[test]
    fn the_price_integrates_the_excess_between_its_bounds() {
        let mut router = router();
        // ln(1.25e11/1.2e6) = ln(104,166.67) = 11.553 747; 10^6 flows: ln(10^6) = 13.815 511 more.
        assert!((router.price - 11.553_747).abs() < 1e-6);
        assert!(near(router.most - router.least, 13.815_510_557_964_274));
        // 24 packets in 10 ms are twice the target: 0.5*0.1*1.
        let before = router.price;
        for _ in 0..24 {
            let mut ecn = Ecn::NotCapable;
            router.on_arrival(ms(5), passing(&mut ecn), Backlog::default());
        }
        router.on_timer(ms(10), Backlog::default());
        assert!(near(router.price, before + 0.05));
        // Nothing arrives: -0.05, and no lower.
        router.on_timer(ms(20), Backlog::default());
        router.on_timer(ms(30), Backlog::default());
        assert!(near(router.price, before));
    }

    #[test]
    fn a_packet_takes_the_largest_price() {
        let mut router = router();
        router.price = 15.0;
        for (carried, left) in [(0.0, 15.0), (14.0, 15.0), (16.0, 16.0)] {
            let (mut ecn, mut header) =
                (Ecn::NotCapable, MaxNetHeader { price: carried, rtt: 0.1 });
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_departure(ms(0), packet, Backlog::default());
            assert_eq!(header.price, left);
        }
    }

    #[test]
    fn the_rate_is_the_demand_at_the_price() {
        let mut s = MaxNetSender::new(&MaxNetSenderParams { weight: 2.0 }, &sender_context(1.0));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        // 2*1.25e11*exp(-ln(10^6)) = 250,000 bytes/s; 50 packets in two RTTs of 100 ms.
        let header = MaxNetHeader { price: 13.815_510_557_964_274, rtt: 0.0 };
        s.on_ack(&Ack { header, ..ack_after(ms(100), Span::from_millis(100)) });
        assert!((s.pace.rate - 250_000.0).abs() < 1e-3 && (s.cwnd() - 50.0).abs() < 1e-6);
        s.on_loss(&loss(LossKind::DupAcks, 10));
        assert!(s.pace.rate > 0.0);
        s.on_loss(&loss(LossKind::Timeout, 10));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
    }

    /// Without a router on the way the price is 0: no answer, as one beyond all prices is none.
    #[test]
    fn a_price_of_nobody_is_no_answer() {
        for price in [0.0, -1.0, 700.0, f64::INFINITY, f64::NAN] {
            let params = MaxNetSenderParams::default();
            let mut s = MaxNetSender::new(&params, &sender_context(1.0));
            let header = MaxNetHeader { price, rtt: 0.0 };
            s.on_ack(&Ack { header, ..ack_after(ms(100), Span::from_millis(100)) });
            assert_eq!((s.pace.rate, s.pacing()), (0.0, None), "{price}");
        }
    }

    /// An RTT of a nanosecond is a microsecond on the wire, as 0 means that there is none.
    #[test]
    fn the_wire_has_price_and_rtt() {
        for (price, rtt, bytes) in [
            (1.5, 0.08, [1, 0x80, 0, 0, 0, 1, 0x38, 0x80]),
            (0.0, 1e-9, [0, 0, 0, 0, 0, 0, 0, 1]),
            (0.0, 0.0, [0; 8]),
        ] {
            let mut wire = [0; 8];
            MaxNetHeader { price, rtt }.encode(&mut wire);
            assert_eq!(wire, bytes, "{price} {rtt}");
        }
    }

    /// A packet says its sender's smoothed RTT, by which routers choose their gain.
    #[test]
    fn a_packet_states_the_rtt() {
        let maxnet = MaxNet::new(&MaxNetSenderParams::default());
        let segment = Departing { srtt: Some(Span::from_millis(80)), ..crate::tests::departing() };
        let header = maxnet.ask(Pace { rate: 0.0, srtt: 0.08 }, &segment);
        assert_eq!((header.price, header.rtt), (0.0, 0.08));
    }
}
