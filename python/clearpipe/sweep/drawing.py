"""The figures of a sweep's `[plot]`: means with 95 % intervals over the replications."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearpipe import style
from clearpipe.statistics import Interval
from clearpipe.sweep import metrics
from clearpipe.sweep.results import Table
from clearpipe.sweep.spec import Axis, Plot, Point, Spec, split_quantity

FORMATS = ("png", "svg", "pdf")
MARKERS = "osD^vPX*"

# How the ticks of an axis in these units are written, with a prefix such as m or M.
SHOWN = {"s": "s", "bps": "b/s", "B": "B"}
UNITS = {"bps": "b/s", "pkts": "packets", "bytes": "bytes", "s": "s", "ratio": "", "": ""}


def draw(table: Table, plot: Plot, folder: Path) -> list[Path]:
    """Draw one figure in every format. The files depend on the results and matplotlib alone."""
    style.check(folder / "x.png")
    check(table, plot)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    panels = _panels(table.spec, plot)
    rows = len(plot.y)
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(style.STYLE):
        size = (max(4.2, 3.1 * len(panels)), 0.5 + 2.5 * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, len(panels), sharex=True, sharey="row", squeeze=False)
        for row, metric in enumerate(plot.y):
            for column, (label, points) in enumerate(panels):
                place = axes[row, column]
                _panel(place, table, plot, metric, points)
                if row == 0 and label:
                    place.set_title(label, fontsize=9)
                if row == rows - 1:
                    place.set_xlabel(plot.x_label or _axis_label(table.spec, plot.x))
            own = plot.y_label if rows == 1 else ""
            axes[row, 0].set_ylabel(name(metric, table.links, own))
        if plot.title:
            figure.suptitle(plot.title, x=0.01, ha="left", fontsize=9, fontweight="bold")
        if plot.lines is not None:
            axes[0, -1].legend(fontsize=8)
        paths = [folder / f"{plot.name}.{kind}" for kind in FORMATS]
        for path in paths:
            style.save(figure, path, 200)
    return paths


def check(table: Table, plot: Plot) -> None:
    """Raises ConfigError for a metric that no run has."""
    done = [row.metrics for row in table.rows if row.state == "done"]
    known: dict[str, float] = {}
    for found in done:
        known |= found
    for metric in plot.y:
        if done:
            metrics.check(metric, known, f"{table.spec.source.name}: {plot.key}.y")


def name(metric: str, links: Sequence[str], own: str = "") -> str:
    """A metric as an axis says it, perhaps in the plot's own words, and what it is of: `links` are
    those that the points name."""
    item, _, column = metric.rpartition(".")
    if metrics.is_of_link(metric) and links:
        item = f"links.{' or '.join(links)}"
    unit = metrics.unit(metric)
    words = column.removesuffix(f"_{unit}").replace("_", " ")
    shown = own or (f"{words} ({UNITS[unit]})" if UNITS[unit] else words)
    return f"{shown}\n{item}" if item else shown


def _axis(spec: Spec, called: str) -> Axis:
    return next(axis for axis in spec.axes if axis.name == called)


def _panels(spec: Spec, plot: Plot) -> list[tuple[str, Sequence[Point]]]:
    if plot.panels is None:
        return [("", spec.points)]
    return [
        (
            f"{plot.panels} = {label}",
            [p for p in spec.points if p.coordinates[plot.panels] == label],
        )
        for label in _axis(spec, plot.panels).labels
    ]


def _axis_label(spec: Spec, called: str) -> str:
    unit = _unit(_axis(spec, called))
    return f"{called} ({unit})" if unit and unit not in SHOWN else called


def _unit(axis: Axis) -> str:
    """The base unit of an axis of quantities, or nothing."""
    number = split_quantity(axis.values[0][0]) if len(axis.keys) == 1 else None
    return number[1] if number else ""


def _panel(place: Any, table: Table, plot: Plot, metric: str, points: Sequence[Point]) -> None:
    spec = table.spec
    lines = _axis(spec, plot.lines).labels if plot.lines is not None else ("",)
    xs, ticks = _positions(_axis(spec, plot.x))
    for i, line in enumerate(lines):
        mine = [p for p in points if plot.lines is None or p.coordinates[plot.lines] == line]
        found = sorted(
            (
                (xs[p.coordinates[plot.x]], interval)
                for p in mine
                if (interval := table.interval(p, metric)) is not None
            ),
            key=operator.itemgetter(0),
        )
        _line(place, found, line, i)
    if ticks is not None:
        place.set_xticks(list(xs.values()), ticks)
    else:
        if plot.x_scale == "log":
            place.set_xscale("log")
        unit = _unit(_axis(spec, plot.x))
        if unit in SHOWN:
            from matplotlib.ticker import EngFormatter

            place.xaxis.set_major_formatter(EngFormatter(unit=SHOWN[unit]))
    if plot.y_scale == "log":
        place.set_yscale("log")
    place.set_ylim(plot.y_min, plot.y_max)


def _positions(axis: Axis) -> tuple[dict[str, float], list[str] | None]:
    """Where each setting stands, and the tick labels of an axis that has no numbers."""
    numbers = [split_quantity(value[0]) if len(axis.keys) == 1 else None for value in axis.values]
    known = [number for number in numbers if number is not None]
    if len(known) == len(numbers) and len({unit for _, unit in known}) == 1:
        return {label: x for label, (x, _) in zip(axis.labels, known, strict=True)}, None
    return {label: float(i) for i, label in enumerate(axis.labels)}, list(axis.labels)


def _line(place: Any, found: list[tuple[float, Interval]], label: str, number: int) -> None:
    if not found:
        return
    color = style.COLORS[number % len(style.COLORS)]
    x = [at for at, _ in found]
    means = [interval.mean for _, interval in found]
    halves = [interval.half if math.isfinite(interval.half) else 0.0 for _, interval in found]
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
