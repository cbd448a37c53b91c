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
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "target" / "mutants"
TREE = STATE / "tree"
BATCH = 10
LAW_FILES = [f"crates/cc/src/{part}/**" for part in ("aqm", "explicit", "rate", "tcp")]
NO_LAW = r"in .*\b(probe|describe)$|<impl .*>::(probe|describe) |::(probe|describe) -> "


class Sort(NamedTuple):
    """Which mutants, and how many of them."""

    packages: list[str]
    options: list[str]
    sample: int | None


SETS = {
    "laws": Sort(
        ["clearpipe-cc", "clearpipe-queue"],
        ["-E", NO_LAW, "-f", "crates/queue/src/**", *(w for f in LAW_FILES for w in ("-f", f))],
        None,
    ),
    "others": Sort([f"clearpipe-{name}" for name in ("transport", "engine", "net", "results")], [], 300),
}
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


def cargo(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`cargo mutants` with these words, quietly."""
    command = ["cargo", "mutants", "--no-config", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def listed(sort: Sort) -> list[dict[str, Any]]:
    """All mutants of the set, in the order of the sources."""
    packages = [word for name in sort.packages for word in ("-p", name)]
    done = cargo("--list", "--json", *packages, *sort.options)
    if done.returncode != 0:
        sys.exit(f"cargo mutants --list: {done.stderr.strip()}\ncargo install --locked cargo-mutants")
    mutants: list[dict[str, Any]] = json.loads(done.stdout)
    return mutants


def drawn(sort: Sort, seed: int, sample: int | None) -> list[dict[str, Any]]:
    """The set in the seed's order; its sample."""
    mutants = sorted(listed(sort), key=lambda mutant: str(mutant["name"]))
    random.Random(seed).shuffle(mutants)
    return mutants[: sample if sample is not None else sort.sample]


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


def synchronise() -> None:
    """A copy of the tracked files, touched only where they differ: builds go on from the last."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in names.stdout.decode().split("\0")[:-1]:
        source, copy = ROOT / name, TREE / name
        if not source.exists() or (copy.exists() and copy.read_bytes() == source.read_bytes()):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


def escaped(name: str) -> str:
    """The name as a regular expression of Rust's."""
    return "".join(f"\\{c}" if c in r"\.+*?()|[]{}^$" else c for c in name)


def judge(mutants: list[dict[str, Any]], package: str) -> dict[str, str]:
    """What the tests of `package` say of each mutant: caught, missed, timeout or unviable."""
    out = STATE / "out"
    shutil.rmtree(out, ignore_errors=True)
    names = [word for mutant in mutants for word in ("-F", f"^{escaped(str(mutant['name']))}$")]
    owners = sorted({str(mutant["package"]) for mutant in mutants})
    done = cargo(
        *(word for name in owners for word in ("-p", name)),
        *names,
        *("--in-place", "--baseline", "skip", "--profile", "mutants", "--cap-lints", "true"),
        *("--timeout", "300" if package == NET else "60", "--build-timeout", "1200"),
        *("--test-package", package, "-o", str(out), "--", *TESTS[package]),
        cwd=TREE,
    )
    path = out / "mutants.out" / "outcomes.json"
    if not path.exists():
        sys.exit(f"cargo mutants: {done.stdout}{done.stderr}")
    verdicts = {}
    for outcome in json.loads(path.read_text(encoding="utf-8"))["outcomes"]:
        scenario = outcome["scenario"]
        if isinstance(scenario, dict) and "Mutant" in scenario:
            verdicts[scenario["Mutant"]["name"]] = outcome["summary"]
    words = {"CaughtMutant": "caught", "MissedMutant": "missed", "Timeout": "timeout"}
    return {name: words.get(summary, "unviable") for name, summary in verdicts.items()}


def baseline(package: str) -> None:
    """The tests must pass without a mutant; builds what the mutants' builds go on from."""
    command = ["cargo", "test", "--quiet", "--profile", "mutants", "-p", package, *TESTS[package]]
    env = os.environ | {"RUSTFLAGS": "--cap-lints=warn"}
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


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
    count = {word: sum(row["verdict"] == word for row in rows) for word in ("caught", "timeout", "missed")}
    killed, tried = count["caught"] + count["timeout"], sum(count.values())
    print(f"{name}: {len(rows)} of {len(mutants)} mutants tried, {len(rows) - tried} do not compile")
    if tried:
        low, high = interval(killed, tried)
        by_net = sum(row["verdict"] in ("caught", "timeout") and row["by"] == NET for row in rows)
        print(
            f"{killed} of {tried} killed ({count['timeout']} by a timeout, {by_net} by net's tests alone): "
            f"{100 * killed / tried:.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        )
    for row in rows:
        if row["verdict"] == "missed":
            print(f"survives: {row['name']}")


def tried(batch: list[dict[str, Any]]) -> None:
    """Judges a batch of one package's mutants, and keeps what comes out."""
    package = str(batch[0]["package"])
    verdicts = judge(batch, package)
    left = []
    for mutant in batch:
        verdict = verdicts.get(str(mutant["name"]))
        if verdict == "missed" and package != NET:
            left.append(mutant)
        elif verdict is not None:
            note(mutant, verdict, package)
    if left:
        last = judge(left, NET)
        for mutant in left:
            if str(mutant["name"]) in last:
                note(mutant, last[str(mutant["name"])], NET)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="laws")
    parser.add_argument("--sample", type=int, help="so many of the set's (laws: all; others: 300)")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--report", action="store_true", help="only say what is known")
    arguments = parser.parse_args()
    mutants = drawn(SETS[arguments.set], arguments.seed, arguments.sample)
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
        synchronise()
    while open_ and not arguments.report and time.monotonic() < end:
        # What comes next in the order, but a package at a time.
        chunk, open_ = open_[:BATCH], open_[BATCH:]
        for package in sorted({str(mutant["package"]) for mutant in chunk}):
            for tests in (package, NET):
                if tests not in built:
                    baseline(tests)
                    built.add(tests)
            tried([mutant for mutant in chunk if mutant["package"] == package])
    report(arguments.set, mutants)


if __name__ == "__main__":
    main()
