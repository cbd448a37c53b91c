"""Comments keep to the line width, and what wraps them changes no word."""

# ruff: noqa: E501 (examples of what is beyond it)

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "tools" / "comment_width.py"

WIDE = """\
//! - D1: the first line of an item that is longer than a hundred columns, which therefore is wrapped anew,
//!   and its second line, of which less is left.
//! - D2: another item.

    /// Nothing else moves: `a span of code that is not divided, however long it may be` and 7 - 3 = 4, then
    /// more text.
    ///
    /// ```
    /// let the_lines_between_fences = "are code, and code is not wrapped anew here, whatever its width is";
    /// ```
    fn code() {} // a comment behind code is the formatter's, which leaves it where it is, beyond the width
"""

WRAPPED = """\
//! - D1: the first line of an item that is longer than a hundred columns, which therefore is
//!   wrapped anew, and its second line, of which less is left.
//! - D2: another item.

    /// Nothing else moves: `a span of code that is not divided, however long it may be` and 7 - 3 =
    /// 4, then more text.
    ///
    /// ```
    /// let the_lines_between_fences = "are code, and code is not wrapped anew here, whatever its width is";
    /// ```
    fn code() {} // a comment behind code is the formatter's, which leaves it where it is, beyond the width
"""


def tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_no_comment_is_wider_than_the_code() -> None:
    done = tool()
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run {TOOL.name} --fix"


def test_wide_comments_are_found_and_wrapped(tmp_path: Path) -> None:
    source = tmp_path / "wide.rs"
    source.write_text(WIDE, encoding="utf-8")
    done = tool(tmp_path)
    assert done.returncode == 1
    assert [line.split(":")[1] for line in done.stdout.splitlines()] == ["1", "5"]
    assert tool("--fix", source).returncode == 0
    assert source.read_text(encoding="utf-8") == WRAPPED
    assert tool(tmp_path).stdout == ""


def test_what_would_change_its_meaning_starts_no_line(tmp_path: Path) -> None:
    """A minus there would begin an item, a number with its dot a numbered one, `>=` a quotation."""
    source = tmp_path / "wide.rs"
    full = f"/// {'x' * 93} to"
    assert len(full) == 100
    for word in ("-", "3.", ">="):
        source.write_text(f"{full} {word} 1\n", encoding="utf-8")
        tool("--fix", source)
        assert source.read_text(encoding="utf-8") == f"/// {'x' * 93}\n/// to {word} 1\n"


def test_c_has_comments_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "wide.c"
    full = f"/* {'x' * 94}"
    source.write_text(f"{full} and\n * so on. */\nint i = 2\n * 3;\n", encoding="utf-8")
    assert tool("--fix", source).returncode == 0
    wrapped = f"{full}\n * and so on. */\nint i = 2\n * 3;\n"
    assert source.read_text(encoding="utf-8") == wrapped
    source.write_text(f"{full} */\n", encoding="utf-8")
    assert tool("--fix", source).returncode == 0
    assert source.read_text(encoding="utf-8") == f"{full} */\n"
