"""Long series made short: about so many points, with what lies between them kept as extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Kind = Literal["rate", "state", "count"]

MEAN_OVER_S = 0.5
"""Rates are drawn as means over this time, the one by which convergence is judged, or over a
fiftieth of a shorter run."""

MOST_CELLS = 20_000_000
"""Points times flows of a chart: with more flows there are fewer points."""


class Subject(Protocol):
    """What `series` has to know of a quantity."""

    @property
    def scale(self) -> float: ...
    @property
    def kind(self) -> Kind: ...


@dataclass(frozen=True)
class Folded:
    """A row per instant, a column per flow or link; `low` and `high` are a row's extremes."""

    x: Array
    values: Array
    low: Array | None = None
    high: Array | None = None


def mean_over_s(end_s: float) -> float:
    """Over how long rates are averaged in a run of `end_s`."""
    return min(MEAN_OVER_S, end_s / 50)


def series(
    table: Any, name: str, quantity: Subject, points: int, *, hold: bool = False
) -> tuple[list[int], Folded]:
    """The flows or links of a series in long form, and its values in about `points` rows.

    `hold`: a value was recorded whenever it changed, so it lasts until the next one.
    """
    key = next(c for c in table.column_names if c in ("flow", "link", "id"))
    value = name if name in table.column_names else "value"
    times = np.asarray(table.column("t_s"), dtype=np.float64)
    ids, who = np.unique(np.asarray(table.column(key)), return_inverse=True)
    values = np.asarray(table.column(value), dtype=np.float64) * quantity.scale
    if quantity.kind == "count":
        values = per_second(times, values)
    points = int(min(points, max(60, MOST_CELLS // max(ids.size, 1))))
    return [int(i) for i in ids], fold(times, who, values, quantity.kind, points, hold=hold)


def per_second(times: Array, values: Array) -> Array:
    """Counts since the last instant over the time since then; the first is since 0."""
    instants, at = np.unique(times, return_inverse=True)
    gaps = np.diff(instants, prepend=0.0)
    return np.asarray(values / np.where(gaps > 0, gaps, np.nan)[at], dtype=np.float64)


def fold(
    times: Array,
    who: npt.NDArray[np.intp],
    values: Array,
    kind: Kind,
    points: int,
    *,
    hold: bool = False,
) -> Folded:
    """Values in long form as a matrix of about `points` rows: means and extremes of equal times."""
    end = float(times[-1])
    instants, at = np.unique(times, return_inverse=True)
    width = end / points if kind == "state" else mean_over_s(end)
    if width <= 0 or instants.size * width <= end:
        rows, x, extremes = at, instants, False
    else:
        # A sample says what happened up to its instant: it belongs to the bucket that it ends.
        bucket = np.maximum(np.ceil(times / width - 1e-9).astype(np.int64) - 1, 0)
        kept, rows = np.unique(bucket, return_inverse=True)
        x, extremes = (kept + 0.5) * width, kind == "state"
    hold = hold and kind == "state"
    made = _matrix(x, rows, who, values, extremes=extremes, last=hold)
    if hold:
        made = _held(made)
    return _again(made, points)


def _matrix(
    x: Array,
    rows: npt.NDArray[np.intp],
    who: npt.NDArray[np.intp],
    values: Array,
    *,
    extremes: bool,
    last: bool,
) -> Folded:
    shape = (x.size, int(who.max()) + 1)
    known = np.isfinite(values)
    cells, values = (rows * shape[1] + who)[known], values[known]
    order = np.argsort(cells, kind="stable")
    cells, values = cells[order], values[order]
    starts = np.flatnonzero(np.r_[True, np.diff(cells) > 0]) if cells.size else np.empty(0, np.intp)
    ends = np.r_[starts[1:], cells.size]

    def spread(found: Array) -> Array:
        matrix = np.full(shape[0] * shape[1], np.nan)
        matrix[cells[starts]] = found
        return matrix.reshape(shape)

    if not cells.size:
        return Folded(x, np.full(shape, np.nan))
    middle = values[ends - 1] if last else np.add.reduceat(values, starts) / (ends - starts)
    if not extremes:
        return Folded(x, spread(middle))
    low, high = (spread(edge.reduceat(values, starts)) for edge in (np.minimum, np.maximum))
    return Folded(x, spread(middle), low, high)


def _held(folded: Folded) -> Folded:
    """Values that last until the next one."""

    def fill(matrix: Array | None) -> Array | None:
        if matrix is None:
            return None
        gap = np.isnan(matrix)
        last = np.maximum.accumulate(np.where(gap, 0, np.arange(matrix.shape[0])[:, None]), axis=0)
        held = np.take_along_axis(folded.values, last, axis=0)
        return np.where(gap, held, matrix)

    values = fill(folded.values)
    assert values is not None
    return Folded(folded.x, values, fill(folded.low), fill(folded.high))


def _again(folded: Folded, points: int) -> Folded:
    """At most `points` rows, by joining neighbours."""
    size = folded.x.size
    if size <= points + 1:
        return folded
    starts = np.arange(0, size, -(-size // points))
    known = np.isfinite(folded.values)
    number = np.add.reduceat(known, starts, axis=0, dtype=np.int64)
    total = np.add.reduceat(np.where(known, folded.values, 0.0), starts, axis=0)
    values = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    low = np.fmin.reduceat(folded.values if folded.low is None else folded.low, starts, axis=0)
    high = np.fmax.reduceat(folded.values if folded.high is None else folded.high, starts, axis=0)
    x = np.add.reduceat(folded.x, starts) / np.diff(starts, append=size)
    return Folded(x, values, low, high)


def quantiles(matrix: Array, wanted: Sequence[float]) -> list[Array]:
    """Quantiles of each row's known values, by linear interpolation; NaN where there are none."""
    ranked = np.sort(matrix, axis=1)  # NaN goes last
    number = np.isfinite(matrix).sum(axis=1)
    rows = np.arange(matrix.shape[0])
    made = []
    for share in wanted:
        place = share * np.maximum(number - 1, 0)
        below = np.floor(place).astype(np.intp)
        above = np.minimum(below + 1, np.maximum(number - 1, 0))
        low, high = ranked[rows, below], ranked[rows, above]
        made.append(np.asarray(low + (high - low) * (place - below), dtype=np.float64))
    return made
