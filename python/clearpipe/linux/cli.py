"""`clearpipe linux`: a shell behind an emulated link, and removing what was left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearpipe.exits import reports_errors
from clearpipe.linux import hosts_cli
from clearpipe.options import Quiet, group

app = group("linux", "The Linux kernel: commands behind emulated links, end hosts in eBPF.")

EPILOG = (
    "The command is at 10.77.0.1 in a network namespace of its own; the other end of the link is "
    "at 10.77.0.2 ($CLEARPIPE_PEER), where only --server runs: there is no way to the internet. "
    "IPv6's are fd77::1 and fd77::2 ($CLEARPIPE_PEER6). How late packets were is said at the end. "
    "Exit codes are the command's; 127: there is no such command; 3 and 5 before it runs: the link "
    "is not valid, the system lacks something."
)


@app.command(
    epilog=EPILOG,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
)
@reports_errors("what was made is removed")
def shell(  # noqa: PLR0913 - one for each option
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run.")],
    *,
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Two-way delay, such as 600ms.")],
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Capacity both ways, such as 20Mbps.")
    ] = None,
    up: Annotated[
        str | None,
        typer.Option(
            metavar="RATE|FILE",
            help="Capacity from the command to the other end: a rate, or a trace in "
            "mahimahi's format.",
            show_default="--rate",
        ),
    ] = None,
    down: Annotated[
        str | None,
        typer.Option(
            metavar="RATE|FILE", help="Capacity towards the command.", show_default="--rate"
        ),
    ] = None,
    buffer: Annotated[
        str, typer.Option(metavar="SIZE", help="The buffer: 1bdp, 1bdp-pkt, 100pkt, 1MB.")
    ] = "1bdp",
    up_buffer: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The buffer of --up.", show_default="--buffer"),
    ] = None,
    down_buffer: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The buffer of --down.", show_default="--buffer"),
    ] = None,
    queue: Annotated[
        str, typer.Option(metavar="NAME", help="Any queue of `clearpipe list queues`.")
    ] = "droptail",
    loss: Annotated[
        float, typer.Option(min=0.0, max=1.0, metavar="P", help="The probability of a random loss.")
    ] = 0.0,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="CMD", help="A shell command to run at the other end until yours ends."
        ),
    ] = None,
    capture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the packets that leave the link `up` to a pcapng file."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what the links counted (JSON)."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run a command behind a link with any rate, delay, buffer and queue.

    clearpipe linux shell --rate 20Mbps --rtt 600ms --queue vcp --server "iperf3 -s" -- iperf3 -c
    10.77.0.2
    """
    from clearpipe.linux import shell as shells

    link = shells.Link(
        rate, rtt, buffer, queue, loss, up, down, up_buffer=up_buffer, down_buffer=down_buffer
    )
    code = shells.run(link, command, server=server, capture=capture, report=report, quiet=quiet)
    raise typer.Exit(code)


@app.command()
@reports_errors()
def cleanup() -> None:
    """Remove what killed runs left behind: namespaces, programs, files."""
    from clearpipe.errors import RunError
    from clearpipe.linux import hosts, namespaces

    removed, failed = namespaces.remove_stale()
    unloaded, stuck = hosts.cleanup()
    for what in removed + unloaded:
        print(what)
    if failed + stuck:
        raise RunError("; ".join(failed + stuck))


hosts_cli.register(app)
