"""Checks of the exercise on bufferbloat."""

from __future__ import annotations

from typing import Any

import clearpipe as cp
from clearpipe.teaching import (
    Answer,
    Wrong,
    call,
    changes,
    dumbbell,
    near,
    number,
    task,
)

TCP = {"tcp": {"protocol": "sack"}}

MOST_DELAY_S = 0.02


@task("Task 1, the delay of a full buffer")
def check_delay(delay: Answer) -> str:
    """`delay(buffer_bytes, rate_bps)` is how long a packet waits behind a full buffer [s]."""
    told = []
    for buffer, rate in ((50_000, 10e6), (200_000, 10e6), (200_000, 40e6)):
        measured = full_buffer_delay(buffer, rate)
        found = number(call(delay, buffer, rate))
        # A packet waits for the one that is being sent, too.
        if not near(found, measured, 0.05):
            raise Wrong(
                f"Behind {buffer / 1e3:g} kB at {rate / 1e6:g} Mb/s the engine's packets wait "
                f"{1e3 * measured:.1f} ms, by your function {1e3 * found:.4g} ms. A buffer is in "
                "bytes, a rate in bits per second, a delay in seconds."
            )
        told.append(f"{1e3 * measured:.1f} ms")
    return f"The engine's packets wait up to {', '.join(told)}."


def full_buffer_delay(buffer_bytes: int, rate_bps: float) -> float:
    """The longest smoothed RTT of a TCP flow, less the 40 ms of its path [s]."""
    result = dumbbell(
        TCP,
        rate=f"{rate_bps / 1e6:g}Mbps",
        rtt="40ms",
        buffer=f"{buffer_bytes}B",
        queue="droptail",
        duration="20s",
        probe={"series": ["srtt"], "every": "change"},
    )
    return float(changes(result, "srtt_s")[1].max()) - 0.04


@task("Task 2, how large a buffer")
def check_buffer(buffer: str) -> str:
    """`buffer` is a size as in a scenario, such as "50kB" or "3bdp"."""
    result = one_tcp(_text(buffer))
    link = result.summary["links"][0]
    used = 100 * link["utilization_ratio"]
    waited = 8e3 * link["queue_mean_bytes"] / link["rate_bps"]
    told = f"With {buffer} TCP uses {used:.1f} % of the link and its packets wait {waited:.1f} ms"
    if used < 99:
        raise Wrong(
            f"{told}: too little. When the window is halved, the buffer must still hold enough to "
            "keep the link busy until it has grown again."
        )
    if waited > 85:
        raise Wrong(f"{told}: more than it takes to keep the link busy. What does the rest hold?")
    return f"{told}."


def one_tcp(buffer: str) -> cp.Result:
    """One TCP flow of 100 ms at 10 Mb/s, after its start."""
    return _valid(
        rate="10Mbps", rtt="100ms", buffer=buffer, queue="droptail", duration="120s", warmup="30s"
    )


@task("Task 3, a queue that does not fill")
def check_queue(queue: Any) -> str:
    """`queue` is a queue as in a scenario: a name, or a mapping with its `kind` and parameters."""
    result = _valid(
        flows={"tcp": {"protocol": "sack", "count": 4}},
        rate="10Mbps",
        rtt="40ms",
        buffer="10bdp",
        queue=queue,
        warmup="20s",
    )
    link = result.summary["links"][0]
    used = 100 * link["utilization_ratio"]
    waited = link["queue_mean_bytes"] * 8 / link["rate_bps"]
    told = f"Four TCP flows use {used:.1f} % and wait {1e3 * waited:.1f} ms"
    if waited > MOST_DELAY_S:
        raise Wrong(
            f"{told}: more than {1e3 * MOST_DELAY_S:g} ms. The buffer holds 400 ms; something must "
            "tell TCP long before it is full (`clearpipe list queues`)."
        )
    if used < 95:
        raise Wrong(f"{told}: the queue is short because the link is idle. Drop less.")
    return f"{told}."


def _valid(flows: Any = None, **scenario: Any) -> cp.Result:
    try:
        return dumbbell(flows or TCP, **scenario)
    except cp.ConfigError as error:
        raise Wrong(f"The engine does not take it: {error}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong(f'A text with a unit is wanted, such as "50kB", not {value!r}.')
    return value
