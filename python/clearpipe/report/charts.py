"""A result's series, thinned out for drawing. The tables' numbers never come from here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from clearpipe import metric_titles, overview, units
from clearpipe.report import thin
from clearpipe.report.thin import Array, Folded

if TYPE_CHECKING:
    from clearpipe.result import Result

POINTS = 480
"""Most points of a curve; fewer when there are many results."""

MARGIN = 1.05
"""Room above the highest value."""

TOWERING = 2.0
"""What is so many times as high as the rest would press it flat."""

MAX_CURVES = 6
"""Up to so many links are drawn, and in a figure so many flows one by one."""

CHOSEN = "the one that the scenario names, if it does, and those with the highest utilization"
"""Which links of more are drawn."""

MAX_FLOWS = 12
"""Up to so many flows are drawn one by one in a report."""

MAX_GROUPS = 8
"""Of more groups of many flows, the first ones are drawn."""

BANDED_GROUPS = 4
"""Of more groups of many flows, only medians are drawn: bands would hide each other."""


@dataclass(frozen=True)
class Quantity:
    """A chart's subject."""

    id: str
    title: str
    unit: str
    stems: tuple[str, ...]
    scale: float
    kind: Literal["rate", "state", "count"]
    of: Literal["flow", "link"]
    top: float | None = None
    inner: bool = False
    """Is it an inner variable of a sender or a router, which other schemes need not have?"""

    def series(self, names: Iterable[str]) -> str | None:
        """The one of the series called `names` that holds it: a stem, or a stem and a unit."""
        exact = [name for name in names if name in self.stems]
        units = () if self.inner else ("bps", "pkts", "ratio", "s")
        full = {f"{stem}_{unit}" for stem in self.stems for unit in units}
        return next((n for n in (*exact, *(n for n in names if n in full))), None)


QUANTITIES = (
    Quantity("goodput", "Goodput per flow", "Mb/s", ("goodput",), 1e-6, "rate", "flow"),
    Quantity("queue", "Queue", "pkts", ("queue",), 1.0, "state", "link"),
    Quantity("utilization", "Utilization", "%", ("utilization",), 100.0, "rate", "link", 105.0),
    Quantity("cwnd", "Congestion window", "pkts", ("cwnd",), 1.0, "state", "flow"),
    Quantity("srtt", "Smoothed RTT", "ms", ("srtt",), 1e3, "state", "flow"),
    Quantity("drops", "Drops", "pkts/s", ("drops",), 1.0, "count", "link"),
)


@dataclass
class Curve:
    """Values of one colour; `low` and `high` bound a band around them."""

    label: str
    color: int
    values: Array
    low: Array | None = None
    high: Array | None = None
    thin: bool = False
    dashed: bool = False
    family: int = 0
    """The number of the group or link that it belongs to."""
    inner: tuple[Array, Array] | None = None
    """The bounds of a second band, inside the first."""
    step: bool = False
    """Does a value last until the next one?"""

    def scaled(self, by: float) -> Curve:
        """The same in another unit."""
        low, high = (None if edge is None else edge * by for edge in (self.low, self.high))
        inner = self.inner and (self.inner[0] * by, self.inner[1] * by)
        return replace(self, values=self.values * by, low=low, high=high, inner=inner)


@dataclass
class Panel:
    """One result's chart, or why there is none."""

    label: str
    x: Array = field(default_factory=lambda: np.empty(0))
    curves: list[Curve] = field(default_factory=list)
    note: str = ""

    def peak(self, after_s: float = 0.0, marks: bool = False) -> float:
        """The largest value drawn from `after_s` on; dashed lines count if `marks` says so."""
        late = self.x >= after_s
        curves = [curve for curve in self.curves if marks or not curve.dashed]
        tops = [(c.high if c.high is not None else c.values)[late] for c in curves]
        # A single flow may lie outside the band of its group.
        return max((float(top[np.isfinite(top)].max(initial=0.0)) for top in tops), default=0.0)

    def bottom(self) -> float:
        """The smallest value drawn, or 0."""
        lows = [c.low if c.low is not None else c.values for c in self.curves]
        return min((float(low[np.isfinite(low)].min(initial=0.0)) for low in lows), default=0.0)


@dataclass
class Section:
    """One quantity: a panel per result, all with the same axes."""

    quantity: Quantity
    panels: list[Panel]
    end: float
    top: float
    note: str
    bottom: float = 0.0

    def own_axis(self, number: int) -> tuple[float, float]:
        """The vertical axis that suits one panel alone."""
        panel = self.panels[number]
        bottom = MARGIN * panel.bottom()
        return bottom, self.quantity.top or MARGIN * panel.peak() or _above(bottom)


def _above(bottom: float) -> float:
    return 0.0 if bottom < 0 else 1.0


def points_each(results: Sequence[Result]) -> int:
    """How many points a curve may have in a report of `results`."""
    return max(200, min(POINTS, 15 * POINTS // max(len(results), 1)))


def sections(results: Sequence[Result]) -> list[Section]:
    """The charts of `results`; a quantity that none of them has recorded is left out."""
    points = points_each(results)
    names = overview.labels(results)
    made = []
    for quantity in quantities(results):
        panels = [
            panel(result, quantity, points, label, MAX_FLOWS)
            for result, label in zip(results, names, strict=True)
        ]
        if not any(one.curves for one in panels):
            continue
        if quantity.id == "queue":
            _draw_buffers(panels, results)
        notes = _notes(quantity, panels, _end(results))
        made.append(section(quantity, panels, results, " ".join(notes)))
    return made


def section(
    quantity: Quantity, panels: list[Panel], results: Sequence[Result], note: str
) -> Section:
    """The panels of a quantity with the axes that they share."""
    top, cut = shared_top(quantity, panels, results)
    made = Section(quantity, panels, _end(results), top, "")
    made.bottom = MARGIN * min(panel.bottom() for panel in panels)
    if made.top <= 0 or (made.bottom < 0 and not any(p.peak() for p in panels)):
        made.top = _above(made.bottom)
    made.note = f"{note} {cut}".strip()
    return _in_handy_unit(made)


def quantities(results: Sequence[Result]) -> list[Quantity]:
    """The known quantities, then what else was recorded, each under its own name."""
    names = list(dict.fromkeys(name for result in results for name in result.series_names))
    known = {quantity.series(names) for quantity in QUANTITIES}
    made = list(QUANTITIES)
    for name in names:
        if name in known:
            continue
        owner = next(r for r in results if name in r.series_names)
        of: Literal["flow", "link"]
        of = "flow" if "flow" in owner.series(name).column_names else "link"
        inner = name.startswith(("sender_", "router_"))
        unit = "" if inner else metric_titles.base_unit(name)
        title = name.partition("_")[2] if inner else metric_titles.words(name)
        scale = units.scale((), unit)  # `_in_handy_unit` finds the one that suits
        made.append(
            Quantity(name, title, scale.unit, (name,), 1 / scale.factor, "state", of, inner=inner)
        )
    return made


def _in_handy_unit(section: Section) -> Section:
    """The same with the SI prefix that suits its highest value."""
    old = section.quantity.unit
    known = [
        (base, step) for base, steps in units.SHOWN.items() for step in steps if step[1] == old
    ]
    if not known:
        return section
    base, (factor, _) = known[0]
    found = units.scale([section.top * factor], base)
    unit, by = found.unit, factor / found.factor
    if unit == old:
        return section
    for panel in section.panels:
        panel.curves = [curve.scaled(by) for curve in panel.curves]
    quantity = replace(section.quantity, unit=unit, scale=section.quantity.scale * by)
    # The note may name a value in the old unit.
    note = section.note
    if "Cut at" in note:
        peak = max(panel.peak(marks=True) for panel in section.panels)
        note = note[: note.index("Cut at")] + _cut_note(section.top * by, peak, unit)
    return replace(
        section, quantity=quantity, top=section.top * by, bottom=section.bottom * by, note=note
    )


def _end(results: Sequence[Result]) -> float:
    return max((result.meta["simulated_s"] for result in results), default=1.0) or 1.0


def _notes(quantity: Quantity, panels: list[Panel], end_s: float) -> list[str]:
    parts = []
    if quantity.kind != "state":
        parts.append(f"Means over {units.seconds(thin.mean_over_s(end_s))}.")
    curves = [curve for panel in panels for curve in panel.curves]
    if any(curve.inner is not None for curve in curves):
        parts.append("Line: median of a group's flows; bands: 25 to 75 % and 5 to 95 % of them.")
    if any(curve.thin for curve in curves):
        parts.append("Thin: the flows with the least and the most goodput.")
    if any(curve.low is not None and curve.inner is None for curve in curves):
        size = max(panel.x.size for panel in panels)
        parts.append(f"{size} points; band: smallest to largest value between two of them.")
    return parts


def shared_top(
    quantity: Quantity, panels: list[Panel], results: Sequence[Result]
) -> tuple[float, str]:
    """Where the axes end. A flow's start that towers over the rest is cut off and told of."""
    if quantity.top:
        return quantity.top, ""
    peak = max(panel.peak(marks=True) for panel in panels)
    if quantity.of == "link":
        return MARGIN * peak or 1.0, ""
    # Panels of several runs together come after the longest of their warm-ups.
    warmups = [result.meta["warmup_s"] for result in results]
    if len(panels) != len(warmups):
        warmups = [max(warmups)] * len(panels)
    settled = max(panel.peak(after) for panel, after in zip(panels, warmups, strict=True))
    if 0 < settled * TOWERING < peak:
        top = 1.5 * settled
        return top, _cut_note(top, peak, quantity.unit)
    return MARGIN * peak or 1.0, ""


def _cut_note(top: float, peak: float, unit: str) -> str:
    return (
        f"Cut at {units.number(top, 3)} {unit}".rstrip()
        + f" to show what follows; the start peaks at {units.number(peak)}."
    )


def panel(
    result: Result, quantity: Quantity, points: int, label: str = "", most: int = MAX_CURVES
) -> Panel:
    """One result's chart of `quantity`; up to `most` flows are drawn one by one."""
    name = quantity.series(result.series_names)
    if name is None:
        return Panel(label, note=f"Not recorded: the scenario's [probe] lacks {quantity.id}.")
    series = result.series(name)
    if len(series) == 0:
        return Panel(label, note="Nothing was recorded.")
    hold = quantity.kind == "state" and _on_change(result)
    ids, folded = thin.series(series, name, quantity, points, hold=hold)
    draw = _flow_panel if quantity.of == "flow" else _link_panel
    made = draw(Panel(label, x=folded.x), result, ids, folded, most)
    made.curves = [replace(curve, step=hold) for curve in made.curves]
    return made


def _on_change(result: Result) -> bool:
    probe = tomllib.loads(result.scenario_toml).get("probe", {})
    return bool(probe.get("every") == "change")


def _flow_panel(panel: Panel, result: Result, ids: list[int], folded: Folded, most: int) -> Panel:
    groups = _groups_of(result, ids)
    order = {name: number for number, name in enumerate(dict.fromkeys(groups_in(result)))}
    if len(ids) <= most:
        for i, flow in enumerate(ids):
            curve = _one(folded, f"{groups[flow]} {flow}", i, i)
            panel.curves.append(replace(curve, family=order.get(groups[flow], 0)))
        return panel
    names = list(dict.fromkeys(groups.values()))
    for color, name in enumerate(names[:MAX_GROUPS]):
        columns = [i for i, flow in enumerate(ids) if groups[flow] == name]
        label = f"{name} ({_number(len(columns), name, result)})" if len(columns) > 1 else name
        curve = _group_curve(label, color, folded, columns)
        if len(names) > BANDED_GROUPS:
            curve = replace(curve, low=None, high=None, inner=None)
        panel.curves.append(replace(curve, family=order.get(name, 0)))
    if len(names) > MAX_GROUPS:
        panel.note = f"The first {MAX_GROUPS} of {len(names)} groups."
    if len(names) <= BANDED_GROUPS // 2:
        panel.curves += _extremes(result, ids, groups, folded, order)
    return panel


def _number(curves: int, group: str, result: Result) -> str:
    """How many flows a group's curve is of. Those that arrive take turns in slots: of them it is as
    many as there were at once, and the table has all."""
    arriving = any(g["arriving"] for g in result.summary["groups"] if g["group"] == group)
    return f"up to {curves} at once" if arriving else f"{curves} flows"


def _extremes(
    result: Result, ids: list[int], groups: dict[int, str], folded: Folded, order: dict[str, int]
) -> list[Curve]:
    """The flows with the least and the most goodput of each group."""
    flows = result.flows
    goodput = dict(zip(flows.column("flow"), flows.column("goodput_bps"), strict=True))
    column = {flow: i for i, flow in enumerate(ids)}
    made: list[Curve] = []
    for name in dict.fromkeys(groups.values()):
        known = [f for f in ids if groups[f] == name and np.isfinite(goodput.get(f, np.nan))]
        if len(known) < 3:
            continue
        ranked = sorted(known, key=lambda flow: goodput[flow])
        for flow, word in ((ranked[0], "least"), (ranked[-1], "most")):
            values = folded.values[:, column[flow]]
            label = f"{name} {flow}, {word}"
            color = MAX_GROUPS + len(made)
            made.append(Curve(label, color, values, thin=True, family=order.get(name, 0)))
    return made


def _one(folded: Folded, label: str, color: int, column: int) -> Curve:
    low, high = (None if m is None else m[:, column] for m in (folded.low, folded.high))
    return Curve(label, color, folded.values[:, column], low, high)


def _group_curve(label: str, color: int, folded: Folded, columns: list[int]) -> Curve:
    part = folded.values[:, columns]
    rows = thin.quantiles(part, (0.05, 0.25, 0.5, 0.75, 0.95))
    if len(columns) == 1:
        return Curve(label, color, rows[2])
    return Curve(label, color, rows[2], rows[0], rows[4], inner=(rows[1], rows[3]))


def groups_in(result: Result) -> list[str]:
    """The names of the groups of flows, in order."""
    return [group["group"] for group in result.summary["groups"]]


def _groups_of(result: Result, ids: list[int]) -> dict[int, str]:
    flows = result.flows
    names = dict(zip(flows.column("flow"), flows.column("group"), strict=True))
    # A flow that arrived has the number of a slot, which groups that arrive share.
    arriving = [name for name in groups_in(result) if name not in names.values()]
    other = arriving[0] if len(arriving) == 1 else "arriving flows"
    return {flow: names.get(flow, other) for flow in ids}


def busy_links(result: Result, ids: Sequence[int]) -> list[int]:
    """The links: the one that the scenario names, then by their utilization."""
    named = result.summary["bottleneck"]
    first = {link["link"] for link in result.summary["links"] if link["name"] == named}
    used = {link["link"]: link["utilization_ratio"] for link in result.summary["links"]}
    return sorted(ids, key=lambda i: (i not in first, -used.get(i, 0.0), i))


def link_ranks(result: Result) -> dict[int, int]:
    """A number for each link that colours may come from: the busiest ones have the lowest, in
    the scenario's order."""
    order = busy_links(result, [link["link"] for link in result.summary["links"]])
    shown = sorted(order[:MAX_CURVES]) + order[MAX_CURVES:]
    return {link: number for number, link in enumerate(shown)}


def _link_panel(panel: Panel, result: Result, ids: list[int], folded: Folded, most: int) -> Panel:
    links = {link["link"]: link for link in result.summary["links"]}
    ranks = link_ranks(result)
    busiest = sorted(busy_links(result, ids)[: min(most, MAX_CURVES)])
    for color, link in enumerate(busiest):
        name = links[link]["name"] if link in links else f"link {link}"
        curve = _one(folded, name, color, ids.index(link))
        panel.curves.append(replace(curve, family=ranks.get(link, link)))
    if len(ids) > len(busiest):
        panel.note = f"{len(busiest)} links of {len(ids)}: {CHOSEN}."
    return panel


def _draw_buffers(panels: list[Panel], results: Sequence[Result]) -> None:
    """Draw the buffers where they are in sight; say how large they are where they are not."""
    peak = max(panel.peak() for panel in panels)
    for panel, result in zip(panels, results, strict=True):
        buffer = buffer_pkts(result)
        if buffer is None or not panel.curves:
            continue
        whose, limit = buffer
        if limit <= TOWERING * peak:
            line = np.full(panel.x.size, limit)
            panel.curves.append(Curve("buffer", -1, line, dashed=True))
            told = f"Buffer: of {whose}."
        else:
            told = f"Buffer of {whose}, {units.number(limit)} data packets: above the axis."
        panel.note = f"{panel.note} {told}".strip()


def buffer_pkts(result: Result) -> tuple[str, float] | None:
    """Of which link a buffer is to be drawn, and what it holds in data packets: of the one that the
    scenario names, or of all that are loaded if they have the same."""
    links = overview.told_links(result)
    packets = tomllib.loads(result.scenario_toml).get("packets", {})
    data_bytes = units.quantity(packets.get("data"))
    if not data_bytes or len({link["buffer_bytes"] for link in links}) != 1:
        return None
    whose = f"link {links[0]['name']}" if len(links) == 1 else "each link"
    return whose, links[0]["buffer_bytes"] / data_bytes
