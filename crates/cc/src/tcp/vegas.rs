//! TCP Vegas. Brakmo, O'Malley, Peterson, "TCP Vegas: new techniques for congestion detection and
//! avoidance", SIGCOMM 1994; Brakmo, Peterson, IEEE JSAC 13(8), 1995, sections IV-B and IV-C.
//!
//! Once per RTT the sender compares the rate that its window would have without queues with the one
//! it has: diff = cwnd*(1 - baseRTT/RTT) packets wait in queues. Below alpha the window grows by
//! one packet over the next RTT, above beta it shrinks by one, between them it stands. Slow start
//! doubles the window every other RTT and ends when diff exceeds gamma.
//!
//! ```math
//! diff = cwnd*(1 - baseRTT/rtt)  packets that wait
//! cwnd <- cwnd + 1               per RTT, where diff < alpha
//! cwnd <- cwnd - 1               per RTT, where diff > beta
//! ```
//!
//! Deviations:
//! - D1: the retransmissions by a fine-grained clock (JSAC section IV-A) are not modelled: loss
//!   recovery is the transport's.
//! - D2: RTT is the mean of the round's samples, the window is the one at its end (ns-2 counts the
//!   packets sent in the round).
//! - D3: leaving slow start takes 1/8 off the window, as the released code does and the papers do
//!   not say.
//! - D4: a window that the application leaves unused by a packet or more does not grow.
//! - D5: with ECN, ECE reduces the window as a loss does; the papers have no ECN.
//! - D6: a fast retransmit reduces the window even where the application leaves a part of it
//!   unused; RFC 5681 would reduce what is in flight.

use crate::roles::{Ack, Departing, Echo, EcnUse, Loss, LossKind, Sender, SenderContext, Variable};
use crate::tcp::rounds::Rounds;
use crate::tcp::window::half_flight;

params! {
    /// The sender's parameters.
    pub struct VegasParams {
        /// alpha, below so many packets in queues the window grows [packets] (JSAC section IV-B).
        alpha: f64 = 1.0 => (0.0, 1e6);
        /// beta, above so many it shrinks [packets] (JSAC section IV-B).
        beta: f64 = 3.0 => (0.0, 1e6);
        /// gamma, above so many slow start ends [packets] (JSAC section IV-C).
        gamma: f64 = 1.0 => (0.0, 1e6);
        /// Does it use ECN (RFC 3168)?
        ecn: bool = false;
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// [packets]
    cwnd: f64,
    /// [packets]; infinite until slow start ends.
    ssthresh: f64,
    alpha: f64,
    beta: f64,
    gamma: f64,
    rounds: Rounds,
    /// Slow start: does the window grow in this round?
    growing: bool,
    /// Sum [s] and number of the round's RTT samples.
    sum_rtt: f64,
    samples: f64,
    /// The smallest RTT [s]; 0 before the first.
    base_rtt: f64,
    diff: f64,
    ecn: bool,
}

impl Vegas {
    /// (Expected - Actual)*BaseRTT, the packets in queues (JSAC section IV-B); `None` without a
    /// sample.
    fn measure(&mut self) -> Option<f64> {
        if self.samples <= 0.0 || self.base_rtt <= 0.0 {
            return None;
        }
        let rtt = self.sum_rtt / self.samples;
        (self.sum_rtt, self.samples) = (0.0, 0.0);
        self.diff = self.cwnd * (1.0 - self.base_rtt / rtt).max(0.0);
        Some(self.diff)
    }

    /// A round has ended: the decision for the next.
    fn end_round(&mut self, full: bool) {
        let Some(diff) = self.measure() else { return };
        if self.cwnd < self.ssthresh {
            // Every other round grows; the one between shows what that has done.
            self.growing = !self.growing;
            if self.growing && diff > self.gamma {
                self.growing = false;
                self.cwnd = (self.cwnd * 7.0 / 8.0).max(2.0); // D3
                self.ssthresh = 2.0;
            }
        } else if diff > self.beta {
            self.cwnd = (self.cwnd - 1.0).max(2.0);
        } else if diff < self.alpha && full {
            self.cwnd += 1.0;
        }
    }
}

impl Sender for Vegas {
    type Params = VegasParams;
    type Header = ();
    type Receiver = Echo<()>;

    fn new(params: &VegasParams, context: &SenderContext) -> Vegas {
        Vegas {
            cwnd: context.initial_window.max(1.0),
            ssthresh: f64::INFINITY,
            alpha: params.alpha,
            beta: params.beta.max(params.alpha),
            gamma: params.gamma,
            rounds: Rounds::default(),
            growing: false,
            sum_rtt: 0.0,
            samples: 0.0,
            base_rtt: 0.0,
            diff: 0.0,
            ecn: params.ecn,
        }
    }

    fn ecn(&self) -> EcnUse {
        if self.ecn { EcnUse::Classic } else { EcnUse::None }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) {
        self.rounds.sent(segment.seq);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<()>) {
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 > 0) {
            let rtt = rtt.as_secs();
            self.sum_rtt += rtt;
            self.samples += 1.0;
            self.base_rtt = if self.base_rtt > 0.0 { self.base_rtt.min(rtt) } else { rtt };
        }
        let flight = ack.in_flight.saturating_add(ack.delivered);
        let full = f64::from(flight) + 1.0 > self.cwnd; // D4
        let over = self.rounds.acked(ack.acked);
        if ack.recovering || ack.ece {
            return;
        }
        if over {
            self.end_round(full);
        }
        if self.growing && ack.acked > 0 && full && self.cwnd < self.ssthresh {
            self.cwnd += 1.0;
        }
    }

    /// A fast retransmit takes a quarter off (JSAC section IV-A); a timeout starts again from two
    /// packets.
    fn on_loss(&mut self, loss: &Loss) {
        (self.growing, self.sum_rtt, self.samples) = (false, 0.0, 0.0);
        self.rounds.restart();
        match loss.kind {
            LossKind::DupAcks | LossKind::EcnEcho => {
                self.cwnd = (self.cwnd * 0.75).max(2.0);
                self.ssthresh = 2.0;
            }
            LossKind::Timeout => {
                if !loss.repeated {
                    self.ssthresh = half_flight(self.cwnd, loss).max(2.0);
                }
                self.cwnd = 2.0;
            }
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("ssthresh", "pkts", "slow-start threshold; 2 once slow start is over"),
        Variable::new("diff", "pkts", "packets in queues as the last round showed them"),
        Variable::new("base_rtt", "s", "smallest RTT; 0 before the first sample"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd);
        sink("ssthresh", self.ssthresh);
        sink("diff", self.diff);
        sink("base_rtt", self.base_rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, departing, loss, near, sender_context};
    use units::Span;

    fn vegas(window: f64) -> Vegas {
        Vegas::new(&VegasParams::default(), &sender_context(window))
    }

    /// Avoids congestion, with one sample of a round over this base [ms].
    fn avoiding(window: f64, base: f64, rtt: f64) -> Vegas {
        let mut s = vegas(window);
        (s.ssthresh, s.base_rtt) = (2.0, base / 1e3);
        (s.sum_rtt, s.samples) = (rtt / 1e3, 1.0);
        s
    }

    #[test]
    fn diff_is_what_waits_in_queues() {
        // 20 packets at 100 ms and 125 ms: Expected 200/s, Actual 160/s; 40/s*0.1 s = 4.
        assert!(near(avoiding(20.0, 100.0, 125.0).measure().unwrap(), 4.0));
        assert_eq!(vegas(2.0).measure(), None);
    }

    #[test]
    fn the_window_moves_by_one_outside_alpha_and_beta() {
        // diff of 20 packets: 0, 0.98 (below alpha); 1.02, 2.98 (between); 3.02 (above beta).
        for (rtt, cwnd) in
            [(100.0, 21.0), (105.15, 21.0), (105.37, 20.0), (117.5, 20.0), (117.8, 19.0)]
        {
            let mut s = avoiding(20.0, 100.0, rtt);
            s.end_round(true);
            assert_eq!(s.cwnd(), cwnd, "{rtt} ms");
        }
        let mut s = avoiding(20.0, 100.0, 100.0);
        s.end_round(false);
        assert_eq!(s.cwnd(), 20.0, "a window that is not full");
        let mut s = avoiding(2.0, 100.0, 1000.0);
        (s.alpha, s.beta) = (0.1, 0.2);
        s.end_round(true);
        assert_eq!(s.cwnd(), 2.0);
    }

    /// A window of packets goes out and comes back, all with this RTT.
    fn round(s: &mut Vegas, next: &mut u64, rtt_ms: u64) -> f64 {
        let window = s.cwnd as u64;
        for seq in *next..*next + window {
            s.on_send(&Departing { seq, ..departing() });
        }
        *next += window;
        for _ in 0..window {
            s.on_ack(&Ack { rtt: Some(Span::from_millis(rtt_ms)), ..ack(1) });
        }
        s.cwnd
    }

    #[test]
    fn slow_start_doubles_every_other_round_until_gamma() {
        let mut s = vegas(2.0);
        let mut next = 0;
        let windows = [100; 4].map(|rtt| round(&mut s, &mut next, rtt));
        assert_eq!(windows, [4.0, 4.0, 8.0, 8.0]);
        // 113 ms: the round that grows takes 8 to 16 before it is seen, ...
        assert_eq!(round(&mut s, &mut next, 113), 16.0);
        // ... the next one stands; 16*(1 - 100/113) = 1.84 is above gamma: 16*7/8.
        assert_eq!(round(&mut s, &mut next, 113), 16.0);
        assert_eq!(round(&mut s, &mut next, 113), 14.0);
        assert_eq!(s.ssthresh, 2.0);
    }

    #[test]
    fn a_loss_takes_a_quarter_and_a_timeout_starts_again() {
        let mut s = vegas(40.0);
        s.on_loss(&loss(LossKind::DupAcks, 40));
        assert_eq!((s.cwnd(), s.ssthresh), (30.0, 2.0));
        s.on_loss(&loss(LossKind::Timeout, 30));
        assert_eq!((s.cwnd(), s.ssthresh), (2.0, 15.0));
        s.on_loss(&Loss { repeated: true, ..loss(LossKind::Timeout, 2) });
        assert_eq!((s.cwnd(), s.ssthresh), (2.0, 15.0));
        // 38 are out yet when the window is 30 already.
        let mut s = vegas(40.0);
        s.on_loss(&loss(LossKind::DupAcks, 40));
        s.on_loss(&loss(LossKind::Timeout, 38));
        assert_eq!((s.cwnd(), s.ssthresh), (2.0, 15.0));
    }

    /// A round without a sample says nothing, though the smallest RTT is known.
    #[test]
    fn without_a_sample_the_window_stands() {
        let mut s = avoiding(20.0, 100.0, 100.0);
        (s.sum_rtt, s.samples) = (0.0, 0.0);
        s.end_round(true);
        assert_eq!((s.cwnd(), s.measure()), (20.0, None));
    }

    /// "Diff < alpha" grows and "Diff > beta" shrinks: 16 packets with a sixteenth of the RTT in
    /// queues are diff = 1 = alpha, with three of them 3 = beta. At gamma = 1 slow start goes on.
    #[test]
    fn at_alpha_and_beta_the_window_stands() {
        for base in [937.5, 812.5] {
            let mut s = avoiding(16.0, base, 1000.0);
            s.end_round(true);
            assert_eq!(s.cwnd(), 16.0, "{base}");
        }
        for (base, cwnd, growing) in [(937.5, 16.0, true), (930.0, 14.0, false)] {
            let mut s = Vegas { ssthresh: f64::INFINITY, ..avoiding(16.0, base, 1000.0) };
            s.end_round(true);
            assert_eq!((s.cwnd(), s.growing), (cwnd, growing), "{base}");
        }
    }

    /// Slow start after a timeout ends at ssthresh: there the window grows by one per round trip.
    #[test]
    fn at_ssthresh_it_avoids_congestion() {
        let mut s = Vegas { ssthresh: 15.0, ..avoiding(15.0, 100.0, 100.0) };
        s.end_round(true);
        assert_eq!((s.cwnd(), s.growing), (16.0, false));
        let mut s = Vegas { ssthresh: 15.0, ..avoiding(14.0, 100.0, 100.0) };
        s.end_round(true);
        assert_eq!((s.cwnd(), s.growing), (14.0, true));
    }

    /// Neither in recovery nor with an echo of congestion does anything move; D4.
    #[test]
    fn trouble_and_an_unused_window_do_not_grow() {
        for (ack, cwnd) in [
            (ack(1), 11.0),
            (Ack { recovering: true, ..ack(1) }, 10.0),
            (Ack { ece: true, ..ack(1) }, 10.0),
            (Ack { acked: 0, ..ack(1) }, 10.0),
            (Ack { in_flight: 8, ..ack(1) }, 10.0),
            (Ack { in_flight: 9, ..ack(1) }, 11.0),
        ] {
            let mut s = vegas(10.0);
            s.growing = true;
            (0..10).for_each(|seq| s.on_send(&Departing { seq, ..departing() }));
            s.rounds.restart();
            s.on_ack(&ack);
            assert_eq!(s.cwnd(), cwnd, "{ack:?}");
        }
    }
}
