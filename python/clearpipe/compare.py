"""Two results, or two sets of replications, side by side.

Runs are paired by seed and replication (and by name if a side holds several scenarios). A tolerance
file is TOML with a table for each result table and a line for each column:

    [links]
    utilization_ratio = { abs = 0.01 }
    queue_mean_pkts = { rel = 0.10, abs = 1 }   # either may hold
    [groups]
    goodput_mean_bps = { rel = 0.05 }
    jain_index_ratio = { abs = 0.01 }

`abs` bounds |B - A| in the column's unit, `rel` bounds |B - A| / |A|. Every pair must be within.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clearpipe as cp
from clearpipe.errors import ConfigError, RunError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Key = tuple[str, int, int]
Values = dict[tuple[str, str, str], float]

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
    """One number of both sides: means over the pairs, and whether every pair is within bounds."""

    table: str
    item: str
    column: str
    a: float | None
    b: float | None
    difference: float | None
    relative_ratio: float | None
    within: bool | None


@dataclass(frozen=True)
class Comparison:
    """What `compare` prints."""

    pairs: list[dict[str, Any]]
    rows: list[Row]
    only_in_a: list[str]
    only_in_b: list[str]

    @property
    def outside(self) -> list[Row]:
        """The rows that are outside their tolerance."""
        return [row for row in self.rows if row.within is False]

    def as_json(self) -> dict[str, Any]:
        """Plain dictionaries."""
        return {
            "pairs": self.pairs,
            "rows": [asdict(row) for row in self.rows],
            "only_in_a": self.only_in_a,
            "only_in_b": self.only_in_b,
            "within": not self.outside,
        }


def load_side(path: Path) -> dict[Key, cp.Result]:
    """A result directory, or all result directories in a directory."""
    if not path.is_dir():
        what = "not a directory" if path.exists() else "no such directory"
        raise ConfigError(f"{path}: {what}; a result directory is wanted", file=str(path))
    if (path / "meta.json").is_file():
        found = [path]
    else:
        found = sorted(p.parent for p in path.glob("*/meta.json") if p.parent.name[0] != ".")
    if not found:
        raise ConfigError(f"{path}: holds no result", file=str(path))
    side: dict[Key, cp.Result] = {}
    for directory in found:
        result = cp.load(directory)
        meta = result.meta
        key = (meta["name"], meta["seed"], meta["rep"])
        if key in side:
            raise ConfigError(f"{directory}: {_told(key)} is there twice", file=str(directory))
        side[key] = result
    return side


def _told(key: Key) -> str:
    name, seed, rep = key
    return f"{name + ' ' if name else ''}seed {seed} rep {rep}"


def compare(a: Path, b: Path, tolerance: Path | None = None) -> Comparison:
    """Compare the results at `a` and `b`."""
    bounds = read_bounds(tolerance) if tolerance else {}
    left, right = _keyed(load_side(a), load_side(b))
    common = [key for key in left if key in right]
    if not common:
        raise RunError(f"{a} and {b} have no seed and replication in common")
    pairs = [(left[key], right[key]) for key in common]
    return Comparison(
        pairs=[_pair(*pair) for pair in pairs],
        rows=_rows([(values(x), values(y)) for x, y in pairs], bounds),
        only_in_a=[_told(key) for key in left if key not in right],
        only_in_b=[_told(key) for key in right if key not in left],
    )


def _keyed(
    a: dict[Key, cp.Result], b: dict[Key, cp.Result]
) -> tuple[dict[Key, cp.Result], dict[Key, cp.Result]]:
    """Leaves the names out of the keys where each side has one name only."""
    if any(len({name for name, _, _ in side}) > 1 for side in (a, b)):
        return a, b

    def unnamed(side: dict[Key, cp.Result]) -> dict[Key, cp.Result]:
        return {("", seed, rep): result for (_, seed, rep), result in side.items()}

    return unnamed(a), unnamed(b)


def _pair(a: cp.Result, b: cp.Result) -> dict[str, Any]:
    kept = ("name", "seed", "rep", "model_version", "fingerprint")
    return {
        "a": {key: value for key, value in a.meta.items() if key in kept},
        "b": {key: value for key, value in b.meta.items() if key in kept},
        "same_fingerprint": a.fingerprint == b.fingerprint,
    }


def values(result: cp.Result) -> Values:
    """Every number that can be compared, by table, row and column."""
    out: Values = {}
    for link in result.summary["links"]:
        _take(out, "links", link["name"], link)
    for group in result.summary["groups"]:
        spreads = (("goodput", "bps", group["goodput_bps"]), ("fct", "s", group["fct_s"]))
        flat: dict[str, Any] = {
            f"{name}_{key}_{unit}": value
            for name, unit, spread in spreads
            for key, value in (spread or {}).items()
        }
        _take(out, "groups", group["group"], flat | dict(group))
    return out


def _take(out: Values, table: str, item: str, row: Mapping[str, Any]) -> None:
    for column, value in row.items():
        if isinstance(value, int | float) and column not in ("link", "flow"):
            out[table, item, column] = float(value)


def _rows(pairs: list[tuple[Values, Values]], bounds: Bounds) -> list[Row]:
    every: dict[tuple[str, str, str], None] = {}
    for side in (side for pair in pairs for side in pair):
        every |= dict.fromkeys(side)
    known = {(table, column) for table, _, column in every}
    _check_names(bounds, known)
    wanted = bounds.keys() | {(table, c) for table, columns in SHOWN.items() for c in columns}
    keys = [key for key in every if (key[0], key[2]) in wanted]
    return [_row(key, pairs, bounds.get((key[0], key[2]))) for key in sorted(keys, key=_order)]


def _order(key: tuple[str, str, str]) -> tuple[bool, str, int, str]:
    table, item, column = key
    shown = SHOWN[table]
    return table != "links", item, shown.index(column) if column in shown else 99, column


def _row(key: tuple[str, str, str], pairs: list[tuple[Values, Values]], bound: Bound | None) -> Row:
    both = [(a[key], b[key]) for a, b in pairs if key in a and key in b]
    within = None
    if bound is not None:
        within = len(both) == len(pairs) and all(bound.holds(a, b) for a, b in both)
    if len(both) < len(pairs):
        a, b = (_mean(v[key] for v in side if key in v) for side in zip(*pairs, strict=True))
        return Row(*key, a, b, None, None, within)
    a, b = (sum(side) / len(both) for side in zip(*both, strict=True))
    relative = (b - a) / math.fabs(a) if a else (0.0 if a == b else None)
    return Row(*key, a, b, b - a, relative, within)


def _mean(numbers: Iterable[float]) -> float | None:
    known = list(numbers)
    return sum(known) / len(known) if known else None


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
            raise ConfigError(f"{path}: {table}: the tables are links and groups", file=str(path))
        for column, bound in columns.items():
            bounds[table, column] = _bound(path, f"{table}.{column}", bound)
    return bounds


def _bound(path: Path, key: str, value: object) -> Bound:
    is_bound = isinstance(value, dict) and value and value.keys() <= {"abs", "rel"}
    if not is_bound or not all(_is_limit(limit) for limit in value.values()):  # type: ignore[attr-defined]
        message = f"{path}: {key}: {{ abs = number }} or {{ rel = number }} is wanted"
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


def table(comparison: Comparison) -> RichTable:
    """The comparison for a terminal."""
    from clearpipe.table import new_table

    checked = any(row.within is not None for row in comparison.rows)
    headings = ["Of", "Measure", "A", "B", "B - A", "Relative"]
    out = new_table(_title(comparison), headings + ["Within"] * checked, left=2)
    for row in comparison.rows:
        relative = "-" if row.relative_ratio is None else f"{100 * row.relative_ratio:+.2f} %"
        cells = [_text(row.a), _text(row.b), _text(row.difference, "+"), relative]
        verdict = {True: "yes", False: "NO", None: "-"}[row.within]
        out.add_row(row.item, row.column, *cells, *([verdict] * checked))
    return out


def _title(comparison: Comparison) -> str:
    pairs = comparison.pairs
    same = sum(pair["same_fingerprint"] for pair in pairs)
    names = {side: ", ".join(sorted({pair[side]["name"] for pair in pairs})) for side in "ab"}
    runs = f"{len(pairs)} pairs, means" if len(pairs) > 1 else "1 pair"
    told = f"equal fingerprints: {same} of {len(pairs)}"
    return f"A: {names['a']}   B: {names['b']}   ({runs}; {told})"


def _text(value: float | None, sign: str = "") -> str:
    if value is None:
        return "-"
    if value == int(value) and math.fabs(value) < 1e9:
        return f"{int(value):{sign}d}"
    return f"{value:{sign}.5g}"
