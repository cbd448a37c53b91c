"""What the pages wide-area.md and csig.md measure, on numbers worked by hand."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clearpipe.reproduce.runs import Censored

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("wide_area", ROOT / "python/tools/wide_area.py")
assert SPEC is not None
assert SPEC.loader is not None
tool = importlib.util.module_from_spec(SPEC)
sys.modules["wide_area"] = tool
SPEC.loader.exec_module(tool)

LINK = {"name": "bottleneck", "rate_bps": 100e6, "queue_max_bytes": 625_000}


def result(series: dict[str, Any], **more: Any) -> Any:
    def of(name: str) -> Any:
        t, values = series[name]
        names = np.array(["bottleneck"] * len(t))
        return {"t_s": t, "time_s": t, "link": names, "name": names, name: values}

    found = SimpleNamespace(
        series=of, summary={"links": [LINK], "groups": []}, scenario_toml='warmup = "1s"'
    )
    return SimpleNamespace(**vars(found), **more)


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Series that a result has, whatever its tables are like."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(tool, "flow_series", lambda _, name: {"bottleneck": found[name]})
    return found


def test_the_delay_is_the_queue_over_the_rate(samples: dict[str, Any]) -> None:
    """Of 201 samples after the warm-up 198 are empty and three are 25 packets: the 99th percentile,
    the 198th of 200 steps, is the last but two: 25 * 1500 * 8 / 10^8 = 3 ms."""
    t = np.concatenate([[0.5], 1.0 + 0.01 * np.arange(1, 202)])
    queue = np.concatenate([[900.0], np.zeros(198), np.full(3, 25.0)])
    samples["queue_pkts"] = (t, queue)
    assert tool.late(result({})) == pytest.approx(3e-3)


def test_filling_is_a_mean_over_a_second(samples: dict[str, Any]) -> None:
    t = 0.5 * np.arange(1, 9)
    samples["utilization_ratio"] = (t, np.array([0.1, 0.9, 0.5, 0.8, 0.7, 0.7, 1.0, 1.0]))
    assert tool.fills(result({})) == 3.0  # 0.5, 0.65, 0.7
    samples["utilization_ratio"] = (t, np.full(8, 0.69))
    assert isinstance(tool.fills(result({})), Censored)


def test_draining_is_below_5_ms_at_the_lower_rate(samples: dict[str, Any]) -> None:
    """5 ms at 25 Mb/s are 10.4 packets."""
    t = 40.0 + 0.1 * np.arange(1, 9)
    samples["queue_pkts"] = (t, np.array([0.0, 0.0, 90.0, 90.0, 11.0, 10.0, 11.0, 9.0]))
    assert tool.drains(result({})) == pytest.approx(0.8)  # means of 0, 90, 10.5 and 10
    assert tool.longest(result({})) == pytest.approx(0.2)


def test_short_flows_are_those_of_the_middle() -> None:
    """Four start from 30 s on and before 50 s; one of them has not finished."""
    start = [1.0, 30.0, 35.0, 40.0, 49.9, 50.0]
    took = [9.0, 1.0, 2.0, 3.0, None, 9.0]
    one = result({}, transfers={"start_s": start, "fct_s": took})
    assert tool.short(1 / 3)(one) == 2.0
    worst = tool.short(0.99)(one)
    assert isinstance(worst, Censored)
    assert worst == 10.0


def test_a_bound_is_shown_as_one() -> None:
    measure = tool.Measure("x", lambda value: value, "{:.1f}", 10.0)
    assert tool.cell([0.25, 0.35], measure) == "3.0"
    assert tool.cell([0.25, Censored(0.35)], measure) == "> 3.0"


@pytest.mark.parametrize(
    ("page", "names"), [("wide-area.md", ["20ms", "80ms", "200ms"]), ("csig.md", ["bits", "fall"])]
)
def test_a_page_has_its_tables(page: str, names: list[str]) -> None:
    text = (ROOT / "docs/evidence" / page).read_text(encoding="utf-8")
    for name in names:
        body = re.search(rf"<!-- begin {name} -->\n(.*?)<!-- end {name} -->", text, flags=re.S)
        assert body is not None
        assert body[1].count("\n|") > 4
