"""Results that are replications of one another, and what such a side is called."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearpipe import metric_titles, overview, statistics, units

if TYPE_CHECKING:
    from clearpipe.result import Result

FIRST = ("protocol", "protocol.kind", "queue", "queue.kind", "rate", "rtt", "owd", "buffer")
"""What tells sides apart first, if it does."""


@dataclass(frozen=True)
class Side:
    """The replications of one scenario."""

    name: str
    results: Sequence[Result]

    @property
    def first(self) -> Result:
        """The one that stands for all where they are the same: in the network."""
        return self.results[0]

    @property
    def stopped(self) -> int:
        """Its runs that ended before their time."""
        return sum(not result.complete for result in self.results)

    @property
    def has_intervals(self) -> bool:
        """Is there enough to tell an interval? Numbers of other times are no replications."""
        return len(self.results) >= statistics.FEW and not self.stopped


def no_intervals(sides: Sequence[Side]) -> str:
    """Why some side has no intervals, in sentences; nothing if all have them."""
    told = []
    if stopped := sum(side.stopped for side in sides):
        runs = units.counted(stopped, "run was stopped", "runs were stopped")
        told.append(f"No interval: {runs} before the end, and the numbers are of other times.")
    if any(len(side.results) < statistics.FEW for side in sides):
        told.append(statistics.few())
    return " ".join(told)


def of(results: Sequence[Result]) -> list[Side]:
    """The results by their scenarios, in the order of the first of each."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(what(result), []).append(result)
    every = list(groups.values())
    return [
        Side(name, group)
        for name, group in zip(names(every, _letters(len(every))), every, strict=True)
    ]


def what(result: Result) -> str:
    """What replications have in common: all but the seed and the replication."""
    meta = result.meta
    scenario = tomllib.loads(result.scenario_toml) | {"seed": 0}
    return json.dumps([meta["engine"], meta["model_version"], scenario], sort_keys=True)


def _letters(number: int) -> list[str]:
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(number)]


def names(groups: Sequence[Sequence[Result]], otherwise: Sequence[str]) -> list[str]:
    """A name for each group by what differs between them, or else what it is called `otherwise`."""
    if len(groups) < 2:
        return [", ".join(_distinct(group)) for group in groups]
    own = [_distinct(group) for group in groups]
    if all(len(one) == 1 for one in own) and len({one[0] for one in own}) == len(own):
        called = [one[0] for one in own]
        cut = len(overview.common_words(called))
        return ["-".join(name.split("-")[cut:]) or name for name in called]
    return _by_facts(_agreed(groups)) or list(otherwise)


def _agreed(groups: Sequence[Sequence[Result]]) -> list[dict[str, Any]]:
    """Each group's facts, without those on which the results of one of the groups differ."""
    every = [[dict(_facts(result)) for result in group] for group in groups]
    mixed = {
        key
        for facts in every
        for key in dict.fromkeys(key for fact in facts for key in fact)
        if len({repr(fact.get(key)) for fact in facts}) > 1
    }
    return [{k: v for k, v in facts[0].items() if k not in mixed} for facts in every]


def _distinct(group: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.meta["name"] for result in group))


def _by_facts(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The values of as few keys as tell all apart; nothing if none do."""
    keys = list(dict.fromkeys(key for fact in facts for key in fact))
    differing = [key for key in keys if len({repr(fact.get(key)) for fact in facts}) > 1]
    differing.sort(key=lambda key: (_rank(key), key.count("."), keys.index(key)))
    told = [""] * len(facts)
    for key in differing:
        more = [_told(key, fact.get(key)) for fact in facts]
        if len(set(more)) == len(facts):
            return more
        longer = [", ".join(filter(None, pair)) for pair in zip(told, more, strict=True)]
        if len(set(longer)) > len(set(told)):
            told = longer
        if len(set(told)) == len(facts):
            return told
    return []


def _rank(key: str) -> int:
    ends = [number for number, end in enumerate(FIRST) if key.endswith(f".{end}") or key == end]
    return min(ends, default=len(FIRST))


def _told(key: str, value: Any) -> str:
    last = key.removesuffix(".kind").rpartition(".")[2]
    if last == "protocol":
        return str(value)
    text = "not given" if value is None else units.setting(value)
    return f"{metric_titles.KEYS.get(last, last.replace('_', ' '))} {text}"


def _facts(result: Result) -> Iterator[tuple[str, Any]]:
    """The scenario's keys and values, and what ran it."""
    scenario = tomllib.loads(result.scenario_toml)
    yield from _flat("", scenario)
    yield "engine", result.meta["engine"]
    yield "model", result.meta["model_version"]
    yield "seed", result.meta["seed"]


def _flat(head: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        path = f"{head}.{key}" if head else key
        if isinstance(value, Mapping):
            yield from _flat(path, value)
        elif not isinstance(value, list):
            yield path, value
