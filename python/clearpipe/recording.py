"""What a run writes down besides its result: captures of links and a trace."""

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

    @property
    def wanted(self) -> bool:
        """Is anything wanted?"""
        return bool(self.capture) or self.trace

    def as_core(self) -> _core.Record:
        """As the core takes it."""
        return {
            "capture": list(self.capture),
            "headers_only": self.headers_only,
            "trace": self.trace,
            "trace_limit": self.trace_limit,
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
"""No capture and no trace."""


def recorded(dir: str | PathLike[str]) -> dict[str, Any] | None:
    """What the run in this result directory wrote down; None if it wrote nothing."""
    path = Path(fspath(dir)) / "recorded.json"
    if not path.is_file():
        return None
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
