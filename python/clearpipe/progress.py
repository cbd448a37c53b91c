"""How far runs are: bars or a live view on a terminal, lines in a log, JSON for machines."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from clearpipe import terminal, units
from clearpipe.terminal import note

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress as Display
    from rich.table import Table

    from clearpipe.api import Look

EVERY_S = 60.0
"""Between two lines of a log."""

# More bars or runs than that are not shown one by one.
MOST_BARS = 8
MOST_WATCHED = 2
MOST_LINKS = 6
# Values of a link's queue that the live view shows.
TRAIL = 40


@dataclass
class Going:
    """A run that is on."""

    label: str
    duration_s: float | None
    names: tuple[Sequence[str], Sequence[str]] = ((), ())
    """Its links and its groups of flows."""
    simulated_s: float = 0.0
    look: Look | None = None
    before: Look | None = None
    queues: list[deque[float]] = field(default_factory=list)
    """What waited at each link, up to now."""
    began: float = field(default_factory=time.monotonic)

    @property
    def part(self) -> float:
        """What of it is done, as far as that is known."""
        return min(self.simulated_s / self.duration_s, 1.0) if self.duration_s else 0.0

    def saw(self, look: Look) -> None:
        """Something new was seen of it."""
        self.before, self.look = self.look, look
        if not self.queues:
            self.queues = [deque(maxlen=TRAIL) for _ in look.links]
        for trail, link in zip(self.queues, look.links, strict=True):
            trail.append(link[0])

    def utilization(self, link: int) -> float:
        """Of a link since it was seen last."""
        assert self.look is not None
        _, bits, capacity, _ = self.look.links[link]
        if self.before is not None:
            bits -= self.before.links[link][1]
            capacity -= self.before.links[link][2]
        return bits / capacity if capacity > 0 else 0.0


@dataclass(frozen=True)
class Standing:
    """How far all of them are."""

    about: str
    elapsed_s: float
    total: int
    ended: int
    failed: int
    simulated_s: float
    running: Sequence[Going]

    @property
    def left(self) -> int:
        """Runs that are not over."""
        return self.total - self.ended

    @property
    def share(self) -> float:
        """Runs that are over, with the parts of those that are on."""
        return self.ended + sum(one.part for one in self.running)

    @property
    def eta_s(self) -> float | None:
        """How long what is left will take if it goes on like this."""
        if self.share <= 0 or self.elapsed_s <= 0:
            return None
        return self.elapsed_s * (self.total - self.share) / self.share

    @property
    def pace(self) -> float:
        """Simulated time over real time, of all runs together."""
        return self.simulated_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def runs_per_s(self) -> float:
        """By what is done of all runs."""
        return self.share / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def words(self) -> str:
        """A line of a log."""
        head = f"{self.about}: " if self.about else ""
        to_go = "" if self.eta_s is None else f", {span(self.eta_s)} to go"
        if self.total == 1 and self.running:
            (one,) = self.running
            of = f" of {one.duration_s:g}" if one.duration_s else ""
            share = f" ({100 * one.part:.0f} %)" if one.duration_s else ""
            told = f"{one.simulated_s:.1f}{of} s simulated{share}"
            return f"{head}{one.label}: {told}, {times(self.pace)}{to_go}"
        failed = f", {self.failed} failed" if self.failed else ""
        done = f"{self.ended} of {self.total} runs done{failed}, {self.left} left"
        return f"{head}{done}, {rate(self.runs_per_s)}{to_go}"

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        running = [
            {"run": one.label, "simulated_s": one.simulated_s, "duration_s": one.duration_s}
            for one in self.running
        ]
        return {
            "event": "progress",
            "about": self.about,
            "elapsed_s": round(self.elapsed_s, 3),
            "done": self.ended - self.failed,
            "failed": self.failed,
            "left": self.left,
            "runs_per_s": self.runs_per_s,
            "simulated_s_per_s": self.pace,
            "eta_s": self.eta_s,
            "running": running,
        }


class Track(Protocol):
    """What a run tells while it is on."""

    def __call__(self, simulated_s: float) -> None:
        """How far it is."""

    def look(self, look: Look) -> None:
        """What it is like."""


class Board(contextlib.AbstractContextManager["Board"]):
    """Keeps how far runs are, and shows nothing."""

    looks = False
    """Does it want to see links and flows?"""

    def __init__(self) -> None:
        self.about = ""
        """What is being done, in a few words."""
        self.lock = threading.RLock()
        self.began = time.monotonic()
        self.total = self.over = self.failed = 0
        self.simulated_s = 0.0
        """Of runs that are over."""
        self.running: dict[Hashable, Going] = {}

    def __exit__(self, *_: object) -> None:
        return None

    def expect(self, left: int) -> None:
        """So many runs are left, those that are on among them."""
        with self.lock:
            self.total = self.over + left

    def started(
        self,
        key: Hashable,
        label: str,
        duration_s: float | None = None,
        names: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> Track:
        """A run begins; what this gives is told how far it is."""
        going = Going(label, duration_s, names)
        with self.lock:
            self.running[key] = going
        return _Track(self, key, going)

    def moved(self, key: Hashable, going: Going) -> None:
        """A run told something."""

    def ended(self, key: Hashable, failed: bool = False) -> None:
        """A run is over."""
        with self.lock:
            self.over += 1
            self.failed += failed
            going = self.running.pop(key, None)
            if going is not None:
                self.simulated_s += going.simulated_s

    def said(self, text: str) -> None:
        """Something that the user should know now."""

    def now(self) -> Standing:
        """How far they are."""
        with self.lock:
            running = list(self.running.values())
            return Standing(
                self.about,
                time.monotonic() - self.began,
                max(self.total, self.over + len(running)),
                self.over,
                self.failed,
                self.simulated_s + sum(one.simulated_s for one in running),
                running,
            )


@dataclass(frozen=True)
class _Track:
    board: Board
    key: Hashable
    going: Going

    def __call__(self, simulated_s: float) -> None:
        self.going.simulated_s = simulated_s
        self.board.moved(self.key, self.going)

    def look(self, look: Look) -> None:
        with self.board.lock:
            self.going.saw(look)


class Lines(Board):
    """A line on stderr now and then."""

    def __init__(self, every_s: float | None = None) -> None:
        super().__init__()
        self.every_s = EVERY_S if every_s is None else every_s
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._tell, name="progress", daemon=True)

    def __enter__(self) -> Lines:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()

    def said(self, text: str) -> None:
        """A line of its own."""
        note(f"clearpipe: {text}")

    def _tell(self) -> None:
        while not self.stop.wait(self.every_s):
            now = self.now()
            if not now.total:
                continue
            if terminal.log_format == "json":
                print(json.dumps(now.as_json()), file=sys.stderr, flush=True)
            else:
                note(f"clearpipe: {now.words()}")


class Bars(Board):
    """A bar for each run, and one for all if there are several."""

    def __init__(self) -> None:
        super().__init__()
        self.display = _display()
        self.whole: Any = None
        self.bars: dict[Hashable, Any] = {}

    def __enter__(self) -> Bars:
        self.display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.display.stop()

    def expect(self, left: int) -> None:
        """The bar for all of them."""
        super().expect(left)
        if self.total > 1 and self.whole is None:
            self.whole = self.display.add_task("", total=self.total, now="", pace="")
        self._all()

    def started(
        self,
        key: Hashable,
        label: str,
        duration_s: float | None = None,
        names: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> Track:
        """A bar for the run, if there is room."""
        track = super().started(key, label, duration_s, names)
        with self.lock:
            if len(self.bars) < MOST_BARS:
                name = f"  {label[:60]}" if self.whole is not None else label
                bar = self.display.add_task(name, total=duration_s, now="", pace="")
                self.bars[key] = bar
        return track

    def moved(self, key: Hashable, going: Going) -> None:
        """The bar grows."""
        bar = self.bars.get(key)
        if bar is not None:
            end = f" / {going.duration_s:g} s" if going.duration_s else " s"
            pace = going.simulated_s / max(time.monotonic() - going.began, 1e-3)
            now = f"{going.simulated_s:.1f}{end}"
            done = going.simulated_s
            self.display.update(bar, completed=done, now=now, pace=times(pace))
        self._all()

    def ended(self, key: Hashable, failed: bool = False) -> None:
        """Takes the run's bar away."""
        super().ended(key, failed)
        with self.lock:
            bar = self.bars.pop(key, None)
        if bar is not None:
            self.display.remove_task(bar)
        self._all()

    def said(self, text: str) -> None:
        """A line above the bars."""
        self.display.console.print(f"clearpipe: {terminal.printable(text)}")

    def _all(self) -> None:
        if self.whole is not None:
            now = self.now()
            failed = f", {now.failed} failed" if now.failed else ""
            self.display.update(
                self.whole,
                description=now.about or "all runs",
                total=now.total,
                completed=now.share,
                now=f"{now.ended} / {now.total} runs{failed}",
                pace=rate(now.runs_per_s),
            )


class View(Bars):
    """The bars, and under them queue, utilization and windows of runs as they come."""

    looks = True

    def __enter__(self) -> View:
        from rich.live import Live

        self.live = Live(
            get_renderable=self._view, console=self.display.console, refresh_per_second=8
        )
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.update(self.display, refresh=True)
        self.live.stop()

    def _view(self) -> RenderableType:
        from rich.console import Group

        with self.lock:
            seen = [one for one in self.running.values() if one.look is not None]
            tables = [table for one in seen[:MOST_WATCHED] for table in tables_of(one)]
        return Group(self.display, *tables)


def tables_of(going: Going) -> list[Table]:
    """What was seen of a run last: its links, and its groups of flows."""
    from clearpipe.overview import new_table

    assert going.look is not None
    links = new_table(
        going.label, ["Link", "Queue so far", "Now pkts", "Utilization", "Drops pkts"], left=2
    )
    used = [i for i, link in enumerate(going.look.links) if link[1] > 0]
    for i in used[:MOST_LINKS]:
        queue, _, _, drops = going.look.links[i]
        share = going.utilization(i)
        links.add_row(
            _name(going.names[0], i, len(going.look.links)),
            sparkline(going.queues[i]),
            units.count(queue),
            f"{bar(share)} {100 * share:5.1f} %",
            units.count(drops),
        )
    flows = new_table("", ["Flows", "Sending", "Window pkts\nleast / mean / most"])
    for i, (number, least, most, total) in enumerate(going.look.groups):
        name = _name(going.names[1], i, len(going.look.groups))
        mean = total / number if number else 0.0
        window = " / ".join(units.number(value, 3) for value in (least, mean, most))
        flows.add_row(name, units.count(number), window if number else units.DASH)
    if len(used) > MOST_LINKS:
        links.caption = f"and {len(used) - MOST_LINKS} more links"
    return [links, flows]


def _name(names: Sequence[str], number: int, of: int) -> str:
    """What a link or a group is called; a point of a sweep may have others than its scenario."""
    return names[number] if len(names) == of else str(number)


BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Values as blocks; the highest is the largest of them."""
    top = max(values, default=0.0)
    if top <= 0:
        return BLOCKS[0] * len(values)
    return "".join(BLOCKS[min(int(value / top * len(BLOCKS)), 7)] for value in values)


def bar(share: float, width: int = 10) -> str:
    """A share as a bar."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def board(quiet: bool, watch: bool = False) -> Board:
    """What shows how far runs are, where stderr goes to."""
    if quiet:
        return Board()
    if terminal.log_format == "json" or not sys.stderr.isatty():
        if watch:
            note("note: --watch needs a terminal; here is a line a minute")
        return Lines()
    return View() if watch else Bars()


def times(pace: float) -> str:
    """How fast simulated time goes."""
    return f"{units.number(pace, 3)} x real time"


def rate(per_s: float) -> str:
    """Runs in a time that makes it a number above 1."""
    for seconds, unit in ((1.0, "s"), (60.0, "min")):
        if per_s * seconds >= 1:
            return f"{units.number(per_s * seconds, 3)} runs/{unit}"
    return f"{units.number(per_s * 3600, 3)} runs/h"


def span(seconds: float) -> str:
    """How long something takes: `1.5 h`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _display() -> Display:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[now]}", markup=False),
        TextColumn("{task.fields[pace]}", markup=False),
        TextColumn("ETA", markup=False),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, markup=False, highlight=False),
    )
