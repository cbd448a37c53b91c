//! XCP without divisions at the router: Katabi, Handley, Rohrs, SIGCOMM 2002, appendix A, last
//! paragraph.
//!
//! [`super::xcp`] divides once per packet. Here the sender does: it writes a = s*rtt/cwnd in
//! place of the window, and feedback travels over the RTT. A router then needs three
//! multiplications per packet: rtt*a on arrival, xi_p*a and xi_n*s on departure. Everything else is
//! XCP's, its deviations and R1 with it; the two forms do not read each other.
//!
//! ```math
//! a = s*rtt/cwnd                        what the sender writes in place of its window
//! xi_p = (h + max(phi, 0))/(d*sum(a))   over the packets of an interval; phi, h and xi_n are XCP's
//! feedback = xi_p*a - xi_n*s            of a packet of s bytes, over the flow's RTT
//! cwnd <- max(cwnd + feedback*srtt, s)  at each ACK
//! ```
//!
//! Deviations: those of [`super::xcp`], and
//! - D10: the paper returns feedback*H_rtt to a sender that divides. Only feedback/H_rtt and a
//!   sender that multiplies by its smoothed RTT give what the other form gives.

use units::Span;

use super::controlled::{Congestion, Controlled, Law, MEAN_RTT, Meter, Stated, XcpRouterParams};
use super::xcp::{LARGEST_FEEDBACK, Summing, Xcp, XcpHeader, XcpSender, XcpSenderParams};
use crate::roles::{Ack, Departing, Header, Loss, RouterContext, Sender, SenderContext, Variable};

/// The congestion header.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DivisionFreeHeader {
    /// a = s*rtt/cwnd [s]; 0 before the first RTT estimate.
    pub a: f64,
    /// H_rtt, the sender's RTT estimate [s]; 0 before the first.
    pub rtt: f64,
    /// H_feedback over H_rtt, asked for, then granted [bytes/s].
    pub feedback: f64,
}

/// The law: XCP's, of feedback over the RTT.
#[derive(Clone, Debug, Default)]
pub struct DivisionFree(Xcp);

/// The router's part.
pub type DivisionFreeRouter = Controlled<DivisionFree>;

impl Law for DivisionFree {
    type Params = XcpRouterParams;
    type Header = DivisionFreeHeader;

    fn common(params: &XcpRouterParams) -> &XcpRouterParams {
        params
    }

    fn new(_: &RouterContext) -> DivisionFree {
        DivisionFree::default()
    }

    fn decide(&mut self, params: &XcpRouterParams, meter: &Meter) {
        self.0 = Xcp::of(params, meter, meter.sums());
    }

    #[inline]
    fn answer(
        &mut self,
        params: &XcpRouterParams,
        header: &mut DivisionFreeHeader,
        stated: &Stated,
    ) {
        let offer = self.0.shares.offer(stated.terms(), params.overdraw);
        header.feedback = self.0.shares.answer(1.0, header.feedback, offer);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of the flows' windows that is handed out, eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        Variable::new("xi_p", "", "scale of what every flow gets, eq. (6)"),
        Variable::new("xi_n", "", "scale of what every flow gives, eq. (9)"),
        Variable::new("persistent_queue", "bytes", "Q, the queue that does not drain"),
        MEAN_RTT,
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.0.phi);
        sink("h", self.0.h);
        sink("xi_p", self.0.shares.xi_p);
        sink("xi_n", self.0.shares.xi_n);
        sink("persistent_queue", meter.persistent_queue);
        sink("avg_rtt", meter.avg_rtt);
    }
}

/// The end host's part: XCP's with the division.
#[derive(Clone, Debug)]
pub struct DivisionFreeSender(XcpSender);

impl Sender for DivisionFreeSender {
    type Params = XcpSenderParams;
    type Header = DivisionFreeHeader;
    type Receiver = Summing<DivisionFreeHeader>;

    fn new(params: &XcpSenderParams, context: &SenderContext) -> DivisionFreeSender {
        DivisionFreeSender(XcpSender::new(params, context))
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> DivisionFreeHeader {
        let XcpHeader { cwnd, rtt, feedback } = self.0.on_send(segment);
        if rtt <= 0.0 {
            return DivisionFreeHeader { a: 0.0, rtt: 0.0, feedback };
        }
        let a = f64::from(segment.size) * rtt / cwnd;
        DivisionFreeHeader { a, rtt, feedback: feedback / rtt }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<DivisionFreeHeader>) {
        let srtt = ack.srtt.map_or(ack.header.rtt, Span::as_secs);
        let feedback = ack.header.feedback * srtt;
        self.0.take(XcpHeader { cwnd: self.0.cwnd_bytes(), rtt: ack.header.rtt, feedback });
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.0.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("h_cwnd", "bytes", "window when the last header came back"),
        Variable::new("h_rtt", "s", "RTT estimate in the last header that came back"),
        Variable::new("h_feedback", "bytes", "change of window by the last header that came back"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.0.probe(sink);
    }
}

impl Congestion for DivisionFreeHeader {
    #[inline]
    fn stated(&self, size: f64) -> Option<Stated> {
        let &DivisionFreeHeader { a, rtt, feedback } = self;
        let sane = (1e-9..=1e4).contains(&rtt)
            && (1e-18..=1e18).contains(&a)
            && feedback >= -LARGEST_FEEDBACK;
        sane.then_some(Stated { size, rtt, rtt_by_cwnd: a })
    }

    #[inline]
    fn feedback(&self) -> f64 {
        self.feedback
    }

    #[inline]
    fn set_feedback(&mut self, feedback: f64) {
        self.feedback = feedback;
    }
}

impl Header for DivisionFreeHeader {
    /// Three IEEE 754 doubles, big-endian.
    const WIRE_BYTES: usize = 24;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_a", "s", "packet size times RTT over window; 0 before the first RTT"),
        Variable::new("h_rtt", "s", "the sender's RTT estimate; 0 before the first"),
        Variable::new("h_feedback", "bytes/s", "change of window over RTT asked for, then granted"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_a", self.a);
        sink("h_rtt", self.rtt);
        sink("h_feedback", self.feedback);
    }

    fn encode(&self, wire: &mut [u8]) {
        for (i, field) in [self.a, self.rtt, self.feedback].into_iter().enumerate() {
            wire[8 * i..8 * i + 8].copy_from_slice(&field.to_be_bytes());
        }
    }

    fn decode(wire: &[u8]) -> Option<DivisionFreeHeader> {
        let field = |i: usize| {
            let field = f64::from_be_bytes(wire.get(8 * i..8 * i + 8)?.try_into().ok()?);
            (!field.is_nan()).then_some(field)
        };
        Some(DivisionFreeHeader { a: field(0)?, rtt: field(1)?, feedback: field(2)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    use crate::explicit::xcp::xcp::XcpRouter;
    use crate::roles::{Backlog, Ecn, Passing, Router};
    use crate::tests::{ack, departing, ms, near, router_context, sender_context};

    const SRTT: Span = Span::from_millis(80);

    /// The same packets through both forms: senders of several windows, a router that is
    /// underloaded, one that is overloaded, one before that asks for less. Feedback is equal to
    /// nine digits.
    #[test]
    fn both_forms_give_the_same_feedback() {
        for mbps in [5, 50] {
            let context = router_context(Rate(mbps * 1_000_000), 100);
            let mut usual = XcpRouter::new(&XcpRouterParams::default(), &context);
            let mut free = DivisionFreeRouter::new(&XcpRouterParams::default(), &context);
            let mut given = [0_u32; 2];
            for round in 0..40_u64 {
                let now = ms(10 * (round + 1));
                let backlog = Backlog { packets: 3, bytes: 3000 };
                let (mut ecn, mut pair) = (Ecn::NotCapable, Ecn::NotCapable);
                for flow in 0..8_u32 {
                    let window = 2.0 + f64::from(flow);
                    let params = XcpSenderParams::default();
                    let mut one = XcpSender::new(&params, &sender_context(window));
                    let mut two = DivisionFreeSender::new(&params, &sender_context(window));
                    let segment = Departing { srtt: Some(SRTT), ..departing() };
                    let (mut h1, mut h2) = (one.on_send(&segment), two.on_send(&segment));
                    if flow == 7 {
                        (h1.feedback, h2.feedback) = (20.0, 20.0 / SRTT.as_secs());
                    }
                    let p = Passing { header: Some(&mut h1), ..crate::tests::passing(&mut ecn) };
                    usual.on_arrival(now, p, backlog);
                    let p = Passing { header: Some(&mut h2), ..crate::tests::passing(&mut pair) };
                    free.on_arrival(now, p, backlog);
                    let p = Passing { header: Some(&mut h1), ..crate::tests::passing(&mut ecn) };
                    usual.on_departure(now, p, backlog);
                    let p = Passing { header: Some(&mut h2), ..crate::tests::passing(&mut pair) };
                    free.on_departure(now, p, backlog);
                    given[usize::from(h1.feedback < 0.0)] += u32::from(h1.feedback != 0.0);
                    one.on_ack(&Ack { header: h1, srtt: Some(SRTT), ..ack(1) });
                    two.on_ack(&Ack { header: h2, srtt: Some(SRTT), ..ack(1) });
                    let change = (one.cwnd() - window, two.cwnd() - window);
                    assert!(near(one.cwnd(), two.cwnd()), "{change:?}");
                }
                if now >= usual.next_timer() {
                    usual.on_timer(now, backlog);
                    free.on_timer(now, backlog);
                    assert_eq!(usual.next_timer(), free.next_timer());
                }
            }
            // The fast link gives and the slow one takes.
            assert!(given[usize::from(mbps == 5)] > 100, "{mbps}: {given:?}");
        }
    }

    #[test]
    fn the_sender_divides_and_multiplies_by_its_rtt() {
        let mut sender = DivisionFreeSender::new(&XcpSenderParams::default(), &sender_context(4.0));
        let first = sender.on_send(&departing());
        assert_eq!(first, DivisionFreeHeader { a: 0.0, rtt: 0.0, feedback: f64::INFINITY });
        // a = 1000*0.08/4000.
        let header = sender.on_send(&Departing { srtt: Some(SRTT), ..departing() });
        assert!(near(header.a, 0.02) && header.rtt == 0.08);
        // 25 000 bytes/s times 0.08 s are two packets.
        let header = DivisionFreeHeader { feedback: 25_000.0, ..header };
        sender.on_ack(&Ack { header, srtt: Some(SRTT), ..ack(1) });
        assert!(near(sender.cwnd(), 6.0));
    }

    /// Three duplicate ACKs halve the window as they do XCP's.
    #[test]
    fn a_loss_halves_the_window() {
        let mut sender =
            DivisionFreeSender::new(&XcpSenderParams::default(), &sender_context(10.0));
        sender.on_loss(&crate::tests::loss(crate::roles::LossKind::DupAcks, 10));
        assert_eq!(sender.cwnd(), 5.0);
    }

    /// A packet of s = 1000 B with a = 0.02 s states that and its RTT; out of range it states
    /// nothing (D3), as XCP's does.
    #[test]
    fn a_header_out_of_range_states_nothing() {
        let sane = DivisionFreeHeader { a: 0.02, rtt: 0.08, feedback: -5.0 };
        let stated = sane.stated(1000.0).unwrap();
        assert_eq!((stated.size, stated.rtt, stated.rtt_by_cwnd), (1000.0, 0.08, 0.02));
        for wrong in [
            DivisionFreeHeader { a: 0.0, ..sane },
            DivisionFreeHeader { a: 1e19, ..sane },
            DivisionFreeHeader { rtt: 0.0, ..sane },
            DivisionFreeHeader { rtt: 1e5, ..sane },
            DivisionFreeHeader { feedback: f64::NEG_INFINITY, ..sane },
        ] {
            assert!(wrong.stated(1000.0).is_none(), "{wrong:?}");
        }
    }

    /// What a sender with a rate of its own asks for is divided by the RTT as well: 100,000 bytes/s
    /// in 80 ms are 8000 bytes, 4000 more than its four packets have, and 1000 for each of them.
    #[test]
    fn a_wish_is_divided_by_the_rtt() {
        let params = XcpSenderParams { rate: 800_000.0, ..Default::default() };
        let mut sender = DivisionFreeSender::new(&params, &sender_context(4.0));
        let header = sender.on_send(&Departing { srtt: Some(SRTT), ..departing() });
        assert!(near(header.feedback, 1000.0 / 0.08), "{}", header.feedback);
    }
}
