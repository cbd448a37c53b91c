"""The command `clearpipe`. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from clearpipe import recording
from clearpipe.api import MAX_REP, MAX_SEED
from clearpipe.exits import Terminated, reports_errors
from clearpipe.linux.cli import app as linux
from clearpipe.reproduce.cli import reproduce
from clearpipe.sweep.cli import app as sweeps
from clearpipe.theory.cli import app as theory

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from clearpipe.api import Engine as EngineName
    from clearpipe.batch import Done, Job

app = typer.Typer(
    name="clearpipe",
    help="Keep the pipe full and the queue empty: congestion control, simulated and compared.",
    epilog="Exit codes: 0 done, 1 failed, 2 usage, 3 invalid scenario, 4 outside tolerance, "
    "5 the system lacks something, 75 stopped by --max-wall (a partial result), 130 interrupted, "
    "143 terminated.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(sweeps, name="sweep")
app.add_typer(theory, name="theory")
app.command()(reproduce)
app.add_typer(linux, name="linux")

File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a key: topology.rate=45Mbps. Repeatable."
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The engine: packet (every packet), fluid (delay differential equations) or linux "
        "(this machine's TCP, in real time).",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=MAX_SEED, help="The experiment; default: the scenario's own."),
]
Rep = Annotated[
    int | None,
    typer.Option(min=0, max=MAX_REP, metavar="N", help="Replication N only.", show_default="0"),
]
Reps = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Replications 0 to N-1, in parallel.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The result directory (with --reps: the one that holds them). HASH stands for the "
        "resolved scenario, so that each has a place of its own.",
        show_default="results/NAME-HASH/seedS-repR",
    ),
]
Report = Annotated[
    bool, typer.Option("--report", help="Write report.html into the result directory.")
]
Figure = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the run to a .png, .svg or .pdf file.")
]
RunJson = Annotated[
    bool, typer.Option("--json", help="Print JSON; nothing is written to disk without --out.")
]
MaxWall = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Stop each run after so much real time (10s, 5min) and keep what it has: the result's "
        "state is partial, the exit code 75, and the same command runs it again.",
    ),
]
BranchAt = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Run up to TIME and go on from there as each --variant."),
]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:KEY=VALUE,...]",
        help="A way to go on from --branch-at; keys as in `show --resolved`. Repeatable.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Run again, over a result that is there.")]
Capture = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LINK",
        help="Write this link's packets to LINK.pcapng in the result directory; all for every "
        "link. Repeatable.",
    ),
]
CaptureHeaders = Annotated[
    bool, typer.Option("--capture-headers", help="Leave the payloads' zeros out of captures.")
]
CaptureFrom = Annotated[
    str | None, typer.Option(metavar="TIME", help="Captures and trace start here, such as 10s.")
]
CaptureTo = Annotated[
    str | None, typer.Option(metavar="TIME", help="Captures and trace end here, such as 12s.")
]
Trace = Annotated[
    bool,
    typer.Option(
        "--trace", help="Write trace.pftrace (ui.perfetto.dev) into the result directory."
    ),
]
TraceLimit = Annotated[str, typer.Option(metavar="SIZE", help="The trace ends at this size.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]


def _note(message: str, quiet: bool = False) -> None:
    if not quiet:
        print(message, file=sys.stderr)


def _console() -> Console:
    from rich.console import Console

    # A table that is piped somewhere is not folded to the width of a terminal.
    width = None if sys.stdout.isatty() else 220
    return Console(markup=False, highlight=False, emoji=False, width=width)


def _print(*parts: RenderableType) -> None:
    console = _console()
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def _print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, allow_nan=False, ensure_ascii=False)
    sys.stdout.write("\n")


def _on_terminate(_signal: int, _frame: object) -> None:
    raise Terminated


def _version(value: bool) -> None:
    if value:
        import clearpipe as cp
        from clearpipe import _core

        build = ", ".join(f"{key} {text}" for key, text in _core.build_info().items())
        print(f"clearpipe {cp.version()} (model {cp.model_version()}; {build})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Version, model version and build."
        ),
    ] = False,
) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _on_terminate)


@app.command()
@reports_errors("what runs with a result directory have is kept, marked partial")
def run(  # noqa: PLR0913 - one for each option
    file: File,
    *,
    engine: Engine = "packet",
    set_: Set = None,
    seed: Seed = None,
    rep: Rep = None,
    reps: Reps = None,
    out: Out = None,
    report: Report = False,
    figure: Figure = None,
    capture: Capture = None,
    capture_headers: CaptureHeaders = False,
    capture_from: CaptureFrom = None,
    capture_to: CaptureTo = None,
    trace: Trace = False,
    trace_limit: TraceLimit = recording.TRACE_LIMIT,
    max_wall: MaxWall = None,
    branch_at: BranchAt = None,
    variant: Variant = None,
    as_json: RunJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario and print what came of it.

    A result that is already there is shown instead of being computed again.
    """
    from clearpipe import batch

    if branch_at is not None or variant:
        _check_packet(engine, "--branch-at")
        alone: dict[str, object] = {
            "--reps": reps,
            "--figure": figure,
            "--report": report,
            "--max-wall": max_wall,
        }
        alone |= {"--capture": capture, "--trace": trace}
        _check_branch(branch_at, variant, alone)
        job = batch.plan(file, set_ or [], seed, [rep or 0])[0][0]
        _branch(job, branch_at or "", variant or [], out, as_json, force, quiet)
        return
    if report and as_json and out is None:
        raise typer.BadParameter("--report with --json needs --out")
    written = recording.Recording(
        tuple(capture or ()), capture_headers, trace, trace_limit, capture_from, capture_to
    )
    _check_recording(written, engine, nowhere=as_json and out is None)
    numbers = _replications(rep, reps, figure)
    used = _engine(engine)
    _check_figure(figure)
    jobs, warnings = batch.plan(file, set_ or [], seed, numbers, used)
    for warning in warnings:
        _note(f"note: {warning}", quiet)
    if written.wanted:
        written.check(jobs[0].source, jobs[0].sets)
    root = _root(jobs[0], out, as_json, several=reps is not None)
    wall = None if max_wall is None else _time("--max-wall", max_wall)
    jobs = [replace(job, out=_place(job, out, root), force=force, max_wall=wall) for job in jobs]
    jobs = [replace(job, recording=written) for job in jobs]
    done = batch.run_all(jobs, quiet=quiet)
    _say_stored(done, quiet)
    for one in done:
        for warning in one.result.warnings:
            if warning not in warnings:
                _note(f"note: {one.job.out}: {warning}", quiet)
    if report:
        _note(f"report: {_render(done, root)}", quiet)
    if figure is not None:
        _draw(done[0], figure)
    _show_runs(done, as_json)
    _end_partial(done)


def _end_partial(done: Sequence[Done]) -> None:
    """Results that --max-wall cut short: a warning for each, and the exit code of their kind."""
    partial = [one for one in done if not one.result.complete]
    for one in partial:
        now = one.result.meta["simulated_s"]
        print(
            f"clearpipe: warning: {one.job.label}: stopped by --max-wall at {now:g} s; "
            "the result is partial",
            file=sys.stderr,
        )
    if partial:
        raise typer.Exit(75)


def _time(option: str, text: str) -> float:
    """A time in seconds; a number without a unit is seconds."""
    import re

    units = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", text)
    if match is None or match[2] not in units:
        raise typer.BadParameter(f"{option} {text!r} is not a time such as 12.4s, 300ms or 5min")
    return float(match[1]) * units[match[2]]


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

    at = _time("--branch-at", branch_at)
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
        _print_json({name: overview.as_json(result) for name, result in results.items()})
        return
    for name, result in results.items():
        meta = result.meta
        _print(f"{name}, from {units.seconds(at)} on", overview.link_table(result))
        _print(overview.group_table(result), f"fingerprint {meta['fingerprint']}")
        if root is not None:
            _print(f"  {units.seconds(meta['simulated_s'])} simulated; result in {root / name}")


def _replications(rep: int | None, reps: int | None, figure: Path | None) -> Sequence[int]:
    """The replications to run, if the options that choose them go together."""
    if rep is not None and reps is not None:
        raise typer.BadParameter("give either --rep or --reps")
    if figure is not None and (reps or 1) > 1:
        raise typer.BadParameter("--figure draws one run: give --rep instead of --reps")
    return range(reps) if reps is not None else [rep or 0]


def _check_recording(written: recording.Recording, engine: str, nowhere: bool) -> None:
    """Do the options of captures and traces go together?"""
    partly = written.trace or written.capture_from or written.capture_to
    if written.wanted and (engine != "linux" or partly):
        what = "--trace, --capture-from and --capture-to" if engine == "linux" else "--capture"
        _check_packet(engine, what)
    if written.wanted and nowhere:
        raise typer.BadParameter("--capture and --trace with --json need --out")
    if written.headers_only and not written.capture:
        raise typer.BadParameter("--capture-headers needs --capture")
    windowed = written.capture_from is not None or written.capture_to is not None
    if windowed and not written.wanted:
        raise typer.BadParameter("--capture-from and --capture-to need --capture or --trace")
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


def _check_figure(figure: Path | None) -> None:
    if figure is not None:
        from clearpipe import style

        style.check(figure)


def _root(job: Job, out: Path | None, as_json: bool, several: bool) -> Path | None:
    """The directory that holds the result directories; None if there is no such directory."""
    from clearpipe import batch

    if out is not None:
        return out if several else None
    return None if as_json else Path("results") / batch.scenario_directory(job)


def _place(job: Job, out: Path | None, root: Path | None) -> Path | None:
    from clearpipe import batch

    return out if root is None else root / batch.run_directory(job)


def _say_stored(done: Sequence[Done], quiet: bool) -> None:
    for one in done:
        if one.stored:
            _note(f"{one.job.out}: was there already (--force runs it again)", quiet)


def _render(done: Sequence[Done], root: Path | None) -> Path:
    """Several results have their report beside them, a single one has it inside."""
    from clearpipe import report

    folder = root if root and len(done) > 1 else done[0].job.out
    assert folder is not None
    return report.render([one.result for one in done], folder / "report.html")


def _draw(done: Done, figure: Path) -> None:
    from clearpipe.report import static

    static.time_series(done.result, figure)


def _show_runs(done: Sequence[Done], as_json: bool) -> None:
    from clearpipe import overview, units

    results = [one.result for one in done]
    if as_json:
        every = [overview.as_json(result) for result in results]
        _print_json(every[0] if len(every) == 1 else every)
        return
    name = results[0].meta["name"]
    if len(results) == 1:
        _print(name, overview.link_table(results[0]), overview.group_table(results[0]))
    else:
        _print(overview.overview_table(results, name), overview.replication_table(results))
    for one in done:
        meta = one.result.meta
        _print(f"seed {meta['seed']}, rep {meta['rep']}: fingerprint {meta['fingerprint']}")
        place = f"; result in {one.job.out}" if one.job.out else ""
        _print(f"  {units.seconds(meta['simulated_s'])} simulated, {overview.speed(meta)}{place}")


@app.command()
@reports_errors()
def explain(  # noqa: PLR0913 - one for each option
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A result directory or a scenario file.")
    ],
    *,
    flow: Annotated[int, typer.Option(min=0, metavar="N", help="The flow's number.")],
    at: Annotated[str, typer.Option(metavar="TIME", help="The instant, such as 12.4s.")],
    set_: Set = None,
    seed: Seed = None,
    rep: Rep = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the facts as JSON instead of words.")
    ] = False,
) -> None:
    """Say what a flow's sender and the routers on its way knew and did at an instant.

    The run is repeated up to that instant. A result directory says itself which seed and
    replication it holds; a scenario file takes --set, --seed and --rep as `run` does.
    """
    from clearpipe import explain as telling

    when = _time("--at", at)
    facts = telling.explain(run, flow=flow, at=when, seed=seed, rep=rep or 0, set=set_ or [])
    if as_json:
        _print_json(facts)
    else:
        _print(telling.words(facts))


@app.command()
@reports_errors()
def show(
    file: File,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print the file with every default written out.")
    ] = False,
    set_: Set = None,
    as_json: Json = False,
) -> None:
    """Check a scenario and show what it means."""
    import tomllib

    import clearpipe as cp
    from clearpipe import api

    source = api.source(file)
    toml, warnings = cp.resolve(source, set=set_ or [])
    if "sweep" in tomllib.loads(source.text):
        from clearpipe.sweep import runner, spec

        # What is no metric of it is said here, too.
        runner.check(spec.parse(source, sets=set_ or []))
    if as_json:
        _print_json({"scenario": tomllib.loads(toml), "warnings": list(warnings)})
        return
    if resolved:
        sys.stdout.write(toml)
    else:
        from clearpipe import overview

        _print(*overview.scenario_tables(tomllib.loads(toml)))
    for warning in warnings:
        _note(f"note: {warning}")


def _figures() -> Sequence[Any]:
    from clearpipe.reproduce import cli, data

    return cli.rows(data.every(), cli.OUT, "quick")


@app.command("list")
@reports_errors()
def list_(
    what: Annotated[
        Literal["protocols", "queues", "scenarios", "figures"],
        typer.Argument(metavar="WHAT", help="protocols, queues, scenarios or figures."),
    ],
    as_json: Json = False,
) -> None:
    """List what there is: protocols, queues (by role), scenarios, figures of papers."""
    import clearpipe as cp
    from clearpipe import examples, overview

    sources: dict[str, tuple[Callable[[], Sequence[Any]], tuple[str, ...]]] = {
        "protocols": (cp.protocols, ("name", "summary", "presets", "recovery", "router", "source")),
        "queues": (cp.queues, ("name", "role", "summary", "presets", "source")),
        "scenarios": (examples.every, ("name", "about", "path")),
        "figures": (_figures, ("id", "figure", "title", "claims", "state")),
    }
    source, columns = sources[what]
    # Feedback, then policies; by name. Figures are in their papers' order.
    entries = sorted(source(), key=lambda entry: (entry.get("role", ""), entry.get("name", "")))
    if as_json:
        _print_json(entries)
        return
    out = overview.new_table("", columns, left=len(columns))
    for entry in entries:
        presets = ", ".join(preset["name"] for preset in entry.get("presets", ()))
        cells = {**entry, "presets": presets}
        out.add_row(*(str(cells.get(column) or "-") for column in columns))
    _print(out)


@app.command()
@reports_errors()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A result directory, or one of many.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="What to compare it with.")],
    tolerance: Annotated[
        Path | None,
        typer.Option(
            "--tol",
            metavar="FILE",
            help="Tolerances (TOML): [links] utilization_ratio = { abs = 0.01 }, "
            "[groups] goodput_mean_bps = { rel = 0.05 }. Exit code 4 if B is outside.",
        ),
    ] = None,
    as_json: Json = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report of both sides (HTML).")
    ] = None,
) -> None:
    """Compare two results or two sets of replications.

    Runs are paired by seed and replication; of two pairs or more the 95 % interval of the
    difference is told (paired t). Sides without a common seed and replication are two samples
    (Welch's t), and then --tol is refused. The columns are those of the links table, and for
    groups goodput_min_bps, goodput_mean_bps, goodput_max_bps, jain_index_ratio, fct_mean_s,
    timeouts and so on. `abs` bounds |B - A|, `rel` bounds |B - A| / |A|; with both, either may
    hold. Every pair must be within.
    """
    from clearpipe import compare as comparing
    from clearpipe.errors import ToleranceError

    comparison = comparing.compare(a, b, tolerance)
    if as_json:
        _print_json(comparison.as_json())
    else:
        _print(comparing.table(comparison))
    for side, alone in (("A", comparison.only_in_a), ("B", comparison.only_in_b)):
        if alone:
            _note(f"note: only in {side}: {', '.join(alone)}")
    if report is not None:
        _note(f"report: {comparing.report(comparison, a, b, report)}")
    if comparison.outside:
        names = ", ".join(f"{row.item} {row.column}" for row in comparison.outside)
        raise ToleranceError(f"outside tolerance: {names}")


@app.command()
@reports_errors()
def doctor(
    as_json: Json = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Measure the emulator, too: how exact its delays are, how fast it is.",
        ),
    ] = False,
) -> None:
    """Show what is installed and how to get the rest."""
    from clearpipe import doctor as checking
    from clearpipe.errors import UnsupportedError

    found = checking.checks()
    if measure:
        from clearpipe.linux import preflight

        found += preflight.measured()
    if as_json:
        _print_json(checking.as_json(found))
    else:
        _print(checking.table(found))
    missing = [check.name for check in found if check.required and not check.found]
    if missing:
        raise UnsupportedError(f"missing: {', '.join(missing)}")


@app.command()
@reports_errors()
def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results and report.html go.")
    ] = Path("demo"),
    quiet: Quiet = False,
) -> None:
    """Compare XCP, VCP and TCP in the papers' base case.

    Three runs of 120 simulated seconds, a table, and a report with charts.
    """
    from clearpipe import demo as showing
    from clearpipe import overview

    done, path = showing.run(out, quiet)
    _say_stored(done, quiet)
    _print(overview.overview_table([one.result for one in done], showing.TITLE))
    _print(str(path))


def main() -> None:
    """The console script."""
    app()
