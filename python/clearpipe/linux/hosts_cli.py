"""`clearpipe linux load|status|unload`: end hosts in eBPF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearpipe import options, terminal
from clearpipe.exits import reports_errors

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="vcp, dpcp, mlcp, xcp, ixcp, vcp-decoupled, dpcp-decoupled, vcp-router, "
        "dpcp-router, mlcp-router, xcp-router or ixcp-router.",
    ),
]
Dev = Annotated[str, typer.Option(metavar="DEV", help="The network device.")]
Netns = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Its network namespace.", show_default="this one"),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(load)
    app.command()(unload)
    app.command()(status)


@reports_errors()
def load(  # noqa: PLR0913 - one for each option
    name: Name,
    *,
    dev: Dev,
    netns: Netns = None,
    cgroup: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A cgroup v2 directory: only its sockets may use an option (MLCP, XCP, iXCP).",
            show_default="the root",
        ),
    ] = None,
    initial_window: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="The first window in packets; 0 leaves the kernel's 10."
        ),
    ] = 0,
    for_all: Annotated[
        bool,
        typer.Option(
            "--for-all", help="Let every user choose the protocol, not only CAP_NET_ADMIN."
        ),
    ] = False,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="A router's capacity, such as 20Mbps.")
    ] = None,
    link: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2**32 - 1,
            metavar="N",
            help="The number by which ixcp-router names its link, unlike all others on a path.",
            show_default="a random one",
        ),
    ] = None,
) -> None:
    """Load a protocol's end host (or a router) onto a device, until `unload`.

    Both ends of a connection need it. A socket then chooses the protocol: `iperf3 -C vcp`,
    setsockopt(TCP_CONGESTION), or `ip route change ... congctl vcp`. Needs root.
    """
    from clearpipe.linux import hosts

    rate_bps = None if rate is None else round(options.rate("--rate", rate))
    hosts.load(
        name,
        dev=dev,
        netns=netns,
        cgroup=cgroup,
        initial_window=initial_window,
        rate_bps=rate_bps,
        link=link,
        for_all=for_all,
    )


@reports_errors()
def unload(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", show_default="all", help="What to remove.")
    ] = None,
    *,
    dev: Annotated[
        str | None,
        typer.Option(metavar="DEV", help="Remove it from this device only.", show_default="all"),
    ] = None,
    netns: Netns = None,
) -> None:
    """Remove protocols and routers from their devices."""
    from clearpipe.linux import hosts

    hosts.unload(name, dev=dev, netns=netns)


@reports_errors()
def status() -> None:
    """Show what is loaded (JSON)."""
    from clearpipe.linux import hosts

    terminal.show_json(hosts.status())
