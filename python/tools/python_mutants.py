"""Mutation testing of the Python package: `python_mutants.py [--sample N] [--seed S] [--minutes M]
[--state DIR] [--slowest S] [--again] [--report]`.

As mutants.py, for what computes and keeps numbers: `sweep`, `compare`, `statistics` and, of
`reproduce`, `claims`, `data`, `runs` and `tools`; judged by those modules' own tests. mutmut makes
the mutants, in a copy of the tree that holds all of them behind a switch. Its own runner is not
used: it does not see what a test's child processes call, and half of these tests run the command.
Every test runs once to learn which functions it and its children come by; a mutant is judged by the
tests that come by its function, until one fails.

The sample is the first N in the order that the seed draws; what is known is in
target/python-mutants (or `--state`), and a second call goes on from there.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from mutants import interval, synchronised

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "clearpipe"
SOURCES = (
    "sweep/*.py", "compare.py", "statistics.py", "reproduce/claims.py", "reproduce/data.py",
    "reproduce/runs.py", "reproduce/tools.py",
)  # fmt: skip
TESTS = (
    "test_compare*",
    "test_statistics*",
    "test_sweep*",
    "test_reproduce*",
    "test_replications*",
)
OPTIONS = ("-p", "no:cacheprovider", "-m", "not long", "-q")
# What the copy of the package ends with: where mutmut's switch writes down who came by.
RECORDER = """

from mutmut.mutation import trampoline as _trampoline

_seen: set[tuple[str, str]] = set()


def _recorded(name: str, caller: object = None) -> None:
    import os

    path = os.environ.get("CLEARPIPE_REACHED")
    if path and (path, name) not in _seen:
        _seen.add((path, name))
        with open(path, "a", encoding="utf-8") as out:
            out.write(name + "\\n")


_trampoline.record_trampoline_hit = _recorded
"""


class Reach:
    """A plugin of pytest that finds out which functions each test comes by. A fixture of several
    tests is set up once; all of them come by what it does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items: dict[str, tuple[str, list[str]]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def path(self, kind: str, name: str) -> Path:
        """Where the functions of a test or a fixture are written down."""
        return self.folder / hashlib.sha256(f"{kind} {name}".encode()).hexdigest()[:24]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item
    ) -> Generator[None, object | None, object | None]:
        """A test begins."""
        fixtures = list(getattr(item, "fixturenames", []))
        self.items[item.nodeid] = (str(self.path("test", item.nodeid)), fixtures)
        os.environ["CLEARPIPE_REACHED"] = str(self.path("test", item.nodeid))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object | None, object | None]:
        """A fixture is made."""
        before = os.environ["CLEARPIPE_REACHED"]
        if fixturedef.scope != "function":
            os.environ["CLEARPIPE_REACHED"] = str(self.path("fixture", fixturedef.argname))
        try:
            return (yield)
        finally:
            os.environ["CLEARPIPE_REACHED"] = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test is done."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def rows(self) -> list[dict[str, Any]]:
        """Every test with its time [s] and the functions that it comes by."""
        found = []
        for name, (own, fixtures) in self.items.items():
            files = [Path(own), *(self.path("fixture", fixture) for fixture in fixtures)]
            lines = {line for file in files if file.exists() for line in file.read_text().split()}
            row = {"test": name, "seconds": round(self.seconds[name], 3), "places": sorted(lines)}
            found.append(row | {"fails": name in self.failed})
        return found


def mutated_tree(tree: Path) -> list[str]:
    """Writes the copy; the mutants' names."""
    try:
        from mutmut.mutation.file_mutation import mutate_file_contents
    except ModuleNotFoundError:
        print("python_mutants.py needs: pip install mutmut==3.8.1", file=sys.stderr)
        sys.exit(5)
    # mutmut wants to know where sources are before it mutates a text.
    (tree.parent / "setup.cfg").write_text("[mutmut]\nsource_paths=tree\n", encoding="utf-8")
    os.chdir(tree.parent)
    names, changed = [], {}
    for path in sorted(path for pattern in SOURCES for path in PACKAGE.glob(pattern)):
        module = ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)
        found = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
        changed[str(path.relative_to(ROOT))] = found.code
        names += [f"{module.removesuffix('.__init__')}.{name}" for name in found.mutant_names]
    start = PACKAGE / "__init__.py"
    changed[str(start.relative_to(ROOT))] = start.read_text(encoding="utf-8") + RECORDER
    synchronised(tree, changed)
    shutil.copy2(PACKAGE / "_core.abi3.so", tree / "python" / "clearpipe")
    return names


def digest(name: str) -> str:
    """Of the source of a mutant."""
    path = ROOT / "python" / Path(*name.split(".")[:-1])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def place(name: str) -> str:
    """The function of a mutant."""
    return name.rpartition("__mutmut_")[0]


def forked(work: Callable[[], int], limit: float) -> int | None:
    """The exit status of this work in a fork of this process, which has imported all it needs; None
    when it takes longer than `limit` [s]."""
    child = os.fork()
    if child == 0:
        code = 3
        with contextlib.suppress(BaseException):
            os.setsid()
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            code = work()
        os._exit(code)
    end, found, status = time.monotonic() + limit, 0, 0
    while not found and time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not found:
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(status)


def measured(tree: Path, state: Path) -> list[dict[str, Any]]:
    """Every test with what it comes by; known from an earlier call where nothing has changed."""
    kept = state / "tests.json"
    files = sorted(path for test in TESTS for path in (tree / "python/tests").glob(f"{test}.py"))
    every = sorted([*files, *(tree / "python" / "clearpipe").rglob("*.py")])
    stamp = hashlib.sha256(b"".join(path.read_bytes() for path in every)).hexdigest()
    if kept.exists() and (have := json.loads(kept.read_text(encoding="utf-8")))["of"] == stamp:
        rows: list[dict[str, Any]] = have["rows"]
        return rows
    folder = state / "reached"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def work() -> int:
        os.environ |= {"MUTANT_UNDER_TEST": "stats", "CLEARPIPE_REACHED": str(folder / "import")}
        reach = Reach(folder)
        pytest.main([*OPTIONS, *map(str, files)], plugins=[reach])
        kept.write_text(json.dumps({"of": stamp, "rows": reach.rows()}), encoding="utf-8")
        return 0

    if forked(work, 7200) != 0:
        sys.exit("the tests do not run in the copy")
    found: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))["rows"]
    return found


def judged(name: str, rows: list[dict[str, Any]]) -> tuple[str, int]:
    """What becomes of a mutant, and how many tests come by it."""
    coming = sorted((r for r in rows if place(name) in r["places"]), key=lambda r: r["seconds"])
    # Quick tests first: most mutants go no further.
    for part in (coming[:20], coming[20:]):
        if not part:
            continue
        words = [row["test"] for row in part]

        def work(words: list[str] = words) -> int:
            os.environ["MUTANT_UNDER_TEST"] = name
            return int(pytest.main([*OPTIONS, "-x", *words]))

        status = forked(work, 60 + 20 * sum(row["seconds"] for row in part))
        if status is None:
            return "timeout", len(coming)
        if status > pytest.ExitCode.INTERRUPTED:
            sys.exit(f"{name}: pytest ends with {status}, which says nothing of its tests")
        if status != 0:
            return "caught", len(coming)
    return "missed", len(coming)


def known(state: Path) -> dict[str, dict[str, Any]]:
    """What was found out of each mutant of these sources, by its name; a later line counts."""
    path = state / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["name"]: row for row in rows if row["source"] == digest(row["name"])}


def report(names: list[str], total: int, have: dict[str, dict[str, Any]]) -> None:
    """Prints what is known."""
    rows = [have[name] for name in names if name in have]
    killed = sum(row["verdict"] != "missed" for row in rows)
    print(f"python: {len(rows)} tried of a sample of {len(names)} of {total} mutants")
    if rows:
        low, high = interval(killed, len(rows))
        print(
            f"{killed} of {len(rows)} killed ({sum(r['verdict'] == 'timeout' for r in rows)} by a "
            f"timeout): {100 * killed / len(rows):.1f} %, "
            f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        )
    for row in rows:
        if row["verdict"] == "missed":
            print(f"survives {row['tests']} tests: {row['name']}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--state", type=Path, default=ROOT / "target" / "python-mutants")
    parser.add_argument("--slowest", type=float, help="ask no test that takes longer than so [s]")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--report", action="store_true", help="only say what is known")
    arguments = parser.parse_args()
    state: Path = arguments.state.resolve()
    tree = state / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * (arguments.minutes or math.inf)
    names = mutated_tree(tree)
    # Both the tests here and the commands that they run find the copy.
    sys.path.insert(0, str(tree / "python"))
    os.environ["PYTHONPATH"] = str(tree / "python")
    os.chdir(tree)
    sample = random.Random(arguments.seed).sample(sorted(names), len(names))[: arguments.sample]
    have = known(state)
    again = {name for name in sample if arguments.again and name in have}
    again = {name for name in again if have[name]["verdict"] == "missed"}
    if not arguments.report and any(name not in have or name in again for name in sample):
        rows = measured(tree, state)
        for row in rows:
            if row["fails"]:
                print(f"judges nothing, for it fails without a mutant: {row['test']}", flush=True)
        slowest = arguments.slowest or math.inf
        rows = [row for row in rows if not row["fails"] and row["seconds"] <= slowest]
        # Imports what the tests need, so that forks need not.
        pytest.main([*OPTIONS, "--collect-only", "-q", *(row["test"] for row in rows)])
        for name in sample:
            if (name in have and name not in again) or time.monotonic() > end:
                continue
            verdict, tests = judged(name, rows)
            have[name] = {"name": name, "source": digest(name), "verdict": verdict, "tests": tests}
            with (state / "verdicts.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(have[name]) + "\n")
    report(sample, len(names), have)


if __name__ == "__main__":
    main()
