"""Looking for the scenario where a congestion control starves a flow, idles, or bloats.

    from clearpipe import attack

    found = attack.protocol("bbr", "starve", seed=1)
    print(found.value, found.harm)

`clearpipe attack` is the same on the command line; docs/howto/attack.md tells how to read what it
finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearpipe.attack.search import Found

__all__ = ["protocol"]


def protocol(  # noqa: PLR0913 - all by name, but two
    name: str,
    goal: str,
    *,
    queue: str | None = None,
    code: str | None = None,
    seed: int = 1,
    evaluations: int = 400,
    fixed: Sequence[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> Found:
    """The worst scenario that so many evaluations find, shrunk; `goal` is starve, idle or bloat.

    Dimensions in `fixed` stay harmless; `bounds` replaces those of space.toml, in base units.
    Raises ConfigError for what there is not, UnsupportedError without the package cmaes.
    """
    from clearpipe.attack import search
    from clearpipe.attack.space import space
    from clearpipe.evaluate.cast import cast

    who = cast(name, queue, (), code)
    return search.run(search.Job(who, goal, space(fixed, bounds or {}), seed, evaluations))
