"""HTML reports: one of each paper and one over all, each a single file with nothing to fetch."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from clearpipe import statistics, units
from clearpipe.report import html_base, lab
from clearpipe.reproduce import claims, data, runs, settings, work
from clearpipe.reproduce.claims import Judged, Outcome, Reading
from clearpipe.reproduce.data import Figure, Measure, Paper
from clearpipe.reproduce.runs import Point
from clearpipe.reproduce.work import Done

SLUGS = {
    claims.HOLDS: "holds",
    claims.WITHIN: "within",
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
        html_base.write(path, page(title, groups, base=base))
        return [path]
    for owner, mine in groups:
        path = folder / f"{owner.name}.html"
        title = f"{_paper_name(owner.name)}: {owner.title}"
        html_base.write(path, page(title, [(owner, mine)], up=whole))
        pages.append(path)
    if whole:
        path = folder / "index.html"
        html_base.write(path, page("The papers, reproduced", groups, overview=True))
        pages.append(path)
    return pages


def page(
    title: str,
    groups: Sequence[tuple[Paper, Sequence[Done]]],
    *,
    overview: bool = False,
    up: bool = False,
    base: str = ".",
) -> str:
    """The text of a report; the overview has the tables only. `base` is the way to `folder`."""
    everything = [one for _, mine in groups for one in mine]
    figures: list[dict[str, Any]] = []
    return html_base.page(
        "reproduce.html.j2",
        title,
        ["panels.js", "figures.js"],
        scale=everything[0].scale if everything else "",
        overview=overview,
        up=up,
        groups=[
            (owner, [_entry(one, base, [] if overview else figures, not overview) for one in mine])
            for owner, mine in groups
        ],
        totals=totals(everything),
        slugs=SLUGS,
        verdicts=claims.VERDICTS,
        notes=data.notes(),
        wrong=[_row(o, one) for one in everything for o in one.outcomes if _tells(o)],
        data=html_base.script_json(figures),
    )


def _tells(outcome: Outcome) -> bool:
    return outcome.verdict in (claims.DEVIATES, claims.CONTRADICTED)


def totals(done: Sequence[Done]) -> dict[str, Counter[str]]:
    """Claims counted by verdict: all of them, and by what the paper found them by."""
    return counted(
        (outcome.claim.counted_under, outcome.claim.kind, outcome.verdict)
        for one in done
        for outcome in one.outcomes
    )


def counted(rows: Iterable[tuple[str, str, str]]) -> dict[str, Counter[str]]:
    """Verdicts of (basis, kind, verdict): all claims first, then each basis and kind that has any.

    Nothing is left out of the first row, whatever it is.
    """
    rows = list(rows)
    out = {"all claims": Counter(verdict for _, _, verdict in rows)}
    for basis in (*data.BASES, data.REAL):
        for kind in data.KINDS:
            mine = [verdict for b, k, verdict in rows if (b, k) == (basis, kind)]
            if mine:
                name = basis if kind == basis else f"{basis}, {kind}"
                out[name] = Counter(mine)
    return out


@dataclass(frozen=True)
class Entry:
    """What the template is given of a figure."""

    figure: Figure
    built: bool
    panels: list[tuple[int, dict[str, Any]]]
    """Each with its number among the page's figures."""
    bars: bool
    few: str
    counts: str
    rows: list[dict[str, Any]]
    runs: str
    errors: list[str]
    command: str
    only: str
    lab: str
    """The link that opens the first point of its first part, or nothing."""
    path: str
    ambiguities: Mapping[str, str]


def _entry(done: Done, base: str, figures: list[dict[str, Any]], drawn: bool) -> Entry:
    from clearpipe.reproduce.cli import told

    figure, parts = done.figure, done.data.parts
    open_ones = data.notes()["ambiguity"]
    panels = []
    # A figure without runs is computed.
    if drawn and figure.panels and (done.data.cells or done.data.computed):
        from clearpipe.reproduce import draw

        made = draw.sheets(done.data)
        panels = list(enumerate(made, len(figures)))
        figures += made
    return Entry(
        figure,
        done.built,
        panels,
        _some(panels, "low"),
        _few(panels),
        told(done.counts()),
        [_row(outcome, done) for outcome in done.outcomes],
        f"{len(done.data.cells)} of {done.data.wanted} runs" if done.data.wanted else "no runs",
        sorted(set(done.data.errors))[:5],
        command_of(done),
        _first_point(done),
        _in_lab(done) if drawn else "",
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


def _in_lab(done: Done) -> str:
    """The link to the first point that was run, with as many schemes as the lab has room for."""
    found = next((cell for cell in done.data.cells if cell.rep == 0), None)
    part = next((one for one in done.data.parts if found and one.name == found.part), None)
    if found is None or part is None or part.engine != "packet" or part.traced:
        return ""
    toml = runs.scenario(done.figure, part)
    here = [c for c in done.data.of(part.name) if c.label == found.label and c.rep == 0]
    lanes = [lab.Lane(toml, cell.scheme, cell.sets) for cell in here]
    return lab.of(lanes[: lab.MOST_LANES])


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
    parts = [_part(one) for one in outcome.judged]
    return {
        "claim": claim,
        "short": claim.id.removeprefix(f"{done.figure.id}-"),
        "figure": done.figure,
        "verdict": outcome.verdict,
        "slug": SLUGS[outcome.verdict],
        "parts": parts,
        "worst": _part(outcome.worst_judged),
        "settings": settings.of(claim, done.data),
        "again": _worst_point(outcome, done) if _tells(outcome) else "",
    }


def _part(judged: Judged) -> dict[str, Any]:
    one = judged.assertion
    worst = judged.worst
    readings = judged.readings
    needs = [group.need for group in judged.groups]
    told = f"{sum(r.inside for r in readings)} of {len(readings)} within"
    if any(need < 1 for need in needs):
        told += f" ({', '.join(f'{100 * need:.0f} %' for need in needs)} needed)"
    return {
        "id": one.id,
        "says": one.says,
        "verdict": judged.verdict,
        "slug": SLUGS[judged.verdict],
        "measured": reading_text(worst) if worst else "",
        "told": told if len(readings) > 1 else "",
        "of": "; ".join(measure.told() for measure in one.measures),
        "accepted": accepted_text(judged),
        "printed": printed_text(judged),
        "tolerance": one.tolerance,
        "points": "; ".join(filter(None, (points_text(judged), departs_text(judged)))),
        "readings": [
            (label_text(reading) or "value", interval_text(reading), values_text(reading),
             range_text(reading.lo, reading.hi), reading.inside, reading.crosses, beyond)
            for beyond, several in ((False, readings), (True, judged.beyond))
            for reading in several
        ],
        "unsure": unsure_text(judged),
        "single_runs": runs_text(judged),
        "reason": judged.reason,
        "contradiction": one.contradiction if judged.verdict == claims.CONTRADICTED else None,
        "missing": judged.fails,
        "note": one.note,
    }  # fmt: skip


def published(judged: Judged, part: Mapping[str, Any]) -> dict[str, Any]:
    """What is published of a part besides its values, to which it adds their text."""
    worst = judged.worst
    readings = [*judged.readings, *judged.beyond]
    for told, reading in zip([*part["readings"], *part["readings_beyond"]], readings, strict=True):
        told["measured"] = interval_text(reading)
    return {
        "measured": interval_text(worst) if worst else "",
        "at": worst.label if worst else "",
        "within": sum(reading.inside for reading in judged.readings),
        "of": len(judged.readings),
        "accepted": accepted_text(judged),
        "printed": printed_text(judged),
        "range_run": points_text(judged),
        "departs": departs_text(judged),
        "unsure": unsure_text(judged),
        "single_runs": runs_text(judged),
    }


MOST_NAMED = 4
"""Settings that `runs_text` names one by one."""


def runs_text(judged: Judged) -> str:
    """Where single runs are on the other side of the bound than the rest of them, or than the mean
    that the verdict is by: how many, and how far; else nothing. Of what holds as printed the bound
    is the printed one."""
    held, good = judged.verdict == claims.HOLDS, judged.verdict in claims.GOOD
    if judged.verdict == claims.NOT_RUN:
        return ""
    by_run = bool(judged.assertion.each_run)
    outside = good or by_run
    found = []
    for reading in judged.strict if held else judged.readings:
        if len(reading.values) < 2 or reading.censored or reading.lacking:
            continue
        other = [v for v in reading.values if (reading.lo <= v <= reading.hi) != outside]
        some = len(other) < len(reading.values) if by_run else reading.inside == good
        if other and some:
            found.append((reading, other))
    if not found:
        return ""
    side = "outside" if outside else "within"
    if held and printed_text(judged) != accepted_text(judged):
        side += " what is printed"
    if len(found) > MOST_NAMED:
        n, of = sum(len(v) for _, v in found), sum(len(reading.values) for reading, _ in found)
        told = f"{n} of {of} runs at {len(found)} settings are {side}"
        if outside:
            told += f", the farthest at {_farthest(*max(found, key=_distance))}"
    else:
        told = "; ".join(
            f"{len(other)} of {len(reading.values)} runs"
            f"{f' at {label_text(reading)}' if reading.label else ''}"
            f" {'is' if len(other) == 1 else 'are'} {side}"
            + (f", {'at' if len(other) == 1 else 'the farthest at'} {_farthest(reading, other)}"
               if outside else "")
            for reading, other in found
        )  # fmt: skip
    return f"{'each run is judged' if by_run else 'in the mean of the runs'}; {told}"


def _distance(found: tuple[Reading, Sequence[float]]) -> float:
    """How far the farthest of these values is outside of the bounds."""
    reading, values = found
    return max(max(reading.lo - value, value - reading.hi) for value in values)


def _farthest(reading: Reading, values: Sequence[float]) -> str:
    value = max(values, key=lambda one: max(reading.lo - one, one - reading.hi))
    return bound(value, reading.hi - reading.lo)


def unsure_text(judged: Judged) -> str:
    """How many intervals leave open on which side of the bound they are, or nothing; of what holds
    as printed the bound is the printed one."""
    held = judged.verdict == claims.HOLDS
    readings = judged.strict if held else judged.readings
    crossing = sum(reading.crosses for reading in readings)
    if not crossing or judged.verdict == claims.NOT_RUN:
        return ""
    words = UNSURE_IN_PRINT if held and printed_text(judged) != accepted_text(judged) else UNSURE
    some = f" ({crossing} of {len(readings)})" if len(readings) > 1 else ""
    return f"{words}{some}"


def accepted_text(judged: Judged) -> str:
    """The bounds that are accepted, with the range where it is less than all points; of a check
    those of its worst reading, which may have its own."""
    one, worst = judged.assertion, judged.worst
    if one.check and worst:
        return range_text(worst.lo, worst.hi) + _rule_text(judged)
    if not one.measures:
        return range_text(one.lo, one.hi)
    bounds = dict.fromkeys(_bounds_text(m, judged) for m in one.measures)
    return "; ".join(bounds) + _rule_text(judged)


EACH_RUN = " in each run"


def _rule_text(judged: Judged) -> str:
    """That the bounds are of each run, where they are."""
    runs = judged.assertion.measures or any(len(one.values) > 1 for one in judged.readings)
    return EACH_RUN if judged.assertion.each_run and runs else ""


def printed_text(judged: Judged) -> str:
    """The same as the paper has it; nothing where it has no number."""
    one, worst = judged.assertion, judged.worst
    if one.printed is None:
        return ""
    if one.measures:
        strict = [measure.as_printed(one.printed) for measure in one.measures]
        bounds = "; ".join(dict.fromkeys(_bounds_text(measure, judged) for measure in strict))
    elif worst and worst.printed:
        bounds = range_text(*worst.printed)
    else:
        lo, hi = (worst.lo, worst.hi) if worst else (one.lo, one.hi)
        bounds = range_text(
            lo if one.printed.lo is None else one.printed.lo,
            hi if one.printed.hi is None else one.printed.hi,
        )
    return bounds + _rule_text(judged)


def _unit(judged: Judged) -> str:
    """The unit of the axis that the runs stand along, if its settings have one."""
    found = [units.split(point.label) for point in judged.ran]
    told = {one[1] if one else "" for one in found}
    return told.pop() if len(told) == 1 else ""


def _bounds_text(measure: Measure, judged: Judged) -> str:
    words = [range_text(measure.lo, measure.hi)]
    if measure.x is not None:
        unit = _unit(judged)
        # Settings that are no numbers stand at their places in the list.
        names = {p.x: p.label for p in judged.ran if p.label and units.split(p.label) is None}
        ends = [
            names.get(x, units.tell(x, unit) if unit else number(x))
            for x in dict.fromkeys(measure.x)
        ]
        words.append(f"from {' to '.join(ends)}" if len(ends) > 1 else f"at {ends[0]}")
    if measure.need < 1:
        words.append(f"at {100 * measure.need:.0f} % of the points")
    return " ".join(words)


UNSURE = "not sure: the interval crosses the bound"
UNSURE_IN_PRINT = "not sure: the interval crosses the printed bound"


def reading_text(reading: Reading) -> str:
    """The value with its interval, where it is, and whether that decides."""
    where = f" ({label_text(reading)})" if reading.label else ""
    return f"{interval_text(reading)}{where}{f', {UNSURE}' if reading.crosses else ''}"


def label_text(reading: Reading) -> str:
    """What a value is of, its settings as the house writes them: `vcp, 500 kb/s`."""
    return ", ".join(map(units.setting, reading.label.split(", ")))


def interval_text(reading: Reading) -> str:
    """A mean and half of its 95 % interval; where each run is judged, the one farthest outside."""
    interval = reading.interval
    if reading.lacking:
        some = f" in {reading.lacking} of {interval.n} runs" if interval.n > 1 else ""
        return f"no number{some}"
    if reading.censored:
        some = f" in {reading.censored} of {interval.n} runs" if interval.n > 1 else ""
        known = {1: f"> {number(interval.mean)}", -1: f"< {number(interval.mean)}"}
        return f"{known.get(reading.side, 'unknown')}: the run ended first{some}"
    if interval.n < 2 or not math.isfinite(interval.half):
        return bound(interval.mean, reading.hi - reading.lo)
    spread = units.spread(interval.mean, interval.half)
    if reading.each_run and not reading.inside:
        return f"{spread}, the farthest run {bound(reading.farthest, reading.hi - reading.lo)}"
    return spread


def values_text(reading: Reading) -> str:
    """The number of each run, where there are several."""
    return ", ".join(map(number, reading.values)) if len(reading.values) > 1 else ""


def points_text(judged: Judged) -> str:
    """Which settings of the paper's range have runs and which have none: `run at 10, 50 Mb/s; not
    run: 1 Gb/s`. Of a check that reads not all of them: `read at 10 Mb/s; run besides at ...`."""
    ran, left_out = _schemes(judged.ran), _schemes(judged.left_out)
    lacking = {
        part: [_lacking(label, names, ran.get(part, {})) for label, names in labels.items()]
        for part, labels in left_out.items()
    }
    several = len(ran | left_out) > 1
    told = [
        *_read_text(judged, ran, several=several),
        f"not run: {_of_parts(lacking, several=several)}" if _any(lacking) else "",
    ]
    return "; ".join(filter(None, told))


MOST_BESIDES = 6
"""Settings that a check does not read, named one by one."""


def _read_text(judged: Judged, ran: Mapping[str, Iterable[str]], *, several: bool) -> Iterator[str]:
    run_at = f"run at {_of_parts(ran, several=several)}" if _any(ran) else ""
    if judged.read is None:
        yield run_at
        return
    read = _schemes(judged.read.points)
    if ran and not read:
        yield "computed: no run is read"
        return
    besides = {part: [x for x in ran[part] if x not in read.get(part, ())] for part in ran}
    n, of = (sum(runs[i] for runs in judged.read.points.values()) for i in (0, 1))
    if not _any(besides) and n == of and read.keys() <= ran.keys():
        yield run_at
        return
    if _any(read) or n < of:
        some = f"{n} of {of} runs" if n < of else ""
        at = f"read at {_of_parts(read, several=several)}" if _any(read) else "read"
        yield f"{at}{f' ({some})' if some and _any(read) else f': {some}' if some else ''}"
    if _any(besides):
        count = sum(map(len, besides.values()))
        few = count <= MOST_BESIDES
        yield f"run besides at {_of_parts(besides, several=several) if few else f'{count} others'}"


def _any(found: Mapping[str, Iterable[str]]) -> bool:
    """Is there a setting that has a name?"""
    return any(map(any, found.values()))


def departs_text(judged: Judged) -> str:
    """Where it is not of what the paper prints, and why: `not as printed at 1, 2 ms: ...`."""
    told = [f"not as printed at {together(at)}: {why}" for why, at in judged.departs.items()]
    return "; ".join(told)


def _schemes(points: Iterable[Point]) -> dict[str, dict[str, list[str]]]:
    """By part and label; a part without an axis has one that is empty."""
    found: dict[str, dict[str, list[str]]] = {}
    for point in points:
        found.setdefault(point.part, {}).setdefault(point.label, []).append(point.scheme)
    return found


def _lacking(label: str, schemes: Sequence[str], ran: Iterable[str]) -> str:
    """The label, with its schemes where others were run."""
    told = ", ".join(schemes)
    return f"{label} ({told})" if label and label in ran else label or told


def _of_parts(found: Mapping[str, Iterable[str]], *, several: bool) -> str:
    return ", ".join(
        f"{together(labels)} (part {part})" if several else together(labels)
        for part, labels in found.items()
        if any(labels)
    )


QUANTITY = re.compile(r"([-+.0-9]+)(?:([kMG]b)ps|([a-z]*))")


def together(labels: Iterable[str]) -> str:
    """Settings in a line, a unit behind all that share it: `500 kb/s, 1, 10 Mb/s`."""
    matches = [(label, QUANTITY.fullmatch(label)) for label in labels]
    pairs = [
        (match[1], f"{match[2]}/s" if match[2] else match[3]) if match else (label, "")
        for label, match in matches
    ]
    groups = groupby(pairs, key=lambda pair: pair[1])
    return ", ".join(
        f"{', '.join(value for value, _ in pairs)} {unit}".rstrip() for unit, pairs in groups
    )


def range_text(lo: float, hi: float) -> str:
    """What is accepted."""
    if lo == hi:
        return f"= {bound(lo, 0.0)}"
    if math.isfinite(lo) and math.isfinite(hi):
        middle = (lo + hi) / 2
        if middle and (hi - lo) / abs(middle) < 1e-6:
            return f"= {bound(middle, hi - lo)}"
        return f"{bound(lo, hi - lo)} to {bound(hi, hi - lo)}"
    if math.isfinite(lo):
        return f"≥ {bound(lo, 0.0)}"
    return f"≤ {bound(hi, 0.0)}" if math.isfinite(hi) else ""


def bound(value: float, width: float) -> str:
    """A bound, or a value beside it, with four digits, or as many up to seven as tell it to a
    hundredth of the range's width."""
    if math.isfinite(width):
        for digits in range(4, 8):
            if abs(float(f"{value:.{digits - 1}e}") - value) <= max(
                width / 100, 1e-12 * abs(value)
            ):
                return units.number(value, digits)
        if width > 0:
            return units.number(value, 7)
    return number(value)


def number(value: float) -> str:
    """As the house writes numbers."""
    return units.number(value)


def _paper_name(name: str) -> str:
    return "iXCP" if name == "ixcp" else name.upper()


def _some(panels: Sequence[tuple[int, dict[str, Any]]], part: str) -> bool:
    """Has a curve any value of the part?"""
    curves = (curve for _, panel in panels for curve in panel["curves"])
    return any(value is not None for curve in curves for value in curve.get(part, ()))


def _few(panels: Sequence[tuple[int, dict[str, Any]]]) -> str:
    """Why points of two runs have no bar."""
    counts = {
        len(runs)
        for _, panel in panels
        for curve in panel["curves"]
        for runs in curve.get("dots", ())
    }
    if not any(1 < n < statistics.FEW for n in counts):
        return ""
    why = statistics.few("Some points have", more="")
    return f"{why} The ± beside the claims is the 95 % interval of two as well."
