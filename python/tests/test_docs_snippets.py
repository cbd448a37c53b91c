"""Every command, scenario and program that the documentation shows is one.

Commands are run page by page, one after the other, as a reader would, over shorter runs than the
page has; those that are not stand in `ELSEWHERE` with the reason. All of them must have options of
the parser, scenarios and sweeps must resolve, and programs must run or at least compile.
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
from clearpipe import sweep, values
from clearpipe.cli import app
from clearpipe.errors import ConfigError
from clearpipe.reproduce import data as papers

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = ("_build", "_extra", "evidence/reproduction")
GENERATED = ("reference/protocols", "reference/queues", "reference/commands")
LONGEST = 250
"""Lines of a page."""


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
    fence = r"([^\n]*)\n+^( *)```(\w+)[^\n]*\n(.*?)^\2```$"
    found = re.finditer(fence, text, re.MULTILINE | re.DOTALL)
    return [Block(one[3], re.sub(rf"^{one[2]}", "", one[4], flags=re.M), one[1]) for one in found]


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

OTHER_KEYS = {
    "adding-a-figure.md": "a paper's keys: test_reproduce.py reads whole papers",
    "evaluate.md": "the statements' keys: test_evaluate.py reads all of them",
    "linux-service.md": "the service's file: test_linux_service.py has it read",
}
"""Pages whose TOML is no scenario, and what tests such files."""


def with_island(part: dict[str, Any]) -> dict[str, Any]:
    """A chain of the island's links, and flows across it."""
    island = next(iter(part["islands"].values()))
    names = [name for name in island["links"] if not name.endswith(".reverse")]
    link = {"rate": "10Mbps", "owd": "5ms", "queue": "vcp", "duplex": True}
    ends = {"from": "n0", "to": f"n{len(names)}", "protocol": "sack"}
    return {
        **part,
        "links": {
            name: {"from": f"n{i}", "to": f"n{i + 1}", **link} for i, name in enumerate(names)
        },
        "flows": dict.fromkeys(["fwd", *island.get("native", [])], ends),
    }


def check_sweep(part: dict[str, Any]) -> None:
    """Are axes, metrics and plots right, over flows of the groups that the axes name?"""
    named = re.findall(r"flows\.(\w+)\.", str(part["sweep"]))
    flows = {name: {"protocol": "sack"} for name in named} or BASE["flows"]
    resolved = cp.resolve({**BASE, "flows": flows}).toml
    tables = values.toml({key: part[key] for key in ("sweep", "plot") if key in part})
    text = resolved + "\n" + tables
    Path("sweep.toml").write_text(text, encoding="utf-8")
    assert sweep.load(Path("sweep.toml")).points


@pytest.mark.parametrize(("path", "block"), of("toml"))
def test_scenarios_resolve(path: Path, block: Block) -> None:
    part = tomllib.loads(block.text)
    if path.name in OTHER_KEYS:
        return
    shutil.copytree(ROOT / "python/clearpipe/examples", ".", dirs_exist_ok=True)
    for other in blocks(path):
        if other.language == "python" and (name := re.search(r"`(\w+\.py)`", other.before)):
            Path(name[1]).write_text(other.text, encoding="utf-8")
    if "sweep" in part:
        check_sweep(part)
    part.pop("sweep", None)
    part.pop("plot", None)
    if "islands" in part:
        part = with_island(part)
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


ELSEWHERE = {
    r"sudo |iperf3 ": "as root, on a kernel: test_linux*.py",
    r"make ": "builds; its targets are looked up above",
    r"pip |source |jupyter |wireshark ": "other people's programs",
    r"lua=|tshark ": "test_capture.py reads captures with tshark and the dissector",
    r"tr -d ": "test_qlog.py reads logs; the losses shown are those of tests/it/logs.rs",
    r"python -m clearpipe\.teaching ": "test_teaching.py",
    r"clearpipe compare packet linux": "the second is a kernel's",
    r"clearpipe run results/": "a result of the reader's own",
    r"clearpipe demo": "test_cli.py",
    r"clearpipe evaluate ": "minutes: test_evaluate.py",
    r"clearpipe attack ": "minutes: test_attack.py",
    r"clearpipe reproduce \w": "minutes to hours: test_reproduce*.py",
    r"clearpipe sweep run .*--scheduler": "a cluster: test_sweep_cluster.py",
    r"from clearpipe import reproduce": "minutes: test_reproduce.py",
}
"""Commands and programs that are not run here: how they begin, and why."""


def elsewhere_tested(text: str) -> bool:
    return any(re.match(start, text) for start in ELSEWHERE)


def shorter(words: list[str]) -> list[str]:
    """The same command over less simulated time: as much as its options speak of."""
    match words:
        case ["run", *_]:
            times = re.findall(r"(?:--branch-at|--capture-to) (\d+)s", " ".join(words))
            return [*words, "--set", f"duration={max([11, *map(int, times)]) + 1}s", "--quiet"]
        case ["sweep", "run" | "status" | "report" | "export", *_]:
            return [*words, "--set", "duration=2s", "--set", "warmup=0s", "--reps", "1"]
    return words


class Shorter:
    """`cp` of a page's programs, whose runs are shorter."""

    def __getattr__(self, name: str) -> Any:
        return getattr(cp, name)

    def run(self, scenario: str, **options: Any) -> Any:
        return cp.run(scenario, set=["duration=12s"], **options)

    def branch(self, scenario: str, at: float, **options: Any) -> Any:
        return cp.branch(scenario, at=at, set=[f"duration={at + 1}s"], **options)


GUIDES = [
    path
    for path in pages()
    if path.stem not in FOLLOWED
    # test_theory_docs.py and test_gallery.py run all that is there.
    and not path.is_relative_to(DOCS / "reference/theory")
    and not path.is_relative_to(DOCS / "gallery")
    and any(
        block.language in ("console", "python")
        and not all(
            elsewhere_tested(line) for line, _ in commands(block.text) or [(block.text, "")]
        )
        for block in blocks(path)
    )
]


def program(text: str, names: dict[str, Any]) -> None:
    """Run a page's program; sweeps and runs in it are shorter."""
    names["SHORT"] = ["duration=2s", "warmup=0s"]
    if "sweep.load" in text:
        text = text.replace('"sweep-rtt")', 'Path("sweep-rtt"), sets=SHORT, reps=1)')
    exec(compile(text, "page", "exec"), names)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_guide_can_be_followed(path: Path) -> None:
    """Each command of the page ends well, in order, and so does each program behind it."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    names: dict[str, Any] = {"cp": Shorter(), "polars": polars, "Path": Path}
    done = 0
    for block in blocks(path):
        if block.language == "toml" and "schema" in (table := tomllib.loads(block.text)):
            Path(f"{table['name']}.toml").write_text(block.text, encoding="utf-8")
        if block.language == "python" and not elsewhere_tested(block.text):
            program(block.text, names)
            done += 1
        for line, _ in commands(block.text) if block.language == "console" else ():
            if elsewhere_tested(line):
                continue
            words = shlex.split(line, comments=True)
            assert words[0] == "clearpipe", f"{line}: neither run nor in ELSEWHERE"
            found = CliRunner().invoke(app, shorter(words[1:]))
            assert found.exit_code in (0, 5 if words[1] == "doctor" else 0), (line, found.stderr)
            done += 1
    assert done > 0


def test_every_command_is_run_somewhere() -> None:
    """What is neither ours nor in ELSEWHERE would be run by nothing."""
    for path, block in ALL:
        if block.language == "console":
            for line, _ in commands(block.text):
                assert line.startswith("clearpipe ") or elsewhere_tested(line), f"{path}: {line}"


def test_reasons_are_not_left_behind() -> None:
    """Each entry of ELSEWHERE stands for something that a page has."""
    texts = [block.text for _, block in ALL if block.language == "python"]
    texts += [line for _, block in ALL for line, _ in commands(block.text)]
    for start in ELSEWHERE:
        for one in start.split("|"):
            assert any(re.match(one, text) for text in texts), one


ONE_PAPER = "all claims of one paper, which links reach by PAPER.md#CLAIM; `reproduce --publish`"
EVERY_FIGURE = "a table of each figure, behind an overview; `reproduce --readings`"
LONG_PAGES = {f"evidence/reproduction/{paper}.md": ONE_PAPER for paper in papers.FIVE}
LONG_PAGES["evidence/reproduction/readings.md"] = EVERY_FIGURE
"""Pages that may be longer, and why."""


def test_pages_are_short() -> None:
    """Those that are written by programs, too; test_docs_generated.py has those of the site."""
    found = set()
    for path in (ROOT / "README.md", *DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else path.name
        if name.startswith(("_", *(f"{one}/" for one in GENERATED))):
            continue
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST:
            found.add(name)
    assert found == set(LONG_PAGES)


def test_pages_say_what_they_are_for() -> None:
    for path in pages():
        lines = path.read_text(encoding="utf-8").splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("# "))
        text = (line for line in lines[start + 1 :] if line.strip())
        first = next((line for line in text if not line.startswith("<!--")), "")
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
