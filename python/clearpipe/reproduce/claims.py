"""From numbers to verdicts.

A claim has one assertion or several, each of which is judged by itself; the claim is its worst one.
An assertion's readings are its values with 95 % intervals (Student's t over the replications). What
is accepted must hold for the share of readings that is needed, all of them as a rule. If what the
paper prints, with its own bounds over its own range, holds too, then it *holds as printed*;
otherwise it *holds within the stated tolerance or range*.

What a reduced scale, or a choice of points, leaves out of the paper's range cannot hold as printed.

Of a sentence that admits no exception (`Assertion.each_run`) not the mean of the runs is judged,
but each of them.

A value that the end of a run has cut off (`Censored`) is no value: no verdict says "holds" by it.
Nor does one by a run that has no number, or by fewer runs than were asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.reproduce.data import Assertion, Claim, Measure, Printed, Reads
from clearpipe.reproduce.runs import OVER, Cell, Censored, Data, Point, Seen, quotient, watched
from clearpipe.statistics import Interval, t_interval

HOLDS = "holds as printed"
WITHIN = "holds within the stated tolerance or range"
NOT_RUN = "not run"
CONTRADICTED = "contradicted by the paper itself"
DEVIATES = "deviates"
VERDICTS = (HOLDS, WITHIN, DEVIATES, CONTRADICTED, NOT_RUN)
GOOD = (HOLDS, WITHIN)
BADNESS = (HOLDS, WITHIN, NOT_RUN, CONTRADICTED, DEVIATES)
"""From the best to the worst: a claim has the worst of its assertions' verdicts."""


@dataclass(frozen=True)
class Reading:
    """One value of an assertion."""

    label: str
    interval: Interval
    lo: float
    hi: float
    printed: tuple[float, float] | None = None
    """The bounds that the paper prints, where they are not those of the assertion."""
    censored: int = 0
    """How many of the values behind it the end of the run has cut off."""
    side: int = 0
    """Which way, as of `Censored`."""
    values: tuple[float, ...] = ()
    """What the interval is of; NaN is of a run that has no number."""
    points: tuple[str, ...] = ()
    """The settings of the axis that it is of."""
    each_run: bool = False
    """Is it within the bounds only if each of the values is?"""

    @classmethod
    def of(
        cls, label: str, values: Sequence[float], lo: float, hi: float, points: Sequence[str] = ()
    ) -> Reading:
        """The mean of some values."""
        interval = t_interval(values)
        censored = sum(isinstance(value, Censored) for value in values)
        mean = Censored.if_any(values, interval.mean)
        side = mean.side if isinstance(mean, Censored) else 0
        return cls(label, interval, lo, hi, None, censored, side, tuple(values), tuple(points))

    @property
    def lacking(self) -> int:
        """How many runs have no number for it."""
        return sum(map(math.isnan, self.values or [self.interval.mean]))

    @property
    def judged(self) -> tuple[float, ...]:
        """What has to be within the bounds: the mean, or each of the values."""
        return self.values if self.each_run and self.values else (self.interval.mean,)

    @property
    def inside(self) -> bool:
        """Is it within the bounds? What the end of the run has cut off never is."""
        return not self.censored and all(self.lo <= one <= self.hi for one in self.judged)

    @property
    def farthest(self) -> float:
        """Of what has to be within the bounds the value that is farthest outside, or nearest to a
        bound."""
        return max(self.judged, key=lambda one: max(self.lo - one, one - self.hi))

    @property
    def undecided(self) -> bool:
        """Could a longer run have put it within the bounds?"""
        return bool(self.censored) and not any(map(self._is_outside, self.judged))

    def _is_outside(self, value: float) -> bool:
        """Whatever a longer run had given."""
        known = self.each_run and not isinstance(value, Censored)
        side = value.side if isinstance(value, Censored) else self.side
        above = (known or side > 0) and value > self.hi
        below = (known or side < 0) and value < self.lo
        return above or below

    @property
    def sure(self) -> bool:
        """Is the whole interval on the same side of the bounds? Where each run is judged, one that
        is outside is enough."""
        if self.censored or not math.isfinite(self.interval.half):
            return False
        if self.each_run and not self.inside:
            return True
        ends = (self.interval.low, self.interval.high)
        inside = [self.lo <= end <= self.hi for end in ends]
        if self.inside:
            return all(inside)
        return not any(inside) and (ends[1] < self.lo or ends[0] > self.hi)

    @property
    def crosses(self) -> bool:
        """Does its interval cross a bound? A single run has none."""
        return not self.censored and math.isfinite(self.interval.half) and not self.sure

    @property
    def miss(self) -> float:
        """How far it is outside."""
        if self.lacking:
            return math.inf
        return max(0.0, self.lo - self.farthest, self.farthest - self.hi)


@dataclass(frozen=True)
class Group:
    """The readings of one measure, of which a share must be inside."""

    readings: Sequence[Reading]
    need: float = 1.0

    @property
    def inside(self) -> int:
        """How many are within their bounds."""
        return sum(reading.inside for reading in self.readings)

    @property
    def holds(self) -> bool:
        """Are enough of them?"""
        return self.inside >= self.need * len(self.readings) - 1e-9

    @property
    def undecided(self) -> bool:
        """Might enough of them be, had the runs been longer?"""
        open_ones = sum(reading.undecided for reading in self.readings)
        return not self.holds and self.inside + open_ones >= self.need * len(self.readings) - 1e-9


@dataclass(frozen=True)
class Read:
    """What a check has read."""

    points: Mapping[Point, tuple[int, int]]
    """How many runs of each point, and how many there are."""
    names: Sequence[str] = ()
    """Metrics and series, those of a link with its name; what is read of a run's table of flows is
    not told apart."""


@dataclass(frozen=True)
class Judged:
    """An assertion and what became of it."""

    assertion: Assertion
    verdict: str
    groups: Sequence[Group] = ()
    reason: str = ""
    """Why it deviates, or why it was not run."""
    ran: Sequence[Point] = ()
    """The points of the paper's range that have runs."""
    left_out: Sequence[Point] = ()
    """Those that have none."""
    beyond: Sequence[Reading] = ()
    """The readings of that range that are not among those accepted, within the paper's bounds."""
    strict: Sequence[Reading] = ()
    """If it holds as printed: all readings of that range, within the paper's bounds."""
    departs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of what has a printed number: settings of that range that are not run as printed, by why."""
    read: Read | None = None
    """Of a check what it has read, if that is known."""

    @property
    def readings(self) -> Sequence[Reading]:
        """Of all its measures."""
        return [reading for group in self.groups for reading in group.readings]

    @property
    def fails(self) -> bool:
        """Does it deviate without a known reason?"""
        return self.verdict == DEVIATES and not self.reason

    @property
    def worst(self) -> Reading | None:
        """The reading that is farthest outside, or nearest to a bound."""
        if not self.readings:
            return None
        return max(self.readings, key=lambda one: (one.censored, one.miss, -_room(one)))


@dataclass(frozen=True)
class Outcome:
    """A claim and what became of it."""

    claim: Claim
    judged: Sequence[Judged]

    @property
    def worst_judged(self) -> Judged:
        """The assertion that the claim's verdict is of: the worst, of several the first."""
        return max(self.judged, key=lambda one: BADNESS.index(one.verdict))

    @property
    def verdict(self) -> str:
        """That of its worst assertion."""
        return self.worst_judged.verdict

    @property
    def readings(self) -> Sequence[Reading]:
        """Of all its assertions."""
        return [reading for one in self.judged for reading in one.readings]

    @property
    def reason(self) -> str:
        """That of its worst assertion."""
        return self.worst_judged.reason

    @property
    def worst(self) -> Reading | None:
        """The worst reading of its worst assertion."""
        return self.worst_judged.worst

    @property
    def fails(self) -> bool:
        """Does one of its assertions deviate without a known reason?"""
        return any(one.fails for one in self.judged)


def _room(reading: Reading) -> float:
    """How far it is inside of the nearer bound; an infinite value is near to none."""
    value = reading.farthest
    ends = [value - reading.lo, reading.hi - value]
    return min((end for end in ends if not math.isnan(end)), default=math.inf)


def judge(claim: Claim, data: Data, scale: str) -> Outcome:
    """The verdict over one claim."""
    computed = claim.kind == claim.basis == "analytic"
    return Outcome(
        claim, [judge_assertion(one, data, scale, computed=computed) for one in claim.assertions]
    )


def judge_assertion(
    assertion: Assertion, data: Data, scale: str, *, computed: bool = False
) -> Judged:
    """The verdict over one assertion; a check of what is computed is over no runs."""
    seen = Seen()
    with watched(seen):
        groups = _groups(assertion, data, scale)
    if isinstance(groups, str):
        return Judged(assertion, NOT_RUN, reason=groups)
    ran, left_out = ([], []) if computed and assertion.check else points(assertion, data)
    read = _read(data, seen) if assertion.check else None
    departs = departures(data, ran) if assertion.printed else {}
    strict: list[Reading] = []
    if lack := _lack(assertion, groups, data, scale):
        verdict, reason = NOT_RUN, lack
    elif all(group.holds for group in groups):
        printed = _as_printed(assertion, groups, data)
        whole = printed and all(one.readings and one.holds for one in printed)
        whole = whole and not left_out and not departs
        verdict, reason = HOLDS if whole else WITHIN, ""
        strict = [reading for one in printed for reading in one.readings] if whole else []
    else:
        verdict = CONTRADICTED if _contradicted(assertion, groups, data) else DEVIATES
        reason = assertion.reason(scale)
    beyond = _beyond(assertion, data)
    return Judged(assertion, verdict, groups, reason, ran, left_out, beyond, strict, departs, read)


def _read(data: Data, seen: Seen) -> Read:
    there = Counter(point_of(cell) for cell in data.cells)
    # Cells that are made of a result alone are no runs of the figure.
    read = Counter(point_of(cell) for cell in data.cells if cell in seen.cells)
    return Read({point: (n, there[point]) for point, n in read.items()}, sorted(seen.names))


def point_of(cell: Cell) -> Point:
    """Where a run is."""
    return Point(cell.part, cell.scheme, cell.x, cell.label)


def departures(data: Data, ran: Sequence[Point]) -> dict[str, list[str]]:
    """The settings among these that are not run as the paper prints it, by why."""
    found: dict[str, list[str]] = {}
    for point in ran:
        part = next((one for one in data.parts if one.name == point.part), None)
        if part and part.departs and point.label in part.departs.at:
            labels = found.setdefault(part.departs.why, [])
            labels += [point.label] if point.label not in labels else []
    return found


def _beyond(assertion: Assertion, data: Data) -> list[Reading]:
    own = assertion.printed or Printed()
    found = []
    for measure in assertion.measures:
        strict = measure.as_printed(own)
        accepted = {(one.label, one.points) for one in readings(measure, data)}
        found += [one for one in readings(strict, data) if (one.label, one.points) not in accepted]
    return by_rule(assertion, found)


def by_rule(assertion: Assertion, found: Iterable[Reading]) -> list[Reading]:
    """The readings, judged by their means or by each run as the assertion's words ask."""
    return [replace(one, each_run=bool(assertion.each_run)) for one in found]


def points(assertion: Assertion, data: Data) -> tuple[list[Point], list[Point]]:
    """The points of the range that the paper prints: those that have runs, and the others."""
    strict = [measure.as_printed(assertion.printed or Printed()) for measure in assertion.measures]
    of_runs = dict.fromkeys(map(point_of, data.cells))
    ran = [point for point in of_runs if _concerns(assertion, strict, data, point)]
    known = {(point.part, point.scheme, point.label) for point in ran}
    left_out = [
        point
        for point in data.asked
        if (point.part, point.scheme, point.label) not in known
        and _concerns(assertion, strict, data, point)
    ]
    return ran, left_out


def _lack(assertion: Assertion, groups: Sequence[Group], data: Data, scale: str) -> str:
    """Why nothing can be said, or nothing."""
    if missing := _missing(assertion, data):
        return f"{missing} of the runs that it needs are not done"
    if not groups or not all(group.readings for group in groups):
        return f"no run at this scale ({scale}) has it"
    if absent := _absent(assertion, data):
        return f"no run at this scale ({scale}) has it of {', '.join(absent)}"
    if without := _without(assertion, groups, data):
        return without
    undecided = [group for group in groups if group.undecided]
    if undecided and all(group.holds or group.undecided for group in groups):
        return "the runs end before it has a value"
    return ""


def _missing(assertion: Assertion, data: Data) -> int:
    """How many runs that it is judged by are not there; of a check all that a figure has."""
    return sum(_concerns(assertion, assertion.measures, data, one) for one in data.missing)


def _concerns(assertion: Assertion, measures: Sequence[Measure], data: Data, point: Point) -> bool:
    """Is the assertion, with its own measures or those as printed, about runs of this point?"""
    if assertion.check:
        if assertion.computed:
            return False
        real = data.is_real(point.part) == (assertion.engine == "linux")
        return real and any(_reads(one, data, point) for one in assertion.reads or (Reads(),))
    return any(_needs(measure, data, point) for measure in measures)


def _of_reads(assertion: Assertion, data: Data) -> Data:
    """The data with the runs alone that a check says it is about, if it does."""
    if not assertion.reads:
        return data
    return data.only([one for one in data.cells if _concerns(assertion, (), data, point_of(one))])


def _reads(read: Reads, data: Data, point: Point) -> bool:
    schemes = data.paper.members(read.scheme) or [point.scheme]
    return read.part in ("", point.part) and point.scheme in schemes and _between(read.x, point)


def _needs(measure: Measure, data: Data, point: Point) -> bool:
    others = [*measure.minus, *measure.over]
    schemes = data.paper.members([*measure.scheme, *others]) if measure.scheme else [point.scheme]
    mine = data.means(measure.part, point.part) and point.scheme in schemes
    return mine and _within(measure, point)


def _absent(assertion: Assertion, data: Data) -> list[str]:
    """The schemes that a measure names and that have no run in its range."""
    return [
        _told(data, name)
        for measure in assertion.measures
        for name in data.paper.members(measure.scheme)
        if not any(_within(measure, cell) for cell in data.of(measure.part, name))
    ]


def _without(assertion: Assertion, groups: Sequence[Group], data: Data) -> str:
    """Which runs have no number; of a check it is seen by readings of fewer than there are
    replications in any of its parts."""
    found = [reading for group in groups for reading in group.readings]
    if lacking := sum(reading.lacking for reading in found):
        return f"{lacking} runs have no value for it"
    if not assertion.check:
        return ""
    real = assertion.engine == "linux"
    reps = min((part.reps for part in data.parts if part.real == real), default=1)
    few = [one for one in found if one.interval.method == "t" and one.interval.n < reps]
    told = [f"{one.label}: {one.interval.n} of {reps} runs" for one in few]
    return f"not all runs have a value for it ({'; '.join(told)})" if told else ""


def _as_printed(assertion: Assertion, groups: Sequence[Group], data: Data) -> list[Group]:
    """The readings within what the paper prints, with its bounds and over its range; none if it
    prints no number."""
    own = assertion.printed
    if own is None:
        return []
    if assertion.check:
        return [Group([in_print(one, own) for one in group.readings]) for group in groups]
    strict = [measure.as_printed(own) for measure in assertion.measures]
    return [Group(by_rule(assertion, readings(one, data)), one.need) for one in strict]


def in_print(reading: Reading, own: Printed) -> Reading:
    """A check's value within what the paper prints."""
    lo, hi = reading.printed or (
        reading.lo if own.lo is None else own.lo,
        reading.hi if own.hi is None else own.hi,
    )
    return replace(reading, lo=lo, hi=hi)


def _contradicted(assertion: Assertion, groups: Sequence[Group], data: Data) -> bool:
    """Is it the paper's inconsistency alone that puts readings outside?"""
    why = assertion.contradiction
    if why is None:
        return False
    shows = data.paper.function(why.shown)
    if shows is None:
        raise ConfigError(f"{data.figure.id}: the paper's module has no {why.shown}")
    outside = [one for group in groups for one in group.readings if not one.inside]
    return bool(shows(data, outside))


def _groups(assertion: Assertion, data: Data, scale: str) -> list[Group] | str:
    """For each measure its readings and the share that is needed; or why there are none."""
    if why := assertion.not_run or _not_here(assertion, data, scale):
        return why
    if not assertion.check:
        return [
            Group(by_rule(assertion, readings(one, data)), one.need) for one in assertion.measures
        ]
    function = data.paper.function(assertion.check)
    if function is None:
        return f"not built: nothing computes {assertion.check}"
    try:
        return [Group(_checked(assertion, function(_of_reads(assertion, data))))]
    except (ArithmeticError, IndexError, KeyError, StopIteration, ValueError):
        if data.complete:
            raise
        return "needs runs that are not done"


def _not_here(assertion: Assertion, data: Data, scale: str) -> str:
    """Why there are no runs for it here: no real kernel, or no traces."""
    real = [part.name for part in data.parts if part.real]
    if assertion.engine == "linux" and not any(cell.part in real for cell in data.cells):
        return data.lacking or f"no run at this scale ({scale}) has it"
    wanted = [one.part for one in (assertion.reads if assertion.check else assertion.measures)]
    if assertion.check and not wanted:
        wanted = [""]
    found = (
        why for part, why in data.without.items() if any(data.means(one, part) for one in wanted)
    )
    return next(found, "")


def _checked(assertion: Assertion, found: Any) -> list[Reading]:
    """What a check gave: a number, or numbers by label, each perhaps with bounds of its own."""
    if found is None:
        return []
    if not isinstance(found, Mapping):
        found = {"": found}
    return by_rule(assertion, (
        value
        if isinstance(value, Reading)
        else _exact(str(label), value, assertion.lo, assertion.hi)
        for label, value in found.items()
    ))  # fmt: skip


def _exact(label: str, value: float | None, lo: float, hi: float) -> Reading:
    number = math.nan if value is None else float(value)
    interval = Interval(number, number, number, 1, "exact")
    if isinstance(value, Censored):
        return Reading(label, interval, lo, hi, censored=1, side=value.side)
    return Reading(label, interval, lo, hi)


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


def labels(measure: Measure, data: Data) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The values that a measure gives without themselves: their labels and settings."""
    names = data.paper.members(measure.scheme) or data.schemes(measure.part)
    for scheme in names:
        cells = [cell for cell in data.of(measure.part, scheme) if _within(measure, cell)]
        told = _told(data, scheme) if len(names) > 1 or not measure.scheme else ""
        if measure.reduce and cells:
            yield _label(told, measure.reduce), _settings(cells)
        elif not measure.reduce:
            for _, label in dict.fromkeys((cell.part, cell.label) for cell in cells):
                yield _label(told, label), (label,) if label else ()


def _label(*told: str) -> str:
    return ", ".join(filter(None, told))


def _settings(cells: Iterable[Cell]) -> tuple[str, ...]:
    in_order = sorted(cells, key=lambda one: one.x)
    return tuple(dict.fromkeys(cell.label for cell in in_order if cell.label))


def _told(data: Data, scheme: str) -> str:
    return data.paper.schemes[scheme].label


def _within(measure: Measure, cell: Cell | Point) -> bool:
    return _between(measure.x, cell)


def _between(x: tuple[float, float] | None, cell: Cell | Point) -> bool:
    if x is None:
        return True
    low, high = x
    return low * (1 - 1e-9) <= cell.x <= high * (1 + 1e-9)


def _value(measure: Measure, data: Data, cell: Cell) -> float:
    """A run's number, with that of the run beside it taken off; censored if either is, NaN if
    either has none."""
    value = _number(data, cell, measure.metric)
    others = measure.minus or measure.over
    if not others:
        return value
    beside = [
        _number(data, other, measure.metric)
        for scheme in data.paper.members(others)
        for other in data.of(cell.part, scheme)
        if (other.label, other.rep) == (cell.label, cell.rep)
    ]
    if not beside or any(map(math.isnan, (value, *beside))):
        return math.nan
    best = Censored.if_any(beside, OVER[measure.beside](beside))
    found = value - best if measure.minus else quotient(value, best)
    return math.nan if found is None else Censored.less(value, best, found)


def _number(data: Data, cell: Cell, metric: str) -> float:
    value = data.number(cell, metric)
    return math.nan if value is None else value


def _by_point(measure: Measure, data: Data, cells: list[Cell], scheme: str) -> list[Reading]:
    points: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        value = _value(measure, data, cell)
        points.setdefault((cell.part, cell.label), []).append(value)
    return [
        Reading.of(
            _label(scheme, label),
            values,
            measure.lo,
            measure.hi,
            [label] if label else [],
        )
        for (_, label), values in points.items()
    ]


def _reduced(measure: Measure, data: Data, cells: list[Cell], scheme: str) -> list[Reading]:
    by_rep: dict[int, list[tuple[float, float]]] = {}
    for cell in cells:
        by_rep.setdefault(cell.rep, []).append((cell.x, _value(measure, data, cell)))
    if not by_rep:
        return []
    most = max(map(len, by_rep.values()))
    # A replication that lacks a point would be compared with others as if it had it.
    values = [
        reduced(measure.reduce, sorted(found)) if len(found) == most else math.nan
        for found in by_rep.values()
    ]
    label = _label(scheme, measure.reduce)
    return [Reading.of(label, values, measure.lo, measure.hi, _settings(cells))]


def reduced(how: str, points: Sequence[tuple[float, float]]) -> float:
    """One number of (x, value) in the order of x; NaN where there are too few, or one is."""
    x, y = [p[0] for p in points], [p[1] for p in points]
    if any(map(math.isnan, y)):
        return math.nan
    if len(y) < 2 and how not in ("mean", "min", "max", "first", "last"):
        return math.nan
    found = REDUCED[how](x, y)
    if found is None:
        return math.nan
    # A slope or a difference need not grow with each of them.
    grows = how in ("mean", "min", "max", "first", "last")
    return Censored.if_any(y, found) if grows else Censored.unknown(y, found)


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
