"""Programs of peers, compiled when they are asked for."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dumbbell import PeerError

FOLDER = Path(__file__).parents[1] / "build" / "peers"


def program(name: str, command: Sequence[str], sources: Sequence[Path]) -> Path:
    """The program, made by `command` if it is older than a source or was made by another one."""
    target = FOLDER / name
    made_by = target.with_suffix(".command")
    full = [*command, "-o", str(target)]
    newest = max(source.stat().st_mtime for source in sources)
    known = made_by.read_text(encoding="utf-8") if made_by.exists() else ""
    if target.exists() and target.stat().st_mtime >= newest and known == shlex.join(full):
        return target
    FOLDER.mkdir(parents=True, exist_ok=True)
    made_by.unlink(missing_ok=True)
    run(full)
    made_by.write_text(shlex.join(full), encoding="utf-8")
    return target


def run(command: Sequence[str]) -> str:
    """What the command prints, or PeerError with what it complains of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        what = shlex.join(command)
        raise PeerError(f"{what} failed with status {done.returncode}:\n{done.stderr}")
    return done.stdout
