"""The policies that ns-2 has too, compared with it: RED, REM, the adaptive virtual queue, PI.

    aqm.py [--only SUBSTR] [--ns2-runs FOLDER]

150 Mb/s, 80 ms, 30 SACK flows each way, a bandwidth-delay product of buffer, 60 s of which the
last 36 count, packets dropped and not marked; means of three seeds. The virtual queue also at
20 Mb/s with 10 flows each way and for 120 s. Utilizations must be within 6 points, mean queues
within 10 % of the buffer, drop rates within a factor of 2 or both below 1e-4. Exit status as for
`check.py`.
"""

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import clearpipe_cli
import ns2
from check import MEAN_SEEDS, Ns2Store
from dumbbell import PACKET_BYTES, Figures, MissingError, PeerError, Point, Queue

UTILIZATION = 0.06
QUEUE_RATIO = 0.10
DROP_FACTOR = 2.0
DROP_NOTHING = 1e-4

RATE_MBPS = 150
RTT_MS = 80
FLOWS = 30
PI_HZ = 170

# (point, measure) -> why the simulators differ there, traced to a named behaviour of one of them.
KNOWN_DIFFERENCES: dict[tuple[str, str], str] = {}


def pi_gains(flows: int, rtt_s: float, packets_per_s: float) -> tuple[float, float]:
    """Hollot et al. 2001: a and b for so many flows of that RTT, by the bilinear transform."""
    zero = 2 * flows / (rtt_s**2 * packets_per_s)
    gain = (rtt_s * packets_per_s) ** 3 / (2 * flows) ** 2
    integral = zero * math.hypot(1, zero * rtt_s) / gain
    proportional = integral / zero
    return proportional + integral / (2 * PI_HZ), proportional - integral / (2 * PI_HZ)


def points() -> list[Point]:
    """One dumbbell for each queue."""
    packets_per_s = RATE_MBPS * 1e6 / 8 / PACKET_BYTES
    # A quarter of the buffer waits, 20 ms.
    a, b = pi_gains(FLOWS, RTT_MS / 1000 * 1.25, packets_per_s)
    tables: dict[Queue, str] = {
        "red": 'preset = "xcp-2002"\nwait = false\necn = false\n',
        "rem": 'preset = "xcp-2002"\ncounts = "bytes"\nby_size = true\necn = false\n',
        "avq": 'preset = "ns2"\n',
        "pi": f'counts = "bytes"\na = {a!r}\nb = {b!r}\nfrequency = {PI_HZ}\n'
        "q_ref_ratio = 0.25\necn = false\n",
    }
    keys = (("pi_a", repr(a)), ("pi_b", repr(b)), ("pi_w", str(PI_HZ)))
    all_points = [
        Point(
            f"sack-{queue}",
            RATE_MBPS,
            RTT_MS,
            FLOWS,
            FLOWS,
            "sack",
            queue,
            60.0,
            queue_table=f'\n[queues.{queue}]\nkind = "{queue}"\n{table}',
            ns2_keys=keys if queue == "pi" else (),
        )
        for queue, table in tables.items()
    ]
    avq = next(point for point in all_points if point.queue == "avq")
    slow = replace(avq, name="sack-avq-20", rate_mbps=20, forward=10, reverse=10, duration_s=120.0)
    return [*all_points, slow]


def measures(point: Point, runs: list[Figures]) -> dict[str, float]:
    """Means over the seeds and both directions."""
    links = [link for run in runs for link in (run.forward, run.reverse)]
    return {
        "utilization_ratio": fmean(link.utilization_ratio for link in links),
        "queue_mean_ratio": fmean(link.queue_mean_bytes / point.buffer_bytes for link in links),
        "drop_ratio": fmean(link.drops_pkts / link.arrivals_pkts for link in links),
    }


def is_within(measure: str, ours: float, theirs: float) -> bool:
    """Whether the two agree as well as they must."""
    if measure == "drop_ratio":
        low, high = sorted((ours, theirs))
        return high <= DROP_FACTOR * low or high < DROP_NOTHING
    tolerance = UTILIZATION if measure == "utilization_ratio" else QUEUE_RATIO
    return abs(ours - theirs) <= tolerance


def compare(point: Point, store: Ns2Store) -> bool:
    """Runs both, prints a row for each measure; whether all agree or are explained."""
    theirs = measures(point, [store.run(point, seed) for seed in MEAN_SEEDS])
    ours = measures(point, [clearpipe_cli.run(point, seed) for seed in MEAN_SEEDS])
    good = True
    for measure, mine in ours.items():
        other = theirs[measure]
        within = is_within(measure, mine, other)
        known = KNOWN_DIFFERENCES.get((point.name, measure))
        verdict = "within" if within else f"known: {known}" if known else "OUTSIDE"
        good &= within or known is not None
        values = f"{mine:12.6f} {other:12.6f} {mine - other:+12.6f}"
        print(f"{point.name:12} {measure:18} {values}  {verdict}", flush=True)
    return good


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description="Compare the policies of one queue with ns-2's.")
    parser.add_argument(
        "--only", default="", metavar="SUBSTR", help="only points that contain this"
    )
    parser.add_argument("--ns2-runs", type=Path, metavar="FOLDER", help="keep ns-2's results here")
    options = parser.parse_args(argv)
    wanted = [point for point in points() if options.only in point.name]
    if not wanted:
        print(f"check-peers: no point's name contains {options.only!r}", file=sys.stderr)
        return 2
    store = Ns2Store(options.ns2_runs)
    try:
        ns2.find()
        clearpipe_cli.find()
        columns = f"{'clearpipe':>12} {'ns2':>12} {'difference':>12}"
        print(f"{'point':12} {'measure':18} {columns}  verdict")
        results = [compare(point, store) for point in wanted]
    except MissingError as error:
        print(f"check-peers: {error}", file=sys.stderr)
        return 5
    except PeerError as error:
        print(f"check-peers: {error}", file=sys.stderr)
        return 1
    return 0 if all(results) else 4


if __name__ == "__main__":
    sys.exit(main())
