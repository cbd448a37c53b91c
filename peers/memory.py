"""Memory by differences of peak resident sizes: two runs that differ in one thing.

`bytes` is of whole processes, the result tables included; `before_tables` of the run alone.
"""

from collections.abc import Iterator
from statistics import median

import probe
from dumbbell import OverLimitError, Point
from settings import Settings, Task, note

THOUSAND_LIMIT_BYTES = 200_000_000
IDLE_FLOWS = (20_000, 220_000)
# Two RTTs, so that four times as many packets are in flight.
IN_FLIGHT = (
    Point("in-flight-80ms", 10_000, 80, 100, 0, "xcp", "xcp", 4.0),
    Point("in-flight-320ms", 10_000, 320, 100, 0, "xcp", "xcp", 8.0),
)
WINDOWS = """
[probe]
series = ["cwnd"]
every = "20ms"
"""
THOUSAND = Point("1000-flows", 1000, 80, 1000, 0, "xcp", "xcp", 10.0)


def tasks() -> list[Task]:
    """One for each line."""
    return [
        Task(("memory=idle-flow",), idle_lines),
        Task(("memory=packet-in-flight",), in_flight_lines),
        Task(("memory=1000-flows",), thousand_lines),
    ]


def idle_scenario(flows: int) -> str:
    """Ten busy flows, and others that have sent two packets each and stay."""
    busy = Point("idle", 1000, 80, 10, 0, "xcp", "xcp", 4.0).scenario()
    return f"""{busy}
[flows.idle]
protocol = "xcp"
count = {flows}
start = "every(10us)"
size = "2pkt"
"""


def idle_lines(settings: Settings) -> Iterator[str]:
    """A flow that is there and does nothing, its access path included."""
    few, many = (probe.watch("idle", idle_scenario(count)) for count in IDLE_FLOWS)
    yield _line("idle-flow", few, many, IDLE_FLOWS[1] - IDLE_FLOWS[0])


def in_flight_lines(settings: Settings) -> Iterator[str]:
    """A packet, or its ACK, on the way; how many there are at most is seen in runs of their own."""
    short, long = (probe.watch(point.name, point.scenario()) for point in IN_FLIGHT)
    few, many = (
        probe.watch(point.name, point.scenario() + WINDOWS).peak_window_pkts for point in IN_FLIGHT
    )
    note(f"packets in flight, at most: {few:.0f} and {many:.0f}")
    yield _line("packet-in-flight", short, long, many - few)


def _line(name: str, less: probe.Watched, more: probe.Watched, units: float) -> str:
    whole = more.meta["peak_rss_bytes"] - less.meta["peak_rss_bytes"]
    before = more.looks[-1].peak_rss_bytes - less.looks[-1].peak_rss_bytes
    return f"memory={name} bytes={whole / units:.0f} before_tables={before / units:.0f}"


def thousand_lines(settings: Settings) -> Iterator[str]:
    """All of a process with 1,000 flows."""
    runs = [probe.watch(THOUSAND.name, THOUSAND.scenario()) for _ in range(settings.pairs)]
    peak = median(run.meta["peak_rss_bytes"] for run in runs)
    yield f"memory=1000-flows bytes={peak:.0f}"
    if peak > THOUSAND_LIMIT_BYTES:
        raise OverLimitError(f"1000 flows: {peak:.0f} bytes, over {THOUSAND_LIMIT_BYTES}")
