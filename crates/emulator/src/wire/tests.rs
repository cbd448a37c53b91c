//! Packets made by hand; the checksums in them are worked out in the comments or by the naive sum
//! below, which knows nothing of RFC 1624's update.

use cc::explicit::load::bmcc::BmccHeader;
use cc::explicit::load::dpcp::DpcpHeader;
use cc::explicit::xcp::xcp::XcpHeader;

use super::*;

/// The Internet checksum as RFC 1071 defines it: the complement of the sum of all words.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut bytes: Vec<u8> = parts.concat();
    if bytes.len() % 2 == 1 {
        bytes.push(0);
    }
    let total: u32 =
        bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let once = (total & 0xffff) + (total >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}

fn ip_sum_right(packet: &[u8]) -> bool {
    sum(&[&packet[..usize::from(packet[0] & 15) * 4]]) == 0
}

fn tcp_sum_right(packet: &[u8]) -> bool {
    let segment = &packet[usize::from(packet[0] & 15) * 4..];
    let length = (segment.len() as u16).to_be_bytes();
    sum(&[&packet[12..20], &[0, 6], &length, segment]) == 0
}

/// 10.77.0.1:1000 to 10.77.0.2:2000 with these TCP options and payload, both checksums right.
fn tcp(tos: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let total = (20 + header + payload.len()) as u16;
    let mut packet = vec![0x45, tos];
    packet.extend(total.to_be_bytes());
    packet.extend([0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    packet.extend([0x03, 0xe8, 0x07, 0xd0, 0, 0, 0, 9, 0, 0, 0, 5]);
    packet.extend([(header as u8 / 4) << 4, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend_from_slice(options);
    packet.extend_from_slice(payload);
    let ip = sum(&[&packet[..20]]).to_be_bytes();
    packet[10..12].copy_from_slice(&ip);
    let length = ((packet.len() - 20) as u16).to_be_bytes();
    let tcp = sum(&[&packet[12..20], &[0, 6], &length, &packet[20..]]).to_be_bytes();
    packet[36..38].copy_from_slice(&tcp);
    packet
}

/// XCP's option behind this many no-operations, filled up to words.
fn xcp_option(before: usize, header: &XcpHeader) -> Vec<u8> {
    let mut option = vec![1; before];
    option.extend([253, 20, 0x58, 0x43]);
    let mut wire = [0; 16];
    AnyHeader::Xcp(*header).encode(&mut wire);
    option.extend(wire);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

/// The example in Wikipedia's article on the IPv4 header checksum, whose checksum is 0xb861.
#[test]
fn the_ip_checksum_follows_the_ecn_bits() {
    let mut packet = vec![
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];
    packet.resize(0x73, 0);
    assert!(ip_sum_right(&packet));
    let seen = read(&packet, None).expect("an IPv4 packet");
    assert_eq!((seen.kind, seen.ecn), (PacketKind::Data, Ecn::NotCapable));
    assert!(write(&mut packet, &seen, Ecn::Ce, &AnyHeader::None));
    // The first word is 3 more, so the checksum is 3 less: 0xb85e.
    assert_eq!((packet[1], &packet[10..12]), (3, &[0xb8, 0x5e][..]));
    assert!(ip_sum_right(&packet));
}

/// RFC 1624 section 4: from 0x5555 to 0x3285 with a checksum of 0xdd2f gives 0x0000.
#[test]
fn the_update_is_that_of_rfc_1624() {
    assert_eq!(replaced(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn data_and_acks_are_told_by_payload() {
    let seen = |packet: &[u8]| read(packet, None).expect("IPv4");
    assert_eq!(seen(&tcp(0, &[], b"x")).kind, PacketKind::Data);
    assert_eq!(seen(&tcp(0, &[], b"")).kind, PacketKind::Ack);
    assert_eq!(seen(&tcp(0, &[], b"")).ports, (1000, 2000));
    assert_eq!(seen(&tcp(0, &[], b"xyz")).payload, 3);
    // Either direction is the same connection.
    let mut back = tcp(0, &[], b"");
    back[12..20].copy_from_slice(&[10, 77, 0, 2, 10, 77, 0, 1]);
    back[20..24].copy_from_slice(&[0x07, 0xd0, 0x03, 0xe8]);
    assert_eq!(seen(&back).ends, seen(&tcp(0, &[], b"")).ends);
    // A fragment has no ports, and is data whatever is in it.
    let mut fragment = tcp(0, &[], b"");
    fragment[6] = 0x20;
    assert_eq!(seen(&fragment).kind, PacketKind::Data);
    fragment[6..8].copy_from_slice(&[0, 1]);
    assert_eq!((seen(&fragment).kind, seen(&fragment).ports), (PacketKind::Data, (0, 0)));
}

#[test]
fn all_four_codes_come_and_go() {
    let codes = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    for (bits, from) in (0..).zip(codes) {
        for to in codes {
            let mut packet = tcp(0b1010_1000 | bits, &[], b"data");
            let seen = read(&packet, None).expect("IPv4");
            assert_eq!(seen.ecn, from);
            assert_eq!(write(&mut packet, &seen, to, &seen.header), from != to);
            assert!(ip_sum_right(&packet) && tcp_sum_right(&packet));
            assert_eq!(read(&packet, None).map(|seen| seen.ecn), Some(to));
            assert_eq!(packet[1] >> 2, 0b10_1010, "DSCP");
        }
    }
}

#[test]
fn feedback_is_written_where_the_option_is() {
    let asked = XcpHeader { cwnd: 50_000.0, rtt: 0.08, feedback: 1234.5 };
    let granted = AnyHeader::Xcp(XcpHeader { feedback: -77.25, ..asked });
    // Even and odd places; and behind a timestamp option.
    for before in 0..4 {
        let mut options = xcp_option(before, &asked);
        if before == 3 {
            options.splice(0..0, [8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1]);
        }
        let mut packet = tcp(0, &options, b"seven b");
        assert!(tcp_sum_right(&packet));
        let seen = read(&packet, None).expect("IPv4");
        let AnyHeader::Xcp(found) = seen.header else { panic!("XCP's header") };
        assert_eq!((found.cwnd, found.feedback), (50_000.0, 1234.5));
        assert!(write(&mut packet, &seen, Ecn::NotCapable, &granted));
        assert!(tcp_sum_right(&packet) && ip_sum_right(&packet), "{before}");
        let after = read(&packet, None).expect("IPv4");
        let AnyHeader::Xcp(found) = after.header else { panic!("XCP's header") };
        assert_eq!((found.cwnd, found.feedback), (50_000.0, -77.25));
        // Nothing else changed.
        assert_eq!(packet.len(), tcp(0, &options, b"seven b").len());
        assert_eq!(&packet[packet.len() - 7..], b"seven b");
        assert!(!write(&mut packet, &after, Ecn::NotCapable, &after.header));
    }
}

#[test]
fn options_that_make_no_sense_are_no_header() {
    let header = XcpHeader { cwnd: 1.0, rtt: 0.1, feedback: 0.0 };
    let good = xcp_option(0, &header);
    let seen = |options: &[u8]| read(&tcp(0, options, b"x"), None).expect("IPv4").header;
    assert!(matches!(seen(&good), AnyHeader::Xcp(_)));
    let spoilt = |at: usize, byte: u8| {
        let mut options = good.clone();
        options[at] = byte;
        seen(&options)
    };
    // Length 0, 1, too long, one short; another ExID; the end of options before it.
    for (at, byte) in [(1, 0), (1, 1), (1, 21), (1, 19), (2, 0x59), (0, 0)] {
        assert_eq!(spoilt(at, byte), AnyHeader::None, "{at} {byte}");
    }
}

/// Options of other experiments (RFC 6994) may stand before a header; of two headers the first
/// counts, and is the one written to.
#[test]
fn the_first_header_counts_and_other_experiments_are_passed_over() {
    let header = |feedback| XcpHeader { cwnd: 1.0, rtt: 0.1, feedback };
    let (one, two) = (xcp_option(0, &header(1.0)), xcp_option(0, &header(2.0)));
    let foreign = [253, 6, 0x12, 0x34, 7, 7, 1, 1];
    let short = [253, 4, 0x58, 0x43];
    let granted = |options: &[u8]| match read(&tcp(0, options, b"x"), None).expect("IPv4").header {
        AnyHeader::Xcp(header) => Some(header.feedback),
        _ => None,
    };
    assert_eq!(granted(&foreign), None);
    assert_eq!(granted(&[&foreign[..], &one].concat()), Some(1.0));
    // An ExID of ours without a header's length: the packet counts as one without.
    assert_eq!(granted(&[&short[..], &two].concat()), None);
    let both = tcp(0, &[&one[..], &two].concat(), b"x");
    let mut packet = both.clone();
    let seen = read(&packet, None).expect("IPv4");
    assert!(write(&mut packet, &seen, Ecn::NotCapable, &AnyHeader::Xcp(header(0.5))));
    assert!(tcp_sum_right(&packet));
    // The second one, behind the IP header, TCP's 20 bytes and the first, is as it was.
    assert_eq!((granted(&packet[40..80]), &packet[60..80]), (Some(0.5), &both[60..80]));
}

#[test]
fn dpcps_numbers_and_bmccs_identification_are_read_where_a_queue_wants_them() {
    let packet = tcp(1, &[], b"x");
    let header =
        |queue: &str| read(&packet, AnyRouterParams::named(queue).as_ref()).expect("IPv4").header;
    assert_eq!(header("droptail"), AnyHeader::None);
    let numbers = DpcpHeader { seq: 9, ack: 5, stale: false };
    assert_eq!(header("dpcp"), AnyHeader::Dpcp(numbers));
    assert_eq!(header("bmcc"), AnyHeader::Bmcc(BmccHeader { id: 0x1234 }));
}

#[test]
fn what_is_not_whole_ipv4_is_refused() {
    let whole = tcp(0, &[], b"x");
    let queue = AnyRouterParams::named("dpcp");
    assert!((0..whole.len()).all(|cut| read(&whole[..cut], queue.as_ref()).is_none()));
    let spoilt = |at: usize, byte: u8| {
        let mut packet = whole.clone();
        packet[at] = byte;
        read(&packet, None).is_none()
    };
    // IPv6; a header of 16 bytes; a total length of 19, and one beyond the packet.
    assert!(spoilt(0, 0x60) && spoilt(0, 0x44) && spoilt(3, 19) && spoilt(3, 42));
}

/// tshark, which is another's code, finds both checksums right after both changes.
#[test]
fn tshark_agrees() {
    let header = XcpHeader { cwnd: 50_000.0, rtt: 0.08, feedback: 1234.5 };
    let mut packet = tcp(1, &xcp_option(1, &header), b"payload");
    let seen = read(&packet, None).expect("IPv4");
    let granted = AnyHeader::Xcp(XcpHeader { feedback: 0.5, ..header });
    assert!(write(&mut packet, &seen, Ecn::Ce, &granted));
    let file = std::env::temp_dir().join(format!("clearpipe-wire-{}.pcapng", std::process::id()));
    let out = std::fs::File::create(&file).expect("a temporary file");
    let mut capture = capture::Capture::new(out, "link", 1, false).expect("a capture");
    capture.write_bytes(units::Time::ZERO, &packet).expect("a packet");
    capture.finish().expect("a capture");
    let fields = ["ip.checksum.status", "tcp.checksum.status", "ip.dsfield.ecn"];
    let mut tshark = std::process::Command::new("tshark");
    tshark.args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-T", "fields"]);
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let done = tshark.arg("-r").arg(&file).output();
    std::fs::remove_file(&file).expect("the temporary file");
    let Ok(done) = done else {
        eprintln!("skipped: no tshark");
        return;
    };
    // 1: good.
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "1\t1\t3");
}

mod random {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that are often nearly a packet.
    fn nearly() -> impl Strategy<Value = Vec<u8>> {
        let option = prop::collection::vec(any::<u8>(), 0..40);
        let payload = prop::collection::vec(any::<u8>(), 0..60);
        let spoilt = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
        let made = (any::<u8>(), option, payload, any::<bool>(), spoilt);
        made.prop_map(|(tos, mut options, payload, xcp, spoilt)| {
            options.resize(options.len() / 4 * 4, 1);
            if xcp && options.len() <= 20 {
                let header = XcpHeader { cwnd: 1e4, rtt: 0.1, feedback: 3.0 };
                options.splice(0..0, xcp_option(0, &header));
            }
            let mut packet = tcp(tos, &options, &payload);
            for (at, byte) in spoilt {
                let at = at.index(packet.len());
                packet[at] = byte;
            }
            packet
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Whatever comes, nothing panics; what is read keeps its length, and a wrong checksum is
        /// as wrong as before: its difference to the right one stays.
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop_oneof![nearly(), prop::collection::vec(any::<u8>(), 0..120)],
            code in 0_usize..4,
            feedback in any::<f64>(),
        ) {
            for queue in ["xcp", "dpcp", "bmcc"].map(AnyRouterParams::named) {
                let mut packet = bytes.clone();
                let Some(seen) = read(&packet, queue.as_ref()) else { continue };
                let ecn = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][code];
                let header = match seen.header {
                    AnyHeader::Xcp(header) => AnyHeader::Xcp(XcpHeader { feedback, ..header }),
                    other => other,
                };
                let right = (ip_sum_right(&packet), tcp_sum_right(&packet));
                let changed = write(&mut packet, &seen, ecn, &header);
                prop_assert_eq!(packet.len(), bytes.len());
                prop_assert!(changed || packet == bytes);
                let total = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
                prop_assert!(!right.0 || ip_sum_right(&packet));
                if total == bytes.len() && bytes[9] == 6 {
                    prop_assert!(!right.1 || tcp_sum_right(&packet));
                }
                prop_assert_eq!(read(&packet, queue.as_ref()).map(|again| again.ecn), Some(ecn));
            }
        }
    }
}

/// [2001:db8::1]:1000 to [2001:db8::2]:2000 with these TCP options and payload, behind `before`,
/// extension headers of which the first is of this kind.
fn tcp6(class: u8, (kind, before): (u8, &[u8]), options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x60 | class >> 4, class << 4, 0, 0];
    packet.extend(((before.len() + header + payload.len()) as u16).to_be_bytes());
    packet.extend([kind, 64]);
    for last in [1, 2] {
        packet.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    packet.extend_from_slice(before);
    packet.extend([0x03, 0xe8, 0x07, 0xd0, 0, 0, 0, 9, 0, 0, 0, 5]);
    packet.extend([(header as u8 / 4) << 4, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend_from_slice(options);
    packet.extend_from_slice(payload);
    let at = 40 + before.len();
    let tcp = tcp6_sum(&packet, at).to_be_bytes();
    packet[at + 16..at + 18].copy_from_slice(&tcp);
    packet
}

/// RFC 8200 section 8.1: both addresses, a length of 32 bits, three zeros and the next header.
fn tcp6_sum(packet: &[u8], at: usize) -> u16 {
    let length = ((packet.len() - at) as u32).to_be_bytes();
    sum(&[&packet[8..40], &length, &[0, 0, 0, 6], &packet[at..]])
}

#[test]
fn ipv6_is_read_and_written() {
    let asked = XcpHeader { rtt: 0.08, cwnd: 15_000.0, feedback: 3000.0 };
    // Nothing; eight bytes of hop-by-hop options (RFC 8200 section 4.3: PadN of 4).
    for (kind, before) in [(6, &[][..]), (0, &[6, 0, 1, 4, 0, 0, 0, 0][..])] {
        let mut packet = tcp6(0xb9, (kind, before), &xcp_option(1, &asked), b"data");
        let at = 40 + before.len();
        let seen = read(&packet, None).expect("an IPv6 packet");
        assert_eq!((seen.ports, seen.payload, seen.kind), ((1000, 2000), 4, PacketKind::Data));
        // The class is 0b101110_01: ECT(1).
        assert_eq!((seen.ecn, seen.header), (Ecn::Ect1, AnyHeader::Xcp(asked)));
        let given = AnyHeader::Xcp(XcpHeader { feedback: -1500.0, ..asked });
        assert!(write(&mut packet, &seen, Ecn::Ce, &given));
        assert_eq!(packet[..2], [0x6b, 0xb0]);
        // A segment with its own checksum in it sums up to zero.
        assert_eq!(tcp6_sum(&packet, at), 0);
        let again = read(&packet, None).expect("still one");
        assert_eq!((again.ecn, again.header, again.ends), (Ecn::Ce, given, seen.ends));
    }
    let ack = tcp6(0, (6, &[]), &[], &[]);
    assert_eq!(read(&ack, None).map(|seen| seen.kind), Some(PacketKind::Ack));
}

#[test]
fn ipv6_that_is_cut_or_not_for_us() {
    let whole = tcp6(0, (6, &[]), &[], b"data");
    for length in 0..whole.len() {
        assert_eq!(read(&whole[..length], None), None, "{length} bytes");
    }
    // To ff02::1, as a host that looks for neighbours.
    let mut neighbours = whole.clone();
    neighbours[24..26].copy_from_slice(&[0xff, 0x02]);
    assert_eq!(read(&neighbours, None), None);
    // The second fragment, at 8 bytes: data without ports. The first has them.
    let rest = tcp6(0, (44, &[6, 0, 0, 8, 0, 0, 0, 1]), &[], b"data");
    let seen = read(&rest, None).expect("a fragment");
    assert_eq!((seen.ports, seen.kind), ((0, 0), PacketKind::Data));
    let first = tcp6(0, (44, &[6, 0, 0, 1, 0, 0, 0, 1]), &[], &[]);
    let seen = read(&first, None).expect("a fragment");
    assert_eq!((seen.ports, seen.kind), ((1000, 2000), PacketKind::Data));
    // Options that say to be longer than the packet.
    let beyond = tcp6(0, (60, &[6, 9, 1, 4, 0, 0, 0, 0]), &[], &[]);
    assert_eq!(read(&beyond, None), None);
}

/// DPCP reads TCP's numbers, which IPv6 carries as well; BMCC IPv4's identification, which it does
/// not.
#[test]
fn ipv6_has_no_identification() {
    let packet = tcp6(1, (6, &[]), &[], b"data");
    let of = |queue: &str| {
        read(&packet, AnyRouterParams::named(queue).as_ref()).expect("an IPv6 packet").header
    };
    assert_eq!(of("bmcc"), AnyHeader::None);
    // seq 9 and ack 5: the greater first.
    let four = read(&tcp(1, &[], b"data"), AnyRouterParams::named("dpcp").as_ref())
        .expect("an IPv4 packet")
        .header;
    assert_eq!(of("dpcp"), four);
    assert_ne!(four, AnyHeader::None);
}
