//! Flows whose ACKs are reports, or that have none ([`transport::Config::reports`]).
//!
//! The source cannot know what has become of its packets, so the world says so: a packet is out
//! until it arrives or is lost, and a finite transfer is finished when the last of its packets is
//! no longer out. That is an instant of the simulated network. Hosts are run ahead, so it may be
//! known before the clock gets there, and it is the latest of those that are known.

use cc::registry::AnyReporter;
use cc::roles::{Arrived, PacketKind};
use units::Time;

use crate::packet::NONE;
use crate::world::World;

/// The receivers of such flows, by flow; empty when there are none.
#[derive(Clone, Debug, Default)]
pub struct Reporters(Vec<Option<AnyReporter>>);

impl Reporters {
    /// This flow begins in its slot.
    pub fn set(&mut self, flow: u32, reporter: Option<AnyReporter>) {
        let flow = flow as usize;
        if self.0.len() <= flow {
            if reporter.is_none() {
                return;
            }
            self.0.resize(flow + 1, None);
        }
        self.0[flow] = reporter;
    }

    fn of(&mut self, flow: u32) -> Option<&mut AnyReporter> {
        self.0.get_mut(flow as usize)?.as_mut()
    }
}

impl World {
    /// A data packet is at a sink that chooses what to acknowledge.
    #[cold]
    #[inline(never)]
    pub(crate) fn report(&mut self, now: Time, flow: u32, id: u32) {
        if self.islands.owns(flow) {
            return self.at_egress(now, flow, id);
        }
        let packet = &self.pool[id];
        let mut data = Arrived {
            now,
            seq: packet.seq,
            expected: self.sinks[flow as usize].inbound.cumulative(),
            size: packet.size,
            header: packet.header,
            ecn: packet.ecn,
            pending: None,
        };
        let reported = self.reporters.of(flow).and_then(|reporter| reporter.on_data(&mut data));
        match reported {
            Some(header) => {
                self.pool[id].header = header;
                self.acknowledge(now, flow, id);
            }
            None => self.pool.remove(id),
        }
        self.data_ended(now, flow);
    }

    /// A packet is gone, at `now`, that belongs to an arriving flow, to one with reports or to a
    /// macro-flow. Its place in the pool is free, but not taken.
    #[cold]
    #[inline(never)]
    pub(crate) fn packet_ended(&mut self, now: Time, flow: u32, (kind, id): (PacketKind, u32)) {
        if self.islands.owns(flow) {
            return self.outer_dropped(now, id);
        }
        let annals = &self.annals[flow as usize];
        if annals.reports && kind == PacketKind::Data {
            self.data_ended(now, flow);
        } else if annals.row != NONE {
            self.came_to_end(now, flow);
        }
    }

    /// A data packet of a flow with reports has arrived or is lost, at `now`.
    fn data_ended(&mut self, now: Time, flow: u32) {
        let annals = &mut self.annals[flow as usize];
        annals.quiet = annals.quiet.max(now);
        annals.last_data = annals.last_data.max(now);
        let source = &mut self.sources[flow as usize];
        source.outbound.ended();
        if source.outbound.finished() {
            self.finish(now, flow);
        }
    }
}
