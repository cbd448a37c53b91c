"""How figures drawn with matplotlib look (`pip install 'clearpipe[figures]'`)."""

from __future__ import annotations

import importlib.util
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe import atomic_files, units
from clearpipe.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from clearpipe.result import Result

FORMATS = (".png", ".svg", ".pdf")

# The HTML report's colours (report/report.css), far apart for all kinds of colour vision; a test
# holds them equal.
COLORS = (
    "#004fd2", "#d07b09", "#00a766", "#9a599a", "#b9441e", "#6a8bf9", "#461e79", "#8a8185",
)  # fmt: skip
DARK = (
    "#3684f5", "#e47118", "#3fee83", "#f5a5bc", "#f5e23f", "#b2bfff", "#9a62ab", "#688164",
)  # fmt: skip
INK, SOFT, GRID = "#1c2127", "#5b6570", "#e8ebee"

STYLE: Any = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "clearpipe",
    # Names are shown as they are: a dollar sign begins no formula, nor in ticks (`save`).
    "text.parse_math": False,
    "pdf.fonttype": 42,
}

SMALL: Any = {"fontsize": 7, "color": SOFT}

FRAMED: Any = {"frameon": True, "framealpha": 1, "edgecolor": GRID, "fontsize": 8, "ncols": 2}
"""A legend within a panel: no curve is seen through it."""

LETTER, KEY = 0.056, 0.35
"""Inches: a letter in a legend, and a line's sample with the room around it."""
TITLE_LETTER = 0.066
"""Inches: a letter in a panel's title."""

PAD = 6.0
"""Points between a panel and its title."""


def check(path: str | os.PathLike[str]) -> None:
    """Raise ConfigError for a format that cannot be drawn, UnsupportedError without matplotlib."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ConfigError(f"{os.fspath(path)}: a figure's name ends in {', '.join(FORMATS)}")
    if lack := lacking():
        raise UnsupportedError(lack)


def lacking() -> str:
    """Why no figure can be drawn; empty if one can. Tables and pages do without."""
    if importlib.util.find_spec("matplotlib") is None:
        return "figures need matplotlib: pip install 'clearpipe[figures]'"
    return ""


def title(*results: Result) -> str:
    """What was run: name, seed and replications."""
    meta, reps = results[0].meta, [result.meta["rep"] for result in results]
    told = f"replication {reps[0]}" if len(reps) == 1 else f"{len(reps)} replications"
    return f"{meta['name']}, seed {meta['seed']}, {told}"


def legend(axes: Axes, width: float) -> float:
    """Name the curves above a panel so many inches wide, where it hides none.

    Gives the points above the panel from which on a title has room.
    """
    _, labels = axes.get_legend_handles_labels()
    if not labels:
        return PAD
    each = KEY + LETTER * max(*map(len, labels), 3)
    columns = max(1, min(len(labels), int(width / each)))
    place: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    # Also where the style is not in force: a notebook's figures are its own.
    look: Any = {"frameon": False, "fontsize": 8, "handlelength": 1.4, "columnspacing": 1.2}
    axes.legend(ncols=columns, **place, **look)
    return PAD + 12.5 * -(-len(labels) // columns)


def save(figure: Figure, path: Path, dpi: int) -> None:
    """Write a figure, whole or not at all; equal results give equal files, without a date.

    Logarithmic ticks are numbers as the house writes them.
    """
    from matplotlib.ticker import FuncFormatter, LogFormatter, LogLocator, NullFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            # One labelled tick is no scale.
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
            if axis.get_scale() == "log" and len(ticks) < 2:
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            # Formulas are what matplotlib's own are.
            if isinstance(axis.get_major_formatter(), LogFormatter):
                axis.set_major_formatter(FuncFormatter(lambda value, _: units.number(value)))
            if isinstance(axis.get_minor_formatter(), LogFormatter):
                axis.set_minor_formatter(NullFormatter())
    kind = path.suffix.lower().removeprefix(".")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=dpi, metadata=dates.get(kind, {}))
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.write_bytes(path, drawn.getvalue())
