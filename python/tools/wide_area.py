"""Tables and figures of docs/evidence/wide-area.md and csig.md: `wide_area.py [PAGE...]`.

Runs what is missing of the pages' sweeps (the store is target/wide-area: interrupted, it goes on),
writes the tables between the pages' markers, and draws docs/images/wide-area.png and csig-bits.png.
All runs are variations of the example `wide-area`.
"""

from __future__ import annotations

import copy
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

import clearpipe as cp
from clearpipe import api, style, sweep
from clearpipe.evaluate import functions
from clearpipe.reproduce.runs import Censored
from clearpipe.reproduce.tools import flow_series, link_of, seconds, windowed
from clearpipe.sweep.spec import parse
from clearpipe.sweep.store import Store

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "target/wide-area"
EXAMPLE = tomllib.loads((ROOT / "python/clearpipe/examples/wide-area.toml").read_text())
SCHEMES = EXAMPLE["sweep"]["zip"][0]
RTTS: list[str] = EXAMPLE["sweep"]["vary"]["topology.rtt"]
PROBE = {"series": ["queue"], "links": ["bottleneck"], "every": "10ms"}
LOADS = ["vcp", "mlcp", "nbit", "dpcp", "bmcc"]
FALLS_TO = 25e6  # b/s
PACKET = 1500  # bytes, the example's
SECOND = ["20s", "20.4s", "20.8s"]
BITS = [2, 3, 4, 5, 6, 8, 12, 16]
OVER: dict[str, Literal["-", "--"]] = {"linear": "-", "exponential": "--"}

Document = dict[str, Any]
Cells = Mapping[tuple[Any, ...], list[cp.Result]]


class Measure(NamedTuple):
    """A number of a run."""

    title: str
    of: Callable[[cp.Result], float]
    form: str = "{:.3f}"
    scale: float = 1.0
    """What the number is multiplied by where it is shown."""


def scenario(**changes: Any) -> Document:
    """The example without its sweep, with other tables or values in their place."""
    document = copy.deepcopy({k: v for k, v in EXAMPLE.items() if k not in ("sweep", "plot")})
    return document | {"probe": PROBE} | changes


def results(name: str, document: Document, axes: Document, by: Sequence[str]) -> Cells:
    """Runs of a sweep, by the values of these axes: what is missing is done first."""
    text = copy.deepcopy(document) | {"name": name, "sweep": {"reps": 3} | axes}
    spec = parse(api.source(text))
    tally = sweep.run(spec, STORE, jobs=1)
    if tally.failed or tally.missing:
        raise SystemExit(f"{name}: {tally.failed} runs failed, {tally.missing} are missing")
    cells: dict[tuple[Any, ...], list[cp.Result]] = {}
    for row in sweep.table(spec, STORE).to_pylist():
        result = cp.load(Store(STORE).directory(row["run"]))
        cells.setdefault(tuple(row[axis] for axis in by), []).append(result)
    return cells


# Measures.


def utilization(result: cp.Result) -> float:
    """Of the bottleneck, after the warm-up."""
    return float(link_of(result)["utilization_ratio"])


def late(result: cp.Result) -> float:
    """The 99th percentile over time of the queueing delay after the warm-up, from samples [s]; all
    packets but ACKs and the last of a transfer have the full size."""
    t, queue = flow_series(result, "queue_pkts")["bottleneck"]
    warmup = seconds(tomllib.loads(result.scenario_toml)["warmup"])
    return float(8 * PACKET * np.quantile(queue[t > warmup], 0.99) / link_of(result)["rate_bps"])


def group(result: cp.Result, name: str) -> Any:
    """A group's row of the summary."""
    return next(one for one in result.summary["groups"] if one["group"] == name)


def jain(result: cp.Result) -> float:
    """Jain's index of the long flows' goodputs after the warm-up."""
    return float(group(result, "long")["jain_index_ratio"])


def dropped(result: cp.Result) -> float:
    """Packets dropped at the bottleneck in the whole run."""
    return float(link_of(result)["total_drops_pkts"])


def short(q: float) -> Callable[[cp.Result], float]:
    """A quantile of the times to finish [s] of transfers that start from 30 to 50 s; censored at
    10 s, which is how long the last of them has at least."""

    def of(result: cp.Result) -> float:
        table = result.transfers
        assert table is not None
        start, took = (np.array(table[name], dtype=float) for name in ("start_s", "fct_s"))
        counted = took[(start >= 30.0) & (start < 50.0)]
        ended = np.where(np.isnan(counted), np.inf, counted)
        value = float(np.quantile(ended, q, method="inverted_cdf"))
        return value if value < 10.0 else Censored(10.0)

    return of


def fills(result: cp.Result) -> float:
    """When the link is first used to 70 % over a second [s]."""
    t, used = windowed(*flow_series(result, "utilization_ratio")["bottleneck"], "1s")
    full = used >= 0.7
    return float(t[int(np.argmax(full))]) if full.any() else Censored(60.0)


def longest(result: cp.Result) -> float:
    """The longest queue after the warm-up, as delay at the lower rate [s]."""
    return float(8 * link_of(result)["queue_max_bytes"] / FALLS_TO)


def drains(result: cp.Result) -> float:
    """From the fall of the rate until the queue's mean over 200 ms is below 5 ms [s]."""
    t, queue = windowed(*flow_series(result, "queue_pkts")["bottleneck"], "200ms")
    low = (queue * PACKET * 8 / FALLS_TO < 0.005) & (t > 40.3)
    return float(t[int(np.argmax(low))] - 40.0) if low.any() else Censored(40.0)


UTILIZATION = Measure("Utilization", utilization)
MEAN = Measure("Mean queueing delay (ms)", functions.queueing_delay, "{:.1f}", 1e3)
LATE = Measure("99th percentile of queueing delay (ms)", late, "{:.1f}", 1e3)
JAIN = Measure("Jain's index", jain, "{:.2f}")
FILLS = Measure("Time to 70 % of the link (s)", fills, "{:.0f}")
DROPS = Measure("Drops", dropped, "{:.0f}")
CONVERGES = Measure("Convergence (s)", functions.converges, "{:.1f}")
LONGEST = Measure("Longest queue (ms)", longest, "{:.0f}", 1e3)
DRAINS = Measure("Until the queue is short (s)", drains, "{:.1f}")
MEDIAN = Measure("Short flows, median (s)", short(0.5), "{:.2f}")
TAIL = Measure("Short flows, 99th percentile (s)", short(0.99), "{:.2f}")


TICKS: dict[Measure, list[float]] = {
    LATE: [0, 1, 10, 100],
    CONVERGES: [1, 3, 10, 30, 100],
    MEDIAN: [0.3, 1, 3, 10],
    TAIL: [0.3, 1, 3, 10],
}


def mean(runs: Sequence[cp.Result], measure: Measure) -> float:
    """The mean over replications; censored if one is."""
    values = [measure.of(run) for run in runs]
    value = float(np.mean(values)) * measure.scale
    return Censored(value) if any(isinstance(one, Censored) for one in values) else value


def cell(runs: Sequence[cp.Result], measure: Measure) -> str:
    """The same as a page shows it; of a censored one its bound."""
    value = mean(runs, measure)
    text = measure.form.format(value)
    return f"> {text}" if isinstance(value, Censored) else text


# Pages and pictures.


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def publish(page: str, tables: Mapping[str, str]) -> None:
    """Puts tables between a page's markers."""
    path = ROOT / "docs/evidence" / page
    text = path.read_text()
    for name, body in tables.items():
        parts = re.split(
            rf"(?<=<!-- begin {name} -->\n).*?(?=<!-- end {name} -->)", text, flags=re.S
        )
        if len(parts) != 2:
            raise SystemExit(f"{page} has no place for {name}")
        text = f"\n{body}\n\n".join(parts)
    path.write_text(text)


def dots(axes: Axes, schemes: Sequence[str], measure: Measure, cells: Cells) -> None:
    """A panel: a row per scheme, a mark per round trip; hollow marks are bounds from below."""
    for k, rtt in enumerate(RTTS):
        values = [mean(cells[rtt, scheme], measure) for scheme in schemes]
        rows = np.arange(len(schemes)) + (k - 1) * 0.2
        bounds = [isinstance(value, Censored) for value in values]
        for bound in (False, True):
            chosen = [i for i, one in enumerate(bounds) if one == bound]
            axes.plot(
                [values[i] for i in chosen],
                rows[chosen],
                ">" if bound else "o^s"[k],
                color=style.COLORS[k],
                markersize=4.5,
                markerfacecolor="none" if bound else None,
                label=None if bound else f"round trip {rtt.removesuffix('ms')} ms",
            )
    axes.set_title(measure.title, loc="left")
    axes.set_ylim(len(schemes) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def wide_area() -> None:
    """The page wide-area.md and its figure."""
    rtts = {"topology.rtt": RTTS}
    by = ("topology.rtt", "scheme")
    long = results("wide-area-long", scenario(), {"vary": rtts, "zip": [SCHEMES]}, by)
    group, queues = SCHEMES["flows.long.protocol"], SCHEMES["topology.queue"]

    def zipped(*groups: str) -> Document:
        flows = {f"flows.{one}.protocol": group for one in groups}
        named = {"name": "scheme", "labels": SCHEMES["labels"], "topology.queue": queues}
        return {"vary": rtts, "zip": [named | flows]}

    # Nothing is random here: in place of replications the second flow starts at three times.
    two = {"own": {"protocol": "vcp", "count": 2}}
    changes = {"flows": two, "duration": "120s", "probe": {"series": ["goodput"], "every": "100ms"}}
    axes = zipped("own") | {"reps": 1}
    axes["vary"] = rtts | {"flows.own.start": [["0s", at] for at in SECOND]}
    joins = results("wide-area-joins", scenario(**changes), axes, by)
    web = {"protocol": "vcp", "arrivals": "load(10%)", "size": "100kB"}
    flows = EXAMPLE["flows"] | {"short": web}
    shorts = results("wide-area-short", scenario(flows=flows), zipped("long", "short"), by)

    shown: list[tuple[Measure, Cells]] = [
        (UTILIZATION, long), (MEAN, long), (LATE, long), (JAIN, long),
        (CONVERGES, joins), (MEDIAN, shorts), (TAIL, shorts),
    ]  # fmt: skip
    schemes = SCHEMES["labels"]
    tables = {}
    for rtt in RTTS:
        rows = [[s, *(cell(cells[rtt, s], one) for one, cells in shown)] for s in schemes]
        tables[rtt] = table(["", *(one.title for one, _ in shown)], rows)
    publish("wide-area.md", tables)
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(10.5, 5.2), layout="constrained")
        panels = [shown[0], shown[2], shown[3], shown[4], shown[5], shown[6]]
        grid = figure.subplots(2, 3, sharey=True)
        for axes, (measure, cells) in zip(grid.flat, panels, strict=True):
            dots(axes, schemes, measure, cells)
            if measure in TICKS:
                if measure == LATE:
                    axes.set_xscale("symlog", linthresh=1)
                    axes.set_xlim(-0.1, 350)
                else:
                    axes.set_xscale("log")
                axes.set_xticks(TICKS[measure], [f"{tick:g}" for tick in TICKS[measure]])
                axes.xaxis.set_minor_locator(NullLocator())
        for axes in grid[:, 0]:
            axes.set_yticks(range(len(schemes)), schemes)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        handles.append(Line2D([], [], linestyle="", marker=">", color=style.SOFT, mfc="none"))
        labels.append("at least: a run ended first")
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        style.save(figure, ROOT / "docs/images/wide-area.png", 110)


def host(kind: str, **tag: Any) -> Document:
    """An end host that reads the tag; the n-bit scheme is the ideal one, the tag's bits its own."""
    own = {"bits": "ideal", "md": "D"} if kind == "nbit" else {}
    return {"kind": f"{kind}-csig", **own, **tag}


def own(kind: str) -> tuple[Document, Document]:
    """An end host and the queue of its own protocol."""
    more = {"bits": "ideal", "md": "D"} if kind == "nbit" else {}
    return {"kind": kind, **more}, {"kind": kind, **more}


def pairs(named: Sequence[tuple[str, Document, Document]]) -> Document:
    """The axes of a sweep over hosts and queues."""
    labels, hosts, queues = zip(*named, strict=True)
    axis = {"name": "scheme", "labels": list(labels)}
    keys = {"flows.long.protocol": list(hosts), "topology.queue": list(queues)}
    return {"zip": [axis | keys]}


def combinations() -> Iterator[tuple[str, str, int]]:
    """Each protocol, quantization and number of bits."""
    return ((k, over, bits) for k in LOADS for over in OVER for bits in BITS)


def csig() -> None:
    """The page csig.md and its figure."""
    named = [(kind, *own(kind)) for kind in LOADS]
    for kind, over, bits in combinations():
        tag = {"tag_bits": bits, "quantization": over}
        named.append((f"{kind} {over} {bits}", host(kind, **tag), {"kind": "csig", **tag}))
    both = PROBE | {"series": ["queue", "utilization"]}
    cells = results("csig-bits", scenario(probe=both), pairs(named), ("scheme",))
    measures = [UTILIZATION, MEAN, FILLS, JAIN, DROPS]
    form = "{}, {}, {}, {}, {}"

    def row(label: str, keys: Sequence[str]) -> list[str]:
        return [label, *(form.format(*(cell(cells[key,], m) for m in measures)) for key in keys)]

    rows = [row("its own router", LOADS)]
    for over in OVER:
        for bits in BITS:
            rows.append(row(f"{bits} bits, {over}", [f"{kind} {over} {bits}" for kind in LOADS]))
    tables = {"bits": table(["", *LOADS], rows)}

    # The link falls to a quarter of its rate at 40 s.
    steps = [{"at": "40s", "rate": "25Mbps"}]
    fall = {"topology": EXAMPLE["topology"] | {"steps": steps}, "duration": "80s"}
    wide: Document = {"tag_bits": 16}
    switch = {"kind": "csig", **wide}
    feedback: dict[str, Callable[[str], tuple[Document, Document]]] = {
        "its own router": own,
        "ABW/C": lambda kind: (host(kind, **wide), switch),
        "ABW/C and delay": lambda kind: (host(kind, queue_delay=True, **wide), switch),
    }
    named = [(f"{kind} {name}", *pair(kind)) for name, pair in feedback.items() for kind in LOADS]
    fell = results("csig-fall", scenario(**fall), pairs(named), ("scheme",))
    rows = []
    for name in feedback:
        told = [
            ", ".join(cell(fell[f"{kind} {name}",], m) for m in (LONGEST, DRAINS)) for kind in LOADS
        ]
        rows.append([name, *told])
    tables["fall"] = table(["", *LOADS], rows)
    publish("csig.md", tables)
    bits_figure(cells)


def bits_figure(cells: Cells) -> None:
    """What the bits buy, per protocol."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(9.5, 6), layout="constrained")
        grid = figure.subplots(2, 2)
        panels = (UTILIZATION, LATE, FILLS, JAIN)
        for axes, measure in zip(grid.flat, panels, strict=True):
            for k, kind in enumerate(LOADS):
                color = style.COLORS[k]
                for over, line in OVER.items():
                    values = [mean(cells[f"{kind} {over} {bits}",], measure) for bits in BITS]
                    label = kind if over == "linear" else None
                    axes.plot(BITS, values, line, marker=".", color=color, label=label)
                axes.plot(24, mean(cells[kind,], measure), "D", color=color, markersize=4.5)
            axes.set_xscale("log", base=2)
            axes.set_xticks([*BITS, 24], [*map(str, BITS), "own"])
            axes.minorticks_off()
            axes.set_title(measure.title, loc="left")
            axes.set_xlabel("bits of the tag")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        for over, line in OVER.items():
            handles.append(Line2D([], [], linestyle=line, color=style.SOFT))
            labels.append(f"{over} buckets")
        handles.append(Line2D([], [], linestyle="", marker="D", color=style.SOFT))
        labels.append("its own router")
        figure.legend(handles, labels, loc="outside lower center", ncols=8)
        style.save(figure, ROOT / "docs/images/csig-bits.png", 110)


PAGES: dict[str, Callable[[], None]] = {"wide-area": wide_area, "csig": csig}

if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        PAGES[name]()
