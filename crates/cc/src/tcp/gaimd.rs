//! General additive increase, multiplicative decrease. Yang, Lam, "General AIMD congestion
//! control", ICNP 2000.
//!
//! AIMD(alpha, beta): the window grows by alpha per RTT and a loss leaves beta of it. The default
//! pair (0.31, 7/8) is TCP-friendly: alpha = 4 (1 - beta^2)/3 (section 4) gives Reno's rate with
//! smoother windows.
//!
//! ```math
//! cwnd <- cwnd + alpha/cwnd  per ACK of a packet
//! cwnd <- beta*cwnd          at a loss
//! alpha = 4*(1 - beta^2)/3   for Reno's rate
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`].

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct GaimdParams {
        /// alpha, increase per RTT [packets] (section 2).
        alpha: f64 = 0.31 => (1e-6, 1000.0);
        /// beta, what a loss leaves of the window (section 2).
        beta: f64 = 0.875 => (0.01, 0.999);
    }
}

/// The end host's part.
pub type GaimdSender = Window<Gaimd>;

/// AIMD(alpha, beta).
#[derive(Clone, Debug)]
pub struct Gaimd {
    alpha: f64,
    beta: f64,
}

impl Avoidance for Gaimd {
    type Params = GaimdParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[CWND, SSTHRESH];

    fn new(params: &GaimdParams, _: &SenderContext) -> Gaimd {
        Gaimd { alpha: params.alpha, beta: params.beta }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        self.alpha / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        self.beta * in_use(frame.cwnd, loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost};

    #[test]
    fn it_adds_alpha_per_window_and_keeps_beta() {
        let mut window = avoiding::<Gaimd>(20.0, &[]);
        window.on_ack(&ack(1));
        assert!((window.cwnd() - 20.0155).abs() < 1e-12);
        window.on_loss(&lost(0, 20));
        assert!((window.cwnd() - 17.513_562_5).abs() < 1e-12);
        let pair = [("alpha", Value::Number(2.0)), ("beta", Value::Number(0.25))];
        let mut window = avoiding::<Gaimd>(20.0, &pair);
        window.on_ack(&ack(1));
        assert_eq!(window.cwnd(), 20.1);
        window.on_loss(&lost(0, 20));
        assert_eq!(window.cwnd(), 5.025);
    }
}
