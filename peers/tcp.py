"""Congestion controls against ns-2's TCP-Linux, Linux's own code (`make check-peers-tcp`).

One dumbbell (150 Mb/s, 80 ms, 30 flows each way, one BDP of buffer, 60 s). Two-way traffic differs
between seeds and the two recoveries are not the same, so the bounds are wide. BIC and CUBIC run for
150 s, of which 90 s count: at the start the two differ, and ns-2's drop four times as many. Exit
status as check.py's.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import check
import cli
import ns2
from dumbbell import Figures, LinkFigures, MissingError, PeerError, Point, Protocol

UTILIZATION = 0.06
QUEUE_RATIO = 0.10
DROP_FACTOR = 2.0
FEW_DROPS = 1e-4
LONGER = 2.5

# Ours, Linux's name, and Linux's parameters where they are not the paper's.
PAIRS: list[tuple[Protocol, str, str]] = [
    ("sack", "reno", ""),
    ("hstcp", "highspeed", ""),
    ("scalable", "scalable", ""),
    ("htcp", "htcp", ""),
    ("bic", "bic", 'preset = "linux-2-6-22"'),
    ("cubic-2005", "cubic", ""),
    ("cubic", "cubic", 'preset = "linux-2-6-22"'),
    ("westwood", "westwood", ""),
    ("illinois", "illinois", ""),
]


@dataclass(frozen=True)
class LinuxPoint(Point):
    """A dumbbell whose flows are Agent/TCP/Linux in ns-2."""

    linux: str = "reno"
    options: str = ""

    def scenario(self) -> str:
        """As a Clearpipe scenario."""
        text = super().scenario()
        if not self.options:
            return text
        protocol = f'protocol = {{ kind = "{self.protocol}", {self.options} }}'
        return text.replace(f'protocol = "{self.protocol}"', protocol)

    def ns2_arguments(self) -> dict[str, str]:
        """The keys of `dumbbell.tcl`."""
        return super().ns2_arguments() | {"protocol": "linux", "congestion": self.linux}


def points(duration_s: float) -> list[LinuxPoint]:
    """One for each pair."""
    return [
        LinuxPoint(
            f"{ours}/{linux}",
            150,
            80,
            30,
            30,
            ours,
            "droptail",
            duration_s * (LONGER if linux in ("bic", "cubic") else 1.0),
            linux=linux,
            options=options,
        )
        for ours, linux, options in PAIRS
    ]


def _drop_ratio(link: LinkFigures) -> float:
    return link.drops_pkts / max(link.arrivals_pkts, 1)


def compare(point: Point, ours: Figures, theirs: Figures) -> list[check.Row]:
    """The rows of one point, of the forward direction."""
    mine, other = ours.forward, theirs.forward
    mean, their_mean = (link.queue_mean_bytes / point.buffer_bytes for link in (mine, other))
    drop, their_drop = _drop_ratio(mine), _drop_ratio(other)
    most, least = max(drop, their_drop), min(drop, their_drop)
    close = most < FEW_DROPS or most <= DROP_FACTOR * least
    used = abs(mine.utilization_ratio - other.utilization_ratio) <= UTILIZATION
    name = point.name
    return [
        check.Row(name, "utilization_ratio", mine.utilization_ratio, other.utilization_ratio, used),
        check.Row(
            name, "queue_mean_ratio", mean, their_mean, abs(mean - their_mean) <= QUEUE_RATIO
        ),
        check.Row(name, "drop_ratio", drop, their_drop, close),
    ]


def run(options: argparse.Namespace) -> list[check.Row]:
    """Runs and compares, and prints the rows as they come."""
    print(f"{'point':20} {'measure':20} {'clearpipe':>12} {'ns2':>12} {'difference':>12}  verdict")
    store = check.Ns2Store(options.ns2_json)
    rows = []
    for point in points(options.duration):
        if options.only not in point.name:
            continue
        for row in compare(point, cli.run(point, 1), store.run(point, 1)):
            rows.append(row)
            values = f"{row.clearpipe:12.5f} {row.ns2:12.5f} {row.difference:+12.5f}"
            print(f"{row.point:20} {row.measure:20} {values}  {row.verdict}", flush=True)
    return rows


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description="Compare Clearpipe with ns-2's TCP-Linux.")
    parser.add_argument("--only", default="", metavar="SUBSTR", help="only these points")
    parser.add_argument("--duration", type=float, default=60.0, metavar="S", help="simulated time")
    parser.add_argument("--ns2-json", type=Path, metavar="FILE", help="keep ns-2's results here")
    options = parser.parse_args(argv)
    try:
        ns2.find()
        cli.find()
        rows = run(options)
    except MissingError as error:
        print(f"check-peers-tcp: {error}", file=sys.stderr)
        return 5
    except PeerError as error:
        print(f"check-peers-tcp: {error}", file=sys.stderr)
        return 1
    return 4 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
