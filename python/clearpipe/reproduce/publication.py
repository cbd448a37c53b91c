"""What is kept of reproductions in the documentation: verdicts, small images, and a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe.reproduce import claims, data, draw
from clearpipe.reproduce.cli import told as told_verdicts
from clearpipe.reproduce.report import (
    accepted_text,
    counted,
    interval_text,
    points_text,
    printed_text,
    unsure_text,
)
from clearpipe.reproduce.work import Done, write_text

DPI = 80


def publish(done: Sequence[Done], folder: Path) -> Path:
    """Add the figures to the directory, and write its page over all that it has."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in done:
        if not one.built:
            continue
        value = one.as_json()
        for claim, outcome in zip(value["claims"], one.outcomes, strict=True):
            for part, judged in zip(claim["parts"], outcome.judged, strict=True):
                worst = judged.worst
                part["measured"] = f"{interval_text(worst)}" if worst else ""
                part["at"] = worst.label if worst else ""
                part["within"] = sum(reading.inside for reading in judged.readings)
                part["of"] = len(judged.readings)
                part["accepted"] = accepted_text(judged)
                part["printed"] = printed_text(judged)
                part["range_run"] = points_text(judged)
                part["unsure"] = unsure_text(judged)
                of_part = [*part["readings"], *part["readings_beyond"]]
                readings = [*judged.readings, *judged.beyond]
                for told, reading in zip(of_part, readings, strict=True):
                    told["measured"] = interval_text(reading)
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        write_text(folder / f"{one.figure.id}.json", text)
        if one.figure.panels and (one.data.cells or not one.data.parts):
            draw.draw_small(one.data, folder / f"{one.figure.id}.png", DPI)
    page = folder / "README.md"
    write_text(page, "\n".join(_page(folder)).rstrip() + "\n")
    return page


def _page(folder: Path) -> Iterator[str]:
    figures = data.every()
    found = _published(figures, folder)
    rows = [
        (one, claim, part)
        for one in found.values()
        for claim in one["claims"]
        for part in claim["parts"]
    ]
    yield "# What of five papers holds here"
    yield ""
    yield from _made_by(found)
    yield ""
    yield from _counts(figures, found)
    yield from _by_paper(figures, found)
    yield from _statements(
        "Statements that could not be confirmed",
        "The paper says so, the runs here do not, and nothing in the papers alone explains it; the "
        "reason, as far as it is known, and what was tried.",
        [row for row in rows if row[2]["verdict"] == claims.DEVIATES],
    )
    yield from _statements(
        "Statements that can be shown to be wrong",
        "They do not hold here, and a test shows that an inconsistency of the papers alone makes "
        "them fail.",
        [row for row in rows if row[2]["verdict"] == claims.CONTRADICTED],
    )
    yield from _held(
        "Statements that hold within a tolerance or range",
        "What is accepted is more than what is printed, or the paper has a word and no number; or "
        "not all of the paper's range was run. "
        "Tolerances of whole claims were listed before anything was run; where a sentence was "
        "divided later, what is accepted of a part without a number is our reading of its words.",
        [row for row in rows if row[2]["verdict"] == claims.WITHIN],
    )
    yield from _held(
        "Statements that hold as printed",
        "With the paper's own bounds, over its whole range.",
        [row for row in rows if row[2]["verdict"] == claims.HOLDS],
    )
    yield from _not_run(figures, found)
    yield from _figures(figures, found)


def _published(figures: Sequence[data.Figure], folder: Path) -> dict[str, dict[str, Any]]:
    """The verdicts that the directory has. Those of a form that judged claims as one are left out:
    the page tells their figures among those without a verdict."""
    found = {}
    for figure in figures:
        path = folder / f"{figure.id}.json"
        if path.is_file():
            one = json.loads(path.read_text(encoding="utf-8"))
            if all("parts" in claim for claim in one["claims"]):
                found[figure.id] = one
    return found


def _made_by(found: Mapping[str, Any]) -> Iterator[str]:
    """The scales and versions of the model that the verdicts are from."""
    yield (
        "Written by `clearpipe reproduce ... --publish` from the verdicts beside this page; "
        "[how to use it](../reproduction.md). A figure's file of verdicts has each claim's parts "
        "with their values, and the settings that they were found with."
    )
    for key, what in (("scale", "scale"), ("model_version", "model version")):
        numbers = Counter(one[key] for one in found.values())
        told = [f"{what} {value} ({n} figures)" for value, n in sorted(numbers.items())]
        if len(numbers) == 1:
            yield f"All verdicts are of {what} {next(iter(numbers))}."
        elif told:
            yield f"Verdicts are of {', '.join(told[:-1])} and {told[-1]}: each figure says which."
    if old := [name for name, one in found.items() if cp.outdated(one)]:
        yield (
            f"Runs of {len(old)} figures were made by versions of the engine, of protocols or of "
            "queues that are others now: they are done again, and "
            "[what changed](../../CHANGELOG.md) since, there or in set-ups, may change verdicts. "
            f"They are {', '.join(old)}."
        )


def _verdicts(
    figures: Sequence[data.Figure], found: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    """(paper, basis, kind, verdict) of every claim; what is not published is not run."""
    for figure in figures:
        published = {c["id"]: c["verdict"] for c in found.get(figure.id, {"claims": []})["claims"]}
        for claim in figure.claims:
            verdict = published.get(claim.id, claims.NOT_RUN)
            yield figure.paper, claim.counted_under, claim.kind, verdict


def _counts(figures: Sequence[data.Figure], found: Mapping[str, Any]) -> Iterator[str]:
    """All claims first, then by what the papers found them by."""
    yield "Claims are counted whole: a claim has the verdict of the worst part of its sentence."
    yield ""
    yield f"| claims | {' | '.join(claims.VERDICTS)} | all |"
    yield f"|---|{'---|' * (len(claims.VERDICTS) + 1)}"
    rows = (row[1:] for row in _verdicts(figures, found))
    for name, counts in counted(rows).items():
        cells = " | ".join(str(counts[verdict]) for verdict in claims.VERDICTS)
        yield f"| {name} | {cells} | {counts.total()} |"
    yield ""


def _by_paper(figures: Sequence[data.Figure], found: Mapping[str, Any]) -> Iterator[str]:
    yield f"| paper | figures run | {' | '.join(claims.VERDICTS)} |"
    yield f"|---|---|{'---|' * len(claims.VERDICTS)}"
    for name in data.PAPERS:
        mine = [figure for figure in figures if figure.paper == name]
        counts = Counter(row[3] for row in _verdicts(mine, found))
        run = sum(figure.id in found for figure in mine)
        cells = " | ".join(str(counts[verdict]) for verdict in claims.VERDICTS)
        yield f"| {data.paper(name).title} ({name}) | {run} of {len(mine)} | {cells} |"
    yield ""


Row = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
"""A figure, one of its claims, a part of that."""


def _named(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    return f"{claim['id']}.{part['id']}" if part["id"] else str(claim["id"])


def _says(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    return f"{claim['statement']} ({part['says']})" if part["says"] else str(claim["statement"])


def _statements(title: str, about: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield about
    yield ""
    if not rows:
        yield "None."
        yield ""
    for one, claim, part in rows:
        share = f" ({part['within']} of {part['of']} within)" if part["of"] > 1 else ""
        yield (
            f"- **{_named(claim, part)}** ({one['scale']}): {_says(claim, part)}. Accepted "
            f"{part['accepted']}, measured {_measured(part)}{share}. {_why(claim, part)}"
            f"{_values(part)}"
        )
    if rows:
        yield ""


def _why(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    told = [_sentence(text) for text in (part["reason"], part["contradiction"]) if text]
    if number := claim["inconsistency"]:
        told.append(f"{number}: {data.notes()['inconsistency'][number]}.")
    told = told or ["No reason is known yet."]
    return " ".join([*told, *map(_sentence, _notes(claim, part))])


def _notes(claim: Mapping[str, Any], part: Mapping[str, Any]) -> list[str]:
    """What else is told of them; of a file that is older than notes nothing."""
    return [one["note"] for one in (claim, part) if one.get("note")]


def _measured(part: Mapping[str, Any]) -> str:
    """The worst value, where it is, and whether that decides."""
    at = f" at {part['at']}" if part["at"] else ""
    unsure = f", {part['unsure']}" if part.get("unsure") else ""
    return f"{part['measured']}{at}{unsure}"


def _values(part: Mapping[str, Any]) -> str:
    """All values, to be opened; none of a file that is older than their publication."""
    told = [_value(reading) for reading in part.get("readings", [])]
    if not told:
        return ""
    title = f"{len(told)} values" if len(told) > 1 else "1 value"
    words = [f"{'; '.join(told)}."]
    if beyond := part["readings_beyond"]:
        words.append(f"In the printed range besides: {'; '.join(map(_value, beyond))}.")
    words += [_sentence(part["range_run"])] if part["range_run"] else []
    return f" <details><summary>{title}</summary>{' '.join(words)}</details>"


def _value(reading: Mapping[str, Any]) -> str:
    at = f" at {reading['label']}" if reading["label"] else ""
    flags = [] if reading["inside"] else ["outside"]
    flags += ["not sure"] if reading["crosses"] else []
    told = f" ({', '.join(flags)})" if flags else ""
    return f"{reading['measured']}{at}{told}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _held(title: str, about: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield about
    yield ""
    if not rows:
        yield "None."
        yield ""
        return
    yield "| claim | scale | printed | accepted | measured | what differs, how words are read |"
    yield "|---|---|---|---|---|---|"
    for one, claim, part in rows:
        differs = [part["tolerance"], *_notes(claim, part)]
        cells = (
            _named(claim, part),
            one["scale"],
            part["printed"] or claim["expected"],
            part["accepted"],
            f"{_measured(part)}{_values(part)}",
            " ".join(_sentence(text) for text in differs if text),
        )
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _not_run(figures: Sequence[data.Figure], found: Mapping[str, Any]) -> Iterator[str]:
    missing = [figure for figure in figures if figure.id not in found]
    parts = [
        (claim, part)
        for one in found.values()
        for claim in one["claims"]
        for part in claim["parts"]
        if part["verdict"] == claims.NOT_RUN
    ]
    yield "## Not run"
    yield ""
    if missing:
        yield f"Figures without a verdict here: {', '.join(figure.id for figure in missing)}."
        yield ""
    for claim, part in parts:
        yield f"- **{_named(claim, part)}**: {_says(claim, part)}. {_sentence(part['reason'])}"
    if parts or not missing:
        yield "" if parts else "None."
        yield ""


def _runs(one: Mapping[str, Any]) -> str:
    done, wanted = one["runs_done"], one["runs_wanted"]
    return f"{done} runs" if done == wanted else f"{done} of {wanted} runs"


def _figures(figures: Sequence[data.Figure], found: Mapping[str, Any]) -> Iterator[str]:
    yield "## Figures"
    yield ""
    for figure in figures:
        one = found.get(figure.id)
        if one is None:
            continue
        counts = Counter(claim["verdict"] for claim in one["claims"])
        told = told_verdicts(counts)
        image = f" [image]({figure.id}.png)," if figure.panels else ""
        yield (
            f"- {figure.id} ({one['scale']}, {_runs(one)}, model "
            f"{one['model_version']}): {figure.title};{image} "
            f"[verdicts]({figure.id}.json): {told}"
        )
