"""What the template and report.js are given: texts, drawings, and the charts' numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clearpipe import overview, units
from clearpipe.report import aggregate, charts, network, summary, svg, topology
from clearpipe.report.charts import Curve, Panel, Section
from clearpipe.report.sides import Side
from clearpipe.report.summary import Scheme
from clearpipe.report.thin import Array

if TYPE_CHECKING:
    from clearpipe.result import Result

TABLE_ROWS = 12
"""Instants in the table under a chart."""

CDF_POINTS = 400

THIN_SHADES = (0.2, 0.4, 0.55, 0.65)
"""Single flows are paler than their group."""


@dataclass(frozen=True)
class Chart:
    """A chart drawn by report.js, which finds its numbers at `number`."""

    number: int
    title: str
    unit: str
    label: str
    """What it shows, for those who do not see it."""
    headings: Sequence[str]
    table: Sequence[Sequence[str]]
    note: str = ""
    missing: str = ""


@dataclass
class Band:
    """A result's charts."""

    scheme: Scheme
    facts: str
    charts: list[Chart] = field(default_factory=list)
    inner: list[Chart] = field(default_factory=list)


@dataclass(frozen=True)
class Drawing:
    """A network's drawing and its tables."""

    svg: str
    legend: Sequence[tuple[str, str]]
    """Colour and text of each way, where the drawing does not name them."""
    of: str
    note: str
    links: Sequence[Sequence[str]]
    ways: Sequence[Sequence[str]]


@dataclass
class Charts:
    """All that report.js draws."""

    bands: list[Band]
    fct: Chart | None
    numbers: list[dict[str, Any]]
    notes: list[tuple[str, str]]
    """Per quantity, what holds for all its charts."""


@dataclass
class Together:
    """The charts of replications that are drawn together."""

    charts: list[Chart]
    numbers: list[dict[str, Any]]
    notes: list[tuple[str, str]]


def schemes(results: Sequence[Result]) -> list[Scheme]:
    """Labels and colours: one hue per scenario, or per run where there is but one scenario."""
    labels = overview.labels(results)
    names = [result.meta["name"] for result in results]
    hues = list(dict.fromkeys(names))
    made = []
    for number, (result, label) in enumerate(zip(results, labels, strict=True)):
        if len(hues) == 1:
            made.append(Scheme(result, label, number, 0.0, len(results) == 1))
            continue
        same = [i for i, name in enumerate(names) if name == names[number]]
        shade = svg.shades(len(same))[same.index(number)]
        made.append(Scheme(result, label, hues.index(names[number]), shade))
    return made


def drawings(made: Sequence[Scheme]) -> list[Drawing]:
    """The networks of all results, each once."""
    first = 0 if len(made) == 1 else 1 + max((s.hue for s in made), default=-1)
    networks = network.distinct([(s.label, s.result.scenario_toml) for s in made])
    shown = []
    for one in networks:
        few = first + len(one.ways) <= svg.HUES

        def paint(number: int, few: bool = few) -> str:
            if len(made) == 1 or few:
                return svg.color(first + number)
            return svg.color(-1, (-0.5, 0.0, 0.5)[number % 3])

        drawing, note, legend = topology.draw(one, paint)
        links = [
            [x.name, f"{x.source} → {x.target}", x.rate, x.delay, x.buffer, x.queue, x.besides()]
            for x in one.links
        ]
        ways = [
            [w.group, w.count, w.protocol, network.way(w.path), network.way(w.reverse), w.besides()]
            for w in one.ways
        ]
        of = "" if len(networks) == 1 else ", ".join(one.of)
        shown.append(Drawing(drawing, legend, of, note, links, ways))
    return shown


def alerts(made: Sequence[Scheme]) -> list[tuple[str, str]]:
    """What a reader must know before the first number: (kind, text). What holds for all is said
    once, and of none of them."""
    told = []
    every = [set(scheme.result.meta["warnings"]) for scheme in made]
    common = set.intersection(*every) if every else set()
    for scheme in made:
        result = scheme.result
        prefix = "" if scheme.alone else f"{scheme.label}: "
        if not result.complete:
            duration = units.quantity(tomllib.loads(result.scenario_toml).get("duration"))
            of = f" of {units.seconds(duration)}" if duration else ""
            at = units.seconds(result.meta["simulated_s"])
            told.append(("partial", f"{prefix}partial result: stopped at {at}{of}."))
        for warning in result.meta["warnings"]:
            told.append(("warning", warning if warning in common else prefix + warning))
    return list(dict.fromkeys(told))


def charts_of(made: Sequence[Scheme]) -> Charts:
    """All charts of all results."""
    sections = charts.sections([scheme.result for scheme in made])
    numbers: list[dict[str, Any]] = []
    bands = [Band(scheme, _facts(scheme)) for scheme in made]
    for section in sections:
        for row, panel in enumerate(section.panels):
            quantity = section.quantity
            if quantity.inner and not panel.curves:
                continue
            into = bands[row].inner if quantity.inner else bands[row].charts
            scheme = made[row]
            paints = _paints(panel.curves, scheme, links=quantity.of == "link")
            whose = "" if scheme.alone else f" of {scheme.label}"
            into.append(_chart(section, row, panel, paints, whose, numbers))
    notes = [(x.quantity.title, x.note) for x in sections if x.note and not x.quantity.inner]
    return Charts(bands, _fct(made, numbers), numbers, notes)


def charts_of_sides(sides: Sequence[Side]) -> Together:
    """The charts of replications: one for each group or link, with a curve for each side."""
    numbers: list[dict[str, Any]] = []
    made: list[Chart] = []
    sections = aggregate.sections(sides)
    for section in sections:
        for panel in section.panels:
            paints = [
                (curve.color % svg.HUES, 0.0) if len(sides) > 1 else (len(made) % svg.HUES, 0.0)
                for curve in panel.curves
            ]
            chart = _chart(section, 0, panel, paints, f" of {panel.label}", numbers)
            item = panel.label if len(section.panels) > 1 else ""
            made.append(replace(chart, title=", ".join(filter(None, (chart.title, item)))))
    notes = [(x.quantity.title, x.note) for x in sections if x.note]
    return Together(made, numbers, notes)


def _facts(scheme: Scheme) -> str:
    (line,) = overview.of([scheme.result])
    parts = []
    for link in line.links[: overview.MOST_LINKS]:
        parts.append(f"{link['name']} {units.percent(link['utilization_ratio'])} used")
        parts.append(f"queue {units.tell(link['queue_mean_pkts'], 'pkts')}")
    if len(line.links) > overview.MOST_LINKS:
        parts.append(f"and {len(line.links) - overview.MOST_LINKS} more links")
    if line.group["goodput_bps"]:
        goodput = units.rate(line.group["goodput_bps"]["mean"])
        parts.append(f"{line.group['group']} {goodput} per flow")
    if line.group["jain_index_ratio"] is not None and line.group["active_flows"] > 1:
        parts.append(f"Jain {units.number(line.group['jain_index_ratio'])}")
    return " · ".join(parts)


def _chart(
    section: Section,
    row: int,
    panel: Panel,
    paints: Sequence[tuple[int, float]],
    whose: str,
    numbers: list[dict[str, Any]],
) -> Chart:
    quantity = section.quantity
    title, unit = quantity.title, quantity.unit
    if not panel.curves:
        return Chart(-1, title, unit, "", (), (), missing=panel.note)
    own_bottom, own_top = section.own_axis(row)
    short = _short_names([curve.label for curve in panel.curves])
    curves = [
        _curve_json(curve, paint, name)
        for curve, paint, name in zip(panel.curves, paints, short, strict=True)
    ]
    numbers.append(
        {
            "kind": "time",
            "row": row,
            "unit": unit,
            "end": section.end,
            "bottom": _number(section.bottom),
            "top": _number(section.top),
            "own": [_number(own_bottom), _number(own_top)],
            "x": _numbers(panel.x, 6),
            "curves": curves,
        }
    )
    headings, rows = _time_table(panel, unit)
    in_unit = f" in {unit}" if unit else ""
    names = ", ".join(curve.label for curve in panel.curves)
    label = f"{title}{in_unit}{whose} against time: {names}"
    return Chart(len(numbers) - 1, title, unit, label, headings, rows, panel.note)


def _paints(curves: Sequence[Curve], scheme: Scheme, *, links: bool) -> list[tuple[int, float]]:
    """Hue and shade of each curve. A lone result's groups and links have hues of their own;
    among several results the hue is the result's."""
    drawn = [curve for curve in curves if curve.color >= 0]
    families = list(dict.fromkeys(curve.family for curve in drawn))
    first = len(scheme.result.summary["groups"]) if links else 0
    by_family = links or len(families) > 1 or any(curve.thin for curve in drawn)

    def paint(curve: Curve) -> tuple[int, float]:
        if curve.color < 0:
            return -1, 0.0
        hue, shade, same = scheme.hue, scheme.shade, drawn
        if scheme.alone:
            if not by_family:
                return curve.color % svg.HUES, 0.0
            hue, shade = (first + curve.family) % svg.HUES, 0.0
            same = [other for other in drawn if other.family == curve.family]
        same = [other for other in same if other.thin == curve.thin]
        place = next(i for i, other in enumerate(same) if other is curve)
        if curve.thin:
            return hue, THIN_SHADES[place % len(THIN_SHADES)]
        return hue, svg.shades(len(same))[place] if len(same) > 1 else shade

    return [paint(curve) for curve in curves]


def _short_names(labels: Sequence[str]) -> list[str]:
    """Names that fit beside a curve's end; whole if two would be the same."""
    names = svg.short_names(labels)
    short = [svg.clip(name, 9) for name in names]
    return [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]


def _curve_json(curve: Curve, paint: tuple[int, float], short: str) -> dict[str, Any]:
    out: dict[str, Any] = {"label": curve.label, "c": paint, "y": _numbers(curve.values)}
    if curve.low is not None and curve.high is not None:
        out |= {"low": _numbers(curve.low), "high": _numbers(curve.high)}
    if curve.inner is not None:
        out |= {"q1": _numbers(curve.inner[0]), "q3": _numbers(curve.inner[1])}
    if curve.step:
        out["step"] = True
    if curve.thin:
        return out | {"thin": True}
    return out | {"short": short} | ({"dashed": True} if curve.dashed else {})


def _time_table(panel: Panel, unit: str) -> tuple[list[str], list[list[str]]]:
    """Some instants of a chart: medians or values, with the band's edges."""
    at = np.unique(np.linspace(0, panel.x.size - 1, TABLE_ROWS).round().astype(int))
    curves = [curve for curve in panel.curves if not curve.dashed]
    rows = []
    for i in at:
        cells = [units.number(panel.x[i])]
        for curve in curves:
            text = units.number(curve.values[i])
            if curve.low is not None and curve.high is not None:
                text += f" ({units.number(curve.low[i])} to {units.number(curve.high[i])})"
            cells.append(text)
        rows.append(cells)
    names = [f"{curve.label} {unit}".rstrip() for curve in curves]
    return ["Time s", *names], rows


def _fct(made: Sequence[Scheme], numbers: list[dict[str, Any]]) -> Chart | None:
    """The times to finish as shares that are not longer."""
    found = summary.transfers(made)
    if not found:
        return None
    every = np.concatenate([one.fct_s for one in found])
    # Whole decades, so that the axis has numbers.
    low, high = np.floor(np.log10(every.min())), np.ceil(np.log10(every.max()))
    x = np.logspace(low, max(high, low + 1), CDF_POINTS)
    curves, rows = [], []
    for one, short in zip(found, _short_names([one.name for one in found]), strict=True):
        ranked = np.sort(one.fct_s)
        share = 100.0 * np.searchsorted(ranked, x, side="right") / ranked.size
        hue = one.number if one.scheme.alone else one.scheme.hue
        curve = {"label": one.name, "c": (hue % svg.HUES, one.scheme.shade), "y": _numbers(share)}
        curves.append(curve | {"short": short, "step": True})
        quantiles = np.quantile(ranked, (0.1, 0.25, 0.5, 0.75, 0.9, 0.99))
        rows.append([one.name, str(ranked.size), *(units.seconds(float(q)) for q in quantiles)])
    numbers.append(
        {
            "kind": "cdf",
            "row": -1,
            "unit": "%",
            "start": _number(float(x[0])),
            "end": _number(float(x[-1])),
            "bottom": 0,
            "top": 105,
            "own": [0, 105],
            "x": _numbers(x, 6),
            "curves": curves,
        }
    )
    headings = ["", "Finished", "10 %", "25 %", "Median", "75 %", "90 %", "99 %"]
    label = "Share of finished transfers against their time to finish: " + ", ".join(
        one.name for one in found
    )
    title = "Transfers that finished within a time"
    return Chart(len(numbers) - 1, title, "%", label, headings, rows)


def _numbers(values: Array, digits: int = 5) -> list[float | int | None]:
    return [_number(value, digits) for value in values.tolist()]


def _number(value: float, digits: int = 5) -> float | int | None:
    if not np.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded
