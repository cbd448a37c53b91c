"""Every command, scenario and program that the documentation shows is one.

Commands of tutorials are run, one after the other, as a reader would. Elsewhere a command's options
must be those of its parser, a scenario must resolve, and a program must compile.
"""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe.cli import app
from clearpipe.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = ("_build", "_extra", "evidence/reproduction")
GENERATED = ("reference/protocols", "reference/queues", "reference/commands")
LONGEST = 250
"""Lines of a page that is written by hand."""


class Block(NamedTuple):
    """A fenced block and the line before it."""

    language: str
    text: str
    before: str


def pages() -> list[Path]:
    """Those that are written by hand, and the front page of the repository."""
    found = [ROOT / "README.md"]
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        if not name.startswith((*BUILT, *(f"{one}/" for one in GENERATED))):
            found.append(path)
    return found


def blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"([^\n]*)\n+^```(\w+)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(one[2], one[3], one[1]) for one in found]


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a console block, with what it prints there."""
    found: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


ALL = [(path, block) for path in pages() for block in blocks(path)]


def of(language: str) -> list[Any]:
    chosen = [(path, block) for path, block in ALL if block.language == language]
    return [
        pytest.param(path, block, id=f"{path.relative_to(ROOT)}-{i}")
        for i, (path, block) in enumerate(chosen)
    ]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def parse(words: list[str]) -> None:
    """Does the command line take it? Nothing is run."""
    command: Any = typer.main.get_command(app)
    context = typer.Context(command, info_name="clearpipe")
    while hasattr(command, "commands"):
        assert words, "a command is missing"
        name, *words = words
        if name in ("--version", "--install-completion", "--help"):
            return
        assert name in command.commands, name
        command = command.commands[name]
        context = typer.Context(command, info_name=name, parent=context)
    rest = words.index("--") if "--" in words else len(words)
    if not {"--help", "-h"} & set(words[:rest]):
        command.parse_args(context, words)


def check(line: str, makefile: str) -> None:
    words = shlex.split(line, comments=True)
    if words and words[0] == "sudo":
        words = words[1:]
    match words:
        case ["clearpipe" | ".venv/bin/clearpipe", *rest]:
            parse(rest)
        case ["make", *targets]:
            for target in targets:
                assert "=" in target or re.search(rf"^{re.escape(target)}:", makefile, re.M), target


@pytest.mark.parametrize(("path", "block"), of("console"))
def test_commands_are_those_of_the_command_line(path: Path, block: Block) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = commands(block.text)
    assert shown, f"{path}: a console block without `$ `"
    for line, _ in shown:
        check(line, makefile)


def test_a_wrong_option_is_found() -> None:
    with pytest.raises(Exception, match=r"[Nn]o such option"):
        parse(["run", "base-case-xcp", "--no-such"])
    with pytest.raises(AssertionError):
        parse(["walk", "base-case-xcp"])


BASE: dict[str, Any] = {
    "schema": 1,
    "name": "snippet",
    "duration": "60s",
    "topology": {"kind": "dumbbell", "rate": "10Mbps", "rtt": "40ms"},
    "flows": {"fwd": {"protocol": "sack"}},
}


def whole(part: dict[str, Any]) -> dict[str, Any]:
    """A scenario around what a page shows of one."""
    if "schema" in part:
        return part
    made = {**BASE, **part}
    if "links" in part:
        made.pop("topology")
        if "flows" not in part:
            nodes = [next(iter(part["links"].values()))[end] for end in ("from", "to")]
            made["flows"] = {"fwd": {"protocol": "sack", "from": nodes[0], "to": nodes[1]}}
    if "topology" in part:
        named = part["topology"].get("queue")
        if isinstance(named, str) and named not in {one["name"] for one in cp.queues()}:
            made.setdefault("queues", {named: {"kind": "red"}})
    made["topology"] = {**BASE["topology"], **part["topology"]} if "topology" in part else None
    if made["topology"] is None:
        made.pop("topology")
        if "links" not in part:
            made["topology"] = BASE["topology"]
    return made


TOYS = ("toy", "dial")
"""What the pages about adding something add."""


@pytest.mark.parametrize(("path", "block"), of("toml"))
def test_scenarios_resolve(path: Path, block: Block) -> None:
    part = tomllib.loads(block.text)
    if path.name in ("adding-a-figure.md", "evaluate.md", "islands.md"):
        return  # A paper's keys, and evaluate's; and an island of links that are elsewhere.
    shutil.copytree(ROOT / "python/clearpipe/examples", ".", dirs_exist_ok=True)
    for other in blocks(path):
        if other.language == "python" and (name := re.search(r"`(\w+\.py)`", other.before)):
            Path(name[1]).write_text(other.text, encoding="utf-8")
    part.pop("sweep", None)
    part.pop("plot", None)
    try:
        cp.resolve(whole(part))
    except ConfigError as error:
        if not any(f'"{toy}"' in str(error) for toy in TOYS):
            raise


@pytest.mark.parametrize(("path", "block"), of("python"))
def test_programs_compile(path: Path, block: Block) -> None:
    compile(block.text, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def words_of(text: str) -> list[list[str]]:
    """The lines that say something, without their layout."""
    lines = [line.split() for line in text.splitlines()]
    return [line for line in lines if line and not set(line[0]) <= {"─"}]


FOLLOWED = ("own-network", "a-sweep", "theory", "prototypes")


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_tutorial_can_be_followed(name: str) -> None:
    """Files are saved where the page says so, and each command ends well; runs are shorter."""
    done = 0
    for block in blocks(DOCS / f"tutorials/{name}.md"):
        file = re.search(r"[Ss]ave (?:this|it) as `([\w.-]+)`", block.before)
        if block.language in ("toml", "python") and file:
            text = block.text.replace('duration = "30s"', 'duration = "4s"')
            Path(file[1]).write_text(text, encoding="utf-8")
        if block.language != "console":
            continue
        for line, output in commands(block.text):
            found = CliRunner().invoke(app, shlex.split(line)[1:])
            done += 1
            if "clearpipe: " in output:
                assert found.exit_code == 3, line
                said = " ".join(found.stderr.split())
                assert " ".join(output.removesuffix("(...)\n").split()) in said
                continue
            assert found.exit_code in (0, 75 if "--max-wall" in line else 0), found.stderr
            if output.strip():
                assert words_of(found.stdout) == words_of(output)
    assert done > 0


def test_pages_are_short_and_say_what_they_are_for() -> None:
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if "<!-- Generated" in text or path.name == "metrics.md":
            continue
        lines = text.splitlines()
        assert len(lines) <= LONGEST, path
        start = next(i for i, line in enumerate(lines) if line.startswith("# "))
        first = next((line for line in lines[start + 1 :] if line.strip()), "")
        assert first, path
        assert not first.startswith(("#", "```", "|", "- ")), f"{path}: what is it for?"


def test_commands_in_indented_blocks_are_those_of_the_command_line() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in pages():
        text = path.read_text(encoding="utf-8")
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        outside = outside.replace("\\\n", " ")
        for line in re.findall(r"^    (?:\$ )?((?:clearpipe|make) .*)$", outside, re.MULTILINE):
            check(line, makefile)
