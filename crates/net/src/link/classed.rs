//! Links with classes: [`cc::classes`] says what a router is asked, [`queue`] which class is
//! served.
//!
//! Such a link is not plain, and its packets are where the hot path does not find them: what works
//! out departures there finds an empty queue. So it costs other links nothing, and all of it is
//! here.

use cc::classes::Place;
use cc::registry::{AnyCell, AnyHeader};
use cc::roles::{Backlog, Passing, Verdict};
use queue::{Queue, Waiting};
use units::{Span, Time};

use crate::link::{Fate, Link};
use crate::observe::watch::Visit;
use crate::packet::{Packet, Pool};
use crate::world::World;

/// A packet at a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub now: Time,
    pub id: u32,
    /// Its flow's group.
    pub group: u32,
}

/// What of [`Place`] the link knows before it asks.
#[derive(Clone, Copy, Debug)]
struct Known {
    class: u32,
    drawn: Option<u32>,
    idle: bool,
    fits: bool,
    again: bool,
}

/// Calls `ask` with a packet and its place.
fn ask<T>(
    queue: &mut Queue,
    (here, packet, queued_for): (Here, &mut Packet, Span),
    cell: u32,
    known: Known,
    ask: impl FnOnce(Passing<'_, AnyHeader>, &mut Place<'_, AnyCell>) -> T,
) -> T {
    let Known { class, drawn, idle, fits, again } = known;
    let (backlog, of_class) = (queue.backlog(), queue.class_backlog(class));
    let mut none = AnyCell::Empty;
    let mut label = packet.label();
    let Packet { flow, size, kind, ref mut ecn, ref mut header, .. } = *packet;
    let mut place = Place {
        backlog,
        class,
        queue: of_class,
        group: here.group,
        label: &mut label,
        cell: queue.cell(cell).unwrap_or(&mut none),
        drawn,
        idle,
        fits,
        again,
    };
    let header = Some(header);
    let answer = ask(Passing { flow, size, kind, queued_for, ecn, header }, &mut place);
    packet.set_label(label);
    answer
}

impl Link {
    /// A packet arrives, with all departures up to now worked out; what had waited and is dropped
    /// for it goes to `gone`. One that is let in is in the queue, even if the line is free.
    pub(crate) fn admit(
        &mut self,
        here: Here,
        pool: &mut Pool,
        refused: bool,
        gone: &mut Vec<Waiting>,
    ) -> Fate {
        let Here { now, id, .. } = here;
        self.counts.arrivals += 1;
        let (idle, backlog) = (now >= self.busy_until, self.queue.backlog());
        let before = pool[id].ecn;
        if let Some(feedback) = &mut self.routers.feedback {
            feedback.on_arrival(now, passing(&mut pool[id]), backlog);
        }
        let draws = self.routers.policy.as_mut().and_then(|policy| policy.draw(now, backlog));
        let drawn = draws.and_then(|n| self.queue.drawn(n)).map(|handle| pool[handle].flow);
        let packet = &mut pool[id];
        let (class, verdict) = self.decide(here, packet, (idle, drawn));
        if verdict == Verdict::DropBoth {
            gone.extend(draws.and_then(|n| self.queue.take_drawn(n)));
            gone.iter().for_each(|waiting| self.count_drop(now, &pool[waiting.handle]));
            self.note_queue(now);
        }
        let packet = &pool[id];
        let room = !refused
            && verdict == Verdict::Forward
            && (idle || self.queue.make_room(class, packet.size, gone));
        if verdict == Verdict::Forward {
            gone.iter().for_each(|waiting| self.count_drop(now, &pool[waiting.handle]));
        }
        if !room {
            self.count_drop(now, packet);
            self.note_queue(now);
            return Fate::Dropped;
        }
        self.count_mark(now, packet, before);
        if idle {
            self.queue.rest();
        }
        self.queue.push_class(class, Waiting { handle: id, size: packet.size, since: now });
        if idle {
            return Fate::Serve;
        }
        self.note_queue(now);
        Fate::Wait
    }

    /// The policy's class and verdict.
    fn decide(
        &mut self,
        here: Here,
        packet: &mut Packet,
        (idle, drawn): (bool, Option<u32>),
    ) -> (u32, Verdict) {
        let Link { queue, routers, .. } = self;
        let Some(policy) = &mut routers.policy else { return (0, Verdict::Forward) };
        let cell = policy.cell(packet.flow);
        let fits = queue.fits(packet.size);
        let known = Known { class: 0, drawn, idle, fits, again: false };
        let class = ask(queue, (here, &mut *packet, Span::ZERO), cell, known, |passing, place| {
            policy.classify(here.now, passing, place)
        });
        let known = Known { class, ..known };
        let verdict = ask(queue, (here, packet, Span::ZERO), cell, known, |passing, place| {
            policy.admit(here.now, passing, place)
        });
        (class, verdict)
    }

    /// The packet whose service starts at `now`, when the line is free, and how long it waited; the
    /// router may drop others before it.
    pub(crate) fn next_of_classes(
        &mut self,
        now: Time,
        pool: &mut Pool,
        group: impl Fn(u32) -> u32,
        gone: &mut Vec<Waiting>,
    ) -> Option<(u32, Span)> {
        loop {
            let Link { queue, routers, .. } = self;
            let policy = routers.policy.as_mut()?;
            let chosen = queue.select(|class| policy.weight(class))?;
            let mut again = false;
            while let Some((class, waiting)) = self.queue.take_head(chosen) {
                let Link { queue, routers, .. } = self;
                let policy = routers.policy.as_mut()?;
                let packet = &mut pool[waiting.handle];
                let (before, queued_for) = (packet.ecn, now.since(waiting.since));
                let here = Here { now, id: waiting.handle, group: group(packet.flow) };
                let cell = policy.cell(packet.flow);
                let known = Known { class, drawn: None, idle: true, fits: true, again };
                let verdict =
                    ask(queue, (here, &mut *packet, queued_for), cell, known, |passing, place| {
                        policy.on_head(now, passing, place)
                    });
                if verdict == Verdict::Forward {
                    queue.served(chosen, waiting.size, policy.weight(chosen));
                    self.count_mark(now, packet, before);
                    return Some((waiting.handle, queued_for));
                }
                self.count_drop(now, packet);
                gone.push(waiting);
                again = true;
                if self.queue.selects_anew() {
                    break;
                }
            }
        }
    }
}

fn passing(packet: &mut Packet) -> Passing<'_, AnyHeader> {
    let Packet { flow, size, kind, ref mut ecn, ref mut header, .. } = *packet;
    Passing { flow, size, kind, queued_for: Span::ZERO, ecn, header: Some(header) }
}

impl World {
    /// A packet arrives at a link with classes.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrive_at_classes(&mut self, now: Time, link: u32, id: u32) {
        self.catch_up_classes(now, link);
        let group = self.sources[self.pool[id].flow as usize].group;
        let l = &mut self.links[link as usize];
        let refused = l.refuses(now);
        let mut gone = std::mem::take(&mut self.gone);
        let fate = l.admit(Here { now, id, group }, &mut self.pool, refused, &mut gone);
        for waiting in gone.drain(..) {
            self.probes.on_dropped(Visit { now, link }, &self.links[link as usize], waiting.handle);
            self.dropped(now, waiting.handle);
        }
        self.gone = gone;
        // One that found the line free was never queue: it is out again before anybody looks.
        let next = (fate == Fate::Serve).then(|| self.next_of_classes(now, link)).flatten();
        let l = &self.links[link as usize];
        self.probes.on_arrival(Visit { now, link }, l, (id, &self.pool[id]), fate);
        match (fate, next) {
            (Fate::Serve, Some((id, queued_for))) => self.serve_special(now, link, id, queued_for),
            (Fate::Serve, None) => {}
            (Fate::Wait, _) if l.guarded => {}
            (Fate::Wait, _) => self.set_guard(link),
            (Fate::Dropped, _) => self.dropped(now, id),
        }
    }

    /// Works out the departures of a link with classes up to `now`.
    #[cold]
    #[inline(never)]
    pub(crate) fn catch_up_classes(&mut self, now: Time, link: u32) {
        loop {
            let l = &self.links[link as usize];
            if l.busy_until > now || l.queue.backlog() == Backlog::default() {
                return;
            }
            let start = l.busy_until;
            if let Some((id, queued_for)) = self.next_of_classes(start, link) {
                self.serve_special(start, link, id, queued_for);
            }
        }
    }

    /// The packet whose service starts at `start`, the line being free, and how long it waited.
    fn next_of_classes(&mut self, start: Time, link: u32) -> Option<(u32, Span)> {
        let World { links, pool, sources, .. } = self;
        let l = &mut links[link as usize];
        let group = |flow: u32| sources[flow as usize].group;
        let mut gone = std::mem::take(&mut self.gone);
        let next = l.next_of_classes(start, pool, group, &mut gone);
        l.note_queue(start);
        // Its flow's end comes when it would have come out of the link's delay: see `World::lost`.
        let out = start + l.owd;
        for waiting in gone.drain(..) {
            let l = &self.links[link as usize];
            self.probes.on_dropped(Visit { now: start, link }, l, waiting.handle);
            self.dropped(out, waiting.handle);
        }
        self.gone = gone;
        next
    }
}
