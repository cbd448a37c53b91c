//! Asks the memory for what the next events will need, so that it is there when they are handled.
//!
//! With many flows every packet finds its flow's state and itself cold, and waiting for them takes
//! most of the time. Which flows and packets come next is known a little ahead: from the agenda,
//! and from the order in which packets wait in a queue. Asking early is a hint and changes no
//! result. It has to be a prefetch instruction: an early load stalls like a late one as soon as
//! something depends on it.
//!
//! XCP at 10 Gb/s, 80 ms, 100,000 flows takes a third of the time with it.

use crate::flow::{Sink, Source};
use crate::packet::NONE;
use crate::world::{Due, MAX_INDEX, World};

/// Flows' state of more bytes than this does not stay in the cache of one core, which on the
/// processors of these years has 1 to 2 MB and holds packets and the agenda as well.
const CACHE: usize = 1 << 20;

/// How many events ahead to ask for a flow's state: an event takes about as long as the memory.
/// 10 and 16 were no faster at 3000 and 10,000 flows.
const FLOW: usize = 6;

/// How many events ahead to ask for the packet, which the flow's state names.
const PACKET: usize = 3;

/// How many packets of a queue ahead to ask for a packet; a busy link serves many in a row.
/// Twice as far was no faster at 3000 and 10,000 flows.
const QUEUED_PACKET: usize = 12;

/// How many packets of a queue ahead to ask for the flow, which the packet names.
const QUEUED_FLOW: usize = 6;

/// Is it worth while with so many flows?
pub fn pays(flows: usize) -> bool {
    flows * (size_of::<Source>() + size_of::<Sink>()) > CACHE
}

impl World {
    /// Asks for what some of the next events need.
    #[inline]
    pub fn look_at_events(&self) {
        const UP: u32 = Due::Up as u32;
        const ACK_UP: u32 = Due::AckUp as u32;
        if let Some(event) = self.agenda.upcoming(FLOW) {
            let (kind, flow) = parts(event);
            if kind == UP || kind == ACK_UP {
                hint::prefetch(&self.sources[flow]);
                hint::prefetch(&self.sinks[flow]);
            }
        }
        if let Some(event) = self.agenda.upcoming(PACKET) {
            let (kind, flow) = parts(event);
            let packet = match kind {
                UP => self.sources[flow].up.head(),
                ACK_UP => self.sinks[flow].ack_up.head(),
                _ => NONE,
            };
            self.pool.prefetch(packet);
        }
    }

    /// Asks for what some of the packets that wait for a link need.
    #[inline]
    pub fn look_at_queue(&self, link: u32) {
        let queue = &self.links[link as usize].queue;
        if let Some(id) = queue.behind(QUEUED_PACKET) {
            self.pool.prefetch(id);
        }
        if let Some(id) = queue.behind(QUEUED_FLOW) {
            hint::prefetch(&self.sinks[self.pool[id].flow as usize]);
        }
    }
}

#[inline]
fn parts(event: u32) -> (u32, usize) {
    (event / MAX_INDEX, (event % MAX_INDEX) as usize)
}
