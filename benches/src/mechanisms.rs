//! Agenda, queue and transport, each alone.

use std::collections::VecDeque;
use std::hint::black_box;

use cc::classes::Service;
use cc::registry::Recovery;
use cc::roles::{Limit, PacketKind};
use engine::Agenda;
use queue::{Queue, Waiting};
use transport::{AckIn, Config, Inbound, Outbound, SackBlocks, Segment};
use units::{Span, Time};

use crate::suite::Bench;

/// All of them.
pub fn benches() -> Vec<Bench> {
    let mut benches = Vec::new();
    for sources in [100, 10_000, 100_000] {
        let work = move |events| hold(sources, events);
        benches.push(Bench::step(format!("engine/hold-{sources}"), work));
    }
    benches.push(Bench::step("engine/burst".into(), burst));
    for (name, service) in [("fifo", Service::Fifo), ("acks-first", Service::AcksFirst)] {
        benches.push(Bench::step(format!("queue/{name}"), move |packets| serve(service, packets)));
    }
    for recovery in Recovery::ALL {
        for (path, loss_every) in [("clean", u64::MAX), ("lossy", 200)] {
            let name = format!("transport/{}-{path}", recovery.name());
            let work = move |segments| transfer(recovery, loss_every, segments);
            benches.push(Bench::step(name, work));
        }
    }
    benches
}

/// Every event handled schedules its source's next one, as links and flows do.
fn hold(sources: u32, events: u64) {
    let mut agenda = Agenda::default();
    let mut delays = Delays::default();
    for source in 0..sources {
        agenda.at(Time(delays.next()), source);
    }
    for _ in 0..events {
        let Some((now, event)) = agenda.next(Time::NEVER) else { return };
        agenda.at(now + Span(delays.next()), black_box(event));
    }
}

/// Events come in bursts and are handled without a successor.
fn burst(events: u64) {
    let mut agenda = Agenda::default();
    let mut delays = Delays::default();
    for _ in 0..events / BURST {
        let now = agenda.now();
        for event in 0..BURST as u32 {
            agenda.at(now + Span(delays.next()), event);
        }
        while let Some(event) = agenda.next(Time::NEVER) {
            black_box(event);
        }
    }
}

/// Data and ACKs in turn through a queue in which some always wait.
fn serve(service: Service, packets: u64) {
    let mut queue = Queue::new(service, Limit::Bytes(1_500_000), 1000);
    let put = |queue: &mut Queue, n: u64| {
        let ack = n.is_multiple_of(2);
        let (kind, size) = if ack { (PacketKind::Ack, 40) } else { (PacketKind::Data, 1000) };
        if queue.fits(black_box(size)) {
            queue.push(kind, Waiting { handle: n as u32, size, since: Time(n) });
        }
    };
    (0..STANDING).for_each(|n| put(&mut queue, n));
    for n in 0..packets {
        put(&mut queue, n);
        black_box(queue.pop());
    }
}

/// Segments over a path that holds a window of them and loses new ones at even distances.
fn transfer(recovery: Recovery, loss_every: u64, segments: u64) {
    let config = Config { recovery, ..Config::default() };
    let (mut outbound, mut inbound) = (Outbound::new(&config, None), Inbound::new(&config));
    let mut path: VecDeque<Segment> = VecDeque::new();
    let mut now = Time::ZERO;
    for _ in 0..segments {
        now = now + SEGMENT_TIME;
        while let Some(segment) = outbound.next_segment(now, black_box(WINDOW)) {
            outbound.on_sent(now);
            path.push_back(segment);
        }
        match path.pop_front() {
            Some(segment) if lost(&segment, loss_every) => {}
            Some(segment) => deliver(now, segment, &mut outbound, &mut inbound),
            None => {
                black_box(outbound.on_timer(now));
            }
        }
    }
}

fn lost(segment: &Segment, every: u64) -> bool {
    !segment.retransmission && (segment.seq + 1).is_multiple_of(every)
}

/// A segment arrives, and its ACK with it.
fn deliver(now: Time, segment: Segment, outbound: &mut Outbound, inbound: &mut Inbound) {
    black_box(inbound.on_data(now, segment.seq, false, segment.cwr));
    let ack = inbound.ack(now);
    let blocks = if ack.sack { inbound.sack_blocks() } else { SackBlocks::default() };
    let rtt = (!segment.retransmission).then_some(RTT);
    let (cumulative, ece) = (ack.cumulative, ack.ece);
    let ack = AckIn { cumulative, sack: blocks.as_slice(), rtt, ece };
    black_box(outbound.on_ack(now, black_box(&ack)));
}

/// Delays of up to 67 microseconds in no order, from a linear congruence (Knuth's MMIX).
#[derive(Default)]
struct Delays(u64);

impl Delays {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 38
    }
}

const BURST: u64 = 50;
const STANDING: u64 = 64;
/// [segments]
const WINDOW: u64 = 64;
const RTT: Span = Span::from_millis(64);
const SEGMENT_TIME: Span = Span::from_millis(1);
