"""What results' numbers are called and which unit they have, wherever people read them.

A metric is a column of a summary, such as `queue_mean_pkts`, perhaps with whose it is before it:
`links.NAME.COLUMN`, `groups.NAME.COLUMN`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearpipe import units

if TYPE_CHECKING:
    from clearpipe.result import Result

Key = tuple[str, str, str]
"""Table, item and column."""

SUFFIXES = ("bps", "pkts", "bytes", "ratio", "s")
"""The units that columns end in."""


@dataclass(frozen=True)
class Measure:
    """A column as people know it."""

    title: str
    unit: str
    """A base unit of `units.SHOWN`."""
    more: str = "larger"
    less: str = "smaller"

    def heading(self, unit: str) -> str:
        """The title with a unit behind."""
        return f"{self.title} ({unit})" if unit else self.title

    def difference(self, value: float, sign: str = "") -> str:
        """A difference of two values with its unit: shares differ by percentage points."""
        if self.unit == "ratio" and value:
            return f"{units.number(100 * value, sign=sign)} % points"
        return units.tell(value, self.unit, sign=sign)


_HIGHER = ("higher", "lower")
_LONGER = ("longer", "shorter")
_MORE = ("more", "fewer")

MEASURES = {
    "utilization_ratio": Measure("Utilization", "ratio", *_HIGHER),
    "queue_mean_pkts": Measure("Mean queue", "pkts"),
    "queue_mean_bytes": Measure("Mean queue", "bytes"),
    "queue_mean_ratio": Measure("Mean queue, share of buffer", "ratio"),
    "queue_p90_pkts": Measure("Queue, 90 % of the time below", "pkts"),
    "queue_p90_ratio": Measure("Queue, 90 % of the time below, share of buffer", "ratio"),
    "queue_max_pkts": Measure("Longest queue", "pkts"),
    "queue_max_bytes": Measure("Longest queue", "bytes"),
    "queued_end_pkts": Measure("Queue at the end", "pkts"),
    "drop_ratio": Measure("Share of arrivals dropped", "ratio"),
    "drops_pkts": Measure("Drops", "pkts", *_MORE),
    "data_drops_pkts": Measure("Drops of data", "pkts", *_MORE),
    "marks_pkts": Measure("Marks", "pkts", *_MORE),
    "lost_pkts": Measure("Lost on the line", "pkts", *_MORE),
    "arrivals_pkts": Measure("Arrivals", "pkts", *_MORE),
    "departures_pkts": Measure("Departures", "pkts", *_MORE),
    "departures_bytes": Measure("Departures", "bytes", *_MORE),
    "rate_bps": Measure("Capacity", "bps", *_HIGHER),
    "owd_s": Measure("One-way delay", "s", *_LONGER),
    "buffer_bytes": Measure("Buffer", "bytes"),
    "goodput_min_bps": Measure("Least goodput of a flow", "bps", *_HIGHER),
    "goodput_mean_bps": Measure("Goodput per flow", "bps", *_HIGHER),
    "goodput_max_bps": Measure("Most goodput of a flow", "bps", *_HIGHER),
    "total_goodput_bps": Measure("Goodput of all flows", "bps", *_HIGHER),
    "jain_index_ratio": Measure("Jain's index of fairness", "", *_HIGHER),
    "fct_min_s": Measure("Shortest time to finish", "s", *_LONGER),
    "fct_mean_s": Measure("Mean time to finish", "s", *_LONGER),
    "fct_max_s": Measure("Longest time to finish", "s", *_LONGER),
    "timeouts": Measure("Timeouts", "", *_MORE),
    "flows": Measure("Flows", "", *_MORE),
    "active_flows": Measure("Active flows", "", *_MORE),
    "finished_flows": Measure("Finished flows", "", *_MORE),
}

KEYS = {
    "rtt": "RTT",
    "rate": "Capacity",
    "delay": "One-way delay",
    "owd": "One-way delay",
    "buffer": "Buffer",
    "queue": "Queue",
    "protocol": "Protocol",
    "count": "Flows",
    "duration": "Duration",
    "warmup": "Warm-up",
    "loss": "Loss",
    "size": "Size",
    "access_rate": "Access rate",
    "load": "Load",
}
"""What a scenario's keys are called on an axis."""


def of(metric: str) -> Measure:
    """The measure of a metric's column; one that has no name of its own is called by its words."""
    column = metric.rpartition(".")[2]
    if column in MEASURES:
        return MEASURES[column]
    whole = column.removeprefix("total_")
    if whole != column and whole in MEASURES:
        known = MEASURES[whole]
        return Measure(f"{known.title}, whole run", known.unit, known.more, known.less)
    return Measure(words(column), base_unit(column))


def words(column: str) -> str:
    """A column without its unit, as words: `losses_pkts` is `Losses`."""
    unit = base_unit(column)
    told = (column.removesuffix(f"_{unit}") if unit else column).replace("_", " ")
    return told[:1].upper() + told[1:]


def base_unit(metric: str) -> str:
    """The unit that a metric's name ends in, or nothing."""
    return next((unit for unit in SUFFIXES if metric.endswith(f"_{unit}")), "")


def owner(metric: str, links: Sequence[str] = ()) -> str:
    """What a metric is of, in words: `link core`, `group fwd`; nothing if its name does not say.

    `links` are those that a link's metric without a name is of.
    """
    item = metric.rpartition(".")[0]
    table, _, name = item.partition(".")
    if table in ("links", "groups") and name:
        return f"{table.removesuffix('s')} {name}"
    return f"link {' or '.join(links)}" if links else ""


def key_title(name: str, keys: Sequence[str]) -> str:
    """What an axis is called: a key by its words, an axis with a name of its own by that."""
    if name not in keys:
        return name[:1].upper() + name[1:]
    table, _, key = name.rpartition(".")
    words = KEYS.get(key) or key[:1].upper() + key[1:].replace("_", " ")
    whose = table.partition(".")[2]
    return f"{words} of {whose}" if whose else words


def values(result: Result) -> dict[Key, float]:
    """Every number of a result's links and groups, by table, row and column."""
    out: dict[Key, float] = {}
    for link in result.summary["links"]:
        _take(out, "links", link["name"], link)
    for group in result.summary["groups"]:
        spreads = (("goodput", "bps", group["goodput_bps"]), ("fct", "s", group["fct_s"]))
        flat: dict[str, Any] = {
            f"{name}_{key}_{unit}": value
            for name, unit, spread in spreads
            for key, value in (spread or {}).items()
        }
        _take(out, "groups", group["group"], flat | dict(group))
    return out


def _take(out: dict[Key, float], table: str, item: str, row: Mapping[str, Any]) -> None:
    for column, value in row.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and column not in ("link", "flow"):
            out[table, item, column] = float(value)
