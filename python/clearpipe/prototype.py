"""Protocols and queues as Python classes, for prototyping: they run beside built-in ones.

A scenario names a class, in a file beside it or in a module that can be imported:

    [protocols.mine]
    kind = "python"
    code = "toy.py:Toy"          # or "package.module:Toy", or "__main__:Toy" in a notebook

An instance is one flow's sender or one link's router. The engine calls its methods and reads its
attributes after each call; an exception ends the run, with its traceback. Times are in seconds,
windows in packets. See docs/tutorials/prototypes.md.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import random
import sys
import threading
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, ClassVar, Literal

from clearpipe.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType

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

    `cwnd` is the window in packets, 1 to 10000000, rounded down when packets are sent. `pacing` is
    the rate in bit/s at which packets are spaced, or None. `timer` is when to call `on_timer`, or
    None; a time in the past means a microsecond from now. It is None again when `on_timer` is
    called, which must leave None or a time after now. The scenario chooses how lost packets are
    found and sent again (`recovery`, by default "sack").
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
        """Called at the time in `timer`."""


class Router:
    """A policy on the queue of a link; one instance per link.

    `timer` is when to call `on_timer`, or None. It is read after the start and after each
    `on_timer`, which must leave None or a time after now.
    """

    def __init__(self, context: RouterContext) -> None:
        self.timer: float | None = None
        self.random = random.Random(context.seed)

    def on_arrival(self, packet: Packet, backlog: Backlog) -> bool | None:
        """Decide about an arriving packet: False drops it; otherwise it enters if there is room.

        `backlog` is what waits, without the packet and the one in service. `packet.ecn` and
        `packet.header` may be written.
        """
        raise NotImplementedError(f"{type(self).__qualname__}.on_arrival")

    def on_departure(self, packet: Packet, backlog: Backlog) -> None:
        """Called for a packet that leaves the queue; may write its header."""

    def on_timer(self, now: float, backlog: Backlog) -> None:
        """Called at the time in `timer`."""

    def on_capacity(self, now: float, capacity_bps: float) -> None:
        """Called when the link's capacity changes."""


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
        form = 'expected a class such as "toy.py:Toy" or "package.module:Toy"'
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
        there = sys.modules.get(where)
        source = getattr(there, "__file__", None)
        if there is not None and (where == "__main__" or source is None):
            return there
        try:
            return _imported(where, source)
        except ModuleNotFoundError as error:
            if error.name is None or not (
                where == error.name or where.startswith(f"{error.name}.")
            ):
                raise
            raise wrong(f"there is no module {where}") from None
    path = folder / where
    if not path.is_file():
        raise wrong(f"there is no file {path}")
    # Read anew each time, with what it imports from beside it: all of it may have been changed
    # since. Under a name of its own, so that its objects can be copied.
    name = f"clearpipe_prototype_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _beside(path):
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module


_loading = threading.RLock()

# In CPython 3.11 two threads that make syntax trees at once may get a SystemError (gh-106905).
_parsing = threading.RLock()

# The code of modules that were imported by name, when they were.
_imported_as: dict[str, str] = {}


def _imported(where: str, source: str | None) -> ModuleType:
    """A module by its name, imported anew if its file or what it imports has changed."""
    with _loading:
        if source is not None and _imported_as.get(where) != _version_of(Path(source), True):
            _forget(files(Path(source), True))
        module = importlib.import_module(where)
        if module.__file__ is not None:
            _imported_as[where] = _version_of(Path(module.__file__), True)
        return module


def _forget(sources: list[Path]) -> None:
    """Has these files imported anew when they are asked for."""
    own = {str(file) for file in sources}
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in own and name != "__main__":
            del sys.modules[name]
    importlib.invalidate_caches()


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[None]:
    """While this lasts, imports find what is beside `path` first, as it is now."""
    with _loading:
        _forget(files(path))
        sys.path.insert(0, str(path.parent.resolve()))
        try:
            yield
        finally:
            sys.path.remove(str(path.parent.resolve()))


# Versions: what tells two runs of one scenario apart when a class was edited between them.


def version(spec: str, beside: str, router: bool, definition: str) -> str:
    """A hash of the class's code: of its file and of all that it imports from beside it.

    A class that has no file (of a notebook) is known by its methods and by the functions and
    constants of its module that they name. Raises ConfigError as `load` does.
    """
    where = spec.rpartition(":")[0]
    path = Path(beside).parent / where
    if not where.endswith(".py") or not path.is_file():
        found = load(spec, beside, router, definition)
        source = getattr(sys.modules[found.__module__], "__file__", None)
        if found.__module__ == "__main__" or source is None:
            return _hash(repr(_facts(found, set())).encode())
        return _version_of(Path(source), package=True)
    return _version_of(path)


def _version_of(path: Path, package: bool = False) -> str:
    return _hash(*(file.read_bytes() for file in files(path, package)))


def files(path: Path, package: bool = False) -> list[Path]:
    """A Python file and all that it imports, step by step, from its folder or its package.

    Clearpipe itself is not among them: its parts have versions of their own.
    """
    top = path.resolve()
    root = top.parent
    while package and (root / "__init__.py").is_file():
        root = root.parent
    found = [top]
    for file in found:  # it grows
        for name in _imports(file, root):
            if name.partition(".")[0] == "clearpipe":
                continue
            place = root.joinpath(*name.split("."))
            for one in (place.with_suffix(".py"), place / "__init__.py"):
                if one.is_file() and one not in found:
                    found.append(one)
    return [top, *sorted(found[1:])]


def _imports(file: Path, root: Path) -> Iterator[str]:
    """The modules that a file may import, by their full names; none if it is not Python."""
    try:
        with _parsing:
            tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    package = list(file.parent.relative_to(root).parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _prefixes(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = [*above, *(node.module or "").split(".")] if node.module else above
            yield from _prefixes(base)
            for alias in node.names:
                yield ".".join([*base, alias.name])


def _prefixes(parts: list[str]) -> Iterator[str]:
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def _facts(value: object, seen: set[int]) -> object:
    """What decides about a class or function that has no file, as values with a stable repr."""
    if isinstance(value, bool | int | float | str | bytes | type(None)):
        return value
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, tuple | list):
        return [_facts(one, seen) for one in value]
    if id(value) in seen:
        return None
    seen.add(id(value))
    return _code_facts(value, seen)


def _code_facts(value: object, seen: set[int]) -> object:
    if isinstance(value, type):
        known = value.__module__.partition(".")[0] in {"builtins", "clearpipe"}
        bases = [] if known else [_facts(base, seen) for base in value.__bases__]
        inside = {} if known else {k: v for k, v in vars(value).items() if k not in _OWN}
        return [value.__qualname__, bases, _facts(inside, seen)]
    function = getattr(value, "__func__", getattr(value, "fget", value))
    if not isinstance(function, FunctionType):
        return type(value).__qualname__
    code = function.__code__
    named = {name: function.__globals__.get(name) for name in sorted(_names(code))}
    given = [function.__defaults__, function.__kwdefaults__, named]
    return [_code(code), _facts(given, seen)]


# What a class has without having said it.
_OWN = {"__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__firstlineno__"}


def _code(code: CodeType) -> object:
    inner = type(code)
    return [
        code.co_code,
        code.co_names,
        [_code(one) if isinstance(one, inner) else repr(one) for one in code.co_consts],
    ]


def _names(code: CodeType) -> set[str]:
    inner = [one for one in code.co_consts if isinstance(one, type(code))]
    return set(code.co_names).union(*map(_names, inner))


def _hash(*contents: bytes) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for content in contents:
        whole.update(len(content).to_bytes(8, "little") + content)
    return whole.hexdigest()
