//! The kernel's routers against the simulator's, packet by packet.
//!
//! Both see the same arrivals at the same instants, with the same queue. The kernel's looks at its
//! timers when a packet comes, so the simulator's timers are called then, too.

mod common;

use cc::explicit::load::dpcp::{DpcpHeader, DpcpRouter, DpcpRouterParams};
use cc::explicit::load::mlcp::{MlcpHeader, MlcpRouter};
use cc::explicit::load::vcp::{VcpRouter, VcpRouterParams};
use cc::roles::{Backlog, Fields, Header, PacketKind, Passing, Router, TcpFields};
use clearpipe_arithmetic::{Dpcp, LoadMeter, Mlcp, MlcpGauge, MlcpSums};
use common::{Arrival, Arrivals, CODES, FLOWS, draw, router_context};
use units::random::Stream;
use units::{Rate, Span, Time};

const PACKETS: u32 = 1_000_000;
/// So that no sample of the queue is missed.
const LONGEST_GAP_NS: u64 = 9_000_000;
/// The bound of load_router.h: a unit, and this part of the load factor: a microsecond of 200 ms.
const RHO_UNIT: f64 = 1.0 / 1_048_576.0;
const RHO_WITHIN: f64 = 5.1e-6;
/// Codes may differ where the load factor is so near to an edge.
const EDGE: f64 = 1e-3;

/// How far a load factor in 2^-20 is from what it should be, beyond a unit, as a part of it.
fn distance(kernel: u64, rho: f64) -> f64 {
    ((kernel as f64 * RHO_UNIT - rho).abs() - RHO_UNIT).max(0.0) / rho.max(RHO_UNIT)
}

/// Is a load factor near to an edge?
fn is_near(rho: f64, edges: &[f64]) -> bool {
    edges.iter().any(|edge| (rho - edge).abs() < EDGE * edge)
}

fn rho_of<R: Router>(router: &R) -> f64 {
    let mut rho = 0.0;
    router.probe(&mut |name, value| {
        if name == "rho" || name == "sigma" {
            rho = value;
        }
    });
    rho
}

/// Runs both; `mark` is what the kernel's makes of a packet. Packets whose codes differ away from
/// an edge; how many were near to one, and the load factors' largest relative distance.
fn differ<R: Router>(
    mut router: R,
    capacity: Rate,
    edges: &[f64],
    header: impl Fn(&Arrival) -> Option<R::Header>,
    mut mark: impl FnMut(&LoadMeter, &Arrival) -> u32,
) -> (u32, u32, f64) {
    let bytes_per_s = capacity.bytes_per_sec();
    let stream = Stream::new(26, capacity.0, "router");
    let mut arrivals = Arrivals::new(stream, bytes_per_s, LONGEST_GAP_NS);
    // The kernel's clock does not begin at 0, which is none; the first packet begins the period.
    let base = 1_000_000_000;
    let mut meter = LoadMeter::default();
    meter.measure(bytes_per_s as u64, base, 0, 0);
    let (mut arrived, mut wrong, mut near, mut apart) = (0, 0, 0, 0.0_f64);
    for _ in 0..PACKETS {
        let packet = arrivals.next();
        let now = Time::ZERO + Span(packet.now_ns * 1000);
        let backlog = Backlog { packets: 1, bytes: packet.waiting };
        if router.next_timer() <= now {
            router.on_timer(now, backlog);
        }
        let waiting = packet.waiting;
        if meter.measure(bytes_per_s as u64, base + packet.now_ns, arrived, waiting) {
            let rho = rho_of(&router);
            apart = apart.max(distance(meter.rho, rho));
        }
        arrived += u64::from(packet.size);
        let (mut ecn, mut own) = (CODES[packet.theirs as usize], header(&packet));
        for arrives in [true, false] {
            let passing = Passing {
                flow: packet.flow,
                size: packet.size,
                kind: PacketKind::Data,
                queued_for: Span::ZERO,
                ecn: &mut ecn,
                header: own.as_mut(),
            };
            if arrives {
                router.on_arrival(now, passing, backlog);
            } else {
                router.on_departure(now, passing, backlog);
            }
        }
        let code = mark(&meter, &packet);
        if is_near(rho_of(&router), edges) {
            near += 1;
        } else if CODES[code as usize] != ecn {
            wrong += 1;
        }
    }
    assert!(meter.periods > 100, "{} periods", meter.periods);
    (wrong, near, apart)
}

#[test]
fn vcp_marks_as_the_simulator() {
    for capacity in [Rate(1_000_000), Rate(20_000_000)] {
        let router = VcpRouter::new(&VcpRouterParams::default(), &router_context(capacity));
        let mark = |meter: &LoadMeter, packet: &Arrival| meter.vcp(packet.theirs);
        let (wrong, near, apart) = differ(router, capacity, &[0.8, 1.0], |_| None, mark);
        println!("{capacity:?}: {near} near an edge, load factors within {apart:.1e}");
        assert_eq!(wrong, 0);
        assert!(near < PACKETS / 20 && apart < RHO_WITHIN, "{near} {apart:e}");
    }
}

#[test]
fn dpcp_marks_as_the_simulator() {
    let header = |packet: &Arrival| {
        let (seq, ack) = packet.numbers;
        let fields = Fields { tcp: Some(TcpFields { seq, ack, stale: false }), ip_id: 0 };
        DpcpHeader::read(&fields)
    };
    let edges = [0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4];
    for capacity in [Rate(1_000_000), Rate(20_000_000)] {
        let router = DpcpRouter::new(&DpcpRouterParams::default(), &router_context(capacity));
        let mut flags = [0_u8; FLOWS as usize];
        let mark = |meter: &LoadMeter, packet: &Arrival| {
            let part = Dpcp::part(packet.numbers.0, packet.numbers.1);
            meter.dpcp(&mut flags[packet.flow as usize], part, packet.theirs)
        };
        let (wrong, near, apart) = differ(router, capacity, &edges, header, mark);
        println!("{capacity:?}: {near} near an edge, load factors within {apart:.1e}");
        // An MSP near an edge of zones leaves a flag that its LSPs read away from it: as many
        // packets at most as there are flows, each time.
        assert!(wrong <= near / 10 + 1, "{wrong} of {near}");
        assert!(near < PACKETS / 10 && apart < RHO_WITHIN, "{near} {apart:e}");
    }
}

/// A data packet arrives at the router and departs.
fn pass(router: &mut MlcpRouter, now: Time, size: u32, header: &mut MlcpHeader, backlog: Backlog) {
    let mut ecn = CODES[0];
    for arrives in [true, false] {
        let passing = Passing {
            flow: 0,
            size,
            kind: PacketKind::Data,
            queued_for: Span::ZERO,
            ecn: &mut ecn,
            header: Some(&mut *header),
        };
        if arrives {
            router.on_arrival(now, passing, backlog);
        } else {
            router.on_departure(now, passing, backlog);
        }
    }
}

/// Every header leaves with the same load, t_p and RTT. RTTs have one mean for a few thousand
/// packets, so that T_c rises through several lengths of t_p, and falls.
#[test]
fn mlcp_marks_as_the_simulator() {
    let edges = [0.16, 0.32, 0.48, 0.64, 0.8, 0.95].into_iter();
    let edges: Vec<f64> = edges.chain((0..8).map(|k| 1.0 + f64::from(k) / 35.0)).collect();
    let capacity = Rate(20_000_000);
    let bytes_per_s = capacity.bytes_per_sec();
    let mut router =
        MlcpRouter::new(&<MlcpRouter as Router>::Params::default(), &router_context(capacity));
    let mut gauge = MlcpGauge::default();
    let stream = Stream::new(27, 0, "router");
    let mut arrivals = Arrivals::new(stream, bytes_per_s, LONGEST_GAP_NS);
    let (base, mut sums) = (1_000_000_000, MlcpSums::default());
    gauge.measure(bytes_per_s as u64, base, &sums, 0);
    let (mut mean_us, mut lengths, mut near, mut apart) = (200_000, [0_u32; 8], 0, 0.0_f64);
    for number in 0..PACKETS {
        let packet = arrivals.next();
        if number % 20_000 == 0 {
            mean_us = 400_000 + draw(&mut arrivals.stream, 2_000_000);
        }
        let now = Time::ZERO + Span(packet.now_ns * 1000);
        let backlog = Backlog { packets: 1, bytes: packet.waiting };
        if router.next_timer() <= now {
            router.on_timer(now, backlog);
        }
        if gauge.measure(bytes_per_s as u64, base + packet.now_ns, &sums, packet.waiting) {
            let rho = rho_of(&router);
            apart = apart.max(distance(gauge.meter.rho, rho));
            lengths[gauge.t_p as usize] += 1;
        }
        // Some have none yet.
        let rtt_us = (draw(&mut arrivals.stream, 2 * mean_us) as u32).saturating_sub(1000);
        let (load, t_p) = (draw(&mut arrivals.stream, 16) as u8, packet.theirs as u8);
        let mut header = MlcpHeader::new(load, t_p, Some(Span::from_micros(rtt_us.into())));
        let word = Mlcp::word(load.into(), t_p.into(), rtt_us);
        pass(&mut router, now, packet.size, &mut header, backlog);
        sums.bytes += u64::from(packet.size);
        sums.rtts += u64::from(rtt_us > 0);
        sums.rtt_us += u64::from(rtt_us);
        let mut wire = [0; 4];
        header.encode(&mut wire);
        if is_near(rho_of(&router), &edges) {
            near += 1;
        } else {
            assert_eq!(gauge.mark(word), u32::from_be_bytes(wire), "packet {number}: {gauge:?}");
        }
    }
    println!("{near} near an edge, load factors within {apart:.1e}, periods {lengths:?}");
    assert!(near < PACKETS / 10 && apart < RHO_WITHIN, "{near} {apart:e}");
    assert!(lengths.iter().filter(|&&periods| periods > 0).count() >= 4, "{lengths:?}");
}

/// Nothing came for 50 samples: the queue that was there is gone, and the period was long.
#[test]
fn an_idle_router_forgets_its_queue() {
    let mut meter = LoadMeter::default();
    assert!(!meter.measure(1_250_000, 1_000_000_000, 0, 0));
    assert!(!meter.measure(1_250_000, 1_010_000_000, 100_000, 80_000));
    // An eighth of the sample [bytes/256].
    assert_eq!(meter.q, 10_000 * 256);
    assert!(meter.measure(1_250_000, 1_510_000_000, 100_000, 0));
    // 0.875^33 = 0.0122; 100 kB of 0.98*1.25e6*0.51 = 624.75 kB are 0.1601, and half of 122 B.
    assert!(meter.q < 123 * 256, "{}", meter.q);
    assert!((meter.rho as f64 / 1_048_576.0 - 0.1601).abs() < 2e-4, "{}", meter.rho);
}
