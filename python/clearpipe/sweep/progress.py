"""How far a sweep is: a bar for the whole and one for each run that is on."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clearpipe.sweep.runner import Run, Tally
from clearpipe.terminal import note

if TYPE_CHECKING:
    from rich.progress import Progress

# More bars than that are not shown.
MOST_BARS = 8


def watcher(quiet: bool) -> Bars:
    """Bars, or nothing where there is no terminal."""
    return Bars(disable=quiet or not sys.stderr.isatty(), quiet=quiet)


class Bars(contextlib.AbstractContextManager["Bars"]):
    """Progress bars on stderr."""

    def __init__(self, disable: bool, quiet: bool = True) -> None:
        self.disable = disable
        self.quiet = quiet
        self.display: Progress | None = None
        self.whole: Any = None
        self.running: dict[str, Any] = {}
        self.lock = threading.Lock()

    def __enter__(self) -> Bars:
        if not self.disable:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self.display = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                TimeElapsedColumn(),
                TextColumn("ETA", markup=False),
                TimeRemainingColumn(compact=True),
                console=Console(stderr=True, markup=False, highlight=False),
            )
            self.display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.display is not None:
            self.display.stop()

    def begin(self, tally: Tally) -> None:
        """The bar for the whole; of what is left, only the time of this call's runs counts."""
        if self.display is None:
            return
        left = tally.wanted - tally.done - tally.failed
        if self.whole is None:
            self.whole = self.display.add_task("sweep", total=left, note="")
        else:
            self.display.update(self.whole, total=tally.fresh + left)

    def started(self, run: Run) -> Callable[[float], None]:
        """A line for the run, if there is room."""
        with self.lock:
            if self.display is None or len(self.running) >= MOST_BARS:
                return lambda _: None
            name = f"{run.label} rep {run.rep}"
            task = self.display.add_task(name[:60], total=None, note="")
            self.running[run.identity] = task
        display = self.display

        def advance(simulated_s: float) -> None:
            display.update(task, note=f"{simulated_s:.1f} s simulated")

        return advance

    def ended(self, run: Run, tally: Tally) -> None:
        """Takes the run's bar away."""
        if self.display is None:
            return
        with self.lock:
            task = self.running.pop(run.identity, None)
        if task is not None:
            self.display.remove_task(task)
        note = f"{tally.failed} failed" if tally.failed else ""
        self.display.update(self.whole, advance=1, note=note)

    def said(self, text: str) -> None:
        """A line on stderr."""
        if not self.quiet:
            note(f"clearpipe: {text}")
