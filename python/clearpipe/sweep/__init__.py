"""Sweeps: many runs of one scenario, in a store that survives anything.

from clearpipe import sweep

spec = sweep.load("sweep-rtt")
sweep.run(spec, "results/store")
table = sweep.table(spec, "results/store")   # an Arrow table, one row per run
sweep.export(spec, "results/store", "data")  # Parquet files of runs, groups, flows, links
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from clearpipe.sweep.runner import Options, OutOfTime, Sweep, Tally, Threads
from clearpipe.sweep.spec import Spec, load
from clearpipe.sweep.store import Store

__all__ = ["OutOfTime", "Spec", "Store", "Tally", "export", "load", "run", "table"]


def run(spec: Spec, store: str | PathLike[str], *, jobs: int | None = None) -> Tally:
    """Do what is missing of a sweep, `jobs` runs at a time."""
    from clearpipe.sweep.progress import Watching

    return Sweep(spec, Store(Path(store)), Threads(jobs), Options(), Watching()).run()


def table(spec: Spec, store: str | PathLike[str]) -> Any:
    """All runs of a sweep as one pyarrow.Table.

    Columns: each axis, `seed`, `rep`, `state`, `error`, `link`, every metric of a run's summary,
    `model_version`, `fingerprint`, `run`; of `link` are the links' metrics without a name. Raises
    UnsupportedError without pyarrow.
    """
    from clearpipe.sweep import results

    return results.arrow(results.read(spec, Store(Path(store))))


def export(spec: Spec, store: str | PathLike[str], folder: str | PathLike[str]) -> dict[str, int]:
    """Write all runs of a sweep as Parquet files into `folder`; gives their numbers of rows.

    `runs.parquet` has a row for each run; `groups`, `flows`, `links` and perhaps `transfers` have
    those of all runs, each with the axes, `seed`, `rep` and `run` before it. Raises
    UnsupportedError without pyarrow.
    """
    from clearpipe.sweep import dataset, results

    place = Store(Path(store))
    return dataset.export(results.read(spec, place), place, Path(folder))
