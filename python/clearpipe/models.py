"""Scenarios in Python: a frozen class for each table of a scenario file.

They render to TOML, which the same reader parses and checks that reads scenario files. A key that
is left out has the reader's default.

Generated from docs/reference/scenario.schema.json by `make models`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from clearpipe.model import Model

__all__ = [
    "Buffer",
    "Bytes",
    "CdfSize",
    "DroptailQueue",
    "Dumbbell",
    "EveryLoss",
    "Flows",
    "GilbertElliottLoss",
    "Jitter",
    "Link",
    "ListLoss",
    "Map",
    "NewrenoProtocol",
    "Packets",
    "ParkingLot",
    "Probe",
    "ProtocolTable",
    "QueueTable",
    "RandomLoss",
    "Rate",
    "RedQueue",
    "RenoProtocol",
    "Reorder",
    "SackProtocol",
    "Scenario",
    "Share",
    "Step",
    "Time",
    "TimeLaw",
    "Transport",
    "VcpProtocol",
    "VcpQueue",
    "XcpProtocol",
    "XcpQueue",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class CdfSize(Model):
    """Sizes drawn from a distribution function."""

    cdf: str | Sequence[Sequence[Any]]
    """A file of two columns, bytes and cumulative probability from 0 to 1, or the same as a list of
    pairs. Both ascend, the last probability is 1; linear in between.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class DroptailQueue(Model):
    """First in first out, arrivals beyond the limit are dropped."""

    kind: Literal["droptail"] = "droptail"


@dataclass(frozen=True, kw_only=True, repr=False)
class Dumbbell(Model):
    """Two links, `bottleneck` from left to right and `bottleneck.reverse` back, the same in all
    that stands here: what the line does holds for both, with dice of their own.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    rtt: Time
    """Two-way propagation time of the flows that have no `rtt` of their own."""
    buffer: Buffer | None = None
    """The buffers' limit. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """The buffers hold at least this for every flow that crosses them in either direction.
    Examples: "2pkt", "2kB".
    """
    down: Sequence[Sequence[Time]] | None = None
    """Outages, in order and apart."""
    down_drops: bool | None = None
    """Are packets that arrive in an outage lost? Otherwise the buffer holds them. Left out: False.
    """
    jitter: TimeLaw | Jitter | None = None
    """A delay added to each packet. Packets overtake one another unless the table says otherwise.
    """
    loss: Share | RandomLoss | GilbertElliottLoss | EveryLoss | ListLoss | None = None
    """Packets lost on the line, after they were served: the probability, or see below."""
    owd: Time | None = None
    """One-way delay of each of the two links."""
    queue: str | QueueTable | None = None
    """The queue in both buffers: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity."""
    reorder: Reorder | None = None
    """Packets that are held up, so that later ones overtake them."""
    steps: Sequence[Step] | None = None
    """New capacities, ascending in time."""
    trace: str | Sequence[int] | None = None
    """Instead of `rate`: what mahimahi's trace lets through, 1500 bytes in each millisecond that is
    listed, one per line of a file. After the last it starts again.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class EveryLoss(Model):
    """Every n-th packet is lost."""

    kind: Literal["every"] = "every"
    n: int
    """From one loss to the next. 1 to 9223372036854775807."""
    data_only: bool | None = None
    """Are only data packets counted and lost? Left out: False."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Flows(Model):
    """A group of flows."""

    protocol: str | ProtocolTable
    """A registered protocol, a name under `protocols` or a table."""
    access_owd: str | Sequence[Time] | None = None
    """Instead of `rtt`: one-way delay of every access hop."""
    access_rate: str | Sequence[Rate] | None = None
    """Rate of the access hops."""
    arrivals: str | None = None
    """Flows that come one after another from `start` to `stop`, each a transfer of its own: a
    Poisson process with a rate (`300/s`) or a mean gap (`2ms`), one every so often, or as many as
    offer a share of the slowest link on the data's way. Examples: "poisson(300/s)", "poisson(2ms)",
    "every(10ms)", "load(60%)".
    """
    count: int | None = None
    """How many flows; with `arrivals` the most that come. 1 to 1000000."""
    direction: Literal["forward", "reverse"] | None = None
    """With `topology`: the data's direction."""
    from_: str | None = field(default=None, metadata={"key": "from"})
    """With `links` and no `path`: the first node. Routes have the least sum of delays, then the
    fewest links, then the links named first.
    """
    off: TimeLaw | None = None
    """With `rate`: how long a break is."""
    on: TimeLaw | None = None
    """With `rate`: how long the application offers data before a break. It starts with this."""
    path: str | Sequence[str] | None = None
    """In a parking lot: `long`, `cross(LINK)`, `cross(FIRST, LAST)` or `each` (one group `NAME.1`,
    `NAME.2`, ... for every link). With `links`: the links the data crosses.
    """
    rate: Rate | None = None
    """Rate at which the application offers data, a packet at a time."""
    reverse_path: Sequence[str] | None = None
    """With `links`: the links the ACKs cross."""
    rtt: str | Sequence[Time] | None = None
    """Two-way propagation time. What the links do not take is split equally over the four access
    hops.
    """
    sink_owd: str | Sequence[Time] | None = None
    """Instead of `rtt`: one-way delay between the network and the sink."""
    size: str | CdfSize | None = None
    """How much each of them sends. A distribution is drawn from for each flow. Left out:
    "unlimited".
    """
    source_owd: str | Sequence[Time] | None = None
    """Instead of `rtt`: one-way delay between the source and the network."""
    start: str | Sequence[Time] | None = None
    """When the flows start. Left out: "0s"."""
    stop: Time | None = None
    """When they stop sending new data; with `arrivals` when no more come."""
    to: str | None = None
    """With `links` and no `path`: the last node."""


@dataclass(frozen=True, kw_only=True, repr=False)
class GilbertElliottLoss(Model):
    """Bursts: a chain of two states, good at the start, that takes a step with each packet."""

    kind: Literal["gilbert-elliott"] = "gilbert-elliott"
    to_bad: Share
    """Probability of the step from good to bad."""
    to_good: Share
    """Probability of the step from bad to good."""
    data_only: bool | None = None
    """Are only data packets counted and lost? Left out: False."""
    loss_bad: Share | None = None
    """Probability of a loss in the bad state. Left out: "100%"."""
    loss_good: Share | None = None
    """Probability of a loss in the good state. Left out: "0%"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Jitter(Model):
    """A delay added to each packet."""

    delay: TimeLaw
    """How long."""
    in_order: bool | None = None
    """Does a packet wait for those that entered before it? Otherwise it overtakes them. Left out:
    False.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Link(Model):
    """One direction of a line between two nodes, with the buffer in front of it."""

    from_: str = field(metadata={"key": "from"})
    """The node it leaves."""
    owd: Time
    """One-way propagation delay, at most 1h."""
    to: str
    """The node it reaches."""
    buffer: Buffer | None = None
    """The buffer's limit. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """The buffer holds at least this for every flow that crosses it in either direction. Examples:
    "2pkt", "2kB".
    """
    down: Sequence[Sequence[Time]] | None = None
    """Outages, in order and apart."""
    down_drops: bool | None = None
    """Are packets that arrive in an outage lost? Otherwise the buffer holds them. Left out: False.
    """
    duplex: bool | None = None
    """Is there the same link back, called `NAME.reverse`, with dice of its own? Left out: False."""
    jitter: TimeLaw | Jitter | None = None
    """A delay added to each packet. Packets overtake one another unless the table says otherwise.
    """
    loss: Share | RandomLoss | GilbertElliottLoss | EveryLoss | ListLoss | None = None
    """Packets lost on the line, after they were served: the probability, or see below."""
    queue: str | QueueTable | None = None
    """The queue in the buffer: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity, 1bps to 100Tbps."""
    reorder: Reorder | None = None
    """Packets that are held up, so that later ones overtake them."""
    steps: Sequence[Step] | None = None
    """New capacities, ascending in time."""
    trace: str | Sequence[int] | None = None
    """Instead of `rate`: what mahimahi's trace lets through, 1500 bytes in each millisecond that is
    listed, one per line of a file. After the last it starts again.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class ListLoss(Model):
    """Certain packets are lost."""

    kind: Literal["list"] = "list"
    packets: Sequence[int]
    """Their numbers in ascending order, counted from 1."""
    data_only: bool | None = None
    """Are only data packets counted and lost? Left out: False."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Map(Model):
    """A map of a network in GraphML, as the Internet Topology Zoo has them. Nodes are called by
    their `label` where it is the only one, else by their id. Every edge is a link `FROM-TO` and the
    same back, `FROM-TO.reverse`, whether the graph is directed or not; characters that names cannot
    have become `_`, and parallel edges a number. Flows use `from` and `to`, or `path`.
    """

    kind: Literal["graphml"] = "graphml"
    file: str
    """The map."""
    buffer: Buffer | None = None
    """The buffers' limit. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """The buffers hold at least this for every flow that crosses them in either direction.
    Examples: "2pkt", "2kB".
    """
    owd: Time | None = None
    """One-way delay of the edges whose ends lack `Latitude` or `Longitude`; the others have that of
    light in fibre, 200,000 km/s, along the great circle.
    """
    queue: str | QueueTable | None = None
    """The queue in all buffers: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity of the edges without `LinkSpeedRaw` (in bits per second)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NewrenoProtocol(Model):
    """TCP NewReno: Reno's window with recovery from several losses per window."""

    kind: Literal["newreno"] = "newreno"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    recovery: Literal["reno", "newreno", "sack"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Packets(Model):
    """Sizes on the wire, headers inside."""

    ack: Bytes | None = None
    """A pure acknowledgement, 1B to 65535B. Left out: "40B"."""
    data: Bytes | None = None
    """A full data packet, 1B to 65535B. Left out: "1000B"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ParkingLot(Model):
    """A chain of links `l1`, `l2`, ... and back `l1.reverse`, `l2.reverse`, ..., all the same: what
    the line does holds for each of them, with dice of their own.
    """

    kind: Literal["parking-lot"] = "parking-lot"
    links: int
    """Links in each direction. 1 to 1000."""
    buffer: Buffer | None = None
    """The buffers' limit. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """The buffers hold at least this for every flow that crosses them in either direction.
    Examples: "2pkt", "2kB".
    """
    down: Sequence[Sequence[Time]] | None = None
    """Outages, in order and apart."""
    down_drops: bool | None = None
    """Are packets that arrive in an outage lost? Otherwise the buffer holds them. Left out: False.
    """
    jitter: TimeLaw | Jitter | None = None
    """A delay added to each packet. Packets overtake one another unless the table says otherwise.
    """
    link_rtt: Time | None = None
    """There and back over one link."""
    loss: Share | RandomLoss | GilbertElliottLoss | EveryLoss | ListLoss | None = None
    """Packets lost on the line, after they were served: the probability, or see below."""
    owd: Time | None = None
    """One-way delay of each link."""
    queue: str | QueueTable | None = None
    """The queue in all buffers: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity."""
    reorder: Reorder | None = None
    """Packets that are held up, so that later ones overtake them."""
    rtt: Time | None = None
    """Two-way propagation time of the flows that have no `rtt` of their own."""
    steps: Sequence[Step] | None = None
    """New capacities, ascending in time."""
    trace: str | Sequence[int] | None = None
    """Instead of `rate`: what mahimahi's trace lets through, 1500 bytes in each millisecond that is
    listed, one per line of a file. After the last it starts again.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Probe(Model):
    """What is recorded over time."""

    every: str | None = None
    """From one sample to the next, or `change`: whenever a value changes. Examples: "100ms",
    "change". Left out: "100ms".
    """
    flows: Sequence[str] | None = None
    """The groups whose flows are recorded."""
    links: Sequence[str] | None = None
    """The links that are recorded."""
    series: (
        Sequence[Literal["cwnd", "srtt", "goodput", "rate", "sender", "queue", "utilization", "drops", "losses", "router"]]
        | None
    ) = None
    """The series."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomLoss(Model):
    """Every packet is lost with the same probability, independently of the others."""

    kind: Literal["random"] = "random"
    p: Share
    """The probability."""
    data_only: bool | None = None
    """Are only data packets counted and lost? Left out: False."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RedQueue(Model):
    """Random early detection, gentle, with ECN."""

    kind: Literal["red"] = "red"
    by_size: bool | None = None
    """Is the probability proportional to the packet's size (ns-2's bytes_; RFC 7141 advises no)?"""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the average counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    gentle: bool | None = None
    """Does the probability rise to 1 between max_th and 2*max_th, rather than jump?"""
    mark_p: float | None = None
    """Above this p_b capable packets are dropped too; 1: never for that reason. 0.0 to 1.0."""
    max_p: float | None = None
    """max_p, the probability at max_th. 1e-06 to 1.0."""
    max_th: float | None = None
    """max_th, where the probability reaches max_p [packets]; 0: by max_th_ratio. 0.0 to
    1000000000.0.
    """
    max_th_ratio: float | None = None
    """max_th as a part of the buffer, unless max_th is given. 0.0 to 1.0."""
    min_th: float | None = None
    """min_th, below which nothing is marked [packets]; 0: by min_th_ratio. 0.0 to 1000000000.0."""
    min_th_ratio: float | None = None
    """min_th as a part of the buffer, unless min_th is given. 0.0 to 1.0."""
    w_q: float | None = None
    """w_q, the weight of a new sample in the average. 1e-09 to 1.0."""
    wait: bool | None = None
    """Is the first mark held back until count*p_b reaches 1?"""


@dataclass(frozen=True, kw_only=True, repr=False)
class RenoProtocol(Model):
    """TCP Reno: slow start, congestion avoidance, fast recovery."""

    kind: Literal["reno"] = "reno"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    recovery: Literal["reno", "newreno", "sack"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Reorder(Model):
    """Packets that are held up, so that later ones overtake them."""

    delay: Time
    """For how long, at most 1h."""
    p: Share
    """The probability that a packet is held up, independently of the others."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SackProtocol(Model):
    """TCP SACK: Reno's window with selective acknowledgements."""

    kind: Literal["sack"] = "sack"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    recovery: Literal["reno", "newreno", "sack"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Scenario(Model):
    """A scenario."""

    schema: Literal[1] = 1
    """Version of this format."""
    duration: Time
    """How long it runs, at most 4800h (200 days)."""
    flows: Mapping[str, Flows]
    """Groups of flows."""
    name: str
    """What reports and result directories call the scenario."""
    links: Mapping[str, Link] | None = None
    """A network of named links; the alternative is `topology`."""
    packets: Packets | None = None
    """Sizes on the wire."""
    plot: Mapping[str, Any] | None = None
    """Reserved for the sweep runner; a single run does not read it."""
    probe: Probe | None = None
    """What is recorded over time."""
    protocols: Mapping[str, str | ProtocolTable] | None = None
    """Protocols with parameters, to be used by name."""
    queues: Mapping[str, str | QueueTable] | None = None
    """Queues with parameters, to be used by name."""
    seed: int | None = None
    """Seed of all random streams. 0 to 9223372036854775807. Left out: 1."""
    sweep: Mapping[str, Any] | None = None
    """Reserved for the sweep runner; a single run does not read it."""
    topology: Dumbbell | ParkingLot | Map | None = None
    """A network in short; the alternative is `links`."""
    transport: Transport | None = None
    """What every flow's transport shares."""
    warmup: str | None = None
    """Measurements start here: a share of the duration or a time. Examples: "20%", "24s". Left out:
    "0s".
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Step(Model):
    """A new capacity."""

    at: Time
    """From then on."""
    rate: Rate
    """The capacity, 1bps to 100Tbps."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Transport(Model):
    """The settings of the reliability machinery, the same for every flow."""

    delayed_ack: str | None = None
    """How long an ACK may wait for a second packet. Examples: "off", "200ms". Left out: "off"."""
    dup_thresh: int | None = None
    """Duplicate ACKs that make a fast retransmit. 1 to 1000. Left out: 3."""
    initial_rto: Time | None = None
    """Retransmission timeout before the first RTT sample."""
    initial_window: str | None = None
    """Window at the start, in packets. Examples: "1pkt", "10pkt". Left out: "1pkt"."""
    limited_transmit: bool | None = None
    """RFC 3042: the first two duplicate ACKs let new data out. Left out: True."""
    max_rto: Time | None = None
    """Largest retransmission timeout. Left out: "60s"."""
    min_rto: Time | None = None
    """Least retransmission timeout."""
    preset: Literal["rfc", "ns2"] | None = None
    """The defaults of the keys below. Left out: "rfc"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpProtocol(Model):
    """VCP: two bits of load factor, MI, AI or MD at the end host."""

    kind: Literal["vcp"] = "vcp"
    ai_limit_high: Time | None = None
    """The AI scaling limiter's upper end; above it g has slope 1."""
    ai_limit_low: Time | None = None
    """The AI scaling limiter's lower end; below it g is linear."""
    alpha: float | None = None
    """alpha, the additive increase per t_d [packets] (eq. 3). 0.0 to 1000.0."""
    beta: float | None = None
    """beta, the factor of the decrease (eq. 4). 0.0 to 1.0."""
    high_load: float | None = None
    """The load factor transition point, where MI ends (section III-B). 0.01 to 1.0."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5). 0.0 to 10.0."""
    limiters: bool | None = None
    """Are the increases of very short and very long RTTs limited (S.1, S.2)?"""
    mi_limit: float | None = None
    """The MI scaling limiter: srtt/t_rho counts up to this. 0.001 to 100.0."""
    pace_large_rtt: bool | None = None
    """Are packets spaced when few of them share an RTT much longer than t_rho?"""
    recovery: Literal["reno", "newreno", "sack"] | None = None
    scale_rtt: Literal["srtt", "min_rtt"] | None = None
    """The RTT that scales the additive increase."""
    t_d: Time | None = None
    """t_d, the common base RTT of the additive increase (eq. 8)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor: MI's base and the length of the freeze."""
    weight: float | None = None
    """The flow's weight: its alpha is this many times as large (end of section IV). 0.001 to
    1000.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpQueue(Model):
    """VCP's load factor, quantised to two bits; ACKs are served first."""

    kind: Literal["vcp"] = "vcp"
    a: float | None = None
    """a, the weight of the old average of the queue (R.2). 0.0 to 1.0."""
    gamma: float | None = None
    """gamma, the target utilization (eq. 1). 0.01 to 2.0."""
    high_load: float | None = None
    """The load factor from which on the load is high (section III-B). 0.0 to 10.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (eq. 1). 0.0 to 10.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    overload: float | None = None
    """The load factor from which on it is overload (section III-B). 0.0 to 10.0."""
    priority: bool | None = None
    """Are ACKs served before data (section III-E)?"""
    t_q: Time | None = None
    """t_q, the period of the queue's samples (R.2)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor (R.3)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpProtocol(Model):
    """XCP: the router writes each packet's change of window."""

    kind: Literal["xcp"] = "xcp"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: Literal["reno", "newreno", "sack"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpQueue(Model):
    """XCP's efficiency and fairness controllers."""

    kind: Literal["xcp"] = "xcp"
    acks_first: bool | None = None
    """Are ACKs served before data?"""
    alpha: float | None = None
    """alpha, share of the spare bandwidth handed out per interval; stable below pi/(4*sqrt(2)) =
    0.555 (sections 3.5.1 and 4). 0.0 to 10.0.
    """
    beta: float | None = None
    """beta, share of the persistent queue drained per interval; alpha^2*sqrt(2) is the stable
    choice (sections 3.5.1 and 4). 0.0 to 10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    min_interval: Time | None = None
    """Shortest control interval."""
    min_queue_window: Time | None = None
    """Shortest window over which the persistent queue is the minimum."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    overdraw: bool | None = None
    """May one packet get more feedback than is left for the interval? Appendix A as printed says
    yes, the authors' code (ns-2's XCP queue) no.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """


Buffer: TypeAlias = str
"""bytes, packets, or multiples of capacity times the longest two-way propagation time of a flow
over the link, such as "1bdp", "1.5MB", "100pkt".
"""

Bytes: TypeAlias = str
"""a number of bytes with its unit, such as "1.5MB"."""

ProtocolTable: TypeAlias = (
    RenoProtocol
    | NewrenoProtocol
    | SackProtocol
    | XcpProtocol
    | VcpProtocol
)

QueueTable: TypeAlias = DroptailQueue | RedQueue | XcpQueue | VcpQueue

Rate: TypeAlias = str
"""a rate with its unit, such as "45Mbps"."""

Share: TypeAlias = str
"""a share in percent, such as "1%", "0.1%"."""

Time: TypeAlias = str
"""a time with its unit, such as "80ms"."""

TimeLaw: TypeAlias = str
"""a time or a distribution of times, such as "5ms", "uniform(0ms, 5ms)", "exponential(1s)",
"normal(5ms, 1ms)", "pareto(1s, 1.5)".
"""
