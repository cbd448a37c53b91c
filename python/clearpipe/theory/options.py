"""What the commands of `clearpipe theory` share: options and the reading of times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
Packet = Annotated[int, typer.Option(min=1, metavar="BYTES", help="The size of a packet.")]


def check(figure: Path | None) -> None:
    """Before any work: can this figure be drawn?"""
    if figure is not None:
        from clearpipe import figures

        figures.check(figure)


def time(option: str, text: str) -> float:
    """A time above 0 in seconds."""
    from clearpipe.cli import _time as seconds

    value = seconds(option, text)
    if value <= 0:
        raise typer.BadParameter(f"{option} {text}: allowed is above 0")
    return value


def times(option: str, text: str) -> list[float]:
    """Times with commas between them."""
    return [time(option, part.strip()) for part in text.split(",")]
