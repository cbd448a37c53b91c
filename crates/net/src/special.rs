//! What a line that is not plain does to the packets it serves ([`crate::line`]). Losses and delays
//! are drawn in the order of service, so it does not matter when a departure is worked out.

use cc::roles::PacketKind;
use units::{Span, Time};

use crate::line::Crossing;
use crate::world::{Due, World, event};

impl World {
    /// A packet starts over a line that is not plain.
    #[cold]
    pub(crate) fn serve_special(&mut self, now: Time, link: u32, id: u32, queued_for: Span) {
        let l = &mut self.links[link as usize];
        let packet = &mut self.pool[id];
        l.serve_scheduled(now, packet, queued_for);
        packet.hop += 1;
        let due = l.busy_until + l.owd;
        let Some(line) = &mut l.line else {
            self.cross(due, link, id);
            return;
        };
        if line.loses(packet.flow, packet.kind) {
            l.count_lost(packet);
            self.lost(id);
            return;
        }
        let out = line.out(due);
        match &mut line.crossing {
            Some(crossing) => {
                if crossing.push(id, out) {
                    self.agenda.at(out, event(Due::LinkPipe, link));
                }
            }
            None => self.cross(out, link, id),
        }
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

    /// The first packets on a line that reorders have crossed it.
    #[cold]
    pub(crate) fn on_crossed(&mut self, now: Time, link: u32) {
        if self.crossing(link, |line| line.fires(now).then_some(())).is_none() {
            return; // another event took its place
        }
        while let Some(id) = self.crossing(link, |line| line.pop(now)) {
            let packet = &self.pool[id];
            let path = &self.paths[self.sources[packet.flow as usize].group as usize];
            let links = match packet.kind {
                PacketKind::Data => &path.forward,
                PacketKind::Ack => &path.reverse,
            };
            match (links.get(usize::from(packet.hop)), packet.kind) {
                (Some(&next), _) => self.arrive(now, next, id),
                (None, PacketKind::Data) => self.leave_for_sink(now, id),
                (None, PacketKind::Ack) => self.leave_for_source(now, id),
            }
        }
        if let Some(due) = self.crossing(link, Crossing::rearm) {
            self.agenda.at(due, event(Due::LinkPipe, link));
        }
    }

    fn crossing<T>(
        &mut self,
        link: u32,
        ask: impl FnOnce(&mut Crossing) -> Option<T>,
    ) -> Option<T> {
        self.links[link as usize].line.as_mut()?.crossing.as_mut().and_then(ask)
    }

    /// The routers of a link hear of its capacity.
    pub(crate) fn on_capacity(&mut self, now: Time, link: u32) {
        self.catch_up(now, link);
        let next = self.links[link as usize].on_capacity(now);
        if next != Time::NEVER {
            self.agenda.at(next, event(Due::Capacity, link));
        }
    }
}
