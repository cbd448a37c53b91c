"""Recoveries for nothing, and the rest: cases 10.18 to 10.22."""

from __future__ import annotations

import math
from dataclasses import replace

from bbr.case import Step, case, close, mbps, ms
from bbr.network import (
    DOWN,
    NAMES,
    PACKET,
    PROBE_RTT,
    RATE,
    REFILL,
    RTT,
    STARTUP,
    UP,
    Network,
    Trace,
    every_20th,
    sent_by,
    span,
)

# Recoveries for nothing.


def undone(run: Trace, loss: float) -> tuple[float, list[Step]]:
    """What the two cases of spurious recoveries ask, of the one that begins at `loss` in UP."""
    when = next(t for t, _ in zip(*run.rows("undone"), strict=True) if t > loss)
    names = ("bw_shortterm", "inflight_shortterm", "inflight_longterm")
    before = [run.before(name, loss) for name in names]
    saved = [run.at(f"undo_{name}", loss) for name in names]
    reduced = [run.before(name, when) for name in names]
    restored = [run.at(name, when) for name in names]
    states = [NAMES[state] for state, start, _ in run.phases() if loss <= start <= when + 0.5]
    return when, [
        Step(
            "SaveStateUponLoss() saves the state and the three bounds",
            f"{saved}; undo_state {run.at('undo_state', loss):.0f} (UP)",
            saved == before and run.at("undo_state", loss) == UP,
        ),
        Step(
            "the recovery is found to be spurious, and what was saved is restored",
            f"{ms(when - loss)} later {reduced} become {restored}",
            all(a >= b for a, b in zip(restored, before, strict=True)),
        ),
        Step(
            "back to PROBE_UP (through PROBE_REFILL, 5.5.11.2)",
            f"UP, {', '.join(states)}",
            states[:1] == ["DOWN"] and "REFILL" in states and "UP" in states,
        ),
    ]


def returns(run: Trace) -> str:
    """Of the recoveries that ended an UP, how many returned to it."""
    losses = [
        end
        for state, _, end in run.phases()
        if state == UP and end < math.inf and run.at("undo_state", end) == UP
    ]
    back = [REFILL in run.over("state", t, t + 0.05) for t in losses]
    return f"{sum(back)} of {len(losses)}"


@case(18, "Handling spurious fast recovery")
def spurious_recovery() -> tuple[str, list[Step], str]:
    """10.18."""
    net = Network(300, rtt=0.02, link={"reorder": {"p": "0.05%", "delay": "15ms"}})
    run = net.judged().run()
    losses = [
        end
        for state, _, end in run.phases()
        if state == UP and end < math.inf and run.at("undo_state", end) == UP
    ]
    loss = losses[0]
    crowded = replace(net, link={"reorder": {"p": "0.2%", "delay": "15ms"}}).run()
    returned = [returns(one) for one in (run, crowded)]
    _, steps = undone(run, loss)
    return (
        (
            "a round trip of 20 ms, so that one packet is more than 2 % of those in flight; one "
            "packet in 2000 is held up by 15 ms; 300 s; the first that ends an UP"
        ),
        [
            *steps,
            Step(
                "every recovery was for nothing, and is undone",
                f"{run.row('fast_retransmits'):.0f} recoveries, "
                f"{run.rows('undone')[1][-1]:.0f} undone, {run.row('lost_pkts'):.0f} packets lost",
                run.row("lost_pkts") + run.row("dropped_pkts") == 0
                and run.rows("undone")[1][-1] == run.row("fast_retransmits"),
            ),
        ],
        (
            f"Of recoveries that ended an UP {returned[0]} returned to it; with one packet in 500 "
            f"held up, {returned[1]}. Where a second packet counts as lost before the first is "
            "found not to be, NoteLoss() saves the state again, because StartProbeBW_DOWN() has "
            "cleared is_loss_in_round: then the draft's pseudocode forgets UP."
        ),
    )


@case(19, "Handling spurious RTO recovery")
def spurious_timeout() -> tuple[str, list[Step], str]:
    """10.19."""
    net = Network(12)
    start, _ = net.run().phase(UP)
    stall = [span(start), span(start + 1.5)]
    run = replace(net, link={"down": [stall]}).judged().run()
    loss = next(t for t, v in zip(*run.rows("cwnd"), strict=True) if t > start and v == 1)
    when, steps = undone(run, loss)
    cwnd = run.before("cwnd", loss), run.at("cwnd", when)
    most = 2 * run.at("bdp", when)
    return (
        (
            "from the first UP's start on the line stalls for 1.5 s and loses nothing: "
            "reordering alone cannot keep all ACKs away for as long as a timeout lasts"
        ),
        [
            *steps,
            Step(
                "the window comes back, too, as far as the gain of REFILL allows",
                f"{cwnd[0]:.0f} packets, 1, then {cwnd[1]:.0f}, where 2 BDP are {most:.0f}; "
                f"{run.row('timeouts'):.0f} timeout, "
                f"{run.row('lost_pkts') + run.row('dropped_pkts'):.0f} packets lost",
                cwnd[1] >= min(cwnd[0], most) and run.row("timeouts") == 1,
            ),
        ],
        (
            "The sender takes its own reaction back; what the transport then sends again for "
            "nothing it does send (D4 of the protocol's file)."
        ),
    )


# The rest.


@case(20, "Entering and exiting PROBE_RTT during STARTUP")
def probe_rtt_in_startup() -> tuple[str, list[Step]]:
    """10.20."""
    run = Network(8, flow={"rate": "5Mbps"}).judged().run()
    start, end = run.phase(PROBE_RTT)
    reached = run.at("full_bw_reached", start)
    return "the application offers 5 Mb/s, so STARTUP does not end", [
        Step(
            "PROBE_RTT before full_bw_reached",
            f"at {ms(start)} from {NAMES[int(run.before('state', start))]}, full_bw_reached "
            f"{reached:.0f}",
            run.before("state", start) == STARTUP and reached == 0,
        ),
        Step("lasts 200 ms", ms(end - start), 0.2 < end - start < 0.2 + 3 * RTT),
        Step("back to STARTUP", NAMES[run.next_state(end)], run.next_state(end) == STARTUP),
    ]


@case(21, "Handling loss during PROBE_UP after inflight_longterm is set")
def loss_in_up() -> tuple[str, list[Step], str]:
    """10.21."""
    net = Network(20)
    first, _ = net.run().phase(UP)
    early = every_20th(sent_by(net, first) + 1, 150)
    once = replace(net, link=early)
    start, _ = next(
        (s, e)
        for state, s, e in once.run().phases()
        if state == UP and s > first and once.run().at("prev_probe_too_high", s) == 0
    )
    lost = early["loss"]["packets"]
    more = every_20th(sent_by(once, start) + 1, 150)["loss"]["packets"]
    run = (
        replace(net, link={"loss": {"kind": "list", "packets": [*lost, *more], "data_only": True}})
        .judged()
        .run()
    )
    _, end = run.phase(UP, after=start)
    bounds = run.before("inflight_longterm", end), run.at("inflight_longterm", end)
    least = 0.7 * min(run.before("bdp", end), run.before("cwnd", end))
    return (
        (
            "losses in the first UP set inflight_longterm; losses again in the next UP that is no "
            "precaution"
        ),
        [
            Step("inflight_longterm is set", f"{bounds[0]:.0f} packets", bounds[0] < math.inf),
            Step(
                "HandleInflightTooHigh() before the plateau",
                f"prev_probe_too_high {run.at('prev_probe_too_high', end):.0f}, full_bw_now "
                f"{run.at('full_bw_now', end):.0f}",
                run.at("prev_probe_too_high", end) == 1 and run.at("full_bw_now", end) == 0,
            ),
            Step(
                "inflight_longterm falls, not below Beta of the target",
                f"{bounds[0]:.0f} to {bounds[1]:.0f} packets, Beta of the target {least:.1f}",
                math.floor(least) <= bounds[1] < bounds[0],
            ),
            Step("to PROBE_DOWN at once", NAMES[run.next_state(end)], run.next_state(end) == DOWN),
        ],
        "",
    )


@case(22, "Handling application-limited sending during PROBE_REFILL")
def pause_in_refill() -> tuple[str, list[Step]]:
    """10.22."""
    rate = 1e9
    flow = {"rate": f"{rate:.0f}bps", "on": "10s", "off": "1s"}
    net = Network(8, flow=flow)
    start, _ = net.run().phase(REFILL)
    on = sent_by(net, start) * 8 * PACKET / rate
    # The period ends before the next packet would be offered.
    pause = {**flow, "on": span(on - 1e-9), "off": span(start + RTT - on)}
    run = replace(net, flow=pause, seconds=start + RTT + 3).judged().run()
    begin, end = run.phase(REFILL)
    limited = [
        (t, run.at("delivery_rate", t))
        for t, v in zip(*run.rows("app_limited"), strict=True)
        if v == 1 and t >= begin
    ]
    times, values = run.rows("max_bw")
    changes = [v for t, v in zip(times, values, strict=True) if t >= begin]
    bw = run.before("max_bw", begin)
    _, stop = run.phase(UP)
    return (
        "the application has no more to send from the first REFILL's start on, for a round trip"
    ), [
        Step(
            "samples are application-limited, and lower than max_bw",
            f"{len(limited)} runs of such samples, the first of {mbps(limited[0][1])}"
            if limited
            else "none",
            bool(limited) and min(v for _, v in limited) < bw,
        ),
        Step(
            "they do not lower max_bw",
            f"{mbps(bw)} before, {mbps(min([bw, *changes]))} at the least",
            close(min([bw, *changes]), RATE),
        ),
        Step(
            "to PROBE_UP after the round, and on to PROBE_DOWN",
            f"{NAMES[run.next_state(end)]} at {ms(end - begin)}, {NAMES[run.next_state(stop)]}",
            run.next_state(end) == UP and run.next_state(stop) == DOWN,
        ),
    ]
