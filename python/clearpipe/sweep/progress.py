"""How far a sweep is, on a board."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Sequence

from clearpipe import progress, units
from clearpipe.progress import Board, Track
from clearpipe.sweep.runner import Run, Tally
from clearpipe.sweep.spec import Spec


class Watching(contextlib.AbstractContextManager["Watching"]):
    """Tells a board what a sweep does. With `whole`, the board is one of several sweeps and knows
    already how many runs there are."""

    def __init__(
        self, board: Board | None = None, spec: Spec | None = None, whole: bool = False
    ) -> None:
        self.board = board or Board()
        self.whole = whole
        self.failed = 0
        base = tomllib.loads(spec.resolved) if spec is not None else {}
        self.duration_s = units.quantity(base.get("duration"))
        self.names: tuple[Sequence[str], Sequence[str]] = (
            list(base.get("links", ())),
            list(base.get("flows", ())),
        )

    def __enter__(self) -> Watching:
        if not self.whole:
            self.board.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.whole:
            self.board.__exit__(*error)

    @property
    def looks(self) -> bool:
        """Are links and flows to be seen?"""
        return self.board.looks

    def begin(self, tally: Tally) -> None:
        """So many runs are to be done now."""
        self.failed = tally.failed
        if not self.whole:
            self.board.expect(tally.wanted - tally.done - tally.failed)

    def started(self, run: Run) -> Track:
        """A run begins."""
        durations = [text for one in run.sets if (text := _value(one, "duration"))]
        duration = units.quantity(durations[-1]) if durations else self.duration_s
        return self.board.started(run.identity, f"{run.label} rep {run.rep}", duration, self.names)

    def ended(self, run: Run, tally: Tally) -> None:
        """A run is over."""
        self.board.ended(run.identity, failed=tally.failed > self.failed)
        self.failed = tally.failed

    def said(self, text: str) -> None:
        """Something that the user should know now."""
        self.board.said(text)


def _value(option: str, key: str) -> str:
    name, _, value = option.partition("=")
    return value.strip('"') if name == key else ""


def watcher(quiet: bool, spec: Spec | None = None, watch: bool = False) -> Watching:
    """For one sweep by itself."""
    return Watching(progress.board(quiet, watch), spec)
