"""XCP's checks on runs made up by hand: what a mean would hide they show."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from clearpipe.papers import xcp
from clearpipe.reproduce import claims, data
from clearpipe.reproduce.runs import Cell, Data

Metrics = dict[str, float]


def runs_of(figure: str, *cells: Cell) -> Data:
    found = data.chosen(figure)[0]
    return Data(data.paper("xcp"), found, found.parts["full"], list(cells), len(cells))


def run(scheme: str, label: str, rep: int, metrics: Metrics, result: Any = None) -> Cell:
    x = float(label.removesuffix("Mbps")) * (1e6 if label.endswith("Mbps") else 1)
    return Cell("main", scheme, label, x, rep, metrics, lambda: result, ())


def used(part: float, drops: float = 0, queue: float = 10) -> Metrics:
    link = "links.bottleneck"
    return {
        f"{link}.utilization_ratio": part,
        f"{link}.total_drops_pkts": drops,
        f"{link}.queue_mean_pkts": queue,
    }


def test_of_every_capacity_one_run_that_misses_is_a_miss() -> None:
    good = [run("xcp", "10Mbps", rep, used(0.99)) for rep in range(4)]
    bad = run("xcp", "10Mbps", 4, used(0.85))
    (claim,) = [one for one in data.chosen("xcp:fig04")[0].claims if one.id == "xcp-fig04-c1"]

    def told(*cells: Cell) -> dict[str, tuple[float, bool]]:
        found = claims.judge(claim, runs_of("xcp:fig04", *cells), "full").readings
        return {one.label: (one.farthest, one.inside) for one in found}

    # Their mean, 0.962, is within the bound.
    assert told(*good, bad) == {"10Mbps": (0.85, False)}
    assert told(*good) == {"10Mbps": (0.99, True)}
    # Printed is "every capacity", accepted from 10 Mb/s on.
    assert told(run("xcp", "5Mbps", 0, used(0.5))) == {}


def test_queues_are_compared_run_by_run() -> None:
    def queue(label: str, rep: int, mean: float) -> Cell:
        return run("xcp", label, rep, used(1.0, queue=mean))

    # 40/10 and 90/30; the ratio of the means would be 65/20.
    cells = [queue("100", 0, 10), queue("1000", 0, 40), queue("100", 1, 30), queue("1000", 1, 90)]
    (told,) = xcp.fig06_c3(runs_of("xcp:fig06", *cells)).values()
    assert told.values == (4.0, 3.0)
    # The second replication lacks a run: it has no number.
    (told,) = xcp.fig06_c3(runs_of("xcp:fig06", *cells[:3])).values()
    assert (told.values[0], told.lacking) == (4.0, 1)


def test_tcp_is_beside_xcp_of_the_same_replication() -> None:
    def chain(scheme: str, rep: int, queues: list[float]) -> Cell:
        pairs = zip(xcp.CHAIN, queues, strict=True)
        metrics = {f"links.{link}.queue_mean_pkts": queue for link, queue in pairs}
        return run(scheme, "1", rep, metrics)

    cells = [
        chain("xcp", 0, [1.0] * 8 + [6.0]),
        chain("xcp", 1, [2.0] * 9),
        chain("red", 0, [2.0] * 8 + [3.0]),
        chain("red", 1, [8.0] * 9),
    ]
    # At the last link 6/3 in one run, 2/8 at each in the other.
    (told,) = xcp.fig09_queues(runs_of("xcp:fig09", *cells)).values()
    assert told.values == (2.0, 0.25)


def test_drops_are_the_cause_if_pairs_without_any_are_alike() -> None:
    cells = [
        run("xcp", "10Mbps", 0, used(1.0)),
        run("xcp-red", "10Mbps", 0, used(0.5, drops=3)),
        run("xcp-acks", "10Mbps", 0, used(1.0)),
        run("xcp-acks-red", "10Mbps", 0, used(1.01, queue=12)),
    ]
    told = xcp.sec5_1_cause(runs_of("xcp:sec5.1-droppolicy", *cells))
    assert {name: one.inside for name, one in told.items()} == {
        "utilization, of 1 pairs": True,
        "queue, of 1 pairs": False,
    }
    assert not xcp.sec5_1_cause(runs_of("xcp:sec5.1-droppolicy", *cells[:2]))


def test_the_least_short_flows_of_any_round_trip_are_counted() -> None:
    # 12, 3 and 12 in the first three 80 ms; the last, not whole, does not count.
    starts = [0.01] * 12 + [0.1] * 3 + [0.2] * 12 + [0.25]
    result = SimpleNamespace(transfers={"start_s": starts})
    cells = [run("xcp-red", "800", 0, {}, result), run("xcp-red", "700", 0, {}, result)]
    assert xcp.fig07_c3(runs_of("xcp:fig07", *cells)) == {"run 0": 3.0}


def test_shares_that_are_dropped_come_nearer() -> None:
    def share(scheme: str, label: str, drops: float) -> Cell:
        link = "links.bottleneck"
        counts = {f"{link}.total_drops_pkts": drops, f"{link}.total_arrivals_pkts": 1000.0}
        return run(scheme, label, 0, counts)

    def nearer(first: float, last: float) -> float | None:
        theirs = [share("red", "900", 40), share("red", "1000", 40)]
        ours = [share("xcp-red", "900", first), share("xcp-red", "1000", last)]
        return xcp.fig07_nearer(runs_of("xcp:fig07", *theirs, *ours))

    assert nearer(10, 20) == pytest.approx(2)
    assert nearer(20, 10) == pytest.approx(1 / 2)
    # From a half of it to four times as much is farther.
    assert nearer(20, 160) == pytest.approx(1 / 2)


def test_what_an_interval_leaves_of_its_feedback_is_read_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Intervals begin at 1, 2 and 3 s; the first, at 0, has no RTT of a packet.
    each = np.arange(4.0)
    series = {
        "phi": (each, np.array([0.0, 5.0, 6.0, 5.0])),
        "h": (each, np.array([0.0, 5.0, 4.0, 5.0])),
        "avg_rtt": (each, np.array([0.1, 1.0, 1.1, 1.0])),
        "input_traffic": (each, np.full(4, 100.0)),
        # Of 10 to give 4 are left, then nothing; of 5 to take 1 is, then of 4 nothing.
        "residue_pos": (np.array([0.0, 1.0, 1.5, 2.0, 2.5, 3.0]), np.array([9, 10, 4, 10, 0, 10])),
        "residue_neg": (np.array([0.0, 1.0, 1.5, 2.0, 2.5, 3.0]), np.array([9, 5, 1, 4, 0, 5])),
    }
    monkeypatch.setattr(xcp, "link_series", lambda _, name: series[name.removeprefix("router_")])
    found = runs_of("xcp:sec3-controllers", run("xcp", "0", 0, {}, SimpleNamespace()))
    assert xcp.sec3_controllers_left(found) == {
        "to give, of 2 intervals": pytest.approx(0.4),
        "to take, of 2 intervals": pytest.approx(0.2),
    }
    assert xcp.sec3_controllers_moved(found) == pytest.approx(0.06)


def test_the_gain_is_the_same_for_all_capacities_and_numbers_of_flows() -> None:
    assert xcp._gain(1.0, 1) == pytest.approx(0.4)
    assert xcp._gain(500e3, 1000) == pytest.approx(0.4)


def test_the_farthest_of_some_values_is_told_by_their_mean() -> None:
    assert xcp._farthest_off(np.array([1.0, 1.0, 4.0])) == pytest.approx(1.0)


def test_the_climb_after_a_departure_is_no_oscillation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Utilization over 200 ms: full until 8 s, down to 0.5, and back at 0.95 at 9 s; what it falls
    by from its highest later on is the swing."""
    t = np.arange(0.2, 20.1, 0.2)
    climb = np.interp(t, [8, 8.2, 9], [1.0, 0.5, 0.96])
    monkeypatch.setattr(xcp, "windowed", lambda t, used, _: (t, used))

    def swing(used: Any) -> float:
        monkeypatch.setattr(xcp, "link_series", lambda *_: (t, used))
        return float(xcp.fig11_swing(cast(Any, None)))

    assert swing(climb) == pytest.approx(0)
    # Up to 1.0 and down to 0.7: 0.3, and not the 0.26 to where it was first.
    later = np.where(t > 12, 1.0, climb)
    assert swing(np.where(np.abs(t - 15) < 0.3, 0.7, later)) == pytest.approx(0.3)
    assert swing(np.ones_like(t)) == 0
    assert np.isnan(swing(np.where(t > 8, 0.5, 1.0)))


def test_the_least_utilization_is_of_any_200_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.arange(1, 201) / 100
    # Idle from 1.1 to 1.3 s, which no row of 200 ms from 0.6 s on has whole, and in the first half.
    used = np.where(((t > 1.105) & (t < 1.305)) | (t < 0.505), 0.0, 1.0)
    monkeypatch.setattr(xcp, "link_series", lambda *_: (t, used))
    assert xcp.fig10_least_utilization(SimpleNamespace()) == pytest.approx(0.0)  # type: ignore[arg-type]
    used = np.where((t > 1.105) & (t < 1.205), 0.0, 1.0)
    monkeypatch.setattr(xcp, "link_series", lambda *_: (t, used))
    assert xcp.fig10_least_utilization(SimpleNamespace()) == pytest.approx(0.5)  # type: ignore[arg-type]


def test_where_no_flow_has_a_rate_there_is_no_split(monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.arange(1, 1201) / 100
    flows = {f"fwd.{n}": (t, np.where(t < 8.0, 1.0 + n, 0.0)) for n in range(5)}
    monkeypatch.setattr(xcp, "flow_series", lambda *_: flows)
    # 1 and 2: a difference of 1 over 1.5. After 8 s nothing is sent.
    told = xcp._spreads(SimpleNamespace())  # type: ignore[arg-type]
    assert told["flow 2 at 2 s"] == pytest.approx(1 / 1.5)
    assert told["flow 5 at 8 s"] == np.inf
