"""Running figures and judging their claims; what of it is written."""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe import interrupts, style
from clearpipe.atomic_files import clean, write_text
from clearpipe.errors import ConfigError
from clearpipe.progress import Board
from clearpipe.reproduce import claims, code, runs, settings
from clearpipe.reproduce.claims import Judged, Outcome
from clearpipe.reproduce.claims import Reading as Value
from clearpipe.reproduce.data import Figure, Part, Scale, paper
from clearpipe.reproduce.readings import Reading
from clearpipe.sweep import progress, runner
from clearpipe.sweep.runner import Executor, Options, Sweep, Tally, Threads
from clearpipe.sweep.spec import Spec
from clearpipe.sweep.store import Store


@dataclass
class Job:
    """How figures are run."""

    store: Store
    scale: Scale
    only: Sequence[Mapping[str, str]] = ()
    """Conditions: points for which one of them holds."""
    executor: Executor = field(default_factory=Threads)
    options: Options = field(default_factory=Options)
    deadline: float | None = None
    """The `time.monotonic()` at which to stop."""
    quiet: bool = True
    board: Board = field(default_factory=Board)
    """What shows how far the runs are."""
    linux: bool = False
    """Are parts on a real kernel run, too?"""
    ebpf: bool = True
    """Do those have end hosts in eBPF?"""
    reading: Reading | None = None
    """What no paper says is read so, in place of the rule."""
    traces: Path | None = None
    """The folder of recorded traces, for parts that need some."""

    def sweeps(self, figure: Figure) -> list[tuple[Part, Spec]]:
        """The figure's sweeps at the scale."""
        without, files = self.without(figure), self.files(figure)
        found = [
            (part, runs.sweep(figure, part, self.only, self.reading, files))
            for part in figure.parts[self.scale]
            if part.name not in without
        ]
        sweeps = [(part, spec) for part, spec in found if spec is not None]
        runs.check(figure, sweeps, self.store)
        return sweeps

    def files(self, figure: Figure) -> runs.Files | None:
        """The traces that are there; None without a folder, or where the figure needs none."""
        traced = any(part.traced for part in figure.parts[self.scale])
        if self.traces is None or not traced:
            return None
        if figure.paper not in self._files:
            self._files[figure.paper] = paper(figure.paper).traces.found(self.traces)
        return self._files[figure.paper]

    def without(self, figure: Figure) -> dict[str, str]:
        """The parts that no trace is there for, and why."""
        traced = [part for part in figure.parts[self.scale] if part.traced]
        files = self.files(figure)
        if files is None:
            return {part.name: paper(figure.paper).traces.lacking for part in traced}
        return {
            part.name: f"none of its traces is in {self.traces}"
            for part in traced
            if part.axis and not set(files) & set(part.axis.values)
        }

    @functools.cached_property
    def _files(self) -> dict[str, runs.Files]:
        return {}

    @functools.cached_property
    def lacking(self) -> str:
        """Why nothing is run on a real kernel; empty if it is."""
        if not self.linux:
            return "real kernel: only with --linux"
        from clearpipe.linux import hosts, namespaces

        lacks = namespaces.missing()
        if not lacks and self.ebpf and (lack := hosts.missing()):
            lacks = [lack]
        return f"this system lacks: {'; '.join(lacks)}" if lacks else ""


@dataclass(frozen=True)
class Done:
    """A figure and the verdicts over its claims."""

    figure: Figure
    scale: str
    data: runs.Data
    outcomes: Sequence[Outcome]

    @property
    def built(self) -> bool:
        """Is there anything to run or compute for it?"""
        return paper(self.figure.paper).is_built(self.figure)

    @property
    def drawn(self) -> bool:
        """Is there anything to draw? A figure without runs is computed."""
        return bool(self.figure.panels) and bool(self.data.cells or self.data.computed)

    def counts(self) -> Counter[str]:
        """Claims by verdict."""
        return Counter(outcome.verdict for outcome in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """All of it, in an order that depends on the data alone."""
        return {
            "figure": self.figure.id,
            "title": self.figure.title,
            "scale": self.scale,
            "built": self.built,
            "runs_done": len(self.data.cells),
            "runs_wanted": self.data.wanted,
            "errors": sorted(set(self.data.errors)),
            "model_version": cp.model_version(),
            "parts": self.data.versions,
            "setup": code.setup(self.figure, self.scale),
            "claims": [_claim(outcome, self.data) for outcome in self.outcomes],
        }


def _claim(outcome: Outcome, data: runs.Data) -> dict[str, Any]:
    claim = outcome.claim
    return {
        "id": claim.id,
        "statement": claim.statement,
        "kind": claim.kind,
        "basis": claim.counted_under,
        "quantity": claim.quantity,
        "expected": claim.expected,
        "where": claim.where,
        "source": claim.source,
        "verdict": outcome.verdict,
        "inconsistency": claim.inconsistency,
        "note": claim.note,
        "settings": settings.of(claim, data),
        "parts": [part_json(one, data.figure) for one in outcome.judged],
    }


def part_json(judged: Judged, figure: Figure) -> dict[str, Any]:
    """A part of a claim with all its values."""
    one = judged.assertion
    return {
        "id": one.id,
        "says": one.says,
        "verdict": judged.verdict,
        "judged_by": figure.judged_by(one),
        "code": code.of(figure, one),
        "reason": judged.reason,
        "contradiction": one.contradiction.why
        if one.contradiction and judged.verdict == claims.CONTRADICTED
        else "",
        "tolerance": one.tolerance,
        "note": one.note,
        "measured_by": [measure.told() for measure in one.measures] or [one.check],
        "points": [point_text(point) for point in judged.ran],
        "points_left_out": [point_text(point) for point in judged.left_out],
        "read": read_json(judged.read),
        "readings": [
            _reading(reading, number)
            for number, group in enumerate(judged.groups)
            for reading in group.readings
        ],
        "readings_beyond": [_reading(reading, None) for reading in judged.beyond],
    }


def point_text(point: runs.Point) -> str:
    """`main: vcp, 10ms`: part, scheme and setting."""
    return f"{point.part}: {', '.join(filter(None, (point.scheme, point.label)))}"


def read_json(read: claims.Read | None) -> dict[str, Any] | None:
    """What a check has read: runs of each point, of how many, and names; null if not known."""
    if read is None:
        return None
    points = {point_text(point): list(runs) for point, runs in read.points.items()}
    return {"points": points, "names": list(read.names)}


def _reading(reading: Value, group: int | None) -> dict[str, Any]:
    """A value of a measure, which `group` counts, and what it is of; without a group it is of the
    range that the paper prints alone."""
    interval = reading.interval
    return {
        "label": reading.label,
        "group": group,
        "points": list(reading.points),
        "values": [_number(value) for value in reading.values],
        "mean": _number(interval.mean),
        "low": _number(interval.low),
        "high": _number(interval.high),
        "half": _number(interval.half),
        "n": interval.n,
        "censored": reading.censored,
        "side": reading.side,
        "lo": _number(reading.lo),
        "hi": _number(reading.hi),
        "inside": reading.inside,
        "sure": reading.sure,
        "crosses": reading.crosses,
    }


def _number(value: float) -> float | None:
    return float(f"{value:.9g}") if math.isfinite(value) else None


def run(job: Job, figure: Figure) -> Tally:
    """Do what is missing of a figure's runs. Raises OutOfTime."""
    whole = Tally()
    for part, spec in job.sweeps(figure):
        if part.real and job.lacking:
            continue
        # One after the other, and here: they are measured in real time.
        executor = Threads(1, job.deadline) if part.real else job.executor
        watcher = progress.Watching(job.board, spec, whole=True)
        with interrupts.held_if(part.real):
            tally = Sweep(spec, job.store, executor, job.options, watcher).run()
        for name in ("wanted", "done", "failed", "fresh", "elsewhere"):
            setattr(whole, name, getattr(whole, name) + getattr(tally, name))
    return whole


def left(job: Job, figures: Sequence[Figure]) -> int:
    """How many runs are to be done."""
    job.store.open()
    sweeps = [one for figure in figures for one in job.sweeps(figure)]
    found: set[str] = set()
    for part, spec in sweeps:
        if not (part.real and job.lacking):
            found |= runner.left(spec, job.store, job.options)
    return len(found)


def judge(job: Job, figure: Figure) -> Done:
    """The verdicts by what the store has now."""
    lacking, sweeps = job.lacking, job.sweeps(figure)
    data = runs.read(figure, sweeps, job.store, chosen=bool(job.only), lacking=lacking)
    data.without, data.files = job.without(figure), job.files(figure)
    outcomes = [claims.judge(claim, data, job.scale) for claim in figure.claims]
    return Done(figure, job.scale, data, outcomes)


def write(done: Done, folder: Path) -> Path:
    """A directory for the figure: verdicts.json, scenarios, and the drawing if there is one and
    matplotlib is there."""
    from clearpipe.reproduce import draw

    place = folder / done.figure.id
    for one in (folder, place):
        one.mkdir(parents=True, exist_ok=True)
        clean(one)
    write_scenarios(done, folder)
    write_text(
        place / "verdicts.json", json.dumps(done.as_json(), indent=1, ensure_ascii=False) + "\n"
    )
    # The reports draw it without matplotlib, too.
    if done.drawn and not style.lacking():
        draw.draw(done.data, place)
    return place


def write_scenarios(done: Done, folder: Path) -> None:
    """The scenarios of the figure's parts, which `run` and `sweep run` take."""
    place = folder / done.figure.id
    place.mkdir(parents=True, exist_ok=True)
    for part in done.figure.parts[_scale(done)]:
        if part.name not in done.data.without:
            text = runs.scenario(done.figure, part, files=done.data.files)
            write_text(place / scenario_file(part.name), text)


def scenario_file(part: str) -> str:
    """What the scenario of a part is called in the figure's directory."""
    return "scenario.toml" if part == "main" else f"scenario-{part}.toml"


def _scale(done: Done) -> Scale:
    return "full" if done.scale == "full" else "quick"


def conditions(texts: Sequence[str]) -> list[dict[str, str]]:
    """`rtt=1ms` or `rtt=1ms,scheme=vcp` as conditions of a sweep's `only`."""
    out = []
    for text in texts:
        # A value may have commas (`setting=2M, 400ms`): the next name ends it.
        pairs = [part.partition("=") for part in re.split(r",(?=[^,=<>]+=)", text)]
        if not all(sign and name and value for name, sign, value in pairs):
            raise ConfigError(f"--only {text!r}: expected AXIS=VALUE[,AXIS=VALUE]", key="only")
        out.append({name.strip(): value.strip() for name, _, value in pairs})
    return out
