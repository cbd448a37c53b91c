"""A run's result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from clearpipe import atomic_files
from clearpipe.table import Table

if TYPE_CHECKING:
    from clearpipe._core import Run
    from clearpipe.plot import Plot


class Numerics(TypedDict):
    """How the fluid engine solved its equations."""

    steps: int
    rejected_steps: int
    step_min_s: float
    step_max_s: float
    fixed_step: bool
    step_error_ratio: float
    """The error estimate: the largest local error of a window in one step, as a part of it."""
    tolerance_ratio: float
    classes: int


class Meta(TypedDict):
    """Where a result comes from; units are in the names."""

    name: str
    engine: str
    state: str
    version: str
    model_version: str
    """The engine's; all that the run used has its own in `parts`."""
    parts: NotRequired[dict[str, str]]
    """Versions by name; results of versions before 7 have none."""
    seed: int
    rep: int
    identity: str
    fingerprint: str
    simulated_s: float
    warmup_s: float
    events: int
    packet_hops: int
    wall_s: float
    packet_hops_per_s: float
    peak_rss_bytes: int | None
    warnings: list[str]
    branched_from: NotRequired[str]
    """The identity of the run whose state this one went on from."""
    branch_at_s: NotRequired[float]
    variant: NotRequired[str]
    """Its name and what it changes, as on the command line."""
    numerics: NotRequired[Numerics]


class Spread(TypedDict):
    """The smallest, the mean and the largest of some values."""

    min: float
    mean: float
    max: float


class LinkSummary(TypedDict):
    """One named link; plain keys count the time after the warm-up, `total_` ones the whole run."""

    link: int
    name: str
    queue: str
    rate_bps: float
    owd_s: float
    buffer_bytes: int
    arrivals_pkts: int
    drops_pkts: int
    data_drops_pkts: int
    marks_pkts: int
    departures_pkts: int
    departures_bytes: int
    lost_pkts: int
    utilization_ratio: float
    drop_ratio: float
    queue_mean_pkts: float
    queue_mean_bytes: float
    queue_mean_ratio: float
    queue_p90_pkts: float
    queue_p90_ratio: float
    queue_max_pkts: int
    queue_max_bytes: int
    total_arrivals_pkts: int
    total_drops_pkts: int
    total_data_drops_pkts: int
    total_marks_pkts: int
    total_departures_pkts: int
    total_lost_pkts: int
    queued_end_pkts: int


class GroupSummary(TypedDict):
    """One group of flows."""

    group: str
    protocol: str
    arriving: bool
    """Do its flows come while the run goes on? Then there is no goodput per flow."""
    flows: int
    active_flows: int
    """Flows that were active for some time after the warm-up: those that have a goodput."""
    goodput_bps: Spread | None
    jain_index_ratio: float | None
    total_goodput_bps: float
    """Of all flows together over the time after the warm-up."""
    finished_flows: int
    fct_s: Spread | None
    """Of the finished flows, whenever they finished; of arriving ones, those that came after the
    warm-up."""
    fct_p50_s: float | None
    """This and the next two: of the flows that started after the warm-up and finished."""
    fct_p95_s: float | None
    fct_p99_s: float | None
    timeouts: int
    retransmitted_pkts: int


class Summary(TypedDict):
    """A run's main numbers."""

    bottleneck: str | None
    """The link that numbers without a link's name are of; None if the scenario names none."""
    links: list[LinkSummary]
    groups: list[GroupSummary]
    goodput_bps: Spread | None
    drops_pkts: int
    total_drops_pkts: int


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of a run: tables, a summary, figures, and their origin.

    The tables speak the Arrow capsule protocol, so `pyarrow.table(result.flows)` or
    `polars.DataFrame(result.flows)` take them without a copy, and `numpy.asarray` takes what
    `result.flows.column("goodput_bps")` gives. A result does not change.
    """

    _run: Run

    @property
    def flows(self) -> Table:
        """One row per flow that exists from the start; arriving flows are in `transfers`."""
        return Table(self._run.flows())

    @property
    def links(self) -> Table:
        """One row per named link."""
        return Table(self._run.links())

    @property
    def groups(self) -> Table:
        """One row per group of flows: counters summed, goodput, times to finish."""
        return Table(self._run.groups())

    @property
    def transfers(self) -> Table | None:
        """One row per transfer that arrived during the run; None if no group has any."""
        found = self._run.transfers()
        return None if found is None else Table(found)

    @property
    def macroflows(self) -> Table | None:
        """One row per macro-flow; None if the scenario has no islands."""
        found = self._run.macroflows()
        return None if found is None else Table(found)

    @property
    def series_names(self) -> Sequence[str]:
        """The series that the scenario asked for, such as `cwnd_pkts`."""
        return self._run.series_names

    def series(self, name: str) -> Table:
        """Values against time: the columns `t_s`, `flow` or `link`, and one called `name`.

        Raises KeyError for a series that the scenario did not ask for.
        """
        return Table(self._run.series(name))

    @property
    def plot(self) -> Plot:
        """Figures: `result.plot.cwnd()` and so on; they need matplotlib."""
        from clearpipe.plot import Plot

        return Plot(self)

    @cached_property
    def meta(self) -> Meta:
        """Versions, seed, replication, state, counts and times."""
        return cast(Meta, json.loads(self._run.meta_json))

    @cached_property
    def summary(self) -> Summary:
        """The numbers that a comparison shows, per link and per group of flows."""
        return cast(Summary, json.loads(self._run.summary_json))

    @property
    def fingerprint(self) -> str:
        """The 128-bit hash of the event trace, equal on every machine, as 32 hex digits."""
        return self.meta["fingerprint"]

    @property
    def complete(self) -> bool:
        """Whether the run reached its duration."""
        return self.meta["state"] == "done"

    @property
    def scenario_toml(self) -> str:
        """The resolved scenario: every default written out."""
        return self._run.run_toml

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings for the scenario's author."""
        return self._run.warnings

    def write(self, dir: str | PathLike[str], *, replace: bool = False) -> None:
        """Write the result directory `dir`, whole or not at all.

        Raises FileExistsError if `dir` exists and `replace` is false, other OSErrors if it
        cannot be written.
        """
        self._run.write(fspath(dir), replace=replace, seal=seal)

    def write_loose(self, dir: str | PathLike[str], *, tables: bool = True) -> None:
        """Write the files and their seal into the new directory `dir`, and do not wait for the
        disk; without `tables` only meta.json, summary.json and run.toml.

        For a caller that publishes the directory itself, as the sweep's store does.
        """
        self._run.write_loose(fspath(dir), tables=tables)

    def __repr__(self) -> str:
        from clearpipe import overview, units

        meta = self.meta
        parts = [
            f"{meta['name']!r}",
            f"seed={meta['seed']}",
            f"rep={meta['rep']}",
            f"{meta['state']} at {units.seconds(meta['simulated_s'])}",
        ]
        links = overview.told_links(self)
        for link in links[: overview.MOST_LINKS]:
            parts.append(f"{link['name']}: {units.percent(link['utilization_ratio'])} used")
            parts.append(f"queue {units.tell(link['queue_mean_pkts'], 'pkts')}")
            parts.append(f"drops {units.percent(link['drop_ratio'])}")
        if len(links) > overview.MOST_LINKS:
            parts.append(f"and {len(links) - overview.MOST_LINKS} more links")
        told = overview.fingerprint({**meta, "fingerprint": meta["fingerprint"][:16]})
        return f"<Result {', '.join(parts)}, {told}>"

    def _repr_html_(self) -> str:
        from clearpipe import notebook

        return notebook.html(self)


def one_run(results: Sequence[Result]) -> bool:
    """Are all of them the same, event by event? Runs on a real kernel never are."""
    real = any(result.meta["engine"] == "linux" for result in results)
    return not real and are_one([result.fingerprint for result in results])


def are_one(fingerprints: Sequence[str]) -> bool:
    """Are several runs with these fingerprints all the same?"""
    return len(fingerprints) > 1 and len(set(fingerprints)) == 1


def seal(dir: str | PathLike[str]) -> None:
    """Seal the result directory that was just written, so that `load` tells what was changed."""
    from clearpipe import seals

    atomic_files.write_text(Path(dir) / seals.NAME, seals.seal(Path(dir)))
