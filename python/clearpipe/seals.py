"""Seals: hashes of a result's files, so that what was changed or cut off afterwards is told.

They guard against accidents and edits, not against somebody who writes a new seal.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from clearpipe import _core

NAME = "seal.json"


class Damage(NamedTuple):
    """A file that is not what was written."""

    path: Path
    reason: str


def seal(folder: Path) -> str:
    """What seal.json is to say: hashes and sizes of a result's files."""
    return _core.seal(folder)


def read(folder: Path, *names: str) -> list[bytes] | Damage:
    """Files of a result, which are those that were written, or what is wrong with the first that is
    not."""
    contents, damage = _core.sealed(folder, names)
    return contents if damage is None else Damage(*damage)


def damage(folder: Path, identity: str | None = None) -> Damage | None:
    """What is wrong with a result by its seal, or that it is the result of another run than that of
    the identity; None if nothing is."""
    _, found = _core.sealed(folder)
    if found is not None:
        return Damage(*found)
    if identity is None:
        return None
    path = folder / "meta.json"
    of = json.loads(path.read_text(encoding="utf-8")).get("identity")
    return None if of == identity else Damage(path, f"the result of another run, {of}")
