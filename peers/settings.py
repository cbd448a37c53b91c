"""What all measurements of `make bench-peers` share: the options, and how a task is described."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The options, and the cores this process may use."""

    pairs: int
    only: str
    quick: bool
    cores: tuple[int, ...]

    def wants(self, label: str) -> bool:
        """Whether a line's label, such as `case=xcp-base`, was asked for."""
        return self.only in label

    def duration_s(self, duration_s: float) -> float:
        """Simulated time, a tenth of it in a smoke test."""
        return duration_s / 10 if self.quick else duration_s


@dataclass(frozen=True)
class Task:
    """A measurement that prints lines with these labels."""

    labels: tuple[str, ...]
    lines: Callable[[Settings], Iterator[str]]

    def is_wanted(self, settings: Settings) -> bool:
        """Whether one of its lines was asked for."""
        return any(settings.wants(label) for label in self.labels)


def available_cores() -> tuple[int, ...]:
    """The cores this process may use; none where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0)))


def note(text: str) -> None:
    """A line for people."""
    print(f"bench-peers: {text}", file=sys.stderr, flush=True)
