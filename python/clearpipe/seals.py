"""Seals: hashes of a result's files, so that what was changed or cut off afterwards is told.

They guard against accidents and edits, not against somebody who writes a new seal.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

NAME = "seal.json"

# What every result has, whatever of its tables is kept.
ALWAYS = ("meta.json", "run.toml", "summary.json")

# What depends on the machine and the hour, and is left out of a seal.
TIMES = ("wall_s", "packet_hops_per_s", "peak_rss_bytes", "version")


class Damage(NamedTuple):
    """A file that is not what was written."""

    path: Path
    reason: str


class Seal(NamedTuple):
    """Hashes and sizes of a result's files, by their names."""

    folder: Path
    files: dict[str, str]
    sizes: dict[str, int]

    def differs(self, name: str) -> Damage | None:
        """What is wrong with a file; None if nothing is."""
        path = self.folder / name
        if name not in self.files:
            return Damage(path, "not sealed")
        try:
            found = path.read_bytes()
        except OSError as error:
            return Damage(path, error.strerror or str(error))
        if len(found) != self.sizes[name]:
            return Damage(path, f"{len(found)} bytes, {self.sizes[name]} written")
        if _digest(name, found) != self.files[name]:
            return Damage(path, "not the bytes that were written")
        return None


def seal(folder: Path) -> dict[str, Any]:
    """Hashes and sizes of a result's files, as they are sealed."""
    files: dict[str, str] = {}
    sizes: dict[str, int] = {}
    tables = [*folder.glob("*.parquet"), *folder.glob("series/*.parquet")]
    for path in sorted([*(folder / name for name in ALWAYS), *tables]):
        name, content = path.relative_to(folder).as_posix(), path.read_bytes()
        files[name], sizes[name] = _digest(name, content), len(content)
    return {"result": _whole(files), "files": files, "bytes": sizes}


def read(folder: Path) -> Seal | Damage:
    """A result's seal, or what is wrong with it."""
    path = folder / NAME
    try:
        sealed = json.loads(path.read_text(encoding="utf-8"))
        files, sizes = dict(sealed["files"]), dict(sealed["bytes"])
        whole = sealed["result"]
    except FileNotFoundError:
        return Damage(path, "missing")
    except (ValueError, KeyError, TypeError, OSError) as error:
        return Damage(path, f"not readable ({error})")
    if whole != _whole(files) or files.keys() != sizes.keys():
        return Damage(path, "not the bytes that were written")
    if lacking := [name for name in ALWAYS if name not in files]:
        return Damage(path, f"seals no {lacking[0]}")
    return Seal(folder, files, sizes)


def damage(folder: Path, identity: str | None = None) -> Damage | None:
    """What is wrong with a result by its seal, or that it is the result of another run than that of
    the identity; None if nothing is."""
    sealed = read(folder)
    if isinstance(sealed, Damage):
        return sealed
    for name in sealed.files:
        if (found := sealed.differs(name)) is not None:
            return found
    if identity is None:
        return None
    path = folder / "meta.json"
    of = json.loads(path.read_text(encoding="utf-8")).get("identity")
    return None if of == identity else Damage(path, f"the result of another run, {of}")


def _whole(files: dict[str, str]) -> str:
    text = json.dumps(files, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _digest(name: str, content: bytes) -> str:
    """A file's hash; for meta.json that of everything but times, so that equal runs are equal."""
    if name == "meta.json":
        try:
            meta = json.loads(content)
            kept = {key: value for key, value in meta.items() if key not in TIMES}
            content = json.dumps(kept, sort_keys=True).encode()
        except (ValueError, AttributeError):
            content = b"not JSON " + content
    return hashlib.blake2b(content, digest_size=16).hexdigest()
