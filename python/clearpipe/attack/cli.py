"""The command `clearpipe attack`."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearpipe import complete, units
from clearpipe.exits import reports_errors
from clearpipe.options import Jobs, Json, LogFormat, MaxTime, Quiet
from clearpipe.options import time as time_of
from clearpipe.terminal import note, show, show_json

if TYPE_CHECKING:
    from clearpipe.attack.search import Found
    from clearpipe.attack.space import Space

OUT = Path("results/attack")
EVERY_S = 60.0
"""Between two lines of a log."""

Goal = Literal["starve", "idle", "bloat", "all"]


@reports_errors("what was evaluated is kept, and the same command goes on")
def attack(  # noqa: PLR0913 - one for each option
    protocol: Annotated[
        str,
        typer.Argument(
            metavar="PROTOCOL",
            help="A registered protocol, or a table in TOML, as for `evaluate`; `known` runs "
            "published weaknesses.",
            autocompletion=complete.protocols,
        ),
    ],
    *,
    goal: Annotated[
        Goal,
        typer.Option(
            help="What to look for: a starving flow, an idle link, a bloated queue, or all three."
        ),
    ] = "all",
    queue: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="The bottleneck's queue, as for `evaluate`.")
    ] = None,
    code: Annotated[
        str | None,
        typer.Option(metavar="FILE:CLASS", help="Attack this Python class; its code is run."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The seed of the search and its scenarios.")
    ] = 1,
    evaluations: Annotated[
        int, typer.Option(min=1, metavar="N", help="Scenarios to try for each goal.")
    ] = 600,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Keep this dimension harmless. Repeatable."),
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FROM..TO", help="Set the bounds of a dimension: rtt=5ms..2s. Repeatable."
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the results.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Results go to DIR/NAME-GOAL-SEED.")
    ] = OUT,
    publish: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also write the scenario, a figure and a page to this directory."
        ),
    ] = None,
    jobs: Jobs = None,
    max_time: MaxTime = None,
    as_json: Json = False,
    log_format: LogFormat = "text",
    quiet: Quiet = False,
) -> None:
    """Search for the scenario that harms a congestion control most, and reduce it.

    The search space (docs/howto/attack.md) has rate, round trips, buffer, flows, jitter, losses,
    bunched ACKs, cross traffic and a varying capacity. The same seed finds the same scenario. You
    may interrupt it: the same command continues.
    """
    from clearpipe.attack import report, search
    from clearpipe.attack.space import GOALS
    from clearpipe.evaluate.cast import cast

    if protocol == "known":
        _known(as_json)
        return
    seconds = None if max_time is None else time_of("--max-time", max_time, "15min")
    deadline = None if seconds is None else time.monotonic() + seconds
    space, who = _space(fix or [], bound or []), cast(protocol, queue, (), code)
    name = label or who.subject.name
    found: list[Found] = []
    for one in GOALS if goal == "all" else (goal,):
        folder = out / f"{name}-{one}-{seed}"
        job = search.Job(who, one, space, seed, evaluations, folder, jobs or os.cpu_count() or 1)
        job.goes_on = lambda: deadline is None or time.monotonic() < deadline
        job.say = _sayer(quiet)
        try:
            made = search.run(job)
        except search.Stopped:
            note("clearpipe: out of time; the same command goes on")
            raise typer.Exit(75) from None
        path = report.write(made, folder, name)
        note(f"scenario: {path}", quiet)
        if publish is not None:
            note(f"published: {report.publish(made, publish, name)}", quiet)
        found.append(made)
    if as_json:
        show_json([report.as_json(one) for one in found])
    else:
        _tell(found)


def _known(as_json: bool) -> None:
    """Runs the published cases. Exit code 4 if one is not reproduced."""
    from clearpipe.attack import known, report
    from clearpipe.overview import new_table

    found = [known.check(case) for case in known.cases()]
    if as_json:
        show_json([one.as_json() for one in found])
    else:
        headings = ["case", "protocol", "goal", "value", "without its cause", "accepted", "shown"]
        table = new_table("Published weaknesses", headings, left=3)
        for one in found:
            case = one.case
            values = (report.number(one.value), report.number(one.without))
            bounds = f"≤ {case.at_most:g}, ≥ {case.without:g}"
            shown = "yes" if one.shown else "no"
            table.add_row(case.id, case.protocol, case.goal, *values, bounds, shown)
        show(table)
    if not all(one.shown for one in found):
        raise typer.Exit(4)


def _space(fix: list[str], bound: list[str]) -> Space:
    from clearpipe.attack.space import space

    return space(fix, dict(map(_bound, bound)))


def _bound(text: str) -> tuple[str, tuple[float, float]]:
    match = re.fullmatch(r"([\w-]+)=(.+?)\.\.(.+)", text)
    ends = [units.split(end) for end in match.groups()[1:]] if match else []
    known = [end[0] / 100 if end[1] == "%" else end[0] for end in ends if end is not None]
    if match is None or len(known) < 2:
        raise typer.BadParameter(f"{text!r} is not NAME=FROM..TO", param_hint="--bound")
    return match[1], (known[0], known[1])


def _sayer(quiet: bool) -> Callable[[str], None]:
    """Says what is new at most once a minute, and the last thing before a silence."""
    last, lock = [0.0], threading.Lock()

    def say(text: str) -> None:
        with lock:
            now = time.monotonic()
            if now - last[0] >= EVERY_S or "shrunk" in text:
                last[0] = now
                note(f"clearpipe: {text}", quiet)

    return say


def _tell(found: list[Found]) -> None:
    from clearpipe.attack import report
    from clearpipe.overview import new_table

    headings = ["goal", "value", "harmless", "scenarios", "what is left in it"]
    table = new_table(f"{found[0].who.label}, attacked", headings, left=1)
    for one in found:
        table.add_row(
            one.goal,
            report.number(one.value),
            report.number(one.harmless),
            str(one.evaluations),
            report.harm(one),
        )
    show(table)
    print("1 is best, 0 is worst; each scenario is beside its figure under --out")
