"""One HTML file that shows results: drawings, charts and tables, with nothing to fetch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clearpipe import overview
from clearpipe.report import aggregate, charts, html_base, page, summary, svg
from clearpipe.report import sides as siding
from clearpipe.report.sides import Side
from clearpipe.report.summary import Scheme

if TYPE_CHECKING:
    from clearpipe.overview import Grid
    from clearpipe.result import Result

SCRIPTS = ("panels.js", "report.js")


@dataclass(frozen=True)
class Differences:
    """What a comparison has to say before the rest."""

    sentences: Sequence[str]
    table: Grid
    notes: Sequence[str]


def render(results: Sequence[Result], path: str | os.PathLike[str], title: str = "") -> Path:
    """Write the report of `results` to `path`, whole or not at all."""
    return html_base.write(path, html(results, title))


def html(results: Sequence[Result], title: str = "") -> str:
    """The report's text. Replications of one scenario are drawn together."""
    sides = siding.of(results)
    if all(len(side.results) == 1 for side in sides):
        return _one_by_one(results, title or _title(results))
    return html_of_sides(sides, title or _title(results))


def html_of_sides(sides: Sequence[Side], title: str, differences: Differences | None = None) -> str:
    """The report of replications, perhaps with what tells two sides apart."""
    several = len(sides) > 1
    made = [
        Scheme(side.first, side.name if several else "", number, 0.0, not several)
        for number, side in enumerate(sides)
    ]
    every = [
        Scheme(result, f"{side.name} {run}" if several else run, number, 0.0, False)
        for number, side in enumerate(sides)
        for result, run in zip(side.results, runs(side), strict=True)
    ]
    together = page.charts_of_sides(sides)
    return html_base.page(
        "sides.html.j2",
        title,
        SCRIPTS,
        sides=sides,
        schemes=made,
        every=every,
        tables=aggregate.tables(sides),
        differences=differences,
        overview=overview,
        color=svg.color,
        alerts=page.alerts(every),
        labelled=[(side.name, side.first) for side in sides],
        drawings=page.drawings(made),
        plots=aggregate.plots(sides),
        note=aggregate.note(sides),
        intervals=any(side.has_intervals for side in sides),
        drawn=together,
        data=html_base.script_json(together.numbers),
    )


def runs(side: Side) -> list[str]:
    """What tells a side's runs apart."""
    return [f"seed {x.meta['seed']} rep {x.meta['rep']}" for x in side.results]


def _one_by_one(results: Sequence[Result], title: str) -> str:
    lines = overview.of(results)
    headings, rows = overview.overview_rows(lines)
    schemes = page.schemes(results)
    drawn = page.charts_of(schemes)
    return html_base.page(
        "run.html.j2",
        title,
        SCRIPTS,
        headings=headings,
        rows=rows,
        lines=lines,
        schemes=schemes,
        caption=overview.caption(lines),
        overview=overview,
        color=svg.color,
        alerts=page.alerts(schemes),
        labelled=[(scheme.label, scheme.result) for scheme in schemes],
        drawings=page.drawings(schemes),
        plots=summary.plots(schemes),
        drawn=drawn,
        points=charts.points_each(results),
        data=html_base.script_json(drawn.numbers),
    )


def _title(results: Sequence[Result]) -> str:
    names = list(dict.fromkeys(result.meta["name"] for result in results))
    return "-".join(overview.common_words(names)) or "comparison"
