"""Values of options and arguments that need no more than a look.

Typer has pydantic read every value, and for that imports it and builds a schema for each option,
also where the option was not given: half of the time that a short run takes. What is read here is
read the same; whatever asks for more than a look, every error among it, is left to Typer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

NOT_PLAIN = object()
"""What Typer has to read."""

# No sign, no underscore, no more digits than any reader takes.
WHOLE = re.compile(r"[0-9]{1,18}")


def read_plainly(params: Iterable[Any]) -> None:
    """Makes Typer's options and arguments read plain values themselves."""
    for param in params:
        # Once for each, however often its command is called.
        if "process_value" not in vars(param):
            _read_plainly(param)


def _read_plainly(param: Any) -> None:
    careful: Callable[[Any, Any], Any] = param.process_value

    def process_value(context: Any, value: Any) -> Any:
        found = plain(param, value)
        if found is NOT_PLAIN or (param.required and param.value_is_missing(found)):
            return careful(context, value)
        return found if param.callback is None else param.callback(context, param, found)

    param.process_value = process_value


def plain(param: Any, value: Any) -> Any:
    """What Typer would make of the value, its callback left out, or NOT_PLAIN."""
    many = param.multiple or param.nargs == -1
    if value is None:
        return () if many else None
    described = getattr(param, "type_descriptor", None)
    if described is None or described.parameter_info.parser is not None:
        return NOT_PLAIN
    wanted, bounds = described.annotation, described.parameter_info
    if not many:
        return _one(wanted, bounds, value)
    if get_origin(wanted) is not list or not isinstance(value, list | tuple):
        return NOT_PLAIN
    (kind,) = get_args(wanted)
    every = [_one(kind, bounds, one) for one in value]
    return NOT_PLAIN if any(one is NOT_PLAIN for one in every) else every


def _one(wanted: Any, bounds: Any, value: Any) -> Any:
    if wanted is str:
        return value if type(value) is str else NOT_PLAIN
    if wanted is int:
        whole = int(value) if type(value) is str and WHOLE.fullmatch(value) else value
        return whole if type(whole) is int and _within(whole, bounds) else NOT_PLAIN
    if wanted is float:
        return value if type(value) is float and _within(value, bounds) else NOT_PLAIN
    if wanted is Path:
        return _path(bounds, value)
    if get_origin(wanted) is Literal and bounds.case_sensitive:
        return value if type(value) is str and value in get_args(wanted) else NOT_PLAIN
    return NOT_PLAIN


def _within(value: float, bounds: Any) -> bool:
    low = bounds.min is None or bounds.min <= value
    return low and (bounds.max is None or value <= bounds.max)


def _path(asked: Any, value: Any) -> Any:
    """A path of which nothing is asked but that what is there can be read."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        return NOT_PLAIN
    more = asked.exists or asked.writable or asked.resolve_path or asked.allow_dash
    if more or asked.path_type is not None or not (asked.file_okay and asked.dir_okay):
        return NOT_PLAIN
    if asked.readable and not os.access(value, os.R_OK) and os.access(value, os.F_OK):
        return NOT_PLAIN
    return Path(value)
