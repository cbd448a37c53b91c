"""Runs a NewReno dumbbell in Debian's ns-3.37, through `dumbbell.cc`, built on demand."""

import shutil
import subprocess
from pathlib import Path

from dumbbell import MissingError, PeerError, Point, Speed

SOURCE = Path(__file__).with_name("dumbbell.cc")
PROGRAM = SOURCE.parents[1] / "build" / "peers" / "ns3-dumbbell"
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


def build() -> Path:
    """The program, compiled if it is older than its source."""
    compiler = find()
    if PROGRAM.exists() and PROGRAM.stat().st_mtime >= SOURCE.stat().st_mtime:
        return PROGRAM
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    libraries = [f"-lns3-{name}" for name in LIBRARIES]
    command = [compiler, "-std=c++17", "-O2", str(SOURCE), "-o", str(PROGRAM), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"{SOURCE.name} cannot be built:\n{done.stderr}")
    return PROGRAM


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
