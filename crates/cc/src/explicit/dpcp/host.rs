//! The end hosts: order the packets, put the load factor together, move the window (sections III-A,
//! C and D).

use units::{Rate, Span, Time, math};

use super::EDGES;
use super::order::{DpcpHeader, Numbers, Part, Sent, Track};
use crate::explicit::load::{after_loss, growth, limited_square, ratio, slots, spaced, xi};
use crate::roles::{
    Ack, Arrived, Departing, Ecn, EcnUse, Feedback, Loss, Receiver, Sender, SenderContext, Variable,
};

choice! {
    /// Which RTT scales the additive increase.
    pub enum ScaleRtt {
        /// The smoothed RTT, queueing included.
        Srtt = "srtt",
        /// The smallest RTT seen.
        MinRtt = "min_rtt",
    }
}

params! {
    /// The sender's parameters.
    pub struct DpcpSenderParams {
        /// t_rho, the period of the load factor: MI's base and the length of the freeze.
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_d, the common base RTT of the additive increase (VCP's eq. 8).
        t_d: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// kappa, in xi = kappa*(1 - rho)/rho at the upper edge of the level (VCP's eq. 9).
        kappa: f64 = 0.25 => (0.0, 10.0);
        /// alpha, the additive increase per t_d [packets] (VCP's eq. 3).
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// The flow's weight: its alpha is this many times as large.
        weight: f64 = 1.0 => (0.001, 1000.0);
        /// The RTT that scales the additive increase.
        scale_rtt: ScaleRtt = ScaleRtt::Srtt;
        /// Are the increases of very short and very long RTTs limited, as VCP's? Section II-B sees in
        /// these bounds what makes VCP slow. Without them xi = 1 makes 32 windows of one in an RTT of
        /// 1 s.
        bounds: bool = true;
        /// The MI scaling limiter: srtt/t_rho counts up to this.
        mi_limit: f64 = 2.5 => (0.001, 100.0);
        /// The AI scaling limiter's lower end; below it g is linear.
        ai_limit_low: Span = Span::from_millis(20) => (0.0, 100.0);
        /// The AI scaling limiter's upper end; above it g has slope 1.
        ai_limit_high: Span = Span::from_millis(500) => (0.0, 100.0);
        /// Are packets spaced when few of them share an RTT much longer than t_rho?
        pace_large_rtt: bool = true;
        /// Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once when the
        /// window allows.
        pacing: f64 = 0.0 => (0.0, 10.0);
        /// Does a loss leave the window alone, timeouts included? Else it is answered as by Reno. Meant
        /// to go with the recovery that finds lost retransmissions, too.
        decoupled_loss: bool = false;
        /// Consecutive MSPs or LSPs that make the sender fall back to VCP (section III-D).
        downgrade_after: u64 = 3 => (2.0, 1000.0);
        /// After so many RTTs it sends pairs again ("several", section III-D).
        resume_rtts: f64 = 10.0 => (0.0, 10000.0);
        /// So many relapses make the fall-back final (section III-D).
        relapses: u64 = 3 => (0.0, 1000000.0);
        /// How far the receiver's number is ahead of the data's first one [bytes]; both are random, and
        /// this is, too, at -1 (section III-B). A multiple of the payload makes a tie.
        gap: f64 = -1.0 => (-1.0, 4294967295.0);
    }
}

/// The factors of the decrease (table I).
const MD: [f64; 3] = [0.875, 0.6, 0.43];
/// VCP's transition point and its decrease.
const VCP_EDGE: f64 = 0.8;
const VCP_MD: f64 = 0.875;

/// The data's first number and the receiver's, which the handshake would have told both ends.
fn handshake(params: &DpcpSenderParams, context: &SenderContext) -> Numbers {
    let bits = context.stream.clone().bits();
    let seq = (bits >> 32) as u32;
    let ack = if params.gap < 0.0 { bits as u32 } else { seq.wrapping_add(params.gap as u32) };
    Numbers { seq, ack: ack.max(1) } // D1
}

/// The receiver's part: undoes the order and returns each packet's code in an ACK of the same order.
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

/// What it does with the codes that come back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Obeys them.
    Free,
    /// Leaves the window alone until then.
    Frozen(Time),
    /// Increases additively until then.
    Additive(Time),
}

/// The sender's part.
#[derive(Clone, Debug)]
pub struct DpcpSender {
    /// [packets]
    cwnd: f64,
    phase: Phase,
    mode: Mode,
    /// The load factor as far as it is known, as numbers from 1 to 3.
    msp: u8,
    lsp: u8,
    /// The last ACK's part, and how many of its kind came in a row.
    last: Part,
    in_row: u32,
    /// What the last ACK did to the window: 0 nothing, 1 MI and AI, 2 AI, 3 MD or the freeze.
    did: u8,
    /// The next packet's part.
    turn: Part,
    /// The window before the cut that the LSP will correct; 0 if none will.
    remembered: f64,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    t_rho: Span,
    kappa: f64,
    /// The largest srtt/t_rho that MI counts.
    mi_limit: f64,
    /// alpha*weight.
    alpha: f64,
    t_d: Span,
    /// L and R, the AI limiter's ends over t_d.
    ai_limits: Option<(f64, f64)>,
    scale_rtt: ScaleRtt,
    paces: bool,
    pacing: f32,
    decoupled: bool,
    downgrade_after: u32,
    relapses: u32,
    resume_rtts: f32,
    packet_bytes: u32,
    /// The first segment not acknowledged, and one past the highest sent.
    una: u64,
    nxt: u64,
    track: Track,
    /// The receiver's number, which it waits for.
    peer: u32,
    exceptions: u32,
    downgrades: u32,
    /// ACKs whose undone numbers were not those that they must have.
    misread: u32,
}

impl DpcpSender {
    /// The scaled MI parameter of a load factor, (1 + xi)^(srtt/t_rho) - 1 (VCP's eq. 6).
    #[inline]
    fn xi_s(&self, edge: f64) -> f64 {
        let periods = ratio(self.srtt, self.t_rho).min(self.mi_limit);
        growth(math::ln(1.0 + xi(self.kappa, edge)) * periods)
    }

    /// The scaled AI parameter, alpha*(rtt/t_d)^2 (VCP's eq. 8) with the limiter.
    #[inline]
    fn alpha_s(&self) -> f64 {
        let rtt = match self.scale_rtt {
            ScaleRtt::Srtt => self.srtt,
            ScaleRtt::MinRtt => self.min_rtt,
        };
        self.alpha * limited_square(ratio(rtt, self.t_d), self.ai_limits)
    }

    /// The upper edge of the level that it takes the load for; 1 in overload.
    fn edge(&self) -> f64 {
        match self.mode {
            Mode::Pairs => EDGES[usize::from(3 * (self.msp - 1) + self.lsp - 1)].min(1.0),
            _ => VCP_EDGE,
        }
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

    /// Freeze and additive increase run out with time.
    #[inline]
    fn pass_time(&mut self, now: Time) {
        if let Phase::Frozen(until) = self.phase
            && now >= until
        {
            self.phase = Phase::Additive(until + self.srtt.unwrap_or(self.t_rho));
            self.remembered = 0.0;
        }
        if let Phase::Additive(until) = self.phase
            && now >= until
        {
            self.phase = Phase::Free;
        }
        if let Mode::Vcp(until) = self.mode
            && now >= until
        {
            (self.mode, self.turn) = (Mode::Resuming, Part::Msp);
        }
    }

    /// Puts an ACK's part into the load factor (sections III-C and D).
    #[inline]
    fn take(&mut self, now: Time, part: Part, code: u8) {
        if self.mode == Mode::Resuming && part == Part::Lsp {
            (self.mode, self.last, self.in_row) = (Mode::Pairs, Part::Msp, 1);
        }
        if self.mode != Mode::Pairs {
            if part == Part::Msp {
                self.msp = code;
            }
            return;
        }
        let again = part == self.last;
        self.in_row = if again { self.in_row.saturating_add(1) } else { 1 };
        self.last = part;
        (self.msp, self.lsp) = match (part, again) {
            (Part::Msp, false) => (code, 3),
            (Part::Msp, true) => (code.max(self.msp), 3),
            (Part::Lsp, false) => (self.msp, code),
            (Part::Lsp, true) => (self.msp, 3),
        };
        if again {
            self.exceptions += 1;
            self.remembered = 0.0;
            if self.in_row >= self.downgrade_after {
                self.downgrade(now);
                if part == Part::Msp {
                    self.msp = code;
                }
            }
        }
    }

    #[cold]
    fn downgrade(&mut self, now: Time) {
        self.mode = if self.downgrades >= self.relapses {
            Mode::Settled
        } else {
            let rtt = self.srtt.unwrap_or(self.t_rho).as_secs();
            Mode::Vcp(now + Span::from_secs_f64(rtt * f64::from(self.resume_rtts)))
        };
        self.downgrades += 1;
    }

    /// Moves the window (section III-A).
    #[inline]
    fn react(&mut self, now: Time, part: Option<Part>) {
        let pairs = self.mode == Mode::Pairs;
        let lsp = part == Some(Part::Lsp);
        self.did = match (self.phase, self.msp) {
            (Phase::Frozen(_), _) => {
                if lsp && pairs && self.remembered > 0.0 {
                    let md = MD[usize::from(self.lsp - 1)];
                    self.cwnd = (md * self.remembered).max(1.0);
                    self.remembered = 0.0;
                }
                3
            }
            (Phase::Additive(_), _) => self.increase_additively(),
            // Only MSPs cut, and to VCP an LSP says nothing (D5, D6).
            (Phase::Free, zone) if part.is_none() || lsp && (zone == 3 || !pairs) => 0,
            (Phase::Free, 3) => {
                let md = if pairs { MD[2] } else { VCP_MD };
                self.remembered = if pairs { self.cwnd } else { 0.0 };
                self.cwnd = (md * self.cwnd).max(1.0);
                self.phase = Phase::Frozen(now + self.t_rho);
                3
            }
            (Phase::Free, _) if pairs => {
                // Both are of the window before (VCP's eq. 9).
                self.cwnd += self.xi_s(self.edge()) + self.alpha_s() / self.cwnd;
                1
            }
            (Phase::Free, 2) => self.increase_additively(),
            (Phase::Free, _) => {
                self.cwnd += self.xi_s(VCP_EDGE);
                1
            }
        };
    }

    fn increase_additively(&mut self) -> u8 {
        self.cwnd += self.alpha_s() / self.cwnd;
        2
    }
}

impl Sender for DpcpSender {
    type Params = DpcpSenderParams;
    type Header = DpcpHeader;
    type Receiver = DpcpReceiver;

    fn new(params: &DpcpSenderParams, context: &SenderContext) -> DpcpSender {
        let over_t_d = |limit: Span| ratio(Some(limit), params.t_d);
        let ai_limits = (over_t_d(params.ai_limit_low), over_t_d(params.ai_limit_high));
        let Numbers { seq, ack } = handshake(params, context);
        DpcpSender {
            cwnd: context.initial_window.max(1.0),
            phase: Phase::Free,
            mode: Mode::Pairs,
            msp: 1,
            lsp: 1,
            last: Part::Lsp,
            in_row: 0,
            did: 0,
            turn: Part::Msp,
            remembered: 0.0,
            srtt: None,
            min_rtt: None,
            t_rho: params.t_rho,
            kappa: params.kappa,
            mi_limit: if params.bounds { params.mi_limit } else { f64::INFINITY },
            alpha: params.alpha * params.weight,
            t_d: params.t_d,
            ai_limits: params.bounds.then_some(ai_limits),
            scale_rtt: params.scale_rtt,
            paces: params.pace_large_rtt,
            pacing: params.pacing as f32,
            decoupled: params.decoupled_loss,
            // The parameters' ranges are below 2^32.
            downgrade_after: params.downgrade_after as u32,
            relapses: params.relapses as u32,
            resume_rtts: params.resume_rtts as f32,
            packet_bytes: context.packet_bytes,
            una: 0,
            nxt: 0,
            track: Track::new(seq, context.packet_bytes),
            peer: ack,
            exceptions: 0,
            downgrades: 0,
            misread: 0,
        }
    }

    fn receiver(params: &DpcpSenderParams, context: &SenderContext) -> DpcpReceiver {
        let Numbers { seq, ack } = handshake(params, context);
        DpcpReceiver { track: Track::new(seq, context.packet_bytes), next: seq, own: ack }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect1)
    }

    fn first_byte(&self) -> u32 {
        self.track.first
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> DpcpHeader {
        self.track.saw(segment.seq, segment.size);
        self.nxt = self.nxt.max(segment.seq.saturating_add(1));
        let part = match self.mode {
            Mode::Pairs | Mode::Resuming => self.turn,
            Mode::Vcp(_) | Mode::Settled => Part::Msp, // D4
        };
        self.turn = match part {
            Part::Msp => Part::Lsp,
            Part::Lsp => Part::Msp,
        };
        let seq = self.track.at(segment.seq);
        DpcpHeader::order(part, Numbers { seq, ack: self.peer })
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<DpcpHeader>) {
        (self.srtt, self.min_rtt) = (ack.srtt, ack.min_rtt);
        self.check(ack);
        self.pass_time(ack.now);
        let part = (ack.code != Ecn::NotCapable).then(|| ack.header.part()); // D6
        if let Some(part) = part {
            self.take(ack.now, part, ack.code as u8);
        }
        self.react(ack.now, part);
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.decoupled {
            return;
        }
        self.remembered = 0.0; // D8
        self.cwnd = after_loss(self.cwnd, loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        let (srtt, bits) = (self.srtt?, f64::from(self.packet_bytes) * 8.0);
        if self.pacing > 0.0 {
            return spaced(f64::from(self.pacing), self.cwnd, srtt, bits);
        }
        if self.paces { slots(self.cwnd, srtt, self.t_rho, bits) } else { None }
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
        sink("cwnd", self.cwnd);
        sink("xi_s", self.xi_s(self.edge()));
        sink("alpha_s", self.alpha_s());
        sink("lf", f64::from(4 * self.msp + self.lsp));
        sink("msp", f64::from(self.msp));
        sink("lsp", f64::from(self.lsp));
        sink("mode", f64::from(self.did));
        let vcp = match self.mode {
            Mode::Pairs => 0.0,
            Mode::Vcp(_) => 1.0,
            Mode::Resuming => 2.0,
            Mode::Settled => 3.0,
        };
        sink("vcp", vcp);
        sink("exceptions", f64::from(self.exceptions));
        sink("downgrades", f64::from(self.downgrades));
        sink("misread", f64::from(self.misread));
    }
}

#[cfg(test)]
mod tests {
    mod hosts;
}
