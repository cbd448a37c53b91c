"""Judging again, without a run, what was published.

A figure's file of verdicts has every value that was measured, of each run, and digests of what
decides a verdict, of the functions that measure, and of what was run. Where only bounds, ranges,
printed numbers or words have changed since, the verdict of today's definition follows from the
values there.
"""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.reproduce import claims, code, report, runs, settings, work
from clearpipe.reproduce.claims import Group, Judged, Reading
from clearpipe.reproduce.data import Assertion, Claim, Figure, Measure, Printed, Reads
from clearpipe.reproduce.runs import Cell, Data

Json = dict[str, Any]

RANGE = re.compile(r" from \S+ to \S+(?= at |$)")
SHARE = re.compile(r" at \S+ % of the points$")


class Unknown(Exception):
    """Why the values that were published do not tell a verdict."""


def judge(figure: Figure, one: Mapping[str, Any], on: str) -> tuple[Json, dict[str, str]]:
    """The figure's file as the definitions of today have it, and what has to be run again, with the
    reason: that stays as it was. `on` is the day.

    Raises ConfigError if the file is of other claims than the figure has.
    """
    found = copy.deepcopy(dict(one))
    ids = [(claim["id"], [part["id"] for part in claim["parts"]]) for claim in one["claims"]]
    if ids != [(claim.id, [part.id for part in claim.assertions]) for claim in figure.claims]:
        raise ConfigError(f"{figure.id}: its claims are others than those that were published")
    found |= {"title": figure.title}
    left: dict[str, str] = {}
    published = _Published(figure, one)
    for claim, table in zip(figure.claims, found["claims"], strict=True):
        known = True
        for assertion, part in zip(claim.assertions, table["parts"], strict=True):
            try:
                published.judge(claim, assertion, part, on)
            except Unknown as why:
                left[claim.name_of(assertion)] = str(why)
                known = False
        if known:
            _tell_claim(claim, table, published.data)
        verdicts = [part["verdict"] for part in table["parts"]]
        table["verdict"] = max(verdicts, key=claims.BADNESS.index)
    return found, left


def _tell_claim(claim: Claim, table: Json, data: Data) -> None:
    """The claim's words of today."""
    for key in ("statement", "quantity", "expected", "where", "source", "inconsistency", "note"):
        table[key] = getattr(claim, key)
    table["kind"], table["basis"] = claim.kind, claim.counted_under
    table["settings"] = settings.of(claim, data)


class _Published:
    """A figure's file, as runs without numbers and numbers without runs."""

    def __init__(self, figure: Figure, one: Mapping[str, Any]) -> None:
        self.figure = figure
        self.one = one
        self.scale = str(one["scale"])
        parts = figure.parts["full" if self.scale == "full" else "quick"]
        self.data = Data(figure.book, figure, parts)
        ran = {
            text for claim in one["claims"] for part in claim["parts"] for text in part["points"]
        }
        self.data.cells = [
            Cell(point.part, point.scheme, point.label, point.x, 0, {}, _no_run, ())
            for part in parts
            for point in runs.points(figure, part)
            if not part.real or work.point_text(point) in ran
        ]
        self.values: dict[tuple[str, str], Json | None] = {}
        for key, reading in self._values():
            same = self.values.setdefault(key, reading)
            if same is None or same["values"] != reading["values"]:
                self.values[key] = None

    def _values(self) -> Iterator[tuple[tuple[str, str], Json]]:
        """Readings by what was measured and their label."""
        for claim in self.one["claims"]:
            for part in claim["parts"]:
                for reading in (*part["readings"], *part["readings_beyond"]):
                    group, told = reading["group"], part["measured_by"]
                    if group is None and len(told) > 1:
                        continue
                    yield (_without_bounds(told[group or 0]), reading["label"]), reading

    def judge(self, claim: Claim, one: Assertion, part: Json, on: str) -> None:
        """Make the part what it is by today's definition. Raises Unknown, and leaves it then."""
        before = (part["judged_by"], part["verdict"])
        today = self.figure.judged_by(one)
        if one.not_run or not part["readings"]:
            if today != part["judged_by"]:
                raise Unknown("nothing was measured")
        elif self.one.get("setup") != code.setup(self.figure, self.scale):
            raise Unknown("what is run is another")
        elif part.get("code", "") != code.of(self.figure, one):
            if not (one.check and claim.kind == claim.basis == "analytic"):
                raise Unknown("the functions that measure it are others")
            part |= self._computed(one)
            before = (today, part["verdict"])
        elif today != part["judged_by"]:
            if self.one["runs_done"] != self.one["runs_wanted"]:
                raise Unknown("not all runs had been done")
            judged = self._checked(claim, one, part) if one.check else self._measured(one, part)
            part |= judged
        if one.measures and part["readings"]:
            bare = self._about(one, Judged(one, part["verdict"]), computed=False)
            part["accepted"] = report.accepted_text(bare)
            part["printed"] = report.printed_text(bare)
        part |= self._words(one, part) | {"judged_by": today}
        if before != (part["judged_by"], part["verdict"]):
            part["judged_again"] = on

    def _words(self, one: Assertion, part: Json) -> Json:
        failing = part["verdict"] in (claims.DEVIATES, claims.CONTRADICTED)
        told = {"says": one.says, "tolerance": one.tolerance, "note": one.note}
        if one.not_run or failing:
            told["reason"] = one.not_run or one.reason(self.scale)
        if one.contradiction and part["verdict"] == claims.CONTRADICTED:
            told["contradiction"] = one.contradiction.why
        if (single := self._single_runs(one, part)) is not None:
            told["single_runs"] = single
        return told

    def _single_runs(self, one: Assertion, part: Json) -> str | None:
        """What a part says of runs on the other side of its bound; None where the file does not
        tell the bounds that are printed."""
        own = one.printed or Printed()
        held = part["verdict"] == claims.HOLDS
        accepted, strict = [], []
        for told in (*part["readings"], *(part["readings_beyond"] if held else ())):
            if told["censored"] or not told["values"]:
                continue
            bounds = own
            if one.measures:
                # Those of the printed range alone have the printed bounds.
                group = told["group"]
                bounds = Printed() if group is None else one.measures[group].printed or own
            accepted += claims.by_rule(one, [self._reading(told)])
            strict.append(claims.in_print(accepted[-1], bounds))
        judged = Judged(one, part["verdict"], [Group(accepted)], strict=strict)
        if held and one.check and part["printed"] != report.printed_text(judged):
            return None
        return report.runs_text(judged)

    def _checked(self, claim: Claim, one: Assertion, part: Json) -> Json:
        """A check's values have their bounds with them, which must be the same."""
        before = self._before(one, part["judged_by"])
        bare = Judged(one, part["verdict"], read=self._read(part))
        judged = self._about(one, bare, computed=claim.kind == claim.basis == "analytic")
        if before is None:
            raise Unknown("its bounds have changed, and which of its values have them is not told")
        several = any(len(reading["values"]) > 1 for reading in part["readings"])
        if several and bool(one.each_run) != bool(before.each_run):
            return self._by_rule(one, part, judged, same=one.printed == before.printed)
        if judged.verdict in claims.GOOD:
            whole = one.printed == before.printed and not judged.left_out and not judged.departs
            printed = one.printed is not None and judged.verdict == claims.HOLDS and whole
            judged = replace(judged, verdict=claims.HOLDS if printed else claims.WITHIN)
        told = self._points(judged) | {"verdict": judged.verdict}
        return told if one.printed else told | {"printed": ""}

    def _by_rule(self, one: Assertion, part: Json, bare: Judged, *, same: bool) -> Json:
        """A check's values, judged by their means or by each run where it was the other way. `same`
        says that what is printed is what it was."""
        found = claims.by_rule(one, map(self._reading, part["readings"]))
        judged = replace(bare, groups=[Group(found)], reason=one.reason(self.scale))
        plain = replace(judged, assertion=replace(one, each_run=False))
        own = part["printed"].removesuffix(report.EACH_RUN)
        if judged.verdict == claims.NOT_RUN:
            return self._points(judged)
        if not all(reading.inside for reading in found):
            judged = replace(judged, verdict=self._failed(one, part, judged))
        elif one.printed is None:
            judged = replace(judged, verdict=claims.WITHIN)
        elif not same or own != report.printed_text(plain):
            raise Unknown("which of its values have which printed bounds is not told")
        else:
            strict = [claims.in_print(reading, one.printed) for reading in found]
            holds = all(reading.inside for reading in strict)
            holds = holds and not judged.left_out and not judged.departs
            verdict = claims.HOLDS if holds else claims.WITHIN
            judged = replace(judged, verdict=verdict, strict=strict if holds else ())
        table = work.part_json(judged, self.figure) | {"code": part.get("code", "")}
        return table | report.published(judged, table)

    def _reading(self, told: Json) -> Reading:
        """A value of a check, as the file has it."""
        if told["censored"]:
            raise Unknown("the run's end has cut off some of its values")
        lo = -math.inf if told["lo"] is None else told["lo"]
        hi = math.inf if told["hi"] is None else told["hi"]
        values = [math.nan if value is None else value for value in told["values"]]
        if not values:
            raise Unknown("some of its values are of runs and others are computed")
        return Reading.of(told["label"], values, lo, hi, told["points"])

    def _read(self, part: Json) -> claims.Read | None:
        """What the check has read, if the file tells it."""
        told = part.get("read")
        if told is None:
            return None
        known = {work.point_text(point): point for point in map(claims.point_of, self.data.cells)}
        points = {known[text]: (n, of) for text, (n, of) in told["points"].items() if text in known}
        return claims.Read(points, told["names"])

    def _computed(self, one: Assertion) -> Json:
        """What is computed needs no run, and is computed anew."""
        judged = claims.judge_assertion(one, self.data, self.scale, computed=True)
        table = work.part_json(judged, self.figure)
        return table | report.published(judged, table)

    def _before(self, one: Assertion, digest: str) -> Assertion | None:
        """The definition that was judged by, if it is today's but for what is printed, which runs
        are told, and whether each is judged: its digest shows it."""
        parts = self.figure.parts["full"]
        for printed, reads, computed, each_run in itertools.product(
            dict.fromkeys((one.printed, None, Printed())),
            dict.fromkeys((one.reads, (), *((Reads(part.name),) for part in parts))),
            dict.fromkeys((one.computed, False)),
            (one.each_run, not one.each_run),
        ):
            former = replace(
                one, printed=printed, reads=reads, computed=computed, each_run=each_run
            )
            if digest in (former.digest, self.figure.judged_by(former)):
                return former
        return None

    def _measured(self, one: Assertion, part: Json) -> Json:
        groups = [Group(self._readings(one, measure), measure.need) for measure in one.measures]
        if not all(group.readings for group in groups):
            raise Unknown("no run at this scale has it")
        judged = self._about(one, Judged(one, claims.WITHIN, groups), computed=False)
        own = one.printed or Printed()
        printed = [measure.as_printed(own) for measure in one.measures]
        if all(group.holds for group in groups):
            wide = (
                [Group(self._readings(one, measure)) for measure in printed] if one.printed else []
            )
            wide = [replace(w, need=m.need) for w, m in zip(wide, printed, strict=False)]
            strict = [reading for group in wide for reading in group.readings]
            whole = wide and all(group.holds for group in wide)
            if whole and not judged.left_out and not judged.departs:
                judged = replace(judged, verdict=claims.HOLDS, strict=strict)
        else:
            judged = replace(judged, verdict=self._failed(one, part, judged))
        accepted = {(reading.label, reading.points) for reading in judged.readings}
        beyond = [
            reading
            for measure in printed
            if one.printed or measure.printed
            for reading in self._readings(one, measure)
            if (reading.label, reading.points) not in accepted
        ]
        judged = replace(judged, beyond=beyond, reason=one.reason(self.scale))
        table = work.part_json(judged, self.figure) | {"code": part.get("code", "")}
        return table | report.published(judged, table)

    def _failed(self, one: Assertion, part: Json, judged: Judged) -> str:
        """Whether the paper contradicts itself is of the same readings what it was."""
        outside = [reading["label"] for reading in part["readings"] if not reading["inside"]]
        now = [reading.label for reading in judged.readings if not reading.inside]
        if one.contradiction is None:
            return claims.DEVIATES
        if outside != now or part["verdict"] not in (claims.DEVIATES, claims.CONTRADICTED):
            raise Unknown("whether the paper contradicts itself needs the runs")
        return str(part["verdict"])

    def _about(self, one: Assertion, judged: Judged, *, computed: bool) -> Judged:
        """With the points that it is of."""
        empty = computed and one.check
        ran, left_out = ([], []) if empty else claims.points(one, self.data)
        departs = claims.departures(self.data, ran) if one.printed else {}
        return replace(judged, ran=ran, left_out=left_out, departs=departs)

    def _points(self, judged: Judged) -> Json:
        return {
            "points": [work.point_text(point) for point in judged.ran],
            "points_left_out": [work.point_text(point) for point in judged.left_out],
            "range_run": report.points_text(judged),
            "departs": report.departs_text(judged),
        }

    def _readings(self, one: Assertion, measure: Measure) -> list[Reading]:
        """The values that a measure gives, of those that are in the file."""
        return claims.by_rule(one, self._of_file(measure))

    def _of_file(self, measure: Measure) -> Iterator[Reading]:
        told = _without_bounds(measure.told())
        labels = claims.labels(measure, self.data)
        for label, points in labels:
            reading = self.values.get((told, label))
            if reading is None:
                raise Unknown(f"the file has no values of it at {label or 'the only point'}")
            if reading["censored"]:
                raise Unknown("the run's end has cut off some of its values")
            values = [math.nan if value is None else value for value in reading["values"]]
            yield Reading.of(label, values, measure.lo, measure.hi, points)


def _without_bounds(told: str) -> str:
    """What a measure is of, without its range, which a reduced one is of, and the share."""
    told = SHARE.sub("", told)
    first = told.split(" ", 1)[0]
    return told if first in claims.REDUCED else RANGE.sub("", told)


def _no_run() -> Any:
    raise Unknown("its runs are not at hand")


def told(before: Mapping[str, Any], after: Mapping[str, Any]) -> Sequence[tuple[str, str, str]]:
    """Which parts were judged again: the name, the former verdict and today's."""
    return [
        (f"{claim['id']}{'.' if new['id'] else ''}{new['id']}", old["verdict"], new["verdict"])
        for former, claim in zip(before["claims"], after["claims"], strict=True)
        for old, new in zip(former["parts"], claim["parts"], strict=True)
        if old["judged_by"] != new["judged_by"]
    ]
