//! Protocols that answer a quantised load factor: VCP, MLCP and DPCP. Each is a list of levels.
//!
//! A router takes its load factor over a period, as the packets' protocol does: the code is
//! constant between two periods' ends, and windows switch when it comes back to them.

use units::math;

use crate::params::Part;

/// What a window does while a level holds. Rates of growth are those of the logarithm of the
/// window, so that ln(1 + xi_s) per RTT is the growth by 1 + xi_s that packets give.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Act {
    /// ln(1 + xi), the MI of one period, for each half of the ACKs (DPCP's MSPs and LSPs); 0: none.
    pub ln_mi: [f64; 2],
    /// Additive increase?
    pub ai: bool,
    /// MLCP's inversely proportional increase?
    pub ii: bool,
    /// The factor of the decrease; 1: none.
    pub cut: f64,
}

impl Act {
    fn mi(kappa: f64, edge: f64) -> Act {
        Act { ln_mi: [ln_mi(kappa, edge); 2], cut: 1.0, ..Act::default() }
    }

    fn cut(cut: f64) -> Act {
        Act { cut, ..Act::default() }
    }

    const AI: Act = Act { ai: true, ..Act::NOTHING };
    const II: Act = Act { ii: true, ..Act::NOTHING };
    const NOTHING: Act = Act { ln_mi: [0.0; 2], ai: false, ii: false, cut: 1.0 };
}

/// ln(1 + xi), xi = kappa*(1 - rho)/rho at the upper edge of a level.
fn ln_mi(kappa: f64, edge: f64) -> f64 {
    math::ln(1.0 + kappa * (1.0 - edge) / edge)
}

/// The RTT that scales the additive increase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaleRtt {
    /// The present one.
    Seen,
    /// Without queues.
    Least,
    /// This one [s].
    Given(f64),
}

/// The sender's part.
#[derive(Clone, Debug)]
pub struct LoadSender {
    pub levels: Vec<Act>,
    /// The period that scales MI and says how long a freeze is [s].
    pub t_rho: f64,
    /// The RTT at which an additive increase is alpha [s].
    pub t_d: f64,
    /// alpha*weight [packets].
    pub alpha: f64,
    /// The largest rtt/t_rho that MI counts.
    pub mi_limit: f64,
    /// L and R, where g(x) stops being x^2.
    pub ai_limits: Option<(f64, f64)>,
    /// The RTT that scales the AI.
    pub scale: ScaleRtt,
    /// After a cut: freeze, then AI for one RTT? Otherwise no further cut for a period.
    pub freezes: bool,
    /// Does the router say what the period is?
    pub told_period: bool,
    /// Are packets spaced when few of them share an RTT much longer than t_rho?
    pub paces: bool,
}

/// Where a sender stands after a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Phase {
    /// Obeys the codes.
    #[default]
    Free,
    /// Leaves the window alone until then.
    Frozen(f64),
    /// Increases additively until then.
    Additive(f64),
    /// Obeys all codes but those that cut until then.
    Cut(f64),
}

impl LoadSender {
    /// VCP: section III-C, table I.
    pub fn vcp(part: &Part) -> LoadSender {
        let (kappa, edge) = (part.number("kappa"), part.number("high_load"));
        let levels = vec![Act::mi(kappa, edge), Act::AI, Act::cut(part.number("beta"))];
        LoadSender::like_vcp(part, levels, "limiters").with_mi_limit(part, "limiters")
    }

    /// VCP's additive increase alone, for its model.
    pub fn vcps_increase(part: &Part) -> LoadSender {
        LoadSender::like_vcp(part, Vec::new(), "limiters")
    }

    /// DPCP: table I of its paper, MI and AI together. To an MSP's ACK the level is the last of its
    /// zone, to an LSP's it is known.
    pub fn dpcp(part: &Part) -> LoadSender {
        let kappa = part.number("kappa");
        let zones = [[0.2, 0.4, 0.8], [0.85, 0.95, 1.0]];
        let up = zones.into_iter().flat_map(|zone| {
            let act = move |edge| {
                let ln_mi = [ln_mi(kappa, zone[2]), ln_mi(kappa, edge)];
                Act { ln_mi, ai: true, ..Act::NOTHING }
            };
            zone.map(act)
        });
        let levels = up.chain([0.875, 0.6, 0.43].map(Act::cut)).collect();
        LoadSender::like_vcp(part, levels, "bounds").with_mi_limit(part, "bounds")
    }

    /// What VCP and DPCP share; `limits` says whether increases are limited.
    fn like_vcp(part: &Part, levels: Vec<Act>, limits: &'static str) -> LoadSender {
        let t_d = part.number("t_d");
        let (low, high) = (part.number("ai_limit_low"), part.number("ai_limit_high"));
        let scale = match part.word("scale_rtt") {
            "min_rtt" => ScaleRtt::Least,
            "base_rtt" => ScaleRtt::Given(part.number("base_rtt")),
            _ => ScaleRtt::Seen,
        };
        LoadSender {
            levels,
            t_rho: part.number("t_rho"),
            t_d,
            alpha: part.number("alpha") * part.number("weight"),
            mi_limit: f64::INFINITY,
            ai_limits: part.flag(limits).then_some((low / t_d, high / t_d)),
            scale,
            freezes: true,
            told_period: false,
            paces: true,
        }
    }

    fn with_mi_limit(self, part: &Part, limits: &'static str) -> LoadSender {
        let limit = part.number("mi_limit");
        LoadSender { mi_limit: if part.flag(limits) { limit } else { f64::INFINITY }, ..self }
    }

    /// MLCP: section 3 of its paper, four bits.
    pub fn mlcp(part: &Part) -> LoadSender {
        let kappa = part.number("kappa");
        let mut levels: Vec<Act> =
            [0.16, 0.32, 0.48, 0.64, 0.8].map(|edge| Act::mi(kappa, edge)).to_vec();
        levels.extend([Act::AI, Act::II]);
        let (max, min) = (part.number("beta_max"), part.number("beta_min"));
        levels.extend((0..8).map(|k| Act::cut(max - f64::from(k) * (max - min) / 7.0)));
        LoadSender {
            levels,
            t_rho: 0.2,
            t_d: 0.2,
            alpha: part.number("alpha"),
            mi_limit: part.number("mi_limit"),
            ai_limits: None,
            scale: ScaleRtt::Seen,
            freezes: false,
            told_period: true,
            paces: false,
        }
    }

    /// alpha*g(rtt/t_d), the additive increase of one RTT [packets].
    pub fn alpha_s(&self, rtt: f64, t_d: f64) -> f64 {
        let x = rtt / t_d;
        let g = match self.ai_limits {
            Some((low, _)) if x < low => x * low,
            Some((_, high)) if x > high => (x - high) + high * high,
            _ => x * x,
        };
        self.alpha * g
    }

    /// The RTT that scales the additive increase [s].
    #[inline]
    pub fn scaling_rtt(&self, rtt: f64, base_rtt: f64) -> f64 {
        match self.scale {
            ScaleRtt::Seen => rtt,
            ScaleRtt::Least => base_rtt,
            ScaleRtt::Given(given) => given,
        }
    }

    /// dw/dt while `act` holds [packets/s], with `sent` ACKs per RTT; `period` is what the router
    /// says. An ACK adds xi_s where ACKs are `counted`. Where they come as w/R, which grows with
    /// them, it adds ln(1 + xi_s).
    #[inline]
    pub fn growth(
        &self,
        act: Act,
        (w, sent, counted): (f64, f64, bool),
        (rtt, base_rtt): (f64, f64),
        period: f64,
    ) -> f64 {
        let (t_rho, t_d) = match self.told_period {
            true => (period, period),
            false => (self.t_rho, self.t_d),
        };
        let mut growth = 0.0;
        let [a, b] = act.ln_mi;
        if a > 0.0 || b > 0.0 {
            let periods = (rtt / t_rho).min(self.mi_limit);
            let halves = || math::ln(f64::midpoint(math::exp(a * periods), math::exp(b * periods)));
            let by_ln = if a == b { a * periods } else { halves() };
            growth += sent * if counted { math::exp(by_ln) - 1.0 } else { by_ln } / rtt;
        }
        if act.ai || act.ii {
            let scale = self.scaling_rtt(rtt, base_rtt);
            let increase = self.alpha_s(scale, t_d) / rtt * (sent / w);
            growth += if act.ii { increase / math::sqrt(w) } else { increase };
        }
        growth
    }

    /// The gap between packets of a paced window [s]: R/2^k, 2^k the smallest power of two that
    /// holds it, while that is longer than t_rho/2.
    pub fn gap(&self, w: f64, rtt: f64) -> Option<f64> {
        if !self.paces || rtt <= self.t_rho || !(2.0..65.0).contains(&w) {
            return None;
        }
        // A small positive number.
        let gap = rtt / (w as u64).next_power_of_two() as f64;
        (gap > self.t_rho / 2.0).then_some(gap)
    }

    /// What the window does at `now` with `code`, and by what it is multiplied first.
    pub fn obey(
        &self,
        phase: &mut Phase,
        now: f64,
        code: u8,
        (rtt, period): (f64, f64),
    ) -> (Act, f64) {
        if let Phase::Frozen(until) = *phase
            && now >= until
        {
            *phase = Phase::Additive(until + rtt);
        }
        if let Phase::Additive(until) | Phase::Cut(until) = *phase
            && now >= until
        {
            *phase = Phase::Free;
        }
        let act = self.levels[usize::from(code).min(self.levels.len() - 1)];
        match *phase {
            Phase::Frozen(_) => (Act::NOTHING, 1.0),
            Phase::Additive(_) => (Act::AI, 1.0),
            Phase::Cut(_) if act.cut < 1.0 => (Act::NOTHING, 1.0),
            Phase::Free if act.cut < 1.0 && self.freezes => {
                *phase = Phase::Frozen(now + self.t_rho);
                (Act::NOTHING, act.cut)
            }
            Phase::Free if act.cut < 1.0 => {
                *phase = Phase::Cut(now + period);
                (Act::NOTHING, act.cut)
            }
            Phase::Cut(_) | Phase::Free => (act, 1.0),
        }
    }
}

/// How MLCP's router chooses its period.
const PERIODS: [f64; 8] = [0.08, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4];

/// The router's part: what does not change.
#[derive(Clone, Debug)]
pub struct LoadRule {
    /// Load factors at which the next level begins.
    pub edges: Vec<f64>,
    pub gamma: f64,
    pub kappa_q: f64,
    /// The queue's average forgets a share e in this time [s]; 0: no average.
    pub tau_q: f64,
    /// The period [s], or the first one.
    pub t_rho: f64,
    /// Does the period follow the mean RTT?
    pub follows: bool,
    /// phi, by which the mean RTT falls more slowly than it rises.
    pub phi: f64,
    /// T [s], where T_c takes the mean RTT once per period and not each T.
    pub once: Option<f64>,
    /// Does the mean RTT start with the first packets', and not at 200 ms?
    pub first_rtt: bool,
}

impl LoadRule {
    /// VCP's router.
    pub fn vcp(part: &Part) -> LoadRule {
        LoadRule::like_vcp(part, vec![part.number("high_load"), part.number("overload")])
    }

    /// DPCP's router: measures as VCP's.
    pub fn dpcp(part: &Part) -> LoadRule {
        LoadRule::like_vcp(part, vec![0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4])
    }

    fn like_vcp(part: &Part, edges: Vec<f64>) -> LoadRule {
        LoadRule { t_rho: part.number("t_rho"), ..LoadRule::of(part, edges) }
    }

    /// What all measure with.
    fn of(part: &Part, edges: Vec<f64>) -> LoadRule {
        part.used("priority"); // by the model's crossings
        LoadRule {
            edges,
            gamma: part.number("gamma"),
            kappa_q: part.number("kappa_q"),
            tau_q: average_time(part),
            t_rho: 0.2,
            follows: false,
            phi: 1.0,
            once: None,
            first_rtt: false,
        }
    }

    /// MLCP's router.
    pub fn mlcp(part: &Part) -> LoadRule {
        let mut edges = vec![0.16, 0.32, 0.48, 0.64, 0.8, 0.95, 1.0];
        edges.extend((1..8).map(|k| 1.0 + f64::from(k) * 0.2 / 7.0));
        LoadRule {
            follows: part.flag("adapt_t_p"),
            phi: part.number("phi"),
            once: (part.word("mean_every") == "t_p").then(|| part.number("t")),
            first_rtt: part.flag("first_rtt"),
            ..LoadRule::of(part, edges)
        }
    }

    /// The level of a load factor.
    pub fn code(&self, rho: f64) -> u8 {
        // There are at most 15 levels.
        self.edges.iter().filter(|&&edge| rho >= edge).count() as u8
    }
}

/// The time constant of an average with weight `a` of the old value every `t_q` [s].
fn average_time(part: &Part) -> f64 {
    let (a, t_q) = (part.number("a"), part.number("t_q"));
    if a <= 0.0 {
        0.0
    } else if a >= 1.0 {
        f64::INFINITY
    } else {
        -t_q / math::ln(a)
    }
}

/// The router's part: what changes.
#[derive(Clone, Debug)]
pub struct LoadState {
    /// Bytes that arrived in the running period.
    pub lambda: f64,
    /// The queue's average [bytes].
    pub q: f64,
    pub rho: f64,
    pub code: u8,
    /// The running period and its end [s].
    pub period: f64,
    pub end: f64,
    /// MLCP's average of the packets' RTT [s]; none before the first.
    pub t_c: Option<f64>,
    /// The packets' mean RTT that it takes at the period's end [s].
    pub t_d: Option<f64>,
}

impl LoadState {
    pub fn new(rule: &LoadRule) -> LoadState {
        LoadState {
            lambda: 0.0,
            q: 0.0,
            rho: 0.0,
            code: 0,
            period: rule.t_rho,
            end: rule.t_rho,
            t_c: (!rule.first_rtt).then_some(0.2),
            t_d: None,
        }
    }

    /// A step of `h` in which `bytes` arrived, the mean queue was `queue` and the packets' mean RTT
    /// `rtt`.
    pub fn advance(
        &mut self,
        rule: &LoadRule,
        h: f64,
        (bytes, queue): (f64, f64),
        rtt: Option<f64>,
    ) {
        self.lambda += bytes;
        let keep = if rule.tau_q > 0.0 { math::exp(-h / rule.tau_q) } else { 0.0 };
        self.q = queue + keep * (self.q - queue);
        let Some(rtt) = rtt.filter(|_| rule.follows) else { return };
        match rule.once {
            Some(_) => self.t_d = Some(rtt),
            None => {
                let keep = math::exp(-self.pace(rule, rtt) * h);
                self.take(rtt, 1.0 - keep);
            }
        }
    }

    /// theta/T, section 3.2.2: T/T_c upwards, T*T_d/(phi*T_c^2) downwards.
    fn pace(&self, rule: &LoadRule, rtt: f64) -> f64 {
        let t_c = self.t_c.unwrap_or(rtt);
        if rtt >= t_c { 1.0 / t_c } else { rtt / (rule.phi * t_c * t_c) }
    }

    /// Equation (15).
    fn take(&mut self, rtt: f64, theta: f64) {
        let t_c = self.t_c.unwrap_or(rtt);
        self.t_c = Some(t_c + theta * (rtt - t_c));
    }

    /// Ends the period at `now`; `capacity` in bytes/s.
    pub fn end_period(&mut self, rule: &LoadRule, now: f64, capacity: f64) {
        self.rho = (self.lambda + rule.kappa_q * self.q) / (rule.gamma * capacity * self.period);
        self.code = rule.code(self.rho);
        self.lambda = 0.0;
        if let (Some(t), Some(rtt)) = (rule.once, self.t_d.take()) {
            self.take(rtt, (t * self.pace(rule, rtt)).min(1.0));
        }
        if rule.follows {
            let longest = PERIODS[PERIODS.len() - 1];
            let t_c = self.t_c.unwrap_or(0.2);
            self.period = PERIODS.into_iter().find(|&p| p >= t_c).unwrap_or(longest);
        }
        self.end = now + self.period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1.0)
    }

    #[test]
    fn vcp_grows_cuts_freezes_and_grows_again() {
        let vcp = LoadSender::vcp(&Part::of_sender("vcp"));
        // xi = 0.25*0.2/0.8 = 0.0625; (1 + xi)^(0.08/0.2) per RTT is ln(1.0625)/0.2 per second.
        let mi = vcp.growth(vcp.levels[0], (100.0, 100.0, false), (0.08, 0.08), 0.0);
        assert!(near(mi, 100.0 * math::ln(1.0625) / 0.2));
        // (80/200)^2 = 0.16 packets per RTT of 80 ms: 2 packets/s, and half of it with half the
        // ACKs.
        assert!(near(vcp.growth(vcp.levels[1], (100.0, 50.0, false), (0.08, 0.08), 0.0), 1.0));
        // The limiters: 10 ms is x = 0.05 below L = 0.1: g = 0.005. 1 s: x = 5, R = 2.5: 2.5 +
        // 6.25.
        assert!(near(vcp.alpha_s(0.01, 0.2), 0.005));
        assert!(near(vcp.alpha_s(1.0, 0.2), 8.75));
        let mut phase = Phase::Free;
        assert_eq!(vcp.obey(&mut phase, 1.0, 2, (0.08, 0.2)), (Act::NOTHING, 0.875));
        assert_eq!(vcp.obey(&mut phase, 1.1, 2, (0.08, 0.2)), (Act::NOTHING, 1.0));
        assert_eq!(vcp.obey(&mut phase, 1.21, 2, (0.08, 0.2)), (Act::AI, 1.0));
        assert_eq!(vcp.obey(&mut phase, 1.29, 0, (0.08, 0.2)), (vcp.levels[0], 1.0));
    }

    #[test]
    fn mlcp_has_fifteen_levels_and_cuts_once_per_period() {
        let (mlcp, rule) =
            (LoadSender::mlcp(&Part::of_sender("mlcp")), LoadRule::mlcp(&Part::of_router("mlcp")));
        let codes = [0.1, 0.16, 0.79, 0.8, 0.95, 1.0, 1.1, 2.0].map(|rho| rule.code(rho));
        // 1.1 is 3.5 of 7 parts of 0.2.
        assert_eq!(codes, [0, 1, 4, 5, 6, 7, 10, 14]);
        assert_eq!(mlcp.levels.len(), 15);
        assert!(near(mlcp.levels[14].cut, 0.675));
        // II at w = 100, rtt = t_p = 200 ms: 1/sqrt(100) packets per RTT.
        assert!(near(mlcp.growth(mlcp.levels[6], (100.0, 100.0, false), (0.2, 0.2), 0.2), 0.5));
        let mut phase = Phase::Free;
        assert_eq!(mlcp.obey(&mut phase, 1.0, 7, (0.2, 0.4)).1, 0.875);
        assert_eq!(mlcp.obey(&mut phase, 1.3, 14, (0.2, 0.4)).1, 1.0);
        assert_eq!(mlcp.obey(&mut phase, 1.3, 0, (0.2, 0.4)).0, mlcp.levels[0]);
        assert!(near(mlcp.obey(&mut phase, 1.4, 14, (0.2, 0.4)).1, 0.675));
    }

    #[test]
    fn mlcps_period_is_the_next_above_the_mean_rtt() {
        let once = LoadRule::mlcp(&Part::of_router("mlcp"));
        let each = LoadRule { once: None, ..once.clone() };
        let mut state = LoadState::new(&each);
        for _ in 0..1000 {
            state.advance(&each, 0.01, (0.0, 0.0), Some(0.5));
        }
        state.end_period(&each, 10.0, 1e6);
        assert_eq!(state.period, 0.6);
        // Once per period: theta = T/T_c = 0.05 of the 300 ms from 200 to 500 ms.
        let mut state = LoadState::new(&once);
        for _ in 0..20 {
            state.advance(&once, 0.01, (0.0, 0.0), Some(0.5));
        }
        assert_eq!(state.t_c, Some(0.2));
        state.end_period(&once, 0.2, 1e6);
        assert!(near(state.t_c.unwrap(), 0.215));
        assert_eq!(state.period, 0.4);
        // A period without packets brings nothing.
        state.end_period(&once, 0.6, 1e6);
        assert!(near(state.t_c.unwrap(), 0.215));
        // Downwards 50 times more slowly: 0.01*0.1/(50*0.215^2) of -115 ms.
        state.advance(&once, 0.01, (0.0, 0.0), Some(0.1));
        state.end_period(&once, 1.0, 1e6);
        assert!(near(state.t_c.unwrap(), 0.215 - 0.115 * 0.001 / (50.0 * 0.215 * 0.215)));
    }

    #[test]
    fn dpcp_increases_by_both_and_cuts_by_three_levels() {
        let dpcp = LoadSender::dpcp(&Part::of_sender("dpcp"));
        // <20 %: xi = 0.25*0.8/0.2 = 1, and 0.0625 (that of 80 %) for an MSP; at 95 to 100 %
        // xi(1) = 0 leaves AI alone.
        let [msp, lsp] = dpcp.levels[0].ln_mi;
        assert!(near(lsp, math::ln(2.0)) && near(msp, math::ln(1.0625)));
        // At an RTT of t_rho with 100 ACKs: half gain 0.0625, half 1: ln(1.53125)*100 per 0.2 s,
        // and AI 5.
        let growth = dpcp.growth(dpcp.levels[0], (100.0, 100.0, false), (0.2, 0.2), 0.0);
        assert!(near(growth, 500.0 * math::ln(1.53125) + 5.0));
        assert_eq!(dpcp.levels[5], Act::AI);
        assert_eq!(dpcp.levels[6..].iter().map(|l| l.cut).collect::<Vec<_>>(), [0.875, 0.6, 0.43]);
        let codes =
            [0.1, 0.9, 1.0, 1.05, 1.5].map(|r| LoadRule::dpcp(&Part::of_router("dpcp")).code(r));
        assert_eq!(codes, [0, 4, 6, 7, 8]);
    }

    #[test]
    fn the_load_factor_is_equation_1() {
        let rule = LoadRule::vcp(&Part::of_router("vcp"));
        let mut state = LoadState::new(&rule);
        state.advance(&rule, 0.2, (19_600.0, 0.0), None);
        state.q = 9800.0;
        // (19600 + 0.5*9800)/(0.98*100000*0.2) = 24500/19600 = 1.25: overload.
        state.end_period(&rule, 0.2, 1e5);
        assert!(near(state.rho, 1.25));
        assert_eq!((state.code, state.lambda, state.end), (2, 0.0, 0.4));
    }

    #[test]
    fn an_ack_adds_what_packets_add() {
        // 1.0625 per 200 ms, RTT 500 ms: an ACK adds 1.0625^2.5 - 1 = 0.16365; 3 of them in half a
        // second.
        let vcp = LoadSender::vcp(&Part::of_sender("vcp"));
        let growth = vcp.growth(vcp.levels[0], (3.0, 3.0, true), (0.5, 0.5), 0.0);
        assert!((growth - 0.98189).abs() < 1e-4, "{growth}");
    }

    #[test]
    fn few_packets_of_a_large_rtt_are_spaced() {
        // 500 ms: 2 packets 250 ms apart, 3 and 4 packets 125 ms; of 8 slots each is less than
        // t_rho/2.
        let vcp = LoadSender::vcp(&Part::of_sender("vcp"));
        let gaps = [1.9, 2.0, 3.5, 4.9, 5.0, 70.0].map(|w| vcp.gap(w, 0.5));
        assert_eq!(gaps, [None, Some(0.25), Some(0.125), Some(0.125), None, None]);
        assert_eq!((vcp.gap(2.0, 0.2), vcp.gap(9.0, 4.0)), (None, Some(0.25)));
    }
}
