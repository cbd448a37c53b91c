"""MLCP's claims that are computed, by the theory or from series; mlcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from typing import Any

import numpy as np

import clearpipe as cp
from clearpipe.errors import ConfigError
from clearpipe.reproduce import runs
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS, plot_means
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.reproduce.tools import (
    base_rtts,
    by_label,
    claim_of,
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
LOADS = np.arange(1, 80) / 100


# Section 2.1: how many levels.


def fig01_c1(_: Data) -> dict[str, float]:
    found = mlcp.factor(LOADS, 2)
    return {"least": float(found.min()), "largest": float(found.max())}


def fig01_c2(_: Data) -> dict[str, float]:
    expected = (2.8375, 1.7437, 1.3792, 1.1969, 1.0875)
    found = mlcp.factor(mlcp.edges(3), 3)
    return {
        f"up to {edge:.0%}": float(value) - told
        for edge, value, told in zip(mlcp.edges(3), found, expected, strict=True)
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


def fig01_c4_above(_: Data) -> dict[str, float]:
    """Loads at which the steps are above the ideal curve."""
    ideal = 1 + mlcp.gain(LOADS)
    return {
        f"{bits} bits": float((mlcp.factor(LOADS, bits) > ideal + 1e-12).sum())
        for bits in (2, 3, 4)
    }


def fig01_c4_closer(_: Data) -> dict[str, float]:
    """The mean gap to the ideal curve, less that with a bit fewer."""
    ideal = 1 + mlcp.gain(LOADS)
    two, three, four = (float(np.mean(1 - mlcp.factor(LOADS, bits) / ideal)) for bits in (2, 3, 4))
    return {"3 bits less 2": three - two, "4 bits less 3": four - three}


def _fourth_bit(loads: Any) -> Any:
    """By how much a fourth bit changes the factor at each load."""
    three, four = (mlcp.factor(loads, bits) for bits in (3, 4))
    return np.abs(four - three) / three


def fig01_c4_high(_: Data) -> dict[str, float]:
    """At the loads above 10 % where it changes most and least."""
    loads = LOADS[LOADS > 0.1]
    change = _fourth_bit(loads)
    ends = {int(change.argmax()), int(change.argmin())}
    return {f"load {loads[at]:.0%}": float(change[at]) for at in ends}


def fig01_c4_low(_: Data) -> float:
    low, high = (_fourth_bit(loads) for loads in (LOADS[LOADS < 0.1], LOADS[LOADS > 0.1]))
    return float(low.mean() / high.mean())


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


def _drops() -> dict[str, tuple[float, float]]:
    """At each capacity r of 2 over that of 3 bits and of 3 over 15; 1 KB is a packet."""
    found = {}
    for bps in CAPACITIES:
        two, three, many = (
            mlcp.rounds(bits, bps * 0.2 / 8, initial_bytes=1000) for bits in (2, 3, 15)
        )
        found[_rate(bps)] = (two / three, three / many)
    return found


def fig02_c2_drop(_: Data) -> dict[str, float]:
    return {rate: drop for rate, (drop, _) in _drops().items()}


def fig02_c2_rest(_: Data) -> dict[str, float]:
    return {rate: rest / drop for rate, (drop, rest) in _drops().items()}


def fig02_c2_unaffected(_: Data) -> dict[str, float]:
    """r of 3 bits over that of 4 and of 15, over the same at the lowest capacity."""
    found = {}
    for bits in (4, 15):
        gains = []
        for bps in CAPACITIES:
            three, more = (mlcp.rounds(n, bps * 0.2 / 8, initial_bytes=1000) for n in (3, bits))
            gains.append(three / more)
            if bps > CAPACITIES[0]:
                found[f"{bits} bits, {_rate(bps)}"] = gains[-1] / gains[0]
    return found


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
    """Of the engine's sender: beta_max and beta_min; of the theory's levels: where they end."""
    found = _host("mlcp")
    wrong = (found["beta_max"] != 0.875) + (found["beta_min"] != 0.675)
    load = np.arange(1.0, 1.5, 1e-4)
    last = load[np.argmax(mlcp.beta(load) <= 0.675 + 1e-9)]
    return float(wrong + (abs(last - 1.2) > 2e-4))


def _host(name: str) -> dict[str, Any]:
    """The parameters of a protocol's sender by default."""
    found = next(one["params"] for one in cp.protocols() if one["name"] == name)
    return {param["name"]: param["default"] for param in found}


def fig06_c2(_: Data) -> dict[str, float]:
    k = np.arange(8)
    found = mlcp.beta(1 + k * 0.2 / 7)
    return {f"k = {n}": float(found[n] - (0.875 - n * 0.2 / 7)) for n in k}


def fig06_c3(_: Data) -> float:
    load = np.concatenate((np.linspace(1, 3, 20001), 1 + np.arange(8) * 0.2 / 7))
    return float((load * mlcp.beta(load)).min())


def fig06_increases(result: cp.Result) -> float:
    """The share of the periods in overload from 50 s on whose next period is below 80 %; NaN if
    there is none in overload."""
    t, sigma = link_series(result, "router_sigma")
    sigma = sigma[t > 50]
    over = np.flatnonzero(sigma[:-1] >= 1)
    return float((sigma[over + 1] < 0.8).mean()) if len(over) else np.nan


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


RATIOS = (0.1, 0.25, 1.0, 4.0, 10.0)
AI_ALONE = ((5, 0),)
WITH_II = ((5, 20), (2, 20))


def _windows(rounds: Iterable[tuple[int, int]]) -> dict[str, float]:
    """The windows' ratio after 400 epochs over the alphas'."""
    out = {}
    for n, m in rounds:
        for ratio in RATIOS:
            first, second = mlcp.after_epochs([50.0, 1.0], [ratio, 1.0], mlcp.Epoch(n, m))
            out[f"n = {n}, m = {m}, ratio {ratio:g}"] = float(first / second / ratio)
    return out


def sec3_1_2_scaling_c1_ai(_: Data) -> dict[str, float]:
    return _windows(AI_ALONE)


def sec3_1_2_scaling_c1_ii(_: Data) -> dict[str, float]:
    return _windows(WITH_II)


def _jain(rates: Any) -> float:
    rates = np.asarray(rates)
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def _fairness(rounds: Iterable[tuple[int, int]]) -> dict[str, float]:
    """Jain's index of the rates of five RTTs, 0.1 to 10 t_p."""
    return {
        f"n = {n}, m = {m}": _jain([1 / mlcp.rate_ratio(r, mlcp.Epoch(n, m)) for r in RATIOS])
        for n, m in rounds
    }


def sec3_1_2_scaling_c2_ai(_: Data) -> dict[str, float]:
    return _fairness(AI_ALONE)


def sec3_1_2_scaling_c2_ii(_: Data) -> dict[str, float]:
    return _fairness(WITH_II)


def _eq_11(alpha: float, n: int, m: int, beta: float = 0.875) -> float:
    """The window that eq. (11) leaves as it is, s^2 of (1 - beta) s^3 = beta alpha (n s + m)."""
    roots = np.roots([1 - beta, 0.0, -beta * alpha * n, -beta * alpha * m])
    real = roots.real[np.abs(roots.imag) < 1e-9]
    return float(real.max() ** 2)


def windows_are_those_of_eq_11(_: Data, outside: list[Reading]) -> bool:
    """Is each ratio outside that of two solutions of eq. (11)?"""
    told = {
        f"n = {n}, m = {m}, ratio {r:g}": _eq_11(r, n, m) / _eq_11(1.0, n, m) / r
        for n, m in WITH_II
        for r in RATIOS
    }
    return _are(told, outside)


def rates_are_those_of_eq_11(_: Data, outside: list[Reading]) -> bool:
    """Is each index outside that of the solutions of eq. (11)? In a round of t_p alpha_f is added
    t_p / rtt times, and a rate is a window over an RTT."""
    told = {f"n = {n}, m = {m}": _jain([_eq_11(r, n, m) / r for r in RATIOS]) for n, m in WITH_II}
    return _are(told, outside)


def _are(told: Mapping[str, float], outside: list[Reading]) -> bool:
    return all(
        one.label in told and abs(one.interval.mean / told[one.label] - 1) < 1e-3 for one in outside
    )


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
    """By the kappa and the end of low load that VCP's sender has by default."""
    host = _host("vcp")
    return 1 + float(vcp.xi(host["high_load"], host["kappa"]))


def vcp_is_too_fast_for_the_gap(_: Data, outside: list[Reading]) -> bool:
    """Is no gap above what ten flows of VCP leave of 10 Gb/s and 80 ms in 5 to 100 s, if they grow
    by the factor that the paper names from a packet to 80 % load, of a target of 98 %, and no
    further?"""
    fair = 10e9 * 0.08 / 8000 / 10
    periods = np.arange(0.0, 100.0, 0.2)
    used = np.minimum(1.0625 ** np.arange(len(periods)) / fair, 0.8 * 0.98)
    most = 1 - float(used[periods >= 5].mean())
    return all(most < one.lo and one.interval.mean <= most for one in outside)


def fig13_c6(data: Data) -> dict[str, float]:
    """The RTTs of the scenario that is run, over 440 and 60 ms."""
    resolved = _resolved(data)
    long, cross = base_rtts(resolved, "long"), base_rtts(resolved, "cross.1")
    return {"long": max(long) / 0.440, "crossing": max(cross) / 0.060}


def fig15_c3(data: Data) -> dict[str, float]:
    """The ends of the scenarios' RTTs, over 40 and 156 and over 40 and 3520 ms."""
    part = data.parts[0] if data.parts else data.figure.parts["full"][0]
    found = {}
    for delta, expected in ((1, 0.156), (30, 3.520)):
        text = runs.scenario(data.figure, part)
        document = tomllib.loads(text)
        document.pop("sweep")
        document["flows"]["fwd"]["rtt"] = f"formula(40ms + {4 * delta}ms * i)"
        rtts = base_rtts(_as_result(document), "fwd")
        found[f"delta {delta} ms, shortest"] = min(rtts) / 0.040
        found[f"delta {delta} ms, longest"] = max(rtts) / expected
    return found


def _resolved(data: Data) -> Any:
    part = data.parts[0] if data.parts else data.figure.parts["full"][0]
    document = tomllib.loads(runs.scenario(data.figure, part))
    document.pop("sweep")
    return _as_result(document)


def _as_result(document: dict[str, Any]) -> Any:
    """What `base_rtts` reads, of a scenario that is not run."""
    from types import SimpleNamespace

    from clearpipe import values

    return SimpleNamespace(scenario_toml=cp.resolve(values.toml(document)).toml)


FLOWS = (1, 4, 30, 1000)


def thm1_c1(_: Data) -> dict[str, float]:
    """w* and r* of the integrated model over Theorem 1's, for kappa up to 1/2, from windows of
    half to twice their mean."""
    out = {}
    for kappa in (0.1, 0.25, 0.35, 0.5):
        for flows in FLOWS:
            link = vcp.Link(capacity=2500, rtt=0.08, flows=flows, kappa=kappa)
            start = 250 / flows * np.linspace(0.5, 2.0, flows)
            run = vcp.windows(link, start, rounds=900, steps_per_rtt=4)
            w = 0.98 * 2500 * 0.08 + flows / kappa
            r = 0.98 * 2500 / flows + 1 / (kappa * 0.08)
            name = f"kappa {kappa:g}, {flows} flows"
            out[f"{name}, window"] = abs(float(run.x[-1].sum()) / w - 1)
            out[f"{name}, rates"] = float(np.abs(run.x[-1] / 0.08 / r - 1).max())
    return out


def thm1_c2(_: Data) -> float:
    return float(_host("mlcp")["kappa"])


# Section 2: figures 4, 7 and 8.


def _pairs(data: Data) -> dict[tuple[str, float, str], list[tuple[float, float]]]:
    """By part and point the mean times to finish [s] with 2 bits and with 3, of each run.

    The same transfers with both: the end of a run cuts off late ones, and of the long ones more
    with the slower scheme.
    """
    three = {(c.part, c.label, c.rep): c for c in data.of(scheme="three")}
    out: dict[tuple[str, float, str], list[tuple[float, float]]] = {}
    for cell in data.of(scheme="two"):
        if (other := three.get((cell.part, cell.label, cell.rep))) is not None:
            pair = both_ended(cell.load(), other.load())
            out.setdefault((cell.part, cell.x, cell.label), []).append(pair)
    return out


def both_ended(first: cp.Result, second: cp.Result) -> tuple[float, float]:
    """The mean times to finish [s] of the transfers that came between the warm-up and half of the
    run and ended in both runs, which have the same arrivals."""
    (at, took), (there, other) = (_transfers(result) for result in (first, second))
    if not np.array_equal(at, there):
        raise ConfigError("the two runs have different arrivals")
    half = float(first.meta["simulated_s"]) / 2
    counted = (at >= float(first.meta["warmup_s"])) & (at < half)
    counted &= np.isfinite(took) & np.isfinite(other)
    return float(took[counted].mean()), float(other[counted].mean())


def _transfers(result: cp.Result) -> tuple[Any, Any]:
    """When each came, and its time to finish [s]; NaN if it did not."""
    table = result.transfers
    if table is None:
        raise ConfigError("a run of arriving files has no transfers")
    return np.asarray(table["start_s"]), np.array(table["fct_s"], dtype=float)


def fig04_improvements(data: Data) -> dict[tuple[str, float, str], list[float]]:
    """How much shorter transfers are with 3 bits than with 2 [%]: by part and size, of each run."""
    return {
        key: [100 * (1 - three / two) for two, three in pairs]
        for key, pairs in _pairs(data).items()
    }


def fig05_c1(data: Data) -> dict[str, Reading]:
    return _ratios(data, "c1", 0, 49)


def fig05_c2(data: Data) -> dict[str, Reading]:
    return _ratios(data, "c2", 70, 90)


def _ratios(data: Data, short: str, least: float, most: float) -> dict[str, Reading]:
    """The mean time with 2 bits over that with 3, at these loads."""
    claim = claim_of(data, short)
    return {
        label: Reading.of(label, [two / three for two, three in pairs], claim.lo, claim.hi)
        for (_, x, label), pairs in _pairs(data).items()
        if least <= x <= most
    }


def fig05_times(place: Any, data: Data) -> None:
    found = _pairs(data)
    x = [at for _, at, _ in found]
    for number, scheme in enumerate(("two", "three")):
        plot_means(
            place,
            x,
            [[pair[number] for pair in pairs] for pairs in found.values()],
            color=COLORS[number],
            marker="os"[number],
            markersize=4,
            label=data.paper.schemes[scheme].label,
        )
    place.set_xlabel("Offered load (%)")


CAPACITY = {"ten": "10 Mb/s", "hundred": "100 Mb/s"}


def fig04_c1(data: Data) -> dict[str, Reading]:
    claim = claim_of(data, "c1")
    out = {}
    for (part, _, label), values in fig04_improvements(data).items():
        name = f"{CAPACITY[part]}, {label} kB"
        out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


def fig04_c2(data: Data) -> dict[str, Reading]:
    """Where the mean of the runs is largest."""
    claim, found = claim_of(data, "c2"), fig04_improvements(data)
    if not found:
        return {}
    (part, _, label), values = max(found.items(), key=lambda item: float(np.mean(item[1])))
    name = f"{CAPACITY[part]}, {label} kB"
    return {name: Reading.of(name, values, claim.lo, claim.hi)}


def fig04_improvement(place: Any, data: Data) -> None:
    found = fig04_improvements(data)
    for part, color in zip(CAPACITY, COLORS, strict=False):
        points = sorted((x, values) for (of, x, _), values in found.items() if of == part)
        x, values = [at for at, _ in points], [of for _, of in points]
        plot_means(place, x, values, color=color, marker="o", markersize=4, label=CAPACITY[part])
    place.set_xscale("log")
    place.set_xlabel("Mean size (kB)")


FAIR = 0.95
"""The fair rate over an Nth of the capacity: about what flows with a target of 0.98 use of it."""


def fair_time(result: cp.Result) -> float:
    """Seconds from the newcomer's start until it has 70 % of its fair rate, as a mean over 1 s."""
    t, rate = flow_series(result, "goodput_bps")["new"]
    begin = _came(result)
    number = sum(group["flows"] for group in result.summary["groups"])
    share = 0.7 * FAIR * link_of(result)["rate_bps"] / number
    later = t >= begin
    t, rate = t[later], np.nan_to_num(rate[later])
    mean = np.convolve(rate, np.full(10, 0.1), "valid")
    reached = np.flatnonzero(mean >= share)
    return float(t[reached[0] + 9] - begin) if len(reached) else Censored(t[-1] - begin)


def _came(result: cp.Result) -> float:
    """When the newcomer has got something for the first time [s]; its start if it never has."""
    t, rate = flow_series(result, "goodput_bps")["new"]
    got = t[np.nan_to_num(rate) > 0]
    flows = result.flows
    start = flows["start_s"][list(flows["group"]).index("new")]
    return float(got[0] if len(got) else start)


def mild_overloads(result: cp.Result) -> float:
    """The share of periods in overload after 50 s that are below 120 %; NaN if there is none."""
    t, sigma = link_series(result, "router_sigma")
    over = sigma[(t > 50) & (sigma >= 1)]
    return float((over < 1.2).mean()) if len(over) else np.nan


def overload(result: cp.Result) -> float:
    """The mean load factor of the periods in overload after 50 s; NaN if there is none."""
    t, sigma = link_series(result, "router_sigma")
    over = sigma[(t > 50) & (sigma >= 1)]
    return float(over.mean()) if len(over) else np.nan


def _times(data: Data) -> dict[tuple[float, str], dict[str, dict[int, float]]]:
    """By point and scheme, the time of each replication."""
    out: dict[tuple[float, str], dict[str, dict[int, float]]] = {}
    for cell in sorted(data.cells, key=lambda cell: (cell.x, cell.rep)):
        time = data.number(cell, "@fair_time")
        if time is not None:
            schemes = out.setdefault((cell.x, cell.label), {})
            schemes.setdefault(cell.scheme, {})[cell.rep] = time
    return out


def convergence(place: Any, data: Data) -> None:
    """Each scheme's time over A's of the same replication, where both are done."""
    found = _times(data)
    for scheme, color, marker in zip("abcd", COLORS, "osD^", strict=False):
        points = {x: times for (x, _), times in found.items() if times.keys() >= {scheme, "a"}}
        ratios = [_of_pairs(times, scheme, "a", _over) for times in points.values()]
        label = data.paper.schemes[scheme].label
        plot_means(
            place, list(points), ratios, color=color, marker=marker, markersize=4, label=label
        )
    axis = data.parts[0].axis
    assert axis is not None
    place.set_xscale(axis.scale)
    place.set_xlabel(axis.label)


def _less(first: float, second: float) -> float:
    return Censored.less(first, second, first - second)


def _over(first: float, second: float) -> float:
    return Censored.less(first, second, first / second)


def _of_pairs(
    times: Mapping[str, Mapping[int, float]],
    first: str,
    second: str,
    joined: Callable[[float, float], float],
) -> list[float]:
    """Two schemes' times joined, of each replication that both have."""
    a, b = times[first], times[second]
    return [joined(a[rep], b[rep]) for rep in a if rep in b]


def _compared(
    data: Data,
    short: str,
    pairs: Iterable[tuple[str, str]],
    joined: Callable[[float, float], float],
    least: float = 0.0,
    most: float = np.inf,
) -> dict[str, Reading]:
    """At each point in this range the times of two schemes, joined run by run."""
    claim, pairs, out = claim_of(data, short), list(pairs), {}
    how = "less" if joined is _less else "over"
    for (x, label), times in _times(data).items():
        for first, second in pairs if least <= x <= most else ():
            name = f"{first.upper()} {how} {second.upper()}, {label}"
            values = _of_pairs(times, first, second, joined)
            out[name] = Reading.of(name, values, claim.lo, claim.hi, [label])
    return out


def fig07_c1_fastest(data: Data) -> dict[str, Reading]:
    return _compared(data, "c1.a", (("a", "b"), ("a", "c"), ("a", "d")), _less)


def fig07_c1_next(data: Data) -> dict[str, Reading]:
    return _compared(data, "c1.b", (("d", "c"), ("c", "b")), _less)


def fig07_c2(data: Data) -> dict[str, Reading]:
    return _compared(data, "c2", (("b", "a"), ("b", "c"), ("b", "d")), _less)


def fig07_c4(data: Data) -> dict[str, Reading]:
    return _compared(data, "c4", permutations("bcd", 2), _over, least=10e6 + 1)


def fig08_c1(data: Data) -> dict[str, Reading]:
    return _compared(
        data, "c1", (("b", "a"), ("b", "d"), ("c", "a"), ("c", "d")), _over, least=20, most=20
    )


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


def fig08_c3_because(data: Data) -> dict[str, float]:
    """In runs of C whose load never reaches 120 %: load factors that are not those of B, which
    has 0.875 at any load."""
    other = {(cell.label, cell.rep): cell for cell in data.of("main", "b")}
    out = {}
    for cell in data.of("main", "c"):
        _, sigma = link_series(cell.result, "router_sigma")
        if sigma.max() < 1.2:
            _, told = link_series(other[cell.label, cell.rep].result, "router_sigma")
            same = len(sigma) == len(told)
            wrong = float((sigma != told).sum()) if same else np.inf
            out[f"{cell.label} flows, run {cell.rep}"] = wrong
    return out


def fig08_c4(data: Data) -> dict[str, Reading]:
    return _compared(data, "c4", (("a", "d"),), _over)


def overloads_per_second(result: cp.Result) -> float:
    """Periods of the router in overload after the first 20 % [1/s]: decreases asked for."""
    t, sigma = link_series(result, "router_sigma")
    period = float(np.median(link_series(result, "router_t_p")[1]))
    late = t > 0.2 * t[-1]
    return float((sigma[late] >= 1).mean() / period)


def sec2_2_3_increase_c1_fewer(data: Data) -> dict[str, Reading]:
    """Periods in overload that II saves [1/s]."""
    return _of_both(data, "c1.a", overloads_per_second, lambda alone, with_ii: alone - with_ii)


def _of_both(
    data: Data,
    short: str,
    number: Callable[[cp.Result], float],
    joined: Callable[[float, float], float],
) -> dict[str, Reading]:
    """At each number of flows what AI alone and II as well give, joined run by run."""
    alone = {(cell.label, cell.rep): cell for cell in data.of("main", "ai-md")}

    def both(cell: Cell) -> float:
        return joined(number(alone[cell.label, cell.rep].result), number(cell.result))

    return dict(by_label(data, short, data.of("main", "ai-ii-md"), both))


def sec2_2_3_increase_c1_faster(data: Data) -> dict[str, float]:
    """RTTs that II alone would need more from 80 to 95 % load."""
    out = {}
    for label in dict.fromkeys(cell.label for cell in data.cells):
        window = 0.98 * 20e6 * 0.1 / 8000 / float(label)
        alone, added = _ramp(window, lambda w: 1 / np.sqrt(w)), _ramp(window, lambda w: 1.0)
        out[f"{label} flows"] = alone - added
    return out


def _ramp(window: float, added: Any) -> float:
    """RTTs in which a window grows from 80 % of this to 95 %."""
    now, count = 0.8 * window, 0
    while now < 0.95 * window:
        now += added(now)
        count += 1
    return float(count)


def sec2_2_3_increase_c2_steady(data: Data) -> Mapping[str, Reading]:
    """The growth in the 30 s before the newcomer [1/s]."""
    return by_label(data, "c2.a", data.of("main", "ai-ii-md"), _growth_before)


def sec2_2_3_increase_c2_mildly(data: Data) -> Mapping[str, Reading]:
    """That less the growth with AI alone [1/s]."""
    alone = {(cell.label, cell.rep): cell for cell in data.of("main", "ai-md")}

    def milder(cell: Cell) -> float:
        return _growth_before(cell) - _growth_before(alone[cell.label, cell.rep])

    return by_label(data, "c2.b", data.of("main", "ai-ii-md"), milder)


def sec2_2_3_increase_c2_newcomer(data: Data) -> Mapping[str, Reading]:
    """The growth in the 5 s after the newcomer came, less that of the 30 s before [1/s]."""
    return by_label(data, "c2.c", data.of("main", "ai-ii-md"), _steeper)


def _growth(cell: Cell, begin: float, end: float) -> float:
    """The mean growth of the load factor between periods from 95 % on [1/s]; NaN without any."""
    t, sigma = link_series(cell.result, "router_sigma")
    changed = np.flatnonzero(np.diff(sigma)) + 1
    t, sigma = t[changed], sigma[changed]
    slope = np.diff(sigma) / np.diff(t)
    inverse = (sigma[:-1] >= 0.95) & (sigma[:-1] < 1)
    among = inverse & (t[:-1] >= begin) & (t[:-1] < end)
    return float(slope[among].mean()) if among.any() else np.nan


def _growth_before(cell: Cell) -> float:
    return _growth(cell, 20.0, 50.0)


def _steeper(cell: Cell) -> float:
    begin = _came(cell.result)
    return _growth(cell, begin, begin + 5) - _growth_before(cell)


# Section 3.2.2: t_p.


PERIODS = np.array([0.08, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4])


def _period(mean: Any) -> Any:
    """The table's t_p of a mean RTT [s]."""
    return PERIODS[np.minimum(np.searchsorted(PERIODS, np.asarray(mean) - 1e-12), 7)]


def sec3_2_2_tp_c1(data: Data) -> dict[str, float]:
    """Samples whose t_p is not the table's of a T_c of the last two periods, and values of the
    table that no run had.

    t_p is renewed with its period and stays when T_c moves within it; a sample is of 100 ms.
    """
    out = {}
    came = np.zeros(len(PERIODS), dtype=bool)
    for cell in data.of("mean"):
        t, t_p = link_series(cell.result, "router_t_p")
        _, t_c = link_series(cell.result, "router_t_c")
        told = _period(t_c)
        first = np.searchsorted(t, t - 2 * t_p - 0.15)
        right = [
            np.isclose(told[begin : n + 1], t_p[n]).any() for n, begin in enumerate(first.tolist())
        ]
        out[cell.label] = float(len(right) - sum(right))
        came |= np.isclose(PERIODS[:, None], t_p).any(axis=1)
    return out | {"values that did not come": float((~came).sum())}


def t_p_changes(result: cp.Result) -> float:
    """The most changes of t_p in any minute of the last five."""
    t, t_p = link_series(result, "router_t_p")
    at = t[1:][np.diff(t_p) != 0]
    at = at[at > t[-1] - 300]
    return float(max((np.searchsorted(at, at + 60) - np.arange(len(at))).tolist(), default=0))


def sec3_2_2_tp_c2(data: Data) -> dict[str, float]:
    """The filter's gain at each step of T_c, whose input is the flow's one RTT, less eq. (15): the
    largest difference, of steps up and of steps down."""
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
        for way, chosen in (("up", rtt >= before), ("down", rtt < before)):
            if chosen.any():
                out[f"{cell.label}, {way}"] = float(np.abs(gain - told)[chosen].max())
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


def fig17_c3_loss(data: Data) -> dict[str, Reading]:
    """The share that is lost with the largest buffer over that with the smallest, run by run."""
    claim, out = claim_of(data, "c3.b"), {}
    for scheme in data.paper.groups["buffers"]:
        lost: dict[int, dict[float, float]] = {}
        for cell in data.of(scheme=scheme):
            lost.setdefault(cell.rep, {})[cell.x] = cell.metrics["drop_ratio"]
        ratios = [runs.quotient(one[max(one)], one[min(one)]) for one in lost.values()]
        values = [np.nan if one is None else one for one in ratios]
        name = data.paper.schemes[scheme].label
        out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


def fig12_c3_linear(data: Data) -> dict[str, float]:
    """R^2 of a line through the mean losses from 1000/s on, negative if it falls."""
    out = {}
    for scheme in ("vcp", "xcp"):
        points: dict[float, list[float]] = {}
        for cell in data.of("main", scheme):
            value = data.number(cell, "drop_ratio")
            if value is not None and cell.x >= 1000:
                points.setdefault(cell.x, []).append(value)
        if len(points) > 2:
            y = [float(np.mean(values)) for values in points.values()]
            # Without any loss there is no line.
            r = float(np.corrcoef(list(points), y)[0, 1]) if np.ptp(y) > 0 else 0.0
            out[data.paper.schemes[scheme].label] = r * abs(r)
    return out


LINKS = range(1, 11)


def _by_link(data: Data, scheme: str, column: str) -> Any:
    """Runs by rows, links by columns."""
    return np.array(list(_of_links(data, scheme, column).values()))


def _of_links(data: Data, scheme: str, column: str) -> dict[int, list[float]]:
    """By replication a number of each link."""
    return {
        cell.rep: [cell.metrics[f"links.l{n}.{column}"] for n in LINKS]
        for cell in data.of(scheme=scheme)
    }


def _gaps(
    data: Data, short: str, pairs: Any, column: str, links: Any = LINKS
) -> dict[str, Reading]:
    """For each link the first scheme's value less the second's in the same replication.

    Raises KeyError for one that only one of them has.
    """
    claim = claim_of(data, short)
    out = {}
    for a, b in pairs:
        first, second = _of_links(data, a, column), _of_links(data, b, column)
        for n in links if first or second else ():
            name = f"{data.paper.schemes[a].label} less {data.paper.schemes[b].label}, link {n}"
            reps = sorted(first.keys() | second.keys())
            values = [first[rep][n - 1] - second[rep][n - 1] for rep in reps]
            out[name] = Reading.of(name, values, claim.lo, claim.hi)
    return out


def fig13_c1_vcp(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c1.a", (("mlcp", "vcp"),), "utilization_ratio")


def fig13_c1_red(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c1.b", (("mlcp", "red-mean"),), "utilization_ratio")


def fig13_c2(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c2", (("mlcp", "rio-mean"),), "utilization_ratio")


def fig13_c3(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c3", (("xcp", "mlcp"),), "utilization_ratio")


def fig13_c4(data: Data) -> dict[str, Reading]:
    return _gaps(data, "c4", (("mlcp", "xcp"),), "queue_mean_ratio", links=(1,))


def fig13_c5(data: Data) -> Mapping[str, Reading]:
    """The largest share that a link drops of what comes in a whole run, of each scheme."""
    cells = [cell for scheme in data.paper.groups["mixed"] for cell in data.of(scheme=scheme)]
    return by_label(data, "c5", cells, _most_dropped)


def _most_dropped(cell: Cell) -> float:
    dropped, came = (
        np.array([cell.metrics[f"links.l{n}.total_{what}_pkts"] for n in LINKS])
        for what in ("drops", "arrivals")
    )
    return float((dropped / came).max())


def fig13_utilization(place: Any, data: Data) -> None:
    _links(place, data, "utilization_ratio")


def fig13_queue(place: Any, data: Data) -> None:
    _links(place, data, "queue_mean_ratio")


def fig13_loss(place: Any, data: Data) -> None:
    _links(place, data, "drop_ratio")


def _links(place: Any, data: Data, column: str) -> None:
    for scheme, color, marker in zip(data.paper.groups["mixed"], COLORS, "osD^v", strict=False):
        found = _by_link(data, scheme, column)
        if len(found):
            label = data.paper.schemes[scheme].label
            place.plot(
                LINKS, found.mean(axis=0), color=color, marker=marker, markersize=4, label=label
            )
    place.set_xticks(list(LINKS))
    place.set_xlabel("Link")


def fig14_recovery(result: cp.Result) -> float:
    """Seconds from the departure at 140 s until 95 % of the capacity are used, over 500 ms."""
    t, used = windowed(*link_series(result, "utilization_ratio"), "500ms")
    # What the flows that left had sent is on its way for an RTT.
    after = t[(t > 140.5) & (used >= 0.95)]
    return float(after[0] - 140) if len(after) else Censored(t[-1] - 140)


def fig14_largest_queue(result: cp.Result) -> float:
    """The largest queue of the whole run over the buffer."""
    link = link_of(result)
    return 1000 * float(link["queue_max_pkts"]) / float(link["buffer_bytes"])


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


def _indices(data: Data, scheme: str) -> dict[tuple[str, int], tuple[float, float]]:
    """By point and replication: delta and Jain's index, whichever part has the scheme."""
    found = {}
    for cell in data.of(scheme=scheme):
        value = data.number(cell, "groups.fwd.jain_index_ratio")
        if value is not None:
            found[cell.label, cell.rep] = (cell.x, value)
    return found


def _fairer(data: Data, short: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Reading]:
    """The first scheme's index less the second's, from delta 10 on."""
    claim = claim_of(data, short)
    labels = {name: scheme.label for name, scheme in data.paper.schemes.items()}
    out: dict[str, list[float]] = {}
    for first, second in pairs:
        others = _indices(data, second)
        for key, (delta, value) in _indices(data, first).items():
            if delta >= 10 and key in others:
                name = f"{labels[first]} less {labels[second]}, {key[0]}"
                out.setdefault(name, []).append(value - others[key][1])
    return {name: Reading.of(name, v, claim.lo, claim.hi) for name, v in out.items()}


def fig15_c2_fairest(data: Data) -> dict[str, Reading]:
    others = ("mlcp", "vcp", "red-mean", "rio-mean")
    return _fairer(data, "c2.a", [("xcp", other) for other in others])


def fig15_c2_mlcp(data: Data) -> dict[str, Reading]:
    return _fairer(data, "c2.b", [("mlcp", other) for other in ("vcp", "red-mean", "rio-mean")])


def fig15_fairness(place: Any, data: Data) -> None:
    _by_delta(place, data, "groups.fwd.jain_index_ratio")


def fig16_queue(place: Any, data: Data) -> None:
    _by_delta(place, data, "queue_mean_ratio")


def _by_delta(place: Any, data: Data, metric: str) -> None:
    """A line for each scheme of both parts, means over the replications."""
    for scheme, color, marker in zip(data.paper.groups["mixed"], COLORS, "osD^v", strict=False):
        points: dict[float, list[float]] = {}
        for cell in data.of(scheme=scheme):
            value = data.number(cell, metric)
            if value is not None:
                points.setdefault(cell.x, []).append(value)
        found = {x: t_interval(values) for x, values in sorted(points.items())}
        place.errorbar(
            list(found),
            [one.mean for one in found.values()],
            yerr=[one.half if np.isfinite(one.half) else 0.0 for one in found.values()],
            color=color,
            marker=marker,
            markersize=4,
            capsize=2,
            label=data.paper.schemes[scheme].label,
        )
    place.set_xlabel("delta (ms)")
