"""The run report's charts as a static figure for papers and slides, with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe.errors import ConfigError
from clearpipe.report import charts
from clearpipe.style import COLORS, SMALL, STYLE, check, save, title

if TYPE_CHECKING:
    from clearpipe.result import Result


def time_series(
    result: Result,
    path: str | os.PathLike[str],
    series: Sequence[str] = ("goodput", "utilization", "queue"),
) -> Path:
    """Draw `series` of `result` against time, one panel below the other, to `path`.

    The series are `goodput`, `utilization`, `queue` and `cwnd`. The file depends on nothing but
    the result and matplotlib's version.
    """
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    target = Path(path)
    chosen = [_quantity(name) for name in series]
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 0.6 + 1.75 * len(chosen)), layout="constrained")
        axes = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
        for place, quantity in zip(axes, chosen, strict=True):
            _panel(place, result, quantity)
        figure.suptitle(title(result), x=0.01, ha="left", fontsize=9, fontweight="bold")
        figure.align_ylabels()
        axes[-1].set_xlabel("Time (s)")
        axes[-1].set_xlim(0, result.meta["simulated_s"])
        target.parent.mkdir(parents=True, exist_ok=True)
        save(figure, target, 200)
    return target


def _quantity(name: str) -> charts.Quantity:
    known = {quantity.id: quantity for quantity in charts.QUANTITIES}
    if name not in known:
        raise ConfigError(f"no figure of {name}; there are {', '.join(known)}")
    return known[name]


def _panel(axes: Any, result: Result, quantity: charts.Quantity) -> None:
    panel = charts.panel(result, quantity, charts.POINTS)
    axes.set_ylabel(f"{quantity.title}\n({quantity.unit})")
    if not panel.curves:
        axes.text(0.5, 0.5, panel.note, transform=axes.transAxes, ha="center", color="#777777")
        return
    for depth, curve in enumerate(panel.curves):
        _curve(axes, panel, curve, zorder=2.5 if curve.thin else 4 - depth / 100)
    top, cut = charts.shared_top(quantity, [panel], [result])
    axes.set_ylim(0, top)
    axes.text(0.995, 0.95, cut, transform=axes.transAxes, ha="right", va="top", **SMALL)
    if len(panel.curves) > 1:
        # Above the panel, where it hides nothing.
        axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=4, borderaxespad=0)


def _curve(axes: Any, panel: charts.Panel, curve: charts.Curve, zorder: float) -> None:
    color = COLORS[curve.color % len(COLORS)] if curve.color >= 0 else "#777777"
    width, dash = (0.6, "-") if curve.thin else (0.8, "--") if curve.dashed else (1.0, "-")
    style = {"color": color, "linewidth": width, "label": curve.label, "zorder": zorder}
    axes.plot(panel.x, curve.values, dash, **style)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(panel.x, curve.low, curve.high, color=color, alpha=0.15, linewidth=0)
