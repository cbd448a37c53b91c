"""What commands print: data to stdout, everything else to stderr."""

from __future__ import annotations

import codecs
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

# A pipe has no width: what is no table there is never folded.
PIPED_WIDTH = 100_000


@runtime_checkable
class Piped(Protocol):
    """What has lines of its own for a pipe."""

    def lines(self) -> Iterable[str]:
        """One for each entry, whole."""


# Text of which each sign takes one place: it needs no library to print it, which takes as long to
# import as a short run.
ONE_PLACE = re.compile("[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u202f]*")


def show(*parts: RenderableType) -> None:
    """Prints tables and lines. A pipe gets columns two blanks apart, without rules and as narrow as
    what is in them: nothing is folded or cut, however long a line gets."""
    if sys.stdout.isatty():
        _render(parts, None)
        return
    for part in parts:
        if isinstance(part, str) and ONE_PLACE.fullmatch(part):
            sys.stdout.write(f"{part}\n")
        elif not isinstance(part, str) and (lines := _piped(part)) is not None:
            # Rich's own printing would end lines at its width, however large.
            sys.stdout.writelines(f"{line}\n" for line in lines)
        else:
            _render([part], PIPED_WIDTH)


def _render(parts: Iterable[RenderableType], width: int | None) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False, width=width)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def _piped(part: object) -> Iterable[str] | None:
    if isinstance(part, Piped):
        return part.lines()
    from rich.table import Table

    return columns(part) if isinstance(part, Table) else None


def columns(table: Table) -> Iterator[str]:
    """The lines of Rich's table for a pipe, as `aligned` has them."""
    heads = [_told(column.header) for column in table.columns]
    cells = [[_told(cell) for cell in column.cells] for column in table.columns]
    right = [column.justify == "right" for column in table.columns]
    title, caption = (_told(text) if text else "" for text in (table.title, table.caption))
    yield from aligned(title, heads, cells, right, caption)


def aligned(
    title: str,
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    right: Sequence[bool],
    caption: str,
) -> Iterator[str]:
    """A table's lines for a pipe, of `cells` by columns: title, headings, rows and what stands
    below; a blank line after it, as the next table begins with its title."""
    heads = [heading.split("\n") for heading in headings]
    height = max(map(len, heads), default=0)
    # Headings stand on the rows.
    upper = [[*[""] * (height - len(head)), *head] for head in heads]
    rest = [[cell.replace("\n", " ") for cell in column] for column in cells]
    whole = [[*head, *column] for head, column in zip(upper, rest, strict=True)]
    widths = [_width(map(_places, column)) for column in whole]
    if title:
        yield title
    for row in zip(*whole, strict=True):
        padded = []
        for text, width, is_number in zip(row, widths, right, strict=True):
            blanks = " " * (width - _places(text))
            padded.append(blanks + text if is_number else text + blanks)
        yield "  ".join(padded).rstrip()
    if caption:
        yield caption
    yield ""


def _places(text: str) -> int:
    """How many places of a line it takes."""
    if ONE_PLACE.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


# A longer cell makes its own line longer, and not its column wider.
WIDEST = 40


def _width(lengths: Iterable[int]) -> int:
    return max((length for length in lengths if length <= WIDEST), default=0)


def _told(part: RenderableType) -> str:
    return part if isinstance(part, str) else str(part)


# What consoles and pipes without UTF-8 (cp1252, cp437, ASCII) get for signs that they have not.
PLAIN = {
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{MICRO SIGN}": "u",
    "\N{MIDDLE DOT}": ".",
    "\N{EN DASH}": "-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LEFTWARDS ARROW}": "<-",
    "\N{RIGHTWARDS ARROW OVER LEFTWARDS ARROW}": "<->",
    "\N{LIGHT SHADE}": ".",
    **dict.fromkeys("▁▂▃▄▅▆▇█", "#"),
}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Signs by others that mean the same, anything else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    exponent = text.translate(RAISED)
    if exponent != text and exponent.isascii():
        return f"^{exponent}", error.end
    if (first := text[:1]) in PLAIN:
        return PLAIN[first], error.start + 1
    return codecs.backslashreplace_errors(error)


codecs.register_error("clearpipe.plainly", _plainly)


def write_anything() -> None:
    """Let standard output and error write any text, whatever their encoding: a path need not be
    text, and a console need not have every sign."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="clearpipe.plainly")


def show_json(value: object) -> None:
    """Prints a value as JSON; what JSON does not know (a path, a date) as its text.

    JSON is UTF-8 (RFC 8259): where stdout has another encoding, it is written in ASCII.
    """
    ascii_only = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name != "utf-8"
    json.dump(value, sys.stdout, indent=2, allow_nan=False, ensure_ascii=ascii_only, default=str)
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
