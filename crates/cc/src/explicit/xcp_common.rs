//! What the routers of XCP and of its relatives measure, and how they keep account of what they hand
//! out: Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5 and appendix A. The protocols' own files say
//! what is handed out to whom.

use units::{Rate, Span, Time};

use crate::roles::Backlog;

/// Wire units per byte of H_feedback.
pub const FEEDBACK_UNITS: f64 = 65536.0;
/// H_feedback from here on is "the largest value": the top of the wire's range [bytes].
pub const LARGEST_FEEDBACK: f64 = i64::MAX as f64 / FEEDBACK_UNITS;

/// Are all fields of a header in the range that the formulas are made for? Not without an RTT.
#[inline(always)]
pub fn has_estimate(cwnd: f64, rtt: f64, feedback: f64) -> bool {
    (1e-9..=1e4).contains(&rtt) && (1e-6..=1e15).contains(&cwnd) && feedback >= -LARGEST_FEEDBACK
}

/// What a router knows of its link's arrivals.
#[derive(Clone, Debug)]
pub struct Meter {
    /// C, as the router believes it to be [bytes/s].
    pub capacity: f64,
    /// RTTs above it count as it in the mean [s].
    pub max_rtt: f64,

    /// Sums over the arrivals of the running interval: s [bytes].
    pub input_traffic: f64,
    /// rtt*s/cwnd [s].
    pub sum_rtt_by_cwnd: f64,
    /// rtt^2*s/cwnd, of rtt and the rtt that counts [s^2].
    pub sum_rtt2_by_cwnd: f64,
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
    pub length: f64,
    /// Q [bytes].
    pub persistent_queue: f64,
}

impl Meter {
    /// Nothing measured yet; the first interval and the first window are `first` long, or `shortest`
    /// (interval, window).
    pub fn new(capacity: f64, first: Span, shortest: (Span, Span), max_rtt: Span) -> Meter {
        Meter {
            capacity,
            max_rtt: max_rtt.as_secs(),
            input_traffic: 0.0,
            sum_rtt_by_cwnd: 0.0,
            sum_rtt2_by_cwnd: 0.0,
            lowest_queue: None,
            interval_start: Time::ZERO,
            interval_end: Time::ZERO + first.max(shortest.0),
            window_end: Time::ZERO + first.max(shortest.1),
            avg_rtt: first.as_secs(),
            y: 0.0,
            length: 0.0,
            persistent_queue: 0.0,
        }
    }

    /// A packet of `size` bytes arrives, before any drop decision.
    #[inline(always)]
    pub fn arrive(&mut self, size: f64, backlog: Backlog) {
        self.input_traffic += size;
        self.lowest_queue = Some(self.lowest_queue.map_or(backlog.bytes, |q| q.min(backlog.bytes)));
    }

    /// It has an RTT and rtt*s/cwnd.
    #[inline(always)]
    pub fn sample(&mut self, rtt: f64, rtt_by_cwnd: f64) {
        self.sum_rtt_by_cwnd += rtt_by_cwnd;
        // One instruction, where f64::min looks for NaNs besides.
        let counted = if rtt < self.max_rtt { rtt } else { self.max_rtt };
        self.sum_rtt2_by_cwnd += counted * rtt_by_cwnd;
    }

    /// When the control interval or the queue window ends.
    pub fn next_timer(&self) -> Time {
        self.interval_end.min(self.window_end)
    }

    /// The persistent queue: what did not drain within `share` of the propagation delay (section
    /// 3.5.1), or the shortest window.
    pub fn end_queue_window(
        &mut self,
        now: Time,
        backlog: Backlog,
        (share, shortest): (f64, Span),
    ) {
        self.persistent_queue = self.lowest_queue.take().map_or(0.0, |bytes| bytes as f64);
        let queueing = backlog.bytes as f64 / self.capacity;
        let propagation = Span::from_secs_f64(share * (self.avg_rtt - queueing));
        self.window_end = now + propagation.max(shortest);
    }

    /// The estimates at the end of a control interval; without an RTT in it d stays.
    pub fn measure(&mut self, now: Time) {
        if self.sum_rtt_by_cwnd > 0.0 {
            self.avg_rtt = self.sum_rtt2_by_cwnd / self.sum_rtt_by_cwnd;
        }
        self.length = now.since(self.interval_start).as_secs();
        self.y = self.rate(self.input_traffic);
    }

    /// `bytes` over the length of the last interval.
    pub fn rate(&self, bytes: f64) -> f64 {
        if self.length > 0.0 { bytes / self.length } else { 0.0 }
    }

    /// phi = alpha*d*(C - y) - beta*(Q - q0) [bytes], eq. (1).
    pub fn phi(&self, alpha: f64, beta: f64, target_queue: f64) -> f64 {
        let spare = self.capacity - self.y;
        alpha * self.avg_rtt * spare - beta * (self.persistent_queue - target_queue)
    }

    /// The next control interval begins.
    pub fn restart(&mut self, now: Time, shortest: Span) {
        self.input_traffic = 0.0;
        self.sum_rtt_by_cwnd = 0.0;
        self.sum_rtt2_by_cwnd = 0.0;
        self.interval_start = now;
        self.interval_end = now + Span::from_secs_f64(self.avg_rtt).max(shortest);
    }
}

/// The capacity that a router believes in, C*(1 + error) [bytes/s].
pub fn believed(capacity: Rate, error: f64) -> f64 {
    capacity.bytes_per_sec() * (1.0 + error)
}

/// What is handed out in an interval to the packets of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Scale of what every flow gets, eq. (6).
    pub xi_p: f64,
    /// Scale of what every flow gives, eq. (9).
    pub xi_n: f64,
    /// What may still be given [bytes/s].
    pub residue_pos: f64,
    /// What must still be taken [bytes/s].
    pub residue_neg: f64,
}

impl Shares {
    /// `pos` bytes to give and `neg` to take in an interval of `d` seconds, among packets whose sums
    /// were `sum_rtt_by_cwnd` and `traffic`, `xi_scale` times as fast as it needs; a zero sum makes its scale 0.
    pub fn new(
        (pos, neg): (f64, f64),
        d: f64,
        sum_rtt_by_cwnd: f64,
        traffic: f64,
        xi_scale: f64,
    ) -> Shares {
        Shares {
            xi_p: xi_scale * ratio(pos, d * sum_rtt_by_cwnd), // eq. (6)
            xi_n: xi_scale * ratio(neg, d * traffic),         // eq. (9)
            residue_pos: pos / d,
            residue_neg: neg / d,
        }
    }

    /// What a packet gets and gives, both over its RTT: eq. (4) and (7).
    #[inline(always)]
    pub fn offer(&self, rtt_by_cwnd: f64, size: f64, overdraw: bool) -> (f64, f64) {
        let pos_by_rtt = self.xi_p * rtt_by_cwnd;
        let neg_by_rtt = self.xi_n * size;
        if overdraw {
            return (pos_by_rtt, neg_by_rtt);
        }
        (pos_by_rtt.min(self.residue_pos.max(0.0)), neg_by_rtt.min(self.residue_neg.max(0.0)))
    }

    /// A packet that holds the feedback `held` leaves and is offered (what it gets, what it gives) over its RTT: the
    /// feedback that it leaves with, the lesser, and the account of it (appendix A).
    #[inline(always)]
    pub fn answer(&mut self, rtt: f64, held: f64, (pos, neg): (f64, f64)) -> f64 {
        let feedback = rtt * (pos - neg); // eq. (3)
        let (left, paid) = if held >= feedback {
            (feedback, (pos, neg))
        } else {
            (held, charge(held / rtt, pos - neg))
        };
        self.pay(paid);
        left
    }

    /// A packet took `pos` and gave `neg`. What is spent ends its feedback.
    #[inline(always)]
    pub fn pay(&mut self, (pos, neg): (f64, f64)) {
        self.residue_pos -= pos;
        self.residue_neg -= neg;
        if self.residue_pos <= 0.0 {
            self.xi_p = 0.0;
        }
        if self.residue_neg <= 0.0 {
            self.xi_n = 0.0;
        }
    }
}

/// What a packet costs that keeps `held` where this router's feedback is `ours`, the larger: a router
/// before this one, or the sender, asks for less (appendix A).
#[inline(always)]
pub fn charge(held: f64, ours: f64) -> (f64, f64) {
    if held > 0.0 { (held, ours - held) } else { (0.0, ours.max(0.0) - held) }
}

/// `numerator / sum`; nothing when nothing was summed.
pub fn ratio(numerator: f64, sum: f64) -> f64 {
    if sum > 0.0 { numerator / sum } else { 0.0 }
}
