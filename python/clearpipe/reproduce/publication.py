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
from clearpipe.reproduce.report import interval_text, range_text
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
            worst = outcome.worst
            claim["measured"] = f"{interval_text(worst)}" if worst else ""
            claim["at"] = worst.label if worst else ""
            claim["accepted"] = range_text(worst.lo, worst.hi) if worst else ""
            del claim["readings"]
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        write_text(folder / f"{one.figure.id}.json", text)
        if one.figure.panels and (one.data.cells or not one.data.parts):
            draw.draw_small(one.data, folder / f"{one.figure.id}.png", DPI)
    page = folder / "README.md"
    write_text(page, "\n".join(_page(folder)).rstrip() + "\n")
    return page


def _page(folder: Path) -> Iterator[str]:
    figures = data.every()
    found: dict[str, dict[str, Any]] = {}
    for figure in figures:
        path = folder / f"{figure.id}.json"
        if path.is_file():
            found[figure.id] = json.loads(path.read_text(encoding="utf-8"))
    rows = [(one, claim) for one in found.values() for claim in one["claims"]]
    yield "# What of five papers holds here"
    yield ""
    yield from _made_by(found)
    yield ""
    yield from _counts(figures, found)
    yield from _statements(
        "Statements that could not be confirmed",
        "The paper says so, the runs here do not, and nothing in the papers explains it; the "
        "reason, as far as it is known, and what was tried.",
        [row for row in rows if row[1]["verdict"] == claims.DEVIATES],
    )
    yield from _statements(
        "Statements that can be shown to be wrong",
        "They do not hold here, and the papers' own numbers speak against them.",
        [row for row in rows if row[1]["verdict"] == claims.CONTRADICTED],
    )
    yield from _not_run(figures, found)
    yield from _figures(figures, found)


def _made_by(found: Mapping[str, Any]) -> Iterator[str]:
    """The scales and versions of the model that the verdicts are from."""
    yield (
        "Written by `clearpipe reproduce ... --publish` from the verdicts beside this page; "
        "[how to use it](../reproduction.md)."
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


def _counts(figures: Sequence[data.Figure], found: Mapping[str, Any]) -> Iterator[str]:
    yield f"| paper | figures run | {' | '.join(claims.VERDICTS)} |"
    yield f"|---|---|{'---|' * len(claims.VERDICTS)}"
    for name in data.PAPERS:
        mine = [figure for figure in figures if figure.paper == name]
        counts: Counter[str] = Counter()
        for figure in mine:
            one = found.get(figure.id)
            verdicts = [c["verdict"] for c in one["claims"]] if one else []
            counts.update(verdicts or [claims.NOT_RUN] * len(figure.claims))
        run = sum(figure.id in found for figure in mine)
        cells = " | ".join(str(counts[verdict]) for verdict in claims.VERDICTS)
        yield f"| {data.paper(name).title} ({name}) | {run} of {len(mine)} | {cells} |"
    yield ""


def _statements(
    title: str, about: str, rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield about
    yield ""
    if not rows:
        yield "None."
        yield ""
    for one, claim in rows:
        at = f" at {claim['at']}" if claim["at"] else ""
        yield (
            f"- **{claim['id']}** ({one['scale']}): {claim['statement']}. Accepted "
            f"{claim['accepted']}, measured {claim['measured']}{at}. {_why(claim)}"
        )
    if rows:
        yield ""


def _why(claim: Mapping[str, Any]) -> str:
    parts = [_sentence(claim["reason"])] if claim["reason"] else []
    if number := claim["contradicted_by"]:
        parts.append(f"{number}: {data.notes()['inconsistency'][number]}.")
    return " ".join(parts) or "No reason is known yet."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _not_run(figures: Sequence[data.Figure], found: Mapping[str, Any]) -> Iterator[str]:
    missing = [figure for figure in figures if figure.id not in found]
    claimless = [
        claim["id"]
        for one in found.values()
        for claim in one["claims"]
        if claim["verdict"] == claims.NOT_RUN
    ]
    yield "## Not run"
    yield ""
    if missing:
        yield f"Figures without a verdict here: {', '.join(figure.id for figure in missing)}."
        yield ""
    if claimless:
        yield f"Claims without a verdict here: {', '.join(claimless)}."
        yield ""
    if not missing and not claimless:
        yield "None."
        yield ""


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
            f"- {figure.id} ({one['scale']}, {one['runs_done']} runs, model "
            f"{one['model_version']}): {figure.title};{image} "
            f"[verdicts]({figure.id}.json): {told}"
        )
