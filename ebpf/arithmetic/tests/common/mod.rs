//! What the tests share.
#![allow(dead_code)]

use cc::foreign::Nobody;
use cc::roles::{Ack, Ecn, Limit, RouterContext, SenderContext};
use units::random::Stream;
use units::{Rate, Span, Time};

/// The codes by their numbers.
pub const CODES: [Ecn; 4] = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// From packets to 2^-32 packets.
pub fn q32(packets: f64) -> u64 {
    (packets * 4_294_967_296.0) as u64
}

/// And back.
pub fn packets(q32: u64) -> f64 {
    q32 as f64 / 4_294_967_296.0
}

/// How far a movement may be off.
pub struct Bound {
    /// [2^-32 packets]
    pub units: f64,
    /// Of the movement.
    pub share: f64,
}

impl Bound {
    /// `meant` in packets, `done` in 2^-32 packets, of a window of `cwnd` packets.
    pub fn holds(&self, meant: f64, done: i64, cwnd: f64) {
        let meant = meant * 4_294_967_296.0;
        let error = (meant - done as f64).abs();
        // A cut's factor is rounded to 2^-33; a cut and its correction are two.
        let allowed = self.units + self.share * meant.abs() + 2.0 * cwnd;
        assert!(error <= allowed, "{meant} {done}: {error}");
    }
}

/// A number below `end`.
pub fn draw(stream: &mut Stream, end: u64) -> u64 {
    stream.bits() % end
}

/// A sender's.
pub fn context(initial_window: f64) -> SenderContext {
    let stream = Stream::new(1, 0, "test");
    let (packet_bytes, counting) = (1000, 0);
    SenderContext { packet_bytes, initial_window, counting, routers: 1, stream, host: &Nobody }
}

/// An ACK of one packet.
pub fn ack<H>(now_us: u64, srtt_us: Option<u32>, code: Ecn, header: H) -> Ack<H> {
    let srtt = srtt_us.map(|us| Span::from_micros(u64::from(us)));
    Ack {
        now: Time::ZERO + Span::from_micros(now_us),
        delivered: 1,
        acked: 1,
        lost: 0,
        rtt: srtt,
        srtt,
        min_rtt: srtt,
        in_flight: 1,
        recovering: false,
        header,
        code,
        ece: false,
        marks: 0,
    }
}

/// How many there are at a router.
pub const FLOWS: u64 = 200;

/// Arrivals at a router, with an offered load that changes every few periods from next to nothing
/// to three times the capacity.
pub struct Arrivals {
    pub stream: Stream,
    now_ns: u64,
    capacity: f64,
    load: f64,
    left: u64,
    longest_gap_ns: u64,
}

/// One of them.
pub struct Arrival {
    pub now_ns: u64,
    /// [bytes]
    pub size: u32,
    /// The queue that it meets [bytes].
    pub waiting: u64,
    pub flow: u32,
    /// Its code.
    pub theirs: u32,
    /// DPCP's.
    pub numbers: (u32, u32),
}

impl Arrivals {
    pub fn new(stream: Stream, capacity: f64, longest_gap_ns: u64) -> Arrivals {
        Arrivals { stream, now_ns: 0, capacity, load: 1.0, left: 1000, longest_gap_ns }
    }

    pub fn next(&mut self) -> Arrival {
        let stream = &mut self.stream;
        if self.left == 0 {
            self.left = 200 + draw(stream, 5000);
            self.load = draw(stream, 3000) as f64 / 1000.0 + 0.001;
        }
        self.left -= 1;
        let size = 40 + draw(stream, 1461) as u32;
        let mean = f64::from(size) / self.capacity / self.load * 1e9;
        let gap = (mean * draw(stream, 2000) as f64 / 1000.0) as u64;
        self.now_ns += gap.clamp(1, self.longest_gap_ns);
        Arrival {
            now_ns: self.now_ns,
            size,
            waiting: draw(stream, 300_000),
            flow: draw(stream, FLOWS) as u32,
            theirs: draw(stream, 4) as u32,
            // Small numbers, so that there are ties.
            numbers: (draw(stream, 50) as u32, draw(stream, 50) as u32),
        }
    }
}

/// A router's.
pub fn router_context(capacity: Rate) -> RouterContext {
    RouterContext {
        link: 0,
        capacity,
        limit: Limit::Packets(100),
        packet_bytes: 1500,
        stream: Stream::new(1, 0, "test"),
        host: &Nobody,
    }
}
