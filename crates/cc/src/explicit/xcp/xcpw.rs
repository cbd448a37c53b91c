//! XCPw, XCP for wireless links as the authors of ABC made it for their comparison: Goyal, Agarwal,
//! Netravali, Alizadeh, Balakrishnan, NSDI 2020; their xcp_packet_queue.cc (ABC-NSDI2020, b1693cb).
//!
//! XCP's router ([`super::xcp`]) computes its feedback once per mean RTT, which is long where the
//! capacity changes within it. This one does so at every departure, over what came and went in the
//! last d, the mean RTT.
//!
//! ```math
//! phi = alpha*d*(mu - y) - beta*Q  at each departure
//! feedback = phi/n                 of the packet that leaves; n left in the last d
//! ```
//!
//! Q is the least queue of the last 100 ms. Every packet is given the same, so that there is
//! efficiency control and no fairness controller. Sender and header are XCP's; a packet leaves with
//! the least feedback of its way.
//!
//! Deviations:
//! - D1: the window of d slides in steps of d/20, that of the queue in steps of 5 ms.
//! - D2: mu is what the link tells its routers; the program counts opportunities over d.
//! - D3: d is the mean of what headers say; the program has 100 ms and the packet's own wait.
//! - D4: the program's alpha and beta are arguments without values; here they are XCP's.

use units::{Rate, Span, Time};

use super::xcp::XcpHeader;
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// The router's parameters.
    pub struct XcpwRouterParams {
        /// alpha, what of the spare bandwidth is handed out.
        alpha: f64 = 0.4 => (0.0, 2.0);
        /// beta, what of the queue is drained.
        beta: f64 = 0.226 => (0.0, 2.0);
        /// Mean RTT before any header told one.
        first_rtt: Span = Span::from_millis(100) => (1e-3, 10.0);
        /// Time over which Q is the least queue.
        queue_window: Span = Span::from_millis(100) => (1e-3, 10.0);
    }
}

/// Steps of a sliding window.
const STEPS: usize = 20;

/// What fell into the steps of a window that slides.
#[derive(Clone, Copy, Debug)]
struct Sliding<T> {
    steps: [T; STEPS],
    current: usize,
    until: Time,
}

impl<T: Copy> Sliding<T> {
    fn new(empty: T) -> Sliding<T> {
        Sliding { steps: [empty; STEPS], current: 0, until: Time::ZERO }
    }

    /// The step that `now` is in, where a window is so long; those passed are empty.
    fn at(&mut self, now: Time, window: Span, empty: T) -> &mut T {
        let step = Span((window.0 / STEPS as u64).max(1));
        let mut passed = 0;
        while self.until <= now && passed < STEPS {
            self.current = (self.current + 1) % STEPS;
            self.steps[self.current] = empty;
            self.until = self.until + step;
            passed += 1;
        }
        if self.until <= now {
            self.until = now + step;
        }
        &mut self.steps[self.current]
    }
}

/// Sums of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// [bytes]
    arrived: f64,
    departed: f64,
    /// [s], of those packets that state one.
    rtt: f64,
    stated: f64,
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct XcpwRouter {
    params: XcpwRouterParams,
    /// mu [bytes/s].
    mu: f64,
    traffic: Sliding<Sums>,
    /// The least queue of each step [bytes].
    queues: Sliding<f64>,
    /// d [s].
    d: f64,
    phi: f64,
}

impl XcpwRouter {
    fn window(&self) -> Span {
        Span::from_secs_f64(self.d)
    }

    /// phi from what the window holds [bytes], and the packets that left in it.
    fn compute(&mut self) -> f64 {
        let all = self.traffic.steps.iter().fold(Sums::default(), |sum, step| Sums {
            arrived: sum.arrived + step.arrived,
            departed: sum.departed + step.departed,
            rtt: sum.rtt + step.rtt,
            stated: sum.stated + step.stated,
        });
        let least = self.queues.steps.iter().copied().fold(f64::INFINITY, f64::min);
        let queue = if least.is_finite() { least } else { 0.0 };
        let spare = self.mu - all.arrived / self.d;
        self.phi = self.params.alpha * self.d * spare - self.params.beta * queue;
        if all.stated > 0.0 {
            self.d = (all.rtt / all.stated).clamp(1e-3, 10.0);
        }
        all.departed
    }
}

impl Router for XcpwRouter {
    type Params = XcpwRouterParams;
    type Header = XcpHeader;

    fn new(params: &XcpwRouterParams, context: &RouterContext) -> XcpwRouter {
        XcpwRouter {
            params: params.clone(),
            mu: context.capacity.bytes_per_sec(),
            traffic: Sliding::new(Sums::default()),
            queues: Sliding::new(f64::INFINITY),
            d: params.first_rtt.as_secs(),
            phi: 0.0,
        }
    }

    fn on_arrival(&mut self, now: Time, packet: Passing<'_, XcpHeader>, _: Backlog) -> Verdict {
        let window = self.window();
        self.traffic.at(now, window, Sums::default()).arrived += f64::from(packet.size);
        Verdict::Forward
    }

    fn on_departure(&mut self, now: Time, packet: Passing<'_, XcpHeader>, backlog: Backlog) {
        let (window, queue_window) = (self.window(), self.params.queue_window);
        let least = self.queues.at(now, queue_window, f64::INFINITY);
        *least = least.min(backlog.bytes as f64);
        let rtt = packet.header.as_ref().map_or(0.0, |header| header.rtt);
        let sums = self.traffic.at(now, window, Sums::default());
        sums.departed += 1.0;
        if rtt > 0.0 {
            sums.rtt += rtt;
            sums.stated += 1.0;
        }
        let departed = self.compute();
        if let Some(header) = packet.header {
            header.feedback = header.feedback.min(self.phi / departed.max(1.0));
        }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.mu = capacity.bytes_per_sec();
    }

    fn retune(&mut self, params: &XcpwRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.mu = context.capacity.bytes_per_sec();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "by which all windows together shall change in a mean RTT"),
        Variable::new("d", "s", "mean RTT of the packets of the last d"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("d", self.d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near, passing, router_context};

    const HEADER: XcpHeader = XcpHeader { cwnd: 10_000.0, rtt: 0.1, feedback: f64::INFINITY };

    fn pass(router: &mut XcpwRouter, now: u64, waiting: u32) -> f64 {
        let mut header = HEADER;
        let mut ecn = crate::roles::Ecn::NotCapable;
        let backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
        router.on_arrival(ms(now), passing(&mut ecn), backlog);
        let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
        router.on_departure(ms(now), packet, backlog);
        header.feedback
    }

    /// 8 Mb/s is 10^6 bytes/s. Packets of 1000 B each 2 ms are half of it: in 100 ms 50 come and
    /// leave, phi = 0.4*0.1*(10^6 - 5*10^5) = 20,000 bytes, 400 for each packet. With 10 packets
    /// waiting all the time 2260 bytes less: 354.8.
    #[test]
    fn spare_bandwidth_is_shared_among_the_packets_of_an_rtt() {
        for (waiting, each) in [(0, 400.0), (10, 354.8)] {
            let params = XcpwRouterParams::default();
            let mut router = XcpwRouter::new(&params, &router_context(Rate(8_000_000), 100));
            let mut last = 0.0;
            for i in 0..500 {
                last = pass(&mut router, 2 * i + 1, waiting);
            }
            // The step that runs now may miss up to a twentieth of both counts.
            assert!((last / each - 1.0).abs() < 0.12, "{waiting}: {last}");
            assert!(near(router.d, 0.1));
        }
    }

    /// A packet that another link gave less keeps that.
    #[test]
    fn the_least_feedback_counts() {
        let params = XcpwRouterParams::default();
        let mut router = XcpwRouter::new(&params, &router_context(Rate(8_000_000), 100));
        let mut header = XcpHeader { feedback: -7.0, ..HEADER };
        let mut ecn = crate::roles::Ecn::NotCapable;
        let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
        router.on_departure(ms(1), packet, Backlog::default());
        assert_eq!(header.feedback, -7.0);
    }

    /// After a pause of more than a window nothing of before is left.
    #[test]
    fn windows_slide() {
        let mut sliding = Sliding::new(0.0);
        let window = Span::from_millis(20);
        *sliding.at(ms(0), window, 0.0) += 1.0;
        *sliding.at(ms(10), window, 0.0) += 2.0;
        assert!(near(sliding.steps.iter().sum::<f64>(), 3.0));
        *sliding.at(ms(25), window, 0.0) += 4.0;
        assert!(near(sliding.steps.iter().sum::<f64>(), 6.0));
        *sliding.at(ms(900), window, 0.0) += 8.0;
        assert!(near(sliding.steps.iter().sum::<f64>(), 8.0));
    }

    /// 8 Mb/s: a packet of 1000 B and d = 100 ms at first: phi = 0.4*0.1*(10^6 - 10^4) - 0.226*10
    /// kB = 39,600 - 2260, all of it for the one that leaves. From then on d is its RTT of 40 ms,
    /// which a packet without one leaves.
    #[test]
    fn the_mean_rtt_is_that_of_those_that_state_one() {
        let params = XcpwRouterParams::default();
        let mut router = XcpwRouter::new(&params, &router_context(Rate(8_000_000), 100));
        let backlog = Backlog { packets: 10, bytes: 10_000 };
        let leave = |router: &mut XcpwRouter, rtt| {
            let (mut ecn, mut header) =
                (crate::roles::Ecn::NotCapable, XcpHeader { rtt, ..HEADER });
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            router.on_departure(ms(1), packet, backlog);
            header.feedback
        };
        let mut ecn = crate::roles::Ecn::NotCapable;
        router.on_arrival(ms(1), passing(&mut ecn), backlog);
        assert!(near(leave(&mut router, 0.04), 37_340.0));
        assert!(near(router.d, 0.04));
        // 0.4*0.04*(10^6 - 1000/0.04) - 2260 = 13,340 for two.
        assert!(near(leave(&mut router, 0.0), 6670.0));
        assert!(near(router.d, 0.04));
        assert!(near(leave(&mut router, 0.08), 13_340.0 / 3.0));
        assert!(near(router.d, 0.06));
    }

    /// Steps of 1 ms. After a pause of more than all of them the step begins with what comes: at
    /// 21.5 ms, until 22.5 ms.
    #[test]
    fn after_a_long_pause_a_whole_step_begins() {
        let (mut sliding, window) = (Sliding::new(0.0), Span::from_millis(20));
        sliding.at(ms(0), window, 0.0);
        for (at, held) in [(21_500, 1.0), (22_200, 2.0), (22_499, 3.0), (22_500, 1.0)] {
            let step = sliding.at(Time::ZERO + Span::from_micros(at), window, 0.0);
            *step += 1.0;
            assert_eq!(*step, held, "{at}");
        }
    }
}
