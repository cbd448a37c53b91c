"""Who plays: the control that is evaluated, the standards, those it is set against, and in which
combinations they run."""

from __future__ import annotations

import difflib
import functools
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearpipe import api, prototype
from clearpipe.errors import ConfigError
from clearpipe.evaluate.data import Sheet, sheet
from clearpipe.reproduce.data import Book, Scheme

Table = Mapping[str, Any]

SUBJECT = "subject"
"""The name of the schemes of the control that is evaluated; a registered name is never this."""

DROPTAIL: Table = {"kind": "droptail"}


@dataclass(frozen=True)
class Control:
    """A congestion control of end hosts."""

    name: str
    label: str
    host: Table


@dataclass(frozen=True)
class Role:
    """What a scheme is of."""

    control: str
    """SUBJECT, or the name of another."""
    other: str = ""
    """The one that it meets; none where it is among its own."""
    ecn: bool = False


@dataclass(frozen=True)
class Cast:
    """All that a report is of."""

    subject: Control
    others: Mapping[str, Control]
    """By name: the standards, then those it is set against."""
    standards: Sequence[str]
    against: Sequence[str]
    router: Table
    """The queue of the subject's bottleneck."""
    needs_router: bool
    """Is the queue part of the protocol, so that there is none without it?"""
    queue_from: str
    """Why it is this queue, in words."""
    reference_router: Table
    """The queue of the others among themselves."""
    code: str = ""
    """FILE:CLASS of a control in Python."""

    @property
    def name_given(self) -> str:
        """What the command line calls it: its name, or its table."""
        if self.code or len(self.subject.host) == 1:
            return self.subject.name
        from clearpipe.sweep.spec import toml_value

        return toml_value(dict(self.subject.host))

    @property
    def label(self) -> str:
        """What is evaluated, in a line."""
        return self.subject.label

    def moved(self, scenario: str, folder: Path) -> str:
        """A scenario's text as a file of that folder: it names a class's file from there."""
        where, _, name = self.code.rpartition(":")
        if not where.endswith(".py"):
            return scenario
        there = Path(os.path.relpath(where, folder)).as_posix()
        return scenario.replace(f'"{self.code}"', f'"{there}:{name}"')

    @functools.cached_property
    def roles(self) -> dict[str, Role]:
        """Every scheme, and what it is of."""
        mine = [SUBJECT, *self.others]
        yardsticks = [SUBJECT, *self.standards]
        found = {name: Role(name) for name in mine}
        for victim in self.against:
            for control in dict.fromkeys([*yardsticks, victim]):
                found[f"{control}/{victim}"] = Role(control, victim)
            found[f"/{victim}"] = Role("", victim)
        for name in yardsticks:
            if self.ecn(name) is not None:
                found[f"{name}+ecn"] = Role(name, ecn=True)
        for name in yardsticks:
            found[f"{name}/own"] = Role(name, "own")
        return found

    def ecn(self, name: str) -> Table | None:
        """The control with ECN; None if it has none."""
        control = self.control(name)
        host = dict(control.host)
        if host["kind"] == "python":
            found = prototype.load(str(host["code"]), "evaluate.toml", False, "host")
            return host if getattr(found, "ecn", "none") == "classic" else None
        parameters = {one["name"] for one in _protocol(str(host["kind"]))["params"]}
        if "ecn" in parameters:
            return host | {"ecn": True}
        return host if host["kind"] == "dctcp" else None

    def control(self, name: str) -> Control:
        """By the name of its schemes."""
        return self.subject if name == SUBJECT else self.others[name]

    def book(self) -> Book:
        """Schemes and scenarios: what the areas' runs are made of."""
        schemes = {name: self._scheme(name, role) for name, role in self.roles.items()}
        of = {
            "alone": [n for n, r in self.roles.items() if not r.other and not r.ecn],
            "own": [n for n, r in self.roles.items() if r.other == "own"],
            "pairs": [n for n, r in self.roles.items() if r.control and r.other not in ("", "own")],
            "solo": [n for n, r in self.roles.items() if not r.control],
            "ecn": [n for n, r in self.roles.items() if r.ecn],
        }
        groups = {key: tuple(names) for key, names in of.items()}
        return Book("functions", schemes, groups, sheet().bases, "clearpipe.evaluate")

    def _scheme(self, name: str, role: Role) -> Scheme:
        # Whoever meets on the subject's path meets on its queue; others among themselves are where
        # they live. Behind other queues (aqm, ecn) the scenario says which.
        on_subjects_path = role.control == SUBJECT or role.other not in ("", "own")
        router = self.router if on_subjects_path else self.reference_router
        host = self.control(role.control or role.other).host
        if role.ecn:
            host = self.ecn(role.control) or host
        sets: dict[str, Any] = {}
        if role.control and role.other:
            met = role.control if role.other == "own" else role.other
            sets["protocols.other"] = dict(self.control(met).host)
        return Scheme(name, self._label(role), dict(host), dict(router), sets)

    def _label(self, role: Role) -> str:
        met = self.control(role.other).label if role.other not in ("", "own") else ""
        if not role.control:
            return f"{met} alone"
        label = self.control(role.control).label
        return f"{label} beside {met}" if met else label


def cast(
    name: str,
    queue: str | None = None,
    against: Sequence[str] = ("cubic", "bbr3", "reno"),
    code: str | None = None,
) -> Cast:
    """The cast of an evaluation. Raises ConfigError for what there is not."""
    declared = sheet()
    subject = _coded(name, code) if code else _named(name, "PROTOCOL")
    others = {one: _named(one, "--against") for one in (*declared.standards, *against)}
    router, needs, why = _queue(subject, queue, declared)
    # A queue that somebody chose is the network's, for all; one that a protocol brings is its own.
    reference = router if queue is not None and not needs else DROPTAIL
    return Cast(
        subject,
        others,
        tuple(declared.standards),
        tuple(dict.fromkeys(against)),
        router,
        needs,
        why,
        reference,
        code or "",
    )


def _coded(name: str, code: str) -> Control:
    prototype.load(code, "evaluate.toml", False, name)
    return Control(name, f"{name} ({Path(code).name})", {"kind": "python", "code": code})


def _named(text: str, option: str) -> Control:
    table = _table(text, option)
    kind = str(table["kind"])
    known = [one["name"] for one in api.protocols()]
    if kind not in known or kind == "python":
        near = difflib.get_close_matches(kind, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "`clearpipe list protocols` has them"
        if kind == "python":
            hint = "--code FILE:CLASS names a class"
        raise ConfigError(f"{option}: unknown protocol {kind!r}; {hint}")
    more = ", ".join(f"{key} = {value}" for key, value in table.items() if key != "kind")
    return Control(text if text == kind else kind, f"{kind} ({more})" if more else kind, table)


def _table(text: str, option: str) -> dict[str, Any]:
    """`cubic`, or `{ kind = "cubic", beta = 0.8 }`."""
    if not text.lstrip().startswith("{"):
        return {"kind": text}
    try:
        table = tomllib.loads(f"it = {text}")["it"]
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{option}: {text}: {error}") from None
    if "kind" not in table:
        raise ConfigError(f'{option}: {text}: missing kind = "NAME"')
    found: dict[str, Any] = table
    return found


def _queue(subject: Control, queue: str | None, declared: Sheet) -> tuple[Table, bool, str]:
    """The queue of the bottleneck, whether the protocol is nothing without it, and why it is."""
    kind = str(subject.host["kind"])
    asked = _protocol(kind)["router"]
    if queue is not None:
        table = _table(queue, "--queue")
        known = [one["name"] for one in api.queues()]
        if table["kind"] not in known:
            near = difflib.get_close_matches(str(table["kind"]), known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`clearpipe list queues` has them"
            raise ConfigError(f"--queue: unknown queue {table['kind']!r}; {hint}")
        return table, table["kind"] == asked, "--queue"
    if asked is not None:
        return {"kind": asked}, True, f"the routers of {kind}"
    if kind in declared.own_queue:
        own = declared.own_queue[kind]
        return own.queue, True, own.why
    return DROPTAIL, False, "RFC 9743, 6.1: tail drop must be evaluated"


def _protocol(kind: str) -> Any:
    return next(one for one in api.protocols() if one["name"] == kind)
