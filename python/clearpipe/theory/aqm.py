"""Is TCP with an AQM stable? Linear models, exact in the delay.

Queue-based: TCP's window about its equilibrium is P(s) = C^2 / (2 N) exp(-s R) / ((s + 2 N / (R^2
C)) (s + 1 / R)), from marking probability to queue (Hollot, Misra, Towsley, Gong, INFOCOM 2001).
Rate-based: x' = 1 / d^2 - beta x(t) x(t - d) p(t - d), beta = 2/3, and p = (lambda - C~) / lambda
at a virtual queue (Kunniyur, Srikant, SIGCOMM 2001). Rates in packets per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, atan2, inf, log, log1p, pi, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

Aqm = Literal["red", "rem", "pi", "vq", "avq"]

REDUCTION = 2 / 3
"""beta of the rate model: x' = 1/d^2 - beta x^2 p has Reno's x = sqrt(3 / (2 p)) / d."""


@dataclass(frozen=True)
class Path:
    """N TCP flows of one RTT at one link."""

    capacity: float
    """C [packets/s]."""
    rtt: float
    """[s], queueing included."""
    flows: int


@dataclass(frozen=True)
class Tuning:
    """The constants of each AQM, as in XCP's comparison (section 5)."""

    max_p: float = 0.1
    w_q: float = 0.002
    thresholds: float = 1 / 3
    """max_th - min_th, in bandwidth-delay products: thirds of a buffer of one."""
    phi: float = 1.001
    rem_gamma: float = 0.001
    rem_alpha: float = 0.1
    rem_packets: int = 10
    pi_gain: float = 9.6426e-6
    pi_zero: float = 0.5294
    """The PI of its authors: for 3750 packets/s, 60 flows, 246 ms."""
    gamma: float = 0.98
    avq_alpha: float = 0.15


@dataclass(frozen=True)
class Margin:
    """The phase margin, and the edge of what is stable."""

    phase_rad: float
    """Infinite if there is no crossover."""
    crossover: float
    """Where the loop's gain is 1 [1/s]; 0 if it is below 1 everywhere."""

    @property
    def stable(self) -> bool:
        return self.phase_rad > 0


def margin(aqm: Aqm, path: Path, tuning: Tuning = Tuning()) -> Margin:
    """The phase margin of TCP with this AQM."""
    if aqm in ("vq", "avq"):
        return _virtual(path, tuning.avq_alpha if aqm == "avq" else 0.0, tuning.gamma)
    omega = np.geomspace(1e-9 / path.rtt, 1e5 / path.rtt, 20001)
    loop = open_loop(aqm, omega, path, tuning)
    above = np.flatnonzero(np.abs(loop) > 1)
    if not len(above):
        return Margin(inf, 0.0)
    # The gains fall with frequency: one crossover, between two points of the grid.
    last = min(int(above[-1]), len(omega) - 2)
    gain = np.log(np.abs(loop[last : last + 2]))
    part = float(gain[0] / (gain[0] - gain[1]))
    crossover = float(omega[last] * (omega[last + 1] / omega[last]) ** part)
    phase = float(np.interp(crossover, omega, np.unwrap(np.angle(loop))))
    return Margin(pi + phase - crossover * path.rtt, crossover)


def open_loop(aqm: Aqm, omega: Array, path: Path, tuning: Tuning = Tuning()) -> Complex:
    """The loop of TCP with this AQM at j omega [1/s], without its delay."""
    if aqm in ("vq", "avq"):
        k, s = rates(path, tuning.gamma), 1j * omega
        alpha = tuning.avq_alpha if aqm == "avq" else 0.0
        return np.asarray((k.k12 * s + alpha * k.k2) / (s * (s + k.k11)))
    return np.asarray(_window(omega, path) * _controller(aqm, omega, path, tuning))


def _window(omega: Array, path: Path) -> Complex:
    """P without its delay."""
    s = 1j * omega
    c, r, n = path.capacity, path.rtt, path.flows
    return np.asarray(c * c / (2 * n) / ((s + 2 * n / (r * r * c)) * (s + 1 / r)))


def _controller(aqm: Aqm, omega: Array, path: Path, tuning: Tuning) -> Complex:
    s = 1j * omega
    if aqm == "red":
        slope = tuning.max_p / (tuning.thresholds * path.capacity * path.rtt)
        pole = -path.capacity * log1p(-tuning.w_q)
        return np.asarray(slope / (1 + s / pole))
    if aqm == "pi":
        return np.asarray(tuning.pi_gain * (1 + s / tuning.pi_zero) / s)
    update = tuning.rem_packets / path.capacity
    return np.asarray(
        log(tuning.phi) * tuning.rem_gamma * (1 + tuning.rem_alpha / (update * s)) + 0j
    )


@dataclass(frozen=True)
class Rates:
    """s^2 + K11 s + (K12 s + alpha K2) exp(-s d) = 0."""

    k11: float
    k12: float
    k2: float


def rates(path: Path, gamma: float = 0.98) -> Rates:
    """The coefficients of TCP at a virtual queue, at x = gamma C / N: p = 1 / (beta x^2 d^2)."""
    x = gamma * path.capacity / path.flows
    return Rates(1 / (x * path.rtt**2), REDUCTION * x, REDUCTION * x)


def _virtual(path: Path, alpha: float, gamma: float) -> Margin:
    k = rates(path, gamma)
    # |K12 j w + alpha K2| = |w| |j w + K11|: one root above 0.
    b = k.k11**2 - k.k12**2
    square = (-b + sqrt(b * b + 4 * (alpha * k.k2) ** 2)) / 2
    if square <= 0:
        return Margin(inf, 0.0)
    w = sqrt(square)
    lag = pi / 2 + atan(w / k.k11) - atan2(k.k12 * w, alpha * k.k2)
    return Margin(pi - lag - w * path.rtt, w)


def avq_alpha(path: Path, gamma: float = 0.98) -> float:
    """The largest alpha for which AVQ is stable (Kunniyur, Srikant, theorem 2.1); 0 if none is."""

    def room(alpha: float) -> float:
        return min(_virtual(path, alpha, gamma).phase_rad, pi)

    if room(1e-12) <= 0:
        return 0.0
    top = 1e-3
    while room(top) > 0:
        top *= 2
    return float(optimize.brentq(room, 1e-12, top, xtol=1e-14))


def edge_capacity(aqm: Aqm, rtt: float, flows: int, tuning: Tuning = Tuning()) -> float:
    """The capacity [packets/s] from which on TCP with this AQM is unstable; infinite if none."""

    def room(exponent: float) -> float:
        return min(margin(aqm, Path(10.0**exponent, rtt, flows), tuning).phase_rad, pi)

    grid = np.linspace(1, 9, 161)
    unstable = [e for e in grid if room(float(e)) <= 0]
    if not unstable:
        return inf
    first = float(unstable[0])
    if first == grid[0]:
        return float(10**first)
    return float(10 ** optimize.brentq(room, first - 0.05, first, xtol=1e-10))


def tcp_increase(flows: int, rtt: float) -> float:
    """What N Reno flows add to their rate, without losses [packets/s^2]: N packets per RTT."""
    return flows / rtt**2


def xcp_increase(spare: float, rtt: float, alpha: float = 0.4) -> float:
    """What XCP's router adds to its input for so much spare capacity [packets/s^2].

    Whatever N is: phi is divided among the flows.
    """
    return alpha * spare / rtt
