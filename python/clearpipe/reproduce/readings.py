"""What no paper says, read another way: one setting at a time, and what it does to the verdicts.

Starts, access links, buffers, timeouts and delayed ACKs of the figures follow the authors' scripts
(A1, A21 to A23 in notes.toml), a rule that was fixed before any outcome was seen. How much hangs on
the rule is a question of its own: each reading here changes one of them in every figure whose text
leaves it open, and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.reproduce import claims
from clearpipe.units import split as split_quantity

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


def _starts(text: str) -> Callable[[Document], None]:
    """Random starts at the beginning, read as this."""

    def change(document: Document) -> None:
        for axis in document["sweep"]["zip"]:
            for key, column in axis.items():
                if key.startswith("flows.") and key.endswith(".start"):
                    axis[key] = [text if _is_open(value) else value for value in column]
        for flow in document.get("flows", {}).values():
            if _is_open(flow.get("start")):
                flow["start"] = text

    return change


def _is_open(value: object) -> bool:
    return isinstance(value, str) and AT_RANDOM.fullmatch(value) is not None


def _starts_by_rtt(document: Document) -> None:
    """Random starts at the beginning, within round trips of each point's own; where not all flows
    over the one bottleneck have the same they stay as they are."""
    topology, flows = document.get("topology", {}), document.get("flows", {})
    keys = {f"flows.{name}.{key}" for name in flows for key in ("start", "rtt")} | {"topology.rtt"}
    axes = [axis for axis in document["sweep"]["zip"] if keys & axis.keys()]
    if topology.get("kind") != "dumbbell" or len(axes) > 1:
        return
    axis = axes[0] if axes else {"labels": [""]}

    def column(key: str, value: Any) -> list[Any]:
        return axis[key] if key in axis else [value] * len(axis["labels"])

    starts = {
        name: column(f"flows.{name}.start", flow.get("start")) for name, flow in flows.items()
    }
    starts = {name: values for name, values in starts.items() if any(map(_is_open, values))}
    of_all = column("topology.rtt", topology.get("rtt"))
    own = [column(f"flows.{name}.rtt", flows[name].get("rtt")) for name in starts]
    rtts = [_one_rtt(point) for point in zip(of_all, *own, strict=True)]
    for name, values in starts.items():
        read = [_within_rtts(*point) for point in zip(values, rtts, strict=True)]
        if not axes:
            flows[name]["start"] = read[0]
        elif read != values:
            axis[f"flows.{name}.start"] = read


def _one_rtt(told: Sequence[Any]) -> float | None:
    """The round trip [s] of all flows by the topology's and each one's own, which may be none."""
    of_all, *own = told
    found = {str(of_all if one is None else one) for one in own}
    quantity = split_quantity(found.pop()) if len(found) == 1 else None
    return quantity[0] if quantity is not None and quantity[1] == "s" else None


def _within_rtts(start: Any, rtt: float | None) -> Any:
    if rtt is None or not _is_open(start):
        return start
    ms = float(f"{1000 * ROUND_TRIPS * rtt:.9g}")
    # Written as in the papers' files: an equal start is then no other reading.
    return f"uniform(0s, {ms / 1000:g}s)" if ms % 1000 == 0 else f"uniform(0s, {ms:.9g}ms)"


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
    Reading("starts-300ms", "starts within 1 to 300 ms", _starts("uniform(1ms, 300ms)")),
    Reading(
        "starts-rtt",
        f"starts within {ROUND_TRIPS:g} round trips",
        _starts_by_rtt,
    ),
    Reading("starts-10s", "starts within 10 s", _starts("uniform(0s, 10s)")),
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
            f"{name}: unknown reading (allowed: {', '.join(r.name for r in READINGS)})",
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
        "claim is judged again. Access links are read otherwise on dumbbells only, starts by round",
        "trips on those whose flows all have the same, buffers where `[topology]` has them in",
        "delay-bandwidth products of packets; other parking lots and networks of `[links]` keep",
        "theirs, and runs on a real kernel keep everything. A figure without a table has nothing",
        f"that a reading reaches. Scale {scale}.",
        "Written by `clearpipe reproduce all --readings FILE`.",
        "",
    ]


def overview(
    figures: Iterable[tuple[Verdicts, Sequence[tuple[Reading, Verdicts | None]]]],
) -> list[str]:
    """How many figures and claims each reading reaches, and what becomes of those that hold as it
    stands and of those that do not; figures whose reading is not run yet are not among them."""
    rows: dict[str, Counter[str]] = {}
    for stands, others in figures:
        for reading, found in others:
            row = rows.setdefault(reading.what, Counter())
            if found:
                row["figures"] += 1
                row["claims"] += len(stands)
                for name, before in stands.items():
                    pair = (before in claims.GOOD, found[name] in claims.GOOD)
                    row["lost"] += pair == (True, False)
                    row["won"] += pair == (False, True)
    columns = ("figures", "claims", "lost", "won")
    return [
        "| reading | figures | their claims | hold no longer | hold only so |",
        "|---|---|---|---|---|",
        *(
            f"| {what} | {' | '.join(str(row[column]) for column in columns)} |"
            for what, row in rows.items()
            if row["figures"]
        ),
        "",
    ]


def table(
    title: str, stands: Verdicts, others: Sequence[tuple[Reading, Verdicts | None]]
) -> Iterator[str]:
    """The lines of a figure's table in Markdown; None is a reading that changes nothing in it, and
    one without verdicts is not run yet."""
    concerned = [(reading, found) for reading, found in others if found is not None]
    if not concerned:
        return
    yield f"## {title}"
    yield ""
    yield "| reading | verdicts | what changes |"
    yield "|---|---|---|"
    yield f"| as it stands | {_counted(stands)} | |"
    for reading, found in concerned:
        told = (_counted(found), _changes(stands, found)) if found else ("not run yet", "")
        yield f"| {reading.what} | {' | '.join(told)} |"
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
