//! CHOKe. Pan, Prabhakar, Psounis, "CHOKe: a stateless active queue management scheme for
//! approximating fair bandwidth allocation", INFOCOM 2000, section 3.
//!
//! Above min_th an arrival is compared with a packet drawn at random from the queue. If both are of
//! one flow, both are dropped. Otherwise it is dropped with RED's probability below max_th, and
//! always above. A flow that does not respond fills more of the queue than others and so is hit
//! more often.
//!
//! ```math
//! avg <- (1 - w_q)*avg + w_q*q                  at each arrival
//! p_b = max_p*(avg - min_th)/(max_th - min_th)  if the drawn packet is of another flow
//! p_a = p_b/(1 - count*p_b)                     the drop, spread as RED's
//! ```
//!
//! Deviations:
//! - D1: the draw is from what waits; the packet in service is not part of the queue here.
//! - D2: one packet is drawn (the paper's m of section 3.3 is 1).

use units::random::Stream;
use units::{Rate, Time};

use crate::aqm::early::{Average, Early, threshold};
use crate::classes::{Place, Scheduler};
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// RED's parameters, section 4: min_th 100, max_th 200, a buffer of 300 packets.
    pub struct ChokeParams {
        /// w_q, the average's weight.
        w_q: f64 = 0.002 => (1e-6, 1.0);
        /// min_th [packets]; 0: min_th_ratio of the buffer.
        min_th: f64 = 0.0 => (0.0, 1e9);
        /// max_th [packets]; 0: max_th_ratio of the buffer.
        max_th: f64 = 0.0 => (0.0, 1e9);
        /// min_th as a part of the buffer.
        min_th_ratio: f64 = 0.333_333_333_333_333_3 => (0.0, 1.0);
        /// max_th as a part of the buffer.
        max_th_ratio: f64 = 0.666_666_666_666_666_6 => (0.0, 1.0);
        /// max_p, RED's probability at max_th.
        max_p: f64 = 0.02 => (1e-6, 1.0);
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Choke {
    average: Average,
    early: Early,
    stream: Stream,
}

impl Router for Choke {
    type Params = ChokeParams;
    type Header = ();

    fn new(params: &ChokeParams, context: &RouterContext) -> Choke {
        let min_th = threshold(params.min_th, params.min_th_ratio, context);
        let max_th = threshold(params.max_th, params.max_th_ratio, context);
        Choke {
            average: Average::new(params.w_q, context.capacity, context.packet_bytes),
            early: Early::new((min_th, max_th), params.max_p),
            stream: context.stream.clone(),
        }
    }

    #[inline(never)] // the hot path of links without classes has it in its dispatch
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        if backlog.packets == 0 {
            self.average.emptied(now + self.average.time(packet.size));
        }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.average.on_capacity(capacity);
    }

    fn retune(&mut self, params: &ChokeParams, context: &RouterContext) {
        let fresh = Choke::new(params, context);
        let early = fresh.early.carried(&self.early);
        let stream = self.stream.clone();
        *self = Choke { average: fresh.average.carried(&self.average), early, stream };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("avg", "pkts", "slow average of the queue"),
        Variable::new("p_b", "", "RED's probability for what is compared in vain"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("avg", self.average.value);
        sink("p_b", self.early.initial(self.average.value));
    }
}

impl Scheduler for Choke {
    type Cell = ();

    fn draw(&mut self, now: Time, backlog: Backlog) -> Option<u32> {
        self.average.update(now, f64::from(backlog.packets), backlog.packets == 0);
        let draws = self.average.value > self.early.min_th && backlog.packets > 0;
        draws.then(|| {
            let drawn = self.stream.unit() * f64::from(backlog.packets);
            (drawn as u32).min(backlog.packets - 1)
        })
    }

    fn admit(&mut self, _: Time, packet: Passing<'_, ()>, place: &mut Place<'_, ()>) -> Verdict {
        if place.drawn == Some(packet.flow) {
            return Verdict::DropBoth;
        }
        match self.early.picks(self.average.value, &mut self.stream) {
            true => Verdict::Drop,
            false => Verdict::Forward,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{in_place, ms, passing, router_context};

    fn choke(average: f64) -> Choke {
        // Thresholds 100 and 200.
        let mut choke = Choke::new(&ChokeParams::default(), &router_context(Rate(1_000_000), 300));
        choke.average.value = average;
        choke
    }

    #[test]
    fn a_pair_of_one_flow_goes() {
        let admit = |average: f64, drawn| {
            let mut ecn = Ecn::NotCapable;
            in_place(|place| {
                place.drawn = drawn;
                let packet = Passing { flow: 7, ..passing(&mut ecn) };
                choke(average).admit(Time::ZERO, packet, place)
            })
        };
        assert_eq!(admit(150.0, Some(7)), Verdict::DropBoth);
        // Of another flow: p_b = 0.01 at 150 and never for the first; all at 200.
        assert_eq!(admit(150.0, Some(8)), Verdict::Forward);
        assert_eq!(admit(200.0, Some(8)), Verdict::Drop);
        assert_eq!(admit(200.0, Some(7)), Verdict::DropBoth);
        assert_eq!(admit(99.0, None), Verdict::Forward);
    }

    #[test]
    fn the_draw_is_uniform_over_what_waits_and_only_above_min_th() {
        let waits = |packets| Backlog { packets, bytes: u64::from(packets) * 1000 };
        assert_eq!(choke(99.0).draw(ms(0), waits(99)), None);
        let mut choke = choke(150.0);
        let mut seen = [0_u32; 150];
        for _ in 0..15_000 {
            seen[choke.draw(ms(0), waits(150)).unwrap() as usize] += 1;
        }
        // Binomial with mean 100 and a standard deviation of 10.
        assert!(seen.iter().all(|&n| (50..150).contains(&n)), "{seen:?}");
    }

    /// 1 Mb/s: 8 ms per packet. The last one goes out at 10 ms, so the line is idle from 18 ms, and
    /// by 98 ms ten packet times have passed: 0.998^10, and once more for the empty queue, are
    /// 0.978 218 7 of
    /// 150. A departure that leaves packets begins no idle time.
    #[test]
    fn an_idle_line_ages_the_average() {
        let empty = Backlog::default();
        let mut choke = choke(150.0);
        choke.on_departure(ms(10), passing(&mut Ecn::NotCapable), empty);
        let left = Backlog { packets: 1, bytes: 1000 };
        choke.on_departure(ms(50), passing(&mut Ecn::NotCapable), left);
        assert_eq!(choke.draw(ms(98), empty), None);
        assert!((choke.average.value - 146.732_80).abs() < 1e-4, "{}", choke.average.value);
    }

    /// "If avg <= min_th" (figure 1) nothing is compared; of an empty queue nothing can be.
    #[test]
    fn min_th_itself_draws_nothing() {
        let waits = |packets| Backlog { packets, bytes: 0 };
        for (average, waiting, draws) in
            [(100.0, 100, false), (100.0, 101, true), (150.0, 0, false)]
        {
            let mut choke = choke(average);
            assert_eq!(choke.draw(ms(0), waits(waiting)).is_some(), draws, "{average} {waiting}");
        }
    }

    /// Draws go on where they were, whatever stream it is told of.
    #[test]
    fn new_parameters_leave_the_draws() {
        let context = router_context(Rate(8_000_000), 90);
        let mut router = Choke::new(&ChokeParams::default(), &context);
        let mut before = router.stream.clone();
        let stream = Stream::new(7, 7, "another");
        router.retune(&ChokeParams::default(), &RouterContext { stream, ..context });
        assert_eq!(router.stream.bits(), before.bits());
    }
}
