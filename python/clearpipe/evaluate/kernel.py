"""What of an evaluation runs on this machine's kernel, and why the rest does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clearpipe.errors import ConfigError
from clearpipe.evaluate import judge
from clearpipe.evaluate.data import Area
from clearpipe.linux import engine
from clearpipe.reproduce import runs
from clearpipe.reproduce.data import Figure, Part, Scale


@dataclass
class Kernel:
    """Turns areas into runs in real time, and gathers what those ask of the system."""

    scale: Scale
    hosts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """A group of end hosts for each congestion control that a run has."""
    durations: dict[str, float] = field(default_factory=dict)
    """How long each scenario's replications take in real time [s]; the same one is run once."""

    def area(self, area: Area) -> Area:
        """The area with its runs on the kernel. A part with a point that the engine cannot do is
        left out whole: its statements would be judged in fewer places than they name."""
        if area.figure is None:
            return area
        unable: dict[str, str] = {}
        described: list[tuple[Part, dict[str, Any]]] = []
        for part in area.figure.parts[self.scale]:
            try:
                described += [(part, about) for about in list(_described(area.figure, part))]
            except ConfigError as error:
                unable[part.name] = _reasons(error)
        changed = replace(area, figure=None, unable=unable)
        # Runs of others alone, say, are of no use to a control that has none.
        if all(one.not_run or judge.unable(changed, one) for one in area.statements):
            return changed
        for part, about in described:
            self.hosts |= {group["kernel"]: group for group in about["groups"]}
            self.durations[about["toml"]] = about["duration_s"] * part.reps
        parts = {
            scale: tuple(replace(one, engine="linux") for one in parts if one.name not in unable)
            for scale, parts in area.figure.parts.items()
        }
        return replace(changed, figure=replace(area.figure, parts=parts))

    def check(self) -> None:
        """Raises UnsupportedError if this system lacks something that a run needs."""
        engine.check({"groups": list(self.hosts.values())})

    @property
    def needs_ebpf(self) -> bool:
        """Does a run have end hosts in eBPF?"""
        return any(group["explicit"] for group in self.hosts.values())


def _described(figure: Figure, part: Part) -> Iterator[dict[str, Any]]:
    """Each point for the linux engine. Raises ConfigError at one that it cannot do."""
    spec = runs.sweep(figure, part)
    if spec is not None:
        for point in spec.points:
            yield engine.describe(spec.source, [*spec.sets, *point.sets], spec.seed)


def _reasons(error: ConfigError) -> str:
    """Why the engine cannot run it, without the name of the scenario and on one line."""
    lines = str(error).partition(": ")[2].splitlines()
    head, told = lines[0].rstrip(), "; ".join(line.strip() for line in lines[1:])
    return f"{head} {told}".rstrip()


def lateness(datas: Sequence[runs.Data]) -> str:
    """How late packets left the emulator over all runs, in words; empty without runs."""
    found = [
        engine.late_p99_us(cell.result.warnings)
        for data in datas
        for cell in data.cells
        if data.is_real(cell.part)
    ]
    known = [late for late in found if late is not None]
    if not known:
        return ""
    late = sum(one > engine.TOO_LATE_US for one in known)
    told = f"at most {max(known):.0f} us at the 99th percentile of a run's packets"
    return f"{told}; over {engine.TOO_LATE_US:.0f} us in {late} of {len(known)} runs"
