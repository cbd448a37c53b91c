"""A published file of verdicts, read and checked: it may be edited, or of another version."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

from clearpipe.errors import ConfigError
from clearpipe.reproduce import claims, shapes
from clearpipe.reproduce.data import Scale

MAYBE = float | None
READING = {
    "label": str,
    "group": int | None,
    "points": [str],
    "values": [MAYBE],
    "mean": MAYBE,
    "n": int,
    "censored": int,
    "lo": MAYBE,
    "hi": MAYBE,
    "inside": bool,
    "measured": str,
}
PART = {
    **dict.fromkeys(("id", "says", "verdict", "judged_by", "reason", "contradiction"), str),
    **dict.fromkeys(("tolerance", "note", "measured", "at", "accepted", "printed"), str),
    **dict.fromkeys(("range_run", "unsure"), str),
    "measured_by": [str],
    "points": [str],
    "points_left_out": [str],
    **dict.fromkeys(("within", "of"), int),
    "readings": [READING],
    "readings_beyond": [READING],
}
READ = {"points": dict, "names": [str]}
"""Of a check; older files do not have it."""
CLAIM = {
    **dict.fromkeys(("id", "statement", "kind", "basis", "quantity", "expected", "where"), str),
    **dict.fromkeys(("source", "verdict", "inconsistency", "note"), str),
    "settings": [str],
    "parts": [PART],
}
FILE = {
    **dict.fromkeys(("figure", "title", "scale", "model_version"), str),
    **dict.fromkeys(("runs_done", "runs_wanted"), int),
    "errors": [str],
    "parts": dict,
    "claims": [CLAIM],
}

ROUNDED = 1e-8
"""Values and their mean have nine digits; relative to the greatest value."""


def read(path: Path) -> dict[str, Any] | None:
    """The file; None if it is of a form that judged claims as one. Raises ConfigError with the key
    for what is missing, of another kind, or does not go together."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}", file=str(path)) from None
    _is(path, {"claims": [dict]}, found)
    if not all("parts" in claim for claim in found["claims"]):
        return None
    _is(path, FILE, found)
    _one_of(path, "figure", found["figure"], [path.stem])
    _one_of(path, "scale", found["scale"], get_args(Scale))
    for i, claim in enumerate(found["claims"]):
        _one_of(path, f"claims[{i}].verdict", claim["verdict"], claims.BADNESS)
        for j, part in enumerate(claim["parts"]):
            _part(path, f"claims[{i}].parts[{j}]", part)
    return dict(found)


def _part(path: Path, where: str, part: Mapping[str, Any]) -> None:
    if (read := part.get("read")) is not None:
        _is(path, READ, read, f"{where}.read")
        for text, runs in read["points"].items():
            _is(path, tuple[int, int], runs, f"{where}.read.points.{text}")
    _one_of(path, f"{where}.verdict", part["verdict"], claims.BADNESS)
    for key in ("readings", "readings_beyond"):
        for k, reading in enumerate(part[key]):
            here = f"{where}.{key}[{k}]"
            if reading["group"] is not None:
                groups = range(len(part["measured_by"]))
                _one_of(path, f"{here}.group", reading["group"], groups)
            _mean(path, f"{here}.mean", reading)


def _mean(path: Path, where: str, reading: Mapping[str, Any]) -> None:
    """What is computed has a mean and no values."""
    values, told = reading["values"], reading["mean"]
    known = [value for value in values if value is not None]
    if not values or len(known) < len(values):
        return
    mean = fmean(known)
    if told is None or not math.isclose(mean, told, rel_tol=0, abs_tol=_room(known)):
        raise _fail(path, where, f"{json.dumps(told)}, but the mean of its values is {mean:.9g}")


def _room(values: list[float]) -> float:
    return ROUNDED * max(map(abs, values))


def _is(path: Path, shape: Any, value: Any, where: str = "") -> None:
    """Raises ConfigError if the value is not of the shape."""
    if found := shapes.wrong(value, shape, where):
        raise _fail(path, *found)


def _one_of(path: Path, where: str, value: object, allowed: Any) -> None:
    if value not in allowed:
        told = ", ".join(map(str, allowed))
        raise _fail(path, where, f"{value}: unknown (allowed: {told})")


def _fail(path: Path, where: str, message: str) -> ConfigError:
    told = f"{where}: {message}" if where else message
    return ConfigError(f"{path}: {told}", file=str(path), key=where or None)
