"""Throughput of the baselines against their loss rate.

Windows are means in packets, p the rate of loss (or marking) events per packet, RTTs in seconds.
A rate is window / RTT. All models take losses as regular or independent, and the RTT as constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearpipe.errors import ConfigError

Array = NDArray[np.float64]


def reno(p: ArrayLike, b: int = 1) -> Array:
    """sqrt(3 / (2 b p)): Mathis et al., CCR 27(3), 1997; b packets per ACK."""
    return np.sqrt(3 / (2 * b * _loss(p)))


def pftk(p: ArrayLike, rtt: float, rto: float = 1.0, b: int = 1, w_max: float = np.inf) -> Array:
    """Rate times RTT by the full model: Padhye et al., ToN 8(2), 2000, eq. (32).

    With timeouts of `rto` seconds and their doubling, and the receiver's window `w_max`.
    """
    q = _loss(p)
    first = (2 + b) / (3 * b)
    unlimited = first + np.sqrt(8 * (1 - q) / (3 * b * q) + first**2)
    window = np.minimum(unlimited, w_max)
    lost = _timeout_share(q, window)
    backoff = 1 + q + 2 * q**2 + 4 * q**3 + 8 * q**4 + 16 * q**5 + 32 * q**6
    packets = (1 - q) / q + window + lost / (1 - q)
    with np.errstate(invalid="ignore"):
        limited = b / 8 * window + (1 - q) / (q * window) + 2
    rounds = np.where(unlimited < w_max, b / 2 * unlimited + 1, limited)
    return np.asarray(rtt * packets / (rtt * rounds + lost * rto * backoff / (1 - q)))


def _timeout_share(p: Array, window: Array) -> Array:
    """Q: how likely a loss in a window ends in a timeout (eq. (24) there)."""
    kept = 1 - p
    tail = 1 + kept**3 * (1 - kept ** np.maximum(window - 3, 0))
    return np.minimum(1.0, (1 - kept**3) * tail / (1 - kept**window))


def tfrc(p: ArrayLike, rtt: float, rto: float | None = None, b: int = 1) -> Array:
    """Rate times RTT by the equation of TFRC: RFC 5348, section 3.1; t_RTO is 4 RTT by default."""
    q = _loss(p)
    wait = 4 * rtt if rto is None else rto
    slow = wait * 3 * np.sqrt(3 * b * q / 8) * q * (1 + 32 * q**2)
    return np.asarray(rtt / (rtt * np.sqrt(2 * b * q / 3) + slow))


def hstcp(p: ArrayLike) -> Array:
    """HighSpeed TCP: RFC 3649, section 5; Reno's 1.2 / sqrt(p) above a loss rate of 10^-3."""
    q = _loss(p)
    slope = (log(83000) - log(38)) / (log(1e-7) - log(1e-3))
    return np.asarray(np.where(q >= 1e-3, np.sqrt(1.5 / q), 38 * (q / 1e-3) ** slope))


def scalable(p: ArrayLike, a: float = 0.01, b: float = 0.125) -> Array:
    """Scalable TCP: Kelly, CCR 33(2), 2003: a for each ACK, b w for each loss: a / (b p)."""
    return np.asarray(a / (b * _loss(p)))


def cubic(p: ArrayLike, rtt: float, c: float = 0.4, beta: float = 0.7) -> Array:
    """CUBIC: RFC 9438, section 5.1, or Reno's window where that is larger (section 4.3)."""
    q = _loss(p)
    own = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt / q) ** 0.75
    return np.asarray(np.maximum(own, np.sqrt(1.5 / q)))


def gaimd(p: ArrayLike, alpha: float = 1.0, beta: float = 0.5, b: int = 1) -> Array:
    """sqrt(alpha (1 + beta) / (2 b (1 - beta) p)): Yang, Lam, ICNP 2000, without timeouts.

    beta is what a cut leaves.
    """
    return np.sqrt(alpha * (1 + beta) / (2 * b * (1 - beta) * _loss(p)))


def binomial(
    p: ArrayLike,
    k: float,
    m: float,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Array:
    """Binomial control, + alpha / w^k a round and - beta w^m a loss: Bansal, Balakrishnan, 2001.

    (alpha / (beta p))^(1 / (k + m + 1)); TCP-like where k + m = 1.
    """
    return np.asarray((alpha / (beta * _loss(p))) ** (1 / (k + m + 1)))


def dctcp(p: ArrayLike) -> Array:
    """DCTCP when marks are independent: the estimate is p, w p / 2 a round balances 1: 2 / p.

    As in RFC 9332, section 2.1; the sawtooth of a step is `dctcp_step`.
    """
    return 2 / _loss(p)


def htcp(p: ArrayLike, rtt: float, beta: float = 0.5, slow: float = 1.0) -> Array:
    """H-TCP: Leith, Shorten, PFLDnet 2004, by the time between losses, in closed form.

    The increase per RTT, t seconds after a loss, is 2 (1 - beta) (1 + 10 u + u^2 / 4), u = t -
    `slow`, above `slow`. Its integral gives the window and the packets of the epoch; p = 1 / those.
    """
    t = np.geomspace(1e-3, 1e5, 4000)
    u = np.maximum(t - slow, 0.0)
    grown = t + 5 * u**2 + u**3 / 12
    area = t**2 / 2 + 5 * u**3 / 3 + u**4 / 48
    peak = 2 * grown / rtt
    packets = (beta * peak * t + 2 * (1 - beta) / rtt * area) / rtt
    return _interpolate(p, 1 / packets, packets * rtt / t)


def bic(p: ArrayLike, s_max: float = 32.0, s_min: float = 0.01, beta: float = 0.875) -> Array:
    """BIC: Xu, Harfoush, Rhee, INFOCOM 2004: its search between two losses, round by round.

    Reno's growth below 14 packets. beta is what a cut leaves.
    """
    peaks = np.geomspace(2.0, 1e6, 300)
    found = np.array([_bic_epoch(float(w), s_max, s_min, beta) for w in peaks])
    return np.maximum(_interpolate(p, found[:, 0], found[:, 1]), 1.0)


def _bic_epoch(peak: float, s_max: float, s_min: float, beta: float) -> tuple[float, float]:
    """(p, mean window) of the rounds from a cut at `peak` to the next."""
    if peak < 14:
        packets = 3 / 8 * peak * peak
        return 1 / packets, 3 / 4 * peak
    w, total, rounds = beta * peak, 0.0, 0
    # Far below the peak, s_max a round; then halves of what is left, until s_min.
    linear = max(int((peak - w - 2 * s_max) / s_max), 0)
    total += linear * w + s_max * linear * (linear - 1) / 2
    w, rounds = w + linear * s_max, linear
    while w < peak:
        total, rounds = total + w, rounds + 1
        w += min(max((peak - w) / 2, s_min), s_max)
    return 1 / total, total / rounds


class Sawtooth(NamedTuple):
    """DCTCP's steady state at one queue that marks above K packets."""

    alpha: float
    window: float
    """W*, at which the marking sets in [packets]."""
    amplitude: float
    """Of each flow's window [packets]."""
    queue_max: float
    queue_min: float
    period_rtts: float


def dctcp_step(flows: int, bdp: float, k: float) -> Sawtooth:
    """N synchronized DCTCP flows: Alizadeh et al., SIGCOMM 2010, eq. (4) to (11).

    `bdp` is C RTT and K the threshold, in packets. alpha solves alpha^2 (1 - alpha / 4) =
    (2 W* + 1) / (W* + 1)^2; it is about sqrt(2 / W*).
    """
    w = (bdp + k) / flows
    goal = (2 * w + 1) / (w + 1) ** 2
    low, high = 0.0, 1.0
    for _ in range(200):
        alpha = (low + high) / 2
        low, high = (alpha, high) if alpha**2 * (1 - alpha / 4) < goal else (low, alpha)
    swing = (w + 1) * alpha / 2
    top = k + flows
    return Sawtooth(alpha, w, swing, top, max(top - flows * swing, 0.0), swing)


@dataclass(frozen=True)
class Response:
    """One line of the table: a name, w(p, rtt), and where it is from."""

    name: str
    window: Callable[[ArrayLike, float], Array]
    source: str


RESPONSES = (
    Response("Reno", lambda p, rtt: reno(p), "Mathis et al. 1997"),
    Response("Reno, full", pftk, "Padhye et al. 2000, eq. (32)"),
    Response("TFRC", tfrc, "RFC 5348, 3.1"),
    Response("HSTCP", lambda p, rtt: hstcp(p), "RFC 3649, 5"),
    Response("Scalable", lambda p, rtt: scalable(p), "Kelly 2003"),
    Response("BIC", lambda p, rtt: bic(p), "Xu et al. 2004, by epochs"),
    Response("CUBIC", cubic, "RFC 9438, 5.1"),
    Response("H-TCP", htcp, "Leith, Shorten 2004, by epochs"),
    Response("GAIMD 0.31, 7/8", lambda p, rtt: gaimd(p, 0.3125, 0.875), "Yang, Lam 2000"),
    Response("Binomial SQRT", lambda p, rtt: binomial(p, 0.5, 0.5), "Bansal et al. 2001"),
    Response("DCTCP", lambda p, rtt: dctcp(p), "RFC 9332, 2.1"),
)


def _loss(p: ArrayLike) -> Array:
    values = np.asarray(p, dtype=float)
    if not np.all((values > 0) & (values < 1)):
        raise ConfigError("loss: allowed is above 0 and below 1", key="loss")
    return values


def _interpolate(p: ArrayLike, losses: Array, windows: Array) -> Array:
    """The window at p, of a curve given by points, in logarithms."""
    q = _loss(p)
    order = np.argsort(losses)
    return np.exp(np.interp(np.log(q), np.log(losses[order]), np.log(windows[order])))
