"""The plots of `clearpipe theory`, drawn with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearpipe import style, units
from clearpipe.style import COLORS, INK, SOFT
from clearpipe.theory import aqm, mlcp, responses, vcp, xcp
from clearpipe.theory.edges import Edge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from clearpipe.theory.network import Array
    from clearpipe.theory.waterfill import Allocation

Target = str | os.PathLike[str]

MOST_BARS = 40

WIDTH, HEIGHT = 3.6, 2.7
"""A panel's inches."""


@contextmanager
def canvas(
    path: Target,
    columns: int = 2,
    rows: int = 1,
    size: tuple[float, float] = (WIDTH, HEIGHT),
) -> Iterator[tuple[Figure, Any]]:
    """A figure with so many panels of this size; it is written when the block ends.

    Curves are named above each panel, unless the block has put a legend elsewhere.

    Raises ConfigError for a format that cannot be drawn, UnsupportedError without matplotlib.
    """
    style.check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    target = Path(path)
    with rc_context(style.STYLE):
        width, height = size
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        yield figure, axes
        for panel in axes.flat:
            if panel.get_legend() is None:
                room = style.legend(panel, width - 0.6)
                panel.set_title(panel.get_title(), pad=room)
        style.save(figure, target, 110)


def xcp_loop(path: Target, alpha: float, beta: float, d: float) -> None:
    """Bode and Nyquist plots of XCP's open loop, and the stability map (XCP, Figures 14 and 15)."""
    omega = np.geomspace(0.05, 10, 2000) / d
    g = xcp.open_loop(omega, alpha, beta, d)
    phase = np.degrees(np.arctan2(alpha * omega * d, beta) - omega * d) - 180
    told = xcp.margins(alpha, beta, d)
    with canvas(path, 2, 2) as (_, axes):
        gain, angle, nyquist, where = axes.flat
        gain.loglog(omega, np.abs(g), color=COLORS[0])
        gain.axhline(1, color=SOFT, linewidth=0.7)
        gain.set(ylabel="|G|", xlabel="Frequency (rad/s)", title="Bode: gain")
        angle.semilogx(omega, phase, color=COLORS[0])
        angle.axhline(-180, color=SOFT, linewidth=0.7)
        angle.set(ylabel="Phase (degrees)", xlabel="Frequency (rad/s)", ylim=(-360, -90))
        angle.set_title(f"Bode: phase margin {np.degrees(told.phase_rad):.1f} degrees")
        for panel in (gain, angle):
            panel.axvline(told.crossover, color=COLORS[1], linewidth=0.8, linestyle="--")
        nyquist.plot(g.real, g.imag, color=COLORS[0])
        nyquist.plot(g.real, -g.imag, color=COLORS[0], linewidth=0.6)
        nyquist.plot([-1], [0], "+", color=COLORS[1], markersize=9)
        nyquist.set(xlim=(-3, 1), ylim=(-2, 2), xlabel="Re G", ylabel="Im G")
        nyquist.set_title(f"Nyquist: gain margin {told.gain:.2f}")
        _xcp_map(where, alpha, beta)


def _xcp_map(axes: Any, alpha: float, beta: float) -> None:
    grid = xcp.stability_map(np.linspace(0.01, 1.7, 170), np.linspace(0.01, 0.8, 160))
    levels = np.degrees(grid.phase_rad)
    shown = axes.contourf(grid.alpha, grid.beta, levels, [0, 15, 30, 45, 60, 90], cmap="Blues")
    axes.figure.colorbar(shown, ax=axes, label="Phase margin (degrees)")
    edge = xcp.boundary()
    axes.plot(*edge, color=COLORS[1], label="edge")
    a = np.linspace(0, xcp.ALPHA_MAX, 50)
    axes.plot(a, a**2 * np.sqrt(2), color=COLORS[2], linestyle="--", label="Theorem 1")
    axes.plot([alpha], [beta], "o", color=INK, markersize=4)
    axes.set(xlabel="alpha", ylabel="beta", xlim=(0, 1.7), ylim=(0, 0.8), title="Stability map")


def allocation(path: Target, found: Allocation, title: str) -> None:
    """The rates of the flows and the utilization of the loaded links, MOST_BARS of each at most."""
    net = found.network
    loaded = np.flatnonzero(found.load > 0)[:MOST_BARS]
    names, links = net.flows[:MOST_BARS], [net.links[i] for i in loaded]
    height = max(HEIGHT, 0.9 + 0.17 * max(len(names), len(links)))
    with canvas(path, 2, size=(WIDTH, height)) as (figure, axes):
        rates, used = axes.flat
        _bars(rates, names, found.rate[:MOST_BARS] / 1e6, COLORS[0])
        _bars(used, links, 100 * found.utilization[loaded], COLORS[2])
        rates.set_xlabel("Rate of each flow (Mb/s)")
        used.set(xlabel="Utilization (%)", xlim=(0, 105))
        figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold")


def _bars(panel: Any, names: Sequence[str], values: Array, color: str) -> None:
    panel.barh(range(len(names)), values, height=0.7, color=color)
    panel.set(yticks=range(len(names)), yticklabels=names)
    # As many as there are, or else as three: a lone bar is no block.
    panel.set_ylim(max(len(names), 3) - 0.4, -0.6)
    panel.grid(axis="y", visible=False)


def vcp_fluid(path: Target, link: vcp.Link, rounds: float) -> None:
    """The load in time from three starts, and the edge of stability over N alpha / (gamma C T)."""
    with canvas(path, 2) as (_, axes):
        left, right = axes.flat
        for number, load in enumerate((0.1, 1.0, 3.0)):
            run = vcp.windows(link, load * link.target, rounds=rounds, steps_per_rtt=10)
            left.plot(
                run.t / link.rtt, run.x[:, 0] / link.target, color=COLORS[number], label=f"{load:g}"
            )
        left.axhline(link.window / link.target, color=SOFT, linewidth=0.7, linestyle="--")
        left.set(xlabel="Time (RTTs)", ylabel="Load factor")
        left.set_title(f"From three loads, kappa = {link.kappa:g}")
        push = np.geomspace(1e-3, 3, 120)
        right.semilogx(push, [vcp.edge(float(a)) for a in push], color=COLORS[1], label="edge")
        right.axhline(vcp.KAPPA_MAX, color=COLORS[2], linestyle="--", label="Theorem 1")
        right.axhline(pi / 2, color=SOFT, linewidth=0.7, linestyle=":", label="pi / 2")
        right.plot([link.push], [link.kappa], "o", color=INK, markersize=4)
        right.set(xlabel="N alpha / (gamma C T)", ylabel="kappa", ylim=(0, 4))
        right.set_title("Stable below the edge")


def mlcp_feedback(path: Target, rtt: float) -> None:
    """MLCP's Figures 1, 2 and 6."""
    load = np.linspace(0.01, 0.8, 800)
    with canvas(path, 3) as (_, axes):
        gains, times, cuts = axes.flat
        gains.plot(100 * load, 1 + mlcp.gain(load), color=SOFT, label="ideal")
        for number, bits in enumerate((2, 3, 4)):
            gains.plot(
                100 * load, mlcp.factor(load, bits), color=COLORS[number], label=f"{bits} bits"
            )
        gains.set(xlabel="Load factor (%)", ylabel="MI factor", ylim=(1, 7), title="Figure 1")
        capacity = np.geomspace(1e6, 1e10, 41)
        for number, bits in enumerate((2, 3, 4, 15)):
            taken = [rtt * mlcp.rounds(bits, c * rtt / 8) for c in capacity]
            times.semilogx(capacity / 1e6, taken, color=COLORS[number], label=f"{bits} bits")
        times.set(xlabel="Capacity (Mb/s)", ylabel="Time to 80 % (s)", ylim=(0, None))
        times.set_title("Figure 2")
        over = np.linspace(1, 1.4, 800)
        schemes: tuple[mlcp.Scheme, ...] = ("A", "B", "C", "D")
        for number, scheme in enumerate(schemes):
            cuts.plot(100 * over, mlcp.beta(over, scheme), color=COLORS[number], label=scheme)
        cuts.plot(100 * over, 0.8 / over, color=SOFT, linestyle=":", label="80 %")
        cuts.set(xlabel="Load factor (%)", ylabel="beta", title="Figure 6", ylim=(0.55, 0.95))


def response(path: Target, rtt: float) -> None:
    """Mean window against loss rate, of every baseline."""
    p = np.geomspace(1e-8, 1e-1, 200)
    with canvas(path, 1, size=(6.4, 3.4)) as (_, axes):
        panel = axes[0, 0]
        for number, one in enumerate(responses.RESPONSES):
            dash = "-" if number < len(COLORS) else "--"
            color = COLORS[number % len(COLORS)]
            panel.loglog(p, one.window(p, rtt), dash, color=color, label=one.name)
        panel.set(xlabel="Loss or mark rate p", ylabel="Mean window (packets)")
        panel.set_title(f"RTT {units.seconds(rtt)}")
        panel.set_ylim(1, 1e7)
        # Every other decade: the small ones are wide when they are written as numbers.
        panel.set_xticks([1e-8, 1e-6, 1e-4, 1e-2])
        # In the order of their names there, which is not that of the curves.
        panel.legend(loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0)


def aqm_margins(path: Target, rtt: float, flows: int, packet_bits: float) -> None:
    """The phase margin of TCP with each AQM, against capacity and against RTT."""
    names: tuple[aqm.Aqm, ...] = ("red", "rem", "pi", "avq")
    mbps = np.geomspace(1, 4000, 80)
    rtts = np.geomspace(0.005, 1.0, 80)
    with canvas(path, 2) as (_, axes):
        left, right = axes.flat
        for number, name in enumerate(names):
            by_capacity = [aqm.Path(c * 1e6 / packet_bits, rtt, flows) for c in mbps]
            by_rtt = [aqm.Path(45e6 / packet_bits, d, flows) for d in rtts]
            for panel, x, cases in ((left, mbps, by_capacity), (right, 1e3 * rtts, by_rtt)):
                values = [np.degrees(aqm.margin(name, case).phase_rad) for case in cases]
                panel.semilogx(x, values, color=COLORS[number], label=name.upper())
        loop = np.degrees(xcp.margins().phase_rad)
        for panel in (left, right):
            panel.axhline(loop, color=INK, linestyle="--", label="XCP")
            panel.axhline(0, color=SOFT, linewidth=0.7)
            panel.set_ylim(-180, 190)
        left.set(xlabel="Capacity (Mb/s)", ylabel="Phase margin (degrees)")
        left.set_title(f"{flows} flows, {units.seconds(rtt)}")
        right.set(xlabel="RTT (ms)", title=f"{flows} flows, 45 Mb/s")


def loop_roots(path: Target, found: Sequence[Edge]) -> None:
    """The rightmost roots of each loop in the complex plane; stable on the left."""
    with canvas(path, 1) as (_, axes):
        (panel,) = axes.flat
        for number, edge in enumerate(found):
            roots = np.array(edge.roots)
            name = f"{edge.name}, {edge.gain}"
            panel.plot(roots.real, roots.imag, "o", color=COLORS[number % len(COLORS)], label=name)
        panel.axvline(0, color=SOFT, linewidth=0.7)
        panel.set(xlabel="Real part (1/RTT)", ylabel="Imaginary part (1/RTT)")
        panel.set_title("Rightmost roots")
