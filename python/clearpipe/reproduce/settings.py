"""What a verdict was found with: every setting that no default of a protocol or paper decides.

A reader who asks why a claim holds here must find beside it what was chosen: starts and access
links where the paper names none, parameters that a figure's schemes set, and defaults of ours that
are not what the paper prints (`[departure]` in notes.toml).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clearpipe.reproduce import data as papers
from clearpipe.reproduce import runs
from clearpipe.reproduce.data import Claim, Part, Reads

TOLD = ("protocols", "queues", "transport", "packets", "islands")
"""Tables of a scenario whose every entry is a choice."""
ON_FLOWS = ("start", "access_rate", "access_owd")
ON_LINKS = ("buffer", "buffer_per_flow", "queue")


def of(claim: Claim, data: runs.Data) -> list[str]:
    """The settings of the runs that a claim is judged by, each once, in the order of its parts."""
    found: dict[str, None] = {}
    for part in data.parts:
        if schemes := _schemes(claim, part, data):
            found |= dict.fromkeys(_of_part(data, part, schemes))
    return list(found)


def _schemes(claim: Claim, part: Part, data: runs.Data) -> list[str]:
    """Those of the part that the claim is about: all if a check is of it or a measure of it names
    none."""
    measures = [one for one in claim.measures if data.means(one.part, part.name)]
    named = [name for one in measures for name in (*one.scheme, *one.minus, *one.over)]
    real = "linux" if part.real else "packet"
    for one in claim.assertions:
        if one.check and not one.computed and one.engine == real:
            read = [run for run in one.reads or (Reads(),) if run.part in ("", part.name)]
            named += [name for run in read for name in run.scheme or part.schemes]
    if not all(measure.scheme for measure in measures):
        return list(part.schemes)
    members = data.paper.members(named)
    return [name for name in part.schemes if name in members]


def _of_part(data: runs.Data, part: Part, schemes: list[str]) -> Iterator[str]:
    document = tomllib.loads(runs.scenario(data.figure, part))
    own = {name: runs.scheme_sets(data.paper.schemes[name]) for name in schemes}
    columns = [
        (key, axis["name"], column)
        for axis in document["sweep"]["zip"]
        for key, column in axis.items()
        if axis["name"] != "scheme" and key not in ("name", "labels")
    ]
    varied = {key: axis for key, axis, _ in columns}
    # A column of one value is a setting like those of the scenario.
    alike = {key: column[0] for key, _, column in columns if all(x == column[0] for x in column)}
    for key, value in alike.items():
        runs.set_entry(document, key, value)
    # What every scheme sets is told of each.
    by_all = set.intersection(*(set(sets) for sets in own.values())) if own else set()
    yield from _of_document(document, {*varied, *by_all} - alike.keys())
    yield from (
        f"{key} varies with {axis}"
        for key, axis in varied.items()
        if key not in alike and (part.axis is None or key != part.axis.key)
    )
    for name, sets in own.items():
        label = data.paper.schemes[name].label
        kinds = [f"{key} = {kind}" for key, kind in _kinds(sets) if not _is_of(key, varied)]
        if kinds:
            yield f"{label}: {', '.join(kinds)}"
        for key, value in _entries(sets):
            if not _is_of(key, varied):
                yield f"{label}: {key} = {value}"
    yield from _departures(list(own.values()), varied)


def _of_document(document: Mapping[str, Any], replaced: Iterable[str]) -> Iterator[str]:
    """What holds at every point: nothing that an axis or the schemes replace."""
    tables = {name: dict(sorted(document.get(name, {}).items())) for name in TOLD}
    for key, value in (*_kinds(tables), *_entries(tables)):
        if not _is_of(key, replaced):
            yield f"{key} = {value}"
    topology = document.get("topology", {})
    for key in ON_LINKS:
        if key in topology and f"topology.{key}" not in replaced:
            yield f"topology.{key} = {topology[key]}"
    yield from _of_several("links", ON_LINKS, document, replaced)
    yield from _of_several("flows", ON_FLOWS, document, replaced)


def _of_several(
    table: str, keys: Sequence[str], document: Mapping[str, Any], replaced: Iterable[str]
) -> Iterator[str]:
    """Each different value that links or flows have, once."""
    for key in keys:
        values = dict.fromkeys(
            str(one[key])
            for name, one in document.get(table, {}).items()
            if key in one and f"{table}.{name}.{key}" not in replaced
        )
        if values:
            yield f"{key} of {table} = {', '.join(values)}"


def _departures(schemes: Sequence[Mapping[str, Any]], varied: Iterable[str]) -> Iterator[str]:
    """Those of each kind, but for what all schemes of the kind set or an axis varies."""
    of_kinds: dict[str, list[set[str]]] = {}
    for sets in schemes:
        chosen: dict[str, set[str]] = {}
        for key, value in sets.items():
            below = [one.removeprefix(f"{key}.") for one in (*sets, *varied) if _is_of(one, (key,))]
            table = value if isinstance(value, Mapping) else {}
            chosen.setdefault(_kind(value), set()).update(table, below)
        for kind, keys in chosen.items():
            of_kinds.setdefault(kind, []).append(keys)
    for kind, departures in papers.notes().get("departure", {}).items():
        for key, why in departures.items():
            # Of several parameters each alone decides it.
            if any(keys.isdisjoint(key.split(", ")) for keys in of_kinds.get(kind, ())):
                yield f"{kind}: {key}: {why}"


def _kind(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _is_of(key: str, tables: Iterable[str]) -> bool:
    """Is the key one of these, or an entry of one?"""
    return any(f"{key}.".startswith(f"{one}.") for one in tables)


def _kinds(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Of which kind each protocol and queue is, of a table and of those in it."""
    for name, value in table.items():
        if not isinstance(value, Mapping):
            continue
        if "kind" in value:
            yield f"{path}{name}", str(value["kind"])
        yield from _kinds(value, f"{path}{name}.")


def _entries(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """All entries of a table and of those in it, but for kinds."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _entries(value, f"{path}{name}.")
        elif name != "kind":
            yield f"{path}{name}", value
