"""XCP's claims that are computed, by the theory or from series; xcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi, sqrt
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS, MARKERS
from clearpipe.reproduce.runs import Cell, Data
from clearpipe.reproduce.tools import (
    base_rtts,
    claim_of,
    flow_goodputs,
    flow_series,
    link_of,
    link_series,
    windowed,
)
from clearpipe.statistics import t_interval
from clearpipe.theory import aqm, of_paths, xcp
from clearpipe.theory.lowmodel import xcp_feedback

# Sections 1 and 2.

AQMS: tuple[aqm.Aqm, ...] = ("red", "rem", "pi", "vq", "avq")
PACKETS = 125.0
"""Packets of 1000 bytes per second in 1 Mb/s."""


def sec1_aqm_c1(_: Data) -> dict[str, float]:
    """The least phase margin of each queue at 10 Mb/s to 4 Gb/s, 80 ms, 50 flows."""
    return {
        f"TCP with {name.upper()}": min(
            aqm.margin(name, aqm.Path(c * PACKETS, 0.08, 50)).phase_rad
            for c in (10, 100, 1000, 4000)
        )
        for name in AQMS
    }


def sec1_aqm_c2(_: Data) -> float:
    """What XCP adds in all with 1000 flows over that with one, 20 of 100 packets/s being spare."""

    def added(n: int) -> float:
        return n * float(xcp_feedback(of_paths([100.0], [[0]], count=n), [80.0 / n]).net[0])

    return added(1000) / added(1)


def sec1_aqm_margins(place: Any, _: Data) -> None:
    rates = np.geomspace(5, 4000, 30)
    for color, name in zip(COLORS, AQMS, strict=False):
        values = [aqm.margin(name, aqm.Path(c * PACKETS, 0.08, 50)).phase_rad for c in rates]
        place.plot(rates, values, color=color, linewidth=1.2, label=name.upper())
    place.axhline(0, color="#888888", linewidth=0.7)
    place.set_xscale("log")
    place.set_xlabel("Capacity (Mb/s)")


def sec1_told_right(result: cp.Result) -> float:
    """The share of the losses that senders found and took for what they are: errors without a cut
    of the window. Where the queue drops nothing, every cut is wrong."""
    if link_of(result)["total_drops_pkts"]:
        return np.nan
    cuts = sum(
        int((window[1:] < 0.7 * window[:-1]).sum())
        for _, window in flow_series(result, "cwnd_pkts").values()
    )
    found = sum(int(n) for n in result.flows["fast_retransmits"])
    return 1 - cuts / found


# Section 3.


def _handed_out(phi: float) -> tuple[Any, Any, Any, float]:
    """Per flow, its rate and the change of its rate that equations (5) to (9) give and take in an
    interval d, packet by packet, and the relative error of both sums."""
    rng = np.random.default_rng(7)
    flows = 200
    rtt, packets = rng.uniform(0.01, 0.33, flows), rng.integers(1, 200, flows)
    size = rng.integers(40, 1501, flows).astype(float)
    cwnd = packets * size
    rate = cwnd / rtt
    # A long interval, so that whole numbers of packets are the flows' rates.
    d = 100.0
    sent = np.round(d * packets / rtt).astype(int)
    flow = np.repeat(np.arange(flows), sent)
    share = (rtt * size / cwnd)[flow]
    h = max(0.0, 0.1 * rate.sum() * d - abs(phi * rate.sum() * d))
    up, down = (h + max(sign * phi * rate.sum() * d, 0.0) for sign in (1, -1))
    p = up / (d * share.sum()) * share * rtt[flow]
    n = down / (d * size[flow].sum()) * (rtt * size)[flow]
    errors = [
        abs(float((change / rtt[flow]).sum()) / (wanted / d) - 1)
        for change, wanted in ((p, up), (n, down))
        if wanted
    ]
    given = np.bincount(flow, p / rtt[flow], flows)
    taken = np.bincount(flow, n / rtt[flow], flows)
    return rate, given, taken, max(errors)


PHIS = (0.3, 0.05, 0.0, -0.05, -0.3)


def sec3_controllers_c1(_: Data) -> dict[str, float]:
    return {f"phi = {phi:g} y d": _handed_out(phi)[3] for phi in PHIS}


def sec3_controllers_c2(_: Data) -> dict[str, float]:
    """How much the increase of rates, and the decrease over the rates, differ between flows."""
    out = {}
    for phi in PHIS:
        rate, given, taken, _error = _handed_out(phi)
        if given.any():
            out[f"phi = {phi:g} y d, increase"] = float(given.std() / given.mean())
        if taken.any():
            part = taken / rate
            out[f"phi = {phi:g} y d, decrease"] = float(part.std() / part.mean())
    return out


def _intervals(data: Data) -> tuple[Any, Any, Any]:
    """h, |phi| and the traffic y d at the end of each of the router's control intervals."""
    result = data.of("main")[0].result
    t, y = link_series(result, "router_input_traffic")

    def held(name: str) -> Any:
        at, values = link_series(result, name)
        return values[np.searchsorted(at, t, side="right") - 1]

    late = t > 1
    values = held("router_h"), np.abs(held("router_phi")), y * held("router_avg_rtt")
    return values[0][late], values[1][late], values[2][late]


def sec3_controllers_c3(data: Data) -> dict[str, float]:
    """(h + |phi|) over the traffic, of the intervals in which anything is shuffled."""
    if not data.of("main"):
        return {}
    h, phi, came = _intervals(data)
    part = ((h + phi) / came)[h > 0]
    return {"least": float(part.min()), "most": float(part.max())}


def sec3_shuffled(place: Any, data: Data) -> None:
    h, phi, came = _intervals(data)
    place.plot(phi / came, h / came, ".", color=COLORS[0], markersize=3)
    place.set_xlabel("|phi| / (y d)")


def sec3_controllers_c5(data: Data) -> float | None:
    """Round trips from the first estimate of the RTT until the window is that of 20 Mb/s."""
    for cell in data.of("request"):
        t, window = flow_series(cell.result, "sender_cwnd")["fwd"]
        at, srtt = flow_series(cell.result, "srtt_s")["fwd"]
        there = t[window >= 0.99 * 20e6 * 0.08 / 8000]
        return round(float((there[0] - at[0]) / srtt[0]), 9) if len(there) else np.inf
    return None


# Section 4 and appendix B.

EDGE = xcp.ALPHA_MAX


def thm1_c1(_: Data) -> dict[str, float]:
    """The largest deviation of the last tenth of a trajectory over that of the first tenth."""
    out = {}
    for alpha in (0.1, 0.2, 0.3, 0.4, 0.5, 0.54, 0.55, 0.5553):
        beta = xcp.theorem_beta(alpha)
        run = xcp.trajectory(alpha, beta, start=xcp.Start(0.5, 0.0), t_end=200, steps_per_rtt=8)
        away = np.abs(run.x - np.array([1.0, 0.0]))
        part = len(away) // 10
        out[f"alpha {alpha:g}"] = float(away[-part:].max() / away[:part].max())
    return out


def thm1_c2(_: Data) -> float:
    return xcp.theorem_beta(xcp.ALPHA)


def thm1_c3(_: Data) -> dict[str, float]:
    """How far trajectories in units of d and c are apart, and the decay of N equal flows."""
    start = xcp.Start(0.5, 0.2)

    def scaled(d: float, capacity: float) -> Any:
        run = xcp.trajectory(d=d, capacity=capacity, start=start, t_end=50 * d)
        return run.x / np.array([capacity, capacity * d])

    first = scaled(0.01, 1.5e6)
    out = {
        f"d = {d:g} s, c = {c / 1e6:g} Mb/s": float(np.abs(scaled(d, c) - first).max())
        for d, c in ((0.08, 155e6), (1.4, 4e9))
    }
    alone = xcp.margins().decay
    for n in (10, 1000):
        out[f"N = {n}"] = abs(xcp.mixed_rtts([0.08] * n).decay - alone)
    return out


def thm1_map(place: Any, _: Data) -> None:
    alpha, beta = xcp.boundary()
    place.plot(alpha, beta, color=COLORS[0], linewidth=1.2, label="Edge of stability")
    curve = np.linspace(0, EDGE, 100)
    place.plot(
        curve, curve**2 * sqrt(2), "--", color=COLORS[1], linewidth=1.0, label="alpha^2 sqrt 2"
    )
    place.plot([xcp.ALPHA], [xcp.BETA], "o", color=COLORS[2], label="XCP")
    place.set_xlabel("alpha")


def fig14_c1(_: Data) -> float:
    return xcp.margins(0.4, 0.226).crossover


def fig14_c4(_: Data) -> dict[str, float]:
    loop = xcp.margins(EDGE, xcp.theorem_beta(EDGE))
    return {"phase margin": loop.phase_rad, "gain margin less 1": loop.gain - 1}


def fig14_c5(_: Data) -> dict[str, float]:
    """The largest difference of the margins, and of the delay margin over d, for d up to 10 s."""
    loops = {d: xcp.margins(d=d) for d in (1e-3, 0.01, 0.08, 1.0, 10.0)}
    values = {
        "phase margin": [loop.phase_rad for loop in loops.values()],
        "gain margin": [loop.gain for loop in loops.values()],
        "delay margin over d": [loop.delay_s / d for d, loop in loops.items()],
    }
    return {name: max(found) - min(found) for name, found in values.items()}


OMEGA = np.geomspace(1e-2, 1e2, 4000)


def fig14_magnitude(place: Any, _: Data) -> None:
    place.plot(OMEGA, np.abs(xcp.open_loop(OMEGA)), color=COLORS[0], linewidth=1.2)
    _at_crossover(place)


def fig14_phase(place: Any, _: Data) -> None:
    phase = np.unwrap(np.angle(xcp.open_loop(OMEGA)))
    phase -= 2 * pi * np.round((phase[0] + pi) / (2 * pi))
    place.plot(OMEGA, np.degrees(phase), color=COLORS[0], linewidth=1.2)
    place.axhline(-180, color="#888888", linewidth=0.7)
    place.set_ylim(-540, -90)
    _at_crossover(place)


def _at_crossover(place: Any) -> None:
    place.axvline(xcp.margins().crossover, color="#888888", linewidth=0.7, linestyle="--")
    place.set_xscale("log")
    place.set_xlabel("omega d")


def fig15_c1(_: Data) -> dict[str, float]:
    """How often G and its mirror image go clockwise around -1: crossings left of it, counted."""
    omega = np.geomspace(1e-3, 1e2, 200_001)
    out = {}
    for alpha in (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.5553):
        g = xcp.open_loop(omega, alpha, xcp.theorem_beta(alpha))
        crossing = np.flatnonzero(np.diff(np.sign(g.imag)) != 0)
        left = crossing[g.real[crossing] < -1]
        out[f"alpha {alpha:g}"] = 2.0 * sum(np.sign(g.imag[k + 1] - g.imag[k]) for k in left)
    return out


def fig15_nyquist(place: Any, _: Data) -> None:
    for color, alpha in zip(COLORS, (0.2, 0.4, 0.5553, 0.7), strict=False):
        g = xcp.open_loop(OMEGA, alpha, xcp.theorem_beta(alpha))
        place.plot(g.real, g.imag, color=color, linewidth=1.0, label=f"alpha {alpha:g}")
    place.plot([-1], [0], "+", color="black")
    place.set_xlim(-3, 1)
    place.set_ylim(-2, 2)
    place.set_xlabel("Re")


# Section 5.2: figures 4 to 9.


def _between(data: Data, short: str, first: str, last: str) -> Mapping[str, Reading]:
    """For each TCP scheme its utilization at the last point less that at the first."""
    claim = claim_of(data, short)
    out = {}
    for scheme in data.paper.groups["tcp"]:
        used = {
            (cell.label, cell.rep): cell.metrics["links.bottleneck.utilization_ratio"]
            for cell in data.of("", scheme)
        }
        values = [
            used[last, rep] - used[first, rep]
            for label, rep in used
            if label == last and (first, rep) in used
        ]
        if values:
            label = data.paper.schemes[scheme].label
            out[label] = Reading.of(label, values, claim.lo, claim.hi)
    return out


def fig04_c4(data: Data) -> Mapping[str, Reading]:
    return _between(data, "c4", "100Mbps", "4Gbps")


def fig05_c2(data: Data) -> Mapping[str, Reading]:
    return _between(data, "c2", "80ms", "1400ms")


def fig06_c2(data: Data) -> dict[str, float]:
    """The mean window of more than 500 flows: rate times RTT with the queue, in packets."""
    return {
        f"{cell.label} flows": cell.metrics["groups.fwd.goodput_mean_bps"]
        * (0.08 + cell.metrics["links.bottleneck.queue_mean_pkts"] * 8000 / 150e6)
        / 8000
        for cell in data.of("", "xcp")
        if 500 < cell.x <= 700 and cell.rep == 0
    }


def fig06_c3(data: Data) -> float | None:
    """The mean queue of 1000 flows over that of 100."""
    name = "links.bottleneck.queue_mean_pkts"

    def queue(flows: float) -> list[float]:
        return [cell.metrics[name] for cell in data.of("", "xcp") if cell.x == flows]

    few, many = queue(100), queue(1000)
    return float(np.mean(many) / np.mean(few)) if few and many else None


def fig07_c3(data: Data) -> float | None:
    """The short flows that came in 80 ms, at 800 each second."""
    found = []
    for cell in data.of("", "xcp"):
        transfers = cell.result.transfers
        if cell.x == 800 and transfers is not None:
            starts = np.asarray(transfers["start_s"])
            found.append(0.08 * len(starts) / float(starts.max()))
    return float(np.mean(found)) if found else None


def fig08b_c2(data: Data) -> dict[str, float]:
    """The slope of throughput over its mean against the RTT [1/s], of each TCP scheme."""
    out = {}
    for scheme in data.paper.groups["tcp"]:
        slopes = []
        for cell in data.of("", scheme):
            rates = np.array(flow_goodputs(cell, "fwd"))
            slopes.append(np.polyfit(base_rtts(cell.result, "fwd"), rates / rates.mean(), 1)[0])
        if slopes:
            out[data.paper.schemes[scheme].label] = float(np.mean(slopes))
    return out


def fig08b_c3(data: Data) -> dict[str, float]:
    """The steps between the flows' RTTs [ms], as the scenario has them."""
    if not data.cells:
        return {}
    steps = 1000 * np.diff(base_rtts(data.cells[0].result, "fwd"))
    return {"least": round(float(steps.min()), 9), "most": round(float(steps.max()), 9)}


CHAIN = [f"l{i}" for i in range(1, 10)]


def fig09_shuffled(result: cp.Result) -> float:
    """h over the traffic in the second half of the run, of the link that has most of it."""
    parts = []
    for link in CHAIN:
        t, h = link_series(result, "router_h", link)
        _, d = link_series(result, "router_avg_rtt", link)
        _, y = link_series(result, "router_input_traffic", link)
        late = t > t[-1] / 2
        parts.append((h[late] / d[late]).mean() / y[late].mean())
    return float(max(parts))


def _of_chain(cell: Cell, column: str, links: Sequence[str] = CHAIN) -> Any:
    return np.array([cell.metrics[f"links.{link}.{column}"] for link in links])


def fig09_c3(data: Data) -> Mapping[str, Reading]:
    claim = claim_of(data, "c3")
    values = [
        float(
            _of_chain(cell, "utilization_ratio", CHAIN[5:]).mean()
            - _of_chain(cell, "utilization_ratio", CHAIN[:4]).mean()
        )
        for cell in data.of("main", "xcp")
    ]
    return {"XCP": Reading.of("XCP", values, claim.lo, claim.hi)} if values else {}


def fig09_c4(data: Data) -> dict[str, float]:
    """XCP's queue over TCP's, at the link where it is most."""
    ours = [_of_chain(cell, "queue_mean_pkts") for cell in data.of("main", "xcp")]
    out = {}
    for scheme in data.paper.groups["tcp"]:
        theirs = [_of_chain(cell, "queue_mean_pkts") for cell in data.of("main", scheme)]
        if ours and theirs:
            ratio = np.mean(ours, axis=0) / np.mean(theirs, axis=0)
            out[data.paper.schemes[scheme].label] = float(ratio.max())
    return out


def fig09_utilization(place: Any, data: Data) -> None:
    _by_link(place, data, "utilization_ratio")


def fig09_queue(place: Any, data: Data) -> None:
    _by_link(place, data, "queue_mean_pkts")


def fig09_drops(place: Any, data: Data) -> None:
    _by_link(place, data, "total_drops_pkts")


def _by_link(place: Any, data: Data, column: str) -> None:
    """Mean over the replications for each link, a line for each scheme."""
    for number, scheme in enumerate(data.paper.groups["five"]):
        rows = [_of_chain(cell, column) for cell in data.of("main", scheme)]
        if rows:
            place.plot(
                range(1, 10),
                np.mean(rows, axis=0),
                color=COLORS[number],
                marker=MARKERS[number],
                markersize=4,
                linewidth=1.0,
                label=data.paper.schemes[scheme].label,
            )
    place.set_xlabel("Link")


# How many packets per round trip a flow's share is, at a point of each part.
SHARES: Mapping[str, Callable[[float], float]] = {
    "capacity": lambda x: x * 0.08 / 8000 / 50,
    "delay": lambda x: 150e6 * x / 8000 / 50,
    "flows": lambda x: 150e6 * 0.08 / 8000 / x,
    # Short flows take all of the link from 625 per second on.
    "web": lambda x: max(0.0, 1 - x / 625) * 30,
    "chain": lambda x: 50e6 / 100 * 0.36 / 8000,
}


def _drop_rates(data: Data, scheme: str) -> list[tuple[str, float]]:
    """Part and drop rate of each run in which a flow's share is above two packets."""
    out = []
    for cell in data.of("", scheme):
        if SHARES[cell.part](cell.x) <= 2:
            continue
        links = CHAIN if cell.part == "chain" else ["bottleneck"]
        dropped, came = (
            _of_chain(cell, f"total_{name}_pkts", links).sum() for name in ("drops", "arrivals")
        )
        out.append((cell.part, float(dropped / came)))
    return out


def sec5_2_droprate_c1(data: Data) -> float | None:
    rates = [rate for _, rate in _drop_rates(data, "xcp")]
    return float(np.mean(rates)) if rates else None


def sec5_2_droprate_c2(data: Data) -> dict[str, float]:
    """The mean drop rate of each TCP scheme over XCP's."""
    ours = sec5_2_droprate_c1(data)
    if ours is None:
        return {}
    out = {}
    for scheme in data.paper.groups["tcp"]:
        rates = [rate for _, rate in _drop_rates(data, scheme)]
        if rates:
            told = float(np.mean(rates))
            out[data.paper.schemes[scheme].label] = told / ours if ours else np.inf
    return out


def sec5_2_droprates(place: Any, data: Data) -> None:
    schemes = data.paper.groups["five"]
    for number, scheme in enumerate(schemes):
        rates = [rate for _, rate in _drop_rates(data, scheme)]
        place.plot([number] * len(rates), rates, ".", color=COLORS[number])
        if rates:
            place.plot([number], [np.mean(rates)], "_", color=COLORS[number], markersize=18)
    place.set_yscale("symlog", linthresh=1e-6)
    place.set_xticks(range(len(schemes)), [data.paper.schemes[s].label for s in schemes])


# Section 5.3: figures 10 and 11.


def fig10_c1(data: Data) -> dict[str, float]:
    """(largest - smallest) / mean of the rates over the 200 ms up to 1.9 s after each arrival."""
    if not data.cells:
        return {}
    rates = list(flow_series(data.cells[0].result, "goodput_bps").values())
    out = {}
    for n in (2, 3, 4, 5):
        end = 2.0 * (n - 1) + 1.9
        x = [float(v[(t > end - 0.2) & (t <= end)].mean()) for t, v in rates[:n]]
        out[f"flow {n} at {2 * (n - 1)} s"] = (max(x) - min(x)) / float(np.mean(x))
    return out


def fig10_least_utilization(result: cp.Result) -> float:
    """The least utilization of 200 ms after the first half second."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "200ms")
    return float(used[t > 0.65].min())


def fig10_c3(data: Data) -> dict[str, float]:
    """The queue from 0.9 to 1.1 s after each arrival over its peak before."""
    if not data.cells:
        return {}
    t, queue = link_series(data.cells[0].result, "queue_pkts")
    out = {}
    for n in (2, 3, 4, 5):
        start = 2.0 * (n - 1)
        peak = float(queue[(t > start) & (t <= start + 1)].max())
        later = float(queue[(t > start + 0.9) & (t <= start + 1.1)].mean())
        out[f"flow {n} at {start:g} s"] = later / peak if peak else 0.0
    return out


def fig11_freed(result: cp.Result) -> float:
    """Seconds from the departure at 8 s until 95 % of the link are used again, over 40 ms."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "40ms")
    low = t[(t > 8) & (t < 12) & (used < 0.95)]
    if not len(low):
        return 0.0
    back = t[(t > low[0]) & (used >= 0.95)]
    return float(back[0] - 8) if len(back) else np.inf


def fig11_settling(result: cp.Result) -> float:
    """Seconds from the arrivals at 4 s until the queue stays within a tenth of the buffer of
    where it is in the second before the departure; means over 200 ms."""
    t, queue = windowed(*link_series(result, "queue_pkts"), "200ms")
    buffer = 500.0
    last = float(queue[(t > 7.05) & (t <= 8.05)].mean())
    far = t[(t > 4.05) & (t <= 8.05) & (np.abs(queue - last) > 0.1 * buffer)]
    return float(far[-1] - 4) if len(far) else 0.0


def fig11_swing(result: cp.Result) -> float:
    """The largest less the smallest utilization over 200 ms, from 9 s on."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "200ms")
    return float(np.ptp(used[t > 9.05]))


# Section 6: figure 12.

PRICED = {"f1": 5.0, "f2": 10 / 3, "f3": 5 / 3}
"""Mb/s with all three flows."""


def fig12_c1(data: Data) -> dict[str, float]:
    """Mean rates from 2 to 15 s over those expected."""
    if not data.cells:
        return {}
    rates = flow_series(data.cells[0].result, "goodput_bps")
    return {
        f"flow {name[1]}": float(v[(t > 2.05) & (t <= 15.05)].mean()) / 1e6 / PRICED[name]
        for name, (t, v) in rates.items()
    }


def fig12_c2(data: Data) -> float | None:
    """The second flow's rate over the third's, from a second after the first left up to 19.5 s."""
    if not data.cells:
        return None
    rates = flow_series(data.cells[0].result, "goodput_bps")
    begin = _first_left(data) + 1
    means = [v[(t > begin) & (t <= 19.5)].mean() for t, v in (rates["f2"], rates["f3"])]
    return float(means[0] / means[1])


def fig12_c3(data: Data) -> float | None:
    """Seconds until the second flow has 95 % of its new share, over 200 ms."""
    if not data.cells:
        return None
    t, rate = flow_series(data.cells[0].result, "goodput_bps")["f2"]
    begin = _first_left(data)
    there = t[(t > begin) & (rate >= 0.95 * 20e6 / 3)]
    return float(there[0] - begin) if len(there) else np.inf


def _first_left(data: Data) -> float:
    flows = data.cells[0].result.flows
    return float(flows["finish_s"][list(flows["group"]).index("f1")])


# Section 7: the policing agent.


def _caught(result: cp.Result) -> list[tuple[int, float, float]]:
    """Each flow that is flagged, when, and the time that it took [s]."""
    named = {
        name: flow_series(result, f"router_{name}")
        for name in ("flagged", "flagged_flow", "flagged_after")
    }
    out = []
    for link, (t, count) in named["flagged"].items():
        for when in t[np.diff(count, prepend=0.0) > 0]:
            flow, after = (
                values[np.searchsorted(at, when, side="right") - 1]
                for at, values in (named["flagged_flow"][link], named["flagged_after"][link])
            )
            out.append((int(flow), float(when), float(after)))
    return out


def _bad(result: cp.Result) -> list[int]:
    """The numbers of the flows that ignore feedback."""
    flows = result.flows
    pairs = zip(flows["flow"], flows["group"], strict=True)
    return [int(flow) for flow, group in pairs if group == "bad"]


def sec7_policing_c1(data: Data) -> dict[str, float]:
    """The longest time of each run until a flow that ignores feedback is flagged, in its RTTs
    meanwhile; infinite if one is not."""
    out = {}
    for cell in data.of("main"):
        bad, took = _bad(cell.result), []
        srtt = flow_series(cell.result, "srtt_s")
        for flow, end, after in _caught(cell.result):
            if flow in bad:
                t, rtt = srtt["bad" if len(bad) == 1 else f"bad {flow}"]
                # The estimates change with ACKs: the one that stands when it begins is of it, too.
                begin, last = np.searchsorted(t, [end - after, end], side="right")
                took.append(after / float(np.nanmean(rtt[max(begin - 1, 0) : last])))
        label = f"{cell.label} of them, run {cell.rep}"
        out[label] = max(took) if len(took) == len(bad) else np.inf
    return out


def sec7_policing_c2(data: Data) -> dict[str, Reading]:
    honest, main = data.of("honest"), data.of("main")
    if not honest or not main:
        return {}
    wrong = {
        "flagged with others": [
            float(sum(flow not in _bad(cell.result) for flow, *_ in _caught(cell.result)))
            for cell in main
        ],
        "flagged alone": [float(len(_caught(cell.result))) for cell in honest],
    }
    out = {name: Reading.of(name, n, 0.0, 0.0) for name, n in wrong.items()}
    name = "groups.fwd.goodput_mean_bps"
    alone = float(np.mean([cell.metrics[name] for cell in honest]))
    for x in sorted({cell.x for cell in main}):
        label = f"throughput, {x:g} isolated"
        rates = [cell.metrics[name] / alone for cell in main if cell.x == x]
        out[label] = Reading.of(label, rates, 0.95, np.inf)
    return out


# Section 8.1: a core of macro-flows.

MICRO_FAIR = 1.5e6
"""45 Mb/s over 30 flows."""


def _udp(cells: Sequence[Cell]) -> dict[float, list[float]]:
    """Each run's mean rate of UDP's flows over the fair share, by their part of the flows."""
    out: dict[float, list[float]] = {}
    for cell in cells:
        rate = float(np.mean(flow_goodputs(cell, "udp")))
        out.setdefault(cell.x, []).append(rate / MICRO_FAIR)
    return out


def sec8_1_corecsfq_c1(data: Data) -> dict[str, Reading]:
    claim = claim_of(data, "c1")
    return {
        f"UDP {x:g}": Reading.of(f"UDP {x:g}", rates, claim.lo, claim.hi)
        for x, rates in _udp(data.of("main", "core")).items()
    }


def _far_from_ideal(cell: Cell) -> dict[str, float]:
    """Unfairness over all flows (1 less Jain's index), unused part of the core, and its queue."""
    rates = np.array([r for g in ("tcp1", "tcp2", "udp") for r in flow_goodputs(cell, g)])
    return {
        "unfairness": 1 - float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())),
        "unused": 1 - cell.metrics["links.core.utilization_ratio"],
        "queue, of its buffer": cell.metrics["links.core.queue_mean_ratio"],
    }


def sec8_1_corecsfq_c2(data: Data) -> dict[str, float]:
    ours, theirs = data.of("main", "core"), data.of("plain", "core-csfq")
    out = {}
    for x in sorted({cell.x for cell in ours} & {cell.x for cell in theirs}):
        a, b = (
            [_far_from_ideal(cell) for cell in cells if cell.x == x] for cells in (ours, theirs)
        )
        for name in a[0]:
            more = np.mean([one[name] for one in b]) - np.mean([one[name] for one in a])
            out[f"UDP {x:g}, {name}"] = float(more)
    return out


def sec8_1_corecsfq_c3(data: Data) -> dict[str, float]:
    """The rate of a way of n flows over n times that of one of 5 flows over 5."""
    cells = data.of("weights")
    if not cells:
        return {}

    def rate(group: str) -> float:
        return float(np.mean([sum(flow_goodputs(cell, group)) for cell in cells]))

    return {
        f"{n} flows to 5": rate(group) / rate("tcp1") / (n / 5)
        for group, n in (("tcp2", 10), ("udp", 15))
    }


def sec8_1_udp(place: Any, data: Data) -> None:
    for number, scheme in enumerate(("core", "core-csfq", "core-red")):
        cells = data.of("plain" if number else "main", scheme)
        means = {x: float(np.mean(rates)) for x, rates in _udp(cells).items()}
        place.plot(
            list(means),
            [MICRO_FAIR / 1e6 * rate for rate in means.values()],
            color=COLORS[number],
            marker=MARKERS[number],
            label=data.paper.schemes[scheme].label,
        )
    place.axhline(MICRO_FAIR / 1e6, color="#888888", linewidth=0.7)
    place.set_xlabel("UDP flows over all flows")


# Section 8.2: figure 13.


def _mix(label: str) -> tuple[int, int]:
    """How many flows of TCP and of the other: of 3T+30X 3 and 30."""
    tcp, other = label.removesuffix("X").split("T+")
    return int(tcp), int(other)


def _normalized(data: Data, scheme: str, group: str) -> dict[str, list[float]]:
    """Each run's mean rate of a group over the fair share, by the mix."""
    out: dict[str, list[float]] = {}
    for cell in data.of("", scheme):
        fair = 45e6 / sum(_mix(cell.label))
        rate = float(np.mean(flow_goodputs(cell, group)))
        out.setdefault(cell.label, []).append(rate / fair)
    return out


def fig13_c1(data: Data) -> dict[str, Reading]:
    claim = claim_of(data, "c1")
    return {
        f"{name}, {mix}": Reading.of(f"{name}, {mix}", rates, claim.lo, claim.hi)
        for name, group in (("TCP", "tcp"), ("XCP", "other"))
        for mix, rates in _normalized(data, "friendly", group).items()
    }


def fig13_c2(data: Data) -> dict[str, float]:
    theirs = _normalized(data, "tfrc", "other")
    return {
        mix: float(np.mean(rates) / np.mean(theirs[mix]))
        for mix, rates in _normalized(data, "friendly", "other").items()
        if mix in theirs
    }


def fig13_c3(data: Data) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for cell in data.of("", "friendly"):
        tcp, other = _mix(cell.label)
        t, weight = link_series(cell.result, "router_w_t")
        late = float(weight[t > t[-1] / 2].mean())
        found.setdefault(cell.label, []).append(abs(late * (tcp + other) / tcp - 1))
    return {mix: float(np.mean(away)) for mix, away in found.items()}


def fig13_shares(place: Any, data: Data) -> None:
    lines = (("friendly", "tcp"), ("friendly", "other"), ("tfrc", "tcp"), ("tfrc", "other"))
    names = ("TCP beside XCP", "XCP", "TCP beside TFRC", "TFRC")
    mixes: list[str] = []
    for number, ((scheme, group), name) in enumerate(zip(lines, names, strict=True)):
        rates = _normalized(data, scheme, group)
        mixes = list(rates) or mixes
        means = [float(np.mean(one)) for one in rates.values()]
        place.plot(
            range(len(means)), means, color=COLORS[number], marker=MARKERS[number], label=name
        )
    place.axhline(1.0, color="#888888", linewidth=0.7)
    place.set_xticks(range(len(mixes)), mixes)


# Appendices A and C.


def appA_cost_c2(data: Data) -> dict[str, float]:
    """The least that is left to give and to take in any interval [bytes/s]."""
    if not data.cells:
        return {}
    return {
        name: float(link_series(data.cells[0].result, f"router_residue_{name}")[1].min())
        for name in ("pos", "neg")
    }


def fig16_unfair(result: cp.Result) -> float:
    """|x1 - x2| / (x1 + x2) over the last second."""
    rates = flow_series(result, "goodput_bps")
    x = [float(v[t > 9.05].mean()) for t, v in (rates["near"], rates["far"])]
    return abs(x[0] - x[1]) / (x[0] + x[1])
