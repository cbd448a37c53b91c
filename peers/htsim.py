"""Runs greedy TCP over one bottleneck in csg-htsim, through `htsim.cc`, built on demand.

HTSIM names a checkout of github.com/Broadcom/csg-htsim, or its folder `sim`; its library is built
there by its own Makefile, with its own flags (-O3), if it is not built yet.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import compiled
from dumbbell import MissingError, PeerError, Speed

SOURCE = Path(__file__).with_name("htsim.cc")
WHERE = "HTSIM=folder of github.com/Broadcom/csg-htsim"


@dataclass(frozen=True)
class Greedy:
    """Long TCP flows over one bottleneck with a large buffer, data one way."""

    name: str
    flows: int
    rate_mbps: int = 1000
    rtt_ms: int = 80
    buffer_pkts: int = 10_000
    packet_bytes: int = 1000
    start_window_s: float = 1.0
    duration_s: float = 20.0

    def arguments(self) -> list[str]:
        """Those of `htsim.cc`, without the seed."""
        return [
            str(self.rate_mbps * 1_000_000),
            str(self.rtt_ms / 1000),
            str(self.flows),
            str(self.buffer_pkts),
            str(self.packet_bytes),
            str(self.duration_s),
            str(self.start_window_s),
        ]

    def scenario(self) -> str:
        """The same as a Clearpipe scenario."""
        return f"""\
schema = 1
name = "{self.name}"
duration = "{self.duration_s:g}s"

[topology]
kind = "dumbbell"
rate = "{self.rate_mbps}Mbps"
rtt = "{self.rtt_ms}ms"
buffer = "{self.buffer_pkts}pkt"
queue = "droptail"

[packets]
data = "{self.packet_bytes}B"

[flows.greedy]
protocol = "sack"
count = {self.flows}
start = "uniform(0s, {self.start_window_s:g}s)"
"""


def folder() -> Path:
    """htsim's sources, or MissingError."""
    named = os.environ.get("HTSIM", "")
    if not named:
        raise MissingError(f"no htsim: {WHERE}")
    for candidate in (Path(named), Path(named, "sim")):
        if (candidate / "eventlist.h").is_file():
            return candidate
    raise MissingError(f"{named} has no htsim in it (no eventlist.h, no sim/eventlist.h): {WHERE}")


def build() -> Path:
    """The program."""
    sources = folder()
    compiler, make = shutil.which("g++"), shutil.which("make")
    if compiler is None or make is None:
        raise MissingError("htsim needs g++ and make")
    library = sources / "libhtsim.a"
    if not library.exists():
        compiled.run([make, "-C", str(sources), library.name])
    command = [compiler, "-std=c++17", "-O3", f"-I{sources}", str(SOURCE), str(library)]
    return compiled.program("htsim-dumbbell", command, [SOURCE, library])


def speed(greedy: Greedy, seed: int) -> Speed:
    """Runs the flows once; work is the ACKs that reached their senders."""
    done = compiled.run([str(build()), *greedy.arguments(), str(seed)])
    values = dict(line.split(" ", 1) for line in done.splitlines())
    try:
        return Speed(int(values["acks"]), float(values["cpu_s"]))
    except (KeyError, ValueError) as error:
        raise PeerError(f"htsim failed on {greedy.name} ({error!r}):\n{done}") from error
