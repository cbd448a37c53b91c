"""Two results, or two sets of replications, side by side.

Runs are paired by seed and replication (and by name if a side holds several scenarios): the random
streams of a pair are the same, so what differs is the scheme. The interval of the difference is the
95 % Student t interval over the pairs. Sides that share no seed and replication are told apart by
Welch's t interval, under that name, unless a tolerance is asked for: that is a matter of pairs.

A tolerance file is TOML with a table for each result table and a line for each column:

    [links]
    utilization_ratio = { abs = 0.01 }
    queue_mean_pkts = { rel = 0.10, abs = 1 }   # either may hold
    [groups]
    goodput_mean_bps = { rel = 0.05 }
    jain_index_ratio = { abs = 0.01 }

`abs` bounds |B - A| in the column's unit, `rel` bounds |B - A| / |A|. Every pair
must be within the tolerance.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import clearpipe as cp
from clearpipe import metric_titles, statistics, units
from clearpipe.errors import ConfigError, RunError
from clearpipe.result import one_run

if TYPE_CHECKING:
    from clearpipe.overview import Grid
    from clearpipe.report import sides as siding

Key = tuple[str, int, int]
Side = dict[Key, cp.Result]
Values = dict[metric_titles.Key, float]

SHOWN = {
    "links": (
        "utilization_ratio",
        "queue_mean_pkts",
        "queue_p90_pkts",
        "queue_mean_ratio",
        "drops_pkts",
        "total_drops_pkts",
        "marks_pkts",
    ),
    "groups": (
        "goodput_min_bps",
        "goodput_mean_bps",
        "goodput_max_bps",
        "jain_index_ratio",
        "fct_mean_s",
        "fct_max_s",
        "timeouts",
    ),
}


@dataclass(frozen=True)
class Bound:
    """How far B may be from A."""

    abs: float | None = None
    rel: float | None = None

    def holds(self, a: float, b: float) -> bool:
        """Is `b` near enough to `a`?"""
        off = math.fabs(b - a)
        near = self.abs is not None and off <= self.abs
        return near or (self.rel is not None and off <= self.rel * math.fabs(a))


Bounds = dict[tuple[str, str], Bound]


@dataclass(frozen=True)
class Row:
    """One number of both sides: means over the runs, and whether every pair is within bounds.

    `low` and `high` are the ends of the interval of `difference`; `n_a` and `n_b` count the runs
    that have the number at all, and without it in every pair there is no difference.
    """

    table: str
    item: str
    column: str
    a: float | None
    b: float | None
    difference: float | None
    relative_ratio: float | None
    within: bool | None
    low: float | None = None
    high: float | None = None
    n_a: int = 1
    n_b: int = 1


@dataclass(frozen=True)
class Comparison:
    """What `compare` prints."""

    pairs: list[dict[str, Any]]
    rows: list[Row]
    only_in_a: list[str]
    only_in_b: list[str]
    names: dict[str, list[str]]
    """The scenarios of sides `a` and `b`."""
    method: Literal["paired t", "Welch t"] | None
    """Where the intervals come from; None if there are none, and then `note` says why."""
    note: str
    bottlenecks: dict[str, list[str]]
    """The links that the scenarios of sides `a` and `b` name."""
    labels: tuple[str, str] = ("A", "B")
    """What the sides are called: what differs between them."""

    @property
    def outside(self) -> list[Row]:
        """The rows that are outside their tolerance."""
        return [row for row in self.rows if row.within is False]

    def as_json(self) -> dict[str, Any]:
        """Plain dictionaries."""
        return {
            "names": self.names,
            "labels": dict(zip("ab", self.labels, strict=True)),
            "method": self.method,
            "level_ratio": statistics.LEVEL,
            "note": self.note,
            "bottlenecks": self.bottlenecks,
            "pairs": self.pairs,
            "rows": [asdict(row) for row in self.rows],
            "only_in_a": self.only_in_a,
            "only_in_b": self.only_in_b,
            "within": not self.outside,
        }


def load_side(path: Path) -> Side:
    """A result directory, or all result directories in a directory."""
    if not path.is_dir():
        what = "not a directory" if path.exists() else "no such directory"
        raise ConfigError(f"{path}: {what}; expected a result directory", file=str(path))
    if (path / "meta.json").is_file():
        found = [path]
    else:
        found = sorted(p.parent for p in path.glob("*/meta.json") if p.parent.name[0] != ".")
    if not found:
        raise ConfigError(f"{path}: no result in it", file=str(path))
    side: Side = {}
    for directory in found:
        result = cp.load(directory)
        meta = result.meta
        key = (meta["name"], meta["seed"], meta["rep"])
        if key in side:
            raise ConfigError(f"{directory}: {_told(key)} appears twice", file=str(directory))
        side[key] = result
    return side


def _told(key: Key) -> str:
    name, seed, rep = key
    return f"{name + ' ' if name else ''}seed {seed} rep {rep}"


def compare(a: Path, b: Path, tolerance: Path | None = None) -> Comparison:
    """Compare the results at `a` and `b`.

    Raises RunError if they cannot be compared, ConfigError for a tolerance file or a directory
    that is not one.
    """
    bounds = read_bounds(tolerance) if tolerance else {}
    left, right = _keyed(load_side(a), load_side(b))
    common = [key for key in left if key in right]
    if not common:
        _check_unpaired(f"{a} and {b} have no seed and replication in common", left, right, bounds)
    sides = [[side[key] for key in common or side] for side in (left, right)]
    names = {
        side: sorted({result.meta["name"] for result in results})
        for side, results in zip("ab", sides, strict=True)
    }
    bottlenecks = {
        side: sorted({link for x in results if (link := x.summary["bottleneck"]) is not None})
        for side, results in zip("ab", sides, strict=True)
    }
    numbers = (
        [metric_titles.values(x) for x in sides[0]],
        [metric_titles.values(x) for x in sides[1]],
    )
    method, note = _method(sides, paired=bool(common))
    return Comparison(
        pairs=[_pair(x, y) for x, y in zip(*sides, strict=True)] if common else [],
        rows=_rows(*numbers, bounds, method, bool(common)),
        only_in_a=[_told(key) for key in left if key not in right],
        only_in_b=[_told(key) for key in right if key not in left],
        names=names,
        method=method,
        note=note,
        bottlenecks=bottlenecks,
        labels=_labels(a, b, sides),
    )


def _labels(a: Path, b: Path, sides: Sequence[Sequence[cp.Result]]) -> tuple[str, str]:
    """What the sides are called: by their scenarios, their directories, or A and B."""
    from clearpipe.report.sides import names

    folders = [a.resolve().name, b.resolve().name]
    first, second = names(sides, folders if folders[0] != folders[1] else ["A", "B"])
    return first, second


def _check_unpaired(why: str, a: Side, b: Side, bounds: Bounds) -> None:
    """Raise RunError unless sides without pairs can be compared as two samples."""
    if bounds:
        raise RunError(f"{why}, and a tolerance is checked pair by pair")
    if min(len(a), len(b)) < 2:
        raise RunError(f"{why}; without pairs each side needs two runs or more")
    if any(_are_several(list(side.values())) for side in (a, b)):
        raise RunError(f"{why}; without pairs each side must be one scenario")


def _are_several(side: Sequence[cp.Result]) -> bool:
    """Are they of more than one scenario, engine or model, and so no replications?"""
    from clearpipe.report.sides import what

    return len({what(result) for result in side}) > 1


def _method(
    sides: Sequence[Sequence[cp.Result]], paired: bool
) -> tuple[Literal["paired t", "Welch t"] | None, str]:
    """Where the intervals come from, and in words."""
    a, b = sides
    level, few = f"{100 * statistics.LEVEL:g} %", statistics.FEW
    if stopped := sum(not result.complete for side in sides for result in side):
        told = units.counted(stopped, "run was stopped", "runs were stopped")
        return None, f"no interval: {told} before the end, and the numbers are of other times"
    if min(len(a), len(b)) < few:
        needed = f"{few} pairs or more" if paired else f"{few} runs or more on each side"
        return None, f"no interval: it takes {needed} (clearpipe run --reps {few})"
    if any(_are_several(side) for side in sides):
        return None, "no interval: a side holds several scenarios, which are no replications"
    if all(one_run(side) for side in sides):
        return None, "no interval: the replications are all the same run, nothing in it is random"
    if paired:
        return "paired t", f"{level} interval: paired t over {len(a)} pairs"
    told = f"{level} interval: Welch's t, unpaired, {len(a)} runs of A and {len(b)} of B"
    return "Welch t", f"{told} (no seed and replication in common)"


def _keyed(a: Side, b: Side) -> tuple[Side, Side]:
    """Leaves the names out of the keys where each side has one name only."""
    if any(len({name for name, _, _ in side}) > 1 for side in (a, b)):
        return a, b

    def unnamed(side: Side) -> Side:
        return {("", seed, rep): result for (_, seed, rep), result in side.items()}

    return unnamed(a), unnamed(b)


def _pair(a: cp.Result, b: cp.Result) -> dict[str, Any]:
    kept = ("name", "seed", "rep", "model_version", "fingerprint")
    return {
        "a": {key: value for key, value in a.meta.items() if key in kept},
        "b": {key: value for key, value in b.meta.items() if key in kept},
        "same_fingerprint": one_run([a, b]),
    }


def _rows(
    a: list[Values],
    b: list[Values],
    bounds: Bounds,
    method: str | None,
    paired: bool,
) -> list[Row]:
    every: dict[tuple[str, str, str], None] = {}
    for side in [*a, *b]:
        every |= dict.fromkeys(side)
    known = {(table, column) for table, _, column in every}
    _check_names(bounds, known)
    wanted = bounds.keys() | {(table, c) for table, columns in SHOWN.items() for c in columns}
    keys = sorted((key for key in every if (key[0], key[2]) in wanted), key=_order)
    make = _paired_row if paired else _unpaired_row
    rows = [make(key, a, b, bounds.get((key[0], key[2]))) for key in keys]
    return rows if method else [replace(row, low=None, high=None) for row in rows]


def _order(key: tuple[str, str, str]) -> tuple[bool, str, int, str]:
    table, item, column = key
    shown = SHOWN[table]
    return table != "links", item, shown.index(column) if column in shown else 99, column


def _paired_row(
    key: tuple[str, str, str], a: list[Values], b: list[Values], bound: Bound | None
) -> Row:
    both = [(x[key], y[key]) for x, y in zip(a, b, strict=True) if key in x and key in y]
    within = None
    if bound is not None:
        within = len(both) == len(a) and all(bound.holds(x, y) for x, y in both)
    left, right = _known(key, a), _known(key, b)
    if len(both) < len(a):
        return _row(key, left, right, None, within, comparable=False)
    return _row(key, left, right, statistics.paired(left, right), within)


def _unpaired_row(
    key: tuple[str, str, str], a: list[Values], b: list[Values], _: Bound | None
) -> Row:
    left, right = _known(key, a), _known(key, b)
    whole = (len(left), len(right)) == (len(a), len(b))
    return _row(key, left, right, statistics.welch(left, right), None, comparable=whole)


def _known(key: tuple[str, str, str], side: list[Values]) -> list[float]:
    return [values[key] for values in side if key in values]


def _row(
    key: tuple[str, str, str],
    left: list[float],
    right: list[float],
    span: statistics.Span | None,
    within: bool | None,
    comparable: bool = True,
) -> Row:
    a, b = (sum(side) / len(side) if side else None for side in (left, right))
    row = Row(*key, a, b, None, None, within, n_a=len(left), n_b=len(right))
    if not comparable or a is None or b is None:
        return row
    relative = (b - a) / math.fabs(a) if a else (0.0 if a == b else None)
    low, high = span or (None, None)
    return replace(row, difference=b - a, relative_ratio=relative, low=low, high=high)


def read_bounds(path: Path) -> Bounds:
    """Read a tolerance file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}", file=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: {reason}", file=str(path)) from None
    bounds: Bounds = {}
    for table, columns in content.items():
        if table not in SHOWN or not isinstance(columns, dict):
            raise ConfigError(
                f"{path}: {table}: unknown table (allowed: links, groups)", file=str(path)
            )
        for column, bound in columns.items():
            bounds[table, column] = _bound(path, f"{table}.{column}", bound)
    return bounds


def _bound(path: Path, key: str, value: object) -> Bound:
    is_bound = isinstance(value, dict) and value and value.keys() <= {"abs", "rel"}
    if not is_bound or not all(_is_limit(limit) for limit in value.values()):  # type: ignore[attr-defined]
        message = f"{path}: {key}: expected {{ abs = number }} or {{ rel = number }}"
        raise ConfigError(message, file=str(path), key=key)
    return Bound(**value)  # type: ignore[arg-type]


def _is_limit(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _check_names(bounds: Bounds, known: set[tuple[str, str]]) -> None:
    for table, column in bounds:
        if (table, column) not in known:
            names = sorted(name for t, name in known if t == table)
            near = difflib.get_close_matches(column, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
            raise ConfigError(f"{table}.{column}: no such column{hint}", key=f"{table}.{column}")


def table(comparison: Comparison) -> Grid:
    """The comparison's texts, for a terminal or a page."""
    from clearpipe.overview import Grid

    a, b = comparison.labels
    checked = any(row.within is not None for row in comparison.rows)
    spans = comparison.method is not None
    headings = ["Measure", "Of", a, b, f"{b} - {a}"]
    headings += [f"{100 * statistics.LEVEL:g} % interval"] * spans
    headings += ["Relative", *["Within"] * checked]
    return Grid(
        _title(comparison),
        headings,
        [_cells(row, spans, checked) for row in comparison.rows],
        left=2,
        caption=f"{comparison.note[:1].upper()}{comparison.note[1:]}. {_links(comparison)}".strip(),
    )


SAID = (
    "utilization_ratio",
    "queue_mean_pkts",
    "drops_pkts",
    "goodput_mean_bps",
    "jain_index_ratio",
    "fct_mean_s",
    "timeouts",
)
"""What is put into words; the table has the rest."""


def sentences(comparison: Comparison) -> list[str]:
    """What the intervals say, in plain words: differences first, then what shows none."""
    if comparison.method is None:
        return []
    named = {link for links in comparison.bottlenecks.values() for link in links}
    rows = [
        row
        for row in comparison.rows
        if row.column in SAID and (row.table != "links" or row.item in named or not named)
    ]
    several = {table: len({row.item for row in rows if row.table == table}) > 1 for table in SHOWN}
    told, same = [], []
    for row in rows:
        if row.low is None or row.high is None or row.low == row.high == 0:
            continue
        measure = metric_titles.of(row.column)
        title = f"{measure.title[:1].lower()}{measure.title[1:]}"
        if row.column == "jain_index_ratio":
            title = measure.title
        whose = f" ({row.table[:-1]} {row.item})" if several[row.table] else ""
        if row.low <= 0 <= row.high:
            same.append(f"{title}{whose}")
        else:
            told.append(_sentence(comparison.labels, measure, title, whose, row.low, row.high))
    return [*told, *([f"No difference is sure in {_listed(same)}."] if same else [])]


def _sentence(
    labels: tuple[str, str],
    measure: metric_titles.Measure,
    title: str,
    whose: str,
    low: float,
    high: float,
) -> str:
    a, b = (f"{label}\N{RIGHT SINGLE QUOTATION MARK}s" for label in labels)
    way = measure.more if low > 0 else measure.less
    between = _between(measure, *sorted((abs(low), abs(high))))
    verb = "are" if measure.more == "more" else "is"
    return f"{b} {title} {verb} {between} {way} than {a}{whose}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _between(measure: metric_titles.Measure, low: float, high: float) -> str:
    """`12 to 18 pkts`, in the unit of the larger end and with digits that show the difference."""
    if measure.unit == "ratio":
        by = units.Scale(0.01, "percentage points")
    else:
        by = units.scale([high], measure.unit)
    first, last = (units.number(value / by.factor, 3) for value in (low, high))
    between = first if first == last else f"{first} to {last}"
    unit = "packets" if by.unit == "pkts" else by.unit
    return f"{between} {unit}".rstrip()


def _links(comparison: Comparison) -> str:
    """Which rows are those of the named links, in a sentence."""
    a, b = ([f"link {name}" for name in comparison.bottlenecks[side]] for side in "ab")
    if a == b:
        return f"Bottleneck: {', '.join(a)}." if a else ""
    first, second = comparison.labels
    return f"Bottleneck: of {first} {', '.join(a) or 'none'}, of {second} {', '.join(b) or 'none'}."


def report(comparison: Comparison, a: Path, b: Path, path: Path) -> Path:
    """Write the report of all runs at `a` and `b`, with the comparison before the rest."""
    from clearpipe import report as reporting
    from clearpipe.report import html_base

    shown = table(comparison)
    sides = [
        side
        for label, place in zip(comparison.labels, (a, b), strict=True)
        for side in _sides(label, list(load_side(place).values()))
    ]
    only = (comparison.only_in_a, comparison.only_in_b)
    alone = zip(comparison.labels, only, strict=True)
    told = [f"Only in {side}: {', '.join(runs)}." for side, runs in alone if runs]
    differences = reporting.Differences(
        sentences(comparison), shown, [" ".join([shown.caption, *told])]
    )
    title = " and ".join(comparison.labels)
    return html_base.write(path, reporting.html_of_sides(sides, title, differences))


def _sides(label: str, results: Sequence[cp.Result]) -> list[siding.Side]:
    """What is drawn of a side: its runs together, as far as they are of one scenario."""
    from clearpipe.report import sides as siding

    every = siding.of(results)
    if len(every) == 1:
        return [siding.Side(label, results)]
    return [siding.Side(f"{label} {side.name}", side.results) for side in every]


def _cells(row: Row, spans: bool, checked: bool) -> list[str]:
    measure = metric_titles.of(row.column)
    off = row.difference
    relative = units.DASH
    if row.relative_ratio is not None:
        relative = units.tell(row.relative_ratio, "ratio", sign="+")
    span = units.DASH
    if row.low is not None and row.high is not None:
        span = f"{measure.difference(row.low, '+')} to {measure.difference(row.high, '+')}"
    verdict = {True: "yes", False: "NO", None: units.DASH}[row.within]
    means = [units.DASH if x is None else units.tell(x, measure.unit) for x in (row.a, row.b)]
    numbers = [*means, units.DASH if off is None else measure.difference(off, "+")]
    item = f"{row.table.removesuffix('s')} {row.item}"
    return [measure.title, item, *numbers, *[span] * spans, relative, *[verdict] * checked]


def _title(comparison: Comparison) -> str:
    pairs = comparison.pairs
    same = sum(pair["same_fingerprint"] for pair in pairs)
    runs = f"{len(pairs)} pairs, means" if len(pairs) > 1 else "1 pair"
    told = f"{runs}; equal fingerprints: {same} of {len(pairs)}" if pairs else "means, unpaired"
    return f"{' and '.join(comparison.labels)} ({told})"
