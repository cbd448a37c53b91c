"""Tries a wheel as somebody who has nothing else: in a new environment outside this tree, without
matplotlib or a compiler, the commands of a first day, what they write, and how long each takes.

    try_wheel.py dist/clearpipe-*.whl --lock python/locks/user.txt
    try_wheel.py dist/clearpipe-*.whl --links FOLDER      # its requirements are wheels in FOLDER
    try_wheel.py ... --fingerprints golden/packet-engine.txt

It needs Python's own library alone, and makes the environment by the Python that runs it.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

SWEEP = """schema = 1
name = "tried"
duration = "10s"
warmup = "4s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
[flows.a]
protocol = "cubic"
count = 2
start = "uniform(0s, 100ms)"
[sweep]
reps = 3
vary."topology.rtt" = ["10ms", "40ms"]
vary."flows.a.protocol" = ["cubic", "vegas"]
[plot]
x = "topology.rtt"
y = "queue_mean_pkts"
lines = "flows.a.protocol"
"""

# What nobody has who installed a wheel.
OURS = ("make ", "makefile", "docs/")

NO_MATPLOTLIB = "figures need matplotlib: pip install 'clearpipe[figures]'"


class WrongError(Exception):
    """Something was not as it has to be."""


@dataclass
class Trial:
    """An environment and an empty folder to work in."""

    bin: Path
    cwd: Path
    env: dict[str, str]
    took: list[tuple[str, float, float]] = field(default_factory=list)
    """What was run, and how long it took: on the clock, and of processors."""

    def program(self, name: str) -> Path:
        """A program of the environment."""
        return self.bin / (f"{name}.exe" if sys.platform == "win32" else name)

    def run(self, name: str, *command: object, expect: int = 0) -> str:
        """Run a command; gives what it printed, on both streams."""
        began, used = time.monotonic(), _used()
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.cwd,
            env=self.env,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.took.append((name, time.monotonic() - began, _used() - used))
        if done.returncode != expect:
            shown = " ".join(map(str, command))
            raise WrongError(f"{shown}: exit code {done.returncode}\n{done.stdout}")
        if "Traceback" in done.stdout:
            raise WrongError(f"{name}: a traceback\n{done.stdout}")
        return done.stdout

    def clearpipe(self, *arguments: object, expect: int = 0) -> str:
        """Run the console script."""
        name = "clearpipe " + " ".join(map(str, arguments))
        return self.run(name, self.program("clearpipe"), *arguments, expect=expect)

    def page(self, path: str) -> None:
        """A page that was written, whole."""
        text = (self.cwd / path).read_text(encoding="utf-8")
        demand(text.rstrip().endswith("</html>"), f"{path} is cut off")
        demand(len(text) > 20_000, f"{path} has only {len(text)} characters")


def _used() -> float:
    """Seconds of processors in processes that have ended; Windows does not count them."""
    times = os.times()
    return times.children_user + times.children_system


def demand(holds: bool, message: str) -> None:
    """What has to hold."""
    if not holds:
        raise WrongError(message)


def has(text: str, *wanted: str) -> None:
    """What a text has to have in it."""
    for one in wanted:
        demand(one in text, f"no {one!r} in:\n{text}")


def install(trial: Trial, wheel: Path, lock: Path | None, links: Path | None) -> None:
    """Make the environment, and install the wheel and what it needs.

    By `lock` that is fetched; from `links` pip takes what the wheel says that it needs.
    """
    trial.run("make an environment", sys.executable, "-m", "venv", trial.bin.parent)
    pip = (trial.program("python"), "-m", "pip")
    install = (*pip, "install", "--quiet", "--only-binary", ":all:")
    if lock is not None:
        trial.run("install what it needs", *install, "--require-hashes", "-r", lock.resolve())
        trial.run("install the wheel", *install, "--no-index", "--no-deps", wheel)
    if links is not None:
        found = ("--no-index", "--find-links", links.resolve())
        trial.run("install the wheel and what it needs", *install, *found, wheel)
    trial.run("pip check", *pip, "check")


def processor() -> str:
    """This machine's, as compilers call it."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def is_what_was_installed(trial: Trial, wheel: Path) -> None:
    """It is this wheel, from outside this tree; matplotlib is not there."""
    told = trial.run(
        "import",
        trial.program("python"),
        "-c",
        "import clearpipe, importlib.util as u, importlib.metadata as m;"
        "print(clearpipe.__file__); print(m.version('clearpipe'), clearpipe.__version__);"
        "print(u.find_spec('matplotlib'))",
    ).splitlines()
    demand(Path(told[0]).is_relative_to(trial.bin.parent.resolve()), f"it is in {told[0]}")
    version = wheel.name.split("-")[1]
    demand(told[1] == f"{version} {version}", f"{told[1]} is not the wheel's version")
    demand(told[2] == "None", "matplotlib is there")
    has(trial.clearpipe("--version"), f"clearpipe {version} ", f"target {processor()}")


def a_first_day(trial: Trial) -> None:
    """The commands, their tables and pages."""
    doctor = trial.clearpipe("doctor") + trial.clearpipe("doctor", "--json")
    for line in doctor.splitlines():
        ours = [word for word in OURS if word in line.lower()]
        demand(not ours, f"doctor speaks of {ours}: {line}")

    has(trial.clearpipe("demo"), "\nxcp  ", "\nvcp  ", "\nsack-red  ", "report.html")
    trial.page("demo/report.html")

    (trial.cwd / "tried.toml").write_text(SWEEP, encoding="utf-8")
    trial.clearpipe("sweep", "run", "tried.toml")
    told = trial.clearpipe("sweep", "report", "tried.toml", "--out", "figures")
    has(told, "±", NO_MATPLOTLIB)
    trial.page("figures/report.html")
    rows = (trial.cwd / "figures/runs.csv").read_text(encoding="utf-8").splitlines()
    demand(len(rows) == 1 + 12, f"runs.csv has {len(rows)} lines")

    has(trial.clearpipe("reproduce", "vcp:fig10"), "claims:", NO_MATPLOTLIB)
    trial.page("results/reproduce/quick/vcp-fig10/report.html")

    (trial.cwd / "pair.toml").write_text(SWEEP.partition("[sweep]")[0], encoding="utf-8")
    for side, protocol in (("a", "reno"), ("b", "vegas")):
        choice = f"flows.a.protocol={protocol}"
        trial.clearpipe("run", "pair.toml", "--set", choice, "--reps", 3, "--out", side, "--report")
        trial.page(f"{side}/report.html")
    told = trial.clearpipe("compare", "a", "b", "--report", "both.html")
    has(told, "Mean queue", "95 % interval", "3 pairs")
    trial.page("both.html")
    has(trial.clearpipe("run", "xcp-fig10", "--figure", "x.png", expect=5), NO_MATPLOTLIB)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("wheel", type=Path)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--lock", type=Path, help="a file of locked requirements")
    where.add_argument("--links", type=Path, help="a folder of wheels; nothing is fetched")
    parser.add_argument("--fingerprints", type=Path, help="check these, too (some minutes)")
    options = parser.parse_args()

    wheel = options.wheel.resolve()
    fingerprints = options.fingerprints and options.fingerprints.resolve()
    with tempfile.TemporaryDirectory(prefix="clearpipe-wheel-") as place:
        cwd = Path(place).resolve() / "work"
        cwd.mkdir()
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
        env |= {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
        trial = Trial(cwd.parent / "env" / scripts, cwd, env)
        try:
            install(trial, wheel, options.lock, options.links)
            is_what_was_installed(trial, wheel)
            a_first_day(trial)
            if fingerprints is not None:
                tool = Path(__file__).with_name("check_fingerprints.py").resolve()
                told = trial.run("fingerprints", trial.program("python"), tool, fingerprints)
                print(told, end="")
        except WrongError as error:
            sys.exit(f"{wheel.name}: {error}")
    print(f"{wheel.name}: works on {platform.platform()}, Python {platform.python_version()}")
    print("   clock  processors")
    for name, clock, used in trial.took:
        print(f"{clock:6.1f} s  {used:8.1f} s  {name}")
    first = [name for name, _, _ in trial.took].index("clearpipe demo") + 1
    for name, part in (("from nothing to a first report", trial.took[:first]), ("all", trial.took)):
        print(f"{sum(p[1] for p in part):6.1f} s  {sum(p[2] for p in part):8.1f} s  {name}")


if __name__ == "__main__":
    main()
