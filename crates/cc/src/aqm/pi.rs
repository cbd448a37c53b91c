//! PI, the proportional-integral controller. Hollot, Misra, Towsley, Gong, "On designing improved
//! controllers for AQM routers supporting TCP flows", INFOCOM 2001, section IV.
//!
//! With sampling frequency f the probability is p(kT) = a*(q(kT) - q_ref) - b*(q((k-1)T) - q_ref) +
//! p((k-1)T). The integral part leaves no steady error, so the queue settles at q_ref whatever the
//! load; a and b fit one number of flows, RTT and capacity. `flows` and `rtt` ask for the paper's
//! design instead of given a and b: K_PI*(s/z + 1)/s with the zero z and the crossing at TCP's pole
//! 2N/(R^2*C), K_PI = z*|j*z*R + 1|*(2N)^2/(R*C)^3, made discrete by the bilinear transform.
//!
//! ```math
//! p <- p + a*(q - q_ref) - b*(q_old - q_ref)  each sample
//! ```
//!
//! Deviations:
//! - D1: the paper's design rounds; from its N = 60, R = 0.246 s and C = 3750 packets/s it prints
//!   K_PI = 9.64e-6, the formulas give 9.78e-6.
//! - D2: q_ref is a quarter of the buffer unless told, as 200 packets are of the paper's 800;
//!   ns-2.35 wants 50 packets to wait and samples at 170 Hz (preset `ns2`).

use units::random::Stream;
use units::{Rate, Span, Time, math};

use super::policy::{Counting, Gauge, signal};
use crate::roles::{Backlog, Limit, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// PI's parameters.
    pub struct PiParams {
        /// What the queue counts.
        counts: Counting = Counting::Buffer;
        /// Is the probability proportional to the packet's size (ns-2's bytes_)?
        by_size: bool = false;
        /// a, the weight of the present queue [1/packet].
        a: f64 = 1.822e-5 => (0.0, 1.0);
        /// b, the weight of the queue one sample ago [1/packet].
        b: f64 = 1.816e-5 => (0.0, 1.0);
        /// Sampling frequency f [1/s].
        frequency: f64 = 160.0 => (0.001, 1e6);
        /// q_ref, the queue that shall wait, as a part of the buffer, unless q_ref is given.
        q_ref_ratio: f64 = 0.25 => (0.0, 1.0);
        /// q_ref [packets]; 0: by q_ref_ratio.
        q_ref: f64 = 0.0 => (0.0, 1e9);
        /// N, the least number of flows to design a and b for; 0: a and b as given.
        flows: u64 = 0 => (0.0, 1e9);
        /// R, the longest RTT with queueing to design a and b for; 0: a and b as given.
        rtt: Span = Span::ZERO => (0.0, 1000.0);
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
    }
    presets {
        /// The paper's simulations (section V): 15 Mb/s, 60 flows, RTTs up to 246 ms, 200 packets
        /// to wait.
        "hollot-2001" {
            counts = Choice("packets"), a = Number(1.822e-5), b = Number(1.816e-5),
            frequency = Number(160.0), q_ref = Number(200.0),
        }
        /// The defaults of ns-2.35 (ns-default.tcl): 170 Hz, 50 packets to wait, drops.
        "ns2" {
            counts = Choice("packets"), a = Number(1.822e-5), b = Number(1.816e-5),
            frequency = Number(170.0), q_ref = Number(50.0), ecn = Flag(false),
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Pi {
    params: PiParams,
    gauge: Gauge,
    limit: Limit,
    stream: Stream,
    a: f64,
    b: f64,
    /// [packets]
    q_ref: f64,
    interval: Span,

    /// The queue one sample ago [packets].
    q_old: f64,
    probability: f64,
    next: Time,
}

/// K_PI and z for N flows with RTT R [s] on C packets/s; u = 2N/(R*C) is z*R.
fn design(flows: f64, rtt: f64, rate: f64) -> (f64, f64) {
    let u = 2.0 * flows / (rtt * rate);
    let z = u / rtt;
    (z * math::sqrt(u * u + 1.0) * u * u / (rtt * rate), z)
}

/// a and b of K_PI*(s/z + 1)/s by the bilinear transform.
fn discrete((k, z): (f64, f64), frequency: f64) -> (f64, f64) {
    let half_step = 0.5 * k / frequency;
    (k / z + half_step, k / z - half_step)
}

impl Pi {
    /// Sets what depends on the capacity and the buffer.
    fn tune(&mut self, capacity: Rate) {
        let params = &self.params;
        let buffer = self.gauge.buffer(self.limit);
        self.q_ref = if params.q_ref > 0.0 { params.q_ref } else { params.q_ref_ratio * buffer };
        (self.a, self.b) = (params.a, params.b);
        if params.flows > 0 && params.rtt > Span::ZERO {
            let rate = self.gauge.rate(capacity);
            let design = design(params.flows as f64, params.rtt.as_secs(), rate);
            let (a, b) = discrete(design, params.frequency);
            // Beyond one it is a relay whatever the gain.
            (self.a, self.b) = (a.clamp(0.0, 1.0), b.clamp(0.0, 1.0));
        }
    }
}

impl Router for Pi {
    type Params = PiParams;
    type Header = ();

    fn new(params: &PiParams, context: &RouterContext) -> Pi {
        let interval = Span::from_secs_f64(1.0 / params.frequency).max(Span(1));
        let mut pi = Pi {
            params: params.clone(),
            gauge: Gauge::new(params.counts, context.packet_bytes, context),
            limit: context.limit,
            stream: context.stream.clone(),
            a: 0.0,
            b: 0.0,
            q_ref: 0.0,
            interval,
            q_old: 0.0,
            probability: 0.0,
            next: Time::ZERO + interval,
        };
        pi.tune(context.capacity);
        pi
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, ()>, _backlog: Backlog) -> Verdict {
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
        let q = self.gauge.queue(backlog);
        let step = self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.q_old = q;
        self.next = now + self.interval;
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.tune(capacity);
    }

    fn retune(&mut self, params: &PiParams, context: &RouterContext) {
        let fresh = Pi::new(params, context);
        *self = Pi {
            stream: self.stream.clone(),
            q_old: self.q_old,
            probability: self.probability,
            next: self.next,
            ..fresh
        };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("p", "", "probability of a mark"),
        Variable::new("q_old", "pkts", "queue at the last sample"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("p", self.probability);
        sink("q_old", self.q_old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{near, passing, router_context};

    fn queue(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1000 }
    }

    #[test]
    fn the_probability_integrates_the_queue() {
        // 400 packets: q_ref is 100. a = 0.02, b = 0.01.
        let params = PiParams { a: 0.02, b: 0.01, ..PiParams::default() };
        let mut pi = Pi::new(&params, &router_context(Rate(8_000_000), 400));
        assert_eq!(pi.next_timer(), Time::ZERO + Span::from_micros(6250));
        // Before the first sample nothing waited: 0.02*(70 - 100) - 0.01*(0 - 100) = 0.4.
        pi.on_timer(pi.next, queue(70));
        assert!(near(pi.probability, 0.4));
        // 0.4 + 0.02*(110 - 100) - 0.01*(70 - 100) = 0.9, and not above 1 or below 0.
        pi.on_timer(pi.next, queue(110));
        assert!(near(pi.probability, 0.9));
        assert_eq!(pi.next_timer(), Time::ZERO + Span::from_micros(3 * 6250));
        pi.on_timer(pi.next, queue(200));
        assert_eq!(pi.probability, 1.0);
        pi.on_timer(pi.next, queue(0));
        assert_eq!(pi.probability, 0.0);
    }

    #[test]
    fn the_papers_design_gives_its_a_and_b() {
        // K_PI = 9.64e-6, z = 0.53 at 160 Hz: 1.8189e-5 +- 9.64e-6/320 = 1.822e-5 and 1.816e-5.
        let (a, b) = discrete((9.64e-6, 0.53), 160.0);
        assert!((a - 1.822e-5).abs() < 5e-9 && (b - 1.816e-5).abs() < 5e-9, "{a} {b}");
        // z = 120/(0.246^2*3750) = 0.528 79. Gain: 922.5^3/120^2 = 54,518.5. K_PI = z*sqrt(1 +
        // (z*0.246)^2)/54,518.5 = 0.528 79*1.008 425/54,518.5 = 9.781e-6 (printed: 9.64e-6).
        let (k, z) = design(60.0, 0.246, 3750.0);
        assert!((z - 0.528_79).abs() < 1e-5, "{z}");
        assert!((k - 9.781e-6).abs() < 1e-9, "{k}");
        // As parameters: 30 Mb/s of 1000 B are 3750 packets/s.
        let rtt = Span::from_millis(246);
        let params = PiParams { flows: 60, rtt, ..PiParams::default() };
        let pi = Pi::new(&params, &router_context(Rate(30_000_000), 800));
        assert!((pi.a / 1.822e-5 - 1.0).abs() < 0.02 && (pi.b / 1.816e-5 - 1.0).abs() < 0.02);
        assert!(near(pi.q_ref, 200.0));
    }

    #[test]
    fn what_is_picked_is_marked_or_dropped() {
        let mut pi = Pi::new(&PiParams::default(), &router_context(Rate(8_000_000), 400));
        pi.probability = 1.0;
        let mut ecn = Ecn::Ect0;
        assert_eq!(pi.on_arrival(Time::ZERO, passing(&mut ecn), queue(5)), Verdict::Forward);
        assert_eq!(ecn, Ecn::Ce);
        assert_eq!(
            pi.on_arrival(Time::ZERO, passing(&mut Ecn::NotCapable), queue(5)),
            Verdict::Drop
        );
    }

    /// By the bilinear transform of section IV with N = 30, R = 246 ms and C = 3750 packets/s: u =
    /// 60/922.5 = 0.065 040 65, z = u/R = 0.264 392 9, K_PI = z*sqrt(1 + u^2)*u^2/922.5 = 1.214
    /// 982e-6; K_PI/z = 4.595 365e-6, and K_PI/320 = 3.797e-9 is added for a and taken off for b.
    /// Without an RTT a and b are as given, and so they are without flows.
    #[test]
    fn fewer_flows_have_smaller_gains() {
        let designed = |flows, rtt| {
            let params = PiParams { flows, rtt: Span::from_millis(rtt), ..PiParams::default() };
            let pi = Pi::new(&params, &router_context(Rate(30_000_000), 800));
            (pi.a, pi.b)
        };
        let (a, b) = designed(30, 246);
        assert!((a - 4.599_162e-6).abs() < 1e-12 && (b - 4.591_568e-6).abs() < 1e-12, "{a} {b}");
        for (flows, rtt) in [(0, 246), (30, 0), (0, 0)] {
            assert_eq!(designed(flows, rtt), (1.822e-5, 1.816e-5));
        }
    }

    /// p(kT) = a*(q(kT) - q_ref) - b*(q((k-1)T) - q_ref) + p((k-1)T), ten samples by the printed
    /// recursion with a = 0.002, b = 0.001 and q_ref = 100 of 400 packets: 0 is below zero and
    /// stays there, so the second step begins at none.
    #[test]
    fn ten_samples_of_the_recursion() {
        let params = PiParams { a: 0.002, b: 0.001, ..PiParams::default() };
        let mut pi = Pi::new(&params, &router_context(Rate(8_000_000), 400));
        for (q, p) in [
            (40, 0.0),   // -0.12 + 0.1
            (120, 0.1),  // +0.04 + 0.06
            (160, 0.2),  // +0.12 - 0.02
            (180, 0.3),  // +0.16 - 0.06
            (150, 0.32), // +0.1 - 0.08
            (100, 0.27), // +0 - 0.05
            (100, 0.27), // +0 - 0
            (60, 0.19),  // -0.08 - 0
            (50, 0.13),  // -0.1 + 0.04
            (10, 0.0),   // -0.18 + 0.05 = -0.13
        ] {
            let due = pi.next_timer();
            pi.on_timer(due, queue(q));
            assert!((pi.probability - p).abs() < 1e-12, "{q}: {}", pi.probability);
            assert_eq!((pi.q_old, pi.next), (f64::from(q), due + Span::from_micros(6250)));
        }
    }

    /// Where nothing can be picked nothing is drawn, so that runs which differ in a quiet time
    /// alone have the same draws after it.
    #[test]
    fn a_probability_of_zero_draws_nothing() {
        let mut pi = Pi::new(&PiParams::default(), &router_context(Rate(8_000_000), 400));
        let mut before = pi.stream.clone();
        pi.on_arrival(Time::ZERO, passing(&mut Ecn::Ect0), queue(5));
        assert_eq!(pi.stream.bits(), before.bits());
    }

    /// `by_size`: a packet of 40 bytes is picked with 0.04 of the probability of a full one of
    /// 1000, of 20,000 at 0.5 in 400 (sd 20), where without it 10,000 are.
    #[test]
    fn small_packets_are_picked_by_their_size() {
        for (by_size, mean) in [(true, 400), (false, 10_000)] {
            let params = PiParams { by_size, ..PiParams::default() };
            let mut pi = Pi::new(&params, &router_context(Rate(8_000_000), 400));
            pi.probability = 0.5;
            let picked = (0..20_000)
                .filter(|_| {
                    let mut ecn = Ecn::NotCapable;
                    let small = Passing { size: 40, ..passing(&mut ecn) };
                    pi.on_arrival(Time::ZERO, small, queue(5)) == Verdict::Drop
                })
                .count();
            assert!(picked.abs_diff(mean) < mean / 5, "{by_size}: {picked}");
        }
    }

    /// Draws go on where they were, whatever stream it is told of.
    #[test]
    fn new_parameters_leave_the_draws() {
        let mut pi = Pi::new(&PiParams::default(), &router_context(Rate(8_000_000), 400));
        let mut before = pi.stream.clone();
        let stream = Stream::new(7, 7, "another");
        let context = RouterContext { stream, ..router_context(Rate(8_000_000), 90) };
        pi.retune(&PiParams::default(), &context);
        assert_eq!(pi.stream.bits(), before.bits());
    }

    /// A reference of 50 packets is not a quarter of the buffer of 400: 0.02*(70 - 50) - 0.01*(0 -
    /// 50).
    #[test]
    fn a_reference_in_packets_goes_before_the_ratio() {
        let params = PiParams { a: 0.02, b: 0.01, q_ref: 50.0, ..PiParams::default() };
        let mut pi = Pi::new(&params, &router_context(Rate(8_000_000), 400));
        pi.on_timer(pi.next, queue(70));
        assert!(near(pi.probability, 0.9), "{}", pi.probability);
    }
}
