//! TCP Westwood+. Grieco, Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
//! and Vegas TCP congestion control", CCR 34(2), 2004, section 2.
//!
//! Reno's increase; a loss sets the window to what the measured rate of delivery needs in the
//! smallest RTT, which forgives losses that are not congestion's.
//!
//! ```math
//! cwnd <- cwnd + 1/cwnd    per ACK of a packet
//! ssthresh <- bwe*rtt_min  at a loss, with the measured rate bwe
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: without a measured rate yet a loss halves.
//! - D2: at duplicate ACKs ssthresh is not above the window; the paper leaves it there and the
//!   window where it is.

use units::{Span, Time};

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct WestwoodParams {
        /// alpha, weight of the old estimate in the new one (section 2.2: 0.9).
        alpha: f64 = 0.9 => (0.0, 0.999);
    }
}

/// The end host's part.
pub type WestwoodSender = Window<Westwood>;

/// The paper's state.
#[derive(Clone, Debug)]
pub struct Westwood {
    alpha: f64,
    /// BWE [packets/s]; 0 before the first sample.
    bwe: f64,
    /// Packets delivered since `since`.
    delivered: f64,
    since: Time,
    rtt_min: Span,
}

impl Westwood {
    /// One sample b_k = d_k/T_k per RTT, BWE = alpha BWE + (1 - alpha) b_k.
    fn sample(&mut self, now: Time, srtt: Span) {
        let elapsed = now.since(self.since);
        if elapsed == Span::ZERO || elapsed < srtt {
            return;
        }
        let sample = self.delivered / elapsed.as_secs();
        self.bwe = match self.bwe {
            0.0 => sample,
            bwe => self.alpha * bwe + (1.0 - self.alpha) * sample,
        };
        (self.delivered, self.since) = (0.0, now);
    }
}

impl Avoidance for Westwood {
    type Params = WestwoodParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] =
        &[CWND, SSTHRESH, Variable::new("bwe", "pkts/s", "estimated rate of delivery")];

    fn new(params: &WestwoodParams, _: &SenderContext) -> Westwood {
        let (since, rtt_min) = (Time::NEVER, Span::ZERO);
        Westwood { alpha: params.alpha, bwe: 0.0, delivered: 0.0, since, rtt_min }
    }

    fn measure(&mut self, ack: &Ack<()>, _: &mut Frame) {
        self.rtt_min = ack.min_rtt.unwrap_or(self.rtt_min);
        if self.since == Time::NEVER {
            self.since = ack.now;
            return;
        }
        self.delivered += f64::from(ack.delivered);
        if let Some(srtt) = ack.srtt {
            self.sample(ack.now, srtt);
        }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        1.0 / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        if self.bwe == 0.0 {
            return w / 2.0; // D1
        }
        let ssthresh = self.bwe * self.rtt_min.as_secs();
        if loss.kind == LossKind::Timeout { ssthresh } else { ssthresh.min(w) }
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("bwe", self.bwe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{avoiding, loss, lost, near, timed};

    /// 50 packets in 100 ms are 500 packets/s; 100 in the next 1000: 0.9*500 + 0.1*1000 = 550. With
    /// 60 ms as the smallest RTT a loss leaves 33 of 100 packets.
    #[test]
    fn a_loss_leaves_what_the_rate_needs() {
        let mut window = avoiding::<Westwood>(100.0, &[]);
        window.on_ack(&timed(0, 100, 60));
        window.on_ack(&Ack { delivered: 20, ..timed(40, 100, 60) });
        assert_eq!(window.avoidance.bwe, 0.0);
        window.on_ack(&Ack { delivered: 30, ..timed(100, 100, 60) });
        assert!(near(window.avoidance.bwe, 500.0));
        window.on_ack(&Ack { delivered: 100, ..timed(200, 100, 60) });
        assert!(near(window.avoidance.bwe, 550.0));
        window.on_loss(&lost(200, 100));
        assert!(near(window.cwnd(), 33.0), "{}", window.cwnd());
        window.on_loss(&loss(LossKind::Timeout, 100));
        assert_eq!((window.cwnd(), window.frame.ssthresh), (1.0, 33.0));
    }

    #[test]
    fn without_an_estimate_it_is_reno() {
        let mut window = avoiding::<Westwood>(100.0, &[]);
        window.on_ack(&timed(0, 100, 60));
        assert!(near(window.cwnd(), 100.01));
        window.on_loss(&lost(200, 100));
        assert!(near(window.cwnd(), 50.005));
    }

    /// A rate that needs more than the window, after a change of the RTT, does not open it.
    #[test]
    fn a_loss_never_opens_the_window() {
        let mut window = avoiding::<Westwood>(100.0, &[]);
        (window.avoidance.bwe, window.avoidance.rtt_min) = (1e6, Span::from_millis(100));
        window.on_loss(&lost(0, 100));
        assert_eq!(window.cwnd(), 100.0);
    }

    /// No time has no rate: ACKs of one instant with an RTT of 0 give no sample.
    #[test]
    fn an_instant_is_no_sample() {
        let mut window = avoiding::<Westwood>(100.0, &[]);
        for _ in 0..3 {
            window.on_ack(&Ack { srtt: Some(Span::ZERO), delivered: 5, ..timed(0, 100, 60) });
        }
        assert_eq!((window.avoidance.bwe, window.avoidance.delivered), (0.0, 10.0));
    }
}
