"""The fluid engine's runs beside the packet engine's: `fluid_figures.py DIR [CASE...]`.

Draws `fluid-NAME.png` for each of the papers' figures that docs/evidence/fluid.md shows (the
fluid with ACK clocks), and prints how far the engines are apart, as that page's table: mean
goodputs over windows of time, and how long after an event the flows that it is about take to their
level. Where it is chance how a start falls into a router's interval, both are means over several
starts, and the plots show the first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import clearpipe as cp
from clearpipe import style

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
RTTS = ["40ms", "60ms", "80ms", "100ms", "120ms"]
SAMPLE = 0.02  # s
RATES, TIMES = 0.05, 0.2  # how far apart the engines may be


class Window(NamedTuple):
    """Means from `begin` to `end`, and times to a level after an event at `since`, if any [s]."""

    begin: float
    end: float
    since: float | None


class Case(NamedTuple):
    """A figure: what is run, compared and drawn."""

    name: str
    title: str
    scenario: dict[str, Any]
    windows: list[Window]
    rtt: float
    """The longest RTT [s]: times may be two of it apart."""
    column: str = "goodput_bps"
    group: bool = False
    """Flows of a group together?"""
    every: int = 5
    """The mean of so many samples is drawn."""
    shifts: tuple[int, ...] = (0,)
    """The table has means over runs whose flows, but the first, start so much later [ms]."""


def bell(protocol: str, duration: str, line: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A dumbbell with one protocol; `flows`, and what else the topology has."""
    flows = more.pop("flows")
    topology = {"kind": "dumbbell", "rate": line[0], "rtt": line[1], "queue": protocol}
    return {
        "schema": 1,
        "name": protocol,
        "duration": duration,
        "topology": topology | more,
        "flows": {name: {"protocol": protocol, **flow} for name, flow in flows.items()},
        "probe": {"series": ["cwnd", "goodput", "utilization"], "every": "20ms"},
    }


def row(protocol: str, rates: list[int], flows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Links in a row, 20 ms there and back each (iXCP, sections IV-A and IV-C)."""
    links = {
        f"l{i + 1}": {
            **{"from": f"n{i}", "to": f"n{i + 1}", "rate": f"{rate}Mbps", "owd": "10ms"},
            **{"queue": protocol, "duplex": True},
        }
        for i, rate in enumerate(rates)
    }
    return {
        "schema": 1,
        "name": protocol,
        "duration": "60s",
        "links": links,
        "flows": {name: {"protocol": protocol, **flow} for name, flow in flows.items()},
        "probe": {"series": ["goodput", "utilization"], "every": "20ms"},
    }


def two_links(n: int) -> Case:
    """iXCP's figure 1."""
    flows: dict[str, dict[str, Any]] = {
        "long": {"from": "n0", "to": "n2", "rtt": "60ms", "count": n},
        "short": {"from": "n0", "to": "n1", "rtt": "40ms"},
    }
    title = f"iXCP: {n} long flows over 155 and 100 Mb/s, one short over 155 Mb/s (iXCP, figure 1)"
    scenario = row("ixcp", [155, 100], flows)
    name = f"ixcp-fig01-n{n}"
    return Case(name, title, scenario, [Window(30, 60, 0)], 0.06, group=True, every=10)


def three_links(protocol: str) -> dict[str, Any]:
    """iXCP's figure 10: flows that come and go."""
    short = {"rtt": "40ms"}
    flows: dict[str, dict[str, Any]] = {
        "long": {"from": "n0", "to": "n3", "rtt": "80ms"},
        "s1": {"from": "n0", "to": "n1", **short},
        "s2": {"from": "n1", "to": "n2", **short},
        "s3": {"from": "n2", "to": "n3", **short},
        "s4": {"from": "n2", "to": "n3", "stop": "40s", **short},
        "s567": {"from": "n0", "to": "n1", "count": 3, "start": "20s", "stop": "40s", **short},
    }
    return row(protocol, [150, 100, 120], flows)


PHASES = [Window(12, 20, 0), Window(32, 40, 20), Window(50, 60, 40)]
CASES = [
    Case(
        "xcp-fig10",
        "XCP: five flows join 45 Mb/s every 2 s (SIGCOMM 2002, figure 10)",
        bell(
            *("xcp", "10s", ("45Mbps", "40ms")),
            flows={f"a{k}": {"start": f"{2 * k}s"} for k in range(5)},
        ),
        [Window(2 * k + 1, 2 * k + 2, 2 * k) for k in range(5)],
        0.04,
        every=10,
        shifts=tuple(range(0, 40, 5)),
    ),
    *[two_links(n) for n in (4, 16, 64, 256)],
    Case(
        "ixcp-fig11",
        "iXCP: utilization while flows come and go (iXCP, figure 11)",
        three_links("ixcp"),
        [],
        0.08,
        "utilization_ratio",
        every=25,
    ),
    Case(
        "ixcp-fig12",
        "iXCP: flows come at 20 s and go at 40 s (iXCP, figure 12)",
        three_links("ixcp"),
        PHASES,
        0.08,
        every=25,
        shifts=tuple(range(0, 80, 10)),
    ),
    Case(
        "ixcp-fig13",
        "XCP in the same case (iXCP, figure 13)",
        three_links("xcp"),
        PHASES,
        0.08,
        every=25,
        shifts=tuple(range(0, 80, 10)),
    ),
    Case(
        "vcp-fig01",
        "VCP: 10, 20 and 10 Mb/s from 80 and 120 s, flows from 0 and 40 s (ToN 2008, figure 1)",
        bell(
            *("vcp", "160s", ("10Mbps", "80ms")),
            flows={"a": {}, "b": {"start": "40s"}},
            steps=[{"at": "80s", "rate": "20Mbps"}, {"at": "120s", "rate": "10Mbps"}],
        ),
        [Window(20, 40, 0), Window(60, 80, 40), Window(90, 120, 80), Window(130, 160, 120)],
        0.08,
        "cwnd_pkts",
        every=25,
    ),
    Case(
        "vcp-fig10",
        "VCP: RTTs of 40 to 120 ms join 45 Mb/s every 100 s (ToN 2008, figure 10)",
        bell(
            *("vcp", "600s", ("45Mbps", "80ms")),
            flows={
                "fwd": {"count": 5, "rtt": RTTS, "start": "every(100s)"},
                "rev": {"count": 5, "rtt": RTTS, "direction": "reverse"},
            },
        ),
        [*(Window(100 * k + 50, 100 * k + 100, 100 * k) for k in range(5)), Window(500, 600, 400)],
        0.12,
        every=100,
    ),
    Case(
        "vcp-fig13",
        "VCP: RTTs of 50 and 500 ms at 10 Mb/s (ToN 2008, figure 13)",
        bell(
            *("vcp", "60s", ("10Mbps", "50ms")),
            buffer="625kB",
            flows={"fast": {"rtt": "50ms"}, "slow": {"rtt": "500ms"}},
        ),
        [
            Window(4, 8, 0),
            Window(8, 12, 0),
            Window(12, 16, 0),
            Window(16, 20, 0),
            Window(20, 60, None),
        ],
        0.5,
        "cwnd_pkts",
        every=10,
        shifts=tuple(range(0, 208, 13)),
    ),
    Case(
        "mlcp-start",
        "MLCP: the start of a flow at 1 Gb/s and 80 ms",
        bell("mlcp", "6s", ("1Gbps", "80ms"), flows={"a": {}}),
        [Window(3, 6, 0)],
        0.08,
    ),
]


def curves(result: cp.Result, column: str, group: bool) -> dict[str, Curve]:
    """The series of each flow (or group), or of each link that is not a way back."""
    table = result.series(column)
    of_links = column == "utilization_ratio"
    ids, times, values = (
        np.asarray(table.column(name)) for name in ("link" if of_links else "flow", "t_s", column)
    )
    source = result.links if of_links else result.flows
    names = list(source.column("name" if of_links else "group"))
    found: dict[str, Curve] = {}
    for number, name in enumerate(names):
        if name == "rev" or name.endswith("reverse"):
            continue
        rows = ids == number
        key = name if group or names.count(name) == 1 else f"{name} {names[:number].count(name)}"
        before = found.get(key)
        found[key] = (times[rows], values[rows] + (before[1] if before else 0.0))
    return found


def mean(curve: Curve, begin: float, end: float) -> float:
    """The mean of the samples in a window; nan where there is none."""
    within = curve[1][(curve[0] > begin + SAMPLE / 2) & (curve[0] < end + SAMPLE / 2)]
    return float(within.mean()) if len(within) else float("nan")


def reaches(curve: Curve, window: Window, since: float) -> float:
    """How long after the event the mean over 0.5 s is at 80 % of its later mean, or at 125 %."""
    level = mean(curve, window.begin, window.end)
    falls = mean(curve, since, since + SAMPLE) > level
    for t in np.arange(since + SAMPLE, window.end, SAMPLE):
        now = mean(curve, max(t - 0.25, since), t + 0.25)
        if (now <= 1.25 * level) if falls else (now >= 0.8 * level):
            return float(t) - since
    return float("nan")


def moved(case: Case, run: cp.Result, since: float) -> dict[str, tuple[Curve, float]]:
    """What an event is about, and when: the flows that start then, or else all together."""
    found = curves(run, "goodput_bps", case.group)
    names = list(run.flows.column("group"))
    starts = run.flows.column("start_s")
    last = since + max(case.shifts) / 1e3 + SAMPLE / 2
    begun = {}
    for name, curve in found.items():
        group, _, number = name.partition(" ")
        first = names.index(group) + int(number or 0)
        if since - SAMPLE / 2 < starts[first] < last:
            begun[name] = (curve, float(starts[first]))
    if begun:
        return begun
    times = next(iter(found.values()))[0]
    return {"all": ((times, sum_from(times, list(found.values()))), since)}


def sum_from(times: NDArray[np.float64], all_of: list[Curve]) -> NDArray[np.float64]:
    """The sum of curves that may start later than `times` do, or end earlier."""
    total = np.zeros(len(times))
    for at, values in all_of:
        total += np.interp(times, at, values, left=0.0, right=0.0)
    return total


Numbers = tuple[dict[str, float], dict[str, float]]


def measured(case: Case, runs: list[cp.Result]) -> list[Numbers]:
    """For each window each flow's mean goodput and each event's time, in the mean of the runs."""
    rows: list[Numbers] = []
    for window in case.windows:
        rates: dict[str, float] = {}
        times: dict[str, float] = {}
        for run in runs:
            for name, curve in curves(run, "goodput_bps", case.group).items():
                got = mean(curve, window.begin, window.end) / len(runs)
                rates[name] = rates.get(name, 0.0) + got
            if window.since is not None:
                for name, (curve, at) in moved(case, run, window.since).items():
                    took = reaches(curve, window, at) / len(runs)
                    times[name] = times.get(name, 0.0) + took
        rows.append((rates, times))
    return rows


def apart(case: Case, packet: Numbers, fluid: Numbers) -> tuple[list[str], str]:
    """Cells for the flows that are furthest apart, and the verdict."""
    rates = []
    for name, of_packets in packet[0].items():
        if of_packets > 0.0:
            of_fluid = fluid[0][name]
            text = f"{name}: {of_fluid / 1e6:.3g}, {of_packets / 1e6:.3g}"
            rates.append((abs(of_fluid / of_packets - 1.0), text))
    off, rate = max(rates)
    times = [(0.0, "")]
    for name, b in packet[1].items():
        a = fluid[1][name]
        allowed = max(TIMES * b, 2 * case.rtt + SAMPLE)
        times.append((abs(a - b) / allowed, f"{name}: {a:.2f}, {b:.2f}"))
    late, time = max(times)
    met = [text for text, fine in (("rate", off <= RATES), ("time", late <= 1.0)) if not fine]
    verdict = f"no: {' and '.join(met)}" if met else "yes"
    return [rate, f"{100 * off:.1f} %", time], verdict


def compare(case: Case, runs: dict[str, list[cp.Result]]) -> list[str]:
    """Rows of the table: for each window the flows that are furthest apart."""
    found = {form: measured(case, of) for form, of in runs.items()}
    rows = []
    for window, packet, acks, rates in zip(case.windows, *found.values(), strict=True):
        cells, verdict = apart(case, packet, acks)
        others, other = apart(case, packet, rates)
        span = f"{window.begin} to {window.end}"
        cells = [case.name, span, *cells, verdict, *others[1:], other]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def shifted(case: Case, shift: int, fluid: dict[str, str]) -> dict[str, Any]:
    """The scenario whose flows, but the first, start later [ms]."""
    scenario = case.scenario | {"fluid": fluid}
    if shift:
        (first, flow), *others = scenario["flows"].items()
        later = {
            name: other | {"start": f"{1000 * int(other.get('start', '0s')[:-1]) + shift}ms"}
            for name, other in others
        }
        scenario["flows"] = {first: flow, **later}
    return scenario


def draw(case: Case, runs: list[cp.Result], path: Path) -> None:
    """One colour for each forward flow: packets pale, the fluid dashed on top."""
    unit, label = {
        "goodput_bps": (1e-6, "Goodput (Mb/s)"),
        "cwnd_pkts": (1.0, "Congestion window (pkts)"),
        "utilization_ratio": (100.0, "Utilization (%)"),
    }[case.column]
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        axes = figure.subplots()
    styles: dict[str, dict[str, Any]] = {
        "packet": {"alpha": 0.4, "linewidth": 2.2},
        "fluid": {"linestyle": "--", "linewidth": 1.0},
    }
    for result, (engine, line) in zip(runs, styles.items(), strict=True):
        for k, (times, values) in enumerate(curves(result, case.column, case.group).values()):
            shown = len(values) // case.every * case.every
            means = values[:shown].reshape(-1, case.every).mean(axis=1) * unit
            until = times[:shown].reshape(-1, case.every)[:, -1]
            color = style.COLORS[k % len(style.COLORS)]
            axes.plot(until, means, color=color, label=engine if k == 0 else None, **line)
    axes.set(xlabel="Time (s)", ylabel=label, ylim=(0, None))
    room = style.legend(axes, 7.2)
    axes.set_title(case.title, loc="left", fontsize=9, fontweight="bold", pad=room)
    style.save(figure, path, 90)


def main() -> None:
    """Draws and compares all, or the cases that are named."""
    print(
        "| case | s | goodput furthest apart: ACK clocks, packets [Mb/s] | apart "
        "| time to 80 %: ACK clocks, packets [s] | within | sent evenly: apart | time | within |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    folder, *names = sys.argv[1:]
    for case in CASES:
        if names and case.name not in names:
            continue
        runs: dict[str, list[cp.Result]] = {}
        for form in ("packets", "acks", "rates"):
            fluid = {"sending": "acks" if form == "acks" else "rates"}
            scenarios = [shifted(case, shift, fluid) for shift in case.shifts]
            runs[form] = [
                cp.run(scenario, engine="packet" if form == "packets" else "fluid")
                for scenario in scenarios
            ]
        draw(case, [runs["packets"][0], runs["acks"][0]], Path(folder) / f"fluid-{case.name}.png")
        for line in compare(case, runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
