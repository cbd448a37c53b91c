//! What a line that is not plain, or is watched, does to the packets it serves
//! ([`crate::link::line`]). Losses and delays are drawn in the order of service, so it does not
//! matter when a departure is worked out.
//!
//! The hot path's functions are not called from here: a second caller would end their inlining. So
//! behind such a line sources get their ACKs by events.

use cc::roles::PacketKind;
use units::{Span, Time};

use crate::link::Fate;
use crate::observe::watch::Visit;
use crate::packet::{NONE, Packet};
use crate::world::{Due, World, event, serialization};

impl World {
    /// A packet arrives at a link whose line is not plain, with all departures worked out.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrive_special(&mut self, now: Time, link: u32, id: u32) {
        let l = &self.links[link as usize];
        if l.island {
            let packet = &self.pool[id];
            let group = self.sources[packet.flow as usize].group;
            if let Some(flow) = self.islands.entry(group, packet) {
                return self.at_ingress(now, flow, id);
            }
        }
        let l = &mut self.links[link as usize];
        if l.queue.has_classes() {
            return self.arrive_at_classes(now, link, id);
        }
        let refused = l.refuses(now);
        let fate = l.arrive(now, &mut self.pool, id, refused);
        self.probes.on_arrival(Visit { now, link }, l, (id, &self.pool[id]), fate);
        match fate {
            Fate::Serve => self.serve_special(now, link, id, Span::ZERO),
            Fate::Wait if l.guarded => {}
            Fate::Wait => self.set_guard(link),
            Fate::Dropped => self.dropped(now, id),
        }
    }

    /// A packet starts over a line that is not plain.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_special(&mut self, now: Time, link: u32, id: u32, queued_for: Span) {
        let l = &mut self.links[link as usize];
        let packet = &mut self.pool[id];
        l.serve_scheduled(now, packet, queued_for);
        self.probes.on_service(Visit { now, link }, l, (id, packet), queued_for);
        self.tapped(now, link, id);
        let (l, packet) = (&mut self.links[link as usize], &mut self.pool[id]);
        packet.hop += 1;
        let due = l.service_ends() + l.owd;
        let Some(line) = &mut l.line else {
            self.cross(due, link, id);
            return;
        };
        if line.loses(packet.flow, packet.kind) {
            l.count_lost(packet);
            self.probes.on_lost(link, packet);
            self.lost(due, (link, id));
            return;
        }
        let out = line.out(due);
        let Some(crossing) = &mut line.crossing else {
            self.cross(out, link, id);
            return;
        };
        if crossing.push(id, out) {
            self.agenda.at(out, event(Due::LinkPipe, link));
        }
    }

    /// A packet comes out of a link's delay at `out`, after all that entered it before.
    fn cross(&mut self, out: Time, link: u32, id: u32) {
        if self.leaves_last_link(id) {
            self.leave_last_link(out, id);
        } else if self.links[link as usize].pipe.push(&mut self.pool, id, out) {
            self.agenda.at(out, event(Due::LinkPipe, link));
        }
    }

    /// A packet is lost that would have come out of the link's delay at `out`.
    fn lost(&mut self, out: Time, (link, id): (u32, u32)) {
        let packet = &self.pool[id];
        let flow = packet.flow;
        if self.islands.owns(flow)
            && let Some(inner) = self.lost_with(link, id)
        {
            self.lost(out, (link, inner));
        }
        let packet = &self.pool[id];
        let annals = &mut self.annals[flow as usize];
        match packet.kind {
            PacketKind::Data => annals.lost += 1,
            PacketKind::Ack => annals.acks_lost += 1,
        }
        let followed = annals.row != NONE || annals.reports;
        let kind = packet.kind;
        self.pool.remove(id);
        if followed {
            self.packet_ended(out, flow, (kind, id));
        }
    }

    /// The first packet on a line that reorders has crossed it: for the next named link, with the
    /// time of the event that must be set for the one behind it. One that leaves the last link goes
    /// on to its host from here.
    #[cold]
    #[inline(never)]
    pub(crate) fn pop_crossed(&mut self, now: Time, link: u32) -> Option<(u32, Option<Time>)> {
        let crossing = self.links[link as usize].line.as_mut()?.crossing.as_mut()?;
        if !crossing.fires(now) {
            return None; // another event took its place
        }
        let id = crossing.pop(now)?;
        let next = crossing.rearm();
        if !self.leaves_last_link(id) {
            return Some((id, next));
        }
        if let Some(next) = next {
            self.agenda.at(next, event(Due::LinkPipe, link));
        }
        self.leave_last_link(now, id);
        None
    }

    /// Is the link whose delay the packet is in the last named one of its path?
    pub(crate) fn leaves_last_link(&self, id: u32) -> bool {
        self.pool[id].is_through()
    }

    /// A packet leaves the last named link at `out`. A source gets an event though it may be
    /// prompt.
    pub(crate) fn leave_last_link(&mut self, out: Time, id: u32) {
        let Packet { flow, size, kind, .. } = self.pool[id];
        if kind == PacketKind::Ack && self.islands.owns(flow) {
            return self.feed_back(out, flow, id);
        }
        let (source, sink) = (&mut self.sources[flow as usize], &mut self.sinks[flow as usize]);
        let access = &self.accesses[sink.access as usize];
        let (hop, line, time, owd, due) = match kind {
            PacketKind::Data => {
                let time = match self.islands.owns(flow) {
                    true => Span::ZERO,
                    false => serialization(access, size, self.data_bytes),
                };
                (&mut sink.down_hop, &mut sink.down, time, access.sink_owd, Due::Down)
            }
            PacketKind::Ack => {
                let (hop, line) = (&mut source.down_hop, &mut source.ack_down);
                (hop, line, access.ack_time, access.source_owd, Due::AckDown)
            }
        };
        let there = hop.cross(out, time, owd);
        self.access_hops += u64::from(!self.islands.owns(flow));
        if kind == PacketKind::Data && sink.prompt && there <= self.sink_reach {
            return self.deliver(there, flow, id);
        }
        if line.push(&mut self.pool, id, there) {
            self.agenda.at(there, event(due, flow));
        }
    }
}
