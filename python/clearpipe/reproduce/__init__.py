"""The figures of the papers as named, checked runs.

    from clearpipe import reproduce

    done = reproduce.figure("vcp:fig04", "results/store", scale="quick")
    for outcome in done.outcomes:
        print(outcome.claim.id, outcome.verdict)

`clearpipe reproduce` is the same on the command line; docs/howto/reproduction.md tells how to use
it and how to add a figure.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearpipe.reproduce.data import Scale
    from clearpipe.reproduce.work import Done

__all__ = ["figure"]


def figure(
    name: str,
    store: str | PathLike[str],
    *,
    scale: Scale = "quick",
    linux: bool = False,
    traces: str | PathLike[str] | None = None,
) -> Done:
    """Run what is missing of one figure (`vcp:fig03`) and judge its claims; with `linux` what is
    for this machine's kernel, too, if it can; over the recorded traces of that folder, if any."""
    from clearpipe.errors import ConfigError
    from clearpipe.reproduce import data, work
    from clearpipe.sweep.store import Store

    chosen = data.chosen(name)
    if len(chosen) != 1:
        raise ConfigError(f"{name}: {len(chosen)} figures; expected one, such as {chosen[0].id}")
    folder = None if traces is None else Path(traces)
    job = work.Job(Store(Path(store)), scale, linux=linux, traces=folder)
    work.run(job, chosen[0])
    return work.judge(job, chosen[0])
