"""Comment lines that are wider than the code may be, which rustfmt and ruff's formatter let pass:

    comment_width.py [--fix] [FOLDER | FILE ...]

names them, and exits with 1 if there are any; `--fix` wraps each anew, to its paragraph's end.
Without a path: all sources in Rust and C of this repository."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("benches", "crates", "ebpf", "fuzz")
SUFFIXES = (".rs", ".c", ".h")
WIDTH = 100

COMMENT = re.compile(r"(?P<head>\s*(?://[/!]?|/?\*))(?P<lead> +)(?P<text>\S.*)")
ITEM = re.compile(r"(?:[-*]|\d+[.)]) +")
# A span of code is not divided, nor is anything else without a blank.
WORD = re.compile(r"(?:`[^`]*`|\S)+")
# None of these starts a line: it would be an item, a quotation and so on, or read badly.
BOUND = re.compile(r"[-+*/=<]=?|[#|]|%\S?|>.*|\d+[.)]|\*/")


@dataclass(frozen=True)
class Line:
    """A line of a comment: its slashes, the blanks after them, and the text."""

    head: str
    lead: str
    text: str

    @property
    def hang(self) -> str:
        """Where the text of an item goes on."""
        item = ITEM.match(self.text)
        return self.lead + " " * len(item[0]) if item else self.lead

    @property
    def below(self) -> str:
        """What the next line begins with."""
        return self.head.replace("/*", " *")

    @property
    def is_prose(self) -> bool:
        return not self.text.startswith(("|", "#", "```", "<http"))

    def goes_on(self, after: Line) -> bool:
        """Is this the paragraph of `after`?"""
        return (
            (self.head, self.lead) == (after.below, after.hang)
            and self.is_prose
            and not ITEM.match(self.text)
        )


def parsed(line: str) -> Line | None:
    found = COMMENT.fullmatch(line)
    return Line(found["head"], found["lead"], found["text"]) if found else None


def fenced(lines: Sequence[str]) -> set[int]:
    """The lines between fences, and these."""
    inside, found = False, set()
    for i, line in enumerate(lines):
        comment = parsed(line)
        fence = comment is not None and comment.text.startswith("```")
        if inside or fence:
            found.add(i)
        inside = inside != fence
    return found


def too_wide(lines: Sequence[str]) -> list[int]:
    """The comment lines beyond the width that can be wrapped."""
    code = fenced(lines)
    wide = (i for i, line in enumerate(lines) if len(line) > WIDTH and i not in code)
    return [i for i in wide if (c := parsed(lines[i])) and c.is_prose and len(words(c.text)) > 1]


def words(text: str) -> list[str]:
    """What may stand at the start of a line, each with what may not after it."""
    found: list[str] = []
    for word in WORD.findall(text):
        if found and BOUND.fullmatch(word):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def filled(first: Line, text: str) -> Iterator[str]:
    """The text in lines, the first of which begins as `first` does."""
    line, *rest = words(text)
    line = first.head + first.lead + line
    for word in rest:
        if len(line) + 1 + len(word) > WIDTH:
            yield line
            line = first.below + first.hang + word
        else:
            line += f" {word}"
    yield line


def wrapped(source: str) -> str:
    """The source with every wide comment line filled anew, to its paragraph's end."""
    lines = source.split("\n")
    for i in reversed(too_wide(lines)):
        first = parsed(lines[i])
        assert first is not None
        end, before, text = i + 1, first, first.text
        while end < len(lines) and (line := parsed(lines[end])) and line.goes_on(before):
            text += f" {line.text}"
            before = Line(line.head, line.lead, "")
            end += 1
        lines[i:end] = filled(first, text)
    return "\n".join(lines)


def sources(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.rglob("*.*")) if path.is_dir() else [path]
        yield from (f for f in found if f.suffix in SUFFIXES and "target" not in f.parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("paths", nargs="*", type=Path)
    told = parser.parse_args()
    found = 0
    for path in sources(told.paths or [ROOT / name for name in SOURCES]):
        source = path.read_text(encoding="utf-8")
        if told.fix:
            path.write_text(wrapped(source), encoding="utf-8")
            continue
        for i in too_wide(source.split("\n")):
            print(f"{path}:{i + 1}: a comment beyond {WIDTH} columns")
            found += 1
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
