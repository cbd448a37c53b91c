"""What no paper says, read another way: one setting at a time, and what it does to the verdicts.

Starts, access links, buffers, timeouts and delayed ACKs of the figures follow the authors' scripts
(A1, A21 to A23 in notes.toml), a rule that was fixed before any outcome was seen. How much hangs on
the rule is a question of its own: each reading here changes one of them in every figure whose text
leaves it open, and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.reproduce import claims
from clearpipe.sweep.spec import split_quantity

Document = dict[str, Any]

AT_RANDOM = re.compile(r"uniform\((0s|0ms|1ms), *[0-9.]+m?s\)")
"""The start of flows that are there from the beginning; later ones are the text's."""
ROUND_TRIPS = 2.5


@dataclass(frozen=True)
class Reading:
    """One way to read what is not said."""

    name: str
    what: str
    """In words, for a table."""
    change: Callable[[Document], None]
    """Makes a scenario with its `[sweep]` one of this reading; those that it does not concern
    stay as they are."""


def _starts(start: Callable[[float], str]) -> Callable[[Document], None]:
    """Random starts at the beginning, by the round trip of the scenario or of the point [s]."""

    def change(document: Document) -> None:
        flows = document.get("flows", {})
        open_ones = [name for name, flow in flows.items() if _is_open(flow.get("start"))]
        rtts = _round_trips(document)
        for name in open_ones:
            flows[name]["start"] = start(rtts[0])
        for axis in document["sweep"]["zip"]:
            points = len(axis["labels"])
            for key, column in axis.items():
                if key.startswith("flows.") and key.endswith(".start"):
                    by_point = rtts if len(rtts) == points else rtts[:1] * points
                    axis[key] = [
                        start(rtt) if _is_open(value) else value
                        for value, rtt in zip(column, by_point, strict=True)
                    ]

    return change


def _is_open(value: object) -> bool:
    return isinstance(value, str) and AT_RANDOM.fullmatch(value) is not None


def _round_trips(document: Document) -> list[float]:
    """Of each point of the axis that sets it, or of all [s]; 80 ms where no one key says it."""
    for axis in document["sweep"]["zip"]:
        if "topology.rtt" in axis:
            return [_seconds(text) for text in axis["topology.rtt"]]
    return [_seconds(document.get("topology", {}).get("rtt", "80ms"))]


def _seconds(text: str) -> float:
    quantity = split_quantity(text)
    if quantity is None or quantity[1] != "s":
        raise ConfigError(f"{text!r}: a time is wanted")
    return quantity[0]


def _access(rate: str) -> Callable[[Document], None]:
    """Access links of every host on a topology that has one bottleneck."""

    def change(document: Document) -> None:
        if document.get("topology", {}).get("kind") == "dumbbell":
            for flow in document["flows"].values():
                flow["access_rate"] = rate

    return change


def _buffers_in_bytes(document: Document) -> None:
    """A bandwidth-delay product of bytes for one of packets."""
    topology = document.get("topology", {})
    for table, key in [(topology, "buffer")] + [
        (axis, "topology.buffer") for axis in document["sweep"]["zip"]
    ]:
        value = table.get(key)
        if isinstance(value, list):
            table[key] = [_in_bytes(one) for one in value]
        elif value is not None:
            table[key] = _in_bytes(value)


def _in_bytes(buffer: Any) -> Any:
    return buffer.removesuffix("-pkt") if isinstance(buffer, str) else buffer


def _transport(key: str, value: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        if "flows" in document:
            document.setdefault("transport", {})[key] = value

    return change


READINGS = (
    Reading("starts-300ms", "starts within 1 to 300 ms", _starts(lambda _: "uniform(1ms, 300ms)")),
    Reading(
        "starts-rtt",
        f"starts within {ROUND_TRIPS:g} round trips",
        _starts(lambda rtt: f"uniform(0s, {1000 * ROUND_TRIPS * rtt:.9g}ms)"),
    ),
    Reading("starts-10s", "starts within 10 s", _starts(lambda _: "uniform(0s, 10s)")),
    Reading("access-1x", "access links as fast as the bottleneck", _access("1x")),
    Reading("access-2x", "access links twice as fast", _access("2x")),
    Reading("access-10x", "access links ten times as fast", _access("10x")),
    Reading("buffer-bytes", "buffers of one product in bytes", _buffers_in_bytes),
    Reading("rto-200ms", "timeouts of 200 ms at least", _transport("min_rto", "200ms")),
    Reading("rto-1s", "timeouts of 1 s at least", _transport("min_rto", "1s")),
    # ns-2's DelAck sink: every second packet, or after 100 ms.
    Reading("delayed-acks", "delayed ACKs, 100 ms", _transport("delayed_ack", "100ms")),
)


def by_name(name: str) -> Reading:
    """Raises ConfigError for what there is not."""
    found = next((one for one in READINGS if one.name == name), None)
    if found is None:
        raise ConfigError(
            f"{name}: no reading is called that; there are {', '.join(r.name for r in READINGS)}",
            key="reading",
        )
    return found


Verdicts = Mapping[str, str]
"""By the name of the claim."""


def head(scale: str) -> list[str]:
    """The page's first lines."""
    return [
        "# What hangs on what no paper says",
        "",
        "Starts, access links, units of buffers, timeouts and delayed ACKs follow one rule, from",
        "the authors' scripts and not from outcomes (A1, A21 to A23 in the reports). Here each is",
        "read another way, one at a time and in every figure whose text leaves it open, and every",
        f"claim is judged again. Scale {scale}; a figure without a table has no such setting.",
        "Written by `make reproduce-readings`.",
        "",
    ]


def table(
    title: str, stands: Verdicts, others: Sequence[tuple[Reading, Verdicts | None]]
) -> Iterator[str]:
    """The lines of a figure's table in Markdown; None is a reading that changes nothing in it."""
    concerned = [(reading, found) for reading, found in others if found is not None]
    if not concerned:
        return
    yield f"### {title}"
    yield ""
    yield "| reading | verdicts | what changes |"
    yield "|---|---|---|"
    yield f"| as it stands | {_counted(stands)} | |"
    for reading, found in concerned:
        yield f"| {reading.what} | {_counted(found)} | {_changes(stands, found)} |"
    yield ""


def _counted(verdicts: Verdicts) -> str:
    counts = Counter(verdicts.values())
    short = {
        claims.HOLDS: "as printed",
        claims.WITHIN: "within tolerance or range",
        claims.DEVIATES: "deviate",
        claims.CONTRADICTED: "contradicted",
        claims.NOT_RUN: "not run",
    }
    return ", ".join(f"{counts[one]} {short[one]}" for one in claims.VERDICTS if counts[one])


def _changes(stands: Verdicts, found: Verdicts) -> str:
    changed = [name for name, verdict in stands.items() if found[name] != verdict]
    return "; ".join(
        f"{name.rpartition('-')[2]} {found[name]} (was: {stands[name]})" for name in changed
    )
