//! What policies share: the unit in which they count a queue, and what becomes of a picked packet.

use units::Rate;

use crate::roles::{Backlog, Ecn, Limit, PacketKind, Passing, RouterContext, Verdict};

choice! {
    /// What a policy counts.
    pub enum Counting {
        /// What the buffer's limit counts.
        Buffer = "buffer",
        /// Packets, however small.
        Packets = "packets",
        /// Bytes, in units of a full packet.
        Bytes = "bytes",
    }
}

/// Queues, packets and capacities in packets: each counts one, or by its bytes in full packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gauge {
    bytes: bool,
    by_full: f64,
}

impl Gauge {
    /// For packets that are `full` bytes long in the mean.
    pub fn new(counts: Counting, full: u32, context: &RouterContext) -> Gauge {
        let bytes = match counts {
            Counting::Buffer => matches!(context.limit, Limit::Bytes(_)),
            Counting::Packets => false,
            Counting::Bytes => true,
        };
        Gauge { bytes, by_full: 1.0 / f64::from(full.max(1)) }
    }

    /// What waits [packets].
    #[inline]
    pub fn queue(&self, backlog: Backlog) -> f64 {
        if self.bytes { backlog.bytes as f64 * self.by_full } else { f64::from(backlog.packets) }
    }

    /// What a packet counts [packets].
    #[inline]
    pub fn packet(&self, size: u32) -> f64 {
        if self.bytes { self.full_packets(size) } else { 1.0 }
    }

    /// The packet's size, whatever is counted [full packets].
    #[inline]
    pub fn full_packets(&self, size: u32) -> f64 {
        f64::from(size) * self.by_full
    }

    /// The buffer's limit [packets; full ones if it is in bytes].
    pub fn buffer(&self, limit: Limit) -> f64 {
        match limit {
            Limit::Bytes(bytes) => bytes as f64 * self.by_full,
            Limit::Packets(packets) => f64::from(packets),
        }
    }

    /// A capacity [full packets/s].
    pub fn rate(&self, capacity: Rate) -> f64 {
        capacity.bytes_per_sec() * self.by_full
    }
}

/// What becomes of a picked packet: data that is capable is marked if `marks`, all else is dropped.
/// An ACK's bits are an echo, or it is not capable.
#[inline]
pub(super) fn signal(marks: bool, packet: Passing<'_, ()>) -> Verdict {
    if marks && packet.kind == PacketKind::Data && *packet.ecn != Ecn::NotCapable {
        *packet.ecn = Ecn::Ce;
        return Verdict::Forward;
    }
    Verdict::Drop
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{near, passing, router_context};

    #[test]
    fn fifty_acks_are_two_packets_by_bytes() {
        let context = router_context(Rate(8_000_000), 100);
        let acks = Backlog { packets: 50, bytes: 2000 };
        for (counts, queue, packet) in [
            (Counting::Buffer, 50.0, 1.0),
            (Counting::Packets, 50.0, 1.0),
            (Counting::Bytes, 2.0, 0.04),
        ] {
            let gauge = Gauge::new(counts, 1000, &context);
            assert!(near(gauge.queue(acks), queue) && near(gauge.packet(40), packet), "{counts:?}");
            assert!(
                near(gauge.full_packets(40), 0.04) && near(gauge.rate(context.capacity), 1000.0)
            );
        }
        let gauge = Gauge::new(Counting::Buffer, 1000, &context);
        assert!(near(gauge.buffer(Limit::Bytes(1500)), 1.5));
        assert!(near(gauge.buffer(Limit::Packets(7)), 7.0));
    }

    #[test]
    fn capable_data_is_marked_and_all_else_dropped() {
        let told = |marks, kind, mut ecn| {
            let verdict = signal(marks, Passing { kind, ..passing(&mut ecn) });
            (verdict, ecn)
        };
        let (data, ack) = (PacketKind::Data, PacketKind::Ack);
        assert_eq!(told(true, data, Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        assert_eq!(told(true, data, Ecn::NotCapable), (Verdict::Drop, Ecn::NotCapable));
        assert_eq!(told(true, ack, Ecn::Ect0), (Verdict::Drop, Ecn::Ect0));
        assert_eq!(told(false, data, Ecn::Ect0), (Verdict::Drop, Ecn::Ect0));
    }
}
