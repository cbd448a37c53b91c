//! H-TCP. Leith, Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06.
//!
//! The increase per RTT grows with the time since the last loss, after a second in which it is
//! Reno's. A loss leaves the share RTT_min/RTT_max, which empties the bottleneck's queue and no
//! more, unless the rate has changed since the loss before.
//!
//! ```math
//! cwnd <- cwnd + alpha/cwnd                  per ACK of a packet
//! alpha = 2*(1 - beta)*(1 + 10*t + (t/2)^2)  t seconds beyond the first, Delta_L, since the loss
//! cwnd <- beta*cwnd                          at a loss
//! beta = rtt_min/rtt_max                     from 0.5 to 0.8; 0.5 where the rate has changed
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: the rate is measured over each smoothed RTT outside recovery and averaged with weight 1/4,
//!   the largest since the loss counts; the measurement is restarted in the three RTTs after a
//!   loss. These details, the factor 0.95 by which RTT_max - RTT_min fades at each loss, and the
//!   limits of RTT scaling are those of the authors' Linux code.
//! - D2: time counts from the loss, not from the end of its recovery.

use units::{Span, Time};

use crate::roles::{Ack, Loss, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

window_params! {
    /// The sender's parameters.
    pub struct HtcpParams {
        /// Delta_L, time after a loss with Reno's increase (section 3).
        delta_l: Span = Span::from_secs(1) => (0.0, 1000.0);
        /// Delta_B, relative change of the rate from which a loss halves (section 3).
        delta_b: f64 = 0.2 => (0.0, 1.0);
        /// Smallest share that a loss leaves (section 3).
        beta_min: f64 = 0.5 => (0.1, 0.9);
        /// Largest share that a loss leaves (section 3).
        beta_max: f64 = 0.8 => (0.1, 0.95);
        /// The bandwidth switch: does a loss halve after a change of the rate?
        bandwidth_switch: bool = true;
        /// RTT scaling: alpha times RTT_min/100 ms, a factor between 0.1 and 2.
        rtt_scaling: bool = true;
    }
}

/// The RTT at which RTT scaling changes nothing [s].
const RTT_REF: f64 = 0.1;

/// The end host's part.
pub type HtcpSender = Window<Htcp>;

/// H-TCP's state, by the paper's names.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: HtcpParams,
    /// What the last loss left.
    beta: f64,
    /// The increase per RTT at the last ACK [packets].
    alpha: f64,
    /// The last loss.
    loss: Time,
    rtt_min: Span,
    rtt_max: Span,
    /// Packets delivered since `since`.
    delivered: f64,
    since: Time,
    /// The averaged rate, its largest value since the loss, and that of the cycle before
    /// [packets/s].
    b: f64,
    b_max: f64,
    b_before: f64,
}

impl Htcp {
    /// alpha(Delta) = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L)/2)^2, scaled by the RTT and by
    /// 2 (1 - beta).
    fn alpha_at(&self, now: Time) -> f64 {
        let over = now.since(self.loss).as_secs() - self.params.delta_l.as_secs();
        let mut alpha = 1.0;
        if over > 0.0 {
            alpha += 10.0 * over + (over / 2.0) * (over / 2.0);
        }
        if self.params.rtt_scaling && self.rtt_min > Span::ZERO {
            alpha = (alpha * (self.rtt_min.as_secs() / RTT_REF).clamp(0.1, 2.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }

    /// The adaptive backoff.
    fn back_off(&self) -> f64 {
        let HtcpParams { delta_b, beta_min, beta_max, bandwidth_switch, .. } = self.params;
        let beta_max = beta_max.max(beta_min);
        let change = (self.b_max - self.b_before).abs();
        if bandwidth_switch && (self.b_before == 0.0 || change > delta_b * self.b_before) {
            return beta_min;
        }
        if self.rtt_max == Span::ZERO {
            return beta_min;
        }
        (self.rtt_min.as_secs() / self.rtt_max.as_secs()).clamp(beta_min, beta_max)
    }

    /// D1.
    fn measure_rate(&mut self, ack: &Ack<()>) {
        if ack.recovering {
            (self.delivered, self.since) = (0.0, ack.now);
            return;
        }
        self.delivered += f64::from(ack.delivered);
        let Some(srtt) = ack.srtt else { return };
        let elapsed = ack.now.since(self.since);
        if elapsed == Span::ZERO || elapsed < srtt {
            return;
        }
        let rate = self.delivered / elapsed.as_secs();
        if ack.now.since(self.loss) <= srtt * 3 {
            (self.b, self.b_max) = (rate, rate);
        } else {
            self.b = (3.0 * self.b + rate) / 4.0;
            self.b_max = self.b_max.max(self.b);
        }
        (self.delivered, self.since) = (0.0, ack.now);
    }
}

impl Avoidance for Htcp {
    type Params = HtcpParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("alpha", "pkts", "increase per RTT"),
        Variable::new("beta", "", "share that the last loss left"),
    ];

    fn new(params: &HtcpParams, _: &SenderContext) -> Htcp {
        Htcp {
            params: params.clone(),
            beta: 0.5,
            alpha: 1.0,
            loss: Time::ZERO,
            rtt_min: Span::ZERO,
            rtt_max: Span::ZERO,
            delivered: 0.0,
            since: Time::ZERO,
            b: 0.0,
            b_max: 0.0,
            b_before: 0.0,
        }
    }

    fn measure(&mut self, ack: &Ack<()>, _: &mut Frame) {
        if let (Some(rtt), Some(min_rtt)) = (ack.rtt, ack.min_rtt) {
            self.rtt_min = min_rtt;
            if !ack.recovering {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
        self.measure_rate(ack);
    }

    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64 {
        self.alpha = self.alpha_at(ack.now);
        self.alpha / frame.cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        self.beta = self.back_off();
        (self.b_before, self.loss) = (self.b_max, loss.now);
        let queue = (self.rtt_max - self.rtt_min).as_secs();
        self.rtt_max = self.rtt_min + Span::from_secs_f64(0.95 * queue);
        self.beta * in_use(frame.cwnd, loss)
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("alpha", self.alpha);
        sink("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::roles::Sender;
    use crate::tests::{avoiding, lost, near, timed};

    /// With beta = 1/2 and 100 ms: Delta = 1 s: 1; 2 s: 1 + 10 + 0.25 = 11.25; 3 s: 1 + 20 + 1 =
    /// 22; 5 s: 1 + 40 + 4 = 45.
    #[test]
    fn the_increase_grows_with_the_time_since_the_loss() {
        for (now, alpha) in [(500, 1.0), (1000, 1.0), (2000, 11.25), (3000, 22.0), (5000, 45.0)] {
            let mut window = avoiding::<Htcp>(1000.0, &[]);
            window.on_ack(&timed(now, 100, 100));
            assert!(near(window.cwnd(), 1000.0 + alpha / 1000.0), "{now}: {}", window.cwnd());
        }
    }

    /// alpha(3 s) = 22, times RTT/100 ms: 50 ms 11, 300 ms 44 (limit 2), 5 ms 2.2 (limit 0.1); at 1
    /// s it is not below 1.
    #[test]
    fn rtt_scaling_has_limits() {
        for (now, rtt, alpha) in
            [(3000, 50, 11.0), (3000, 300, 44.0), (3000, 5, 2.2), (1000, 5, 1.0), (1000, 200, 2.0)]
        {
            let mut window = avoiding::<Htcp>(1000.0, &[]);
            window.on_ack(&timed(now, rtt, rtt));
            assert!(near(window.cwnd(), 1000.0 + alpha / 1000.0), "{now} {rtt}");
            let mut window = avoiding::<Htcp>(1000.0, &[("rtt_scaling", Value::Flag(false))]);
            window.on_ack(&timed(3000, rtt, rtt));
            assert!(near(window.cwnd(), 1000.022));
        }
    }

    fn with_rates(rtt_min: u64, rtt_max: u64, before: f64, now: f64) -> HtcpSender {
        let mut window = avoiding::<Htcp>(1000.0, &[]);
        let htcp = &mut window.avoidance;
        [htcp.rtt_min, htcp.rtt_max] = [rtt_min, rtt_max].map(Span::from_millis);
        (htcp.b_before, htcp.b_max) = (before, now);
        window
    }

    /// 60/100 leaves 0.6; 95/100 at most 0.8; 30/100 at least 0.5; a rate that has changed by more
    /// than a fifth 0.5.
    #[test]
    fn a_loss_empties_the_queue() {
        for (rtt_min, rtt_max, before, now, beta) in [
            (60, 100, 1000.0, 1000.0, 0.6),
            (60, 100, 1000.0, 1199.0, 0.6),
            (60, 100, 1000.0, 1201.0, 0.5),
            (60, 100, 1000.0, 799.0, 0.5),
            (60, 100, 0.0, 1000.0, 0.5),
            (95, 100, 1000.0, 1000.0, 0.8),
            (30, 100, 1000.0, 1000.0, 0.5),
        ] {
            let mut window = with_rates(rtt_min, rtt_max, before, now);
            window.on_loss(&lost(0, 1000));
            assert!(near(window.cwnd(), 1000.0 * beta), "{rtt_min} {before} {now}");
        }
    }

    /// alpha is 2 (1 - beta) times the function: 0.8 at beta = 0.6. RTT_max fades to 60 +
    /// 0.95*40 = 98.
    #[test]
    fn the_increase_makes_up_for_a_small_decrease() {
        let mut window = with_rates(60, 100, 1000.0, 1000.0);
        window.on_loss(&lost(7000, 1000));
        assert_eq!(window.avoidance.rtt_max, Span::from_millis(98));
        window.avoidance.params.rtt_scaling = false;
        window.on_ack(&timed(7500, 60, 60));
        assert!(near(window.cwnd(), 600.0 + 0.8 / 600.0), "{}", window.cwnd());
    }

    /// 100 packets in 100 ms are 1000 packets/s; with 2000 then, after three RTTs, a quarter
    /// counts.
    #[test]
    fn the_rate_is_averaged() {
        let mut window = avoiding::<Htcp>(1000.0, &[]);
        let ack = |now, delivered| Ack { delivered, ..timed(now, 100, 100) };
        window.on_ack(&ack(100, 100));
        assert!(near(window.avoidance.b_max, 1000.0));
        window.on_ack(&ack(500, 800));
        assert!(near(window.avoidance.b, 1250.0), "{}", window.avoidance.b);
    }

    /// The rate is measured once per round trip: ACKs of 10 packets each 20 ms say 500 packets/s at
    /// the fifth, and nothing before.
    #[test]
    fn a_rate_is_that_of_a_round_trip() {
        let mut window = avoiding::<Htcp>(1000.0, &[]);
        for count in 1..=5 {
            assert_eq!(window.avoidance.b, 0.0);
            window.on_ack(&Ack { acked: 10, delivered: 10, ..timed(20 * count, 100, 100) });
        }
        assert!(near(window.avoidance.b, 500.0), "{}", window.avoidance.b);
    }

    /// Section 3: a rate that has changed by Delta_B itself, a quarter of 1000 here, is no change;
    /// and without the switch none is.
    #[test]
    fn a_change_of_delta_b_is_none() {
        for (switch, now, beta) in
            [(true, 1250.0, 0.6), (true, 750.0, 0.6), (true, 1251.0, 0.5), (false, 2000.0, 0.6)]
        {
            let mut window = with_rates(60, 100, 1000.0, now);
            window.avoidance.params.delta_b = 0.25;
            window.avoidance.params.bandwidth_switch = switch;
            window.on_loss(&lost(0, 1000));
            assert!(near(window.cwnd(), 1000.0 * beta), "{switch} {now}");
        }
    }

    /// D1: a rate within three RTTs of the loss replaces the average, a later one counts a quarter:
    /// (3*1000 + 2000)/4 = 1250. In recovery nothing is measured, and no largest RTT.
    #[test]
    fn three_round_trips_after_a_loss_the_average_begins() {
        for (now, b) in [(300, 2000.0), (301, 1250.0)] {
            let mut window = avoiding::<Htcp>(1000.0, &[]);
            window.avoidance.b = 1000.0;
            window.avoidance.since = crate::tests::ms(now - 100);
            window.on_ack(&Ack { delivered: 200, ..timed(now, 100, 100) });
            assert!(near(window.avoidance.b, b), "{now}: {}", window.avoidance.b);
        }
        let mut window = avoiding::<Htcp>(1000.0, &[]);
        window.on_ack(&Ack { delivered: 200, recovering: true, ..timed(500, 100, 90) });
        let htcp = &window.avoidance;
        assert_eq!((htcp.b, htcp.delivered, htcp.since), (0.0, 0.0, crate::tests::ms(500)));
        assert_eq!((htcp.rtt_min, htcp.rtt_max), (Span::from_millis(90), Span::ZERO));
    }

    /// Before the first RTT there is nothing to scale by: alpha(3 s) is 22.
    #[test]
    fn without_an_rtt_nothing_is_scaled() {
        let mut window = avoiding::<Htcp>(1000.0, &[]);
        window.on_ack(&Ack { rtt: None, min_rtt: None, srtt: None, ..timed(3000, 100, 100) });
        assert!(near(window.cwnd(), 1000.022), "{}", window.cwnd());
    }
}
