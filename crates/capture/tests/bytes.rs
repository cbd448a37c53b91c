//! The bytes of packets, worked out by hand from RFC 791, 9293, 1071, 2018, 3168 and 6994.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use cc::explicit::load::bmcc::BmccHeader;
use cc::explicit::load::dpcp::{DpcpHeader, Part, order::Numbers};
use cc::explicit::xcp::xcp::XcpHeader;
use cc::registry::AnyHeader;
use cc::roles::{Ecn, PacketKind};
use cc::tcp::delivery::Stamp;
use clearpipe_capture::{
    AccEcn, Blocks, CaptureOf, Departure, Recorder, Segments, TraceOf, Window, wire,
};
use transport::accecn::{Bytes, Field};
use units::Time;

/// Segment 3 of flow 0, of 1000 bytes with an XCP header.
fn data() -> Departure {
    Departure {
        link: 0,
        start: Time(999_000),
        end: Time(1_234_567_890),
        flow: 0,
        kind: PacketKind::Data,
        seq: 3,
        size: 1000,
        ecn: Ecn::Ect0,
        signal: false,
        retransmission: false,
        header: AnyHeader::Xcp(XcpHeader { cwnd: 2000.0, rtt: 0.08, feedback: 1.5 }),
        sack: Blocks::default(),
        accecn: None,
        segments: Segments {
            full_bytes: 1000,
            last_seq: u64::MAX,
            last_bytes: 1000,
            first_byte: 0,
        },
        life: 1,
        waiting: 0,
    }
}

fn ack(header: AnyHeader, blocks: &[(u64, u64)]) -> Departure {
    let mut sack = Blocks::default();
    blocks.iter().for_each(|&(start, end)| sack.push(start, end));
    Departure {
        kind: PacketKind::Ack,
        seq: 4,
        size: 40,
        header,
        sack,
        ecn: Ecn::NotCapable,
        ..data()
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

/// RFC 1071: the sum of all 16-bit words, the checksum's included, is all ones.
fn sum(bytes: &[u8]) -> u32 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum
}

/// Both checksums of a packet whose zeros are left out.
fn check(headers: &[u8], payload: u32) {
    assert_eq!(sum(&headers[..20]), 0xffff);
    let length = headers.len() as u32 - 20 + payload;
    let mut pseudo = headers[12..20].to_vec();
    pseudo.extend([0, 6]);
    pseudo.extend((length as u16).to_be_bytes());
    pseudo.extend(&headers[20..]);
    assert_eq!(sum(&pseudo), 0xffff);
    assert_eq!(number(&headers[2..4]), headers.len() as u32 + payload);
}

#[test]
fn a_data_packet_byte_by_byte() {
    let made = wire::encode(&data());
    #[rustfmt::skip]
    let by_hand = [
        // Version and length, ECT(0), 1000 bytes, no identification, don't fragment, TTL 64, TCP.
        0x45, 0x02, 0x03, 0xe8, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06,
        // The complement of 4502 + 03e8 + 4000 + 4006 + 0a00 + 0001 + 0a80 + 0001 = dd72.
        0x22, 0x8d,
        10, 0, 0, 1, 10, 128, 0, 1,
        // Ports 50000 and 60000; 3 * (1000 - 60) = 2820; 10 words of header, ACK; window.
        0xc3, 0x50, 0xea, 0x60, 0x00, 0x00, 0x0b, 0x04, 0, 0, 0, 0, 0xa0, 0x10, 0xff, 0xff,
        // Pseudo-header 185c and TCP 56e6c are 586c8, folded 86cd; its complement.
        0x79, 0x32,
        0, 0,
        // Experiment, 20 bytes, "XC", 80000 us, 2000 bytes, 1.5 * 65536.
        0xfd, 0x14, 0x58, 0x43, 0x00, 0x01, 0x38, 0x80, 0x00, 0x00, 0x07, 0xd0,
        0, 0, 0, 0, 0x00, 0x01, 0x80, 0x00,
    ];
    assert_eq!(made.headers, by_hand);
    assert_eq!((made.zeros, made.note), (940, None));
    check(&by_hand, 940);
}

#[test]
fn acks_with_selective_acknowledgements() {
    let made = wire::encode(&ack(AnyHeader::None, &[(9, 10), (6, 8)]));
    // Without options a payload has 960 bytes.
    assert_eq!(number(&made.headers[28..32]), 4 * 960);
    assert_eq!(number(&made.headers[24..28]), 0);
    assert_eq!(made.headers[40..44], [1, 1, 5, 18]);
    let blocks: Vec<u32> = made.headers[44..60].chunks(4).map(number).collect();
    assert_eq!(blocks, [9 * 960, 10 * 960, 6 * 960, 8 * 960]);
    assert_eq!(made.zeros, 0);
    assert_eq!(made.note.as_deref(), Some("simulated as 40 bytes, its headers need 60"));
    assert_eq!(made.headers[12..20], [10, 128, 0, 1, 10, 0, 0, 1]);
    check(&made.headers, 0);
    // 40 bytes of options: 20 are XCP's, four the alignment and the kind of two blocks.
    let made = wire::encode(&ack(data().header, &[(9, 10), (6, 7), (1, 2)]));
    assert_eq!(made.headers.len(), 80);
    assert_eq!(made.headers[60..64], [1, 1, 5, 18]);
    assert_eq!(number(&made.headers[64..68]), 9 * 940);
    let note = "1 of 3 SACK blocks do not fit; simulated as 40 bytes, its headers need 80";
    assert_eq!(made.note.as_deref(), Some(note));
    check(&made.headers, 0);
}

/// What a sender remembers of a packet travels in a header's place here, but not on a wire.
#[test]
fn a_senders_memory_does_not_show() {
    let stamped = wire::encode(&ack(AnyHeader::Stamp(Stamp::default()), &[]));
    assert_eq!(stamped, wire::encode(&ack(AnyHeader::None, &[])));
}

/// DPCP writes both numbers; a switch leaves the checksum as it was, a broken tie makes it wrong by
/// the one that was subtracted.
#[test]
fn numbers_that_the_protocol_writes() {
    let made = |part, seq, ack| {
        let header = AnyHeader::Dpcp(DpcpHeader::order(part, Numbers { seq, ack }));
        let made = wire::encode(&Departure { header, ..data() });
        assert_eq!((made.headers.len(), made.zeros, made.note), (40, 960, None));
        made.headers
    };
    let numbers = |headers: &[u8]| (number(&headers[24..28]), number(&headers[28..32]));
    let (most, least) = (made(Part::Msp, 7, 4_000_000_000), made(Part::Lsp, 7, 4_000_000_000));
    assert_eq!((numbers(&most), numbers(&least)), ((4_000_000_000, 7), (7, 4_000_000_000)));
    assert_eq!(most[36..38], least[36..38]);
    for headers in [most, least, made(Part::Msp, 8, 7)] {
        check(&headers, 960);
    }
    for (part, place) in [(Part::Msp, 28), (Part::Lsp, 24)] {
        let mut headers = made(part, 70_000, 70_000);
        assert_eq!(number(&headers[place..place + 4]), 69_999);
        assert_eq!(sum(&headers[..20]), 0xffff);
        headers[place..place + 4].copy_from_slice(&70_000_u32.to_be_bytes());
        check(&headers, 960);
    }
    // SACK blocks are numbers like the data's, and stay in their place: 3 segments of 960 from 5000
    // on.
    let segments = Segments { first_byte: 5000, ..data().segments };
    let header = AnyHeader::Dpcp(DpcpHeader::order(Part::Lsp, Numbers { seq: 9, ack: 6920 }));
    let made = wire::encode(&Departure { segments, ..ack(header, &[(3, 4)]) });
    assert_eq!(numbers(&made.headers), (9, 6920));
    let edges = (number(&made.headers[44..48]), number(&made.headers[48..52]));
    assert_eq!(edges, (5000 + 3 * 960, 5000 + 4 * 960));
    check(&made.headers, 0);
}

/// BMCC's 16 bits are in IP's identification field, bytes 4 and 5, and cost no option.
#[test]
fn an_identification_that_the_protocol_writes() {
    let header = AnyHeader::Bmcc(BmccHeader { id: 0x1234 });
    let made = wire::encode(&Departure { header, ..data() });
    assert_eq!((made.headers[4..6].to_vec(), made.headers.len()), (vec![0x12, 0x34], 40));
    check(&made.headers, made.zeros);
    let made = wire::encode(&ack(header, &[]));
    assert_eq!((made.headers[4..6].to_vec(), made.note), (vec![0x12, 0x34], None));
    check(&made.headers, 0);
}

#[test]
fn ecn_bits_and_flags() {
    for (ecn, bits) in [(Ecn::NotCapable, 0), (Ecn::Ect1, 1), (Ecn::Ect0, 2), (Ecn::Ce, 3)] {
        assert_eq!(wire::encode(&Departure { ecn, ..data() }).headers[1], bits);
    }
    let cwr = wire::encode(&Departure { signal: true, ..data() });
    assert_eq!(cwr.headers[33], 0x90);
    let ece = wire::encode(&Departure { signal: true, ..ack(AnyHeader::None, &[]) });
    assert_eq!(ece.headers[33], 0x50);
    assert_eq!((ece.headers.len(), ece.note), (40, None));
}

#[test]
fn sizes_that_leave_no_room_and_last_segments() {
    // A packet smaller than its headers still has a byte of sequence space.
    let segments = Segments { full_bytes: 30, ..data().segments };
    let made = wire::encode(&Departure { size: 30, segments, ..data() });
    assert_eq!((number(&made.headers[24..28]), made.zeros), (3, 1));
    assert_eq!(made.note.as_deref(), Some("simulated as 30 bytes, its headers need 61"));
    check(&made.headers, 1);
    // What acknowledges a last packet of 100 bytes ends with its 60.
    let segments = Segments { last_seq: 3, last_bytes: 100, ..data().segments };
    let made = wire::encode(&Departure { segments, ..ack(AnyHeader::None, &[]) });
    assert_eq!(number(&made.headers[28..32]), 3 * 960 + 60);
    // An ACK of 64 bytes is padded behind the IP packet.
    let made = wire::encode(&Departure { size: 64, ..ack(AnyHeader::None, &[]) });
    assert_eq!((number(&made.headers[2..4]), made.zeros, made.note), (40, 24, None));
    // Sequence numbers wrap: 5,000,000 * 940 = 405032704 + 2^32.
    let made = wire::encode(&Departure { seq: 5_000_000, ..data() });
    assert_eq!(number(&made.headers[24..28]), 405_032_704);
}

#[test]
fn every_flow_has_ends_of_its_own() {
    let mut seen = std::collections::BTreeSet::new();
    let last = (1 << 23) - 3;
    for flow in [0, 1, 254, 255, 65_535, last, last + 1, last + 2, (1 << 28) - 1] {
        let made = wire::encode(&Departure { flow, ..data() });
        assert_eq!(made.headers[12], 10);
        assert!(made.headers[13] < 128 && made.headers[17] >= 128, "{flow}");
        assert!(seen.insert(made.headers[12..24].to_vec()), "{flow}");
        check(&made.headers, 940);
    }
}

/// Bytes that can be looked at while somebody else writes them.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wanted(headers_only: bool) -> CaptureOf<'static> {
    CaptureOf { link: 0, name: "l", rate_bps: 8000, headers_only, file: "l.pcapng".into() }
}

#[test]
fn the_file_block_by_block() {
    for headers_only in [false, true] {
        let out = Shared::default();
        let mut recorder = Recorder::new(1, Window::ALL);
        recorder.capture(wanted(headers_only), Box::new(out.clone())).unwrap();
        recorder.departed(data());
        let recorded = recorder.finish(Time(2_000_000_000)).unwrap();
        assert_eq!((recorded.captures, recorded.trace), (vec![(0, 1)], None));
        let bytes = out.0.lock().unwrap().clone();
        let at = |place: usize| u32::from_le_bytes(bytes[place..place + 4].try_into().unwrap());
        // Section header, 28 bytes; the magic number says which end comes first.
        assert_eq!((at(0), at(4), at(8)), (0x0a0d_0d0a, 28, 0x1a2b_3c4d));
        // Interface: raw IP, 8000 bit/s, stamps in 10^-9 s.
        assert_eq!((at(28), at(36)), (1, 101));
        let interface = &bytes[28..28 + at(32) as usize];
        let has = |option: &[u8]| interface.windows(option.len()).any(|found| found == option);
        assert!(
            has(&[9, 0, 1, 0, 9]) && has(&[8, 0, 8, 0, 0x40, 0x1f]) && has(&[2, 0, 1, 0, b'l'])
        );
        // Packet: 1,234,567 ns; captured and original length.
        let packet = 28 + at(32) as usize;
        let captured = if headers_only { 60 } else { 1000 };
        assert_eq!((at(packet), at(packet + 12), at(packet + 16)), (6, 0, 1_234_567));
        assert_eq!((at(packet + 20), at(packet + 24)), (captured, 1000));
        assert_eq!(bytes[packet + 28..packet + 88], wire::encode(&data()).headers);
        assert_eq!(bytes.len(), packet + at(packet + 4) as usize);
    }
}

#[test]
fn what_leaves_after_the_end_or_outside_the_window_is_not_written() {
    let window = Window { from: Time(10), to: Time(30) };
    let cases: [(&[u64], u64, u64); 5] = [
        (&[5, 10, 20, 30, 40], 40, 2),
        (&[5, 10, 20], 20, 2),
        // A link works its departures out in order; the last one may end after the run.
        (&[5, 10, 20], 19, 1),
        (&[5], 9, 0),
        (&[], 9, 0),
    ];
    for (departures, end, packets) in cases {
        let mut recorder = Recorder::new(1, window);
        recorder.capture(wanted(true), Box::new(io::sink())).unwrap();
        for &t in departures {
            recorder.departed(Departure { end: Time(t), ..data() });
        }
        assert_eq!(recorder.finish(Time(end)).unwrap().captures, [(0, packets)], "{departures:?}");
    }
}

/// A disk with room for some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    for room in [0, 200_000] {
        let mut recorder = Recorder::new(1, Window::ALL);
        recorder.capture(wanted(false), Box::new(Full(room))).unwrap();
        for _ in 0..300 {
            recorder.departed(data());
        }
        assert!(recorder.failed());
        let error = recorder.finish(Time::NEVER).unwrap_err();
        assert!(error.to_string().starts_with("l.pcapng: "), "{error}");
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
    }
    // What is left in the buffers is tried at the end.
    let mut recorder = Recorder::new(1, Window::ALL);
    let wanted =
        TraceOf { links: vec!["l".into()], groups: vec![], limit: 1 << 20, file: "t".into() };
    recorder.trace(wanted, Box::new(Full(0))).unwrap();
    assert!(!recorder.failed());
    assert_eq!(recorder.finish(Time::NEVER).unwrap_err().file, "t");
}

/// RFC 9768: ACE = 6 is AE and CWR, bit 8 and bit 7 of the flags beside ACK; ECEB = 1460, EE0B = 1
/// and EE1B = 2921 are 00 05 b4, 00 00 01 and 00 0b 69, in AccECN1 (174) from ECT(1), in AccECN0
/// (172) from ECT(0) on. SACK blocks come behind it, of which three of four fit.
#[test]
fn accecn_is_in_flags_and_an_option() {
    let bytes = Bytes { eceb: 1460, ee0b: 1, ee1b: 2921 };
    let field = Field { ace: 6, option: Some(bytes) };
    let told = ack(AnyHeader::None, &[(9, 10), (7, 8), (5, 6), (3, 4)]);
    let with = |ones| Departure { accecn: Some(AccEcn { field, ones }), ..told };
    let one = wire::encode(&with(true));
    check(&one.headers, 0);
    // 20 + 12 + 28 bytes of TCP are 15 words.
    assert_eq!(&one.headers[32..34], [0xf1, 0x90]);
    let option = [174, 11, 0, 0x0b, 0x69, 0, 5, 0xb4, 0, 0, 1, 1];
    assert_eq!(&one.headers[40..52], option);
    assert_eq!(&one.headers[52..56], [1, 1, 5, 26]);
    assert!(one.note.is_some_and(|note| note.contains("1 of 4 SACK blocks do not fit")));
    let zero = wire::encode(&with(false));
    check(&zero.headers, 0);
    let option = [172, 11, 0, 0, 1, 0, 5, 0xb4, 0, 0x0b, 0x69, 1];
    assert_eq!(&zero.headers[40..52], option);
    // On data ACE alone: 5 is AE and ECE.
    let accecn = Some(AccEcn { field: Field { ace: 5, option: None }, ones: true });
    let made = wire::encode(&Departure { accecn, header: AnyHeader::None, ..data() });
    assert_eq!(&made.headers[32..34], [0x51, 0x50]);
    check(&made.headers, 960);
}
