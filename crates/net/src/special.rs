//! What a line that is not plain does to the packets it serves ([`crate::line`]). Losses and delays
//! are drawn in the order of service, so it does not matter when a departure is worked out.
//!
//! The hot path's functions are not called from here: a second caller would end their inlining.

use cc::roles::PacketKind;
use units::{Span, Time};

use crate::world::{Due, World, event, serialization};

impl World {
    /// A packet starts over a line that is not plain: when it comes out, unless it is lost or the
    /// line reorders.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_special(
        &mut self,
        now: Time,
        link: u32,
        id: u32,
        queued_for: Span,
    ) -> Option<Time> {
        let l = &mut self.links[link as usize];
        let packet = &mut self.pool[id];
        l.serve_scheduled(now, packet, queued_for);
        let due = l.busy_until + l.owd;
        let Some(line) = &mut l.line else { return Some(due) };
        if line.loses(packet.flow, packet.kind) {
            l.count_lost(packet);
            self.lost(id);
            return None;
        }
        let out = line.out(due);
        let Some(crossing) = &mut line.crossing else { return Some(out) };
        if crossing.push(id, out) {
            self.agenda.at(out, event(Due::LinkPipe, link));
        }
        None
    }

    fn lost(&mut self, id: u32) {
        let packet = &self.pool[id];
        let annals = &mut self.annals[packet.flow as usize];
        match packet.kind {
            PacketKind::Data => annals.lost += 1,
            PacketKind::Ack => annals.acks_lost += 1,
        }
        self.pool.remove(id);
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
        let packet = &self.pool[id];
        let path = &self.paths[self.sources[packet.flow as usize].group as usize];
        let (links, kind) = match packet.kind {
            PacketKind::Data => (&path.forward, Due::Down),
            PacketKind::Ack => (&path.reverse, Due::AckDown),
        };
        if usize::from(packet.hop) < links.len() {
            return Some((id, next));
        }
        if let Some(next) = next {
            self.agenda.at(next, event(Due::LinkPipe, link));
        }
        self.leave_late(now, id, kind);
        None
    }

    /// A packet leaves the last named link now. Its host gets an event though it may be prompt.
    fn leave_late(&mut self, now: Time, id: u32, kind: Due) {
        let packet = &self.pool[id];
        let (flow, size) = (packet.flow, packet.size);
        self.access_hops += 1;
        let (source, sink) = (&mut self.sources[flow as usize], &mut self.sinks[flow as usize]);
        let access = &self.accesses[sink.access as usize];
        let (hop, pipe, time, owd) = match kind {
            Due::Down => {
                let time = serialization(access, size, self.data_bytes);
                (&mut sink.down_hop, &mut sink.down, time, access.sink_owd)
            }
            _ => (&mut source.down_hop, &mut source.ack_down, access.ack_time, access.source_owd),
        };
        let due = hop.cross(now, time, owd);
        if pipe.push(&mut self.pool, id, due) {
            self.agenda.at(due, event(kind, flow));
        }
    }
}
