"""A bottleneck with one BBR flow, and what its sender knew, event for event."""

from __future__ import annotations

import bisect
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import clearpipe as cp

RATE = 10e6
RTT = 0.04
PACKET = 1000
LOSS_THRESH = 0.02
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
NAMES = ("STARTUP", "DRAIN", "DOWN", "CRUISE", "REFILL", "UP", "PROBE_RTT")
PROBE_BW = (DOWN, CRUISE, REFILL, UP)

RAN: list[Network] = []
"""The networks of the case that runs, in order."""
JUDGED: list[Network] = []
"""Those whose runs its statements are about, rather than about where to change something."""


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

    def judged(self) -> Network:
        """The same, as one that the case's statements are about."""
        JUDGED.append(self)
        return self

    def log(self, file: Path) -> None:
        """Runs it and writes the flow's log, qlog as a JSON text sequence."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            cp.run(self.scenario(), seed=1, out=out, qlog="one")
            (written,) = out.glob("*.sqlog")
            shutil.move(written, file)

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
