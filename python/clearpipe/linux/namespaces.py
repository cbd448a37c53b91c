"""Network namespaces of ours: made, removed, and found again when their owner is gone.

A name is clearpipe-PID-STARTpSPACE-WHAT: PID and START (field 22 of /proc/PID/stat) are those of
the process that made it, SPACE the number of its PID namespace. A process that was killed leaves
its namespaces behind; `remove_stale` removes those and no others. What another PID namespace has
is left alone, as nobody here can see whether it lives.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from clearpipe import interrupts
from clearpipe.errors import ClearpipeError, RunError, UnsupportedError

FOLDER = Path("/run/netns")
# ioctl_ns(2): the user namespace that owns another namespace; EPERM if that is not inside ours.
NS_GET_USERNS = 0xB701
# Where namespaces are mounted, and what `ip` returns to.
SPACES = {"mnt": "mount", "net": "network"}
_NAME = re.compile(r"clearpipe-(\d+)-(\d+)(?:p(\d+))?(?:-\w+)?")


def missing() -> list[str]:
    """What this system lacks for namespaces and devices in them; empty if nothing."""
    lacks = []
    if platform.system() != "Linux":
        return ["Linux"]
    if shutil.which("ip") is None:
        lacks.append("the program ip (Debian: apt-get install iproute2)")
    if shutil.which("nsenter") is None:
        lacks.append("the program nsenter (Debian: apt-get install util-linux)")
    if not Path("/dev/net/tun").exists():
        lacks.append("/dev/net/tun (kernel option CONFIG_TUN)")
    elif not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        lacks.append("leave to open /dev/net/tun")
    if not Path("/proc/self/ns/net").exists():
        lacks.append("network namespaces (kernel option CONFIG_NET_NS)")
    if not _capable():
        lacks.append("privileges: CAP_SYS_ADMIN and CAP_NET_ADMIN, as root has them")
    elif foreign := [name for kind, name in SPACES.items() if not _is_ours(kind)]:
        lacks.append(
            f"privileges over the {' and '.join(foreign)} namespace: capabilities in a user "
            "namespace hold for what was made in it only (be root, or unshare --user "
            "--map-root-user --mount --net)"
        )
    return lacks


def check() -> None:
    """Raise UnsupportedError if something lacks."""
    if lacks := missing():
        raise UnsupportedError(f"this system lacks: {'; '.join(lacks)}")


def _capable() -> bool:
    """Has this process CAP_NET_ADMIN (12) and CAP_SYS_ADMIN (21)?"""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return False
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return all(held >> bit & 1 for bit in (12, 21))


def _is_ours(kind: str) -> bool:
    """Was this process's namespace of a kind made in its user namespace, or one inside it?"""
    import fcntl

    try:
        with Path(f"/proc/self/ns/{kind}").open("rb") as space:
            os.close(fcntl.ioctl(space, NS_GET_USERNS))
    except PermissionError:
        return False
    except OSError:
        pass  # a kernel that does not tell
    return True


def owner() -> str:
    """What names of this process begin with."""
    return f"clearpipe-{os.getpid()}-{_start_of(os.getpid())}p{_pid_space()}"


def _pid_space() -> int:
    """The number of our PID namespace."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _start_of(pid: int) -> int | None:
    """When a process started, in the kernel's ticks; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def path(name: str) -> str:
    """The file of a namespace."""
    return str(FOLDER / name)


def ip(*arguments: str, stdin: str | None = None) -> str:
    """Run `ip`; RunError with what it says if it fails."""
    done = run(["ip", *arguments], stdin)
    if done.returncode != 0:
        raise RunError(f"ip {' '.join(arguments)}: {done.stderr.strip() or ended(done.returncode)}")
    return done.stdout


def run(command: Sequence[str], stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; a terminal's Ctrl-C is for us and not for it."""
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=False, start_new_session=True
    )


def ended(code: int) -> str:
    """How a process ended, in words: an exit code, or the signal that killed it."""
    if code >= 0:
        return f"it ended with exit code {code}"
    return f"it was killed by signal {-code} ({signal.Signals(-code).name})"


def add(what: str) -> str:
    """Make a namespace of this process; its name."""
    name = f"{owner()}-{what}"
    try:
        ip("netns", "add", name)
    except RunError:
        with suppress(RunError):
            remove(name)
        raise
    return name


@contextmanager
def several(whats: Iterable[str]) -> Iterator[list[str]]:
    """Make namespaces of this process, and remove all of them in the end."""
    with ExitStack() as stack:
        names = []
        for what in whats:
            interrupts.check()
            names.append(add(what))
            stack.callback(remove, names[-1])
        yield names


def remove(name: str) -> None:
    """End what runs in a namespace and remove it."""
    end_processes(name)
    ip("netns", "delete", name)


def end_processes(name: str) -> None:
    """End every process in a namespace: SIGTERM, and after half a second SIGKILL."""
    for number, patience in ((signal.SIGTERM, 0.5), (signal.SIGKILL, 0.5)):
        until = time.monotonic() + patience
        for pid in _inside(name):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        while _inside(name) and time.monotonic() < until:
            time.sleep(0.01)


def _inside(name: str) -> list[int]:
    with suppress(RunError):
        return [int(pid) for pid in ip("netns", "pids", name).split() if int(pid) != os.getpid()]
    return []


def inside(name: str, command: Sequence[str]) -> list[str]:
    """The command that runs `command` in a namespace, as the same process."""
    return ["nsenter", f"--net={path(name)}", *command]


def configure(name: str, commands: Sequence[str], sysctls: dict[str, str]) -> None:
    """Run `ip` commands in a namespace, and write its /proc/sys/net; absent keys are skipped."""
    interrupts.check()
    ip("-n", name, "-batch", "-", stdin="\n".join(commands) + "\n")
    lines = [
        f'if [ -e "/proc/sys/net/{key}" ]; then echo "{value}" > "/proc/sys/net/{key}"; fi'
        for key, value in sysctls.items()
    ]
    interrupts.check()
    done = run(inside(name, ["sh", "-ec", "\n".join(lines)]))
    if done.returncode != 0:
        raise RunError(f"{name}: {done.stderr.strip() or ended(done.returncode)}")


def stale() -> list[str]:
    """The names whose owner is gone."""
    if not FOLDER.is_dir():
        return []
    return sorted(entry.name for entry in FOLDER.iterdir() if is_abandoned(entry.name))


def is_abandoned(name: str) -> bool:
    """Is it a name of ours, and its owner gone?"""
    found = _NAME.fullmatch(name)
    if found is None or found[3] not in {None, str(_pid_space())}:
        return False
    return _start_of(int(found[1])) != int(found[2])


def remove_stale() -> tuple[list[str], list[str]]:
    """Remove what owners that are gone have left: what was removed, and what could not be."""
    left: list[tuple[str, Path, Callable[[], object]]] = [
        (f"network namespace {name}", Path(path(name)), partial(remove, name)) for name in stale()
    ]
    from clearpipe.linux import cgroups

    left += [(f"cgroup {each}", each, partial(cgroups.remove, each)) for each in cgroups.stale()]
    for folder in sorted(Path(tempfile.gettempdir()).glob("clearpipe-*")):
        if is_abandoned(folder.name):
            left.append((f"directory {folder}", folder, partial(shutil.rmtree, folder)))
    removed, failed = [], []
    for what, where, remove_it in left:
        try:
            remove_it()
        except (ClearpipeError, OSError) as error:
            # Another run may have been quicker.
            if where.exists():
                failed.append(f"{what}: {error}")
        else:
            removed.append(what)
    return removed, failed
