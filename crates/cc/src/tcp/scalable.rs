//! Scalable TCP. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", CCR
//! 33(2), 2003, section 3.
//!
//! Each ACK adds a constant and a loss takes an eighth, so the time between losses does not depend
//! on the window. Up to `lwnd` packets it is Reno.
//!
//! ```math
//! cwnd <- cwnd + a      per ACK of a packet, above lwnd
//! cwnd <- (1 - b)*cwnd  at a loss
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`].

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct ScalableParams {
        /// a, increase per ACK [packets] (section 3).
        a: f64 = 0.01 => (0.0, 1.0);
        /// b, share that a loss takes (section 3).
        b: f64 = 0.125 => (0.0, 0.9);
        /// lwnd, the legacy window up to which it is Reno [packets] (section 3.1).
        lwnd: f64 = 16.0 => (1.0, 1e9);
    }
}

/// The end host's part.
pub type ScalableSender = Window<Scalable>;

/// Multiplicative increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: ScalableParams,
}

impl Avoidance for Scalable {
    type Params = ScalableParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[CWND, SSTHRESH];

    fn new(params: &ScalableParams, _: &SenderContext) -> Scalable {
        Scalable { params: params.clone() }
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        if frame.cwnd <= self.params.lwnd { 1.0 / frame.cwnd } else { self.params.a }
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let share = if w <= self.params.lwnd { 0.5 } else { self.params.b };
        (1.0 - share) * w
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost};

    #[test]
    fn an_ack_adds_a_hundredth_and_a_loss_takes_an_eighth() {
        let mut window = avoiding::<Scalable>(1000.0, &[]);
        window.on_ack(&ack(1));
        assert_eq!(window.cwnd(), 1000.01);
        window.on_loss(&lost(0, 1000));
        assert!((window.cwnd() - 875.00875).abs() < 1e-9);
    }

    #[test]
    fn up_to_the_legacy_window_it_is_reno() {
        for (w, after, left) in [(16.0, 16.0625, 8.0), (17.0, 17.01, 14.875)] {
            let mut window = avoiding::<Scalable>(w, &[]);
            window.on_ack(&ack(1));
            assert_eq!(window.cwnd(), after);
            let mut window = avoiding::<Scalable>(w, &[]);
            window.on_loss(&lost(0, w as u32));
            assert_eq!(window.cwnd(), left);
        }
    }
}
