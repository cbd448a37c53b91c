//! CSFQ, core-stateless fair queueing. Stoica, Shenker, Zhang, "Core-stateless fair queueing:
//! achieving approximately fair bandwidth allocations in high speed networks", SIGCOMM 1998,
//! section 3.
//!
//! The edge estimates each flow's rate by exponential averaging and writes it on its packets. A
//! core router keeps no flow: it estimates the fair rate alpha from the total of what arrives (A)
//! and of what it lets in (F), drops a packet of label r with probability max(0, 1 - alpha/r), and
//! writes min(r, alpha) on those that pass. The queue is first in, first out.
//!
//! A link with `csfq-edge` labels what comes and then does as a core link: a single congested link
//! is both.
//!
//! ```math
//! r <- (1 - exp(-T/K))*l/T + exp(-T/K)*r  a flow's rate, at a packet of l bits after T
//! p = max(0, 1 - alpha/r)                 the probability of a drop
//! ```
//!
//! Deviations:
//! - D1: as in the authors' ns-2 code, alpha is not used (nothing is dropped by probability) while
//!   it is 0: at the start and whenever the link has not been congested for a K_c with less than
//!   `threshold` waiting. It starts from the largest label seen.
//! - D2: as there, alpha falls by 1 % with each packet that the buffer drops, 29 times (to 75 %) in
//!   each K_c at most, and is never above the capacity.
//! - D3: packets of one instant are averaged by the formula's limit for T -> 0, which adds l/K; the
//!   authors add their sizes up until time goes on. A flow's first packet is such a one.
//! - D4: a label is 32 bits (24 significant ones).

use units::random::Stream;
use units::{Rate, Span, Time, math};

use crate::classes::{Place, Scheduler};
use crate::roles::{Limit, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// Section 4's values.
    pub struct CsfqParams {
        /// K, constant of the estimate of a flow's rate, section 3.2.1; used at the edge.
        k: Span = Span::from_millis(100) => (1e-5, 100.0);
        /// K_alpha, constant of the estimates of A and F, section 3.2.2.
        k_alpha: Span = Span::from_millis(200) => (1e-5, 100.0);
        /// K_c, time between updates of alpha, section 3.2.2; the authors' code has K_alpha for
        /// both.
        k_c: Span = Span::from_millis(200) => (1e-5, 100.0);
        /// Queue below which alpha is forgotten without congestion, as a part of the buffer (16 KB
        /// of 64 KB), section 4.
        threshold: f64 = 0.25 => (0.0, 1.0);
    }
}

/// How often the buffer's drops may lower alpha in one K_c: 0.99^29 = 0.75.
const LOWERINGS: u32 = 29;

/// A rate by exponential averaging, equation (3): (1 - e^(-T/K)) l/T + e^(-T/K) r.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateEstimate {
    /// [bit/s]
    rate: f64,
    /// The last packet's time; `None` before the first.
    last: Option<Time>,
}

impl RateEstimate {
    /// Takes a packet of so many bits in.
    fn update(&mut self, now: Time, bits: f64, k: Span) -> f64 {
        let (gap, k) = (self.last.map_or(0.0, |last| now.since(last).as_secs()), k.as_secs());
        let kept = math::exp(-gap / k);
        let fresh = if gap > 0.0 { (1.0 - kept) / gap } else { 1.0 / k };
        self.rate = fresh * bits + kept * self.rate;
        self.last = Some(now);
        self.rate
    }
}

/// A core router's estimate of the fair rate.
#[derive(Clone, Debug)]
struct Core {
    k_alpha: Span,
    k_c: Span,
    /// C [bit/s].
    capacity: f64,
    /// [bytes]
    threshold: u64,
    /// A [bit/s].
    arriving: RateEstimate,
    /// F [bit/s].
    accepted: RateEstimate,
    /// [bit/s]; 0: none.
    alpha: f64,
    /// The largest label since the link is not congested.
    largest: f64,
    congested: bool,
    /// When the present K_c began.
    start: Time,
    lowerings: u32,
    stream: Stream,
}

impl Core {
    fn new(params: &CsfqParams, context: &RouterContext) -> Core {
        let buffer = match context.limit {
            Limit::Bytes(bytes) => bytes as f64,
            Limit::Packets(packets) => f64::from(packets) * f64::from(context.packet_bytes),
        };
        Core {
            k_alpha: params.k_alpha,
            k_c: params.k_c,
            capacity: context.capacity.as_bps(),
            threshold: (params.threshold * buffer) as u64,
            arriving: RateEstimate::default(),
            accepted: RateEstimate::default(),
            alpha: 0.0,
            largest: 0.0,
            congested: false,
            start: Time::ZERO,
            lowerings: 0,
            stream: context.stream.clone(),
        }
    }

    /// P of a packet with this label.
    fn probability(&self, label: f64) -> f64 {
        if self.alpha > 0.0 && label > self.alpha { 1.0 - self.alpha / label } else { 0.0 }
    }

    /// Figure 3's estimate_alpha for a packet of so many bits and this label.
    fn estimate(&mut self, now: Time, (bits, label): (f64, f64), dropped: bool, waiting: u64) {
        let arriving = self.arriving.update(now, bits, self.k_alpha);
        let passed = if dropped { 0.0 } else { bits };
        let accepted = self.accepted.update(now, passed, self.k_alpha);
        if self.alpha == 0.0 {
            self.largest = self.largest.max(label);
            if waiting < self.threshold {
                return;
            }
            self.set_alpha(self.largest);
            self.largest = 0.0;
        }
        let over = now >= self.start + self.k_c;
        match (arriving >= self.capacity, self.congested) {
            (true, false) => self.begin(now, true),
            (true, true) if over => {
                self.begin(now, true);
                self.set_alpha(self.alpha * self.capacity / accepted);
            }
            (true, true) => {}
            (false, true) => {
                self.begin(now, false);
                self.largest = label;
            }
            (false, false) if over => {
                self.begin(now, false);
                let alpha = if waiting < self.threshold { 0.0 } else { self.largest };
                self.largest = label;
                if alpha > 0.0 { self.set_alpha(alpha) } else { self.alpha = 0.0 }
            }
            (false, false) => self.largest = self.largest.max(label),
        }
    }

    fn begin(&mut self, now: Time, congested: bool) {
        self.congested = congested;
        self.start = now;
        self.lowerings = 0;
    }

    /// Not above the capacity; a value that is none (nothing accepted) is the capacity.
    fn set_alpha(&mut self, alpha: f64) {
        self.alpha = if alpha > 0.0 { alpha.min(self.capacity) } else { self.capacity };
    }

    /// The buffer drops a packet that was let in.
    fn lower(&mut self) {
        if self.lowerings < LOWERINGS {
            self.lowerings += 1;
            self.alpha *= 0.99;
        }
    }

    fn admit<C>(&mut self, now: Time, size: u32, place: &mut Place<'_, C>) -> Verdict {
        let bits = f64::from(size) * 8.0;
        let label = f64::from(*place.label);
        let p = self.probability(label);
        let dropped = p > 0.0 && self.stream.chance(p);
        let full = !dropped && !place.idle && !place.fits;
        self.estimate(now, (bits, label), dropped, place.backlog.bytes);
        if full {
            self.lower();
        }
        if p > 0.0 && self.alpha > 0.0 {
            *place.label = label.min(self.alpha) as f32;
        }
        if dropped { Verdict::Drop } else { Verdict::Forward }
    }

    fn retune(&mut self, params: &CsfqParams, context: &RouterContext) {
        let Core { k_alpha, k_c, capacity, threshold, .. } = Core::new(params, context);
        (self.k_alpha, self.k_c) = (k_alpha, k_c);
        (self.capacity, self.threshold) = (capacity, threshold);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("alpha", "bit/s", "the fair rate; 0 while none is needed"),
        Variable::new("arrival_rate", "bit/s", "A, all that arrives"),
        Variable::new("accepted_rate", "bit/s", "F, what is let in"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("alpha", self.alpha);
        sink("arrival_rate", self.arriving.rate);
        sink("accepted_rate", self.accepted.rate);
    }
}

/// The core router's part.
#[derive(Clone, Debug)]
pub struct Csfq(Core);

impl Router for Csfq {
    type Params = CsfqParams;
    type Header = ();

    fn new(params: &CsfqParams, context: &RouterContext) -> Csfq {
        Csfq(Core::new(params, context))
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.0.capacity = capacity.as_bps();
    }

    fn retune(&mut self, params: &CsfqParams, context: &RouterContext) {
        self.0.retune(params, context);
    }

    const VARIABLES: &'static [Variable] = Core::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.0.probe(sink);
    }
}

impl Scheduler for Csfq {
    type Cell = ();

    fn admit(&mut self, now: Time, packet: Passing<'_, ()>, place: &mut Place<'_, ()>) -> Verdict {
        self.0.admit(now, packet.size, place)
    }
}

/// The edge router's part.
#[derive(Clone, Debug)]
pub struct CsfqEdge {
    core: Core,
    k: Span,
}

impl Router for CsfqEdge {
    type Params = CsfqParams;
    type Header = ();

    fn new(params: &CsfqParams, context: &RouterContext) -> CsfqEdge {
        CsfqEdge { core: Core::new(params, context), k: params.k }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.core.capacity = capacity.as_bps();
    }

    fn retune(&mut self, params: &CsfqParams, context: &RouterContext) {
        self.core.retune(params, context);
        self.k = params.k;
    }

    const VARIABLES: &'static [Variable] = Core::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.core.probe(sink);
    }
}

impl Scheduler for CsfqEdge {
    type Cell = RateEstimate;

    fn cell(&self, flow: u32) -> u32 {
        flow
    }

    fn admit(
        &mut self,
        now: Time,
        packet: Passing<'_, ()>,
        place: &mut Place<'_, RateEstimate>,
    ) -> Verdict {
        let bits = f64::from(packet.size) * 8.0;
        let rate = place.cell.update(now, bits, self.k);
        *place.label = rate as f32;
        self.core.admit(now, packet.size, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{in_place, ms, near, passing, router_context};

    fn core() -> Core {
        // 10 Mb/s, a buffer of 64 packets of 1000 B: a threshold of 16 kB.
        Core::new(&CsfqParams::default(), &router_context(Rate(10_000_000), 64))
    }

    /// K = 100 ms, packets of 8000 bits: first 8000/0.1 = 80 kb/s; 50 ms later
    /// (1 - e^-0.5) 8000/0.05 + e^-0.5 80,000 = 0.393469*160,000 + 0.606531*80,000 = 111,477.5; at
    /// the same instant again 80,000 more.
    #[test]
    fn rates_are_averaged_exponentially() {
        let mut estimate = RateEstimate::default();
        let k = Span::from_millis(100);
        assert!(near(estimate.update(ms(7), 8000.0, k), 80_000.0));
        let second = estimate.update(ms(57), 8000.0, k);
        assert!((second - 111_477.547).abs() < 0.01, "{second}");
        assert!(near(estimate.update(ms(57), 8000.0, k), second + 80_000.0));
        // In the long run of a packet each 10 ms: 800 kb/s.
        (0..1000).for_each(|i| {
            estimate.update(ms(100 + 10 * i), 8000.0, k);
        });
        assert!((estimate.rate - 800_000.0).abs() < 1.0, "{}", estimate.rate);
    }

    #[test]
    fn the_drop_probability_is_what_is_above_alpha() {
        let core = Core { alpha: 1e6, ..core() };
        assert_eq!(core.probability(1e6), 0.0);
        assert!(near(core.probability(4e6), 0.75));
        assert_eq!(Core { alpha: 0.0, ..core }.probability(4e6), 0.0);
    }

    /// A = 20 Mb/s and F = 16 Mb/s on 10 Mb/s, alpha 2 Mb/s: after K_c it is 2*10/16 = 1.25 Mb/s.
    #[test]
    fn alpha_follows_capacity_over_accepted_rate() {
        let mut core = Core { alpha: 2e6, ..core() };
        let rate = |rate, at| RateEstimate { rate, last: Some(at) };
        core.estimate(ms(0), (0.0, 3e6), false, 20_000);
        (core.arriving, core.accepted) = (rate(20e6, ms(0)), rate(16e6, ms(0)));
        core.estimate(ms(0), (0.0, 3e6), false, 20_000);
        assert!(core.congested && core.alpha == 2e6);
        (core.arriving, core.accepted) = (rate(20e6, ms(199)), rate(16e6, ms(199)));
        core.estimate(ms(199), (0.0, 3e6), false, 20_000);
        assert_eq!(core.alpha, 2e6, "K_c is not over");
        (core.arriving, core.accepted) = (rate(20e6, ms(200)), rate(16e6, ms(200)));
        core.estimate(ms(200), (0.0, 3e6), false, 20_000);
        assert!(near(core.alpha, 1.25e6), "{}", core.alpha);
        // Not above the capacity.
        (core.arriving, core.accepted) = (rate(20e6, ms(400)), rate(1e5, ms(400)));
        core.estimate(ms(400), (0.0, 3e6), false, 20_000);
        assert_eq!(core.alpha, 10e6);
    }

    /// Without congestion alpha is the largest label of a K_c, or none with a short queue.
    #[test]
    fn without_congestion_alpha_is_the_largest_label() {
        for (waiting, alpha) in [(20_000, 4e6), (15_999, 0.0)] {
            let mut core = Core { alpha: 2e6, ..core() };
            for (at, label) in [(0, 1e6), (100, 4e6), (150, 3e6), (200, 1e6)] {
                core.estimate(ms(at), (0.0, label), false, waiting);
            }
            assert_eq!(core.alpha, alpha);
        }
    }

    #[test]
    fn overflow_lowers_alpha_by_a_percent_to_three_quarters_at_most() {
        let mut core = Core { alpha: 1e6, ..core() };
        core.lower();
        assert!(near(core.alpha, 0.99e6));
        (0..100).for_each(|_| core.lower());
        // 0.99^29 = 0.747172.
        assert!((core.alpha / 1e6 - 0.747_172).abs() < 1e-6, "{}", core.alpha);
    }

    #[test]
    fn a_packet_that_passes_carries_no_more_than_alpha() {
        let mut core = Core { alpha: 1e6, ..core() };
        let mut relabelled = |label: f32| {
            let (mut seen, mut cell) = (label, ());
            loop {
                let verdict = in_place(|place| {
                    let mut place = Place { label: &mut seen, cell: &mut cell, ..*place };
                    core.admit(ms(0), 1000, &mut place)
                });
                if verdict == Verdict::Forward {
                    return seen;
                }
                seen = label;
            }
        };
        assert_eq!((relabelled(4e6), relabelled(5e5)), (1e6, 5e5));
    }

    #[test]
    fn the_edge_writes_the_flows_rate() {
        let mut edge = CsfqEdge::new(&CsfqParams::default(), &router_context(Rate(10_000_000), 64));
        let (mut label, mut cell, mut ecn) = (0.0, RateEstimate::default(), Ecn::NotCapable);
        for at in 0..2000 {
            in_place(|place| {
                let mut place = Place { label: &mut label, cell: &mut cell, ..*place };
                edge.admit(ms(at), passing(&mut ecn), &mut place);
            });
        }
        // 1000 B each ms.
        assert!((label - 8e6).abs() < 1e4, "{label}");
        assert_eq!((edge.cell(3), edge.cell(9)), (3, 9));
    }

    /// What the buffer drops after it was let in lowers alpha, and what fits does not.
    #[test]
    fn a_full_buffer_lowers_alpha() {
        for (idle, fits, alpha) in [(false, false, 0.99e6), (false, true, 1e6), (true, false, 1e6)]
        {
            let mut core = Core { alpha: 1e6, ..core() };
            let (mut label, mut cell) = (5e5, ());
            let verdict = in_place(|place| {
                let place = Place { label: &mut label, cell: &mut cell, idle, fits, ..*place };
                core.admit(ms(0), 1000, &mut { place })
            });
            assert_eq!((verdict, core.alpha), (Verdict::Forward, alpha));
        }
    }

    /// A K_c without congestion and with a short queue ends the fair rate: a packet that was let in
    /// against it keeps the label it came with.
    #[test]
    fn without_a_fair_rate_labels_stay() {
        let mut passed = 0;
        for _ in 0..50 {
            let stream = Stream::new(passed + 1, 0, "test");
            let mut core = Core { alpha: 1e6, stream, ..core() };
            let (mut label, mut cell) = (1.25e6, ());
            let verdict = in_place(|place| {
                let mut place = Place { label: &mut label, cell: &mut cell, ..*place };
                core.admit(ms(500), 1000, &mut place)
            });
            assert_eq!((core.alpha, label), (0.0, 1.25e6));
            passed += u64::from(verdict == Verdict::Forward);
        }
        // A fifth of what has more than alpha is dropped.
        assert!(passed > 0);
    }

    /// Figure 3: "A >= C" is congestion, and "now > start_time + K_c" here from its end on. alpha
    /// is not above C, and the accepted rate of what is dropped is not counted.
    #[test]
    fn a_link_that_is_just_full_is_congested() {
        let rate = |rate| RateEstimate { rate, last: Some(ms(0)) };
        for (arriving, congested) in [(10e6, true), (9.99e6, false)] {
            let mut core = Core { alpha: 2e6, ..core() };
            (core.arriving, core.accepted) = (rate(arriving), rate(8e6));
            core.estimate(ms(0), (0.0, 1e6), false, 20_000);
            assert_eq!(core.congested, congested);
        }
        let mut core = core();
        core.estimate(ms(0), (8000.0, 1e6), true, 0);
        assert_eq!(core.accepted.rate, 0.0);
        assert!(core.arriving.rate > 0.0);
        // No rate yet and a queue at the threshold of 16 kB: the largest label there was.
        core.estimate(ms(1), (8000.0, 5e5), false, 15_999);
        assert_eq!(core.alpha, 0.0);
        core.estimate(ms(2), (8000.0, 5e5), false, 16_000);
        assert_eq!((core.alpha, core.largest), (1e6, 5e5));
    }
}
