"""Work per second against ns-2, ns-3 and htsim, in alternating runs on the same work.

The durations take ns-2 five to ten seconds. ns-2's queue monitors, which count its packets, take
1-2 % of its time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal, TypeVar

import htsim
import ns2
import ns3
import probe
from dumbbell import MissingError, Point, Speed, Unit
from parking_lot import ParkingLot
from settings import Settings, Task, note

XCP_150 = Point("xcp-150-50", 150, 80, 50, 50, "xcp", "xcp", 120.0)
XCP_1G = Point("xcp-1g-100", 1000, 80, 100, 100, "xcp", "xcp", 16.0)
DUMBBELLS = (
    Point("xcp-base", 150, 80, 30, 30, "xcp", "xcp", 120.0),
    XCP_150,
    Point("sack-droptail-150-50", 150, 80, 50, 50, "sack", "droptail", 120.0),
    XCP_1G,
    Point("sack-droptail-1g-100", 1000, 80, 100, 100, "sack", "droptail", 16.0),
)
# VCP needs 15 s to fill 1 Gb/s.
VCP = (
    (Point("vcp-150-50", 150, 80, 50, 50, "vcp", "vcp", 120.0), XCP_150),
    (Point("vcp-1g-100", 1000, 80, 100, 100, "vcp", "vcp", 60.0), XCP_1G),
)
PARKING_LOT = ParkingLot("parking-lot-9", 9, 100, 10, 5, 10, 10, 20.0)
NEWRENO = Point("ns3-newreno-150", 150, 80, 50, 50, "newreno", "droptail", 120.0)
# ns-3 needs two seconds for one, and is no faster later on.
NS3_DURATION_S = 3.0
# htsim's own example, greedy TCP, with a long path: packets with their ACKs, since it has no hops
# between hosts and switches.
HTSIM = tuple(htsim.Greedy(f"htsim-{flows}", flows) for flows in (30, 300, 3000))

Work = TypeVar("Work")


@dataclass(frozen=True)
class Case:
    """The same work for Clearpipe and a peer."""

    name: str
    scenario: str
    peer: Literal["ns2", "ns3", "htsim"]
    find_peer: Callable[[], object]
    run_peer: Callable[[int], Speed]
    remark: str = ""
    unit: Unit = "hops"


@dataclass(frozen=True)
class Pair:
    """One run of each, one after the other."""

    ours: Speed
    theirs: Speed

    @property
    def ratio(self) -> float:
        """How many times faster Clearpipe is."""
        return self.ours.per_s / self.theirs.per_s


def tasks() -> list[Task]:
    """One for each case."""
    return [
        *(_task(point.name, _dumbbell, (point, point)) for point in DUMBBELLS),
        *(_task(points[0].name, _dumbbell, points) for points in VCP),
        _task(PARKING_LOT.name, _parking_lot, PARKING_LOT),
        _task(NEWRENO.name, _newreno, NEWRENO),
        *(_task(greedy.name, _greedy, greedy) for greedy in HTSIM),
    ]


def is_skipped(line: str) -> bool:
    """Whether the line says that a peer is missing."""
    return " skipped=" in line


def _task(name: str, case: Callable[[Work, Settings], Case], work: Work) -> Task:
    def lines(settings: Settings) -> Iterator[str]:
        yield _measure(case(work, settings), settings.pairs)

    return Task((f"case={name}",), lines)


def _dumbbell(points: tuple[Point, Point], settings: Settings) -> Case:
    ours, theirs = (
        replace(point, duration_s=settings.duration_s(point.duration_s)) for point in points
    )
    arguments = theirs.ns2_arguments()
    return Case(
        ours.name,
        ours.scenario(),
        "ns2",
        ns2.find,
        lambda seed: ns2.speed("dumbbell.tcl", arguments, seed),
        "" if ours == theirs else f"ns-2 has no VCP: it runs XCP for {theirs.duration_s:g} s",
    )


def _parking_lot(lot: ParkingLot, settings: Settings) -> Case:
    lot = replace(lot, duration_s=settings.duration_s(lot.duration_s))
    arguments = lot.ns2_arguments()
    return Case(
        lot.name,
        lot.scenario(),
        "ns2",
        ns2.find,
        lambda seed: ns2.speed("parking-lot.tcl", arguments, seed),
    )


def _newreno(point: Point, settings: Settings) -> Case:
    ours = replace(point, duration_s=settings.duration_s(point.duration_s))
    theirs = replace(point, duration_s=1.5 if settings.quick else NS3_DURATION_S)
    return Case(
        point.name,
        ours.scenario(),
        "ns3",
        ns3.build,
        lambda seed: ns3.speed(theirs, seed),
        f"ns-3 runs {theirs.duration_s:g} s of it, Clearpipe {ours.duration_s:g} s",
    )


def _greedy(greedy: htsim.Greedy, settings: Settings) -> Case:
    greedy = replace(greedy, duration_s=settings.duration_s(greedy.duration_s))
    return Case(
        greedy.name,
        greedy.scenario(),
        "htsim",
        htsim.build,
        lambda seed: htsim.speed(greedy, seed),
        unit="acks",
    )


def _measure(case: Case, pairs: int) -> str:
    """Runs the pairs of one case and returns its line."""
    try:
        case.find_peer()
    except MissingError as error:
        note(f"{case.name}: {error}")
        return f'case={case.name} skipped="{error}"'
    if case.remark:
        note(f"{case.name}: {case.remark}")
    runs = [_pair(case, seed) for seed in range(1, pairs + 1)]
    ours = median(pair.ours.per_s for pair in runs)
    theirs = median(pair.theirs.per_s for pair in runs)
    speeds = f"clearpipe_{case.unit}_per_s={ours:.0f} {case.peer}_{case.unit}_per_s={theirs:.0f}"
    return f"case={case.name} {speeds} ratio={median(pair.ratio for pair in runs):.2f}"


def _pair(case: Case, seed: int) -> Pair:
    pair = Pair(probe.speed(case.name, case.scenario, seed, case.unit), case.run_peer(seed))
    work = f"{pair.ours.work} and {pair.theirs.work} {case.unit}"
    times = f"{pair.ours.cpu_s:.2f} and {pair.theirs.cpu_s:.2f} s"
    each = f"{1e9 / pair.ours.per_s:.0f} and {1e9 / pair.theirs.per_s:.0f} ns"
    note(f"{case.name}: clearpipe, {case.peer}: {work} in {times}, {each}, x{pair.ratio:.2f}")
    return pair
