"""Commands in quick succession: a process that has them loaded already forks for each."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

GIGABYTE = 1 << 30

# Long enough for a machine with much else to do.
WAITS_S = 300


class Ended(NamedTuple):
    """What became of a command."""

    code: int
    """Negative: the signal that ended it."""
    said: str
    told: str
    """On stderr."""
    took_s: float
    """Of the processor: what others do on this machine counts for nothing."""
    peak_bytes: int
    changes: str
    """What the layer over the disk has counted, if there is one; empty if the command died."""


class Forks:
    """Runs commands one after the other. `folder` is for what they print."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | dict(environment or {}),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.communicate()

    def call(
        self,
        arguments: Sequence[str],
        cwd: Path,
        *,
        limit_s: int = 60,
        fault: tuple[int, str] | None = None,
    ) -> Ended:
        """Runs `clearpipe` in `cwd`, and kills it after `limit_s` on the processor."""
        asked = {"arguments": list(arguments), "cwd": str(cwd), "folder": str(self.folder)}
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        text = json.dumps(asked | {"limit_s": limit_s, "fault": fault})
        self.server.stdin.write(text + "\n")
        self.server.stdin.flush()
        answer = json.loads(self.server.stdout.readline())
        said, told = (
            (self.folder / name).read_bytes().decode("utf-8", "backslashreplace")
            for name in ("out", "err")
        )
        return Ended(said=said, told=told, **answer)


# The other side.


def _serve() -> None:
    import matplotlib.pyplot  # noqa: F401 - loaded once, for all

    import clearpipe.compare
    import clearpipe.explain
    import clearpipe.reproduce.draw
    import clearpipe.reproduce.report
    import clearpipe.run_cli
    import clearpipe.sweep.page
    import clearpipe.theory.cli  # noqa: F401

    for line in sys.stdin:
        asked = json.loads(line)
        changes = Path(asked["folder"]) / "changes"
        changes.write_text("")
        child = os.fork()
        if child == 0:
            _become(asked)
        answer = _wait(child)
        print(json.dumps(answer | {"changes": changes.read_text()}), flush=True)


def _wait(child: int) -> dict[str, Any]:
    """A child's exit code, time and memory; one that waits for nothing is killed."""

    def kill(*_: object) -> None:
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(WAITS_S)
    _, status, used = os.wait4(child, 0)
    signal.alarm(0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "took_s": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
    }


def _become(asked: Mapping[str, Any]) -> NoReturn:
    """The command."""
    folder = Path(asked["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name, descriptor in (("out", 1), ("err", 2)):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, descriptor)
    # Libraries and threads' stacks take room that is never used.
    resource.setrlimit(resource.RLIMIT_AS, (4 * GIGABYTE, 4 * GIGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (asked["limit_s"], asked["limit_s"]))
    os.chdir(asked["cwd"])
    sys.argv = ["clearpipe", *asked["arguments"]]
    layer = None
    if asked["fault"] is not None:
        layer = ctypes.CDLL(None)
        layer.faulty_disk_kinds.restype = ctypes.c_char_p
        at, how = asked["fault"]
        layer.faulty_disk(asked["cwd"].encode(), ctypes.c_long(at), ord(how))
    code = _main()
    sys.stdout.flush()
    sys.stderr.flush()
    if layer is not None:
        (folder / "changes").write_bytes(layer.faulty_disk_kinds())
    os._exit(code)


def _main() -> int:
    from clearpipe.cli import main

    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _serve()
