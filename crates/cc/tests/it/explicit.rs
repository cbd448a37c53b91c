//! What protocols with explicit feedback have in common, in tables: a window after a loss, pacing,
//! ECN bits, codes in words, what a load factor is measured with, and parameters that one protocol
//! hands on to another that is inside of it.

use clearpipe_cc::classes::Service;
use clearpipe_cc::foreign::Nobody;
use clearpipe_cc::params::Value;
use clearpipe_cc::registry::{
    AnyHeader, AnyReceiver, AnyRouter, AnyRouterParams, AnySender, AnySenderParams, queues,
};
use clearpipe_cc::roles::{
    Ack, Arrived, Backlog, Departing, Ecn, EcnUse, Feedback, Fields, Limit, Loss, LossKind,
    PacketKind, Passing, RouterContext, SenderContext, TcpFields,
};
use units::random::Stream;
use units::{Rate, Span, Time};

type Set = (&'static str, Value);

fn ms(t: u64) -> Time {
    Time::ZERO + Span::from_millis(t)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Both ends of a flow of packets of 1000 B over one router.
fn ends(name: &str, set: &[Set], initial_window: f64) -> (AnySender, AnyReceiver) {
    let mut params = AnySenderParams::named(name).expect(name);
    for &(key, value) in set {
        assert_eq!(params.set(key, value), Ok(()), "{name}.{key}");
    }
    let stream = Stream::new(1, 0, "test");
    let (packet_bytes, counting) = (1000, 0);
    params.build(&SenderContext {
        packet_bytes,
        initial_window,
        counting,
        routers: 1,
        stream,
        host: &Nobody,
    })
}

fn sender(name: &str, set: &[Set], initial_window: f64) -> AnySender {
    ends(name, set, initial_window).0
}

fn queue(name: &str, set: &[Set]) -> AnyRouterParams {
    let mut params = AnyRouterParams::named(name).expect(name);
    for &(key, value) in set {
        assert_eq!(params.set(key, value), Ok(()), "{name}.{key}");
    }
    params
}

/// A router at 10 Mb/s.
fn router(name: &str, set: &[Set]) -> AnyRouter {
    let (limit, stream) = (Limit::Packets(100), Stream::new(1, 0, "test"));
    let capacity = Rate(10_000_000);
    queue(name, set).build(&RouterContext {
        link: 0,
        capacity,
        limit,
        packet_bytes: 1000,
        stream,
        host: &Nobody,
    })
}

/// An ACK of one packet at `now` with an RTT that was never another [ms].
fn ack(now: u64, rtt: u64, header: AnyHeader, code: Ecn) -> Ack<AnyHeader> {
    let rtt = Some(Span::from_millis(rtt));
    Ack {
        now: ms(now),
        delivered: 1,
        acked: 1,
        lost: 0,
        rtt,
        srtt: rtt,
        min_rtt: rtt,
        in_flight: 1000,
        recovering: false,
        header,
        code,
        ece: false,
        marks: u32::from(code == Ecn::Ce),
    }
}

fn departing(now: u64, srtt: Option<Span>) -> Departing {
    let (now, size, seq, in_flight) = (ms(now), 1000, 0, 0);
    Departing { now, size, srtt, seq, in_flight, backlogged: true, retransmission: false }
}

/// The header that a queue finds in the fields of a packet.
fn fields(queue: &str, (seq, ack): (u32, u32), ip_id: u16) -> AnyHeader {
    let tcp = Some(TcpFields { seq, ack, stale: false });
    AnyRouterParams::named(queue).unwrap().read(&Fields { tcp, ip_id }).expect(queue)
}

fn on_the_wire(exid: u16, wire: &[u8]) -> AnyHeader {
    AnyHeader::decode(exid, wire).expect("a header")
}

/// XCP's on the wire: RTT [us], window [bytes], feedback [2^-16 bytes].
fn xcp(rtt: u32, cwnd: u32, feedback: i64) -> AnyHeader {
    let mut wire = Vec::new();
    wire.extend(rtt.to_be_bytes());
    wire.extend(cwnd.to_be_bytes());
    wire.extend(feedback.to_be_bytes());
    on_the_wire(0x5843, &wire)
}

const XCP: u16 = 0x5843;
const DIVISION_FREE: u16 = 0x5844;
const XCP_CORE: u16 = 0x584f;
const IXCP: u16 = 0x4958;
const CSIG: u16 = 0x4353;

/// Of 16 packets: XCP takes a loss as Reno does (section 3.3), and so do VCP and what has its
/// sender; MLCP and the n-bit schemes leave the window alone but at a timeout; without routers a
/// loss is VCP's overload.
#[test]
fn a_loss_cuts_the_window_as_each_paper_says() {
    let halves = [
        "xcp",
        "xcp-division-free",
        "pxcp",
        "xcpw",
        "xcp-r",
        "xcp-core",
        "xcp-friendly",
        "xcp-misbehaving",
        "ixcp",
        "ixcp-plus",
        "vcp",
        "vcp-friendly",
        "dpcp",
        "mpcp",
        "bmcc",
        "vcp-csig",
        "dpcp-csig",
        "bmcc-csig",
        "decbit",
    ];
    let stays = ["mlcp", "nbit", "uno", "mlcp-csig", "nbit-csig"];
    let all = halves.map(|name| (name, 8.0)).into_iter();
    let all = all.chain(stays.map(|name| (name, 16.0))).chain([("vcp-endhost", 14.0)]);
    for (name, left) in all {
        for (kind, left) in
            [(LossKind::DupAcks, left), (LossKind::EcnEcho, left), (LossKind::Timeout, 1.0)]
        {
            let mut s = sender(name, &[], 16.0);
            s.on_loss(&Loss { now: ms(1), kind, in_flight: 16, lost: 1, repeated: false });
            assert_eq!(s.cwnd(), left, "{name} after {kind:?}");
        }
    }
}

/// VCP spaces the packets of an RTT above t_rho: 4 of 8000 b in a second are 32 kb/s, 5 to 8 go by
/// 8 slots, and 16 would be 62.5 ms apart, not above t_rho/2. Where a packet must move the window
/// to be heard, it is overload: 4 become 3.5 and 4 slots.
#[test]
fn who_has_vcps_sender_spaces_large_rtts() {
    let bmcc = fields("bmcc", (0, 0), 0);
    for (name, header) in [
        ("vcp", AnyHeader::None),
        ("vcp-friendly", AnyHeader::None),
        ("dpcp", fields("dpcp", (1, 0), 0)),
        ("mpcp", fields("mpcp", (1, 0), 0)),
        ("bmcc", bmcc),
    ] {
        for (window, rtt, rate) in [
            (4.0, 1000, Some(32_000)),
            (5.0, 1000, Some(64_000)),
            (16.0, 1000, None),
            (4.0, 200, None),
            (1.0, 1000, None),
        ] {
            let mut s = sender(name, &[], window);
            s.on_ack(ack(0, rtt, header, Ecn::NotCapable));
            assert_eq!((s.cwnd(), s.pacing()), (window, rate.map(Rate)), "{name} {window} {rtt}");
        }
    }
    // ABW/C = 0, told by link 1.
    let full = on_the_wire(CSIG, &[0, 1, 0x10, 0, 0, 0]);
    for (name, header) in [
        ("vcp-csig", full),
        ("dpcp-csig", full),
        ("bmcc-csig", full),
        ("vcp-endhost", AnyHeader::None),
    ] {
        let mut s = sender(name, &[], 4.0);
        s.on_ack(ack(0, 1000, header, Ecn::NotCapable));
        assert_eq!(s.pacing(), Some(Rate(32_000)), "{name} {}", s.cwnd());
    }
}

/// MLCP spaces packets where it is told to: overload at code 15 leaves 0.675 of 4 packets, 2.7 of
/// 8000 b in a second; the tag's rho = 1/0.98 is the mildest level, 3.5.
#[test]
fn who_has_mlcps_sender_spaces_packets_if_told_to() {
    let mut mlcp = [0; 4];
    mlcp[0] = 0xf2; // 15, and the second t_p
    let full = on_the_wire(CSIG, &[0, 1, 0x10, 0, 0, 0]);
    for (name, header, rate) in [
        ("mlcp", on_the_wire(0x4d4c, &mlcp), 21_600),
        ("uno", fields("uno", (0, 0), 7), 21_600),
        ("mlcp-csig", full, 28_000),
    ] {
        let pace = |windows| {
            let mut s = sender(name, &[("pacing", Value::Number(windows))], 4.0);
            s.on_ack(ack(0, 1000, header, Ecn::Ce));
            s.pacing().map(|rate| rate.0)
        };
        assert_eq!(pace(0.0), None, "{name}");
        // Less than a bit for what 0.675 and 0.875 are rounded to.
        let (once, twice) = (pace(1.0).unwrap(), pace(2.0).unwrap());
        assert!(once.abs_diff(rate) <= 1 && twice.abs_diff(2 * rate) <= 1, "{name} {once}");
    }
}

/// The code that data leaves with. VCP's lowest is 01, which is ECT(1); UNO and DECbit need CE's
/// contrary alone; ABC's accelerate is ECT(1); SCONE's CUBIC has no ECN.
#[test]
fn packets_leave_with_their_protocols_code() {
    for name in ["vcp", "vcp-friendly", "dpcp", "mpcp", "bmcc", "abc"] {
        assert_eq!(sender(name, &[], 1.0).ecn(), EcnUse::Codes(Ecn::Ect1), "{name}");
    }
    for name in ["uno", "decbit"] {
        assert_eq!(sender(name, &[], 1.0).ecn(), EcnUse::Codes(Ecn::Ect0), "{name}");
    }
    assert_eq!(sender("scone", &[], 1.0).ecn(), EcnUse::None);
    for (flag, ecn) in [(false, EcnUse::None), (true, EcnUse::Classic)] {
        assert_eq!(sender("quickstart", &[("ecn", Value::Flag(flag))], 1.0).ecn(), ecn);
    }
}

/// What a packet's bits mean with its header, as a capture shows it.
#[test]
fn codes_have_words() {
    let bits = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    let words = |header: AnyHeader| bits.map(|bits| header.code(bits).unwrap_or("-"));
    assert_eq!(
        words(fields("bmcc", (0, 0), 7)),
        [
            "-",
            "below the packet's threshold and 1",
            "between the packet's threshold and 1",
            "not below the packet's threshold and 1",
        ]
    );
    let uno = "a load at or above the level that the packet asks about";
    assert_eq!(words(fields("uno", (0, 0), 7)), ["-", "-", "-", uno]);
    // An LSP has the smaller number first.
    let levels =
        ["-", "lowest level of the zone", "middle level of the zone", "highest level of the zone"];
    for queue in ["dpcp", "mpcp"] {
        assert_eq!(words(fields(queue, (4, 9), 0)), levels);
        assert_eq!(words(fields(queue, (9, 4), 0)), ["-"; 4]);
    }
    for &exid in AnyHeader::EXIDS {
        assert_eq!(words(on_the_wire(exid, &[0; 40])), ["-"; 4], "{exid:#06x}");
    }
}

/// The routers of VCP's family serve ACKs first unless told not to, those of XCP's if told to, and
/// UNO's never.
#[test]
fn who_serves_acks_first() {
    for (key, names, first) in [
        ("priority", &["vcp", "dpcp", "mpcp", "mlcp", "nbit", "bmcc"][..], true),
        (
            "acks_first",
            &["xcp", "pxcp", "ixcp", "ixcp-plus", "xcp-division-free", "xcp-core", "xcp-law"],
            false,
        ),
    ] {
        let order = |first| if first { Service::AcksFirst } else { Service::Fifo };
        for name in names {
            assert_eq!(queue(name, &[]).service(), order(first), "{name}");
            for flag in [true, false] {
                let told = queue(name, &[(key, Value::Flag(flag))]).service();
                assert_eq!(told, order(flag), "{name}");
            }
        }
    }
    assert_eq!(queue("uno", &[]).service(), Service::Fifo);
}

/// An ACK that answers two packets takes back the sum of what both were granted, as each changes
/// the window for itself: 3 - 1 bytes, and over the RTT where the header has it so.
#[test]
fn an_ack_of_two_packets_has_the_feedback_of_both() {
    let double = |at: usize, feedback: f64| {
        let mut wire = [0; 40];
        wire[at..at + 8].copy_from_slice(&feedback.to_be_bytes());
        wire
    };
    let fixed = |at: usize, feedback: i64| {
        let mut wire = [0; 40];
        wire[at..at + 8].copy_from_slice(&(feedback << 16).to_be_bytes());
        wire
    };
    for (name, exid, first, second) in [
        ("xcp", XCP, fixed(8, 3), fixed(8, -1)),
        ("pxcp", XCP, fixed(8, 3), fixed(8, -1)),
        ("xcp-division-free", DIVISION_FREE, double(16, 3.0), double(16, -1.0)),
        ("ixcp", IXCP, fixed(8, 3), fixed(8, -1)),
        ("ixcp-plus", IXCP, fixed(8, 3), fixed(8, -1)),
    ] {
        let (_, mut receiver) = ends(name, &[], 1.0);
        let pending = Feedback { header: on_the_wire(exid, &first), code: Ecn::NotCapable };
        let back = receiver.on_data(Arrived {
            now: ms(0),
            seq: 1,
            expected: 2,
            size: 1000,
            header: on_the_wire(exid, &second),
            ecn: Ecn::NotCapable,
            pending: Some(pending),
        });
        assert!(near(feedback(&back.header), 2.0), "{name}");
    }
}

fn feedback(header: &AnyHeader) -> f64 {
    let mut found = None;
    header.probe(&mut |name, value| {
        if name == "h_feedback" {
            found = Some(value);
        }
    });
    found.expect("a header with feedback")
}

/// What states no RTT gets min(H_feedback, 0): -5 stays as it is, and 5 is not granted.
#[test]
fn a_packet_without_an_rtt_gets_no_increase() {
    for (queue, exid, at, shift) in [
        ("xcp", XCP, 8, 16),
        ("xcp-law", XCP, 8, 16),
        ("pxcp", XCP, 8, 16),
        ("ixcp", IXCP, 8, 16),
        ("ixcp-plus", IXCP, 8, 16),
        ("xcp-division-free", DIVISION_FREE, 16, 0),
        ("xcp-core", XCP_CORE, 8, 0),
    ] {
        let mut router = router(queue, &[]);
        for (asked, left) in [(-5_i64, -5.0), (5, 0.0)] {
            let mut wire = [0; 40];
            // A window, that it may be no offer; an RTT of 0.
            match exid {
                XCP | IXCP => wire[4..8].copy_from_slice(&9000_u32.to_be_bytes()),
                DIVISION_FREE => {}
                _ => wire[20..24].copy_from_slice(&1000_u32.to_be_bytes()),
            }
            let bytes = if shift > 0 {
                (asked << shift).to_be_bytes()
            } else {
                (asked as f64).to_be_bytes()
            };
            wire[at..at + 8].copy_from_slice(&bytes);
            let (mut ecn, mut header) = (Ecn::NotCapable, on_the_wire(exid, &wire));
            let packet = Passing {
                flow: 0,
                size: 1000,
                kind: PacketKind::Data,
                queued_for: Span::ZERO,
                ecn: &mut ecn,
                header: Some(&mut header),
            };
            router.on_departure(ms(1), packet, Backlog::default());
            assert!(near(feedback(&header), left), "{queue} {asked}: {}", feedback(&header));
        }
    }
}

fn probed(router: &AnyRouter, variable: &str) -> f64 {
    let mut found = None;
    router.probe(&mut |name, value| {
        if name == variable {
            found = Some(value);
        }
    });
    found.expect("a variable of the router")
}

/// 100 kB arrive and 16 kB wait at each sample, of which there is one per 100 ms with a = 0.5: q is
/// 8, 12, 14, 15 kB. At 10 Mb/s with gamma = 0.8 a period of 200 ms fills with 200 kB: rho =
/// (100 + 0.25*12)/200 = 0.515; one of 400 ms with 400 kB: (100 + 0.25*15)/400 = 0.259375. On a
/// line that falls to 5 Mb/s both are twice that.
#[test]
fn a_load_factor_is_measured_with_its_routers_parameters() {
    let measured = |name, rho, period: &[Set], until, capacity: Option<u64>| {
        let mut set = vec![
            ("t_q", Value::Span(Span::from_millis(100))),
            ("a", Value::Number(0.5)),
            ("kappa_q", Value::Number(0.25)),
            ("gamma", Value::Number(0.8)),
        ];
        set.extend(period);
        let mut router = router(name, &set);
        for _ in 0..100 {
            let mut ecn = Ecn::NotCapable;
            let packet = Passing {
                flow: 0,
                size: 1000,
                kind: PacketKind::Data,
                queued_for: Span::ZERO,
                ecn: &mut ecn,
                header: None,
            };
            router.on_arrival(ms(1), packet, Backlog::default());
        }
        if let Some(bps) = capacity {
            router.on_capacity(ms(1), Rate(bps));
        }
        while router.next_timer() <= ms(until) {
            router.on_timer(router.next_timer(), Backlog { packets: 16, bytes: 16_000 });
        }
        probed(&router, rho)
    };
    for (name, rho, period) in [
        ("vcp", "rho", Some("t_rho")),
        ("dpcp", "rho", Some("t_rho")),
        ("mpcp", "rho", Some("t_rho")),
        ("bmcc", "f", Some("t_p")),
        ("uno", "sigma", Some("t_p")),
        ("mlcp", "sigma", None),
        ("nbit", "sigma", None),
    ] {
        assert!(near(measured(name, rho, &[], 200, None), 0.515), "{name}");
        assert!(near(measured(name, rho, &[], 200, Some(5_000_000)), 1.03), "{name}");
        if let Some(period) = period {
            let period = [(period, Value::Span(Span::from_millis(400)))];
            assert!(near(measured(name, rho, &period, 400, None), 0.259_375), "{name}");
        }
    }
}

/// Windows and rates over ACKs with all of VCP's codes, at RTTs of 1 s, 200 and 5 ms: from one
/// packet up, then overload, the freeze, the additive increase after it, and freedom again.
fn course(s: &mut AnySender, header: AnyHeader, from: u64) -> Vec<(f64, Option<Rate>)> {
    let mut course = Vec::new();
    let mut now = from;
    for rtt in [1000_u64, 200, 5] {
        for code in [Ecn::Ect1, Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ect1, Ecn::Ect0] {
            now += 450;
            let rtt = Span::from_millis(rtt);
            let (srtt, min_rtt) = (Some(rtt), Some(Span(rtt.0 / 2)));
            s.on_ack(Ack { srtt, min_rtt, ..ack(now, 1, header, code) });
            course.push((s.cwnd(), s.pacing()));
        }
    }
    course
}

/// Section III-D: DPCP that has fallen back for good is VCP, with every parameter that both have.
/// Each is changed in turn; what it changes of VCP's course it changes of DPCP's and MPCP's.
#[test]
fn dpcp_fallen_back_is_vcp_with_all_its_parameters() {
    let span = |t| Value::Span(Span::from_millis(t));
    let none = ("alpha", "alpha", Value::Number(1.0));
    let changes = [
        none,
        ("t_rho", "t_rho", span(100)),
        ("t_d", "t_d", span(100)),
        ("kappa", "kappa", Value::Number(0.5)),
        ("alpha", "alpha", Value::Number(2.0)),
        ("weight", "weight", Value::Number(3.0)),
        ("scale_rtt", "scale_rtt", Value::Choice("min_rtt")),
        ("bounds", "limiters", Value::Flag(false)),
        ("mi_limit", "mi_limit", Value::Number(1.0)),
        ("ai_limit_low", "ai_limit_low", span(100)),
        ("ai_limit_high", "ai_limit_high", span(900)),
        ("pace_large_rtt", "pace_large_rtt", Value::Flag(false)),
        ("pacing", "pacing", Value::Number(1.5)),
    ];
    let plain = course(&mut sender("vcp", &[], 1.0), AnyHeader::None, 0);
    for (i, (theirs, vcps, value)) in changes.into_iter().enumerate() {
        let expected = course(&mut sender("vcp", &[(vcps, value)], 1.0), AnyHeader::None, 0);
        assert_eq!(expected == plain, i == 0, "{vcps} changes VCP");
        for name in ["dpcp", "mpcp"] {
            let set = [
                (theirs, value),
                ("downgrade_after", Value::Count(2)),
                ("relapses", Value::Count(0)),
            ];
            let mut s = sender(name, &set, 1.0);
            let msp = fields(name, (1, 0), 0);
            for _ in 0..4 {
                s.on_ack(ack(0, 200, msp, Ecn::Ect1));
            }
            let mut state = None;
            s.probe(&mut |name, value| {
                if name == "vcp" {
                    state = Some(value);
                }
            });
            assert_eq!(state, Some(3.0), "{name} is VCP for good");
            let (now, kind) = (ms(0), LossKind::Timeout);
            s.on_loss(&Loss { now, kind, in_flight: 1, lost: 1, repeated: false });
            assert_eq!(course(&mut s, msp, 0), expected, "{name}.{theirs}");
        }
    }
}

/// TCP-friendly VCP is VCP with other figures (section VI-C), each of which reaches it.
#[test]
fn tcp_friendly_vcp_is_vcp_with_other_figures() {
    let figures = [("alpha", Value::Number(0.3125)), ("ai_scaling", Value::Choice("none"))];
    let plain = course(&mut sender("vcp", &figures, 1.0), AnyHeader::None, 0);
    assert_eq!(course(&mut sender("vcp-friendly", &[], 1.0), AnyHeader::None, 0), plain);
    for change in [
        ("alpha", Value::Number(0.2)),
        ("beta", Value::Number(0.5)),
        ("ai_scaling", Value::Choice("window")),
        ("t_rho", Value::Span(Span::from_millis(100))),
        ("kappa", Value::Number(0.5)),
        ("high_load", Value::Number(0.5)),
    ] {
        let mut set = figures.to_vec();
        set.push(change);
        let expected = course(&mut sender("vcp", &set, 1.0), AnyHeader::None, 0);
        assert_ne!(expected, plain, "{}", change.0);
        let got = course(&mut sender("vcp-friendly", &[change], 1.0), AnyHeader::None, 0);
        assert_eq!(got, expected, "{}", change.0);
    }
}

/// Section 8.2: a sender whose offer was taken is XCP's, with XCP's parameters.
#[test]
fn xcp_agreed_on_is_xcp_with_all_its_parameters() {
    for set in [
        None,
        Some(("header_cwnd", Value::Choice("floor"))),
        Some(("rate", Value::Number(8e6))),
        Some(("price", Value::Number(2.0))),
        Some(("losses", Value::Choice("explicit"))),
    ] {
        let set: Vec<Set> = set.into_iter().collect();
        let (mut plain, mut agreed) = (sender("xcp", &set, 3.0), sender("xcp-friendly", &set, 3.0));
        // One router and a receiver that speak XCP.
        agreed.on_ack(ack(0, 80, xcp(1, 0, 1 << 16), Ecn::NotCapable));
        for (i, feedback) in [1500, -700, 2250, -10_000].into_iter().enumerate() {
            let header = xcp(80_000, 3000, feedback << 16);
            for s in [&mut plain, &mut agreed] {
                s.on_ack(ack(10, 80, header, Ecn::NotCapable));
                if i == 2 {
                    let (now, kind) = (ms(11), LossKind::DupAcks);
                    s.on_loss(&Loss { now, kind, in_flight: 3, lost: 1, repeated: false });
                }
            }
            assert_eq!(plain.cwnd(), agreed.cwnd(), "{set:?}");
            let segment = || departing(20, Some(Span::from_millis(80)));
            assert_eq!(plain.on_send(segment()), agreed.on_send(segment()), "{set:?}");
        }
    }
}

/// An ACK that answers several packets has the highest of their codes, in either order.
#[test]
fn an_ack_of_two_packets_has_the_higher_code() {
    for name in ["vcp", "vcp-friendly", "decbit"] {
        for (first, second, code) in [
            (Some(Ecn::Ce), Ecn::Ect0, Ecn::Ce),
            (Some(Ecn::Ect0), Ecn::Ce, Ecn::Ce),
            (Some(Ecn::Ect1), Ecn::Ect1, Ecn::Ect1),
            (None, Ecn::Ect0, Ecn::Ect0),
        ] {
            let (_, mut receiver) = ends(name, &[], 1.0);
            let header = AnyHeader::None;
            let back = receiver.on_data(Arrived {
                now: ms(0),
                seq: 1,
                expected: 2,
                size: 1000,
                header,
                ecn: second,
                pending: first.map(|code| Feedback { header, code }),
            });
            assert_eq!(back.code, code, "{name}");
        }
    }
}

/// Whoever says that no arrival changes what it shows is not looked at then: packets come and go,
/// intervals end, and each value is what it was before the packet came.
#[test]
fn what_shows_no_arrivals_is_the_same_after_one() {
    let mut quiet = Vec::new();
    // A prototype is built by its host alone.
    for info in queues().filter(|info| info.name != "python") {
        let mut router = router(info.name, &[]);
        if router.shows_arrivals() {
            continue;
        }
        let shown = |router: &AnyRouter| {
            let mut values = Vec::new();
            router.probe(&mut |name, value| values.push((name, value.to_bits())));
            values
        };
        let (mut stream, mut moved) = (Stream::new(3, 0, "test"), 0);
        for step in 0..3000_u64 {
            let now = ms(step);
            let backlog = Backlog { packets: 1, bytes: stream.bits() % 100_000 };
            if router.next_timer() <= now {
                router.on_timer(now, backlog);
            }
            let host = ["xcp", "xcp-division-free", "xcp-core", "ixcp"][stream.bits() as usize % 4];
            let window = 1.0 + (stream.bits() % 100) as f64;
            let srtt = Span::from_millis(1 + stream.bits() % 100);
            let mut header = sender(host, &[], window).on_send(departing(step, Some(srtt)));
            let mut ecn = Ecn::NotCapable;
            let before = shown(&router);
            for arrives in [true, false] {
                let (kind, queued_for) = (PacketKind::Data, Span::ZERO);
                let (flow, size) = ((step % 7) as u32, 1000);
                let packet = Passing {
                    flow,
                    size,
                    kind,
                    queued_for,
                    ecn: &mut ecn,
                    header: Some(&mut header),
                };
                if arrives {
                    router.on_arrival(now, packet, backlog);
                    assert_eq!(shown(&router), before, "{} at {step} ms", info.name);
                } else {
                    router.on_departure(now, packet, backlog);
                    moved += u32::from(shown(&router) != before);
                }
            }
        }
        quiet.push((info.name, moved));
    }
    // What is handed out shows: there was something that an arrival might have changed.
    for name in ["xcp", "ixcp", "pxcp"] {
        assert!(quiet.iter().any(|&(quiet, moved)| quiet == name && moved > 100), "{quiet:?}");
    }
}
