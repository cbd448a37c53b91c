"""Signals that end a command, where they must not come between making something and removing it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Collection, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import TypeVar

from clearpipe.exits import Terminated

ENDING = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has no SIGHUP
)
LOOK_S = 0.1
"""How often somebody who waits looks for a signal."""

T = TypeVar("T")


class _State:
    """There is one, as a process has one set of handlers."""

    def __init__(self) -> None:
        self.holding = False
        self.noted: int | None = None
        self.spared: int | None = None

    def note(self, number: int, _frame: FrameType | None) -> None:
        """The handler: the first signal counts."""
        if self.noted is None and number != self.spared:
            self.noted = number


_state = _State()


def check() -> None:
    """Raise what a signal that came meanwhile asks for: KeyboardInterrupt or Terminated."""
    if _state.noted is not None:
        raise KeyboardInterrupt if _state.noted == signal.SIGINT else Terminated


def wait(
    running: Collection[futures.Future[T]], until: str = futures.ALL_COMPLETED
) -> set[futures.Future[T]]:
    """`concurrent.futures.wait` that `check`s meanwhile; what is done."""
    while True:
        done, waiting = futures.wait(running, LOOK_S if _state.holding else None, until)
        if not waiting or (done and until == futures.FIRST_COMPLETED):
            return done
        check()


@contextmanager
def spared(number: signal.Signals) -> Iterator[None]:
    """Meanwhile this signal is for somebody else: the command in the foreground has it, too."""
    _state.spared = number
    try:
        yield
    finally:
        _state.spared = None


def held_if(wanted: bool) -> AbstractContextManager[None]:
    """`held`, or nothing."""
    return held() if wanted else nullcontext()


@contextmanager
def held() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise nothing until the end; `check` does, where it is called.

    The first one counts, and those after it change nothing: what has been made is removed however
    impatient somebody is. At the end it is raised, whatever else was. A signal that is ignored
    stays so. Inside another `held`, and outside the main thread, which alone has signals, this
    does nothing.
    """
    if _state.holding or threading.current_thread() is not threading.main_thread():
        yield
        return
    # None: a handler that Python has not set, and cannot set again.
    before = {number: signal.getsignal(number) for number in ENDING}
    ours = [number for number in ENDING if before[number] not in {signal.SIG_IGN, None}]
    _state.holding = True
    try:
        for number in ours:
            signal.signal(number, _state.note)
        try:
            yield
        finally:
            check()
    finally:
        for number in ours:
            signal.signal(number, before[number])
        _state.holding, _state.noted = False, None
