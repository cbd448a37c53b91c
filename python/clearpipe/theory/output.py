"""How `clearpipe theory` shows what it found: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearpipe import units

if TYPE_CHECKING:
    from clearpipe.theory.network import Array
    from clearpipe.theory.waterfill import Allocation


class Sheet(NamedTuple):
    """A table; its key in the JSON, and the names of its columns there."""

    key: str
    title: str
    columns: Mapping[str, str]
    """The name in the JSON, and the heading."""
    rows: Sequence[Sequence[Any]]
    left: int = 1


class Fact(NamedTuple):
    """One number: its name in the JSON, what it is, and its unit."""

    key: str
    about: str
    value: float | bool | None
    unit: str = ""


def show(title: str, facts: Sequence[Fact], sheets: Sequence[Sheet], as_json: bool) -> None:
    """Prints facts and sheets to stdout."""
    from clearpipe import overview, terminal

    if as_json:
        terminal.show_json(_as_json(facts, sheets))
        return
    if facts:
        out = overview.new_table(title, ("", "", ""), left=1)
        out.show_header = False
        for fact in facts:
            out.add_row(fact.about, text(fact.value), fact.unit)
        terminal.show(out)
    for sheet in sheets:
        out = overview.new_table(sheet.title, tuple(sheet.columns.values()), left=sheet.left)
        for row in sheet.rows:
            out.add_row(*(text(value) for value in row))
        terminal.show(out)


def _as_json(facts: Sequence[Fact], sheets: Sequence[Sheet]) -> dict[str, Any]:
    found: dict[str, Any] = {fact.key: _plain(fact.value) for fact in facts}
    for sheet in sheets:
        names = tuple(sheet.columns)
        found[sheet.key] = [
            {name: _plain(value) for name, value in zip(names, row, strict=True)}
            for row in sheet.rows
        ]
    return found


def _plain(value: Any) -> Any:
    """What JSON has a word for: infinity and NaN are null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


def text(value: Any) -> str:
    """A number with five significant digits."""
    if value is None:
        return units.DASH
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    number = float(value)
    if number == inf:
        return "unlimited"
    return units.number(number, 5)


def allocation(found: Allocation, fair: Array | None = None) -> list[Sheet]:
    """Who gets how much and is held where; beside `fair`, the max-min rates."""
    net = found.network
    scale = 1e-6
    flows = []
    for i, name in enumerate(net.flows):
        link = int(found.bottleneck[i])
        held = net.links[link] if link >= 0 else "its access line"
        row: list[Any] = [name, held, net.count[i], net.weight[i], scale * found.rate[i]]
        if fair is not None:
            row += [scale * fair[i], 100 * found.rate[i] / fair[i]]
        flows.append(row)
    columns = {
        "group": "group",
        "bottleneck": "held at",
        "flows": "flows",
        "weight": "weight",
        "rate_mbps": "each (Mb/s)",
    }
    if fair is not None:
        columns |= {"maxmin_mbps": "max-min (Mb/s)", "of_maxmin_percent": "of it (%)"}
    load = found.load
    links = [
        [name, scale * net.capacity[i], scale * load[i], 100 * load[i] / net.capacity[i]]
        for i, name in enumerate(net.links)
        if load[i] > 0
    ]
    return [
        Sheet("groups", "Flows", columns, flows, left=2),
        Sheet(
            "links",
            "Links",
            {
                "link": "link",
                "capacity_mbps": "capacity (Mb/s)",
                "load_mbps": "load (Mb/s)",
                "utilization_percent": "utilization (%)",
            },
            links,
        ),
    ]
