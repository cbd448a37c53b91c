"""Writes docs/evidence/rfc/: for each RFC the table of its statements, and the page above them.

    make_rfc.py docs/evidence/rfc [--run]

Their source is one TOML file per RFC: each statement with the tests that show it, or why there is
none. With `--run` the tests run first (cargo, pytest), and nothing is written if one fails.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

LEVELS = {
    *("MUST", "MUST NOT", "REQUIRED", "SHALL", "SHOULD", "SHOULD NOT", "RECOMMENDED"),
    *("NOT RECOMMENDED", "MAY", "text"),
}
# What a statement may be, and how its table says so.
VERDICTS = {
    "holds": "holds",
    "differs": "**differs**: {}",
    "left_out": "left out: {}",
    "unobservable": "not observable: {}",
    "unmodelled": "not modelled: {}",
}
KEYS = {"section", "level", "says", "scenario", "when", "pinned", *VERDICTS}

HEAD = """\
# RFC {rfc}, {title}: its statements

<!-- Generated: make rfc, from rfc{rfc}.toml beside this page -->

{about}
{counts}

| § | level | statement | scenario | verdict |
|---|---|---|---|---|
"""

INDEX = """\
# Six RFCs, statement by statement

<!-- Generated: make rfc, from the TOML files beside this page -->

What do the RFCs of slow start, two congestion controls and three queues say, and does it hold here?
Every statement with a key word of RFC 2119 is a row, besides those that define the words; so are
statements without one (level *text*) that settle what an implementation does. The words of the
statements are ours, the sections the RFCs'.

- *holds*: the tests named show it, with numbers worked by hand from the RFC. Behind `with` is the
  setting that it takes.
- *differs*: it does not hold, and why. A test that is named pins what happens instead.
- *left out*: an option of the RFC that is not there.
- *not observable*, *not modelled*: no run can show it, or it is of something that is not simulated.

A test fails if a row names a test that is missing or skipped, or if a page is not that of its
table. `make rfc RUN=1` runs all {tests} tests before it writes the pages.

| RFC | statements | hold | differ | left out | not observable | not modelled |
|---|---|---|---|---|---|---|
{rows}

These statements with a *MUST* or *SHOULD* do not hold. Mending them changes results, so it waits
for the model's next version:

{differing}

```{{toctree}}
:hidden:
:glob:

rfc*
```
"""


def verdict(statement: dict[str, Any]) -> str:
    """Which of `VERDICTS` it has; ValueError if its keys are not those of one."""
    found = [key for key in VERDICTS if key in statement]
    where = f"section {statement.get('section')}: {statement.get('says')}"
    if len(found) != 1:
        raise ValueError(f"{where}: one of {', '.join(VERDICTS)}, not {found}")
    if unknown := set(statement) - KEYS:
        raise ValueError(f"{where}: no such key: {', '.join(sorted(unknown))}")
    if statement["level"] not in LEVELS:
        raise ValueError(f"{where}: no such level: {statement['level']}")
    kind = found[0]
    if kind == "holds" and not (statement["holds"] and "scenario" in statement):
        raise ValueError(f"{where}: what holds names its tests and their scenario")
    if "pinned" in statement and kind != "differs":
        raise ValueError(f"{where}: only a difference is pinned")
    return kind


def tests(statement: dict[str, Any]) -> list[str]:
    """The tests it names, each as file::function."""
    named: list[str] = statement.get("holds", []) + statement.get("pinned", [])
    return named


def told(test: str) -> str:
    """A test in a few words: its file and its name."""
    path, name = test.split("::")
    return f"`{path.rpartition('/')[2]}::{name}`"


def escaped(text: str) -> str:
    """As it stands in a table."""
    return text.strip().replace("|", "\\|")


def row(statement: dict[str, Any]) -> str:
    """Its line of the table."""
    kind = verdict(statement)
    value = statement[kind]
    said = VERDICTS[kind].format(value if isinstance(value, str) else "")
    if "when" in statement:
        said += f", with `{statement['when']}`"
    if named := tests(statement):
        said += ": " if kind == "holds" else "; "
        said += ", ".join(told(test) for test in named)
    cells = [
        statement["section"],
        statement["level"],
        statement["says"],
        statement.get("scenario", ""),
        said,
    ]
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def tally(table: dict[str, Any]) -> dict[str, int]:
    """How many statements have each verdict."""
    kinds = [verdict(statement) for statement in table["statement"]]
    return {kind: kinds.count(kind) for kind in VERDICTS}


def page(table: dict[str, Any]) -> str:
    """The page of one RFC."""
    count = tally(table)
    words = {
        "holds": "{} hold",
        "differs": "{} differ",
        "left_out": "{} options are left out",
        "unobservable": "{} cannot be observed",
        "unmodelled": "{} are of what is not modelled",
    }
    parts = [text.format(count[kind]) for kind, text in words.items() if count[kind]]
    counts = f"Of {sum(count.values())} statements " + ", ".join(parts) + "."
    head = HEAD.format(
        rfc=table["rfc"], title=table["title"], about=table["about"].strip(), counts=counts
    )
    return head + "\n".join(row(statement) for statement in table["statement"]) + "\n"


def index(tables: list[dict[str, Any]]) -> str:
    """The page above them."""
    rows, differing = [], []
    for table in tables:
        count, rfc = tally(table), table["rfc"]
        cells = [f"[{rfc}, {table['title']}](rfc{rfc}.md)", str(sum(count.values()))]
        rows.append("| " + " | ".join([*cells, *(str(count[kind]) for kind in VERDICTS)]) + " |")
        differing += [
            f"- RFC {rfc}, section {one['section']} ({one['level']}): {one['differs'].strip()}."
            for one in table["statement"]
            if "differs" in one and one["level"] not in {"text", "MAY"}
        ]
    named = {test for table in tables for one in table["statement"] for test in tests(one)}
    return INDEX.format(rows="\n".join(rows), differing="\n".join(differing), tests=len(named))


def load(folder: Path) -> list[dict[str, Any]]:
    """The tables of a folder, by the number of their RFC."""
    files = sorted(folder.glob("rfc*.toml"))
    tables = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    for file, table in zip(files, tables, strict=True):
        if file.stem != f"rfc{table['rfc']}":
            raise ValueError(f"{file} is of RFC {table['rfc']}")
    return tables


def pages(folder: Path) -> dict[Path, str]:
    """What stands in each page."""
    tables = load(folder)
    parts = {folder / f"rfc{table['rfc']}.md": page(table) for table in tables}
    return {folder / "index.md": index(tables), **parts}


def missing(test: str) -> str | None:
    """Why a test that a table names does not show anything; None if it does."""
    path, _, name = test.partition("::")
    file = ROOT / path
    if not file.is_file():
        return f"{test}: no such file"
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        found = re.search(rf"^((?:@.*\n)*)def {re.escape(name)}\(", text, re.MULTILINE)
        off = r"@pytest\.mark\.(skip|xfail)"
    else:
        found = re.search(
            rf"^((?:[ \t]*#\[.*\]\n)*)[ \t]*fn {re.escape(name)}\(", text, re.MULTILINE
        )
        off = r"#\[(ignore|should_panic|cfg)"
        if found and "#[test]" not in found[1]:
            return f"{test}: not a test"
    if not found:
        return f"{test}: no such test"
    if re.search(off, found[1]):
        return f"{test}: it is skipped"
    return None


def run(named: set[str]) -> None:
    """Runs the tests; CalledProcessError if one fails, ValueError if one did not run."""
    by_crate: dict[str, set[str]] = {}
    scripts = sorted(test for test in named if ".py::" in test)
    for test in named - set(scripts):
        path, name = test.split("::")
        by_crate.setdefault(path.split("/")[1], set()).add(name)
    for crate, names in sorted(by_crate.items()):
        command = ["cargo", "test", "--locked", "-p", f"clearpipe-{crate}", "--", *sorted(names)]
        out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        passed = set(re.findall(r"^test (?:\S+::)?(\w+) \.\.\. ok$", out, re.MULTILINE))
        if lacking := names - passed:
            raise ValueError(f"{crate}: did not run: {', '.join(sorted(lacking))}")
    if scripts:
        subprocess.run([sys.executable, "-m", "pytest", "-q", *scripts], cwd=ROOT, check=True)


def main() -> None:
    """Writes the pages of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true", help="run the tests first")
    args = parser.parse_args()
    tables = load(args.folder)
    named = {test for table in tables for one in table["statement"] for test in tests(one)}
    wrong = sorted(why for test in named if (why := missing(test)))
    if wrong:
        sys.exit("\n".join(wrong))
    if args.run:
        run(named)
    for path, text in pages(args.folder).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
