//! TCP Reno's window. RFC 5681, "TCP congestion control"; with ECN, RFC 3168.
//!
//! Slow start doubles the window per RTT until ssthresh, congestion avoidance adds one packet per
//! RTT, a loss halves it and a timeout starts again from one packet. Which loss recovery goes with
//! it (Reno's, NewReno's or SACK's) is the transport's affair; the window is the same.
//!
//! Deviations:
//! - D1: the window is counted in packets of one size, real-valued, not in bytes.
//! - D2: no window inflation: during recovery `cwnd` stands at ssthresh and the transport decides
//!   what a duplicate ACK lets out (RFC 5681 section 3.2, steps 3 to 5).
//! - D3: the window grows only at an ACK that found it full to the last whole packet, so not while the
//!   application leaves it unused (RFC 7661 section 4 allows growth from half a window on); it is kept
//!   over an idle time (RFC 5681 section 4.1 restarts from the initial window, RFC 7661 lets it decay).
//! - D4: on ECE the same halving as on duplicate ACKs, of FlightSize, not below 2 packets unless the
//!   window is; a window of one packet does not wait for the timer (RFC 3168 section 6.1.2 would).

use crate::roles::{Ack, Echo, EcnUse, Loss, LossKind, Sender, SenderContext, Variable};

params! {
    /// The sender's parameters.
    pub struct RenoParams {
        /// Does it use ECN (RFC 3168)?
        ecn: bool = false;
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Reno {
    /// [packets]
    cwnd: f64,
    /// [packets]; infinite until the first loss.
    ssthresh: f64,
    ecn: bool,
}

impl Sender for Reno {
    type Params = RenoParams;
    type Header = ();
    type Receiver = Echo<()>;

    fn new(params: &RenoParams, context: &SenderContext) -> Reno {
        Reno { cwnd: context.initial_window.max(1.0), ssthresh: f64::INFINITY, ecn: params.ecn }
    }

    fn ecn(&self) -> EcnUse {
        if self.ecn { EcnUse::Classic } else { EcnUse::None }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<()>) {
        // RFC 3168 section 6.1.2: an ACK that echoes congestion does not open the window.
        if ack.acked == 0 || ack.recovering || ack.ece {
            return;
        }
        // D3: the flight that this ACK found was short of the window by a packet or more.
        if f64::from(ack.in_flight.saturating_add(ack.delivered)) + 1.0 <= self.cwnd {
            return;
        }
        self.cwnd += if self.cwnd < self.ssthresh {
            1.0 // eq. (2): min(N, SMSS), once per ACK however much it acknowledges
        } else {
            1.0 / self.cwnd // eq. (3)
        };
    }

    fn on_loss(&mut self, loss: &Loss) {
        // A timer that backs off holds ssthresh (section 3.1).
        if !(loss.kind == LossKind::Timeout && loss.repeated) {
            self.ssthresh = (f64::from(loss.in_flight) / 2.0).max(2.0); // eq. (4)
        }
        self.cwnd = match loss.kind {
            LossKind::DupAcks => self.ssthresh,
            LossKind::EcnEcho => self.cwnd.min(self.ssthresh),
            LossKind::Timeout => 1.0,
        };
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new(
            "ssthresh",
            "pkts",
            "slow-start threshold: below it the window doubles per RTT",
        ),
    ];

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd);
        sink("ssthresh", self.ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, loss, sender_context};

    fn reno(initial_window: f64, ecn: bool) -> Reno {
        Reno::new(&RenoParams { ecn }, &sender_context(initial_window))
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
            assert_eq!((reno.cwnd(), reno.ssthresh), (10.5, 10.5));
            reno.on_loss(&loss(kind, 3));
            assert_eq!((reno.cwnd(), reno.ssthresh), (2.0, 2.0));
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
        assert_eq!((reno.cwnd(), reno.ssthresh), (1.0, 20.0));
        reno.on_loss(&Loss { repeated: true, ..loss(LossKind::Timeout, 1) });
        assert_eq!((reno.cwnd(), reno.ssthresh), (1.0, 20.0));
        for _ in 0..19 {
            reno.on_ack(&ack(1));
        }
        assert_eq!(reno.cwnd(), 20.0);
        reno.on_ack(&ack(1));
        assert_eq!(reno.cwnd(), 20.05);
    }

    #[test]
    fn ecn_is_a_choice() {
        assert_eq!(reno(1.0, false).ecn(), EcnUse::None);
        assert_eq!(reno(1.0, true).ecn(), EcnUse::Classic);
    }
}
