"""What a run recorded as a static figure for papers and slides, with matplotlib.

A figure has a panel for each of its subjects: a series that the scenario probes against time
(`cwnd`, `utilization`, `router_phi`), a number of the result for every link or group or for one of
them (`utilization_ratio`, `groups.web.fct_p95_s`), or `fct`, how long transfers took.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from clearpipe import metric_titles, units
from clearpipe.errors import ConfigError
from clearpipe.report import charts
from clearpipe.statistics import FEW, LEVEL, t_interval
from clearpipe.style import COLORS, SMALL, SOFT, STYLE, check, legend, save, title
from clearpipe.sweep import metrics

if TYPE_CHECKING:
    from clearpipe.result import Result

SERIES = {
    "cwnd": "cwnd_pkts",
    "srtt": "srtt_s",
    "goodput": "goodput_bps",
    "rate": "rate_bps",
    "queue": "queue_pkts",
    "utilization": "utilization_ratio",
    "drops": "drops_pkts",
    "losses": "losses_pkts",
}
"""What an entry of [probe] records; `sender` and `router` record the variables of theirs."""

INNER = ("sender", "router")

FCT = "fct"

MOST_ROWS = 40
"""Of more links or groups, the first ones with a value are drawn."""

WIDTH = 6.4

Kind = Literal["series", "number", "fct"]


class Subject(NamedTuple):
    """What a panel is of."""

    kind: Kind
    name: str
    """The series in full, or the number's name."""


def draw(
    results: Sequence[Result],
    path: str | os.PathLike[str],
    names: Sequence[str] = (),
    dpi: int = 200,
) -> Path:
    """Draw a panel for each of `names`, or for each series that was probed, to `path`.

    `results` are replications of one scenario: series are the first one's, and numbers have a dot
    for each. The file depends on nothing but the results and matplotlib's version. Raises
    ConfigError for a name that the results have nothing of.
    """
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    first, target = results[0], Path(path)
    chosen = subjects(names, first.scenario_toml)
    chosen = [one for subject in chosen for one in _recorded(subject, first)]
    with rc_context(STYLE):
        rows = [_rows(subject.name, results) for subject in chosen]
        heights = [
            1.75 if subject.kind != "number" else 0.55 + 0.2 * len(row)
            for subject, row in zip(chosen, rows, strict=True)
        ]
        figure = Figure(figsize=(WIDTH, 0.6 + sum(heights)), layout="constrained")
        grid = figure.subplots(len(chosen), 1, squeeze=False, height_ratios=heights)
        places = list(grid[:, 0])
        for place, subject, row in zip(places, chosen, rows, strict=True):
            if subject.kind == "series":
                _series(place, first, _quantity(first, subject.name))
            elif subject.kind == "fct":
                first.plot.fct(ax=place)
            else:
                _numbers(place, subject.name, row, all(one.complete for one in results))
        _share_time(places, chosen, first.meta["simulated_s"])
        figure.suptitle(title(*results), x=0.01, ha="left", fontsize=9, fontweight="bold")
        figure.align_ylabels()
        save(figure, target, dpi)
    return target


def subjects(names: Sequence[str], scenario_toml: str) -> list[Subject]:
    """What `names` mean in a resolved scenario, or all series that it probes, before it is run.

    Raises ConfigError for a name that a run of it has nothing of, with the nearest that it has.
    """
    scenario = tomllib.loads(scenario_toml)
    asked = scenario.get("probe", {}).get("series", [])
    if not names and not asked:
        raise ConfigError(
            "a figure needs something to draw: the scenario probes no series (probe.series = "
            '["cwnd", "queue"] in the scenario), and no number such as queue_mean_pkts is named',
            key="probe.series",
        )
    return [_subject(name, scenario, asked) for name in names or asked]


def _subject(name: str, scenario: Mapping[str, Any], asked: Sequence[str]) -> Subject:
    numbers = _number_names(scenario)
    if name in numbers:
        return Subject("number", name)
    entry = next((e for e, full in SERIES.items() if name in (e, full)), "")
    inner = name.partition("_")[0]
    if not entry and inner in INNER and (name == inner or _is_inner(name, scenario)):
        entry = inner
    if entry in asked:
        return Subject("series", SERIES.get(entry, name))
    if entry:
        wanted = ", ".join(f'"{one}"' for one in [*asked, entry])
        raise ConfigError(
            f"the scenario does not probe {entry}, so a run has no {name} to draw: give it "
            f"probe.series = [{wanted}]",
            key="probe.series",
        )
    if name == FCT:
        return Subject("fct", name)
    known = [*asked, *(SERIES[one] for one in asked if one in SERIES), FCT, *numbers]
    near = difflib.get_close_matches(name, [*known, *_inner_names(scenario, asked)], n=1)
    probed = ", ".join(asked) or "nothing"
    hint = (
        f"did you mean {near[0]}?" if near else f"it probes {probed}; numbers are those of a sweep"
    )
    raise ConfigError(f"a run of this scenario has no {name} to draw; {hint}", key="figure")


def _number_names(scenario: Mapping[str, Any]) -> list[str]:
    """Every number that a panel may be of: a run's metrics, and a group's alone whether or not
    there are several groups, as each has a row."""
    return list(dict.fromkeys([*metrics.possible(scenario), *metrics.GROUP_COLUMNS]))


def _is_inner(name: str, scenario: Mapping[str, Any]) -> bool:
    """Is it a variable of a sender or router there? Of those in Python, any may be."""
    of = name.partition("_")[0]
    return name in _inner_names(scenario, [of]) or "python" in _kinds(scenario, of)


def _inner_names(scenario: Mapping[str, Any], asked: Sequence[str]) -> list[str]:
    """The inner variables that `sender` and `router` record, if they are asked for."""
    from clearpipe import api

    found = []
    for of, every in (("sender", api.protocols()), ("router", api.queues())):
        kinds = _kinds(scenario, of) if of in asked else set()
        for one in every:
            if one["name"] in kinds:
                found += [f"{of}_{variable['name']}" for variable in one["variables"]]
    return list(dict.fromkeys(found))


def _kinds(scenario: Mapping[str, Any], of: str) -> set[str]:
    tables = scenario.get("protocols" if of == "sender" else "queues", {}).values()
    under = [table["over"] for table in tables if isinstance(table.get("over"), dict)]
    return {str(table.get("kind")) for table in [*tables, *under]}


def _recorded(subject: Subject, result: Result) -> Iterator[Subject]:
    """The subject as the result has it: of `sender` and `router` each variable."""
    if subject.kind != "series":
        yield subject
        return
    found = [
        name
        for name in result.series_names
        if name == subject.name or (subject.name in INNER and name.startswith(f"{subject.name}_"))
    ]
    if not found:
        near = difflib.get_close_matches(subject.name, result.series_names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError(f"the run recorded no {subject.name}{hint}", key="figure")
    for name in found:
        yield Subject("series", name)


def _quantity(result: Result, name: str) -> charts.Quantity:
    names = result.series_names
    return next(q for q in charts.quantities([result]) if q.series(names) == name)


def _share_time(places: Sequence[Any], chosen: Sequence[Subject], end: float) -> None:
    """Panels against time have one axis, which the last of them names."""
    timed = [p for p, one in zip(places, chosen, strict=True) if one.kind == "series"]
    for place in timed:
        place.set_xlim(0, end)
        place.tick_params(labelbottom=place is timed[-1])
    if timed:
        timed[-1].set_xlabel("Time (s)")


def _series(axes: Any, result: Result, quantity: charts.Quantity) -> None:
    panel = charts.panel(result, quantity, charts.POINTS)
    if not panel.curves:
        axes.set_ylabel(_label(quantity))
        axes.text(0.5, 0.5, panel.note, transform=axes.transAxes, ha="center", color=SOFT)
        return
    section = charts.section(quantity, [panel], [result], "")
    axes.set_ylabel(_label(section.quantity))
    for depth, curve in enumerate(panel.curves):
        _curve(axes, panel, curve, zorder=2.5 if curve.thin else 4 - depth / 100)
    axes.set_ylim(section.bottom, section.top)
    note = " ".join(filter(None, (panel.note, section.note)))
    axes.text(0.995, 0.95, note, transform=axes.transAxes, ha="right", va="top", **SMALL)
    if quantity.inner:
        # Of any size, and without a unit.
        axes.yaxis.set_major_formatter(lambda value, _: units.number(value))
    if len(panel.curves) > 1:
        legend(axes, WIDTH - 0.8)


def _label(quantity: charts.Quantity) -> str:
    if quantity.inner:
        return quantity.id.replace("_", "\n", 1)
    return f"{quantity.title}\n({quantity.unit})" if quantity.unit else quantity.title


def _curve(axes: Any, panel: charts.Panel, curve: charts.Curve, zorder: float) -> None:
    color = COLORS[curve.color % len(COLORS)] if curve.color >= 0 else SOFT
    width, dash = (0.6, "-") if curve.thin else (0.8, "--") if curve.dashed else (1.0, "-")
    look = {"color": color, "linewidth": width, "label": curve.label, "zorder": zorder}
    look["drawstyle"] = "steps-post" if curve.step else "default"
    axes.plot(panel.x, curve.values, dash, **look)
    if curve.low is not None and curve.high is not None:
        step = "post" if curve.step else None
        band = {"color": color, "alpha": 0.15, "linewidth": 0}
        axes.fill_between(panel.x, curve.low, curve.high, step=step, **band)


class Row(NamedTuple):
    """A link's or group's number in every replication that has it."""

    name: str
    values: list[float]


def _rows(name: str, results: Sequence[Result]) -> list[Row]:
    """The rows of a number's panel: what it is of, and its values."""
    found: dict[str, list[float]] = {}
    for result in results:
        numbers = metrics.flat(result.summary, None)
        items = [("links", link["name"]) for link in result.summary["links"]]
        items += [("groups", group["group"]) for group in result.summary["groups"]]
        for table, item in items:
            full = f"{table}.{item}."
            column = name.removeprefix(full)
            if full + column in numbers:
                found.setdefault(item, []).append(numbers[full + column])
    return [Row(item, values) for item, values in found.items()][:MOST_ROWS]


def _numbers(axes: Any, name: str, rows: Sequence[Row], whole: bool) -> None:
    """A row for each link or group: the mean, every replication, and the mean's interval if the
    runs came to their end."""
    measure = metric_titles.of(name)
    scale = units.scale((value for row in rows for value in row.values), measure.unit)
    axes.set_xlabel(measure.heading(scale.unit))
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    if not rows:
        none = {"ha": "center", "va": "center", "color": SOFT}
        axes.text(0.5, 0.5, "No link or group has it.", transform=axes.transAxes, **none)
        return
    for number, row in enumerate(rows):
        values = [value / scale.factor for value in row.values]
        mean = math.fsum(values) / len(values)
        if len(values) > 1:
            axes.plot(
                values, [number] * len(values), "o", color=COLORS[0], alpha=0.35, markersize=3
            )
        if len(values) >= FEW and whole:
            half = t_interval(values).half
            axes.errorbar([mean], [number], xerr=half, color=COLORS[0], capsize=2, linewidth=1)
        axes.plot([mean], [number], "o", color=COLORS[0], markersize=5)
        told = {"xytext": (7, 3), "textcoords": "offset points", "fontsize": 7.5}
        axes.annotate(units.number(mean), (mean, number), **told)
    low, high = axes.dataLim.x0, axes.dataLim.x1
    # 0 is in sight, and there is room for the last value's figures.
    low, high = min(0.0, low), max(0.0, high) or 1.0
    axes.set_xlim(low - 0.05 * (high - low) * (low < 0), high + 0.12 * (high - low))
    least = min(len(row.values) for row in rows)
    if least > 1:
        bars = f"line: {100 * LEVEL:.0f} % interval" if least >= FEW else "too few for intervals"
        bars = bars if whole else "no interval: some were stopped before their end"
        note = f"large: mean; small: each of {least} replications; {bars}"
        axes.text(0.995, 1.0, note, transform=axes.transAxes, ha="right", va="bottom", **SMALL)
