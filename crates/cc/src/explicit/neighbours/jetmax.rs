//! JetMax. Zhang, Leonard, Loguinov, "JetMax: scalable max-min congestion control for high-speed
//! heterogeneous networks", INFOCOM 2006; Computer Networks 52(6), 2008.
//!
//! Every flow knows which link is its bottleneck and says so in its packets, with the time between
//! two of them. A link so counts the flows N that it holds back and measures the rate u of all
//! others, and offers each of its own flows g = (gamma*C - u)/N. A sender moves its rate towards g
//! by the part tau once per RTT: x <- x - tau*(x - g). As g does not depend on the rates of the
//! flows that obey it, the number of steps to any neighbourhood of g is the same for all
//! capacities, and any 0 < tau < 2 is stable whatever the delays are.
//!
//! ```math
//! g = (gamma*C - u)/N   the offer to each of the link's own N flows
//! x <- x - tau*(x - g)  once per RTT
//! ```
//!
//! Deviations:
//! - D1: a flow belongs to the link that offers least on its way. Where it does not belong yet the
//!   offer is the one it would get there: (gamma*C - u + x)/(N + 1). The papers' packets carry a
//!   link's identifier and a proposed one, too; their rule for changing over is not reproduced.
//! - D2: a flow's first packet asks for the offers; until its answer comes no other packet leaves,
//!   and its first step starts from rate 0.
//! - D3: g is at least 10^-4 of gamma*C, also where others take more than that.
//! - D4: two round trips' worth of packets may be out; a loss changes nothing, a timeout begins
//!   again as D2 does.
//!
//! Reconstructed:
//! - R1: the figures gamma = 0.95, tau = 0.5 and an interval of 100 ms.

use units::{Rate, Span, Time};

use super::rated::{Pace, RATES, Rated, Told};
use crate::roles::{
    Ack, Backlog, Departing, Header, Passing, Router, RouterContext, Variable, Verdict,
};

params! {
    /// The router's parameters.
    pub struct JetMaxRouterParams {
        /// gamma, the target utilization (R1).
        gamma: f64 = 0.95 => (0.01, 1.0);
        /// Delta, the interval over which N and u are measured (R1).
        interval: Span = Span::from_millis(100) => (1e-4, 10.0);
    }
}

params! {
    /// The sender's parameters.
    pub struct JetMaxSenderParams {
        /// tau, the part of the way to g that a step goes; stable below 2 (R1).
        tau: f64 = 0.5 => (0.001, 1.999);
    }
}

/// What packets carry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JetMaxHeader {
    /// The link that the flow belongs to, from 1 on; 0 is none yet.
    pub link: u32,
    /// The link that offers least; 0 when it leaves.
    pub proposed: u32,
    /// The time between two packets of the flow [s]; 0 before the first answer.
    pub gap: f64,
    /// g, the least offer of the way [bytes/s].
    pub offer: f64,
}

/// Wire units per second of the gap.
const GAP_UNITS: f64 = 1e9;
/// The longest gap on the wire, 46 days: beyond, a rounding may go by two units.
const MAX_GAP: f64 = 4e15;

impl Header for JetMaxHeader {
    /// Big-endian: both links in 32 bits, gap [ns] and offer [bytes/s] in 64; both saturate.
    const WIRE_BYTES: usize = 24;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_link", "", "number of the link that the flow belongs to; 0 is none"),
        Variable::new("h_proposed", "", "number of the link that offers least; 0 is none"),
        Variable::new("h_gap", "s", "time between two packets of the flow; 0 is unknown"),
        Variable::new("h_offer", "bytes/s", "the least offer of the way"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        // Float-to-integer casts saturate. A gap never rounds to "unknown".
        let gap = (self.gap * GAP_UNITS + 0.5).min(MAX_GAP) as u64;
        let gap = gap.max(u64::from(self.gap > 0.0));
        wire[..4].copy_from_slice(&self.link.to_be_bytes());
        wire[4..8].copy_from_slice(&self.proposed.to_be_bytes());
        wire[8..16].copy_from_slice(&gap.to_be_bytes());
        wire[16..24].copy_from_slice(&(self.offer as u64).to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<JetMaxHeader> {
        let long = |at: usize| {
            let bytes = wire.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_be_bytes(bytes) as f64)
        };
        Some(JetMaxHeader {
            link: u32::from_be_bytes(wire.get(..4)?.try_into().ok()?),
            proposed: u32::from_be_bytes(wire.get(4..8)?.try_into().ok()?),
            gap: long(8)?.min(MAX_GAP) / GAP_UNITS,
            offer: long(16)?,
        })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_link", f64::from(self.link));
        sink("h_proposed", f64::from(self.proposed));
        sink("h_gap", self.gap);
        sink("h_offer", self.offer);
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct JetMaxRouter {
    params: JetMaxRouterParams,
    /// Its number, from 1 on.
    link: u32,
    /// gamma*C [bytes/s].
    target: f64,
    /// Sum of the gaps of the packets of its own flows in the running interval [s].
    gaps: f64,
    /// What other packets had in it [bytes].
    others: u64,
    /// N and u of the last interval.
    n: f64,
    u: f64,
    since: Time,
    next: Time,
}

impl JetMaxRouter {
    /// g, for one of its own flows or for one that would be (D1).
    #[inline]
    fn offer(&self, header: &JetMaxHeader, size: u32) -> f64 {
        let offer = if header.link == self.link {
            (self.target - self.u) / self.n.max(1.0)
        } else {
            let x = if header.gap > 0.0 { f64::from(size) / header.gap } else { 0.0 };
            (self.target - self.u + x.min(self.u)) / (self.n + 1.0)
        };
        offer.max(1e-4 * self.target) // D3
    }
}

impl Router for JetMaxRouter {
    type Params = JetMaxRouterParams;
    type Header = JetMaxHeader;

    fn new(params: &JetMaxRouterParams, context: &RouterContext) -> JetMaxRouter {
        JetMaxRouter {
            link: context.link.saturating_add(1),
            target: params.gamma * context.capacity.bytes_per_sec(),
            gaps: 0.0,
            others: 0,
            n: 0.0,
            u: 0.0,
            since: Time::ZERO,
            next: Time::ZERO + params.interval,
            params: params.clone(),
        }
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, JetMaxHeader>, _: Backlog) -> Verdict {
        match packet.header {
            Some(header) if header.link == self.link && (0.0..=1e3).contains(&header.gap) => {
                self.gaps += header.gap;
            }
            _ => self.others += u64::from(packet.size),
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, JetMaxHeader>, _: Backlog) {
        if let Some(header) = packet.header {
            let offer = self.offer(header, packet.size);
            if header.proposed == 0 || offer < header.offer {
                (header.proposed, header.offer) = (self.link, offer);
            }
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, _backlog: Backlog) {
        let length = now.since(self.since).as_secs();
        if length > 0.0 {
            // A flow's gaps add up to the interval.
            (self.n, self.u) = (self.gaps / length, self.others as f64 / length);
        }
        (self.gaps, self.others) = (0.0, 0);
        (self.since, self.next) = (now, now + self.params.interval);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.target = self.params.gamma * capacity.bytes_per_sec();
    }

    fn retune(&mut self, params: &JetMaxRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.target = params.gamma * context.capacity.bytes_per_sec();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("n", "", "N, the link's own flows"),
        Variable::new("u", "bytes/s", "rate of all other packets"),
        Variable::new("g", "bytes/s", "what the link offers each of its own flows"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("n", self.n);
        sink("u", self.u);
        sink("g", ((self.target - self.u) / self.n.max(1.0)).max(1e-4 * self.target));
    }
}

/// The end host's part.
pub type JetMaxSender = Rated<JetMax>;

/// It goes a part of the way to what its link offers.
#[derive(Clone, Debug)]
pub struct JetMax {
    /// The link it belongs to; 0 is none yet.
    link: u32,
    tau: f64,
    /// No step before.
    next_step: Time,
}

impl Told for JetMax {
    type Params = JetMaxSenderParams;
    type Header = JetMaxHeader;

    fn new(params: &JetMaxSenderParams) -> JetMax {
        JetMax { link: 0, tau: params.tau, next_step: Time::ZERO }
    }

    fn ask(&self, pace: Pace, segment: &Departing) -> JetMaxHeader {
        let gap = if pace.rate > 0.0 { f64::from(segment.size) / pace.rate } else { 0.0 };
        JetMaxHeader { link: self.link, proposed: 0, gap, offer: 0.0 }
    }

    fn answer(&mut self, Pace { rate: x, srtt }: Pace, ack: &Ack<JetMaxHeader>) -> Option<f64> {
        let JetMaxHeader { proposed, offer, .. } = ack.header;
        if proposed == 0 || !RATES.contains(&offer) || ack.now < self.next_step {
            return None;
        }
        self.link = proposed;
        self.next_step = ack.now + Span::from_secs_f64(srtt);
        Some((x - self.tau * (x - offer)).max(1e-3))
    }

    fn begin_again(&mut self) {
        self.link = 0;
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("x", "bytes/s", "rate; 0 before the first answer"),
        Variable::new("link", "", "number of the link that the flow belongs to; 0 is none"),
    ];

    fn probe(&self, rate: f64, sink: &mut impl FnMut(&'static str, f64)) {
        sink("x", rate);
        sink("link", f64::from(self.link));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::roles::{LossKind, Sender};
    use crate::tests::{
        ack_after, departing, loss, ms, near, passing, router_context, sender_context,
    };

    /// Link 1 of 10 Mb/s: gamma*C = 1,187,500 bytes/s.
    fn router() -> JetMaxRouter {
        let context = router_context(Rate(10_000_000), 100);
        JetMaxRouter::new(&JetMaxRouterParams::default(), &context)
    }

    fn arrive(router: &mut JetMaxRouter, packets: u32, link: u32, gap: f64) {
        for _ in 0..packets {
            let mut ecn = Ecn::NotCapable;
            let mut header = JetMaxHeader { link, gap, ..JetMaxHeader::default() };
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_arrival(ms(50), packet, Backlog::default());
        }
    }

    #[test]
    fn a_link_counts_its_flows_and_measures_the_others() {
        let mut router = router();
        // In 100 ms: 20 packets 5 ms apart and 10 that are 10 ms apart are a flow each; 25 packets
        // of another link's flows are 250,000 bytes/s.
        arrive(&mut router, 20, 1, 0.005);
        arrive(&mut router, 10, 1, 0.010);
        arrive(&mut router, 25, 7, 0.004);
        router.on_timer(ms(100), Backlog::default());
        assert!(near(router.n, 2.0) && near(router.u, 250_000.0));
        // Its own flows: 937,500/2. One of the others, with 250,000: 1,187,500/3.
        let own = JetMaxHeader { link: 1, gap: 0.005, ..JetMaxHeader::default() };
        assert!(near(router.offer(&own, 1000), 468_750.0));
        let other = JetMaxHeader { link: 7, gap: 0.004, ..JetMaxHeader::default() };
        assert!(near(router.offer(&other, 1000), 1_187_500.0 / 3.0));
        // More than everything is taken by others (D3).
        router.u = 2e6;
        assert!(near(router.offer(&own, 1000), 118.75));
    }

    #[test]
    fn a_packet_takes_the_least_offer_and_its_link() {
        let mut router = router();
        let mut pass = |proposed, offer| {
            let mut header = JetMaxHeader { link: 1, proposed, gap: 0.01, offer };
            let mut ecn = Ecn::NotCapable;
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_departure(ms(0), packet, Backlog::default());
            (header.proposed, header.offer)
        };
        assert_eq!(pass(0, 0.0), (1, 1_187_500.0));
        assert_eq!(pass(5, 2e6), (1, 1_187_500.0));
        assert_eq!(pass(5, 1e6), (5, 1e6));
    }

    #[test]
    fn the_rate_goes_half_the_way_once_per_rtt() {
        let mut s = JetMaxSender::new(&JetMaxSenderParams::default(), &sender_context(1.0));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        let mut rates = [0.0; 5];
        for (rate, at) in rates.iter_mut().zip([100, 150, 200, 300, 400]) {
            let header = JetMaxHeader { link: 0, proposed: 3, gap: 0.0, offer: 160_000.0 };
            s.on_ack(&Ack { header, ..ack_after(ms(at), Span::from_millis(100)) });
            *rate = s.pace.rate;
        }
        assert_eq!(rates, [80_000.0, 80_000.0, 120_000.0, 140_000.0, 150_000.0]);
        let header = s.on_send(&departing());
        assert!(header.link == 3 && near(header.gap, 1.0 / 150.0));
        s.on_loss(&loss(LossKind::Timeout, 10));
        assert_eq!((s.cwnd(), s.pacing(), s.told.link), (1.0, None, 0));
    }

    /// Neither what no link has answered nor what is no rate moves the flow.
    #[test]
    fn an_answer_is_a_link_and_a_rate() {
        for (proposed, offer) in [(0, 160_000.0), (3, 0.0), (3, f64::INFINITY), (3, 1.1e15)] {
            let mut s = JetMaxSender::new(&JetMaxSenderParams::default(), &sender_context(1.0));
            let header = JetMaxHeader { link: 0, proposed, gap: 0.0, offer };
            s.on_ack(&Ack { header, ..ack_after(ms(100), Span::from_millis(100)) });
            assert_eq!((s.pace.rate, s.told.link), (0.0, 0), "{proposed} {offer}");
        }
    }

    /// A flow of its own 10 ms apart, and 5 packets of others, are N = 1 and u = 50,000 in 100 ms;
    /// an interval that ends as it begins leaves both.
    #[test]
    fn an_interval_of_no_length_measures_nothing() {
        let mut router = router();
        arrive(&mut router, 10, 1, 0.010);
        // A gap of more than 1000 s is none that a flow counts by.
        arrive(&mut router, 3, 1, 1001.0);
        arrive(&mut router, 2, 7, 0.010);
        router.on_timer(ms(100), Backlog::default());
        router.on_timer(ms(100), Backlog::default());
        assert!(near(router.n, 1.0) && near(router.u, 50_000.0), "{} {}", router.n, router.u);
        assert_eq!(router.next_timer(), ms(200));
        // D1: of a flow whose gap nobody knows, (1,187,500 - 50,000)/2; of one that says 10 MB/s no
        // more than u: 1,187,500/2.
        let other = |gap| JetMaxHeader { link: 7, gap, ..JetMaxHeader::default() };
        assert!(near(router.offer(&other(0.0), 1000), 568_750.0));
        assert!(near(router.offer(&other(1e-4), 1000), 593_750.0));
    }
}
