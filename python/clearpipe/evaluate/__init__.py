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
    from clearpipe.evaluate.work import Done, Engine
    from clearpipe.reproduce.data import Scale

__all__ = ["AGAINST", "protocol"]

AGAINST = {"packet": ("cubic", "bbr3", "reno"), "linux": ("cubic", "bbr", "reno")}
"""What a control is set against where nothing else is said, by engine: no kernel has BBRv3."""


def protocol(  # noqa: PLR0913 - as the command's options
    name: str,
    store: str | PathLike[str],
    *,
    queue: str | None = None,
    against: Sequence[str] | None = None,
    code: str | None = None,
    scale: Scale = "quick",
    engine: Engine = "packet",
) -> Done:
    """Run what is missing of one control's evaluation and judge its statements.

    `name` and `queue` are registered kinds or tables in TOML, as `{ kind = "bbr", offload = false
    }`; with `code`, a class in Python as `FILE:CLASS`, `name` is what reports call it. The
    engine `linux` runs the kernel's own controls, in real time. Raises ConfigError for what there
    is not, and UnsupportedError for what this system lacks.
    """
    from clearpipe.evaluate import work
    from clearpipe.evaluate.cast import cast
    from clearpipe.sweep.store import Store

    met = AGAINST[engine] if against is None else against
    job = work.Job(Store(Path(store)), cast(name, queue, met, code), scale, engine=engine)
    work.run(job)
    return work.judge(job)
