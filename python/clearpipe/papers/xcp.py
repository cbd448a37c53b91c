"""XCP's claims that are computed, by the theory or from series; xcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi, sqrt
from typing import Any, Literal

import numpy as np
from scipy import optimize

import clearpipe as cp
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS, MARKERS
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.reproduce.tools import (
    base_rtts,
    by_label,
    by_replication,
    claim_of,
    exact,
    flow_goodputs,
    flow_series,
    link_of,
    link_series,
    windowed,
)
from clearpipe.theory import aqm, of_paths, xcp
from clearpipe.theory.lowmodel import xcp_feedback

# Sections 1 and 2.

AQMS: tuple[aqm.Aqm, ...] = ("red", "rem", "pi", "vq", "avq")
PACKETS = 125.0
"""Packets of 1000 bytes per second in 1 Mb/s."""


def _margin(name: aqm.Aqm, mbps: float = 150, rtt: float = 0.08, flows: int = 50) -> float:
    return aqm.margin(name, aqm.Path(mbps * PACKETS, rtt, flows)).phase_rad


CAPACITIES = (10, 100, 1000, 4000)
DELAYS = (0.04, 0.2, 0.8)


def sec1_aqm_capacity(_: Data) -> dict[str, float]:
    """The phase margin of each queue but AVQ at 4 Gb/s."""
    return {name.upper(): _margin(name, CAPACITIES[-1]) for name in AQMS[:-1]}


def sec1_aqm_delay(_: Data) -> dict[str, float]:
    """The phase margin of each queue but AVQ at 800 ms."""
    return {name.upper(): _margin(name, rtt=DELAYS[-1]) for name in AQMS[:-1]}


def sec1_aqm_avq(_: Data) -> dict[str, float]:
    """AVQ's phase margin at gigabits."""
    return {f"{c // 1000} Gb/s": _margin("avq", c) for c in CAPACITIES if c >= 1000}


def sec1_aqm_lost(_: Data) -> dict[str, float]:
    """Each queue's phase margin at the end of both ranges less that at the beginning. One that has
    no crossover, an infinite margin, cannot be nearer to the edge."""
    out = {}
    for name in AQMS:
        least, most = (_margin(name, c) for c in (CAPACITIES[0], CAPACITIES[-1]))
        out[f"{name.upper()}, capacity"] = most - least
        near, far = (_margin(name, rtt=d) for d in (DELAYS[0], DELAYS[-1]))
        out[f"{name.upper()}, delay"] = far - near
    return out


def sec1_aqm_increase(_: Data) -> dict[str, float]:
    """What Reno's 1 / w for each of the w ACKs of a round trip adds to N windows together, over N:
    windows of 2 to 200 packets, drawn by chance."""
    rng = np.random.default_rng(7)
    out = {}
    for n in (1, 10, 100, 1000):
        windows = rng.integers(2, 201, n)
        out[f"N = {n}"] = float(np.repeat(1 / windows, windows).sum()) / n
    return out


def sec1_aqm_flows(_: Data) -> dict[str, float]:
    """The least phase margin of each queue with 1 to 1000 flows."""
    return {name.upper(): min(_margin(name, flows=n) for n in (1, 10, 100, 1000)) for name in AQMS}


def sec1_aqm_feedback(_: Data) -> dict[str, float]:
    """What XCP adds in all with N flows over that with one, 20 of 100 packets/s being spare."""

    def added(n: int) -> float:
        return n * float(xcp_feedback(of_paths([100.0], [[0]], count=n), [80.0 / n]).net[0])

    return {f"N = {n}": added(n) / added(1) for n in (10, 100, 1000)}


def sec1_aqm_margins(place: Any, _: Data) -> None:
    rates = np.geomspace(5, 4000, 30)
    for color, name in zip(COLORS, AQMS, strict=False):
        values = [aqm.margin(name, aqm.Path(c * PACKETS, 0.08, 50)).phase_rad for c in rates]
        place.plot(rates, values, color=color, linewidth=1.2, label=name.upper())
    place.axhline(0, color="#888888", linewidth=0.7)
    place.set_xscale("log")
    place.set_xlabel("Capacity (Mb/s)")


def sec1_told_error(result: cp.Result) -> float:
    """The share of the losses found that are taken for errors of the line, where only it loses."""
    if link_of(result)["total_drops_pkts"]:
        return np.nan
    return 1 - _cut_share(result)


def sec1_told_congestion(result: cp.Result) -> float:
    """The share of the losses found that are taken for congestion, where only the queue drops."""
    if link_of(result)["total_lost_pkts"]:
        return np.nan
    return _cut_share(result)


def _cut_share(result: cp.Result) -> float:
    """How many of the losses that duplicate ACKs tell of cut the window; a timeout makes it one
    packet and is none of them. NaN if they tell of none."""
    cuts = sum(
        int(((window[1:] < 0.7 * window[:-1]) & (window[1:] > 1)).sum())
        for _, window in flow_series(result, "cwnd_pkts").values()
    )
    found = _told(result)
    return cuts / found if found else np.nan


def _told(result: cp.Result) -> int:
    """How many losses duplicate ACKs tell of."""
    flows = result.flows
    pairs = zip(flows["group"], flows["fast_retransmits"], strict=True)
    return sum(int(number) for group, number in pairs if group == "fwd")


# Section 3.


def _handed_out(phi: float) -> tuple[Any, Any, Any]:
    """Per flow, its rate and the change of its rate that equations (5) to (9) give and take in an
    interval d, packet by packet."""
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
    given = np.bincount(flow, p / rtt[flow], flows)
    taken = np.bincount(flow, n / rtt[flow], flows)
    return rate, given, taken


def _held(series: tuple[Any, Any], t: Any, side: Literal["left", "right"] = "right") -> Any:
    """A series' values from these times on, or until them."""
    at, values = series
    return values[np.searchsorted(at, t, side=side) - 1]


PHIS = (0.3, 0.05, 0.0, -0.05, -0.3)


def sec3_controllers_sums(_: Data) -> dict[str, float]:
    """The relative error of the sums over packets of feedback over RTT against (h + max(+-phi, 0))
    / d, by equations (4) to (9)."""
    out = {}
    for phi in PHIS:
        rate, *changes = _handed_out(phi)
        y = float(rate.sum())
        h = max(0.0, 0.1 - abs(phi)) * y
        for told, sign, change in zip(("given", "taken"), (1, -1), changes, strict=True):
            wanted = h + max(sign * phi, 0.0) * y
            error = abs(float(change.sum()) - wanted) / (wanted or 1.0)
            out[f"{told}, phi = {phi:g} y d"] = error
    return out


def sec3_controllers_set(data: Data) -> dict[str, float]:
    """The largest relative error of what the router sets out to give and to take at the start of
    an interval."""
    if not data.of("main"):
        return {}
    result = data.of("main")[0].result
    named = {
        name: link_series(result, f"router_{name}")
        for name in ("phi", "h", "avg_rtt", "residue_pos", "residue_neg")
    }
    begin = np.unique(np.concatenate([named[name][0] for name in ("phi", "h", "avg_rtt")]))
    # The interval before the first estimate has nothing to hand out.
    begin = begin[begin > 0]
    phi, h, d = (_held(named[name], begin) for name in ("phi", "h", "avg_rtt"))
    out = {}
    for told, sign, residue in (("give", 1, "residue_pos"), ("take", -1, "residue_neg")):
        wanted = (h + np.maximum(sign * phi, 0)) / d
        error = np.abs(_held(named[residue], begin) - wanted) / np.where(wanted > 0, wanted, 1)
        out[f"to {told}, of {len(begin)} intervals"] = float(error.max())
    return out


def _allotted(data: Data) -> tuple[Any, list[tuple[Any, Any]]]:
    """The traffic y of each whole control interval from the first estimate of the RTT on, as it was
    when the interval began; and what was to be given, and to be taken, then and at its end."""
    result = data.of("main")[0].result
    names = ("phi", "h", "avg_rtt")
    begin = np.unique(np.concatenate([link_series(result, f"router_{name}")[0] for name in names]))
    # The first RTT is the one that stands before any packet has told its own.
    begin = begin[begin >= link_series(result, "router_avg_rtt")[0][1]]
    residues = [link_series(result, f"router_residue_{name}") for name in ("pos", "neg")]
    y = _held(link_series(result, "router_input_traffic"), begin[:-1])
    return y, [(_held(one, begin[:-1]), _held(one, begin[1:], "left")) for one in residues]


def sec3_controllers_left(data: Data) -> dict[str, float]:
    """The largest part of what the router sets out to give, and to take, in an interval that its
    packets have left of it at the end."""
    if not data.of("main"):
        return {}
    out = {}
    for told, (first, last) in zip(("give", "take"), _allotted(data)[1], strict=True):
        some = first > 0
        out[f"to {told}, of {some.sum()} intervals"] = float((last[some] / first[some]).max())
    return out


def sec3_controllers_moved(data: Data) -> float | None:
    """The least that packets are given or have taken from them in an interval, whichever is more,
    over the traffic."""
    if not data.of("main"):
        return None
    y, residues = _allotted(data)
    given, taken = (first - last for first, last in residues)
    return float((np.maximum(given, taken) / y).min())


def sec3_controllers_increase(_: Data) -> dict[str, float]:
    """How far the increase of any flow's rate is from the mean, over it."""
    rises = {phi: _handed_out(phi)[1] for phi in PHIS}
    return {f"phi = {phi:g} y d": _farthest_off(p) for phi, p in rises.items() if p.any()}


def sec3_controllers_decrease(_: Data) -> dict[str, float]:
    """How far the decrease of any flow's rate over that rate is from the mean, over it."""
    out = {}
    for phi in PHIS:
        rate, _given, taken = _handed_out(phi)
        if taken.any():
            out[f"phi = {phi:g} y d"] = _farthest_off(taken / rate)
    return out


def _farthest_off(values: Any) -> float:
    mean = values.mean()
    return float(np.abs(values - mean).max() / mean)


def _intervals(data: Data) -> tuple[Any, Any, Any]:
    """h, |phi| and the traffic y d at the end of each of the router's control intervals in which it
    knew an RTT and had traffic."""
    result = data.of("main")[0].result
    t, y = link_series(result, "router_input_traffic")
    h, phi, d = (
        _held(link_series(result, f"router_{name}"), t) for name in ("h", "phi", "avg_rtt")
    )
    phi, came = np.abs(phi), y * d
    known = (came > 0) & (d > 0)
    return h[known], phi[known], came[known]


def sec3_controllers_shuffled(data: Data) -> dict[str, float]:
    """(h + |phi|) over the traffic, of the intervals in which phi is less than a tenth of it."""
    if not data.of("main"):
        return {}
    h, phi, came = _intervals(data)
    part = ((h + phi) / came)[phi < 0.1 * came]
    return {"least": float(part.min()), "most": float(part.max())}


def sec3_controllers_least(data: Data) -> float | None:
    """The least (h + |phi|) over the traffic of all intervals."""
    if not data.of("main"):
        return None
    h, phi, came = _intervals(data)
    return float(((h + phi) / came).min())


def sec3_controllers_beyond(data: Data) -> float | None:
    """The largest h over the traffic of the intervals in which phi is more than a tenth of it."""
    if not data.of("main"):
        return None
    h, phi, came = _intervals(data)
    beyond = phi > 0.1 * came
    return float((h / came)[beyond].max()) if beyond.any() else None


def sec3_shuffled(place: Any, data: Data) -> None:
    h, phi, came = _intervals(data)
    place.plot(phi / came, h / came, ".", color=COLORS[0], markersize=3)
    place.set_xlabel("|phi| / (y d)")


def sec3_controllers_c5(data: Data) -> float | None:
    """Round trips from the first estimate of the RTT until the window is that of 20 Mb/s."""
    for cell in data.of("request"):
        t, window = flow_series(cell.result, "sender_cwnd")["fwd"]
        at, srtt = flow_series(cell.result, "srtt_s")["fwd"]
        there = t[window >= 20e6 * 0.08 / 8000]
        if not len(there):
            return Censored((float(t[-1]) - float(at[0])) / float(srtt[0]))
        return float((there[0] - at[0]) / srtt[0])
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


def thm1_alpha(_: Data) -> float:
    """The router's alpha over the theorem's bound."""
    return float(_router()["alpha"]) / EDGE


def thm1_beta(_: Data) -> dict[str, float]:
    """The beta that the theorem wants for the router's alpha, and the router's."""
    router = _router()
    return {"alpha^2 sqrt 2": xcp.theorem_beta(router["alpha"]), "beta": router["beta"]}


def _router() -> dict[str, Any]:
    """The parameters of XCP's router by default."""
    found = next(one["params"] for one in cp.queues() if one["name"] == "xcp")
    return {parameter["name"]: parameter["default"] for parameter in found}


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
    for n in (1, 10, 1000):
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


def fig14_c1(_: Data) -> dict[str, float]:
    """Crossover and zero, beta / alpha, both times d, on the curve."""
    beta = xcp.theorem_beta(0.4)
    return {"omega_c d": xcp.margins(0.4, beta).crossover, "omega_z d": beta / 0.4}


def fig14_c4(_: Data) -> dict[str, float]:
    loop = xcp.margins(EDGE, xcp.theorem_beta(EDGE))
    return {"phase margin": loop.phase_rad, "gain margin less 1": loop.gain - 1}


def fig14_c5(_: Data) -> dict[str, float]:
    """The largest difference of the margins, and of the delay margin over d, for d up to 10 s; and
    with the gain that the router's equations have at each capacity and number of flows."""
    gains = [_gain(c * PACKETS, n) for c in (1.5, 155, 4000) for n in (1, 10, 1000)]
    ranges = {
        "d": [_margins_in_seconds(d) for d in (1e-3, 0.01, 0.08, 1.0, 10.0)],
        "c, N": [_margins_in_seconds(0.08, alpha) for alpha in gains],
    }
    names = ("phase margin", "gain margin", "delay margin over d")
    return {
        f"{name}, by {over}": max(found) - min(found)
        for over, rows in ranges.items()
        for name, found in zip(names, zip(*rows, strict=True), strict=True)
    }


def _gain(capacity: float, flows: int) -> float:
    """alpha as equations (1) to (9) have it: what the feedback of all flows together loses when
    their traffic grows, over that growth; around 0.99 of the capacity."""
    network = of_paths([capacity], [[0]], count=flows)
    loads = np.array([0.985, 0.995]) * capacity
    told = [flows * float(xcp_feedback(network, [y / flows]).net[0]) for y in loads]
    return (told[0] - told[1]) / float(loads[1] - loads[0])


def _margins_in_seconds(d: float, alpha: float = xcp.ALPHA) -> tuple[float, float, float]:
    """Phase margin, gain margin and delay margin over d of the loop in plain units: the roots of
    |G| = 1 and of its angle = -pi, G = (K1 s + K2) exp(-s d) / s^2."""
    k1, k2 = alpha / d, xcp.BETA / d**2

    def gain(omega: float) -> float:
        return abs(complex(k2, k1 * omega)) / omega**2

    def phase(omega: float) -> float:
        return float(np.arctan2(k1 * omega, k2)) - omega * d

    crossover = float(optimize.brentq(lambda omega: gain(omega) - 1, 1e-3, 1e5, rtol=1e-14))
    turnover = float(optimize.brentq(phase, 1e-3, 1e5, rtol=1e-14))
    return phase(crossover), 1 / gain(turnover), phase(crossover) / crossover / d


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


# Sections 5.1 and 5.2: figures 4 to 9.


def _dropped(cell: Cell) -> float:
    return cell.metrics["links.bottleneck.total_drops_pkts"]


def sec5_1_cause(data: Data) -> dict[str, Reading]:
    """Utilization and queue over RED over those over DropTail, where neither drops a packet: the
    pair of runs that is farthest off."""
    beside = {"xcp": "xcp-red", "xcp-acks": "xcp-acks-red"}
    cells = {(cell.scheme, cell.label, cell.rep): cell for cell in data.of()}
    claim = claim_of(data, "c1.d")
    out = {}
    for column in ("utilization_ratio", "queue_mean_pkts"):
        name = f"links.bottleneck.{column}"
        ratios = [
            over.metrics[name] / plain.metrics[name]
            for (scheme, label, rep), plain in cells.items()
            if (over := cells.get((beside.get(scheme, ""), label, rep))) is not None
            if not _dropped(plain) and not _dropped(over)
        ]
        if ratios:
            told = f"{column.split('_')[0]}, of {len(ratios)} pairs"
            farthest = max(ratios, key=lambda ratio: abs(ratio - 1))
            out[told] = Reading(told, exact(farthest), claim.lo, claim.hi)
    return out


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


def fig06_window(result: cp.Result) -> float:
    """The mean window: a flow's rate times its RTT with the queue, in packets."""
    rates = _group_rates(result, "fwd")
    rtt = 0.08 + float(link_of(result)["queue_mean_bytes"]) * 8 / 150e6
    return float(np.mean(rates)) * rtt / 8000


def _group_rates(result: cp.Result, group: str) -> list[float]:
    flows = result.flows
    pairs = zip(flows["group"], flows["goodput_bps"], strict=True)
    return [float(rate or 0.0) for name, rate in pairs if name == group]


def fig06_c3(data: Data) -> Mapping[str, Reading]:
    """The mean queue of 1000 flows over that of 100."""

    def queue(one: Data, flows: float) -> float:
        (cell,) = [cell for cell in one.cells if cell.x == flows]
        return cell.metrics["links.bottleneck.queue_mean_pkts"]

    ends = [cell for cell in data.of("", "xcp") if cell.x in (100, 1000)]
    return by_replication(data, "c3.a", ends, lambda one: {"": queue(one, 1000) / queue(one, 100)})


def fig07_c3(data: Data) -> dict[str, float]:
    """The least number of short flows that came in any 80 ms of a run, one after the other, at 800
    each second."""
    out = {}
    for cell in data.of("", "xcp-red"):
        transfers = cell.result.transfers
        if cell.x == 800 and transfers is not None:
            starts = np.asarray(transfers["start_s"], dtype=float)
            ends = np.arange(0.0, float(starts.max()), 0.08)
            out[f"run {cell.rep}"] = float(np.histogram(starts, ends)[0].min())
    return out


def fig07_nearer(data: Data) -> float | None:
    """How much nearer, as a factor, the share that XCP drops is to that of TCP over RED at 1000/s
    than at 900/s."""

    def off(scheme: str, x: float) -> float:
        arrived = "links.bottleneck.total_arrivals_pkts"
        cells = [cell for cell in data.of("", scheme) if cell.x == x]
        return float(np.mean([_dropped(cell) / cell.metrics[arrived] for cell in cells]))

    if not {900.0, 1000.0} <= {cell.x for cell in data.cells}:
        return None
    far, near = (abs(np.log(off("xcp-red", x) / off("red", x))) for x in (900, 1000))
    return float(np.exp(far - near))


def fig08a_spread(data: Data) -> Mapping[str, Reading]:
    """(most - least) / (most + least) of the flows' rates."""

    def spread(cell: Cell) -> float:
        rates = flow_goodputs(cell, "fwd")
        return (max(rates) - min(rates)) / (max(rates) + min(rates))

    return by_label(data, "c1.b", data.of("", "xcp"), spread)


def _jain(cell: Cell) -> float:
    return cell.metrics["groups.fwd.jain_index_ratio"]


def fig08b_bias(data: Data) -> Mapping[str, Reading]:
    """What XCP's throughput gains over its mean from the shortest to the longest RTT, by the slope
    of a straight line."""

    def gain(cell: Cell) -> float:
        return _slope(cell) * float(np.ptp(base_rtts(cell.result, "fwd")))

    return by_label(data, "c1.b", data.of("", "xcp"), gain)


def _slope(cell: Cell) -> float:
    """The slope of throughput over its mean against the RTT [1/s]."""
    rates = np.array(flow_goodputs(cell, "fwd"))
    return float(np.polyfit(base_rtts(cell.result, "fwd"), rates / rates.mean(), 1)[0])


def _slopes(data: Data) -> dict[str, list[float]]:
    """The slope of throughput over its mean against the RTT [1/s], of each run of each TCP."""
    found = {
        scheme: [_slope(cell) for cell in data.of("", scheme)]
        for scheme in data.paper.groups["tcp"]
    }
    return {scheme: slopes for scheme, slopes in found.items() if slopes}


def fig08b_slopes(data: Data) -> Mapping[str, Reading]:
    claim = claim_of(data, "c2.a")
    return {
        name: Reading.of(data.paper.schemes[name].label, slopes, claim.lo, claim.hi)
        for name, slopes in _slopes(data).items()
    }


def fig08b_csfq_least(data: Data) -> dict[str, Reading]:
    """How much steeper TCP's throughput falls over each other queue than over CSFQ."""
    slopes, claim = _slopes(data), claim_of(data, "c2.b")
    least = slopes.pop("csfq", [])
    out = {}
    for name, others in slopes.items():
        if len(others) == len(least):
            label = data.paper.schemes[name].label
            steeper = [a - b for a, b in zip(least, others, strict=True)]
            out[label] = Reading.of(label, steeper, claim.lo, claim.hi)
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


def _least_used(cell: Cell) -> float:
    """Of the nine links."""
    return float(_of_chain(cell, "utilization_ratio").min())


def _of_chain(cell: Cell, column: str, links: Sequence[str] = CHAIN) -> Any:
    return np.array([cell.metrics[f"links.{link}.{column}"] for link in links])


def fig09_c3(data: Data) -> Mapping[str, Reading]:
    claim = claim_of(data, "c3.a")
    values = [
        float(
            _of_chain(cell, "utilization_ratio", CHAIN[5:]).mean()
            - _of_chain(cell, "utilization_ratio", CHAIN[:4]).mean()
        )
        for cell in data.of("main", "xcp")
    ]
    return {"XCP": Reading.of("XCP", values, claim.lo, claim.hi)} if values else {}


def fig09_residues(data: Data) -> float | None:
    """The share of the time in which nothing is left to take, in the second half of the run: the
    mean of links 6 to 9 less that of links 1 to 4."""
    if not data.of("inside"):
        return None
    result = data.of("inside")[0].result

    def spent(link: str) -> float:
        t, left = link_series(result, "router_residue_neg", link)
        return float((left[t > t[-1] / 2] <= 0).mean())

    before, behind = ([spent(link) for link in links] for links in (CHAIN[:4], CHAIN[5:]))
    return float(np.mean(behind) - np.mean(before))


def fig09_queues(data: Data) -> Mapping[str, Reading]:
    """XCP's queue over TCP's, at the link where it is most."""

    def most(ours: Any, theirs: Any) -> float:
        return float((ours / theirs).max())

    return _beside_xcp(data, "c4.a", "queue_mean_pkts", most)


def fig09_given(data: Data) -> Mapping[str, Reading]:
    """TCP's utilization less XCP's, in the mean of the links."""

    def more(ours: Any, theirs: Any) -> float:
        return float((theirs - ours).mean())

    return _beside_xcp(data, "c4.b", "utilization_ratio", more)


def _beside_xcp(
    data: Data, short: str, column: str, joined: Callable[[Any, Any], float]
) -> Mapping[str, Reading]:
    """For each TCP XCP's numbers of the links and its own, joined run by run."""

    def of_schemes(one: Data) -> dict[str, float]:
        ours, theirs = (
            {
                cell.scheme: _of_chain(cell, column)
                for cell in one.of("main")
                if cell.scheme in names
            }
            for names in (["xcp"], data.paper.groups["tcp"])
        )
        labels = {scheme: data.paper.schemes[scheme].label for scheme in theirs}
        return {labels[scheme]: joined(ours["xcp"], links) for scheme, links in theirs.items()}

    return by_replication(data, short, data.of("main"), of_schemes)


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
    "fair": lambda x: 30e6 / 30 * 0.04 / 8000,
    # Of the nearest flow.
    "fair-rtts": lambda x: 30e6 / 30 * 0.04 / 8000,
}


def _drop_rates(data: Data, scheme: str) -> list[tuple[str, float]]:
    """Part and drop rate of each run in which a flow's share is above one packet."""
    # XCP is over RED where short flows come.
    cells = data.of("", scheme) + (data.of("web", "xcp-red") if scheme == "xcp" else [])
    out = []
    for cell in cells:
        if SHARES[cell.part](cell.x) <= 1:
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


def sec5_2_targetqueue(data: Data) -> dict[str, Reading]:
    """The mean over the runs of the utilization of the link that is used least, with each q0; that
    of the best q0."""
    claim = claim_of(data, "c1.a")
    found: dict[str, list[float]] = {}
    for cell in data.of("", "xcp"):
        found.setdefault(cell.label, []).append(_least_used(cell))
    if not found:
        return {}
    best = max(found, key=lambda label: np.mean(found[label]))
    return {f"q0 = {best}": Reading.of(f"q0 = {best}", found[best], claim.lo, claim.hi)}


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


def fig10_alone(data: Data) -> dict[str, float]:
    """The spread after each arrival with nothing the other way."""
    cells = data.of("main")
    return _spreads(cells[0].result) if cells else {}


def fig10_back(data: Data) -> dict[str, Reading]:
    """After each arrival that of the run in which it is largest."""
    return _largest(data, "c1.b", _spreads)


def _largest(
    data: Data, short: str, found: Callable[[cp.Result], dict[str, float]]
) -> dict[str, Reading]:
    """The largest of all runs with flows back of each of these numbers."""
    claim = claim_of(data, short)
    rows = [found(cell.result) for cell in data.of("back")]
    names = rows[0] if rows else {}
    return {
        name: Reading(name, exact(max(row[name] for row in rows)), claim.lo, claim.hi)
        for name in names
    }


def _spreads(result: cp.Result) -> dict[str, float]:
    """(largest - smallest) / mean of the rates over the 200 ms up to 1.9 s after each arrival;
    infinite where no flow has any, which is no split."""
    series = flow_series(result, "goodput_bps")
    rates = [found for name, found in series.items() if name.startswith("fwd")]
    out = {}
    for n in (2, 3, 4, 5):
        end = 2.0 * (n - 1) + 1.9
        x = [float(v[(t > end - 0.2) & (t <= end)].mean()) for t, v in rates[:n]]
        mean = float(np.mean(x))
        out[f"flow {n} at {2 * (n - 1)} s"] = (max(x) - min(x)) / mean if mean > 0 else np.inf
    return out


def fig10_least_utilization(result: cp.Result) -> float:
    """The least utilization of any 200 ms after the first half second."""
    t, used = link_series(result, "utilization_ratio")
    later = used[t > 0.505]  # each value is of the 10 ms up to its time
    return float(np.convolve(later, np.full(20, 1 / 20), "valid").min())


def fig10_drained(data: Data) -> dict[str, float]:
    """What is left of the queue with nothing the other way."""
    cells = data.of("main")
    return _left(cells[0].result) if cells else {}


def fig10_drained_back(data: Data) -> dict[str, Reading]:
    """After each arrival what is left in the run in which it is most."""
    return _largest(data, "c3.c", _left)


def _left(result: cp.Result) -> dict[str, float]:
    """The queue from 0.9 to 1.1 s after each arrival over its peak before; infinite if there was
    none, which has absorbed nothing."""
    t, queue = link_series(result, "queue_pkts")
    out = {}
    for n in (2, 3, 4, 5):
        start = 2.0 * (n - 1)
        peak = float(queue[(t > start) & (t <= start + 1)].max())
        later = float(queue[(t > start + 0.9) & (t <= start + 1.1)].mean())
        out[f"flow {n} at {start:g} s"] = later / peak if peak else np.inf
    return out


def fig11_freed(result: cp.Result) -> float:
    """Seconds from the departure at 8 s until 95 % of the link are used again, over 40 ms."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "40ms")
    low = t[(t > 8) & (t < 12) & (used < 0.95)]
    if not len(low):
        return 0.0
    back = t[(t > low[0]) & (used >= 0.95)]
    return float(back[0] - 8) if len(back) else Censored(float(t[-1] - 8))


def fig11_settling(result: cp.Result) -> float:
    """Seconds from the arrivals at 4 s to the last time before the departure at 8 s at which the
    queue is a tenth of the buffer or more from its mean of the last second; means over 200 ms."""
    t, queue = windowed(*link_series(result, "queue_pkts"), "200ms")
    buffer = 500.0
    last = float(queue[(t > 7.05) & (t <= 8.05)].mean())
    far = t[(t > 4.05) & (t <= 8.05) & (np.abs(queue - last) > 0.1 * buffer)]
    return float(far[-1] - 4) if len(far) else 0.0


def fig11_swing(result: cp.Result) -> float:
    """The largest fall of utilization over 200 ms once 95 % of the link are used again after the
    departure at 8 s: the climb to there is no oscillation. NaN if that never is."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "200ms")
    low = t[(t > 8.05) & (used < 0.95)]
    back = t[(t > (low[0] if len(low) else 8.05)) & (used >= 0.95)]
    if not len(back):
        return np.nan
    later = used[t >= back[0]]
    return float((np.maximum.accumulate(later) - later).max())


def fig11_oscillations(result: cp.Result) -> float:
    """How often the queue falls by a fifth of the buffer and rises by that much again after the
    departure; means over 200 ms."""
    t, queue = windowed(*link_series(result, "queue_pkts"), "200ms")
    swing, falls, turn, falling = 0.2 * 500, 0, float(queue[t > 8.05][0]), False
    for value in queue[t > 8.05]:
        # The turning point since the last swing: the lowest while it falls, else the highest.
        turn = min(turn, float(value)) if falling else max(turn, float(value))
        if abs(value - turn) >= swing:
            falling, turn = not falling, float(value)
            falls += not falling
    return float(falls)


def fig11_caused(data: Data) -> dict[str, Reading]:
    """How much more often the queue falls and rises again than with the ten flows by themselves."""
    alone = {cell.rep: fig11_oscillations(cell.result) for cell in data.of("alone")}
    more = [
        fig11_oscillations(cell.result) - alone[cell.rep]
        for cell in data.of("main", "red")
        if cell.rep in alone
    ]
    claim = claim_of(data, "c4.c")
    return {"": Reading.of("", more, claim.lo, claim.hi)} if more else {}


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


def fig12_c3(data: Data) -> dict[str, float]:
    """Seconds until the second and third flow have 95 % of their new shares, over 200 ms."""
    if not data.cells:
        return {}
    rates, begin = flow_series(data.cells[0].result, "goodput_bps"), _first_left(data)
    out = {}
    for name, share in (("f2", 20e6 / 3), ("f3", 10e6 / 3)):
        t, rate = rates[name]
        there = t[(t > begin) & (rate >= 0.95 * share)]
        took = float(there[0] - begin) if len(there) else Censored(float(t[-1] - begin))
        out[f"flow {name[1]}"] = took
    return out


def _first_left(data: Data) -> float:
    flows = data.cells[0].result.flows
    return float(flows["finish_s"][list(flows["group"]).index("f1")])


# Section 7: the policing agent.


def _caught(result: cp.Result) -> dict[int, tuple[float, float]]:
    """When each flow that is flagged is so for the first time at any link, and the time that it
    took [s]."""
    named = {
        name: flow_series(result, f"router_{name}")
        for name in ("flagged", "flagged_flow", "flagged_after")
    }
    found = []
    for link, (t, count) in named["flagged"].items():
        for when in t[np.diff(count, prepend=0.0) > 0]:
            flow, after = (
                values[np.searchsorted(at, when, side="right") - 1]
                for at, values in (named["flagged_flow"][link], named["flagged_after"][link])
            )
            found.append((float(when), float(after), int(flow)))
    return {flow: (when, after) for when, after, flow in sorted(found, reverse=True)}


def _bad(result: cp.Result) -> list[int]:
    """The numbers of the flows that ignore feedback."""
    flows = result.flows
    pairs = zip(flows["flow"], flows["group"], strict=True)
    return [int(flow) for flow, group in pairs if group == "bad"]


def sec7_policing_c1(data: Data) -> dict[str, float]:
    """The longest time of each run until a flow that ignores feedback is flagged, in its RTTs
    meanwhile; at least the whole run if one is not."""
    out = {}
    for cell in data.of("main"):
        bad, took = _bad(cell.result), []
        srtt = flow_series(cell.result, "srtt_s")
        for flow, (end, after) in _caught(cell.result).items():
            if flow in bad:
                t, rtt = srtt["bad" if len(bad) == 1 else f"bad {flow}"]
                # The estimates change with ACKs: the one that stands when it begins is of it, too.
                begin, last = np.searchsorted(t, [end - after, end], side="right")
                took.append(after / float(np.nanmean(rtt[max(begin - 1, 0) : last])))
        label = f"{cell.label} of them, run {cell.rep}"
        whole = max(float(t[-1]) / float(np.nanmean(rtt)) for t, rtt in srtt.values())
        out[label] = max(took) if len(took) == len(bad) else Censored(whole)
    return out


def sec7_policing_flagged(data: Data) -> Mapping[str, Reading]:
    """Honest flows that are flagged in a run."""
    honest, main = data.of("honest"), data.of("main")
    if not honest or not main:
        return {}
    wrong = {
        "with others": [
            float(len(_caught(cell.result).keys() - set(_bad(cell.result)))) for cell in main
        ],
        "alone": [float(len(_caught(cell.result))) for cell in honest],
    }
    claim = claim_of(data, "c2.a")
    return {name: Reading.of(name, n, claim.lo, claim.hi) for name, n in wrong.items()}


def sec7_policing_restored(data: Data) -> Mapping[str, Reading]:
    """Honest flows' mean rate beside isolated flows over that without any."""
    honest = data.of("honest")
    if not honest:
        return {}
    name = "groups.fwd.goodput_mean_bps"
    alone = float(np.mean([cell.metrics[name] for cell in honest]))
    return by_label(data, "c2.b", data.of("main"), lambda cell: cell.metrics[name] / alone)


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


def sec8_1_most(data: Data) -> Mapping[str, Reading]:
    """The rate over the fair share of the UDP flow that has most."""

    def most(cell: Cell) -> float:
        return max(flow_goodputs(cell, "udp")) / MICRO_FAIR

    return by_label(data, "c1.a", data.of("main", "core"), most)


def sec8_1_least(data: Data) -> Mapping[str, Reading]:
    """The rate over the fair share of the UDP flow that has least."""

    def least(cell: Cell) -> float:
        return min(flow_goodputs(cell, "udp")) / MICRO_FAIR

    return by_label(data, "c1.b", data.of("main", "core"), least)


def _csfq_less_ours(data: Data, part: str, value: Callable[[Cell], float]) -> Mapping[str, Reading]:
    """A number of CSFQ's runs less that of XCP's core, by UDP's part."""
    ours = {(cell.x, cell.rep): value(cell) for cell in data.of("main", "core")}
    return {
        f"UDP {label}": reading
        for label, reading in by_label(
            data,
            f"c2.{part}",
            [cell for cell in data.of("plain", "core-csfq") if (cell.x, cell.rep) in ours],
            lambda cell: value(cell) - ours[cell.x, cell.rep],
        ).items()
    }


def sec8_1_fairness(data: Data) -> Mapping[str, Reading]:
    """Of 1 less Jain's index over all flows."""

    def unfair(cell: Cell) -> float:
        rates = np.array([r for g in ("tcp1", "tcp2", "udp") for r in flow_goodputs(cell, g)])
        return 1 - float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))

    return _csfq_less_ours(data, "a", unfair)


def sec8_1_utilization(data: Data) -> Mapping[str, Reading]:
    """Of the unused part of the core."""
    return _csfq_less_ours(data, "b", lambda cell: 1 - cell.metrics["links.core.utilization_ratio"])


def sec8_1_queue(data: Data) -> Mapping[str, Reading]:
    """Of the core's queue over its buffer."""
    return _csfq_less_ours(data, "c", lambda cell: cell.metrics["links.core.queue_mean_ratio"])


def sec8_1_delay(data: Data) -> Mapping[str, Reading]:
    """Of the mean RTT estimate of the SACK flows at the end [s]."""

    def rtt(cell: Cell) -> float:
        flows = cell.result.flows
        pairs = zip(flows["group"], flows["srtt_s"], strict=True)
        return float(np.mean([float(srtt) for group, srtt in pairs if group != "udp"]))

    return _csfq_less_ours(data, "d", rtt)


def sec8_1_corecsfq_c3(data: Data) -> Mapping[str, Reading]:
    """The rate of a way of n flows over n times that of one of 5 flows over 5."""

    def shares(one: Data) -> dict[str, float]:
        (cell,) = one.of("weights")
        first, *others = (sum(flow_goodputs(cell, group)) for group in ("tcp1", "tcp2", "udp"))
        return {
            f"{n} flows to 5": rate / first / (n / 5)
            for n, rate in zip((10, 15), others, strict=True)
        }

    return by_replication(data, "c3", data.of("weights"), shares)


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


def _farthest(data: Data, scheme: str) -> dict[str, float]:
    """The factor by which TCP or the other is farther from its fair share, by the mix; of one
    replication."""
    tcp, other = (_normalized(data, scheme, group) for group in ("tcp", "other"))
    return {
        mix: max(max(rate, 1 / rate) for rate in (*tcp[mix], *rates))
        for mix, rates in other.items()
    }


def fig13_c2(data: Data) -> Mapping[str, Reading]:
    """The friendly XCP's factor over TFRC's."""

    def beside(one: Data) -> dict[str, float]:
        theirs = _farthest(one, "tfrc")
        ours = _farthest(one, "friendly")
        return {mix: ours[mix] / theirs[mix] for mix in ours if mix in theirs}

    return by_replication(data, "c2", data.of(), beside)


def _late(cell: Cell, name: str) -> float:
    """The mean of a variable of the router in the second half of the run."""
    t, values = link_series(cell.result, f"router_{name}")
    return float(values[t > t[-1] / 2].mean())


def fig13_windows(data: Data) -> Mapping[str, Reading]:
    """How far the mean windows of the second half are apart."""

    def apart(cell: Cell) -> float:
        return abs(_late(cell, "cwnd_tcp") / _late(cell, "cwnd_xcp") - 1)

    return by_label(data, "c3.a", data.of("", "friendly"), apart)


def fig13_weights(data: Data) -> Mapping[str, Reading]:
    """How far the T-queue's weight is from its mean at most, in the last quarter."""

    def changed(cell: Cell) -> float:
        t, weight = link_series(cell.result, "router_w_t")
        return _farthest_off(weight[t > 0.75 * t[-1]])

    return by_label(data, "c3.b", data.of("", "friendly"), changed)


def fig13_shares(place: Any, data: Data) -> None:
    schemes = {"friendly": "XCP", "friendly-rates": "XCP, equal rates", "tfrc": "TFRC"}
    lines = [
        (scheme, group, name if group == "other" else f"TCP beside {name}")
        for scheme, name in schemes.items()
        for group in ("tcp", "other")
    ]
    mixes: list[str] = []
    for number, (scheme, group, name) in enumerate(lines):
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
    """The least that is left to give and to take, at any packet, times the interval [bytes]."""
    if not data.cells:
        return {}
    result = data.cells[0].result
    at, d = link_series(result, "router_avg_rtt")
    out = {}
    for name in ("pos", "neg"):
        t, residue = link_series(result, f"router_residue_{name}")
        known = t >= at[0]
        interval = d[np.searchsorted(at, t[known], side="right") - 1]
        out[name] = float((residue[known] * interval).min())
    return out


def fig16_nearest(result: cp.Result) -> float:
    """The least |x1 - x2| / (x1 + x2) over 200 ms while neither has sent all."""
    (t, near), (_, far) = (flow_series(result, "goodput_bps")[name] for name in ("near", "far"))
    ends = [float(end) for end in result.flows["finish_s"] if end is not None]
    both = (t <= min(ends, default=np.inf)) & (near + far > 0)
    return float((np.abs(near - far)[both] / (near + far)[both]).min())


def fig16_unfair(result: cp.Result) -> float:
    """|x1 - x2| / (x1 + x2) over the last second."""
    rates = flow_series(result, "goodput_bps")
    x = [float(v[t > 9.05].mean()) for t, v in (rates["near"], rates["far"])]
    return abs(x[0] - x[1]) / (x[0] + x[1])
