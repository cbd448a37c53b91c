//! VCP, the variable-structure congestion control protocol. Xia, Subramanian, Stoica, Kalyanaraman,
//! "One more bit is enough", ToN 2008, section III.
//!
//! Every router measures its load factor rho over t_rho and writes low load, high load or overload
//! into the two ECN bits of the data packets, where it exceeds what they carry. The sender answers
//! low load with multiplicative increase, high load with additive increase and overload with one
//! multiplicative decrease. Increases are scaled with the flow's RTT so that all flows move as one
//! with an RTT of t_rho would, and rates come out equal.
//!
//! Deviations:
//! - D1, D2: rho's period and (1 + xi)^x - 1 as in [`load`](super::load).
//! - D3: an ACK whose code is 00 (not capable) changes nothing.
//! - D4: before the first RTT sample the increases are not scaled.
//! - D5: the srtt of the additive increase that follows a freeze is that of its first ACK.
//! - D6: an ACK that answers several packets (delayed ACKs) takes back the highest of their codes,
//!   and is one ACK to the sender: its increases are then half as fast.
//! - D7: the utilization of eq. (14) is what arrived over what the line could carry, at most 1 per period,
//!   and its mean over the periods since gamma moved last; gamma stays in [0.1, 0.999].
//!
//! Reconstructed:
//! - R1: the weight of the queue's average, a = 0.875.
//! - R2: the common base RTT t_d: the text has t_rho; the authors' released code uses 100 ms.
//! - R3: the limiters' figures, 2.5 periods for MI, 20 ms and 500 ms for AI, and the pacing of large
//!   RTTs, from the released code.
//! - R4: the step and the pace of eq. (14), 0.01 every ten periods.

use units::{Rate, Span, Time, math};

use super::load::{
    LoadMeter, LoadParams, after_loss, growth, limited_square, ratio, slots, spaced, xi,
};
use super::vcp_friendly::Marker;
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Ecn, EcnUse, Feedback, Loss, PacketKind, Passing, Receiver,
    Router, RouterContext, Sender, SenderContext, Service, Variable, Verdict,
};

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
        marking: Marking = Marking::All;
        /// max_p, the probability of a mark at rho = max_rho, if RED picks (section VI-C).
        max_p: f64 = 0.1 => (1e-6, 1.0);
        /// The load factor at which the probability of a mark is max_p, if RED picks.
        max_rho: f64 = 1.2 => (1.001, 10.0);
        /// Does gamma move until the utilization is u_target (eq. 14)?
        adapt_gamma: bool = false;
        /// U, the utilization that gamma is moved for (eq. 14).
        u_target: f64 = 0.95 => (0.01, 1.0);
        /// mu, by which gamma moves at a time (eq. 14).
        gamma_step: f64 = 0.01 => (0.0, 1.0);
        /// gamma moves after so many periods of t_rho (eq. 14: much longer than an RTT).
        gamma_periods: u64 = 10 => (1.0, 100000.0);
    }
}

choice! {
    /// Which packets learn of overload.
    pub enum Marking {
        /// All.
        All = "all",
        /// Some, as RED picks them; the others carry high load (section VI-C).
        Red = "red",
    }
}

choice! {
    /// The RTT that scales the additive increase.
    pub enum ScaleRtt {
        /// The smoothed RTT, queueing included.
        Srtt = "srtt",
        /// The smallest RTT seen. A flow that comes to a standing queue has never seen another.
        MinRtt = "min_rtt",
        /// base_rtt, which a simulation may know.
        BaseRtt = "base_rtt",
    }
}

choice! {
    /// How the additive increase per t_d depends on the RTT.
    pub enum AiScaling {
        /// alpha*(rtt/t_d)^2: equal rates (eq. 8).
        Rate = "rate",
        /// alpha*rtt/t_d: equal windows, so rates as 1/rtt (eq. 7).
        Window = "window",
        /// alpha per RTT, as TCP's (section VI-C).
        None = "none",
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
        /// How the additive increase depends on the RTT.
        ai_scaling: AiScaling = AiScaling::Rate;
        /// The RTT that scales the additive increase.
        scale_rtt: ScaleRtt = ScaleRtt::Srtt;
        /// The RTT without queueing, for scale_rtt = "base_rtt" only.
        base_rtt: Span = Span::from_millis(80) => (1e-6, 100.0);
        /// Are the increases of very short and very long RTTs limited (S.1, S.2)?
        limiters: bool = true;
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
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct VcpRouter {
    params: VcpRouterParams,
    meter: LoadMeter,
    code: Ecn,
    marker: Marker,
    /// u, the mean utilization since gamma moved last: its sum over the periods, and how many they are.
    u: (f64, u64),
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
            self.marker.load(rho, self.params.max_p, self.params.max_rho);
            Ecn::Ce
        };
        if self.params.adapt_gamma {
            self.adapt_gamma();
        }
    }

    /// gamma += mu*sgn(U - u) (eq. 14).
    fn adapt_gamma(&mut self) {
        self.u = (self.u.0 + self.meter.offered().min(1.0), self.u.1 + 1);
        if self.u.1 < self.params.gamma_periods {
            return;
        }
        let missing = self.params.u_target - self.u.0 / self.u.1 as f64;
        let step = if missing > 0.0 { self.params.gamma_step } else { -self.params.gamma_step };
        let gamma = self.meter.gamma() + if missing == 0.0 { 0.0 } else { step };
        self.meter.set_gamma(gamma.clamp(GAMMA_RANGE.0, GAMMA_RANGE.1));
        self.u = (0.0, 0);
    }
}

/// Where eq. (14) may move gamma.
const GAMMA_RANGE: (f64, f64) = (0.1, 0.999);

impl Router for VcpRouter {
    type Params = VcpRouterParams;
    type Header = ();

    fn new(params: &VcpRouterParams, context: &RouterContext) -> VcpRouter {
        VcpRouter {
            meter: LoadMeter::new(Self::meter(params), params.t_rho, context.capacity),
            code: Ecn::Ect1,
            marker: Marker::new(context.stream.clone()),
            u: (0.0, 0),
            params: params.clone(),
        }
    }

    fn service(params: &VcpRouterParams) -> Service {
        if params.priority { Service::AcksFirst } else { Service::Fifo }
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
            if code == Ecn::Ce && self.params.marking == Marking::Red && !self.marker.picks() {
                code = Ecn::Ect0;
            }
            *packet.ecn = code.max(*packet.ecn);
        }
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
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
        let adapts = self.params.adapt_gamma && params.adapt_gamma;
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

/// What the sender does with the codes that come back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
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
    cwnd: f64,
    phase: Phase,
    /// The last ACK's code; a number, so that it does not change how all senders are told apart.
    code: u8,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    t_rho: Span,
    /// ln(1 + xi).
    ln_mi: f64,
    /// The largest srtt/t_rho that MI counts.
    mi_limit: f64,
    /// alpha*weight.
    alpha: f64,
    beta: f64,
    t_d: Span,
    /// L and R, the AI limiter's ends over t_d.
    ai_limits: Option<(f64, f64)>,
    ai_scaling: AiScaling,
    scale_rtt: ScaleRtt,
    base_rtt: Span,
    paces: bool,
    pacing: f32,
    packet_bytes: u32,
}

impl VcpSender {
    /// The scaled MI parameter, (1 + xi)^(srtt/t_rho) - 1 (eq. 6).
    #[inline]
    fn xi_s(&self) -> f64 {
        let periods = ratio(self.srtt, self.t_rho).min(self.mi_limit);
        growth(self.ln_mi * periods)
    }

    /// The scaled AI parameter, alpha*(rtt/t_d)^2 (eq. 8) with the limiter of S.2, or another form.
    #[inline]
    fn alpha_s(&self) -> f64 {
        let rtt = match self.scale_rtt {
            ScaleRtt::Srtt => self.srtt,
            ScaleRtt::MinRtt => self.min_rtt,
            ScaleRtt::BaseRtt => Some(self.base_rtt),
        };
        let x = ratio(rtt, self.t_d);
        match self.ai_scaling {
            AiScaling::Rate => self.alpha * limited_square(x, self.ai_limits),
            AiScaling::Window => self.alpha * x,
            AiScaling::None => self.alpha,
        }
    }

    /// What the last ACK made of its code: 1 MI, 2 AI, 3 MD or the freeze after it, 0 nothing.
    fn mode(&self) -> u8 {
        match (self.phase, self.code) {
            (Phase::Frozen(_), _) => 3,
            (Phase::Additive(_), _) => 2,
            (Phase::Free, code) => code,
        }
    }

    /// An ACK arrives whose code is this one.
    #[inline(always)] // as on_ack, whose whole it is
    pub(super) fn hear<H>(&mut self, ack: &Ack<H>, code: Ecn) {
        self.srtt = ack.srtt;
        self.min_rtt = ack.min_rtt;
        self.code = code as u8;
        if let Phase::Frozen(until) = self.phase
            && ack.now >= until
        {
            self.phase = Phase::Additive(until + ack.srtt.unwrap_or(self.t_rho));
        }
        if let Phase::Additive(until) = self.phase
            && ack.now >= until
        {
            self.phase = Phase::Free;
        }
        match (self.phase, code) {
            (Phase::Frozen(_), _) | (Phase::Free, Ecn::NotCapable) => {}
            (Phase::Additive(_), _) | (Phase::Free, Ecn::Ect0) => self.increase_additively(),
            (Phase::Free, Ecn::Ect1) => self.cwnd += self.xi_s(), // S.1
            (Phase::Free, Ecn::Ce) => {
                self.decrease(ack.now);
            }
        }
    }

    #[inline]
    fn decrease(&mut self, now: Time) {
        self.cwnd = (self.beta * self.cwnd).max(1.0); // S.3
        self.phase = Phase::Frozen(now + self.t_rho);
    }

    /// Other laws from now on: ln(1 + xi) and beta.
    pub(super) fn set_laws(&mut self, ln_mi: f64, beta: f64) {
        (self.ln_mi, self.beta) = (ln_mi, beta);
    }

    /// Overload that no ACK tells of.
    pub(super) fn overload(&mut self, now: Time) {
        if self.phase == Phase::Free {
            self.decrease(now);
        }
    }

    #[inline]
    fn increase_additively(&mut self) {
        self.cwnd += self.alpha_s() / self.cwnd; // S.2
    }
}

impl Sender for VcpSender {
    type Params = VcpSenderParams;
    type Header = ();
    type Receiver = VcpReceiver;

    const STEADY: bool = true;

    fn new(params: &VcpSenderParams, context: &SenderContext) -> VcpSender {
        let xi = xi(params.kappa, params.high_load); // eq. (5)
        let over_t_d = |limit: Span| ratio(Some(limit), params.t_d);
        let ai_limits = (over_t_d(params.ai_limit_low), over_t_d(params.ai_limit_high));
        VcpSender {
            cwnd: context.initial_window.max(1.0),
            phase: Phase::Free,
            code: 0,
            srtt: None,
            min_rtt: None,
            t_rho: params.t_rho,
            ln_mi: math::ln(1.0 + xi),
            mi_limit: if params.limiters { params.mi_limit } else { f64::INFINITY },
            alpha: params.alpha * params.weight,
            beta: params.beta,
            t_d: params.t_d,
            ai_limits: params.limiters.then_some(ai_limits),
            ai_scaling: params.ai_scaling,
            scale_rtt: params.scale_rtt,
            base_rtt: params.base_rtt,
            paces: params.pace_large_rtt,
            pacing: params.pacing as f32,
            packet_bytes: context.packet_bytes,
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
        sink("xi_s", self.xi_s());
        sink("alpha_s", self.alpha_s());
        sink("code", f64::from(self.code));
        sink("mode", f64::from(self.mode()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::LossKind;
    use crate::tests::{ms, router_context, sender_context};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs()
    }

    /// A router at 10 Mb/s: gamma*C*t_rho = 0.98*1.25e6*0.2 = 245 000 bytes.
    fn router() -> VcpRouter {
        let context = router_context(Rate(10_000_000), 100);
        VcpRouter::new(&VcpRouterParams::default(), &context)
    }

    fn passing(kind: PacketKind, ecn: &mut Ecn) -> Passing<'_, ()> {
        Passing { flow: 0, size: 1000, kind, queued_for: Span::ZERO, ecn, header: None }
    }

    /// `router` after a period from `start` with so many arrivals and that queue at its very end.
    fn after(router: &mut VcpRouter, start: u64, arrivals: u32, queue: u64) {
        for _ in 0..arrivals {
            let mut ecn = Ecn::Ect1;
            router.on_arrival(ms(start), passing(PacketKind::Data, &mut ecn), Backlog::default());
        }
        for t in (start + 10..=start + 200).step_by(10) {
            assert_eq!(router.next_timer(), ms(t));
            let bytes = if t == start + 200 { queue } else { 0 };
            router.on_timer(ms(t), Backlog { packets: 0, bytes });
        }
    }

    #[test]
    fn the_load_factor_has_three_codes() {
        let mut router = router();
        assert_eq!(router.code, Ecn::Ect1);
        // 195 and 197 kB of 245 kB: 0.796 and 0.804; 244 and 246: 0.996 and 1.004.
        let codes = [(195, Ecn::Ect1), (197, Ecn::Ect0), (244, Ecn::Ect0), (246, Ecn::Ce)];
        for (i, (arrivals, code)) in (0..).zip(codes) {
            after(&mut router, 200 * i, arrivals, 0);
            assert!(near(router.meter.rho(), f64::from(arrivals) / 245.0));
            assert_eq!(router.code, code);
        }
    }

    #[test]
    fn the_load_is_over_the_capacity_of_the_periods_end() {
        let mut router = router();
        // Half of 10 Mb/s halves what fills the period: 196 000 bytes of 122 500.
        router.on_capacity(ms(0), Rate(5_000_000));
        after(&mut router, 0, 196, 0);
        assert!(near(router.meter.rho(), 1.6) && router.code == Ecn::Ce);
    }

    #[test]
    fn who_is_not_capable_is_load_and_nothing_else() {
        let mut router = router();
        for _ in 0..250 {
            let mut ecn = Ecn::NotCapable;
            let arriving = passing(PacketKind::Data, &mut ecn);
            assert_eq!(router.on_arrival(ms(0), arriving, Backlog::default()), Verdict::Forward);
        }
        after(&mut router, 0, 0, 0);
        // 250 of 245 kB: overload, which the others are told.
        assert!(near(router.meter.rho(), 250.0 / 245.0) && router.code == Ecn::Ce);
        let mut ecn = Ecn::NotCapable;
        router.on_departure(ms(200), passing(PacketKind::Data, &mut ecn), Backlog::default());
        assert_eq!(ecn, Ecn::NotCapable);
    }

    #[test]
    fn a_tcp_sender_sees_overload_only() {
        // TCP with ECN sends 10: low and high load leave it, overload makes 11 of it (RFC 3168's CE).
        let mut router = router();
        for (i, (arrivals, seen)) in (0..).zip([(100, 2), (220, 2), (300, 3)]) {
            after(&mut router, 200 * i, arrivals, 0);
            let mut ecn = Ecn::Ect0;
            let now = ms(200 * (i + 1));
            router.on_departure(now, passing(PacketKind::Data, &mut ecn), Backlog::default());
            assert_eq!(ecn as u8, seen);
        }
    }

    #[test]
    fn gamma_moves_by_its_step_towards_the_target_utilization() {
        let params = VcpRouterParams { adapt_gamma: true, ..Default::default() };
        let context = router_context(Rate(10_000_000), 100);
        let mut router = VcpRouter::new(&params, &context);
        // 230 of the 250 kB that the line can carry in a period: u = 0.92 < 0.95 after ten of them.
        for i in 0..10 {
            assert_eq!(router.meter.gamma(), 0.98);
            after(&mut router, 200 * i, 230, 0);
        }
        assert!(near(router.meter.gamma(), 0.99));
        // 240 kB: 0.96. The tenth period from now moves it back.
        (10..20).for_each(|i| after(&mut router, 200 * i, 240, 0));
        assert!(near(router.meter.gamma(), 0.98));
        // Never above 0.999.
        (20..60).for_each(|i| after(&mut router, 200 * i, 0, 0));
        assert_eq!(router.meter.gamma(), 0.999);
    }

    #[test]
    fn half_the_average_queue_counts_as_load() {
        let mut router = router();
        // One sample of 8000 B after none: q = 0.125*8000 = 1000; rho = (244 000 + 500)/245 000.
        after(&mut router, 0, 244, 8000);
        assert!(near(router.meter.q(), 1000.0) && near(router.meter.rho(), 244.5 / 245.0));
        // The next sample: 0.875*1000 + 0.125*16 000.
        router.on_timer(ms(210), Backlog { packets: 0, bytes: 16_000 });
        assert!(near(router.meter.q(), 2875.0));
    }

    #[test]
    fn a_router_raises_the_code_of_data_only() {
        let mut router = router();
        after(&mut router, 0, 220, 0);
        assert_eq!(router.code, Ecn::Ect0);
        let mut depart = |kind, mut ecn| {
            router.on_departure(ms(200), passing(kind, &mut ecn), Backlog::default());
            ecn
        };
        assert_eq!(depart(PacketKind::Data, Ecn::Ect1), Ecn::Ect0);
        assert_eq!(depart(PacketKind::Data, Ecn::Ce), Ecn::Ce);
        assert_eq!(depart(PacketKind::Data, Ecn::NotCapable), Ecn::NotCapable);
        assert_eq!(depart(PacketKind::Ack, Ecn::Ect1), Ecn::Ect1);
        assert_eq!(VcpRouter::service(&VcpRouterParams::default()), Service::AcksFirst);
    }

    fn sender(params: &VcpSenderParams, cwnd: f64) -> VcpSender {
        VcpSender::new(params, &sender_context(cwnd))
    }

    fn ack(sender: &mut VcpSender, at: u64, srtt: u64, code: Ecn) -> f64 {
        let before = sender.cwnd;
        let srtt = Some(Span::from_millis(srtt));
        sender.on_ack(&Ack {
            now: ms(at),
            delivered: 1,
            acked: 1,
            lost: 0,
            rtt: srtt,
            srtt,
            min_rtt: Some(Span::from_millis(40)),
            in_flight: 1,
            recovering: false,
            header: (),
            code,
            ece: false,
        });
        sender.cwnd - before
    }

    #[test]
    fn low_load_increases_multiplicatively_up_to_the_limit() {
        let mut s = sender(&VcpSenderParams::default(), 8.0);
        // xi = 0.25*0.2/0.8 = 0.0625 at srtt = t_rho.
        assert!(near(s.ln_mi, 0.060_624_622));
        assert!(near(ack(&mut s, 0, 200, Ecn::Ect1), 0.0625));
        // 1.0625^0.4 - 1 = exp(0.024 249 85) - 1.
        assert!(near(ack(&mut s, 0, 80, Ecn::Ect1), 0.024_546_27));
        // 800 ms are 4 periods and count as 2.5: exp(0.151 561 55) - 1.
        assert!(near(ack(&mut s, 0, 800, Ecn::Ect1), 0.163_649_93));
        // The series: 1.0625^2 - 1 = 0.128 906 25.
        let xi_s = ack(&mut s, 0, 400, Ecn::Ect1);
        assert!((xi_s / 0.128_906_25 - 1.0).abs() < 4e-9);
        // Without limiter 1.0625^4 - 1.
        let mut s = sender(&VcpSenderParams { limiters: false, ..Default::default() }, 8.0);
        assert!(near(ack(&mut s, 0, 800, Ecn::Ect1), 0.274_429_3));
    }

    #[test]
    fn high_load_increases_additively_in_three_pieces() {
        let step = |params: &VcpSenderParams, srtt| {
            4.0 * ack(&mut sender(params, 4.0), 0, srtt, Ecn::Ect0)
        };
        // t_d = 200 ms: x = 0.4 and g = 0.16; L = 0.1, R = 2.5.
        let normal = VcpSenderParams::default();
        assert!(near(step(&normal, 80), 0.16));
        // x = 0.05 below L: 0.05*0.1. x = 5 above R: 2.5 + 6.25.
        assert!(near(step(&normal, 10), 0.005));
        assert!(near(step(&normal, 1000), 8.75));
        // t_d = 100 ms: x = 0.8; L = 0.2, R = 5: x = 10 gives 5 + 25.
        let short = VcpSenderParams { t_d: Span::from_millis(100), ..Default::default() };
        assert!(near(step(&short, 80), 0.64) && near(step(&short, 1000), 30.0));
        // Weight 3 on min_rtt = 40 ms: 3*0.2^2. No limiter: 5^2.
        let scale_rtt = ScaleRtt::MinRtt;
        let heavy = VcpSenderParams { weight: 3.0, scale_rtt, ..Default::default() };
        assert!(near(step(&heavy, 80), 0.12));
        let scale_rtt = ScaleRtt::BaseRtt;
        assert!(near(step(&VcpSenderParams { scale_rtt, ..Default::default() }, 500), 0.16));
        let free = VcpSenderParams { limiters: false, ..Default::default() };
        assert!(near(step(&free, 1000), 25.0));
    }

    #[test]
    fn equal_windows_and_tcp_like_increase_are_other_scalings() {
        let step = |ai_scaling, srtt| {
            let params = VcpSenderParams { ai_scaling, weight: 2.0, ..Default::default() };
            4.0 * ack(&mut sender(&params, 4.0), 0, srtt, Ecn::Ect0)
        };
        // Eq. (7): 2*80/200; without limiter at 10 ms: 2*0.05. Per RTT: 2.
        assert!(near(step(AiScaling::Window, 80), 0.8) && near(step(AiScaling::Window, 10), 0.1));
        assert!(near(step(AiScaling::None, 80), 2.0) && near(step(AiScaling::None, 1000), 2.0));
    }

    #[test]
    fn overload_cuts_once_then_freezes_then_increases_additively_for_one_srtt() {
        let mut s = sender(&VcpSenderParams::default(), 16.0);
        assert_eq!(ack(&mut s, 1000, 80, Ecn::Ce), -2.0);
        for (at, code) in [(1001, Ecn::Ce), (1100, Ecn::Ect1), (1199, Ecn::Ect0)] {
            assert_eq!(ack(&mut s, at, 80, code), 0.0);
        }
        // A loss cut leaves the freeze as it is.
        let loss = |kind| Loss { now: ms(1150), kind, in_flight: 14, lost: 1, repeated: false };
        s.on_loss(&loss(LossKind::DupAcks));
        assert_eq!(s.cwnd(), 7.0);
        assert_eq!(ack(&mut s, 1199, 80, Ecn::Ect1), 0.0);
        // 1200 to 1280 ms: 0.16/cwnd whatever comes.
        for (at, code) in [(1200, Ecn::Ce), (1240, Ecn::Ect1), (1279, Ecn::NotCapable)] {
            let cwnd = s.cwnd();
            assert!(near(ack(&mut s, at, 80, code), 0.16 / cwnd));
        }
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, 1280, 80, Ecn::Ce), -cwnd / 8.0));
        s.on_loss(&loss(LossKind::Timeout));
        assert_eq!(s.cwnd(), 1.0);
        assert_eq!(ack(&mut s, 3000, 80, Ecn::Ce), 0.0);
    }

    #[test]
    fn few_packets_in_a_large_rtt_are_spaced() {
        let pace = |cwnd, srtt| {
            let mut s = sender(&VcpSenderParams::default(), cwnd);
            ack(&mut s, 0, srtt, Ecn::NotCapable);
            s.pacing()
        };
        // 300 ms in 2 gaps of 150 ms: 8000 b/0.15 s; in 4 of 75 ms, below 100 ms: none.
        assert_eq!(pace(2.9, 300), Some(Rate(53_333)));
        assert_eq!(pace(3.0, 300), None);
        // 1 s in 8 gaps of 125 ms.
        assert_eq!(pace(5.0, 1000), Some(Rate(64_000)));
        assert_eq!(pace(1.9, 1000), None);
        assert_eq!(pace(2.0, 200), None);
        // 64 packets in 64 gaps of 156.25 ms; 65 are too many.
        assert_eq!(pace(64.0, 10_000), Some(Rate(51_200)));
        assert_eq!(pace(65.0, 20_000), None);
    }

    #[test]
    fn pacing_spaces_every_window() {
        let pace = |pacing, cwnd, srtt| {
            let params = VcpSenderParams { pacing, ..Default::default() };
            let mut s = sender(&params, cwnd);
            assert_eq!(s.pacing(), None); // no RTT is known
            ack(&mut s, 0, srtt, Ecn::NotCapable);
            s.pacing().map(|rate| rate.0)
        };
        // 1.5*100 packets of 8000 b in 80 ms; 2 in 300 ms, where pace_large_rtt alone has one in 150 ms.
        assert_eq!(pace(1.5, 100.0, 80), Some(15_000_000));
        assert_eq!(pace(1.5, 2.0, 300), Some(80_000));
        assert_eq!(pace(0.0, 100.0, 80), None);
    }

    #[test]
    fn an_ack_of_several_packets_takes_back_the_highest_code() {
        let arrived = |ecn, pending| Arrived {
            now: Time::ZERO,
            seq: 0,
            expected: 1,
            size: 1000,
            header: (),
            ecn,
            pending,
        };
        let first = VcpReceiver.on_data(&arrived(Ecn::Ce, None));
        assert_eq!(first.code, Ecn::Ce);
        assert_eq!(VcpReceiver.on_data(&arrived(Ecn::Ect1, Some(first))).code, Ecn::Ce);
    }
}
