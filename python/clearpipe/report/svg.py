"""Pieces of drawings as text. Everything that comes from outside is escaped here."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from html import escape

HUES = 8
"""Colours of the palette in report.css."""


def esc(text: object) -> str:
    """Text that may stand in an element or an attribute."""
    return escape(str(text), quote=True)


def color(hue: int, shade: float = 0.0) -> str:
    """A colour of the palette; `shade` from -1 (towards the ink) to 1 (towards the paper)."""
    base = f"var(--c{hue % HUES})" if hue >= 0 else "var(--soft)"
    if not shade:
        return base
    other = "var(--ink)" if shade < 0 else "var(--paper)"
    return f"color-mix(in srgb, {base} {100 - 60 * abs(shade):.0f}%, {other})"


def shades(number: int) -> list[float]:
    """So many shades of one colour; one is the colour itself."""
    if number <= 2:
        return [0.0, -0.8][:number]
    return [round(-0.85 + 1.4 * i / (number - 1), 3) for i in range(number)]


def width(text: str, size: float = 12) -> float:
    """About how wide `text` is in a sans-serif font of `size`, on the safe side."""
    wide = sum(1.7 if unicodedata.east_asian_width(c) in "WF" else 1.0 for c in text)
    return wide * size * 0.58


def clip(text: str, length: int) -> str:
    """`text`, or as much of it as fits into `length` characters."""
    return text if len(text) <= length else text[: max(length - 1, 1)] + "…"


def text(x: float, y: float, content: object, **attributes: object) -> str:
    """A text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attrs(attributes)}>{esc(content)}</text>'


def attrs(attributes: dict[str, object]) -> str:
    """Attributes with `_` for `-`, `cls` for `class`."""
    named = ((k if k != "cls" else "class", v) for k, v in attributes.items())
    return "".join(f' {k.replace("_", "-")}="{esc(v)}"' for k, v in named)


def tip(told: str, content: str) -> str:
    """A group that tells something when it is pointed at or has the focus."""
    # A line break in an attribute would be read as a blank.
    data = esc(told).replace("\n", "&#10;")
    label = esc(told.replace("\n", "; "))
    marks = f'class="tip" tabindex="0" role="img" aria-label="{label}" data-tip="{data}"'
    return f"<g {marks}>{content}</g>"


def drawing(
    size: tuple[float, float],
    label: str,
    content: str,
    cls: str = "",
    origin: tuple[float, float] = (0.0, 0.0),
) -> str:
    """An SVG element of `size` with a text for those who do not see it."""
    (w, h), (x, y) = size, origin
    marks = f'class="{cls}" role="group" aria-label="{esc(label)}" style="--w:{w:.0f}px"'
    place = f'viewBox="{x:.0f} {y:.0f} {w:.0f} {h:.0f}" width="{w:.0f}" height="{h:.0f}"'
    return f'<svg {marks} {place} xmlns="http://www.w3.org/2000/svg">{content}</svg>'


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers from `low` to `high`."""
    if not high > low:
        return [low]
    raw = (high - low) / about
    ten = 10.0 ** math.floor(math.log10(raw))
    step = next(ten * m for m in (1, 2, 2.5, 5, 10) if ten * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def short_names(labels: Sequence[str]) -> list[str]:
    """Shorter where the others tell: `bottleneck.reverse` beside `bottleneck` is `.reverse`, unless
    another would be called that too; what stands in brackets is left out."""
    names = [label.partition(" (")[0] for label in labels]
    bases = [name.rpartition(".")[0] for name in names]
    pairs = zip(names, bases, strict=True)
    short = [name[len(base) :] if base and base in names else name for name, base in pairs]
    # Two of a name would tell nothing.
    return [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]
