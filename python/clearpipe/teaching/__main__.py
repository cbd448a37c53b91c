"""Marks students' notebooks: `python -m clearpipe.teaching NOTEBOOK...`.

Each is executed in a kernel of its own, so what students wrote is run on this machine. A line for
each check that says something: the notebook, the task and the verdict, with tabs between them. A
notebook that cannot be executed to its end has one line that says why, and the exit code is 1.
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
    """Print the marks of each notebook; 1 if one of them cannot be executed."""
    for missing in ("nbformat", "nbclient", "ipykernel"):
        if importlib.util.find_spec(missing) is None:
            print(f"marking notebooks needs {missing}: pip install {missing}", file=sys.stderr)
            return 5
    if not arguments:
        print(__doc__)
        return 2
    code = 0
    for argument in arguments:
        try:
            found = list(marks(Path(argument).resolve()))
        except Exception as error:  # whatever is wrong with it, the others are marked
            found, code = [("-", f"not executed: {_why(error)}")], 1
        for name, verdict in found:
            print(f"{argument}\t{name}\t{verdict}", flush=True)
    return code


def _why(error: Exception) -> str:
    """An error in a line."""
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return next(iter(told.strip().splitlines()), "") or type(error).__name__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
