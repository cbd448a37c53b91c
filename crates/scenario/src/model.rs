//! What a scenario file means once every name is looked up, every default filled in and every
//! quantity an integer: what the engines run.

pub mod era;
pub mod identity;
pub mod line;
pub mod parts;
pub mod traffic;

use std::ops::Range;

use cc::params::{Spec, Value};
use cc::registry::{AnyRouterParams, AnySenderParams, Recovery};
use cc::roles::Limit;
use units::random::Stream;
use units::{Rate, Span, Time};

use crate::file::fluid::Fluid;
use crate::file::linux::Ip;
use crate::model::era::Origins;
use crate::model::line::{Device, Line};
use crate::model::traffic::{App, Arrivals, Size};

/// A scenario with nothing left to decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What reports and result directories call it.
    pub name: String,
    /// How long it runs.
    pub duration: Span,
    /// Measurements start here, counted from the start of the run.
    pub warmup: Span,
    /// The experiment's seed.
    pub seed: u64,
    /// The link that its numbers are of where they name none; no part of what is run.
    pub bottleneck: Option<usize>,
    /// Sizes on the wire.
    pub packets: Packets,
    /// What every flow's transport shares.
    pub transport: Transport,
    /// Where they are from.
    pub transport_origins: Origins,
    /// The named links; a link's index is its number.
    pub links: Vec<Link>,
    /// The groups of flows; flows are numbered through in this order.
    pub groups: Vec<Group>,
    /// The islands; macro-flows are numbered after the flows, in this order.
    pub islands: Vec<Island>,
    /// What is recorded over time.
    pub probe: Probe,
    /// How the fluid engine solves its equations.
    pub fluid: Fluid,
    /// The version of IP of the linux engine's flows.
    pub ip: Ip,
}

impl Scenario {
    /// The name of the link that its numbers are of where they name none.
    pub fn bottleneck(&self) -> Option<&str> {
        self.bottleneck.map(|link| self.links[link].name.as_str())
    }

    /// Flows in all groups together; those that arrive while the run goes on are not counted.
    pub fn flow_count(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    /// Two-way propagation time of the `i`-th flow of a group: its path, its ACKs' path and the
    /// four access hops.
    pub fn rtt(&self, group: &Group, i: u32) -> Span {
        let links = group.path.iter().chain(&group.reverse);
        let named = links.fold(Span::ZERO, |sum, &link| sum + self.links[link].owd);
        let access = group.access(i);
        named + (access.source_owd + access.sink_owd) * 2
    }
}

/// Sizes on the wire, headers inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// A full data packet [bytes].
    pub data_bytes: u32,
    /// A pure acknowledgement [bytes].
    pub ack_bytes: u32,
}

/// The reliability machinery's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Least retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout.
    pub max_rto: Span,
    /// Retransmission timeout before the first RTT sample.
    pub initial_rto: Span,
    /// The least that the timeout is above the smoothed RTT.
    pub rto_granularity: Span,
    /// When a sample that lowers the RTT's variation counts.
    pub rttvar: Rttvar,
    /// Window at the start [packets].
    pub initial_window: f64,
    /// Duplicate ACKs that make a fast retransmit.
    pub dup_thresh: u32,
    /// How long an ACK may wait for a second packet; `None`: every packet is acknowledged at once.
    pub delayed_ack: Option<Span>,
    /// RFC 3042: do the first two duplicate ACKs let new data out?
    pub limited_transmit: bool,
    /// How ACKs tell of marks, where the protocol knows ECN.
    pub accecn: AccEcn,
    /// With RACK: what tells that a loss was none.
    pub undo: Undo,
    /// What becomes of a window over an idle time.
    pub idle_restart: IdleRestart,
    /// What of a window a loss reduces.
    pub loss_base: LossBase,
    /// With RACK: does a window come down by PRR after an echo of congestion, too?
    pub echo_prr: bool,
    /// With RACK: which segment's RTT an ACK tells.
    pub rack_rtt: RackRtt,
    /// Without SACK: is a duplicate ACK a segment delivered?
    pub count_dupacks: bool,
    /// With RACK: do SACKed packets open a window, where packets come late?
    pub count_sacks: bool,
    /// L of RFC 3465 [packets]; 0: windows grow by ACKs.
    pub byte_counting: u32,
    /// The packets of a transfer that are acknowledged at once though ACKs are delayed.
    pub quick_acks: u32,
    /// Packets that a pacer lets out together.
    pub pacing_burst: u32,
}

/// What a flow must have for a rule of the transport to touch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// RACK-TLP.
    Rack,
    /// RACK-TLP, and a window of TCP that answers echoes of congestion.
    RackAndEcho,
    /// Fast retransmit without SACK.
    DupAcks,
    /// A window of TCP.
    Window,
    /// A pace.
    Pace,
    /// A use for what ACKs tell of marks.
    Marks,
    /// ACKs that are delayed.
    DelayedAcks,
}

/// A rule of the transport that is off unless a file asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// In `[transport]`.
    pub key: &'static str,
    /// Whom it touches.
    pub touches: Touches,
}

impl Transport {
    /// The rules that are asked for.
    pub fn rules(&self) -> impl Iterator<Item = Rule> {
        use Touches::{DelayedAcks, DupAcks, Marks, Pace, Rack, RackAndEcho, Window};
        let all = [
            ("accecn", self.accecn != AccEcn::Off, Marks),
            ("undo", self.undo != Undo::Off, Rack),
            ("idle_restart", self.idle_restart != IdleRestart::Off, Window),
            ("loss_base", self.loss_base != LossBase::InUse, Window),
            ("echo_prr", self.echo_prr, RackAndEcho),
            ("rack_rtt", self.rack_rtt != RackRtt::Latest, Rack),
            ("count_dupacks", self.count_dupacks, DupAcks),
            ("count_sacks", self.count_sacks, Rack),
            ("byte_counting", self.byte_counting != 0, Window),
            ("quick_acks", self.quick_acks != 0, DelayedAcks),
            ("pacing_burst", self.pacing_burst != 1, Pace),
        ];
        all.into_iter().filter(|(_, on, _)| *on).map(|(key, _, touches)| Rule { key, touches })
    }
}

macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in scenario files.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

named! {
    /// What becomes of a window of TCP over an idle time longer than the timeout.
    pub enum IdleRestart {
        /// It is kept.
        Off = "off",
        /// RFC 5681, section 4.1: it is the first window, if that is less.
        Rfc5681 = "rfc5681",
        /// RFC 2861: it loses half for each timeout, and Linux stops at the first window.
        Rfc2861 = "rfc2861",
    }
}

named! {
    /// What of a window of TCP a loss reduces.
    pub enum LossBase {
        /// What was in flight, if that did not fill the window.
        InUse = "in-use",
        /// All of it.
        Window = "window",
    }
}

named! {
    /// Of the segments that an ACK delivers, the one whose RTT RACK takes.
    pub enum RackRtt {
        /// That sent last (RFC 8985).
        Latest = "latest",
        /// That with the highest number (Linux).
        Highest = "highest",
    }
}

/// What tells a sender that a loss was none, so that it takes its answer back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Nothing: what was reduced stays so.
    Off,
    /// DSACK (RFC 3708), and F-RTO (RFC 5682) after a timeout.
    Dsack,
    /// These, and timestamps (Eifel, RFC 3522).
    Timestamps,
}

impl Undo {
    /// All of them.
    pub const ALL: [Undo; 3] = [Undo::Off, Undo::Dsack, Undo::Timestamps];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Undo::Off => "off",
            Undo::Dsack => "dsack",
            Undo::Timestamps => "timestamps",
        }
    }
}

/// What is used of AccECN (RFC 9768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccEcn {
    /// Nothing: RFC 3168's echo, or the code of each ACK's data packet.
    Off,
    /// The three bits of the ACE field.
    Ace,
    /// These, and the option with the counts of bytes.
    Option,
}

impl AccEcn {
    /// All of them.
    pub const ALL: [AccEcn; 3] = [AccEcn::Off, AccEcn::Ace, AccEcn::Option];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            AccEcn::Off => "off",
            AccEcn::Ace => "ace",
            AccEcn::Option => "option",
        }
    }
}

/// When an RTT sample that lowers the estimate of the RTT's variation counts; one that raises it
/// always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rttvar {
    /// One per RTT.
    Rtt,
    /// Each.
    Ack,
}

impl Rttvar {
    /// Both.
    pub const ALL: [Rttvar; 2] = [Rttvar::Rtt, Rttvar::Ack];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Rttvar::Rtt => "rtt",
            Rttvar::Ack => "ack",
        }
    }
}

/// One direction of a line, with the buffer in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The node it leaves.
    pub from: String,
    /// The node it reaches.
    pub to: String,
    /// Its capacity.
    pub rate: Rate,
    /// One-way propagation delay.
    pub owd: Span,
    /// The buffer's limit.
    pub limit: Limit,
    /// The queue in the buffer.
    pub queue: Queue,
    /// What the line does besides serving packets at `rate`.
    pub line: Line,
    /// The device between the queue and the line, if it holds packets of its own.
    pub device: Option<Device>,
}

/// A queue: a policy and perhaps a protocol's feedback over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The name it has in the file, or one made from its kind if it was written in place.
    pub name: String,
    /// Decides what to drop or mark.
    pub policy: RouterPart,
    /// Computes a protocol's feedback.
    pub feedback: Option<RouterPart>,
}

/// A registered queue with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterPart {
    /// Its name in the registry.
    pub kind: &'static str,
    /// Its parameters.
    pub params: AnyRouterParams,
    /// Where they are from.
    pub origins: Origins,
}

/// A registered protocol with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// The name it has in the file, or one made from its kind if it was written in place.
    pub name: String,
    /// Its name in the registry.
    pub kind: &'static str,
    /// Its parameters.
    pub params: AnySenderParams,
    /// How lost data is found and sent again.
    pub recovery: Recovery,
    /// Where its parameters are from.
    pub origins: Origins,
}

/// Flows that share everything but their start and their access hops.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The protocol at the end hosts.
    pub protocol: Protocol,
    /// How many flows; with `arrivals` it is not counted here and stands at 0.
    pub count: u32,
    /// Do they come while the run goes on, as transfers?
    pub arrivals: Option<Arrivals>,
    /// What their applications offer.
    pub app: App,
    /// The links the data crosses, in order.
    pub path: Vec<usize>,
    /// The links the ACKs cross, in order.
    pub reverse: Vec<usize>,
    /// The access hops: one value for all flows, or one for each; with `arrivals` some that the
    /// flows take in turn. See [`Group::access`].
    pub access: Vec<Access>,
    /// When the flows start.
    pub start: Start,
    /// When they stop sending new data; `None`: never.
    pub stop: Option<Span>,
    /// How much each of them sends.
    pub size: Size,
}

impl Group {
    /// The access hops of the `i`-th flow.
    pub fn access(&self, i: u32) -> Access {
        self.access[i as usize % self.access.len()]
    }
}

/// Links between border routers that map what passes onto one macro-flow for each way through them.
#[derive(Clone, Debug, PartialEq)]
pub struct Island {
    /// Its name.
    pub name: String,
    /// Its links; no link has two islands.
    pub links: Vec<usize>,
    /// The protocol of its macro-flows.
    pub protocol: Protocol,
    /// The outer header of a packet inside [bytes].
    pub outer_bytes: u32,
    /// The limit of each macro-flow's queue at its ingress.
    pub limit: Limit,
    /// The groups that cross it as they are, ascending.
    pub native: Vec<usize>,
    /// One for each macro-flow.
    pub crossings: Vec<Crossing>,
}

/// A way through an island, from its ingress to its egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The links that the macro-flow crosses.
    pub path: Vec<usize>,
    /// The links that its acknowledgements cross.
    pub feedback: Vec<usize>,
}

impl Island {
    /// Where a path runs through the island, as places in the path; each run is as long as can be.
    pub fn runs(&self, path: &[usize]) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (place, link) in path.iter().enumerate() {
            match runs.last_mut() {
                _ if !self.links.contains(link) => {}
                Some(run) if run.end == place => run.end += 1,
                _ => runs.push(place..place + 1),
            }
        }
        runs
    }

    /// The groups whose packets it maps, where they cross it, with their numbers.
    pub fn mapped<'a>(&self, groups: &'a [Group]) -> impl Iterator<Item = (usize, &'a Group)> {
        groups.iter().enumerate().filter(|(number, _)| !self.native.contains(number))
    }
}

/// The four access hops of a flow: from its source to the first link, from the last link to its
/// sink, and the same two back for the ACKs. Their buffers have no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The capacity of each of the four.
    pub rate: Rate,
    /// One-way propagation delay between the source and the network.
    pub source_owd: Span,
    /// One-way propagation delay between the network and the sink.
    pub sink_owd: Span,
}

/// When the flows of a group start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// All at once.
    At(Span),
    /// Each at an instant drawn from `[low, high)`.
    Uniform(Span, Span),
    /// The `i`-th at `first + i * gap`.
    Every {
        /// The first flow's start.
        first: Span,
        /// From one start to the next.
        gap: Span,
    },
    /// One instant for each flow.
    List(Vec<Span>),
}

impl Start {
    /// When the `i`-th flow starts; draws one number from `stream` if the start is random.
    pub fn time(&self, i: u32, stream: &mut Stream) -> Time {
        match self {
            Start::At(at) => Time(at.0),
            Start::Uniform(low, high) => {
                let width = (*high - *low).0 as f64;
                Time(low.0 + (width * stream.unit()) as u64)
            }
            Start::Every { first, gap } => Time((*first + *gap * u64::from(i)).0),
            Start::List(list) => Time(list[i as usize].0),
        }
    }

    /// The latest start that one of `count` flows can have.
    pub fn latest(&self, count: u32) -> Span {
        match self {
            Start::At(at) => *at,
            Start::Uniform(_, high) => *high,
            Start::Every { first, gap } => *first + *gap * u64::from(count.saturating_sub(1)),
            Start::List(list) => list.iter().copied().max().unwrap_or(Span::ZERO),
        }
    }
}

/// What is recorded over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The series, each at most once.
    pub series: Vec<Series>,
    /// When a value is recorded.
    pub every: Every,
    /// The groups whose flows are recorded; `None`: all.
    pub groups: Option<Vec<usize>>,
    /// The links that are recorded; `None`: all.
    pub links: Option<Vec<usize>>,
}

/// When a probe records a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After each such span.
    Span(Span),
    /// Whenever it changes.
    Change,
}

/// A quantity that can be recorded over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// Congestion window.
    Cwnd,
    /// What may be in flight [packets].
    Window,
    /// Smoothed RTT.
    Srtt,
    /// Bits of new data delivered per second, mean since the last sample.
    Goodput,
    /// Bits sent per second, retransmissions included, mean since the last sample.
    Rate,
    /// The sender's inner variables by the paper's names.
    Sender,
    /// What waits at the link.
    Queue,
    /// Bits that left over capacity, mean since the last sample.
    Utilization,
    /// Packets dropped since the last sample; on change, one row for each.
    Drops,
    /// Packets lost on the line since the last sample; on change, one row for each.
    Losses,
    /// The router's inner variables by the paper's names.
    Router,
}

/// What a series has one column of values for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Every flow.
    Flow,
    /// Every named link.
    Link,
}

impl Series {
    /// All of them.
    pub const ALL: [Series; 11] = [
        Series::Cwnd,
        Series::Window,
        Series::Srtt,
        Series::Goodput,
        Series::Rate,
        Series::Sender,
        Series::Queue,
        Series::Utilization,
        Series::Drops,
        Series::Losses,
        Series::Router,
    ];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Series::Cwnd => "cwnd",
            Series::Window => "window",
            Series::Srtt => "srtt",
            Series::Goodput => "goodput",
            Series::Rate => "rate",
            Series::Sender => "sender",
            Series::Queue => "queue",
            Series::Utilization => "utilization",
            Series::Drops => "drops",
            Series::Losses => "losses",
            Series::Router => "router",
        }
    }

    /// One line for the reference page.
    pub fn doc(self) -> &'static str {
        match self {
            Series::Cwnd => "congestion window",
            Series::Window => {
                "the congestion window, or while PRR brings it down what that allows, or what is in \
                 flight if that is more: it has not come down yet"
            }
            Series::Srtt => "smoothed RTT",
            Series::Goodput => "new data delivered per second, mean since the last sample",
            Series::Rate => {
                "bits sent per second, retransmissions included, mean since the last sample"
            }
            Series::Sender => "the sender's inner variables, by the paper's names",
            Series::Queue => "what waits at the link, without the packet in service",
            Series::Utilization => "bits sent over capacity, mean since the last sample",
            Series::Drops => "packets dropped since the last sample",
            Series::Losses => "packets lost on the line since the last sample",
            Series::Router => "the router's inner variables, by the paper's names",
        }
    }

    /// Is there one for every flow or one for every link?
    pub fn of(self) -> Of {
        match self {
            Series::Cwnd
            | Series::Window
            | Series::Srtt
            | Series::Goodput
            | Series::Rate
            | Series::Sender => Of::Flow,
            Series::Queue
            | Series::Utilization
            | Series::Drops
            | Series::Losses
            | Series::Router => Of::Link,
        }
    }

    /// Can it be recorded with [`Every::Change`]? A mean over time cannot.
    pub fn on_change(self) -> bool {
        !matches!(self, Series::Goodput | Series::Rate | Series::Utilization)
    }
}

impl RouterPart {
    /// Its parameters by name, in the order of declaration.
    pub fn values(&self) -> impl Iterator<Item = (&'static Spec, Value)> {
        let specs = cc::registry::queues().find(|info| info.name == self.kind).map(|q| q.params);
        let specs = specs.unwrap_or_default().iter();
        specs.filter_map(|spec| Some((spec, self.params.get(spec.name)?)))
    }
}

impl Protocol {
    /// Its parameters by name, in the order of declaration.
    pub fn values(&self) -> impl Iterator<Item = (&'static Spec, Value)> {
        let specs = cc::registry::protocols().find(|info| info.name == self.kind).map(|p| p.params);
        let specs = specs.unwrap_or_default().iter();
        specs.filter_map(|spec| Some((spec, self.params.get(spec.name)?)))
    }
}
