"""How a notebook shows a result: by itself, in light and dark, and without any time of day.

The network, a table of links and one of groups, a small curve for every recorded series, and how to
get the same fingerprint again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearpipe import metric_titles, overview, style, units
from clearpipe.report import network, svg, topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearpipe.result import Result

POINTS = 160
"""Most points of a small curve: each is the mean of the samples in its share of the time."""

MOST_SERIES = 12
MOST_CURVES = 4
"""Groups or links that are shown of a series."""

WIDTH, HEIGHT = 220, 36


def _palette(colors: Sequence[str]) -> str:
    return " ".join(f"--c{number}: {color};" for number, color in enumerate(colors))


# A notebook has a theme of its own, which the text's colour follows; the lines go with both.
CSS = """
.clearpipe { --ink: currentColor; --soft: color-mix(in srgb, currentColor 65%, transparent);
  --line: color-mix(in srgb, currentColor 22%, transparent);
  --paper: var(--jp-layout-color0, Canvas); --wash: transparent;
  @LIGHT@
  font-size: 13px; line-height: 1.4; }
@media (prefers-color-scheme: dark) {
  .clearpipe { @DARK@ }
}
.clearpipe table { border-collapse: collapse; margin: .4em 0; font-size: inherit;
  font-variant-numeric: tabular-nums; }
.clearpipe td, .clearpipe th { padding: .15em .7em .15em 0; text-align: right; white-space: pre; }
.clearpipe .text { text-align: left; }
.clearpipe th { border-bottom: 1px solid var(--line); font-weight: 600; vertical-align: bottom; }
.clearpipe :not(text).soft { color: var(--soft); }
.clearpipe code, .clearpipe pre { font-size: 12px; }
.clearpipe svg { max-width: 100%; height: auto; }
.clearpipe svg text { font-size: 12px; fill: currentColor; font-family: inherit; }
.clearpipe svg .soft { fill: var(--soft); font-size: 11px; }
.clearpipe svg .mid { text-anchor: middle; }
.clearpipe svg .name { font-weight: 600; }
.clearpipe svg .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.clearpipe svg .link { stroke: var(--line); stroke-width: 9; fill: none; }
.clearpipe svg .lane { stroke-width: 2.5; fill: none; }
.clearpipe svg .node { fill: var(--paper); stroke: currentColor; stroke-width: 2; }
.clearpipe .curve { fill: none; stroke-width: 1.4; stroke-linejoin: round; }
"""
CSS = CSS.replace("@LIGHT@", _palette(style.COLORS)).replace("@DARK@", _palette(style.DARK))


class Curve(NamedTuple):
    """One small curve: a group's or a link's values, averaged over its flows and over time."""

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def html(result: Result) -> str:
    """The result as a piece of a page."""
    parts = [
        f"<style>{CSS}</style>",
        _heading(result),
        *(f"<div>note: {escape(warning)}</div>" for warning in result.warnings),
        _network(result),
        *map(_table, (overview.link_table(result), overview.group_table(result))),
        _sparklines(result),
        _again(result),
    ]
    return f'<div class="clearpipe">{"".join(parts)}</div>'


def _heading(result: Result) -> str:
    meta = result.meta
    state = "" if result.complete else f" ({escape(meta['state'])})"
    simulated, warmup = units.seconds(meta["simulated_s"]), units.seconds(meta["warmup_s"])
    return (
        f"<div><b>{escape(meta['name'])}</b> seed {meta['seed']}, rep {meta['rep']} "
        f'<span class="soft">{simulated} simulated{state}, measured after {warmup}</span></div>'
    )


def _network(result: Result) -> str:
    drawing, note, named = topology.draw(network.read(result.scenario_toml), svg.color)
    told = " ".join(f'<span style="color:{color}">{escape(name)}</span>' for color, name in named)
    return "".join(
        [drawing, *(f'<div class="soft">{text}</div>' for text in (told, escape(note)) if text)]
    )


def _table(grid: overview.Grid) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        classes = (' class="text"' if i < grid.left else "" for i in range(len(cells)))
        return "".join(
            f"<{tag}{kind}>{escape(cell)}</{tag}>"
            for kind, cell in zip(classes, cells, strict=True)
        )

    body = "".join(f"<tr>{row('td', cells)}</tr>" for cells in grid.rows)
    head = f"<thead><tr>{row('th', grid.headings)}</tr></thead>"
    told = f'<div class="soft">{escape(grid.caption)}</div>' if grid.caption else ""
    return f"<table>{head}<tbody>{body}</tbody></table>{told}"


def _sparklines(result: Result) -> str:
    names = list(result.series_names)
    rows = [_series_row(result, name) for name in names[:MOST_SERIES]]
    rows = [row for row in rows if row]
    if not rows:
        return ""
    more = len(names) - MOST_SERIES
    rest = f'<div class="soft">... and {more} more series</div>' if more > 0 else ""
    return f"<table><tbody>{''.join(rows)}</tbody></table>{rest}"


def _series_row(result: Result, name: str) -> str:
    curves = list(_curves(result, name))
    if not curves:
        return ""
    shown = curves[:MOST_CURVES]
    inner = name.startswith(("sender_", "router_"))
    unit = "" if inner else metric_titles.base_unit(name)
    low = min(float(curve.y.min()) for curve in shown)
    high = max(float(curve.y.max()) for curve in shown)
    legend = " ".join(
        f'<span style="color:{svg.color(number)}">{escape(curve.label)}</span>'
        for number, curve in enumerate(shown)
    )
    legend += f" and {len(curves) - len(shown)} more" if len(curves) > len(shown) else ""
    by = units.scale([low, high], unit)
    ends = " to ".join(units.number(value / by.factor) for value in (low, high))
    span = f"{ends} {by.unit}".rstrip()
    drawing = _drawing(name, shown, min(low, 0.0), high, result.meta["simulated_s"])
    title = escape(name if inner else name.rpartition("_")[0] or name)
    return (
        f'<tr><td class="text">{title}</td><td>{drawing}</td>'
        f'<td class="text">{span}</td><td class="text soft">{legend}</td></tr>'
    )


def _curves(result: Result, name: str) -> Iterator[Curve]:
    """A curve for each group of flows, or each link: the named one first, then the busiest."""
    series = result.series(name)
    of = "flow" if "flow" in series.column_names else "link"
    owners = _owners(result, of)
    families = list(dict.fromkeys(owners.values()))
    number = {family: i for i, family in enumerate(families)}
    place = np.zeros(max(owners, default=0) + 1, dtype=int)
    for owner, family in owners.items():
        place[owner] = number[family]
    times, values = (np.array(series.column(x), dtype=np.float64) for x in ("t_s", name))
    known = np.isfinite(values)
    groups = place[np.asarray(series.column(of), dtype=int)]
    step = result.meta["simulated_s"] / POINTS
    bins = np.minimum(times / step, POINTS - 1).astype(int) if step else np.zeros(len(times), int)
    for i, family in enumerate(families):
        mine = known & (groups == i)
        counts = np.bincount(bins[mine], minlength=POINTS)
        sums = np.bincount(bins[mine], weights=values[mine], minlength=POINTS)
        there = counts > 0
        if there.any():
            middles = np.asarray((np.flatnonzero(there) + 0.5) * step, dtype=np.float64)
            yield Curve(family, middles, sums[there] / counts[there])


def _owners(result: Result, of: str) -> dict[int, str]:
    """The label of each flow's or link's curve."""
    if of == "link":
        named = result.summary["bottleneck"]
        links = sorted(
            result.summary["links"], key=lambda x: (x["name"] != named, -x["utilization_ratio"])
        )
        return {link["link"]: link["name"] for link in links}
    sizes = {group["group"]: group["flows"] for group in result.summary["groups"]}
    told = {name: f"{name} (mean of {size})" if size > 1 else name for name, size in sizes.items()}
    flows = result.flows
    return {flow: told[group] for flow, group in zip(flows["flow"], flows["group"], strict=True)}


def _drawing(name: str, curves: Sequence[Curve], low: float, high: float, end_s: float) -> str:
    lines = []
    for number, curve in enumerate(curves):
        xs = WIDTH * curve.x / (end_s or 1.0)
        ys = HEIGHT - 2 - (HEIGHT - 4) * (curve.y - low) / ((high - low) or 1.0)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        color = svg.color(number)
        lines.append(f'<polyline class="curve" points="{points}" style="stroke:{color}"/>')
    base = f'<path d="M0 {HEIGHT - 1}H{WIDTH}" stroke="var(--line)"/>'
    return svg.drawing((WIDTH, HEIGHT), f"{name} against time", base + "".join(lines))


def _again(result: Result) -> str:
    """The fingerprint, and what gives it again."""
    meta = result.meta
    file = f"{re.sub(r'[^A-Za-z0-9_.+-]+', '-', meta['name']).lstrip('-') or 'scenario'}.toml"
    command = overview.repeat_command(result, file)
    return (
        f"<div>fingerprint <code>{result.fingerprint}</code> "
        f'<span class="soft">clearpipe {escape(meta["version"])}, '
        f"model {escape(meta['model_version'])}</span></div>"
        f"<div>again: <code>{escape(command)}</code> with</div>"
        f"<details><summary>{escape(file)}</summary>"
        f"<pre>{escape(result.scenario_toml)}</pre></details>"
    )
