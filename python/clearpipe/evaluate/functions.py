"""What a statement's metric `@name` is: functions of a run's result."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce.runs import Censored
from clearpipe.reproduce.tools import flow_series, link_of, link_series, seconds, windowed

WINDOW = "1s"
"""Goodput that is compared with a share is a mean over this."""

NEARLY = 0.8
"""The share of a capacity that counts as all of it: ours, no text has one."""

DELTA = 0.2
"""RFC 5166, 2.3.3: two flows are delta-fair when the lesser has (1 - delta)/2 of what both have."""


def queueing_delay(result: cp.Result) -> float:
    """Mean time that a bit waits in front of the bottleneck [s]: the mean queue over the rate, by
    Little's law the mean over what arrives where the link is never idle. Of a trace the rate is
    the mean one."""
    link = link_of(result)
    return float(8.0 * link["queue_mean_bytes"] / link["rate_bps"])


def goodput_share(result: cp.Result) -> float:
    """Goodput of all groups after the warm-up over the bottleneck's capacity."""
    total = sum(group["total_goodput_bps"] for group in result.summary["groups"])
    return float(total / link_of(result)["rate_bps"])


def lesser(result: cp.Result) -> float:
    """The lesser of the groups' goodputs over the greater."""
    found = [group["total_goodput_bps"] for group in result.summary["groups"]]
    return float(min(found) / max(found)) if max(found) else 0.0


def voice_lost(result: cp.Result) -> float:
    """The share of what the real-time flow offers after the warm-up that does not arrive."""
    group = next(one for one in result.summary["groups"] if one["group"] == "voice")
    offered = _rate(_scenario(result)["flows"]["voice"]["rate"])
    return max(1.0 - float(group["total_goodput_bps"]) / offered, 0.0)


def slowest(result: cp.Result) -> float:
    """When the last transfer finished, from its start [s]; censored if one did not."""
    groups = result.summary["groups"]
    most = max((group["fct_s"]["max"] for group in groups if group["fct_s"]), default=0.0)
    if all(group["finished_flows"] == group["flows"] for group in groups):
        return float(most)
    return Censored(_duration(result), 1)


def converges(result: cp.Result) -> float:
    """From the start of the second flow until it has (1 - delta)/2 of what both have over a
    second [s]; censored if it never has."""
    flows = flow_series(result, "goodput_bps")
    (every, first), (t, second) = (windowed(*one, WINDOW) for one in flows.values())
    first = first[np.isin(every, t)]  # the second flow's series begins with it
    began = seconds(_scenario(result)["flows"]["own"]["start"][1])
    total = first + second
    share = np.divide(second, total, out=np.zeros_like(total), where=total > 0)
    return _until(t, (share >= (1 - DELTA) / 2) & (t > began), began, result)


def reuses(result: cp.Result) -> float:
    """From the guests' leaving until the flow that stays has 80 % of the capacity over a
    second [s]; censored if it never has."""
    leaves = seconds(_scenario(result)["flows"]["guests"]["stop"])
    t, goodput = windowed(*flow_series(result, "goodput_bps")["own"], WINDOW)
    enough = (goodput >= NEARLY * link_of(result)["rate_bps"]) & (t > leaves)
    return _until(t, enough, leaves, result)


def returns(result: cp.Result) -> float:
    """From the end of the outage until goodput is 80 % of the capacity over a second [s]; censored
    if it never is."""
    ends = seconds(_scenario(result)["links"]["bottleneck"]["down"][0][1])
    t, goodput = windowed(*flow_series(result, "goodput_bps")["own"], WINDOW)
    enough = (goodput >= NEARLY * link_of(result)["rate_bps"]) & (t > ends)
    return _until(t, enough, ends, result)


def follows(result: cp.Result) -> float:
    """Goodput after the warm-up over the capacity that there was then."""
    scenario = _scenario(result)
    link = scenario["links"]["bottleneck"]
    start, end = seconds(scenario["warmup"]), _duration(result)
    steps = [(0.0, link["rate"]), *((seconds(one["at"]), one["rate"]) for one in link["steps"])]
    total = sum(group["total_goodput_bps"] for group in result.summary["groups"])
    return float(total * (end - start) / capacity(steps, start, end))


def capacity(steps: Sequence[tuple[float, Any]], start: float, end: float) -> float:
    """Bits that could leave between two times."""
    ends = [*(at for at, _ in steps[1:]), end]
    return sum(
        _rate(rate) * max(min(until, end) - max(at, start), 0.0)
        for (at, rate), until in zip(steps, ends, strict=True)
    )


def drains(result: cp.Result) -> float:
    """From the fall of the capacity until the queue is half of the largest that it then becomes
    [s]; censored if it never is."""
    falls = seconds(_scenario(result)["links"]["bottleneck"]["steps"][0]["at"])
    t, queue = link_series(result, "queue_pkts")
    after = t >= falls
    if not after.any() or not queue[after].max():
        return 0.0
    peak = int(np.argmax(np.where(after, queue, -1.0)))
    low = (queue <= queue[peak] / 2) & (np.arange(len(t)) > peak)
    return _until(t, low, falls, result)


def _until(t: Any, holds: Any, since: float, result: cp.Result) -> float:
    if not holds.any():
        return Censored(_duration(result) - since, 1)
    return float(t[int(np.argmax(holds))] - since)


def _scenario(result: cp.Result) -> dict[str, Any]:
    return tomllib.loads(result.scenario_toml)


def _duration(result: cp.Result) -> float:
    return seconds(_scenario(result)["duration"])


def _rate(text: str) -> float:
    from clearpipe.units import split

    quantity = split(text)
    assert quantity is not None
    return quantity[0]
