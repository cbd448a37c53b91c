"""Many seeds of the same dumbbells in ns-2 and here: distributions (`make check-peers-seeds`).

    seeds.py [--only SUBSTR] [--seeds N] [--ns2-runs FOLDER]

Two-way traffic differs between seeds by more than the simulators do, and not normally: flows fall
into step or they do not. So this compares what thirty seeds do, or more (`MORE_SEEDS`): means with
the 95 % interval of their difference (Welch), quartiles, and a strip of both distributions. Two
simulators are the same where the whole interval lies within 3 points of utilization and 10 of the
buffer. Where it does not, the difference is known by its cause, which a case with that switched
mostly shows; or the interval overlaps the tolerance and more seeds are needed (UNDECIDED); or it is
OUTSIDE. ns-2's runs are kept in a folder, so that one may stop and go on. Some 80 minutes on one
core, nearly all of them ns-2's. Exit status as check.py's, 4 for UNDECIDED as well.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, quantiles

import aqm
import check
import clearpipe_cli
import ns2
import tcp
from dumbbell import Figures, LinkFigures, MissingError, PeerError, Point

from clearpipe.statistics import Span, welch

SEEDS = 30
# Where thirty did not decide (record/2026-11-22/seeds.md): as many as make half of the interval,
# which shrinks as one over their root, 2 points; sixty at least, in tens. Half was 2.85, 3.4, 2.2,
# 2.25, 2.7 and 3.1 points, so that 61, 87, 36, 38, 55 and 72 are needed. HSTCP's, undecided with 60
# as well, have those of 1 to 90 with which ns-2 lives (record/2026-11-23/differences.md).
MORE_SEEDS = {
    "xcp-150-80-4-4 packets": 70,
    "xcp-150-80-4-4 half packets": 90,
    "xcp-150-80-1-30 half": 60,
    "sack-red": 60,
    "hstcp/highspeed red": 88,
    "hstcp/highspeed red halving": 88,
    "hstcp/highspeed red halving table": 88,
    "illinois/illinois red": 80,
    "illinois/illinois red halving": 80,
}
# ns-2.35 dies of SIGSEGV with these: neither simulator runs them, and the next take their place.
NS2_DIES = dict.fromkeys((case for case in MORE_SEEDS if case.startswith("hstcp/")), (43, 79))
UTILIZATION = 0.03
QUEUE_RATIO = 0.10
STRIP = 30
SHADES = " .:-=+*#"
RUNS = Path("results/ns2")

HALF_WINDOW = '\n[queues.xcp]\nkind = "xcp"\nqueue_window = 0.5\n'
"""XCP's persistent queue over half of the propagation delay, as in its authors' code."""

_WINDOW = "half the window of the persistent queue in ns-2; see half"
_ONCE = "in ns-2 one fast retransmit for each window of Reno (bugFix_)"
_ENDS = "in ns-2 more runs whose losses end, 16 of 60 and 2 here: without them 0.842 and 0.854"
_RECOVERY = "ns-2 halves the rate and finds lost retransmissions; see halving"
_TABLE = "Linux reads a(w) and b(w) in the table's row above the window; see halving table"
_TIMERS = "ns-2's timers run out without drops, 300 to 400 times; see 1s"

# (case, measure) -> why the simulators differ there, traced to a named behaviour of one of them.
#
# One XCP flow against 30: 0.47 here and 0.64 in ns-2 (medians 0.47 and 0.54), as in some runs the
# losses end. With half the window 0.51 to 0.53, with one fast retransmit for each window 0.50,
# with both 0.54, with ns-2's timers, RTT samples and feedback over the present RTT besides 0.58,
# median 0.54: switches of an experiment, not of the model. How often the losses end stays open.
KNOWN_DIFFERENCES: dict[tuple[str, str], str] = {
    ("xcp-150-80-1-30", "utilization_ratio"): f"{_WINDOW}, {_ONCE}",
    ("xcp-150-80-1-30 half", "utilization_ratio"): _ONCE,
    ("xcp-150-80-1-30 half", "reverse.utilization"): _ENDS,
    ("xcp-150-80-4-4", "utilization_ratio"): _WINDOW,
    ("xcp-45-80-10-10", "queue_mean_ratio"): _WINDOW,
    ("xcp-150-80-10-10", "queue_mean_ratio"): _WINDOW,
    ("xcp-20-200-20-20", "utilization_ratio"): _TIMERS,
    ("xcp-20-200-20-20", "queue_mean_ratio"): _TIMERS,
    ("xcp-20-200-20-20 1s", "queue_mean_ratio"): _WINDOW,
    ("xcp-20-200-20-20 half", "utilization_ratio"): _TIMERS,
    ("xcp-20-200-20-20 half", "queue_mean_ratio"): _TIMERS,
    ("hstcp/highspeed red", "utilization_ratio"): f"{_RECOVERY}; {_TABLE}",
    ("hstcp/highspeed red halving", "utilization_ratio"): _TABLE,
    ("htcp/htcp red", "utilization_ratio"): _RECOVERY,
    ("bic/bic red", "utilization_ratio"): _RECOVERY,
    ("illinois/illinois red", "utilization_ratio"): _RECOVERY,
}


@dataclass(frozen=True)
class Measure:
    """A figure of one run; `tolerance` is for the interval of the difference of means."""

    name: str
    value: Callable[[Point, Figures], float]
    tolerance: float


@dataclass(frozen=True)
class Sample:
    """A measure's values, one for each seed, in both simulators."""

    case: str
    measure: Measure
    clearpipe: list[float]
    ns2: list[float]

    @property
    def interval(self) -> Span:
        """95 %, of Clearpipe's mean minus ns-2's."""
        found = welch(self.ns2, self.clearpipe)
        if found is None:
            raise ValueError("an interval needs two seeds")
        return found

    @property
    def known(self) -> str | None:
        """The traced cause of a difference."""
        return KNOWN_DIFFERENCES.get((self.case, self.measure.name))

    @property
    def within(self) -> bool:
        """Whether the whole interval lies within the tolerance."""
        low, high = self.interval
        return -self.measure.tolerance <= low and high <= self.measure.tolerance

    @property
    def failed(self) -> bool:
        """Outside the tolerance, and nobody knows why."""
        return not self.within and self.known is None

    @property
    def verdict(self) -> str:
        """The last column."""
        if self.within:
            return "within"
        if self.known:
            return f"known: {self.known}"
        low, high = self.interval
        apart = low > self.measure.tolerance or high < -self.measure.tolerance
        return "OUTSIDE" if apart else "UNDECIDED"

    def lines(self) -> Iterator[str]:
        """A line of figures, and two strips."""
        low, high = self.interval
        means = (fmean(self.clearpipe), fmean(self.ns2))
        figures = f"{means[0]:9.3f} {means[1]:9.3f} {means[0] - means[1]:+8.3f}"
        told = f"{figures} [{low:+.3f}, {high:+.3f}]  {self.verdict}"
        yield f"{self.case:26} {self.measure.name:20} {told}"
        ends = (min(self.clearpipe + self.ns2), max(self.clearpipe + self.ns2))
        for name, values in (("clearpipe", self.clearpipe), ("ns2", self.ns2)):
            quartiles = " ".join(f"{value:.3f}" for value in quantiles(values, n=4))
            yield f"{'':26} {name:10} |{strip(values, ends)}| quartiles {quartiles}"
        yield f"{'':26} {'':10} {ends[0]:<{STRIP // 2 + 1}.3f}{ends[1]:>{STRIP // 2 + 1}.3f}"


def strip(values: list[float], ends: tuple[float, float]) -> str:
    """How many values lie where, as shades, the fullest cell darkest."""
    counts = [0] * STRIP
    width = (ends[1] - ends[0]) or 1.0
    for value in values:
        counts[min(int((value - ends[0]) / width * STRIP), STRIP - 1)] += 1
    most = max(counts)
    return "".join(SHADES[-(-count * (len(SHADES) - 1) // most)] for count in counts)


def measures(point: Point) -> list[Measure]:
    """Both directions together if they have as many flows, else each."""
    if point.forward == point.reverse:
        return [
            Measure("utilization_ratio", _mean_of(_utilization), UTILIZATION),
            Measure("queue_mean_ratio", _mean_of(_queue), QUEUE_RATIO),
        ]
    return [
        Measure("utilization_ratio", lambda at, run: _utilization(at, run.forward), UTILIZATION),
        Measure("queue_mean_ratio", lambda at, run: _queue(at, run.forward), QUEUE_RATIO),
        Measure("reverse.utilization", lambda at, run: _utilization(at, run.reverse), UTILIZATION),
    ]


def _mean_of(value: Callable[[Point, LinkFigures], float]) -> Callable[[Point, Figures], float]:
    return lambda point, run: fmean((value(point, run.forward), value(point, run.reverse)))


def _utilization(_: Point, link: LinkFigures) -> float:
    return link.utilization_ratio


def _queue(point: Point, link: LinkFigures) -> float:
    return link.queue_mean_bytes / point.buffer_bytes


def _xcp(
    rate_mbps: int, rtt_ms: int, forward: int, reverse: int, duration_s: float
) -> Iterator[Point]:
    """As the paper has it, and with half the window of the persistent queue."""
    name = f"xcp-{rate_mbps}-{rtt_ms}-{forward}-{reverse}"
    point = Point(name, rate_mbps, rtt_ms, forward, reverse, "xcp", "xcp", duration_s)
    yield point
    yield replace(point, name=f"{name} half", queue_table=HALF_WINDOW)


def xcp_points() -> Iterator[Point]:
    """XCP both ways, few flows behind fast access links and many."""
    for point in _xcp(150, 80, 4, 4, 30.0):
        yield point
        yield replace(point, name=f"{point.name} packets", buffer_unit="packets")
    yield from _xcp(150, 80, 1, 30, 30.0)
    yield from _xcp(45, 80, 10, 10, 60.0)
    yield from _xcp(150, 80, 10, 10, 60.0)
    yield from _xcp(150, 80, 100, 100, 60.0)
    for point in _xcp(20, 200, 20, 20, 60.0):
        yield point
        yield replace(point, name=f"{point.name} 1s", min_rto_s=1.0)


def tcp_points() -> Iterator[Point]:
    """TCP both ways over queues that drop early: ns-2's own TCPs, then its TCP-Linux over RED."""
    queues = {point.queue: point for point in aqm.points()}
    red, rem = queues["red"], queues["rem"]
    yield replace(red, name="sack-red")
    yield replace(rem, name="reno-rem", protocol="reno")
    yield replace(
        rem,
        name="reno-rem-ecn",
        protocol="reno",
        queue="rem-ecn",
        queue_table=rem.queue_table.replace("queues.rem", "queues.rem-ecn").replace(
            "ecn = false", "ecn = true"
        ),
    )
    for point in tcp.points(60.0):
        if point.reverse and point.linux in ("reno", "highspeed", "htcp", "bic", "illinois"):
            over_red = replace(
                point,
                name=f"{point.name} red",
                queue="red",
                queue_table=red.queue_table,
                duration_s=60.0,
            )
            yield over_red
            halving = replace(
                over_red,
                name=f"{over_red.name} halving",
                options=", ".join(filter(None, (point.options, 'recovery = "rate-halving"'))),
            )
            yield halving
            if point.linux == "highspeed":
                yield replace(
                    halving,
                    name=f"{halving.name} table",
                    options=f'{halving.options}, preset = "linux-2-6-22"',
                )


def samples(point: Point, store: check.Ns2Store, seeds: list[int]) -> Iterator[Sample]:
    """Runs both."""
    theirs = [store.run(point, seed) for seed in seeds]
    ours = [clearpipe_cli.run(point, seed) for seed in seeds]
    for measure in measures(point):
        mine, other = ([measure.value(point, run) for run in runs] for runs in (ours, theirs))
        yield Sample(point.name, measure, mine, other)


def seeds_of(point: Point, asked: int | None) -> list[int]:
    """Which seeds a case runs with."""
    many = asked or MORE_SEEDS.get(point.name, SEEDS)
    dies = NS2_DIES.get(point.name, ())
    return [seed for seed in range(1, many + len(dies) + 1) if seed not in dies][:many]


def run(points: list[Point], store: check.Ns2Store, asked: int | None) -> bool:
    """Runs and prints all; whether nothing failed."""
    good = True
    figures = f"{'clearpipe':>9} {'ns2':>9} {'differs':>8}"
    print(f"{'case':26} {'measure':20} {figures} {'95 %':16}  verdict")
    for point in points:
        for sample in samples(point, store, seeds_of(point, asked)):
            print(*sample.lines(), sep="\n", flush=True)
            good &= not sample.failed
    return good


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description="Distributions over seeds, beside ns-2's.")
    parser.add_argument("--only", default="", metavar="SUBSTR", help="only these cases")
    parser.add_argument("--seeds", type=int, metavar="N", help="so many in all cases, 2 at least")
    parser.add_argument(
        "--ns2-runs", type=Path, default=RUNS, metavar="FOLDER", help="where ns-2's results are"
    )
    options = parser.parse_args(argv)
    points = [point for point in (*xcp_points(), *tcp_points()) if options.only in point.name]
    if not points or (options.seeds is not None and options.seeds < 2):
        why = f"no case's name contains {options.only!r}" if not points else "--seeds: at least 2"
        print(f"check-peers-seeds: {why}", file=sys.stderr)
        return 2
    try:
        ns2.find()
        clearpipe_cli.find()
        good = run(points, check.Ns2Store(options.ns2_runs), options.seeds)
    except MissingError as error:
        print(f"check-peers-seeds: {error}", file=sys.stderr)
        return 5
    except PeerError as error:
        print(f"check-peers-seeds: {error}", file=sys.stderr)
        return 1
    return 0 if good else 4


if __name__ == "__main__":
    sys.exit(main())
