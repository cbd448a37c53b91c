"""A number of a run by its name, for plots, tables and `until`.

`links.NAME.COLUMN` and `groups.NAME.COLUMN` are those of `clearpipe compare`. A link's column alone
(`utilization_ratio`, `queue_mean_pkts`, ...) is that of the link that the scenario names, its
`bottleneck`; where it names none there is no such metric. Of all flows are `goodput_min_bps`,
`goodput_mean_bps`, `goodput_max_bps`, `jain_index_ratio` (over all groups' flows together only when
there is one group).
"""

from __future__ import annotations

import difflib
import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.result import GroupSummary, LinkSummary

SPREAD_KEYS = ("min", "mean", "max")
SPREADS = {"goodput_bps": ("goodput", "bps"), "fct_s": ("fct", "s")}


def _spread(column: str) -> list[str]:
    """The metrics of a column that holds a smallest, a mean and a largest value."""
    name, unit = SPREADS[column]
    return [f"{name}_{key}_{unit}" for key in SPREAD_KEYS]


LINK_COLUMNS = tuple(
    name for name in LinkSummary.__annotations__ if name not in ("link", "name", "queue")
)
GROUP_COLUMNS = tuple(
    metric
    for name in GroupSummary.__annotations__
    if name not in ("group", "protocol", "arriving")
    for metric in (_spread(name) if name in SPREADS else [name])
)

# More links than that are not listed in a message.
MOST_NAMED = 20


def is_of_link(metric: str) -> bool:
    """Is it a link's number without the link's name?"""
    return metric in LINK_COLUMNS


def full(metric: str, links: Iterable[str]) -> str:
    """The metric with the name of its link; `links` are those that the scenario's points name."""
    names = list(dict.fromkeys(links))
    if not is_of_link(metric) or not names:
        return metric
    if len(names) == 1:
        return f"links.{names[0]}.{metric}"
    return f"{metric} of {', '.join(names[:-1])} or {names[-1]}"


def unnamed(metric: str, links: Sequence[str], where: str, label: str = "") -> ConfigError:
    """Why a link's number is no metric in a scenario that names no link, and what is one."""
    shown = ", ".join(f"links.{name}.{metric}" for name in links[:MOST_NAMED])
    more = f" and {len(links) - MOST_NAMED} more" if len(links) > MOST_NAMED else ""
    of = f" ({label})" if label else ""
    return ConfigError(
        f"{where}: {metric} is a link's, and the scenario{of} says of no link that it is its "
        f'bottleneck: take one of {shown}{more}, or give the scenario bottleneck = "LINK"',
        key=where,
    )


def flat(summary: Mapping[str, Any], bottleneck: str | None) -> dict[str, float]:
    """Every number of a run's summary by its full name, and the short ones; those of links are of
    `bottleneck`."""
    out: dict[str, float] = {}
    for table, item in (("links", "name"), ("groups", "group")):
        for row in summary[table]:
            _row(out, f"{table}.{row[item]}", row)
    short = next((x for x in summary["links"] if x["name"] == bottleneck), None)
    if short is not None:
        _row(out, "", short)
    if len(summary["groups"]) == 1:
        _row(out, "", summary["groups"][0])
    _row(out, "", {key: value for key, value in summary.items() if key in SPREADS})
    return out


def _row(out: dict[str, float], prefix: str, row: Mapping[str, Any]) -> None:
    values = tuple(row.values())
    names, numbers = _names(prefix, tuple(row), tuple(map(type, values)))
    found = tuple(map(float, numbers(values)))
    # A sum is finite only if what is added is, so that most rows are looked at once.
    if math.isfinite(sum(found)):
        out.update(zip(names, found, strict=True))
    else:
        out.update((n, x) for n, x in zip(names, found, strict=True) if math.isfinite(x))


@functools.lru_cache(maxsize=4096)
def _names(
    prefix: str, columns: tuple[str, ...], kinds: tuple[type, ...]
) -> tuple[list[str], Callable[[Sequence[Any]], Iterable[float]]]:
    """The metrics of a row's columns, of which many runs have the same few, and what gives their
    values from those of the columns."""
    head = f"{prefix}." if prefix else ""
    names: list[str] = []
    places: list[tuple[int, str | None]] = []
    for place, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        if column in SPREADS:
            if kind is not type(None):
                names += [f"{head}{name}" for name in _spread(column)]
                places += [(place, key) for key in SPREAD_KEYS]
        # By the type itself: a truth value is an int to `isinstance`.
        elif column not in ("link", "flow") and kind in (float, int):
            names.append(f"{head}{column}")
            places.append((place, None))
    if len(places) > 1 and not any(key for _, key in places):
        return names, operator.itemgetter(*(place for place, _ in places))
    return names, lambda values: [
        values[place] if key is None else values[place][key] for place, key in places
    ]


def possible(scenario: Mapping[str, Any]) -> list[str]:
    """Every metric that a run of a resolved scenario may have: whether it has one may depend on
    what happens in it (does a flow come to its end?)."""
    tables = {"links": LINK_COLUMNS, "groups": GROUP_COLUMNS}
    names = {"links": scenario["links"], "groups": scenario["flows"]}
    out = [
        f"{table}.{name}.{column}"
        for table, columns in tables.items()
        for name in names[table]
        for column in columns
    ]
    own = GROUP_COLUMNS if len(scenario["flows"]) == 1 else _spread("goodput_bps")
    return [*out, *LINK_COLUMNS, *own]


def check(metric: str, known: Iterable[str], where: str) -> None:
    """Refuses a metric that is not among those that are known, with the nearest of them."""
    names = list(known)
    if metric in names:
        return
    near = difflib.get_close_matches(metric, names, n=1)
    if not near:
        # The column alone may be right, and whose it is missing or wrong.
        columns = {name.rpartition(".")[2]: name for name in reversed(names)}
        column = metric.rpartition(".")[2]
        found = difflib.get_close_matches(column, columns, n=1)
        found = found or [name for name in columns if column and column in name][:1]
        near = [columns[name] for name in found]
    short = ", ".join(sorted({name for name in names if "." not in name}))
    hint = f"did you mean {near[0]}?" if near else f"there are {short}"
    raise ConfigError(f"{where}: unknown metric {metric!r}; {hint}", key=where)
