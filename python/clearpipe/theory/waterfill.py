"""Weighted max-min fair rates by water-filling, and a check that knows nothing of how.

Bertsekas, Gallager, Data Networks, 6.5.2: a feasible allocation is max-min fair exactly if every
flow has a bottleneck, a full link on its path at which no flow has a larger rate per weight.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clearpipe.theory.network import Array, Ints, Network

Level = Callable[[int, float, float], float]
"""(link, rate of the flows settled elsewhere, weight of the others) -> the others' rate per weight.

It must fall when the settled rate rises: then filling from the lowest level up is exact."""

OWN = -1
"""The bottleneck of a flow that its own access line limits."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """Rates and what holds each of them."""

    network: Network
    rate: Array
    """Of each single flow, in the unit of the capacities."""
    bottleneck: Ints
    """The link that limits the flow; `OWN` where its access line does."""

    @property
    def load(self) -> Array:
        """The sum of the rates at each link."""
        return self.network.load(self.rate)

    @property
    def utilization(self) -> Array:
        """Load over capacity of each link."""
        return self.load / self.network.capacity


def maxmin(network: Network) -> Allocation:
    """The weighted max-min fair rates: rate over weight is as equal as the links allow.

    >>> from clearpipe.theory.network import of_paths
    >>> maxmin(of_paths([155.0, 100.0], [[0, 1], [0, 1], [0]])).rate
    array([50., 50., 55.])
    """
    capacity = network.capacity
    return fill(network, lambda link, settled, weight: (capacity[link] - settled) / weight)


def fill(network: Network, level: Level) -> Allocation:
    """Settles the flows of one link after another, that of the lowest level first.

    Why that is exact: were all open flows of a link held there, its level would be at most what it
    is at rest, as they can only be slower. At the lowest of these levels no other link can hold a
    flow of this one lower, so there it is the level at rest.

    A link's level is worked out again when it comes first in the heap, from its flows as they are
    then: it can only have risen, so what is stale is too low and comes back.
    """
    flows = len(network.flows)
    rate, bottleneck = np.zeros(flows), np.full(flows, OWN, dtype=np.int64)
    open_ = np.ones(flows, dtype=bool)
    weight, count = network.weight, network.count
    demand = weight * count
    starts, members = network.members
    bounds = starts.tolist()

    def at(link: int) -> tuple[float, Ints]:
        here = members[bounds[link] : bounds[link + 1]]
        free = here[open_[here]]
        if not len(free):
            return np.inf, free
        settled = float(np.dot(rate[here], count[here]))  # open flows still have rate 0
        return max(level(link, settled, float(demand[free].sum())), 0.0), free

    heap = [(at(link)[0], link) for link in range(len(network.capacity))]
    heapq.heapify(heap)
    limits = _limits(network)
    limit, own = next(limits, (np.inf, OWN))
    while heap:
        told, link = heap[0]
        now, free = at(link)
        if not len(free):
            heapq.heappop(heap)
        elif limit < now and limit <= told:
            if open_[own]:
                rate[own], open_[own] = network.limit[own], False
            limit, own = next(limits, (np.inf, OWN))
        elif now > told * (1 + 1e-13):
            heapq.heapreplace(heap, (now, link))
        else:
            rate[free], bottleneck[free], open_[free] = now * weight[free], link, False
            heapq.heappop(heap)
    return Allocation(network, rate, bottleneck)


def _limits(network: Network) -> Iterator[tuple[float, int]]:
    """The flows' own limits per weight, from the lowest up."""
    levels = network.limit / network.weight
    for entry in np.argsort(levels, kind="stable"):
        if np.isfinite(levels[entry]):
            yield float(levels[entry]), int(entry)


@dataclass(frozen=True)
class Certificate:
    """Whether an allocation is max-min fair, and by how much it is not."""

    overload: float
    """The largest load over capacity, less 1; 0 where no link is overloaded."""
    unfair: int
    """The flows without a bottleneck."""
    holds: bool


def certify(network: Network, rate: ArrayLike, tolerance: float = 1e-9) -> Certificate:
    """Checks the definition itself: no overload, and a bottleneck for every flow.

    `tolerance` is relative to capacities and rates.
    """
    rates = np.asarray(rate, dtype=float)
    per_weight = rates / network.weight
    used = network.load(rates) / network.capacity
    highest = np.zeros(len(network.capacity))
    np.maximum.at(highest, network.link, per_weight[network.flow])
    full = used >= 1 - tolerance
    leads = per_weight[network.flow] >= highest[network.link] * (1 - tolerance)
    held = np.zeros(len(rates), dtype=bool)
    held[network.flow[full[network.link] & leads]] = True
    held |= rates >= network.limit * (1 - tolerance)
    over = max(float(used.max(initial=0.0)) - 1, 0.0)
    beyond = bool(np.any(rates > network.limit * (1 + tolerance))) or bool(np.any(rates < 0))
    unfair = int(np.count_nonzero(~held))
    return Certificate(over, unfair, unfair == 0 and over <= tolerance and not beyond)
