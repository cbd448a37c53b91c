"""Means with intervals, by scipy: what tables and plots of several runs show.

Replications are independent by construction (each has random streams of its own), so the t interval
of their means holds as far as the means are normal. Where they are not (few of them, a bound such
as a utilization near 1), the bootstrap assumes less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A mean and the interval around it."""

    mean: float
    low: float
    high: float
    n: int
    method: str
    level: float = 0.95

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


def t_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The mean and its Student t interval. One value alone has an infinite one."""
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, n, "t", level)
    # Not scipy.stats, which takes three times as long to load.
    from scipy.special import stdtrit

    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (n - 1))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n, "t", level)


def bootstrap_interval(
    values: Sequence[float], level: float = 0.95, *, seed: int = 1, resamples: int = 9999
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
