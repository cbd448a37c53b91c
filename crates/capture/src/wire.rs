//! A simulated packet as the IPv4 and TCP headers that a real one would have.
//!
//! - Addresses: flow number f has its source at 10.0.0.1 + f and its sink at 10.128.0.1 + f, ports
//!   50000 + k and 60000; k counts the times that f has passed the end of the range (2^23 - 2).
//! - Sequence numbers count bytes: segment number times the payload of a full packet, from 0,
//!   modulo 2^32. The payload is the packet's size less the headers, and at least one byte.
//! - There is no handshake, so there are no SYNs, no FINs, and no options that only a SYN has. Data
//!   packets acknowledge nothing (0), ACKs carry sequence number 0. The window field is 65535.
//! - A protocol may write sequence and acknowledgment number itself, and make the TCP checksum
//!   wrong ([`cc::roles::Header::tcp`]). SACK blocks keep TCP's numbers.
//! - A protocol may write the identification field ([`cc::roles::Header::ip_id`]); it is 0
//!   elsewhere.
//! - ECN bits as they left the link. CWR on data and ECE on ACKs as RFC 3168 has them, or ACE in
//!   AE, CWR and ECE of all packets (RFC 9768); it stays 5 on data, as ACKs are not ECN-capable.
//! - Options: the protocol's header in an experimental option (kind 253) under the ExID of
//!   [`AnyHeader::exid`] (RFC 6994), then AccECN's on ACKs (kind 172, or 174 where data is ECT(1)),
//!   then SACK blocks (kind 5), most recent first, as many as fit.
//! - The payload is zeros. Both checksums are right, unless the protocol wants that one wrong.
//!
//! The simulator charges a packet's size whatever its headers would need. Where they need more (an
//! ACK of 40 bytes with any option), the packet has the length that they need, and a note says what
//! was charged. An ACK larger than its headers is padded behind the IP packet, as Ethernet would
//! do: payload would be data.

use cc::registry::AnyHeader;
use cc::roles::{Ecn, PacketKind, TcpFields};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader};
use transport::accecn::Field;
use transport::accecn::wire as accecn;

use crate::{AccEcn, Departure, Segments};

const IP_BYTES: u32 = Ipv4Header::MIN_LEN as u32;
const TCP_BYTES: u32 = TcpHeader::MIN_LEN as u32;
/// What TCP options take at most.
const OPTION_BYTES: usize = 40;

/// Every flow has a pair of addresses of its own up to this number; then ports tell them apart.
const HOSTS: u32 = (1 << 23) - 2;
const SOURCE_NET: u32 = 10 << 24;
const SINK_NET: u32 = 10 << 24 | 1 << 23;
/// The source's port, for flows below [`HOSTS`].
pub const SOURCE_PORT: u16 = 50_000;
/// The sink's port.
pub const SINK_PORT: u16 = 60_000;

/// Experimental TCP option (RFC 4727).
const KIND_EXPERIMENT: u8 = 253;
const KIND_SACK: u8 = 5;
const KIND_NOP: u8 = 1;

/// A packet's bytes but for the zeros that follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// IPv4 and TCP header with options.
    pub headers: Vec<u8>,
    /// Zeros behind them: data's payload, an ACK's padding.
    pub zeros: u32,
    /// Where this is not what was simulated.
    pub note: Option<String>,
}

/// The bytes of a packet.
pub fn encode(packet: &Departure) -> Wire {
    let header = header_option(&packet.header);
    let cut = Cut::of(&packet.header, packet.segments);
    let (source, sink, source_port) = ends(packet.flow);
    let mut options = header;
    let mut notes = Vec::new();
    let (from, to, mut tcp, payload) = match packet.kind {
        PacketKind::Data => {
            let mut tcp =
                TcpHeader::new(source_port, SINK_PORT, cut.position(packet.seq), u16::MAX);
            tcp.cwr = packet.signal;
            (source, sink, tcp, cut.payload(packet.size))
        }
        PacketKind::Ack => {
            let mut tcp = TcpHeader::new(SINK_PORT, source_port, 0, u16::MAX);
            tcp.acknowledgment_number = cut.position(packet.seq);
            tcp.ece = packet.signal;
            put_accecn(&mut options, packet);
            notes.extend(put_sack(&mut options, packet, &cut));
            (sink, source, tcp, 0)
        }
    };
    tcp.ack = true;
    if let Some(AccEcn { field, .. }) = packet.accecn {
        (tcp.ns, tcp.cwr, tcp.ece) = (field.ace & 4 != 0, field.ace & 2 != 0, field.ace & 1 != 0);
    }
    let own = packet.header.tcp();
    if let Some(TcpFields { seq, ack, .. }) = own {
        (tcp.sequence_number, tcp.acknowledgment_number) = (seq, ack);
    }
    // `put_sack` and the registry's test keep the options within 40 bytes.
    tcp.set_options_raw(&options).expect("TCP options within 40 bytes");
    let needed = IP_BYTES + TCP_BYTES + options.len() as u32 + payload;
    if needed > packet.size {
        notes.push(format!("simulated as {} bytes, its headers need {needed}", packet.size));
    }
    let padding = packet.size.saturating_sub(needed);
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let tied = own.is_some_and(|own| own.stale);
    let ip = IpPart { from, to, ecn: packet.ecn, id: packet.header.ip_id().unwrap_or(0) };
    let headers = bytes(&ip, tcp, payload, tied);
    Wire { headers, zeros: payload + padding, note }
}

/// The largest payload.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// What a packet's IP header says.
struct IpPart {
    from: u32,
    to: u32,
    ecn: Ecn,
    id: u16,
}

/// Both headers with their checksums; TCP's is that of two equal numbers where they were `tied`.
fn bytes(part: &IpPart, mut tcp: TcpHeader, payload: u32, tied: bool) -> Vec<u8> {
    let length = IP_BYTES + tcp.header_len() as u32 + payload;
    let mut ip = Ipv4Header {
        ecn: match part.ecn {
            Ecn::NotCapable => IpEcn::ZERO,
            Ecn::Ect1 => IpEcn::ONE,
            Ecn::Ect0 => IpEcn::TWO,
            Ecn::Ce => IpEcn::THREE,
        },
        // A scenario's packets have at most 65535 bytes, headers have at most 80.
        total_len: u16::try_from(length).expect("an IPv4 packet's length"),
        dont_fragment: true,
        time_to_live: 64,
        protocol: IpNumber::TCP,
        identification: part.id,
        source: part.from.to_be_bytes(),
        destination: part.to.to_be_bytes(),
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    let mut summed = tcp.clone();
    if tied {
        let both = tcp.sequence_number.max(tcp.acknowledgment_number);
        (summed.sequence_number, summed.acknowledgment_number) = (both, both);
    }
    tcp.checksum = summed
        .calc_checksum_ipv4(&ip, &ZEROS[..payload as usize])
        .expect("an IPv4 packet's length");
    [ip.to_bytes().as_slice(), tcp.to_bytes().as_slice()].concat()
}

/// Addresses of a flow's source and sink, and the source's port.
fn ends(flow: u32) -> (u32, u32, u16) {
    let (round, host) = (flow / HOSTS, flow % HOSTS + 1);
    // Flows are fewer than 2^32, so there are at most 513 rounds.
    (SOURCE_NET + host, SINK_NET + host, SOURCE_PORT + round as u16)
}

/// The protocol's header as a TCP option, filled up with no-operations.
fn header_option(header: &AnyHeader) -> Vec<u8> {
    let Some(exid) = header.exid() else { return Vec::new() };
    let length = 4 + header.wire_bytes();
    let mut option = vec![KIND_NOP; option_bytes(header)];
    option[0] = KIND_EXPERIMENT;
    option[1] = length as u8;
    option[2..4].copy_from_slice(&exid.to_be_bytes());
    header.encode(&mut option[4..length]);
    option
}

/// What that option takes.
fn option_bytes(header: &AnyHeader) -> usize {
    if header.exid().is_none() { 0 } else { (4 + header.wire_bytes()).next_multiple_of(4) }
}

/// Appends AccECN's option, if the packet has it and it fits.
fn put_accecn(options: &mut Vec<u8>, packet: &Departure) {
    let Some(AccEcn { field: Field { option: Some(bytes), .. }, ones }) = packet.accecn else {
        return;
    };
    if options.len() + accecn::LENGTH < OPTION_BYTES {
        options.extend(accecn::encode(&bytes, ones));
        options.push(KIND_NOP);
    }
}

/// Appends the SACK blocks that fit; says so if not all do.
fn put_sack(options: &mut Vec<u8>, packet: &Departure, cut: &Cut) -> Option<String> {
    let blocks = packet.sack.as_slice();
    let fit = (OPTION_BYTES - options.len()).saturating_sub(4) / 8;
    let shown = &blocks[..blocks.len().min(fit)];
    if !shown.is_empty() {
        options.extend([KIND_NOP, KIND_NOP, KIND_SACK, 2 + 8 * shown.len() as u8]);
    }
    for &(start, end) in shown {
        options.extend(cut.position(start).to_be_bytes());
        options.extend(cut.position(end).to_be_bytes());
    }
    let left = blocks.len() - shown.len();
    (left > 0).then(|| format!("{left} of {} SACK blocks do not fit", blocks.len()))
}

/// From segments to bytes.
pub(crate) struct Cut {
    segments: Segments,
    /// Headers of a data packet.
    overhead: u32,
}

impl Cut {
    /// Of a flow whose packets bear this header.
    pub(crate) fn of(header: &AnyHeader, segments: Segments) -> Cut {
        Cut { segments, overhead: IP_BYTES + TCP_BYTES + option_bytes(header) as u32 }
    }

    /// Payload of a data packet of this size on the wire.
    pub(crate) fn payload(&self, size: u32) -> u32 {
        size.saturating_sub(self.overhead).max(1)
    }

    /// Bytes of data before a segment.
    pub(crate) fn offset(&self, seq: u64) -> u64 {
        let Segments { full_bytes, last_seq, last_bytes, .. } = self.segments;
        let full = u64::from(self.payload(full_bytes));
        if seq > last_seq {
            last_seq.wrapping_mul(full).wrapping_add(u64::from(self.payload(last_bytes)))
        } else {
            seq.wrapping_mul(full)
        }
    }

    /// Sequence number of a segment's first byte.
    fn position(&self, seq: u64) -> u32 {
        self.segments.first_byte.wrapping_add(self.offset(seq) as u32)
    }
}
