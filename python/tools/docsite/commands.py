"""Reference pages of the commands, from the parser itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from clearpipe import help_texts
from clearpipe.cli import app

SKIPPED = {"--install-completion", "--show-completion", "--help"}
LONGEST = 250
"""Lines of a page."""


def _text(said: str | None) -> str:
    text = re.sub(r"\s+", " ", said or "").strip()
    return re.sub(r"([<>*_|\[\]])", r"\\\1", text)


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of each page: the overview, and one for each command."""
    root: Any = typer.main.get_command(app)
    names = list(root.commands)
    lines = [
        "# Commands\n",
        "What each command of `clearpipe` takes. Data goes to stdout, all else to stderr; "
        "[exit codes](../exit-codes.md) say how it ended. `clearpipe COMMAND --help` prints the "
        "same.\n",
        "| command | what it does |\n|---|---|",
    ]
    for name in names:
        command = root.commands[name]
        lines.append(f"| [{name}]({name}.md) | {_text(command.help).partition('. ')[0]} |")
    lines += ["", _toctree(names)]
    yield "index", "\n".join(lines)
    for name in names:
        yield from _pages(f"clearpipe {name}", name, root.commands[name])


def _pages(path: str, file: str, command: Any) -> Iterator[tuple[str, str]]:
    """A page; or one for each command of a group, if together they would be longer than a page."""
    whole = "\n".join(_page(path, command, 1)) + "\n"
    if whole.count("\n") <= LONGEST or not hasattr(command, "commands"):
        yield file, whole
        return
    lines = [
        f"# {path}\n",
        f"{_paragraphs(command.help)}\n",
        "| command | what it does |\n|---|---|",
    ]
    parts = {f"{file}-{name}": (name, sub) for name, sub in command.commands.items()}
    for part, (name, sub) in parts.items():
        lines.append(f"| [{path} {name}]({part}.md) | {_text(sub.help).partition('. ')[0]} |")
    yield file, "\n".join([*lines, "", _toctree(list(parts))])
    for part, (name, sub) in parts.items():
        yield from _pages(f"{path} {name}", part, sub)


def _toctree(names: list[str]) -> str:
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def _page(path: str, command: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} {path}\n"
    yield _paragraphs(command.help) + "\n"
    if hasattr(command, "commands"):
        yield f"```text\n{path} COMMAND ...\n```\n"
        for name, sub in command.commands.items():
            yield from _page(f"{path} {name}", sub, level + 1)
        return
    context = typer.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```\n"
    panels: dict[str, list[tuple[str, str]]] = {}
    for one in command.params:
        record = help_texts.record(one, context)
        if record is None or SKIPPED & set(one.opts):
            continue
        kind = "Arguments" if one.param_type_name == "argument" else "Options"
        panels.setdefault(one.rich_help_panel or kind, []).append(record)
    for title, records in panels.items():
        if len(panels) > 1:
            yield f"**{title}**\n"
        yield "| | meaning |\n|---|---|"
        for names, meaning in records:
            shown = names.replace("|", r"\|")
            yield f"| `{shown}` | {_text(meaning)} |"
        yield ""


def _paragraphs(said: str | None) -> str:
    parts = re.split(r"\n\s*\n|\f|\x08", said or "")
    return "\n\n".join(_text(part) for part in parts if part.strip())
