"""How much feedback is enough? MLCP's analysis (MLCP, sections 2 and 3.1.2).

The gain of the ideal protocol is xi(sigma) = kappa (1 - sigma) / sigma, eq. (1). A scheme of n bits
has l = 2^n - 3 levels below the target utilization and uses the gain of each level's upper edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from clearpipe.errors import ConfigError

Array = NDArray[np.float64]

KAPPA, TARGET = 0.35, 0.8
BETA_MAX, BETA_MIN = 0.875, 0.675

INITIAL_BYTES = 1024.0
"""x_0. The paper's k l_0 is 0; 1 KB as 1000 bytes would not give its four values."""

Scheme = Literal["A", "B", "C", "D"]


def levels(bits: int) -> int:
    """l = 2^n - 3: a code each is not ECN-capable, high load and overload."""
    if not 2 <= bits <= 24:
        raise ConfigError(f"bits: {bits} is not allowed (allowed: 2 to 24)", key="bits")
    return int(2**bits) - 3


def gain(load: ArrayLike, kappa: float = KAPPA) -> Array:
    """xi(sigma) of the ideal protocol, eq. (1)."""
    if not 0 < kappa < inf:
        raise ConfigError(f"kappa: {kappa:g} is not allowed (allowed: above 0)", key="kappa")
    sigma = np.asarray(load, dtype=float)
    return np.asarray(kappa * (1 - sigma) / sigma)


def edges(bits: int, target: float = TARGET) -> Array:
    """The upper edges l_1 to l_l of the levels."""
    count = levels(bits)
    return target * np.arange(1, count + 1) / count


def factor(load: ArrayLike, bits: int, kappa: float = KAPPA, target: float = TARGET) -> Array:
    """The MI factor 1 + xi of a scheme at loads below the target: Figure 1."""
    upper = edges(bits, target)
    sigma = np.asarray(load, dtype=float)
    if np.any(sigma < 0) or np.any(sigma > target):
        raise ConfigError(f"load: MI is for 0 to {target:g}", key="load")
    level = np.searchsorted(upper, sigma * (1 - 1e-12), side="left")
    return 1 + gain(upper[np.minimum(level, len(upper) - 1)], kappa)


def rounds(
    bits: int,
    bdp_bytes: float,
    *,
    kappa: float = KAPPA,
    initial_bytes: float = INITIAL_BYTES,
    target: float = TARGET,
) -> float:
    """r(l), eq. (4): RTTs from the initial window to the target utilization of an empty link.

    The paper prints the next whole number. `bdp_bytes` is k = C RTT. Levels below the initial
    window take no time: their terms would be negative.
    """
    upper = edges(bits, target)
    window = np.maximum(np.concatenate(([0.0], upper * bdp_bytes)), initial_bytes)
    return float(np.sum(np.log(window[1:] / window[:-1]) / np.log1p(gain(upper, kappa))))


def whole_rounds(bits: int, bdp_bytes: float) -> int:
    """r(l) as the paper prints it: 118, 15, 11, 8 for 2, 3, 4, 15 bits, 1 Gb/s and 200 ms."""
    return ceil(rounds(bits, bdp_bytes))


def beta(load: ArrayLike, scheme: Scheme = "D") -> Array:
    """What is left of the window in overload: Figure 6.

    A and B cut to 0.675 and to 0.875, C to the one from 120 % on and to the other below, and D,
    MLCP's, in eight equal steps from 100 % to 120 %.
    """
    sigma = np.asarray(load, dtype=float)
    if np.any(sigma < 1):
        raise ConfigError("load: MD is for 1 and above", key="load")
    if scheme == "A":
        return np.full(sigma.shape, BETA_MIN)
    if scheme == "B":
        return np.full(sigma.shape, BETA_MAX)
    if scheme == "C":
        return np.asarray(np.where(sigma < 1.2, BETA_MAX, BETA_MIN))
    step = (BETA_MAX - BETA_MIN) / 7
    level = np.clip(np.floor((sigma - 1) / step + 1e-9), 0, 7)
    return np.asarray(BETA_MAX - level * step)


def rounds_to_fair(part: float = 0.7, cut: float = BETA_MAX) -> float:
    """Rounds of AIMD until that part of the way to the fair rate is done: 1 - beta^k = part."""
    return log(1 - part) / log(cut)


@dataclass(frozen=True)
class Epoch:
    """What each flow does between two cuts, all cuts coming together (section 3.1.2)."""

    additive: int = 5
    """n rounds of c += alpha."""
    inverse: int = 0
    """m rounds of c += alpha / sqrt(c), c that of the epoch's begin."""
    cut: float = BETA_MAX


def after_epochs(
    window: ArrayLike,
    alpha: ArrayLike,
    epoch: Epoch = Epoch(),
    count: int = 400,
) -> Array:
    """The windows after so many epochs, each just after its cut: eq. (11)."""
    c = np.asarray(window, dtype=float).copy()
    step = np.asarray(alpha, dtype=float)
    for _ in range(count):
        c = epoch.cut * (c + epoch.additive * step + epoch.inverse * step / np.sqrt(c))
    return c


def fixed_point(alpha: float, epoch: Epoch = Epoch()) -> float:
    """The window that one epoch leaves as it is, just after the cut.

    With m = 0 it is beta n alpha / (1 - beta): windows go as alpha, eq. (11). With II they do not:
    the increment alpha / sqrt(c) is not linear, and with II alone windows go as alpha^(2/3). The
    paper's proof takes 1 / sqrt(c_1) and 1 / sqrt(c_2) for equal.
    """
    n, m = epoch.additive, epoch.inverse
    if min(n, m) < 0 or n + m == 0:
        raise ConfigError(
            f"additive and inverse: {n} and {m} rounds are not allowed (allowed: at least 0, and "
            "one of them above 0; without increases windows go to 0)",
            key="additive",
        )

    def excess(c: float) -> float:
        return float(after_epochs(c, alpha, epoch, 1)) - c

    top = max(1.0, alpha)
    while excess(top) > 0:
        top *= 2
    return float(optimize.brentq(excess, 1e-12, top, xtol=1e-13, rtol=1e-14))


def rate_ratio(rtt_ratio: float, epoch: Epoch) -> float:
    """The rate of a flow of RTT t_p over that of one of `rtt_ratio` t_p, by eq. (12).

    alpha_f = (rtt / t_p)^2 is added t_p / rtt times in a round of t_p: rtt / t_p. 1 is fair, and so
    it is without II; with II alone the rate goes as rtt^(-1/3).
    """
    near, far = (fixed_point(r, epoch) / r for r in (1.0, rtt_ratio))
    return near / far
