"""How to cite Clearpipe and a result: who and where from the package's own metadata, what a run was
from its result directory."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe import examples, overview
from clearpipe.result import Result


@dataclass(frozen=True)
class Software:
    """Clearpipe as a reference list has it."""

    authors: str
    title: str
    version: str
    url: str

    def sentence(self) -> str:
        """In one sentence."""
        return f"{self.authors}. {self.title}, version {self.version}. {self.url}"

    def bibtex(self) -> str:
        """As BibTeX; `@software` is biblatex's, and plain styles take it as `@misc`."""
        return "\n".join(
            [
                "@software{clearpipe,",
                f"  author  = {{{{{self.authors}}}}},",
                f"  title   = {{{self.title}}},",
                f"  version = {{{self.version}}},",
                f"  url     = {{{self.url}}},",
                "}",
            ]
        )


@dataclass(frozen=True)
class Run:
    """What names a run, so that another can make the same and see that it is."""

    name: str
    engine: str
    seed: int
    rep: int
    version: str
    fingerprint: str | None
    """None of a real kernel's."""
    identity: str
    parts: dict[str, str]
    again: str


def software() -> Software:
    """This installation."""
    about = importlib.metadata.metadata("clearpipe")
    title = f"Clearpipe: {about['Summary'].partition(':')[0].lower()}"
    return Software(about["Author"], title, cp.version(), url("Homepage"))


def url(name: str) -> str:
    """An address of the project, as the package's metadata call it; empty if they have none."""
    lines = importlib.metadata.metadata("clearpipe").get_all("Project-URL") or ()
    known: dict[str, str] = dict(line.split(", ", 1) for line in lines)
    return known.get(name, "")


def results(path: Path) -> list[Result]:
    """A result, or all in a directory.

    Raises ConfigError where there is none.
    """
    from clearpipe import compare

    return list(compare.load_side(path).values())


def run_of(result: Result) -> Run:
    """What names a result."""
    meta = result.meta
    # A changed scenario is the result's own file.
    file = None if examples.name_of(result.scenario_toml) else "run.toml"
    real = meta["engine"] == "linux"
    return Run(
        meta["name"],
        meta["engine"],
        meta["seed"],
        meta["rep"],
        meta["version"],
        None if real else meta["fingerprint"],
        meta["identity"],
        dict(meta.get("parts", {})),
        overview.repeat_command(result, file),
    )


def sources(runs: Iterable[Run]) -> dict[str, str]:
    """Where the protocols and queues of runs come from: what to cite beside Clearpipe."""
    known = {one["name"]: one["source"] for one in cp.protocols()}
    known |= {f"queue {one['name']}": one["source"] for one in cp.queues()}
    used = {part for run in runs for part in run.parts}
    return {part: known[part] for part in sorted(used) if part in known}


def lines(made: Software, runs: Sequence[Run]) -> list[str]:
    """For a terminal."""
    told = [made.sentence(), ""]
    for run in runs:
        parts = ", ".join(f"{name} {version}" for name, version in run.parts.items())
        told += [
            f"{run.name}, seed {run.seed}, replication {run.rep}, {run.engine} engine, "
            f"Clearpipe {run.version}",
            "  fingerprint  " + (run.fingerprint or "none: a real kernel does nothing twice"),
            f"  identity     {run.identity}",
            f"  parts        {parts or 'none told'}",
            f"  again        {run.again}",
            "",
        ]
    if runs:
        told += [f"{name}: {source}" for name, source in sources(runs).items()]
        told.append("")
    return [*told, made.bibtex()]


def as_json(made: Software, runs: Sequence[Run]) -> dict[str, Any]:
    """Plain dictionaries."""
    return {
        "software": asdict(made),
        "runs": [asdict(run) for run in runs],
        "sources": sources(runs),
    }
