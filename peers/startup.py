"""How long the command and the package take to start: whole processes by the wall clock."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import clearpipe_cli
from dumbbell import PeerError, Point
from settings import Settings, Task

SCENARIO = Point("one-second", 150, 80, 30, 30, "xcp", "xcp", 1.0)
# name -> (the command as people type it, the same for this machine)
COMMANDS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "help": ("clearpipe --help", lambda: [clearpipe_cli.find(), "--help"]),
    "import": ("python -c 'import clearpipe'", lambda: [sys.executable, "-c", "import clearpipe"]),
    "one-second-scenario": (
        "clearpipe run one-second.toml",
        lambda: [clearpipe_cli.find(), "run", "one-second.toml"],
    ),
}


def tasks() -> list[Task]:
    """One for each command."""
    return [_task(name) for name in COMMANDS]


def _task(name: str) -> Task:
    shown, command = COMMANDS[name]

    def lines(settings: Settings) -> Iterator[str]:
        wall_s = median(_wall_s(command()) for _ in range(settings.pairs))
        yield f'startup={name} s={wall_s:.3f} command="{shown}"'

    return Task((f"startup={name}",), lines)


def _wall_s(command: list[str]) -> float:
    """One run in a new folder that holds the scenario."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one-second.toml").write_text(SCENARIO.scenario(), encoding="utf-8")
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        wall_s = time.perf_counter() - start
    if done.returncode != 0:
        raise PeerError(f"{' '.join(command)} failed:\n{done.stderr}")
    return wall_s
