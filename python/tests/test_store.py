"""The result directory: whole or not there, and read back as it was written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import clearpipe as cp
from clearpipe import _core, atomic_files


def test_a_result_is_read_back_as_it_was(result: cp.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "deep" / "run")
    again = cp.load(tmp_path / "deep" / "run")
    assert again.meta == result.meta
    assert again.summary == result.summary
    assert again.scenario_toml == result.scenario_toml
    assert again.series_names == result.series_names
    assert pa.table(again.flows) == pa.table(result.flows)
    assert pa.table(again.links) == pa.table(result.links)
    assert pa.table(again.groups) == pa.table(result.groups)
    assert again.transfers is None
    for name in result.series_names:
        assert pa.table(again.series(name)) == pa.table(result.series(name))


def test_the_files_are_what_other_tools_read(result: cp.Result, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    run = tmp_path / "run"
    result.write(run)
    assert pq.read_table(run / "flows.parquet") == pa.table(result.flows)
    assert json.loads((run / "meta.json").read_text())["fingerprint"] == result.fingerprint
    assert cp.run(run / "run.toml").fingerprint == result.fingerprint


def test_nothing_is_overwritten_silently(small: str, result: cp.Result, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result.write(run)
    with pytest.raises(FileExistsError):
        result.write(run)
    with pytest.raises(FileExistsError):
        _core.check_writable(str(run))
    cp.run(small, seed=2).write(run, replace=True)
    assert cp.load(run).meta["seed"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_is_not_a_result_is_left_alone(result: cp.Result, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    with pytest.raises(cp.RunError, match="not a result directory"):
        result.write(tmp_path / "home", replace=True)
    with pytest.raises(cp.RunError, match="not a result directory"):
        cp.load(tmp_path / "home")
    with pytest.raises(cp.RunError, match="not a result directory"):
        cp.load(tmp_path / "nowhere")


def test_an_unwritable_place_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file") as caught:
        _core.check_writable(str(tmp_path / "file" / "run"))
    assert caught.value.errno in (errno.ENOTDIR, errno.EEXIST)
    _core.check_writable(str(tmp_path / "fine"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_damaged_result_is_a_run_error(result: cp.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "run")
    (tmp_path / "run" / "summary.json").write_text("{}")
    with pytest.raises(cp.RunError, match=r"summary\.json"):
        cp.load(tmp_path / "run")


@pytest.mark.parametrize("after_s", [0.002, 0.01, 0.03, 0.1, 0.3])
def test_a_killed_writer_leaves_no_half_result(
    small: str, result: cp.Result, tmp_path: Path, after_s: float
) -> None:
    run = tmp_path / "run"
    code = f"""
import clearpipe as cp
result = cp.run({small!r}, seed=1)
print("writing", flush=True)
while True:
    result.write({str(run)!r}, replace=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        time.sleep(after_s)
        child.kill()
    assert {path.name for path in tmp_path.iterdir()} <= {"run", ".partial-run", ".replaced-run"}
    if run.exists():
        assert cp.load(run).fingerprint == result.fingerprint
    result.write(run, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_only_what_was_written_here_is_cleared_away(tmp_path: Path) -> None:
    """A program that died in between left its file; those of others are theirs."""
    ours = [".partial-4711-140213-report.html", ".partial-1-2-a-b\n.csv"]
    theirs = [".partial-notes.txt", ".partial-4711-report.html", "x.partial-1-2-a", ".partial-1-2-"]
    for name in [*ours, *theirs]:
        (tmp_path / name).write_text("half", encoding="utf-8")
        os.utime(tmp_path / name, (1e9, 1e9))
    (tmp_path / ".partial-5-6-new.csv").write_text("half", encoding="utf-8")
    atomic_files.clean(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*theirs, ".partial-5-6-new.csv"}
