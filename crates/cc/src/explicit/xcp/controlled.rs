//! What the routers of XCP and of its relatives share: parameters, measurements, the two timers,
//! and what becomes of packets that state nothing. Katabi, Handley, Rohrs, SIGCOMM 2002, section
//! 3.5 and appendix A. A protocol says what it sums, how much it hands out, and to whom ([`Law`]);
//! [`Controlled`] makes a router of that. D1 and so on are the deviations that [`super::xcp`]
//! lists; they are of them all.

use core::fmt;

use units::{Rate, Span, Time};

use crate::params::Params;
use crate::roles::{Backlog, Header, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// The parameters of XCP's router; a relative's router has others besides.
    pub struct XcpRouterParams {
        /// alpha, share of the spare bandwidth handed out per interval; stable below
        /// pi/(4*sqrt(2)) = 0.555 (sections 3.5.1 and 4).
        alpha: f64 = 0.4 => (0.0, 10.0);
        /// beta, share of the persistent queue drained per interval; alpha^2*sqrt(2) is the stable
        /// choice (sections 3.5.1 and 4).
        beta: f64 = 0.226 => (0.0, 10.0);
        /// gamma, share of the traffic shuffled per interval (eq. 2).
        gamma: f64 = 0.1 => (0.0, 1.0);
        /// q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2).
        target_queue: f64 = 0.0 => (0.0, 1e12);
        /// Length of the control interval before the first estimate of the mean RTT.
        initial_interval: Span = Span::from_millis(50) => (1e-6, 100.0);
        /// Shortest control interval.
        min_interval: Span = Span::from_millis(1) => (1e-6, 100.0);
        /// Shortest window over which the persistent queue is the minimum.
        min_queue_window: Span = Span::from_millis(2) => (1e-6, 100.0);
        /// The window of the persistent queue as a share of the propagation delay: 1 in section
        /// 3.5.1, a half in the authors' code.
        queue_window: f64 = 1.0 => (0.01, 1.0);
        /// What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
        /// arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first
        /// code.
        xi_scale: f64 = 1.0 => (1.0, 10.0);
        /// Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in
        /// the authors' code of 2002.
        max_rtt: Span = Span::from_secs(10_000) => (1e-6, 1e4);
        /// Are ACKs served before data?
        acks_first: bool = false;
        /// May one packet get more feedback than is left for the interval? Appendix A as printed
        /// says yes, the authors' code (ns-2's XCP queue) no.
        overdraw: bool = false;
        /// e: the router takes its capacity for C*(1 + e), as one that shares its medium may.
        capacity_error: f64 = 0.0 => (-0.99, 10.0);
    }
}

/// What a packet states, from which its feedback is computed.
#[derive(Clone, Copy, Debug)]
pub struct Stated {
    /// s [bytes].
    pub size: f64,
    /// H_rtt [s].
    pub rtt: f64,
    /// rtt*s/cwnd [s].
    pub rtt_by_cwnd: f64,
}

impl Stated {
    /// What eqs. (4) and (7) take of it: rtt*s/cwnd and s.
    #[inline(always)]
    pub fn terms(&self) -> (f64, f64) {
        (self.rtt_by_cwnd, self.size)
    }
}

/// A congestion header.
pub trait Congestion: Header {
    /// What it states, with a packet of `size` bytes; `None` without an RTT estimate (D1, D3).
    fn stated(&self, size: f64) -> Option<Stated>;
    /// H_feedback.
    fn feedback(&self) -> f64;
    /// Writes H_feedback.
    fn set_feedback(&mut self, feedback: f64);
    /// What a router makes of it if it states nothing (D1).
    #[inline]
    fn pass(&mut self) {
        self.set_feedback(self.feedback().min(0.0));
    }
}

/// What a router measures of its link's arrivals.
#[derive(Clone, Debug)]
pub struct Meter {
    /// C, as the router believes it to be [bytes/s].
    pub capacity: f64,
    /// RTTs above it count as it in the mean [s].
    max_rtt: f64,

    /// Sums over the arrivals of the running interval: s [bytes].
    pub input_traffic: f64,
    /// rtt*s/cwnd [s].
    pub sum_rtt_by_cwnd: f64,
    /// rtt^2*s/cwnd, of rtt and the rtt that counts [s^2].
    sum_rtt2_by_cwnd: f64,
    /// The fewest bytes waiting that an arrival of the running queue window met.
    lowest_queue: Option<u64>,

    interval_start: Time,
    /// End of the running control interval.
    pub interval_end: Time,
    /// End of the running window of the persistent queue.
    pub window_end: Time,

    /// d, the flows' mean RTT [s].
    pub avg_rtt: f64,
    /// y, the rate of arrivals in the last interval [bytes/s].
    pub y: f64,
    /// Length of the last interval [s].
    length: f64,
    /// Q [bytes].
    pub persistent_queue: f64,
}

/// Variables that [`Meter::probe`] shows.
pub const QUEUE: Variable = Variable::new(
    "persistent_queue",
    "bytes",
    "Q, the queue that did not drain in a propagation delay",
);
/// As [`QUEUE`].
pub const MEAN_RTT: Variable =
    Variable::new("avg_rtt", "s", "d, the flows' mean RTT and the control interval");
/// As [`QUEUE`].
pub const INPUT: Variable =
    Variable::new("input_traffic", "bytes/s", "y, the rate of arrivals in the last interval");

impl Meter {
    /// Nothing measured yet (R1).
    fn new(params: &XcpRouterParams, capacity: Rate) -> Meter {
        let first = params.initial_interval;
        let mut meter = Meter {
            capacity: 0.0,
            max_rtt: 0.0,
            input_traffic: 0.0,
            sum_rtt_by_cwnd: 0.0,
            sum_rtt2_by_cwnd: 0.0,
            lowest_queue: None,
            interval_start: Time::ZERO,
            interval_end: Time::ZERO + first.max(params.min_interval),
            window_end: Time::ZERO + first.max(params.min_queue_window),
            avg_rtt: first.as_secs(),
            y: 0.0,
            length: 0.0,
            persistent_queue: 0.0,
        };
        meter.tune(params, capacity);
        meter
    }

    /// Other parameters, or another capacity. What runs ends as planned; the spare bandwidth is
    /// taken from the new capacity then.
    fn tune(&mut self, params: &XcpRouterParams, capacity: Rate) {
        self.capacity = capacity.bytes_per_sec() * (1.0 + params.capacity_error);
        self.max_rtt = params.max_rtt.as_secs();
    }

    /// A packet of `size` bytes arrives, before any drop decision.
    #[inline(always)]
    fn arrive(&mut self, size: f64, backlog: Backlog) {
        self.input_traffic += size;
        self.lowest_queue = Some(self.lowest_queue.map_or(backlog.bytes, |q| q.min(backlog.bytes)));
    }

    /// It states this.
    #[inline(always)]
    fn sample(&mut self, &Stated { rtt, rtt_by_cwnd, .. }: &Stated) {
        self.sum_rtt_by_cwnd += rtt_by_cwnd;
        // One instruction, where f64::min looks for NaNs besides.
        let counted = if rtt < self.max_rtt { rtt } else { self.max_rtt };
        self.sum_rtt2_by_cwnd += counted * rtt_by_cwnd;
    }

    /// The persistent queue: what did not drain within a propagation delay, or a share of it
    /// (section 3.5.1).
    fn end_queue_window(&mut self, params: &XcpRouterParams, now: Time, backlog: Backlog) {
        self.persistent_queue = self.lowest_queue.take().map_or(0.0, |bytes| bytes as f64);
        let queueing = backlog.bytes as f64 / self.capacity;
        let propagation = Span::from_secs_f64(params.queue_window * (self.avg_rtt - queueing));
        self.window_end = now + propagation.max(params.min_queue_window);
    }

    /// The estimates at the end of a control interval; without an RTT in it d stays.
    fn measure(&mut self, now: Time) {
        if self.sum_rtt_by_cwnd > 0.0 {
            self.avg_rtt = self.sum_rtt2_by_cwnd / self.sum_rtt_by_cwnd;
        }
        self.length = now.since(self.interval_start).as_secs();
        self.y = self.rate(self.input_traffic);
    }

    /// `bytes` over the length of the last interval (D4).
    pub fn rate(&self, bytes: f64) -> f64 {
        if self.length > 0.0 { bytes / self.length } else { 0.0 }
    }

    /// What eqs. (6) and (9) take of the interval: the sums of rtt*s/cwnd and of s.
    pub fn sums(&self) -> (f64, f64) {
        (self.sum_rtt_by_cwnd, self.input_traffic)
    }

    /// The next control interval begins.
    fn restart(&mut self, params: &XcpRouterParams, now: Time) {
        self.input_traffic = 0.0;
        self.sum_rtt_by_cwnd = 0.0;
        self.sum_rtt2_by_cwnd = 0.0;
        self.interval_start = now;
        self.interval_end = now + Span::from_secs_f64(self.avg_rtt).max(params.min_interval);
    }

    /// [`QUEUE`], [`MEAN_RTT`] and [`INPUT`].
    pub fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("persistent_queue", self.persistent_queue);
        sink("avg_rtt", self.avg_rtt);
        sink("input_traffic", self.y);
    }
}

/// What such a router sums, how much it hands out in a control interval, and to which packets.
pub trait Law: Sized {
    /// Its parameters.
    type Params: Params;
    /// The header it reads and writes.
    type Header: Congestion;
    /// What [`Law::probe`] shows, in its order.
    const VARIABLES: &'static [Variable];

    /// Those of its parameters that all have.
    fn common(params: &Self::Params) -> &XcpRouterParams;
    /// The state at the start of a run.
    fn new(context: &RouterContext) -> Self;
    /// A packet with a header arrives, whatever it states.
    #[inline(always)]
    fn arrive(&mut self, _header: &Self::Header, _size: f64) {}
    /// It states this: what is summed besides [`Meter`]'s sums.
    #[inline(always)]
    fn sample(&mut self, _params: &Self::Params, _header: &Self::Header, _stated: &Stated) {}
    /// A control interval ends (appendix A, "on estimation-control timeout"): phi, h and what is
    /// handed out in the next one. Its own sums begin anew, the meter's do afterwards.
    fn decide(&mut self, params: &Self::Params, meter: &Meter);
    /// A packet leaves that states this: what it is offered, its feedback, and the account of both.
    fn answer(&mut self, params: &Self::Params, header: &mut Self::Header, stated: &Stated);
    /// Its variables and the meter's by the paper's names.
    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64));
    /// As [`Router::describe`].
    fn describe(&self, _meter: &Meter, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A router with the law `L`.
#[derive(Clone, Debug)]
pub struct Controlled<L: Law> {
    pub(crate) params: L::Params,
    pub(crate) meter: Meter,
    pub(crate) law: L,
}

impl<L: Law> Controlled<L> {
    /// When the running control interval ends.
    pub(crate) fn interval_end(&self) -> Time {
        self.meter.interval_end
    }
}

impl<L: Law> Router for Controlled<L> {
    type Params = L::Params;
    type Header = L::Header;

    const VARIABLES: &'static [Variable] = L::VARIABLES;
    /// All is of the last interval, and of what has been handed out since.
    const SHOWS_ARRIVALS: bool = false;

    fn new(params: &L::Params, context: &RouterContext) -> Controlled<L> {
        let meter = Meter::new(L::common(params), context.capacity);
        Controlled { params: params.clone(), meter, law: L::new(context) }
    }

    fn acks_first(params: &L::Params) -> bool {
        L::common(params).acks_first
    }

    #[inline]
    fn on_arrival(
        &mut self,
        _now: Time,
        packet: Passing<'_, L::Header>,
        backlog: Backlog,
    ) -> Verdict {
        let size = f64::from(packet.size);
        self.meter.arrive(size, backlog);
        let Some(header) = packet.header else { return Verdict::Forward };
        self.law.arrive(header, size);
        if let Some(stated) = header.stated(size) {
            self.meter.sample(&stated);
            self.law.sample(&self.params, header, &stated);
        }
        Verdict::Forward
    }

    #[inline(always)] // as long as a call, and called for every packet
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, L::Header>, _backlog: Backlog) {
        let Some(header) = packet.header else { return };
        match header.stated(f64::from(packet.size)) {
            Some(stated) => self.law.answer(&self.params, header, &stated),
            None => header.pass(),
        }
    }

    fn next_timer(&self) -> Time {
        self.meter.interval_end.min(self.meter.window_end)
    }

    /// The window of the persistent queue first (D5).
    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        let common = L::common(&self.params);
        if now >= self.meter.window_end {
            self.meter.end_queue_window(common, now, backlog);
        }
        if now >= self.meter.interval_end {
            self.meter.measure(now);
            self.law.decide(&self.params, &self.meter);
            self.meter.restart(common, now);
        }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.tune(L::common(&self.params), capacity);
    }

    fn retune(&mut self, params: &L::Params, context: &RouterContext) {
        self.params = params.clone();
        self.meter.tune(L::common(params), context.capacity);
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.law.probe(&self.meter, sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.law.describe(&self.meter, out)
    }
}
