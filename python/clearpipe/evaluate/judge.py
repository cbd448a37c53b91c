"""From runs to verdicts over statements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from clearpipe import units
from clearpipe.evaluate.cast import SUBJECT, Cast, Role
from clearpipe.evaluate.data import OWN_KIND, STANDARDS, Area, Statement
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.runs import Cell, Censored, Data

PASS = "pass"
FAIL = "fail"
NUMBER = "number"
EXCLUDED = "excluded"
NOT_RUN = "not run"
VERDICTS = (PASS, FAIL, NUMBER, EXCLUDED, NOT_RUN)


@dataclass(frozen=True)
class Beside:
    """What another control has in the same place."""

    label: str
    reading: Reading
    bound: bool
    """Is the bound made of it?"""


@dataclass(frozen=True)
class Row:
    """One place where a statement is measured: a setting of the axis, and the control it meets."""

    reading: Reading
    beside: Sequence[Beside] = ()


@dataclass(frozen=True)
class Outcome:
    """A statement and what became of it."""

    area: Area
    statement: Statement
    verdict: str
    rows: Sequence[Row] = ()
    reason: str = ""
    """Why it is excluded or was not run."""

    @property
    def worst(self) -> Row | None:
        """The row that is farthest outside, or nearest to its bound."""
        if not self.rows:
            return None
        if self.verdict == NUMBER:
            sign = 1.0 if self.statement.better == "less" else -1.0
            return max(self.rows, key=lambda row: sign * row.reading.interval.mean)
        return max(self.rows, key=lambda row: _badness(row.reading))


@dataclass
class Judge:
    """Judges by one cast and rule."""

    cast: Cast
    margin: float
    _solo: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def area(self, area: Area, data: Data | None) -> list[Outcome]:
        """The verdicts over all statements of an area; without data it was not run."""
        if reason := self.excluded(area):
            return [
                Outcome(area, one, NOT_RUN if one.not_run else EXCLUDED, (), one.not_run or reason)
                for one in area.statements
            ]
        return [self.statement(area, one, data) for one in area.statements]

    def excluded(self, area: Area) -> str:
        """Why the area is not asked of this control; empty if it is."""
        kind = self.cast.router["kind"]
        if area.needs == "any queue" and self.cast.needs_router:
            return f"its queue is part of it ({self.cast.queue_from})"
        if area.needs == "ecn" and self.cast.ecn(SUBJECT) is None:
            return f"{self.cast.label} has no ECN of RFC 3168"
        if area.needs == "own queue" and kind == "droptail":
            return "it asks for no queue of its own: all of this report is over tail drop"
        return ""

    def statement(self, area: Area, one: Statement, data: Data | None) -> Outcome:
        """The verdict over one statement."""
        if why := one.not_run or unable(area, one):
            return Outcome(area, one, NOT_RUN, (), why)
        rows = [] if data is None else self._rows(one, data)
        if lack := self._lack(one, rows, data):
            return Outcome(area, one, NOT_RUN, rows, lack)
        if not one.bound and one.lo is None and one.hi is None:
            return Outcome(area, one, NUMBER, rows)
        if any(not row.reading.inside and not row.reading.undecided for row in rows):
            return Outcome(area, one, FAIL, rows)
        if any(row.reading.undecided for row in rows):
            return Outcome(area, one, NOT_RUN, rows, "the runs end before it has a value")
        return Outcome(area, one, PASS, rows)

    def _lack(self, one: Statement, rows: Sequence[Row], data: Data | None) -> str:
        """Why nothing can be said, or nothing."""
        if data is None:
            return "no runs"
        missing = [point for point in data.missing if one.part in ("", point.part)]
        if missing or not rows:
            failed = sorted(set(data.errors))
            return f"a run failed: {failed[0]}" if failed else f"{len(missing)} runs are missing"
        lacking = sum(row.reading.lacking for row in rows)
        return f"{units.counted(lacking, 'run', 'runs')} without a value" if lacking else ""

    def _rows(self, one: Statement, data: Data) -> list[Row]:
        roles = self.cast.roles
        places: dict[tuple[str, str], dict[str, list[float]]] = {}
        for cell in data.of(one.part):
            place = (cell.label, roles[cell.scheme].other)
            value = self._value(one, data, cell, roles[cell.scheme])
            places.setdefault(place, {}).setdefault(cell.scheme, []).append(value)
        return [
            self._row(one, label, other, found)
            for (label, other), found in places.items()
            if any(roles[scheme].control == SUBJECT for scheme in found)
        ]

    def _value(self, one: Statement, data: Data, cell: Cell, role: Role) -> float:
        value = data.number(cell, one.metric)
        if value is None:
            return math.nan
        if one.alone is None:
            return value
        alone = self._alone(one, data, cell.label, role.other)
        return math.nan if math.isnan(alone) else one.alone.harm(alone, value)

    def _alone(self, one: Statement, data: Data, label: str, victim: str) -> float:
        """What the victim has alone in the same place: the mean over its runs."""
        assert one.alone is not None
        key = (one.id, label, victim)
        if key not in self._solo:
            cells = [c for c in data.of(one.alone.part, f"/{victim}") if c.label == label]
            found = [v for c in cells if (v := data.number(c, one.alone.metric)) is not None]
            self._solo[key] = fmean(found) if found else math.nan
        return self._solo[key]

    def _row(self, one: Statement, label: str, other: str, found: dict[str, list[float]]) -> Row:
        roles = self.cast.roles
        met = self.cast.control(other).label if other not in ("", "own") else ""
        told = ", ".join(filter(None, (label, f"beside {met}" if met else "")))
        mine = next(name for name in found if roles[name].control == SUBJECT)
        makers = self._makers(one, other, found)
        lo, hi = self._bounds(one, [_mean(found[name]) for name in makers])
        beside = [
            Beside(
                self.cast.control(roles[name].control).label,
                Reading.of(told, values, -math.inf, math.inf),
                name in makers,
            )
            for name, values in found.items()
            if name != mine
        ]
        return Row(Reading.of(told, found[mine], lo, hi, [label] if label else []), beside)

    def _makers(self, one: Statement, other: str, found: Iterable[str]) -> list[str]:
        """The schemes that the bound is made of."""
        controls: Sequence[str] = ()
        if one.bound == STANDARDS:
            controls = self.cast.standards
        elif one.bound == OWN_KIND:
            controls = (other,)
        return [name for name in found if self.cast.roles[name].control in controls]

    def _bounds(self, one: Statement, made_of: Sequence[float]) -> tuple[float, float]:
        """The rule: no worse than the worse of them by more than the margin and resolution."""
        lo = -math.inf if one.lo is None else one.lo
        hi = math.inf if one.hi is None else one.hi
        known = [value for value in made_of if not math.isnan(value)]
        if one.bound and known:
            if one.better == "more":
                lo = min(known) - self.margin * abs(min(known)) - one.resolution
            elif not any(isinstance(value, Censored) for value in known):
                hi = max(known) + self.margin * abs(max(known)) + one.resolution
        return lo, hi


def unable(area: Area, one: Statement) -> str:
    """Why the engine cannot run a part that the statement is of; empty if it can."""
    wanted = {one.part, *([one.alone.part] if one.alone else [])}
    found = (why for part, why in area.unable.items() if wanted & {"", part})
    return next(found, "")


def _mean(values: Sequence[float]) -> float:
    return Censored.if_any(values, fmean(values))


def _badness(reading: Reading) -> tuple[bool, float, float]:
    """Outside by how much of its bound, or how near to it."""
    mean = reading.interval.mean
    scale = max(abs(end) for end in (reading.lo, reading.hi, 1e-12) if math.isfinite(end))
    room = min(mean - reading.lo, reading.hi - mean)
    return (not reading.inside, reading.miss / scale, -room / scale if math.isfinite(room) else 0.0)
