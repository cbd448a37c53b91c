//! Receivers with delayed ACKs that tell of marks by single ACKs ([`CeAcks`]).

use cc::roles::{CeAcks, Ecn};
use units::Time;

use crate::packet::NONE;
use crate::world::World;

impl World {
    /// A packet is about to be taken in whose mark may be another than that of the one before. If
    /// so, and an ACK waits, one leaves with the state before; is the packet to be acknowledged at
    /// once?
    #[cold]
    #[inline(never)]
    pub(crate) fn look_at_ce(&mut self, now: Time, flow: u32, id: u32) -> bool {
        let sink = &mut self.sinks[flow as usize];
        let ce = self.pool[id].ecn == Ecn::Ce;
        if std::mem::replace(&mut sink.ce, ce) == ce {
            return false;
        }
        let (acks, waits) = (sink.ce_acks, sink.unanswered);
        if waits != NONE {
            let first = self.pool[waits].seq;
            self.acknowledge(now, flow, waits);
            if acks == CeAcks::Ns3 {
                // TcpDctcp::m_priorRcvNxt is what was expected when that packet came.
                self.pool[waits].seq = first;
            }
        }
        acks == CeAcks::Rfc8257
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::world::build;

    /// What a receiver sends for packets 0 to 4 of which 1 and 2 are marked: numbers and marks.
    fn acks(ce_acks: &str) -> Vec<(u64, bool)> {
        let text = format!(
            "schema = 1\nname = \"x\"\nduration = \"1s\"\n[transport]\ndelayed_ack = \"200ms\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"8Mbps\"\nrtt = \"40ms\"\n\
             [flows.one]\nprotocol = {{ kind = \"dctcp\", ce_acks = \"{ce_acks}\" }}\n"
        );
        let parsed = scenario::parse("x.toml", &text, &[]);
        let scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
        let mut world = build::world(&scenario, build::Draw { seed: 1, rep: 0 });
        for seq in 0..5 {
            let mut packet = Packet::data(0, seq, 1000, Time::ZERO);
            packet.ecn = if seq == 1 || seq == 2 { Ecn::Ce } else { Ecn::Ect0 };
            let id = world.pool.insert(packet);
            world.deliver(Time::ZERO, 0, id);
        }
        let mut sent = Vec::new();
        while let Some((id, _)) = world.sinks[0].ack_up.pop(&world.pool) {
            sent.push((world.pool[id].seq, world.pool[id].ecn == Ecn::Ce));
        }
        sent
    }

    /// Every second packet, marked if either was.
    #[test]
    fn without_it_an_ack_answers_marked_and_other_packets() {
        assert_eq!(acks("off"), [(2, true), (4, true)]);
    }

    /// RFC 8257 section 3.2: packet 1 changes the state, so that ACK 1 leaves without a mark and
    /// ACK 2 with one; packet 2 waits, and packet 3 ends it: ACK 3 with a mark, ACK 4 without.
    #[test]
    fn each_state_has_its_acks() {
        assert_eq!(acks("rfc8257"), [(1, false), (2, true), (3, true), (4, false)]);
    }

    /// ns-3's ACK at packet 1 has the number before packet 0, which waits for packet 2: ACK 3, all
    /// three by the state now. Packet 3 changes it while nothing waits; 4 is the second after it.
    #[test]
    fn the_ack_of_ns3_tells_of_nothing_new() {
        assert_eq!(acks("ns-3"), [(0, false), (3, true), (5, false)]);
    }
}
