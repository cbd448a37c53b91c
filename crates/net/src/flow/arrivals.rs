//! Groups whose flows come while the run goes on, and the slots that their flows live in.
//!
//! A slot is an index into the world's sources, sinks and annals. A flow that comes takes one that
//! is free, or a new one at the end: memory is that of the most flows alive at once. It gives the
//! slot back when its transfer is finished and nothing of it is left in the network. Both happen in
//! events at the exact instant, however far ahead end hosts are run, so that slots do not depend on
//! probes.
//!
//! To everyone else the slot is the flow's number: routers, the fingerprint and series see it as
//! they would see a port that is used again.
//!
//! No packet of the old tenant can reach the new one, there is none left. Timer events can, and do
//! no harm: an event counts only if `armed` names its time, and then the new tenant's deadline
//! decides. So the tenant takes over the pending event with `armed`, and a slot never has a heap of
//! stale ones.

use std::fmt::Write;

use results::{GroupRow, Transfers};
use scenario::{Arrivals as Law, Group, Scenario, Size};
use units::Time;
use units::random::Stream;

use crate::flow::{Sink, Source};
use crate::observe::tables;
use crate::packet::NONE;
use crate::world::build::{Birth, Draw, Mould};
use crate::world::{Due, MAX_INDEX, World, event};

/// A group whose flows come while the run goes on.
#[derive(Clone, Debug)]
struct Comers {
    law: Law,
    size: Size,
    mould: Mould,
    gaps: Stream,
    sizes: Stream,
    draw: Draw,
    /// The name of a flow's stream, up to its number; a buffer.
    name: String,
    /// The first of the access hops, and how many there are to take in turn.
    access: (u32, u32),
    /// How many have come.
    come: u64,
    /// None come from then on.
    stop: Time,
}

/// What the transfers of a group that have left add up to.
#[derive(Clone, Debug, Default)]
pub struct Gone {
    pub row: GroupRow,
    /// Bytes delivered after the warm-up.
    pub fresh_bytes: u64,
}

/// Arriving flows of all groups.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    groups: Vec<Comers>,
    /// The slots given back; the last one is taken first.
    free: Vec<u32>,
    /// One row per transfer that has come.
    pub transfers: Transfers,
    /// By group of the scenario.
    pub gone: Vec<Gone>,
}

impl Comers {
    fn new(group: &Group, law: &Law, mould: Mould, access: (u32, u32), draw: Draw) -> Comers {
        let stream = |part: &str| draw.stream(&format!("arrivals.{}.{part}", group.name));
        Comers {
            law: law.clone(),
            size: group.size.clone(),
            mould,
            gaps: stream("gap"),
            sizes: stream("size"),
            draw,
            name: format!("flow.{}.", group.name),
            access,
            come: 0,
            stop: group.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
        }
    }

    /// When the next flow comes if none has come since `now`.
    fn next(&mut self, now: Time) -> Option<Time> {
        let next = now + self.law.gap.draw(&mut self.gaps);
        self.if_it_comes(next)
    }

    fn if_it_comes(&self, at: Time) -> Option<Time> {
        let more = self.law.most.is_none_or(|most| self.come < most);
        (more && at < self.stop && at != Time::NEVER).then_some(at)
    }

    /// The stream of the flow that has come last, or of its part of this name.
    fn stream(&mut self, part: &str) -> Stream {
        let prefix = self.name.len();
        write!(self.name, "{}{part}", self.come - 1).expect("a string takes everything");
        let stream = self.draw.stream(&self.name);
        self.name.truncate(prefix);
        stream
    }

    /// A flow comes.
    fn birth(&mut self, now: Time, row: u32) -> Birth {
        self.come += 1;
        let (first, turns) = self.access;
        Birth {
            access: first + ((self.come - 1) % u64::from(turns)) as u32,
            start: now,
            stop: Time::NEVER,
            bytes: self.size.draw(&mut self.sizes),
            stream: self.stream(""),
            row,
        }
    }
}

impl Arrivals {
    /// Flows that come from now on are watched as `scenario` says.
    pub fn watch(&mut self, scenario: &Scenario) {
        for group in &mut self.groups {
            group.mould.watch(scenario);
        }
    }

    /// Flows that come from now on are traced.
    pub fn trace(&mut self) {
        self.groups.iter_mut().for_each(|group| group.mould.trace());
    }

    /// No flow has come yet. `first_access` says where each group's access hops begin.
    pub fn new(scenario: &Scenario, first_access: &[u32], draw: Draw) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for (number, group) in scenario.groups.iter().enumerate() {
            let Some(law) = &group.arrivals else { continue };
            assert!(group.size != Size::Unlimited, "{}: what arrives has a size", group.name);
            let access = (first_access[number], group.access.len() as u32);
            let mould = Mould::of(scenario, number);
            arrivals.groups.push(Comers::new(group, law, mould, access, draw));
        }
        if !arrivals.groups.is_empty() {
            arrivals.gone = vec![Gone::default(); scenario.groups.len()];
        }
        arrivals
    }

    /// Does any group have arriving flows?
    pub fn any(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Slots that no flow lives in now.
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// The first arrival of each group: with equal gaps at the group's start, else a gap later.
    pub fn first(&mut self, scenario: &Scenario) -> Vec<(Time, u32)> {
        let groups = scenario.groups.iter().filter(|group| group.arrivals.is_some());
        let mut first = Vec::new();
        for (index, (comers, group)) in self.groups.iter_mut().zip(groups).enumerate() {
            let mut starts = comers.draw.stream(&format!("arrivals.{}.start", group.name));
            let start = group.start.time(0, &mut starts);
            let at = match comers.law.gap {
                scenario::GapLaw::Every(_) => comers.if_it_comes(start),
                scenario::GapLaw::Poisson { .. } => comers.next(start),
            };
            first.extend(at.map(|at| (at, index as u32)));
        }
        first
    }
}

impl World {
    /// A flow comes: it takes a slot and starts.
    #[cold]
    #[inline(never)]
    pub fn on_arrival(&mut self, now: Time, index: u32) {
        let comers = &mut self.arrivals.groups[index as usize];
        let row = self.arrivals.transfers.start_s.len() as u32;
        let birth = comers.birth(now, row);
        let group = comers.mould.group;
        let bytes = birth.bytes.unwrap_or(u64::MAX);
        let (ends, reporter) = (comers.mould.flow(birth), comers.mould.reporter());
        let app = self.apps.any(group).then(|| comers.stream(".app"));
        if let Some(next) = comers.next(now) {
            self.agenda.at(next, event(Due::Arrival, index));
        }
        self.arrivals.transfers.push(group, now.as_secs(), bytes);
        let flow = self.take_slot(ends);
        self.reporters.set(flow, reporter);
        self.probes.forget_flow(flow);
        if let Some(stream) = app {
            let outbound = &mut self.sources[flow as usize].outbound;
            self.apps.start((flow, group), now, outbound, stream);
        }
        self.on_source_timers(now, flow);
    }

    fn take_slot(&mut self, (source, sink, annals): (Source, Sink, crate::flow::Annals)) -> u32 {
        if let Some(flow) = self.arrivals.free.pop() {
            let at = flow as usize;
            let old = std::mem::replace(&mut self.sources[at], source);
            self.sources[at].take_over(old);
            let old = std::mem::replace(&mut self.sinks[at], sink);
            self.sinks[at].take_over(old);
            self.annals[at] = annals;
            return flow;
        }
        let flow = self.sources.len() as u32;
        assert!(flow < MAX_INDEX, "{MAX_INDEX} flows are alive at once, more than a run can have");
        self.sources.push(source);
        self.sinks.push(sink);
        self.annals.push(annals);
        self.look_ahead = crate::world::lookahead::pays(self.sources.len());
        flow
    }

    /// Something of an arriving flow has come to its end at `now`, which may be later than the
    /// present but not earlier: its transfer, one of its ACKs, or a packet that got lost. When all
    /// of it has, the flow leaves at the latest of those instants.
    ///
    /// A packet that a link loses while its departures are worked out is gone when it would have
    /// come out of the link's delay: that time does not depend on when they are worked out.
    #[cold]
    #[inline(never)]
    pub fn came_to_end(&mut self, now: Time, flow: u32) {
        let (source, sink) = (&self.sources[flow as usize], &self.sinks[flow as usize]);
        let annals = &mut self.annals[flow as usize];
        annals.quiet = annals.quiet.max(now);
        let data = source.sent - sink.arrived - annals.dropped - annals.lost;
        let acks = sink.acks_sent - source.acks_arrived - annals.acks_dropped - annals.acks_lost;
        if source.finished && data == 0 && acks == 0 && sink.unanswered == NONE {
            self.agenda.at(annals.quiet, event(Due::Leave, flow));
        }
    }

    /// A flow leaves; its slot is free.
    #[cold]
    #[inline(never)]
    pub fn on_leave(&mut self, now: Time, flow: u32) {
        let row = tables::flow_row(self, flow as usize, now);
        tables::note_transfer(self, flow as usize);
        self.sources[flow as usize].started = false;
        let gone = &mut self.arrivals.gone[self.sources[flow as usize].group as usize];
        gone.row.add(&row);
        gone.fresh_bytes += self.sinks[flow as usize].fresh_bytes;
        self.annals[flow as usize].row = NONE;
        self.arrivals.free.push(flow);
    }
}
