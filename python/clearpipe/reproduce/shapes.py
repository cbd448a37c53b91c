"""Are values that a file has of the types that are wanted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
    dict: "a table",
}


def wrong(value: object, shape: Any, where: str = "") -> tuple[str, str] | None:
    """The first place in the value that is not of the shape, and what is to be there; None if it
    is. A shape is a type, a union of types, a list of one shape (of lists and tuples), or a
    dictionary: keys that are to be there, with their shapes."""
    if isinstance(shape, dict):
        return _table(value, shape, where)
    origin, inner = get_origin(shape), get_args(shape)
    if isinstance(shape, list) or origin in (list, tuple):
        return _list(value, shape[0:1] if isinstance(shape, list) else inner, where)
    if shape is Any or (origin in (None, Mapping) and _is(value, origin or shape)):
        return None
    if origin is Literal and value in inner:
        return None
    if origin in (Union, UnionType) and any(wrong(value, one) is None for one in inner):
        return None
    return where, told(shape)


def _table(value: object, shape: Mapping[str, Any], where: str) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return where, "expected a table"
    for key, one in shape.items():
        here = f"{where}.{key}".lstrip(".")
        if key not in value:
            return here, "missing"
        if found := wrong(value[key], one, here):
            return found
    return None


def _list(value: object, inner: Sequence[Any], where: str) -> tuple[str, str] | None:
    some = inner[-1:] == (...,) or len(inner) == 1
    if not isinstance(value, list | tuple) or not (some or len(value) == len(inner)):
        return where, "expected a list" if some else f"expected a list of {len(inner)}"
    for number, one in enumerate(value):
        if found := wrong(one, inner[0 if some else number], f"{where}[{number}]"):
            return found
    return None


def _is(value: object, kind: type) -> bool:
    """As isinstance, but a whole number is a number, and true is none."""
    if kind in (int, float):
        return type(value) is int or type(value) is kind
    return isinstance(value, kind)


def told(shape: Any) -> str:
    """`expected a number or null`."""
    origin, inner = get_origin(shape), get_args(shape)
    if origin is Literal:
        return f"expected {' or '.join(map(str, inner))}"
    kinds = inner if origin in (Union, UnionType) else [shape]
    words = [WORDS.get(one) or _list_told(get_args(one), get_origin(one)) for one in kinds]
    return f"expected {' or '.join(words)}"


def _list_told(inner: Sequence[Any], origin: object) -> str:
    if origin not in (list, tuple):
        return "a table"
    return "a list" if inner[-1:] == (...,) or len(inner) == 1 else f"a list of {len(inner)}"
