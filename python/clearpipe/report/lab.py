"""Links that open scenarios in the lab (docs/howto/lab.md). A link has them in its fragment, which
browsers send to no server."""

from __future__ import annotations

import base64
import json
import os
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearpipe import cite, examples
from clearpipe.errors import ConfigError

if TYPE_CHECKING:
    from clearpipe.result import Result

VARIABLE = "CLEARPIPE_LAB"
"""The environment variable that says where the lab is."""

# What lab/src reads at most.
MOST_BYTES = 200_000
MOST_CHARACTERS = 150_000
MOST_LABEL = 60
MOST_LANES = 3
MOST_REP = 2**32 - 1
MOST_SETS = 100
MOST_SET = 500

FILES = ("trace", "cdf", "file")
"""Keys of a scenario that may name a file."""


class Lane(NamedTuple):
    """A run of the lab."""

    toml: str
    label: str = ""
    """What the lab calls it; by its protocols if this is empty."""
    sets: Sequence[str] = ()
    """As `run --set`."""
    rep: int = 0


def address() -> str:
    """Where the lab is: what CLEARPIPE_LAB names, empty for no links; else its place in the
    documentation site.

    Raises ConfigError for what is no web page's address.
    """
    named = os.environ.get(VARIABLE)
    if named is None:
        site = cite.url("Documentation")
        return f"{site.rstrip('/')}/lab/index.html" if site else ""
    if named and not named.startswith(("http://", "https://", "file://")):
        allowed = "http://, https:// or file://, or nothing for no links"
        raise ConfigError(f"{VARIABLE}: {named!r} is no address of a page; allowed: {allowed}")
    return named.partition("#")[0]


def of_result(result: Result) -> str:
    """The link that runs a result again, with its fingerprint; empty where the lab cannot."""
    lane = _lane(result)
    return of([lane]) if lane is not None else ""


def of_results(named: Sequence[tuple[str, Result]]) -> str:
    """The link that shows results side by side; empty where the lab cannot."""
    lanes = [_lane(result, label) for label, result in named]
    known = [lane for lane in lanes if lane is not None]
    return of(known) if len(known) == len(lanes) > 1 else ""


def of(lanes: Sequence[Lane]) -> str:
    """The link that opens these runs; empty where the lab cannot run them or there are to be no
    links. A run that is merely too long the lab refuses itself, with its estimate."""
    place = address()
    if not (place and 1 <= len(lanes) <= MOST_LANES and all(map(_can, lanes))):
        return ""
    state = _state(lanes)
    return f"{place}#{packed(state)}" if len(state) <= MOST_BYTES else ""


def fragment(lanes: Sequence[Lane], *, level: int = 9) -> str:
    """What lab/src/share.js unpacks. With `level` 0 every version of zlib gives the same text."""
    return packed(_state(lanes), level)


def packed(state: bytes, level: int = 9) -> str:
    """The raw deflate stream in Base64 for URLs."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = deflate.compress(state) + deflate.flush()
    return "v1." + base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def can_run(toml: str, folder: Path = examples.FOLDER) -> bool:
    """Has the lab all that a scenario asks for? It has no Python, and the examples' files only:
    one of the same name in the scenario's `folder` must be the same file."""
    there = all(_has(*pair, folder) for pair in _pairs(tomllib.loads(toml)))
    return there and len(toml) <= MOST_CHARACTERS


def can_set(option: str, folder: Path = examples.FOLDER) -> bool:
    """Has the lab all that a KEY=VALUE asks for, and does it read one of that length?"""
    key, _, text = option.partition("=")
    name = key.rpartition(".")[2].strip(" \"'")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        # A string without its quotes, which `run --set` takes, too.
        value = text.strip()
    pairs: Iterable[tuple[str, Any]] = _pairs({name: value})
    return _units(option) <= MOST_SET and all(_has(*pair, folder) for pair in pairs)


def _has(key: str, value: object, folder: Path) -> bool:
    if key == "kind" and value == "python":
        return False
    if key not in FILES or not isinstance(value, str):
        return True
    own = examples.FOLDER / value
    if value not in {path.name for path in examples.FOLDER.iterdir()}:
        return False
    try:
        return folder == examples.FOLDER or (folder / value).read_bytes() == own.read_bytes()
    except OSError:
        return False


def _can(lane: Lane) -> bool:
    options = len(lane.sets) <= MOST_SETS and all(map(can_set, lane.sets))
    return options and lane.rep <= MOST_REP and can_run(lane.toml)


def _lane(result: Result, label: str = "") -> Lane | None:
    meta = result.meta
    # The past of a branch is another run's, and the lab goes on where a run was stopped.
    if meta["engine"] != "packet" or "branched_from" in meta or meta["state"] != "done":
        return None
    # An example's own text is shorter, and has the keys that the lab's knobs turn.
    name = examples.name_of(result.scenario_toml)
    toml = examples.path(name).read_text(encoding="utf-8") if name else result.scenario_toml
    same = tomllib.loads(toml).get("seed", 1) == meta["seed"]
    return Lane(toml, label, () if same else (f"seed={meta['seed']}",), meta["rep"])


def _state(lanes: Sequence[Lane]) -> bytes:
    shown = [
        {"toml": one.toml, "label": _label(one.label)}
        | ({"sets": list(one.sets)} if one.sets else {})
        | ({"rep": one.rep} if one.rep else {})
        for one in lanes
    ]
    state = json.dumps({"lanes": shown}, ensure_ascii=False, separators=(",", ":"))
    return state.encode("utf-8")


def _label(text: str) -> str:
    """As much of it as the lab shows; JavaScript counts characters beyond U+FFFF twice."""
    while _units(text) > MOST_LABEL:
        text = text[:-1]
    return text


def _units(text: str) -> int:
    """How long JavaScript says that it is."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key of nested tables, with its value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key, inner
            yield from _pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _pairs(inner)
