"""Replications of one scenario: runs that differ by chance alone, and what is known of means."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from clearpipe import metric_titles, statistics, units
from clearpipe import until as stopping
from clearpipe.result import one_run
from clearpipe.until import Until

if TYPE_CHECKING:
    from clearpipe.overview import Grid
    from clearpipe.result import Result

OF_LINKS = ("utilization_ratio", "queue_mean_pkts", "queue_p90_pkts", "drops_pkts", "marks_pkts")
OF_GROUPS = ("goodput_mean_bps", "jain_index_ratio", "fct_mean_s", "finished_flows", "timeouts")
OF_TRANSFERS = ("finished_flows", "fct_mean_s")

ALL_ONE = 'All are the same run: nothing in it is random, such as start = "uniform(0s, 1s)".'


@dataclass(frozen=True)
class Replications(Sequence["Result"]):
    """The results of replications 0, 1, ... of a scenario, and their metrics' means.

    Runs that were stopped early are among the results, but not in the means.

    A metric is named as in a sweep's plots: `links.NAME.COLUMN`, `groups.NAME.COLUMN`, or a column
    alone (docs/reference/scenario/sweep.md).
    """

    results: tuple[Result, ...]
    until: Until | None = None
    """What decided how many there are."""

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | Sequence[Result]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @functools.cached_property
    def _complete(self) -> list[Result]:
        return [result for result in self.results if result.complete]

    @functools.cached_property
    def _numbers(self) -> list[dict[str, float]]:
        return [numbers(result) for result in self._complete]

    @property
    def metric_names(self) -> list[str]:
        """Every metric that some of the complete runs have."""
        return list(dict.fromkeys(name for run in self._numbers for name in run))

    def values(self, metric: str) -> list[float]:
        """A metric's value in each complete run that has one.

        Raises ConfigError for a metric that no run of the scenario can have.
        """
        found = [run[metric] for run in self._numbers if metric in run]
        if not found:
            from clearpipe.sweep import metrics

            metrics.check(metric, metrics.possible(self._scenario), "metric")
        return found

    def mean(self, metric: str) -> float:
        """Its mean over those runs; NaN if none has it."""
        found = self.values(metric)
        return math.fsum(found) / len(found) if found else math.nan

    def interval(self, metric: str) -> statistics.Interval | None:
        """Its mean with the 95 % interval; None if fewer than three runs have it."""
        found = self.values(metric)
        return statistics.t_interval(found) if len(found) >= statistics.FEW else None

    @property
    def one_run(self) -> bool:
        """Whether all are the same run, because nothing in the scenario is random."""
        return one_run(self._complete)

    def as_json(self) -> dict[str, Any]:
        """For each metric its mean, and the ends of the interval if there is one."""
        told: dict[str, Any] = {}
        for name in self.metric_names:
            found = self.values(name)
            span = self.interval(name)
            told[name] = {
                "mean": self.mean(name),
                "low": span.low if span else None,
                "high": span.high if span else None,
                "min": min(found),
                "max": max(found),
                "n": len(found),
            }
        return {"level_ratio": statistics.LEVEL, "note": self.note, "metrics": told}

    @property
    def note(self) -> str:
        """A sentence about the intervals, if there is anything to know; otherwise empty."""
        complete = len(self._complete)
        stopped = len(self) - complete
        notes = [_stopped(stopped, len(self))] if stopped else []
        notes += [statistics.few()] if complete < statistics.FEW else []
        notes += [ALL_ONE] if self.one_run else []
        notes += [self._reached] if self.until is not None and not stopped else []
        return " ".join(notes)

    @property
    def _reached(self) -> str:
        assert self.until is not None
        wanted = f"{self.until.metric} within {units.percent(self.until.ci_ratio)} of its mean"
        span = self.interval(self.until.metric)
        if span is None or span.n < len(self):
            return f"Not every run has a value of {self.until.metric}."
        if span.ratio <= self.until.ci_ratio:
            return f"The interval of {wanted} after {len(self)} replications."
        return f"{len(self)} replications did not bring the interval of {wanted}."

    def table(self) -> Grid:
        """The usual metrics: mean, half of the 95 % interval, smallest and largest value."""
        from clearpipe.overview import Grid

        told = f"Over {len(self._complete)} replications"
        if len(self._complete) >= statistics.FEW:
            told += f", mean ± half of the {100 * statistics.LEVEL:g} % interval"
        rows = [self._row(metric) for metric in self._usual()]
        return Grid(told, ["Measure", "Mean", "Least", "Most"], rows, caption=self.note)

    def _row(self, metric: str) -> list[str]:
        found, span = self.values(metric), self.interval(metric)
        measure = metric_titles.of(metric)
        by = units.scale(found, measure.unit)
        mean = units.number(self.mean(metric) / by.factor)
        if span is not None:
            mean = units.spread(span.mean, span.half, by=by)
        some = f" (n = {len(found)})" if len(found) < len(self._complete) else ""
        whose = metric_titles.owner(metric)
        ends = [units.number(value / by.factor) for value in (min(found), max(found))]
        behind = f" {by.unit}".rstrip()
        title = ", ".join(filter(None, [measure.title, whose]))
        return [title, f"{mean}{behind}{some}", *(f"{end}{behind}" for end in ends)]

    def _usual(self) -> list[str]:
        """The metrics that the table tells: of links that carried something, and of all groups."""
        from clearpipe import overview

        told = dict.fromkeys(
            link["name"] for result in self._complete for link in overview.told_links(result)
        )
        names = [f"links.{link}.{column}" for link in told for column in OF_LINKS]
        sized = overview.sized(self.results[0])
        for group in self._scenario["flows"]:
            columns = [c for c in OF_GROUPS if group in sized or c not in OF_TRANSFERS]
            names += [f"groups.{group}.{column}" for column in columns]
        known = set(self.metric_names)
        return [name for name in names if name in known]

    @functools.cached_property
    def _scenario(self) -> dict[str, Any]:
        return tomllib.loads(self.results[0].scenario_toml)

    def __repr__(self) -> str:
        meta = self.results[0].meta
        parts = [f"{meta['name']!r}", f"seed={meta['seed']}", f"reps={len(self)}"]
        parts += [f"{row[0]}: {row[1]}" for row in map(self._row, self._usual()[:2])]
        return f"<Replications {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        from html import escape

        grid = self.table()
        head = "".join(f"<th>{escape(text)}</th>" for text in grid.headings)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in grid.rows
        )
        return (
            f"<div><p>{escape(repr(self))}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table><p>{escape(grid.caption)}</p></div>"
        )


def _stopped(stopped: int, every: int) -> str:
    verb, whose = ("was", "its") if stopped == 1 else ("were", "their")
    return f"{stopped} of {every} {verb} stopped before {whose} end and {verb} left out."


def numbers(result: Result) -> dict[str, float]:
    """A run's metrics."""
    from clearpipe.sweep import metrics

    return metrics.flat(result.summary, result.summary["bottleneck"])


def until(
    wanted: Until, do: Callable[[range], Sequence[Result]], results: tuple[Result, ...] = ()
) -> Replications:
    """Replications by `do` until there are enough of them, or some were stopped or not begun."""
    target = wanted.min_reps
    while len(results) < target:
        results += tuple(do(range(len(results), target)))
        if len(results) < target or not all(result.complete for result in results):
            break
        known = [numbers(result) for result in results]
        found = [run[wanted.metric] for run in known if wanted.metric in run]
        target = stopping.needed(wanted, found, len(results), len(results) - len(found))
    return Replications(results, wanted)


def check(wanted: Until, toml: str, name: str) -> None:
    """Refuses a metric that no run of the resolved scenario can have, and `name` is what messages
    call the scenario."""
    from clearpipe.sweep import metrics

    scenario, where = tomllib.loads(toml), f"{name}: {wanted.key}"
    metrics.check(wanted.metric, metrics.possible(scenario), where)
    if metrics.is_of_link(wanted.metric) and scenario.get("bottleneck") is None:
        raise metrics.unnamed(wanted.metric, list(scenario["links"]), where)
