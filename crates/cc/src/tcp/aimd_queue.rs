//! AIMD whose decrease empties the queue and no more. Shorten, Leith, "On queue provisioning,
//! network efficiency and the transmission control protocol", ToN 15(4), 2007; the idea for small
//! buffers that MLCP cites.
//!
//! A window that fills a buffer keeps RTT_max when packets are lost and RTT_min when the queue is
//! empty. The link stays full across a cut by beta if beta W/RTT_min is not below W/RTT_max, so
//! beta = RTT_min/RTT_max, whatever the buffer is: a half with a buffer of one bandwidth-delay
//! product, where it is Reno, and more with less. The increase is 2 (1 - beta) packets per RTT,
//! which keeps the share that a flow has beside Reno.
//!
//! ```math
//! beta = RTT_min/RTT_max            at a loss
//! cwnd <- beta*cwnd
//! cwnd <- cwnd + 2*(1 - beta)/cwnd  per ACK
//! ```
//!
//! Both formulas are H-TCP's, too (draft-leith-tcp-htcp); no public text of the article was found.
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: RTT_max is the largest since the loss before, RTT_min the smallest of the flow.
//! - D2: beta is at most `beta_max`, so that flows still become equal where there is no queue.

use units::Span;

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct AimdQueueParams {
        /// The least that a cut leaves of the window.
        beta_min: f64 = 0.5 => (0.01, 0.99);
        /// The most that it leaves (D2).
        beta_max: f64 = 0.9 => (0.01, 0.999);
    }
}

/// The end host's part.
pub type AimdQueueSender = Window<AimdQueue>;

/// The controller.
#[derive(Clone, Debug)]
pub struct AimdQueue {
    bounds: (f64, f64),
    rtt_min: Span,
    rtt_max: Span,
    /// beta of the last cut.
    beta: f64,
}

impl Avoidance for AimdQueue {
    type Params = AimdQueueParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] =
        &[CWND, SSTHRESH, Variable::new("beta", "", "RTT_min/RTT_max at the last cut")];

    fn new(params: &AimdQueueParams, _: &SenderContext) -> AimdQueue {
        let bounds = (params.beta_min.min(params.beta_max), params.beta_max);
        AimdQueue { bounds, rtt_min: Span::ZERO, rtt_max: Span::ZERO, beta: bounds.0 }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn measure(&mut self, ack: &Ack<()>, _: &mut Frame) {
        self.rtt_min = ack.min_rtt.unwrap_or(self.rtt_min);
        self.rtt_max = self.rtt_max.max(ack.rtt.unwrap_or(Span::ZERO));
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        2.0 * (1.0 - self.beta) / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let (low, high) = self.bounds;
        self.beta = if loss.kind == LossKind::Timeout || self.rtt_max == Span::ZERO {
            low
        } else {
            (self.rtt_min.0 as f64 / self.rtt_max.0 as f64).clamp(low, high)
        };
        self.rtt_max = Span::ZERO;
        self.beta * in_use(frame.cwnd, loss)
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{avoiding, loss, lost, near, timed};

    /// 80 ms without a queue and 100 ms with all of it: 0.8 of 100 packets are left, and 0.4
    /// packets are added per RTT. 160 ms, a buffer of the BDP: a half, and 1.
    #[test]
    fn a_cut_empties_the_queue_and_no_more() {
        let mut window = avoiding::<AimdQueue>(100.0, &[]);
        window.on_ack(&timed(0, 100, 80));
        window.frame.cwnd = 100.0;
        window.on_loss(&lost(0, 100));
        assert!(near(window.cwnd(), 80.0) && near(window.frame.ssthresh, 80.0));
        window.on_ack(&timed(1, 160, 80));
        assert!(near(window.cwnd(), 80.0 + 0.4 / 80.0));
        window.frame.cwnd = 80.0;
        window.on_loss(&lost(0, 80));
        assert!(near(window.cwnd(), 40.0));
        window.on_ack(&timed(2, 81, 80));
        assert!(near(window.cwnd(), 40.0 + 1.0 / 40.0));
        // 80/81 is above beta_max.
        window.frame.cwnd = 40.0;
        window.on_loss(&lost(0, 40));
        assert!(near(window.cwnd(), 36.0));
        window.on_loss(&loss(LossKind::Timeout, 36));
        assert_eq!((window.cwnd(), window.frame.ssthresh), (1.0, 18.0));
    }

    /// A loss before any RTT leaves the least, a half.
    #[test]
    fn without_an_rtt_a_cut_halves() {
        let mut window = avoiding::<AimdQueue>(100.0, &[]);
        window.on_loss(&lost(0, 100));
        assert_eq!((window.cwnd(), window.avoidance.beta), (50.0, 0.5));
    }
}
