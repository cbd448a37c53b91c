"""What a verdict is computed by: digests of a paper's functions and of a figure's set-up.

Comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from clearpipe.reproduce import runs
from clearpipe.reproduce.data import Assertion, Figure

SKIPPED = ("ctx", "kind", "type_comment", "type_params")


def of(figure: Figure, assertion: Assertion) -> str:
    """Twelve hexadecimal digits of the functions of the paper's module that measure for the
    assertion, with all that they use of that module; nothing if none does."""
    used = [name[1:] for one in assertion.measures for name in runs.names(one.metric)
            if name.startswith("@")]  # fmt: skip
    used += [assertion.check] if assertion.check else []
    if not used:
        return ""
    module = import_module(f"{figure.book.package}.{figure.book.name}")
    return digest(inspect.getsource(module), tuple(used))


@functools.cache
def digest(source: str, names: tuple[str, ...]) -> str:
    """Of the functions of these names and what they use, as the module's source has them."""
    known = _definitions(source)
    found: dict[str, Any] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name in known and name not in found:
            found[name] = known[name]
            wanted += _used(known[name])
    told = repr([(name, _plain(found[name])) for name in sorted(found)])
    return hashlib.sha256(told.encode()).hexdigest()[:12]


@functools.cache
def _definitions(source: str) -> dict[str, ast.stmt]:
    """What the module defines, by name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (one for target in targets for one in ast.walk(target))
            found |= {one.id: node for one in names if isinstance(one, ast.Name)}
    return found


def _used(node: ast.stmt) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            # Metrics name functions so.
            yield one.value.removeprefix("@")


def _plain(node: Any) -> Any:
    """A tree as lists, the same of every version of Python."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = node.body[1:]
    told = [(key, _plain(value)) for key, value in fields.items()
            if key not in SKIPPED and value is not None and value != []]  # fmt: skip
    return [type(node).__name__, *told]


def setup(figure: Figure, scale: str) -> str:
    """Twelve hexadecimal digits of what is run for the figure at this scale."""
    parts = figure.parts["full" if scale == "full" else "quick"]
    texts = [(part.name, part.engine, runs.scenario(figure, part)) for part in parts]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:12]
