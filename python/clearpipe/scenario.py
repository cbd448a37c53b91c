"""Scenarios in Python: a frozen class for each table of a scenario file.

They render to TOML, which the same reader parses and checks that reads scenario files. A key that
is left out has the reader's default.

Generated from python/clearpipe/scenario.schema.json by `make models`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from clearpipe.values import Model

__all__ = [
    "AbcProtocol",
    "AbcQueue",
    "AimdQueueProtocol",
    "AredQueue",
    "AvqQueue",
    "Bbr3Protocol",
    "BbrProtocol",
    "BicProtocol",
    "BinomialProtocol",
    "BlueQueue",
    "BmccCsigProtocol",
    "BmccProtocol",
    "BmccQueue",
    "Buffer",
    "Bytes",
    "CdfSize",
    "CharnyProtocol",
    "CharnyQueue",
    "ChokeQueue",
    "CodelQueue",
    "CompoundProtocol",
    "CopaProtocol",
    "CsfqEdgeQueue",
    "CsfqQueue",
    "CsigQueue",
    "Cubic2005Protocol",
    "CubicProtocol",
    "DctcpProtocol",
    "DecbitProtocol",
    "DecbitQueue",
    "DpcpCsigProtocol",
    "DpcpProtocol",
    "DpcpQueue",
    "DropfrontQueue",
    "DroptailQueue",
    "DrrQueue",
    "Dualpi2Queue",
    "Dumbbell",
    "EricaProtocol",
    "EricaQueue",
    "EveryLoss",
    "FastProtocol",
    "Flows",
    "Fluid",
    "FqCodelQueue",
    "GaimdProtocol",
    "GilbertElliottLoss",
    "HstcpProtocol",
    "HtcpProtocol",
    "IllinoisProtocol",
    "Island",
    "IxcpPlusProtocol",
    "IxcpPlusQueue",
    "IxcpProtocol",
    "IxcpQueue",
    "JerseyProtocol",
    "JetmaxProtocol",
    "JetmaxQueue",
    "Jitter",
    "Link",
    "Linux",
    "ListLoss",
    "LtcpProtocol",
    "Map",
    "MaxnetProtocol",
    "MaxnetQueue",
    "MecnProtocol",
    "MecnQueue",
    "Metric",
    "MlcpCsigProtocol",
    "MlcpProtocol",
    "MlcpQueue",
    "MpcpProtocol",
    "MpcpQueue",
    "NbitCsigProtocol",
    "NbitProtocol",
    "NbitQueue",
    "NewrenoProtocol",
    "OsuProtocol",
    "OsuQueue",
    "Packets",
    "ParkingLot",
    "PcpProtocol",
    "PiQueue",
    "PieQueue",
    "PlotTable",
    "PragueProtocol",
    "PriorityQueue",
    "Probe",
    "ProtocolTable",
    "PxcpProtocol",
    "PxcpQueue",
    "PythonProtocol",
    "PythonQueue",
    "QueueTable",
    "QuickstartProtocol",
    "QuickstartQueue",
    "RandomLoss",
    "Rate",
    "RcpProtocol",
    "RcpQueue",
    "RedQueue",
    "RemQueue",
    "RenoProtocol",
    "Reorder",
    "RioQueue",
    "SackProtocol",
    "ScalableProtocol",
    "Scenario",
    "SconeProtocol",
    "SconeQueue",
    "Share",
    "Step",
    "StepQueue",
    "Sweep",
    "SweepUntil",
    "TahoeProtocol",
    "TfrcProtocol",
    "Time",
    "TimeLaw",
    "Transport",
    "UdpProtocol",
    "UnoProtocol",
    "UnoQueue",
    "ValueSeries",
    "VcpCsigProtocol",
    "VcpEndhostProtocol",
    "VcpFriendlyProtocol",
    "VcpProtocol",
    "VcpQueue",
    "VegasProtocol",
    "VqQueue",
    "WestwoodProtocol",
    "WfqQueue",
    "XcpCoreProtocol",
    "XcpCoreQueue",
    "XcpDivisionFreeProtocol",
    "XcpDivisionFreeQueue",
    "XcpFriendlyProtocol",
    "XcpFriendlyQueue",
    "XcpIntegerQueue",
    "XcpLawQueue",
    "XcpMisbehavingProtocol",
    "XcpPoliceQueue",
    "XcpProtocol",
    "XcpQueue",
    "XcpRProtocol",
    "XcpwProtocol",
    "XcpwQueue",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class AbcProtocol(Model):
    """ABC: each packet says accelerate or brake; CUBIC's window for other bottlenecks."""

    kind: Literal["abc"] = "abc"
    additive: float | None = None
    """Packets added per RTT, for fairness (section 3.1.3). 0.0 to 100.0."""
    brake: Literal["ce", "ect0"] | None = None
    """How a brake is written; as the routers have it."""
    dual: bool | None = None
    """Is there a second window, CUBIC's, for other bottlenecks (section 5.1)? Without it losses
    change nothing but what is sent again.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class AbcQueue(Model):
    """ABC's accelerates and brakes, one bit per packet."""

    kind: Literal["abc"] = "abc"
    brake: Literal["ce", "ect0"] | None = None
    """How a brake is written."""
    d_t: Time | None = None
    """d_t, the delay that is accepted (exp.sh's qdelay_ref)."""
    delta: Time | None = None
    """delta, the time in which delay above d_t is to go (exp.sh, for an RTT of 100 ms)."""
    eta: float | None = None
    """eta, the share of the capacity that is aimed at. 0.5 to 1.0."""
    mu_window: Time | None = None
    """Time over which a trace's capacity is measured; the program has T_w (D2)."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    target: Literal["paper", "code"] | None = None
    """What the target rate starts from."""
    token_limit: float | None = None
    """Most tokens. 1.0 to 1000.0."""
    window: Time | None = None
    """T_w, over which the rate of departures is measured."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AimdQueueProtocol(Model):
    """AIMD that decreases to RTTmin/RTTmax, so that small buffers keep the link full."""

    kind: Literal["aimd-queue"] = "aimd-queue"
    beta_max: float | None = None
    """The most that it leaves (D2). 0.01 to 0.999."""
    beta_min: float | None = None
    """The least that a cut leaves of the window. 0.01 to 0.99."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class AredQueue(Model):
    """Adaptive RED: max_p follows the average queue."""

    kind: Literal["ared"] = "ared"
    alpha: float | None = None
    """alpha, the increase of max_p, of which at most max_p/4 is taken (section 4). 0.0 to 1.0."""
    beta: float | None = None
    """beta, the decrease factor of max_p (section 4). 0.0 to 1.0."""
    bottom: float | None = None
    """max_p is decreased from this on; 0: the lesser of 0.01 and 10/C, C in packets/s (ns-2's rule
    for bottom_). 0.0 to 1.0.
    """
    by_size: bool | None = None
    """Is the probability proportional to the packet's size (ns-2's bytes_; RFC 7141 advises no)?"""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the average counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    gentle: bool | None = None
    """Does the probability rise to 1 between max_th and 2*max_th, rather than jump?"""
    interval: Time | None = None
    """Time between two changes of max_p (section 4)."""
    mark_p: float | None = None
    """Above this p_b capable packets are dropped too; 1: never for that reason. 0.0 to 1.0."""
    max_p: float | None = None
    """max_p at the start, the probability at max_th. 1e-06 to 1.0."""
    max_th: float | None = None
    """max_th, where the probability reaches max_p [packets]; 0: three times min_th. 0.0 to
    1000000000.0.
    """
    mean_size: int | None = None
    """Size of the packets in which bytes and the capacity are counted (ns-2's mean_pktsize_)
    [bytes]; 0: a full packet. 0.0 to 65535.0.
    """
    min_th: float | None = None
    """min_th, below which nothing is marked [packets]; 0: by target_delay. 0.0 to 1000000000.0."""
    preset: Literal["ns2"] | None = None
    """Named values of the parameters; other keys override them. ns2: The defaults of ns-2.35 with
    adaptive_ 1 (ns-default.tcl): packets of 500 bytes, by size, drops.
    """
    target_delay: Time | None = None
    """Mean delay for which the thresholds are set: min_th is half of what the line sends in it, at
    least 5 packets, and max_th three times min_th (section 5).
    """
    top: float | None = None
    """max_p is increased up to this. 0.0 to 1.0."""
    w_q: float | None = None
    """w_q, the weight of a new sample in the average; 0: 1 - exp(-1/C), C in packets/s (section 5).
    0.0 to 1.0.
    """
    wait: bool | None = None
    """Is the first mark held back until count*p_b reaches 1?"""


@dataclass(frozen=True, kw_only=True, repr=False)
class AvqQueue(Model):
    """Adaptive virtual queue: marks what a slower queue would drop."""

    kind: Literal["avq"] = "avq"
    alpha: float | None = None
    """alpha, the speed of the virtual capacity [1/s]. 0.0 to 1000000.0."""
    buffer_ratio: float | None = None
    """The virtual buffer as a part of the buffer (ns-2's buflim_). 0.0 to 10.0."""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the virtual queue counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    flows: int | None = None
    """N, the number of flows to choose alpha for; 0: alpha as given. 0.0 to 1000000.0."""
    gamma: float | None = None
    """gamma, the utilization to reach. 0.01 to 1.0."""
    initial_ratio: float | None = None
    """The virtual capacity at the start as a part of the capacity (ns-2's ecnlim_). 0.0 to 1.0."""
    preset: Literal["xcp-2002", "ns2"] | None = None
    """Named values of the parameters; other keys override them. xcp-2002: XCP's comparison (Katabi,
    Handley, Rohrs, SIGCOMM 2002, section 5): gamma 0.98, alpha 0.15 where the rule has no solution;
    give flows and rtt for the rule. ns2: The defaults of ns-2.35's Vq (ns-default.tcl, alpha in
    vq.cc): in bytes, drops.
    """
    rtt: Time | None = None
    """d, the RTT to choose alpha for; 0: alpha as given."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Bbr3Protocol(Model):
    """BBR version 3: bounded by losses above 2 %, leaves headroom, probes every 2 to 3 s."""

    kind: Literal["bbr3"] = "bbr3"
    beta: float | None = None
    """BBR.Beta: what a round of losses leaves of the short-term bounds at the least (section 2.8).
    0.1 to 1.0.
    """
    ecn: bool | None = None
    """Does it use ECN, by Linux's rules for shallow marking (D8)?"""
    ect1: bool | None = None
    """With ECN: are its packets ECT(1), for an L4S queue, rather than ECT(0)? As `dctcp` it has not
    all that RFC 9331 asks of a sender on the Internet.
    """
    headroom: float | None = None
    """BBR.Headroom: share of inflight_longterm left to others while cruising (section 2.8). 0.0 to
    0.9.
    """
    loss_thresh: float | None = None
    """BBR.LossThresh: share of losses per round that a probe for bandwidth may cause (section 2.8).
    0.0 to 0.9.
    """
    pacing_margin: float | None = None
    """BBR.PacingMarginPercent/100: share of the rate that pacing leaves unused (section 2.5). 0.0
    to 0.5.
    """
    probe_rtt_interval: Time | None = None
    """BBR.ProbeRTTInterval: least time between two ProbeRTTs (section 2.16.2)."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class BbrProtocol(Model):
    """BBR version 1: paces at the bottleneck's rate, with at most two BDPs in flight."""

    kind: Literal["bbr"] = "bbr"
    aggregation: bool | None = None
    """Is there room in the window for the most that ACKs have lately brought beyond BtlBw
    (tcp_bbr.c since Linux 5.1: bbr_ack_aggregation_cwnd)? Not in the papers.
    """
    cwnd_gain: float | None = None
    """Window gain of ProbeBW: BDPs in flight at most (tcp_bbr.c: bbr_cwnd_gain). 1.0 to 10.0."""
    high_gain: float | None = None
    """High gain: pacing and window gain of Startup, and the inverse of Drain's pacing gain: 2/ln 2,
    the least that doubles the rate each round (CACM, "Startup"). 1.1 to 10.0.
    """
    min_rtt_window: Time | None = None
    """W_R: length of the RTprop filter, and so the time between two ProbeRTTs (CACM: 10 s)."""
    offload: bool | None = None
    """Is there room in the window for three aggregates of 1 ms each (tcp_bbr.c: bbr_tso_segs_goal,
    bbr_quantization_budget)?
    """
    pacing_margin: float | None = None
    """Share of the rate that the pacing leaves unused (tcp_bbr.c: bbr_pacing_margin_percent, 1 %
    since Linux 5.0; 0 in the papers). 0.0 to 0.5.
    """
    probe_rtt_time: Time | None = None
    """Least time in ProbeRTT at four packets (tcp_bbr.c: bbr_probe_rtt_mode_ms)."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class BicProtocol(Model):
    """BIC: binary search for the window of the last loss."""

    kind: Literal["bic"] = "bic"
    beta: float | None = None
    """beta, share that a loss takes. 0.01 to 0.9."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    fast_convergence: bool | None = None
    """Fast convergence: a smaller maximum after two losses with ever smaller windows."""
    low_window: float | None = None
    """low_window, below which it is Reno [packets]. 1.0 to 1000000000.0."""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    preset: Literal["linux-2-6-22"] | None = None
    """Named values of the parameters; other keys override them. linux-2-6-22: Linux 2.6.22's
    numbers (net/ipv4/tcp_bic.c); its search goes a quarter of the way, and near the maximum by 0.2
    packets per RTT, which are laws and no numbers of this one.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    s_max: float | None = None
    """S_max, largest increase per RTT [packets]. 1.0 to 1000000.0."""
    s_min: float | None = None
    """S_min, smallest increase per RTT [packets]. 1e-06 to 1.0."""
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class BinomialProtocol(Model):
    """Binomial congestion control: SQRT, IIAD, or k and l."""

    kind: Literal["binomial"] = "binomial"
    alpha: float | None = None
    """alpha, increase per RTT at a window of one [packets] (section II). 1e-06 to 1000.0."""
    beta: float | None = None
    """beta, decrease at a window of one [packets] (section II). 0.01 to 100.0."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    k: float | None = None
    """k, exponent of the increase, with rule = "own" (section II). -1.0 to 3.0."""
    l: float | None = None
    """l, exponent of the decrease, with rule = "own" (section II). -1.0 to 1.0."""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    rule: Literal["sqrt", "iiad", "own"] | None = None
    """The rule: SQRT, IIAD, or own with k and l (section II)."""
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class BlueQueue(Model):
    """Blue: a probability from losses and idle times."""

    kind: Literal["blue"] = "blue"
    d1: float | None = None
    """delta1, the increase at a loss. 0.0 to 1.0."""
    d2: float | None = None
    """delta2, the decrease when the line is idle. 0.0 to 1.0."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    freeze_time: Time | None = None
    """The least time between two changes."""
    limit_ratio: float | None = None
    """L, the part of the buffer above which the probability rises; 1: at a loss. 0.0 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BmccCsigProtocol(Model):
    """BMCC's end host with its load factor from a CSIG tag of n bits."""

    kind: Literal["bmcc-csig"] = "bmcc-csig"
    a: float | None = None
    """The weight of the old average of the delay, per tag that tells one: VCP's a. 0.0 to 1.0."""
    abw_range: float | None = None
    """The range of ABW [bit/s]; what is beyond it is in the last bucket. 1000.0 to
    1000000000000000.0.
    """
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets]. 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the decrease at f = 1. 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the decrease at f = f_max. 0.0 to 1.0."""
    delay_range: Time | None = None
    """The range of the delay of a hop."""
    f_max: float | None = None
    """f_max, the load factor of the strongest decrease. 1.001 to 1.28."""
    f_min: float | None = None
    """The load factor below which xi grows no more. 0.001 to 1.0."""
    gamma: float | None = None
    """gamma, the target utilization (R4). 0.01 to 2.0."""
    high_load: float | None = None
    """The load factor where multiplicative increase ends. 0.01 to 1.0."""
    interval: Time | None = None
    """t, the interval over which available bandwidth is measured."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - f)/f. 0.0 to 10.0."""
    kappa_q: float | None = None
    """kappa_q, the part of the queue that counts as load, if the delay is asked for. 0.0 to 10.0.
    """
    least: float | None = None
    """The part of the range that is bucket 0, if the others are exponential. 1e-06 to 0.5."""
    quantization: Literal["linear", "exponential"] | None = None
    """How a signal's range is divided into buckets."""
    queue_delay: bool | None = None
    """Does every other packet ask for the largest delay of a hop, so that the load factor counts
    the queue?
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    signal: Literal["abw", "abw/c"] | None = None
    """What tells the load: ABW/C, or ABW. A host that asks for ABW does not learn the line's
    capacity and takes `abw_range` as that of every line.
    """
    t_p: Time | None = None
    """t_p, the period of the load factor: MI's base and the length of the freeze."""
    tag_bits: int | None = None
    """n, the bits of a value: 5 in the compact tag, 20 in the wide one. 1.0 to 20.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BmccProtocol(Model):
    """BMCC: a load factor sent bit by bit, with each packet's IP identification as threshold."""

    kind: Literal["bmcc"] = "bmcc"
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets]. 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the decrease at f = 1. 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the decrease at f = f_max. 0.0 to 1.0."""
    f_max: float | None = None
    """f_max, the load factor of the strongest decrease. 1.001 to 1.28."""
    f_min: float | None = None
    """The load factor below which xi grows no more. 0.001 to 1.0."""
    high_load: float | None = None
    """The load factor where multiplicative increase ends. 0.01 to 1.0."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - f)/f. 0.0 to 10.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    t_p: Time | None = None
    """t_p, the period of the load factor: MI's base and the length of the freeze."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BmccQueue(Model):
    """BMCC's load factor, compared with each packet's threshold; ACKs are served first."""

    kind: Literal["bmcc"] = "bmcc"
    a: float | None = None
    """a, the weight of the old average of the queue. 0.0 to 1.0."""
    gamma: float | None = None
    """gamma, the target utilization. 0.01 to 2.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains. 0.0 to 10.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    priority: bool | None = None
    """Are ACKs served before data, as VCP's router does it?"""
    t_p: Time | None = None
    """t_p, the period of the load factor."""
    t_q: Time | None = None
    """t_q, the period of the queue's samples."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CdfSize(Model):
    """Sizes drawn from a distribution function."""

    cdf: str | Sequence[Sequence[Any]]
    """A file of two columns, bytes and cumulative probability from 0 to 1, or the same as a list of
    pairs. Both ascend, the last probability is 1; linear in between.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class CharnyProtocol(Model):
    """Explicit rates by consistent marking: equal parts of what flows limited elsewhere leave."""

    kind: Literal["charny"] = "charny"
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class CharnyQueue(Model):
    """Charny's switch: records every flow's rate and advertises what is left for the others."""

    kind: Literal["charny"] = "charny"
    interval: Time | None = None
    """A flow that sends nothing for two of these is forgotten (D3)."""
    target: float | None = None
    """C over the capacity (D4). 0.01 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ChokeQueue(Model):
    """CHOKe: drops an arrival and a random waiting packet if both are of one flow."""

    kind: Literal["choke"] = "choke"
    max_p: float | None = None
    """max_p, RED's probability at max_th. 1e-06 to 1.0."""
    max_th: float | None = None
    """max_th [packets]; 0: max_th_ratio of the buffer. 0.0 to 1000000000.0."""
    max_th_ratio: float | None = None
    """max_th as a part of the buffer. 0.0 to 1.0."""
    min_th: float | None = None
    """min_th [packets]; 0: min_th_ratio of the buffer. 0.0 to 1000000000.0."""
    min_th_ratio: float | None = None
    """min_th as a part of the buffer. 0.0 to 1.0."""
    w_q: float | None = None
    """w_q, the average's weight. 1e-06 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CodelQueue(Model):
    """Controlled delay: drops at the head while packets wait too long."""

    kind: Literal["codel"] = "codel"
    ce_threshold: Time | None = None
    """A capable packet that has waited longer than this is marked whatever else is decided; 0 is
    off.
    """
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    interval: Time | None = None
    """INTERVAL, about the longest usual round-trip time, section 4.2."""
    newton: bool | None = None
    """Is the root of the control law Linux's, one Newton step per drop, and not exact?"""
    target: Time | None = None
    """TARGET, the waiting time that is accepted, section 4.3."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CompoundProtocol(Model):
    """Compound TCP: Reno plus a delay-based window."""

    kind: Literal["compound"] = "compound"
    alpha: float | None = None
    """alpha, factor of the increase of dwnd. 0.0 to 10.0."""
    beta: float | None = None
    """beta, share of the whole window that a loss takes. 0.01 to 0.99."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    gamma: float | None = None
    """gamma, backlog from which dwnd falls [packets]. 0.0 to 1000000.0."""
    k: float | None = None
    """k, exponent of the increase of dwnd. 0.0 to 1.0."""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    zeta: float | None = None
    """zeta, how fast it falls with the backlog. 0.0 to 100.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CopaProtocol(Model):
    """Copa: a target rate from the queueing delay; competes if others fill the buffer."""

    kind: Literal["copa"] = "copa"
    delta: float | None = None
    """delta of the default mode: 1/delta packets are kept in the queue (section 2.1). 0.004 to
    100.0.
    """
    min_window: Time | None = None
    """Time over which RTTmin is the smallest."""
    mode: Literal["auto", "default"] | None = None
    """Does it compete with flows that fill buffers (section 2.2)?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    velocity: Literal["paper", "code"] | None = None
    """When the velocity doubles (D4)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CsfqEdgeQueue(Model):
    """CSFQ edge: labels packets with their flow's rate, then acts as a core."""

    kind: Literal["csfq-edge"] = "csfq-edge"
    k: Time | None = None
    """K, constant of the estimate of a flow's rate, section 3.2.1; used at the edge."""
    k_alpha: Time | None = None
    """K_alpha, constant of the estimates of A and F, section 3.2.2."""
    k_c: Time | None = None
    """K_c, time between updates of alpha, section 3.2.2; the authors' code has K_alpha for both."""
    threshold: float | None = None
    """Queue below which alpha is forgotten without congestion, as a part of the buffer (16 KB of 64
    KB), section 4. 0.0 to 1.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class CsfqQueue(Model):
    """CSFQ core: drops by the packet's label and the estimated fair rate."""

    kind: Literal["csfq"] = "csfq"
    k: Time | None = None
    """K, constant of the estimate of a flow's rate, section 3.2.1; used at the edge."""
    k_alpha: Time | None = None
    """K_alpha, constant of the estimates of A and F, section 3.2.2."""
    k_c: Time | None = None
    """K_c, time between updates of alpha, section 3.2.2; the authors' code has K_alpha for both."""
    threshold: float | None = None
    """Queue below which alpha is forgotten without congestion, as a part of the buffer (16 KB of 64
    KB), section 4. 0.0 to 1.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class CsigQueue(Model):
    """CSIG: the available bandwidth or delay of the worst hop, in a tag of n bits."""

    kind: Literal["csig"] = "csig"
    abw_range: float | None = None
    """The range of ABW [bit/s]; what is beyond it is in the last bucket. 1000.0 to
    1000000000000000.0.
    """
    delay_range: Time | None = None
    """The range of the delay of a hop."""
    interval: Time | None = None
    """t, the interval over which available bandwidth is measured."""
    least: float | None = None
    """The part of the range that is bucket 0, if the others are exponential. 1e-06 to 0.5."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    quantization: Literal["linear", "exponential"] | None = None
    """How a signal's range is divided into buckets."""
    tag_bits: int | None = None
    """n, the bits of a value: 5 in the compact tag, 20 in the wide one. 1.0 to 20.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Cubic2005Protocol(Model):
    """CUBIC as first published, with S_max and beta = 0.2."""

    kind: Literal["cubic-2005"] = "cubic-2005"
    beta: float | None = None
    """beta, share that a loss takes (section 3.1). 0.01 to 0.9."""
    c: float | None = None
    """C, scale of the cubic function [packets/s^3] (section 3.1). 1e-06 to 1000000.0."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    s_max: float | None = None
    """S_max, largest growth [packets/s] (section 3.1). 0.01 to 1000000000.0."""
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    tcp_friendly: bool | None = None
    """The TCP mode (section 3.2)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CubicProtocol(Model):
    """CUBIC: a cubic function of the time since the last loss."""

    kind: Literal["cubic"] = "cubic"
    beta: float | None = None
    """beta_cubic, what a loss leaves of the window (section 4.6). 0.1 to 0.99."""
    c: float | None = None
    """C, scale of the cubic function [packets/s^3] (section 5.1). 1e-06 to 1000000.0."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    fast_convergence: bool | None = None
    """Fast convergence: a smaller W_max after two losses with ever smaller windows (section 4.7).
    """
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    preset: Literal["linux-2-6-22"] | None = None
    """Named values of the parameters; other keys override them. linux-2-6-22: Linux 2.6.22's
    numbers (net/ipv4/tcp_cubic.c, version 2.1): a loss leaves 819/1024.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    tcp_friendly: bool | None = None
    """The Reno-friendly region (section 4.3)."""
    update: Literal["rfc9438", "linux"] | None = None
    """How the window follows the function: by fractions, or in whole packets as Linux counts."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DctcpProtocol(Model):
    """DCTCP: a decrease in proportion to the share of marked packets."""

    kind: Literal["dctcp"] = "dctcp"
    alpha_0: float | None = None
    """alpha at the start (section 3.3: 1). 0.0 to 1.0."""
    ce_acks: Literal["off", "rfc8257", "ns-3"] | None = None
    """With delayed ACKs: what the receiver does when marks begin or end (section 3.2)."""
    cwr: bool | None = None
    """Does a mark bring the window down over a round trip, without growth, as Linux and ns-3 do
    (CWR), and not at once?
    """
    ect1: bool | None = None
    """Do its packets say that they are L4S's, ECT(1) (RFC 9331 section 4.1), rather than ECT(0)?
    Over an L4S queue between few flows or in a data centre: it has not all that RFC 9331 asks of a
    sender on the Internet.
    """
    g: float | None = None
    """g, weight of the last window in alpha (section 4.2: 1/16). 0.0001 to 1.0."""
    hold: bool | None = None
    """Does a window that a mark has cut not grow until what was out then is acknowledged, as in
    Linux and ns-3, though it comes down at once?
    """
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    update: Literal["rfc8257", "linux"] | None = None
    """How alpha and the window are reckoned: by fractions, or in integers as Linux does."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DecbitProtocol(Model):
    """DECbit: the majority of the bits in every second window decides."""

    kind: Literal["decbit"] = "decbit"
    cutoff: float | None = None
    """The share of set bits from which on the window shrinks. 0.0 to 1.0."""
    decrease: float | None = None
    """By what it is multiplied else. 0.0 to 1.0."""
    increase: float | None = None
    """By what it grows [packets]. 0.0 to 1000.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class DecbitQueue(Model):
    """DECbit: marks while the average queue of two busy cycles is one packet or more."""

    kind: Literal["decbit"] = "decbit"
    threshold: float | None = None
    """The average queue, the packet in service counted, from which on the bit is set [packets]. 0.0
    to 1000000000.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class DpcpCsigProtocol(Model):
    """DPCP's end host with its load factor from one CSIG tag of n bits, without pairs."""

    kind: Literal["dpcp-csig"] = "dpcp-csig"
    a: float | None = None
    """The weight of the old average of the delay, per tag that tells one: VCP's a. 0.0 to 1.0."""
    abw_range: float | None = None
    """The range of ABW [bit/s]; what is beyond it is in the last bucket. 1000.0 to
    1000000000000000.0.
    """
    ai_limit_high: Time | None = None
    """The AI scaling limiter's upper end; above it g has slope 1."""
    ai_limit_low: Time | None = None
    """The AI scaling limiter's lower end; below it g is linear."""
    alpha: float | None = None
    """alpha, the additive increase per t_d [packets] (VCP's eq. 3). 0.0 to 1000.0."""
    bounds: bool | None = None
    """Are the increases of very short and very long RTTs limited, as VCP's? Section II-B sees in
    these bounds what makes VCP slow. Without them xi = 1 makes 32 windows of one in an RTT of 1 s.
    """
    decoupled_loss: bool | None = None
    """Does a loss leave the window alone, timeouts included? Else it is answered as by Reno. Meant
    to go with the recovery that finds lost retransmissions, too.
    """
    delay_range: Time | None = None
    """The range of the delay of a hop."""
    downgrade_after: int | None = None
    """Consecutive MSPs or LSPs that make the sender fall back to VCP (section III-D). 2.0 to
    1000.0.
    """
    gamma: float | None = None
    """gamma, the target utilization (R4). 0.01 to 2.0."""
    gap: float | None = None
    """How far the receiver's number is ahead of the data's first one [bytes]; both are random, and
    this is, too, at -1 (section III-B). A multiple of the payload makes a tie. -1.0 to
    4294967295.0.
    """
    interval: Time | None = None
    """t, the interval over which available bandwidth is measured."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the upper edge of the level (VCP's eq. 10). 0.0 to
    10.0.
    """
    kappa_q: float | None = None
    """kappa_q, the part of the queue that counts as load, if the delay is asked for. 0.0 to 10.0.
    """
    least: float | None = None
    """The part of the range that is bucket 0, if the others are exponential. 1e-06 to 0.5."""
    mi_limit: float | None = None
    """The MI scaling limiter: srtt/t_rho counts up to this. 0.001 to 100.0."""
    pace_large_rtt: bool | None = None
    """Are packets spaced when few of them share an RTT much longer than t_rho?"""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    quantization: Literal["linear", "exponential"] | None = None
    """How a signal's range is divided into buckets."""
    queue_delay: bool | None = None
    """Does every other packet ask for the largest delay of a hop, so that the load factor counts
    the queue?
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    relapses: int | None = None
    """So many relapses make the fall-back final (section III-D). 0.0 to 1000000.0."""
    resume_rtts: float | None = None
    """After so many RTTs it sends pairs again ("several", section III-D). 0.0 to 10000.0."""
    scale_rtt: Literal["srtt", "min_rtt"] | None = None
    """The RTT that scales the additive increase."""
    signal: Literal["abw", "abw/c"] | None = None
    """What tells the load: ABW/C, or ABW. A host that asks for ABW does not learn the line's
    capacity and takes `abw_range` as that of every line.
    """
    t_d: Time | None = None
    """t_d, the common base RTT of the additive increase (VCP's eq. 8)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor: MI's base and the length of the freeze."""
    tag_bits: int | None = None
    """n, the bits of a value: 5 in the compact tag, 20 in the wide one. 1.0 to 20.0."""
    weight: float | None = None
    """The flow's weight: its alpha is this many times as large. 0.001 to 1000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DpcpProtocol(Model):
    """DPCP: four bits of load factor over pairs of packets, two in each."""

    kind: Literal["dpcp"] = "dpcp"
    ai_limit_high: Time | None = None
    """The AI scaling limiter's upper end; above it g has slope 1."""
    ai_limit_low: Time | None = None
    """The AI scaling limiter's lower end; below it g is linear."""
    alpha: float | None = None
    """alpha, the additive increase per t_d [packets] (VCP's eq. 3). 0.0 to 1000.0."""
    bounds: bool | None = None
    """Are the increases of very short and very long RTTs limited, as VCP's? Section II-B sees in
    these bounds what makes VCP slow. Without them xi = 1 makes 32 windows of one in an RTT of 1 s.
    """
    decoupled_loss: bool | None = None
    """Does a loss leave the window alone, timeouts included? Else it is answered as by Reno. Meant
    to go with the recovery that finds lost retransmissions, too.
    """
    downgrade_after: int | None = None
    """Consecutive MSPs or LSPs that make the sender fall back to VCP (section III-D). 2.0 to
    1000.0.
    """
    gap: float | None = None
    """How far the receiver's number is ahead of the data's first one [bytes]; both are random, and
    this is, too, at -1 (section III-B). A multiple of the payload makes a tie. -1.0 to
    4294967295.0.
    """
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the upper edge of the level (VCP's eq. 10). 0.0 to
    10.0.
    """
    mi_limit: float | None = None
    """The MI scaling limiter: srtt/t_rho counts up to this. 0.001 to 100.0."""
    pace_large_rtt: bool | None = None
    """Are packets spaced when few of them share an RTT much longer than t_rho?"""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    relapses: int | None = None
    """So many relapses make the fall-back final (section III-D). 0.0 to 1000000.0."""
    resume_rtts: float | None = None
    """After so many RTTs it sends pairs again ("several", section III-D). 0.0 to 10000.0."""
    scale_rtt: Literal["srtt", "min_rtt"] | None = None
    """The RTT that scales the additive increase."""
    t_d: Time | None = None
    """t_d, the common base RTT of the additive increase (VCP's eq. 8)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor: MI's base and the length of the freeze."""
    weight: float | None = None
    """The flow's weight: its alpha is this many times as large. 0.001 to 1000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DpcpQueue(Model):
    """DPCP's load factor in nine levels, two bits in each packet of a pair."""

    kind: Literal["dpcp"] = "dpcp"
    a: float | None = None
    """a, the weight of the old average of the queue (VCP's). 0.0 to 1.0."""
    flag_slots: int | None = None
    """Flags that the router has; flows whose numbers are equal modulo this share one (section
    III-C). 1.0 to 4096.0.
    """
    gamma: float | None = None
    """gamma, the target utilization (VCP's). 0.01 to 2.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (VCP's). 0.0 to 10.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    priority: bool | None = None
    """Are ACKs served before data (VCP's)?"""
    t_q: Time | None = None
    """t_q, the period of the queue's samples (VCP's)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor (VCP's)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DropfrontQueue(Model):
    """First in, first out; an arrival beyond the limit drops from the front."""

    kind: Literal["dropfront"] = "dropfront"


@dataclass(frozen=True, kw_only=True, repr=False)
class DroptailQueue(Model):
    """First in, first out; arrivals beyond the limit are dropped."""

    kind: Literal["droptail"] = "droptail"


@dataclass(frozen=True, kw_only=True, repr=False)
class DrrQueue(Model):
    """Deficit round robin over flows or groups; drops from the longest queue."""

    kind: Literal["drr"] = "drr"
    by: Literal["flow", "group", "acks"] | None = None
    """What makes a class: a flow, a group of flows in the order of the scenario, or ACKs (class 0)
    and data (class 1).
    """
    quantum: int | None = None
    """Q, the quantum of weight 1 [bytes], section 3; 0: a full packet. 0.0 to 1000000.0."""
    w0: float | None = None
    """Weight of class 0: its quantum is so many times Q. 0.01 to 100.0."""
    w1: float | None = None
    """Weight of class 1. 0.01 to 100.0."""
    w2: float | None = None
    """Weight of class 2. 0.01 to 100.0."""
    w3: float | None = None
    """Weight of class 3 and all further ones. 0.01 to 100.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Dualpi2Queue(Model):
    """L4S's coupled dual queue: classic packets picked with p'^2, scalable ones with k p'."""

    kind: Literal["dualpi2"] = "dualpi2"
    alpha: float | None = None
    """alpha, the integral gain [1/s]. 0.004 to 10000.0."""
    beta: float | None = None
    """beta, the proportional gain [1/s]. 0.004 to 10000.0."""
    drop_early: bool | None = None
    """Is the coupled decision made on arrival rather than at the head?"""
    k: int | None = None
    """k, the coupling factor. 1.0 to 255.0."""
    l_aqm: Literal["step", "ramp"] | None = None
    """What the L queue does by itself."""
    min_qlen_step: int | None = None
    """Packets that must wait behind for step or ramp to act (Linux's min_qlen_step, the RFC's
    Th_len). 0.0 to 1000000.0.
    """
    overload: Literal["drop", "overflow"] | None = None
    """What becomes of packets when k p' is above 1."""
    preset: Literal["rfc9332"] | None = None
    """Named values of the parameters; other keys override them. rfc9332: RFC 9332, appendix A.1:
    T_update = min(target, RTT_max/3), alpha = 0.1 T_update/RTT_max^2 and beta = 0.3/RTT_max for
    RTT_max = 100 ms, with the ramp from 0.8 to 1.2 ms.
    """
    range: Time | None = None
    """The ramp's length in time: above threshold + range all are marked."""
    scheduler: Literal["wrr", "ts-fifo"] | None = None
    """Which queue is served."""
    step_packets: int | None = None
    """The step in packets that wait in the L queue, in place of time; 0: in time. 0.0 to 1000000.0.
    """
    t_update: Time | None = None
    """t_update, time between two changes of p'."""
    target: Time | None = None
    """target, the delay to hold in the C queue."""
    threshold: Time | None = None
    """The step's threshold, or the ramp's lower one (minTh)."""
    tshift: Time | None = None
    """tshift, by how much older C's head must be than L's in the time-shifted FIFO (appendix A.2).
    """
    wc: int | None = None
    """wc, the C queue's weight [per cent]; the L queue has the rest. 0.0 to 100.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Dumbbell(Model):
    """`kind = "dumbbell"`: two links, `bottleneck` from left to right and `bottleneck.reverse`
    back. Both have the same settings; their random numbers are independent.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    rtt: Time
    """Two-way propagation time of flows without an `rtt` of their own."""
    buffer: Buffer | None = None
    """Size of each buffer. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """Lower bound on each buffer, for every flow that crosses it in either direction. Examples:
    "2pkt", "2kB".
    """
    device_bql: str | None = None
    """Linux's byte queue limits: the device holds no more bytes than keep the line busy. The limit
    falls after so long a time above need (Linux 1s); "off" is without. Examples: "off", "200ms".
    """
    device_packets: int | None = None
    """Packets that the device below the queue holds besides the one in service, first in first out,
    as a network card's ring does: what is in it the queue does not see, time or drop. 0 to 100000.
    Left out: 0.
    """
    down: Sequence[Sequence[Time]] | None = None
    """Outages, in order of time and not adjacent."""
    down_drops: bool | None = None
    """Whether packets that arrive during an outage are lost; otherwise they wait in the buffer.
    Left out: False.
    """
    jitter: TimeLaw | Jitter | None = None
    """A delay added to each packet. Packets may overtake one another unless the table sets
    `in_order`.
    """
    loss: Share | RandomLoss | GilbertElliottLoss | EveryLoss | ListLoss | None = None
    """Packets lost on the line, after service: a probability, or a table with a `kind`."""
    owd: Time | None = None
    """One-way delay of each of the two links."""
    queue: str | QueueTable | None = None
    """The queue in both buffers: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity."""
    reorder: Reorder | None = None
    """Packets that are held up so that later ones overtake them."""
    steps: Sequence[Step] | None = None
    """Changes of the capacity, in order of time."""
    trace: str | Sequence[int] | None = None
    """Instead of `rate`: a trace in mahimahi's format. 1500 bytes may leave in each millisecond
    that it lists, one to a line; after the last it starts again.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class EricaProtocol(Model):
    """ERICA: the larger of the fair share and the rate over the load."""

    kind: Literal["erica"] = "erica"
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class EricaQueue(Model):
    """ERICA's switch: load, active flows, and the largest grant of the previous interval."""

    kind: Literal["erica"] = "erica"
    delta: float | None = None
    """delta: up to z = 1 + delta all flows may rise to the largest allocation. 0.0 to 1.0."""
    interval: Time | None = None
    """T, the averaging interval: load and active flows are counted over it."""
    target: float | None = None
    """The target utilization, as a part of the capacity. 0.01 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class EveryLoss(Model):
    """Every nth packet is lost."""

    kind: Literal["every"] = "every"
    n: int
    """Packets from one loss to the next. 1 to 9223372036854775807."""
    data_only: bool | None = None
    """Whether only data packets are counted and lost. Left out: False."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FastProtocol(Model):
    """FAST TCP: keeps alpha packets in the queues."""

    kind: Literal["fast"] = "fast"
    alpha: float | None = None
    """alpha, the packets of a flow that are to wait in the queues [packets] (ToN eq. (10)). 0.1 to
    1000000.0.
    """
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    gamma: float | None = None
    """gamma, how far an update goes towards its aim (ToN eq. (10)). 0.001 to 1.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Flows(Model):
    """A group of flows."""

    protocol: str | ProtocolTable
    """A registered protocol, a name under `protocols` or a table."""
    access_owd: str | Sequence[Time] | None = None
    """Instead of `rtt`: one-way delay of every access hop."""
    access_rate: str | Sequence[Rate] | None = None
    """Rate of the access hops; `2x` is twice the rate of the fastest link on the path, `steps`
    included.
    """
    arrivals: str | None = None
    """Flows that arrive one after another from `start` to `stop`, each a transfer of its own: as a
    Poisson process with a rate (`300/s`) or a mean gap (`2ms`), at fixed intervals, or often enough
    to offer a share of the slowest link that the data crosses. Examples: "poisson(300/s)",
    "poisson(2ms)", "every(10ms)", "load(60%)".
    """
    count: int | None = None
    """Number of flows; with `arrivals` the most that arrive. 1 to 1000000."""
    direction: Literal["forward", "reverse"] | None = None
    """With `topology`: the direction of the data."""
    from_: str | None = field(default=None, metadata={"key": "from"})
    """With `links` and no `path`: the first node. The route has the least total delay; ties go to
    the fewest links, then to the links named first.
    """
    gaps: Literal["even", "poisson"] | None = None
    """With `rate`: whether packets are evenly spaced or a Poisson process."""
    layer_time: Time | None = None
    """With `layers`: how often the application chooses."""
    layers: Sequence[Rate] | None = None
    """Layered video: the rate of each layer, the base first, at most 8. The application offers as
    many layers as fit the flow's pacing rate, or else its window over the smoothed RTT, and always
    the base.
    """
    off: TimeLaw | None = None
    """With `rate`: how long each pause is."""
    on: TimeLaw | None = None
    """With `rate`: how long the application offers data before each pause. It starts on."""
    path: str | Sequence[str] | None = None
    """In a parking lot: `long`, `cross(LINK)`, `cross(FIRST, LAST)` or `each` (one group `NAME.1`,
    `NAME.2`, ... for every link). With `links`: the links the data crosses.
    """
    rate: Rate | None = None
    """Rate at which the application offers data, one packet at a time."""
    relay: str | None = None
    """An earlier group with as many flows. Each flow sends what arrives at the sink of the flow
    with the same number there, as a proxy does that ends one connection and begins another (split
    TCP, a PEP).
    """
    relay_buffer: str | None = None
    """With `relay`: how much of each flow the proxy stores, from arrival to acknowledgement. The
    first connection's source sends no more than fits. Examples: "2pkt", "2kB".
    """
    reverse_path: Sequence[str] | None = None
    """With `links`: the links the ACKs cross."""
    rtt: str | Sequence[Time] | None = None
    """Two-way propagation time. What the links do not account for is split equally over the four
    access hops.
    """
    sink_owd: str | Sequence[Time] | None = None
    """Instead of `rtt`: one-way delay between the network and the sink."""
    size: str | CdfSize | None = None
    """How much each flow sends; from a distribution, each flow draws its own size. Left out:
    "unlimited".
    """
    source_owd: str | Sequence[Time] | None = None
    """Instead of `rtt`: one-way delay between the source and the network."""
    start: str | Sequence[Time] | None = None
    """When the flows start. Left out: "0s"."""
    stop: Time | None = None
    """When flows stop sending new data; with `arrivals`, when flows stop arriving."""
    to: str | None = None
    """With `links` and no `path`: the last node."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Fluid(Model):
    """How the fluid engine solves its equations; other engines ignore it."""

    sending: Literal["rates", "acks"] | None = None
    """Sources send a window evenly over each RTT, or whole packets as ACKs allow. Left out:
    "rates".
    """
    step: str | None = None
    """Length of a step. `auto` adapts it to meet the tolerance, or fixes it if classes of flows
    cross links more than 20,000 times. With `sending = "acks"` all steps have one length: `auto` is
    an eightieth of the shortest RTT and at most 0.5 ms, a given step is at most a quarter of the
    shortest RTT, and `tolerance` is not used. Examples: "auto", "1ms". Left out: "auto".
    """
    tolerance: float | None = None
    """Error that one step may add to a window, relative to the window. Steps of fixed length ignore
    it. 1e-09 to 0.1. Left out: 0.0001.
    """
    vcp: Literal["switching", "miaimd"] | None = None
    """VCP as the protocol, with codes that switch, or as the paper's MIAIMD model. Left out:
    "switching".
    """
    xcp: Literal["intervals", "continuous"] | None = None
    """XCP's and iXCP's routers as in the protocol, with control intervals, or as in its analysis.
    Left out: "intervals".
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class FqCodelQueue(Model):
    """Hashed flow queues, new ones first, with CoDel in each."""

    kind: Literal["fq-codel"] = "fq-codel"
    ecn: bool | None = None
    """Are capable packets marked instead of dropped? Section 5.2.6."""
    flows: int | None = None
    """Number of queues, section 5.2.5. 1.0 to 65536.0."""
    interval: Time | None = None
    """INTERVAL of each queue's CoDel, section 5.2.1."""
    link_bytes: bool | None = None
    """Does CoDel look at what all queues hold before it drops, and not at its queue alone (RFC
    8289, section 4.4)? Linux looks at all.
    """
    newton: bool | None = None
    """Is the root of the control law Linux's, one Newton step per drop, and not exact?"""
    quantum: int | None = None
    """Quantum [bytes], section 5.2.4; 0: a full packet. 0.0 to 1000000.0."""
    target: Time | None = None
    """TARGET of each queue's CoDel, section 5.2.2."""


@dataclass(frozen=True, kw_only=True, repr=False)
class GaimdProtocol(Model):
    """General AIMD(alpha, beta), TCP-friendly with (0.31, 7/8)."""

    kind: Literal["gaimd"] = "gaimd"
    alpha: float | None = None
    """alpha, increase per RTT [packets] (section 2). 1e-06 to 1000.0."""
    beta: float | None = None
    """beta, what a loss leaves of the window (section 2). 0.01 to 0.999."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class GilbertElliottLoss(Model):
    """Bursts of losses: a two-state Markov chain that starts in the good state and takes one step
    per packet.
    """

    kind: Literal["gilbert-elliott"] = "gilbert-elliott"
    to_bad: Share
    """Probability of a step from good to bad."""
    to_good: Share
    """Probability of a step from bad to good."""
    data_only: bool | None = None
    """Whether only data packets are counted and lost. Left out: False."""
    loss_bad: Share | None = None
    """Probability of a loss in the bad state. Left out: "100%"."""
    loss_good: Share | None = None
    """Probability of a loss in the good state. Left out: "0%"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class HstcpProtocol(Model):
    """HighSpeed TCP: increase and decrease that depend on the window."""

    kind: Literal["hstcp"] = "hstcp"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    high_decrease: float | None = None
    """High_Decrease, b(w) at High_Window (section 5). 0.01 to 0.5."""
    high_p: float | None = None
    """High_P, the loss rate p(w) at High_Window (section 5). 1e-12 to 1e-05."""
    high_window: float | None = None
    """High_Window, where b(w) is High_Decrease and p(w) is High_P [packets] (section 5). 1000.0 to
    1000000000.0.
    """
    low_p: float | None = None
    """Low_P, the loss rate p(w) at Low_Window (section 5). 1e-05 to 0.1."""
    low_window: float | None = None
    """Low_Window, up to which it is Reno [packets] (section 5). 2.0 to 1000.0."""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    preset: Literal["linux-2-6-22"] | None = None
    """Named values of the parameters; other keys override them. linux-2-6-22: Linux's a(w) and b(w)
    (net/ipv4/tcp_highspeed.c, 2.6.22 as today).
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    table: bool | None = None
    """Are a(w) and b(w) of the first row of appendix B's table whose window is not below w, b
    rounded down to 256ths (Linux's tcp_highspeed.c)? The ends of the line are then the RFC's,
    whatever the other parameters say.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class HtcpProtocol(Model):
    """H-TCP: the increase grows with the time since the last loss; adaptive backoff."""

    kind: Literal["htcp"] = "htcp"
    bandwidth_switch: bool | None = None
    """The bandwidth switch: does a loss halve after a change of the rate?"""
    beta_max: float | None = None
    """Largest share that a loss leaves (section 3). 0.1 to 0.95."""
    beta_min: float | None = None
    """Smallest share that a loss leaves (section 3). 0.1 to 0.9."""
    delta_b: float | None = None
    """Delta_B, relative change of the rate from which a loss halves (section 3). 0.0 to 1.0."""
    delta_l: Time | None = None
    """Delta_L, time after a loss with Reno's increase (section 3)."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    rtt_scaling: bool | None = None
    """RTT scaling: alpha times RTT_min/100 ms, a factor between 0.1 and 2."""
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class IllinoisProtocol(Model):
    """TCP-Illinois: AIMD whose parameters follow the queueing delay."""

    kind: Literal["illinois"] = "illinois"
    alpha_max: float | None = None
    """alpha_max, increase per RTT without queueing delay [packets]. 1.0 to 1000.0."""
    alpha_min: float | None = None
    """alpha_min, increase per RTT at the largest delay [packets]. 0.01 to 1.0."""
    beta_max: float | None = None
    """beta_max, share that a loss takes at large delay. 0.5 to 0.9."""
    beta_min: float | None = None
    """beta_min, share that a loss takes at small delay. 0.01 to 0.5."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    eta_1: float | None = None
    """eta_1: below eta_1 d_m the increase is alpha_max. 0.0 to 0.5."""
    eta_2: float | None = None
    """eta_2: below eta_2 d_m a loss takes beta_min. 0.0 to 0.5."""
    eta_3: float | None = None
    """eta_3: above eta_3 d_m a loss takes beta_max. 0.51 to 1.0."""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    theta: int | None = None
    """theta, RTTs of small delay in a row before the increase is alpha_max again. 1.0 to 1000000.0.
    """
    w_thresh: float | None = None
    """W_thresh, below which it is Reno [packets]. 1.0 to 1000000000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Island(Model):
    """A set of links. All packets that cross it from one ingress to one egress belong to one macro-
    flow: they wait at the ingress in its queue, leave as its window allows, and carry an outer
    header on the way.
    """

    buffer: str
    """Size of each macro-flow's queue at its ingress. Examples: "2pkt", "2kB"."""
    links: Sequence[str]
    """The island's links, in both directions if it is to serve both. A link belongs to at most one
    island.
    """
    protocol: str | ProtocolTable
    """The macro-flows' protocol, which must have a window: a registered protocol, a name under
    `protocols` or a table.
    """
    native: Sequence[str] | None = None
    """Groups that cross the island unchanged, because they speak its protocol themselves."""
    outer: Bytes | None = None
    """Size of the outer header. Left out: "20B"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class IxcpPlusProtocol(Model):
    """EXPERIMENTAL: iXCP with fractional windows and a bottleneck by majority."""

    kind: Literal["ixcp-plus"] = "ixcp-plus"
    fractional: bool | None = None
    """Is the window sent to its fraction (S6)?"""
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    majority: float | None = None
    """Packets in a row, as a part of a window, that must name another link (S4); 0: the last one is
    enough. 0.0 to 10.0.
    """
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class IxcpPlusQueue(Model):
    """EXPERIMENTAL: iXCP whose links give spare bandwidth to the flows they hold back."""

    kind: Literal["ixcp-plus"] = "ixcp-plus"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    integral: float | None = None
    """g, by which e grows with phi/d per interval (S5); 0: no integral. 0.0 to 1.0."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
    min_interval: Time | None = None
    """Shortest control interval."""
    min_queue_window: Time | None = None
    """Shortest window over which the persistent queue is the minimum."""
    most: float | None = None
    """The most that e may be, as a part of the capacity (S5). 0.0 to 10.0."""
    others: float | None = None
    """What others are offered over what iXCP offers them (S1). 0.0 to 1000.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    overdraw: bool | None = None
    """May one packet get more feedback than is left for the interval? Appendix A as printed says
    yes, the authors' code (ns-2's XCP queue) no.
    """
    own_back: float | None = None
    """Part of the own flows' traffic of an interval that is taken back before others' is (S2). 0.0
    to 1.0.
    """
    own_spare: bool | None = None
    """Do the own flows together get all of the spare bandwidth (S1)?"""
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    slower: float | None = None
    """What other flows that are slower than the own ones are offered of the shuffle, over an equal
    share for every flow (S7). 0.0 to 1000.0.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    together: bool | None = None
    """Do both sides of a shuffle end together (S3)?"""
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class IxcpProtocol(Model):
    """iXCP: XCP whose packets name their bottleneck, the only link that shuffles them."""

    kind: Literal["ixcp"] = "ixcp"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    rounding: Literal["floor", "paced"] | None = None
    """What becomes of the part of the window that is no whole packet (section IV-A)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class IxcpQueue(Model):
    """iXCP: XCP's controllers, the fairness controller for the link's own flows only."""

    kind: Literal["ixcp"] = "ixcp"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    residues: Literal["class", "shared", "none"] | None = None
    """What ends an interval's feedback: residues of each class, shared ones, or nothing (R2)."""
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class JerseyProtocol(Model):
    """TCP-Jersey: the estimated bandwidth sets the window if routers warn; other losses do not."""

    kind: Literal["jersey"] = "jersey"
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class JetmaxProtocol(Model):
    """JetMax: the bottleneck shares what other flows leave among its own."""

    kind: Literal["jetmax"] = "jetmax"
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    tau: float | None = None
    """tau, the part of the way to g that a step goes; stable below 2 (R1). 0.001 to 1.999."""


@dataclass(frozen=True, kw_only=True, repr=False)
class JetmaxQueue(Model):
    """JetMax's count of a link's own flows, and its offer to them."""

    kind: Literal["jetmax"] = "jetmax"
    gamma: float | None = None
    """gamma, the target utilization (R1). 0.01 to 1.0."""
    interval: Time | None = None
    """Delta, the interval over which N and u are measured (R1)."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Jitter(Model):
    """A delay added to each packet."""

    delay: TimeLaw
    """The delay."""
    in_order: bool | None = None
    """Whether a packet waits for those that entered before it; otherwise it may overtake them. Left
    out: False.
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
    """Size of the buffer. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """Lower bound on the buffer, for every flow that crosses it in either direction. Examples:
    "2pkt", "2kB".
    """
    device_bql: str | None = None
    """Linux's byte queue limits: the device holds no more bytes than keep the line busy. The limit
    falls after so long a time above need (Linux 1s); "off" is without. Examples: "off", "200ms".
    """
    device_packets: int | None = None
    """Packets that the device below the queue holds besides the one in service, first in first out,
    as a network card's ring does: what is in it the queue does not see, time or drop. 0 to 100000.
    Left out: 0.
    """
    down: Sequence[Sequence[Time]] | None = None
    """Outages, in order of time and not adjacent."""
    down_drops: bool | None = None
    """Whether packets that arrive during an outage are lost; otherwise they wait in the buffer.
    Left out: False.
    """
    duplex: bool | None = None
    """Whether the same link exists in the other direction, as `NAME.reverse`, with random numbers
    of its own. Left out: False.
    """
    jitter: TimeLaw | Jitter | None = None
    """A delay added to each packet. Packets may overtake one another unless the table sets
    `in_order`.
    """
    loss: Share | RandomLoss | GilbertElliottLoss | EveryLoss | ListLoss | None = None
    """Packets lost on the line, after service: a probability, or a table with a `kind`."""
    queue: str | QueueTable | None = None
    """The queue in the buffer: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity, 1bps to 100Tbps."""
    reorder: Reorder | None = None
    """Packets that are held up so that later ones overtake them."""
    steps: Sequence[Step] | None = None
    """Changes of the capacity, in order of time."""
    trace: str | Sequence[int] | None = None
    """Instead of `rate`: a trace in mahimahi's format. 1500 bytes may leave in each millisecond
    that it lists, one to a line; after the last it starts again.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Linux(Model):
    """What the linux engine's packets are; other engines ignore it."""

    ip: Literal[4, 6] | None = None
    """Version of IP. A full packet has `packets.data` bytes with either, so the payload is 20 bytes
    less with 6, and an ACK has 60 bytes where `packets.ack` says 40. Left out: 4.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class ListLoss(Model):
    """Named packets are lost."""

    kind: Literal["list"] = "list"
    packets: Sequence[int]
    """Their numbers, from 1, in ascending order."""
    data_only: bool | None = None
    """Whether only data packets are counted and lost. Left out: False."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LtcpProtocol(Model):
    """Layered TCP: as many packets per RTT as the window has layers."""

    kind: Literal["ltcp"] = "ltcp"
    beta: float | None = None
    """beta, share that a loss takes with several layers. 0.01 to 0.9."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """
    w_t: float | None = None
    """W_T, the window from which the second layer is there [packets]. 1.0 to 1000000000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Map(Model):
    """`kind = "graphml"`: a map of a network in GraphML, as the Internet Topology Zoo publishes
    them. A node's name is its `label` if that is unique, otherwise its id. Every edge becomes a
    link `FROM-TO` and its reverse, `FROM-TO.reverse`, whether or not the graph is directed.
    Characters that a name cannot contain become `_`, and parallel edges are numbered. Flows use
    `from` and `to`, or `path`.
    """

    kind: Literal["graphml"] = "graphml"
    file: str
    """The map."""
    buffer: Buffer | None = None
    """Size of each buffer. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """Lower bound on each buffer, for every flow that crosses it in either direction. Examples:
    "2pkt", "2kB".
    """
    owd: Time | None = None
    """One-way delay of edges whose ends lack `Latitude` or `Longitude`. For all others it is that
    of light in fibre, 200,000 km/s, along the great circle.
    """
    queue: str | QueueTable | None = None
    """The queue in all buffers: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity of the edges without `LinkSpeedRaw` (in bits per second)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MaxnetProtocol(Model):
    """MaxNet: a rate set by the largest price on the path."""

    kind: Literal["maxnet"] = "maxnet"
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    weight: float | None = None
    """w, the flow's weight: its demand is so many times D (D1). 0.001 to 1000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MaxnetQueue(Model):
    """MaxNet's price of a link."""

    kind: Literal["maxnet"] = "maxnet"
    initial_rtt: Time | None = None
    """d before the first packet with an RTT."""
    kappa: float | None = None
    """kappa, how much the price moves in an RTT at twice the target (D2). 0.001 to 2.0."""
    mu: float | None = None
    """mu, the target utilization (Comm. Letters 2002, section II). 0.01 to 1.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    period: Time | None = None
    """T, the time between two updates of the price."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MecnProtocol(Model):
    """Multi-level ECN: a different decrease for each level of congestion."""

    kind: Literal["mecn"] = "mecn"
    beta_1: float | None = None
    """beta_1, what incipient congestion takes from the window (20 %). 0.0 to 0.99."""
    beta_2: float | None = None
    """beta_2, what moderate congestion takes (40 %). 0.0 to 0.99."""
    beta_3: float | None = None
    """beta_3, what a loss takes (50 %). 0.0 to 0.99."""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class MecnQueue(Model):
    """Multi-level ECN: RED with a mark for incipient and one for moderate congestion."""

    kind: Literal["mecn"] = "mecn"
    max_p: float | None = None
    """max_p, the probability of 10 at max_th. 1e-06 to 1.0."""
    max_p2: float | None = None
    """max_p2, the probability of 11 at max_th. 1e-06 to 1.0."""
    max_th: float | None = None
    """max_th, above which it is severe [packets]; 0: by its ratio. 0.0 to 1000000000.0."""
    max_th_ratio: float | None = None
    """max_th as a part of the buffer. 0.0 to 1.0."""
    mid_th: float | None = None
    """mid_th, above which it is moderate [packets]; 0: by its ratio. 0.0 to 1000000000.0."""
    mid_th_ratio: float | None = None
    """mid_th as a part of the buffer. 0.0 to 1.0."""
    min_th: float | None = None
    """min_th, above which congestion is incipient [packets]; 0: by its ratio. 0.0 to 1000000000.0.
    """
    min_th_ratio: float | None = None
    """min_th as a part of the buffer. 0.0 to 1.0."""
    w_q: float | None = None
    """w_q, the weight of a new sample in the average. 1e-06 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MlcpCsigProtocol(Model):
    """MLCP's end host with its load factor from a CSIG tag of n bits."""

    kind: Literal["mlcp-csig"] = "mlcp-csig"
    a: float | None = None
    """The weight of the old average of the delay, per tag that tells one: VCP's a. 0.0 to 1.0."""
    abw_range: float | None = None
    """The range of ABW [bit/s]; what is beyond it is in the last bucket. 1000.0 to
    1000000000000000.0.
    """
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets] (eqs. 6, 7). 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the mildest decrease (2.2.2). 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the strongest decrease (2.2.2). 0.0 to 1.0."""
    delay_range: Time | None = None
    """The range of the delay of a hop."""
    gamma: float | None = None
    """gamma, the target utilization (R4). 0.01 to 2.0."""
    interval: Time | None = None
    """t, the interval over which available bandwidth is measured."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - sigma)/sigma at a region's upper edge (eq. 1). 0.0 to 10.0."""
    kappa_q: float | None = None
    """kappa_q, the part of the queue that counts as load, if the delay is asked for. 0.0 to 10.0.
    """
    least: float | None = None
    """The part of the range that is bucket 0, if the others are exponential. 1e-06 to 0.5."""
    mi_limit: float | None = None
    """srtt/t_p counts up to this in multiplicative increase (D7). 0.001 to 1000.0."""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    quantization: Literal["linear", "exponential"] | None = None
    """How a signal's range is divided into buckets."""
    queue_delay: bool | None = None
    """Does every other packet ask for the largest delay of a hop, so that the load factor counts
    the queue?
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    signal: Literal["abw", "abw/c"] | None = None
    """What tells the load: ABW/C, or ABW. A host that asks for ABW does not learn the line's
    capacity and takes `abw_range` as that of every line.
    """
    tag_bits: int | None = None
    """n, the bits of a value: 5 in the compact tag, 20 in the wide one. 1.0 to 20.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MlcpProtocol(Model):
    """MLCP: four bits of load factor over a period that follows the mean RTT; ignores losses."""

    kind: Literal["mlcp"] = "mlcp"
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets] (eqs. 6, 7). 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the mildest decrease (2.2.2). 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the strongest decrease (2.2.2). 0.0 to 1.0."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - sigma)/sigma at a region's upper edge (eq. 1). 0.0 to 10.0."""
    mi_limit: float | None = None
    """srtt/t_p counts up to this in multiplicative increase (D7). 0.001 to 1000.0."""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class MlcpQueue(Model):
    """MLCP's load factor in sixteen levels, over a period that follows the mean RTT."""

    kind: Literal["mlcp"] = "mlcp"
    a: float | None = None
    """a, the weight of the old average of the queue. 0.0 to 1.0."""
    adapt_t_p: bool | None = None
    """Does t_p follow the mean RTT? If not, it stays at 200 ms."""
    first_rtt: bool | None = None
    """Does T_c start at the first mean RTT rather than at 200 ms?"""
    gamma: float | None = None
    """gamma, the target utilization (eq. 13). 0.01 to 2.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (eq. 13). 0.0 to 10.0."""
    mean_every: Literal["T", "t_p"] | None = None
    """When T_c takes the mean RTT of the packets: each t_p with the load factor (3.2.2), or each T.
    """
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    phi: float | None = None
    """phi, by which the mean RTT falls more slowly than it rises (3.2.2). 0.001 to 1000000.0."""
    priority: bool | None = None
    """Are ACKs served before data, as VCP's router does it?"""
    t: Time | None = None
    """T, the period of the mean RTT (eq. 14)."""
    t_q: Time | None = None
    """t_q, the period of the queue's samples (3.2.1)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MpcpProtocol(Model):
    """EXPERIMENTAL: DPCP with chains of up to four packets, two bits of the load factor in each."""

    kind: Literal["mpcp"] = "mpcp"
    ai_limit_high: Time | None = None
    """The AI scaling limiter's upper end; above it g has slope 1."""
    ai_limit_low: Time | None = None
    """The AI scaling limiter's lower end; below it g is linear."""
    alpha: float | None = None
    """alpha, the additive increase per t_d [packets] (VCP's eq. 3). 0.0 to 1000.0."""
    bounds: bool | None = None
    """Are the increases of very short and very long RTTs limited, as VCP's? Section II-B sees in
    these bounds what makes VCP slow. Without them xi = 1 makes 32 windows of one in an RTT of 1 s.
    """
    decoupled_loss: bool | None = None
    """Does a loss leave the window alone, timeouts included? Else it is answered as by Reno. Meant
    to go with the recovery that finds lost retransmissions, too.
    """
    downgrade_after: int | None = None
    """Consecutive MSPs or LSPs that make the sender fall back to VCP (section III-D). 2.0 to
    1000.0.
    """
    gap: float | None = None
    """How far the receiver's number is ahead of the data's first one [bytes]; both are random, and
    this is, too, at -1 (section III-B). A multiple of the payload makes a tie. -1.0 to
    4294967295.0.
    """
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the upper edge of the level (VCP's eq. 10). 0.0 to
    10.0.
    """
    mi_limit: float | None = None
    """The MI scaling limiter: srtt/t_rho counts up to this. 0.001 to 100.0."""
    pace_large_rtt: bool | None = None
    """Are packets spaced when few of them share an RTT much longer than t_rho?"""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    packets: int | None = None
    """n, the packets of a chain; the routers' must be the same. 2.0 to 4.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    relapses: int | None = None
    """So many relapses make the fall-back final (section III-D). 0.0 to 1000000.0."""
    resume_rtts: float | None = None
    """After so many RTTs it sends pairs again ("several", section III-D). 0.0 to 10000.0."""
    scale_rtt: Literal["srtt", "min_rtt"] | None = None
    """The RTT that scales the additive increase."""
    t_d: Time | None = None
    """t_d, the common base RTT of the additive increase (VCP's eq. 8)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor: MI's base and the length of the freeze."""
    weight: float | None = None
    """The flow's weight: its alpha is this many times as large. 0.001 to 1000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MpcpQueue(Model):
    """EXPERIMENTAL: DPCP's load factor in up to 81 levels, two bits in each packet of a chain."""

    kind: Literal["mpcp"] = "mpcp"
    a: float | None = None
    """a, the weight of the old average of the queue (VCP's). 0.0 to 1.0."""
    flag_slots: int | None = None
    """Flags that the router has; flows whose numbers are equal modulo this share one (section
    III-C). 1.0 to 4096.0.
    """
    gamma: float | None = None
    """gamma, the target utilization (VCP's). 0.01 to 2.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (VCP's). 0.0 to 10.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    packets: int | None = None
    """n, the packets of a chain; the senders' must be the same. 2.0 to 4.0."""
    priority: bool | None = None
    """Are ACKs served before data (VCP's)?"""
    t_q: Time | None = None
    """t_q, the period of the queue's samples (VCP's)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor (VCP's)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NbitCsigProtocol(Model):
    """An n-bit scheme's end host with its load factor from a CSIG tag."""

    kind: Literal["nbit-csig"] = "nbit-csig"
    a: float | None = None
    """The weight of the old average of the delay, per tag that tells one: VCP's a. 0.0 to 1.0."""
    abw_range: float | None = None
    """The range of ABW [bit/s]; what is beyond it is in the last bucket. 1000.0 to
    1000000000000000.0.
    """
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets] (eqs. 6, 7). 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the mildest decrease (2.2.2). 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the strongest decrease (2.2.2). 0.0 to 1.0."""
    bits: Literal["2", "3", "4", "15", "ideal"] | None = None
    """n, the bits of the feedback (section 2.1): the router's."""
    delay_range: Time | None = None
    """The range of the delay of a hop."""
    gamma: float | None = None
    """gamma, the target utilization (R4). 0.01 to 2.0."""
    interval: Time | None = None
    """t, the interval over which available bandwidth is measured."""
    inverse: bool | None = None
    """Is the increase inversely proportional from 95 % on (section 2.2.3): the router's."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - sigma)/sigma at a level's upper edge (eq. 1). 0.0 to 10.0."""
    kappa_q: float | None = None
    """kappa_q, the part of the queue that counts as load, if the delay is asked for. 0.0 to 10.0.
    """
    least: float | None = None
    """The part of the range that is bucket 0, if the others are exponential. 1e-06 to 0.5."""
    md: Literal["A", "B", "C", "D"] | None = None
    """The scheme of decrease (section 2.2.2): the router's."""
    mi_limit: float | None = None
    """srtt/t_p counts up to this in multiplicative increase. 0.001 to 1000.0."""
    quantization: Literal["linear", "exponential"] | None = None
    """How a signal's range is divided into buckets."""
    queue_delay: bool | None = None
    """Does every other packet ask for the largest delay of a hop, so that the load factor counts
    the queue?
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    signal: Literal["abw", "abw/c"] | None = None
    """What tells the load: ABW/C, or ABW. A host that asks for ABW does not learn the line's
    capacity and takes `abw_range` as that of every line.
    """
    tag_bits: int | None = None
    """n, the bits of a value: 5 in the compact tag, 20 in the wide one. 1.0 to 20.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NbitProtocol(Model):
    """MLCP's relatives: 2, 3, 4, 15 or infinitely many bits, four decrease schemes."""

    kind: Literal["nbit"] = "nbit"
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets] (eqs. 6, 7). 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the mildest decrease (2.2.2). 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the strongest decrease (2.2.2). 0.0 to 1.0."""
    bits: Literal["2", "3", "4", "15", "ideal"] | None = None
    """n, the bits of the feedback (section 2.1): the router's."""
    inverse: bool | None = None
    """Is the increase inversely proportional from 95 % on (section 2.2.3): the router's."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - sigma)/sigma at a level's upper edge (eq. 1). 0.0 to 10.0."""
    md: Literal["A", "B", "C", "D"] | None = None
    """The scheme of decrease (section 2.2.2): the router's."""
    mi_limit: float | None = None
    """srtt/t_p counts up to this in multiplicative increase. 0.001 to 1000.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class NbitQueue(Model):
    """MLCP's load factor in as many levels as the scheme's bits hold."""

    kind: Literal["nbit"] = "nbit"
    a: float | None = None
    """a, the weight of the old average of the queue. 0.0 to 1.0."""
    adapt_t_p: bool | None = None
    """Does t_p follow the mean RTT? If not, it stays at 200 ms."""
    bits: Literal["2", "3", "4", "15", "ideal"] | None = None
    """n, the bits of the feedback (section 2.1)."""
    first_rtt: bool | None = None
    """Does T_c start at the first mean RTT rather than at 200 ms?"""
    gamma: float | None = None
    """gamma, the target utilization (eq. 13). 0.01 to 2.0."""
    inverse: bool | None = None
    """Is the load from 95 % on told apart (section 2.2.3)?"""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (eq. 13). 0.0 to 10.0."""
    md: Literal["A", "B", "C", "D"] | None = None
    """The scheme of decrease (section 2.2.2)."""
    mean_every: Literal["T", "t_p"] | None = None
    """When T_c takes the mean RTT of the packets: each t_p with the load factor (3.2.2), or each T.
    """
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    phi: float | None = None
    """phi, by which the mean RTT falls more slowly than it rises (3.2.2). 0.001 to 1000000.0."""
    priority: bool | None = None
    """Are ACKs served before data, as VCP's router does it?"""
    t: Time | None = None
    """T, the period of the mean RTT (eq. 14)."""
    t_q: Time | None = None
    """t_q, the period of the queue's samples (3.2.1)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NewrenoProtocol(Model):
    """TCP NewReno: Reno's window, with recovery from several losses per window."""

    kind: Literal["newreno"] = "newreno"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class OsuProtocol(Model):
    """OSU scheme: every flow divides its rate by the load, and by a little more or less."""

    kind: Literal["osu"] = "osu"
    interval: Time | None = None
    """T, the switches' averaging interval (D1)."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class OsuQueue(Model):
    """OSU scheme's switch: measures the load of an interval against a band around its target."""

    kind: Literal["osu"] = "osu"
    delta: float | None = None
    """delta, half the width of the target utilization band. 0.001 to 0.9."""
    interval: Time | None = None
    """T, the averaging interval: load and active flows are counted over it."""
    target: float | None = None
    """The target utilization, as a part of the capacity. 0.01 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Packets(Model):
    """Sizes on the wire, including headers."""

    ack: Bytes | None = None
    """A pure acknowledgement, 1B to 65535B. Left out: "40B"."""
    data: Bytes | None = None
    """A full data packet, 1B to 65535B. Left out: "1000B"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ParkingLot(Model):
    """`kind = "parking-lot"`: a chain of links `l1`, `l2`, ... and back `l1.reverse`, `l2.reverse`,
    .... All have the same settings; their random numbers are independent.
    """

    kind: Literal["parking-lot"] = "parking-lot"
    links: int
    """Links in each direction. 1 to 1000."""
    buffer: Buffer | None = None
    """Size of each buffer. Left out: "1bdp"."""
    buffer_per_flow: str | None = None
    """Lower bound on each buffer, for every flow that crosses it in either direction. Examples:
    "2pkt", "2kB".
    """
    device_bql: str | None = None
    """Linux's byte queue limits: the device holds no more bytes than keep the line busy. The limit
    falls after so long a time above need (Linux 1s); "off" is without. Examples: "off", "200ms".
    """
    device_packets: int | None = None
    """Packets that the device below the queue holds besides the one in service, first in first out,
    as a network card's ring does: what is in it the queue does not see, time or drop. 0 to 100000.
    Left out: 0.
    """
    down: Sequence[Sequence[Time]] | None = None
    """Outages, in order of time and not adjacent."""
    down_drops: bool | None = None
    """Whether packets that arrive during an outage are lost; otherwise they wait in the buffer.
    Left out: False.
    """
    jitter: TimeLaw | Jitter | None = None
    """A delay added to each packet. Packets may overtake one another unless the table sets
    `in_order`.
    """
    link_rtt: Time | None = None
    """There and back over one link."""
    loss: Share | RandomLoss | GilbertElliottLoss | EveryLoss | ListLoss | None = None
    """Packets lost on the line, after service: a probability, or a table with a `kind`."""
    owd: Time | None = None
    """One-way delay of each link."""
    queue: str | QueueTable | None = None
    """The queue in all buffers: a registered kind, a name under `queues` or a table. Left out:
    "droptail".
    """
    rate: Rate | None = None
    """Capacity."""
    reorder: Reorder | None = None
    """Packets that are held up so that later ones overtake them."""
    rtt: Time | None = None
    """Two-way propagation time of flows without an `rtt` of their own."""
    steps: Sequence[Step] | None = None
    """Changes of the capacity, in order of time."""
    trace: str | Sequence[int] | None = None
    """Instead of `rate`: a trace in mahimahi's format. 1500 bytes may leave in each millisecond
    that it lists, one to a line; after the last it starts again.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class PcpProtocol(Model):
    """EXPERIMENTAL: PCP: bursts at the rate it would like, taken where no delay grows."""

    kind: Literal["pcp"] = "pcp"
    backoff: float | None = None
    """The longest time between two probes [RTTs] (R4). 1.0 to 1000000.0."""
    history: float | None = None
    """The base rate of an earlier flow to the same host, whose third is tested first; 0: none
    [bytes/s] (section 3.4). 0.0 to 1000000000000000.0.
    """
    least: float | None = None
    """The least increase that is asked for [packets per RTT] (R4). 0.001 to 1000000.0."""
    length: int | None = None
    """Packets of a probe (R2). 2.0 to 1000.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    resolution: Time | None = None
    """A change of delay below this is none: what the clock cannot tell."""
    several: int | None = None
    """So many round trips without effect make the compensation a tenth (R5, section 3.5). 1.0 to
    1000.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class PiQueue(Model):
    """Proportional-integral controller of the queue."""

    kind: Literal["pi"] = "pi"
    a: float | None = None
    """a, the weight of the present queue [1/packet]. 0.0 to 1.0."""
    b: float | None = None
    """b, the weight of the queue one sample ago [1/packet]. 0.0 to 1.0."""
    by_size: bool | None = None
    """Is the probability proportional to the packet's size (ns-2's bytes_)?"""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the queue counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    flows: int | None = None
    """N, the least number of flows to design a and b for; 0: a and b as given. 0.0 to 1000000000.0.
    """
    frequency: float | None = None
    """Sampling frequency f [1/s]. 0.001 to 1000000.0."""
    preset: Literal["hollot-2001", "ns2"] | None = None
    """Named values of the parameters; other keys override them. hollot-2001: The paper's
    simulations (section V): 15 Mb/s, 60 flows, RTTs up to 246 ms, 200 packets to wait. ns2: The
    defaults of ns-2.35 (ns-default.tcl): 170 Hz, 50 packets to wait, drops.
    """
    q_ref: float | None = None
    """q_ref [packets]; 0: by q_ref_ratio. 0.0 to 1000000000.0."""
    q_ref_ratio: float | None = None
    """q_ref, the queue that shall wait, as a part of the buffer, unless q_ref is given. 0.0 to 1.0.
    """
    rtt: Time | None = None
    """R, the longest RTT with queueing to design a and b for; 0: a and b as given."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PieQueue(Model):
    """PIE: proportional-integral controller of the delay."""

    kind: Literal["pie"] = "pie"
    alpha: float | None = None
    """alpha, the weight of the distance from the reference [1/s]. 0.0 to 1000.0."""
    beta: float | None = None
    """beta, the weight of the trend [1/s]. 0.0 to 1000.0."""
    cap: bool | None = None
    """Is an increase above 0.02 cut to that once the probability is 0.1 (section 5.5)?"""
    derandomize: bool | None = None
    """Is the gap between drops kept between 0.85 and 8.5 of its mean (section 5.4)?"""
    dq_threshold: int | None = None
    """DQ_THRESHOLD, what must leave for a measurement of the rate [bytes] (section 5.2). 1.0 to
    1000000000.0.
    """
    ecn: bool | None = None
    """Are capable packets marked instead of dropped (section 5.1)?"""
    estimate: Literal["timestamp", "departure-rate"] | None = None
    """How the delay is found."""
    mark_ecnth: float | None = None
    """mark_ecnth, the probability from which on capable packets are dropped too (section 5.1). 0.0
    to 1.0.
    """
    max_burst: Time | None = None
    """MAX_BURST, the time for which a burst after a quiet time is let through."""
    preset: Literal["rfc8033-b"] | None = None
    """Named values of the parameters; other keys override them. rfc8033-b: RFC 8033, appendix B:
    with all optional enhancements.
    """
    qdelay_ref: Time | None = None
    """QDELAY_REF, the delay to hold."""
    switches: bool | None = None
    """Is PIE off until a third of the buffer is full, and again when all is quiet (section 5.3)?"""
    t_update: Time | None = None
    """T_UPDATE, time between two changes of the probability."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PlotTable(Model):
    """A figure: metrics over an axis of the sweep."""

    x: str
    """The axis from left to right: a key of `vary`, or the name of a `zip`. Examples:
    "topology.rtt", "topology.rate".
    """
    y: Metric | Sequence[Metric]
    """What is drawn: a metric, or a row of panels for each of several."""
    lines: str | None = None
    """The axis with a line for each setting: a key of `vary`, or the name of a `zip`. Examples:
    "topology.rtt", "topology.rate".
    """
    panels: str | None = None
    """The axis with a panel for each setting: a key of `vary`, or the name of a `zip`. Examples:
    "topology.rtt", "topology.rate".
    """
    title: str | None = None
    """What stands over the figure."""
    x_label: str | None = None
    """What stands at the axis from left to right."""
    x_scale: Literal["linear", "log"] | None = None
    """By default logarithmic where settings span a decade."""
    y_label: str | None = None
    """What stands at the axis of the metric."""
    y_max: float | None = None
    """The largest value that is shown, in the metric's unit."""
    y_min: float | None = None
    """The least value that is shown, in the metric's unit."""
    y_scale: Literal["linear", "log"] | None = None
    """By default logarithmic where a single measure spans two decades."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PragueProtocol(Model):
    """Prague: L4S's scalable control by the share of marks, independent of RTTs up to 25 ms."""

    kind: Literal["prague"] = "prague"
    alpha_0: float | None = None
    """alpha at the start. 0.0 to 1.0."""
    gain: int | None = None
    """1/g, what a round's share of marks is divided by in alpha. 1.0 to 1024.0."""
    growth: bool | None = None
    """Does the step become 1 ms of the rate after rounds without a mark?"""
    init_rate: int | None = None
    """Rate before the first RTT is known, and after a timeout [bit/s]; not with a slow start.
    100000.0 to 100000000000.0.
    """
    preset: Literal["tcp-prague"] | None = None
    """Named values of the parameters; other keys override them. tcp-prague: What differs in
    tcp_prague.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: bool | None = None
    """Does the window double per RTT until the first mark or loss?"""


@dataclass(frozen=True, kw_only=True, repr=False)
class PriorityQueue(Model):
    """Strict priority: ACKs before data, or one group before the next."""

    kind: Literal["priority"] = "priority"
    by: Literal["flow", "group", "acks"] | None = None
    """What makes a class: ACKs before data, one group of flows before the next in the order of the
    scenario, or one flow before the next.
    """
    per_class: int | None = None
    """The most that one class may hold [packets]; 0: the link's limit is for all. 0.0 to 1000000.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Probe(Model):
    """What to record over time."""

    every: str | None = None
    """Time between samples, or `change`: a sample whenever a value changes. Examples: "100ms",
    "change". Left out: "100ms".
    """
    flows: Sequence[str] | None = None
    """Groups whose flows are recorded."""
    links: Sequence[str] | None = None
    """Links that are recorded."""
    series: (
        Sequence[Literal["cwnd", "window", "srtt", "goodput", "rate", "sender", "queue", "utilization", "drops", "losses", "router"]]
        | None
    ) = None
    """The series to record."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PxcpProtocol(Model):
    """P-XCP: XCP's sender, for routers that scale spare bandwidth by N/N_b."""

    kind: Literal["pxcp"] = "pxcp"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class PxcpQueue(Model):
    """P-XCP: XCP's controllers with the spare bandwidth scaled by N/N_b."""

    kind: Literal["pxcp"] = "pxcp"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    shuffle: Literal["unscaled", "scaled"] | None = None
    """Which phi stands in eq. (2): the unscaled one or N/N_b times that."""
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class PythonProtocol(Model):
    """A prototype: a Python class, a subclass of clearpipe.Sender."""

    kind: Literal["python"] = "python"
    code: str | None = None
    """The class: "file.py:Name" beside the scenario, or "package.module:Name"."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class PythonQueue(Model):
    """A prototype: a Python class, a subclass of clearpipe.Router."""

    kind: Literal["python"] = "python"
    code: str | None = None
    """The class: "file.py:Name" beside the scenario, or "package.module:Name"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class QuickstartProtocol(Model):
    """Quick-Start: SACK whose first packet asks the routers for a rate."""

    kind: Literal["quickstart"] = "quickstart"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    rate: float | None = None
    """The rate asked for [bit/s]; rounded down to 40 kb/s*2^n, n from 1 to 15 (section 3.1).
    80000.0 to 1310720000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class QuickstartQueue(Model):
    """Quick-Start's approval of rate requests."""

    kind: Literal["quickstart"] = "quickstart"
    interval: Time | None = None
    """The length of an interval over which utilization is measured (appendix C)."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    threshold: float | None = None
    """Up to this part of the capacity requests are approved (appendix C, qs_thresh). 0.0 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomLoss(Model):
    """Each packet is lost with the same probability, independently of the others."""

    kind: Literal["random"] = "random"
    p: Share
    """The probability."""
    data_only: bool | None = None
    """Whether only data packets are counted and lost. Left out: False."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RcpProtocol(Model):
    """RCP: every flow paces at the one rate that its links offer."""

    kind: Literal["rcp"] = "rcp"
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class RcpQueue(Model):
    """RCP's rate, the same for all flows."""

    kind: Literal["rcp"] = "rcp"
    alpha: float | None = None
    """alpha, the gain of the spare capacity (thesis eq. (2.2); IWQoS 2005 has 0.1). 0.0 to 10.0."""
    beta: float | None = None
    """beta, the gain of the queue (thesis eq. (2.2); IWQoS 2005 has 1). 0.0 to 10.0."""
    eta: float | None = None
    """eta, the target utilization. 0.01 to 1.0."""
    initial_rate: float | None = None
    """R at the start, over the capacity (ns-2 code). 0.001 to 1.0."""
    initial_rtt: Time | None = None
    """d0 before the first packet with an RTT."""
    least_rate: float | None = None
    """The least R [packets/s], whatever the capacity (D4). 0.0 to 1000000.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    period: Time | None = None
    """The longest T, the time between two updates of R (thesis section 2.2)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RedQueue(Model):
    """Random early detection, gentle, with ECN."""

    kind: Literal["red"] = "red"
    adaptive: bool | None = None
    """Is max_p adapted as by the queue ared, with its default constants (ns-2's adaptive_)?"""
    by_size: bool | None = None
    """Is the probability proportional to the packet's size (ns-2's bytes_; RFC 7141 advises no)?"""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the average counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    gentle: bool | None = None
    """Does the probability rise to 1 between max_th and 2*max_th, rather than jump? What is above
    that is dropped, ECN or not; the queue step marks it.
    """
    mark_p: float | None = None
    """Above this p_b capable packets are dropped too; 1: never for that reason. 0.0 to 1.0."""
    max_p: float | None = None
    """max_p, the probability at max_th. 1e-06 to 1.0."""
    max_th: float | None = None
    """max_th, where the probability reaches max_p [packets]; 0: by target_delay or max_th_ratio.
    0.0 to 1000000000.0.
    """
    max_th_ratio: float | None = None
    """max_th as a part of the buffer, unless max_th or target_delay is given. 0.0 to 1.0."""
    mean_size: int | None = None
    """Size of the packets in which bytes and the capacity are counted (ns-2's mean_pktsize_)
    [bytes]; 0: a full packet. 0.0 to 65535.0.
    """
    min_th: float | None = None
    """min_th, below which nothing is marked [packets]; 0: by target_delay or min_th_ratio. 0.0 to
    1000000000.0.
    """
    min_th_ratio: float | None = None
    """min_th as a part of the buffer, unless min_th or target_delay is given. 0.0 to 1.0."""
    preset: Literal["floyd-1993", "xcp-2002", "adaptive", "vcp-2005", "ns2"] | None = None
    """Named values of the parameters; other keys override them. floyd-1993: The paper's simulations
    (Floyd, Jacobson, ToN 1993, section V): thresholds 5 and 15 packets, max_p 1/50, a jump above
    max_th, drops. xcp-2002: XCP's comparison (Katabi, Handley, Rohrs, SIGCOMM 2002, section 5):
    gentle, thresholds at one and two thirds of the buffer, the rest as its authors advise.
    adaptive: Adaptive RED (Floyd, Gummadi, Shenker 2001): thresholds for a delay of 5 ms, w_q from
    the capacity, max_p adapted. vcp-2005: The comparisons of VCP (Xia et al., SIGCOMM 2005, ToN
    2008): RED/ECN with its authors' advice, which was thresholds for a delay of 5 ms by then,
    marking and not dropping. Not adaptive, by the results: CUBIC uses 0.90 of the link (the paper:
    0.88), adapted 0.94. ns2: The defaults of ns-2.35 (ns-default.tcl): not adaptive, packets of 500
    bytes, by size, drops.
    """
    target_delay: Time | None = None
    """Mean delay for which the thresholds are set (ns-2's targetdelay_): min_th is half of what the
    line sends in it, at least 5 packets, and max_th three times min_th; 0: by the ratios.
    """
    w_q: float | None = None
    """w_q, the weight of a new sample in the average; 0: 1 - exp(-1/C), C in packets/s. 0.0 to 1.0.
    """
    wait: bool | None = None
    """Is the first mark held back until count*p_b reaches 1?"""


@dataclass(frozen=True, kw_only=True, repr=False)
class RemQueue(Model):
    """Random exponential marking: a price from the queue and the input rate."""

    kind: Literal["rem"] = "rem"
    alpha: float | None = None
    """alpha, the weight of the queue against the input [1/interval]. 0.0 to 1000.0."""
    by_size: bool | None = None
    """Is the probability proportional to the packet's size (ns-2's qib_)?"""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the queue and the input count."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    gamma: float | None = None
    """gamma, the step of the price. 0.0 to 1000.0."""
    interval: Time | None = None
    """Time between two updates; 0: by interval_packets."""
    interval_packets: float | None = None
    """Time between two updates in transmission times of a full packet, unless interval is given.
    0.01 to 1000000.0.
    """
    phi: float | None = None
    """phi, the base of the marking probability. 1.0 to 1000000.0."""
    preset: Literal["xcp-2002", "ns2"] | None = None
    """Named values of the parameters; other keys override them. xcp-2002: XCP's comparison (Katabi,
    Handley, Rohrs, SIGCOMM 2002, section 5): updates each 10 packets' transmission time, a third of
    the buffer to wait. ns2: The defaults of ns-2.35 (ns-default.tcl): updates each 2 ms, 20 packets
    to wait, drops.
    """
    q_ref: float | None = None
    """q_ref [packets]; 0: by q_ref_ratio. 0.0 to 1000000000.0."""
    q_ref_ratio: float | None = None
    """q_ref, the queue that shall wait (the paper's b*), as a part of the buffer, unless q_ref is
    given. 0.0 to 1.0.
    """
    w_in: float | None = None
    """Weight of the last interval in the mean input (ns-2's inw_; 1: no mean). 0.0 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RenoProtocol(Model):
    """TCP Reno: slow start, congestion avoidance, fast recovery."""

    kind: Literal["reno"] = "reno"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Reorder(Model):
    """Packets that are held up so that later ones overtake them."""

    delay: Time
    """How long it is held up, at most 1h."""
    p: Share
    """Probability that a packet is held up, independently of the others."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RioQueue(Model):
    """RIO: two REDs, for packets within and beyond their flow's profile."""

    kind: Literal["rio"] = "rio"
    bucket: float | None = None
    """Depth of the bucket [full packets]. 1.0 to 1000000.0."""
    max_in: float | None = None
    """max_in [packets]. 0.0 to 1000000000.0."""
    max_out: float | None = None
    """max_out [packets]. 0.0 to 1000000000.0."""
    max_p_in: float | None = None
    """P_max_in, the probability at max_in. 1e-06 to 1.0."""
    max_p_out: float | None = None
    """P_max_out, the probability at max_out. 1e-06 to 1.0."""
    min_in: float | None = None
    """min_in [packets]. 0.0 to 1000000000.0."""
    min_out: float | None = None
    """min_out [packets]. 0.0 to 1000000000.0."""
    profile0: float | None = None
    """Profile of each flow of the first group [bit/s]: the bucket's rate, section III. 0.0 to
    1000000000000.0.
    """
    profile1: float | None = None
    """Profile of each flow of the second group [bit/s]. 0.0 to 1000000000000.0."""
    profile2: float | None = None
    """Profile of each flow of the third group [bit/s]. 0.0 to 1000000000000.0."""
    profile3: float | None = None
    """Profile of each flow of all further groups [bit/s]. 0.0 to 1000000000000.0."""
    tag: bool | None = None
    """Is this an edge: are untagged packets tagged?"""
    w_q: float | None = None
    """w_q of both averages. 1e-06 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SackProtocol(Model):
    """TCP SACK: Reno's window with selective acknowledgements."""

    kind: Literal["sack"] = "sack"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class ScalableProtocol(Model):
    """Scalable TCP: a constant increase per ACK, a decrease by an eighth."""

    kind: Literal["scalable"] = "scalable"
    a: float | None = None
    """a, increase per ACK [packets] (section 3). 0.0 to 1.0."""
    b: float | None = None
    """b, share that a loss takes (section 3). 0.0 to 0.9."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    lwnd: float | None = None
    """lwnd, the legacy window up to which it is Reno [packets] (section 3.1). 1.0 to 1000000000.0.
    """
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Scenario(Model):
    """The keys outside every table."""

    schema: Literal[1] = 1
    """Version of this format."""
    duration: Time
    """Length of the run, at most 4800h (200 days)."""
    flows: Mapping[str, Flows]
    """Groups of flows."""
    name: str
    """The scenario's name in reports and result directories."""
    bottleneck: str | None = None
    """The link that stands for the whole network in measures that name no link, such as
    `utilization_ratio`. It does not affect the run.
    """
    era: Literal["papers", "rfc", "ns2", "linux-6.1"] | None = None
    """The era whose defaults apply to end hosts where the file sets nothing. Left out: "papers"."""
    fluid: Fluid | None = None
    """How the fluid engine solves its equations; other engines ignore it."""
    islands: Mapping[str, Island] | None = None
    """Parts of the network whose border routers map the traffic onto flows of their own."""
    links: Mapping[str, Link] | None = None
    """A network link by link; the alternative is `topology`."""
    linux: Linux | None = None
    """What the linux engine's packets are; other engines ignore it."""
    packets: Packets | None = None
    """Sizes on the wire."""
    plot: PlotTable | Mapping[str, PlotTable] | None = None
    """What `clearpipe sweep report` draws."""
    probe: Probe | None = None
    """What to record over time."""
    protocols: Mapping[str, str | ProtocolTable] | None = None
    """Protocols with parameters, to be used by name."""
    queues: Mapping[str, str | QueueTable] | None = None
    """Queues with parameters, to be used by name."""
    seed: int | None = None
    """Seed of all random streams. 0 to 9223372036854775807. Left out: 1."""
    sweep: Sweep | None = None
    """What `clearpipe sweep run` varies; a single run has the file's own values."""
    topology: Dumbbell | ParkingLot | Map | None = None
    """A network in a few keys; the alternative is `links`."""
    transport: Transport | None = None
    """Settings that every flow's transport shares."""
    warmup: str | None = None
    """When measurement starts: a share of the duration, or a time. Examples: "20%", "24s". Left
    out: "0s".
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class SconeProtocol(Model):
    """SCONE: CUBIC that asks the network for rate advice, and may follow it."""

    kind: Literal["scone"] = "scone"
    obeys: bool | None = None
    """Does it keep to the advice?"""
    period: Time | None = None
    """The monitoring period."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class SconeQueue(Model):
    """SCONE: advises each flow of a rate and may police it; first in, first out."""

    kind: Literal["scone"] = "scone"
    advice: float | None = None
    """Rate that each flow is advised of [bit/s]; told by the largest signal not above it. 100000.0
    to 200000000000.0.
    """
    period: Time | None = None
    """The monitoring period."""
    police: bool | None = None
    """Is what a flow sends beyond it dropped?"""


@dataclass(frozen=True, kw_only=True, repr=False)
class Step(Model):
    """A change of the capacity."""

    at: Time
    """When it happens."""
    rate: Rate
    """The new capacity, 1bps to 100Tbps."""


@dataclass(frozen=True, kw_only=True, repr=False)
class StepQueue(Model):
    """A step: marks what finds more than a threshold waiting, as switches for DCTCP do."""

    kind: Literal["step"] = "step"
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the threshold counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    k: float | None = None
    """K [packets; full ones if bytes are counted]. Section 4 of the paper: 20 at 1 Gb/s, 65 at 10
    Gb/s. 0.0 to 1000000000.0.
    """
    k_ratio: float | None = None
    """K as a part of the buffer; 0: by k. 0.0 to 1.0."""
    preset: Literal["10gbps"] | None = None
    """Named values of the parameters; other keys override them. 10gbps: The paper's switches at 10
    Gb/s (SIGCOMM 2010, section 4): more than at 1 Gb/s for the bursts of their hosts' cards.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep(Model):
    """What varies from point to point, and how often each point is run."""

    keep: Literal["all", "summary"] | None = None
    """What is kept of each run: all, or no tables of flows, links and series. Left out: "all"."""
    only: Sequence[Mapping[str, Any]] | None = None
    """The points for which all conditions of one of these tables hold, and no others. Examples:
    [{'topology.rtt': '>= 500ms'}].
    """
    reps: int | None = None
    """Replications of each point. 1 to 1000000. Left out: 1."""
    skip: Sequence[Mapping[str, Any]] | None = None
    """Without the points for which all conditions of one of these tables hold. Examples:
    [{'topology.rtt': '>= 500ms'}].
    """
    until: SweepUntil | None = None
    """Instead of `reps`: replications until half of the metric's 95 % interval is within a share of
    its mean.
    """
    vary: Mapping[str, Sequence[Any] | ValueSeries] | None = None
    """Keys as for `--set`, each quoted as a whole, with the values that they have in turn. The
    points are all combinations. Examples: {'topology.rtt': ['10ms', '50ms']}.
    """
    zip: Sequence[Mapping[str, Sequence[Any] | ValueSeries]] | None = None
    """Axes of several keys, whose lists are of equal length and vary together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepUntil(Model):
    """Instead of `reps`: replications until half of the metric's 95 % interval is within a share of
    its mean.
    """

    ci: str
    """The share, above 0% and up to 100%. Examples: "2%"."""
    max_reps: int | None = None
    """At most so many. 3 to 1000000. Left out: 100."""
    metric: Metric | None = None
    """What is to be known so well. Left out: "utilization_ratio"."""
    min_reps: int | None = None
    """At least so many replications. 3 to 1000000. Left out: 5."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TahoeProtocol(Model):
    """TCP Tahoe: every loss starts again from one packet."""

    kind: Literal["tahoe"] = "tahoe"
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class TfrcProtocol(Model):
    """TFRC: TCP's rate by an equation, smoothly and without retransmission."""

    kind: Literal["tfrc"] = "tfrc"
    damping: bool | None = None
    """Is the rate corrected for the last RTT sample, which damps oscillation (section 4.5)?"""
    discounting: bool | None = None
    """Are old loss intervals discounted when the present one is long (section 5.5)?"""
    ecn: bool | None = None
    """Are packets ECN-capable, and is a mark a loss (section 5.1)?"""
    q: float | None = None
    """q, the weight of the old RTT estimate (section 4.3). 0.0 to 1.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    t_mbi: Time | None = None
    """t_mbi, the longest time between two packets (section 4.3)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Transport(Model):
    """Settings of loss recovery and timers, the same for every flow."""

    accecn: Literal["off", "ace", "option"] | None = None
    """AccECN (RFC 9768) in place of RFC 3168's echo and of ideal feedback, for all protocols that
    use ECN: "off", "ace" (three bits) or "option" (the bits and the option's byte counts).
    """
    byte_counting: int | None = None
    """L of RFC 3465: windows of TCP grow by the packets that an ACK delivers, in slow start by at
    most so many per ACK. 0: once per ACK. Linux has no limit, which 1000 is. 0 to 1000.
    """
    count_dupacks: bool | None = None
    """Without SACK: a duplicate ACK counts as a segment delivered, which the next cumulative ACK
    does not count again (Linux).
    """
    count_sacks: bool | None = None
    """For `recovery = "rack"`: where packets have come later than dup_thresh allows, a SACKed
    packet opens a window of TCP as an acknowledged one does (Linux).
    """
    delayed_ack: str | None = None
    """How long an ACK may wait for a second packet; "off" acknowledges every packet. Examples:
    "off", "200ms".
    """
    dup_thresh: int | None = None
    """Duplicate ACKs that trigger a fast retransmit. 1 to 1000."""
    echo_prr: bool | None = None
    """For `recovery = "rack"`: after an echo of congestion the window comes down over a round trip
    by PRR, as after a loss (Linux), and does not grow meanwhile.
    """
    idle_restart: Literal["off", "rfc5681", "rfc2861"] | None = None
    """The window of TCP after an idle time longer than the timeout: "off" keeps it, "rfc5681"
    starts again from the first window, "rfc2861" halves it for each timeout down to that (Linux's
    tcp_slow_start_after_idle).
    """
    initial_rto: Time | None = None
    """Retransmission timeout before the first RTT sample."""
    initial_window: str | None = None
    """First window, in packets. Examples: "1pkt", "10pkt"."""
    limited_transmit: bool | None = None
    """RFC 3042: the first two duplicate ACKs let new data out."""
    loss_base: Literal["in-use", "window"] | None = None
    """What of a window of TCP a loss, a timeout or an echo reduces: "in-use" what was in flight if
    that did not fill the window (RFC 9438), "window" all of it (Linux).
    """
    max_rto: Time | None = None
    """Longest retransmission timeout."""
    min_rto: Time | None = None
    """Shortest retransmission timeout."""
    pacing_burst: int | None = None
    """Packets that a pacer lets out together, with twice the gap after two, and so on. From 2 on a
    sender that is late makes up for as much as half a gap, as Linux does. 1 to 64.
    """
    quick_acks: int | None = None
    """Of a transfer, the packets that are acknowledged at once though ACKs are delayed: ns-3 does
    so with 1, Linux's quick ACKs begin with up to 16. 0 to 1000.
    """
    rack_rtt: Literal["latest", "highest"] | None = None
    """For `recovery = "rack"`: of the segments that an ACK delivers, RACK takes the RTT of that
    sent "latest" (RFC 8985) or with the "highest" number (Linux).
    """
    rto_granularity: Time | None = None
    """G of RFC 6298: the timeout exceeds the smoothed RTT by at least this."""
    rttvar: Literal["rtt", "ack"] | None = None
    """How often the RTT's variation may fall: "rtt" (with one sample per RTT) or "ack" (with every
    sample).
    """
    undo: Literal["off", "dsack", "timestamps"] | None = None
    """For `recovery = "rack"`: is a reduction taken back when packets turn out to have been late
    and not lost? "off", "dsack" (DSACK, and F-RTO after a timeout) or "timestamps" (these and
    Eifel), as Linux does without and with its timestamps.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class UdpProtocol(Model):
    """UDP: sends what the application offers, without ACKs or congestion control."""

    kind: Literal["udp"] = "udp"
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class UnoProtocol(Model):
    """EXPERIMENTAL: UNO: MLCP with its load factor spread over one bit of sixteen packets."""

    kind: Literal["uno"] = "uno"
    alpha: float | None = None
    """alpha, the additive increase per t_p [packets] (eqs. 6, 7). 0.0 to 1000.0."""
    beta_max: float | None = None
    """beta_max, the factor of the mildest decrease (2.2.2). 0.0 to 1.0."""
    beta_min: float | None = None
    """beta_min, the factor of the strongest decrease (2.2.2). 0.0 to 1.0."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - sigma)/sigma at a region's upper edge (eq. 1). 0.0 to 10.0."""
    mi_limit: float | None = None
    """srtt/t_p counts up to this in multiplicative increase (D7). 0.001 to 1000.0."""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class UnoQueue(Model):
    """EXPERIMENTAL: UNO: marks if MLCP's load code is at or above the packet's level."""

    kind: Literal["uno"] = "uno"
    a: float | None = None
    """a, the weight of the old average of the queue (MLCP's). 0.0 to 1.0."""
    gamma: float | None = None
    """gamma, the target utilization (MLCP's). 0.01 to 2.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (MLCP's). 0.0 to 10.0."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    t_p: Time | None = None
    """t_p, the period of the load factor (R3)."""
    t_q: Time | None = None
    """t_q, the period of the queue's samples (MLCP's)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpCsigProtocol(Model):
    """VCP's end host with its load factor from a CSIG tag of n bits."""

    kind: Literal["vcp-csig"] = "vcp-csig"
    a: float | None = None
    """The weight of the old average of the delay, per tag that tells one: VCP's a. 0.0 to 1.0."""
    abw_range: float | None = None
    """The range of ABW [bit/s]; what is beyond it is in the last bucket. 1000.0 to
    1000000000000000.0.
    """
    ai_limit_high: Time | None = None
    """The AI scaling limiter's upper end; above it g has slope 1."""
    ai_limit_low: Time | None = None
    """The AI scaling limiter's lower end; below it g is linear."""
    ai_scaling: Literal["rate", "window", "none"] | None = None
    """How the additive increase depends on the RTT."""
    alpha: float | None = None
    """alpha, the additive increase per t_d [packets] (eq. 3). 0.0 to 1000.0."""
    base_rtt: Time | None = None
    """The RTT without queueing, for scale_rtt = "base_rtt" only."""
    beta: float | None = None
    """beta, the factor of the decrease (eq. 4). 0.0 to 1.0."""
    delay_range: Time | None = None
    """The range of the delay of a hop."""
    gamma: float | None = None
    """gamma, the target utilization (R4). 0.01 to 2.0."""
    high_load: float | None = None
    """The load factor transition point, where MI ends (section III-B). 0.01 to 1.0."""
    interval: Time | None = None
    """t, the interval over which available bandwidth is measured."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5). 0.0 to 10.0."""
    kappa_q: float | None = None
    """kappa_q, the part of the queue that counts as load, if the delay is asked for. 0.0 to 10.0.
    """
    least: float | None = None
    """The part of the range that is bucket 0, if the others are exponential. 1e-06 to 0.5."""
    limiters: bool | None = None
    """Are the increases of very short and very long RTTs limited (S.1, S.2)?"""
    mi_limit: float | None = None
    """The MI scaling limiter: srtt/t_rho counts up to this. 0.001 to 100.0."""
    pace_large_rtt: bool | None = None
    """Are packets spaced when few of them share an RTT much longer than t_rho?"""
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    quantization: Literal["linear", "exponential"] | None = None
    """How a signal's range is divided into buckets."""
    queue_delay: bool | None = None
    """Does every other packet ask for the largest delay of a hop, so that the load factor counts
    the queue?
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    scale_rtt: Literal["srtt", "min_rtt", "base_rtt"] | None = None
    """The RTT that scales the additive increase."""
    signal: Literal["abw", "abw/c"] | None = None
    """What tells the load: ABW/C, or ABW. A host that asks for ABW does not learn the line's
    capacity and takes `abw_range` as that of every line.
    """
    t_d: Time | None = None
    """t_d, the common base RTT of the additive increase (eq. 8)."""
    t_rho: Time | None = None
    """t_rho, the period of the load factor: MI's base and the length of the freeze."""
    tag_bits: int | None = None
    """n, the bits of a value: 5 in the compact tag, 20 in the wide one. 1.0 to 20.0."""
    weight: float | None = None
    """The flow's weight: its alpha is this many times as large (end of section IV). 0.001 to
    1000.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpEndhostProtocol(Model):
    """EXPERIMENTAL: VCP without routers: load from RTT variation, overload from losses."""

    kind: Literal["vcp-endhost"] = "vcp-endhost"
    alpha: float | None = None
    """alpha, the additive increase per t_rho [packets] (eq. 3). 0.0 to 1000.0."""
    beta: float | None = None
    """beta, the factor of the decrease (eq. 4). 0.0 to 1.0."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5). 0.0 to 10.0."""
    margin: Time | None = None
    """The load is high from this queueing delay on, if the other margin is smaller."""
    margin_ratio: float | None = None
    """The load is high from this part of the smallest RTT on, if the other margin is smaller. 0.0
    to 10.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    t_rho: Time | None = None
    """t_rho, the period of the estimate, MI's base and the length of the freeze."""


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpFriendlyProtocol(Model):
    """TCP-friendly VCP: alpha follows TCP's throughput; needs marking = "red" at the router."""

    kind: Literal["vcp-friendly"] = "vcp-friendly"
    ai_scaling: Literal["rate", "window", "none"] | None = None
    """How the additive increase depends on the RTT."""
    alpha: float | None = None
    """alpha, the additive increase per RTT [packets]; 0.2 = 3*(1 - beta)/(1 + beta) is the other
    reading (section VI-C). 0.0 to 1000.0.
    """
    beta: float | None = None
    """beta, the factor of the decrease (eq. 4). 0.0 to 1.0."""
    high_load: float | None = None
    """The load factor transition point, where MI ends (section III-B). 0.01 to 1.0."""
    kappa: float | None = None
    """kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5). 0.0 to 10.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    t_rho: Time | None = None
    """t_rho, the period of the load factor: MI's base and the length of the freeze."""


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpProtocol(Model):
    """VCP: two bits of load factor; MI, AI or MD at the end host."""

    kind: Literal["vcp"] = "vcp"
    ai_limit_high: Time | None = None
    """The AI scaling limiter's upper end; above it g has slope 1."""
    ai_limit_low: Time | None = None
    """The AI scaling limiter's lower end; below it g is linear."""
    ai_scaling: Literal["rate", "window", "none"] | None = None
    """How the additive increase depends on the RTT."""
    alpha: float | None = None
    """alpha, the additive increase per t_d [packets] (eq. 3). 0.0 to 1000.0."""
    base_rtt: Time | None = None
    """The RTT without queueing, for scale_rtt = "base_rtt" only."""
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
    pacing: float | None = None
    """Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at once
    when the window allows. 0.0 to 10.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    scale_rtt: Literal["srtt", "min_rtt", "base_rtt"] | None = None
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
    adapt_gamma: bool | None = None
    """Does gamma move until the utilization is u_target (eq. 14)?"""
    gamma: float | None = None
    """gamma, the target utilization (eq. 1). 0.01 to 2.0."""
    gamma_periods: int | None = None
    """gamma moves after so many periods of t_rho (eq. 14: much longer than an RTT). 1.0 to
    100000.0.
    """
    gamma_step: float | None = None
    """mu, by which gamma moves at a time (eq. 14). 0.0 to 1.0."""
    high_load: float | None = None
    """The load factor from which on the load is high (section III-B). 0.0 to 10.0."""
    kappa_q: float | None = None
    """kappa_q, how fast the persistent queue drains (eq. 1). 0.0 to 10.0."""
    marking: Literal["all", "red"] | None = None
    """Which packets learn of overload."""
    max_p: float | None = None
    """max_p, the probability of a mark at rho = max_rho, if RED picks (section VI-C). 1e-06 to 1.0.
    """
    max_rho: float | None = None
    """The load factor at which the probability of a mark is max_p, if RED picks. 1.001 to 10.0."""
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
    u_target: float | None = None
    """U, the utilization that gamma is moved for (eq. 14). 0.01 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class VegasProtocol(Model):
    """TCP Vegas: one packet more or less per RTT, by its backlog in the queues."""

    kind: Literal["vegas"] = "vegas"
    alpha: float | None = None
    """alpha, below so many packets in queues the window grows [packets] (JSAC section IV-B). 0.0 to
    1000000.0.
    """
    beta: float | None = None
    """beta, above so many it shrinks [packets] (JSAC section IV-B). 0.0 to 1000000.0."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    gamma: float | None = None
    """gamma, above so many slow start ends [packets] (JSAC section IV-C). 0.0 to 1000000.0."""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class VqQueue(Model):
    """Virtual queue at a fixed fraction of the capacity."""

    kind: Literal["vq"] = "vq"
    buffer_ratio: float | None = None
    """The virtual buffer as a part of the buffer (ns-2's buflim_). 0.0 to 10.0."""
    capacity_ratio: float | None = None
    """theta, the virtual capacity as a part of the capacity. 0.001 to 1.0."""
    counts: Literal["buffer", "packets", "bytes"] | None = None
    """What the virtual queue counts."""
    ecn: bool | None = None
    """Are capable packets marked instead of dropped?"""
    marks: Literal["overflow", "busy-period"] | None = None
    """What is marked."""


@dataclass(frozen=True, kw_only=True, repr=False)
class WestwoodProtocol(Model):
    """TCP Westwood+: a loss reduces the window to what the measured rate needs."""

    kind: Literal["westwood"] = "westwood"
    alpha: float | None = None
    """alpha, weight of the old estimate in the new one (section 2.2: 0.9). 0.0 to 0.999."""
    ecn: bool | None = None
    """Does it use ECN (RFC 3168)?"""
    max_ssthresh: float | None = None
    """max_ssthresh, from which limited slow start is slower [packets] (RFC 3742). 2.0 to
    1000000000.0.
    """
    paced: bool | None = None
    """Does it pace, at 2 (slow start) and 1.2 windows per srtt?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    slow_start: (
        Literal["standard", "limited", "hystart", "ack-train", "linux", "ns-3"]
        | None
    ) = None
    """How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee 2008, or Linux
    6.1.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class WfqQueue(Model):
    """Weighted fair queueing by start tags, over flows or groups."""

    kind: Literal["wfq"] = "wfq"
    by: Literal["flow", "group", "acks"] | None = None
    """What makes a class: a flow, a group of flows in the order of the scenario, or ACKs (class 0)
    and data (class 1).
    """
    w0: float | None = None
    """r_0, weight of class 0: its share is its part of the sum of those that wait. 0.01 to 100.0.
    """
    w1: float | None = None
    """r_1, weight of class 1. 0.01 to 100.0."""
    w2: float | None = None
    """r_2, weight of class 2. 0.01 to 100.0."""
    w3: float | None = None
    """r_3, weight of class 3 and all further ones. 0.01 to 100.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpCoreProtocol(Model):
    """XCP between border routers: one header per RTT, windows weighted by the flows carried."""

    kind: Literal["xcp-core"] = "xcp-core"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    per_rtt: float | None = None
    """Control packets per RTT. 0.1 to 1000.0."""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    weighted: bool | None = None
    """Do macro-flows get rates in proportion to the number of flows that they carry (section 8.1)?
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpCoreQueue(Model):
    """XCP's controllers for the control packets of macro-flows."""

    kind: Literal["xcp-core"] = "xcp-core"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpDivisionFreeProtocol(Model):
    """XCP with a header that spares routers the division."""

    kind: Literal["xcp-division-free"] = "xcp-division-free"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpDivisionFreeQueue(Model):
    """XCP's controllers for the header without divisions."""

    kind: Literal["xcp-division-free"] = "xcp-division-free"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpFriendlyProtocol(Model):
    """XCP that falls back to TCP Reno on paths without XCP routers."""

    kind: Literal["xcp-friendly"] = "xcp-friendly"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    receiver: bool | None = None
    """Does the receiver speak XCP?"""
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpFriendlyQueue(Model):
    """A queue for XCP and a RED queue for all others, weighted to make their rates equal."""

    kind: Literal["xcp-friendly"] = "xcp-friendly"
    alpha: float | None = None
    """alpha, share of the spare bandwidth handed out per interval (eq. 13). 0.0 to 10.0."""
    beta: float | None = None
    """beta, share of the X-queue drained per interval (eq. 13). 0.0 to 10.0."""
    ecn: bool | None = None
    """Does RED mark capable packets?"""
    equalise: Literal["windows", "throughput"] | None = None
    """What the weights make equal."""
    gamma: float | None = None
    """gamma, share of XCP's traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    k: float | None = None
    """k, by which the weights move (eqs. 11 and 12). 0.0 to 1.0."""
    least: float | None = None
    """The least weight; the most is 1 less that. 0.001 to 0.5."""
    max_p: float | None = None
    """RED's max_p, the probability at max_th. 1e-06 to 1.0."""
    max_th_ratio: float | None = None
    """RED's max_th as a part of the buffer. 0.0 to 1.0."""
    min_th_ratio: float | None = None
    """RED's min_th as a part of the buffer. 0.0 to 1.0."""
    w_p: float | None = None
    """w_p, the weight of an interval in the average of p. 0.0001 to 1.0."""
    w_q: float | None = None
    """RED's w_q, the weight of a new sample in the average queue. 1e-09 to 1.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpIntegerQueue(Model):
    """XCP whose feedback is in whole units, as in a router without fractions."""

    kind: Literal["xcp-integer"] = "xcp-integer"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    unit: float | None = None
    """The unit of H_feedback [bytes]. 0.001 to 1000000.0."""
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpLawQueue(Model):
    """XCP with a binomial law in place of AIMD in the fairness controller."""

    kind: Literal["xcp-law"] = "xcp-law"
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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    k: float | None = None
    """k, by which increases fall with the rate. 0.0 to 2.0."""
    l: float | None = None
    """l, by which decreases rise with the rate. 0.0 to 2.0."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    preset: Literal["aimd", "sqrt", "iiad"] | None = None
    """Named values of the parameters; other keys override them. aimd: XCP's own law. sqrt: Bansal
    and Balakrishnan's SQRT. iiad: Bansal and Balakrishnan's IIAD, inverse increase and additive
    decrease.
    """
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpMisbehavingProtocol(Model):
    """EXPERIMENTAL: XCP senders that ignore feedback or lie about window and RTT."""

    kind: Literal["xcp-misbehaving"] = "xcp-misbehaving"
    cwnd_factor: float | None = None
    """H_cwnd over the window. 0.001 to 1000.0."""
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    ignores: bool | None = None
    """Is feedback that asks for a smaller window ignored, in the window and in H_cwnd?"""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None
    rtt_factor: float | None = None
    """H_rtt over the RTT estimate. 0.001 to 1000.0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpPoliceQueue(Model):
    """Tests XCP flows at the edge with feedback; flags and isolates those that misbehave."""

    kind: Literal["xcp-police"] = "xcp-police"
    again: float | None = None
    """A flow that sends too much in an RTT is tested at once, unless it passed a test this short a
    time ago [RTTs]. 0.0 to 1000000000.0.
    """
    ahead: float | None = None
    """How much more than its window may leave from the beginning of a test to the response, besides
    two packets: a later one is none. 0.0 to 10.0.
    """
    early: float | None = None
    """A response earlier than this belongs to an RTT that is not the stated one [RTTs]. 0.0 to 1.0.
    """
    first: float | None = None
    """Time from a flow's first RTT estimate to its first test, on average [its RTTs]. 1.0 to
    1000000.0.
    """
    isolation: Literal["none", "limit", "drop"] | None = None
    """What becomes of a flagged flow."""
    late: float | None = None
    """A response later than this after a test began is none [the longest RTT stated since]. 1.2 to
    10.0.
    """
    measured: Time | None = None
    """Time over which the mean rate of the flows that are not flagged is measured."""
    min_window: float | None = None
    """Windows below this are not tested [packets]. 2.0 to 1000000.0."""
    period: float | None = None
    """Time from a test that was passed to the next, on average [RTTs]; each is drawn between half
    and one and a half times that. 1.0 to 1000000000.0.
    """
    price: float | None = None
    """The price of the link's flows (section 6): a window is that many times what the header says.
    0.001 to 1000.0.
    """
    silent: int | None = None
    """Packets that a flow may send without stating an RTT. 1.0 to 1000000000.0."""
    slack: float | None = None
    """How much more than its window a flow may send in an RTT, besides two packets. 0.0 to 10.0."""
    take: float | None = None
    """theta, the part of its window that a test takes from a flow. 0.05 to 0.9."""


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpProtocol(Model):
    """XCP: routers write each packet's window change into its header."""

    kind: Literal["xcp"] = "xcp"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


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
    capacity_error: float | None = None
    """e: the router takes its capacity for C*(1 + e), as one that shares its medium may. -0.99 to
    10.0.
    """
    gamma: float | None = None
    """gamma, share of the traffic shuffled per interval (eq. 2). 0.0 to 1.0."""
    initial_interval: Time | None = None
    """Length of the control interval before the first estimate of the mean RTT."""
    max_rtt: Time | None = None
    """Longer RTTs count as this in d, the mean: 1 s in ns-2.35, no bound in section 3.5 or in the
    authors' code of 2002.
    """
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
    queue_window: float | None = None
    """The window of the persistent queue as a share of the propagation delay: 1 in section 3.5.1, a
    half in the authors' code. 0.01 to 1.0.
    """
    target_queue: float | None = None
    """q0 in phi = alpha*d*(C-y) - beta*(Q-q0), the queue left standing [bytes] (section 5.2). 0.0
    to 1000000000000.0.
    """
    xi_scale: float | None = None
    """What xi_p and xi_n are multiplied with, so that all is handed out even if fewer packets
    arrive than in the interval before: 1 in eqs. (6) and (9), 1.1 in the authors' first code. 1.0
    to 10.0.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpRProtocol(Model):
    """XCP-r: the receiver adds up the feedback, so that none is lost with an ACK."""

    kind: Literal["xcp-r"] = "xcp-r"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpwProtocol(Model):
    """XCPw: XCP's sender, for routers that recompute the feedback for every packet."""

    kind: Literal["xcpw"] = "xcpw"
    header_cwnd: Literal["real", "floor"] | None = None
    """H_cwnd: the real-valued window or the one rounded down to whole packets (section 3.2)."""
    losses: Literal["congestion", "explicit"] | None = None
    """Is a loss between two increases taken for one of the line (section 1)?"""
    price: float | None = None
    """The sender writes cwnd/price; rates become proportional to the price (section 6). 0.001 to
    1000.0.
    """
    rate: float | None = None
    """r, the rate the application wants [bit/s]; 0 is an unlimited source (section 3.3). 0.0 to
    1000000000000000.0.
    """
    recovery: (
        Literal["tahoe", "reno", "newreno", "sack", "rate-halving", "decoupled", "rack", "dccp", "none"]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True, repr=False)
class XcpwQueue(Model):
    """XCP's feedback at every departure over a sliding window, without fairness control."""

    kind: Literal["xcpw"] = "xcpw"
    alpha: float | None = None
    """alpha, what of the spare bandwidth is handed out. 0.0 to 2.0."""
    beta: float | None = None
    """beta, what of the queue is drained. 0.0 to 2.0."""
    first_rtt: Time | None = None
    """Mean RTT before any header told one."""
    over: str | Mapping[str, Any] | None = None
    """the policy it stands over: a name or a table. Left out: "droptail"."""
    queue_window: Time | None = None
    """Time over which Q is the least queue."""


Buffer: TypeAlias = str
"""bytes, packets, or multiples of capacity times the longest two-way propagation time of a flow
over the link, in bytes (bdp) or full packets (bdp-pkt), such as "1bdp", "1bdp-pkt", "1.5MB",
"100pkt".
"""

Bytes: TypeAlias = str
"""a number of bytes with its unit, such as "1.5MB"."""

Metric: TypeAlias = str
"""a number of each run: `links.NAME.COLUMN`, `groups.NAME.COLUMN`, or a column alone, of the
bottleneck or of all flows.
"""

ProtocolTable: TypeAlias = (
    RenoProtocol
    | NewrenoProtocol
    | SackProtocol
    | XcpProtocol
    | VcpProtocol
    | PythonProtocol
    | BbrProtocol
    | Bbr3Protocol
    | DpcpProtocol
    | HstcpProtocol
    | ScalableProtocol
    | HtcpProtocol
    | BicProtocol
    | CubicProtocol
    | Cubic2005Protocol
    | TahoeProtocol
    | DctcpProtocol
    | WestwoodProtocol
    | IllinoisProtocol
    | CompoundProtocol
    | LtcpProtocol
    | GaimdProtocol
    | BinomialProtocol
    | FastProtocol
    | VegasProtocol
    | UdpProtocol
    | TfrcProtocol
    | RcpProtocol
    | QuickstartProtocol
    | MaxnetProtocol
    | JetmaxProtocol
    | VcpFriendlyProtocol
    | VcpEndhostProtocol
    | MlcpProtocol
    | NbitProtocol
    | BmccProtocol
    | IxcpProtocol
    | XcpDivisionFreeProtocol
    | PxcpProtocol
    | XcpMisbehavingProtocol
    | XcpFriendlyProtocol
    | XcpCoreProtocol
    | IxcpPlusProtocol
    | MpcpProtocol
    | XcpRProtocol
    | OsuProtocol
    | EricaProtocol
    | CharnyProtocol
    | DecbitProtocol
    | MecnProtocol
    | JerseyProtocol
    | AimdQueueProtocol
    | UnoProtocol
    | PragueProtocol
    | CopaProtocol
    | AbcProtocol
    | XcpwProtocol
    | SconeProtocol
    | PcpProtocol
    | VcpCsigProtocol
    | MlcpCsigProtocol
    | NbitCsigProtocol
    | DpcpCsigProtocol
    | BmccCsigProtocol
)

QueueTable: TypeAlias = (
    DroptailQueue
    | RedQueue
    | XcpQueue
    | VcpQueue
    | PythonQueue
    | AredQueue
    | RemQueue
    | AvqQueue
    | VqQueue
    | PiQueue
    | PieQueue
    | BlueQueue
    | DpcpQueue
    | RcpQueue
    | QuickstartQueue
    | MaxnetQueue
    | JetmaxQueue
    | DropfrontQueue
    | ChokeQueue
    | RioQueue
    | CsfqQueue
    | CsfqEdgeQueue
    | DrrQueue
    | WfqQueue
    | PriorityQueue
    | CodelQueue
    | FqCodelQueue
    | MlcpQueue
    | NbitQueue
    | BmccQueue
    | IxcpQueue
    | XcpDivisionFreeQueue
    | PxcpQueue
    | XcpPoliceQueue
    | XcpFriendlyQueue
    | XcpCoreQueue
    | IxcpPlusQueue
    | XcpLawQueue
    | MpcpQueue
    | OsuQueue
    | EricaQueue
    | CharnyQueue
    | DecbitQueue
    | MecnQueue
    | XcpIntegerQueue
    | UnoQueue
    | Dualpi2Queue
    | AbcQueue
    | XcpwQueue
    | SconeQueue
    | StepQueue
    | CsigQueue
)

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

ValueSeries: TypeAlias = str
"""values at equal steps or equal ratios, both ends included, such as "linspace(10ms, 100ms, 10)",
"logspace(1Mbps, 1Gbps, 7)".
"""
