"""What `report/study.js` is given of a sweep: axes, measures, points and every run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clearpipe import metric_titles, statistics
from clearpipe.report import html_base, lab
from clearpipe.sweep import metrics
from clearpipe.sweep.results import Table
from clearpipe.sweep.spec import Axis, Plot, Spec

MOST_VALUES = 120_000
"""So many numbers of runs are in a page, and the measures of the figures in any case; runs.csv has
all of them."""

SPREAD = 10.0
"""Settings that lie farther apart than that are on a logarithmic axis."""

FAR = 100.0
"""The same for what was measured."""


def study(table: Table, shown: Sequence[str], folder: Path) -> dict[str, Any]:
    """The page's data: `shown` are the metrics, those of the figures before the others."""
    spec = table.spec
    done = [row for row in table.rows if row.state == "done"]
    drawn = {metric for plot in spec.plots for metric in plot.y}
    most = MOST_VALUES // max(len(done), 1)
    kept = [m for number, m in enumerate(shown) if m in drawn or number < most]
    numbers = {point.number: n for n, point in enumerate(spec.points)}
    # A metric that some runs lack has an interval over fewer than all.
    most = max((len(found) for found in table.by_point.values()), default=0)
    return {
        "axes": [_axis(axis) for axis in spec.axes or (_nothing(spec),)],
        "measures": [_measure(metric, table) for metric in kept],
        "points": [_places(spec, point.coordinates) or [0] for point in spec.points],
        "plots": _plots(table, kept),
        "runs": {
            "point": [numbers[row.run.point] for row in done],
            "rep": [row.run.rep for row in done],
            "id": [row.run.identity for row in done],
        },
        "values": [html_base.finite(row.metrics.get(m) for row in done) for m in kept],
        "few": {
            "n": statistics.FEW,
            "this": statistics.few("The point has"),
            "some": statistics.few("Some points have"),
        },
        "t": {n: statistics.t_quantile(n - 1) for n in range(statistics.FEW, most + 1)},
        "seed": spec.seed,
        "command": command(spec),
        "lab": _in_lab(spec),
        "store": table.store,
        "href": _way(table.store, folder),
    }


def command(spec: Spec) -> str:
    """The start of the command that does a run of the sweep by itself."""
    engine = "" if spec.engine == "packet" else f" --engine {spec.engine}"
    sets = "".join(f" --set {shlex.quote(one)}" for one in spec.sets)
    # What was made in Python has no file; the page saves it as one of this name.
    file = f"{spec.name}.toml" if spec.source.name.startswith("<") else spec.source.name
    return f"clearpipe run {shlex.quote(file)}{engine}{sets}"


def _in_lab(spec: Spec) -> dict[str, Any] | None:
    """What `report/study.js` makes links to the lab of, where that can run the scenario."""
    folder = Path(spec.source.name).parent
    if spec.engine != "packet" or not lab.address() or not lab.can_run(spec.source.text, folder):
        return None
    sets = [*spec.sets, f"seed={spec.seed}"]
    of = [[_settings(axis, one) for one in axis.values] for axis in spec.axes]
    keys = len(sets) + sum(len(axis.keys) for axis in spec.axes)
    options = [*sets, *(one for axis in of for setting in axis for one in setting)]
    if keys > lab.MOST_SETS or not all(lab.can_set(one, folder) for one in options):
        return None
    return {"href": lab.address(), "toml": spec.source.text, "sets": sets, "of": of}


def _settings(axis: Axis, setting: Sequence[Any]) -> list[str]:
    """What `run --set` takes for one setting of an axis."""
    from clearpipe.sweep.spec import toml_value

    pairs = zip(axis.keys, setting, strict=True)
    return [f"{key}={toml_value(value)}" for key, value in pairs]


def _way(store: str, folder: Path) -> str:
    return Path(os.path.relpath(store, folder)).as_posix() if store else ""


def title(axis: Axis) -> str:
    """What an axis is called."""
    return metric_titles.key_title(axis.name, axis.keys)


def is_spread(values: Sequence[float], by: float = SPREAD) -> bool:
    """Do the values ask for a logarithmic axis?"""
    return len(values) > 1 and min(values) > 0 and max(values) >= by * min(values)


def scaled(table: Table, plot: Plot) -> Plot:
    """The figure with the scales that its values ask for where the file names none."""
    axis = next(axis for axis in table.spec.axes if axis.name == plot.x)
    return replace(
        plot,
        x_scale=plot.x_scale or ("log" if _is_log(axis) else "linear"),
        y_scale=plot.y_scale or ("log" if _is_far(table, plot) else "linear"),
    )


def _is_log(axis: Axis) -> bool:
    found = axis.numbers
    return found is not None and is_spread(found[0])


def _is_far(table: Table, plot: Plot) -> bool:
    """Does what was measured ask for it? Several measures do not, nor does a given lower end."""
    if len(plot.y) > 1 or plot.y_min is not None:
        return False
    found = (table.interval(point, plot.y[0]) for point in table.spec.points)
    return is_spread([interval.mean for interval in found if interval is not None], FAR)


def _nothing(spec: Spec) -> Axis:
    """Where nothing varies: the scenario alone."""
    return Axis("scenario", (), ((),), (spec.name,))


def _axis(axis: Axis) -> dict[str, Any]:
    found = axis.numbers
    sets = [
        " ".join(f"--set {shlex.quote(one)}" for one in _settings(axis, setting))
        for setting in axis.values
    ]
    return {
        "name": axis.name,
        "title": title(axis),
        "unit": found[1] if found else "",
        "numbers": found[0] if found else None,
        "labels": list(axis.told),
        "log": _is_log(axis),
        "sets": sets,
    }


def _measure(metric: str, table: Table) -> dict[str, str]:
    measure = metric_titles.of(metric)
    links = table.links if metrics.is_of_link(metric) else []
    return {
        "id": metric,
        "title": measure.title,
        "unit": measure.unit,
        "of": metric_titles.owner(metric, links),
    }


def _places(spec: Spec, coordinates: Any) -> list[int]:
    return [axis.at[coordinates[axis.name]] for axis in spec.axes]


def _plots(table: Table, kept: Sequence[str]) -> list[dict[str, Any]]:
    """The figures that the file asks for, or one that suits its axes."""
    spec = table.spec
    names = [axis.name for axis in spec.axes]

    def at(name: str | None) -> int:
        return -1 if name is None else names.index(name)

    made = [_given(scaled(table, plot), kept, at) for plot in spec.plots]
    if made:
        return made
    # What has numbers lies along, then what has most settings.
    free = [n for n, axis in enumerate(spec.axes) if len(axis.labels) > 1]
    free.sort(key=lambda n: (spec.axes[n].numbers is None, -len(spec.axes[n].labels)))
    x, lines, panels = [*free, -1, -1, -1][:3]
    return [
        {
            "title": "Overview",
            "x": max(x, 0),
            "lines": lines,
            "panels": panels,
            "y": list(range(min(len(kept), 3))),
            "log": x >= 0 and _is_log(spec.axes[x]),
            "ylog": False,
        }
    ]


def _given(plot: Plot, kept: Sequence[str], at: Any) -> dict[str, Any]:
    return {
        "title": plot.title or plot.name,
        "x": at(plot.x),
        "lines": at(plot.lines),
        "panels": at(plot.panels),
        "y": [kept.index(metric) for metric in plot.y if metric in kept],
        "log": plot.x_scale == "log",
        "ylog": plot.y_scale == "log",
        "xTitle": plot.x_label,
        "yTitle": plot.y_label,
        "low": plot.y_min,
        "high": plot.y_max,
    }
