"""The table of the papers' systems is whole, its page is of it, and its commands run."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clearpipe.cli import app

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "reference" / "systems.toml"
SYSTEMS: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["systems"]
WORKS = [system for system in SYSTEMS if "works" in system]

_spec = importlib.util.spec_from_file_location(
    "make_systems", ROOT / "python" / "tools" / "make_systems.py"
)
assert _spec is not None
assert _spec.loader is not None
make_systems = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_systems)


def test_every_row_is_there_once_and_has_one_state() -> None:
    assert [system["row"] for system in SYSTEMS] == list(range(1, 130))
    for system in SYSTEMS:
        kind = make_systems.state(system)
        assert set(system) - {"needs", "note"} == {"row", "name", kind}, system
        assert kind == "works" or "note" not in system
        assert system.get("needs", "linux") == "linux"
        assert system[kind].startswith("clearpipe ") == (kind == "works"), system
    for wrong in ({"row": 1}, {"row": 1, "works": "a", "words": "b"}):
        with pytest.raises(ValueError, match="row 1: one of works, words, not_yet"):
            make_systems.state(wrong)


def test_the_page_is_of_the_table() -> None:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    page = TABLE.with_suffix(".md").read_text(encoding="utf-8")
    assert page == make_systems.page(table), "make systems"


def check(system: dict[str, Any]) -> None:
    words = shlex.split(system["works"])[1:]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, f"row {system['row']}: {told.stderr}"
    # What a run or a theory prints has numbers, and those of a run are of links that carried data.
    assert any(character.isdigit() for character in told.stdout), system
    if words[0] == "run":
        assert "fingerprint" in told.stdout or "result in" in told.stdout, told.stdout
        assert "Utilization %" in told.stdout, told.stdout


def simulated(system: dict[str, Any]) -> bool:
    return "needs" not in system


@pytest.mark.parametrize("system", WORKS[::9], ids=lambda system: str(system["row"]))
def test_a_sample_of_the_commands_runs(
    system: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if simulated(system):
        check(system)


@pytest.mark.kernel
@pytest.mark.long
@pytest.mark.parametrize("system", WORKS, ids=lambda system: str(system["row"]))
def test_every_command_runs(
    system: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if not simulated(system) and (os.geteuid() != 0 or not shutil.which("clearpipe-bpf")):
        pytest.skip("the linux engine needs root and clearpipe-bpf (make linux)")
    check(system)
