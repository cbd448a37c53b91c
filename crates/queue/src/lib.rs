//! Queue mechanisms over packet handles: in which order what waits is served. What to drop or mark
//! is a policy's affair (`cc::aqm`), what a packet holds its owner's; a handle is a `u32`.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use cc::classes::Service;
use cc::roles::{Backlog, Limit, PacketKind};
use units::Time;

mod scheduler;

pub use scheduler::Classes;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The packet's handle.
    pub handle: u32,
    /// Its size on the wire [bytes].
    pub size: u32,
    /// When it came.
    pub since: Time,
}

/// The queue of one link. The packet in service is not part of it.
#[derive(Clone, Debug)]
pub struct Queue {
    acks_first: bool,
    backlog: Backlog,
    limit: Limit,
    /// ACKs under [`Service::AcksFirst`]; unused otherwise.
    first: VecDeque<Waiting>,
    rest: VecDeque<Waiting>,
    /// Under [`Service::Classes`] everything that waits, and nothing is in the two above: they look
    /// empty to whoever pops.
    classes: Option<Box<Classes>>,
}

impl Queue {
    /// An empty queue; `packet_bytes` is the size of a full packet, the quantum unless one is told.
    pub fn new(service: Service, limit: Limit, packet_bytes: u32) -> Queue {
        let (first, rest) = (VecDeque::new(), VecDeque::new());
        let classes = match service {
            Service::Classes(plan) => Some(Box::new(Classes::new(plan, packet_bytes))),
            Service::Fifo | Service::AcksFirst => None,
        };
        let acks_first = service == Service::AcksFirst;
        Queue { acks_first, backlog: Backlog::default(), limit, first, rest, classes }
    }

    /// What waits, over both bands.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Another limit; what waits stays, though it be more.
    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Is there room for `size` more bytes in one more packet?
    #[inline]
    pub fn fits(&self, size: u32) -> bool {
        match self.limit {
            Limit::Bytes(limit) => self.backlog.bytes + u64::from(size) <= limit,
            Limit::Packets(limit) => self.backlog.packets < limit,
        }
    }

    /// Takes a packet in, whether it fits or not.
    #[inline]
    pub fn push(&mut self, kind: PacketKind, packet: Waiting) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        match (self.acks_first, kind) {
            (true, PacketKind::Ack) => self.first.push_back(packet),
            _ => self.rest.push_back(packet),
        }
    }

    /// The packet to be served next, taken out.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = match self.acks_first {
            false => self.rest.pop_front(),
            true => self.first.pop_front().or_else(|| self.rest.pop_front()),
        }?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// The packet that will be served after `n` others, but for what comes and overtakes them.
    #[inline]
    pub fn behind(&self, n: usize) -> Option<u32> {
        let waiting = match n.checked_sub(self.first.len()) {
            None => self.first.get(n),
            Some(n) => self.rest.get(n),
        };
        waiting.map(|waiting| waiting.handle)
    }

    /// Everything that waits, in no promised order.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        let classes = self.classes.iter().flat_map(|classes| classes.iter());
        self.first.iter().chain(&self.rest).chain(classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(handle: u32, size: u32) -> Waiting {
        Waiting { handle, size, since: Time::ZERO }
    }

    #[test]
    fn acks_overtake_data_only_where_asked() {
        for (service, order) in [(Service::Fifo, [1, 2, 3, 4]), (Service::AcksFirst, [2, 4, 1, 3])]
        {
            let mut queue = Queue::new(service, Limit::Packets(9), 1000);
            for handle in 1..=4 {
                let kind = if handle % 2 == 0 { PacketKind::Ack } else { PacketKind::Data };
                queue.push(kind, packet(handle, 100));
            }
            assert_eq!(queue.backlog(), Backlog { packets: 4, bytes: 400 });
            let ahead: Vec<u32> = (0..9).map_while(|n| queue.behind(n)).collect();
            assert_eq!(ahead, order);
            let served: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(|p| p.handle).collect();
            assert_eq!(served, order);
            assert_eq!(queue.backlog(), Backlog::default());
        }
    }

    #[test]
    fn the_limit_counts_bytes_or_packets_of_both_bands() {
        let mut queue = Queue::new(Service::AcksFirst, Limit::Bytes(1080), 1000);
        queue.push(PacketKind::Data, packet(1, 1000));
        queue.push(PacketKind::Ack, packet(2, 40));
        assert!(queue.fits(40) && !queue.fits(41));
        let mut queue = Queue::new(Service::Fifo, Limit::Packets(1), 1000);
        assert!(queue.fits(u32::MAX));
        queue.push(PacketKind::Data, packet(1, 1));
        assert!(!queue.fits(1));
    }
}
