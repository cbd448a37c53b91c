"""Runs a NewReno dumbbell in Debian's ns-3.37, through `dumbbell.cc`, built on demand."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import compiled
from dumbbell import MissingError, PeerError, Point, Speed

SOURCE = Path(__file__).with_name("dumbbell.cc")
# Debian's pkg-config files ask for libraries that its package does not bring.
LIBRARIES = (
    "applications",
    "internet",
    "nix-vector-routing",
    "traffic-control",
    "point-to-point",
    "network",
    "stats",
    "core",
)
ARGUMENTS = ("rate", "rtt", "forward", "reverse", "buffer", "duration", "start_window", "minrto")


def find() -> str:
    """The compiler that finds ns-3's libraries, or MissingError."""
    compiler = shutil.which("g++")
    if compiler is not None:
        asked = [compiler, "-print-file-name=libns3-core.so"]
        # The bare name comes back when there is no such file.
        answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if Path(answer).is_absolute():
            return compiler
    raise MissingError("ns-3 is not installed: make deps-peers")


def build(
    name: str = "ns3-dumbbell",
    source: Path = SOURCE,
    libraries: Sequence[str] = LIBRARIES,
    level: str = "-O2",
) -> Path:
    """A program against ns-3's libraries."""
    linked = [f"-lns3-{library}" for library in libraries]
    return compiled.program(name, [find(), "-std=c++17", level, str(source), *linked], [source])


def speed(point: Point, seed: int) -> Speed:
    """Runs `point`, whatever its protocol says, with NewReno."""
    keys = {key: point.ns2_arguments()[key] for key in ARGUMENTS} | {"seed": str(seed)}
    command = [str(build()), *(f"--{key}={value}" for key, value in keys.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        values = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        return Speed(int(values["packet_hops"]), float(values["cpu_s"]))
    except (KeyError, ValueError) as error:
        raise PeerError(
            f"ns-3 failed on {point.name} ({error!r}):\n{done.stderr or done.stdout}"
        ) from error
