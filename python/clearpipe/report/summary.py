"""The results' numbers as dot plots: per group of flows, per link, and of transfers."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearpipe import units
from clearpipe.report import charts, svg
from clearpipe.report.dots import Plot, Row
from clearpipe.report.thin import Array

if TYPE_CHECKING:
    from clearpipe.result import GroupSummary, LinkSummary, Result

FEW_FLOWS = 60
"""Of up to so many flows each gets a dot."""


@dataclass(frozen=True)
class Scheme:
    """A result with its name and colour in this report."""

    result: Result
    label: str
    hue: int
    shade: float = 0.0
    alone: bool = False
    """Is it the report's only result? Then its groups have the colours."""

    def color(self, part: int = 0) -> str:
        """The colour of its groups and links; of a lone result, of its `part`-th group."""
        return svg.color(part) if self.alone else svg.color(self.hue, self.shade)

    def named(self, part: str, parts: int) -> str:
        """A row's name: what its reader needs to tell it from the others."""
        if self.alone:
            return part
        return self.label if parts == 1 else f"{self.label} {part}"


def plots(schemes: Sequence[Scheme]) -> list[Plot]:
    """All dot plots that the results have values for."""
    made = [_goodput(schemes), _jain(schemes), _utilization(schemes), _queue(schemes)]
    made += [_lost(schemes), *_transfer_plots(schemes)]
    return [plot for plot in made if plot is not None and plot.rows]


def _groups(schemes: Sequence[Scheme]) -> list[tuple[Scheme, int, GroupSummary, str]]:
    """Every group of every result with its number and its row's name."""
    names = {g["group"] for s in schemes for g in s.result.summary["groups"]}
    return [
        (scheme, number, group, scheme.named(group["group"], len(names)))
        for scheme in schemes
        for number, group in enumerate(scheme.result.summary["groups"])
    ]


def _links(schemes: Sequence[Scheme]) -> list[tuple[Scheme, int, LinkSummary, str]]:
    """The busiest links of every result; a link's colours come after those of the groups."""
    names = {x["name"] for s in schemes for x in s.result.summary["links"]}
    made = []
    for scheme in schemes:
        ranks = charts.link_ranks(scheme.result)
        first = len(scheme.result.summary["groups"])
        links = sorted(scheme.result.summary["links"], key=lambda x: ranks[x["link"]])
        busy = links[: charts.MAX_CURVES]
        short = svg.short_names([link["name"] for link in busy])
        for link, brief in zip(busy, short, strict=True):
            name = scheme.named(link["name"] if scheme.alone else brief, len(names))
            made.append((scheme, first + ranks[link["link"]], link, name))
    return made


def _links_note(schemes: Sequence[Scheme]) -> str:
    most = max((len(s.result.summary["links"]) for s in schemes), default=0)
    return (
        f"{charts.MAX_CURVES} links of {most}: {charts.CHOSEN}." if most > charts.MAX_CURVES else ""
    )


def _goodput(schemes: Sequence[Scheme]) -> Plot | None:
    groups = [entry for entry in _groups(schemes) if entry[2]["goodput_bps"] is not None]
    flows = [_goodputs(scheme.result, group["group"]) for scheme, _, group, _ in groups]
    scale = units.scale((float(f.max(initial=0)) for f in flows), "bps")
    by, unit = scale.factor, scale.unit
    rows, cells = [], []
    for (scheme, number, group, name), found in zip(groups, flows, strict=True):
        spread = group["goodput_bps"]
        if spread is None:
            continue
        low, mean, high = (spread[key] / by for key in ("min", "mean", "max"))
        values = (found / by).tolist()
        few = len(values) <= FEW_FLOWS
        told = (
            f"{name}: goodput of {len(values)} flows\nmean {units.number(mean)} {unit}\n"
            f"{units.number(low)} to {units.number(high)} {unit}"
        )
        box = None if few else _five(found / by)
        small = values if few and len(values) > 1 else ()
        color = scheme.color(number)
        rows.append(Row(name, color, told, units.number(mean), mean, small=small, box=box))
        cells.append([name, str(len(values)), *(units.number(x) for x in (low, mean, high))])
    headings = ["", "Flows", f"Least {unit}", f"Mean {unit}", f"Most {unit}"]
    note = "Large: mean; small: single flows." if any(row.small for row in rows) else ""
    if any(row.box for row in rows):
        note = f"{note} Box: 25 to 75 % of the flows, line: 5 to 95 %.".strip()
    return Plot("Goodput per flow", unit, rows, headings, cells, note)


def _goodputs(result: Result, group: str) -> Array:
    """The goodputs of a group's active flows [b/s]."""
    flows = result.flows
    mine = np.asarray([name == group for name in flows.column("group")], dtype=bool)
    values = np.asarray(flows.column("goodput_bps"), dtype=np.float64)[mine]
    finite: Array = values[np.isfinite(values)]
    return finite


def _five(values: Array) -> tuple[float, float, float, float, float]:
    a, b, c, d, e = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    return a, b, c, d, e


def _jain(schemes: Sequence[Scheme]) -> Plot | None:
    rows, cells = [], []
    for scheme, number, group, name in _groups(schemes):
        value = group["jain_index_ratio"]
        if value is None or group["active_flows"] < 2:
            continue
        told = f"{name}: Jain's index {units.number(value)} over {group['active_flows']} flows"
        rows.append(Row(name, scheme.color(number), told, units.number(value), value))
        cells.append([name, str(group["active_flows"]), units.number(value)])
    least = min((row.dot or 0.0 for row in rows), default=0.0)
    low = max(math.floor(least * 10 - 1e-9) / 10, 0.0)
    note = "1: all flows of a group have the same goodput."
    headings = ["", "Active flows", "Jain's index"]
    return Plot("Jain's index of fairness", "", rows, headings, cells, note, low=low, high=1.0)


def _utilization(schemes: Sequence[Scheme]) -> Plot | None:
    rows, cells = [], []
    for scheme, number, link, name in _links(schemes):
        value = 100 * link["utilization_ratio"]
        told = f"{name}: {units.number(value)} % of {units.rate(link['rate_bps'])} used"
        rows.append(Row(name, scheme.color(number), told, units.number(value), value))
        cells.append([name, units.rate(link["rate_bps"]), units.number(value)])
    headings = ["", "Capacity", "Utilization %"]
    note = _links_note(schemes)
    return Plot("Utilization", "%", rows, headings, cells, note, high=100.0)


def _queue(schemes: Sequence[Scheme]) -> Plot | None:
    rows, cells = [], []
    for scheme, number, link, name in _links(schemes):
        mean, p90 = link["queue_mean_pkts"], link["queue_p90_pkts"]
        most, share = link["queue_max_pkts"], 100 * link["queue_mean_ratio"]
        told = (
            f"{name}: queue\nmean {units.number(mean)} pkts "
            f"({units.number(share)} % of the buffer)\n"
            f"90 % of the time at most {units.number(p90)} pkts\nlongest {most} pkts"
        )
        rows.append(Row(name, scheme.color(number), told, units.number(mean), mean, tick=p90))
        shown = (mean, p90, most, share)
        cells.append([name, *map(units.number, shown)])
    headings = ["", "Mean pkts", "p90 pkts", "Longest pkts", "Mean, % of buffer"]
    notes = ["Dot: mean; stroke: not exceeded 90 % of the time.", _below(schemes)]
    note = " ".join(filter(None, [*notes, _links_note(schemes)]))
    return Plot("Queue", "pkts", rows, headings, cells, note)


def _below(schemes: Sequence[Scheme]) -> str:
    """Why strokes lie below their dots, where some do."""
    engines = {
        scheme.result.meta["engine"]
        for scheme, _, link, _ in _links(schemes)
        if link["queue_p90_pkts"] < link["queue_mean_pkts"]
    }
    if not engines:
        return ""
    told = "A stroke left of its dot: queues in less than 10 % of the time carry the mean"
    if "fluid" in engines:
        told += ", or it is rounded: the fluid engine's are whole packets"
    return f"{told}."


def _lost(schemes: Sequence[Scheme]) -> Plot | None:
    rows, cells = [], []
    for scheme, number, link, name in _links(schemes):
        drops, marks = link["drops_pkts"], link["marks_pkts"]
        told = (
            f"{name}, after the warm-up\n{units.count(drops)} pkts dropped "
            f"({units.percent(link['drop_ratio'])} of arrivals)\n{units.count(marks)} pkts marked\n"
            f"{units.count(link['total_drops_pkts'])} pkts dropped in the whole run"
        )
        value = f"{units.count(drops)} | {units.count(marks)}"
        rows.append(Row(name, scheme.color(number), told, value, float(drops), float(marks)))
        counts = (drops, marks, link["total_drops_pkts"], link["total_marks_pkts"])
        cells.append([name, *(units.count(count) for count in counts)])
    headings = ["", "Drops", "Marks", "Drops, whole run", "Marks, whole run"]
    note = "Dot: drops; ring: marks; after the warm-up. At the right: drops | marks."
    note = f"{note} {_links_note(schemes)}".strip()
    return Plot("Drops and marks", "pkts", rows, headings, cells, note, low=None, log=True)


@dataclass(frozen=True)
class Transfers:
    """Finished transfers of one result's group."""

    scheme: Scheme
    number: int
    """The group's."""
    name: str
    size_bytes: Array
    fct_s: Array


def transfers(schemes: Sequence[Scheme]) -> list[Transfers]:
    """What finished, per result and group: of the table `transfers` and of flows with a size."""
    found: list[Transfers] = []
    for scheme in schemes:
        names = [group["group"] for group in scheme.result.summary["groups"]]
        for number, name in enumerate(names):
            sizes, fct = _from_table(scheme.result, name)
            if not fct.size:
                # Not both: a transfer may have a row in either table.
                sizes, fct = _from_flows(scheme.result, name)
            done = np.isfinite(fct) & (fct > 0)
            if done.any():
                found.append(Transfers(scheme, number, name, sizes[done], fct[done]))
    groups = {one.name for one in found}
    return [
        Transfers(x.scheme, x.number, x.scheme.named(x.name, len(groups)), x.size_bytes, x.fct_s)
        for x in found
    ]


def _from_table(result: Result, group: str) -> tuple[Array, Array]:
    """Results of earlier versions have no such table, nor have scenarios without arrivals."""
    found: Any = getattr(result, "transfers", None)
    if found is None or len(found) == 0:
        return np.empty(0), np.empty(0)
    mine = np.asarray([name == group for name in found.column("group")], dtype=bool)
    columns = [np.asarray(found.column(c), dtype=np.float64) for c in ("size_bytes", "fct_s")]
    return columns[0][mine], columns[1][mine]


def _from_flows(result: Result, group: str) -> tuple[Array, Array]:
    groups = tomllib.loads(result.scenario_toml).get("flows", {})
    size = units.quantity(groups.get(group, {}).get("size"))
    if size is None:
        return np.empty(0), np.empty(0)
    flows = result.flows
    mine = np.asarray([name == group for name in flows.column("group")], dtype=bool)
    fct = np.asarray(flows.column("fct_s"), dtype=np.float64)[mine]
    return np.full(fct.size, size), fct


def decades(sizes: Array) -> list[tuple[int, str]]:
    """The decades of sizes that occur, as (exponent, text)."""
    found = np.unique(np.floor(np.log10(np.maximum(sizes, 1.0)) + 1e-12).astype(int))
    ends = {int(i): (units.size(10.0**i), units.size(10.0 ** (i + 1))) for i in found}
    return [(i, f"{low} to {high}") for i, (low, high) in ends.items()]


def _transfer_plots(schemes: Sequence[Scheme]) -> list[Plot]:
    found = transfers(schemes)
    if not found:
        return []
    rows, cells = [], []
    for exponent, words in decades(np.concatenate([one.size_bytes for one in found])):
        for one in found:
            inside = np.floor(np.log10(np.maximum(one.size_bytes, 1.0)) + 1e-12) == exponent
            fct = one.fct_s[inside]
            if not fct.size:
                continue
            box = _five(fct)
            texts = [units.seconds(value) for value in box]
            told = (
                f"{one.name}, {words}: {fct.size} finished\nmedian {texts[2]}\n"
                f"25 to 75 %: {texts[1]} to {texts[3]}\n5 to 95 %: {texts[0]} to {texts[4]}"
            )
            label = f"{words}, {one.name}" if len(found) > 1 else words
            color = one.scheme.color(one.number)
            rows.append(Row(label, color, told, texts[2], box=box))
            cells.append([one.name, words, str(fct.size), *texts])
    headings = ["", "Size", "Finished", "5 %", "25 %", "Median", "75 %", "95 %"]
    note = "By size; stroke: median; box: 25 to 75 %; line: 5 to 95 %. Finished transfers only."
    return [Plot("Time to finish", "s", rows, headings, cells, note, low=None, log=True)]
