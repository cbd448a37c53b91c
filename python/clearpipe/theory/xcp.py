"""Is XCP's control loop stable, and by how much? Exact in the delay.

XCP, section 4 and appendix B: with x the input less the capacity and q the queue,

    q' = x,    x' = -K1 x(t - d) - K2 q(t - d),    K1 = alpha / d,    K2 = beta / d^2,

so the open loop is G(s) = (K1 s + K2) / s^2 * exp(-s d). With u = omega d it depends on alpha and
beta alone: capacity, delay and the number of flows drop out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, cos, inf, pi, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from clearpipe.errors import ConfigError
from clearpipe.theory.delay import Past, Trajectory, integrate, rightmost_root, unstable_roots

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

ALPHA, BETA = 0.4, 0.226
"""XCP's constants (section 3.5.1)."""

ALPHA_MAX = pi / (4 * sqrt(2))
"""Theorem 1: stable below, if beta = alpha^2 sqrt(2)."""


def theorem_beta(alpha: float) -> float:
    """The beta that goes with alpha in Theorem 1: crossover at the zero's frequency."""
    return alpha * alpha * sqrt(2)


@dataclass(frozen=True)
class Margins:
    """How far the loop is from its edge. `crossover` and `turnover` are angular frequencies [1/s].

    `turnover` is where the phase is -180 degrees; NaN if it is below that at all frequencies.
    """

    stable: bool
    crossover: float
    """Where |G| = 1."""
    phase_rad: float
    """What the phase at crossover is above -180 degrees."""
    turnover: float
    gain: float
    """What G may be multiplied with before the edge; 0 if no gain is stable."""
    delay_s: float
    """What the loop may take longer than the router thinks, K1 and K2 staying as they are."""
    decay: float
    """The real part of the rightmost root, per d: a disturbance goes as exp(decay t / d)."""


def open_loop(
    omega: ArrayLike, alpha: float = ALPHA, beta: float = BETA, d: float = 1.0
) -> Complex:
    """G(j omega), omega in 1/s and d in s."""
    s = 1j * np.asarray(omega, dtype=float)
    return np.asarray((alpha / d * s + beta / d**2) / s**2 * np.exp(-s * d))


def margins(alpha: float = ALPHA, beta: float = BETA, d: float = 1.0) -> Margins:
    """Gain, phase and delay margin, and the exact answer: stable or not.

    The gain falls with frequency, so there is one crossover, u^2 = (alpha^2 + sqrt(alpha^4 + 4
    beta^2)) / 2, and roots cross the axis to the right only as the delay grows: the loop is stable
    exactly if the phase margin atan(alpha u / beta) - u is above 0.
    """
    _check(alpha, beta, d)
    u = _crossover(alpha, beta)
    phase = atan2(alpha * u, beta) - u
    turn = _turnover(alpha, beta)
    gain = turn**2 / sqrt((alpha * turn) ** 2 + beta**2) if turn > 0 else 0.0
    return Margins(
        stable=phase > 0,
        crossover=u / d,
        phase_rad=phase,
        turnover=turn / d if turn > 0 else float("nan"),
        gain=gain,
        delay_s=phase / u * d,
        decay=_decay(alpha, beta),
    )


def _crossover(alpha: float, beta: float) -> float:
    return sqrt((alpha**2 + sqrt(alpha**4 + 4 * beta**2)) / 2)


def _turnover(alpha: float, beta: float) -> float:
    """The u in (0, pi/2] with atan(alpha u / beta) = u, 0 if there is none."""
    if alpha <= beta:
        return 0.0
    return float(
        optimize.brentq(lambda u: alpha * u * cos(u) - beta * sin(u), 1e-9, pi / 2, xtol=1e-15)
    )


def _decay(alpha: float, beta: float) -> float:
    return rightmost_root(_INTEGRATORS, [(_back(alpha, beta), 1.0)]).real


# The state is q and x: q' = x, and x' is what comes back.
_INTEGRATORS = np.array([[0.0, 1.0], [0.0, 0.0]])


def _back(alpha: float, beta: float) -> Array:
    return np.array([[0.0, 0.0], [-beta, -alpha]])


def boundary(points: int = 400) -> tuple[Array, Array]:
    """The edge of stability: alpha = u sin u, beta = u^2 cos u for u from 0 to pi/2.

    Where the characteristic s^2 + (alpha s + beta) exp(-s), in units of d, has the root j u.
    """
    u = np.linspace(0.0, pi / 2, points)
    return u * np.sin(u), u**2 * np.cos(u)


@dataclass(frozen=True, eq=False)
class Map:
    """The phase margin [rad] over alpha (columns) and beta (rows); stable where it is above 0."""

    alpha: Array
    beta: Array
    phase_rad: Array


def stability_map(alpha: ArrayLike, beta: ArrayLike) -> Map:
    """The phase margin for all pairs of alpha and beta."""
    a, b = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
    x, y = np.meshgrid(a, b)
    u = np.sqrt((x**2 + np.sqrt(x**4 + 4 * y**2)) / 2)
    return Map(a, b, np.arctan2(x * u, y) - u)


@dataclass(frozen=True)
class WrongCapacity:
    """The equilibrium of a router that takes its capacity for (1 + error) C.

    The gains do not contain C, so the margins, in units of the RTT that results, stay.
    """

    utilization: float
    queue_rtts: float
    """The queue that stands, in base RTTs of transmission; infinite where it grows forever."""
    rtt_factor: float
    """The RTT over the base RTT."""


def wrong_capacity(error: float, alpha: float = ALPHA, beta: float = BETA) -> WrongCapacity:
    """What a router with a wrong idea of its capacity settles at.

    phi = alpha d (C (1 + error) - y) - beta Q = 0. Too low an idea leaves capacity unused, y = (1 +
    error) C with no queue. Too high a one: y = C and beta Q = alpha d error C, and Q lengthens d,
    to d0 / (1 - error alpha / beta): from error = beta / alpha (0.565) on there is no equilibrium.
    """
    if error <= -1:
        raise ConfigError(f"capacity error {error:g} is not allowed (allowed: above -1)")
    if error <= 0:
        return WrongCapacity(1 + error, 0.0, 1.0)
    part = error * alpha / beta
    if part >= 1:
        return WrongCapacity(1.0, inf, inf)
    return WrongCapacity(1.0, part / (1 - part), 1 / (1 - part))


@dataclass(frozen=True)
class Mixed:
    """The loop of flows with different RTTs around one controller of the mean RTT."""

    unstable_roots: int
    decay: float
    """The real part of the rightmost root, per mean RTT."""

    @property
    def stable(self) -> bool:
        return self.unstable_roots == 0 and self.decay < 0


def mixed_rtts(
    rtts: Sequence[float],
    share: Sequence[float] | None = None,
    alpha: float = ALPHA,
    beta: float = BETA,
) -> Mixed:
    """Stability with flows of different RTTs, by the roots of the characteristic equation.

    The router acts on the mean d; the part `share` (equal, unless given) of its feedback comes back
    after each flow's own RTT: s^2 + (K1 s + K2) sum of share_i exp(-s d_i) = 0.
    """
    delays, parts = _mixture(rtts, share)
    a, b = alpha, beta

    def response(omega: Array) -> Complex:
        s = 1j * omega
        back = np.exp(-np.outer(s, delays)) @ parts
        return np.asarray(s**2 + (a * s + b) * back)

    highest = 1.05 * _crossover(alpha, beta) + 1e-6
    terms = [
        (_back(a * part, b * part), float(delay)) for delay, part in zip(delays, parts, strict=True)
    ]
    points = 20001 + 2000 * int(np.ceil(highest * delays.max()))
    nodes = 20 + 4 * int(np.ceil(highest * delays.max()))
    root = rightmost_root(_INTEGRATORS, terms, nodes=nodes)
    return Mixed(unstable_roots(response, 2, highest, points), root.real)


def mixed_edge(ratio: float) -> float:
    """The alpha at the edge of stability, with beta = alpha^2 sqrt 2 and two RTTs.

    Half of the traffic has an RTT `ratio` times the other's.
    """

    def excess(value: float) -> float:
        return mixed_rtts([1.0, ratio], alpha=value, beta=theorem_beta(value)).decay

    return float(optimize.brentq(excess, 0.05, 1.5, xtol=1e-6))


def _mixture(rtts: Sequence[float], share: Sequence[float] | None) -> tuple[Array, Array]:
    delays = np.asarray(rtts, dtype=float)
    parts = np.ones(len(delays)) if share is None else np.asarray(share, dtype=float)
    if len(delays) == 0 or np.any(delays <= 0) or parts.shape != delays.shape or np.any(parts < 0):
        raise ConfigError("rtts must be above 0, with a share of at least 0 for each")
    parts = parts / parts.sum()
    return delays / float(parts @ delays), parts


@dataclass(frozen=True)
class Start:
    """Where a trajectory starts, in parts of the capacity and of the bandwidth-delay product."""

    input: float = 0.0
    queue: float = 0.0


def trajectory(  # noqa: PLR0913, PLR0917 - the model's own quantities
    alpha: float = ALPHA,
    beta: float = BETA,
    d: float = 1.0,
    capacity: float = 1.0,
    start: Start = Start(),
    t_end: float | None = None,
    queues: bool = False,
    steps_per_rtt: int = 50,
) -> Trajectory:
    """The model in time: input rate y and queue q, in the unit of `capacity`, from `start` on.

    With `queues` the queue cannot be negative and the input neither; without, it is the linear
    model that the theorem is about. `t_end` is 200 d unless given.
    """
    _check(alpha, beta, d)
    k1, k2 = alpha / d, beta / d**2

    def rhs(t: float, x: Array, past: Past) -> list[float]:
        then = past(t - d)
        fill = x[0] - capacity
        if queues and x[1] <= 0:
            fill = max(fill, 0.0)
        return [-k1 * (then[0] - capacity) - k2 * then[1], fill]

    return integrate(
        rhs,
        [start.input * capacity, start.queue * capacity * d],
        t_end=200 * d if t_end is None else t_end,
        step=d / steps_per_rtt,
        smallest_delay=d,
        floor=0.0 if queues else None,
    )


def _check(alpha: float, beta: float, d: float) -> None:
    # Without beta the queue is not controlled: a root at 0.
    for name, value in (("alpha", alpha), ("beta", beta), ("delay", d)):
        if not 0 < value < inf:
            raise ConfigError(f"{name}: {value:g} is not allowed (allowed: above 0)", key=name)
