"""`sweep report`: figures as files, and one HTML page with figures, tables and what went wrong."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import clearpipe as cp
from clearpipe import statistics, whole
from clearpipe.sweep import drawing, metrics, results
from clearpipe.sweep.results import Row, Table
from clearpipe.sweep.spec import Point

# More rows than that are in the CSV file only.
MOST_ROWS = 500
DEFAULT_METRICS = ("utilization_ratio", "queue_mean_pkts", "drop_ratio", "goodput_mean_bps")

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); }
td.n { text-align: right; } .scroll { overflow-x: auto; } .note { background: var(--soft);
padding: .5rem .8rem; border-left: 3px solid #d55e00; } figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; background: white; border-radius: 4px; }
code { font-size: .9em; } @media print { body { margin: 0; max-width: none; } }
"""


def render(table: Table, folder: Path) -> tuple[Path, list[Path]]:
    """Write `report.html`, `runs.csv` and the figures; gives the page and the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    whole.clean(folder)
    drawn: list[Path] = []
    for plot in table.spec.plots:
        drawn += drawing.draw(table, plot, folder)
    whole.write_text(folder / "runs.csv", results.csv(table))
    page = folder / "report.html"
    whole.write_text(page, "\n".join(_page(table, folder)) + "\n")
    return page, drawn


def _page(table: Table, folder: Path) -> Iterator[str]:
    spec = table.spec
    title = html.escape(f"{spec.name}: sweep")
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<p>{html.escape(headline(table))}</p>"
    for note in notes(table):
        yield f'<p class="note">{html.escape(note)}</p>'
    for plot in spec.plots:
        svg = (folder / f"{plot.name}.svg").read_text(encoding="utf-8")
        yield f"<figure>{svg[svg.index('<svg') :]}"
        files = " ".join(f'<a href="{plot.name}.{kind}">{kind}</a>' for kind in drawing.FORMATS)
        links = table.links
        text = ", ".join(dict.fromkeys([plot.title, *(metrics.full(y, links) for y in plot.y)]))
        text = text.removeprefix(", ")
        yield f"<figcaption>{html.escape(text)}; bars: 95 % t intervals. {files}</figcaption>"
        yield "</figure>"
    yield from _points(table)
    yield from _failures(table)
    yield f"<h2>Scenario</h2><pre><code>{html.escape(spec.source.text)}</code></pre>"
    yield f"<p>Clearpipe {cp.version()}, model {cp.model_version()}.</p></body></html>"


def headline(table: Table) -> str:
    """What was run, in a sentence."""
    states = [row.state for row in table.rows]
    axes = " x ".join(f"{len(axis.values)} {axis.name}" for axis in table.spec.axes) or "one point"
    parts = [f"{states.count('done')} runs done"]
    parts += [
        f"{n} {what}" for what in ("failed", "missing", "damaged") if (n := states.count(what))
    ]
    reps = f"{table.spec.reps} replications" if table.spec.until is None else _until(table)
    points = f"{len(table.spec.points)} points, {reps}"
    return f"{axes}; {points}; {', '.join(parts)}. Seed {table.spec.seed}."


def _until(table: Table) -> str:
    until = table.spec.until
    assert until is not None
    return (
        f"{until.min_reps} to {until.max_reps} replications until the 95 % interval of "
        f"{_full(table, until.metric)} is within {100 * until.ci_ratio:g} % of its mean"
    )


def notes(table: Table) -> Iterator[str]:
    """What a reader must know before believing the numbers."""
    yield from other_models(table.other_models)
    for row in table.rows:
        if row.state == "damaged":
            yield f"A run cannot be read: {row.error}."
    missing = sum(row.state == "missing" for row in table.rows)
    if missing:
        yield f"{missing} runs are missing; `clearpipe sweep run` does them."
    single = [p for p in table.spec.points if len(table.of_point(p)) == 1]
    if single:
        yield f"{len(single)} points have one replication only, and so no interval."
    if same := sum(_is_one_run(table.of_point(p)) for p in table.spec.points):
        yield not_random(same)
    until = table.spec.until
    if until is not None:
        if lacking := [p.label for p in table.spec.points if _lacks(table, p, until.metric)]:
            shown = "; ".join(lacking[:5])
            yield f"{len(lacking)} points have runs without {_full(table, until.metric)}: {shown}"
        wide = [p.label for p in table.spec.points if not _is_narrow(table, p)]
        if wide:
            shown = "; ".join(wide[:5])
            yield f"{len(wide)} points did not reach the wanted interval: {shown}"


def not_random(points: int) -> str:
    """A note for points whose replications say nothing."""
    return (
        f"{points} points have replications that are all the same run: nothing in them is random, "
        'such as start = "uniform(0s, 1s)".'
    )


def other_models(found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A note for each other version of which runs are there."""
    for version, mine in found.items():
        shown = ", ".join(identity[:16] for identity in mine[:5])
        more = f" and {len(mine) - 5} more" if len(mine) > 5 else ""
        yield f"{len(mine)} runs of this sweep are of {version}, and not used: {shown}{more}."


def _is_one_run(rows: Sequence[Row]) -> bool:
    return len(rows) > 1 and len({row.fingerprint for row in rows}) == 1


def _lacks(table: Table, point: Point, metric: str) -> bool:
    return any(metric not in row.metrics for row in table.of_point(point))


def _is_narrow(table: Table, point: Point) -> bool:
    until = table.spec.until
    assert until is not None
    interval = table.interval(point, until.metric)
    return interval is None or interval.ratio <= until.ci_ratio


def _full(table: Table, metric: str) -> str:
    return metrics.full(metric, table.links)


def of_links(table: Table, shown: Sequence[str]) -> str:
    """Which link the columns without a link's name are of, in a sentence."""
    named = [metric for metric in shown if metrics.is_of_link(metric)]
    links = table.links
    if not links:
        return (
            'The scenario names no link (bottleneck = "LINK"): report.html has the numbers of each '
            "that carried something, runs.csv those of all."
        )
    if not named:
        return ""
    whose = f"link {links[0]}" if len(links) == 1 else "the link in the column of that name"
    return f"Of {whose}: {', '.join(named)}."


def coordinates(table: Table) -> list[str]:
    """What the columns that tell points apart are called: the axes, and `link` where it differs."""
    axes = [axis.name for axis in table.spec.axes]
    return [*axes, *["link"] * (len(table.links) > 1)]


def place(table: Table, point: Point) -> list[str]:
    """A point's texts for the columns that `coordinates` names."""
    own = [point.coordinates[axis.name] for axis in table.spec.axes]
    several = len(own) < len(coordinates(table))
    return [*own, *[table.link(point) or "-"] * several]


def shown_metrics(table: Table) -> list[str]:
    """The metrics of the table of points: those of the plots, or the usual ones."""
    wanted = [metric for plot in table.spec.plots for metric in plot.y]
    if table.spec.until is not None:
        wanted.append(table.spec.until.metric)
    known = table.metric_names()
    return [m for m in dict.fromkeys([*wanted, *DEFAULT_METRICS]) if m in known]


def _by_link(table: Table) -> list[str]:
    """The usual metrics of each loaded link, where a point names none."""
    if all(table.link(point) is not None for point in table.spec.points):
        return []
    usual = [metric for metric in DEFAULT_METRICS if metrics.is_of_link(metric)]
    return [f"links.{link}.{metric}" for link in table.loaded for metric in usual]


def _points(table: Table) -> Iterator[str]:
    shown = list(dict.fromkeys([*shown_metrics(table), *_by_link(table)]))
    heads = "".join(f"<th>{html.escape(text)}</th>" for text in [*coordinates(table), "n", *shown])
    yield "<h2>Points</h2><p>Mean ± half of the 95 % t interval. "
    yield '<a href="runs.csv">runs.csv</a> has every run. '
    yield f'{html.escape(of_links(table, shown))}</p><div class="scroll"><table>'
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for point in table.spec.points[:MOST_ROWS]:
        cells = [f"<td>{html.escape(text)}</td>" for text in place(table, point)]
        cells.append(f'<td class="n">{len(table.of_point(point))}</td>')
        cells += [f'<td class="n">{text}</td>' for text in texts(table, point, shown)]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if len(table.spec.points) > MOST_ROWS:
        yield f"<p>{len(table.spec.points) - MOST_ROWS} more points are in runs.csv.</p>"


def texts(table: Table, point: Point, shown: Sequence[str]) -> list[str]:
    """For each metric its mean and interval, with the number of runs if some do not have it."""
    return [text(table.interval(point, metric), len(table.of_point(point))) for metric in shown]


def text(interval: statistics.Interval | None, runs: int) -> str:
    """A mean and its interval over a point's runs."""
    if interval is None:
        return "-"
    some = f" (n = {interval.n})" if interval.n < runs else ""
    if interval.n == 1:
        return f"{interval.mean:.5g}{some}"
    return f"{interval.mean:.5g} ± {interval.half:.2g}{some}"


def _failures(table: Table) -> Iterator[str]:
    failed = [row for row in table.rows if row.state == "failed"]
    if not failed:
        return
    yield f"<h2>Failed runs</h2><p>{len(failed)} runs ended with an error.</p>"
    yield '<div class="scroll"><table><thead><tr><th>point</th><th>rep</th><th>error</th></tr>'
    yield "</thead><tbody>"
    for row in failed[:MOST_ROWS]:
        yield f"<tr><td>{html.escape(row.run.label)}</td><td>{row.run.rep}</td>"
        yield f"<td>{html.escape(row.error)}</td></tr>"
    yield "</tbody></table></div>"
