"""The same losses here and on this machine's kernel (`make check-kernel-recovery`).

One CUBIC flow sends 100 segments over a link that loses listed packets: in the packet engine with
RACK-TLP and PRR (RFC 8985, RFC 9937) and Linux's slow start, and in the linux engine with the
kernel's own TCP. What both put on the link is read from captures by tshark: which segments they
sent again, in which order, and when. The cases were chosen before anything was run.

Writes the table of docs/evidence/loss-and-timers.md with --write, and the kernel's sequences to
python/tests/linux-recovery.json, which a test holds the packet engine to. Exit status: 0 if both
sent the same segments again in the same order in every case, 4 if not, 5 without root, tshark or
what the linux engine needs, 1 when a run fails.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import clearpipe as cp
from clearpipe import api
from clearpipe.errors import ClearpipeError, UnsupportedError

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "evidence" / "loss-and-timers.md"
FACTS = HERE.parent / "python" / "tests" / "linux-recovery.json"
BEGIN, END = "<!-- kernel: begin -->", "<!-- kernel: end -->"

SEGMENTS = 100
RTT_S = 0.1
SCENARIO = """
schema = 1
name = "recovery"
duration = "20s"
era = "linux-6.1"

[packets]
data = "1500B"

[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "100ms"
buffer = "1000pkt"
queue = "droptail"
loss = {{ kind = "list", packets = {lost}, data_only = true }}

[flows.all]
protocol = "cubic"
count = 1
size = "100pkt"
access_rate = "100Mbps"
"""
# The kernel has both of these, and no names for them.
HERE_ONLY = (
    'flows.all.protocol={ kind = "cubic", slow_start = "linux" }',
    'transport.undo="dsack"',
)
CASES: Mapping[str, Sequence[int]] = {
    "one segment": [20],
    "the first segment": [1],
    "five in a row": [20, 21, 22, 23, 24],
    "every other of eight": [20, 22, 24, 26],
    "three in different rounds": [8, 25, 60],
    "a whole flight": list(range(11, 31)),
    "all but the last of a flight": list(range(11, 30)),
    "the last segment": [100],
    "the last three": [98, 99, 100],
    "the last ten": list(range(91, 101)),
    "all of the first flight": list(range(1, 11)),
}
TWICE = "one segment, and then again"
"""Its second loss is the retransmission, the number of which each side finds out by itself."""


@dataclass(frozen=True)
class Seen:
    """What a sender put on the link."""

    order: Sequence[int]
    """Segments in the order of sending, from 1."""
    times: Sequence[float]
    """When each left the link [s], from the first on."""

    def again(self) -> list[tuple[int, float]]:
        """The segments that were sent before, and when they left."""
        known: set[int] = set()
        found = []
        for segment, time in zip(self.order, self.times, strict=True):
            if segment in known:
                found.append((segment, time))
            known.add(segment)
        return found


def sent(engine: cp.Engine, lost: Sequence[int], sets: Sequence[str] = ()) -> Seen:
    """One run. Raises ClearpipeError for what goes wrong in it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        source = api.Source("recovery.toml", SCENARIO.format(lost=list(lost)))
        cp.run(
            source, engine=engine, set=sets, out=out, capture=["bottleneck"], capture_headers=True
        )
        return _read(out / "bottleneck.pcapng")


def _read(file: Path) -> Seen:
    fields = ["frame.time_epoch", "tcp.seq_raw", "tcp.len"]
    chosen = [word for name in fields for word in ("-e", name)]
    command = ["tshark", "-r", str(file), "-Y", "tcp.len > 0", "-T", "fields", *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    began, base, length = float(rows[0][0]), int(rows[0][1]), int(rows[0][2])
    return Seen(
        [((int(number) - base) % 2**32) // length + 1 for _, number, _ in rows],
        [float(time) - began for time, _, _ in rows],
    )


def both(case: str) -> tuple[Seen, Seen]:
    """A case here and on the kernel."""
    if case != TWICE:
        return sent("packet", CASES[case], HERE_ONLY), sent("linux", CASES[case])
    first = CASES["one segment"]
    ours = [*first, _ordinal(sent("packet", first, HERE_ONLY))]
    theirs = [*first, _ordinal(sent("linux", first))]
    return sent("packet", ours, HERE_ONLY), sent("linux", theirs)


def _ordinal(seen: Seen) -> int:
    """Which packet of all the first retransmission was, from 1."""
    known: set[int] = set()
    for number, segment in enumerate(seen.order, 1):
        if segment in known:
            return number
        known.add(segment)
    raise SystemExit("nothing was sent again")


def told(seen: Seen) -> str:
    """`20, 21-24`: what was sent again, in order."""
    runs: list[list[int]] = []
    for segment, _ in seen.again():
        if runs and segment == runs[-1][-1] + 1:
            runs[-1].append(segment)
        else:
            runs.append([segment])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs) or "nothing"


def rounds(seen: Seen) -> str:
    """When the first and the last retransmission left, in round trips from the start."""
    again = seen.again()
    return f"{again[0][1] / RTT_S:.2f}, {again[-1][1] / RTT_S:.2f}" if again else ""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table and the facts")
    write = parser.parse_args().write
    if shutil.which("tshark") is None:
        print("tshark is missing: make deps-dev", file=sys.stderr)
        return 5
    head = "| lost | sent again here | on the kernel | first and last, here [RTT] | on the kernel |"
    lines, facts, same = [head, "|---|---|---|---|---|"], {}, True
    print("\n".join(lines))
    for case in [*CASES, TWICE]:
        try:
            ours, theirs = both(case)
        except UnsupportedError as error:
            print(error, file=sys.stderr)
            return 5
        except ClearpipeError as error:
            print(f"{case}: {error}", file=sys.stderr)
            return 1
        row = (case, told(ours), told(theirs), rounds(ours), rounds(theirs))
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
        same = same and row[1] == row[2]
        facts[case] = {"again": [segment for segment, _ in theirs.again()], "order": theirs.order}
    if write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        kernel = platform.release().partition("-")[0]  # without what its distributor adds
        table = f"Linux {kernel}.\n\n" + "\n".join(lines)
        PAGE.write_text(
            f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )
        known = {"kernel": kernel, "cases": facts}
        FACTS.write_text(json.dumps(known) + "\n", encoding="utf-8")
    return 0 if same else 4


if __name__ == "__main__":
    sys.exit(main())
