"""DPCP's claims that are computed, by the theory or from series; dpcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS
from clearpipe.reproduce.runs import Censored, Data
from clearpipe.reproduce.tools import claim_of, flow_series, link_of, link_series, windowed
from clearpipe.statistics import t_interval
from clearpipe.theory import rounds, vcp

EDGES = np.array([0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4])
"""Table I: where one level ends and the next begins; the last has everything from 1.4 on."""
UPPER = (0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4, 2.0)
MD = (0.875, 0.6, 0.43)

# Section II-B.


def sec2b_overload_c1(_: Data) -> dict[str, float]:
    """The load factor after one cut by 0.875."""
    return {
        f"from {load:g}": float(rounds.vcp(1e6, [1e6 * load], 2).load[1])
        for load in (1.151, 1.2, 1.4, 1.7, 2.0)
    }


def overload_cuts(result: cp.Result) -> float:
    """A flow's cuts from the step at 60 s until the router finds less than full load.

    A cut is a fall of the window by more than a tenth; when DPCP's second packet comes, the window
    may rise again, which is the same cut.
    """
    t, rho = link_series(result, "router_rho")
    over = t[(t > 60) & (rho >= 1)]
    if not len(over):
        return 0.0
    ended = t[(t > over[0]) & (rho < 1)]
    until = float(ended[0]) if len(ended) else float(t[-1])
    counts = []
    for at, window in flow_series(result, "sender_cwnd").values():
        cuts = at[1:][window[1:] < 0.9 * window[:-1]]
        counts.append(int(((cuts > over[0]) & (cuts <= until)).sum()))
    return float(np.mean(counts))


def used(result: cp.Result) -> float:
    """The mean utilization of the run."""
    return float(link_series(result, "utilization_ratio")[1].mean())


def transition(result: cp.Result) -> float:
    """Seconds until the mean utilization over a second is 80 %."""
    t, values = link_series(result, "utilization_ratio")
    mean = np.convolve(values, np.full(5, 0.2), "valid")
    reached = np.flatnonzero(mean >= 0.8)
    return float(t[reached[0] + 4]) if len(reached) else Censored(t[-1])


def fig05_utilization(place: Any, data: Data, part: str = "one") -> None:
    """The first run of each scheme with one flow at 4 Mb/s, 500 ms."""
    for scheme, color in zip(("vcp", "dpcp"), COLORS, strict=False):
        cells = [cell for cell in data.of(part, scheme) if cell.label == "4M, 500ms"]
        for cell in cells[:1]:
            t, values = windowed(*link_series(cell.result, "utilization_ratio"), "1s")
            place.plot(t, values, color=color, label=data.paper.schemes[scheme].label)
    place.set_xlabel("Time (s)")


def fig05_linux(place: Any, data: Data) -> None:
    fig05_utilization(place, data, "linux")


def sec2b_transition400_c1(data: Data) -> float | None:
    """The least RTT from which on VCP's time is above those of XCP and of SACK [s]; 0 if it is so
    at all, infinite if not at the longest."""
    points: dict[float, dict[str, list[float]]] = {}
    for cell in data.cells:
        time = data.number(cell, "@transition")
        if time is not None:
            points.setdefault(cell.x, {}).setdefault(cell.scheme, []).append(time)
    found = np.inf
    for rtt in sorted(points, reverse=True):
        means = {scheme: np.mean(times) for scheme, times in points[rtt].items()}
        if len(means) < 3 or means["vcp"] <= max(means["xcp"], means["sack"]):
            return found
        found = rtt
    return 0.0 if points else None


# Section III-A: table I.


def _levels(result: cp.Result, link: str = "bottleneck") -> tuple[Any, Any, Any]:
    """Times, load factors and levels 0 to 8 that a router told in its periods."""
    t, rho = link_series(result, "router_rho", link)
    at, zone = link_series(result, "router_msp1", link)
    level_at, level = link_series(result, "router_lsp1", link)
    where = np.maximum(np.searchsorted(at, t, side="right") - 1, 0)
    place = np.maximum(np.searchsorted(level_at, t, side="right") - 1, 0)
    return t, rho, 3 * (zone[where] - 1) + level[place] - 1


def tab1_c1(data: Data) -> dict[str, float]:
    """Periods whose level is another than the table's, levels that did not come, other cuts."""
    result = data.cells[0].result
    _, rho, level = _levels(result)
    seen = set(level.astype(int))
    cuts = _cuts(result)
    out = {
        "periods of another level": float((level != np.digitize(rho, EDGES)).sum()),
        "levels that did not come": float(9 - len(seen)),
    }
    for number, factor in enumerate(MD):
        mine = cuts.get(13 + number, [])
        wrong = sum(abs(cut - factor) > 0.02 for cut in mine)
        out[f"cuts by another factor than {factor:g}"] = float(wrong if mine else 1)
    return out


def _cuts(result: cp.Result) -> dict[int, list[float]]:
    """By the load of the pair (4 MSP + LSP), windows over those before the cut: what the LSP left,
    which comes just behind the MSP, or the MSP where the LSP says no less."""
    out: dict[int, list[float]] = {}
    loads = flow_series(result, "sender_lf")
    for name, (t, window) in flow_series(result, "sender_cwnd").items():
        at, lf = loads[name]
        for i in np.flatnonzero(window[1:] < 0.9 * window[:-1]) + 1:
            # Small windows end at 1.
            if window[i - 1] < 3:
                continue
            later = np.flatnonzero((at > t[i]) & (at < t[i] + 0.2))
            told, when = 15, t[i]
            if len(later) and at[later[0]] > t[i] + 0.005:
                # The LSP said 11, or it is lost: then the load is that of another pair.
                continue
            if len(later) and lf[later[0]] in (13, 14):
                told, when = int(lf[later[0]]), at[later[0]]
            after = window[np.searchsorted(t, when, side="right") - 1]
            out.setdefault(told, []).append(float(after / window[i - 1]))
    return out


def tab1_c2(_: Data) -> dict[str, float]:
    return {
        f"from {load:g} by {beta:g}": float(rounds.vcp(1000.0, [1000 * load], 2, beta=beta).load[1])
        for load, beta in zip((1.05, 1.4, 2.0), MD, strict=True)
    }


def tab1_c3(_: Data) -> dict[str, float]:
    printed = (1.0, 0.375, 0.0625, 0.0441, 0.0132, 0.0)
    return {
        f"up to {edge:.0%}": float(vcp.xi(edge)) - told
        for edge, told in zip(UPPER[:6], printed, strict=True)
    }


def tab1_c4(data: Data) -> float:
    """Codes that the router wrote; one with 00 would count as a thousand."""
    _, _, level = _levels(data.cells[0].result)
    return float(len(set(level)) + 1000 * (level < 0).any())


def tab1_levels(place: Any, data: Data) -> None:
    _, rho, level = _levels(data.cells[0].result)
    place.plot(rho, level, ".", color=COLORS[0], markersize=4)
    codes = ("0101", "0110", "0111", "1001", "1010", "1011", "1101", "1110", "1111")
    place.set_yticks(range(9), codes)
    place.set_xlabel("Load factor")


# Section III-B: algorithm 1.


def _last(result: cp.Result, name: str) -> list[float]:
    """A sender's variable at the end, of each flow."""
    return [float(values[-1]) for _, values in flow_series(result, f"sender_{name}").values()]


def alg1_c1(data: Data) -> dict[str, float]:
    """Packets of a part after the same part, and numbers that were not undone rightly."""
    return {
        f"gap {cell.label}": sum(_last(cell.result, "exceptions"))
        + sum(_last(cell.result, "misread"))
        for cell in data.of("numbers")
    }


def alg1_c2(data: Data) -> dict[str, float]:
    """Misread numbers and transfers that did not end where the numbers meet in ties."""
    out = {}
    for cell in data.of("numbers"):
        if cell.label in ("0", "960", "96000"):
            unfinished = sum(time is None for time in cell.result.flows["fct_s"])
            out[f"gap {cell.label}"] = sum(_last(cell.result, "misread")) + unfinished
    return out


def alg1_c3(data: Data) -> float | None:
    """Flags per flow with which all windows are as with 4096 flags."""
    cells = {cell.scheme: cell for cell in data.of("flags")}
    if len(cells) < 2:
        return None
    few, many = (flow_series(cells[s].result, "sender_cwnd") for s in ("dpcp-flags", "dpcp"))
    same = all(np.array_equal(few[name], many[name]) for name in many)
    return 10 / len(many) if same else 4096 / len(many)


# Section III-C: algorithm 2.


LINKS = ("link0", "link1", "link2")


def _at(series: tuple[Any, Any], t: Any) -> Any:
    """A series' values at these times."""
    at, values = series
    return values[np.maximum(np.searchsorted(at, t, side="right") - 1, 0)]


def _highest(result: cp.Result, t: Any) -> Any:
    """The highest level of the links at these times, as 4 MSP + LSP."""
    codes = [
        4 * _at(link_series(result, "router_msp1", link), t)
        + _at(link_series(result, "router_lsp1", link), t)
        for link in LINKS
    ]
    return np.max(codes, axis=0)


def alg2_c1(data: Data) -> dict[str, float]:
    """What the long flow knows other than the highest level, where that has not changed on any link
    for half a second: neither MSP||LSP nor, between a pair's two packets, MSP||11."""
    result = data.cells[0].result
    t, lf = flow_series(result, "sender_lf")["long"]
    changes = np.sort(
        np.concatenate(
            [
                link_series(result, name, link)[0]
                for link in LINKS
                for name in ("router_msp1", "router_lsp1")
            ]
        )
    )
    # An RTT is 32 ms and queues.
    before = changes[np.maximum(np.searchsorted(changes, t, side="right") - 1, 0)]
    static = (t - before > 0.5) & (t > 5)
    told = _highest(result, t)
    wrong = static & (lf != told) & (lf != 4 * (told // 4) + 3)
    # Some are there, and of both kinds.
    return {
        "wrong": float(wrong.sum()),
        "no ACK to judge": float(not (static & (lf == told)).any()),
    }


def alg2_c2(data: Data) -> float:
    """Changes of the MSP with which the LSP was not 11."""
    result = data.cells[0].result
    t, msp = flow_series(result, "sender_msp")["long"]
    changed = t[1:][np.diff(msp) != 0]
    lsp = _at(flow_series(result, "sender_lsp")["long"], changed)
    return float((lsp != 3).sum()) if len(changed) else np.inf


def alg2_c3(data: Data) -> float:
    """RTTs from the first packet to the first change of the window."""
    result = data.cells[0].result
    t, window = flow_series(result, "sender_cwnd")["long"]
    first = float(t[1:][np.diff(window) != 0][0])
    start = float(result.flows["start_s"][0])
    _, srtt = flow_series(result, "srtt_s")["long"]
    rtt = float(srtt[np.isfinite(srtt) & (srtt > 0)][0])
    return round((first - start) / rtt, 6)


def alg2_levels(place: Any, data: Data) -> None:
    result = data.cells[0].result
    t, lf = flow_series(result, "sender_lf")["long"]
    grid = np.arange(0.0, float(t[-1]), 0.05)
    place.plot(grid, _highest(result, grid), color="0.6", linewidth=1.2, label="routers")
    place.plot(t, lf, ".", color=COLORS[0], markersize=1.5, label="long flow")
    place.set_xlabel("Time (s)")


# Section III-D: exceptions.


def _events(result: cp.Result, name: str) -> Any:
    """When a counter of the one flow rose, and to what."""
    (t, values), *_ = flow_series(result, f"sender_{name}").values()
    rose = np.flatnonzero(np.diff(values) > 0) + 1
    return t[rose], values[rose]


def sec3d_exceptions_c1(data: Data) -> float | None:
    """Consecutive MSPs when the flow first falls back: with delayed ACKs all are MSPs."""
    for cell in data.of("delayed"):
        at, _ = _events(cell.result, "downgrades")
        when, count = _events(cell.result, "exceptions")
        # The first of a row is no exception.
        return float(count[when <= at[0] + 1e-9][-1] + 1)
    return None


def sec3d_exceptions_c2(data: Data) -> dict[str, float]:
    """The share of exceptions after which the MSP is not lower and the LSP is 11, or the sender is
    VCP's for a while and uses neither."""
    out = {}
    for cell in data.of("loss"):
        result = cell.result
        when, _ = _events(result, "exceptions")
        (name,) = flow_series(result, "sender_msp")
        msp, lsp, mode = (flow_series(result, f"sender_{v}")[name] for v in ("msp", "lsp", "vcp"))
        before = msp[1][np.maximum(np.searchsorted(msp[0], when, side="left") - 1, 0)]
        right = (_at(msp, when) >= before) & (_at(lsp, when) == 3)
        held = right | (_at(mode, when) > 0)
        if len(when):
            out[f"{cell.label} % lost, {len(when)} exceptions"] = float(held.mean())
    return out


def sec3d_exceptions_c3(data: Data) -> float | None:
    """1 if it fell back after the losses, and sent pairs again within 12 RTTs (10, and one for the
    first pair to come back, with queues) and at the end."""
    for cell in data.of("transient"):
        (t, mode), *_ = flow_series(cell.result, "sender_vcp").values()
        fell = np.flatnonzero((mode[1:] == 1) & (mode[:-1] == 0)) + 1
        if not len(fell):
            return 0.0
        back = t[(t > t[fell[0]]) & (mode == 0)]
        return float(len(back) > 0 and back[0] - t[fell[0]] <= 12 * 0.55 and mode[-1] == 0)
    return None


# Section IV-A: four links.


def _shares(result: cp.Result, local: str, capacity: float) -> tuple[Any, Any, Any]:
    """Times, and what the long and the local flows of a link get of its capacity."""
    sums: dict[str, Any] = {}
    t = np.array([])
    for name, (at, rate) in flow_series(result, "goodput_bps").items():
        group = name.partition(" ")[0]
        t = at if len(at) > len(t) else t
        sums.setdefault(group, []).append((at, np.nan_to_num(rate)))

    def total(group: str) -> Any:
        out = np.zeros(len(t))
        for at, rate in sums.get(group, []):
            out[np.searchsorted(t, at)] += rate
        return out / capacity

    return t, total("long"), total(local)


def _phase(result: cp.Result, link: int, start: float, end: float) -> tuple[float, float]:
    """The mean shares of the long and the local flows from `start` to `end`."""
    capacity = link_of(result, f"link{link}")["rate_bps"]
    t, long, local = _shares(result, f"local{link}", capacity)
    within = (t > start) & (t <= end)
    return float(long[within].mean()), float(local[within].mean())


BEFORE, AFTER = (200.0, 1000.0), (1200.0, 3000.0)


def fig01_ratio(result: cp.Result) -> float:
    """Local over long goodput on link 0, of the whole run but its first 200 s."""
    long, local = _phase(result, 0, 200.0, 3000.0)
    return local / long


def long0_before(result: cp.Result) -> float:
    """The long flows' part of what link 0 carries before 1000 s."""
    return _part(_phase(result, 0, *BEFORE))


def long0_after(result: cp.Result) -> float:
    return _part(_phase(result, 0, *AFTER))


def _part(shares: tuple[float, float]) -> float:
    long, local = shares
    return long / (long + local)


def long2_before(result: cp.Result) -> float:
    """The long flows' share of link 2's capacity before 1000 s."""
    return _phase(result, 2, *BEFORE)[0]


def long2_after(result: cp.Result) -> float:
    return _phase(result, 2, *AFTER)[0]


def long2_change(result: cp.Result) -> float:
    return long2_after(result) - long2_before(result)


def long2_settled(result: cp.Result) -> float:
    """Seconds after 1000 s until the long flows' share over 20 s is within a tenth of what it is
    from 1200 s on."""
    t, long, _ = _shares(result, "local2", link_of(result, "link2")["rate_bps"])
    later = float(long[t > 1200].mean())
    for start in range(1000, 1500, 10):
        if abs(float(long[(t > start) & (t <= start + 20)].mean()) / later - 1) < 0.1:
            return float(start - 1000)
    return 500.0


def _draw_shares(place: Any, data: Data, part: str, link: int) -> None:
    cell = next(iter(data.of(part)), None)
    if cell is None:
        return
    capacity = link_of(cell.result, f"link{link}")["rate_bps"]
    t, long, local = _shares(cell.result, f"local{link}", capacity)
    place.plot(t, long, color=COLORS[0], linewidth=0.9, label="long")
    place.plot(t, local, color=COLORS[1], linewidth=0.9, label="local")
    place.set_xlabel("Time (s)")


def link0_main(place: Any, data: Data) -> None:
    _draw_shares(place, data, "main", 0)


def link0_text(place: Any, data: Data) -> None:
    _draw_shares(place, data, "text", 0)


def link0_thirty(place: Any, data: Data) -> None:
    _draw_shares(place, data, "thirty", 0)


def link2_main(place: Any, data: Data) -> None:
    _draw_shares(place, data, "main", 2)


def link2_thirty(place: Any, data: Data) -> None:
    _draw_shares(place, data, "thirty", 2)


def link2_text(place: Any, data: Data) -> None:
    _draw_shares(place, data, "text", 2)


def link2_dpcp_linux(place: Any, data: Data) -> None:
    _draw_shares(place, data, "dpcp-linux", 2)


def link2_vcp_linux(place: Any, data: Data) -> None:
    _draw_shares(place, data, "vcp-linux", 2)


def sec4b_multi_c1(data: Data) -> dict[str, Reading]:
    """Each share with Linux's packets less that of the figures."""
    claim = claim_of(data, "c1")
    out = {}
    for kind in ("dpcp", "vcp"):
        plain = {cell.rep: cell for cell in data.of(kind)}
        for metric in ("@long0_before", "@long0_after", "@long2_before", "@long2_after"):
            values = [
                here - there
                for cell in data.of(f"{kind}-linux")
                if (other := plain.get(cell.rep)) is not None
                and (here := data.number(cell, metric)) is not None
                and (there := data.number(other, metric)) is not None
            ]
            if values:
                name = f"{kind.upper()}, {metric[1:].replace('long', 'link ').replace('_', ', ')}"
                out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


# Section IV-C: losses.


def completion(result: cp.Result) -> float:
    """The mean time to finish [s]; who has not is counted with the length of the run, which makes
    it a bound from below."""
    end = float(result.meta["simulated_s"])
    times = [end if t is None or not np.isfinite(t) else float(t) for t in result.flows["fct_s"]]
    return float(np.mean(times))


def fig06_c2(data: Data, part: str = "main", short: str = "c2") -> dict[str, Reading]:
    """DPCP's times over that without losses, below 30 %."""
    claim = claim_of(data, short)
    clean = {c.rep: data.number(c, "@completion") for c in data.of(part, "dpcp-lossy") if not c.x}
    found: dict[str, list[float]] = {}
    for cell in data.of(part, "dpcp-lossy"):
        time, first = data.number(cell, "@completion"), clean.get(cell.rep)
        if 0 < cell.x < 30 and time is not None and first:
            found.setdefault(f"{cell.label} %", []).append(time / first)
    return {
        name: Reading.of(name, values, claim.lo, claim.hi)
        for name, values in found.items()
    }


def fig06_c6(data: Data) -> dict[str, Reading]:
    return fig06_c2(data, "linux", "c6")


def fig06_c3(data: Data, part: str = "main") -> dict[str, Reading]:
    """DPCP's slope from 35 % on [s per %], and the knee [%]; nothing without such points."""
    curves: dict[int, list[tuple[float, float]]] = {}
    for cell in data.of(part, "dpcp-lossy"):
        if (time := data.number(cell, "@completion")) is not None:
            curves.setdefault(cell.rep, []).append((cell.x, time))
    slopes, knees = [], []
    for curve in curves.values():
        x, y = np.array(sorted(curve)).T
        if np.count_nonzero(x >= 35) < 2:
            continue
        slopes.append(float(np.polyfit(x[x >= 35], y[x >= 35], 1)[0]))
        knees.append(knee(x, y))
    if not slopes:
        return {}
    return {
        "slope": Reading("slope", t_interval(slopes), np.nextafter(0.0, 1.0), np.inf),
        "knee": Reading.of("knee", knees, 25.0, 45.0),
    }


def fig06_c7(data: Data) -> dict[str, Reading]:
    return fig06_c3(data, "linux")


def knee(x: Any, y: Any) -> float:
    """Where y first passes 1.5 times its first value, between the points on a straight line;
    infinite if it never does."""
    over = np.flatnonzero(y > 1.5 * y[0])
    if not len(over):
        return float("inf")
    at = slice(over[0] - 1, over[0] + 1)
    return float(np.interp(1.5 * y[0], y[at], x[at]))


def fig06_c4(data: Data) -> dict[str, float]:
    """The slope of the gap to VCP over the loss rate from 20 % on [s per %], in each way to answer
    losses."""
    out = {}
    for part, kind in (("main", "lossy"), ("reno", "reno")):
        gap: dict[float, list[float]] = {}
        other = {
            (c.label, c.rep): data.number(c, "@completion") for c in data.of(part, f"vcp-{kind}")
        }
        for cell in data.of(part, f"dpcp-{kind}"):
            time, vcps = data.number(cell, "@completion"), other.get((cell.label, cell.rep))
            if cell.x >= 20 and time is not None and vcps is not None:
                gap.setdefault(cell.x, []).append(vcps - time)
        if len(gap) > 1:
            means = [float(np.mean(values)) for values in gap.values()]
            name = "losses change no window" if part == "main" else "losses as by Reno"
            out[name] = float(np.polyfit(list(gap), means, 1)[0])
    return out
