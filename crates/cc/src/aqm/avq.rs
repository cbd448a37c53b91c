//! AVQ, the adaptive virtual queue. Kunniyur, Srikant, "Analysis and design of an adaptive virtual
//! queue (AVQ) algorithm for active queue management", SIGCOMM 2001, section 2; ToN 12(2), 2004,
//! theorem 2.1 for alpha.
//!
//! The virtual queue (`vq.rs`) is served at C~, which follows dC~/dt = alpha*(gamma*C - lambda): it
//! falls while more arrives than the part gamma of the capacity and rises otherwise. What overflows
//! the virtual queue is marked.
//!
//! With `flows` and `rtt` given, alpha is the paper's: the largest for which N TCP flows of RTT d
//! are stable about the equilibrium. From x' = 1/d^2 - beta*x(t)*x(t-d)*p(t-d), beta = 2/3, lambda
//! = N*x and p = (lambda - C~)/lambda follows s^2 + K11*s + (K12*s + alpha*K2)*exp(-s*d) = 0, whose
//! roots cross the axis at omega where omega*d + atan(omega/K11) - atan(omega*K12/(alpha*K2)) =
//! pi/2. Where that has no solution (a high capacity) the parameter `alpha` holds, as in XCP's
//! comparison.
//!
//! ```math
//! dC_v/dt = alpha*(gamma*C - lam)  the virtual capacity
//! ```
//!
//! Deviations:
//! - D1: C~ starts at 0.8 of the capacity, as in ns-2.35's Vq (the paper does not say).
//! - D2: where a packet is dropped and not marked, C~ does not count it, as in ns-2.35: lambda is
//!   what is let in.
//!
//! Reconstructed:
//! - R1: the rule's marking function and beta, so that no alpha that the paper prints has been
//!   compared.

use core::f64::consts::FRAC_PI_2;

use units::{Rate, Span, Time, math};

use super::policy::{Counting, Gauge, signal};
use super::vq::VirtualQueue;
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// AVQ's parameters.
    pub struct AvqParams {
        /// What the virtual queue counts.
        counts: Counting = Counting::Buffer;
        /// gamma, the utilization to reach.
        gamma: f64 = 0.98 => (0.01, 1.0);
        /// alpha, the speed of the virtual capacity [1/s].
        alpha: f64 = 0.15 => (0.0, 1e6);
        /// N, the number of flows to choose alpha for; 0: alpha as given.
        flows: u64 = 0 => (0.0, 1e6);
        /// d, the RTT to choose alpha for; 0: alpha as given.
        rtt: Span = Span::ZERO => (0.0, 1000.0);
        /// The virtual capacity at the start as a part of the capacity (ns-2's ecnlim_).
        initial_ratio: f64 = 0.8 => (0.0, 1.0);
        /// The virtual buffer as a part of the buffer (ns-2's buflim_).
        buffer_ratio: f64 = 1.0 => (0.0, 10.0);
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
    }
    presets {
        /// XCP's comparison (Katabi, Handley, Rohrs, SIGCOMM 2002, section 5): gamma 0.98, alpha
        /// 0.15 where the rule has no solution; give flows and rtt for the rule.
        "xcp-2002" { gamma = Number(0.98), alpha = Number(0.15) }
        /// The defaults of ns-2.35's Vq (ns-default.tcl, alpha in vq.cc): in bytes, drops.
        "ns2" {
            counts = Choice("bytes"), gamma = Number(0.98), alpha = Number(0.15),
            initial_ratio = Number(0.8), buffer_ratio = Number(1.0), ecn = Flag(false),
        }
    }
}

/// TCP's decrease in the model.
const BETA: f64 = 2.0 / 3.0;

/// The coefficients of the linear system about its equilibrium.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// [s]
    rtt: f64,
    k11: f64,
    k12: f64,
    k2: f64,
}

impl Loop {
    /// N flows of RTT d [s] that shall use gamma of C packets/s; `None` if that takes more marks
    /// than there are packets.
    fn new(flows: f64, rtt: f64, gamma: f64, rate: f64) -> Option<Loop> {
        let lambda = gamma * rate;
        let share = lambda / flows;
        let p = 1.0 / (BETA * rtt * rtt * share * share);
        let k11 = 1.0 / (rtt * rtt * share);
        // dp/dlambda = C~/lambda^2 with C~ = lambda*(1 - p), and dp/dC~ = -1/lambda.
        let k12 = k11 + BETA * share * (1.0 - p);
        (p < 1.0).then_some(Loop { rtt, k11, k12, k2: BETA * share })
    }

    /// Where a root may cross the axis [rad/s].
    fn crossing(&self, alpha: f64) -> f64 {
        let squares = self.k12 * self.k12 - self.k11 * self.k11;
        let product = 2.0 * alpha * self.k2;
        math::sqrt(0.5 * (squares + math::sqrt(squares * squares + product * product)))
    }

    fn is_stable(&self, alpha: f64) -> bool {
        let omega = self.crossing(alpha);
        let phase =
            omega * self.rtt + atan(omega / self.k11) - atan(omega * self.k12 / (alpha * self.k2));
        phase < FRAC_PI_2
    }

    /// The largest stable alpha; `None` if none is.
    fn alpha(&self) -> Option<f64> {
        let (mut low, mut high) = (1e-9, 1e9);
        if !self.is_stable(low) || self.is_stable(high) {
            return None;
        }
        // By the geometric mean, as it may have any size: 18 decades to 1e-12 of itself.
        for _ in 0..100 {
            let middle = math::sqrt(low * high);
            *(if self.is_stable(middle) { &mut low } else { &mut high }) = middle;
        }
        Some(low)
    }
}

fn atan(x: f64) -> f64 {
    math::asin(x / math::sqrt(1.0 + x * x))
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Avq {
    params: AvqParams,
    gauge: Gauge,
    /// [packets]
    limit: f64,
    /// C [packets/s].
    rate: f64,
    alpha: f64,
    queue: VirtualQueue,
    /// C~ [packets/s].
    virtual_rate: f64,
}

impl Avq {
    fn set_capacity(&mut self, capacity: Rate) {
        let params = &self.params;
        self.rate = self.gauge.rate(capacity);
        self.virtual_rate = self.virtual_rate.min(self.rate);
        self.alpha = params.alpha;
        if params.flows > 0 && params.rtt > Span::ZERO {
            let (flows, rtt) = (params.flows as f64, params.rtt.as_secs());
            let designed = Loop::new(flows, rtt, params.gamma, self.rate).and_then(|l| l.alpha());
            self.alpha = designed.unwrap_or(params.alpha);
        }
    }
}

impl Router for Avq {
    type Params = AvqParams;
    type Header = ();

    fn new(params: &AvqParams, context: &RouterContext) -> Avq {
        let gauge = Gauge::new(params.counts, context.packet_bytes, context);
        let mut avq = Avq {
            params: params.clone(),
            gauge,
            limit: params.buffer_ratio * gauge.buffer(context.limit),
            rate: 0.0,
            alpha: 0.0,
            queue: VirtualQueue::EMPTY,
            virtual_rate: params.initial_ratio * gauge.rate(context.capacity),
        };
        avq.set_capacity(context.capacity);
        avq
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, _backlog: Backlog) -> Verdict {
        let size = self.gauge.packet(packet.size);
        let elapsed = self.queue.serve(now, self.virtual_rate);
        let fits = self.queue.take(size, self.limit);
        let verdict = if fits { Verdict::Forward } else { signal(self.params.ecn, packet) };
        let grown = self.virtual_rate + self.alpha * self.params.gamma * self.rate * elapsed;
        let taken = if verdict == Verdict::Drop { 0.0 } else { self.alpha * size };
        self.virtual_rate = (grown.min(self.rate) - taken).max(0.0);
        verdict
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.set_capacity(capacity);
    }

    fn retune(&mut self, params: &AvqParams, context: &RouterContext) {
        let fresh = Avq::new(params, context);
        let virtual_rate = self.virtual_rate.min(fresh.rate);
        *self = Avq { queue: self.queue, virtual_rate, ..fresh };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("vq", "pkts", "virtual queue after the last arrival"),
        Variable::new("c_virtual", "pkts/s", "virtual capacity C~"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("vq", self.queue.length);
        sink("c_virtual", self.virtual_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{ms, near, passing, router_context};

    /// 8 Mb/s: 1000 packets/s, at the start 800 virtual ones; room for 10.
    fn avq(params: &AvqParams) -> Avq {
        Avq::new(params, &router_context(Rate(8_000_000), 10))
    }

    fn arrive(avq: &mut Avq, now: Time, mut ecn: Ecn) -> (Verdict, Ecn) {
        (avq.on_arrival(now, passing(&mut ecn), Backlog::default()), ecn)
    }

    #[test]
    fn the_virtual_capacity_follows_what_arrives() {
        let mut avq = avq(&AvqParams::default());
        // After 10 ms: 800 + 0.15*0.98*1000*0.01 - 0.15 = 801.32.
        assert_eq!(arrive(&mut avq, ms(10), Ecn::Ect0), (Verdict::Forward, Ecn::Ect0));
        assert!(near(avq.virtual_rate, 801.32) && near(avq.queue.length, 1.0));
        // At the same instant: 801.17, two in the queue; 1 ms later 0.801 17 are gone:
        // 801.17 + 0.147 - 0.15 = 801.167.
        arrive(&mut avq, ms(10), Ecn::Ect0);
        arrive(&mut avq, ms(11), Ecn::Ect0);
        assert!(near(avq.virtual_rate, 801.167) && near(avq.queue.length, 2.198_83));
        // It does not rise above C before the packet is taken off, nor fall below 0.
        arrive(&mut avq, ms(1_000_000), Ecn::Ect0);
        assert!(near(avq.virtual_rate, 999.85));
        avq.virtual_rate = 0.1;
        arrive(&mut avq, ms(1_000_000), Ecn::Ect0);
        assert_eq!(avq.virtual_rate, 0.0);
    }

    #[test]
    fn overflow_marks_and_a_drop_is_not_counted() {
        let mut avq = avq(&AvqParams::default());
        for _ in 0..10 {
            assert_eq!(arrive(&mut avq, ms(0), Ecn::Ect0), (Verdict::Forward, Ecn::Ect0));
        }
        assert_eq!(arrive(&mut avq, ms(0), Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        // 800 - 11*0.15; the dropped one takes nothing.
        assert!(near(avq.virtual_rate, 798.35));
        assert_eq!(arrive(&mut avq, ms(0), Ecn::NotCapable).0, Verdict::Drop);
        assert!(near(avq.virtual_rate, 798.35) && near(avq.queue.length, 10.0));
    }

    #[test]
    fn the_designed_alpha_puts_a_root_on_the_axis() {
        // 50 flows of 100 ms at 0.98*1250 packets/s: 24.5 packets/s each. p = 1/(2/3*0.01*600.25) =
        // 0.249 896, K11 = 1/(0.01*24.5) = 4.081 633, K2 = 2/3*24.5 = 16.333 333,
        // K12 = K11 + K2*(1 - p) = 16.333 333.
        let system = Loop::new(50.0, 0.1, 0.98, 1250.0).unwrap();
        let near6 = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(near6(system.k11, 4.081_633) && near6(system.k12, 16.333_333), "{system:?}");
        assert!(near6(system.k2, 16.333_333));
        // Then s = j*omega is a root of s^2 + K11*s + (K12*s + alpha*K2)*exp(-s*d), part by part.
        let (Loop { rtt, k11, k12, k2 }, alpha) = (system, system.alpha().unwrap());
        let omega = system.crossing(alpha);
        let (cos, sin) = (math::cos(omega * rtt), math::sin(omega * rtt));
        let real = -omega * omega + alpha * k2 * cos + k12 * omega * sin;
        let imaginary = k11 * omega + k12 * omega * cos - alpha * k2 * sin;
        let scale = omega * omega;
        assert!(real.abs() < 1e-6 * scale && imaginary.abs() < 1e-6 * scale, "{real} {imaginary}");
        assert!(system.is_stable(0.99 * alpha) && !system.is_stable(1.01 * alpha));
    }

    #[test]
    fn without_a_solution_alpha_is_the_given_one() {
        let alpha = |rate, flows, rtt| {
            let params = AvqParams { flows, rtt: Span::from_millis(rtt), ..AvqParams::default() };
            Avq::new(&params, &router_context(Rate(rate), 100)).alpha
        };
        let some = alpha(10_000_000, 50, 100);
        assert!(some != 0.15 && some > 0.0, "{some}");
        // 1 Gb/s and 50 flows: 2450 packets/s each, K12 = 1633/s: half a turn in 1 ms.
        assert!(near(alpha(1_000_000_000, 50, 80), 0.15));
        assert!(near(alpha(10_000_000, 0, 100), 0.15));
        // 1000 flows of 100 ms need more than one mark for each packet.
        assert!(near(alpha(10_000_000, 1000, 100), 0.15));
    }
}
