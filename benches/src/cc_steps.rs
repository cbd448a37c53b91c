//! What every protocol and every queue of the registry does per packet and per ACK.
//!
//! A protocol is asked what it would be asked in a network: before the count begins, a flow runs
//! through the protocol's own router under light and heavy load, and what comes back is kept and
//! told to a fresh sender.

use std::hint::black_box;

use cc::foreign::Nobody;
use cc::registry::{
    AnyHeader, AnyReceiver, AnyRouter, AnyRouterParams, AnySender, AnySenderParams, protocols,
    queues,
};
use cc::roles::{
    Ack, Arrived, Backlog, Departing, Ecn, EcnUse, Feedback, Limit, Loss, LossKind, PacketKind,
    Passing, RouterContext, SenderContext,
};
use units::random::Stream;
use units::{Rate, Span, Time};

use crate::suite::Bench;

/// What is gated of the registry: those that the base cases run. All of it would take minutes, and
/// what the others share with these is counted here.
const PROTOCOLS: [&str; 5] = ["reno", "newreno", "sack", "xcp", "vcp"];
const QUEUES: [&str; 4] = ["droptail", "red", "xcp", "vcp"];

/// Three benches for each of the protocols, two for each of the queues.
pub fn benches() -> Vec<Bench> {
    let mut benches = Vec::new();
    for protocol in protocols().filter(|protocol| PROTOCOLS.contains(&protocol.name)) {
        let (name, router) = (protocol.name, protocol.router);
        let of = |step: &str| format!("cc/{name}-{step}");
        benches.push(Bench::step(of("send"), move |n| send(name, router, n)));
        benches.push(Bench::step(of("data"), move |n| data(name, router, n)));
        benches.push(Bench::step(of("ack"), move |n| ack(name, router, n)));
    }
    for queue in queues().filter(|queue| QUEUES.contains(&queue.name)) {
        let name = queue.name;
        for (step, kind) in [("data", PacketKind::Data), ("ack", PacketKind::Ack)] {
            let work = move |n| pass(name, kind, n);
            benches.push(Bench::step(format!("router/{name}-{step}"), work));
        }
    }
    benches
}

/// Data packets leave the sender.
fn send(protocol: &str, router: Option<&str>, packets: u64) {
    let mut flow = Flow::new(protocol);
    flow.exchange(router);
    let mut clock = Clock::default();
    for _ in 0..packets {
        black_box(flow.sender.on_send(departing(clock.tick())));
        black_box(&mut flow.sender);
    }
}

/// Data packets reach the receiver.
fn data(protocol: &str, router: Option<&str>, packets: u64) {
    let heard = Flow::new(protocol).exchange(router);
    let mut receiver = Flow::new(protocol).receiver;
    let mut clock = Clock::default();
    for n in 0..packets as usize {
        let Feedback { header, code } = heard[n % RECORD];
        black_box(receiver.on_data(arrived(clock.tick(), header, code)));
        black_box(&mut receiver);
    }
}

/// ACKs reach the sender, with a loss now and then; the window and the pace are asked for.
fn ack(protocol: &str, router: Option<&str>, acks: u64) {
    let heard = Flow::new(protocol).exchange(router);
    let mut flow = Flow::new(protocol);
    let mut clock = Clock::default();
    for n in 0..acks as usize {
        let now = clock.tick();
        flow.hear(now, &heard[n % RECORD]);
        black_box((flow.sender.cwnd(), flow.sender.pacing()));
        if n % LOSS_EVERY == LOSS_EVERY - 1 {
            flow.lose(now);
        }
        black_box(&mut flow.sender);
    }
}

/// Packets of one kind pass the router.
fn pass(queue: &str, kind: PacketKind, packets: u64) {
    let mut sent = Packet { kind, ecn: Ecn::Ect0, header: AnyHeader::None };
    if let Some(protocol) = protocols().find(|protocol| protocol.router == Some(queue)) {
        let mut flow = Flow::new(protocol.name);
        flow.exchange(protocol.router);
        sent.ecn = flow.ecn();
        sent.header = flow.sender.on_send(departing(Time::ZERO));
    }
    let (mut hop, mut clock) = (Hop::new(queue), Clock::default());
    for _ in 0..packets {
        let mut packet = sent;
        clock.tick();
        hop.pass(&clock, &mut packet);
        black_box(&packet);
        black_box(&mut hop);
    }
}

/// Both ends of a flow.
struct Flow {
    sender: AnySender,
    receiver: AnyReceiver,
}

impl Flow {
    fn new(protocol: &str) -> Flow {
        let params = AnySenderParams::named(black_box(protocol)).expect("a name of the registry");
        let stream = Stream::new(1, 0, "flow");
        let context = SenderContext {
            packet_bytes: PACKET_BYTES,
            initial_window: 2.0,
            stream,
            host: &Nobody,
            routers: 1,
            counting: 0,
        };
        let (sender, receiver) = params.build(&context);
        Flow { sender, receiver }
    }

    fn ecn(&self) -> Ecn {
        match self.sender.ecn() {
            EcnUse::None => Ecn::NotCapable,
            EcnUse::Classic => Ecn::Ect0,
            EcnUse::Codes(code) => code,
        }
    }

    /// Sends [`RECORD`] packets through the queue called `router`; returns what the ACKs bring.
    fn exchange(&mut self, router: Option<&str>) -> Vec<Feedback<AnyHeader>> {
        let mut hop = router.map(Hop::new);
        let mut clock = Clock::default();
        (0..RECORD).map(|_| self.round_trip(&mut clock, hop.as_mut())).collect()
    }

    fn round_trip(&mut self, clock: &mut Clock, hop: Option<&mut Hop>) -> Feedback<AnyHeader> {
        let now = clock.tick();
        let header = self.sender.on_send(departing(now));
        let mut packet = Packet { kind: PacketKind::Data, ecn: self.ecn(), header };
        if let Some(hop) = hop {
            hop.pass(clock, &mut packet);
        }
        let back = self.receiver.on_data(arrived(now, packet.header, packet.ecn));
        self.hear(now, &back);
        back
    }

    fn hear(&mut self, now: Time, back: &Feedback<AnyHeader>) {
        let rtt = Some(RTT);
        self.sender.on_ack(Ack {
            now,
            delivered: 1,
            acked: 1,
            lost: 0,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            in_flight: IN_FLIGHT,
            recovering: false,
            ece: false,
            header: back.header,
            code: back.code,
            marks: 0,
        });
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
        }
    }

    fn lose(&mut self, now: Time) {
        let (kind, in_flight, lost) = (LossKind::DupAcks, IN_FLIGHT, 1);
        self.sender.on_loss(&Loss { now, kind, in_flight, lost, repeated: false });
    }
}

/// A packet, as far as a router sees it.
#[derive(Clone, Copy)]
struct Packet {
    kind: PacketKind,
    ecn: Ecn,
    header: AnyHeader,
}

impl Packet {
    fn passing(&mut self, queued_for: Span) -> Passing<'_, AnyHeader> {
        let Packet { kind, ecn, header } = self;
        let size = if *kind == PacketKind::Ack { ACK_BYTES } else { PACKET_BYTES };
        let header = (*kind == PacketKind::Data).then_some(header);
        Passing { flow: 0, size, kind: *kind, queued_for, ecn, header }
    }
}

/// A router at its link.
struct Hop(AnyRouter);

impl Hop {
    fn new(queue: &str) -> Hop {
        let params = AnyRouterParams::named(black_box(queue)).expect("a name of the registry");
        let (limit, stream) = (Limit::Packets(BUFFER), Stream::new(1, 0, "link"));
        let packet_bytes = PACKET_BYTES;
        let context = RouterContext {
            link: 0,
            capacity: CAPACITY,
            limit,
            packet_bytes,
            stream,
            host: &Nobody,
        };
        Hop(params.build(&context))
    }

    /// The packet comes and goes.
    #[inline]
    fn pass(&mut self, clock: &Clock, packet: &mut Packet) {
        let (now, backlog) = (clock.now, clock.backlog());
        if self.0.next_timer() <= now {
            self.0.on_timer(now, backlog);
        }
        black_box(self.0.on_arrival(now, packet.passing(Span::ZERO), backlog));
        self.0.on_departure(now, packet.passing(RTT), backlog);
    }
}

fn arrived(now: Time, header: AnyHeader, ecn: Ecn) -> Arrived<AnyHeader> {
    Arrived { now, seq: 0, expected: 1, size: PACKET_BYTES, header, ecn, pending: None }
}

fn departing(now: Time) -> Departing {
    Departing {
        now,
        size: PACKET_BYTES,
        srtt: Some(RTT),
        seq: 0,
        in_flight: IN_FLIGHT,
        backlogged: true,
        retransmission: false,
    }
}

/// The time goes from packet to packet: for one half of [`RECORD`] packets as fast as 2/3 of the
/// link's capacity, for the other half at 4/3.
#[derive(Default)]
struct Clock {
    now: Time,
    ticks: usize,
}

impl Clock {
    #[inline]
    fn tick(&mut self) -> Time {
        let light = self.ticks % RECORD < RECORD / 2;
        self.ticks += 1;
        self.now = self.now + if light { LIGHT_GAP } else { HEAVY_GAP };
        self.now
    }

    /// What waits: around the middle of the buffer, where RED marks.
    #[inline]
    fn backlog(&self) -> Backlog {
        let packets = BUFFER / 2 - 8 + (self.ticks % 16) as u32;
        Backlog { packets, bytes: u64::from(packets * PACKET_BYTES) }
    }
}

/// Packets whose feedback is kept; a power of two keeps the division out of the count.
const RECORD: usize = 4096;
const LOSS_EVERY: usize = 1024;
const PACKET_BYTES: u32 = 1000;
const ACK_BYTES: u32 = 40;
/// [packets]
const BUFFER: u32 = 100;
const IN_FLIGHT: u32 = 64;
const RTT: Span = Span::from_millis(80);
const CAPACITY: Rate = Rate(10_000_000);
/// A packet takes 800 microseconds on the link.
const LIGHT_GAP: Span = Span::from_micros(1200);
const HEAVY_GAP: Span = Span::from_micros(600);
