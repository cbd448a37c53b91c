//! RED, random early detection. Floyd and Jacobson, "Random early detection gateways for congestion
//! avoidance", ToN 1993, section IV; gentle: Floyd, 2000; marking: RFC 3168.
//!
//! A slow average of the queue decides. Below min_th nothing happens; between min_th and max_th an
//! arrival is marked or dropped with a probability that rises to max_p and is spread so that the
//! gaps between marks are near uniform; above (gentle: from max_p at max_th to 1 at 2*max_th) all
//! are dropped. An idle line ages the average as if small packets had passed.
//!
//! ```math
//! avg <- (1 - w_q)*avg + w_q*q                  at each arrival
//! p_b = max_p*(avg - min_th)/(max_th - min_th)  from min_th to max_th
//! p_a = p_b/(1 - count*p_b)                     the paper's, `wait = false`
//! p_a = p_b/(2 - count*p_b)                     ns-2's, once count*p_b >= 1
//! ```
//!
//! Deviations:
//! - D1: `wait`, as in ns-2: no mark before count*p_b reaches 1, then p_b/(2 - count*p_b): gaps are
//!   uniform on 1/p_b..2/p_b. Off is the paper's p_b/(1 - count*p_b), uniform on 1..1/p_b - 1,
//!   as count is 1 at the first arrival after a mark.
//! - D2: as in ns-2, after an idle time the average is aged and takes in the empty queue once more;
//!   the line is idle from the end of the last transmission, and ages in whole packet times.
//! - D3: as in ns-2, the arrival that first finds the average above min_th passes and sets count to
//!   1 (the paper starts from 0 and may mark it), and nobody is dropped while fewer than two
//!   packets wait.
//! - D4: marks are limited by `mark_p` only on request; ns-2 drops where p_b is above 0.1.
//! - D5: what the buffer's limit drops does not set count to 0.
//! - D6: an ACK is never marked: its ECN bits are an echo, or it is not capable.
//! - D7: ns-2.35 sets w_q and the thresholds by the line's rate unless told; here w_q is the
//!   paper's 0.002 and the thresholds are parts of the buffer, and `w_q = 0` and `target_delay` ask
//!   for ns-2's rules. Its w_q falls further where three times the link's delay is above 100 ms;
//!   that is not followed, as a router does not know its link's delay.

use core::fmt;

use units::random::Stream;
use units::{Rate, Span, Time, math};

use super::adaptation::Adaptation;
use super::early::Average;
use super::policy::{Gauge, signal};
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

pub use super::policy::Counting;

params! {
    /// RED's parameters.
    pub struct RedParams {
        /// What the average counts.
        counts: Counting = Counting::Buffer;
        /// Is the probability proportional to the packet's size (ns-2's bytes_; RFC 7141 advises
        /// no)?
        by_size: bool = false;
        /// Size of the packets in which bytes and the capacity are counted (ns-2's mean_pktsize_)
        /// [bytes]; 0: a full packet.
        mean_size: u64 = 0 => (0.0, 65535.0);
        /// min_th as a part of the buffer, unless min_th or target_delay is given.
        min_th_ratio: f64 = 1.0 / 3.0 => (0.0, 1.0);
        /// max_th as a part of the buffer, unless max_th or target_delay is given.
        max_th_ratio: f64 = 2.0 / 3.0 => (0.0, 1.0);
        /// min_th, below which nothing is marked [packets]; 0: by target_delay or min_th_ratio.
        min_th: f64 = 0.0 => (0.0, 1e9);
        /// max_th, where the probability reaches max_p [packets]; 0: by target_delay or
        /// max_th_ratio.
        max_th: f64 = 0.0 => (0.0, 1e9);
        /// Mean delay for which the thresholds are set (ns-2's targetdelay_): min_th is half of
        /// what the line sends in it, at least 5 packets, and max_th three times min_th; 0: by the
        /// ratios.
        target_delay: Span = Span::ZERO => (0.0, 100.0);
        /// w_q, the weight of a new sample in the average; 0: 1 - exp(-1/C), C in packets/s.
        w_q: f64 = 0.002 => (0.0, 1.0);
        /// max_p, the probability at max_th.
        max_p: f64 = 0.1 => (1e-6, 1.0);
        /// Is max_p adapted as by the queue ared, with its default constants (ns-2's adaptive_)?
        adaptive: bool = false;
        /// Does the probability rise to 1 between max_th and 2*max_th, rather than jump? What is
        /// above that is dropped, ECN or not; the queue step marks it.
        gentle: bool = true;
        /// Is the first mark held back until count*p_b reaches 1?
        wait: bool = true;
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
        /// Above this p_b capable packets are dropped too; 1: never for that reason.
        mark_p: f64 = 1.0 => (0.0, 1.0);
    }
    presets {
        /// The paper's simulations (Floyd, Jacobson, ToN 1993, section V): thresholds 5 and 15
        /// packets, max_p 1/50, a jump above max_th, drops.
        "floyd-1993" {
            counts = Choice("packets"), min_th = Number(5.0), max_th = Number(15.0),
            w_q = Number(0.002), max_p = Number(0.02), gentle = Flag(false), wait = Flag(false),
            ecn = Flag(false),
        }
        /// XCP's comparison (Katabi, Handley, Rohrs, SIGCOMM 2002, section 5): gentle, thresholds
        /// at one and two thirds of the buffer, the rest as its authors advise.
        "xcp-2002" {
            min_th_ratio = Number(1.0 / 3.0), max_th_ratio = Number(2.0 / 3.0), w_q = Number(0.002),
            max_p = Number(0.1), gentle = Flag(true), wait = Flag(true), ecn = Flag(true),
        }
        /// Adaptive RED (Floyd, Gummadi, Shenker 2001): thresholds for a delay of 5 ms, w_q from
        /// the capacity, max_p adapted.
        "adaptive" {
            target_delay = Span(Span::from_millis(5)), w_q = Number(0.0), max_p = Number(0.1),
            adaptive = Flag(true), gentle = Flag(true), wait = Flag(true),
        }
        /// The comparisons of VCP (Xia et al., SIGCOMM 2005, ToN 2008): RED/ECN with its authors'
        /// advice, which was thresholds for a delay of 5 ms by then, marking and not dropping. Not
        /// adaptive, by the results: CUBIC uses 0.90 of the link (the paper: 0.88), adapted 0.94.
        "vcp-2005" {
            target_delay = Span(Span::from_millis(5)), w_q = Number(0.0), max_p = Number(0.1),
            adaptive = Flag(false), gentle = Flag(true), wait = Flag(true), ecn = Flag(true),
            mark_p = Number(1.0),
        }
        /// The defaults of ns-2.35 (ns-default.tcl): not adaptive, packets of 500 bytes, by size,
        /// drops.
        "ns2" {
            counts = Choice("bytes"), by_size = Flag(true), mean_size = Count(500),
            target_delay = Span(Span::from_millis(5)), w_q = Number(0.0), max_p = Number(0.1),
            adaptive = Flag(false), gentle = Flag(true), wait = Flag(true), ecn = Flag(false),
            mark_p = Number(0.1),
        }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    gauge: Gauge,
    adaptation: Option<Adaptation>,
    max_p: f64,
    /// [packets]
    min_th: f64,
    /// [packets]
    max_th: f64,
    /// Rise of p_b per packet between min_th and max_th.
    slope: f64,
    /// Rise of p_b per packet between max_th and 2*max_th.
    gentle_slope: f64,
    /// [packets]
    buffer: f64,
    stream: Stream,

    average: Average,
    /// p_b of the last arrival.
    p_b: f64,
    /// Packets (bytes: full packets' worth) since the last mark; `None` below min_th.
    count: Option<f64>,
}

impl Red {
    /// RED with max_p adapted by `adaptation`, if any.
    pub(super) fn adapting(
        params: &RedParams,
        adaptation: Option<Adaptation>,
        context: &RouterContext,
    ) -> Red {
        // At most 65535.
        let mean_size = match params.mean_size as u32 {
            0 => context.packet_bytes,
            size => size,
        };
        let gauge = Gauge::new(params.counts, mean_size, context);
        let mut red = Red {
            params: params.clone(),
            gauge,
            adaptation,
            max_p: params.max_p,
            min_th: 0.0,
            max_th: 0.0,
            slope: 0.0,
            gentle_slope: 0.0,
            buffer: gauge.buffer(context.limit),
            stream: context.stream.clone(),
            average: Average::new(0.0, context.capacity, mean_size),
            p_b: 0.0,
            count: None,
        };
        red.tune(context.capacity);
        red
    }

    /// Sets what may depend on the capacity.
    fn tune(&mut self, capacity: Rate) {
        let params = &self.params;
        self.average.on_capacity(capacity);
        let rate = self.gauge.rate(capacity);
        let (target, buffer) = (params.target_delay.as_secs() * rate, self.buffer);
        let by_delay = params.target_delay > Span::ZERO;
        self.min_th = match params.min_th {
            th if th > 0.0 => th,
            _ if by_delay => (target / 2.0).max(5.0),
            _ => params.min_th_ratio * buffer,
        };
        let max_th = match params.max_th {
            th if th > 0.0 => th,
            _ if by_delay => 3.0 * self.min_th,
            _ => params.max_th_ratio * buffer,
        };
        self.max_th = max_th.max(self.min_th);
        self.average.w_q = if params.w_q > 0.0 { params.w_q } else { 1.0 - math::exp(-1.0 / rate) };
        self.set_max_p(self.max_p);
    }

    fn set_max_p(&mut self, max_p: f64) {
        // A region of no width is never entered.
        let slope = |rise: f64, width: f64| if width > 0.0 { rise / width } else { 0.0 };
        self.max_p = max_p;
        self.slope = slope(max_p, self.max_th - self.min_th);
        self.gentle_slope = slope(1.0 - max_p, self.max_th);
    }

    /// Other parameters; what was measured or adapted stays.
    pub(super) fn retune_adapting(
        &mut self,
        params: &RedParams,
        adaptation: Option<Adaptation>,
        context: &RouterContext,
    ) {
        let fresh = Red::adapting(params, adaptation, context);
        let kept = match (&self.adaptation, &fresh.adaptation) {
            (Some(old), Some(new)) => Some((self.max_p, new.running_as(old))),
            _ => None,
        };
        *self = Red {
            stream: self.stream.clone(),
            average: fresh.average.carried(&self.average),
            p_b: self.p_b,
            count: self.count,
            ..fresh
        };
        if let Some((max_p, adaptation)) = kept {
            self.adaptation = Some(adaptation);
            self.set_max_p(max_p);
        }
    }

    fn update_average(&mut self, now: Time, backlog: Backlog) {
        self.average.update(now, self.gauge.queue(backlog), backlog.packets == 0);
    }

    /// p_b, from the average alone.
    fn initial_probability(&self) -> f64 {
        let p = if self.average.value < self.max_th {
            self.slope * (self.average.value - self.min_th)
        } else if self.params.gentle {
            self.max_p + self.gentle_slope * (self.average.value - self.max_th)
        } else {
            1.0
        };
        p.clamp(0.0, 1.0)
    }

    /// p_a, from p_b and how long ago the last mark was; `size` in full packets.
    fn final_probability(&self, count: f64, size: f64) -> f64 {
        let since = count * self.p_b;
        let p_a = match self.params.wait {
            true if since < 1.0 => 0.0,
            true if since < 2.0 => self.p_b / (2.0 - since),
            false if since < 1.0 => self.p_b / (1.0 - since),
            _ => 1.0,
        };
        if self.params.by_size && p_a < 1.0 { p_a * size } else { p_a }
    }

    /// Is this arrival picked to tell its sender? Above the thresholds it is always.
    fn picks(&mut self, size: f64) -> bool {
        let Some(count) = self.count else {
            self.count = Some(size);
            return false;
        };
        let count = count + size;
        let p_a = self.final_probability(count, size);
        let picked = p_a > 0.0 && (p_a >= 1.0 || self.stream.chance(p_a));
        self.count = Some(if picked { 0.0 } else { count });
        picked
    }
}

impl Router for Red {
    type Params = RedParams;
    type Header = ();

    fn new(params: &RedParams, context: &RouterContext) -> Red {
        Red::adapting(params, params.adaptive.then(Adaptation::default), context)
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        self.update_average(now, backlog);
        if self.average.value < self.min_th || backlog.packets < 2 {
            self.count = None;
            self.p_b = 0.0;
            return Verdict::Forward;
        }
        self.p_b = self.initial_probability();
        let limit = if self.params.gentle { 2.0 * self.max_th } else { self.max_th };
        if self.average.value >= limit {
            self.count = Some(0.0);
            return Verdict::Drop;
        }
        let size = if self.params.by_size { self.gauge.full_packets(packet.size) } else { 1.0 };
        if !self.picks(size) {
            return Verdict::Forward;
        }
        signal(self.params.ecn && self.p_b <= self.params.mark_p, packet)
    }

    #[inline]
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        if backlog.packets == 0 {
            self.average.emptied(now + self.average.time(packet.size));
        }
    }

    fn next_timer(&self) -> Time {
        self.adaptation.as_ref().map_or(Time::NEVER, Adaptation::next)
    }

    fn on_timer(&mut self, now: Time, _backlog: Backlog) {
        if let Some(adaptation) = &mut self.adaptation {
            let max_p =
                adaptation.adapt(now, self.average.value, (self.min_th, self.max_th), self.max_p);
            self.set_max_p(max_p);
        }
    }

    /// Only what follows the capacity by its parameters does so here.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.tune(capacity);
    }

    /// The thresholds are anew parts of the buffer; the average, in packets, and an adapted max_p
    /// stay.
    fn retune(&mut self, params: &RedParams, context: &RouterContext) {
        self.retune_adapting(params, params.adaptive.then(Adaptation::default), context);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("avg", "pkts", "slow average of the queue"),
        Variable::new("max_p", "", "probability at max_th"),
        Variable::new("p_b", "", "probability before it is spread, from avg alone"),
        Variable::new("p_a", "", "probability for the next arrival, p_b spread by count"),
        Variable::new("count", "pkts", "packets since the last one picked"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("avg", self.average.value);
        sink("max_p", self.max_p);
        sink("p_b", self.p_b);
        let next = self.count.map(|count| self.final_probability(count + 1.0, 1.0));
        sink("p_a", next.unwrap_or(0.0));
        sink("count", self.count.unwrap_or(0.0));
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let next = self.count.map_or(0.0, |count| self.final_probability(count + 1.0, 1.0));
        writeln!(
            out,
            "RED picks the next packet with probability {next:.5}: its average queue is {:.1} packets",
            self.average.value
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Ecn, Limit, PacketKind};
    use crate::tests::{near, router_context};

    /// 8 Mb/s: 1 ms per packet. A buffer of 300 packets: thresholds 100 and 200.
    fn red(params: &RedParams) -> Red {
        let limit = Limit::Bytes(300_000);
        let context = RouterContext { limit, ..router_context(Rate(8_000_000), 0) };
        Red::new(params, &context)
    }

    fn at_average(average: f64, params: &RedParams) -> Red {
        let mut red = red(params);
        red.average.value = average;
        red.p_b = red.initial_probability();
        red
    }

    fn queue(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1000 }
    }

    fn arrive(red: &mut Red, kind: PacketKind, ecn: &mut Ecn, waiting: u32) -> Verdict {
        let packet =
            Passing { flow: 0, size: 1000, kind, queued_for: Span::ZERO, ecn, header: None };
        red.on_arrival(Time::ZERO, packet, queue(waiting))
    }

    #[test]
    fn the_average_moves_by_its_weight_and_ages_while_idle() {
        let mut red = red(&RedParams::default());
        red.update_average(Time::ZERO, queue(50));
        // 0.002*50, then 0.998*0.1 + 0.002*50.
        assert!(near(red.average.value, 0.1));
        red.update_average(Time::ZERO, queue(50));
        assert!(near(red.average.value, 0.1998));
        // The last packet goes out at 10 ms and takes 1 ms: the line is idle from 11 ms.
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut ecn = Ecn::NotCapable;
        let (size, kind, queued_for) = (1000, PacketKind::Data, Span::ZERO);
        let packet = Passing { flow: 0, size, kind, queued_for, ecn: &mut ecn, header: None };
        red.on_departure(at(10), packet, queue(0));
        red.average.value = 100.0;
        red.update_average(at(10), queue(0));
        assert!(near(red.average.value, 99.8));
        // Two packet times later: 0.998^2 for them, once more for the empty queue: 0.994 011 992.
        red.average.value = 100.0;
        red.update_average(at(13), queue(0));
        assert!(near(red.average.value, 99.401_199_2));
        // The same idle time counts once: 99.401 199 2*0.998.
        red.update_average(at(13), queue(0));
        assert!(near(red.average.value, 99.202_396_801_6));
    }

    #[test]
    fn the_probability_is_linear_in_two_pieces() {
        let p = |average, gentle| {
            at_average(average, &RedParams { gentle, ..RedParams::default() }).p_b
        };
        assert!(near(p(100.0, true), 0.0));
        assert!(near(p(150.0, true), 0.05));
        // From 0.1 at 200 to 1 at 400: 0.0045 per packet.
        assert!(near(p(200.0, true), 0.1));
        assert!(near(p(300.0, true), 0.55));
        assert!(near(p(400.0, true), 1.0));
        assert!(near(p(199.0, false), 0.099));
        assert!(near(p(200.0, false), 1.0));
    }

    #[test]
    fn thresholds_may_be_absolute() {
        let red = red(&RedParams { min_th: 5.0, max_th: 15.0, ..RedParams::default() });
        assert_eq!((red.min_th, red.max_th), (5.0, 15.0));
        assert!(near(red.slope, 0.01));
    }

    #[test]
    fn by_a_delay_thresholds_and_weight_follow_the_capacity() {
        // 100 Mb/s, packets of 1000 B: C = 12,500/s. min_th = 5 ms*12,500/2 = 31.25, max_th 93.75;
        // w_q = 1 - exp(-1/12,500) = 8e-5 - 3.2e-9 + ... = 7.999 680 008 5e-5.
        let (target_delay, w_q) = (Span::from_millis(5), 0.0);
        let mut red = red(&RedParams { target_delay, w_q, ..RedParams::default() });
        // At 1000/s it would be 2.5.
        assert_eq!((red.min_th, red.max_th), (5.0, 15.0));
        red.on_capacity(Time::ZERO, Rate(100_000_000));
        assert_eq!((red.min_th, red.max_th), (31.25, 93.75));
        assert!((red.average.w_q - 7.999_680_008_5e-5).abs() < 1e-14, "{}", red.average.w_q);
        assert!(near(red.slope, 0.1 / 62.5));
        // Counted in packets of 500 B there are 25,000/s.
        let mean_size = 500;
        let mut red = Red::new(
            &RedParams { mean_size, target_delay, w_q, ..RedParams::default() },
            &crate::tests::router_context(Rate(100_000_000), 300),
        );
        assert_eq!((red.min_th, red.max_th), (62.5, 187.5));
        // Fixed ones stay.
        red.params = RedParams::default();
        red.tune(Rate(1_000_000));
        assert_eq!((red.min_th, red.max_th, red.average.w_q), (100.0, 200.0, 0.002));
    }

    #[test]
    fn the_average_counts_what_the_buffer_counts_unless_told() {
        // 50 ACKs of 40 bytes are 2 full packets: 0.002*2 = 0.004, as packets 0.002*50 = 0.1.
        let acks = Backlog { packets: 50, bytes: 2000 };
        for (counts, average) in
            [(Counting::Buffer, 0.004), (Counting::Bytes, 0.004), (Counting::Packets, 0.1)]
        {
            let mut red = red(&RedParams { counts, ..RedParams::default() });
            red.update_average(Time::ZERO, acks);
            assert!(near(red.average.value, average), "{counts:?}");
        }
    }

    #[test]
    fn the_gap_between_marks_is_spread() {
        // p_b = 0.05: the paper's p_a is 0.05/(1 - 10*0.05) = 0.1 after 10, 1 from 20 on.
        let red = at_average(150.0, &RedParams { wait: false, ..RedParams::default() });
        assert!(near(red.final_probability(10.0, 1.0), 0.1));
        assert!(near(red.final_probability(20.0, 1.0), 1.0));
        // Waiting: none before 20, 0.05/(2 - 30*0.05) = 0.1 after 30, 1 from 40 on.
        let red = at_average(150.0, &RedParams::default());
        assert_eq!(red.final_probability(19.0, 1.0), 0.0);
        assert!(near(red.final_probability(30.0, 1.0), 0.1));
        assert!(near(red.final_probability(40.0, 1.0), 1.0));
        // By bytes: a 40-byte packet gets 0.04 of it.
        let red = at_average(150.0, &RedParams { by_size: true, ..RedParams::default() });
        assert!(near(red.final_probability(30.0, 0.04), 0.004));
    }

    #[test]
    fn gaps_have_the_mean_of_their_uniform_law() {
        // Without waiting and at p_b = 0.05 a gap is uniform on 1..19 (mean 10); with it on 20..39
        // (mean 29.5). The standard error of the mean of 4000 gaps is 5.77/63 = 0.09.
        for (wait, mean) in [(false, 10.0_f64), (true, 29.5)] {
            let mut red = at_average(150.0, &RedParams { wait, ..RedParams::default() });
            red.count = Some(0.0);
            let (mut gap, mut sum, mut gaps) = (0.0, 0.0, 0.0);
            while gaps < 4000.0 {
                gap += 1.0;
                if red.picks(1.0) {
                    (sum, gaps, gap) = (sum + gap, gaps + 1.0, 0.0);
                }
            }
            assert!((sum / gaps - mean).abs() < 0.3, "{wait} {}", sum / gaps);
        }
    }

    #[test]
    fn capable_data_is_marked_and_all_else_dropped() {
        let arrival = |params: &RedParams, average: f64, kind, mut ecn| {
            let mut red = at_average(average, params);
            red.count = Some(1000.0);
            let verdict = arrive(&mut red, kind, &mut ecn, 150);
            (verdict, ecn)
        };
        let (data, ack) = (PacketKind::Data, PacketKind::Ack);
        let normal = RedParams::default();
        assert_eq!(arrival(&normal, 150.0, data, Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        assert_eq!(arrival(&normal, 150.0, data, Ecn::NotCapable).0, Verdict::Drop);
        assert_eq!(arrival(&normal, 150.0, ack, Ecn::Ect0), (Verdict::Drop, Ecn::Ect0));
        // p_b = 0.55 at 300; always dropped from 400 on (the average falls by 0.002*(401 - 150)).
        assert_eq!(arrival(&normal, 300.0, data, Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        assert_eq!(arrival(&normal, 401.0, data, Ecn::Ect0), (Verdict::Drop, Ecn::Ect0));
        let ns2 = RedParams { mark_p: 0.1, ..RedParams::default() };
        assert_eq!(arrival(&ns2, 300.0, data, Ecn::Ect0).0, Verdict::Drop);
        let plain = RedParams { ecn: false, ..RedParams::default() };
        assert_eq!(arrival(&plain, 150.0, data, Ecn::Ect0).0, Verdict::Drop);
    }

    #[test]
    fn nothing_happens_below_min_th_or_in_a_short_queue() {
        let mut red = at_average(99.0, &RedParams::default());
        red.count = Some(1000.0);
        assert_eq!(arrive(&mut red, PacketKind::Data, &mut Ecn::NotCapable, 99), Verdict::Forward);
        assert_eq!(red.count, None);
        let mut red = at_average(500.0, &RedParams::default());
        assert_eq!(arrive(&mut red, PacketKind::Data, &mut Ecn::NotCapable, 1), Verdict::Forward);
        assert_eq!(arrive(&mut red, PacketKind::Data, &mut Ecn::NotCapable, 2), Verdict::Drop);
    }

    /// "if min_th <= avg < max_th" (section IV): at min_th itself arrivals are counted, below it
    /// count is none; at the end all are dropped, 2*max_th where it is gentle and max_th where not.
    #[test]
    fn thresholds_belong_to_what_is_above_them() {
        let at = |average, gentle| {
            let mut red = red(&RedParams { w_q: 1.0, gentle, ecn: false, ..RedParams::default() });
            let verdict = arrive(&mut red, PacketKind::Data, &mut Ecn::NotCapable, average);
            (verdict, red.count)
        };
        assert_eq!(at(99, true), (Verdict::Forward, None));
        assert_eq!(at(100, true), (Verdict::Forward, Some(1.0)));
        assert_eq!(at(399, true), (Verdict::Forward, Some(1.0)));
        assert_eq!(at(400, true), (Verdict::Drop, Some(0.0)));
        assert_eq!(at(199, false), (Verdict::Forward, Some(1.0)));
        assert_eq!(at(200, false), (Verdict::Drop, Some(0.0)));
    }

    /// ns-2 (red.cc, modify_p): "count*p < 1.0" is none, "< 2.0" is p/(2 - count*p), and else 1;
    /// without `wait` "< 1.0" is p/(1 - count*p). At p = 1/16 that is at 16 and 32 packets. By size
    /// p_a is scaled where it is below 1.
    #[test]
    fn a_spread_changes_at_whole_multiples() {
        let at = |wait, by_size, count, size| {
            let mut red = red(&RedParams { wait, by_size, ..RedParams::default() });
            red.p_b = 0.0625;
            red.final_probability(count, size)
        };
        assert_eq!((at(true, false, 15.0, 1.0), at(true, false, 16.0, 1.0)), (0.0, 0.0625));
        assert_eq!((at(true, false, 24.0, 1.0), at(true, false, 31.0, 1.0)), (0.125, 1.0));
        assert_eq!((at(true, false, 32.0, 1.0), at(true, false, 99.0, 1.0)), (1.0, 1.0));
        assert_eq!((at(false, false, 0.0, 1.0), at(false, false, 8.0, 1.0)), (0.0625, 0.125));
        assert_eq!((at(false, false, 16.0, 1.0), at(false, false, 17.0, 1.0)), (1.0, 1.0));
        assert_eq!((at(true, true, 24.0, 0.5), at(true, true, 32.0, 0.5)), (0.0625, 1.0));
    }

    /// `mark_p`: above it, and not at it: p_b is 0.5 half way between the thresholds with
    /// max_p = 1.
    #[test]
    fn mark_p_itself_still_marks() {
        for (mark_p, verdict) in [(0.5, Verdict::Forward), (0.499, Verdict::Drop)] {
            let params = RedParams { w_q: 1.0, max_p: 1.0, mark_p, ..RedParams::default() };
            let mut red = red(&params);
            red.count = Some(1000.0);
            assert_eq!(
                arrive(&mut red, PacketKind::Data, &mut Ecn::Ect0, 150),
                verdict,
                "{mark_p}"
            );
            assert_eq!(red.p_b, 0.5);
        }
    }

    /// Other thresholds without a new start: the average and the count stay, and so does an adapted
    /// max_p; one that was not adapted is the new one.
    #[test]
    fn what_was_measured_stays() {
        let context = router_context(Rate(8_000_000), 300);
        for (adaptive, max_p) in [(true, 0.3), (false, 0.05)] {
            let params = RedParams { adaptive, ..RedParams::default() };
            let mut red = Red::new(&params, &context);
            (red.average.value, red.count, red.p_b) = (123.0, Some(7.0), 0.01);
            red.set_max_p(0.3);
            red.retune(&RedParams { min_th: 50.0, max_p: 0.05, ..params }, &context);
            assert_eq!((red.average.value, red.count, red.p_b), (123.0, Some(7.0), 0.01));
            assert_eq!((red.min_th, red.max_p), (50.0, max_p));
            assert!(
                near(red.slope, max_p / 150.0) && near(red.gentle_slope, (1.0 - max_p) / 200.0)
            );
        }
    }

    /// The average's idle time is counted from the end of the last packet of the queue: a departure
    /// that leaves others does not begin one.
    #[test]
    fn a_line_with_packets_is_not_idle() {
        let mut red = red(&RedParams::default());
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let leave = |red: &mut Red, ms, left| {
            let (mut ecn, size, kind) = (Ecn::NotCapable, 1000, PacketKind::Data);
            let queued_for = Span::ZERO;
            let packet = Passing { flow: 0, size, kind, queued_for, ecn: &mut ecn, header: None };
            red.on_departure(at(ms), packet, queue(left));
        };
        leave(&mut red, 10, 0);
        leave(&mut red, 20, 1);
        red.average.value = 100.0;
        // Since 11 ms 19 packet times by 30 ms, and once more: 0.998^20 = 0.960 751.
        red.update_average(at(30), queue(0));
        assert!((red.average.value - 96.0751).abs() < 1e-3, "{}", red.average.value);
    }

    /// Draws go on where they were, whatever stream it is told of.
    #[test]
    fn new_parameters_leave_the_draws() {
        let context = router_context(Rate(8_000_000), 90);
        let mut router = Red::new(&RedParams::default(), &context);
        let mut before = router.stream.clone();
        let stream = Stream::new(7, 7, "another");
        router.retune(&RedParams::default(), &RouterContext { stream, ..context });
        assert_eq!(router.stream.bits(), before.bits());
    }

    /// Thresholds that are the same, and a maximum below the minimum: nothing rises between them.
    #[test]
    fn a_region_of_no_width_has_no_slope() {
        for max_th in [10.0, 5.0] {
            let red = red(&RedParams { min_th: 10.0, max_th, ..RedParams::default() });
            assert_eq!((red.max_th, red.slope), (10.0, 0.0));
            assert!(near(red.gentle_slope, 0.09));
        }
    }

    /// Draws are made where chance decides: not while an arrival cannot be picked, nor where it
    /// must be.
    #[test]
    fn nothing_is_drawn_where_nothing_is_open() {
        for (count, picked, draws) in
            [(1.0, false, false), (39.0, true, false), (25.0, false, true)]
        {
            let mut red = at_average(150.0, &RedParams::default());
            let mut before = red.stream.clone();
            red.count = Some(count);
            let picks = red.picks(1.0);
            assert!(draws || picks == picked, "{count}");
            // The 40th makes count*p_b 2, where p_a is 1.
            assert_eq!(red.stream.bits() != before.bits(), draws, "{count}");
        }
    }
}
