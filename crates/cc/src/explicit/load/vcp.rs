//! VCP, the variable-structure congestion control protocol. Xia, Subramanian, Stoica, Kalyanaraman,
//! "One more bit is enough", ToN 2008, section III.
//!
//! Every router measures its load factor rho over t_rho and writes low load, high load or overload
//! into the two ECN bits of the data packets, where it exceeds what they carry. The sender answers
//! low load with multiplicative increase, high load with additive increase and overload with one
//! multiplicative decrease. Increases are scaled with the flow's RTT so that all flows move as one
//! with an RTT of t_rho would, and rates come out equal.
//!
//! R.1 to R.4 and S.1 to S.3 are the paper's rules for routers and senders (section III-E). By S.3
//! a sender that has cut its window leaves it alone for a t_rho and then increases it additively
//! for an RTT, whatever comes back. What only experiments change is in `variants`.
//!
//! ```math
//! rho = (lam + kappa_q*q)/(gamma*C*t_rho)   load factor, each t_rho (eq. 1)
//! cwnd <- cwnd + (1 + xi)^(srtt/t_rho) - 1  per ACK of low load, rho < 80 %: MI (eqs. 2 and 6)
//! cwnd <- cwnd + alpha*(srtt/t_d)^2/cwnd    per ACK of high load, 80 % to 100 %: AI (eqs. 3 and 8)
//! cwnd <- max(beta*cwnd, 1)  overload, 100 % and more: MD, once (eq. 4); then S.3
//! xi = kappa*(1 - rho_high)/rho_high        MI's step, at rho_high = 80 % (eq. 5)
//! ```
//!
//! Deviations:
//! - D1, D2: rho's period and (1 + xi)^x - 1 as in [`factor`](super::factor).
//! - D3: an ACK whose code is 00 (not capable) changes nothing.
//! - D4: before the first RTT sample the increases are not scaled.
//! - D5: the srtt of the additive increase that follows a freeze is that of its first ACK.
//! - D6: an ACK that answers several packets (delayed ACKs) takes back the highest of their codes,
//!   and is one ACK to the sender: its increases are then half as fast.
//!
//! Chosen where the paper says nothing:
//! - C1: the weight of the queue's average, a = 0.875.
//! - C2: the common base RTT t_d: the text has t_rho; the authors' released code uses 100 ms.
//! - C3: the limiters' figures, 2.5 periods for MI, 20 ms and 500 ms for AI, and the pacing of
//!   large RTTs, from the released code.

mod overload;
mod variants;

use core::fmt;

use units::{Rate, Span, Time, math};

use super::factor::{
    LoadMeter, LoadParams, Spacing, SpacingParams, after_loss, growth, limited_square, ratio, xi,
};
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Ecn, EcnUse, Feedback, Loss, PacketKind, Passing, Receiver,
    Router, RouterContext, Sender, SenderContext, Variable, Verdict,
};
use overload::Marker;
pub use overload::{Marking, MarkingParams};
pub use variants::{AiScaling, ScaleRtt, ScalingParams};
use variants::{Target, TargetParams};

params! {
    /// The router's parameters (table I, upper part).
    pub struct VcpRouterParams {
        /// t_rho, the period of the load factor (R.3).
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_q, the period of the queue's samples (R.2).
        t_q: Span = Span::from_millis(10) => (1e-6, 100.0);
        /// a, the weight of the old average of the queue (R.2).
        a: f64 = 0.875 => (0.0, 1.0);
        /// kappa_q, how fast the persistent queue drains (eq. 1).
        kappa_q: f64 = 0.5 => (0.0, 10.0);
        /// gamma, the target utilization (eq. 1).
        gamma: f64 = 0.98 => (0.01, 2.0);
        /// The load factor from which on the load is high (section III-B).
        high_load: f64 = 0.8 => (0.0, 10.0);
        /// The load factor from which on it is overload (section III-B).
        overload: f64 = 1.0 => (0.0, 10.0);
        /// Are ACKs served before data (section III-E)?
        priority: bool = true;
        /// Which packets learn of overload.
        marks: MarkingParams;
        /// How gamma moves.
        target: TargetParams;
    }
}

params! {
    /// The limiters of S.1 and S.2.
    pub struct LimitParams {
        /// The MI scaling limiter: srtt/t_rho counts up to this.
        mi_limit: f64 = 2.5 => (0.001, 100.0);
        /// The AI scaling limiter's lower end; below it g is linear.
        ai_limit_low: Span = Span::from_millis(20) => (0.0, 100.0);
        /// The AI scaling limiter's upper end; above it g has slope 1.
        ai_limit_high: Span = Span::from_millis(500) => (0.0, 100.0);
    }
}

params! {
    /// The sender's parameters (table I, lower part).
    pub struct VcpSenderParams {
        /// t_rho, the period of the load factor: MI's base and the length of the freeze.
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_d, the common base RTT of the additive increase (eq. 8).
        t_d: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5).
        kappa: f64 = 0.25 => (0.0, 10.0);
        /// The load factor transition point, where MI ends (section III-B).
        high_load: f64 = 0.8 => (0.01, 1.0);
        /// alpha, the additive increase per t_d [packets] (eq. 3).
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// beta, the factor of the decrease (eq. 4).
        beta: f64 = 0.875 => (0.0, 1.0);
        /// The flow's weight: its alpha is this many times as large (end of section IV).
        weight: f64 = 1.0 => (0.001, 1000.0);
        /// Other forms of the additive increase.
        scaling: ScalingParams;
        /// Are the increases of very short and very long RTTs limited (S.1, S.2)?
        limiters: bool = true;
        /// Their figures.
        limits: LimitParams;
        /// Whether packets are spaced.
        spacing: SpacingParams;
    }
}

/// What the sender does with the codes that come back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Obeys them.
    Free,
    /// Leaves the window alone until then.
    Frozen(Time),
    /// Increases additively until then.
    Additive(Time),
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct VcpSender {
    /// [packets]
    pub(crate) cwnd: f64,
    pub(crate) phase: Phase,
    /// The last ACK's code; as an `Ecn` it would change the layout of the enum of all senders.
    code: u8,
    /// ln(1 + xi).
    pub(crate) ln_mi: f64,
    beta: f64,
    srtt: Option<Span>,
    /// The RTT that scales the additive increase.
    rtt: Option<Span>,
    scale_rtt: ScaleRtt,
    ai_scaling: AiScaling,
    t_rho: Span,
    t_d: Span,
    /// alpha*weight.
    alpha: f64,
    /// The largest srtt/t_rho that MI counts.
    mi_limit: f64,
    /// L and R, the AI limiter's ends over t_d.
    ai_limits: (f64, f64),
    spacing: Spacing,
}

impl VcpSender {
    /// What the window makes of a code: 01 is ECT(1), 10 is ECT(0) and 11 is CE.
    #[inline(always)]
    pub(crate) fn answer(&mut self, now: Time, code: Ecn) {
        self.code = code as u8;
        match (self.phase, code) {
            (Phase::Frozen(_), _) | (Phase::Free, Ecn::NotCapable) => {}
            (Phase::Additive(_), _) | (Phase::Free, Ecn::Ect0) => self.increase_additively(),
            (Phase::Free, Ecn::Ect1) => self.cwnd += self.xi_s(self.ln_mi), // S.1
            (Phase::Free, Ecn::Ce) => self.cut(now, self.beta),
        }
    }

    #[inline]
    pub(crate) fn increase_additively(&mut self) {
        self.cwnd += self.alpha_s() / self.cwnd; // S.2
    }

    /// The one decrease, and the freeze that follows it.
    #[inline]
    pub(crate) fn cut(&mut self, now: Time, factor: f64) {
        self.cwnd = (factor * self.cwnd).max(1.0); // S.3
        self.phase = Phase::Frozen(now + self.t_rho);
    }

    /// The scaled MI parameter of an xi, (1 + xi)^(srtt/t_rho) - 1 (eq. 6).
    #[inline]
    pub(crate) fn xi_s(&self, ln_mi: f64) -> f64 {
        growth(ln_mi * ratio(self.srtt, self.t_rho).min(self.mi_limit))
    }

    /// The scaled AI parameter, alpha*(rtt/t_d)^2 (eq. 8) with the limiter of S.2, or another form.
    #[inline]
    pub(crate) fn alpha_s(&self) -> f64 {
        let x = ratio(self.rtt, self.t_d);
        match self.ai_scaling {
            AiScaling::Rate => self.alpha * limited_square(x, self.ai_limits),
            AiScaling::Window => self.alpha * x,
            AiScaling::None => self.alpha,
        }
    }

    /// An ACK arrives whose code is this one.
    #[inline(always)] // as on_ack, which is this call
    pub(crate) fn hear<H>(&mut self, ack: &Ack<H>, code: Ecn) {
        self.pass(ack);
        self.answer(ack.now, code);
    }

    /// What an ACK says of the time: freeze and additive increase run out (S.3).
    #[inline(always)]
    pub(crate) fn pass<H>(&mut self, ack: &Ack<H>) {
        self.srtt = ack.srtt;
        match self.scale_rtt {
            ScaleRtt::Srtt => self.rtt = ack.srtt,
            ScaleRtt::MinRtt => self.rtt = ack.min_rtt,
            ScaleRtt::BaseRtt => {}
        }
        if let Phase::Frozen(until) = self.phase
            && ack.now >= until
        {
            self.phase = Phase::Additive(until + self.rtt_or_period());
        }
        if let Phase::Additive(until) = self.phase
            && ack.now >= until
        {
            self.phase = Phase::Free;
        }
    }

    /// The smoothed RTT; before the first sample t_rho.
    #[inline]
    pub(crate) fn rtt_or_period(&self) -> Span {
        self.srtt.unwrap_or(self.t_rho)
    }

    /// Other laws from now on: ln(1 + xi) and beta.
    pub(crate) fn set_laws(&mut self, ln_mi: f64, beta: f64) {
        (self.ln_mi, self.beta) = (ln_mi, beta);
    }

    /// Overload that no ACK tells of.
    pub(crate) fn overload(&mut self, now: Time) {
        if self.phase == Phase::Free {
            self.cut(now, self.beta);
        }
    }

    /// What the last ACK made of its code: 1 MI, 2 AI, 3 MD or the freeze after it, 0 nothing.
    pub(crate) fn mode(&self) -> u8 {
        match (self.phase, self.code) {
            (Phase::Frozen(_), _) => 3,
            (Phase::Additive(_), _) => 2,
            (Phase::Free, code) => code,
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct VcpRouter {
    params: VcpRouterParams,
    meter: LoadMeter,
    code: Ecn,
    marker: Marker,
    target: Target,
}

impl VcpRouter {
    fn meter(params: &VcpRouterParams) -> LoadParams {
        let VcpRouterParams { t_q, a, kappa_q, gamma, .. } = *params;
        LoadParams { t_q, a, kappa_q, gamma }
    }

    /// The load factor's code (R.3).
    fn end_period(&mut self) {
        let rho = self.meter.rho();
        self.code = if rho < self.params.high_load {
            Ecn::Ect1
        } else if rho < self.params.overload {
            Ecn::Ect0
        } else {
            self.marker.load(rho, &self.params.marks);
            Ecn::Ce
        };
        self.target.end_period(&self.params.target, &mut self.meter);
    }
}

impl Router for VcpRouter {
    type Params = VcpRouterParams;
    type Header = ();

    fn new(params: &VcpRouterParams, context: &RouterContext) -> VcpRouter {
        VcpRouter {
            meter: LoadMeter::new(Self::meter(params), params.t_rho, context.capacity),
            code: Ecn::Ect1,
            marker: Marker::new(context.stream.clone()),
            target: Target::default(),
            params: params.clone(),
        }
    }

    fn acks_first(params: &VcpRouterParams) -> bool {
        params.priority
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, ()>, _backlog: Backlog) -> Verdict {
        self.meter.arrive(packet.size); // R.1
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, ()>, _backlog: Backlog) {
        // R.4. 00 is a host that knows no load factor.
        if packet.kind == PacketKind::Data && *packet.ecn != Ecn::NotCapable {
            let mut code = self.code;
            if code == Ecn::Ce && self.params.marks.marking == Marking::Red && !self.marker.picks()
            {
                code = Ecn::Ect0;
            }
            *packet.ecn = code.max(*packet.ecn);
        }
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        // R.2, and the load factor of R.3.
        if self.meter.on_timer(now, backlog) {
            self.end_period();
        }
    }

    /// The running period ends as planned; its load is taken over the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.set_capacity(capacity);
    }

    fn retune(&mut self, params: &VcpRouterParams, context: &RouterContext) {
        let gamma = self.meter.gamma();
        let adapts = self.params.target.adapt_gamma && params.target.adapt_gamma;
        self.params = params.clone();
        self.meter.retune(Self::meter(params), context.capacity);
        if adapts {
            self.meter.set_gamma(gamma); // it was measured
        }
        self.meter.set_period(params.t_rho);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new(
            "rho",
            "",
            "load factor of the last period: arrivals and queue over gamma*C*t_rho",
        ),
        Variable::new("q", "bytes", "persistent queue, an average of samples"),
        Variable::new("code", "", "load code: 1 low load, 2 high load, 3 overload"),
        Variable::new("gamma", "", "target utilization, which eq. (14) may move"),
        Variable::new("p_b", "", "probability of a mark in overload, if RED picks"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("rho", self.meter.rho());
        sink("q", self.meter.q());
        sink("code", f64::from(self.code as u8));
        sink("gamma", self.meter.gamma());
        sink("p_b", self.marker.p_b());
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let (load, zone) = (100.0 * self.meter.rho(), zone(self.code as u8));
        writeln!(out, "VCP measured {load:.1} % of its target load: {zone}")
    }
}

/// A load code in words.
pub(crate) fn zone(code: u8) -> &'static str {
    match code {
        1 => "low load",
        2 => "high load",
        3 => "overload",
        _ => "no load code",
    }
}

/// The receiver's part: the code as it came, the highest where an ACK answers several packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct VcpReceiver;

impl Receiver for VcpReceiver {
    type Header = ();

    #[inline]
    fn on_data(&mut self, data: &Arrived<()>) -> Feedback<()> {
        let code = data.pending.map_or(data.ecn, |pending| pending.code.max(data.ecn));
        Feedback { header: (), code }
    }
}

impl Sender for VcpSender {
    type Params = VcpSenderParams;
    type Header = ();
    type Receiver = VcpReceiver;

    const STEADY: bool = true;

    fn new(params: &VcpSenderParams, context: &SenderContext) -> VcpSender {
        let over_t_d = |limit: Span| ratio(Some(limit), params.t_d);
        let LimitParams { mi_limit, ai_limit_low, ai_limit_high } = params.limits;
        let limits = (mi_limit, (over_t_d(ai_limit_low), over_t_d(ai_limit_high)));
        let none = (f64::INFINITY, (0.0, f64::INFINITY));
        let (mi_limit, ai_limits) = if params.limiters { limits } else { none };
        let ScalingParams { ai_scaling, scale_rtt, base_rtt } = params.scaling;
        VcpSender {
            cwnd: context.initial_window.max(1.0),
            phase: Phase::Free,
            code: 0,
            ln_mi: math::ln(1.0 + xi(params.kappa, params.high_load)), // eq. (5)
            beta: params.beta,
            srtt: None,
            rtt: (scale_rtt == ScaleRtt::BaseRtt).then_some(base_rtt),
            scale_rtt,
            ai_scaling,
            t_rho: params.t_rho,
            t_d: params.t_d,
            alpha: params.alpha * params.weight,
            mi_limit,
            ai_limits,
            spacing: Spacing::new(&params.spacing, context.packet_bytes),
        }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect1)
    }

    fn on_send(&mut self, _segment: &Departing) {}

    #[inline(always)] // it would be a call, with all of the ACK in memory
    fn on_ack(&mut self, ack: &Ack<()>) {
        self.hear(ack, ack.code);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.cwnd = after_loss(self.cwnd, loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn paces(&self) -> bool {
        self.spacing.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.spacing.rate(self.cwnd, self.srtt, self.t_rho)
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new(
            "xi_s",
            "",
            "MI parameter scaled by RTT: an ACK of low load adds so many packets",
        ),
        Variable::new(
            "alpha_s",
            "pkts",
            "AI parameter scaled by RTT: an ACK of high load adds alpha_s/cwnd",
        ),
        Variable::new(
            "code",
            "",
            "load code of the last ACK: 0 none, 1 low load, 2 high load, 3 overload",
        ),
        Variable::new(
            "mode",
            "",
            "what the last ACK made of it: 0 nothing, 1 MI, 2 AI, 3 MD and the freeze after it",
        ),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd);
        sink("xi_s", self.xi_s(self.ln_mi));
        sink("alpha_s", self.alpha_s());
        sink("code", f64::from(self.code));
        sink("mode", f64::from(self.mode()));
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let (xi_s, alpha_s, cwnd) = (self.xi_s(self.ln_mi), self.alpha_s(), self.cwnd);
        match self.mode() {
            1 => writeln!(
                out,
                "VCP: multiplicative increase (MI): an ACK of low load adds xi_s = {xi_s:.4} packets"
            ),
            2 => writeln!(
                out,
                "VCP: additive increase (AI): an ACK adds alpha_s/cwnd = {alpha_s:.4}/{cwnd:.2} = \
                 {:.5} packets",
                alpha_s / cwnd
            ),
            3 => writeln!(
                out,
                "VCP: multiplicative decrease (MD) is done: the window is frozen for one t_rho"
            ),
            _ => writeln!(out, "VCP: no load code has come back yet"),
        }
    }
}

#[cfg(test)]
mod tests;
