"""What `make` installs is locked: every package that pyproject.toml asks for, by hashes."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What each lock is for: whether Clearpipe's own needs are in it, its extras, whether it builds.
LOCKS = {
    "demo": (True, ["figures"], True),
    "dev": (True, ["dev", "figures", "cluster", "attack"], True),
    "user": (True, [], False),
    "docs": (True, ["docs", "figures"], True),
    "wheels": (False, [], True),
}
PYTHONS = ["3.11", "3.12", "3.13"]


def locked(name: str) -> dict[str, list[tuple[Requirement, int]]]:
    """The locked requirements by package, with how many hashes each has."""
    text = (ROOT / f"python/locks/{name}.txt").read_text(encoding="utf-8")
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for entry in re.findall(r"^[^#\s].*(?:\n    --hash.*)*", text, re.MULTILINE):
        head, *hashes = entry.replace("\\", "").split("\n")
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64} ?", line) for line in hashes)
        one = Requirement(head)
        found.setdefault(one.name, []).append((one, len(hashes)))
    return found


def asked(name: str) -> list[Requirement]:
    """What pyproject.toml asks for there."""
    project = PROJECT["project"]
    runs, extras, builds = LOCKS[name]
    texts = [*project["dependencies"]] if runs else [*PROJECT["dependency-groups"][name]]
    texts += PROJECT["build-system"]["requires"] if builds else []
    for extra in extras:
        texts += project["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_package_is_locked_within_its_range(name: str, python: str) -> None:
    found = locked(name)
    about = {"python_version": python, "python_full_version": f"{python}.0"}
    for one in asked(name):
        mine = [
            lock.specifier
            for lock, _ in found[one.name]
            if lock.marker is None or lock.marker.evaluate(about)
        ]
        assert len(mine) == 1, f"{one} with {python}"
        (exact,) = mine[0]
        assert exact.operator == "=="
        assert one.specifier.contains(exact.version), f"{one}: {exact}; make locks"


@pytest.mark.parametrize("name", LOCKS)
def test_every_lock_is_exact_and_has_hashes(name: str) -> None:
    entries = [entry for mine in locked(name).values() for entry in mine]
    assert len(entries) > 12
    for one, hashes in entries:
        assert [exact.operator for exact in one.specifier] == ["=="], one
        assert hashes > 0, one


def test_make_installs_nothing_else() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = [line.strip() for line in text.splitlines() if "$(PIP_INSTALL)" in line]
    assert installs == [
        "LOCKED := $(PIP_INSTALL) --require-hashes --only-binary :all: -r",
        "$(VENV)/bin/python $(PIP_INSTALL) --no-build-isolation --no-deps .",
    ]
    cargo = re.findall(r"cargo (?:test|run|build|clippy)\b.*", text)
    assert len(cargo) > 8
    assert all("--locked" in line for line in cargo)
    assert PROJECT["tool"]["maturin"]["locked"]


def test_this_python_has_what_is_locked() -> None:
    """Where tests run in the environment that make made."""
    if Path(sys.prefix).resolve() != (ROOT / ".venv-dev").resolve():
        pytest.skip("not the environment of make test")
    from importlib.metadata import version

    for name, mine in locked("dev").items():
        for one, _ in mine:
            if one.marker is None or one.marker.evaluate():
                assert one.specifier.contains(version(name)), name
