//! What the tests share.
#![allow(dead_code)]

use cc::foreign::Nobody;
use cc::roles::{Ack, Ecn, SenderContext};
use units::random::Stream;
use units::{Span, Time};

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
    SenderContext { packet_bytes: 1000, initial_window, stream, host: &Nobody, routers: 1 }
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
