"""The report's parts, against numbers from elsewhere."""

from __future__ import annotations

import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clearpipe as cp
from clearpipe import report
from clearpipe.report import dots, layout, network, page, summary, svg, thin, topology


def folded(
    values: Any, kind: thin.Kind, points: int, *, every: float = 0.01, hold: bool = False
) -> thin.Folded:
    """A series of one flow, sampled every `every` seconds."""
    times = np.asarray(every * np.arange(1, len(values) + 1), dtype=np.float64)
    who = np.zeros(len(values), dtype=np.intp)
    return thin.fold(times, who, np.asarray(values, dtype=float), kind, points, hold=hold)


def peaked() -> Any:
    values = np.zeros(10_000)
    values[25] = 50.0
    return values


def test_rates_are_means_of_half_a_second_or_of_a_fiftieth() -> None:
    rate = folded(peaked(), "rate", 800)
    assert rate.x.size == 200
    assert rate.values[0, 0] == pytest.approx(1.0)  # 50 over 50 samples
    assert rate.low is None
    assert folded(peaked()[:1000], "rate", 800).x.size == 50  # a run of 10 s


def test_long_series_keep_their_extremes() -> None:
    state = folded(peaked(), "state", 100)
    assert state.x.size == 100
    assert state.high is not None
    assert state.high.max() == 50.0
    assert np.nanmax(state.values) == pytest.approx(0.5)  # 50 over 100 samples
    # 200 means of half a second in 50 points: 4 each, so the peak of 1 has a mean of 0.25.
    rate = folded(peaked(), "rate", 50)
    assert rate.x.size == 50
    assert rate.high is not None
    assert rate.low is not None
    assert (rate.low[0, 0], rate.values[0, 0], rate.high[0, 0]) == pytest.approx((0, 0.25, 1))


def test_short_series_stay_as_they_are() -> None:
    state = folded([1.0, 2.0, 4.0], "state", 480, every=1.0)
    assert state.x.tolist() == [1.0, 2.0, 3.0]
    assert state.values[:, 0].tolist() == [1.0, 2.0, 4.0]


def test_values_recorded_on_change_last_until_the_next() -> None:
    times = np.array([0.0, 1.0, 1.0, 7.0, 10.0])
    who = np.array([0, 0, 1, 0, 1])
    values = np.array([1.0, 3.0, 8.0, 5.0, 9.0])
    held = thin.fold(times, who, values, "state", 10, hold=True)
    first = dict(zip(held.x.round(2).tolist(), held.values[:, 0].tolist(), strict=True))
    assert first == {0.0: 1.0, 1.0: 3.0, 7.0: 5.0, 10.0: 5.0}
    assert held.values[-1].tolist() == [5.0, 9.0]
    late = thin.fold(times, who, values, "state", 10)
    assert np.isnan(late.values[-1, 0])
    # Ten changes in the first of four buckets, none in the next two: the last one lasts.
    times = np.r_[np.linspace(0.1, 1.0, 10), 4.0]
    held = thin.fold(times, np.zeros(11, np.intp), np.r_[:10, 3.0], "state", 4, hold=True)
    assert held.values[:, 0].tolist() == [9.0, 3.0]
    assert held.low is not None
    assert held.low[:, 0].tolist() == [0.0, 3.0]


def test_counts_become_rates() -> None:
    rate = thin.per_second(np.array([0.1, 0.1, 0.2, 0.4]), np.array([2.0, 1.0, 3.0, 4.0]))
    assert rate.tolist() == pytest.approx([20.0, 10.0, 30.0, 20.0])


def test_quantiles_are_numpys() -> None:
    matrix = np.random.default_rng(4).normal(size=(20, 31))
    matrix[3, 5:] = np.nan
    matrix[7] = np.nan
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    ours = thin.quantiles(matrix, shares)
    for share, row in zip(shares, ours, strict=True):
        assert np.isnan(row[7])
        keep = [i for i in range(20) if i != 7]
        assert row[keep] == pytest.approx(np.nanquantile(matrix[keep], share, axis=1))


# The network.

RING = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


def test_lines_are_told_from_other_networks() -> None:
    chain = [("x", "y"), ("y", "x"), ("z", "y"), ("y", "z")]
    assert layout.line(["x", "y", "z"], chain) == ["x", "y", "z"]
    assert layout.line(["a", "b", "c", "d"], RING) is None
    assert layout.line(["a", "b", "c", "d"], [("a", "b"), ("c", "d")]) is None
    assert layout.line(["c", "a", "b", "d"], [("c", "a"), ("c", "b"), ("c", "d")]) is None


def test_hops_are_shortest_ways() -> None:
    far = layout.hops(["a", "b", "c", "d"], RING)
    assert far.tolist() == [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
    assert layout.hops(["a", "b", "c"], [("a", "b")])[2].tolist() == [2, 2, 0]


def test_a_ring_of_four_is_a_square_and_a_line_is_straight() -> None:
    place = layout.spread(["a", "b", "c", "d"], RING)
    sides = [np.linalg.norm(place[i] - place[(i + 1) % 4]) for i in range(4)]
    assert sides == pytest.approx([np.mean(sides)] * 4, rel=0.02)
    diagonal = np.linalg.norm(place[0] - place[2])
    assert diagonal == pytest.approx(np.sqrt(2) * np.mean(sides), rel=0.02)
    line = layout.spread(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d")])
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    assert steps == pytest.approx([1, 1, 1], rel=0.02)  # no stress at all: as many as hops
    assert np.ptp(line[:, 1]) < 0.1


def ring_toml(nodes: int) -> str:
    links = "".join(
        f'[links.l{i}]\nfrom = "n{i}"\nto = "n{(i + 1) % nodes}"\nrate = "10Mbps"\n'
        f'owd = "5ms"\nbuffer = "100pkt"\nqueue = "red"\n'
        for i in range(nodes)
    )
    flows = '[flows.g]\nprotocol = "sack"\ncount = 3\npath = ["l0", "l1"]\nreverse_path = ["l2"]\n'
    return links + flows


def test_fifty_nodes_do_not_hide_each_other() -> None:
    net = network.read(ring_toml(50))
    drawing, note, named = topology.draw(net, svg.color)
    assert note == ""
    assert named == [("var(--c0)", "g: 3 \N{MULTIPLICATION SIGN} sack")]
    found = re.findall(r'class="node" cx="([-\d.]+)" cy="([-\d.]+)"', drawing)
    at = np.array(found, dtype=float)
    assert len(at) == 50
    apart = np.linalg.norm(at[:, None] - at[None], axis=2) + 1e9 * np.eye(50)
    assert apart.min() > 2 * 7  # the circles' radius
    view = re.search(r'viewBox="([-\d.]+) ([-\d.]+) ([\d.]+) ([\d.]+)"', drawing)
    assert view
    x, y, w, h = map(float, view.groups())
    assert (at[:, 0] >= x).all()
    assert (at[:, 0] <= x + w).all()
    assert (at[:, 1] >= y).all()
    assert (at[:, 1] <= y + h).all()
    assert topology.draw(net, svg.color)[0] == drawing


def test_too_many_nodes_are_told_of_and_not_drawn() -> None:
    drawing, note, _ = topology.draw(network.read(ring_toml(151)), svg.color)
    assert drawing == ""
    assert "151 nodes" in note


def test_a_line_names_rates_delays_buffers_queues_and_ways() -> None:
    text = (
        '[links.up]\nfrom = "a"\nto = "b"\nrate = "1500Mbps"\nowd = "20ms"\nbuffer = "1500kB"\n'
        'queue = "red"\nloss = 0.01\n'
        '[links.down]\nfrom = "b"\nto = "a"\nrate = "10Mbps"\nowd = "20ms"\nbuffer = "9pkt"\n'
        'queue = "droptail"\n[flows.g]\nprotocol = "sack"\ncount = 3\npath = ["up"]\n'
        'reverse_path = ["down"]\n[flows.back]\nprotocol = "xcp"\npath = ["down"]\n'
        'reverse_path = ["up"]\n'
    )
    drawing, _, named = topology.draw(network.read(text), svg.color)
    texts = re.findall(r"<text[^>]*>([^<]*)<", drawing)
    for wanted in (
        "→ up", "1.5 Gb/s · 20 ms", "1.5 MB · red", "loss = 0.01", "← down", "10 Mb/s · 20 ms",
        "9 pkts · droptail", "g: 3 \N{MULTIPLICATION SIGN} sack",
    ):  # fmt: skip
        assert wanted in texts
    assert named == []
    lanes = re.findall(r'<line x1="([\d.]+)"[^>]*x2="([\d.]+)"[^>]*class="lane"', drawing)
    (a, b), (c, d) = [tuple(map(float, lane)) for lane in lanes]
    assert a < b  # there
    assert c > d  # and back


def test_networks_that_differ_in_queues_only_are_drawn_once() -> None:
    one = ring_toml(3)
    made = network.distinct(
        [("x", one), ("y", one.replace('"red"', '"xcp"')), ("z", one.replace("5ms", "6ms"))]
    )
    assert [net.of for net in made] == [["x", "y"], ["z"]]
    assert made[0].links[0].queue == "red | xcp"


# Numbers.


def test_round_ticks() -> None:
    assert svg.ticks(0, 100) == [0, 25, 50, 75, 100]
    assert svg.ticks(0, 7.3) == [0, 2, 4, 6]
    assert svg.ticks(0.9, 1.0) == pytest.approx([0.9, 0.925, 0.95, 0.975, 1.0])


def test_no_two_names_are_shortened_to_the_same() -> None:
    assert svg.short_names(["core", "core.reverse"]) == ["core", ".reverse"]
    both = ["a", "a.reverse", "b", "b.reverse"]
    assert svg.short_names(both) == both


def test_a_logarithmic_axis_has_a_place_for_zero() -> None:
    rows = [dots.Row("a", "red", "", "0", 0.0), dots.Row("b", "red", "", "", 10.0, 1000.0)]
    plot = dots.Plot("t", "pkts", rows, ("",), (), low=None, log=True)
    axis = dots._Axis(plot, rows)
    zero, ten, thousand = (axis.place(value) for value in (0.0, 10.0, 1000.0))
    assert zero < ten < thousand
    assert axis.place(100.0) == pytest.approx((ten + thousand) / 2)


def test_the_numbers_of_an_axis_do_not_overlap() -> None:
    rows = [dots.Row("a long name of a row", "red", "", "1 234 567 | 1 234 567", 1.0, 1.5e6)]
    plot = dots.Plot("t", "pkts", rows, ("",), (), low=None, log=True)
    drawn = plot.drawing()
    ticks = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="soft mid">([^<]*)</text>', drawn)
    assert len(ticks) >= 2
    spans = [(float(x) - svg.width(t, 11) / 2, float(x) + svg.width(t, 11) / 2) for x, t in ticks]
    assert all(left[1] < right[0] for left, right in pairwise(spans))


class Columns:
    """A result table made by hand."""

    def __init__(self, **columns: list[Any]) -> None:
        self.columns = columns
        self.column_names = list(columns)

    def column(self, name: str) -> list[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def with_transfers(result: cp.Result, table: Any) -> Any:
    """`result` with a table of transfers."""
    names = ("flows", "links", "series_names", "series", "meta", "summary", "fingerprint")
    kept = {name: getattr(result, name) for name in (*names, "complete", "scenario_toml")}
    return SimpleNamespace(**kept, transfers=table)


def test_transfers_by_size_and_as_shares(result: cp.Result) -> None:
    table = Columns(
        group=["long"] * 5,
        start_s=[0.0] * 5,
        size_bytes=[1000, 5000, 9999, 10_000, 20_000],
        fct_s=[0.1, 0.2, 0.3, 1.0, float("nan")],
        retransmitted_pkts=[0] * 5,
    )
    (scheme,) = page.schemes([with_transfers(result, table)])
    long = next(one for one in summary.transfers([scheme]) if one.name == "long")
    assert long.fct_s.tolist() == [0.1, 0.2, 0.3, 1.0]
    table.columns["group"] = ["short"] * 5  # a group whose flows have a size as well
    (short,) = summary.transfers(page.schemes([with_transfers(result, table)]))
    assert short.fct_s.tolist() == [0.1, 0.2, 0.3, 1.0]
    table.columns["group"] = ["long"] * 5
    plot = next(p for p in summary.plots([scheme]) if p.title == "Time to finish")
    cells = {(row[0], row[1]): row[2:] for row in plot.table}
    # 1000 to 9999 bytes: three transfers, median 0.2 s; quartiles by linear interpolation.
    assert cells["long", "1 kB to 10 kB"] == ["3", "110 ms", "150 ms", "200 ms", "250 ms", "290 ms"]
    assert cells["long", "10 kB to 100 kB"][0] == "1"
    chart = page.charts_of([scheme]).numbers[-1]
    assert chart["kind"] == "cdf"
    curve = next(c for c in chart["curves"] if c["label"] == "long")
    shares = np.interp([0.15, 0.25, 0.9, 1.0], chart["x"], curve["y"])
    assert shares == pytest.approx([25, 50, 75, 100])


def test_flows_with_a_size_are_transfers(result: cp.Result) -> None:
    (one,) = summary.transfers(page.schemes([result]))
    assert one.name == "short"
    assert one.size_bytes.tolist() == [100_000.0] * len(one.fct_s)
    flows = result.flows
    known = [t for t in flows.column("fct_s") if t is not None and np.isfinite(t)]
    assert sorted(one.fct_s) == sorted(known)


def test_without_transfers_there_is_nothing_of_them(small: str) -> None:
    result = cp.run(small, seed=1, set=["flows.short.size=unlimited"])
    assert summary.transfers(page.schemes([result])) == []
    assert page.charts_of(page.schemes([result])).fct is None
    empty = with_transfers(result, Columns(group=[], size_bytes=[], fct_s=[]))
    assert summary.transfers(page.schemes([empty])) == []


def test_flows_that_arrive_have_their_groups_name() -> None:
    text = """\
schema = 1
name = "web"
duration = "3s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
[flows.long]
protocol = "reno"
[flows.web]
protocol = "reno"
arrivals = "poisson(60/s)"
size = "10kB"
[probe]
series = ["cwnd"]
every = "10ms"
"""
    found = report.html([cp.run(text)])
    # Slots, not flows: the table has those.
    assert re.search(r'"label":"web \(up to \d+ at once\)"', found)
    assert '"label":"flow' not in found


def test_a_stroke_below_its_dot_is_no_range() -> None:
    def drawn(tick: float) -> str:
        row = dots.Row("core", "red", "", "2.09", dot=2.09, tick=tick)
        return dots.Plot("Queue", "pkts", [row], [], []).drawing()

    assert 'class="whisker"' in drawn(3.0)
    assert 'class="whisker"' not in drawn(2.0)
    assert 'class="median"' in drawn(2.0)


def test_a_logarithmic_axis_of_times_has_units() -> None:
    rows = [dots.Row("web", "red", "", "", dot=value) for value in (0.01, 10.0)]
    drawing = dots.Plot("Time to finish", "s", rows, [], [], log=True).drawing()
    ticks = re.findall(r'class="soft mid">([^<]+)<', drawing)
    assert ticks == ["10 ms", "100 ms", "1 s", "10 s"]


def test_a_mean_above_the_90_percent_stroke_is_explained() -> None:
    """XCP's start fills the queue for a moment: 1.9 packets 90 % of the time, 2.1 as the mean."""
    result = cp.run("xcp-fig10", engine="fluid")
    series = result.series("queue_pkts")
    mine = np.asarray(series["link"]) == 0
    queue = np.asarray(series["queue_pkts"], dtype=float)[mine]
    assert np.quantile(queue, 0.9) < queue.mean()
    (link, _) = result.summary["links"]
    assert link["queue_mean_pkts"] == pytest.approx(queue.mean(), rel=0.02)
    assert link["queue_p90_pkts"] == round(np.quantile(queue, 0.9))
    plot = next(p for p in summary.plots(page.schemes([result])) if p.title == "Queue")
    assert "carry the mean, or it is rounded: the fluid engine's" in plot.note
    long = cp.run("xcp-fig10", set=["warmup=5s"])
    plot = next(p for p in summary.plots(page.schemes([long])) if p.title == "Queue")
    assert "carry the mean" not in plot.note
