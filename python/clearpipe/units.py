"""Numbers with their units: the one way in which the terminal, reports and figures write them.

Four significant digits, no exponents where a prefix will do, thin blanks between groups of three
digits. `report/page.js` does the same in a browser; a test holds the two together. Files for
machines have full precision in base units, with the unit in the column's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

DASH = "\N{EN DASH}"
"""What is not known."""

THIN = "\N{NARROW NO-BREAK SPACE}"
"""Between groups of three digits."""

TIMES = "\N{MULTIPLICATION SIGN}"

# Exactly half goes up, as in a browser; a float has fewer than 1100 digits, point and all.
_WIDE = Context(prec=1100, rounding=ROUND_HALF_UP)

PARSED: dict[str, dict[str, float]] = {
    "bps": {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12},
    "s": {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "B": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1048576.0},
    "pkt": {"pkt": 1.0},
    "bdp": {"bdp": 1.0},
    "bdp-pkt": {"bdp-pkt": 1.0},
    "%": {"%": 1.0},
    "x": {"x": 1.0},
    "": {"": 1.0},
}
"""One base unit for each kind of quantity in a scenario, and what the others are in it."""

SHOWN: dict[str, tuple[tuple[float, str], ...]] = {
    "bps": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "pkts": ((1.0, "pkts"),),
    "ratio": ((1e-2, "%"),),
    "": ((1.0, ""),),
}
"""Base units and what is written for them, the largest first."""

SAME = {"B": "bytes", "pkt": "pkts"}
"""Base units of scenarios that results call otherwise."""


@dataclass(frozen=True)
class Scale:
    """What to divide by, and the unit that then stands behind."""

    factor: float
    unit: str


def scale(values: Iterable[float], unit: str) -> Scale:
    """The scale that suits the largest of `values`, which are in the base unit `unit`."""
    unit = SAME.get(unit, unit)
    steps = SHOWN.get(unit, ((1.0, unit),))
    top = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not top:
        # A rate of nothing is 0 b/s, and nothing lasts 0 s.
        return Scale(*next((step for step in steps if step[0] == 1.0), steps[-1]))
    return Scale(*next((step for step in steps if top >= step[0] * 0.99995), steps[-1]))


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """A number to so many significant digits; `sign` may be `+`, for a difference."""
    if not math.isfinite(value):
        return DASH
    if not value:
        return "0"
    if _is_far(value):
        return _signed(_power(abs(value), digits), value, sign)
    return _signed(_trimmed(_fixed(abs(value), max(digits - 1 - _size(value), 0))), value, sign)


def fixed(value: float, decimals: int, sign: str = "") -> str:
    """A number to so many places behind the point, zeros and all."""
    if not math.isfinite(value):
        return DASH
    return _signed(_fixed(abs(value), decimals), value, sign)


def _fixed(value: float, decimals: int) -> str:
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-decimals), context=_WIDE)
    whole, point, rest = f"{rounded:f}".partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", THIN)
    return f"{whole}{point}{rest}"


def _size(value: float) -> int:
    """The power of ten of the first digit."""
    return Decimal(value).adjusted()


def _is_far(value: float) -> bool:
    """Would a number have too many digits without a power of ten?"""
    return value != 0 and not -6 <= _size(value) < 15


def _power(value: float, digits: int) -> str:
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).plus(Decimal(value))
    size = rounded.adjusted()
    power = str(size).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{_trimmed(f'{rounded.scaleb(-size):f}')} {TIMES} 10{power}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text and TIMES not in text else text


def _signed(text: str, value: float, sign: str) -> str:
    # What is rounded to nothing has no sign.
    return f"-{text}" if value < 0 and text.strip("0.") else f"{sign}{text}"


def tell(value: float, unit: str = "", digits: int = 4, sign: str = "") -> str:
    """A number of a base unit as people read it: `tell(9973200.0, "bps")` is `9.973 Mb/s`."""
    if not math.isfinite(value):
        return DASH
    by = scale([value], unit)
    return f"{number(value / by.factor, digits, sign)} {by.unit}".rstrip()


def spread(mean: float, half: float, unit: str = "", by: Scale | None = None) -> str:
    """A mean and half of its interval with two digits, both in one unit: `9.973 ± 0.012 Mb/s`.

    With `by` the numbers alone, for a column that has its unit in its heading.
    """
    used = by or scale([mean], unit)
    behind = "" if by else f" {used.unit}".rstrip()
    mean, half = mean / used.factor, half / used.factor
    if not math.isfinite(half):
        return number(mean) + behind
    if half == 0:
        return f"{number(mean)} ± 0{behind}"
    if _is_far(max(abs(mean), half)):
        return f"{number(mean)} ± {number(half, 2)}{behind}"
    # As many places as two digits of the half need, but no more than six digits of the mean.
    places = 1 - _size(half)
    if mean:
        places = min(places, 5 - _size(mean))
    places = max(places, 0)
    told = fixed(half, places)
    if float(told.replace(THIN, "")) == 0:
        # Less than the last digit shown: rounded up, which claims no more than is known.
        told = fixed(10.0**-places, places)
    return f"{fixed(mean, places)} ± {told}{behind}"


def split(value: object) -> tuple[float, str] | None:
    """A number and its base unit out of a scenario's text; None for what is no quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%-]*)\s*", str(value))
    if match is None:
        return None
    for base, units in PARSED.items():
        if match[2] in units:
            try:
                return float(match[1]) * units[match[2]], base
            except ValueError:
                return None
    return None


def setting(value: object) -> str:
    """A scenario's value as people read it: `27.8316ms` is `27.83 ms`; other texts stay."""
    found = split(value)
    return str(value) if found is None else tell(*found)


def unbroken(text: str) -> str:
    """The text with numbers that a line's end does not part from what follows, as a unit may."""
    return re.sub(r"(?<=\d) (?=[A-Za-zµ%])", "\N{NO-BREAK SPACE}", text)


def quantity(text: object) -> float | None:
    """A time in seconds or a number of bytes out of a resolved scenario, for display only."""
    found = split(text)
    return found[0] if found and found[1] in ("s", "B") else None


def rate(bps: float) -> str:
    """A rate with its unit, such as `150 Mb/s`."""
    return tell(bps, "bps")


def seconds(value: float) -> str:
    """A time with its unit, such as `80 ms`."""
    return tell(value, "s")


def size(count: float) -> str:
    """Bytes with their unit, such as `1.5 MB`."""
    return tell(count, "bytes")


def percent(ratio: float) -> str:
    """A share, such as `98.7 %`."""
    return tell(ratio, "ratio")


def count(value: float) -> str:
    """A count with thin groups of three digits."""
    return fixed(value, 0)


def counted(number: int, one: str, more: str) -> str:
    """A count of things in words that suit it: `1 run is missing`, `2 runs are missing`."""
    return f"{count(number)} {one if number == 1 else more}"
