"""What the module of the paper on VCP computes, by numbers worked by hand."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from clearpipe.papers import vcp
from clearpipe.reproduce import data
from clearpipe.reproduce.runs import Censored, Data


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


def test_a_newcomer_settles_when_it_leaves_its_share_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Half of the other's goodput is two thirds of an equal share; at 12 s both have the same.
    t = np.arange(1, 401) * 0.5
    first = np.full(400, 1e6)
    second = np.where(t <= 112, 0.5e6, 1e6)
    series = {"f1": (t, first), "f2": (t, second)}
    monkeypatch.setattr(vcp, "flow_series", lambda result, name: series)
    assert vcp._keeps(cast(Any, None), 2) == pytest.approx(12.0)
    # In the last 2 s it has twice as much: then it did not settle in the 100 s.
    series["f2"] = (t, np.where(t > 198, 2e6, second))
    late = vcp._keeps(cast(Any, None), 2)
    assert isinstance(late, Censored)
    assert late == 100.0


def test_a_newcomer_that_settles_first_was_not_the_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    never = Censored(100.0)
    times = {
        "vcp": {2: never, 3: 60.0, 4: never, 5: 94.0},
        "xcp": {2: 2.0, 3: 30.0, 4: never, 5: never},
    }
    monkeypatch.setattr(vcp, "_keeps", lambda result, flow: times[result][flow])
    figure = data.chosen("vcp:fig10")[0]
    runs = SimpleNamespace(figure=figure, of=lambda part, scheme: [SimpleNamespace(result=scheme)])
    found = vcp.fig10_settled(cast(Data, runs))
    # At least 100 / 2 times as long is enough, 60 / 30 is not; without both times nothing is known;
    # 94 s against more than 100 is less than as long.
    assert [one.inside for one in found.values()] == [True, False, False, False]
    assert [one.undecided for one in found.values()] == [False, False, True, False]


def test_a_freeze_that_does_not_end_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(thaw: float) -> dict[str, bool]:
        """A cut at 1 s, additive increase from `thaw` to 2 s, overload told all the time."""
        series = {
            "sender_mode": {"f": (np.array([0.5, 1.0, thaw, 2.0]), np.array([2, 3, 2, 3]))},
            "sender_code": {"f": (np.array([1.0]), np.array([3]))},
            "sender_cwnd": {"f": (np.array([0.5, 1.0]), np.array([8.0, 7.0]))},
        }
        monkeypatch.setattr(vcp, "flow_series", lambda result, name: series[name])
        run = cast(Any, SimpleNamespace(meta={"simulated_s": 3.0}))
        found = vcp._after_decreases(run, heard=1, late=0.08, codes=(3,))
        return {name: one.inside for name, one in found.items()}

    assert all(judged(1.25).values())
    # t_rho and an RTT of 80 ms end at 1.28 s; a freeze of less than t_rho is none.
    assert [name for name, inside in judged(1.3).items() if not inside] == ["longest"]
    assert [name for name, inside in judged(1.19).items() if not inside] == [
        "otherwise",
        "longest",
    ]
