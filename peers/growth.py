"""What happens as runs grow: more flows, a long run, many replications."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import clearpipe_cli
import probe
from dumbbell import PeerError, Point
from settings import Settings, Task, note

FLOWS = (10, 100, 1_000, 10_000, 100_000)
FLOWS_DURATION_S = 6.0
REPLICATIONS = 16


@dataclass(frozen=True)
class Cost:
    """Nanoseconds per packet-hop: of the run, its first half (building included), its second."""

    whole: float
    cold: float
    steady: float

    @classmethod
    def of(cls, run: probe.Watched) -> "Cost":
        """Split at half of the simulated time."""
        half_s = run.meta["simulated_s"] / 2
        start, end = probe.Look(0.0, 0.0, 0, 0), run.looks[-1]
        middle = next((look for look in run.looks if look.simulated_s >= half_s), end)
        return cls(_cost(start, end), _cost(start, middle), _cost(middle, end))


def _cost(start: probe.Look, end: probe.Look) -> float:
    if end.packet_hops == start.packet_hops:
        raise PeerError("the run is too short to be split in halves")
    return (end.cpu_s - start.cpu_s) / (end.packet_hops - start.packet_hops) * 1e9


def tasks() -> list[Task]:
    """Growth, a long run, replications."""
    growth = (*(f"scale=flows-{count}" for count in FLOWS), "scale=growth")
    return [
        Task(growth, growth_lines),
        Task(("scale=10g-100s",), long_run_lines),
        Task(("scale=replications",), replication_lines),
    ]


def ten_gigabit(name: str, flows: int, duration_s: float) -> Point:
    """XCP one-way at 10 Gb/s and 80 ms; a buffer of a BDP drops nothing."""
    return Point(name, 10_000, 80, flows, 0, "xcp", "xcp", duration_s)


def growth_lines(settings: Settings) -> Iterator[str]:
    """Time per packet-hop by number of flows, all of them one after the other in every round."""
    whole = settings.wants("scale=growth")
    counts = [n for n in FLOWS if whole or settings.wants(f"scale=flows-{n}")]
    costs: dict[int, list[Cost]] = {count: [] for count in counts}
    for _ in range(settings.pairs):
        for count in counts:
            costs[count].append(_run_flows(count, settings))
    for count in counts:
        parts = (
            f"{key}={median(getattr(cost, part) for cost in costs[count]):.1f}"
            for key, part in (("ns_per_hop", "whole"), ("cold", "cold"), ("steady", "steady"))
        )
        yield f"scale=flows-{count} {' '.join(parts)}"
    if whole:
        pairs = list(zip(costs[FLOWS[-1]], costs[FLOWS[0]], strict=True))
        steady = median(many.steady / few.steady for many, few in pairs)
        cold = median(many.cold / few.cold for many, few in pairs)
        yield f"scale=growth ratio={steady:.2f} cold_ratio={cold:.2f}"


def _run_flows(count: int, settings: Settings) -> Cost:
    # Starts take the first second, so a smoke test cannot be much shorter.
    duration_s = 2.0 if settings.quick else FLOWS_DURATION_S
    point = ten_gigabit(f"flows-{count}", count, duration_s)
    run = probe.watch(point.name, point.scenario())
    cost = Cost.of(run)
    drops = run.bottleneck["total_drops_pkts"]
    figures = f"cold {cost.cold:.1f}, steady {cost.steady:.1f} ns/hop, {drops} drops"
    note(f"{point.name}: {figures}, {run.meta['wall_s']:.1f} s")
    return cost


def long_run_lines(settings: Settings) -> Iterator[str]:
    """10 Gb/s and 100 flows for 100 s."""
    point = ten_gigabit("10g-100s", 100, settings.duration_s(100.0))
    runs = []
    for _ in range(settings.pairs):
        run = probe.watch(point.name, point.scenario())
        runs.append(run)
        wall_s, hops = run.meta["wall_s"], run.meta["packet_hops"]
        note(f"{point.name}: {hops} packet-hops in {wall_s:.1f} s, {run.cpu_s:.1f} s on the core")
    wall_s, cpu_s = median(run.meta["wall_s"] for run in runs), median(run.cpu_s for run in runs)
    yield f"scale=10g-100s wall_s={wall_s:.2f} cpu_s={cpu_s:.2f}"


def replication_lines(settings: Settings) -> Iterator[str]:
    """The same replications on two cores and on one, whole processes."""
    if len(settings.cores) < 2:
        note("replications: this machine has no two cores to compare")
        yield 'scale=replications skipped="fewer than two cores"'
        return
    point = Point("replications", 150, 80, 30, 30, "xcp", "xcp", settings.duration_s(60.0))
    ratios = []
    for _ in range(settings.pairs):
        two, one = (_replications(point, settings.cores[-count:]) for count in (2, 1))
        ratios.append(two / one)
        note(f"replications: {two:.2f} s on two cores, {one:.2f} s on one, {two / one:.3f}")
    yield f"scale=replications cores=2 ratio={median(ratios):.3f}"


def _replications(point: Point, cores: tuple[int, ...]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{point.name}.toml")
        file.write_text(point.scenario(), encoding="utf-8")
        command = [
            clearpipe_cli.find(),
            "run",
            str(file),
            "--reps",
            str(REPLICATIONS),
            "--json",
            "--quiet",
        ]
        start = time.perf_counter()
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            preexec_fn=partial(os.sched_setaffinity, 0, cores),
        )
        wall_s = time.perf_counter() - start
    if done.returncode != 0:
        raise PeerError(f"clearpipe failed on {point.name}:\n{done.stderr}")
    return wall_s
