//! The kernel's routers of XCP and iXCP against the simulator's, packet by packet: the headers are
//! the wire's, the instants and queues the same. The kernel's looks at its timers when a packet
//! comes, so the simulator's timers are called then, too.

mod common;

use cc::explicit::xcp::ixcp::{IxcpHeader, IxcpRouter as SimulatedIxcp, IxcpRouterParams};
use cc::explicit::xcp::xcp::{XcpHeader, XcpRouter as SimulatedXcp, XcpRouterParams};
use cc::roles::{Backlog, Header, PacketKind, Passing, Router};
use clearpipe_arithmetic::{Bundle, IxcpRouter, XcpMeter, XcpRouter};
use common::{Arrival, Arrivals, CODES, FLOWS, draw, router_context};
use units::random::Stream;
use units::{Rate, Span, Time, math};

const PACKETS: u32 = 1_000_000;
/// Below the shortest window of the persistent queue, so that no window passes without a packet.
const LONGEST_GAP_NS: u64 = 1_900_000;
/// The kernel's clock does not begin at 0, which is none.
const BASE_NS: u64 = 1_000_000_000;
/// The number of the link; others are below.
const LINK: u32 = 8;
/// How far feedback may be off: this part of it, or a unit of the wire (2^-16 bytes).
const FEEDBACK_WITHIN: f64 = 1e-3;
/// How far what is measured, and the feedback of an interval together, may be off.
const SUM_WITHIN: f64 = 1e-4;

/// The kernel's router.
trait Kernel {
    fn measure(&mut self, capacity: u64, now: u64, arrived: u64, waiting: u64) -> bool;
    fn forward(&mut self, packet: Bundle, header: &mut [u8]);
    fn meter(&self) -> &XcpMeter;
}

impl Kernel for XcpRouter {
    fn measure(&mut self, capacity: u64, now: u64, arrived: u64, waiting: u64) -> bool {
        XcpRouter::measure(self, capacity, now, arrived, waiting)
    }
    fn forward(&mut self, packet: Bundle, header: &mut [u8]) {
        let left = XcpRouter::forward(self, packet, header.try_into().expect("16 bytes"));
        header.copy_from_slice(&left);
    }
    fn meter(&self) -> &XcpMeter {
        &self.meter
    }
}

impl Kernel for IxcpRouter {
    fn measure(&mut self, capacity: u64, now: u64, arrived: u64, waiting: u64) -> bool {
        IxcpRouter::measure(self, capacity, now, arrived, waiting)
    }
    fn forward(&mut self, packet: Bundle, header: &mut [u8]) {
        let left = IxcpRouter::forward(self, LINK, packet, header.try_into().expect("24 bytes"));
        header.copy_from_slice(&left);
    }
    fn meter(&self) -> &XcpMeter {
        &self.meter
    }
}

/// H_feedback on the wire.
fn feedback_of(header: &[u8]) -> i64 {
    i64::from_be_bytes(header[8..16].try_into().expect("8 bytes"))
}

fn variable<R: Router>(router: &R, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    router.probe(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

/// A number whose logarithm is uniform.
fn spread(stream: &mut Stream, low: f64, high: f64) -> f64 {
    math::exp(stream.uniform(math::ln(low), math::ln(high)))
}

/// Flows with RTTs and windows; packets differ from their flow's by a little, a few state nothing.
struct Flows {
    stream: Stream,
    flows: Vec<(f64, f64)>,
}

impl Flows {
    /// RTTs are between a thousandth of the longest and that.
    fn new(longest_rtt: f64) -> Flows {
        let mut stream = Stream::new(28, 0, "flows");
        let shortest = longest_rtt / 1000.0;
        let mut flow =
            || (spread(&mut stream, shortest, longest_rtt), spread(&mut stream, 1e3, 1e6));
        let flows = (0..FLOWS).map(|_| flow()).collect();
        Flows { stream, flows }
    }

    /// H_rtt, H_cwnd and H_feedback, as they are on the wire, and bottleneckId.
    fn header(&mut self, flow: u32) -> (f64, u32, i64, u32) {
        let stream = &mut self.stream;
        let (rtt, cwnd) = self.flows[flow as usize];
        let rtt = rtt * stream.uniform(0.9, 1.1);
        let cwnd = (cwnd * stream.uniform(0.5, 1.5)) as u32;
        let size = spread(stream, 1.0, 1e12) as i64;
        let held = match draw(stream, 6) {
            0..3 => i64::MAX,
            3 => 0,
            4 => size,
            _ => -size,
        };
        // One of fifty has no RTT yet, one of a hundred an impossible window.
        let rtt = if draw(stream, 50) == 0 { 0.0 } else { rtt };
        let cwnd = if draw(stream, 100) == 0 { 0 } else { cwnd };
        (rtt, cwnd, held, draw(stream, u64::from(LINK) + 1) as u32)
    }
}

/// What differed over a run.
#[derive(Debug, Default)]
struct Differences {
    /// Headers with another feedback than allowed, or other fields.
    wrong: u32,
    /// Packets whose feedback the routers lowered, and those that came with less.
    lowered: u32,
    kept: u32,
    /// The largest relative difference of what is measured, and of an interval's feedback.
    measured: f64,
    handed: f64,
}

fn relative(is: f64, should: f64) -> f64 {
    if is == should { 0.0 } else { (is - should).abs() / should.abs().max(1e-9) }
}

/// What a header leaves the simulator's router as, which an arrival meets and leaves at once.
fn simulated<R: Router>(router: &mut R, now: Time, packet: &Arrival, wire: &[u8]) -> R::Header {
    let mut header = R::Header::decode(wire).expect("a header");
    let mut ecn = CODES[0];
    let backlog = Backlog { packets: 1, bytes: packet.waiting };
    for arrives in [true, false] {
        let passing = Passing {
            flow: packet.flow,
            size: packet.size,
            kind: PacketKind::Data,
            queued_for: Span::ZERO,
            ecn: &mut ecn,
            header: Some(&mut header),
        };
        if arrives {
            router.on_arrival(now, passing, backlog);
        } else {
            router.on_departure(now, passing, backlog);
        }
    }
    header
}

/// Is a header that came with some feedback what it should be? A feedback that equals what the
/// packet held, but for its rounding, names either link.
fn is_same(wire: &[u8], should: &[u8], came: i64) -> bool {
    let (is, meant) = (feedback_of(wire), feedback_of(should));
    let off = (is - meant).unsigned_abs();
    let within = off <= 1 || off as f64 <= FEEDBACK_WITHIN * meant.unsigned_abs() as f64;
    let same = within && wire[..8] == should[..8] && (wire[16..] == should[16..] || meant == came);
    if !same {
        println!("{wire:?} {should:?}");
    }
    same
}

/// Runs both; `encode` makes a header of H_rtt, H_cwnd, H_feedback and bottleneckId.
fn differ<R: Router, K: Kernel>(
    mut router: R,
    mut kernel: K,
    (capacity, longest_rtt): (Rate, f64),
    encode: impl Fn((f64, u32, i64, u32)) -> Vec<u8>,
) -> Differences {
    let bytes_per_s = capacity.bytes_per_sec();
    let mut arrivals =
        Arrivals::new(Stream::new(29, capacity.0, "router"), bytes_per_s, LONGEST_GAP_NS);
    let (mut flows, mut found) = (Flows::new(longest_rtt), Differences::default());
    kernel.measure(bytes_per_s as u64, BASE_NS, 0, 0);
    let (mut arrived, mut handed) = (0, (0_i64, 0_i64, 0_i64));
    for _ in 0..PACKETS {
        let packet = arrivals.next();
        let now = Time::ZERO + Span(packet.now_ns * 1000);
        let backlog = Backlog { packets: 1, bytes: packet.waiting };
        if router.next_timer() <= now {
            router.on_timer(now, backlog);
        }
        let now_ns = BASE_NS + packet.now_ns;
        if kernel.measure(bytes_per_s as u64, now_ns, arrived, packet.waiting) {
            let meter = kernel.meter();
            for (is, name) in [
                (meter.d.value() / 1e6, "avg_rtt"),
                (meter.y.value() * 1e6, "input_traffic"),
                (meter.persistent_queue as f64, "persistent_queue"),
            ] {
                let apart = relative(is, variable(&router, name));
                found.measured = found.measured.max(apart);
            }
            let (ours, theirs, whole) = std::mem::take(&mut handed);
            found.handed = found.handed.max((ours - theirs).abs() as f64 / whole.max(1) as f64);
        }
        arrived += u64::from(packet.size);
        let mut wire = encode(flows.header(packet.flow));
        let header = simulated(&mut router, now, &packet, &wire);
        let (came, mut should) = (feedback_of(&wire), wire.clone());
        header.encode(&mut should);
        let bundle = Bundle { waiting: packet.waiting, size: packet.size, packets: 1 };
        kernel.forward(bundle, &mut wire);
        let (is, meant) = (feedback_of(&wire), feedback_of(&should));
        found.wrong += u32::from(!is_same(&wire, &should, came));
        if meant == came {
            found.kept += 1;
        } else {
            found.lowered += 1;
            handed.0 += is;
            handed.1 += meant;
            handed.2 += meant.abs();
        }
    }
    println!("{capacity:?}, {longest_rtt} s: {found:?}, {} intervals", kernel.meter().intervals);
    assert!(kernel.meter().intervals > 50);
    found
}

fn assert_none(found: &Differences) {
    assert_eq!(found.wrong, 0);
    assert!(found.measured < SUM_WITHIN && found.handed < SUM_WITHIN, "{found:?}");
    assert!(found.lowered > PACKETS / 3 && found.kept > PACKETS / 10, "{found:?}");
}

/// The kernel's.
fn params() -> XcpRouterParams {
    XcpRouterParams { max_rtt: Span::from_secs(10), ..Default::default() }
}

/// Links, and the longest RTT; RTTs above 10 s are longer than the router counts them.
const LINKS: [(Rate, f64); 3] =
    [(Rate(20_000_000), 1.0), (Rate(20_000_000), 12.0), (Rate(1_000_000_000), 0.05)];

#[test]
fn xcps_feedback_is_the_simulators() {
    for link in LINKS {
        let router = SimulatedXcp::new(&params(), &router_context(link.0));
        let encode = |(rtt, cwnd, feedback, _): (f64, u32, i64, u32)| {
            let mut wire = vec![0; 16];
            let header = XcpHeader { cwnd: f64::from(cwnd), rtt, feedback: 0.0 };
            header.encode(&mut wire);
            wire[8..].copy_from_slice(&feedback.to_be_bytes());
            wire
        };
        assert_none(&differ(router, XcpRouter::default(), link, encode));
    }
}

#[test]
fn ixcps_feedback_and_bottlenecks_are_the_simulators() {
    for link in LINKS {
        let mut context = router_context(link.0);
        context.link = LINK - 1;
        let params = IxcpRouterParams { xcp: params(), ..Default::default() };
        let router = SimulatedIxcp::new(&params, &context);
        let encode = |(rtt, cwnd, feedback, bottleneck): (f64, u32, i64, u32)| {
            let mut wire = vec![0; 24];
            let cwnd = f64::from(cwnd);
            IxcpHeader { cwnd, feedback: 0.0, rtt: rtt as f32, bottleneck, next_bottleneck: 0 }
                .encode(&mut wire);
            wire[8..16].copy_from_slice(&feedback.to_be_bytes());
            wire
        };
        assert_none(&differ(router, IxcpRouter::default(), link, encode));
    }
}

/// XCP's header of a flow of 5000 bytes and 100 ms that always has data.
const DEMAND: [u8; 16] =
    [0, 1, 0x86, 0xa0, 0, 0, 0x13, 0x88, 0x7f, 255, 255, 255, 255, 255, 255, 255];

/// Ten packets in the first 50 ms at 10 Mb/s, as in crates/cc/src/explicit/xcp/xcp/tests.rs.
fn underloaded() -> XcpRouter {
    let mut router = XcpRouter::default();
    router.measure(1_250_000, BASE_NS, 0, 0);
    for i in 0..10 {
        let waiting = if i == 4 { 2000 } else { 3000 };
        router.forward(Bundle { waiting, size: 1000, packets: 1 }, DEMAND);
    }
    assert!(router.measure(1_250_000, BASE_NS + 50_000_000, 10_000, 0));
    router
}

/// phi = 0.4*0.1*(1 250 000 - 200 000) - 0.226*2000 = 41 548 bytes; a packet of ten gets a tenth.
#[test]
fn a_large_packet_is_several_with_one_header() {
    let mut router = underloaded();
    let one = router.forward(Bundle { waiting: 0, size: 1000, packets: 1 }, DEMAND);
    assert!((feedback_of(&one) as f64 / 65_536.0 - 4154.8).abs() < 0.001);
    // Four in one: each gets as much, and they have cost four times as much, 41 548 of 415 480 B/s.
    let mut router = underloaded();
    let four = router.forward(Bundle { waiting: 0, size: 4000, packets: 4 }, DEMAND);
    assert!((feedback_of(&four) - feedback_of(&one)).abs() <= 1);
    let left = router.shares.residue_pos as f64 / 2_f64.powi(44) * 1e6;
    assert!((left - 0.6 * 415_480.0).abs() < 0.01, "{left}");
    // They are four in the mean RTT, too: 4000 B/50 ms and the sums of four.
    assert!((router.meter.sum_rtt_by_cwnd.value() - 80_000.0).abs() < 1e-6);
}

/// Nothing came for 10 s: the queue that was there is gone, and the interval was long.
#[test]
fn an_idle_router_forgets_its_queue() {
    let mut router = underloaded();
    assert_eq!(router.meter.persistent_queue, 2000);
    router.forward(Bundle { waiting: 90_000, size: 1000, packets: 1 }, DEMAND);
    assert!(router.measure(1_250_000, BASE_NS + 10_050_000_000, 11_000, 0));
    assert_eq!(router.meter.persistent_queue, 0);
    // 1000 B in 10 s.
    assert!((router.meter.y.value() * 1e6 - 100.0).abs() < 1e-6);
}

/// An offer to speak XCP (H_cwnd = 0) counts its routers in H_rtt; a packet without an RTT gets
/// nothing, and keeps a decrease.
#[test]
fn packets_that_state_nothing_cost_nothing() {
    let mut router = underloaded();
    let shares = router.shares;
    let bundle = Bundle { waiting: 0, size: 1000, packets: 1 };
    let mut offer = [0; 16];
    offer[3] = 7;
    offer[8..].copy_from_slice(&5_i64.to_be_bytes());
    let left = router.forward(bundle, offer);
    assert_eq!((left[3], feedback_of(&left)), (8, 5));
    let mut first = DEMAND;
    first[..4].fill(0);
    assert_eq!(feedback_of(&router.forward(bundle, first)), 0);
    first[8..].copy_from_slice(&(-5_i64).to_be_bytes());
    assert_eq!(feedback_of(&router.forward(bundle, first)), -5);
    assert_eq!(router.shares, shares);
    // A H_rtt that is no number is no header at all.
    let mut ixcp = IxcpRouter::default();
    let mut none = [0x7f; 24];
    none[..4].copy_from_slice(&f32::NAN.to_be_bytes());
    assert_eq!(ixcp.forward(LINK, bundle, none), none);
}

/// From any header, at any time, what is left and what is written stays within the numbers.
#[test]
fn a_million_random_headers_leave_the_routers_sane() {
    let mut stream = Stream::new(30, 0, "feedback");
    let (mut xcp, mut ixcp) = (XcpRouter::default(), IxcpRouter::default());
    let (mut now, mut arrived) = (BASE_NS, 0);
    for _ in 0..PACKETS {
        now += stream.bits() >> (34 + draw(&mut stream, 20));
        let capacity = stream.bits() >> draw(&mut stream, 64);
        let waiting = stream.bits() >> (32 + draw(&mut stream, 32));
        let (size, packets) = (stream.bits() as u32 >> 8, draw(&mut stream, 100) as u32);
        xcp.measure(capacity, now, arrived, waiting);
        ixcp.measure(capacity, now, arrived, waiting);
        arrived += u64::from(size);
        let mut header = [0; 24];
        for word in header.chunks_exact_mut(8) {
            word.copy_from_slice(&(stream.bits() >> draw(&mut stream, 64)).to_be_bytes());
        }
        header[16..20].copy_from_slice(&(draw(&mut stream, 16) as u32).to_be_bytes());
        let bundle = Bundle { waiting, size, packets };
        let left = xcp.forward(bundle, header[..16].try_into().expect("16 bytes"));
        assert!(feedback_of(&left) <= feedback_of(&header).max(0));
        let left = ixcp.forward(LINK, bundle, header);
        assert!(feedback_of(&left) <= feedback_of(&header).max(0));
        for shares in [xcp.shares, ixcp.spare, ixcp.shuffle] {
            let residues = [shares.residue_pos, shares.residue_neg];
            assert!(residues.iter().all(|left| (-(1 << 62)..=1 << 61).contains(left)));
        }
        for real in [xcp.meter.d, xcp.meter.y, ixcp.meter.d, ixcp.shuffle.xi_p] {
            assert!(real.m == 0 || real.m >> 63 == 1, "{real:?}");
        }
    }
}
