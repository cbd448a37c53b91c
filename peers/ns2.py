"""Runs Tcl scripts in ns-2.35."""

import shutil
import subprocess
from pathlib import Path

from dumbbell import Figures, LinkFigures, MissingError, PeerError, Point, Speed

FOLDER = Path(__file__).parent


def find() -> str:
    """The `ns` program, or MissingError."""
    program = shutil.which("ns")
    if program is None:
        raise MissingError("ns-2 is not installed: make deps-peers")
    return program


def scripts() -> list[str]:
    """What decides, besides the arguments, about a dumbbell's results."""
    return [(FOLDER / name).read_text(encoding="utf-8") for name in ("dumbbell.tcl", "common.tcl")]


def run(point: Point, seed: int) -> Figures:
    """Runs the dumbbell `point` once."""
    values = _values("dumbbell.tcl", point.ns2_arguments(), seed)
    return Figures(
        forward=_link(values, "fwd"),
        reverse=_link(values, "rev"),
        packet_hops=int(values["packet_hops"]),
        wall_s=float(values["wall_s"]),
        peak_rss_bytes=int(values["peak_rss_bytes"]),
    )


def speed(script: str, arguments: dict[str, str], seed: int) -> Speed:
    """Runs a script of this folder once."""
    values = _values(script, arguments, seed)
    return Speed(int(values["packet_hops"]), float(values["cpu_s"]))


def _values(script: str, arguments: dict[str, str], seed: int) -> dict[str, str]:
    """What the script prints: a name and a value on each line."""
    keys = arguments | {"seed": str(seed)}
    command = [find(), str(FOLDER / script), *(word for pair in keys.items() for word in pair)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    values = {line[0]: line[1] for line in lines if len(line) == 2}
    # The last line.
    if "peak_rss_bytes" not in values:
        raise PeerError(f"ns-2 failed on {script} {keys}:\n{done.stderr or done.stdout}")
    return values


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
