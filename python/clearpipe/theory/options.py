"""What the commands of `clearpipe theory` share: options, and the reading of quantities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from clearpipe.errors import ConfigError


def group(name: str, about: str) -> typer.Typer:
    """An app with the house's settings."""
    return typer.Typer(
        name=name,
        help=about,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Figure = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw it to a .png, .svg or .pdf file.")
]
Rtt = Annotated[str, typer.Option(metavar="TIME", help="The RTT.")]
Rtts = Annotated[
    str | None,
    typer.Option(metavar="T1,T2,...", help="Flows of these RTTs around one controller."),
]
Map = Annotated[bool, typer.Option("--map", help="The stability map too.")]
Capacity = Annotated[str, typer.Option(metavar="RATE", help="The link's capacity.")]
Flows = Annotated[int, typer.Option(min=1, metavar="N", help="The flows that share it.")]
Packet = Annotated[str, typer.Option(metavar="SIZE", help="The size of a packet.")]

# Those of the scenario files, in seconds and bytes.
TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20}


def check(figure: Path | None) -> None:
    """Before any work: can this figure be drawn?"""
    if figure is not None:
        from clearpipe import style

        style.check(figure)


def quantity(option: str, text: str, units: Mapping[str, float], example: str) -> float:
    """A number above 0 with one of the units.

    Raises `ConfigError` if there is no unit, as scenario files do, or if it is not above 0.
    """
    match = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)", text)
    if match is None or match[2] not in units:
        known = ", ".join(units)
        raise ConfigError(f"{option}: {text!r} is not one such as {example} (units: {known})")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < float("inf"):
        raise ConfigError(f"{option}: {text} is not allowed (allowed: above 0)")
    return value


def time(option: str, text: str) -> float:
    """A time above 0 in seconds."""
    return quantity(option, text, TIMES, "80ms")


def times(option: str, text: str) -> list[float]:
    """Times with commas between them."""
    return [time(option, part.strip()) for part in text.split(",")]


def rate(option: str, text: str) -> float:
    """A rate above 0 in bit/s."""
    from clearpipe.theory.network import RATES

    return quantity(option, text, RATES, "45Mbps")


def size(option: str, text: str) -> float:
    """A size of at least a byte, in bytes."""
    value = quantity(option, text, SIZES, "1000B")
    if value < 1:
        raise ConfigError(f"{option}: {text} is not allowed (allowed: at least 1B)")
    return value
