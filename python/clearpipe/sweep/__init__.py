"""Sweeps: many runs of one scenario, in a store that survives anything.

from clearpipe import sweep

spec = sweep.load("sweep-rtt")
sweep.run(spec, "results/store")
table = sweep.table(spec, "results/store")   # an Arrow table, one row per run
table = sweep.points(spec, "results/store")  # one row per point: means and 95 % intervals
sweep.report(spec, "results/store", "page")  # report.html, runs.csv, the figures of [plot]
sweep.figure(spec, "results/store", "page")  # the figures alone: PNG, SVG, PDF
sweep.export(spec, "results/store", "data")  # Parquet files of runs, groups, flows, links
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe.errors import ConfigError

if TYPE_CHECKING:
    from clearpipe.sweep.runner import OutOfTime, Tally
    from clearpipe.sweep.spec import Spec, load
    from clearpipe.sweep.store import Store

# Where the names are from that are imported when they are asked for.
_FROM = {
    "OutOfTime": "runner",
    "Tally": "runner",
    "Spec": "spec",
    "load": "spec",
    "Store": "store",
}


def __getattr__(name: str) -> Any:
    if name in _FROM:
        return getattr(import_module(f"clearpipe.sweep.{_FROM[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "OutOfTime",
    "Spec",
    "Store",
    "Tally",
    "export",
    "figure",
    "load",
    "points",
    "report",
    "run",
    "table",
]


def run(spec: Spec, store: str | PathLike[str], *, jobs: int | None = None) -> Tally:
    """Do what is missing of a sweep, `jobs` runs at a time."""
    from clearpipe.sweep.progress import Watching
    from clearpipe.sweep.runner import Options, Sweep, Threads
    from clearpipe.sweep.store import Store

    return Sweep(spec, Store(store), Threads(jobs), Options(), Watching()).run()


def table(spec: Spec, store: str | PathLike[str]) -> Any:
    """All runs of a sweep as one pyarrow.Table.

    Columns: each axis, `seed`, `rep`, `state`, `error`, `link`, every metric of a run's summary,
    `model_version`, `fingerprint`, `run`; of `link` are the links' metrics without a name. Raises
    UnsupportedError without pyarrow.
    """
    from clearpipe.sweep import results
    from clearpipe.sweep.store import Store

    return results.arrow(results.read(spec, Store(store)).columns())


def points(spec: Spec, store: str | PathLike[str]) -> Any:
    """The points of a sweep as one pyarrow.Table, a row for each, with means and intervals.

    Columns: each axis, `runs`, and of every metric its mean under its own name, `NAME_half` (half
    of the 95 % interval; null for fewer than three runs), `NAME_min`, `NAME_max`, and `NAME_n`, the
    runs that have it. An axis that is called like one of the others has `axis_` before its name.
    Raises UnsupportedError without pyarrow.
    """
    from clearpipe.sweep import results
    from clearpipe.sweep.store import Store

    return results.arrow(results.points(results.read(spec, Store(store))))


def report(spec: Spec, store: str | PathLike[str], folder: str | PathLike[str]) -> Path:
    """Write what `clearpipe sweep report` writes into `folder`; gives the path of its report.html.

    The page and runs.csv need nothing; the figures of [plot] as files need matplotlib and are left
    out without it.
    """
    from clearpipe.sweep import page, results
    from clearpipe.sweep.store import Store

    return page.render(results.read(spec, Store(store)), Path(folder))[0]


def figure(
    spec: Spec,
    store: str | PathLike[str],
    folder: str | PathLike[str],
    name: str | None = None,
) -> list[Path]:
    """Draw the figures of the sweep's [plot] into `folder`, or the one of that `name`; gives the
    files: PNG, SVG and PDF of each.

    Raises ConfigError for a name that the file does not have, UnsupportedError without
    matplotlib.
    """
    from clearpipe.sweep import drawing, results
    from clearpipe.sweep.store import Store

    wanted = spec.plots if name is None else [plot for plot in spec.plots if plot.name == name]
    if not wanted:
        known = ", ".join(plot.name for plot in spec.plots) or "none"
        called = "a figure" if name is None else f"a figure called {name!r}"
        where = str(spec.source.name)
        raise ConfigError(
            f"{where}: plot: {called} is wanted; the file has: {known}", file=where, key="plot"
        )
    table = results.read(spec, Store(store))
    return [path for plot in wanted for path in drawing.draw(table, plot, Path(folder))]


def export(spec: Spec, store: str | PathLike[str], folder: str | PathLike[str]) -> dict[str, int]:
    """Write all runs of a sweep as Parquet files into `folder`; gives their numbers of rows.

    `runs.parquet` has a row for each run; `groups`, `flows`, `links` and perhaps `transfers` have
    those of all runs, each with the axes, `seed`, `rep` and `run` before it. Raises
    UnsupportedError without pyarrow.
    """
    from clearpipe.sweep import dataset, results
    from clearpipe.sweep.store import Store

    place = Store(store)
    return dataset.export(results.read(spec, place), place, Path(folder))
