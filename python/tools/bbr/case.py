"""What a case is, and the table of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbr.network import JUDGED, RAN

CLOSE = 0.02


@dataclass(frozen=True)
class Step:
    """One expected outcome: what is to hold, what was measured, and whether it holds."""

    expects: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """What a case gave."""

    number: int
    title: str
    setup: str
    steps: tuple[Step, ...]
    why: str = ""

    @property
    def passed(self) -> bool:
        """Do all of its steps hold?"""
        return all(step.holds for step in self.steps)


CASES: dict[
    int, tuple[str, Callable[[], tuple[str, list[Step]] | tuple[str, list[Step], str]]]
] = {}


def case(number: int, title: str) -> Callable[[Any], Any]:
    """Enters a case into the table."""

    def enter(run: Any) -> Any:
        CASES[number] = (title, run)
        return run

    return enter


def outcome(number: int) -> Outcome:
    """Runs a case."""
    title, run = CASES[number]
    RAN.clear()
    JUDGED.clear()
    try:
        setup, steps, *why = run()
    except (IndexError, StopIteration):
        missed = Step("the phases that the case is about", "one of them never came", False)
        return Outcome(number, title, "", (missed,))
    return Outcome(number, title, setup, tuple(steps), *why)


def mbps(rate: float) -> str:
    """A rate in words."""
    return f"{rate / 1e6:.4g} Mb/s"


def ms(seconds: float) -> str:
    """A time in words."""
    if seconds == math.inf:
        return "never"
    return f"{1e3 * seconds:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"


def close(value: float, to: float) -> bool:
    """Within 2 %?"""
    return abs(value / to - 1) <= CLOSE


def log(number: int, folder: Path) -> list[Path]:
    """Writes the log of each run that the case judges: `case-04.sqlog`, and where there are more,
    `case-07-2.sqlog`."""
    outcome(number)
    files = []
    for i, net in enumerate(JUDGED, 1):
        files.append(folder / f"case-{number:02}{f'-{i}' if i > 1 else ''}.sqlog")
        net.log(files[-1])
    return files
