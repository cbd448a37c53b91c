"""The command `clearpipe`. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from typer.models import CommandInfo

from clearpipe import complete, terminal, units
from clearpipe.exits import Terminated, reports_errors
from clearpipe.help_texts import App, Command, InGroups
from clearpipe.options import File, Json, Quiet, Rep, Seed, Set, instant

# What has modules of its own: they are imported for the command that is called, or for the help.
COMMANDS = {
    "run": "clearpipe.run_cli",
    "reproduce": "clearpipe.reproduce.cli",
    "evaluate": "clearpipe.evaluate.cli",
    "attack": "clearpipe.attack.cli",
    "new": "clearpipe.new_cli",
    "schema": "clearpipe.new_cli",
}
GROUPS = {
    "sweep": "clearpipe.sweep.cli",
    "theory": "clearpipe.theory.cli",
    "linux": "clearpipe.linux.cli",
}
IN_GROUPS = {"run"}
"""Commands whose help has its options in groups."""

app: App
"""The application with all commands."""

_own = App(
    "clearpipe",
    "Keep the pipe full and the queue empty: congestion control, simulated and compared.",
    epilog="Exit codes: 0 done, 1 failed, 2 usage, 3 invalid scenario, 4 outside tolerance, "
    "5 the system lacks something, 75 stopped by --max-wall (a partial result), 130 interrupted, "
    "143 terminated.",
)


def _on_terminate(_signal: int, _frame: object) -> None:
    raise Terminated


def _version(value: bool) -> None:
    if value:
        import clearpipe as cp
        from clearpipe import _core

        build = ", ".join(f"{key} {text}" for key, text in _core.build_info().items())
        print(f"clearpipe {cp.version()} (model {cp.model_version()}; {build})")
        raise typer.Exit


@_own.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Version, model version and build."
        ),
    ] = False,
) -> None:
    terminal.log_format = "text"
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _on_terminate)


@_own.command()
@reports_errors()
def explain(  # noqa: PLR0913 - one for each option
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A result directory or a scenario file.",
            autocompletion=complete.scenarios,
        ),
    ],
    *,
    flow: Annotated[int, typer.Option(min=0, metavar="N", help="The flow's number.")],
    at: Annotated[str, typer.Option(metavar="TIME", help="The instant, such as 12.4s.")],
    set_: Set = None,
    seed: Seed = None,
    rep: Rep = None,
    run_code: Annotated[
        bool,
        typer.Option(
            "--run-code",
            help="Allow running the Python classes that a result directory's scenario names.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the facts as JSON instead of words.")
    ] = False,
) -> None:
    """Show what a flow's sender and the routers on its path knew and did at an instant.

    The run is repeated up to that instant. A result directory has its own seed and replication; a
    scenario file takes --set, --seed and --rep, as for `run`.
    """
    from clearpipe import explain as telling

    when = instant("--at", at)
    facts = telling.explain(
        run, flow=flow, at=when, seed=seed, rep=rep or 0, set=set_ or [], run_code=run_code
    )
    if as_json:
        terminal.show_json(facts)
    else:
        terminal.show(telling.words(facts))


@_own.command()
@reports_errors()
def show(
    file: File,
    resolved: Annotated[
        bool,
        typer.Option(
            "--resolved",
            help="Print the file with every default written out, and the origin of each value: "
            "the file, a preset or the era.",
        ),
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
        terminal.show_json({"scenario": tomllib.loads(toml), "warnings": list(warnings)})
        return
    if resolved:
        sys.stdout.write(cp.resolve(source, set=set_ or [], origins=True).toml)
    else:
        from clearpipe import overview

        terminal.show(*overview.scenario_tables(tomllib.loads(toml)))
    for warning in warnings:
        terminal.note(f"note: {warning}")


def _figures() -> Sequence[Any]:
    from clearpipe.reproduce import cli, data

    return cli.rows(data.every(), cli.OUT, "quick")


@_own.command("list")
@reports_errors()
def list_(
    what: Annotated[
        Literal["protocols", "queues", "scenarios", "figures"],
        typer.Argument(metavar="WHAT", help="protocols, queues, scenarios or figures."),
    ],
    as_json: Json = False,
) -> None:
    """List protocols, queues (by role), example scenarios or figures of papers."""
    import clearpipe as cp
    from clearpipe import examples, overview

    sources: dict[str, tuple[Callable[[], Sequence[Any]], tuple[str, ...]]] = {
        "protocols": (cp.protocols, ("name", "summary", "presets", "recovery", "router", "source")),
        "queues": (cp.queues, ("name", "role", "summary", "presets", "source")),
        "scenarios": (examples.every, ("name", "about")),
        "figures": (_figures, ("id", "figure", "title", "claims", "state")),
    }
    source, columns = sources[what]
    # Feedback, then policies; by name. Figures are in their papers' order.
    entries = sorted(source(), key=lambda entry: (entry.get("role", ""), entry.get("name", "")))
    if as_json:
        terminal.show_json(entries)
        return
    rows = []
    for entry in entries:
        presets = ", ".join(preset["name"] for preset in entry.get("presets", ()))
        cells = {**entry, "presets": presets}
        rows.append([str(cells.get(column) or units.DASH) for column in columns])
    terminal.show(overview.Listing(columns, rows))


@_own.command()
@reports_errors()
def compare(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="A result directory, or a directory of several.")
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="The result to compare with A.")],
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

    Runs are paired by seed and replication; three or more pairs give the 95 % interval of the
    difference (paired t). Sides without a common seed and replication are compared as two samples
    (Welch's t), which does not allow --tol. The columns are those of the links table, and
    for groups goodput_min_bps, goodput_mean_bps, goodput_max_bps, jain_index_ratio, fct_mean_s,
    timeouts and so on. `abs` bounds |B - A|, `rel` bounds |B - A| / |A|; with both, either may
    hold. Every pair must be within the tolerance.
    """
    from clearpipe import compare as comparing
    from clearpipe.errors import ToleranceError

    comparison = comparing.compare(a, b, tolerance)
    if as_json:
        terminal.show_json(comparison.as_json())
    else:
        terminal.show(comparing.table(comparison))
    for side, alone in (("A", comparison.only_in_a), ("B", comparison.only_in_b)):
        if alone:
            terminal.note(f"note: only in {side}: {', '.join(alone)}")
    if report is not None:
        terminal.note(f"report: {comparing.report(comparison, a, b, report)}")
    if comparison.outside:
        names = ", ".join(f"{row.item} {row.column}" for row in comparison.outside)
        raise ToleranceError(f"outside tolerance: {names}")


@_own.command()
@reports_errors()
def cite(
    result: Annotated[
        Path | None,
        typer.Argument(metavar="RESULT", help="A result directory, or one of many."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how to cite Clearpipe, and a result with its fingerprint.

    With RESULT: the run, the command that repeats it, the fingerprint that proves it is the same,
    and the sources of the protocols and queues that it uses.
    """
    from clearpipe import cite as citing

    made = citing.software()
    runs = [citing.run_of(one) for one in citing.results(result)] if result else []
    if as_json:
        terminal.show_json(citing.as_json(made, runs))
    else:
        terminal.show(*citing.lines(made, runs))


@_own.command()
@reports_errors()
def doctor(
    as_json: Json = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Also measure the emulator: how accurate its delays are, and how fast it is.",
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
        terminal.show_json(checking.as_json(found))
    else:
        terminal.show(checking.table(found))
    missing = [check.name for check in found if check.required and not check.found]
    if missing:
        raise UnsupportedError(f"missing: {', '.join(missing)}")


@_own.command()
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
    from clearpipe.run_cli import say_stored

    done, path = showing.run(out, quiet)
    say_stored(done, quiet)
    terminal.show(overview.overview_table([one.result for one in done], showing.TITLE))
    terminal.show(str(path))


# Typer has no name for what all of its usage errors are.
USAGE = cast("type[Exception]", typer.BadParameter.__mro__[1])


def main() -> None:
    """The console script."""
    terminal.write_anything()
    # Most of what a command makes it needs until its end: to look through it for what may go, time
    # and again, is a twentieth of the report of a large sweep.
    gc.set_threshold(50_000)
    try:
        code = _called(sys.argv[1:])(standalone_mode=False)
    except USAGE as error:
        _show_usage(error)
        code = 2
    sys.exit(code)


def _called(words: Sequence[str]) -> App:
    """The application with the one command that the words call, or with all of them: importing all
    modules, and Typer's preparing of each option of each command, take longer than a short run."""
    name = "".join(words[:1])
    if name in COMMANDS:
        return _with([name], [], [])
    if name in GROUPS:
        return _with([], [name], [])
    own = [one for one in _own.registered_commands if _name(one) == name]
    return _with([], [], own) if own else _whole()


@cache
def _whole() -> App:
    return _with(COMMANDS, GROUPS, _own.registered_commands)


def _with(commands: Iterable[str], groups: Iterable[str], own: Iterable[CommandInfo]) -> App:
    made = copy(_own)
    made.registered_commands, made.registered_groups = [], []
    for name in commands:
        cls = InGroups if name in IN_GROUPS else Command
        made.command(name, cls=cls)(getattr(import_module(COMMANDS[name]), name))
    made.registered_commands += own
    for name in groups:
        made.add_typer(import_module(GROUPS[name]).app, name=name)
    return made


def _name(command: CommandInfo) -> str | None:
    # As Typer makes it of a function's.
    made = getattr(command.callback, "__name__", "").replace("_", "-")
    return command.name or made


def __getattr__(name: str) -> Any:
    if name == "app":
        return _whole()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _show_usage(error: Any) -> None:
    """Prints a usage error as Typer does, but what it quotes as a terminal may have it; a line of
    JSON where stderr is that."""
    # Options may not have been read when it comes.
    if ("--log-format", "json") in pairwise(sys.argv) or "--log-format=json" in sys.argv:
        terminal.log_format = "json"
        terminal.failed(error.format_message(), error.exit_code)
        return
    told = StringIO()
    error.show(told)
    usage, sign, message = told.getvalue().partition("\nError: ")
    print(usage + sign + terminal.printable(message), end="", file=sys.stderr)
