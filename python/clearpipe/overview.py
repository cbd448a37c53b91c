"""Results in a few numbers: what the terminal and the report both show."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from clearpipe import terminal, units

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable

    from clearpipe.result import GroupSummary, LinkSummary, Meta, Result


# Where a result is told in a line, more links than that are only counted.
MOST_LINKS = 2


def rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a result table as dictionaries; what is not a number becomes None."""
    names = list(table.column_names)
    columns = [map(_known, table.column(name)) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_json(result: Result) -> dict[str, Any]:
    """A result's tables without its series."""
    return {
        "meta": result.meta,
        "bottleneck": result.summary["bottleneck"],
        "links": result.summary["links"],
        "groups": result.summary["groups"],
        "flows": rows(result.flows),
    }


def fingerprint(meta: Meta) -> str:
    """What tells whether two runs were the same."""
    if meta["engine"] == "linux":
        return "no fingerprint: a real kernel does nothing twice"
    return f"fingerprint {meta['fingerprint']}"


def speed(meta: Meta) -> str:
    """Packet-hops, or a fluid engine's steps, per second and simulated over real time."""
    if meta["engine"] == "linux":
        return "in real time"
    if "numerics" in meta:
        return f"{units.count(meta['events'])} steps, {_times_real(meta)} x real time"
    return f"{_hops(meta)} Mhops/s, {_times_real(meta)} x real time"


def _times_real(meta: Meta) -> str:
    if meta["wall_s"] <= 0:
        return units.DASH
    times = meta["simulated_s"] / meta["wall_s"]
    return units.number(times, 3)


def _hops(meta: Meta) -> str:
    return units.number(meta["packet_hops_per_s"] / 1e6, 3)


def _queue(mean: float, p90: float, scale: float = 1.0) -> str:
    return f"{units.number(scale * mean)} / {units.number(scale * p90)}"


def _jain(group: GroupSummary) -> str:
    value = group["jain_index_ratio"]
    return units.DASH if value is None else units.number(value)


def _goodput(group: GroupSummary) -> str:
    spread = group["goodput_bps"]
    if spread is None:
        return units.DASH
    return " / ".join(units.number(spread[key] / 1e6) for key in ("min", "mean", "max"))


def _flows(group: GroupSummary) -> str:
    every, active = group["flows"], group["active_flows"]
    return str(every) if active == every else f"{every} ({active} active)"


def _fct(group: GroupSummary) -> str:
    spread = group["fct_s"]
    if spread is None:
        return units.DASH
    return f"{units.number(spread['mean'])} / {units.number(spread['max'])}"


LINK_COLUMNS: list[tuple[str, Callable[[LinkSummary], str]]] = [
    ("Utilization %", lambda x: units.number(100 * x["utilization_ratio"])),
    ("Queue pkts\nmean / p90", lambda x: _queue(x["queue_mean_pkts"], x["queue_p90_pkts"])),
    (
        "Queue % of buffer\nmean / p90",
        lambda x: _queue(x["queue_mean_ratio"], x["queue_p90_ratio"], 100),
    ),
    (
        "Drops pkts\nafter warm-up / all",
        lambda x: f"{units.count(x['drops_pkts'])} / {units.count(x['total_drops_pkts'])}",
    ),
    ("Marks pkts\nafter warm-up", lambda x: units.count(x["marks_pkts"])),
]

GROUP_COLUMNS: list[tuple[str, Callable[[GroupSummary], str]]] = [
    ("Flows", _flows),
    ("Goodput per flow Mb/s\nmin / mean / max", _goodput),
    ("Jain's\nindex", _jain),
    ("Timeouts", lambda x: str(x["timeouts"])),
]

# Of groups whose flows have a size.
TRANSFER_COLUMNS: list[tuple[str, Callable[[GroupSummary], str]]] = [
    ("Finished\nflows", lambda x: f"{x['finished_flows']} of {x['flows']}"),
    ("Time to finish s\nmean / max", _fct),
]


def sized(result: Result) -> set[str]:
    """The groups whose flows have a size."""
    flows = tomllib.loads(result.scenario_toml)["flows"]
    return {name for name, flow in flows.items() if flow["size"] != "unlimited"}


def group_headings(transfers: bool) -> list[str]:
    """The headings of what `group_cells` gives."""
    return [title for title, _ in GROUP_COLUMNS + TRANSFER_COLUMNS * transfers]


def group_cells(group: GroupSummary, sized: set[str], transfers: bool) -> list[str]:
    """A group's texts; `transfers` tells whether the table has columns for those."""
    cells = [text(group) for _, text in GROUP_COLUMNS]
    if transfers:
        is_sized = group["group"] in sized
        cells += [text(group) if is_sized else units.DASH for _, text in TRANSFER_COLUMNS]
    return cells


def labels(results: Sequence[Result]) -> list[str]:
    """A short name for each result, different as long as the results are."""
    names = [result.meta["name"] for result in results]
    cut = len(common_words(names)) if len(set(names)) > 1 else 0
    short = ["-".join(name.split("-")[cut:]) or name for name in names]
    if len(set(names)) == len(names):
        return short
    runs = [f"seed {result.meta['seed']} rep {result.meta['rep']}" for result in results]
    if len(set(names)) == 1:
        return runs
    return [f"{name} {run}" for name, run in zip(short, runs, strict=True)]


def common_words(names: Sequence[str]) -> list[str]:
    """The words, parted by dashes, that all `names` begin with."""
    columns = zip(*(name.split("-") for name in names), strict=False)
    return [words[0] for words in takewhile(lambda words: len(set(words)) == 1, columns)]


@dataclass(frozen=True)
class Overview:
    """A result's rows: one for each link that is told, and its first group of flows."""

    label: str
    links: list[LinkSummary]
    group: GroupSummary
    sized: set[str]
    result: Result

    @property
    def transfers(self) -> bool:
        """Do the flows of the first group have a size?"""
        return self.group["group"] in self.sized

    def cells(self, transfers: bool, by_link: bool) -> list[list[str]]:
        """The rows' texts; what is the result's and no link's stands in the first row only."""
        group = group_cells(self.group, self.sized, transfers)
        meta = self.result.meta
        hops = _hops(meta) if meta["engine"] == "packet" else units.DASH
        once = [*group, f"{hops} / {_times_real(meta)}"]
        links = [
            [*[link["name"]] * by_link, *(text(link) for _, text in LINK_COLUMNS)]
            for link in self.links
        ]
        first, *others = links or [[units.DASH] * (by_link + len(LINK_COLUMNS))]
        blank = [""] * len(once)
        return [[self.label, *first, *once], *(["", *link, *blank] for link in others)]


def overview_rows(lines: Sequence[Overview]) -> tuple[list[str], list[list[list[str]]]]:
    """The overview's headings, and the rows of each result."""
    transfers = any(line.transfers for line in lines)
    by_link = len(link_names(lines)) > 1
    links = [*["Link"] * by_link, *(title for title, _ in LINK_COLUMNS)]
    headings = ["Scheme", *links, *group_headings(transfers), "Speed Mhops/s\n/ x real time"]
    return headings, [line.cells(transfers, by_link) for line in lines]


def of(results: Sequence[Result]) -> list[Overview]:
    """What tells of each result: the link that its scenario names, or else every loaded one."""
    return [
        Overview(label, told_links(result), result.summary["groups"][0], sized(result), result)
        for label, result in zip(labels(results), results, strict=True)
    ]


def told_links(result: Result) -> list[LinkSummary]:
    """The link that the scenario names; if it names none, every one that carried a packet."""
    name, links = result.summary["bottleneck"], result.summary["links"]
    if name is not None:
        return [link for link in links if link["name"] == name]
    return [link for link in links if link["total_departures_pkts"] > 0]


def link_names(lines: Sequence[Overview]) -> list[str]:
    """The links that the rows tell of, each once."""
    return list(dict.fromkeys(link["name"] for line in lines for link in line.links))


def caption(lines: Sequence[Overview]) -> str:
    """Which link and which flows the overview's rows speak of."""
    links = link_names(lines)
    groups = sorted({line.group["group"] for line in lines})
    told = f"Link {links[0]}" if len(links) == 1 else "Links by their names"
    return f"{told}; flows of group {', '.join(groups) or units.DASH}."


def link_note(result: Result) -> str:
    """Which link numbers are of that name none, in a sentence."""
    name = result.summary["bottleneck"]
    return "" if name is None else f"Bottleneck: link {name}."


def set_up(result: Result) -> str:
    """The scenario in a sentence, from what was run."""
    meta, summary = result.meta, result.summary
    flows = " + ".join(f"{g['flows']} {g['protocol']} ({g['group']})" for g in summary["groups"])
    rtts = [value for value in result.flows.column("base_rtt_s") if value is not None]
    low, high = (float(min(rtts)), float(max(rtts))) if rtts else (0.0, 0.0)
    spread = units.seconds(low) if low == high else f"{units.seconds(low)} to {units.seconds(high)}"
    links = "; ".join(_link_sentence(link) for link in summary["links"][:4])
    more = len(summary["links"]) - 4
    links += f"; and {more} more" if more > 0 else ""
    simulated, warmup = units.seconds(meta["simulated_s"]), units.seconds(meta["warmup_s"])
    return (
        f"Flows: {flows or 'none'}, base RTT {spread}. Links: {links}. "
        f"{simulated} simulated, measured after {warmup}."
    )


def _link_sentence(link: LinkSummary) -> str:
    buffer = units.size(link["buffer_bytes"])
    return f"{link['name']} {units.rate(link['rate_bps'])}, buffer {buffer}, queue {link['queue']}"


def saved_name(result: Result) -> str:
    """What a page calls the scenario that it saves, for the commands beside it.

    The file that was run may have had `--set` options, and others of its name stand about: the name
    is one that only this scenario has. An example is there anyway.
    """
    from clearpipe import examples

    if example := examples.name_of(result.scenario_toml):
        return example
    digest = hashlib.sha256(result.scenario_toml.encode()).hexdigest()
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", result.meta["name"]).lstrip("-")
    return f"{name or 'scenario'}-{digest[:8]}.toml"


def repeat_command(result: Result, file: str | None = None) -> str:
    """The command that gives the same fingerprint again: of `file`, of the example that it is a run
    of, from anywhere, or of a file that has the scenario's name."""
    from clearpipe import examples

    meta = result.meta
    name = file or examples.name_of(result.scenario_toml) or f"{meta['name']}.toml"
    engine = "" if meta["engine"] == "packet" else f" --engine {meta['engine']}"
    # A scenario may be called as it likes; a shell and the command line must read one file name.
    name = shlex.quote(f"./{name}" if name.startswith("-") else name)
    return f"clearpipe run {name}{engine} --seed {meta['seed']} --rep {meta['rep']}"


def new_table(title: str, headings: Sequence[str], left: int = 1) -> RichTable:
    """An empty table in the house style; its first `left` columns hold text."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < left else "right")
    return table


@dataclass(frozen=True)
class Grid:
    """A table that lies on its side where the terminal is too narrow for its columns."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    caption: str = ""

    MOST_SIDEWAYS: ClassVar[int] = 4

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        table = self._table(self.headings, self.rows, self.left)
        wanted = Measurement.get(console, options.update(width=1000), table).maximum
        if wanted > options.max_width and len(self.rows) <= self.MOST_SIDEWAYS:
            columns = list(zip(self.headings, *self.rows, strict=True))
            lines = [[text.replace("\n", " "), *cells] for text, *cells in columns[1:]]
            table = self._table(columns[0], lines, 1)
        yield table

    def lines(self) -> Iterator[str]:
        """For a pipe, which has room for all columns."""
        columns = [[row[i] for row in self.rows] for i in range(len(self.headings))]
        right = [number >= self.left for number in range(len(self.headings))]
        return terminal.aligned(self.title, self.headings, columns, right, self.caption)

    def _table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int
    ) -> RichTable:
        table = new_table(self.title, headings, left)
        table.caption = self.caption or None
        table.caption_justify = "left"
        for row in rows:
            table.add_row(*row)
        return table


@dataclass(frozen=True)
class Listing:
    """Entries as a table, or, where the terminal is too narrow for it, as paragraphs."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement
        from rich.padding import Padding
        from rich.text import Text

        table = new_table("", self.headings, left=len(self.headings))
        for row in self.rows:
            table.add_row(*row)
        wanted = Measurement.get(console, options.update(width=1000), table).maximum
        if wanted <= options.max_width:
            yield table
            return
        for row in self.rows:
            yield Text.assemble((row[0], "bold"))
            yield Padding(Text(row[1]), (0, 0, 0, 4))
            if rest := self._rest(row):
                yield Padding(Text(rest, style="dim"), (0, 0, 0, 4))

    def lines(self) -> list[str]:
        """A line for each, for what is piped somewhere."""
        width = max((len(row[0]) for row in self.rows), default=0)
        return [
            f"{row[0]:<{width}}  {row[1]}" + (f" ({rest})" if (rest := self._rest(row)) else "")
            for row in self.rows
        ]

    def _rest(self, row: Sequence[str]) -> str:
        told = zip(self.headings[2:], row[2:], strict=True)
        return "; ".join(f"{heading}: {text}" for heading, text in told if text != units.DASH)


def link_table(result: Result) -> Grid:
    """One row per link."""
    headings = ["Link", "Queue", *(title for title, _ in LINK_COLUMNS)]
    links = result.summary["links"]
    rows = [[x["name"], x["queue"], *(text(x) for _, text in LINK_COLUMNS)] for x in links]
    return Grid("Links", headings, rows, left=2, caption=link_note(result))


def group_table(result: Result) -> Grid:
    """One row per group of flows."""
    headings, rows = group_rows(result)
    return Grid("Flows", headings, rows, left=2)


def group_rows(result: Result) -> tuple[list[str], list[list[str]]]:
    """The headings and the rows of the groups' table."""
    finite = sized(result)
    headings = ["Group", "Protocol", *group_headings(bool(finite))]
    groups = result.summary["groups"]
    return headings, [
        [x["group"], x["protocol"], *group_cells(x, finite, bool(finite))] for x in groups
    ]


def overview_table(results: Sequence[Result], title: str) -> Grid:
    """The rows of each result."""
    lines = of(results)
    headings, rows = overview_rows(lines)
    left = 2 if len(link_names(lines)) > 1 else 1
    return Grid(title, headings, [row for mine in rows for row in mine], left, caption(lines))


MANY_COLUMNS = 12


def scenario_tables(scenario: dict[str, Any]) -> list[RichTable | str]:
    """A resolved scenario for a terminal: its plain keys, then its tables."""
    plain = {key: value for key, value in scenario.items() if not isinstance(value, dict)}
    plain.pop("schema", None)
    parts: list[RichTable | str] = [f"{key:<12}{_told(value)}" for key, value in plain.items()]
    for key, value in scenario.items():
        if isinstance(value, dict):
            parts.append(_section(key, value))
    return parts


def _section(title: str, content: dict[str, Any]) -> RichTable:
    named = {name: entry for name, entry in content.items() if isinstance(entry, dict)}
    if len(named) < len(content) or not named:
        table = new_table(title, ["Key", "Value"], left=2)
        for key, value in content.items():
            table.add_row(key, _told(value))
        return table
    columns = list(dict.fromkeys(key for entry in named.values() for key in entry))
    if len(columns) > MANY_COLUMNS:
        table = new_table(title, ["Name", "Settings"], left=2)
        for name, entry in named.items():
            table.add_row(name, _told(entry))
        return table
    table = new_table(title, ["Name", *columns], left=1 + len(columns))
    for name, entry in named.items():
        table.add_row(name, *(_told(entry.get(column, "")) for column in columns))
    return table


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_told(entry)}" for key, entry in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
