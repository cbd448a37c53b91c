"""Runs one scenario in a process of its own and looks at it on the way.

`python probe.py FILE SEED EVERY_S` prints JSON, with a look about every EVERY_S seconds (0: none);
`watch` and `speed` start that process and read it.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import PeerError, Speed, Unit

if TYPE_CHECKING:
    from clearpipe import _core


class Look(NamedTuple):
    """A moment of a run: its time on the core, simulated time, work and memory so far."""

    cpu_s: float
    simulated_s: float
    packet_hops: int
    peak_rss_bytes: int


@dataclass(frozen=True)
class Watched:
    """A run's looks and what it returned; the last look is near its end, before its tables.

    `peak_window_pkts` is the most of all flows' windows together, if the series cwnd is recorded;
    `acks` is what left the second link, a dumbbell's reverse one.
    """

    looks: list[Look]
    cpu_s: float
    meta: dict[str, Any]
    bottleneck: dict[str, Any]
    acks: int
    peak_window_pkts: float


def speed(name: str, scenario: str, seed: int, unit: Unit = "hops") -> Speed:
    """Runs the text of a scenario undisturbed; ACKs are those of a dumbbell's forward data."""
    run = _run(name, scenario, seed, every_s=0.0)
    return Speed(run.acks if unit == "acks" else int(run.meta["packet_hops"]), run.cpu_s)


def watch(name: str, scenario: str) -> Watched:
    """Runs the text of a scenario and looks at it 50 times a second."""
    run = _run(name, scenario, 1, every_s=0.02)
    if not run.looks:
        raise PeerError(f"the run of {name} is too short to look at")
    return run


def _run(name: str, scenario: str, seed: int, *, every_s: float) -> Watched:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.toml")
        file.write_text(scenario, encoding="utf-8")
        command = [sys.executable, __file__, str(file), str(seed), str(every_s)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"clearpipe failed on {name}:\n{done.stderr}")
    values = json.loads(done.stdout)
    looks = [Look(*look) for look in values["looks"]]
    bottleneck, *others = values["summary"]["links"]
    acks = others[0]["total_departures_pkts"] if others else 0
    peak = values["peak_window_pkts"]
    return Watched(looks, values["cpu_s"], values["meta"], bottleneck, acks, peak)


def main(file: str, seed: int, every_s: float) -> None:
    """Runs the scenario in `file`."""
    from clearpipe import _core

    text = Path(file).read_text(encoding="utf-8")
    looks: list[Look] = []

    def look(simulated_s: float, _events: int, packet_hops: int) -> None:
        cpu_s = time.process_time() - start
        looks.append(Look(cpu_s, simulated_s, packet_hops, _peak_rss_bytes()))

    on_progress = look if every_s else None
    start = time.process_time()
    run = _core.simulate(file, text, seed=seed, on_progress=on_progress, every_s=every_s)
    cpu_s = time.process_time() - start
    values = {
        "looks": looks,
        "cpu_s": cpu_s,
        "meta": json.loads(run.meta_json),
        "summary": json.loads(run.summary_json),
        "peak_window_pkts": _peak_window_pkts(run),
    }
    print(json.dumps(values))


def _peak_window_pkts(run: "_core.Run") -> float:
    if "cwnd_pkts" not in run.series_names:
        return 0.0
    series = run.series("cwnd_pkts")
    sums: dict[float, float] = defaultdict(float)
    for t_s, cwnd_pkts in zip(series.column("t_s"), series.column("cwnd_pkts"), strict=True):
        sums[t_s] += cwnd_pkts
    return max(sums.values())


def _peak_rss_bytes() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise PeerError("/proc/self/status has no VmHWM")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
