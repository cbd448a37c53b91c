"""Figures to files: what they draw, what they refuse, and how they look."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import style, units
from clearpipe.cli import app
from clearpipe.report import static, svg

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

PROBE = 'probe.series=["queue", "cwnd", "srtt", "router"]'


@pytest.fixture(scope="module")
def probed(small: str) -> cp.Result:
    return cp.run(small, set=[PROBE])


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Figures as they are written, drawn so that everything has its place."""
    kept: list[Any] = []
    write = style.save

    def save(figure: Any, path: Path, dpi: int) -> None:
        write(figure, path, dpi)
        kept.append(figure)

    monkeypatch.setattr(style, "save", save)
    monkeypatch.setattr(static, "save", save)
    return kept


def labels(figure: Any) -> list[str]:
    return [axes.get_ylabel().partition("\n")[0] for axes in figure.axes]


def test_without_names_it_draws_what_was_probed(
    probed: cp.Result, saved: list[Any], tmp_path: Path
) -> None:
    probed.plot.figure(tmp_path / "a.png")
    shown = labels(saved[0])
    assert shown[:3] == ["Queue", "Congestion window", "Smoothed RTT"]
    inner = [name for name in probed.series_names if name.startswith("router_")]
    assert len(inner) > 3
    assert shown[3:] == ["router"] * len(inner)


def test_a_series_is_the_tables(probed: cp.Result, saved: list[Any], tmp_path: Path) -> None:
    probed.plot.figure(tmp_path / "a.svg", "srtt")
    (axes,) = saved[0].axes
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert list(lines) == ["long 0", "long 1", "short 2", "short 3", "short 4"]
    table = probed.series("srtt_s")
    rows = zip(table["t_s"], table["flow"], table["srtt_s"], strict=True)
    first = [(t, 1e3 * value) for t, flow, value in rows if flow == 0 and value is not None]
    points = lines["long 0"][np.isfinite(lines["long 0"][:, 1])]
    np.testing.assert_allclose(points, first, rtol=1e-12)
    assert axes.get_ylabel() == "Smoothed RTT\n(ms)"


def test_numbers_are_of_every_link_or_group(small: str, saved: list[Any], tmp_path: Path) -> None:
    results = [cp.run(small, rep=rep) for rep in range(3)]
    names = ("queue_mean_bytes", "goodput_mean_bps", "groups.short.jain_index_ratio")
    static.draw(results, tmp_path / "a.png", names)
    queue, goodput, jain = saved[0].axes
    told = [[text.get_text() for text in axes.get_yticklabels()] for axes in saved[0].axes]
    assert told == [["bottleneck", "bottleneck.reverse"], ["long", "short"], ["short"]]
    summaries: list[Any] = [result.summary for result in results]
    means = [np.mean([s["groups"][g]["goodput_bps"]["mean"] for s in summaries]) for g in (0, 1)]
    drawn = [line.get_xdata() for line in goodput.get_lines() if line.get_markersize() == 5]
    assert goodput.get_xlabel() == "Goodput per flow (Mb/s)"
    np.testing.assert_allclose([float(x[0]) for x in drawn], np.array(means) / 1e6, rtol=1e-12)
    each = [line.get_xdata() for line in jain.get_lines() if line.get_markersize() == 3]
    expected = [s["groups"][1]["jain_index_ratio"] for s in summaries]
    np.testing.assert_allclose(each[0], expected, rtol=1e-12)
    assert "Mean queue" in queue.get_xlabel()


def test_two_replications_have_no_interval(small: str, saved: list[Any], tmp_path: Path) -> None:
    results = [cp.run(small, rep=rep, set=["duration=2s"]) for rep in range(2)]
    static.draw(results, tmp_path / "a.png", ["utilization_ratio"])
    assert not saved[0].axes[0].containers
    assert any("too few for intervals" in text.get_text() for text in saved[0].axes[0].texts)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["cwn"], "no cwn to draw; did you mean cwnd"),
        (["goodput"], r"does not probe goodput.*\"queue\", \"cwnd\", \"srtt\", \"goodput\"|router"),
        (["queue_mean_pkt"], "did you mean queue_mean_pkts"),
        (["links.bottlenek.drop_ratio"], "did you mean links.bottleneck.drop_ratio"),
        (["router_ph"], "did you mean router_phi"),
        (["sender_cwnd"], "does not probe sender"),
        (["nonsense"], "no nonsense to draw; it probes queue"),
    ],
)
def test_names_that_a_run_has_nothing_of(small: str, names: list[str], said: str) -> None:
    resolved = cp.resolve(small, set=[PROBE]).toml
    with pytest.raises(cp.ConfigError, match=said):
        static.subjects(names, resolved)


def test_nothing_probed_and_nothing_named(small: str) -> None:
    with pytest.raises(cp.ConfigError, match="needs something to draw"):
        static.subjects([], cp.resolve(small, set=["probe.series=[]"]).toml)


def test_every_series_of_a_run_can_be_named(probed: cp.Result) -> None:
    """And every number of its summary: what is refused before a run is not there after it."""
    from clearpipe.sweep import metrics

    names = [*probed.series_names, *metrics.flat(probed.summary, "bottleneck")]
    assert len(static.subjects(names, probed.scenario_toml)) == len(names)


def test_the_command_refuses_before_it_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = ["run", "xcp-fig10", "--out", str(out), "--figure", str(tmp_path / "a.png")]
    refused = CliRunner().invoke(app, [*run, "--draw", "quene"])
    assert (refused.exit_code, out.exists()) == (3, False)
    assert "did you mean queue" in refused.stderr
    several = CliRunner().invoke(app, [*run, "--reps", "2", "--draw", "queue"])
    assert (several.exit_code, out.exists()) == (2, False)
    alone = CliRunner().invoke(app, ["run", "xcp-fig10", "--draw", "queue"])
    assert alone.exit_code == 2
    done = CliRunner().invoke(app, [*run, "--set", "duration=12s", "--draw", "queue"])
    assert done.exit_code == 0
    assert (tmp_path / "a.png").exists()


def test_a_notebooks_figure_has_its_names_above_the_curves(probed: cp.Result) -> None:
    from matplotlib import pyplot

    axes: Any = probed.plot.cwnd()
    axes.figure.canvas.draw()
    legend, text = axes.get_legend(), axes._left_title
    place, panel, told = (x.get_window_extent() for x in (legend, axes, text))
    assert panel.y1 <= place.y0 + 1
    assert place.y1 <= told.y0 + 1
    assert not legend.get_frame_on()
    _, given = pyplot.subplots()
    probed.plot.cwnd(ax=given)
    inside: Any = given.get_legend()
    assert inside.get_frame_on()
    assert inside.get_frame().get_alpha() == 1
    pyplot.close("all")


THEORY = [
    ["response"],
    ["xcp", "stability"],
    ["vcp", "fluid"],
    ["mlcp", "feedback"],
    ["aqm"],
    ["maxmin", "abilene"],
]


@pytest.mark.parametrize("command", THEORY, ids=" ".join)
def test_figures_of_the_theory(command: list[str], saved: list[Any], tmp_path: Path) -> None:
    target = tmp_path / "a.svg"
    done = CliRunner().invoke(app, ["theory", *command, "--figure", str(target)])
    assert done.exit_code == 0, done.output
    assert "mathdefault" not in target.read_text(encoding="utf-8")
    (figure,) = saved
    edge = figure.bbox
    for axes in figure.axes:
        assert axes.axison
        panel = axes.get_window_extent()
        legend = axes.get_legend()
        if legend is not None:
            place = legend.get_window_extent()
            assert not place.overlaps(panel.shrunk(0.98, 0.98))
            assert edge.x0 <= place.x0
            assert place.x1 <= edge.x1
        tops = [axes.title, axes._left_title]
        for text in (text for text in tops if text.get_text() and legend is not None):
            assert not text.get_window_extent().overlaps(
                legend.get_window_extent().shrunk(0.9, 0.9)
            )


def test_links_are_told_apart(saved: list[Any], tmp_path: Path) -> None:
    """All the names of an axis have room."""
    done = CliRunner().invoke(
        app, ["theory", "maxmin", "abilene", "--figure", str(tmp_path / "a.png")]
    )
    assert done.exit_code == 0
    places = [text.get_window_extent() for text in saved[0].axes[1].get_yticklabels()]
    assert len(places) > 3
    assert not any(a.overlaps(b) for a in places for b in places if a is not b)
    assert svg.short_names(["core", "core.reverse"]) == ["core", ".reverse"]
    several = ["l1", "l1.reverse", "l2", "l2.reverse"]
    assert svg.short_names(several) == several


def test_the_colours_are_the_reports() -> None:
    css = (files("clearpipe.report") / "report.css").read_text(encoding="utf-8")
    light, dark, *_ = [re.findall(r"--c\d: (#\w{6});", x) for x in re.findall("--c0:.*", css)]
    assert (list(style.COLORS), list(style.DARK)) == (light, dark)
    assert re.findall(r"--(?:ink|soft|grid): (#\w{6});", css)[:3] == [
        style.INK,
        style.SOFT,
        style.GRID,
    ]


def test_logarithmic_ticks_are_written_as_other_numbers_are(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    axes.plot([1e-8, 1e16], [1, 1e5])
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.save(figure, tmp_path / "a.svg", 100)
    along, up = (
        [axis.get_major_formatter()(x) for x in (1e-8, 0.01, 1e4, 1e16)]
        for axis in (axes.xaxis, axes.yaxis)
    )
    assert along == up == ["1 × 10⁻⁸", "0.01", f"10{units.THIN}000", "1 × 10¹⁶"]  # noqa: RUF001


def test_numbers_to_draw_are_metrics_and_groups_alone(small: str) -> None:
    toml = cp.resolve(small).toml
    assert static.subjects(["goodput_mean_bps"], toml)[0].kind == "number"
    with pytest.raises(cp.ConfigError, match="did you mean utilization_ratio"):
        static.subjects(["utilisation_ratio"], toml)


def test_a_number_stays_with_its_unit() -> None:
    from textwrap import fill

    title = "VCP Fig. 5: Single bottleneck, RT propagation 1 ms - 1.5 s"
    assert len(title.partition("1.5 s")[0]) == 53
    assert fill(title, 56).endswith("1.5\ns")
    assert fill(units.unbroken(title), 56).endswith("\n1.5\N{NO-BREAK SPACE}s")
