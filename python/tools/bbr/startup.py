"""Startup and Drain: cases 10.1 to 10.4."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from bbr.case import Step, case, close, mbps, ms
from bbr.network import (
    DRAIN,
    NAMES,
    PROBE_BW,
    RAN,
    RATE,
    STARTUP,
    Network,
    every_20th,
    span,
)


@case(1, "Exiting STARTUP on bandwidth plateau")
def plateau() -> tuple[str, list[Step]]:
    """10.1."""
    run = Network(3).judged().run()
    _, end = run.phase(STARTUP)
    bw = run.before("max_bw", end)
    counts = run.over("full_bw_count", 0, end)[-4:]
    times, values = run.rows("full_bw_count")
    rounds = [run.at("round_count", times[values.index(n)]) for n in (1.0, 2.0, 3.0)]
    now = [run.at(name, end) for name in ("full_bw_now", "full_bw_reached")]
    return "nothing else", [
        Step("max_bw close to the rate of the path", mbps(bw), close(bw, RATE)),
        Step(
            "full_bw_count reaches 3 in three consecutive rounds, and sets full_bw_now and "
            "full_bw_reached",
            f"rounds {', '.join(f'{n:.0f}' for n in rounds)}; both set at {ms(end)}",
            [b - a for a, b in itertools.pairwise(rounds)] == [1, 1]
            and now == [1, 1]
            and counts[-1] in (2, 3)
            and run.before("full_bw_now", end) == 0,
        ),
        Step("STARTUP to DRAIN", NAMES[run.next_state(end)], run.next_state(end) == DRAIN),
    ]


@case(2, "Exiting STARTUP on loss when application-limited")
def startup_loss() -> tuple[str, list[Step], str]:
    """10.2."""
    net = Network(3, rate=100e6, flow={"rate": "50Mbps"}, link=every_20th(4000, 750))
    run = net.judged().run()
    quiet = replace(net, link={}).run()
    _, end = run.phase(STARTUP)
    limited = set(run.over("app_limited", 0.5, end))
    flags = [run.at(name, end) for name in ("full_bw_now", "full_bw_reached")]
    stays = quiet.phase(STARTUP)[1]
    return (
        (
            "100 Mb/s (six ranges lost in one round at 5 % are 120 packets), the application "
            "offers 50 Mb/s; losses from packet 4000 on"
        ),
        [
            Step("samples are application-limited", "all from 0.5 s on", limited == {1.0}),
            Step(
                "the losses end STARTUP; without them it stays",
                f"with them at {ms(end)}, without them not in 3 s",
                end < 3 and stays == math.inf,
            ),
            Step(
                "full_bw_now and full_bw_reached are set, to DRAIN",
                f"{flags[0]:.0f} and {flags[1]:.0f}, {NAMES[run.next_state(end)]}",
                # One ACK may end DRAIN, too.
                flags == [1, 1] and run.next_state(end) in (DRAIN, *PROBE_BW),
            ),
        ],
        ("Half a BDP in flight ends DRAIN, and DOWN after it, with the ACK that ends STARTUP."),
    )


@case(3, "Exiting DRAIN based on inflight")
def drain_inflight() -> tuple[str, list[Step]]:
    """10.3."""
    run = Network(3).judged().run()
    start, end = run.phase(DRAIN)
    gains = set(run.over("pacing_gain", start, end))
    held = run.before("in_flight", end), run.before("inflight_full", end)
    left = run.at("in_flight", end), run.at("inflight_full", end)
    return "nothing else", [
        Step("pacing_gain 0.5", ", ".join(map(str, gains)), gains == {0.5}),
        Step(
            "DRAIN ends at the first ACK that leaves no more than Inflight(1.0) in flight",
            f"{held[0]:.0f} of {held[1]:.0f} packets, then {left[0]:.0f} of {left[1]:.0f}",
            held[0] > held[1] and left[0] <= left[1],
        ),
        Step("to PROBE_BW", NAMES[run.next_state(end)], run.next_state(end) in PROBE_BW),
    ]


@case(4, "Exiting DRAIN based on time")
def drain_time() -> tuple[str, list[Step], str]:
    """10.4."""
    net = Network(4)
    start, _ = net.run().phase(DRAIN)
    tried = []
    for less in range(10, 100, 10):
        rate = f"{RATE * (1 - less / 100):.0f}bps"
        run = replace(net, link={"steps": [{"at": span(start), "rate": rate}]}).run()
        end = run.phase(DRAIN)[1]
        rounds = run.at("round_count", end) - run.at("round_count", start)
        above = run.at("in_flight", end) > run.at("inflight_full", end)
        tried.append((less, rounds, above))
        if above:
            break
    RAN[-1].judged()
    less, rounds, above = tried[-1]
    return (
        (
            "the capacity falls at DRAIN's start: by 10 %, and by 10 % more until C.inflight "
            f"stays above Inflight(1.0): by {less} %"
        ),
        [
            Step(
                "C.inflight stays above Inflight(1.0)",
                f"at the end {run.at('in_flight', end):.0f} of "
                f"{run.at('inflight_full', end):.0f} packets",
                above,
            ),
            Step("DRAIN ends after 3 rounds", f"in round {rounds:.0f}", 3 <= rounds <= 4),
            Step("to PROBE_BW", NAMES[run.next_state(end)], run.next_state(end) in PROBE_BW),
        ],
        (
            "With 10 % less, as the draft has it, DRAIN ends by C.inflight, in round "
            f"{tried[0][1]:.0f}: at a pacing gain of 0.5 the queue still drains, so the case's "
            "third step fails, whatever the sender. The pseudocode asks for round_count > "
            "drain_start_round + 3, the fourth round's start."
        ),
    )
