"""Protocols and queues as Python classes, for prototyping: they run beside built-in ones.

A scenario names a class, in a file beside it or in a module that can be imported:

    [protocols.mine]
    kind = "python"
    code = "toy.py:Toy"          # or "package.module:Toy", or "__main__:Toy" in a notebook

An instance is one flow's sender or one link's router. The engine calls its methods and reads its
attributes after each call; an exception ends the run, with its traceback. Times are in seconds,
windows in packets. See docs/prototypes.md.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from clearpipe.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from clearpipe._core import (
        Ack,
        Backlog,
        Departing,
        Loss,
        Packet,
        RouterContext,
        SenderContext,
    )

    Header = tuple[float, float, float]


class Sender:
    """An end host's congestion control; one instance per flow.

    `cwnd` is the window in packets, 1 to 10000000: up to its whole part is sent. `pacing`, in
    bit/s, is the rate that packets must not exceed one by one, or None. `timer` is when `on_timer`
    is to be called, or None; a time that is over means a microsecond from now. It is None again
    when `on_timer` is called, which must leave None or a time after now. Which recovery finds and
    resends lost packets is the scenario's affair (`recovery`, by default "sack").
    """

    ecn: ClassVar[Literal["none", "classic", "codes"]] = "none"
    """How it uses the two ECN bits: not at all; as RFC 3168 does, where an echo comes as a loss of
    kind "ecn"; or as codes, which start as 01 and come back in `Ack.code`."""

    def __init__(self, context: SenderContext) -> None:
        self.cwnd: float = max(context.initial_window, 1.0)
        self.pacing: float | None = None
        self.timer: float | None = None
        self.random = random.Random(context.seed)

    def on_send(self, segment: Departing) -> Header | None:
        """Return the header that a departing data packet carries: three numbers, None for zeros."""

    def on_ack(self, ack: Ack) -> None:
        """Take note of newly delivered data."""
        raise NotImplementedError(f"{type(self).__qualname__}.on_ack")

    def on_loss(self, loss: Loss) -> None:
        """React to congestion: at most once per window of data, timeouts aside."""
        raise NotImplementedError(f"{type(self).__qualname__}.on_loss")

    def on_timer(self, now: float) -> None:
        """Do what `timer` was set for."""


class Router:
    """A policy on the queue of a link; one instance per link.

    `timer` is when `on_timer` is to be called, or None. It is read after the start and after each
    `on_timer`, which must leave None or a time after now.
    """

    def __init__(self, context: RouterContext) -> None:
        self.timer: float | None = None
        self.random = random.Random(context.seed)

    def on_arrival(self, packet: Packet, backlog: Backlog) -> bool | None:
        """Decide about an arriving packet: False drops it, all else lets it in if there is room.

        `backlog` is what waits, without the packet and the one in service. `packet.ecn` and
        `packet.header` may be written.
        """
        raise NotImplementedError(f"{type(self).__qualname__}.on_arrival")

    def on_departure(self, packet: Packet, backlog: Backlog) -> None:
        """See a packet that leaves the queue, and perhaps write its header."""

    def on_timer(self, now: float, backlog: Backlog) -> None:
        """Do what `timer` was set for."""

    def on_capacity(self, now: float, capacity_bps: float) -> None:
        """Learn that the link has another capacity from now on."""


def load(spec: str, beside: str, router: bool, definition: str) -> type[Sender] | type[Router]:
    """Find the class that a scenario in the file `beside` names.

    Raises ConfigError if there is no such class, or if it is no sender or router. What the module
    itself raises goes through.
    """
    table = "queues" if router else "protocols"
    key = f"{table}.{definition}.code"

    def wrong(reason: str) -> ConfigError:
        return ConfigError(f"{beside}: {key}: {reason}", beside, None, key)

    where, _, name = spec.rpartition(":")
    if not where or not name:
        form = 'a class such as "toy.py:Toy" or "package.module:Toy" is wanted'
        raise wrong(f'{form}, found "{spec}"' if spec else form)
    module = _module(where, Path(beside).parent, wrong)
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    base = Router if router else Sender
    if not isinstance(found, type):
        names = sorted(n for n, value in vars(module).items() if _is_subclass(value, base))
        there = f" (there are: {', '.join(names)})" if names else ""
        raise wrong(f"{where} has no class {name}{there}")
    if not issubclass(found, base):
        raise wrong(f"{spec} is no subclass of clearpipe.{base.__name__}")
    return found


def _is_subclass(value: object, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base) and value is not base


def _module(where: str, folder: Path, wrong: Callable[[str], ConfigError]) -> ModuleType:
    if not where.endswith(".py"):
        # What is there already may be a notebook, which cannot be imported.
        if where in sys.modules:
            return sys.modules[where]
        try:
            return importlib.import_module(where)
        except ModuleNotFoundError as error:
            if error.name is None or not (
                where == error.name or where.startswith(f"{error.name}.")
            ):
                raise
            raise wrong(f"there is no module {where}") from None
    path = folder / where
    if not path.is_file():
        raise wrong(f"there is no file {path}")
    # Read anew each time: it may have been changed since. Under a name of its own, so that its
    # objects can be copied.
    name = f"clearpipe_prototype_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
