"""The command `clearpipe run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from clearpipe import complete, recording
from clearpipe.exits import reports_errors
from clearpipe.options import (
    RESULT,
    WHICH,
    Draw,
    Figure,
    File,
    LogFormat,
    Quiet,
    Rep,
    Seed,
    Set,
    UntilOption,
    Watch,
    check_figure,
    check_watch,
    instant,
)
from clearpipe.terminal import note, show, show_json

if TYPE_CHECKING:
    from clearpipe.api import Engine as EngineName
    from clearpipe.batch import Done, Job
    from clearpipe.until import Until

RECORDINGS = "Captures, traces and logs"
BRANCHES = "Branches"

Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The engine: packet (every packet), fluid (delay differential equations) or linux "
        "(this machine's TCP, in real time).",
        rich_help_panel=WHICH,
        autocompletion=complete.engines,
    ),
]
Reps = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Replications 0 to N-1, in parallel.", rich_help_panel=WHICH
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The result directory (with --reps: the directory of all replications). HASH "
        "identifies the resolved scenario, so each scenario gets its own directory.",
        show_default="results/NAME-HASH/seedS-repR",
        rich_help_panel=RESULT,
    ),
]
Report = Annotated[
    bool,
    typer.Option(
        "--report", help="Write report.html into the result directory.", rich_help_panel=RESULT
    ),
]
RunJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON; nothing is written to disk without --out.",
        rich_help_panel=RESULT,
    ),
]
MaxWall = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Stop each run after this much real time (10s, 5min) and keep what it has: the "
        "result's state is partial and the exit code 75; the same command runs it again.",
        rich_help_panel=RESULT,
    ),
]
BranchAt = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Run up to TIME, then continue from there once for each --variant.",
        rich_help_panel=BRANCHES,
    ),
]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:KEY=VALUE,...]",
        help="One way to continue after --branch-at; keys as in `show --resolved`. Repeatable.",
        rich_help_panel=BRANCHES,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Run again, replacing an existing result.", rich_help_panel=RESULT
    ),
]
Capture = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LINK",
        help="Write this link's packets to LINK.pcapng in the result directory; `all` means every "
        "link. Repeatable.",
        rich_help_panel=RECORDINGS,
    ),
]
CaptureHeaders = Annotated[
    bool,
    typer.Option(
        "--capture-headers",
        help="Leave payloads, which are zeros, out of captures.",
        rich_help_panel=RECORDINGS,
    ),
]
CaptureFrom = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Captures, trace and logs start here, such as 10s.",
        rich_help_panel=RECORDINGS,
    ),
]
CaptureTo = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Captures, trace and logs end here, such as 12s.",
        rich_help_panel=RECORDINGS,
    ),
]
Trace = Annotated[
    bool,
    typer.Option(
        "--trace",
        help="Write trace.pftrace (ui.perfetto.dev) into the result directory.",
        rich_help_panel=RECORDINGS,
    ),
]
TraceLimit = Annotated[
    str,
    typer.Option(metavar="SIZE", help="The trace ends at this size.", rich_help_panel=RECORDINGS),
]
Qlog = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FLOWS",
        help="Write the log of these flows' sources (qlog, as QUIC's tools read it) to "
        "flow-NUMBER.sqlog in the result directory: a group, a flow's number or `all`. Repeatable.",
        rich_help_panel=RECORDINGS,
    ),
]


@reports_errors("what runs with a result directory have is kept, marked partial")
def run(  # noqa: PLR0913 - one for each option
    file: File,
    *,
    engine: Engine = "packet",
    set_: Set = None,
    seed: Seed = None,
    rep: Rep = None,
    reps: Reps = None,
    until: UntilOption = None,
    out: Out = None,
    report: Report = False,
    figure: Figure = None,
    draw: Draw = None,
    capture: Capture = None,
    capture_headers: CaptureHeaders = False,
    capture_from: CaptureFrom = None,
    capture_to: CaptureTo = None,
    trace: Trace = False,
    trace_limit: TraceLimit = recording.TRACE_LIMIT,
    qlog: Qlog = None,
    max_wall: MaxWall = None,
    branch_at: BranchAt = None,
    variant: Variant = None,
    as_json: RunJson = False,
    force: Force = False,
    watch: Watch = False,
    log_format: LogFormat = "text",
    quiet: Quiet = False,
) -> None:
    """Run a scenario and print its results; with several replications, means and intervals.

    An existing result is shown instead of being computed again.
    """
    from clearpipe import batch

    if branch_at is not None or variant:
        _check_packet(engine, "--branch-at")
        alone: dict[str, object] = {
            "--reps": reps,
            "--until": until,
            "--figure": figure,
            "--report": report,
            "--max-wall": max_wall,
        }
        alone |= {"--capture": capture, "--trace": trace, "--qlog": qlog}
        _check_branch(branch_at, variant, alone)
        (trunk,), _ = batch.plan(file, set_ or [], seed, [rep or 0])
        _branch(trunk, branch_at or "", variant or [], out, as_json, force, quiet)
        return
    if report and as_json and out is None:
        raise typer.BadParameter("--report with --json needs --out")
    written = recording.Recording(
        tuple(capture or ()),
        capture_headers,
        trace,
        trace_limit,
        capture_from,
        capture_to,
        tuple(qlog or ()),
    )
    _check_recording(written, engine, nowhere=as_json and out is None)
    _check_replications(rep, reps, until)
    used = _engine(engine)
    check_watch(watch, engine)
    check_figure(figure)
    if report:
        from clearpipe.report import lab

        lab.address()
    (first,), warnings = batch.plan(file, set_ or [], seed, (rep or 0,), used)
    wanted = _until(until, first)
    several = reps is not None or wanted is not None
    _check_draw(figure, draw or [], first, several=(reps or 1) > 1 or wanted is not None)
    _say_warnings((), warnings, quiet)
    if written.wanted:
        written.check(first.source, first.sets)
    root = _root(first, out, as_json, several)
    wall = None if max_wall is None else instant("--max-wall", max_wall)
    first = replace(first, force=force, max_wall=wall, recording=written)

    def job(number: int) -> Job:
        one = replace(first, rep=number if several else first.rep)
        return replace(one, out=_place(one, out, root))

    done = batch.run_enough(job, reps or 1, wanted, quiet=quiet, watch=watch)
    say_stored(done, quiet)
    _say_warnings(done, warnings, quiet)
    if report:
        note(f"report: {_render(done, root)}", quiet)
    if figure is not None:
        _draw(done, figure, draw or [])
        note(f"figure: {figure}", quiet)
    _show_runs(done, wanted, as_json)
    _end_partial(done)


def _say_warnings(done: Sequence[Done], known: Sequence[str], quiet: bool) -> None:
    """Those of the scenario, or, once there are results, those that came with them."""
    for warning in () if done else known:
        note(f"note: {warning}", quiet)
    for one in done:
        for warning in one.result.warnings:
            if warning not in known:
                note(f"note: {one.job.out}: {warning}", quiet)


def _end_partial(done: Sequence[Done]) -> None:
    """Results that --max-wall cut short: a warning for each, and the exit code of their kind."""
    partial = [one for one in done if not one.result.complete]
    for one in partial:
        now = one.result.meta["simulated_s"]
        note(
            f"clearpipe: warning: {one.job.label}: stopped by --max-wall at {now:g} s; "
            "the result is partial"
        )
    if partial:
        raise typer.Exit(75)


def _check_branch(
    branch_at: str | None, variant: Sequence[str] | None, others: Mapping[str, object]
) -> None:
    if branch_at is None or not variant:
        raise typer.BadParameter("--branch-at and --variant go together")
    if given := [name for name, value in others.items() if value]:
        raise typer.BadParameter(f"{given[0]} does not go with --branch-at")


def _branch(  # noqa: PLR0913, PLR0917 - one for each option
    job: Job,
    branch_at: str,
    variants: Sequence[str],
    out: Path | None,
    as_json: bool,
    force: bool,
    quiet: bool,
) -> None:
    from clearpipe import batch, branching, overview, units

    at = instant("--branch-at", branch_at)
    root = out
    if out is None and not as_json:
        name = f"{batch.run_directory(job)}-branch{at:g}s"
        root = Path("results") / batch.scenario_directory(job) / name
    results = branching.run(
        job.source,
        at=at,
        variants=variants,
        seed=job.seed,
        rep=job.rep,
        set=job.sets,
        root=root,
        force=force,
    )
    if as_json:
        show_json({name: overview.as_json(result) for name, result in results.items()})
        return
    for name, result in results.items():
        meta = result.meta
        show(f"{name}, from {units.seconds(at)} on", overview.link_table(result))
        show(overview.group_table(result), overview.fingerprint(meta))
        if root is not None:
            show(f"  {units.seconds(meta['simulated_s'])} simulated; result in {root / name}")


def _check_replications(rep: int | None, reps: int | None, until: str | None) -> None:
    """Do the options that choose the replications go together?"""
    given = {"--rep": rep, "--reps": reps, "--until": until}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise typer.BadParameter(f"give one of {' and '.join(names)}")


def _until(text: str | None, job: Job) -> Until | None:
    """What --until says, if a run of the job can have that metric."""
    from clearpipe import replications
    from clearpipe import until as stopping

    if text is None:
        return None
    wanted = stopping.parse(text)
    replications.check(wanted, job.toml, job.source.name)
    return wanted


def _check_recording(written: recording.Recording, engine: str, nowhere: bool) -> None:
    """Do the options of captures, traces and logs go together?"""
    partly = written.trace or written.qlog or written.capture_from or written.capture_to
    if written.wanted and (engine != "linux" or partly):
        whole = "--trace, --qlog, --capture-from and --capture-to"
        _check_packet(engine, whole if engine == "linux" else f"--{written.key}")
    if written.wanted and nowhere:
        raise typer.BadParameter("--capture, --trace and --qlog with --json need --out")
    if written.headers_only and not written.capture:
        raise typer.BadParameter("--capture-headers needs --capture")
    windowed = written.capture_from is not None or written.capture_to is not None
    if windowed and not written.wanted:
        raise typer.BadParameter(
            "--capture-from and --capture-to need --capture, --trace or --qlog"
        )
    if written.trace_limit != recording.TRACE_LIMIT and not written.trace:
        raise typer.BadParameter("--trace-limit needs --trace")


def _engine(name: str) -> EngineName:
    from clearpipe.api import check_engine

    check_engine(name)
    return cast("EngineName", name)


def _check_packet(engine: str, what: str) -> None:
    if engine != "packet":
        _engine(engine)
        raise typer.BadParameter(f"{what}: only the packet engine has packets and their state")


def _root(job: Job, out: Path | None, as_json: bool, several: bool) -> Path | None:
    """The directory that holds the result directories; None if there is no such directory."""
    from clearpipe import batch

    if out is not None:
        return out if several else None
    return None if as_json else Path("results") / batch.scenario_directory(job)


def _place(job: Job, out: Path | None, root: Path | None) -> Path | None:
    from clearpipe import batch

    return out if root is None else root / batch.run_directory(job)


def say_stored(done: Sequence[Done], quiet: bool) -> None:
    """Which results were not computed now."""
    for one in done:
        if one.stored:
            note(f"{one.job.out}: was there already (--force runs it again)", quiet)


def _render(done: Sequence[Done], root: Path | None) -> Path:
    """Several results have their report beside them, a single one has it inside."""
    from clearpipe import report

    folder = root if root and len(done) > 1 else done[0].job.out
    assert folder is not None
    return report.render([one.result for one in done], folder / "report.html")


def _check_draw(figure: Path | None, names: Sequence[str], job: Job, *, several: bool) -> None:
    """Before any run: has it what --figure is to draw?"""
    if figure is None:
        if names:
            raise typer.BadParameter("--draw needs --figure")
        return
    from clearpipe.report import static

    chosen = static.subjects(names, job.toml)
    if several and any(one.kind != "number" for one in chosen):
        raise typer.BadParameter(
            "--figure draws series of one run: give --rep instead of several, or name numbers "
            "alone, such as --draw queue_mean_pkts"
        )


def _draw(done: Sequence[Done], figure: Path, names: Sequence[str]) -> None:
    from clearpipe.report import static

    static.draw([one.result for one in done], figure, names)


def _show_runs(done: Sequence[Done], wanted: Until | None, as_json: bool) -> None:
    from clearpipe import overview, units
    from clearpipe.replications import Replications

    results = [one.result for one in done]
    every, several = Replications(tuple(results), wanted), len(results) > 1
    if as_json:
        runs = [overview.as_json(result) for result in results]
        show_json({"runs": runs, **every.as_json()} if several else runs[0])
        return
    name = results[0].meta["name"]
    if several:
        show(overview.overview_table(results, name), every.table())
    else:
        show(name, overview.link_table(results[0]), overview.group_table(results[0]))
    for one in done:
        meta = one.result.meta
        place = f"; result in {one.job.out}" if one.job.out else ""
        show(f"seed {meta['seed']}, rep {meta['rep']}: {overview.fingerprint(meta)}")
        show(f"  {units.seconds(meta['simulated_s'])} simulated, {overview.speed(meta)}{place}")
