"""Checks of the exercise on AIMD and fairness."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import clearpipe as cp
from clearpipe.teaching import Answer, Wrong, call, dumbbell, near, number, task

FAIR = (2 / 3, 3 / 2)
"""What flows that are meant to be fair to TCP may get of what TCP's get."""

STUDENT = "clearpipe_exercise"
"""The module in which the engine finds a student's controller."""


@task("Task 1, Jain's index")
def check_jain(jain: Answer) -> str:
    """`jain(rates)` is the index of a list of rates."""
    for rates, expected in (([5.0] * 4, 1.0), ([8.0, 0.0, 0.0, 0.0], 0.25), ([1.0, 3.0], 0.8)):
        found = number(call(jain, rates))
        if not near(found, expected, 1e-9):
            raise Wrong(
                f"For {rates} it is {expected:g}, not {found:.4g}: the square of the sum over "
                "the number of rates times the sum of the squares."
            )
    rtts = [f"{rtt}ms" for rtt in (40, 80, 120, 160, 200)]
    flows = {"tcp": {"protocol": "sack", "count": 5, "rtt": rtts}}
    result = dumbbell(flows, rate="20Mbps", rtt="40ms", queue="droptail", warmup="20s")
    expected = result.summary["groups"][0]["jain_index_ratio"] or 0.0
    found = number(call(jain, list(result.flows["goodput_bps"])))
    if not near(found, expected, 1e-9):
        raise Wrong(f"Of five flows with RTTs of 40 to 200 ms the engine says {expected:.4f}.")
    return f"Five TCP flows with RTTs of 40 to 200 ms have {found:.3f}."


class Stepping(cp.Sender):
    """A sender whose window a student's function steps, once per RTT and at a loss."""

    step: Any

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.started = False

    def on_ack(self, ack: Any) -> None:
        """Grow by an ACK's share of what an RTT brings; double per RTT up to the first loss."""
        if ack.recovering:
            return
        if not self.started:
            self.cwnd += ack.acked
            return
        gain = number(call(type(self).step, self.cwnd, False)) - self.cwnd
        self.cwnd = min(max(self.cwnd + gain * ack.acked / self.cwnd, 1.0), 1e6)

    def on_loss(self, loss: Any) -> None:
        """Step, from half a window at the end of the start."""
        window = number(call(type(self).step, self.cwnd, True))
        self.cwnd = max(window if self.started else self.cwnd / 2, 1.0)
        self.started = True


@task("Task 2, additive increase, multiplicative decrease")
def check_step(step: Answer) -> str:
    """`step(window, congested)` is the window of the next RTT."""
    up, down = number(call(step, 20.0, False)), number(call(step, 20.0, True))
    if up <= 20:
        raise Wrong(f"Without congestion a window of 20 becomes {up:g}: it must grow.")
    if down >= 20:
        raise Wrong(f"In congestion a window of 20 becomes {down:g}: it must shrink.")
    index = together(step)
    if index < 0.97:
        raise Wrong(
            f"Windows of 1 and 99 packets, told of congestion together above 100, come to an index "
            f"of {index:.3f}. What happens to the difference of the two when both are increased, "
            "and when both are decreased? One must leave it as it is, the other must lessen it."
        )
    result = _two_flows(step)
    (group,) = result.summary["groups"]
    index = group["jain_index_ratio"] or 0.0
    used = 100 * result.summary["links"][0]["utilization_ratio"]
    told = (
        f"Two flows, one 20 s late, have an index of {index:.3f} and use {used:.1f} % of the link"
    )
    if used < 85:
        raise Wrong(f"{told}: the window shrinks by too much, or grows too slowly.")
    if index < 0.97:
        raise Wrong(f"{told}: step further, so that they are equal sooner.")
    return f"{told}."


def together(step: Answer, rounds: int = 5000) -> float:
    """The index of two windows that get the same signal, as Chiu and Jain (1989) assume."""
    windows = [1.0, 99.0]
    for _ in range(rounds):
        congested = sum(windows) > 100
        windows = [max(number(call(step, window, congested)), 0.0) for window in windows]
    squares = sum(window**2 for window in windows)
    return sum(windows) ** 2 / (2 * squares) if squares else 0.0


def _two_flows(step: Answer) -> cp.Result:
    module = ModuleType(STUDENT)
    module.Mine = type("Mine", (Stepping,), {"step": staticmethod(step)})  # type: ignore[attr-defined]
    sys.modules[STUDENT] = module
    mine = {"kind": "python", "code": f"{STUDENT}:Mine"}
    flows = {"mine": {"protocol": mine, "count": 2, "start": "every(20s, 0s)"}}
    try:
        return dumbbell(
            flows, rate="5Mbps", rtt="40ms", queue="droptail", duration="120s", warmup="80s"
        )
    except cp.RunError as error:
        raise Wrong(f"The engine stopped: {error}") from None
    finally:
        del sys.modules[STUDENT]


@task("Task 3, as fair as TCP")
def check_friendly(increase: Answer) -> str:
    """`increase(beta)` is how many packets per RTT are fair to TCP for a flow that keeps `beta`."""
    for beta, expected in ((0.5, 1.0), (0.7, 9 / 17), (0.875, 0.2)):
        found = number(call(increase, beta))
        if not near(found, expected, 1e-3):
            raise Wrong(
                f"For a flow that keeps {beta:g} of its window {found:.4g} is not right. Set the "
                "loss rates and the mean windows of both saw teeth equal; for 1/2 it must be 1."
            )
    alpha, beta = number(call(increase, 0.875)), 0.875
    flows = {
        "mine": {"protocol": {"kind": "gaimd", "alpha": alpha, "beta": beta}, "count": 4},
        "tcp": {"protocol": "sack", "count": 4},
    }
    result = dumbbell(flows, rate="20Mbps", rtt="60ms", queue="red", duration="120s", warmup="30s")
    mine, tcp = (group["total_goodput_bps"] for group in result.summary["groups"])
    told = f"Four flows with {alpha:g} and 7/8 get {mine / tcp:.2f} times what four of TCP's get."
    if not FAIR[0] < mine / tcp < FAIR[1]:
        raise Wrong(told)
    return told
