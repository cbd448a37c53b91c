"""What a sweep will take, before it is started.

Each point that has no run in the store yet is tried for a moment (a fraction of a second of this
machine's time): packet-hops per simulated second, packet-hops per second of wall time. Of many
points some are tried, evenly spread, and the others are taken for their mean. What the store has
already measured is not tried again.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from clearpipe import api
from clearpipe.errors import ClearpipeError
from clearpipe.sweep import runner
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Store

TRIAL_S = 0.3
MOST_TRIALS = 40


@dataclass(frozen=True)
class Cost:
    """What one run takes."""

    events: float
    packet_hops: float
    wall_s: float
    disk_bytes: float


@dataclass(frozen=True)
class Forecast:
    """What the missing runs of a sweep will take."""

    runs: int
    done: int
    missing: int
    events: float
    packet_hops: float
    core_s: float
    """Time on one core."""
    wall_s: float
    """Time on this machine with `jobs` at a time."""
    jobs: int
    memory_bytes: float
    disk_bytes: float
    tried_points: int
    invalid_points: int

    def as_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return asdict(self)


def forecast(
    spec: Spec,
    store: Store,
    jobs: int | None = None,
    said: Callable[[str], None] = lambda _: None,
) -> Forecast:
    """Try what must be tried, and add up."""
    jobs = jobs or os.cpu_count() or 1
    reps = range(spec.reps if spec.until is None else spec.until.min_reps)
    there = store.present()
    missing: dict[int, int] = {}
    done: dict[int, str] = {}
    invalid = 0
    seen: set[str] = set()
    for one in runner.runs(spec, store, reps):
        if isinstance(one, tuple):
            invalid += 1
        elif one.identity in there:
            done[one.point] = one.identity
            seen.add(one.identity)
        elif one.identity not in seen:
            seen.add(one.identity)
            missing[one.point] = missing.get(one.point, 0) + 1
    costs = {number: _measured(store, identity) for number, identity in done.items()}
    untried = [p for p in spec.points if p.number in missing and p.number not in costs]
    step = max(1, len(untried) // MOST_TRIALS)
    tried = untried[::step]
    for i, point in enumerate(tried):
        said(f"trying point {i + 1} of {len(tried)}: {point.label}")
        try:
            costs[point.number] = trial(spec, point)
        except ClearpipeError:
            invalid += 1
    known = [costs[p] for p in missing if p in costs] or list(costs.values())
    fallback = _mean(known)
    all_of_it = [(costs.get(p, fallback), n) for p, n in missing.items()]
    core_s = sum(cost.wall_s * n for cost, n in all_of_it)
    longest = max((cost.wall_s for cost, _ in all_of_it), default=0.0)
    return Forecast(
        runs=len(seen),
        done=len(seen) - sum(missing.values()),
        missing=sum(missing.values()),
        events=sum(cost.events * n for cost, n in all_of_it),
        packet_hops=sum(cost.packet_hops * n for cost, n in all_of_it),
        core_s=core_s,
        wall_s=max(core_s / jobs, longest),
        jobs=jobs,
        memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0,
        disk_bytes=sum(cost.disk_bytes * n for cost, n in all_of_it),
        tried_points=len(tried),
        invalid_points=invalid,
    )


def _measured(store: Store, identity: str) -> Cost:
    meta = store.read_json(identity, "meta.json")
    files = (p for p in store.directory(identity).rglob("*") if p.is_file())
    disk = float(sum(p.stat().st_blocks * 512 for p in files))
    return Cost(meta["events"], meta["packet_hops"], meta["wall_s"], disk)


def trial(spec: Spec, point: Point) -> Cost:
    """One point's run, stopped after a moment and scaled to its duration.

    Flows that start late make it an underestimate.
    """
    began = time.perf_counter()
    sets = (*spec.sets, *point.sets)
    result = api.run(
        spec.source,
        seed=spec.seed,
        set=sets,
        progress=lambda _: time.perf_counter() - began < TRIAL_S,
    )
    meta = result.meta
    duration = _duration_s(result.scenario_toml)
    scale = duration / meta["simulated_s"] if meta["simulated_s"] > 0 else 1.0
    rows = len(result.flows) + len(result.links)
    series = sum(len(result.series(name)) for name in result.series_names)
    # Ten files of at least a block; a row of a table is about 200 bytes, of a series 8 (packed).
    disk = 10 * 4096 + 200.0 * rows + 8.0 * series * scale
    return Cost(meta["events"] * scale, meta["packet_hops"] * scale, meta["wall_s"] * scale, disk)


def _duration_s(toml: str) -> float:
    import tomllib

    from clearpipe.sweep.spec import split_quantity

    quantity = split_quantity(tomllib.loads(toml)["duration"])
    assert quantity is not None
    return quantity[0]


def _mean(costs: list[Cost]) -> Cost:
    n = max(len(costs), 1)
    return Cost(
        sum(c.events for c in costs) / n,
        sum(c.packet_hops for c in costs) / n,
        sum(c.wall_s for c in costs) / n,
        sum(c.disk_bytes for c in costs) / n,
    )
