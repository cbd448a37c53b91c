"""What all pages share: one design, one file, nothing to fetch."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import clearpipe as cp
from clearpipe import atomic_files, units
from clearpipe.report import lab

UPLOT = "uPlot.iife.min.js"


def page(template: str, title: str, scripts: Sequence[str], **context: Any) -> str:
    """The text of a page; `scripts` are those that it needs besides what every page has."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("clearpipe.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["toml_name"] = lambda name: name.removesuffix(".toml") + ".toml"
    environment.filters["data_uri"] = lambda text: "data:text/plain;charset=utf-8," + quote(text)
    with_uplot = "report.js" in scripts
    vendored = [f"vendor/uplot/{UPLOT}"] * with_uplot
    style = [*["vendor/uplot/uPlot.min.css"] * with_uplot, "report.css"]
    return environment.get_template(template).render(
        title=title,
        style="".join(map(_asset, style)),
        script="\n".join(map(_asset, [*vendored, "page.js", *scripts])),
        with_uplot=with_uplot,
        units=units,
        lab=lab,
        version=cp.version(),
        model=cp.model_version(),
        **context,
    )


def write(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file, whole or not at all; what writers that died have left beside it goes."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.clean(target.parent)
    atomic_files.write_text(target, text)
    return target


def script_json(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def finite(values: Iterable[float | None]) -> list[float | int | None]:
    """Numbers for JSON: exact, whole ones short, what is not known as None."""
    return [None if v is None or not math.isfinite(v) else _short(v) for v in values]


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def _asset(name: str) -> str:
    return (files("clearpipe.report") / name).read_text(encoding="utf-8")
