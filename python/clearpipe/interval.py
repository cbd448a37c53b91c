"""Confidence intervals of a difference of means, by Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

LEVEL = 0.95
"""The share of such intervals that hold the true difference."""


class Interval(NamedTuple):
    """The interval's ends."""

    low: float
    high: float


def paired(a: Sequence[float], b: Sequence[float]) -> Interval | None:
    """Of the mean of b - a, pair by pair; None for fewer than two pairs."""
    differences = [y - x for x, y in zip(a, b, strict=True)]
    n = len(differences)
    if n < 2:
        return None
    return _around(_mean(differences), math.sqrt(_variance(differences) / n), n - 1)


def welch(a: Sequence[float], b: Sequence[float]) -> Interval | None:
    """Of mean b - mean a of two samples that have nothing to do with each other.

    The samples need not vary alike (Welch 1947, with Satterthwaite's degrees of freedom). None if
    one of them has fewer than two values.
    """
    if min(len(a), len(b)) < 2:
        return None
    parts = [_variance(side) / len(side) for side in (a, b)]
    squared = sum(parts)
    if squared == 0:
        return _around(_mean(b) - _mean(a), 0.0, 1)
    bottom = sum(v * v / (len(side) - 1) for v, side in zip(parts, (a, b), strict=True))
    return _around(_mean(b) - _mean(a), math.sqrt(squared), squared * squared / bottom)


def _around(middle: float, error: float, freedom: float) -> Interval:
    # Not scipy.stats, which takes three times as long to load.
    from scipy.special import stdtrit

    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return Interval(middle - reach, middle + reach)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
