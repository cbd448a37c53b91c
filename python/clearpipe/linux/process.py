"""The emulator and the TCP flows as processes: `python -m clearpipe.linux.process emulate`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from clearpipe import interrupts
from clearpipe.errors import RunError
from clearpipe.linux import namespaces

READY_S = 30.0
"""An emulator that has not said that it is ready by then has failed."""


class Process:
    """A part of the linux engine at work, and its report when it has ended."""

    def __init__(self, what: str, plan: dict[str, Any]) -> None:
        self._what = what
        self._folder = tempfile.TemporaryDirectory(prefix=f"{namespaces.owner()}-")
        folder = Path(self._folder.name)
        self._plan, self._report = folder / "plan.json", folder / "report.json"
        self._plan.write_text(json.dumps(plan), encoding="utf-8")
        self._errors = (folder / "errors.txt").open("w+b")
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it."""
        # The core holds the program; a build of its own may be named instead.
        own = os.environ.get("CLEARPIPE_EMULATOR")
        program = [own] if own else [sys.executable, "-m", "clearpipe.linux.process"]
        self.process = subprocess.Popen(
            [*program, self._what, str(self._plan), str(self._report)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            # It ends if we are gone before it can ask to be told of that.
            env={**os.environ, "CLEARPIPE_PARENT": str(os.getpid())},
            # Ctrl-C is for whoever runs it, which then ends it.
            start_new_session=True,
        )

    def ready(self) -> dict[str, Any]:
        """Wait for its first line; RunError with what it says if it ends instead."""
        out = self._pipe("stdout")
        until = time.monotonic() + READY_S
        while not (readable := select.select([out], [], [], interrupts.LOOK_S)[0]):
            interrupts.check()
            if time.monotonic() > until:
                break
        line = out.readline() if readable else ""
        if not line:
            self.stop()
            raise RunError(f"the {self._what} process did not start: {self.errors()}")
        value: dict[str, Any] = json.loads(line)
        return value

    def tell(self, line: str) -> None:
        """A line for its stdin."""
        assert self.process is not None
        pipe = self._pipe("stdin")
        try:
            pipe.write(line + "\n")
            pipe.flush()
        except BrokenPipeError:
            # Its end of the pipe is closed before the system says how it ended.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(1.0)
            raise RunError(f"the {self._what} process has ended: {self.errors()}") from None

    def _pipe(self, name: str) -> IO[str]:
        assert self.process is not None
        pipe: IO[str] | None = getattr(self.process, name)
        assert pipe is not None
        return pipe

    def running(self) -> bool:
        """Has it not ended?"""
        return self.process is not None and self.process.poll() is None

    def ended(self) -> bool:
        """Has it done its work before it was told to end?"""
        return self.process is not None and self.process.poll() == 0

    def errors(self) -> str:
        """Why it ended: what it wrote to stderr, or how the system says that it ended."""
        self._errors.flush()
        self._errors.seek(0)
        told = self._errors.read().decode(errors="replace").strip()
        code = None if self.process is None else self.process.poll()
        if code is None or (told and code >= 0):
            return told
        return f"{told}; {namespaces.ended(code)}".removeprefix("; ")

    def finish(self, timeout: float) -> dict[str, Any]:
        """Wait for its end; its report."""
        assert self.process is not None
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise RunError(f"the {self._what} process did not end in time") from None
        if code != 0:
            raise RunError(f"the {self._what} process failed: {self.errors()}")
        report: dict[str, Any] = json.loads(self._report.read_text(encoding="utf-8"))
        return report

    def stop(self) -> None:
        """End it: SIGTERM, and after two seconds SIGKILL."""
        if self.process is None:
            return
        if self.running():
            self.process.terminate()
            until = time.monotonic() + 2.0
            while self.running() and time.monotonic() < until:
                time.sleep(0.01)
            if self.running():
                self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                # What it did not read before it ended is flushed once more.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._errors.close()
        self._folder.cleanup()


def main() -> int:
    """Run one part; the exit code."""
    from clearpipe import _core

    return _core.linux_process(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
