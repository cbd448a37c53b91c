"""What goes with a release: one version, complete metadata, wheels that name no machine, and
messages that somebody without the source can follow."""

from __future__ import annotations

import ast
import base64
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import checkout, cite, doctor
from clearpipe.cli import app
from clearpipe.linux import hosts

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "python/tools"
GOLDEN = ROOT / "golden/packet-engine.txt"


def toml(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


WORKSPACE = toml("Cargo.toml")["workspace"]
PROJECT = toml("pyproject.toml")["project"]
VERSION = WORKSPACE["package"]["version"]


def test_the_version_stands_in_one_place() -> None:
    assert cp.version() == cp.__version__ == metadata.version("clearpipe") == VERSION
    assert PROJECT["dynamic"] == ["version"]
    assert f"\nversion: {VERSION}\n" in text("CITATION.cff")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", text("CHANGELOG.md"), re.MULTILINE)
    assert released[0] == VERSION
    # A workspace of its own, and the version of Debian's package.
    assert toml("ebpf/loader/Cargo.toml")["package"]["version"] == VERSION
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        own = tomllib.loads(manifest.read_text(encoding="utf-8"))["package"].get("version")
        assert own in (None, {"workspace": True}), manifest


def test_what_it_runs_on_is_stated_alike() -> None:
    rust = WORKSPACE["package"]["rust-version"]
    assert toml("rust-toolchain.toml")["toolchain"]["channel"].startswith(f"{rust}.")
    assert toml("ebpf/loader/Cargo.toml")["package"]["rust-version"] == rust
    least = PROJECT["requires-python"].removeprefix(">=")
    told = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert told[0] == least
    assert toml("pyproject.toml")["tool"]["ruff"]["target-version"] == f"py{least.replace('.', '')}"
    abi = WORKSPACE["dependencies"]["pyo3"]["features"]
    assert abi == [f"abi3-py{least.replace('.', '')}"]
    page = text(PROJECT["readme"])
    assert f"| {least} and newer" in page
    assert f"| Rust {rust} or newer" in page


def test_the_metadata_are_complete() -> None:
    about = metadata.metadata("clearpipe")
    assert about["Author"] == "The Clearpipe authors"
    assert about["License-Expression"] == "MIT OR Apache-2.0"
    assert about["Description-Content-Type"].startswith("text/markdown")
    urls = dict(line.split(", ", 1) for line in about.get_all("Project-URL") or ())
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= urls.keys()
    assert urls["Homepage"] == re.findall(r'^url: "(.*)"$', text("CITATION.cff"), re.MULTILINE)[0]
    # What PyPI shows has no way into this tree.
    assert re.findall(r"\]\((?!https://)", text(PROJECT["readme"])) == []


# Messages.


def targets() -> str:
    found = re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE)
    assert {"wheels", "test", "deps-linux"} <= set(found)
    return "|".join(found)


def told(module: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The texts in a module that are no docstrings."""
    docs = {
        id(node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node, node.value


def test_no_message_speaks_of_a_makefile() -> None:
    make = re.compile(rf"\bmake (?:{targets()})\b|Makefile")
    found = []
    for file in sorted((ROOT / "python/clearpipe").rglob("*.py")):
        for _, words in told(ast.parse(file.read_text(encoding="utf-8"))):
            if make.search(words):
                found.append((file.name, words))
    for suffix in ("*.j2", "*.js", "*.toml", "*.lua"):
        for file in sorted((ROOT / "python/clearpipe").rglob(suffix)):
            assert not make.search(file.read_text(encoding="utf-8")), file
    for file in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        code = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        assert not make.search(code), file
    # In a source tree only: what it is compared and measured with, and where that is decided.
    builders = {("doctor.py", row[2]) for row in doctor.BUILDERS if make.search(row[2])}
    builders |= {("doctor.py", row[3]) for row in doctor.BUILDERS if make.search(row[3])}
    assert set(found) == builders | {("checkout.py", "Makefile")}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a wheel: no source tree, no loader."""
    monkeypatch.setattr(checkout, "folder", lambda: None)
    monkeypatch.setattr(hosts, "program", lambda: None)


@pytest.mark.usefixtures("installed")
def test_an_installed_doctor_speaks_of_no_makefile() -> None:
    for arguments in (["doctor"], ["doctor", "--json"]):
        shown = CliRunner().invoke(app, arguments)
        assert shown.exit_code == 0
        assert not re.search(rf"\bmake (?:{targets()})\b|Makefile", shown.stdout)
    names = {check.name for check in doctor.checks()}
    assert "tshark" in names
    assert not names & {"rustc", "clang", "ns2", "valgrind"}
    (row,) = hosts.checks()
    assert "cargo build --release in ebpf/loader" in row.value if sys.platform == "linux" else True


def test_a_source_trees_doctor_has_its_targets() -> None:
    assert checkout.folder() == ROOT
    rows = {check.name: check.get for check in doctor.checks()}
    assert rows["ns2"] == "make deps-peers"
    assert rows["tshark"] == "make deps-dev"


def test_python_m_clearpipe_is_the_command() -> None:
    command = [sys.executable, "-m", "clearpipe", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"clearpipe {VERSION} (model ")


# Citing.


def test_a_result_is_cited_with_its_fingerprint(tmp_path: Path) -> None:
    sets = ["duration=2s", "warmup=1s"]
    for rep in (0, 1):
        one = cp.run("two-paths", rep=rep, set=sets, out=tmp_path / f"runs/{rep}")
    shown = CliRunner().invoke(app, ["cite", str(tmp_path / "runs")])
    assert shown.exit_code == 0
    assert f"  fingerprint  {one.fingerprint}\n" in shown.stdout
    assert "two-paths, seed 1, replication 1, packet engine, Clearpipe" in shown.stdout
    assert "  again        clearpipe run run.toml --seed 1 --rep 1\n" in shown.stdout
    # Both protocols of the file and its three queues, with where each is from; nothing else's.
    assert "\nxcp: Katabi, Handley, Rohrs, SIGCOMM 2002\n" in shown.stdout
    assert "\nqueue droptail: RFC 7567\n" in shown.stdout
    assert "vcp" not in shown.stdout
    assert "  author  = {{The Clearpipe authors}},\n" in shown.stdout
    found = json.loads(CliRunner().invoke(app, ["cite", str(tmp_path / "runs"), "--json"]).stdout)
    assert [run["rep"] for run in found["runs"]] == [0, 1]
    assert found["software"]["version"] == VERSION


def test_what_is_no_result_is_not_cited(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["cite", str(tmp_path / "none")])
    assert shown.exit_code == 3
    assert "no such directory" in shown.stderr
    alone = CliRunner().invoke(app, ["cite"])
    assert alone.exit_code == 0
    assert alone.stdout.startswith(cite.software().sentence())


# Fingerprints and wheels.


def fingerprints(golden: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "check_fingerprints.py"), str(golden)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_python_gives_the_committed_fingerprints() -> None:
    done = fingerprints(GOLDEN)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = sum(" parts " in line for line in text("golden/packet-engine.txt").splitlines()[2:])
    assert done.stdout.startswith(f"{rows} fingerprints on ")


def test_another_fingerprint_is_found(tmp_path: Path) -> None:
    lines = text("golden/packet-engine.txt").splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("small-udp 1 parts"))
    name, seed, fingerprint, rest = lines[at + 1].split(" ", 3)
    other = f"{int(fingerprint, 16) ^ 1:032x}"
    file = tmp_path / "golden.txt"
    file.write_text(
        "\n".join([*lines[:2], lines[at], f"{name} {seed} {other} {rest}", ""]), "utf-8"
    )
    done = fingerprints(file)
    assert done.returncode == 1
    assert f"small-udp 1: {fingerprint}, not {other}" in done.stdout
    # A row that cannot be read is no row that was checked.
    file.write_text("\n".join([*lines[:2], lines[at], f"{name} {seed} short {rest}", ""]), "utf-8")
    assert fingerprints(file).returncode == 1


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_finished_wheel_names_no_place_and_no_hour(tmp_path: Path) -> None:
    finish = tool("finish_wheels")
    place = f"path+{ROOT.as_uri()}/crates/py#clearpipe-py@0.1.0"
    folder = "clearpipe-0.1.0.dist-info"
    listed = f"{folder}/sboms/core.cyclonedx.json"
    contents = []
    for number, hour in (("1", "05"), ("2", "06")):
        wheel = tmp_path / f"{number}.whl"
        bom = {
            "serialNumber": f"urn:uuid:{number}",
            "metadata": {"timestamp": f"2026-11-23T{hour}:00:00Z", "component": place},
        }
        with zipfile.ZipFile(wheel, "w") as made:
            made.writestr("clearpipe/__init__.py", "")
            made.writestr(listed, json.dumps(bom))
            made.writestr(f"{folder}/RECORD", f"clearpipe/__init__.py,sha256=x,0\n{listed},s,1\n")
        finish.finish(wheel, 86400)
        with zipfile.ZipFile(wheel) as done:
            contents.append({name: done.read(name) for name in done.namelist()})
    assert contents[0] == contents[1]
    bom = json.loads(contents[0][listed])
    assert bom["metadata"]["component"] == "path+file:///clearpipe/crates/py#clearpipe-py@0.1.0"
    assert bom["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents[0][listed]).digest()).decode()
    wanted = f"{listed},sha256={digest.rstrip('=')},{len(contents[0][listed])}"
    assert contents[0][f"{folder}/RECORD"].decode().splitlines() == [
        "clearpipe/__init__.py,sha256=x,0",
        wanted,
    ]
