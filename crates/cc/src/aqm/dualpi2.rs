//! DualPI2, the coupled dual queue of L4S. RFC 9332 (January 2023), sections 2 and 4 and appendix
//! A; Linux's net/sched/sch_dualpi2.c (6.17, version 1.0), whose arithmetic this is.
//!
//! Packets with ECT(1) or CE wait in the L queue, all others in the C queue. A PI controller turns
//! the time that the older of the two heads has waited into a base probability p'.
//!
//! ```math
//! q = max(age_L, age_C)        ages of the two heads, each t_update (RFC 9332, Figure 8)
//! p_prime <- p_prime + alpha*(q - target) + beta*(q - q_before)
//! p_C = p_prime^2              of a classic packet: both of two draws below p'
//! p_L = max(k*p_prime, p_own)  of a scalable one; p_own is what the L queue says by itself
//! ```
//!
//! Classic packets are marked or dropped with p_C, scalable ones marked with p_L. As Reno's rate
//! goes with 1/sqrt(p_C) and a scalable one's with 1/p_L, k = 2 gives both about the same window.
//! By itself the L queue marks all that have waited longer than a step (Linux), or with a
//! probability that rises over a ramp (RFC 9332, `l_aqm = "ramp"`). When k p' is above 1, the C
//! queue drops where it would mark, and the L queue drops with p'^2 as well and marks the rest.
//!
//! The L queue goes first unless the C queue has a credit (weighted round robin, `wc` per cent for
//! C), or its head is older by more than a shift (`scheduler = "ts-fifo"`).
//!
//! The times, gains, weights and the coupling are Linux's; the preset `rfc9332` has the RFC's.
//!
//! Deviations:
//! - D1: p' stays at its bounds where Linux's 32 bits wrap: a delay that falls by more than 312 ms
//!   between two updates may leave p' above 0 there.
//! - D2: `min_qlen_step` counts what waits behind the packet at its departure, Linux what the
//!   packet found on arrival; with 0, the default, both are the same.
//! - D3: no filters: what goes where is the ECN field's affair alone (no class "LLLL"), and ACKs
//!   are classic and not ECN-capable.
//! - D4: the limit is the link's buffer (Linux's default is 10,000 packets), and no limit counts
//!   memory.
//! - D5: with the RFC's values, too, packets are picked by draws, where its appendix A counts
//!   probabilities up to 1 (`recur`), and gains are whole multiples of Linux's unit: alpha is
//!   0.1492 for 0.15. Less than two full packets waiting are spared in both.
//! - D6: with `drop_early` the ramp draws for itself at the head, as the wait is not known before.
//! - D7: Th_len counts the packet that departs ("more than one packet queued", Figure 7).

use units::random::Stream;
use units::{Rate, Span, Time};

use crate::classes::{Order, Overflow, Place, Plan, Scheduler};
use crate::roles::{Ecn, PacketKind, Passing, Router, RouterContext, Variable, Verdict};

choice! {
    /// What the L queue does by itself.
    pub enum LAqm {
        /// Marks what has waited longer than a threshold.
        Step = "step",
        /// Marks with a probability that rises from a threshold on.
        Ramp = "ramp",
    }
}

choice! {
    /// What becomes of packets when k p' is above 1.
    pub enum Overload {
        /// Drops keep the delay.
        Drop = "drop",
        /// ECN-capable packets of the L queue are never dropped but by the limit; p' stays at 1/k.
        Overflow = "overflow",
    }
}

choice! {
    /// Which queue is served.
    pub enum Serving {
        /// Weighted round robin by a credit.
        Wrr = "wrr",
        /// Time-shifted FIFO.
        TsFifo = "ts-fifo",
    }
}

params! {
    /// DualPI2's parameters.
    pub struct DualPi2Params {
        /// target, the delay to hold in the C queue.
        target: Span = Span::from_millis(15) => (1e-6, 4.0);
        /// t_update, time between two changes of p'.
        t_update: Span = Span::from_millis(16) => (1e-5, 4.0);
        /// alpha, the integral gain [1/s].
        alpha: f64 = 41.0 / 256.0 => (0.004, 1e4);
        /// beta, the proportional gain [1/s].
        beta: f64 = 819.0 / 256.0 => (0.004, 1e4);
        /// k, the coupling factor.
        k: u64 = 2 => (1.0, 255.0);
        /// What the L queue does by itself.
        l_aqm: LAqm = LAqm::Step;
        /// The step's threshold, or the ramp's lower one (minTh).
        threshold: Span = Span::from_millis(1) => (0.0, 4.0);
        /// The ramp's length in time: above threshold + range all are marked.
        range: Span = Span::from_micros(400) => (1e-6, 4.0);
        /// The step in packets that wait in the L queue, in place of time; 0: in time.
        step_packets: u64 = 0 => (0.0, 1e6);
        /// Packets that must wait behind for step or ramp to act (Linux's min_qlen_step, the RFC's
        /// Th_len).
        min_qlen_step: u64 = 0 => (0.0, 1e6);
        /// Which queue is served.
        scheduler: Serving = Serving::Wrr;
        /// wc, the C queue's weight [per cent]; the L queue has the rest.
        wc: u64 = 10 => (0.0, 100.0);
        /// tshift, by how much older C's head must be than L's in the time-shifted FIFO (appendix
        /// A.2).
        tshift: Span = Span::from_millis(50) => (0.0, 4.0);
        /// What becomes of packets when k p' is above 1.
        overload: Overload = Overload::Drop;
        /// Is the coupled decision made on arrival rather than at the head?
        drop_early: bool = false;
    }
    presets {
        /// RFC 9332, appendix A.1: T_update = min(target, RTT_max/3), alpha = 0.1
        /// T_update/RTT_max^2 and beta = 0.3/RTT_max for RTT_max = 100 ms, with the ramp from 0.8
        /// to 1.2 ms.
        "rfc9332" {
            t_update = Span(Span::from_millis(15)), alpha = Number(0.15), beta = Number(3.0),
            l_aqm = Choice("ramp"), threshold = Span(Span::from_micros(800)),
            min_qlen_step = Count(1),
        }
    }
}

/// The class of classic packets.
const C: u32 = 0;
/// The class of scalable ones.
const L: u32 = 1;

/// Probability 1.
const MAX_PROB: u32 = u32::MAX;

/// A gain [1/s] in probability per 64 ns.
fn scaled(gain: f64) -> i64 {
    (gain * 64.0 * f64::from(MAX_PROB) / 1e9) as i64
}

/// Whole nanoseconds.
fn ns(span: Span) -> i64 {
    (span.0 / 1000).min(i64::MAX as u64 / 4) as i64
}

/// The base probability and who moves it.
#[derive(Clone, Copy, Debug, Default)]
struct Pi2 {
    /// [ns]
    target: i64,
    alpha: i64,
    beta: i64,
    most: u32,
    /// p'.
    p: u32,
    /// q at the last update [ns].
    last: i64,
}

impl Pi2 {
    /// Each t_update, with the age of the older head [ns].
    fn update(&mut self, q: i64) {
        let delta = i128::from(q - self.target) * i128::from(self.alpha)
            + i128::from(q - self.last) * i128::from(self.beta);
        self.last = q;
        // Division rounds towards zero, in both directions.
        let p = i128::from(self.p) + delta / 64;
        self.p = p.clamp(0, i128::from(self.most)) as u32;
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Pass,
    Mark,
    Drop,
}

/// The base probability and what it is coupled by.
#[derive(Clone, Copy, Debug)]
struct Coupling {
    p: u32,
    k: u64,
    overload: Overload,
}

impl Coupling {
    /// A classic packet; `draw` gives 32 random bits.
    fn classic(self, capable: bool, mut draw: impl FnMut() -> u32) -> Act {
        match draw() <= self.p && draw() <= self.p {
            true if self.overloaded() || !capable => Act::Drop,
            true => Act::Mark,
            false => Act::Pass,
        }
    }

    /// A scalable packet, which the L queue itself would mark with the probability `native`.
    fn scalable(self, native: u32, mut draw: impl FnMut() -> u32) -> Act {
        if self.overloaded() {
            let drops = self.overload == Overload::Drop && draw() <= self.p && draw() <= self.p;
            return if drops { Act::Drop } else { Act::Mark };
        }
        let p_l = self.coupled().max(u64::from(native));
        if u64::from(draw()) <= p_l { Act::Mark } else { Act::Pass }
    }

    /// k p'.
    fn coupled(self) -> u64 {
        u64::from(self.p) * self.k
    }

    fn overloaded(self) -> bool {
        self.coupled() > u64::from(MAX_PROB)
    }
}

/// What was decided since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    picked: u64,
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: DualPi2Params,
    /// Two full packets, below which nothing is picked [bytes].
    spared: u64,
    stream: Stream,
    pi2: Pi2,
    /// When the heads of both queues came.
    heads: [Option<Time>; 2],
    counts: [Count; 2],
    next: Time,
}

/// Is it for the L queue? ACKs have an echo in these bits.
fn class_of(packet: &Passing<'_, ()>) -> u32 {
    let scalable = matches!(*packet.ecn, Ecn::Ect1 | Ecn::Ce);
    if packet.kind == PacketKind::Data && scalable { L } else { C }
}

impl DualPi2 {
    fn controller(params: &DualPi2Params) -> Pi2 {
        let most = match params.overload {
            Overload::Drop => MAX_PROB,
            Overload::Overflow => (u64::from(MAX_PROB) / params.k.max(1)) as u32,
        };
        let (alpha, beta) = (scaled(params.alpha), scaled(params.beta));
        Pi2 { target: ns(params.target), alpha, beta, most, ..Pi2::default() }
    }

    /// The coupled decision over a packet of `class`, with so many bytes waiting besides; `native`
    /// is the ramp's probability, if it is known.
    fn decide(
        &mut self,
        packet: &mut Passing<'_, ()>,
        class: u32,
        waiting: u64,
        native: u32,
    ) -> Verdict {
        let DualPi2 { stream, pi2, params, .. } = self;
        let spared = waiting < self.spared;
        if spared && native == 0 {
            return Verdict::Forward;
        }
        let p = if spared { 0 } else { pi2.p };
        let coupling = Coupling { p, k: params.k, overload: params.overload };
        let draw = || (stream.bits() >> 32) as u32;
        let act = match class {
            C => {
                let capable = packet.kind == PacketKind::Data && *packet.ecn != Ecn::NotCapable;
                coupling.classic(capable, draw)
            }
            _ => coupling.scalable(native, draw),
        };
        let count = &mut self.counts[class.min(L) as usize];
        count.packets += 1;
        count.picked += u64::from(act != Act::Pass);
        match act {
            Act::Pass => Verdict::Forward,
            Act::Mark => {
                *packet.ecn = Ecn::Ce;
                Verdict::Forward
            }
            Act::Drop => Verdict::Drop,
        }
    }

    /// Does the step mark a packet of the L queue? `behind` wait after it there.
    fn steps(&self, queued_for: Span, behind: u32) -> bool {
        let params = &self.params;
        if params.l_aqm == LAqm::Ramp || u64::from(behind) < params.min_qlen_step {
            return false;
        }
        match params.step_packets {
            0 => ns(queued_for) > ns(params.threshold),
            packets => u64::from(behind) > packets,
        }
    }

    /// p'_L of the ramp: 0 up to the threshold, 1 a range above it.
    fn ramp(&self, queued_for: Span, behind: u32) -> u32 {
        let params = &self.params;
        if params.l_aqm == LAqm::Step || u64::from(behind) < params.min_qlen_step {
            return 0;
        }
        let over = ns(queued_for) - ns(params.threshold);
        // The cast saturates at both ends.
        (over as f64 / ns(params.range).max(1) as f64 * f64::from(MAX_PROB)) as u32
    }
}

impl Router for DualPi2 {
    type Params = DualPi2Params;
    type Header = ();

    fn new(params: &DualPi2Params, context: &RouterContext) -> DualPi2 {
        DualPi2 {
            params: params.clone(),
            spared: 2 * u64::from(context.packet_bytes),
            stream: context.stream.clone(),
            pi2: DualPi2::controller(params),
            heads: [None; 2],
            counts: [Count::default(); 2],
            next: Time::ZERO + params.t_update,
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, _: crate::roles::Backlog) {
        let age = |head: Option<Time>| head.map_or(0, |since| ns(now.since(since)));
        let q = self.heads.map(age).into_iter().fold(0, i64::max);
        self.pi2.update(q);
        self.next = now + self.params.t_update;
    }

    /// Times do not depend on the capacity.
    fn on_capacity(&mut self, _now: Time, _capacity: Rate) {}

    fn retune(&mut self, params: &DualPi2Params, context: &RouterContext) {
        let Pi2 { p, last, .. } = self.pi2;
        let fresh = DualPi2::controller(params);
        self.pi2 = Pi2 { p: p.min(fresh.most), last, ..fresh };
        self.spared = 2 * u64::from(context.packet_bytes);
        self.params = params.clone();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("p", "", "p', the base probability"),
        Variable::new("p_c", "", "p'^2, the probability of a classic mark or drop"),
        Variable::new("p_l", "", "k p', the coupled probability of a scalable mark, at most 1"),
        Variable::new("qdelay", "s", "age of the older head at the last update"),
        Variable::new("c_seen", "pkts", "classic packets that the coupling decided over"),
        Variable::new("c_picked", "pkts", "those of them that it marked or dropped"),
        Variable::new("l_seen", "pkts", "scalable packets that the coupling decided over"),
        Variable::new("l_picked", "pkts", "those of them that it marked or dropped"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let p = f64::from(self.pi2.p) / f64::from(MAX_PROB);
        sink("p", p);
        sink("p_c", p * p);
        sink("p_l", (self.params.k as f64 * p).min(1.0));
        sink("qdelay", self.pi2.last as f64 * 1e-9);
        let [c, l] = self.counts;
        sink("c_seen", c.packets as f64);
        sink("c_picked", c.picked as f64);
        sink("l_seen", l.packets as f64);
        sink("l_picked", l.picked as f64);
    }
}

impl Scheduler for DualPi2 {
    type Cell = ();

    fn plan(params: &DualPi2Params) -> Plan {
        let order = match params.scheduler {
            Serving::Wrr => Order::Credit(params.wc as u32, 100 - params.wc.min(100) as u32),
            Serving::TsFifo => Order::TimeShifted(params.tshift),
        };
        Plan { order, quantum: 0, overflow: Overflow::Arrival, per_class: None }
    }

    fn classify(&mut self, _: Time, packet: Passing<'_, ()>, _: &mut Place<'_, ()>) -> u32 {
        class_of(&packet)
    }

    fn admit(
        &mut self,
        _: Time,
        mut packet: Passing<'_, ()>,
        place: &mut Place<'_, ()>,
    ) -> Verdict {
        if !self.params.drop_early || !place.fits {
            return Verdict::Forward;
        }
        self.decide(&mut packet, place.class, place.backlog.bytes, 0)
    }

    fn on_heads(&mut self, since: [Option<Time>; 2]) {
        self.heads = since;
    }

    fn on_head(
        &mut self,
        _: Time,
        mut packet: Passing<'_, ()>,
        place: &mut Place<'_, ()>,
    ) -> Verdict {
        let (waiting, behind) = (place.backlog.bytes, place.queue.packets);
        let scalable = place.class == L;
        let native = if scalable { self.ramp(packet.queued_for, behind) } else { 0 };
        let waiting = if self.params.drop_early { 0 } else { waiting };
        if self.decide(&mut packet, place.class, waiting, native) == Verdict::Drop {
            return Verdict::Drop;
        }
        if scalable && self.steps(packet.queued_for, behind) {
            *packet.ecn = Ecn::Ce;
        }
        Verdict::Forward
    }
}

#[cfg(test)]
mod tests;
