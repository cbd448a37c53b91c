//! The router of multi-level ECN. Durresi, Sridharan, Liu, Goyal, Jain, "Traffic management using
//! multilevel explicit congestion notification", SCI 2001; the sender is
//! [`crate::tcp::mecn`].
//!
//! RED's average with three thresholds. Between min_th and max_th packets learn of incipient
//! congestion (10) with a probability that rises to max_p; between mid_th and max_th those that do
//! not learn of moderate congestion (11) instead, with a probability that rises to max_p2; above
//! max_th, which is severe congestion, packets are dropped.
//!
//! ```math
//! p_1 = max_p*(avg - min_th)/(max_th - min_th)   of 10, from min_th to max_th
//! p_2 = max_p2*(avg - mid_th)/(max_th - mid_th)  of 11, from mid_th to max_th
//! p_a = p_b/(1 - count*p_b)                      each spread as RED's, with p_b of p_1 or p_2
//! ```
//!
//! Deviations:
//! - D1: both choices are spread as RED's are ([`super::early`]), each by itself.
//! - D2: a packet that is not ECN-capable is dropped where it would be marked.
//! - D3: a router raises a packet's level and never lowers it.

use units::random::Stream;
use units::{Rate, Time};

use super::early::{Average, Early, threshold};
use crate::roles::{Backlog, Ecn, PacketKind, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// The router's parameters.
    pub struct MecnParams {
        /// min_th, above which congestion is incipient [packets]; 0: by its ratio.
        min_th: f64 = 0.0 => (0.0, 1e9);
        /// mid_th, above which it is moderate [packets]; 0: by its ratio.
        mid_th: f64 = 0.0 => (0.0, 1e9);
        /// max_th, above which it is severe [packets]; 0: by its ratio.
        max_th: f64 = 0.0 => (0.0, 1e9);
        /// min_th as a part of the buffer.
        min_th_ratio: f64 = 0.166_666_666_666_666_66 => (0.0, 1.0);
        /// mid_th as a part of the buffer.
        mid_th_ratio: f64 = 0.333_333_333_333_333_3 => (0.0, 1.0);
        /// max_th as a part of the buffer.
        max_th_ratio: f64 = 0.5 => (0.0, 1.0);
        /// w_q, the weight of a new sample in the average.
        w_q: f64 = 0.002 => (1e-6, 1.0);
        /// max_p, the probability of 10 at max_th.
        max_p: f64 = 0.1 => (1e-6, 1.0);
        /// max_p2, the probability of 11 at max_th.
        max_p2: f64 = 0.1 => (1e-6, 1.0);
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Mecn {
    average: Average,
    incipient: Early,
    moderate: Early,
    stream: Stream,
}

impl Router for Mecn {
    type Params = MecnParams;
    type Header = ();

    fn new(params: &MecnParams, context: &RouterContext) -> Mecn {
        let min_th = threshold(params.min_th, params.min_th_ratio, context);
        let mid_th = threshold(params.mid_th, params.mid_th_ratio, context);
        let max_th = threshold(params.max_th, params.max_th_ratio, context);
        Mecn {
            average: Average::new(params.w_q, context.capacity, context.packet_bytes),
            incipient: Early::new((min_th, max_th), params.max_p),
            moderate: Early::new((mid_th, max_th), params.max_p2),
            stream: context.stream.clone(),
        }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        self.average.update(now, f64::from(backlog.packets), backlog.packets == 0);
        let avg = self.average.value;
        let moderate = self.moderate.picks(avg, &mut self.stream);
        let incipient = self.incipient.picks(avg, &mut self.stream);
        let severe = avg >= self.incipient.max_th;
        if severe || (moderate || incipient) && *packet.ecn == Ecn::NotCapable {
            return Verdict::Drop;
        }
        if packet.kind == PacketKind::Data && (moderate || incipient) {
            let level = if moderate { Ecn::Ce } else { Ecn::Ect0 };
            *packet.ecn = level.max(*packet.ecn); // D3
        }
        Verdict::Forward
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        if backlog.packets == 0 {
            self.average.emptied(now + self.average.time(packet.size));
        }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.average.on_capacity(capacity);
    }

    fn retune(&mut self, params: &MecnParams, context: &RouterContext) {
        let fresh = Mecn::new(params, context);
        *self = Mecn {
            average: fresh.average.carried(&self.average),
            incipient: fresh.incipient.carried(&self.incipient),
            moderate: fresh.moderate.carried(&self.moderate),
            stream: self.stream.clone(),
        };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("avg", "pkts", "slow average of the queue"),
        Variable::new("p_1", "", "probability of 10, incipient congestion, before it is spread"),
        Variable::new("p_2", "", "probability of 11, moderate congestion, before it is spread"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let avg = self.average.value;
        sink("avg", avg);
        sink("p_1", self.incipient.initial(avg));
        sink("p_2", self.moderate.initial(avg));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near, passing, router_context};

    /// A buffer of 120 packets has thresholds of 20, 40 and 60. At 50 the probabilities are
    /// 0.1*30/40 = 0.075 of 10 and 0.1*10/20 = 0.05 of 11; spread, one in 13 and one in 20.
    #[test]
    fn each_level_has_its_probability() {
        let params = MecnParams { w_q: 1.0, ..Default::default() };
        let mut router = Mecn::new(&params, &router_context(Rate(8_000_000), 120));
        let mut at = |waiting, code| {
            let mut ecn = code;
            let backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
            (router.on_arrival(ms(0), passing(&mut ecn), backlog), ecn)
        };
        assert!((0..1000).all(|_| at(19, Ecn::Ect1) == (Verdict::Forward, Ecn::Ect1)));
        let mut counts = [0; 4];
        for _ in 0..20_000 {
            let (verdict, ecn) = at(50, Ecn::Ect1);
            assert_eq!(verdict, Verdict::Forward);
            counts[ecn as usize] += 1;
        }
        // Spread evenly over less than 1/p_b packets: a mean gap of 1/(2 p_b).
        let share = |p_b: f64| 2.0 * p_b;
        assert!((f64::from(counts[3]) / 20_000.0 / share(0.05) - 1.0).abs() < 0.05, "{counts:?}");
        let both = share(0.075) * (1.0 - share(0.05));
        assert!((f64::from(counts[2]) / 20_000.0 / both - 1.0).abs() < 0.05, "{counts:?}");
        assert_eq!(at(60, Ecn::Ect1).0, Verdict::Drop);
        // Marked 11 upstream it stays so.
        assert!((0..1000).all(|_| at(30, Ecn::Ce) == (Verdict::Forward, Ecn::Ce)));
        assert!((0..100).any(|_| at(59, Ecn::NotCapable).0 == Verdict::Drop));
        assert!(near(router.average.value, 59.0));
    }

    /// 8 Mb/s: the line is idle from 11 ms; by 21 ms the average has aged by ten packet times, and
    /// once more for the empty queue: 0.998^11 of 50 is 48.910 93. A departure that leaves packets
    /// begins no idle time.
    #[test]
    fn an_idle_line_ages_the_average() {
        let mut router = Mecn::new(&MecnParams::default(), &router_context(Rate(8_000_000), 120));
        router.average.value = 50.0;
        router.on_departure(ms(10), passing(&mut Ecn::Ect1), Backlog::default());
        let left = Backlog { packets: 1, bytes: 1000 };
        router.on_departure(ms(15), passing(&mut Ecn::Ect1), left);
        router.on_arrival(ms(21), passing(&mut Ecn::Ect1), Backlog::default());
        assert!((router.average.value - 48.910_93).abs() < 1e-4, "{}", router.average.value);
    }

    /// max_th itself is severe; just below it data is marked and an ACK, whose bits are an echo, is
    /// not.
    #[test]
    fn congestion_is_severe_from_max_th_on() {
        let params = MecnParams { w_q: 1.0, max_p: 1.0, max_p2: 1.0, ..Default::default() };
        for (waiting, kind, verdict, code) in [
            (60, PacketKind::Data, Verdict::Drop, Ecn::Ect1),
            (59, PacketKind::Data, Verdict::Forward, Ecn::Ce),
            (59, PacketKind::Ack, Verdict::Forward, Ecn::Ect1),
            (39, PacketKind::Data, Verdict::Forward, Ecn::Ect0),
        ] {
            let mut router = Mecn::new(&params, &router_context(Rate(8_000_000), 120));
            let backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
            let mut seen = (Verdict::Forward, Ecn::Ect1);
            // Of 30 packets some are picked, and of them the highest level counts.
            for _ in 0..30 {
                let mut ecn = Ecn::Ect1;
                let packet = Passing { kind, ..passing(&mut ecn) };
                if router.on_arrival(ms(0), packet, backlog) == Verdict::Drop {
                    seen.0 = Verdict::Drop;
                }
                seen.1 = seen.1.max(ecn);
            }
            assert_eq!(seen, (verdict, code), "{waiting} {kind:?}");
        }
    }

    /// Draws go on where they were, whatever stream it is told of.
    #[test]
    fn new_parameters_leave_the_draws() {
        let context = router_context(Rate(8_000_000), 90);
        let mut router = Mecn::new(&MecnParams::default(), &context);
        let mut before = router.stream.clone();
        let stream = Stream::new(7, 7, "another");
        router.retune(&MecnParams::default(), &RouterContext { stream, ..context });
        assert_eq!(router.stream.bits(), before.bits());
    }
}
