"""`sweep export`: one dataset that data tools read in place."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas
import polars
import pytest
from pyarrow import parquet
from sweeping import BASE, call, write
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import sweep
from clearpipe.cli import app
from clearpipe.sweep import dataset
from clearpipe.sweep.store import Store

# The second axis is called like a column of the tables of groups and flows.
SWEEP = """[sweep]
reps = 2
vary."topology.rtt" = ["10ms", "20ms"]
[[sweep.zip]]
name = "protocol"
"flows.a.protocol" = ["reno", "vegas"]
"""


@pytest.fixture
def done(tmp_path: Path) -> Path:
    file = write(tmp_path, SWEEP)
    sweep.run(sweep.load(file), tmp_path / "results/store")
    return file


def test_all_runs_in_one_dataset(tmp_path: Path, done: Path) -> None:
    told = call("sweep", "export", done, "--out", "data", cwd=tmp_path).stdout
    assert told.splitlines() == [
        "data/runs.parquet: 8 rows",
        "data/groups.parquet: 8 rows",
        "data/flows.parquet: 16 rows",
        "data/links.parquet: 16 rows",
    ]
    runs = polars.read_parquet(tmp_path / "data/runs.parquet")
    flows = polars.read_parquet(tmp_path / "data/flows.parquet")
    assert runs["topology.rtt_s"].to_list() == [0.01] * 4 + [0.02] * 4
    assert runs["state"].unique().to_list() == ["done"]
    assert flows.columns[:6] == [
        "topology.rtt",
        "topology.rtt_s",
        "axis_protocol",
        "seed",
        "rep",
        "run",
    ]
    assert flows["protocol"].to_list() == flows["axis_protocol"].to_list()
    # A run by itself has the same numbers.
    options = ["topology.rtt=20ms", "flows.a.protocol=vegas"]
    alone = cp.run(BASE, set=options, rep=1)
    mine = flows.filter(polars.col("run") == alone.meta["identity"])
    assert mine["delivered_bytes"].to_list() == list(alone.flows.column("delivered_bytes"))
    row = runs.row(by_predicate=polars.col("run") == alone.meta["identity"], named=True)
    link = alone.summary["links"][0]
    assert row["links.bottleneck.queue_mean_pkts"] == link["queue_mean_pkts"]
    assert row["fingerprint"] == alone.fingerprint
    # A metric that no run has a value of is a gap, and joins hold.
    frame = pandas.read_parquet(tmp_path / "data/groups.parquet")
    joined = frame.merge(pandas.read_parquet(tmp_path / "data/runs.parquet"), on="run")
    assert len(joined) == 8
    assert (joined["timeouts_x"] == joined["groups.a.timeouts"]).all()


def test_an_export_takes_the_place_of_the_last(tmp_path: Path, done: Path) -> None:
    spec, store = sweep.load(done), tmp_path / "results/store"
    first = sweep.export(spec, store, tmp_path / "data")
    (tmp_path / "data/transfers.parquet").write_text("of a scenario that had some")
    assert sweep.export(spec, store, tmp_path / "data") == first
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == [
        "flows.parquet",
        "groups.parquet",
        "links.parquet",
        "runs.parquet",
    ]


def test_missing_runs_are_rows_and_damage_is_an_error(tmp_path: Path, done: Path) -> None:
    spec, store = sweep.load(done, reps=3), Store(tmp_path / "results/store")
    assert sweep.export(spec, store.path, tmp_path / "data")["runs"] == 12
    states = polars.read_parquet(tmp_path / "data/runs.parquet")["state"].to_list()
    assert states.count("missing") == 4
    one = store.directory(sorted(store.present())[0]) / "flows.parquet"
    one.write_bytes(one.read_bytes()[:-1])
    with pytest.raises(cp.RunError, match=r"flows\.parquet.*sweep run"):
        sweep.export(spec, store.path, tmp_path / "data")


def test_transfers_where_there_are_some(tmp_path: Path) -> None:
    base = BASE.replace('start = "uniform(0s, 100ms)"', 'arrivals = "poisson(20/s)"\nsize = "10kB"')
    file = write(tmp_path, SWEEP, base.replace("count = 2\n", ""))
    sweep.run(sweep.load(file), tmp_path / "store")
    told = sweep.export(sweep.load(file), tmp_path / "store", tmp_path / "data")
    runs = polars.read_parquet(tmp_path / "data/runs.parquet")
    assert told["transfers"] == runs["groups.a.flows"].sum() > 50


def test_summaries_have_the_table_of_runs(tmp_path: Path) -> None:
    file = write(tmp_path, SWEEP.replace("reps = 2", 'reps = 1\nkeep = "summary"'))
    sweep.run(sweep.load(file), tmp_path / "store")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/flows.parquet").write_text("of a sweep that kept all")
    told = sweep.export(sweep.load(file), tmp_path / "store", tmp_path / "data")
    assert told == {"runs": 4}
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["runs.parquet"]


def test_long_tables_are_written_piece_by_piece(
    tmp_path: Path, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, store = sweep.load(done), tmp_path / "results/store"
    sweep.export(spec, store, tmp_path / "one")
    # Each run has two flows: two runs fill a piece.
    monkeypatch.setattr(dataset, "BATCH_ROWS", 4)
    sweep.export(spec, store, tmp_path / "pieces")
    one, pieces = (tmp_path / name / "flows.parquet" for name in ("one", "pieces"))
    assert parquet.ParquetFile(pieces).num_row_groups == 4
    assert polars.read_parquet(pieces).equals(polars.read_parquet(one))


def test_what_is_missing_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    empty = CliRunner().invoke(app, ["sweep", "export", str(done), "--seed", "9"])
    assert empty.exit_code == 1
    assert "no run of this sweep yet" in empty.stderr
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    lacking = CliRunner().invoke(app, ["sweep", "export", str(done)])
    assert lacking.exit_code == 5
    assert lacking.stderr == (
        "clearpipe: Parquet of a sweep needs pyarrow: pip install 'clearpipe[export]'\n"
    )
