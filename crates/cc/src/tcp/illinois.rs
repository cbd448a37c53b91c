//! TCP-Illinois. Liu, Basar, Srikant, "TCP-Illinois: a loss- and delay-based congestion control
//! algorithm for high-speed networks", Performance Evaluation 65, 2008, section 2.
//!
//! AIMD whose increase falls and whose decrease grows with the mean queueing delay of the last RTT:
//! losses say when to go back, delay says how fast to go on.
//!
//! ```math
//! cwnd <- cwnd + alpha/cwnd                             per ACK of a packet
//! cwnd <- (1 - beta)*cwnd                               at a loss
//! alpha = alpha_max if d_a <= eta_1*d_m else kappa_1/(kappa_2 + d_a)  at a mean delay d_a (eq. 1)
//! beta = beta_min if d_a <= eta_2*d_m else kappa_3 + kappa_4*d_a  and at most beta_max (eq. 1)
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: an RTT is the time until what was sent at its start is acknowledged; mean and maximum are
//!   over the samples of packets sent once.
//! - D2: a timeout sets alpha = 1 and beta = 1/2, as in the authors' Linux code, whose W_thresh
//!   is 15.

use units::Span;

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{
    Avoidance, CWND, Frame, Plain, Round, SSTHRESH, Window, in_use, window_params,
};

window_params! {
    /// The sender's parameters (section 2.2 and section 4's values).
    pub struct IllinoisParams {
        /// alpha_max, increase per RTT without queueing delay [packets].
        alpha_max: f64 = 10.0 => (1.0, 1000.0);
        /// alpha_min, increase per RTT at the largest delay [packets].
        alpha_min: f64 = 0.3 => (0.01, 1.0);
        /// beta_min, share that a loss takes at small delay.
        beta_min: f64 = 0.125 => (0.01, 0.5);
        /// beta_max, share that a loss takes at large delay.
        beta_max: f64 = 0.5 => (0.5, 0.9);
        /// eta_1: below eta_1 d_m the increase is alpha_max.
        eta_1: f64 = 0.01 => (0.0, 0.5);
        /// eta_2: below eta_2 d_m a loss takes beta_min.
        eta_2: f64 = 0.1 => (0.0, 0.5);
        /// eta_3: above eta_3 d_m a loss takes beta_max.
        eta_3: f64 = 0.8 => (0.51, 1.0);
        /// theta, RTTs of small delay in a row before the increase is alpha_max again.
        theta: u64 = 5 => (1.0, 1e6);
        /// W_thresh, below which it is Reno [packets].
        w_thresh: f64 = 10.0 => (1.0, 1e9);
    }
}

/// The end host's part.
pub type IllinoisSender = Window<Illinois>;

/// The paper's state, by its names.
#[derive(Clone, Debug)]
pub struct Illinois {
    curve: Curve,
    w_thresh: f64,
    theta: u32,
    /// alpha [packets per RTT].
    alpha: f64,
    beta: f64,
    round: Round,
    /// Sum of the RTTs of this round [s], and their number.
    sum: f64,
    samples: u32,
    /// T_max.
    rtt_max: Span,
    rtt_min: Span,
    /// RTTs of small delay in a row.
    low: u32,
    /// Was the delay ever above eta_1 d_m since the increase was alpha_max last?
    above: bool,
}

/// The parameters of eq. (1).
#[derive(Clone, Debug)]
struct Curve {
    alpha_max: f64,
    alpha_min: f64,
    beta_min: f64,
    beta_max: f64,
    eta_1: f64,
    eta_2: f64,
    eta_3: f64,
}

impl Curve {
    /// Eq. (1), f_1: the increase at a mean queueing delay `d_a`, with `d_m` the largest.
    fn alpha_at(&self, d_a: f64, d_m: f64) -> f64 {
        let Curve { alpha_max, alpha_min, eta_1, .. } = *self;
        let d_1 = eta_1 * d_m;
        // kappa_1/(kappa_2 + d_a), with both multiplied by (alpha_max - alpha_min)/alpha_min.
        (d_m - d_1) * alpha_max / ((d_m - d_1) + (d_a - d_1) * (alpha_max - alpha_min) / alpha_min)
    }

    /// Eq. (1), f_2: the share that a loss takes.
    fn beta_at(&self, d_a: f64, d_m: f64) -> f64 {
        let Curve { beta_min, beta_max, eta_2, eta_3, .. } = *self;
        let (d_2, d_3) = (eta_2 * d_m, eta_3 * d_m);
        if d_a <= d_2 {
            beta_min
        } else if d_a < d_3 {
            beta_min + (beta_max - beta_min) * (d_a - d_2) / (d_3 - d_2)
        } else {
            beta_max
        }
    }
}

impl Illinois {
    fn end_round(&mut self) {
        if self.samples == 0 {
            return;
        }
        let d_m = (self.rtt_max - self.rtt_min).as_secs();
        let d_a = (self.sum / f64::from(self.samples) - self.rtt_min.as_secs()).clamp(0.0, d_m);
        (self.sum, self.samples) = (0.0, 0);
        self.beta = self.curve.beta_at(d_a, d_m);
        if d_a > self.curve.eta_1 * d_m {
            (self.above, self.low) = (true, 0);
            self.alpha = self.curve.alpha_at(d_a, d_m);
            return;
        }
        self.low = self.low.saturating_add(1);
        if !self.above || self.low >= self.theta {
            (self.above, self.low) = (false, 0);
            self.alpha = self.curve.alpha_max;
        }
    }
}

impl Avoidance for Illinois {
    type Params = IllinoisParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("alpha", "pkts", "increase per RTT"),
        Variable::new("beta", "", "share that a loss takes"),
    ];

    fn new(params: &IllinoisParams, _: &SenderContext) -> Illinois {
        let IllinoisParams { alpha_max, alpha_min, beta_min, beta_max, .. } = *params;
        let IllinoisParams { eta_1, eta_2, eta_3, w_thresh, .. } = *params;
        Illinois {
            curve: Curve { alpha_max, alpha_min, beta_min, beta_max, eta_1, eta_2, eta_3 },
            w_thresh,
            theta: u32::try_from(params.theta).unwrap_or(u32::MAX),
            alpha: alpha_max,
            beta: 0.5,
            round: Round::default(),
            sum: 0.0,
            samples: 0,
            rtt_max: Span::ZERO,
            rtt_min: Span::ZERO,
            low: 0,
            above: false,
        }
    }

    fn measure(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        if let (Some(rtt), Some(min_rtt)) = (ack.rtt, ack.min_rtt) {
            self.sum += rtt.as_secs();
            self.samples = self.samples.saturating_add(1);
            self.rtt_min = min_rtt.min(rtt);
            self.rtt_max = self.rtt_max.max(rtt);
        }
        if self.round.is_over(frame) {
            self.end_round();
        }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        let alpha = if frame.cwnd < self.w_thresh { 1.0 } else { self.alpha };
        alpha / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let beta = if w < self.w_thresh { 0.5 } else { self.beta };
        if loss.kind == LossKind::Timeout {
            (self.alpha, self.beta) = (1.0, 0.5); // D2
        }
        (1.0 - beta) * w
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("alpha", self.alpha);
        sink("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{avoiding, lost, near, round_trip, timed};

    /// A window that has seen RTTs of 100 and 200 ms, then a round of `rtt`.
    fn at(cwnd: f64, rtt: u64) -> IllinoisSender {
        let mut window = avoiding::<Illinois>(cwnd, &[]);
        for rtt in [100, 200, rtt, rtt] {
            round_trip(&mut window, 10, &timed(0, rtt, 100));
        }
        // The first ACK after a round ends it.
        window.avoidance.end_round();
        window.frame.cwnd = cwnd;
        window
    }

    /// d_m = 100 ms, d_1 = 1 ms. d_a = 100 ms: 0.3; d_a = 50 ms: 99*10/(99 + 49*9.7/0.3) =
    /// 0.588119; d_a = 10 ms: 990/(99 + 9*32.333) = 2.538462.
    #[test]
    fn the_increase_falls_with_delay() {
        for (rtt, alpha) in [(200, 0.3), (150, 0.588_119), (110, 2.538_462)] {
            let mut window = at(100.0, rtt);
            assert!((window.avoidance.alpha - alpha).abs() < 1e-6, "{}", window.avoidance.alpha);
            window.on_ack(&timed(0, rtt, 100));
            assert!((window.cwnd() - 100.0 - alpha / 100.0).abs() < 1e-7);
        }
    }

    /// d_2 = 10 ms, d_3 = 80 ms: at 10 ms 1/8, at 45 ms the middle 0.3125, at 80 ms 1/2.
    #[test]
    fn the_decrease_grows_with_delay() {
        for (rtt, beta) in [(110, 0.125), (145, 0.3125), (180, 0.5), (200, 0.5)] {
            let mut window = at(100.0, rtt);
            window.on_loss(&lost(0, 100));
            assert!(near(window.cwnd(), 100.0 * (1.0 - beta)), "{rtt}: {}", window.cwnd());
        }
    }

    /// After a large delay five RTTs of small delay bring alpha_max back.
    #[test]
    fn small_delay_must_last() {
        let mut window = at(100.0, 200);
        let small = timed(0, 100, 100);
        for i in 1..=5 {
            (window.avoidance.sum, window.avoidance.samples) = (0.1, 1);
            window.avoidance.end_round();
            let alpha = if i < 5 { 0.3 } else { 10.0 };
            assert!(near(window.avoidance.alpha, alpha), "{i}");
        }
        window.on_ack(&small);
        assert!(near(window.cwnd(), 100.1));
    }

    #[test]
    fn small_windows_are_renos() {
        let mut window = at(8.0, 200);
        window.on_ack(&timed(0, 200, 100));
        assert!(near(window.cwnd(), 8.125));
        window.on_loss(&lost(0, 8));
        assert!(near(window.cwnd(), 4.0625));
    }

    /// A path that never queues: d_a = d_m = 0 is no large delay, and the increase stays alpha_max.
    #[test]
    fn without_any_queue_the_increase_is_the_largest() {
        let mut window = avoiding::<Illinois>(100.0, &[]);
        for _ in 0..3 {
            round_trip(&mut window, 10, &timed(0, 100, 100));
        }
        window.avoidance.end_round();
        assert_eq!((window.avoidance.alpha, window.avoidance.beta), (10.0, 0.125));
        assert!(!window.avoidance.above);
    }

    /// "W < W_thresh" is Reno's: at 10 packets a delay of 10 ms in 100 takes an eighth and adds
    /// 2.538 462.
    #[test]
    fn at_the_threshold_it_is_illinois() {
        let mut window = at(10.0, 110);
        window.on_ack(&timed(0, 110, 100));
        assert!((window.cwnd() - 10.253_846_2).abs() < 1e-6, "{}", window.cwnd());
        let mut window = at(10.0, 110);
        window.on_loss(&lost(0, 10));
        assert!(near(window.cwnd(), 8.75), "{}", window.cwnd());
    }
}
