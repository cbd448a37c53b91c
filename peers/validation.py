"""ns-3's `tcp-validation.cc` beside Clearpipe (`make check-peers-ns3 NS3=FILE`).

The program states what four runs of its own should show, and checks most of that. Its file is not
here: fetch `examples/tcp/tcp-validation.cc` of ns-3.37, which is the release that Debian 12
packages, from https://gitlab.com/nsnam/ns-3-dev (tag ns-3.37). It is built against libns3-dev, run
with its own arguments, and its traces and ours are held to the same statements.

A statement has two forms: the text at the head of the file, and the check in its code, which is
wider. Where the text has single numbers (a window of 511 segments at 5.4593 s), it holds within 5 %
of the window and 0.25 s. The verdict on ours is by the check in the code; where there is none, by
the text. Ours run twice, with our defaults and as ns-3 does it (tcp-validation/as-ns3). Then one of
the latter's settings at a time goes back to the default, and then come experiments: the same change
in both simulators. Exit status: 0 if docs/evidence/ns3.md has every line of the tables, 4
otherwise, 5 when ns-3 or the file is missing, 1 when it fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import ns3
from dumbbell import MissingError, PeerError

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence" / "ns3.md"
SCENARIOS = Path(__file__).with_name("tcp-validation")
AS_NS3 = SCENARIOS / "as-ns3"
LIBRARIES = (
    "applications",
    "internet-apps",
    "internet",
    "traffic-control",
    "point-to-point",
    "network",
    "stats",
    "bridge",
    "core",
)
WINDOW_S = 0.2
"""How often the program measures throughput."""
DATA_SHARE = 1448 / 1502
"""Data in a packet's bytes: the program counts data, the series of goodput whole packets."""
NEAR = 0.05
NEAR_S = 0.25

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Trace:
    """What is known of a run: times [s] and values."""

    cwnd: Points
    """Congestion window [segments]; as ns-3's, which PRR sets while it brings it down."""
    alpha: Points
    """DCTCP's estimate; empty for CUBIC."""
    throughput: Points
    """Data that arrived in the 0.2 s before [Mb/s]."""


@dataclass(frozen=True)
class Seen:
    """What a trace shows of a statement."""

    shown: str
    text: bool
    check: bool | None
    """The check in the program's code; None where there is none that can fail."""

    @property
    def holds(self) -> bool:
        """The verdict."""
        return self.text if self.check is None else self.check


@dataclass(frozen=True)
class Statement:
    """One of the file's, with what it expects."""

    said: str
    expected: str
    see: Callable[[Trace], Seen]


def between(points: Points, start: float, end: float = 1e9) -> list[float]:
    """The values after `start` and before `end`."""
    return [value for time, value in points if start < time < end]


def bounded(
    of: str,
    within: tuple[float, float],
    text: tuple[float, float],
    check: tuple[float, float, float] | None,
    precision: str = ".2f",
) -> Callable[[Trace], Seen]:
    """Values of a series that the text bounds in `within`; the code's check has bounds of its own,
    from a time of its own on."""

    def see(trace: Trace) -> Seen:
        points: Points = getattr(trace, of)
        values = between(points, *within)
        low, high = min(values), max(values)
        checked = None
        if check is not None:
            start, least, most = check
            checked = all(least <= value <= most for value in between(points, start, within[1]))
        shown = f"{low:{precision}} to {high:{precision}}"
        return Seen(shown, text[0] <= low and high <= text[1], checked)

    return see


def extreme(
    pick: Callable[[Points], tuple[float, float]],
    within: tuple[float, float],
    expected: tuple[float, float],
    check: tuple[float, float, float, float],
) -> Callable[[Trace], Seen]:
    """A window at its largest or smallest in `within`, expected at a time with a value; the check
    bounds all windows between two times."""

    def see(trace: Trace) -> Seen:
        inside = [point for point in trace.cwnd if within[0] < point[0] < within[1]]
        time, value = pick(inside)
        near = abs(value / expected[1] - 1) <= NEAR and abs(time - expected[0]) <= NEAR_S
        start, end, least, most = check
        checked = all(least <= value <= most for value in between(trace.cwnd, start, end))
        return Seen(f"{value:.0f} at {time:.3f} s", near, checked)

    return see


def _largest(points: Points) -> tuple[float, float]:
    return max(points, key=lambda point: point[1])


def _smallest(points: Points) -> tuple[float, float]:
    return min(points, key=lambda point: point[1])


def _cubic(low_s: float, second_s: float, third_s: float) -> list[Statement]:
    """Both CUBIC cases: they differ in when the window is where."""
    return [
        Statement(
            "largest window",
            "511 at 5.459 s",
            extreme(_largest, (5.1, 20), (5.4593, 511), (5.43, 5.465, 500, 1e9)),
        ),
        Statement(
            "falls to",
            f"173 at {low_s:.3f} s",
            extreme(_smallest, (5.46, 6.5), (low_s, 173), (5.795, 6, 0, 190)),
        ),
        Statement(
            "next peak",
            f"236 at {second_s:.3f} s",
            extreme(_largest, (12, 15.9), (second_s, 236), (14, 14.197, 224, 1e9)),
        ),
        Statement(
            "peak after that",
            f"234 at {third_s:.3f} s",
            extreme(_largest, (16.5, 19), (third_s, 234), (17, 18.026, 212, 1e9)),
        ),
    ]


STATEMENTS: dict[str, list[Statement]] = {
    "dctcp-10ms": [
        Statement(
            "throughput [Mb/s] after 5.6 s",
            "48 to 49",
            bounded("throughput", (5.6, 14.4), (48, 49), (5.6, 48, 49)),
        ),
        Statement(
            "alpha after 5.4 s",
            "below 0.1",
            bounded("alpha", (5.4, 14.4), (0, 0.1), (5.6, 0, 0.1), ".4f"),
        ),
        Statement(
            "alpha after 7 s",
            "0.06 to 0.085",
            bounded("alpha", (7, 14.4), (0.06, 0.085), (7, 0.055, 0.09), ".4f"),
        ),
    ],
    "dctcp-80ms": [
        Statement(
            "throughput [Mb/s] before 14 s",
            "below 20",
            bounded("throughput", (5.1, 14), (0, 20), (5.1, 0, 20)),
        ),
        Statement(
            "throughput [Mb/s] before 30 s",
            "below 48",
            bounded("throughput", (5.1, 30), (0, 48), (5.1, 0, 48)),
        ),
        Statement(
            "throughput [Mb/s] after 32 s",
            "47.5 to 48.5",
            bounded("throughput", (32, 39.4), (47.5, 48.5), (32, 47.5, 48.5)),
        ),
        Statement(
            "alpha before 7.5 s",
            "above 0.1",
            bounded("alpha", (5.1, 7.5), (0.1, 1), (5.1, 0.1, 1), ".4f"),
        ),
        Statement(
            "alpha from 11 s to 30 s",
            "below 0.01",
            bounded("alpha", (11, 30), (0, 0.01), (11, 0, 0.01), ".4f"),
        ),
        # The check in the code wants alpha to be below 0.015 and above 0.025: it cannot fail.
        Statement(
            "alpha after 34 s",
            "0.015 to 0.025",
            bounded("alpha", (34, 39.4), (0.015, 0.025), None, ".4f"),
        ),
    ],
    "cubic-50ms-no-ecn": _cubic(5.80304, 14.2815, 18.048),
    "cubic-50ms-ecn": _cubic(5.7939, 14.3477, 18.064),
}

ARGUMENTS: dict[str, list[str]] = {
    "dctcp-10ms": ["--firstTcpType=dctcp", "--baseRtt=10ms", "--queueUseEcn=1", "--stopTime=15s"],
    "dctcp-80ms": ["--firstTcpType=dctcp", "--baseRtt=80ms", "--queueUseEcn=1", "--stopTime=40s"],
    "cubic-50ms-no-ecn": [
        "--firstTcpType=cubic",
        "--baseRtt=50ms",
        "--queueUseEcn=0",
        "--stopTime=20s",
    ],
    "cubic-50ms-ecn": [
        "--firstTcpType=cubic",
        "--baseRtt=50ms",
        "--queueUseEcn=1",
        "--stopTime=20s",
    ],
}


def ours(case: str, sets: tuple[str, ...] = (), folder: Path = SCENARIOS) -> Trace:
    """The case in Clearpipe, with some keys set."""
    import clearpipe as cp

    result = cp.run(folder / f"{case}.toml", set=sets)

    def points(name: str) -> Points:
        table = result.series(name)
        return list(zip(table["t_s"], table[name], strict=True))

    alpha = "sender_alpha" if "sender_alpha" in result.series_names else None
    whole = WINDOW_S / 1e-3
    sums: dict[int, float] = {}
    for time, rate in points("goodput_bps"):
        window = int((time - 1e-9) / WINDOW_S) + 1
        sums[window] = sums.get(window, 0.0) + rate
    # A window that ends at 5.6 s is not after 5.6 s.
    ends = {n: round(n * WINDOW_S, 6) for n in sums}
    throughput = [(ends[n], rate * DATA_SHARE / whole / 1e6) for n, rate in sums.items()]
    series = "window_pkts" if "window_pkts" in result.series_names else "cwnd_pkts"
    return Trace(points(series), points(alpha) if alpha else [], throughput)


def build(source: Path) -> Path:
    """The program."""
    ns3.find()
    if not source.is_file():
        raise MissingError(f"{source}: there is no such file; see the head of peers/validation.py")
    return ns3.build("ns3-tcp-validation", source, LIBRARIES, "-O1")


def theirs(case: str, program: Path, attributes: str = "") -> Trace:
    """The case in ns-3, with some attributes set. In its validation mode the program writes no
    traces, so it runs without."""
    environment = os.environ | {"NS_ATTRIBUTE_DEFAULT": attributes}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), "--linkRate=50Mbps", *ARGUMENTS[case]]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env=environment
        )
        if done.returncode != 0:
            raise PeerError(f"ns-3 failed on {case}:\n{done.stderr or done.stdout}")

        def points(name: str) -> Points:
            file = Path(folder, f"tcp-validation-first-{name}.dat")
            if not file.is_file():
                return []
            lines = file.read_text(encoding="utf-8").splitlines()
            return [(float(line.split()[0]), float(line.split()[1])) for line in lines]

        return Trace(points("tcp-cwnd"), points("dctcp-alpha"), points("tcp-throughput"))


def verdict(seen: Seen) -> str:
    """In a word or three."""
    if seen.holds:
        return "holds" if seen.text else "holds by the check"
    return "differs"


@dataclass(frozen=True)
class Experiment:
    """A case with the same change in both simulators."""

    case: str
    what: str
    attributes: str
    """ns-3's, as the variable NS_ATTRIBUTE_DEFAULT takes them."""
    sets: tuple[str, ...]


EACH_PACKET = "ns3::TcpSocket::DelAckCount=1"
ONE_IN_DEVICE = "ns3::DynamicQueueLimits::MaxLimit=1502"
NO_HYSTART = "ns3::TcpCubic::HyStart=0"
ACKS = "transport.delayed_ack=off"
STANDARD = (
    'flows.first.protocol={ kind = "cubic", recovery = "rack", tcp_friendly = false, ecn = true }'
)

EXPERIMENTS = [
    Experiment("cubic-50ms-no-ecn", "no HyStart", NO_HYSTART, (STANDARD,)),
    Experiment("cubic-50ms-no-ecn", "an ACK per packet", EACH_PACKET, (ACKS,)),
    Experiment("cubic-50ms-no-ecn", "both", f"{NO_HYSTART};{EACH_PACKET}", (STANDARD, ACKS)),
    Experiment("cubic-50ms-ecn", "both", f"{NO_HYSTART};{EACH_PACKET}", (STANDARD, ACKS)),
    Experiment("dctcp-10ms", "an ACK per packet", EACH_PACKET, (ACKS,)),
    Experiment("dctcp-10ms", "one packet in the device", ONE_IN_DEVICE, ()),
    Experiment("dctcp-10ms", "both", f"{EACH_PACKET};{ONE_IN_DEVICE}", (ACKS,)),
    Experiment("dctcp-80ms", "an ACK per packet", EACH_PACKET, (ACKS,)),
    Experiment("dctcp-80ms", "both", f"{EACH_PACKET};{ONE_IN_DEVICE}", (ACKS,)),
]


def _of_all(*sets: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(STATEMENTS, sets)


def _cubic_only(*sets: str) -> dict[str, tuple[str, ...]]:
    return {case: sets for case in STATEMENTS if case.startswith("cubic")}


def _dctcp_only(*sets: str) -> dict[str, tuple[str, ...]]:
    return {case: sets for case in STATEMENTS if case.startswith("dctcp")}


def _without_newton() -> dict[str, tuple[str, ...]]:
    queue = "links.bottleneck.queue={ kind = "
    return {
        "dctcp-10ms": (f'{queue}"codel", ce_threshold = "1ms" }}',),
        "dctcp-80ms": (f'{queue}"codel", ce_threshold = "1ms" }}',),
        "cubic-50ms-no-ecn": (f'{queue}"codel", ecn = false }}',),
        "cubic-50ms-ecn": (f'{queue}"codel" }}',),
    }


def _cubic_with(start: str, update: str) -> str:
    return (
        'flows.first.protocol={ kind = "cubic", recovery = "sack", '
        f'slow_start = "{start}", update = "{update}", tcp_friendly = false, ecn = true }}'
    )


def _dctcp_with(hold: str, acks: str) -> str:
    return (
        'flows.first.protocol={ kind = "dctcp", recovery = "sack", '
        f'hold = {hold}, ce_acks = "{acks}" }}'
    )


LEFT_OUT: dict[str, dict[str, tuple[str, ...]]] = {
    "`byte_counting`": _of_all("transport.byte_counting=0"),
    "`quick_acks`": _of_all("transport.quick_acks=0"),
    "`loss_base`": _of_all("transport.loss_base=in-use"),
    '`slow_start = "ns-3"`': _cubic_only(_cubic_with("ack-train", "linux")),
    '`update = "linux"`': _cubic_only(_cubic_with("ns-3", "rfc9438")),
    "`hold`": _dctcp_only(_dctcp_with("false", "ns-3")),
    "`ce_acks`": _dctcp_only(_dctcp_with("true", "off")),
    '`ce_acks = "rfc8257"`': _dctcp_only(_dctcp_with("true", "rfc8257")),
    "`newton`": _without_newton(),
    "`device_bql`": _of_all("links.bottleneck.device_bql=off"),
    "the device": _of_all("links.bottleneck.device_bql=off", "links.bottleneck.device_packets=0"),
}
"""What as-ns3 sets, one at a time as it is by default (or as RFC 8257 has it)."""


def judge(program: Path) -> Iterator[str]:
    """The table of all statements, line by line."""
    yield "| case | statement | expected | ns-3.37 | defaults | verdict | as ns-3 | verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    for case, statements in STATEMENTS.items():
        there, here, alike = theirs(case, program), ours(case), ours(case, (), AS_NS3)
        for statement in statements:
            peer, own, same = statement.see(there), statement.see(here), statement.see(alike)
            outside = "" if peer.text else " (outside)"
            yield (
                f"| {case} | {statement.said} | {statement.expected} | {peer.shown}{outside} | "
                f"{own.shown} | {verdict(own)} | {same.shown} | {verdict(same)} |"
            )


def leave_out() -> Iterator[str]:
    """How many statements hold without one of the settings, line by line."""
    yield f"| without | {' | '.join(STATEMENTS)} |"
    yield "|---|" + "---|" * len(STATEMENTS)

    def held(case: str, sets: tuple[str, ...]) -> str:
        trace = ours(case, sets, AS_NS3)
        verdicts = [statement.see(trace).holds for statement in STATEMENTS[case]]
        return f"{sum(verdicts)} of {len(verdicts)}"

    yield f"| nothing | {' | '.join(held(case, ()) for case in STATEMENTS)} |"
    for name, sets in LEFT_OUT.items():
        cells = [held(case, sets[case]) if case in sets else "-" for case in STATEMENTS]
        yield f"| {name} | {' | '.join(cells)} |"


def explain(program: Path) -> Iterator[str]:
    """The table of the experiments, line by line."""
    yield "| case | change in both | statement | ns-3.37 | here |"
    yield "|---|---|---|---|---|"
    for one in EXPERIMENTS:
        there = theirs(one.case, program, one.attributes)
        here = ours(one.case, one.sets)
        for statement in STATEMENTS[one.case]:
            peer, own = statement.see(there).shown, statement.see(here).shown
            yield f"| {one.case} | {one.what} | {statement.said} | {peer} | {own} |"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="tcp-validation.cc of ns-3.37")
    options = parser.parse_args()
    if options.file is None:
        print("check-peers-ns3: skipped: NS3=FILE names tcp-validation.cc of ns-3.37, which is at")
        print("https://gitlab.com/nsnam/ns-3-dev/-/raw/ns-3.37/examples/tcp/tcp-validation.cc")
        return 0
    try:
        program = build(options.file)
        known = EVIDENCE.read_text(encoding="utf-8")
        new = 0
        for line in (*judge(program), "", *leave_out(), "", *explain(program)):
            new += line not in known
            print(line, flush=True)
    except MissingError as error:
        print(f"check-peers-ns3: {error}", file=sys.stderr)
        return 5
    except PeerError as error:
        print(f"check-peers-ns3: {error}", file=sys.stderr)
        return 1
    if new:
        print(f"check-peers-ns3: {new} lines are not in {EVIDENCE}", file=sys.stderr)
    return 4 if new else 0


if __name__ == "__main__":
    sys.exit(main())
