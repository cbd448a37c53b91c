"""`Result.plot`: every drawn point against the tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clearpipe as cp
from clearpipe.plot import Plot

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot
from matplotlib.axes import Axes

PROBE = 'probe.series=["cwnd", "srtt", "goodput", "queue", "utilization", "router"]'


@pytest.fixture(scope="module")
def full(small: str) -> cp.Result:
    """The small scenario with every series."""
    return cp.run(small, set=[PROBE])


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def table_rows(result: cp.Result, name: str, of: str, owner: int) -> list[tuple[float, float]]:
    """What the table says of one flow or link, without the code that is tested."""
    table = result.series(name)
    rows = zip(table.column("t_s"), table.column(of), table.column(name), strict=True)
    return [(t, np.nan if value is None else value) for t, i, value in rows if i == owner]


def drawn(axes: Axes) -> dict[str, np.ndarray]:
    return {str(line.get_gid()): np.asarray(line.get_xydata()) for line in axes.get_lines()}


@pytest.mark.parametrize(
    ("method", "name", "scale", "label"),
    [
        ("cwnd", "cwnd_pkts", 1.0, "Congestion window (pkts)"),
        ("throughput", "goodput_bps", 1e-6, "Goodput (Mb/s)"),
        ("rtt", "srtt_s", 1e3, "Smoothed RTT (ms)"),
    ],
)
def test_flows(full: cp.Result, method: str, name: str, scale: float, label: str) -> None:
    axes = getattr(full.plot, method)()
    lines = drawn(axes)
    assert list(lines) == ["long 0", "long 1", "short 2", "short 3", "short 4"]
    for flow, points in enumerate(lines.values()):
        rows = table_rows(full, name, "flow", flow)
        assert len(rows) > 3
        np.testing.assert_allclose(points, [(t, scale * y) for t, y in rows], rtol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Time (s)", label)
    assert axes.get_title(loc="left") == "small, seed 1, replication 0"


@pytest.mark.parametrize(
    ("method", "name", "scale"),
    [("queue", "queue_pkts", 1.0), ("utilization", "utilization_ratio", 100.0)],
)
def test_links(full: cp.Result, method: str, name: str, scale: float) -> None:
    lines = drawn(getattr(full.plot, method)())
    assert list(lines) == ["bottleneck", "bottleneck.reverse"]
    for link, points in enumerate(lines.values()):
        rows = table_rows(full, name, "link", link)
        assert len(rows) == 50
        np.testing.assert_allclose(points, [(t, scale * y) for t, y in rows], rtol=1e-12)
    one = drawn(getattr(full.plot, method)(links="bottleneck.reverse"))
    assert list(one) == ["bottleneck.reverse"]
    np.testing.assert_array_equal(one["bottleneck.reverse"], lines["bottleneck.reverse"])


def test_any_series(full: cp.Result) -> None:
    axes = full.plot.series("router_phi", ids=[0])
    expected = table_rows(full, "router_phi", "link", 0)
    np.testing.assert_array_equal(drawn(axes)["bottleneck"], expected)
    with pytest.raises(KeyError, match="router_phi"):
        full.plot.series("phi")
    with pytest.raises(cp.ConfigError, match=r"ids: 9 .*: 0"):
        full.plot.series("router_phi", ids=[9])


def test_time_to_finish(full: cp.Result) -> None:
    axes = full.plot.fct()
    (line,) = axes.get_lines()
    rows = zip(full.flows["group"], full.flows["fct_s"], strict=True)
    times: list[float] = sorted(fct for group, fct in rows if group == "short")
    assert len(times) == 3
    expected = list(zip(times, [100 / 3, 200 / 3, 100], strict=True))
    np.testing.assert_allclose(np.asarray(line.get_xydata()), expected, rtol=1e-12)
    assert line.get_label() == "short (3)"
    with pytest.raises(cp.ConfigError, match=r"no flow of long finished.*flows.long.size"):
        full.plot.fct(groups="long")


def test_a_choice_of_flows_and_groups(full: cp.Result) -> None:
    assert list(drawn(full.plot.cwnd(groups="short"))) == ["short 2", "short 3", "short 4"]
    assert list(drawn(full.plot.cwnd(flows=[0, 4]))) == ["long 0", "short 4"]
    assert list(drawn(full.plot.cwnd(flows=[4], groups=["long", "short"]))) == ["short 4"]
    with pytest.raises(cp.ConfigError, match=r"groups: web is none of those recorded: long, short"):
        full.plot.cwnd(groups=["web"])
    with pytest.raises(cp.ConfigError, match=r"flows: 9 is none"):
        full.plot.rtt(flows=[9])
    with pytest.raises(cp.ConfigError, match=r"links: up is none.*bottleneck, bottleneck.reverse"):
        full.plot.queue(links="up")


def test_many_flows_have_their_groups_colour(small: str) -> None:
    result = cp.run(small, set=["flows.long.count=9", "duration=2s"])
    axes = result.plot.cwnd()
    lines = axes.get_lines()
    assert len(lines) == 12
    assert len({line.get_color() for line in lines[:9]}) == 1
    assert len({line.get_color() for line in lines}) == 2
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["long (9)", "short (3)"]


def test_draws_into_given_axes(full: cp.Result) -> None:
    figure, places = pyplot.subplots(2)
    assert full.plot.cwnd(ax=places[0]) is places[0]
    assert full.plot.queue(ax=places[1]) is places[1]
    assert pyplot.get_fignums() == [figure.number]
    assert places[0].get_title(loc="left") == ""
    assert len(places[0].get_lines()) == 5


def test_what_was_not_recorded_says_what_to_add(result: cp.Result) -> None:
    message = (
        r"^the run did not record srtt: add it to the scenario's \[probe\], "
        r'series = \["cwnd", "queue", "srtt"\], and run again$'
    )
    with pytest.raises(cp.ConfigError, match=message) as caught:
        result.plot.rtt()
    assert caught.value.key == "probe.series"
    with pytest.raises(cp.ConfigError, match="utilization"):
        result.plot.utilization()
    # What the message says helps.
    again = cp.run(result.scenario_toml, set=['probe.series=["cwnd", "queue", "srtt"]'])
    assert len(again.plot.rtt().get_lines()) == 5


@pytest.mark.parametrize(
    ("library", "call", "told"),
    [
        ("matplotlib", "plot.cwnd()", "pip install 'clearpipe[figures]'"),
        ("polars", "flows.to_polars()", "pip install polars"),
        ("pandas", "flows.to_pandas()", "pip install pandas"),
        ("pyarrow", "flows.to_pyarrow()", "pip install pyarrow"),
    ],
)
def test_a_library_that_is_missing(small: str, library: str, call: str, told: str) -> None:
    code = f"""
import sys
import clearpipe as cp
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == {library!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
result = cp.run({small!r}, set=["duration=2s"])
try:
    result.{call}
except cp.UnsupportedError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told in out.stdout
    assert library in out.stdout


class Columns(dict[str, list[object]]):
    """Stands for a table."""

    @property
    def column_names(self) -> list[str]:
        return list(self)

    column = dict.__getitem__


def stand_in(every: str) -> Any:
    """A result of a scenario with arriving flows, recorded on every change."""
    return SimpleNamespace(
        series_names=["cwnd_pkts"],
        series=lambda name: Columns(t_s=[0.0, 1.0, 3.0], flow=[0, 0, 0], cwnd_pkts=[1.0, 2.0, 4.0]),
        flows=Columns(flow=[0, 1], group=["web", "bulk"], fct_s=[None, 8.0]),
        transfers=Columns(group=["web"] * 4, fct_s=[3.0, None, 1.0, 2.0]),
        summary={"groups": [{"group": "web"}, {"group": "bulk"}], "links": []},
        meta={"name": "x", "seed": 1, "rep": 0},
        scenario_toml=f'[probe]\nseries = ["cwnd"]\nevery = "{every}"\n',
    )


def test_a_value_holds_until_it_changes() -> None:
    for every, style in (("change", "steps-post"), ("100ms", "default")):
        (line,) = Plot(stand_in(every)).cwnd().get_lines()
        assert line.get_drawstyle() == style
        np.testing.assert_array_equal(np.asarray(line.get_ydata()), [1, 2, 4])


def test_transfers_of_arriving_flows() -> None:
    axes = Plot(stand_in("100ms")).fct()
    lines = drawn(axes)
    thirds = [100 / 3, 200 / 3, 100]
    np.testing.assert_allclose(lines["web"], list(zip([1, 2, 3], thirds, strict=True)))
    np.testing.assert_allclose(lines["bulk"], [(8, 100)])
