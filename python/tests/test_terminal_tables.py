"""What a pipe gets of a table: every cell whole, in columns two blanks apart."""

from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clearpipe import overview, terminal
from clearpipe.cli import app

LONG = "a sentence that is longer than any column should be, and that nobody wants to lose"


def piped(*parts: object, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    out = StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    terminal.show(*parts)  # type: ignore[arg-type]
    return out.getvalue().split("\n")


def test_columns_are_as_narrow_as_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    table = overview.new_table("Title", ["Name", "Queue pkts\nmean / p90", "Note"])
    table.add_row("a", "1 / 2", "x")
    table.add_row("beta", "10.25 / 2", "")
    table.caption = "Below."
    assert piped(table, "a line", monkeypatch=monkeypatch) == [
        "Title",
        "      Queue pkts",
        "Name  mean / p90  Note",
        "a          1 / 2     x",
        "beta   10.25 / 2",
        "Below.",
        "",
        "a line",
        "",
    ]


def test_no_cell_is_cut_and_none_makes_other_lines_long(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["a", LONG, "end"], ["b", "short", "end"], ["c", "two\nlines", "end"]]
    grid = overview.Grid("T", ["Name", "About", "Last"], rows, left=3)
    assert piped(grid, monkeypatch=monkeypatch) == [
        "T",
        "Name  About      Last",
        f"a     {LONG}  end",
        "b     short      end",
        "c     two lines  end",
        "",
        "",
    ]


def test_wide_signs_count_as_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    table = overview.new_table("", ["Name", "n"], left=1)
    table.add_row("輻輳", "1")
    table.add_row("ab", "22")
    assert piped(table, monkeypatch=monkeypatch)[:3] == ["Name   n", "輻輳   1", "ab    22"]


def test_a_terminal_has_rules_and_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "dumb")
    terminal.show(overview.Grid("T", ["Name", "About"], [["a", "b"]], left=2))
    assert "───" in out.getvalue()
    assert all(len(line) <= 40 for line in out.getvalue().split("\n"))


@pytest.mark.parametrize(
    "words",
    [["list", "protocols"], ["show", "abilene"], ["doctor"], ["theory", "maxmin", "abilene"]],
)
def test_commands_have_no_rules_no_ellipsis_and_no_blanks_at_ends(words: list[str]) -> None:
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.stderr
    lines = shown.stdout.split("\n")
    assert len(lines) > 5
    assert not re.search("[─━│…]", shown.stdout)
    assert not [line for line in lines if line != line.rstrip()]


def test_a_run_is_told_in_columns_that_a_program_can_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sets = ["--set", "duration=2s", "--set", "warmup=1s"]
    sets += ["--set", "flows.fwd.start=0s", "--set", "flows.rev.start=0s"]
    shown = CliRunner().invoke(app, ["run", "base-case-xcp", *sets])
    assert shown.exit_code == 0, shown.stderr
    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("bottleneck ")]
    assert len(re.split(r" {2,}", row)) == 7
