"""Mutation testing with cargo-mutants: `mutants.py [--set laws|others] [--sample N] [--seed S]
[--minutes M] [--batch N] [--jobs N] [--state DIR] [--again] [--report]`.

A mutant is the source with one operator, condition or result changed. Its crate's tests judge it
first, then, if they notice nothing, those of `net`: never golden rows and never fingerprints
written down. Mutants come in an order that the seed draws, so that those tried so far are a fair
sample of all; what is known is in target/mutants (or `--state`) and a second call goes on from
there. A mutant whose file has changed since, its tests apart, is tried again, and with `--again`
those that survived are too.

One build holds a batch of mutants: a function of which n are drawn has n + 1 bodies, and a switch
that the environment sets chooses one. See judge.py for which tests judge. A mutant that asks of a
type what it cannot do (a default, a sum of two times) does not compile in any build. One that the
compiler refuses for another reason is built alone, as those in a `const fn` are.

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
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import judge

ROOT = Path(__file__).resolve().parents[2]
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
    "clearpipe-results": ["--lib", "--test", "store", "--features", "arrow"],
}
NET = "clearpipe-net"
# Tests that read sources, which are rewritten.
SKIP = ("purity::", "source::")
ENVIRONMENT = os.environ | {
    "RUSTFLAGS": "--cap-lints=warn",
    "CLEARPIPE_RANDOM_SCENARIOS": "300",
}
# Cargo takes the builds of two trees for one another where they share a folder.
ENVIRONMENT.pop("CARGO_TARGET_DIR", None)
# What cargo-mutants calls a mutant.
Mutant = dict[str, Any]
WRITING = threading.Lock()

# What a type lacks: a trait, an operator, a function, a field. Alone it lacks that as well.
LACKING = {"E0277", "E0369", "E0599", "E0600", "E0604", "E0605", "E0609"}

TOKEN = re.compile(
    r"""//[^\n]*
    | /\*(?:[^*]|\*(?!/))*\*/
    | b?r(?P<hashes>\#*)"(?:.|\n)*?"(?P=hashes)
    | b?"(?:\\(?:.|\n)|[^"\\])*"
    | b?'(?:\\[^'\n]+|\\'|[^'\\\n])'
    | [(){}\[\]]""",
    re.VERBOSE,
)


def cargo(*words: str) -> subprocess.CompletedProcess[str]:
    """`cargo mutants` with these words, quietly."""
    command = ["cargo", "mutants", "--no-config", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def listed(name: str) -> list[Mutant]:
    """All mutants of the set, in the order of the sources."""
    packages = [word for crate in SETS[name] for word in ("-p", f"clearpipe-{crate}")]
    done = cargo("--list", "--json", "--diff", *packages)
    if done.returncode != 0:
        sys.exit(f"cargo mutants --list: {done.stderr.strip()}")
    mutants: list[Mutant] = json.loads(done.stdout)
    if name == "laws":
        mutants = [m for m in mutants if LAWS.match(m["file"]) and not NO_LAW.search(m["name"])]
    return mutants


def drawn(name: str, seed: int, sample: int | None) -> list[Mutant]:
    """The set in the seed's order; its sample."""
    mutants = sorted(listed(name), key=lambda mutant: str(mutant["name"]))
    random.Random(seed).shuffle(mutants)
    return mutants[: SAMPLE[name] if sample is None else sample]


def digest(file: str) -> str:
    """Of a source but for its tests: a new one leaves what others noticed as it is."""
    code = (ROOT / file).read_bytes().split(b"\n#[cfg(test)]\nmod tests")[0]
    return hashlib.sha256(code).hexdigest()[:16]


def known(state: Path) -> dict[str, dict[str, str]]:
    """What was found out of each mutant, by its name; a later line counts."""
    path = state / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["name"]: row for row in rows if row["source"] == digest(row["file"])}


def note(state: Path, mutant: Mutant, verdict: str, by: str, test: str) -> None:
    """Keeps a verdict."""
    row = {"name": mutant["name"], "file": mutant["file"], "package": mutant["package"]}
    row |= {"source": digest(str(mutant["file"])), "verdict": verdict, "by": by, "test": test}
    with WRITING, (state / "verdicts.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


def synchronised(tree: Path, changed: Mapping[str, str] | None = None) -> None:
    """A copy of the tracked files, some of them changed or new. It is touched only where it
    differs, so that builds go on from the last one."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    tracked = names.stdout.decode().split("\0")[:-1]
    for name in dict.fromkeys([*tracked, *(changed or {})]):
        source, copy = ROOT / name, tree / name
        text = changed.get(name) if changed else None
        if text is None and not source.exists():
            continue
        wanted = source.read_bytes() if text is None else text.encode()
        if not (copy.exists() and copy.read_bytes() == wanted):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(wanted)


def mutated(mutant: Mutant) -> str:
    """The mutant's file."""
    done = subprocess.run(
        ["patch", "--quiet", "--output=-", str(ROOT / mutant["file"]), "-"],
        input=str(mutant["diff"]), text=True, check=False, stdout=subprocess.PIPE,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{mutant['name']}: its difference does not fit")
    return done.stdout


def at(text: str, place: Mapping[str, int]) -> int:
    """Where a line and column, from 1, are in a text."""
    start = 0
    for _ in range(place["line"] - 1):
        start = text.index("\n", start) + 1
    return start + place["column"] - 1


def body(text: str, start: int) -> tuple[int, int]:
    """The body, with its braces, of the function that starts here."""
    depth, opened = 0, -1
    for token in TOKEN.finditer(text, start):
        mark = token[0]
        if mark in ("(", "[", "{"):
            if mark == "{" and depth == 0 and opened < 0:
                opened = token.start()
            depth += 1
        elif mark in (")", "]", "}"):
            depth -= 1
            if depth == 0 and opened >= 0:
                return opened, token.end()
    raise ValueError("a function without a body")


@dataclass
class Place:
    """A function that has mutants of the batch: where it starts, and its mutants by number."""

    number: int
    start: int
    constant: bool
    mutants: dict[int, Mutant]


def places(batch: Sequence[Mutant]) -> dict[str, list[Place]]:
    """The functions of each file, from top to bottom; one inside another counts as that. Numbers
    of places and mutants are from 1."""
    found: dict[str, list[Place]] = {}
    numbers = iter(range(1, len(batch) + 1))
    place = 0
    for file in sorted({str(mutant["file"]) for mutant in batch}):
        text = (ROOT / file).read_text(encoding="utf-8")
        mine = [m for m in batch if m["file"] == file and m["function"] is not None]
        spans = sorted({at(text, m["function"]["span"]["start"]) for m in mine})
        end, here = 0, []
        for start in spans:
            if start < end:
                continue
            opened, end = body(text, start)
            inside = [m for m in mine if start <= at(text, m["function"]["span"]["start"]) < end]
            place += 1
            signature = re.sub(r"/\*.*?\*/|//[^\n]*", "", text[start:opened], flags=re.DOTALL)
            constant = re.search(r"\bconst\s+(unsafe\s+)?fn\b", signature) is not None
            here.append(Place(place, start, constant, {next(numbers): m for m in inside}))
        found[file] = here
    return found


def rewritten(text: str, here: Sequence[Place]) -> tuple[str, dict[int, int]]:
    """A source with the bodies of all mutants, and which mutant a line of it belongs to."""
    pieces, lines, done, line = [], {}, 0, 1

    def put(piece: str, mutant: int | None = None) -> None:
        nonlocal line
        pieces.append(piece)
        end = line + piece.count("\n")
        if mutant is not None:
            lines.update(dict.fromkeys(range(line, end + 1), mutant))
        line = end

    for place in here:
        opened, closed = body(text, place.start)
        low, high = min(place.mutants), max(place.mutants)
        put(text[done:opened])
        put(f"{{ match ::units::switch::on({place.number}) {{\n")
        put(f"change if !({low}..={high}).contains(&change) => {text[opened:closed]}\n")
        for number, mutant in place.mutants.items():
            other = mutated(mutant)
            put(f"{number} => ")
            put(other[slice(*body(other, place.start))], number)
            put("\n")
        put("_ => ::core::unreachable!(),\n} }")
        done = closed
    put(text[done:])
    return "".join(pieces), lines


def batch_tree(
    tree: Path, batch: Sequence[Mutant]
) -> tuple[dict[str, Place], list[Mutant], list[Mutant]]:
    """Writes the tree with all mutants of the batch that compile so; the place of each by its name,
    those to be built alone and those that compile nowhere."""
    # What an earlier call found out: a tree that is written twice is built twice.
    kept_apart = tree.parent / "apart.jsonl"
    lines = kept_apart.read_text(encoding="utf-8").splitlines() if kept_apart.exists() else []
    rows = [json.loads(line) for line in lines]
    # Of each, does it compile nowhere?
    names = {str(name): bool(no) for name, file, source, no in rows if source == digest(file)}
    while True:
        chosen = [m for m in batch if m["name"] not in names and m["function"] is not None]
        found = places(chosen)
        every = [place for here in found.values() for place in here]
        fixed = [(m, False) for place in every if place.constant for m in place.mutants.values()]
        if not fixed:
            changed, owners = judge.with_switch(ROOT), {}
            for file, here in found.items():
                text = (ROOT / file).read_text(encoding="utf-8")
                changed[file], owners[file] = rewritten(text, here)
            synchronised(tree, changed)
            numbered = {n: mutant for place in every for n, mutant in place.mutants.items()}
            fixed = [(numbered[n], no) for n, no in broken(tree, batch, owners).items()]
        if not fixed:
            kept = {str(m["name"]): place for place in every for m in place.mutants.values()}
            apart = [m for m in batch if m["name"] not in kept]
            nowhere = [m for m in apart if names.get(str(m["name"]))]
            return kept, [m for m in apart if not names.get(str(m["name"]))], nowhere
        with kept_apart.open("a", encoding="utf-8") as out:
            for m, no in fixed:
                names[str(m["name"])] = no
                out.write(json.dumps([m["name"], m["file"], digest(str(m["file"])), no]) + "\n")


def broken(
    tree: Path, batch: Sequence[Mutant], owners: Mapping[str, dict[int, int]]
) -> dict[int, bool]:
    """The mutants in whose bodies the compiler finds errors, and whether alone they have them too;
    none when all compiles."""
    packages = sorted({str(m["package"]) for m in batch})
    words = [word for name in packages for word in ("-p", name)]
    # With the features that its tests are built with.
    for name in packages:
        if "--features" in (own := TESTS[name]):
            words += ["--features", f"{name}/{own[own.index('--features') + 1]}"]
    done = subprocess.run(
        ["cargo", "check", "--locked", "--profile", "ci", "--message-format", "json", *words],
        cwd=tree, capture_output=True, text=True, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    if done.returncode == 0:
        return {}
    found: dict[int, bool] = {}
    for row in map(json.loads, done.stdout.splitlines()):
        message = row.get("message", {})
        if row["reason"] != "compiler-message" or message["level"] != "error":
            continue
        lacking = bool(message["code"]) and message["code"]["code"] in LACKING
        spans = [span for part in [message, *message["children"]] for span in part["spans"]]
        for span in spans:
            lines = owners.get(span["file_name"], {})
            for mutant in {lines[n] for n in (span["line_start"], span["line_end"]) if n in lines}:
                found[mutant] = found.get(mutant, False) or (lacking and span["is_primary"])
    if not found:
        sys.exit(f"the copy does not compile, and not because of a mutant:\n{done.stderr}")
    return found


def judged(
    mutant: Mutant, number: int, place: Place, tests: list[judge.Test]
) -> tuple[str, str, str]:
    """What becomes of a mutant, whose tests say so, and the first of them."""
    environment = ENVIRONMENT | {"CLEARPIPE_CHANGE": str(number)}
    for package in dict.fromkeys((str(mutant["package"]), NET)):
        own = [test for test in tests if test.program.package == package]
        failed, hung = judge.noticed(own, str(place.number), environment)
        if failed:
            return "timeout" if hung else "caught", package, failed[0]
    return "missed", NET, ""


def judged_alone(tree: Path, mutant: Mutant) -> tuple[str, str, str]:
    """The same of a mutant that has a build of its own."""
    file, package = str(mutant["file"]), str(mutant["package"])
    synchronised(tree, judge.with_switch(ROOT) | {file: mutated(mutant)})
    # With its tests: some ask for what a mutant takes away.
    check = ["cargo", "check", "--quiet", "--locked", "--profile", "ci", "--tests", "-p", package]
    if subprocess.run(
        check, cwd=tree, capture_output=True, check=False, env=ENVIRONMENT
    ).returncode:
        return "unviable", package, ""
    for name in dict.fromkeys((package, NET)):
        for program in judge.build(tree, {name: TESTS[name]}, ENVIRONMENT):
            words = [word for skip in SKIP for word in ("--skip", skip)]
            failed, _, hung = judge.run(program, words, ENVIRONMENT, 1200, stop=True)
            if failed:
                return "timeout" if hung else "caught", name, failed[0]
    return "missed", NET, ""


def tried(
    state: Path, batch: list[Mutant], wanted: set[str], end: float, jobs: int
) -> list[Mutant]:
    """Judges those of a batch that are wanted, in its order, so many at a time; gives those that
    need a build of their own."""
    tree = state / "tree"
    kept, apart, nowhere = batch_tree(tree, batch)
    for mutant in nowhere:
        note(state, mutant, "unviable", str(mutant["package"]), "")
    numbers = {str(m["name"]): n for place in kept.values() for n, m in place.mutants.items()}
    packages = sorted({str(mutant["package"]) for mutant in batch} | {NET})
    programs = judge.build(tree, {name: TESTS[name] for name in packages}, ENVIRONMENT)
    tests = judge.measured(programs, SKIP, ENVIRONMENT, state / "tests.jsonl")
    print(
        f"{len(kept)} mutants in a build, {len(apart)} apart, {len(nowhere)} do not compile; "
        f"{len(tests)} tests",
        flush=True,
    )

    def one(mutant: Mutant) -> None:
        name = str(mutant["name"])
        if name in kept and name in wanted and time.monotonic() < end:
            note(state, mutant, *judged(mutant, numbers[name], kept[name], tests))

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, batch))
    return [mutant for mutant in apart if mutant["name"] in wanted]


def next_batch(state: Path, mutants: Sequence[Mutant], todo: set[str], size: int) -> list[Mutant]:
    """The mutants of the next build: those of the last one while some of it are to do, so that an
    interruption costs no build; then the next ones to do."""
    kept = state / "batch.json"
    every = {(str(m["name"]), digest(str(m["file"]))): m for m in mutants}
    last = [tuple(key) for key in json.loads(kept.read_text())] if kept.exists() else []
    if not (all(key in every for key in last) and any(name in todo for name, _ in last)):
        last = [key for key in every if key[0] in todo][:size]
        kept.write_text(json.dumps(last), encoding="utf-8")
    return [every[key] for key in last]


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, p = 1.959964, killed / tried
    middle, width = p + z * z / 2 / tried, z * math.sqrt(p * (1 - p) / tried + (z / 2 / tried) ** 2)
    scale = 1 + z * z / tried
    return (middle - width) / scale, (middle + width) / scale


def report(state: Path, name: str, mutants: list[Mutant]) -> None:
    """Prints what is known of the set."""
    have = known(state)
    rows = [have[str(mutant["name"])] for mutant in mutants if mutant["name"] in have]
    count = {
        word: sum(row["verdict"] == word for row in rows)
        for word in ("caught", "timeout", "missed")
    }
    killed, compiled = count["caught"] + count["timeout"], sum(count.values())
    print(
        f"{name}: {len(rows)} of {len(mutants)} mutants tried, "
        f"{len(rows) - compiled} do not compile"
    )
    if compiled:
        low, high = interval(killed, compiled)
        by_net = sum(row["verdict"] in ("caught", "timeout") and row["by"] == NET for row in rows)
        print(
            f"{killed} of {compiled} killed ({count['timeout']} by a timeout, "
            f"{by_net} by net's tests alone): {100 * killed / compiled:.1f} %, "
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
    parser.add_argument("--batch", type=int, default=500, help="mutants in a build")
    parser.add_argument("--jobs", type=int, default=1, help="mutants judged at a time")
    parser.add_argument("--state", type=Path, default=ROOT / "target" / "mutants")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--report", action="store_true", help="only say what is known")
    arguments = parser.parse_args()
    mutants = drawn(arguments.set, arguments.seed, arguments.sample)
    state: Path = arguments.state
    state.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * (arguments.minutes or math.inf)
    have = known(state)
    open_ = {
        str(mutant["name"])
        for mutant in mutants
        if mutant["name"] not in have
        or (arguments.again and have[str(mutant["name"])]["verdict"] == "missed")
    }
    apart = []
    while open_ and not arguments.report and time.monotonic() < end:
        batch = next_batch(state, mutants, open_, arguments.batch)
        apart += tried(state, batch, open_, end, arguments.jobs)
        open_ -= {str(mutant["name"]) for mutant in batch}
    # Last, for each takes as long as a hundred others.
    for mutant in apart:
        if time.monotonic() < end:
            note(state, mutant, *judged_alone(state / "tree", mutant))
    report(state, arguments.set, mutants)


if __name__ == "__main__":
    main()
