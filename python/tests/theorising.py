"""What the tests of the theory share."""

from __future__ import annotations

import tomllib

import numpy as np

import clearpipe as cp
from clearpipe.theory import Network, of_paths


def random_network(rng: np.random.Generator, limits: bool = True) -> Network:
    links, flows = int(rng.integers(1, 9)), int(rng.integers(1, 16))
    used = rng.random((flows, links)) < rng.uniform(0.1, 0.8)
    used[np.arange(flows), rng.integers(0, links, flows)] = True
    # Few values, so that links tie.
    capacity = rng.choice([1.0, 2.0, 10.0, 100.0, 155.0], links)
    return of_paths(
        capacity,
        [np.flatnonzero(row) for row in used],
        weight=rng.choice([0.5, 1.0, 2.0, 3.0], flows),
        count=rng.integers(1, 4, flows),
        limit=rng.choice([np.inf, 0.5, 20.0], flows) if limits else np.inf,
    )


def base_rtts(scenario: str, group: str) -> list[float]:
    """The RTTs of a group without queues [s], from the resolved scenario."""
    resolved = tomllib.loads(cp.resolve(scenario).toml)
    flows = resolved["flows"][group]
    way = sum(
        seconds(resolved["links"][name]["owd"]) for name in flows["path"] + flows["reverse_path"]
    )

    def owds(key: str) -> list[float]:
        value = flows[key]
        return [seconds(x) for x in ([value] if isinstance(value, str) else value)]

    ends = zip(owds("source_owd"), owds("sink_owd"), strict=True)
    return [way + 2 * (a + b) for a, b in ends]


def seconds(text: str) -> float:
    for unit, scale in (("ps", 1e-12), ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * scale
    raise AssertionError(text)
