"""HTML reports: one of each paper and one over all, each a single file with nothing to fetch."""

from __future__ import annotations

import base64
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe.reproduce import claims, data, work
from clearpipe.reproduce.claims import Outcome, Reading
from clearpipe.reproduce.data import Figure, Paper
from clearpipe.reproduce.work import Done

SLUGS = {
    claims.HOLDS: "holds",
    claims.DEVIATES: "deviates",
    claims.CONTRADICTED: "contradicted",
    claims.NOT_RUN: "not-run",
}


def render(done: Sequence[Done], folder: Path, *, whole: bool) -> list[Path]:
    """Write the reports: `PAPER.html` of whole papers, `index.html` over all if it is `whole`;
    `FIGURE/report.html` of a single figure, `selection.html` of some."""
    folder.mkdir(parents=True, exist_ok=True)
    by_paper: dict[str, list[Done]] = {}
    for one in done:
        by_paper.setdefault(one.figure.paper, []).append(one)
    groups = [(data.paper(name), mine) for name, mine in by_paper.items()]
    pages = []
    if not all(len(mine) == len(owner.figures) for owner, mine in groups):
        single = len(done) == 1
        title = ", ".join(one.figure.id for one in done)
        path = folder / (f"{done[0].figure.id}/report.html" if single else "selection.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        base = ".." if single else "."
        work.write_text(path, page(title, groups, folder, base=base))
        return [path]
    for owner, mine in groups:
        path = folder / f"{owner.name}.html"
        title = f"{_paper_name(owner.name)}: {owner.title}"
        work.write_text(path, page(title, [(owner, mine)], folder, up=whole))
        pages.append(path)
    if whole:
        path = folder / "index.html"
        work.write_text(path, page("Five papers, reproduced", groups, folder, overview=True))
        pages.append(path)
    return pages


def page(
    title: str,
    groups: Sequence[tuple[Paper, Sequence[Done]]],
    folder: Path,
    *,
    overview: bool = False,
    up: bool = False,
    base: str = ".",
) -> str:
    """The text of a report; the overview has the tables only. `base` is the way to `folder`."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("clearpipe.reproduce", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    everything = [one for _, mine in groups for one in mine]
    return environment.get_template("template.html.j2").render(
        title=title,
        scale=everything[0].scale if everything else "",
        overview=overview,
        up=up,
        groups=[(owner, [_entry(one, folder, base) for one in mine]) for owner, mine in groups],
        totals=totals(everything),
        slugs=SLUGS,
        verdicts=claims.VERDICTS,
        version=cp.version(),
        model=cp.model_version(),
        notes=data.notes(),
        wrong=[_row(o, one) for one in everything for o in one.outcomes if _tells(o)],
    )


def _tells(outcome: Outcome) -> bool:
    return outcome.verdict in (claims.DEVIATES, claims.CONTRADICTED)


def totals(done: Sequence[Done]) -> dict[str, Counter[str]]:
    """Verdicts counted: of all claims, the quantitative ones of simulations that nothing in the
    papers contradicts, and the analytic ones."""
    out: dict[str, Counter[str]] = {
        "all claims": Counter(),
        "quantitative, simulated, not contradicted": Counter(),
        "analytic": Counter(),
    }
    for one in done:
        for outcome in one.outcomes:
            claim = outcome.claim
            out["all claims"][outcome.verdict] += 1
            if claim.kind == "analytic":
                out["analytic"][outcome.verdict] += 1
            elif claim.kind == "quantitative" and not claim.contradicted_by:
                out["quantitative, simulated, not contradicted"][outcome.verdict] += 1
    return out


@dataclass(frozen=True)
class Entry:
    """What the template is given of a figure."""

    figure: Figure
    built: bool
    image: str
    counts: str
    rows: list[dict[str, Any]]
    runs: str
    errors: list[str]
    command: str
    only: str
    path: str
    ambiguities: Mapping[str, str]


def _entry(done: Done, folder: Path, base: str) -> Entry:
    from clearpipe.reproduce.cli import told

    figure, parts = done.figure, done.data.parts
    open_ones = data.notes()["ambiguity"]
    return Entry(
        figure,
        done.built,
        _image(folder / figure.id / "figure.svg")
        if figure.panels and (done.data.cells or not parts)
        else "",
        told(done.counts()),
        [_row(outcome, done) for outcome in done.outcomes],
        f"{len(done.data.cells)} of {done.data.wanted} runs" if done.data.wanted else "no runs",
        sorted(set(done.data.errors))[:5],
        command_of(done),
        _first_point(done),
        f"{base}/{figure.id}/{work.scenario_file(parts[0].name)}" if parts else "",
        {key: open_ones[key] for key in figure.ambiguities if key in open_ones},
    )


def command_of(done: Done) -> str:
    """What reproduces the figure."""
    figure = done.figure
    return f"clearpipe reproduce {figure.paper}:{figure.id.partition('-')[2]} --scale {done.scale}"


def _first_point(done: Done) -> str:
    """The command that runs the first point alone."""
    for part in done.data.parts:
        if part.axis is not None:
            return _only(done, part.axis.name, str(part.axis.values[0]))
    return ""


def _only(done: Done, axis: str, value: str) -> str:
    return f"{command_of(done)} --only {shlex.quote(f'{axis}={value}')}"


def _worst_point(outcome: Outcome, done: Done) -> str:
    """The command that runs the point alone where the claim is farthest outside."""
    worst = outcome.worst
    if worst is None or worst.inside:
        return ""
    words = worst.label.split(", ")
    ends = [", ".join(words[start:]) for start in range(len(words))]
    real = " --linux" if outcome.claim.engine == "linux" else ""
    for part in done.data.parts:
        if part.axis is None:
            continue
        label = next((end for end in ends if end in map(str, part.axis.values)), None)
        if label is not None:
            return _only(done, part.axis.name, label) + real
    return ""


def _row(outcome: Outcome, done: Done) -> dict[str, Any]:
    claim = outcome.claim
    worst = outcome.worst
    inside = sum(reading.inside for reading in outcome.readings)
    needs = [need for _, _, need in outcome.counts]
    told = f"{inside} of {len(outcome.readings)} within" if len(outcome.readings) > 1 else ""
    if told and any(need < 1 for need in needs):
        told += f" ({', '.join(f'{100 * need:.0f} %' for need in needs)} needed)"
    return {
        "claim": claim,
        "short": claim.id.removeprefix(f"{done.figure.id}-"),
        "figure": done.figure,
        "verdict": outcome.verdict,
        "slug": SLUGS[outcome.verdict],
        "measured": reading_text(worst) if worst else "",
        "told": told,
        "accepted": range_text(claim.lo, claim.hi) or _ranges(outcome),
        "readings": [
            (reading.label or "value", interval_text(reading), range_text(reading.lo, reading.hi),
             reading.inside, reading.sure or reading.interval.n < 2)
            for reading in outcome.readings
        ],
        "unsure": outcome.verdict in (claims.HOLDS, claims.DEVIATES)
        and any(r.interval.n > 1 and not r.sure for r in outcome.readings),
        "reason": outcome.reason,
        "missing": _tells(outcome) and not outcome.reason and not claim.contradicted_by,
        "again": _worst_point(outcome, done) if _tells(outcome) else "",
    }  # fmt: skip


def _ranges(outcome: Outcome) -> str:
    pairs = dict.fromkeys((m.lo, m.hi) for m in outcome.claim.measures)
    return "; ".join(range_text(lo, hi) for lo, hi in pairs)


def reading_text(reading: Reading) -> str:
    """The value with its interval, and where it is."""
    where = f" ({reading.label})" if reading.label else ""
    return f"{interval_text(reading)}{where}"


def interval_text(reading: Reading) -> str:
    """A mean and half of its 95 % interval."""
    interval = reading.interval
    if interval.n < 2 or not math.isfinite(interval.half):
        return number(interval.mean)
    return f"{number(interval.mean)} ± {interval.half:.2g}"


def range_text(lo: float, hi: float) -> str:
    """What is accepted."""
    if lo == hi:
        return f"= {number(lo)}"
    if math.isfinite(lo) and math.isfinite(hi):
        middle = (lo + hi) / 2
        if middle and (hi - lo) / abs(middle) < 1e-6:
            return f"= {number(middle)}"
        return f"{number(lo)} to {number(hi)}"
    if math.isfinite(lo):
        return f"≥ {number(lo)}"
    return f"≤ {number(hi)}" if math.isfinite(hi) else ""


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def _paper_name(name: str) -> str:
    return "iXCP" if name == "ixcp" else name.upper()


def _image(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError:
        return ""
    return "data:image/svg+xml;base64," + base64.b64encode(content).decode()
