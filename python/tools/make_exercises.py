"""Makes students' notebooks from those with solutions: `make_exercises.py [--check] FOLDER`.

`FOLDER/solutions` has the whole notebooks. What is between `### BEGIN SOLUTION` and `### END
SOLUTION`, nbgrader's marks, is left out: a function's body becomes `raise NotImplementedError`. A
text that begins with `<!-- SOLUTION -->` becomes a place for the student's own words, and nothing
is shown that was executed. With `--check` nothing is written, and it fails if something would be.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
WORDS = "<!-- SOLUTION -->"


def skeleton(notebook: Any) -> Any:
    """The notebook without its solutions and without outputs."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = without_solution(cell.source)
            cell.outputs, cell.execution_count = [], None
        elif cell.source.startswith(WORDS):
            cell.source = "*Your answer:*"
    return notebook


def without_solution(source: str) -> str:
    """A cell's code with a place to fill in for each solution."""
    kept: list[str] = []
    inside = False
    for line in source.splitlines():
        word = line.strip()
        if word == BEGIN:
            inside = True
            indent = line[: len(line) - len(word)]
            if indent:
                kept.append(f"{indent}raise NotImplementedError")
        elif word == END:
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise SystemExit(f"a solution has no {END}:\n{source}")
    return "\n".join(kept)


def main(arguments: list[str]) -> int:
    """Write the students' notebooks, or compare."""
    nbformat: Any = importlib.import_module("nbformat")
    folder = Path(arguments[-1])
    stale = []
    for path in sorted((folder / "solutions").glob("*.ipynb")):
        made = nbformat.writes(skeleton(nbformat.read(path, as_version=4)), indent=1) + "\n"
        target = folder / path.name
        if target.exists() and target.read_text(encoding="utf-8") == made:
            continue
        stale.append(path.name)
        if "--check" not in arguments:
            target.write_text(made, encoding="utf-8")
    print("\n".join(stale))
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
