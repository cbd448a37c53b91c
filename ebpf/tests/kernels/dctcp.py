"""DCTCP of a kernel over this package's queue `step` in the linux engine, beside the packet engine.
`dctcp.py linux` measures in a virtual machine, `dctcp.py judge LOG` compares what it said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import clearpipe as cp
from clearpipe.linux import engine as linux

CASES = ((10, 20, 10),)
"""Rates [Mb/s], RTTs [ms], and marking thresholds K [packets]."""
BOUNDS = {"utilization": (0.03, "points"), "queue": (2.0, "packets"), "marks": (0.25, "of ours")}
"""How far the kernel may be from the packet engine; fixed before the first run."""
SCENARIO = """
schema = 1
name = "dctcp"
duration = "30s"
warmup = "10s"
era = "linux-6.1"
[packets]
data = "1500B"
[transport]
delayed_ack = "off"
[topology]
kind = "dumbbell"
rate = "{rate}Mbps"
rtt = "{rtt}ms"
buffer = "200pkt"
queue = {{ kind = "step", k = {k}.0 }}
[flows.hosts]
protocol = {protocol}
count = 2
"""
PROTOCOLS = {"linux": '"dctcp"', "packet": '{ kind = "dctcp", cwr = true }'}


def figures(case: tuple[int, int, int], engine: Literal["packet", "linux"]) -> dict[str, float]:
    """Of a run, after its warm-up."""
    rate, rtt, k = case
    toml = SCENARIO.format(rate=rate, rtt=rtt, k=k, protocol=PROTOCOLS[engine])
    result = cp.run(toml, engine=engine)
    for warning in result.warnings:
        print("says", warning, flush=True)
    link = result.summary["links"][0]
    return {
        "utilization": link["utilization_ratio"],
        "queue": link["queue_mean_pkts"],
        "marks": link["marks_pkts"] / link["departures_pkts"],
        "drops": link["drops_pkts"],
    }


def judge(log: Path) -> int:
    """Print what the kernel and the packet engine have, and what is further apart than BOUNDS."""
    lines = log.read_text(errors="replace").replace("\r", "").splitlines()
    told = [line.removeprefix("RESULT dctcp figures ") for line in lines]
    kernel = [json.loads(line) for line, whole in zip(told, lines, strict=True) if line != whole]
    if len(kernel) != len(CASES):
        print(f"the kernel has {len(kernel)} of {len(CASES)} cases")
        return 1
    missed = 0
    for case, theirs in zip(CASES, kernel, strict=True):
        ours = figures(case, "packet")
        for name, (bound, unit) in BOUNDS.items():
            apart = abs(theirs[name] - ours[name]) / (ours[name] if unit == "of ours" else 1)
            verdict = "within" if apart <= bound else "NOT within"
            missed += apart > bound
            print(
                f"DCTCP at {case[0]} Mb/s x {case[1]} ms, {name}: kernel {theirs[name]:.4f}, "
                f"packets {ours[name]:.4f}, {verdict} {bound} {unit}"
            )
    return missed


if __name__ == "__main__":
    if sys.argv[1] == "judge":
        sys.exit(1 if judge(Path(sys.argv[2])) else 0)
    # This kernel's timers are exact, and to watch the clock would be most of what it does.
    linux.WATCH = "never"
    for each in CASES:
        print("figures", json.dumps(figures(each, "linux")), flush=True)
