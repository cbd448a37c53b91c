"""A figure's panels as PNG, SVG and PDF: equal results give equal files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

from clearpipe import style, units
from clearpipe.errors import ConfigError
from clearpipe.reproduce import recording_axes
from clearpipe.reproduce.data import Panel, Part
from clearpipe.reproduce.recording_axes import Sheet
from clearpipe.reproduce.runs import Cell, Censored, Data, position, told
from clearpipe.reproduce.tools import flow_goodputs, series, windowed
from clearpipe.statistics import FEW, t_interval
from clearpipe.units import split as split_quantity

FORMATS = ("png", "svg", "pdf")
COLORS = recording_axes.COLORS
MARKERS = "osD^vPX*<>"
WIDTH, HEIGHT, TOP = 5.6, 1.95, 0.55
"""Inches: text of 9 points stays legible at half of a page's width."""

MOST_ABOVE = 5
"""So many names of lines stand above a panel."""

TITLE_WIDTH = 66
"""Letters in a line of the title."""

CUT_OFF = {1: "^", -1: "v", 0: "d"}
"""By `Censored.side`."""
CUT_OFF_TOLD = """\
Open marks: the end of a run cut the value off, which is
higher (triangle up), lower (down) or unknown (diamond)."""


def draw(data: Data, folder: Path) -> list[Path]:
    """Draw the figure as `figure.png`, `.svg` and `.pdf` in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return _draw(data, [folder / f"figure.{kind}" for kind in FORMATS], 160)


def draw_small(data: Data, path: Path, dpi: int) -> None:
    """Draw the figure to one file."""
    _draw(data, [path], dpi)


def sheets(data: Data) -> list[dict[str, Any]]:
    """The panels for a page, those that have something in them."""
    made = []
    for panel in _panels(data):
        place = Sheet()
        _panel(place, data, panel)
        made.append(place.as_json())
    return [one for one in made if one is not None]


def _draw(data: Data, paths: list[Path], dpi: int) -> list[Path]:
    """The panels, one below the other unless `columns` says else."""
    style.check(paths[0])
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Drawing

    panels = _panels(data)
    columns = data.figure.columns
    rows = math.ceil(len(panels) / columns)
    look = {**style.STYLE, "svg.hashsalt": f"clearpipe-{data.figure.id}"}
    with rc_context(look):
        size = (WIDTH * max(1.0, 0.75 * columns), TOP + HEIGHT * rows)
        drawing = Drawing(figsize=size, layout="constrained")
        axes = drawing.subplots(rows, columns, squeeze=False).ravel().tolist()
        for place in axes[len(panels) :]:
            place.set_visible(False)
        for place, panel in zip(axes, panels, strict=False):
            _panel(place, data, panel)
        if columns == 1:
            _share_labels(axes)
        _tell_cut_off(axes[: len(panels)])
        drawing.suptitle(_title(data), x=0.01, ha="left", fontsize=9.5, fontweight="bold")
        _legend(drawing, axes[: len(panels)], columns)
        drawing.align_ylabels(axes)
        for path in paths:
            style.save(drawing, path, dpi)
    return paths


def _panels(data: Data) -> list[Panel]:
    """The panels; those of a real kernel where it was run."""
    empty = [part.name for part in data.parts if part.real and not data.of(part.name)]
    return [panel for panel in data.figure.panels if panel.part not in empty]


def _share_labels(axes: Sequence[Any]) -> None:
    """An axis that is the next panel's, too, is named there only."""
    for place, below in pairwise(axes):
        if place.get_xlabel() == below.get_xlabel():
            place.set_xlabel("")


def _tell_cut_off(axes: Sequence[Any]) -> None:
    """What open marks are, once: below the last panel."""
    if any(line.get_gid() == "cut-off" for place in axes for line in place.get_lines()):
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{CUT_OFF_TOLD}")


def _title(data: Data) -> str:
    figure = data.figure
    paper = "iXCP" if figure.paper == "ixcp" else figure.paper.upper()
    return fill(units.unbroken(f"{paper} {figure.figure}: {figure.title}"), TITLE_WIDTH)


def _legend(drawing: Any, axes: Sequence[Any], columns: int) -> None:
    """One for all panels if their lines are the same, else one in each."""
    found = [place.get_legend_handles_labels() for place in axes]
    named = [labels for _, labels in found if labels]
    if named and all(labels == named[0] for labels in named):
        handles, labels = next(pair for pair in found if pair[1])
        if len(labels) > 1:
            drawing.legend(
                handles, labels, loc="outside lower center", ncols=min(5, len(labels)), fontsize=8
            )
        return
    width = drawing.get_figwidth() / columns - 0.8
    for place, (_, labels) in zip(axes, found, strict=True):
        title = style.TITLE_LETTER * len(place.get_title(loc="left"))
        beside = title + sum(style.KEY + style.LETTER * len(label) for label in labels) < width
        if 1 < len(labels) <= MOST_ABOVE and beside:
            # Beside the title, where it hides nothing.
            place.legend(
                fontsize=7.5, ncols=len(labels), loc="lower right", bbox_to_anchor=(1, 1),
                borderaxespad=0, handlelength=1.4, columnspacing=1.2,
            )  # fmt: skip
        elif len(labels) > 1:
            room = style.legend(place, width)
            place.set_title(place.get_title(loc="left"), loc="left", fontsize=9, pad=room)


def _panel(place: Any, data: Data, panel: Panel) -> None:
    place.set_title(panel.title, loc="left", fontsize=9)
    place.set_ylabel(panel.label)
    if panel.draw:
        function = data.paper.function(panel.draw)
        if function is None:
            raise ConfigError(f"{data.figure.id}: the paper's module has no {panel.draw}")
        function(place, data)
    elif panel.series:
        _series(place, data, panel)
    elif panel.flows:
        _flows(place, data, panel)
    else:
        _lines(place, data, panel)
    place.margins(y=0.08)
    if panel.y_scale != "linear":  # it would put a drawing's own ticks away
        place.set_yscale(panel.y_scale)
    place.set_ylim(panel.y_min, panel.y_max)


def _part(data: Data, panel: Panel) -> Part:
    return next(part for part in data.parts if part.name in data.named(panel.part))


def _lines(place: Any, data: Data, panel: Panel) -> None:
    """The metric against the axis, a line for each scheme, means with 95 % intervals."""
    part = _part(data, panel)
    of = told(panel.metric, data.of(part.name))
    place.set_ylabel("\n".join(filter(None, (panel.label, of))))
    names = data.paper.members(panel.schemes) or list(part.schemes)
    for number, scheme in enumerate(names):
        points: dict[tuple[float, str], list[float]] = {}
        for cell in data.of(part.name, scheme):
            value = data.number(cell, panel.metric)
            if value is not None and math.isfinite(value):
                shown = Censored.if_any([value], panel.times * value)
                points.setdefault((cell.x, cell.label), []).append(shown)
        ordered = sorted(points.items())
        x = [at for (at, _), _ in ordered]
        if part.axis is None:
            x = [float(number)]
        plot_means(
            place,
            x[: len(ordered)],
            [values for _, values in ordered],
            color=COLORS[number % len(COLORS)],
            marker=MARKERS[number % len(MARKERS)],
            linestyle="-" if number < 2 else "--",
            linewidth=1.4 if number < 2 else 0.8,
            markersize=4 if number < 2 else 3,
            elinewidth=0.7,
            zorder=4 - 0.1 * number,
            label=None if part.axis is None else data.paper.schemes[scheme].label,
        )
    if part.axis is None:
        labels = [data.paper.schemes[scheme].label for scheme in names]
        place.set_xticks(range(len(names)), labels, fontsize=7, rotation=30, ha="right")
        return
    _x_axis(place, part)


def plot_means(
    place: Any, x: Sequence[float], values: Sequence[Sequence[float]], **style: Any
) -> None:
    """A line through the means of each point's values, every run a faint dot, with 95 % intervals
    of three runs or more; an open mark, and no interval, where the end of a run has cut one off."""
    intervals = [t_interval(of) for of in values]
    y = [Censored.if_any(of, one.mean) for of, one in zip(values, intervals, strict=True)]
    halves = [
        one.half if one.n >= FEW and not isinstance(mean, Censored) else 0.0
        for mean, one in zip(y, intervals, strict=True)
    ]
    known = [n for n, mean in enumerate(y) if not isinstance(mean, Censored)]
    place.errorbar(x, y, yerr=halves, capsize=2, markevery=known, **style)
    every = [(at, float(v)) for at, of in zip(x, values, strict=True) for v in of if len(of) > 1]
    if every:
        color = style["color"]
        place.plot(*zip(*every, strict=True), ".", color=color, alpha=0.35, gid="every-run")
    for at, mean in zip(x, y, strict=True):
        if isinstance(mean, Censored):
            (mark,) = place.plot(
                [at], [mean], CUT_OFF[mean.side], color=style["color"], markersize=5, gid="cut-off"
            )
            mark.set(markerfacecolor="white", zorder=5)


def _x_axis(place: Any, part: Part) -> None:
    axis = part.axis
    assert axis is not None
    place.set_xlabel(axis.label or axis.name)
    numbers = [split_quantity(value) for value in axis.values]
    if not all(number is not None for number in numbers):
        labels = [str(value) for value in axis.values]
        place.set_xticks([position(part, label) for label in labels], labels)
        return
    if axis.scale == "log":
        place.set_xscale("log")
    bases = {number[1] for number in numbers if number is not None}
    if (unit := next(iter(bases))) in ("s", "bps"):
        _tell_in(place, unit)


def _tell_in(place: Any, unit: str) -> None:
    """The numbers of the horizontal axis with their units, as the house writes them."""
    if isinstance(place, Sheet):
        place.x["unit"] = unit
        return
    from matplotlib.ticker import FuncFormatter

    place.xaxis.set_major_formatter(FuncFormatter(lambda value, _: units.tell(value, unit)))


def _series(place: Any, data: Data, panel: Panel) -> None:
    """A series of the first replication against time."""
    cell = _first(data, panel)
    place.set_xlabel("Time (s)")
    if cell is None:
        return
    lines = series(cell, panel.series)
    names = [name for name in lines if not panel.items or _is_of(name, panel.items)]
    for number, name in enumerate(names):
        t, values = lines[name]
        if panel.window:
            t, values = windowed(t, values, panel.window)
        label = name if len(names) <= 10 else None
        color = COLORS[number % len(COLORS)]
        place.plot(t, panel.times * values, color=color, linewidth=0.9, label=label)


def _is_of(name: str, items: Sequence[str]) -> bool:
    return name in items or name.rpartition(" ")[0] in items


def _flows(place: Any, data: Data, panel: Panel) -> None:
    """The goodput of each flow of a group against its number, all replications' mean."""
    part = _part(data, panel)
    for number, scheme in enumerate(data.paper.members(panel.schemes) or part.schemes):
        rows = [
            flow_goodputs(cell, panel.flows)
            for cell in data.of(part.name, scheme)
            if panel.at is None or cell.label == str(panel.at)
        ]
        if not rows:
            continue
        intervals = [t_interval(values) for values in zip(*rows, strict=True)]
        place.errorbar(
            range(1, len(intervals) + 1),
            [panel.times * one.mean for one in intervals],
            yerr=[panel.times * one.half if one.n >= FEW else 0 for one in intervals],
            color=COLORS[number % len(COLORS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=3,
            linewidth=0.8,
            capsize=2,
            label=data.paper.schemes[scheme].label,
        )
    place.set_xlabel("Flow")


def _first(data: Data, panel: Panel) -> Cell | None:
    schemes = data.paper.members(panel.schemes)
    for cell in data.of(panel.part):
        fits = (not schemes or cell.scheme in schemes) and cell.rep == 0
        if fits and (panel.at is None or cell.label == str(panel.at)):
            return cell
    return None
