"""A congestion control against what the community asks of one.

    from clearpipe import evaluate

    done = evaluate.protocol("bbr", "results/store", scale="quick")
    for outcome in done.outcomes:
        print(outcome.statement.id, outcome.verdict)

`clearpipe evaluate` is the same on the command line; docs/howto/evaluate.md tells how to read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearpipe.evaluate.work import Done
    from clearpipe.reproduce.data import Scale

__all__ = ["AGAINST", "protocol"]

AGAINST = ("cubic", "bbr3", "reno")
"""What a control is set against where nothing else is said."""


def protocol(
    name: str,
    store: str | PathLike[str],
    *,
    queue: str | None = None,
    against: Sequence[str] = AGAINST,
    code: str | None = None,
    scale: Scale = "quick",
) -> Done:
    """Run what is missing of one control's evaluation and judge its statements.

    `name` and `queue` are registered kinds or tables in TOML, as `{ kind = "bbr", offload = false
    }`; with `code`, a class in Python as `FILE:CLASS`, `name` is what reports call it. Raises
    ConfigError for what there is not.
    """
    from clearpipe.evaluate import work
    from clearpipe.evaluate.cast import cast
    from clearpipe.sweep.store import Store

    job = work.Job(Store(Path(store)), cast(name, queue, against, code), scale)
    work.run(job)
    return work.judge(job)
