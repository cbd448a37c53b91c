"""The scenario files that come with Clearpipe."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TypedDict

from clearpipe.errors import ConfigError


class Example(TypedDict):
    """One scenario file."""

    name: str
    path: str
    about: str


FOLDER = Path(__file__).resolve().parent


def every() -> list[Example]:
    """All of them, by name."""
    return [
        {"name": path.stem, "path": str(path), "about": _first_comment(path)}
        for path in sorted(FOLDER.glob("*.toml"))
    ]


def path(name: str) -> Path:
    """The file of the example `name`; ConfigError with the nearest name if there is none."""
    file = FOLDER / f"{name}.toml"
    if not file.is_file():
        near = difflib.get_close_matches(name, [known.stem for known in FOLDER.glob("*.toml")], 1)
        hint = f"did you mean {near[0]}?" if near else "`clearpipe list scenarios` has the names"
        raise ConfigError(f"{name}: no such scenario file, and none that comes along; {hint}")
    return file


def meant(scenario: Path) -> Path:
    """The file that is meant: what is there, else the example of that name."""
    if scenario.exists() or scenario.suffix or scenario.name != str(scenario):
        return scenario
    return path(scenario.name)


def _first_comment(path: Path) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            return line.lstrip("# ").strip()
    return ""
