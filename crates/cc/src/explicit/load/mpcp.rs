//! MPCP, the multi-packet congestion control protocol: DPCP ([`super::dpcp`]) with chains of two to
//! four packets, which its authors announce as their next work (Li, Yousefi'zadeh, "Distributed
//! ECN-based congestion control", section V) and published as "MPCP: multi packet
//! congestion-control protocol", CCR 39(5), 2009.
//!
//! A chain of n packets carries 2n bits of the load factor, two in the ECN bits of each. With n = 2
//! this is DPCP bit for bit. EXPERIMENTAL beyond: of the article its abstract alone is used, so
//! what follows is a reconstruction from DPCP's text.
//!
//! ```math
//! rho = (lam + kappa_q*q)/(gamma*C*t_rho)                             load factor, each t_rho
//! levels = 3^n  that a chain of n packets tells apart (R1)
//! xi = kappa*(1 - rho)/rho  at the level's upper edge, finer with each digit (R2)
//! cwnd <- cwnd + (1 + xi)^(srtt/t_rho) - 1 + alpha*(srtt/t_d)^2/cwnd  per ACK below 100 %
//! cwnd <- beta*cwnd_before  overload, once; beta falls with the level (R3)
//! ```
//!
//! The carrier of the order is DPCP's, TCP's numbers and nothing else: the first packet of a chain
//! has seq > ack (MSP), all others seq < ack (LSP), and an LSP's place is how many have come since
//! the MSP. Routers count by flow, with two bits more than DPCP's flag; the sender of the ACKs'
//! reading counts likewise.
//!
//! Reconstructed:
//! - R1: 00 stands in no packet, as in DPCP, so that of 2n bits 3^n values are used: 9, 27 and 81.
//!   The third and fourth packet divide each of DPCP's levels (table I) into three and nine equal
//!   parts, so that a chain's first two packets say what DPCP's say.
//! - R2: digits that have not come count as 11, as DPCP's LSP does; each that comes refines xi and
//!   the cut of the chain's MSP, while that is remembered.
//! - R3: the factor of the decrease is table I's at its edges and linear between them.
//! - R4: a chain cut short by the next MSP is an exception, and so are the LSPs beyond its end; one
//!   lost MSP leaves n - 1 of them, which count once towards the fall-back.
//! - R5: xi is never that of a load below DPCP's first edge, 20 %, where it is 1. It grows as
//!   1/rho, so that the finer levels below would fill a link several times over before the first
//!   of the new load factors came back (BMCC's bound is 16 %).
//!
//! Deviations: D1 to D11 of DPCP, and
//! - D12: a digit is of the load factor when its packet leaves. Where a period ends within a chain,
//!   its digits are of two load factors, as in DPCP.

use core::fmt;

use units::{Rate, Span};

use super::dpcp::levels::{CHAIN, Digits, digits, edge};
use super::dpcp::{
    DpcpHeader, DpcpReceiver, DpcpRouterParams, DpcpSender, DpcpSenderParams, Pairs, Part,
};
use super::factor::{LoadMeter, LoadParams};
use super::marking::{Marking, Marks};
use crate::roles::{Ack, Departing, Ecn, EcnUse, Loss, Passing, Sender, SenderContext, Variable};

params! {
    /// The router's parameters.
    pub struct MpcpRouterParams {
        /// n, the packets of a chain; the senders' must be the same.
        packets: u64 = 4 => (2.0, 4.0);
        /// DPCP's.
        dpcp: DpcpRouterParams;
    }
}

params! {
    /// The sender's parameters.
    pub struct MpcpSenderParams {
        /// n, the packets of a chain; the routers' must be the same.
        packets: u64 = 4 => (2.0, 4.0);
        /// DPCP's.
        dpcp: DpcpSenderParams;
    }
}

/// What the chain so far has told a router of its flow (Algorithm 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Nothing yet: LSPs pass as they are.
    Unknown,
    /// The path so far is less loaded than this link.
    Lower,
    /// More.
    Higher,
    /// Equal so far.
    Equal,
}

/// A flow's [`Path`] and the place of its next LSP, two bits each; otherwise as DPCP's flags.
#[derive(Clone, Debug)]
struct Paths {
    words: [u64; Paths::MAX / 16],
    slots: u32,
}

impl Paths {
    const MAX: usize = 4096;

    fn new(slots: u64) -> Paths {
        Paths { words: [0; Paths::MAX / 16], slots: slots.clamp(1, Paths::MAX as u64) as u32 }
    }

    /// Word and shift of a flow's mark.
    #[inline]
    fn place(&self, flow: u32) -> (usize, u32) {
        let slot = flow % self.slots;
        (slot as usize / 16, slot % 16 * 4)
    }

    #[inline]
    fn get(&self, flow: u32) -> (Path, usize) {
        let (word, shift) = self.place(flow);
        let mark = (self.words[word] >> shift) as usize & 15;
        ([Path::Unknown, Path::Lower, Path::Higher, Path::Equal][mark & 3], mark >> 2)
    }

    #[inline]
    fn set(&mut self, flow: u32, (path, next): (Path, usize)) {
        let (word, shift) = self.place(flow);
        let mark = path as u64 | (next as u64) << 2;
        self.words[word] = self.words[word] & !(15 << shift) | mark << shift;
    }
}

/// Algorithm 2 for a digit: what the packet leaves with, and what the chain tells from then on.
#[inline]
fn encode(own: u8, theirs: u8, path: Path) -> (u8, Path) {
    match path {
        Path::Lower => (own, Path::Lower),
        Path::Higher | Path::Unknown => (theirs, path),
        Path::Equal if own > theirs => (own, Path::Lower),
        Path::Equal if own < theirs => (theirs, Path::Higher),
        Path::Equal => (theirs, Path::Equal),
    }
}

/// The router's part.
pub type MpcpRouter = Marking<Chains>;

/// Its marks: the level of its load, in chains of n packets.
#[derive(Clone, Debug)]
pub struct Chains {
    packets: u8,
    flag_slots: u64,
    level: Digits,
    paths: Paths,
}

impl Chains {
    /// What a packet of `flow` that carries `theirs` leaves with.
    #[inline]
    fn code(&mut self, flow: u32, part: Part, theirs: Ecn) -> Ecn {
        let last = usize::from(self.packets) - 1;
        let (path, place) = match part {
            Part::Msp => (Path::Equal, 0),
            Part::Lsp => self.paths.get(flow),
        };
        let (digit, next) = encode(self.level[place], theirs as u8, path);
        if place < last {
            self.paths.set(flow, (next, place + 1));
        }
        [Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(digit.clamp(1, 3) - 1)]
    }
}

impl Marks for Chains {
    type Params = MpcpRouterParams;
    type Header = DpcpHeader;

    fn measure(params: &MpcpRouterParams) -> (LoadParams, Span) {
        Pairs::measure(&params.dpcp)
    }

    fn acks_first(params: &MpcpRouterParams) -> bool {
        params.dpcp.priority
    }

    fn new(params: &MpcpRouterParams) -> Chains {
        let flag_slots = params.dpcp.flag_slots;
        Chains {
            packets: params.packets.clamp(2, CHAIN as u64) as u8,
            flag_slots,
            level: [1; CHAIN],
            paths: Paths::new(flag_slots),
        }
    }

    fn hear(&mut self, rho: f64) {
        self.level = digits(rho, self.packets);
    }

    fn mark(&mut self, packet: Passing<'_, DpcpHeader>) {
        let part = packet.header.map_or(Part::Msp, |header| header.part()); // DPCP's D9
        *packet.ecn = self.code(packet.flow, part, *packet.ecn);
    }

    fn retune(&mut self, params: &MpcpRouterParams, rho: f64) {
        let new = Chains::new(params);
        if (new.packets, new.flag_slots) != (self.packets, self.flag_slots) {
            *self = new;
            self.hear(rho);
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new(
            "rho",
            "",
            "load factor of the last period: arrivals and queue over gamma*C*t_rho",
        ),
        Variable::new("q", "bytes", "persistent queue, an average of samples"),
        Variable::new("upper", "", "upper edge of its level, which the chains bring"),
    ];

    fn probe(&self, meter: &LoadMeter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("rho", meter.rho());
        sink("q", meter.q());
        sink("upper", edge(&self.level, self.packets));
    }

    fn describe(&self, meter: &LoadMeter, out: &mut dyn fmt::Write) -> fmt::Result {
        let (load, edge) = (100.0 * meter.rho(), 100.0 * edge(&self.level, self.packets));
        writeln!(out, "MPCP measured {load:.2} % of its target load: the level below {edge:.2} %")
    }
}

/// The sender's part: DPCP's with longer chains.
#[derive(Clone, Debug)]
pub struct MpcpSender {
    dpcp: DpcpSender,
    packets: u8,
}

impl Sender for MpcpSender {
    type Params = MpcpSenderParams;
    type Header = DpcpHeader;
    type Receiver = DpcpReceiver;

    fn new(params: &MpcpSenderParams, context: &SenderContext) -> MpcpSender {
        let packets = params.packets.clamp(2, CHAIN as u64) as u8;
        MpcpSender { dpcp: DpcpSender::chaining(&params.dpcp, context, packets), packets }
    }

    fn receiver(params: &MpcpSenderParams, context: &SenderContext) -> DpcpReceiver {
        DpcpSender::receiver(&params.dpcp, context)
    }

    fn ecn(&self) -> EcnUse {
        self.dpcp.ecn()
    }

    fn first_byte(&self) -> u32 {
        self.dpcp.first_byte()
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_send(&mut self, segment: &Departing) -> DpcpHeader {
        self.dpcp.on_send(segment)
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_ack(&mut self, ack: &Ack<DpcpHeader>) {
        self.dpcp.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.dpcp.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.dpcp.cwnd()
    }

    fn paces(&self) -> bool {
        self.dpcp.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.dpcp.pacing()
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("xi_s", "", "MI parameter of the level, scaled by RTT: added per ACK"),
        Variable::new("alpha_s", "pkts", "AI parameter scaled by RTT: an ACK adds alpha_s/cwnd"),
        Variable::new("upper", "", "upper edge of the load factor's level as far as it is known"),
        Variable::new("digits", "", "packets of the present chain that have come"),
        Variable::new(
            "mode",
            "",
            "what the last ACK made of it: 0 nothing, 1 MI and AI, 2 AI, 3 MD and the freeze after \
             it",
        ),
        Variable::new(
            "vcp",
            "",
            "0 sends chains, 1 is VCP for a while, 2 waits for the first chain again, 3 is VCP for \
             good",
        ),
        Variable::new("exceptions", "", "packets out of their turn so far"),
        Variable::new("downgrades", "", "times it fell back to VCP so far"),
        Variable::new("misread", "", "ACKs whose numbers were not undone rightly so far"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.dpcp.probe_window(sink);
        let (digits, come) = self.dpcp.known();
        sink("upper", edge(digits, self.packets));
        sink("digits", f64::from(come));
        self.dpcp.probe_state(sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "MPCP, {} packets to a chain. ", self.packets)?;
        self.dpcp.describe(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    use crate::explicit::load::dpcp::DpcpRouter;
    use crate::roles::{Arrived, Feedback, LossKind, Receiver};
    use crate::roles::{Backlog, Router};
    use crate::tests::{
        ack_after, departing, loss, ms, near, passing, router_context, sender_context,
    };
    use units::Span;
    use units::random::Stream;

    fn router(packets: u64, rho: f64) -> MpcpRouter {
        let params = MpcpRouterParams { packets, ..Default::default() };
        let mut router = MpcpRouter::new(&params, &router_context(Rate(10_000_000), 100));
        router.marks.hear(rho);
        router
    }

    fn sender(packets: u64, cwnd: f64) -> (MpcpSender, DpcpReceiver) {
        let params = MpcpSenderParams { packets, ..Default::default() };
        let context = sender_context(cwnd);
        (MpcpSender::new(&params, &context), MpcpSender::receiver(&params, &context))
    }

    /// One segment over routers and back: the ACK's header and code.
    fn cross(
        (sender, receiver): &mut (MpcpSender, DpcpReceiver),
        routers: &mut [MpcpRouter],
        seq: u64,
    ) -> Feedback<DpcpHeader> {
        let mut header = sender.on_send(&Departing { seq, ..departing() });
        let mut ecn = Ecn::Ect1;
        for router in routers {
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_departure(Time::ZERO, packet, Backlog::default());
        }
        let (now, expected, pending) = (Time::ZERO, seq + 1, None);
        receiver.on_data(&Arrived { now, seq, expected, size: 1000, header, ecn, pending })
    }

    fn hear(sender: &mut MpcpSender, now: u64, back: Feedback<DpcpHeader>) {
        let Feedback { header, code } = back;
        sender.on_ack(&Ack { header, code, ..ack_after(ms(now), Span::from_millis(200)) });
    }

    /// Without loss the sender knows, packet for packet, what a quantiser with so many digits makes
    /// of the largest load factor of the path.
    #[test]
    fn without_loss_it_is_the_quantiser() {
        let mut stream = Stream::new(7, 0, "test");
        for draw in 0..600_usize {
            let packets = [2, 3, 4][draw % 3];
            let loads: [f64; 3] = core::array::from_fn(|_| stream.uniform(0.0, 2.2));
            let mut routers = loads.map(|rho| router(packets, rho));
            let most = digits(loads.into_iter().fold(0.0, f64::max), packets as u8);
            let mut ends = sender(packets, 4.0);
            for chain in 0..3 {
                for place in 0..packets {
                    let seq = chain * packets + place;
                    let back = cross(&mut ends, &mut routers, seq);
                    hear(&mut ends.0, 1_000_000 * (chain + 1), back);
                    let (known, come) = ends.0.dpcp.known();
                    let come_to = place as usize + 1;
                    assert_eq!((u64::from(come), &known[..come_to]), (place + 1, &most[..come_to]));
                    assert!(known[come_to..].iter().all(|&digit| digit == 3));
                }
            }
        }
    }

    /// Packets of several flows, lost here and there, at levels that change.
    #[test]
    fn a_router_of_pairs_is_dpcps() {
        let mut stream = Stream::new(8, 0, "test");
        let context = router_context(Rate(10_000_000), 100);
        let mut dpcp = DpcpRouter::new(&DpcpRouterParams::default(), &context);
        let params = MpcpRouterParams { packets: 2, ..Default::default() };
        let mut mpcp = MpcpRouter::new(&params, &context);
        for step in 0..20_000_u64 {
            let now = ms(step);
            let bytes = stream.bits() % 400_000;
            while dpcp.next_timer() <= now {
                assert_eq!(dpcp.next_timer(), mpcp.next_timer());
                let backlog = Backlog { packets: 1, bytes };
                dpcp.on_timer(dpcp.next_timer(), backlog);
                mpcp.on_timer(mpcp.next_timer(), backlog);
            }
            let flow = (stream.bits() % 7) as u32;
            let (seq, ack) = if stream.chance(0.5) { (9, 4) } else { (4, 9) };
            let code = [Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::NotCapable][stream.bits() as usize % 4];
            let mut left = [code, code];
            let [a, b] = &mut left;
            let size = (stream.bits() % 3000) as u32;
            for (ecn, first) in [(a, true), (b, false)] {
                let mut header = DpcpHeader { seq, ack, stale: false };
                let packet = Passing { flow, size, header: Some(&mut header), ..passing(ecn) };
                if first {
                    dpcp.on_arrival(now, packet, Backlog::default());
                } else {
                    mpcp.on_arrival(now, packet, Backlog::default());
                }
            }
            for (ecn, first) in [(0, true), (1, false)] {
                let mut header = DpcpHeader { seq, ack, stale: false };
                let ecn = &mut left[ecn];
                let packet = Passing { flow, size, header: Some(&mut header), ..passing(ecn) };
                if first {
                    dpcp.on_departure(now, packet, Backlog::default());
                } else {
                    mpcp.on_departure(now, packet, Backlog::default());
                }
            }
            assert_eq!(left[0], left[1], "{step}");
        }
    }

    /// The same ACKs in any order, losses and timeouts: one window.
    #[test]
    fn a_sender_of_pairs_is_dpcps() {
        let mut stream = Stream::new(9, 0, "test");
        let context = sender_context(20.0);
        let (mut mpcp, _) = sender(2, 20.0);
        let mut dpcp = DpcpSender::new(&DpcpSenderParams::default(), &context);
        for step in 0..20_000_u64 {
            let out = Departing { seq: step, now: ms(step), ..departing() };
            assert_eq!(dpcp.on_send(&out), mpcp.on_send(&out));
            let (seq, ack) = if stream.chance(0.5) { (9, 4) } else { (4, 9) };
            let header = DpcpHeader { seq, ack, stale: false };
            let code = [Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ect0][stream.bits() as usize % 4];
            let rtt = Span::from_millis(150 + stream.bits() % 100);
            let ack = Ack { header, code, ..ack_after(ms(step), rtt) };
            dpcp.on_ack(&ack);
            mpcp.on_ack(&ack);
            if stream.chance(0.01) {
                let kind = if stream.chance(0.2) { LossKind::Timeout } else { LossKind::DupAcks };
                dpcp.on_loss(&loss(kind, 9));
                mpcp.on_loss(&loss(kind, 9));
            }
            assert_eq!((dpcp.cwnd(), dpcp.pacing()), (mpcp.cwnd(), mpcp.pacing()), "{step}");
        }
    }

    /// rho = 1.2 with four packets is [3, 2, 2, 1]: of 1.05 to 1.4 the fourth ninth ends at 1.05 +
    /// 0.35*4/9 = 1.205 5..., where 0.6 + 0.275*(1.4 - 1.2055...)/0.35 = 0.752 77... is left.
    /// Before, with the digits that have come: 0.43 at 2, 0.6 at 1.4, and 1.05 + 0.35*6/9 = 1.28333
    /// leaves 0.691 66...
    #[test]
    fn each_digit_corrects_the_cut() {
        assert_eq!(digits(1.2, 4), [3, 2, 2, 1]);
        let (mut ends, mut routers) = (sender(4, 100.0), [router(4, 1.2)]);
        let left = [0.43, 0.6, 0.6 + 0.275 * (1.4 - 1.283_333_333_333) / 0.35, 0.752_777_777_777];
        for (seq, left) in left.into_iter().enumerate() {
            let back = cross(&mut ends, &mut routers, seq as u64);
            hear(&mut ends.0, 1000 + seq as u64, back);
            assert!((ends.0.cwnd() - 100.0 * left).abs() < 1e-9, "{seq}: {}", ends.0.cwnd());
        }
    }

    /// Of chains M 1 2 3 the second loses its last packet and the fourth its first: one exception,
    /// and three; in a row they count two, which is not enough to fall back (R4).
    #[test]
    fn losses_cut_chains_short() {
        let (mut ends, mut routers) = (sender(4, 50.0), [router(4, 0.9)]);
        for seq in 0..24 {
            let back = cross(&mut ends, &mut routers, seq);
            if seq != 7 && seq != 12 {
                hear(&mut ends.0, 10 * seq, back);
            }
        }
        let mut shown = [f64::NAN; 2];
        ends.0.probe(&mut |name, value| match name {
            "exceptions" => shown[0] = value,
            "downgrades" => shown[1] = value,
            _ => {}
        });
        assert_eq!(shown, [4.0, 0.0]);
        assert_eq!(ends.0.dpcp.known(), (&[2, 2, 2, 2], 4));
        assert!(near(edge(&[2, 2, 2, 2], 4), 0.905_555_555_555_555));
    }

    /// Both ends begin with the numbers of DPCP's handshake.
    #[test]
    fn the_receiver_is_dpcps() {
        let (mut ends, context) = (sender(3, 4.0), sender_context(4.0));
        let mut dpcps = DpcpSender::receiver(&DpcpSenderParams::default(), &context);
        let header = ends.0.on_send(&departing());
        let (now, ecn, pending) = (Time::ZERO, Ecn::Ect1, None);
        let data = Arrived { now, seq: 0, expected: 1, size: 1000, header, ecn, pending };
        let (ours, wanted) = (ends.1.on_data(&data), dpcps.on_data(&data));
        assert_eq!((ours.header, ours.code), (wanted.header, wanted.code));
    }

    /// Sixteen marks share a word: flow 16's is not flow 0's, and with 64 places flow 64's is.
    #[test]
    fn each_flow_has_a_mark_until_places_run_out() {
        let mut paths = Paths::new(64);
        paths.set(16, (Path::Higher, 2));
        assert_eq!((paths.get(0).1, paths.get(16).1, paths.get(1).1), (0, 2, 0));
        paths.set(64, (Path::Lower, 1));
        assert_eq!((paths.get(0).1, paths.get(16).1), (1, 2));
    }

    /// TCP's numbers begin where DPCP's do, at random, so that Algorithm 1 seldom finds them equal.
    #[test]
    fn numbers_begin_like_dpcps() {
        let context = sender_context(4.0);
        let (s, _) = sender(3, 4.0);
        let dpcp = DpcpSender::new(&Default::default(), &context);
        assert_eq!(s.first_byte(), dpcp.first_byte());
        assert_ne!(s.first_byte(), 0);
    }

    /// Packets are spaced where DPCP's parameters say so, and not otherwise.
    #[test]
    fn spacing_is_dpcps() {
        for spaced in [true, false] {
            let mut params = MpcpSenderParams::default();
            params.dpcp.spacing.pace_large_rtt = spaced;
            assert_eq!(MpcpSender::new(&params, &sender_context(4.0)).paces(), spaced);
        }
    }
}
