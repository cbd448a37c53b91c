"""Every analytic claim of the papers is computed: it holds, or the paper is wrong."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import pytest

import clearpipe as cp
from clearpipe.reproduce import claims, data, runs
from clearpipe.reproduce.runs import Data

ANALYTIC = [
    (figure, claim)
    for name in data.PAPERS
    for figure in data.paper(name).figures
    for claim in figure.claims
    if claim.kind == "analytic"
]
NEED_DELAYS = ["ixcp-fig16-c3", "vcp-fig07-c9"]
"""What they say of RTTs is read from the figures' own scenarios."""
SECONDS = ["xcp-thm1-c3"]
"""What takes more than a few seconds."""
WRONG = {
    "mlcp-sec3.1.2-scaling-c1": "I3",
    "mlcp-sec3.1.2-scaling-c2": "I3",
    "ixcp-fig16-c3": "I16",
}
"""The claims that the papers' own text or arithmetic contradicts, and the inconsistency."""


def scenarios(figure: data.Figure) -> Data:
    """The figure's first part as scenarios that were not run."""
    part = figure.parts["full"][0]
    spec = runs.sweep(figure, part)
    assert spec is not None
    found = Data(data.paper(figure.paper), figure, (part,))
    for point in spec.points:
        resolved = cp.resolve(spec.source, set=[*spec.sets, *point.sets])
        x, label = runs.place(part, point)
        result: Any = SimpleNamespace(scenario_toml=resolved.toml)
        opened = functools.partial(lambda told: told, result)
        cell = runs.Cell(part.name, point.coordinates["scheme"], label, x, 0, {}, opened, ())
        found.cells.append(cell)
    return found


@pytest.mark.parametrize(
    ("figure", "claim"),
    [
        pytest.param(*one, marks=[pytest.mark.long] if one[1].id in SECONDS else [], id=one[1].id)
        for one in ANALYTIC
    ],
)
def test_it_holds_or_the_paper_is_wrong(figure: data.Figure, claim: data.Claim) -> None:
    ready = Data(data.paper(figure.paper), figure, ())
    if claim.id in NEED_DELAYS:
        ready = scenarios(figure)
    told = claims.judge(claim, ready, "full")
    wrong = WRONG.get(claim.id)
    if wrong is None:
        computed = [one for one in told.judged if one.readings]
        assert computed
        left = [one for one in told.judged if not one.readings and not one.assertion.not_run]
        assert not left or claim.basis == "analytic+simulation"
        assert all(one.verdict in claims.GOOD for one in computed), told.readings
    else:
        why = told.worst_judged.assertion.contradiction
        assert told.verdict == claims.CONTRADICTED
        assert why is not None
        assert why.by == wrong


def test_there_are_sixty_one() -> None:
    assert len(ANALYTIC) == 60 + 1  # the five papers', and ABC's
    assert {claim.id for _, claim in ANALYTIC} >= set(WRONG) | set(NEED_DELAYS) | set(SECONDS)
