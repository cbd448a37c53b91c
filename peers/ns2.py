"""Runs one point in ns-2.35."""

import shutil
import subprocess
from pathlib import Path

from dumbbell import Figures, LinkFigures, MissingError, PeerError, Point

SCRIPT = Path(__file__).with_name("dumbbell.tcl")


def find() -> str:
    """The `ns` program, or MissingError."""
    program = shutil.which("ns")
    if program is None:
        raise MissingError(
            "ns-2 (the program `ns` of Debian's package ns2) is not installed: make deps-peers"
        )
    return program


def run(point: Point, seed: int) -> Figures:
    """Runs `point` once."""
    keys = point.ns2_arguments() | {"seed": str(seed)}
    command = [find(), str(SCRIPT), *(word for pair in keys.items() for word in pair)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return parse(done.stdout)
    except (KeyError, ValueError) as error:
        raise PeerError(
            f"ns-2 failed on {point.name} ({error!r}):\n{done.stderr or done.stdout}"
        ) from error


def parse(output: str) -> Figures:
    """The figures in the lines `dumbbell.tcl` prints."""
    values = dict(line.split(" ", 1) for line in output.splitlines())
    return Figures(
        forward=_link(values, "fwd"),
        reverse=_link(values, "rev"),
        packet_hops=int(values["packet_hops"]),
        wall_s=float(values["wall_s"]),
        peak_rss_bytes=int(values["peak_rss_bytes"]),
    )


def _link(values: dict[str, str], direction: str) -> LinkFigures:
    return LinkFigures(
        utilization_ratio=float(values[f"utilization_ratio.{direction}"]),
        queue_mean_pkts=float(values[f"queue_mean_pkts.{direction}"]),
        queue_mean_bytes=float(values[f"queue_mean_bytes.{direction}"]),
        arrivals_pkts=int(values[f"arrivals_pkts.{direction}"]),
        drops_pkts=int(values[f"drops_pkts.{direction}"]),
        marks_pkts=int(values[f"marks_pkts.{direction}"]),
        total_drops_pkts=int(values[f"total_drops_pkts.{direction}"]),
    )
