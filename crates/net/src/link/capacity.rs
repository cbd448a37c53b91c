//! How much a line carries, and when. The schedule is known in advance, so the end of a service is
//! arithmetic, over steps and outages as well: departures stay without events of their own.

use std::sync::Arc;

use scenario::{Capacity, Outage, Step, Trace};
use units::{Rate, Span, Time};

const PS_PER_SECOND: u128 = 1_000_000_000_000;
const PS_PER_MS: u64 = 1_000_000_000;

/// What a trace's rate is the mean of, where nothing asks for another time.
const BIN: Span = Span::from_millis(100);

/// A capacity that changes.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Constant between instants.
    Pieces(Pieces),
    /// A trace's.
    Opportunities(Opportunities),
}

impl Schedule {
    /// The capacity that starts at `rate`; `None` when it never changes.
    pub fn new(rate: Rate, capacity: &Capacity, outages: &[Outage]) -> Option<Schedule> {
        match capacity {
            Capacity::Constant if outages.is_empty() => None,
            Capacity::Constant => Some(Schedule::Pieces(Pieces::new(rate, &[], outages))),
            Capacity::Steps(steps) => Some(Schedule::Pieces(Pieces::new(rate, steps, outages))),
            Capacity::Trace(trace) => {
                Some(Schedule::Opportunities(Opportunities::new(trace, outages)))
            }
        }
    }

    /// Another capacity from an instant on; a trace's stays as it is.
    pub fn step(&mut self, step: Step) {
        if let Schedule::Pieces(Pieces { pieces, .. }) = self {
            pieces.push(Piece { from: Time(step.at.0), bps: step.rate.0 });
        }
    }

    /// What the line carries at `now` [bit/s]: a trace over the last 100 ms.
    pub fn rate(&self, now: Time) -> f64 {
        match self {
            Schedule::Pieces(Pieces { pieces, .. }) => {
                let at = pieces.partition_point(|piece| piece.from <= now);
                pieces[at.saturating_sub(1)].bps as f64
            }
            Schedule::Opportunities(_) => {
                self.bits(Time(now.0.saturating_sub(BIN.0)), now) / BIN.as_secs()
            }
        }
    }

    /// When the last bit of a packet leaves whose service starts at `start`, which is not before
    /// the last answer. Did the packet wait for its service?
    pub fn finish(&mut self, start: Time, bytes: u32, waited: bool) -> Time {
        match self {
            Schedule::Pieces(pieces) => pieces.finish(start, bytes),
            Schedule::Opportunities(opportunities) => opportunities.finish(start, bytes, waited),
        }
    }

    /// The bits that can leave after `from` and up to `to`.
    pub fn bits(&self, from: Time, to: Time) -> f64 {
        match self {
            Schedule::Pieces(pieces) => pieces.bits(from, to),
            Schedule::Opportunities(opportunities) => opportunities.bits(from, to),
        }
    }

    /// The bits of the packet whose last one leaves at `finish`, the last answer, that leave after
    /// `now`.
    pub fn bits_left(&self, now: Time, finish: Time) -> f64 {
        match self {
            Schedule::Pieces(pieces) => pieces.bits(now, finish),
            Schedule::Opportunities(opportunities) => opportunities.bits_left(now, finish),
        }
    }

    /// The bits that could leave up to `finish`, the last answer, and that no packet has used.
    pub fn unused(&self, finish: Time) -> f64 {
        match self {
            Schedule::Pieces(_) => 0.0,
            Schedule::Opportunities(opportunities) => opportunities.unused(finish),
        }
    }
}

/// From then on the line carries so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: Time,
    /// [bit/s]
    bps: u64,
}

/// Capacity that is constant between instants.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// In order of time; the first starts at zero, the last is not zero.
    pieces: Vec<Piece>,
    /// The piece of the last answer.
    at: usize,
}

impl Pieces {
    fn new(rate: Rate, steps: &[Step], outages: &[Outage]) -> Pieces {
        let edges = outages.iter().flat_map(|outage| [outage.from, outage.to]);
        let mut instants: Vec<Span> =
            steps.iter().map(|step| step.at).chain(edges).chain([Span::ZERO]).collect();
        instants.sort_unstable();
        let mut pieces: Vec<Piece> = Vec::new();
        for at in instants {
            let over = outages.partition_point(|outage| outage.to <= at);
            let out = outages.get(over).is_some_and(|outage| outage.from <= at);
            let taken = steps.partition_point(|step| step.at <= at);
            let bps = if out {
                0
            } else if taken > 0 {
                steps[taken - 1].rate.0
            } else {
                rate.0
            };
            if pieces.last().is_none_or(|last| last.bps != bps) {
                pieces.push(Piece { from: Time(at.0), bps });
            }
        }
        Pieces { pieces, at: 0 }
    }

    fn finish(&mut self, start: Time, bytes: u32) -> Time {
        while self.pieces.get(self.at + 1).is_some_and(|next| next.from <= start) {
            self.at += 1;
        }
        // Bits times picoseconds per second: rates times picoseconds, without rounding.
        let mut left = u128::from(bytes) * 8 * PS_PER_SECOND;
        let mut now = start;
        while let Some(next) = self.pieces.get(self.at + 1) {
            let carried = u128::from(self.pieces[self.at].bps) * u128::from(next.from.since(now).0);
            if carried >= left {
                break;
            }
            left -= carried;
            now = next.from;
            self.at += 1;
        }
        let bps = u128::from(self.pieces[self.at].bps).max(1);
        now + Span(u64::try_from(left.div_ceil(bps)).unwrap_or(u64::MAX))
    }

    fn bits(&self, from: Time, to: Time) -> f64 {
        let mut sum = 0_u128;
        let first = self.pieces.partition_point(|piece| piece.from <= from).saturating_sub(1);
        for (i, piece) in self.pieces.iter().enumerate().skip(first) {
            if piece.from >= to {
                break;
            }
            let end = self.pieces.get(i + 1).map_or(Time::NEVER, |next| next.from);
            let lasts = end.min(to).since(piece.from.max(from));
            sum += u128::from(piece.bps) * u128::from(lasts.0);
        }
        sum as f64 / PS_PER_SECOND as f64
    }
}

/// A trace: [`Trace::BYTES`] may leave at each of its instants. A packet leaves with the
/// opportunity that carries its last byte. What an opportunity has left serves packets that wait
/// then; a packet that finds the line idle waits for the next one, as in mahimahi.
#[derive(Clone, Debug)]
pub struct Opportunities {
    cycle: Cycle,
    outages: Vec<Outage>,
    /// The first outage that may lie ahead.
    outage: usize,
    /// The next opportunity's number, from the start of the run.
    next: u64,
    /// What the last one has left [bytes].
    left: u32,
}

impl Opportunities {
    fn new(trace: &Trace, outages: &[Outage]) -> Opportunities {
        let cycle = Cycle::new(trace);
        Opportunities { cycle, outages: outages.to_vec(), outage: 0, next: 0, left: 0 }
    }

    fn finish(&mut self, start: Time, bytes: u32, waited: bool) -> Time {
        let mut need = bytes;
        if waited {
            // Service starts where the packet before left: at the last opportunity.
            let used = self.left.min(need);
            self.left -= used;
            need -= used;
            if need == 0 {
                return start;
            }
        } else {
            self.next = self.next.max(self.cycle.before(Time(start.0.saturating_add(1))));
        }
        loop {
            let now = self.take();
            if need <= Trace::BYTES {
                self.left = Trace::BYTES - need;
                return now;
            }
            need -= Trace::BYTES;
        }
    }

    /// The next opportunity's time; those of an outage are lost.
    fn take(&mut self) -> Time {
        loop {
            let now = self.cycle.time(self.next);
            match self.outages.get(self.outage) {
                Some(outage) if Time(outage.to.0) <= now => self.outage += 1,
                Some(outage) if Time(outage.from.0) <= now => {
                    self.next = self.next.max(self.cycle.before(Time(outage.to.0)));
                    self.outage += 1;
                }
                _ => {
                    self.next += 1;
                    return now;
                }
            }
        }
    }

    fn bits(&self, from: Time, to: Time) -> f64 {
        let (from, to) = (from.0.saturating_add(1), to.0.saturating_add(1));
        let within = |low: u64, high: u64| {
            self.cycle.before(Time(high)).saturating_sub(self.cycle.before(Time(low)))
        };
        let over = self.outages.partition_point(|outage| outage.to.0 <= from);
        let during = self.outages[over..].iter().take_while(|outage| outage.from.0 < to);
        let lost: u64 = during.map(|out| within(out.from.0.max(from), out.to.0.min(to))).sum();
        (within(from, to) - lost) as f64 * f64::from(Trace::BYTES) * 8.0
    }

    /// Of the last packet.
    fn bits_left(&self, now: Time, finish: Time) -> f64 {
        self.bits(now, finish) - self.unused(finish)
    }

    /// `finish` may have opportunities behind the one that the last packet left with.
    fn unused(&self, finish: Time) -> f64 {
        let behind = self.cycle.before(Time(finish.0.saturating_add(1))).saturating_sub(self.next);
        (behind as f64 * f64::from(Trace::BYTES) + f64::from(self.left)) * 8.0
    }
}

/// A trace's instants, again and again.
#[derive(Clone, Debug)]
struct Cycle {
    opportunities_ms: Arc<[u32]>,
    period_ms: u64,
}

impl Cycle {
    fn new(trace: &Trace) -> Cycle {
        let period_ms = trace.opportunities_ms.last().map_or(1, |&last| u64::from(last)).max(1);
        Cycle { opportunities_ms: trace.opportunities_ms.clone(), period_ms }
    }

    /// When the opportunity with this number is, counted from zero.
    fn time(&self, number: u64) -> Time {
        let count = self.opportunities_ms.len() as u64;
        let offset = u64::from(self.opportunities_ms[(number % count) as usize]);
        let ms = (number / count).saturating_mul(self.period_ms).saturating_add(offset);
        Time(ms.saturating_mul(PS_PER_MS))
    }

    /// How many opportunities there are before `time`: the number of the first that is not.
    fn before(&self, time: Time) -> u64 {
        let Some(last) = time.0.checked_sub(1) else { return 0 };
        let ms = last / PS_PER_MS;
        let (cycle, offset) = (ms / self.period_ms, ms % self.period_ms);
        let begun = self.opportunities_ms.partition_point(|&at| u64::from(at) <= offset);
        cycle * self.opportunities_ms.len() as u64 + begun as u64
    }
}

/// What the routers of a link hear of its capacity, and when. They do not see outages: those of a
/// real line are nothing that it announces.
#[derive(Clone, Debug)]
pub struct Notices {
    told: Rate,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Silent,
    /// Each step, when it comes.
    Steps {
        steps: Vec<Step>,
        next: usize,
    },
    /// After each bin of a trace its mean: what a router could have measured. A bin without
    /// opportunity counts as one with one, as no capacity is zero.
    Bins {
        cycle: Cycle,
        length: Span,
        next: u64,
    },
}

impl Notices {
    /// Those of a capacity that starts at `rate`.
    pub fn new(rate: Rate, capacity: &Capacity) -> Notices {
        let source = match capacity {
            Capacity::Constant => Source::Silent,
            Capacity::Steps(steps) => Source::Steps { steps: steps.clone(), next: 0 },
            Capacity::Trace(trace) => {
                Source::Bins { cycle: Cycle::new(trace), length: BIN, next: 1 }
            }
        };
        Notices { told: rate, source }
    }

    /// Those of a trace after each of these instead, from the first that is over after `now` on.
    pub fn every(&mut self, time: Span, now: Time) {
        if let Source::Bins { length, next, .. } = &mut self.source
            && *length != time
        {
            *length = time;
            *next = now.0 / time.0.max(1) + 1;
        }
    }

    /// What the routers know.
    pub fn told(&self) -> Rate {
        self.told
    }

    /// When the next one is due.
    pub fn next(&self) -> Time {
        match &self.source {
            Source::Silent => Time::NEVER,
            Source::Steps { steps, next } => {
                steps.get(*next).map_or(Time::NEVER, |step| Time(step.at.0))
            }
            Source::Bins { length, next, .. } => bin_start(*length, *next),
        }
    }

    /// The capacity that the one due now tells, unless the routers know it.
    pub fn take(&mut self) -> Option<Rate> {
        let rate = match &mut self.source {
            Source::Silent => return None,
            Source::Steps { steps, next } => {
                *next += 1;
                steps[*next - 1].rate
            }
            Source::Bins { cycle, length, next } => {
                let [from, to] = [*next - 1, *next].map(|bin| bin_start(*length, bin));
                let opportunities = cycle.before(to) - cycle.before(from);
                *next += 1;
                let bits = opportunities.max(1) * u64::from(Trace::BYTES) * 8;
                let bps = u128::from(bits) * PS_PER_SECOND / u128::from(length.0.max(1));
                Rate(u64::try_from(bps).unwrap_or(u64::MAX))
            }
        };
        (std::mem::replace(&mut self.told, rate) != rate).then_some(rate)
    }
}

fn bin_start(length: Span, bin: u64) -> Time {
    Time(bin.saturating_mul(length.0))
}

#[cfg(test)]
mod tests;
