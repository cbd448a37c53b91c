"""iXCP's claims that are computed, by the theory or from series; ixcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import sub, truediv
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS, MARKERS
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.reproduce.tools import (
    base_rtts,
    by_label,
    claim_of,
    exact,
    flow_goodputs,
    flow_series,
    link_of,
    link_series,
    windowed,
)
from clearpipe.theory import (
    Allocation,
    Network,
    certify,
    ixcp_equilibrium,
    of_paths,
    xcp_equilibrium,
)
from clearpipe.theory.lowmodel import ixcp_feedback, xcp_feedback

BOTH = ("xcp", "ixcp")

# Sections I, II-B, III and V: the model.

MANY = 1_000_000


def figure_1(n: int) -> Network:
    """n long flows over 155 and 100 Mb/s, a short one over the 155 Mb/s."""
    return of_paths([155.0, 100.0], [[0, 1], [0]], count=[n, 1])


def sec2b_example_c1(_: Data) -> dict[str, float]:
    long, short = xcp_equilibrium(figure_1(4)).rate
    return {"short flow": float(short) - 43, "long flows": float(long) - 25}


def sec2b_example_c2(_: Data) -> dict[str, float]:
    used = float(xcp_equilibrium(figure_1(4)).load[0])
    return {"unused": 155 - used - 12, "used": used - 143}


def sec2b_example_c3(_: Data) -> dict[str, float]:
    """At the text's rounded rates, each less what is printed."""
    told = xcp_feedback(figure_1(4), [25.0, 43.0])
    return {
        "spare": float(told.spare[0]) - 4.8,
        "shuffled": float(told.shuffled[0]) - 9.5,
        "increase": float(told.increase[2]) - 2.86,
        "decrease of the short flow": float(told.decrease[2]) - 2.86,
        "decrease of a long flow": float(told.decrease[0]) - 1.66,
    }


EXAMPLE = {
    "short": ("groups.short.goodput_mean_bps", 43.0),
    "slowest long": ("groups.long.goodput_min_bps", 25.0),
    "fastest long": ("groups.long.goodput_max_bps", 25.0),
}


def sec2b_example_c4(data: Data) -> dict[str, Reading]:
    """The rates of the runs over the printed ones."""
    found = _over(data, "c4", data.of("", "xcp"), EXAMPLE)
    return {name: replace(one, printed=_rounding(rate)) for name, (rate, one) in found.items()}


def _over(
    data: Data, short: str, cells: Sequence[Cell], expected: Mapping[str, tuple[str, float]]
) -> dict[str, tuple[float, Reading]]:
    """What is expected of a number [Mb/s], and the number over it."""
    claim = claim_of(data, short)
    out = {}
    for told, (name, rate) in expected.items():
        values = [cell.metrics[name] / (1e6 * rate) for cell in cells]
        if values:
            out[told] = (rate, Reading.of(told, values, claim.lo, claim.hi))
    return out


def _rounding(rate: float) -> tuple[float, float]:
    """What rounds to a whole number of Mb/s, over it."""
    return 1 - 0.5 / rate, 1 + 0.5 / rate


def lowmodel_c1(_: Data) -> float:
    return float(xcp_equilibrium(figure_1(MANY)).utilization[0])


def lowmodel_worst(_: Data) -> dict[str, float]:
    """The least utilization of a link that holds flows, of each figure and of all random
    networks."""
    out: dict[str, float] = {}
    for name, network in _networks():
        found = xcp_equilibrium(network)
        least = float(found.utilization[np.unique(found.bottleneck)].min())
        key = _kind(name)
        out[key] = min(out.get(key, least), least)
    return out


OTHER_GAINS = ((0.2, 0.1), (0.8, 0.1), (0.4, 0.05), (0.4, 0.2))
"""alpha and gamma, one of them half or twice the default."""


def lowmodel_formula(_: Data) -> dict[str, float]:
    """The utilization with other parameters over alpha / (alpha + gamma)."""
    out = {}
    for alpha, gamma in OTHER_GAINS:
        paths = [[0, 1], [0]]
        network = of_paths([155.0, 100.0], paths, count=[MANY, 1], alpha=alpha, gamma=gamma)
        used = float(xcp_equilibrium(network).utilization[0])
        out[f"alpha {alpha:g}, gamma {gamma:g}"] = used * (alpha + gamma) / alpha
    return out


COUNTS = (2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def lowmodel_c2(_: Data) -> dict[str, float]:
    return {f"n = {n}": float(xcp_equilibrium(figure_1(n)).rate[1]) for n in (*COUNTS, MANY)}


def lowmodel_short(place: Any, _: Data) -> None:
    rates = [float(xcp_equilibrium(figure_1(n)).rate[1]) for n in COUNTS]
    place.plot(COUNTS, rates, color=COLORS[0], marker="o", markersize=4, label="XCP (Low)")
    place.axhline(55, color=COLORS[1], linestyle="--", linewidth=1.0, label="Max-min")
    place.set_xscale("log", base=2)
    place.set_xlabel("Long flows")


FIELD = 4
"""Bytes of bottleneckId and of nextBottleneckId (section III)."""


def sec3_header(_: Data) -> float:
    """What the header grows by: the fields that iXCP has besides XCP's [bytes]."""
    return _more("header")


def sec3_ack(_: Data) -> float:
    """What the ACK grows by: what the sender keeps of it besides XCP's [bytes]."""
    return _more("variables")


def sec3_overhead(_: Data) -> float:
    """What both grow by, over 400 bytes."""
    return (_more("header") + _more("variables")) / 400


def _more(key: str) -> float:
    known: dict[str, Any] = {one["name"]: one for one in cp.protocols()}
    return FIELD * (len(known["ixcp"][key]) - len(known["xcp"][key]))


def sec3_gain(_: Data) -> float:
    network = figure_1(1024)
    gain = ixcp_equilibrium(network).utilization - xcp_equilibrium(network).utilization
    return float(gain[0])


def _networks() -> Iterator[tuple[str, Network]]:
    for n in (4, 16, 64, 256, 1024):
        yield f"figure 1, n = {n}", figure_1(n)
    rows = [list(range(k)) for k in range(1, 6)]
    yield "figure 6", of_paths([250.0, 200.0, 160.0, 120.0, 60.0], rows, count=[5, 5, 10, 20, 30])
    phases = {"up to 20 s": (1, 1, 2), "up to 40 s": (4, 1, 2), "up to 60 s": (1, 1, 1)}
    for name, count in phases.items():
        paths = [[0, 1, 2], [0], [1], [2]]
        yield f"figure 10, {name}", of_paths([150.0, 100.0, 120.0], paths, count=[1, *count])
    capacity = [100.0] * 4 + [50.0] + [100.0] * 4
    paths = [list(range(9)), *([k] for k in range(9))]
    yield "figure 25", of_paths(capacity, paths, count=[50] * 10)
    rng = np.random.default_rng(5)
    for number in range(200):
        links, flows = int(rng.integers(2, 9)), int(rng.integers(2, 21))
        used = rng.random((flows, links)) < 0.5
        used[np.arange(flows), rng.integers(0, links, flows)] = True
        paths = [np.flatnonzero(row).tolist() for row in used]
        yield f"random {number}", of_paths(rng.uniform(1, 10, links).tolist(), paths)


def _kind(name: str) -> str:
    return "200 random networks" if name.startswith("random") else name


ROUNDING = 1e-6


def thm1_c1(_: Data) -> dict[str, Reading]:
    """The utilization of links that hold flows, and by how much the feedback changes rates: not at
    all in equilibrium, upwards with a tenth less of each rate, downwards with a tenth more."""

    def used(found: Allocation) -> Any:
        return found.utilization[np.unique(found.bottleneck)]

    return {
        **_worst("utilization", used, 1 - ROUNDING, 1 + ROUNDING),
        **_worst("change", _change, -ROUNDING, ROUNDING),
        **_worst("with a tenth less", lambda found: _change(found, 0.9), ROUNDING, np.inf),
        **_worst("with a tenth more", lambda found: _change(found, 1.1), -np.inf, -ROUNDING),
    }


def thm1_c2(_: Data) -> dict[str, Reading]:
    """The rates over what loads and counts leave of a link to the flows that it holds, by how much
    the feedback changes them, and the flows that have no bottleneck as max-min fairness has it."""

    def unfair(found: Allocation) -> list[float]:
        told = certify(found.network, found.rate)
        return [float(max(told.unfair, not told.holds))]

    return {
        **_worst("rate over share", _over_shares, 1 - ROUNDING, 1 + ROUNDING),
        **_worst("change", _change, -ROUNDING, ROUNDING),
        **_worst("without a bottleneck", unfair, 0, 0),
    }


def _worst(
    told: str, values: Callable[[Allocation], Any], lo: float, hi: float
) -> dict[str, Reading]:
    """Of each figure, and of all random networks: the value that is nearest to a bound or farthest
    beyond it."""
    found: dict[str, list[float]] = {}
    for name, network in _networks():
        found.setdefault(f"{_kind(name)}: {told}", []).extend(values(ixcp_equilibrium(network)))
    return {
        name: Reading(name, exact(float(min(of, key=lambda v: min(v - lo, hi - v)))), lo, hi)
        for name, of in found.items()
    }


def _change(found: Allocation, times: float = 1.0) -> Any:
    """What eqs. (3) to (8) change of so many times the rates in an interval, over them."""
    rates = times * found.rate
    return ixcp_feedback(found.network, rates, found.bottleneck).smallest / rates


def _over_shares(found: Allocation) -> list[float]:
    """Each rate over (y_l - y_l0) / (N_l - N_l0) of the link that holds it."""
    network, out = found.network, []
    for link in np.unique(found.bottleneck):
        here = np.unique(network.flow[network.link == link])
        own = found.bottleneck[here] == link
        loads, counts = found.rate[here] * network.count[here], network.count[here]
        share = (found.load[link] - loads[~own].sum()) / counts[own].sum()
        out += list(found.rate[here][own] / share)
    return out


def thm1_phi(_: Data) -> dict[str, float]:
    """What a link gives the flows that it holds, together, over what spare bandwidth alone would:
    the least and the most of 200 draws."""
    found = []
    for network, rate, held in _draws(seed=7, loads=(0.7, 1.3)):
        told = ixcp_feedback(network, rate, np.where(held, 0, 1))
        phi = float(told.spare[0])
        part = held.mean() if phi > 0 else rate[held].sum() / rate.sum()
        found.append(float(_given(told.net)[held].sum() / (phi * part)))
    return {"least": min(found), "most": max(found)}


def thm1_share(_: Data) -> dict[str, float]:
    """What a full link gives a flow that it holds over gamma times what its rate lacks of an equal
    share: the least and the most of all flows of 200 draws."""
    found: list[float] = []
    for network, rate, held in _draws(seed=8):
        told = ixcp_feedback(network, rate, np.where(held, 0, 1))
        lacking = rate[held].mean() - rate[held]
        found += (_given(told.net)[held] / (float(network.gamma[0]) * lacking)).tolist()
    return {"least": min(found), "most": max(found)}


def thm1_c3(_: Data) -> dict[str, float]:
    """The feedback of a full link over its capacity, that is farthest from 0 of 200 draws of rates
    and bottlenecks: to all its flows together, and to a flow that another link holds."""
    together = other = 0.0
    for network, rate, held in _draws(seed=6):
        told = ixcp_feedback(network, rate, np.where(held, 0, 1))
        net = _given(told.net) / float(rate.sum())
        together = max(together, abs(float(net.sum())))
        other = max(other, float(np.abs(net[~held]).max(initial=0.0)))
    return {"sum": together, "held elsewhere": other}


def _draws(
    seed: int, loads: tuple[float, float] = (1.0, 1.0)
) -> Iterator[tuple[Network, Any, Any]]:
    """200 times flows over one link, loaded so many times, and one that is never full: the
    network, their rates and whether the first link holds them, two of them at least."""
    rng = np.random.default_rng(seed)
    for _draw in range(200):
        flows = int(rng.integers(2, 30))
        rate = rng.uniform(0.1, 5, flows)
        held = rng.random(flows) < 0.5
        held[:2] = True
        capacity = float(rate.sum()) / float(rng.uniform(*loads))
        yield of_paths([capacity, 1e6], [[0, 1]] * flows), rate, held


def _given(net: Any) -> Any:
    """What the first of two links gives each flow."""
    return net.reshape(-1, 2)[:, 0]


# Section IV-A: figures 4 and 5.

UTILIZATION = "links.l1.utilization_ratio"
RATIO = "groups.short.goodput_mean_bps / 55e6"


def fig04_c6(data: Data) -> dict[str, Reading]:
    """How far iXCP's utilization and rate are from the theory's 1, up to 64 long flows."""
    cells = [cell for cell in data.of("", "ixcp") if cell.x <= 64]
    out: dict[str, Reading] = {}
    for told, metric in (("utilization", UTILIZATION), ("rate", RATIO)):

        def gap(cell: Cell, metric: str = metric) -> float | None:
            value = data.number(cell, metric)
            return None if value is None else abs(1 - value)

        for label, one in by_label(data, "c6", cells, gap).items():
            name = f"{told}, n = {label}"
            out[name] = replace(one, label=name)
    return out


def fig04_from_bound(result: cp.Result) -> float:
    """How far the 155 Mb/s link's utilization is from 80 %."""
    return abs(float(link_of(result, "l1")["utilization_ratio"]) - 0.8)


def fig04_utilization(place: Any, data: Data) -> None:
    _with_theory(place, data, UTILIZATION, lambda n: float(_low(n).utilization[0]))


def fig04_ratio(place: Any, data: Data) -> None:
    _with_theory(place, data, RATIO, lambda n: float(_low(n).rate[1]) / 55)


def _low(n: int) -> Any:
    return xcp_equilibrium(figure_1(n))


def _with_theory(place: Any, data: Data, metric: str, xcp: Callable[[int], float]) -> None:
    counts = sorted({int(cell.x) for cell in data.cells})
    for number, scheme in enumerate(data.schemes()):
        means = [
            np.mean([data.number(cell, metric) for cell in data.of("", scheme) if cell.x == n])
            for n in counts
        ]
        label = data.paper.schemes[scheme].label
        style = {"color": COLORS[number], "marker": MARKERS[number], "markersize": 4}
        place.plot(counts, means, linewidth=1.2, label=label, **style)
        if scheme in BOTH:
            theory = [xcp(n) if scheme == "xcp" else 1.0 for n in counts]
            line = {"color": COLORS[number], "linestyle": "--", "linewidth": 0.9}
            place.plot(counts, theory, label=f"{label}, theory", **line)
    place.set_xscale("log", base=2)
    place.set_xlabel("Long flows")


# Section IV-B: figures 7 and 8.

FAIR = {"g1": 10.0, "g2": 8.0, "g3": 4.0, "g4": 3.0, "g5": 2.0}
"""Max-min rates, Mb/s."""


def fig07_c2(data: Data) -> dict[str, Reading]:
    """iXCP's rates over the max-min rates, of each group."""
    expected = {group: (f"groups.{group}.goodput_mean_bps", rate) for group, rate in FAIR.items()}
    found = _over(data, "c2", data.of("", "ixcp"), expected)
    return {name: one for name, (_, one) in found.items()}


def fig07_utilization(place: Any, data: Data) -> None:
    _five(place, data, lambda k: f"links.l{k}.utilization_ratio")


def fig07_ratio(place: Any, data: Data) -> None:
    _five(place, data, lambda k: f"groups.g{k}.goodput_mean_bps / {1e6 * FAIR[f'g{k}']:g}")


def fig08_queue(place: Any, data: Data) -> None:
    _five(place, data, lambda k: f"links.l{k}.queue_mean_pkts")


def fig08_drops(place: Any, data: Data) -> None:
    _five(place, data, lambda k: f"links.l{k}.total_drops_pkts")


def _five(place: Any, data: Data, metric: Callable[[int], str]) -> None:
    _by_number(place, data, "", range(1, 6), metric)
    place.set_xticks(range(1, 6))


def _by_number(
    place: Any, data: Data, part: str, numbers: Sequence[int], metric: Callable[[int], str]
) -> None:
    """A metric of each link, means over the replications, a line for each scheme."""
    for number, scheme in enumerate(("xcp", "ixcp")):
        cells = data.of(part, scheme)
        if cells:
            means = [np.mean([data.number(cell, metric(k)) for cell in cells]) for k in numbers]
            place.plot(
                numbers,
                means,
                color=COLORS[number],
                marker=MARKERS[number],
                markersize=4,
                linewidth=1.0,
                label=data.paper.schemes[scheme].label,
            )
    place.set_xlabel("Link")


# Section IV-C: figures 9 to 14.


def fig09_c1(data: Data) -> float | None:
    """iXCP's time from the last start until all four flows stay within 5 % of 25 Mb/s, over
    XCP's."""
    times = [_settled(cell.result) for name in ("ixcp", "xcp") for cell in data.of("", name)[:1]]
    if len(times) < 2:
        return None
    ours, theirs = times
    return Censored.less(ours, theirs, ours / theirs)


def _settled(result: cp.Result) -> float:
    """Of means over the last 600 ms, ten round trips, every 100 ms."""
    found = []
    for t, rate in flow_series(result, "goodput_bps").values():
        means = np.convolve(np.nan_to_num(rate), np.full(6, 1 / 6), "valid")
        found.append(_last(t[5:], np.abs(means / 25e6 - 1) > 0.05))
    return Censored.if_any(found, max(found) - 6.0)


def _last(t: Any, away: Any) -> float:
    """When something was away for the last time; 0 if never, censored if it was in the end."""
    if not away.any():
        return 0.0
    last = float(t[away][-1])
    return Censored(last) if away[-1] else last


def fig09_least(result: cp.Result) -> float:
    """The smallest rate of the last third, Mb/s."""
    return min(float(rate) for rate in result.flows["goodput_bps"]) / 1e6


def fig09_most(result: cp.Result) -> float:
    """The largest rate of the last third, Mb/s."""
    return max(float(rate) for rate in result.flows["goodput_bps"]) / 1e6


PHASES: Mapping[tuple[float, float], Mapping[str, float]] = {
    (12, 20): {"long": 40, "s1": 110, "s2": 60, "s3": 40, "s4": 40},
    (32, 40): {
        "long": 30, "s1": 30, "s2": 70, "s3": 45, "s4": 45, "s5": 30, "s6": 30, "s7": 30,
    },
    (50, 60): {"long": 50, "s1": 100, "s2": 50, "s3": 70},
}  # fmt: skip
"""When a phase has settled, and the max-min rates in it, Mb/s."""


def _mean(t: Any, values: Any, window: tuple[float, float]) -> float:
    return float(values[(t > window[0] + 0.05) & (t <= window[1] + 0.05)].mean())


def fig11_settled(result: cp.Result) -> float:
    """The least mean utilization of a link in the settled part of a phase."""
    used = [link_series(result, "utilization_ratio", link) for link in ("l1", "l2", "l3")]
    return min(_mean(t, values, window) for t, values in used for window in PHASES)


FULL = 0.93
"""The least utilization that counts as full."""


def fig11_dip(result: cp.Result) -> float:
    """The least utilization over 200 ms of the links that flows leave at 40 s, up to 50 s."""
    series = [link_series(result, "utilization_ratio", link) for link in ("l1", "l3")]
    return min(float(used[(t > 40.05) & (t <= 50.05)].min()) for t, used in series)


def fig11_refilled(result: cp.Result) -> float:
    """The time from 40 s until all links stay full, means over a second."""
    found = [0.0]
    for link in ("l1", "l2", "l3"):
        at, used = windowed(*link_series(result, "utilization_ratio", link), "1s")
        after = at > 40.05
        found.append(_last(at[after] - 40.0, used[after] < FULL))
    return Censored.if_any(found, max(found))


def _over_fair(data: Data, short: str, window: tuple[float, float]) -> dict[str, Reading]:
    """iXCP's rates over the max-min rates of a phase."""
    claim = claim_of(data, short)
    out = {}
    for cell in data.of("", "ixcp")[:1]:
        rates = flow_series(cell.result, "goodput_bps")
        for name, fair in PHASES[window].items():
            ratio = exact(_mean(*rates[name], window) / 1e6 / fair)
            out[name] = Reading(name, ratio, claim.lo, claim.hi, printed=_rounding(fair))
    return out


def fig12_c1(data: Data) -> dict[str, Reading]:
    return _over_fair(data, "c1", (12, 20))


CHANGES: Mapping[tuple[float, float], float] = {(12, 20): 0.0, (32, 40): 20.0, (50, 60): 40.0}
"""When flows came or left before a phase had settled, s."""


def _quickly(data: Data, window: tuple[float, float]) -> dict[str, float]:
    """For each of iXCP's flows how long after the change it was more than 5 % away from its max-min
    rate for the last time in the phase, means over a second [s]."""
    cells = data.of("", "ixcp")[:1]
    if not cells:
        return {}
    rates = flow_series(cells[0].result, "goodput_bps")
    begin, end = CHANGES[window], window[1]
    out = {}
    for name, fair in PHASES[window].items():
        t, means = windowed(*rates[name], "1s")
        phase = (t > begin + 0.05) & (t <= end + 0.05)
        out[name] = _last(t[phase] - begin, np.abs(means[phase] / 1e6 / fair - 1) > 0.05)
    return out


def fig12_c2(data: Data) -> dict[str, float]:
    return _quickly(data, (12, 20))


def fig12_c3(data: Data) -> dict[str, Reading]:
    return _over_fair(data, "c3.a", (32, 40))


def fig12_c3_quickly(data: Data) -> dict[str, float]:
    return _quickly(data, (32, 40))


def fig12_c4(data: Data) -> dict[str, Reading]:
    return _over_fair(data, "c4.a", (50, 60))


def fig12_c4_quickly(data: Data) -> dict[str, float]:
    return _quickly(data, (50, 60))


def fig12_c5(data: Data) -> dict[str, float]:
    """How much later than XCP's each of iXCP's flows that start at 0 is first within 5 % of where
    it settles in the first phase [s]."""
    times = {name: _ramps(cell.result) for name in BOTH for cell in data.of("", name)[:1]}
    if len(times) < 2:
        return {}
    return {flow: times["ixcp"][flow] - times["xcp"][flow] for flow in PHASES[12, 20]}


def _ramps(result: cp.Result) -> dict[str, float]:
    rates = flow_series(result, "goodput_bps")
    out = {}
    for name in PHASES[12, 20]:
        t, rate = rates[name]
        out[name] = float(t[rate >= 0.95 * _mean(t, rate, (12, 20))][0])
    return out


def fig13_quickly(data: Data) -> dict[str, float]:
    """XCP's time until the slowest flow has converged over iXCP's, after each change."""
    both = [cell.result for name in ("xcp", "ixcp") for cell in data.of("", name)[:1]]
    if len(both) < 2:
        return {}
    out = {}
    for window, begin in CHANGES.items():
        xcp, ixcp = (_converged(result, window) for result in both)
        out[f"after {begin:g} s"] = Censored.less(xcp, ixcp, xcp / ixcp)
    return out


def _converged(result: cp.Result, window: tuple[float, float]) -> float:
    """From the change until each flow's means over the last second, taken every 200 ms, stay within
    5 % of where it settles [s]."""
    begin, end = CHANGES[window], window[1]
    rates = flow_series(result, "goodput_bps")
    found = []
    for name in PHASES[window]:
        t, rate = rates[name]
        phase = (t > begin + 0.05) & (t <= end + 0.05)
        means = np.convolve(np.nan_to_num(rate[phase]), np.full(5, 0.2), "valid")
        away = np.abs(means / _mean(t, rate, window) - 1) > 0.05
        found.append(_last(t[phase][4:] - begin, away))
    return Censored.if_any(found, max(found))


def fig13_below(data: Data) -> dict[str, float]:
    """XCP's rate less iXCP's of the flows that XCP holds short, mean of the three phases, Mb/s."""
    both = [data.of("", name)[:1] for name in ("xcp", "ixcp")]
    if not all(both):
        return {}
    xcp, ixcp = (flow_series(cells[0].result, "goodput_bps") for cells in both)
    return {
        name: float(
            np.mean([_mean(*xcp[name], phase) - _mean(*ixcp[name], phase) for phase in PHASES])
        )
        / 1e6
        for name in ("s1", "s2", "s3")
    }


LATE = ((10.0, 20.0), (30.0, 40.0), (50.0, 60.0))
"""The second half of each phase."""


def fig14_c1(data: Data) -> dict[str, float]:
    """The coefficient of variation of each flow's rate over 200 ms, mean of its phases."""
    out = {}
    for cell in data.of("", "tcp")[:1]:
        for name, (t, rate) in flow_series(cell.result, "goodput_bps").items():
            there = [rate[(t > a + 0.05) & (t <= b + 0.05)] for a, b in LATE]
            parts = [x.std() / x.mean() for x in there if len(x) and np.nan_to_num(x).mean() > 0]
            out[name] = float(np.mean(parts))
    return out


def fig14_never(data: Data) -> dict[str, float]:
    """How far each flow's means over a second are from their own mean at most in the second half of
    a phase, in parts of it: of the phase where that is the least."""
    out: dict[str, float] = {}
    for cell in data.of("", "tcp")[:1]:
        rates = flow_series(cell.result, "goodput_bps")
        for (begin, end), flows in zip(LATE, PHASES.values(), strict=True):
            for name in flows:
                t, means = windowed(*rates[name], "1s")
                late = means[(t > begin + 0.05) & (t <= end + 0.05)]
                farthest = float(np.abs(late / late.mean() - 1).max())
                out[name] = min(out.get(name, farthest), farthest)
    return out


def fig14_c2(data: Data) -> dict[str, float]:
    """The long flow's rate over its max-min rate, in the second half of each phase."""
    out = {}
    for cell in data.of("", "tcp")[:1]:
        t, rate = flow_series(cell.result, "goodput_bps")["long"]
        for window, fair in zip(LATE, PHASES.values(), strict=True):
            name = f"{window[0]:g} to {window[1]:g} s"
            out[name] = _mean(t, rate, window) / 1e6 / fair["long"]
    return out


# Section IV-D: figures 15 and 16.


def fig15_xcp_in_equilibrium(_: Data, outside: list[Reading]) -> bool:
    """Is what is outside where Low's model has XCP beside 16 long flows, whatever the RTT?"""
    used = float(_low(16).utilization[0])
    return all(abs(one.interval.mean - used) <= 0.03 for one in outside)


def fig15_short(data: Data) -> dict[str, float]:
    """iXCP's short flow over its max-min rate, in the run that is farthest from 1."""
    return _farthest_runs(data, {"short": "groups.short.goodput_mean_bps / 55e6"})


def fig15_longs(data: Data) -> dict[str, float]:
    """Of the long ones the slowest and the fastest of all runs."""
    names = {"slowest": "min", "fastest": "max"}
    metrics = {told: f"groups.long.goodput_{name}_bps / 6.25e6" for told, name in names.items()}
    return _farthest_runs(data, metrics)


def _farthest_runs(data: Data, metrics: Mapping[str, str]) -> dict[str, float]:
    """Each of iXCP's numbers at each point, in the run that is farthest from 1."""
    found: dict[str, list[float]] = {}
    for told, metric in metrics.items():
        for cell in data.of("", "ixcp"):
            if (value := data.number(cell, metric)) is not None:
                found.setdefault(f"{told}, {cell.label}", []).append(value)
    return {name: _farthest(values) for name, values in found.items()}


def _farthest(values: Sequence[float]) -> float:
    return max(values, key=lambda value: abs(value - 1))


def _ratios(data: Data, scheme: str) -> list[Any]:
    """Rate over max-min rate of the short flow and the sixteen long ones, of each run."""
    return [
        np.array([*flow_goodputs(cell, "short"), *flow_goodputs(cell, "long")])
        / np.array([55e6] + [6.25e6] * 16)
        for cell in data.of("", scheme)
    ]


def _each(rows: Sequence[Any], flows: Sequence[int]) -> dict[str, float]:
    """Of each flow in the run that is farthest from 1."""
    columns = np.array(rows).T.tolist() if rows else []
    return {f"flow {n}": _farthest(values) for n, values in enumerate(columns) if n in flows}


def fig16_c1(data: Data) -> dict[str, float]:
    return _each(_ratios(data, "ixcp"), range(17))


def fig16_longs(data: Data) -> dict[str, float]:
    return _each(_ratios(data, "xcp"), range(1, 17))


def fig16_short(data: Data) -> dict[str, Reading]:
    claim = claim_of(data, "c2.b")
    values = [float(row[0]) for row in _ratios(data, "xcp")]
    return {"short": Reading.of("short", values, claim.lo, claim.hi)} if values else {}


def fig16_c3(data: Data) -> dict[str, float]:
    """The shortest and the longest RTT of the long flows, and the steps between them, over 60,
    1400 and 85 ms, as it was run."""
    if not data.cells:
        return {}
    rtts = sorted(base_rtts(data.cells[0].result, "long"))
    steps = np.diff(rtts) / 0.085
    return {
        "shortest": rtts[0] / 0.060,
        "longest": rtts[-1] / 1.4,
        "least step": float(steps.min()),
        "largest step": float(steps.max()),
    }


def fig16_steps_end_before(_: Data, outside: list[Reading]) -> bool:
    """Is only the longest of 16 RTTs outside, as 60 ms and 15 steps of 85 ms have it?"""
    longest = (60 + 15 * 85) / 1400
    return [one.label for one in outside] == ["longest"] and all(
        abs(one.interval.mean - longest) < 1e-6 for one in outside
    )


def fig16_rates(place: Any, data: Data) -> None:
    for number, scheme in enumerate(("xcp", "ixcp")):
        rows = _ratios(data, scheme)
        if rows:
            place.plot(
                range(17),
                np.mean(rows, axis=0),
                color=COLORS[number],
                marker=MARKERS[number],
                markersize=4,
                linewidth=0.8,
                label=data.paper.schemes[scheme].label,
            )
    place.set_xlabel("Flow")


# Section IV-E: figures 17 to 19.

LOW = 400
"""Flows per second that are not many yet."""


def _beside_low(
    data: Data, short: str, metric: str, least: float, beside: Callable[[float, float], float]
) -> dict[str, Reading]:
    """A number of each scheme at the rates from `least` on, beside its largest up to 400/s."""
    claim = claim_of(data, short)
    out = {}
    for scheme in BOTH:
        points: dict[float, list[float]] = {}
        for cell in data.of("", scheme):
            number = data.number(cell, metric)
            if number is not None:
                points.setdefault(cell.x, []).append(number)
        low = [float(np.mean(values)) for x, values in points.items() if x <= LOW]
        for x, values in points.items():
            if low and x >= least:
                name = f"{data.paper.schemes[scheme].label}, {x:g}/s"
                told = [beside(value, max(low)) for value in values]
                out[name] = Reading.of(name, told, claim.lo, claim.hi)
    return out


def fig17_especially(data: Data) -> dict[str, Reading]:
    """iXCP's gain on the 155 Mb/s link from 400/s on less its least mean gain at lower rates."""
    claim = claim_of(data, "c1.b")
    used = {(cell.scheme, cell.x, cell.rep): cell.metrics[UTILIZATION] for cell in data.cells}
    gains: dict[float, list[float]] = {}
    for (scheme, x, rep), value in used.items():
        if scheme == "ixcp" and ("xcp", x, rep) in used:
            gains.setdefault(x, []).append(value - used["xcp", x, rep])
    low = [float(np.mean(values)) for x, values in gains.items() if x < LOW]
    out = {}
    for x, values in gains.items():
        if low and x >= LOW:
            told = [value - min(low) for value in values]
            out[f"{x:g}/s"] = Reading.of(f"{x:g}/s", told, claim.lo, claim.hi)
    return out


def fig17_queue(data: Data) -> dict[str, Reading]:
    return _beside_low(data, "c2.b", "links.l2.queue_mean_pkts", LOW + 1, truediv)


def fig18_c1(data: Data) -> dict[str, Reading]:
    """iXCP's gain on the 155 Mb/s link with ten short flows less that with one, from 400/s on."""
    claim = claim_of(data, "c1")
    used = {
        (cell.part, cell.scheme, cell.label, cell.rep): cell.metrics[UTILIZATION]
        for cell in data.cells
        if cell.x >= 400
    }
    found: dict[str, list[float]] = {}
    for part, scheme, label, rep in used:
        four = [(p, s, label, rep) for p in ("main", "one") for s in ("ixcp", "xcp")]
        if (part, scheme) == ("main", "ixcp") and all(key in used for key in four):
            ten, ten_xcp, one, one_xcp = (used[key] for key in four)
            found.setdefault(label, []).append(ten - ten_xcp - (one - one_xcp))
    return {
        f"{label}/s": Reading.of(f"{label}/s", values, claim.lo, claim.hi)
        for label, values in found.items()
    }


def fig19_long_lived(result: cp.Result) -> float:
    """The share of a link that the long-lived flows have, the larger of the two links'."""
    rate = dict.fromkeys(result.flows["group"], 0.0)
    for group, goodput in zip(result.flows["group"], result.flows["goodput_bps"], strict=True):
        rate[group] += float(goodput or 0.0)
    return max((rate["short"] + rate["long"]) / 155e6, rate["long"] / 100e6)


def fig19_queue(data: Data) -> dict[str, Reading]:
    return _of_both_links(data, "c1.c", "queue_mean_pkts", truediv)


def fig19_drops(data: Data) -> dict[str, Reading]:
    return _of_both_links(data, "c1.d", "total_drops_pkts", sub)


def _of_both_links(
    data: Data, short: str, metric: str, beside: Callable[[float, float], float]
) -> dict[str, Reading]:
    return {
        f"{link}, {label}": replace(one, label=f"{link}, {label}")
        for link in ("l1", "l2")
        for label, one in _beside_low(data, short, f"links.{link}.{metric}", 600, beside).items()
    }


# Section IV-F: figure 23.


def fig23_c1(data: Data) -> dict[str, float]:
    """(largest - smallest) / mean of the rates over the 200 ms up to 1.9 s after each arrival, in
    the run where it is the largest."""
    out: dict[str, float] = {}
    for scheme in ("xcp", "ixcp"):
        for cell in data.of("", scheme):
            rates = list(flow_series(cell.result, "goodput_bps").values())
            for n in (2, 3, 4, 5):
                end = 2.0 * (n - 1) + 1.9
                x = [float(v[(t > end - 0.2) & (t <= end)].mean()) for t, v in rates[:n]]
                name = f"{data.paper.schemes[scheme].label}, flow {n}"
                mean = float(np.mean(x))
                spread = (max(x) - min(x)) / mean if mean > 0 else float("inf")
                out[name] = max(out.get(name, 0.0), spread)
    return out


def _of_runs(
    data: Data, extreme: Callable[[list[float]], float], metric: Callable[[cp.Result], float]
) -> dict[str, float]:
    """The least or the largest of each scheme's runs."""
    return {
        data.paper.schemes[scheme].label: extreme([metric(cell.result) for cell in cells])
        for scheme in ("xcp", "ixcp")
        if (cells := data.of("", scheme))
    }


def fig23_undisturbed(data: Data) -> dict[str, float]:
    return _of_runs(data, min, fig23_least_utilization)


def fig23_drained(data: Data) -> dict[str, float]:
    return _of_runs(data, max, fig23_left)


def fig23_least_utilization(result: cp.Result) -> float:
    """The least utilization of 200 ms after the first half second."""
    t, used = link_series(result, "utilization_ratio")
    later = t > 0.505
    return float(windowed(t[later] - 0.5, used[later], "200ms")[1].min())


def fig23_left(result: cp.Result) -> float:
    """The mean queue of the half second before the next flow joins (or the end) over the largest
    since the last did: the largest of five; infinite if one join makes no queue."""
    t, queue = link_series(result, "queue_pkts")
    found = []
    for join, end in ((0, 2), (2, 4), (4, 6), (6, 8), (8, 12)):
        peak = float(queue[(t > join) & (t <= end)].max())
        left = float(queue[(t > end - 0.5) & (t <= end)].mean())
        found.append(left / peak if peak else np.inf)
    return max(found)


# Section IV-G: figure 26.


OTHERS = (1, 2, 3, 4, 6, 7, 8, 9)
"""The links that do not hold the long flows back."""


def fig26_more(data: Data) -> dict[str, Reading]:
    """iXCP's utilization less XCP's."""
    return _gains(data, "c1.a", data.of("main", "ixcp"), data.of("main", "xcp"))


def fig26_without_reverse(data: Data) -> dict[str, Reading]:
    """iXCP's utilization if nothing goes the other way, less that if it does."""
    return _gains(data, "c1.c", data.of("one-way", "ixcp"), data.of("main", "ixcp"))


def _gains(
    data: Data, short: str, cells: Sequence[Cell], others: Sequence[Cell]
) -> dict[str, Reading]:
    """The utilization of each link but the fifth less that in other runs."""
    claim = claim_of(data, short)
    out = {}
    for k in OTHERS:
        name = f"links.l{k}.utilization_ratio"
        theirs = {cell.rep: cell.metrics[name] for cell in others}
        values = [cell.metrics[name] - theirs[cell.rep] for cell in cells if cell.rep in theirs]
        if values:
            out[f"link {k}"] = Reading.of(f"link {k}", values, claim.lo, claim.hi)
    return out


def fig26_residues(data: Data) -> dict[str, Reading]:
    """XCP's mean utilization of links 6 to 9 less that of links 1 to 4."""
    claim = claim_of(data, "c3.a")

    def used(cell: Cell, links: Sequence[int]) -> float:
        return float(np.mean([cell.metrics[f"links.l{k}.utilization_ratio"] for k in links]))

    values = [used(c, (6, 7, 8, 9)) - used(c, (1, 2, 3, 4)) for c in data.of("main", "xcp")]
    return {"XCP": Reading.of("XCP", values, claim.lo, claim.hi)} if values else {}


def fig26_utilization(place: Any, data: Data) -> None:
    _by_number(place, data, "main", range(1, 10), lambda k: f"links.l{k}.utilization_ratio")


# Section IV-H: figure 27.


def fig27_rates(place: Any, data: Data) -> None:
    for color, scheme, cell in _first_runs(data):
        t, rate = windowed(*flow_series(cell.result, "goodput_bps")["short"], "500ms")
        place.plot(t, rate / 1e6, color=color, linewidth=0.9, label=scheme)
    place.axhline(55, color="#888888", linewidth=0.7, linestyle="--")
    place.set_xlabel("Time (s)")


def fig27_queues(place: Any, data: Data) -> None:
    for color, scheme, cell in _first_runs(data):
        t, queue = link_series(cell.result, "queue_pkts", "l2")
        place.plot(t, queue, color=color, linewidth=0.7, label=scheme)
    place.set_xlabel("Time (s)")


def _first_runs(data: Data) -> Iterator[tuple[str, str, Cell]]:
    for color, scheme in zip(COLORS, data.paper.groups["reversed"], strict=False):
        for cell in data.of("main", scheme)[:1]:
            yield color, data.paper.schemes[scheme].label, cell
