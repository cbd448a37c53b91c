"""Speed against ns-2 on the same work (`make bench-peers`).

Each case alternates Clearpipe and ns-2 on one core and takes the median of three ratios: machines
are shared and drift, so only speeds of one run compare. Standard output has one `case=` line per
case and nothing else. ns-2's queue monitors, which count its packets, take 1-2 % of its time.
Exit status: 0 done, 4 when Clearpipe needs more memory than its limit, 5 when a simulator is
missing, 1 when one fails.
"""

import argparse
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

import cli
import ns2
from dumbbell import MissingError, PeerError, Point

PAIRS = 3
MEMORY_LIMIT_BYTES = 200_000_000
MEMORY_POINT = Point("memory-1000-flows", 1000, 80, 1000, 0, "xcp", "xcp", 10.0)

# The durations take ns-2 five to ten seconds.
SPEED_POINTS = (
    Point("xcp-base", 150, 80, 30, 30, "xcp", "xcp", 120.0),
    Point("xcp-150-50", 150, 80, 50, 50, "xcp", "xcp", 120.0),
    Point("sack-droptail-1g", 1000, 80, 100, 100, "sack", "droptail", 16.0),
    Point("xcp-1g-100", 1000, 80, 100, 100, "xcp", "xcp", 16.0),
)


@dataclass(frozen=True)
class Pair:
    """Packet-hops per second of one run of each, one after the other."""

    clearpipe: float
    ns2: float

    @property
    def ratio(self) -> float:
        """How many times faster Clearpipe is."""
        return self.clearpipe / self.ns2


def pin_to_one_core() -> None:
    """Keeps this process and those it starts on one core, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        note("cannot pin to one core on this system")
        return
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    note(f"pinned to core {core}")


def note_load() -> None:
    """Says when other programs are running: they slow both simulators, and not evenly."""
    load = os.getloadavg()[0]
    if load > 1.0:
        note(f"load average {load:.1f}: this machine is busy, so these figures are rough")


def measure(point: Point) -> str:
    """Runs the pairs of one case and returns its line."""
    pairs = []
    for seed in range(1, PAIRS + 1):
        ours, theirs = cli.run(point, seed), ns2.run(point, seed)
        pairs.append(Pair(ours.hops_per_s, theirs.hops_per_s))
        hops = f"{ours.packet_hops} and {theirs.packet_hops} packet-hops"
        walls = f"{ours.wall_s:.2f} and {theirs.wall_s:.2f} s"
        note(f"{point.name}: clearpipe and ns-2: {hops} in {walls}, ratio {pairs[-1].ratio:.2f}")
    clearpipe = median(pair.clearpipe for pair in pairs)
    peer = median(pair.ns2 for pair in pairs)
    ratio = median(pair.ratio for pair in pairs)
    speeds = f"clearpipe_hops_per_s={clearpipe:.0f} ns2_hops_per_s={peer:.0f}"
    return f"case={point.name} {speeds} ratio={ratio:.2f}"


def measure_memory(point: Point) -> bool:
    """Prints Clearpipe's peak memory on many flows; whether it is under the limit."""
    peak = cli.run(point, seed=1).peak_rss_bytes
    print(f"case={point.name} peak_rss_bytes={peak}", flush=True)
    if peak > MEMORY_LIMIT_BYTES:
        note(f"{point.name}: {peak} bytes are over the limit of {MEMORY_LIMIT_BYTES}")
    return peak <= MEMORY_LIMIT_BYTES


def bench(points: Iterable[Point]) -> bool:
    """Runs all cases; whether memory stayed under its limit."""
    in_limit = True
    for point in points:
        if point.name == MEMORY_POINT.name:
            in_limit = measure_memory(point)
        else:
            print(measure(point), flush=True)
    return in_limit


def note(text: str) -> None:
    """A line for people."""
    print(f"bench-peers: {text}", file=sys.stderr, flush=True)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Compare Clearpipe's speed with ns-2's on the same dumbbells."
    )
    parser.add_argument(
        "--only", default="", metavar="SUBSTR", help="only the cases whose name contains this"
    )
    parser.add_argument(
        "--duration-scale",
        type=float,
        default=1.0,
        metavar="X",
        help="multiply all durations, for smoke tests",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    options = arguments(argv)
    points = [
        replace(point, duration_s=point.duration_s * options.duration_scale)
        for point in (*SPEED_POINTS, MEMORY_POINT)
        if options.only in point.name
    ]
    if not points:
        note(f"no case's name contains {options.only!r}")
        return 2
    try:
        ns2.find()
        cli.find()
        pin_to_one_core()
        note_load()
        return 0 if bench(points) else 4
    except MissingError as error:
        note(str(error))
        return 5
    except PeerError as error:
        note(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
