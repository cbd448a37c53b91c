"""ABC's claims that are computed, averages over traces and the theorem; abc.toml has the others."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS, MARKERS
from clearpipe.reproduce.runs import Data, mean
from clearpipe.reproduce.tools import (
    base_rtts,
    claim_of,
    flow_series,
    link_of,
    link_series,
    seconds,
)
from clearpipe.theory.abc import Loop

BASE_RTT = 0.1
"""The path's round trip [s]: mm-delay 50 each way."""
LINK = "up"
SHARE = 0.95
PACKET = 1500
"""[bytes]"""
WARMUP = 40.0
"""Of the loop's runs [s]."""

# The cellular links.


def waits(result: cp.Result, link: str = LINK) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How long the packets that left the queue had waited in it, in the order of departure [s];
    those that found the line idle come first, with 0. The packet in service is not in the queue,
    so a wait ends an opportunity before the packet is through. What CoDel drops at the head counts
    as one that left."""
    t, queue = link_series(result, "queue_pkts", link)
    change = np.diff(queue, prepend=0.0).astype(int)
    arrived = np.repeat(t, np.maximum(change, 0))
    left = np.repeat(t, np.maximum(-change, 0))
    waited = left - arrived[: len(left)]
    at_once = max(0, int(link_of(result, link)["departures_pkts"]) - len(left))
    return np.concatenate([np.zeros(at_once), waited])


def wait_p95(result: cp.Result) -> float:
    """The 95th percentile of the packets' queueing delay [s]."""
    return float(np.quantile(waits(result), SHARE))


def power(result: cp.Result) -> float:
    """Utilization over the 95th percentile of the round trip, the path's and the queue's [1/s]."""
    used = float(link_of(result, LINK)["utilization_ratio"])
    return used / (BASE_RTT + wait_p95(result))


def _averages(data: Data, scheme: str, metric: str) -> dict[int, float]:
    """By replication: the mean over the traces."""
    found: dict[int, list[float]] = {}
    for cell in data.of("main", scheme):
        number = data.number(cell, metric)
        found.setdefault(cell.rep, []).append(np.nan if number is None else number)
    return {rep: mean(values) for rep, values in found.items()}


def _over(data: Data, short: str, metric: str, pairs: Mapping[str, str]) -> dict[str, Reading]:
    """The average of one scheme over that of another, by the first's label."""
    claim = claim_of(data, short)
    out = {}
    for scheme, other in pairs.items():
        ours, theirs = (_averages(data, name, metric) for name in (scheme, other))
        traces = tuple(dict.fromkeys(cell.label for cell in data.of("main", scheme)))
        ratios = [ours[rep] / theirs[rep] for rep in ours if rep in theirs]
        label = data.paper.schemes[scheme if other == "abc" else other].label
        out[label] = Reading.of(label, ratios, claim.lo, claim.hi, traces)
    return out


UTILIZATION = "links.up.utilization_ratio"


def cell_c1(data: Data) -> dict[str, Reading]:
    """ABC's mean utilization over that of CUBIC and CoDel."""
    return _over(data, "c1", UTILIZATION, {"abc": "cubic-codel"})


def cell_c2(data: Data) -> dict[str, Reading]:
    """XCP's mean power over ABC's."""
    return _over(data, "c2.b", "@power", {"xcp": "abc"})


def cell_c3(data: Data) -> dict[str, Reading]:
    """The mean power of each explicit protocol over ABC's."""
    return _over(data, "c3", "@power", dict.fromkeys(("xcp", "rcp", "vcp"), "abc"))


def _marks(
    place: Any, data: Data, points: Callable[[str], tuple[list[float], list[float]]]
) -> None:
    """A mark of its own for each scheme at each of its points."""
    for number, scheme in enumerate(data.schemes("main")):
        if not data.of("main", scheme):
            continue
        x, y = points(scheme)
        around = number // len(COLORS)
        marker = MARKERS[(number + 3 * around) % len(MARKERS)]
        color, label = COLORS[number % len(COLORS)], data.paper.schemes[scheme].label
        place.plot(x, y, marker, color=color, label=label, markersize=5)


def averages(place: Any, data: Data) -> None:
    """Each scheme's mean utilization against its mean 95th percentile of delay."""

    def point(scheme: str) -> tuple[list[float], list[float]]:
        used, waited = (
            mean(list(_averages(data, scheme, metric).values()))
            for metric in (UTILIZATION, "@wait_p95")
        )
        return [1e3 * waited], [100 * used]

    _marks(place, data, point)
    place.set_xlabel("95th percentile of the queueing delay (ms)")
    place.set_ylabel("Utilization (%)")


def _by_trace(place: Any, data: Data, metric: str, times: float) -> None:
    traces = list(dict.fromkeys(cell.label for cell in data.of("main")))

    def points(scheme: str) -> tuple[list[float], list[float]]:
        of_trace: dict[str, list[float]] = {}
        for cell in data.of("main", scheme):
            value = data.number(cell, metric)
            of_trace.setdefault(cell.label, []).append(np.nan if value is None else value)
        x = [float(traces.index(label)) for label in of_trace]
        return x, [times * mean(values) for values in of_trace.values()]

    _marks(place, data, points)
    place.set_xticks(range(len(traces)), [_short(label) for label in traces])


def _short(trace: str) -> str:
    """`Verizon-LTE-short.up` as `Verizon short up`, in three lines."""
    operator, _, kind = trace.partition("-LTE-")
    return "\n".join((operator, *kind.replace("-2016", "").split(".")))


def utilization_by_trace(place: Any, data: Data) -> None:
    """Means over the replications."""
    _by_trace(place, data, UTILIZATION, 100)
    place.set_ylabel("Utilization (%)")


def delay_by_trace(place: Any, data: Data) -> None:
    """Means over the replications."""
    _by_trace(place, data, "@wait_p95", 1e3)
    place.set_yscale("log")
    place.set_ylabel("95th percentile (ms)")


# The range of a round trip.

UP, DOWN = 10.0, 15.0
"""When the capacity rises and falls [s]."""
SLOW = 1e6
"""What it falls to [b/s]."""


def _window(data: Data) -> Callable[[float], float]:
    """The sender's window at a time [packets]."""
    ((t, w),) = flow_series(data.of()[0].result, "sender_w_abc").values()
    return lambda at: float(w[np.searchsorted(t, at, side="right") - 1])


def range_c1a(data: Data) -> float:
    """The most that the window grows in a round trip after the capacity has risen: 100 ms and the
    time that a packet took before."""
    window = _window(data)
    rtt = BASE_RTT + 8 * PACKET / 10e6
    return max(window(at + rtt) / window(at) for at in np.arange(UP, UP + 1, 0.01))


def range_c1b(data: Data) -> float:
    """What is left of the window a round trip after the capacity has fallen: until all that was out
    then has left."""
    window = _window(data)
    out = window(DOWN)
    return window(DOWN + BASE_RTT + out * 8 * PACKET / SLOW) / out


# Theorem 3.1.

RATIOS = (0.67, 0.7, 1.0, 1.33, 4.0)
"""Delta over tau."""


def thm1_c1(_: Data) -> dict[str, float]:
    """The swing that is left after 300 round trips, from an empty queue and from a full one."""
    return {
        f"delta = {ratio:g} tau, from {start * 1e3:.0f} ms": Loop(delta=0.1 * ratio).swing(start)
        for ratio in RATIOS
        for start in (0.0, 0.5)
    }


def swing(result: cp.Result) -> float:
    """The standard deviation of the delay, over its distance from d_t at the fixed point: 0 where
    all is at rest, and 0.7 of a sine that just reaches d_t."""
    resolved = tomllib.loads(result.scenario_toml)
    router, flows = resolved["queues"]["router"], resolved["flows"]["long"]
    ((rtt, *_), delta, d_t) = (
        base_rtts(result, "long"),
        *map(seconds, (router["delta"], router["d_t"])),
    )
    each = float(resolved["protocols"]["host"]["additive"])
    mu = float(link_of(result)["rate_bps"]) / (8 * PACKET)
    above = 0.0
    for _ in range(50):  # N/(mu (T + x)) falls with x: it converges at once
        added = each * flows["count"] / (mu * (rtt + d_t + above))
        above = Loop(rtt, delta, added, d_t, router["eta"]).above
    t, x = link_series(result, "router_x")
    return float(x[t > WARMUP].std() / above)
