//! REM, random exponential marking. Athuraliya, Li, Low, Yin, "REM: active queue management", IEEE
//! Network, May 2001, equations (1) and (2); the interval and the target queue as in XCP's
//! comparison (Katabi, Handley, Rohrs, SIGCOMM 2002, section 5).
//!
//! A price rises while more arrives than the line takes away or more waits than shall wait, and
//! falls otherwise. A packet is marked with probability 1 - phi^-price, so that the sum of the
//! prices on a path can be read from the share of marks.
//!
//! ```math
//! price <- max(0, price + gamma*(alpha*(q - q_ref) + x - c))  x arrive and c can leave (eq. 1)
//! p = 1 - phi^(-price)                                  (eq. 2)
//! ```
//!
//! Deviations:
//! - D1: a packet is picked when it arrives; ns-2.35 marks one when it leaves.
//! - D2: what is picked and not capable of ECN is dropped (RFC 3168); ns-2.35 with markpkts_ lets
//!   it pass.
//! - D3: ns-2.35 updates each 2 ms and wants 20 packets to wait (preset `ns2`).

use units::random::Stream;
use units::{Rate, Span, Time, math};

use super::policy::{Counting, Gauge, signal};
use crate::roles::{Backlog, Limit, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// REM's parameters.
    pub struct RemParams {
        /// What the queue and the input count.
        counts: Counting = Counting::Buffer;
        /// Is the probability proportional to the packet's size (ns-2's qib_)?
        by_size: bool = false;
        /// phi, the base of the marking probability.
        phi: f64 = 1.001 => (1.0, 1e6);
        /// gamma, the step of the price.
        gamma: f64 = 0.001 => (0.0, 1e3);
        /// alpha, the weight of the queue against the input [1/interval].
        alpha: f64 = 0.1 => (0.0, 1e3);
        /// Time between two updates in transmission times of a full packet, unless interval is
        /// given.
        interval_packets: f64 = 10.0 => (0.01, 1e6);
        /// Time between two updates; 0: by interval_packets.
        interval: Span = Span::ZERO => (0.0, 100.0);
        /// q_ref, the queue that shall wait (the paper's b*), as a part of the buffer, unless q_ref
        /// is given.
        q_ref_ratio: f64 = 1.0 / 3.0 => (0.0, 1.0);
        /// q_ref [packets]; 0: by q_ref_ratio.
        q_ref: f64 = 0.0 => (0.0, 1e9);
        /// Weight of the last interval in the mean input (ns-2's inw_; 1: no mean).
        w_in: f64 = 1.0 => (0.0, 1.0);
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
    }
    presets {
        /// XCP's comparison (Katabi, Handley, Rohrs, SIGCOMM 2002, section 5): updates each 10
        /// packets' transmission time, a third of the buffer to wait.
        "xcp-2002" {
            phi = Number(1.001), gamma = Number(0.001), interval_packets = Number(10.0),
            q_ref_ratio = Number(1.0 / 3.0),
        }
        /// The defaults of ns-2.35 (ns-default.tcl): updates each 2 ms, 20 packets to wait, drops.
        "ns2" {
            counts = Choice("packets"), phi = Number(1.001), gamma = Number(0.001),
            interval = Span(Span::from_millis(2)), q_ref = Number(20.0), w_in = Number(1.0),
            ecn = Flag(false),
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Rem {
    params: RemParams,
    gauge: Gauge,
    packet_bytes: u32,
    limit: Limit,
    stream: Stream,
    /// [packets]
    q_ref: f64,
    interval: Span,
    /// What the line takes away in an interval [packets].
    drain: f64,
    ln_phi: f64,

    /// What arrived in the running interval [packets].
    input: f64,
    /// Mean input of an interval [packets].
    mean_input: f64,
    price: f64,
    probability: f64,
    next: Time,
}

impl Rem {
    /// Sets what depends on the capacity.
    fn tune(&mut self, capacity: Rate) {
        let params = &self.params;
        let buffer = self.gauge.buffer(self.limit);
        self.q_ref = if params.q_ref > 0.0 { params.q_ref } else { params.q_ref_ratio * buffer };
        self.interval = if params.interval > Span::ZERO {
            params.interval
        } else {
            let packet = capacity.serialization(self.packet_bytes).as_secs();
            Span::from_secs_f64(packet * params.interval_packets)
        };
        self.interval = self.interval.max(Span(1));
        self.drain = self.gauge.rate(capacity) * self.interval.as_secs();
        self.ln_phi = math::ln(params.phi);
    }

    /// p(t+1) = max(0, p + gamma*(alpha*(b - b*) + x - c)), m = 1 - phi^-p.
    fn update(&mut self, queue: f64) {
        let params = &self.params;
        self.mean_input += params.w_in * (self.input - self.mean_input);
        self.input = 0.0;
        let excess = params.alpha * (queue - self.q_ref) + self.mean_input - self.drain;
        self.price = (self.price + params.gamma * excess).max(0.0);
        self.probability = 1.0 - math::exp(-self.price * self.ln_phi);
    }
}

impl Router for Rem {
    type Params = RemParams;
    type Header = ();

    fn new(params: &RemParams, context: &RouterContext) -> Rem {
        let mut rem = Rem {
            params: params.clone(),
            gauge: Gauge::new(params.counts, context.packet_bytes, context),
            packet_bytes: context.packet_bytes,
            limit: context.limit,
            stream: context.stream.clone(),
            q_ref: 0.0,
            interval: Span::ZERO,
            drain: 0.0,
            ln_phi: 0.0,
            input: 0.0,
            mean_input: 0.0,
            price: 0.0,
            probability: 0.0,
            next: Time::ZERO,
        };
        rem.tune(context.capacity);
        rem.next = Time::ZERO + rem.interval;
        rem
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, ()>, _backlog: Backlog) -> Verdict {
        self.input += self.gauge.packet(packet.size);
        let size = if self.params.by_size { self.gauge.full_packets(packet.size) } else { 1.0 };
        if self.probability > 0.0 && self.stream.chance(self.probability * size) {
            return signal(self.params.ecn, packet);
        }
        Verdict::Forward
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        self.update(self.gauge.queue(backlog));
        self.next = now + self.interval;
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.tune(capacity);
    }

    fn retune(&mut self, params: &RemParams, context: &RouterContext) {
        let fresh = Rem::new(params, context);
        *self = Rem {
            stream: self.stream.clone(),
            input: self.input,
            mean_input: self.mean_input,
            price: self.price,
            probability: self.probability,
            next: self.next,
            ..fresh
        };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("price", "", "the link's price"),
        Variable::new("p", "", "probability of a mark, 1 - phi^-price"),
        Variable::new("x", "pkts", "mean input of an interval"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("price", self.price);
        sink("p", self.probability);
        sink("x", self.mean_input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{near, passing, router_context};

    /// 8 Mb/s: 1 ms per packet; 90 packets: q_ref is 30.
    fn rem(params: &RemParams) -> Rem {
        Rem::new(params, &router_context(Rate(8_000_000), 90))
    }

    fn queue(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1000 }
    }

    #[test]
    fn it_updates_each_ten_packet_times() {
        let mut rem = rem(&RemParams::default());
        assert!(near(rem.q_ref, 30.0) && near(rem.drain, 10.0));
        assert_eq!(rem.next_timer(), crate::tests::ms(10));
        rem.on_timer(crate::tests::ms(10), queue(0));
        assert_eq!(rem.next_timer(), crate::tests::ms(20));
        // Twice the capacity: 5 ms. A fixed interval of 20 ms takes 20 packets away.
        rem.on_capacity(crate::tests::ms(10), Rate(16_000_000));
        assert!(rem.interval == Span::from_millis(5) && near(rem.drain, 10.0));
        let fixed =
            self::rem(&RemParams { interval: Span::from_millis(20), ..RemParams::default() });
        assert!(near(fixed.drain, 20.0));
        // A target in packets rather than a third of the buffer.
        assert_eq!(self::rem(&RemParams { q_ref: 12.0, ..RemParams::default() }).q_ref, 12.0);
    }

    #[test]
    fn the_price_follows_queue_and_input() {
        let mut rem = rem(&RemParams::default());
        // 14 arrive in 10 ms, 50 wait: 0.001*(0.1*(50 - 30) + 14 - 10) = 0.006.
        for _ in 0..14 {
            rem.on_arrival(Time::ZERO, passing(&mut Ecn::Ect0), queue(0));
        }
        rem.on_timer(crate::tests::ms(10), queue(50));
        assert!(near(rem.price, 0.006));
        // Nothing arrives, 10 wait: 0.006 + 0.001*(-2 - 10) < 0.
        rem.on_timer(crate::tests::ms(20), queue(10));
        assert_eq!((rem.price, rem.probability), (0.0, 0.0));
    }

    #[test]
    fn the_probability_is_exponential_in_the_price() {
        let mut rem = rem(&RemParams::default());
        // At q_ref and with the line full the price stays: 1 - 1.001^-100. ln(1.001) =
        // 9.995 003 330 8e-4, exp(-0.099 950 033 308) = 0.904 882 627.
        (rem.price, rem.input) = (100.0, 10.0);
        rem.update(30.0);
        assert!(near(rem.price, 100.0));
        assert!((rem.probability - 0.095_117_373).abs() < 1e-8, "{}", rem.probability);
        // phi = 2 and a price of 3: 1 - 1/8.
        let mut rem = self::rem(&RemParams { phi: 2.0, ..RemParams::default() });
        (rem.price, rem.input) = (3.0, 10.0);
        rem.update(30.0);
        assert!(near(rem.probability, 0.875));
    }

    #[test]
    fn what_is_picked_is_marked_or_dropped() {
        let mut rem = rem(&RemParams::default());
        rem.probability = 1.0;
        let mut ecn = Ecn::Ect0;
        assert_eq!(rem.on_arrival(Time::ZERO, passing(&mut ecn), queue(5)), Verdict::Forward);
        assert_eq!(ecn, Ecn::Ce);
        let mut ecn = Ecn::NotCapable;
        assert_eq!(rem.on_arrival(Time::ZERO, passing(&mut ecn), queue(5)), Verdict::Drop);
    }

    /// p(t+1) = [p(t) + gamma*(alpha*(b(t) - b*) + x(t) - c(t))]^+ with gamma = 0.001, alpha = 0.1,
    /// b* = 30 and c = 10 per interval, by hand; 1 - 1.001^-p beside it, where 0.036 gives 3.598
    /// 136e-5.
    #[test]
    fn six_updates_of_the_printed_law() {
        let mut rem = rem(&RemParams::default());
        for (i, (input, waiting, price)) in (1..).zip([
            (14, 50, 0.006), // 2 + 4
            (20, 60, 0.019), // 3 + 10
            (12, 40, 0.022), // 1 + 2
            (0, 10, 0.010),  // -2 - 10
            (10, 30, 0.010), // 0
            (30, 90, 0.036), // 6 + 20
        ]) {
            for _ in 0..input {
                rem.on_arrival(Time::ZERO, passing(&mut Ecn::NotCapable), queue(0));
            }
            rem.on_timer(crate::tests::ms(10 * i), queue(waiting));
            assert!((rem.price - price).abs() < 1e-12, "{i}: {}", rem.price);
        }
        assert!((rem.probability - 3.598_136_5e-5).abs() < 1e-11, "{}", rem.probability);
    }

    /// ns-2's inw_: a quarter of each interval's input: 20 of 8, then of 0, are 0.25*8 = 2 and 1.5.
    #[test]
    fn the_input_may_be_a_mean() {
        let mut rem = rem(&RemParams { w_in: 0.25, ..RemParams::default() });
        for (input, mean) in [(8.0, 2.0), (0.0, 1.5), (5.5, 2.5)] {
            rem.input = input;
            rem.update(30.0);
            assert!(near(rem.mean_input, mean) && rem.input == 0.0);
        }
    }

    /// As PI's.
    #[test]
    fn a_price_of_zero_draws_nothing() {
        let mut rem = rem(&RemParams::default());
        let mut before = rem.stream.clone();
        rem.on_arrival(Time::ZERO, passing(&mut Ecn::Ect0), queue(5));
        assert_eq!(rem.stream.bits(), before.bits());
    }

    /// ns-2's qib_: of 20,000 packets of 40 bytes at 0.5 in 400 (sd 20) picked, where of full ones
    /// half are; as bytes they are 0.04 of a packet of input each.
    #[test]
    fn small_packets_are_picked_and_counted_by_their_size() {
        for (by_size, mean) in [(true, 400), (false, 10_000)] {
            let mut rem =
                rem(&RemParams { by_size, counts: Counting::Bytes, ..RemParams::default() });
            rem.probability = 0.5;
            let picked = (0..20_000)
                .filter(|_| {
                    let mut ecn = Ecn::NotCapable;
                    let small = Passing { size: 40, ..passing(&mut ecn) };
                    rem.on_arrival(Time::ZERO, small, queue(5)) == Verdict::Drop
                })
                .count();
            assert!(picked.abs_diff(mean) < mean / 5, "{by_size}: {picked}");
            assert!((rem.input - 800.0).abs() < 1e-6);
        }
    }

    /// Draws go on where they were, whatever stream it is told of.
    #[test]
    fn new_parameters_leave_the_draws() {
        let mut rem = self::rem(&RemParams::default());
        let mut before = rem.stream.clone();
        let stream = Stream::new(7, 7, "another");
        let context = RouterContext { stream, ..router_context(Rate(8_000_000), 90) };
        rem.retune(&RemParams::default(), &context);
        assert_eq!(rem.stream.bits(), before.bits());
    }
}
