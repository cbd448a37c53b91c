"""The figures of real kernels in docs/evidence/linux.md: the eBPF end hosts through the
emulator, over IPv4 and IPv6, and the packet engine on the same scenario. A minute for each row, in
real time: nothing else should run. Needs root and clearpipe-bpf."""

from __future__ import annotations

import argparse
import os
import re
from math import inf, nan
from typing import Literal, NamedTuple

import clearpipe as cp

LINKS = (("100Mbps", "80ms"), ("10Mbps", "400ms"), ("50Mbps", "40ms"))
PROTOCOLS = ("vcp", "dpcp", "mlcp", "xcp", "ixcp")
PACED = ("vcp", "dpcp", "mlcp")
"""Those with the parameter `pacing`."""
# What is wanted: utilizations; how near they and the mean queue over the buffer are to the packet
# engine's; that queue; Jain's index; each flow's rate as near to the packet engine's, in the order
# of their rates.
LEAST = {"vcp": 0.85, "dpcp": 0.85, "mlcp": 0.90, "xcp": 0.90, "ixcp": 0.85}
NEAR, QUEUE, JAIN, RATES = 0.03, 0.10, 0.90, 0.15
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
protocol = {{ {sender} }}
count = 4
[linux]
ip = {ip}
"""


LATE = r"([\d.]+ us) at the 99th percentile"


class Figures(NamedTuple):
    """Of a run."""

    utilization: float
    queue: float
    """Mean, over the buffer."""
    jain: float
    drops: int
    rates: tuple[float, ...]
    """In order."""
    late: str
    """How late the emulator's packets were at the 99th percentile."""


def figures(text: str, of: Literal["packet", "linux"]) -> Figures:
    """Run it."""
    result = cp.run(text, engine=of)
    link, group = result.summary["links"][0], result.summary["groups"][0]
    jain = group["jain_index_ratio"]
    return Figures(
        link["utilization_ratio"],
        link["queue_mean_ratio"],
        nan if jain is None else jain,
        link["drops_pkts"],
        tuple(sorted(result.flows["goodput_bps"])),
        late[1] if (late := re.search(LATE, " ".join(result.meta["warnings"]))) else "",
    )


def apart(ours: Figures, theirs: Figures) -> float:
    """How far rates are from the packet engine's, at most."""
    pairs = zip(ours.rates, theirs.rates, strict=True)
    return max(abs(a - b) / b if b else inf for a, b in pairs)


def misses(protocol: str, ours: Figures, theirs: Figures) -> list[str]:
    """What is not as wanted."""
    found = []
    if ours.utilization < LEAST[protocol]:
        found.append(f"utilization {ours.utilization:.4f} below {LEAST[protocol]:.2f}")
    if abs(ours.utilization - theirs.utilization) > NEAR:
        found.append(f"utilization {ours.utilization:.3f} against {theirs.utilization:.3f}")
    if abs(ours.queue - theirs.queue) > NEAR:
        found.append(f"mean queue {ours.queue:.3f} against {theirs.queue:.3f} of the buffer")
    if ours.queue > QUEUE:
        found.append(f"mean queue {ours.queue:.3f} of the buffer")
    if not ours.jain >= JAIN:
        found.append(f"Jain's index {ours.jain:.3f}")
    if ours.drops:
        found.append(f"{ours.drops} drops")
    if apart(ours, theirs) > RATES:
        found.append(f"rates {100 * apart(ours, theirs):.0f} % from the packet engine's")
    return found


def main() -> None:
    """Print a table for each link, and what misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=60.0, help="seconds; a third is warm-up")
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS, choices=PROTOCOLS)
    parser.add_argument(
        "--pacing",
        type=float,
        default=0.85,
        help="windows per RTT at which packets of VCP, DPCP and MLCP are spaced, in both engines; "
        "0: they leave at once, as in the papers",
    )
    parser.add_argument(
        "--links", nargs="+", type=int, default=[0, 1, 2], choices=[0, 1, 2], help=f"of {LINKS}"
    )
    parser.add_argument("--ip", nargs="+", type=int, default=[4, 6], choices=[4, 6])
    asked = parser.parse_args()
    missed = []
    for rate, rtt in (LINKS[link] for link in asked.links):
        names = "utilization, Linux | packets | mean queue / buffer, Linux | packets"
        others = "Jain's index, Linux | packets | drops | rates apart | late, 99 %"
        load = os.getloadavg()[0]
        print(f"\n| {rate} x {rtt}, load {load:.1f} | IP | {names} | {others} |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        for protocol in asked.protocols:
            sender = f'kind = "{protocol}"'
            if protocol in PACED:
                sender += f", pacing = {asked.pacing}"
            values = {
                "duration": asked.duration,
                "warmup": asked.duration / 3,
                "rate": rate,
                "rtt": rtt,
                "protocol": protocol,
                "sender": sender,
            }
            theirs = figures(SCENARIO.format(**values, ip=4), "packet")
            for ip in asked.ip:
                ours = figures(SCENARIO.format(**values, ip=ip), "linux")
                print(
                    f"| {protocol} | {ip} | {ours.utilization:.3f} | {theirs.utilization:.3f} | "
                    f"{ours.queue:.3f} | {theirs.queue:.3f} | {ours.jain:.3f} | {theirs.jain:.3f} "
                    f"| {ours.drops} | {100 * apart(ours, theirs):.0f} % | {ours.late} |",
                    flush=True,
                )
                told = misses(protocol, ours, theirs)
                missed += [f"{protocol}, IPv{ip}, {rate} x {rtt}: {one}" for one in told]
    print("\nmisses:" if missed else "\nno misses", *missed, sep="\n  ")


if __name__ == "__main__":
    main()
