//! Links that someone else drives: the queues, routers and lines of a run, with a clock, packets
//! and end hosts that are not simulated. This is what the emulator runs real packets through.

use cc::registry::AnyHeader;
use cc::roles::{Backlog, Ecn, PacketKind};
use results::{LinkRow, Series};
use scenario::Scenario;
use units::{Span, Time};

use crate::link::classed::Here;
use crate::link::{Counts, Fate, Link};
use crate::observe::probe::{Ends, Probes};
use crate::observe::tables;
use crate::packet::{NONE, Packet, Pool};
use crate::world::build::{self, Draw};

/// A packet that enters the network.
#[derive(Clone, Copy, Debug)]
pub struct Entering {
    /// Its flow's number; flows are numbered without gaps, as there are tables by this number.
    pub flow: u32,
    /// Its flow's group.
    pub group: u32,
    /// Size on the wire [bytes].
    pub size: u32,
    /// Data or ACK.
    pub kind: PacketKind,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// Its protocol's header.
    pub header: AnyHeader,
}

/// What a link did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Its service began; its last bit leaves at `end`.
    Served {
        /// The packet.
        id: u32,
        /// Its last bit leaves.
        end: Time,
        /// It comes out of the link's delay then; `None` when the line loses it.
        out: Option<Time>,
    },
    /// The queue dropped it, or an outage did.
    Dropped {
        /// The packet.
        id: u32,
    },
}

/// The links of a scenario and the packets at them. Times must not go back.
///
/// A packet's number is given back with [`Ports::remove`] by whoever put it in.
#[derive(Debug)]
pub struct Ports {
    links: Vec<Link>,
    /// Of each link, when something is due at it.
    due: Vec<Time>,
    /// Of each link, when its routers hear of another capacity.
    notices: Vec<Time>,
    pool: Pool,
    /// The group of each flow.
    groups: Vec<u32>,
    gone: Vec<queue::Waiting>,
    at_warmup: Vec<Counts>,
    warmup: Time,
    probes: Probes,
}

impl Ports {
    /// The links at time zero.
    pub fn new(scenario: &Scenario, seed: u64, rep: u64) -> Ports {
        let draw = Draw { seed, rep };
        let count = scenario.links.len();
        let mut links: Vec<Link> = (0..count).map(|i| build::link(scenario, i, draw)).collect();
        links.iter_mut().for_each(|link| link.timer = link.next_timer());
        let mut ports = Ports {
            due: vec![Time::NEVER; count],
            notices: links.iter().map(Link::next_notice).collect(),
            at_warmup: vec![Counts::default(); count],
            links,
            pool: Pool::new(),
            groups: Vec::new(),
            gone: Vec::new(),
            warmup: Time::ZERO + scenario.warmup,
            probes: Probes::new(scenario),
        };
        (0..count).for_each(|link| ports.set_due(link));
        ports
    }

    /// Takes a packet in; it is at no link yet.
    pub fn insert(&mut self, packet: Entering) -> u32 {
        let Entering { flow, group, size, kind, ecn, header } = packet;
        let mut new = Packet::data(flow, 0, size, Time::ZERO);
        (new.ecn, new.header) = (ecn, header);
        if kind == PacketKind::Ack {
            new.turn_round(NONE);
        }
        if flow as usize >= self.groups.len() {
            self.groups.resize(flow as usize + 1, 0);
        }
        self.groups[flow as usize] = group;
        self.pool.insert(new)
    }

    /// A packet's ECN bits and header as they are now.
    pub fn signals(&self, id: u32) -> (Ecn, AnyHeader) {
        let packet = &self.pool[id];
        (packet.ecn, packet.header)
    }

    /// Gives a packet's number back.
    pub fn remove(&mut self, id: u32) {
        self.pool.remove(id);
    }

    /// When something is due at a link; [`Ports::advance`] does it.
    pub fn due(&self, link: usize) -> Time {
        self.due[link]
    }

    /// Does what is due at a link up to `now`, in order.
    pub fn advance(&mut self, link: usize, now: Time, done: &mut impl FnMut(Passed)) {
        while self.due[link] <= now {
            let at = self.due[link];
            self.serve_next(link, at, done);
            if self.notices[link] <= at {
                self.notices[link] = self.links[link].on_capacity(at);
            }
            if self.links[link].timer <= at {
                self.links[link].timer = self.links[link].on_timer(at);
            }
            self.set_due(link);
        }
    }

    /// A packet arrives at a link, with everything due before done.
    pub fn arrive(&mut self, link: usize, now: Time, id: u32, done: &mut impl FnMut(Passed)) {
        self.advance(link, now, done);
        let refused = self.links[link].refuses(now);
        if self.links[link].queue.has_classes() {
            self.arrive_at_classes((link, now, id), refused, done);
        } else {
            match self.links[link].arrive(now, &mut self.pool, id, refused) {
                Fate::Serve => self.serve(link, now, (id, Span::ZERO), done),
                Fate::Wait => {}
                Fate::Dropped => done(Passed::Dropped { id }),
            }
        }
        self.set_due(link);
    }

    fn arrive_at_classes(
        &mut self,
        (link, now, id): (usize, Time, u32),
        refused: bool,
        done: &mut impl FnMut(Passed),
    ) {
        let group = self.groups[self.pool[id].flow as usize];
        let here = Here { now, id, group };
        let mut gone = std::mem::take(&mut self.gone);
        let fate = self.links[link].admit(here, &mut self.pool, refused, &mut gone);
        gone.drain(..).for_each(|waiting| done(Passed::Dropped { id: waiting.handle }));
        self.gone = gone;
        match fate {
            Fate::Serve => self.serve_next(link, now, done),
            Fate::Wait => {}
            Fate::Dropped => done(Passed::Dropped { id }),
        }
    }

    /// Serves the next packet if the line is free at `now` and one waits.
    fn serve_next(&mut self, link: usize, now: Time, done: &mut impl FnMut(Passed)) {
        let l = &mut self.links[link];
        if l.busy_until > now || l.queue.backlog() == Backlog::default() {
            return;
        }
        if !l.queue.has_classes() {
            if let Some((start, id, queued_for)) = l.next_service(now) {
                self.serve(link, start, (id, queued_for), done);
            }
            return;
        }
        let group = |flow: u32| self.groups.get(flow as usize).copied().unwrap_or(0);
        let mut gone = std::mem::take(&mut self.gone);
        let next = l.next_of_classes(now, &mut self.pool, group, &mut gone);
        l.note_queue(now);
        gone.drain(..).for_each(|waiting| done(Passed::Dropped { id: waiting.handle }));
        self.gone = gone;
        if let Some(next) = next {
            self.serve(link, now, next, done);
        }
    }

    fn serve(
        &mut self,
        link: usize,
        now: Time,
        (id, queued_for): (u32, Span),
        done: &mut impl FnMut(Passed),
    ) {
        let l = &mut self.links[link];
        let packet = &mut self.pool[id];
        l.serve_scheduled(now, packet, queued_for);
        let end = l.service_ends();
        let due = end + l.owd;
        let out = match &mut l.line {
            None => Some(due),
            Some(line) => (!line.loses(packet.flow, packet.kind)).then(|| line.out(due)),
        };
        if out.is_none() {
            l.count_lost(packet);
        }
        done(Passed::Served { id, end, out });
    }

    fn set_due(&mut self, link: usize) {
        let l = &self.links[link];
        let waits = l.queue.backlog() != Backlog::default();
        let service = if waits { l.busy_until } else { Time::NEVER };
        self.due[link] = service.min(l.timer).min(self.notices[link]);
    }

    /// The warm-up is over: plain columns count from here.
    pub fn end_warmup(&mut self, now: Time) {
        self.at_warmup = self.links.iter().map(|link| link.departed(now)).collect();
    }

    /// When the next sample of the links' series is due.
    pub fn next_sample(&self) -> Time {
        self.probes.next().unwrap_or(Time::NEVER)
    }

    /// Takes that sample.
    pub fn sample(&mut self, now: Time) {
        self.probes.sample(now, &self.links, Ends { sources: &[], sinks: &[] });
    }

    /// The rows of all links, and their series.
    pub fn finish(mut self, scenario: &Scenario, end: Time) -> (Vec<LinkRow>, Vec<Series>) {
        let rows = self.links.iter_mut().enumerate().map(|(i, link)| {
            tables::link_row(scenario, i, link, (self.at_warmup[i], self.warmup, end))
        });
        (rows.collect(), self.probes.rows.finish())
    }
}
