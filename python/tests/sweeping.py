"""What the tests of sweeps share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from clearpipe.sweep.store import Store

BASE = """\
schema = 1
name = "tiny"
duration = "1s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
[flows.a]
protocol = "reno"
count = 2
start = "uniform(0s, 100ms)"
"""


def write(folder: Path, sweep: str, base: str = BASE) -> Path:
    """A sweep's file."""
    file = folder / "sweep.toml"
    file.write_text(base + sweep, encoding="utf-8")
    return file


def command(*arguments: object) -> list[str]:
    """The command line of this installation."""
    start = [sys.executable, "-c", "from clearpipe.cli import main; main()"]
    return [*start, *(str(argument) for argument in arguments)]


def call(*arguments: object, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `clearpipe` and checks its exit code."""
    done = subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == expect, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def seals(store: Path) -> dict[str, str]:
    """What every run of a store has, in one hash each."""
    place = Store(store)
    found = {}
    for identity in place.present():
        assert place.damage(identity) is None
        text = (place.directory(identity) / "seal.json").read_text(encoding="utf-8")
        found[identity] = json.loads(text)["result"]
    return found


def times_done(store: Path) -> Counter[str]:
    """How often each run was done, by the journal."""
    lines = (store / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return Counter(entry["run"] for entry in entries if entry["what"] == "done")
