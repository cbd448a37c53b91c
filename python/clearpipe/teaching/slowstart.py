"""Checks of the exercise on the bandwidth-delay product and slow start."""

from __future__ import annotations

import math
from typing import Any

from clearpipe.teaching import Answer, Wrong, call, changes, dumbbell, near, number, task

RTT_S = 0.1


@task("Task 1, the bandwidth-delay product")
def check_bdp(bdp: Answer) -> str:
    """`bdp(rate_bps, rtt_s, packet_bytes)` is how many packets fill the path."""
    found = number(call(bdp, 100e6, 0.08, 1000))
    if not near(found, 1000, 1e-6):
        raise Wrong(
            f"100 Mb/s times 80 ms are 8 Mb or 1 MB: 1000 packets of 1000 bytes, not {found:g}."
        )
    told = []
    for mbps, ms in ((45, 40), (20, 100)):
        found = number(call(bdp, mbps * 1e6, ms / 1e3, 1000))
        window = resting_window(mbps, ms)
        if not near(found, window, 0.03):
            raise Wrong(
                f"At {mbps} Mb/s and {ms} ms an XCP flow rests at {window:.0f} packets, and your "
                f"function says {found:.0f}."
            )
        told.append(f"{window:.0f} at {mbps} Mb/s and {ms} ms")
    return f"XCP, which keeps the pipe full and the queue empty, rests at {', '.join(told)}."


def resting_window(mbps: float, ms: float) -> float:
    """The window of a single XCP flow in the end [packets]."""
    result = dumbbell(
        {"xcp": {"protocol": "xcp"}},
        rate=f"{mbps}Mbps",
        rtt=f"{ms}ms",
        queue="xcp",
        duration="10s",
        probe={"series": ["cwnd"], "every": "100ms"},
    )
    return float(changes(result, "cwnd_pkts")[1][-1])


@task("Task 2, rounds of slow start")
def check_rounds(rounds: Answer) -> str:
    """`rounds(packets, window)` is how many RTTs a transfer takes from that initial window."""
    cases = [(1, 1), (3, 1), (4, 1), (10, 1), (100, 10), (150, 10), (151, 10), (1000, 4)]
    for packets, window in cases:
        measured = rounds_taken(packets, window)
        found = number(call(rounds, packets, window))
        if found != measured:
            raise Wrong(
                f"{packets} packets from a window of {window} take {measured} RTTs in the engine, "
                f"by your function {found:g}. Write down how many packets leave in each RTT: "
                f"{window}, {2 * window}, {4 * window}, ..."
            )
    return f"{len(cases)} transfers took as many RTTs in the engine."


def rounds_taken(packets: int, window: int) -> int:
    """RTTs that a transfer takes on a path that is fast enough."""
    result = dumbbell(
        {"one": {"protocol": "sack", "size": f"{packets}kB"}},
        rate="10Gbps",
        rtt=f"{1e3 * RTT_S:g}ms",
        queue="droptail",
        duration="5s",
        initial_window=f"{window}pkt",
    )
    taken = float(result.flows["fct_s"][0])
    # The packets of a round take some microseconds to leave.
    return math.ceil(taken / RTT_S - 0.02)


@task("Task 3, a page in four RTTs")
def check_window(window: Any) -> str:
    """`window` is the least initial window with which 150 packets take four RTTs."""
    found = number(window)
    if found != round(found) or found < 1:
        raise Wrong(f"Expected a whole number of packets, not {found:g}.")
    taken = rounds_taken(150, int(found))
    if taken > 4:
        raise Wrong(f"From {found:g} packets it takes {taken} RTTs: start with more.")
    if found > 1 and (less := rounds_taken(150, int(found) - 1)) <= 4:
        raise Wrong(f"From {found - 1:g} packets it takes {less} RTTs, too: less is enough.")
    return f"From {found:g} packets it takes {taken} RTTs, and one packet less takes one more."
