"""A number of a run by its name, for plots, tables and `until`.

`links.NAME.COLUMN` and `groups.NAME.COLUMN` are those of `clearpipe compare`. A link's column alone
(`utilization_ratio`, `queue_mean_pkts`, ...) is that of the link that the scenario names, its
`bottleneck`; where it names none there is no such metric. Of all flows are `goodput_min_bps`,
`goodput_mean_bps`, `goodput_max_bps`, `jain_index_ratio` (over all groups' flows together only when
there is one group).
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.result import LinkSummary

SPREAD_KEYS = ("min", "mean", "max")
SPREADS = {"goodput_bps": ("goodput", "bps"), "fct_s": ("fct", "s")}
LINK_COLUMNS = frozenset(LinkSummary.__annotations__) - {"link", "name", "queue"}

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
    head = f"{prefix}." if prefix else ""
    for column, value in row.items():
        if column in SPREADS and isinstance(value, Mapping):
            name, unit = SPREADS[column]
            for key, number in value.items():
                out[sys.intern(f"{head}{name}_{key}_{unit}")] = float(number)
        elif _is_number(value) and column not in ("link", "flow"):
            # Many runs have the same few names.
            out[sys.intern(f"{head}{column}")] = float(value)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def check(metric: str, known: Mapping[str, float], where: str) -> None:
    """Refuses a metric that a run does not have, with the nearest that it has."""
    if metric not in known:
        near = difflib.get_close_matches(metric, known, n=1)
        short = ", ".join(sorted(name for name in known if "." not in name))
        hint = f"did you mean {near[0]}?" if near else f"there are {short}"
        raise ConfigError(f"{where}: no metric is called {metric!r}; {hint}", key=where)


def check_possible(
    metric: str, summary: Mapping[str, Any], bottleneck: str | None, where: str
) -> None:
    """Refuses a metric that no run like this one can have.

    Allowed are numbers that this run happens not to have (no flow came to its end), and links and
    groups of other points.
    """
    column = metric.rpartition(".")[2]
    columns = {name for table in ("links", "groups") for row in summary[table] for name in row}
    spreads = {f"{name}_{key}_{unit}" for name, unit in SPREADS.values() for key in SPREAD_KEYS}
    if column not in columns | spreads:
        check(metric, flat(summary, bottleneck), where)


def unit(metric: str) -> str:
    """The unit that a metric's name ends in."""
    column = metric.rpartition(".")[2]
    for suffix in ("bps", "pkts", "bytes", "ratio", "s"):
        if column.endswith(f"_{suffix}"):
            return suffix
    return ""
