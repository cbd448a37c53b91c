//! CUBIC as first published. Rhee, Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", PFLDnet
//! 2005, section 3.
//!
//! As RFC 9438's, but a loss takes 0.2 only, time counts from the loss, the window grows by S_max
//! per second at most, and the TCP mode is a straight line in time. RFC 9438's form is `cubic`.
//!
//! ```math
//! W_cubic = C*(t - K)^3 + W_max                       t seconds since the loss
//! K = (W_max*beta/C)^(1/3)
//! W_tcp = W_max*(1 - beta) + 3*beta/(2 - beta)*t/rtt  where this is more
//! cwnd <- (1 - beta)*cwnd                             at a loss
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: before the first loss, and after a timeout, congestion avoidance begins at its origin: K =
//!   0 and W_max is the window there.
//!
//! Reconstructed, from memory of the paper and its companion in Linux 2.6.13:
//! - R1: S_max = 160 packets per second, C = 0.4, no fast convergence.

use units::math::cbrt;
use units::{Span, Time};

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct Cubic2005Params {
        /// C, scale of the cubic function [packets/s^3] (section 3.1).
        c: f64 = 0.4 => (1e-6, 1e6);
        /// beta, share that a loss takes (section 3.1).
        beta: f64 = 0.2 => (0.01, 0.9);
        /// S_max, largest growth [packets/s] (section 3.1).
        s_max: f64 = 160.0 => (0.01, 1e9);
        /// The TCP mode (section 3.2).
        tcp_friendly: bool = true;
    }
}

/// The end host's part.
pub type Cubic2005Sender = Window<Cubic2005>;

/// The paper's state, by its names.
#[derive(Clone, Debug)]
pub struct Cubic2005 {
    params: Cubic2005Params,
    /// W_max [packets].
    w_max: f64,
    /// W_tcp's start [packets].
    w_0: f64,
    /// K [s].
    k: f64,
    /// When the window was reduced last; [`Time::NEVER`] where no cubic function has begun.
    start: Time,
}

impl Cubic2005 {
    /// W_cubic(t) = C (t - K)^3 + W_max.
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        self.params.c * x * x * x + self.w_max
    }

    /// W_tcp(t) = W_max (1 - beta) + 3 beta/(2 - beta) t/RTT.
    fn w_tcp(&self, t: f64, rtt: f64) -> f64 {
        let beta = self.params.beta;
        self.w_0 + 3.0 * beta / (2.0 - beta) * t / rtt
    }
}

impl Avoidance for Cubic2005 {
    type Params = Cubic2005Params;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("w_max", "pkts", "window where the cubic function is flat"),
        Variable::new("k", "s", "time from the loss to w_max"),
    ];

    fn new(params: &Cubic2005Params, _: &SenderContext) -> Cubic2005 {
        Cubic2005 { params: params.clone(), w_max: 0.0, w_0: 0.0, k: 0.0, start: Time::NEVER }
    }

    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64 {
        let cwnd = frame.cwnd;
        if self.start == Time::NEVER {
            (self.start, self.w_max, self.w_0, self.k) = (ack.now, cwnd, cwnd, 0.0); // D1
        }
        let t = ack.now.since(self.start).as_secs();
        let rtt = ack.srtt.unwrap_or(Span::ZERO).as_secs();
        if self.params.tcp_friendly && rtt > 0.0 {
            // At most a doubling per ACK, which only an RTT of no time could exceed.
            let w_tcp = self.w_tcp(t, rtt).min(2.0 * cwnd);
            if cwnd < w_tcp && self.w_cubic(t) < w_tcp {
                return w_tcp - cwnd;
            }
        }
        let highest = cwnd + (self.params.s_max * rtt).min(cwnd);
        let target = self.w_cubic(t + rtt).clamp(cwnd, highest);
        (target - cwnd) / cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let left = (1.0 - self.params.beta) * w;
        (self.w_max, self.w_0) = (w, left);
        self.k = cbrt(w * self.params.beta / self.params.c);
        self.start = if loss.kind == LossKind::Timeout { Time::NEVER } else { loss.now };
        left
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("w_max", self.w_max);
        sink("k", self.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::roles::Sender;
    use crate::tests::{avoiding, loss, lost, near, timed};

    fn after_loss(set: &[(&str, Value)]) -> Cubic2005Sender {
        let mut window = avoiding::<Cubic2005>(1000.0, set);
        window.on_loss(&lost(0, 1000));
        assert_eq!(window.cwnd(), 800.0);
        window
    }

    /// K = cbrt(1000*0.2/0.4) = cbrt(500) = 7.937005 s; W(0) = 800; W(3) = 0.4*(-4.937005)^3 +
    /// 1000 = 951.8658; W(10) = 0.4*2.062995^3 + 1000 = 1003.5120.
    #[test]
    fn w_cubic_counts_from_the_loss() {
        let cubic = after_loss(&[]).avoidance;
        assert!((cubic.k - 7.937_005).abs() < 1e-6);
        for (t, w) in [(0.0, 800.0), (3.0, 951.8658), (10.0, 1003.5120)] {
            assert!((cubic.w_cubic(t) - w).abs() < 1e-3, "{t}: {}", cubic.w_cubic(t));
        }
    }

    /// At the loss W' = 3 C K^2 = 75.6 packets/s, so the target at 0.1 s is 0.4*(-7.837005)^3 +
    /// 1000 = 807.4652; with S_max = 20 it is 802.
    #[test]
    fn growth_per_second_is_clamped() {
        for (s_max, target) in [(160.0, 807.4652), (20.0, 802.0)] {
            let mut window = after_loss(&[("s_max", Value::Number(s_max))]);
            window.on_ack(&timed(0, 100, 100));
            let want = 800.0 + (target - 800.0) / 800.0;
            assert!((window.cwnd() - want).abs() < 1e-6, "{s_max}: {}", window.cwnd());
        }
    }

    /// 3*0.2/1.8 = 1/3 packet per RTT: after 6 s of 100 ms each, 8 + 20 = 28, where W_cubic(6 s) =
    /// 0.4*(6 - 1.709976)^3 + 10 = 41.58 is more; after 3 s 18 against 0.4*1.290024^3 + 10 = 10.86.
    #[test]
    fn tcp_mode_is_a_straight_line() {
        let mut window = avoiding::<Cubic2005>(10.0, &[]);
        window.on_loss(&lost(0, 10));
        assert_eq!(window.cwnd(), 8.0);
        window.on_ack(&timed(1500, 100, 100));
        assert!(near(window.cwnd(), 13.0), "{}", window.cwnd());
        window.on_ack(&timed(3000, 100, 100));
        assert!(near(window.cwnd(), 18.0), "{}", window.cwnd());
    }

    #[test]
    fn after_a_timeout_it_starts_flat() {
        let mut window = avoiding::<Cubic2005>(100.0, &[]);
        window.on_loss(&loss(LossKind::Timeout, 100));
        assert_eq!((window.cwnd(), window.frame.ssthresh), (1.0, 80.0));
        window.frame.cwnd = 80.0;
        window.on_ack(&timed(5000, 100, 100));
        assert_eq!((window.avoidance.w_max, window.avoidance.k), (80.0, 0.0));
    }

    /// Without the TCP mode the same loss leaves the cubic function alone: at 1.5 s of RTTs of 100
    /// ms it aims at 0.4*(1.6 - 1.709976)^3 + 10 = 9.999468, an eighth of the way from 8 per ACK.
    /// Without an RTT there is no TCP mode either, and no growth at all.
    #[test]
    fn the_tcp_mode_needs_its_parameter_and_an_rtt() {
        let mut window = avoiding::<Cubic2005>(10.0, &[("tcp_friendly", Value::Flag(false))]);
        window.on_loss(&lost(0, 10));
        window.on_ack(&timed(1500, 100, 100));
        assert!((window.cwnd() - 8.249_933_5).abs() < 1e-6, "{}", window.cwnd());
        let mut window = avoiding::<Cubic2005>(10.0, &[]);
        window.on_loss(&lost(0, 10));
        window.on_ack(&Ack { srtt: None, ..timed(1500, 100, 100) });
        assert_eq!(window.cwnd(), 8.0);
    }

    /// W_tcp leads only where it is above both. With beta = 1/2 it has a packet per RTT: after 1 s
    /// of 100 ms 2 + 10 = 12, which is W_cubic at K = 1 s, so the window of 10 goes to
    /// W_cubic(1.1 s) = 12.0004. At the start it is the window of 10 itself: W_cubic(2 s) = 10.4.
    #[test]
    fn a_straight_line_that_is_no_higher_does_not_lead() {
        for (now, rtt, w_0, w_max, target) in
            [(1000, 100, 2.0, 12.0, 12.0004), (0, 2000, 10.0, 10.0, 10.4)]
        {
            let half = [("beta", Value::Number(0.5))];
            let mut cubic = avoiding::<Cubic2005>(10.0, &half).avoidance;
            (cubic.start, cubic.k, cubic.w_0, cubic.w_max) = (Time::ZERO, 1.0, w_0, w_max);
            let increase = cubic.increase(&timed(now, rtt, rtt), &Frame::new(10.0));
            assert!(near(increase, (target - 10.0) / 10.0), "{now}: {increase}");
        }
    }
}
