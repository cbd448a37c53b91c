//! BIC, binary increase congestion control. Xu, Harfoush, Rhee, "Binary increase congestion control
//! (BIC) for fast long-distance networks", INFOCOM 2004, section III.
//!
//! After a loss the window jumps half the way to the window of the loss per RTT, not more than
//! S_max; beyond it, it probes for a new maximum in growing steps. Small windows are Reno's.
//!
//! ```math
//! cwnd <- cwnd + (w_max - cwnd)/2  per RTT, from S_min to S_max
//! cwnd <- (1 - beta)*cwnd          at a loss
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: as in the paper's code (section III.C) the midpoint is that of the maximum and the present
//!   window, at every ACK; a step is never below S_min, with which the search ends at the maximum.
//! - D2: after a timeout there is no maximum: the window grows by S_max per RTT once above
//!   ssthresh.
//! - D3: once max probing is over there is no maximum, and the next loss finds no smaller one than
//!   before: fast convergence waits for the loss after it. In the paper's code the maximum is then
//!   a large number (default_max_win), against which every window is smaller.

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters (section III.C).
    pub struct BicParams {
        /// S_max, largest increase per RTT [packets].
        s_max: f64 = 32.0 => (1.0, 1e6);
        /// S_min, smallest increase per RTT [packets].
        s_min: f64 = 0.01 => (1e-6, 1.0);
        /// beta, share that a loss takes.
        beta: f64 = 0.125 => (0.01, 0.9);
        /// low_window, below which it is Reno [packets].
        low_window: f64 = 14.0 => (1.0, 1e9);
        /// Fast convergence: a smaller maximum after two losses with ever smaller windows.
        fast_convergence: bool = true;
    }
    presets {
        /// Linux 2.6.22's numbers (net/ipv4/tcp_bic.c); its search goes a quarter of the way, and
        /// near the maximum by 0.2 packets per RTT, which are laws and no numbers of this one.
        "linux-2-6-22" { s_max = Number(16.0), beta = Number(0.2) }
    }
}

/// The end host's part.
pub type BicSender = Window<Bic>;

/// The paper's state, by its names.
#[derive(Clone, Debug)]
pub struct Bic {
    params: BicParams,
    /// max_win [packets]; infinite when there is none.
    max_win: f64,
    /// ss_cwnd, the step of max probing [packets per RTT]; 0 outside of it.
    ss_cwnd: f64,
    /// ss_target, where the step doubles [packets].
    ss_target: f64,
}

impl Bic {
    /// The increase per RTT [packets].
    fn step(&mut self, cwnd: f64) -> f64 {
        if cwnd < self.max_win {
            return ((self.max_win - cwnd) / 2.0).clamp(self.params.s_min, self.params.s_max);
        }
        if self.ss_cwnd == 0.0 {
            (self.ss_cwnd, self.ss_target) = (1.0, cwnd + 1.0);
        }
        self.ss_cwnd
    }

    /// Max probing: the step doubles with each target reached; from S_max on growth is linear.
    fn probe_on(&mut self, cwnd: f64) {
        if self.ss_cwnd > 0.0 && cwnd >= self.ss_target {
            self.ss_cwnd *= 2.0;
            self.ss_target = cwnd + self.ss_cwnd;
            if self.ss_cwnd >= self.params.s_max {
                (self.ss_cwnd, self.max_win) = (0.0, f64::INFINITY);
            }
        }
    }
}

impl Avoidance for Bic {
    type Params = BicParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("max_win", "pkts", "maximum that the binary search goes to"),
        Variable::new("ss_cwnd", "pkts", "step of max probing per RTT; 0 outside of it"),
    ];

    fn new(params: &BicParams, _: &SenderContext) -> Bic {
        Bic { params: params.clone(), max_win: f64::INFINITY, ss_cwnd: 0.0, ss_target: 0.0 }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        let cwnd = frame.cwnd;
        if cwnd < self.params.low_window {
            return 1.0 / cwnd;
        }
        let increase = self.step(cwnd) / cwnd;
        self.probe_on(cwnd + increase);
        increase
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let previous = self.max_win;
        let small = w < self.params.low_window;
        let timeout = loss.kind == LossKind::Timeout;
        if timeout || small && self.ss_cwnd > 0.0 {
            self.max_win = f64::INFINITY;
        }
        self.ss_cwnd = 0.0;
        if small {
            return w / 2.0;
        }
        let left = (1.0 - self.params.beta) * w;
        if !timeout {
            let falls = self.params.fast_convergence && previous.is_finite() && previous > w;
            self.max_win = if falls { (w + left) / 2.0 } else { w };
        }
        left
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("max_win", self.max_win);
        sink("ss_cwnd", self.ss_cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, Value};
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, loss, lost, near};

    /// Fast convergence is of a window below W_max: a second loss at just 1000 leaves W_max there,
    /// and at 960 the step is (1000 - 960)/2 = 20.
    #[test]
    fn a_loss_at_w_max_leaves_it() {
        let mut window = avoiding::<Bic>(1000.0, &[]);
        for _ in 0..2 {
            window.frame.cwnd = 1000.0;
            window.on_loss(&lost(0, 1000));
            assert_eq!(window.cwnd(), 875.0);
        }
        window.frame.cwnd = 960.0;
        window.on_ack(&ack(1));
        assert!(near(window.cwnd(), 960.0 + 20.0 / 960.0));
    }

    /// From 1000 a loss leaves 875, 125 below: half is 62.5, so S_max = 32 per RTT. At 960 the step
    /// is (1000 - 960)/2 = 20, at 999.99 it is S_min.
    #[test]
    fn binary_search_goes_half_the_way() {
        let mut window = avoiding::<Bic>(1000.0, &[]);
        window.on_loss(&lost(0, 1000));
        assert_eq!(window.cwnd(), 875.0);
        for (cwnd, step) in [(875.0, 32.0), (960.0, 20.0), (999.0, 0.5), (999.99, 0.01)] {
            window.frame.cwnd = cwnd;
            window.on_ack(&ack(1));
            assert!(near(window.cwnd(), cwnd + step / cwnd), "{cwnd}");
        }
    }

    /// From the maximum on by 1 per RTT until it is one above, then by 2 for 2 packets, 4, 8, 16,
    /// and from 32 on by S_max for good.
    #[test]
    fn beyond_the_maximum_steps_double() {
        let mut window = avoiding::<Bic>(1000.0, &[]);
        window.on_loss(&lost(0, 1000));
        window.frame.cwnd = 1000.0;
        let mut steps = [0.0; 5];
        while window.avoidance.max_win.is_finite() {
            let before = window.cwnd();
            window.on_ack(&ack(1));
            let step = (window.cwnd() - before) * before;
            let i = (0..5).find(|&i| near(step, f64::from(1 << i))).expect("a power of two");
            steps[i] += window.cwnd() - before;
        }
        for (i, grown) in steps.into_iter().enumerate() {
            let size = f64::from(1 << i);
            // Up to the ACK that passes the target.
            assert!((size..size + 0.1).contains(&grown), "{i}: {grown}");
        }
        window.frame.cwnd = 2000.0;
        window.on_ack(&ack(1));
        assert!(near(window.cwnd(), 2000.016));
    }

    /// A loss at 900 with a maximum of 1000: (900 + 787.5)/2 = 843.75.
    #[test]
    fn fast_convergence_lowers_the_maximum() {
        for (on, max_win) in [(true, 843.75), (false, 900.0)] {
            let mut window = avoiding::<Bic>(1000.0, &[("fast_convergence", Value::Flag(on))]);
            window.on_loss(&lost(0, 1000));
            window.frame.cwnd = 900.0;
            window.on_loss(&lost(0, 900));
            assert_eq!((window.cwnd(), window.avoidance.max_win), (787.5, max_win));
        }
    }

    /// Linux 2.6.22: beta = 819/1024 and max_increment = 16: 1000 leaves 800, and 200 below the
    /// step is 16.
    #[test]
    fn linux_has_other_numbers() {
        let preset = BicParams::presets().iter().find(|p| p.name == "linux-2-6-22").expect("it");
        let mut window = avoiding::<Bic>(1000.0, preset.values);
        window.on_loss(&lost(0, 1000));
        assert!((window.cwnd() - 819.0 * 1000.0 / 1024.0).abs() < 0.5);
        let before = window.cwnd();
        window.on_ack(&ack(1));
        assert!(near(window.cwnd(), before + 16.0 / before));
    }

    /// A loss of 10 packets is Reno's and leaves the maximum of the loss at 1000 as it is (section
    /// III.C: only above low_window is there a new one); in max probing there is none any more.
    #[test]
    fn a_small_window_keeps_the_maximum() {
        for (ss_cwnd, max_win) in [(0.0, 1000.0), (2.0, f64::INFINITY)] {
            let mut window = avoiding::<Bic>(1000.0, &[]);
            window.on_loss(&lost(0, 1000));
            (window.frame.cwnd, window.avoidance.ss_cwnd) = (10.0, ss_cwnd);
            window.on_loss(&lost(0, 10));
            assert_eq!((window.cwnd(), window.avoidance.max_win), (5.0, max_win));
        }
    }

    #[test]
    fn small_windows_are_renos_and_a_timeout_forgets() {
        let mut window = avoiding::<Bic>(10.0, &[]);
        window.on_ack(&ack(1));
        assert_eq!(window.cwnd(), 10.1);
        window.on_loss(&lost(0, 10));
        assert_eq!(window.cwnd(), 5.05);
        let mut window = avoiding::<Bic>(1000.0, &[]);
        window.on_loss(&loss(LossKind::Timeout, 1000));
        assert_eq!((window.cwnd(), window.frame.ssthresh), (1.0, 875.0));
        assert_eq!(window.avoidance.max_win, f64::INFINITY);
    }

    /// "cwnd < low_window" is Reno's (section III.C): at 14 packets the search is on, which without
    /// a maximum takes S_max = 32 per RTT; so it is with a loss, which takes an eighth.
    #[test]
    fn at_low_window_it_is_bic() {
        let mut window = avoiding::<Bic>(14.0, &[]);
        window.on_ack(&ack(1));
        assert!(near(window.cwnd(), 14.0 + 32.0 / 14.0), "{}", window.cwnd());
        let mut window = avoiding::<Bic>(14.0, &[]);
        window.on_loss(&lost(0, 14));
        assert_eq!((window.cwnd(), window.avoidance.max_win), (12.25, 14.0));
    }

    /// Max probing doubles with the ACK that brings the window to its target: of 1000.9995 packets
    /// the one that adds 1/1000.9995 passes 1001, of 1000.998 it does not.
    #[test]
    fn a_target_is_reached_by_the_ack_that_passes_it() {
        for (cwnd, step) in [(1000.9995, 2.0), (1000.998, 1.0)] {
            let mut window = avoiding::<Bic>(1000.0, &[]);
            window.on_loss(&lost(0, 1000));
            window.frame.cwnd = cwnd;
            (window.avoidance.ss_cwnd, window.avoidance.ss_target) = (1.0, 1001.0);
            window.on_ack(&ack(1));
            assert_eq!(window.avoidance.ss_cwnd, step, "{cwnd}");
        }
    }
}
