"""`Result.plot`: what a run recorded, drawn with matplotlib; every point is one of the table's."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearpipe import metric_titles, units
from clearpipe.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clearpipe.result import Result
    from clearpipe.table import Table

    Array = NDArray[np.float64]

MOST_NAMED = 6
"""Of more lines, each has its group's colour and the legend names the groups."""

WIDTH = 6.4
"""Inches."""


class Line(NamedTuple):
    """The samples of one flow or link."""

    id: int
    name: str
    family: str
    """Its group, or the link itself."""
    x: Array
    y: Array


class Plot:
    """The figures of one result. Each method draws into `ax`, or into a figure of its own.

    `flows` are numbers and `groups` and `links` names, all of them unless given. Raises
    UnsupportedError without matplotlib, and ConfigError if the run did not record what is to be
    drawn, or has no such flow, group or link.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def cwnd(
        self,
        *,
        flows: Sequence[int] | None = None,
        groups: str | Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Each flow's congestion window against time."""
        return self._flows("cwnd", "cwnd_pkts", "Congestion window", flows, groups, ax)

    def throughput(
        self,
        *,
        flows: Sequence[int] | None = None,
        groups: str | Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Each flow's goodput against time: new data delivered, mean since the last sample."""
        return self._flows("goodput", "goodput_bps", "Goodput", flows, groups, ax)

    def rtt(
        self,
        *,
        flows: Sequence[int] | None = None,
        groups: str | Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Each flow's smoothed RTT against time."""
        return self._flows("srtt", "srtt_s", "Smoothed RTT", flows, groups, ax)

    def queue(self, *, links: str | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
        """What waits at each link against time."""
        return self._links("queue", "queue_pkts", "Queue", links, ax)

    def utilization(
        self, *, links: str | Sequence[str] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Bits that left each link over its capacity, mean since the last sample."""
        return self._links("utilization", "utilization_ratio", "Utilization", links, ax)

    def fct(self, *, groups: str | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
        """The share of each group's finished transfers that took no longer than so many seconds."""
        import_matplotlib()
        known = [group["group"] for group in self._result.summary["groups"]]
        times = {name: self._times(name) for name in _chosen("groups", groups, known)}
        finished = {name: values for name, values in times.items() if len(values)}
        if not finished:
            told = ", ".join(times)
            raise ConfigError(
                f"no flow of {told} finished: give the group a size, such as "
                f'flows.{next(iter(times))}.size = "1MB", and time enough',
                key="flows",
            )
        return self._cumulative(finished, ax)

    def series(
        self,
        name: str,
        *,
        ids: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Any series of `Result.series_names`, such as `router_phi`, as it is.

        `ids` are the numbers of flows or links. Raises KeyError for a series that is not there.
        """
        import_matplotlib()
        table = self._result.series(name)
        of = "flow" if "flow" in table.column_names else "link"
        lines = list(self._lines(table, name, of))
        if ids is not None:
            wanted = _chosen("ids", [str(i) for i in ids], [str(line.id) for line in lines])
            lines = [line for line in lines if str(line.id) in wanted]
        return self._draw(lines, name.replace("_", " "), "", ax)

    def figure(self, path: str | os.PathLike[str], *names: str) -> Path:
        """Draw a panel for each of `names` to a .png, .svg or .pdf file, as `run --figure` does.

        A name is a series (`cwnd`, `router_phi`), a number of the result, of all links or groups or
        of one (`queue_mean_pkts`, `groups.web.fct_p95_s`), or `fct`. Without names it has every
        series that was probed.
        """
        from clearpipe.report import static

        return static.draw([self._result], path, names)

    def _flows(
        self,
        probe: str,
        name: str,
        title: str,
        flows: Sequence[int] | None,
        groups: str | Sequence[str] | None,
        ax: Axes | None,
    ) -> Axes:
        import_matplotlib()
        table = self._recorded(probe, name)
        lines = list(self._lines(table, name, "flow"))
        if groups is not None:
            wanted = _chosen("groups", groups, list(dict.fromkeys(x.family for x in lines)))
            lines = [line for line in lines if line.family in wanted]
        if flows is not None:
            known = [str(line.id) for line in lines]
            chosen = _chosen("flows", [str(flow) for flow in flows], known)
            lines = [line for line in lines if str(line.id) in chosen]
        return self._draw(lines, title, metric_titles.base_unit(name), ax)

    def _links(
        self,
        probe: str,
        name: str,
        title: str,
        links: str | Sequence[str] | None,
        ax: Axes | None,
    ) -> Axes:
        import_matplotlib()
        lines = list(self._lines(self._recorded(probe, name), name, "link"))
        wanted = _chosen("links", links, [line.name for line in lines])
        shown = [line for line in lines if line.name in wanted]
        return self._draw(shown, title, metric_titles.base_unit(name), ax)

    def _recorded(self, probe: str, name: str) -> Table:
        """The series `name`, which the entry `probe` of the scenario's [probe] records."""
        if name in self._result.series_names:
            return self._result.series(name)
        asked = tomllib.loads(self._result.scenario_toml).get("probe", {}).get("series", [])
        if probe in asked:
            raise ConfigError(f"the run has no value of {probe}: there was nothing to record")
        wanted = ", ".join(f'"{entry}"' for entry in [*asked, probe])
        raise ConfigError(
            f"the run did not record {probe}: add it to the scenario's [probe], "
            f"series = [{wanted}], and run again",
            key="probe.series",
        )

    def _lines(self, table: Table, name: str, of: str) -> Iterator[Line]:
        """The samples of each flow or link, by its number."""
        import numpy as np

        ids = np.asarray(table.column(of))
        x, y = (_floats(table.column(column)) for column in ("t_s", name))
        order = np.argsort(ids, kind="stable")
        if not len(order):
            return
        names = self._names(of)
        starts = np.flatnonzero(np.diff(ids[order])) + 1
        for part in np.split(order, starts):
            number = int(ids[part[0]])
            label, family = names[number]
            yield Line(number, label, family, x[part], y[part])

    def _names(self, of: str) -> dict[int, tuple[str, str]]:
        """What each flow or link is called, and what it belongs to."""
        if of == "link":
            return {x["link"]: (x["name"], x["name"]) for x in self._result.summary["links"]}
        flows = self._result.flows
        pairs = zip(flows["flow"], flows["group"], strict=True)
        return {flow: (f"{group} {flow}", group) for flow, group in pairs}

    def _times(self, group: str) -> Array:
        """How long the group's finished transfers took, sorted [s]."""
        import numpy as np

        for table in (getattr(self._result, "transfers", None), self._result.flows):
            if table is not None and group in table["group"]:
                both = zip(table["group"], table["fct_s"], strict=True)
                taken = _floats([value for name, value in both if name == group])
                return np.sort(taken[np.isfinite(taken)])
        return np.empty(0)

    def _draw(self, lines: Sequence[Line], title: str, unit: str, ax: Axes | None) -> Axes:
        """Lines of values in a base unit, drawn in the one that suits them."""
        from clearpipe.style import COLORS

        axes = self._axes(ax)
        scale = units.scale((value for line in lines for value in line.y.tolist()), unit)
        named = len(lines) <= MOST_NAMED
        families = list(dict.fromkeys(line.family for line in lines))
        counts = {family: sum(x.family == family for x in lines) for family in families}
        told: set[str] = set()
        for number, line in enumerate(lines):
            color = number if named else families.index(line.family)
            label = line.name
            if not named:
                label = f"{line.family} ({counts[line.family]})"
                label = f"_{line.name}" if line.family in told else label
                told.add(line.family)
            (drawn,) = axes.plot(
                line.x,
                line.y / scale.factor,
                color=COLORS[color % len(COLORS)],
                linewidth=1.0 if named else 0.6,
                drawstyle="steps-post" if self._on_change() else "default",
                label=label,
            )
            drawn.set_gid(line.name)
        if not unit:
            axes.yaxis.set_major_formatter(lambda value, _: units.number(value))
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(f"{title} ({scale.unit})" if scale.unit else title)
        return self._finished(axes, own=ax is None, several=len(lines) > 1)

    def _cumulative(self, times: dict[str, Array], ax: Axes | None) -> Axes:
        import numpy as np

        from clearpipe.style import COLORS

        axes = self._axes(ax)
        for number, (group, values) in enumerate(times.items()):
            share = 100 * np.arange(1, len(values) + 1) / len(values)
            (drawn,) = axes.plot(
                values,
                share,
                color=COLORS[number % len(COLORS)],
                drawstyle="steps-post",
                marker="." if len(values) <= 50 else "",
                label=f"{group} ({len(values)})",
            )
            drawn.set_gid(group)
        axes.set_xlabel("Time to finish (s)")
        axes.set_ylabel("Finished transfers (%)")
        return self._finished(axes, own=ax is None, several=len(times) > 1)

    def _axes(self, ax: Axes | None) -> Axes:
        if ax is not None:
            return ax
        from matplotlib import pyplot, rc_context

        from clearpipe.style import STYLE

        # Of pyplot, so that a notebook shows it; and before the style is set, because the first
        # figure chooses pyplot's settings for good.
        figure = pyplot.figure(figsize=(WIDTH, 2.7), layout="constrained")
        with rc_context(STYLE):
            return figure.subplots()

    def _finished(self, axes: Axes, own: bool, several: bool) -> Axes:
        from clearpipe.style import FRAMED, PAD, legend, title

        if axes.dataLim.y0 >= 0:
            axes.set_ylim(bottom=0)
        if not own:
            if several:
                axes.legend(**FRAMED)
            return axes
        room = legend(axes, WIDTH - 0.8) if several else PAD
        told = title(self._result)
        axes.set_title(told, loc="left", fontsize=9, fontweight="bold", pad=room)
        return axes

    def _on_change(self) -> bool:
        """Does a value hold until the next one?"""
        probe = tomllib.loads(self._result.scenario_toml).get("probe", {})
        return bool(probe.get("every") == "change")


def import_matplotlib() -> None:
    """Raise UnsupportedError if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        message = "plots need matplotlib: pip install 'clearpipe[figures]'"
        raise UnsupportedError(message) from None


def _floats(values: Sequence[Any]) -> Array:
    import numpy as np

    return np.array(values, dtype=np.float64)  # None becomes NaN


def _chosen(what: str, wanted: str | Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """`wanted`, if all of them are known; all that are known if nothing is wanted."""
    if wanted is None:
        return list(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in known:
            shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            raise ConfigError(f"{what}: {name} is none of those recorded: {shown}", key=what)
    return names
