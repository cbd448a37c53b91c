"""`clearpipe theory`: the stability of XCP's loop, of VCP's fluid model and of TCP with AQMs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearpipe.errors import ConfigError
from clearpipe.exits import reports_errors
from clearpipe.options import (
    Figure,
    Json,
    check_figure,
    group,
    rate,
    size,
    time,
    times,
)
from clearpipe.theory.options import Capacity, Flows, Map, Packet, Rtt, Rtts

if TYPE_CHECKING:
    from clearpipe.theory.output import Sheet
    from clearpipe.theory.vcp import Link

app = group("theory", "Equilibria, stability, convergence and response functions.")
xcp_app = group("xcp", "XCP: its control loop, and its equilibrium on a network.")
vcp_app = group("vcp", "VCP: its fluid model, and its equilibrium on a network.")


@xcp_app.command("stability")
@reports_errors()
def xcp_stability(  # noqa: PLR0913 - one for each option
    *,
    alpha: Annotated[
        float, typer.Option(metavar="NUMBER", help="The gain of spare bandwidth.")
    ] = 0.4,
    beta: Annotated[
        float, typer.Option(metavar="NUMBER", help="The gain of the persistent queue.")
    ] = 0.226,
    rtt: Rtt = "80ms",
    capacity_error: Annotated[
        float | None,
        typer.Option(
            metavar="E", help="The router's idea of its capacity is (1 + E) times the true one."
        ),
    ] = None,
    rtts: Rtts = None,
    map_: Map = False,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Margins of XCP's control loop, exact in the delay (XCP, section 4)."""
    from clearpipe.theory import output, xcp

    check_figure(figure)
    d = time("--rtt", rtt)
    found = xcp.margins(alpha, beta, d)
    facts = [
        output.Fact("stable", "stable", found.stable),
        output.Fact("phase_margin_rad", "phase margin", found.phase_rad, "rad"),
        output.Fact("gain_margin", "gain margin", found.gain),
        output.Fact("delay_margin_s", "delay margin", found.delay_s, "s"),
        output.Fact("crossover_rad_s", "crossover, |G| = 1", found.crossover, "rad/s"),
        output.Fact("turnover_rad_s", "phase -180 degrees", found.turnover, "rad/s"),
        output.Fact("decay_per_rtt", "rightmost root", found.decay, "per RTT"),
        output.Fact("theorem_beta", "beta of Theorem 1", xcp.theorem_beta(alpha)),
        output.Fact("theorem_alpha", "alpha of Theorem 1 below", xcp.ALPHA_MAX),
    ]
    if capacity_error is not None:
        wrong = xcp.wrong_capacity(capacity_error, alpha, beta)
        facts += [
            output.Fact("utilization", "wrong capacity: utilization", wrong.utilization),
            output.Fact("queue_rtts", "wrong capacity: queue", wrong.queue_rtts, "base RTTs"),
            output.Fact("rtt_factor", "wrong capacity: RTT", wrong.rtt_factor, "base RTTs"),
        ]
    if rtts is not None:
        mixed = xcp.mixed_rtts(times("--rtts", rtts), alpha=alpha, beta=beta)
        facts += [
            output.Fact("mixed_stable", "mixed RTTs: stable", mixed.stable),
            output.Fact("mixed_decay", "mixed RTTs: rightmost root", mixed.decay, "per mean RTT"),
        ]
    sheets = [_xcp_map(), _xcp_two_rtts()] if map_ else []
    output.show(f"XCP, alpha {alpha:g}, beta {beta:g}, RTT {rtt}", facts, sheets, as_json)
    if figure is not None:
        from clearpipe.theory import figures

        figures.xcp_loop(figure, alpha, beta, d)


def _xcp_map() -> Sheet:
    import numpy as np

    from clearpipe.theory import output, xcp

    alpha, beta = np.arange(0.1, 1.6, 0.2), np.arange(0.6, 0.0, -0.1)
    told = xcp.stability_map(alpha, beta)
    columns = {"beta": "beta \\ alpha"} | {f"alpha_{a:.1f}": f"{a:.1f}" for a in alpha}
    rows = [[f"{b:.1f}", *told.phase_rad[i]] for i, b in enumerate(beta)]
    return output.Sheet("map", "Phase margin (rad), stable above 0", columns, rows)


RATIOS = (1.0, 2.0, 4.0, 8.0, 16.0)


def _xcp_two_rtts() -> Sheet:
    from clearpipe.theory import output, xcp

    title = "Two RTTs, half of the flows each: alpha at the edge, beta = alpha^2 sqrt 2"
    rows = [[f"{ratio:g}", xcp.mixed_edge(ratio)] for ratio in RATIOS]
    return output.Sheet("two_rtts", title, {"ratio": "ratio of RTTs", "edge": "edge"}, rows)


@vcp_app.command("fluid")
@reports_errors()
def vcp_fluid(  # noqa: PLR0913 - one for each option
    *,
    capacity: Capacity = "150Mbps",
    rtt: Rtt = "80ms",
    flows: Flows = 50,
    kappa: Annotated[
        float, typer.Option(metavar="NUMBER", help="The stability coefficient.")
    ] = 0.25,
    alpha: Annotated[
        float, typer.Option(metavar="NUMBER", help="The additive increase per RTT, in packets.")
    ] = 1.0,
    gamma: Annotated[float, typer.Option(metavar="NUMBER", help="The target utilization.")] = 0.98,
    packet: Packet = "1000B",
    rtts: Rtts = None,
    t_rho: Annotated[
        str | None, typer.Option(metavar="TIME", help="Scale gains as VCP does, for --rtts.")
    ] = None,
    map_: Map = False,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """VCP's MIAIMD fluid model: equilibrium, stability, times to converge (VCP, section V)."""
    from clearpipe.theory import output, vcp

    check_figure(figure)
    octets = size("--packet", packet)
    rate_pkts = rate("--capacity", capacity) / (8 * octets)
    link = vcp.Link(rate_pkts, time("--rtt", rtt), flows, kappa, alpha, gamma)
    if rate_pkts * link.rtt < 1:
        raise ConfigError(
            f"--capacity: {capacity} is not allowed with an RTT of {rtt} "
            f"(allowed: at least one packet of {packet} per RTT)"
        )
    told = vcp.stability(kappa, link.push)
    bdp = rate_pkts * link.rtt / flows
    facts = [
        output.Fact("window_pkts", "window of each flow at rest", link.window / flows, "packets"),
        output.Fact("rate_mbps", "rate of each flow at rest", link.rate * octets * 8e-6, "Mb/s"),
        output.Fact("utilization", "utilization at rest", link.utilization),
        output.Fact("smallest_bdp_pkts", "at most 1 for BDPs from", link.smallest_bdp, "packets"),
        output.Fact("stable", "stable", told.stable),
        output.Fact("theorem", "by Theorem 1 (kappa up to 1/2)", told.theorem),
        output.Fact("kappa_edge", "kappa at the edge of stability", told.edge),
        output.Fact("decay_per_rtt", "rightmost root", told.decay, "per RTT"),
        output.Fact(
            "rounds_to_efficiency",
            "one packet to 80 % of the link",
            vcp.rounds_to_efficiency(rate_pkts * link.rtt),
            "rounds",
        ),
        output.Fact(
            "rounds_to_fairness",
            "windows one BDP apart to equal",
            vcp.rounds_to_fairness(bdp, bdp),
            "rounds",
        ),
    ]
    sheets = [_vcp_map(rate_pkts / flows, gamma), _vcp_two_rtts(bdp)] if map_ else []
    if rtts is not None:
        sheets.append(_mixed(rtts, t_rho, link, octets))
    elif t_rho is not None:
        raise typer.BadParameter("--t-rho needs --rtts")
    output.show(f"MIAIMD, {flows} flows, {capacity}, {rtt}", facts, sheets, as_json)
    if figure is not None:
        from clearpipe.theory import figures

        figures.vcp_fluid(figure, link, 40)


def _vcp_map(per_flow: float, gamma: float) -> Sheet:
    from clearpipe.theory import output, vcp

    alphas, rtts = [0.5, 1.0, 2.0, 5.0, 10.0], [0.001, 0.01, 0.04, 0.08, 0.2, 1.0]
    told = vcp.stability_map([0.25], alphas, rtts, per_flow, gamma)
    columns = {"rtt_s": "RTT (s) \\ alpha"} | {f"alpha_{a:g}": f"{a:g}" for a in alphas}
    rows = [[f"{t:g}", *told.edge[i]] for i, t in enumerate(rtts)]
    return output.Sheet("map", "kappa at the edge of stability", columns, rows)


def _vcp_two_rtts(bdp: float) -> Sheet:
    from clearpipe.theory import output, vcp

    title = "Two flows of different RTTs: kappa at the edge; scaled: t_rho is the mean RTT"
    rows = [
        [
            f"{ratio:g}",
            vcp.mixed_edge(ratio, 2 * bdp),
            vcp.mixed_edge(ratio, 2 * bdp, t_rho=(1 + ratio) / 2),
        ]
        for ratio in RATIOS
    ]
    columns = {"ratio": "ratio of RTTs", "edge": "edge", "edge_scaled": "edge, scaled"}
    return output.Sheet("two_rtts", title, columns, rows)


def _mixed(rtts: str, t_rho: str | None, link: Link, packet: float) -> Sheet:
    from clearpipe.theory import output, vcp

    delays = times("--rtts", rtts)
    scale = None if t_rho is None else time("--t-rho", t_rho)
    told = vcp.mixed_rtts(
        delays,
        link.capacity,
        kappa=link.kappa,
        alpha=link.alpha,
        gamma=link.gamma,
        t_rho=scale,
    )
    title = f"Mixed RTTs: load {told.load:.4g}, rightmost root {told.decay:.3g} per mean RTT"
    columns = {"rtt_s": "RTT (s)", "rate_mbps": "rate (Mb/s)", "decay": "rightmost root"}
    rows = [
        [f"{t:g}", x * packet * 8e-6, told.decay] for t, x in zip(delays, told.rates, strict=True)
    ]
    return output.Sheet("mixed", title, columns, rows)


@app.command("aqm")
@reports_errors()
def aqm(
    *,
    capacity: Capacity = "45Mbps",
    rtt: Rtt = "80ms",
    flows: Flows = 50,
    packet: Packet = "1000B",
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Is TCP with RED, REM, PI, a virtual queue or AVQ stable? (XCP, section 1)"""
    from clearpipe.theory import aqm as queues
    from clearpipe.theory import output, xcp

    check_figure(figure)
    bits = 8 * size("--packet", packet)
    path = queues.Path(rate("--capacity", capacity) / bits, time("--rtt", rtt), flows)
    names: tuple[queues.Aqm, ...] = ("red", "rem", "pi", "vq", "avq")
    rows: list[list[Any]] = []
    for name in names:
        told = queues.margin(name, path)
        edge = queues.edge_capacity(name, path.rtt, flows) * bits / 1e6
        rows.append([name.upper(), told.stable, told.phase_rad, edge])
    loop = xcp.margins()
    rows.append(["XCP", loop.stable, loop.phase_rad, float("inf")])
    columns = {
        "aqm": "AQM",
        "stable": "stable",
        "phase_margin_rad": "phase margin (rad)",
        "edge_mbps": "unstable from (Mb/s)",
    }
    title = f"TCP, {flows} flows, {capacity}, {rtt}"
    facts = [
        output.Fact("avq_alpha", "largest alpha of AVQ; 0: none", queues.avq_alpha(path), "1/s")
    ]
    output.show(title, facts, [output.Sheet("aqms", title, columns, rows)], as_json)
    if figure is not None:
        from clearpipe.theory import figures

        figures.aqm_margins(figure, path.rtt, flows, bits)


@app.command("edges")
@reports_errors()
def edges(
    *,
    capacity: Capacity = "45Mbps",
    rtt: Rtt = "80ms",
    flows: Flows = 50,
    packet: Packet = "1000B",
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Critical gains, encirclements and roots of all loops; XCP's shuffling, MLCP's rounds."""
    from clearpipe.theory import aqm as queues
    from clearpipe.theory import edges as loops
    from clearpipe.theory import mlcp, output, vcp, xcp

    check_figure(figure)
    bits = 8 * size("--packet", packet)
    path = queues.Path(rate("--capacity", capacity) / bits, time("--rtt", rtt), flows)
    push = vcp.Link(path.capacity, path.rtt, flows).push
    found = [
        loops.xcp_edge(),
        loops.xcp_edge(beta=xcp.BETA),
        loops.miaimd_edge("VCP", vcp.KAPPA, push),
        loops.miaimd_edge("MLCP", mlcp.KAPPA, push),
        loops.scalable_edge(),
    ]
    rows: list[list[Any]] = [
        [e.name, e.gain, e.value, e.critical, e.ratio, e.encirclements, *_complex(e.roots)]
        for e in found
    ]
    columns = {
        "loop": "loop",
        "gain": "gain",
        "value": "value",
        "critical": "critical",
        "gain_margin": "gain margin",
        "encirclements": "encirclements",
        "root1": "root 1 (per RTT)",
        "root2": "root 2",
        "root3": "root 3",
    }
    names: tuple[queues.Aqm, ...] = ("red", "rem", "pi", "vq", "avq")
    beside = [
        [one.upper(), told.stable, told.phase_rad, loops.queue_gain_margin(one, path)]
        for one in names
        for told in (queues.margin(one, path),)
    ]
    titles = {
        "aqm": "AQM",
        "stable": "stable",
        "phase_margin_rad": "phase margin (rad)",
        "gain_margin": "gain margin",
    }
    steps = {"level": "MD level", "beta": "beta", "rounds": "rounds to 70 % of fair"}
    facts = [
        output.Fact("critical_beta", "XCP: critical beta at alpha 0.4", loops.critical_beta(0.4)),
        output.Fact(
            "shuffling_rtts", "XCP: time constant of shuffling", loops.shuffling_rtts(), "RTTs"
        ),
    ]
    title = f"Loops at {capacity}, {rtt}, {flows} flows"
    sheets = [
        output.Sheet("loops", title, columns, rows, left=2),
        output.Sheet("aqms", f"TCP with AQMs, {title[9:]}", titles, beside),
        output.Sheet("fairness", "MLCP, Figure 6", steps, list(map(list, loops.fairness_rounds()))),
    ]
    output.show("XCP", facts, sheets, as_json)
    if figure is not None:
        from clearpipe.theory import figures

        figures.loop_roots(figure, found)


def _complex(roots: tuple[complex, ...]) -> list[str]:
    """Three of them as text."""
    shown = [f"{r.real:.4f} + {r.imag:.4f}j" if r.imag else f"{r.real:.4f}" for r in roots]
    return [*shown, *[""] * 3][:3]
