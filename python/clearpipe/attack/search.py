"""The search: points of the space, what they are worth, the optimizer, and shrinking what it
found.

The optimizer is CMA-ES (Hansen, Ostermeier 2001) of the package cmaes, started from the best of a
random sample and started anew, with a larger population, when it has converged (IPOP: Auger,
Hansen 2005). With the same seed it asks for the same scenarios, in whichever order they end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe import values as texts
from clearpipe.attack import space as spaces
from clearpipe.attack.space import GOALS, Dimension, Space, Values
from clearpipe.errors import ClearpipeError, ConfigError, UnsupportedError
from clearpipe.evaluate.cast import Cast
from clearpipe.statistics import Interval, t_interval

SAMPLE = 5
"""The random sample has so many points for each free dimension."""

SIGMA = 0.2
"""The first step of CMA-ES, in widths of the space."""

SLACK = 0.05
"""A smaller scenario is accepted if its value is at most this above the one found, or ..."""
FACTOR = 1.25
"""... at most so many times of it."""

STEPS = 3
"""How often what cannot be left out is halved towards what is harmless."""

LOOKED_AT = 2
"""The search goes by the best of so many replications: one alone may be an accident."""

REPLICATIONS = 5
"""Of what is reported; shrinking goes by the best of them."""

FAILED = 2.0
"""The value of a scenario that cannot run: worse than any other to the optimizer."""

Say = Callable[[str], None]


def _silent(_: str) -> None:
    """No progress."""


@dataclass
class Job:
    """One search."""

    who: Cast
    goal: str
    space: Space
    seed: int = 1
    evaluations: int = 400
    journal: Path | None = None
    """A folder where evaluations are kept, so that the same search goes on."""
    jobs: int = 2
    say: Say = _silent
    goes_on: Callable[[], bool] = lambda: True
    """Asked before each generation; raises Stopped where it says no."""

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise ConfigError(f"{self.goal}: unknown goal (allowed: {', '.join(GOALS)})")

    def settings(self) -> dict[str, Any]:
        """What decides about the search, as its journal is known by."""
        harmless = spaces.scenario(self.who, self.space.harmless, "attack")
        return {
            "protocol": dict(self.who.subject.host),
            "queue": dict(self.who.router),
            "goal": self.goal,
            "seed": self.seed,
            "space": [[one.name, one.lo, one.hi, one.harmless] for one in self.space.dimensions],
            "fixed": sorted(self.space.fixed),
            "parts": cp.parts(harmless),
        }


@dataclass(frozen=True)
class Found:
    """The worst scenario of a search."""

    who: Cast
    goal: str
    seed: int
    space: Space
    evaluations: int
    first: Values
    """As the optimizer found it."""
    first_value: float
    values: Values
    """Shrunk."""
    interval: Interval
    """Its value over replications: 1 is best, 0 is worst."""
    without: Mapping[str, float]
    """What it is worth with one of its dimensions harmless, by that: its cause."""
    harmless: float
    """What the harmless scenario is worth."""
    history: Sequence[float]
    """The best value after each evaluation."""

    @property
    def value(self) -> float:
        """The mean over replications."""
        return self.interval.mean

    @property
    def harm(self) -> list[Dimension]:
        """What is left in it that is not harmless."""
        return self.space.differs(self.values)


class Stopped(Exception):
    """Time is over; what was evaluated is in the journal."""


# What a scenario is worth.


def worth(goal: str, values: Values, result: cp.Result) -> float:
    """1 is best, 0 is worst."""
    capacity = spaces.capacity(values)
    goodputs = [float(rate or 0.0) for rate in _own(result, "goodput_bps")]
    if goal == "starve":
        return min(goodputs) * len(goodputs) / (capacity - spaces.cross(values))
    if goal == "idle":
        groups = result.summary["groups"]
        return sum(one["total_goodput_bps"] for one in groups) / capacity
    link = next(one for one in result.summary["links"] if one["name"] == "bottleneck")
    delay = 8.0 * link["queue_mean_bytes"] / capacity
    return values["rtt"] / (values["rtt"] + delay)


def _own(result: cp.Result, column: str) -> list[Any]:
    flows = result.flows
    pairs = zip(flows["group"], flows[column], strict=True)
    return [value for group, value in pairs if group in ("own", "last")]


class Bench:
    """Evaluates points, each once, and keeps what they are worth."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.known: dict[str, float] = {}
        self.fresh = 0
        self.lock = threading.Lock()
        self.path: Path | None = None
        if job.journal is not None:
            text = json.dumps(job.settings(), sort_keys=True)
            name = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
            self.path = job.journal / f"evaluations-{name}.jsonl"
            job.journal.mkdir(parents=True, exist_ok=True)
            self._read(text)

    def _read(self, settings: str) -> None:
        assert self.path is not None
        if not self.path.exists():
            self.path.write_text(f"{settings}\n", encoding="utf-8")
            return
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # a writer died within a line
            self.path.write_text(whole, encoding="utf-8")
        for line in whole.splitlines()[1:]:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                one = json.loads(line)
                self.known[self._key(one["values"], one["rep"])] = float(one["value"])

    def _key(self, values: Values, rep: int) -> str:
        return json.dumps([rep, sorted(values.items())])

    def value(self, values: Values, reps: int = LOOKED_AT) -> float:
        """What a point is worth: the best of its first replications."""
        return max(self.of_rep(values, rep) for rep in range(reps))

    def mean(self, values: Values) -> float:
        """The mean of all its replications."""
        return fmean(self.of_rep(values, rep) for rep in range(REPLICATIONS))

    def of_rep(self, values: Values, rep: int) -> float:
        """What it is worth in one; FAILED where its scenario cannot run."""
        key = self._key(values, rep)
        if key in self.known:
            return self.known[key]
        document = spaces.scenario(self.job.who, values, "attack")
        try:
            result = cp.run(document, seed=self.job.seed, rep=rep)
            found = worth(self.job.goal, values, result)
        except ClearpipeError as error:
            if isinstance(error, ConfigError):
                raise
            found = FAILED
        with self.lock:
            self.known[key] = found
            self.fresh += 1
            if self.path is not None:
                line = json.dumps({"values": dict(values), "rep": rep, "value": found})
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
        return found

    def all(self, points: Sequence[Values]) -> list[float]:
        """What several are worth, at the same time."""
        if not self.job.goes_on():
            raise Stopped
        with ThreadPoolExecutor(self.job.jobs) as pool:
            return list(pool.map(self.value, points))


# The search.


def run(job: Job) -> Found:
    """Search, shrink, and evaluate what is left. Raises Stopped when it is to end before."""
    bench = Bench(job)
    best: tuple[float, Values] | None = None
    history: list[float] = []
    for points in _asked(job, bench):
        for values, value in points:
            if best is None or value < best[0]:
                best = (value, values)
                job.say(f"{job.goal}: {value:.3f} after {len(history) + 1} scenarios")
            history.append(best[0])
    assert best is not None
    first_value, first = best
    small = _shrunk(job, bench, first, bench.value(first, REPLICATIONS))
    job.say(f"{job.goal}: shrunk to {', '.join(d.name for d in job.space.differs(small))}")
    reps = [bench.of_rep(small, rep) for rep in range(REPLICATIONS)]
    without = {
        one.name: bench.mean({**small, one.name: one.harmless}) for one in job.space.differs(small)
    }
    return Found(
        job.who,
        job.goal,
        job.seed,
        job.space,
        len(history),
        first,
        first_value,
        small,
        t_interval(reps),
        without,
        bench.mean(job.space.harmless),
        history,
    )


def _asked(job: Job, bench: Bench) -> Iterator[list[tuple[Values, float]]]:
    """Generations of points with what they are worth: a random sample, then CMA-ES from its best
    points, one after the other as it converges."""
    cmaes = _optimizer()
    random = np.random.default_rng(job.seed)
    dims = len(job.space.free)
    left = job.evaluations
    sample = random.random((min(SAMPLE * dims, left), dims))
    values = [job.space.values(point) for point in sample]
    worths = bench.all(values)
    yield list(zip(values, worths, strict=True))
    left -= len(sample)
    starts = iter(np.argsort(worths, kind="stable"))
    population = 4 + int(3 * np.log(dims))
    while left > 0:
        mean = sample[next(starts)]
        corners = np.array([[0.0, 1.0]] * dims)
        seed = int(random.integers(2**31))
        optimizer = cmaes.CMA(
            mean=mean, sigma=SIGMA, bounds=corners, seed=seed, population_size=population
        )
        while left > 0 and not optimizer.should_stop():
            asked = [optimizer.ask() for _ in range(population)]
            values = [job.space.values(point) for point in asked]
            worths = bench.all(values)
            optimizer.tell(list(zip(asked, worths, strict=True)))
            left -= population
            yield list(zip(values, worths, strict=True))
            if max(worths) - min(worths) < 1e-3:  # a plain on which nothing is better
                break
        population = min(2 * population, 64)


def _optimizer() -> Any:
    try:
        import cmaes
    except ImportError:
        raise UnsupportedError(
            "attack needs the package cmaes: pip install 'clearpipe[attack]'"
        ) from None
    return cmaes


def _shrunk(job: Job, bench: Bench, found: Values, value: float) -> dict[str, float]:
    """A scenario that is hardly better, with as little in it as can be: dimension by dimension what
    is harmless, or as near to it as three halvings come; again until nothing changes."""
    enough = max(value + SLACK, FACTOR * value)
    small = dict(found)
    while True:
        before = dict(small)
        for one in job.space.differs(small):
            for candidate in _nearer(one, small):
                if not job.goes_on():
                    raise Stopped
                if bench.value(candidate, REPLICATIONS) <= enough:
                    small = candidate
                    break
        if small == before:
            return small


def _nearer(one: Dimension, values: Values) -> Iterator[dict[str, float]]:
    """The same with one dimension harmless, or nearer to it, the nearest first."""
    seen = {values[one.name]}
    for share in (1.0, *(1 - 0.5**n for n in range(STEPS, 0, -1))):
        moved = one.nearer(values[one.name], share) if share < 1 else one.harmless
        if moved not in seen:
            seen.add(moved)
            yield {**values, one.name: moved}


def document(found: Found, name: str) -> str:
    """The shrunk scenario as a file, with what is measured in it at the top."""
    who = found.who
    head = [
        f"# {who.label}: {spaces.says(found.goal)} is {found.value:.3g} here, and "
        f"{found.harmless:.3g} in the harmless scenario.",
        f"# Found by `clearpipe attack` with seed {found.seed}; run it with --seed {found.seed}.",
    ]
    made = spaces.scenario(who, found.values, name, probe=True)
    return "\n".join([*head, texts.toml(made)])
