"""What the commands of `clearpipe theory` share: options of their own."""

from __future__ import annotations

from typing import Annotated

import typer

Rtt = Annotated[str, typer.Option(metavar="TIME", help="The RTT.")]
Rtts = Annotated[
    str | None,
    typer.Option(metavar="T1,T2,...", help="Flows of these RTTs around one controller."),
]
Map = Annotated[bool, typer.Option("--map", help="Also print the stability map.")]
Capacity = Annotated[str, typer.Option(metavar="RATE", help="The link's capacity.")]
Flows = Annotated[int, typer.Option(min=1, metavar="N", help="The flows that share it.")]
Packet = Annotated[str, typer.Option(metavar="SIZE", help="The size of a packet.")]
