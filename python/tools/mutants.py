"""Mutation testing with cargo-mutants: `mutants.py [--set laws|others] [--sample N] [--seed S]
[--minutes M] [--report]`.

A mutant is the source with one operator, condition or result changed. Its crate's tests judge it
first, then, if they notice nothing, those of `net`: never golden rows and never fingerprints
written down. Mutants come in an order that the seed draws, so that those tried so far are a fair
sample of all; what is known is in target/mutants and a second call goes on from there. A mutant
whose file has changed since is tried again, and with `--again` those that survived are too.

- laws: all of `cc`'s protocols and queues, and the crate `queue`, but for `probe` and `describe`,
  which show a state and change none.
- others: 300 of `transport`, `engine`, `net` and `results`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "target" / "mutants"
TREE = STATE / "tree"
LAWS = re.compile(r"crates/(cc/src/(aqm|explicit|rate|tcp)|queue/src)/")
NO_LAW = re.compile(r"::(probe|describe)\b")


SETS = {"laws": ("cc", "queue"), "others": ("transport", "engine", "net", "results")}
SAMPLE = {"laws": None, "others": 300}
# Tests of a crate that are no golden rows.
TESTS = {
    "clearpipe-cc": ["--lib", "--test", "it"],
    "clearpipe-queue": ["--lib", "--test", "it"],
    "clearpipe-transport": ["--lib", "--test", "it"],
    "clearpipe-engine": ["--lib"],
    "clearpipe-net": ["--lib", "--test", "it"],
    "clearpipe-results": ["--lib", "--test", "store"],
}
NET = "clearpipe-net"
# Until a test is taken to run for ever [s].
TIME = {package: 600.0 if package == NET else 120.0 for package in TESTS}


def cargo(*words: str) -> subprocess.CompletedProcess[str]:
    """`cargo mutants` with these words, quietly."""
    command = ["cargo", "mutants", "--no-config", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def listed(name: str) -> list[dict[str, Any]]:
    """All mutants of the set, in the order of the sources."""
    packages = [word for crate in SETS[name] for word in ("-p", f"clearpipe-{crate}")]
    done = cargo("--list", "--json", *packages)
    if done.returncode != 0:
        sys.exit(f"cargo mutants --list: {done.stderr.strip()}")
    mutants: list[dict[str, Any]] = json.loads(done.stdout)
    if name == "laws":
        mutants = [m for m in mutants if LAWS.match(m["file"]) and not NO_LAW.search(m["name"])]
    return mutants


def drawn(name: str, seed: int, sample: int | None) -> list[dict[str, Any]]:
    """The set in the seed's order; its sample."""
    mutants = sorted(listed(name), key=lambda mutant: str(mutant["name"]))
    random.Random(seed).shuffle(mutants)
    return mutants[: SAMPLE[name] if sample is None else sample]


def digest(file: str) -> str:
    """Of a source."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:16]


def known() -> dict[str, dict[str, str]]:
    """What was found out of each mutant, by its name; a later line counts."""
    path = STATE / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["name"]: row for row in rows if row["source"] == digest(row["file"])}


def note(mutant: dict[str, Any], verdict: str, by: str) -> None:
    """Keeps a verdict."""
    row = {"name": mutant["name"], "file": mutant["file"], "package": mutant["package"]}
    row |= {"source": digest(str(mutant["file"])), "verdict": verdict, "by": by}
    with (STATE / "verdicts.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


def synchronised(tree: Path, changed: Mapping[str, str] | None = None) -> None:
    """A copy of the tracked files, some of them changed. It is touched only where it differs, so
    that builds go on from the last one."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in names.stdout.decode().split("\0")[:-1]:
        source, copy = ROOT / name, tree / name
        if not source.exists():
            continue
        text = changed.get(name) if changed else None
        wanted = source.read_bytes() if text is None else text.encode()
        if not (copy.exists() and copy.read_bytes() == wanted):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(wanted)


class Hung(Exception):
    """The tests ran out of time."""


def tested(package: str, *words: str, limit: float) -> bool:
    """Do the package's tests pass (or, with `--no-run`, compile) in the copy?"""
    command = ["cargo", "test", "--locked", "--quiet", "--profile", "mutants", "-p", package]
    with subprocess.Popen(
        [*command, *TESTS[package], *words],
        cwd=TREE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env=os.environ | {"RUSTFLAGS": "--cap-lints=warn", "CLEARPIPE_RANDOM_SCENARIOS": "300"},
    ) as running:  # fmt: skip
        try:
            return running.wait(limit) == 0
        except subprocess.TimeoutExpired as error:
            os.killpg(running.pid, signal.SIGKILL)
            raise Hung from error


def judged(mutant: dict[str, Any]) -> tuple[str, str]:
    """What becomes of a mutant, and whose tests say so."""
    own, copy = str(mutant["package"]), TREE / str(mutant["file"])
    before = copy.read_bytes()
    patch = subprocess.run(
        ["patch", "--quiet", str(copy), "-"], input=str(mutant["diff"]), text=True, check=False
    )
    try:
        if patch.returncode != 0:
            sys.exit(f"{mutant['name']}: its difference does not fit")
        for package in dict.fromkeys((own, NET)):
            try:
                if not tested(package, "--no-run", limit=1200):
                    return "unviable", package
                if not tested(package, limit=TIME[package]):
                    return "caught", package
            except Hung:
                return "timeout", package
        return "missed", NET
    finally:
        copy.write_bytes(before)


def baseline(package: str) -> None:
    """The tests must pass without a mutant; builds what the mutants' builds go on from."""
    if not tested(package, limit=3600):
        sys.exit(f"the tests of {package} fail without any mutant")


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, p = 1.959964, killed / tried
    middle, width = p + z * z / 2 / tried, z * math.sqrt(p * (1 - p) / tried + (z / 2 / tried) ** 2)
    scale = 1 + z * z / tried
    return (middle - width) / scale, (middle + width) / scale


def report(name: str, mutants: list[dict[str, Any]]) -> None:
    """Prints what is known of the set."""
    have = known()
    rows = [have[str(mutant["name"])] for mutant in mutants if mutant["name"] in have]
    count = {
        word: sum(row["verdict"] == word for row in rows)
        for word in ("caught", "timeout", "missed")
    }
    killed, tried = count["caught"] + count["timeout"], sum(count.values())
    print(
        f"{name}: {len(rows)} of {len(mutants)} mutants tried, {len(rows) - tried} do not compile"
    )
    if tried:
        low, high = interval(killed, tried)
        by_net = sum(row["verdict"] in ("caught", "timeout") and row["by"] == NET for row in rows)
        print(
            f"{killed} of {tried} killed ({count['timeout']} by a timeout, "
            f"{by_net} by net's tests alone): {100 * killed / tried:.1f} %, "
            f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        )
    for row in rows:
        if row["verdict"] == "missed":
            print(f"survives: {row['name']}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--set", choices=SETS, default="laws")
    parser.add_argument("--sample", type=int, help="so many of the set's (laws: all; others: 300)")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--report", action="store_true", help="only say what is known")
    arguments = parser.parse_args()
    mutants = drawn(arguments.set, arguments.seed, arguments.sample)
    STATE.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * (arguments.minutes or math.inf)
    have = known()
    open_ = [
        mutant
        for mutant in mutants
        if mutant["name"] not in have
        or (arguments.again and have[str(mutant["name"])]["verdict"] == "missed")
    ]
    built: set[str] = set()
    if not arguments.report:
        synchronised(TREE)
    while open_ and not arguments.report and time.monotonic() < end:
        mutant = open_.pop(0)
        for package in {str(mutant["package"]), NET} - built:
            baseline(package)
            built.add(package)
        note(mutant, *judged(mutant))
    report(arguments.set, mutants)


if __name__ == "__main__":
    main()
