//! XCP in the core of a network: Katabi, Handley, Rohrs, "Congestion control for high
//! bandwidth-delay product networks", SIGCOMM 2002, section 8.1.
//!
//! Border routers map what crosses the core onto macro-flows, one for each pair of ingress and
//! egress (islands); this is the macro-flows' protocol and the core's router. Packets bear no
//! congestion header: once per RTT the ingress sends the macro-flow's window and RTT and how many
//! bytes it has released since, and routers take those bytes for the size of the packet in XCP's
//! formulas ([`super::xcp`]). The ingress writes its window over the number of flows that the
//! macro-flow carries, so that macro-flows get rates in proportion to that number (section 6).
//!
//! ```math
//! H_cwnd = cwnd/n                                 stated by a macro-flow of n flows, once per RTT
//! xi_p = (h + max(phi, 0))/(d*sum(rtt*b/H_cwnd))  b: the bytes that a control packet speaks of
//! xi_n = (h + max(-phi, 0))/(d*sum(b))            D3; phi and h are XCP's
//! feedback = xi_p*rtt^2*b/H_cwnd - xi_n*rtt*b     of a control packet
//! cwnd <- max(cwnd + feedback, s)                 when it comes back
//! ```
//!
//! Deviations: D1 to D6 and R1 of [`super::xcp`], and
//! - D10: a control packet is a data packet with a header, not one of its own; it costs no more
//!   than its place in the outer header, which every packet has.
//! - D11: H_rtt is the smoothed time from ingress to egress and back, queues in it. The paper has
//!   the propagation delay.
//! - D12: eq. (9)'s scale is taken over the bytes that control packets speak of, which are those
//!   that will pay, in place of the input traffic.
//! - D13: before its first RTT a macro-flow sends a header with each packet.
//! - D14: what a lost control packet spoke of is lost.

use units::{Span, Time};

use super::controlled::{
    Congestion, Controlled, INPUT, Law, Meter, QUEUE, Stated, XcpRouterParams,
};
use super::xcp::{Xcp, XcpHeader, XcpSender, XcpSenderParams};
use crate::roles::{
    Ack, Departing, Echo, Header, Loss, RouterContext, Sender, SenderContext, Variable,
};

/// What a control packet says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, packed(4))] // as iXCP's: no larger in memory than others
pub struct XcpCoreHeader {
    /// H_cwnd, the macro-flow's window over the number of its flows [bytes].
    pub cwnd: f64,
    /// H_feedback, the change of window asked for, then granted [bytes].
    pub feedback: f64,
    /// H_rtt, from ingress to egress and back [s]; 0 before the first.
    pub rtt: f32,
    /// Released since the last control packet, with this one [bytes]; 0: it is none.
    pub bytes: u32,
}

impl XcpCoreHeader {
    /// XCP's part.
    fn xcp(&self) -> XcpHeader {
        XcpHeader { cwnd: self.cwnd, rtt: f64::from(self.rtt), feedback: self.feedback }
    }
}

params! {
    /// The router's parameters.
    pub struct XcpCoreRouterParams {
        /// XCP's.
        xcp: XcpRouterParams;
    }
}

/// The law: XCP's, for control packets.
#[derive(Clone, Debug, Default)]
pub struct XcpCore {
    xcp: Xcp,
    /// What the control packets of the running interval spoke of [bytes].
    told: f64,
}

/// The router's part.
pub type XcpCoreRouter = Controlled<XcpCore>;

impl Law for XcpCore {
    type Params = XcpCoreRouterParams;
    type Header = XcpCoreHeader;

    fn common(params: &XcpCoreRouterParams) -> &XcpRouterParams {
        &params.xcp
    }

    fn new(_: &RouterContext) -> XcpCore {
        XcpCore::default()
    }

    #[inline]
    fn sample(&mut self, _: &XcpCoreRouterParams, _: &XcpCoreHeader, stated: &Stated) {
        self.told += stated.size;
    }

    /// With D12.
    fn decide(&mut self, params: &XcpCoreRouterParams, meter: &Meter) {
        self.xcp = Xcp::of(&params.xcp, meter, (meter.sum_rtt_by_cwnd, self.told));
        self.told = 0.0;
    }

    #[inline]
    fn answer(
        &mut self,
        params: &XcpCoreRouterParams,
        header: &mut XcpCoreHeader,
        stated: &Stated,
    ) {
        let offer = self.xcp.shares.offer(stated.terms(), params.xcp.overdraw);
        header.feedback = self.xcp.shares.answer(stated.rtt, header.feedback, offer);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of the macro-flows' windows together, eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between them, eq. (2)"),
        Variable::new("xi_p", "", "scale of what each gets; 0 when residue_pos is spent"),
        Variable::new("xi_n", "", "scale of what each gives; 0 when residue_neg is spent"),
        QUEUE,
        Variable::new("avg_rtt", "s", "d, the mean RTT of flows and the control interval"),
        INPUT,
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.xcp.phi);
        sink("h", self.xcp.h);
        sink("xi_p", self.xcp.shares.xi_p);
        sink("xi_n", self.xcp.shares.xi_n);
        meter.probe(sink);
    }
}

params! {
    /// The parameters of a macro-flow's ingress.
    pub struct XcpCoreParams {
        /// XCP's.
        xcp: XcpSenderParams;
        /// Do macro-flows get rates in proportion to the number of flows that they carry (section
        /// 8.1)?
        weighted: bool = true;
        /// Control packets per RTT.
        per_rtt: f64 = 1.0 => (0.1, 1000.0);
    }
}

/// The ingress's part.
#[derive(Clone, Debug)]
pub struct XcpCoreSender {
    xcp: XcpSender,
    per_rtt: f64,
    weighted: bool,
    /// How many flows it carries.
    flows: f64,
    /// Released since the last control packet [bytes].
    released: u32,
    /// When the next control packet is due.
    next: Time,
}

impl Sender for XcpCoreSender {
    type Params = XcpCoreParams;
    type Header = XcpCoreHeader;
    type Receiver = Echo<XcpCoreHeader>;

    fn new(params: &XcpCoreParams, context: &SenderContext) -> XcpCoreSender {
        XcpCoreSender {
            xcp: XcpSender::new(&params.xcp, context),
            per_rtt: params.per_rtt,
            weighted: params.weighted,
            flows: 1.0,
            released: 0,
            next: Time::ZERO,
        }
    }

    fn carries(&mut self, flows: u32) {
        if self.weighted {
            self.flows = f64::from(flows.max(1));
        }
    }

    fn on_send(&mut self, segment: &Departing) -> XcpCoreHeader {
        self.released = self.released.saturating_add(segment.size);
        if segment.now < self.next {
            return XcpCoreHeader::default();
        }
        let XcpHeader { cwnd, rtt, feedback } = self.xcp.on_send(segment);
        let bytes = core::mem::take(&mut self.released);
        if let Some(srtt) = segment.srtt {
            self.next = segment.now + Span::from_secs_f64(srtt.as_secs() / self.per_rtt);
        }
        // XCP spreads what it wants over the packets of a window; this one speaks for several.
        let feedback = feedback * (f64::from(bytes) / f64::from(segment.size));
        XcpCoreHeader { cwnd: cwnd / self.flows, feedback, rtt: rtt as f32, bytes }
    }

    fn on_ack(&mut self, ack: &Ack<XcpCoreHeader>) {
        if ack.header.bytes > 0 {
            self.xcp.take(ack.header.xcp());
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.xcp.on_loss(loss);
    }

    fn cwnd(&self) -> f64 {
        self.xcp.cwnd()
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("h_cwnd", "bytes", "window in the last control packet that came back"),
        Variable::new("h_rtt", "s", "RTT in the last control packet that came back"),
        Variable::new("h_feedback", "bytes", "change of window in it"),
        Variable::new("flows", "", "flows that it carries, if their number counts"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.xcp.probe(sink);
        sink("flows", self.flows);
    }
}

impl Congestion for XcpCoreHeader {
    /// Of the bytes that it speaks of, whatever the packet's size.
    #[inline]
    fn stated(&self, _size: f64) -> Option<Stated> {
        if self.bytes > 0 { self.xcp().stated(f64::from(self.bytes)) } else { None }
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

impl Header for XcpCoreHeader {
    /// H_cwnd and H_feedback as IEEE 754 doubles, H_rtt as a single, and the bytes in 32 bits, all
    /// big-endian.
    const WIRE_BYTES: usize = 24;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_cwnd", "bytes", "the macro-flow's window over the number of its flows"),
        Variable::new("h_rtt", "s", "from ingress to egress and back; 0 before the first"),
        Variable::new("h_feedback", "bytes", "change of window asked for, then granted"),
        Variable::new("h_bytes", "bytes", "released since the last control packet; 0: none"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_cwnd", self.cwnd);
        sink("h_rtt", f64::from(self.rtt));
        sink("h_feedback", self.feedback);
        sink("h_bytes", f64::from(self.bytes));
    }

    fn encode(&self, wire: &mut [u8]) {
        let &XcpCoreHeader { cwnd, feedback, rtt, bytes } = self;
        wire[..8].copy_from_slice(&cwnd.to_be_bytes());
        wire[8..16].copy_from_slice(&feedback.to_be_bytes());
        wire[16..20].copy_from_slice(&rtt.to_be_bytes());
        wire[20..24].copy_from_slice(&bytes.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<XcpCoreHeader> {
        let cwnd = f64::from_be_bytes(wire.get(..8)?.try_into().ok()?);
        let feedback = f64::from_be_bytes(wire.get(8..16)?.try_into().ok()?);
        let rtt = f32::from_be_bytes(wire.get(16..20)?.try_into().ok()?);
        let bytes = u32::from_be_bytes(wire.get(20..24)?.try_into().ok()?);
        let sane = !(cwnd.is_nan() || feedback.is_nan() || rtt.is_nan());
        sane.then_some(XcpCoreHeader { cwnd, feedback, rtt, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    use crate::roles::{Backlog, Ecn, Passing, Router};
    use crate::tests::{ack as plain_ack, departing, ms, near, router_context, sender_context};

    /// A control packet of a macro-flow at 100 ms that speaks of so many bytes.
    fn control(bytes: u32, cwnd: f64) -> XcpCoreHeader {
        XcpCoreHeader { cwnd, feedback: f64::INFINITY, rtt: 0.125, bytes }
    }

    fn pass(router: &mut XcpCoreRouter, mut header: XcpCoreHeader, departs: bool) -> XcpCoreHeader {
        let mut ecn = Ecn::NotCapable;
        let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
        if departs {
            router.on_departure(ms(60), packet, Backlog::default());
        } else {
            router.on_arrival(ms(1), packet, Backlog::default());
        }
        header
    }

    /// 10 Mb/s, C = 1.25e6 B/s. In 50 ms come 50 packets of 1000 B, y = 1e6; the control packets
    /// among them, of macro-flows of one flow and of three, speak of 20 000 and 30 000 B.
    fn router() -> XcpCoreRouter {
        let xcp = XcpRouterParams { alpha: 0.08, ..Default::default() };
        let params = XcpCoreRouterParams { xcp };
        let mut router = XcpCoreRouter::new(&params, &router_context(Rate(10_000_000), 100));
        for _ in 0..48 {
            pass(&mut router, XcpCoreHeader::default(), false);
        }
        pass(&mut router, control(20_000, 20_000.0), false);
        pass(&mut router, control(30_000, 10_000.0), false);
        router.on_timer(ms(50), Backlog::default());
        router
    }

    #[test]
    fn a_control_packet_stands_for_all_that_was_released() {
        let mut r = router();
        // sum rtt*s/cwnd = 0.125*(1 + 3) = 0.5: four flows. phi = 0.08*0.125*250 000 = 2500,
        // h = 0.1*1e6*0.125 - 2500 = 10 000.
        assert!(near(r.meter.y, 1e6) && near(r.meter.avg_rtt, 0.125));
        assert!(near(r.law.xcp.phi, 2500.0) && near(r.law.xcp.h, 10_000.0));
        // xi_p = 12 500/(0.125*0.5) = 200 000, xi_n = 10 000/(0.125*50 000) = 1.6.
        assert!(near(r.law.xcp.shares.xi_p, 200_000.0) && near(r.law.xcp.shares.xi_n, 1.6));
        // One flow: 0.125*(200 000*0.125 - 1.6*20 000) = -875; three: 0.125*(75 000 -
        // 48 000) = 3375. Together phi.
        let one = pass(&mut r, control(20_000, 20_000.0), true);
        let three = pass(&mut r, control(30_000, 10_000.0), true);
        assert!(near(one.feedback, -875.0) && near(three.feedback, 3375.0));
    }

    #[test]
    fn other_packets_pass_untouched() {
        let mut r = router();
        let before = r.law.xcp.shares;
        assert_eq!(pass(&mut r, XcpCoreHeader::default(), true), XcpCoreHeader::default());
        assert_eq!(r.law.xcp.shares, before);
        let first = pass(&mut r, XcpCoreHeader { rtt: 0.0, ..control(1000, 1000.0) }, true);
        assert_eq!({ first.feedback }, 0.0);
    }

    fn sender() -> XcpCoreSender {
        XcpCoreSender::new(&XcpCoreParams::default(), &sender_context(10.0))
    }

    fn send(sender: &mut XcpCoreSender, now: u64) -> XcpCoreHeader {
        let srtt = Some(Span::from_millis(125));
        sender.on_send(&Departing { now: ms(now), srtt, ..departing() })
    }

    #[test]
    fn the_ingress_speaks_once_per_rtt() {
        let mut s = sender();
        s.carries(4);
        assert_eq!(send(&mut s, 10), control(1000, 2500.0));
        for now in [20, 60, 134] {
            assert_eq!(send(&mut s, now), XcpCoreHeader::default());
        }
        assert_eq!({ send(&mut s, 135).bytes }, 4000);
    }

    /// 1.6 Mb/s is 200 kB/s, 25 000 B in 125 ms, 15 000 more than the window of 10 000: in all, for
    /// a control packet after a whole window, not a tenth. After 3 packets it is three tenths.
    #[test]
    fn a_control_packet_asks_for_all_that_was_released() {
        for (packets, wanted) in [(10, 15_000.0), (3, 4500.0)] {
            let xcp = XcpSenderParams { rate: 1.6e6, ..Default::default() };
            let params = XcpCoreParams { xcp, ..Default::default() };
            let mut s = XcpCoreSender::new(&params, &sender_context(10.0));
            send(&mut s, 10);
            for i in 1..packets {
                send(&mut s, 10 + i);
            }
            let header = send(&mut s, 135);
            assert!(header.bytes == 1000 * packets as u32 && near(header.feedback, wanted));
        }
    }

    #[test]
    fn only_control_packets_move_the_window() {
        let mut s = sender();
        let mut ack = |header| {
            s.on_ack(&Ack { header, ..plain_ack(1) });
            s.cwnd()
        };
        assert_eq!(ack(XcpCoreHeader { feedback: 5000.0, ..control(9000, 1000.0) }), 15.0);
        assert_eq!(ack(XcpCoreHeader { feedback: 5000.0, ..XcpCoreHeader::default() }), 15.0);
    }

    #[test]
    fn weights_may_be_off() {
        let params = XcpCoreParams { weighted: false, ..Default::default() };
        let mut s = XcpCoreSender::new(&params, &sender_context(10.0));
        s.carries(4);
        assert_eq!({ send(&mut s, 10).cwnd }, 10_000.0);
    }

    #[test]
    fn the_wire_form_has_no_gaps() {
        let header = XcpCoreHeader { cwnd: 1.0, feedback: -2.0, rtt: 0.0625, bytes: 258 };
        let mut wire = [0; 24];
        header.encode(&mut wire);
        assert_eq!(wire[..8], [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(wire[8..], [0xc0, 0, 0, 0, 0, 0, 0, 0, 0x3d, 0x80, 0, 0, 0, 0, 1, 2]);
        assert_eq!(XcpCoreHeader::decode(&wire), Some(header));
    }

    /// Two control packets per RTT of 125 ms: the second is due 62.5 ms after the first.
    #[test]
    fn an_rtt_may_have_several_control_packets() {
        let params = XcpCoreParams { per_rtt: 2.0, ..Default::default() };
        let mut s = XcpCoreSender::new(&params, &sender_context(10.0));
        let spoke = [10, 72, 73, 135, 136].map(|now| send(&mut s, now).bytes);
        assert_eq!(spoke, [1000, 0, 2000, 0, 2000]);
    }
}
