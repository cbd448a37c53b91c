"""`sweep report`: one HTML page to look into, `runs.csv`, and the figures of [plot] as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clearpipe import atomic_files, metric_titles, statistics, style, units
from clearpipe.report import html_base
from clearpipe.result import are_one
from clearpipe.sweep import drawing, metrics, results
from clearpipe.sweep import study as studying
from clearpipe.sweep.results import Table
from clearpipe.sweep.spec import Point

# More rows than that are in the panels and in the CSV file only.
MOST_ROWS = 500
DEFAULT_METRICS = (
    "utilization_ratio",
    "queue_mean_pkts",
    "goodput_mean_bps",
    "drop_ratio",
    "jain_index_ratio",
)


def render(table: Table, folder: Path) -> tuple[Path, list[Path]]:
    """Write `report.html`, `runs.csv` and, with matplotlib, the figures; gives the page and the
    figures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    atomic_files.clean(folder)
    drawn: list[Path] = []
    if not style.lacking():
        for plot in table.spec.plots:
            if drawing.panels(table.spec, plot) <= drawing.MOST_PANELS:
                drawn += drawing.draw(table, plot, folder)
    html_base.write(folder / "runs.csv", results.csv(table))
    return html_base.write(folder / "report.html", page(table, folder)), drawn


def page(table: Table, folder: Path) -> str:
    """The page's text, as it is to lie in `folder`."""
    spec = table.spec
    shown = list(dict.fromkeys([*shown_metrics(table), *_by_link(table)]))
    failed = [row for row in table.rows if row.state == "failed"]
    rows = [_row(table, point, shown) for point in spec.points[:MOST_ROWS]]
    settings = range(len(coordinates(table)))
    return html_base.page(
        "sweep.html.j2",
        spec.name,
        ["panels.js", "study.js"],
        name=spec.name,
        headline=headline(table),
        notes=list(notes(table)),
        headings=headings(table, shown),
        rows=rows,
        words=[i for i in settings if all(row[i][1] is None for row in rows)],
        left_out=max(len(spec.points) - MOST_ROWS, 0),
        of_links=of_links(table, shown),
        failures=len(failed),
        failed=[(row.run.label, str(row.run.rep), row.error) for row in failed[:MOST_ROWS]],
        toml=spec.source.text,
        data=html_base.script_json(studying.study(table, shown, folder)),
    )


def _row(table: Table, point: Point, shown: Sequence[str]) -> list[tuple[str, float | None]]:
    """A point's texts, with the numbers that they are sorted by."""
    found: list[tuple[str, float | None]] = []
    for axis, text in zip(table.spec.axes, place(table, point), strict=False):
        at = axis.at[point.coordinates[axis.name]]
        found.append((text, axis.numbers[0][at] if axis.numbers else None))
    found += [(text, None) for text in place(table, point)[len(found) :]]
    runs = len(table.of_point(point))
    found.append((str(runs), runs))
    for metric in shown:
        interval = table.interval(point, metric)
        found.append((text_of(metric, interval, runs), interval.mean if interval else None))
    return found


def headings(table: Table, shown: Sequence[str]) -> list[str]:
    """The headings of the table of points."""
    return [*coordinates(table), "n", *(heading(table, metric) for metric in shown)]


def heading(table: Table, metric: str) -> str:
    """What a metric's column is called: its measure, and whose where several are shown."""
    own = metrics.is_of_link(metric) or "." not in metric
    whose = "" if own else metric_titles.owner(metric)
    title = metric_titles.of(metric).title
    return f"{title}, {whose}" if whose else title


def headline(table: Table) -> str:
    """What was run, in a sentence."""
    states = [row.state for row in table.rows]
    axes = [f"{len(axis.values)} of {studying.title(axis)}" for axis in table.spec.axes]
    told = f"Settings: {', '.join(axes)}" if axes else "One setting"
    parts = [f"{states.count('done')} runs done"]
    parts += [
        f"{n} {what}" for what in ("failed", "missing", "damaged") if (n := states.count(what))
    ]
    reps = f"{table.spec.reps} replications" if table.spec.until is None else _until(table)
    points = f"{len(table.spec.points)} points, {reps}"
    return f"{told}; {points}; {', '.join(parts)}. Seed {table.spec.seed}."


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
        told = units.counted(missing, "run is missing", "runs are missing")
        yield f"{told}; `clearpipe sweep run` does {'it' if missing == 1 else 'them'}."
    if few := sum(0 < len(table.of_point(p)) < statistics.FEW for p in table.spec.points):
        yield statistics.few(units.counted(few, "point has", "points have"))
    if same := sum(_is_one_run(table, p) for p in table.spec.points):
        yield not_random(same)
    yield from _absent(table)
    for plot in table.spec.plots:
        if (number := drawing.panels(table.spec, plot)) > drawing.MOST_PANELS:
            yield f"{plot.key} has {number} panels, too many for a file: they are in report.html."
    yield from _until_notes(table)


def _until_notes(table: Table) -> Iterator[str]:
    """What `until` did not reach."""
    until = table.spec.until
    if until is None:
        return
    if lacking := [p.label for p in table.spec.points if _lacks(table, p, until.metric)]:
        shown = "; ".join(lacking[:5])
        told = units.counted(len(lacking), "point has", "points have")
        yield f"{told} runs without {_full(table, until.metric)}: {shown}"
    if wide := [p.label for p in table.spec.points if not _is_narrow(table, p)]:
        shown = "; ".join(wide[:5])
        told = units.counted(len(wide), "point", "points")
        yield f"{told} did not reach the wanted interval: {shown}"


def _absent(table: Table) -> Iterator[str]:
    """A note for each metric that is asked for and that no run happens to have."""
    known = set(table.metric_names())
    for metric, where in table.spec.metrics():
        if metric not in known:
            yield f"No run has a value of {_full(table, metric)} ({where})."


def not_random(points: int) -> str:
    """A note for points whose replications say nothing."""
    return (
        f"{units.counted(points, 'point has', 'points have')} replications that are all the same "
        'run: nothing in them is random, such as start = "uniform(0s, 1s)".'
    )


def other_models(found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A note for each other version of which runs are there."""
    for version, mine in found.items():
        shown = ", ".join(identity[:16] for identity in mine[:5])
        more = f" and {len(mine) - 5} more" if len(mine) > 5 else ""
        told = units.counted(len(mine), "run of this sweep is", "runs of this sweep are")
        yield f"{told} of {version}, and not used: {shown}{more}."


def _is_one_run(table: Table, point: Point) -> bool:
    return are_one([row.fingerprint for row in table.of_point(point)])


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
    told = ", ".join(metric_titles.of(metric).title for metric in named)
    return f"Of {whose}: {told}."


def coordinates(table: Table) -> list[str]:
    """What the columns that tell points apart are called: the axes, and `link` where it differs."""
    axes = [studying.title(axis) for axis in table.spec.axes]
    return [*axes, *["Link"] * (len(table.links) > 1)]


def place(table: Table, point: Point) -> list[str]:
    """A point's texts for the columns that `coordinates` names."""
    own = [axis.told[axis.at[point.coordinates[axis.name]]] for axis in table.spec.axes]
    several = len(own) < len(coordinates(table))
    return [*own, *[table.link(point) or units.DASH] * several]


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


def texts(table: Table, point: Point, shown: Sequence[str]) -> list[str]:
    """For each metric its mean and interval, with the number of runs if some do not have it."""
    runs = len(table.of_point(point))
    return [text_of(metric, table.interval(point, metric), runs) for metric in shown]


def text_of(metric: str, interval: statistics.Interval | None, runs: int) -> str:
    """A mean and its interval over a point's runs, with its unit."""
    if interval is None:
        return units.DASH
    unit = metric_titles.of(metric).unit
    some = f" (n = {interval.n})" if interval.n < runs else ""
    if interval.n < statistics.FEW:
        return f"{units.tell(interval.mean, unit)}{some}"
    return f"{units.spread(interval.mean, interval.half, unit)}{some}"
