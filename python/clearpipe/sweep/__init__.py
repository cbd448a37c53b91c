"""Sweeps: many runs of one scenario, in a store that survives anything.

from clearpipe import sweep

spec = sweep.load("sweep-rtt")
sweep.run(spec, "results/store")
table = sweep.table(spec, "results/store")   # an Arrow table, one row per run
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from clearpipe.sweep.runner import Options, OutOfTime, Sweep, Tally, Threads
from clearpipe.sweep.spec import Spec, load
from clearpipe.sweep.store import Store

__all__ = ["OutOfTime", "Spec", "Store", "Tally", "load", "run", "table"]


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
