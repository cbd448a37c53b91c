//! Which packet of a pair: what TCP's own numbers carry, and how both ends get them back
//! (section III-B, Algorithm 1).

use crate::roles::{Ecn, Fields, Header, TcpFields, Variable};

/// Bytes of IPv4 and TCP header in a packet's size.
const HEADER_BYTES: u32 = 40;
/// How far behind what is acknowledged an old ACK may lie [bytes].
const REACH: u64 = 1 << 30;

/// A packet's place in its pair; the order is that of the window's reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The most significant packet: the zone of the load factor.
    Msp,
    /// The least significant packet: the level within the zone.
    Lsp,
}

/// What a packet carries besides the two ECN bits: the number fields of its TCP header, which it
/// would carry anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DpcpHeader {
    /// The sequence number field.
    pub seq: u32,
    /// The acknowledgment number field.
    pub ack: u32,
    /// Does the checksum belong to the numbers before one was subtracted?
    pub stale: bool,
}

/// What a packet's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Its first byte of data.
    pub seq: u32,
    /// The byte that it waits for.
    pub ack: u32,
}

/// What the host has sent: an acknowledgment within it can be meant for it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The lowest number that an ACK may still name.
    pub from: u32,
    /// The next number it will send.
    pub to: u32,
}

impl Sent {
    fn holds(&self, ack: u32) -> bool {
        ack.wrapping_sub(self.from) <= self.to.wrapping_sub(self.from)
    }
}

impl DpcpHeader {
    /// Algorithm 1: numbers in the order that says `part`; on a tie the one that must be smaller is
    /// smaller by 1, and the checksum stays.
    #[inline]
    pub fn order(part: Part, numbers: Numbers) -> DpcpHeader {
        let Numbers { seq, ack } = numbers;
        let (less, more) = (seq.min(ack), seq.max(ack));
        let stale = less == more;
        let less = if stale { less.wrapping_sub(1) } else { less };
        match part {
            Part::Msp => DpcpHeader { seq: more, ack: less, stale },
            Part::Lsp => DpcpHeader { seq: less, ack: more, stale },
        }
    }

    /// What a router makes of it, by one comparison.
    #[inline]
    pub fn part(&self) -> Part {
        if self.seq > self.ack { Part::Msp } else { Part::Lsp }
    }

    /// The numbers before Algorithm 1, for a host that has sent `sent` and waits for `expected`.
    #[inline]
    pub fn undo(&self, sent: Sent, expected: u32) -> Numbers {
        let &DpcpHeader { seq, ack, stale } = self;
        if stale && seq.abs_diff(ack) == 1 {
            let both = seq.max(ack);
            return Numbers { seq: both, ack: both };
        }
        let (as_is, switched) = (Numbers { seq, ack }, Numbers { seq: ack, ack: seq });
        let nearer = distance(seq, expected) <= distance(ack, expected);
        match (sent.holds(as_is.ack), sent.holds(switched.ack)) {
            (true, false) => as_is,
            (false, true) => switched,
            _ => {
                if nearer {
                    as_is
                } else {
                    switched
                }
            }
        }
    }
}

/// How far apart two numbers are, going round.
fn distance(a: u32, b: u32) -> u32 {
    a.wrapping_sub(b).min(b.wrapping_sub(a))
}

impl Header for DpcpHeader {
    /// It needs no bytes of its own.
    const WIRE_BYTES: usize = 0;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_seq", "", "TCP's sequence number field; above h_ack in an MSP"),
        Variable::new("h_ack", "", "TCP's acknowledgment number field; above h_seq in an LSP"),
        Variable::new("h_stale", "", "1 where a tie made the checksum wrong"),
    ];
    /// MPCP's chains may be longer than DPCP's pairs.
    const COMMON: bool = true;

    fn encode(&self, _: &mut [u8]) {}

    fn decode(_: &[u8]) -> Option<DpcpHeader> {
        Some(DpcpHeader::default())
    }

    fn tcp(&self) -> Option<TcpFields> {
        Some(TcpFields { seq: self.seq, ack: self.ack, stale: self.stale })
    }

    fn read(fields: &Fields) -> Option<DpcpHeader> {
        fields.tcp.map(|TcpFields { seq, ack, stale }| DpcpHeader { seq, ack, stale })
    }

    fn code(&self, bits: Ecn) -> Option<&'static str> {
        match (self.part(), bits) {
            (Part::Lsp, Ecn::Ect1) => Some("lowest level of the zone"),
            (Part::Lsp, Ecn::Ect0) => Some("middle level of the zone"),
            (Part::Lsp, Ecn::Ce) => Some("highest level of the zone"),
            _ => None,
        }
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_seq", f64::from(self.seq));
        sink("h_ack", f64::from(self.ack));
        sink("h_stale", f64::from(u8::from(self.stale)));
    }
}

/// From segments to byte numbers. All segments but the last are full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Track {
    /// The number of segment 0's first byte.
    pub first: u32,
    /// Payload of a full segment [bytes].
    full: u32,
    /// What the last segment lacks [bytes], and the low bits of the number behind it.
    lacks: u32,
    end: u32,
}

impl Track {
    /// A flow of packets of `packet_bytes` on the wire whose data begins at `first`.
    pub fn new(first: u32, packet_bytes: u32) -> Track {
        Track { first, full: payload(packet_bytes), lacks: 0, end: 0 }
    }

    /// A segment of `size` bytes on the wire goes by; one that is not full is the last.
    #[inline]
    pub fn saw(&mut self, segment: u64, size: u32) {
        let lacks = self.full.wrapping_sub(payload(size));
        if lacks != 0 {
            self.lacks = lacks;
            self.end = (segment as u32).wrapping_add(1);
        }
    }

    /// Bytes before `segment`.
    #[inline]
    pub fn bytes(&self, segment: u64) -> u32 {
        // Modulo 2^32, as the numbers on the wire are.
        let full = (segment as u32).wrapping_mul(self.full);
        if self.lacks != 0 && segment as u32 == self.end {
            full.wrapping_sub(self.lacks)
        } else {
            full
        }
    }

    /// The number of a segment's first byte.
    #[inline]
    pub fn at(&self, segment: u64) -> u32 {
        self.first.wrapping_add(self.bytes(segment))
    }

    /// What an ACK may name of segments up to `una` and before `nxt`.
    #[inline]
    pub fn sent(&self, una: u64, nxt: u64) -> Sent {
        let behind = (u64::from(self.full) * una).min(REACH) as u32;
        Sent { from: self.at(una).wrapping_sub(behind), to: self.at(nxt) }
    }
}

fn payload(size: u32) -> u32 {
    size.saturating_sub(HEADER_BYTES).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Stream;

    fn ordered(part: Part, seq: u32, ack: u32) -> (u32, u32, bool) {
        let header = DpcpHeader::order(part, Numbers { seq, ack });
        assert_eq!(header.part(), part, "{seq} {ack}");
        (header.seq, header.ack, header.stale)
    }

    /// Algorithm 1's six branches.
    #[test]
    fn the_order_says_the_part() {
        assert_eq!(ordered(Part::Msp, 9, 4), (9, 4, false));
        assert_eq!(ordered(Part::Msp, 4, 9), (9, 4, false));
        assert_eq!(ordered(Part::Msp, 7, 7), (7, 6, true));
        assert_eq!(ordered(Part::Lsp, 4, 9), (4, 9, false));
        assert_eq!(ordered(Part::Lsp, 9, 4), (4, 9, false));
        assert_eq!(ordered(Part::Lsp, 7, 7), (6, 7, true));
        // The comparison does not go round: 2^32 - 1 is above 0.
        assert_eq!(ordered(Part::Lsp, u32::MAX, 0), (0, u32::MAX, false));
    }

    /// A difference of 1 is a tie if the checksum is wrong, and else is what it is.
    #[test]
    fn a_tie_is_told_by_the_checksum() {
        let sent = Sent { from: 7, to: 7 };
        for part in [Part::Msp, Part::Lsp] {
            let both = Numbers { seq: 7, ack: 7 };
            assert_eq!(DpcpHeader::order(part, both).undo(sent, 7), both);
            for near in [Numbers { seq: 8, ack: 7 }, Numbers { seq: 6, ack: 7 }] {
                let header = DpcpHeader::order(part, near);
                assert!(!header.stale);
                assert_eq!(header.undo(sent, near.seq), near);
            }
        }
    }

    /// Why the receiver's number is not 0 (D1): one's complement sums of 16-bit words do not tell 0
    /// from 2^32 - 1, so 0 less 1 leaves the checksum right, and the order is the wrong one as
    /// well.
    #[test]
    fn a_tie_at_zero_could_not_be_told() {
        let sum = |n: u32| (n >> 16).wrapping_add(n & 0xffff) % 0xffff;
        assert_eq!(sum(0), sum(0_u32.wrapping_sub(1)));
        assert_ne!(sum(7), sum(6));
        assert_eq!(DpcpHeader::order(Part::Msp, Numbers { seq: 0, ack: 0 }).part(), Part::Lsp);
    }

    /// The gaps of experiment dpcp-alg1, from random numbers, in both parts: both ends find what
    /// was meant.
    #[test]
    fn both_ends_undo_it_from_any_first_numbers() {
        let mut stream = Stream::new(1, 0, "test");
        let mut ties = 0;
        for draw in 0..20_000_u32 {
            let first = stream.bits() as u32;
            let gap = [0, 1, 2, 1000, 1 << 31, stream.bits() as u32][draw as usize % 6];
            // The receiver's number, at that gap from a segment in the middle of the window.
            let own = first.wrapping_add(480_000).wrapping_add(gap).max(1);
            let track = Track::new(first, 1000);
            // Data: any of the window of 1000 segments behind and before what is awaited.
            let expected = stream.bits() % 1000;
            for segment in [500, stream.bits() % 1000] {
                let meant = Numbers { seq: track.at(segment), ack: own };
                ties += u32::from(meant.seq == meant.ack);
                for part in [Part::Msp, Part::Lsp] {
                    let header = DpcpHeader::order(part, meant);
                    assert_eq!(header.part(), part);
                    let sent = Sent { from: own, to: own };
                    assert_eq!(header.undo(sent, track.at(expected)), meant);
                }
            }
            // ACKs, among them old ones.
            let una = stream.bits() % 1000;
            let nxt = una + stream.bits() % 1000;
            for acked in [una, una.saturating_sub(stream.bits() % 100)] {
                let meant = Numbers { seq: own, ack: track.at(acked) };
                for part in [Part::Msp, Part::Lsp] {
                    let header = DpcpHeader::order(part, meant);
                    assert_eq!(header.undo(track.sent(una, nxt), own), meant);
                }
            }
        }
        assert!(ties > 3000, "{ties}");
    }

    /// D2: the receiver's number 5000 is nearer to the awaited 4800 than a packet out of order.
    #[test]
    fn nearness_alone_would_go_wrong() {
        let meant = Numbers { seq: 960, ack: 5000 };
        let header = DpcpHeader::order(Part::Msp, meant);
        assert!(distance(meant.ack, 4800) < distance(meant.seq, 4800));
        assert_eq!(header.undo(Sent { from: 5000, to: 5000 }, 4800), meant);
        // Where the own number is far away, nearness says the same.
        let far = DpcpHeader::order(Part::Lsp, Numbers { seq: 960, ack: 1 << 31 });
        let neither = Sent { from: 77, to: 77 };
        assert_eq!(far.undo(neither, 4800), Numbers { seq: 960, ack: 1 << 31 });
    }

    #[test]
    fn segments_become_bytes() {
        // Payloads of 960; the fifth segment has 60 of 100 bytes.
        let mut track = Track::new(u32::MAX, 1000);
        track.saw(0, 1000);
        assert_eq!((track.at(0), track.at(1), track.at(5)), (u32::MAX, 959, 4799));
        track.saw(4, 100);
        assert_eq!((track.at(4), track.at(5)), (3839, 3899));
    }

    /// The order is in TCP's own numbers: a packet without bytes of the header has one.
    #[test]
    fn the_header_needs_no_bytes() {
        assert_eq!(DpcpHeader::decode(&[]), Some(DpcpHeader { seq: 0, ack: 0, stale: false }));
    }
}
