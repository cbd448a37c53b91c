"""Judging again what was published, without a run."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sweeping import call
from test_reproduce import CLAIM, FILE, POINTS, VALUES, claim_with, hand_made

from clearpipe.errors import ConfigError
from clearpipe.reproduce import again, claims, code, data, publication, report, verdicts, work
from clearpipe.reproduce.claims import DEVIATES, HOLDS, WITHIN
from clearpipe.reproduce.data import Assertion, Departure, Figure, Measure, Printed, Reads
from clearpipe.sweep.store import Store

DAY = "2026-01-02"
NARROW = (10e6, 20e6)


def published(measures: dict[str, Any] | list[dict[str, Any]], **more: Any) -> tuple[Figure, Any]:
    """A figure by hand and its file."""
    listed = measures if isinstance(measures, list) else [measures]
    claim = claim_with(
        *(Measure(**{"metric": "m", "scheme": ("vcp",)} | one) for one in listed), **more
    )
    made = hand_made(VALUES, claim)
    made.wanted = len(made.cells)
    done = work.Done(made.figure, "full", made, [claims.judge(claim, made, "full")])
    value = done.as_json()
    for outcome, table in zip(done.outcomes, value["claims"], strict=True):
        for judged, part in zip(outcome.judged, table["parts"], strict=True):
            part.update(report.published(judged, part))
    return made.figure, json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("former", "today"),
    [
        (({"lo": 0.7}, {}), ({"lo": 0.5}, {})),
        (({"lo": 0.5}, {}), ({"lo": 0.5}, {"printed": None})),
        (({"lo": 0.5}, {"printed": None}), ({"lo": 0.5}, {"printed": Printed(lo=0.7)})),
        (({"lo": 0.5}, {}), ({"lo": 0.5}, {"printed": Printed(lo=0.59)})),
        (({"lo": 0.7}, {}), ({"lo": 0.7, "x": NARROW}, {})),
        (({"lo": 0.7}, {}), ({"lo": 0.7, "need": 0.66}, {})),
        # What was beyond the range that was accepted is in the file, too.
        (
            ({"lo": 0.7, "x": NARROW}, {"printed": Printed(x=(10e6, 40e6))}),
            ({"lo": 0.55}, {"printed": Printed(lo=0.58)}),
        ),
        (({"lo": 0.55}, {}), ({"lo": 0.55}, {"each_run": True})),
        (({"lo": 0.55}, {"each_run": True}), ({"lo": 0.55}, {})),
        # 0.5 and 0.7 at 40 Mb/s are both above 0.45, and not above 0.59, as their mean is.
        (
            ({"lo": 0.45}, {"printed": Printed(lo=0.59)}),
            ({"lo": 0.45}, {"printed": Printed(lo=0.59), "each_run": True}),
        ),
        (({"lo": 0.5, "reduce": "growth", "hi": 0}, {}), ({"lo": -0.4, "reduce": "growth"}, {})),
        (
            ([{"lo": 0.5}, {"scheme": ("xcp",), "lo": 0.95}], {"tolerance": "wide"}),
            ([{"lo": 0.5}, {"scheme": ("xcp",), "lo": 0.85}], {"tolerance": "narrow", "note": "n"}),
        ),
    ],
)
def test_a_verdict_judged_again_is_that_of_the_runs(former: Any, today: Any) -> None:
    _, before = published(former[0], **former[1])
    figure, wanted = published(today[0], **today[1])
    found, left = again.judge(figure, before, DAY)
    assert not left
    (claim,) = found["claims"]
    assert claim["parts"][0].pop("judged_again") == DAY
    assert found == wanted


def test_words_alone_are_told_anew_without_a_day() -> None:
    _, before = published({"lo": 0.7}, deviation={"all": "why"}, tolerance="read so")
    figure, wanted = published({"lo": 0.7}, deviation={"all": "because"}, tolerance="otherwise")
    found, _ = again.judge(figure, before, DAY)
    assert found == wanted
    assert "judged_again" not in found["claims"][0]["parts"][0]


@pytest.mark.parametrize(
    ("today", "why"),
    [
        ({"metric": "n", "lo": 0.7}, "no values of it at 10Mbps"),
        ({"lo": 0.7, "reduce": "min"}, "no values of it at min"),
        ({"lo": 0.7, "minus": ("xcp",)}, "no values of it"),
        ({"lo": 0.7, "x": (10e6, 40e6)}, "no values of it at 40Mbps"),
    ],
)
def test_what_was_not_measured_has_to_be_run(today: Any, why: str) -> None:
    _, before = published({"lo": 0.75, "x": NARROW})
    figure, _ = published(today)
    found, left = again.judge(figure, before, DAY)
    assert list(left) == ["vcp-hand-c1"]
    assert why in left["vcp-hand-c1"]
    assert found == before | {"title": figure.title}


def test_what_is_run_or_computed_otherwise_has_to_be_run() -> None:
    figure, before = published({"lo": 0.7})
    other = {
        "setup": before | {"setup": "0" * 12},
        "code": json.loads(json.dumps(before).replace('"code": ""', '"code": "another"')),
        "done": before | {"runs_done": 1},
        "censored": json.loads(json.dumps(before).replace('"censored": 0', '"censored": 1')),
    }
    today, _ = published({"lo": 0.5})
    why = {name: again.judge(today, one, DAY)[1]["vcp-hand-c1"] for name, one in other.items()}
    assert why == {
        "setup": "what is run is another",
        "code": "the functions that measure it are others",
        "done": "not all runs had been done",
        "censored": "the run's end has cut off some of its values",
    }
    longer = replace(figure.parts["full"][0], duration="999s")
    assert code.setup(replace(figure, parts={"full": (longer,)}), "full") != before["setup"]
    with pytest.raises(ConfigError, match="its claims are others"):
        again.judge(replace(figure, claims=()), before, DAY)


def checked(tmp_path: Path, **more: Any) -> tuple[Figure, Any]:
    """A figure that is computed, as published, with its first check's definition changed."""
    figure = data.chosen("vcp:thm3")[0]
    publication.publish([work.judge(work.Job(Store(tmp_path / "store"), "full"), figure)], tmp_path)
    before = json.loads((tmp_path / "vcp-thm3.json").read_text())
    first, *rest = figure.claims
    former = replace(first.assertions[0], **more)
    before["claims"][0]["parts"][0]["judged_by"] = former.digest
    return replace(figure, claims=(first, *rest)), before


def test_a_check_is_judged_again_where_only_what_is_printed_has_changed(tmp_path: Path) -> None:
    figure, before = checked(tmp_path, printed=Printed())
    before["claims"][0]["parts"][0]["verdict"] = HOLDS
    found, left = again.judge(figure, before, DAY)
    part = found["claims"][0]["parts"][0]
    assert (left, part["verdict"], part["printed"]) == ({}, WITHIN, "")
    assert part["judged_by"] == figure.claims[0].assertions[0].digest
    # It was told of one part and is told of others now, with the same values.
    figure, before = checked(tmp_path, printed=Printed())
    figure = replace(figure, parts=data.chosen("vcp:fig08")[0].parts)
    former = replace(figure.claims[0].assertions[0], reads=(Reads("one"),))
    before["claims"][0]["parts"][0]["judged_by"] = former.digest
    before["setup"] = code.setup(figure, "full")
    _, left = again.judge(figure, before, DAY)
    assert not left
    # Which of its values had the claim's bounds, and which had their own, is not told.
    figure, before = checked(tmp_path, lo=1.0)
    _, left = again.judge(figure, before, DAY)
    assert list(left) == ["vcp-thm3-c1"]


@pytest.mark.parametrize(
    ("lo", "printed", "verdicts"),
    [
        (0.5, None, (WITHIN, DEVIATES)),
        (0.3, None, (WITHIN, WITHIN)),
        (0.3, Printed(lo=0.5), (HOLDS, WITHIN)),
        (0.3, Printed(lo=0.4), (HOLDS, HOLDS)),
        (0.7, Printed(), (DEVIATES, DEVIATES)),
    ],
)
def test_a_check_of_runs_is_judged_by_each_or_by_their_mean(
    lo: float, printed: Printed | None, verdicts: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.75 and 0.45: the mean is 0.6."""
    found = {"": claims.Reading.of("", [0.75, 0.45], lo, math.inf)}
    monkeypatch.setattr(data.Paper, "function", lambda *_: lambda _: found)
    monkeypatch.setattr(code, "of", lambda *_: "")

    def told(each_run: bool) -> tuple[Figure, Any]:
        claim = claim_with(check="f", lo=lo, printed=printed, each_run=each_run)
        made = hand_made(VALUES, claim)
        made.wanted = len(made.cells)
        done = work.Done(made.figure, "full", made, [claims.judge(claim, made, "full")])
        value = done.as_json()
        (part,) = value["claims"][0]["parts"]
        part.update(report.published(done.outcomes[0].judged[0], part))
        return made.figure, json.loads(json.dumps(value))

    files = [told(each_run) for each_run in (False, True)]
    assert tuple(value["claims"][0]["verdict"] for _, value in files) == verdicts
    for (_, before), (figure, wanted) in (files, files[::-1]):
        after, left = again.judge(figure, before, DAY)
        assert not left
        assert after["claims"][0]["parts"][0].pop("judged_again") == DAY
        assert after == wanted


def test_what_is_computed_otherwise_is_computed_anew(tmp_path: Path) -> None:
    figure, before = checked(tmp_path)
    wanted = json.loads((tmp_path / "vcp-thm3.json").read_text())
    (reading, *_) = before["claims"][0]["parts"][0]["readings"]
    before["claims"][0]["parts"][0]["code"] = "another"
    reading |= {"mean": 7.0, "inside": False}
    found, left = again.judge(figure, before, DAY)
    assert not left
    assert found == wanted


def test_the_command_judges_what_is_published(tmp_path: Path) -> None:
    _, before = checked(tmp_path, printed=Printed())
    (tmp_path / "vcp-thm3.json").write_text(json.dumps(before))
    options = ["reproduce", "vcp:thm3", "--judge-again", "--publish", str(tmp_path)]
    done = call(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"vcp-thm3-c1: {WITHIN}\n1 verdict judged again; 0 need runs" in done.stdout
    assert "Judged again on 20" in (tmp_path / "vcp.md").read_text()
    assert "0 verdicts judged again" in call(*options, cwd=tmp_path).stdout
    assert (
        "needs --publish"
        in call("reproduce", "vcp:thm3", "--judge-again", cwd=tmp_path, expect=2).stderr
    )


def edited(value: Any, where: str, to: object) -> str:
    """The file with one entry replaced, or taken out if `to` is `...`."""
    found = json.loads(json.dumps(value))
    *path, last = (int(word) if word.isdigit() else word for word in where.split("."))
    table = found
    for word in path:
        table = table[word]
    if to is ...:
        del table[last]
    else:
        table[last] = to
    return json.dumps(found)


PART = "claims.0.parts.0"


@pytest.mark.parametrize(
    ("where", "to", "told"),
    [
        ("claims", ..., "claims: missing"),
        ("scale", "medium", "scale: medium: unknown (allowed: quick, full)"),
        ("figure", "vcp-fig04", "figure: vcp-fig04: unknown (allowed: vcp-thm3)"),
        (f"{PART}.readings", ..., "claims[0].parts[0].readings: missing"),
        (f"{PART}.judged_by", 3, "claims[0].parts[0].judged_by: expected a text"),
        (f"{PART}.verdict", "fine", "claims[0].parts[0].verdict: fine: unknown"),
        (f"{PART}.readings.0.group", 7, "readings[0].group: 7: unknown"),
        (f"{PART}.readings.0.values", ["a"], "values[0]: expected a number or null"),
        (f"{PART}.readings.0.mean", None, "readings[0].mean: null, but the mean of its values is"),
        (f"{PART}.readings.0.values", [0.5], "but the mean of its values is 0.5"),
    ],
)
def test_what_was_edited_is_refused_and_stays(
    tmp_path: Path, where: str, to: object, told: str
) -> None:
    figure, value = published({"lo": 0.7})
    value = json.loads(json.dumps(value).replace(figure.id, "vcp-thm3"))
    file = tmp_path / "vcp-thm3.json"
    file.write_text(json.dumps(value))
    assert verdicts.read(file) == value
    text = edited(value, where, to)
    file.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(told)):
        verdicts.read(file)
    options = ["--judge-again", "--publish", str(tmp_path)]
    done = call("reproduce", "vcp:thm3", *options, cwd=tmp_path, expect=3)
    assert told in done.stderr
    assert str(file) in done.stderr
    assert file.read_text() == text


def test_a_folder_without_the_verdicts_is_refused(tmp_path: Path) -> None:
    options = ["reproduce", "vcp:thm3", "--judge-again", "--publish", str(tmp_path)]
    assert "has no verdicts of vcp-thm3" in call(*options, cwd=tmp_path, expect=3).stderr
    assert "with --check" in call(*options, "--check", cwd=tmp_path, expect=2).stderr
    assert not list(tmp_path.iterdir())


def test_a_digest_of_code_is_of_what_is_used_and_of_no_words() -> None:
    source = 'EDGE = 3\n\ndef helper(x):\n    """Words."""\n    return x + EDGE\n'
    source += "\n\ndef other():\n    pass\n"
    text = f"{source}\n\ndef check(data):\n    # Says nothing.\n    return helper( data )\n"
    first = code.digest(text, ("check",))
    same = text.replace("Words", "Other words").replace("    # Says nothing.\n", "")
    same = same.replace("helper( data )", "helper(data)").replace("pass", "return 1")
    assert code.digest(same, ("check",)) == first
    for old, new in (("x + EDGE", "x - EDGE"), ("EDGE = 3", "EDGE = 4"), ("helper( d", "str(d")):
        assert code.digest(text.replace(old, new), ("check",)) != first
    metric = (
        'def check(data):\n    return data.number("@rate")\n\n\ndef rate(result):\n    return 1\n'
    )
    assert code.digest(metric, ("check",)) != code.digest(metric.replace("1", "2"), ("check",))


def points_of(one: Assertion) -> tuple[list[str], list[str]]:
    thin = {name: {at: values[at] for at in POINTS[:2]} for name, values in VALUES.items()}
    made = hand_made(thin, claim_with(Measure("m", lo=0)), POINTS[:2])
    ran, left_out = claims.points(one, made)
    return [work.point_text(point) for point in ran], [work.point_text(point) for point in left_out]


def test_a_check_is_told_of_the_runs_that_it_reads() -> None:
    ran, left_out = points_of(Assertion(check="f"))
    assert len(ran) == 4
    assert left_out == ["main: vcp, 40Mbps", "main: xcp, 40Mbps"]
    two = (Reads("main", ("vcp",), (10e6, 10e6)), Reads(scheme=("xcp",), x=(20e6, 20e6)))
    assert points_of(Assertion(check="f", reads=two)) == (
        ["main: vcp, 10Mbps", "main: xcp, 20Mbps"],
        [],
    )
    assert points_of(Assertion(check="f", reads=(Reads("another"),))) == ([], [])
    assert points_of(Assertion(check="f", computed=True)) == ([], [])
    whole = Assertion(check="f", reads=(Reads("a"), Reads("b")))
    assert (
        len({one.digest for one in (whole, replace(whole, reads=()), Assertion(computed=True))})
        == 3
    )


@pytest.mark.parametrize(
    ("part", "claim", "message"),
    [
        ("", 'reads = "two"', "x-fig01-c1.reads: no part 'two'; there are main"),
        ("", 'reads = { part = "main", schemes = "a" }', "reads.schemes: unknown key"),
        ("", 'reads = [{ scheme = "b" }]', "'b' is no scheme or @group"),
        ("", "reads = { x = [1] }", "x-fig01-c1.reads.x: expected a list of 2 or null"),
        ("", "reads = { x = [2, 1] }", "x-fig01-c1.reads.x: expected from, to"),
        ("", "reads = { scheme = 3 }", "x-fig01-c1.reads.scheme: expected a list"),
        ("", 'computed = "yes"', "x-fig01-c1.computed: expected true or false"),
        ('departs = "x"', "", "x-fig01.part.main.departs: expected a table"),
        ('departs = { at = "1", why = "w" }', "", "main.departs.at: expected a list"),
        ("", "reads = 5", "reads: expected the name of a part, a table, or a list"),
        ("", 'reads = "main"\ncomputed = true', "x-fig01-c1.computed: of a check without reads"),
        (
            'departs = { at = ["3"], why = "w" }',
            "",
            "part.main.departs.at: '3' is none of the axis",
        ),
        ('departs = { on = ["1"], why = "w" }', "", "part.main.departs.on: unknown key"),
    ],
)
def test_wrong_reads_and_departures_are_refused(part: str, claim: str, message: str) -> None:
    text = f"""{FILE}
[[figure.part]]
base = "b"
schemes = ["a"]
{part}
axis = {{ name = "n", key = "k", values = [1, 2] }}

[[figure.claim]]
{CLAIM}
lo = 1
check = "f"
{claim}
"""
    with pytest.raises(ConfigError, match=re.escape(message)):
        data.Reader("x.toml", tomllib.loads(text)).paper("x")


def test_what_is_not_run_as_printed_does_not_hold_as_printed() -> None:
    def judged(measure: Measure, **more: Any) -> Any:
        claim = claim_with(measure, **more)
        made = hand_made(VALUES, claim)
        departs = Departure(("40Mbps",), "the buffer is another")
        part = replace(made.parts[0], departs=departs)
        made.parts = (part,)
        made.figure = replace(made.figure, parts={"quick": (part,), "full": (part,)})
        (one,) = claims.judge(claim, made, "full").judged
        return one, made.figure

    one, figure = judged(Measure("m", ("vcp",), lo=0.5))
    assert one.verdict == WITHIN
    assert report.departs_text(one) == "not as printed at 40 Mb/s: the buffer is another"
    # That is part of what decides a verdict, where a number is printed.
    assert figure.judged_by(one.assertion) != one.assertion.digest
    assert judged(Measure("m", ("vcp",), lo=0.5, x=NARROW))[0].verdict == HOLDS
    assert judged(Measure("m", ("vcp",), lo=0.9))[0].verdict == DEVIATES
    unprinted, figure = judged(Measure("m", ("vcp",), lo=0.5), printed=None)
    assert (unprinted.departs, figure.judged_by(unprinted.assertion)) == (
        {},
        unprinted.assertion.digest,
    )


def test_every_published_verdict_has_its_code_and_set_up() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs/evidence/reproduction"
    for path in folder.glob("*.json"):
        one = json.loads(path.read_text())
        assert one["setup"], path.name
        assert all("code" in part for claim in one["claims"] for part in claim["parts"]), path.name
