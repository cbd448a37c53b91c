"""What a sweep will take, before it is started.

Each point that has no run in the store yet is tried for a moment (a fraction of a second of this
machine's time): packet-hops per simulated second, and time per packet-hop. A trial sees how flows
start, and of many points some are tried, evenly spread. So what no trial has seen is taken from the
scenario: links that unlimited flows cross are busy with full packets (`busy_hops`), or as much of
that as runs in the store had. Where flows have sizes or arrive, which say how much there is to
send, it goes on as in the trial. What the store has already measured is not tried again.
"""

from __future__ import annotations

import math
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clearpipe import api
from clearpipe.errors import ClearpipeError
from clearpipe.sweep import runner
from clearpipe.sweep.runner import Options
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Store
from clearpipe.units import split as split_quantity

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

    def of_hops(self, hops: float) -> Cost:
        """The same run with so many packet-hops."""
        times = hops / self.packet_hops if self.packet_hops else 1.0
        return replace(
            self, events=times * self.events, packet_hops=hops, wall_s=times * self.wall_s
        )


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
    asked = {*missing, *costs}
    busy = {p.number: _busy(spec, p) for p in spec.points if p.number in asked}
    used = _used([(cost.packet_hops, busy[number]) for number, cost in costs.items()])
    untried = [p for p in spec.points if p.number in missing and p.number not in costs]
    tried = untried[:: max(1, math.ceil(len(untried) / MOST_TRIALS))]
    for i, point in enumerate(tried):
        said(f"trying point {i + 1} of {len(tried)}: {point.label}")
        try:
            costs[point.number] = trial(spec, point, used * busy[point.number])
        except ClearpipeError:
            invalid += 1
    known = [p for p in missing if p in costs] or list(costs)
    fallback = _mean([costs[p] for p in known])
    filled = sum(busy[p] for p in known) / max(len(known), 1)
    for number in missing.keys() - costs.keys():
        # As the others, by what its links could carry.
        times = busy[number] / filled if busy[number] and filled else 1.0
        costs[number] = fallback.of_hops(times * fallback.packet_hops)
    all_of_it = [(costs[p], n) for p, n in missing.items()]
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


def trial(spec: Spec, point: Point, busy: float) -> Cost:
    """One point's run, stopped after a moment. For the rest of its duration it has the packet-hops
    of `busy`, those of the whole duration, or goes on as it did if that is more."""
    began = time.perf_counter()
    sets = (*spec.sets, *point.sets)
    result = api.run(
        spec.source,
        seed=spec.seed,
        set=sets,
        progress=lambda _: time.perf_counter() - began < TRIAL_S,
    )
    meta = result.meta
    duration = _number(tomllib.loads(result.scenario_toml)["duration"])
    scale = duration / meta["simulated_s"] if meta["simulated_s"] > 0 else 1.0
    rows = len(result.flows) + len(result.links)
    series = sum(len(result.series(name)) for name in result.series_names)
    # Ten files of at least a block; a row of a table is about 200 bytes, of a series 8 (packed).
    disk = 10 * 4096 + 200.0 * rows + 8.0 * series * scale
    if spec.keep == "summary":
        disk = 4 * 4096.0
    seen = Cost(
        meta["events"],
        meta["packet_hops"],
        meta["wall_s"],
        disk,
        float(meta["peak_rss_bytes"] or 0),
    )
    hops = seen.packet_hops
    return seen.of_hops(max(hops * scale, hops + busy * (1 - 1 / scale)))


def _busy(spec: Spec, point: Point) -> float:
    """0 for a scenario that is none."""
    try:
        return busy_hops(api.resolve(spec.source, set=(*spec.sets, *point.sets)).toml)
    except ClearpipeError:
        return 0.0


def busy_hops(toml: str) -> float:
    """Packet-hops of a resolved scenario if each link that data of unlimited flows crosses were
    busy with full packets from the first of these flows' start to the end of its last.

    A packet over L links makes L + 2 hops, those of the access links with them, and so does its
    ACK; of flows with different paths it is their mean.
    """
    scenario = tomllib.loads(toml)
    end = _number(scenario["duration"])
    spans: dict[str, tuple[float, float]] = {}
    crossed = hops = 0.0
    for flow in scenario.get("flows", {}).values():
        if flow.get("size") != "unlimited":
            continue
        start, stop = (
            min(_times(flow.get("start")), default=0.0),
            max(_times(flow.get("stop")), default=end),
        )
        for name in flow["path"]:
            first, last = spans.get(name, (end, 0.0))
            spans[name] = min(first, start), max(last, min(stop, end))
        crossed += flow["count"] * len(flow["path"])
        hops += flow["count"] * 2 * (len(flow["path"]) + 2)
    packet_bits = 8 * _number(scenario["packets"]["data"])
    packets = sum(
        _number(scenario["links"][name].get("rate")) * max(last - first, 0.0) / packet_bits
        for name, (first, last) in spans.items()
    )
    return packets * hops / crossed if crossed else 0.0


def _times(value: object) -> Iterator[float]:
    """The times of a start or stop: one, a list, the ends of a distribution, or the first of
    `every(GAP, FIRST)`."""
    for one in value if isinstance(value, list) else [value]:
        found = TIME.findall(str(one))
        yield from map(_number, found[-1:] if str(one).startswith("every") else found)


TIME = re.compile(r"[0-9.]+ *[mun]?s\b")


def _number(value: object) -> float:
    """In base units; 0 for what is none, as a rate by a trace."""
    quantity = split_quantity(value)
    return quantity[0] if quantity else 0.0


def _used(measured: list[tuple[float, float]]) -> float:
    """How much of what links could carry runs have carried; all without runs."""
    known = [(hops, busy) for hops, busy in measured if busy]
    return sum(h for h, _ in known) / sum(b for _, b in known) if known else 1.0


def _mean(costs: list[Cost]) -> Cost:
    n = max(len(costs), 1)
    return Cost(
        sum(c.events for c in costs) / n,
        sum(c.packet_hops for c in costs) / n,
        sum(c.wall_s for c in costs) / n,
        sum(c.disk_bytes for c in costs) / n,
    )
