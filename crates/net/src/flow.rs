//! A flow: its two end hosts and the access hops between them and the network.
//!
//! Only the flow uses its access hops and they cannot drop, so they need no events of their own: a
//! packet's way through one is arithmetic ([`Hop::cross`]).
//!
//! With many flows every packet finds its flow's state cold. So what source and sink touch for a
//! packet lies together, in the order of first use, and what is seldom needed lies elsewhere.

pub mod app;
pub mod arrivals;
pub mod events;
pub mod relays;
pub mod reports;

use cc::registry::{AnyReceiver, AnySender};
use cc::roles::{CeAcks, Ecn, EcnUse, Loss};
use transport::accecn::{self, Told};
use transport::{AckOutcome, Bursts, Inbound, LossEvent, Outbound};
use units::{Span, Time};

use crate::flow::events::{Echoed, Heard};
use crate::packet::{Inlet, Pipe, Pool};

/// One access hop.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    free: Time,
}

impl Hop {
    /// A free line.
    pub const FREE: Hop = Hop { free: Time::ZERO };

    /// When the last packet so far has left it.
    pub fn free(&self) -> Time {
        self.free
    }

    /// When a packet that reaches the hop at `now` is through.
    #[inline]
    pub fn cross(&mut self, now: Time, serialization: Span, owd: Span) -> Time {
        self.free = now.max(self.free) + serialization;
        self.free + owd
    }
}

/// The way of a group's packets through the named links.
#[derive(Clone, Debug)]
pub struct Path {
    /// Named links the data crosses.
    pub forward: Vec<u32>,
    /// Named links the ACKs cross.
    pub reverse: Vec<u32>,
}

/// What every packet needs of its way.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The first named link.
    pub first: u32,
    /// Named links.
    pub links: u16,
}

impl Way {
    /// Over these links, of which there must be one.
    pub fn over(links: &[usize]) -> Way {
        Way { first: links[0] as u32, links: links.len() as u16 }
    }
}

/// The access hops' properties, shared by the flows that have the same.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub rate: units::Rate,
    pub source_owd: Span,
    pub sink_owd: Span,
    /// Serialization time of a full data packet.
    pub data_time: Span,
    /// Serialization time of an ACK.
    pub ack_time: Span,
}

/// The sending end of a flow.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Source {
    /// To the first named link.
    pub up: Pipe,
    /// From the last named link back.
    pub ack_down: Inlet,
    pub group: u32,
    pub access: u32,
    /// Of its data.
    pub way: Way,
    pub up_hop: Hop,
    pub down_hop: Hop,
    /// Earliest pending event of the timers.
    pub armed: Time,
    /// Earliest pending event of the pacer.
    pub pace_armed: Time,
    /// When the flow starts; then when its application offers more or stops; then never.
    pub boundary: Time,
    pub outbound: Outbound,
    /// Number of the last segment of a finite transfer.
    pub last_seq: u64,
    /// The pacer lets no packet out before.
    pub pace_free: Time,
    pub sent: u64,
    pub acks_arrived: u64,
    pub ecn: EcnUse,
    /// The ECN bits of new data.
    pub code: Ecn,
    /// Does nobody watch the source? Then the arrival of an ACK up to
    /// [`crate::world::World::source_reach`] needs no event.
    pub prompt: bool,
    /// It would be prompt, but `ack_down` holds packets from before a pause or sample, which have
    /// events.
    pub held: bool,
    pub started: bool,
    pub finished: bool,
    pub sender: AnySender,
    /// AccECN's counters, where it is used.
    pub accecn: Option<Box<accecn::Heard>>,
    /// Does it hear of ACKs without news, too ([`CeAcks::Ns3`])?
    pub counts_all: bool,
    /// The protocol's state before a loss that may turn out to be none.
    pub before: Option<Box<AnySender>>,
    /// The pacer's bursts, where it lets packets out together.
    pub bursts: Option<Box<Bursts>>,
}

/// The receiving end of a flow.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sink {
    /// To the first named link back.
    pub ack_up: Pipe,
    /// From the last named link.
    pub down: Inlet,
    pub group: u32,
    pub access: u32,
    /// Of its ACKs.
    pub way: Way,
    pub down_hop: Hop,
    pub up_hop: Hop,
    /// The packet whose arrival a delayed ACK will answer, or [`crate::packet::NONE`].
    pub unanswered: u32,
    pub ecn: EcnUse,
    /// Does the sink acknowledge at once? Then an arrival up to [`crate::world::World::sink_reach`]
    /// needs no event.
    pub prompt: bool,
    /// It would be prompt, but `down` holds packets from before a pause or sample, which have
    /// events.
    pub held: bool,
    pub receiver: AnyReceiver,
    pub inbound: Inbound,
    pub arrived: u64,
    pub delivered_bytes: u64,
    /// Of those, after the warm-up.
    pub fresh_bytes: u64,
    pub acks_sent: u64,
    /// Earliest pending event of the delayed ACK.
    pub armed: Time,
    /// Does the receiver choose what to acknowledge ([`crate::flow::reports`])?
    pub reports: bool,
    /// AccECN's counters, where it is used; `ecn` is [`EcnUse::None`] then.
    pub accecn: Option<Box<Told>>,
    /// Its sender's [`cc::roles::Sender::ce_acks`].
    pub ce_acks: CeAcks,
    /// Was the last packet marked? With `ce_acks`.
    pub ce: bool,
}

impl Sink {
    /// As [`Source::end_hold`], for data.
    #[inline]
    pub fn end_hold(&mut self, next: Option<Time>) {
        if self.held && next.is_none() {
            (self.held, self.prompt) = (false, true);
        }
    }
}

/// What is seldom needed of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Annals {
    pub start: Time,
    /// The source offers nothing new from then on.
    pub stop: Time,
    pub finish: Option<Time>,
    pub dropped: u64,
    pub acks_dropped: u64,
    /// By lines.
    pub lost: u64,
    pub acks_lost: u64,
    /// Size of the last packet of a finite transfer [bytes].
    pub last_bytes: u32,
    /// The row of an arriving flow's transfer, or [`crate::packet::NONE`].
    pub row: u32,
    /// An arriving flow, or one whose ACKs are reports: the last instant at which something of it
    /// came to its end.
    pub quiet: Time,
    /// Where ACKs are reports: the last instant at which a data packet did, or when the flow was
    /// stopped with more to send; else zero.
    pub last_data: Time,
    /// Are its ACKs reports ([`transport::Config::reports`])?
    pub reports: bool,
}

impl Source {
    /// An ACK was taken from the line, behind which the next is due then: a hold ends with the
    /// last.
    #[inline]
    pub fn end_hold(&mut self, next: Option<Time>) {
        if self.held && next.is_none() {
            (self.held, self.prompt) = (false, true);
        }
    }

    /// From one packet to the next, by its pace or by its window over the smoothed RTT; before a
    /// sample of that the longest.
    pub fn own_gap(&self, data_bytes: u32) -> Span {
        let window = self.sender.window();
        match (self.sender.pacing(), self.outbound.srtt()) {
            (Some(pace), _) => pace.serialization(data_bytes),
            (None, Some(srtt)) => Span(srtt.0 / window),
            (None, None) => Span(u64::MAX),
        }
    }

    /// When the timers want to be looked at.
    #[inline]
    pub fn deadline(&self) -> Time {
        if self.finished {
            return Time::NEVER;
        }
        self.outbound.deadline().min(self.sender.next_timer()).min(self.boundary)
    }

    /// The flow starts, its application offers more, or it stops. `next` is when the application
    /// offers more again, `stop` when it stops. Did it stop before all was sent?
    pub fn on_boundary(&mut self, now: Time, next: Time, stop: Time) -> bool {
        self.started = true;
        self.boundary = next.min(stop);
        self.look_for_idle(now);
        if stop > now {
            return false;
        }
        self.boundary = Time::NEVER;
        self.outbound.stop()
    }

    /// The application, or a proxy, has data again: tells the protocol if that was long in coming.
    pub fn look_for_idle(&mut self, now: Time) {
        if let Some(idle) = self.outbound.idle(now, self.up_hop.free()) {
            self.sender.on_idle(&idle);
        }
    }

    /// Takes over from the flow that had this slot: its memory, and its pending event.
    pub fn take_over(&mut self, old: Source) {
        self.armed = old.armed;
        self.outbound.take_memory(old.outbound);
    }

    /// Does the pacer hold the next packet back?
    #[inline]
    pub fn is_paced_out(&self, now: Time) -> bool {
        self.sender.pacing().is_some() && self.pace_free > now && !self.in_burst(now)
    }

    fn in_burst(&self, now: Time) -> bool {
        self.bursts.as_ref().is_some_and(|bursts| bursts.goes_on(now))
    }

    /// A packet leaves that takes so long at the pacing rate.
    #[inline]
    pub fn pace(&mut self, now: Time, takes: Span) {
        self.pace_free = match &mut self.bursts {
            None => now + takes,
            Some(bursts) => bursts.on_send(now, self.pace_free, takes),
        };
    }

    /// Handles the timers that are due, the boundary's aside.
    pub fn on_timers(&mut self, now: Time) {
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
        }
        if self.outbound.deadline() <= now
            && let Some(loss) = self.outbound.on_timer(now)
        {
            self.report_loss(now, &loss);
        }
    }

    /// Tells the protocol of a loss.
    pub fn report_loss(&mut self, now: Time, event: &LossEvent) {
        let &LossEvent { kind, mut in_flight, lost, repeated } = event;
        if self.outbound.reduces_window() {
            in_flight = u32::try_from(self.sender.window()).unwrap_or(u32::MAX);
        }
        if self.outbound.take_undo_point() {
            self.before = Some(Box::new(self.sender.clone()));
        }
        self.sender.on_loss(&Loss { now, kind, in_flight, lost, repeated });
    }

    /// Tells the protocol that what it had heard of as a loss was none, if the last ACK said so.
    pub fn report_undo(&mut self) {
        if self.outbound.take_undone()
            && let Some(before) = self.before.take()
        {
            self.sender.on_undo(&before);
        }
    }

    /// Takes AccECN's counters out of an ACK: how many packets it says were marked. A protocol of
    /// RFC 3168 hears of a mark as of an echo.
    pub fn count_marks(&mut self, field: accecn::Field, seen: &mut AckOutcome) -> u32 {
        let Some(heard) = &mut self.accecn else { return 0 };
        let marks = heard.on_ack(field, seen.delivered);
        if marks > 0 && self.ecn == EcnUse::Classic && seen.loss.is_none() {
            seen.loss = self.outbound.echo(seen.delivered);
        }
        marks
    }

    /// What may be in flight, or is if that is more [packets].
    pub fn allowed(&self) -> f64 {
        let allowed = self.outbound.allowed(self.sender.window());
        let window = allowed.map_or_else(|| self.sender.cwnd(), |allowed| allowed as f64);
        window.max(f64::from(self.outbound.in_flight()))
    }

    /// Tells the protocol of delivered data: `rtt`, header and code of the ACK, and what the
    /// transport makes of it.
    #[inline(always)] // for the hot path, which is not the only caller
    pub fn report_ack(&mut self, now: Time, ack: Echoed, seen: &AckOutcome) {
        self.sender.on_ack(Heard { now, ack, seen, outbound: &self.outbound });
    }
}

impl Sink {
    /// Stores what of the next ACK is in the pool's side tables.
    #[cold]
    #[inline(never)]
    pub fn insert_side(&mut self, pool: &mut Pool) -> u32 {
        let sack = pool.insert_sack(self.inbound.sack_blocks());
        if let Some(told) = &mut self.accecn {
            pool.insert_field(sack, told.ack());
        }
        sack
    }

    /// Takes over from the flow that had this slot: its memory, and its pending event.
    pub fn take_over(&mut self, old: Sink) {
        self.armed = old.armed;
        self.inbound.take_memory(old.inbound);
    }
}
