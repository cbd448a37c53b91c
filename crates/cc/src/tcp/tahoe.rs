//! TCP Tahoe. Jacobson, "Congestion avoidance and control", SIGCOMM 1988; fast retransmit as in
//! 4.3BSD-Tahoe (Fall, Floyd, CCR 26(3), 1996, section 2).
//!
//! Reno's window without fast recovery: every loss, however it was noticed, halves ssthresh and
//! starts again from one packet with slow start.
//!
//! ```math
//! ssthresh <- max(FlightSize/2, 2)  at every loss
//! cwnd <- 1                         at every loss
//! ```
//!
//! Deviations: F1 to F4 and F6 of [`crate::tcp::window`]; ECE halves the window and does not
//! restart it.

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{
    Avoidance, CWND, Frame, Plain, SSTHRESH, Window, half_flight, window_params,
};

window_params! {
    /// The sender's parameters.
    pub struct TahoeParams {}
}

/// The end host's part.
pub type TahoeSender = Window<Tahoe>;

/// Additive increase, restart.
#[derive(Clone, Debug)]
pub struct Tahoe;

impl Avoidance for Tahoe {
    type Params = TahoeParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[CWND, SSTHRESH];
    const RESTARTS: bool = true;

    fn new(_: &TahoeParams, _: &SenderContext) -> Tahoe {
        Tahoe
    }

    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        1.0 / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        half_flight(frame.cwnd, loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{LossKind, Sender};
    use crate::tests::{ack, avoiding, loss};

    #[test]
    fn every_loss_starts_again_from_one_packet() {
        for kind in [LossKind::DupAcks, LossKind::Timeout] {
            let mut window = avoiding::<Tahoe>(20.0, &[]);
            window.on_ack(&ack(1));
            assert_eq!(window.cwnd(), 20.05);
            window.on_loss(&loss(kind, 20));
            assert_eq!((window.cwnd(), window.frame.ssthresh), (1.0, 10.0));
            window.on_ack(&ack(1));
            assert_eq!(window.cwnd(), 2.0);
        }
    }

    #[test]
    fn an_echo_of_congestion_halves() {
        let mut window = avoiding::<Tahoe>(20.0, &[]);
        window.on_loss(&loss(LossKind::EcnEcho, 20));
        assert_eq!(window.cwnd(), 10.0);
    }
}
