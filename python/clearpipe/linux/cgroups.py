"""Control groups (v2) of runs: programs that the kernel calls for a cgroup's sockets see only those
of runs, and not everybody's.

All are below `clearpipe` in the root, which has the programs; names are those of namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clearpipe.errors import RunError
from clearpipe.linux import namespaces

TRIES = 10
"""Another run may remove what all share as its last user, between our two steps."""


def shared() -> Path | None:
    """What all runs share; None where no cgroup v2 is mounted."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return Path(where) / "clearpipe"
    return None


@contextmanager
def own() -> Iterator[Path | None]:
    """A cgroup of this process below the shared one, which is there meanwhile."""
    parent = shared()
    if parent is None:
        yield None
        return
    folder = parent / namespaces.owner()
    for _ in range(TRIES):
        with suppress(FileNotFoundError):
            parent.mkdir(exist_ok=True)
            folder.mkdir(exist_ok=True)
            break
    else:
        raise RunError(f"{folder}: cannot be made")
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove it, and what is shared with the last one."""
    folder.rmdir()
    with suppress(OSError):
        folder.parent.rmdir()


def stale() -> list[Path]:
    """Those whose owner is gone."""
    parent = shared()
    if parent is None or not parent.is_dir():
        return []
    return sorted(each for each in parent.iterdir() if namespaces.is_abandoned(each.name))
