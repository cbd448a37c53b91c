"""What a run writes down besides its result: captures of links, a trace and logs of flows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe import _core

if TYPE_CHECKING:
    from clearpipe.api import Source

DISSECTOR = Path(__file__).parent / "wireshark" / "clearpipe.lua"
"""The Wireshark dissector: `wireshark -X lua_script:FILE`."""

TRACE_LIMIT = "200MB"
"""Perfetto's interface becomes slow with more."""


@dataclass(frozen=True)
class Recording:
    """What is wanted; nothing by default."""

    capture: tuple[str, ...] = ()
    """Names of links, or `all`."""
    headers_only: bool = False
    trace: bool = False
    trace_limit: str = TRACE_LIMIT
    capture_from: str | None = None
    capture_to: str | None = None
    qlog: tuple[str, ...] = ()
    """Names of groups, numbers of flows, or `all`."""

    @property
    def wanted(self) -> bool:
        """Is anything wanted?"""
        return bool(self.key)

    @property
    def key(self) -> str:
        """The first option that wants something, for messages; empty where none does."""
        asked = {"capture": self.capture, "trace": self.trace, "qlog": self.qlog}
        return next((key for key, value in asked.items() if value), "")

    def as_core(self) -> _core.Record:
        """As the core takes it."""
        return {
            "capture": list(self.capture),
            "headers_only": self.headers_only,
            "trace": self.trace,
            "trace_limit": self.trace_limit,
            "qlog": list(self.qlog),
            "capture_from": self.capture_from,
            "capture_to": self.capture_to,
        }

    def check(self, source: Source, sets: Sequence[str]) -> dict[str, Any]:
        """What will be written, file by file; ConfigError if that cannot be."""
        name, text = source
        described = _core.check_record(name, text, sets, record=self.as_core())
        value: dict[str, Any] = json.loads(described)
        return value


NOTHING = Recording()
"""No capture, no trace and no log."""


def recorded(dir: str | PathLike[str]) -> dict[str, Any] | None:
    """What the run in this result directory wrote down; None if it wrote nothing."""
    path = Path(fspath(dir)) / "recorded.json"
    if not path.is_file():
        return None
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
