"""A command behind an emulated link, with its terminal and its exit code."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearpipe import api, interrupts, units
from clearpipe.errors import ClearpipeError, ConfigError
from clearpipe.linux import namespaces
from clearpipe.linux.engine import DEVICE, collect, device_commands, lateness
from clearpipe.linux.process import Process
from clearpipe.terminal import note

ADDRESSES, ADDRESSES6 = ("10.77.0.1", "10.77.0.2"), ("fd77::1", "fd77::2")
"""The command's address, and that of the other end of the link."""
MTU = 1500
SERVER_S = 5.0
ENDS_S = 1.0
"""How long the command has after SIGTERM."""
"""How long a server may take to listen."""


@dataclass(frozen=True)
class Link:
    """The link, in a scenario file's words; `up` is the way from the command to the other end.

    A way has the rate and buffer of both unless it has its own. Its rate may be a file: the
    capacity as a trace.
    """

    rate: str | None
    rtt: str
    buffer: str = "1bdp"
    queue: str = "droptail"
    loss: float = 0.0
    up: str | None = None
    down: str | None = None
    up_buffer: str | None = None
    down_buffer: str | None = None


def scenario(link: Link) -> str:
    """The link as a scenario that ends when it is told so: a line each way."""
    delay = units.quantity(link.rtt)
    if delay is None:
        raise ConfigError(f"--rtt: {link.rtt!r} is not a time such as 600ms", key="--rtt")
    ways = {"up": (link.up, link.up_buffer), "down": (link.down, link.down_buffer)}
    lines = ["schema = 1", 'name = "shell"', 'duration = "1000h"', "[packets]", f'data = "{MTU}B"']
    for way, (rate, buffer) in ways.items():
        capacity = rate or link.rate
        if capacity is None:
            raise ConfigError(f"--{way} or --rate: the link needs a rate each way", key=f"--{way}")
        values = {
            "from": way,
            "to": "down" if way == "up" else "up",
            **_capacity(capacity),
            "owd": f"{delay / 2:.9f}s",
            "buffer": buffer or link.buffer,
            "queue": link.queue,
        }
        if link.loss:
            values["loss"] = f"{100 * link.loss:g}%"
        lines += [f"[links.{way}]", *(f'{key} = "{_text(v)}"' for key, v in values.items())]
    lines += ["[flows.command]", 'protocol = "sack"', 'path = ["up"]', 'reverse_path = ["down"]']
    return "\n".join([*lines, ""])


def _capacity(text: str) -> dict[str, str]:
    """A rate, or the file with a trace."""
    if not Path(text).is_file():
        return {"rate": text}
    return {"trace": os.fspath(Path(text).absolute())}


def _text(value: str) -> str:
    if '"' in value or "\n" in value or "\\" in value:
        raise ConfigError(f"{value!r} is not a value that a scenario can have")
    return value


def run(
    link: Link,
    command: Sequence[str],
    *,
    server: str | None = None,
    capture: Path | None = None,
    report: Path | None = None,
    quiet: bool = False,
) -> int:
    """Run a command behind the link; its exit code, or 128 and the signal that ended it."""
    text = scenario(link)
    toml, _ = api.resolve(api.Source("<command line>", text))
    namespaces.check()
    if shutil.which(command[0]) is None:
        note(f"clearpipe: {command[0]}: no such command")
        return 127
    collect()
    with interrupts.held(), contextlib.ExitStack() as stack:
        names = stack.enter_context(namespaces.several(["in", "peer"]))
        emulator = stack.enter_context(Process("emulate", _plan(toml, names, capture)))
        emulator.start()
        emulator.ready()
        for name, own, peer in ((names[0], 0, 1), (names[1], 1, 0)):
            namespaces.configure(name, _device(own, peer), {})
        if server is not None:
            _serve(stack, server, names[1])
        code = _run(command, names[0])
        if emulator.running():
            emulator.tell("stop")
            measured = emulator.finish(10.0)
            _tell(measured, report, quiet)
        else:
            note(f"clearpipe: the emulator ended early: {emulator.errors()}")
            return code or 1
    return code


def _plan(toml: str, names: Sequence[str], capture: Path | None) -> dict[str, Any]:
    captures = []
    if capture is not None:
        captures.append({"link": 0, "path": os.fspath(capture.absolute()), "headers_only": False})
    return {
        "scenario": toml,
        "seed": 1,
        "rep": 0,
        "devices": [{"netns": namespaces.path(name), "name": DEVICE} for name in names],
        "groups": [[0, 1]],
        "numbering": "any",
        "endless": True,
        "captures": captures,
    }


def _environment() -> dict[str, str]:
    names = ("CLEARPIPE_INSIDE", "CLEARPIPE_PEER")
    own = dict(zip(names, ADDRESSES, strict=True))
    own6 = {f"{name}6": address for name, address in zip(names, ADDRESSES6, strict=True)}
    return {**os.environ, **own, **own6}


def _serve(stack: contextlib.ExitStack, server: str, name: str) -> None:
    """Start a server at the other end, and wait until it listens or has ended."""
    process = subprocess.Popen(
        namespaces.inside(name, ["sh", "-c", server]),
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
    )
    stack.callback(_end, process)
    until = time.monotonic() + SERVER_S
    while process.poll() is None and time.monotonic() < until:
        interrupts.check()
        if _listens(process.pid, name):
            return
        time.sleep(0.02)
    if process.returncode not in {None, 0}:
        raise ClearpipeError(f"the server ended with exit code {process.returncode}: {server}")


def _listens(pid: int, name: str) -> bool:
    """Has a process entered a namespace, and is there a TCP socket that listens?"""
    listening = "0A"
    with contextlib.suppress(OSError):
        if not Path(f"/proc/{pid}/ns/net").samefile(namespaces.path(name)):
            return False
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            rows = Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
            if any(row.split()[3] == listening for row in rows):
                return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _run(command: Sequence[str], name: str) -> int:
    """The command in the foreground: Ctrl-C is its affair, and it has our terminal."""
    interrupts.check()
    process = subprocess.Popen(namespaces.inside(name, command), env=_environment())
    try:
        with interrupts.spared(signal.SIGINT):
            _wait(process)
    except BaseException:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_S)
        # What ignores that is ended with its namespace.
        raise
    code = process.returncode
    return code if code >= 0 else 128 - code


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Until it ends, or a signal wants an end."""
    ended = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            interrupts.check()
            select.select([ended], [], [], interrupts.LOOK_S)
    finally:
        os.close(ended)


def _device(own: int, peer: int) -> list[str]:
    """What sets up an end of the link; IPv6 where the kernel has it."""
    commands = device_commands(ADDRESSES[own], MTU)
    commands.append(f"route add {ADDRESSES[peer]}/32 dev {DEVICE} src {ADDRESSES[own]}")
    if not Path("/proc/sys/net/ipv6").exists():
        return commands
    # Without an address of the line's own there is no chatter about neighbours.
    return [
        f"link set {DEVICE} addrgenmode none",
        *commands,
        f"addr add {ADDRESSES6[own]}/128 dev {DEVICE} nodad",
        f"route add {ADDRESSES6[peer]}/128 dev {DEVICE} src {ADDRESSES6[own]}",
    ]


def _tell(measured: dict[str, Any], report: Path | None, quiet: bool) -> None:
    for line in lateness(measured):
        note(f"clearpipe: {line}", quiet)
    if report is not None:
        import json

        report.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
