"""Weaknesses that others have published, as scenarios of the space: `known.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from statistics import fmean
from typing import Any

from clearpipe.attack import search, space
from clearpipe.evaluate.cast import cast

REPLICATIONS = 3


@dataclass(frozen=True)
class Case:
    """One of them."""

    id: str
    protocol: str
    goal: str
    says: str
    source: str
    values: Mapping[str, float]
    """What is not harmless in it, in base units."""
    cause: tuple[str, ...]
    """The dimensions that make it."""
    at_most: float
    without: float


@dataclass(frozen=True)
class Checked:
    """A case and what is measured: means over replications."""

    case: Case
    value: float
    without: float
    """With its cause harmless."""

    @property
    def shown(self) -> bool:
        """Is the weakness there, and is that its cause?"""
        return self.value <= self.case.at_most and self.without >= self.case.without

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        measured = {"value": self.value, "value_without": self.without, "shown": self.shown}
        return asdict(self.case) | measured


@functools.cache
def cases() -> tuple[Case, ...]:
    """All that known.toml has."""
    text = (files("clearpipe.attack") / "known.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)["case"]
    return tuple(Case(**{**one, "cause": tuple(one["cause"])}) for one in found)


def check(case: Case, seed: int = 1) -> Checked:
    """Run a case with and without its cause."""
    of = space.space()
    bench = search.Bench(search.Job(cast(case.protocol, None, ()), case.goal, of, seed))
    values = {**of.harmless, **case.values}
    without = {**values, **{name: of.harmless[name] for name in case.cause}}

    def mean(point: Mapping[str, float]) -> float:
        return fmean(bench.of_rep(point, rep) for rep in range(REPLICATIONS))

    return Checked(case, mean(values), mean(without))
