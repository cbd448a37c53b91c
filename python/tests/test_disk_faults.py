"""A disk that fails, fills up, cuts short or dies with the process at each change of a file.

Whatever happened: what is shown is right or told to be damaged, what was said to be stored is
there, and the same command on a disk that works comes to what an untouched run comes to.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from faulty_disk import DIES, HOWS, Disk, Fault, missing
from forking import Ended
from sweeping import BASE

import clearpipe as cp
from clearpipe import seals
from clearpipe.atomic_files import PARTIAL
from clearpipe.errors import ClearpipeError

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

SERIES = '[probe]\nseries = ["cwnd"]\nevery = "100ms"\n'
SWEPT = """[sweep]
reps = 1
vary."topology.rtt" = ["10ms", "20ms"]
"""

# Changes that need the disk's room or its writing; the others are renames and removals.
WRITES = "w"
SEED = 22
SAMPLE = 6


@dataclass(frozen=True)
class Task:
    """A command, what it starts with, and where it leaves results."""

    name: str
    arguments: Sequence[str]
    files: dict[str, str]
    before: Sequence[Sequence[str]] = ()
    """Commands that were done on a disk that worked."""
    verify: Sequence[str] = ()
    """The command that compares with seals, if there is one."""
    exact: Sequence[str] = field(default=())
    """Files beside results that must come out byte by byte."""


def tasks() -> Iterator[Task]:
    """The commands."""
    once = {"s.toml": BASE + SERIES}
    run = ["run", "s.toml", "--out", "r", "-q"]
    yield Task("run", run, once)
    yield Task("run-again", [*run, "--force"], once, before=[run])
    capture = ["--capture", "all", "--trace", "--qlog", "all"]
    yield Task("run-captured", ["run", "s.toml", "--out", "r/r", "--report", *capture], once)
    sweep = ["sweep", "run", "s.toml", "--store", "store", "-j", "1"]
    status = ["sweep", "status", "s.toml", "--store", "store", "--verify"]
    yield Task("sweep", sweep, {"s.toml": BASE + SWEPT}, verify=status)
    until = 'until = { ci = "50%", metric = "queue_mean_pkts", min_reps = 3, max_reps = 4 }'
    text = BASE + SERIES + SWEPT.replace("reps = 1", until).replace('"10ms", ', "")
    yield Task("sweep-until", sweep, {"s.toml": text}, verify=status)
    figure = ["reproduce", "vcp:sec3e-mdfreeze", "--store", "store", "--out", "o", "-j", "1"]
    judged = ["o/quick/vcp-sec3e-mdfreeze/verdicts.json", "o/quick/vcp-sec3e-mdfreeze/report.html"]
    yield Task("reproduce", figure, {}, exact=judged)
    drawn = ["reproduce", "vcp:fig13", "--store", "store", "--out", "o", "-j", "1"]
    place = "o/quick/vcp-fig13"
    judged = [f"{place}/{name}" for name in ("verdicts.json", "report.html", "figure.png")]
    first = [*drawn, "--only", "scheme=vcp"]
    yield Task("reproduce-drawn", drawn, {}, before=[first], exact=judged)


class Bench:
    """A task, what an untouched run of it gives, and what faults make of it."""

    def __init__(self, disk: Disk, task: Task, folder: Path) -> None:
        self.disk, self.task, self.folder = disk, task, folder
        self.start, self.place = folder / "start", folder / "now"
        self.start.mkdir()
        for name, text in task.files.items():
            (self.start / name).write_text(text, encoding="utf-8")
        for arguments in task.before:
            assert disk.on(self.start, arguments).code == 0
        self.renew()
        done = self.call()
        assert done.code == 0, done
        self.kinds = done.changes
        self.right = self.results()
        self.names = set(self.files())
        self.exact = [(self.place / name).read_bytes() for name in task.exact]
        assert self.right
        assert set(task.exact) <= self.names

    def renew(self) -> None:
        """Everything as it was before the command."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.start, self.place)

    def call(self, *fault: Fault) -> Ended:
        """The command."""
        return self.disk.on(self.place, self.task.arguments, *fault)

    def faults(self) -> list[Fault]:
        """Every fault at every change that it can be a fault of."""
        return [
            Fault(at, how)
            for at, kind in enumerate(self.kinds, 1)
            for how in HOWS
            if kind in WRITES or how != "short"
        ]

    def files(self) -> Iterator[str]:
        """The files there are, by names that do not depend on when."""
        for path in self.place.rglob("*"):
            if path.is_file():
                yield path.relative_to(self.place).as_posix()

    def results(self) -> dict[str, str]:
        """Every result that can be read, and what its files come to; none that is damaged."""
        found = {}
        for meta in self.place.rglob("meta.json"):
            folder = meta.parent
            name = folder.relative_to(self.place).as_posix()
            if not any(part.startswith(".") for part in folder.relative_to(self.place).parts):
                identity = folder.name if "store" in name else None
                if seals.damage(folder, identity) is None:
                    found[name] = json.loads((folder / seals.NAME).read_text())["result"]
        return found

    def shown(self) -> dict[str, str]:
        """The fingerprints of the results that `load` gives without an error."""
        found = {}
        for name in self.right:
            try:
                found[name] = cp.load(self.place / name).fingerprint
            except (ClearpipeError, OSError):
                continue
        return found

    def age(self) -> None:
        """Makes what writers left half-written so old that it is nobody's."""
        for path in self.place.rglob(f"{PARTIAL}*"):
            if path.is_file():
                os.utime(path, (0, 0))

    def try_(self, fault: Fault) -> None:
        """The command with the fault, what it leaves, and the command again."""
        self.renew()
        done = self.call(fault)
        told = f"{self.task.name} {fault}\n{done}"
        assert done.code in {0, 1, 137}, told
        assert "Traceback" not in done.told, told
        assert "panicked" not in done.told, told
        assert fault.how in DIES or done.code in {0, 1}, told
        assert fault.how != "short" or done.code == 0, told
        left = self.results()
        assert left.items() <= self.right.items(), told
        if done.code == 0:
            assert left == self.right, told
        self._was_said(fault, done, left, told)
        prints = self.shown()
        self.age()
        again = self.call()
        told += f"\nagain: {again}"
        assert again.code == 0, told
        assert "Traceback" not in again.told, told
        assert self.results() == self.right, told
        assert self.shown().items() >= prints.items(), told
        for name, content in zip(self.task.exact, self.exact, strict=True):
            assert (self.place / name).read_bytes() == content, f"{name}\n{told}"
        if self.task.verify:
            verified = self.disk.on(self.place, self.task.verify)
            assert verified.code == 0, f"{told}\n{verified}"
        assert set(self.files()) == self.names, told

    def _was_said(self, fault: Fault, done: Ended, left: dict[str, str], told: str) -> None:
        """What was said to be done is there, but for what the power took, and that is told."""
        said = set(re.findall(r"result in (\S+)", done.said))
        journal = self.place / "store/journal.jsonl"
        if journal.is_file():
            for line in journal.read_text(encoding="utf-8", errors="replace").splitlines(True):
                # A line that was torn says nothing.
                if line.endswith("}\n"):
                    identity = json.loads(line)["run"]
                    said.add(f"store/runs/{identity[:2]}/{identity}")
        for name in said:
            assert name in left or (fault.how == "power" and name not in self.shown()), told


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with Disk(tmp_path_factory.mktemp("disk")) as made:
        yield made


NAMES = [task.name for task in tasks()]


def bench(disk: Disk, name: str, folder: Path) -> Bench:
    return Bench(disk, next(task for task in tasks() if task.name == name), folder)


@pytest.mark.parametrize("name", NAMES)
def test_some_faults(disk: Disk, tmp_path: Path, name: str) -> None:
    one = bench(disk, name, tmp_path)
    for fault in random.Random(f"{SEED} {name}").sample(one.faults(), SAMPLE):
        one.try_(fault)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_fault(disk: Disk, tmp_path: Path, name: str) -> None:
    one = bench(disk, name, tmp_path)
    faults = one.faults()
    broken = []
    for fault in faults:
        try:
            one.try_(fault)
        except AssertionError as error:
            broken.append(str(error))
    counts = Counter(fault.how for fault in faults)
    print(f"{name}: {len(one.kinds)} changes, {counts.total()} faults: {dict(counts)}")
    assert not broken, f"{len(broken)} of {len(faults)}:\n" + "\n\n".join(broken[:20])


def test_the_layer_does_what_it_says(disk: Disk, tmp_path: Path) -> None:
    """A disk that did nothing would make all of these tests pass."""
    one = bench(disk, "sweep", tmp_path)
    seen = {}
    for how in HOWS:
        one.renew()
        at = one.kinds.index("w") + 1
        seen[how] = one.call(Fault(at, how))
    assert {how: done.code for how, done in seen.items()} == {
        "fails": 1, "full": 1, "short": 0, "torn": 137, "dies": 137, "power": 137
    }  # fmt: skip
    assert "Input/output error" in seen["fails"].told
    assert "No space left on device" in seen["full"].told
    assert {"o", "w", "y", "r", "m"} <= set(one.kinds)
