//! What must hold for every protocol and every queue of the registry, whatever happens to it.

use clearpipe_cc::explicit::load::mlcp::MlcpHeader;
use clearpipe_cc::explicit::load::nbit::NbitHeader;
use clearpipe_cc::explicit::neighbours::jetmax::JetMaxHeader;
use clearpipe_cc::explicit::neighbours::maxnet::MaxNetHeader;
use clearpipe_cc::explicit::neighbours::quickstart::QuickStartHeader;
use clearpipe_cc::explicit::neighbours::rcp::RcpHeader;
use clearpipe_cc::explicit::xcp::ixcp::IxcpHeader;
use clearpipe_cc::explicit::xcp::xcp::XcpHeader;
use clearpipe_cc::explicit::xcp::xcp_core::XcpCoreHeader;
use clearpipe_cc::explicit::xcp::xcp_division_free::DivisionFreeHeader;
use clearpipe_cc::params::{Kind, Preset, Refused, Spec, Value};
use clearpipe_cc::rate::tfrc::TfrcHeader;
use clearpipe_cc::registry::{
    AnyHeader, AnyReceiver, AnyReporter, AnyRouter, AnyRouterParams, AnySender, AnySenderParams,
    Listed, ProtocolInfo, QueueInfo, Role, protocols, queues,
};
use clearpipe_cc::roles::{
    Ack, Arrived, Backlog, Departing, Ecn, EcnUse, Feedback, Fields, Header, Host, Hosted,
    HostedRouter, Limit, Loss, LossKind, Numbers, PacketKind, Passing, RouterContext,
    SenderContext, TcpFields, Variable, Verdict, Wishes,
};
use clearpipe_cc::tcp::delivery::{RateSampler, Stamp};
use proptest::prelude::*;
use proptest::sample::select;
use units::random::Stream;
use units::{Rate, Span, Time};

// What a program with prototypes brings along.

/// A host of one toy, whose window is what the call before said.
#[derive(Debug)]
struct Toys;

impl Toys {
    fn wishes(cwnd: u32, now: Time) -> Wishes {
        let pacing = (cwnd % 2 == 1).then_some(Rate(u64::from(cwnd)));
        Wishes { cwnd: f64::from(cwnd.max(1)), timer: now + Span::from_millis(10), pacing }
    }
}

impl Host for Toys {
    fn sender(&self, _: &'static str, _: &SenderContext) -> Hosted {
        let wishes = Toys::wishes(1, Time::ZERO);
        Hosted { object: 0, wishes, ecn: EcnUse::Classic, writes: true }
    }
    fn on_send(&self, _: u32, segment: &Departing) -> (Wishes, Numbers) {
        let fields = [f64::from(segment.size), 1.0, 2.0];
        (Toys::wishes(segment.in_flight, segment.now), fields)
    }
    fn on_ack(&self, _: u32, ack: &Ack<Numbers>) -> Wishes {
        Toys::wishes(ack.in_flight, ack.now)
    }
    fn on_loss(&self, _: u32, loss: &Loss) -> Wishes {
        Toys::wishes(loss.in_flight / 2, loss.now)
    }
    fn on_timer(&self, _: u32, now: Time) -> Wishes {
        Toys::wishes(7, now)
    }
    fn router(&self, _: &'static str, _: &RouterContext) -> HostedRouter {
        HostedRouter { object: 0, timer: Time::ZERO + Span::from_millis(1), departures: true }
    }
    fn on_arrival(
        &self,
        _: u32,
        _: Time,
        packet: Passing<'_, Numbers>,
        backlog: Backlog,
    ) -> Verdict {
        if packet.kind == PacketKind::Data && *packet.ecn != Ecn::NotCapable {
            *packet.ecn = Ecn::Ce;
        }
        if let Some(header) = packet.header {
            header[0] = 1.0;
        }
        if backlog.packets.is_multiple_of(2) { Verdict::Forward } else { Verdict::Drop }
    }
    fn on_departure(&self, _: u32, _: Time, _: Passing<'_, Numbers>, _: Backlog) {}
    fn on_router_timer(&self, _: u32, now: Time, _: Backlog) -> Time {
        now + Span::from_millis(1)
    }
    fn on_capacity(&self, _: u32, _: Time, _: Rate) {}
    fn duplicate(&self, object: u32) -> u32 {
        object
    }
    fn release(&self, _: u32) {}
}

// What can happen.

/// Something that happens to a sender.
#[derive(Clone, Debug)]
enum Operation {
    Advance(Span),
    Send { size: u32, srtt: Option<Span>, retransmission: bool },
    Ack(Box<Ack<AnyHeader>>),
    Loss { kind: LossKind, in_flight: u32, lost: u32, repeated: bool },
    Timer,
}

/// Something that happens to a router.
#[derive(Clone, Debug)]
enum Event {
    Advance(Span),
    Arrive(Packet, Backlog),
    Depart(Packet, Backlog),
    Capacity(u64),
}

#[derive(Clone, Debug)]
struct Packet {
    size: u32,
    kind: PacketKind,
    ecn: Ecn,
    header: Option<AnyHeader>,
    queued_for: Span,
}

/// Any number, with a liking for the absurd.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e6..1e6,
        2 => 0.0..1.0,
        1 => any::<f64>(),
        1 => select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN, f64::MAX,
            f64::MIN_POSITIVE, 5e-324]),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        6 => (0..2_000_u64).prop_map(Span::from_millis),
        2 => (0..1_000_u64).prop_map(Span::from_micros),
        1 => any::<u64>().prop_map(Span),
        1 => select(vec![Span::ZERO, Span(1), Span(u64::MAX)]),
    ]
}

fn header() -> impl Strategy<Value = AnyHeader> {
    let xcp = (number(), number(), number());
    prop_oneof![
        1 => Just(AnyHeader::None),
        1 => (number(), number(), number())
            .prop_map(|(rtt, x_recv, p)| TfrcHeader { rtt, x_recv, p }.wrap()),
        1 => (number(), number())
            .prop_map(|(price, rtt)| MaxNetHeader { price, rtt }.wrap()),
        1 => (0..5_u32, 0..5_u32, number(), number()).prop_map(|(link, proposed, gap, offer)| {
            JetMaxHeader { link, proposed, gap, offer }.wrap()
        }),
        1 => (number(), number()).prop_map(|(rate, rtt)| RcpHeader { rate, rtt }.wrap()),
        1 => (any::<u8>(), any::<bool>())
            .prop_map(|(request, seen)| QuickStartHeader { request, seen }.wrap()),
        4 => xcp.prop_map(|(cwnd, rtt, feedback)| XcpHeader { cwnd, rtt, feedback }.wrap()),
        1 => [number(), number(), number()].prop_map(Listed::wrap),
        4 => stamp(),
        2 => in_fields(),
        2 => on_the_wire(),
        2 => (any::<u8>(), any::<u8>(), span())
            .prop_map(|(load, t_p, rtt)| MlcpHeader::new(load, t_p, Some(rtt)).wrap()),
        2 => (any::<u32>(), any::<u8>(), span())
            .prop_map(|(load, t_p, rtt)| NbitHeader::new(load, t_p, Some(rtt)).wrap()),
        2 => (number(), number(), number(), any::<u32>()).prop_map(|(cwnd, rtt, feedback, bytes)| {
            XcpCoreHeader { cwnd, feedback, rtt: rtt as f32, bytes }.wrap()
        }),
        2 => (number(), number(), number())
            .prop_map(|(a, rtt, feedback)| DivisionFreeHeader { a, rtt, feedback }.wrap()),
        2 => ((number(), number(), number()), (0..4_u32, 0..4_u32)).prop_map(
            |((cwnd, rtt, feedback), (bottleneck, next_bottleneck))| {
                let rtt = rtt as f32;
                IxcpHeader { cwnd, feedback, rtt, bottleneck, next_bottleneck }.wrap()
            }),
    ]
}

/// Any header in an option, whoever's it is.
fn on_the_wire() -> impl Strategy<Value = AnyHeader> {
    (select(AnyHeader::EXIDS), proptest::collection::vec(any::<u8>(), 40))
        .prop_map(|(exid, wire)| AnyHeader::decode(exid, &wire).unwrap_or_default())
}

/// Any header in fields that packets have anyway.
fn in_fields() -> impl Strategy<Value = AnyHeader> {
    let numbers = (any::<u32>(), any::<u32>(), any::<bool>(), any::<u16>());
    (numbers, select(readers().collect::<Vec<_>>())).prop_map(
        |((seq, ack, stale, ip_id), queue)| {
            let fields = Fields { tcp: Some(TcpFields { seq, ack, stale }), ip_id };
            queue.read(&fields).expect("a TCP segment has all fields")
        },
    )
}

/// What a delivery-rate sampler that has seen anything would remember.
fn stamp() -> impl Strategy<Value = AnyHeader> {
    (span(), span(), any::<u32>(), any::<u32>(), any::<u32>()).prop_map(
        |(at, later, delivered, lost, in_flight)| {
            let mut sampler = RateSampler::NEW;
            let now = Time::ZERO + at;
            sampler.on_ack(&Ack {
                now,
                delivered,
                acked: delivered,
                lost,
                rtt: None,
                srtt: None,
                min_rtt: None,
                in_flight,
                recovering: false,
                header: Stamp::default(),
                code: Ecn::NotCapable,
                ece: false,
                marks: 0,
            });
            let departing = departing(now + later, in_flight, None, false);
            sampler.on_send(&departing, f64::from(delivered)).wrap()
        },
    )
}

fn ecn() -> impl Strategy<Value = Ecn> {
    select(vec![Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce])
}

fn acked() -> impl Strategy<Value = Operation> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let times = (proptest::option::of(span()), proptest::option::of(span()));
    (numbers, times, any::<bool>(), header(), ecn()).prop_map(
        |((delivered, acked, lost, in_flight), (srtt, min_rtt), recovering, header, code)| {
            Operation::Ack(Box::new(Ack {
                now: Time::ZERO,
                delivered,
                acked,
                lost,
                rtt: srtt,
                srtt,
                min_rtt,
                in_flight,
                recovering,
                header,
                code,
                ece: in_flight % 2 == 1,
                marks: if code == Ecn::Ce { lost } else { 0 },
            }))
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let kinds = select(vec![LossKind::DupAcks, LossKind::Timeout, LossKind::EcnEcho]);
    prop_oneof![
        2 => span().prop_map(Operation::Advance),
        2 => (any::<u32>(), proptest::option::of(span()), any::<bool>()).prop_map(
            |(size, srtt, retransmission)| Operation::Send { size, srtt, retransmission }),
        4 => acked(),
        1 => (kinds, any::<u32>(), any::<u32>(), any::<bool>()).prop_map(
            |(kind, in_flight, lost, repeated)| Operation::Loss { kind, in_flight, lost, repeated }),
        1 => Just(Operation::Timer),
    ]
}

fn packet() -> impl Strategy<Value = Packet> {
    let kind = prop_oneof![3 => Just(PacketKind::Data), 1 => Just(PacketKind::Ack)];
    let size = prop_oneof![4 => Just(1000), 1 => Just(40), 1 => any::<u32>()];
    (size, kind, ecn(), proptest::option::of(header()), span()).prop_map(
        |(size, kind, ecn, header, queued_for)| Packet { size, kind, ecn, header, queued_for },
    )
}

fn backlog() -> impl Strategy<Value = Backlog> {
    prop_oneof![
        4 => (0..300_u32).prop_map(|packets| Backlog { packets, bytes: u64::from(packets) * 1000 }),
        1 => (any::<u32>(), any::<u64>()).prop_map(|(packets, bytes)| Backlog { packets, bytes }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => span().prop_map(Event::Advance),
        2 => (packet(), backlog()).prop_map(|(p, b)| Event::Arrive(p, b)),
        2 => (packet(), backlog()).prop_map(|(p, b)| Event::Depart(p, b)),
        1 => select(vec![1_u64, 64_000, 1_000_000_000, 400_000_000_000]).prop_map(Event::Capacity),
    ]
}

/// For each parameter where in its range it shall stand; `None` leaves the defaults.
fn tuning() -> impl Strategy<Value = Option<Vec<f64>>> {
    let place = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 6 => 0.0..1.0];
    proptest::option::of(proptest::collection::vec(place, 32))
}

fn place(spec: &Spec, at: f64) -> Value {
    let x = spec.low + at * (spec.high - spec.low);
    match spec.kind {
        Kind::Flag => Value::Flag(at >= 0.5),
        Kind::Count => Value::Count(x as u64),
        Kind::Number => Value::Number(x.clamp(spec.low, spec.high)),
        Kind::Span => Value::Span(Span::from_secs_f64(x)),
        Kind::Text => Value::Text("a:B"),
        Kind::Choice(words) => {
            Value::Choice(words[((words.len() - 1) as f64 * at).round() as usize])
        }
    }
}

fn stream() -> Stream {
    Stream::new(1, 0, "test")
}

fn sender(info: &ProtocolInfo, tuning: Option<&[f64]>, window: f64) -> (AnySender, AnyReceiver) {
    let mut params = AnySenderParams::named(info.name).unwrap();
    for (spec, &at) in info.params.iter().zip(tuning.unwrap_or_default()) {
        assert_eq!(params.set(spec.name, place(spec, at)), Ok(()), "{}", spec.name);
    }
    let context = SenderContext {
        packet_bytes: 1000,
        initial_window: window,
        counting: 0,
        routers: 1,
        stream: stream(),
        host: &Toys,
    };
    params.build(&context)
}

fn reporter(info: &ProtocolInfo, tuning: Option<&[f64]>) -> Option<AnyReporter> {
    let mut params = AnySenderParams::named(info.name).unwrap();
    for (spec, &at) in info.params.iter().zip(tuning.unwrap_or_default()) {
        assert_eq!(params.set(spec.name, place(spec, at)), Ok(()), "{}", spec.name);
    }
    params.reporter(&SenderContext {
        packet_bytes: 1000,
        initial_window: 1.0,
        counting: 0,
        routers: 1,
        stream: stream(),
        host: &Toys,
    })
}

fn router(info: &QueueInfo, tuning: Option<&[f64]>, capacity: u64, limit: Limit) -> AnyRouter {
    let mut params = AnyRouterParams::named(info.name).unwrap();
    for (spec, &at) in info.params.iter().zip(tuning.unwrap_or_default()) {
        assert_eq!(params.set(spec.name, place(spec, at)), Ok(()), "{}", spec.name);
    }
    let capacity = Rate(capacity);
    let stream = stream();
    params.build(&RouterContext {
        link: 0,
        capacity,
        limit,
        packet_bytes: 1000,
        stream,
        host: &Toys,
    })
}

// Senders.

fn apply(sender: &mut AnySender, now: &mut Time, operation: &Operation) {
    match operation.clone() {
        // Up to some days: the end of time is no instant of a run.
        Operation::Advance(span) => *now = *now + Span(span.0 % Span::from_secs(1_000_000).0),
        Operation::Send { size, srtt, retransmission } => {
            let header = sender.on_send(departing(*now, size, srtt, retransmission));
            check_codec(header);
        }
        Operation::Ack(mut ack) => {
            ack.now = *now;
            sender.on_ack(*ack);
        }
        Operation::Loss { kind, in_flight, lost, repeated } => {
            sender.on_loss(&Loss { now: *now, kind, in_flight, lost, repeated });
        }
        Operation::Timer => {
            let due = sender.next_timer();
            if due < Time::NEVER {
                *now = (*now).max(due);
                sender.on_timer(*now);
                let next = sender.next_timer();
                assert!(next > *now || next == Time::NEVER, "a timer that does not advance");
            }
        }
    }
}

fn departing(now: Time, size: u32, srtt: Option<Span>, retransmission: bool) -> Departing {
    let (seq, in_flight) = (u64::from(size) << 20, size / 2);
    Departing {
        now,
        size,
        srtt,
        seq,
        in_flight,
        backlogged: size.is_multiple_of(2),
        retransmission,
    }
}

proptest! {
    #[test]
    fn windows_stay_finite_and_at_least_one_packet(
        operations in proptest::collection::vec(operation(), 1..80),
        tuning in tuning(),
        window in 0.0..100.0,
    ) {
        for info in protocols() {
            let (mut sender, _) = sender(&info, tuning.as_deref(), window);
            let mut now = Time::ZERO;
            for operation in &operations {
                apply(&mut sender, &mut now, operation);
                let cwnd = sender.cwnd();
                prop_assert!(cwnd.is_finite() && cwnd >= 1.0, "{}: cwnd {cwnd}", info.name);
                prop_assert!(sender.pacing() != Some(Rate(0)), "{}: stands still", info.name);
                // A header is shown as it came, however mad.
                sender.probe(&mut |name, value| {
                    assert!(!value.is_nan() || name.starts_with("h_"), "{name}");
                });
            }
        }
    }

    #[test]
    fn a_run_repeats_bit_by_bit(operations in proptest::collection::vec(operation(), 1..40)) {
        for info in protocols() {
            let run = || {
                let (mut sender, mut now) = (sender(&info, None, 1.0).0, Time::ZERO);
                operations.iter().for_each(|operation| apply(&mut sender, &mut now, operation));
                sender.cwnd().to_bits()
            };
            prop_assert_eq!(run(), run());
        }
    }

    #[test]
    fn receivers_take_any_packet(
        header in header(), ecn in ecn(), at in span(), waiting in (header(), ecn()),
    ) {
        for info in protocols() {
            let (_, mut receiver) = sender(&info, None, 1.0);
            let now = Time::ZERO + at;
            let pending = Feedback { header: waiting.0, code: waiting.1 };
            for pending in [None, Some(pending)] {
                let back = receiver.on_data(Arrived {
                    now,
                    seq: at.0,
                    expected: at.0 / 2,
                    size: at.0 as u32,
                    header,
                    ecn,
                    pending,
                });
                check_codec(back.header);
            }
        }
    }

    #[test]
    fn reporters_take_any_packets(
        packets in proptest::collection::vec((header(), ecn(), span(), any::<u64>()), 1..80),
        tuning in tuning(),
    ) {
        for info in protocols().filter(|info| info.reports) {
            let mut reporter = reporter(&info, tuning.as_deref()).expect("it has one");
            let mut now = Time::ZERO;
            for &(header, ecn, gap, seq) in &packets {
                now = now + gap;
                let (seq, size) = (seq >> (seq % 64), 40 + (seq % 1500) as u32);
                let expected = seq / 2;
                let mut data = Arrived { now, seq, expected, size, header, ecn, pending: None };
                if let Some(header) = reporter.on_data(&mut data) {
                    check_codec(header);
                }
            }
        }
    }
}

// Routers.

/// One packet at the router, which must leave ACKs alone.
fn pass(router: &mut AnyRouter, now: Time, packet: &Packet, backlog: Backlog, arrives: bool) {
    let (mut ecn, mut header) = (packet.ecn, packet.header);
    let passing = Passing {
        flow: 7,
        size: packet.size,
        kind: packet.kind,
        queued_for: packet.queued_for,
        ecn: &mut ecn,
        header: header.as_mut(),
    };
    if arrives {
        router.on_arrival(now, passing, backlog);
    } else {
        router.on_departure(now, passing, backlog);
    }
    if packet.kind == PacketKind::Ack {
        assert_eq!(ecn, packet.ecn);
        assert_eq!(format!("{header:?}"), format!("{:?}", packet.header));
    }
    if packet.ecn == Ecn::NotCapable {
        assert_eq!(ecn, Ecn::NotCapable, "a mark on a packet that is not capable");
    }
    assert!(!packet.header.is_some_and(|h| h == AnyHeader::None) || header == packet.header);
}

/// Lets the router's timers fire up to `until`; after fifty of them the last comes late.
fn run_timers(router: &mut AnyRouter, now: &mut Time, until: Time, name: &str) {
    for i in 0.. {
        let due = router.next_timer();
        if due > until || due == Time::NEVER {
            break;
        }
        assert!(due > *now, "{name}: a timer in the past");
        *now = if i < 50 { due } else { until };
        router.on_timer(*now, Backlog { packets: 3, bytes: 3000 });
        assert!(router.next_timer() > *now, "{name}: a timer that does not advance");
    }
    *now = until;
}

proptest! {
    #[test]
    fn routers_stand_anything(
        events in proptest::collection::vec(event(), 1..80),
        tuning in tuning(),
        capacity in select(vec![1_u64, 10_000, 10_000_000, 400_000_000_000]),
        limit in prop_oneof![any::<u64>().prop_map(Limit::Bytes), (0..500_u32).prop_map(Limit::Packets)],
    ) {
        for info in queues() {
            let mut router = router(&info, tuning.as_deref(), capacity, limit);
            let mut now = Time::ZERO;
            for event in &events {
                match event {
                    // Up to some days: the end of time is no instant of a run.
                    Event::Advance(span) => {
                        let until = now + Span(span.0 % Span::from_secs(1_000_000).0);
                        run_timers(&mut router, &mut now, until, info.name);
                    }
                    Event::Arrive(packet, backlog) => {
                        pass(&mut router, now, packet, *backlog, true);
                    }
                    Event::Depart(packet, backlog) => {
                        pass(&mut router, now, packet, *backlog, false);
                    }
                    Event::Capacity(bps) => {
                        let timer = router.next_timer();
                        router.on_capacity(now, Rate(*bps));
                        assert_eq!(router.next_timer(), timer, "{}: timers stay", info.name);
                    }
                }
                router.probe(&mut |name, value| {
                    assert!(value.is_finite(), "{}: {name} {value}", info.name);
                });
            }
        }
    }
}

/// The tables that `clearpipe list` and `explain` read say what probes give.
#[test]
fn every_variable_is_described() {
    let names = |table: &[Variable]| {
        assert!(table.iter().all(|v| !v.doc.is_empty()), "{table:?}");
        table.iter().map(|variable| variable.name).collect::<Vec<_>>()
    };
    for info in protocols() {
        let (mut sender, _) = sender(&info, None, 1.0);
        let mut shown = Vec::new();
        sender.probe(&mut |name, _| shown.push(name));
        assert_eq!(shown, names(info.variables), "{}", info.name);
        let (now, srtt) = (Time::ZERO, None);
        let header = sender.on_send(departing(now, 1000, srtt, false));
        shown.clear();
        header.probe(&mut |name, _| shown.push(name));
        assert_eq!(shown, names(info.header), "{}'s header", info.name);
    }
    for info in queues() {
        let mut shown = Vec::new();
        let limit = Limit::Bytes(100_000);
        router(&info, None, 10_000_000, limit).probe(&mut |name, _| shown.push(name));
        assert_eq!(shown, names(info.variables), "{}", info.name);
    }
}

/// New parameters apply, and what was measured stays: a router that is told its own again goes on
/// as if nothing had been said, with the same state and the same verdicts (a random stream does not
/// show its state).
#[test]
fn a_router_told_the_same_again_goes_on() {
    for info in queues() {
        let (capacity, limit) = (Rate(10_000_000), Limit::Bytes(100_000));
        let mut told = router(&info, None, capacity.0, limit);
        let mut left = told.clone();
        let params = AnyRouterParams::named(info.name).unwrap();
        let stream = Stream::new(7, 7, "another");
        let context =
            RouterContext { link: 0, capacity, limit, packet_bytes: 1000, stream, host: &Toys };
        let mut now = Time::ZERO;
        // What a sender of a protocol that goes with it writes.
        let of = protocols().find(|of| of.router == Some(info.name));
        let mut writer = of.map(|of| sender(&of, None, 10.0).0);
        for step in 1..400_u32 {
            let leaves = departing(now, 1000, Some(Span::from_millis(50)), false);
            let written = writer.as_mut().map_or(AnyHeader::None, |sender| sender.on_send(leaves));
            let verdicts = [&mut told, &mut left].map(|router| {
                let mut clock = now;
                run_timers(router, &mut clock, now + Span::from_millis(2), info.name);
                let backlog = Backlog { packets: step, bytes: u64::from(step) * 1000 };
                let (mut ecn, mut header) = (Ecn::Ect0, written);
                let queued_for = Span::from_millis(u64::from(step % 90));
                let (flow, size, kind) = (0, 1000, PacketKind::Data);
                let (e, h) = (&mut ecn, Some(&mut header));
                let came = Passing { flow, size, kind, queued_for: Span::ZERO, ecn: e, header: h };
                let verdict = router.on_arrival(clock, came, backlog);
                let (e, h) = (&mut ecn, Some(&mut header));
                let goes = Passing { flow, size, kind, queued_for, ecn: e, header: h };
                router.on_departure(clock, goes, backlog);
                (verdict, ecn, format!("{header:?}"))
            });
            assert_eq!(verdicts[0], verdicts[1], "{} at {now}", info.name);
            now = now + Span::from_millis(2);
            assert!(told.retune(&params, &context));
            assert_eq!(format!("{told:?}"), format!("{left:?}"), "{} at {now}", info.name);
        }
    }
}

/// The fields of a router's `Debug` form, by path, with what they hold.
fn fields(router: &AnyRouter) -> Vec<String> {
    let (mut path, mut all) = (Vec::new(), Vec::new());
    for line in format!("{router:#?}").lines().map(str::trim) {
        if let Some(opened) = line.strip_suffix(['{', '(', '[']) {
            let name = opened.split_once(':').map_or("", |(name, _)| name);
            path.push(name.to_owned());
        } else if line.starts_with(['}', ')', ']']) {
            path.pop();
        } else {
            all.push(format!("{}.{line}", path.join(".")));
        }
    }
    all
}

/// Another value than the default.
fn other(spec: &Spec, default: Value) -> Value {
    let places = [0.3, 0.6, 0.0, 1.0].map(|at| place(spec, at));
    places.into_iter().find(|value| *value != default).expect("a range of one value")
}

/// What does not follow new parameters although nothing was measured yet: a state that begins by a
/// parameter or by the capacity is from then on the law's own ("what was measured stays"). A field
/// by a path's part, of one queue.
const BEGINNINGS: &[(&str, &[&str])] = &[
    // The tokens that may be there at the start (Goyal et al., section 3.1.2).
    ("abc", &["tokens"]),
    // max_p as it was adapted, and with it both slopes (Floyd et al. 2001, section 4).
    ("ared", &["max_p", "slope", "gentle_slope"]),
    ("red", &["max_p", "gentle_slope"]),
    // C~, which its differential equation moves (Kunniyur and Srikant, section 2).
    ("avq", &["virtual_rate"]),
    // What was told last holds until the interval is over.
    ("csig", &["told"]),
    // Flows do not move between queues.
    ("fq-codel", &["queues"]),
    // The mean RTT of what has passed, and what of it is in a first interval.
    ("ixcp", &["avg_rtt"]),
    ("ixcp-plus", &["avg_rtt"]),
    ("pxcp", &["avg_rtt"]),
    ("xcp", &["avg_rtt"]),
    ("xcp-core", &["avg_rtt"]),
    ("xcp-division-free", &["avg_rtt"]),
    ("xcp-integer", &["avg_rtt"]),
    ("xcp-law", &["avg_rtt"]),
    ("mlcp", &["mean"]),
    ("nbit", &["mean"]),
    ("xcpw", &["d"]),
    // Prices and rates move by steps from where they are.
    ("maxnet", &["price", "rtt"]),
    ("rcp", &["r", "rtt"]),
    // The load as it was last heard of.
    ("mpcp", &["level"]),
    // A burst's allowance runs down, and PIE switches itself on (RFC 8033, sections 4.4 and 5.3).
    ("pie", &["burst_allowance", "active"]),
    // gamma as it was adapted.
    ("vcp", &["gamma"]),
];

/// Timers that are set run as they were, of all queues.
const TIMERS: &[&str] =
    &["next", "next_sample", "next_mean", "period_end", "interval_end", "window_end", "ends"];

/// The default parameters and ones that differ in one of them; and each pair once more with all
/// others away from their defaults, which might hide it.
fn pairs(info: &QueueInfo) -> Vec<[AnyRouterParams; 2]> {
    let default = AnyRouterParams::named(info.name).unwrap();
    let moved = |params: &mut AnyRouterParams, spec: &Spec| {
        let value = other(spec, default.get(spec.name).unwrap());
        assert_eq!(params.set(spec.name, value), Ok(()), "{}", spec.name);
    };
    let mut all = vec![[default.clone(), default.clone()]];
    for spec in info.params {
        let mut pair = [default.clone(), default.clone()];
        moved(&mut pair[1], spec);
        all.push(pair.clone());
        let others = info.params.iter().filter(|other| other.name != spec.name);
        others.for_each(|other| pair.iter_mut().for_each(|params| moved(params, other)));
        all.push(pair);
    }
    all
}

/// A router that is told other parameters, another limit or another capacity before it has seen a
/// packet is the one that was built with them, but for its timers and [`BEGINNINGS`].
#[test]
fn a_router_told_before_the_first_packet_is_as_built() {
    let mut used = std::collections::BTreeSet::new();
    for info in queues() {
        let context = |capacity, packets| RouterContext {
            link: 0,
            capacity: Rate(capacity),
            limit: Limit::Packets(packets),
            packet_bytes: 1000,
            stream: stream(),
            host: &Toys,
        };
        let begins = BEGINNINGS.iter().find(|(name, _)| *name == info.name);
        let begins = begins.map_or(&[][..], |(_, fields)| fields);
        let mut compare = |told: &AnyRouter, built: &AnyRouter, what: &str| {
            let built = fields(built);
            for line in fields(told).iter().filter(|line| !built.contains(line)) {
                let mut path = line.split(['.', ':']);
                if let Some(field) = path.clone().find(|part| begins.contains(part)) {
                    used.insert((info.name, field.to_owned()));
                } else {
                    assert!(
                        path.any(|part| TIMERS.contains(&part)),
                        "{}, {what}: {line}",
                        info.name
                    );
                }
            }
        };
        let (before, after) = (context(10_000_000, 100), context(80_000_000, 700));
        for [one, another] in pairs(&info) {
            for (from, to) in [(&one, &another), (&another, &one)] {
                let mut told = from.build(&before);
                assert!(told.retune(to, &after));
                compare(&told, &to.build(&after), &format!("{from:?} to {to:?}"));
            }
        }
        let default = AnyRouterParams::named(info.name).unwrap();
        let (mut told, after) = (default.build(&before), context(80_000_000, 100));
        told.on_capacity(Time::ZERO, after.capacity);
        compare(&told, &default.build(&after), "another capacity");
    }
    for (name, fields) in BEGINNINGS {
        for &field in *fields {
            assert!(used.contains(&(*name, field.to_owned())), "{name}'s {field} follows");
        }
    }
}

// Headers.

/// `decode(encode(h))` is within one wire unit, and a second round changes nothing.
fn check_codec(header: AnyHeader) {
    match header {
        AnyHeader::None => {}
        AnyHeader::Stamp(_) => {
            assert_eq!((header.exid(), header.wire_bytes()), (None, 0), "it does not travel");
        }
        AnyHeader::Foreign(h) => {
            let sane = h.iter().all(|field| !field.is_nan());
            assert_eq!(round_trip(h), sane.then_some(h));
        }
        AnyHeader::DivisionFree(h) => {
            let sane = ![h.a, h.rtt, h.feedback].iter().any(|field| field.is_nan());
            assert_eq!(round_trip(h), sane.then_some(h));
        }
        AnyHeader::XcpCore(h) => {
            let sane = !({ h.cwnd }.is_nan() || { h.feedback }.is_nan() || { h.rtt }.is_nan());
            assert_eq!(round_trip(h), sane.then_some(h));
        }
        AnyHeader::QuickStart(h) => {
            let Some(back) = round_trip(h) else { return };
            assert_eq!((back.request, back.seen), (h.request.min(15), h.seen));
        }
        AnyHeader::Mlcp(h) => assert_eq!(round_trip(h), Some(h)),
        AnyHeader::Nbit(h) => assert_eq!(round_trip(h), Some(h)),
        _ if header.wire_bytes() == 0 => check_fields_of_packets(header),
        _ => check_numbers(header),
    }
}

/// The queues whose header is in fields that every packet has.
fn readers() -> impl Iterator<Item = AnyRouterParams> {
    let all = queues().map(|info| AnyRouterParams::named(info.name).expect("a queue's name"));
    all.filter(AnyRouterParams::reads_fields)
}

/// A header in TCP's or IP's fields is no option, and a queue that reads it there finds it.
fn check_fields_of_packets(header: AnyHeader) {
    assert_eq!(header.exid(), None);
    let fields = Fields { tcp: header.tcp(), ip_id: header.ip_id().unwrap_or(0) };
    assert!(readers().any(|queue| queue.read(&fields) == Some(header)), "{header:?}");
}

/// The headers of rounded numbers. Some that make no sense may be refused, as a window of 0 with an
/// RTT.
fn check_numbers(header: AnyHeader) {
    match header {
        AnyHeader::MaxNet(h) => {
            let Some(back) = round_trip(h) else { return };
            check_rounded([(back.price, h.price, 1.0 / 16_777_216.0, 0.0..255.0)], false);
            check_rounded([(back.rtt, h.rtt, 1e-6, 0.0..4e3)], true);
        }
        AnyHeader::JetMax(h) => {
            let Some(back) = round_trip(h) else { return };
            assert_eq!((back.link, back.proposed), (h.link, h.proposed));
            check_rounded([(back.gap, h.gap, 1e-9, 0.0..4e6)], true);
            check_fields([(back.offer, h.offer, 1.0, 0.0..1e18)]);
        }
        AnyHeader::Rcp(h) => {
            let Some(back) = round_trip(h) else { return };
            check_fields([(back.rate, h.rate, 1.0, 0.0..1e18)]);
            check_rounded([(back.rtt, h.rtt, 1e-6, 0.0..4e3)], true);
        }
        AnyHeader::Tfrc(h) => {
            let Some(back) = round_trip(h) else { return };
            check_rounded([(back.rtt, h.rtt, 1e-6, 0.0..4e3)], true);
            check_rounded(
                [
                    (back.x_recv, h.x_recv, 1.0, 0.0..4e9),
                    (back.p, h.p, 1.0 / f64::from(u32::MAX), 0.0..1.0),
                ],
                false,
            );
        }
        AnyHeader::Xcp(h) => {
            let Some(back) = round_trip(h) else { return };
            check_rounded(
                [(back.cwnd, h.cwnd, 1.0, 0.0..4e9), (back.rtt, h.rtt, 1e-6, 0.0..4e3)],
                true,
            );
            check_rounded([(back.feedback, h.feedback, 1.0 / 65536.0, -1e14..1e14)], false);
        }
        AnyHeader::Ixcp(h) => {
            let Some(back) = round_trip(h) else { return };
            let ids = |h: IxcpHeader| (h.bottleneck, h.next_bottleneck);
            assert_eq!(ids(back), ids(h));
            assert_eq!({ back.rtt }, { h.rtt });
            check_rounded([(back.cwnd, h.cwnd, 1.0, 0.0..4e9)], true);
            check_rounded([(back.feedback, h.feedback, 1.0 / 65536.0, -1e14..1e14)], false);
        }
        // One that came from the wire, which goes back as it was.
        _ => {
            let exid = header.exid().expect("a header of its own bytes is an option");
            let mut wire = vec![0; header.wire_bytes()];
            header.encode(&mut wire);
            assert_eq!(AnyHeader::decode(exid, &wire), Some(header));
        }
    }
}

/// A field that is rounded: the nearest number of units, and of an RTT or a window that is none of
/// them at least one, as 0 means that there is none.
fn check_rounded<const N: usize>(fields: [(f64, f64, f64, std::ops::Range<f64>); N], none: bool) {
    for (got, sent, unit, range) in fields {
        if !range.contains(&sent) {
            continue;
        }
        let half = 0.5 * unit * (1.0 + 1e-9) + 2.0 * sent.abs() * f64::EPSILON;
        let least = none && sent > 0.0 && sent < unit;
        let near = (got - sent).abs() <= half && !(least && got == 0.0);
        assert!(near || least && (got / unit - 1.0).abs() < 1e-9, "{got} for {sent}");
    }
}

/// Each field of a header is back within a unit, where it was in the wire's range.
fn check_fields<const N: usize>(fields: [(f64, f64, f64, std::ops::Range<f64>); N]) {
    for (got, sent, unit, range) in fields {
        let near = (got - sent).abs() <= unit.max(sent.abs() * f64::EPSILON);
        assert!(near || !range.contains(&sent), "{got} for {sent}");
    }
}

fn round_trip<H: Header>(header: H) -> Option<H> {
    let mut wire = vec![0; H::WIRE_BYTES];
    header.encode(&mut wire);
    let back = H::decode(&wire)?;
    let mut again = vec![0; H::WIRE_BYTES];
    back.encode(&mut again);
    assert_eq!(wire, again, "{header:?}");
    assert_eq!(H::decode(&again), Some(back));
    assert_eq!(H::decode(&wire[..H::WIRE_BYTES - 1]), None);
    Some(back)
}

proptest! {
    #[test]
    fn headers_survive_the_wire(header in header()) {
        check_codec(header);
    }

    #[test]
    fn any_bytes_can_be_read(wire in proptest::collection::vec(any::<u8>(), 0..40)) {
        for &exid in AnyHeader::EXIDS {
            let Some(header) = AnyHeader::decode(exid, &wire) else { continue };
            prop_assert_eq!(header.exid(), Some(exid));
            // Beyond 2^53 units a f64 is coarser than the wire, so the bytes may differ in the
            // last.
            let mut again = vec![0; header.wire_bytes()];
            header.encode(&mut again);
            prop_assert_eq!(AnyHeader::decode(exid, &again), Some(header));
        }
    }
}

/// TCP options have 40 bytes, of which kind, length and ExID take four (RFC 9293, RFC 6994); one's
/// identifier is nobody else's, nor one of those that tshark reads as TARR, TCP-ENO, AccECN (two)
/// and Fast Open.
#[test]
fn headers_fit_into_tcp_options() {
    for (i, &exid) in AnyHeader::EXIDS.iter().enumerate() {
        assert!(!AnyHeader::EXIDS[..i].contains(&exid), "{exid:#06x} twice");
        assert!(![0x00ac, 0x454e, 0xacc0, 0xacc1, 0xacce, 0xf989].contains(&exid));
        let header = AnyHeader::decode(exid, &[0; 40]).expect("zeros are a header");
        assert_eq!(header.exid(), Some(exid));
        assert!((1..=36).contains(&header.wire_bytes()), "{header:?}");
    }
    assert_eq!(AnyHeader::None.exid(), None);
    assert_eq!(AnyHeader::decode(0, &[0; 40]), None);
}

// The table itself.

/// Checks one entry's parameters through `get` and `set`.
fn check_params(
    owner: &str,
    specs: &[Spec],
    get: impl Fn(&str) -> Option<Value>,
    mut set: impl FnMut(&str, Value) -> Result<(), Refused>,
) {
    for (i, spec) in specs.iter().enumerate() {
        let name = spec.name;
        let value = get(name).unwrap();
        assert_eq!(set(name, value), Ok(()), "{owner}.{name}: default out of its range");
        assert_eq!(get(name), Some(value));
        assert!(spec.doc.trim().len() > 10, "{owner}.{name}: no description");
        assert!(spec.low.is_finite() && spec.high.is_finite() && spec.low <= spec.high);
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        assert!(specs[..i].iter().all(|s| s.name != name), "{owner}.{name} twice");
        assert!(!["kind", "over", "preset", "recovery"].contains(&name), "{owner}.{name}: a key");
        let beyond = match spec.kind {
            Kind::Flag | Kind::Choice(_) | Kind::Text => continue,
            Kind::Count => Value::Count(spec.high as u64 + 1),
            Kind::Number => Value::Number(spec.high.max(1.0) * 1.001),
            Kind::Span => Value::Span(Span::from_secs_f64(spec.high + 1.0)),
        };
        assert_eq!(set(name, beyond), Err(Refused::Range), "{owner}.{name}");
    }
    assert_eq!(set("no such parameter", Value::Flag(true)), Err(Refused::Unknown));
}

/// Checks one entry's presets: each sets parameters that exist, once each, to values they may have.
fn check_presets(
    owner: &str,
    presets: &[Preset],
    set: impl Fn(&str, Value) -> Result<(), Refused>,
) {
    for (i, preset) in presets.iter().enumerate() {
        let name = preset.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        assert!(presets[..i].iter().all(|p| p.name != name), "{owner}: {name} twice");
        assert!(preset.doc.trim().len() > 10, "{owner}: {name} has no description");
        for (j, &(key, value)) in preset.values.iter().enumerate() {
            assert_eq!(set(key, value), Ok(()), "{owner}: {name} sets {key} to {value:?}");
            assert!(preset.values[..j].iter().all(|(k, _)| *k != key), "{owner}: {name}, {key}");
        }
    }
}

fn check_texts(name: &str, summary: &str, source: &str) {
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    assert!(summary.len() > 10 && source.len() > 5, "{name}");
}

#[test]
fn every_protocol_is_described() {
    let mut names = std::collections::BTreeSet::new();
    for info in protocols() {
        assert!(names.insert(info.name), "{} twice", info.name);
        check_texts(info.name, info.summary, info.source);
        check_presets(info.name, info.presets, |key, value| {
            AnySenderParams::named(info.name).unwrap().set(key, value)
        });
        let params = std::cell::RefCell::new(AnySenderParams::named(info.name).unwrap());
        check_params(
            info.name,
            info.params,
            |name| params.borrow().get(name),
            |name, value| params.borrow_mut().set(name, value),
        );
        if let Some(router) = info.router {
            let queue = queues().find(|q| q.name == router);
            // A switch with a state for each flow is a scheduler, and so a policy of its own; so is
            // SCONE's element.
            let names = |q: QueueInfo| q.role == Role::Feedback || q.name == info.name;
            assert!(queue.is_some_and(names), "{} on {router}", info.name);
        }
    }
    assert_eq!(AnySenderParams::named("no such protocol"), None);
}

#[test]
fn every_queue_is_described() {
    let mut names = std::collections::BTreeSet::new();
    for info in queues() {
        assert!(names.insert(info.name), "{} twice", info.name);
        check_texts(info.name, info.summary, info.source);
        check_presets(info.name, info.presets, |key, value| {
            AnyRouterParams::named(info.name).unwrap().set(key, value)
        });
        let params = std::cell::RefCell::new(AnyRouterParams::named(info.name).unwrap());
        check_params(
            info.name,
            info.params,
            |name| params.borrow().get(name),
            |name, value| params.borrow_mut().set(name, value),
        );
    }
    assert_eq!(AnyRouterParams::named("no such queue"), None);
}

#[test]
fn a_sender_stays_small() {
    for info in protocols() {
        // A pointer's, and eight lines of a cache on the heap.
        assert!(info.state_bytes <= 512 + 8, "{}: {} bytes", info.name, info.state_bytes);
    }
    // What every flow has room for, 24 bytes of answers among it; what needs more is boxed.
    let size = std::mem::size_of::<AnySender>();
    assert!(size <= 184, "{size} bytes");
}

#[test]
fn a_header_stays_small() {
    // Every packet has room for one: as much as XCP's needs, three doubles and a tag.
    assert_eq!(std::mem::size_of::<AnyHeader>(), 32);
    let stamp = AnyHeader::Stamp(Stamp::default());
    assert_eq!((stamp.exid(), stamp.wire_bytes()), (None, 0));
}
