//! XCP. Katabi, Handley, Rohrs, "Congestion control for high bandwidth-delay product networks",
//! SIGCOMM 2002, section 3 and appendix A.
//!
//! Every packet tells the routers its flow's window and RTT; every router writes into it how much
//! the window shall change. Once per mean RTT a router finds the aggregate change phi from the
//! spare bandwidth and the queue that does not drain (efficiency), and hands phi out packet by
//! packet: increases equal per flow, decreases proportional to rate, with a tenth of the traffic
//! shuffled all the time (fairness). The sender adds what comes back; it never slow-starts.
//!
//! Deviations:
//! - D1: the first packet of a flow (H_rtt = 0) asks for the largest value, gets min(feedback, 0),
//!   enters no rtt sum and touches no residue: the paper gives no formula that works without an RTT.
//! - D2: a sender that gets the largest value back ignores it: no XCP router was on the path.
//! - D3: a header out of range (a cwnd or rtt that no flow can have, feedback not a number or below
//!   what the wire can hold) counts as one without an RTT estimate.
//! - D4: the spare bandwidth and the shuffled traffic are taken over the real length T of the
//!   interval, and h = max(0, gamma*y*d - |phi|) as in eq. (2), not 0.1*y as in the appendix.
//! - D5: the window of the persistent queue ends before the control interval when both end together.
//! - D6: d enters the formulas as measured; only the length of the interval has a lower bound.
//! - D7: H_cwnd = 0 is an offer to speak XCP (section 8.2, [`super::xcp_friendly`]): each router adds one
//!   unit of the wire to its H_rtt.
//! - D8: a packet gets no more than is left of an interval's feedback, as in the authors' ns-2 code; appendix A
//!   gives the last one all of its share (`overdraw = true`).
//! - D9: `queue_window` and `xi_scale` are the same code's, `max_rtt` is ns-2.35's; of these the paper is the
//!   default.
//!
//! Reconstructed:
//! - R1: the interval before the first estimate (50 ms), the shortest interval (1 ms) and the
//!   shortest window of the persistent queue (2 ms).

use units::{Rate, Span, Time, math};

use crate::explicit::xcp_common::{
    FEEDBACK_UNITS, LARGEST_FEEDBACK, Meter, Shares, believed, has_estimate,
};
use crate::registry::AnyHeader;
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Feedback, Header, Loss, LossKind, Passing, Receiver, Router,
    RouterContext, Sender, SenderContext, Service, Variable, Verdict,
};

/// The parameters of XCP's router, and what a relative's router has besides.
macro_rules! xcp_router_params {
    ($(#[$meta:meta])* pub struct $name:ident { $($more:tt)* }
        $( presets { $($presets:tt)* } )?
    ) => { params! {
    $(#[$meta])*
    pub struct $name {
        /// alpha, share of the spare bandwidth handed out per interval; stable below
        /// pi/(4*sqrt(2)) = 0.555 (sections 3.5.1 and 4).
        alpha: f64 = 0.4 => (0.0, 10.0);
        /// beta, share of the persistent queue drained per interval; alpha^2*sqrt(2) is the stable
        /// choice (sections 3.5.1 and 4).
        beta: f64 = 0.226 => (0.0, 10.0);
        /// gamma, share of the traffic shuffled per interval (eq. 2).
        gamma: f64 = 0.1 => (0.0, 1.0);
        /// q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2).
        target_queue: f64 = 0.0 => (0.0, 1e12);
        /// Length of the control interval before the first estimate of the mean RTT.
        initial_interval: Span = Span::from_millis(50) => (1e-6, 100.0);
        /// Shortest control interval.
        min_interval: Span = Span::from_millis(1) => (1e-6, 100.0);
        /// Shortest window over which the persistent queue is the minimum.
        min_queue_window: Span = Span::from_millis(2) => (1e-6, 100.0);
        /// The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
        /// half in the authors' code.
        queue_window: f64 = 1.0 => (0.01, 1.0);
        /// What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets arrive
        /// than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code.
        xi_scale: f64 = 1.0 => (1.0, 10.0);
        /// Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the authors'
        /// code of 2002.
        max_rtt: Span = Span::from_secs(10_000) => (1e-6, 1e4);
        /// Are ACKs served before data?
        acks_first: bool = false;
        /// May one packet get more feedback than is left for the interval? Appendix A as printed says
        /// yes, the authors' code (ns-2's XCP queue) no.
        overdraw: bool = false;
        /// e: the router takes its capacity for C*(1 + e), as one that shares its medium may.
        capacity_error: f64 = 0.0 => (-0.99, 10.0);
        $($more)*
    }
    $( presets { $($presets)* } )?
    } };
}
pub(super) use xcp_router_params;

xcp_router_params! {
    /// The router's parameters.
    pub struct XcpRouterParams {}
}

choice! {
    /// What a sender writes into H_cwnd.
    pub enum HeaderCwnd {
        /// The real-valued window.
        Real = "real",
        /// The window rounded down to whole packets, as it is sent.
        Floor = "floor",
    }
}

choice! {
    /// What a loss is taken for.
    pub enum Losses {
        /// Congestion: every loss cuts the window as Reno's does.
        Congestion = "congestion",
        /// An error of the line, and no cut, if the feedback before and after it is an increase; a
        /// timeout cuts always.
        Explicit = "explicit",
    }
}

/// The parameters of XCP's sender, and what a relative's sender has besides.
macro_rules! xcp_sender_params {
    ($(#[$meta:meta])* pub struct $name:ident { $($more:tt)* }) => { params! {
    $(#[$meta])*
    pub struct $name {
        /// H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2).
        header_cwnd: HeaderCwnd = HeaderCwnd::Real;
        /// r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3).
        rate: f64 = 0.0 => (0.0, 1e15);
        /// The sender writes cwnd/price; rates become proportional to the price (section 6).
        price: f64 = 1.0 => (0.001, 1000.0);
        /// Is a loss between two increases taken for one of the line (section 1)?
        losses: Losses = Losses::Congestion;
        $($more)*
    }
    } };
}
pub(super) use xcp_sender_params;

xcp_sender_params! {
    /// The sender's parameters.
    pub struct XcpSenderParams {}
}

/// The congestion header (figure 1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpHeader {
    /// H_cwnd, the sender's window [bytes].
    pub cwnd: f64,
    /// H_rtt, the sender's RTT estimate [s]; 0 before the first.
    pub rtt: f64,
    /// H_feedback, the change of window asked for, then granted [bytes].
    pub feedback: f64,
}

/// Wire units per second of H_rtt.
const RTT_UNITS: f64 = 1e6;

impl XcpHeader {
    /// Are all fields in the range that the formulas are made for? Not without an RTT (D1, D3).
    #[inline]
    pub(super) fn has_estimate(&self) -> bool {
        has_estimate(self.cwnd, self.rtt, self.feedback)
    }

    /// What a router makes of a header without an estimate (D1), and of an offer (D7).
    #[cold]
    pub(super) fn pass_without_estimate(&mut self) {
        if self.cwnd == 0.0 {
            self.rtt += 1.0 / RTT_UNITS;
        } else {
            self.feedback = self.feedback.min(0.0);
        }
    }

    /// How many routers have passed an offer; any number for another header.
    pub(super) fn routers(&self) -> u32 {
        (self.rtt * RTT_UNITS + 0.5) as u32
    }
}

impl Header for XcpHeader {
    /// Big-endian: H_rtt [us] in 32 bits, H_cwnd [bytes] in 32 bits, H_feedback [2^-16 bytes] in 64
    /// bits, signed; all saturate, and the largest feedback stands for infinity.
    const WIRE_BYTES: usize = 16;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_cwnd", "bytes", "the sender's window when it sent the packet"),
        Variable::new("h_rtt", "s", "the sender's RTT estimate then; 0 before the first"),
        Variable::new("h_feedback", "bytes", "change of window asked for, then granted"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_cwnd", self.cwnd);
        sink("h_rtt", self.rtt);
        sink("h_feedback", self.feedback);
    }

    fn encode(&self, wire: &mut [u8]) {
        // Float-to-integer casts saturate. An estimate never rounds to "no estimate".
        let rtt = ((self.rtt * RTT_UNITS + 0.5) as u32).max(u32::from(self.rtt > 0.0));
        let cwnd = ((self.cwnd + 0.5) as u32).max(u32::from(self.cwnd > 0.0));
        // From 2^52 units on there are no halves, and adding one would round to even.
        let units = self.feedback * FEEDBACK_UNITS;
        let half = if units.abs() < 4_503_599_627_370_496.0 { 0.5 } else { 0.0 };
        let feedback = math::floor(units + half) as i64;
        wire[..4].copy_from_slice(&rtt.to_be_bytes());
        wire[4..8].copy_from_slice(&cwnd.to_be_bytes());
        wire[8..16].copy_from_slice(&feedback.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<XcpHeader> {
        let rtt = u32::from_be_bytes(wire.get(..4)?.try_into().ok()?);
        let cwnd = u32::from_be_bytes(wire.get(4..8)?.try_into().ok()?);
        let feedback = i64::from_be_bytes(wire.get(8..16)?.try_into().ok()?);
        let feedback = match feedback {
            i64::MAX => f64::INFINITY,
            units => units as f64 / FEEDBACK_UNITS,
        };
        Some(XcpHeader { cwnd: f64::from(cwnd), rtt: f64::from(rtt) / RTT_UNITS, feedback })
    }

    #[inline]
    fn wrap(self) -> AnyHeader {
        AnyHeader::Xcp(self)
    }

    #[inline]
    fn open(any: &mut AnyHeader) -> Option<&mut XcpHeader> {
        match any {
            AnyHeader::Xcp(header) => Some(header),
            _ => None,
        }
    }
}

/// The router's part: the efficiency and the fairness controller of one output link.
#[derive(Clone, Debug)]
pub struct XcpRouter {
    params: XcpRouterParams,
    meter: Meter,
    // The outcome of the last interval, by the paper's names.
    phi: f64,
    h: f64,
    shares: Shares,
}

impl XcpRouter {
    /// When the running control interval ends.
    pub(super) fn interval_end(&self) -> Time {
        self.meter.interval_end
    }

    /// The control decision (appendix A, "on estimation-control timeout").
    fn end_interval(&mut self, now: Time) {
        let XcpRouterParams { alpha, beta, gamma, target_queue, .. } = self.params;
        let meter = &mut self.meter;
        meter.measure(now);
        let d = meter.avg_rtt;
        self.phi = meter.phi(alpha, beta, target_queue);
        self.h = (gamma * meter.y * d - self.phi.abs()).max(0.0); // eq. (2)
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

impl Router for XcpRouter {
    type Params = XcpRouterParams;
    type Header = XcpHeader;

    fn new(params: &XcpRouterParams, context: &RouterContext) -> XcpRouter {
        let capacity = believed(context.capacity, params.capacity_error);
        let shortest = (params.min_interval, params.min_queue_window);
        XcpRouter {
            meter: Meter::new(capacity, params.initial_interval, shortest, params.max_rtt),
            phi: 0.0,
            h: 0.0,
            shares: Shares::default(),
            params: params.clone(),
        }
    }

    fn service(params: &XcpRouterParams) -> Service {
        if params.acks_first { Service::AcksFirst } else { Service::Fifo }
    }

    #[inline]
    fn on_arrival(
        &mut self,
        _now: Time,
        packet: Passing<'_, XcpHeader>,
        backlog: Backlog,
    ) -> Verdict {
        let size = f64::from(packet.size);
        self.meter.arrive(size, backlog);
        if let Some(header) = packet.header
            && header.has_estimate()
        {
            self.meter.sample(header.rtt, header.rtt * size / header.cwnd);
        }
        Verdict::Forward
    }

    #[inline(always)] // as long as a call, and called for every packet
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, XcpHeader>, _backlog: Backlog) {
        let Some(header) = packet.header else { return };
        if !header.has_estimate() {
            header.pass_without_estimate();
            return;
        }
        let size = f64::from(packet.size);
        let rtt_by_cwnd = header.rtt * size / header.cwnd;
        let offer = self.shares.offer(rtt_by_cwnd, size, self.params.overdraw);
        header.feedback = self.shares.answer(header.rtt, header.feedback, offer);
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if now >= self.meter.window_end {
            self.meter.end_queue_window(
                now,
                backlog,
                (self.params.queue_window, self.params.min_queue_window),
            );
        }
        if now >= self.meter.interval_end {
            self.end_interval(now);
        }
    }

    /// The running interval ends as planned; its spare bandwidth is taken from the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.capacity = believed(capacity, self.params.capacity_error);
    }

    fn retune(&mut self, params: &XcpRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.meter.capacity = believed(context.capacity, params.capacity_error);
        self.meter.max_rtt = params.max_rtt.as_secs();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new(
            "phi",
            "bytes",
            "change of the flows' windows together that is handed out, eq. (1)",
        ),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        Variable::new(
            "xi_p",
            "",
            "scale of what every flow gets, eq. (6); 0 when residue_pos is spent",
        ),
        Variable::new(
            "xi_n",
            "",
            "scale of what every flow gives, eq. (9); 0 when residue_neg is spent",
        ),
        Variable::new("residue_pos", "bytes/s", "what may still be given in this interval"),
        Variable::new("residue_neg", "bytes/s", "what must still be taken in this interval"),
        Variable::new(
            "persistent_queue",
            "bytes",
            "Q, the queue that did not drain in a propagation delay",
        ),
        Variable::new("avg_rtt", "s", "d, the flows' mean RTT and the control interval"),
        Variable::new("input_traffic", "bytes/s", "y, the rate of arrivals in the last interval"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("h", self.h);
        sink("xi_p", self.shares.xi_p);
        sink("xi_n", self.shares.xi_n);
        sink("residue_pos", self.shares.residue_pos);
        sink("residue_neg", self.shares.residue_neg);
        sink("persistent_queue", self.meter.persistent_queue);
        sink("avg_rtt", self.meter.avg_rtt);
        sink("input_traffic", self.meter.y);
    }
}

/// The receiver's part: the header as it came (section 3.3); an ACK that answers several packets
/// takes back the sum of their feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct XcpReceiver;

impl Receiver for XcpReceiver {
    type Header = XcpHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<XcpHeader>) -> Feedback<XcpHeader> {
        let mut header = data.header;
        if let Some(pending) = &data.pending {
            header.feedback += pending.header.feedback;
        }
        Feedback { header, code: data.ecn }
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct XcpSender {
    /// [bytes]
    cwnd: f64,
    /// The last header whose feedback was taken.
    seen: XcpHeader,
    /// s [bytes].
    packet: f64,
    /// r [bytes/s], `None` for an unlimited source.
    rate: Option<f64>,
    /// 1/price.
    by_price: f64,
    /// Feedback below this is taken at once: less than the largest value, and none while a loss waits
    /// for the feedback after it.
    at_once: f64,
    header_cwnd: HeaderCwnd,
    losses: Losses,
}

impl XcpSender {
    /// A header came back.
    #[inline(always)]
    pub(super) fn take(&mut self, header: XcpHeader) {
        if header.feedback < self.at_once {
            self.seen = header;
            self.cwnd = (self.cwnd + header.feedback).max(self.packet);
        } else {
            self.take_after_loss(header);
        }
    }

    /// The first feedback after a loss says what the loss was; the largest value says nothing.
    #[cold]
    fn take_after_loss(&mut self, header: XcpHeader) {
        if self.at_once < 0.0 && header.feedback < LARGEST_FEEDBACK {
            self.at_once = LARGEST_FEEDBACK;
            if header.feedback <= 0.0 {
                self.halve();
            }
            self.take(header);
        }
    }

    fn halve(&mut self) {
        self.cwnd = (self.cwnd / 2.0).max(self.packet);
    }

    /// The window [bytes].
    pub(super) fn window(&self) -> f64 {
        self.cwnd
    }

    /// The last header whose feedback was taken.
    pub(super) fn seen(&self) -> &XcpHeader {
        &self.seen
    }
}

impl Sender for XcpSender {
    type Params = XcpSenderParams;
    type Header = XcpHeader;
    type Receiver = XcpReceiver;

    const STEADY: bool = true;

    fn new(params: &XcpSenderParams, context: &SenderContext) -> XcpSender {
        let packet = f64::from(context.packet_bytes);
        XcpSender {
            cwnd: context.initial_window.max(1.0) * packet,
            seen: XcpHeader::default(),
            packet,
            rate: (params.rate > 0.0).then_some(params.rate / 8.0),
            by_price: 1.0 / params.price,
            at_once: LARGEST_FEEDBACK,
            header_cwnd: params.header_cwnd,
            losses: params.losses,
        }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> XcpHeader {
        let rtt = segment.srtt.map_or(0.0, Span::as_secs);
        let feedback = match self.rate {
            // The increase wanted, over the packets of a window (section 3.3).
            Some(rate) if rtt > 0.0 => (rate * rtt - self.cwnd) / (self.cwnd / self.packet),
            _ => f64::INFINITY,
        };
        let cwnd = match self.header_cwnd {
            HeaderCwnd::Real => self.cwnd,
            HeaderCwnd::Floor => math::floor(self.cwnd()) * self.packet,
        };
        XcpHeader { cwnd: cwnd * self.by_price, rtt, feedback }
    }

    #[inline(always)] // it would be a call, with all of the ACK in memory
    fn on_ack(&mut self, ack: &Ack<XcpHeader>) {
        self.take(ack.header);
    }

    fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::Timeout => (self.cwnd, self.at_once) = (self.packet, LARGEST_FEEDBACK),
            LossKind::DupAcks if self.losses == Losses::Explicit && self.seen.feedback > 0.0 => {
                self.at_once = f64::NEG_INFINITY;
            }
            LossKind::DupAcks | LossKind::EcnEcho => self.halve(),
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd / self.packet
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("h_cwnd", "bytes", "window in the last header that came back"),
        Variable::new("h_rtt", "s", "RTT estimate in the last header that came back"),
        Variable::new("h_feedback", "bytes", "change of window in the last header that came back"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd());
        self.seen.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::roles::{Ecn, Limit, PacketKind};
    use crate::tests::{departing, ms, near, router_context, sender_context};

    fn queued(bytes: u64) -> Backlog {
        Backlog { packets: u32::try_from(bytes / 1000).unwrap(), bytes }
    }

    fn context() -> RouterContext {
        RouterContext { limit: Limit::Bytes(100_000), ..router_context(Rate(10_000_000), 0) }
    }

    /// A router at 10 Mb/s: C = 1.25e6 bytes/s.
    fn router(params: &XcpRouterParams) -> XcpRouter {
        XcpRouter::new(params, &context())
    }

    fn demand(cwnd: f64, rtt: f64) -> XcpHeader {
        XcpHeader { cwnd, rtt, feedback: f64::INFINITY }
    }

    fn passing<'a>(header: Option<&'a mut XcpHeader>, ecn: &'a mut Ecn) -> Passing<'a, XcpHeader> {
        let kind = PacketKind::Data;
        Passing { flow: 0, size: 1000, kind, queued_for: Span::ZERO, ecn, header }
    }

    fn arrive(router: &mut XcpRouter, mut header: XcpHeader, queue: u64) {
        let mut ecn = Ecn::NotCapable;
        router.on_arrival(ms(1), passing(Some(&mut header), &mut ecn), queued(queue));
    }

    fn depart(router: &mut XcpRouter, mut header: XcpHeader) -> f64 {
        let mut ecn = Ecn::NotCapable;
        router.on_departure(ms(60), passing(Some(&mut header), &mut ecn), queued(0));
        header.feedback
    }

    /// Ten packets in the first 50 ms, each of cwnd 5000 B and rtt 100 ms, the queue never below
    /// 2000 B.
    fn underloaded() -> XcpRouter {
        let mut router = router(&XcpRouterParams::default());
        for i in 0..10 {
            arrive(&mut router, demand(5000.0, 0.1), if i == 4 { 2000 } else { 3000 });
        }
        router.on_timer(ms(50), queued(0));
        router
    }

    /// Eighty packets in the first 50 ms, each of cwnd 20 000 B and rtt 50 ms, queue 4000 B.
    fn overloaded() -> XcpRouter {
        let mut router = router(&XcpRouterParams::default());
        for _ in 0..80 {
            arrive(&mut router, demand(20_000.0, 0.05), 4000);
        }
        router.on_timer(ms(50), queued(0));
        router
    }

    #[test]
    fn spare_bandwidth_is_all_handed_out() {
        let mut router = underloaded();
        // y = 10 000 B / 50 ms = 200 000 B/s. sum rtt/cwnd = 10*0.1*1000/5000 = 0.2, sum rtt^2/cwnd
        // = 0.02, d = 0.1. phi = 0.4*0.1*(1 250 000 - 200 000) - 0.226*2000 = 42 000 - 452.
        assert!(near(router.meter.avg_rtt, 0.1) && near(router.meter.y, 200_000.0));
        assert!(near(router.phi, 41_548.0));
        // gamma*y*d = 2000 is below phi: nothing is shuffled.
        assert_eq!((router.h, router.shares.xi_n, router.shares.residue_neg), (0.0, 0.0, 0.0));
        // xi_p = 41 548/(0.1*0.2); residue_pos = 41 548/0.1.
        assert!(
            near(router.shares.xi_p, 2_077_400.0) && near(router.shares.residue_pos, 415_480.0)
        );
        assert_eq!(router.meter.interval_end, ms(150));
        // Each of ten identical packets of the next interval gets a tenth.
        for _ in 0..9 {
            assert!(near(depart(&mut router, demand(5000.0, 0.1)), 4154.8));
        }
        assert!(near(router.shares.residue_pos, 41_548.0));
    }

    #[test]
    fn overload_is_taken_back_and_shuffled() {
        let mut router = overloaded();
        // y = 80 000/0.05 = 1.6e6. sums 80*0.05*1000/20 000 = 0.2 and 0.01, d = 0.05.
        // phi = 0.4*0.05*(-350 000) - 0.226*4000 = -7000 - 904. h = 0.1*1.6e6*0.05 - 7904 = 96.
        assert!(near(router.phi, -7904.0) && near(router.h, 96.0));
        // xi_p = 96/(0.05*0.2), xi_n = 8000/(0.05*80 000); residues 96/0.05 and 8000/0.05.
        assert!(near(router.shares.xi_p, 9600.0) && near(router.shares.xi_n, 2.0));
        assert!(
            near(router.shares.residue_pos, 1920.0) && near(router.shares.residue_neg, 160_000.0)
        );
        // pos = 9600*0.05^2*1000/20 000 = 1.2, neg = 2*0.05*1000 = 100; 80 times -98.8 is phi.
        let handed: f64 = (0..80).map(|_| depart(&mut router, demand(20_000.0, 0.05))).sum();
        assert!((handed + 7904.0).abs() < 99.0, "{handed}");
        assert!(near(handed / 80.0, -98.8));
    }

    #[test]
    fn feedback_sums_to_phi_over_d_among_unequal_flows() {
        // 20 packets of (cwnd 10 000 B, rtt 40 ms) and 40 of (40 000 B, 160 ms) in 50 ms.
        let flows = [(20, 10_000.0, 0.04), (40, 40_000.0, 0.16)];
        let mut router = router(&XcpRouterParams::default());
        for (n, cwnd, rtt) in flows {
            (0..n).for_each(|_| arrive(&mut router, demand(cwnd, rtt), 0));
        }
        router.on_timer(ms(50), queued(0));
        // rtt*s/cwnd is 0.004 for both: sums 0.24 and 0.0032 + 0.0256 = 0.0288, d = 0.12.
        // y = 1.2e6, phi = 0.4*0.12*50 000 = 2400, h = 0.1*1.2e6*0.12 - 2400 = 12 000.
        assert!(
            near(router.meter.avg_rtt, 0.12)
                && near(router.phi, 2400.0)
                && near(router.h, 12_000.0)
        );
        let mut rate = 0.0;
        for (n, cwnd, rtt) in flows {
            (0..n - 1).for_each(|_| rate += depart(&mut router, demand(cwnd, rtt)) / rtt);
        }
        // pos/rtt = 14 400/(0.12*0.24)*0.004 = 2000, neg/rtt = 12 000/(0.12*60 000)*1000 = 5000/3:
        // 58 of 60 packets carry 58*1000/3 B/s of phi/d = 20 000 B/s.
        assert!(near(rate, 58_000.0 / 3.0));
    }

    #[test]
    fn smaller_feedback_from_before_stays_and_is_charged() {
        // f = 4154.8 at rtt 0.1, residues 415 480 and 0.
        let mut r = underloaded();
        let kept = depart(&mut r, XcpHeader { feedback: 1000.0, ..demand(5000.0, 0.1) });
        assert_eq!(kept, 1000.0);
        assert!(
            near(r.shares.residue_pos, 415_480.0 - 10_000.0)
                && near(r.shares.residue_neg, -31_548.0)
        );
        // Negative while this router would give: residue_neg pays both.
        let mut r = underloaded();
        assert_eq!(depart(&mut r, XcpHeader { feedback: -100.0, ..demand(5000.0, 0.1) }), -100.0);
        assert!(
            near(r.shares.residue_pos, 415_480.0) && near(r.shares.residue_neg, -1000.0 - 41_548.0)
        );
        // Negative while this router would take 98.8: residue_neg pays what is held, 200/0.05.
        let mut r = overloaded();
        assert_eq!(
            depart(&mut r, XcpHeader { feedback: -200.0, ..demand(20_000.0, 0.05) }),
            -200.0
        );
        assert!(near(r.shares.residue_pos, 1920.0) && near(r.shares.residue_neg, 156_000.0));
    }

    #[test]
    fn the_capacity_of_the_intervals_end_counts() {
        let mut router = router(&XcpRouterParams::default());
        for _ in 0..10 {
            arrive(&mut router, demand(5000.0, 0.1), 2000);
        }
        // C becomes 2.5e6 bytes/s: phi = 0.4*0.1*(2 500 000 - 200 000) - 0.226*2000.
        router.on_capacity(ms(20), Rate(20_000_000));
        let timer = router.next_timer();
        router.on_timer(ms(50), queued(0));
        assert!(near(router.phi, 91_548.0), "{}", router.phi);
        assert_eq!(timer, ms(50));
    }

    #[test]
    fn a_spent_residue_ends_its_feedback() {
        let mut router = overloaded();
        // Each packet costs 24 of residue_pos = 1920 and 2000 of residue_neg = 160 000.
        for _ in 0..82 {
            depart(&mut router, demand(20_000.0, 0.05));
        }
        assert_eq!((router.shares.xi_p, router.shares.xi_n), (0.0, 0.0));
        assert_eq!(depart(&mut router, demand(20_000.0, 0.05)), 0.0);
    }

    /// A flow of a tiny window that was not there in the last interval asks for more than there is.
    #[test]
    fn no_packet_gets_more_than_is_left() {
        // xi_p = 2 077 400, rtt*s/cwnd = 0.1*1000/100 = 1: 2 077 400 of residue_pos = 415 480.
        let mut limited = underloaded();
        let feedback = depart(&mut limited, demand(100.0, 0.1));
        assert!(near(feedback, 41_548.0), "rtt times what is left: {feedback}");
        assert_eq!((limited.shares.residue_pos, limited.shares.xi_p), (0.0, 0.0));
        let mut printed = underloaded();
        printed.params.overdraw = true;
        assert!(near(depart(&mut printed, demand(100.0, 0.1)), 207_740.0));
        assert_eq!(printed.shares.xi_p, 0.0);
    }

    #[test]
    fn a_packet_without_an_rtt_counts_as_traffic_only() {
        let mut router = router(&XcpRouterParams::default());
        arrive(&mut router, demand(1000.0, 0.0), 0);
        arrive(&mut router, XcpHeader { cwnd: 0.0, ..demand(0.0, 0.1) }, 0);
        let mut ecn = Ecn::NotCapable;
        router.on_arrival(ms(2), passing(None, &mut ecn), queued(0));
        router.on_timer(ms(50), queued(0));
        // d stays 50 ms: phi = 0.4*0.05*(1 250 000 - 60 000).
        assert!(
            near(router.meter.y, 60_000.0)
                && near(router.phi, 23_800.0)
                && near(router.meter.avg_rtt, 0.05)
        );
        assert_eq!(router.shares.xi_p, 0.0);
        let before = (router.shares.residue_pos, router.shares.residue_neg);
        assert_eq!(depart(&mut router, demand(1000.0, 0.0)), 0.0);
        assert_eq!(depart(&mut router, XcpHeader { feedback: -5.0, ..demand(1000.0, 0.0) }), -5.0);
        assert_eq!(before, (router.shares.residue_pos, router.shares.residue_neg));
    }

    #[test]
    fn the_persistent_queue_is_the_minimum_of_the_last_finished_window() {
        let mut router = underloaded();
        // avg_rtt was 50 ms when the window ended, nothing waited: the next one ends at 100 ms.
        assert_eq!((router.meter.persistent_queue, router.meter.window_end), (2000.0, ms(100)));
        for queue in [9000, 7000, 8000] {
            arrive(&mut router, demand(5000.0, 0.1), queue);
        }
        // 100 ms less 37 500 B / 1.25e6 B/s = 30 ms of queueing.
        router.on_timer(ms(100), queued(37_500));
        assert_eq!((router.meter.persistent_queue, router.meter.window_end), (7000.0, ms(170)));
        // Nothing arrived; 250 000 B are 200 ms, more than avg_rtt: the shortest window.
        router.on_timer(ms(170), queued(250_000));
        assert_eq!((router.meter.persistent_queue, router.meter.window_end), (0.0, ms(172)));
        // As the authors' code has it: half of 100 ms less 30 ms.
        let mut half = underloaded();
        half.params.queue_window = 0.5;
        half.on_timer(ms(100), queued(37_500));
        assert_eq!(half.meter.window_end, ms(135));
    }

    #[test]
    fn rtts_above_the_bound_count_as_it_in_the_mean() {
        let mut params = XcpRouterParams::default();
        params.set("max_rtt", crate::params::Value::Span(Span::from_millis(100))).unwrap();
        let mut told = router(&XcpRouterParams::default());
        told.retune(&params, &context());
        for mut router in [router(&params), told] {
            // As `feedback_sums_to_phi_over_d_among_unequal_flows`, but of 160 ms 100 count.
            (0..20).for_each(|_| arrive(&mut router, demand(10_000.0, 0.04), 0));
            (0..40).for_each(|_| arrive(&mut router, demand(40_000.0, 0.16), 0));
            router.on_timer(ms(50), queued(0));
            // Sums 0.24 and 0.0032 + 40*0.004*0.1 = 0.0192, d = 0.08. phi = 0.4*0.08*50 000 = 1600,
            // h = 0.1*1.2e6*0.08 - 1600 = 8000.
            assert!(near(router.meter.avg_rtt, 0.08));
            assert!(near(router.phi, 1600.0) && near(router.h, 8000.0));
            assert_eq!(router.meter.interval_end, ms(130));
            // xi_p = 9600/(0.08*0.24) = 500 000, xi_n = 8000/(0.08*60 000) = 5/3. Feedback is over the
            // RTT of the header all the same: 0.16*(500 000*0.004 - 1000*5/3).
            assert!(near(depart(&mut router, demand(40_000.0, 0.16)), 160.0 / 3.0));
        }
    }

    #[test]
    fn scaled_xi_hands_out_sooner_and_no_more() {
        let mut params = XcpRouterParams::default();
        params.set("xi_scale", crate::params::Value::Number(1.1)).unwrap();
        let mut router = router(&params);
        for _ in 0..80 {
            arrive(&mut router, demand(20_000.0, 0.05), 4000);
        }
        router.on_timer(ms(50), queued(0));
        // As `overloaded`, 9600 and 2 by 1.1; what there is to hand out stays.
        assert!(near(router.shares.xi_p, 10_560.0) && near(router.shares.xi_n, 2.2));
        let (pos, neg) = (router.shares.residue_pos, router.shares.residue_neg);
        assert!(near(pos, 1920.0) && near(neg, 160_000.0));
    }

    #[test]
    fn the_interval_has_a_lower_bound_and_a_target_queue_shifts_phi() {
        let mut params = XcpRouterParams::default();
        params.set("target_queue", crate::params::Value::Number(1000.0)).unwrap();
        let mut router = router(&params);
        arrive(&mut router, demand(1000.0, 0.0005), 3000);
        router.on_timer(ms(50), queued(0));
        // d = 0.5 ms: phi = 0.4*0.0005*(1 250 000 - 20 000) - 0.226*(3000 - 1000) = 246 - 452.
        assert!(near(router.phi, -206.0));
        assert_eq!(router.meter.interval_end, ms(51));
    }

    fn sender(params: &XcpSenderParams) -> XcpSender {
        XcpSender::new(params, &sender_context(1.0))
    }

    fn send(sender: &mut XcpSender, srtt: Option<Span>) -> XcpHeader {
        sender.on_send(&Departing { srtt, ..departing() })
    }

    fn ack(sender: &mut XcpSender, feedback: f64) {
        sender.on_ack(&Ack {
            now: ms(100),
            delivered: 1,
            acked: 1,
            lost: 0,
            rtt: None,
            srtt: None,
            min_rtt: None,
            in_flight: 0,
            recovering: false,
            header: XcpHeader { feedback, ..XcpHeader::default() },
            code: Ecn::NotCapable,
            ece: false,
        });
    }

    #[test]
    fn the_window_moves_by_the_feedback_and_stays_at_one_packet() {
        let mut sender = sender(&XcpSenderParams::default());
        assert_eq!(send(&mut sender, None), demand(1000.0, 0.0));
        ack(&mut sender, f64::INFINITY);
        assert_eq!(sender.cwnd(), 1.0);
        ack(&mut sender, 6500.0);
        assert_eq!(sender.cwnd(), 7.5);
        assert_eq!(send(&mut sender, Some(Span::from_millis(80))), demand(7500.0, 0.08));
        let loss = |kind| Loss { now: ms(1), kind, in_flight: 7, lost: 1, repeated: false };
        sender.on_loss(&loss(LossKind::DupAcks));
        assert_eq!(sender.cwnd(), 3.75);
        sender.on_loss(&loss(LossKind::Timeout));
        assert_eq!(sender.cwnd(), 1.0);
        ack(&mut sender, 4000.0);
        ack(&mut sender, -9000.0);
        assert_eq!(sender.cwnd(), 1.0);
    }

    #[test]
    fn a_loss_between_two_increases_cuts_nothing() {
        let params = XcpSenderParams { losses: Losses::Explicit, ..Default::default() };
        let loss = |kind| Loss { now: ms(1), kind, in_flight: 7, lost: 1, repeated: false };
        // Feedback before and after a loss, and the window of 8 packets that it leaves: 1 + 7 = 8,
        // then 8 or 4, then what the feedback after it says.
        for (before, after, cwnd) in
            [(7000.0, 500.0, 8.5), (7000.0, -500.0, 3.5), (7000.0, 0.0, 4.0), (-1.0, 500.0, 4.5)]
        {
            let mut sender = sender(&params);
            ack(&mut sender, 7000.0 - before);
            ack(&mut sender, before);
            assert_eq!(sender.cwnd(), 8.0);
            sender.on_loss(&loss(LossKind::DupAcks));
            ack(&mut sender, f64::INFINITY);
            ack(&mut sender, after);
            assert_eq!(sender.cwnd(), cwnd, "{before} {after}");
            ack(&mut sender, -500.0);
            assert_eq!(sender.cwnd(), cwnd - 0.5);
        }
        // The timer leaves one packet, and no verdict is awaited any longer.
        let mut sender = sender(&params);
        ack(&mut sender, 7000.0);
        sender.on_loss(&loss(LossKind::DupAcks));
        sender.on_loss(&loss(LossKind::Timeout));
        ack(&mut sender, 3000.0);
        ack(&mut sender, -1000.0);
        assert_eq!(sender.cwnd(), 3.0);
    }

    #[test]
    fn a_router_may_believe_in_another_capacity() {
        let params = XcpRouterParams { capacity_error: -0.1, ..XcpRouterParams::default() };
        let mut router = router(&params);
        for _ in 0..10 {
            arrive(&mut router, demand(5000.0, 0.1), 2000);
        }
        router.on_timer(ms(50), queued(0));
        // C = 0.9*1.25e6: phi = 0.4*0.1*(1 125 000 - 200 000) - 0.226*2000.
        assert!(near(router.phi, 36_548.0));
        router.on_capacity(ms(60), Rate(20_000_000));
        assert!(near(router.meter.capacity, 2.25e6));
    }

    #[test]
    fn without_shuffling_nothing_is_taken_from_a_full_link() {
        // gamma = 0 (section 3.5.2): underloaded() as before, and where phi < 0 only phi is taken.
        let params = XcpRouterParams { gamma: 0.0, ..XcpRouterParams::default() };
        let mut router = router(&params);
        for _ in 0..80 {
            arrive(&mut router, demand(20_000.0, 0.05), 4000);
        }
        router.on_timer(ms(50), queued(0));
        // overloaded()'s phi = -7904: xi_n = 7904/(0.05*80 000).
        assert_eq!((router.h, router.shares.xi_p), (0.0, 0.0));
        assert!(near(router.shares.xi_n, 1.976));
    }

    #[test]
    fn the_demand_is_the_missing_window_over_its_packets() {
        // r = 8 Mb/s = 1e6 B/s at srtt 100 ms needs 100 000 B; cwnd 20 000 B is 20 packets:
        // (100 000 - 20 000)/20.
        let mut sender = sender(&XcpSenderParams { rate: 8e6, ..XcpSenderParams::default() });
        ack(&mut sender, 19_000.0);
        assert_eq!(send(&mut sender, Some(Span::from_millis(100))).feedback, 4000.0);
        assert_eq!(send(&mut sender, None).feedback, f64::INFINITY);
    }

    #[test]
    fn price_and_rounding_shape_the_header_only() {
        let params =
            XcpSenderParams { header_cwnd: HeaderCwnd::Floor, price: 2.0, ..Default::default() };
        let mut sender = sender(&params);
        ack(&mut sender, 6500.0);
        // floor(7.5) packets of 1000 B, over the price 2.
        assert_eq!(send(&mut sender, None).cwnd, 3500.0);
        assert_eq!(sender.cwnd(), 7.5);
    }

    #[test]
    fn an_ack_of_several_packets_takes_back_their_sum() {
        let arrived = |feedback, pending| {
            let header = XcpHeader { feedback, ..XcpHeader::default() };
            Arrived {
                now: Time::ZERO,
                seq: 0,
                expected: 1,
                size: 1000,
                header,
                ecn: Ecn::NotCapable,
                pending,
            }
        };
        let first = XcpReceiver.on_data(&arrived(30.0, None));
        assert_eq!(first.header.feedback, 30.0);
        let both = XcpReceiver.on_data(&arrived(-12.0, Some(first)));
        assert_eq!(both.header.feedback, 18.0);
    }

    #[test]
    fn the_wire_form_is_rtt_cwnd_feedback() {
        let header = XcpHeader { cwnd: 258.0, rtt: 0.000_003, feedback: -1.0 };
        let mut wire = [0; 16];
        header.encode(&mut wire);
        assert_eq!(wire, [0, 0, 0, 3, 0, 0, 1, 2, 255, 255, 255, 255, 255, 255, 0, 0]);
        assert_eq!(XcpHeader::decode(&wire), Some(header));
        assert_eq!(XcpHeader::decode(&wire[..15]), None);
        // An offer that one router has passed.
        let offer = XcpHeader { cwnd: 0.0, rtt: 0.000_001, feedback: 0.0 };
        let bytes = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(XcpHeader::decode(&bytes), Some(offer));
        demand(1500.0, 0.0).encode(&mut wire);
        assert_eq!(XcpHeader::decode(&wire), Some(demand(1500.0, 0.0)));
    }
}
