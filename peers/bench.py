"""Speed against ns-2, ns-3 and htsim, growth, memory and start-up (`make bench-peers`).

Machines are shared and drift, so what is compared runs alternately on one core, medians of pairs
count, and speeds are by time on the core, not by the wall clock (replications and start-up are).
Standard output has lines `case=`, `scale=`, `memory=` and `startup=` and nothing else.
Exit status: 0 done, 1 when a simulator failed, 4 when Clearpipe needs more memory than its limit, 5
when it is missing, or every peer that was asked for.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import clearpipe_cli
import growth
import memory
import prototypes
import speed
import startup
import sweeps
from dumbbell import MissingError, OverLimitError, PeerError
from settings import Settings, Task, available_cores, note


def all_tasks() -> list[Task]:
    """In the order in which they run."""
    return [
        *startup.tasks(),
        *memory.tasks(),
        *speed.tasks(),
        *growth.tasks(),
        *sweeps.tasks(),
        *prototypes.tasks(),
    ]


def pin_to_one_core(cores: Sequence[int]) -> None:
    """Keeps this process and those it starts on one core, where the system allows it."""
    if not cores:
        note("cannot pin to one core on this system")
        return
    os.sched_setaffinity(0, {cores[-1]})
    note(f"pinned to core {cores[-1]}")


def note_load() -> None:
    """Says when other programs are running: they slow all simulators, and not evenly."""
    load = os.getloadavg()[0]
    if load > 1.0:
        note(f"load average {load:.1f}: this machine is busy, so these figures are rough")


def bench(tasks: Sequence[Task], settings: Settings) -> int:
    """Runs the tasks, also when one fails, and returns the exit status."""
    status, lines = 0, []
    for task in tasks:
        try:
            for line in task.lines(settings):
                print(line, flush=True)
                lines.append(line)
        except OverLimitError as error:
            note(str(error))
            status = status or 4
        except PeerError as error:
            note(str(error))
            status = 1
    cases = [line for line in lines if line.startswith("case=")]
    if cases and all(map(speed.is_skipped, cases)):
        return status or 5
    return status


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Measure Clearpipe's speed beside ns-2, ns-3, htsim; growth, memory, start-up."
    )
    parser.add_argument(
        "--only", default="", metavar="SUBSTR", help="only the lines whose label contains this"
    )
    parser.add_argument(
        "--pairs", type=int, metavar="N", help="take medians of this many (5; 1 with --quick)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a smoke test: short runs, once; not for figures"
    )
    parser.add_argument("--list", action="store_true", help="print the labels and run nothing")
    options = parser.parse_args(argv)
    if options.pairs is not None and options.pairs < 1:
        parser.error("--pairs: at least 1")
    return options


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    options = arguments(argv)
    pairs = options.pairs or (1 if options.quick else 5)
    settings = Settings(pairs, options.only, options.quick, available_cores())
    tasks = [task for task in all_tasks() if task.is_wanted(settings)]
    if not tasks:
        note(f"no label contains {options.only!r}")
        return 2
    if options.list:
        print(*(label for task in tasks for label in task.labels), sep="\n")
        return 0
    try:
        clearpipe_cli.find()
    except MissingError as error:
        note(str(error))
        return 5
    pin_to_one_core(settings.cores)
    note_load()
    status = bench(tasks, settings)
    note_load()
    return status


if __name__ == "__main__":
    sys.exit(main())
