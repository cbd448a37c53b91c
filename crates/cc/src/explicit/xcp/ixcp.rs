//! iXCP. Zan, Yang, "Improving XCP to achieve max-min fair bandwidth allocation", section III and
//! appendix; technical report UCI ICS 2006.
//!
//! XCP ([`super::xcp`]) shuffles bandwidth from all flows of a link to all flows, also to
//! those that another link holds back and that cannot use it, so that up to a fifth of a link stays
//! unused. In iXCP packets say which link holds their flow back: a router that cuts a packet's
//! feedback writes its identifier beside it, the sender copies that into what it sends from then
//! on, and bandwidth is shuffled among packets only that bear the link's own identifier. Spare
//! bandwidth is handed out to all, as in XCP. The equilibrium is max-min fair, with full links
//! (section V).
//!
//! ```math
//! phi = alpha*d*(C - y) - beta*Q                  change of all windows, as XCP's (its eq. 1)
//! h = max(0, gamma*y_shuffle*d - abs(phi))        y_shuffle: of packets that name this link
//! xi_p_spare = max(phi, 0)/(d*sum(rtt*s/cwnd))    over all packets
//! xi_n_spare = max(-phi, 0)/(d*sum(s))            likewise
//! xi_p_shuffle = h/(d*sum(rtt*s/cwnd))            over packets that name this link
//! xi_n_shuffle = h/(d*sum(s))                     likewise
//! pos = (xi_p_spare + xi_p_shuffle)*rtt^2*s/cwnd  of a packet that names it; others: the spare
//! neg = (xi_n_spare + xi_n_shuffle)*rtt*s         likewise
//! feedback = pos - neg  written, with the link's identifier, where it is less than what is there
//! cwnd <- max(cwnd + feedback, s)                 at each ACK, as XCP
//! ```
//!
//! Deviations: D1 to D6, D8, D9 and R1 of [`super::xcp`], as the rest is XCP's, and
//! - D10: as the appendix is printed, routers would keep the larger feedback, forget all scales
//!   with the first packet, never reset the sum of squares, shuffle negative amounts, and compare
//!   gamma*y with phi, a rate with bytes. The text and XCP's appendix say otherwise, and so it is
//!   done here.
//! - D11: a link's identifier is its number, from 1 on; 0 stands for the sender's access link,
//!   whichever that is: no router has it.
//! - D12: a router takes a flow over if its feedback is less than that of the routers before; XCP's
//!   rule is no more than. So the first of equal ones keeps the flow.
//! - D13: a packet without an RTT estimate names no bottleneck.
//! - D14: H_rtt is kept to 24 binary digits, so that the header is no larger in memory than others.
//!
//! Reconstructed:
//! - R2: what ends the feedback of an interval. Printed is nothing (`residues = "none"`): the
//!   scales hold throughout. Here each class, spare and shuffled, has residues of its own
//!   ("class"), or both draw on one, as all of XCP's feedback does ("shared"). A packet that keeps
//!   another router's feedback is charged as in XCP, with "class" in the ratio of what the classes
//!   would have given, and where that is nothing, the shuffle is. With residues, a link that has
//!   given out its spare bandwidth before an interval ends offers nothing more: every flow that
//!   another link would give a trace is held back by it, enters its shuffle and takes from its own
//!   flows what it cannot use.

use units::{Rate, math};

use super::controlled::{
    Congestion, Controlled, INPUT, Law, MEAN_RTT, Meter, QUEUE, Stated, XcpRouterParams,
};
use super::xcp::{Shares, Summing, XcpHeader, XcpSender, XcpSenderParams, charge, h, phi};
use crate::roles::{Ack, Departing, Header, Loss, RouterContext, Sender, SenderContext, Variable};

choice! {
    /// What ends the feedback of an interval (R2).
    pub enum Residues {
        /// Each class, spare and shuffled, has residues of its own.
        Class = "class",
        /// Both draw on the same, as all of XCP's feedback does (its appendix A).
        Shared = "shared",
        /// Nothing does: the scales hold for the whole interval, as printed.
        None = "none",
    }
}

params! {
    /// The router's parameters.
    pub struct IxcpRouterParams {
        /// XCP's.
        xcp: XcpRouterParams;
        /// What ends an interval's feedback: residues of each class, shared ones, or nothing (R2).
        residues: Residues = Residues::Class;
    }
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

params! {
    /// The sender's parameters.
    pub struct IxcpSenderParams {
        /// XCP's.
        xcp: XcpSenderParams;
        /// What becomes of the part of the window that is no whole packet (section IV-A).
        rounding: Rounding = Rounding::Floor;
    }
}

/// The congestion header (figure 3): XCP's and two identifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, packed(4))] // aligned to 8 bytes it would not fit beside the tag of all headers
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

/// The sender's access link (D11).
pub(crate) const ACCESS: u32 = 0;

/// The law: XCP's efficiency controller for all, its fairness controller for the link's own flows.
#[derive(Clone, Debug, Default)]
pub struct Ixcp {
    /// The link's identifier.
    link: u32,
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

/// The router's part.
pub type IxcpRouter = Controlled<Ixcp>;

impl Law for Ixcp {
    type Params = IxcpRouterParams;
    type Header = IxcpHeader;

    fn common(params: &IxcpRouterParams) -> &XcpRouterParams {
        &params.xcp
    }

    fn new(context: &RouterContext) -> Ixcp {
        Ixcp { link: context.link.saturating_add(1), ..Ixcp::default() }
    }

    /// The appendix's "on each packet arrival", as [`Ixcp::sample`] is.
    #[inline(always)]
    fn arrive(&mut self, header: &IxcpHeader, size: f64) {
        if header.bottleneck == self.link {
            self.input_traffic_shuffle += size;
        }
    }

    #[inline(always)]
    fn sample(&mut self, _: &IxcpRouterParams, header: &IxcpHeader, stated: &Stated) {
        if header.bottleneck == self.link {
            self.sum_rtt_by_cwnd_shuffle += stated.rtt_by_cwnd;
        }
    }

    /// Its "on estimation-control timeout".
    fn decide(&mut self, params: &IxcpRouterParams, meter: &Meter) {
        let (common, d) = (&params.xcp, meter.avg_rtt);
        let own = (self.sum_rtt_by_cwnd_shuffle, self.input_traffic_shuffle);
        self.y_shuffle = meter.rate(own.1);
        self.phi = phi(common, meter);
        self.h = h(common, self.y_shuffle, d, self.phi);
        let handed = (self.phi.max(0.0), (-self.phi).max(0.0));
        self.spare = Shares::new(common, d, handed, meter.sums());
        self.shuffle = Shares::new(common, d, (self.h, self.h), own);
        if params.residues == Residues::Shared {
            self.spare.residue_pos += self.shuffle.residue_pos;
            self.spare.residue_neg += self.shuffle.residue_neg;
            (self.shuffle.residue_pos, self.shuffle.residue_neg) = (0.0, 0.0);
        }
        (self.sum_rtt_by_cwnd_shuffle, self.input_traffic_shuffle) = (0.0, 0.0);
    }

    /// Its "on each packet departure".
    #[inline]
    fn answer(&mut self, params: &IxcpRouterParams, header: &mut IxcpHeader, stated: &Stated) {
        let own = header.bottleneck == self.link;
        let offers = self.offer(params, own, stated.terms());
        let paid = header.answer(self.link, own, offers);
        self.pay(params.residues, paid);
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
        QUEUE,
        MEAN_RTT,
        INPUT,
        Variable::new(
            "input_traffic_shuffle",
            "bytes/s",
            "of y, the packets of flows that the link holds back",
        ),
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
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
        meter.probe(sink);
        sink("input_traffic_shuffle", self.y_shuffle);
    }
}

impl Ixcp {
    /// What a packet gets and gives of each class, both over its RTT; of the shuffle only if it is
    /// the link's `own`.
    #[inline(always)]
    fn offer(&self, params: &IxcpRouterParams, own: bool, terms: (f64, f64)) -> [(f64, f64); 2] {
        let (residues, overdraw) = (params.residues, params.xcp.overdraw);
        let beyond = overdraw || residues != Residues::Class;
        let spare = self.spare.offer(terms, beyond);
        let shuffle = if own { self.shuffle.offer(terms, beyond) } else { (0.0, 0.0) };
        if residues != Residues::Shared || overdraw {
            return [spare, shuffle];
        }
        // No more than what both have left, each in the ratio of what it would have been.
        let most = (self.spare.residue_pos.max(0.0), self.spare.residue_neg.max(0.0));
        let pos = split((spare.0 + shuffle.0).min(most.0), spare.0, shuffle.0);
        let neg = split((spare.1 + shuffle.1).min(most.1), spare.1, shuffle.1);
        [(pos.0, neg.0), (pos.1, neg.1)]
    }

    /// The account of what a packet cost each class (R2); a shared one is kept with the spare's.
    #[inline(always)]
    fn pay(&mut self, residues: Residues, [spare, shuffle]: [(f64, f64); 2]) {
        match residues {
            Residues::None => {}
            Residues::Class => {
                self.spare.pay(spare);
                self.shuffle.pay(shuffle);
            }
            Residues::Shared => {
                self.spare.pay((spare.0 + shuffle.0, spare.1 + shuffle.1));
                if self.spare.residue_pos <= 0.0 {
                    self.shuffle.xi_p = 0.0;
                }
                if self.spare.residue_neg <= 0.0 {
                    self.shuffle.xi_n = 0.0;
                }
            }
        }
    }
}

impl IxcpHeader {
    #[inline]
    pub(crate) fn new(xcp: XcpHeader, bottleneck: u32) -> IxcpHeader {
        let XcpHeader { cwnd, rtt, feedback } = xcp;
        IxcpHeader { cwnd, feedback, rtt: rtt as f32, bottleneck, next_bottleneck: ACCESS }
    }

    /// XCP's part.
    #[inline]
    pub(crate) fn xcp(&self) -> XcpHeader {
        XcpHeader { cwnd: self.cwnd, rtt: f64::from(self.rtt), feedback: self.feedback }
    }

    /// A router that offers `[spare, shuffle]`, each (what the packet gets, what it gives) over its
    /// RTT, writes the lesser feedback and with its own its identifier (D12). What the packet costs
    /// each class (R2).
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        link: u32,
        own: bool,
        [spare, shuffle]: [(f64, f64); 2],
    ) -> [(f64, f64); 2] {
        let (rtt, held) = (f64::from(self.rtt), self.feedback);
        let ours = (spare.0 + shuffle.0) - (spare.1 + shuffle.1);
        let feedback = rtt * ours;
        if feedback < held {
            (self.feedback, self.next_bottleneck) = (feedback, link);
            return [spare, shuffle];
        }
        let (pos, neg) = charge(held / rtt, ours);
        if !own {
            return [(pos, neg), (0.0, 0.0)];
        }
        let (pos, neg) = (split(pos, spare.0, shuffle.0), split(neg, spare.1, shuffle.1));
        [(pos.0, neg.0), (pos.1, neg.1)]
    }
}

/// `whole` in the ratio of `a` to `b`; all of it to the second where both are 0 (R2).
#[inline]
fn split(whole: f64, a: f64, b: f64) -> (f64, f64) {
    let first = if a + b > 0.0 { whole * (a / (a + b)) } else { 0.0 };
    (first, whole - first)
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
    type Receiver = Summing<IxcpHeader>;

    fn new(params: &IxcpSenderParams, context: &SenderContext) -> IxcpSender {
        let paced = params.rounding == Rounding::Paced;
        IxcpSender { xcp: XcpSender::new(&params.xcp, context), bottleneck: ACCESS, paced }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> IxcpHeader {
        IxcpHeader::new(self.xcp.on_send(segment), self.bottleneck)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<IxcpHeader>) {
        self.xcp.take(ack.header.xcp());
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

    fn paces(&self) -> bool {
        self.paced
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        let rtt = if self.paced { self.rtt()? } else { return None };
        Some(Rate(((8.0 * self.xcp.cwnd_bytes() / rtt) as u64).max(1)))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("h_cwnd", "bytes", "window in the last header that came back"),
        Variable::new("h_rtt", "s", "RTT estimate in the last header that came back"),
        Variable::new("h_feedback", "bytes", "change of window in the last header that came back"),
        Variable::new("bottleneck", "", "number of the link that holds the flow back; 0 is none"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.xcp.probe(sink);
        sink("bottleneck", f64::from(self.bottleneck));
    }
}

impl Congestion for IxcpHeader {
    #[inline(always)]
    fn stated(&self, size: f64) -> Option<Stated> {
        self.xcp().stated(size)
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

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    use crate::roles::{Backlog, Ecn, LossKind, Passing, Router};
    use crate::tests::{
        ack as plain_ack, departing, loss, ms, near, router_context, sender_context,
    };

    const LINK: u32 = 8;
    const ELSEWHERE: u32 = 3;

    /// A packet of 1000 B of a flow that `bottleneck` holds back.
    fn packet(bottleneck: u32, cwnd: f64, rtt: f32) -> IxcpHeader {
        IxcpHeader { cwnd, feedback: f64::INFINITY, rtt, bottleneck, next_bottleneck: 0 }
    }

    fn passing<'a>(header: &'a mut IxcpHeader, ecn: &'a mut Ecn) -> Passing<'a, IxcpHeader> {
        Passing { header: Some(header), ..crate::tests::passing(ecn) }
    }

    fn arrive(router: &mut IxcpRouter, n: u32, mut header: IxcpHeader, bytes: u64) {
        let mut ecn = Ecn::NotCapable;
        for _ in 0..n {
            let backlog = Backlog { packets: 0, bytes };
            router.on_arrival(ms(1), passing(&mut header, &mut ecn), backlog);
        }
    }

    fn depart(router: &mut IxcpRouter, mut header: IxcpHeader) -> IxcpHeader {
        let mut ecn = Ecn::NotCapable;
        router.on_departure(ms(60), passing(&mut header, &mut ecn), Backlog::default());
        header
    }

    /// A router at 10 Mb/s, C = 1.25e6 bytes/s, that is link 8. In the first 50 ms come 20 packets
    /// of its own flows (cwnd 10 000 B) and 30 of flows that another link holds back (cwnd 5000 B),
    /// all with an RTT of 62.5 ms (a binary fraction), the queue never below `queue`.
    fn router(params: &IxcpRouterParams, queue: u64) -> IxcpRouter {
        let context = RouterContext { link: LINK - 1, ..router_context(Rate(10_000_000), 100) };
        let mut router = IxcpRouter::new(params, &context);
        arrive(&mut router, 20, packet(LINK, 10_000.0, 0.0625), queue);
        arrive(&mut router, 30, packet(ELSEWHERE, 5000.0, 0.0625), queue);
        router.on_timer(ms(50), Backlog::default());
        router
    }

    fn params(residues: Residues) -> IxcpRouterParams {
        let xcp = XcpRouterParams { alpha: 0.04, ..Default::default() };
        IxcpRouterParams { xcp, residues }
    }

    fn shuffling() -> IxcpRouter {
        router(&params(Residues::Class), 0)
    }

    #[test]
    fn only_own_flows_are_shuffled() {
        let r = shuffling();
        // y = 50 000/0.05 = 1e6, y_shuffle = 20 000/0.05 = 4e5, d = 0.0625.
        // phi = 0.04*0.0625*250 000 = 625; h = 0.1*4e5*0.0625 - 625 = 1875.
        assert!(
            near(r.meter.y, 1e6) && near(r.law.y_shuffle, 4e5) && near(r.meter.avg_rtt, 0.0625)
        );
        assert!(near(r.law.phi, 625.0) && near(r.law.h, 1875.0));
        // sum rtt*s/cwnd: own 20*0.00625 = 0.125, others 30*0.0125 = 0.375, together 0.5.
        // xi_p_spare = 625/(0.0625*0.5), xi_p_shuffle = 1875/(0.0625*0.125),
        // xi_n_shuffle = 1875/(0.0625*20 000).
        let Shares { xi_p, xi_n, residue_pos, residue_neg } = r.law.spare;
        assert!(near(xi_p, 20_000.0) && near(residue_pos, 10_000.0));
        assert_eq!((xi_n, residue_neg), (0.0, 0.0));
        let Shares { xi_p, xi_n, residue_pos, residue_neg } = r.law.shuffle;
        assert!(near(xi_p, 240_000.0) && near(xi_n, 1.5));
        assert!(near(residue_pos, 30_000.0) && near(residue_neg, 30_000.0));
    }

    #[test]
    fn a_packet_of_this_link_gets_both_and_another_spare_only() {
        let mut r = shuffling();
        // Own: pos = (20 000 + 240 000)*0.0625*0.00625, neg = 1.5*0.0625*1000.
        let own = depart(&mut r, packet(LINK, 10_000.0, 0.0625));
        assert!(near(own.feedback, 101.5625 - 93.75) && { own.next_bottleneck } == LINK);
        // It paid 20 000*0.00625 = 125 of spare, 240 000*0.00625 = 1500 and 1500 of the shuffle.
        assert!(near(r.law.spare.residue_pos, 9875.0));
        assert!(
            near(r.law.shuffle.residue_pos, 28_500.0) && near(r.law.shuffle.residue_neg, 28_500.0)
        );
        // Another: 20 000*0.0625*0.0125 = 15.625, of residue_pos_spare 250.
        let other = depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625));
        assert!(near(other.feedback, 15.625) && { other.next_bottleneck } == LINK);
        assert!(near(r.law.spare.residue_pos, 9625.0) && near(r.law.shuffle.residue_pos, 28_500.0));
    }

    /// The interval's packets together carry phi/d, and the shuffle sums to nothing.
    #[test]
    fn feedback_sums_to_phi_over_d() {
        let mut r = shuffling();
        let mut rate = 0.0;
        for _ in 0..19 {
            rate += depart(&mut r, packet(LINK, 10_000.0, 0.0625)).feedback / 0.0625;
        }
        for _ in 0..29 {
            rate += depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625)).feedback / 0.0625;
        }
        // 19*125 + 29*250 of phi/d = 10 000.
        assert!(near(rate, 9625.0), "{rate}");
    }

    #[test]
    fn overload_is_taken_from_all_and_ends_the_shuffle() {
        let r = router(&IxcpRouterParams::default(), 100_000);
        // phi = 0.4*0.0625*250 000 - 0.226*100 000 = 6250 - 22 600; h = max(0, 2500 - 16 350).
        assert!(near(r.law.phi, -16_350.0));
        assert_eq!((r.law.h, r.law.shuffle), (0.0, Shares::default()));
        // xi_n_spare = 16 350/(0.0625*50 000).
        assert!(near(r.law.spare.xi_n, 5.232) && near(r.law.spare.residue_neg, 261_600.0));
        assert_eq!((r.law.spare.xi_p, r.law.spare.residue_pos), (0.0, 0.0));
    }

    #[test]
    fn the_first_of_equal_routers_keeps_the_flow() {
        let mut r = shuffling();
        let ours = depart(&mut r.clone(), packet(ELSEWHERE, 5000.0, 0.0625)).feedback;
        let equal = IxcpHeader {
            feedback: ours,
            next_bottleneck: ELSEWHERE,
            ..packet(ELSEWHERE, 5000.0, 0.0625)
        };
        assert_eq!(depart(&mut r, equal), equal);
        let more = IxcpHeader { feedback: ours * 1.01, ..equal };
        assert_eq!({ depart(&mut r, more).next_bottleneck }, LINK);
    }

    #[test]
    fn what_is_kept_is_charged_in_the_classes_ratio() {
        // An own packet's offer over its RTT: 125 + 1500 - 1500 = 125. It holds 50: XCP charges
        // residue_pos 50, split 125:1500, and residue_neg 125 - 50 = 75, split 0:1500.
        let mut r = shuffling();
        let held = IxcpHeader { feedback: 50.0 * 0.0625, ..packet(LINK, 10_000.0, 0.0625) };
        assert_eq!(depart(&mut r, held), held);
        assert!(near(r.law.spare.residue_pos, 10_000.0 - 50.0 * 125.0 / 1625.0));
        assert!(near(r.law.shuffle.residue_pos, 30_000.0 - 50.0 * 1500.0 / 1625.0));
        assert!(near(r.law.spare.residue_neg, 0.0) && near(r.law.shuffle.residue_neg, 29_925.0));
        // It gives 80 while this router would hand out 125: residue_neg pays both, 205.
        let mut r = shuffling();
        let held = IxcpHeader { feedback: -80.0 * 0.0625, ..held };
        assert_eq!(depart(&mut r, held), held);
        assert!(
            near(r.law.spare.residue_pos, 10_000.0) && near(r.law.shuffle.residue_pos, 30_000.0)
        );
        assert!(near(r.law.shuffle.residue_neg, 30_000.0 - 205.0));
        // Another link's flow, offered 250, holds 100: all to spare, 100 and 150.
        let mut r = shuffling();
        let held = IxcpHeader { feedback: 100.0 * 0.0625, ..packet(ELSEWHERE, 5000.0, 0.0625) };
        assert_eq!(depart(&mut r, held), held);
        assert!(near(r.law.spare.residue_pos, 9900.0) && near(r.law.spare.residue_neg, -150.0));
        assert!(
            near(r.law.shuffle.residue_pos, 30_000.0) && near(r.law.shuffle.residue_neg, 30_000.0)
        );
        assert_eq!(split(7.0, 0.0, 0.0), (0.0, 7.0));
    }

    #[test]
    fn each_class_ends_with_its_own_residue() {
        let mut r = shuffling();
        // 40 packets of 250 are residue_pos_spare; a rounding may leave the next one a trace.
        for _ in 0..41 {
            depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625));
        }
        let none = depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625));
        assert_eq!((r.law.spare.xi_p, { none.feedback }), (0.0, 0.0));
        assert!(r.law.shuffle.xi_p > 0.0 && r.law.shuffle.xi_n > 0.0);
    }

    #[test]
    fn a_shared_residue_ends_both_classes() {
        // As `shuffling`: 10 000 of spare and 30 000 of shuffle may be given, 30 000 must be taken.
        let mut r = router(&params(Residues::Shared), 0);
        assert!(near(r.law.spare.residue_pos, 40_000.0) && near(r.law.spare.residue_neg, 30_000.0));
        // A packet of another link gets 250: 160 of them are all that both classes have.
        for _ in 0..161 {
            depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625));
        }
        let none = depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625));
        assert_eq!({ none.feedback }, 0.0);
        assert_eq!((r.law.spare.xi_p, r.law.shuffle.xi_p), (0.0, 0.0));
        // An own packet gives its 1500 of the shuffle and gets nothing back.
        let own = depart(&mut r, packet(LINK, 10_000.0, 0.0625));
        assert!(near(own.feedback, -1500.0 * 0.0625) && near(r.law.spare.residue_neg, 28_500.0));
    }

    #[test]
    fn without_residues_every_packet_gets_its_share() {
        let mut r = router(&params(Residues::None), 0);
        let before = (r.law.spare, r.law.shuffle);
        for _ in 0..100 {
            assert!(near(depart(&mut r, packet(ELSEWHERE, 5000.0, 0.0625)).feedback, 15.625));
            assert!(near(depart(&mut r, packet(LINK, 10_000.0, 0.0625)).feedback, 7.8125));
        }
        let held = IxcpHeader { feedback: -80.0, ..packet(LINK, 10_000.0, 0.0625) };
        assert_eq!(depart(&mut r, held), held);
        assert_eq!((r.law.spare, r.law.shuffle), before);
    }

    #[test]
    fn a_link_without_flows_of_its_own_shuffles_nothing() {
        let mut r = shuffling();
        arrive(&mut r, 50, packet(ELSEWHERE, 5000.0, 0.0625), 0);
        r.on_timer(r.meter.interval_end, Backlog::default());
        assert_eq!((r.law.y_shuffle, r.law.h, r.law.shuffle), (0.0, 0.0, Shares::default()));
    }

    #[test]
    fn a_packet_without_an_rtt_names_no_bottleneck() {
        let mut r = shuffling();
        let before = (r.law.spare, r.law.shuffle);
        let first = depart(&mut r, packet(0, 1000.0, 0.0));
        assert_eq!(({ first.feedback }, { first.next_bottleneck }), (0.0, 0));
        assert_eq!(before, (r.law.spare, r.law.shuffle));
    }

    fn sender(rounding: Rounding) -> IxcpSender {
        let params = IxcpSenderParams { rounding, ..IxcpSenderParams::default() };
        IxcpSender::new(&params, &sender_context(1.0))
    }

    fn ack(sender: &mut IxcpSender, feedback: f64, next_bottleneck: u32) {
        let header = IxcpHeader { feedback, next_bottleneck, ..packet(77, 1000.0, 0.0625) };
        sender.on_ack(&Ack { header, ..plain_ack(1) });
    }

    #[test]
    fn the_sender_copies_the_bottleneck_and_starts_with_its_access_link() {
        let mut sender = sender(Rounding::Floor);
        let srtt = Some(Span::from_secs_f64(0.0625));
        let first = sender.on_send(&departing());
        assert_eq!(first, packet(0, 1000.0, 0.0));
        ack(&mut sender, 6500.0, LINK);
        assert_eq!(sender.cwnd(), 7.5);
        let next = sender.on_send(&Departing { srtt, ..departing() });
        assert_eq!(next, packet(LINK, 7500.0, 0.0625));
        sender.on_loss(&loss(LossKind::DupAcks, 7));
        assert_eq!((sender.cwnd(), sender.bottleneck, sender.pacing()), (3.75, LINK, None));
    }

    #[test]
    fn a_paced_sender_sends_the_whole_window() {
        let mut sender = sender(Rounding::Paced);
        assert_eq!((sender.cwnd(), sender.pacing()), (1.0, None));
        ack(&mut sender, 6500.0, LINK);
        // 7500 B per 62.5 ms are 960 kb/s; the eighth packet may be out.
        assert_eq!((sender.cwnd(), sender.pacing()), (8.0, Some(Rate(960_000))));
        assert_eq!(sender.xcp.cwnd(), 7.5);
    }

    #[test]
    fn the_wire_form_is_xcps_and_eight_bytes() {
        let header = IxcpHeader {
            cwnd: 258.0,
            feedback: -1.0,
            rtt: 0.0625,
            bottleneck: 259,
            next_bottleneck: 7,
        };
        let mut wire = [0; 24];
        header.encode(&mut wire);
        // 0.0625 = 2^-4: exponent 123, no fraction.
        assert_eq!(wire[..8], [0x3d, 0x80, 0, 0, 0, 0, 1, 2]);
        assert_eq!(wire[8..], [255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 1, 3, 0, 0, 0, 7]);
        assert_eq!(IxcpHeader::decode(&wire), Some(header));
        assert_eq!(IxcpHeader::WIRE_BYTES, XcpHeader::WIRE_BYTES + 8);
        assert_eq!(size_of::<IxcpHeader>(), 28);
    }

    /// One account for both classes: (625 + 1875)/0.0625 to give, 1875/0.0625 to take. An own
    /// packet costs 1625 and 1500; with something left both scales stay, and what is spent ends its
    /// side.
    #[test]
    fn a_shared_account_ends_both_classes_at_once() {
        let mut r = router(&params(Residues::Shared), 0);
        assert!(near(r.law.spare.residue_pos, 40_000.0) && near(r.law.spare.residue_neg, 30_000.0));
        let scales = |r: &IxcpRouter| (r.law.spare.xi_p, r.law.shuffle.xi_p, r.law.shuffle.xi_n);
        let before = scales(&r);
        depart(&mut r, packet(LINK, 10_000.0, 0.0625));
        assert!(near(r.law.spare.residue_pos, 38_375.0) && near(r.law.spare.residue_neg, 28_500.0));
        assert_eq!(scales(&r), before);
        r.law.spare.residue_pos = 1.0;
        depart(&mut r, packet(LINK, 10_000.0, 0.0625));
        assert_eq!(scales(&r), (0.0, 0.0, before.2));
        r.law.spare.residue_neg = 1.0;
        depart(&mut r, packet(LINK, 10_000.0, 0.0625));
        assert_eq!(scales(&r), (0.0, 0.0, 0.0));
    }
}
