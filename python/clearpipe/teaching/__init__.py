"""The checks of the exercises in docs/tutorials/exercises run the engine on a student's answers.

A check takes one answer, a function or a value. It gives `Right`, raises `NotYet` where nothing is
filled in, and `Wrong` with a hint where the engine, or an example worked by hand, says otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import clearpipe as cp

Array = NDArray[np.float64]
Answer = Callable[..., Any]


class Verdict(Exception):
    """What a check says of an answer that is not right. A notebook shows it without a traceback."""

    word = "?"

    def __init__(self, said: str, task: str = "") -> None:
        super().__init__(f"{task}: {self.word}. {said}" if task else said)
        self.said = said

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class NotYet(Verdict):
    """Nothing is filled in."""

    word = "not yet"


class Wrong(Verdict):
    """The answer is not right; the message is a hint."""

    word = "wrong"


class Right(NamedTuple):
    """A task that is done, and what the engine said."""

    task: str
    said: str

    def __repr__(self) -> str:
        return f"{self.task}: right. {self.said}"


def task(name: str) -> Callable[[Callable[[Any], str]], Callable[[Any], Right]]:
    """Make a check of a function that says what is right about an answer, or raises a verdict."""

    def wrap(check: Callable[[Any], str]) -> Callable[[Any], Right]:
        @functools.wraps(check)
        def marked(answer: Any) -> Right:
            try:
                if answer is None or answer is ...:
                    raise NotYet("Nothing is filled in here.")
                return Right(name, check(answer))
            except Verdict as verdict:
                raise type(verdict)(verdict.said, name) from None

        return marked

    return wrap


def call(answer: Answer, *arguments: Any) -> Any:
    """What a student's function gives."""
    if not callable(answer):
        raise Wrong(f"Expected a function, not {answer!r}: its name alone, without brackets.")
    try:
        found = answer(*arguments)
    except NotImplementedError:
        raise NotYet("The function is not written.") from None
    except Exception as error:
        given = ", ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in arguments)
        kind = type(error).__name__
        raise Wrong(f"With ({given}) the function raises {kind}: {error}") from error
    if found is None or found is ...:
        raise NotYet("The function gives nothing back: it needs a return.")
    return found


def number(value: Any) -> float:
    """A number out of an answer."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise Wrong(f"Expected a number, not {value!r}.") from None
    if not np.isfinite(found):
        raise Wrong(f"Expected a finite number, not {found}.")
    return found


def near(found: float, expected: float, part: float) -> bool:
    """Is it within so large a part of what is expected?"""
    return abs(found - expected) <= part * abs(expected)


def dumbbell(
    flows: Mapping[str, Any],
    *,
    duration: str = "60s",
    warmup: str = "0s",
    probe: Mapping[str, Any] | None = None,
    initial_window: str = "1pkt",
    **topology: Any,
) -> cp.Result:
    """Run flows over one bottleneck."""
    return cp.run(
        {
            "schema": 1,
            "name": "exercise",
            "duration": duration,
            "warmup": warmup,
            "transport": {"initial_window": initial_window},
            "topology": {"kind": "dumbbell", **topology},
            "flows": flows,
            "probe": probe or {},
        }
    )


def changes(result: cp.Result, name: str, of: int = 0) -> tuple[Array, Array]:
    """Instants [s] and values of a series of one flow or link."""
    table = result.series(name)
    key = "flow" if "flow" in table.column_names else "link"
    mine = np.asarray(table[key]) == of
    times, values = (np.asarray(table[x], dtype=np.float64)[mine] for x in ("t_s", name))
    return times, values


def held(result: cp.Result, name: str, at: Array, of: int = 0) -> Array:
    """A series that was recorded on change, at other instants; 0 before its first value."""
    times, values = changes(result, name, of)
    index = np.searchsorted(times, at, side="right") - 1
    if not len(values):
        return np.zeros(len(at))
    return np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
