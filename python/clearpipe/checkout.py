"""Is there a source tree with what is run? Only there may a message speak of its Makefile."""

from __future__ import annotations

import functools
import sys
from pathlib import Path


@functools.cache
def folder() -> Path | None:
    """The source tree that this package is in, or that its environment was made in; None for a
    wheel that was installed anywhere else."""
    for place in (Path(__file__).resolve().parents[2], Path(sys.prefix).resolve().parent):
        if (place / "Makefile").is_file() and (place / "crates/py/Cargo.toml").is_file():
            return place
    return None


def get(target: str, otherwise: str) -> str:
    """How to get something: `make target` in a source tree, `otherwise` without one."""
    return f"make {target}" if folder() is not None else otherwise
