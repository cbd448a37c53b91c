"""Writes docs/reference/systems.md, the table of the systems that the papers name.

    make_systems.py docs/reference/systems.toml docs/reference/systems.md

Its source is the TOML file: one entry for each of the 129 rows of the papers' survey, with a
command that runs it, or why there is nothing to run, or what is missing.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

HEADER = """\
# The systems that the papers name

<!-- Generated: make systems, from systems.toml beside this page -->

XCP, VCP, DPCP, MLCP and iXCP design, evaluate, build on or cite {count} systems, methods and tools.
{works} of them work: the command runs as it stands here, in a second or so (those of the linux
engine want root). {words} are words only, and it is said why.{missing} What one is, where it
deviates from its source and what is reconstructed is at the top of its file.
"""

STATES = ("works", "words", "not_yet")


def state(system: dict[str, Any]) -> str:
    """Which of `STATES` it has; ValueError if it is not one exactly."""
    found = [key for key in STATES if key in system]
    if len(found) != 1:
        raise ValueError(f"row {system.get('row')}: one of {', '.join(STATES)}, not {found}")
    return found[0]


def cell(system: dict[str, Any]) -> str:
    """What stands beside the name."""
    kind = state(system)
    text = str(system[kind]).replace("|", "\\|")
    if kind == "works":
        note = f"; {system['note']}" if "note" in system else ""
        return f"`{text}`{note}"
    return f"words only: {text}" if kind == "words" else f"not yet: {text}"


def page(table: dict[str, Any]) -> str:
    """The page of this table."""
    systems = table["systems"]
    titles = {section["first"]: section["title"] for section in table["sections"]}
    count = {kind: sum(state(system) == kind for system in systems) for kind in STATES}
    lacking = count["not_yet"]
    missing = f" {lacking} {'is' if lacking == 1 else 'are'} not there yet." if lacking else ""
    header = HEADER.format(
        count=len(systems), works=count["works"], words=count["words"], missing=missing
    )
    lines = [header.rstrip("\n")]
    for system in systems:
        if system["row"] in titles:
            lines += [
                "",
                f"## {titles[system['row']]}",
                "",
                "| | | |",
                "|---|---|---|",
            ]
        lines.append(f"| {system['row']} | {system['name']} | {cell(system)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Reads the first file and writes the second."""
    source, target = map(Path, sys.argv[1:])
    target.write_text(page(tomllib.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
