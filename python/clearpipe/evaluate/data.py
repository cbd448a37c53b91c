"""The statements: `statements.toml`, read and checked."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from clearpipe import examples
from clearpipe.reproduce.data import Book, Figure, Reader

FILE = "statements.toml"
STANDARDS = "standards"
OWN_KIND = "own kind"
NEEDS = ("any queue", "ecn", "own queue")


@dataclass(frozen=True)
class Alone:
    """What a flow has alone, so that harm can be told (Ware et al., HotNets 2019, section 4)."""

    part: str
    metric: str
    better: str

    def harm(self, alone: float, met: float) -> float:
        """The share of its performance that a flow loses to another: 0 none, 1 all of it. Less
        than 0 is a flow that is better off than alone."""
        if self.better == "more":
            return (alone - met) / alone if alone else 0.0
        return (met - alone) / met if met else 0.0


@dataclass(frozen=True)
class Statement:
    """A sentence of a text as something that can be measured."""

    id: str
    says: str
    """In our words."""
    cites: tuple[str, ...]
    """Texts with their sections: `RFC 9743, 5.1.3`."""
    metric: str = ""
    """As a claim's measure has it (docs/reproduction.md)."""
    quantity: str = ""
    unit: str = ""
    better: str = "more"
    """`more` or `less`."""
    part: str = ""
    """The area's part whose runs it reads; the only one if empty."""
    bound: str = ""
    """`standards`, `own kind`, or nothing."""
    lo: float | None = None
    hi: float | None = None
    source: str = ""
    """Where lo or hi is from (`from` in the file)."""
    resolution: float = 0.0
    """In the measure's unit: what is nearer than this counts as equal."""
    alone: Alone | None = None
    not_run: str = ""
    """Why nothing here can measure it."""


@dataclass(frozen=True)
class Area:
    """Statements about one kind of scenario."""

    id: str
    title: str
    setup: str
    statements: tuple[Statement, ...]
    needs: str = ""
    """Of which controls it is asked: of those that go behind `any queue`, that have `ecn`, or that
    have an `own queue`; of all if empty."""
    figure: Figure | None = field(default=None, repr=False)
    """Its runs; None if it has none."""
    unable: Mapping[str, str] = field(default_factory=dict)
    """The parts that the engine cannot run, and why."""


@dataclass(frozen=True)
class OwnQueue:
    """A queue that a protocol's text asks for."""

    why: str
    queue: Mapping[str, Any]


@dataclass(frozen=True)
class Sheet:
    """All of the file but the areas, which are read with a cast's schemes."""

    title: str
    margin: float
    standards: Sequence[str]
    texts: Mapping[str, str]
    own_queue: Mapping[str, OwnQueue]
    bases: Mapping[str, Mapping[str, Any]]
    areas: Sequence[Mapping[str, Any]]


@functools.cache
def sheet() -> Sheet:
    """Read the file."""
    text = (files("clearpipe.evaluate") / FILE).read_text(encoding="utf-8")
    document = tomllib.loads(text)
    reader = _Reader(FILE, document)
    known = ("title", "margin", "standards", "texts", "own_queue", "base", "area")
    reader.check_keys(document, known, FILE)
    own = {
        kind: reader.make(OwnQueue, table, f"own_queue.{kind}")
        for kind, table in document["own_queue"].items()
    }
    return Sheet(
        document["title"],
        float(document["margin"]),
        tuple(document["standards"]),
        document["texts"],
        own,
        document["base"],
        _traced(document["area"]),
    )


def areas(book: Book) -> tuple[Area, ...]:
    """The areas, with runs made of the book's schemes. Raises ConfigError for what is wrong."""
    reader = _Reader(FILE, {})
    found = tuple(reader.area(table, book) for table in sheet().areas)
    ids = [one.id for area in found for one in area.statements]
    for one in ids:
        if ids.count(one) > 1:
            raise reader.fail(one, "the id appears twice")
    return found


def _traced(value: Any) -> Any:
    """The value with the name of an example's trace replaced by what it holds: the scenarios that
    are made of it stand alone."""
    if isinstance(value, dict):
        return {key: _trace(one) if key == "trace" else _traced(one) for key, one in value.items()}
    return [_traced(one) for one in value] if isinstance(value, list) else value


def _trace(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = examples.FOLDER / value
    return [int(line) for line in path.read_text(encoding="utf-8").split()]


class _Reader(Reader):
    """Areas and statements, besides what the papers' files have."""

    def area(self, table: Mapping[str, Any], book: Book) -> Area:
        rest = dict(table)
        where = str(rest.get("id", "area without id"))
        statements = tuple(self.statement(one, where) for one in rest.pop("statement", []))
        if rest.get("needs", "") not in ("", *NEEDS):
            raise self.fail(f"{where}.needs", f"one of {', '.join(NEEDS)} is wanted")
        figure = None
        if parts := rest.pop("part", []):
            told = {"figure": where, "title": rest["title"], "kind": "area", "axes": ""}
            made = {"id": f"evaluate-{where}", "setup": rest["setup"], "part": parts}
            if rest.get("needs") == "ecn" and not book.groups["ecn"]:
                parts = []
            figure = self.figure({**told, **made}, book) if parts else None
        area: Area = self.make(Area, rest, where, statements=statements, figure=figure)
        names = [part.name for part in figure.parts["full"]] if figure else []
        for one in area.statements:
            if not one.not_run and figure and self.part_of(one, names) is None:
                raise self.fail(one.id, f"one of the parts {', '.join(names)} is wanted")
        return area

    def part_of(self, one: Statement, names: Sequence[str]) -> str | None:
        if not one.part:
            return names[0] if len(names) == 1 else None
        wanted = [one.part, *([one.alone.part] if one.alone else [])]
        return one.part if all(name in names for name in wanted) else None

    def statement(self, table: Mapping[str, Any], area: str) -> Statement:
        rest = dict(table)
        where = str(rest.get("id", f"{area}: statement without id"))
        rest["source"] = rest.pop("from", "")
        if "alone" in rest:
            rest["alone"] = self.make(Alone, rest["alone"], f"{where}.alone")
        one: Statement = self.make(Statement, rest, where)
        if not one.id.startswith(f"{area}-"):
            raise self.fail(where, f"the id begins with {area}-")
        texts = sheet().texts
        for cite in one.cites:
            if cite.partition(",")[0] not in texts:
                raise self.fail(f"{where}.cites", f"{cite}: none of {', '.join(texts)}")
        if one.not_run:
            return one
        if not one.metric or not one.quantity:
            raise self.fail(where, "metric and quantity are wanted, or not_run")
        if one.better not in ("more", "less"):
            raise self.fail(f"{where}.better", "more or less is wanted")
        if one.bound not in ("", STANDARDS, OWN_KIND):
            raise self.fail(f"{where}.bound", f"{STANDARDS} or {OWN_KIND} is wanted")
        fixed = one.lo is not None or one.hi is not None
        if fixed and (one.bound or not one.source):
            raise self.fail(where, "a number of a text has `from`, and no bound by the rule")
        return one
