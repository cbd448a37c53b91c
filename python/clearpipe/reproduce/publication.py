"""What is kept of reproductions in the documentation: verdicts, small images, and a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe.atomic_files import write_text
from clearpipe.errors import ConfigError
from clearpipe.reproduce import again, claims, code, data, draw, verdicts
from clearpipe.reproduce.cli import told as told_verdicts
from clearpipe.reproduce.report import counted, published
from clearpipe.reproduce.work import Done

DPI = 80
READINGS = "readings.md"
"""Written by `--readings`, beside the pages."""
FAILING = (claims.DEVIATES, claims.CONTRADICTED)

Published = Mapping[str, Mapping[str, Any]]
"""What a figure's file of verdicts holds, by the figure's id."""

Row = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
"""A figure, one of its claims, a part of that."""


def publish(done: Sequence[Done], folder: Path) -> Path:
    """Add the figures to the directory, and write its pages anew: one of each paper, and one over
    all of them, whose path is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in done:
        # Without the traces there is nothing new to say: what was published stays.
        if not one.built or one.data.without:
            continue
        value = one.as_json()
        for claim, outcome in zip(value["claims"], one.outcomes, strict=True):
            for part, judged in zip(claim["parts"], outcome.judged, strict=True):
                part.update(published(judged, part))
        _write_verdicts(folder, one.figure, value)
        if one.drawn:
            draw.draw_small(one.data, folder / f"{one.figure.id}.png", DPI)
    return write_pages(folder)


def write_pages(folder: Path) -> Path:
    """The pages of what the directory has."""
    figures = data.every()
    found = _published(figures, folder)
    for name in data.PAPERS:
        _write(folder / f"{name}.md", _paper(data.paper(name), found))
    page = folder / "README.md"
    _write(page, _overview(figures, found, read_otherwise=(folder / READINGS).is_file()))
    return page


def judge_again(
    figures: Sequence[data.Figure], folder: Path, on: str
) -> tuple[list[str], list[str]]:
    """Judge what the directory has of the figures by the definitions of today, of the values that
    are there, and write its pages. In lines what was judged, and what has to be run instead."""
    judged, left, found = [], [], []
    known = _published(data.every(), folder)
    if not any(figure.id in known for figure in figures):
        raise ConfigError(f"--publish: {folder} has no verdicts of {figures[0].id}", key="publish")
    for figure in figures:
        if figure.id not in known:
            left.append(f"{figure.id}: {folder} has no verdicts of it")
            continue
        after, unknown = again.judge(figure, known[figure.id], on)
        found.append((figure, after))
        told = again.told(known[figure.id], after)
        judged += [
            f"{name}: {was if was == now else f'{was}; now {now}'}" for name, was, now in told
        ]
        left += [f"{name} stays as it was: {why}" for name, why in unknown.items()]
    # Not before all could be read and judged.
    for figure, after in found:
        _write_verdicts(folder, figure, after)
    write_pages(folder)
    return judged, left


def _write_verdicts(folder: Path, figure: data.Figure, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    write_text(folder / f"{figure.id}.json", text)


def _write(path: Path, lines: Iterator[str]) -> None:
    write_text(path, "\n".join(lines).rstrip() + "\n")


def _overview(
    figures: Sequence[data.Figure], found: Published, *, read_otherwise: bool
) -> Iterator[str]:
    """The page over all papers: counts, what fails, and where the rest is."""
    yield "# What of five papers holds here, and of a sixth"
    yield ""
    yield (
        "Each claim of the papers, judged by runs of their set-ups. This page counts the verdicts "
        "and lists what does not hold; each paper has a page of its own, with every figure, every "
        "claim, what was measured, the reasons, and the settings. The five are those that "
        "Clearpipe is about; ABC, a sixth, is counted apart."
    )
    yield ""
    yield from _made_by(figures, found)
    yield ""
    yield from _counts([one for one in figures if one.paper in data.FIVE], found)
    yield from _by_paper(figures, found)
    if read_otherwise:
        yield f"Which verdicts hang on settings that no paper says: [tables]({READINGS})."
        yield ""
    yield from _failing(
        "Statements that could not be confirmed",
        "The paper says so, the runs here do not, and nothing in the papers alone explains it. The "
        "reason, as far as it is known, and what was tried stand behind each link.",
        _of(found, claims.DEVIATES),
    )
    yield from _failing(
        "Statements that can be shown to be wrong",
        "They do not hold here, and a test shows that an inconsistency of the papers alone makes "
        "them fail.",
        _of(found, claims.CONTRADICTED),
    )
    yield from _not_run(figures, found)


def _paper(paper: data.Paper, found: Published) -> Iterator[str]:
    """A paper's page: figure by figure, claim by claim."""
    mine = [figure for figure in paper.figures if figure.id in found]
    yield f"# {paper.title} ({paper.name})"
    yield ""
    yield (
        "What each figure shows here, and whether what the paper says of it holds. "
        "[All papers](README.md); [how to run this](../../howto/reproduction.md)."
    )
    yield ""
    yield "| figure | what it shows | scale | verdicts |"
    yield "|---|---|---|---|"
    for figure in mine:
        one = found[figure.id]
        counts = told_verdicts(Counter(claim["verdict"] for claim in one["claims"]))
        title = _cell(figure.title)
        yield f"| [{figure.id}](#{figure.id}) | {title} | {one['scale']} | {counts} |"
    yield ""
    for figure in mine:
        yield from _figure(figure, found[figure.id])
    yield from _readings(mine)


def _readings(figures: Sequence[data.Figure]) -> Iterator[str]:
    """What the paper leaves open, and what is done here."""
    named = {one for figure in figures for one in figure.ambiguities}
    known = [(name, text) for name, text in data.notes()["ambiguity"].items() if name in named]
    if known:
        yield "## What the paper leaves open, and how it is read here"
        yield ""
    for name, text in known:
        yield f'- <a id="{name}"></a>**{name}**: {_sentence(text)}'


def _figure(figure: data.Figure, one: Mapping[str, Any]) -> Iterator[str]:
    yield f'## <a id="{figure.id}"></a>{figure.id}: {figure.title}'
    yield ""
    yield (
        f"Scale {one['scale']}, {_runs(one)}, model {one['model_version']}; "
        f"[values and settings]({figure.id}.json)."
    )
    yield ""
    if figure.setup:
        yield figure.setup
        yield ""
    if figure.ambiguities:
        yield f"Read as {', '.join(f'[{one}](#{one})' for one in figure.ambiguities)}."
        yield ""
    if figure.panels:
        yield f"![{figure.id}: {figure.title}]({figure.id}.png)"
        yield ""
    if changed := _otherwise(figure, one):
        paper, _, name = figure.id.partition("-")
        yield (
            f"The bounds, range, measure or set-up of {', '.join(changed)} have changed since: "
            f"`clearpipe reproduce {paper}:{name} --scale {one['scale']}` judges by those of today."
        )
        yield ""
    shared = _shared(one["claims"])
    if shared:
        yield _settings(shared)
        yield ""
    for claim in one["claims"]:
        yield from _claim(claim, shared)


def _shared(of_claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that all claims of a figure were judged with."""
    lists = [claim.get("settings", []) for claim in of_claims]
    return [one for one in lists[0] if all(one in other for other in lists)] if lists else []


def _settings(settings: Sequence[str]) -> str:
    title = "<summary>settings that differ from the paper or a default</summary>"
    return f"<details>{title}{'; '.join(settings)}.</details>"


def _claim(claim: Mapping[str, Any], shared: Sequence[str]) -> Iterator[str]:
    yield f'### <a id="{claim["id"]}"></a>{claim["id"]}: {claim["verdict"]}'
    yield ""
    where = f"; {claim['where']}" if claim["where"] else ""
    yield f"> {_sentence(claim['statement'])} ({claim['source']}; {claim['expected']}{where})"
    yield ""
    if claim.get("quantity"):
        yield f"What is measured: {_sentence(claim['quantity'])}"
        yield ""
    for part in claim["parts"]:
        yield f"- {_part(claim, part)}"
    if claim.get("note"):
        yield f"- {_sentence(claim['note'])}"
    if own := [setting for setting in claim.get("settings", []) if setting not in shared]:
        yield f"- {_settings(own)}"
    yield ""


def _part(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """A part's verdict, what was accepted and measured, and why; then all its values."""
    told = [f"**{part['verdict']}**"]
    if part["id"]:
        told.insert(0, f"{part['id']}.")
    if part["says"]:
        told.append(f"({part['says']})")
    words = [f"{' '.join(told)}:"]
    if part["verdict"] == claims.NOT_RUN:
        words.append(_sentence(part["reason"]))
    else:
        share = f" ({part['within']} of {part['of']} within)" if part["of"] > 1 else ""
        printed = f"printed {part['printed']}, " if part["printed"] else ""
        of = "".join(f"; `{name}`" for name in part.get("measured_by", []))
        words.append(
            f"{printed}accepted {part['accepted']}, measured {_measured(part)}{share}{of}."
        )
        words += [_sentence(told)] if (told := part.get("single_runs", "")) else []
        words += [_why(claim, part)] if part["verdict"] in FAILING else []
    words += [_sentence(part[key]) for key in ("tolerance", "note") if part.get(key)]
    if part["verdict"] != claims.NOT_RUN and part.get("points_left_out"):
        # What a verdict is not of stands beside it, and not only with its values.
        words.append(_sentence(part["range_run"]))
    if part["verdict"] in claims.GOOD and part.get("departs"):
        words.append(_sentence(part["departs"]))
    if on := part.get("judged_again"):
        words.append(f"Judged again on {on}, of the values that were published before.")
    return f"{' '.join(words)}{_values(part)}"


def _published(figures: Sequence[data.Figure], folder: Path) -> Published:
    """The verdicts that the directory has. Those of a form that judged claims as one are left out:
    the page tells their figures among those without a verdict."""
    found = {}
    for figure in figures:
        path = folder / f"{figure.id}.json"
        if path.is_file():
            one = verdicts.read(path)
            if one is not None:
                found[figure.id] = one
    return found


def _otherwise(figure: data.Figure, one: Mapping[str, Any]) -> list[str]:
    """The parts of claims whose published verdicts are by other definitions than today's, or of
    another set-up."""
    today = {
        claim.name_of(part): (figure.judged_by(part), code.of(figure, part))
        for claim in figure.claims
        for part in claim.assertions
    }
    same = one.get("setup") in (None, code.setup(figure, one["scale"]))
    found = []
    for claim in one["claims"]:
        for part in claim["parts"]:
            name = f"{claim['id']}{'.' if part['id'] else ''}{part['id']}"
            judged_by, how = today.get(name, ("", ""))
            if part["judged_by"] != judged_by or part.get("code", how) != how or not same:
                found.append(name)
    return found


def _made_by(figures: Sequence[data.Figure], found: Published) -> Iterator[str]:
    """The scales, versions of the model and definitions that the verdicts are from."""
    yield (
        "Written by `clearpipe reproduce ... --publish` from the verdicts beside this page; "
        "[how to use it](../../howto/reproduction.md), and what "
        "[labels](../../reference/labels.md) such as A21, I7 and c1 are. "
        "A figure's file of verdicts has each claim's parts with their values, and the settings "
        "that they were found with."
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
            "queues that are others now: they are done again, and what changed since (the "
            "repository's CHANGELOG.md says it), there or in set-ups, may change verdicts. "
            f"They are {', '.join(old)}."
        )
    changed = [
        f"[{name}]({figure.paper}.md#{name.partition('.')[0]})"
        for figure in figures
        if figure.id in found
        for name in _otherwise(figure, found[figure.id])
    ]
    if changed:
        yield (
            "The bounds, range, measure or set-up of some claims have changed since they were "
            "judged, so that their verdicts may change when their figures are run again: "
            f"{', '.join(changed)}."
        )


def _verdicts(
    figures: Sequence[data.Figure], found: Published
) -> Iterator[tuple[str, str, str, str]]:
    """(paper, basis, kind, verdict) of every claim; what is not published is not run."""
    for figure in figures:
        published = {c["id"]: c["verdict"] for c in found.get(figure.id, {"claims": []})["claims"]}
        for claim in figure.claims:
            verdict = published.get(claim.id, claims.NOT_RUN)
            yield figure.paper, claim.counted_under, claim.kind, verdict


def _counts(figures: Sequence[data.Figure], found: Published) -> Iterator[str]:
    """All claims first, then by what the papers found them by."""
    yield (
        "Claims are counted whole: a claim has the verdict of the worst part of its sentence. "
        "First the five papers' together, then each paper's."
    )
    yield ""
    yield f"| claims | {' | '.join(claims.VERDICTS)} | all |"
    yield f"|---|{'---|' * (len(claims.VERDICTS) + 1)}"
    rows = (row[1:] for row in _verdicts(figures, found))
    for name, counts in counted(rows).items():
        cells = " | ".join(str(counts[verdict]) for verdict in claims.VERDICTS)
        yield f"| {name} | {cells} | {counts.total()} |"
    yield ""


def _by_paper(figures: Sequence[data.Figure], found: Published) -> Iterator[str]:
    yield f"| paper | figures run | {' | '.join(claims.VERDICTS)} |"
    yield f"|---|---|{'---|' * len(claims.VERDICTS)}"
    for name in data.PAPERS:
        mine = [figure for figure in figures if figure.paper == name]
        counts = Counter(row[3] for row in _verdicts(mine, found))
        run = sum(figure.id in found for figure in mine)
        cells = " | ".join(str(counts[verdict]) for verdict in claims.VERDICTS)
        yield f"| [{data.paper(name).title}]({name}.md) ({name}) | {run} of {len(mine)} | {cells} |"
    yield ""


def _named(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    return f"{claim['id']}.{part['id']}" if part["id"] else str(claim["id"])


def _says(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    return f"{claim['statement']} ({part['says']})" if part["says"] else str(claim["statement"])


def _of(found: Published, verdict: str) -> list[Row]:
    return [
        (one, claim, part)
        for one in found.values()
        for claim in one["claims"]
        for part in claim["parts"]
        if part["verdict"] == verdict
    ]


def _link(one: Mapping[str, Any], claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    paper = str(one["figure"]).split("-", 1)[0]
    return f"[{_named(claim, part)}]({paper}.md#{claim['id']})"


def _failing(title: str, about: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield about
    yield ""
    if rows:
        yield "| claim | the paper says | accepted | measured |"
        yield "|---|---|---|---|"
    else:
        yield "None."
    for one, claim, part in rows:
        share = f" ({part['within']} of {part['of']} within)" if part["of"] > 1 else ""
        measured = f"{_measured(part)}{share}"
        cells = (_link(one, claim, part), _says(claim, part), part["accepted"], measured)
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""


def _why(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    told = [_sentence(text) for text in (part["reason"], part["contradiction"]) if text]
    if number := claim["inconsistency"]:
        told.append(f"{number}: {data.notes()['inconsistency'][number]}.")
    return " ".join(told or ["No reason is known yet."])


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
    if part["range_run"] and not part["points_left_out"]:
        words.append(_sentence(part["range_run"]))
    return f" <details><summary>{title}</summary>{' '.join(words)}</details>"


def _value(reading: Mapping[str, Any]) -> str:
    at = f" at {reading['label']}" if reading["label"] else ""
    flags = [] if reading["inside"] else ["outside"]
    flags += ["not sure"] if reading["crosses"] else []
    told = f" ({', '.join(flags)})" if flags else ""
    return f"{reading['measured']}{at}{told}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sentence(text: str) -> str:
    # iXCP begins a sentence as it is.
    first = text[:1] if text[1:2].isupper() else text[:1].upper()
    return f"{first}{text[1:].rstrip('.')}."


def _not_run(figures: Sequence[data.Figure], found: Published) -> Iterator[str]:
    missing = [figure.id for figure in figures if figure.id not in found]
    rows = _of(found, claims.NOT_RUN)
    yield "## Not run"
    yield ""
    if missing:
        yield f"Figures without a verdict here: {', '.join(missing)}."
        yield ""
    if rows:
        yield "| claim | the paper says | why it was not run |"
        yield "|---|---|---|"
    for one, claim, part in rows:
        cells = (_link(one, claim, part), _says(claim, part), _sentence(part["reason"]))
        yield f"| {' | '.join(map(_cell, cells))} |"
    if not rows and not missing:
        yield "None."


def _runs(one: Mapping[str, Any]) -> str:
    done, wanted = one["runs_done"], one["runs_wanted"]
    return f"{done} runs" if done == wanted else f"{done} of {wanted} runs"
