"""What a verdict was found with: every setting that no default of a protocol or paper decides.

A reader who asks why a claim holds here must find beside it what was chosen: starts and access
links where the paper names none, parameters that a figure's schemes set, and defaults of ours that
are not what the paper prints (`[departure]` in notes.toml).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from clearpipe.reproduce import data as papers
from clearpipe.reproduce import runs
from clearpipe.reproduce.data import Claim, Part

TOLD = ("protocols", "queues", "transport", "packets", "islands")
"""Tables of a scenario whose every entry is a choice."""
ON_FLOWS = ("start", "access_rate", "access_owd")
ON_TOPOLOGY = ("buffer", "buffer_per_flow")


def of(claim: Claim, data: runs.Data) -> list[str]:
    """The settings of the runs that a claim is judged by, each once, in the order of its parts."""
    found: dict[str, None] = {}
    for part in _parts(claim, data):
        schemes = _schemes(claim, part, data)
        found |= dict.fromkeys(_of_part(data, part, schemes))
    return list(found)


def _parts(claim: Claim, data: runs.Data) -> list[Part]:
    if any(one.check for one in claim.assertions):
        return list(data.parts)
    names = {name for measure in claim.measures for name in data.named(measure.part)}
    return [part for part in data.parts if part.name in names]


def _schemes(claim: Claim, part: Part, data: runs.Data) -> list[str]:
    """Those of the part that the claim names; all if it names none."""
    named: list[str] = []
    for measure in claim.measures:
        names = [*measure.scheme, *measure.minus, *measure.over]
        if not measure.scheme:
            return list(part.schemes)
        named += data.paper.members(names)
    if any(one.check for one in claim.assertions):
        return list(part.schemes)
    return [name for name in part.schemes if name in named]


def _of_part(data: runs.Data, part: Part, schemes: list[str]) -> Iterator[str]:
    document = tomllib.loads(runs.scenario(data.figure, part))
    own = {name: runs.scheme_sets(data.paper.schemes[name]) for name in schemes}
    # What a scheme sets is told of the scheme.
    replaced = {key for sets in own.values() for key in sets}
    yield from _of_tables(document, replaced)
    yield from _of_network(document)
    for axis in document["sweep"]["zip"]:
        if axis["name"] != "scheme":
            keys = [key for key in axis if key not in ("name", "labels")]
            yield from (f"{key} varies with {axis['name']}" for key in keys[1:])
    for name, sets in own.items():
        for key, value in sets.items():
            yield from _told(f"{data.paper.schemes[name].label}: {key}", value)
    values = [value for sets in own.values() for value in sets.values()]
    yield from _departures({_kind(value) for value in values})


def _of_tables(document: Mapping[str, Any], replaced: set[str]) -> Iterator[str]:
    for table in TOLD:
        for key, value in sorted(document.get(table, {}).items()):
            if f"{table}.{key}" not in replaced:
                yield from _told(f"{table}.{key}", value)


def _of_network(document: Mapping[str, Any]) -> Iterator[str]:
    topology, flows = document.get("topology", {}), document.get("flows", {})
    yield from (f"topology.{key} = {topology[key]}" for key in ON_TOPOLOGY if key in topology)
    for key in ON_FLOWS:
        values = dict.fromkeys(str(flow[key]) for flow in flows.values() if key in flow)
        if values:
            yield f"{key} = {', '.join(values)}"


def _departures(kinds: set[str]) -> Iterator[str]:
    for kind, departures in papers.notes().get("departure", {}).items():
        if kind in kinds:
            yield from (f"{kind}: {key}: {why}" for key, why in departures.items())


def _kind(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _told(key: str, value: Any) -> Iterator[str]:
    """A table's entries but its kind, one by one."""
    if not isinstance(value, Mapping):
        yield f"{key} = {value}"
        return
    for name, one in value.items():
        if name != "kind":
            yield from _told(f"{key}.{name}", one)
