//! TCP Reno's window. RFC 5681, "TCP congestion control"; with ECN, RFC 3168.
//!
//! Slow start doubles the window per RTT until ssthresh, congestion avoidance adds one packet per
//! RTT, a loss halves it and a timeout starts again from one packet. Which loss recovery goes with
//! it (Reno's, NewReno's or SACK's) is the transport's affair; the window is the same.
//!
//! ```math
//! cwnd <- cwnd + 1                  per ACK of a packet in slow start
//! cwnd <- cwnd + 1/cwnd             per ACK of a packet in congestion avoidance
//! ssthresh <- max(FlightSize/2, 2)  at a loss; the window goes on from there
//! cwnd <- 1                         at a timeout
//! ```
//!
//! Deviations: F1 to F4 and F6 of [`crate::tcp::window`].

use core::fmt;

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{
    Avoidance, CWND, Frame, Plain, SSTHRESH, Window, half_flight, window_params,
};

window_params! {
    /// The sender's parameters.
    pub struct RenoParams {}
}

/// The end host's part.
pub type RenoSender = Window<Reno>;

/// Additive increase, halving.
#[derive(Clone, Debug)]
pub struct Reno;

impl Avoidance for Reno {
    type Params = RenoParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[CWND, SSTHRESH];

    fn new(_: &RenoParams, _: &SenderContext) -> Reno {
        Reno
    }

    #[inline]
    fn increase(&mut self, _: &Ack<()>, frame: &Frame) -> f64 {
        1.0 / frame.cwnd // eq. (3)
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        half_flight(frame.cwnd, loss)
    }

    fn describe(&self, frame: &Frame, out: &mut dyn fmt::Write) -> fmt::Result {
        let Frame { cwnd, ssthresh, .. } = *frame;
        if ssthresh.is_infinite() {
            writeln!(out, "slow start: no loss has set ssthresh yet; an ACK adds 1 packet")
        } else if cwnd < ssthresh {
            writeln!(out, "slow start up to ssthresh {ssthresh:.2}: an ACK adds 1 packet")
        } else {
            writeln!(
                out,
                "congestion avoidance above ssthresh {ssthresh:.2}: an ACK adds 1/cwnd = {:.5} packets",
                1.0 / cwnd
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{EcnUse, LossKind, Sender};
    use crate::tests::{ack, loss, sender_context};

    fn reno(initial_window: f64, ecn: bool) -> RenoSender {
        let params = RenoParams { ecn, ..RenoParams::default() };
        RenoSender::new(&params, &sender_context(initial_window))
    }

    #[test]
    fn slow_start_adds_one_packet_per_ack_that_moves_the_number() {
        let mut reno = reno(2.0, false);
        reno.on_ack(&ack(1));
        reno.on_ack(&ack(2)); // a delayed ACK counts once
        reno.on_ack(&Ack { delivered: 1, ..ack(0) }); // SACK only
        reno.on_ack(&Ack { recovering: true, ..ack(1) });
        assert_eq!(reno.cwnd(), 4.0);
    }

    #[test]
    fn congestion_avoidance_adds_about_one_packet_per_window() {
        let mut reno = reno(1.0, false);
        reno.on_loss(&loss(LossKind::DupAcks, 8));
        assert_eq!(reno.cwnd(), 4.0);
        reno.on_ack(&ack(1));
        assert_eq!(reno.cwnd(), 4.25);
        reno.on_ack(&ack(1));
        // 4.25 + 4/17
        assert!((reno.cwnd() - 4.485_294).abs() < 1e-6);
    }

    /// A window of 4 packets of which 3 were in use, before the ACK took one out, was not full; nor
    /// was one of 4.9 packets with 3 in use. One of 4.9 with 4 was: a fifth packet had no room.
    #[test]
    fn a_window_that_was_not_full_does_not_grow() {
        for (initial, in_flight, delivered, grows) in [
            (4.0, 2, 1, false),
            (4.0, 3, 1, true),
            (4.0, 2, 2, true),
            (4.9, 2, 1, false),
            (4.9, 3, 1, true),
            (1.0, 0, 1, true),
            (20.0, 0, 1, false),
        ] {
            let mut reno = reno(initial, false);
            reno.on_ack(&Ack { in_flight, delivered, ..ack(delivered) });
            let cwnd = if grows { initial + 1.0 } else { initial };
            assert_eq!(reno.cwnd(), cwnd, "{in_flight} + {delivered} of {initial}");
        }
    }

    #[test]
    fn loss_halves_the_flight_not_the_window() {
        for kind in [LossKind::DupAcks, LossKind::EcnEcho] {
            let mut reno = reno(100.0, true);
            reno.on_loss(&loss(kind, 21));
            assert_eq!((reno.cwnd(), reno.frame.ssthresh), (10.5, 10.5));
            reno.on_loss(&loss(kind, 3));
            assert_eq!((reno.cwnd(), reno.frame.ssthresh), (2.0, 2.0));
        }
    }

    #[test]
    fn an_echo_of_congestion_never_opens_the_window() {
        let mut reno = reno(1.0, true);
        reno.on_loss(&loss(LossKind::EcnEcho, 1));
        assert_eq!(reno.cwnd(), 1.0);
        reno.on_ack(&Ack { ece: true, ..ack(1) });
        assert_eq!(reno.cwnd(), 1.0);
        reno.on_ack(&ack(1));
        assert_eq!(reno.cwnd(), 2.0);
    }

    #[test]
    fn a_timeout_starts_again_and_a_repeated_one_holds_ssthresh() {
        let mut reno = reno(40.0, false);
        reno.on_loss(&loss(LossKind::Timeout, 40));
        assert_eq!((reno.cwnd(), reno.frame.ssthresh), (1.0, 20.0));
        reno.on_loss(&Loss { repeated: true, ..loss(LossKind::Timeout, 1) });
        assert_eq!((reno.cwnd(), reno.frame.ssthresh), (1.0, 20.0));
        for _ in 0..19 {
            reno.on_ack(&ack(1));
        }
        assert_eq!(reno.cwnd(), 20.0);
        reno.on_ack(&ack(1));
        assert_eq!(reno.cwnd(), 20.05);
    }

    /// RFC 5681 section 4.3: the loss of a retransmission lowers the window twice, 100 -> 50 -> 25,
    /// though 96 are out yet; 20, if there are no more.
    #[test]
    fn a_timeout_in_recovery_halves_the_halved_window() {
        for (in_flight, ssthresh) in [(96, 25.0), (50, 25.0), (20, 10.0)] {
            let mut reno = reno(100.0, false);
            reno.on_loss(&loss(LossKind::DupAcks, 100));
            assert_eq!((reno.cwnd(), reno.frame.ssthresh), (50.0, 50.0));
            reno.on_loss(&loss(LossKind::Timeout, in_flight));
            assert_eq!((reno.cwnd(), reno.frame.ssthresh), (1.0, ssthresh));
        }
    }

    #[test]
    fn ecn_is_a_choice() {
        assert_eq!(reno(1.0, false).ecn(), EcnUse::None);
        assert_eq!(reno(1.0, true).ecn(), EcnUse::Classic);
    }
}
