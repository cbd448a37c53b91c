"""Replications of a sweep's points until a metric is known well enough (`clearpipe.until`).

What a point needs follows from its runs alone, in the order of their replications: it does not
matter who did them, or when.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from clearpipe.errors import ConfigError, RunError
from clearpipe.sweep import runner
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Store
from clearpipe.until import Until, needed


@dataclass
class Growth:
    """How far a point is."""

    point: Point
    plan: runner.Planned | None
    """None for a point that is no valid scenario."""
    target: int
    asked: int = 0
    have: int = 0
    found: list[float] = field(default_factory=list)
    lacking: int = 0
    """Runs that are done and do not have the metric."""
    open: bool = True

    @property
    def due(self) -> list[str]:
        """The runs that it asks for now."""
        return [] if self.plan is None else self.plan.identities[self.have : self.target]

    def known(self, over: set[str]) -> bool:
        """Are all the replications over that it asks for now?"""
        return all(identity in over for identity in self.due)


class Plan:
    """What a sweep with `until` asks for."""

    def __init__(self, spec: Spec, store: Store) -> None:
        assert spec.until is not None
        self.until: Until = spec.until
        self.spec = spec
        self.store = store
        self.last: dict[str, float] = {}
        plans = runner.planned(spec, store, range(self.until.max_reps))
        self.points = [
            Growth(point, None if isinstance(mine, str) else mine, self.until.min_reps)
            for point, mine in zip(spec.points, plans, strict=True)
        ]

    def groups(self) -> list[tuple[tuple[Point, ...], range]]:
        """Points that need more, with the replications that they need next: each of them once."""

        def asked(one: Growth) -> tuple[int, int]:
            return one.have, one.target

        new = sorted((one for one in self.points if one.asked < one.target), key=asked)
        for one in new:
            one.asked = one.target
        return [
            (tuple(one.point for one in group), range(old, target))
            for (old, target), group in itertools.groupby(new, key=asked)
        ]

    def advance(self) -> bool:
        """Looks at what is there now; False if no point got any further."""
        there = self.store.present()
        over = there | set(self.store.failed())
        moved = False
        for one in self.points:
            if one.open and one.known(over):
                self._grow(one, there)
                moved = True
        return moved

    def check(self) -> None:
        """Raises ConfigError when all points have runs and none of them has the metric."""
        if self.last and not any(one.found or one.have == 0 for one in self.points):
            key, metric = self.until.key, self.until.metric
            raise ConfigError(f"{key}: no run has a value of {metric}", key=key)

    def waiting(self) -> int:
        """Points that need runs which are neither done nor failed."""
        return sum(one.open for one in self.points)

    def _grow(self, one: Growth, there: set[str]) -> None:
        link = one.plan.bottleneck if one.plan else None
        done = [(identity, link) for identity in one.due if identity in there]
        for found, damage in self.store.read_numbers(done):
            if found is None:
                raise RunError(damage)
            self.last = found.metrics
            if self.until.metric in self.last:
                one.found.append(self.last[self.until.metric])
            else:
                one.lacking += 1
        one.have = one.target
        one.target = needed(self.until, one.found, one.have, one.lacking)
        one.open = one.target > one.have


def replay(spec: Spec, store: Store) -> Plan:
    """The plan as far as the store's runs take it, without doing anything."""
    plan = Plan(spec, store)
    while plan.advance():
        pass
    return plan
