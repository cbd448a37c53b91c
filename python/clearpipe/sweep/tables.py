"""The results of a sweep as one table: a row for each run, and a row for each point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import clearpipe as cp
from clearpipe import statistics
from clearpipe.sweep import metrics, runner
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Store


@dataclass(frozen=True)
class Row:
    """One run."""

    run: runner.Run
    state: str
    """`done`, `failed` or `missing`."""
    error: str
    metrics: dict[str, float]
    meta: dict[str, Any]


@dataclass(frozen=True)
class Table:
    """The runs of a sweep."""

    spec: Spec
    rows: list[Row]

    def of_point(self, point: Point) -> list[Row]:
        """The runs of a point that are done."""
        return [row for row in self.rows if row.run.point == point.number and row.state == "done"]

    def metric_names(self) -> list[str]:
        """Every metric that some run has."""
        names: dict[str, None] = {}
        for row in self.rows:
            names |= dict.fromkeys(row.metrics)
        return list(names)

    def columns(self) -> dict[str, list[Any]]:
        """Column by column: the axes, `seed`, `rep`, `state`, `error`, the metrics, `run`."""
        points = {point.number: point for point in self.spec.points}
        out: dict[str, list[Any]] = {}
        for axis in self.spec.axes:
            out[axis.name] = [points[row.run.point].coordinates[axis.name] for row in self.rows]
        out["seed"] = [row.run.seed for row in self.rows]
        out["rep"] = [row.run.rep for row in self.rows]
        out["state"] = [row.state for row in self.rows]
        out["error"] = [row.error for row in self.rows]
        for name in self.metric_names():
            out[name] = [row.metrics.get(name, math.nan) for row in self.rows]
        for name in ("model_version", "fingerprint"):
            out[name] = [str(row.meta.get(name, "")) for row in self.rows]
        out["run"] = [row.run.identity for row in self.rows]
        return out

    def interval(self, point: Point, metric: str) -> statistics.Interval | None:
        """A metric's mean over the replications of a point; None without a run that has it."""
        found = [r.metrics[metric] for r in self.of_point(point) if metric in r.metrics]
        return statistics.t_interval(found) if found else None

    def mixed_versions(self) -> dict[str, list[Row]]:
        """The runs by model version, if there are several."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.state == "done":
                found.setdefault(str(row.meta["model_version"]), []).append(row)
        return found if len(found) > 1 else {}


def read(spec: Spec, store: Store) -> Table:
    """All runs of a sweep, whatever became of them. With `until`, those that were asked for."""
    there, failed = store.present(), store.failed()
    most = spec.reps if spec.until is None else spec.until.max_reps
    rows: list[Row] = []
    seen: set[tuple[int, str]] = set()
    for one in runner.runs(spec, store, range(most)):
        if isinstance(one, tuple):
            point, error = one
            run = runner.invalid_run(spec, point, 0)
            rows.append(Row(run, "failed", str(error), {}, {}))
            continue
        if (one.point, one.identity) in seen:
            continue
        seen.add((one.point, one.identity))
        row = _row(one, store, there, failed)
        if row.state != "missing" or spec.until is None:
            rows.append(row)
    return Table(spec, rows)


def _row(run: runner.Run, store: Store, there: set[str], failed: dict[str, dict[str, Any]]) -> Row:
    if run.identity in there:
        summary = store.read_json(run.identity, "summary.json")
        meta = store.read_json(run.identity, "meta.json")
        return Row(run, "done", "", metrics.flat(summary), meta)
    if run.identity in failed:
        return Row(run, "failed", str(failed[run.identity].get("error", "")), {}, {})
    return Row(run, "missing", "", {}, {})


def arrow(table: Table) -> Any:
    """The table as a pyarrow.Table; anything that takes Arrow takes that.

    Raises UnsupportedError without pyarrow.
    """
    import importlib.util

    if importlib.util.find_spec("pyarrow") is None:
        raise cp.UnsupportedError("Arrow tables of a sweep need pyarrow: pip install pyarrow")
    import pyarrow

    return pyarrow.table(table.columns())


def csv(table: Table) -> str:
    """The table as CSV."""
    import csv as writing
    import io

    out = io.StringIO()
    columns = table.columns()
    writer = writing.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow("" if isinstance(x, float) and math.isnan(x) else x for x in row)
    return out.getvalue()


def points_with(spec: Spec, **chosen: str) -> Sequence[Point]:
    """The points with these coordinates."""
    return [p for p in spec.points if all(p.coordinates[k] == v for k, v in chosen.items())]
