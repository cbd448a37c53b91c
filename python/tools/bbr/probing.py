"""ProbeBW and ProbeRTT: cases 10.5 to 10.11."""

from __future__ import annotations

import math
from dataclasses import replace

from bbr.case import Step, case, mbps, ms
from bbr.network import (
    CRUISE,
    DOWN,
    NAMES,
    PROBE_BW,
    PROBE_RTT,
    RATE,
    REFILL,
    RTT,
    STARTUP,
    UP,
    Network,
    every_20th,
    fed_from,
    sent_by,
    span,
)

# ProbeBW.


@case(5, "Exiting PROBE_UP on bandwidth plateau")
def up_plateau() -> tuple[str, list[Step]]:
    """10.5."""
    run = Network(5).judged().run()
    start, end = run.phase(UP)
    limited = set(run.over("app_limited", start, end))
    lost = run.row("dropped_pkts") + run.row("lost_pkts")
    rates = [rate for rate in run.over("delivery_rate", start, end) if rate > 0]
    count = run.before("full_bw_count", end), run.at("full_bw_count", end)
    full = run.at("full_bw_now", end)
    return "the first UP", [
        Step(
            "no loss, not application-limited",
            f"{lost:.0f} packets lost",
            lost == 0 and limited == {0.0},
        ),
        Step(
            "the delivery rate grows by less than 25 %",
            f"{mbps(min(rates))} to {mbps(max(rates))}",
            max(rates) < 1.25 * min(rates),
        ),
        Step(
            "full_bw_now is set when full_bw_count reaches 3",
            f"count {count[0]:.0f}, then {count[1]:.0f}",
            count == (2, 3) and full == 1,
        ),
        Step("to PROBE_DOWN", NAMES[run.next_state(end)], run.next_state(end) == DOWN),
    ]


@case(6, "Exiting PROBE_UP on loss when application-limited")
def up_loss() -> tuple[str, list[Step], str]:
    """10.6."""
    net = Network(4)
    start, _ = net.run().phase(UP)
    fed = fed_from(net, RATE / 2, start)
    quiet = fed.run()
    start, stays = quiet.phase(UP)
    first = sent_by(fed, start) + 1
    run = replace(fed, link=every_20th(first + 25, 75)).judged().run()
    _, end = run.phase(UP)
    limited = run.at("app_limited", end)
    bound = run.at("inflight_longterm", end)
    return (
        (
            "from the first UP on the application offers 5 Mb/s; losses from a round later on, so "
            "that samples are application-limited by then"
        ),
        [
            Step(
                "the losses end UP; without them it goes on",
                f"{ms(end - start)} after its start, without them {ms(stays - start)}",
                end < stays,
            ),
            Step("application-limited", f"{limited:.0f}", limited == 1),
            Step(
                "to PROBE_DOWN, as the last probe went too high",
                f"prev_probe_too_high {run.at('prev_probe_too_high', end):.0f}, a new "
                f"bw_probe_wait; by the same ACK {NAMES[run.next_state(end)]}",
                run.next_state(end) in (DOWN, CRUISE)
                and run.at("prev_probe_too_high", end) == 1
                and run.at("bw_probe_wait", end) != run.before("bw_probe_wait", end),
            ),
            Step(
                "inflight_longterm as HandleInflightTooHigh() has it: unchanged where samples are "
                "application-limited",
                f"{run.before('inflight_longterm', end)}, then {bound}",
                run.before("inflight_longterm", end) == bound,
            ),
        ],
        (
            'The case has inflight_longterm updated "appropriately"; the pseudocode leaves it '
            "alone when RS.is_app_limited, and so does this. With half a BDP in flight DOWN is "
            "over with the ACK that begins it."
        ),
    )


@case(7, "Never exiting PROBE_UP (or STARTUP) when application-limited with no loss")
def limited_stays() -> tuple[str, list[Step], str]:
    """10.7."""
    startup = Network(30, flow={"rate": "5Mbps"}).judged().run()
    seen = {state for state, _, _ in startup.phases()}
    net = Network(30)
    first, _ = net.run().phase(UP)
    run = fed_from(net, RATE / 2, first).judged().run()
    start, end = run.phase(UP)
    after = run.next_state(end)
    rounds = run.before("round_count", end) - run.at("round_count", start)
    ups = [(begin, stop) for state, begin, stop in run.phases() if state == UP and stop < math.inf]
    exits = {NAMES[run.next_state(stop)] for _, stop in ups}
    return (
        ("the application offers 5 Mb/s: from the start, or from the first UP on; 30 s"),
        [
            Step(
                "stays in STARTUP (and PROBE_RTT)",
                ", ".join(NAMES[state] for state in sorted(seen)),
                seen == {STARTUP, PROBE_RTT},
            ),
            Step(
                "stays in PROBE_UP until PROBE_RTT",
                f"{rounds:.0f} rounds, then {NAMES[after]}; {len(ups)} UPs, all of which end in "
                f"{', '.join(sorted(exits))}",
                after == PROBE_RTT and exits == {"PROBE_RTT"},
            ),
        ],
        (
            "PROBE_RTT comes from any state after 5 s without a lower RTT, also from these two "
            "(5.3.4.1); otherwise nothing ends them."
        ),
    )


@case(8, "Exiting PROBE_DOWN on inflight")
def down_inflight() -> tuple[str, list[Step]]:
    """10.8."""
    run = Network(10, buffer=0.5).judged().run()
    downs = [
        (start, end)
        for state, start, end in run.phases()
        if state == DOWN and end < math.inf and run.next_state(end) == CRUISE
    ]
    start, end = downs[0]
    gains = set(run.over("pacing_gain", start, end))
    limits = ("in_flight", "inflight_headroom", "inflight_full")
    held = [run.before(name, end) for name in limits]
    left = [run.at(name, end) for name in limits]
    return "a buffer of half a BDP, for a finite inflight_longterm", [
        Step("pacing_gain 0.90", ", ".join(map(str, gains)), gains == {0.9}),
        Step(
            "DOWN ends at the first ACK with no more in flight than InflightWithHeadroom() and "
            "Inflight(1.0)",
            "{:.0f} of {:.0f} and {:.0f} packets, then {:.0f} of {:.0f} and {:.0f}".format(
                *held, *left
            ),
            held[0] > min(held[1:]) and left[0] <= min(left[1:]),
        ),
        Step("to PROBE_CRUISE", NAMES[run.next_state(end)], run.next_state(end) == CRUISE),
    ]


@case(9, "Exiting PROBE_DOWN after max time")
def down_time() -> tuple[str, list[Step]]:
    """10.9."""
    net = Network(8, host={"probe_rtt_interval": "10s"})
    start, _ = net.run().phase(DOWN)
    step = {"at": span(start), "rate": f"{0.9 * RATE:.0f}bps"}
    run = replace(net, link={"steps": [step]}).judged().run()
    _, end = run.phase(DOWN)
    wait = run.at("bw_probe_wait", start)
    rounds = run.at("round_count", end) - run.at("round_count", start)
    times, values = run.rows("in_flight")
    flights = [value for t, value in zip(times, values, strict=True) if start <= t < end]
    full = min(run.over("inflight_full", start, end))
    return (
        "the capacity falls by 10 % at the first DOWN's start; PROBE_RTT each 10 s, as it would "
        "come between"
    ), [
        Step(
            "C.inflight stays above what CRUISE wants",
            f"at least {min(flights):.0f}, where CRUISE wants {full:.0f} packets",
            min(flights) > full,
        ),
        Step(
            "IsTimeToProbeBW() once bw_probe_wait has elapsed (or as many rounds as Reno needs)",
            f"after {ms(end - start)} and {rounds:.0f} rounds; bw_probe_wait {ms(wait)}",
            wait < end - start < wait + 0.2 or 49 <= rounds <= 63,
        ),
        Step("to PROBE_REFILL", NAMES[run.next_state(end)], run.next_state(end) == REFILL),
    ]


# ProbeRTT.


@case(10, "Entering and exiting PROBE_RTT")
def probe_rtt() -> tuple[str, list[Step]]:
    """10.10."""
    run = Network(8).judged().run()
    start, end = run.phase(PROBE_RTT)
    times, _ = run.rows("probe_rtt_min_delay")
    last = max(t for t in times if t < start)
    gain = run.at("cwnd_gain", start)
    reached = next(
        t
        for t, value in zip(*run.rows("in_flight"), strict=True)
        if t >= start and value <= 0.5 * run.at("bdp", t)
    )
    rounds = run.at("round_count", end) - run.at("round_count", reached)
    later = run.over("delivery_rate", end + 1, end + 2)
    return "nothing else", [
        Step(
            "entered 5 s after probe_rtt_min_delay was last updated",
            ms(start - last),
            5 < start - last < 5 + 2 * RTT,
        ),
        Step("cwnd_gain 0.5", f"{gain}", gain == 0.5),
        Step(
            "lasts at least 200 ms and one round with half a BDP in flight",
            f"{ms(end - reached)}, {rounds:.0f} rounds",
            0.2 < end - reached < 0.2 + 2 * RTT and rounds >= 1,
        ),
        Step(
            "to PROBE_BW, and sends again",
            f"{NAMES[run.next_state(end)]}; {mbps(max(later))} a second later",
            run.next_state(end) in PROBE_BW and max(later) > 0.98 * 0.99 * RATE,
        ),
    ]


@case(11, "Skipping PROBE_RTT due to application-limited sending")
def idle() -> tuple[str, list[Step]]:
    """10.11."""
    burst = 0.3
    net = Network(14.5, flow={"rate": "100Mbps", "on": span(burst), "off": span(10 - burst)})
    run = net.judged().run()
    times, _ = run.rows("in_flight")
    quiet = max(t for t in times if t < 10)
    seen = [NAMES[state] for state, start, end in run.phases() if end > quiet]
    sampled = replace(net, every="1ms").run()
    restarts = [t for t, v in zip(*sampled.rows("idle_restart"), strict=True) if v == 1]
    return (
        "the application offers 3.75 MB at once, which last 3 s, and 10 s after the first time "
        "again; sampled each ms, as only sending sets idle_restart"
    ), [
        Step(
            "idle for more than 5 s, with nothing in flight",
            f"{ms(10 - quiet)}, {run.at('in_flight', quiet):.0f} in flight",
            10 - quiet > 5 and run.at("in_flight", quiet) == 0,
        ),
        Step(
            "idle_restart is set from the first packet to its ACK",
            f"{restarts[0]:.3f} s to {restarts[-1]:.3f} s" if restarts else "never",
            bool(restarts) and restarts[0] < 10 + 0.002 and abs(restarts[-1] - 10 - RTT) < 0.005,
        ),
        Step(
            "PROBE_RTT is skipped",
            f"from the pause to {net.seconds} s {', '.join(dict.fromkeys(seen))}",
            "PROBE_RTT" not in seen,
        ),
    ]
