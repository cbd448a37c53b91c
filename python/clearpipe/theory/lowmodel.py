"""Where XCP and iXCP come to rest on any network: Low's model.

Low, Andrew, Wydrowski, "Understanding XCP: equilibrium and fairness", INFOCOM 2005, as restated in
iXCP's paper (sections II-B and V). A link l that N flows cross, with the rates x_i and their sum y,
divides phi = alpha (c - y) equally, and shuffles h = max(0, gamma y - |phi|): equal parts to all,
taken from each in proportion to its rate. A flow obeys its path's smallest feedback: at rest

    min over its links of (phi+ + h) / N - x_i (phi- + h) / y = 0.

No queue stands at rest: y = c with phi < 0 would bound all rates by less than y / N. So a flow held
at l has x_i = gamma y^2 / (N ((alpha + gamma) y - alpha c)), which falls as y grows from 4/5 of c
(with alpha 0.4, gamma 0.1) to c. Filling from the lowest link up gives the one solution.

iXCP shuffles among the flows held at l only. Then increments and decrements of the shuffling cancel
where those have equal rates, phi = 0 is left, and what remains of the link is shared: max-min.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearpipe.errors import ConfigError
from clearpipe.theory.network import Array, Ints, Network
from clearpipe.theory.waterfill import Allocation, fill


def xcp_equilibrium(network: Network) -> Allocation:
    """XCP's equilibrium rates; proportional to the weights (price) among flows held together.

    Raises ConfigError where gamma is 0: without shuffling any rates that fill the links stay.
    """
    if np.any(network.gamma == 0):
        name = network.links[int(np.argmin(network.gamma))]
        raise ConfigError(f"gamma: 0 at {name}: without shuffling there is no one equilibrium")
    total = network.load(network.weight)

    def level(link: int, settled: float, weight: float) -> float:
        capacity = float(network.capacity[link])
        alpha, gamma = float(network.alpha[link]), float(network.gamma[link])
        # r W ((alpha+gamma)(Y + n r) - alpha c) = gamma (Y + n r)^2, of rates in parts of c.
        y, n, w = settled / capacity, weight, float(total[link])
        a = n * (w * (alpha + gamma) - gamma * n)
        b = w * ((alpha + gamma) * y - alpha) - 2 * gamma * y * n
        return capacity * _positive_root(a, b, -gamma * y * y)

    return fill(network, level)


def ixcp_equilibrium(network: Network) -> Allocation:
    """iXCP's equilibrium rates: what phi = 0 leaves, shared by those whose bottleneck it is."""
    capacity = network.capacity
    # Eq. (10) in iXCP's section V: r = (y - y0) / (N - N0) with y = c.
    return fill(network, lambda link, other, weight: (capacity[link] - other) / weight)


@dataclass(frozen=True, eq=False)
class Feedback:
    """What the links tell the flows, in rate per control interval.

    Elements belong to those of `network.link`: flow by flow, along its path.
    """

    spare: Array
    """phi of each link."""
    shuffled: Array
    """h of each link."""
    increase: Array
    decrease: Array
    network: Network

    @property
    def net(self) -> Array:
        """Increase less decrease for each flow at each of its links."""
        return self.increase - self.decrease

    @property
    def smallest(self) -> Array:
        """The smallest net feedback on each flow's path: what it obeys; 0 at rest."""
        return np.minimum.reduceat(self.net, self.network.start[:-1])


def xcp_feedback(network: Network, rate: ArrayLike) -> Feedback:
    """The feedback that XCP's routers give these rates, queues being empty."""
    everyone = np.ones(len(network.link), dtype=bool)
    return _feedback(network, np.asarray(rate, dtype=float), everyone)


def ixcp_feedback(network: Network, rate: ArrayLike, bottleneck: Ints) -> Feedback:
    """The feedback that iXCP's routers give these rates: eq. (3) to (8) of its section V."""
    return _feedback(network, np.asarray(rate, dtype=float), _held(network, bottleneck))


def _held(network: Network, bottleneck: Ints) -> NDArray[np.bool_]:
    return np.asarray(network.link == np.asarray(bottleneck)[network.flow])


def _feedback(network: Network, rate: Array, shuffles: NDArray[np.bool_]) -> Feedback:
    flow, link = network.flow, network.link
    links = len(network.capacity)
    rates, weights = (rate * network.count)[flow], (network.weight * network.count)[flow]

    def of_links(values: Array) -> Array:
        return np.bincount(link, weights=values, minlength=links).astype(float)

    load, weight = of_links(rates), of_links(weights)
    inner_load, inner_weight = of_links(rates * shuffles), of_links(weights * shuffles)
    spare = network.alpha * (network.capacity - load)
    shuffled = np.maximum(network.gamma * inner_load - np.abs(spare), 0.0)
    up, down = np.maximum(spare, 0.0), np.maximum(-spare, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        add, cut = up / weight, down / load
        shuffle_add = np.nan_to_num(shuffled / inner_weight)
        shuffle_cut = np.nan_to_num(shuffled / inner_load)
    share = network.weight[flow]
    each = rate[flow]
    return Feedback(
        spare=spare,
        shuffled=shuffled,
        increase=share * (add[link] + shuffles * shuffle_add[link]),
        decrease=each * (cut[link] + shuffles * shuffle_cut[link]),
        network=network,
    )


def iterate(
    network: Network, rate: ArrayLike, steps: int, *, ixcp: bool = False, gain: float = 1.0
) -> Array:
    """Lets the feedback act for so many control intervals, all RTTs being equal.

    The way to the equilibrium and a check of it: rates follow the smallest feedback of their path,
    `gain` times as fast. An iXCP flow's bottleneck is where it got its smallest feedback last.
    """
    rates = np.asarray(rate, dtype=float).copy()
    bottleneck = network.link[network.start[:-1]].copy()
    ends = network.start[1:]
    for _ in range(steps):
        told = ixcp_feedback(network, rates, bottleneck) if ixcp else xcp_feedback(network, rates)
        for entry, (begin, end) in enumerate(zip(network.start[:-1], ends, strict=True)):
            bottleneck[entry] = network.link[begin + int(np.argmin(told.net[begin:end]))]
        rates = np.clip(rates + gain * told.smallest, 1e-12, network.limit)
    return rates


def miaimd_equilibrium(
    network: Network, increment: float, *, kappa: float = 0.25, gamma: float = 0.98
) -> Allocation:
    """VCP's MIAIMD model at rest on any network (VCP, Theorem 2), all RTTs being T.

    r_i = e / (1 - 1/rho_i), rho_i the largest load factor y / (gamma c) on flow i's path, and e =
    `increment` / `kappa`: alpha / T in the unit of the capacities, over kappa.
    """
    step = increment / kappa

    def level(link: int, settled: float, weight: float) -> float:
        # n r^2 + r (Y - gamma c - e n) - e Y = 0.
        target = gamma * float(network.capacity[link])
        return _positive_root(weight, settled - target - step * weight, -step * settled)

    return fill(network, level)


def _positive_root(a: float, b: float, c: float) -> float:
    """The positive root of a r^2 + b r + c, a > 0 and c <= 0, without cancellation."""
    root = sqrt(b * b - 4 * a * c)
    if b <= 0:
        return (root - b) / (2 * a)
    return -2 * c / (b + root) if c else 0.0
