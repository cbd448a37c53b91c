"""One HTML file that shows results: drawings, charts and tables, with nothing to fetch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from clearpipe import overview, units, whole
from clearpipe.report import charts, page, summary, svg

if TYPE_CHECKING:
    from clearpipe.result import Result


def render(results: Sequence[Result], path: str | os.PathLike[str], title: str = "") -> Path:
    """Write the report of `results` to `path`, whole or not at all."""
    target = Path(path)
    text = html(results, title)
    target.parent.mkdir(parents=True, exist_ok=True)
    whole.clean(target.parent)
    whole.write_text(target, text)
    return target


def html(results: Sequence[Result], title: str = "") -> str:
    """The report's text."""
    import jinja2

    lines = overview.of(results)
    headings, rows = overview.overview_rows(lines)
    schemes = page.schemes(results)
    drawn = page.charts_of(schemes)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("clearpipe.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["data_uri"] = lambda text: "data:text/plain;charset=utf-8," + quote(text)
    return environment.get_template("template.html.j2").render(
        title=title or _title(results),
        headings=headings,
        rows=rows,
        lines=lines,
        schemes=schemes,
        caption=overview.caption(lines),
        overview=overview,
        units=units,
        color=svg.color,
        alerts=page.alerts(schemes),
        drawings=page.drawings(schemes),
        plots=summary.plots(schemes),
        drawn=drawn,
        points=charts.points_each(results),
        data=_script_json(drawn.numbers),
        style=_asset("vendor/uplot/uPlot.min.css") + _asset("report.css"),
        script=_asset("vendor/uplot/uPlot.iife.min.js") + "\n" + _asset("report.js"),
        version=results[0].meta["version"] if results else "",
    )


def _title(results: Sequence[Result]) -> str:
    names = list(dict.fromkeys(result.meta["name"] for result in results))
    return "-".join(overview.common_words(names)) or "comparison"


def _asset(name: str) -> str:
    return (files("clearpipe.report") / name).read_text(encoding="utf-8")


def _script_json(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
