//! Real packets as the protocols' routers see them, and back: what is read of an IPv4 or IPv6
//! packet, and which of its bytes a router's decisions change, with the checksums over them.
//!
//! Nothing here believes a packet. What is not whole IP is refused, and so are IPv6's multicasts,
//! by which a host looks for neighbours that no line has; what is whole, but holds no whole TCP
//! segment, passes as data without a header.

use cc::registry::{AnyHeader, AnyRouterParams};
use cc::roles::{Ecn, Fields, PacketKind, TcpFields};

const IP_MIN: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_MIN: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Experimental TCP option (RFC 4727), with an ExID (RFC 6994) that names the protocol.
const KIND_EXPERIMENT: u8 = 253;
/// The longest header of a protocol.
const MAX_HEADER: usize = 40;

/// Both ends of a packet's connection, the same whichever way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ends {
    /// The lesser address and port, and the greater; IPv4's addresses are the lowest 32 bits.
    pub ends: [(u128, u16); 2],
    /// IP's protocol number.
    pub protocol: u8,
}

/// What was read of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Whose it is.
    pub ends: Ends,
    /// Source and destination port; 0 where there are none.
    pub ports: (u16, u16),
    /// Bytes of data that TCP carries in it.
    pub payload: u32,
    /// A TCP segment without payload is an ACK, all else is data.
    pub kind: PacketKind,
    /// The two ECN bits.
    pub ecn: Ecn,
    /// The protocol's header.
    pub header: AnyHeader,
    /// Where what IP carries begins.
    start: usize,
    /// Where an option with a header begins and how long the header is.
    option: Option<(usize, usize)>,
}

/// Reads a packet; `None` when it is not whole IP. Without an option its header is what `queue`
/// reads in the fields that every packet has.
pub fn read(packet: &[u8], queue: Option<&AnyRouterParams>) -> Option<Seen> {
    let ip = if packet.first()? >> 4 == 6 { ipv6(packet)? } else { ipv4(packet)? };
    let Ip { start, protocol, ecn, .. } = ip;
    // Only the first fragment has ports.
    let body = if ip.first { &packet[start..ip.end] } else { &[] };
    let ports = match protocol {
        TCP | UDP => (u16_at(body, 0).unwrap_or(0), u16_at(body, 2).unwrap_or(0)),
        _ => (0, 0),
    };
    let (a, b) = ((ip.addresses[0], ports.0), (ip.addresses[1], ports.1));
    let ends = Ends { ends: [a.min(b), a.max(b)], protocol };
    let mut seen = Seen {
        ends,
        ports,
        payload: 0,
        kind: PacketKind::Data,
        ecn,
        header: AnyHeader::None,
        start,
        option: None,
    };
    let mut fields = Fields { tcp: None, ip_id: ip.id.unwrap_or(0) };
    let tcp_bytes = if protocol == TCP { tcp_header(body) } else { None };
    if let Some(header) = tcp_bytes {
        let (seq, ack) = (u32_at(header, 4)?, u32_at(header, 8)?);
        fields.tcp = Some(TcpFields { seq, ack, stale: false });
        seen.payload = (body.len() - header.len()) as u32;
        if seen.payload == 0 && ip.last {
            seen.kind = PacketKind::Ack;
        }
        if let Some((at, length, found)) = find_option(header) {
            (seen.header, seen.option) = (found, Some((start + at, length)));
        }
    }
    if let (Some(queue), None) = (queue, seen.option) {
        let header = queue.read(&fields).unwrap_or_default();
        // What is read of a field that IPv6 has not got was never written.
        if ip.id.is_some() || header.ip_id().is_none() {
            seen.header = header;
        }
    }
    Some(seen)
}

/// Writes into a packet what routers made of its ECN bits and its header; both checksums follow.
/// True when a byte changed.
pub fn write(packet: &mut [u8], seen: &Seen, ecn: Ecn, header: &AnyHeader) -> bool {
    let mut changed = false;
    if ecn != seen.ecn && packet[0] >> 4 == 6 {
        // The two lowest bits of the traffic class; IPv6 has no checksum.
        packet[1] = packet[1] & !0x30 | (ecn as u8) << 4;
        changed = true;
    } else if ecn != seen.ecn {
        let before = u16::from_be_bytes([packet[0], packet[1]]);
        packet[1] = packet[1] & !3 | ecn as u8;
        let after = u16::from_be_bytes([packet[0], packet[1]]);
        let sum = u16::from_be_bytes([packet[10], packet[11]]);
        packet[10..12].copy_from_slice(&replaced(sum, before, after).to_be_bytes());
        changed = true;
    }
    if let Some((at, length)) = seen.option
        && *header != seen.header
        && header.wire_bytes() == length
    {
        let mut bytes = [0; MAX_HEADER];
        header.encode(&mut bytes[..length]);
        changed |= patch_tcp(packet, seen.start, at, &bytes[..length]);
    }
    changed
}

/// The last of the three bits that TCP reserves, in the byte of its data offset: a router has
/// measured the load that the packet's code tells. The end hosts of `ebpf/` read it, and the
/// kernel's routers set it as this does.
const MEASURED: u8 = 2;

/// Says in a data segment that a router has measured; the checksum follows. True when a byte
/// changed.
pub fn set_measured(packet: &mut [u8], seen: &Seen) -> bool {
    let at = seen.start + 12;
    if seen.ends.protocol != TCP || seen.payload == 0 {
        return false;
    }
    patch_tcp(packet, seen.start, at, &[packet[at] | MEASURED])
}

/// Replaces bytes of the TCP header, which begins at `start`, of a packet that [`read`] understood.
fn patch_tcp(packet: &mut [u8], start: usize, at: usize, bytes: &[u8]) -> bool {
    // Words of the checksum begin at even distances from the TCP header.
    let from = at - (at - start) % 2;
    let to = at + bytes.len() + (at + bytes.len() - start) % 2;
    if packet[at..at + bytes.len()] == *bytes {
        return false;
    }
    let mut old = [0; MAX_HEADER + 2];
    old[..to - from].copy_from_slice(&packet[from..to]);
    packet[at..at + bytes.len()].copy_from_slice(bytes);
    let mut sum = u16::from_be_bytes([packet[start + 16], packet[start + 17]]);
    for i in (0..to - from).step_by(2) {
        let before = u16::from_be_bytes([old[i], old[i + 1]]);
        let after = u16::from_be_bytes([packet[from + i], packet[from + i + 1]]);
        sum = replaced(sum, before, after);
    }
    packet[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
    true
}

/// A checksum after one of its words has become another. RFC 1624, eq. 3: HC' = ~(~HC + ~m + m').
pub fn replaced(sum: u16, before: u16, after: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    !(total as u16)
}

/// What an IP header says.
struct Ip {
    /// Where what it carries begins and ends.
    start: usize,
    end: usize,
    protocol: u8,
    addresses: [u128; 2],
    ecn: Ecn,
    /// The identification, which only IPv4 has in every packet.
    id: Option<u16>,
    /// Is it the first fragment, and is it the last? What is not cut is both.
    first: bool,
    last: bool,
}

fn ipv4(packet: &[u8]) -> Option<Ip> {
    let first = *packet.first()?;
    let start = usize::from(first & 15) * 4;
    if first >> 4 != 4 || start < IP_MIN {
        return None;
    }
    let end = usize::from(u16_at(packet, 2)?);
    if !(start..=packet.len()).contains(&end) {
        return None;
    }
    let fragment = u16_at(packet, 6)?;
    let address = |at: usize| u32_at(packet, at).map_or(0, u128::from);
    Some(Ip {
        start,
        end,
        protocol: packet[9],
        addresses: [address(12), address(16)],
        ecn: ecn(packet[1]),
        id: u16_at(packet, 4),
        first: fragment & 0x1fff == 0,
        last: fragment & 0x2000 == 0,
    })
}

/// Hop-by-hop options, routing, destination options: a next header, and a length in 8 bytes less 1.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;
const MULTICAST: u8 = 0xff;

fn ipv6(packet: &[u8]) -> Option<Ip> {
    let header = packet.get(..IPV6_HEADER)?;
    let end = IPV6_HEADER + usize::from(u16_at(header, 4)?);
    if end == IPV6_HEADER || end > packet.len() || header[24] == MULTICAST {
        return None;
    }
    let address =
        |at: usize| header[at..at + 16].iter().fold(0, |sum, &b| sum << 8 | u128::from(b));
    let mut ip = Ip {
        start: IPV6_HEADER,
        end,
        protocol: header[6],
        addresses: [address(8), address(24)],
        ecn: ecn(header[1] >> 4),
        id: None,
        first: true,
        last: true,
    };
    loop {
        let extension = packet.get(ip.start..ip.start + 8).filter(|_| ip.start + 8 <= end);
        let length = match ip.protocol {
            FRAGMENT => {
                let fragment = u16_at(extension?, 2)?;
                (ip.first, ip.last) = (fragment & 0xfff8 == 0, fragment & 1 == 0);
                8
            }
            other if EXTENSIONS.contains(&other) => 8 + 8 * usize::from(extension?[1]),
            _ => return Some(ip),
        };
        ip.protocol = extension?[0];
        ip.start += length;
        if ip.start > end {
            return None;
        }
        // The rest of a packet that was cut has no header of its own.
        if !ip.first {
            return Some(ip);
        }
    }
}

/// The TCP header with its options; `None` when it is cut off or makes no sense.
fn tcp_header(body: &[u8]) -> Option<&[u8]> {
    let length = usize::from(body.get(12)? >> 4) * 4;
    if length < TCP_MIN { None } else { body.get(..length) }
}

/// The first option with a protocol's header: where the header is, its length and what it says.
/// Options of other experiments are passed over (RFC 6994, section 3).
fn find_option(header: &[u8]) -> Option<(usize, usize, AnyHeader)> {
    let mut at = TCP_MIN;
    loop {
        let length = match *header.get(at)? {
            0 => return None,
            1 => {
                at += 1;
                continue;
            }
            _ => usize::from(*header.get(at + 1)?),
        };
        let option = header.get(at..at + length)?;
        if length < 2 {
            return None;
        }
        if option[0] == KIND_EXPERIMENT && length >= 4 {
            let exid = u16::from_be_bytes([option[2], option[3]]);
            let wire = &option[4..];
            if AnyHeader::EXIDS.contains(&exid) {
                return AnyHeader::decode(exid, wire)
                    .filter(|found| found.wire_bytes() == wire.len())
                    .map(|found| (at + 4, wire.len(), found));
            }
        }
        at += length;
    }
}

fn ecn(tos: u8) -> Ecn {
    [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(tos & 3)]
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
