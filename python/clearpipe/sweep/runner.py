"""Doing the runs of a sweep that are not in the store yet."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import clearpipe as cp
from clearpipe import _core, api, interrupts
from clearpipe.errors import ClearpipeError, ConfigError, RunError
from clearpipe.progress import Track
from clearpipe.recording import NOTHING
from clearpipe.result import are_one
from clearpipe.sweep import metrics
from clearpipe.sweep.spec import Point, Spec
from clearpipe.sweep.store import Damage, Store, write_whole
from clearpipe.terminal import note


@dataclass(frozen=True)
class Run:
    """One run of a sweep."""

    identity: str
    point: int
    rep: int
    seed: int
    sets: tuple[str, ...]
    label: str
    engine: api.Engine = "packet"
    bottleneck: str | None = None
    """The link that its metrics without a link's name are of."""


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
    waiting: int = 0
    """Points with `until` that cannot go on before other shards or runners did their part."""
    damaged: list[Damage] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Runs that are neither done nor failed."""
        return self.wanted - self.done - self.failed


class Watcher(Protocol):
    """What shows how far a sweep is."""

    @property
    def looks(self) -> bool:
        """Does it want to see links and flows?"""

    def begin(self, tally: Tally) -> None:
        """The first word."""

    def started(self, run: Run) -> Track:
        """A run begins; what this gives is told how far it is."""

    def ended(self, run: Run, tally: Tally) -> None:
        """A run is over."""

    def said(self, text: str) -> None:
        """Something that the user should know now."""


class OutOfTime(Exception):
    """`--max-time` is over and runs are missing."""

    def __init__(self, tally: Tally) -> None:
        none = "" if tally.fresh else ": no run ended within it, so give it more"
        super().__init__(f"out of time{none}")


def shard_of(identity: str, shards: int) -> int:
    """The shard that a run belongs to, by its identity: equal on every machine."""
    return int(identity[-15:], 16) % shards


# Plans.


class Planned(NamedTuple):
    """A point before anything is run."""

    identities: list[str]
    parts: Mapping[str, str]
    """The versions of what its runs use."""
    bottleneck: str | None


def runs(
    spec: Spec, store: Store | None, reps: Sequence[int]
) -> Iterator[Run | tuple[Point, ConfigError]]:
    """The runs with these replications, or a point's error in place of its runs.

    With a store, identities are worked out once and kept there: `status` asks for them often.
    """
    for point, mine in zip(spec.points, planned(spec, store, reps), strict=True):
        if isinstance(mine, str):
            yield point, ConfigError(mine)
            continue
        about = ((*spec.sets, *point.sets), point.label, spec.engine, mine.bottleneck)
        for rep, identity in zip(reps, mine.identities, strict=True):
            yield Run(identity, point.number, rep, spec.seed, *about)


def planned(spec: Spec, store: Store | None, reps: Sequence[int]) -> list[Planned | str]:
    """For each point the identities of its runs and its bottleneck, or the message of what is wrong
    with it. Raises ConfigError for a metric that needs a bottleneck where there is none."""
    plans = _planned(spec, store, reps)
    for metric, where in spec.metrics():
        if metrics.is_of_link(metric):
            check_named(spec, plans, metric, f"{spec.source.name}: {where}")
    return plans


def check(spec: Spec) -> None:
    """Raises the ConfigError of `planned`, of a sweep that is not to be run now."""
    if any(metrics.is_of_link(metric) for metric, _ in spec.metrics()):
        planned(spec, None, ())


def check_named(spec: Spec, plans: Sequence[Planned | str], metric: str, where: str) -> None:
    """Refuses a link's metric without the link's name where a point names no bottleneck."""
    for point, plan in zip(spec.points, plans, strict=True):
        if isinstance(plan, Planned) and plan.bottleneck is None:
            resolved = tomllib.loads(api.resolve(spec.source, set=(*spec.sets, *point.sets)).toml)
            label = point.label if spec.axes else ""
            raise metrics.unnamed(metric, list(resolved["links"]), where, label)


def _planned(spec: Spec, store: Store | None, reps: Sequence[int]) -> list[Planned | str]:
    if store is None:
        return [_plan(spec, point, reps) for point in spec.points]
    asked = [list(reps), spec.source, _files(spec), cp.version(), _versions(spec), _registry()]
    path = store.plans / f"{_name(spec)}.{_hash(asked)}.json"
    with contextlib.suppress(FileNotFoundError):
        try:
            kept = _kept_plan(path)
            return [
                mine if isinstance(mine, str) else Planned(mine, parts, link)
                for mine, parts, link in zip(
                    kept["points"], kept["parts"], kept["bottlenecks"], strict=True
                )
            ]
        except (ValueError, KeyError, TypeError) as error:
            note(f"clearpipe: {path}: {error}; worked out anew")
    found = [_plan(spec, point, reps) for point in spec.points]
    errors = [one for one in found if isinstance(one, str)]
    if len(errors) == len(found):
        raise ConfigError(errors[0], file=spec.source.name)
    # A class in Python may be edited: what its runs are is asked anew.
    coded = any(name.startswith("code ") for one in found for name in _parts_of(one))
    if store.plans.is_dir() and not coded:
        # It saves time, no more: a store that cannot be written can be read.
        with contextlib.suppress(OSError):
            named = [None if isinstance(one, str) else one.bottleneck for one in found]
            plan = {
                "points": [one if isinstance(one, str) else one.identities for one in found],
                "parts": [_parts_of(one) for one in found],
                "bottlenecks": named,
            }
            write_whole(path, {**plan, "seal": _hash(plan)})
    return found


def _kept_plan(path: Path) -> dict[str, Any]:
    """A plan as it was written. Raises ValueError if it is another one now."""
    plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if plan.pop("seal") != _hash(plan):
        raise ValueError("not what was written")
    return plan


def _parts_of(plan: Planned | str) -> Mapping[str, str]:
    return {} if isinstance(plan, str) else plan.parts


@functools.cache
def _registry() -> str:
    """A hash of what a scenario's words stand for: all defaults, presets and eras.

    One that an axis names is resolved for each run only, so that nothing else of a plan's key has
    its values.
    """
    return _hash([_core.protocols_json(), _core.queues_json(), _core.schema_json()])


def _versions(spec: Spec) -> dict[str, str]:
    """What identities may have of the model; a real kernel is a part of it."""
    real = spec.engine == "linux"
    return {name: v for name, v in cp.versions().items() if real or name != "kernel"}


# Keys that version 6 did not write, and defaults that it wrote otherwise.
_NEWER = (
    "bottleneck = ",
    "rto_granularity = ",
    "rttvar = ",
    "pacing = ",
    "queue_window = ",
    "xi_scale = ",
    "max_rtt = ",
)
_AT_VERSION_6 = {'mean_every = "t_p"': 'mean_every = "T"', 'residues = "class"': "residues = true"}


def _name(spec: Spec) -> str:
    """What a sweep is known by, whatever the versions and the number of replications."""
    document = tomllib.loads(spec.source.text)
    # Runs are the same whichever link their numbers are of.
    apart = ("sweep", "plot", "bottleneck")
    return _named(spec, {key: document[key] for key in document if key not in apart})


def _former_name(spec: Spec) -> str:
    """The same at version 6: by the resolved scenario, which said less, and some things otherwise.

    A scenario with another preset's values than then is not known by it.
    """
    lines = [_AT_VERSION_6.get(line, line) for line in spec.resolved.splitlines()]
    return _named(spec, "".join(f"{line}\n" for line in lines if not line.startswith(_NEWER)))


def _named(spec: Spec, scenario: object) -> str:
    engine = [] if spec.engine == "packet" else [spec.engine]
    return _hash([scenario, spec.sets, spec.seed, [p.sets for p in spec.points], *engine])


def _hash(value: object) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def of_other_models(spec: Spec, store: Store) -> dict[str, list[str]]:
    """The runs of this sweep that the store has of other versions, which are not used, by those."""
    there: set[str] | None = None
    found: dict[str, set[str]] = {}
    names = (_name(spec), _former_name(spec))
    for path in (path for name in names for path in store.plans.glob(f"{name}.*.json")):
        try:
            plan = json.loads(path.read_text(encoding="utf-8"))
            points = plan["points"]
            metas = [{"parts": one} for one in plan["parts"]] if "parts" in plan else [plan]
            others = [api.outdated(meta) for meta in metas]
            for mine, other in zip(points, itertools.cycle(others), strict=False):
                if other:
                    there = store.present() if there is None else there
                    found.setdefault(other, set()).update(there.intersection(mine))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return {other: sorted(mine) for other, mine in sorted(found.items()) if mine}


def _files(spec: Spec) -> list[tuple[str, str]]:
    """The files that values of the axes name, with their hashes: their content decides as well."""
    folder = Path(spec.source.name).parent
    texts = {text for axis in spec.axes for value in axis.values for text in _texts(list(value))}
    found = []
    for text in sorted(texts):
        with contextlib.suppress(OSError, ValueError):
            if (folder / text).is_file():
                with (folder / text).open("rb") as file:
                    found.append((text, hashlib.file_digest(file, "blake2b").hexdigest()))
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _plan(spec: Spec, point: Point, reps: Sequence[int]) -> Planned | str:
    sets = (*spec.sets, *point.sets)
    try:
        found = _core.identities(*spec.source, sets, seed=spec.seed, reps=reps, engine=spec.engine)
        return Planned(*found)
    except ConfigError as error:
        return str(error)


# One run.


def do(
    spec_source: api.Source,
    run: Run,
    store: Store,
    keep: str,
    watch: Callable[[float], bool],
    look: Callable[[api.Look], object] | None = None,
) -> str:
    """Do one run and store it; gives what became of it.

    `done`, `failed`, `there` (somebody else was quicker), `elsewhere` (somebody else works on it),
    `stopped` (`watch` said so). Raises OSError if it cannot be stored, RunError if it is not the
    run that was asked for.
    """
    with store.claimed(run.identity) as ours:
        if not ours:
            return "elsewhere"
        if store.directory(run.identity).is_dir():
            return "there"
        try:
            result = api.run_recording(
                spec_source,
                NOTHING,
                run.seed,
                run.rep,
                run.sets,
                progress=lambda now: watch(now.simulated_s),
                look=look,
                engine=run.engine,
            )
        except (ClearpipeError, MemoryError) as error:
            store.fail(run.identity, failure(run, error))
            return "failed"
        if not result.complete:
            return "stopped"
        if result.meta["identity"] != run.identity:
            raise RunError(
                f"{spec_source.name}: {run.label} is no longer the run that the sweep "
                "planned: the scenario or a file that it names has changed; start the sweep again"
            )
        return "done" if store.add(run.identity, result, keep) else "there"


def failure(run: Run, error: BaseException) -> dict[str, Any]:
    """What is stored of a run that failed."""
    return {
        "point": run.label,
        "seed": run.seed,
        "rep": run.rep,
        "sets": list(run.sets),
        "kind": type(error).__name__,
        "error": str(error),
        "model_version": cp.model_version(run.engine),
    }


# Many runs.


@dataclass
class Options:
    """How to run."""

    shard: tuple[int, int] | None = None
    """Only the part of this number, of so many."""
    retry: bool = False
    """Are runs that failed before done again?"""

    def includes(self, identity: str) -> bool:
        """Is the run in the part that is wanted?"""
        return self.shard is None or shard_of(identity, self.shard[1]) == self.shard[0]


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
    seen: set[str] = field(default_factory=set)
    """Two settings that come to the same scenario are one run."""

    def run(self) -> Tally:
        """Do what is missing. Raises OutOfTime when the deadline came first."""
        self.store.open()
        if self.spec.until is None:
            self._round(self.spec, range(self.spec.reps))
            return self.tally
        from clearpipe.sweep import sequential

        plan = sequential.Plan(self.spec, self.store)
        while groups := plan.groups():
            for points, reps in groups:
                self._round(replace(self.spec, points=points), reps)
            plan.advance()
            plan.check()
        self.tally.waiting = plan.waiting()
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
        before_it = self.tally.done
        self.executor.do_all(spec, todo, self.store, self.tally, self.watcher)
        if self.tally.elsewhere:
            # Other runners have ended some by now.
            there = self.store.present()
            ended = sum(run.identity in there for run in todo) - (self.tally.done - before_it)
            self.tally.done += ended
            self.tally.elsewhere -= ended

    def _is_whole(self, run: Run) -> bool:
        """Compares a result with its seal, and removes it if they differ."""
        if self.store.damage(run.identity) is None:
            return True
        with self.store.claimed(run.identity) as ours:
            # Another runner may have found it first.
            damage = self.store.damage(run.identity) if ours else None
            if damage is not None:
                self.tally.damaged.append(damage)
                self.store.remove(run.identity)
        return ours and damage is None

    def _wanted(self, spec: Spec, reps: Sequence[int]) -> Iterator[Run]:
        for one in runs(spec, self.store if spec.until is None else None, reps):
            if isinstance(one, tuple):
                self._invalid(one, reps)
            elif one.identity not in self.seen and self.options.includes(one.identity):
                self.seen.add(one.identity)
                self.tally.wanted += 1
                yield one

    def _invalid(self, broken: tuple[Point, ConfigError], reps: Sequence[int]) -> None:
        """Stores a point that is no valid scenario as runs that failed."""
        point, error = broken
        for rep in reps:
            run = invalid_run(self.spec, point, rep)
            if not self.options.includes(run.identity):
                continue
            self.tally.wanted += 1
            self.tally.failed += 1
            if not (self.store.failures / f"{run.identity}.json").is_file():
                self.store.fail(run.identity, failure(run, error))


def invalid_run(spec: Spec, point: Point, rep: int) -> Run:
    """A run that cannot be: its scenario has no identity, so its options stand for it."""
    sets = (*spec.sets, *point.sets)
    engine = [] if spec.engine == "packet" else [spec.engine]
    text = json.dumps([spec.source.text, sets, spec.seed, rep, *engine])
    identity = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
    return Run(identity, point.number, rep, spec.seed, sets, point.label, spec.engine)


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
        waiting, turn = iter(todo), threading.Lock()

        def work() -> None:
            # Each thread takes the next run by itself: to hand it out may take as long as the run.
            try:
                while (run := self._next(waiting, turn)) is not None:
                    what = self._one(spec, run, store, watcher)
                    with turn:
                        count(tally, what)
                        watcher.ended(run, tally)
            except BaseException:
                self.stop.set()
                raise

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                workers = [pool.submit(work) for _ in range(self.jobs)]
                interrupts.wait(workers)
            except BaseException:
                # Before the pool waits for its threads.
                self.stop.set()
                raise
        for worker in workers:
            worker.result()
        if self._late() and tally.missing > tally.elsewhere:
            raise OutOfTime(tally)

    def _next(self, waiting: Iterator[Run], turn: threading.Lock) -> Run | None:
        with turn:
            return None if self._over() else next(waiting, None)

    def _one(self, spec: Spec, run: Run, store: Store, watcher: Watcher) -> str:
        show = watcher.started(run)

        def goes_on(simulated_s: float) -> bool:
            show(simulated_s)
            return not self._over()

        look = show.look if watcher.looks else None
        return do(spec.source, run, store, spec.keep, goes_on, look)

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


def standing(spec: Spec, store: Store) -> Tally:
    """How a sweep stands, without doing anything."""
    tally = Tally()
    there, failed = store.present(), store.failed()
    seen: set[str] = set()
    for one in asked(spec, store):
        if isinstance(one, tuple):
            tally.wanted += invalid_reps(spec)
            tally.failed += invalid_reps(spec)
        elif one.identity not in seen:
            seen.add(one.identity)
            tally.wanted += 1
            tally.done += one.identity in there
            tally.failed += one.identity not in there and one.identity in failed
    return tally


def left(spec: Spec, store: Store, options: Options) -> set[str]:
    """The runs that are to be done, as far as it is known by now."""
    there, failed = store.present(), set() if options.retry else set(store.failed())
    every = (one.identity for one in asked(spec, store) if not isinstance(one, tuple))
    return {one for one in every if options.includes(one)} - there - failed


def not_random(spec: Spec, store: Store) -> int:
    """The points whose replications are all one run."""
    there = store.present()
    found: dict[int, list[str]] = {}
    for one in asked(spec, store):
        if isinstance(one, tuple) or one.identity not in there:
            continue
        prints = found.setdefault(one.point, [])
        # Two that differ are enough to know.
        if len(prints) < 2 or are_one(prints):
            prints.append(str(store.read_json(one.identity)[0].get("fingerprint")))
    return sum(map(are_one, found.values()))


def asked(spec: Spec, store: Store) -> Iterator[Run | tuple[Point, ConfigError]]:
    """The runs that a sweep asks for, or a point's error: with `until`, what is known by now."""
    if spec.until is None:
        yield from runs(spec, store, range(spec.reps))
        return
    from clearpipe.sweep import sequential

    wanted = {one.point.number: one.target for one in sequential.replay(spec, store).points}
    for one in runs(spec, store, range(spec.until.max_reps)):
        if isinstance(one, tuple) or one.rep < wanted[one.point]:
            yield one


def invalid_reps(spec: Spec) -> int:
    """How many failed runs a point that is no valid scenario counts as."""
    return spec.reps if spec.until is None else spec.until.min_reps
