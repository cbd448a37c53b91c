//! Islands: what the border routers do. VCP, ToN 2008, section VI-D; XCP, SIGCOMM 2002, section
//! 8.1.
//!
//! All packets that cross an island on one way, data and ACKs of whatever protocol, are those of
//! one macro-flow: they wait in its queue at the ingress, leave it as its window and its pacer let
//! them, and are its data packets up to the egress. There they go on as they were, and the egress
//! acknowledges.
//!
//! A macro-flow is a flow like others: it has a number, a source, a sink and a path, and links,
//! captures and the books know nothing more. Its packets are packets of their own, and what they
//! carry lies still meanwhile ([`Cargo`]). So what is inside is written upon by nobody, and an
//! island's links see outer sizes, outer ECN bits and outer headers alone. What a macro-flow's
//! source is not: started, and with timers ([`crate::flow::Source`]). It sends nothing by itself,
//! and what is due at its ingress is an event of its own.
//!
//! An island's links are not plain, so that a packet at its ingress is met in
//! [`crate::link::slow_path`].

mod build;
mod gaps;
mod members;
mod table;

use std::collections::VecDeque;

use cc::registry::AnySender;
use cc::roles::{Departing, LossKind, PacketKind};
use queue::{Queue, Waiting};
use results::metrics::Occupancy;
use transport::{LossEvent, Segment};
use units::{Span, Time};

use crate::islands::gaps::Gaps;
use crate::islands::members::Members;
use crate::link::Fate;
use crate::observe::fingerprint::{Fingerprint, Kind};
use crate::packet::{Packet, Pool};
use crate::world::{Due, World, event};

pub use build::{Found, crossings, found, of_island};
pub use table::rows;

/// What a macro-flow's packet has with it, by its place in the pool.
#[derive(Clone, Copy, Debug)]
enum Cargo {
    None,
    /// Data: the packet that it carries.
    Packet(u32),
    /// An acknowledgement: how many packets have arrived.
    Received(u64),
}

/// The border routers' part of a macro-flow.
#[derive(Clone, Debug)]
struct Macro {
    /// Its island's number, and its crossing's there.
    of: (usize, usize),
    /// Links from ingress to egress.
    links: u16,
    outer_bytes: u32,
    queue: Queue,
    occupancy: Occupancy,
    gaps: Gaps,
    members: Members,
    /// Acknowledgements on the last way to the ingress, and when they are there.
    feedback: VecDeque<(Time, u32)>,
    /// The sender before an acknowledgement by which it may not grow.
    before: Option<AnySender>,
    counts: Counts,
}

/// What happened to the packets that a macro-flow carries.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrivals: u64,
    drops: u64,
    /// Of those, after the warm-up; so the next.
    fresh_arrivals: u64,
    fresh_drops: u64,
    fresh_released: u64,
    fresh_wait: u128,
    delivered_bytes: u64,
    fresh_bytes: u64,
    loss_events: u64,
}

/// All islands of a run.
#[derive(Clone, Debug)]
pub struct Islands {
    /// The flow number of the first macro-flow; the others follow.
    first: u32,
    macros: Vec<Macro>,
    /// By group, for data and for ACKs: after how many links a macro-flow begins, and its flow
    /// number.
    entries: Vec<[Vec<(u16, u32)>; 2]>,
    cargo: Vec<Cargo>,
    /// By link: whose was what the packet carried that the line lost last, and what was it?
    lost: Vec<Option<(u32, PacketKind)>>,
    /// What was dropped at ingresses.
    fingerprint: Fingerprint,
}

impl Islands {
    /// How many macro-flows there are.
    pub fn len(&self) -> usize {
        self.macros.len()
    }

    /// Is this the number of a macro-flow?
    #[inline]
    pub fn owns(&self, flow: u32) -> bool {
        (flow.wrapping_sub(self.first) as usize) < self.macros.len()
    }

    /// What was dropped at ingresses; `None` where there are none.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        (!self.macros.is_empty()).then_some(self.fingerprint)
    }

    /// The macro-flow that a packet of this group enters where it is.
    pub fn entry(&self, group: u32, packet: &Packet) -> Option<u32> {
        let [data, acks] = self.entries.get(group as usize)?;
        let entries = if packet.kind == PacketKind::Data { data } else { acks };
        entries.iter().find(|(hop, _)| *hop == packet.hop).map(|&(_, flow)| flow)
    }

    /// What was lost last on a link, if a macro-flow carried it.
    pub fn lost_last(&self, link: usize) -> Option<(u32, PacketKind)> {
        self.lost.get(link).copied().flatten()
    }

    /// All packets that wait at an ingress or are carried, and feedback that has left the last
    /// link.
    pub fn held<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> {
        let carried = self.cargo.iter().filter_map(|cargo| match cargo {
            Cargo::Packet(id) => Some(&pool[*id]),
            Cargo::None | Cargo::Received(_) => None,
        });
        let queued = self.macros.iter().flat_map(|own| own.queue.iter());
        let queued = queued.map(|waiting| &pool[waiting.handle]);
        let feedback = self.macros.iter().flat_map(|own| &own.feedback).map(|&(_, id)| &pool[id]);
        carried.chain(queued).chain(feedback)
    }

    fn own(&mut self, flow: u32) -> &mut Macro {
        &mut self.macros[(flow - self.first) as usize]
    }

    fn load(&mut self, id: u32, cargo: Cargo) {
        let place = id as usize;
        if place >= self.cargo.len() {
            self.cargo.resize(place + 1, Cargo::None);
        }
        self.cargo[place] = cargo;
    }

    fn unload(&mut self, id: u32) -> Cargo {
        self.cargo.get_mut(id as usize).map_or(Cargo::None, |c| std::mem::replace(c, Cargo::None))
    }
}

impl World {
    // The ingress.

    /// A packet that a macro-flow will carry is at its ingress.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_ingress(&mut self, now: Time, flow: u32, id: u32) {
        let fresh = now > self.warmup;
        let packet = &self.pool[id];
        let own = self.islands.own(flow);
        own.counts.arrivals += 1;
        own.counts.fresh_arrivals += u64::from(fresh);
        if let Some(flows) = own.members.see(now, packet.flow) {
            self.sources[flow as usize].sender.carries(flows);
        }
        if !own.queue.fits(packet.size) {
            own.counts.drops += 1;
            own.counts.fresh_drops += u64::from(fresh);
            self.islands.fingerprint.record(Kind::Drop, now, packet);
            return self.dropped(now, id);
        }
        let waiting = Waiting { handle: id, size: packet.size, since: now };
        own.queue.push(PacketKind::Data, waiting);
        self.release(now, flow);
    }

    /// Sends what window and pacer of a macro-flow allow, and sets its timers.
    #[cold]
    #[inline(never)]
    pub(crate) fn release(&mut self, now: Time, flow: u32) {
        while let Some((waiting, segment)) = self.next_release(now, flow) {
            let id = self.wrap(now, flow, waiting, segment);
            let link = self.sources[flow as usize].way.first;
            self.settle(now, link);
            self.arrive_special(now, link, id);
        }
        let source = &mut self.sources[flow as usize];
        if source.outbound.outstanding() == 0 {
            source.boundary = Time::NEVER;
        } else if source.boundary == Time::NEVER {
            source.boundary = now + source.outbound.rto();
        }
        let deadline = source.boundary.min(source.sender.next_timer()).max(now);
        if deadline < source.armed {
            source.armed = deadline;
            self.agenda.at(deadline, event(Due::Island, flow));
        }
        let own = self.islands.own(flow);
        let backlog = own.queue.backlog();
        own.occupancy.change(now, u64::from(backlog.packets), backlog.bytes);
        if self.probes.looks_at_sources() {
            self.show_macro(now, flow, true);
        }
    }

    /// The packet that leaves the queue of an ingress now, and its number in the macro-flow.
    fn next_release(&mut self, now: Time, flow: u32) -> Option<(Waiting, Segment)> {
        let (own, source) = (self.islands.own(flow), &mut self.sources[flow as usize]);
        if own.queue.backlog().packets == 0 {
            return None;
        }
        let window = source.sender.window();
        if source.sender.pacing().is_some() && source.pace_free > now {
            if source.outbound.has_room(window) && source.pace_free < source.pace_armed {
                source.pace_armed = source.pace_free;
                self.agenda.at(source.pace_free, event(Due::Island, flow));
            }
            return None;
        }
        let segment = source.outbound.next_segment(now, window)?;
        own.queue.pop().map(|waiting| (waiting, segment))
    }

    /// Puts a packet into one of the macro-flow.
    fn wrap(&mut self, now: Time, flow: u32, waiting: Waiting, segment: Segment) -> u32 {
        let (own, source) = (self.islands.own(flow), &mut self.sources[flow as usize]);
        self.pool[waiting.handle].hop += own.links;
        if now > self.warmup {
            own.counts.fresh_released += 1;
            own.counts.fresh_wait += u128::from(now.since(waiting.since).0);
        }
        let size = waiting.size + own.outer_bytes;
        if let Some(rate) = source.sender.pacing() {
            source.pace_free = now + rate.serialization(size);
        }
        source.sent += 1;
        let outbound = &source.outbound;
        let header = source.sender.on_send(Departing {
            now,
            size,
            srtt: outbound.srtt(),
            seq: segment.seq,
            in_flight: outbound.in_flight().saturating_sub(1),
            backlogged: own.queue.backlog().packets > 0,
            retransmission: false,
        });
        let mut packet = Packet::data(flow, segment.seq, size, now);
        (packet.header, packet.ecn, packet.signal) = (header, source.code, segment.cwr);
        packet.links = source.way.links;
        let id = self.pool.insert(packet);
        self.islands.load(id, Cargo::Packet(waiting.handle));
        id
    }

    /// An acknowledgement has left its last link, and is at the ingress at `out`.
    pub(crate) fn feed_back(&mut self, out: Time, flow: u32, id: u32) {
        self.islands.own(flow).feedback.push_back((out, id));
        self.agenda.at(out, event(Due::Island, flow));
    }

    /// Something is due at an ingress: acknowledgements are there, a timer of the controller's, the
    /// pacer's, or no acknowledgement has come.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_macro_event(&mut self, now: Time, flow: u32) {
        let source = &mut self.sources[flow as usize];
        let never = |armed: Time| if armed <= now { Time::NEVER } else { armed };
        (source.armed, source.pace_armed) = (never(source.armed), never(source.pace_armed));
        while let Some((_, id)) = self.islands.own(flow).feedback.pop_front_if(|f| f.0 <= now) {
            self.before_feedback(now, flow, id);
            self.acknowledged(now, flow, id);
            self.after_feedback(flow);
        }
        self.on_macro_timers(now, flow);
        self.release(now, flow);
    }

    /// What only the ingress of a macro-flow makes of an acknowledgement.
    fn before_feedback(&mut self, now: Time, flow: u32, id: u32) {
        let Cargo::Received(received) = self.islands.unload(id) else {
            unreachable!("the egress has put it there");
        };
        let (own, source) = (self.islands.own(flow), &mut self.sources[flow as usize]);
        let (cwnd, in_flight) = (source.sender.cwnd(), source.outbound.in_flight());
        let used = own.queue.backlog().packets > 0 || f64::from(in_flight) >= 0.5 * cwnd;
        let news = own.gaps.on_feedback((self.pool[id].seq, received), source.outbound.nxt());
        if news.event {
            own.counts.loss_events += 1;
            let (kind, lost) = (LossKind::DupAcks, news.lost);
            source.report_loss(now, &LossEvent { kind, in_flight, lost, repeated: false });
        }
        own.before = (!used).then(|| source.sender.clone());
    }

    /// Its source has heard of the acknowledgement.
    fn after_feedback(&mut self, flow: u32) {
        let (own, source) = (self.islands.own(flow), &mut self.sources[flow as usize]);
        // RFC 7661, section 4.3: a window of which not half is used does not grow. Controllers are
        // not told what is used, so one that grew then is put back as it was.
        if let Some(before) = own.before.take()
            && source.sender.cwnd() > before.cwnd()
        {
            source.sender = before;
        }
        source.boundary = Time::NEVER;
    }

    fn on_macro_timers(&mut self, now: Time, flow: u32) {
        let (own, source) = (self.islands.own(flow), &mut self.sources[flow as usize]);
        if source.sender.next_timer() <= now {
            source.sender.on_timer(now);
        }
        if source.boundary <= now {
            source.boundary = Time::NEVER;
            let loss = source.outbound.on_timeout(now);
            own.gaps.on_timeout(source.outbound.nxt());
            source.report_loss(now, &loss);
        }
    }

    // Inside.

    /// A macro-flow's packet was dropped, and with it what it carried.
    pub(crate) fn outer_dropped(&mut self, now: Time, id: u32) {
        if let Cargo::Packet(inner) = self.islands.unload(id) {
            self.dropped(now, inner);
        }
    }

    /// What a macro-flow's packet carried, which a link has lost.
    pub(crate) fn lost_with(&mut self, link: u32, id: u32) -> Option<u32> {
        let Cargo::Packet(inner) = self.islands.unload(id) else { return None };
        let Packet { flow, kind, .. } = self.pool[inner];
        self.islands.lost[link as usize] = Some((flow, kind));
        Some(inner)
    }

    // The egress.

    /// A macro-flow's packet is at its egress.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_egress(&mut self, now: Time, flow: u32, id: u32) {
        let Cargo::Packet(inner) = self.islands.unload(id) else {
            unreachable!("the ingress has put it there");
        };
        let bytes = u64::from(self.pool[inner].size);
        let own = self.islands.own(flow);
        own.counts.delivered_bytes += bytes;
        if now > self.warmup {
            own.counts.fresh_bytes += bytes;
        }
        let received = self.sinks[flow as usize].inbound.delivered();
        self.islands.load(id, Cargo::Received(received));
        self.acknowledge(now, flow, id);
        if self.leaves_last_link(inner) {
            self.leave_last_link(now, inner);
        } else {
            self.leave_island(now, self.next_link(inner), inner);
        }
    }

    /// A packet goes on from an egress to a link: as [`World::arrive`], which has one caller.
    fn leave_island(&mut self, now: Time, link: u32, id: u32) {
        self.settle(now, link);
        let l = &mut self.links[link as usize];
        if !l.plain {
            return self.arrive_special(now, link, id);
        }
        match l.arrive(now, &mut self.pool, id, false) {
            Fate::Serve => self.serve(now, link, id, Span::ZERO),
            Fate::Wait if l.guarded => {}
            Fate::Wait => self.set_guard(link),
            Fate::Dropped => self.dropped(now, id),
        }
    }

    // Measurements.

    /// Shows the probes all macro-flows.
    pub(crate) fn show_macros(&mut self, now: Time) {
        for k in 0..self.islands.len() {
            self.show_macro(now, self.islands.first + k as u32, false);
        }
    }

    fn show_macro(&mut self, now: Time, flow: u32, changed: bool) {
        let own = self.islands.own(flow);
        let (waiting, bytes) = (own.queue.backlog().packets, own.counts.delivered_bytes);
        let source = &self.sources[flow as usize];
        self.probes.on_macro((now, changed), (flow, source), waiting, bytes);
    }

    /// The probes' means begin now.
    pub(crate) fn restart_macros(&mut self) {
        for (flow, own) in (self.islands.first..).zip(&self.islands.macros) {
            self.probes.restart_macro(flow, own.counts.delivered_bytes);
        }
    }
}

/// Nothing lies between a border router and its island.
const NO_TIME: Span = Span::ZERO;
