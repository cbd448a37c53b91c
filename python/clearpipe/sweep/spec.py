"""What a `[sweep]` table says: axes, points, replications, plots.

A sweep is a scenario file with one more table. Everything is checked before anything runs, and a
message names the file and the key.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import itertools
import json
import math
import operator
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clearpipe import api
from clearpipe import until as stopping
from clearpipe.api import MAX_REPS
from clearpipe.errors import ConfigError
from clearpipe.sweep import metrics
from clearpipe.units import PARSED, tell
from clearpipe.units import split as split_quantity
from clearpipe.until import Until

Value = bool | int | float | str | list[Any] | dict[str, Any]

MAX_POINTS = 1_000_000
SERIES = re.compile(r"\s*(linspace|logspace)\(([^,()]+),([^,()]+),([^,()]+)\)\s*")
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
CONDITION = re.compile(r"\s*(<=|>=|<|>)\s*(.+)")


@dataclass(frozen=True)
class Axis:
    """One thing that varies: a key with its values, or several keys that go together."""

    name: str
    keys: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    """For each setting of the axis, a value for each key."""
    labels: tuple[str, ...]
    """What plots and tables call each setting."""

    @functools.cached_property
    def at(self) -> Mapping[str, int]:
        """The place of each label."""
        return {label: i for i, label in enumerate(self.labels)}

    @functools.cached_property
    def numbers(self) -> tuple[list[float], str] | None:
        """The settings in their base unit, and that; None where they are no quantities."""
        if len(self.keys) != 1:
            return None
        found = [split_quantity(value[0]) for value in self.values]
        known = [one for one in found if one is not None]
        if len(known) < len(found) or len({unit for _, unit in known}) != 1:
            return None
        return [value for value, _ in known], known[0][1]

    @functools.cached_property
    def told(self) -> Sequence[str]:
        """The settings as people read them, with as many digits as tell them apart."""
        for digits in (4, 6, 9):
            found = [_told(label, digits) for label in self.labels]
            if len(set(found)) == len(found):
                return found
        return self.labels


def _told(label: str, digits: int) -> str:
    quantity = split_quantity(label)
    return label if quantity is None else tell(*quantity, digits=digits)


@dataclass(frozen=True)
class Point:
    """One setting of every axis."""

    number: int
    sets: tuple[str, ...]
    """The options that make it of the scenario file."""
    coordinates: Mapping[str, str]
    """The label of each axis."""
    values: Mapping[str, Value]
    """The value of each axis that has one key, and of each key."""

    @property
    def label(self) -> str:
        """All coordinates in a line."""
        return ", ".join(f"{name}={label}" for name, label in self.coordinates.items()) or "base"


@dataclass(frozen=True)
class Plot:
    """One figure."""

    name: str
    x: str
    y: tuple[str, ...]
    lines: str | None = None
    panels: str | None = None
    x_scale: str | None = None
    """`linear` or `log`; None where the values choose (`study.scaled`)."""
    y_scale: str | None = None
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    y_min: float | None = None
    y_max: float | None = None

    @property
    def key(self) -> str:
        """Its table in the file."""
        return self.name if self.name == "plot" else f"plot.{self.name}"


@dataclass(frozen=True)
class Spec:
    """A sweep."""

    source: api.Source
    resolved: str
    """The scenario without what varies, every default written out."""
    name: str
    seed: int
    sets: tuple[str, ...]
    axes: tuple[Axis, ...] = ()
    points: tuple[Point, ...] = ()
    reps: int = 1
    until: Until | None = None
    keep: str = "all"
    plots: tuple[Plot, ...] = ()
    engine: api.Engine = "packet"

    def metrics(self) -> Iterable[tuple[str, str]]:
        """The metrics that are used as numbers, each with the key that names it."""
        for plot in self.plots:
            yield from ((metric, f"{plot.key}.y") for metric in plot.y)
        if self.until is not None:
            yield self.until.metric, self.until.key

    def check_metrics(self) -> None:
        """Refuses a metric that no run of any point can have. Which links and groups there are may
        vary from point to point."""
        left = dict(self.metrics())
        known: dict[str, None] = {}
        for toml in self._resolved():
            known |= dict.fromkeys(metrics.possible(tomllib.loads(toml)))
            left = {metric: where for metric, where in left.items() if metric not in known}
            if not left:
                return
        for metric, where in left.items():
            metrics.check(metric, known, f"{self.source.name}: {where}")

    def _resolved(self) -> Iterator[str]:
        """The scenario without what varies, and then that of each point that is valid."""
        yield self.resolved
        for point in self.points:
            with contextlib.suppress(ConfigError):
                yield api.resolve(self.source, set=(*self.sets, *point.sets)).toml


def load(
    file: api.Scenario | api.Source,
    *,
    sets: Sequence[str] = (),
    seed: int | None = None,
    reps: int | None = None,
    until: str | None = None,
    engine: api.Engine = "packet",
) -> Spec:
    """Read the sweep of a file or of a `Scenario`; options come before what it says.

    Raises ConfigError, also for a point that is not a valid scenario only if all of them are not:
    a single one that is wrong is a failed run.
    """
    source = api.source(file)
    return parse(source, sets=sets, seed=seed, reps=reps, until=until, engine=engine)


def parse(
    source: api.Source,
    *,
    sets: Sequence[str] = (),
    seed: int | None = None,
    reps: int | None = None,
    until: str | None = None,
    engine: api.Engine = "packet",
) -> Spec:
    """As `load`, of a text that was read or made before."""
    resolved = api.resolve(source, set=sets).toml
    base = tomllib.loads(resolved)
    # The scenario reader has checked the syntax.
    document = tomllib.loads(source.text)
    reader = _Reader(source.name, document)
    for one in filter(_of_sweep, sets):
        text = "[sweep] and [plot] are read from the file; --reps and --until are options"
        raise ConfigError(f"--set {one}: {text}", file=source.name, key=one.partition("=")[0])
    used = base["seed"] if seed is None else seed
    api.check_engine(engine)
    if engine == "linux":
        message = "sweeps run the packet and the fluid engine; runs in real time cannot be repeated"
        raise ConfigError(message, key="engine")
    plain = Spec(source, resolved, base["name"], used, tuple(sets), engine=engine)
    spec = reader.spec(plain)
    changes: dict[str, Any] = {}
    if reps is not None:
        reader.count(reps, "reps")
        changes |= {"reps": reps, "until": None}
    if until is not None:
        changes["until"] = stopping.parse(until, spec.until)
    spec = replace(spec, **changes)
    spec.check_metrics()
    return spec


def _of_sweep(key: str) -> bool:
    """Is it a key of the sweep itself or of its figures?"""
    return re.match(r"""\s*["']?(sweep|plot)["']?\s*[.=]""", f"{key}=") is not None


class _Reader:
    """Reads the tables of one file."""

    def __init__(self, file: str, document: Mapping[str, Any]) -> None:
        self.file = file
        self.document = document

    def fail(self, key: str, message: str) -> ConfigError:
        return ConfigError(f"{self.file}: {key}: {message}", file=self.file, key=key)

    def known(self, table: Mapping[str, Any], key: str, allowed: Iterable[str]) -> None:
        """Refuses keys that are not there, with the nearest that is."""
        names = list(allowed)
        for name in table:
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(names)}"
                raise self.fail(f"{key}.{name}", f"unknown key; {hint}")

    def table(self, value: object, key: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(key, "expected a table")
        return value

    def tables(self, value: object, key: str) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise self.fail(key, "expected a list of tables")
        return [self.table(one, f"{key}[{i}]") for i, one in enumerate(value)]

    def spec(self, base: Spec) -> Spec:
        """`base` with what the tables say."""
        if "sweep" not in self.document:
            raise self.fail("sweep", "missing table; a sweep says what varies in [sweep]")
        table = self.table(self.document["sweep"], "sweep")
        self.known(table, "sweep", ("vary", "zip", "only", "skip", "reps", "until", "keep"))
        axes = [*self.varied(table.get("vary", {})), *self.zipped(table.get("zip", []))]
        self.distinct(axes)
        self.settable(axes)
        points = self.points(axes, table)
        reps = self.count(table.get("reps", 1), "sweep.reps")
        keep = table.get("keep", "all")
        if keep not in ("all", "summary"):
            raise self.fail("sweep.keep", f'{keep!r}: expected "all" or "summary"')
        until = self.until(table["until"]) if "until" in table else None
        return replace(
            base,
            axes=tuple(axes),
            points=points,
            reps=reps,
            until=until,
            keep=keep,
            plots=tuple(self.plots(axes, points)),
        )

    def count(self, value: object, key: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_REPS:
            raise self.fail(key, f"{value!r}: expected a whole number from 1 to {MAX_REPS}")
        return value

    def until(self, value: object) -> Until:
        table = self.table(value, "sweep.until")
        self.known(table, "sweep.until", ("ci", "metric", "min_reps", "max_reps"))
        if "ci" not in table:
            raise self.fail("sweep.until.ci", 'missing key; expected a share such as "2%"')
        until = Until(
            str(table.get("metric", "utilization_ratio")),
            stopping.percentage(table["ci"], f"{self.file}: sweep.until.ci"),
            self.count(table.get("min_reps", 5), "sweep.until.min_reps"),
            self.count(table.get("max_reps", 100), "sweep.until.max_reps"),
        )
        return stopping.checked(until, f"{self.file}: sweep.until")

    # Axes.

    def varied(self, value: object) -> Iterable[Axis]:
        for key, given in self.table(value, "sweep.vary").items():
            path = f"sweep.vary.{key}"
            if isinstance(given, dict):
                hint = f'write it as one quoted key: "{key}.{next(iter(given), "...")}" = [...]'
                raise self.fail(path, f"expected a list or a series; {hint}")
            values = self.values(given, path)
            labels = tuple(self.labels(values, path))
            yield Axis(key, (key,), tuple((one,) for one in values), labels)

    def zipped(self, value: object) -> Iterable[Axis]:
        for i, table in enumerate(self.tables(value, "sweep.zip")):
            where = f"sweep.zip[{i}]"
            keys = [key for key in table if key not in ("name", "labels")]
            if not keys:
                raise self.fail(where, "no key varies in it")
            columns = [self.values(table[key], f"{where}.{key}") for key in keys]
            if len({len(column) for column in columns}) > 1:
                lengths = ", ".join(f"{k} {len(c)}" for k, c in zip(keys, columns, strict=True))
                raise self.fail(where, f"the lists are of different lengths: {lengths}")
            labels = table.get("labels")
            if labels is None:
                labels = self.labels(columns[0], where)
            elif not isinstance(labels, list) or len(labels) != len(columns[0]):
                raise self.fail(f"{where}.labels", f"expected a list of {len(columns[0])} texts")
            labels = tuple(str(label) for label in labels)
            if len(set(labels)) < len(labels):
                raise self.fail(f"{where}.labels", "two settings have the same label")
            name = str(table.get("name", keys[0]))
            yield Axis(name, tuple(keys), tuple(zip(*columns, strict=True)), labels)

    def values(self, given: object, path: str) -> list[Value]:
        """A list, or a series that is written as text."""
        if isinstance(given, list):
            if not given:
                raise self.fail(path, "the list is empty")
            for value in given:
                if not _is_value(value):
                    text = "expected a text, a number, true, false, a list or a table"
                    raise self.fail(path, f"{value}: {text}; write dates and times in quotes")
            return list(given)
        match = SERIES.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            raise self.fail(
                path,
                f"{given!r}: expected a list, linspace(FIRST, LAST, N) or logspace(FIRST, LAST, N)",
            )
        return self.series(match, path)

    def series(self, match: re.Match[str], path: str) -> list[Value]:
        kind, *ends, steps = match.groups()
        first, last = (split_quantity(end) for end in ends)
        if first is None or last is None or first[1] != last[1]:
            raise self.fail(path, f"{match[0].strip()}: expected two quantities of one kind")
        if not re.fullmatch(r"\s*\d+\s*", steps) or not 2 <= int(steps) <= MAX_POINTS:
            raise self.fail(path, f"{steps.strip()}: expected a number of values from 2 on")
        n, (low, unit), high = int(steps), first, last[0]
        if kind == "logspace" and (low <= 0 or high <= 0):
            raise self.fail(path, f"{match[0].strip()}: both ends must be above zero")
        whole = all(re.fullmatch(r"\s*\d+\s*", end) for end in ends)
        return [_in_series(kind, low, high, i / (n - 1), unit, whole) for i in range(n)]

    def labels(self, values: Sequence[Value], path: str) -> Iterable[str]:
        seen: set[str] = set()
        for value in values:
            label = value if isinstance(value, str) else json.dumps(value)
            if label in seen:
                raise self.fail(path, f"{label} appears twice")
            seen.add(label)
            yield label

    def distinct(self, axes: Sequence[Axis]) -> None:
        names = [axis.name for axis in axes]
        keys = [key for axis in axes for key in axis.keys]
        for what, many in (("axis", names), ("key", keys)):
            for one in many:
                if many.count(one) > 1:
                    raise self.fail("sweep", f"the {what} {one} varies twice")

    def settable(self, axes: Sequence[Axis]) -> None:
        for axis in axes:
            if "seed" in axis.keys:
                text = "it is one for the whole sweep (--seed), and replications differ by `reps`"
                raise self.fail("sweep", f"the seed cannot vary: {text}")
            for key in filter(_of_sweep, axis.keys):
                raise self.fail("sweep", f"{key} cannot vary: it is no key of a single run")

    # Points.

    def points(self, axes: Sequence[Axis], table: Mapping[str, Any]) -> tuple[Point, ...]:
        size = math.prod(len(axis.values) for axis in axes)
        if size > MAX_POINTS:
            raise self.fail("sweep", f"{size} points; at most {MAX_POINTS} are allowed")
        rules = {
            key: [self.rule(rule, axes, f"sweep.{key}[{i}]") for i, rule in enumerate(rules)]
            for key in ("only", "skip")
            if (rules := self.tables(table.get(key, []), f"sweep.{key}"))
        }
        chosen: list[Point] = []
        for setting in itertools.product(*(range(len(axis.values)) for axis in axes)):
            point = _point(len(chosen), axes, setting)
            only, skip = rules.get("only"), rules.get("skip", [])
            if only is not None and not any(rule.holds(point) for rule in only):
                continue
            if not any(rule.holds(point) for rule in skip):
                chosen.append(point)
        if not chosen:
            raise self.fail("sweep", "the conditions leave no point")
        return tuple(chosen)

    def rule(self, table: Mapping[str, Any], axes: Sequence[Axis], where: str) -> _Rule:
        names = {axis.name for axis in axes} | {key for axis in axes for key in axis.keys}
        self.known(table, where, sorted(names))
        if not table:
            raise self.fail(where, "an empty condition")
        tests = {
            name: self.test(value, _settings(axes, name), f"{where}.{name}")
            for name, value in table.items()
        }
        return _Rule(tests)

    def test(
        self, given: object, settings: Sequence[tuple[str | None, Value]], where: str
    ) -> _Test:
        match = CONDITION.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            # What varies may be a list itself.
            whole = _Test("in", (given,))
            if not isinstance(given, list) or any(whole.holds(*one) for one in settings):
                wanted = [given]
            else:
                wanted = given
            for value in wanted:
                if not any(_Test("in", (value,)).holds(*one) for one in settings):
                    raise self.fail(where, f"{value!r}: no setting of it has this value")
            return _Test("in", tuple(wanted))
        bound = split_quantity(match[2])
        if bound is None:
            raise self.fail(where, f"{match[2]}: expected a quantity after {match[1]}")
        return _Test(match[1], bound)

    # Plots.

    def plots(self, axes: Sequence[Axis], points: Sequence[Point]) -> Iterable[Plot]:
        table = self.table(self.document.get("plot", {}), "plot")
        several = bool(table) and all(isinstance(value, dict) for value in table.values())
        named = table.items() if several else [("plot", table)] if table else []
        for name, one in named:
            where = f"plot.{name}" if several else "plot"
            if not re.fullmatch(r"[^/\\\x00-\x1f]+", name) or name.startswith("."):
                raise self.fail(where, f"{name!r} cannot be the name of a file")
            plot = self.plot(name, self.table(one, where), axes, where)
            self.uses_all(plot, axes, points, where)
            yield plot

    def uses_all(
        self, plot: Plot, axes: Sequence[Axis], points: Sequence[Point], where: str
    ) -> None:
        """Refuses a plot that would show points of different settings as one."""
        for axis in axes:
            settings = {point.coordinates[axis.name] for point in points}
            if axis.name not in (plot.x, plot.lines, plot.panels) and len(settings) > 1:
                free = [key for key in ("lines", "panels") if getattr(plot, key) is None]
                hint = " or ".join([*(f'{key} = "{axis.name}"' for key in free), "`only`"])
                text = f"the axis {axis.name} has {len(settings)} settings and is not in the plot"
                raise self.fail(where, f"{text}; {hint} makes it one")

    def plot(self, name: str, table: dict[str, Any], axes: Sequence[Axis], where: str) -> Plot:
        self.known(table, where, [key for key in Plot.__dataclass_fields__ if key != "name"])
        names = [axis.name for axis in axes]
        for key in ("x", "lines", "panels"):
            if key in table and table[key] not in names:
                near = difflib.get_close_matches(str(table[key]), names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the axes are {', '.join(names)}"
                raise self.fail(f"{where}.{key}", f"{table[key]!r} is not an axis; {hint}")
        for key in ("x", "y"):
            if key not in table:
                raise self.fail(f"{where}.{key}", "missing key")
        self.plot_values(table, where)
        y = table["y"]
        metrics = tuple(y) if isinstance(y, list) else (y,)
        if not metrics or not all(isinstance(metric, str) for metric in metrics):
            raise self.fail(f"{where}.y", "expected a metric or a list of metrics")
        return Plot(**{**table, "name": name, "y": metrics})

    def plot_values(self, table: dict[str, Any], where: str) -> None:
        for key in ("x_scale", "y_scale"):
            if table.get(key, "linear") not in ("linear", "log"):
                raise self.fail(f"{where}.{key}", f'{table[key]!r}: expected "linear" or "log"')
        for key in ("y_min", "y_max"):
            value = table.get(key)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                raise self.fail(f"{where}.{key}", f"{value!r}: expected a number")
        for key in ("title", "x_label", "y_label"):
            if not isinstance(table.get(key, ""), str):
                raise self.fail(f"{where}.{key}", "expected a text")


@dataclass(frozen=True)
class _Test:
    """One condition on one axis."""

    kind: str
    bound: Any

    def holds(self, label: str | None, value: Value) -> bool:
        if self.kind == "in":
            return any(label == wanted or _equal(value, wanted) for wanted in self.bound)
        quantity, (bound, unit) = split_quantity(value), self.bound
        if quantity is None or quantity[1] != unit:
            return False
        number = quantity[0]
        return bool(COMPARE[self.kind](number, bound))


def _equal(value: Value, wanted: object) -> bool:
    """Are they the same, also as quantities? 1000ms is 1s."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if value == wanted:
        return True
    if not isinstance(wanted, str | int | float):
        return False
    a, b = split_quantity(value), split_quantity(wanted)
    return a is not None and b is not None and a[1] == b[1] and math.isclose(a[0], b[0])


def _settings(axes: Sequence[Axis], name: str) -> list[tuple[str | None, Value]]:
    """What the settings of an axis, or the values of a key, are called and are."""
    for axis in axes:
        if axis.name == name:
            at = axis.keys.index(name) if name in axis.keys else None
            return [
                (label, label if at is None else values[at])
                for label, values in zip(axis.labels, axis.values, strict=True)
            ]
        if name in axis.keys:
            return [(None, values[axis.keys.index(name)]) for values in axis.values]
    return []


def _is_value(value: object) -> bool:
    if isinstance(value, list | dict):
        return all(_is_value(one) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, bool | int | float | str)


@dataclass(frozen=True)
class _Rule:
    """Conditions that must hold together."""

    tests: Mapping[str, _Test]

    def holds(self, point: Point) -> bool:
        return all(
            test.holds(point.coordinates.get(name), point.values.get(name, ""))
            for name, test in self.tests.items()
        )


def _in_series(kind: str, low: float, high: float, part: float, unit: str, whole: bool) -> Value:
    """The ends are exact, what is between them has six digits."""
    if part in (0.0, 1.0):
        value = high if part else low
    elif kind == "linspace":
        value = low + (high - low) * part
    else:
        value = low * (high / low) ** part
    if whole:
        return round(value)
    if part not in (0.0, 1.0):
        value = float(f"{value:.6g}")
    return _written(value, unit) if unit else value


def _written(value: float, unit: str) -> str:
    """With the largest decimal unit that leaves at least 1 in front of the point."""
    units = [(size, name) for name, size in PARSED[unit].items() if name not in ("min", "h")]
    decimal = [(size, name) for size, name in units if "i" not in name]
    size, name = max((one for one in decimal if abs(value) >= one[0]), default=min(decimal))
    return f"{value / size:.12g}{name}"


def _point(number: int, axes: Sequence[Axis], setting: Sequence[int]) -> Point:
    sets: list[str] = []
    coordinates: dict[str, str] = {}
    values: dict[str, Value] = {}
    for axis, at in zip(axes, setting, strict=True):
        coordinates[axis.name] = axis.labels[at]
        for key, value in zip(axis.keys, axis.values[at], strict=True):
            sets.append(f"{key}={toml_value(value)}")
            values[key] = value
        if len(axis.keys) == 1:
            values[axis.name] = axis.values[at][0]
        else:
            values.setdefault(axis.name, axis.labels[at])
    return Point(number, tuple(sets), coordinates, values)


def toml_value(value: Value) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {toml_value(one)}" for key, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(one) for one in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else repr(value)
