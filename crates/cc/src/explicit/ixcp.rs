//! iXCP. Zan, Yang, "Improving XCP to achieve max-min fair bandwidth allocation", section III and
//! appendix; technical report UCI ICS 2006.
//!
//! XCP ([`crate::explicit::xcp`]) shuffles bandwidth from all flows of a link to all flows, also to
//! those that another link holds back and that cannot use it, so that up to a fifth of a link stays
//! unused. In iXCP packets say which link holds their flow back: a router that cuts a packet's feedback
//! writes its identifier beside it, the sender copies that into what it sends from then on, and
//! bandwidth is shuffled among packets only that bear the link's own identifier. Spare bandwidth is
//! handed out to all, as in XCP. The equilibrium is max-min fair, with full links (section V).
//!
//! The rest is XCP's, its deviations D1 to D6 and R1 with it. Besides:
//! - D1: as the appendix is printed, routers would keep the larger feedback, forget all scales with the
//!   first packet, never reset the sum of squares, shuffle negative amounts, and compare gamma*y with
//!   phi, a rate with bytes. The text and XCP's appendix say otherwise, and so it is done here.
//! - D2: a link's identifier is its number, from 1 on; 0 stands for the sender's access link, whichever
//!   that is: no router has it.
//! - D3: a router takes a flow over if its feedback is less than that of the routers before; XCP's rule
//!   is no more than. So the first of equal ones keeps the flow.
//! - D4: a packet without an RTT estimate names no bottleneck.
//! - D5: H_rtt is kept to 24 binary digits, so that the header is no larger in memory than others.
//!
//! Reconstructed:
//! - R1: each class, spare and shuffled, has residues of its own. A packet that keeps the feedback of
//!   another router is charged as in XCP, the classes in the ratio of what they would have given; where
//!   nothing would have been, the shuffle is.

use units::{Rate, Span, Time, math};

use crate::explicit::xcp::{
    HeaderCwnd, Losses, XcpHeader, XcpSender, XcpSenderParams, xcp_router_params, xcp_sender_params,
};
use crate::explicit::xcp_common::{Meter, Shares, believed, charge, has_estimate};
use crate::registry::AnyHeader;
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Feedback, Header, Loss, Passing, Receiver, Router,
    RouterContext, Sender, SenderContext, Service, Variable, Verdict,
};

xcp_router_params! {
    /// The router's parameters.
    pub struct IxcpRouterParams {}
}

choice! {
    /// What becomes of the part of the window that is no whole packet.
    pub enum Rounding {
        /// It is not sent, as with the paper's senders (section IV-A).
        Floor = "floor",
        /// It is: packets leave at the rate cwnd/H_rtt, one at a time.
        Paced = "paced",
    }
}

xcp_sender_params! {
    /// The sender's parameters.
    pub struct IxcpSenderParams {
        /// What becomes of the part of the window that is no whole packet (section IV-A).
        rounding: Rounding = Rounding::Floor;
    }
}

/// The congestion header (figure 3): XCP's and two identifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, packed(4))] // aligned to 8 bytes it would not fit beside AnyHeader's tag
pub struct IxcpHeader {
    /// H_cwnd, the sender's window [bytes].
    pub cwnd: f64,
    /// H_feedback, the change of window asked for, then granted [bytes].
    pub feedback: f64,
    /// H_rtt, the sender's RTT estimate [s]; 0 before the first.
    pub rtt: f32,
    /// bottleneckId, the link that held the last packet back of which an ACK came.
    pub bottleneck: u32,
    /// nextBottleneckId, the link that holds this packet back.
    pub next_bottleneck: u32,
}

impl IxcpHeader {
    #[inline]
    fn new(xcp: XcpHeader, bottleneck: u32) -> IxcpHeader {
        let XcpHeader { cwnd, rtt, feedback } = xcp;
        IxcpHeader { cwnd, feedback, rtt: rtt as f32, bottleneck, next_bottleneck: ACCESS }
    }

    /// XCP's part.
    #[inline]
    fn xcp(&self) -> XcpHeader {
        XcpHeader { cwnd: self.cwnd, rtt: f64::from(self.rtt), feedback: self.feedback }
    }
}

/// The sender's access link (D2).
const ACCESS: u32 = 0;

/// Bytes of XCP's part on the wire.
const XCP_BYTES: usize = XcpHeader::WIRE_BYTES;

impl Header for IxcpHeader {
    /// XCP's fields, with H_rtt [s] as an IEEE 754 single, then both identifiers in 32 bits each,
    /// big-endian: eight bytes more than XCP's (section III).
    const WIRE_BYTES: usize = XCP_BYTES + 8;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_cwnd", "bytes", "the sender's window when it sent the packet"),
        Variable::new("h_rtt", "s", "the sender's RTT estimate then; 0 before the first"),
        Variable::new("h_feedback", "bytes", "change of window asked for, then granted"),
        Variable::new("h_bottleneck", "", "the link that holds the flow back; 0 is none"),
        Variable::new("h_next_bottleneck", "", "the link that holds this packet back; 0 is none"),
    ];

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        self.xcp().probe(sink);
        sink("h_bottleneck", f64::from(self.bottleneck));
        sink("h_next_bottleneck", f64::from(self.next_bottleneck));
    }

    fn encode(&self, wire: &mut [u8]) {
        self.xcp().encode(wire);
        let (rtt, bottleneck, next) = (self.rtt, self.bottleneck, self.next_bottleneck);
        wire[..4].copy_from_slice(&rtt.to_be_bytes());
        wire[XCP_BYTES..XCP_BYTES + 4].copy_from_slice(&bottleneck.to_be_bytes());
        wire[XCP_BYTES + 4..XCP_BYTES + 8].copy_from_slice(&next.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<IxcpHeader> {
        let id = |at: usize| Some(u32::from_be_bytes(wire.get(at..at + 4)?.try_into().ok()?));
        let (bottleneck, next_bottleneck) = (id(XCP_BYTES)?, id(XCP_BYTES + 4)?);
        let rtt = f32::from_be_bytes(wire.get(..4)?.try_into().ok()?);
        if rtt.is_nan() {
            return None;
        }
        // What XCP reads as its H_rtt is 0 where this one is, too.
        let XcpHeader { cwnd, feedback, .. } = XcpHeader::decode(wire)?;
        Some(IxcpHeader { cwnd, feedback, rtt, bottleneck, next_bottleneck })
    }

    #[inline]
    fn wrap(self) -> AnyHeader {
        AnyHeader::Ixcp(self)
    }

    #[inline]
    fn open(any: &mut AnyHeader) -> Option<&mut IxcpHeader> {
        match any {
            AnyHeader::Ixcp(header) => Some(header),
            _ => None,
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct IxcpRouter {
    params: IxcpRouterParams,
    /// Its identifier.
    link: u32,
    meter: Meter,
    // Sums over the arrivals of the running interval that this link holds back.
    input_traffic_shuffle: f64,
    sum_rtt_by_cwnd_shuffle: f64,
    // The outcome of the last interval, by the paper's names.
    y_shuffle: f64,
    phi: f64,
    h: f64,
    spare: Shares,
    shuffle: Shares,
}

impl IxcpRouter {
    /// The control decision (appendix, "on estimation-control timeout").
    fn end_interval(&mut self, now: Time) {
        let IxcpRouterParams { alpha, beta, gamma, target_queue, .. } = self.params;
        let meter = &mut self.meter;
        meter.measure(now);
        let d = meter.avg_rtt;
        let (sum, traffic) = (self.sum_rtt_by_cwnd_shuffle, self.input_traffic_shuffle);
        self.y_shuffle = meter.rate(traffic);
        self.phi = meter.phi(alpha, beta, target_queue);
        self.h = (gamma * self.y_shuffle * d - self.phi.abs()).max(0.0);
        let handed = (self.phi.max(0.0), (-self.phi).max(0.0));
        self.spare = Shares::new(handed, d, meter.sum_rtt_by_cwnd, meter.input_traffic);
        self.shuffle = Shares::new((self.h, self.h), d, sum, traffic);
        (self.input_traffic_shuffle, self.sum_rtt_by_cwnd_shuffle) = (0.0, 0.0);
        meter.restart(now, self.params.min_interval);
    }
}

/// `whole` in the ratio of `a` to `b`; all of it to the second where both are 0 (R1).
#[inline]
fn split(whole: f64, a: f64, b: f64) -> (f64, f64) {
    let first = if a + b > 0.0 { whole * (a / (a + b)) } else { 0.0 };
    (first, whole - first)
}

impl Router for IxcpRouter {
    type Params = IxcpRouterParams;
    type Header = IxcpHeader;

    fn new(params: &IxcpRouterParams, context: &RouterContext) -> IxcpRouter {
        let capacity = believed(context.capacity, params.capacity_error);
        let shortest = (params.min_interval, params.min_queue_window);
        IxcpRouter {
            link: context.link.saturating_add(1),
            meter: Meter::new(capacity, params.initial_interval, shortest),
            input_traffic_shuffle: 0.0,
            sum_rtt_by_cwnd_shuffle: 0.0,
            y_shuffle: 0.0,
            phi: 0.0,
            h: 0.0,
            spare: Shares::default(),
            shuffle: Shares::default(),
            params: params.clone(),
        }
    }

    fn service(params: &IxcpRouterParams) -> Service {
        if params.acks_first { Service::AcksFirst } else { Service::Fifo }
    }

    #[inline]
    fn on_arrival(
        &mut self,
        _now: Time,
        packet: Passing<'_, IxcpHeader>,
        backlog: Backlog,
    ) -> Verdict {
        let size = f64::from(packet.size);
        self.meter.arrive(size, backlog);
        let Some(header) = packet.header.map(|header| *header) else { return Verdict::Forward };
        if header.bottleneck == self.link {
            self.input_traffic_shuffle += size;
        }
        let rtt = f64::from(header.rtt);
        if has_estimate(header.cwnd, rtt, header.feedback) {
            let rtt_by_cwnd = rtt * size / header.cwnd;
            self.meter.sample(rtt, rtt_by_cwnd);
            if header.bottleneck == self.link {
                self.sum_rtt_by_cwnd_shuffle += rtt_by_cwnd;
            }
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, IxcpHeader>, _backlog: Backlog) {
        let Some(header) = packet.header else { return };
        let (size, rtt, held) = (f64::from(packet.size), f64::from(header.rtt), header.feedback);
        if !has_estimate(header.cwnd, rtt, held) {
            header.feedback = held.min(0.0);
            return;
        }
        let (own, overdraw) = (header.bottleneck == self.link, self.params.overdraw);
        let rtt_by_cwnd = rtt * size / header.cwnd;
        let spare = self.spare.offer(rtt_by_cwnd, size, overdraw);
        let shuffle = match own {
            true => self.shuffle.offer(rtt_by_cwnd, size, overdraw),
            false => (0.0, 0.0),
        };
        let ours = (spare.0 + shuffle.0) - (spare.1 + shuffle.1);
        let feedback = rtt * ours;
        if feedback < held {
            (header.feedback, header.next_bottleneck) = (feedback, self.link);
            self.spare.pay(spare);
            self.shuffle.pay(shuffle);
            return;
        }
        let (pos, neg) = charge(held / rtt, ours);
        if own {
            let (pos, neg) = (split(pos, spare.0, shuffle.0), split(neg, spare.1, shuffle.1));
            self.spare.pay((pos.0, neg.0));
            self.shuffle.pay((pos.1, neg.1));
        } else {
            self.spare.pay((pos, neg));
        }
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if now >= self.meter.window_end {
            self.meter.end_queue_window(now, backlog, self.params.min_queue_window);
        }
        if now >= self.meter.interval_end {
            self.end_interval(now);
        }
    }

    /// The running interval ends as planned; its spare bandwidth is taken from the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.capacity = believed(capacity, self.params.capacity_error);
    }

    fn retune(&mut self, params: &IxcpRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.meter.capacity = believed(context.capacity, params.capacity_error);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of all flows' windows together that is handed out"),
        Variable::new("h", "bytes", "traffic shuffled between the flows that the link holds back"),
        Variable::new("xi_p_spare", "", "scale of what every flow gets of phi"),
        Variable::new("xi_n_spare", "", "scale of what every flow gives of phi"),
        Variable::new("xi_p_shuffle", "", "scale of what the link's own flows get of h"),
        Variable::new("xi_n_shuffle", "", "scale of what the link's own flows give of h"),
        Variable::new("residue_pos_spare", "bytes/s", "what of phi may still be given"),
        Variable::new("residue_neg_spare", "bytes/s", "what of phi must still be taken"),
        Variable::new("residue_pos_shuffle", "bytes/s", "what of h may still be given"),
        Variable::new("residue_neg_shuffle", "bytes/s", "what of h must still be taken"),
        Variable::new(
            "persistent_queue",
            "bytes",
            "Q, the queue that did not drain in a propagation delay",
        ),
        Variable::new("avg_rtt", "s", "d, the flows' mean RTT and the control interval"),
        Variable::new("input_traffic", "bytes/s", "y, the rate of arrivals in the last interval"),
        Variable::new(
            "input_traffic_shuffle",
            "bytes/s",
            "of y, the packets of flows that the link holds back",
        ),
    ];

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("h", self.h);
        sink("xi_p_spare", self.spare.xi_p);
        sink("xi_n_spare", self.spare.xi_n);
        sink("xi_p_shuffle", self.shuffle.xi_p);
        sink("xi_n_shuffle", self.shuffle.xi_n);
        sink("residue_pos_spare", self.spare.residue_pos);
        sink("residue_neg_spare", self.spare.residue_neg);
        sink("residue_pos_shuffle", self.shuffle.residue_pos);
        sink("residue_neg_shuffle", self.shuffle.residue_neg);
        sink("persistent_queue", self.meter.persistent_queue);
        sink("avg_rtt", self.meter.avg_rtt);
        sink("input_traffic", self.meter.y);
        sink("input_traffic_shuffle", self.y_shuffle);
    }
}

/// The receiver's part: the header as it came, with the sum of the feedback that one ACK answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct IxcpReceiver;

impl Receiver for IxcpReceiver {
    type Header = IxcpHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<IxcpHeader>) -> Feedback<IxcpHeader> {
        let mut header = data.header;
        if let Some(pending) = &data.pending {
            header.feedback += pending.header.feedback;
        }
        Feedback { header, code: data.ecn }
    }
}

/// The end host's part: XCP's, and the copied identifier.
#[derive(Clone, Debug)]
pub struct IxcpSender {
    xcp: XcpSender,
    /// bottleneckId.
    bottleneck: u32,
    paced: bool,
}

impl IxcpSender {
    /// H_rtt of the last header that came back, if it had one.
    fn rtt(&self) -> Option<f64> {
        let rtt = self.xcp.seen().rtt;
        (1e-9..=1e4).contains(&rtt).then_some(rtt)
    }
}

impl Sender for IxcpSender {
    type Params = IxcpSenderParams;
    type Header = IxcpHeader;
    type Receiver = IxcpReceiver;

    fn new(params: &IxcpSenderParams, context: &SenderContext) -> IxcpSender {
        let &IxcpSenderParams { header_cwnd, rate, price, losses, rounding } = params;
        let params = XcpSenderParams { header_cwnd, rate, price, losses };
        let paced = rounding == Rounding::Paced;
        IxcpSender { xcp: XcpSender::new(&params, context), bottleneck: ACCESS, paced }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> IxcpHeader {
        IxcpHeader::new(self.xcp.on_send(segment), self.bottleneck)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<IxcpHeader>) {
        self.xcp.take(&ack.header.xcp());
        self.bottleneck = ack.header.next_bottleneck;
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.xcp.on_loss(loss);
    }

    /// Paced, a window of w packets has up to floor(w) + 1 of them out, at the rate w per RTT.
    #[inline]
    fn cwnd(&self) -> f64 {
        let cwnd = self.xcp.cwnd();
        if self.paced && self.rtt().is_some() { math::floor(cwnd) + 1.0 } else { cwnd }
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        let rtt = if self.paced { self.rtt()? } else { return None };
        let bytes = self.xcp.window();
        Some(Rate(((8.0 * bytes / rtt) as u64).max(1)))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("h_cwnd", "bytes", "window in the last header that came back"),
        Variable::new("h_rtt", "s", "RTT estimate in the last header that came back"),
        Variable::new("h_feedback", "bytes", "change of window in the last header that came back"),
        Variable::new("bottleneck", "", "number of the link that holds the flow back; 0 is none"),
    ];

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        self.xcp.probe(sink);
        sink("bottleneck", f64::from(self.bottleneck));
    }
}
