"""Checks of the exercise on VCP's levels."""

from __future__ import annotations

from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.teaching import Answer, Wrong, call, changes, dumbbell, held, near, number, task

LEVELS = {1: "low load", 2: "high load", 3: "overload"}
RTTS_S = (0.05, 0.1, 0.2, 0.4)


def four_flows() -> cp.Result:
    """Four VCP flows with RTTs of 50 to 400 ms, and what routers and senders computed."""
    rtts = [f"{1e3 * rtt:g}ms" for rtt in RTTS_S]
    return dumbbell(
        {"vcp": {"protocol": "vcp", "count": len(rtts), "rtt": rtts}},
        rate="20Mbps",
        rtt="50ms",
        queue="vcp",
        duration="30s",
        probe={"series": ["router", "sender"], "every": "change"},
    )


@task("Task 1, three levels")
def check_level(level: Answer) -> str:
    """`level(rho)` is 1, 2 or 3: low load, high load or overload."""
    for rho, expected in ((0.5, 1), (0.79, 1), (0.81, 2), (0.99, 2), (1.01, 3), (3.0, 3)):
        _level(level, rho, expected, "A")
    result = four_flows()
    at, loads = changes(result, "router_rho")
    code = held(result, "router_code", at).astype(int)
    for i in range(len(at)):
        _level(level, float(loads[i]), int(code[i]), f"At {at[i]:.1f} s a")
    counts = np.bincount(code, minlength=4)[1:]
    told = ", ".join(f"{n} of {LEVELS[i + 1]}" for i, n in enumerate(counts))
    return f"It agrees with the router in {len(at)} periods: {told}."


def _level(level: Answer, rho: float, expected: int, when: str) -> None:
    found = number(call(level, rho))
    if found != expected:
        raise Wrong(
            f"{when} load factor of {rho:.4g} is level {expected}, {LEVELS[expected]}, and not "
            f"{found:g}. The levels meet at 80 % and at 100 %."
        )


@task("Task 2, how fast to multiply")
def check_increase(increase: Answer) -> str:
    """`increase(rho, kappa)` is xi, the part that a window grows by in each period."""
    for rho, kappa, expected in ((0.5, 0.25, 0.25), (0.8, 0.25, 0.0625), (0.8, 0.5, 0.125)):
        found = number(call(increase, rho, kappa))
        if not near(found, expected, 1e-9):
            raise Wrong(
                f"At a load of {rho:g} with kappa {kappa:g} it is {expected:g}, not {found:.4g}: "
                "kappa times what is free over what is used."
            )
    _, xi = changes(four_flows(), "sender_xi_s", of=RTTS_S.index(0.2))
    found = number(call(increase, 0.8, 0.25))
    if not near(found, float(xi[0]), 1e-6):
        raise Wrong(f"A sender whose RTT is the period has {xi[0]:.4g}.")
    return f"A sender that only knows of low load takes 80 %, the worst case: {found:g}."


@task("Task 3, equal for all RTTs")
def check_scaling(scaled: Answer) -> str:
    """`scaled(xi, alpha, rtt, period)` gives xi and alpha of a flow with that RTT [s]."""
    result = four_flows()
    told = []
    for flow, rtt in enumerate(RTTS_S):
        found = _pair(call(scaled, 0.0625, 1.0, rtt, 0.2))
        # The engine's sender measures its RTT, which has up to half a millisecond of a queue.
        series = (changes(result, f"sender_{name}_s", of=flow)[1] for name in ("xi", "alpha"))
        measured = [float(values[1]) for values in series]
        for name, mine, theirs in zip(("xi", "alpha"), found, measured, strict=True):
            if not near(mine, theirs, 0.03):
                raise Wrong(
                    f"With an RTT of {1e3 * rtt:g} ms the engine's sender has {name} = "
                    f"{theirs:.4g}, by your function {mine:.4g}. {HINTS[name]}"
                )
        told.append(f"{measured[0]:.4f} and {measured[1]:.3f} at {1e3 * rtt:g} ms")
    return f"The engine's senders have {'; '.join(told)}."


HINTS = {
    "xi": "In one period all flows must grow by the same factor, 1 + xi, however many RTTs it has.",
    "alpha": "A flow of half the RTT steps twice as often, and has half the window for a rate.",
}


def _pair(value: Any) -> tuple[float, float]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise Wrong(f"Expected two numbers, xi and alpha, not {value!r}.") from None
    return number(first), number(second)
