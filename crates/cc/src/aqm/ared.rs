//! Adaptive RED: RED whose max_p follows the average so that the mean delay is what was asked for,
//! with thresholds and weight set by the line's capacity. Floyd, Gummadi, Shenker, "Adaptive RED:
//! an algorithm for increasing the robustness of RED's active queue management", 2001, sections 4
//! and 5. The average and the probabilities are RED's (`red.rs`, with its deviations).
//!
//! Each `interval` max_p rises by `alpha` where the average is above the target band and shrinks to
//! `beta` of itself below it; the band is the middle fifth between min_th and max_th.
//!
//! ```math
//! max_p <- max_p + alpha  each interval, where avg is above the band
//! max_p <- beta*max_p     where it is below
//! ```
//!
//! Deviations:
//! - D1: max_p is looked at every `interval` by the clock; ns-2.35 does so at the first arrival
//!   that is more than an interval after the last change.
//! - D2: max_p still rises at `top` and still shrinks at `bottom`, as in the paper (<= 0.5, >=
//!   0.01); ns-2.35 stops there.
//! - D3: the thresholds and w_q follow a change of the capacity; ns-2.35 keeps them.

use units::{Rate, Span, Time};

use super::adaptation::{Adaptation, AdaptationParams};
use super::policy::Counting;
use super::red::{Red, RedParams};
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// Adaptive RED's parameters.
    pub struct AredParams {
        /// What the average counts.
        counts: Counting = Counting::Buffer;
        /// Is the probability proportional to the packet's size (ns-2's bytes_; RFC 7141 advises
        /// no)?
        by_size: bool = false;
        /// Size of the packets in which bytes and the capacity are counted (ns-2's mean_pktsize_)
        /// [bytes]; 0: a full packet.
        mean_size: u64 = 0 => (0.0, 65535.0);
        /// Mean delay for which the thresholds are set: min_th is half of what the line sends in
        /// it, at least 5 packets, and max_th three times min_th (section 5).
        target_delay: Span = Span::from_millis(5) => (1e-6, 100.0);
        /// min_th, below which nothing is marked [packets]; 0: by target_delay.
        min_th: f64 = 0.0 => (0.0, 1e9);
        /// max_th, where the probability reaches max_p [packets]; 0: three times min_th.
        max_th: f64 = 0.0 => (0.0, 1e9);
        /// w_q, the weight of a new sample in the average; 0: 1 - exp(-1/C), C in packets/s
        /// (section 5).
        w_q: f64 = 0.0 => (0.0, 1.0);
        /// max_p at the start, the probability at max_th.
        max_p: f64 = 0.1 => (1e-6, 1.0);
        /// How max_p follows the average.
        adaptation: AdaptationParams;
        /// Does the probability rise to 1 between max_th and 2*max_th, rather than jump?
        gentle: bool = true;
        /// Is the first mark held back until count*p_b reaches 1?
        wait: bool = true;
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
        /// Above this p_b capable packets are dropped too; 1: never for that reason.
        mark_p: f64 = 1.0 => (0.0, 1.0);
    }
    presets {
        /// The defaults of ns-2.35 with adaptive_ 1 (ns-default.tcl): packets of 500 bytes, by
        /// size, drops.
        "ns2" {
            counts = Choice("bytes"), by_size = Flag(true), mean_size = Count(500),
            bottom = Number(0.0), ecn = Flag(false), mark_p = Number(0.1),
        }
    }
}

impl AredParams {
    fn red(&self) -> RedParams {
        RedParams {
            counts: self.counts,
            by_size: self.by_size,
            mean_size: self.mean_size,
            min_th: self.min_th,
            // Three times a min_th that was given.
            max_th: if self.max_th > 0.0 { self.max_th } else { 3.0 * self.min_th },
            target_delay: self.target_delay,
            w_q: self.w_q,
            max_p: self.max_p,
            adaptive: true,
            gentle: self.gentle,
            wait: self.wait,
            ecn: self.ecn,
            mark_p: self.mark_p,
            ..RedParams::default()
        }
    }
}

fn adaptation(params: &AredParams, context: &RouterContext) -> Adaptation {
    let size = match params.mean_size {
        0 => f64::from(context.packet_bytes.max(1)),
        size => size as f64,
    };
    Adaptation::new(&params.adaptation, context.capacity.bytes_per_sec() / size)
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Ared(Red);

impl Router for Ared {
    type Params = AredParams;
    type Header = ();

    fn new(params: &AredParams, context: &RouterContext) -> Ared {
        Ared(Red::adapting(&params.red(), Some(adaptation(params, context)), context))
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        self.0.on_arrival(now, packet, backlog)
    }

    #[inline]
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        self.0.on_departure(now, packet, backlog);
    }

    fn next_timer(&self) -> Time {
        self.0.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        self.0.on_timer(now, backlog);
    }

    fn on_capacity(&mut self, now: Time, capacity: Rate) {
        self.0.on_capacity(now, capacity);
    }

    fn retune(&mut self, params: &AredParams, context: &RouterContext) {
        let adaptation = adaptation(params, context);
        self.0.retune_adapting(&params.red(), Some(adaptation), context);
    }

    const VARIABLES: &'static [Variable] = Red::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.0.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{ms, near, passing, router_context};

    #[test]
    fn bottom_may_follow_the_capacity() {
        // 150 Mb/s: 10/18,750 = 5.333e-4; 2 Mb/s: 10/250 = 0.04, so 0.01.
        let follow = AdaptationParams { bottom: 0.0, ..AdaptationParams::default() };
        let params = AredParams { adaptation: follow, ..AredParams::default() };
        let bottom = |rate| adaptation(&params, &router_context(Rate(rate), 100)).bottom;
        assert!(near(bottom(150_000_000), 10.0 / 18_750.0));
        assert!(near(bottom(2_000_000), 0.01));
    }

    #[test]
    fn the_timer_runs_each_interval_and_changes_reds_slope() {
        let context = router_context(Rate(8_000_000), 100);
        let mut ared = Ared::new(&AredParams::default(), &context);
        assert_eq!(ared.next_timer(), ms(500));
        // The average is 0: max_p goes to 0.09.
        ared.on_timer(ms(500), Backlog::default());
        assert_eq!(ared.next_timer(), ms(1000));
        let max_p = |ared: &Ared| {
            let mut found = 0.0;
            ared.probe(&mut |name, value| found = if name == "max_p" { value } else { found });
            found
        };
        assert!(near(max_p(&ared), 0.09));
        ared.retune(&AredParams::default(), &context);
        assert!(near(max_p(&ared), 0.09) && ared.next_timer() == ms(1000));
    }

    /// An average of 30 packets is below the thresholds of 40 and 120, and above those of 5 and 15.
    #[test]
    fn other_thresholds_hold_from_then_on() {
        let context = router_context(Rate(8_000_000), 100);
        let given = |min_th| AredParams { min_th, w_q: 1.0, ..AredParams::default() };
        let mut ared = Ared::new(&given(40.0), &context);
        let waiting = Backlog { packets: 30, bytes: 30_000 };
        let drops = |ared: &mut Ared| {
            let mut ecn = Ecn::NotCapable;
            ared.on_arrival(ms(1), passing(&mut ecn), waiting) == Verdict::Drop
        };
        assert!((0..50).all(|_| !drops(&mut ared)));
        ared.retune(&given(5.0), &context);
        assert!((0..50).any(|_| drops(&mut ared)));
    }

    /// Thresholds given by hand keep the rule of three.
    #[test]
    fn a_given_min_th_sets_max_th() {
        let red = AredParams { min_th: 20.0, ..AredParams::default() }.red();
        assert_eq!((red.min_th, red.max_th), (20.0, 60.0));
    }

    /// Whatever Adaptive RED and RED have under the same name reaches RED, but for max_th, which
    /// min_th sets where it is not given.
    #[test]
    fn what_both_have_is_reds() {
        use crate::params::{Kind, Params, Value};
        let mut shared = 0;
        for spec in AredParams::specs().iter().filter(|spec| spec.name != "max_th") {
            let mut params = AredParams::default();
            let value = match spec.kind {
                Kind::Flag => Value::Flag(params.get(spec.name) != Some(Value::Flag(true))),
                Kind::Count => Value::Count(777),
                Kind::Number => Value::Number(0.375),
                Kind::Span => Value::Span(Span::from_millis(77)),
                Kind::Choice(words) => Value::Choice(words[words.len() - 1]),
                Kind::Text => continue,
            };
            assert_eq!(params.set(spec.name, value), Ok(()), "{}", spec.name);
            let Some(got) = params.red().get(spec.name) else { continue };
            assert_eq!(got, value, "{}", spec.name);
            shared += 1;
        }
        assert_eq!(shared, 11);
        let params = AredParams { min_th: 20.0, max_th: 50.0, ..AredParams::default() };
        assert_eq!(params.red().max_th, 50.0);
        assert!(params.red().adaptive);
    }

    /// `mean_size`: 2 Mb/s in packets of 500 bytes are 500/s, so that 10/C is 0.02, and 10 Mb/s
    /// 2500/s: 0.004.
    #[test]
    fn the_capacity_counts_packets_of_the_mean_size() {
        let follow = AdaptationParams { bottom: 0.0, ..AdaptationParams::default() };
        let params = AredParams { adaptation: follow, mean_size: 500, ..AredParams::default() };
        let bottom = |rate| adaptation(&params, &router_context(Rate(rate), 100)).bottom;
        assert!(near(bottom(2_000_000), 0.01) && near(bottom(10_000_000), 0.004));
    }
}
