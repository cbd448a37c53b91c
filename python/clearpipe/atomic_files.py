"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PARTIAL = ".partial-"

# What is written here is called until it is whole: by the process, its thread and its name.
_OWN = re.compile(rf"{re.escape(PARTIAL)}\d+-\d+-.+", re.DOTALL)

# No text that is written here takes as long.
STALE_S = 3600.0


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8; what is none, as of a path's bytes, by its number."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write what a file is to have under another name, and give it its own."""
    try:
        with written(path) as partial:
            partial.write_bytes(content)
    except OSError as error:
        # Nobody knows the other name.
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """Another name to write to; what is there at the end takes the place of `path`."""
    partial = path.with_name(f"{PARTIAL}{os.getpid()}-{threading.get_ident()}-{path.name}")
    try:
        yield partial
        if partial.exists():
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def clean(folder: Path) -> None:
    """Remove what writers that died have left in a directory, an hour after they began.

    Other files stay, whatever they are called.
    """
    now = time.time()
    for path in folder.glob(f"{PARTIAL}*"):
        try:
            own = _OWN.fullmatch(path.name) is not None
            if own and path.is_file() and now - path.stat().st_mtime > STALE_S:
                path.unlink()
        except OSError:
            continue  # it is gone, or nobody may remove it
