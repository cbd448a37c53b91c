"""Doing the runs of a sweep that are not in the store yet."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import clearpipe as cp
from clearpipe import _core, api
from clearpipe.errors import ClearpipeError, ConfigError
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Damage, Store, write_whole


@dataclass(frozen=True)
class Run:
    """One run of a sweep."""

    identity: str
    point: int
    rep: int
    seed: int
    sets: tuple[str, ...]
    label: str


@dataclass
class Tally:
    """How the runs of a sweep stand."""

    wanted: int = 0
    done: int = 0
    failed: int = 0
    fresh: int = 0
    """Of those done, the ones of this call."""
    elsewhere: int = 0
    """Left to another runner that works on them."""
    damaged: list[Damage] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Runs that are neither done nor failed."""
        return self.wanted - self.done - self.failed


class Watcher(Protocol):
    """What shows how far a sweep is."""

    def begin(self, tally: Tally) -> None:
        """The first word."""

    def started(self, run: Run, duration_s: float | None) -> Callable[[float], None]:
        """A run begins; what this gives is called with the simulated time."""

    def ended(self, run: Run, tally: Tally) -> None:
        """A run is over."""


class OutOfTime(Exception):
    """`--max-time` is over and runs are missing."""


def shard_of(identity: str, shards: int) -> int:
    """The shard that a run belongs to, by its identity: equal on every machine."""
    return int(identity[-15:], 16) % shards


# Plans.


def runs(
    spec: Spec, store: Store | None, reps: Sequence[int]
) -> Iterator[Run | tuple[Point, ConfigError]]:
    """The runs with these replications, or a point's error in place of its runs.

    With a store, identities are worked out once and kept there: `status` asks for them often.
    """
    for point, mine in zip(spec.points, identities(spec, store, reps), strict=True):
        if isinstance(mine, str):
            yield point, ConfigError(mine)
            continue
        sets = (*spec.sets, *point.sets)
        for rep, identity in zip(reps, mine, strict=True):
            yield Run(identity, point.number, rep, spec.seed, sets, point.label)


def identities(spec: Spec, store: Store | None, reps: Sequence[int]) -> list[list[str] | str]:
    """For each point the identities of its runs, or the message of what is wrong with it."""
    if store is None:
        return [_identities(spec, point, reps) for point in spec.points]
    asked = [spec.source, spec.sets, spec.seed, list(reps), [p.sets for p in spec.points]]
    asked += [spec.resolved, _files(spec), cp.version(), cp.model_version()]
    key = hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).hexdigest()
    path = store.plans / f"{key}.json"
    try:
        known: list[list[str] | str] = json.loads(path.read_text(encoding="utf-8"))["points"]
        return known
    except (OSError, ValueError, KeyError):
        pass
    found = [_identities(spec, point, reps) for point in spec.points]
    errors = [one for one in found if isinstance(one, str)]
    if len(errors) == len(found):
        raise ConfigError(errors[0], file=spec.source.name)
    if store.plans.is_dir():
        write_whole(path, {"points": found})
    return found


def _files(spec: Spec) -> list[tuple[str, int, int]]:
    """The files that values of the axes name, with time and size: their content decides as well."""
    folder = Path(spec.source.name).parent
    texts = {text for axis in spec.axes for value in axis.values for text in _texts(list(value))}
    found = []
    for text in sorted(texts):
        try:
            about = (folder / text).stat()
        except (OSError, ValueError):
            continue
        found.append((text, about.st_mtime_ns, about.st_size))
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _identities(spec: Spec, point: Point, reps: Sequence[int]) -> list[str] | str:
    sets = (*spec.sets, *point.sets)
    try:
        return _core.identities(*spec.source, sets, seed=spec.seed, reps=reps)
    except ConfigError as error:
        return str(error)


# One run.


def do(
    spec_source: api.Source, run: Run, store: Store, keep: str, watch: Callable[[float], bool]
) -> str:
    """Do one run and store it; gives what became of it.

    `done`, `failed`, `there` (somebody else was quicker), `elsewhere` (somebody else works on it),
    `stopped` (`watch` said so). Raises OSError if it cannot be stored.
    """
    with store.claimed(run.identity) as ours:
        if not ours:
            return "elsewhere"
        if store.directory(run.identity).is_dir():
            return "there"
        try:
            result = api.run(
                spec_source,
                seed=run.seed,
                rep=run.rep,
                set=run.sets,
                progress=lambda now: watch(now.simulated_s),
            )
        except (ClearpipeError, MemoryError) as error:
            store.fail(run.identity, failure(run, error))
            return "failed"
        if not result.complete:
            return "stopped"
        store.add(run.identity, result, keep)
        return "done"


def failure(run: Run, error: BaseException) -> dict[str, Any]:
    """What is stored of a run that failed."""
    return {
        "point": run.label,
        "seed": run.seed,
        "rep": run.rep,
        "sets": list(run.sets),
        "kind": type(error).__name__,
        "error": str(error),
        "model_version": cp.model_version(),
    }


# Many runs.


@dataclass
class Options:
    """How to run."""

    shard: tuple[int, int] | None = None
    """Only the part of this number, of so many."""
    retry: bool = False
    """Are runs that failed before done again?"""


class Executor(Protocol):
    """What does runs, several at a time."""

    def do_all(
        self, spec: Spec, todo: Iterable[Run], store: Store, tally: Tally, watcher: Watcher
    ) -> None:
        """Do `todo`, adding up in `tally`."""


@dataclass
class Sweep:
    """One call of `sweep run`."""

    spec: Spec
    store: Store
    executor: Executor
    options: Options
    watcher: Watcher
    tally: Tally = field(default_factory=Tally)

    def run(self) -> Tally:
        """Do what is missing. Raises OutOfTime when the deadline came first."""
        self.store.open()
        if self.spec.until is None:
            self._round(self.spec, range(self.spec.reps))
            return self.tally
        from clearpipe.sweep import sequential

        for points, reps in sequential.rounds(self.spec, self.store):
            self._round(replace(self.spec, points=points), reps)
            if self.tally.missing:
                break  # left to other shards or runners
        return self.tally

    def _round(self, spec: Spec, reps: Sequence[int]) -> None:
        """These points with these replications."""
        wanted = list(self._wanted(spec, reps))
        there, before = self.store.present(), self.store.failed()
        todo: list[Run] = []
        for run in wanted:
            if run.identity in there and self._is_whole(run):
                self.tally.done += 1
            elif run.identity in before and not self.options.retry:
                self.tally.failed += 1
            else:
                todo.append(run)
        self.watcher.begin(self.tally)
        self.executor.do_all(spec, todo, self.store, self.tally, self.watcher)

    def _is_whole(self, run: Run) -> bool:
        """Compares a result with its seal, and removes it if they differ."""
        damage = self.store.damage(run.identity)
        if damage is None:
            return True
        self.tally.damaged.append(damage)
        with self.store.claimed(run.identity) as ours:
            if ours:
                self.store.remove(run.identity)
        return False

    def _wanted(self, spec: Spec, reps: Sequence[int]) -> Iterator[Run]:
        seen: set[str] = set()
        for one in runs(spec, self.store if spec.until is None else None, reps):
            if isinstance(one, tuple):
                self._invalid(one, reps)
            # Two settings that come to the same scenario are one run.
            elif one.identity not in seen and self._ours(one.identity):
                seen.add(one.identity)
                self.tally.wanted += 1
                yield one

    def _ours(self, identity: str) -> bool:
        if self.options.shard is None:
            return True
        index, shards = self.options.shard
        return shard_of(identity, shards) == index

    def _invalid(self, broken: tuple[Point, ConfigError], reps: Sequence[int]) -> None:
        """Stores a point that is no valid scenario as runs that failed."""
        point, error = broken
        for rep in reps:
            run = invalid_run(self.spec, point, rep)
            if not self._ours(run.identity):
                continue
            self.tally.wanted += 1
            self.tally.failed += 1
            if not (self.store.failures / f"{run.identity}.json").is_file():
                self.store.fail(run.identity, failure(run, error))


def invalid_run(spec: Spec, point: Point, rep: int) -> Run:
    """A run that cannot be: its scenario has no identity, so its options stand for it."""
    sets = (*spec.sets, *point.sets)
    text = json.dumps([spec.source.text, sets, spec.seed, rep])
    identity = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
    return Run(identity, point.number, rep, spec.seed, sets, point.label)


class Threads:
    """Runs on this machine, each in a thread: the core releases the interpreter.

    `deadline` is the `time.monotonic()` at which to stop.
    """

    def __init__(self, jobs: int | None = None, deadline: float | None = None) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self.deadline = deadline
        self.stop = threading.Event()

    def do_all(
        self, spec: Spec, todo: Iterable[Run], store: Store, tally: Tally, watcher: Watcher
    ) -> None:
        """Do `todo`, `jobs` at a time, in order."""
        waiting = iter(todo)
        running: dict[Future[str], Run] = {}
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                while True:
                    # A few wait in the pool, so that no thread does.
                    while len(running) < 2 * self.jobs and not self._late():
                        run = next(waiting, None)
                        if run is None:
                            break
                        running[pool.submit(self._one, spec, run, store, watcher)] = run
                    if not running:
                        break
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        run = running.pop(future)
                        count(tally, future.result())
                        watcher.ended(run, tally)
            except BaseException:
                # Before the pool waits for its threads.
                self.stop.set()
                raise
        if self._late() and tally.missing > tally.elsewhere:
            raise OutOfTime

    def _one(self, spec: Spec, run: Run, store: Store, watcher: Watcher) -> str:
        if self._over():
            return "stopped"
        show = watcher.started(run, None)

        def goes_on(simulated_s: float) -> bool:
            show(simulated_s)
            return not self._over()

        return do(spec.source, run, store, spec.keep, goes_on)

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _over(self) -> bool:
        return self.stop.is_set() or self._late()


def count(tally: Tally, what: str) -> None:
    """Adds one run's end to the tally."""
    if what == "done":
        tally.done += 1
        tally.fresh += 1
    elif what == "there":
        tally.done += 1
    elif what == "failed":
        tally.failed += 1
    elif what == "elsewhere":
        tally.elsewhere += 1


def standing(spec: Spec, store: Store, reps: Mapping[int, int] | None = None) -> Tally:
    """How a sweep stands, without doing anything."""
    tally = Tally()
    there, failed = store.present(), store.failed()
    most = spec.reps if spec.until is None else spec.until.max_reps
    seen: set[str] = set()
    for one in runs(spec, store, range(most)):
        if isinstance(one, tuple):
            tally.wanted += most
            tally.failed += most
            continue
        if one.identity in seen or (reps is not None and one.rep >= reps.get(one.point, most)):
            continue
        seen.add(one.identity)
        tally.wanted += 1
        tally.done += one.identity in there
        tally.failed += one.identity not in there and one.identity in failed
    return tally
