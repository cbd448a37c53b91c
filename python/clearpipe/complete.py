"""What a shell may complete: names that are known without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Found = list[tuple[str, str]]
"""Texts, each with a word about it."""


ENGINES = {
    "packet": "every packet",
    "fluid": "delay differential equations",
    "linux": "this machine's TCP, in real time",
}


def engines(incomplete: str) -> Found:
    """`--engine`."""
    return _that_begin(ENGINES.items(), incomplete)


def engines_of_sweeps(incomplete: str) -> Found:
    """`--engine` of sweeps: runs in real time cannot be repeated."""
    return [one for one in engines(incomplete) if one[0] != "linux"]


def eras(incomplete: str) -> Found:
    """An era's name, with what it is."""
    from clearpipe import _core

    era = json.loads(_core.schema_json())["properties"]["era"]
    told = (text.partition(":")[0] for text in era["x-taplo"]["docs"]["enumValues"])
    return _that_begin(zip(era["enum"], told, strict=True), incomplete)


def scenarios(incomplete: str) -> Found:
    """A scenario's name, or a file's, with its folder as far as it is written."""
    from clearpipe import examples

    named = ((one["name"], one["about"]) for one in examples.every())
    return [*_that_begin(named, incomplete), *((path, "") for path in _files(incomplete))]


def sweeps(incomplete: str) -> Found:
    """The same, of those that are sweeps."""
    from clearpipe import examples

    named = ((one["name"], one["about"]) for one in examples.every() if one["sweep"])
    return [*_that_begin(named, incomplete), *((path, "") for path in _files(incomplete))]


def protocols(incomplete: str) -> Found:
    """A protocol's name."""
    import clearpipe as cp

    return _that_begin(((one["name"], one["summary"]) for one in cp.protocols()), incomplete)


def queues(incomplete: str) -> Found:
    """A queue's name."""
    import clearpipe as cp

    return _that_begin(((one["name"], one["summary"]) for one in cp.queues()), incomplete)


def figures(ctx: Any, incomplete: str) -> Found:
    """What `reproduce` takes: all, a paper, a figure."""
    from clearpipe.reproduce import data

    given: list[str] = list(ctx.params.get("targets") or ())
    *_, paper, colon = ("", "", *given)
    if colon == ":" and paper in data.PAPERS:
        # To bash a colon ends a word: what is to be completed begins after it.
        return _that_begin(
            ((one.id.partition("-")[2], one.title) for one in data.paper(paper).figures), incomplete
        )

    every = [("all", "every figure of the papers")]
    every += [(name, "every figure of this paper") for name in data.PAPERS]
    for one in data.every():
        every.append((one.id.replace("-", ":", 1), one.title))
    return _that_begin(every, incomplete)


def keys(incomplete: str) -> Found:
    """A key of `--set` or `--vary`, and after `protocol=` or `queue=` a name."""
    key, sign, value = incomplete.rpartition("=")
    if sign:
        last = key.rpartition(".")[2]
        names = {"protocol": protocols, "queue": queues}.get(last)
        return [] if names is None else [(f"{key}={text}", about) for text, about in names(value)]
    return _that_begin(_keys(), incomplete)


def metrics(incomplete: str, file: str | None = None) -> Found:
    """`--until`: after `metric=` a metric of the scenario."""
    head, sign, last = incomplete.rpartition("metric=")
    if not sign:
        return _that_begin([("ci=2%", ""), ("ci=2%,metric=", "")], incomplete)
    return [(f"{head}metric={name}", "") for name in _metrics(file) if name.startswith(last)]


def until(ctx: Any, incomplete: str) -> Found:
    """The same, of the scenario that is on the line already."""
    # Where the option still lacks its value, click has not told arguments from each other.
    file = ctx.params.get("file") or next(iter(ctx.args), None)
    return metrics(incomplete, None if file is None else str(file))


def _metrics(file: str | None) -> list[str]:
    import tomllib

    import clearpipe as cp
    from clearpipe.sweep import metrics as known

    plain: dict[str, Any] = {"links": {}, "flows": {"": {}}}
    try:
        scenario = plain if file is None else tomllib.loads(cp.resolve(file).toml)
    except (cp.ClearpipeError, OSError):
        scenario = plain
    return sorted(name for name in known.possible(scenario) if "groups.." not in name)


def _keys() -> Iterator[tuple[str, str]]:
    """The keys of a scenario with one table in them, by the schema."""
    import clearpipe as cp

    schema = cp.schema()
    for name, about in schema["properties"].items():
        if name in ("sweep", "plot"):
            continue  # read from the file alone
        told = _about(about)
        inner = _table(about, schema)
        if inner is None:
            yield f"{name}=", told
        for key, value in (inner or {}).items():
            yield f"{name}.{key}=", _about(value)


def _table(about: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    """The keys of a table, of the first of its kinds if there are several."""
    for one in (about, *about.get("oneOf", ()), *about.get("anyOf", ())):
        reference = str(one.get("$ref", ""))
        found = schema["$defs"].get(reference.rpartition("/")[2], {}) if reference else one
        if "properties" in found:
            return dict(found["properties"])
        if found is not about and found:
            inner = _table(found, schema)
            if inner is not None:
                return inner
    return None


def _about(entry: dict[str, Any]) -> str:
    return str(entry.get("description", "")).partition("\n")[0]


def _files(incomplete: str) -> Iterator[str]:
    """Folders and .toml files: a shell that is given names looks for none itself."""
    given = Path(incomplete)
    folder = given if incomplete.endswith("/") else given.parent
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        text = str(path) + ("/" if path.is_dir() else "")
        wanted = path.suffix == ".toml" or path.is_dir()
        if wanted and text.startswith(incomplete) and not path.name.startswith("."):
            yield text


def _that_begin(every: Iterable[tuple[str, str]], incomplete: str) -> Found:
    return [(text, about) for text, about in every if text.startswith(incomplete)]
