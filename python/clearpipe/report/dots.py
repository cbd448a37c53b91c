"""Dot plots: one row per group or link, all results on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clearpipe import units
from clearpipe.report import svg

MOST_ROWS = 32
WIDTH = 400.0
ROW = 22.0


@dataclass(frozen=True)
class Row:
    """What a row shows; all values in the plot's unit."""

    label: str
    color: str
    told: str
    """What is told when the row is pointed at."""
    value: str
    """What stands at its end."""
    dot: float | None = None
    ring: float | None = None
    small: Sequence[float] = ()
    box: tuple[float, float, float, float, float] | None = None
    """Five quantiles, the smallest first."""
    tick: float | None = None
    interval: tuple[float, float] | None = None

    def values(self) -> list[float]:
        """All that is drawn."""
        single = [v for v in (self.dot, self.ring, self.tick) if v is not None]
        return [*single, *self.small, *(self.box or ()), *(self.interval or ())]


@dataclass(frozen=True)
class Plot:
    """A dot plot; `table` says the same in words and numbers."""

    title: str
    unit: str
    rows: Sequence[Row]
    headings: Sequence[str]
    table: Sequence[Sequence[str]]
    note: str = ""
    low: float | None = 0.0
    high: float | None = None
    log: bool = False
    """A logarithmic axis; 0 has a place of its own at its start."""

    def left_out(self) -> int:
        """Rows that are in the table only."""
        return max(len(self.rows) - MOST_ROWS, 0)

    def drawing(self) -> str:
        """The plot as SVG."""
        rows = self.rows[:MOST_ROWS]
        axis = _Axis(self, rows)
        height = ROW * len(rows) + 34
        parts = [axis.grid(ROW * len(rows) + 8)]
        for number, row in enumerate(rows):
            parts.append(svg.tip(row.told, _row(row, 4 + ROW * (number + 0.5), axis)))
        told = "; ".join(f"{row.label} {row.value}" for row in rows)
        label = f"{self.title} ({self.unit}): {told}" if self.unit else f"{self.title}: {told}"
        return svg.drawing((WIDTH, height), label, "".join(parts), cls="dots")


class _Axis:
    """From values to places."""

    low: float
    high: float

    def __init__(self, plot: Plot, rows: Sequence[Row]) -> None:
        self.log, self.unit = plot.log, plot.unit
        self.left = min(max((svg.width(r.label, 11.5) for r in rows), default=0) + 12, 165.0)
        self.right = WIDTH - 12 - max((svg.width(r.value, 11) for r in rows), default=0)
        self.fits = round((self.left - 12) / (11.5 * 0.58))
        found = [value for row in rows for value in row.values() if math.isfinite(value)]
        if self.log:
            some = [value for value in found if value > 0]
            self.zero = len(some) < len(found)
            self.low = math.floor(math.log10(min(some))) if some else 0
            self.high = max(math.ceil(math.log10(max(some))) if some else 1, self.low + 1)
            return
        low = min(found, default=0.0) if plot.low is None else plot.low
        high = max(found, default=1.0) * 1.04 if plot.high is None else max(plot.high, *found)
        self.low, self.high = low, high if high > low else low + 1

    def place(self, value: float) -> float:
        """Where `value` is drawn."""
        if not self.log:
            share = (value - self.low) / (self.high - self.low)
            return self.left + min(max(share, 0), 1) * (self.right - self.left)
        start = self.left + (26 if self.zero else 4)
        if value <= 0:
            return self.left + 4
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return start + share * (self.right - start)

    def told(self, value: float) -> str:
        """A tick's number. Over decades one prefix does not suit all."""
        return (
            units.tell(value, self.unit) if self.log and self.unit == "s" else units.number(value)
        )

    def grid(self, bottom: float) -> str:
        """Thin lines at round values, with their numbers below."""
        if self.log:
            step = max(1, math.ceil((self.high - self.low) / 5))
            at = [10.0**i for i in range(int(self.low), int(self.high) + 1, step)]
            at = [0.0, *at] if self.zero else at
        else:
            at = svg.ticks(self.low, self.high)
        parts = []
        free = -math.inf
        for value in at:
            x = self.place(value)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom:.1f}"/>')
            text = self.told(value)
            reach = svg.width(text, 11) / 2
            if x - reach > free:
                parts.append(svg.text(x, bottom + 14, text, cls="soft mid"))
                free = x + reach
        return "".join(parts)


def _row(row: Row, y: float, axis: _Axis) -> str:
    mid = f'y1="{y:.1f}" y2="{y:.1f}"'
    parts = [
        f'<rect class="catch" x="0" y="{y - ROW / 2:.1f}" width="{WIDTH:.0f}" height="{ROW}"/>',
        f'<line class="rule" x1="{axis.left:.1f}" x2="{axis.right:.1f}" {mid}/>',
        svg.text(0, y + 4, svg.clip(row.label, max(axis.fits, 6)), cls="label"),
        svg.text(WIDTH, y + 4, row.value, cls="value end"),
    ]
    paint = f'style="--mark:{row.color}"'
    if row.box:
        x = [axis.place(value) for value in row.box]
        parts.append(f'<line class="whisker" x1="{x[0]:.1f}" x2="{x[4]:.1f}" {mid} {paint}/>')
        parts.append(
            f'<rect class="box" x="{x[1]:.1f}" y="{y - 5:.1f}" width="{max(x[3] - x[1], 1):.1f}" '
            f'height="10" {paint}/>'
        )
        parts.append(
            f'<line class="median" x1="{x[2]:.1f}" x2="{x[2]:.1f}" y1="{y - 6:.1f}" '
            f'y2="{y + 6:.1f}" {paint}/>'
        )
    for value in row.small:
        place = axis.place(value)
        parts.append(f'<circle class="small" cx="{place:.1f}" cy="{y:.1f}" r="3" {paint}/>')
    if row.interval:
        ends = [axis.place(value) for value in row.interval]
        across = f'x1="{ends[0]:.1f}" x2="{ends[1]:.1f}"'
        parts.append(f'<line class="interval" {across} {mid} {paint}/>')
        for end in ends:
            parts.append(
                f'<line class="interval" x1="{end:.1f}" x2="{end:.1f}" y1="{y - 4:.1f}" '
                f'y2="{y + 4:.1f}" {paint}/>'
            )
    if row.tick is not None and row.dot is not None:
        x0, x1 = axis.place(row.dot), axis.place(row.tick)
        # A stroke below the dot stands alone: a line would look like the end of a range.
        if x1 >= x0:
            parts.append(f'<line class="whisker" x1="{x0:.1f}" x2="{x1:.1f}" {mid} {paint}/>')
        parts.append(
            f'<line class="median" x1="{x1:.1f}" x2="{x1:.1f}" y1="{y - 5:.1f}" '
            f'y2="{y + 5:.1f}" {paint}/>'
        )
    if row.ring is not None:
        place = axis.place(row.ring)
        parts.append(f'<circle class="ring" cx="{place:.1f}" cy="{y:.1f}" r="5" {paint}/>')
    if row.dot is not None:
        place = axis.place(row.dot)
        parts.append(f'<circle class="dot" cx="{place:.1f}" cy="{y:.1f}" r="4.5" {paint}/>')
    return "".join(parts)
