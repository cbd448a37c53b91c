//! What experiments change of VCP: the additive increase's dependence on the RTT, and gamma.
//!
//! Deviations:
//! - D7: the utilization of eq. (14) is what arrived over what the line could carry, at most 1 per
//!   period, and its mean over the periods since gamma moved last; gamma stays in [0.1, 0.999].
//!
//! Chosen where the paper says nothing:
//! - C4: the step and the pace of eq. (14), 0.01 every ten periods.

use units::Span;

use crate::explicit::load::factor::LoadMeter;

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
    /// How the additive increase depends on the RTT.
    pub struct ScalingParams {
        /// How the additive increase depends on the RTT.
        ai_scaling: AiScaling = AiScaling::Rate;
        /// The RTT that scales the additive increase.
        scale_rtt: ScaleRtt = ScaleRtt::Srtt;
        /// The RTT without queueing, for scale_rtt = "base_rtt" only.
        base_rtt: Span = Span::from_millis(80) => (1e-6, 100.0);
    }
}

params! {
    /// How gamma moves.
    pub struct TargetParams {
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

/// Where eq. (14) may move gamma.
const GAMMA_RANGE: (f64, f64) = (0.1, 0.999);

/// The utilization since gamma moved last.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    /// Its sum over the periods, and how many they are.
    sum: f64,
    periods: u64,
}

impl Target {
    /// gamma += mu*sgn(U - u) (eq. 14), if it moves and its time has come.
    pub(super) fn end_period(&mut self, params: &TargetParams, meter: &mut LoadMeter) {
        if !params.adapt_gamma {
            return;
        }
        self.sum += meter.offered().min(1.0);
        self.periods += 1;
        if self.periods < params.gamma_periods {
            return;
        }
        let missing = params.u_target - self.sum / self.periods as f64;
        let step = if missing > 0.0 { params.gamma_step } else { -params.gamma_step };
        let gamma = meter.gamma() + if missing == 0.0 { 0.0 } else { step };
        meter.set_gamma(gamma.clamp(GAMMA_RANGE.0, GAMMA_RANGE.1));
        *self = Target::default();
    }
}
