"""A number of a run by its name, for plots, tables and `until`.

`links.NAME.COLUMN` and `groups.NAME.COLUMN` are those of `clearpipe compare`. A link's column alone
(`utilization_ratio`, `queue_mean_pkts`, ...) is that of the link that the scenario names, its
`bottleneck`; where it names none there is no such metric. Of all flows are `goodput_min_bps`,
`goodput_mean_bps`, `goodput_max_bps`, `jain_index_ratio` (over all groups' flows together only when
there is one group).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clearpipe import _core
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
    return _core.numbers(json.dumps(summary), bottleneck)


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
