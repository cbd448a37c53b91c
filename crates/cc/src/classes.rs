//! Links with more than one first-in first-out queue, or with a queue that packets leave otherwise
//! than by being served: what such a link does by itself ([`Plan`]), and what its router is shown
//! besides the packet ([`Place`]).
//!
//! A packet's way: the router names the flow's cell, puts the packet into a class
//! ([`crate::roles::Router::classify`]) and lets it in or not
//! ([`crate::roles::Router::admit`]); the link makes room. When the line is free, the link chooses a
//! queue, and the router lets its head go out or drops it ([`crate::roles::Router::on_head`]).

use crate::roles::{Backlog, Limit};

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

/// Where a packet is, as a router of a link with classes sees it.
#[derive(Debug)]
pub struct Place<'a> {
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
    /// What the router keeps in the cell that [`crate::roles::Router::cell`] names.
    pub cell: &'a mut AnyCell,
    /// The flow of the packet drawn ([`crate::roles::Router::draw`]).
    pub drawn: Option<u32>,
    /// Is the line free?
    pub idle: bool,
    /// On arrival: does it fit into the link's limit? At the head: true.
    pub fits: bool,
    /// At the head: was the packet before it dropped a moment ago, for the same service?
    pub again: bool,
}

/// What a router may keep for each flow or class.
pub trait Kept: Copy + Default {
    /// The state in a cell; a fresh one if the cell held something else.
    fn open(cell: &mut AnyCell) -> &mut Self;
}

macro_rules! cells {
    ($( $variant:ident($type:ty); )*) => {
        /// What any router keeps for a flow or a class. The link holds it, as routers have no memory
        /// that grows.
        #[derive(Clone, Copy, Debug, Default)]
        pub enum AnyCell {
            /// Nothing yet.
            #[default]
            Empty,
            $( #[doc = concat!(stringify!($variant), "'s.")] $variant($type), )*
        }

        $( impl Kept for $type {
            #[inline]
            fn open(cell: &mut AnyCell) -> &mut $type {
                if !matches!(cell, AnyCell::$variant(_)) {
                    *cell = AnyCell::$variant(<$type>::default());
                }
                match cell {
                    AnyCell::$variant(kept) => kept,
                    _ => unreachable!("it has just been put there"),
                }
            }
        } )*
    };
}

cells! {
    CoDel(crate::aqm::codel::Control);
    Rate(crate::aqm::csfq::RateEstimate);
    Bucket(crate::aqm::rio::Bucket);
    Watched(crate::explicit::xcp::xcp_police::Watched);
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
    pub fn class(self, flow: u32, kind: crate::roles::PacketKind, group: u32) -> u32 {
        match self {
            By::Flow => flow,
            By::Group => group,
            By::Acks => u32::from(kind == crate::roles::PacketKind::Data),
        }
    }
}
