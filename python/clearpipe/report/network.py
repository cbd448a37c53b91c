"""The network of a scenario as the drawing needs it: nodes, links, and the ways of the flows."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clearpipe import units

TIMES = "\N{MULTIPLICATION SIGN}"

PLAIN_LINK = {"from", "to", "rate", "owd", "buffer", "queue"}


@dataclass(frozen=True)
class Link:
    """A named link; texts are as a reader expects them."""

    name: str
    source: str
    target: str
    rate: str
    delay: str
    buffer: str
    queue: str
    extras: tuple[str, ...] = ()
    """What else the line does, such as `loss = 0.01`."""

    def short(self) -> str:
        """Its rate and its delay."""
        return f"{self.rate} · {self.delay}"

    def behind(self) -> str:
        """Its buffer and its queue."""
        return f"{self.buffer} · {self.queue}"

    def besides(self) -> str:
        """What no column of a table has."""
        return "; ".join(self.extras)

    def told(self) -> str:
        """Everything about it, a line each."""
        lines = [
            f"{self.name}: {self.source} to {self.target}",
            f"{self.rate}, one way {self.delay}",
            f"buffer {self.buffer}, queue {self.queue}",
        ]
        return "\n".join([*lines, *self.extras])


@dataclass(frozen=True)
class Way:
    """A group of flows and the links that its data and its ACKs cross."""

    group: str
    protocol: str
    count: str
    path: tuple[str, ...]
    reverse: tuple[str, ...]
    extras: tuple[str, ...] = ()

    def short(self) -> str:
        """Such as `long: 10 x xcp`."""
        return f"{self.group}: {self.count} {TIMES} {self.protocol}"

    def besides(self) -> str:
        """What no column of a table has."""
        return "; ".join(self.extras)

    def told(self) -> str:
        """Everything about it, a line each."""
        lines = [self.short(), f"data: {way(self.path)}", f"ACKs: {way(self.reverse)}"]
        return "\n".join([*lines, *self.extras])


def way(path: Iterable[str]) -> str:
    """The links of a path."""
    return " → ".join(path) or "no named link"


@dataclass(frozen=True)
class Network:
    """What one drawing shows; `of` are the labels of the results that run on it."""

    links: tuple[Link, ...]
    ways: tuple[Way, ...]
    of: list[str] = field(default_factory=list, compare=False)

    def nodes(self) -> list[str]:
        """The nodes' names in order of appearance."""
        return list(dict.fromkeys(n for link in self.links for n in (link.source, link.target)))


def read(scenario_toml: str) -> Network:
    """The network of a resolved scenario."""
    scenario = tomllib.loads(scenario_toml)
    links = tuple(_link(name, entry) for name, entry in scenario.get("links", {}).items())
    ways = tuple(_group(name, entry) for name, entry in scenario.get("flows", {}).items())
    return Network(links, ways)


def distinct(labelled: Sequence[tuple[str, str]]) -> list[Network]:
    """One network for all results (label, resolved scenario) that differ in queues and protocols
    only; such names stand beside each other."""
    shapes: dict[Any, list[tuple[str, Network]]] = {}
    for label, text in labelled:
        network = read(text)
        key = (
            tuple((x.name, x.source, x.target, x.rate, x.delay, x.buffer) for x in network.links),
            tuple((w.group, w.count, w.path, w.reverse) for w in network.ways),
        )
        shapes.setdefault(key, []).append((label, network))
    return [_joined(same) for same in shapes.values()]


def _joined(same: list[tuple[str, Network]]) -> Network:
    networks = [network for _, network in same]
    links = tuple(
        Link(
            **{**vars(copies[0]), "queue": _either(x.queue for x in copies)}
            | {"extras": _all(x.extras for x in copies)}
        )
        for copies in zip(*(n.links for n in networks), strict=True)
    )
    ways = tuple(
        Way(
            **{**vars(copies[0]), "protocol": _either(x.protocol for x in copies)}
            | {"extras": _all(x.extras for x in copies)}
        )
        for copies in zip(*(n.ways for n in networks), strict=True)
    )
    return Network(links, ways, [label for label, _ in same])


def _either(names: Iterable[str]) -> str:
    unlike = list(dict.fromkeys(names))
    return " | ".join(unlike[:3]) + (f" | {len(unlike) - 3} more" if len(unlike) > 3 else "")


def _all(extras: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(extra for copy in extras for extra in copy))


def _link(name: str, entry: dict[str, Any]) -> Link:
    extras = [f"{key} = {plain(value)}" for key, value in entry.items() if key not in PLAIN_LINK]
    texts = {key: plain(entry.get(key, "?")) for key in PLAIN_LINK}
    return Link(
        name, texts["from"], texts["to"], texts["rate"], texts["owd"], texts["buffer"],
        texts["queue"], tuple(extras),
    )  # fmt: skip


PLAIN_GROUP = {"protocol", "count", "path", "reverse_path"}


def _group(name: str, entry: dict[str, Any]) -> Way:
    extras = [f"{key} = {plain(value)}" for key, value in entry.items() if key not in PLAIN_GROUP]
    count = "arriving" if "arrivals" in entry else plain(entry.get("count", 1))
    path, reverse = (tuple(entry.get(key, ())) for key in ("path", "reverse_path"))
    return Way(name, plain(entry.get("protocol", "?")), count, path, reverse, tuple(extras))


MOST_ITEMS = 4


def plain(value: Any) -> str:
    """A value of a resolved scenario as text: `150Mbps` becomes `150 Mb/s`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        texts = [plain(item) for item in value[:MOST_ITEMS]]
        more = len(value) - len(texts)
        return ", ".join(texts) + (f" and {more} more" if more > 0 else "")
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(item)}" for key, item in value.items())
    return units.setting(value) if isinstance(value, str) else str(value)
