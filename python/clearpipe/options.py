"""Options that several commands share, and the reading of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from clearpipe import complete, terminal
from clearpipe.api import MAX_REP, MAX_SEED
from clearpipe.help_texts import App

KEPT = "finished runs are kept, and the same command continues"
STORE = Path("results/store")

# Where a command has so many options that its help has them in groups (`InGroups`).
WHICH = "Which runs"
RESULT = "What is kept and shown"

ExecutorName = Literal["local", "dask"]

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A scenario file (TOML), or the name of an example (`list scenarios`).",
        autocompletion=complete.scenarios,
    ),
]
SweepFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A scenario file with [sweep], or the name of an example.",
        autocompletion=complete.sweeps,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key: topology.rate=45Mbps. Repeatable.",
        rich_help_panel=WHICH,
        autocompletion=complete.keys,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MAX_SEED,
        metavar="N",
        help="The seed of the experiment; default: the scenario's own.",
        rich_help_panel=WHICH,
    ),
]
Rep = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MAX_REP,
        metavar="N",
        help="Replication N only.",
        show_default="0",
        rich_help_panel=WHICH,
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Draw a figure to a .png, .svg or .pdf file.", rich_help_panel=RESULT
    ),
]
Draw = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="What --figure draws: a probed series (cwnd, srtt), a number such as queue_mean_pkts "
        "or groups.web.fct_p95_s, or fct. Repeatable; by default every probed series.",
        rich_help_panel=RESULT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch", help="Show queue, utilization and windows live (packet engine, on a terminal)."
    ),
]


def _set_log_format(value: str) -> str:
    terminal.log_format = "json" if value == "json" else "text"
    return value


LogFormat = Annotated[
    Literal["text", "json"],
    typer.Option(
        "--log-format",
        callback=_set_log_format,
        is_eager=True,
        help="What goes to stderr: text for people, or one JSON object per line (and no bars).",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="ci=2%",
        help="Add replications until half the 95 % interval is within this share of the mean; in "
        "full: ci=2%,metric=links.bottleneck.utilization_ratio,min=5,max=100.",
        autocompletion=complete.until,
        rich_help_panel=WHICH,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print neither progress nor notes.")]

# Of commands that do many runs into a store.
StoreDir = Annotated[Path, typer.Option("--store", metavar="DIR", help="Where all runs are kept.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Runs at a time; default: one per core."),
]
Shard = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Only the Ith of N equal parts, I from 0: one for each task of a Slurm array or an "
        "indexed job.",
    ),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        "--max-time",
        metavar="TIME",
        help="Stop after this time, such as 50min, with exit code 75; the same command continues.",
    ),
]
Retry = Annotated[
    bool, typer.Option("--retry-failed", help="Repeat runs that ended with an error.")
]
Executor = Annotated[ExecutorName, typer.Option(help="Where runs are computed: local or dask.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDR", help="The address of dask's scheduler.")
]

# Units as scenario files have them, in seconds, bytes and bit/s.
TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20}
RATES = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}


def group(name: str, about: str) -> App:
    """A command with commands of its own."""
    return App(name, about)


def check_figure(figure: Path | None) -> None:
    """Before any work: can this figure be drawn?"""
    if figure is not None:
        from clearpipe import style

        style.check(figure)


def check_watch(watch: bool, engine: str) -> None:
    """Before any work: can this engine be watched?"""
    if watch and engine != "packet":
        raise _refused(
            "--watch",
            f"the {engine} engine tells its links and windows when a run is over, and nothing "
            "before; the packet engine can be watched",
        )


def quantity(option: str, text: str, units: Mapping[str, float], example: str) -> float:
    """A number above 0 with one of the units; a usage error without a unit, or if it is not."""
    match = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)", text)
    if match is None or match[2] not in units:
        known = ", ".join(units)
        raise _refused(option, f"{text!r} is not one such as {example} (units: {known})")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < float("inf"):
        raise _refused(option, f"{text} is not allowed (allowed: above 0)")
    return value


def time(option: str, text: str, example: str = "80ms") -> float:
    """A time above 0 in seconds."""
    return quantity(option, text, TIMES, example)


def times(option: str, text: str) -> list[float]:
    """Times with commas between them."""
    return [time(option, part.strip()) for part in text.split(",")]


def instant(option: str, text: str) -> float:
    """A time in seconds, 0 included; a number without a unit is seconds."""
    bare = re.fullmatch(r"\d+(?:\.\d*)?|\.\d+", text)
    return float(text) if bare else quantity(option, text, TIMES, "12.4s, 300ms or 5min")


def rate(option: str, text: str) -> float:
    """A rate above 0 in bit/s."""
    return quantity(option, text, RATES, "45Mbps")


def size(option: str, text: str) -> float:
    """A size of at least a byte, in bytes."""
    value = quantity(option, text, SIZES, "1000B")
    if value < 1:
        raise _refused(option, f"{text} is not allowed (allowed: at least 1B)")
    return value


def shard(text: str | None) -> tuple[int, int] | None:
    """`I/N` as a part's number and the number of parts."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not int(match[1]) < int(match[2]):
        raise _refused("--shard", f"{text!r} is not I/N with I from 0 to N-1")
    return int(match[1]), int(match[2])


def _refused(option: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(why, param_hint=option)
