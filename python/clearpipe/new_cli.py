"""The commands `clearpipe new` and `clearpipe schema`: files to begin with, help for editors."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearpipe import complete
from clearpipe.exits import reports_errors
from clearpipe.options import Quiet
from clearpipe.terminal import note, show

if TYPE_CHECKING:
    from clearpipe.new import Wanted

NewFile = Annotated[Path | None, typer.Argument(metavar="FILE", help="The file to write.")]
Protocols = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="The flows' protocol. Repeatable: several make a sweep that compares them.",
        autocompletion=complete.protocols,
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUES",
        help="topology.rtt=10ms,40ms,160ms or topology.rtt='logspace(10ms, 1s, 5)'. Repeatable.",
        autocompletion=complete.keys,
    ),
]


@reports_errors()
def new(  # noqa: PLR0913 - one for each option
    file: NewFile = None,
    *,
    protocol: Protocols = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The link's queue; default: what the protocol needs.",
            autocompletion=complete.queues,
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="The link's rate, such as 45Mbps.")
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The two-way propagation delay, such as 80ms."),
    ] = None,
    buffer: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The link's buffer: 1bdp, 100pkt, 1MB.")
    ] = None,
    flows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The number of flows, such as 10.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="The simulated time, such as 60s.")
    ] = None,
    era: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The end hosts' era: papers, rfc, ns2 or linux-6.1.",
            autocompletion=complete.eras,
        ),
    ] = None,
    vary: Vary = None,
    reps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Replications of each point of a sweep, such as 5."),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option(
            help="Also write the schema, so that editors can complete and check the file."
        ),
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented scenario or sweep to start from.

    Without options, on a terminal, it asks questions.
    """
    from clearpipe import new as making

    given = {
        "protocols": tuple(protocol or ()),
        "queue": queue,
        "rate": rate,
        "rtt": rtt,
        "buffer": buffer,
        "flows": flows,
        "duration": duration,
        "era": era,
        "vary": tuple(vary or ()),
        "reps": reps,
    }
    said: dict[str, Any] = {key: value for key, value in given.items() if value}
    asks = not said and sys.stdin.isatty() and sys.stderr.isatty()
    path = file or Path("mine.toml")
    if asks and file is None:
        path = Path(typer.prompt("File", default="mine.toml", err=True))
    if path.exists() and not force:
        raise typer.BadParameter(f"{path} already exists; --force replaces it")
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem) or "mine"
    wanted = replace(making.Wanted(), name=stem, **said)
    if asks:
        wanted = _asked(wanted)
    if reps is not None and not wanted.sweeps:
        raise typer.BadParameter(
            "--reps applies to a sweep, and nothing varies here: give --vary or several "
            f"--protocol, or run the scenario with clearpipe run {path} --reps {reps}"
        )
    text = making.text(wanted, str(path), schema)
    if schema:
        _place_schema(path.parent / making.SCHEMA, force=False)
    path.write_text(text, encoding="utf-8")
    verb = "sweep run" if wanted.sweeps else "run"
    note(f"{path}: written; clearpipe {verb} {path}", quiet)


def _asked(default: Wanted) -> Wanted:
    def ask(what: str, value: str) -> str:
        return str(typer.prompt(what, default=value, err=True)).strip()

    protocols = ask("Protocols, with commas between", ", ".join(default.protocols))
    rate = ask("Rate of the link", default.rate)
    rtt = ask("Round-trip time without queues", default.rtt)
    flows = typer.prompt("Flows", default=default.flows, type=int, err=True)
    duration = ask("Simulated time", default.duration)
    vary = ask("What varies, such as topology.rtt=10ms,80ms,320ms (nothing: -)", "-")
    return replace(
        default,
        protocols=tuple(filter(None, (one.strip() for one in protocols.split(",")))),
        rate=rate,
        rtt=rtt,
        flows=flows,
        duration=duration,
        vary=() if vary == "-" else (vary,),
    )


@reports_errors()
def schema(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write it to this file instead, for a line #:schema ./FILE."
        ),
    ] = None,
    path: Annotated[
        bool, typer.Option("--path", help="Print the path of the installed schema instead.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite any existing file.")] = False,
) -> None:
    """Print the JSON Schema of scenario files, for completion and checks in editors.

    Even Better TOML in VS Code, Zed, Helix and taplo use it for scenarios whose first line is
    `#:schema ./scenario.schema.json`.
    """
    if path:
        show(str(_schema_file()))
    elif out is not None:
        _place_schema(out, force)
        note(f"{out}: written")
    else:
        sys.stdout.write(_schema())


def _schema_file() -> Path:
    return Path(str(files("clearpipe") / "scenario.schema.json"))


def _schema() -> str:
    return _schema_file().read_text(encoding="utf-8")


def _place_schema(path: Path, force: bool) -> None:
    """Writes the schema, over an older one, too, but over nothing else."""
    own = _schema()
    if path.exists() and not force and _title(path.read_text(encoding="utf-8")) != _title(own):
        raise typer.BadParameter(f"{path} already exists and is not a schema of Clearpipe's")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(own, encoding="utf-8")


def _title(text: str) -> object:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found.get("title") if isinstance(found, dict) else None
