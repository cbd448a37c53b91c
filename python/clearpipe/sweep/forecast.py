"""What a sweep will take, before it is started.

Each point that has no run in the store yet is tried for a moment (a fraction of a second of this
machine's time): packet-hops per simulated second, packet-hops per second of wall time. Of many
points some are tried, evenly spread, and the others are taken for their mean. What the store has
already measured is not tried again.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from clearpipe import api
from clearpipe.errors import ClearpipeError
from clearpipe.sweep import runner
from clearpipe.sweep.runner import Options
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
    memory_bytes: float = 0.0


@dataclass(frozen=True)
class Forecast:
    """What the missing runs of a sweep will take."""

    runs: int
    done: int
    failed: int
    missing: int
    events: float
    packet_hops: float
    core_s: float
    """Time on one core."""
    wall_s: float
    """Time on this machine with `jobs` at a time."""
    jobs: int
    memory_bytes: float
    """Of the largest process that was seen, for each of the runs at a time."""
    disk_bytes: float
    tried_points: int
    invalid_points: int

    def as_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return asdict(self)


def forecast(
    spec: Spec,
    store: Store,
    jobs: int,
    options: Options,
    said: Callable[[str], None] = lambda _: None,
) -> Forecast:
    """Try what must be tried, and add up."""
    plan = _plan(spec, store, options)
    missing, invalid = plan.missing, plan.invalid
    costs = {number: _measured(store, identity) for number, identity in plan.done.items()}
    untried = [p for p in spec.points if p.number in missing and p.number not in costs]
    tried = untried[:: max(1, math.ceil(len(untried) / MOST_TRIALS))]
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
        runs=len(plan.seen),
        done=len(plan.seen) - plan.failed - sum(missing.values()),
        failed=plan.failed,
        missing=sum(missing.values()),
        events=sum(cost.events * n for cost, n in all_of_it),
        packet_hops=sum(cost.packet_hops * n for cost, n in all_of_it),
        core_s=core_s,
        wall_s=max(core_s / jobs, longest),
        jobs=jobs,
        memory_bytes=max((cost.memory_bytes for cost in costs.values()), default=0.0) * jobs,
        disk_bytes=sum(cost.disk_bytes * n for cost, n in all_of_it),
        tried_points=len(tried),
        invalid_points=invalid,
    )


@dataclass
class _Plan:
    """What is there and what is not."""

    done: dict[int, str] = field(default_factory=dict)
    """For points that have one, a run that is done."""
    missing: dict[int, int] = field(default_factory=dict)
    """For points that miss runs, how many."""
    failed: int = 0
    invalid: int = 0
    seen: set[str] = field(default_factory=set)


def _plan(spec: Spec, store: Store, options: Options) -> _Plan:
    reps = range(spec.reps if spec.until is None else spec.until.min_reps)
    there, failed = store.present(), set() if options.retry else set(store.failed())
    plan = _Plan()
    for one in runner.runs(spec, store, reps):
        if isinstance(one, tuple):
            plan.invalid += 1
            continue
        if one.identity in there:
            # What was measured tells also of runs of other shards.
            plan.done[one.point] = one.identity
        if one.identity in plan.seen or not options.includes(one.identity):
            continue
        plan.seen.add(one.identity)
        if one.identity in there:
            continue
        if one.identity in failed:
            plan.failed += 1
        else:
            plan.missing[one.point] = plan.missing.get(one.point, 0) + 1
    return plan


def _occupied(file: os.stat_result) -> int:
    """Bytes on the disk; where a system does not say, those of the content."""
    blocks = getattr(file, "st_blocks", None)
    return file.st_size if blocks is None else 512 * int(blocks)


def _measured(store: Store, identity: str) -> Cost:
    (meta,) = store.read_json(identity)
    files = (p for p in store.directory(identity).rglob("*") if p.is_file())
    disk = float(sum(_occupied(p.stat()) for p in files))
    memory = float(meta["peak_rss_bytes"] or 0)
    return Cost(meta["events"], meta["packet_hops"], meta["wall_s"], disk, memory)


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
    if spec.keep == "summary":
        disk = 4 * 4096.0
    return Cost(
        meta["events"] * scale,
        meta["packet_hops"] * scale,
        meta["wall_s"] * scale,
        disk,
        float(meta["peak_rss_bytes"] or 0),
    )


def _duration_s(toml: str) -> float:
    import tomllib

    from clearpipe.units import split as split_quantity

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
