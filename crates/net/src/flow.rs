//! A flow: its two end hosts and the access hops between them and the network.
//!
//! Only the flow uses its access hops and they cannot drop, so they need no events of their own: a
//! packet's way through one is arithmetic ([`Hop::cross`]).

use cc::registry::{AnyReceiver, AnySender};
use cc::roles::{Ack, EcnUse, Loss};
use transport::{Inbound, LossEvent, Outbound};
use units::{Rate, Span, Time};

use crate::packet::Pipe;

/// One access hop.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    free: Time,
}

impl Hop {
    /// A free line.
    pub const FREE: Hop = Hop { free: Time::ZERO };

    /// When a packet that reaches the hop at `now` is through.
    #[inline]
    pub fn cross(&mut self, now: Time, serialization: Span, owd: Span) -> Time {
        self.free = now.max(self.free) + serialization;
        self.free + owd
    }
}

/// What the flows of a group share.
#[derive(Clone, Debug)]
pub struct Path {
    /// Named links the data crosses.
    pub forward: Vec<u32>,
    /// Named links the ACKs cross.
    pub reverse: Vec<u32>,
}

/// The access hops' properties, with the times of the two usual sizes worked out.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub rate: Rate,
    pub source_owd: Span,
    pub sink_owd: Span,
    pub data_time: Span,
    pub ack_time: Span,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub group: u32,
    /// Does the sink acknowledge at once, and nobody sample what it gets? Then it needs no event.
    pub prompt_sink: bool,
    /// Does nobody sample the source? Then an ACK's arrival needs no event.
    pub prompt_source: bool,
    pub ecn: EcnUse,
    /// Size of a full data packet [bytes].
    pub packet_bytes: u32,
    /// Size of the last one of a finite transfer [bytes].
    pub last_bytes: u32,
    /// Number of the last segment of a finite transfer.
    pub last_seq: u64,
    pub outbound: Outbound,
    pub sender: AnySender,
    /// Earliest pending event of the flow's timers.
    pub armed: Time,
    /// Earliest pending event of the pacer.
    pub pace_armed: Time,
    /// The pacer lets no packet out before.
    pub pace_free: Time,
    pub access: Access,
    pub source_up: Hop,
    pub sink_down: Hop,
    pub sink_up: Hop,
    pub source_down: Hop,
    /// From the source to the first named link.
    pub up: Pipe,
    /// From the last named link to the sink.
    pub down: Pipe,
    /// From the sink to the first named link back.
    pub ack_up: Pipe,
    /// From the last named link back to the source.
    pub ack_down: Pipe,
    pub inbound: Inbound,
    pub receiver: AnyReceiver,
    /// Earliest pending event of the receiver's timer.
    pub receiver_armed: Time,
    /// The packet whose arrival a delayed ACK will answer, or [`crate::packet::NONE`].
    pub unanswered: u32,
    pub life: Life,
    pub counts: Counts,
}

/// When a flow begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub start: Time,
    /// The source offers nothing new from then on.
    pub stop: Time,
    pub finish: Option<Time>,
    pub started: bool,
    pub stopped: bool,
}

/// What a flow did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub sent: u64,
    pub retransmitted: u64,
    pub arrived: u64,
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Of those, after the warm-up.
    pub fresh_bytes: u64,
    pub dropped: u64,
    pub acks_sent: u64,
    pub acks_arrived: u64,
    pub acks_dropped: u64,
}

impl Flow {
    /// Size on the wire of a segment.
    #[inline]
    pub fn size(&self, seq: u64) -> u32 {
        if seq == self.last_seq { self.last_bytes } else { self.packet_bytes }
    }

    /// When the flow's timers want to be looked at.
    #[inline]
    pub fn deadline(&self) -> Time {
        if !self.life.started {
            return self.life.start;
        }
        if self.life.finish.is_some() {
            return Time::NEVER;
        }
        let stop = if self.life.stopped { Time::NEVER } else { self.life.stop };
        self.outbound.deadline().min(self.sender.next_timer()).min(stop)
    }

    /// Handles the timers that are due.
    pub fn on_timers(&mut self, now: Time) {
        let life = &mut self.life;
        life.started |= life.start <= now;
        if !life.stopped && life.stop <= now {
            life.stopped = true;
            self.outbound.stop();
            if self.outbound.finished() {
                life.finish = Some(now);
            }
        }
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
        }
        if self.outbound.deadline() <= now {
            let loss = self.outbound.on_timeout(now);
            self.report_loss(now, &loss);
        }
    }

    /// Tells the protocol of a loss.
    pub fn report_loss(&mut self, now: Time, event: &LossEvent) {
        let &LossEvent { kind, in_flight, lost, repeated } = event;
        self.sender.on_loss(&Loss { now, kind, in_flight, lost, repeated });
    }

    /// An ACK for the protocol, with what the transport knows.
    #[inline]
    pub fn ack<H>(&self, now: Time, rtt: Option<Span>, header: H, seen: Seen) -> Ack<H> {
        Ack {
            now,
            delivered: seen.delivered,
            acked: seen.acked,
            rtt,
            srtt: self.outbound.srtt(),
            min_rtt: self.outbound.min_rtt(),
            in_flight: self.outbound.in_flight(),
            recovering: seen.recovering,
            header,
            code: seen.code,
        }
    }
}

/// What an ACK told.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub delivered: u32,
    pub acked: u32,
    pub recovering: bool,
    pub code: cc::roles::Ecn,
}
