//! The tables of a scenario file. What stands here is all there is: the reader, the JSON Schema and
//! the reference page are made from it.

pub mod definitions;
pub mod fluid;
pub mod line_keys;
pub mod linux;
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
use crate::file::linux::LinuxFile;
use crate::file::sources::{ArrivalsForm, SizeForm};
use crate::file::sweep::{Plot, Sweep};
use crate::model::era::Era;
use crate::model::line::DelayLaw;
use crate::model::{AccEcn, IdleRestart, LossBase, RackRtt, Rttvar, Series, Start, Undo};
use crate::syntax::declaration::{
    At, Count, Definitions, FileValue, MAX_INTEGER, Named, Word, table, word_values,
};
use crate::syntax::document::Node;
use crate::values::spread::{LineRate, Spread};
use crate::values::{
    Buffer, ByteCount, EveryForm, OffOrTime, PlainAmount, SchemaVersion, Warmup, Way, Window,
};

table! {
    /// The keys outside every table.
    pub(crate) struct File {
        /// Version of this format.
        schema: SchemaVersion = required;
        /// The scenario's name in reports and result directories.
        name: String = required;
        /// Length of the run, at most 4800h (200 days).
        duration: Span = required;
        /// When measurement starts: a share of the duration, or a time.
        warmup: Warmup = default("0s");
        /// Seed of all random streams.
        seed: Count<0, MAX_INTEGER> = default(1);
        /// The link that stands for the whole network in measures that name no link, such as
        /// `utilization_ratio`. It does not affect the run.
        bottleneck: String = optional("a single link and its reverse: that link, or the reverse if \
                                       all data goes back; otherwise none");
        /// The era whose defaults apply to end hosts where the file sets nothing.
        era: Era = default("papers");
        /// Sizes on the wire.
        packets: PacketsFile = section;
        /// Settings that every flow's transport shares.
        transport: TransportFile = section;
        /// A network in a few keys; the alternative is `links`.
        topology: Topology = optional("`links` is required");
        /// A network link by link; the alternative is `topology`.
        links: Named<LinkFile> = optional("`topology` is required");
        /// Groups of flows.
        flows: Named<FlowFile> = required;
        /// Parts of the network whose border routers map the traffic onto flows of their own.
        islands: Named<IslandFile> = optional("none");
        /// Queues with parameters, to be used by name.
        queues: Named<QueueRef> = optional("registered kinds only");
        /// Protocols with parameters, to be used by name.
        protocols: Named<ProtocolRef> = optional("registered kinds only");
        /// What to record over time.
        probe: ProbeFile = section;
        /// How the fluid engine solves its equations; other engines ignore it.
        fluid: FluidFile = section;
        /// What the linux engine's packets are; other engines ignore it.
        linux: LinuxFile = section;
        /// What `clearpipe sweep run` varies; a single run has the file's own values.
        sweep: Sweep = optional("no sweep");
        /// What `clearpipe sweep report` draws.
        plot: Plot = optional("no plot");
    }
}

table! {
    /// Sizes on the wire, including headers.
    pub(crate) struct PacketsFile {
        /// A full data packet, 1B to 65535B.
        data: ByteCount = default("1000B");
        /// A pure acknowledgement, 1B to 65535B.
        ack: ByteCount = default("40B");
    }
}

table! {
    /// Settings of loss recovery and timers, the same for every flow.
    pub(crate) struct TransportFile {
        /// Shortest retransmission timeout.
        min_rto: Span = optional("the era's; papers 1s");
        /// Longest retransmission timeout.
        max_rto: Span = optional("the era's; papers 60s");
        /// Retransmission timeout before the first RTT sample.
        initial_rto: Span = optional("the era's; papers 1s");
        /// G of RFC 6298: the timeout exceeds the smoothed RTT by at least this.
        rto_granularity: Span = optional("the era's, at most min_rto; papers 100ms");
        /// How often the RTT's variation may fall: "rtt" (with one sample per RTT) or "ack" (with
        /// every sample).
        rttvar: Rttvar = optional("the era's; papers \"rtt\"");
        /// First window, in packets.
        initial_window: Window = optional("the era's; papers 1pkt");
        /// Duplicate ACKs that trigger a fast retransmit.
        dup_thresh: Count<1, 1000> = optional("the era's; papers 3");
        /// How long an ACK may wait for a second packet; "off" acknowledges every packet.
        delayed_ack: OffOrTime = optional("the era's; papers \"off\"");
        /// RFC 3042: the first two duplicate ACKs let new data out.
        limited_transmit: bool = optional("the era's; papers true");
        /// AccECN (RFC 9768) in place of RFC 3168's echo and of ideal feedback, for all protocols
        /// that use ECN: "off", "ace" (three bits) or "option" (the bits and the option's byte
        /// counts).
        accecn: AccEcn = optional("\"off\"");
        /// For `recovery = "rack"`: is a reduction taken back when packets turn out to have been
        /// late and not lost? "off", "dsack" (DSACK, and F-RTO after a timeout) or "timestamps"
        /// (these and Eifel), as Linux does without and with its timestamps.
        undo: Undo = optional("\"off\"");
        /// The window of TCP after an idle time longer than the timeout: "off" keeps it, "rfc5681"
        /// starts again from the first window, "rfc2861" halves it for each timeout down to that
        /// (Linux's tcp_slow_start_after_idle).
        idle_restart: IdleRestart = optional("\"off\"");
        /// What of a window of TCP a loss, a timeout or an echo reduces: "in-use" what was in
        /// flight if that did not fill the window (RFC 9438), "window" all of it (Linux).
        loss_base: LossBase = optional("\"in-use\"");
        /// For `recovery = "rack"`: after an echo of congestion the window comes down over a round
        /// trip by PRR, as after a loss (Linux), and does not grow meanwhile.
        echo_prr: bool = optional("false");
        /// For `recovery = "rack"`: of the segments that an ACK delivers, RACK takes the RTT of
        /// that sent "latest" (RFC 8985) or with the "highest" number (Linux).
        rack_rtt: RackRtt = optional("\"latest\"");
        /// Without SACK: a duplicate ACK counts as a segment delivered, which the next cumulative
        /// ACK does not count again (Linux).
        count_dupacks: bool = optional("false");
        /// For `recovery = "rack"`: where packets have come later than dup_thresh allows, a SACKed
        /// packet opens a window of TCP as an acknowledged one does (Linux).
        count_sacks: bool = optional("false");
        /// L of RFC 3465: windows of TCP grow by the packets that an ACK delivers, in slow start by
        /// at most so many per ACK. 0: once per ACK. Linux has no limit, which 1000 is.
        byte_counting: Count<0, 1000> = optional("0");
        /// Of a transfer, the packets that are acknowledged at once though ACKs are delayed: ns-3
        /// does so with 1, Linux's quick ACKs begin with up to 16.
        quick_acks: Count<0, 1000> = optional("0");
        /// Packets that a pacer lets out together, with twice the gap after two, and so on. From 2
        /// on a sender that is late makes up for as much as half a gap, as Linux does.
        pacing_burst: Count<1, 64> = optional("1");
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
            "undo" => self.undo.is_some(),
            "idle_restart" => self.idle_restart.is_some(),
            "loss_base" => self.loss_base.is_some(),
            "echo_prr" => self.echo_prr.is_some(),
            "rack_rtt" => self.rack_rtt.is_some(),
            "count_dupacks" => self.count_dupacks.is_some(),
            "count_sacks" => self.count_sacks.is_some(),
            "byte_counting" => self.byte_counting.is_some(),
            "quick_acks" => self.quick_acks.is_some(),
            "pacing_burst" => self.pacing_burst.is_some(),
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
    /// `kind = "dumbbell"`: two links, `bottleneck` from left to right and `bottleneck.reverse`
    /// back. Both have the same settings; their random numbers are independent.
    pub(crate) struct Dumbbell {
        /// "dumbbell".
        kind: TopologyKind = required;
        /// Capacity.
        rate: Rate = optional("`trace` is required");
        /// Two-way propagation time of flows without an `rtt` of their own.
        rtt: Span = required;
        /// One-way delay of each of the two links.
        owd: Span = optional("rtt / 4");
        /// Size of each buffer.
        buffer: Buffer = default("1bdp");
        /// Lower bound on each buffer, for every flow that crosses it in either direction.
        buffer_per_flow: PlainAmount = optional("no lower bound");
        /// The queue in both buffers: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
        /// Changes of the capacity, in order of time.
        steps: Vec<At<StepFile>> = optional("the capacity is always `rate`");
        /// Instead of `rate`: a trace in mahimahi's format. 1500 bytes may leave in each
        /// millisecond that it lists, one to a line; after the last it starts again.
        trace: TraceForm = optional("the capacity is `rate`");
        /// Outages, in order of time and not adjacent.
        down: Vec<At<Between>> = optional("never");
        /// Whether packets that arrive during an outage are lost; otherwise they wait in the
        /// buffer.
        down_drops: bool = default(false);
        /// Packets lost on the line, after service: a probability, or a table with a `kind`.
        loss: LossForm = optional("none");
        /// A delay added to each packet. Packets may overtake one another unless the table sets
        /// `in_order`.
        jitter: JitterForm = optional("none");
        /// Packets that are held up so that later ones overtake them.
        reorder: ReorderFile = optional("none");
        /// Packets that the device below the queue holds besides the one in service, first in first
        /// out, as a network card's ring does: what is in it the queue does not see, time or drop.
        device_packets: Count<0, 100000> = default(0);
        /// Linux's byte queue limits: the device holds no more bytes than keep the line busy. The
        /// limit falls after so long a time above need (Linux 1s); "off" is without.
        device_bql: OffOrTime = optional("\"off\"");
    }
}

table! {
    /// `kind = "parking-lot"`: a chain of links `l1`, `l2`, ... and back `l1.reverse`,
    /// `l2.reverse`, .... All have the same settings; their random numbers are independent.
    pub(crate) struct ParkingLot {
        /// "parking-lot".
        kind: TopologyKind = required;
        /// Links in each direction.
        links: Count<1, 1000> = required;
        /// Capacity.
        rate: Rate = optional("`trace` is required");
        /// One-way delay of each link.
        owd: Span = optional("link_rtt / 2; one of the two is required");
        /// There and back over one link.
        link_rtt: Span = optional("2 * owd");
        /// Two-way propagation time of flows without an `rtt` of their own.
        rtt: Span = optional("the links' delays alone");
        /// Size of each buffer.
        buffer: Buffer = default("1bdp");
        /// Lower bound on each buffer, for every flow that crosses it in either direction.
        buffer_per_flow: PlainAmount = optional("no lower bound");
        /// The queue in all buffers: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
        /// Changes of the capacity, in order of time.
        steps: Vec<At<StepFile>> = optional("the capacity is always `rate`");
        /// Instead of `rate`: a trace in mahimahi's format. 1500 bytes may leave in each
        /// millisecond that it lists, one to a line; after the last it starts again.
        trace: TraceForm = optional("the capacity is `rate`");
        /// Outages, in order of time and not adjacent.
        down: Vec<At<Between>> = optional("never");
        /// Whether packets that arrive during an outage are lost; otherwise they wait in the
        /// buffer.
        down_drops: bool = default(false);
        /// Packets lost on the line, after service: a probability, or a table with a `kind`.
        loss: LossForm = optional("none");
        /// A delay added to each packet. Packets may overtake one another unless the table sets
        /// `in_order`.
        jitter: JitterForm = optional("none");
        /// Packets that are held up so that later ones overtake them.
        reorder: ReorderFile = optional("none");
        /// Packets that the device below the queue holds besides the one in service, first in first
        /// out, as a network card's ring does: what is in it the queue does not see, time or drop.
        device_packets: Count<0, 100000> = default(0);
        /// Linux's byte queue limits: the device holds no more bytes than keep the line busy. The
        /// limit falls after so long a time above need (Linux 1s); "off" is without.
        device_bql: OffOrTime = optional("\"off\"");
    }
}

table! {
    /// `kind = "graphml"`: a map of a network in GraphML, as the Internet Topology Zoo publishes
    /// them. A node's name is its `label` if that is unique, otherwise its id. Every edge becomes a
    /// link `FROM-TO` and its reverse, `FROM-TO.reverse`, whether or not the graph is directed.
    /// Characters that a name cannot contain become `_`, and parallel edges are numbered. Flows use
    /// `from` and `to`, or `path`.
    pub(crate) struct MapFile {
        /// "graphml".
        kind: TopologyKind = required;
        /// The map.
        file: FileName = required;
        /// Capacity of the edges without `LinkSpeedRaw` (in bits per second).
        rate: Rate = optional("every edge must have one");
        /// One-way delay of edges whose ends lack `Latitude` or `Longitude`. For all others it is
        /// that of light in fibre, 200,000 km/s, along the great circle.
        owd: Span = optional("every node must have both");
        /// Size of each buffer.
        buffer: Buffer = default("1bdp");
        /// Lower bound on each buffer, for every flow that crosses it in either direction.
        buffer_per_flow: PlainAmount = optional("no lower bound");
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
        rate: Rate = optional("`trace` is required");
        /// One-way propagation delay, at most 1h.
        owd: Span = required;
        /// Size of the buffer.
        buffer: Buffer = default("1bdp");
        /// Lower bound on the buffer, for every flow that crosses it in either direction.
        buffer_per_flow: PlainAmount = optional("no lower bound");
        /// The queue in the buffer: a registered kind, a name under `queues` or a table.
        queue: QueueRef = default("droptail");
        /// Changes of the capacity, in order of time.
        steps: Vec<At<StepFile>> = optional("the capacity is always `rate`");
        /// Instead of `rate`: a trace in mahimahi's format. 1500 bytes may leave in each
        /// millisecond that it lists, one to a line; after the last it starts again.
        trace: TraceForm = optional("the capacity is `rate`");
        /// Outages, in order of time and not adjacent.
        down: Vec<At<Between>> = optional("never");
        /// Whether packets that arrive during an outage are lost; otherwise they wait in the
        /// buffer.
        down_drops: bool = default(false);
        /// Packets lost on the line, after service: a probability, or a table with a `kind`.
        loss: LossForm = optional("none");
        /// A delay added to each packet. Packets may overtake one another unless the table sets
        /// `in_order`.
        jitter: JitterForm = optional("none");
        /// Packets that are held up so that later ones overtake them.
        reorder: ReorderFile = optional("none");
        /// Packets that the device below the queue holds besides the one in service, first in first
        /// out, as a network card's ring does: what is in it the queue does not see, time or drop.
        device_packets: Count<0, 100000> = default(0);
        /// Linux's byte queue limits: the device holds no more bytes than keep the line busy. The
        /// limit falls after so long a time above need (Linux 1s); "off" is without.
        device_bql: OffOrTime = optional("\"off\"");
        /// Whether the same link exists in the other direction, as `NAME.reverse`, with random
        /// numbers of its own.
        duplex: bool = default(false);
    }
}

table! {
    /// A group of flows.
    pub(crate) struct FlowFile {
        /// A registered protocol, a name under `protocols` or a table.
        protocol: ProtocolRef = required;
        /// Number of flows; with `arrivals` the most that arrive.
        count: Count<1, 1_000_000> = optional("1; with `arrivals` no limit");
        /// Flows that arrive one after another from `start` to `stop`, each a transfer of its own:
        /// as a Poisson process with a rate (`300/s`) or a mean gap (`2ms`), at fixed intervals, or
        /// often enough to offer a share of the slowest link that the data crosses.
        arrivals: ArrivalsForm = optional("all flows exist from the start");
        /// With `topology`: the direction of the data.
        direction: Direction = optional("forward");
        /// In a parking lot: `long`, `cross(LINK)`, `cross(FIRST, LAST)` or `each` (one group
        /// `NAME.1`, `NAME.2`, ... for every link). With `links`: the links the data crosses.
        path: Way = optional("parking lot: long; with links: routed from `from` to `to`");
        /// With `links`: the links the ACKs cross.
        reverse_path: Vec<At<String>> = optional("routed back");
        /// With `links` and no `path`: the first node. The route has the least total delay; ties go
        /// to the fewest links, then to the links named first.
        from: String = optional("`path` is required");
        /// With `links` and no `path`: the last node.
        to: String = optional("`path` is required");
        /// Two-way propagation time. What the links do not account for is split equally over the
        /// four access hops.
        rtt: Spread<Span> = optional("the topology's, or `access_owd` = 0s");
        /// Instead of `rtt`: one-way delay of every access hop.
        access_owd: Spread<Span> = optional("see `rtt`");
        /// Instead of `rtt`: one-way delay between the source and the network.
        source_owd: Spread<Span> = optional("see `rtt`; 0s if `sink_owd` is there");
        /// Instead of `rtt`: one-way delay between the network and the sink.
        sink_owd: Spread<Span> = optional("see `rtt`; 0s if `source_owd` is there");
        /// Rate of the access hops; `2x` is twice the rate of the fastest link on the path, `steps`
        /// included.
        access_rate: LineRate = optional("10x");
        /// When the flows start.
        start: Start = default("0s");
        /// When flows stop sending new data; with `arrivals`, when flows stop arriving.
        stop: Span = optional("never");
        /// How much each flow sends; from a distribution, each flow draws its own size.
        size: SizeForm = default("unlimited");
        /// Rate at which the application offers data, one packet at a time.
        rate: Rate = optional("all at once");
        /// With `rate`: whether packets are evenly spaced or a Poisson process.
        gaps: Gaps = optional("even");
        /// With `rate`: how long the application offers data before each pause. It starts on.
        on: DelayLaw = optional("always");
        /// With `rate`: how long each pause is.
        off: DelayLaw = optional("no pauses");
        /// Layered video: the rate of each layer, the base first, at most 8. The application offers
        /// as many layers as fit the flow's pacing rate, or else its window over the smoothed RTT,
        /// and always the base.
        layers: Vec<At<Rate>> = optional("no layers");
        /// With `layers`: how often the application chooses.
        layer_time: Span = optional("1s");
        /// An earlier group with as many flows. Each flow sends what arrives at the sink of the
        /// flow with the same number there, as a proxy does that ends one connection and begins
        /// another (split TCP, a PEP).
        relay: String = optional("data of their own");
        /// With `relay`: how much of each flow the proxy stores, from arrival to acknowledgement.
        /// The first connection's source sends no more than fits.
        relay_buffer: PlainAmount = optional("no limit");
    }
}

table! {
    /// A set of links. All packets that cross it from one ingress to one egress belong to one
    /// macro-flow: they wait at the ingress in its queue, leave as its window allows, and carry an
    /// outer header on the way.
    pub(crate) struct IslandFile {
        /// The island's links, in both directions if it is to serve both. A link belongs to at most
        /// one island.
        links: Vec<At<String>> = required;
        /// The macro-flows' protocol, which must have a window: a registered protocol, a name under
        /// `protocols` or a table.
        protocol: ProtocolRef = required;
        /// Size of the outer header.
        outer: ByteCount = default("20B");
        /// Size of each macro-flow's queue at its ingress.
        buffer: PlainAmount = required;
        /// Groups that cross the island unchanged, because they speak its protocol themselves.
        native: Vec<At<String>> = optional("none");
    }
}

table! {
    /// What to record over time.
    pub(crate) struct ProbeFile {
        /// The series to record.
        series: Vec<At<Series>> = optional("none");
        /// Time between samples, or `change`: a sample whenever a value changes.
        every: EveryForm = default("100ms");
        /// Groups whose flows are recorded.
        flows: Vec<At<String>> = optional("all");
        /// Links that are recorded.
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

impl Word for Undo {
    const WHAT: &'static str = "undo";
    fn all() -> Vec<(&'static str, Undo)> {
        Undo::ALL.iter().map(|undo| (undo.name(), *undo)).collect()
    }
}

impl Word for IdleRestart {
    const WHAT: &'static str = "idle_restart";
    fn all() -> Vec<(&'static str, IdleRestart)> {
        IdleRestart::ALL.iter().map(|restart| (restart.name(), *restart)).collect()
    }
}

impl Word for LossBase {
    const WHAT: &'static str = "loss_base";
    fn all() -> Vec<(&'static str, LossBase)> {
        LossBase::ALL.iter().map(|base| (base.name(), *base)).collect()
    }
}

impl Word for RackRtt {
    const WHAT: &'static str = "rack_rtt";
    fn all() -> Vec<(&'static str, RackRtt)> {
        RackRtt::ALL.iter().map(|rtt| (rtt.name(), *rtt)).collect()
    }
}

impl Word for Recovery {
    const WHAT: &'static str = "recovery";
    fn all() -> Vec<(&'static str, Recovery)> {
        Recovery::ALL.iter().map(|recovery| (recovery.name(), *recovery)).collect()
    }
}

word_values!(
    TopologyKind,
    Direction,
    Gaps,
    Rttvar,
    AccEcn,
    Undo,
    IdleRestart,
    LossBase,
    RackRtt,
    Recovery
);
