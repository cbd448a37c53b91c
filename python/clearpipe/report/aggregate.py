"""Replications drawn together: means with intervals, every run a faint dot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearpipe import metric_titles, overview, statistics, units
from clearpipe.replications import OF_GROUPS, OF_LINKS
from clearpipe.report import charts, svg
from clearpipe.report.charts import Curve, Panel, Section
from clearpipe.report.dots import Plot, Row
from clearpipe.report.sides import Side, no_intervals
from clearpipe.report.thin import Array

MOST_LINKS = 4
"""Of more links, those with the highest utilization are shown."""


def names_of_links(sides: Sequence[Side]) -> list[str]:
    """The links that the scenarios name; where they name none, the busiest that are loaded."""
    used: dict[str, float] = {}
    for side in sides:
        for result in side.results:
            for link in overview.told_links(result):
                used[link["name"]] = max(used.get(link["name"], 0.0), link["utilization_ratio"])
    return sorted(used, key=lambda name: -used[name])[:MOST_LINKS]


def items(sides: Sequence[Side]) -> list[tuple[str, str, str]]:
    """What is shown: table, item and column of each measure that some run has."""
    known = {
        key for side in sides for result in side.results for key in metric_titles.values(result)
    }
    links = names_of_links(sides)
    groups = dict.fromkeys(g for s in sides for r in s.results for g in charts.groups_in(r))
    wanted = [("links", name, column) for column in OF_LINKS for name in links]
    wanted += [("groups", name, column) for column in OF_GROUPS for name in groups]
    # Only flows that have a size finish.
    sized = {item for _, item, column in known if column == "fct_mean_s"}
    return [
        key for key in wanted if key in known and (key[2] != "finished_flows" or key[1] in sized)
    ]


def plots(sides: Sequence[Side]) -> list[Plot]:
    """A dot plot for each measure, with a row for each side and item."""
    keys = items(sides)
    found = [[metric_titles.values(result) for result in side.results] for side in sides]
    made = []
    for column in dict.fromkeys(column for _, _, column in keys):
        mine = [key for key in keys if key[2] == column]
        rows = [
            (side, number, key, values)
            for key in mine
            for number, side in enumerate(sides)
            if (values := [run[key] for run in found[number] if key in run])
        ]
        if any(value for _, _, _, values in rows for value in values):
            made.append(_plot(column, rows, len(sides), several=len(mine) > 1))
    return made


def _plot(
    column: str,
    found: Sequence[tuple[Side, int, tuple[str, str, str], list[float]]],
    sides: int,
    several: bool,
) -> Plot:
    measure = metric_titles.of(column)
    by = units.scale((v for *_, values in found for v in values), measure.unit)
    rows, cells = [], []
    for place, (side, number, (_, item, _), values) in enumerate(found):
        if sides == 1:
            name, color = item, svg.color(place)
        else:
            name = f"{side.name} {item}" if several else side.name
            color = svg.color(number)
        interval = statistics.t_interval(values)
        few = interval.n < statistics.FEW or not side.has_intervals
        text = units.spread(interval.mean, math.inf if few else interval.half, by=by)
        ends = (min(values), max(values))
        told = (
            f"{name}: {measure.title}\n{text} {by.unit}".rstrip() + f" (n = {interval.n})\n"
            f"runs from {units.tell(ends[0], measure.unit)} to {units.tell(ends[1], measure.unit)}"
        )
        bar = None if few else (interval.low / by.factor, interval.high / by.factor)
        if bar and min(values) >= 0:
            bar = (max(bar[0], 0.0), bar[1])
        runs = [value / by.factor for value in values]
        rows.append(
            Row(name, color, told, text, interval.mean / by.factor, small=runs, interval=bar)
        )
        cells.append([name, str(interval.n), text, *(units.number(v / by.factor) for v in ends)])
    unit = by.unit
    headings = ["", "n", f"Mean {unit}".rstrip(), f"Least {unit}".rstrip(), f"Most {unit}".rstrip()]
    high = 100.0 if column == "utilization_ratio" else None
    low, top = _fairness(column, [v for *_, values in found for v in values])
    return Plot(
        measure.title,
        by.unit,
        rows,
        headings,
        cells,
        low=low,
        high=high if top is None else top,
    )


def note(sides: Sequence[Side]) -> str:
    """What the marks of all dot plots are."""
    counts = sorted({len(side.results) for side in sides})
    bars = "; bar: 95 % interval" if any(side.has_intervals for side in sides) else ""
    none = no_intervals(sides)
    told = f"Large: mean; small: single runs{bars}; n = {', '.join(map(str, counts))}."
    return f"{told} {none}".rstrip()


def _fairness(column: str, values: Sequence[float]) -> tuple[float, float | None]:
    """The ends of the axis of an index near 1."""
    if column != "jain_index_ratio":
        return 0.0, None
    return max(math.floor(min(values) * 10 - 1e-9) / 10, 0.0), 1.0


@dataclass(frozen=True)
class Numbers:
    """A table of all sides' links or groups."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(sides: Sequence[Side]) -> list[Numbers]:
    """A table of the links and one of the groups: a row for each of them and each side."""
    keys = items(sides)
    made = []
    for table in ("links", "groups"):
        columns = list(dict.fromkeys(column for kind, _, column in keys if kind == table))
        names = list(dict.fromkeys(item for kind, item, _ in keys if kind == table))
        headings = ["Scheme", table[:-1].capitalize(), "n"]
        headings += [metric_titles.of(column).title for column in columns]
        rows = [
            [side.name, item, str(len(side.results)), *_texts(side, table, item, columns)]
            for item in names
            for side in sides
        ]
        made += [Numbers(headings, rows)] * bool(rows)
    return made


def _texts(side: Side, table: str, item: str, columns: Sequence[str]) -> list[str]:
    found = [metric_titles.values(result) for result in side.results]
    values = [
        [run[key] for run in found if (key := (table, item, column)) in run] for column in columns
    ]
    return [
        _text(column, mine, side) if mine else units.DASH
        for column, mine in zip(columns, values, strict=True)
    ]


def _text(column: str, values: Sequence[float], side: Side) -> str:
    interval = statistics.t_interval(values)
    some = f" (n = {interval.n})" if interval.n < len(side.results) else ""
    unit = metric_titles.of(column).unit
    if interval.n < statistics.FEW or not side.has_intervals:
        return units.tell(interval.mean, unit) + some
    return units.spread(interval.mean, interval.half, unit) + some


def sections(sides: Sequence[Side]) -> list[Section]:
    """A section for each quantity: a panel for each group or link, a curve for each side."""
    results = [result for side in sides for result in side.results]
    links = names_of_links(sides)
    made = []
    for quantity in charts.quantities(results):
        if quantity.inner:
            continue
        # Of flows the groups' medians, and links one by one.
        most = 0 if quantity.of == "flow" else charts.MAX_CURVES
        found = [
            [charts.panel(result, quantity, charts.POINTS, "", most) for result in side.results]
            for side in sides
        ]
        families: dict[str, list[list[tuple[Array, Curve]]]] = {}
        for number, panels in enumerate(found):
            for panel in panels:
                for curve in panel.curves:
                    if curve.thin or (quantity.of == "link" and curve.label not in links):
                        continue
                    name = curve.label.partition(" (")[0]
                    families.setdefault(name, [[] for _ in sides])[number].append((panel.x, curve))
        together = (_together(name, sides, runs) for name, runs in families.items())
        drawn = [one for one in together if one is not None]
        if drawn:
            made.append(charts.section(quantity, drawn, results, _note(quantity, sides)))
    return made


def _note(quantity: charts.Quantity, sides: Sequence[Side]) -> str:
    counts = sorted({len(side.results) for side in sides})
    what = (
        "the median of the group's flows, meant over the runs"
        if quantity.of == "flow"
        else ("the mean over the runs")
    )
    bars = "; band: its 95 % interval" if any(side.has_intervals for side in sides) else ""
    told = f"Line: {what}{bars}; n = {', '.join(map(str, counts))}."
    return f"{told} {no_intervals(sides)}".rstrip()


def _together(
    name: str, sides: Sequence[Side], runs: Sequence[Sequence[tuple[Array, Curve]]]
) -> Panel | None:
    """One panel of a group or a link: a curve for each side that has it."""
    grids = [x for mine in runs for x, _ in mine if x.size]
    if not grids:
        return None
    x = max(grids, key=lambda grid: (grid[-1], grid.size))
    panel = Panel(name, x=x)
    for number, (side, mine) in enumerate(zip(sides, runs, strict=True)):
        if mine:
            values = np.stack([_at(x, grid, curve) for grid, curve in mine])
            panel.curves.append(_mean(side, number, values))
    return panel


def _at(x: Array, grid: Array, curve: Curve) -> Array:
    """A run's curve on the common grid; not beyond its end."""
    if grid.size == x.size and np.allclose(grid, x):
        return curve.values
    out = np.interp(x, grid, curve.values, left=np.nan, right=np.nan)
    return np.asarray(out, dtype=np.float64)


def _mean(side: Side, color: int, values: Array) -> Curve:
    known = np.isfinite(values)
    n = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    curve = Curve(side.name, color, mean)
    if values.shape[0] < statistics.FEW or not side.has_intervals:
        return curve
    off = np.where(known, values - mean, 0.0)
    deviation = np.sqrt((off * off).sum(axis=0) / np.maximum(n - 1, 1))
    factor = np.array([statistics.t_quantile(max(int(one) - 1, 1)) for one in n])
    half = np.where(n >= statistics.FEW, factor * deviation / np.sqrt(np.maximum(n, 1)), np.nan)
    low = mean - half
    if np.nanmin(np.where(known, values, np.inf), initial=np.inf) >= 0:
        low = np.maximum(low, 0.0)
    return replace(curve, low=low, high=mean + half)
