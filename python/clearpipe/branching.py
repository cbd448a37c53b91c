"""Going on from the middle of a run in several ways."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from clearpipe import _core, api
from clearpipe.errors import ConfigError, RunError
from clearpipe.result import Result

Changes: TypeAlias = Mapping[str, object] | Sequence[str]
"""Keys of the resolved scenario with their values, or texts such as `KEY=VALUE`."""


def branch(  # noqa: PLR0913 - keywords
    scenario: api.Scenario | api.Source,
    *,
    at: float,
    variants: Mapping[str, Changes],
    seed: int | None = None,
    rep: int = 0,
    set: Sequence[str] = (),
    progress: Callable[[str | None, api.Progress], object] | None = None,
) -> dict[str, Result]:
    """Run a scenario up to `at` seconds and continue from that state as each of `variants`.

    The keys of a variant are those of the resolved scenario (`clearpipe show FILE --resolved`),
    and changes take effect at `at`: `{"half": {"links.bottleneck.rate": "75Mbps"}}`. Allowed
    are the duration, probes, a link's rate, buffer and queue parameters, and when flows stop or,
    if they have not started yet, start. A variant without changes equals, bit for bit, the run that
    was never stopped.

    `progress` gets the variant's name (None before `at`) and how far it is; the first False that
    it returns stops everything.

    Raises ConfigError, with the key, for a change that would have affected the past.
    """
    if not variants:
        raise ConfigError("variants: none given; name at least one", key="variants")
    if not 0 <= at < 1e7:
        raise ConfigError(f"branch_at: {at:g} s is not within a run", key="branch_at")
    names = list(variants)
    for name in names:
        _check_name(name)
    call = None
    if progress is not None:

        def call(number: int | None, *now: float) -> object:
            name = None if number is None else names[number]
            return progress(name, api.Progress(now[0], int(now[1]), int(now[2])))

    source = api.source(scenario)
    pairs = [(name, _texts(changes)) for name, changes in variants.items()]
    runs = _core.branch(
        source.name,
        source.text,
        set,
        at_s=at,
        variants=pairs,
        seed=seed,
        rep=rep,
        on_progress=call,
    )
    results = [Result(run) for run in runs]
    if len(results) < len(names) or not all(result.complete for result in results):
        raise RunError("stopped before all variants were done")
    return dict(zip(names, results, strict=True))


def _check_name(name: str) -> None:
    if re.fullmatch(r"[A-Za-z0-9_][\w.+-]*", name) is None:
        raise ConfigError(f"variant {name!r}: a name may contain only letters, digits and . _ + -")


def _texts(changes: Changes) -> list[str]:
    if isinstance(changes, Mapping):
        return [f"{key}={_text(value)}" for key, value in changes.items()]
    return list(changes)


def _text(value: object) -> str:
    """A value as `--set` reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def parse(texts: Sequence[str]) -> dict[str, list[str]]:
    """Variants as the command line gives them: NAME, or NAME:KEY=VALUE[,KEY=VALUE...]."""
    variants: dict[str, list[str]] = {}
    for text in texts:
        name, _, changes = text.partition(":")
        _check_name(name)
        if name in variants:
            raise ConfigError(f"variant {name}: given twice")
        variants[name] = _split(changes)
        if wrong := next((one for one in variants[name] if "=" not in one), None):
            raise ConfigError(f"variant {name}: {wrong!r} is not KEY=VALUE")
    return variants


def _split(changes: str) -> list[str]:
    """At the commas outside of brackets, braces and quotes."""
    parts = re.findall(r"""(?:\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|"[^"]*"|'[^']*'|[^,])+""", changes)
    return [part.strip() for part in parts if part.strip()]


def run(  # noqa: PLR0913 - one for each option
    file: api.Source,
    *,
    at: float,
    variants: Sequence[str],
    seed: int | None,
    rep: int,
    set: Sequence[str],
    root: Path | None,
    force: bool,
    progress: Callable[[str | None, api.Progress], object] | None = None,
) -> dict[str, Result]:
    """The command line's: as `branch`, and each result is written to `root`/NAME."""
    parsed = parse(variants)
    places = {name: root / name for name in parsed} if root is not None else {}
    for place in places.values():
        _core.check_writable(os.fspath(place), replace=force)
    results = branch(file, at=at, variants=parsed, seed=seed, rep=rep, set=set, progress=progress)
    for name, place in places.items():
        results[name].write(place, replace=force)
    return results
