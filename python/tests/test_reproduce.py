"""Reproducing papers: the claims' data, verdicts, drawings, reports and the command."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_lab_links
import test_report_browser as browser
from sweeping import call

import clearpipe as cp
from clearpipe import units
from clearpipe.errors import ConfigError
from clearpipe.linux import hosts, namespaces
from clearpipe.reproduce import claims, data, publication, report, runs, tools, work
from clearpipe.reproduce.claims import CONTRADICTED, DEVIATES, HOLDS, NOT_RUN, WITHIN
from clearpipe.reproduce.data import (
    Assertion,
    Axis,
    Claim,
    Contradiction,
    Figure,
    Measure,
    Part,
    Printed,
    Reads,
)
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.statistics import Interval
from clearpipe.sweep.store import Store

FIGURES = data.every()

# Data.


def test_the_inventory_is_whole() -> None:
    of_five = [figure for figure in FIGURES if figure.paper in data.FIVE]
    assert len(of_five) == 116
    assert sum(len(figure.claims) for figure in of_five) == 346
    count = {name: len(data.paper(name).figures) for name in data.PAPERS}
    assert count == {"xcp": 24, "ixcp": 26, "vcp": 30, "mlcp": 23, "dpcp": 13, "abc": 5}
    assert sum(len(figure.claims) for figure in data.paper("abc").figures) == 8


def test_ids_are_unique() -> None:
    ids = [figure.id for figure in FIGURES] + [c.id for f in FIGURES for c in f.claims]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_figure_says_what_it_is(figure: Figure) -> None:
    assert figure.setup
    assert figure.axes
    assert figure.claims
    for claim in figure.claims:
        assert claim.source, claim.id
        assert claim.quantity, claim.id
        for one in claim.assertions:
            name = claim.name_of(one)
            if one.not_run:
                assert not one.measures, name
                assert not one.check, name
                continue
            ranges = [(one.lo, one.hi), *((m.lo, m.hi) for m in one.measures)]
            assert any(math.isfinite(end) for pair in ranges for end in pair), name
            assert one.measures or one.check, name
            assert set(one.deviation) <= {"quick", "full", "all"}, name
            assert one.printed is not None or one.tolerance, f"{name}: what of it is printed?"
    for number in figure.ambiguities:
        assert number in data.notes()["ambiguity"]


def without_traces(part: Part, sets: Sequence[str]) -> list[str]:
    """What is in a trace decides nothing of a scenario's validity; test_reproduce_abc.py has
    some."""
    key = part.axis.key if part.traced and part.axis else None
    return [one for one in sets if not one.startswith(f"{key}=")]


@pytest.mark.parametrize(
    "figure", [f for f in FIGURES if data.paper(f.paper).is_built(f)], ids=lambda figure: figure.id
)
def test_a_built_figure_is_whole(figure: Figure) -> None:
    """Its scenarios are valid at both scales, and what panels and measures name is there."""
    owner = data.paper(figure.paper)
    for scale in data.SCALES:
        for part in figure.parts[scale]:
            sweep = runs.sweep(figure, part)
            assert sweep is not None
            text = runs.scenario(figure, part)
            first = {point.coordinates["scheme"] for point in sweep.points[:1]}
            for point in sweep.points:
                if scale == "quick" or point.coordinates["scheme"] in first:
                    cp.resolve(text, set=without_traces(part, point.sets))
    for panel in figure.panels:
        assert sum(map(bool, (panel.metric, panel.series, panel.flows, panel.draw))) == 1
        if panel.draw:
            assert owner.function(panel.draw)
    names = {part.name for part in figure.parts["full"]}
    metrics = [m.metric for claim in figure.claims for m in claim.measures]
    metrics += [panel.metric for panel in figure.panels if panel.metric]
    for metric in metrics:
        for name in re.findall(r"@(\w+)", metric):
            assert owner.function(name), name
    for part_name in [m.part for c in figure.claims for m in c.measures] + [
        panel.part for panel in figure.panels
    ]:
        assert part_name in ("", *names)


CLAIM = """
id = "x-fig01-c1"
statement = "s"
kind = "quantitative"
basis = "simulation"
expected = "1"
source = "1"
"""
PART = '[[figure.claim.part]]\nid = "{}"\nsays = "s"\nhi = 1\ncheck = "f"\n'
FILE = """
title = "X"
cite = "Y"
[schemes.a]
label = "A"
[groups]
[base.b]
[[figure]]
id = "x-fig01"
figure = "Fig. 1"
title = "T"
kind = "k"
setup = "s"
axes = "a"
"""


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (CLAIM + 'check = "f"\n', "x-fig01-c1: no bound: expected lo or hi"),
        (CLAIM + "lo = 1\n", "x-fig01-c1: neither measure nor check"),
        (CLAIM + 'lo = 2\nhi = 1\ncheck = "f"\n', "lo = 2 is above hi = 1"),
        (CLAIM + 'lo = 2\ncheck = "f"\ninconsistency = "I99"\n', "no I99 in notes.toml"),
        (
            CLAIM + 'lo = 2\ncheck = "f"\ncontradiction = { by = "I99", shown = "g", why = "w" }\n',
            "no I99 in notes.toml",
        ),
        (CLAIM + 'lo = 2\ncheck = "f"\ncontradiction = { by = "I1" }\n', "shown"),
        (CLAIM + 'lo = 2\ncheck = "f"\nprinted = { lo = 1 }\n', "wider than what is accepted"),
        (CLAIM + 'lo = 2\ncheck = "f"\nprinted = { x = [1, 2] }\n', "a range of its own"),
        (
            CLAIM + 'lo = 2\nprinted = { x = [2, 3] }\nmeasure = { metric = "m", x = [1, 3] }\n',
            "printed.x: narrower than what is accepted",
        ),
        (CLAIM + 'lo = 2\ncheck = "f"\nmeasure = { metric = "m" }\n', "not both"),
        (CLAIM + PART.format("a"), "part: expected two or more"),
        (CLAIM + PART.format("a") + PART.format("c"), "part: expected two or more: a, b"),
        (CLAIM + "hi = 1\n" + PART.format("a") + PART.format("b"), "says it in each part"),
        (
            CLAIM.replace('"simulation"', '"luck"') + 'lo = 2\ncheck = "f"\n',
            "basis: expected one of",
        ),
        (CLAIM + 'lo = 2\nchekc = "f"\n', "x-fig01-c1.chekc: unknown key; did you mean check?"),
        (CLAIM + 'lo = 2\nmeasure = { metric = "m", scheme = "b" }\n', "'b' is no scheme"),
        (
            CLAIM + 'lo = 2\nmeasure = { metric = "m", reduce = "sum" }\n',
            "reduce: expected one of mean",
        ),
        (
            CLAIM.replace("x-fig01-c1", "x-fig02-c1") + 'lo = 2\ncheck = "f"\n',
            "begins with x-fig01",
        ),
        (CLAIM.replace("quantitative", "vague") + 'lo = 2\ncheck = "f"\n', "kind: expected one of"),
    ],
)
def test_a_wrong_file_is_refused(more: str, message: str) -> None:
    import tomllib

    with pytest.raises(ConfigError, match=re.escape(message)):
        data.Reader("x.toml", tomllib.loads(FILE + "[[figure.claim]]\n" + more)).paper("x")


def test_a_target_is_found_or_named() -> None:
    assert [figure.id for figure in data.chosen("vcp:fig03")] == ["vcp-fig03"]
    assert data.chosen("vcp-fig03") == data.chosen("vcp:fig03")
    assert len(data.chosen("dpcp")) == 13
    with pytest.raises(ConfigError, match="did you mean vcp-fig0"):
        data.chosen("vcp:fig003")


# Verdicts, on tables made by hand.

POINTS = ("10Mbps", "20Mbps", "40Mbps")


def hand_made(
    values: dict[str, dict[str, list[float]]], claim: Claim, settings: tuple[str, ...] = POINTS
) -> Data:
    """Runs whose only number is `m`: by scheme and point, one for each replication. Full scale has
    all of POINTS."""
    part = Part("main", "dumbbell", tuple(values), Axis("rate", settings, key="topology.rate"))
    whole = replace(part, axis=Axis("rate", POINTS, key="topology.rate"))
    parts = {"quick": (part,), "full": (whole,)}
    figure = replace(data.chosen("vcp:fig03")[0], id="vcp-hand", claims=(claim,), parts=parts)
    figure = replace(figure, panels=())
    found = Data(data.paper("vcp"), figure, (part,), wanted=1)
    for scheme, points in values.items():
        for label, numbers in points.items():
            for rep, number in enumerate(numbers):
                x = runs.position(part, label)
                numbers_of = {"m": number, "n": 2.0}
                found.cells.append(Cell("main", scheme, label, x, rep, numbers_of, no_result, ()))
    return found


def no_result() -> cp.Result:
    raise AssertionError("a table made by hand has no result")


def claim_with(*measures: Measure, **more: Any) -> Claim:
    """A claim of one assertion; without `printed` what is accepted is what is printed."""
    one = Assertion(**{"measures": measures, "printed": Printed(), **more})
    return claim_of(one)


def claim_of(*assertions: Assertion) -> Claim:
    what = {"kind": "quantitative", "basis": "simulation", "quantity": "q"}
    return Claim("vcp-hand-c1", "s", expected="1", source="1", assertions=assertions, **what)


VALUES = {
    "vcp": {"10Mbps": [0.9, 0.94], "20Mbps": [0.8, 0.8], "40Mbps": [0.5, 0.7]},
    "xcp": {"10Mbps": [1.0, 1.0], "20Mbps": [0.9, 0.9], "40Mbps": [0.9, 0.9]},
}


@pytest.mark.parametrize(
    ("measure", "verdict"),
    [
        (Measure("m", ("vcp",), lo=0.6), HOLDS),
        (Measure("m", ("vcp",), lo=0.7), DEVIATES),
        (Measure("m", ("vcp",), lo=0.7, need=0.66), WITHIN),
        (Measure("m", ("vcp",), lo=0.7, x=(10e6, 20e6)), HOLDS),
        (Measure("m", ("xcp",), minus=("vcp",), hi=0.2), DEVIATES),
        (Measure("m", ("xcp",), minus=("vcp",), hi=0.31), HOLDS),
        (Measure("m", ("vcp",), over=("xcp",), lo=0.88, x=(10e6, 20e6)), HOLDS),
        # The mean over points is 0.74 in one and 0.813 in the other replication: 0.7733.
        (Measure("m", ("vcp",), reduce="mean", lo=0.7732, hi=0.7734), HOLDS),
        (Measure("m", ("vcp",), reduce="growth", lo=-0.33, hi=-0.31), HOLDS),
        (Measure("m", ("vcp",), reduce="rank", lo=-1, hi=-0.99), HOLDS),
        (Measure("m / n", ("vcp",), lo=0.3, hi=0.46), HOLDS),
        (Measure("m - 1", ("xcp",), lo=-0.1, hi=0), HOLDS),
        (Measure("m", ("vcp",), x=(1e9, 2e9), lo=0), NOT_RUN),
        (Measure("absent", ("vcp",), lo=0), NOT_RUN),
    ],
)
def test_verdicts(measure: Measure, verdict: str) -> None:
    claim = claim_with(measure)
    assert claims.judge(claim, hand_made(VALUES, claim), "quick").verdict == verdict


def test_a_tolerance_is_told_from_what_is_printed() -> None:
    """0.92 at 10 Mb/s, 0.8 at 20 Mb/s and 0.6 at 40 Mb/s."""
    for measure, printed, verdict in (
        (Measure("m", ("vcp",), lo=0.5), None, WITHIN),
        (Measure("m", ("vcp",), lo=0.5), Printed(), HOLDS),
        (Measure("m", ("vcp",), lo=0.5), Printed(lo=0.6), HOLDS),
        (Measure("m", ("vcp",), lo=0.5), Printed(lo=0.7), WITHIN),
        (Measure("m", ("vcp",), lo=0.65), Printed(lo=0.7), DEVIATES),
        # A range that is narrower than the printed one.
        (Measure("m", ("vcp",), x=(10e6, 20e6), lo=0.7), Printed(x=(10e6, 40e6)), WITHIN),
        (Measure("m", ("vcp",), x=(10e6, 20e6), lo=0.5), Printed(x=(10e6, 40e6)), HOLDS),
        (Measure("m", ("vcp",), need=0.6, lo=0.7), Printed(), WITHIN),
        (Measure("m", ("vcp",), need=0.6, lo=0.7), Printed(need=0.6), HOLDS),
    ):
        claim = claim_with(measure, printed=printed)
        assert claims.judge(claim, hand_made(VALUES, claim), "full").verdict == verdict


def test_what_a_scale_leaves_out_is_not_as_printed() -> None:
    """40 Mb/s is run at full scale only: what does not ask for it holds as printed without it."""
    thin = {scheme: dict(list(points.items())[:2]) for scheme, points in VALUES.items()}
    for measure, printed, verdict, told in (
        (Measure("m", ("vcp",), lo=0.5), Printed(), WITHIN, "run at 10, 20 Mb/s; not run: 40 Mb/s"),
        (Measure("m", ("vcp",), reduce="min", lo=0.5), Printed(), WITHIN, None),
        (Measure("m", ("vcp",), x=(10e6, 20e6), lo=0.5), Printed(), HOLDS, "run at 10, 20 Mb/s"),
        (Measure("m", ("vcp",), x=(1e7, 2e7), lo=0.5), Printed(x=(1e7, 4e7)), WITHIN, None),
        (Measure("m", ("vcp",), lo=0.9), Printed(), DEVIATES, None),
    ):
        claim = claim_with(measure, printed=printed)
        (one,) = claims.judge(claim, hand_made(thin, claim, POINTS[:2]), "quick").judged
        assert one.verdict == verdict
        assert told is None or report.points_text(one) == told
    # Points that are there for one scheme are none of another's.
    lacking = {"vcp": VALUES["vcp"], "xcp": thin["xcp"]}
    claim = claim_with(Measure("m", lo=0.5))
    (one,) = claims.judge(claim, hand_made(lacking, claim), "full").judged
    assert one.verdict == WITHIN
    assert report.points_text(one) == "run at 10, 20, 40 Mb/s; not run: 40Mbps (xcp)"


def test_settings_share_their_unit() -> None:
    labels = ["500kbps", "1Mbps", "10Mbps", "80ms", "1s", "0.5", "4M, 500ms"]
    assert report.together(labels) == "500 kb/s, 1, 10 Mb/s, 80 ms, 1 s, 0.5, 4M, 500ms"


def test_runs_that_are_not_done_leave_no_verdict() -> None:
    """Only to what needs them: 40 Mb/s of VCP is missing."""
    gone = runs.Point("main", "vcp", 40e6)
    for measure, verdict in (
        (Measure("m", ("vcp",), lo=0.1), NOT_RUN),
        (Measure("m", ("vcp",), lo=0.1, x=(10e6, 20e6)), HOLDS),
        (Measure("m", ("xcp",), lo=0.1), HOLDS),
        (Measure("m", ("xcp",), minus=("vcp",), lo=-1.0), NOT_RUN),
        (Measure("m", lo=0.1), NOT_RUN),
    ):
        claim = claim_with(measure)
        made = hand_made(VALUES, claim)
        made.missing.append(gone)
        outcome = claims.judge(claim, made, "full")
        assert outcome.verdict == verdict
        assert not outcome.fails
        if verdict == NOT_RUN:
            assert outcome.reason == "1 of the runs that it needs are not done"


def test_a_run_without_the_number_leaves_no_verdict() -> None:
    claim = claim_with(Measure("m", ("vcp",), lo=0.1))
    made = hand_made(VALUES, claim)
    made.cells[0] = replace(made.cells[0], numbers={"n": 2.0})
    outcome = claims.judge(claim, made, "full")
    assert (outcome.verdict, outcome.reason) == (NOT_RUN, "1 runs have no value for it")


@pytest.mark.parametrize(
    ("measure", "lacking"),
    [
        # Of a replication, of the scheme beside, and of one that is no number.
        (Measure("m", ("vcp",), reduce="mean", lo=0.1), {"n": 2.0}),
        (Measure("m", ("xcp",), minus=("vcp",), lo=-9.0), {"n": 2.0}),
        (Measure("m", ("vcp",), need=0.5, lo=0.1), {"m": math.nan}),
        # A level below zero has no logarithm, nothing over nothing is no number.
        (Measure("m", ("vcp",), reduce="log-slope", lo=-9.0), {"m": -1.0}),
        (Measure("n / m", ("vcp",), lo=0.1), {"m": 0.0, "n": 0.0}),
        (Measure("jain(?)", ("vcp",), lo=0.1), {"m": 0.0, "n": 0.0}),
    ],
)
def test_no_verdict_is_by_fewer_runs_than_asked(
    measure: Measure, lacking: dict[str, float]
) -> None:
    claim = claim_with(measure)
    made = hand_made(VALUES, claim)
    assert claims.judge(claim, made, "full").verdict in claims.GOOD
    made = hand_made(VALUES, claim)
    made.cells[0] = replace(made.cells[0], numbers=lacking)
    outcome = claims.judge(claim, made, "full")
    assert (outcome.verdict, outcome.reason) == (NOT_RUN, "1 runs have no value for it")
    assert outcome.worst is not None
    assert report.interval_text(outcome.worst).startswith("no number in 1 of 2 runs")


def test_a_scheme_without_runs_leaves_no_verdict() -> None:
    claim = claim_with(Measure("m", ("vcp", "xcp"), lo=0.1))
    outcome = claims.judge(claim, hand_made({"vcp": VALUES["vcp"]}, claim), "full")
    assert (outcome.verdict, outcome.reason) == (
        NOT_RUN,
        "no run at this scale (full) has it of XCP",
    )


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([2.0, 2.0], HOLDS), ([2.0], NOT_RUN), ([2.0, math.nan], NOT_RUN), (None, NOT_RUN)],
)
def test_a_check_over_fewer_runs_than_asked_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch, values: list[float] | None, verdict: str
) -> None:
    claim = claim_with(lo=1.0, check="f")
    made = hand_made(VALUES, claim)
    made.parts = (replace(made.parts[0], reps=2),)
    found = None if values is None else claims.Reading.of("x", values, 1.0, math.inf)
    monkeypatch.setattr(type(made.paper), "function", lambda self, name: lambda _: {"x": found})
    assert claims.judge(claim, made, "full").verdict == verdict


def test_a_claim_is_as_good_as_its_worst_part() -> None:
    good = Assertion(id="a", measures=(Measure("m", ("vcp",), lo=0.5),), printed=Printed())
    tolerated = replace(good, id="b", printed=None)
    missing = replace(good, id="c", measures=(Measure("absent", ("vcp",), lo=0.5),))
    bad = replace(good, id="d", measures=(Measure("m", ("vcp",), lo=0.7),))
    for parts, verdict, fails in (
        ((good, good), HOLDS, False),
        ((good, tolerated), WITHIN, False),
        ((tolerated, missing), NOT_RUN, False),
        ((bad, missing), DEVIATES, True),
        ((replace(bad, deviation={"all": "why"}), good), DEVIATES, False),
    ):
        claim = claim_of(*parts)
        outcome = claims.judge(claim, hand_made(VALUES, claim), "full")
        assert (outcome.verdict, outcome.fails) == (verdict, fails)


def test_only_a_shown_inconsistency_contradicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked about the readings that are outside, and of nothing where all are inside."""
    asked: list[list[str]] = []

    def shows(told: bool) -> Any:
        def function(_: Data, outside: list[claims.Reading]) -> bool:
            asked.append([reading.label for reading in outside])
            return told

        return function

    for lo, told, verdict in (
        (0.6, True, HOLDS),
        (0.7, True, CONTRADICTED),
        (0.7, False, DEVIATES),
    ):
        why = Contradiction("I7", "shown", "w")
        claim = claim_with(Measure("m", ("vcp",), lo=lo), contradiction=why)
        made = hand_made(VALUES, claim)
        monkeypatch.setattr(type(made.paper), "function", lambda self, name, t=told: shows(t))
        assert claims.judge(claim, made, "quick").verdict == verdict
    assert asked == [["40Mbps"], ["40Mbps"]]


@pytest.mark.parametrize(
    ("lo", "hi", "verdict"),
    [
        # 30 s were not enough: nothing holds by that, whatever the bound.
        (10.0, math.inf, NOT_RUN),
        (-math.inf, 60.0, NOT_RUN),
        # It is longer than 20 s for certain.
        (-math.inf, 20.0, DEVIATES),
    ],
)
def test_what_the_runs_end_cuts_off_is_no_value(lo: float, hi: float, verdict: str) -> None:
    values = {"vcp": {"10Mbps": [25.0, Censored(30.0)]}}
    for reduce in ("", "mean"):
        claim = claim_with(Measure("m", ("vcp",), lo=lo, hi=hi, reduce=reduce))
        outcome = claims.judge(claim, hand_made(values, claim), "quick")
        assert outcome.verdict == verdict
        assert "the run ended first in" in report.interval_text(outcome.readings[0])
    # What a longer time is taken from is shorter, and of two such times nothing is known.
    taken = claim_with(Measure("n - m", ("vcp",), lo=-20.0))
    outcome = claims.judge(taken, hand_made(values, taken), "quick")
    assert outcome.verdict == DEVIATES
    assert report.interval_text(outcome.readings[0]).startswith("< -25.5: the run ended first")
    both = claim_with(Measure("m - m", ("vcp",), lo=1e9))
    outcome = claims.judge(both, hand_made(values, both), "quick")
    assert outcome.verdict == NOT_RUN
    assert report.interval_text(outcome.readings[0]).startswith("unknown: the run ended first")
    less = claim_with(Measure("m - n", ("vcp",), lo=lo, hi=hi))
    assert claims.judge(less, hand_made(values, less), "quick").verdict == verdict


def test_a_written_reason_is_no_failure() -> None:
    measure = Measure("m", ("vcp",), lo=0.7)
    for deviation, scale, fails in (
        ({}, "quick", True),
        ({"all": "why"}, "quick", False),
        ({"quick": "why"}, "quick", False),
        ({"quick": "why"}, "full", True),
    ):
        claim = claim_with(measure, deviation=deviation)
        outcome = claims.judge(claim, hand_made(VALUES, claim), scale)
        assert (outcome.verdict, outcome.fails) == (DEVIATES, fails)


def test_the_interval_is_students() -> None:
    claim = claim_with(Measure("m", ("vcp",), x=(10e6, 10e6), lo=0.9))
    outcome = claims.judge(claim, hand_made(VALUES, claim), "quick")
    (reading,) = outcome.readings
    # 0.9 and 0.94: a standard error of 0.02, times t of one degree of freedom.
    assert reading.interval.mean == pytest.approx(0.92)
    assert reading.interval.half == pytest.approx(0.02 * 12.706, rel=1e-4)
    assert reading.inside
    assert not reading.sure
    assert report.reading_text(reading).endswith("not sure: the interval crosses the bound")
    assert report.unsure_text(outcome.judged[0]) == "not sure: the interval crosses the bound"
    # Its run is told, and what it is of.
    assert (reading.values, reading.points) == ((0.9, 0.94), ("10Mbps",))
    below = claim_with(Measure("m", ("xcp",), x=(10e6, 10e6), lo=0.9))
    (sure,) = claims.judge(below, hand_made(VALUES, below), "quick").readings
    assert not sure.crosses


def test_all_measures_must_hold() -> None:
    good, bad = Measure("m", ("vcp",), lo=0.5), Measure("m", ("xcp",), lo=0.95)
    for measures, verdict in (((good,), HOLDS), ((good, bad), DEVIATES)):
        claim = claim_with(*measures)
        assert claims.judge(claim, hand_made(VALUES, claim), "quick").verdict == verdict


def test_what_nothing_computes_is_not_run() -> None:
    claim = claim_with(lo=1.0, check="there_is_no_such_check")
    outcome = claims.judge(claim, hand_made(VALUES, claim), "quick")
    assert outcome.verdict == NOT_RUN
    assert "not built" in outcome.reason


def test_the_worst_reading_is_told() -> None:
    claim = claim_with(Measure("m", ("vcp",), lo=0.7))
    worst = claims.judge(claim, hand_made(VALUES, claim), "quick").worst
    assert worst is not None
    assert worst.label == "40Mbps"
    assert report.reading_text(worst).startswith("0.6 ± 1.3 (40 Mb/s)")


def test_an_infinite_value_is_not_the_worst() -> None:
    """Both are below 0, which -1 is nearer to."""
    found = [
        claims.Reading(label, Interval(mean, mean, mean, 1, "exact"), -math.inf, 0.0)
        for label, mean in (("infinite", -math.inf), ("far", -5.0), ("near", -1.0))
    ]
    judged = claims.Judged(Assertion(check="c"), WITHIN, [claims.Group(found)])
    assert judged.worst is not None
    assert judged.worst.label == "near"


def test_what_holds_as_printed_is_sure_by_the_printed_bound() -> None:
    """40 Mb/s has 0.6 with an interval from -0.67 to 1.87, 20 Mb/s 0.8 without a width."""
    for lo, printed, told in (
        (-1.0, Printed(lo=0.5), "not sure: the interval crosses the printed bound"),
        (0.5, Printed(), "not sure: the interval crosses the bound"),
        (-1.0, Printed(), ""),
        (-1.0, Printed(lo=0.7), ""),
    ):
        claim = claim_with(Measure("m", ("vcp",), x=(40e6, 40e6), lo=lo), printed=printed)
        (one,) = claims.judge(claim, hand_made(VALUES, claim), "full").judged
        assert one.verdict == (WITHIN if printed.lo == 0.7 else HOLDS)
        assert report.unsure_text(one) == told
    # The printed range has a point more, and it is the one that leaves it open.
    measure = Measure("m", ("vcp",), x=(20e6, 20e6), lo=0.5)
    claim = claim_with(measure, printed=Printed(x=(20e6, 40e6)))
    (one,) = claims.judge(claim, hand_made(VALUES, claim), "full").judged
    assert report.unsure_text(one).endswith("crosses the printed bound (1 of 2)")


@pytest.mark.parametrize(
    ("lo", "printed", "verdict", "told"),
    [
        (0.5, None, WITHIN, "in the mean of the runs; 1 of 2 runs at 40 Mb/s is outside, at 0.45"),
        # 0.75 and 0.45: the mean, 0.6, is outside, and one of them is not.
        (0.65, None, DEVIATES, "in the mean of the runs; 1 of 2 runs at 40 Mb/s is within"),
        (
            0.1,
            0.5,
            HOLDS,
            "in the mean of the runs; 1 of 2 runs at 40 Mb/s is outside what is printed, at 0.45",
        ),
        (0.1, None, WITHIN, ""),
        (0.9, None, DEVIATES, ""),
    ],
)
def test_single_runs_on_the_other_side_of_a_bound_are_told(
    lo: float, printed: float | None, verdict: str, told: str
) -> None:
    values = {"vcp": {"10Mbps": [0.9, 0.9], "20Mbps": [0.8, 0.8], "40Mbps": [0.75, 0.45]}}
    own = None if printed is None else Printed(lo=printed)
    claim = claim_with(Measure("m", ("vcp",), x=(20e6, 40e6), lo=lo), printed=own)
    if "printed" in told:
        claim = claim_with(Measure("m", ("vcp",), lo=lo), printed=own)
    (one,) = claims.judge(claim, hand_made(values, claim), "full").judged
    assert one.verdict == verdict
    assert report.runs_text(one) == told


@pytest.mark.parametrize(
    ("lo", "printed", "verdict", "told", "accepted"),
    [
        (0.4, None, WITHIN, "", "≥ 0.4 in each run"),
        (
            0.5,
            None,
            DEVIATES,
            "each run is judged; 1 of 2 runs at 40 Mb/s is outside, at 0.45",
            "≥ 0.5 in each run",
        ),
        # Each of both is, which the value itself says.
        (0.76, None, DEVIATES, "", "≥ 0.76 in each run"),
        (0.4, 0.5, WITHIN, "", "≥ 0.4 in each run"),
        (0.4, 0.45, HOLDS, "", "≥ 0.4 in each run"),
    ],
)
def test_where_no_exception_is_admitted_each_run_is_judged(
    lo: float, printed: float | None, verdict: str, told: str, accepted: str
) -> None:
    """40 Mb/s has 0.75 and 0.45, so that the mean is 0.6; 20 Mb/s is far from all bounds."""
    values = {"vcp": {"10Mbps": [0.9, 0.9], "20Mbps": [0.8, 0.8], "40Mbps": [0.75, 0.45]}}
    own = None if printed is None else Printed(lo=printed)
    claim = claim_with(Measure("m", ("vcp",), lo=lo), printed=own, each_run=True)
    (one,) = claims.judge(claim, hand_made(values, claim), "full").judged
    assert one.verdict == verdict
    assert (report.runs_text(one), report.accepted_text(one)) == (told, accepted)
    (last,) = [reading for reading in one.readings if reading.label == "40Mbps"]
    if told:
        assert report.interval_text(last) == "0.6 ± 1.9, the farthest run 0.45"
        # An interval decides nothing where one run is outside.
        assert last.miss == pytest.approx(0.05)
        assert not last.crosses


def test_a_check_of_several_runs_is_judged_by_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.75 and 0.45 are above 0.5 in the mean alone; 0.6, which is no run's, is judged as it is."""
    found = {"runs": claims.Reading.of("runs", [0.75, 0.45], 0.5, math.inf), "computed": 0.6}
    for each_run, lo, verdict in ((False, 0.5, WITHIN), (True, 0.5, DEVIATES)):
        claim = claim_with(lo=lo, check="f", printed=None, each_run=each_run)
        made = hand_made(VALUES, claim)
        monkeypatch.setattr(type(made.paper), "function", lambda *_: lambda _: found)
        assert claims.judge(claim, made, "full").verdict == verdict


def test_what_is_cut_off_is_undecided_unless_a_run_is_outside() -> None:
    """A time above 3 may be above 5; beside one of 7 that does not matter, if each is judged."""
    for values, each_run, undecided in (
        ([2.0, runs.Censored(3.0)], True, True),
        ([7.0, runs.Censored(3.0)], True, False),
        ([2.0, runs.Censored(6.0)], True, False),
        ([7.0, runs.Censored(2.0)], False, True),
    ):
        one = replace(claims.Reading.of("", values, 0.0, 5.0), each_run=each_run)
        assert (one.inside, one.undecided) == (False, undecided)


def test_a_sentence_says_whether_each_run_is_judged() -> None:
    def read(statement: str, **more: Any) -> bool | None:
        kind = {"kind": "quantitative", "basis": "simulation", "expected": "1", "source": "1"}
        table = {"id": "f-c1", "statement": statement, "lo": 1, "check": "f", **kind, **more}
        return data.Reader("x.toml", {}).claim(table, "f", []).assertions[0].each_run

    assert read("XCP never drops a packet") is True
    assert read("No drops on ANY link") is True
    assert read("the queue is small") is False
    assert read("noise is nonzero, neverending") is False
    assert read("only about 40 %", each_run=False) is False
    assert read("at least half", each_run=True) is True
    assert read("computed for all", computed=True) is None
    with pytest.raises(ConfigError, match=r"f-c1\.each_run: its words say so: true"):
        read("never", each_run=True)
    with pytest.raises(ConfigError, match=r"f-c1\.each_run: of what is judged by runs"):
        read("never", each_run=False, computed=True)


def test_the_rule_is_in_the_digest_of_what_it_judges_alone() -> None:
    one = Assertion(lo=1.0, check="f")
    assert one.digest == replace(one, each_run=False).digest
    assert one.digest != replace(one, each_run=True).digest


@pytest.mark.parametrize(
    ("lo", "hi", "told"),
    [
        (1.0625, 1.0625, "= 1.0625"),
        (12.055, 12.065, "12.055 to 12.065"),
        (9.648, 14.472, "9.648 to 14.47"),
        (0.999999, 1.000001, "0.999999 to 1.000001"),
        (1.087499999, 1.087500001, "= 1.0875"),
        (0.0, 1 - 1e-9, "0 to 1"),
        # Not even seven digits are enough for a hundredth of the width.
        (1.2345678, 1.2345698, "1.234568 to 1.23457"),
        (1 / 3, math.inf, "≥ 0.3333"),
        (-math.inf, 0.00005, "≤ 0.00005"),
    ],
)
def test_a_bound_is_told_as_exactly_as_its_range_needs(lo: float, hi: float, told: str) -> None:
    assert report.range_text(lo, hi) == told


def test_a_value_is_told_as_exactly_as_its_bounds() -> None:
    for value, lo, hi, told in (
        (1.0625, 1.0625, 1.0625, "1.0625"),
        (0.226274, 0.2255, 0.2265, "0.22627"),
        (0.226274, 0.0, 1.0, "0.2263"),
        (2 / 3, 1.0, 1.0, "0.6667"),
        (43286.4, 0.0, math.inf, f"43{units.THIN}286"),
    ):
        reading = claims.Reading("", Interval(value, value, value, 1, "exact"), lo, hi)
        assert report.interval_text(reading) == told


def test_an_interval_is_written_as_elsewhere() -> None:
    """Of 0 and 10000 it is 5000 and 12.7062 times 5000."""
    reading = claims.Reading.of("xcp", [0.0, 10000.0], 0.0, 1.0)
    assert report.interval_text(reading) == f"5000 ± 63{units.THIN}531"


# The command, with a figure of one small run.


def files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}


def test_the_list(tmp_path: Path) -> None:
    rows = json.loads(call("reproduce", "--json", cwd=tmp_path).stdout)
    assert len(rows) == 116 + 5
    states = {row["id"]: row["state"] for row in rows}
    assert states["vcp-fig03"] == "not run"
    assert json.loads(call("list", "figures", "--json", cwd=tmp_path).stdout) == rows
    assert call("reproduce", cwd=tmp_path).stdout.splitlines()[-1].endswith(f"{346 + 8} claims")


def test_one_figure_end_to_end(tmp_path: Path) -> None:
    """Runs, verdicts, drawings and a report; a second time nothing runs and the bytes are equal."""
    arguments = ("reproduce", "vcp:fig01", "--check")
    told: subprocess.CompletedProcess[str] = call(*arguments, cwd=tmp_path)
    assert re.fullmatch(r"2 claims: .*", told.stdout.splitlines()[-1])
    folder = tmp_path / "results/reproduce/quick/vcp-fig01"
    first = files(folder)
    assert set(first) == {
        "figure.png", "figure.svg", "figure.pdf", "report.html", "scenario.toml", "verdicts.json",
    }  # fmt: skip
    verdicts = json.loads(first["verdicts.json"])
    assert verdicts["runs_done"] == 2
    assert verdicts["claims"][0]["verdict"] in claims.GOOD
    again = call(*arguments, "--json", cwd=tmp_path)
    assert "runs in" not in again.stderr
    assert json.loads(again.stdout)["figures"][0] == verdicts
    assert files(folder) == first
    other = call(*arguments, "--out", "other", "--store", "store", cwd=tmp_path)
    assert other.returncode == 0
    assert files(tmp_path / "other/quick/vcp-fig01") == first
    page = first["report.html"].decode()
    assert "clearpipe reproduce vcp:fig01 --scale quick" in page
    assert 'id="vcp-fig01-c1"' in page
    # Its link to the lab holds the run of its first point.
    (link,) = test_lab_links.links(page)
    (linked,) = test_lab_links.unpacked(link.partition("#")[2])
    ran = {cp.run(one["toml"], set=one["sets"]).fingerprint for one in linked["lanes"]}
    metas = (tmp_path / "store").rglob("meta.json")
    assert ran < {json.loads(meta.read_text("utf-8"))["fingerprint"] for meta in metas}
    rows = json.loads(call("reproduce", "--json", cwd=tmp_path).stdout)
    assert next(row["state"] for row in rows if row["id"] == "vcp-fig01").endswith("(quick)")
    # The scenario is one that `run` takes.
    scenario = folder / "scenario.toml"
    assert cp.resolve(scenario).toml


def test_one_point_again(tmp_path: Path) -> None:
    told = call("reproduce", "vcp:fig04", "--only", "rtt=5ms,scheme=vcp", cwd=tmp_path)
    assert "clearpipe run results/reproduce/quick/vcp-fig04/scenario.toml" in told.stdout
    assert "5ms" in told.stdout
    assert not (tmp_path / "results/reproduce/quick/vcp-fig04/report.html").exists()
    wrong = call("reproduce", "vcp:fig04", "--only", "rate=5ms", cwd=tmp_path, expect=3)
    assert "the axes are rtt, scheme" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("vcp:fig99",), 3, "unknown paper or figure"),
        (("vcp:fig04", "--only", "rtt"), 3, "AXIS=VALUE"),
        (("vcp:fig04", "--shard", "2/2"), 2, "I/N"),
        (("vcp:fig04", "--scale", "tiny"), 2, "tiny"),
        (("vcp:fig04", "--linux"), 3, "only dpcp-fig05, dpcp-fig06 have runs on a real kernel"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert message in call("reproduce", *arguments, cwd=tmp_path, expect=code).stderr


def test_a_failing_check_ends_with_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from clearpipe.cli import app

    figure = data.chosen("vcp:thm3")[0]
    (one,) = figure.claims[0].assertions
    never = replace(one, lo=1e9, hi=math.inf, printed=None)
    impossible = replace(figure.claims[0], assertions=(never,))
    changed = replace(figure, claims=(impossible,))
    monkeypatch.setattr(data, "chosen", lambda target: [changed])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["reproduce", "vcp:thm3", "--check"])
    assert done.exit_code == 4
    assert "should hold and does not: vcp-thm3-c1" in done.stderr
    assert CliRunner().invoke(app, ["reproduce", "vcp:thm3"]).exit_code == 0


def test_shards_share_the_runs(tmp_path: Path) -> None:
    told = call("reproduce", "vcp:fig13", "--no-run", cwd=tmp_path)
    assert told.stdout.splitlines()[-1] == "3 claims: 3 not run"
    for shard in ("0/2", "1/2"):
        call("reproduce", "vcp:fig13", "--shard", shard, cwd=tmp_path)
    told = call("reproduce", "vcp:fig13", cwd=tmp_path)
    assert "runs in" not in told.stderr
    assert len(Store(tmp_path / "results/store").present()) == 4


REAL = {"dpcp-fig05-c4", "dpcp-fig05-c5", "dpcp-fig05-c6"}


def test_what_a_real_kernel_is_for_is_not_run_unasked(tmp_path: Path) -> None:
    call("reproduce", "dpcp:fig05", "--no-run", "--check", cwd=tmp_path)
    told = json.loads((tmp_path / "results/reproduce/quick/dpcp-fig05/verdicts.json").read_text())
    assert told["runs_wanted"] == 32
    found = {
        (part["verdict"], part["reason"])
        for one in told["claims"]
        for part in one["parts"]
        if one["id"] in REAL
    }
    assert found == {(NOT_RUN, "real kernel: only with --linux")}


def test_a_system_that_cannot_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "missing", lambda: ["a thing"])
    figure = data.chosen("dpcp:fig05")[0]
    real = [part for part in figure.parts["quick"] if part.real]
    alone = replace(figure, parts={"quick": tuple(real), "full": ()})
    job = work.Job(Store(tmp_path / "store"), "quick", linux=True)
    assert work.run(job, alone).wanted == 0
    done = work.judge(job, alone)
    outcomes = [one for one in done.outcomes if one.claim.id in REAL]
    assert {(one.verdict, one.reason) for one in outcomes} == {
        (NOT_RUN, "this system lacks: a thing")
    }
    assert not any(one.fails for one in outcomes)


@pytest.mark.kernel
def test_a_real_kernel_runs_a_figure(tmp_path: Path) -> None:
    if lacks := [*namespaces.missing(), *filter(None, [hosts.missing()])]:
        pytest.skip("; ".join(lacks))
    figure = data.chosen("dpcp:fig05")[0]
    (part,) = (part for part in figure.parts["quick"] if part.real)
    short = replace(part, duration="3s", schemes=("dpcp",))
    alone = replace(figure, parts={**figure.parts, "quick": (short,)})
    job = work.Job(Store(tmp_path / "store"), "quick", linux=True)
    assert work.run(job, alone).fresh == 1
    done = work.judge(job, alone)
    (cell,) = done.data.of("linux")
    assert cell.result.meta["engine"] == "linux"
    # Without a name the simulated parts are meant.
    assert done.data.of() == []
    # 3 s are too few to fill the link.
    verdicts = {one.claim.id: one for one in done.outcomes}
    assert verdicts["dpcp-fig05-c4"].readings[0].censored
    # It is in the store: nothing is run again, and it is judged without --linux.
    again = work.Job(Store(tmp_path / "store"), "quick", linux=True)
    assert work.run(again, alone).fresh == 0
    unasked = work.judge(work.Job(Store(tmp_path / "store"), "quick"), alone)
    assert len(unasked.data.of("linux")) == 1


def test_publishing(tmp_path: Path) -> None:
    job = work.Job(Store(tmp_path / "store"), "quick")
    done = [work.judge(job, data.chosen(name)[0]) for name in ("vcp:thm3", "vcp:fig01")]
    page = publication.publish(done, tmp_path / "docs")
    text = page.read_text()
    assert "## Statements that could not be confirmed" in text
    assert "## Statements that can be shown to be wrong" in text
    paper = (page.parent / "vcp.md").read_text()
    section = paper.split('## <a id="vcp-thm3"></a>')[1]
    assert f"Scale quick, 0 runs, model {cp.model_version()};" in section
    assert '### <a id="vcp-thm3-c1"></a>vcp-thm3-c1: holds' in section
    assert "All verdicts are of scale quick." in text
    assert f"All verdicts are of model version {cp.model_version()}." in text
    assert "of versions" not in text
    # Every claim is counted, the whole of them first.
    assert text.index("| all claims |") < text.index("| simulation, quantitative |")
    total = next(line for line in text.splitlines() if line.startswith("| all claims |"))
    assert total.endswith("| 346 |")
    unrun = json.loads((tmp_path / "docs/vcp-fig01.json").read_text())
    assert unrun["parts"] == {}, "nothing was run"
    published = json.loads((tmp_path / "docs/vcp-thm3.json").read_text())
    assert published["claims"][0]["verdict"] in claims.GOOD


def publish_by_hand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, dict[str, list[float]]] = VALUES,
    settings: tuple[str, ...] = POINTS,
    /,
    **more: Any,
) -> tuple[str, Any]:
    """What the paper's page and the file say of the claim of a figure made by hand."""
    claim = replace(claim_with(Measure("m", ("vcp",), **more.pop("measure")), **more), note="noted")
    made = hand_made(values, claim, settings)
    outcomes = [claims.judge(claim, made, "full")]
    done = work.Done(made.figure, "full", made, outcomes)
    whole = data.paper
    monkeypatch.setattr(data, "every", lambda: [made.figure])
    monkeypatch.setattr(data, "paper", lambda name: replace(whole(name), figures=(made.figure,)))
    publication.publish([done], tmp_path)
    return (tmp_path / "vcp.md").read_text(), json.loads((tmp_path / "vcp-hand.json").read_text())[
        "claims"
    ][0]


def test_every_reading_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, claim = publish_by_hand(
        tmp_path, monkeypatch, measure={"lo": 0.7}, deviation={"all": "why"}
    )
    assert claim["note"] == "noted"
    (part,) = claim["parts"]
    assert part["points"] == ["main: vcp, 10Mbps", "main: vcp, 20Mbps", "main: vcp, 40Mbps"]
    assert part["points_left_out"] == []
    assert [one["points"] for one in part["readings"]] == [["10Mbps"], ["20Mbps"], ["40Mbps"]]
    last = part["readings"][2]
    # 0.5 and 0.7: a standard error of 0.1, times t of one degree of freedom.
    assert last["values"] == [0.5, 0.7]
    assert last["half"] == pytest.approx(1.2706, rel=1e-4)
    assert (last["n"], last["inside"], last["sure"], last["crosses"]) == (2, False, False, True)
    row = next(line for line in text.splitlines() if line.startswith("- **deviates**: "))
    assert "measured 0.6 ± 1.3 at 40Mbps, not sure: the interval crosses the bound (2 of 3)" in row
    assert "Why." in row
    assert "- Noted." in text.splitlines()
    assert row.endswith(
        "<details><summary>3 values</summary>0.92 ± 0.25 at 10Mbps (not sure); 0.8 ± 0 at 20Mbps; "
        "0.6 ± 1.3 at 40Mbps (outside, not sure). Run at 10, 20, 40 Mb/s.</details>"
    )


def test_the_printed_range_is_published_beyond_what_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"printed": Printed(lo=0.7, x=(10e6, 40e6))}
    text, claim = publish_by_hand(
        tmp_path, monkeypatch, measure={"lo": 0.5, "x": (10e6, 20e6)}, **more
    )
    (beyond,) = claim["parts"][0]["readings_beyond"]
    assert claim["parts"][0]["accepted"] == "≥ 0.5 from 10 Mb/s to 20 Mb/s"
    assert claim["parts"][0]["printed"] == "≥ 0.7 from 10 Mb/s to 40 Mb/s"
    # Outside of what is printed, 0.7, not of what is accepted.
    assert (beyond["mean"], beyond["lo"], beyond["inside"]) == (0.6, 0.7, False)
    assert (
        "In the printed range besides: 0.6 ± 1.3 at 40Mbps (outside, not sure). "
        "Run at 10, 20, 40 Mb/s."
    ) in text


def test_what_was_left_out_stands_beside_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thin = {"vcp": {"10Mbps": [0.9, 0.94]}}
    text, _ = publish_by_hand(tmp_path, monkeypatch, thin, POINTS[:1], measure={"lo": 0.5})
    row = next(line for line in text.splitlines() if line.startswith(f"- **{WITHIN}**: "))
    assert "Run at 10 Mb/s; not run: 20, 40 Mb/s. <details>" in row
    assert row.count("not run") == 1


def test_what_is_computed_asks_for_no_runs() -> None:
    one = Assertion(lo=0.0, check="thm3_c1", printed=Printed())
    made = hand_made({"vcp": {}}, claim_of(one))
    for basis, verdict in (("analytic", HOLDS), ("simulation", WITHIN)):
        claim = replace(claim_of(one), kind="analytic", basis=basis)
        assert claims.judge(claim, made, "quick").verdict == verdict


@pytest.mark.parametrize(("printed", "verdict"), [(Printed(), HOLDS), (None, WITHIN)])
def test_what_holds_is_published_with_scale_and_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Printed | None, verdict: str
) -> None:
    more = {"printed": printed, "tolerance": "read so"}
    text, _ = publish_by_hand(tmp_path, monkeypatch, measure={"lo": 0.5}, **more)
    assert "Scale full, " in text
    row = next(line for line in text.splitlines() if line.startswith(f"- **{verdict}**: "))
    assert "accepted ≥ 0.5, measured 0.6 ± 1.3 at 40Mbps" in row
    assert "; `m of vcp`. " in row
    assert " Read so. <details>" in row
    assert "- Noted." in text.splitlines()


def test_settings_of_all_claims_of_a_figure_stand_once() -> None:
    of_claims = [{"settings": ["a = 1", "b = 2"]}, {"settings": ["b = 2", "c = 3"]}]
    assert publication._shared(of_claims) == ["b = 2"]
    assert publication._shared([]) == []


def test_a_page_says_which_claims_were_judged_by_other_bounds(tmp_path: Path) -> None:
    job = work.Job(Store(tmp_path / "store"), "quick")
    done = [work.judge(job, data.chosen("vcp:thm3")[0])]
    docs = tmp_path / "docs"
    changed = "bounds, range, measure or set-up of"
    assert changed not in publication.publish(done, docs).read_text()
    assert changed not in (docs / "vcp.md").read_text()
    # Published by a bound that is another today; what was judged stands as it was.
    published = json.loads((docs / "vcp-thm3.json").read_text())
    before = published["claims"][0]["parts"][0]
    before["judged_by"] = "0" * 12
    (docs / "vcp-thm3.json").write_text(json.dumps(published))
    text = publication.publish([], docs).read_text()
    assert f"The {changed} some claims have changed since they were judged" in text
    assert "[vcp-thm3-c1](vcp.md#vcp-thm3-c1)" in text
    section = (docs / "vcp.md").read_text().split('## <a id="vcp-thm3"></a>')[1]
    assert f"The {changed} vcp-thm3-c1 have changed since: `clearpipe reproduce vcp:thm3" in section


def test_a_page_says_which_claims_were_measured_or_run_otherwise(tmp_path: Path) -> None:
    job = work.Job(Store(tmp_path / "store"), "quick")
    publication.publish([work.judge(job, data.chosen("vcp:thm3")[0])], tmp_path)
    published = json.loads((tmp_path / "vcp-thm3.json").read_text())
    for key, table in (("code", published["claims"][0]["parts"][0]), ("setup", published)):
        was, table[key] = table[key], "0" * 12
        (tmp_path / "vcp-thm3.json").write_text(json.dumps(published))
        text = publication.publish([], tmp_path).read_text()
        assert "[vcp-thm3-c1](vcp.md#vcp-thm3-c1)" in text
        # Another set-up is of all claims, another function of one.
        assert ("[vcp-thm3-c2]" in text) == (key == "setup")
        table[key] = was


def test_what_decides_a_verdict_has_a_digest_and_words_do_not() -> None:
    part = Assertion(measures=(Measure("utilization_ratio", lo=0.9),), tolerance="why", note="so")
    assert replace(part, tolerance="otherwise", note="", says="it").digest == part.digest
    others = [
        replace(part, measures=(Measure("utilization_ratio", lo=0.8),)),
        replace(part, measures=(Measure("utilization_ratio", lo=0.9, x=(1.0, 2.0)),)),
        replace(part, hi=1.0),
        replace(part, check="of"),
        replace(part, reads=(Reads("main"),)),
    ]
    assert len({one.digest for one in [part, *others]}) == 6


def test_every_published_verdict_names_what_judged_it() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs/evidence/reproduction"
    for path in folder.glob("*.json"):
        for claim in json.loads(path.read_text())["claims"]:
            assert all(part["judged_by"] for part in claim["parts"]), claim["id"]


def test_a_page_leaves_out_verdicts_of_a_former_form(tmp_path: Path) -> None:
    job = work.Job(Store(tmp_path / "store"), "quick")
    former = {"claims": [{"id": "vcp-thm1-c1", "verdict": "holds"}], "scale": "full"}
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/vcp-thm1.json").write_text(json.dumps(former))
    done = [work.judge(job, data.chosen("vcp:thm3")[0])]
    text = publication.publish(done, tmp_path / "docs").read_text()
    missing = next(line for line in text.splitlines() if line.startswith("Figures without"))
    assert "vcp-thm1," in missing
    assert "vcp-thm3" not in missing


def test_a_page_over_two_models_and_scales_says_so(tmp_path: Path) -> None:
    job = work.Job(Store(tmp_path / "store"), "quick")
    done = [work.judge(job, data.chosen(name)[0]) for name in ("vcp:thm3", "vcp:thm1")]
    publication.publish(done, tmp_path / "docs")
    path = tmp_path / "docs/vcp-thm1.json"
    older = json.loads(path.read_text()) | {"model_version": "1", "scale": "full"}
    older["parts"] = {"packet engine": "1", "xcp": cp.versions()["xcp"]}
    path.write_text(json.dumps(older))
    text = publication.publish(done[:1], tmp_path / "docs").read_text()
    assert "Scale full, 0 runs, model 1;" in (tmp_path / "docs/vcp.md").read_text()
    assert "Runs of 1 figures were made by versions of the engine" in text
    assert "They are vcp-thm1." in text
    # Another version of what a figure does not use is nothing to it.
    older["parts"] = {"xcp": cp.versions()["xcp"]}
    path.write_text(json.dumps(older))
    assert "were made by versions" not in publication.publish(done[:1], path.parent).read_text()
    assert "Verdicts are of scale full (1 figures) and scale quick (1 figures)" in text
    assert "Verdicts are of model version 1 (1 figures) and model version" in text


def test_windows_are_means_at_their_ends() -> None:
    import numpy as np

    t = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    at, values = tools.windowed(t, np.array([1.0, 3.0, 5.0, 7.0, 9.0, 11.0]), "200ms")
    assert at == pytest.approx([0.2, 0.4, 0.6])
    assert values == pytest.approx([2.0, 6.0, 10.0])


LOOK = """<pre id="seen"></pre><script>addEventListener("load", () => {
  const svg = document.querySelector(".panel svg");
  document.getElementById("seen").textContent = JSON.stringify([
    document.documentElement.scrollWidth, innerWidth, svg.clientWidth, svg.viewBox.baseVal.width,
    document.querySelectorAll("td .badge").length]);
});</script>"""


@pytest.mark.skipif(browser.BROWSER is None, reason="no browser is installed")
def test_the_report_in_a_browser_of_half_a_page(tmp_path: Path) -> None:
    call("reproduce", "vcp:fig01", "-q", cwd=tmp_path)
    page = tmp_path / "results/reproduce/quick/vcp-fig01/report.html"
    looked = page.with_name("looked.html")
    looked.write_text(page.read_text().replace("</body>", LOOK + "</body>"))
    dom = browser.browse("--window-size=600,900", "--dump-dom", f"file://{looked}").stdout
    seen = re.search(r'<pre id="seen">(.*?)</pre>', dom)
    assert seen is not None
    scroll, inner, shown, natural, badges = json.loads(seen[1])
    assert scroll <= inner, "wider than the page"
    # Drawn for this width, and not shrunk.
    assert shown >= 0.99 * natural
    assert badges == 4  # of two claims, and of two parts
