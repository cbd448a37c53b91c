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
//!   appendix B; they are computed at whole packets, when those change. With `table = true` they
//!   are that table's as Linux reads it, in the row at or above the window and not below: from 39
//!   to 118 packets a loss takes 0.4375 and a(w) is 2, up to twice the formula's.
//! - D2: with the RFC's own ends of the line p(w) is its rounded 0.078/w^1.2, from which appendix B
//!   is; unrounded, low_p*(w/low_window)^(1/S) would be 0.8 % (at 38 packets) to 2.5 % (at 83,000)
//!   more. For other ends it is that.
//! - D3: above High_Window the formulas go on (b falls below High_Decrease).

use units::math::{floor, ln, pow};

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
        /// Are a(w) and b(w) of the first row of appendix B's table whose window is not below w, b
        /// rounded down to 256ths (Linux's tcp_highspeed.c)? The ends of the line are then the
        /// RFC's, whatever the other parameters say.
        table: bool = false;
    }
    presets {
        /// Linux's a(w) and b(w) (net/ipv4/tcp_highspeed.c, 2.6.22 as today).
        "linux-2-6-22" { table = Flag(true) }
    }
}

/// Appendix B's windows [packets]; row n, from 1, has a(w) = n.
#[rustfmt::skip]
const ROWS: [f64; 72] = [
    38.0, 118.0, 221.0, 347.0, 495.0, 663.0, 851.0, 1058.0, 1284.0, 1529.0, 1793.0, 2076.0,
    2378.0, 2699.0, 3039.0, 3399.0, 3778.0, 4177.0, 4596.0, 5036.0, 5497.0, 5979.0, 6483.0,
    7009.0, 7558.0, 8130.0, 8726.0, 9346.0, 9991.0, 10661.0, 11358.0, 12082.0, 12834.0, 13614.0,
    14424.0, 15265.0, 16137.0, 17042.0, 17981.0, 18955.0, 19965.0, 21013.0, 22101.0, 23230.0,
    24402.0, 25618.0, 26881.0, 28193.0, 29557.0, 30975.0, 32450.0, 33986.0, 35586.0, 37253.0,
    38992.0, 40808.0, 42707.0, 44694.0, 46776.0, 48961.0, 51258.0, 53677.0, 56230.0, 58932.0,
    61799.0, 64851.0, 68113.0, 71617.0, 75401.0, 79517.0, 84035.0, 89053.0,
];

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
    /// Are a and b of the table's rows?
    table: bool,
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
        let w = floor(w);
        if w == self.at {
            return;
        }
        (self.at, self.a, self.b) = (w, 1.0, 0.5);
        if self.table {
            let row = ROWS.partition_point(|&first| first < w).min(ROWS.len() - 1);
            self.a = row as f64 + 1.0;
            self.b = floor(256.0 * self.decrease_of(ROWS[row])) / 256.0;
        } else if w > self.low_window {
            let p = self.scale * pow(w, self.p_slope);
            self.b = self.decrease_of(w).max(0.01);
            self.a = (w * w * p * 2.0 * self.b / (2.0 - self.b)).max(1.0);
        }
    }

    /// Section 5: b at `w` packets.
    fn decrease_of(&self, w: f64) -> f64 {
        0.5 + self.b_slope * (ln(w) - ln(self.low_window))
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
        let rfc = HstcpParams { table: true, ..HstcpParams::default() };
        let params = if params.table { &rfc } else { params };
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
            table: params.table,
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

    /// Appendix B's program: a row where a(w) is more than one above the last row's.
    #[test]
    fn the_rows_are_those_of_appendix_b() {
        let a = |w: f64| {
            let b = (0.1 - 0.5) * (ln(w) - ln(38.0)) / (ln(83_000.0) - ln(38.0)) + 0.5;
            w * w * 2.0 * b / ((2.0 - b) * pow(w, 1.2) * 12.8)
        };
        let (mut rows, mut last) = (ROWS.iter().copied(), 1.0);
        assert_eq!(rows.next(), Some(38.0));
        for w in (39..=89_053).map(f64::from) {
            if a(w) > last + 1.0 {
                assert_eq!(rows.next(), Some(w));
                last = a(w);
            }
        }
        assert_eq!(rows.next(), None);
    }

    /// Linux's table: the row of 118 packets has 2 and 112/256, that of 221 has 3 and 104/256, and
    /// each holds up to its window; above the last, 89053, there is no other.
    #[test]
    fn linux_reads_the_row_above_the_window() {
        let params = HstcpParams { table: true, ..HstcpParams::default() };
        let mut hstcp = Hstcp::new(&params, &sender_context(2.0));
        for (w, a, b) in [
            (1.0, 1.0, 128.0),
            (38.0, 1.0, 128.0),
            (39.0, 2.0, 112.0),
            (118.9, 2.0, 112.0),
            (119.0, 3.0, 104.0),
            (1058.0, 8.0, 83.0),
            (10_000.0, 30.0, 52.0),
            (84_036.0, 72.0, 24.0),
            (1e6, 72.0, 24.0),
        ] {
            hstcp.look_up(w);
            assert_eq!((hstcp.a, hstcp.b), (a, b / 256.0), "{w}");
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
