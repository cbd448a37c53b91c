"""Means with intervals, by scipy: what tables and plots of several runs show.

Replications are independent by construction (each has random streams of its own), so the t interval
of their means holds as far as the means are normal. Where they are not (few of them, a bound such
as a utilization near 1), the bootstrap assumes less.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEVEL = 0.95
"""The share of intervals that hold the true value."""

FEW = 3
"""Of fewer replications tables, figures and `compare` show no interval: that of two is 12.7 times
the error. The texts of `reproduce` do, as a paper's quick scale has two."""


def few(whose: str = "", more: str = f" (--reps {FEW})") -> str:
    """Why there is no interval, in a sentence: `whose` says of what, `more` how to have one."""
    head = f"{whose} fewer" if whose else "Fewer"
    return (
        f"{head} than {FEW} replications, and so no interval: two say too little about a mean"
        f"{more}."
    )


class Span(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Interval:
    """A mean and the interval around it."""

    mean: float
    low: float
    high: float
    n: int
    method: str
    level: float = LEVEL

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    @property
    def ratio(self) -> float:
        """Half of its width over the mean; infinite for a mean of zero unless it has no width."""
        if self.half == 0:
            return 0.0
        return self.half / abs(self.mean) if self.mean else math.inf


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean and its Student t interval. One value alone has an infinite one."""
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    mean = _mean(values)
    if n == 1:
        return Interval(mean, -math.inf, math.inf, n, "t", level)
    half = _reach(math.sqrt(_variance(values) / n), n - 1, level)
    return Interval(mean, mean - half, mean + half, n, "t", level)


def paired(a: Sequence[float], b: Sequence[float]) -> Span | None:
    """The interval of the mean of b - a, pair by pair; None for fewer than two pairs."""
    differences = [y - x for x, y in zip(a, b, strict=True)]
    if len(differences) < 2:
        return None
    found = t_interval(differences, LEVEL)
    return Span(found.low, found.high)


def welch(a: Sequence[float], b: Sequence[float]) -> Span | None:
    """Of mean b - mean a of two samples that have nothing to do with each other.

    The samples need not vary alike (Welch 1947, with Satterthwaite's degrees of freedom). None if
    one of them has fewer than two values.
    """
    if min(len(a), len(b)) < 2:
        return None
    parts = [_variance(side) / len(side) for side in (a, b)]
    squared = sum(parts)
    middle = _mean(b) - _mean(a)
    if squared == 0:
        return Span(middle, middle)
    bottom = sum(v * v / (len(side) - 1) for v, side in zip(parts, (a, b), strict=True))
    half = _reach(math.sqrt(squared), squared * squared / bottom, LEVEL)
    return Span(middle - half, middle + half)


def _reach(error: float, freedom: float, level: float) -> float:
    """How far an interval reaches on each side, by Student's t."""
    return t_quantile(freedom, level) * error


@functools.cache
def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """What an interval's half is of the standard error."""
    # Not scipy.stats, which takes three times as long to load.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def bootstrap_interval(
    values: Sequence[float], level: float = LEVEL, *, seed: int = 1, resamples: int = 9999
) -> Interval:
    """The mean and its bias-corrected and accelerated bootstrap interval (scipy's BCa)."""
    n = len(values)
    if n < 2:
        return t_interval(values, level)
    mean = math.fsum(values) / n
    if len(set(values)) == 1:
        return Interval(mean, mean, mean, n, "bootstrap", level)
    import numpy as np
    from scipy import stats

    found = stats.bootstrap(
        (np.asarray(values, dtype=float),),
        np.mean,
        confidence_level=level,
        n_resamples=resamples,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(mean, float(found.low), float(found.high), n, "bootstrap", level)


def mser(values: Sequence[float], batch: int = 5) -> int:
    """Where a series has settled, by MSER-5 (White, Simulation 69:6, 1997).

    The number of values to leave out at the start: the truncation that makes the standard error of
    the mean of what is left smallest, in steps of `batch` values. Looks at the first half only; a
    result at its end says that the series has not settled.
    """
    means = [
        math.fsum(values[i : i + batch]) / batch for i in range(0, len(values) - batch + 1, batch)
    ]
    # What is left is summed as differences from the mean: squares of large, nearly equal values
    # would cancel.
    middle = math.fsum(means) / max(len(means), 1)
    means = [value - middle for value in means]
    best, least = 0, math.inf
    total = math.fsum(means)
    squares = math.fsum(x * x for x in means)
    for cut in range(len(means) // 2 + 1):
        left = len(means) - cut
        if left < 2:
            break
        error = max(squares - total * total / left, 0.0) / (left * left)
        if error < least:
            best, least = cut, error
        total -= means[cut]
        squares -= means[cut] * means[cut]
    return best * batch
