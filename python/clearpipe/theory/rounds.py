"""AIMD and VCP in whole rounds: what the convergence theorems count.

All flows have one RTT, which is the load interval, and hear the same feedback.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearpipe.errors import ConfigError
from clearpipe.theory.vcp import ALPHA, BETA, KAPPA

Array = NDArray[np.float64]

LOW, HIGH = 0.8, 1.0
"""VCP's codes: low load below 80 %, high load below 100 %, overload above (section III-B)."""

MI = KAPPA * (1 - LOW) / LOW
"""xi at the transition point, 0.0625: eq. (5)."""


def rounds_to_halve(beta: float) -> int:
    """Cuts until at most half of the window is left."""
    return ceil(log(0.5) / log(beta) - 1e-12)


def scaled_mi(rtt: ArrayLike, t_rho: float = 0.2, xi: float = MI) -> Array:
    """xi_s = (1 + xi)^(rtt / t_rho) - 1, eq. (6): growth per t_rho is that of xi for all RTTs."""
    return np.asarray((1 + xi) ** (np.asarray(rtt, dtype=float) / t_rho) - 1)


def scaled_ai(
    rtt: ArrayLike, t_rho: float = 0.2, alpha: float = ALPHA, *, fair_rates: bool = True
) -> Array:
    """alpha rtt / t_rho, eq. (7), which makes windows equal, or squared, eq. (8): rates."""
    part = np.asarray(rtt, dtype=float) / t_rho
    return np.asarray(alpha * (part**2 if fair_rates else part))


def aimd(
    window: ArrayLike, alpha: ArrayLike, beta: float = BETA, rounds: int = 5, epochs: int = 400
) -> Array:
    """The windows after epochs of so many rounds of + alpha and one cut each."""
    c = np.asarray(window, dtype=float).copy()
    step = np.asarray(alpha, dtype=float)
    for _ in range(epochs):
        c = beta * (c + rounds * step)
    return c


def aimd_to_fair(bdp: float, difference: float, beta: float = BETA, alpha: float = ALPHA) -> int:
    """Rounds until two flows of AIMD, `difference` packets apart, differ by at most one.

    They share a link of 2 `bdp`, and both cut when they fill it.
    """
    total, apart, count = 2.0 * bdp, difference, 0
    while apart > 1:
        total += 2 * alpha
        if total > 2 * bdp:
            total, apart = beta * total, beta * apart
        count += 1
    return count


def xcp_to_fair(window: ArrayLike, gamma: float = 0.1) -> int:
    """Rounds of XCP's shuffling until all windows are within one packet of each other.

    The link is full: each round takes gamma of every window and deals it out equally.
    """
    w = np.asarray(window, dtype=float).copy()
    count = 0
    while np.ptp(w) > 1:
        w = w - gamma * w + gamma * w.sum() / len(w)
        count += 1
    return count


@dataclass(frozen=True, eq=False)
class Rounds:
    """VCP round by round."""

    window: Array
    """Of each flow (columns) at the begin of each round (rows) [packets]."""
    load: Array
    """rho in each round."""


def vcp(target: float, window: ArrayLike, count: int, beta: float = BETA) -> Rounds:
    """VCP's own rules in so many rounds, for a link that carries `target` packets per round.

    Low load multiplies, high load adds, overload cuts once; after a cut a round is waited out and
    one adds, whatever the load. No queue.
    """
    w = np.atleast_1d(np.asarray(window, dtype=float)).copy()
    if target <= 0 or np.any(w <= 0):
        raise ConfigError("target and windows must be above 0")
    seen, loads = [], []
    hold = 0
    for _ in range(count):
        load = float(w.sum()) / target
        seen.append(w.copy())
        loads.append(load)
        if hold == 2:
            hold = 1  # frozen
        elif hold == 1 or LOW <= load < HIGH:
            w, hold = w + ALPHA, 0
        elif load < LOW:
            w = w * (1 + MI)
        else:
            w, hold = np.maximum(beta * w, 1.0), 2
    return Rounds(np.array(seen), np.array(loads))
