"""What is written of an evaluation: a page, tables, JSON, and what is published of it."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe import units
from clearpipe.atomic_files import clean, write_text
from clearpipe.evaluate import judge, work
from clearpipe.evaluate.data import STANDARDS, Statement, sheet
from clearpipe.evaluate.judge import Outcome, Row
from clearpipe.evaluate.work import Done
from clearpipe.report import html_base
from clearpipe.reproduce import runs
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.recording_axes import COLORS, Sheet
from clearpipe.statistics import FEW

LONGEST = 14
"""More letters do not fit under a mark."""

SLUGS = {
    judge.PASS: "holds",
    judge.FAIL: "deviates",
    judge.NUMBER: "within",
    judge.EXCLUDED: "not-run",
    judge.NOT_RUN: "not-run",
}


def write(done: Done, folder: Path) -> Path:
    """`report.html`, `report.json`, `statements.csv` and the scenarios; gives the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    clean(folder)
    write_text(folder / "report.json", _json(done))
    write_text(folder / "statements.csv", table(done))
    places = folder / "scenarios"
    places.mkdir(exist_ok=True)
    for data in done.datas.values():
        for part in data.figure.parts[done.scale]:
            name = (
                data.figure.figure if part.name == "main" else f"{data.figure.figure}-{part.name}"
            )
            text_ = done.cast.moved(runs.scenario(data.figure, part), places)
            write_text(places / f"{name}.toml", text_)
    return html_base.write(folder / "report.html", page(done))


def _json(done: Done) -> str:
    return json.dumps(done.as_json(), indent=1, ensure_ascii=False) + "\n"


def table(done: Done) -> str:
    """Every number as CSV: a line for each statement, place and control, in base units."""
    file = io.StringIO()
    out = csv.writer(file, lineterminator="\n")
    out.writerow(
        ("statement", "verdict", "cites", "quantity", "unit", "at", "control", "mean", "half_95",
         "n", "lo", "hi", "values")
    )  # fmt: skip
    for one in done.outcomes:
        about = (one.statement.id, one.verdict, "; ".join(one.statement.cites))
        what = (one.statement.quantity, one.statement.unit)
        if not one.rows:
            out.writerow((*about, *what))
        for row in one.rows:
            told = [(done.cast.label, row.reading), *((b.label, b.reading) for b in row.beside)]
            for label, reading in told:
                spread = reading.interval
                half = spread.half if math.isfinite(spread.half) else ""
                ends = [end if math.isfinite(end) else "" for end in (reading.lo, reading.hi)]
                values = " ".join(map(repr, map(float, reading.values)))
                numbers = (spread.mean, half, spread.n, *ends, values)
                out.writerow((*about, *what, row.reading.label, label, *numbers))
    return file.getvalue()


def page(done: Done) -> str:
    """The text of the report."""
    drawn: list[dict[str, Any]] = []
    areas: dict[str, list[dict[str, Any]]] = {}
    for one in done.outcomes:
        figure = _drawing(one, done)
        entry = _entry(one, done)
        entry["figure"] = len(drawn) if figure else None
        drawn += [figure] if figure else []
        areas.setdefault(one.area.id, []).append(entry)
    titles = {one.area.id: one.area for one in done.outcomes}
    return html_base.page(
        "evaluate.html.j2",
        done.title,
        ["panels.js", "figures.js"],
        done=done,
        about=about(done),
        rule=work.rule(),
        counts=done.counts(),
        verdicts=judge.VERDICTS,
        slugs=SLUGS,
        areas=[(titles[name], rows) for name, rows in areas.items()],
        failing=[entry for rows in areas.values() for entry in rows if entry["fails"]],
        texts=sheet().texts,
        command=command(done),
        few=FEW,
        data=html_base.script_json(drawn),
    )


def about(done: Done) -> list[tuple[str, str]]:
    """What was evaluated, and among whom."""
    queue = ", ".join(f"{key} = {value}" for key, value in done.cast.router.items())
    return [
        ("Control", done.cast.label),
        *_engine(done),
        ("Queue of its bottleneck", f"{queue} ({done.cast.queue_from})"),
        ("Set against", ", ".join(done.cast.against) or "none"),
        ("Measured by", f"{', '.join(done.cast.standards)} in the same runs"),
        *([("Areas, chosen", ", ".join(done.only))] if done.only else []),
        ("Scale", f"{done.scale}, {units.counted(done.runs, 'run', 'runs')}"),
        ("Versions", _versions(done.versions)),
    ]


def _engine(done: Done) -> list[tuple[str, str]]:
    """Where it ran, if that is not the packet engine."""
    if done.engine == "packet":
        return []
    where = f"linux, in real time; kernel {', '.join(done.kernels) or 'not known: no runs'}"
    return [("Engine", where), ("Late packets", done.lateness or "no runs")]


def _versions(parts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in parts.items())


def command(done: Done) -> str:
    """What does it again."""
    cast, words = done.cast, ["clearpipe", "evaluate"]
    words.append(cast.name_given)
    if cast.code:
        words += ["--code", cast.code]
    if cast.queue_from == "--queue":
        words += ["--queue", _inline(cast.router)]
    words += ["--against", ",".join(cast.against)]
    if done.engine != "packet":
        words += ["--engine", done.engine]
    if done.scale == "quick":
        words.append("--quick")
    words += [word for area in done.only for word in ("--area", area)]
    return " ".join(map(shlex.quote, words))


def _inline(table: Any) -> str:
    from clearpipe.sweep.spec import toml_value

    return str(table["kind"]) if len(table) == 1 else toml_value(dict(table))


def _entry(one: Outcome, done: Done) -> dict[str, Any]:
    statement = one.statement
    worst = one.worst
    return {
        "id": statement.id,
        "says": statement.says,
        "cites": "; ".join(statement.cites),
        "quantity": statement.quantity,
        "verdict": one.verdict,
        "slug": SLUGS[one.verdict],
        "fails": one.verdict == judge.FAIL,
        "measured": units.unbroken(measured(worst, statement)) if worst else "",
        "bound": units.unbroken(bound(worst, statement)) if worst else "",
        "why_bound": why_bound(statement),
        "references": units.unbroken(references(worst, statement)) if worst else "",
        "reason": one.reason,
        "unsure": sum(row.reading.crosses for row in one.rows),
        "rows": [
            {
                "at": row.reading.label or "value",
                "measured": text(row.reading, statement.unit),
                "bound": bound(row, statement),
                "inside": row.reading.inside,
                "unsure": row.reading.crosses,
                "references": references(row, statement),
                "values": values(row.reading, statement.unit),
            }
            for row in one.rows
        ],
        "label": done.cast.label,
    }


def measured(row: Row, statement: Statement) -> str:
    """The worst value, and where it is."""
    at = f" ({row.reading.label})" if row.reading.label else ""
    return f"{text(row.reading, statement.unit)}{at}"


def text(reading: Reading, unit: str) -> str:
    """A mean and half of its 95 % interval, where there are enough runs for one."""
    interval = reading.interval
    if reading.lacking:
        return "no number"
    mean = units.tell(interval.mean, unit)
    if reading.censored:
        return f"> {mean}: the run ended first"
    # Replications that are one run but for the last bit have no interval either.
    if interval.n < FEW or interval.half <= 1e-9 * abs(interval.mean):
        return mean
    return units.spread(interval.mean, interval.half, unit)


def values(reading: Reading, unit: str) -> str:
    """The number of each run."""
    return ", ".join(units.tell(float(value), unit) for value in reading.values)


def bound(row: Row, statement: Statement) -> str:
    """What is accepted there."""
    if math.isfinite(row.reading.lo):
        return f"≥ {units.tell(row.reading.lo, statement.unit)}"
    if math.isfinite(row.reading.hi):
        return f"≤ {units.tell(row.reading.hi, statement.unit)}"
    return ""


def why_bound(statement: Statement) -> str:
    """Where the bound is from."""
    if statement.source:
        return statement.source
    if not statement.bound:
        return "no text has a bound"
    what = "the standards'" if statement.bound == STANDARDS else "the victim's own kind's"
    about = "more" if statement.better == "less" else "less"
    share = f"{what} {sheet().margin:.0%} {about}"
    if not statement.resolution:
        return share
    return f"{share}, and {units.tell(statement.resolution, statement.unit)}"


def references(row: Row, statement: Statement) -> str:
    """What the others get there; an asterisk at those that make the bound."""
    return ", ".join(
        f"{one.label}{'*' if one.bound else ''} {text(one.reading, statement.unit)}"
        for one in row.beside
    )


def _drawing(one: Outcome, done: Done) -> dict[str, Any] | None:
    """The statement's numbers in every place, with the others' and the bound."""
    if not one.rows:
        return None
    sheet_ = Sheet()
    places = list(range(len(one.rows)))
    labels = list(dict.fromkeys(b.label for row in one.rows for b in row.beside))
    readings = [row.reading for row in one.rows]
    _points(sheet_, done.cast.label, COLORS[0], places, readings)
    for number, label in enumerate(labels, 1):
        found = [
            next((b.reading for b in row.beside if b.label == label), None) for row in one.rows
        ]
        _points(sheet_, label, COLORS[number % len(COLORS)], places, found)
    ends = [r.lo if math.isfinite(r.lo) else r.hi for r in readings]
    known = [(x, y) for x, y in zip(places, ends, strict=True) if math.isfinite(y)]
    if known:
        xs, ys = zip(*known, strict=True)
        sheet_.plot(xs, ys, "", marker="_", color="#000000", label="bound", linestyle="none")
    sheet_.set_title(one.statement.quantity)
    sheet_.set_xlim(-0.5, len(places) - 0.5)
    names = [row.reading.label or "all" for row in one.rows]
    if max(map(len, names)) > LONGEST:
        names = [str(number) for number in range(1, len(names) + 1)]
        sheet_.set_xlabel("place, as in the table")
    sheet_.set_xticks(places, names)
    made = sheet_.as_json()
    if made is not None:
        made["y"] |= {"title": one.statement.quantity, "unit": one.statement.unit}
    return made


def _points(
    place: Sheet, label: str, color: str, xs: Sequence[int], readings: Sequence[Reading | None]
) -> None:
    known = [(x, one) for x, one in zip(xs, readings, strict=True) if one is not None]
    if not known:
        return
    at = [x for x, _ in known]
    halves = [r.interval.half if r.interval.n >= FEW else math.nan for _, r in known]
    means = [r.interval.mean for _, r in known]
    place.errorbar(at, means, halves, label=label, color=color, linestyle="none")
    runs_at = [(x, float(v)) for x, r in known for v in r.values if len(r.values) > 1]
    if runs_at:
        xs_, ys_ = zip(*runs_at, strict=True)
        place.plot(xs_, ys_, "", gid="every-run", marker=".", color=color)


# What the documentation keeps.


def publish(done: Done, folder: Path, name: str) -> Path:
    """`NAME.md` and a compact `NAME.json`, and the overview anew; gives the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{name}.json", _compact(done))
    path = folder / f"{name}.md"
    write_text(path, "\n".join(_markdown(done, name)).rstrip() + "\n")
    write_text(folder / "README.md", overview(folder))
    return path


def overview(folder: Path) -> str:
    """All that is published in the folder, what fails, and what is of former versions."""
    return "\n".join(_overview(folder)).rstrip() + "\n"


def _compact(done: Done) -> str:
    value = done.as_json()
    lines = [json.dumps(one, ensure_ascii=False) for one in value.pop("statements")]
    head = json.dumps(value, indent=1, ensure_ascii=False)[:-2]
    return head + ',\n "statements": [\n' + ",\n".join(lines) + "\n ]\n}\n"


def _markdown(done: Done, name: str) -> Iterator[str]:
    yield f"# {done.title}"
    yield ""
    yield f"Made by `{command(done)}`; [every number]({name}.json), [all controls](README.md)."
    yield ""
    for what, told in about(done):
        yield f"- {what}: {told}"
    yield ""
    yield work.rule()
    yield ""
    counts = done.counts()
    yield f"| {' | '.join(judge.VERDICTS)} |"
    yield f"|{'---|' * len(judge.VERDICTS)}"
    yield f"| {' | '.join(str(counts[verdict]) for verdict in judge.VERDICTS)} |"
    yield ""
    areas = list(dict.fromkeys(one.area.id for one in done.outcomes))
    for area in areas:
        mine = [one for one in done.outcomes if one.area.id == area]
        yield f"## {mine[0].area.title}"
        yield ""
        yield mine[0].area.setup
        yield ""
        yield "| statement | verdict | measured, at worst | bound | the others there |"
        yield "|---|---|---|---|---|"
        for one in mine:
            yield _line(one)
        yield ""
    yield "An asterisk marks what the bound is made of. Values at worst are means over the runs."
    yield ""
    yield "## Texts"
    yield ""
    for text_, cite in sheet().texts.items():
        yield f"- {text_}: {cite}"


def _line(one: Outcome) -> str:
    says = f"**{one.statement.id}** {one.statement.says} ({'; '.join(one.statement.cites)})"
    if one.worst is None or one.reason:
        return f"| {says} | {one.verdict} | {one.reason} | | |"
    worst = one.worst
    outside = sum(not row.reading.inside for row in one.rows)
    share = f"; outside at {outside} of {len(one.rows)}" if one.verdict == judge.FAIL else ""
    unsure = ", not sure" if worst.reading.crosses and worst.reading.interval.n >= FEW else ""
    cells = (
        says,
        f"**{one.verdict}**" if one.verdict == judge.FAIL else one.verdict,
        f"{one.statement.quantity}: {measured(worst, one.statement)}{unsure}{share}",
        bound(worst, one.statement) or why_bound(one.statement),
        references(worst, one.statement),
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _overview(folder: Path) -> Iterator[str]:
    found = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }
    yield "# Congestion controls, evaluated"
    yield ""
    yield (
        "What RFC 9743, RFC 5166, RFC 7928 and the tcpeval draft ask of a congestion control, "
        "asked of these. `clearpipe evaluate NAME` makes such a report of any control, also of one "
        "in Python ([how to](../../howto/evaluate.md))."
    )
    yield ""
    yield work.rule()
    yield ""
    yield f"| control | queue | scale | {' | '.join(judge.VERDICTS)} | fails |"
    yield f"|---|---|---|{'---|' * len(judge.VERDICTS)}---|"
    for name, one in found.items():
        counts = " | ".join(str(one["verdicts"][verdict]) for verdict in judge.VERDICTS)
        fails = [s["id"] for s in one["statements"] if s["verdict"] == judge.FAIL]
        queue = one["queue"]["kind"]
        told = ", ".join(fails) or "none"
        yield f"| [{name}]({name}.md) | {queue} | {one['scale']} | {counts} | {told} |"
    yield ""
    yield from _former(found)


def _former(found: Mapping[str, Any]) -> Iterator[str]:
    """Which pages had parts in their runs that have another version by now."""
    now = cp.versions()
    by_part: dict[str, list[str]] = {}
    for name, one in found.items():
        for part, version in one["parts"].items():
            if now.get(part, version) != version:
                told = f"{part} {version}, which is {now[part]} by now"
                by_part.setdefault(told, []).append(name)
    for told, names in sorted(by_part.items()):
        pages = "All of these pages" if len(names) == len(found) else ", ".join(names)
        yield f"- {pages}: runs with {told}."
