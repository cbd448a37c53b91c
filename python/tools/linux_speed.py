"""How fast the emulator is, and what watching the clock does: a table of
docs/evidence/linux.md.

Four flows of the kernel's CUBIC over 20 ms at each rate, with each way of watching the clock, in
turn, so that all ways meet the same machine; and the packet engine once. Needs root, and a machine
with nothing else to do for figures to be kept: the load is printed beside them.
"""

from __future__ import annotations

import argparse
import os
import platform
from typing import Any

import clearpipe as cp
from clearpipe import api, interrupts
from clearpipe.linux import engine

SCENARIO = """
schema = 1
name = "speed"
duration = "{duration}s"
warmup = "{warmup}s"
[packets]
data = "1500B"
[topology]
kind = "dumbbell"
rate = "{rate}Mbps"
rtt = "20ms"
buffer = "1bdp"
queue = "droptail"
[transport]
initial_window = "10pkt"
[flows.all]
protocol = {{ kind = "cubic", slow_start = "hystart" }}
count = 4
"""


def measured(text: str, watch: str) -> dict[str, Any]:
    """What the emulator says of a run."""
    engine.WATCH = watch
    about = engine.describe(api.Source("speed", text), (), None)
    engine.check(about)
    about["captures"] = []
    with interrupts.held():
        emulator, _, _ = engine._measure(about, 0, None)
    return emulator


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", nargs="+", type=int, default=[100, 300, 500, 1000])
    parser.add_argument("--watch", nargs="+", default=["budget", "always", "never"])
    parser.add_argument("--duration", type=float, default=20.0, help="seconds; a quarter: warm-up")
    parser.add_argument("--times", type=int, default=1)
    asked = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"linux {platform.release()}, {cores} cores, load {os.getloadavg()[0]:.1f} before")
    columns = (
        "Mb/s | clock | utilization | packets | queue | packets | late, median us | 99 % us | "
        "stopped over 20 ms | rests | of a core | watched | load"
    )
    print(f"| {columns} |", "|---" * (columns.count("|") + 1) + "|", sep="\n")
    for rate in asked.rates:
        text = SCENARIO.format(rate=rate, duration=asked.duration, warmup=asked.duration / 4)
        packet = cp.run(text).summary["links"][0]
        for watch in asked.watch * asked.times:
            told = measured(text, watch)
            link, late, wall = told["network"]["links"][0], told["late"], told["wall_s"]
            print(
                f"| {rate} | {watch} | {link['utilization_ratio']:.3f} | "
                f"{packet['utilization_ratio']:.3f} | {link['queue_mean_ratio']:.3f} | "
                f"{packet['queue_mean_ratio']:.3f} | {late['p50_s'] * 1e6:.0f} | "
                f"{late['p99_s'] * 1e6:.0f} | {told['stops']} ({told['stopped_s']:.2f} s) | "
                f"{told['rests']} | {told['cpu_s'] / wall:.2f} | {told['watched_s'] / wall:.2f} | "
                f"{os.getloadavg()[0]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
