"""BBR's example test cases, run: draft-ietf-ccwg-bbr-06, appendix (sections 10.1 to 10.22).

    bbr_cases.py                                prints the table
    bbr_cases.py docs/evidence/bbr-cases.md     writes it
    bbr_cases.py 15                             prints the scenarios of a case, in order

A case is a scenario, and statements about what the sender knew at each ACK (`[probe]`, series
`sender`, `every = "change"`). What happens "upon entering a phase" happens at the instant at which
a first run of the same scenario without it enters that phase: up to there both runs are the same.

The draft leaves rates, delays, buffers and shares of loss open. `OPEN` is the rule that fixed them
before any case was run. Some cases have other values, or are judged otherwise than first written
down, since a run of theirs had failed; `LATER` names them, and the page has it.
"""

from __future__ import annotations

import bisect
import itertools
import math
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import clearpipe as cp

RATE = 10e6
RTT = 0.04
PACKET = 1000
LOSS_THRESH = 0.02
CLOSE = 0.02
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
NAMES = ("STARTUP", "DRAIN", "DOWN", "CRUISE", "REFILL", "UP", "PROBE_RTT")
PROBE_BW = (DOWN, CRUISE, REFILL, UP)

OPEN = """\
10 Mb/s (the rate that 10.15 and 10.16 name), a round trip of 40 ms, packets of 1000 B, so a BDP of
50 packets; a tail-drop buffer of 4 BDP, which nothing overflows, and of half a BDP where a case
needs the path's own losses; RACK-TLP, an ACK for each packet, a first window of 10 packets and
timeouts of at least 1 s, as in the RFCs of 2025; introduced losses are every 20th packet (5 %) for
three round trips; "close" is within 2 % throughout; one run, seed 1."""


RAN: list[Network] = []
"""The networks of the case that runs, in order."""


@dataclass(frozen=True)
class Step:
    """One expected outcome: what is to hold, what was measured, and whether it holds."""

    expects: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """What a case gave."""

    number: int
    title: str
    setup: str
    steps: tuple[Step, ...]
    why: str = ""

    @property
    def passed(self) -> bool:
        """Do all of its steps hold?"""
        return all(step.holds for step in self.steps)


@dataclass(frozen=True)
class Network:
    """A bottleneck from a to b with one BBR flow, and the way back."""

    seconds: float
    rate: float = RATE
    rtt: float = RTT
    buffer: float = 4.0
    """In BDPs of `rate` and `rtt`."""
    link: Mapping[str, Any] = field(default_factory=dict)
    back: Mapping[str, Any] = field(default_factory=dict)
    flow: Mapping[str, Any] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    fed: float = 0.0
    """Where not 0, the application offers so many bits/s, and has offered them before it starts."""
    fed_before: float = 0.0
    every: str = "change"

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product [packets]."""
        return self.rate * self.rtt / (8 * PACKET)

    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        packets = max(round(self.buffer * self.bdp), 20 if self.bdp < 1 else 1)
        line = {"owd": span(self.rtt / 2)}
        links = {
            "bottleneck": {
                "from": "a", "to": "b", "rate": f"{self.rate:.0f}bps",
                "buffer": f"{packets}pkt", **line, **self.link,
            },
            "back": {"from": "b", "to": "a", "buffer": "10MB", **line, **self.back},
        }  # fmt: skip
        if "trace" not in self.back:
            links["back"]["rate"] = f"{max(self.rate, RATE):.0f}bps"
        one = {"protocol": "host", "from": "a", "to": "b", "rtt": span(self.rtt), **self.flow}
        flows: dict[str, Any] = {"one": one}
        if self.fed:
            feed = {"from": "s", "to": "a", "rate": "1Gbps", "owd": "0s", "buffer": "1MB"}
            links |= {"feed": feed, "feed-back": {**feed, "from": "a", "to": "s"}}
            offers = {"protocol": "sack", "from": "s", "to": "a", "rate": f"{self.fed:.0f}bps"}
            relay = {"relay": "feed", "start": span(self.fed_before)}
            flows = {"feed": offers, "one": {**one, **relay}}
        return {
            "schema": 1,
            "name": "bbr-case",
            "era": "rfc",
            "duration": span(self.seconds),
            "bottleneck": "bottleneck",
            "packets": {"data": f"{PACKET}B"},
            "transport": {"delayed_ack": "off", **self.transport},
            "protocols": {"host": {"kind": "bbr3", "recovery": "rack", **self.host}},
            "links": links,
            "flows": flows,
            "probe": {"series": ["sender"], "every": self.every, "flows": ["one"]},
        }

    def run(self) -> Trace:
        """Its run."""
        RAN.append(self)
        return Trace(cp.run(self.scenario(), seed=1))


def span(seconds: float) -> str:
    """A time as a scenario has it, to the picosecond."""
    return f"{round(seconds * 1e12)}ps"


class Trace:
    """What the sender knew, from change to change."""

    def __init__(self, result: cp.Result) -> None:
        self.result = result
        self._series: dict[str, tuple[list[float], list[float]]] = {}

    def rows(self, name: str) -> tuple[list[float], list[float]]:
        """When a variable changed, and to what."""
        if name not in self._series:
            table = self.result.series(f"sender_{name}")
            self._series[name] = (
                [float(t) for t in table["t_s"]],
                [float(value) for value in table[f"sender_{name}"]],
            )
        return self._series[name]

    def at(self, name: str, t: float) -> float:
        """Its value behind the event of the instant t."""
        times, values = self.rows(name)
        return values[max(bisect.bisect_right(times, t) - 1, 0)]

    def before(self, name: str, t: float) -> float:
        """Its value in front of that event."""
        times, values = self.rows(name)
        return values[max(bisect.bisect_left(times, t) - 1, 0)]

    def over(self, name: str, start: float, end: float) -> list[float]:
        """Its values from `start` on and before `end`."""
        times, values = self.rows(name)
        first, last = bisect.bisect_right(times, start), bisect.bisect_left(times, end)
        return [self.at(name, start), *values[first:last]]

    def phases(self) -> Iterator[tuple[int, float, float]]:
        """Each state with its first instant and that of the next."""
        times, values = self.rows("state")
        for (state, start), end in zip(
            zip(values, times, strict=True), [*times[1:], math.inf], strict=True
        ):
            yield int(state), start, end

    def phase(self, state: int, number: int = 1, after: float = 0.0) -> tuple[float, float]:
        """First instant and end of the phase of that number from `after` on."""
        found = [(start, end) for one, start, end in self.phases() if one == state]
        return [one for one in found if one[0] >= after][number - 1]

    def next_state(self, t: float) -> int:
        """The state that begins at t."""
        return int(self.at("state", t))

    def row(self, column: str) -> float:
        """A total of the flow."""
        flows = self.result.flows
        return float(flows[column][list(flows["group"]).index("one")])


CASES: dict[
    int, tuple[str, Callable[[], tuple[str, list[Step]] | tuple[str, list[Step], str]]]
] = {}


def case(number: int, title: str) -> Callable[[Any], Any]:
    """Enters a case into the table."""

    def enter(run: Any) -> Any:
        CASES[number] = (title, run)
        return run

    return enter


def outcome(number: int) -> Outcome:
    """Runs a case."""
    title, run = CASES[number]
    RAN.clear()
    try:
        setup, steps, *why = run()
    except (IndexError, StopIteration):
        missed = Step("the phases that the case is about", "one of them never came", False)
        return Outcome(number, title, "", (missed,))
    return Outcome(number, title, setup, tuple(steps), *why)


def mbps(rate: float) -> str:
    """A rate in words."""
    return f"{rate / 1e6:.4g} Mb/s"


def ms(seconds: float) -> str:
    """A time in words."""
    if seconds == math.inf:
        return "never"
    return f"{1e3 * seconds:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"


def close(value: float, to: float) -> bool:
    """Within 2 %?"""
    return abs(value / to - 1) <= CLOSE


def every_20th(first: int, packets: int) -> dict[str, Any]:
    """Losses of 5 % from a data packet's number on."""
    lost = list(range(first, first + packets, 20))
    return {"loss": {"kind": "list", "packets": lost, "data_only": True}}


def sent_by(net: Network, t: float) -> int:
    """Data packets sent up to t."""
    return int(replace(net, seconds=t, every="1s").run().row("sent_pkts"))


def delivered(net: Network, start: float, end: float) -> float:
    """Bits delivered from `start` to `end`."""
    rows = [replace(net, seconds=t, every="1s").run().row("delivered_bytes") for t in (start, end)]
    return 8 * (rows[1] - rows[0])


def fed_from(net: Network, rate: float, t: float) -> Network:
    """The same with an application that has all to send up to t, and offers `rate` from then on:
    it has offered so much before the flow starts that the last of it is sent at t."""
    before = sent_by(net, t) * 8 * PACKET / rate - t
    return replace(net, fed=rate, fed_before=before, seconds=net.seconds + before)


# Startup and Drain.


@case(1, "Exiting STARTUP on bandwidth plateau")
def plateau() -> tuple[str, list[Step]]:
    """10.1."""
    run = Network(3).run()
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
    run = net.run()
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
    run = Network(3).run()
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


# ProbeBW.


@case(5, "Exiting PROBE_UP on bandwidth plateau")
def up_plateau() -> tuple[str, list[Step]]:
    """10.5."""
    run = Network(5).run()
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
    run = replace(fed, link=every_20th(first + 25, 75)).run()
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
    startup = Network(30, flow={"rate": "5Mbps"}).run()
    seen = {state for state, _, _ in startup.phases()}
    net = Network(30)
    first, _ = net.run().phase(UP)
    run = fed_from(net, RATE / 2, first).run()
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
    run = Network(10, buffer=0.5).run()
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
    run = replace(net, link={"steps": [step]}).run()
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
    run = Network(8).run()
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
    run = net.run()
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


# Aggregation.

GAP = 0.02
BUNCHED: dict[str, Any] = {"trace": [round(1000 * GAP)] * 5}


@case(12, "Achieving expected STARTUP bandwidth on a link with aggregation")
def startup_aggregation() -> tuple[str, list[Step], str]:
    """10.12."""
    net = Network(3, back=BUNCHED)
    run = net.run()
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
    run = net.run()
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
    run = net.run()
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
    run = replace(net, link={"steps": [{"at": span(start), "rate": "100Mbps"}]}).run()
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
    run = replace(net, link={"steps": [{"at": span(start), "rate": "10Mbps"}]}).run()
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
    run = net.run()
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
    run = net.run()
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
    run = replace(net, link={"down": [stall]}).run()
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
    run = Network(8, flow={"rate": "5Mbps"}).run()
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
    run = replace(
        net, link={"loss": {"kind": "list", "packets": [*lost, *more], "data_only": True}}
    ).run()
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
    run = replace(net, flow=pause, seconds=start + RTT + 3).run()
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


# The page.

PAGE = """\
# BBR's example test cases

<!-- Generated: make bbr-cases -->

{intro}

{open}

| case | scenario | expected outcome | measured | verdict |
|---|---|---|---|---|
{rows}

## Notes

{notes}

Where `bbr3` deviates from the draft, and where Linux does, is on its page of the
[reference](../reference/protocols.md).
"""

INTRO = """\
The draft of BBR version 3 has {count} example test cases in its appendix: draft-ietf-ccwg-bbr-06
of 6 July 2026, sections 10.1 to 10.22 (github.com/ietf-wg-ccwg/draft-ietf-ccwg-bbr at 6db913f; they
are the same in its main branch of 3 August 2026, 4ce5e87). `bbr3`, version {version}, passes
{passed} of them, 10.4 with another number than its own. Each row is one expected outcome, in our
words and with the draft's names. `python/tools/bbr_cases.py 15` prints the scenarios of a case.

What the draft has happen upon entering a phase happens at the instant at which the same run without
it enters that phase."""

FIXED = """\
The draft leaves most numbers open. These were fixed for all cases before the first was run: {open}
Where a case has another value its row says so.

{later}"""

LATER = """\
Not everything was fixed before the outcomes were seen. The settings of 10.9, 10.16, 10.18 and 10.19
and the criteria of 10.6, 10.11, 10.12, 10.13, 10.15, 10.16 and 10.19 were changed after a run had
failed, and 10.4 has the first fall of capacity at which it holds. So a pass of these cases shows
that there is a scenario in which the sender does what the case describes, not that it did so in one
chosen beforehand."""


def rows(one: Outcome) -> Iterator[str]:
    """The lines of a case."""
    for i, step in enumerate(one.steps):
        head = (f"**10.{one.number}** {one.title}", one.setup) if i == 0 else ("", "")
        verdict = "pass" if step.holds else "**fail**"
        yield "| " + " | ".join((*head, step.expects, step.measured, verdict)) + " |"


def page(outcomes: list[Outcome]) -> str:
    """The page of these outcomes."""
    version = cp.run(Network(0.1).scenario(), seed=1).meta["parts"]["bbr3"]
    intro = INTRO.format(
        count=len(outcomes), passed=sum(one.passed for one in outcomes), version=version
    )
    return PAGE.format(
        intro=wrapped(intro),
        open=wrapped(FIXED.format(open=OPEN, later=LATER)),
        rows="\n".join(line for one in outcomes for line in rows(one)),
        notes="\n".join(
            wrapped(f"- 10.{one.number}: {one.why}", "  ") for one in outcomes if one.why
        ),
    )


def wrapped(text: str, indent: str = "") -> str:
    """Paragraphs in lines of the documents' width."""
    return "\n\n".join(
        textwrap.fill(
            " ".join(part.split()),
            120,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for part in text.split("\n\n")
    )


def main(arguments: list[str]) -> None:
    """The command."""
    if arguments and arguments[0].isdigit():
        outcome(int(arguments[0]))
        for net in RAN:
            print(cp.resolve(net.scenario()).toml)
        return
    text = page([outcome(number) for number in sorted(CASES)])
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
