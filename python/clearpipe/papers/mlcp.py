"""MLCP's claims that are computed, by the theory or from series; mlcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.reproduce import runs
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS
from clearpipe.reproduce.runs import Cell, Data
from clearpipe.reproduce.tools import (
    base_rtts,
    by_label,
    claim_of,
    exact,
    flow_series,
    link_of,
    link_series,
    windowed,
)
from clearpipe.statistics import t_interval
from clearpipe.theory import mlcp, vcp

BDP = 25e6
"""1 Gb/s and 200 ms [bytes]."""

CAPACITIES = (1e6, 1e7, 1e8, 1e9, 1e10)


# Section 2.1: how many levels.


def fig01_c1(_: Data) -> dict[str, float]:
    loads = (0.01, 0.2, 0.4, 0.6, 0.79)
    return {f"load {load:g}": float(mlcp.factor([load], 2)[0]) for load in loads}


def fig01_c2(_: Data) -> dict[str, float]:
    printed = (2.8375, 1.7437, 1.3792, 1.1969, 1.0875)
    found = mlcp.factor(mlcp.edges(3), 3)
    return {
        f"up to {edge:.0%}": float(value) - told
        for edge, value, told in zip(mlcp.edges(3), found, printed, strict=True)
    }


def fig01_c3(_: Data) -> dict[str, float]:
    """Both ends, and the number of falling steps."""
    found = mlcp.factor(mlcp.edges(4), 4)
    falling = int((np.diff(found) < 0).sum()) + 1
    return {
        "first": float(found[0]) - 6.3375,
        "last": float(found[-1]) - 1.0875,
        "intervals": float(falling - 13),
    }


def fig01_c4(data: Data) -> dict[str, Reading]:
    """How far 3 bits are from 4 above 10 % load; steps are below the ideal, and close in."""
    claim = claim_of(data, "c4")
    load = np.arange(0.01, 0.8, 0.01)
    ideal = 1 + mlcp.gain(load)
    two, three, four = (mlcp.factor(load, bits) for bits in (2, 3, 4))
    high = load > 0.1
    gaps = [float(np.mean((ideal - steps) / ideal)) for steps in (two, three, four)]
    above = sum((steps > ideal + 1e-12).sum() for steps in (two, three, four))
    told = (
        ("4 bits over 3", float(np.mean((np.abs(four - three) / three)[high])), claim.hi),
        ("loads where steps are above the ideal", float(above), 0.0),
        ("gap to the ideal, 3 bits less 2", gaps[1] - gaps[0], 0.0),
        ("gap to the ideal, 4 bits less 3", gaps[2] - gaps[1], 0.0),
    )
    return {name: Reading(name, exact(value), -np.inf, hi) for name, value, hi in told}


def fig01_factors(place: Any, _: Data) -> None:
    load = np.arange(0.01, 0.8, 0.002)
    place.plot(100 * load, 1 + mlcp.gain(load), color=COLORS[0], label="ideal")
    for bits, color in zip((2, 3, 4), COLORS[1:], strict=False):
        place.plot(100 * load, mlcp.factor(load, bits), color=color, label=f"{bits} bits")
    place.set_xlabel("Load factor (%)")


def sec2_1_rl_c1(_: Data) -> float:
    return float(mlcp.whole_rounds(2, BDP))


def sec2_1_rl_c2(_: Data) -> float:
    return float(mlcp.whole_rounds(3, BDP))


def sec2_1_rl_c3(_: Data) -> float:
    return float(mlcp.whole_rounds(4, BDP))


def sec2_1_rl_c4(_: Data) -> float:
    return float(mlcp.whole_rounds(15, BDP))


def fig02_c2(_: Data) -> dict[str, float]:
    """r of 2 over 3 bits and of 3 over 15, in the printed digits, over 4.4 and 1.26; 1 KB is a
    packet."""
    out = {}
    for bps in CAPACITIES:
        two, three, many = (
            mlcp.rounds(bits, bps * 0.2 / 8, initial_bytes=1000) for bits in (2, 3, 15)
        )
        out[f"2 to 3 bits, {_rate(bps)}"] = round(two / three, 1) / 4.4
        out[f"3 to 15 bits, {_rate(bps)}"] = round(three / many, 2) / 1.26
    return out


def _rate(bps: float) -> str:
    return f"{bps / 1e9:g} Gb/s" if bps >= 1e9 else f"{bps / 1e6:g} Mb/s"


def fig02_rounds(place: Any, _: Data) -> None:
    rates = np.logspace(6, 10, 81)
    for bits, color in zip((2, 3, 4, 15), COLORS, strict=False):
        found = [mlcp.rounds(bits, bps * 0.2 / 8) for bps in rates]
        place.plot(rates, found, color=color, label=f"{bits} bits")
    place.set_xscale("log")
    place.set_xlabel("Capacity (b/s)")


# Section 2.2: how far to decrease.


def fig06_c1(_: Data) -> float:
    """Of the sender: beta_max and beta_min; of the levels: where they end."""
    host = next(one["params"] for one in cp.protocols() if one["name"] == "mlcp")
    found = {param["name"]: param["default"] for param in host}
    wrong = (found["beta_max"] != 0.875) + (found["beta_min"] != 0.675)
    load = np.arange(1.0, 1.5, 1e-4)
    last = load[np.argmax(mlcp.beta(load) <= 0.675 + 1e-9)]
    return float(wrong + (abs(last - 1.2) > 2e-4))


def fig06_c2(_: Data) -> dict[str, float]:
    k = np.arange(8)
    found = mlcp.beta(1 + k * 0.2 / 7)
    return {f"k = {n}": float(found[n] - (0.875 - n * 0.2 / 7)) for n in k}


def fig06_c3(_: Data) -> float:
    load = np.concatenate((np.linspace(1, 3, 20001), 1 + np.arange(8) * 0.2 / 7))
    return float((load * mlcp.beta(load)).min())


def fig06_betas(place: Any, _: Data) -> None:
    load = np.arange(1.0, 1.3, 0.001)
    for scheme, color in zip(("A", "B", "C", "D"), COLORS, strict=False):
        place.plot(100 * load, mlcp.beta(load, scheme), color=color, label=scheme)  # type: ignore[arg-type]
    place.set_xlabel("Load factor (%)")


def sec2_2_2_rounds_c1(_: Data) -> float:
    return mlcp.rounds_to_fair(0.7, 0.875)


def sec2_2_2_rounds(place: Any, _: Data) -> None:
    cuts = (0.5, 0.675, 0.75, 0.8, 0.875, 0.95)
    place.plot(cuts, [mlcp.rounds_to_fair(0.7, cut) for cut in cuts], "o-", color=COLORS[0])
    place.set_xlabel("beta")


# Section 3.1.2: RTT scaling.


def sec3_1_2_scaling_c1(_: Data) -> dict[str, float]:
    """The windows' ratio over the alphas', with AI alone and with II."""
    out = {}
    for n, m in ((5, 0), (5, 20), (2, 20)):
        for ratio in (0.1, 0.25, 1.0, 4.0, 10.0):
            first, second = mlcp.after_epochs([50.0, 1.0], [ratio, 1.0], mlcp.Epoch(n, m))
            out[f"n = {n}, m = {m}, ratio {ratio:g}"] = float(first / second / ratio)
    return out


def sec3_1_2_scaling_c2(_: Data) -> dict[str, float]:
    """Jain's index of the rates of five RTTs, 0.1 to 10 t_p."""
    out = {}
    for n, m in ((5, 0), (5, 20), (2, 20)):
        rates = np.array([1 / mlcp.rate_ratio(r, mlcp.Epoch(n, m)) for r in (0.1, 0.25, 1, 4, 10)])
        out[f"n = {n}, m = {m}"] = float(rates.sum() ** 2 / (5 * (rates**2).sum()))
    return out


def sec3_1_2_ratios(place: Any, _: Data) -> None:
    ratios = np.logspace(-1, 1, 21)
    place.plot(ratios, ratios, color="0.6", linewidth=0.8, label="eq. (11)")
    for (n, m), color in zip(((5, 0), (5, 20), (2, 20)), COLORS, strict=False):
        other = mlcp.fixed_point(1.0, mlcp.Epoch(n, m))
        found = [mlcp.fixed_point(r, mlcp.Epoch(n, m)) / other for r in ratios]
        place.plot(ratios, found, color=color, label=f"n = {n}, m = {m}")
    place.set_xscale("log")
    place.set_yscale("log")
    place.set_xlabel("alpha_1 / alpha_2")


# Sections 4 and 5: what is computed.


def fig09_c4(_: Data) -> float:
    return 1 + float(vcp.xi(0.8))


def fig13_c6(data: Data) -> dict[str, float]:
    """The RTTs of the scenario that is run, over 440 and 60 ms."""
    resolved = _resolved(data)
    long, cross = base_rtts(resolved, "long"), base_rtts(resolved, "cross.1")
    return {"long": max(long) / 0.440, "crossing": max(cross) / 0.060}


def fig15_c3(data: Data) -> dict[str, float]:
    """The longest RTT of the scenarios that are run, over 156 and 3520 ms."""
    part = data.parts[0] if data.parts else data.figure.parts["full"][0]
    found = {}
    for delta, expected in ((1, 0.156), (30, 3.520)):
        text = runs.scenario(data.figure, part)
        document = tomllib.loads(text)
        document.pop("sweep")
        document["flows"]["fwd"]["rtt"] = f"formula(40ms + {4 * delta}ms * i)"
        found[f"delta {delta} ms"] = max(base_rtts(_as_result(document), "fwd")) / expected
    return found


def _resolved(data: Data) -> Any:
    part = data.parts[0] if data.parts else data.figure.parts["full"][0]
    document = tomllib.loads(runs.scenario(data.figure, part))
    document.pop("sweep")
    return _as_result(document)


def _as_result(document: dict[str, Any]) -> Any:
    """What `base_rtts` reads, of a scenario that is not run."""
    from types import SimpleNamespace

    from clearpipe import model

    return SimpleNamespace(scenario_toml=cp.resolve(model.toml(document)).toml)


def thm1_c1(_: Data) -> dict[str, float]:
    """w* of the integrated model over Theorem 1's, for kappa up to 1/2."""
    out = {}
    for kappa in (0.1, 0.25, 0.35, 0.5):
        link = vcp.Link(capacity=2500, rtt=0.08, flows=4, kappa=kappa)
        run = vcp.windows(link, [5.0, 10.0, 40.0, 90.0], rounds=900, steps_per_rtt=4)
        w = 0.98 * 2500 * 0.08 + 4 / kappa
        out[f"kappa {kappa:g}, window"] = abs(float(run.x[-1].sum()) / w - 1)
        r = 0.98 * 2500 / 4 + 1 / (kappa * 0.08)
        out[f"kappa {kappa:g}, rates"] = float(np.abs(run.x[-1] / 0.08 / r - 1).max())
    return out


def thm1_c2(_: Data) -> float:
    return mlcp.KAPPA


# Section 2: figures 4, 7 and 8.


def fig04_improvements(data: Data) -> dict[tuple[str, float, str], list[float]]:
    """How much shorter transfers are with 3 bits than with 2 [%]: by part and size, of each run."""
    out: dict[tuple[str, float, str], list[float]] = {}
    for part in data.parts:
        two = {(c.label, c.rep): data.number(c, AFCT) for c in data.of(part.name, "two")}
        for cell in data.of(part.name, "three"):
            three, other = data.number(cell, AFCT), two.get((cell.label, cell.rep))
            if three is not None and other:
                key = (part.name, cell.x, cell.label)
                out.setdefault(key, []).append(100 * (1 - three / other))
    return out


AFCT = "groups.fwd.fct_mean_s"
CAPACITY = {"ten": "10 Mb/s", "hundred": "100 Mb/s"}


def fig04_c1(data: Data) -> dict[str, Reading]:
    claim = claim_of(data, "c1")
    out = {}
    for (part, _, label), values in fig04_improvements(data).items():
        name = f"{CAPACITY[part]}, {label} kB"
        out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


def fig04_c2(data: Data) -> float | None:
    found = [float(np.mean(values)) for values in fig04_improvements(data).values()]
    return max(found, default=None)


def fig04_improvement(place: Any, data: Data) -> None:
    found = fig04_improvements(data)
    for part, color in zip(CAPACITY, COLORS, strict=False):
        points = sorted(
            (x, t_interval(values)) for (of, x, _), values in found.items() if of == part
        )
        place.errorbar(
            [x for x, _ in points],
            [one.mean for _, one in points],
            yerr=[one.half if np.isfinite(one.half) else 0.0 for _, one in points],
            color=color,
            marker="o",
            markersize=4,
            capsize=2,
            label=CAPACITY[part],
        )
    place.set_xscale("log")
    place.set_xlabel("Mean size (kB)")


def fair_time(result: cp.Result) -> float:
    """Seconds from the newcomer's start until it has 70 % of its fair rate, as a mean over 1 s; the
    rest of the run if it never does."""
    t, rate = flow_series(result, "goodput_bps")["new"]
    number = sum(group["flows"] for group in result.summary["groups"])
    share = 0.7 * 0.95 * link_of(result)["rate_bps"] / number
    begin = float(t[np.nan_to_num(rate) > 0][0])
    later = t >= begin
    t, rate = t[later], np.nan_to_num(rate[later])
    mean = np.convolve(rate, np.full(10, 0.1), "valid")
    reached = np.flatnonzero(mean >= share)
    return float((t[reached[0] + 9] if len(reached) else t[-1]) - begin)


def overload(result: cp.Result) -> float:
    """The mean load factor of the periods in overload after 50 s; NaN if there is none."""
    t, sigma = link_series(result, "router_sigma")
    over = sigma[(t > 50) & (sigma >= 1)]
    return float(over.mean()) if len(over) else np.nan


def _times(data: Data) -> dict[tuple[float, str], dict[str, list[float]]]:
    """By point and scheme, the times of the replications."""
    out: dict[tuple[float, str], dict[str, list[float]]] = {}
    for cell in sorted(data.cells, key=lambda cell: cell.x):
        time = data.number(cell, "@fair_time")
        if time is not None:
            schemes = out.setdefault((cell.x, cell.label), {})
            schemes.setdefault(cell.scheme, []).append(time)
    return out


def _means(data: Data) -> dict[tuple[float, str], dict[str, float]]:
    return {
        point: {scheme: float(np.mean(values)) for scheme, values in schemes.items()}
        for point, schemes in _times(data).items()
        if len(schemes) == 4
    }


def convergence(place: Any, data: Data) -> None:
    """Each scheme's time over A's."""
    found = _means(data)
    for scheme, color, marker in zip("abcd", COLORS, "osD^", strict=False):
        x = [point[0] for point in found]
        ratios = [means[scheme] / means["a"] for means in found.values()]
        label = data.paper.schemes[scheme].label
        place.plot(x, ratios, color=color, marker=marker, markersize=4, label=label)
    axis = data.parts[0].axis
    assert axis is not None
    place.set_xscale(axis.scale)
    place.set_xlabel(axis.label)


def fig07_c1(data: Data) -> dict[str, float]:
    """A <= D <= C <= B: the differences [s]."""
    return {
        f"{a.upper()} less {b.upper()}, {label}": means[a] - means[b]
        for (_, label), means in _means(data).items()
        for a, b in (("a", "d"), ("d", "c"), ("c", "b"))
    }


def fig07_c2(data: Data) -> dict[str, float]:
    return {label: means["b"] - means["c"] for (_, label), means in _means(data).items()}


def fig07_c4(data: Data) -> dict[str, float]:
    """The largest of B, C and D over the smallest, less one."""
    return {
        label: max(means[s] for s in "bcd") / min(means[s] for s in "bcd") - 1
        for (x, label), means in _means(data).items()
        if x > 10e6
    }


def fig08_c1(data: Data) -> dict[str, float]:
    return {
        f"{slow.upper()} over {fast.upper()}": means[slow] / means[fast]
        for (x, _), means in _means(data).items()
        if x == 20
        for slow in "bc"
        for fast in "ad"
    }


def fig08_c2(data: Data) -> dict[str, float]:
    """R^2 of a line through the mean overloads."""
    out = {}
    for scheme in "abcd":
        points: dict[float, list[float]] = {}
        for cell in data.of("main", scheme):
            value = data.number(cell, "@overload")
            if value is not None:
                points.setdefault(cell.x, []).append(value)
        if len(points) > 2:
            x, y = list(points), [float(np.mean(values)) for values in points.values()]
            out[f"scheme {scheme.upper()}"] = float(np.corrcoef(x, y)[0, 1] ** 2)
    return out


def fig08_c4(data: Data) -> dict[str, float]:
    return {f"{label} flows": m["a"] / m["d"] for (_, label), m in _means(data).items()}


def overloads_per_second(result: cp.Result) -> float:
    """Periods of the router in overload after the first 20 % [1/s]: decreases asked for."""
    t, sigma = link_series(result, "router_sigma")
    period = float(np.median(link_series(result, "router_t_p")[1]))
    late = t > 0.2 * t[-1]
    return float((sigma[late] >= 1).mean() / period)


def sec2_2_3_increase_c1(data: Data) -> dict[str, float]:
    """Overloads that II saves, and RTTs that II alone would need more from 80 to 95 % load."""
    out = {}
    for label in dict.fromkeys(cell.label for cell in data.cells):
        both = {
            scheme: float(
                np.mean(
                    [
                        data.number(cell, "@overloads_per_second") or 0.0
                        for cell in data.of("main", scheme)
                        if cell.label == label
                    ]
                )
            )
            for scheme in ("ai-ii-md", "ai-md")
        }
        out[f"AI-MD's overloads less AI-II-MD's, {label} flows (1/s)"] = (
            both["ai-md"] - both["ai-ii-md"]
        )
        window = 0.98 * 20e6 * 0.1 / 8000 / float(label)
        out[f"II-MD's ramp less AI-II-MD's, {label} flows (RTTs, computed)"] = _ramp(
            window, lambda w: 1 / np.sqrt(w)
        ) - _ramp(window, lambda w: 1.0)
    return out


def _ramp(window: float, added: Any) -> float:
    """RTTs in which a window grows from 80 % of this to 95 %."""
    now, count = 0.8 * window, 0
    while now < 0.95 * window:
        now += added(now)
        count += 1
    return float(count)


def sec2_2_3_increase_c2(data: Data) -> dict[str, Reading]:
    """The mean growth of the load factor between periods from 95 % on: the 5 s after the newcomer
    came less the 30 s before [1/s]."""
    return dict(by_label(data, "c2", data.of("main", "ai-ii-md"), _steeper))


def _steeper(cell: Cell) -> float | None:
    t, sigma = link_series(cell.result, "router_sigma")
    changed = np.flatnonzero(np.diff(sigma)) + 1
    t, sigma = t[changed], sigma[changed]
    slope = np.diff(sigma) / np.diff(t)
    inverse = (sigma[:-1] >= 0.95) & (sigma[:-1] < 1)
    start, goodput = flow_series(cell.result, "goodput_bps")["new"]
    begin = float(start[np.nan_to_num(goodput) > 0][0])
    before = inverse & (t[:-1] > 20) & (t[:-1] < 50)
    after = inverse & (t[:-1] >= begin) & (t[:-1] < begin + 5)
    if not before.any() or not after.any():
        return None
    return float(slope[after].mean() - slope[before].mean())


# Section 3.2.2: t_p.


PERIODS = np.array([0.08, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4])


def _period(mean: Any) -> Any:
    """The table's t_p of a mean RTT [s]."""
    return PERIODS[np.minimum(np.searchsorted(PERIODS, np.asarray(mean) - 1e-12), 7)]


def sec3_2_2_tp_c1(data: Data) -> dict[str, float]:
    """Changes of t_p to something else than the table has for T_c, and ends of runs likewise.

    A sample shows T_c up to 10 ms of packets after the period's end; where that alone crosses an
    edge of the table, either side is right.
    """
    out = {}
    for cell in data.of("mean"):
        _, t_p = link_series(cell.result, "router_t_p")
        _, t_c = link_series(cell.result, "router_t_c")
        changed = np.append(np.flatnonzero(np.diff(t_p)) + 1, len(t_p) - 1)
        near = [_period(t_c[np.maximum(changed - back, 0)]) for back in (0, 1, 2)]
        right = np.any([np.isclose(t_p[changed], one) for one in near], axis=0)
        out[cell.label] = float((~right).sum())
    return out


def t_p_changes(result: cp.Result) -> float:
    """Changes of t_p in the last minute."""
    t, t_p = link_series(result, "router_t_p")
    return float((np.diff(t_p[t > t[-1] - 60]) != 0).sum())


def sec3_2_2_tp_c2(data: Data) -> dict[str, float]:
    """The filter's gain at each step of T_c, whose input is the flow's one RTT, less eq. (15)."""
    out = {}
    for cell in data.of("gain"):
        _, t_c = link_series(cell.result, "router_t_c")
        # What packets carry is in whole microseconds.
        rtt = np.floor(1e6 * series_last(cell.result, "srtt_s") + 1e-3) / 1e6
        before, after = t_c[:-1], t_c[1:]
        steps = (before != after) & (np.abs(rtt - before) > 1e-3)
        before, after = before[steps], after[steps]
        gain = (after - before) / (rtt - before)
        told = np.where(rtt >= before, 0.01 / before, 0.01 * rtt / (50 * before**2))
        out[cell.label] = float(np.abs(gain - np.minimum(told, 1)).max())
    return out


def series_last(result: cp.Result, name: str) -> float:
    """The last value of a flow's series."""
    (_, values), *_ = flow_series(result, name).values()
    return float(values[-1])


def sec3_2_2_periods(place: Any, data: Data) -> None:
    rtts = np.logspace(-3, np.log10(3.5), 400)
    place.plot(rtts, _period(rtts), color="0.6", linewidth=0.8, label="table")
    cells = data.of("mean")
    ends = [float(link_series(cell.result, "router_t_p")[1][-1]) for cell in cells]
    place.plot([c.x for c in cells], ends, "o", color=COLORS[0], label="after 120 s")
    place.set_xscale("log")
    place.set_xlabel("RTT (s)")


# Section 4.


def fig10_c4(data: Data) -> float | None:
    """The RTT at which SACK+RED's utilization falls below SACK+RIO's, between two points [s]."""
    gap: dict[float, list[float]] = {}
    rio = {(c.label, c.rep): data.number(c, "utilization_ratio") for c in data.of("main", "rio")}
    for cell in data.of("main", "red"):
        red, other = data.number(cell, "utilization_ratio"), rio.get((cell.label, cell.rep))
        if red is not None and other is not None:
            gap.setdefault(cell.x, []).append(red - other)
    x = np.array(sorted(gap))
    y = np.array([np.mean(gap[at]) for at in x])
    for i in range(len(x) - 1):
        if y[i] > 0 >= y[i + 1]:
            part = y[i] / (y[i] - y[i + 1])
            return float(np.exp(np.log(x[i]) + part * np.log(x[i + 1] / x[i])))
    # Never: below all RTTs that are run if RED is never ahead, above them if always.
    return None if not len(x) else float(x[0] if y[0] <= 0 else x[-1])


LINKS = range(1, 11)


def _by_link(data: Data, scheme: str, column: str) -> Any:
    """Runs by rows, links by columns."""
    return np.array(
        [
            [cell.metrics[f"links.l{n}.{column}"] for n in LINKS]
            for cell in sorted(data.of("main", scheme), key=lambda cell: cell.rep)
        ]
    )


def _gaps(
    data: Data, short: str, pairs: Any, column: str, links: Any = LINKS
) -> dict[str, Reading]:
    """For each link the first scheme's value less the second's."""
    claim = claim_of(data, short)
    out = {}
    for a, b in pairs:
        first, second = _by_link(data, a, column), _by_link(data, b, column)
        if not len(first) or len(first) != len(second):
            continue
        for n in links:
            name = f"{data.paper.schemes[a].label} less {data.paper.schemes[b].label}, link {n}"
            values = [float(v) for v in first[:, n - 1] - second[:, n - 1]]
            out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


def fig13_c1(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c1", (("mlcp", "vcp"), ("mlcp", "red")), "utilization_ratio")


def fig13_c2(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c2", (("mlcp", "rio"),), "utilization_ratio")


def fig13_c3(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c3", (("xcp", "mlcp"),), "utilization_ratio")


def fig13_c4(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c4", (("mlcp", "xcp"),), "queue_mean_ratio", links=(1,))


def fig13_c5(data: Data) -> dict[str, float]:
    """Each scheme's largest loss rate of a link."""
    return {
        data.paper.schemes[scheme].label: float(found.mean(axis=0).max())
        for scheme in data.paper.groups["all"]
        if len(found := _by_link(data, scheme, "drop_ratio"))
    }


def fig13_utilization(place: Any, data: Data) -> None:
    _links(place, data, "utilization_ratio")


def fig13_queue(place: Any, data: Data) -> None:
    _links(place, data, "queue_mean_ratio")


def fig13_loss(place: Any, data: Data) -> None:
    _links(place, data, "drop_ratio")


def _links(place: Any, data: Data, column: str) -> None:
    for scheme, color, marker in zip(data.paper.groups["all"], COLORS, "osD^v", strict=False):
        found = _by_link(data, scheme, column)
        if len(found):
            label = data.paper.schemes[scheme].label
            place.plot(
                LINKS, found.mean(axis=0), color=color, marker=marker, markersize=4, label=label
            )
    place.set_xticks(list(LINKS))
    place.set_xlabel("Link")


def fig14_recovery(result: cp.Result) -> float:
    """Seconds from the departure at 140 s until 95 % of what ten flows used before, from 30 to
    80 s, is used again."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "500ms")
    before = float(used[(t > 30) & (t <= 80)].mean())
    # What the flows that left had sent is on its way for an RTT.
    after = t[(t > 140.5) & (used >= 0.95 * before)]
    return float(after[0] - 140) if len(after) else np.inf


def fig14_largest_queue(result: cp.Result) -> float:
    """The largest queue that was sampled from 80 to 145 s over the buffer."""
    t, queue = link_series(result, "queue_pkts")
    buffer = float(link_of(result)["buffer_bytes"]) / 1000
    return float(queue[(t > 80) & (t <= 145)].max()) / buffer


def fig14_least_utilization(result: cp.Result) -> float:
    """The least utilization of 1 s from 80 to 90 s."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "1s")
    return float(used[(t > 80) & (t <= 90)].min())


def fig14_windows(place: Any, data: Data) -> None:
    lines = list(flow_series(data.cells[0].result, "cwnd_pkts").items())
    for (name, (t, window)), color in zip(
        lines[:: max(1, len(lines) // 4)], COLORS[:4], strict=False
    ):
        place.plot(t, window, color=color, linewidth=0.8, label=name)
    place.set_xlabel("Time (s)")
