"""Whatever ends a run of the linux engine, and whenever: nothing of it stays in the system.

`make linux-endings` tries a hundred random moments. What is compared before and after: network
namespaces, devices, mounts, settings below /proc/sys/net, BPF programs, maps and links, what is
pinned, control groups, temporary files, processes. A kill -9 of the run itself leaves what the
next run collects; all else must be gone when the process is.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clearpipe.linux import hosts, namespaces

LACKS = namespaces.missing()
pytestmark = pytest.mark.skipif(bool(LACKS), reason=f"exit 5: {'; '.join(LACKS)}")

MAIN = [sys.executable, "-c", "from clearpipe.cli import main; main()"]
MOMENTS = int(os.environ.get("CLEARPIPE_ENDINGS", "24"))
SEED = int(os.environ.get("CLEARPIPE_ENDINGS_SEED", "25"))
ENDS_S = 45.0
"""What has not ended so long after its signal hangs."""
LONGEST_S = 5.0
"""Signals come so long after the start at most: a run takes four seconds on an idle machine."""

SCENARIO = """
schema = 1
name = "ending"
duration = "2s"
[packets]
data = "1500B"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "1bdp"
queue = "QUEUE"
[flows.all]
protocol = "PROTOCOL"
count = 2
"""


def scenario(protocol: str, queue: str) -> str:
    return SCENARIO.replace("QUEUE", queue).replace("PROTOCOL", protocol)


# What the kernel calls BPF_PROG_GET_NEXT_ID, BPF_MAP_GET_NEXT_ID and BPF_LINK_GET_NEXT_ID.
BPF_NEXT = {"program": 11, "map": 12, "link": 31}
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}


def bpf_objects(kind: str) -> Iterator[str]:
    """The numbers of all there are."""
    number = BPF_SYSCALL.get(os.uname().machine)
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    attr = (ctypes.c_uint32 * 32)()
    while libc.syscall(number, BPF_NEXT[kind], ctypes.byref(attr), ctypes.sizeof(attr)) == 0:
        yield f"{kind} {attr[1]}"
        attr[0] = attr[1]


def names(folder: str, pattern: str = "*") -> list[str]:
    return [str(path) for path in Path(folder).glob(pattern)]


def snapshot() -> set[str]:
    """What there is of all that a run makes, one line each; what another live run has is left
    out."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    there = {f"mount {line.split()[4]}" for line in mounts}
    there.update(names("/run/netns"), names("/sys/class/net"), names("/sys/fs/bpf", "**/*"))
    there.update(names("/sys/fs/cgroup", "**/clearpipe*"))
    there.update(names(tempfile.gettempdir(), "clearpipe-*"))
    for kind in BPF_NEXT:
        there.update(bpf_objects(kind))
    for file in Path("/proc/sys/net").rglob("*"):
        with suppress(OSError, UnicodeDecodeError):
            if file.is_file():
                there.add(f"{file} = {file.read_text(encoding='ascii').strip()}")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = process.joinpath("cmdline").read_bytes().replace(b"\0", b" ")
            if b"clearpipe.linux.process" in line or b"clearpipe-bpf" in line:
                there.add(f"process {process.name} {line.decode(errors='replace')}")
    return {line for line in there if not alive(line)}


def alive(line: str) -> bool:
    found = re.search(r"clearpipe-(\d+)-\w+", line)
    return found is not None and not namespaces.is_abandoned(found[0])


def left_since(before: set[str]) -> set[str]:
    """What is new; programs and maps go a moment after their last holder."""
    until = time.monotonic() + 5.0
    while (left := snapshot() - before) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def children(pid: int) -> Iterator[int]:
    """The processes below one, all generations."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, file.read_text(encoding="ascii").split()):
                yield child
                yield from children(child)


def kill_child(what: bytes, run: subprocess.Popen[str]) -> bool:
    """SIGKILL to the first child whose command line has `what`, waiting for one to come."""
    while run.poll() is None:
        for pid in children(run.pid):
            with suppress(OSError):
                if what in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
                    return True
        time.sleep(0.002)
    return False


def to_group(*signals: tuple[float, signal.Signals]) -> Callable[[subprocess.Popen[str]], None]:
    """As a terminal sends them: to the run and everything of its process group."""

    def send(run: subprocess.Popen[str]) -> None:
        for pause, number in signals:
            time.sleep(pause)
            with suppress(ProcessLookupError):
                os.killpg(run.pid, number)

    return send


def to_run(*signals: tuple[float, signal.Signals]) -> Callable[[subprocess.Popen[str]], None]:
    """As kill sends them: to the run alone."""

    def send(run: subprocess.Popen[str]) -> None:
        for pause, number in signals:
            time.sleep(pause)
            run.send_signal(number)

    return send


def of_timeout(run: subprocess.Popen[str]) -> None:
    """As timeout(1): to its child, and then to the group that both are in."""
    run.send_signal(signal.SIGTERM)
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGTERM)
        os.killpg(run.pid, signal.SIGCONT)


def killed(what: bytes) -> Callable[[subprocess.Popen[str]], None]:
    def send(run: subprocess.Popen[str]) -> None:
        kill_child(what, run)

    return send


INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
WAYS: dict[str, Callable[[subprocess.Popen[str]], None]] = {
    "Ctrl-C twice": to_group((0, INT), (0.1, INT)),
    "Ctrl-C three times": to_group((0, INT), (0.03, INT), (0.3, INT)),
    "SIGINT twice": to_run((0, INT), (0.1, INT)),
    "SIGTERM twice": to_run((0, TERM), (0.1, TERM)),
    "SIGTERM, SIGINT": to_group((0, TERM), (0.05, INT)),
    "SIGHUP": to_run((0, HUP)),
    "SIGHUP twice": to_group((0, HUP), (0.05, HUP)),
    "timeout": of_timeout,
    "kill -9 of the run": to_run((0, KILL)),
    "kill -9 of the emulator": killed(b"emulate\0"),
    "kill -9 of the flows": killed(b"traffic\0"),
    "kill -9 of the loader": killed(b"clearpipe-bpf\0"),
}
# The command in a shell has Ctrl-C to itself.
OF_SHELLS = ("SIGTERM twice", "SIGHUP twice", "timeout", "kill -9 of the run")


@dataclass
class Ending:
    """One run that was ended."""

    way: str
    what: str
    after_s: float
    code: int = 0
    took_s: float = 0.0
    errors: str = ""
    left: set[str] = field(default_factory=set)

    @property
    def faults(self) -> list[str]:
        """What is wrong about it."""
        found = [f"left: {what}" for what in sorted(self.left)]
        # Python says itself where it was when Ctrl-C comes before the command has begun.
        if "RuntimeError" in self.errors or (
            "Traceback" in self.errors and "in main" in self.errors
        ):
            found.append(self.errors)
        if self.took_s > ENDS_S:
            found.append("it hung")
        return found


def next_run(folder: Path) -> None:
    """Any other run."""
    done = subprocess.run(
        [*MAIN, "linux", "shell", "--rate", "10Mbps", "--rtt", "9ms", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr


def end(way: str, what: str, command: list[str], after_s: float, folder: Path) -> Ending:
    """Start a command, end it one way, and see what is left."""
    ending = Ending(way, what, after_s)
    before = snapshot()
    run = subprocess.Popen(
        # Whoever runs this in the background, or with nohup, has it ignore signals.
        ["env", "--default-signal=INT,HUP,TERM", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after_s)
    WAYS[way](run)
    began = time.monotonic()
    try:
        _, ending.errors = run.communicate(timeout=ENDS_S)
    except subprocess.TimeoutExpired:
        run.kill()
        _, ending.errors = run.communicate()
    ending.code, ending.took_s = run.returncode, time.monotonic() - began
    if way == "kill -9 of the run":
        next_run(folder)
    ending.left = left_since(before)
    return ending


def commands(folder: Path) -> dict[str, list[str]]:
    """What is ended: runs with the kernel's own protocols and with eBPF, and a shell."""
    found = {}
    for name, queue in (("cubic", "droptail"), ("xcp", "xcp"), ("dpcp", "dpcp")):
        if name != "cubic" and hosts.missing():
            continue
        file = folder / f"{name}.toml"
        file.write_text(scenario(name, queue), encoding="utf-8")
        found[name] = [*MAIN, "run", str(file), "--engine", "linux", "--quiet", "--force"]
    found["shell"] = [*MAIN, "linux", "shell", "--rate", "10Mbps", "--rtt", "40ms"]
    found["shell"] += ["--server", "sleep 60", "--", "sleep", "2"]
    return found


def try_moments(count: int, seed: int, folder: Path) -> list[Ending]:
    """End runs at so many random moments, each way about as often."""
    draw, kinds = random.Random(seed), commands(folder)
    # Names, settings and mounts that stay are made by the first run of a machine.
    for command in kinds.values():
        subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=120)
    endings = []
    for number in range(count):
        way = list(WAYS)[number % len(WAYS)]
        what = draw.choice([kind for kind in kinds if kind != "shell" or way in OF_SHELLS])
        if way == "kill -9 of the loader":
            if hosts.missing():
                continue
            what = draw.choice([kind for kind in kinds if kind in ("xcp", "dpcp")])
        ending = end(way, what, kinds[what], draw.uniform(0.0, LONGEST_S), folder)
        endings.append(ending)
        print(
            f"{number + 1:3} {way:24} {what:6} after {ending.after_s:.2f} s: exit {ending.code:4}, "
            f"{ending.took_s:5.2f} s later; {len(ending.left)} left",
            *ending.faults,
            sep="\n    " if ending.faults else "",
            flush=True,
        )
    return endings


@pytest.mark.long
def test_nothing_is_left_whenever_and_however_a_run_ends(tmp_path: Path) -> None:
    endings = try_moments(MOMENTS, SEED, tmp_path)
    bad = [ending for ending in endings if ending.faults]
    print(f"{len(endings)} moments, {len(bad)} with faults; {len(os.sched_getaffinity(0))} cores")
    assert len(endings) >= MOMENTS * 3 // 4
    assert not bad
