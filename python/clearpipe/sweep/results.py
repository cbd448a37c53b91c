"""The results of a sweep as one table: a row for each run, and a row for each point."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import clearpipe as cp
from clearpipe import _core, statistics, units
from clearpipe.sweep import runner
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Store


@dataclass(frozen=True)
class Row:
    """One run."""

    run: runner.Run
    state: str
    """`done`, `failed`, `damaged` or `missing`."""
    error: str
    metrics: dict[str, float]
    model_version: str = ""
    fingerprint: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    """The versions of what it used."""


@dataclass(frozen=True)
class Table:
    """The runs of a sweep."""

    spec: Spec
    rows: list[Row]
    other_models: dict[str, list[str]] = field(default_factory=dict)
    """By what they are of, runs of this sweep that are there and not used."""
    store: str = ""
    """The directory of the runs, one in each below it."""

    @functools.cached_property
    def by_point(self) -> dict[int, list[Row]]:
        """The runs that are done, by their point's number."""
        found: dict[int, list[Row]] = {}
        for row in self.rows:
            if row.state == "done":
                found.setdefault(row.run.point, []).append(row)
        return found

    def of_point(self, point: Point) -> list[Row]:
        """The runs of a point that are done."""
        return self.by_point.get(point.number, [])

    def metric_names(self) -> list[str]:
        """Every metric that some run has."""
        return list(self._metric_names)

    @functools.cached_property
    def _metric_names(self) -> dict[str, None]:
        # Most runs have the same ones, in the same order.
        kinds = dict.fromkeys(tuple(row.metrics) for row in self.rows)
        return dict.fromkeys(name for names in kinds for name in names)

    def columns(self) -> dict[str, list[Any]]:
        """All of them, with those of the metrics."""
        return self.columns_about(self._metrics())

    def columns_about(self, metrics: Mapping[str, list[float]]) -> dict[str, list[Any]]:
        """Column by column: the axes, `seed`, `rep`, `state`, `error`, `link`, the metrics, `run`.

        An axis of quantities has a second column, in numbers, whose name ends in the unit. `link`
        is the one that a link's metrics without a name are of. An axis that is called like another
        column has `axis_` before its name.
        """
        points = {point.number: point for point in self.spec.points}
        axes: dict[str, list[Any]] = {}
        own: dict[str, list[Any]] = {
            "seed": [row.run.seed for row in self.rows],
            "rep": [row.run.rep for row in self.rows],
            "state": [row.state for row in self.rows],
            "error": [row.error for row in self.rows],
            "link": [row.run.bottleneck for row in self.rows],
        }
        own |= metrics
        own["model_version"] = [row.model_version for row in self.rows]
        own["fingerprint"] = [row.fingerprint for row in self.rows]
        own["run"] = [row.run.identity for row in self.rows]
        for axis in self.spec.axes:
            labels = [points[row.run.point].coordinates[axis.name] for row in self.rows]
            axes[_free(axis.name, axes, own)] = labels
            if (found := axis.numbers) is not None and found[1]:
                at = dict(zip(axis.labels, found[0], strict=True))
                suffix = units.SAME.get(found[1], found[1])
                axes[_free(f"{axis.name}_{suffix}", axes, own)] = [at[label] for label in labels]
        return {**axes, **own}

    def _metrics(self) -> dict[str, list[float]]:
        """The metrics column by column, NaN where a run does not have one."""
        names = tuple(self._metric_names)
        rows = [
            tuple(row.metrics.values())
            if tuple(row.metrics) == names
            else [row.metrics.get(name, math.nan) for name in names]
            for row in self.rows
        ]
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    @functools.cached_property
    def bottlenecks(self) -> dict[int, str | None]:
        """The link that each point's scenario names, by the point's number, run or not."""
        return {row.run.point: row.run.bottleneck for row in self.rows}

    def link(self, point: Point) -> str | None:
        """The link that a point's metrics without a link's name are of."""
        return self.bottlenecks.get(point.number)

    @functools.cached_property
    def loaded(self) -> list[str]:
        """The links that carried a packet in some run."""
        names = self.metric_names()
        found = [name for name in names if re.fullmatch(r"links\..*\.total_departures_pkts", name)]
        used = [name for name in found if any(row.metrics.get(name, 0) > 0 for row in self.rows)]
        return [name.removeprefix("links.").rpartition(".")[0] for name in used]

    @functools.cached_property
    def links(self) -> list[str]:
        """The links that the points name, each once."""
        found = map(self.link, self.spec.points)
        return list(dict.fromkeys(link for link in found if link is not None))

    def interval(self, point: Point, metric: str) -> statistics.Interval | None:
        """A metric's mean over the replications of a point; None without a run that has it."""
        key = (point.number, metric)
        if key not in self._intervals:
            found = [r.metrics[metric] for r in self.of_point(point) if metric in r.metrics]
            self._intervals[key] = statistics.t_interval(found) if found else None
        return self._intervals[key]

    @functools.cached_property
    def _intervals(self) -> dict[tuple[int, str], statistics.Interval | None]:
        # Tables, figures and notes ask for the same ones.
        return {}


def read(spec: Spec, store: Store) -> Table:
    """All runs of a sweep, whatever became of them. With `until`, those that were asked for."""
    there, failed = store.present(), store.failed()
    asked = _asked(spec, store)
    mine = [
        (one.identity, one.bottleneck)
        for one, error in asked
        if error is None and one.identity in there
    ]
    found = iter(store.read_numbers(mine))
    rows = []
    for run, error in asked:
        if error is not None:
            rows.append(Row(run, "failed", error, {}))
        elif run.identity in there:
            numbers, damage = next(found)
            rows.append(
                Row(run, "damaged", damage, {})
                if numbers is None
                else Row(run, "done", "", *numbers)
            )
        elif run.identity in failed:
            rows.append(Row(run, "failed", str(failed[run.identity].get("error", "")), {}))
        else:
            rows.append(Row(run, "missing", "", {}))
    return Table(spec, rows, runner.of_other_models(spec, store), str(store.runs))


def _asked(spec: Spec, store: Store) -> list[tuple[runner.Run, str | None]]:
    """The runs that a sweep asks for, each once for a point, and why one cannot be."""
    found: dict[tuple[int, str], tuple[runner.Run, str | None]] = {}
    for one in runner.asked(spec, store):
        if isinstance(one, runner.Run):
            found.setdefault((one.point, one.identity), (one, None))
            continue
        point, error = one
        for rep in range(runner.invalid_reps(spec)):
            run = runner.invalid_run(spec, point, rep)
            found[run.point, run.identity] = run, str(error)
    return list(found.values())


def _free(name: str, *columns: Mapping[str, Any]) -> str:
    """The name of an axis's column: no other's."""
    while any(name in taken for taken in columns):
        name = f"axis_{name}"
    return name


def arrow(columns: Mapping[str, list[Any]]) -> Any:
    """Columns as a pyarrow.Table; anything that takes Arrow takes that.

    Raises UnsupportedError without pyarrow.
    """
    import importlib.util

    if importlib.util.find_spec("pyarrow") is None:
        raise cp.UnsupportedError("Arrow tables of a sweep need pyarrow: pip install pyarrow")
    import pyarrow

    return pyarrow.table(dict(columns))


def points(table: Table) -> dict[str, list[Any]]:
    """A row for each point: the axes' labels, `runs`, and of each metric mean, half of the 95 %
    interval (None for fewer than three runs), least, most and `n`, the runs that have it. An axis
    that is called like another column has `axis_` before its name."""
    axes: dict[str, list[Any]] = {}
    out: dict[str, list[Any]] = {
        "runs": [len(table.of_point(point)) for point in table.spec.points],
    }
    for metric in table.metric_names():
        found = [
            [row.metrics[metric] for row in table.of_point(point) if metric in row.metrics]
            for point in table.spec.points
        ]
        means = [statistics.t_interval(values) if values else None for values in found]
        out[metric] = [None if one is None else one.mean for one in means]
        out[f"{metric}_half"] = [
            None if one is None or one.n < statistics.FEW else one.half for one in means
        ]
        out[f"{metric}_min"] = [min(values, default=None) for values in found]
        out[f"{metric}_max"] = [max(values, default=None) for values in found]
        out[f"{metric}_n"] = [len(values) for values in found]
    for axis in table.spec.axes:
        labels = [point.coordinates[axis.name] for point in table.spec.points]
        axes[_free(axis.name, axes, out)] = labels
    return {**axes, **out}


# The columns behind those of the metrics.
_KNOWN_BY = ("model_version", "fingerprint", "run")


def csv(table: Table) -> str:
    """The table as CSV."""
    names = table.metric_names()
    columns = table.columns_about({name: [] for name in names})
    about = [name for name in columns if name not in set(names)]
    # The metrics are before what a run is known by.
    sides = about[: -len(_KNOWN_BY)], about[-len(_KNOWN_BY) :]
    before, after = (
        _lines([[name, *map(_cell, columns[name])] for name in side]) for side in sides
    )
    if not names:
        return "".join(f"{x},{y}\n" for x, y in zip(before, after, strict=True))
    cells = _lines([[name] for name in names])
    cells += _core.csv_cells(names, [row.metrics for row in table.rows])
    return "".join(f"{x},{c},{y}\n" for x, c, y in zip(before, cells, after, strict=True))


def _lines(columns: Iterable[Sequence[object]]) -> list[str]:
    """Columns as lines of CSV, without their ends."""
    import csv as writing

    lines: list[str] = []
    out = SimpleNamespace(write=lines.append)
    writing.writer(out, lineterminator="").writerows(zip(*columns, strict=True))
    return lines


# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _cell(value: object) -> object:
    """A cell; a text that a spreadsheet would compute has an apostrophe before it."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
