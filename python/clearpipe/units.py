"""Numbers with their units, as the terminal, reports and figures write them."""

from __future__ import annotations

import re

# The units that a resolved scenario uses for times and bytes.
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "B": 1.0, "kB": 1e3}
UNITS |= {"MB": 1e6, "GB": 1e9}


def quantity(text: object) -> float | None:
    """A time in seconds or a number of bytes out of a resolved scenario, for display only."""
    match = re.fullmatch(r"([\d.]+)([A-Za-z]+)", str(text))
    if match is None or match[2] not in UNITS:
        return None
    return float(match[1]) * UNITS[match[2]]


def rate(bps: float) -> str:
    """A rate with its unit, such as `150 Mb/s`."""
    for factor, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= factor:
            return f"{bps / factor:.4g} {unit}"
    return f"{bps:.4g} b/s"


def seconds(value: float) -> str:
    """A time with its unit, such as `80 ms`."""
    if 0 < value < 1e-3:
        return f"{value * 1e6:.4g} µs"
    return f"{value * 1e3:.4g} ms" if 0 < value < 1 else f"{value:.4g} s"


def size(count: float) -> str:
    """Bytes with their unit, such as `1.5 MB`."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count:.4g} B"


def count(value: float) -> str:
    """A count with thin groups of three digits."""
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
