"""The command `clearpipe sweep`."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from clearpipe import complete, units
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
    Seed,
    Set,
    Shard,
    StoreDir,
    SweepFile,
    UntilOption,
    Watch,
    check_watch,
    group,
)
from clearpipe.options import shard as read_shard
from clearpipe.options import time as time_of
from clearpipe.sweep.executor_options import Place
from clearpipe.terminal import note, show, show_json

if TYPE_CHECKING:
    from clearpipe.sweep.progress import Watching
    from clearpipe.sweep.results import Table
    from clearpipe.sweep.runner import Executor, Options, Tally
    from clearpipe.sweep.spec import Spec
    from clearpipe.sweep.store import Store

app = group("sweep", "Run a scenario many times, as its file's [sweep] says.")

Reps = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Replications, overriding the file. More can be added later; existing runs are kept.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The engine: packet or fluid.",
        autocompletion=complete.engines_of_sweeps,
    ),
]


def _spec(
    file: Path,
    set_: list[str] | None,
    seed: int | None,
    reps: int | None,
    until: str | None,
    engine: str,
) -> Spec:
    from clearpipe import api
    from clearpipe.sweep import spec

    api.check_engine(engine)
    used = cast("api.Engine", engine)
    if reps is not None and until is not None:
        raise typer.BadParameter("use either --reps or --until")
    return spec.load(file, sets=set_ or [], seed=seed, reps=reps, until=until, engine=used)


@app.command()
@reports_errors(KEPT)
def run(  # noqa: PLR0913 - one for each option
    file: SweepFile,
    *,
    set_: Set = None,
    seed: Seed = None,
    reps: Reps = None,
    until: UntilOption = None,
    engine: Engine = "packet",
    store: StoreDir = STORE,
    jobs: Jobs = None,
    shard: Shard = None,
    max_time: MaxTime = None,
    retry: Retry = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate time, memory and disk, and do nothing.")
    ] = False,
    executor: Executor = "local",
    scheduler: Scheduler = None,
    watch: Watch = False,
    log_format: LogFormat = "text",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Do the missing runs. Interrupt it as you like: the same command continues."""
    from clearpipe.sweep import progress
    from clearpipe.sweep.runner import Options

    wanted = _spec(file, set_, seed, reps, until, engine)
    check_watch(watch, engine)
    place = Place(executor, scheduler, jobs)
    options = Options(read_shard(shard), retry)
    limit = None if max_time is None else time_of("--max-time", max_time, "50min")
    if dry_run:
        _forecast(wanted, store, place.width(), options, as_json, quiet)
        return
    with progress.watcher(quiet, wanted, watch) as watcher:
        tally = _run(wanted, store, place, options, limit, watcher)
    if tally.fresh and not quiet:
        _note_sameness(wanted, store)
    _tell(tally, as_json)


def _run(
    spec: Spec,
    store: Path,
    place: Place,
    options: Options,
    max_time_s: float | None,
    watcher: Watching,
) -> Tally:
    from clearpipe.sweep import runner
    from clearpipe.sweep.store import Store

    deadline = None if max_time_s is None else time.monotonic() + max_time_s
    executor = place.executor(deadline)
    try:
        return runner.Sweep(spec, Store(store), executor, options, watcher).run()
    except runner.OutOfTime as error:
        note(f"clearpipe: {error}; the same command continues")
        raise typer.Exit(75) from None


def _tell(tally: Tally, as_json: bool) -> None:
    """What became of the runs; exit code 75 if some are missing, 1 if some failed."""
    for damage in tally.damaged:
        note(f"clearpipe: {damage.path}: {damage.reason}; done again")
    if as_json:
        show_json({**asdict(tally), "missing": tally.missing})
    else:
        print(_told(tally))
    if tally.failed:
        told = units.counted(tally.failed, "run", "runs")
        note(f"clearpipe: {told} failed; `sweep status` says why")
    if tally.waiting:
        told = units.counted(tally.waiting, "point waits", "points wait")
        note(f"clearpipe: {told} for runs of other shards or runners; run it again then")
    elif tally.missing == tally.elsewhere > 0:
        note("clearpipe: nothing else is missing; run it again when that runner has ended")
    elif tally.missing:
        told = units.counted(tally.missing, "run is", "runs are")
        note(f"clearpipe: {told} missing; run it again")
    if tally.waiting or tally.missing:
        raise typer.Exit(75)
    if tally.failed:
        raise typer.Exit(1)


def _note_sameness(spec: Spec, place: Path) -> None:
    from clearpipe.sweep import page, runner
    from clearpipe.sweep.store import Store

    if same := runner.not_random(spec, Store(place)):
        note(f"clearpipe: note: {page.not_random(same)}")


def _told(tally: Tally) -> str:
    parts = [f"{tally.done} of {tally.wanted} runs done ({tally.fresh} now)"]
    if tally.failed:
        parts.append(f"{tally.failed} failed")
    if tally.elsewhere:
        parts.append(f"{tally.elsewhere} left to another runner that works on them")
    return ", ".join(parts)


def _forecast(
    spec: Spec, place: Path, jobs: int, options: Options, as_json: bool, quiet: bool
) -> None:
    from clearpipe.progress import span
    from clearpipe.sweep import forecast
    from clearpipe.sweep.store import Store

    def said(text: str) -> None:
        if not quiet and sys.stderr.isatty():
            note(text)

    found = forecast.forecast(spec, Store(place), jobs, options, said)
    if as_json:
        show_json(found.as_json())
        return
    points = f"{len(spec.points)} points"
    failed = f", {found.failed} failed" if found.failed else ""
    print(f"runs     {found.runs} ({points}), {found.done} done{failed}, {found.missing} to do")
    if spec.until is not None:
        print(f"         with {spec.until.min_reps} replications; `until` may ask for more")
    if found.invalid_points:
        told = "point is no valid scenario", "points are no valid scenarios"
        print(f"         {units.counted(found.invalid_points, *told)}")
    events, hops = (units.number(n, 3) for n in (found.events, found.packet_hops))
    print(f"events   {events}, packet-hops {hops}")
    cores = f"{found.jobs} at a time ({span(found.core_s)} on one core)"
    print(f"time     {span(found.wall_s)} with {cores}")
    print(f"memory   up to {units.size(found.memory_bytes)}, measured in trial runs")
    print(f"disk     {units.size(found.disk_bytes)}")


@app.command()
@reports_errors(KEPT)
def status(  # noqa: PLR0913 - one for each option
    file: SweepFile,
    *,
    set_: Set = None,
    seed: Seed = None,
    reps: Reps = None,
    until: UntilOption = None,
    engine: Engine = "packet",
    store: StoreDir = STORE,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its seal.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how many runs are done, failed and missing, and why runs failed."""
    _status(_spec(file, set_, seed, reps, until, engine), store, verify, as_json)


def _status(spec: Spec, place: Path, verify: bool, as_json: bool) -> None:
    from clearpipe.sweep import runner
    from clearpipe.sweep.page import other_models
    from clearpipe.sweep.store import Store

    store = Store(place)
    if place.exists():
        store.identify()
    others = runner.of_other_models(spec, store)
    tally = runner.standing(spec, store)
    errors = _error_counts(spec, store)
    if verify:
        tally.damaged = [d for one in sorted(store.present()) if (d := store.damage(one))]
    if as_json:
        show_json(
            {**asdict(tally), "missing": tally.missing, "errors": errors, "other_models": others}
        )
    else:
        left = f"{tally.failed} failed, {tally.missing} missing"
        print(f"{tally.done} of {tally.wanted} runs done, {left}")
        for message, number in errors.items():
            print(f"  {number} x {message}")
        for text in other_models(others):
            print(f"  {text}")
        for damage in tally.damaged:
            print(f"  {damage.path}: {damage.reason}")
    if verify and tally.damaged:
        raise typer.Exit(1)


def _error_counts(spec: Spec, store: Store) -> dict[str, int]:
    from clearpipe.sweep import runner

    failed = store.failed()
    found: dict[str, int] = {}
    for one in runner.asked(spec, store):
        if isinstance(one, tuple):
            message, number = str(one[1]), runner.invalid_reps(spec)
        elif one.identity in failed:
            message, number = str(failed[one.identity].get("error", "")), 1
        else:
            continue
        found[message] = found.get(message, 0) + number
    return found


@app.command()
@reports_errors(KEPT)
def report(  # noqa: PLR0913 - one for each option
    file: SweepFile,
    *,
    set_: Set = None,
    seed: Seed = None,
    reps: Reps = None,
    until: UntilOption = None,
    engine: Engine = "packet",
    store: StoreDir = STORE,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where figures, runs.csv and report.html go.",
            show_default="results/NAME-sweep",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write an HTML page and runs.csv and, with matplotlib, the figures of [plot]."""
    _report(_spec(file, set_, seed, reps, until, engine), store, out, as_json, quiet)


def _report(spec: Spec, place: Path, out: Path | None, as_json: bool, quiet: bool) -> None:
    from clearpipe import style
    from clearpipe.sweep import page as reporting
    from clearpipe.sweep import results
    from clearpipe.sweep.store import Store

    store = Store(place)
    store.identify()
    table = results.read(spec, store)
    _check_some(table, place)
    folder = out or Path("results") / f"{_plain(spec.name)}-sweep"
    page, drawn = reporting.render(table, folder)
    if not quiet:
        for text in reporting.notes(table):
            note(f"note: {text}")
        if table.spec.plots and (lack := style.lacking()):
            note(f"note: no PNG, SVG and PDF: {lack}")
    if as_json:
        show_json(_as_json(table))
        return
    _print_points(table)
    for path in [*drawn, page]:
        print(path)


@app.command()
@reports_errors(KEPT)
def export(  # noqa: PLR0913 - one for each option
    file: SweepFile,
    *,
    set_: Set = None,
    seed: Seed = None,
    reps: Reps = None,
    until: UntilOption = None,
    engine: Engine = "packet",
    store: StoreDir = STORE,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the .parquet files go.",
            show_default="results/NAME-export",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write all runs as Parquet for DuckDB, polars and pandas: runs, groups, flows, links."""
    from clearpipe.sweep import dataset, results
    from clearpipe.sweep.store import Store

    dataset.check()
    spec = _spec(file, set_, seed, reps, until, engine)
    place = Store(store)
    place.identify()
    table = results.read(spec, place)
    _check_some(table, store)
    folder = out or Path("results") / f"{_plain(spec.name)}-export"
    told = dataset.export(table, place, folder)
    if as_json:
        show_json({"folder": folder, "rows": told})
        return
    for name, rows in told.items():
        print(f"{folder / name}.parquet: {rows} rows")


def _check_some(table: Table, place: Path) -> None:
    """Is any run done?"""
    from clearpipe.errors import RunError

    if not any(row.state == "done" for row in table.rows):
        raise RunError(f"{place}: no run of this sweep yet; do them with `clearpipe sweep run`")


def _plain(name: str) -> str:
    """A scenario's name as part of a folder's."""
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", name)


def _print_points(table: Table) -> None:
    from clearpipe.overview import new_table
    from clearpipe.sweep import page as reporting

    shown = reporting.shown_metrics(table)
    where = reporting.coordinates(table)
    out = new_table(reporting.headline(table), reporting.headings(table, shown), left=len(where))
    out.caption, out.caption_justify = reporting.of_links(table, shown) or None, "left"
    for point in table.spec.points:
        cells = reporting.texts(table, point, shown)
        out.add_row(*reporting.place(table, point), str(len(table.of_point(point))), *cells)
    show(out)


def _as_json(table: Table) -> object:
    import math

    points = []
    for point in table.spec.points:
        found = {}
        for metric in table.metric_names():
            interval = table.interval(point, metric)
            if interval is not None:
                finite = math.isfinite(interval.half)
                found[metric] = {
                    "mean": interval.mean,
                    "half": interval.half if finite else None,
                    "n": interval.n,
                }
        where = {"coordinates": dict(point.coordinates), "link": table.link(point)}
        points.append({**where, "metrics": found})
    return {"name": table.spec.name, "seed": table.spec.seed, "level": 0.95, "points": points}
