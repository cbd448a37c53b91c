//! The fingerprint: a 128-bit hash of what a network did, equal on every machine.
//!
//! Each departure, drop, mark and loss of a named link and each delivery is hashed by itself, and
//! the hashes are added up per link: the order in which the engine came to know of two events does
//! not show, their times do. Probes, timers and the access hops are not part of it.

use units::Time;

use crate::packet::Packet;

/// What happened to a packet.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Its last bit left a link.
    Departure = 1,
    /// A link dropped it.
    Drop = 2,
    /// A link changed its ECN bits.
    Mark = 3,
    /// Its data reached the sink, for the first time or again.
    Delivery = 4,
    /// A line lost it, after its last bit left the link.
    Loss = 5,
}

/// The hashes added up so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u128);

/// Odd constants with well-spread bits: the fractional parts of the square roots of 2, 3, 5, 7.
const K: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// The 128-bit product folded to 64 bits.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

impl Fingerprint {
    /// Takes one event in.
    #[inline]
    pub fn record(&mut self, kind: Kind, time: Time, packet: &Packet) {
        let who = u64::from(packet.flow) << 32 | u64::from(packet.size);
        let what = packet.seq << 3 | kind as u64;
        let low = fold(time.0 ^ K[0], who ^ what.rotate_left(32) ^ K[1]);
        let high = fold(low ^ what ^ K[2], time.0.rotate_left(32) ^ who ^ K[3]);
        self.0 = self.0.wrapping_add(u128::from(high) << 64 | u128::from(low));
    }

    /// Takes in what another component recorded; the order of components matters.
    pub fn combine(&mut self, other: Fingerprint) {
        let (low, high) = (other.0 as u64, (other.0 >> 64) as u64);
        let mixed = u128::from(fold(low ^ K[2], high ^ K[3])) << 64;
        self.0 = self.0.rotate_left(29).wrapping_mul(u128::from(K[0]) << 64 | u128::from(K[1]));
        self.0 = self.0.wrapping_add(mixed).wrapping_add(other.0);
    }

    /// The 128 bits.
    pub fn bits(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32, seq: u64, size: u32) -> Packet {
        Packet::data(flow, seq, size, Time::ZERO)
    }

    fn of(kind: Kind, time: u64, packet: &Packet) -> u128 {
        let mut print = Fingerprint::default();
        print.record(kind, Time(time), packet);
        print.bits()
    }

    #[test]
    fn every_part_of_an_event_counts() {
        let base = of(Kind::Departure, 5, &packet(1, 2, 1000));
        for (kind, time, packet) in [
            (Kind::Drop, 5, packet(1, 2, 1000)),
            (Kind::Loss, 5, packet(1, 2, 1000)),
            (Kind::Departure, 6, packet(1, 2, 1000)),
            (Kind::Departure, 5, packet(2, 2, 1000)),
            (Kind::Departure, 5, packet(1, 3, 1000)),
            (Kind::Departure, 5, packet(1, 2, 1001)),
        ] {
            assert_ne!(base, of(kind, time, &packet), "{kind:?} {time} {packet:?}");
        }
        assert_eq!(base, of(Kind::Departure, 5, &packet(1, 2, 1000)));
    }

    #[test]
    fn components_are_told_apart() {
        let mut a = Fingerprint::default();
        a.record(Kind::Departure, Time(1), &packet(0, 0, 1));
        let b = Fingerprint::default();
        let (mut ab, mut ba) = (Fingerprint::default(), Fingerprint::default());
        ab.combine(a);
        ab.combine(b);
        ba.combine(b);
        ba.combine(a);
        assert_ne!(ab, ba);
    }
}
