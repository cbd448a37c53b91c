"""What `mutants.py` and `defaults.py` share: one build that holds many changes, of which the
environment chooses one, and tests that judge each.

Before anything is judged every test runs once, alone and without a change: how much processor time
it takes and which of the changed places it comes by. A change is then judged by those tests only
that come by its place, the quick ones first, until one fails; no other test can notice it. A test
that fails without any change judges nothing, and is printed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The module `switch` of the crate `units` in a copy of the tree; nothing that ships has it.
SWITCH = """//! Which change is on.

extern crate std;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

static CHANGE: OnceLock<usize> = OnceLock::new();
static SEEN: [AtomicBool; 16384] = [const { AtomicBool::new(false) }; 16384];
static NAMES: Mutex<BTreeSet<std::string::String>> = Mutex::new(BTreeSet::new());

/// The number of the change that is on; 0 without one. `place` asks.
#[inline]
pub fn on(place: usize) -> usize {
    let change = *CHANGE.get_or_init(|| match std::env::var("CLEARPIPE_CHANGE") {
        Ok(number) => number.parse().unwrap(),
        Err(_) if std::env::var_os("CLEARPIPE_REACHED").is_some() => usize::MAX,
        Err(_) => 0,
    });
    if change != usize::MAX {
        return change;
    }
    if !SEEN[place].swap(true, Relaxed) {
        reached(&std::format!("{place}"));
    }
    0
}

/// Writes down that a test comes by this place.
pub fn reached(place: &str) {
    let Some(path) = std::env::var_os("CLEARPIPE_REACHED") else { return };
    if NAMES.lock().unwrap().insert(place.into()) {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        std::writeln!(file, "{place}").unwrap();
    }
}
"""
# A test that asks for more memory than this has failed [bytes].
MEMORY = 6 << 30


def with_switch(root: Path) -> dict[str, str]:
    """The changed files that bring the switch."""
    file = "crates/units/src/lib.rs"
    text = (root / file).read_text(encoding="utf-8")
    return {file: f"{text}\npub mod switch;\n", "crates/units/src/switch.rs": SWITCH}


@dataclass(frozen=True)
class Program:
    """A test program: its package, kind (lib, test), file and the folder it runs in."""

    package: str
    kind: str
    file: str
    folder: str


@dataclass(frozen=True)
class Test:
    """A test of a program, the seconds of a processor it takes, and the places it comes by."""

    program: Program
    name: str
    seconds: float
    places: frozenset[str]


def build(
    tree: Path, targets: Mapping[str, list[str]], environment: Mapping[str, str]
) -> list[Program]:
    """Builds the test programs of these packages."""
    found = []
    for package, kinds in targets.items():
        command = ["cargo", "test", "--locked", "--profile", "ci", "-p", package, *kinds]
        done = subprocess.run(
            [*command, "--no-run", "--message-format", "json"],
            cwd=tree, stdout=subprocess.PIPE, text=True, check=False, env=environment,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"{package}: its tests do not compile in {tree}")
        for message in map(json.loads, done.stdout.splitlines()):
            if message.get("executable") and message["profile"]["test"]:
                folder = tree / "crates" / package.removeprefix("clearpipe-")
                kind = message["target"]["kind"][0]
                found.append(Program(package, kind, message["executable"], str(folder)))
    return found


def stamp(programs: Iterable[Program]) -> str:
    """Tells builds apart."""
    sums = [hashlib.sha256(Path(program.file).read_bytes()).digest() for program in programs]
    return hashlib.sha256(b"".join(sorted(sums))).hexdigest()[:16]


def run(
    program: Program,
    words: list[str],
    environment: Mapping[str, str],
    seconds: float,
    *,
    stop: bool,
) -> tuple[list[str], float, bool]:
    """The tests that failed, the processor time [s], and whether it ran out. With `stop` the first
    failure ends the rest."""

    # No `with`: wait4 collects the program.
    running = subprocess.Popen(
        [program.file, "--test-threads", "1", *words],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
        cwd=program.folder, env=environment,
    )  # fmt: skip
    cpu = (int(seconds) + 1, int(seconds) + 2)
    resource.prlimit(running.pid, resource.RLIMIT_CPU, cpu)
    resource.prlimit(running.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.prlimit(running.pid, resource.RLIMIT_CORE, (0, 0))
    late = threading.Event()

    # Not `running.kill`, which collects what has ended by itself.
    def end() -> None:
        late.set()
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGKILL)

    # A test that waits for ever uses no processor.
    watch = threading.Timer(60 + 20 * seconds, end)
    watch.daemon = True
    watch.start()
    failed = []
    assert running.stdout is not None
    for line in running.stdout:
        if found := re.match(r"test (.*) \.\.\. FAILED", line):
            failed.append(found[1])
            if stop:
                os.kill(running.pid, signal.SIGKILL)
                break
    running.stdout.close()
    _, status, usage = os.wait4(running.pid, 0)
    watch.cancel()
    running.returncode = os.waitstatus_to_exitcode(status)
    spent = usage.ru_utime + usage.ru_stime
    hung = late.is_set() or running.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    if running.returncode != 0 and not failed:
        failed = ["(a timeout)" if hung else "(the program ended)"]
    return failed, spent, bool(hung and failed == ["(a timeout)"])


def measured(
    programs: list[Program], skip: Iterable[str], environment: Mapping[str, str], kept: Path
) -> list[Test]:
    """Every test but those whose name has one of `skip` in it; what is known of this build is kept
    in a file."""
    of = stamp(programs)
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    have = {tuple(row["test"]): row for row in map(json.loads, lines) if row["of"] == of}
    tests = []
    for program in programs:
        listing = subprocess.run(
            [program.file, "--list", "--format", "terse"],
            capture_output=True, text=True, check=True, cwd=program.folder,
        )  # fmt: skip
        for name in re.findall(r"^(.*): test$", listing.stdout, re.MULTILINE):
            if any(word in name for word in skip):
                continue
            row = have.get((program.file, name))
            if row is None:
                row = {"of": of, "test": [program.file, name]}
                row |= alone(program, name, environment)
                with kept.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
            if row["fails"]:
                print(f"judges nothing, for it fails without a change: {name}", flush=True)
                continue
            tests.append(Test(program, name, row["seconds"], frozenset(row["places"])))
    return tests


def printed(program: Program, environment: Mapping[str, str]) -> str:
    """What all tests of a program print."""
    done = subprocess.run(
        [program.file, "--nocapture", "--test-threads", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
        cwd=program.folder, env=environment,
    )  # fmt: skip
    return done.stdout


def alone(program: Program, name: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """One test without a change."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reached")
        failed, seconds, _ = run(
            program, ["--exact", name], {**environment, "CLEARPIPE_REACHED": str(path)},
            3600, stop=True,
        )  # fmt: skip
        places = sorted(set(path.read_text().splitlines())) if path.exists() else []
    return {"seconds": round(seconds, 3), "places": places, "fails": bool(failed)}


def waves(tests: Iterable[Test], place: str) -> Iterator[list[Test]]:
    """The tests that come by a place, program by program, quick ones first."""
    bounds = (0.0, 0.3, 3.0, 1e9)
    coming = [test for test in tests if place in test.places]
    for low, high in itertools.pairwise(bounds):
        group = [test for test in coming if low <= test.seconds < high]
        for program in dict.fromkeys(test.program for test in group):
            yield [test for test in group if test.program == program]


def noticed(
    tests: Iterable[Test], place: str, environment: Mapping[str, str]
) -> tuple[list[str], bool]:
    """The first test that fails with the change that the environment chooses, if any does, and
    whether it ran out of time."""
    for wave in waves(tests, place):
        # Places are counted while measuring, which takes longer than not to.
        limit = 10 + 5 * sum(test.seconds for test in wave)
        names = [test.name for test in wave]
        failed, _, hung = run(wave[0].program, ["--exact", *names], environment, limit, stop=True)
        if failed:
            return failed, hung
    return [], False
