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
    if level == LEVEL and freedom in _T_FREEDOMS:
        return _T_QUANTILES[int(freedom) - 1]
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


# Student's t, of which 97.5 % is below, for 1, 2, ... degrees of freedom, as scipy gives it. To
# load scipy takes longer than most tables of a few runs.
# fmt: off
_T_QUANTILES = (
    12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934,
    2.5705818356363146, 2.4469118511449786, 2.364624251592784, 2.306004135204166, 2.262157162798205,
    2.228138851986274, 2.200985160091639, 2.1788128296672284, 2.1603686564627913, 2.144786687917804,
    2.131449545559776, 2.1199052992212546, 2.1098155778333156, 2.1009220402410382,
    2.0930240544083087, 2.085963447265864, 2.0796138447276795, 2.0738730679040254,
    2.0686576104190486, 2.0638985616280245, 2.0595385527532972, 2.0555294386428735,
    2.0518305164802846, 2.0484071417952454, 2.045229642132703, 2.0422724563012378,
    2.039513446396408, 2.0369333434601016, 2.0345152974493383, 2.0322445093177186,
    2.030107928250343, 2.0280940009804502, 2.0261924630291093, 2.0243941639119694,
    2.022690920036761, 2.021075390306273, 2.019540970441376, 2.0180817028184443, 2.016692199227824,
    2.0153675744437636, 2.014103388880846, 2.012895598919429, 2.0117405137297655, 2.010634757624232,
    2.0095752371292392, 2.008559112100761, 2.007583770315836, 2.006646805061688, 2.0057459953178687,
    2.0048792881880564, 2.0040447832891455, 2.003240718847872, 2.002465459291007,
    2.0017174841452356, 2.000995378088267, 2.0002978220142604, 1.999623584994939,
    1.9989715170333788, 1.998340542520741, 1.997729654317693, 1.9971379083920038,
    1.9965644189523117, 1.996008354025296, 1.9954689314298435, 1.9949454151072374,
    1.994437111771186, 1.9939433678456255, 1.9934635666618719, 1.992997125889855, 1.992543495180932,
    1.9921021540022417, 1.9916726096446642, 1.9912543953883846, 1.9908470688116906,
    1.9904502102301285, 1.990063421254446, 1.9896863234569029, 1.989318557136572,
    1.9889597801751624, 1.9886096669757083, 1.9882679074772216, 1.98793420623902,
    1.9876082815890708, 1.9872898648311692, 1.986978699506281, 1.9866745407037683,
    1.9863771544186177, 1.98608631695113, 1.9858018143458227, 1.985523441866604, 1.9852510035054978,
    1.984984311522457, 1.9847231860139845, 1.9844674545084815, 1.9842169515864174,
    1.9839715185235518, 1.983731002955606, 1.9834952585628793, 1.9832641447734565,
    1.9830375264837259, 1.9828152737950475, 1.9825972617655006, 1.9823833701756908,
    1.982173483307727, 1.9819674897364825, 1.981765282132372, 1.9815667570749007,
    1.9813718148763053, 1.981180359414661, 1.9809922979758567, 1.9808075411039094,
    1.9806260024590894, 1.9804475986834025, 1.980272249272974, 1.9800998764569397,
    1.9799304050824402,
)
# fmt: on
_T_FREEDOMS = range(1, len(_T_QUANTILES) + 1)
