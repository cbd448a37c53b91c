"""Runs on a dask.distributed cluster (extra `cluster`); the store is a folder that all see.

Dask only says who does which run; what is done is known from the store alone. So a worker may be
killed (its run is done again), and so may the scheduler (the sweep stops with exit code 75 and goes
on where it was). The engine releases the interpreter while it runs, so a worker answers its
scheduler's heartbeats however long a run takes.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe import api
from clearpipe.errors import RunError, UnsupportedError
from clearpipe.sweep import runner
from clearpipe.sweep.runner import OutOfTime, Run, Tally, Watcher
from clearpipe.sweep.spec import Spec
from clearpipe.sweep.store import Store

# Runs that each thread of the cluster has ahead of it.
AHEAD = 2

# How long the scheduler has for an answer before time and threads are looked at again.
PATIENCE_S = 2


class SchedulerLost(OutOfTime):
    """The scheduler went away."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)


class Dask:
    """Runs on the workers of a scheduler."""

    def __init__(
        self, scheduler: str, deadline: float | None = None, timeout_s: float = 20
    ) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise UnsupportedError("a cluster needs dask: pip install 'clearpipe[cluster]'")
        self.scheduler = scheduler
        self.deadline = deadline
        self.timeout_s = timeout_s
        self.alone = False

    def do_all(
        self, spec: Spec, todo: Iterable[Run], store: Store, tally: Tally, watcher: Watcher
    ) -> None:
        """Do `todo` on the cluster, a few runs ahead of every thread."""
        import dask

        waiting = iter(todo)
        first = next(waiting, None)
        if first is None:
            return
        with dask.config.set({"distributed.comm.timeouts.connect": f"{self.timeout_s}s"}):
            try:
                client = _client(self.scheduler, self.timeout_s)
            except OSError as error:
                raise RunError(f"no scheduler answers at {self.scheduler}: {error}") from None
            try:
                waiting = itertools.chain([first], waiting)
                with client.as_current():
                    self._feed(client, spec, waiting, store, tally, watcher)
            except CancelledError as error:
                raise SchedulerLost(f"{self.scheduler}: the scheduler is gone") from error
            finally:
                client.close(timeout=2)
        if tally.missing > tally.elsewhere:
            raise OutOfTime(tally)

    def _feed(
        self,
        client: Any,
        spec: Spec,
        waiting: Iterable[Run],
        store: Store,
        tally: Tally,
        watcher: Watcher,
    ) -> None:
        from distributed import wait

        waiting = iter(waiting)
        place, name = os.fspath(store.path.absolute()), store.identify()
        # Files that the scenario names are relative to its own folder.
        source = (os.fspath(Path(spec.source.name).absolute()), spec.source.text)
        running: dict[Any, Run] = {}
        while True:
            width = max(1, AHEAD * self._threads(client, watcher))
            while len(running) < width and not self._late():
                run = next(waiting, None)
                if run is None:
                    break
                with self._asking(client):
                    future = client.submit(
                        _on_worker,
                        (place, name, cp.versions()),
                        source,
                        run,
                        spec.keep,
                        self._left_s(),
                        key=f"clearpipe-{run.identity}-{time.monotonic_ns()}",
                        pure=False,
                    )
                running[future] = run
            if not running:
                return
            finished = self._next(client, wait, list(running), watcher)
            if not finished:
                raise OutOfTime(tally)
            for future in finished:
                if self._ended(client, future, running[future], store, tally):
                    watcher.ended(running.pop(future), tally)

    def _next(self, client: Any, wait: Any, futures: list[Any], watcher: Watcher) -> list[Any]:
        """The futures that are over, none when time is; raises SchedulerLost when nobody tells."""
        while True:
            if client.status != "running":
                raise SchedulerLost(f"{self.scheduler}: the connection is {client.status}")
            try:
                with self._asking(client, no_answer_yet=TimeoutError):
                    return list(
                        wait(futures, timeout=PATIENCE_S, return_when="FIRST_COMPLETED").done
                    )
            except TimeoutError:
                if self._late():
                    return []
            self._threads(client, watcher)

    def _ended(self, client: Any, future: Any, run: Run, store: Store, tally: Tally) -> bool:
        """Counts a run that is over.

        False for one that was over: a worker that dies takes along what it has not told yet, and
        Dask does the run again.
        """
        status = future.status
        if status == "cancelled":
            raise SchedulerLost(f"{self.scheduler}: it lost its tasks")
        if status not in ("finished", "error"):
            return False
        try:
            # The worker may die right now. Then these wait for the run to be over again.
            with self._asking(client, no_answer_yet=TimeoutError):
                error = future.exception(timeout=PATIENCE_S)
                done = "" if error else future.result(timeout=PATIENCE_S)
        except TimeoutError:
            return False
        except Exception as raised:
            if future.status != "error":
                raise
            error = raised
        if error is None:
            runner.count(tally, done)
            return True
        if isinstance(error, OSError | RunError):
            raise error
        # A run that ends its worker every time (KilledWorker) is a run that failed.
        store.fail(run.identity, runner.failure(run, error))
        tally.failed += 1
        return True

    def _threads(self, client: Any, watcher: Watcher) -> int:
        """How many threads the cluster has; says once if none."""
        with self._asking(client):
            threads: int = sum(client.nthreads().values())
        if not self.alone and not threads:
            self.alone = True
            watcher.said(f"{self.scheduler} has no worker; waiting for one")
        return threads

    @contextmanager
    def _asking(
        self, client: Any, no_answer_yet: type[Exception] | tuple[()] = ()
    ) -> Iterator[None]:
        """What is asked of the scheduler itself: an OSError is its loss, not a worker's, and so is
        whatever a client raises that is closed."""
        try:
            yield
        except no_answer_yet:
            raise
        except Exception as error:
            if isinstance(error, OSError) or client.status != "running":
                raise SchedulerLost(f"{self.scheduler}: the scheduler is gone: {error}") from error
            raise

    def _late(self) -> bool:
        return self._left_s() <= 0

    def _left_s(self) -> float:
        """Seconds until the deadline: workers have other clocks."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()


def _client(scheduler: str, timeout_s: float) -> Any:
    import distributed

    make: Any = distributed.Client
    return make(scheduler, timeout=timeout_s, set_as_default=False)


_stores: dict[str, Store] = {}


def _on_worker(
    place: tuple[str, str, Mapping[str, str]],
    source: tuple[str, str],
    run: Run,
    keep: str,
    left_s: float,
) -> str:
    """One run, on a worker."""
    path, name, versions = place
    end = time.monotonic() + left_s
    store = _stores.setdefault(path, Store(Path(path)))
    if store.identify() != name:
        raise RunError(f"{path}: not the store that the sweep was started with")
    used = cp.parts(api.Source(*source), set=run.sets, engine=run.engine)
    for part, own in used.items():
        if own != versions.get(part):
            here = f"{socket.gethostname()} has {part} {own}"
            asked = f"{part} {versions[part]}" if part in versions else f"none of {part}"
            raise RunError(f"the worker on {here}, the sweep was started with {asked}")

    def goes_on(_simulated_s: float) -> bool:
        return time.monotonic() < end

    if not goes_on(0.0):
        return "stopped"
    return runner.do(api.Source(*source), run, store, keep, goes_on)
