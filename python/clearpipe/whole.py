"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

PARTIAL = ".partial-"

# What is written here is called until it is whole: by the process, its thread and its name.
_OWN = re.compile(rf"{re.escape(PARTIAL)}\d+-\d+-.+", re.DOTALL)

# No text that is written here takes as long.
STALE_S = 3600.0


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write what a file is to have under another name, and give it its own."""
    partial = path.with_name(f"{PARTIAL}{os.getpid()}-{threading.get_ident()}-{path.name}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        # Nobody knows the other name.
        raise OSError(error.errno, error.strerror, str(path)) from None
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
