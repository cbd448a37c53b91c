"""Which test notices another default: `defaults.py [--minutes M] [--seed S] [--state DIR]
[--report FILE]`.

Every default of every protocol and queue is changed by a tenth (0 becomes 1, a flag its contrary, a
choice the next word), one at a time, and the behaviour tests run: all of `cc`, then `queue`, then
`net`, until one fails. Golden rows, fingerprints written down and random scenarios are not among
them. One build does for all: in a copy of the tree, target/defaults/tree, the macro `params!` asks
the environment for the default to change; nothing that ships has that. See judge.py for which
tests judge. What is known is in target/defaults (or `--state`) and a second call goes on from
there; the order is the seed's. Constants that are no parameter are left to `make mutants`.

A default that no test notices is free: it says why in FREE below, or it wants a test.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import judge
from mutants import TESTS, synchronised

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("clearpipe-cc", "clearpipe-queue", "clearpipe-net")
SKIP = ("purity::", "source::", "random::")
ENVIRONMENT = os.environ | {"RUSTFLAGS": "--cap-lints=warn"}

# Cargo takes the builds of two trees for one another where they share a folder.
ENVIRONMENT.pop("CARGO_TARGET_DIR", None)

PLAIN = "$( $field: $crate::params!(@default $type $(, $default)?), )*"
ALTERED = """$( $field: $crate::params!(@default $type $(, $crate::params::altered::<$type>(
                    $default,
                    concat!(module_path!(), "::", stringify!($name), ".", stringify!($field)),
                    $crate::params!(@range $($low, $high)?),
                ))?), )*"""
FUNCTION = """
/// The default, or another if CLEARPIPE_ALTERED names it; "list" prints each once.
pub fn altered<T: ParamValue>(value: T, of: &'static str, range: (f64, f64)) -> T {
    static WANTED: std::sync::OnceLock<std::string::String> = std::sync::OnceLock::new();
    static SHOWN: std::sync::Mutex<std::collections::BTreeSet<&'static str>> =
        std::sync::Mutex::new(std::collections::BTreeSet::new());
    let wanted = WANTED.get_or_init(|| std::env::var("CLEARPIPE_ALTERED").unwrap_or_default());
    units::switch::reached(of);
    if wanted != "list" && wanted != of {
        return value;
    }
    let other = others(value.value(), T::KIND).into_iter().flatten().find_map(|other| {
        let mut field = value;
        let done = put(&mut field, range, other);
        done.ok().filter(|()| field.value() != value.value()).map(|()| field)
    });
    if wanted == "list" {
        if SHOWN.lock().unwrap().insert(of) {
            std::println!("\\nALTERED {of}|{:?}|{:?}", value.value(), other.map(ParamValue::value));
        }
        return value;
    }
    other.unwrap_or(value)
}

fn others(value: Value, kind: Kind) -> [Option<Value>; 3] {
    match (value, kind) {
        (Value::Flag(flag), _) => [Some(Value::Flag(!flag)), None, None],
        (Value::Count(0), _) => [Some(Value::Count(1)), None, None],
        (Value::Count(n), _) => {
            let by = n.div_ceil(10);
            [Some(Value::Count(n + by)), Some(Value::Count(n - by)), None]
        }
        (Value::Number(0.0), _) => [Some(Value::Number(1.0)), Some(Value::Number(0.1)), None],
        (Value::Number(x), _) => [Some(Value::Number(1.1 * x)), Some(Value::Number(0.9 * x)), None],
        (Value::Span(Span(0)), _) => [Some(Value::Span(Span::from_millis(10))), None, None],
        (Value::Span(Span(ps)), _) => {
            [Some(Value::Span(Span(ps + ps / 10))), Some(Value::Span(Span(ps - ps / 10))), None]
        }
        (Value::Choice(word), Kind::Choice(words)) => {
            let at = words.iter().position(|w| *w == word).unwrap_or(0);
            [Some(Value::Choice(words[(at + 1) % words.len()])), None, None]
        }
        _ => [None; 3],
    }
}
"""

# Defaults that no behaviour test notices, and why that is right.
FREE: dict[str, str] = {}


def altered_tree(tree: Path) -> None:
    """The copy, with another macro."""
    params, crate = "crates/cc/src/params.rs", "crates/cc/src/lib.rs"
    text = (ROOT / params).read_text(encoding="utf-8")
    assert text.count(PLAIN) == 1, "params! has another form: mend defaults.py"
    code, tests = text.replace(PLAIN, ALTERED).split("\n#[cfg(test)]\n")
    head = (ROOT / crate).read_text(encoding="utf-8")
    head = head.replace("extern crate alloc;", "extern crate alloc;\nextern crate std;")
    changed = {params: f"{code}{FUNCTION}\n#[cfg(test)]\n{tests}", crate: head}
    synchronised(tree, judge.with_switch(ROOT) | changed)


def listed(programs: list[judge.Program]) -> list[dict[str, str]]:
    """Every default with what it becomes."""
    library = next(p for p in programs if p.package == "clearpipe-cc" and p.kind == "lib")
    text = judge.printed(library, ENVIRONMENT | {"CLEARPIPE_ALTERED": "list"})
    rows = re.findall(r"^ALTERED (.*)\|(.*)\|(.*)$", text, re.MULTILINE)
    keep = [row for row in rows if "::tests::" not in row[0]]
    return [dict(zip(("name", "default", "changed"), row, strict=True)) for row in sorted(keep)]


def known(state: Path, stamp: str) -> dict[str, dict[str, Any]]:
    """Verdicts on this program; on another one's those that were noticed."""
    path = state / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["name"]: row for row in rows if row["by"] or row["stamp"] == stamp}


def noticing(tests: list[judge.Test], name: str, package: str) -> list[str]:
    """The first test of a package that notices the change of a default, if any does."""
    environment = ENVIRONMENT | {"CLEARPIPE_ALTERED": name}
    own = [test for test in tests if test.program.package == package]
    return judge.noticed(own, name, environment)[0]


def plain(text: str) -> str:
    """A value as users write it, or nearly."""
    inner = re.sub(r"^(Some\()?\w+\((.*?)\)+$", r"\2", text)
    if "Span(" in text:
        return f"{int(re.sub(r'[^0-9]', '', text)) / 1e12:g} s"
    return (
        f"{float(inner):g}" if re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", inner) else inner.strip('"')
    )


def table(rows: list[dict[str, str]], have: dict[str, dict[str, Any]]) -> str:
    """What is known, as Markdown."""
    lines = ["| default | value | changed to | noticed by |", "|---|---|---|---|"]
    for row in rows:
        found = have.get(row["name"])
        if found is None or not (found["by"] or PACKAGES[-1] in found["tried"]):
            verdict = "not tried" if found is None else "not by cc or queue; net's tests not tried"
        elif found["by"]:
            crate = str(found["tried"][-1]).removeprefix("clearpipe-")
            verdict = f"{crate}: `{found['by'][0]}`"
        elif row["changed"] == "None":
            verdict = "nothing to change it to"
        else:
            verdict = FREE.get(row["name"], "**nothing**")
        name = row["name"].removeprefix("clearpipe_cc::")
        lines.append(
            f"| `{name}` | {plain(row['default'])} | {plain(row['changed'])} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--state", type=Path, default=ROOT / "target" / "defaults")
    parser.add_argument("--report", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    state: Path = arguments.state
    state.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * (arguments.minutes or math.inf)
    altered_tree(state / "tree")
    programs = judge.build(state / "tree", {name: TESTS[name] for name in PACKAGES}, ENVIRONMENT)
    rows = listed(programs)
    have = known(state, judge.stamp(programs))
    shuffled = random.Random(arguments.seed).sample(rows, len(rows))
    if any(row["name"] not in have or not settled(have[row["name"]]) for row in rows):
        tests = judge.measured(programs, SKIP, ENVIRONMENT, state / "tests.jsonl")
        judge_all(state, shuffled, have, tests, end)
    if arguments.report:
        arguments.report.write_text(table(rows, have), encoding="utf-8")
    summary(rows, have)


def settled(found: dict[str, Any]) -> bool:
    """Is there no test left to ask?"""
    return bool(found["by"]) or PACKAGES[-1] in found["tried"]


def judge_all(
    state: Path, rows: list[dict[str, str]], have: dict[str, dict[str, Any]],
    tests: list[judge.Test], end: float,
) -> None:  # fmt: skip
    """Tries each with the tests of one package, then what is left with those of the next: most do
    not come to `net`'s, which are slow."""
    stamp = judge.stamp({test.program for test in tests})
    for package in PACKAGES:
        for row in rows:
            found = have.get(row["name"])
            if found is not None and (found["by"] or package in found["tried"]):
                continue
            if time.monotonic() > end:
                return
            by = [] if row["changed"] == "None" else noticing(tests, row["name"], package)
            so_far = [*(found["tried"] if found else []), package]
            have[row["name"]] = row | {"stamp": stamp, "by": by, "tried": so_far}
            with (state / "verdicts.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(have[row["name"]]) + "\n")


def summary(rows: list[dict[str, str]], have: dict[str, dict[str, Any]]) -> None:
    """Prints the counts; the exit status is 1 if a default is held by nothing."""
    known_of = [have[row["name"]] for row in rows if row["name"] in have]
    tried = [row for row in known_of if settled(row)]
    waiting = len(known_of) - len(tried)
    noticed = sum(bool(row["by"]) for row in tried)
    fixed = sum(row["changed"] == "None" for row in tried)
    open_ = [row["name"] for row in tried if not row["by"] and row["changed"] != "None"]
    left = [name for name in open_ if name not in FREE]
    print(
        f"{len(tried)} of {len(rows)} defaults tried: {noticed} noticed, "
        f"{len(open_) - len(left)} free, {fixed} with nothing to change to, {len(left)} neither; "
        f"{waiting} more that neither cc nor queue notices wait for net's tests"
    )
    for name in left:
        print(f"nothing notices {name}")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
