"""What a short run need not wait for: modules that it has no use for, and pydantic."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rich.cells
import typer

from clearpipe import overview, terminal, units
from clearpipe.cli import app
from clearpipe.plain_values import NOT_PLAIN, plain

TINY = """
schema = 1
name = "tiny"
duration = "0.2s"
topology = { kind = "dumbbell", rate = "2Mbps", rtt = "20ms" }
flows.a = { protocol = "reno", count = 2 }
"""

CODE = """
import sys
from clearpipe.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
names = [name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names]
print(*names, file=sys.stderr)
"""

# Of Clearpipe's modules, those that a run imports; another one needs a reason.
MOST_MODULES = 28


def imported(folder: Path, *words: str) -> set[str]:
    command = [sys.executable, "-c", CODE, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_a_short_run_imports_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ("run", "tiny.toml", "--seed", "3", "--set", "flows.a.count=3", "--out", "r")
    names = imported(tmp_path, *words)
    assert (tmp_path / "r/meta.json").is_file()
    roots = {name.partition(".")[0] for name in names}
    assert {"clearpipe", "typer"} <= roots
    assert not roots & {"pydantic", "rich", "numpy", "matplotlib", "jinja2", "scipy"}
    own = {name for name in names if name.startswith("clearpipe.")}
    mine = {name.split(".")[1] for name in own}
    assert not mine & {"sweep", "reproduce", "evaluate", "attack", "theory", "linux", "new_cli"}
    assert len(own) <= MOST_MODULES, sorted(own)


def every(command: Any) -> Iterator[Any]:
    yield command
    for one in getattr(command, "commands", {}).values():
        yield from every(one)


VALUES: tuple[Any, ...] = (
    *(None, "", "x", "a=b", "0", "1", "7", "007", "-1", "+1", " 1", "1_0", "1.5", "1e3", "nan"),
    *("99999999999999999999", "9223372036854775808", "packet", "json", "text", "TEXT", "both"),
    *(
        ".",
        "/no/such/file",
        "~",
        "true",
        0,
        1,
        7,
        -1,
        1.5,
        0.0,
        True,
        False,
        Path("a/b"),
        "x" * 5000,
    ),
    *((), [], ["a", "b"], ("1", "2"), ["x", 1]),
)


ALL = list(every(typer.main.get_command(app)))


@pytest.mark.parametrize("command", ALL, ids=lambda one: one.name)
def test_a_plain_value_is_read_as_typer_reads_it(command: Any) -> None:
    """Whatever is not left to Typer is what Typer makes of it."""
    context = typer.Context(command)
    read = 0
    for param in command.params:
        for value in VALUES:
            found = plain(param, value)
            if found is NOT_PLAIN:
                continue
            read += 1
            made = param.get_runtime_param().coerce(value, param=param, ctx=context)
            assert (type(found), found) == (type(made), made), (param.name, value)
    assert read >= len(command.params)


def test_a_file_that_cannot_be_read_is_left_to_typer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    (file,) = (param for param in command.params if param.name == "file")
    path = tmp_path / "secret.toml"
    path.write_text(TINY)
    assert plain(file, str(path)) == path
    # Root may read everything, so the system is asked in its stead.
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.R_OK)
    assert plain(file, str(path)) is NOT_PLAIN


def test_signs_of_one_place_are_that_to_rich() -> None:
    signs = [chr(i) for i in range(0x3000) if terminal.ONE_PLACE.fullmatch(chr(i))]
    assert len(signs) > 500
    assert {rich.cells.cell_len(sign) for sign in signs} == {1}


def test_a_grid_is_the_same_in_a_pipe_as_richs_table() -> None:
    """Also where a cell has signs that take two places, or lines."""
    rows = [
        ["a", "1\n2", "µ"],
        ["広い", "3", units.DASH],
        ["", "x" * 50, "4\N{NARROW NO-BREAK SPACE}000"],
    ]
    headings = ["Name", "First\nsecond", "Third"]
    grid = overview.Grid("Title", headings, rows, 1, "Below.")
    table = overview.new_table("Title", headings)
    for row in rows:
        table.add_row(*row)
    table.caption = "Below."
    assert list(grid.lines()) == list(terminal.columns(table))
    assert list(overview.Grid("", headings, []).lines())[-1] == ""
