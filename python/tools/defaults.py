"""Which test notices another default: `defaults.py [--minutes M] [--seed S] [--report FILE]`.

Every default of every protocol and queue is changed by a tenth (0 becomes 1, a flag its contrary, a
choice the next word), one at a time, and the behaviour tests run: those of the file it is in, then
all of `cc` and `queue`, then those of `net`, until one fails. Golden rows, fingerprints written
down and random scenarios are not among them. One build does for all: in a copy of the tree,
target/defaults/tree, the macro `params!` asks the environment for the default to change; nothing
that ships has that. What is known is in target/defaults and a second call goes on from there; the
order is the seed's. Constants that are no parameter are left to `make mutants`.

A default that no test notices is free: it says why in FREE below, or it wants a test.
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
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mutants import synchronised

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "target" / "defaults"
TREE = STATE / "tree"

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


def altered_tree() -> None:
    """The copy, with another macro."""
    params, crate = "crates/cc/src/params.rs", "crates/cc/src/lib.rs"
    text = (ROOT / params).read_text(encoding="utf-8")
    assert text.count(PLAIN) == 1, "params! has another form: mend defaults.py"
    code, tests = text.replace(PLAIN, ALTERED).split("\n#[cfg(test)]\n")
    head = (ROOT / crate).read_text(encoding="utf-8")
    head = head.replace("extern crate alloc;", "extern crate alloc;\nextern crate std;")
    synchronised(TREE, {params: f"{code}{FUNCTION}\n#[cfg(test)]\n{tests}", crate: head})


def binaries() -> dict[str, str]:
    """The test programs, by package and kind of target."""
    packages = [word for name in ("cc", "queue", "net") for word in ("-p", f"clearpipe-{name}")]
    command = ["cargo", "test", "--locked", "--profile", "ci", *packages, "--lib", "--test", "it"]
    environment = os.environ | {"RUSTFLAGS": "--cap-lints=warn"}
    done = subprocess.run(
        [*command, "--no-run", "--message-format", "json"],
        cwd=TREE, stdout=subprocess.PIPE, text=True, check=True, env=environment,
    )  # fmt: skip
    found = {}
    for message in map(json.loads, done.stdout.splitlines()):
        if message.get("executable") and message["profile"]["test"]:
            crate = re.search(r"crates/(\w+)", message["package_id"])
            assert crate is not None
            found[f"{crate[1]} {message['target']['kind'][0]}"] = message["executable"]
    return found


def run(program: str, name: str, *words: str) -> tuple[bool, str]:
    """Runs tests under the changed default; whether they pass, and what is printed."""
    crate = re.search(r"/deps/(?:clearpipe_)?(\w+)-", program)
    folder = TREE / "crates" / (crate[1] if crate and crate[1] != "it" else "net")
    try:
        done = subprocess.run(
            [program, *words], env=os.environ | {"CLEARPIPE_ALTERED": name}, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=900,
            cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, "test (a timeout) ... FAILED"
    return done.returncode == 0, done.stdout


def failed(text: str) -> list[str]:
    """The tests that failed."""
    return sorted(set(re.findall(r"^test (.*) \.\.\. FAILED$", text, re.MULTILINE)))


def noticing(programs: dict[str, str], name: str, crates: Sequence[str]) -> tuple[str, list[str]]:
    """The crate of these, and its tests, that notice the change; none if none does."""
    module = name.removeprefix("clearpipe_cc::").split("::")
    file = "::".join(module[:-1])
    skips = ["--skip", "purity", "--skip", "source"]
    stages: list[tuple[str, list[tuple[str, list[str]]]]] = [
        ("cc", [("cc lib", [f"{file}::"])]),
        ("cc", [("cc lib", []), ("cc test", skips)]),
        ("queue", [("queue lib", []), ("queue test", [])]),
        ("net", [("net lib", []), ("net test", ["--skip", "random::"])]),
    ]
    for crate, parts in stages:
        found = []
        for program, words in parts if crate in crates else []:
            passed, text = run(programs[program], name, *words)
            found += [] if passed else failed(text) or ["(the program ended)"]
        if found:
            return crate, found
    return "", []


def listed(programs: dict[str, str]) -> list[dict[str, str]]:
    """Every default with what it becomes."""
    _, text = run(programs["cc lib"], "list", "--nocapture", "--test-threads", "1")
    rows = re.findall(r"^ALTERED (.*)\|(.*)\|(.*)$", text, re.MULTILINE)
    keep = [row for row in rows if "::tests::" not in row[0]]
    return [dict(zip(("name", "default", "changed"), row, strict=True)) for row in sorted(keep)]


def known(stamp: str) -> dict[str, dict[str, Any]]:
    """Verdicts on this program; on another one's those that were noticed."""
    path = STATE / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["name"]: row for row in rows if row["by"] or row["stamp"] == stamp}


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
        if found is None or not (found["by"] or "net" in found["tried"]):
            verdict = "not tried" if found is None else "not by cc or queue; net's tests not tried"
        elif found["by"]:
            more = f" and {len(found['by']) - 1} more" if len(found["by"]) > 1 else ""
            verdict = f"{found['crate']}: `{found['by'][0]}`{more}"
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
    parser.add_argument("--report", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * (arguments.minutes or math.inf)
    STATE.mkdir(parents=True, exist_ok=True)
    altered_tree()
    programs = binaries()
    contents = b"".join(Path(programs[name]).read_bytes() for name in sorted(programs))
    stamp = hashlib.sha256(contents).hexdigest()[:16]
    rows = listed(programs)
    have = known(stamp)
    shuffled = random.Random(arguments.seed).sample(rows, len(rows))
    # What is quick first: net's tests take a minute, and most defaults do not come to them.
    for passes in (("cc", "queue"), ("net",)):
        for row in shuffled:
            found = have.get(row["name"])
            if found is not None and (found["by"] or passes[-1] in found["tried"]):
                continue
            if time.monotonic() > end:
                break
            still = row["changed"] == "None"
            crate, by = ("", []) if still else noticing(programs, row["name"], passes)
            so_far = [*(found["tried"] if found else []), *passes]
            have[row["name"]] = row | {"stamp": stamp, "crate": crate, "by": by, "tried": so_far}
            with (STATE / "verdicts.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(have[row["name"]]) + "\n")
    text = table(rows, have)
    if arguments.report:
        arguments.report.write_text(text, encoding="utf-8")
    known_of = [have[row["name"]] for row in rows if row["name"] in have]
    tried = [row for row in known_of if row["by"] or "net" in row["tried"]]
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
