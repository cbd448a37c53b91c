"""Commands whose help is written as people write it: `--seed N`, `FILE`, a range in words.

Typer's own has types there, `<int range>` and `0<=x<=9223372036854775807`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from clearpipe.plain_values import read_plainly

RANGE = re.compile(r"(?:(-?[\d.]+)<=?)?x(?:<=?(-?[\d.]+)|>=?(-?[\d.]+))?")
# A bound that only says how large a whole number a computer has.
HUGE = 2**31


def _name(param: Any, context: Any) -> str:
    """What stands for a value: the name that was given for it, or the words to choose from."""
    if param.metavar is not None:
        return str(param.metavar)
    if param.param_type_name == "argument":
        return str(param.name).upper()
    return str(param.display_type(context)).strip("<>")


def _many(param: Any, context: Any) -> str:
    return _name(param, context) + ("..." if param.nargs != 1 else "")


def _in_words(bounds: re.Match[str]) -> str:
    low, high, above = bounds.groups()
    low = low or above
    if high is not None and float(high) >= HUGE:
        high = None
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"{low} or more" if low is not None else f"at most {high}"


def _notes(text: str) -> str:
    """The default and the bounds behind an option's words."""
    head, sign, tail = text.rpartition("  [")
    if not sign or not tail.endswith("]"):
        return text
    told = []
    for part in tail[:-1].split("; "):
        bounds = RANGE.fullmatch(part)
        default = re.fullmatch(r"default: \((.*)\)", part)
        told.append(_in_words(bounds) if bounds else f"default: {default[1]}" if default else part)
    # Whole numbers have no sign where nothing says so.
    told = [part for part in told if part != "0 or more"]
    return f"{head}{sign}{'; '.join(told)}]" if told else head


def record(param: Any, context: Any) -> tuple[str, str] | None:
    """What the help has of an argument or an option: how it is written, and what it means."""
    found = param.get_help_record(context)
    if found is None:
        return None
    if param.param_type_name == "argument":
        return _many(param, context), _notes(found[1])
    names = sorted((*param.opts, *param.secondary_opts), key=lambda name: name.startswith("--"))
    written = ", ".join(names)
    if not param.is_flag and not param.count:
        written += f" {_name(param, context)}"
    return written, _notes(found[1])


def usage(params: Any, context: Any) -> list[str]:
    """The arguments of a command, as its first line has them."""
    arguments = [param for param in params if param.param_type_name == "argument"]
    named = [(_many(param, context), param.required) for param in arguments]
    return [name if required else f"[{name}]" for name, required in named]


class Command(TyperCommand):
    """A command with such a help, which reads plain values itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Every option and argument has its value."""
        read_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the command's name."""
        own = [self.options_metavar] if self.options_metavar else []
        return [*own, *usage(self.get_params(ctx), ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if told := record(param, ctx):
                sections.setdefault(self.section(param), []).append(told)
        # `--help` stands at the end.
        sections["Options"] = sections.pop("Options")
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def section(self, param: Any) -> str:
        """Under which heading it stands."""
        return "Arguments" if param.param_type_name == "argument" else "Options"


class InGroups(Command):
    """One whose help has its options in groups, those of their `rich_help_panel`."""

    def section(self, param: Any) -> str:
        """Groups stand as their first options do."""
        return getattr(param, "rich_help_panel", None) or super().section(param)


class Group(TyperGroup):
    """A command with commands of its own, which reads plain values itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Every option has its value."""
        read_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """A command with commands of its own, with the house's settings."""

    def __init__(self, name: str, about: str, **more: Any) -> None:
        super().__init__(
            name=name,
            cls=Group,
            help=about,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]},
            **more,
        )

    def command(  # type: ignore[override]
        self, name: str | None = None, *, cls: type[TyperCommand] = Command, **settings: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """As Typer's, of the class `Command`."""
        return super().command(name, cls=cls, **settings)
