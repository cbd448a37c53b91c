"""The store: one directory for each run, named by the run's identity.

Nothing here needs a service or a database. A run is done when its directory has its final name, so
a runner may die at any moment; what it was writing has another name and is removed by the next one.
The files of a run are sealed with their hashes rather than forced to the disk one by one: a system
that crashes may leave a directory with a file cut off, which the seal tells, and the run is done
again.

    STORE/store.json             what this directory is
    STORE/runs/ab/IDENTITY/      a result directory and seal.json
    STORE/failed/IDENTITY.json   a run that ended with an error
    STORE/journal.jsonl          a line for each run that was done, and by whom
    STORE/locks                  a byte for each run in flight: locks that the system releases
    STORE/plans/                 the identities of a sweep's runs, so that they are worked out once
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clearpipe import _core, atomic_files, seals
from clearpipe.errors import RunError
from clearpipe.locks import lock, try_lock, unlock
from clearpipe.result import Result

FORMAT = 1

IDENTITY = re.compile(r"[0-9a-f]{64}")

# The byte of `locks` that the maker of a store locks: no identity has it.
MAKING = 1 << 60


@dataclass(frozen=True)
class Damage:
    """A run's directory that is not what was written."""

    identity: str
    path: Path
    reason: str


AT_ONCE = 4096
"""Runs that the core reads in one call, which no signal ends: less than a second."""


class Numbers(NamedTuple):
    """What a table needs of a run."""

    metrics: dict[str, float]
    model_version: str
    fingerprint: str
    parts: Mapping[str, str]


class Store:
    """A directory of runs."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.runs = self.path / "runs"
        self.failures = self.path / "failed"
        self.plans = self.path / "plans"

    def open(self) -> None:
        """Make the store if there is none, and remove what runners that died left behind.

        Raises RunError for a directory that is something else, OSError if it cannot be written.
        """
        head = self.path / "store.json"
        self.path.mkdir(parents=True, exist_ok=True)
        if not _has_content(head):
            self._make(head)
        self.identify()
        for folder in (self.runs, self.failures, self.plans):
            folder.mkdir(exist_ok=True)
        self._clean()

    def _make(self, head: Path) -> None:
        """Writes the head, once however many runners begin; finishes what one that died began."""
        own = {"store.json", "journal.jsonl", "locks", "runs", "failed", "plans"}
        if any(entry.name not in own for entry in self.path.iterdir()):
            raise RunError(f"{self.path}: not a store, and not empty")
        locks = _locks(self.path / "locks")
        with _making:
            lock(locks, MAKING)
            try:
                if not _has_content(head):
                    head.unlink(missing_ok=True)
                with contextlib.suppress(FileExistsError), head.open("x", encoding="utf-8") as file:
                    about = {"store": "clearpipe", "format": FORMAT, "id": uuid.uuid4().hex}
                    file.write(json.dumps(about, indent=2) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            finally:
                unlock(locks, MAKING)

    def identify(self) -> str:
        """The store's own name, by which two machines know that they see the same one.

        Raises RunError for a directory that is no store or has another format.
        """
        head = self.path / "store.json"
        try:
            found = json.loads(head.read_text(encoding="utf-8"))
            version, name = found["format"], str(found["id"])
        except (OSError, ValueError, KeyError, TypeError):
            raise RunError(f"{self.path}: not a store (no readable store.json)") from None
        if version != FORMAT:
            raise RunError(f"{head}: format {version!r}; this version reads format {FORMAT}")
        return name

    def _clean(self) -> None:
        """Removes what writers that are gone have left half-written."""
        for folder in (self.failures, self.plans):
            atomic_files.clean(folder)
        for place in self.runs.glob("*/.partial-*"):
            identity = place.name.removeprefix(".partial-")
            if not IDENTITY.fullmatch(identity):
                continue
            with self.claimed(identity) as ours:
                if ours:
                    shutil.rmtree(place, ignore_errors=True)

    def directory(self, identity: str) -> Path:
        """Where a run's result is or will be."""
        return self.runs / identity[:2] / identity

    def present(self) -> set[str]:
        """The identities of the runs that are there; their content is not looked at."""
        found: set[str] = set()
        with contextlib.suppress(FileNotFoundError), os.scandir(self.runs) as folders:
            for folder in folders:
                if folder.is_dir():
                    with os.scandir(folder.path) as entries:
                        found.update(entry.name for entry in entries if _is_run(entry))
        return found

    def failed(self) -> dict[str, dict[str, Any]]:
        """The runs that ended with an error, and the error."""
        found: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self.failures.glob("*.json")):
                with contextlib.suppress(ValueError, OSError):
                    found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        return found

    # Claims.

    @contextlib.contextmanager
    def claimed(self, identity: str) -> Iterator[bool]:
        """True while this thread of this process, and no other, works on the run.

        The lock is one byte of a file, at an offset that the identity gives. The system releases it
        with the process, whatever ends that; it works over NFS, too. It does not tell threads of
        one process apart: `_held` does.
        """
        locks, offset = _locks(self.path / "locks"), int(identity[:15], 16)
        about = os.fstat(locks)
        name = (about.st_dev, about.st_ino, offset)
        with _guard:
            free = name not in _held
            _held.add(name)
        if not free:
            yield False
            return
        try:
            if not try_lock(locks, offset):
                yield False
                return
            try:
                yield True
            finally:
                unlock(locks, offset)
        finally:
            with _guard:
                _held.discard(name)

    # Writing.

    def add(self, identity: str, result: Result, keep: str) -> bool:
        """Store a result, whole or not at all; False if it is there already.

        The caller has claimed the run.
        """
        target = self.directory(identity)
        partial = target.parent / f".partial-{identity}"
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
        if partial.exists():
            shutil.rmtree(partial)
        try:
            result.write_loose(partial, tables=keep != "summary")
            partial.rename(target)
        except BaseException as error:
            shutil.rmtree(partial, ignore_errors=True)
            # Where locks do not work, another runner may have been quicker.
            if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        (self.failures / f"{identity}.json").unlink(missing_ok=True)
        self.note(identity, "done")
        return True

    def fail(self, identity: str, about: Mapping[str, Any]) -> None:
        """Store the error that a run ended with."""
        write_whole(self.failures / f"{identity}.json", about)
        self.note(identity, "failed")

    def note(self, identity: str, what: str) -> None:
        """A line in the journal: who did which run, and when."""
        line = json.dumps(
            {
                "time_s": round(time.time(), 3),
                "run": identity,
                "what": what,
                "host": socket.gethostname(),
                "pid": os.getpid(),
            }
        )
        path = self.path / "journal.jsonl"
        try:
            with path.open("ab") as journal:
                # One write to a file opened for appending: lines of several runners do not mix.
                journal.write(line.encode() + b"\n")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None

    def remove(self, identity: str) -> None:
        """Remove a run's result, if it is there."""
        target = self.directory(identity)
        grave = target.parent / f".partial-{identity}"
        shutil.rmtree(grave, ignore_errors=True)
        # First the name, so that what is left is never taken for a result.
        with contextlib.suppress(FileNotFoundError):
            target.rename(grave)
            shutil.rmtree(grave)

    # Reading.

    def damage(self, identity: str) -> Damage | None:
        """What is wrong with a run's directory; None if nothing is."""
        found = seals.damage(self.directory(identity), identity)
        return None if found is None else Damage(identity, *found)

    def read_json(self, identity: str, *names: str) -> list[dict[str, Any]]:
        """Some of a run's JSON files, with meta.json first; all are compared with the seal.

        Raises RunError for what is not what was written, or of another run.
        """
        folder = self.directory(identity)
        contents = seals.read(folder, "meta.json", *names)
        if isinstance(contents, seals.Damage):
            raise _repeats(contents)
        found: list[dict[str, Any]] = [json.loads(content) for content in contents]
        if found[0].get("identity") != identity:
            raise _repeats(seals.Damage(folder / "meta.json", "the result of another run"))
        return found

    def read_numbers(
        self, runs: Sequence[tuple[str, str | None]]
    ) -> list[tuple[Numbers | None, str]]:
        """The numbers of runs, by their identities and bottlenecks, or what is wrong with a file of
        theirs; meta.json and summary.json of all are compared with the seals, and the runs with
        their identities."""
        read: list[tuple[Numbers | None, str]] = []
        for start in range(0, len(runs), AT_ONCE):
            for found, damage in _core.read_numbers(self.runs, runs[start : start + AT_ONCE]):
                if found is not None:
                    read.append((Numbers(*found), ""))
                else:
                    assert damage is not None
                    read.append((None, str(_repeats(seals.Damage(*damage)))))
        return read


def _repeats(damage: seals.Damage) -> RunError:
    return RunError(f"{damage.path}: {damage.reason}; `sweep run` finds and repeats it")


# What threads of this process work on: a store's file of locks, and the offset.
_held: set[tuple[int, int, int]] = set()
_descriptors: dict[Path, int] = {}
_guard = threading.Lock()
_making = threading.Lock()


def _locks(path: Path) -> int:
    """A descriptor of the file of locks, one for the process and never closed: closing any
    descriptor of a file drops all the locks that the process has on it."""
    with _guard:
        known = _descriptors.get(path)
        # Where a store was removed, another may have been made.
        if known is None or not _is_at(known, path):
            known = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
            _descriptors[path] = known
        return known


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _is_run(entry: os.DirEntry[str]) -> bool:
    return IDENTITY.fullmatch(entry.name) is not None and entry.is_dir()


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def write_whole(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file so that it is there whole or not at all."""
    atomic_files.write_text(path, json.dumps(value, indent=2) + "\n")
