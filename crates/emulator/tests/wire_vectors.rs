//! The published test vectors (docs/reference/wire-vectors.json) against the protocols' own code
//! and the emulator's reading of packets. They were worked out from the pages beside them, not from
//! this code; python/tests/test_wire.py decodes them once more.

use cc::explicit::load::csig::{CsigHeader, Signal};
use cc::explicit::load::dpcp::order::{Numbers, Sent};
use cc::explicit::load::dpcp::{DpcpHeader, Part};
use cc::explicit::load::mlcp::MlcpHeader;
use cc::explicit::load::nbit::NbitHeader;
use cc::explicit::neighbours::{abr, jetmax, maxnet, quickstart, rcp, scone};
use cc::explicit::xcp::ixcp::IxcpHeader;
use cc::explicit::xcp::xcp::XcpHeader;
use cc::explicit::xcp::xcp_core::XcpCoreHeader;
use cc::explicit::xcp::xcp_division_free::DivisionFreeHeader;
use cc::foreign::Nobody;
use cc::rate::tfrc::TfrcHeader;
use cc::registry::{AnyHeader, AnyReceiver, AnyRouterParams, AnySenderParams};
use cc::roles::{
    Arrived, Backlog, Ecn, Feedback, Limit, PacketKind, Passing, RouterContext, SenderContext,
};
use clearpipe_emulator::wire;
use serde_json::{Map, Value};
use units::random::Stream;
use units::{Rate, Span, Time};

const CODES: [Ecn; 4] = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

fn vectors(part: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/wire-vectors.json");
    let text = std::fs::read_to_string(path).expect("docs/reference/wire-vectors.json");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all[part].clone()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn number(value: &Value) -> f64 {
    if value == "inf" { f64::INFINITY } else { value.as_f64().expect("a number") }
}

fn whole(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a whole number")).expect("32 bits")
}

fn code(value: &Value) -> Ecn {
    CODES[whole(value) as usize]
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = text(value);
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// CSIG's tag.
fn tag(signal: u32, value: u32, locator: u32) -> CsigHeader {
    let signal = [Signal::Abw, Signal::AbwC, Signal::Delay][signal as usize];
    CsigHeader::told(signal, value, locator as u16)
}

/// The header of a protocol with the fields that a vector names.
fn header(protocol: &str, means: &Value) -> AnyHeader {
    let of = |name: &str| number(&means[name]);
    let int = |name: &str| whole(&means[name]);
    let rtt = || Some(Span::from_secs_f64(of("h_rtt"))).filter(|rtt| rtt.0 > 0);
    let t_p = || match (of("h_t_p") * 1000.0).round() as u32 {
        80 => 0,
        ms => (ms / 200) as u8,
    };
    match protocol {
        "xcp" => AnyHeader::Xcp(XcpHeader {
            cwnd: of("h_cwnd"),
            rtt: of("h_rtt"),
            feedback: of("h_feedback"),
        }),
        "ixcp" => AnyHeader::Ixcp(IxcpHeader {
            cwnd: of("h_cwnd"),
            rtt: of("h_rtt") as f32,
            feedback: of("h_feedback"),
            bottleneck: int("h_bottleneck"),
            next_bottleneck: int("h_next_bottleneck"),
        }),
        "xcp-division-free" => AnyHeader::DivisionFree(DivisionFreeHeader {
            a: of("h_a"),
            rtt: of("h_rtt"),
            feedback: of("h_feedback"),
        }),
        "xcp-core" => AnyHeader::XcpCore(XcpCoreHeader {
            cwnd: of("h_cwnd"),
            rtt: of("h_rtt") as f32,
            feedback: of("h_feedback"),
            bytes: int("h_bytes"),
        }),
        "mlcp" => AnyHeader::Mlcp(MlcpHeader::new(int("h_load") as u8, t_p(), rtt())),
        "nbit" => AnyHeader::Nbit(NbitHeader::new(int("h_load"), t_p(), rtt())),
        "rcp" => AnyHeader::Rcp(rcp::RcpHeader { rate: of("h_rate"), rtt: of("h_rtt") }),
        "maxnet" => {
            AnyHeader::MaxNet(maxnet::MaxNetHeader { price: of("h_price"), rtt: of("h_rtt") })
        }
        "jetmax" => AnyHeader::JetMax(jetmax::JetMaxHeader {
            link: int("h_link"),
            proposed: int("h_proposed"),
            gap: of("h_gap"),
            offer: of("h_offer"),
        }),
        "quickstart" => AnyHeader::QuickStart(quickstart::QuickStartHeader {
            request: int("h_request") as u8,
            seen: int("h_seen") == 1,
        }),
        "tfrc" => {
            AnyHeader::Tfrc(TfrcHeader { rtt: of("h_rtt"), x_recv: of("h_x_recv"), p: of("h_p") })
        }
        "abr" => AnyHeader::Abr(abr::RmCell { ccr: of("h_ccr"), er: of("h_er"), laf: of("h_laf") }),
        "scone" => AnyHeader::Scone(scone::SconeHeader {
            asks: int("h_asks") == 1,
            signal: int("h_scone") as u8,
        }),
        "csig" => AnyHeader::Csig(tag(int("h_t"), int("h_s"), int("h_lm"))),
        "python" => AnyHeader::Foreign([of("h_0"), of("h_1"), of("h_2")]),
        _ => panic!("{protocol}"),
    }
}

/// The fields of a header are those that a vector names, to seven digits (singles).
fn means_of(found: &AnyHeader, wanted: &Map<String, Value>, what: &str) {
    let mut seen = 0;
    found.probe(&mut |name, value| {
        if name == "h_stale" {
            return;
        }
        let meant = number(&wanted[name]);
        let near = (value - meant).abs() <= 1e-7 * meant.abs();
        assert!(value == meant || near, "{what}: {name} is {value}, not {meant}");
        seen += 1;
    });
    assert_eq!(seen, wanted.len(), "{what}");
}

#[test]
fn every_header_is_written_and_read_as_published() {
    let mut exids = Vec::new();
    for vector in list(&vectors("options")) {
        let name = text(&vector["name"]);
        let option = bytes(&vector["option"]);
        let meant = header(text(&vector["protocol"]), &vector["means"]);
        let exid = u16::from_be_bytes([option[2], option[3]]);
        assert_eq!((option[0], usize::from(option[1])), (253, option.len()), "{name}");
        assert_eq!(meant.exid(), Some(exid), "{name}");
        let mut written = vec![0; meant.wire_bytes()];
        meant.encode(&mut written);
        assert_eq!(written, option[4..], "{name}");
        if vector["only"] != "encode" {
            let found = AnyHeader::decode(exid, &option[4..]).expect(name);
            means_of(&found, vector["means"].as_object().expect("fields"), name);
        }
        exids.push(exid);
    }
    // Every header that has an option is there.
    for exid in AnyHeader::EXIDS {
        assert!(exids.contains(exid), "{exid:#x} has no vector, and no place in wire-options.md");
    }
}

/// 10.77.0.1:1000 to 10.77.0.2:2000 with these options; its checksums are not looked at.
fn around(options: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40 + options.len() as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend([10, 77, 0, 1, 10, 77, 0, 2, 0x03, 0xe8, 0x07, 0xd0]);
    packet.extend([0, 0, 0, 9, 0, 0, 0, 5, ((20 + options.len() as u8) / 4) << 4, 0x10]);
    packet.extend([0xff, 0xff, 0, 0, 0, 0]);
    packet.extend_from_slice(options);
    packet
}

#[test]
fn what_is_published_as_no_header_is_none() {
    for vector in list(&vectors("refused")) {
        let seen = wire::read(&around(&bytes(&vector["options"])), None).expect("IPv4");
        assert_eq!(seen.header, AnyHeader::None, "{}", vector["name"]);
    }
    let good = &vectors("options")[1];
    let seen = wire::read(&around(&bytes(&good["option"])), None).expect("IPv4");
    assert!(matches!(seen.header, AnyHeader::Xcp(_)));
}

fn queue(vector: &Value) -> Option<AnyRouterParams> {
    let name = vector.get("queue")?;
    Some(AnyRouterParams::named(text(name)).unwrap_or_else(|| panic!("{name}")))
}

#[test]
fn packets_are_read_as_published() {
    for vector in list(&vectors("packets")) {
        let name = text(&vector["name"]);
        let seen = wire::read(&bytes(&vector["packet"]), queue(vector).as_ref()).expect(name);
        let kind = if vector["kind"] == "ack" { PacketKind::Ack } else { PacketKind::Data };
        let read = (seen.kind, seen.ecn, seen.payload);
        assert_eq!(read, (kind, code(&vector["ecn"]), whole(&vector["payload"])), "{name}");
        match vector.get("header") {
            Some(fields) => means_of(&seen.header, fields.as_object().expect("fields"), name),
            None => assert_eq!(seen.header, AnyHeader::None, "{name}"),
        }
        if let AnyHeader::Dpcp(numbers) = seen.header {
            let part = if vector["part"] == "msp" { Part::Msp } else { Part::Lsp };
            assert_eq!(numbers.part(), part, "{name}");
        }
    }
}

#[test]
fn routers_change_the_bytes_that_are_published() {
    for vector in list(&vectors("rewritten")) {
        let name = text(&vector["name"]);
        let mut packet = bytes(&vector["before"]);
        let seen = wire::read(&packet, queue(vector).as_ref()).expect(name);
        let granted = match vector.get("header") {
            Some(fields) => header(text(&vector["protocol"]), fields),
            None => seen.header,
        };
        assert!(wire::write(&mut packet, &seen, code(&vector["ecn"]), &granted), "{name}");
        assert_eq!(packet, bytes(&vector["after"]), "{name}");
    }
}

#[test]
fn dpcps_numbers_are_ordered_and_undone_as_published() {
    for vector in list(&vectors("order")) {
        let name = text(&vector["name"]);
        let part = if vector["part"] == "msp" { Part::Msp } else { Part::Lsp };
        let numbers = Numbers { seq: whole(&vector["seq"]), ack: whole(&vector["ack"]) };
        let header = DpcpHeader::order(part, numbers);
        let wire = &vector["wire"];
        let meant = DpcpHeader {
            seq: whole(&wire["seq"]),
            ack: whole(&wire["ack"]),
            stale: wire["stale"] == true,
        };
        assert_eq!((header, header.part()), (meant, part), "{name}");
        let host = &vector["host"];
        let sent = Sent { from: whole(&host["sent_from"]), to: whole(&host["sent_to"]) };
        assert_eq!(header.undo(sent, whole(&host["expected"])), numbers, "{name}");
    }
}

/// A data packet of flow 0.
fn passing<'a>(
    size: u32,
    ecn: &'a mut Ecn,
    header: Option<&'a mut AnyHeader>,
) -> Passing<'a, AnyHeader> {
    Passing { flow: 0, size, kind: PacketKind::Data, queued_for: Span::ZERO, ecn, header }
}

/// What a router of 10 Mb/s that has just measured this load makes of packets that pass. Over
/// 200 ms gamma*C*t is 0.98*1.25e6*0.2 = 245 000 bytes.
fn after_load(queue: &str, load: f64, packets: &mut [(Ecn, AnyHeader)]) {
    let context = RouterContext {
        link: 0,
        capacity: Rate(10_000_000),
        limit: Limit::Packets(1000),
        packet_bytes: 1000,
        stream: Stream::new(1, 0, "test"),
        host: &Nobody,
    };
    let mut router = AnyRouterParams::named(queue).expect(queue).build(&context);
    let arrived = (245_000.0 * load).round() as u32;
    let mut ecn = Ecn::Ect1;
    router.on_arrival(Time::ZERO, passing(arrived, &mut ecn, None), Backlog::default());
    let end = Time::ZERO + Span::from_millis(200);
    while router.next_timer() <= end {
        router.on_timer(router.next_timer(), Backlog::default());
    }
    for (ecn, header) in packets {
        router.on_departure(end, passing(1000, ecn, Some(header)), Backlog::default());
    }
}

#[test]
fn routers_write_the_published_code_of_a_load_factor() {
    let loads = vectors("loads");
    for pair in list(&loads["vcp"]) {
        let mut packets = [(Ecn::Ect1, AnyHeader::None)];
        after_load("vcp", number(&pair[0]), &mut packets);
        assert_eq!(packets[0].0, code(&pair[1]), "vcp {pair}");
    }
    for pair in list(&loads["mlcp"]) {
        let mut packets = [(Ecn::NotCapable, AnyHeader::Mlcp(MlcpHeader::new(1, 1, None)))];
        after_load("mlcp", number(&pair[0]), &mut packets);
        let wanted = AnyHeader::Mlcp(MlcpHeader::new(whole(&pair[1]) as u8, 1, None));
        assert_eq!(packets[0].1, wanted, "mlcp {pair}");
    }
    for pair in list(&loads["dpcp"]) {
        let numbers = Numbers { seq: 10_000, ack: 5000 };
        let mut packets = [Part::Msp, Part::Lsp]
            .map(|part| (Ecn::Ect1, AnyHeader::Dpcp(DpcpHeader::order(part, numbers))));
        after_load("dpcp", number(&pair[0]), &mut packets);
        let told = (packets[0].0, packets[1].0);
        assert_eq!(told, (code(&pair[1][0]), code(&pair[1][1])), "dpcp {pair}");
    }
}

/// The header that a queue reads in a packet's IP identification.
fn identified(id: u32) -> AnyHeader {
    let mut packet = around(&[]);
    packet[4..6].copy_from_slice(&(id as u16).to_be_bytes());
    wire::read(&packet, AnyRouterParams::named("bmcc").as_ref()).expect("IPv4").header
}

fn receiver(protocol: &str) -> AnyReceiver {
    let stream = Stream::new(1, 0, "test");
    let context = SenderContext {
        packet_bytes: 1000,
        initial_window: 2.0,
        counting: 0,
        routers: 1,
        stream,
        host: &Nobody,
    };
    AnySenderParams::named(protocol).expect(protocol).build(&context).1
}

fn arrived(
    header: AnyHeader,
    ecn: Ecn,
    pending: Option<Feedback<AnyHeader>>,
) -> Arrived<AnyHeader> {
    Arrived { now: Time::ZERO, seq: 0, expected: 1, size: 1000, header, ecn, pending }
}

#[test]
fn bmccs_thresholds_codes_and_estimates_are_the_published() {
    let bmcc = vectors("bmcc");
    for vector in list(&bmcc["codes"]) {
        let mut packets = [(Ecn::Ect1, identified(whole(&vector["id"])))];
        after_load("bmcc", number(&vector["load"]), &mut packets);
        assert_eq!(packets[0].0, code(&vector["code"]), "{vector}");
    }
    let mut receiver = receiver("bmcc");
    for vector in list(&bmcc["estimates"]["packets"]) {
        let packet = arrived(identified(whole(&vector["id"])), code(&vector["code"]), None);
        let back = receiver.on_data(packet).header;
        assert_eq!(back, identified(whole(&vector["estimate"])), "{vector}");
    }
    // From the largest estimate a code of 01 brings it to one below a threshold that is below 1.
    for pair in list(&bmcc["thresholds"]) {
        let (id, threshold) = (whole(&pair[0]), whole(&pair[1]));
        let mut receiver = self::receiver("bmcc");
        let packet = arrived(identified(id), Ecn::Ect1, None);
        let wanted = threshold.min(51_200).saturating_sub(1).min(51_199);
        assert_eq!(receiver.on_data(packet).header, identified(wanted), "{pair}");
    }
}

/// An ACK for every second packet: what the first had to say waits for the second.
#[test]
fn receivers_return_what_is_published() {
    for vector in list(&vectors("receivers")) {
        let (name, protocol) = (text(&vector["name"]), text(&vector["protocol"]));
        let mut receiver = receiver(protocol);
        let packet = |value: &Value| match protocol {
            "vcp" => (AnyHeader::None, code(value)),
            "xcp" => {
                let feedback = number(value);
                (AnyHeader::Xcp(XcpHeader { cwnd: 5e4, rtt: 0.08, feedback }), Ecn::NotCapable)
            }
            _ => {
                let found = AnyHeader::decode(0x4d4c, &bytes(value)).expect(name);
                (found, Ecn::NotCapable)
            }
        };
        let mut pending = None;
        for (data, ack) in list(&vector["data"]).iter().zip(list(&vector["acks"])) {
            let (header, ecn) = packet(data);
            let back = receiver.on_data(arrived(header, ecn, pending));
            pending = ack.is_null().then_some(back);
            if !ack.is_null() {
                let (header, ecn) = packet(ack);
                let meant =
                    if protocol == "vcp" { back.code == ecn } else { back.header == header };
                assert!(meant, "{name}: {back:?} for {ack}");
            }
        }
    }
}

/// Load factors in the middle of the codes of the vectors' paths.
#[test]
fn a_path_leaves_the_largest_code() {
    for vector in list(&vectors("paths")) {
        let (name, protocol) = (text(&vector["name"]), text(&vector["protocol"]));
        let loads = vectors("loads");
        let load_of = |wanted: &Value| {
            let pair = list(&loads[protocol]).iter().find(|pair| pair[1] == *wanted);
            number(&pair.unwrap_or_else(|| panic!("{wanted}"))[0])
        };
        let leaves = whole(&vector["leaves"]);
        let mut packet = [match protocol {
            "vcp" => (CODES[leaves as usize], AnyHeader::None),
            _ => (Ecn::NotCapable, AnyHeader::Mlcp(MlcpHeader::new(leaves as u8, 1, None))),
        }];
        for (router, seen) in list(&vector["routers"]).iter().zip(list(&vector["seen"])) {
            after_load(protocol, load_of(router), &mut packet);
            let mlcp = AnyHeader::Mlcp(MlcpHeader::new(whole(seen) as u8, 1, None));
            let meant =
                if protocol == "vcp" { packet[0].0 == code(seen) } else { packet[0].1 == mlcp };
            assert!(meant, "{name}: {packet:?} behind {router}");
        }
        assert_eq!(list(&vector["seen"]).last(), vector.get("arrives"), "{name}");
    }
}

/// What a receiver of ours returns for the data of a sequence is what its ACKs carry.
fn exchange(protocol: &str, steps: &[Value], name: &str) {
    let mut receiver = receiver(protocol);
    let mut pending: Option<Feedback<AnyHeader>> = None;
    for step in steps {
        let means = &step["means"];
        let bytes = bytes(&step["packet"]);
        let seen = wire::read(&bytes, AnyRouterParams::named(protocol).as_ref()).expect(name);
        assert_eq!(seen.ecn, code(&means["code"]), "{name}");
        let fields: Map<String, Value> = means.as_object().expect("fields").clone();
        let fields = fields.into_iter().filter(|(name, _)| name.starts_with("h_")).collect();
        means_of(&seen.header, &fields, name);
        if step["from"] == "A" {
            assert_eq!(seen.kind, PacketKind::Data, "{name}");
            let back = receiver.on_data(arrived(seen.header, seen.ecn, pending));
            pending = Some(back);
        } else {
            assert_eq!(seen.kind, PacketKind::Ack, "{name}");
            let back = pending.take().expect("data before its ACK");
            assert_eq!(back.header, seen.header, "{name}");
            if protocol == "vcp" {
                assert_eq!(back.code, seen.ecn, "{name}");
                assert_eq!(u32::from(bytes[33] >> 6), whole(&means["echo"]), "{name}");
            }
        }
    }
}

/// DPCP's hosts find in each packet what it means.
fn pair(steps: &[Value], name: &str) {
    for step in steps {
        let (means, host) = (&step["means"], &step["host"]);
        let packet = bytes(&step["packet"]);
        let seen = wire::read(&packet, AnyRouterParams::named("dpcp").as_ref()).expect(name);
        let AnyHeader::Dpcp(numbers) = seen.header else { panic!("{name}: DPCP's numbers") };
        let part = if means["part"] == "msp" { Part::Msp } else { Part::Lsp };
        assert_eq!((numbers.part(), seen.ecn), (part, code(&means["code"])), "{name}");
        let sent = Sent { from: whole(&host["sent_from"]), to: whole(&host["sent_to"]) };
        let meant = Numbers { seq: whole(&means["seq"]), ack: whole(&means["ack"]) };
        assert_eq!(numbers.undo(sent, whole(&host["expected"])), meant, "{name}");
    }
}

#[test]
fn sequences_mean_what_is_published() {
    let mut met = Vec::new();
    for vector in list(&vectors("sequences")) {
        let (name, protocol) = (text(&vector["name"]), text(&vector["protocol"]));
        let steps = list(&vector["steps"]);
        if protocol == "dpcp" {
            pair(steps, name)
        } else {
            exchange(protocol, steps, name)
        }
        met.push(protocol.to_owned());
    }
    assert_eq!(met, ["vcp", "dpcp", "bmcc", "xcp", "mlcp"]);
}
