"""`sweep export`: all runs of a sweep as Parquet files that data tools read in place.

    DIR/runs.parquet      a row for each run: axes, seed, replication, state, every metric
    DIR/groups.parquet    a row for each group of flows of each run that is done
    DIR/flows.parquet     a row for each flow
    DIR/links.parquet     a row for each link
    DIR/transfers.parquet a row for each transfer that came meanwhile, where there are such

Each table begins with the sweep's axes, `seed`, `rep` and `run`, the run's identity, which joins
them. An axis that is called like a column of the table itself has `axis_` before its name there.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clearpipe import atomic_files, seals
from clearpipe.errors import RunError, UnsupportedError
from clearpipe.sweep.results import Row, Table
from clearpipe.sweep.store import Store

TABLES = ("groups", "flows", "links", "transfers")
"""The tables of a result directory that are put together."""

# Rows that are kept in memory before they are written.
BATCH_ROWS = 200_000


def check() -> None:
    """Raises UnsupportedError without pyarrow."""
    if importlib.util.find_spec("pyarrow") is None:
        raise UnsupportedError("Parquet of a sweep needs pyarrow: pip install 'clearpipe[export]'")


def export(table: Table, store: Store, folder: Path) -> dict[str, int]:
    """Write the tables into `folder`, each whole or not at all; gives their numbers of rows.

    A sweep with `keep = "summary"` has the table of runs alone. Raises UnsupportedError without
    pyarrow, RunError for a run whose tables are not what was written.
    """
    check()
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    runs = pyarrow.table(_typed(table.columns()))
    with atomic_files.written(folder / "runs.parquet") as partial:
        parquet.write_table(runs, partial)
    told = {"runs": runs.num_rows}
    has_tables = table.spec.keep != "summary"
    done = [row for row in table.rows if row.state == "done" and has_tables]
    heads = _heads(table)
    for name in TABLES:
        path = folder / f"{name}.parquet"
        with atomic_files.written(path) as partial:
            rows = _write(partial, _parts(name, done, heads, store))
        if rows is not None:
            told[name] = rows
        else:
            # Of an earlier export.
            path.unlink(missing_ok=True)
    return told


def _typed(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Columns for pyarrow: a number that a run does not have is a gap, not a NaN."""
    return {
        name: [None if isinstance(x, float) and math.isnan(x) else x for x in values]
        for name, values in columns.items()
    }


def _heads(table: Table) -> dict[int, dict[str, Any]]:
    """What each row of a point's runs begins with: its axes, as `runs.parquet` has them."""
    columns = table.columns()
    first = list(columns).index("seed")
    names = list(columns)[:first]
    return {
        row.run.point: {name: columns[name][i] for name in names}
        for i, row in enumerate(table.rows)
    }


def _parts(
    name: str, rows: Sequence[Row], heads: Mapping[int, Mapping[str, Any]], store: Store
) -> Iterator[Any]:
    """The table of each run, with what tells the runs apart before its own columns."""
    import pyarrow
    from pyarrow import parquet

    for row in rows:
        path = _undamaged(store.directory(row.run.identity), name)
        if path is None:
            continue
        own = parquet.read_table(path)
        known = {"seed", "rep", "run", *own.column_names}
        axes = heads[row.run.point]
        about = {f"axis_{key}" if key in known else key: axes[key] for key in axes}
        about |= {"seed": row.run.seed, "rep": row.run.rep, "run": row.run.identity}
        head = pyarrow.table({key: [value] * own.num_rows for key, value in about.items()})
        for column in own.column_names:
            head = head.append_column(own.schema.field(column), own.column(column))
        yield head


def _undamaged(folder: Path, name: str) -> Path | None:
    """A table of a run; None if it has none. Raises RunError if it is not what was written."""
    path = folder / f"{name}.parquet"
    if not path.exists() and name == "transfers":
        return None
    damage = seals.read(folder, path.name)
    if isinstance(damage, seals.Damage):
        raise RunError(f"{damage.path}: {damage.reason}; `sweep run` finds and repeats it")
    return path


def _write(path: Path, parts: Iterator[Any]) -> int | None:
    """Writes tables one below the other, without having all of them in memory; None without any."""
    from pyarrow import parquet

    rows = held = 0
    waiting: list[Any] = []
    writer = None
    try:
        for part in parts:
            waiting.append(part)
            rows, held = rows + part.num_rows, held + part.num_rows
            if writer is None:
                writer = parquet.ParquetWriter(path, part.schema)
            if held >= BATCH_ROWS:
                writer.write_table(_joined(waiting, writer.schema))
                waiting, held = [], 0
        if writer is not None and waiting:
            writer.write_table(_joined(waiting, writer.schema))
    finally:
        if writer is not None:
            writer.close()
    return None if writer is None else rows


def _joined(parts: Sequence[Any], schema: Any) -> Any:
    import pyarrow

    return pyarrow.concat_tables([part.select(schema.names).cast(schema) for part in parts])
