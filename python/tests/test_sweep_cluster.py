"""The same sweep on a cluster of this machine's processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from sweeping import BASE, call, command, seals, times_done, write

import clearpipe as cp
from clearpipe import RunError, api, sweep
from clearpipe.sweep import cluster as dask
from clearpipe.sweep import progress, runner
from clearpipe.sweep.store import Store

KilledWorker = pytest.importorskip(
    "distributed", reason="the extra `cluster` is not installed"
).KilledWorker

SWEEP = """[sweep]
reps = 10
vary."topology.rtt" = ["10ms", "20ms", "40ms", "80ms"]
"""


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers, each a process of its own; its address and the processes."""
    told = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begin = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    processes = [
        subprocess.Popen([*begin, "--scheduler-file", str(told)], cwd=folder, **quiet)  # type: ignore[call-overload]
    ]
    try:
        wait_for(lambda: told.is_file() and told.stat().st_size > 0)
        address = json.loads(told.read_text())["address"]
        work = [*dask, "worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        for _ in range(workers):
            processes.append(subprocess.Popen([*work], cwd=folder, **quiet))  # type: ignore[call-overload]
        yield address, processes
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def wait_for(holds, timeout_s: float = 60) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def on(address: str) -> list[str]:
    return ["--executor", "dask", "--scheduler", address]


def test_a_cluster_gives_the_same_store_and_a_killed_worker_costs_little(tmp_path: Path) -> None:
    # Runs of some 100 ms, so that a killed worker has one in flight.
    file = write(tmp_path, SWEEP, BASE.replace('"1s"', '"120s"'))
    sweep.run(sweep.load(file), tmp_path / "alone")
    store = tmp_path / "store"
    with cluster(tmp_path) as (address, processes):
        start = command("sweep", "run", file, "--store", store, "-q", *on(address))
        running = subprocess.Popen(start, cwd=tmp_path, stdout=subprocess.PIPE)
        wait_for((store / "journal.jsonl").is_file)
        os.kill(processes[1].pid, signal.SIGKILL)
        out, _ = running.communicate(timeout=120)
    told = call("sweep", "status", file, "--store", store, cwd=tmp_path).stdout
    assert running.returncode == 0, told
    # One run may have been done by the worker that was killed before it could tell.
    assert b"40 of 40 runs done (40 now)" in out or b"40 of 40 runs done (39 now)" in out
    assert seals(store) == seals(tmp_path / "alone")
    assert max(times_done(store).values()) == 1


def test_a_killed_scheduler_is_75_and_the_sweep_goes_on(tmp_path: Path) -> None:
    file = write(tmp_path, SWEEP, BASE.replace('"1s"', '"120s"'))
    store = tmp_path / "store"
    with cluster(tmp_path) as (address, processes):
        start = command("sweep", "run", file, "--store", store, "-q", *on(address))
        running = subprocess.Popen(start, cwd=tmp_path, stderr=subprocess.PIPE)
        wait_for((store / "journal.jsonl").is_file)
        os.kill(processes[0].pid, signal.SIGKILL)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 75, said
    done = call("sweep", "run", file, "--store", store, cwd=tmp_path)
    assert "40 of 40 runs done" in done.stdout
    sweep.run(sweep.load(file), tmp_path / "alone")
    assert seals(store) == seals(tmp_path / "alone")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("running", OSError("Timed out trying to connect")),
        # What a closed client gives when it is asked: it has no connection left.
        ("closed", AttributeError("'NoneType' object has no attribute 'ncores'")),
        ("closed", RuntimeError("Client is closed")),
    ],
)
def test_a_scheduler_lost_at_any_question_is_75(
    tmp_path: Path, status: str, error: Exception
) -> None:
    # A dead scheduler is found by whatever is asked of it next, at times only after 20 s of trying.
    def gone(*_args: object, **_how: object) -> None:
        raise error

    spec, store = sweep.load(write(tmp_path, SWEEP)), Store(tmp_path / "store")
    store.open()
    run = next(one for one in runner.runs(spec, store, range(1)) if isinstance(one, runner.Run))
    cluster = dask.Dask("tcp://nobody")
    watcher = progress.watcher(quiet=True)
    lost = pytest.raises(dask.SchedulerLost, match="nobody: the")
    asleep = SimpleNamespace(status=status, nthreads=gone)
    with lost:
        cluster._feed(asleep, spec, [run], store, runner.Tally(1), watcher)
    deaf = SimpleNamespace(status=status, nthreads=lambda: {"worker": 1}, submit=gone)
    with lost:
        cluster._feed(deaf, spec, [run], store, runner.Tally(1), watcher)
    with lost:
        cluster._next(asleep, gone, [], watcher)
    future = SimpleNamespace(status="finished", exception=gone)
    with lost:
        cluster._ended(asleep, future, run, store, runner.Tally(1))
    future = SimpleNamespace(status="finished", exception=lambda **_: None, result=gone)
    with lost:
        cluster._ended(asleep, future, run, store, runner.Tally(1))
    assert issubclass(dask.SchedulerLost, runner.OutOfTime)  # which is exit code 75


class Dying:
    """A future whose worker dies before it has told its result; then it is done by another."""

    def __init__(self, tells: object) -> None:
        self.states = iter(["lost", "finished"])
        self.tells = tells

    @property
    def status(self) -> str:
        return next(self.states, "finished")

    def exception(self, **_: float) -> None:
        return None

    def result(self, **_: float) -> object:
        return self.tells


def test_a_run_whose_result_died_with_its_worker_is_not_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seen on a busy machine: `wait` gives a future that is lost before anybody asks it.
    spec, store = sweep.load(write(tmp_path, SWEEP)), Store(tmp_path / "store")
    store.open()
    run = next(one for one in runner.runs(spec, store, range(1)) if isinstance(one, runner.Run))
    client = SimpleNamespace(
        status="running", nthreads=lambda: {"worker": 1}, submit=lambda *_, **__: Dying("there")
    )
    waits = []

    def wait(futures: list[object], **_: object) -> SimpleNamespace:
        waits.append(futures)
        return SimpleNamespace(done=futures)

    monkeypatch.setattr("distributed.wait", wait)
    tally, watcher = runner.Tally(1), progress.watcher(quiet=True)
    dask.Dask("tcp://somebody")._feed(client, spec, [run], store, tally, watcher)
    assert (len(waits), tally.done, tally.failed, store.failed()) == (2, 1, 0, {})


def test_a_run_that_ends_its_workers_has_failed(tmp_path: Path) -> None:
    spec, store = sweep.load(write(tmp_path, SWEEP)), Store(tmp_path / "store")
    store.open()
    run = next(one for one in runner.runs(spec, store, range(1)) if isinstance(one, runner.Run))
    error = KilledWorker("task", SimpleNamespace(address="tcp://dead"), 3)
    future = SimpleNamespace(status="error", exception=lambda **_: error)
    tally = runner.Tally(1)
    assert dask.Dask("tcp://somebody")._ended(
        SimpleNamespace(status="running"), future, run, store, tally
    )
    assert (tally.done, tally.failed) == (0, 1)
    assert store.failed()[run.identity]["kind"] == "KilledWorker"


def test_an_error_that_is_not_the_schedulers_passes() -> None:
    cluster = dask.Dask("tcp://nobody")
    with pytest.raises(ValueError, match="own"), cluster._asking(SimpleNamespace(status="running")):
        raise ValueError("own")


def test_a_cluster_without_workers_ends_in_time_and_says_so(tmp_path: Path) -> None:
    file = write(tmp_path, SWEEP)
    with cluster(tmp_path, workers=0) as (address, _):
        limit = ["--max-time", "3s"]
        out = call("sweep", "run", file, *limit, *on(address), cwd=tmp_path, expect=75)
    assert out.stderr.count("has no worker; waiting for one") == 1
    assert "no run ended within it" in out.stderr


def test_a_worker_of_another_model_or_store_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = sweep.load(write(tmp_path, SWEEP))
    store = Store(tmp_path / "store")
    store.open()
    run = next(one for one in runner.runs(spec, store, range(1)) if isinstance(one, runner.Run))
    place = (str(store.path), store.identify(), cp.versions())
    source = (spec.source.name, spec.source.text)
    (part, version), *_ = cp.parts(api.Source(*source), set=run.sets).items()
    said = rf"has {part} {version}, the sweep was started with {part} 0"
    with pytest.raises(RunError, match=said):
        dask._on_worker((*place[:2], place[2] | {part: "0"}), source, run, "all", 60.0)
    # What the run does not use may be of another version.
    stale = (*place[:2], place[2] | {"bbr": "0"})
    assert dask._on_worker(stale, source, run, "all", 0.0) == "stopped"
    with pytest.raises(RunError, match="not the store that the sweep was started with"):
        dask._on_worker((place[0], "x", place[2]), source, run, "all", 60.0)
    assert dask._on_worker(place, source, run, "all", 0.0) == "stopped"
    assert dask._on_worker(place, source, run, "all", 60.0) == "done"


def test_files_that_a_scenario_names_are_found_by_workers(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "up.trace").write_text("1\n2\n3\n")
    base = BASE.replace('rate = "10Mbps"', 'trace = "up.trace"')
    write(here, SWEEP.replace("10\n", "1\n", 1), base)
    with cluster(tmp_path, workers=1) as (address, _):
        out = call("sweep", "run", "sweep.toml", *on(address), cwd=here)
    assert "4 of 4 runs done" in out.stdout


def test_no_scheduler_is_one_clear_error(tmp_path: Path) -> None:
    file = write(tmp_path, SWEEP)
    out = call("sweep", "run", file, *on("tcp://127.0.0.1:1"), cwd=tmp_path, expect=1)
    assert "no scheduler answers at tcp://127.0.0.1:1" in out.stderr


def test_a_figure_of_a_paper_runs_on_a_cluster(tmp_path: Path) -> None:
    with cluster(tmp_path) as (address, _):
        told = call("reproduce", "vcp:fig13", *on(address), cwd=tmp_path)
    assert told.stdout.splitlines()[-1].startswith("3 claims:")
    assert len(Store(tmp_path / "results/store").present()) == 4
