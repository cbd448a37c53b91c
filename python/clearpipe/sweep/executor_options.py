"""Where the runs of a sweep are done: on this machine's cores, or by Dask's workers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from clearpipe.sweep.runner import Executor


@dataclass(frozen=True)
class Place:
    """What --executor, --scheduler and --jobs say."""

    kind: str
    scheduler: str | None
    jobs: int | None

    def width(self) -> int:
        """Runs at a time, as far as this machine knows."""
        return self.jobs or os.cpu_count() or 1

    def executor(self, deadline: float | None) -> Executor:
        """Does runs until the deadline (of `time.monotonic`); refuses options that do not fit."""
        from clearpipe.sweep import runner

        if self.kind == "local":
            if self.scheduler is not None:
                raise typer.BadParameter("--scheduler needs --executor dask")
            return runner.Threads(self.jobs, deadline)
        if self.jobs is not None:
            raise typer.BadParameter("--jobs needs --executor local; workers have their own")
        if self.scheduler is None:
            raise typer.BadParameter("--executor dask needs --scheduler ADDR")
        from clearpipe.sweep import cluster

        return cluster.Dask(self.scheduler, deadline)
