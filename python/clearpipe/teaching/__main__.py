"""Marks students' notebooks: `python -m clearpipe.teaching NOTEBOOK...`.

Each is executed in a kernel of its own, so what students wrote is run on this machine. A line for
each check that says something: the notebook, the task and the verdict, with tabs between them.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clearpipe.teaching import NotYet, Wrong

TIMEOUT_S = 300


def marks(path: Path) -> Iterator[tuple[str, str]]:
    """Task and verdict of each check in a notebook, in order."""
    nbformat: Any = importlib.import_module("nbformat")
    nbclient: Any = importlib.import_module("nbclient")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": path.parent}}
    nbclient.NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name="python3", allow_errors=True, resources=resources
    ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            told = output.get("data", {}).get("text/plain", output.get("evalue", ""))
            found = re.match(rf"(Task \d+, [^:]+): (right|{NotYet.word}|{Wrong.word})\.", told)
            if found:
                yield found[1], found[2]


def main(arguments: list[str]) -> int:
    """Print the marks of each notebook."""
    for missing in ("nbformat", "nbclient", "ipykernel"):
        if importlib.util.find_spec(missing) is None:
            print(f"marking notebooks needs {missing}: pip install {missing}", file=sys.stderr)
            return 5
    if not arguments:
        print(__doc__)
        return 2
    for argument in arguments:
        for name, verdict in marks(Path(argument).resolve()):
            print(f"{argument}\t{name}\t{verdict}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
