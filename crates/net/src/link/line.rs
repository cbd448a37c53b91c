//! What a line does besides serving: outages, losses, jitter and reordering. A plain line has none
//! of it, and the hot path does not come here ([`crate::link::Link::plain`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cc::roles::PacketKind;
use scenario::{Jitter, Loss, LossModel, Outage, Reorder, Step};
use units::random::Stream;
use units::{Rate, Span, Time};

use crate::link::capacity::{Notices, Schedule};

/// A line that is not plain.
#[derive(Clone, Debug)]
pub struct Line {
    /// `None`: the link's rate, always.
    pub schedule: Option<Schedule>,
    /// What the link's routers hear of it.
    pub notices: Notices,
    /// Those in which arrivals are dropped.
    drops: Vec<Outage>,
    losses: Option<Losses>,
    delays: Delays,
    /// On a line that reorders: what is on it.
    pub crossing: Option<Crossing>,
    /// The packet in service, if the line will lose it: whose, and what.
    pub losing: Option<(u32, PacketKind)>,
}

/// The line's own random streams.
#[derive(Clone, Debug)]
pub struct Streams {
    pub loss: Stream,
    pub jitter: Stream,
    pub reorder: Stream,
}

impl Line {
    /// A line that nothing has crossed; `None` when it is plain.
    pub fn new(rate: Rate, line: &scenario::Line, streams: Streams) -> Option<Line> {
        if *line == scenario::Line::default() {
            return None;
        }
        let Streams { loss, jitter, reorder } = streams;
        Some(Line {
            schedule: Schedule::new(rate, &line.capacity, &line.outages),
            notices: Notices::new(rate, &line.capacity),
            drops: if line.outage_drops { line.outages.clone() } else { Vec::new() },
            losses: line.loss.as_ref().map(|model| Losses::new(model, loss)),
            delays: Delays {
                jitter: line.jitter.clone().map(|law| (law, jitter)),
                reorder: line.reorder.map(|law| (law, reorder)),
                last_out: Time::ZERO,
            },
            crossing: line.reorders().then(Crossing::default),
            losing: None,
        })
    }

    /// Another capacity from an instant on that is not before any of the schedule's.
    pub fn step(&mut self, step: Step) {
        if let Some(schedule) = &mut self.schedule {
            schedule.step(step);
        }
    }

    /// Is what arrives at `now` lost to an outage?
    pub fn refuses(&self, now: Time) -> bool {
        let now = Span(now.0);
        let at = self.drops.partition_point(|outage| outage.to <= now);
        self.drops.get(at).is_some_and(|outage| outage.from <= now)
    }

    /// Is the packet whose service begins now lost on the line?
    pub fn loses(&mut self, flow: u32, kind: PacketKind) -> bool {
        let lost = self.losses.as_mut().is_some_and(|losses| losses.next(kind));
        self.losing = lost.then_some((flow, kind));
        lost
    }

    /// When a packet comes out that would do so at `due`; asked once for each in order of service.
    pub fn out(&mut self, due: Time) -> Time {
        self.delays.out(due)
    }
}

/// Which packets a line loses.
#[derive(Clone, Debug)]
struct Losses {
    model: LossModel,
    data_only: bool,
    stream: Stream,
    /// Packets counted.
    seen: u64,
    /// Of a list, how many are behind.
    listed: usize,
    /// Is the chain of two states in the bad one? It starts in the good one.
    bad: bool,
}

impl Losses {
    fn new(loss: &Loss, stream: Stream) -> Losses {
        let Loss { model, data_only } = loss.clone();
        Losses { model, data_only, stream, seen: 0, listed: 0, bad: false }
    }

    fn next(&mut self, kind: PacketKind) -> bool {
        if self.data_only && kind != PacketKind::Data {
            return false;
        }
        self.seen += 1;
        match &self.model {
            &LossModel::Random(p) => self.stream.chance(p),
            &LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let step = self.stream.chance(if self.bad { to_good } else { to_bad });
                self.bad ^= step;
                self.stream.chance(if self.bad { loss_bad } else { loss_good })
            }
            LossModel::Every(n) => self.seen.is_multiple_of(*n),
            LossModel::List(list) => {
                let reached = list[self.listed..].iter().take_while(|&&n| n <= self.seen).count();
                self.listed += reached;
                reached > 0 && list[self.listed - 1] == self.seen
            }
        }
    }
}

/// How much later than by propagation packets come out.
#[derive(Clone, Debug)]
struct Delays {
    jitter: Option<(Jitter, Stream)>,
    reorder: Option<(Reorder, Stream)>,
    /// When the latest packet comes out, those apart that were held up to be overtaken.
    last_out: Time,
}

impl Delays {
    fn out(&mut self, due: Time) -> Time {
        let mut out = due;
        if let Some((jitter, stream)) = &mut self.jitter {
            out = out + jitter.extra.draw(stream);
            if jitter.in_order {
                out = out.max(self.last_out);
                self.last_out = out;
            }
        }
        if let Some((reorder, stream)) = &mut self.reorder
            && stream.chance(reorder.p)
        {
            out = out + reorder.extra;
        }
        out
    }
}

/// A packet on a line that reorders; the first to come out is the least, among equals the first
/// that entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    due: Time,
    serial: u64,
    id: u32,
}

/// The packets on a line that reorders. One event is pending for the first; one that was set for a
/// packet that is no longer the first is ignored.
#[derive(Clone, Debug)]
pub struct Crossing {
    held: BinaryHeap<Reverse<Held>>,
    entered: u64,
    /// The pending event that counts.
    armed: Time,
}

impl Default for Crossing {
    fn default() -> Crossing {
        Crossing { held: BinaryHeap::new(), entered: 0, armed: Time::NEVER }
    }
}

impl Crossing {
    /// Puts a packet on the line until `due`; true when an event must be set for it.
    pub fn push(&mut self, id: u32, due: Time) -> bool {
        self.entered += 1;
        self.held.push(Reverse(Held { due, serial: self.entered, id }));
        let first = due < self.armed;
        self.armed = self.armed.min(due);
        first
    }

    /// Is the event of this instant the one that counts?
    pub fn fires(&mut self, now: Time) -> bool {
        let fires = self.armed == now;
        if fires {
            self.armed = Time::NEVER;
        }
        fires
    }

    /// A packet that comes out by `now`.
    pub fn pop(&mut self, now: Time) -> Option<u32> {
        let first = self.held.peek_mut()?;
        (first.0.due <= now).then(|| std::collections::binary_heap::PeekMut::pop(first).0.id)
    }

    /// When an event must be set for the first packet, if that is not done.
    pub fn rearm(&mut self) -> Option<Time> {
        let due = self.held.peek()?.0.due;
        let first = due < self.armed;
        self.armed = self.armed.min(due);
        first.then_some(due)
    }

    /// The packets on the line, in no promised order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.held.iter().map(|held| held.0.id)
    }
}

#[cfg(test)]
mod tests;
