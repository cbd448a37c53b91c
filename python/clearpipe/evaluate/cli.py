"""The command `clearpipe evaluate`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from clearpipe import complete, units
from clearpipe.evaluate import AGAINST
from clearpipe.exits import reports_errors
from clearpipe.options import KEPT, STORE, Jobs, Json, LogFormat, MaxTime, Quiet, Retry, StoreDir
from clearpipe.options import time as time_of
from clearpipe.terminal import note, show, show_json

if TYPE_CHECKING:
    from clearpipe.evaluate.work import Done, Engine, Job

OUT = Path("results/evaluate")


@reports_errors(KEPT)
def evaluate(  # noqa: PLR0913 - one for each option
    protocol: Annotated[
        str,
        typer.Argument(
            metavar="PROTOCOL",
            help='A registered protocol, or a table in TOML: { kind = "bbr", offload = false }. '
            "With --code, the class's name in reports.",
            autocompletion=complete.protocols,
        ),
    ],
    *,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="QUEUE",
            help="The bottleneck's queue, a name or a table; default: the protocol's own routers, "
            "or drop-tail.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="The controllers to compare it with, separated by commas; default: "
            "cubic,bbr3,reno, and with --engine linux cubic,bbr,reno.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="packet, or linux: this machine's kernel, in real time and as root. See --area.",
        ),
    ] = "packet",
    code: Annotated[
        str | None,
        typer.Option(
            metavar="FILE:CLASS",
            help="Evaluate this Python class (docs/tutorials/prototypes.md); its code is run.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer places and two replications: a minute or two.")
    ] = False,
    area: Annotated[
        list[str] | None,
        typer.Option(metavar="AREA", help="Only this area, such as beside. Repeatable."),
    ] = None,
    store: StoreDir = STORE,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The report goes to DIR/NAME.")] = OUT,
    publish: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also write a Markdown page and compact JSON to this directory."
        ),
    ] = None,
    jobs: Jobs = None,
    max_time: MaxTime = None,
    retry: Retry = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Run nothing; judge the runs in the store.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with code 4 if a statement fails.")
    ] = False,
    as_json: Json = False,
    log_format: LogFormat = "text",
    quiet: Quiet = False,
) -> None:
    """Judge a congestion control by what the community asks of one.

    RFC 9743, RFC 5166, RFC 7928 and the tcpeval draft become statements. Each is measured beside
    other controllers in the same place and, if there is a bound, judged. You may interrupt it: the
    same command continues.
    """
    from clearpipe.evaluate import cast as casting
    from clearpipe.evaluate import report, work
    from clearpipe.sweep.runner import Options, Threads
    from clearpipe.sweep.store import Store

    where = _engine(engine)
    names = [name.strip() for name in _split(against or ",".join(AGAINST[where]))]
    seconds = None if max_time is None else time_of("--max-time", max_time, "50min")
    deadline = None if seconds is None else time.monotonic() + seconds
    job = work.Job(
        Store(store),
        casting.cast(protocol, queue, names, code),
        "quick" if quick else "full",
        Threads(jobs, deadline),
        Options(retry=retry),
        area or [],
        where,
        deadline,
    )
    _check_areas(job, area or [])
    _check_kernel(job)
    if not no_run:
        _run(job, quiet)
    done = work.judge(job)
    name = job.cast.subject.name + ("-linux" if where == "linux" else "")
    # Runs in real time are too many for all areas, so that some are a report of their own.
    if not area or where == "linux":
        path = report.write(done, out / name)
        note(f"report: {path}", quiet)
        if publish is not None:
            note(f"published: {report.publish(done, publish, name)}", quiet)
    if as_json:
        show_json(done.as_json())
    else:
        _tell(done)
    _end(done, check)


def _engine(name: str) -> Engine:
    from clearpipe.errors import ConfigError

    if name not in AGAINST:
        allowed = " or ".join(AGAINST)
        raise ConfigError(f"--engine: {name}: expected {allowed}", key="engine")
    return cast("Engine", name)


def _check_kernel(job: Job) -> None:
    """Refuses what has no run on the kernel at all, with the first reason."""
    from clearpipe.errors import ConfigError

    unable = [why for area in job.areas for why in area.unable.values()]
    if job.kernel is not None and unable and not job.figures:
        raise ConfigError(f"--engine linux: none of it runs there: {unable[0]}", key="engine")


def _split(text: str) -> list[str]:
    """Names with commas between; a table in braces may have commas of its own."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _check_areas(job: Job, wanted: list[str]) -> None:
    from clearpipe.errors import ConfigError
    from clearpipe.evaluate.data import areas

    known = [area.id for area in areas(job.cast.book())]
    for name in wanted:
        if name not in known:
            raise ConfigError(
                f"--area: {name}: unknown area (allowed: {', '.join(known)})", key="area"
            )


def _run(job: Job, quiet: bool) -> None:
    """Do the runs. Exit code 75 when out of time."""
    from clearpipe import progress
    from clearpipe.evaluate import work
    from clearpipe.sweep.runner import OutOfTime

    began = time.monotonic()
    left = work.left(job)
    if job.kernel is not None and left:
        told = f"{units.counted(left, 'run', 'runs')} in real time, one after another"
        minutes = sum(job.kernel.durations.values()) / 60
        note(f"{told}; all that were chosen take up to {minutes:.0f} minutes", quiet)
    with progress.board(quiet) as board:
        board.expect(left)
        try:
            tally = work.run(replace(job, board=board))
        except OutOfTime as error:
            note(f"clearpipe: {error}; the same command continues")
            raise typer.Exit(75) from None
    if tally.fresh:
        took = time.monotonic() - began
        note(f"{units.counted(tally.fresh, 'run', 'runs')} in {took:.0f} s", quiet)


def _tell(done: Done) -> None:
    from clearpipe.evaluate import judge, report
    from clearpipe.overview import new_table

    headings = ["statement", "says", "measured, at worst", "bound", "the others there", "verdict"]
    table = new_table(done.title, headings, left=6)
    for one in done.outcomes:
        worst = one.worst if not one.reason else None
        table.add_row(
            one.statement.id,
            one.statement.quantity or one.statement.says,
            report.measured(worst, one.statement) if worst else one.reason,
            report.bound(worst, one.statement) if worst else "",
            report.references(worst, one.statement) if worst else "",
            one.verdict,
        )
    show(table)
    counts = done.counts()
    told = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in judge.VERDICTS if counts[verdict]
    )
    print(f"{units.counted(counts.total(), 'statement', 'statements')}: {told}")


def _end(done: Done, check: bool) -> None:
    from clearpipe.evaluate.judge import FAIL

    failing = [one.statement.id for one in done.outcomes if one.verdict == FAIL]
    if check and failing:
        note(f"clearpipe: fails: {', '.join(failing)}")
        raise typer.Exit(4)
    if done.errors:
        note(f"clearpipe: {done.errors[0]}")
        raise typer.Exit(1)
    if done.missing:
        note(f"clearpipe: {done.missing} runs are missing; run it again")
        raise typer.Exit(75)
