"""From numbers to verdicts.

A claim's readings are its values with 95 % intervals (Student's t over the replications). It holds
if the share of readings whose mean is within the bounds is the one that is needed, all of them as
a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clearpipe.reproduce.data import Claim, Measure
from clearpipe.reproduce.runs import OVER, Cell, Data
from clearpipe.statistics import Interval, t_interval

HOLDS = "holds"
DEVIATES = "deviates"
CONTRADICTED = "contradicted by the paper itself"
NOT_RUN = "not run"
VERDICTS = (HOLDS, DEVIATES, CONTRADICTED, NOT_RUN)


@dataclass(frozen=True)
class Reading:
    """One value of a claim."""

    label: str
    interval: Interval
    lo: float
    hi: float

    @property
    def inside(self) -> bool:
        """Is it within the bounds?"""
        return self.lo <= self.interval.mean <= self.hi

    @property
    def sure(self) -> bool:
        """Is the whole interval on the same side of the bounds?"""
        if not math.isfinite(self.interval.half):
            return False
        ends = (self.interval.low, self.interval.high)
        inside = [self.lo <= end <= self.hi for end in ends]
        if self.inside:
            return all(inside)
        return not any(inside) and (ends[1] < self.lo or ends[0] > self.hi)

    @property
    def miss(self) -> float:
        """How far it is outside."""
        return max(self.lo - self.interval.mean, self.interval.mean - self.hi, 0.0)


@dataclass(frozen=True)
class Outcome:
    """A claim and what became of it."""

    claim: Claim
    verdict: str
    readings: Sequence[Reading] = ()
    reason: str = ""
    """Why it deviates, or why it was not run."""
    counts: Sequence[tuple[int, int, float]] = field(default_factory=list)
    """For each measure: readings inside, all readings, and the share that is needed."""

    @property
    def should_hold(self) -> bool:
        """Is it an error that it does not hold? Not where the reason is known."""
        return not self.claim.contradicted_by and not self.reason

    @property
    def fails(self) -> bool:
        """Does it deviate without a known reason?"""
        return self.verdict == DEVIATES and self.should_hold

    @property
    def worst(self) -> Reading | None:
        """The reading that is farthest outside, or nearest to a bound."""
        if not self.readings:
            return None
        return max(self.readings, key=lambda one: (one.miss, -_room(one)))


def _room(reading: Reading) -> float:
    mean = reading.interval.mean
    return min(mean - reading.lo, reading.hi - mean)


def judge(claim: Claim, data: Data, scale: str) -> Outcome:
    """The verdict over one claim."""
    groups = _groups(claim, data, scale)
    if isinstance(groups, str):
        return Outcome(claim, NOT_RUN, reason=groups)
    found = [reading for group, _ in groups for reading in group]
    if not found or not all(group for group, _ in groups):
        return Outcome(claim, NOT_RUN, found, reason=f"no run at this scale ({scale}) has it")
    counts = [(sum(r.inside for r in group), len(group), need) for group, need in groups]
    if all(inside >= need * n - 1e-9 for inside, n, need in counts):
        return Outcome(claim, HOLDS, found, counts=counts)
    if claim.contradicted_by:
        return Outcome(claim, CONTRADICTED, found, claim.reason(scale), counts)
    return Outcome(claim, DEVIATES, found, claim.reason(scale), counts)


def _groups(claim: Claim, data: Data, scale: str) -> list[tuple[list[Reading], float]] | str:
    """For each measure its readings and the share that is needed; or why there are none."""
    real = [part.name for part in data.parts if part.real]
    if claim.engine == "linux" and not any(cell.part in real for cell in data.cells):
        return data.lacking or f"no run at this scale ({scale}) has it"
    if not claim.check:
        return [(readings(measure, data), measure.need) for measure in claim.measures]
    function = data.paper.function(claim.check)
    if function is None:
        _, told, why = claim.note.partition("not run: ")
        return why if told else f"not built: nothing computes {claim.check}"
    try:
        return [(_checked(claim, function(data)), 1.0)]
    except (ArithmeticError, IndexError, KeyError, StopIteration, ValueError):
        if data.complete:
            raise
        return "needs runs that are not done"


def _checked(claim: Claim, found: Any) -> list[Reading]:
    """What a check gave: a number, or numbers by label, each perhaps with bounds of its own."""
    if found is None:
        return []
    if not isinstance(found, Mapping):
        found = {"": found}
    out = []
    for label, value in found.items():
        if isinstance(value, Reading):
            out.append(value)
            continue
        number = float(value)
        exact = Interval(number, number, number, 1, "exact")
        out.append(Reading(str(label), exact, claim.lo, claim.hi))
    return out


def readings(measure: Measure, data: Data) -> list[Reading]:
    """The values that a measure gives."""
    found = []
    names = data.paper.members(measure.scheme) or data.schemes(measure.part)
    for scheme in names:
        cells = [cell for cell in data.of(measure.part, scheme) if _within(measure, cell)]
        told = _told(data, scheme) if len(names) > 1 or not measure.scheme else ""
        if measure.reduce:
            found += _reduced(measure, data, cells, told)
        else:
            found += _by_point(measure, data, cells, told)
    return found


def _told(data: Data, scheme: str) -> str:
    return data.paper.schemes[scheme].label


def _within(measure: Measure, cell: Cell) -> bool:
    if measure.x is None:
        return True
    low, high = measure.x
    return low * (1 - 1e-9) <= cell.x <= high * (1 + 1e-9)


def _value(measure: Measure, data: Data, cell: Cell) -> float | None:
    """A run's number, with that of the run beside it taken off."""
    value = data.number(cell, measure.metric)
    others = measure.minus or measure.over
    if value is None or not others:
        return value
    beside = [
        number
        for scheme in data.paper.members(others)
        for other in data.of(cell.part, scheme)
        if (other.label, other.rep) == (cell.label, cell.rep)
        and (number := data.number(other, measure.metric)) is not None
    ]
    if not beside:
        return None
    best = OVER[measure.beside](beside)
    if measure.minus:
        return value - best
    return value / best if best else (math.inf if value else 1.0)


def _by_point(measure: Measure, data: Data, cells: list[Cell], scheme: str) -> list[Reading]:
    points: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        value = _value(measure, data, cell)
        if value is not None:
            points.setdefault((cell.part, cell.label), []).append(value)
    return [
        Reading(", ".join(filter(None, (scheme, label))), t_interval(v), measure.lo, measure.hi)
        for (_, label), v in points.items()
    ]


def _reduced(measure: Measure, data: Data, cells: list[Cell], scheme: str) -> list[Reading]:
    by_rep: dict[int, list[tuple[float, float]]] = {}
    for cell in cells:
        value = _value(measure, data, cell)
        if value is not None:
            by_rep.setdefault(cell.rep, []).append((cell.x, value))
    if not by_rep:
        return []
    most = max(map(len, by_rep.values()))
    # A replication that lacks a point would be compared with others as if it had it.
    values = [reduced(measure.reduce, sorted(v)) for v in by_rep.values() if len(v) == most]
    known = [value for value in values if value is not None]
    if not known:
        return []
    label = ", ".join(filter(None, (scheme, measure.reduce)))
    return [Reading(label, t_interval(known), measure.lo, measure.hi)]


def reduced(how: str, points: Sequence[tuple[float, float]]) -> float | None:
    """One number of (x, value) in the order of x; None where there are too few."""
    x, y = [p[0] for p in points], [p[1] for p in points]
    if len(y) < 2 and how not in ("mean", "min", "max", "first", "last"):
        return None
    return REDUCED[how](x, y)


def _log_slope(x: Sequence[float], y: Sequence[float]) -> float | None:
    if min(x) <= 0 or min(y) <= 0:
        return None
    return _slope([math.log10(v) for v in x], [math.log10(v) for v in y])


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [(order.index(v) + len(order) - 1 - order[::-1].index(v)) / 2 for v in values]


def _slope(x: Sequence[float], y: Sequence[float], correlation: bool = False) -> float | None:
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    xy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    xx = math.fsum((a - mx) ** 2 for a in x)
    yy = math.fsum((b - my) ** 2 for b in y)
    if xx == 0 or (correlation and yy == 0):
        return None
    return xy / math.sqrt(xx * yy) if correlation else xy / xx


REDUCED: dict[str, Callable[[Sequence[float], Sequence[float]], float | None]] = {
    "mean": lambda x, y: math.fsum(y) / len(y),
    "min": lambda x, y: min(y),
    "max": lambda x, y: max(y),
    "first": lambda x, y: y[0],
    "last": lambda x, y: y[-1],
    "spread": lambda x, y: max(y) - min(y),
    "growth": lambda x, y: y[-1] - y[0],
    "slope": _slope,
    "log-slope": _log_slope,
    "rank": lambda x, y: _slope(_ranks(x), _ranks(y), correlation=True),
}
