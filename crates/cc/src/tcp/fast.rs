//! FAST TCP. Wei, Jin, Low, Hegde, "FAST TCP: motivation, architecture, algorithms, performance",
//! IEEE/ACM ToN 14(6), 2006; Jin, Wei, Low, INFOCOM 2004.
//!
//! Every other RTT the window moves towards the one that keeps alpha packets of the flow in the
//! queues of its path: w <- min(2w, (1 - gamma)*w + gamma*(baseRTT/RTT*w + alpha)) (ToN eq. (10)).
//! At equilibrium w*(1 - baseRTT/RTT) = alpha, so rates are alpha over the queueing delay, whatever
//! the RTTs are (ToN section IV). A loss halves the window, as Reno's.
//!
//! ```math
//! w <- min(2*w, (1 - gamma)*w + gamma*(baseRTT/rtt*w + alpha))  every other RTT (ToN eq. 10)
//! ```
//!
//! Deviations:
//! - D1: no slow start of its own: from the initial window on the law's own bound 2w doubles the
//!   window every update, so every other RTT.
//! - D2: alpha is a constant (the papers' other choice, alpha proportional to w while there is no
//!   queueing delay, makes the same doubling).
//! - D3: the change of an update is spread over the ACKs of the next RTT, evenly per packet; then
//!   the window stands for an RTT, so that the next update sees what it has done (ToN section
//!   III-C).
//! - D4: no burstiness control (ToN section III-D).
//! - D5: a window that the application leaves unused by a packet or more does not grow.
//! - D6: with ECN, ECE halves the window as a loss does; the papers have no ECN.
//! - D7: a loss halves the window even where the application leaves a part of it unused; RFC 5681
//!   would halve what is in flight.

use units::Span;

use crate::roles::{Ack, Departing, Echo, EcnUse, Loss, LossKind, Sender, SenderContext, Variable};
use crate::tcp::rounds::Rounds;

params! {
    /// The sender's parameters.
    pub struct FastParams {
        /// alpha, the packets of a flow that are to wait in the queues [packets] (ToN eq. (10)).
        alpha: f64 = 100.0 => (0.1, 1e6);
        /// gamma, how far an update goes towards its aim (ToN eq. (10)).
        gamma: f64 = 0.5 => (0.001, 1.0);
        /// Does it use ECN (RFC 3168)?
        ecn: bool = false;
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Fast {
    /// [packets]
    cwnd: f64,
    /// Where the running update leads [packets].
    target: f64,
    /// What each packet acknowledged adds on the way there [packets].
    step: f64,
    alpha: f64,
    gamma: f64,
    rounds: Rounds,
    /// Is this the round over which an update is spread? Then the window stands in the next.
    updating: bool,
    /// The average of the RTT [s], weight min(3/w, 1/4) (ToN section III-B); 0 before the first.
    avg_rtt: f64,
    /// The smallest RTT [s].
    base_rtt: f64,
    ecn: bool,
}

impl Fast {
    /// The RTT's average takes in a sample (ToN section III-B).
    #[inline]
    fn sample(&mut self, rtt: Span) {
        let rtt = rtt.as_secs();
        if rtt <= 0.0 {
            return;
        }
        if self.avg_rtt <= 0.0 {
            (self.avg_rtt, self.base_rtt) = (rtt, rtt);
            return;
        }
        let weight = (3.0 / self.cwnd).min(0.25);
        self.avg_rtt += weight * (rtt - self.avg_rtt);
        self.base_rtt = self.base_rtt.min(rtt);
    }

    /// The window that the law asks for (ToN eq. (10)).
    fn law(&self) -> f64 {
        let w = self.cwnd;
        let aim = self.base_rtt / self.avg_rtt * w + self.alpha;
        ((1.0 - self.gamma) * w + self.gamma * aim).min(2.0 * w).clamp(1.0, 1e9)
    }

    /// The window stands where it is until the next update.
    fn settle(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
        self.target = cwnd;
        self.step = 0.0;
        self.updating = false;
        self.rounds.restart();
    }

    /// A round has ended.
    fn end_round(&mut self, full: bool) {
        self.updating = !self.updating;
        self.cwnd = self.target;
        self.step = 0.0;
        if self.updating && self.avg_rtt > 0.0 {
            let law = self.law();
            self.target = if full { law } else { law.min(self.cwnd) };
            self.step = (self.target - self.cwnd) / self.cwnd;
        }
    }
}

impl Sender for Fast {
    type Params = FastParams;
    type Header = ();
    type Receiver = Echo<()>;

    fn new(params: &FastParams, context: &SenderContext) -> Fast {
        let cwnd = context.initial_window.max(1.0);
        Fast {
            cwnd,
            target: cwnd,
            step: 0.0,
            alpha: params.alpha,
            gamma: params.gamma,
            rounds: Rounds::default(),
            updating: false,
            avg_rtt: 0.0,
            base_rtt: 0.0,
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
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        // The step leads from cwnd to target in one window of packets and is cut off there.
        let moved = self.cwnd + self.step * f64::from(ack.acked);
        self.cwnd = if self.step > 0.0 { moved.min(self.target) } else { moved.max(self.target) };
        if self.rounds.acked(ack.acked) && !ack.recovering {
            let flight = ack.in_flight.saturating_add(ack.delivered);
            self.end_round(f64::from(flight) + 1.0 > self.cwnd); // D5
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.settle(match loss.kind {
            LossKind::DupAcks | LossKind::EcnEcho => (self.cwnd / 2.0).max(1.0),
            LossKind::Timeout => 1.0,
        });
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("target", "pkts", "window that the last update leads to, eq. (10)"),
        Variable::new("avg_rtt", "s", "average RTT; 0 before the first sample"),
        Variable::new("base_rtt", "s", "smallest RTT; 0 before the first sample"),
        Variable::new("queued", "pkts", "packets of the flow in queues: w*(1 - baseRTT/RTT)"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let ratio = if self.avg_rtt > 0.0 { self.base_rtt / self.avg_rtt } else { 1.0 };
        sink("cwnd", self.cwnd);
        sink("target", self.target);
        sink("avg_rtt", self.avg_rtt);
        sink("base_rtt", self.base_rtt);
        sink("queued", self.cwnd * (1.0 - ratio));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, departing, loss, ms, near, sender_context};

    fn fast(alpha: f64, window: f64) -> Fast {
        Fast::new(&FastParams { alpha, ..FastParams::default() }, &sender_context(window))
    }

    fn set(fast: &mut Fast, base_ms: f64, avg_ms: f64) {
        (fast.base_rtt, fast.avg_rtt) = (base_ms / 1e3, avg_ms / 1e3);
    }

    #[test]
    fn the_law_is_equation_10() {
        let mut s = fast(100.0, 1000.0);
        // 0.5*1000 + 0.5*(100/125*1000 + 100) = 500 + 450.
        set(&mut s, 100.0, 125.0);
        assert!(near(s.law(), 950.0));
        // No queue: 500 + 0.5*1100. With w = 60: 30 + 0.5*160 = 110. With w = 40 90 > 2w.
        set(&mut s, 100.0, 100.0);
        assert!(near(s.law(), 1050.0));
        s.cwnd = 60.0;
        assert!(near(s.law(), 110.0));
        s.cwnd = 40.0;
        assert!(near(s.law(), 80.0));
        // At rest w*(1 - base/RTT) = alpha: 500*(1 - 80/100) = 100.
        s.cwnd = 500.0;
        set(&mut s, 80.0, 100.0);
        assert!(near(s.law(), 500.0));
    }

    #[test]
    fn the_average_takes_a_quarter_or_three_over_the_window() {
        let mut s = fast(100.0, 4.0);
        let sample = |s: &mut Fast, t: u64| s.sample(Span::from_millis(t));
        sample(&mut s, 100);
        sample(&mut s, 140);
        // 100 + 40/4.
        assert!(near(s.avg_rtt, 0.110) && near(s.base_rtt, 0.100));
        // w = 300: 0.110 + 3/300*(0.210 - 0.110).
        s.cwnd = 300.0;
        sample(&mut s, 210);
        assert!(near(s.avg_rtt, 0.111));
        sample(&mut s, 60);
        assert!(near(s.base_rtt, 0.060));
    }

    /// A window of packets goes out and comes back, all with this RTT.
    fn round(s: &mut Fast, next: &mut u64, rtt_ms: u64) {
        let window = s.cwnd as u64;
        for seq in *next..*next + window {
            s.on_send(&Departing { seq, ..departing() });
        }
        *next += window;
        for _ in 0..window {
            s.on_ack(&Ack { now: ms(0), rtt: Some(Span::from_millis(rtt_ms)), ..ack(1) });
        }
    }

    #[test]
    fn an_update_takes_one_round_and_stands_for_the_next() {
        let mut s = fast(100.0, 8.0);
        let mut next = 0;
        // The first ACK ends the first round and starts an update to 16; its other seven packets
        // bring 7/8 of it.
        round(&mut s, &mut next, 100);
        assert!(near(s.target, 16.0) && near(s.cwnd, 15.0));
        // The first ACK of the next round completes it; then it stands.
        round(&mut s, &mut next, 100);
        assert!(near(s.cwnd, 16.0) && near(s.step, 0.0));
        round(&mut s, &mut next, 100);
        assert!(near(s.target, 32.0));
    }

    #[test]
    fn a_window_that_was_not_full_does_not_grow_but_shrinks() {
        let mut s = fast(10.0, 100.0);
        set(&mut s, 100.0, 100.0);
        s.end_round(false);
        assert!(near(s.target, 100.0));
        s.end_round(false);
        // 50 + 0.5*(50 + 10).
        set(&mut s, 100.0, 200.0);
        s.end_round(false);
        assert!(near(s.target, 80.0));
    }

    #[test]
    fn a_loss_halves_and_a_timeout_starts_again() {
        let mut s = fast(100.0, 64.0);
        s.on_loss(&loss(LossKind::DupAcks, 64));
        assert_eq!((s.cwnd(), s.target), (32.0, 32.0));
        s.on_loss(&loss(LossKind::EcnEcho, 32));
        assert_eq!(s.cwnd(), 16.0);
        s.on_loss(&loss(LossKind::Timeout, 16));
        assert_eq!((s.cwnd(), s.target), (1.0, 1.0));
    }

    /// Without an RTT there is no law: the window stands, round after round.
    #[test]
    fn without_a_sample_the_window_stands() {
        let mut s = fast(10.0, 8.0);
        for seq in 0..40 {
            s.on_send(&Departing { seq, ..departing() });
            s.on_ack(&Ack { now: ms(seq), ..ack(1) });
            assert_eq!((s.cwnd(), s.target), (8.0, 8.0));
        }
    }

    /// D5: a packet less than the window in flight is a window in use, eight of ten are not. In
    /// recovery no update begins.
    #[test]
    fn an_update_needs_a_window_in_use() {
        for (in_flight, recovering, target) in [(9, false, 20.0), (8, false, 10.0), (9, true, 10.0)]
        {
            let mut s = fast(100.0, 10.0);
            set(&mut s, 100.0, 100.0);
            s.on_send(&departing());
            s.on_ack(&Ack { in_flight, recovering, ..ack(1) });
            assert_eq!(s.target, target, "{in_flight} {recovering}");
        }
    }
}
