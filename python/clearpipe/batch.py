"""Several runs at once, each in a thread of its own, with a bar for each."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import re
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clearpipe as cp
from clearpipe import _core, api, seals, units
from clearpipe.errors import RunError
from clearpipe.recording import NOTHING, Recording, recorded
from clearpipe.result import seal
from clearpipe.terminal import note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass(frozen=True)
class Job:
    """One run, and the directory that its result goes to."""

    source: api.Source
    seed: int
    rep: int
    toml: str
    sets: tuple[str, ...] = ()
    out: Path | None = None
    force: bool = False
    recording: Recording = NOTHING
    engine: api.Engine = "packet"
    max_wall: float | None = None
    """Seconds of real time after which the run is stopped and what it has is its result."""

    @property
    def label(self) -> str:
        """Scenario, seed and replication."""
        return f"{_name(self.toml)} seed {self.seed} rep {self.rep}"


@dataclass
class Done:
    """A job and what it gave; `stored` if the result was there before."""

    job: Job
    result: cp.Result
    stored: bool = field(default=False)


class Stopped(Exception):
    """A run that was told to stop."""


def plan(
    scenario: Path,
    sets: Sequence[str],
    seed: int | None,
    reps: Sequence[int],
    engine: api.Engine = "packet",
) -> tuple[list[Job], list[str]]:
    """A job for each replication, none of which writes anything yet; and the warnings."""
    source = api.source(scenario)
    resolved = api.resolve(source, set=sets, engine=engine)
    used = int(_document(resolved.toml).get("seed", 1)) if seed is None else seed
    job = Job(source, used, 0, resolved.toml, tuple(sets), engine=engine)
    jobs = [replace(job, rep=rep) for rep in reps]
    return jobs, list(resolved.warnings)


def scenario_directory(job: Job) -> str:
    """The directory of all runs of a job's scenario: equal as long as they can be compared.

    The digits stand for everything but seed and replication that decides about the result.
    """
    name = re.sub(r"[^\w.+-]+", "-", _name(job.toml))
    scenario = _decisive(job.toml, job.engine)
    decides = json.dumps([_parts(job), scenario], sort_keys=True)
    digest = hashlib.blake2b(decides.encode(), digest_size=4).hexdigest()
    return f"{name}-{digest}" if job.engine == "packet" else f"{name}-{job.engine}-{digest}"


def run_directory(job: Job) -> str:
    """The directory of a job's result, in one that holds several."""
    return f"seed{job.seed}-rep{job.rep}"


@functools.lru_cache(maxsize=4)
def _document(toml: str) -> Mapping[str, Any]:
    """A resolved scenario, which may have a trace of a million lines, read once."""
    return tomllib.loads(toml)


def _name(toml: str) -> str:
    return str(_document(toml).get("name", "scenario"))


def run_all(jobs: Sequence[Job], *, workers: int | None = None, quiet: bool = False) -> list[Done]:
    """Run `jobs`, write their results, and give them in the same order.

    A directory that already holds a job's result is read instead, and a partial one is run
    again. Whatever stops this, results
    that were complete are kept and nothing half-done is.
    """
    # What was stopped half-way or damaged is no loss: the run gives it again, and more.
    jobs = [replace(job, force=True) if _is_to_be_replaced(job, quiet) else job for job in jobs]
    found = [_find(job) for job in jobs]
    stop = threading.Event()
    display = _display(quiet)
    if any(job.engine == "linux" for job in jobs):
        workers = 1  # runs in real time would disturb each other
    futures: list[Future[Done]] = []
    with display, ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        # A pool waits for its threads: whatever comes, also between two of them, must stop them.
        try:
            for job, stored in zip(jobs, found, strict=True):
                if stored is None:
                    futures.append(pool.submit(_run, job, _bar(display, job), stop))
            wait(futures)
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    fresh = iter([future.result() for future in futures])
    return [stored or next(fresh) for stored in found]


def _find(job: Job) -> Done | None:
    """The job's result if it is there; an error if its directory cannot take it."""
    if job.out is None:
        return None
    if job.force or not (job.out / "meta.json").is_file():
        _core.check_writable(os.fspath(job.out), replace=job.force)
        return None
    result = cp.load(job.out)
    if not same_run(result, job):
        raise RunError(f"{job.out}: holds the result of another run; --force replaces it")
    if job.recording.wanted:
        there = recorded(job.out)
        if there is None or there["wanted"] != job.recording.check(job.source, job.sets):
            raise RunError(
                f"{job.out}: holds this run's result without these captures or this trace; "
                "--force runs it again"
            )
    # The run is the same whichever link its numbers are of.
    named = _document(job.toml).get("bottleneck")
    if result.summary["bottleneck"] != named:
        result = cp.Result(result._run.with_bottleneck(named))
        _name_link(result, job.out)
    return Done(job, result, stored=True)


def _name_link(result: cp.Result, directory: Path) -> None:
    """Writes anew what says in a result directory which link its numbers are of."""
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=directory) as folder:
        whole = Path(folder) / "result"
        result.write_loose(whole)
        for name in ("run.toml", "summary.json"):
            (whole / name).replace(directory / name)
    seal(directory)


def _is_to_be_replaced(job: Job, quiet: bool) -> bool:
    """Does the job's directory hold what --max-wall left of the same run, or that run damaged?"""
    if job.out is None or job.force or not (job.out / "meta.json").is_file():
        return False
    # As it is: what does not agree with its seal may still say which run it was of.
    result = cp.Result(_core.read(os.fspath(job.out)))
    if not _same_origin(result, job):
        return False
    if not (job.out / seals.NAME).exists():
        note(f"clearpipe: {job.out}: has no seal, so that it cannot be checked", quiet)
        return not result.complete
    damage = seals.damage(job.out)
    if damage is not None:
        note(f"clearpipe: {damage.path}: {damage.reason}; run again", quiet)
    return damage is not None or not result.complete


def same_run(result: cp.Result, job: Job) -> bool:
    """Would running `job` give `result` again?"""
    return result.complete and _same_origin(result, job)


def _same_origin(result: cp.Result, job: Job) -> bool:
    meta = result.meta
    decisive = functools.partial(_decisive, engine=job.engine)
    return (
        "branched_from" not in meta
        and (meta["seed"], meta["rep"]) == (job.seed, job.rep)
        and meta["engine"] == job.engine
        and meta.get("parts") == _parts(job)
        and decisive(result.scenario_toml) == decisive(job.toml)
    )


def _parts(job: Job) -> dict[str, str]:
    """The versions of what the job uses."""
    return api.parts(api.Source(job.source.name, job.toml), engine=job.engine)


def _decisive(toml: str, engine: str) -> dict[str, Any]:
    """What decides about a run, but seed and replication; only fluid runs read [fluid]."""
    other = ("seed", "bottleneck", *["fluid"] * (engine != "fluid"))
    return {key: value for key, value in _document(toml).items() if key not in other}


def _run(job: Job, bar: Callable[[float], None], stop: threading.Event) -> Done:
    if stop.is_set():
        raise Stopped(job.label)

    end = time.perf_counter() + (math.inf if job.max_wall is None else job.max_wall)

    def watch(now: cp.Progress) -> bool:
        bar(now.simulated_s)
        return not stop.is_set() and time.perf_counter() < end

    bar(0.0)
    result = api.run_recording(
        job.source,
        job.recording,
        job.seed,
        job.rep,
        job.sets,
        progress=watch,
        out=job.out,
        replace=job.force,
        engine=job.engine,
    )
    if not result.complete and stop.is_set():
        raise Stopped(job.label)
    bar(result.meta["simulated_s"])
    return Done(job, result)


def _display(quiet: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, markup=False, highlight=False)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[now]}", markup=False),
        TextColumn("{task.fields[pace]}", markup=False),
        TextColumn("ETA", markup=False),
        TimeRemainingColumn(compact=True),
        console=console,
        disable=quiet or not sys.stderr.isatty(),
    )


def _bar(display: Progress, job: Job) -> Callable[[float], None]:
    """A bar for `job`; what it gives is to be called with the simulated time, 0 at the start."""
    duration = units.quantity(_document(job.toml).get("duration"))
    end = f" / {duration:g} s" if duration else " s"
    task: TaskID = display.add_task(job.label, total=duration, now="waiting", pace="", start=False)
    began: list[float] = []

    def advance(simulated_s: float) -> None:
        if not began:
            began.append(time.perf_counter())
            display.start_task(task)
        pace = simulated_s / max(time.perf_counter() - began[0], 1e-3)
        now = f"{simulated_s:.1f}{end}"
        display.update(task, completed=simulated_s, now=now, pace=f"{pace:.1f} x real time")

    return advance
