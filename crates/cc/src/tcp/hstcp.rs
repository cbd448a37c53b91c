//! HighSpeed TCP. RFC 3649, sections 5 and appendix B.
//!
//! Up to Low_Window packets it is Reno. Above, the window grows by a(w) per RTT and a loss takes the
//! share b(w), both functions of the window chosen so that the response function is w = 0.12/p^0.835:
//! large windows need fewer loss-free packets.
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: a(w) and b(w) are the formulas of section 5, not the whole numbers of the table in appendix
//!   B; they are computed at whole packets, when those change.
//! - D2: above High_Window the formulas go on (b falls below High_Decrease).

use units::math::{ln, pow};

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct HstcpParams {
        /// Low_Window, up to which it is Reno [packets] (section 5).
        low_window: f64 = 38.0 => (2.0, 1000.0);
        /// High_Window, where b(w) is High_Decrease [packets] (section 5).
        high_window: f64 = 83_000.0 => (1000.0, 1e9);
        /// High_Decrease, b(w) at High_Window (section 5).
        high_decrease: f64 = 0.1 => (0.01, 0.5);
    }
}

/// The end host's part.
pub type HstcpSender = Window<Hstcp>;

/// RFC 3649's functions of the window.
#[derive(Clone, Debug)]
pub struct Hstcp {
    low_window: f64,
    /// Slope of b over ln w.
    slope: f64,
    /// The whole packets that `a` and `b` are of.
    at: f64,
    /// a(w) [packets per RTT].
    a: f64,
    /// b(w).
    b: f64,
}

impl Hstcp {
    /// Section 5: a and b at `w` packets.
    fn look_up(&mut self, w: f64) {
        let w = units::math::floor(w);
        if w == self.at {
            return;
        }
        (self.at, self.a, self.b) = (w, 1.0, 0.5);
        if w > self.low_window {
            let p = 0.078 / pow(w, 1.2);
            self.b = (0.5 + self.slope * (ln(w) - ln(self.low_window))).max(0.01);
            self.a = (w * w * p * 2.0 * self.b / (2.0 - self.b)).max(1.0);
        }
    }
}

impl Avoidance for Hstcp {
    type Params = HstcpParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("a", "pkts", "increase per RTT, a(w)"),
        Variable::new("b", "", "share that a loss takes, b(w)"),
    ];

    fn new(params: &HstcpParams, _: &SenderContext) -> Hstcp {
        let span = ln(params.high_window) - ln(params.low_window);
        let slope = if span > 0.0 { (params.high_decrease - 0.5) / span } else { 0.0 };
        Hstcp { low_window: params.low_window, slope, at: 0.0, a: 1.0, b: 0.5 }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        self.look_up(frame.cwnd);
        self.a / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        self.look_up(w);
        (1.0 - self.b) * w
    }

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("a", self.a);
        sink("b", self.b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost};

    /// Appendix B, a row out of each part of the table: the first window with that a(w), and b(w).
    #[test]
    fn a_and_b_are_those_of_appendix_b() {
        for (w, a, b) in [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (495.0, 5.0, 0.37),
            (1058.0, 8.0, 0.33),
            (2076.0, 12.0, 0.29),
            (5036.0, 20.0, 0.25),
            (10661.0, 30.0, 0.21),
            (30975.0, 50.0, 0.15),
            (84035.0, 71.0, 0.10),
        ] {
            let mut window = avoiding::<Hstcp>(w, &[]);
            window.on_ack(&ack(1));
            assert!((window.cwnd() - w - a / w).abs() < 0.05 / w, "{w}: {}", window.avoidance.a);
            let mut window = avoiding::<Hstcp>(w, &[]);
            window.on_loss(&lost(0, w as u32));
            assert!((window.cwnd() - (1.0 - b) * w).abs() < 0.0051 * w, "{w}");
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut window = avoiding::<Hstcp>(20.0, &[]);
        window.on_ack(&ack(1));
        assert_eq!(window.cwnd(), 20.05);
        window.on_loss(&lost(0, 20));
        assert_eq!(window.cwnd(), 10.025);
    }
}
