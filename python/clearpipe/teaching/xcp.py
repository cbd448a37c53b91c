"""Checks of the exercise on XCP's two controllers."""

from __future__ import annotations

import numpy as np

import clearpipe as cp
from clearpipe.teaching import Answer, Wrong, call, changes, dumbbell, held, number, task

RATE_BPS = 20e6
CAPACITY = RATE_BPS / 8
"""Bytes per second."""

RTT_S = 0.08
SHARE = 0.8


def three_flows() -> cp.Result:
    """Three XCP flows that start 2 s apart, and what the router computed in each interval."""
    return dumbbell(
        {"xcp": {"protocol": "xcp", "count": 3, "start": "every(2s, 0s)"}},
        rate=f"{RATE_BPS / 1e6:g}Mbps",
        rtt=f"{1e3 * RTT_S:g}ms",
        queue="xcp",
        duration="10s",
        probe={"series": ["router"], "every": "change", "links": ["bottleneck"]},
    )


@task("Task 1, the efficiency controller")
def check_feedback(feedback: Answer) -> str:
    """`feedback(d, spare, queue)` is phi [bytes], of the mean RTT [s], spare rate and queue."""
    result = three_flows()
    at, phi = changes(result, "router_phi")
    at, phi = at[1:], phi[1:]  # at 0 there has been no interval
    d, y, queue = (
        held(result, f"router_{name}", at)
        for name in ("avg_rtt", "input_traffic", "persistent_queue")
    )
    spare = CAPACITY - y
    for i in range(len(at)):
        found = number(call(feedback, float(d[i]), float(spare[i]), float(queue[i])))
        if abs(found - phi[i]) > 1e-6 * abs(phi[i]) + 1e-3:
            raise Wrong(
                f"At {at[i]:.3f} s, with d = {1e3 * d[i]:.1f} ms, S = {spare[i]:.0f} bytes/s and "
                f"Q = {queue[i]:.0f} bytes, the engine's router has {phi[i]:.1f} bytes and your "
                f"function {found:.1f}. {_hint(found, float(phi[i]), float(queue[i]))}"
            )
    return f"It agrees with the router in all {len(at)} intervals."


def _hint(found: float, phi: float, queue: float) -> str:
    if queue and abs(found - phi) > 1e-6 * abs(phi):
        return "How does the persistent queue count?"
    return "What may be sent more in one interval d? phi is in bytes, S in bytes per second."


@task("Task 2, the fairness controller's shuffling")
def check_shuffle(shuffle: Answer) -> str:
    """`shuffle(d, y, phi)` is h [bytes], of the mean RTT [s], the input [bytes/s] and phi."""
    result = three_flows()
    at, phi = changes(result, "router_phi")
    at, phi = at[1:], phi[1:]
    d, y, h = (held(result, f"router_{name}", at) for name in ("avg_rtt", "input_traffic", "h"))
    for i in range(len(at)):
        found = number(call(shuffle, float(d[i]), float(y[i]), float(phi[i])))
        if abs(found - h[i]) > 1e-6 * abs(h[i]) + 1e-3:
            more = "It is never below 0." if found < 0 else "A share gamma = 0.1 of the traffic."
            raise Wrong(
                f"At {at[i]:.3f} s, with y d = {y[i] * d[i]:.0f} bytes and phi = {phi[i]:.0f}, the "
                f"engine's router shuffles {h[i]:.1f} bytes, by your function {found:.1f}. {more}"
            )
    return f"It agrees with the router in all {len(at)} intervals, {int((h > 0).sum())} above 0."


@task("Task 3, how long a newcomer waits")
def check_rounds(rounds: Answer) -> str:
    """`rounds(gamma)`: RTTs until a second flow has 80 % of its half, when each shuffles gamma."""
    told = []
    for gamma in (0.05, 0.1, 0.2):
        measured = newcomer_rounds(gamma)
        found = number(call(rounds, gamma))
        # It takes two RTTs until the first feedback is felt.
        if not measured - 4 <= found <= measured + 1:
            raise Wrong(
                f"With gamma = {gamma:g} the engine's newcomer takes {measured:.0f} RTTs, by your "
                f"function {found:.1f}. In each RTT a share gamma of the gap to the half is closed."
            )
        told.append(f"{measured:.0f} RTTs for {gamma:g} (yours: {found:.1f})")
    return f"The engine's newcomer takes {', '.join(told)}."


def newcomer_rounds(gamma: float) -> float:
    """RTTs until the second of two flows has so much of its half."""
    result = dumbbell(
        {"xcp": {"protocol": "xcp", "count": 2, "start": "every(10s, 0s)"}},
        rate=f"{RATE_BPS / 1e6:g}Mbps",
        rtt=f"{1e3 * RTT_S:g}ms",
        queue={"kind": "xcp", "gamma": gamma},
        duration="40s",
        probe={"series": ["cwnd"], "every": "80ms"},
    )
    at, window = changes(result, "cwnd_pkts", of=1)
    half = CAPACITY * RTT_S / 1000 / 2
    there = np.flatnonzero((window >= SHARE * half) & (at > 10))
    return float(at[there[0]] - 10) / RTT_S
