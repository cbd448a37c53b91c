"""How far each control loop is from the edge of stability: critical gains, encirclements and roots.

Every loop here is one gain, a few poles and one delay, in units of which (the RTT) it is written:

    XCP               (alpha s + beta) / s^2 * exp(-s)             beta = alpha^2 sqrt 2, or fixed
    VCP, MLCP         B exp(-s) / (s + A), the fluid model at rest (`vcp.stability`)
    Paganini, Doyle,  alpha exp(-s) / s: sources x = x_max exp(-alpha q / (M d)), links
    Low                 p' = (y - c) / c; stable for alpha < pi / 2 whatever C, d and N (CDC 2001)
    REM, PI, RED      TCP's window with a marking law of the queue (`aqm`), in seconds
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, log, pi, sin

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from clearpipe.errors import ConfigError
from clearpipe.theory import aqm, delay, mlcp, vcp, xcp

Complex = NDArray[np.complex128]

SCALABLE_MAX = pi / 2
"""Paganini, Doyle, Low: stable for alpha below."""


@dataclass(frozen=True)
class Edge:
    """A loop and how far it is from its edge."""

    name: str
    gain: str
    """Which gain, and what it is held with."""
    value: float
    """What the gain is."""
    critical: float
    """At which value of it the loop loses stability."""
    encirclements: int
    """How often the Nyquist curve goes round -1: the number of roots on the right."""
    roots: tuple[complex, ...]
    """The rightmost characteristic roots, per RTT; one of each pair of complex ones."""

    @property
    def stable(self) -> bool:
        return self.encirclements == 0

    @property
    def ratio(self) -> float:
        """What the gain may be multiplied with before the edge."""
        return self.critical / self.value


def xcp_edge(alpha: float = xcp.ALPHA, beta: float | None = None, count: int = 3) -> Edge:
    """XCP's loop along Theorem 1's curve beta = alpha^2 sqrt 2, or with `beta` held.

    The edge of alpha at a beta is u sin u at the u in (0, pi/2) of u^2 cos u = beta above the
    curve's other branch; along the curve it is pi / (4 sqrt 2).
    """
    held = xcp.theorem_beta(alpha) if beta is None else beta
    critical = xcp.ALPHA_MAX if beta is None else critical_alpha(beta)

    def response(omega: delay.Array) -> Complex:
        s = 1j * omega
        return np.asarray(s**2 + (alpha * s + held) * np.exp(-s))

    highest = 2 + 2 * (alpha + held)
    back = np.array([[0.0, 0.0], [-held, -alpha]])
    now = np.array([[0.0, 1.0], [0.0, 0.0]])
    found = delay.roots(now, [(back, 1.0)], count)
    name = "alpha, beta = alpha^2 sqrt 2" if beta is None else f"alpha, beta {beta:g}"
    right = delay.unstable_roots(response, 2, highest)
    return Edge("XCP", name, alpha, critical, right, tuple(found))


def critical_alpha(beta: float) -> float:
    """The largest stable alpha at a beta: u sin u where u^2 cos u = beta, the larger u."""
    top = float(optimize.minimize_scalar(lambda u: -u * u * cos(u), bounds=(0.1, 1.5)).x)
    if not 0 < beta < top * top * cos(top):
        raise ConfigError(f"beta: {beta:g} is not allowed (no alpha is stable with it)", key="beta")
    u = float(optimize.brentq(lambda u: u * u * cos(u) - beta, top, pi / 2, xtol=1e-15))
    return u * sin(u)


def critical_beta(alpha: float) -> float:
    """The largest stable beta at an alpha: u^2 cos u where u sin u = alpha."""
    if not 0 < alpha < pi / 2:
        raise ConfigError(f"alpha: {alpha:g} is not allowed (allowed: below pi / 2)", key="alpha")
    u = float(optimize.brentq(lambda u: u * sin(u) - alpha, 1e-12, pi / 2, xtol=1e-15))
    return u * u * cos(u)


def miaimd_edge(name: str, kappa: float, push: float, count: int = 3) -> Edge:
    """VCP's or MLCP's fluid model about its equilibrium; `push` is N alpha / (gamma C T)."""
    a, b = kappa * push / (kappa + push), kappa * kappa / (kappa + push)

    def response(omega: delay.Array) -> Complex:
        s = 1j * omega
        return np.asarray(s + a + b * np.exp(-s))

    found = delay.roots(-a, [(-b, 1.0)], count)
    right = delay.unstable_roots(response, 1, 2 + 2 * (a + b))
    return Edge(name, "kappa", kappa, vcp.edge(push), right, tuple(found))


def scalable_edge(alpha: float = 1.0, count: int = 3) -> Edge:
    """Paganini, Doyle and Low's scalable law at one link."""
    if not 0 < alpha < 1e6:
        raise ConfigError(f"alpha: {alpha:g} is not allowed (allowed: above 0)", key="alpha")

    def response(omega: delay.Array) -> Complex:
        s = 1j * omega
        return np.asarray(s + alpha * np.exp(-s))

    found = delay.roots(0.0, [(-alpha, 1.0)], count)
    right = delay.unstable_roots(response, 1, 2 + 2 * alpha)
    return Edge("Paganini, Doyle, Low", "alpha", alpha, SCALABLE_MAX, right, tuple(found))


def queue_gain_margin(name: aqm.Aqm, path: aqm.Path) -> float:
    """What the loop of TCP with this AQM may be multiplied with before the edge.

    1 / |L| where its phase is -180 degrees the first time.
    """
    omega = np.geomspace(1e-6 / path.rtt, 1e3 / path.rtt, 200001)
    loop = aqm.open_loop(name, omega, path)
    phase = np.unwrap(np.angle(loop)) - omega * path.rtt
    below = np.flatnonzero(phase <= -pi)
    if not len(below):
        return float("inf")
    return float(1 / abs(loop[below[0]]))


def shuffling_rtts(gamma: float = 0.1) -> float:
    """XCP's shuffling: differences between flows shrink by 1 - gamma each RTT, exp(-t / this).

    9.49 RTTs for the paper's 0.1 (VCP, Theorem 4 counts ln(dP) of them).
    """
    return -1 / log(1 - gamma)


def fairness_rounds(part: float = 0.7) -> list[tuple[int, float, float]]:
    """MLCP's eight MD levels (Figure 6): level, beta, and rounds of AIMD to that part of fair."""
    step = (mlcp.BETA_MAX - mlcp.BETA_MIN) / 7
    betas = [mlcp.BETA_MAX - level * step for level in range(8)]
    return [(k, cut, mlcp.rounds_to_fair(part, cut)) for k, cut in enumerate(betas)]
