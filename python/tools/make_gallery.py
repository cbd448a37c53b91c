"""The gallery: `make_gallery.py [NAME...]` draws its pictures (all of them, or those of NAME) and
writes its pages; `make_gallery.py --pages` writes the pages alone.

What is drawn and said stands in docs/gallery/gallery.toml. A picture is what the command on its
card draws, its coordinates rounded to a hundredth of a point.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from clearpipe import examples
from clearpipe.cli import app
from clearpipe.report import lab

REPOSITORY = Path(__file__).resolve().parents[2]
GALLERY = REPOSITORY / "docs" / "gallery"
WIDTH = 100


class Card(NamedTuple):
    """A scenario and what is shown of it."""

    name: str
    """The example's."""
    title: str
    text: str
    alt: str
    """What the picture shows, for those who do not see it."""
    draw: tuple[str, ...]
    """As `run --draw`."""
    set: tuple[str, ...] = ()
    """As `run --set`."""

    @property
    def link(self) -> str:
        """Into the lab of the documentation site; empty where that cannot run it."""
        toml = examples.path(self.name).read_text(encoding="utf-8")
        if not lab.can_run(toml):
            return ""
        # The lab has probes of its own.
        sets = [change for change in self.set if not change.startswith("probe.")]
        # Level 0: the page is the same whatever zlib is here.
        packed = lab.fragment([lab.Lane(toml, sets=sets)], level=0)
        return f"../lab/index.html#{packed if sets else self.name}"

    def arguments(self, figure: str) -> list[str]:
        """Of `clearpipe`, to draw the picture to a file."""
        sets = [part for change in self.set for part in ("--set", change)]
        draws = [part for name in self.draw for part in ("--draw", name)]
        return ["run", self.name, *sets, "--figure", figure, *draws]


class Group(NamedTuple):
    """A page of cards."""

    page: str
    title: str
    about: str
    cards: tuple[Card, ...]


def groups() -> list[Group]:
    """What gallery.toml says. Raises TypeError for a key that no card has, or one that lacks."""
    data = tomllib.loads((GALLERY / "gallery.toml").read_text(encoding="utf-8"))
    found = []
    for group in data["group"]:
        cards = [
            Card(**{**card, "draw": tuple(card["draw"]), "set": tuple(card.get("set", ()))})
            for card in group.pop("card")
        ]
        found.append(Group(cards=tuple(cards), **group))
    return found


def pages() -> dict[str, str]:
    """The pages by their file names."""
    every = groups()
    made = {f"{group.page}.md": _page(group) for group in every}
    count = sum(len(group.cards) for group in every)
    lines = [
        "# Gallery",
        "",
        *_wrapped(
            f"{count} scenarios with a picture, a sentence and the file. All of them come with "
            "Clearpipe and run in seconds: `clearpipe run NAME` is enough, and the command on a "
            "card draws its picture. Change what you like with `--set`, or open it in the lab and "
            "look inside."
        ),
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(group.page for group in every),
        "```",
    ]
    for group in every:
        lines += ["", f"## [{group.title}]({group.page}.md)", "", group.about, ""]
        lines += ["| scenario | |", "|---|---|"]
        lines += [
            f"| [{card.title}]({group.page}.md#{card.name}) | {card.text} |" for card in group.cards
        ]
    lines += [
        "",
        *_wrapped("`make gallery` draws the pictures again, from {download}`gallery.toml`."),
    ]
    return {"index.md": "\n".join(lines) + "\n", **made}


def _page(group: Group) -> str:
    lines = [f"# {group.title}", "", group.about]
    for card in group.cards:
        file = examples.path(card.name)
        place = Path("../..") / file.relative_to(REPOSITORY)
        command = shlex.join(["clearpipe", *card.arguments(f"{card.name}.svg")])
        lines += ["", f"({card.name})=", f"## {card.title}", "", *_wrapped(card.text), ""]
        lines += [f"![{card.alt}](images/{card.name}.svg)", ""]
        lines += ["```console", f"$ {command}", "```", ""]
        lines += [f"{{download}}`{file.name} <{place.as_posix()}>`"]
        # As HTML: the lab is no page of the documentation's own (docs/conf.py).
        lines += [f'<a class="lab" href="{card.link}">Open in the lab</a>'] * bool(card.link)
        lines += [""]
        lines += ["<details><summary>The scenario</summary>", ""]
        lines += [f"```{{literalinclude}} {place.as_posix()}", ":language: toml", "```", ""]
        lines += ["</details>"]
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def draw(card: Card, picture: Path) -> None:
    """Run the card's command. Raises RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [*card.arguments(str(picture)), "--out", f"{scratch}/run", "--quiet"]
        done = CliRunner().invoke(app, arguments)
    if done.exit_code != 0:
        raise RuntimeError(f"{shlex.join(arguments)}: {done.output}") from done.exception
    picture.write_text(_rounded(picture.read_text(encoding="utf-8")), encoding="utf-8")


def _rounded(svg: str) -> str:
    """The same picture in two thirds of the bytes."""

    def path(found: re.Match[str]) -> str:
        return re.sub(r"(\.\d\d)\d+", r"\1", found[0])

    return re.sub(r' d="[^"]*"', path, svg)


def main(arguments: Sequence[str]) -> None:
    """Draw and write."""
    cards = {card.name: card for group in groups() for card in group.cards}
    wanted = [name for name in arguments if name != "--pages"]
    if unknown := [name for name in wanted if name not in cards]:
        sys.exit(f"{', '.join(unknown)}: no card of {GALLERY / 'gallery.toml'}")
    if "--pages" not in arguments:
        for name in wanted or cards:
            draw(cards[name], GALLERY / "images" / f"{name}.svg")
            print(name, flush=True)
    for name, text in pages().items():
        (GALLERY / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
