"""The report: whole, by itself, and drawn from what was recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

import clearpipe as cp
from clearpipe import examples, report
from clearpipe.report import charts

SMALL = [
    "duration=4s",
    "warmup=1s",
    "topology.rate=5Mbps",
    "flows.fwd.count=8",
    "flows.rev.count=2",
    "flows.fwd.start=0s",
    "flows.rev.start=0s",
]


def run(name: str, *sets: str) -> cp.Result:
    return cp.run(examples.path(name), set=[*SMALL, *sets])


@pytest.fixture(scope="module")
def results() -> list[cp.Result]:
    return [run("base-case-xcp"), run("base-case-sack-red")]


@pytest.fixture(scope="module")
def text(results: list[cp.Result]) -> str:
    return report.html(results, "Two <schemes>")


def test_fetches_nothing(text: str) -> None:
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|#)""", text)
    assert not re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|<link|<iframe", text)


def test_holds_every_run(text: str, results: list[cp.Result]) -> None:
    for result in results:
        assert result.fingerprint in text
        assert str(escape(result.scenario_toml)) in text
        assert f"clearpipe run {result.meta['name']}.toml --seed 1 --rep 0" in text
    assert "Two &lt;schemes&gt;" in text


def data(text: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_charts_are_thinned_out_and_share_axes(text: str) -> None:
    sections = data(text)
    assert {"goodput", "queue", "utilization", "cwnd"} >= {section["id"] for section in sections}
    for section in sections:
        panels = section["panels"]
        assert isinstance(panels, list)
        assert len(panels) == 2
        for panel in panels:
            assert len(panel["x"]) <= charts.POINTS + 1
            assert all(len(curve["y"]) == len(panel["x"]) for curve in panel["curves"])
            assert panel["top"] <= section["top"]


def test_what_is_not_recorded_is_said() -> None:
    bare = run("base-case-xcp", 'probe.series=["queue"]')
    full = run("base-case-xcp")
    text = report.html([bare, full])
    assert "Not recorded" in text
    assert len(data(report.html([bare]))) == 1
    assert "No series were recorded" in report.html([run("base-case-xcp", "probe.series=[]")])


def test_writes_the_file_whole(results: list[cp.Result], tmp_path: Path) -> None:
    path = report.render(results, tmp_path / "new" / "report.html")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    assert path.stat().st_size < 5_000_000


def test_rates_are_means_of_half_a_second_and_states_keep_their_extremes() -> None:
    times = np.linspace(0.01, 100.0, 10_000)
    values: charts.Array = np.zeros((10_000, 1))
    values[25] = 50.0
    rate = charts.fold(times, values, "rate", 800)
    assert rate.x.size == 200
    assert rate.values[0, 0] == pytest.approx(1.0)
    assert charts.fold(times[:1000], values[:1000], "rate", 800).x.size == 50  # a run of 10 s
    state = charts.fold(times, values, "state", 100)
    assert state.x.size == 100
    assert state.high is not None
    assert state.high.max() == 50.0
    assert np.nanmax(state.values) == pytest.approx(0.5)


def test_flows_that_have_not_started_leave_gaps() -> None:
    values = np.array([[1.0, np.nan], [3.0, 5.0]])
    folded = charts.Folded(np.array([0.1, 0.2]), values, None, None)
    curve = charts._group_curve("g", 0, folded, [0, 1])
    assert curve.values.tolist() == [1.0, 4.0]
    assert curve.low is not None
    assert curve.low.tolist() == [1.0, 3.0]
