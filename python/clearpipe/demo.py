"""The papers' base case under three schemes, and a report that compares them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clearpipe import batch, examples, report
from clearpipe.errors import RunError

SCENARIOS = ("base-case-xcp", "base-case-vcp", "base-case-sack-red")
TITLE = "The base case: XCP, VCP and TCP SACK over RED"


def jobs(out: Path) -> list[batch.Job]:
    """The demo's runs; their results go into `out`, over those of an earlier demo."""
    made = []
    for name in SCENARIOS:
        (job,), _ = batch.plan(examples.path(name), (), None, (0,))
        target = out / name
        stale = (target / "meta.json").is_file() and not _is_stored(job, target)
        made.append(replace(job, out=target, force=stale))
    return made


def _is_stored(job: batch.Job, target: Path) -> bool:
    import clearpipe as cp

    try:
        return batch.same_run(cp.load(target), job)
    except RunError:
        return False


def run(out: Path, quiet: bool = False) -> tuple[list[batch.Done], Path]:
    """Run the demo; gives the results and the report's path."""
    done = batch.run_all(jobs(out), quiet=quiet)
    path = report.render([one.result for one in done], out / "report.html", TITLE)
    return done, path
