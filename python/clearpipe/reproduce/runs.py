"""From a figure's parts to sweeps, and from the store back to numbers."""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import functools
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import clearpipe as cp
from clearpipe import api, values
from clearpipe.errors import ConfigError
from clearpipe.reproduce.data import Book, Figure, Part, Scheme
from clearpipe.sweep import metrics, results, runner
from clearpipe.sweep import spec as specs
from clearpipe.sweep.spec import Spec
from clearpipe.sweep.store import Store
from clearpipe.units import split as split_quantity

if TYPE_CHECKING:
    from clearpipe.reproduce.readings import Reading

SIGNS = (" / ", " - ")
FUNCTION = re.compile(r"(mean|min|max|sum|jain)\((.+)\)")


# From a figure to sweeps.


Files = Mapping[str, Path]
"""Recorded traces that are there, by name."""


def scenario(
    figure: Figure, part: Part, reading: Reading | None = None, files: Files | None = None
) -> str:
    """The part as a sweep's file: what `clearpipe sweep run` and `clearpipe run` take. Of traces
    it has those of the files, or without any their names alone."""
    return values.toml(_document(figure, part, reading, files))


def _document(
    figure: Figure, part: Part, reading: Reading | None, files: Files | None = None
) -> dict[str, Any]:
    owner = figure.book
    document = copy.deepcopy(dict(owner.bases[part.base]))
    document = {"schema": 1, "name": _name(figure, part), **document}
    for key, value in part.sets.items():
        set_entry(document, key, value)
    if part.duration:
        document["duration"] = part.duration
    # The first scheme is the file's own, so that it can be run without the sweep.
    for key, value in scheme_sets(owner.schemes[part.schemes[0]]).items():
        if _found(document, key) is None:
            set_entry(document, key, value)
    document["sweep"] = _sweep(figure, part, document, files)
    if reading is not None and not part.real:
        reading.change(document)
    return document


def concerns(reading: Reading, figure: Figure, part: Part) -> bool:
    """Does the reading change anything in the part's runs?"""
    return _document(figure, part, reading) != _document(figure, part, None)


def sweep(
    figure: Figure,
    part: Part,
    only: Sequence[Mapping[str, Any]] = (),
    reading: Reading | None = None,
    files: Files | None = None,
) -> Spec | None:
    """The part as a sweep; None if `only` or the files leave none of its points."""
    if part.traced and files is not None and not set(files) & set(_traces(part)):
        return None
    text = scenario(figure, part, reading, files)
    if only:
        document = tomllib.loads(text)
        names = {axis["name"] for axis in document["sweep"]["zip"]}
        # A condition on an axis that the part does not have leaves none of its points.
        rules = [rule for rule in only if rule.keys() <= names]
        if not rules:
            return None
        document["sweep"]["only"] = rules
        text = values.toml(document)
    spec = specs.parse(api.Source(f"{_name(figure, part)}.toml", text))
    return replace(spec, engine=part.engine)


def _name(figure: Figure, part: Part) -> str:
    return figure.id if part.name == "main" else f"{figure.id}-{part.name}"


def set_entry(document: dict[str, Any], key: str, value: Any) -> None:
    """Give the entry of this path, `topology.rate`, a value. Raises ConfigError if something on the
    way is no table."""
    table = document
    *path, last = key.split(".")
    for step in path:
        table = table.setdefault(step, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{key}: {step} is no table", key=key)
    table[last] = value


def _traces(part: Part) -> tuple[Any, ...]:
    """The traces that the part names."""
    assert part.axis is not None
    return part.axis.values


def _sweep(
    figure: Figure, part: Part, document: Mapping[str, Any], files: Files | None
) -> dict[str, Any]:
    # Schemes first: what the axis sets may be a parameter of theirs.
    zips = [_schemes(figure, part, document)]
    if part.axis is not None:
        axis = part.axis
        if part.traced and files is not None:
            axis = replace(axis, values=tuple(name for name in axis.values if name in files))
        columns: dict[str, Any] = {}
        if axis.key:
            columns[axis.key] = list(axis.values)
        if part.traced and files is not None:
            columns[axis.key] = [str(files[name].absolute()) for name in axis.values]
        for key, values in axis.sets.items():
            columns[key] = (
                list(values)
                if isinstance(values, list)
                else [_filled(values, x) for x in axis.values]
            )
        if part.at_least_rtts:
            columns["duration"] = list(_durations(part, document))
        labels = [str(value) for value in axis.values]
        zips.append({"name": axis.name, "labels": labels, **columns})
    table: dict[str, Any] = {"reps": part.reps, "zip": zips}
    if part.skip:
        table["skip"] = [dict(rule) for rule in part.skip]
    return table


def _filled(template: Any, x: Any) -> Any:
    return template.replace("{x}", str(x)) if isinstance(template, str) else template


def _durations(part: Part, document: Mapping[str, Any]) -> Iterator[str]:
    assert part.axis is not None
    least = split_quantity(document["duration"])
    fixed = document.get("topology", {}).get("rtt", "0s")
    for x in part.axis.values:
        rtt = split_quantity(x if part.axis.key == "topology.rtt" else fixed)
        if rtt is None or least is None:
            raise ConfigError("at_least_rtts needs duration and topology.rtt", key="at_least_rtts")
        yield f"{max(least[0], part.at_least_rtts * rtt[0]):.12g}s"


def _schemes(figure: Figure, part: Part, document: Mapping[str, Any]) -> dict[str, Any]:
    owner = figure.book
    chosen = [owner.schemes[name] for name in part.schemes]
    sets = [scheme_sets(scheme) for scheme in chosen]
    keys = list(dict.fromkeys(key for mine in sets for key in mine))
    columns = {key: [mine.get(key, _found(document, key)) for mine in sets] for key in keys}
    for key, column in columns.items():
        if any(value is None for value in column):
            raise ConfigError(
                f"{figure.id}: {key}: not all schemes set it, and the scenario does not", key=key
            )
    return {"name": "scheme", "labels": [scheme.name for scheme in chosen], **columns}


def scheme_sets(scheme: Scheme) -> dict[str, Any]:
    """The keys that make a scenario one of the scheme."""
    sets = dict(scheme.sets)
    if scheme.host is not None:
        sets["protocols.host"] = _kind(scheme.host)
    if scheme.router is not None:
        sets["queues.router"] = _kind(scheme.router)
    return sets


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


def _found(document: Any, key: str) -> Any:
    for step in key.split("."):
        if not isinstance(document, Mapping) or step not in document:
            return None
        document = document[step]
    return document


def check(figure: Figure, sweeps: Sequence[tuple[Part, Spec]], store: Store) -> None:
    """Refuses a panel's or a claim's metric that is a link's, where a run names no such link."""
    used = [(panel.metric, panel.part, "panel") for panel in figure.panels]
    used += [(one.metric, one.part, claim.id) for claim in figure.claims for one in claim.measures]
    wanted = {
        (name, where, wanted)
        for metric, wanted, where in used
        for name in names(metric)
        if metrics.is_of_link(name)
    }
    for part, spec in sweeps:
        mine = sorted((name, where) for name, where, of in wanted if _is_part(part, of))
        if mine:
            plans = runner.planned(spec, store, range(part.reps))
            for name, where in mine:
                runner.check_named(spec, plans, name, f"{figure.paper}.toml: {figure.id}: {where}")


def _is_part(part: Part, wanted: str) -> bool:
    """Does a name mean this part? None means all but those on real kernels."""
    return part.name == wanted if wanted else not part.real


def names(metric: str) -> Iterator[str]:
    """The names of a run's numbers in what a measure calls its metric."""
    for sign in SIGNS:
        if sign in metric:
            for side in metric.split(sign, 1):
                yield from names(side.strip())
            return
    match = FUNCTION.fullmatch(metric)
    yield match[2] if match else metric


# From the store to numbers.


class Censored(float):
    """A number that the end of a run has cut off: a time that had not come is longer than this.

    What is computed from one is censored, too, and never a value (`claims.Reading`).
    """

    side: int
    """1: the number is larger than this; -1: smaller; 0: nothing is known of it."""

    def __new__(cls, value: float, side: int = 1) -> Censored:
        made = super().__new__(cls, value)
        made.side = side
        return made

    @classmethod
    def if_any(cls, of: Iterable[float], value: float) -> float:
        """`value`, which grows with each of these."""
        return cls._joined({one.side for one in of if isinstance(one, cls)}, value)

    @classmethod
    def less(cls, a: float, b: float, value: float) -> float:
        """`value`, which grows with `a` and falls with `b`: their difference or quotient."""
        sides = {a.side} if isinstance(a, cls) else set()
        return cls._joined(sides | ({-b.side} if isinstance(b, cls) else set()), value)

    @classmethod
    def unknown(cls, of: Iterable[float], value: float) -> float:
        """`value`, of which nothing is known if one of these is censored."""
        return cls(value, 0) if any(isinstance(one, cls) for one in of) else value

    @classmethod
    def _joined(cls, sides: set[int], value: float) -> float:
        if not sides:
            return value
        return cls(value, sides.pop() if len(sides) == 1 else 0)


@dataclass(frozen=True)
class Seen:
    """What is read while something is judged."""

    cells: dict[Cell, None] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    """Metrics and series, those of a link with its name. Which times of a series is not known."""


_SEEN: ContextVar[Seen | None] = ContextVar("_SEEN", default=None)


@contextlib.contextmanager
def watched(seen: Seen | None) -> Iterator[None]:
    """Notes here what is read meanwhile; with None nothing is noted."""
    token = _SEEN.set(seen)
    try:
        yield
    finally:
        _SEEN.reset(token)


def note(name: str) -> None:
    """A metric or series of this name is read."""
    if (seen := _SEEN.get()) is not None:
        seen.names[name] = None


class _Noting(Mapping[str, float]):
    """A run's numbers, which are noted by name as they are read."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def __getitem__(self, name: str) -> float:
        self.cell.note(name)
        return self.cell.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.cell.numbers)

    def __len__(self) -> int:
        return len(self.cell.numbers)


@dataclass(frozen=True, eq=False)
class Cell:
    """One run."""

    part: str
    scheme: str
    label: str
    """The value of the axis."""
    x: float
    rep: int
    numbers: Mapping[str, float]
    opened: Callable[[], cp.Result]
    sets: tuple[str, ...]
    parts: Mapping[str, str] = field(default_factory=dict)
    """The versions of what it used."""
    bottleneck: str | None = None
    """The link that its metrics without a link's name are of."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """The run's numbers by name."""
        return self.numbers if _SEEN.get() is None else _Noting(self)

    @property
    def result(self) -> cp.Result:
        """The run's tables and series."""
        self.note()
        return self._loaded

    @functools.cached_property
    def _loaded(self) -> cp.Result:
        return self.opened()

    def load(self) -> cp.Result:
        """The same, which is not kept: many at a time would fill the memory."""
        self.note()
        return self.opened()

    def note(self, name: str = "") -> None:
        """The run is read, or this metric of it."""
        if (seen := _SEEN.get()) is not None:
            seen.cells[self] = None
            if name:
                link = told(name, [self])
                note(f"{name} of {link}" if link else name)


class Point(NamedTuple):
    """Where runs are, or would be."""

    part: str
    scheme: str
    x: float
    label: str = ""
    """The value of the axis."""


@dataclass
class Data:
    """The runs of a figure that are done."""

    paper: Book
    figure: Figure
    parts: tuple[Part, ...]
    cells: list[Cell] = field(default_factory=list)
    wanted: int = 0
    missing: list[Point] = field(default_factory=list)
    """Of the runs that are wanted and not done, or failed."""
    errors: list[str] = field(default_factory=list)
    chosen: bool = False
    """Are these some points only, chosen by the user?"""
    lacking: str = ""
    """Why nothing was run on a real kernel, if so."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Parts whose traces are not there: why they were not run."""
    files: Files | None = None
    """The traces that are there."""

    @property
    def complete(self) -> bool:
        """Are all runs there that the figure has?"""
        return not self.chosen and 0 < self.wanted == len(self.cells)

    @property
    def computed(self) -> bool:
        """Does the figure have no runs at all at this scale?"""
        return not self.parts and not self.without

    @property
    def versions(self) -> dict[str, str]:
        """The versions of all that the runs used, but for the machine's own kernel."""
        used = {part for cell in self.cells for part in cell.parts.items()}
        return {name: version for name, version in sorted(used) if name != "kernel"}

    def __post_init__(self) -> None:
        self._numbers: dict[tuple[int, str], float | None] = {}

    @functools.cached_property
    def asked(self) -> list[Point]:
        """Every point of the papers' ranges: those of full scale."""
        parts = self.figure.parts["full"]
        return [point for part in parts for point in points(self.figure, part)]

    def of(self, part: str = "", scheme: str = "") -> list[Cell]:
        """The runs of a part (all that are simulated if empty) and a scheme (all if empty)."""
        parts = self.named(part)
        return [cell for cell in self.cells if cell.part in parts and scheme in ("", cell.scheme)]

    def named(self, part: str = "") -> list[str]:
        """The parts that a name means: without one all but those on real kernels, or all of a
        figure that has nothing else."""
        any_kind = not part and not self.figure.simulated
        return [one.name for one in self.parts if any_kind or _is_part(one, part)]

    def means(self, wanted: str, part: str) -> bool:
        """Does a name mean this part, though this scale may leave it out?"""
        return wanted == part if wanted else not self.is_real(part)

    def is_real(self, part: str) -> bool:
        """Does this part, which this scale may leave out, run on a real kernel?"""
        parts = (*self.parts, *self.figure.parts["full"])
        return next(one.real for one in parts if one.name == part)

    def schemes(self, part: str = "") -> list[str]:
        """The schemes, in the order of the figure."""
        parts = self.named(part)
        names = [name for one in self.parts if one.name in parts for name in one.schemes]
        return list(dict.fromkeys(names))

    def number(self, cell: Cell, metric: str) -> float | None:
        """A run's number; None if it does not have it."""
        cell.note(metric)
        key = (id(cell), metric)
        if key not in self._numbers:
            # A number that is known by then would be noted otherwise than one that is not.
            with watched(None):
                self._numbers[key] = self._number(cell, metric)
        return self._numbers[key]

    def only(self, cells: Sequence[Cell]) -> Data:
        """The same with these of its runs; a number that is known is known there, too."""
        view = copy.copy(self)
        view.cells = list(cells)
        return view

    def _number(self, cell: Cell, metric: str) -> float | None:
        for sign in SIGNS:
            if sign in metric:
                left, right = metric.split(sign, 1)
                return _joined(
                    self.number(cell, left.strip()), sign, self.number(cell, right.strip())
                )
        if metric.startswith("@"):
            function = self.paper.function(metric[1:])
            if function is None:
                raise ConfigError(f"{self.figure.id}: the paper's module has no {metric[1:]}")
            return _finite(function(cell.result))
        if match := FUNCTION.fullmatch(metric):
            found = [v for name, v in cell.metrics.items() if fnmatch.fnmatch(name, match[2])]
            known = found and not any(map(math.isnan, found))
            return _finite(_over(match[1], found)) if known else None
        with contextlib.suppress(ValueError):
            return float(metric)
        return _finite(cell.metrics.get(metric))


def told(metric: str, cells: Iterable[Cell]) -> str:
    """What a metric's numbers are of, where they are a link's and it does not say of which."""
    if not any(map(metrics.is_of_link, names(metric))):
        return ""
    return f"link {' or '.join(dict.fromkeys(cell.bottleneck or '-' for cell in cells))}"


def _joined(a: float | None, sign: str, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    value = a - b if sign == " - " else quotient(a, b)
    return None if value is None else Censored.less(a, b, value)


def quotient(a: float, b: float) -> float | None:
    """What is over nothing is infinite; nothing over nothing is no number."""
    if b:
        return a / b
    return math.copysign(math.inf, a) if a else None


def _finite(value: Any) -> float | None:
    if value is None or math.isnan(value):
        return None
    return value if isinstance(value, Censored) else float(value)


def _over(how: str, values: Sequence[float]) -> float:
    if how == "jain":
        squares = len(values) * math.fsum(v * v for v in values)
        return math.fsum(values) ** 2 / squares if squares else math.nan
    return OVER[how](values)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)


OVER: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "min": min,
    "max": max,
    "sum": math.fsum,
}


def position(part: Part, label: str) -> float:
    """Where a setting of the part's axis stands: in base units, or its number in the list."""
    assert part.axis is not None
    numbers = [split_quantity(value) for value in part.axis.values]
    labels = [str(value) for value in part.axis.values]
    if all(number is not None for number in numbers):
        number = numbers[labels.index(label)]
        assert number is not None
        return number[0]
    return float(labels.index(label))


def place(part: Part, point: specs.Point) -> tuple[float, str]:
    """Where on the part's axis a point is, and its label there."""
    if part.axis is None:
        return 0.0, ""
    label = point.coordinates[part.axis.name]
    return position(part, label), label


def points(figure: Figure, part: Part) -> list[Point]:
    """Where the part has runs."""
    spec = sweep(figure, part)
    found = spec.points if spec is not None else ()
    return [Point(part.name, one.coordinates["scheme"], *place(part, one)) for one in found]


def read(
    figure: Figure,
    sweeps: Sequence[tuple[Part, Spec]],
    store: Store,
    *,
    chosen: bool = False,
    lacking: str = "",
) -> Data:
    """What the store has of a figure's runs. If something is `lacking` for those on a real kernel,
    a part without any is not wanted."""
    parts = tuple(part for part, _ in sweeps)
    data = Data(figure.book, figure, parts, chosen=chosen, lacking=lacking)
    for part, spec in sweeps:
        points = {point.number: point for point in spec.points}
        rows = results.read(spec, store).rows
        if part.real and lacking and not any(row.state == "done" for row in rows):
            continue
        for row in rows:
            data.wanted += 1
            point = points[row.run.point]
            x, label = place(part, point)
            if row.state != "done":
                data.missing.append(Point(part.name, point.coordinates["scheme"], x, label))
                if row.error:
                    data.errors.append(f"{row.run.label}: {row.error}")
                continue
            load = functools.partial(cp.load, store.directory(row.run.identity))
            about = (row.run.rep, row.metrics, load, row.run.sets, row.parts, row.run.bottleneck)
            data.cells.append(Cell(part.name, point.coordinates["scheme"], label, x, *about))
    return data
