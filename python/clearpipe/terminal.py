"""What commands print: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import RenderableType

# A table that is piped somewhere is not folded to the width of a terminal.
PIPED_WIDTH = 220


def show(*parts: RenderableType) -> None:
    """Prints tables and lines."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(markup=False, highlight=False, emoji=False, width=width)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def show_json(value: object) -> None:
    """Prints a value as JSON; what JSON does not know (a path, a date) as its text."""
    json.dump(value, sys.stdout, indent=2, allow_nan=False, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


log_format: Literal["text", "json"] = "text"
"""What stands on stderr: lines for people, or a JSON object in each."""


def note(message: str, quiet: bool = False) -> None:
    """A line for people."""
    if not quiet:
        _line("note", message)


def failed(message: str, code: int) -> None:
    """Why the command ends."""
    _line("error", f"clearpipe: {message}", exit_code=code)


def _line(event: str, message: str, **more: object) -> None:
    if log_format == "json":
        text = message.removeprefix("clearpipe: ").removeprefix("note: ")
        print(json.dumps({"event": event, "message": text, **more}), file=sys.stderr, flush=True)
    else:
        print(printable(message), file=sys.stderr)


# What is longer is told by its beginning and its end.
LONGEST = 1800


def printable(text: str) -> str:
    """A message as a terminal may have it: of bounded length, and with control characters (also
    those that turn the direction of writing) by their numbers. Lines stay."""
    # Twice, as a character may become eight.
    return _cut("".join(c if c == "\n" or _shows(c) else f"\\u{{{ord(c):x}}}" for c in _cut(text)))


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    head, tail = text[: LONGEST - 500], text[-400:]
    return f"{head} [... {len(text) - len(head) - len(tail)} characters ...] {tail}"


def _shows(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
