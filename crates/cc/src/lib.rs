//! Congestion control: pure protocol logic, one protocol one file.
//!
//! A protocol file holds these parts in this order: parameters, the law where it is more than a few
//! lines, what travels in the packet, the router's part, the end host's part; then tests with
//! numbers worked by hand from the paper. The [`roles`] say what a protocol is asked and told;
//! [`registry`] is the one table that names them.
//!
//! The crate has no clock, no I/O and no randomness of its own: `now` is an argument and random
//! streams are handed over at construction. `no_std`, `forbid(unsafe)` and a dependency on
//! [`units`] alone make that a fact of the compiler; `tests/it/purity.rs` checks what the compiler
//! cannot. Nothing is allocated but the state of a large sender, when its flow starts ([`boxed`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[macro_use]
pub mod params;

pub mod aqm;
pub mod boxed;
pub mod classes;
pub mod explicit;
pub mod foreign;
pub mod rate;
pub mod registry;
pub mod roles;
pub mod tcp;

#[cfg(test)]
mod tests {
    //! What protocol files' tests feed to senders and routers: an ordinary event, to be changed by
    //! `..`.

    use units::random::Stream;
    use units::{Rate, Span, Time};

    use crate::classes::Place;
    use crate::foreign::Nobody;
    use crate::params::{Params, Value};
    use crate::roles::{
        Ack, Backlog, Departing, Ecn, Header, Limit, Loss, LossKind, PacketKind, Passing,
        RouterContext, Sender, SenderContext,
    };
    use crate::tcp::window::{Avoidance, Window};

    /// The instant so many milliseconds after the start.
    pub fn ms(t: u64) -> Time {
        Time::ZERO + Span::from_millis(t)
    }

    /// Equal to nine digits.
    pub fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    /// Packets of 1000 B.
    pub fn sender_context(initial_window: f64) -> SenderContext {
        let stream = Stream::new(1, 0, "test");
        let (packet_bytes, counting) = (1000, 0);
        SenderContext { packet_bytes, initial_window, counting, routers: 1, stream, host: &Nobody }
    }

    /// An ACK of `acked` packets of a full window, with no RTT.
    pub fn ack<H: Header>(acked: u32) -> Ack<H> {
        Ack {
            now: Time::ZERO,
            delivered: acked,
            acked,
            lost: 0,
            rtt: None,
            srtt: None,
            min_rtt: None,
            in_flight: 1_000_000,
            recovering: false,
            header: H::default(),
            code: Ecn::NotCapable,
            ece: false,
            marks: 0,
        }
    }

    /// The same with an RTT that never was another.
    pub fn ack_after<H: Header>(now: Time, rtt: Span) -> Ack<H> {
        Ack { now, rtt: Some(rtt), srtt: Some(rtt), min_rtt: Some(rtt), ..ack(1) }
    }

    /// An ACK of one packet at `now` with this RTT and the smallest so far, all in ms.
    pub fn timed<H: Header>(now: u64, rtt: u64, min_rtt: u64) -> Ack<H> {
        let [rtt, min_rtt] = [rtt, min_rtt].map(|t| Some(Span::from_millis(t)));
        Ack { now: ms(now), rtt, srtt: rtt, min_rtt, ..ack(1) }
    }

    /// A sender whose window and ssthresh are `cwnd`, with some parameters set.
    pub fn avoiding<A: Avoidance>(cwnd: f64, set: &[(&str, Value)]) -> Window<A> {
        let mut params = A::Params::default();
        for &(name, value) in set {
            assert_eq!(params.set(name, value), Ok(()), "{name}");
        }
        let mut window = Window::<A>::new(&params, &sender_context(cwnd));
        window.frame.ssthresh = cwnd;
        window
    }

    /// `packets` ACKs like this one, each of a packet that is sent again at once: a round trip when
    /// so many are out.
    pub fn round_trip<A: Avoidance>(window: &mut Window<A>, packets: u32, like: &Ack<()>) {
        for _ in 0..packets {
            window.frame.nxt = window.frame.una + u64::from(packets);
            window.on_ack(like);
        }
    }

    /// A loss of one packet.
    pub fn loss(kind: LossKind, in_flight: u32) -> Loss {
        Loss { now: Time::ZERO, kind, in_flight, lost: 1, repeated: false }
    }

    /// A loss that duplicate ACKs tell of at `now` [ms], with so many packets out.
    pub fn lost(now: u64, in_flight: u32) -> Loss {
        Loss { now: ms(now), ..loss(LossKind::DupAcks, in_flight) }
    }

    /// The first packet of a flow that has more.
    pub fn departing() -> Departing {
        Departing {
            now: Time::ZERO,
            size: 1000,
            srtt: None,
            seq: 0,
            in_flight: 0,
            backlogged: true,
            retransmission: false,
        }
    }

    /// A router with a buffer of so many packets of 1000 B.
    pub fn router_context(capacity: Rate, packets: u32) -> RouterContext {
        let (limit, stream) = (Limit::Packets(packets), Stream::new(1, 0, "test"));
        RouterContext { link: 0, capacity, limit, packet_bytes: 1000, stream, host: &Nobody }
    }

    /// The place of a packet of group 0 in an empty queue.
    pub fn in_place<C: Default, T>(f: impl FnOnce(&mut Place<'_, C>) -> T) -> T {
        let (mut label, mut cell) = (0.0, C::default());
        f(&mut Place {
            backlog: Backlog::default(),
            class: 0,
            queue: Backlog::default(),
            group: 0,
            label: &mut label,
            cell: &mut cell,
            drawn: None,
            idle: false,
            fits: true,
            again: false,
        })
    }

    /// A data packet of 1000 B without a header.
    pub fn passing<H>(ecn: &mut Ecn) -> Passing<'_, H> {
        let (kind, queued_for) = (PacketKind::Data, Span::ZERO);
        Passing { flow: 0, size: 1000, kind, queued_for, ecn, header: None }
    }
}
