"""Commands on a disk that fails, by the layer of `faulty_disk.c`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from forking import Ended, Forks

# What `enum how` of the layer calls it.
HOWS = {"fails": "e", "full": "f", "short": "s", "torn": "t", "dies": "d", "power": "p"}
DIES = {"torn", "dies", "power"}


class Fault(NamedTuple):
    """What happens at which change of a directory's files; the first is 1."""

    at: int
    how: str


NONE = Fault(0, "dies")


def missing() -> str:
    """Why there can be no such disk here; empty if there can."""
    if not sys.platform.startswith("linux"):
        return "LD_PRELOAD and /proc are Linux's"
    return "" if shutil.which("cc") else "no C compiler (cc)"


class Disk(Forks):
    """Runs commands one after the other, each with a fault or with none."""

    def __init__(self, folder: Path) -> None:
        layer = folder / "faulty_disk.so"
        source = Path(__file__).with_suffix(".c")
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["cc", *options, "-o", str(layer), str(source), "-ldl"], check=True)
        super().__init__(folder, {"LD_PRELOAD": str(layer)})

    def on(self, cwd: Path, arguments: Sequence[str], fault: Fault = NONE) -> Ended:
        """A command whose files are under `cwd`."""
        return self.call(arguments, cwd, fault=(fault.at, HOWS[fault.how]))
