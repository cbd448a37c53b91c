//! CSFQ on one congested link, driven by hand: 32 constant bit rates without an engine around them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cc::classes::Place;
use cc::registry::{AnyCell, AnyRouter, AnyRouterParams};
use cc::roles::{Ecn, Limit, PacketKind, Passing, RouterContext, Verdict};
use clearpipe_queue::{Queue, Waiting};
use units::random::Stream;
use units::{Rate, Span, Time};

const FLOWS: u32 = 32;
const FAIR: u64 = 312_500;
const BYTES: u32 = 1000;

/// A link that drops arrivals, whatever the policy's plan says of overflow.
struct Link {
    router: AnyRouter,
    queue: Queue,
    busy_until: Time,
    /// Bytes that each flow got through after a second.
    served: Vec<u64>,
    /// The flow of each packet.
    flows: Vec<u32>,
}

impl Link {
    fn new(kind: &str) -> Link {
        let params = AnyRouterParams::named(kind).expect("a queue");
        let (capacity, limit) = (Rate(10_000_000), Limit::Bytes(64_000));
        let router = params.build(&RouterContext {
            link: 0,
            capacity,
            limit,
            packet_bytes: BYTES,
            stream: Stream::new(1, 0, "csfq"),
            host: &cc::foreign::Nobody,
        });
        let queue = Queue::new(params.service(), limit, BYTES);
        let served = vec![0; FLOWS as usize];
        Link { router, queue, busy_until: Time::ZERO, served, flows: Vec::new() }
    }

    fn serve_until(&mut self, now: Time) {
        while self.busy_until <= now {
            let Some(chosen) = self.queue.select(|_| 1.0) else { return };
            let (_, waiting) = self.queue.take_head(chosen).expect("it is selected");
            self.start(waiting);
        }
    }

    fn start(&mut self, packet: Waiting) {
        let start = self.busy_until.max(packet.since);
        self.busy_until = start + Rate(10_000_000).serialization(BYTES);
        if start.as_secs() >= 1.0 {
            self.served[self.flows[packet.handle as usize] as usize] += u64::from(BYTES);
        }
    }

    fn arrive(&mut self, now: Time, flow: u32) {
        self.serve_until(now);
        let idle = self.busy_until <= now;
        let (mut label, mut ecn) = (0.0, Ecn::NotCapable);
        let number = self.router.cell(flow);
        let mut cell = *self.queue.cell(number).expect("a link with classes");
        let backlog = self.queue.backlog();
        let verdict = self.router.admit(
            now,
            Passing {
                flow,
                size: BYTES,
                kind: PacketKind::Data,
                queued_for: Span::ZERO,
                ecn: &mut ecn,
                header: None,
            },
            &mut Place {
                backlog,
                class: 0,
                queue: backlog,
                group: 0,
                label: &mut label,
                cell: &mut cell,
                drawn: None,
                idle,
                fits: self.queue.fits(BYTES),
                again: false,
            },
        );
        *self.queue.cell(number).expect("a link with classes") = cell;
        assert!(matches!(cell, AnyCell::CsfqEdge(_) | AnyCell::DropFront(())));
        if verdict == Verdict::Drop || !(idle || self.queue.fits(BYTES)) {
            return;
        }
        self.flows.push(flow);
        let packet = Waiting { handle: self.flows.len() as u32 - 1, size: BYTES, since: now };
        if idle { self.start(packet) } else { self.queue.push_class(0, packet) }
    }
}

/// What flow i gets of its fair share when it sends i + 1 times as much, over 10 s.
fn shares(kind: &str) -> Vec<f64> {
    let mut link = Link::new(kind);
    let mut next: BinaryHeap<_> =
        (0..FLOWS).map(|flow| Reverse((Time(u64::from(flow) * 97_000_000), flow))).collect();
    while let Some(Reverse((now, flow))) = next.pop().filter(|next| next.0.0.as_secs() < 11.0) {
        link.arrive(now, flow);
        let rate = Rate(FAIR * u64::from(flow + 1));
        next.push(Reverse((now + rate.serialization(BYTES), flow)));
    }
    link.served.iter().map(|&bytes| bytes as f64 * 8.0 / 10.0 / FAIR as f64).collect()
}

/// The paper's first experiment (section 4.1): 10 Mb/s, 64 KB, flow i sends i + 1 times its fair
/// share.
#[test]
fn each_of_32_constant_rates_gets_its_fair_share() {
    let csfq = shares("csfq-edge");
    println!("{csfq:.3?}");
    assert!(csfq.iter().all(|share| (share - 1.0).abs() < 0.15), "{csfq:.3?}");
    // First in, first out and the last dropped, the phases of the clocks decide: some get nothing.
    let fifo = shares("dropfront");
    println!("{fifo:.3?}");
    assert!(fifo.iter().any(|share| *share < 0.5) && fifo.iter().any(|share| *share > 1.5));
}
