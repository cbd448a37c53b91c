//! Binomial congestion control. Bansal, Balakrishnan, "Binomial congestion control algorithms",
//! INFOCOM 2001, section II.
//!
//! The window grows by alpha/w^k per RTT and a loss takes beta*w^l. The throughput goes as
//! p^(-1/(k+l+1)), so k + l = 1 is TCP-compatible. SQRT is k = l = 1/2; IIAD (inverse increase,
//! additive decrease) is k = 1, l = 0; AIMD is k = 0, l = 1.
//!
//! ```math
//! cwnd <- cwnd + alpha/cwnd^(k + 1)  per ACK of a packet
//! cwnd <- cwnd - beta*cwnd^l         at a loss, and half of cwnd at most
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: a loss takes half of the window at most, which binds below (2 beta)^(1/(1-l)) packets: the
//!   rule as written would leave nothing of a small window.
//!
//! Reconstructed:
//! - R1: beta = 2/3 with alpha = 1. For k + l = 1 and small decreases w = sqrt(alpha/(beta p)),
//!   which is TCP's sqrt(3/(2 p)) then.

use units::math::pow;

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

choice! {
    /// Which member of the family.
    pub enum Rule {
        /// k = l = 1/2.
        Sqrt = "sqrt",
        /// k = 1, l = 0.
        Iiad = "iiad",
        /// k and l as given.
        Own = "own",
    }
}

window_params! {
    /// The sender's parameters.
    pub struct BinomialParams {
        /// The rule: SQRT, IIAD, or own with k and l (section II).
        rule: Rule = Rule::Sqrt;
        /// k, exponent of the increase, with rule = "own" (section II).
        k: f64 = 0.5 => (-1.0, 3.0);
        /// l, exponent of the decrease, with rule = "own" (section II).
        l: f64 = 0.5 => (-1.0, 1.0);
        /// alpha, increase per RTT at a window of one [packets] (section II).
        alpha: f64 = 1.0 => (1e-6, 1000.0);
        /// beta, decrease at a window of one [packets] (section II).
        beta: f64 = 0.666_666_666_666_666_6 => (0.01, 100.0);
    }
}

/// The end host's part.
pub type BinomialSender = Window<Binomial>;

/// I: w += alpha/w^k, D: w -= beta w^l.
#[derive(Clone, Debug)]
pub struct Binomial {
    k: f64,
    l: f64,
    alpha: f64,
    beta: f64,
}

impl Avoidance for Binomial {
    type Params = BinomialParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[CWND, SSTHRESH];

    fn new(params: &BinomialParams, _: &SenderContext) -> Binomial {
        let (k, l) = match params.rule {
            Rule::Sqrt => (0.5, 0.5),
            Rule::Iiad => (1.0, 0.0),
            Rule::Own => (params.k, params.l),
        };
        Binomial { k, l, alpha: params.alpha, beta: params.beta }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        // At most the window itself per ACK, which only k < 0 could exceed.
        (self.alpha / pow(frame.cwnd, self.k + 1.0)).min(frame.cwnd)
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        if w <= 1.0 {
            return w;
        }
        (w - self.beta * pow(w, self.l)).max(w / 2.0) // D1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost, near};

    /// At 64 packets SQRT adds 1/8 per RTT, 1/512 per ACK, and loses 2/3*8; IIAD adds 1/64 and
    /// loses 2/3.
    #[test]
    fn sqrt_and_iiad() {
        for (rule, per_rtt, lost_pkts) in
            [("sqrt", 1.0 / 8.0, 16.0 / 3.0), ("iiad", 1.0 / 64.0, 2.0 / 3.0)]
        {
            let set = [("rule", Value::Choice(rule))];
            let mut window = avoiding::<Binomial>(64.0, &set);
            window.on_ack(&ack(1));
            assert!(near(window.cwnd(), 64.0 + per_rtt / 64.0), "{rule}");
            let mut window = avoiding::<Binomial>(64.0, &set);
            window.on_loss(&lost(0, 64));
            assert!(near(window.cwnd(), 64.0 - lost_pkts), "{rule}");
        }
    }

    /// k = 0, l = 1, beta = 1/2 is Reno.
    #[test]
    fn aimd_is_a_member() {
        let set = [
            ("rule", Value::Choice("own")),
            ("k", Value::Number(0.0)),
            ("l", Value::Number(1.0)),
            ("beta", Value::Number(0.5)),
        ];
        let mut window = avoiding::<Binomial>(10.0, &set);
        window.on_ack(&ack(1));
        assert!(near(window.cwnd(), 10.1));
        window.on_loss(&lost(0, 10));
        assert!(near(window.cwnd(), 5.05));
    }

    #[test]
    fn a_small_window_is_halved_at_most() {
        let set = [("rule", Value::Choice("iiad")), ("beta", Value::Number(10.0))];
        let mut window = avoiding::<Binomial>(8.0, &set);
        window.on_loss(&lost(0, 8));
        assert_eq!(window.cwnd(), 4.0);
    }
}
