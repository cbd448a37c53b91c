"""A result's series, thinned out for drawing. The tables' numbers never come from here."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from clearpipe import table

if TYPE_CHECKING:
    from clearpipe.result import Result

Array = npt.NDArray[np.float64]

POINTS = 480
"""Most points of a curve; fewer when there are many results."""

MEAN_OVER_S = 0.5
"""Rates are drawn as means over this time, the one by which convergence is judged, or over a
fiftieth of a shorter run."""

MARGIN = 1.05
"""Room above the highest value."""

TOWERING = 2.0
"""What is so many times as high as the rest would press it flat."""

MAX_CURVES = 6
"""Up to so many flows or links are drawn one by one."""


@dataclass(frozen=True)
class Quantity:
    """A chart's subject."""

    id: str
    title: str
    unit: str
    stems: tuple[str, ...]
    scale: float
    kind: Literal["rate", "state"]
    of: Literal["flow", "link"]
    top: float | None = None


QUANTITIES = (
    Quantity("goodput", "Goodput per flow", "Mb/s", ("goodput",), 1e-6, "rate", "flow"),
    Quantity("queue", "Queue", "pkts", ("queue_pkts",), 1.0, "state", "link"),
    Quantity("utilization", "Utilization", "%", ("utilization",), 100.0, "rate", "link", 105.0),
    Quantity("cwnd", "Congestion window", "pkts", ("cwnd",), 1.0, "state", "flow"),
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

    def as_json(self) -> dict[str, Any]:
        """The shape that report.js reads."""
        out: dict[str, Any] = {"label": self.label, "color": self.color, "y": _numbers(self.values)}
        if self.low is not None and self.high is not None:
            out |= {"low": _numbers(self.low), "high": _numbers(self.high)}
        return out | {key: True for key in ("thin", "dashed") if getattr(self, key)}


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
        tops = [top[np.isfinite(top)] for top in tops]
        return max((float(top.max()) for top in tops if top.size), default=0.0)


@dataclass
class Section:
    """One quantity: a panel per result, all with the same axes."""

    quantity: Quantity
    panels: list[Panel]
    end: float
    top: float
    note: str

    def as_json(self) -> dict[str, Any]:
        """The shape that report.js reads."""
        fixed = self.quantity.top
        tops = [fixed or MARGIN * panel.peak() or 1.0 for panel in self.panels]
        return {
            "id": self.quantity.id,
            "unit": self.quantity.unit,
            "end": self.end,
            "top": self.top,
            "panels": [
                {
                    "x": _numbers(panel.x, 6),
                    "top": top,
                    "curves": [curve.as_json() for curve in panel.curves],
                }
                for panel, top in zip(self.panels, tops, strict=True)
            ],
        }


def sections(results: Sequence[Result]) -> list[Section]:
    """The charts of `results`; a quantity that none of them has recorded is left out."""
    points = max(200, min(POINTS, 15 * POINTS // max(len(results), 1)))
    names = table.labels(results)
    made = []
    for quantity in QUANTITIES:
        panels = [
            panel(result, quantity, points, label)
            for result, label in zip(results, names, strict=True)
        ]
        if any(one.curves for one in panels):
            if quantity.id == "queue":
                _draw_buffers(panels, results)
            top, cut = shared_top(quantity, panels, results)
            notes = [*_notes(quantity, panels, _end(results)), *([cut] if cut else [])]
            made.append(Section(quantity, panels, _end(results), top, " ".join(notes)))
    return made


BAND_NOTES = {
    "flow": "Thick line: mean of a group's flows; band: smallest to largest; thin: single flows.",
    "link": "Line: mean over a few samples; band: smallest to largest of them.",
}


def _end(results: Sequence[Result]) -> float:
    return max((result.meta["simulated_s"] for result in results), default=1.0) or 1.0


def _mean_over_s(end_s: float) -> float:
    return min(MEAN_OVER_S, end_s / 50)


def _notes(quantity: Quantity, panels: list[Panel], end_s: float) -> list[str]:
    parts = [f"Means over {_mean_over_s(end_s):.2g} s."] if quantity.kind == "rate" else []
    if any(curve.low is not None for panel in panels for curve in panel.curves):
        parts.append(BAND_NOTES[quantity.of])
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
    pairs = zip(panels, results, strict=True)
    settled = max(panel.peak(result.meta["warmup_s"]) for panel, result in pairs)
    if 0 < settled * TOWERING < peak:
        top = 1.5 * settled
        told = f"Cut at {top:.3g} {quantity.unit} to show what follows; the start peaks at"
        return top, f"{told} {peak:.3g}."
    return MARGIN * peak or 1.0, ""


def panel(result: Result, quantity: Quantity, points: int, label: str = "") -> Panel:
    """One result's chart of `quantity`."""
    name = next((n for n in result.series_names if n.startswith(quantity.stems)), None)
    if name is None:
        return Panel(label, note=f"Not recorded: the scenario's [probe] lacks {quantity.id}.")
    series = pivot(result.series(name), name)
    if series is None:
        return Panel(label, note="Nothing was recorded.")
    times, ids, values = series
    folded = fold(times, values * quantity.scale, quantity.kind, points)
    draw = _flow_panel if quantity.of == "flow" else _link_panel
    return draw(Panel(label, x=folded.x), result, ids, folded)


def pivot(series: Any, name: str) -> tuple[Array, list[int], Array] | None:
    """Long form to a matrix: instants, ids, and one row per instant with a column per id."""
    key = next((c for c in series.column_names if c in ("flow", "link", "id")), None)
    value = name if name in series.column_names else "value"
    if key is None or len(series) == 0:
        return None
    t, at = np.unique(np.asarray(series.column("t_s"), dtype=np.float64), return_inverse=True)
    ids, who = np.unique(np.asarray(series.column(key)), return_inverse=True)
    matrix = np.full((t.size, ids.size), np.nan)
    matrix[at, who] = np.asarray(series.column(value), dtype=np.float64)
    return t, [int(i) for i in ids], matrix


@dataclass(frozen=True)
class Folded:
    """A matrix in time buckets; `low` and `high` are a state's extremes within a bucket."""

    x: Array
    values: Array
    low: Array | None
    high: Array | None

    def curve(self, label: str, color: int, column: int) -> Curve:
        """One column with its extremes."""
        low, high = (None if m is None else m[:, column] for m in (self.low, self.high))
        return Curve(label, color, self.values[:, column], low, high)


def fold(times: Array, values: Array, kind: Literal["rate", "state"], points: int) -> Folded:
    """Thin out `values` to about `points` rows: the means and extremes of equal times."""
    width = float(times[-1]) / points
    if kind == "rate":
        width = max(_mean_over_s(float(times[-1])), width)
    if times.size * width <= times[-1]:
        return Folded(times, values, None, None)
    # A sample says what happened up to its instant: it belongs to the bucket that it ends.
    bucket = np.maximum(np.ceil(times / width - 1e-9).astype(np.int64) - 1, 0)
    starts = np.flatnonzero(np.r_[True, np.diff(bucket) > 0])
    means = _bucket_means(values, starts)
    x = (bucket[starts] + 0.5) * width
    if kind == "rate":
        return Folded(x, means, None, None)
    low, high = (extreme.reduceat(values, starts, axis=0) for extreme in (np.fmin, np.fmax))
    return Folded(x, means, low, high)


def _bucket_means(values: Array, starts: npt.NDArray[np.intp]) -> Array:
    known = np.isfinite(values)
    total = np.add.reduceat(np.where(known, values, 0.0), starts, axis=0)
    number = np.add.reduceat(known, starts, axis=0, dtype=np.int64)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _flow_panel(panel: Panel, result: Result, ids: list[int], folded: Folded) -> Panel:
    groups = _groups_of(result, ids)
    if len(ids) <= MAX_CURVES:
        panel.curves = [folded.curve(f"{groups[flow]} {flow}", i, i) for i, flow in enumerate(ids)]
        return panel
    names = list(dict.fromkeys(groups.values()))
    for color, name in enumerate(names[:MAX_CURVES]):
        columns = [i for i, flow in enumerate(ids) if groups[flow] == name]
        panel.curves.append(_group_curve(f"{name} ({len(columns)} flows)", color, folded, columns))
    first = [i for i, flow in enumerate(ids) if groups[flow] == names[0]]
    for color, column in enumerate(dict.fromkeys((first[0], first[-1])), start=len(panel.curves)):
        label = f"{names[0]} {ids[column]}"
        panel.curves.append(Curve(label, color, folded.values[:, column], thin=True))
    return panel


def _group_curve(label: str, color: int, folded: Folded, columns: list[int]) -> Curve:
    part = folded.values[:, columns]
    number = np.isfinite(part).sum(axis=1)
    mean = np.nansum(part, axis=1) / np.maximum(number, 1)
    low, high = (
        extreme.reduce((part if matrix is None else matrix[:, columns]), axis=1)
        for extreme, matrix in ((np.fmin, folded.low), (np.fmax, folded.high))
    )
    return Curve(label, color, np.where(number > 0, mean, np.nan), low, high)


def _groups_of(result: Result, ids: list[int]) -> dict[int, str]:
    flows = result.flows
    names = dict(zip(flows.column("flow"), flows.column("group"), strict=True))
    return {flow: names.get(flow, "flow") for flow in ids}


def _link_panel(panel: Panel, result: Result, ids: list[int], folded: Folded) -> Panel:
    links = {link["link"]: link for link in result.summary["links"]}
    used = {i: links[i]["utilization_ratio"] if i in links else 0.0 for i in ids}
    busiest = sorted(sorted(ids, key=lambda i: -used[i])[:MAX_CURVES])
    for color, link in enumerate(busiest):
        name = links[link]["name"] if link in links else f"link {link}"
        panel.curves.append(folded.curve(name, color, ids.index(link)))
    if len(ids) > len(busiest):
        panel.note = f"The {len(busiest)} links with the highest utilization of {len(ids)}."
    return panel


def _draw_buffers(panels: list[Panel], results: Sequence[Result]) -> None:
    """Draw the buffers where they are in sight; say how large they are where they are not."""
    peak = max(panel.peak() for panel in panels)
    for panel, result in zip(panels, results, strict=True):
        limit = buffer_pkts(result)
        if limit is None or not panel.curves:
            continue
        if limit <= TOWERING * peak:
            line = np.full(panel.x.size, limit)
            panel.curves.append(Curve("buffer", -1, line, dashed=True))
        else:
            panel.note = f"{panel.note} Buffer {limit:.4g} data packets: above the axis.".strip()


def buffer_pkts(result: Result) -> float | None:
    """The busiest link's buffer in data packets."""
    summary = result.summary
    link = next((x for x in summary["links"] if x["name"] == summary["bottleneck"]), None)
    packets = tomllib.loads(result.scenario_toml).get("packets", {})
    data_bytes = table.quantity(packets.get("data"))
    return link["buffer_bytes"] / data_bytes if link and data_bytes else None


def _numbers(values: Array, digits: int = 5) -> list[float | int | None]:
    return [_number(value, digits) for value in values.tolist()]


def _number(value: float, digits: int) -> float | int | None:
    if not np.isfinite(value):
        return None
    rounded = json.loads(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) else float(rounded)
