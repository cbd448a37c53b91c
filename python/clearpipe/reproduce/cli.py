"""The command `clearpipe reproduce`."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clearpipe import complete, units
from clearpipe.atomic_files import write_text
from clearpipe.exits import reports_errors
from clearpipe.options import (
    KEPT,
    STORE,
    Executor,
    Jobs,
    Json,
    LogFormat,
    MaxTime,
    Quiet,
    Retry,
    Scheduler,
    Shard,
    StoreDir,
)
from clearpipe.options import shard as read_shard
from clearpipe.options import time as time_of
from clearpipe.sweep.executor_options import Place
from clearpipe.terminal import note, show, show_json

if TYPE_CHECKING:
    from clearpipe.reproduce.data import Figure
    from clearpipe.reproduce.work import Done, Job

OUT = Path("results/reproduce")

ScaleName = Literal["quick", "full"]


@reports_errors(KEPT)
def reproduce(  # noqa: PLR0913 - one for each option
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="all, papers (vcp) or figures (vcp:fig03). Omit it for a list.",
            show_default=False,
            autocompletion=complete.figures,
        ),
    ] = None,
    *,
    scale: Annotated[
        ScaleName, typer.Option(help="full: the paper's ranges and durations; quick: a subset.")
    ] = "quick",
    check: Annotated[
        bool,
        typer.Option("--check", help="Exit with code 4 if a claim that should hold does not."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=VALUE",
            help="Only these points: rtt=1ms, scheme=vcp or rtt=1ms,scheme=vcp; a value may be a "
            "comparison (> 1s). Repeatable. Prints numbers and writes no report.",
        ),
    ] = None,
    store: StoreDir = STORE,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where figures, verdicts and reports go.")
    ] = OUT,
    jobs: Jobs = None,
    shard: Shard = None,
    max_time: MaxTime = None,
    retry: Retry = False,
    executor: Executor = "local",
    scheduler: Scheduler = None,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Run nothing; judge the runs in the store.")
    ] = False,
    linux: Annotated[
        bool,
        typer.Option(
            "--linux",
            help="Also do the runs on this machine's kernel, for figures that have any: in real "
            "time, one after another, as root. Without it, such runs are judged from the store.",
        ),
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder with the recorded traces of cellular links that ABC's figures need. "
            "Without it they are not run.",
        ),
    ] = None,
    readings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Run and judge everything again under other readings of what no paper says "
            "(starts, access links, buffers, timeouts, delayed ACKs), one at a time: tables in "
            "Markdown.",
        ),
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write small images, verdicts and Markdown pages to this directory.",
        ),
    ] = None,
    judge_again: Annotated[
        bool,
        typer.Option(
            "--judge-again",
            help="Run nothing: judge what --publish DIR has by the bounds, ranges and words of "
            "today, of the values that are there, where what was run and measured is the same.",
        ),
    ] = False,
    as_json: Json = False,
    log_format: LogFormat = "text",
    quiet: Quiet = False,
) -> None:
    """Reproduce figures, tables and numbers of the papers, and judge their claims.

    Without WHAT, list the figures with their state. Interrupt it as you like: the same command
    continues. The last line counts the verdicts.
    """
    from clearpipe import style
    from clearpipe.errors import UnsupportedError
    from clearpipe.report import lab
    from clearpipe.reproduce import data, work
    from clearpipe.sweep.runner import Options
    from clearpipe.sweep.store import Store

    if not targets:
        _list(data.every(), out, scale, as_json)
        return
    if publish is not None and (lack := style.lacking()):
        raise UnsupportedError(f"--publish: {lack}")
    found = {figure.id: figure for target in targets for figure in data.chosen(target)}
    figures = list(found.values())
    if judge_again:
        others: dict[str, object] = {"--only": only, "--check": check, "--json": as_json}
        others |= {"--linux": linux, "--traces": traces, "--readings": readings}
        others |= {"--shard": shard, "--no-run": no_run}
        _alone("--judge-again", others)
        _judge_again(figures, publish)
        return
    part = read_shard(shard)
    seconds = None if max_time is None else time_of("--max-time", max_time, "50min")
    deadline = None if seconds is None else time.monotonic() + seconds
    job = work.Job(
        Store(store),
        scale,
        work.conditions(only or []),
        Place(executor, scheduler, jobs).executor(deadline),
        Options(part, retry),
        deadline,
        quiet,
        linux=linux,
        traces=traces,
    )
    _tell_untraced(job, figures)
    _check_only(job, figures)
    _check_linux(job, figures)
    if readings and (only or shard):
        raise typer.BadParameter("--readings cannot be combined with --only or --shard")
    lab.address()
    missing = 0 if no_run else _run(job, figures)
    if part is not None:
        return
    done = [work.judge(job, figure) for figure in figures]
    if not job.only:
        _write(done, "all" in targets, out, publish, quiet)
    if readings is not None:
        _read_otherwise(job, done, readings, run=not no_run)
    _tell(done, job, out, as_json)
    _end(done, missing, check)


def _alone(option: str, others: Mapping[str, object]) -> None:
    """Refuses other options that would have no effect."""
    if given := [name for name, value in others.items() if value]:
        raise typer.BadParameter(f"{option} cannot be combined with {given[0]}")


def _judge_again(figures: Sequence[Figure], folder: Path | None) -> None:
    """Exit code 75 if something has to be run instead."""
    from datetime import UTC, datetime

    from clearpipe.reproduce import publication

    if folder is None:
        raise typer.BadParameter("--judge-again needs --publish DIR, where the verdicts are")
    judged, left = publication.judge_again(figures, folder, f"{datetime.now(UTC):%Y-%m-%d}")
    for line in judged:
        print(line)
    for line in left:
        note(f"clearpipe: {line}")
    told = units.counted(len(judged), "verdict", "verdicts")
    print(f"{told} judged again; {units.counted(len(left), 'needs', 'need')} runs")
    if left:
        raise typer.Exit(75)


def _check_only(job: Job, figures: Sequence[Figure]) -> None:
    """Refuses conditions that no figure has a point for."""
    from clearpipe.errors import ConfigError

    if job.only and not any(job.sweeps(figure) for figure in figures):
        axes = {p.axis.name for f in figures for p in f.parts[job.scale] if p.axis} | {"scheme"}
        told = ", ".join(sorted(axes))
        raise ConfigError(f"--only: no point of {figures[0].id}; the axes are {told}", key="only")


def _check_linux(job: Job, figures: Sequence[Figure]) -> None:
    """Refuses --linux where nothing runs on a real kernel; says why nothing will."""
    from clearpipe.errors import ConfigError
    from clearpipe.reproduce import data

    def real(figure: Figure) -> bool:
        return any(part.real for part in figure.parts[job.scale])

    if not job.linux:
        return
    if not any(map(real, figures)):
        told = ", ".join(figure.id for figure in data.every() if real(figure))
        raise ConfigError(f"--linux: only {told} have runs on a real kernel", key="linux")
    if job.lacking:
        note(f"clearpipe: nothing runs on a real kernel: {job.lacking}")


def _tell_untraced(job: Job, figures: Sequence[Figure]) -> None:
    """Says which figures are not run, or not all of them, for want of traces."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        for why in dict.fromkeys(job.without(figure).values()):
            found.setdefault(why, []).append(figure.id)
    for why, ids in found.items():
        note(f"clearpipe: {', '.join(ids)}: not run: {why}", job.quiet)


def _run(job: Job, figures: Sequence[Figure]) -> int:
    """Do the runs; gives how many are missing. Exit code 75 when out of time."""
    from clearpipe import progress
    from clearpipe.reproduce import work
    from clearpipe.sweep.runner import OutOfTime

    missing = failed = 0
    with progress.board(job.quiet) as board:
        board.expect(work.left(job, figures))
        job = replace(job, board=board)
        for number, figure in enumerate(figures, 1):
            if not figure.parts[job.scale]:
                continue
            began = time.monotonic()
            board.about = f"{figure.id} ({number} of {len(figures)})"
            try:
                tally = work.run(job, figure)
            except OutOfTime as error:
                note(f"clearpipe: {error}; the same command continues")
                raise typer.Exit(75) from None
            missing += tally.missing
            failed += tally.failed
            if not job.quiet and tally.fresh:
                took = time.monotonic() - began
                told = units.counted(tally.fresh, "run", "runs")
                note(f"{figure.id}: {told} in {took:.0f} s")
    if failed:
        told = units.counted(failed, "run", "runs")
        note(f"clearpipe: {told} failed; the report says why")
    return missing


def _write(done: Sequence[Done], whole: bool, out: Path, publish: Path | None, quiet: bool) -> None:
    """Figures and verdicts, and a report of each paper and of all."""
    from clearpipe import style
    from clearpipe.reproduce import report, work

    folder = out / done[0].scale
    for one in done:
        if one.built:
            work.write(one, folder)
    if any(one.drawn for one in done) and (lack := style.lacking()):
        note(f"note: no PNG, SVG and PDF: {lack}", quiet)
    pages = report.render(done, folder, whole=whole)
    if not quiet:
        for page in pages:
            note(f"report: {page}")
    if publish is not None:
        from clearpipe.reproduce.publication import publish as write_pages

        page = write_pages(done, publish)
        if not quiet:
            note(f"published: {page}")


def _read_otherwise(job: Job, done: Sequence[Done], page: Path, *, run: bool) -> None:
    """The verdicts under every other reading, in a page of tables: after each reading, so that one
    that is stopped leaves what it has."""
    from clearpipe.reproduce import readings, runs

    found: dict[str, list[Any]] = {one.figure.id: [] for one in done}
    page.parent.mkdir(parents=True, exist_ok=True)
    stop: typer.Exit | None = None
    for reading in readings.READINGS:
        other = replace(job, reading=reading)
        concerned = [
            one.figure
            for one in done
            if any(runs.concerns(reading, one.figure, p) for p in one.figure.parts[job.scale])
        ]
        if not job.quiet:
            note(f"{reading.what}: {len(concerned)} figures")
        if run and stop is None:
            try:
                _run(other, concerned)
            except typer.Exit as ended:
                stop = ended
        for one in done:
            verdicts = _under(other, one.figure) if one.figure in concerned else None
            found[one.figure.id].append((reading, verdicts))
        lines = readings.head(job.scale)
        lines += readings.overview((_verdicts(one), found[one.figure.id]) for one in done)
        for one in done:
            title = f"{one.figure.id}: {one.figure.title}"
            lines += readings.table(title, _verdicts(one), found[one.figure.id])
        write_text(page, "\n".join(lines).rstrip() + "\n")
    if not job.quiet:
        note(f"readings: {page}")
    if stop is not None:
        raise stop


def _under(job: Job, figure: Figure) -> dict[str, str]:
    """The verdicts under the job's reading; none where runs are left to do."""
    from clearpipe.reproduce import work

    return {} if work.left(job, [figure]) else _verdicts(work.judge(job, figure))


def _verdicts(done: Done) -> dict[str, str]:
    return {outcome.claim.id: outcome.verdict for outcome in done.outcomes}


def _tell(done: Sequence[Done], job: Job, out: Path, as_json: bool) -> None:
    if as_json:
        value = {"figures": [one.as_json() for one in done], "verdicts": _counts(done)}
        show_json(value)
        return
    for one in done:
        if not one.built:
            continue
        if job.only:
            _points(one, out)
        if len(done) > 1:
            print(f"{one.figure.id:<24} {told(one.counts())}")
        else:
            _tell_claims(one)
    print(summary(done))


def _tell_claims(done: Done) -> None:
    """A row for each part of each claim, and why what does not hold does not."""
    from clearpipe.overview import new_table
    from clearpipe.reproduce import claims
    from clearpipe.reproduce.report import range_text, reading_text

    table = new_table(
        f"{done.figure.id}: {done.figure.title}",
        ["claim", "statement", "accepted", "measured", "verdict"],
        left=5,
    )
    parts = [(outcome.claim, judged) for outcome in done.outcomes for judged in outcome.judged]
    for claim, judged in parts:
        worst = judged.worst
        measured = reading_text(worst) if worst else units.DASH
        bounds = range_text(worst.lo, worst.hi) if worst else ""
        name = claim.name_of(judged.assertion).removeprefix(f"{done.figure.id}-")
        table.add_row(
            name, judged.assertion.says or claim.statement, bounds, measured, judged.verdict
        )
    show(table)
    for claim, judged in parts:
        if judged.verdict not in claims.GOOD and judged.reason:
            print(f"{claim.name_of(judged.assertion)}: {judged.reason}")


def _points(done: Done, out: Path) -> None:
    """The numbers of each point and the command that repeats one run by itself."""
    import shlex

    from clearpipe.overview import new_table
    from clearpipe.reproduce import work
    from clearpipe.reproduce.claims import Reading
    from clearpipe.reproduce.report import interval_text
    from clearpipe.reproduce.runs import told as told_of

    work.write_scenarios(done, out / done.scale)
    data = done.data
    # A metric of one part need not be one of another, whose series may not be recorded.
    asked: dict[str, set[str]] = {}
    panels = [(panel.metric, panel.part) for panel in done.figure.panels if panel.metric]
    measures = [(m.metric, m.part) for claim in done.figure.claims for m in claim.measures]
    for metric, part in panels + measures:
        asked.setdefault(metric, set()).update(data.named(part))
    heads = ["\n".join(filter(None, (name, told_of(name, data.cells)))) for name in asked]
    axis = next((part.axis.name for part in data.parts if part.axis), "point")
    table = new_table(f"{done.figure.id}: points", ["part", axis, "scheme", "n", *heads], left=3)
    for point in dict.fromkeys((c.part, c.label, c.scheme) for c in data.cells):
        cells = [c for c in data.cells if (c.part, c.label, c.scheme) == point]
        texts = []
        for name, parts in asked.items():
            mine = cells if point[0] in parts else []
            found = [v for c in mine if (v := data.number(c, name)) is not None]
            reading = Reading.of("", found, -math.inf, math.inf) if found else None
            texts.append(interval_text(reading) if reading else units.DASH)
        table.add_row(*point, str(len(cells)), *texts)
    show(table)
    if data.cells:
        cell = data.cells[0]
        sets = " ".join(f"--set {shlex.quote(one)}" for one in cell.sets)
        path = out / done.scale / done.figure.id / work.scenario_file(cell.part)
        real = any(part.real for part in data.parts if part.name == cell.part)
        engine = " --engine linux" if real else ""
        show(
            f"one of these runs by itself: clearpipe run {path} {sets} --rep {cell.rep}{engine} "
            "--report"
        )


def told(counts: Counter[str]) -> str:
    """Verdicts and their numbers in a line."""
    from clearpipe.reproduce import claims

    words = {
        claims.HOLDS: "hold as printed",
        claims.WITHIN: "hold within the stated tolerance or range",
        claims.DEVIATES: "deviate",
    }
    return ", ".join(
        f"{counts[verdict]} {words.get(verdict, verdict)}"
        for verdict in claims.VERDICTS
        if counts[verdict]
    )


def summary(done: Sequence[Done]) -> str:
    """The last line."""
    counts: Counter[str] = Counter()
    for one in done:
        counts += one.counts()
    return f"{counts.total()} claims: {told(counts)}"


def _counts(done: Sequence[Done]) -> dict[str, int]:
    from clearpipe.reproduce import claims

    counts: Counter[str] = Counter()
    for one in done:
        counts += one.counts()
    return {verdict: counts[verdict] for verdict in claims.VERDICTS}


def _end(done: Sequence[Done], missing: int, check: bool) -> None:
    failing = [outcome.claim.id for one in done for outcome in one.outcomes if outcome.fails]
    if check and failing:
        note(f"clearpipe: should hold and does not: {', '.join(failing)}")
        raise typer.Exit(4)
    if missing:
        note(f"clearpipe: {missing} runs are missing; run it again")
        raise typer.Exit(75)
    if any(one.data.errors for one in done):
        raise typer.Exit(1)


def rows(figures: Sequence[Figure], out: Path, scale: str) -> list[dict[str, Any]]:
    """Every figure with the number of its claims and its state."""
    return [
        {
            "id": figure.id,
            "figure": figure.figure,
            "title": figure.title,
            "claims": len(figure.claims),
            "state": _state(figure, out, scale),
        }
        for figure in figures
    ]


def _state(figure: Figure, out: Path, scale: str) -> str:
    from clearpipe.reproduce.claims import VERDICTS
    from clearpipe.reproduce.data import paper

    if not paper(figure.paper).is_built(figure):
        return "not built"
    try:
        text = (out / scale / figure.id / "verdicts.json").read_text(encoding="utf-8")
        counts = Counter(claim["verdict"] for claim in json.loads(text)["claims"])
    except (OSError, ValueError, KeyError):
        return "not run"
    if not counts.keys() <= set(VERDICTS):
        return "not run"
    return f"{told(counts)} ({scale})"


def _list(figures: Sequence[Figure], out: Path, scale: str, as_json: bool) -> None:
    from clearpipe.overview import new_table

    found = rows(figures, out, scale)
    if as_json:
        show_json(found)
        return
    table = new_table("", ["id", "title", "claims", "state"], left=2)
    for row in found:
        table.add_row(row["id"], row["title"], str(row["claims"]), row["state"])
    show(table)
    built = sum(row["state"] != "not built" for row in found)
    total = sum(row["claims"] for row in found)
    print(f"{len(found)} figures, tables and numbers, {built} built; {total} claims")
