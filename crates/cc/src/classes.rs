//! Links with more than one first-in first-out queue, or with a queue that packets leave otherwise
//! than by being served: what such a link does by itself ([`Plan`]), what its policy decides
//! ([`Scheduler`]), and what it is shown besides the packet ([`Place`]).
//!
//! A packet's way: the policy names the flow's cell, puts the packet into a class
//! ([`Scheduler::classify`]) and lets it in or not ([`Scheduler::admit`]); the link makes room.
//! When the line is free, the link chooses a queue, and the policy lets its head go out or drops it
//! ([`Scheduler::on_head`]).

use core::fmt::Debug;

use units::{Span, Time};

use crate::roles::{Backlog, Limit, PacketKind, Passing, Router, Verdict};

/// In which order the packets of a link are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// One first-in first-out queue.
    Fifo,
    /// Two, the one of ACKs served first; they share one limit.
    AcksFirst,
    /// As the policy has it, a [`Scheduler`].
    Classes(Plan),
}

/// What a link with classes does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which class is served next.
    pub order: Order,
    /// What a class may send in its turn, times its weight [bytes]; 0: a full packet.
    pub quantum: u32,
    /// What makes room where a limit would be exceeded.
    pub overflow: Overflow,
    /// What one class may hold besides the link's limit over all; not with [`Overflow::Longest`].
    pub per_class: Option<Limit>,
}

impl Plan {
    /// One first-in first-out queue with the link's limit, from which the router may drop.
    pub const FIFO: Plan =
        Plan { order: Order::Fifo, quantum: 0, overflow: Overflow::Arrival, per_class: None };
}

/// In which order classes are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order of arrival, whatever the class: classes are counted apart and share one queue.
    Fifo,
    /// The lowest number first.
    Priority,
    /// Deficit round robin. Shreedhar, Varghese, SIGCOMM 1995, section 3.
    RoundRobin,
    /// Start-time fair queueing, the least start tag first. Goyal, Vin, Cheng, SIGCOMM 1996.
    StartTags,
    /// Deficit round robin over new, then old queues. RFC 8290 section 4.2.
    NewFirst,
    /// Weighted round robin of the classes 0 and 1 by one credit: class 1 goes first while the
    /// credit is not above 0. While both wait a packet of class 1 adds its bytes times the first
    /// weight, one of class 0 takes its bytes times the second. It begins, whenever the line rests,
    /// at a quantum times the difference of the weights. Linux's sch_dualpi2.
    Credit(u32, u32),
    /// The older of the heads of classes 0 and 1, where that of class 1 counts as so much older.
    /// RFC 9332's time-shifted FIFO.
    TimeShifted(Span),
}

/// What makes room for a packet that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Nothing: it is dropped.
    Arrival,
    /// Its queue loses packets from the front.
    Front,
    /// The queue with the most bytes, which may be its own, loses its last packet.
    Longest,
    /// The queue with the most bytes loses half its packets from the front, up to so many at once.
    LongestFront(u32),
}

/// Where a packet is, as the policy of a link with classes sees it.
#[derive(Debug)]
pub struct Place<'a, C> {
    /// What waits at the link, without the packet.
    pub backlog: Backlog,
    /// The packet's class; 0 before it has one.
    pub class: u32,
    /// What waits of its class, without the packet.
    pub queue: Backlog,
    /// The number of its flow's group, in the order of the scenario.
    pub group: u32,
    /// What routers wrote on the packet: 0 until one did. Its meaning is the routers' affair.
    pub label: &'a mut f32,
    /// What the policy keeps in the cell that [`Scheduler::cell`] names.
    pub cell: &'a mut C,
    /// The flow of the packet drawn ([`Scheduler::draw`]).
    pub drawn: Option<u32>,
    /// Is the line free?
    pub idle: bool,
    /// On arrival: does it fit into the link's limit? At the head: true.
    pub fits: bool,
    /// At the head: was the packet before it dropped a moment ago, for the same service?
    pub again: bool,
}

/// A policy that chooses among the packets that wait: by classes, at the head, or by drawing one.
pub trait Scheduler: Router {
    /// What it keeps for each flow or class. The link holds it, as routers have no memory that
    /// grows.
    type Cell: Copy + Default + Debug;

    /// What its link does by itself.
    fn plan(_params: &Self::Params) -> Plan {
        Plan::FIFO
    }
    /// Which cell ([`Place::cell`]) belongs to a flow.
    fn cell(&self, _flow: u32) -> u32 {
        0
    }
    /// Which waiting packet to draw for an arrival ([`Place::drawn`]), as its place in the order of
    /// arrival. Comes first.
    fn draw(&mut self, _now: Time, _backlog: Backlog) -> Option<u32> {
        None
    }
    /// The class of an arriving packet. Tables grow to the largest number.
    fn classify(
        &mut self,
        _now: Time,
        _packet: Passing<'_, Self::Header>,
        _place: &mut Place<'_, Self::Cell>,
    ) -> u32 {
        0
    }
    /// As [`Router::on_arrival`], with the packet's place.
    fn admit(
        &mut self,
        now: Time,
        packet: Passing<'_, Self::Header>,
        place: &mut Place<'_, Self::Cell>,
    ) -> Verdict {
        self.on_arrival(now, packet, place.backlog)
    }
    /// A class's weight, asked at each service and turn, so that it may change. Above 0.
    fn weight(&self, _class: u32) -> f64 {
        1.0
    }
    /// When the first packets of the classes 0 and 1 came. Comes before each [`Router::on_timer`].
    fn on_heads(&mut self, _since: [Option<Time>; 2]) {}
    /// A packet is the next to be served, out of its queue already. Dropped, it makes room for the
    /// next of its queue; let go, it comes to [`Router::on_departure`].
    fn on_head(
        &mut self,
        _now: Time,
        _packet: Passing<'_, Self::Header>,
        _place: &mut Place<'_, Self::Cell>,
    ) -> Verdict {
        Verdict::Forward
    }
}

choice! {
    /// What makes a class.
    pub enum By {
        /// A class for each flow, by its number.
        Flow = "flow",
        /// A class for each group of flows, in the order of the scenario.
        Group = "group",
        /// ACKs are class 0, data is class 1.
        Acks = "acks",
    }
}

impl By {
    /// The class of a packet.
    #[inline]
    pub fn class(self, flow: u32, kind: PacketKind, group: u32) -> u32 {
        match self {
            By::Flow => flow,
            By::Group => group,
            By::Acks => u32::from(kind == PacketKind::Data),
        }
    }
}
