"""Hostile inputs in numbers: one error of reasonable length, in little time and memory."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from forking import GIGABYTE, Ended, Forks
from hostile import COUNT, SWEPT, Hostile, inputs
from test_bad_input import GOOD
from test_hostile import CONTROLS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

# docs/reference/results.md has what each means.
CODES = {0, 1, 2, 3, 4, 5, 75}
LIMIT_S = 5
LONGEST = 2048
QUICK = 60


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks")) as made:
        yield made


@pytest.fixture(scope="module")
def right(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result and a store that are whole."""
    folder = tmp_path_factory.mktemp("right")
    (folder / "good.toml").write_text(GOOD, encoding="utf-8")
    (folder / "swept.toml").write_text(SWEPT, encoding="utf-8")
    assert forks.call(["run", "good.toml", "--out", "r"], folder).code == 0
    assert forks.call(["sweep", "run", "swept.toml", "--store", "store"], folder).code == 0
    return folder


def wrong(done: Ended) -> Iterator[str]:
    """What should not have come of an input."""
    if done.code not in CODES:
        yield f"exit code {done.code}"
    if done.took_s > LIMIT_S:
        yield f"{done.took_s:.1f} s"
    if done.peak_bytes > GIGABYTE:
        yield f"{done.peak_bytes / GIGABYTE:.1f} GB"
    if any(word in done.said + done.told for word in ("Traceback", "panicked", "RUST_BACKTRACE")):
        yield "a traceback"
    if len(done.told) > LONGEST:
        yield f"{len(done.told)} characters of errors"
    if done.code not in {0, 4, 75} and not (done.told + done.said).strip():
        yield "no word"
    for control in CONTROLS:
        if control in done.told or control in done.said:
            yield f"{control!r} for the terminal"


def try_all(
    forks: Forks, right: Path, place: Path, wanted: range
) -> tuple[Counter[str], list[str]]:
    """How often each kind of input ended with each code, and what went wrong."""
    codes: Counter[str] = Counter()
    broken = []
    for one in inputs(right):
        if one.number not in wanted:
            continue
        done = try_one(forks, one, place)
        codes[f"{one.kind} {done.code}"] += 1
        for what in wrong(done):
            line = " ".join(ascii(word)[:200] for word in one.arguments)
            broken.append(f"{one.number} {one.kind}: {line}: {what}\n{done.told[:3000]}")
            print(broken[-1], flush=True)
    return codes, broken


def try_one(forks: Forks, one: Hostile, place: Path) -> Ended:
    """One input in a folder of its own."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    one.prepare(place)
    return forks.call(one.arguments, place, limit_s=4 * LIMIT_S)


def test_some_inputs(forks: Forks, right: Path, tmp_path: Path) -> None:
    codes, broken = try_all(forks, right, tmp_path / "x", range(0, COUNT, COUNT // QUICK))
    assert not broken, "\n\n".join(broken)
    # Not all of them die at the first byte; wrong usage (2) need not be in a sample.
    assert {line.split()[1] for line in codes} >= {"0", "1", "3"}


@pytest.mark.long
def test_every_input(forks: Forks, right: Path, tmp_path: Path) -> None:
    codes, broken = try_all(forks, right, tmp_path / "x", range(COUNT))
    assert codes.total() == COUNT
    print("".join(f"{line}: {number}\n" for line, number in sorted(codes.items())))
    assert not broken, f"{len(broken)}:\n" + "\n\n".join(broken)
