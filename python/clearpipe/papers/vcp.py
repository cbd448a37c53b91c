"""VCP's claims that are computed, by the theory or from series; vcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from math import log
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce import runs
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS
from clearpipe.reproduce.runs import Cell, Censored, Data, mean
from clearpipe.reproduce.tools import (
    base_rtts,
    by_label,
    claim_of,
    exact,
    flow_goodputs,
    flow_series,
    link_of,
    link_series,
    seconds,
    series,
    windowed,
)
from clearpipe.theory import miaimd_equilibrium, of_paths, rounds, vcp
from clearpipe.theory.delay import Past, integrate
from clearpipe.theory.network import Array, Network

# Section II: figure 1.


def fig01_climb(result: cp.Result) -> float:
    """Seconds from the doubling at 80 s until both flows together have 80 % of 20 Mb/s."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "500ms")
    return _first(t[(t > 80) & (t <= 120) & (used >= 0.8)], 80.0, 120.0)


def _first(times: Any, begin: float, end: float) -> float:
    """Seconds from `begin` to the first of the times, which are looked for until `end`."""
    return float(times[0] - begin) if len(times) else Censored(end - begin)


def fig01_unfair(result: cp.Result) -> float:
    """|x1 - x2| / (x1 + x2) over the last 10 s of each phase with two flows, the largest."""
    flows = flow_series(result, "goodput_bps")
    means = []
    for end in (80.0, 120.0, 160.0):
        x = [float(v[(t > end - 10) & (t <= end)].mean()) for t, v in flows.values()]
        means.append(abs(x[0] - x[1]) / (x[0] + x[1]))
    return max(means)


# Section III.


CODES = (1, 2, 3)
"""Low load, high load, overload: 01, 10 and 11."""


def _codes(data: Data) -> tuple[Any, Any]:
    """The load factors of a run's periods and the codes that the router made of them."""
    result = data.of("main", "vcp")[0].result
    t, rho = link_series(result, "router_rho")
    at, code = link_series(result, "router_code")
    # The code of a period is known as soon as its load factor is.
    held = code[np.searchsorted(at, t, side="right") - 1]
    known = t >= at[0]
    return rho[known], held[known]


def fig02_c1(data: Data) -> dict[str, float]:
    """Periods whose code is another than that of 80 % and 100 %, and codes that did not come."""
    rho, code = _codes(data)
    return {
        f"other codes, of {len(code)}": float((code != np.digitize(rho, (0.8, 1.0)) + 1).sum()),
        "codes that did not come": float(len(set(CODES) - set(code))),
    }


def fig02_not_capable(data: Data) -> dict[str, Reading]:
    """Packets of a sender without ECN that got a code, and how often it made an overload."""
    result = data.of("not-capable")[0].result
    _, code = link_series(result, "router_code")
    marks, over = float(link_of(result)["marks_pkts"]), float((code == CODES[2]).sum())
    return {
        "marks": Reading("marks", exact(marks), 0, 0),
        "overloads": Reading("overloads", exact(over), 1, np.inf),
    }


def fig02_monotone(data: Data) -> dict[str, float]:
    """Steps down of the code in the order of the load factor."""
    rho, code = _codes(data)
    steps = (np.diff(code[np.argsort(rho, kind="stable")]) < 0).sum()
    return {f"loads of {rho.min():.3g} to {rho.max():.3g}": float(steps)}


def fig02_path(data: Data) -> dict[str, Reading]:
    """Of two links in a row one is always at low load. Each sender must hear of the other's
    overload, whichever comes first: its window must fall to 0.875; and of its high load: it must
    never increase multiplicatively from its first decrease on."""
    out = {}
    for cell in data.of("path", "vcp"):
        narrow, wide = ("one", "two") if cell.label == "narrow first" else ("two", "one")
        cuts = [len(_cuts(*window)) for window in _windows(cell.result).values()]
        codes = {link: link_series(cell.result, "router_code", link)[1] for link in (narrow, wide)}
        heard = (
            ("least decreases of a sender", min(cuts), 1, np.inf),
            ("multiplicative increases behind them", _increases(cell.result), 0, 0),
            ("overloads of the narrow link", (codes[narrow] == CODES[2]).sum(), 1, np.inf),
            ("high loads of the narrow link", (codes[narrow] == CODES[1]).sum(), 1, np.inf),
            ("codes of the wide link above low load", (codes[wide] > CODES[0]).sum(), 0, 0),
        )
        for what, found, lo, hi in heard:
            name = f"{cell.label}: {what}"
            out[name] = Reading(name, exact(float(found)), lo, hi)
    return out


def _increases(result: cp.Result) -> int:
    """Changes of all senders to multiplicative increase behind their first decrease."""
    modes = [mode for _, mode in flow_series(result, "sender_mode").values()]
    return sum(int((mode[np.argmax(mode == 3) :] == 1).sum()) for mode in modes)


def _windows(result: cp.Result) -> dict[str, tuple[Any, Any]]:
    return flow_series(result, "sender_cwnd")


def _cuts(t: Any, window: Any) -> Any:
    """When a window falls to 0.875 of itself."""
    return t[1:][np.isclose(window[1:] / window[:-1], vcp.BETA, rtol=1e-3)]


def fig02_codes(place: Any, data: Data) -> None:
    rho, code = _codes(data)
    place.plot(rho, code, ".", color=COLORS[0], markersize=4)
    place.set_yticks(CODES, ["01", "10", "11"])
    place.set_xlabel("Load factor")


def sec3e_mdfreeze_once(data: Data) -> dict[str, float]:
    """The most multiplicative decreases of a flow within one t_rho: windows that fall to 0.875."""
    parts = ("main", "halved", "bouncing")
    return {part: _most_at_once(data.of(part, "vcp")[0].result) for part in parts}


def _most_at_once(result: cp.Result) -> float:
    most = 0
    for t, window in _windows(result).values():
        cuts = _cuts(t, window)
        last = np.searchsorted(cuts, cuts + vcp.T_RHO * (1 - 1e-9), side="right")
        most = max(most, int((last - np.arange(len(cuts))).max(initial=0)))
    return float(most)


def sec3e_mdfreeze_after(data: Data) -> dict[str, Reading]:
    """What follows the decreases where all heard in the increase is high load."""
    return _after_decreases(data.of("main", "vcp")[0].result, heard=0, late=RTT)


def sec3e_mdfreeze_heard(data: Data) -> dict[str, Reading]:
    """The same where overload is heard then, and where low load is."""
    out: dict[str, Reading] = {}
    for part, code in (("halved", CODES[2]), ("bouncing", CODES[0])):
        found = _after_decreases(
            data.of(part, "vcp")[0].result, heard=1, late=2 * RTT, codes=(code,)
        )
        out |= {f"{part}: {name}": reading for name, reading in found.items()}
    return out


RTT = 0.08
"""Of the senders, without queues [s]."""


def _after_decreases(
    result: cp.Result, heard: int, late: float, codes: tuple[int, ...] = (1, 3)
) -> dict[str, Reading]:
    """Decreases that are not followed by a freeze of t_rho from that instant on and then additive
    increase, until an RTT more has passed, among all whose sequel the run has; the longest freeze
    [s], which the first ACK after t_rho ends, at most `late` later; the shortest increase [s]; and
    the decreases in whose freeze low load or overload, and in whose increase one of `codes` is
    heard, the decrease's own ACK apart: in the increase of so many at least."""
    end = float(result.meta["simulated_s"])
    longest, shortest, most = 0.0, np.inf, vcp.T_RHO + late
    ends = (vcp.T_RHO + RTT) * (1 - 1e-6)
    modes, told = flow_series(result, "sender_mode"), flow_series(result, "sender_code")
    seen = wrong = in_freeze = in_increase = 0
    for flow, window in _windows(result).items():
        t, mode = _changes(*modes[flow])
        for cut in _cuts(*window):
            later = t[t > cut]
            thaw = later[0] if len(later) else cut + vcp.T_RHO
            until = later[1] if len(later) > 1 else end
            if thaw + RTT > end:
                continue
            seen += 1
            longest = max(longest, float(thaw - cut))
            shortest = min(shortest, float(until - thaw))
            begins = mode[t == cut].tolist() == [FREEZE]
            lasts = thaw - cut >= vcp.T_RHO * (1 - 1e-6)
            adds = mode[t == thaw].tolist() == [ADDITIVE] and until - cut >= ends
            wrong += not (begins and lasts and adds)
            # A code that stands for half an RTT is that of many ACKs.
            in_freeze += _other_code(told[flow], cut + RTT / 2, thaw)
            in_increase += _other_code(told[flow], thaw, thaw + RTT, codes)
    return {
        "decreases": Reading("decreases", exact(float(seen)), 1, np.inf),
        "otherwise": Reading("otherwise", exact(float(wrong)), 0, 0),
        "longest": Reading("longest freeze, s", exact(longest), vcp.T_RHO, most),
        "shortest": Reading("shortest increase, s", exact(shortest), 0, np.inf),
        "freeze": Reading("low load or overload in the freeze", exact(float(in_freeze)), 1, np.inf),
        "increase": Reading(
            f"{' or '.join(NAMES[code] for code in codes)} in the increase",
            exact(float(in_increase)),
            heard,
            np.inf,
        ),
    }


FREEZE, ADDITIVE = 3, 2
NAMES = {1: "low load", 2: "high load", 3: "overload"}


def _changes(t: Any, values: Any) -> tuple[Any, Any]:
    """A series without values that are those before."""
    new = np.diff(values, prepend=np.nan) != 0
    return t[new], values[new]


def _other_code(
    code: tuple[Any, Any], begin: float, end: float, codes: tuple[int, ...] = (1, 3)
) -> bool:
    """Is one of the codes, low load and overload, the last that was told at the first instant, or
    told until the second?"""
    t, values = code
    first = np.searchsorted(t, begin, side="right") - 1
    last = np.searchsorted(t, end)
    return bool(np.isin(values[first:last], codes).any())


def sec3e_mdfreeze_c2(data: Data) -> float:
    """How much longer the round trip is of which the ACKs wait with the data of the others, than
    theirs: the mean smoothed RTT after the first fifth [s]. The other ways have no queue."""
    result = data.of("acks", "vcp")[0].result
    found = flow_series(result, "srtt_s")
    means = {flow: float(np.mean(srtt[t >= 12.0])) for flow, (t, srtt) in found.items()}
    return means.pop("acks") - float(np.mean(list(means.values())))


def sec3b_transition_c1(_: Data) -> float:
    return rounds.rounds_to_halve(0.95)


def sec3b_transition_c2(_: Data) -> float:
    return float(rounds.vcp(100.0, [60.0, 40.0], 2, beta=0.5).load[1])


def sec3b_transition_c3(_: Data) -> float:
    host = _defaults(cp.protocols())
    return float(host["beta"] - host["high_load"])


def sec3b_transition_c4(_: Data) -> dict[str, float]:
    return {
        f"from {load:g}": float(rounds.vcp(1000.0, [1000.0 * load], 2).load[1])
        for load in (0.76, 0.78, 0.79, 0.7999)
    }


def sec3b_transition_c5(_: Data) -> dict[str, float]:
    return {
        f"from {load:g}": float(rounds.vcp(1000.0, [1000.0 * load], 2).load[1])
        for load in (1.0, 1.05, 1.1, 1.1428)
    }


def sec3d_scaling_c1(_: Data) -> dict[str, float]:
    out = {}
    for ratio in (0.1, 0.25, 0.5, 1, 2, 4, 10):
        for start in (1.0, 100.0):
            first, second = rounds.aimd([start, 101.0 - start], [ratio, 1.0], epochs=60)
            name = f"ratio {ratio:g}, {start:g} packets at first"
            out[name] = float(first / second / ratio)
    return out


def sec3d_scaling_c2(_: Data) -> dict[str, float]:
    rtt = np.array([0.001, 0.02, 0.08, 0.2, 0.5])
    growth = (1 + rounds.scaled_mi(rtt)) ** (0.2 / rtt) / (1 + rounds.MI)
    added = rounds.scaled_ai(rtt, fair_rates=False) * 0.2 / rtt / vcp.ALPHA
    told = {f"MI, {1000 * t:g} ms": float(g) for t, g in zip(rtt, growth, strict=True)}
    return told | {f"AI, {1000 * t:g} ms": float(a) for t, a in zip(rtt, added, strict=True)}


def sec3d_scaling_c3(_: Data) -> float:
    rtt = np.array([0.02, 0.04, 0.08, 0.2, 0.4])
    rate = rounds.aimd(np.full(5, 50.0), rounds.scaled_ai(rtt) * 0.2 / rtt) / rtt
    return float(rate.sum() ** 2 / (5 * (rate**2).sum()))


def tab1_c1(_: Data) -> dict[str, float]:
    """The gain of the end host's kappa where its low load ends, and where the router's does."""
    host, router = _defaults(cp.protocols()), _defaults(cp.queues())
    return {
        name: float(vcp.xi(of["high_load"], host["kappa"]))
        for name, of in (("end host", host), ("router", router))
    }


def tab1_table(_: Data) -> dict[str, float]:
    """The parameters of the end host and the router, as they are by default."""
    host = {"t_rho": "200ms", "kappa": 0.25, "alpha": 1.0, "beta": 0.875}
    router = {"t_rho": "200ms", "t_q": "10ms", "gamma": 0.98, "kappa_q": 0.5, "a": 0.875}
    router |= {"high_load": 0.8, "overload": 1.0}
    return {
        **_differ("end host", _defaults(cp.protocols()), host),
        **_differ("router", _defaults(cp.queues()), router),
    }


def tab1_limiters(_: Data) -> dict[str, float]:
    """The end host's limiters."""
    limits = {"mi_limit": 2.5, "ai_limit_low": "20ms", "ai_limit_high": "500ms", "limiters": True}
    return _differ("end host", _defaults(cp.protocols()), limits)


def _defaults(known: Any) -> dict[str, Any]:
    """Of VCP's parameters."""
    found = next(one["params"] for one in known if one["name"] == "vcp")
    return {parameter["name"]: parameter["default"] for parameter in found}


def _differ(of: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, float]:
    """1 for each parameter that is not as wanted."""
    return {f"{of}: {key}": float(found.get(key) != value) for key, value in wanted.items()}


# Section IV.


def fig03_have(data: Data) -> dict[str, float]:
    """1 if VCP and XCP have high utilization and no drops at every capacity, 0 if not."""
    return {data.paper.schemes[name].label: _has_both(data, name) for name in ("vcp", "xcp")}


def fig03_lack(data: Data) -> dict[str, float]:
    """The same of the others."""
    return {
        data.paper.schemes[name].label: _has_both(data, name) for name in data.paper.groups["tcp"]
    }


def _has_both(data: Data, scheme: str) -> float:
    """Is the utilization 0.9 everywhere, the mean over replications, and are at most 1e-5 of all
    packets dropped in every run?"""
    used: dict[str, list[float]] = {}
    dropped = []
    for cell in data.of("main", scheme):
        used.setdefault(cell.label, []).append(cell.metrics["utilization_ratio"])
        dropped.append(cell.metrics["total_drops_pkts"] / cell.metrics["total_arrivals_pkts"])
    return float(min(map(mean, used.values())) >= 0.9 and max(dropped) <= 1e-5)


def fig07_c9(data: Data) -> dict[str, float | Reading]:
    """The shortest and the longest RTT of 30 flows, over those expected, and their ratio."""
    out: dict[str, float | Reading] = {}
    for delta, expected, ratio in ((4, 0.156, (3.5, 4.5)), (10, 0.330, (8, np.inf))):
        cells = [cell for cell in data.of("main", "vcp") if cell.label == str(delta)]
        if cells:
            rtts = base_rtts(cells[0].result, "fwd")
            out[f"shortest, delta {delta} ms"] = min(rtts) / 0.040
            out[f"longest, delta {delta} ms"] = max(rtts) / expected
            name = f"ratio, delta {delta} ms"
            out[name] = Reading(name, exact(max(rtts) / min(rtts)), *ratio)
    return out


def fn5_map(_: Data) -> dict[str, float]:
    """The slope of log rate against log RTT, of the map with eq. (7)."""
    out = {}
    for delta in (2, 4, 6, 8, 10):
        rtt = 0.040 + 0.001 * delta * np.arange(30)
        added = rounds.scaled_ai(rtt, fair_rates=False) * 0.2 / rtt
        rate = rounds.aimd(np.full(30, 20.0), added) / rtt
        out[f"delta {delta} ms"] = _exponent(rtt, rate)
    return out


def fn5_runs(data: Data) -> Mapping[str, Reading]:
    """The same of the runs with eq. (7)."""

    def slope(cell: Cell) -> float:
        rtt = 0.040 + 0.001 * cell.x * np.arange(30)
        return _exponent(rtt, np.array(flow_goodputs(cell, "fwd")))

    cells = [cell for cell in data.of("main", "vcp-eq7") if cell.x >= 2]
    return by_label(data, "c1.b", cells, slope)


def _exponent(rtt: Any, rate: Any) -> float:
    return float(np.polyfit(np.log(rtt), np.log(rate), 1)[0])


def fig08_c4(data: Data) -> Mapping[str, Reading]:
    """Utilization of the seven links less that of one link of the same capacity."""
    alone = {(c.label, c.rep): c.metrics["utilization_ratio"] for c in data.of("one", "vcp")}

    def gap(cell: Cell) -> float | None:
        seven = data.number(cell, "mean(links.l?.utilization_ratio)")
        one = alone.get((cell.label, cell.rep))
        return None if seven is None or one is None else seven - one

    return by_label(data, "c4", data.of("main", "vcp"), gap)


def sec4c_alloc_c1(data: Data) -> dict[str, Reading]:
    """Of VCP's long flows the one that has least, and the one that has most, in any run [Mb/s]."""
    return _each_flow(data, "c1", "vcp", "long")


def sec4c_alloc_c2(data: Data) -> dict[str, Reading]:
    """The same of VCP's crossing flows."""
    return _each_flow(data, "c2", "vcp", "cross")


def sec4c_alloc_c3a(data: Data) -> dict[str, Reading]:
    """The same of XCP's long flows."""
    return _each_flow(data, "c3.a", "xcp", "long")


def sec4c_alloc_c3b(data: Data) -> dict[str, Reading]:
    """The same of XCP's crossing flows."""
    return _each_flow(data, "c3.b", "xcp", "cross")


def _each_flow(data: Data, short: str, scheme: str, groups: str) -> dict[str, Reading]:
    claim = claim_of(data, short)
    out = {}
    for cell in data.of("main", scheme):
        flows = cell.result.flows
        pairs = zip(flows["group"], flows["goodput_bps"], strict=True)
        rates = [float(rate or 0.0) / 1e6 for name, rate in pairs if name.startswith(groups)]
        for which, rate in (("least", min(rates)), ("most", max(rates))):
            name = f"{which} of {len(rates)} flows, run {cell.rep + 1}"
            out[name] = Reading(name, exact(rate), claim.lo, claim.hi)
    return out


def fig10_least_utilization(result: cp.Result) -> float:
    """The least utilization of 10 s after the first 30 s."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "10s")
    return float(used[t > 30].min())


def largest_queue(result: cp.Result) -> float:
    """The longest queue that there was at any instant, over the buffer."""
    link = link_of(result)
    return float(link["queue_max_bytes"]) / float(link["buffer_bytes"])


def fig10_c3(data: Data) -> dict[str, float]:
    """The largest part of its share that a newcomer has with VCP before three times have passed
    that XCP's newcomer needs for 90 %. (VCP's own time mostly does not come before the next flow.)
    """
    vcp_run, xcp_run = (data.of("main", scheme)[0].result for scheme in ("vcp", "xcp"))
    out = {}
    for n in (2, 3, 4, 5):
        time = _to_fair(xcp_run, n)
        t, share = _share(vcp_run, n)
        reached = float(share[t <= 100.0 * (n - 1) + 3 * time].max())
        # The next flow changes the share: of what would have come later nothing is known.
        out[f"flow {n}"] = Censored(reached) if 3 * time > 100 else reached
    return out


def fig10_settled(data: Data) -> dict[str, Reading]:
    """How many times as long as XCP's a newcomer of VCP needs until it keeps to an equal share. If
    VCP's does not until the next one comes, that time over XCP's: it is more, and decides if this
    is enough."""
    lo = claim_of(data, "c3.b").lo
    vcp_run, xcp_run = (data.of("main", scheme)[0].result for scheme in ("vcp", "xcp"))
    out = {}
    for n in (2, 3, 4, 5):
        late, early = _keeps(vcp_run, n), _keeps(xcp_run, n)
        ratio = float(late) / float(early)
        name = f"flow {n}"
        if isinstance(late, Censored) and not isinstance(early, Censored) and ratio >= lo:
            out[name] = Reading(f"{name} (at least)", exact(ratio), lo, np.inf)
            continue
        value = Censored.less(late, early, ratio)
        out[name] = Reading.of(name, [value], lo, np.inf)
    return out


def _keeps(result: cp.Result, flow: int) -> float:
    """Seconds from the arrival of the flow until its goodput over 2 s is within a tenth of the mean
    of those that are there, and stays there until the next one comes."""
    goodput = flow_series(result, "goodput_bps")
    begin, end = 100.0 * (flow - 1), 100.0 * flow
    rates = []
    for n in range(1, flow + 1):
        t, rate = windowed(*goodput[f"f{n}"], "2s")
        rates.append(rate[(t > begin) & (t <= end)])
        own = t[(t > begin) & (t <= end)]
    away = np.abs(rates[-1] / np.mean(rates, axis=0) - 1) > 0.1
    if away[-1]:
        return Censored(end - begin)
    return float(own[np.flatnonzero(away)[-1]] - begin) if away.any() else float(own[0] - begin)


def _to_fair(result: cp.Result, flow: int) -> float:
    """Seconds from the arrival of the flow until it has 90 % of its share, looked for until the
    next one comes."""
    t, share = _share(result, flow)
    return _first(t[share >= 0.9], 100.0 * (flow - 1), 100.0 * flow)


def _share(result: cp.Result, flow: int) -> tuple[Any, Any]:
    """Times from a flow's arrival to the next one, and its goodput over 2 s as a part of its
    share: 0.95 of the capacity by as many as there are."""
    t, rate = windowed(*flow_series(result, "goodput_bps")[f"f{flow}"], "2s")
    alone = (t > 100 * (flow - 1)) & (t <= 100 * flow)
    return t[alone], rate[alone] / (0.95 * 45e6 / flow)


def fig11_c1(data: Data) -> dict[str, Reading]:
    """Of each run."""
    claim = claim_of(data, "c1")
    return {
        name: Reading(name, exact(seconds), claim.lo, claim.hi)
        for name, seconds in (
            (f"run {cell.rep + 1}", fig11_recovery(cell.result)) for cell in data.of("main", "vcp")
        )
    }


def fig11_recovery(result: cp.Result) -> float:
    """Seconds from the departure at 160 s until 95 % of the capacity are used again; NaN if it
    never was less."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "500ms")
    low = t[(t > 160) & (t <= 170) & (used < 0.95)]
    if not len(low):
        return np.nan
    return _first(t[(t > low[0]) & (used >= 0.95)], 160.0, float(t[-1]))


def fig11_c2(data: Data) -> dict[str, float]:
    """How many flows there are, when the 150 come and go, and the RTTs, less what the text has."""
    flows = tomllib.loads(runs.scenario(data.figure, data.parts[0]))["flows"]
    result = data.cells[0].result
    out = {
        "flows that stay": flows["stay"]["count"] - 50.0,
        "flows that come": flows["more"]["count"] - 150.0,
        "flows back": flows["rev"]["count"] - 50.0,
        "come": seconds(flows["more"]["start"]) - 80.0,
        "go": seconds(flows["more"]["stop"]) - 160.0,
    }
    for group in ("stay", "more"):
        rtts = base_rtts(result, group)
        out[f"shortest RTT, {group}"] = round(min(rtts) - 0.060, 9)
        out[f"longest RTT, {group}"] = round(max(rtts) - 0.158, 9)
        even = np.linspace(0.060, 0.158, len(rtts))
        out[f"RTTs between, {group}"] = round(float(np.abs(np.sort(rtts) - even).max()), 9)
    return out


def fig11_least_utilization(result: cp.Result) -> float:
    """The least utilization of 1 s within 10 s of the arrivals."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "1s")
    return float(used[(t > 80) & (t <= 90)].min())


def fig11_windows(place: Any, data: Data) -> None:
    """Four of the flows that stay."""
    lines = series(data.cells[0], "cwnd_pkts")
    names = [name for name in lines if name.startswith("stay")]
    for color, name in zip(COLORS, names[:: max(1, len(names) // 4)][:4], strict=False):
        t, window = lines[name]
        place.plot(t, window, color=color, linewidth=0.8, label=name)
    place.set_xlabel("Time (s)")


def sec4d_weights_c1(data: Data) -> dict[str, Reading]:
    """The ratio of rates over the ratio of weights, for the second and third flow."""
    claim = claim_of(data, "c1")
    out = {}
    for label in dict.fromkeys(cell.label for cell in data.cells):
        weights = [float(w) for w in label.split(":")]
        for weight, group in ((weights[1], "b"), (weights[2], "c")):
            values = [
                value / weight
                for cell in data.cells
                if cell.label == label and (value := _over_first(cell.metrics, group)) is not None
            ]
            name = f"{label}, flow {group}"
            out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


def _over_first(metrics: Mapping[str, float], group: str) -> float | None:
    first = metrics.get("groups.a.goodput_mean_bps")
    other = metrics.get(f"groups.{group}.goodput_mean_bps")
    if first is None or other is None:
        return None
    return other / first if first else np.inf


# Section V.


def fig12_c1(_: Data) -> dict[str, float]:
    link = vcp.Link(capacity=1000, rtt=0.2, flows=4, kappa=0.3)
    start = np.array([10.0, 20.0, 30.0, 80.0])
    each = vcp.windows(link, start, rounds=30).x.sum(axis=1)
    together = vcp.windows(link, start.sum(), rounds=30).x[:, 0]
    return {"four flows against their sum": float(np.abs(each / together - 1).max())}


def fig12_c2(_: Data) -> dict[str, float]:
    scaled = {}
    for capacity, rtt, flows in ((1000, 0.2, 4), (10_000, 0.02, 4), (500, 4.0, 40)):
        link = vcp.Link(capacity=capacity, rtt=rtt, flows=flows)
        name = f"C = {capacity}/s, T = {rtt:g} s"
        scaled[name] = vcp.windows(link, 0.1 * link.target, rounds=60).x[:, 0] / link.target
    first, *others = scaled.values()
    names = list(scaled)[1:]
    return {name: float(np.abs(x / first - 1).max()) for name, x in zip(names, others, strict=True)}


def thm1_c1(_: Data) -> dict[str, float]:
    """|W / W* - 1| after 300 round trips, of 4 flows on a pipe of 200 packets and of 40
    on one of 20."""
    out = {}
    for capacity, flows in ((1000, 4), (100, 40)):
        for kappa in (0.1, 0.25, 0.5):
            link = vcp.Link(capacity=capacity, rtt=0.2, flows=flows, kappa=kappa)
            for load in (0.01, 0.5, 10):
                run = vcp.windows(link, load * link.target, rounds=300, steps_per_rtt=8)
                away = abs(float(run.x[-1, 0]) / link.window - 1)
                out[f"{flows} flows, kappa {kappa:g}, first load {load:g}"] = away
    return out


def thm1_c2(_: Data) -> dict[str, float]:
    out = {}
    for kappa in (0.1, 0.25, 0.5):
        link = vcp.Link(capacity=1000, rtt=0.2, flows=4, kappa=kappa)
        run = vcp.windows(link, [10.0, 20.0, 30.0, 60.0], rounds=600, steps_per_rtt=4)
        out[f"kappa {kappa:g}"] = float(np.abs(run.x[-1] / 0.2 / link.rate - 1).max())
    return out


def thm1_c3(_: Data) -> dict[str, float]:
    """W / (C T) less gamma + alpha / (kappa P)."""
    out = {}
    for pipe, flows in ((200, 10), (200, 4), (200, 1), (1000, 1), (2000, 1)):
        link = vcp.Link(capacity=pipe / 0.2, rtt=0.2, flows=flows)
        run = vcp.windows(link, link.target, rounds=150, steps_per_rtt=4)
        out[f"P = {pipe / flows:g}"] = float(run.x[-1, 0]) / pipe - link.utilization
    return out


def eq14_c1(_: Data) -> dict[str, float]:
    out = {}
    for per_flow in (10, 50, 200, 1500):
        for target in (0.9, 0.95, 0.98, 1.0):
            link = vcp.Link(capacity=2 * per_flow / 0.08, rtt=0.08, flows=2)
            told = vcp.steer(link, target, updates=80)
            away = np.abs(told.utilization[-30:] - target).max()
            out[f"P = {per_flow}, U = {target:g}"] = float(away)
    return out


def _networks() -> dict[str, Network]:
    """Two links of 155 and 100 packets per round trip, with four long flows and one over the first;
    the seven of IV-C; and 20 random ones."""
    seven = [list(range(7)), *([link] for link in range(7))]
    out = {
        "two links": of_paths([155.0, 100.0], [[0, 1], [0]], count=[4, 1]),
        "seven links": of_paths([1500.0] * 7, seven, count=[30, *[5] * 7]),
    }
    rng = np.random.default_rng(11)
    for number in range(20):
        links, flows = int(rng.integers(2, 9)), int(rng.integers(2, 16))
        used = rng.random((flows, links)) < 0.4
        used[np.arange(flows), rng.integers(0, links, flows)] = True
        capacity = rng.choice([10.0, 20.0, 50.0, 100.0], links)
        out[f"random {number + 1}"] = of_paths(capacity, [np.flatnonzero(row) for row in used])
    return out


@functools.cache
def _integrated() -> dict[str, tuple[Network, Array]]:
    """These networks and the rates of their flows [packets per round trip] after 1000 round trips
    of the model, which they go through side by side."""
    networks = _networks()
    first = np.cumsum([0, *(len(one.capacity) for one in networks.values())])
    paths = [
        one.path(flow) + offset
        for one, offset in zip(networks.values(), first, strict=False)
        for flow in range(len(one.flows))
    ]
    capacity = np.concatenate([one.capacity for one in networks.values()])
    count = np.concatenate([one.count for one in networks.values()])
    whole = of_paths(capacity, paths, count=count)

    def rhs(t: float, w: Array, past: Past) -> Array:
        rho = whole.load(past(t - 1.0)) / (0.98 * capacity)
        worst = np.maximum.reduceat(rho[whole.link], whole.start[:-1])
        return np.asarray(w * 0.25 * (1 - worst) / worst + 1.0)

    # Half of what an equal share of each link would leave.
    share = capacity / np.maximum(whole.load(np.ones(len(paths))), 1.0)
    start = 0.5 * np.minimum.reduceat(share[whole.link], whole.start[:-1])
    rate = integrate(rhs, start, t_end=1000, step=0.25, smallest_delay=1.0).x[-1]
    ends = np.cumsum([len(one.flows) for one in networks.values()])[:-1]
    found = zip(networks.items(), np.split(rate, ends), strict=True)
    return {name: (network, rates) for (name, network), rates in found}


def thm2_c1(_: Data) -> dict[str, float]:
    """The farthest of a network's flows from the equilibrium's rate, relative."""
    return {
        name: float(np.abs(rate / miaimd_equilibrium(network, 1.0).rate - 1).max())
        for name, (network, rate) in _integrated().items()
    }


def thm2_c2(_: Data) -> dict[str, float]:
    """Flows that are not the fastest at the most loaded link of their way, by more than 1e-3."""
    return {name: _not_fastest(*one) for name, one in _integrated().items()}


def _not_fastest(network: Network, rate: Array) -> float:
    rho = network.load(rate) / network.capacity
    wrong = 0
    for flow, own in enumerate(rate):
        path = network.path(flow)
        worst = path[int(np.argmax(rho[path]))]
        here = np.unique(network.flow[network.link == worst])
        wrong += bool(rate[here].max() > own * (1 + 1e-3))
    return float(wrong)


def thm3_c1(_: Data) -> dict[str, float]:
    """Intervals to 80 % that each power of ten of the capacity adds, 1 Mb/s to 10 Gb/s."""
    names = ("1 Mb/s", "10 Mb/s", "100 Mb/s", "1 Gb/s", "10 Gb/s")
    taken = [_rounds_until(rounds.vcp(25.0 * 10**k, [1.0], 400).load >= 0.8) for k in range(5)]
    steps = zip(names[:-1], names[1:], np.diff(taken), strict=True)
    return {f"{low} to {high}": float(more) for low, high, more in steps}


def thm3_c2(_: Data) -> dict[str, float]:
    out = {}
    for over in (1.1, 1.5, 2.0, 3.0, 4.0):
        count = _rounds_until(rounds.vcp(1000.0, [over * 1000.0], 60).load < 1.0)
        out[f"over-use {over:g}"] = count / (log(over) / log(1 / vcp.BETA))
    return out


def _rounds_until(reached: Any) -> float:
    """NaN if it never is."""
    return float(np.argmax(reached)) if reached.any() else np.nan


def thm4_c1(_: Data) -> dict[str, float]:
    return {f"P = {p}": rounds.aimd_to_fair(p, p) / (p * log(p)) for p in (30, 100, 300, 1000)}


def thm4_c2a(_: Data) -> dict[str, float]:
    taken = {p: rounds.xcp_to_fair([(p + 27) / 2, (p - 27) / 2]) for p in (30, 100, 300, 1000)}
    return {f"P = {p}": taken[p] / taken[30] for p in (100, 300, 1000)}


def thm4_c2b(_: Data) -> dict[str, float]:
    return {
        f"P = {p}": rounds.xcp_to_fair([1.45 * p, 0.55 * p]) / vcp.xcp_rounds_to_fairness(0.9 * p)
        for p in (30, 100, 300, 1000)
    }


def sec5_modelgap_model(_: Data) -> float:
    """The model's rate of a crossing flow over that of a long one, over seven links."""
    _network, rate = _integrated()["seven links"]
    return float(rate[1:].mean() / rate[0])


# Section VI.


def _leaves_mi(result: cp.Result, flow: str) -> float:
    """When a flow first is in additive increase."""
    t, mode = flow_series(result, "sender_mode")[flow]
    return _first(t[mode >= 2], 0.0, float(t[-1]))


def steady_deviation(result: cp.Result) -> float:
    """Standard deviation of the utilization of each second after the warm-up."""
    t, used = link_series(result, "utilization_ratio")
    return float(used[t > result.meta["warmup_s"]].std())


def steady_additive(result: cp.Result) -> float:
    """The share of instants after the warm-up at which a flow is in additive increase."""
    modes = [m[t > result.meta["warmup_s"]] for t, m in flow_series(result, "sender_mode").values()]
    return float((np.concatenate(modes) == 2).mean())


def fig13_fast(result: cp.Result) -> float:
    return _leaves_mi(result, "fast")


def fig13_slow(result: cp.Result) -> float:
    return _leaves_mi(result, "slow")


def fig13_lag(result: cp.Result) -> float:
    fast, slow = fig13_fast(result), fig13_slow(result)
    return Censored.less(slow, fast, slow - fast)


def fig13_gain(result: cp.Result) -> float:
    """What the slow flow's rate grows by between the two instants, over the fast one's rate; NaN if
    the slow one does not leave later."""
    begin, end = fig13_fast(result), fig13_slow(result)
    if end <= begin and not isinstance(end, Censored):
        return np.nan
    windows = flow_series(result, "cwnd_pkts")

    def rate(flow: str, at: float, rtt: float) -> float:
        t, window = windows[flow]
        return float(np.interp(at, t, window)) / rtt

    grown = rate("slow", end, 0.5) - rate("slow", begin, 0.5)
    gain = grown / rate("fast", begin, 0.05)
    cut_off = isinstance(begin, Censored) or isinstance(end, Censored)
    return Censored(gain, 0) if cut_off else gain


def fig13_utilization(result: cp.Result) -> float:
    """From 30 s on."""
    return float(link_of(result)["utilization_ratio"])


def fig13_unstable(result: cp.Result) -> float:
    """The largest coefficient of variation of a window in any 10 s from 30 s on; NaN if one of
    these is not known."""
    found = []
    for t, window in flow_series(result, "cwnd_pkts").values():
        for begin in range(30, 120, 10):
            part = window[(t > begin) & (t <= begin + 10)]
            found.append(part.std() / part.mean() if len(part) else np.nan)
    return float(np.max(found))


def sec6c_tcpfriendly_c1(_: Data) -> float:
    return vcp.friendly_alpha()


def sec6c_tcpfriendly_10(data: Data) -> dict[str, Reading]:
    """TCP's windows that fall where no packet is dropped and overload, and with it 11, never
    comes."""
    result = data.of("source", "never")[0].result
    return {
        "decreases": _told("decreases", _falls(result), 0, 0),
        **_no_others(result),
        "11": _told("packets with 11", float(link_of(result)["total_marks_pkts"]), 0, 0),
    }


def sec6c_tcpfriendly_11(data: Data) -> dict[str, Reading]:
    """The same where overload comes and, again, no packet is dropped."""
    result = data.of("source", "beside-tcp")[0].result
    return {
        "decreases": _told("decreases", _falls(result), 1, np.inf),
        **_no_others(result),
        "11": _told("packets with 11", float(link_of(result)["total_marks_pkts"]), 1, np.inf),
    }


def sec6c_tcpfriendly_marks(data: Data) -> float:
    """Packets with 11 in a period of overload, over those where a router writes it into all."""
    some, every = (
        _marked(data.of("source", scheme)[0].result) for scheme in ("beside-tcp", "all-marked")
    )
    return some / every


def _marked(result: cp.Result) -> float:
    _, code = link_series(result, "router_code")
    return float(link_of(result)["total_marks_pkts"]) / float((code == CODES[2]).sum())


def _falls(result: cp.Result) -> float:
    windows = _windows(result).values()
    return float(sum((np.diff(window) < -0.5).sum() for _, window in windows))


def _no_others(result: cp.Result) -> dict[str, Reading]:
    """What else a window falls for."""
    flows = result.flows
    lost = (
        link_of(result)["total_drops_pkts"]
        + link_of(result, "bottleneck.reverse")["total_drops_pkts"]
    )
    return {
        "drops": _told("drops", float(lost), 0, 0),
        "timeouts": _told("timeouts", float(sum(flows["timeouts"])), 0, 0),
    }


def _told(name: str, value: float, lo: float, hi: float) -> Reading:
    return Reading(name, exact(value), lo, hi)
