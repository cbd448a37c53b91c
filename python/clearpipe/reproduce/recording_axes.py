"""Axes that keep what is drawn into them, for a page that draws it again: matplotlib is not needed.

It has what figures here use of matplotlib's axes. What only looks (margins, widths, sizes) is left
to the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clearpipe import style

COLORS = (*style.COLORS, "#0f8b8d", "#7d6b00")

SHAPES = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "d": "diamond",
    "^": "up",
    "v": "down",
    "P": "plus",
    "+": "plus",
    "X": "cross",
    "x": "cross",
    "*": "diamond",
    "<": "up",
    ">": "down",
    "_": "bar",
}

MOST_POINTS = 600
"""A curve of more points is drawn by the ends and the extremes of so many parts."""


class Sheet:
    """What stands in for axes."""

    def __init__(self) -> None:
        self.curves: list[dict[str, Any]] = []
        self.title = ""
        self.x: dict[str, Any] = {"title": "", "unit": ""}
        self.y: dict[str, Any] = {"title": "", "unit": ""}
        self.least = 0.0
        """Where a scale that is linear around 0 begins to be logarithmic; 0 if there is none."""

    def as_json(self) -> dict[str, Any] | None:
        """The figure as `panels.js` draws it; None if nothing was drawn."""
        if not any(curve["x"] for curve in self.curves):
            return None
        curves = [self._spread_out(curve) for curve in self.curves]
        return {"title": self.title, "x": self.x, "y": self.y, "curves": curves, "at": []}

    def _spread_out(self, curve: dict[str, Any]) -> dict[str, Any]:
        """A line over the whole width begins and ends with the others; zeros have a place."""
        every = [x for other in self.curves for x in other["x"] if not other.get("across")]
        made = dict(curve)
        if made.pop("across", False) and every:
            made["x"] = [min(every), max(every)]
        if self.least:
            made["y"] = [None if y is None else max(y, self.least) for y in made["y"]]
        return made

    def plot(self, x: Any, y: Any, form: str = "", **look: Any) -> list[_Mark]:
        """A line, marks, or both."""
        marker = look.get("marker") or form.replace("-", "")[:1]
        lined = "-" in form or (not marker and not form)
        if look.get("marker"):
            lined = True
        if look.get("linestyle", look.get("ls")) in ("", "none", "None"):
            lined = False
        dashed = look.get("linestyle") == "--" or form == "--"
        xs, ys = _numbers(x), _numbers(y)
        gid = look.get("gid")
        if gid == "every-run":
            self._every_run(xs, ys)
        elif gid == "cut-off":
            shape = SHAPES.get(marker, "diamond")
            curve = self._curve(look, xs, ys, line=False, marks=True)
            self.curves.append(curve | {"label": "", "open": [shape] * len(xs)})
        else:
            if not marker and len(xs) > 4 * MOST_POINTS:
                xs, ys = _thinned(xs, ys)
            curve = self._curve(look, xs, ys, line=lined, marks=bool(marker) and marker != ".")
            tiny = {"tiny": True} if marker == "." else {}
            shape_of = {"shape": SHAPES[marker]} if marker in SHAPES else {}
            dash = {"dashed": True} if dashed and not marker else {}
            self.curves.append(curve | tiny | shape_of | dash)
        return [_Mark()]

    def errorbar(self, x: Any, y: Any, yerr: Any = None, **look: Any) -> None:
        """A line of marks with bars; a bar of nothing is none."""
        self.plot(x, y, "", **{"marker": "o", **look})
        curve = self.curves[-1]
        halves = [0.0] * len(curve["x"]) if yerr is None else _numbers(yerr)
        pairs = list(zip(curve["y"], halves, strict=True))
        curve["low"] = [None if not half or v is None else v - half for v, half in pairs]
        curve["high"] = [None if not half or v is None else v + half for v, half in pairs]
        if "markevery" in look:
            shown = set(look["markevery"])
            # The others have marks of their own.
            curve["hidden"] = [number not in shown for number in range(len(pairs))]

    def _every_run(self, xs: Sequence[float | None], ys: Sequence[float | None]) -> None:
        """The single runs behind the means of the last line."""
        curve = self.curves[-1]
        curve["dots"] = [
            [y for at, y in zip(xs, ys, strict=True) if at == x and y is not None]
            for x in curve["x"]
        ]

    def _curve(
        self,
        look: dict[str, Any],
        x: Sequence[float | None],
        y: Sequence[float | None],
        *,
        line: bool,
        marks: bool,
    ) -> dict[str, Any]:
        thin = float(look.get("linewidth") or 1.0) < 0.8 and not marks
        label = look.get("label")
        made = {
            "label": "" if label is None or str(label).startswith("_") else str(label),
            "c": self._color(look.get("color")),
            "x": list(x),
            "y": list(y),
            "line": line,
            "marks": marks,
        }
        return made | ({"thin": True} if thin else {})

    def _color(self, color: object) -> tuple[int, float]:
        """A hue and a shade of the page's palette; greys are the page's own."""
        if color is None:
            return len(self.curves) % 8, 0.0
        if color in COLORS:
            number = COLORS.index(str(color))
            return number % 8, (0.0, -0.55)[number // 8]
        return -1, 0.0

    def axhline(self, y: float = 0.0, **look: Any) -> None:
        """A level over the whole width."""
        curve = self._curve(look, [0.0, 0.0], [float(y)] * 2, line=True, marks=False)
        self.curves.append(curve | {"dashed": True, "across": True})

    def axvline(self, x: float = 0.0, **look: Any) -> None:
        """A place over the whole height, of what is drawn."""
        known = [v for curve in self.curves for v in curve["y"] if v is not None]
        ends = [min(known), max(known)] if known else [0.0, 1.0]
        curve = self._curve(look, [float(x)] * 2, ends, line=True, marks=False)
        self.curves.append(curve | {"dashed": True})

    def set_title(self, text: str, **_: Any) -> None:
        """The panel's title."""
        self.title = text

    def set_xlabel(self, text: str, **_: Any) -> None:
        """What lies along."""
        self.x["title"] = text

    def get_xlabel(self) -> str:
        """What lies along."""
        return str(self.x["title"])

    def set_ylabel(self, text: str, **_: Any) -> None:
        """What is measured."""
        self.y["title"] = text.replace("\n", ", ")

    def set_xlim(self, low: float | None = None, high: float | None = None) -> None:
        """The ends of the horizontal axis."""
        self.x |= {"low": low, "high": high}

    def set_ylim(self, low: float | None = None, high: float | None = None) -> None:
        """The ends of the vertical axis."""
        self.y |= {"low": low, "high": high}

    def set_xscale(self, kind: str, **_: Any) -> None:
        """`linear` or `log`."""
        self.x["log"] = kind == "log"

    def set_yscale(self, kind: str, **more: Any) -> None:
        """`linear`, `log`, or `symlog`, where what is smaller than `linthresh` lies at its end."""
        self.y["log"] = kind != "linear"
        if kind == "symlog":
            self.least = float(more["linthresh"])
            self.y["title"] += f" (0 drawn at {self.least:g})"

    def set_xticks(self, ticks: Any, labels: Sequence[str] | None = None, **_: Any) -> None:
        """Places with texts, or with their own numbers."""
        self.x["ticks"] = _ticks(ticks, labels)

    def set_yticks(self, ticks: Any, labels: Sequence[str] | None = None, **_: Any) -> None:
        """Places with texts, or with their own numbers."""
        self.y["ticks"] = _ticks(ticks, labels)

    def margins(self, **_: Any) -> None:
        """The page has margins of its own."""


class _Mark:
    """A line that may be given another look."""

    def set(self, **_: Any) -> None:
        """The page knows how such a mark looks."""


def _ticks(ticks: Any, labels: Sequence[str] | None) -> list[tuple[float, str]]:
    from clearpipe import units

    at = [float(tick) for tick in ticks]
    texts = [units.number(tick, 6) for tick in at] if labels is None else list(map(str, labels))
    return list(zip(at, texts, strict=True))


def _numbers(values: Any) -> list[float | None]:
    return [None if v is None else (_short(float(v)) if math.isfinite(v) else None) for v in values]


def _short(value: float) -> float:
    """Six digits are more than a screen has."""
    return float(f"{value:.6g}")


def _thinned(
    x: Sequence[float | None], y: Sequence[float | None]
) -> tuple[list[float | None], list[float | None]]:
    """The first, the last, the smallest and the largest point of each part."""
    values = np.asarray([math.nan if v is None else v for v in y], dtype=float)
    kept: set[int] = set()
    for part in np.array_split(np.arange(len(x)), MOST_POINTS):
        mine = values[part]
        kept |= {int(part[0]), int(part[-1])}
        if np.isfinite(mine).any():
            kept |= {int(part[np.nanargmin(mine)]), int(part[np.nanargmax(mine)])}
    order = sorted(kept)
    return [x[i] for i in order], [y[i] for i in order]
