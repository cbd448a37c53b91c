"""iXCP's checks on runs made up by hand: what a mean of flows would hide they show."""

from typing import Any

import numpy as np
import pytest

from clearpipe.papers import ixcp
from clearpipe.reproduce import data, publication
from clearpipe.reproduce.runs import Cell, Censored, Data

times = np.arange(0.2, 60.1, 0.2)
Rates = dict[str, tuple[Any, Any]]


def runs_of(figure: str, *cells: Cell) -> Data:
    found = data.chosen(figure)[0]
    return Data(data.paper("ixcp"), found, found.parts["full"], list(cells), len(cells))


def run(scheme: str, result: Any) -> Cell:
    return Cell("main", scheme, "", 0.0, 0, {}, lambda: result, ())


def fair() -> dict[str, Any]:
    """The max-min rates of figure 10's flows over time, b/s."""
    out = {name: np.zeros_like(times) for name in ("long", *(f"s{n}" for n in range(1, 8)))}
    for (_, end), flows in ixcp.PHASES.items():
        for name, rate in flows.items():
            out[name][(times > end - 20 + 0.1) & (times < end + 0.1)] = rate * 1e6
    return out


@pytest.fixture
def flows_as_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(result: dict[str, Any], _: str) -> Rates:
        return {name: (times, rate) for name, rate in result.items()}

    monkeypatch.setattr(ixcp, "flow_series", told)


@pytest.mark.usefixtures("flows_as_results")
def test_how_much_later_is_told_of_each_flow() -> None:
    late = fair()
    late["long"][times < 4.9] = (
        0.0  # 5.0 s is the first sample with a rate, 0.2 s that of the others
    )
    told = ixcp.fig12_c5(runs_of("ixcp:fig12", run("ixcp", late), run("xcp", fair())))
    assert told == {
        "long": pytest.approx(4.8),
        **dict.fromkeys(["s1", "s2", "s3", "s4"], pytest.approx(0)),
    }


@pytest.mark.usefixtures("flows_as_results")
def test_a_flow_is_there_quickly_if_it_stays_there() -> None:
    rates = fair()
    # There at 20.2 s, away between 23 and 24 s, and there again: the second up to 24 s is the last.
    rates["s2"][(times > 23.1) & (times < 24.1)] *= 0.9
    rates["s7"][times > 39.1] *= 1.1  # away when s7 stops
    told = ixcp.fig12_c3_quickly(runs_of("ixcp:fig12", run("ixcp", rates)))
    assert told["s2"] == pytest.approx(4)
    assert told["long"] == 0
    assert isinstance(told["s7"], Censored)
    again = ixcp.fig12_c4_quickly(runs_of("ixcp:fig12", run("ixcp", rates)))
    assert again == dict.fromkeys(["long", "s1", "s2", "s3"], 0.0)


@pytest.mark.usefixtures("flows_as_results")
def test_the_slowest_flow_after_each_change_is_compared() -> None:
    def slow(name: str, begin: float, length: float) -> dict[str, Any]:
        rates = fair()
        rates[name][(times > begin + 0.1) & (times < begin + length + 0.1)] *= 0.5
        return rates

    # Means over a second are within 5 % again when none of their five samples is 50 % off.
    xcp = slow("s1", 0, 2.0)
    ixcp_run = slow("s2", 0, 5.0)
    for rates in (xcp, ixcp_run):
        rates["s3"][(times > 20.1) & (times < 23.1)] *= 0.5
        rates["long"][(times > 40.1) & (times < 41.1)] *= 0.5
    told = ixcp.fig13_quickly(runs_of("ixcp:fig13", run("xcp", xcp), run("ixcp", ixcp_run)))
    # The last means away end 0.8 s after the last sample that is off: 2.8 and 5.8 s.
    assert told == {
        "after 0 s": pytest.approx(2.8 / 5.8),
        "after 20 s": pytest.approx(1),
        "after 40 s": pytest.approx(1),
    }


@pytest.mark.usefixtures("flows_as_results")
def test_a_steady_rate_that_is_unfair_has_converged() -> None:
    rates = fair()
    rates["s1"] *= 1.3
    # 0.8 and 1.2 by turns, of windows of a second each.
    rates["s2"] *= np.where(np.ceil(times - 1e-9) % 2, 0.8, 1.2)
    told = ixcp.fig14_never(runs_of("ixcp:fig14", run("tcp", rates)))
    assert told["s1"] == pytest.approx(0)
    assert told["s2"] == pytest.approx(0.2)


def test_it_gains_especially_where_it_gains_most() -> None:
    def used(x: float, xcp: float, ours: float) -> list[Cell]:
        def cell(scheme: str, value: float) -> Cell:
            metrics = {ixcp.UTILIZATION: value}
            return Cell("main", scheme, f"{x:g}", x, 0, metrics, lambda: None, ())  # type: ignore[arg-type, return-value]

        return [cell("xcp", xcp), cell("ixcp", ours)]

    # 0.08 and 0.06 below 400/s; 0.02 and 0.07 from there on, beside the lesser of those.
    cells = [*used(10, 0.8, 0.88), *used(300, 0.8, 0.86)]
    cells += [*used(400, 0.8, 0.82), *used(1000, 0.8, 0.87)]
    told = ixcp.fig17_especially(runs_of("ixcp:fig17", *cells))
    assert {name: (round(one.interval.mean, 9), one.inside) for name, one in told.items()} == {
        "400/s": (-0.04, True),
        "1000/s": (0.01, False),
    }


def test_ixcp_begins_a_sentence_as_it_is() -> None:
    assert publication._sentence("iXCP uses over 97%") == "iXCP uses over 97%."
    assert publication._sentence("computed: 0.8") == "Computed: 0.8."
