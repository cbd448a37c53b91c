"""Executes a notebook and keeps what it shows, without anything that differs from time to time.

    run_notebook.py NOTEBOOK            executes it and writes its outputs into it
    run_notebook.py --check NOTEBOOK    executes it and fails if it says something else than it did

Pictures are kept, but a check does not look at them: they depend on matplotlib's version.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
TEXTS = ("text/plain", "text/html", "text/markdown")


def executed(notebook: Any, folder: Path) -> Any:
    """Execute in a kernel of this Python's, in `folder`."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as empty:
        # Nothing of the user's own settings.
        os.environ |= {"IPYTHONDIR": empty, "JUPYTER_CONFIG_DIR": empty}
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    return plain(notebook)


def plain(notebook: Any) -> Any:
    """Drop times, versions and whatever else is not the notebook's own."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        cell.id = f"cell-{number}"
        for output in cell.get("outputs", ()):
            output.pop("metadata", None)
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = {}
    return notebook


def texts(notebook: Any) -> list[str]:
    """Every line that the cells say, with the cells' sources."""
    lines: list[str] = []
    for cell in notebook.cells:
        lines += [f"[{cell.id}]", *cell.source.splitlines()]
        for output in cell.get("outputs", ()):
            lines.append(f"<{output.output_type}>")
            data = output.get("data", {})
            for text in (output.get("text", ""), *(data.get(kind, "") for kind in TEXTS)):
                lines += text.splitlines()
    return lines


def main(arguments: list[str]) -> int:
    """Execute, then write or compare."""
    nbformat: Any = importlib.import_module("nbformat")
    path = Path(arguments[-1]).resolve()
    before = nbformat.read(path, as_version=4)
    said = texts(before)
    after = executed(before, path.parent)
    if "--check" not in arguments:
        nbformat.validate(after)
        path.write_text(nbformat.writes(after, indent=1) + "\n", encoding="utf-8")
        return 0
    changed = list(difflib.unified_diff(said, texts(after), "kept", "now", lineterm="", n=1))
    print("\n".join(changed))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
