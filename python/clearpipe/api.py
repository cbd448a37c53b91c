"""Running and reading: the functions that `import clearpipe` offers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, cast

from clearpipe import _core
from clearpipe.errors import ConfigError
from clearpipe.result import Result

Scenario: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""The path of a scenario file, TOML text (it has a line break), or nested mappings."""


class Source(NamedTuple):
    """A scenario that was read: what messages call it, and its text."""

    name: str
    text: str


# The largest integer that TOML has, and the largest replication that the core counts.
MAX_SEED = 2**63 - 1
MAX_REP = 2**64 - 1


class Progress(NamedTuple):
    """How far a run is."""

    simulated_s: float
    events: int
    packet_hops: int


class Resolved(NamedTuple):
    """A scenario with every default written out."""

    toml: str
    warnings: list[str]


class Param(TypedDict):
    """One parameter of a protocol or a queue."""

    name: str
    type: Literal["flag", "count", "number", "span", "choice"]
    default: bool | int | float | str
    """As a scenario file would say it: a span is a string such as "10ms"."""
    low: float | None
    """The smallest value (seconds for a span); None for flags and choices."""
    high: float | None
    choices: list[str] | None
    doc: str


class Variable(TypedDict):
    """An inner variable that a probe shows."""

    name: str
    unit: str
    doc: str


class Protocol(TypedDict):
    """One end-host protocol."""

    name: str
    summary: str
    source: str
    recovery: str
    router: str | None
    """The queue that must be on the path for it to work as meant."""
    params: list[Param]
    variables: list[Variable]
    """What the series `sender` records, each with `sender_` before its name."""
    header: list[Variable]
    """The fields of its packets' header."""


class Queue(TypedDict):
    """One queue: a policy, or feedback that stands over a policy."""

    name: str
    summary: str
    source: str
    role: Literal["policy", "feedback"]
    params: list[Param]
    variables: list[Variable]
    """What the series `router` records, each with `router_` before its name."""


def run(
    scenario: Scenario | Source,
    *,
    seed: int | None = None,
    rep: int = 0,
    set: Sequence[str] = (),
    progress: Callable[[Progress], object] | None = None,
) -> Result:
    """Run a scenario in the packet engine.

    `seed` is the scenario's own unless given, `rep` the replication, and `set` overrides keys as
    the command line does: `set=["topology.rate=45Mbps"]`. `progress` is called about ten times a
    second; the run stops, with the state "partial", when it returns False. Other Python threads
    go on meanwhile, and Ctrl-C raises KeyboardInterrupt.

    Raises ConfigError if the scenario is not valid.

    >>> run("examples/dumbbell.toml", seed=1).fingerprint  # doctest: +SKIP
    """
    _check("rep", rep, MAX_REP)
    if seed is not None:
        _check("seed", seed, MAX_SEED)
    name, text = source(scenario)
    call = None if progress is None else lambda *now: progress(Progress(*now))
    return Result(_core.simulate(name, text, set, seed=seed, rep=rep, on_progress=call))


def _check(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise ConfigError(f"{name}: {value} is out of range (allowed: 0 to {most})", key=name)


def resolve(scenario: Scenario | Source, *, set: Sequence[str] = ()) -> Resolved:
    """Check a scenario and write out its defaults, without running it.

    Raises ConfigError with file, line and key if it is not valid.
    """
    name, text = source(scenario)
    return Resolved(*_core.resolve(name, text, set))


def load(dir: str | PathLike[str]) -> Result:
    """Read a result directory that `Result.write` or the command line wrote."""
    return Result(_core.read(fspath(dir)))


def protocols() -> list[Protocol]:
    """Every end-host protocol with its parameters."""
    return cast(list[Protocol], json.loads(_core.protocols_json()))


def queues() -> list[Queue]:
    """Every queue with its parameters."""
    return cast(list[Queue], json.loads(_core.queues_json()))


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""
    return cast(dict[str, Any], json.loads(_core.schema_json()))


def version() -> str:
    """Clearpipe's version."""
    return _core.version()


def model_version() -> str:
    """The version of the models: equal versions give equal fingerprints."""
    return _core.model_version()


def source(scenario: Scenario | Source) -> Source:
    """Reads a scenario, once: what a pipe held is gone, and a file may change."""
    if isinstance(scenario, Source):
        return scenario
    if isinstance(scenario, Mapping):
        import tomli_w

        return Source("<mapping>", tomli_w.dumps(scenario))
    if isinstance(scenario, str) and "\n" in scenario:
        return Source("<text>", scenario)
    return Source(fspath(scenario), _read(Path(scenario)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such scenario file", file=str(path)) from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a directory, not a scenario file", file=str(path)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        message = f"{path}:{line}: not UTF-8 text"
        raise ConfigError(message, file=str(path), line=line) from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", file=str(path)) from error
