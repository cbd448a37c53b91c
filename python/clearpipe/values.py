"""What the generated classes of `clearpipe.scenario` share: frozen values that render as TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from os import PathLike, fspath
from typing import Any

from clearpipe.errors import ConfigError


@dataclass(frozen=True, kw_only=True, repr=False)
class Model:
    """A table of a scenario.

    A key that is None is left out, so that the scenario reader's default holds; nothing is checked
    here. `dataclasses.replace` gives a changed copy.
    """

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, frozen(getattr(self, entry.name)))

    def to_dict(self) -> dict[str, Any]:
        """The keys that are given, as nested dictionaries and lists."""
        return {key: plain(value, key) for key, value in self._given()}

    def to_toml(self) -> str:
        """The TOML text that the scenario reader gets."""
        return toml(self.to_dict())

    def _given(self) -> Iterator[tuple[str, Any]]:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is not None:
                # A key that Python has taken for itself, such as `from`, bears a dash behind.
                yield entry.metadata.get("key", entry.name), value

    def __repr__(self) -> str:
        given = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        told = ", ".join(f"{name}={value!r}" for name, value in given if value is not None)
        return f"{type(self).__name__}({told})"


class Frozen(Mapping[str, Any]):
    """A mapping that does not change, in the order in which it was made."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = {key: frozen(value) for key, value in items.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


def frozen(value: Any) -> Any:
    """The same with tuples for lists and `Frozen` for mappings, all the way down."""
    if isinstance(value, Frozen | Model | str | bytes):
        return value
    if isinstance(value, Mapping):
        return Frozen(value)
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    return value


# Tables and lists within each other; a scenario has six.
DEEPEST = 32


def plain(value: Any, path: str = "", depth: int = 0) -> Any:
    """What TOML knows: dictionaries, lists, texts and numbers.

    Raises ConfigError with the key path for anything else, and for what is within itself.
    """
    if depth > DEEPEST:
        key = path.partition(".")[0]
        message = f"{key}: tables and lists are nested more than {DEEPEST} deep"
        raise ConfigError(message, key=key)
    if isinstance(value, Model | Mapping):
        items = value._given() if isinstance(value, Model) else value.items()
        return {
            str(key): plain(entry, f"{path}.{key}" if path else str(key), depth + 1)
            for key, entry in items
        }
    if isinstance(value, list | tuple):
        return [plain(entry, path, depth + 1) for entry in value]
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, PathLike):
        return fspath(value)
    if hasattr(value, "item") and not getattr(value, "shape", True):
        return value.item()  # a number of NumPy's
    kind = type(value).__name__
    message = f"{path}: {value!r} is a {kind}, which a scenario cannot hold"
    raise ConfigError(f"{message} (allowed: tables, lists, texts and numbers)", key=path)


def toml(values: Mapping[str, Any]) -> str:
    """TOML text of nested mappings, which may hold models."""
    import tomli_w

    return tomli_w.dumps(plain(values))
