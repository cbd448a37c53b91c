"""End hosts in eBPF: VCP, DPCP, MLCP, XCP and iXCP as congestion controls of this kernel.

The work is done by the program `clearpipe-bpf` (ebpf/loader; `make linux` builds it). It pins what
it loads below /sys/fs/bpf/clearpipe and ends. One object per protocol serves the whole kernel;
loading it again adds devices.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe import checkout, interrupts
from clearpipe._core import version
from clearpipe.errors import ConfigError, RunError, UnsupportedError
from clearpipe.linux import namespaces

if TYPE_CHECKING:
    from clearpipe.doctor import Check

PROTOCOLS = ("vcp", "dpcp", "mlcp", "xcp", "ixcp")
WITH_OPTION = ("mlcp", "xcp", "ixcp")
"""Their feedback is in a TCP option, which programs of a cgroup write."""
DECOUPLED = ("vcp-decoupled", "dpcp-decoupled")
"""Losses are repaired and move no window: the recovery `decoupled`."""
CODE_ROUTERS = ("vcp-router", "dpcp-router", "mlcp-router")
FEEDBACK_ROUTERS = ("xcp-router", "ixcp-router")
ROUTERS = (*CODE_ROUTERS, *FEEDBACK_ROUTERS)
PROGRAM = "clearpipe-bpf"
PINS = (Path("/sys/fs/bpf/clearpipe"), Path("/sys/fs/bpf/clearpipe-gso"))
UNSUPPORTED = 5


def program() -> Path | None:
    """The loader: $CLEARPIPE_BPF, beside this Python, on the PATH, or built in the sources."""
    if named := os.environ.get("CLEARPIPE_BPF"):
        return Path(named)
    beside = Path(sys.executable).parent / PROGRAM
    if beside.exists():
        return beside
    if found := shutil.which(PROGRAM):
        return Path(found)
    sources = Path(__file__).resolve().parents[3] / "ebpf" / "loader"
    built = sources / "target" / "release" / PROGRAM
    return built if built.exists() else None


def missing() -> str | None:
    """What this system lacks for end hosts in eBPF, or None."""
    try:
        _run("check")
    except UnsupportedError as error:
        return str(error)
    return None


def load(  # noqa: PLR0913 - one for each option
    name: str,
    *,
    dev: str,
    netns: str | None = None,
    cgroup: Path | None = None,
    initial_window: int = 0,
    rate_bps: int | None = None,
    link: int | None = None,
    for_all: bool = False,
) -> None:
    """Load a protocol's end host, or a router, onto a device.

    `initial_window` is in packets; 0 leaves the kernel's. It and `cgroup` hold for the whole
    kernel: a further device with others is a RunError. A router needs `rate_bps`, its capacity.
    `link` is the number, from 1, by which iXCP's names its link; without one it is random.
    Only processes with CAP_NET_ADMIN may choose the protocol, or with `for_all` every user.
    """
    options = [*_place(dev, netns)]
    if cgroup is not None:
        options += ["--cgroup", str(cgroup)]
    if initial_window:
        options += ["--initial-window", str(initial_window)]
    if rate_bps is not None:
        options += ["--rate", str(rate_bps)]
    if link is not None:
        options += ["--link", str(link)]
    if for_all:
        options.append("--for-all")
    _run("load", name, *options)


def unload(name: str | None = None, *, dev: str | None = None, netns: str | None = None) -> None:
    """Take off a device what is named; without a name, or a device, all."""
    if not any(pins.exists() for pins in PINS):
        return
    _run("unload", *([name] if name else []), *(_place(dev, netns) if dev else []))


def status() -> list[dict[str, Any]]:
    """What is loaded: name, registered, build (of the loader), off, counters (by name), devices
    (netns, dev, direction, gone); of routers rate_bps and queue (kind, bytes, packets, drops)."""
    found: list[dict[str, Any]] = json.loads(_run("status", "--json"))
    return found


def cleanup() -> tuple[list[str], list[str]]:
    """Remove what has lost its device: what was removed, and what could not be."""
    if not any(pins.exists() for pins in PINS) or program() is None:
        return [], []
    try:
        done = _done("cleanup")
    except UnsupportedError as error:
        return [], [str(error)]
    failed = [_message(done)] if done.returncode != 0 else []
    return done.stdout.splitlines(), failed


@contextmanager
def attached(
    protocol: str,
    attach: Sequence[tuple[str | None, str]],
    params: Mapping[str, object] | None = None,
    initial_window: int = 0,
    cgroup: Path | None = None,
) -> Iterator[str]:
    """Have a protocol on devices (network namespace, name) for a while; gives the name of its
    congestion control.

    `cgroup` is where the sockets are that use it, for protocols with a TCP option; else the root.
    Parameters are the papers': others are refused.
    """
    if params:
        kind = protocol.removesuffix("-decoupled")
        key = f"protocols.{kind}.{next(iter(params))}"
        message = f"{key}: the kernel's {protocol} has the default parameters only"
        raise ConfigError(message, key=key)
    with ExitStack() as stack:
        for netns, dev in attach:
            interrupts.check()
            # Before it is there: a loader that is killed leaves a part.
            stack.callback(_unload_surely, protocol, dev, netns)
            own = cgroup if protocol in WITH_OPTION else None
            load(protocol, dev=dev, netns=netns, cgroup=own, initial_window=initial_window)
        # The kernel's names have no hyphens.
        yield protocol.replace("-", "_")


def _unload_surely(protocol: str, dev: str, netns: str | None) -> None:
    """Take it off, and once more if the loader is killed meanwhile."""
    try:
        unload(protocol, dev=dev, netns=netns)
    except RunError:
        unload(protocol, dev=dev, netns=netns)


def stale() -> bool:
    """Is something pinned that a killed run or loader has left? `cleanup` removes it."""
    links = [list(folder.glob("links/*")) for folder in PINS[0].glob("*")]
    kept = [*(link for some in links for link in some), *PINS[1].glob("*")]
    # A name is NETNS:DEV or NETNS:DEV:DIRECTION, but of a note that was not written to its end; a
    # loader that is at work has no link yet.
    parts = [pin.name.split(":") for pin in kept]
    return not all(links) or any(len(one) < 2 or namespaces.is_abandoned(one[0]) for one in parts)


def checks() -> list[Check]:
    """What `clearpipe doctor` shows."""
    from clearpipe.doctor import Check

    lacks = missing()
    return [
        Check(
            "eBPF end hosts",
            lacks is None,
            lacks or str(program()),
            "VCP, DPCP, MLCP, XCP, iXCP in this kernel, and their routers",
            checkout.get("deps-linux linux", f"{PROGRAM}, from Clearpipe's source, on the PATH"),
        )
    ]


def _place(dev: str, netns: str | None) -> list[str]:
    return ["--dev", dev, *(["--netns", netns] if netns else [])]


def _run(*arguments: str) -> str:
    done = _done(*arguments)
    if done.returncode == 0:
        return done.stdout
    kind = UnsupportedError if done.returncode == UNSUPPORTED else RunError
    raise kind(_message(done))


def _done(*arguments: str) -> subprocess.CompletedProcess[str]:
    if sys.platform != "linux":
        raise UnsupportedError("end hosts in eBPF need Linux")
    loader = program()
    if loader is None:
        how = checkout.get("deps-linux linux", "cargo build --release in ebpf/loader")
        whose = "" if checkout.folder() else " of Clearpipe's source"
        raise UnsupportedError(f"{PROGRAM} is missing: `{how}`{whose} builds it")
    try:
        _check_version(os.fspath(loader))
        return namespaces.run([os.fspath(loader), *arguments])
    except OSError as error:
        raise UnsupportedError(f"{loader}: {error.strerror}") from None


@cache
def _check_version(loader: str) -> None:
    """One of another version may have other options and other counters."""
    told = namespaces.run([loader, "--version"]).stdout.split()
    theirs = told[1].partition("+")[0] if len(told) > 1 else "unknown"
    if theirs != version():
        message = f"{loader} is of version {theirs}, and clearpipe of {version()}"
        raise UnsupportedError(
            f"{message}: build it from the same source, or name another by CLEARPIPE_BPF"
        )


def _message(done: subprocess.CompletedProcess[str]) -> str:
    told = done.stderr.strip().removeprefix(f"{PROGRAM}: ")
    return told or f"{PROGRAM}: {namespaces.ended(done.returncode)}"
