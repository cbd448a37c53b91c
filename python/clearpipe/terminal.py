"""What commands print: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

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


def note(message: str, quiet: bool = False) -> None:
    """A line for people."""
    if not quiet:
        print(message, file=sys.stderr)
