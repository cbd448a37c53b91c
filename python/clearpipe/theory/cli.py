"""The command `clearpipe theory`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearpipe.exits import reports_errors
from clearpipe.options import (
    Figure,
    File,
    Json,
    Set,
    check_figure,
    group,
    rate,
    size,
    time,
)
from clearpipe.terminal import note
from clearpipe.theory.loops_cli import app, vcp_app, xcp_app
from clearpipe.theory.options import Capacity, Packet, Rtt

if TYPE_CHECKING:
    from clearpipe.theory.network import Network
    from clearpipe.theory.waterfill import Allocation

__all__ = ["app"]

ixcp_app = group("ixcp", "iXCP: its equilibrium on a network.")
mlcp_app = group("mlcp", "MLCP: how much feedback is enough.")
for _part in (xcp_app, ixcp_app, vcp_app, mlcp_app):
    app.add_typer(_part)


@xcp_app.command("equilibrium")
@reports_errors()
def xcp_equilibrium(
    file: File, set_: Set = None, figure: Figure = None, as_json: Json = False
) -> None:
    """XCP's rates on a network, by Low's model, beside the max-min rates (iXCP, section II-B)."""
    from clearpipe.theory import lowmodel

    _equilibrium(file, set_, "XCP", lowmodel.xcp_equilibrium, figure, as_json)


@ixcp_app.command("equilibrium")
@reports_errors()
def ixcp_equilibrium(
    file: File, set_: Set = None, figure: Figure = None, as_json: Json = False
) -> None:
    """iXCP's rates on a network, beside the max-min rates (iXCP, section V)."""
    from clearpipe.theory import lowmodel

    _equilibrium(file, set_, "iXCP", lowmodel.ixcp_equilibrium, figure, as_json)


@vcp_app.command("equilibrium")
@reports_errors()
def vcp_equilibrium(
    file: File,
    *,
    rtt: Rtt = "80ms",
    packet: Packet = "1000B",
    set_: Set = None,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Rates of VCP's MIAIMD model on a network with equal RTTs (VCP, Theorem 2)."""
    from clearpipe.theory import lowmodel, vcp

    increment = vcp.ALPHA * 8 * size("--packet", packet) / time("--rtt", rtt)

    def solve(network: Network) -> Allocation:
        return lowmodel.miaimd_equilibrium(network, increment)

    _equilibrium(file, set_, "MIAIMD", solve, figure, as_json, loads=True)


@app.command("maxmin")
@reports_errors()
def maxmin(file: File, set_: Set = None, figure: Figure = None, as_json: Json = False) -> None:
    """Weighted max-min fair rates on a network, with their certificate."""
    from clearpipe.theory import waterfill

    _equilibrium(file, set_, "Max-min", waterfill.maxmin, figure, as_json)


def _equilibrium(  # noqa: PLR0913 - one for each option
    file: Path,
    set_: list[str] | None,
    title: str,
    solve: Callable[[Network], Allocation],
    figure: Path | None,
    as_json: bool,
    *,
    loads: bool = False,
) -> None:
    import numpy as np

    from clearpipe.theory import network, output, waterfill

    check_figure(figure)
    net = network.of_scenario(file, set=set_ or [])
    found = solve(net)
    fair = waterfill.maxmin(net).rate
    # MIAIMD may overload a link: its rates are max-min for the loads they make (Theorem 2).
    room = np.where(found.load > 0, found.load, net.capacity) if loads else net.capacity
    told = waterfill.certify(replace(net, capacity=room), found.rate)
    over = float(found.utilization.max()) - 1
    facts = [
        output.Fact("maxmin", f"{title}: max-min fair" + " for its loads" * loads, told.holds),
        output.Fact("unfair_groups", "groups without a full bottleneck", told.unfair),
        output.Fact("overload", "largest load over capacity, less 1", max(over, 0.0)),
    ]
    sheets = output.allocation(found, None if solve is waterfill.maxmin else fair)
    output.show(file.stem, facts, sheets, as_json)
    for text in net.notes:
        note(f"note: {text}")
    if figure is not None:
        from clearpipe.theory import figures

        figures.allocation(figure, found, f"{title}, {file.stem}")


@mlcp_app.command("feedback")
@reports_errors()
def mlcp_feedback(  # noqa: PLR0913 - one for each option
    *,
    capacity: Capacity = "1Gbps",
    rtt: Rtt = "200ms",
    kappa: Annotated[
        float, typer.Option(metavar="NUMBER", help="The stability coefficient.")
    ] = 0.35,
    additive: Annotated[
        int, typer.Option(min=0, metavar="N", help="Rounds of AI between cuts.")
    ] = 5,
    inverse: Annotated[
        int, typer.Option(min=0, metavar="N", help="Rounds of II between cuts.")
    ] = 20,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """What 2, 3, 4 and 15 bits of feedback achieve (MLCP, section 2), and RTT fairness (3.1.2)."""
    from clearpipe.theory import mlcp, output

    check_figure(figure)
    seconds = time("--rtt", rtt)
    bdp = rate("--capacity", capacity) * seconds / 8
    rows = []
    for bits in (2, 3, 4, 15):
        table = mlcp.factor(mlcp.edges(bits), bits, kappa)
        rounds = mlcp.rounds(bits, bdp, kappa=kappa)
        rows.append([bits, len(table), table[0], table[-1], rounds, rounds * seconds])
    columns = {
        "bits": "bits",
        "levels": "levels",
        "first_factor": "first factor",
        "last_factor": "last factor",
        "rounds": "RTTs to 80 %",
        "seconds": "seconds",
    }
    epoch = mlcp.Epoch(additive, inverse)
    ratios = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0]
    fair = [[f"{r:g}", mlcp.rate_ratio(r, epoch)] for r in ratios]
    sheets = [
        output.Sheet("schemes", f"To 80 % of {capacity}, RTT {rtt}", columns, rows, left=0),
        output.Sheet(
            "rtt_fairness",
            f"RTT fairness: {additive} rounds of AI and {inverse} of II between cuts",
            {"rtt_ratio": "RTT over t_p", "rate_ratio": "rate at t_p over its rate"},
            fair,
        ),
    ]
    facts = [
        output.Fact(
            f"rounds_to_fair_{beta:g}",
            f"rounds to 70 % of the fair rate, beta {beta:g}",
            mlcp.rounds_to_fair(0.7, beta),
        )
        for beta in (mlcp.BETA_MAX, mlcp.BETA_MIN)
    ]
    output.show("MLCP", facts, sheets, as_json)
    if figure is not None:
        from clearpipe.theory import figures

        figures.mlcp_feedback(figure, seconds)


@app.command("response")
@reports_errors()
def response(
    *,
    loss: Annotated[
        list[float] | None, typer.Option(metavar="P", help="A loss rate. Repeatable.")
    ] = None,
    rtt: Rtt = "100ms",
    packet: Packet = "1000B",
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Mean windows of the baselines against their loss rate, in packets."""
    from clearpipe.theory import output, responses

    check_figure(figure)
    seconds = time("--rtt", rtt)
    losses = loss or [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]
    rows = [[one.name, one.source, *one.window(losses, seconds)] for one in responses.RESPONSES]
    columns = {"name": "protocol", "source": "source"} | {f"p_{p:g}": f"{p:g}" for p in losses}
    scale = size("--packet", packet) * 8e-6 / seconds
    title = f"Mean window (packets) at a loss rate, RTT {rtt}; times {scale:.3g} in Mb/s"
    sheets = [output.Sheet("responses", title, columns, rows, left=2)]
    output.show("", [], sheets, as_json)
    if figure is not None:
        from clearpipe.theory import figures

        figures.response(figure, seconds)
