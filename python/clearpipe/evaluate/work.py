"""Doing an evaluation's runs, and judging them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import clearpipe as cp
from clearpipe.evaluate.cast import Cast
from clearpipe.evaluate.data import Area, areas, sheet
from clearpipe.evaluate.judge import VERDICTS, Judge, Outcome, Row
from clearpipe.progress import Board
from clearpipe.reproduce import runs
from clearpipe.reproduce import work as reproducing
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.data import Figure, Scale
from clearpipe.sweep.runner import Executor, Options, Tally, Threads
from clearpipe.sweep.store import Store

if TYPE_CHECKING:
    from clearpipe.evaluate.kernel import Kernel

Engine: TypeAlias = Literal["packet", "linux"]


@dataclass
class Job:
    """How an evaluation is run."""

    store: Store
    cast: Cast
    scale: Scale
    executor: Executor = field(default_factory=Threads)
    options: Options = field(default_factory=Options)
    only: Sequence[str] = ()
    """These areas alone; all if empty."""
    engine: Engine = "packet"
    """`linux`: on this machine's kernel, in real time, one run after another."""
    deadline: float | None = None
    """The `time.monotonic()` at which runs in real time stop; the executor has that of others."""
    board: Board = field(default_factory=Board)

    def __post_init__(self) -> None:
        self.areas: Sequence[Area] = [
            area for area in areas(self.cast.book()) if not self.only or area.id in self.only
        ]
        self.judge = Judge(self.cast, sheet().margin)
        self.kernel: Kernel | None = None
        if self.engine == "linux":
            # Elsewhere the package is not needed, and its imports take a while.
            from clearpipe.evaluate.kernel import Kernel

            self.kernel = Kernel(self.scale)
            asked = [area for area in self.areas if not self.judge.excluded(area)]
            changed = {area.id: self.kernel.area(area) for area in asked}
            self.areas = [changed.get(area.id, area) for area in self.areas]

    @property
    def figures(self) -> list[Figure]:
        """The runs of every area that is asked of this control."""
        asked = [area for area in self.areas if not self.judge.excluded(area)]
        return [area.figure for area in asked if area.figure is not None]

    def work(self) -> reproducing.Job:
        """The same as a job of figures."""
        return reproducing.Job(
            self.store,
            self.scale,
            executor=self.executor,
            options=self.options,
            board=self.board,
            deadline=self.deadline,
            linux=self.kernel is not None,
            ebpf=self.kernel is not None and self.kernel.needs_ebpf,
        )


@dataclass(frozen=True)
class Done:
    """A control's evaluation."""

    cast: Cast
    scale: Scale
    outcomes: Sequence[Outcome]
    datas: Mapping[str, runs.Data]
    """By area."""
    engine: Engine = "packet"
    lateness: str = ""
    """How late the emulator's packets were, in words; of the linux engine only."""
    only: Sequence[str] = ()
    """The areas that were chosen; all if empty."""

    def counts(self) -> Counter[str]:
        """Statements by verdict."""
        return Counter(outcome.verdict for outcome in self.outcomes)

    @property
    def missing(self) -> int:
        """Runs that are not done, or failed."""
        return sum(len(data.missing) for data in self.datas.values())

    @property
    def runs(self) -> int:
        """Runs that it is judged by."""
        return sum(len(data.cells) for data in self.datas.values())

    @property
    def errors(self) -> list[str]:
        """What went wrong, each once."""
        return sorted({error for data in self.datas.values() for error in data.errors})

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what the runs used, by name."""
        found = {key: v for data in self.datas.values() for key, v in data.versions.items()}
        return dict(sorted(found.items()))

    @property
    def title(self) -> str:
        """What was evaluated, and where if not in the packet engine."""
        where = "" if self.engine == "packet" else " on the kernel"
        return f"{self.cast.label}, evaluated{where}"

    @property
    def kernels(self) -> list[str]:
        """The kernels that runs were on, without what a distribution adds to their number."""
        cells = [cell for data in self.datas.values() for cell in data.cells]
        found = {cell.parts["kernel"] for cell in cells if "kernel" in cell.parts}
        return sorted({kernel.partition("-")[0] for kernel in found})

    def as_json(self) -> dict[str, Any]:
        """All of it, in an order that depends on the data alone."""
        return {
            "protocol": dict(self.cast.subject.host),
            "name": self.cast.subject.name,
            "queue": dict(self.cast.router),
            "queue_from": self.cast.queue_from,
            "against": list(self.cast.against),
            "standards": list(self.cast.standards),
            "scale": self.scale,
            **({"areas": list(self.only)} if self.only else {}),
            **self._on_kernel(),
            "rule": rule(),
            "model_version": cp.model_version(),
            "parts": self.versions,
            "runs": self.runs,
            "missing": self.missing,
            "verdicts": {verdict: self.counts()[verdict] for verdict in VERDICTS},
            "statements": [_statement(outcome) for outcome in self.outcomes],
        }

    def _on_kernel(self) -> dict[str, Any]:
        if self.engine == "packet":
            return {}
        return {"engine": self.engine, "kernels": self.kernels, "lateness": self.lateness}


def rule() -> str:
    """The one rule, in a sentence."""
    return (
        "RFC 9743, section 5, sets no thresholds. Where a text has a number, that is the bound. "
        "Else, where it asks that a proposal do no worse: a mean is no worse than the worse of "
        f"{' and '.join(sheet().standards)} (RFC 5681 and RFC 9438) in the same runs, or, for "
        "harm, than that of the victim's own kind, by more than "
        f"{sheet().margin:.0%} of it and the measure's resolution. Else there is no verdict."
    )


def _statement(outcome: Outcome) -> dict[str, Any]:
    one = outcome.statement
    return {
        "id": one.id,
        "area": outcome.area.id,
        "says": one.says,
        "cites": list(one.cites),
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "quantity": one.quantity,
        "unit": one.unit,
        "better": one.better,
        "bound": one.bound or one.source,
        "measured_by": one.metric,
        "rows": [_row(row) for row in outcome.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    reading = row.reading
    return {
        "at": reading.label,
        **_values(reading),
        "lo": _finite(reading.lo),
        "hi": _finite(reading.hi),
        "inside": reading.inside,
        "unsure": reading.crosses,
        "beside": [
            {"of": one.label, "makes_bound": one.bound, **_values(one.reading)}
            for one in row.beside
        ],
    }


def _values(reading: Reading) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mean": _finite(reading.interval.mean),
        "half": _finite(reading.interval.half),
        "values": [_finite(value) for value in reading.values],
    }
    return found | ({"censored": reading.censored} if reading.censored else {})


def _finite(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def left(job: Job) -> int:
    """How many runs are to be done."""
    return reproducing.left(job.work(), job.figures)


def run(job: Job) -> Tally:
    """Do what is missing. Raises OutOfTime, and UnsupportedError for what the system lacks."""
    if job.kernel is not None:
        job.kernel.check()
    job.store.open()
    whole = Tally()
    for number, figure in enumerate(job.figures, 1):
        job.board.about = f"{figure.figure} ({number} of {len(job.figures)})"
        tally = reproducing.run(replace(job.work(), board=job.board), figure)
        for name in ("wanted", "done", "failed", "fresh", "elsewhere"):
            setattr(whole, name, getattr(whole, name) + getattr(tally, name))
    return whole


def judge(job: Job) -> Done:
    """The verdicts by what the store has now."""
    outcomes: list[Outcome] = []
    datas: dict[str, runs.Data] = {}
    work = job.work()
    for area in job.areas:
        data = None
        if area.figure is not None and not job.judge.excluded(area):
            data = runs.read(area.figure, work.sweeps(area.figure), job.store)
            datas[area.id] = data
        outcomes += job.judge.area(area, data)
    late = ""
    if job.kernel is not None:
        from clearpipe.evaluate.kernel import lateness

        late = lateness(list(datas.values()))
    return Done(job.cast, job.scale, outcomes, datas, job.engine, late, job.only)
