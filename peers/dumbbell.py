"""One dumbbell, described once for all simulators, and the figures each returns."""

from dataclasses import dataclass
from typing import Any, Literal, Self

Queue = Literal["xcp", "vcp", "red-ecn", "droptail", "red", "rem", "rem-ecn", "avq", "pi"]
Protocol = Literal[
    "xcp",
    "vcp",
    "reno",
    "newreno",
    "sack",
    "hstcp",
    "scalable",
    "htcp",
    "bic",
    "cubic",
    "cubic-2005",
    "westwood",
    "illinois",
]
Unit = Literal["hops", "acks"]

PACKET_BYTES = 1000
RED_ECN = """
[queues.red-ecn]
kind = "red"
min_th_ratio = 0.3333333
max_th_ratio = 0.6666667
max_p = 0.1
w_q = 0.002
wait = false
gentle = true
ecn = true
"""


class PeerError(Exception):
    """A simulator failed, or printed what cannot be read."""


class OverLimitError(Exception):
    """Clearpipe needs more of something than its limit."""


class MissingError(Exception):
    """A simulator is not installed."""


@dataclass(frozen=True)
class Speed:
    """How much work a simulator did; `cpu_s` is the event loop's time on its core.

    Work is counted in packet-hops, or in ACKs where a case says so. On an idle machine `cpu_s` is
    the wall clock's; on a busy one it leaves other programs' time out.
    """

    work: int
    cpu_s: float

    @property
    def per_s(self) -> float:
        """Work per second of the event loop."""
        return self.work / self.cpu_s


@dataclass(frozen=True)
class Point:
    """A dumbbell with one bandwidth-delay product of buffer and long flows of one protocol."""

    name: str
    rate_mbps: int
    rtt_ms: int
    forward: int
    reverse: int
    protocol: Protocol
    queue: Queue
    duration_s: float
    warmup_ratio: float = 0.4
    start_window_s: float = 1.0
    min_rto_s: float = 0.2
    buffer_unit: Literal["bytes", "packets"] = "bytes"
    """What the buffer counts, an ACK as much as data if packets."""
    access_ratio: float = 10.0
    """Rate of every access link over that of the bottleneck."""
    queue_table: str = ""
    """What defines the queue in Clearpipe, where its defaults do not."""
    ns2_keys: tuple[tuple[str, str], ...] = ()
    """Keys of `dumbbell.tcl` besides those below."""

    @property
    def buffer_bytes(self) -> int:
        """The bandwidth-delay product."""
        return self.rate_mbps * self.rtt_ms * 125

    @property
    def buffer_pkts(self) -> float:
        """The buffer in data packets."""
        return self.buffer_bytes / PACKET_BYTES

    @property
    def ecn(self) -> bool:
        """Whether the TCP flows negotiate ECN."""
        return self.queue.endswith("-ecn")

    def ns2_arguments(self) -> dict[str, str]:
        """The keys of `dumbbell.tcl`."""
        return {
            "protocol": self.protocol,
            "queue": self.queue,
            "rate": str(self.rate_mbps * 1_000_000),
            "rtt": str(self.rtt_ms / 1000),
            "forward": str(self.forward),
            "reverse": str(self.reverse),
            "buffer": str(
                self.buffer_bytes if self.buffer_unit == "bytes" else int(self.buffer_pkts)
            ),
            "buffer_unit": self.buffer_unit,
            "duration": str(self.duration_s),
            "warmup": str(self.duration_s * self.warmup_ratio),
            "start_window": str(self.start_window_s),
            "minrto": str(self.min_rto_s),
            "access": str(self.access_ratio),
            **dict(self.ns2_keys),
        }

    def scenario(self) -> str:
        """The same as a Clearpipe scenario."""
        parts = [self._header(), self._flows("fwd", "forward", self.forward)]
        if self.reverse:
            parts.append(self._flows("rev", "reverse", self.reverse))
        if self.queue == "red-ecn":
            parts.append(RED_ECN)
        parts.append(self.queue_table)
        return "".join(parts)

    def _header(self) -> str:
        buffer = "1bdp" if self.buffer_unit == "bytes" else "1bdp-pkt"
        return f"""\
schema = 1
name = "{self.name}"
era = "ns2"
duration = "{self.duration_s:g}s"
warmup = "{self.warmup_ratio * 100:g}%"

[topology]
kind = "dumbbell"
rate = "{self.rate_mbps}Mbps"
rtt = "{self.rtt_ms}ms"
buffer = "{buffer}"
queue = "{self.queue}"

[transport]
initial_window = "1pkt" # common.tcl's windowInit_
rto_granularity = "3ms" # not the era's 30 ms: common.tcl's clock ticks each ms, not each 10 ms
min_rto = "{self.min_rto_s:g}s"
"""

    def _flows(self, name: str, direction: str, count: int) -> str:
        protocol = (
            f'{{ kind = "{self.protocol}", ecn = true }}' if self.ecn else f'"{self.protocol}"'
        )
        return f"""
[flows.{name}]
protocol = {protocol}
count = {count}
direction = "{direction}"
start = "uniform(0s, {self.start_window_s:g}s)"
access_rate = "{self.access_ratio:g}x"
"""


@dataclass(frozen=True)
class LinkFigures:
    """One direction of the bottleneck after the warm-up; `total_drops_pkts` is of the whole run."""

    utilization_ratio: float
    queue_mean_pkts: float
    queue_mean_bytes: float
    arrivals_pkts: int
    drops_pkts: int
    marks_pkts: int
    total_drops_pkts: int


@dataclass(frozen=True)
class Figures:
    """What one run of either simulator returns; `wall_s` is the event loop alone."""

    forward: LinkFigures
    reverse: LinkFigures
    packet_hops: int
    wall_s: float
    peak_rss_bytes: int

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second of the event loop."""
        return self.packet_hops / self.wall_s

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `dataclasses.asdict`."""
        links = {name: LinkFigures(**values[name]) for name in ("forward", "reverse")}
        return cls(**(values | links))
