//! Compound TCP. Tan, Song, Zhang, Sridharan, "A compound TCP approach for high-speed and long
//! distance networks", INFOCOM 2006, section III; draft-sridharan-tcpm-ctcp-02.
//!
//! The window is Reno's plus a part that follows delay: dwnd grows fast while few packets queue,
//! falls with the queue and is gone where Reno alone would fill the path.
//!
//! ```math
//! win = cwnd + dwnd                        what is sent
//! diff = win*(1 - baseRTT/rtt)             packets that wait
//! dwnd <- dwnd + max(alpha*win^k - 1, 0)   per RTT, while diff < gamma
//! dwnd <- max(dwnd - zeta*diff, 0)         per RTT, from gamma on
//! dwnd <- max(win*(1 - beta) - cwnd/2, 0)  at a loss, and cwnd is halved
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: an RTT is the time until what was sent at its start is acknowledged, and its length the
//!   mean of the samples.
//! - D2: gamma is constant; the draft's tuning by emulation of Reno's backlog (section 5) is left
//!   out.
//! - D3: a timeout sets dwnd to 0.

use units::math::pow;

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{
    Avoidance, CWND, Frame, Plain, Round, SSTHRESH, Window, in_use, window_params,
};

window_params! {
    /// The sender's parameters (section III.C, IV).
    pub struct CompoundParams {
        /// alpha, factor of the increase of dwnd.
        alpha: f64 = 0.125 => (0.0, 10.0);
        /// beta, share of the whole window that a loss takes.
        beta: f64 = 0.5 => (0.01, 0.99);
        /// k, exponent of the increase of dwnd.
        k: f64 = 0.75 => (0.0, 1.0);
        /// gamma, backlog from which dwnd falls [packets].
        gamma: f64 = 30.0 => (0.0, 1e6);
        /// zeta, how fast it falls with the backlog.
        zeta: f64 = 1.0 => (0.0, 100.0);
    }
}

/// The end host's part.
pub type CompoundSender = Window<Compound>;

/// The delay-based part.
#[derive(Clone, Debug)]
pub struct Compound {
    params: CompoundParams,
    /// dwnd [packets]; the frame's window is the sum of both parts.
    dwnd: f64,
    round: Round,
    /// Sum of the RTTs of this round [s], and their number.
    sum: f64,
    samples: f64,
}

impl Compound {
    /// Eq. (5): dwnd after an RTT of `rtt` seconds with a window of `win`, when the shortest was
    /// `base` seconds.
    fn next(&self, win: f64, base: f64, rtt: f64) -> f64 {
        let CompoundParams { alpha, k, gamma, zeta, .. } = self.params;
        let diff = win * (1.0 - base / rtt);
        if diff < gamma {
            self.dwnd + (alpha * pow(win, k) - 1.0).max(0.0)
        } else {
            (self.dwnd - zeta * diff).max(0.0)
        }
    }
}

impl Avoidance for Compound {
    type Params = CompoundParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] =
        &[CWND, SSTHRESH, Variable::new("dwnd", "pkts", "delay-based part of the window")];

    fn new(params: &CompoundParams, _: &SenderContext) -> Compound {
        Compound {
            params: params.clone(),
            dwnd: 0.0,
            round: Round::default(),
            sum: 0.0,
            samples: 0.0,
        }
    }

    fn measure(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        if let Some(rtt) = ack.rtt {
            self.sum += rtt.as_secs();
            self.samples += 1.0;
        }
        if !self.round.is_over(frame) {
            return;
        }
        let (rtt, samples) = (self.sum / self.samples.max(1.0), self.samples);
        (self.sum, self.samples) = (0.0, 0.0);
        let Some(base) = ack.min_rtt else { return };
        let avoids = frame.cwnd >= frame.ssthresh && !ack.recovering && !ack.ece;
        if samples == 0.0 || rtt <= 0.0 || !avoids {
            return;
        }
        // F3 for the delay-based part: it grows only if the window was used.
        let used = f64::from(ack.in_flight.saturating_add(ack.delivered)) + 1.0 > frame.cwnd;
        let dwnd = self.next(frame.cwnd, base.as_secs().min(rtt), rtt);
        if used || dwnd < self.dwnd {
            frame.cwnd = (frame.cwnd + dwnd - self.dwnd).max(1.0);
            self.dwnd = dwnd;
        }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        1.0 / frame.cwnd // Reno's part: 1/(cwnd + dwnd) per ACK
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let reno = (w - self.dwnd).max(0.0) / 2.0;
        self.dwnd = (w * (1.0 - self.params.beta) - reno).max(0.0);
        let left = reno + self.dwnd;
        if loss.kind == LossKind::Timeout {
            self.dwnd = 0.0; // D3
        }
        left
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("dwnd", self.dwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{avoiding, lost, near, timed};

    fn with_dwnd(cwnd: f64, dwnd: f64) -> CompoundSender {
        let mut window = avoiding::<Compound>(cwnd, &[]);
        window.avoidance.dwnd = dwnd;
        window
    }

    /// 256^(3/4) = 64, so dwnd grows by 64/8 - 1 = 7; at 16 packets by 8/8 - 1 = 0, at 8 not less.
    #[test]
    fn dwnd_grows_while_few_packets_queue() {
        for (win, grows) in [(256.0, 7.0), (16.0, 0.0), (8.0, 0.0)] {
            let compound = with_dwnd(win, 5.0).avoidance;
            assert!(near(compound.next(win, 0.1, 0.1), 5.0 + grows), "{win}");
        }
    }

    /// At 100 ms of 80 a fifth of 160 packets waits, 32 >= 30: dwnd falls by 32, not below 0; a
    /// fifth of 140 is 28 < 30.
    #[test]
    fn dwnd_falls_with_the_backlog() {
        for (win, dwnd, next) in [(160.0, 50.0, 18.0), (160.0, 20.0, 0.0)] {
            assert!(near(with_dwnd(win, dwnd).avoidance.next(win, 0.08, 0.1), next), "{win}");
        }
        assert!(with_dwnd(140.0, 50.0).avoidance.next(140.0, 0.08, 0.1) > 50.0);
    }

    /// Once per RTT, on top of 1/256 per ACK.
    #[test]
    fn the_window_is_the_sum() {
        let mut window = with_dwnd(256.0, 0.0);
        window.frame.nxt = 256;
        window.on_ack(&timed(0, 100, 100)); // ends the round of the first packet
        assert!(near(window.cwnd(), 263.0 + 1.0 / 263.0), "{}", window.cwnd());
        window.on_ack(&timed(0, 100, 100));
        assert!(window.cwnd() < 263.01);
    }

    /// A loss halves the whole: of 100 with dwnd = 40, Reno's part 60 becomes 30 and dwnd 20.
    #[test]
    fn a_loss_halves_the_whole() {
        let mut window = with_dwnd(100.0, 40.0);
        window.on_loss(&lost(0, 100));
        assert_eq!((window.cwnd(), window.avoidance.dwnd), (50.0, 20.0));
    }

    /// Eq. (5) is of congestion avoidance: in slow start, in recovery, with an echo of congestion
    /// and without an RTT in the round dwnd stands; F3: an unused window does not grow by delay,
    /// but falls.
    #[test]
    fn dwnd_moves_in_congestion_avoidance_alone() {
        let usual = timed(0, 100, 100);
        for (ack, ssthresh, dwnd) in [
            (usual, 256.0, 12.0),
            (usual, 257.0, 5.0),
            (Ack { recovering: true, ..usual }, 256.0, 5.0),
            (Ack { ece: true, ..usual }, 256.0, 5.0),
            (Ack { rtt: None, ..usual }, 256.0, 5.0),
            (Ack { min_rtt: None, ..usual }, 256.0, 5.0),
            (Ack { in_flight: 254, ..usual }, 256.0, 5.0),
            (Ack { in_flight: 255, ..usual }, 256.0, 12.0),
            (Ack { in_flight: 0, ..timed(0, 200, 100) }, 256.0, 0.0),
        ] {
            let mut window = with_dwnd(256.0, 5.0);
            (window.frame.nxt, window.frame.ssthresh) = (256, ssthresh);
            window.on_ack(&ack);
            assert!(near(window.avoidance.dwnd, dwnd), "{ack:?}: {}", window.avoidance.dwnd);
        }
    }

    /// gamma = 30: at a fifth of 150 packets, 30, dwnd falls by as many.
    #[test]
    fn the_backlog_of_gamma_is_too_much() {
        let mut compound = with_dwnd(160.0, 50.0).avoidance;
        compound.params.gamma = 32.0;
        // 160*(1 - 0.75/1) = 40 and 128*(1 - 0.75) = 32, exactly.
        assert!(near(compound.next(160.0, 0.75, 1.0), 10.0));
        assert!(near(compound.next(128.0, 0.75, 1.0), 18.0));
        assert!(compound.next(127.0, 0.75, 1.0) > 50.0);
    }

    /// D3: a timeout leaves ssthresh at half of both parts, and no dwnd.
    #[test]
    fn a_timeout_ends_the_delay_based_part() {
        let mut window = with_dwnd(100.0, 40.0);
        window.on_loss(&crate::tests::loss(LossKind::Timeout, 100));
        assert_eq!((window.cwnd(), window.frame.ssthresh, window.avoidance.dwnd), (1.0, 50.0, 0.0));
    }
}
