//! HighSpeed TCP. RFC 3649, sections 5 and appendix B.
//!
//! Up to Low_Window packets it is Reno. Above, the window grows by a(w) per RTT and a loss takes
//! the share b(w), both functions of the window chosen so that the response function is the
//! straight line in log-log scale from (Low_P, Low_Window) to (High_P, High_Window), by default w =
//! 0.12/p^0.835: large windows need fewer loss-free packets.
//!
//! ```math
//! cwnd <- cwnd + a/cwnd                                 per ACK of a packet
//! cwnd <- (1 - b)*cwnd                                  at a loss
//! b = 0.5 + (b_high - 0.5)*(ln(w) - ln(w_low))/(ln(w_high) - ln(w_low))  of a window w above w_low
//! a = w^2*p*2*b/(2 - b)                                 with p = 0.078/w^1.2
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: a(w) and b(w) are the formulas of section 5, not the whole numbers of the table in
//!   appendix B; they are computed at whole packets, when those change.
//! - D2: with the RFC's own ends of the line p(w) is its rounded 0.078/w^1.2, from which appendix B
//!   is; unrounded, low_p*(w/low_window)^(1/S) would be 0.8 % (at 38 packets) to 2.5 % (at 83,000)
//!   more. For other ends it is that.
//! - D3: above High_Window the formulas go on (b falls below High_Decrease).

use units::math::{ln, pow};

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct HstcpParams {
        /// Low_Window, up to which it is Reno [packets] (section 5).
        low_window: f64 = 38.0 => (2.0, 1000.0);
        /// High_Window, where b(w) is High_Decrease and p(w) is High_P [packets] (section 5).
        high_window: f64 = 83_000.0 => (1000.0, 1e9);
        /// Low_P, the loss rate p(w) at Low_Window (section 5).
        low_p: f64 = 1e-3 => (1e-5, 0.1);
        /// High_P, the loss rate p(w) at High_Window (section 5).
        high_p: f64 = 1e-7 => (1e-12, 1e-5);
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
    /// p(w) = scale*w^p_slope.
    scale: f64,
    /// 1/S, the slope of ln p over ln w (section 5 has S, that of ln w over ln p).
    p_slope: f64,
    /// Slope of b over ln w.
    b_slope: f64,
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
            let p = self.scale * pow(w, self.p_slope);
            self.b = (0.5 + self.b_slope * (ln(w) - ln(self.low_window))).max(0.01);
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
        let slope = |rise: f64| if span > 0.0 { rise / span } else { 0.0 };
        let ends = |p: &HstcpParams| [p.low_window, p.high_window, p.low_p, p.high_p];
        let (scale, p_slope) = if ends(params) == ends(&HstcpParams::default()) {
            (0.078, -1.2) // D2
        } else {
            let p_slope = slope(ln(params.high_p) - ln(params.low_p));
            (params.low_p * pow(params.low_window, -p_slope), p_slope)
        };
        Hstcp {
            low_window: params.low_window,
            scale,
            p_slope,
            b_slope: slope(params.high_decrease - 0.5),
            at: 0.0,
            a: 1.0,
            b: 0.5,
        }
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

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("a", self.a);
        sink("b", self.b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost, near, sender_context};

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

    /// Other ends of the line: S = (ln 10000 - ln 100)/(ln 1e-6 - ln 1e-2) = -1/2, so p(1000) =
    /// 1e-4; b(1000) is half way between 0.5 and 0.1, and a = 1000^2*1e-4*2*0.3/1.7.
    #[test]
    fn the_response_function_goes_through_its_two_ends() {
        let params = HstcpParams {
            low_window: 100.0,
            high_window: 10_000.0,
            low_p: 1e-2,
            high_p: 1e-6,
            ..HstcpParams::default()
        };
        let mut hstcp = Hstcp::new(&params, &sender_context(2.0));
        for (w, b, p) in [(1000.0, 0.3, 1e-4), (10_000.0, 0.1, 1e-6)] {
            hstcp.look_up(w);
            assert!(near(hstcp.b, b), "{w}: {}", hstcp.b);
            assert!(near(hstcp.a, w * w * p * 2.0 * b / (2.0 - b)), "{w}: {}", hstcp.a);
        }
    }

    /// D2: without rounding p(w) = 1e-3*(w/38)^-1.19786 = 0.078047/w^1.19786, which is
    /// 1.0006*w^0.00214 times 0.078/w^1.2; a(w) is proportional to it.
    #[test]
    fn the_rounded_response_function_is_near_the_line() {
        let a = |low_window: f64, w: f64| {
            let params = HstcpParams { low_window, ..HstcpParams::default() };
            let mut hstcp = Hstcp::new(&params, &sender_context(2.0));
            hstcp.look_up(w);
            hstcp.a
        };
        for (w, more) in [(100.0, 1.0105), (1000.0, 1.0155), (83_000.0, 1.0252)] {
            let ratio = a(38.000_01, w) / a(38.0, w);
            assert!((ratio - more).abs() < 2e-4, "{w}: {ratio}");
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
