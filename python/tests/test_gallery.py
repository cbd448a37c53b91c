"""The gallery says and shows what its table and the package make of it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import clearpipe as cp
from clearpipe import examples
from clearpipe.report import static

REPOSITORY = Path(__file__).resolve().parents[2]
GALLERY = REPOSITORY / "docs" / "gallery"
SPEC = importlib.util.spec_from_file_location(
    "make_gallery", REPOSITORY / "python" / "tools" / "make_gallery.py"
)
assert SPEC is not None
assert SPEC.loader is not None
make_gallery = importlib.util.module_from_spec(SPEC)
sys.modules["make_gallery"] = make_gallery
SPEC.loader.exec_module(make_gallery)

CARDS = [card for group in make_gallery.groups() for card in group.cards]
QUICK = ("incast", "recoveries", "abilene")


def test_there_are_forty_cards_of_scenarios_that_come_along() -> None:
    names = [card.name for card in CARDS]
    assert len(names) == len(set(names)) >= 40
    assert set(names) <= {example["name"] for example in examples.every()}


def test_the_pages_are_those_of_the_table() -> None:
    for name, text in make_gallery.pages().items():
        assert (GALLERY / name).read_text(encoding="utf-8") == text, "run `make gallery`"
        assert len(text.splitlines()) <= 250


def test_every_card_has_its_picture_and_nothing_else_is_there() -> None:
    there = {path.name: path.stat().st_size for path in (GALLERY / "images").iterdir()}
    assert set(there) == {f"{card.name}.svg" for card in CARDS}
    assert sum(there.values()) < 3e6


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_card_is_whole(card: make_gallery.Card) -> None:  # type: ignore[name-defined]
    """It says in words what is seen, and draws what its scenario records."""
    assert len(card.alt) > 60
    assert re.fullmatch(r"[^\[\]]*\.", card.alt)
    assert re.fullmatch(r"[A-Z0-9][^|]*\.", card.text)
    resolved = cp.resolve(examples.path(card.name), set=list(card.set))
    assert len(static.subjects(card.draw, resolved.toml)) == len(card.draw) >= 1


def redrawn(name: str, folder: Path) -> None:
    drawing = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    there = (GALLERY / "images" / f"{name}.svg").read_text(encoding="utf-8")
    drawn_by = re.search(r"Matplotlib v([\d.]+\d)", there)
    assert drawn_by is not None
    if drawn_by[1] != drawing.__version__:
        pytest.skip(f"matplotlib {drawn_by[1]} drew it, and this is {drawing.__version__}")
    card = next(card for card in CARDS if card.name == name)
    picture = folder / f"{name}.svg"
    make_gallery.draw(card, picture)
    assert picture.read_text(encoding="utf-8") == there, name


@pytest.mark.parametrize("name", QUICK)
def test_a_picture_is_what_its_command_draws(name: str, tmp_path: Path) -> None:
    redrawn(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", [card.name for card in CARDS if card.name not in QUICK])
def test_every_picture_is_what_its_command_draws(name: str, tmp_path: Path) -> None:
    redrawn(name, tmp_path)
