//! XCP. Katabi, Handley, Rohrs, "Congestion control for high bandwidth-delay product networks",
//! SIGCOMM 2002, section 3 and appendix A.
//!
//! Every packet tells the routers its flow's window and RTT; every router writes into it how much
//! the window shall change. Once per mean RTT a router finds the aggregate change phi from the
//! spare bandwidth and the queue that does not drain (efficiency), and hands phi out packet by
//! packet: increases equal per flow, decreases proportional to rate, with a tenth of the traffic
//! shuffled all the time (fairness). The sender adds what comes back; it never slow-starts.
//!
//! ```math
//! phi = alpha*d*(C - y) - beta*Q  change of all windows together, each mean RTT d (eq. 1)
//! h = max(0, gamma*y*d - abs(phi))              traffic that is shuffled (eq. 2)
//! xi_p = (h + max(phi, 0))/(d*sum(rtt*s/cwnd))  over the packets of an interval (eq. 6)
//! xi_n = (h + max(-phi, 0))/(d*sum(s))          (eq. 9)
//! feedback = xi_p*rtt^2*s/cwnd - xi_n*rtt*s     of a packet of s bytes (eqs. 3, 4 and 7)
//! cwnd <- max(cwnd + feedback, s)               at each ACK, by the least feedback of the way
//! ```
//!
//! Deviations:
//! - D1: the first packet of a flow (H_rtt = 0) asks for the largest value, gets min(feedback, 0),
//!   enters no rtt sum and touches no residue: the paper gives no formula that works without an
//!   RTT.
//! - D2: a sender that gets the largest value back ignores it: no XCP router was on the path.
//! - D3: a header out of range (a cwnd or rtt that no flow can have, feedback not a number or below
//!   what the wire can hold) counts as one without an RTT estimate.
//! - D4: the spare bandwidth and the shuffled traffic are taken over the real length T of the
//!   interval, and h = max(0, gamma*y*d - |phi|) as in eq. (2), not 0.1*y as in the appendix.
//! - D5: the window of the persistent queue ends before the control interval when both end
//!   together.
//! - D6: d enters the formulas as measured; only the length of the interval has a lower bound.
//! - D7: H_cwnd = 0 is an offer to speak XCP (section 8.2, [`super::xcp_friendly`]): each router
//!   adds one unit of the wire to its H_rtt.
//! - D8: a packet gets no more than is left of an interval's feedback, as in the authors' ns-2
//!   code; appendix A gives the last one all of its share (`overdraw = true`).
//! - D9: `queue_window` and `xi_scale` are the same code's, `max_rtt` is ns-2.35's; of these the
//!   paper is the default.
//!
//! Reconstructed:
//! - R1: the interval before the first estimate (50 ms), the shortest interval (1 ms) and the
//!   shortest window of the persistent queue (2 ms).

use core::fmt;
use core::marker::PhantomData;

use units::{Span, math};

use super::controlled::{Congestion, Controlled, INPUT, Law, MEAN_RTT, Meter, QUEUE, Stated};
pub use crate::explicit::xcp::controlled::XcpRouterParams;
use crate::roles::{
    Ack, Arrived, Departing, Feedback, Header, Loss, LossKind, Receiver, RouterContext, Sender,
    SenderContext, Variable,
};

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

params! {
    /// The sender's parameters; a relative's sender has others besides.
    pub struct XcpSenderParams {
        /// H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2).
        header_cwnd: HeaderCwnd = HeaderCwnd::Real;
        /// r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3).
        rate: f64 = 0.0 => (0.0, 1e15);
        /// The sender writes cwnd/price; rates become proportional to the price (section 6).
        price: f64 = 1.0 => (0.001, 1000.0);
        /// Is a loss between two increases taken for one of the line (section 1)?
        losses: Losses = Losses::Congestion;
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

/// Eq. (1): phi, by which all windows together shall change [bytes]; the queue counts from q0.
pub(crate) fn phi(params: &XcpRouterParams, meter: &Meter) -> f64 {
    let &XcpRouterParams { alpha, beta, target_queue, .. } = params;
    let spare = meter.capacity - meter.y;
    alpha * meter.avg_rtt * spare - beta * (meter.persistent_queue - target_queue)
}

/// Eq. (2): h, the traffic that is shuffled [bytes].
pub(crate) fn h(params: &XcpRouterParams, y: f64, d: f64, phi: f64) -> f64 {
    (params.gamma * y * d - phi.abs()).max(0.0)
}

/// Eq. (3): H_feedback_i = p_i - n_i [bytes], of both over rtt_i.
#[inline(always)]
fn feedback(rtt: f64, (p, n): (f64, f64)) -> f64 {
    rtt * (p - n)
}

/// Eq. (4): p_i over rtt_i [bytes/s], the same for all flows in a second.
#[inline(always)]
fn p(xi_p: f64, rtt_by_cwnd: f64) -> f64 {
    xi_p * rtt_by_cwnd
}

/// Eqs. (5) and (6): xi_p, with which those of an interval's packets sum to `pos`/d, where `pos` is
/// h and what of phi is given [bytes].
pub(crate) fn xi_p(pos: f64, d: f64, sum_rtt_by_cwnd: f64) -> f64 {
    ratio(pos, d * sum_rtt_by_cwnd)
}

/// Eq. (7): n_i over rtt_i [bytes/s], in proportion to the flow's rate.
#[inline(always)]
fn n(xi_n: f64, size: f64) -> f64 {
    xi_n * size
}

/// Eqs. (8) and (9): xi_n, with which those sum to `neg`/d, where `neg` is h and what of phi is
/// taken [bytes].
pub(crate) fn xi_n(neg: f64, d: f64, input_traffic: f64) -> f64 {
    ratio(neg, d * input_traffic)
}

/// `numerator / sum`; nothing when nothing was summed.
pub(crate) fn ratio(numerator: f64, sum: f64) -> f64 {
    if sum > 0.0 { numerator / sum } else { 0.0 }
}

/// What is handed out in an interval to the packets of one class (appendix A).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Scale of what every flow gets; 0 when `residue_pos` is spent.
    pub xi_p: f64,
    /// Scale of what every flow gives; 0 when `residue_neg` is spent.
    pub xi_n: f64,
    /// What may still be given [bytes/s].
    pub residue_pos: f64,
    /// What must still be taken [bytes/s].
    pub residue_neg: f64,
}

impl Shares {
    /// `pos` bytes to give and `neg` to take in d seconds, among packets whose rtt*s/cwnd and s, or
    /// what a law has in their place, summed to `sums`; `xi_scale` times as fast as it needs (D9).
    pub(crate) fn new(
        params: &XcpRouterParams,
        d: f64,
        (pos, neg): (f64, f64),
        sums: (f64, f64),
    ) -> Shares {
        Shares {
            xi_p: params.xi_scale * xi_p(pos, d, sums.0),
            xi_n: params.xi_scale * xi_n(neg, d, sums.1),
            residue_pos: pos / d,
            residue_neg: neg / d,
        }
    }

    /// What a packet is offered to get and to give, both over its RTT: no more than is left (D8).
    #[inline(always)]
    pub(crate) fn offer(&self, (rtt_by_cwnd, size): (f64, f64), overdraw: bool) -> (f64, f64) {
        let (pos, neg) = (p(self.xi_p, rtt_by_cwnd), n(self.xi_n, size));
        if overdraw {
            return (pos, neg);
        }
        (pos.min(self.residue_pos.max(0.0)), neg.min(self.residue_neg.max(0.0)))
    }

    /// The feedback with which a packet leaves that holds `held`, the lesser, and the account of
    /// it.
    #[inline(always)]
    pub(crate) fn answer(&mut self, rtt: f64, held: f64, (pos, neg): (f64, f64)) -> f64 {
        let ours = feedback(rtt, (pos, neg));
        let (left, paid) =
            if held >= ours { (ours, (pos, neg)) } else { (held, charge(held / rtt, pos - neg)) };
        self.pay(paid);
        left
    }

    /// A packet took `pos` and gave `neg`. What is spent ends its feedback.
    #[inline(always)]
    pub(crate) fn pay(&mut self, (pos, neg): (f64, f64)) {
        self.residue_pos -= pos;
        self.residue_neg -= neg;
        if self.residue_pos <= 0.0 {
            self.xi_p = 0.0;
        }
        if self.residue_neg <= 0.0 {
            self.xi_n = 0.0;
        }
    }

    /// All of it, by the paper's names.
    pub(crate) fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("xi_p", self.xi_p);
        sink("xi_n", self.xi_n);
        sink("residue_pos", self.residue_pos);
        sink("residue_neg", self.residue_neg);
    }
}

/// What a packet costs that keeps `held` where this router's feedback is `ours`, the larger: a
/// router before this one, or the sender, asks for less (appendix A). All over its RTT.
#[inline(always)]
pub(crate) fn charge(held: f64, ours: f64) -> (f64, f64) {
    if held > 0.0 { (held, ours - held) } else { (0.0, ours.max(0.0) - held) }
}

/// The law: the efficiency and the fairness controller, with the outcome of the last interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Xcp {
    pub(crate) phi: f64,
    pub(crate) h: f64,
    pub(crate) shares: Shares,
}

impl Xcp {
    /// What eqs. (1) and (2) say of the interval just ended, handed out by its packets' `sums`.
    pub(crate) fn of(params: &XcpRouterParams, meter: &Meter, sums: (f64, f64)) -> Xcp {
        let phi = phi(params, meter);
        Xcp::handing(params, meter, (phi, h(params, meter.y, meter.avg_rtt, phi)), sums)
    }

    /// phi and h, handed out by the packets' `sums`.
    pub(crate) fn handing(
        params: &XcpRouterParams,
        meter: &Meter,
        (phi, h): (f64, f64),
        sums: (f64, f64),
    ) -> Xcp {
        let handed = (phi.max(0.0) + h, (-phi).max(0.0) + h);
        Xcp { phi, h, shares: Shares::new(params, meter.avg_rtt, handed, sums) }
    }
}

/// The router's part.
pub type XcpRouter = Controlled<Xcp>;

impl Law for Xcp {
    type Params = XcpRouterParams;
    type Header = XcpHeader;

    fn common(params: &XcpRouterParams) -> &XcpRouterParams {
        params
    }

    fn new(_: &RouterContext) -> Xcp {
        Xcp::default()
    }

    fn decide(&mut self, params: &XcpRouterParams, meter: &Meter) {
        *self = Xcp::of(params, meter, meter.sums());
    }

    #[inline(always)]
    fn answer(&mut self, params: &XcpRouterParams, header: &mut XcpHeader, stated: &Stated) {
        let offer = self.shares.offer(stated.terms(), params.overdraw);
        header.feedback = self.shares.answer(stated.rtt, header.feedback, offer);
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
        QUEUE,
        MEAN_RTT,
        INPUT,
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("h", self.h);
        self.shares.probe(sink);
        meter.probe(sink);
    }

    fn describe(&self, meter: &Meter, out: &mut dyn fmt::Write) -> fmt::Result {
        let does = if self.phi > 0.0 { "gives its flows" } else { "takes from its flows" };
        let (bytes, ms) = (self.phi.abs(), 1e3 * meter.avg_rtt);
        writeln!(
            out,
            "XCP {does} {bytes:.0} bytes of window together in this interval of {ms:.4} ms"
        )
    }
}

/// The receiver's part: the header as it came (section 3.4); an ACK that answers several packets
/// takes back the sum of their feedback.
#[derive(Clone, Copy, Debug)]
pub struct Summing<H>(PhantomData<H>);

/// XCP's.
pub type XcpReceiver = Summing<XcpHeader>;

impl<H> Default for Summing<H> {
    fn default() -> Summing<H> {
        Summing(PhantomData)
    }
}

impl<H: Congestion> Receiver for Summing<H> {
    type Header = H;

    #[inline]
    fn on_data(&mut self, data: &Arrived<H>) -> Feedback<H> {
        let mut header = data.header;
        if let Some(pending) = &data.pending {
            header.set_feedback(header.feedback() + pending.header.feedback());
        }
        Feedback { header, code: data.ecn }
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct XcpSender {
    cwnd_bytes: f64,
    /// The last header whose feedback was taken.
    seen: XcpHeader,
    /// s [bytes].
    packet: f64,
    /// r [bytes/s], `None` for an unlimited source.
    rate: Option<f64>,
    /// 1/price.
    by_price: f64,
    header_cwnd: HeaderCwnd,
    losses: Losses,
    next: Next,
}

/// What the next feedback decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The window alone.
    Window,
    /// What the loss before it was, too ([`Losses::Explicit`]).
    Loss,
}

impl XcpSender {
    /// A header came back. The largest value says nothing (D2).
    #[inline(always)]
    pub(crate) fn take(&mut self, header: XcpHeader) {
        if header.feedback < LARGEST_FEEDBACK {
            if self.next == Next::Loss {
                self.judge(header.feedback);
            }
            self.seen = header;
            self.cwnd_bytes = (self.cwnd_bytes + header.feedback).max(self.packet);
        }
    }

    /// The first feedback after a loss says what the loss was.
    #[cold]
    fn judge(&mut self, feedback: f64) {
        self.next = Next::Window;
        if feedback <= 0.0 {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.cwnd_bytes = (self.cwnd_bytes / 2.0).max(self.packet);
    }

    pub(crate) fn cwnd_bytes(&self) -> f64 {
        self.cwnd_bytes
    }

    /// The last header whose feedback was taken.
    pub(crate) fn seen(&self) -> &XcpHeader {
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
            cwnd_bytes: context.initial_window.max(1.0) * packet,
            seen: XcpHeader::default(),
            packet,
            rate: (params.rate > 0.0).then_some(params.rate / 8.0),
            by_price: 1.0 / params.price,
            header_cwnd: params.header_cwnd,
            losses: params.losses,
            next: Next::Window,
        }
    }

    #[inline(always)] // as on_ack
    fn on_send(&mut self, segment: &Departing) -> XcpHeader {
        let rtt = segment.srtt.map_or(0.0, Span::as_secs);
        let feedback = match self.rate {
            // The increase wanted, over the packets of a window (section 3.3).
            Some(rate) if rtt > 0.0 => {
                (rate * rtt - self.cwnd_bytes) / (self.cwnd_bytes / self.packet)
            }
            _ => f64::INFINITY,
        };
        let cwnd = match self.header_cwnd {
            HeaderCwnd::Real => self.cwnd_bytes,
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
            LossKind::Timeout => (self.cwnd_bytes, self.next) = (self.packet, Next::Window),
            LossKind::DupAcks if self.losses == Losses::Explicit && self.seen.feedback > 0.0 => {
                self.next = Next::Loss;
            }
            LossKind::DupAcks | LossKind::EcnEcho => self.halve(),
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd_bytes / self.packet
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

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "XCP: the window moves by what routers write into the headers, nothing else")
    }
}

/// Wire units per second of H_rtt.
const RTT_UNITS: f64 = 1e6;
/// Wire units per byte of H_feedback.
const FEEDBACK_UNITS: f64 = 65536.0;
/// H_feedback from here on is "the largest value": the top of the wire's range [bytes].
pub(crate) const LARGEST_FEEDBACK: f64 = i64::MAX as f64 / FEEDBACK_UNITS;

impl Congestion for XcpHeader {
    /// All fields must be in the range that the formulas are made for (D3).
    #[inline(always)]
    fn stated(&self, size: f64) -> Option<Stated> {
        let &XcpHeader { cwnd, rtt, feedback } = self;
        let sane = (1e-9..=1e4).contains(&rtt)
            && (1e-6..=1e15).contains(&cwnd)
            && feedback >= -LARGEST_FEEDBACK;
        sane.then(|| Stated { size, rtt, rtt_by_cwnd: rtt * size / cwnd })
    }

    #[inline]
    fn feedback(&self) -> f64 {
        self.feedback
    }

    #[inline]
    fn set_feedback(&mut self, feedback: f64) {
        self.feedback = feedback;
    }

    /// D1, and an offer (D7).
    #[cold]
    fn pass(&mut self) {
        if self.cwnd == 0.0 {
            self.rtt += 1.0 / RTT_UNITS;
        } else {
            self.feedback = self.feedback.min(0.0);
        }
    }
}

impl XcpHeader {
    /// How many routers have passed an offer; any number for another header.
    pub(crate) fn routers(&self) -> u32 {
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
}

#[cfg(test)]
mod tests;
