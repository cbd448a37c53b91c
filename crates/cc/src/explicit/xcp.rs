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
//!
//! Reconstructed:
//! - R1: the interval before the first estimate (50 ms), the shortest interval (1 ms) and the
//!   shortest window of the persistent queue (2 ms).

use units::{Rate, Span, Time, math};

use crate::registry::AnyHeader;
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Feedback, Header, Loss, LossKind, Passing, Receiver, Router,
    RouterContext, Sender, SenderContext, Service, Variable, Verdict,
};

params! {
    /// The router's parameters.
    pub struct XcpRouterParams {
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
        /// Are ACKs served before data?
        acks_first: bool = false;
        /// May one packet get more feedback than is left for the interval? Appendix A as printed says
        /// yes, the authors' code (ns-2's XCP queue) no.
        overdraw: bool = false;
    }
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

params! {
    /// The sender's parameters.
    pub struct XcpSenderParams {
        /// H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2).
        header_cwnd: HeaderCwnd = HeaderCwnd::Real;
        /// r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3).
        rate: f64 = 0.0 => (0.0, 1e15);
        /// The sender writes cwnd/price; rates become proportional to the price (section 6).
        price: f64 = 1.0 => (0.001, 1000.0);
    }
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
/// Wire units per byte of H_feedback.
const FEEDBACK_UNITS: f64 = 65536.0;
/// H_feedback from here on is "the largest value": the top of the wire's range [bytes].
const LARGEST_FEEDBACK: f64 = i64::MAX as f64 / FEEDBACK_UNITS;

impl XcpHeader {
    /// Are all fields in the range that the formulas are made for? Not without an RTT (D1, D3).
    #[inline]
    fn has_estimate(&self) -> bool {
        (1e-9..=1e4).contains(&self.rtt)
            && (1e-6..=1e15).contains(&self.cwnd)
            && self.feedback >= -LARGEST_FEEDBACK
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

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
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
        if cwnd == 0 && rtt > 0 {
            return None;
        }
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
    /// C [bytes/s].
    capacity: f64,

    // Sums over the arrivals of the running interval.
    input_traffic: f64,
    sum_rtt_by_cwnd: f64,
    sum_rtt2_by_cwnd: f64,
    /// The fewest bytes waiting that an arrival of the running queue window met.
    lowest_queue: Option<u64>,

    interval_start: Time,
    interval_end: Time,
    window_end: Time,

    // The outcome of the last interval, by the paper's names.
    avg_rtt: f64,
    y: f64,
    persistent_queue: f64,
    phi: f64,
    h: f64,
    xi_p: f64,
    xi_n: f64,
    residue_pos: f64,
    residue_neg: f64,
}

impl XcpRouter {
    /// The persistent queue: what did not drain within one propagation delay (section 3.5.1).
    fn end_queue_window(&mut self, now: Time, backlog: Backlog) {
        self.persistent_queue = self.lowest_queue.take().map_or(0.0, |bytes| bytes as f64);
        let queueing = backlog.bytes as f64 / self.capacity;
        let propagation = Span::from_secs_f64(self.avg_rtt - queueing);
        self.window_end = now + propagation.max(self.params.min_queue_window);
    }

    /// The control decision (appendix A, "on estimation-control timeout").
    fn end_interval(&mut self, now: Time) {
        let XcpRouterParams { alpha, beta, gamma, target_queue, .. } = self.params;
        if self.sum_rtt_by_cwnd > 0.0 {
            self.avg_rtt = self.sum_rtt2_by_cwnd / self.sum_rtt_by_cwnd;
        }
        let d = self.avg_rtt;
        let length = now.since(self.interval_start).as_secs();
        self.y = if length > 0.0 { self.input_traffic / length } else { 0.0 };

        let spare = self.capacity - self.y;
        self.phi = alpha * d * spare - beta * (self.persistent_queue - target_queue); // eq. (1)
        self.h = (gamma * self.y * d - self.phi.abs()).max(0.0); // eq. (2)
        let pos = self.phi.max(0.0) + self.h;
        let neg = (-self.phi).max(0.0) + self.h;
        self.xi_p = ratio(pos, d * self.sum_rtt_by_cwnd); // eq. (6)
        self.xi_n = ratio(neg, d * self.input_traffic); // eq. (9)
        self.residue_pos = pos / d;
        self.residue_neg = neg / d;

        self.input_traffic = 0.0;
        self.sum_rtt_by_cwnd = 0.0;
        self.sum_rtt2_by_cwnd = 0.0;
        self.interval_start = now;
        self.interval_end = now + Span::from_secs_f64(d).max(self.params.min_interval);
    }
}

/// `numerator / sum`; nothing when nothing was summed.
fn ratio(numerator: f64, sum: f64) -> f64 {
    if sum > 0.0 { numerator / sum } else { 0.0 }
}

impl Router for XcpRouter {
    type Params = XcpRouterParams;
    type Header = XcpHeader;

    fn new(params: &XcpRouterParams, context: &RouterContext) -> XcpRouter {
        let first = params.initial_interval;
        XcpRouter {
            capacity: context.capacity.bytes_per_sec(),
            input_traffic: 0.0,
            sum_rtt_by_cwnd: 0.0,
            sum_rtt2_by_cwnd: 0.0,
            lowest_queue: None,
            interval_start: Time::ZERO,
            interval_end: Time::ZERO + first.max(params.min_interval),
            window_end: Time::ZERO + first.max(params.min_queue_window),
            avg_rtt: first.as_secs(),
            y: 0.0,
            persistent_queue: 0.0,
            phi: 0.0,
            h: 0.0,
            xi_p: 0.0,
            xi_n: 0.0,
            residue_pos: 0.0,
            residue_neg: 0.0,
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
        self.input_traffic += size;
        self.lowest_queue = Some(self.lowest_queue.map_or(backlog.bytes, |q| q.min(backlog.bytes)));
        if let Some(header) = packet.header
            && header.has_estimate()
        {
            let rtt_by_cwnd = header.rtt * size / header.cwnd;
            self.sum_rtt_by_cwnd += rtt_by_cwnd;
            self.sum_rtt2_by_cwnd += header.rtt * rtt_by_cwnd;
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, XcpHeader>, _backlog: Backlog) {
        let Some(header) = packet.header else { return };
        if !header.has_estimate() {
            header.feedback = header.feedback.min(0.0);
            return;
        }
        let size = f64::from(packet.size);
        let mut pos_by_rtt = self.xi_p * (header.rtt * size / header.cwnd); // eq. (4) over rtt
        let mut neg_by_rtt = self.xi_n * size; // eq. (7) over rtt
        if !self.params.overdraw {
            pos_by_rtt = pos_by_rtt.min(self.residue_pos.max(0.0));
            neg_by_rtt = neg_by_rtt.min(self.residue_neg.max(0.0));
        }
        let feedback = header.rtt * (pos_by_rtt - neg_by_rtt); // eq. (3)
        if header.feedback >= feedback {
            header.feedback = feedback;
            self.residue_pos -= pos_by_rtt;
            self.residue_neg -= neg_by_rtt;
        } else {
            // A router before this one, or the sender, asks for less.
            let held_by_rtt = header.feedback / header.rtt;
            let ours_by_rtt = pos_by_rtt - neg_by_rtt;
            if header.feedback > 0.0 {
                self.residue_pos -= held_by_rtt;
                self.residue_neg -= ours_by_rtt - held_by_rtt;
            } else {
                self.residue_neg += held_by_rtt - ours_by_rtt.max(0.0);
            }
        }
        if self.residue_pos <= 0.0 {
            self.xi_p = 0.0;
        }
        if self.residue_neg <= 0.0 {
            self.xi_n = 0.0;
        }
    }

    fn next_timer(&self) -> Time {
        self.interval_end.min(self.window_end)
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if now >= self.window_end {
            self.end_queue_window(now, backlog);
        }
        if now >= self.interval_end {
            self.end_interval(now);
        }
    }

    /// The running interval ends as planned; its spare bandwidth is taken from the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.capacity = capacity.bytes_per_sec();
    }

    fn retune(&mut self, params: &XcpRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.capacity = context.capacity.bytes_per_sec();
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

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("h", self.h);
        sink("xi_p", self.xi_p);
        sink("xi_n", self.xi_n);
        sink("residue_pos", self.residue_pos);
        sink("residue_neg", self.residue_neg);
        sink("persistent_queue", self.persistent_queue);
        sink("avg_rtt", self.avg_rtt);
        sink("input_traffic", self.y);
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
    header_cwnd: HeaderCwnd,
}

impl Sender for XcpSender {
    type Params = XcpSenderParams;
    type Header = XcpHeader;
    type Receiver = XcpReceiver;

    fn new(params: &XcpSenderParams, context: &SenderContext) -> XcpSender {
        let packet = f64::from(context.packet_bytes);
        XcpSender {
            cwnd: context.initial_window.max(1.0) * packet,
            seen: XcpHeader::default(),
            packet,
            rate: (params.rate > 0.0).then_some(params.rate / 8.0),
            by_price: 1.0 / params.price,
            header_cwnd: params.header_cwnd,
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

    #[inline]
    fn on_ack(&mut self, ack: &Ack<XcpHeader>) {
        if ack.header.feedback < LARGEST_FEEDBACK {
            self.seen = ack.header;
            self.cwnd = (self.cwnd + ack.header.feedback).max(self.packet);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.cwnd = match loss.kind {
            LossKind::Timeout => self.packet,
            LossKind::DupAcks | LossKind::EcnEcho => (self.cwnd / 2.0).max(self.packet),
        };
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

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
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

    /// A router at 10 Mb/s: C = 1.25e6 bytes/s.
    fn router(params: &XcpRouterParams) -> XcpRouter {
        let limit = Limit::Bytes(100_000);
        let context = RouterContext { limit, ..router_context(Rate(10_000_000), 0) };
        XcpRouter::new(params, &context)
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
        assert!(near(router.avg_rtt, 0.1) && near(router.y, 200_000.0));
        assert!(near(router.phi, 41_548.0));
        // gamma*y*d = 2000 is below phi: nothing is shuffled.
        assert_eq!((router.h, router.xi_n, router.residue_neg), (0.0, 0.0, 0.0));
        // xi_p = 41 548/(0.1*0.2); residue_pos = 41 548/0.1.
        assert!(near(router.xi_p, 2_077_400.0) && near(router.residue_pos, 415_480.0));
        assert_eq!(router.interval_end, ms(150));
        // Each of ten identical packets of the next interval gets a tenth.
        for _ in 0..9 {
            assert!(near(depart(&mut router, demand(5000.0, 0.1)), 4154.8));
        }
        assert!(near(router.residue_pos, 41_548.0));
    }

    #[test]
    fn overload_is_taken_back_and_shuffled() {
        let mut router = overloaded();
        // y = 80 000/0.05 = 1.6e6. sums 80*0.05*1000/20 000 = 0.2 and 0.01, d = 0.05.
        // phi = 0.4*0.05*(-350 000) - 0.226*4000 = -7000 - 904. h = 0.1*1.6e6*0.05 - 7904 = 96.
        assert!(near(router.phi, -7904.0) && near(router.h, 96.0));
        // xi_p = 96/(0.05*0.2), xi_n = 8000/(0.05*80 000); residues 96/0.05 and 8000/0.05.
        assert!(near(router.xi_p, 9600.0) && near(router.xi_n, 2.0));
        assert!(near(router.residue_pos, 1920.0) && near(router.residue_neg, 160_000.0));
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
        assert!(near(router.avg_rtt, 0.12) && near(router.phi, 2400.0) && near(router.h, 12_000.0));
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
        assert!(near(r.residue_pos, 415_480.0 - 10_000.0) && near(r.residue_neg, -31_548.0));
        // Negative while this router would give: residue_neg pays both.
        let mut r = underloaded();
        assert_eq!(depart(&mut r, XcpHeader { feedback: -100.0, ..demand(5000.0, 0.1) }), -100.0);
        assert!(near(r.residue_pos, 415_480.0) && near(r.residue_neg, -1000.0 - 41_548.0));
        // Negative while this router would take 98.8: residue_neg pays what is held, 200/0.05.
        let mut r = overloaded();
        assert_eq!(
            depart(&mut r, XcpHeader { feedback: -200.0, ..demand(20_000.0, 0.05) }),
            -200.0
        );
        assert!(near(r.residue_pos, 1920.0) && near(r.residue_neg, 156_000.0));
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
        assert_eq!((router.xi_p, router.xi_n), (0.0, 0.0));
        assert_eq!(depart(&mut router, demand(20_000.0, 0.05)), 0.0);
    }

    /// A flow of a tiny window that was not there in the last interval asks for more than there is.
    #[test]
    fn no_packet_gets_more_than_is_left() {
        // xi_p = 2 077 400, rtt*s/cwnd = 0.1*1000/100 = 1: 2 077 400 of residue_pos = 415 480.
        let mut limited = underloaded();
        let feedback = depart(&mut limited, demand(100.0, 0.1));
        assert!(near(feedback, 41_548.0), "rtt times what is left: {feedback}");
        assert_eq!((limited.residue_pos, limited.xi_p), (0.0, 0.0));
        let mut printed = underloaded();
        printed.params.overdraw = true;
        assert!(near(depart(&mut printed, demand(100.0, 0.1)), 207_740.0));
        assert_eq!(printed.xi_p, 0.0);
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
            near(router.y, 60_000.0) && near(router.phi, 23_800.0) && near(router.avg_rtt, 0.05)
        );
        assert_eq!(router.xi_p, 0.0);
        let before = (router.residue_pos, router.residue_neg);
        assert_eq!(depart(&mut router, demand(1000.0, 0.0)), 0.0);
        assert_eq!(depart(&mut router, XcpHeader { feedback: -5.0, ..demand(1000.0, 0.0) }), -5.0);
        assert_eq!(before, (router.residue_pos, router.residue_neg));
    }

    #[test]
    fn the_persistent_queue_is_the_minimum_of_the_last_finished_window() {
        let mut router = underloaded();
        // avg_rtt was 50 ms when the window ended, nothing waited: the next one ends at 100 ms.
        assert_eq!((router.persistent_queue, router.window_end), (2000.0, ms(100)));
        for queue in [9000, 7000, 8000] {
            arrive(&mut router, demand(5000.0, 0.1), queue);
        }
        // 100 ms less 37 500 B / 1.25e6 B/s = 30 ms of queueing.
        router.on_timer(ms(100), queued(37_500));
        assert_eq!((router.persistent_queue, router.window_end), (7000.0, ms(170)));
        // Nothing arrived; 250 000 B are 200 ms, more than avg_rtt: the shortest window.
        router.on_timer(ms(170), queued(250_000));
        assert_eq!((router.persistent_queue, router.window_end), (0.0, ms(172)));
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
        assert_eq!(router.interval_end, ms(51));
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
        assert_eq!(XcpHeader::decode(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        demand(1500.0, 0.0).encode(&mut wire);
        assert_eq!(XcpHeader::decode(&wire), Some(demand(1500.0, 0.0)));
    }
}
