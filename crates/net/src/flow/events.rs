//! The events of packets as the ends' protocols hear of them.
//!
//! A protocol reads little of what the roles say about an event, and each something else. So the
//! registry is handed what the event is made of, and makes it where the one protocol reads it:
//! what that leaves out is never worked out.

use cc::registry::AnyHeader;
use cc::roles::{Ack, Arrived, Departing, Ecn, Feedback};
use transport::{AckOutcome, Inbound, Outbound, Segment};
use units::{Span, Time};

use crate::packet::{NONE, Pool};

/// A segment that leaves its source.
pub struct Leaving<'a> {
    pub now: Time,
    pub size: u32,
    pub segment: Segment,
    pub outbound: &'a Outbound,
}

impl From<Leaving<'_>> for Departing {
    #[inline(always)]
    fn from(Leaving { now, size, segment, outbound }: Leaving<'_>) -> Departing {
        Departing {
            now,
            size,
            srtt: outbound.srtt(),
            seq: segment.seq,
            in_flight: outbound.in_flight().saturating_sub(1),
            backlogged: outbound.backlogged(),
            retransmission: segment.retransmission,
        }
    }
}

/// A data packet that its sink has taken.
pub struct Taken<'a> {
    pub now: Time,
    pub id: u32,
    /// A packet before it that is not acknowledged yet, or [`NONE`].
    pub waiting: u32,
    pub pool: &'a Pool,
    pub inbound: &'a Inbound,
}

impl From<Taken<'_>> for Arrived<AnyHeader> {
    #[inline(always)]
    fn from(Taken { now, id, waiting, pool, inbound }: Taken<'_>) -> Arrived<AnyHeader> {
        let packet = &pool[id];
        let feedback = |id: u32| Feedback { header: pool[id].header, code: pool[id].ecn };
        Arrived {
            now,
            seq: packet.seq,
            expected: inbound.cumulative(),
            size: packet.size,
            header: packet.header,
            ecn: packet.ecn,
            pending: (waiting != NONE).then(|| feedback(waiting)),
        }
    }
}

/// What an ACK brings back of its data packet.
#[derive(Clone, Copy, Debug)]
pub struct Echoed {
    pub rtt: Option<Span>,
    pub header: AnyHeader,
    pub code: Ecn,
    pub ece: bool,
    /// Packets that AccECN's counters say were marked; `None` without it.
    pub marks: Option<u32>,
}

/// An ACK that brings news, at its source.
pub struct Heard<'a> {
    pub now: Time,
    pub ack: Echoed,
    pub seen: &'a AckOutcome,
    pub outbound: &'a Outbound,
}

impl From<Heard<'_>> for Ack<AnyHeader> {
    #[inline(always)]
    fn from(Heard { now, ack, seen, outbound }: Heard<'_>) -> Ack<AnyHeader> {
        Ack {
            now,
            delivered: seen.delivered,
            acked: seen.acked,
            lost: seen.lost,
            rtt: ack.rtt,
            srtt: outbound.srtt(),
            min_rtt: outbound.min_rtt(),
            in_flight: outbound.in_flight(),
            recovering: seen.recovering,
            header: ack.header,
            code: ack.code,
            ece: ack.ece,
            marks: match ack.marks {
                Some(marks) => marks,
                None if ack.code == Ecn::Ce => seen.delivered,
                None => 0,
            },
        }
    }
}
