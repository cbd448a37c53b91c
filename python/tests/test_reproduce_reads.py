"""What a check reads is noted, and it is given no other runs than it says it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from test_reproduce import VALUES, claim_of, hand_made

import clearpipe as cp
from clearpipe.reproduce import again, claims, code, report, runs, work
from clearpipe.reproduce.data import Assertion, Paper, Reads


def judged(monkeypatch: pytest.MonkeyPatch, check: Any, **more: Any) -> claims.Judged:
    """By a check that is made by hand, over three rates of two schemes, two runs each."""
    monkeypatch.setattr(Paper, "function", lambda *_: check)
    claim = claim_of(Assertion(**{"check": "check", "lo": 0.1, **more}))
    return claims.judge(claim, hand_made(VALUES, claim), "full").judged[0]


def slow_vcp(data: runs.Data) -> float:
    return min(c.metrics["m"] for c in data.of("", "vcp") if c.x <= 2e7)


def first_run(data: runs.Data) -> float | None:
    return data.number(data.cells[0], "m")


def test_what_a_check_reads_is_told_beside_what_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    one = judged(monkeypatch, slow_vcp)
    assert work.read_json(one.read) == {
        "points": {"main: vcp, 10Mbps": [2, 2], "main: vcp, 20Mbps": [2, 2]},
        "names": ["m"],
    }
    assert report.points_text(one) == "read at 10, 20 Mb/s; run besides at 40 Mb/s"
    whole = judged(monkeypatch, lambda data: max(data.number(c, "m") for c in data.cells))
    assert report.points_text(whole) == "run at 10, 20, 40 Mb/s"


def test_one_run_of_several_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = judged(monkeypatch, first_run)
    told = "read at 10 Mb/s (1 of 2 runs); run besides at 20, 40 Mb/s"
    assert report.points_text(one) == told
    # A number that is known has been read, too.
    claim = claim_of(Assertion(check="check", lo=0.1))
    data = hand_made(VALUES, claim)
    for _ in range(2):
        (again_,) = claims.judge(claim, data, "full").judged
        assert report.points_text(again_) == told


def test_a_check_that_reads_no_run_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    one = judged(monkeypatch, lambda _: 1.0)
    assert report.points_text(one) == "computed: no run is read"


def test_a_check_gets_the_runs_that_it_says_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """VCP has 0.92, 0.8 and 0.6; XCP has more at each."""
    reads = (Reads(scheme=("xcp",), x=(2e7, 4e7)),)

    def least(data: runs.Data) -> float:
        return min(cell.metrics["m"] for cell in data.cells)

    one = judged(monkeypatch, least, reads=reads)
    assert [reading.interval.mean for reading in one.readings] == [0.9]
    assert report.points_text(one) == "run at 20, 40 Mb/s"
    assert judged(monkeypatch, least).readings[0].interval.mean == 0.5


def test_a_result_that_is_not_kept_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claim_of(Assertion(check="check", lo=0.1))
    data = hand_made(VALUES, claim)
    data.cells = [replace(one, opened=lambda: cast("cp.Result", None)) for one in data.cells[:3]]

    def opens(data: runs.Data) -> float:
        data.cells[0].load()
        return float(data.cells[1].result is None)

    monkeypatch.setattr(Paper, "function", lambda *_: opens)
    (one,) = claims.judge(claim, data, "full").judged
    told = work.read_json(one.read)
    assert told is not None
    assert told["points"] == {"main: vcp, 10Mbps": [2, 2]}


def test_links_are_told_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claim_of(Assertion(check="check", lo=0.1))
    data = hand_made(VALUES, claim)
    numbers = {"utilization_ratio": 0.9}
    data.cells = [replace(one, numbers=numbers, bottleneck="l2") for one in data.cells[:1]]

    def used(data: runs.Data) -> float:
        return data.cells[0].metrics["utilization_ratio"]

    monkeypatch.setattr(Paper, "function", lambda *_: used)
    (one,) = claims.judge(claim, data, "full").judged
    assert one.read is not None
    assert one.read.names == ["utilization_ratio of link l2"]


def test_what_was_read_is_kept_where_it_is_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paper, "function", lambda *_: slow_vcp)
    monkeypatch.setattr(code, "of", lambda *_: "")
    claim = claim_of(Assertion(check="check", lo=0.1))
    data = hand_made(VALUES, claim)
    data.wanted = len(data.cells)
    done = work.Done(data.figure, "full", data, [claims.judge(claim, data, "full")])
    before = done.as_json()
    for part, one in zip(before["claims"][0]["parts"], done.outcomes[0].judged, strict=True):
        part.update(report.published(one, part))
    reads = (Reads("main"),)
    figure = replace(data.figure, claims=(claim_of(Assertion(check="check", lo=0.1, reads=reads)),))
    after, left = again.judge(figure, before, "2026-11-23")
    assert not left
    (part,) = after["claims"][0]["parts"]
    assert part["judged_again"] == "2026-11-23"
    assert part["range_run"] == "read at 10, 20 Mb/s; run besides at 40 Mb/s"
