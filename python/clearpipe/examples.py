"""The scenario files that come with Clearpipe."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from clearpipe.errors import ConfigError


class Example(TypedDict):
    """One scenario file."""

    name: str
    path: str
    about: str


FOLDER = Path(__file__).resolve().parent / "scenarios"


def every() -> list[Example]:
    """All of them, by name."""
    return [
        {"name": path.stem, "path": str(path), "about": _first_comment(path)}
        for path in sorted(FOLDER.glob("*.toml"))
    ]


def path(name: str) -> Path:
    """The file of the example `name`."""
    file = FOLDER / f"{name}.toml"
    if not file.is_file():
        raise ConfigError(f"{file}: no such example", file=str(file))
    return file


def _first_comment(path: Path) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            return line.lstrip("# ").strip()
    return ""
