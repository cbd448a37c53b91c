//! The end hosts: order the packets, put the load factor together, move the window (sections III-A,
//! C and D).

use core::fmt;

use units::{Rate, Span, Time, math};

use super::Level;
use super::levels::{CHAIN, Digits, EDGES, edge, md};
use super::order::{DpcpHeader, Numbers, Part, Sent, Track};
use crate::explicit::load::factor::{SpacingParams, xi};
use crate::explicit::load::vcp::{
    LimitParams, Phase, ScaleRtt, ScalingParams, VcpSender, VcpSenderParams, zone,
};
use crate::params::First;
use crate::roles::{
    Ack, Arrived, Departing, Ecn, EcnUse, Feedback, Loss, Receiver, Sender, SenderContext, Variable,
};

params! {
    /// The sender's parameters.
    pub struct DpcpSenderParams {
        /// t_rho, the period of the load factor: MI's base and the length of the freeze.
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_d, the common base RTT of the additive increase (VCP's eq. 8).
        t_d: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// kappa, in xi = kappa*(1 - rho)/rho at the upper edge of the level (VCP's eq. 10).
        kappa: f64 = 0.25 => (0.0, 10.0);
        /// alpha, the additive increase per t_d [packets] (VCP's eq. 3).
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// The flow's weight: its alpha is this many times as large.
        weight: f64 = 1.0 => (0.001, 1000.0);
        /// The RTT that scales the additive increase.
        scale_rtt: First<ScaleRtt, 2> = First(ScaleRtt::Srtt);
        /// Are the increases of very short and very long RTTs limited, as VCP's? Section II-B sees
        /// in these bounds what makes VCP slow. Without them xi = 1 makes 32 windows of one in an
        /// RTT of 1 s.
        bounds: bool = true;
        /// VCP's limiters.
        limits: LimitParams;
        /// Whether packets are spaced.
        spacing: SpacingParams;
        /// Does a loss leave the window alone, timeouts included? Else it is answered as by Reno.
        /// Meant to go with the recovery that finds lost retransmissions, too.
        decoupled_loss: bool = false;
        /// Consecutive MSPs or LSPs that make the sender fall back to VCP (section III-D).
        downgrade_after: u64 = 3 => (2.0, 1000.0);
        /// After so many RTTs it sends pairs again ("several", section III-D).
        resume_rtts: f64 = 10.0 => (0.0, 10000.0);
        /// So many relapses make the fall-back final (section III-D).
        relapses: u64 = 3 => (0.0, 1000000.0);
        /// How far the receiver's number is ahead of the data's first one [bytes]; both are random,
        /// and this is, too, at -1 (section III-B). A multiple of the payload makes a tie.
        gap: f64 = -1.0 => (-1.0, 4294967295.0);
    }
}

/// The sender's part.
#[derive(Clone, Debug)]
pub struct DpcpSender {
    /// The window; alone it is the fall-back.
    vcp: VcpSender,
    kappa: f64,
    load: Load,
    /// The window before the cut that the LSP will correct; 0 if none will.
    remembered: f64,
    /// What the last ACK did to the window: 0 nothing, 1 MI and AI, 2 AI, 3 MD or the freeze.
    did: u8,
    /// Do losses leave the window alone?
    decoupled: bool,
    fall_back: FallBack,
    wire: Wire,
}

impl DpcpSender {
    /// The load factor as far as it is known: the digits, and how many have come.
    pub(crate) fn known(&self) -> (&Digits, u8) {
        (&self.load.digits, self.load.come)
    }

    /// An ACK that tells a whole level at once, as no packet of a pair does.
    pub(crate) fn hear_level<H>(&mut self, ack: &Ack<H>, (msp, lsp): Level) {
        self.vcp.pass(ack);
        self.load.begin(msp as u8);
        self.load.refine(lsp as u8);
        self.did = self.react(ack.now, Some(Part::Msp));
        self.remembered = 0.0;
    }

    /// Moves the window by the load factor (section III-A).
    #[inline]
    fn react(&mut self, now: Time, part: Option<Part>) -> u8 {
        let lsp = part == Some(Part::Lsp);
        let overload = self.load.msp() == 3;
        match self.vcp.phase {
            Phase::Frozen(_) => {
                if lsp && self.remembered > 0.0 {
                    self.vcp.cwnd = (self.md() * self.remembered).max(1.0);
                    if self.load.whole() {
                        self.remembered = 0.0;
                    }
                }
                3
            }
            Phase::Additive(_) => {
                self.vcp.increase_additively();
                2
            }
            // 00 tells nothing (D6), and only MSPs cut.
            Phase::Free if part.is_none() || lsp && overload => 0,
            Phase::Free if overload => {
                self.remembered = self.vcp.cwnd;
                self.vcp.cut(now, self.md());
                3
            }
            Phase::Free => {
                // Both are of the window before (VCP's eq. 9).
                self.vcp.cwnd += self.xi_s() + self.vcp.alpha_s() / self.vcp.cwnd;
                1
            }
        }
    }

    /// The scaled MI parameter at the upper edge of the level (VCP's eq. 6); 0 in overload.
    #[inline]
    fn xi_s(&self) -> f64 {
        if self.fall_back.mode != Mode::Pairs {
            return self.vcp.xi_s(self.vcp.ln_mi);
        }
        let edge = edge(&self.load.digits, self.load.packets).clamp(EDGES[0], 1.0);
        self.vcp.xi_s(math::ln(1.0 + xi(self.kappa, edge)))
    }

    /// The factor of the decrease at the upper edge of the level.
    fn md(&self) -> f64 {
        md(edge(&self.load.digits, self.load.packets))
    }

    /// Puts an ACK's part into the load factor (sections III-C and D).
    #[inline]
    fn take(&mut self, now: Time, part: Part, code: u8) {
        if self.fall_back.mode == Mode::Resuming && part == Part::Lsp {
            let fall_back = &mut self.fall_back;
            (fall_back.mode, fall_back.in_row) = (Mode::Pairs, 1);
            self.load.begin(self.load.msp());
        }
        if self.fall_back.mode != Mode::Pairs {
            if part == Part::Msp {
                self.load.digits[0] = code;
            }
            return;
        }
        // A chain that was cut short, or a packet beyond its end.
        let again = self.load.whole() == (part == Part::Lsp);
        let (msp, lone) = (self.load.msp(), self.load.come == 1);
        match (part, again) {
            (Part::Msp, true) if lone => self.load.begin(code.max(msp)),
            (Part::Msp, _) => self.load.begin(code),
            (Part::Lsp, false) => self.load.refine(code),
            (Part::Lsp, true) => {
                self.load.digits = [3; CHAIN];
                self.load.digits[0] = msp;
            }
        }
        self.fall_back.saw(part, again, &self.load);
        if again {
            self.remembered = 0.0;
            if self.fall_back.in_row >= self.fall_back.after {
                self.fall_back.begin(now, self.vcp.rtt_or_period());
                if part == Part::Msp {
                    self.load.digits[0] = code;
                }
            }
        }
    }
}

/// The load factor as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// The packets' codes as numbers from 1 to 3; what has not come yet is taken as 3.
    pub digits: Digits,
    /// The packets of a chain: 2, and up to 4 with [`super::super::mpcp`].
    pub packets: u8,
    /// Packets of the present chain that have come.
    pub come: u8,
}

impl Load {
    /// The zone, which the MSP brings.
    pub fn msp(&self) -> u8 {
        self.digits[0]
    }

    /// Has the whole chain come?
    fn whole(&self) -> bool {
        self.come >= self.packets
    }

    /// A chain begins with this zone.
    fn begin(&mut self, msp: u8) {
        self.digits = [3; CHAIN];
        self.digits[0] = msp;
        self.come = 1;
    }

    /// The next digit of the chain.
    fn refine(&mut self, digit: u8) {
        self.digits[usize::from(self.come)] = digit;
        self.come += 1;
    }
}

/// Which protocol the sender speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// DPCP.
    Pairs,
    /// VCP, until then.
    Vcp(Time),
    /// It sends pairs again and waits for the first LSP.
    Resuming,
    /// VCP for good.
    Settled,
}

/// Why and for how long it is VCP (section III-D).
#[derive(Clone, Debug)]
struct FallBack {
    mode: Mode,
    /// How many parts of one kind came in a row, or, in longer chains, 1 and how many chains were
    /// cut short or lacked their MSP.
    in_row: u32,
    /// LSPs beyond the end of a chain that are of one lost MSP, as far as they have come.
    beyond: u8,
    exceptions: u32,
    downgrades: u32,
    /// The parameters.
    after: u32,
    relapses: u32,
    resume_rtts: f32,
}

impl FallBack {
    /// A part has come, in its turn or as an exception.
    #[inline]
    fn saw(&mut self, part: Part, again: bool, load: &Load) {
        if again {
            self.exceptions += 1;
            // A lost MSP leaves as many LSPs as a chain has.
            let counts = part == Part::Msp || self.beyond == 0;
            self.in_row = self.in_row.saturating_add(u32::from(counts));
            self.beyond = match part {
                Part::Msp => 0,
                Part::Lsp => (self.beyond + 1) % (load.packets - 1),
            };
        } else if part == Part::Msp || load.whole() {
            (self.in_row, self.beyond) = (1, 0);
        }
    }

    #[cold]
    fn begin(&mut self, now: Time, rtt: Span) {
        self.mode = if self.downgrades >= self.relapses {
            Mode::Settled
        } else {
            let rtts = rtt.as_secs() * f64::from(self.resume_rtts);
            Mode::Vcp(now + Span::from_secs_f64(rtts))
        };
        self.downgrades += 1;
    }
}

/// What is sent and what comes back, as TCP's numbers say it (section III-B).
#[derive(Clone, Debug)]
struct Wire {
    /// The next packet's place in its chain, of so many packets; 0 is the MSP's.
    turn: u8,
    packets: u8,
    /// The first segment not acknowledged, and one past the highest sent.
    una: u64,
    nxt: u64,
    track: Track,
    /// The receiver's number, which it waits for.
    peer: u32,
    /// ACKs whose undone numbers were not those that they must have.
    misread: u32,
}

impl Wire {
    /// A segment in the order that says `part`.
    #[inline]
    fn send(&mut self, segment: &Departing, part: Part) -> DpcpHeader {
        self.track.saw(segment.seq, segment.size);
        self.nxt = self.nxt.max(segment.seq.saturating_add(1));
        self.turn = match part {
            Part::Msp => 1,
            Part::Lsp => (self.turn + 1) % self.packets,
        };
        DpcpHeader::order(part, Numbers { seq: self.track.at(segment.seq), ack: self.peer })
    }

    /// Undoes the order of an ACK's numbers and holds it against what it must be.
    #[inline]
    fn check(&mut self, ack: &Ack<DpcpHeader>) {
        self.una = (self.una + u64::from(ack.acked)).min(self.nxt);
        let numbers = ack.header.undo(self.track.sent(self.una, self.nxt), self.peer);
        let behind = self.track.at(self.una).wrapping_sub(numbers.ack);
        // One that overtook others acknowledges less than is acknowledged already.
        let right = behind == 0 || ack.acked == 0 && behind < 1 << 31;
        self.misread += u32::from(!right || numbers.seq != self.peer);
    }
}

impl DpcpSender {
    /// A sender of chains of so many packets, 2 to 4.
    pub(crate) fn chaining(
        params: &DpcpSenderParams,
        context: &SenderContext,
        packets: u8,
    ) -> DpcpSender {
        let &DpcpSenderParams { t_rho, t_d, kappa, alpha, weight, bounds, .. } = params;
        let vcp = VcpSenderParams {
            t_rho,
            t_d,
            kappa,
            alpha,
            weight,
            scaling: ScalingParams { scale_rtt: params.scale_rtt.0, ..Default::default() },
            limiters: bounds,
            limits: params.limits.clone(),
            spacing: params.spacing.clone(),
            ..Default::default()
        };
        let Numbers { seq, ack } = handshake(params, context);
        DpcpSender {
            vcp: VcpSender::new(&vcp, context),
            kappa,
            load: Load { digits: [1; CHAIN], packets, come: packets },
            remembered: 0.0,
            did: 0,
            decoupled: params.decoupled_loss,
            fall_back: FallBack {
                mode: Mode::Pairs,
                in_row: 0,
                beyond: 0,
                exceptions: 0,
                downgrades: 0,
                // The parameters' ranges are below 2^32.
                after: params.downgrade_after as u32,
                relapses: params.relapses as u32,
                resume_rtts: params.resume_rtts as f32,
            },
            wire: Wire {
                turn: 0,
                packets,
                una: 0,
                nxt: 0,
                track: Track::new(seq, context.packet_bytes),
                peer: ack,
                misread: 0,
            },
        }
    }

    /// What MPCP's sender shows as well, before the load factor.
    pub(crate) fn probe_window(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.vcp.cwnd);
        sink("xi_s", self.xi_s());
        sink("alpha_s", self.vcp.alpha_s());
    }

    /// The same, after it.
    pub(crate) fn probe_state(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("mode", f64::from(self.did));
        let vcp = match self.fall_back.mode {
            Mode::Pairs => 0.0,
            Mode::Vcp(_) => 1.0,
            Mode::Resuming => 2.0,
            Mode::Settled => 3.0,
        };
        sink("vcp", vcp);
        sink("exceptions", f64::from(self.fall_back.exceptions));
        sink("downgrades", f64::from(self.fall_back.downgrades));
        sink("misread", f64::from(self.wire.misread));
    }
}

/// The data's first number and the receiver's, which the handshake would have told both ends.
fn handshake(params: &DpcpSenderParams, context: &SenderContext) -> Numbers {
    let bits = context.stream.clone().bits();
    let seq = (bits >> 32) as u32;
    let ack = if params.gap < 0.0 { bits as u32 } else { seq.wrapping_add(params.gap as u32) };
    Numbers { seq, ack: ack.max(1) } // D1
}

/// The receiver's part: undoes the order and returns each packet's code in an ACK of the same
/// order.
#[derive(Clone, Copy, Debug, Default)]
pub struct DpcpReceiver {
    track: Track,
    /// The number it waits for.
    next: u32,
    /// Its own number; it sends no data.
    own: u32,
}

impl Receiver for DpcpReceiver {
    type Header = DpcpHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<DpcpHeader>) -> Feedback<DpcpHeader> {
        let sent = Sent { from: self.own, to: self.own };
        let seq = data.header.undo(sent, self.next).seq;
        self.track.saw(data.seq, data.size);
        // What the ACK says follows from what stood in the packet, not from what the sender knows.
        let ahead = self.track.bytes(data.expected).wrapping_sub(self.track.bytes(data.seq));
        self.next = seq.wrapping_add(ahead);
        let numbers = Numbers { seq: self.own, ack: self.next };
        let (mut part, mut code) = (data.header.part(), data.ecn);
        if let Some(pending) = &data.pending
            && pending.header.part() == Part::Msp
        {
            code = if part == Part::Msp { code.max(pending.code) } else { pending.code }; // D7
            part = Part::Msp;
        }
        Feedback { header: DpcpHeader::order(part, numbers), code }
    }
}

impl Sender for DpcpSender {
    type Params = DpcpSenderParams;
    type Header = DpcpHeader;
    type Receiver = DpcpReceiver;

    fn new(params: &DpcpSenderParams, context: &SenderContext) -> DpcpSender {
        DpcpSender::chaining(params, context, 2)
    }

    fn receiver(params: &DpcpSenderParams, context: &SenderContext) -> DpcpReceiver {
        let Numbers { seq, ack } = handshake(params, context);
        DpcpReceiver { track: Track::new(seq, context.packet_bytes), next: seq, own: ack }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect1)
    }

    fn first_byte(&self) -> u32 {
        self.wire.track.first
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> DpcpHeader {
        let part = match self.fall_back.mode {
            Mode::Pairs | Mode::Resuming if self.wire.turn == 0 => Part::Msp,
            Mode::Pairs | Mode::Resuming => Part::Lsp,
            Mode::Vcp(_) | Mode::Settled => Part::Msp, // D4
        };
        self.wire.send(segment, part)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<DpcpHeader>) {
        self.wire.check(ack);
        self.vcp.pass(ack);
        if let Mode::Vcp(until) = self.fall_back.mode
            && ack.now >= until
        {
            (self.fall_back.mode, self.wire.turn) = (Mode::Resuming, 0);
        }
        let part = (ack.code != Ecn::NotCapable).then(|| ack.header.part()); // D6
        if let Some(part) = part {
            self.take(ack.now, part, ack.code as u8);
        }
        self.did = if self.fall_back.mode == Mode::Pairs {
            self.react(ack.now, part)
        } else {
            // To VCP an LSP says nothing (D5).
            let lsp = part == Some(Part::Lsp);
            self.vcp.answer(ack.now, if lsp { Ecn::NotCapable } else { ack.code });
            self.vcp.mode()
        };
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.decoupled {
            return;
        }
        self.remembered = 0.0; // D8
        self.vcp.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.vcp.cwnd()
    }

    fn paces(&self) -> bool {
        self.vcp.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.vcp.pacing()
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("xi_s", "", "MI parameter of the level, scaled by RTT: added per ACK"),
        Variable::new("alpha_s", "pkts", "AI parameter scaled by RTT: an ACK adds alpha_s/cwnd"),
        Variable::new("lf", "", "load factor as far as it is known: 4*msp + lsp, 5 to 15"),
        Variable::new("msp", "", "its zone: 1 low load, 2 high load, 3 overload"),
        Variable::new("lsp", "", "its level within the zone, 1 to 3; 3 until the LSP comes"),
        Variable::new(
            "mode",
            "",
            "what the last ACK made of it: 0 nothing, 1 MI (with AI in pairs), 2 AI, 3 MD and the \
             freeze after it",
        ),
        Variable::new(
            "vcp",
            "",
            "0 sends pairs, 1 is VCP for a while, 2 waits for the first pair again, 3 is VCP for good",
        ),
        Variable::new("exceptions", "", "MSPs after MSPs and LSPs after LSPs so far"),
        Variable::new("downgrades", "", "times it fell back to VCP so far"),
        Variable::new("misread", "", "ACKs whose numbers were not undone rightly so far"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let [msp, lsp, ..] = self.load.digits;
        self.probe_window(sink);
        sink("lf", f64::from(4 * msp + lsp));
        sink("msp", f64::from(msp));
        sink("lsp", f64::from(lsp));
        self.probe_state(sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let [msp, lsp, ..] = self.load.digits;
        let zone = zone(msp);
        let pairs = self.fall_back.mode == Mode::Pairs;
        match self.fall_back.mode {
            Mode::Pairs if self.load.packets > 2 => {
                writeln!(
                    out,
                    "load factor below {:.4}, {zone}",
                    edge(&self.load.digits, self.load.packets)
                )?;
            }
            Mode::Pairs => writeln!(out, "DPCP: load factor {msp:02b} {lsp:02b}, {zone}")?,
            Mode::Vcp(_) => writeln!(out, "DPCP has fallen back to VCP for a while: {zone}")?,
            Mode::Resuming => {
                writeln!(out, "DPCP sends pairs again and waits for the first one: {zone}")?;
            }
            Mode::Settled => writeln!(out, "DPCP has fallen back to VCP for good: {zone}")?,
        }
        let (xi_s, adds) = (self.xi_s(), self.vcp.alpha_s() / self.vcp.cwnd);
        match self.did {
            0 => writeln!(out, "the last ACK changed nothing"),
            1 if pairs => writeln!(
                out,
                "MI and AI: an ACK adds xi_s = {xi_s:.4} and alpha_s/cwnd = {adds:.5} packets"
            ),
            1 => writeln!(out, "multiplicative increase: an ACK adds xi_s = {xi_s:.4} packets"),
            2 => writeln!(out, "additive increase: an ACK adds alpha_s/cwnd = {adds:.5} packets"),
            _ => writeln!(out, "a cut is done: the window is frozen for one t_rho"),
        }
    }
}

#[cfg(test)]
mod tests {
    mod hosts;
}
