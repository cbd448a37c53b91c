"""The scenario files that come with Clearpipe."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import TypedDict

from clearpipe.errors import ConfigError


class Example(TypedDict):
    """One scenario file."""

    name: str
    path: str
    about: str
    """Its first comment's first sentence."""
    sweep: bool
    """Does something vary in it?"""


FOLDER = Path(__file__).resolve().parent


def every() -> list[Example]:
    """All of them, by name."""
    return [
        {
            "name": path.stem,
            "path": str(path),
            "about": _first_sentence(text),
            "sweep": re.search(r"^\[sweep\]", text, re.MULTILINE) is not None,
        }
        for path in sorted(FOLDER.glob("*.toml"))
        for text in (path.read_text(encoding="utf-8"),)
    ]


def path(name: str) -> Path:
    """The file of the example `name`; ConfigError with the nearest name if there is none."""
    file = FOLDER / f"{name}.toml"
    if not file.is_file():
        near = difflib.get_close_matches(name, [known.stem for known in FOLDER.glob("*.toml")], 1)
        hint = f"did you mean {near[0]}?" if near else "`clearpipe list scenarios` has the names"
        raise ConfigError(f"{name}: no such scenario file, and no example of that name; {hint}")
    return file


def name_of(toml: str) -> str:
    """The example whose resolved text this is, whatever its seed; empty if it is of none."""
    from clearpipe import api

    scenario = tomllib.loads(toml)
    name = str(scenario.get("name", ""))
    if not re.fullmatch(r"[\w.-]+", name) or not (FOLDER / f"{name}.toml").is_file():
        return ""
    known = tomllib.loads(api.resolve(path(name)).toml)
    return name if {**known, "seed": 0} == {**scenario, "seed": 0} else ""


def meant(scenario: Path) -> Path:
    """The file that is meant: what is there, else the example of that name."""
    if scenario.exists() or scenario.suffix or scenario.name != str(scenario):
        return scenario
    return path(scenario.name)


def _first_sentence(text: str) -> str:
    """Of the first comment, over as many lines as it takes."""
    comment = re.search(r"^#(?!:).*(?:\n#.*)*", text, re.MULTILINE)
    if comment is None:
        return ""
    words = " ".join(line.lstrip("# ").strip() for line in comment[0].splitlines())
    ends = re.search(r"[.:](?=\s+[A-Z`]|\s*$)", words)
    return words[: ends.start()] if ends else words
