"""The space of scenarios: its dimensions, and the scenario that a point of it is."""

from __future__ import annotations

import difflib
import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.evaluate.cast import Cast

FILE = "space.toml"
GOALS = ("starve", "idle", "bloat")
LEVELS = ("level-1", "level-2", "level-3", "level-4")
DIGITS = 3
"""Of every value: a scenario is to be read."""

LEAST_S, ROUND_TRIPS, MEASURED = 30.0, 100.0, 0.6
"""A scenario's duration, and the share of it that counts."""

PACKET, ACK = 1500, 40
"""Sizes on the wire [bytes]."""

Values = Mapping[str, float]
"""By the name of the dimension, in base units."""


@dataclass(frozen=True)
class Dimension:
    """What varies."""

    name: str
    says: str
    unit: str
    lo: float
    hi: float
    harmless: float
    log: bool = False
    whole: bool = False
    off: float = -math.inf
    """Below this it is not there."""

    def at(self, share: float) -> float:
        """The value so far along the dimension, 0 to 1."""
        share = min(max(share, 0.0), 1.0)
        if self.log:
            value = self.lo * (self.hi / self.lo) ** share
        else:
            value = self.lo + (self.hi - self.lo) * share
        return self.tidy(value)

    def tidy(self, value: float) -> float:
        """The value with few digits, within the bounds; what is off is harmless."""
        value = min(max(float(f"{value:.{DIGITS}g}"), self.lo), self.hi)
        if value < self.off:
            return self.harmless
        return float(round(value)) if self.whole else value

    def nearer(self, value: float, share: float) -> float:
        """The value moved towards what is harmless, by this share of the way."""
        if self.log:
            moved = value * (self.harmless / value) ** share
        else:
            moved = value + (self.harmless - value) * share
        return self.tidy(moved)


@dataclass(frozen=True)
class Space:
    """All dimensions; those that are fixed stay harmless."""

    dimensions: Sequence[Dimension]
    fixed: Sequence[str] = ()

    @functools.cached_property
    def free(self) -> list[Dimension]:
        """Those that are searched."""
        return [one for one in self.dimensions if one.name not in self.fixed]

    @property
    def harmless(self) -> dict[str, float]:
        """The scenario with nothing in it that harms."""
        return {one.name: one.harmless for one in self.dimensions}

    def values(self, shares: Sequence[float]) -> dict[str, float]:
        """The values of a point: a number from 0 to 1 for each free dimension."""
        free = {one.name: one.at(x) for one, x in zip(self.free, shares, strict=True)}
        found = {**self.harmless, **free}
        if all(found[level] == 1.0 for level in LEVELS):
            found["period"] = self.harmless["period"]
        return found

    def differs(self, values: Values) -> list[Dimension]:
        """The dimensions in which a scenario is not harmless."""
        return [one for one in self.dimensions if values[one.name] != one.harmless]


def space(
    fixed: Sequence[str] = (), bounds: Mapping[str, tuple[float, float]] | None = None
) -> Space:
    """The space of space.toml with some dimensions fixed, and some bounds replaced."""
    known = {one.name: one for one in _declared()}
    for name in (*fixed, *(bounds or {})):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise ConfigError(f"{name}: unknown dimension; {hint}", key=name)
    for name, (lo, hi) in (bounds or {}).items():
        one = known[name]
        if not one.lo <= lo <= hi:
            raise ConfigError(f"{name}: {lo:g}..{hi:g}: allowed: {one.lo:g} <= from <= to")
        harmless = min(max(one.harmless, lo), hi)
        known[name] = replace(one, lo=lo, hi=hi, harmless=harmless)
    return Space(tuple(known.values()), tuple(fixed))


@functools.cache
def _document() -> dict[str, Any]:
    return tomllib.loads((files("clearpipe.attack") / FILE).read_text(encoding="utf-8"))


def _declared() -> list[Dimension]:
    return [Dimension(name, **table) for name, table in _document()["dimension"].items()]


def says(goal: str) -> str:
    """What a goal's value is, in words: 1 is best, 0 is worst."""
    return str(_document()["goal"][goal]["says"])


# From a point to a scenario.


def duration(values: Values) -> float:
    """How long it lasts [s]."""
    return math.ceil(LEAST_S + ROUND_TRIPS * values["rtt"] * values["farther"])


def warmup(values: Values) -> float:
    """When measuring begins [s]."""
    return math.ceil((1 - MEASURED) * duration(values))


def capacity(values: Values) -> float:
    """The mean capacity while it is measured [bit/s]."""
    start, end = warmup(values), duration(values)
    steps = [(0.0, values["level-1"]), *_steps(values, end)]
    ends = [*(at for at, _ in steps[1:]), end]
    bits = sum(
        level * max(min(until, end) - max(at, start), 0.0)
        for (at, level), until in zip(steps, ends, strict=True)
    )
    return values["rate"] * bits / (end - start)


def cross(values: Values) -> float:
    """What the traffic that takes no notice offers [bit/s]: never more than the least capacity."""
    return values["cross"] * values["rate"] * min(values[name] for name in LEVELS)


def _steps(values: Values, end: float) -> list[tuple[float, float]]:
    """When the capacity changes, and to which share of the rate."""
    levels = [values[name] for name in LEVELS]
    if all(level == 1.0 for level in levels):
        return []
    quarter = values["period"] / 4
    count = math.ceil(end / quarter)
    found = [(round(n * quarter, 6), levels[n % 4]) for n in range(1, count)]
    # Where two in a row are equal nothing changes.
    before = [levels[0], *(level for _, level in found)]
    return [one for one, last in zip(found, before, strict=False) if one[1] != last]


def scenario(who: Cast, values: Values, name: str, *, probe: bool = False) -> dict[str, Any]:
    """The scenario of a point as nested mappings. Links are one by one: the last flow's line has
    its own jitter, and the way back its own pace."""
    rtt, rate = values["rtt"], values["rate"]
    owd = _time(rtt / 4)
    bottleneck: dict[str, Any] = {
        "from": "a",
        "to": "b",
        "rate": _rate(rate * values["level-1"]),
        "owd": owd,
        "buffer": _buffer(values),
        "queue": dict(who.router),
    }
    steps = _steps(values, duration(values))
    if steps:
        bottleneck["steps"] = [{"at": _time(at), "rate": _rate(rate * x)} for at, x in steps]
    if values["loss"] >= 1e-5:
        bottleneck["loss"] = {"kind": "random", "p": f"{100 * values['loss']:.6g}%"}
    links = {"bottleneck": bottleneck, "back": _back(values, owd)}
    if values["jitter"]:
        jitter = {"delay": f"uniform(0s, {_time(values['jitter'])})", "in_order": True}
        wide = {"rate": _rate(10 * rate), "owd": "0s", "buffer": "1MB"}
        links["uneven"] = {"from": "b", "to": "c", **wide, "jitter": jitter}
        links["even"] = {"from": "c", "to": "b", **wide}
    document: dict[str, Any] = {
        "schema": 1,
        "name": name,
        "era": "rfc",
        "duration": _time(duration(values)),
        "warmup": _time(warmup(values)),
        "bottleneck": "bottleneck",
        "transport": {"delayed_ack": "off"},
        "packets": {"data": f"{PACKET}B", "ack": f"{ACK}B"},
        "protocols": {"host": dict(who.subject.host)},
        "links": links,
        "flows": _flows(values),
    }
    if probe:
        document["probe"] = {"series": ["goodput", "cwnd", "srtt", "queue"], "every": "200ms"}
    return document


def _buffer(values: Values) -> str:
    """In bytes of the shorter round trip's product, two packets at least."""
    product = values["rate"] * values["rtt"] / 8
    return f"{max(round(values['buffer'] * product), 2 * PACKET)}B"


def _back(values: Values, owd: str) -> dict[str, Any]:
    """The way back; where ACKs come in bunches, a trace that lets all that wait out at once."""
    back: dict[str, Any] = {"from": "b", "to": "a", "owd": owd, "buffer": "10MB"}
    if not values["bunches"]:
        return back | {"rate": _rate(values["rate"])}
    gap = max(round(1000 * values["bunches"]), 1)
    acks = values["rate"] * gap / 1000 / (8 * PACKET)
    # Twice what is needed: the last one is the trace's period.
    return back | {"trace": [gap] * max(math.ceil(2 * acks * ACK / 1500), 1)}


def _flows(values: Values) -> dict[str, Any]:
    far = values["rtt"] * values["farther"]
    to = "c" if values["jitter"] else "b"
    start = values["later"]
    flows: dict[str, Any] = {
        "own": {
            "protocol": "host",
            "from": "a",
            "to": "b",
            "count": int(values["flows"]) - 1,
            "rtt": _time(values["rtt"]),
            "start": "uniform(0s, 100ms)",
        },
        "last": {
            "protocol": "host",
            "from": "a",
            "to": to,
            "rtt": _time(far),
            "start": f"uniform({_time(start)}, {_time(start + 0.1)})",
        },
    }
    if values["cross"]:
        flows["cross"] = {
            "protocol": "udp",
            "from": "a",
            "to": "b",
            "rate": _rate(cross(values)),
            "gaps": "poisson",
        }
    return flows


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e6)}us" if seconds < 1 else f"{seconds:.9g}s"


def _rate(bps: float) -> str:
    return f"{round(bps)}bps"
