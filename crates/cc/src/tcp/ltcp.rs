//! LTCP, layered TCP. Bhandarkar, Jain, Reddy, "Improving TCP performance in high bandwidth high
//! RTT links using layered congestion control", PFLDnet 2005; draft-bhandarkar-ltcp-01.
//!
//! A window is a number of layers K, each of which grows like one TCP: K packets per RTT in all.
//! The window from which layer K is there grows quadratically, so fewer layers come with larger
//! windows. A loss takes the share beta. With one layer it is Reno.
//!
//! ```math
//! cwnd <- cwnd + K/cwnd    per ACK of a packet, with K layers
//! W_K = W_T*K*(K - 1)/2    the window where layer K begins
//! cwnd <- (1 - beta)*cwnd  at a loss; half with one layer
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: no compensation of the RTT (K_R = 1); the papers offer it as an option.
//!
//! Reconstructed:
//! - R1: the windows where layers begin, W_K = W_T K (K-1)/2 (W_T = 50: 50, 150, 300, 500, ...),
//!   from memory of the paper's design choice delta_K = K W_T.

use units::math::{floor, sqrt};

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct LtcpParams {
        /// W_T, the window from which the second layer is there [packets].
        w_t: f64 = 50.0 => (1.0, 1e9);
        /// beta, share that a loss takes with several layers.
        beta: f64 = 0.15 => (0.01, 0.9);
    }
}

/// The end host's part.
pub type LtcpSender = Window<Ltcp>;

/// Layers of AIMD.
#[derive(Clone, Debug)]
pub struct Ltcp {
    params: LtcpParams,
    /// Layers.
    k: f64,
}

impl Ltcp {
    /// The largest K with W_K <= w.
    fn layers(&self, w: f64) -> f64 {
        floor((1.0 + sqrt(1.0 + 8.0 * w / self.params.w_t)) / 2.0)
    }
}

impl Avoidance for Ltcp {
    type Params = LtcpParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] =
        &[CWND, SSTHRESH, Variable::new("k", "", "layers, packets added per RTT")];

    fn new(params: &LtcpParams, _: &SenderContext) -> Ltcp {
        Ltcp { params: params.clone(), k: 1.0 }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        self.k = self.layers(frame.cwnd);
        self.k / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let left = if self.layers(w) > 1.0 { 1.0 - self.params.beta } else { 0.5 };
        self.k = self.layers(left * w);
        left * w
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("k", self.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost, near};

    /// W_T = 50: layers 2, 3, 4, 5 begin at 50, 150, 300, 500.
    #[test]
    fn layers_begin_at_triangular_windows() {
        for (w, k) in [
            (49.0, 1.0),
            (50.0, 2.0),
            (149.0, 2.0),
            (150.0, 3.0),
            (299.0, 3.0),
            (300.0, 4.0),
            (499.0, 4.0),
            (500.0, 5.0),
        ] {
            let mut window = avoiding::<Ltcp>(w, &[]);
            window.on_ack(&ack(1));
            assert!(near(window.cwnd(), w + k / w), "{w}");
        }
    }

    #[test]
    fn one_layer_is_reno_and_more_lose_beta() {
        for (w, left) in [(40.0, 20.0), (200.0, 170.0)] {
            let mut window = avoiding::<Ltcp>(w, &[]);
            window.on_loss(&lost(0, w as u32));
            assert!(near(window.cwnd(), left), "{w}");
        }
    }
}
