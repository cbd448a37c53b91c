"""Several runs at once, each in a thread of its own."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import re
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe import _core, api, interrupts, progress, seals, units
from clearpipe import replications as repeating
from clearpipe import until as stopping
from clearpipe.errors import RunError
from clearpipe.recording import NOTHING, Recording, recorded
from clearpipe.result import seal
from clearpipe.terminal import note


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
    scenario: Path | api.Source,
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


def jobs(  # noqa: PLR0913, PLR0917 - what `api.run` has sorted out
    source: api.Source,
    sets: Sequence[str],
    seed: int | None,
    engine: api.Engine,
    recording: Recording,
    out: str | os.PathLike[str] | None,
    force: bool,
) -> Callable[[int], Job]:
    """The job of each replication; their results go below `out`."""
    (first,), _ = plan(source, sets, seed, (0,), engine)
    if recording.wanted and out is not None:
        recording.check(first.source, first.sets)

    def job(rep: int) -> Job:
        one = replace(first, rep=rep, recording=recording, force=force)
        return replace(one, out=None if out is None else Path(out) / run_directory(one))

    return job


def replicate(
    job: Callable[[int], Job],
    reps: int | None,
    until: str | None,
    *,
    quiet: bool,
    progress: Callable[[api.Progress], object] | None = None,
) -> repeating.Replications:
    """So many replications, or as many as are needed."""
    wanted = None if until is None else stopping.parse(until, where="until")
    if wanted is not None:
        repeating.check(wanted, job(0).toml, job(0).source.name)
    done = run_enough(job, reps or 1, wanted, quiet=quiet, heard=progress)
    return repeating.Replications(tuple(one.result for one in done), wanted)


def run_enough(
    job: Callable[[int], Job],
    reps: int,
    wanted: stopping.Until | None,
    *,
    quiet: bool,
    watch: bool = False,
    heard: Callable[[api.Progress], object] | None = None,
) -> list[Done]:
    """The first `reps` replications, or as many as `wanted` asks for."""
    done: list[Done] = []
    with progress.board(quiet, watch) as board:

        def more(reps: range) -> list[cp.Result]:
            fresh = run_all([job(rep) for rep in reps], quiet=quiet, board=board, heard=heard)
            done.extend(fresh)
            return [one.result for one in fresh]

        if wanted is None:
            more(range(reps))
        else:
            repeating.until(wanted, more)
    return done


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


def run_all(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    quiet: bool = False,
    board: progress.Board | None = None,
    heard: Callable[[api.Progress], object] | None = None,
) -> list[Done]:
    """Run `jobs`, write their results, and give them in the same order.

    A directory that already holds a job's result is read instead, and a partial one is run
    again. Whatever stops this, results that were complete are kept and nothing half-done is.
    `board` shows how far they are, else one of their own, and `heard` is told likewise; all runs
    stop when it answers False, and those that have not begun by then are left out.
    """
    real = any(job.engine == "linux" for job in jobs)
    if board is None:
        with interrupts.held_if(real), progress.board(quiet) as own:
            return run_all(jobs, workers=workers, quiet=quiet, board=own, heard=heard)
    # What was stopped half-way or damaged is no loss: the run gives it again, and more.
    jobs = [replace(job, force=True) if _is_to_be_replaced(job, quiet) else job for job in jobs]
    found = [_find(job) for job in jobs]
    stop = threading.Event()
    board.expect(found.count(None))
    quit = threading.Event()

    def hears(now: api.Progress) -> bool:
        if heard is not None and heard(now) is False:
            quit.set()
        return not quit.is_set()

    if real:
        workers = 1  # runs in real time would disturb each other
    futures: list[Future[Done | None]] = []
    with interrupts.held_if(real), ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        # A pool waits for its threads: whatever comes, also between two of them, must stop them.
        try:
            for job, stored in zip(jobs, found, strict=True):
                if stored is None:
                    futures.append(pool.submit(_run, job, board, stop, quit, hears))
            interrupts.wait(futures)
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    fresh = iter([future.result() for future in futures])
    every = [stored or next(fresh) for stored in found]
    return [one for one in every if one is not None]


def _find(job: Job) -> Done | None:
    """The job's result if it is there; an error if its directory cannot take it."""
    if job.out is None:
        return None
    if job.force or not (job.out / "meta.json").is_file():
        _core.check_writable(os.fspath(job.out), replace=job.force)
        return None
    result = cp.load(job.out)
    if not same_run(result, job):
        raise RunError(f"{job.out}: contains the result of another run; --force replaces it")
    if job.recording.wanted:
        there = recorded(job.out)
        if there is None or there["wanted"] != job.recording.check(job.source, job.sets):
            raise RunError(
                f"{job.out}: contains this run's result without these captures, this trace or "
                "these logs; --force runs it again"
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


def _run(
    job: Job,
    board: progress.Board,
    stop: threading.Event,
    quit: threading.Event,
    heard: Callable[[api.Progress], bool],
) -> Done | None:
    """The job's result; None if all have been told to end before it began."""
    if stop.is_set():
        raise Stopped(job.label)
    if quit.is_set():
        return None

    end = time.perf_counter() + (math.inf if job.max_wall is None else job.max_wall)
    scenario = tomllib.loads(job.toml)
    names = (list(scenario.get("links", ())), list(scenario.get("flows", ())))
    track = board.started(job, job.label, units.quantity(scenario.get("duration")), names)

    def watch(now: cp.Progress) -> bool:
        track(now.simulated_s)
        return heard(now) and not stop.is_set() and time.perf_counter() < end

    try:
        result = api.run_recording(
            job.source,
            job.recording,
            job.seed,
            job.rep,
            job.sets,
            progress=watch,
            look=track.look if board.looks else None,
            out=job.out,
            replace=job.force,
            engine=job.engine,
        )
        track(result.meta["simulated_s"])
    finally:
        board.ended(job)
    if not result.complete and stop.is_set():
        raise Stopped(job.label)
    return Done(job, result)
