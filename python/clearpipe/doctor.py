"""What is installed, what each thing is for, and how to get what is missing."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clearpipe as cp
from clearpipe import _core, checkout

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Check:
    """One thing: its value, or how to get it."""

    name: str
    found: bool
    value: str
    purpose: str
    get: str
    required: bool = False


# What a source tree is built, compared and measured with.
BUILDERS = (
    ("rustc", ("rustc", "--version"), "builds the core from source", "https://rustup.rs"),
    ("clang", ("clang", "--version"), "compiles the eBPF end hosts", "apt-get install clang"),
    ("ns2", ("ns", "-version"), "is what make check-peers compares with", "make deps-peers"),
    ("valgrind", ("valgrind", "--version"), "counts instructions for make bench", "make deps-dev"),
)

MODULES = (
    ("matplotlib", "draws figures (run --figure, Result.plot)", "pip install 'clearpipe[figures]'"),
    ("pyarrow", "takes result tables; sweep export", "pip install 'clearpipe[export]'"),
    ("polars", "takes the result tables", "pip install polars"),
    ("pandas", "takes the result tables", "pip install pandas"),
)

REQUIRED = (
    ("typer", "reads the command line"),
    ("rich", "prints tables and progress"),
    ("jinja2", "writes reports"),
    ("numpy", "thins out series for charts"),
    ("scipy", "gives compare its intervals"),
    ("tomli_w", "writes scenarios made in Python"),
)


def checks() -> list[Check]:
    """All checks, required things first."""
    build = ", ".join(f"{key} {value}" for key, value in _core.build_info().items())
    clock = time.get_clock_info("perf_counter").resolution
    fixed = [
        ("python", platform.python_version(), "runs Clearpipe (3.11 or newer)"),
        ("clearpipe", cp.version(), "this program"),
        ("model", _versions(), "equal versions of what runs use give equal fingerprints"),
        ("core", build, "the compiled simulator"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}", "-"),
        ("cores", str(os.cpu_count() or 1), "as many runs go at the same time"),
        ("memory", _memory(), "of which a run needs little"),
        ("clock", f"{clock * 1e9:g} ns", "resolution of measured speeds"),
    ]
    found = [Check(name, True, value, purpose, "", True) for name, value, purpose in fixed]
    found += [_module(name, purpose, f"pip install {name}", True) for name, purpose in REQUIRED]
    found += [_module(name, purpose, get, False) for name, purpose, get in MODULES]
    tshark = checkout.get("deps-dev", "https://www.wireshark.org")
    found.append(_program("tshark", ("tshark", "--version"), "reads packet captures", tshark))
    if checkout.folder() is not None:
        found += [_program(*program) for program in BUILDERS]
    return found + _linux()


def _versions() -> str:
    """Those of engines and transport, and of what has had another one than the first."""
    plain = {one["name"] for one in cp.protocols()} | {
        f"queue {one['name']}" for one in cp.queues()
    }
    told = {n: v for n, v in cp.versions().items() if n not in plain or v != "1"}
    return ", ".join(f"{name} {version}" for name, version in told.items() if name != "kernel")


def _linux() -> list[Check]:
    """What the linux engine and its end hosts need."""
    from clearpipe.linux import preflight

    rows = preflight.checks()
    with contextlib.suppress(ImportError):
        rows += importlib.import_module("clearpipe.linux.hosts").checks()
    return rows


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{total / 2**30:.1f} GiB"


def _module(name: str, purpose: str, get: str, required: bool) -> Check:
    if importlib.util.find_spec(name) is None:
        return Check(name, False, "missing", purpose, get, required)
    try:
        value = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        value = "found"
    return Check(name, True, value, purpose, get, required)


def _program(name: str, command: tuple[str, ...], purpose: str, get: str) -> Check:
    path = shutil.which(command[0])
    if path is None:
        return Check(name, False, "missing", purpose, get)
    return Check(name, True, _version(path, command[1:]), purpose, get)


def _version(path: str, arguments: tuple[str, ...]) -> str:
    if Path(path).name == "ns":  # knows no --version
        return "found"
    try:
        done = subprocess.run(
            [path, *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "found, but does not start"
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0][:60] if lines else "found"


def as_json(found: list[Check]) -> dict[str, Any]:
    """Plain dictionaries."""
    return {
        "ok": all(check.found for check in found if check.required),
        "executable": sys.executable,
        "checks": [asdict(check) for check in found],
    }


def table(found: list[Check]) -> RichTable:
    """The checks for a terminal."""
    from clearpipe.overview import new_table

    out = new_table("What is installed", ["Name", "Value", "For", "How to get it"], left=4)
    for check in found:
        value = check.value if check.found else "MISSING" if check.required else "missing"
        out.add_row(check.name, value, check.purpose, "" if check.found else check.get)
    return out
