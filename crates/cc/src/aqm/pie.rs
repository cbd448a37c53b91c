//! PIE, proportional integral controller enhanced. RFC 8033 (February 2017): random drops (section
//! 4.1), probability (4.2), delay (4.3), burst allowance (4.4), ECN (5.1), rate of departures
//! (5.2), switching on and off (5.3), derandomization (5.4), cap of the increase (5.5); appendices
//! A and B.
//!
//! Each t_update the probability moves by alpha times the delay's distance from its reference and
//! beta times its trend, scaled down while the probability is small. The default is the basic
//! algorithm of appendix A with ECN; the delay is that of the packet that left last (`estimate =
//! "timestamp"`, section 4.3) or the queue over the measured rate of departures ("departure-rate",
//! section 5.2).
//!
//! ```math
//! p <- p + alpha*(qdelay - qdelay_ref) + beta*(qdelay - qdelay_old)  scaled down while p is small
//! ```
//!
//! Deviations:
//! - D1: by timestamps the delay is zero as soon as nothing waits.
//! - D2: what the buffer's limit drops does not reset the accumulated probability.
//! - D3: the mean packet is a full one.

use units::random::Stream;
use units::{Rate, Span, Time};

use super::policy::signal;
use crate::roles::{Backlog, Limit, Passing, Router, RouterContext, Variable, Verdict};

choice! {
    /// How the delay is found.
    pub enum Estimate {
        /// As the packet that left last had it.
        Timestamp = "timestamp",
        /// From the queue and the mean rate of departures.
        DepartureRate = "departure-rate",
    }
}

params! {
    /// PIE's parameters.
    pub struct PieParams {
        /// QDELAY_REF, the delay to hold.
        qdelay_ref: Span = Span::from_millis(15) => (1e-6, 100.0);
        /// T_UPDATE, time between two changes of the probability.
        t_update: Span = Span::from_millis(15) => (1e-5, 100.0);
        /// alpha, the weight of the distance from the reference [1/s].
        alpha: f64 = 0.125 => (0.0, 1e3);
        /// beta, the weight of the trend [1/s].
        beta: f64 = 1.25 => (0.0, 1e3);
        /// MAX_BURST, the time for which a burst after a quiet time is let through.
        max_burst: Span = Span::from_millis(150) => (0.0, 100.0);
        /// How the delay is found.
        estimate: Estimate = Estimate::Timestamp;
        /// DQ_THRESHOLD, what must leave for a measurement of the rate [bytes] (section 5.2).
        dq_threshold: u64 = 16384 => (1.0, 1e9);
        /// Are capable packets marked instead of dropped (section 5.1)?
        ecn: bool = true;
        /// mark_ecnth, the probability from which on capable packets are dropped too (section 5.1).
        mark_ecnth: f64 = 0.1 => (0.0, 1.0);
        /// Is PIE off until a third of the buffer is full, and again when all is quiet (section
        /// 5.3)?
        switches: bool = false;
        /// Is the gap between drops kept between 0.85 and 8.5 of its mean (section 5.4)?
        derandomize: bool = false;
        /// Is an increase above 0.02 cut to that once the probability is 0.1 (section 5.5)?
        cap: bool = false;
    }
    presets {
        /// RFC 8033, appendix B: with all optional enhancements.
        "rfc8033-b" {
            estimate = Choice("departure-rate"), switches = Flag(true), derandomize = Flag(true),
            cap = Flag(true),
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    limit: Limit,
    packet_bytes: u32,
    stream: Stream,

    active: bool,
    probability: f64,
    /// accu_prob_, the sum of the probabilities since the last drop.
    accumulated: f64,
    /// [s]
    qdelay_old: f64,
    burst_allowance: Span,
    /// Delay of the packet that left last [s].
    last_delay: f64,
    /// When the running measurement began and what has left since [bytes].
    measurement: Option<(Time, u64)>,
    /// avg_dq_time_, mean time in which dq_threshold bytes leave [s].
    dq_time: f64,
    next: Time,
}

/// The probabilities below which a change is divided by that much (section 4.2).
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

impl Pie {
    /// The delay now [s].
    fn qdelay(&self, backlog: Backlog) -> f64 {
        match self.params.estimate {
            Estimate::Timestamp if backlog.packets == 0 => 0.0,
            Estimate::Timestamp => self.last_delay,
            Estimate::DepartureRate => {
                backlog.bytes as f64 * self.dq_time / self.params.dq_threshold as f64
            }
        }
    }

    /// Section 4.2, 4.4 and 5.5.
    fn update(&mut self, qdelay: f64) {
        let params = &self.params;
        let reference = params.qdelay_ref.as_secs();
        let change = params.alpha * (qdelay - reference) + params.beta * (qdelay - self.qdelay_old);
        let scale = SCALES.iter().find(|(below, _)| self.probability < *below);
        let mut change = change / scale.map_or(1.0, |(_, divisor)| *divisor);
        if params.cap && self.probability >= 0.1 {
            change = change.min(0.02);
        }
        let mut probability = self.probability + change;
        if qdelay == 0.0 && self.qdelay_old == 0.0 {
            probability *= 0.98;
        }
        self.probability = probability.clamp(0.0, 1.0);
        let quiet = qdelay < reference / 2.0 && self.qdelay_old < reference / 2.0;
        self.burst_allowance = if self.probability == 0.0 && quiet {
            params.max_burst
        } else {
            self.burst_allowance - params.t_update
        };
        self.qdelay_old = qdelay;
    }

    /// Is this arrival picked (section 4.1 and 5.4)?
    fn picks(&mut self, backlog: Backlog) -> bool {
        let half = self.params.qdelay_ref.as_secs() / 2.0;
        let short = backlog.bytes <= 2 * u64::from(self.packet_bytes);
        if (self.qdelay_old < half && self.probability < 0.2) || short {
            return false;
        }
        if self.params.derandomize {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
        }
        let picked = (self.params.derandomize && self.accumulated >= 8.5)
            || self.stream.chance(self.probability);
        if picked {
            self.accumulated = 0.0;
        }
        picked
    }

    /// Section 5.3.
    fn switch(&mut self, backlog: Backlog) {
        let third = match self.limit {
            Limit::Bytes(limit) => backlog.bytes >= limit / 3,
            Limit::Packets(limit) => backlog.packets >= limit / 3,
        };
        let quiet = self.probability == 0.0 && self.qdelay_old == 0.0;
        if !self.active && third {
            self.active = true;
            (self.probability, self.accumulated, self.qdelay_old) = (0.0, 0.0, 0.0);
            (self.measurement, self.dq_time) = (None, 0.0);
            self.burst_allowance = self.params.max_burst;
        } else if quiet && self.qdelay(backlog) == 0.0 {
            self.active = false;
            self.measurement = None;
        }
    }

    /// Section 5.2; `left` waits behind the packet.
    fn measure(&mut self, now: Time, size: u32, left: u64) {
        let threshold = self.params.dq_threshold;
        if let Some((start, bytes)) = &mut self.measurement {
            *bytes += u64::from(size);
            if *bytes < threshold {
                return;
            }
            let time = now.since(*start).as_secs();
            // RFC 8033: the weight is DQ_THRESHOLD/2^16.
            let weight = (threshold as f64 / 65536.0).min(1.0);
            let first = self.dq_time == 0.0;
            self.dq_time += if first { time } else { weight * (time - self.dq_time) };
            self.measurement = None;
        }
        if left >= threshold {
            self.measurement = Some((now, 0));
        }
    }
}

impl Router for Pie {
    type Params = PieParams;
    type Header = ();

    fn new(params: &PieParams, context: &RouterContext) -> Pie {
        Pie {
            params: params.clone(),
            limit: context.limit,
            packet_bytes: context.packet_bytes,
            stream: context.stream.clone(),
            active: !params.switches,
            probability: 0.0,
            accumulated: 0.0,
            qdelay_old: 0.0,
            burst_allowance: params.max_burst,
            last_delay: 0.0,
            measurement: None,
            dq_time: 0.0,
            next: Time::ZERO + params.t_update,
        }
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        let picked = self.active && self.burst_allowance == Span::ZERO && self.picks(backlog);
        if self.params.switches {
            self.switch(backlog);
        }
        if picked {
            return signal(self.params.ecn && self.probability < self.params.mark_ecnth, packet);
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        self.last_delay = packet.queued_for.as_secs();
        if self.params.estimate == Estimate::DepartureRate {
            self.measure(now, packet.size, backlog.bytes);
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if self.active {
            self.update(self.qdelay(backlog));
        }
        self.next = now + self.params.t_update;
    }

    fn on_capacity(&mut self, _now: Time, _capacity: Rate) {}

    fn retune(&mut self, params: &PieParams, context: &RouterContext) {
        self.params = params.clone();
        self.limit = context.limit;
        self.packet_bytes = context.packet_bytes;
        self.active |= !params.switches;
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("drop_prob", "", "probability of a drop or a mark"),
        Variable::new("qdelay", "s", "delay at the last update"),
        Variable::new("burst_allowance", "s", "time for which a burst is still let through"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("drop_prob", self.probability);
        sink("qdelay", self.qdelay_old);
        sink("burst_allowance", self.burst_allowance.as_secs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::roles::Ecn;
    use crate::tests::{ms, near, passing, router_context};

    fn pie(params: PieParams) -> Pie {
        Pie::new(&params, &router_context(Rate(8_000_000), 90))
    }

    fn queue(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1000 }
    }

    #[test]
    fn the_probability_follows_delay_and_trend() {
        let mut pie = pie(PieParams::default());
        // From 0.2, at 25 ms after 21 ms: 0.125*0.01 + 1.25*0.004 = 0.00625, undivided.
        (pie.probability, pie.qdelay_old) = (0.2, 0.021);
        pie.update(0.025);
        assert!(near(pie.probability, 0.206_25));
        // Each step of the table, by a change of 0.00625.
        for (from, divisor) in
            [(0.0, 2048.0), (2e-6, 512.0), (2e-5, 128.0), (2e-4, 32.0), (2e-3, 8.0), (2e-2, 2.0)]
        {
            (pie.probability, pie.qdelay_old) = (from, 0.021);
            pie.update(0.025);
            assert!(near(pie.probability, from + 0.006_25 / divisor), "{from}");
        }
        // Quiet twice: (0.2 - 0.125*0.015)*0.98 = 0.194 162 5.
        (pie.probability, pie.qdelay_old) = (0.2, 0.0);
        pie.update(0.0);
        assert!(near(pie.probability, 0.194_162_5));
        // 0.1 + 0.125*0.185 + 1.25*0.2 = 0.373 125, with the cap 0.12.
        for (cap, to) in [(false, 0.373_125), (true, 0.12)] {
            let mut pie = self::pie(PieParams { cap, ..PieParams::default() });
            pie.probability = 0.1;
            pie.update(0.2);
            assert!(near(pie.probability, to));
        }
    }

    #[test]
    fn the_delay_is_the_last_packets_or_the_queue_over_the_rate() {
        let mut pie = pie(PieParams::default());
        let queued_for = Span::from_millis(20);
        pie.on_departure(ms(5), Passing { queued_for, ..passing(&mut Ecn::Ect0) }, queue(3));
        assert!(near(pie.qdelay(queue(3)), 0.02) && pie.qdelay(queue(0)) == 0.0);
        // A packet of 1000 B each ms: the 17 that leave until 17,000 >= 16,384 take 17 ms. Then
        // 20,000 bytes wait 20,000*17/16,384 = 20.751 953 ms.
        let estimate = Estimate::DepartureRate;
        let mut pie = self::pie(PieParams { estimate, ..PieParams::default() });
        assert_eq!(pie.qdelay(queue(20)), 0.0);
        for i in 0..18 {
            pie.on_departure(ms(i), passing(&mut Ecn::Ect0), queue(30));
        }
        assert!((pie.qdelay(queue(20)) - 0.020_751_953).abs() < 1e-9);
        // The next cycle at half the rate: 0.75*17 + 0.25*34 = 21.25 ms.
        for i in 1..18 {
            pie.on_departure(ms(17 + 2 * i), passing(&mut Ecn::Ect0), queue(30));
        }
        assert!(near(pie.dq_time, 0.021_25), "{}", pie.dq_time);
    }

    #[test]
    fn a_burst_is_let_through_and_a_quiet_time_restores_it() {
        let mut pie = pie(PieParams::default());
        assert_eq!(pie.burst_allowance, Span::from_millis(150));
        pie.last_delay = 0.1;
        // Ten updates of 15 ms use it up.
        for i in 1..=10 {
            (pie.probability, pie.qdelay_old) = (1.0, 0.1);
            let verdict = pie.on_arrival(ms(0), passing(&mut Ecn::NotCapable), queue(50));
            assert_eq!(verdict, Verdict::Forward, "{i}");
            pie.on_timer(ms(15 * i), queue(50));
        }
        assert_eq!(pie.burst_allowance, Span::ZERO);
        let verdict = pie.on_arrival(ms(151), passing(&mut Ecn::NotCapable), queue(50));
        assert_eq!(verdict, Verdict::Drop);
        (pie.probability, pie.qdelay_old) = (0.0, 0.007);
        pie.update(0.007);
        assert_eq!(pie.burst_allowance, Span::from_millis(150));
        // Both delays must be below half of 15 ms; an update takes 15 ms of what is left.
        for (before, now) in [(0.008, 0.0), (0.0075, 0.0), (0.0074, 0.008), (0.0074, 0.0075)] {
            (pie.probability, pie.qdelay_old) = (0.0, before);
            pie.burst_allowance = Span::from_millis(100);
            pie.update(now);
            assert_eq!((pie.probability, pie.burst_allowance), (0.0, Span::from_millis(85)));
        }
    }

    #[test]
    fn nothing_is_picked_at_a_short_delay_or_queue() {
        let mut pie = pie(PieParams::default());
        pie.burst_allowance = Span::ZERO;
        // Does it drop any of 2000?
        let mut drops = |probability, qdelay_old, waiting| {
            (pie.probability, pie.qdelay_old) = (probability, qdelay_old);
            (0..2000).any(|_| {
                let mut ecn = Ecn::NotCapable;
                pie.on_arrival(ms(1), passing(&mut ecn), queue(waiting)) == Verdict::Drop
            })
        };
        assert!(!drops(0.19, 0.0074, 50) && drops(0.21, 0.0074, 50));
        assert!(drops(0.19, 0.0076, 50));
        assert!(!drops(1.0, 0.1, 2) && drops(1.0, 0.1, 3));
    }

    #[test]
    fn ecn_is_used_below_its_threshold() {
        let mut pie = pie(PieParams { mark_ecnth: 1.0, ..PieParams::default() });
        pie.burst_allowance = Span::ZERO;
        let mut told = |probability| {
            (pie.probability, pie.qdelay_old, pie.accumulated) = (probability, 0.1, 0.0);
            let mut ecn = Ecn::Ect0;
            (pie.on_arrival(ms(1), passing(&mut ecn), queue(50)), ecn)
        };
        assert_eq!(told(1.0), (Verdict::Drop, Ecn::Ect0));
        let just_below = told(0.999_999_999);
        assert_eq!(just_below, (Verdict::Forward, Ecn::Ce));
    }

    #[test]
    fn gaps_are_bounded_by_the_accumulated_probability() {
        let mut pie = pie(PieParams { derandomize: true, ecn: false, ..PieParams::default() });
        pie.burst_allowance = Span::ZERO;
        (pie.probability, pie.qdelay_old) = (0.1, 0.1);
        let mut last = 0;
        for i in 1..=20_000_u32 {
            let verdict = pie.on_arrival(ms(1), passing(&mut Ecn::NotCapable), queue(50));
            if verdict == Verdict::Drop {
                // 0.85/0.1 and 8.5/0.1, by sums of 0.1.
                assert!((8..=86).contains(&(i - last)), "{}", i - last);
                last = i;
            }
        }
        assert!(last > 0);
    }

    #[test]
    fn it_switches_on_at_a_third_of_the_buffer() {
        let mut pie = pie(PieParams { switches: true, ..PieParams::default() });
        pie.on_arrival(ms(1), passing(&mut Ecn::Ect0), queue(29));
        assert!(!pie.active);
        pie.on_arrival(ms(1), passing(&mut Ecn::Ect0), queue(30));
        assert!(pie.active);
        pie.on_arrival(ms(2), passing(&mut Ecn::Ect0), queue(0));
        assert!(!pie.active);
    }

    /// RFC 8033 section 4.2: the probability is between 0 and 1.
    #[test]
    fn a_probability_stays_one() {
        let mut pie = pie(PieParams::default());
        pie.probability = 0.99;
        pie.update(5.0);
        assert_eq!(pie.probability, 1.0);
        (pie.probability, pie.qdelay_old) = (0.001, 5.0);
        pie.update(0.001);
        assert_eq!(pie.probability, 0.0);
    }

    /// RFC 8033 section 5.1, mark_ecnth by default: just below a tenth marks, a tenth drops.
    #[test]
    fn marks_end_at_a_tenth() {
        let mut pie = pie(PieParams::default());
        pie.burst_allowance = Span::ZERO;
        for (probability, marks) in [(0.099_999, true), (0.1, false)] {
            (pie.probability, pie.qdelay_old) = (probability, 0.1);
            let told: alloc::vec::Vec<_> = (0..1000)
                .map(|_| {
                    let mut ecn = Ecn::Ect0;
                    (pie.on_arrival(ms(1), passing(&mut ecn), queue(50)), ecn)
                })
                .filter(|told| *told != (Verdict::Forward, Ecn::Ect0))
                .collect();
            let expected =
                if marks { (Verdict::Forward, Ecn::Ce) } else { (Verdict::Drop, Ecn::Ect0) };
            assert!(told.len() > 50 && told.iter().all(|told| *told == expected));
        }
    }

    /// RFC 8033 section 4.2 and appendix A: it decays while both delays are zero. Appendix B lets
    /// it decay below half of the reference, which its preset does not.
    #[test]
    fn a_delay_that_is_not_zero_does_not_decay() {
        let preset = PieParams::presets().iter().find(|p| p.name == "rfc8033-b").expect("it");
        let mut params = PieParams::default();
        preset.values.iter().for_each(|&(name, value)| params.set(name, value).expect("known"));
        let mut pie = pie(params);
        (pie.probability, pie.qdelay_old) = (0.2, 0.005);
        pie.update(0.005);
        // 0.2 + 0.125*(0.005 - 0.015); appendix B would have 0.98 of that, 0.194 775.
        assert!(near(pie.probability, 0.198_75));
    }

    /// RFC 8033, appendix B: "accu_prob < 0.85" passes and "accu_prob >= 8.5" is picked whatever is
    /// drawn: with a probability of 2^-20 at 8.5 less two steps the second arrival is, and the sum
    /// begins anew.
    #[test]
    fn the_accumulated_probability_decides_from_8_5_on() {
        let mut pie = pie(PieParams { derandomize: true, ecn: false, ..PieParams::default() });
        pie.burst_allowance = Span::ZERO;
        let step = 1.0 / f64::from(1 << 20);
        (pie.probability, pie.qdelay_old, pie.accumulated) = (step, 0.1, 8.5 - 2.0 * step);
        let mut arrive = || pie.on_arrival(ms(1), passing(&mut Ecn::NotCapable), queue(50));
        assert_eq!((arrive(), arrive()), (Verdict::Forward, Verdict::Drop));
        assert_eq!(pie.accumulated, 0.0);
        // At 0.85 itself the draw decides: at p = 0.85 the first arrival may be picked, at 0.8499
        // none.
        for (probability, picks) in [(0.85, true), (0.8499, false)] {
            let any = (0..100).any(|_| {
                (pie.probability, pie.accumulated) = (probability, 0.0);
                pie.on_arrival(ms(1), passing(&mut Ecn::NotCapable), queue(50)) == Verdict::Drop
            });
            assert_eq!(any, picks, "{probability}");
        }
        // Appendix B: "if drop_prob == 0, accu_prob = 0".
        (pie.probability, pie.accumulated) = (0.0, 5.0);
        assert_eq!(
            pie.on_arrival(ms(1), passing(&mut Ecn::NotCapable), queue(50)),
            Verdict::Forward
        );
        assert_eq!(pie.accumulated, 0.0);
    }

    /// RFC 8033 section 4.2's table at its ends: "below 0.000001" divides by 2048, so 0.000001
    /// itself by 512, and so on; 0.1 by nothing. Each by a change of 0.125*0.01 + 1.25*0.004 =
    /// 0.00625.
    #[test]
    fn the_steps_of_the_table_begin_at_their_ends() {
        let mut pie = pie(PieParams::default());
        for (from, divisor) in
            [(1e-6, 512.0), (1e-5, 128.0), (1e-4, 32.0), (1e-3, 8.0), (1e-2, 2.0), (1e-1, 1.0)]
        {
            (pie.probability, pie.qdelay_old) = (from, 0.021);
            pie.update(0.025);
            assert!((pie.probability - from - 0.006_25 / divisor).abs() < 1e-12, "{from}");
        }
    }

    /// RFC 8033 section 5.5: "drop_prob >= 0.1" and an increase of more than 0.02. A probability of
    /// 0.0999 rises by 0.273 125/2, one of 0.1 by 0.02; an increase of less stays, and so does a
    /// fall.
    #[test]
    fn the_cap_holds_from_a_tenth_on() {
        for (from, qdelay_old, qdelay, to) in [
            (0.0999, 0.0, 0.2, 0.0999 + 0.136_562_5),
            (0.1, 0.0, 0.2, 0.12),
            (0.1, 0.021, 0.025, 0.106_25),
            (0.3, 0.2, 0.1, 0.3 + 0.125 * 0.085 - 0.125),
        ] {
            let mut pie = pie(PieParams { cap: true, ..PieParams::default() });
            (pie.probability, pie.qdelay_old) = (from, qdelay_old);
            pie.update(qdelay);
            assert!(near(pie.probability, to), "{from}: {}", pie.probability);
        }
    }

    /// RFC 8033 section 4.1: "qdelay_old < QDELAY_REF/2 and drop_prob < 0.2" spares; neither 7.5 ms
    /// nor a fifth is below. It decays only where both delays are zero (section 4.2).
    #[test]
    fn what_is_spared_is_below_both_bounds() {
        let mut pie = pie(PieParams::default());
        pie.burst_allowance = Span::ZERO;
        for (probability, qdelay_old, drops) in
            [(0.19, 0.0075, true), (0.2, 0.0, true), (0.199, 0.007, false)]
        {
            (pie.probability, pie.qdelay_old) = (probability, qdelay_old);
            let any = (0..500).any(|_| {
                let mut ecn = Ecn::NotCapable;
                pie.on_arrival(ms(1), passing(&mut ecn), queue(50)) == Verdict::Drop
            });
            assert_eq!(any, drops, "{probability} {qdelay_old}");
        }
        for (qdelay_old, qdelay, to) in [
            (0.001, 0.0, 0.2 - 0.125 * 0.015 - 1.25 * 0.001),
            (0.0, 0.001, 0.2 - 0.125 * 0.014 + 1.25 * 0.001),
        ] {
            (pie.probability, pie.qdelay_old) = (0.2, qdelay_old);
            pie.update(qdelay);
            assert!(near(pie.probability, to), "{qdelay_old}: {}", pie.probability);
        }
    }

    /// RFC 8033 section 5.3 with a buffer of 90,000 bytes: on at 30,000, with all state anew; off
    /// where nothing waits and neither the probability nor the delay before is above zero; while it
    /// is off nothing is updated.
    #[test]
    fn it_switches_by_bytes_and_begins_anew() {
        let params = PieParams { switches: true, ..PieParams::default() };
        let context =
            RouterContext { limit: Limit::Bytes(90_000), ..router_context(Rate(8_000_000), 0) };
        let mut pie = Pie::new(&params, &context);
        let arrive = |pie: &mut Pie, bytes| {
            let waiting = Backlog { packets: 1 + (bytes / 1000) as u32, bytes };
            pie.on_arrival(ms(1), passing(&mut Ecn::NotCapable), waiting);
            pie.active
        };
        (pie.probability, pie.accumulated, pie.qdelay_old, pie.dq_time) = (0.5, 3.0, 0.1, 0.02);
        (pie.measurement, pie.burst_allowance) = (Some((ms(0), 7)), Span::ZERO);
        assert!(!arrive(&mut pie, 29_999));
        pie.on_timer(ms(15), queue(29));
        assert_eq!((pie.probability, pie.next_timer()), (0.5, ms(30)));
        assert!(arrive(&mut pie, 30_000));
        assert_eq!((pie.probability, pie.accumulated, pie.qdelay_old), (0.0, 0.0, 0.0));
        assert_eq!((pie.measurement, pie.dq_time), (None, 0.0));
        assert_eq!(pie.burst_allowance, Span::from_millis(150));
        // On already, a third changes nothing.
        pie.probability = 0.25;
        assert!(arrive(&mut pie, 40_000));
        assert_eq!(pie.probability, 0.25);
        let empty = |pie: &mut Pie| {
            pie.on_arrival(ms(2), passing(&mut Ecn::NotCapable), Backlog::default());
            pie.active
        };
        assert!(empty(&mut pie));
        (pie.probability, pie.qdelay_old) = (0.0, 0.001);
        assert!(empty(&mut pie));
        (pie.qdelay_old, pie.last_delay) = (0.0, 0.001);
        assert!(arrive(&mut pie, 1000));
        assert!(!empty(&mut pie));
    }

    /// RFC 8033 section 5.2 with DQ_THRESHOLD = 5000 bytes: a cycle begins with a departure that
    /// leaves 5000 bytes, not 4999, and is over once 5000 have left: five packets, one per
    /// millisecond.
    #[test]
    fn a_cycle_is_of_a_whole_threshold() {
        let estimate = Estimate::DepartureRate;
        let params = PieParams { estimate, dq_threshold: 5000, ..PieParams::default() };
        let mut pie = pie(params);
        let leave = |pie: &mut Pie, at, bytes| {
            let left = Backlog { packets: 5, bytes };
            pie.on_departure(ms(at), passing(&mut Ecn::Ect0), left);
        };
        leave(&mut pie, 0, 4999);
        assert_eq!(pie.measurement, None);
        leave(&mut pie, 1, 5000);
        assert_eq!(pie.measurement, Some((ms(1), 0)));
        (2..6).for_each(|at| leave(&mut pie, at, 5000));
        assert_eq!((pie.measurement, pie.dq_time), (Some((ms(1), 4000)), 0.0));
        leave(&mut pie, 6, 4999);
        assert!(pie.measurement.is_none() && near(pie.dq_time, 0.005));
        // The weight is 5000/65,536: a cycle of 15 ms next makes 5 + 0.762 939 453 125.
        leave(&mut pie, 10, 5000);
        (1..=5).for_each(|n| leave(&mut pie, 10 + 3 * n, 0));
        assert!(near(pie.dq_time, 0.005_762_939_453_125), "{}", pie.dq_time);
        // 2500 bytes wait for half of that.
        assert!(near(pie.qdelay(Backlog { packets: 3, bytes: 2500 }), 0.002_881_469_726_562_5));
    }
}
