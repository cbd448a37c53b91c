//! The world: links and flows, and what happens when an event is due.
//!
//! Life of a packet: source -> access hop -> named links in turn -> access hop -> sink, and its ACK
//! the same way back.
//!
//! What one source alone decides needs no event, its time is arithmetic:
//! - an access hop ([`crate::flow::Hop`]);
//! - the departures of a link: nobody sees one before the link's delay has passed, so they are
//!   worked out, in order, when the link is next looked at ([`World::catch_up`]), at the latest by
//!   its guard;
//! - an end host ([`Source::prompt`], [`Sink::prompt`]): packets reach it over one
//!   line, in order, so it is run when a packet leaves the last link, with the time at which the
//!   packet will be there, after its own timers that are due before.
//!
//! What is left: the arrival of the head of each delay line at a queue, and timers.

pub mod branch;
pub mod build;
mod ce_acks;
pub mod lookahead;
pub mod pause;
pub mod prototypes;

use cc::roles::{CeAcks, Ecn, EcnUse, PacketKind};
use engine::Agenda;
use queue::Waiting;
use transport::{AckIn, Segment};
use units::{Span, Time};

use crate::flow::app::Apps;
use crate::flow::arrivals::Arrivals;
use crate::flow::events::{Echoed, Leaving, Taken};
use crate::flow::relays::Relays;
use crate::flow::reports::Reporters;
use crate::flow::{Access, Annals, Path, Sink, Source};
use crate::islands::Islands;
use crate::link::{Counts, Fate, Link};
use crate::observe::fingerprint::{Fingerprint, Kind};
use crate::observe::probe::{Ends, Probes};
use crate::observe::tap::Taps;
use crate::packet::{NONE, Packet, Pool};

/// What an event is about, in the order in which events of one instant are handled.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Due {
    /// The warm-up ends.
    Warmup = 0,
    /// The probes' sample.
    Probe = 1,
    /// A link's departures must be worked out now, at the latest.
    Guard = 2,
    /// A link's routers hear of its capacity.
    Capacity = 3,
    /// A link's routers' timer.
    RouterTimer = 4,
    /// The head of a link's delay line is at the next link, or leaves the last one.
    LinkPipe = 5,
    /// The head of a flow's line from the source is at the first link.
    Up = 6,
    /// The head of a flow's line from the sink is at the first link back.
    AckUp = 7,
    /// The head of a flow's line to the sink is there.
    Down = 8,
    /// The head of a flow's line to the source is there.
    AckDown = 9,
    /// A flow's delayed ACK.
    Receiver = 10,
    /// A flow's start, stop, retransmission or protocol timer.
    FlowTimer = 11,
    /// A flow's pacer.
    Pace = 12,
    /// An arriving flow is over and gives its slot back.
    Leave = 13,
    /// A group's next flow comes.
    Arrival = 14,
    /// Something is due at the ingress of a macro-flow.
    Island = 15,
}

/// Bits of an event that name the link or flow.
pub const INDEX_BITS: u32 = 28;

/// Links and flows are fewer than this.
pub const MAX_INDEX: u32 = 1 << INDEX_BITS;

/// The event that is about the link or flow of this number.
#[inline]
pub fn event(due: Due, index: u32) -> u32 {
    (due as u32) << INDEX_BITS | index
}

/// A run's state.
#[derive(Clone, Debug)]
pub struct World {
    pub agenda: Agenda,
    pub pool: Pool,
    pub links: Vec<Link>,
    pub sources: Vec<Source>,
    pub sinks: Vec<Sink>,
    pub annals: Vec<Annals>,
    pub paths: Vec<Path>,
    pub accesses: Vec<Access>,
    pub deliveries: Fingerprint,
    pub probes: Probes,
    pub taps: Taps,
    /// Size of a full data packet [bytes].
    pub data_bytes: u32,
    /// Size of an ACK [bytes].
    pub ack_bytes: u32,
    pub warmup: Time,
    pub end: Time,
    /// Sources are run ahead of the clock up to here ([`World::set_reach`]).
    pub source_reach: Time,
    /// So are sinks.
    pub sink_reach: Time,
    /// The links' counts at the end of the warm-up.
    pub at_warmup: Vec<Counts>,
    /// Is it worth while to look ahead ([`crate::world::lookahead`])?
    pub look_ahead: bool,
    /// Packets that crossed an access hop; named links count their own.
    pub access_hops: u64,
    pub apps: Apps,
    pub arrivals: Arrivals,
    pub reporters: Reporters,
    pub relays: Relays,
    /// Scratch: what a link with classes drops of what waits.
    pub gone: Vec<Waiting>,
    pub islands: Islands,
    /// There are more packets than the pool may hold: the run is given up.
    pub crowded: bool,
}

impl World {
    /// Handles up to `budget` events; false when the run is over.
    pub fn advance(&mut self, budget: u64) -> bool {
        for _ in 0..budget {
            let Some((now, event)) = self.agenda.next(self.end) else {
                self.catch_up_all(self.end);
                return false;
            };
            if self.look_ahead {
                self.look_at_events();
            }
            self.handle(now, event);
        }
        true
    }

    #[inline(always)]
    fn handle(&mut self, now: Time, event: u32) {
        const GUARD: u32 = Due::Guard as u32;
        const LINK_PIPE: u32 = Due::LinkPipe as u32;
        const CAPACITY: u32 = Due::Capacity as u32;
        const ROUTER_TIMER: u32 = Due::RouterTimer as u32;
        const UP: u32 = Due::Up as u32;
        const DOWN: u32 = Due::Down as u32;
        const ACK_UP: u32 = Due::AckUp as u32;
        const ACK_DOWN: u32 = Due::AckDown as u32;
        const FLOW_TIMER: u32 = Due::FlowTimer as u32;
        const PACE: u32 = Due::Pace as u32;
        const RECEIVER: u32 = Due::Receiver as u32;
        const PROBE: u32 = Due::Probe as u32;
        const LEAVE: u32 = Due::Leave as u32;
        const ARRIVAL: u32 = Due::Arrival as u32;
        let index = event & (MAX_INDEX - 1);
        // What arrives at a link does so below, for three kinds of events: called once, it is
        // inlined.
        let arrival = match event >> INDEX_BITS {
            UP => self.off_source(index),
            ACK_UP => self.off_sink(index),
            LINK_PIPE => self.off_link(now, index),
            GUARD => return self.on_guard(now, index),
            CAPACITY => return self.on_router_event(now, index, Due::Capacity),
            ROUTER_TIMER => return self.on_router_event(now, index, Due::RouterTimer),
            DOWN => return self.on_down(now, index),
            ACK_DOWN => return self.on_ack_down(now, index),
            FLOW_TIMER => return self.on_flow_timer(now, index),
            PACE => return self.on_pace(now, index),
            RECEIVER => return self.on_receiver_timer(now, index),
            PROBE => return self.on_probe(now),
            LEAVE => return self.on_leave(now, index),
            ARRIVAL => return self.on_arrival(now, index),
            _ => return self.on_rare_event(now, event),
        };
        if let Some((link, id)) = arrival {
            self.arrive(now, link, id);
        }
    }

    // Links.

    /// The head of a link's delay line is at the next link, which is returned, or leaves the last
    /// one.
    #[inline]
    fn off_link(&mut self, now: Time, link: u32) -> Option<(u32, u32)> {
        let popped = self.links[link as usize].pipe.pop(&self.pool);
        let (id, next) = popped.or_else(|| self.pop_crossed(now, link))?;
        if let Some(next) = next {
            self.agenda.again(next, event(Due::LinkPipe, link));
        }
        Some((self.next_link(id), id))
    }

    /// The head of the line from a source is at the first link, which is returned.
    #[inline]
    fn off_source(&mut self, flow: u32) -> Option<(u32, u32)> {
        let source = &mut self.sources[flow as usize];
        let (id, next) = source.up.pop(&self.pool)?;
        if let Some(next) = next {
            self.agenda.again(next, event(Due::Up, flow));
        }
        Some((source.way.first, id))
    }

    /// The head of the line from a sink is at the first link back, which is returned.
    #[inline]
    fn off_sink(&mut self, flow: u32) -> Option<(u32, u32)> {
        let sink = &mut self.sinks[flow as usize];
        let (id, next) = sink.ack_up.pop(&self.pool)?;
        if let Some(next) = next {
            self.agenda.again(next, event(Due::AckUp, flow));
        }
        Some((sink.way.first, id))
    }

    /// The link that a packet comes to next; there must be one.
    #[inline]
    pub(crate) fn next_link(&self, id: u32) -> u32 {
        let packet = &self.pool[id];
        let path = &self.paths[self.sources[packet.flow as usize].group as usize];
        let links = match packet.kind {
            PacketKind::Data => &path.forward,
            PacketKind::Ack => &path.reverse,
        };
        links[usize::from(packet.hop)]
    }

    /// Works out the departures of a link up to `now`.
    #[inline(always)] // for the hot path, which is not the only caller
    fn catch_up(&mut self, now: Time, link: u32) {
        loop {
            let l = &mut self.links[link as usize];
            let Some((start, id, queued_for)) = l.next_service(now) else { break };
            let plain = l.plain;
            if self.look_ahead {
                self.look_at_queue(link);
            }
            if plain {
                self.serve(start, link, id, queued_for);
            } else {
                self.serve_special(start, link, id, queued_for);
            }
        }
    }

    /// The same for any link, where it may take a little longer.
    pub(crate) fn settle(&mut self, now: Time, link: u32) {
        self.catch_up(now, link);
        if self.links[link as usize].queue.has_classes() {
            self.catch_up_classes(now, link);
        }
    }

    pub fn catch_up_all(&mut self, now: Time) {
        for link in 0..self.links.len() {
            self.settle(now, link as u32);
        }
    }

    /// A packet whose service starts now comes out of the link's delay no sooner than that delay
    /// from now: a guard at that time is early enough.
    pub(crate) fn set_guard(&mut self, link: u32) {
        let l = &mut self.links[link as usize];
        l.guarded = l.queue.backlog().packets > 0;
        if l.guarded {
            self.agenda.at(l.busy_until + l.owd, event(Due::Guard, link));
        }
    }

    fn on_guard(&mut self, now: Time, link: u32) {
        self.settle(now, link);
        self.set_guard(link);
    }

    #[inline]
    fn arrive(&mut self, now: Time, link: u32, id: u32) {
        self.catch_up(now, link);
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

    pub(crate) fn dropped(&mut self, now: Time, id: u32) {
        let packet = &self.pool[id];
        let flow = packet.flow;
        let annals = &mut self.annals[flow as usize];
        match packet.kind {
            PacketKind::Data => annals.dropped += 1,
            PacketKind::Ack => annals.acks_dropped += 1,
        }
        let followed = annals.row != NONE || annals.reports;
        let kind = packet.kind;
        self.pool.remove(id);
        if followed {
            self.packet_ended(now, flow, (kind, id));
        }
    }

    /// A packet starts over a link's plain line; where it comes out, and when, is known at once.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time, link: u32, id: u32, queued_for: Span) {
        let l = &mut self.links[link as usize];
        let packet = &mut self.pool[id];
        l.serve(now, packet, queued_for);
        packet.hop += 1;
        let out = l.busy_until + l.owd;
        if !packet.is_through() {
            if l.pipe.push(&mut self.pool, id, out) {
                self.agenda.at(out, event(Due::LinkPipe, link));
            }
        } else {
            let (flow, size) = (packet.flow, packet.size);
            match packet.kind {
                PacketKind::Data => self.leave_for_sink(out, id, (flow, size)),
                PacketKind::Ack => self.leave_for_source(out, id, flow),
            }
        }
    }

    /// A data packet leaves the last named link for the access hop to its sink.
    #[inline]
    fn leave_for_sink(&mut self, now: Time, id: u32, (flow, size): (u32, u32)) {
        let sink = &mut self.sinks[flow as usize];
        let access = &self.accesses[sink.access as usize];
        let time = serialization(access, size, self.data_bytes);
        let due = sink.down_hop.cross(now, time, access.sink_owd);
        self.access_hops += 1;
        if sink.prompt && due <= self.sink_reach {
            self.deliver(due, flow, id);
        } else if sink.down.push(&mut self.pool, id, due) {
            self.agenda.at(due, event(Due::Down, flow));
        }
    }

    /// An ACK leaves the last named link for the access hop to its source.
    #[inline]
    fn leave_for_source(&mut self, now: Time, id: u32, flow: u32) {
        let source = &mut self.sources[flow as usize];
        let access = &self.accesses[source.access as usize];
        let due = source.down_hop.cross(now, access.ack_time, access.source_owd);
        self.access_hops += 1;
        if source.prompt && due <= self.source_reach {
            self.settle_source(due, flow);
            self.acknowledged(due, flow, id);
        } else if source.ack_down.push(&mut self.pool, id, due) {
            self.agenda.at(due, event(Due::AckDown, flow));
        }
    }

    fn on_router_event(&mut self, now: Time, link: u32, due: Due) {
        self.settle(now, link);
        let l = &mut self.links[link as usize];
        // A branch may have moved the notice that this event was for.
        if matches!(due, Due::Capacity) && l.next_notice() > now {
            return;
        }
        let next = match due {
            Due::Capacity => l.on_capacity(now),
            _ => {
                l.timer = l.on_timer(now);
                l.timer
            }
        };
        if !l.plain {
            self.probes.on_link(now, link, l);
        }
        if next != Time::NEVER {
            self.agenda.at(next, event(due, link));
        }
    }

    // The source.

    fn on_flow_timer(&mut self, now: Time, flow: u32) {
        let source = &mut self.sources[flow as usize];
        if source.armed != now {
            return; // another event took its place
        }
        source.armed = Time::NEVER;
        if source.deadline() <= now {
            self.on_source_timers(now, flow);
            self.look_at_source(now, flow);
        } else {
            arm(&mut self.agenda, source, flow);
        }
    }

    #[inline(never)]
    pub fn on_source_timers(&mut self, now: Time, flow: u32) {
        let source = &mut self.sources[flow as usize];
        if source.boundary <= now {
            let own = source.own_gap(self.data_bytes);
            let flow = (flow, source.group);
            let next = self.apps.offer(flow, now, own, &mut source.outbound);
            let annals = &mut self.annals[flow.0 as usize];
            if source.on_boundary(now, next, annals.stop) && annals.reports {
                annals.last_data = annals.last_data.max(now);
            }
        }
        source.on_timers(now);
        if source.outbound.finished() {
            self.finish(now, flow);
        }
        self.send(now, flow);
    }

    fn on_pace(&mut self, now: Time, flow: u32) {
        let source = &mut self.sources[flow as usize];
        if source.pace_armed == now {
            source.pace_armed = Time::NEVER;
            self.send(now, flow);
            self.look_at_source(now, flow);
        }
    }

    /// Handles the source's own timers that are due before `until`.
    #[inline]
    pub(crate) fn settle_source(&mut self, until: Time, flow: u32) {
        loop {
            let source = &mut self.sources[flow as usize];
            // No timer is due before its event.
            if source.armed.min(source.pace_armed) >= until {
                break;
            }
            let (timer, pace) = (source.deadline(), source.pace_armed);
            if timer.min(pace) >= until {
                break;
            }
            if timer <= pace {
                self.on_source_timers(timer, flow);
            } else {
                source.pace_armed = Time::NEVER;
                self.send(pace, flow);
            }
        }
    }

    /// Sends what window and pacer allow, and sets the timers.
    #[inline(never)]
    fn send(&mut self, now: Time, flow: u32) {
        self.send_allowed(now, flow);
    }

    /// The same, for the hot path.
    #[inline(always)]
    fn send_allowed(&mut self, now: Time, flow: u32) {
        let source = &mut self.sources[flow as usize];
        while source.started {
            let window = source.sender.window();
            if source.is_paced_out(now) {
                if source.outbound.has_room(window) && source.pace_free < source.pace_armed {
                    source.pace_armed = source.pace_free;
                    set(&mut self.agenda, source.pace_free, (Due::Pace, flow));
                }
                break;
            }
            let Some(segment) = source.outbound.next_segment(now, window) else { break };
            source.outbound.on_sent(now);
            let access = &self.accesses[source.access as usize];
            let (size, time) = if segment.seq == source.last_seq {
                let size = last_bytes(&self.annals, flow);
                (size, access.rate.serialization(size))
            } else {
                (self.data_bytes, access.data_time)
            };
            if let Some(rate) = source.sender.pacing() {
                source.pace(now, rate.serialization(size));
            }
            let due = source.up_hop.cross(now, time, access.source_owd);
            let (id, packet) = self.pool.place(Packet::data(flow, segment.seq, size, now));
            depart(packet, source, segment);
            self.access_hops += 1;
            if source.up.push(&mut self.pool, id, due) {
                set(&mut self.agenda, due, (Due::Up, flow));
            }
            if id >= self.pool.limit {
                self.crowded = true;
                break;
            }
        }
        arm(&mut self.agenda, source, flow);
    }

    fn on_ack_down(&mut self, now: Time, flow: u32) {
        let source = &mut self.sources[flow as usize];
        let Some((id, next)) = source.ack_down.pop(&self.pool, now) else { return };
        source.end_hold(next);
        if let Some(next) = next {
            self.agenda.again(next, event(Due::AckDown, flow));
        }
        if !source.prompt && self.probes.looks_at_sources() {
            self.probes.before_ack(now, flow, source, &self.pool[id]);
        }
        self.acknowledged(now, flow, id);
        self.look_at_source(now, flow);
        if let Some(before) = self.relays.before(flow) {
            self.relay(now, before);
        }
    }

    /// Records what a source that is watched has come to.
    fn look_at_source(&mut self, now: Time, flow: u32) {
        let source = &self.sources[flow as usize];
        if !source.prompt && self.probes.looks_at_sources() {
            self.probes.on_source(now, flow, source);
        }
    }

    /// An ACK is at its source, at `now`.
    #[inline]
    pub(crate) fn acknowledged(&mut self, now: Time, flow: u32, id: u32) {
        let source = &mut self.sources[flow as usize];
        let packet = &self.pool[id];
        source.acks_arrived += 1;
        let rtt = (!packet.retransmission).then(|| now.since(packet.sent_at));
        let told = packet.sack() != NONE || packet.signal;
        let seen = if told { None } else { source.outbound.on_plain_ack(now, packet.seq, rtt) };
        let Some(seen) = seen else {
            return self.acknowledged_with_more(now, flow, id);
        };
        let Packet { header, ecn: code, .. } = *packet;
        source.report_ack(now, Echoed { rtt, header, code, ece: false, marks: None }, &seen);
        self.pool.remove(id);
        if seen.finished {
            self.finish(now, flow);
        }
        self.send_allowed(now, flow);
    }

    /// The same for an ACK that may do more than to acknowledge what was sent next.
    #[inline(never)]
    fn acknowledged_with_more(&mut self, now: Time, flow: u32, id: u32) {
        let source = &mut self.sources[flow as usize];
        let packet = &self.pool[id];
        let rtt = (!packet.retransmission).then(|| now.since(packet.sent_at));
        let accurate = source.accecn.is_some() && packet.sack() != NONE;
        let (sack, field) = match packet.sack() {
            NONE => (&[][..], None),
            side => (self.pool.sack(side).as_slice(), accurate.then(|| self.pool.field(side))),
        };
        let (header, mut code, mut ece) = (packet.header, packet.ecn, packet.signal && !accurate);
        if packet.retransmission {
            source.outbound.on_timestamp(now.since(packet.sent_at));
        }
        let ack = AckIn { cumulative: packet.seq, sack, rtt, ece };
        let mut seen = source.outbound.on_ack(now, &ack);
        let marks = field.map(|field| source.count_marks(field, &mut seen));
        if let Some(marks) = marks {
            (code, ece) = (if marks > 0 { Ecn::Ce } else { source.code }, marks > 0);
        }
        if code == Ecn::Ce {
            source.outbound.on_marks();
        }
        if source.before.is_some() {
            source.report_undo();
        }
        if let Some(loss) = seen.loss {
            source.report_loss(now, &loss);
            if !source.prompt {
                self.probes.on_loss(now, flow, &loss);
            }
        }
        if seen.delivered > 0 || source.counts_all {
            source.report_ack(now, Echoed { rtt, header, code, ece, marks }, &seen);
        }
        self.pool.remove(id);
        if seen.finished {
            self.finish(now, flow);
        }
        self.send(now, flow);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn finish(&mut self, now: Time, flow: u32) {
        let (source, annals) = (&mut self.sources[flow as usize], &mut self.annals[flow as usize]);
        if annals.reports {
            annals.quiet = annals.quiet.max(now);
            if !source.outbound.finished() {
                return; // a report, of which there may be more
            }
        }
        source.finished = true;
        annals.finish.get_or_insert(now.max(annals.last_data));
        if annals.row != NONE {
            self.came_to_end(now, flow);
        }
    }

    // The sink.

    fn on_down(&mut self, now: Time, flow: u32) {
        let sink = &mut self.sinks[flow as usize];
        let Some((id, next)) = sink.down.pop(&self.pool, now) else { return };
        sink.end_hold(next);
        if let Some(next) = next {
            self.agenda.again(next, event(Due::Down, flow));
        }
        self.deliver(now, flow, id);
        if let Some(after) = self.relays.after(flow) {
            self.relay(now, after);
        }
    }

    /// A flow whose data a proxy relays, or that relays, may send up to what it has and what fits
    /// behind it ([`crate::flow::relays`]).
    #[cold]
    fn relay(&mut self, now: Time, flow: u32) {
        self.allow(flow);
        self.sources[flow as usize].look_for_idle(now);
        self.send(now, flow);
        self.look_at_source(now, flow);
    }

    /// The bound that [`World::relay`] sets; none where neither is one, so that an application with
    /// a rate keeps it.
    pub(crate) fn allow(&mut self, flow: u32) {
        let before = self.relays.before(flow);
        if before.is_none() && self.relays.buffer(flow) == u64::MAX {
            return;
        }
        let has = before.map_or(u64::MAX, |flow| self.sinks[flow as usize].inbound.cumulative());
        let out = self.relays.after(flow).map(|flow| self.sources[flow as usize].outbound.una());
        let fits = out.map_or(u64::MAX, |una| una.saturating_add(self.relays.buffer(flow)));
        let source = &mut self.sources[flow as usize];
        // What was sent stays sent.
        source.outbound.offer(has.min(fits).max(source.outbound.nxt()));
    }

    /// A data packet is at its sink, at `now`.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Time, flow: u32, id: u32) {
        let sink = &mut self.sinks[flow as usize];
        let packet = &mut self.pool[id];
        self.deliveries.record(Kind::Delivery, now, packet);
        let classic = sink.ecn == EcnUse::Classic;
        let ce = classic && packet.ecn == Ecn::Ce;
        let mut turned = false;
        if sink.ce_acks != CeAcks::Off {
            turned = self.look_at_ce(now, flow, id);
        }
        let (sink, packet) = (&mut self.sinks[flow as usize], &mut self.pool[id]);
        let seen = sink.inbound.on_data(now, packet.seq, ce, packet.signal);
        sink.arrived += 1;
        if seen.new {
            sink.delivered_bytes += u64::from(packet.size);
            if now > self.warmup {
                sink.fresh_bytes += u64::from(packet.size);
            }
        }
        let taken =
            Taken { now, id, waiting: sink.unanswered, pool: &self.pool, inbound: &sink.inbound };
        let back = sink.receiver.on_data(taken);
        let packet = &mut self.pool[id];
        let arrived = packet.ecn;
        packet.header = back.header;
        packet.ecn = if matches!(sink.ecn, EcnUse::Codes(_)) { back.code } else { Ecn::NotCapable };
        let mut ack_now = seen.ack_now | turned;
        if let Some(told) = &mut sink.accecn {
            ack_now |= told.on_data(arrived, packet.size);
        }
        if ack_now {
            self.acknowledge(now, flow, id);
        } else {
            self.withhold_ack(now, flow, id);
        }
    }

    /// Turns a data packet round as the ACK of what has arrived.
    #[inline(always)] // for the hot path, which is not the only caller
    pub(crate) fn acknowledge(&mut self, now: Time, flow: u32, id: u32) {
        let sink = &mut self.sinks[flow as usize];
        if sink.unanswered != NONE && sink.unanswered != id {
            self.pool.remove(sink.unanswered);
        }
        sink.unanswered = NONE;
        sink.acks_sent += 1;
        self.access_hops += 1;
        let ack = sink.inbound.ack(now);
        let sack =
            if ack.sack || sink.accecn.is_some() { sink.insert_side(&mut self.pool) } else { NONE };
        let access = &self.accesses[sink.access as usize];
        let packet = &mut self.pool[id];
        packet.turn_round(sack);
        packet.seq = ack.cumulative;
        packet.signal = ack.ece;
        packet.size = self.ack_bytes;
        (packet.hop, packet.links) = (0, sink.way.links);
        let due = sink.up_hop.cross(now, access.ack_time, access.sink_owd);
        if sink.ack_up.push(&mut self.pool, id, due) {
            self.agenda.at(due, event(Due::AckUp, flow));
        }
    }

    /// No ACK leaves now: it is delayed, or the protocol decides.
    #[inline(never)]
    fn withhold_ack(&mut self, now: Time, flow: u32, id: u32) {
        let sink = &mut self.sinks[flow as usize];
        if sink.reports {
            return self.report(now, flow, id);
        }
        if sink.unanswered != NONE {
            self.pool.remove(sink.unanswered);
        }
        sink.unanswered = id;
        let deadline = sink.inbound.deadline();
        if deadline < sink.armed {
            sink.armed = deadline;
            self.agenda.at(deadline, event(Due::Receiver, flow));
        }
    }

    fn on_receiver_timer(&mut self, now: Time, flow: u32) {
        let sink = &mut self.sinks[flow as usize];
        if sink.armed != now {
            return;
        }
        sink.armed = Time::NEVER;
        let deadline = sink.inbound.deadline();
        if deadline <= now && sink.unanswered != NONE {
            let id = sink.unanswered;
            self.acknowledge(now, flow, id);
        } else if deadline != Time::NEVER {
            sink.armed = deadline;
            self.agenda.at(deadline, event(Due::Receiver, flow));
        }
    }

    // Measurements.

    fn on_probe(&mut self, now: Time) {
        if !self.probes.due(now) {
            return; // another event took its place
        }
        self.catch_up_all(now);
        self.show_macros(now);
        if let Some(next) = self.probes.sample(
            now,
            &self.links,
            Ends { sources: &self.sources, sinks: &self.sinks },
        ) {
            self.agenda.at(next, event(Due::Probe, 0));
        }
        self.go_on_sampled();
    }

    #[cold]
    #[inline(never)]
    fn on_rare_event(&mut self, now: Time, event: u32) {
        if event == self::event(Due::Warmup, 0) {
            self.on_warmup(now);
        } else {
            self.on_macro_event(now, event & (MAX_INDEX - 1));
        }
    }

    fn on_warmup(&mut self, now: Time) {
        self.catch_up_all(now);
        self.at_warmup = self.links.iter().map(|link| link.departed(now)).collect();
    }
}

#[inline]
pub(crate) fn serialization(access: &Access, size: u32, data_bytes: u32) -> Span {
    if size == data_bytes { access.data_time } else { access.rate.serialization(size) }
}

/// Fills in what the source's protocol and transport put into a packet.
#[inline(always)]
fn depart(packet: &mut Packet, source: &mut Source, segment: Segment) {
    let Segment { retransmission, cwr, .. } = segment;
    let (now, size) = (packet.sent_at, packet.size);
    source.sent += 1;
    let leaving = Leaving { now, size, segment, outbound: &source.outbound };
    packet.header = source.sender.on_send(leaving);
    // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
    let incapable = retransmission && source.ecn == EcnUse::Classic;
    packet.ecn = if incapable { Ecn::NotCapable } else { source.code };
    packet.links = source.way.links;
    packet.retransmission = retransmission;
    packet.signal = cwr;
}

/// Sets an event, where that is seldom to be done.
#[inline(never)]
fn set(agenda: &mut Agenda, time: Time, (due, index): (Due, u32)) {
    agenda.at(time, event(due, index));
}

/// Size of the last packet of a finite transfer [bytes].
#[cold]
#[inline(never)]
fn last_bytes(annals: &[Annals], flow: u32) -> u32 {
    annals[flow as usize].last_bytes
}

/// Sets the source's timer event if none is pending early enough, as there nearly always is.
#[inline(always)]
pub fn arm(agenda: &mut Agenda, source: &mut Source, flow: u32) {
    let deadline = source.deadline();
    if deadline < source.armed {
        set_timer(agenda, source, (deadline, flow));
    }
}

#[cold]
#[inline(never)]
fn set_timer(agenda: &mut Agenda, source: &mut Source, (deadline, flow): (Time, u32)) {
    source.armed = deadline.max(agenda.now());
    agenda.at(source.armed, event(Due::FlowTimer, flow));
}
