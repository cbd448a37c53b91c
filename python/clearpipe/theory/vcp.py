"""VCP's fluid model: equilibrium, stability and convergence (VCP, section V).

MIAIMD, eq. (9) to (11): w_i' = (1/T) (w_i xi(rho(t)) + alpha), xi(rho) = kappa (1 - rho) / rho, and
rho(t) = W(t - T) / (gamma C T) with W the sum of all w. Windows in packets, C in packets per
second. In v = W / (gamma C T) and t / T only a = N alpha / (gamma C T) and kappa remain:

    v' = kappa v(t) (1 - v(t - 1)) / v(t - 1) + a,    at rest v = 1 + a / kappa.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import acos, inf, log, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from clearpipe.errors import ConfigError
from clearpipe.theory.delay import Past, Trajectory, integrate, rightmost_root

Array = NDArray[np.float64]

KAPPA, ALPHA, BETA, GAMMA, T_RHO = 0.25, 1.0, 0.875, 0.98, 0.2
"""VCP's constants (Table I); t_rho in seconds."""

LARGEST = 1e6
"""The largest kappa whose roots are computed."""

KAPPA_MAX = 0.5
"""Theorem 1: globally stable up to this kappa, whatever C, T and N are."""


def xi(rho: ArrayLike, kappa: float = KAPPA) -> Array:
    """The multiplicative gain per RTT at a load factor, eq. (10); negative in overload."""
    load = np.asarray(rho, dtype=float)
    return np.asarray(kappa * (1 - load) / load)


@dataclass(frozen=True)
class Link:
    """One bottleneck with N flows of one RTT."""

    capacity: float
    """C [packets/s]."""
    rtt: float
    """T [s]."""
    flows: int = 1
    kappa: float = KAPPA
    alpha: float = ALPHA
    gamma: float = GAMMA

    def __post_init__(self) -> None:
        for name in ("capacity", "rtt", "flows", "kappa", "alpha", "gamma"):
            value = getattr(self, name)
            if not 0 < value < inf:
                raise ConfigError(f"{name}: {value:g} is not allowed (allowed: above 0)", key=name)

    @property
    def target(self) -> float:
        """gamma C T [packets]."""
        return self.gamma * self.capacity * self.rtt

    @property
    def push(self) -> float:
        """a = N alpha / (gamma C T)."""
        return self.flows * self.alpha / self.target

    @property
    def window(self) -> float:
        """W* = gamma C T + N alpha / kappa [packets]: Theorem 1."""
        return self.target + self.flows * self.alpha / self.kappa

    @property
    def rate(self) -> float:
        """r* = gamma C / N + alpha / (kappa T) of each flow [packets/s]: Theorem 1."""
        return self.gamma * self.capacity / self.flows + self.alpha / (self.kappa * self.rtt)

    @property
    def utilization(self) -> float:
        """gamma + alpha / (kappa P), P = C T / N; above 1 a queue would grow without end."""
        return self.gamma + self.alpha * self.flows / (self.kappa * self.capacity * self.rtt)

    @property
    def smallest_bdp(self) -> float:
        """The P [packets per flow] from which on the utilization is at most 1."""
        return self.alpha / (self.kappa * (1 - self.gamma)) if self.gamma < 1 else inf


@dataclass(frozen=True)
class Stability:
    """The equilibrium's local stability, which is exact, beside the theorem's sufficient bound."""

    stable: bool
    theorem: bool
    """Is kappa at most 1/2, for which every trajectory converges?"""
    edge: float
    """The kappa at which the equilibrium loses stability, for this a."""
    decay: float
    """The real part of the rightmost root, per T."""


def stability(kappa: float, push: float) -> Stability:
    """The stability of v' = kappa v (1 - v1) / v1 + a; `push` is a.

    About 1 + a / kappa it is x' = -A x(t) - B x(t - 1), A = kappa a / (kappa + a) and B = kappa^2 /
    (kappa + a): with B > A roots cross the axis at omega = sqrt(B^2 - A^2) = acos(-A / B). For a =
    0 that is Wright's equation, and kappa = pi / 2.
    """
    if not 0 < kappa <= LARGEST:
        allowed = f"above 0, up to {LARGEST:g}"
        raise ConfigError(f"kappa: {kappa:g} is not allowed (allowed: {allowed})", key="kappa")
    a, b = _slopes(kappa, push)
    return Stability(
        stable=_excess(kappa, push) < 0,
        theorem=kappa <= KAPPA_MAX,
        edge=edge(push),
        decay=rightmost_root(-a, [(-b, 1.0)]).real,
    )


def _slopes(kappa: float, push: float) -> tuple[float, float]:
    return kappa * push / (kappa + push), kappa * kappa / (kappa + push)


def _excess(kappa: float, push: float) -> float:
    """Above 0 where the equilibrium is unstable."""
    a, b = _slopes(kappa, push)
    return -1.0 if b <= a else sqrt(b * b - a * a) - acos(-a / b)


def edge(push: float) -> float:
    """The kappa at which the equilibrium loses stability."""
    if push == 0:
        return pi / 2

    # In what kappa exceeds push by, which is 2 pi^2 / push for a large push.
    def excess(over: float) -> float:
        k = push + over
        return k * sqrt(over / (k + push)) - acos(-push / k)

    return push + float(optimize.brentq(excess, 0.0, 10 * pi, xtol=1e-13))


@dataclass(frozen=True, eq=False)
class Map:
    """The edge in kappa, over alpha (columns) and T (rows), and where a kappa is stable."""

    kappa: Array
    alpha: Array
    rtt: Array
    edge: Array
    """Of each (T, alpha)."""
    stable: NDArray[np.bool_]
    """Of each (kappa, T, alpha)."""


def stability_map(
    kappa: ArrayLike, alpha: ArrayLike, rtt: ArrayLike, per_flow: float, gamma: float = GAMMA
) -> Map:
    """Where the equilibrium is stable; `per_flow` is C / N [packets/s], RTTs in seconds."""
    k, a, t = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (kappa, alpha, rtt))
    edges = np.array([[edge(x / (gamma * per_flow * y)) for x in a] for y in t])
    return Map(k, a, t, edges, k[:, None, None] < edges[None, :, :])


def windows(
    link: Link, start: ArrayLike, *, rounds: float = 300, steps_per_rtt: int = 20
) -> Trajectory:
    """The windows [packets] of the flows from constant windows `start` on, over so many RTTs.

    A single start stands for the sum of all windows, eq. (13), otherwise there is one per flow.
    """
    first = np.atleast_1d(np.asarray(start, dtype=float))
    if len(first) not in (1, link.flows) or np.any(first <= 0):
        raise ConfigError(f"start: one value or {link.flows}, each above 0", key="start")
    push = link.alpha * (link.flows if len(first) == 1 else 1)

    def rhs(t: float, w: Array, past: Past) -> Array:
        rho = float(past(t - link.rtt).sum()) / link.target
        return np.asarray((w * link.kappa * (1 - rho) / rho + push) / link.rtt)

    return integrate(
        rhs,
        first,
        t_end=rounds * link.rtt,
        step=link.rtt / steps_per_rtt,
        smallest_delay=link.rtt,
    )


@dataclass(frozen=True, eq=False)
class Steered:
    """What eq. (14) made of gamma: values after each of its steps."""

    gamma: Array
    utilization: Array


def steer(  # noqa: PLR0913, PLR0917 - the rule's own quantities
    link: Link,
    target: float,
    start: float = GAMMA,
    step: float = 0.01,
    every: float = 10,
    updates: int = 200,
    filter_: float = 0.5,
) -> Steered:
    """gamma steered to a target utilization: gamma += step sign(U - u), eq. (14).

    The model runs between the steps, `every` RTTs apart; u is its mean utilization over them,
    smoothed with weight `filter_`. gamma stays within 0.1 and 0.999.
    """
    gamma, seen = start, 0.0
    window = np.array([link.window])
    gammas, used = [], []
    for k in range(updates):
        now = Link(link.capacity, link.rtt, link.flows, link.kappa, link.alpha, gamma)
        part = windows(now, window, rounds=every, steps_per_rtt=8)
        window = part.x[-1]
        fresh = float(part.x.mean()) / (link.capacity * link.rtt)
        seen = fresh if k == 0 else (1 - filter_) * seen + filter_ * fresh
        gamma = float(np.clip(gamma + step * np.sign(target - seen), 0.1, 0.999))
        gammas.append(gamma)
        used.append(fresh)
    return Steered(np.array(gammas), np.array(used))


@dataclass(frozen=True)
class Mixed:
    """MIAIMD with flows of different RTTs, by the roots of the characteristic equation."""

    load: float
    """rho at rest."""
    rates: tuple[float, ...]
    """Of each flow [packets/s]."""
    decay: float
    """The real part of the rightmost root, per mean RTT; stable below 0."""


def mixed_rtts(
    rtts: Sequence[float],
    capacity: float,
    *,
    kappa: float = KAPPA,
    alpha: float = ALPHA,
    gamma: float = GAMMA,
    t_rho: float | None = None,
) -> Mixed:
    """The equilibrium and its stability for flows of the given RTTs [s]; C in packets/s.

    The load factor is that of the rates, sum of w_i(t - T_i) / T_i over gamma C. With `t_rho` the
    gains are scaled as in VCP's eq. (6) to (8): growth per t_rho is the same for all RTTs, and the
    rates become equal. Without, each flow goes by its own RTT: windows become equal.
    """
    delay = np.asarray(rtts, dtype=float)
    if len(delay) == 0 or np.any(delay <= 0):
        raise ConfigError("rtts must be above 0", key="rtts")
    target = gamma * capacity
    # At rest w_i = strength_i / e, e = kappa (1 - 1 / rho), so rho = 1 + sum / (kappa target).
    scale = delay if t_rho is None else np.full(len(delay), t_rho)
    strength = alpha * np.ones(len(delay)) if t_rho is None else alpha * delay / t_rho
    rho = 1 + float((strength / delay).sum()) / (kappa * target)
    loss = kappa * (1 - 1 / rho)
    w = strength / loss
    now = -np.diag(loss / scale)
    gain = w * kappa / rho**2 / scale
    terms = []
    for j, d in enumerate(delay):
        back = np.zeros((len(delay), len(delay)))
        back[:, j] = -gain / (d * target)
        terms.append((back, float(d)))
    root = rightmost_root(now, terms)
    return Mixed(rho, tuple((w / delay).tolist()), root.real * float(delay.mean()))


def mixed_edge(ratio: float, bdp: float, *, t_rho: float | None = None) -> float:
    """The kappa at which two RTTs, 1 s and `ratio` s, lose stability.

    `bdp` is the capacity in packets per mean RTT. Infinite if that is beyond 64 (1 + a), a = N
    alpha / (gamma C T).
    """
    capacity = bdp / ((1 + ratio) / 2)
    highest = 64 * (1 + 2 * ALPHA / (GAMMA * bdp))

    def decay(kappa: float) -> float:
        return mixed_rtts([1.0, ratio], capacity, kappa=kappa, t_rho=t_rho).decay

    top = 2.0
    while decay(top) < 0:
        top *= 2
        if top > highest:
            return inf
    return float(optimize.brentq(decay, 0.02, top, xtol=1e-4))


def rounds_to_efficiency(
    capacity: float, start: float = 1.0, part: float = 0.8, gain: float = 0.0625
) -> float:
    """Theorem 3: load intervals of MI from `start` packets to that part of the capacity [packets].

    ln(part C / start) / ln(1 + xi): 1 / log10(1.0625) = 38 for each power of ten. 0 if `start` is
    enough.
    """
    return max(log(part * capacity / start), 0.0) / log(1 + gain)


def rounds_to_release(over_use: float, beta: float = BETA) -> float:
    """Theorem 3: load intervals until an over-use (2 is twice the capacity) is gone.

    Each cut leaves beta of it and takes two intervals: the cut's, and the one that is waited out.
    """
    return 2 * log(over_use) / log(1 / beta)


def rounds_to_fairness(bdp: float, difference: float, beta: float = BETA) -> float:
    """Theorem 4: load intervals until two windows differ by one packet.

    `bdp` is P, the BDP per flow, and `difference` the first one, both in packets. A cut leaves beta
    of it, ln(dP) / ln(1 / beta) of them are needed, and (1 - beta) P rounds of AI lie between. 0 if
    they do not differ by more.
    """
    return (1 - beta) * bdp * max(log(difference), 0.0) / log(1 / beta)


def xcp_rounds_to_fairness(difference: float, gamma: float = 0.1) -> float:
    """What XCP needs for the same, in RTTs: each shuffles the part gamma of all traffic."""
    return log(difference) / log(1 / (1 - gamma))


def friendly_alpha(beta: float = BETA, timeouts: bool = True) -> float:
    """The additive increase with which AIMD of this beta gets as much as TCP.

    With timeouts 4 (1 - beta^2) / 3 (Yang and Lam, GAIMD), without 3 (1 - beta) / (1 + beta).
    """
    return 4 * (1 - beta * beta) / 3 if timeouts else 3 * (1 - beta) / (1 + beta)
