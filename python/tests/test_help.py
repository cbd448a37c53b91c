"""The help of every command, as people read it: no types of the parser stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from clearpipe import help_texts
from clearpipe.cli import app

# What Typer writes for a value without a name (`<int range>`), for lists, arguments and bounds.
RAW = re.compile(r"<[a-z]|\blist\[|(?:int|float) range|[<>]=?x\b|\bx[<>]|\{[A-Z]")


def every(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from every(one, (*path, name))


ALL = list(every(typer.main.get_command(app)))


def told(path: tuple[str, ...]) -> str:
    command = dict(ALL)[path]
    # Wide enough that no word is parted.
    return str(command.get_help(context(command, path)))


def context(command: Any, path: tuple[str, ...]) -> Any:
    name = " ".join(("clearpipe", *path))
    return typer.Context(command, info_name=name, terminal_width=1000, max_content_width=1000)


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_no_type_of_the_parser_is_in_the_help(path: tuple[str, ...], command: Any) -> None:
    text = told(path)
    assert not (found := RAW.search(text)), (found, text)
    assert "9223372036854775807" not in text
    for param in command.params:
        if param.param_type_name == "option" and param.is_flag:
            continue
        word = param.metavar or param.display_type(context(command, path)).strip("<>")
        # A name in capitals, an example such as ci=2%, or words to choose from.
        assert re.fullmatch(r"[A-Z][A-Z0-9_/|:=,.\[\]]*|ci=2%|[a-z]+(\|[a-z]+)+", word), (
            param,
            word,
        )
        assert word in text


def test_there_are_commands_to_try() -> None:
    assert {("run",), ("sweep", "run"), ("theory", "mlcp", "feedback"), ("linux", "load")} <= {
        path for path, _ in ALL
    }


def test_bounds_and_defaults_are_in_words() -> None:
    text = " ".join(told(("run",)).split())
    assert "Usage: clearpipe run [OPTIONS] FILE" in text
    assert "--seed N The seed of the experiment; default: the scenario's own. --rep N" in text
    assert "--reps N Replications 0 to N-1, in parallel. [1 or more]" in text
    assert "--log-format text|json What goes to stderr" in text
    assert "[default: results/NAME-HASH/seedS-repR]" in text
    text = " ".join(told(("reproduce",)).split())
    assert "Usage: clearpipe reproduce [OPTIONS] [WHAT...]" in text
    assert "-j, --jobs N Runs at a time" in text
    shell = " ".join(told(("linux", "shell")).split())
    assert "--loss P The probability of a random loss. [default: 0.0; 0.0 to 1.0]" in shell


def test_a_raw_metavar_is_found() -> None:
    """Typer's own help, which the tests above are to keep out."""
    raw = typer.Typer()

    @raw.command()
    def go(what: list[str], seed: int = typer.Option(1, min=0)) -> None:
        """Does it."""

    text = CliRunner().invoke(raw, ["--help"], env={"TERMINAL_WIDTH": "200"}).stdout
    assert RAW.search(text)
    command: Any = typer.main.get_command(raw)
    lines = [help_texts.record(param, context(command, ())) for param in command.params[:2]]
    assert lines == [("WHAT...", "[required]"), ("--seed int range", "[default: 1; x>=0]")]
