"""Running and reading: the functions that `import clearpipe` offers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    Unpack,
    cast,
    overload,
)

from clearpipe import _core
from clearpipe.errors import ConfigError, RunError
from clearpipe.recording import TRACE_LIMIT, Recording
from clearpipe.result import Result, seal

if TYPE_CHECKING:
    from clearpipe import scenario
    from clearpipe.replications import Replications

Scenario: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | scenario.Scenario"
"""A scenario file's path, TOML text (it has a line break), nested mappings or `cp.Scenario`."""


Engine: TypeAlias = Literal["packet", "fluid", "linux"]
"""What runs a scenario."""
ENGINES = ("packet", "fluid", "linux")


class Source(NamedTuple):
    """A scenario that was read: what messages call it, and its text."""

    name: str
    text: str


# The largest integer that TOML has, and the largest replication that the core counts.
MAX_SEED = 2**63 - 1
MAX_REP = 2**64 - 1
# More replications than that are a slip.
MAX_REPS = 1_000_000


class Progress(NamedTuple):
    """How far a run is; the fluid engine's events are its steps, and it has no packet-hops."""

    simulated_s: float
    events: int
    packet_hops: int


class Look(NamedTuple):
    """What a run is like at an instant, for a live view; the packet engine alone tells it."""

    links: Sequence[tuple[int, float, float, int]]
    """Of each link: packets that wait, bits that left and could have left so far, drops."""
    groups: Sequence[tuple[int, float, float, float]]
    """Of each group: flows that send, the smallest, the largest and the sum of their windows."""


class Resolved(NamedTuple):
    """A scenario with every default written out."""

    toml: str
    warnings: list[str]


class Param(TypedDict):
    """One parameter of a protocol or a queue."""

    name: str
    type: Literal["flag", "count", "number", "span", "choice", "text"]
    default: bool | int | float | str
    """As a scenario file would say it: a span is a string such as "10ms"."""
    low: float | None
    """The smallest value (seconds for a span); None for flags, choices and texts."""
    high: float | None
    choices: list[str] | None
    doc: str


class Preset(TypedDict):
    """Values for some of the parameters under a name, as a paper or a tool used them."""

    name: str
    doc: str
    """What it is and where it is from."""
    values: dict[str, bool | int | float | str]
    """As a scenario file would say them."""


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
    open_loop: bool
    """Does it send what the application offers at once? Then its flows need a `rate`."""
    params: list[Param]
    presets: list[Preset]
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
    presets: list[Preset]
    variables: list[Variable]
    """What the series `router` records, each with `router_` before its name."""


class RunOptions(TypedDict, total=False):
    """What `run` takes besides the scenario and the number of replications."""

    seed: int | None
    rep: int
    set: Sequence[str]
    progress: Callable[[Progress], object] | None
    out: str | PathLike[str] | None
    replace: bool
    capture: str | Sequence[str]
    capture_headers: bool
    capture_from: str | None
    capture_to: str | None
    trace: bool
    trace_limit: str
    qlog: str | Sequence[str]
    engine: Engine


@overload
def run(scenario: Scenario | Source, **options: Unpack[RunOptions]) -> Result: ...
@overload
def run(
    scenario: Scenario | Source, *, reps: int, **options: Unpack[RunOptions]
) -> Replications: ...
@overload
def run(
    scenario: Scenario | Source, *, until: str, **options: Unpack[RunOptions]
) -> Replications: ...
def run(  # noqa: PLR0913 - keywords, each with a meaning of its own
    scenario: Scenario | Source,
    *,
    seed: int | None = None,
    rep: int = 0,
    reps: int | None = None,
    until: str | None = None,
    set: Sequence[str] = (),
    progress: Callable[[Progress], object] | None = None,
    out: str | PathLike[str] | None = None,
    replace: bool = False,
    capture: str | Sequence[str] = (),
    capture_headers: bool = False,
    capture_from: str | None = None,
    capture_to: str | None = None,
    trace: bool = False,
    trace_limit: str = TRACE_LIMIT,
    qlog: str | Sequence[str] = (),
    engine: Engine = "packet",
) -> Result | Replications:
    """Run a scenario.

    `engine` is "packet", which simulates every packet, "fluid", which solves delay differential
    equations and refuses what has no fluid form (docs/explanation/fluid.md), or "linux", which runs
    this machine's TCP in network namespaces, in real time (docs/howto/linux.md). All of them return
    the same tables.

    `seed` is the scenario's own unless given, `rep` the replication, and `set` overrides keys as
    the command line does: `set=["topology.rate=45Mbps"]`. `progress` is called about ten times a
    second; when it returns False, the run stops with the state "partial". Other Python threads
    continue meanwhile, and Ctrl-C raises KeyboardInterrupt.

    With `reps`, replications 0 to `reps` - 1 run on all cores, and the returned `Replications`
    have means and 95 % intervals. `until` runs as many as a metric needs: "ci=2%" until half of the
    interval is within 2 % of the mean, optionally followed by ",metric=NAME,min=5,max=100"
    (docs/reference/scenario/sweep.md lists the names). `progress` is called for each of them, in
    its thread, and stops all when it returns False. Stopped runs are among the results but not in
    the means; runs that have not begun are left out.

    `out` is the directory for the result, as in `Result.write`; a run that is stopped writes
    nothing. With `reps` or `until` it has a directory for each replication, and existing results
    are read instead of being run again. During the run, the packets of the links in `capture`
    (names, or "all") go to `out`/LINK.pcapng, without payloads if `capture_headers`; with `trace`,
    a Perfetto trace of at most `trace_limit` goes to `out`/trace.pftrace. `qlog` names groups,
    flows by number, or "all": the log of each goes to `out`/flow-NUMBER.sqlog. `capture_from` and
    `capture_to`, times such as "10s", limit all of them. None changes the result or its
    fingerprint.

    Raises ConfigError if the scenario is not valid or a link, a flow or a metric is unknown,
    OSError if `out` cannot be written, FileExistsError if it holds a result and `replace` is false,
    RunError if it holds another run's.

    >>> run("base-case-xcp", seed=1).fingerprint  # doctest: +SKIP
    """
    _check("rep", rep, MAX_REP)
    if seed is not None:
        _check("seed", seed, MAX_SEED)
    links, flows = ((one,) if isinstance(one, str) else tuple(one) for one in (capture, qlog))
    recording = Recording(
        links, capture_headers, trace, trace_limit, capture_from, capture_to, flows
    )
    if reps is not None or until is not None:
        from clearpipe import batch

        _check_reps(rep, reps, until)
        jobs = batch.jobs(source(scenario), set, seed, engine, recording, out, replace)
        return batch.replicate(jobs, reps, until, quiet=True, progress=progress)
    return run_recording(
        source(scenario),
        recording,
        seed,
        rep,
        set,
        progress=progress,
        out=out,
        replace=replace,
        engine=engine,
    )


def _check_reps(rep: int, reps: int | None, until: str | None) -> None:
    if reps is not None and until is not None:
        raise ConfigError("reps, until: give only one of them", key="reps")
    if rep:
        raise ConfigError("rep: cannot be combined with reps or until, which start at 0", key="rep")
    if reps is not None and not 1 <= reps <= MAX_REPS:
        raise ConfigError(f"reps: {reps} is out of range (allowed: 1 to {MAX_REPS})", key="reps")


def run_recording(  # noqa: PLR0913 - what `run` has sorted out
    source: Source,
    recording: Recording,
    seed: int | None,
    rep: int,
    set: Sequence[str],
    *,
    progress: Callable[[Progress], object] | None,
    look: Callable[[Look], object] | None = None,
    out: str | PathLike[str] | None = None,
    replace: bool = False,
    engine: Engine = "packet",
) -> Result:
    """As `run`, of one run, with what is to be written down in one value; `look` is called like
    `progress`, and before it, where the engine tells what a run is like."""
    check_engine(engine)
    if recording.wanted and engine == "fluid":
        key = recording.key
        raise ConfigError(f"{key}: the {engine} engine has no packets to record", key=key)
    if recording.wanted and out is None:
        key = recording.key
        raise ConfigError(f"{key}: needs out, the directory for the files", key=key)
    if engine == "linux":
        from clearpipe.linux import engine as linux

        return linux.run(
            source, seed, rep, set, recording=recording, progress=progress, out=out, replace=replace
        )

    def call(
        simulated_s: float, events: int, packet_hops: int, seen: tuple[Any, Any] | None = None
    ) -> object:
        if look is not None and seen is not None:
            look(Look(*seen))
        return None if progress is None else progress(Progress(simulated_s, events, packet_hops))

    return Result(
        _core.simulate(
            source.name,
            source.text,
            set,
            seed=seed,
            rep=rep,
            on_progress=None if progress is None and look is None else call,
            look=look is not None,
            out=None if out is None else fspath(out),
            replace=replace,
            seal=seal,
            record=recording.as_core() if recording.wanted else None,
            engine=engine,
        )
    )


def check_engine(engine: str) -> None:
    """Raise ConfigError unless there is an engine of that name."""
    if engine not in ENGINES:
        known = ", ".join(ENGINES[:-1]) + f" and {ENGINES[-1]}"
        raise ConfigError(f"unknown engine {engine} (allowed: {known})", key="engine")


def _check(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise ConfigError(f"{name}: {value} is out of range (allowed: 0 to {most})", key=name)


def resolve(
    scenario: Scenario | Source,
    *,
    set: Sequence[str] = (),
    engine: Engine = "packet",
    origins: bool = False,
) -> Resolved:
    """Check a scenario and write out its defaults, without running it.

    With `origins`, a comment beside each value of the transport, of protocols and of queues says
    where it comes from: the file, a preset, the era, or the papers' default.
    Raises ConfigError with file, line and key if it is not valid or the engine cannot run it.
    """
    check_engine(engine)
    read = source(scenario)
    if engine == "linux":
        from clearpipe.linux import engine as linux

        linux.describe(read, set, None)
    of = "packet" if engine == "linux" else engine
    return Resolved(*_core.resolve(read.name, read.text, set, engine=of, origins=origins))


def load(dir: str | PathLike[str]) -> Result:
    """Read a result directory that `Result.write` or the command line wrote.

    Raises RunError if a file does not match the directory's seal.
    """
    from clearpipe import seals

    result = Result(_core.read(fspath(dir)))
    if (Path(dir) / seals.NAME).exists() and (found := seals.damage(Path(dir))) is not None:
        raise RunError(f"{found.path}: {found.reason}; run it again (--force)")
    return result


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


def model_version(engine: Engine = "packet") -> str:
    """The version of an engine; everything else that a run uses has its own version (`parts`)."""
    return _core.linux_model_version() if engine == "linux" else _core.model_version(engine)


def versions() -> dict[str, str]:
    """The version of each part: engines, transport, protocols and queues."""
    return _core.versions()


def parts(
    scenario: Scenario | Source, *, set: Sequence[str] = (), engine: Engine = "packet"
) -> dict[str, str]:
    """The parts that a run of the scenario uses; with equal versions of them, results are equal."""
    check_engine(engine)
    read = source(scenario)
    return _core.parts(read.name, read.text, set, engine=engine)


def outdated(meta: Mapping[str, Any]) -> str:
    """The parts of a result or a verdict that have another version now; empty if none.

    `meta` has `parts`, or only `model_version` if made before version 7. Classes in Python are left
    out, because only the scenario's location tells which file is meant.
    """
    if "parts" not in meta:
        return f"model {meta['model_version']}"
    now = versions()
    return ", ".join(
        f"{name} {version}"
        for name, version in meta["parts"].items()
        if not name.startswith("code ") and now.get(name) != version
    )


def source(scenario: Scenario | Source) -> Source:
    """Reads a scenario, once: what a pipe held is gone, and a file may change."""
    if isinstance(scenario, Source):
        return scenario
    if not isinstance(scenario, str | PathLike):
        from clearpipe import values

        if isinstance(scenario, values.Model):
            # Lines in messages are those of `scenario.to_toml()`.
            return Source(f"<{type(scenario).__name__}>", scenario.to_toml())
        if not isinstance(scenario, Mapping):
            kind = type(scenario).__name__
            raise ConfigError(f"a scenario is a file, a text, a mapping or a Scenario; not {kind}")
        return Source("<mapping>", values.toml(scenario))
    if isinstance(scenario, str) and "\n" in scenario:
        return Source("<text>", scenario)
    from clearpipe import examples

    path = examples.meant(Path(scenario))
    return Source(fspath(path), _read(path))


# Larger than any scenario, and little enough to read from a device that never ends.
MAX_SCENARIO_BYTES = 16_000_000


def _read(path: Path) -> str:
    try:
        fspath(path).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{path}: a scenario file's name must be UTF-8", file=str(path)) from None
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SCENARIO_BYTES + 1)
        if len(content) > MAX_SCENARIO_BYTES:
            message = f"{path}: more than {MAX_SCENARIO_BYTES // 1_000_000} MB, so no scenario"
            raise ConfigError(message, file=str(path))
        return content.decode("utf-8")
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
