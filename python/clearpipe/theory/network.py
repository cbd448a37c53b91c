"""What the equilibrium tools work on: links with capacities, and flows with paths and weights."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearpipe import api
from clearpipe.errors import ConfigError
from clearpipe.options import RATES

if TYPE_CHECKING:
    from clearpipe.api import Scenario

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# XCP's own (section 3.5.1), for links whose queue does not say.
XCP_ALPHA, XCP_GAMMA = 0.4, 0.1


@dataclass(frozen=True, eq=False)
class Network:
    """Links and the flows over them; an entry of the flows' arrays stands for `count` equal flows.

    The path of entry i is `link[start[i]:start[i + 1]]`. Capacities, rates and limits have one
    unit: bit/s from a scenario, otherwise whatever the caller uses.
    """

    links: tuple[str, ...]
    capacity: Array
    flows: tuple[str, ...]
    start: Ints
    link: Ints
    count: Array
    weight: Array
    limit: Array
    """The most that each flow can send: its access line. Infinite where there is none."""
    alpha: Array
    """XCP's alpha at each link."""
    gamma: Array
    """XCP's gamma at each link."""
    notes: tuple[str, ...] = ()
    """What of the scenario is not part of an equilibrium."""

    @cached_property
    def flow(self) -> Ints:
        """The entry that each element of `link` belongs to."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def members(self) -> tuple[Ints, Ints]:
        """The entries at link l are `members[1][members[0][l]:members[0][l + 1]]`."""
        order = np.argsort(self.link, kind="stable")
        counts = np.bincount(self.link, minlength=len(self.capacity))
        return np.concatenate(([0], np.cumsum(counts))), self.flow[order]

    def load(self, rate: ArrayLike) -> Array:
        """The sum of the flows' rates at each link."""
        each = (np.asarray(rate, dtype=float) * self.count)[self.flow]
        return np.bincount(self.link, weights=each, minlength=len(self.capacity)).astype(float)

    def path(self, entry: int) -> Ints:
        """The links of one entry."""
        return self.link[self.start[entry] : self.start[entry + 1]]


def of_paths(  # noqa: PLR0913 - keywords, each with a meaning of its own
    capacity: ArrayLike,
    paths: Sequence[Sequence[int] | NDArray[np.integer[Any]]] | NDArray[np.integer[Any]],
    *,
    weight: ArrayLike = 1.0,
    count: ArrayLike = 1.0,
    limit: ArrayLike = np.inf,
    alpha: ArrayLike = XCP_ALPHA,
    gamma: ArrayLike = XCP_GAMMA,
) -> Network:
    """A network of plain arrays: `paths` lists each flow's links, by their index in `capacity`.

    Raises ConfigError if a capacity, weight, count or limit is not positive, or a path is empty,
    names a link that is not there or one link twice.
    """
    capacities = _positive("capacity", capacity, None)
    lengths = np.array([len(path) for path in paths], dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    flat = [np.asarray(path, dtype=np.int64) for path in paths]
    link = np.concatenate(flat) if flat else np.empty(0, dtype=np.int64)
    network = Network(
        links=tuple(f"link {i}" for i in range(len(capacities))),
        capacity=capacities,
        flows=tuple(f"flow {i}" for i in range(len(lengths))),
        start=start,
        link=link,
        count=_positive("count", count, len(lengths)),
        weight=_positive("weight", weight, len(lengths)),
        limit=_positive("limit", limit, len(lengths)),
        alpha=_positive("alpha", alpha, len(capacities)),
        gamma=_positive("gamma", gamma, len(capacities), zero=True),
    )
    _check_paths(network, lengths)
    return network


def of_scenario(scenario: Scenario, *, set: Sequence[str] = ()) -> Network:
    """The network of a scenario file: its links, and its groups of flows without end.

    Transfers that arrive and finite ones have no equilibrium and are left out, and so is the load
    of ACKs; `notes` says what was left out. The weight is VCP's `weight` or XCP's `price`, the
    limit the access line's rate or, if lower, XCP's `rate`. A link whose capacity changes counts
    with its first one, a group of several access lines with its slowest.

    Raises ConfigError if the scenario is not valid or no flow is left.
    """
    resolved = tomllib.loads(api.resolve(scenario, set=set).toml)
    links = resolved["links"]
    number = {name: index for index, name in enumerate(links)}
    notes = [f"link {name}: its first capacity" for name in links if _changes(links[name])]
    groups: list[tuple[str, Mapping[str, Any]]] = []
    for name, group in resolved["flows"].items():
        if "arrivals" in group or group.get("size", "unlimited") != "unlimited":
            notes.append(f"group {name} left out: its transfers end")
        elif "rate" in group:
            notes.append(f"group {name} left out: its application has a rate of its own")
        else:
            if isinstance(group.get("access_rate"), list):
                notes.append(f"group {name}: its slowest access line")
            groups.append((name, group))
    if not groups:
        raise ConfigError("an equilibrium needs a group of flows without an end", key="flows")
    paths = [[number[link] for link in group["path"]] for _, group in groups]
    queues = [resolved["queues"].get(link["queue"], {}) for link in links.values()]
    plain = of_paths(
        [rate(link["rate"]) for link in links.values()],
        paths,
        weight=[_weight(resolved["protocols"], group["protocol"]) for _, group in groups],
        count=[group.get("count", 1) for _, group in groups],
        limit=[
            min(_access(group), _demand(resolved["protocols"], group["protocol"]))
            for _, group in groups
        ],
        alpha=[_xcp(queue, "alpha", XCP_ALPHA) for queue in queues],
        gamma=[_xcp(queue, "gamma", XCP_GAMMA) for queue in queues],
    )
    named = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    named |= {"links": tuple(links), "flows": tuple(name for name, _ in groups)}
    return Network(**(named | {"notes": tuple(notes)}))


def rate(text: str) -> float:
    """A scenario's rate in bit/s: "45Mbps" is 45e6."""
    match = re.fullmatch(r"([0-9.eE+-]+)\s*([kMGT]?bps)", text)
    if match is None:
        raise ConfigError(f"{text!r} is not a rate such as 45Mbps")
    return float(match[1]) * RATES[match[2]]


def _access(group: Mapping[str, Any]) -> float:
    """The slowest access line of a group, which may have a list of them."""
    lines = group.get("access_rate", [])
    return min(map(rate, [lines] if isinstance(lines, str) else lines), default=np.inf)


def _demand(protocols: Mapping[str, Any], name: str) -> float:
    """The rate that an XCP application asks for; its parameter is 0 where that is everything."""
    parameters = protocols.get(name, {})
    wanted = parameters.get("rate", 0.0) if "xcp" in parameters.get("kind", "") else 0.0
    return float(wanted) or np.inf


def _changes(link: Mapping[str, Any]) -> bool:
    return bool({"steps", "trace", "down"} & set(link))


def _weight(protocols: Mapping[str, Any], name: str) -> float:
    parameters = protocols.get(name, {})
    return float(parameters.get("weight", parameters.get("price", 1.0)))


def _xcp(queue: Mapping[str, Any], name: str, default: float) -> float:
    """A parameter of an XCP router; other queues have parameters of these names too."""
    value = queue.get(name, default) if "xcp" in queue.get("kind", "") else default
    return float(value)


def _positive(name: str, values: ArrayLike, length: int | None, *, zero: bool = False) -> Array:
    array = np.atleast_1d(np.asarray(values, dtype=float))
    if length is not None and array.shape != (length,):
        if array.size != 1:
            raise ConfigError(f"{name}: {array.size} values for {length} entries", key=name)
        array = np.full(length, array[0])
    fine = (array >= 0) if zero else (array > 0)
    if not np.all(fine):
        allowed = "at least 0" if zero else "above 0"
        message = f"{name}: {array[~fine][0]:g} is not allowed (allowed: {allowed})"
        raise ConfigError(message, key=name)
    return array


def _check_paths(network: Network, lengths: Ints) -> None:
    if np.any(lengths == 0):
        empty = network.flows[int(np.argmin(lengths))]
        raise ConfigError(f"paths: {empty} has no link", key="paths")
    links, flow = network.link, network.flow
    if len(links) and not 0 <= links.min() <= links.max() < len(network.capacity):
        raise ConfigError(
            f"paths: links are numbered 0 to {len(network.capacity) - 1}", key="paths"
        )
    both = np.sort(flow * len(network.capacity) + links)
    if len(both) and np.any(np.diff(both) == 0):
        twice = int(both[:-1][np.diff(both) == 0][0])
        name = network.flows[twice // len(network.capacity)]
        raise ConfigError(
            f"paths: {name} crosses link {twice % len(network.capacity)} twice", key="paths"
        )
