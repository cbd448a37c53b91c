//! The tables of a scenario file. What stands here is all there is: the reader, the JSON Schema and
//! the reference page are made from it.

pub mod definitions;
pub mod fluid;
pub mod line_keys;
pub mod sources;
pub mod sweep;

use cc::registry::Recovery;
use serde_json::{Value as Json, json};
use units::{Rate, Span};

use crate::attached::FileName;
use crate::attached::trace::TraceForm;
use crate::error::{Fault, Problem};
use crate::file::definitions::{ProtocolRef, QueueRef};
use crate::file::fluid::FluidFile;
use crate::file::line_keys::{Between, JitterForm, LossForm, ReorderFile, StepFile};
use crate::file::sources::{ArrivalsForm, SizeForm};
use crate::file::sweep::{Plot, Sweep};
use crate::model::era::Era;
use crate::model::line::DelayLaw;
use crate::model::{AccEcn, Rttvar, Series, Start};
use crate::syntax::declaration::{
    At, Count, Definitions, FileValue, MAX_INTEGER, Named, Word, table, word_values,
};
use crate::syntax::document::Node;
use crate::values::spread::{LineRate, Spread};
use crate::values::{
    Buffer, ByteCount, EveryForm, OffOrTime, PlainAmount, SchemaVersion, Warmup, Way, Window,
};

table! {
    /// A scenario.
    pub(crate) struct File {
        /// Version of this format.
        schema: SchemaVersion = required;
        /// What reports and result directories call the scenario.
        name: String = required;
        /// How long it runs, at most 4800h (200 days).
        duration: Span = required;
        /// Measurements start here: a share of the duration or a time.
        warmup: Warmup = default("0s");
        /// Seed of all random streams.
        seed: Count<0, MAX_INTEGER> = default(1);
        /// The link that a run's numbers are of where they name none, such as `utilization_ratio`.
        /// It changes nothing in a run.
        bottleneck: String = optional("of one link there and back: that link, or its reverse if all \
                                       data goes back; else none");
        /// What end hosts are like where the file does not say: the defaults of an era.
        era: Era = default("papers");
        /// Sizes on the wire.
        packets: PacketsFile = section;
        /// What every flow's transport shares.
        transport: TransportFile = section;
        /// A network in short; the alternative is `links`.
        topology: Topology = optional("`links` must be there");
        /// A network of named links; the alternative is `topology`.
        links: Named<LinkFile> = optional("`topology` must be there");
        /// Groups of flows.
        flows: Named<FlowFile> = required;
        /// Parts of the network whose border routers map what passes onto flows of their own.
        islands: Named<IslandFile> = optional("none");
        /// Queues with parameters, to be used by name.
        queues: Named<QueueRef> = optional("registered kinds only");
        /// Protocols with parameters, to be used by name.
        protocols: Named<ProtocolRef> = optional("registered kinds only");
        /// What is recorded over time.
        probe: ProbeFile = section;
        /// How the fluid engine solves its equations; no other engine reads it.
        fluid: FluidFile = section;
        /// What `clearpipe sweep run` varies; a single run has the file's own values.
        sweep: Sweep = optional("no sweep");
        /// What `clearpipe sweep report` draws.
        plot: Plot = optional("no plot");
    }
}

table! {
    /// Sizes on the wire, headers inside.
    pub(crate) struct PacketsFile {
        /// A full data packet, 1B to 65535B.
        data: ByteCount = default("1000B");
        /// A pure acknowledgement, 1B to 65535B.
        ack: ByteCount = default("40B");
    }
}

table! {
    /// The settings of the reliability machinery, the same for every flow.
    pub(crate) struct TransportFile {
        /// Least retransmission timeout.
        min_rto: Span = optional("the era's; papers 1s");
        /// Largest retransmission timeout.
        max_rto: Span = optional("the era's; papers 60s");
        /// Retransmission timeout before the first RTT sample.
        initial_rto: Span = optional("the era's; papers 1s");
        /// G of RFC 6298: the timeout is at least this above the smoothed RTT.
        rto_granularity: Span = optional("the era's, at most min_rto; papers 100ms");
        /// When a sample that lowers the RTT's variation counts: "rtt" (one per RTT) or "ack"
        /// (each).
        rttvar: Rttvar = optional("the era's; papers \"rtt\"");
        /// Window at the start, in packets.
        initial_window: Window = optional("the era's; papers 1pkt");
        /// Duplicate ACKs that make a fast retransmit.
        dup_thresh: Count<1, 1000> = optional("the era's; papers 3");
        /// How long an ACK may wait for a second packet.
        delayed_ack: OffOrTime = optional("the era's; papers \"off\"");
        /// RFC 3042: the first two duplicate ACKs let new data out.
        limited_transmit: bool = optional("the era's; papers true");
        /// AccECN (RFC 9768) in place of RFC 3168's echo and of ideal feedback, for all protocols
        /// that use ECN: "off", "ace" (three bits) or "option" (and the option's counts of bytes).
        accecn: AccEcn = optional("\"off\"");
    }
}

impl TransportFile {
    /// Does the file have the key?
    pub(crate) fn has(&self, key: &str) -> bool {
        match key {
            "min_rto" => self.min_rto.is_some(),
            "max_rto" => self.max_rto.is_some(),
            "initial_rto" => self.initial_rto.is_some(),
            "rto_granularity" => self.rto_granularity.is_some(),
            "rttvar" => self.rttvar.is_some(),
            "initial_window" => self.initial_window.is_some(),
            "dup_thresh" => self.dup_thresh.is_some(),
            "delayed_ack" => self.delayed_ack.is_some(),
            "limited_transmit" => self.limited_transmit.is_some(),
            "accecn" => self.accecn.is_some(),
            _ => false,
        }
    }
}

/// A network in short.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    Dumbbell(Dumbbell),
    ParkingLot(ParkingLot),
    Map(MapFile),
}

table! {
    /// Two links, `bottleneck` from left to right and `bottleneck.reverse` back, the same in all
    /// that stands here: what the line does holds for both, with dice of their own.
    pub(crate) struct Dumbbell {
        /// "dumbbell".
        kind: TopologyKind = required;
        /// Capacity.
        rate: Rate = optional("`trace` must be there");
        /// Two-way propagation time of the flows that have no `rtt` of their own.
        rtt: Span = required;
        /// One-way delay of each of the two links.
        owd: Span = optional("rtt / 4");
        /// The buffers' limit.
        buffer: Buffer = default("1bdp");
        /// The buffers hold at least this for every flow that crosses them in either direction.
        buffer_per_flow: PlainAmount = optional("no such rule");
        /// The queue in both buffers: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
        /// New capacities, ascending in time.
        steps: Vec<At<StepFile>> = optional("the capacity is always `rate`");
        /// Instead of `rate`: what mahimahi's trace lets through, 1500 bytes in each millisecond
        /// that is listed, one per line of a file. After the last it starts again.
        trace: TraceForm = optional("the capacity is `rate`");
        /// Outages, in order and apart.
        down: Vec<At<Between>> = optional("never");
        /// Are packets that arrive in an outage lost? Otherwise the buffer holds them.
        down_drops: bool = default(false);
        /// Packets lost on the line, after they were served: the probability, or see below.
        loss: LossForm = optional("none");
        /// A delay added to each packet. Packets overtake one another unless the table says
        /// otherwise.
        jitter: JitterForm = optional("none");
        /// Packets that are held up, so that later ones overtake them.
        reorder: ReorderFile = optional("none");
    }
}

table! {
    /// A chain of links `l1`, `l2`, ... and back `l1.reverse`, `l2.reverse`, ..., all the same:
    /// what the line does holds for each of them, with dice of their own.
    pub(crate) struct ParkingLot {
        /// "parking-lot".
        kind: TopologyKind = required;
        /// Links in each direction.
        links: Count<1, 1000> = required;
        /// Capacity.
        rate: Rate = optional("`trace` must be there");
        /// One-way delay of each link.
        owd: Span = optional("link_rtt / 2; one of the two must be there");
        /// There and back over one link.
        link_rtt: Span = optional("2 * owd");
        /// Two-way propagation time of the flows that have no `rtt` of their own.
        rtt: Span = optional("the links' delays alone");
        /// The buffers' limit.
        buffer: Buffer = default("1bdp");
        /// The buffers hold at least this for every flow that crosses them in either direction.
        buffer_per_flow: PlainAmount = optional("no such rule");
        /// The queue in all buffers: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
        /// New capacities, ascending in time.
        steps: Vec<At<StepFile>> = optional("the capacity is always `rate`");
        /// Instead of `rate`: what mahimahi's trace lets through, 1500 bytes in each millisecond
        /// that is listed, one per line of a file. After the last it starts again.
        trace: TraceForm = optional("the capacity is `rate`");
        /// Outages, in order and apart.
        down: Vec<At<Between>> = optional("never");
        /// Are packets that arrive in an outage lost? Otherwise the buffer holds them.
        down_drops: bool = default(false);
        /// Packets lost on the line, after they were served: the probability, or see below.
        loss: LossForm = optional("none");
        /// A delay added to each packet. Packets overtake one another unless the table says
        /// otherwise.
        jitter: JitterForm = optional("none");
        /// Packets that are held up, so that later ones overtake them.
        reorder: ReorderFile = optional("none");
    }
}

table! {
    /// A map of a network in GraphML, as the Internet Topology Zoo has them. Nodes are called by
    /// their `label` where it is the only one, else by their id. Every edge is a link `FROM-TO` and
    /// the same back, `FROM-TO.reverse`, whether the graph is directed or not; characters that
    /// names cannot have become `_`, and parallel edges a number. Flows use `from` and `to`, or
    /// `path`.
    pub(crate) struct MapFile {
        /// "graphml".
        kind: TopologyKind = required;
        /// The map.
        file: FileName = required;
        /// Capacity of the edges without `LinkSpeedRaw` (in bits per second).
        rate: Rate = optional("all edges must have one");
        /// One-way delay of the edges whose ends lack `Latitude` or `Longitude`; the others have
        /// that of light in fibre, 200,000 km/s, along the great circle.
        owd: Span = optional("all nodes must have both");
        /// The buffers' limit.
        buffer: Buffer = default("1bdp");
        /// The buffers hold at least this for every flow that crosses them in either direction.
        buffer_per_flow: PlainAmount = optional("no such rule");
        /// The queue in all buffers: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
    }
}

table! {
    /// One direction of a line between two nodes, with the buffer in front of it.
    pub(crate) struct LinkFile {
        /// The node it leaves.
        from: String = required;
        /// The node it reaches.
        to: String = required;
        /// Capacity, 1bps to 100Tbps.
        rate: Rate = optional("`trace` must be there");
        /// One-way propagation delay, at most 1h.
        owd: Span = required;
        /// The buffer's limit.
        buffer: Buffer = default("1bdp");
        /// The buffer holds at least this for every flow that crosses it in either direction.
        buffer_per_flow: PlainAmount = optional("no such rule");
        /// The queue in the buffer: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
        /// New capacities, ascending in time.
        steps: Vec<At<StepFile>> = optional("the capacity is always `rate`");
        /// Instead of `rate`: what mahimahi's trace lets through, 1500 bytes in each millisecond
        /// that is listed, one per line of a file. After the last it starts again.
        trace: TraceForm = optional("the capacity is `rate`");
        /// Outages, in order and apart.
        down: Vec<At<Between>> = optional("never");
        /// Are packets that arrive in an outage lost? Otherwise the buffer holds them.
        down_drops: bool = default(false);
        /// Packets lost on the line, after they were served: the probability, or see below.
        loss: LossForm = optional("none");
        /// A delay added to each packet. Packets overtake one another unless the table says
        /// otherwise.
        jitter: JitterForm = optional("none");
        /// Packets that are held up, so that later ones overtake them.
        reorder: ReorderFile = optional("none");
        /// Is there the same link back, called `NAME.reverse`, with dice of its own?
        duplex: bool = default(false);
    }
}

table! {
    /// A group of flows.
    pub(crate) struct FlowFile {
        /// A registered protocol, a name under `protocols` or a table.
        protocol: ProtocolRef = required;
        /// How many flows; with `arrivals` the most that come.
        count: Count<1, 1_000_000> = optional("1; with `arrivals` no limit");
        /// Flows that come one after another from `start` to `stop`, each a transfer of its own: a
        /// Poisson process with a rate (`300/s`) or a mean gap (`2ms`), one every so often, or as
        /// many as offer a share of the slowest link on the data's way.
        arrivals: ArrivalsForm = optional("all flows are there from the start");
        /// With `topology`: the data's direction.
        direction: Direction = optional("forward");
        /// In a parking lot: `long`, `cross(LINK)`, `cross(FIRST, LAST)` or `each` (one group
        /// `NAME.1`, `NAME.2`, ... for every link). With `links`: the links the data crosses.
        path: Way = optional("parking lot: long; with links: routed from `from` to `to`");
        /// With `links`: the links the ACKs cross.
        reverse_path: Vec<At<String>> = optional("routed back");
        /// With `links` and no `path`: the first node. Routes have the least sum of delays, then
        /// the fewest links, then the links named first.
        from: String = optional("`path` must be there");
        /// With `links` and no `path`: the last node.
        to: String = optional("`path` must be there");
        /// Two-way propagation time. What the links do not take is split equally over the four
        /// access hops.
        rtt: Spread<Span> = optional("the topology's, or `access_owd` = 0s");
        /// Instead of `rtt`: one-way delay of every access hop.
        access_owd: Spread<Span> = optional("see `rtt`");
        /// Instead of `rtt`: one-way delay between the source and the network.
        source_owd: Spread<Span> = optional("see `rtt`; 0s if `sink_owd` is there");
        /// Instead of `rtt`: one-way delay between the network and the sink.
        sink_owd: Spread<Span> = optional("see `rtt`; 0s if `source_owd` is there");
        /// Rate of the access hops; `2x` is twice that of the fastest link on the way, steps
        /// included.
        access_rate: LineRate = optional("10x");
        /// When the flows start.
        start: Start = default("0s");
        /// When they stop sending new data; with `arrivals` when no more come.
        stop: Span = optional("never");
        /// How much each of them sends. A distribution is drawn from for each flow.
        size: SizeForm = default("unlimited");
        /// Rate at which the application offers data, a packet at a time.
        rate: Rate = optional("all at once");
        /// With `rate`: is the time between two packets always the same, or that of a Poisson
        /// process?
        gaps: Gaps = optional("even");
        /// With `rate`: how long the application offers data before a break. It starts with this.
        on: DelayLaw = optional("always");
        /// With `rate`: how long a break is.
        off: DelayLaw = optional("no breaks");
        /// Video in layers: the rate of each, the base first; at most 8. The application offers
        /// data at the rate of as many as the flow's pace, or its window over the smoothed RTT, has
        /// room for, and of the base at least.
        layers: Vec<At<Rate>> = optional("no layers");
        /// With `layers`: the time between two choices.
        layer_time: Span = optional("1s");
        /// A group before this one, with as many flows: what arrives at the sink of each of them
        /// is what the flow of the same number here has to send, as at a proxy that ends one
        /// connection and begins another (split TCP, a PEP).
        relay: String = optional("data of its own");
        /// With `relay`: what the proxy holds of each flow, from its arrival to its
        /// acknowledgement; the source before sends no more than fits.
        relay_buffer: PlainAmount = optional("no limit");
    }
}

table! {
    /// Links between border routers: all packets that cross them from one ingress to one egress are
    /// those of one macro-flow. They wait at the ingress in a queue of their own, leave it as the
    /// macro-flow's window lets them, and have an outer header inside.
    pub(crate) struct IslandFile {
        /// Its links, in both directions if it is to work in both; no link has two islands.
        links: Vec<At<String>> = required;
        /// The macro-flows' protocol, one with a window: a registered protocol, a name under
        /// `protocols` or a table.
        protocol: ProtocolRef = required;
        /// The outer header.
        outer: ByteCount = default("20B");
        /// The limit of each macro-flow's queue at its ingress.
        buffer: PlainAmount = required;
        /// The groups that cross it as they are, since they speak its protocol themselves.
        native: Vec<At<String>> = optional("none");
    }
}

table! {
    /// What is recorded over time.
    pub(crate) struct ProbeFile {
        /// The series.
        series: Vec<At<Series>> = optional("none");
        /// From one sample to the next, or `change`: whenever a value changes.
        every: EveryForm = default("100ms");
        /// The groups whose flows are recorded.
        flows: Vec<At<String>> = optional("all");
        /// The links that are recorded.
        links: Vec<At<String>> = optional("all");
    }
}

impl FileValue for Topology {
    fn form() -> String {
        "table".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let kinds = [
            Dumbbell::schema(definitions),
            ParkingLot::schema(definitions),
            MapFile::schema(definitions),
        ];
        for (name, word) in ["Dumbbell", "ParkingLot", "MapFile"].iter().zip(TopologyKind::words())
        {
            definitions[*name]["properties"]["kind"] = json!({ "const": word });
        }
        json!({ "oneOf": kinds })
    }
    fn read(node: &Node) -> Result<Topology, Fault> {
        node.entries()?;
        let Some(kind) = node.entry("kind") else {
            return Err(node.spot.child("kind").fault(Problem::Missing(TopologyKind::form())));
        };
        match TopologyKind::read(kind)? {
            TopologyKind::Dumbbell => Dumbbell::read(node).map(Topology::Dumbbell),
            TopologyKind::ParkingLot => ParkingLot::read(node).map(Topology::ParkingLot),
            TopologyKind::Map => MapFile::read(node).map(Topology::Map),
        }
    }
}

/// The networks that have a short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopologyKind {
    Dumbbell,
    ParkingLot,
    Map,
}

impl Word for TopologyKind {
    const WHAT: &'static str = "topology";
    fn all() -> Vec<(&'static str, TopologyKind)> {
        vec![
            ("dumbbell", TopologyKind::Dumbbell),
            ("parking-lot", TopologyKind::ParkingLot),
            ("graphml", TopologyKind::Map),
        ]
    }
}

/// Which way the data goes through a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Reverse,
}

impl Word for Direction {
    const WHAT: &'static str = "direction";
    fn all() -> Vec<(&'static str, Direction)> {
        vec![("forward", Direction::Forward), ("reverse", Direction::Reverse)]
    }
}

/// The time between two packets of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Even,
    Poisson,
}

impl Word for Gaps {
    const WHAT: &'static str = "gaps";
    fn all() -> Vec<(&'static str, Gaps)> {
        vec![("even", Gaps::Even), ("poisson", Gaps::Poisson)]
    }
}

impl Word for Rttvar {
    const WHAT: &'static str = "rttvar";
    fn all() -> Vec<(&'static str, Rttvar)> {
        Rttvar::ALL.iter().map(|rttvar| (rttvar.name(), *rttvar)).collect()
    }
}

impl Word for AccEcn {
    const WHAT: &'static str = "accecn";
    fn all() -> Vec<(&'static str, AccEcn)> {
        AccEcn::ALL.iter().map(|accecn| (accecn.name(), *accecn)).collect()
    }
}

impl Word for Recovery {
    const WHAT: &'static str = "recovery";
    fn all() -> Vec<(&'static str, Recovery)> {
        Recovery::ALL.iter().map(|recovery| (recovery.name(), *recovery)).collect()
    }
}

word_values!(TopologyKind, Direction, Gaps, Rttvar, AccEcn, Recovery);
