"""The page of metrics: every column of every table, from the docs of the structs they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clearpipe import metric_titles
from docsite.sources import ROOT

TABLES = (
    ("links", "links.parquet", "LinkRow", "tables.rs"),
    ("groups", "groups.parquet", "GroupRow", "groups.rs"),
    ("flows", "flows.parquet", "FlowRow", "tables.rs"),
    ("macroflows", "macroflows.parquet", "MacroRow", "macroflows.rs"),
    ("groups of a summary", "summary.json", "GroupSummary", "summary.rs"),
)
UNITS = {"bps": "bit/s", "pkts": "packets", "bytes": "bytes", "ratio": "1", "s": "s", "": "1"}


def _fields(struct: str, file: str) -> tuple[str, list[tuple[str, str, str]]]:
    """A struct's own text, and each field's name, type and text."""
    text = (ROOT / "crates/results/src" / file).read_text(encoding="utf-8")
    found = re.search(
        rf"((?:^/// [^\n]*\n)+)(?:#\[[^\n]*\n)*pub struct {struct} \{{\n(.*?)^\}}",
        text,
        re.M | re.S,
    )
    if found is None:
        raise ValueError(f"{file} has no struct {struct}")
    fields = re.findall(r"((?:    /// .*\n)+)(?:    #\[.*\n)*    pub (\w+): (.+),", found[2])
    return _doc(found[1]), [(name, kind, _doc(doc)) for doc, name, kind in fields]


def _doc(lines: str) -> str:
    text = " ".join(line.strip().removeprefix("/// ") for line in lines.splitlines())
    return re.sub(r"\[(`[^`]+`)\]", r"\1", text).replace("|", r"\|")


def page() -> str:
    """The page in Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield (
        "# Metrics\n\n"
        "Every number of a result: its column, unit and definition. Plots, `--until`, `compare "
        "--tol` and the figures of `reproduce` name them as `links.NAME.COLUMN`, "
        "`groups.NAME.COLUMN`, or by the column alone, which is then that of the link that the "
        "scenario calls `bottleneck`. Measurements start at the end of the warm-up "
        "(`warmup` in the scenario); columns that begin with `total_` count the whole run. "
        "[Results](results.md#what-the-words-mean) says more about the words.\n"
    )
    for title, where, struct, file in TABLES:
        about, fields = _fields(struct, file)
        yield f"## {title[:1].upper()}{title[1:]}\n\n`{where}`. {about}\n"
        yield "| column | called | unit | definition |\n|---|---|---|---|"
        for name, kind, doc in fields:
            measure = metric_titles.of(name)
            text = kind in ("String", "Arc<str>", "bool")
            unit = "" if text else UNITS[measure.unit]
            empty = " Empty where there is none." if kind.startswith("Option") else ""
            spread = " As `min`, `mean` and `max`." if "Spread" in kind else ""
            yield f"| `{name}` | {measure.title} | {unit} | {doc}{spread}{empty} |"
        yield ""
