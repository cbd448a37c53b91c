"""Replications until a metric is known well enough.

A point gets `min_reps`, then as many as the interval so far asks for, at most twice what it has,
and so on until half of the 95 % t interval is below the wanted share of the mean, or `max_reps` is
reached. Stopping when an interval looks narrow makes it cover a little less than 95 %; `min_reps`
keeps that small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from clearpipe import statistics
from clearpipe.sweep import metrics, runner
from clearpipe.sweep.spec import Point, Spec, Until
from clearpipe.sweep.store import Store


def rounds(spec: Spec, store: Store) -> Iterator[tuple[tuple[Point, ...], range]]:
    """Points and the replications that they need next; the caller does them before it goes on."""
    until = spec.until
    assert until is not None
    have = {point.number: 0 for point in spec.points}
    open_points = list(spec.points)
    target = {point.number: until.min_reps for point in spec.points}
    while open_points:
        for (old, new), group in itertools.groupby(
            sorted(open_points, key=lambda p: (have[p.number], target[p.number])),
            key=lambda p: (have[p.number], target[p.number]),
        ):
            yield tuple(group), range(old, new)
        for point in open_points:
            have[point.number] = target[point.number]
        there = store.present()
        needs = {
            point.number: needed(until, values(spec, store, point, have[point.number], there))
            for point in open_points
        }
        open_points = [p for p in open_points if needs[p.number] > have[p.number]]
        target |= {p.number: needs[p.number] for p in open_points}


def values(spec: Spec, store: Store, point: Point, reps: int, there: set[str]) -> list[float]:
    """The metric in a point's runs that are done."""
    assert spec.until is not None
    part = replace(spec, points=(point,))
    found = []
    for run in runner.runs(part, None, range(reps)):
        if isinstance(run, tuple) or run.identity not in there:
            continue
        known = metrics.flat(store.read_json(run.identity, "summary.json"))
        metrics.check(spec.until.metric, known, "until.metric")
        found.append(known[spec.until.metric])
    return found


def needed(until: Until, found: list[float]) -> int:
    """How many replications the interval so far asks for; those there are when it is enough."""
    n = len(found)
    if n < 2:
        return n
    interval = statistics.t_interval(found)
    if interval.ratio <= until.ci_ratio or n >= until.max_reps:
        return n
    if math.isinf(interval.ratio):
        return min(2 * n, until.max_reps)
    guess = math.ceil(n * (interval.ratio / until.ci_ratio) ** 2)
    return min(max(guess, n + 1), 2 * n, until.max_reps)
