"""What the papers claim: one TOML file per paper in `clearpipe/papers`, read and checked.

A file has the paper's title, its schemes and scenarios, and a list of figures. A figure without a
`part` (what is simulated) and without a check that exists (what is computed) is not built. The
keys are described in docs/howto/reproduction.md.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal, get_type_hints

from clearpipe.errors import ConfigError
from clearpipe.reproduce import shapes
from clearpipe.reproduce.traces import Traces

Scale = Literal["quick", "full"]
SCALES: tuple[Scale, ...] = ("quick", "full")
FIVE = ("xcp", "ixcp", "vcp", "mlcp", "dpcp")
"""The papers that Clearpipe is about."""
PAPERS = (*FIVE, "abc")
PART_ENGINES = ("packet", "linux")
KINDS = ("quantitative", "qualitative", "analytic")
BASES = ("simulation", "analytic", "analytic+simulation", "unit", "table")
REAL = "real kernel"
UNIVERSAL = re.compile(
    r"\b(?:never|always|every|each|all|any|both|only|none|no|nothing|zero|without)\b", re.IGNORECASE
)
"""Words of a sentence that admits no exception: no single run may be one."""
REDUCTIONS = (
    "mean", "min", "max", "spread", "first", "last", "growth", "slope", "log-slope", "rank",
)  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """What a paper prints: bounds and range that are absent are as accepted, and all of the values
    must be within unless it says how many."""

    lo: float | None = None
    hi: float | None = None
    x: tuple[float, float] | None = None
    need: float | None = None


@dataclass(frozen=True)
class Measure:
    """How a claim's number comes from the runs: a value for each scheme and point, or one for each
    scheme if `reduce` says how."""

    metric: str
    scheme: tuple[str, ...] = ()
    """Names of schemes or `@groups`; all if empty."""
    part: str = ""
    x: tuple[float, float] | None = None
    """From, to: in the axis' base unit."""
    minus: tuple[str, ...] = ()
    """The value of these schemes at the same point and replication is subtracted; of several, the
    best (`beside`)."""
    over: tuple[str, ...] = ()
    """As `minus`, but divided by."""
    beside: Literal["min", "max", "mean"] = "max"
    reduce: str = ""
    lo: float = -math.inf
    hi: float = math.inf
    need: float = 1.0
    """The share of values that must be within the bounds."""
    printed: Printed | None = None
    """As the paper has it, where what is accepted is not that."""

    def told(self) -> str:
        """What is measured, in a line: `queue_mean_ratio of vcp less that of the max of xcp`."""
        words = [f"{self.reduce} of {self.metric}" if self.reduce else self.metric]
        if self.scheme:
            words.append(f"of {', '.join(self.scheme)}")
        if self.minus or self.over:
            several = f"the {self.beside} of " if len(self.minus or self.over) > 1 else ""
            how = "less" if self.minus else "over"
            words.append(f"{how} that of {several}{', '.join(self.minus or self.over)}")
        if self.part:
            words.append(f"in part {self.part}")
        if self.x:
            words.append(f"from {self.x[0]:g} to {self.x[1]:g}")
        if self.need < 1:
            words.append(f"at {100 * self.need:.0f} % of the points")
        return " ".join(words)

    def as_printed(self, default: Printed) -> Measure:
        """The measure with the bounds and the range of the paper's text."""
        own = self.printed or default
        return replace(
            self,
            lo=self.lo if own.lo is None else own.lo,
            hi=self.hi if own.hi is None else own.hi,
            x=self.x if own.x is None else own.x,
            need=1.0 if own.need is None else own.need,
        )


@dataclass(frozen=True)
class Reads:
    """Runs of the figure that a check is about: a check is told, and asks, of no others."""

    part: str = ""
    """All parts if empty."""
    scheme: tuple[str, ...] = ()
    """Names of schemes or `@groups`; all if empty."""
    x: tuple[float, float] | None = None
    """From, to: in the axis' base unit."""


@dataclass(frozen=True)
class Contradiction:
    """Why a paper cannot be right about something, and what shows it."""

    by: str
    """The inconsistency (I...) in notes.toml."""
    shown: str
    """A function of the paper's module that gets the data and the readings that are outside, and
    says whether the inconsistency alone puts them there."""
    why: str
    """The same in words."""


@dataclass(frozen=True)
class Assertion:
    """A part of a claim that is judged by itself; most claims have one, without a name."""

    id: str = ""
    """`a`, `b`, ...; nothing if the claim is one assertion."""
    says: str = ""
    """What of the claim's sentence it is."""
    lo: float = -math.inf
    hi: float = math.inf
    printed: Printed | None = None
    """The paper's own bounds and range. Without it the paper has no number, and the bounds are a
    reading of its words."""
    tolerance: str = ""
    """How what is accepted differs from what is printed, or how a word is read as a bound."""
    measures: tuple[Measure, ...] = ()
    check: str = ""
    """A function of the paper's module, for what is computed or not declarative."""
    reads: tuple[Reads, ...] = ()
    """The runs of the figure that a check is about; without any all. In a file the name of a part,
    a table, or a list of these."""
    computed: bool = False
    """A check that computes, and reads no runs of the figure."""
    contradiction: Contradiction | None = None
    deviation: Mapping[str, str] = field(default_factory=dict)
    """By scale (`quick`, `full`, `all`): why it does not hold here, with what was tried."""
    engine: Literal["packet", "linux"] = "packet"
    """`linux`: it judges runs on a real kernel, and is not run where there are none."""
    each_run: bool | None = None
    """Is each run judged, and not their mean? If not said, where its words or the claim's have one
    of `UNIVERSAL`: False says that the word is about something else."""
    not_run: str = ""
    """Why nothing here can judge it; then there are no bounds and no measure."""
    note: str = ""

    def reason(self, scale: str) -> str:
        """Why it does not hold, or nothing."""
        return self.deviation.get(scale) or self.deviation.get("all", "")

    @property
    def digest(self) -> str:
        """What decides its verdict, as twelve hexadecimal digits: bounds, ranges and measures, and
        the name of a check; no words."""
        decides: tuple[object, ...] = (
            self.lo,
            self.hi,
            self.printed,
            self.measures,
            self.check,
            "computed" if self.computed else self._reads,
            self.engine,
        )
        if self.each_run:
            decides += ("each run",)
        return hashlib.sha256(repr(decides).encode()).hexdigest()[:12]

    @property
    def _reads(self) -> str | tuple[Reads, ...]:
        """As it was when a check could read one part only, where it does."""
        parts = tuple(Reads(one.part) for one in self.reads)
        if len(parts) < 2 and parts == self.reads:
            return "".join(one.part for one in parts)
        return self.reads


@dataclass(frozen=True)
class Claim:
    """One statement of a paper: as good as the worst of its assertions."""

    id: str
    statement: str
    kind: str
    basis: str
    """What the paper found it by."""
    expected: str
    """What the paper says, as text."""
    source: str
    """Where it says so."""
    where: str = ""
    quantity: str = ""
    """What the number is, with its unit."""
    inconsistency: str = ""
    """What in the papers (I...) speaks against it or is about the same: told, and no verdict."""
    note: str = ""
    assertions: tuple[Assertion, ...] = ()

    @property
    def engine(self) -> str:
        """What it is run on."""
        return "linux" if any(one.engine == "linux" for one in self.assertions) else "packet"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Those of all its assertions."""
        return tuple(measure for one in self.assertions for measure in one.measures)

    @property
    def counted_under(self) -> str:
        """What it is counted under: how the paper found it, or the real kernel."""
        return REAL if self.engine == "linux" else self.basis

    def name_of(self, one: Assertion) -> str:
        """`vcp-fig03-c1`, or `vcp-fig03-c1.b` of a part."""
        return f"{self.id}.{one.id}" if one.id else self.id

    def assertion(self, name: str = "") -> Assertion:
        """The one of this name. Raises KeyError if there is none."""
        found = [one for one in self.assertions if one.id == name]
        if not found:
            raise KeyError(f"{self.id} has no assertion {name!r}")
        return found[0]


@dataclass(frozen=True)
class Axis:
    """What varies along x."""

    name: str
    values: tuple[Any, ...]
    key: str = ""
    label: str = ""
    scale: str = "linear"
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Other keys that go with it: a list, or a text in which {x} stands for the value."""


@dataclass(frozen=True)
class Departure:
    """Where on the axis of a part something is run that is not as the paper prints it: nothing that
    is of these points holds as printed."""

    at: tuple[str, ...]
    """Settings of the axis."""
    why: str


@dataclass(frozen=True)
class Part:
    """Runs of one scenario with one axis and some schemes."""

    name: str
    base: str
    schemes: tuple[str, ...]
    axis: Axis | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    duration: str = ""
    at_least_rtts: float = 0.0
    """The duration is at least so many round trips of `topology.rtt`."""
    reps: int = 1
    skip: tuple[Mapping[str, Any], ...] = ()
    engine: Literal["packet", "linux"] = "packet"
    """`linux`: on this machine's kernel, in real time, only if asked for."""
    traced: bool = False
    """Are the axis' values names of recorded traces, which must be there?"""
    departs: Departure | None = None

    @property
    def real(self) -> bool:
        """Does it run on a real kernel?"""
        return self.engine == "linux"


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str = ""
    metric: str = ""
    """Drawn against the part's axis, a line per scheme."""
    series: str = ""
    """Drawn against time, a line per flow or link, of `scheme`."""
    flows: str = ""
    """Each flow of the group this names: its goodput against its number or RTT."""
    draw: str = ""
    """A function of the paper's module that draws into the axes."""
    part: str = ""
    schemes: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    """Groups or links of a series."""
    at: Any = None
    """The point of a series or of flows, by the value of the axis."""
    window: str = ""
    """A series' values are means over this time."""
    label: str = ""
    times: float = 1.0
    y_scale: str = "linear"
    y_min: float | None = None
    y_max: float | None = None


@dataclass(frozen=True)
class Scheme:
    """A protocol at the hosts and a queue at the routers."""

    name: str
    label: str
    host: Any = None
    router: Any = None
    sets: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Book:
    """What declared runs are made of: schemes, and scenarios that they run in."""

    name: str
    schemes: Mapping[str, Scheme]
    groups: Mapping[str, tuple[str, ...]]
    bases: Mapping[str, Mapping[str, Any]]
    package: str
    """Where its module is: functions for what cannot be declared."""

    def function(self, name: str) -> Callable[..., Any] | None:
        """The function of its module, if there is one."""
        module_name = f"{self.package}.{self.name}"
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name:
                raise
            return None
        found = getattr(module, name, None)
        return found if callable(found) else None

    def members(self, names: Iterable[str]) -> list[str]:
        """Schemes by name, groups by their members."""
        out: list[str] = []
        for name in names:
            out += self.groups[name[1:]] if name.startswith("@") else [name]
        return out


@dataclass(frozen=True)
class Figure:
    """A figure, table or stated number of a paper."""

    id: str
    figure: str
    title: str
    kind: str
    setup: str
    """What is run, in a sentence."""
    axes: str
    """What the paper's axes, panels and schemes are."""
    claims: tuple[Claim, ...]
    parts: Mapping[str, tuple[Part, ...]]
    """By scale."""
    book: Book = field(repr=False)
    """Where its schemes and scenarios are."""
    panels: tuple[Panel, ...] = ()
    columns: int = 1
    ambiguities: tuple[str, ...] = ()
    note: str = ""

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.partition("-")[0]

    @property
    def simulated(self) -> bool:
        """Has it runs, at any scale, that are not on a real kernel?"""
        return any(not part.real for parts in self.parts.values() for part in parts)

    def judged_by(self, one: Assertion) -> str:
        """What decides the verdict over one of its assertions: its digest and, where it has a
        number that is printed, the points at which the figure departs from what is printed."""
        departs = [(part.name, part.departs.at) for part in self.parts["full"] if part.departs]
        if one.printed is None or not departs:
            return one.digest
        return hashlib.sha256(repr((one.digest, departs)).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Paper(Book):
    """All of a paper."""

    title: str
    cite: str
    figures: tuple[Figure, ...]
    traces: Traces

    def is_built(self, figure: Figure) -> bool:
        """Is there anything to run or to compute for the figure?"""
        if any(figure.parts.values()):
            return True
        return any(
            one.check and self.function(one.check)
            for claim in figure.claims
            for one in claim.assertions
        )


@functools.cache
def paper(name: str) -> Paper:
    """Read the file of a paper."""
    file = f"{name}.toml"
    try:
        document = tomllib.loads((files("clearpipe.papers") / file).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}", file=file) from None
    return Reader(file, document).paper(name)


@functools.cache
def notes() -> dict[str, dict[str, Any]]:
    """`ambiguity`: what the papers leave open, `inconsistency`: where they speak against
    themselves, each by its number; `departure`: by kind of protocol or queue, which of its defaults
    are not what its paper prints."""
    text = (files("clearpipe.papers") / "notes.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = tomllib.loads(text)
    return found


def every() -> list[Figure]:
    """All figures of all papers."""
    return [figure for name in PAPERS for figure in paper(name).figures]


def chosen(target: str) -> list[Figure]:
    """`all`, a paper, or a figure as `vcp:fig03` or `vcp-fig03`.

    Raises ConfigError for what there is not, with the nearest that there is.
    """
    if target == "all":
        return every()
    if target in PAPERS:
        return list(paper(target).figures)
    wanted = target.replace(":", "-", 1)
    found = [figure for figure in every() if figure.id == wanted]
    if not found:
        names = ["all", *PAPERS, *(figure.id for figure in every())]
        near = difflib.get_close_matches(wanted, names, n=1)
        hint = f"did you mean {near[0]}?" if near else "`clearpipe reproduce` lists them"
        raise ConfigError(f"{target}: unknown paper or figure; {hint}")
    return found


def at_scale(value: Any, scale: str) -> Any:
    """The value with every table of `quick` and `full` replaced by what the scale has."""
    if isinstance(value, dict):
        if value and value.keys() <= set(SCALES):
            return at_scale(value.get(scale), scale)
        return {key: at_scale(one, scale) for key, one in value.items()}
    if isinstance(value, list):
        return [at_scale(one, scale) for one in value]
    return value


class Reader:
    """Reads one file; every message names file and key."""

    def __init__(self, file: str, document: Mapping[str, Any]) -> None:
        self.file = file
        self.document = document
        self.hints: dict[type[Any], dict[str, Any]] = {}

    def fail(self, where: str, message: str) -> ConfigError:
        return ConfigError(f"{self.file}: {where}: {message}", file=self.file, key=where)

    def make(self, kind: type[Any], table: Mapping[str, Any], where: str, **others: Any) -> Any:
        """An instance of a dataclass from a table; lists become tuples."""
        if not isinstance(table, dict):
            raise self.fail(where, "expected a table")
        self.check_keys(table, [entry.name for entry in fields(kind)], where)
        values = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
        if kind not in self.hints:
            self.hints[kind] = get_type_hints(kind)
        for key, value in values.items():
            if found := shapes.wrong(value, self.hints[kind][key], f"{where}.{key}"):
                raise self.fail(*found)
        try:
            return kind(**{**values, **others})
        except TypeError as error:
            raise self.fail(where, str(error)) from None

    def check_keys(self, table: Mapping[str, Any], names: Sequence[str], where: str) -> None:
        for key in table:
            if key not in names:
                near = difflib.get_close_matches(key, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(names)}"
                raise self.fail(f"{where}.{key}", f"unknown key; {hint}")

    def paper(self, name: str) -> Paper:
        """The whole file."""
        document = self.document
        schemes = {
            key: self.make(Scheme, table, f"schemes.{key}", name=key)
            for key, table in document.get("schemes", {}).items()
        }
        groups = {key: tuple(names) for key, names in document.get("groups", {}).items()}
        bases = document.get("base", {})
        book = Book(name, schemes, groups, bases, "clearpipe.papers")
        figures = tuple(self.figure(table, book) for table in document["figure"])
        traces: Traces = self.make(Traces, document.get("traces", {}), "traces")
        self.check_traced(figures, traces)
        ids = [figure.id for figure in figures] + [c.id for f in figures for c in f.claims]
        for one in ids:
            if ids.count(one) > 1:
                raise self.fail(one, "the id appears twice")
        own = {entry.name: getattr(book, entry.name) for entry in fields(Book)}
        told = {key: document[key] for key in ("title", "cite")}
        return Paper(**own, **told, figures=figures, traces=traces)

    def check_traced(self, figures: Sequence[Figure], traces: Traces) -> None:
        for figure in figures:
            for part in (part for parts in figure.parts.values() for part in parts if part.traced):
                here = f"{figure.id}.part.{part.name}.axis"
                if part.axis is None or not part.axis.key:
                    raise self.fail(here, "a traced part has an axis whose values are traces")
                for name in part.axis.values:
                    if name not in traces.blobs:
                        allowed = ", ".join(traces.blobs) or "none"
                        raise self.fail(here, f"{name!r} is none of the paper's traces: {allowed}")

    def figure(self, table: Mapping[str, Any], book: Book) -> Figure:
        """A figure, whose runs are made of the book's schemes and scenarios."""
        known = [*book.schemes, *(f"@{key}" for key in book.groups)]
        rest = dict(table)
        where = str(rest.get("id", "figure without id"))
        claims = tuple(self.claim(one, where, known) for one in rest.pop("claim", []))
        parts = rest.pop("part", [])
        panels = rest.pop("panel", [])
        read = {
            scale: tuple(self.part(at_scale(one, scale), where, known, book.bases) for one in parts)
            for scale in SCALES
        }
        read = {
            scale: tuple(_expanded(part, book) for part in found if part is not None)
            for scale, found in read.items()
        }
        for one in panels:
            self.check_schemes(one.get("schemes", []), known, where)
        drawn = tuple(self.make(Panel, one, f"{where}.panel") for one in panels)
        self.check_parts(claims, [part for part in read["full"] if part], where)
        own = {"claims": claims, "parts": read, "panels": drawn, "book": book}
        figure: Figure = self.make(Figure, rest, where, **own)
        return figure

    def check_parts(self, claims: Sequence[Claim], parts: Sequence[Part], where: str) -> None:
        """Checks read parts that there are, and departures are of settings that there are."""
        names = [part.name for part in parts]
        for claim in claims:
            for one in claim.assertions:
                if wrong := [read.part for read in one.reads if read.part not in ("", *names)]:
                    told = f"no part {wrong[0]!r}; there are {', '.join(names)}"
                    raise self.fail(f"{claim.name_of(one)}.reads", told)
        for part in parts:
            values = [str(value) for value in part.axis.values] if part.axis else []
            at = part.departs.at if part.departs else ()
            if wrong := [label for label in at if label not in values]:
                told = f"{wrong[0]!r} is none of the axis' values: {', '.join(values)}"
                raise self.fail(f"{where}.part.{part.name}.departs.at", told)

    def check_schemes(self, names: Sequence[str], known: Sequence[str], where: str) -> None:
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise self.fail(where, f"{name!r} is no scheme or @group{hint}")

    def part(
        self, table: Any, where: str, known: Sequence[str], bases: Mapping[str, Any]
    ) -> Part | None:
        """A part at one scale; None where the scale leaves it out."""
        rest = dict(table)
        if rest.get("reps", 1) == 0:
            return None
        name = rest.setdefault("name", "main")
        here = f"{where}.part.{name}"
        if rest.get("base") not in bases:
            raise self.fail(f"{here}.base", f"expected one of {', '.join(bases)}")
        self.check_schemes(rest.get("schemes", []), known, here)
        axis = rest.pop("axis", None)
        if axis is not None:
            axis = self.make(Axis, axis, f"{here}.axis")
            for key, values in axis.sets.items():
                if isinstance(values, list) and len(values) != len(axis.values):
                    raise self.fail(f"{here}.axis.sets.{key}", f"expected {len(axis.values)}")
        if "departs" in rest:
            rest["departs"] = self.make(Departure, rest["departs"], f"{here}.departs")
        part: Part = self.make(Part, rest, here, axis=axis)
        self.check_engine(part.engine, here)
        return part

    def check_engine(self, engine: str, where: str) -> None:
        if engine not in PART_ENGINES:
            raise self.fail(f"{where}.engine", f"expected one of {', '.join(PART_ENGINES)}")

    def claim(self, table: Mapping[str, Any], figure: str, known: Sequence[str]) -> Claim:
        rest = dict(table)
        where = str(rest.get("id", f"{figure}.claim"))
        own = {entry.name for entry in fields(Assertion)} | {"measure"}
        shared = {entry.name for entry in fields(Claim)}
        listed = rest.pop("part", None)
        self.check_keys(rest, sorted(own | shared - {"assertions"}), where)
        if listed is None:
            alone = {key: rest.pop(key) for key in list(rest) if key in own - shared}
            read = [self.assertion(alone, where, known)]
        else:
            if misplaced := sorted(rest.keys() & (own - shared)):
                raise self.fail(f"{where}.{misplaced[0]}", "a claim in parts says it in each part")
            read = [self.assertion(one, f"{where}.part", known, named=True) for one in listed]
            names = [one.id for one in read]
            if names != [chr(ord("a") + n) for n in range(len(names))] or len(names) < 2:
                raise self.fail(f"{where}.part", "expected two or more: a, b, ... in this order")
        words = rest.get("statement", "")
        read = [self.each_run(one, words, f"{where}.{one.id}".rstrip(".")) for one in read]
        claim: Claim = self.make(Claim, rest, where, assertions=tuple(read))
        if not claim.id.startswith(f"{figure}-c"):
            raise self.fail(where, f"the id begins with {figure}-c")
        if claim.kind not in KINDS:
            raise self.fail(f"{where}.kind", f"expected one of {', '.join(KINDS)}")
        if claim.basis not in BASES:
            raise self.fail(f"{where}.basis", f"expected one of {', '.join(BASES)}")
        self.check_inconsistency(claim.inconsistency, f"{where}.inconsistency")
        return claim

    def each_run(self, one: Assertion, statement: str, where: str) -> Assertion:
        """With what its words say, where the file does not."""
        if one.computed or one.not_run:
            if one.each_run is not None:
                raise self.fail(f"{where}.each_run", "of what is judged by runs")
            return one
        said = bool(UNIVERSAL.search(f"{one.says} {statement}"))
        if one.each_run is said:
            raise self.fail(f"{where}.each_run", f"its words say so: {json.dumps(said)}")
        return replace(one, each_run=said) if one.each_run is None else one

    def check_inconsistency(self, number: str, where: str) -> None:
        if number and number not in notes()["inconsistency"]:
            raise self.fail(where, f"no {number} in notes.toml")

    def assertion(
        self, table: Mapping[str, Any], where: str, known: Sequence[str], *, named: bool = False
    ) -> Assertion:
        rest = dict(table)
        if named:
            where = f"{where}.{rest.get('id', '?')}"
            if not rest.get("says"):
                raise self.fail(f"{where}.says", "what of the sentence this part is")
        measures = rest.pop("measure", [])
        listed = measures if isinstance(measures, list) else [measures]
        bounds: dict[str, Any] = {key: rest[key] for key in ("lo", "hi") if key in rest}
        read = tuple(self.measure({**bounds, **one}, where, known) for one in listed)
        for key, kind in (("printed", Printed), ("contradiction", Contradiction)):
            if key in rest:
                rest[key] = self.make(kind, rest[key], f"{where}.{key}")
        rest["reads"] = self.reads(rest.get("reads", []), f"{where}.reads", known)
        found: Assertion = self.make(Assertion, rest, where, measures=read)
        self.check_engine(found.engine, where)
        if found.contradiction:
            self.check_inconsistency(found.contradiction.by, f"{where}.contradiction.by")
        if not found.not_run:
            self.check_bounds(found, where)
            self.check_printed(found, where)
        return found

    def reads(self, value: Any, where: str, known: Sequence[str]) -> tuple[Reads, ...]:
        """The name of a part, a table, or a list of these."""
        found = []
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, str | dict):
                raise self.fail(where, "expected the name of a part, a table, or a list of these")
            table = {"part": one} if isinstance(one, str) else dict(one)
            if isinstance(table.get("scheme"), str):
                table["scheme"] = [table["scheme"]]
            read: Reads = self.make(Reads, table, where)
            self.check_schemes(read.scheme, known, f"{where}.scheme")
            if read.x and read.x[0] > read.x[1]:
                raise self.fail(f"{where}.x", "expected from, to")
            found.append(read)
        return tuple(found)

    def check_bounds(self, found: Assertion, where: str) -> None:
        """Something says how it is found and what is accepted, and does so once."""
        read = found.measures
        bounded = any(map(math.isfinite, (found.lo, found.hi))) or (
            bool(read) and all(math.isfinite(m.lo) or math.isfinite(m.hi) for m in read)
        )
        if not bounded:
            raise self.fail(where, "no bound: expected lo or hi, of the claim or each measure")
        if found.lo > found.hi:
            raise self.fail(where, f"lo = {found.lo:g} is above hi = {found.hi:g}")
        if not read and not found.check:
            raise self.fail(where, "neither measure nor check says how it is found")
        if read and found.check:
            raise self.fail(where, "a measure or a check, not both")
        if found.reads and not found.check:
            raise self.fail(f"{where}.reads", "a measure has its own part; reads is of checks")
        if found.computed and (found.reads or not found.check):
            raise self.fail(f"{where}.computed", "of a check without reads")

    def check_printed(self, found: Assertion, where: str) -> None:
        """What is accepted may be more than what is printed, not less."""
        own = found.printed
        if own is None:
            if any(measure.printed for measure in found.measures):
                raise self.fail(f"{where}.printed", "wanted where a measure has one, if only {}")
            return
        if found.check and (own.x is not None or own.need is not None):
            raise self.fail(f"{where}.printed", "a check has a range of its own: lo and hi only")
        for measure in found.measures:
            x, wide = measure.x, (measure.printed or own).x
            if x and wide and (wide[0] > x[0] or wide[1] < x[1]):
                raise self.fail(f"{where}.printed.x", "narrower than what is accepted")
        pairs = [(found.lo, found.hi, own)] if not found.measures else []
        pairs += [(m.lo, m.hi, m.printed or own) for m in found.measures]
        for lo, hi, printed in pairs:
            if (printed.lo is not None and printed.lo < lo) or (
                printed.hi is not None and printed.hi > hi
            ):
                raise self.fail(f"{where}.printed", "wider than what is accepted")

    def measure(self, table: Mapping[str, Any], where: str, known: Sequence[str]) -> Measure:
        rest = dict(table)
        for key in ("scheme", "minus", "over"):
            if isinstance(rest.get(key), str):
                rest[key] = [rest[key]]
            self.check_schemes(rest.get(key, []), known, f"{where}.measure.{key}")
        if "printed" in rest:
            rest["printed"] = self.make(Printed, rest["printed"], f"{where}.measure.printed")
        read: Measure = self.make(Measure, rest, f"{where}.measure")
        if read.reduce and read.reduce not in REDUCTIONS:
            raise self.fail(f"{where}.measure.reduce", f"expected one of {', '.join(REDUCTIONS)}")
        return read


def _expanded(part: Part, book: Book) -> Part:
    return replace(part, schemes=tuple(dict.fromkeys(book.members(part.schemes))))
