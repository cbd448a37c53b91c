//! XCP without divisions at the router: Katabi, Handley, Rohrs, SIGCOMM 2002, appendix A, last
//! paragraph.
//!
//! [`crate::explicit::xcp`] divides once per packet. Here the sender does: it writes a = s*rtt/cwnd in
//! place of the window, and feedback travels over the RTT. A router then needs three multiplications per
//! packet: rtt*a on arrival, xi_p*a and xi_n*s on departure. Everything else is XCP's, its deviations
//! and R1 with it; the two forms do not read each other.
//!
//! - D1: the paper returns feedback*H_rtt to a sender that divides. Only feedback/H_rtt and a sender that
//!   multiplies by its smoothed RTT give what the other form gives.

use units::{Rate, Span, Time};

use crate::explicit::xcp::{XcpHeader, XcpRouterParams, XcpSender, XcpSenderParams};
use crate::explicit::xcp_common::{LARGEST_FEEDBACK, Meter, Shares, believed, charge};
use crate::registry::AnyHeader;
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Feedback, Header, Loss, Passing, Receiver, Router,
    RouterContext, Sender, SenderContext, Service, Variable, Verdict,
};

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

impl DivisionFreeHeader {
    #[inline]
    fn has_estimate(&self) -> bool {
        (1e-9..=1e4).contains(&self.rtt)
            && (1e-18..=1e18).contains(&self.a)
            && self.feedback >= -LARGEST_FEEDBACK
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

    #[inline]
    fn wrap(self) -> AnyHeader {
        AnyHeader::DivisionFree(self)
    }

    #[inline]
    fn open(any: &mut AnyHeader) -> Option<&mut DivisionFreeHeader> {
        match any {
            AnyHeader::DivisionFree(header) => Some(header),
            _ => None,
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct DivisionFreeRouter {
    params: XcpRouterParams,
    meter: Meter,
    phi: f64,
    h: f64,
    shares: Shares,
}

impl Router for DivisionFreeRouter {
    type Params = XcpRouterParams;
    type Header = DivisionFreeHeader;

    fn new(params: &XcpRouterParams, context: &RouterContext) -> DivisionFreeRouter {
        let capacity = believed(context.capacity, params.capacity_error);
        let shortest = (params.min_interval, params.min_queue_window);
        let meter = Meter::new(capacity, params.initial_interval, shortest, params.max_rtt);
        let (shares, params) = (Shares::default(), params.clone());
        DivisionFreeRouter { params, meter, phi: 0.0, h: 0.0, shares }
    }

    fn service(params: &XcpRouterParams) -> Service {
        if params.acks_first { Service::AcksFirst } else { Service::Fifo }
    }

    #[inline]
    fn on_arrival(
        &mut self,
        _now: Time,
        packet: Passing<'_, DivisionFreeHeader>,
        backlog: Backlog,
    ) -> Verdict {
        self.meter.arrive(f64::from(packet.size), backlog);
        if let Some(header) = packet.header
            && header.has_estimate()
        {
            self.meter.sample(header.rtt, header.a);
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(
        &mut self,
        _now: Time,
        packet: Passing<'_, DivisionFreeHeader>,
        _backlog: Backlog,
    ) {
        let Some(header) = packet.header else { return };
        if !header.has_estimate() {
            header.feedback = header.feedback.min(0.0);
            return;
        }
        let size = f64::from(packet.size);
        let (pos, neg) = self.shares.offer(header.a, size, self.params.overdraw);
        let paid = if header.feedback >= pos - neg {
            header.feedback = pos - neg;
            (pos, neg)
        } else {
            charge(header.feedback, pos - neg)
        };
        self.shares.pay(paid);
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        let XcpRouterParams { alpha, beta, gamma, target_queue, .. } = self.params;
        let meter = &mut self.meter;
        if now >= meter.window_end {
            meter.end_queue_window(
                now,
                backlog,
                (self.params.queue_window, self.params.min_queue_window),
            );
        }
        if now >= meter.interval_end {
            meter.measure(now);
            let d = meter.avg_rtt;
            self.phi = meter.phi(alpha, beta, target_queue);
            self.h = (gamma * meter.y * d - self.phi.abs()).max(0.0);
            let handed = (self.phi.max(0.0) + self.h, (-self.phi).max(0.0) + self.h);
            self.shares = Shares::new(
                handed,
                d,
                meter.sum_rtt_by_cwnd,
                meter.input_traffic,
                self.params.xi_scale,
            );
            meter.restart(now, self.params.min_interval);
        }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.capacity = believed(capacity, self.params.capacity_error);
    }

    fn retune(&mut self, params: &XcpRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.meter.capacity = believed(context.capacity, params.capacity_error);
        self.meter.max_rtt = params.max_rtt.as_secs();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of the flows' windows that is handed out, eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        Variable::new("xi_p", "", "scale of what every flow gets, eq. (6)"),
        Variable::new("xi_n", "", "scale of what every flow gives, eq. (9)"),
        Variable::new("persistent_queue", "bytes", "Q, the queue that does not drain"),
        Variable::new("avg_rtt", "s", "d, the flows' mean RTT and the control interval"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("h", self.h);
        sink("xi_p", self.shares.xi_p);
        sink("xi_n", self.shares.xi_n);
        sink("persistent_queue", self.meter.persistent_queue);
        sink("avg_rtt", self.meter.avg_rtt);
    }
}

/// The receiver's part: the header as it came, with the sum of the feedback that one ACK answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct DivisionFreeReceiver;

impl Receiver for DivisionFreeReceiver {
    type Header = DivisionFreeHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<DivisionFreeHeader>) -> Feedback<DivisionFreeHeader> {
        let mut header = data.header;
        if let Some(pending) = &data.pending {
            header.feedback += pending.header.feedback;
        }
        Feedback { header, code: data.ecn }
    }
}

/// The end host's part: XCP's with the division.
#[derive(Clone, Debug)]
pub struct DivisionFreeSender(XcpSender);

impl Sender for DivisionFreeSender {
    type Params = XcpSenderParams;
    type Header = DivisionFreeHeader;
    type Receiver = DivisionFreeReceiver;

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
        self.0.take(XcpHeader { cwnd: self.0.window(), rtt: ack.header.rtt, feedback });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explicit::xcp::XcpRouter;
    use crate::roles::Ecn;
    use crate::tests::{ack, departing, ms, near, router_context, sender_context};

    const SRTT: Span = Span::from_millis(80);

    /// The same packets through both forms: senders of several windows, a router that is underloaded,
    /// one that is overloaded, one before that asks for less. Feedback is equal to nine digits.
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
}
