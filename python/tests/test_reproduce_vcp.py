"""What the module of the paper on VCP computes, by numbers worked by hand."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from clearpipe.papers import vcp
from clearpipe.reproduce import data
from clearpipe.reproduce.runs import Data


def _utilization(monkeypatch: pytest.MonkeyPatch, low: float) -> None:
    """0.97, and this much for the 5 s after 160 s, every 100 ms."""
    t = np.arange(1, 2401) * 0.1
    used = np.where((t > 160) & (t <= 165), low, 0.97)
    monkeypatch.setattr(vcp, "link_series", lambda result, name: (t, used))


def test_recovery_begins_with_a_drop(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first half second that is all at 0.97 again ends at 165.5 s.
    _utilization(monkeypatch, 0.3)
    assert vcp.fig11_recovery(cast(Any, None)) == pytest.approx(5.5)
    _utilization(monkeypatch, 0.96)
    assert np.isnan(vcp.fig11_recovery(cast(Any, None)))


def test_what_never_comes_takes_no_rounds() -> None:
    assert vcp._rounds_until(np.array([False, False, True, True])) == 2
    assert np.isnan(vcp._rounds_until(np.array([False, False])))


@dataclass
class _Runs:
    """Two runs of a point that drop so much."""

    dropped: tuple[float, float]

    def of(self, part: str, scheme: str) -> list[Any]:
        return [
            SimpleNamespace(
                label="1Mbps",
                metrics={
                    "utilization_ratio": 0.95,
                    "total_drops_pkts": dropped,
                    "total_arrivals_pkts": 1e6,
                },
            )
            for dropped in self.dropped
        ]


@pytest.mark.parametrize(("dropped", "both"), [((0.0, 10.0), 1), ((0.0, 12.0), 0)])
def test_one_run_that_drops_is_one_too_many(dropped: tuple[float, float], both: float) -> None:
    # 12 of a million are more than 1e-5; their mean over the two runs, 6, is not.
    assert vcp._has_both(cast(Data, _Runs(dropped)), "vcp") == both


def test_each_flow_is_judged_not_their_mean() -> None:
    paper = data.paper("vcp")
    figure = next(one for one in paper.figures if one.id == "vcp-sec4c-alloc")
    flows = {"group": ["long", "long", "crossl1"], "goodput_bps": [2.1e6, 3.3e6, 9e6]}
    cell = SimpleNamespace(rep=0, result=SimpleNamespace(flows=flows))
    runs = SimpleNamespace(figure=figure, paper=paper, of=lambda part, scheme: [cell])
    # The mean, 2.7, is the paper's own number.
    found = vcp.sec4c_alloc_c1(cast(Data, runs))
    assert [reading.interval.mean for reading in found.values()] == [2.1, 3.3]
    assert not any(reading.inside for reading in found.values())
