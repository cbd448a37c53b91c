"""What the papers' modules and the drawing share: series, rates and delays of a run."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.errors import ConfigError
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.data import Assertion
from clearpipe.reproduce.runs import Cell, Data, note
from clearpipe.statistics import Interval
from clearpipe.units import split as split_quantity


def series(cell: Cell, name: str) -> dict[str, tuple[Any, Any]]:
    """Times and values of each flow (`group number`, or `group` where it has one) or link."""
    note(name)
    return _series(cell, name)


def _series(cell: Cell, name: str) -> dict[str, tuple[Any, Any]]:
    table = cell.result.series(name)
    of = "flow" if "flow" in table.column_names else "link"
    ids = np.asarray(table.column(of))
    t = np.array(table.column("t_s"), dtype=float)
    values = np.array(table.column(name), dtype=float)
    return {
        label: (t[ids == number], values[ids == number])
        for number, label in _named(cell, of).items()
        if (ids == number).any()
    }


def _named(cell: Cell, of: str) -> dict[int, str]:
    if of == "link":
        return {link["link"]: link["name"] for link in cell.result.summary["links"]}
    flows = cell.result.flows
    numbers, groups = list(flows["flow"]), list(flows["group"])
    alone = {group for group in groups if groups.count(group) == 1}
    return {
        flow: group if group in alone else f"{group} {flow}"
        for flow, group in zip(numbers, groups, strict=True)
    }


def windowed(t: Any, values: Any, window: str) -> tuple[Any, Any]:
    """Means over windows of this length, each at its end."""
    quantity = split_quantity(window)
    if quantity is None or quantity[1] != "s":
        raise ConfigError(f"window: {window!r}: expected a time", key="window")
    length = quantity[0]
    number = np.ceil(t / length - 1e-9).astype(int)
    at, starts = np.unique(number, return_index=True)
    # A flow that is not there yet has no value.
    sums = np.add.reduceat(np.nan_to_num(values), starts)
    counts = np.diff([*starts, len(values)])
    return at * length, sums / counts


def flow_goodputs(cell: Cell, group: str) -> list[float]:
    """The goodput of each flow of a group [b/s]."""
    flows = cell.result.flows
    pairs = zip(flows["group"], flows["goodput_bps"], strict=True)
    return [float(rate or 0.0) for name, rate in pairs if name == group]


def link_series(result: cp.Result, name: str, link: str = "bottleneck") -> tuple[Any, Any]:
    """Times and values of a link's series."""
    note(f"{name} of link {link}")
    return _series(_cell(result), name)[link]


def flow_series(result: cp.Result, name: str) -> dict[str, tuple[Any, Any]]:
    """As `series`, of a result."""
    return series(_cell(result), name)


def _cell(result: cp.Result) -> Cell:
    return Cell("", "", "", 0.0, 0, {}, lambda: result, ())


def link_of(result: cp.Result, name: str = "bottleneck") -> Any:
    """A link's row of the summary."""
    note(f"summary of link {name}")
    return next(link for link in result.summary["links"] if link["name"] == name)


def base_rtts(result: cp.Result, group: str) -> list[float]:
    """Each flow's RTT without queues [s], from the resolved scenario."""
    resolved = tomllib.loads(result.scenario_toml)
    flows = resolved["flows"][group]
    links = [*flows["path"], *flows["reverse_path"]]
    way = sum(seconds(resolved["links"][name]["owd"]) for name in links)

    def owds(key: str) -> list[float]:
        value = flows[key]
        values = [value] * flows["count"] if isinstance(value, str) else value
        return [seconds(one) for one in values]

    ends = zip(owds("source_owd"), owds("sink_owd"), strict=True)
    return [way + 2 * (a + b) for a, b in ends]


def seconds(text: str) -> float:
    """A time of a scenario in seconds."""
    quantity = split_quantity(text)
    if quantity is None or quantity[1] != "s":
        raise ConfigError(f"{text!r}: expected a time")
    return quantity[0]


def exact(value: float) -> Interval:
    """A number that has no interval."""
    return Interval(value, value, value, 1, "exact")


def claim_of(data: Data, short: str) -> Assertion:
    """The assertion of the figure's claim of this short name: `c4`, or `c4.b` if it has several."""
    name, _, part = short.partition(".")
    claim = next(c for c in data.figure.claims if c.id == f"{data.figure.id}-{name}")
    return claim.assertion(part)


def by_label(
    data: Data, short: str, cells: Iterable[Cell], value: Callable[[Cell], float | None]
) -> Mapping[str, Reading]:
    """For each setting of the axis, and each scheme if there are several, a number of each run,
    within the bounds of the claim; a run without the number is told as such."""
    claim, cells = claim_of(data, short), list(cells)
    several = len({cell.scheme for cell in cells}) > 1
    found: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        number = value(cell)
        scheme = data.paper.schemes[cell.scheme].label if several else ""
        found.setdefault((scheme, cell.label), []).append(math.nan if number is None else number)
    out = {}
    for (scheme, point), values in found.items():
        name = ", ".join(filter(None, (scheme, point)))
        out[name] = Reading.of(name, values, claim.lo, claim.hi, [point] if point else [])
    return out


def by_replication(
    data: Data, short: str, cells: Iterable[Cell], value: Callable[[Data], Mapping[str, float]]
) -> Mapping[str, Reading]:
    """Numbers, by name, that are computed of several runs: of those of each replication by itself,
    within the bounds of the claim. Where a replication lacks a run or a number, it has none."""
    claim, by_rep = claim_of(data, short), dict[int, list[Cell]]()
    for cell in cells:
        by_rep.setdefault(cell.rep, []).append(cell)
    most = max(map(len, by_rep.values()), default=0)
    rows = [value(data.only(mine)) if len(mine) == most else {} for mine in by_rep.values()]
    return {
        name: Reading.of(name, [row.get(name, math.nan) for row in rows], claim.lo, claim.hi)
        for name in dict.fromkeys(name for row in rows for name in row)
    }
