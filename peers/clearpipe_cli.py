"""Runs scenarios in Clearpipe, through its command line."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dumbbell import Figures, LinkFigures, MissingError, PeerError, Point


def find() -> str:
    """The `clearpipe` command of this interpreter's environment or of PATH, or MissingError."""
    program = shutil.which("clearpipe", path=str(Path(sys.executable).parent)) or shutil.which(
        "clearpipe"
    )
    if program is None:
        raise MissingError("the command `clearpipe` is not installed: make demo sets it up")
    return program


def run(point: Point, seed: int) -> Figures:
    """Runs the dumbbell `point` once."""
    result = _result(point.name, point.scenario(), seed)
    links = {link["name"]: link for link in result["links"]}
    meta = result["meta"]
    return Figures(
        forward=_link(links["bottleneck"]),
        reverse=_link(links["bottleneck.reverse"]),
        packet_hops=int(meta["packet_hops"]),
        wall_s=float(meta["wall_s"]),
        peak_rss_bytes=int(meta["peak_rss_bytes"]),
    )


def _result(name: str, scenario: str, seed: int) -> Any:
    """The JSON that `clearpipe run --json` prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name.replace('/', '-')}.toml")
        file.write_text(scenario, encoding="utf-8")
        command = [find(), "run", str(file), "--json", "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise PeerError(f"clearpipe failed on {name} (exit {done.returncode}):\n{done.stderr}")
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise PeerError(f"clearpipe's output for {name} cannot be read ({error!r})") from error


def _link(row: dict[str, Any]) -> LinkFigures:
    return LinkFigures(
        utilization_ratio=float(row["utilization_ratio"]),
        queue_mean_pkts=float(row["queue_mean_pkts"]),
        queue_mean_bytes=float(row["queue_mean_bytes"]),
        arrivals_pkts=int(row["arrivals_pkts"]),
        drops_pkts=int(row["drops_pkts"]),
        marks_pkts=int(row["marks_pkts"]),
        total_drops_pkts=int(row["total_drops_pkts"]),
    )
