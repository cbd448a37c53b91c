"""Cellular links that nobody recorded: a seeded walk in mahimahi's format."""

from __future__ import annotations

import random


def walk(seed: int, seconds: int, least: float = 0.05, most: float = 2.0) -> list[int]:
    """The milliseconds in which a packet may leave. The rate [packets/ms] is multiplied each 100 ms
    by 0.8, 1 or 1.25 and kept within bounds. Every operation is exact or rounded by IEEE 754, and
    `Random.random` is the same in all versions of Python, so equal seeds give equal traces."""
    draws, rate, owed, out = random.Random(seed), 0.5, 0.0, []
    for ms in range(1, 1000 * seconds + 1):
        if ms % 100 == 0:
            factor = (0.8, 1.0, 1.25)[int(3 * draws.random())]
            rate = min(most, max(least, rate * factor))
        owed += rate
        while owed >= 1:
            owed -= 1
            out.append(ms)
    return out


def text(trace: list[int]) -> str:
    """As a file has it."""
    return "".join(f"{ms}\n" for ms in trace)
