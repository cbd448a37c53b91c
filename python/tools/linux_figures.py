"""The figures of real kernels in docs/linux-hosts.md: the eBPF end hosts through the emulator, and
the packet engine on the same scenario. A minute for each row; needs root and clearpipe-bpf."""

from __future__ import annotations

import argparse
from math import nan
from typing import Literal

import clearpipe as cp

LINKS = (("100Mbps", "80ms"), ("10Mbps", "400ms"))
PROTOCOLS = ("vcp", "dpcp", "mlcp", "xcp", "ixcp")
# What is wanted: utilization as near to the packet engine's, and the mean queue over the buffer.
UTILIZATION, QUEUE = 0.07, 0.10
SCENARIO = """
schema = 1
name = "hosts"
duration = "{duration}s"
warmup = "{warmup}s"
[packets]
data = "1000B"
[topology]
kind = "dumbbell"
rate = "{rate}"
rtt = "{rtt}"
buffer = "1bdp"
queue = "{protocol}"
[transport]
initial_window = "10pkt"
[flows.all]
protocol = "{protocol}"
count = 4
"""


def figures(
    text: str, engine: Literal["packet", "linux"]
) -> tuple[float, float, float | None, int]:
    """Utilization, mean queue over buffer, Jain's index, drops."""
    summary = cp.run(text, engine=engine).summary
    link, group = summary["links"][0], summary["groups"][0]
    return (
        link["utilization_ratio"],
        link["queue_mean_ratio"],
        group["jain_index_ratio"],
        link["drops_pkts"],
    )


def main() -> None:
    """Print a table for each link, and what misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=60.0, help="seconds; a third is warm-up")
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS, choices=PROTOCOLS)
    asked = parser.parse_args()
    misses = []
    for rate, rtt in LINKS:
        names = "utilization, Linux | packets | mean queue / buffer, Linux | packets"
        print(f"\n| {rate} x {rtt} | {names} | Jain's index | drops |")
        print("|---|---|---|---|---|---|---|")
        for protocol in asked.protocols:
            text = SCENARIO.format(
                duration=asked.duration,
                warmup=asked.duration / 3,
                rate=rate,
                rtt=rtt,
                protocol=protocol,
            )
            used, queue, jain, drops = figures(text, "linux")
            used_packets, queue_packets, _, _ = figures(text, "packet")
            print(
                f"| {protocol} | {used:.3f} | {used_packets:.3f} | {queue:.3f} | "
                f"{queue_packets:.3f} | {nan if jain is None else jain:.3f} | {drops} |",
                flush=True,
            )
            where = f"{protocol} at {rate} x {rtt}"
            if abs(used - used_packets) > UTILIZATION:
                misses.append(f"{where}: utilization {used:.3f} against {used_packets:.3f}")
            if queue > QUEUE:
                misses.append(f"{where}: mean queue {queue:.3f} of the buffer")
    print("\nmisses:" if misses else "\nno misses", *misses, sep="\n  ")


if __name__ == "__main__":
    main()
