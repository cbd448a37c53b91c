"""The figures of a sweep's `[plot]`: means with 95 % intervals over the replications."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearpipe import metric_titles, style, units
from clearpipe.statistics import FEW, Interval
from clearpipe.sweep import metrics, study
from clearpipe.sweep.results import Table
from clearpipe.sweep.spec import Axis, Plot, Point, Spec

FORMATS = ("png", "svg", "pdf")
MARKERS = "osD^vPX*"


def draw(table: Table, plot: Plot, folder: Path) -> list[Path]:
    """Draw one figure in every format. The files depend on the results and matplotlib alone."""
    style.check(folder / "x.png")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    plot = study.scaled(table, plot)
    panels = _panels(table.spec, plot)
    rows = len(plot.y)
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(style.STYLE):
        size = (max(4.2, 3.1 * len(panels)), 0.5 + 2.5 * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, len(panels), sharex=True, sharey="row", squeeze=False)
        for row, metric in enumerate(plot.y):
            by = _scale(table, metric, plot.y_scale)
            for column, (label, points) in enumerate(panels):
                place = axes[row, column]
                _panel(place, table, plot, metric, points)
                _numbers(place.yaxis, by, metric_titles.of(metric).unit)
                if row == 0 and label:
                    place.set_title(label, fontsize=9)
                if row == rows - 1:
                    place.set_xlabel(plot.x_label or _axis_label(table.spec, plot))
            own = plot.y_label if rows == 1 else ""
            axes[row, 0].set_ylabel(name(metric, by, table.links, own))
        if plot.title:
            figure.suptitle(plot.title, x=0.01, ha="left", fontsize=9, fontweight="bold")
        if plot.lines is not None:
            axes[0, -1].legend(**{**style.FRAMED, "ncols": 1})
        # Laid out once and not for every format.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        paths = [folder / f"{plot.name}.{kind}" for kind in FORMATS]
        for path in paths:
            style.save(figure, path, 200)
    return paths


MOST_PANELS = 24
"""More would make a file that no page holds, and that takes longer than the whole report."""


def panels(spec: Spec, plot: Plot) -> int:
    """How many sets of axes a figure has."""
    return len(plot.y) * len(_panels(spec, plot))


def name(metric: str, by: units.Scale, links: Sequence[str], own: str = "") -> str:
    """A metric as an axis says it, perhaps in the plot's own words, and what it is of: `links` are
    those that the points name."""
    item = metric_titles.owner(metric, links if metrics.is_of_link(metric) else ())
    shown = own or metric_titles.of(metric).heading(by.unit)
    return f"{shown}\n{item}" if item else shown


def _axis(spec: Spec, called: str) -> Axis:
    return next(axis for axis in spec.axes if axis.name == called)


def _panels(spec: Spec, plot: Plot) -> list[tuple[str, Sequence[Point]]]:
    if plot.panels is None:
        return [("", spec.points)]
    axis = _axis(spec, plot.panels)
    return [
        (
            f"{study.title(axis)}: {told}",
            [p for p in spec.points if p.coordinates[plot.panels] == label],
        )
        for label, told in zip(axis.labels, axis.told, strict=True)
    ]


def _axis_label(spec: Spec, plot: Plot) -> str:
    axis = _axis(spec, plot.x)
    by = _x_scale(axis, plot)
    title = study.title(axis)
    return f"{title} ({by.unit})" if by and by.unit else title


def _x_scale(axis: Axis, plot: Plot) -> units.Scale | None:
    """The unit of an axis of numbers; on a logarithmic one each number has its own."""
    found = axis.numbers
    if found is None:
        return None
    return units.Scale(1.0, "") if plot.x_scale == "log" else units.scale(*found)


def _scale(table: Table, metric: str, kind: str | None) -> units.Scale:
    """The same of a metric."""
    if kind == "log":
        return units.Scale(1.0, "")
    found = (table.interval(point, metric) for point in table.spec.points)
    return units.scale((one.mean for one in found if one), metric_titles.of(metric).unit)


def _numbers(axis: Any, by: units.Scale, unit: str) -> None:
    """Ticks as the house writes numbers: in the axis's unit, or each with its own."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def told(value: float, _: int) -> str:
        return units.number(value / by.factor, 6) if by.unit else units.tell(value, unit)

    axis.set_major_formatter(FuncFormatter(told))
    if axis.get_scale() == "log":
        axis.set_minor_formatter(NullFormatter())


def _panel(place: Any, table: Table, plot: Plot, metric: str, points: Sequence[Point]) -> None:
    spec = table.spec
    lines = [("", "")]
    if plot.lines is not None:
        of = _axis(spec, plot.lines)
        lines = list(zip(of.labels, of.told, strict=True))
    xs, ticks = _positions(_axis(spec, plot.x))
    for i, (line, told) in enumerate(lines):
        mine = [p for p in points if plot.lines is None or p.coordinates[plot.lines] == line]
        found = sorted(
            (
                (xs[p.coordinates[plot.x]], interval)
                for p in mine
                if (interval := table.interval(p, metric)) is not None
            ),
            key=operator.itemgetter(0),
        )
        _line(place, found, told, i)
    if ticks is not None:
        place.set_xticks(list(xs.values()), ticks)
    else:
        axis = _axis(spec, plot.x)
        if plot.x_scale == "log":
            place.set_xscale("log")
        by, numbers = _x_scale(axis, plot), axis.numbers
        if by and numbers:
            _numbers(place.xaxis, by, numbers[1])
    if plot.y_scale == "log":
        place.set_yscale("log")
    place.set_ylim(plot.y_min, plot.y_max)


def _positions(axis: Axis) -> tuple[dict[str, float], list[str] | None]:
    """Where each setting stands, and the tick labels of an axis that has no numbers."""
    found = axis.numbers
    if found is not None:
        return dict(zip(axis.labels, found[0], strict=True)), None
    return {label: float(i) for i, label in enumerate(axis.labels)}, list(axis.told)


def _line(place: Any, found: list[tuple[float, Interval]], label: str, number: int) -> None:
    if not found:
        return
    color = style.COLORS[number % len(style.COLORS)]
    x = [at for at, _ in found]
    means = [interval.mean for _, interval in found]
    halves = [interval.half if interval.n >= FEW else math.nan for _, interval in found]
    place.errorbar(
        x,
        means,
        yerr=halves,
        color=color,
        marker=MARKERS[number % len(MARKERS)],
        markersize=3.5,
        capsize=2,
        elinewidth=0.8,
        label=label or None,
    )
