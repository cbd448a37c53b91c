"""DualPI2 of Linux, sch_dualpi2, beside this DualPI2, in the same cells: CUBIC with ECN and DCTCP
(as ECT(1)), one flow of each or one alone. The kernel is a Debian one under QEMU that counts its
own instructions as time (`-icount`), so that a slow or busy machine changes nothing that happens
in it. peers/dualpi2/build.sh says where kernel and module are from. Needs root, QEMU and 3 GB."""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import clearpipe as cp

HERE = Path(__file__).resolve().parent
CELLS = ((4, 20), (4, 50), (10, 20), (10, 50))
"""Rates [Mb/s] and base RTTs [ms]. Not 12 Mb/s: a packet would take just the step's 1 ms there."""
MIXES: tuple[tuple[str, ...], ...] = (("cubic",), ("dctcp",), ("cubic", "dctcp"))
PACKET, SEEDS = 1500, 5
MARKING = {"cubic": "p_C", "dctcp": "p_L"}
SCENARIO = """
schema = 1
name = "dualpi2"
duration = "{duration}s"
warmup = "{warmup}s"
# As Linux's TCP is, where this engine has a setting for it.
era = "linux-6.1"
[packets]
data = "1500B"
[transport]
delayed_ack = "off"
echo_prr = true
loss_base = "window"
rack_rtt = "highest"
[topology]
kind = "dumbbell"
rate = "{rate}Mbps"
rtt = "{rtt}ms"
buffer = "10000pkt"
queue = "dualpi2"
{flows}
[probe]
series = ["router"]
links = ["bottleneck"]
every = "100ms"
"""
FLOWS = {
    "cubic": '[flows.cubic]\nprotocol = { kind = "cubic", ecn = true, update = "linux" }\n',
    "dctcp": '[flows.dctcp]\nprotocol = { kind = "dctcp", ect1 = true, cwr = true, '
    'update = "linux" }\n',
}


class Figures(NamedTuple):
    """Of one run, after its warm-up."""

    utilization: float
    p: float
    """Mean of p'."""
    p2: float
    """Mean of p'^2, with which classic packets are to be marked."""
    delay_ms: float
    """Mean age of the older of the two heads."""
    marked: dict[str, float]
    """Share of each flow's packets that were marked or dropped."""
    rates: dict[str, float]
    """[Mb/s], headers included."""


BOUNDS = {
    "utilization": "3 points",
    "p": "20 %",
    "delay": "3 ms",
    "marked": "20 % or 0.1 points",
    "ratio": "20 %",
}
"""How far the kernel may be from the mean of our runs; fixed before the first run."""


def near(one: float, other: float) -> bool:
    """Within 20 %, whichever is the greater; both may be 0."""
    return max(one, other) <= 1.2 * min(one, other)


def misses(kernel: Figures, ours: Figures) -> list[str]:
    """What is further apart than BOUNDS."""
    found = []
    if abs(kernel.utilization - ours.utilization) > 0.03:
        found.append("utilization")
    if not near(kernel.p, ours.p):
        found.append("p'")
    if abs(kernel.delay_ms - ours.delay_ms) > 3:
        found.append("delay")
    for flow, share in ours.marked.items():
        apart = abs(kernel.marked[flow] - share)
        if apart > 0.001 and not near(kernel.marked[flow], share):
            found.append(MARKING[flow])
    if len(ours.rates) == 2 and not near(ratio(kernel), ratio(ours)):
        found.append("rates")
    return found


def ratio(figures: Figures) -> float:
    """DCTCP's rate over CUBIC's."""
    return figures.rates["dctcp"] / figures.rates["cubic"]


def simulated(
    rate: float, rtt: float, flows: tuple[str, ...], duration: int, warmup: int, seed: int
) -> Figures:
    """The packet engine's."""
    toml = SCENARIO.format(
        duration=duration,
        warmup=warmup,
        rate=rate,
        rtt=rtt,
        flows="".join(FLOWS[flow] for flow in flows),
    )
    result = cp.run(toml, seed=seed)
    link = result.summary["links"][0]
    router = {name: settled(result, name, warmup) for name in ("p", "qdelay", "c_picked")}
    seconds = duration - warmup
    rates = {g["group"]: g["total_goodput_bps"] / 1e6 for g in result.summary["groups"]}
    classic = router["c_picked"][-1] - router["c_picked"][0]
    marks = {"cubic": classic, "dctcp": link["marks_pkts"] + link["drops_pkts"] - classic}
    return Figures(
        link["utilization_ratio"],
        statistics.fmean(router["p"]),
        statistics.fmean(p * p for p in router["p"]),
        1e3 * statistics.fmean(router["qdelay"]),
        {f: marks[f] / (rates[f] * 1e6 * seconds / 8 / PACKET) for f in flows},
        rates,
    )


def settled(result: cp.Result, name: str, warmup: float) -> list[float]:
    """A variable of the router from the end of the warm-up on."""
    table = result.series(f"router_{name}")
    values = table[next(column for column in table.column_names if column.startswith("router"))]
    return [value for t, value in zip(table["t_s"], values, strict=True) if t >= warmup]


def boot(
    work: Path, cells: dict[str, tuple[int, int, tuple[str, ...]]], duration: int, warmup: int
) -> None:
    """One boot, in which every cell is run; what the guest says is in WORK/told."""
    runs = ",".join(
        # The packet engine's base RTT has the transmission on this link and on two that are ten
        # times as fast, HTB lets a packet go at once.
        f"{name}:{'+'.join(flows)}:{rate}000000:{rtt * 1000 + round(1.2 * 8 * PACKET / rate)}"
        for name, (rate, rtt, flows) in cells.items()
    )
    command = ["qemu-system-x86_64", "-accel", "tcg", "-icount", "shift=0,sleep=off", "-seed", "1"]
    command += ["-cpu", "max", "-smp", "1", "-m", "1024", "-display", "none", "-no-reboot"]
    command += ["-kernel", f"{work}/vmlinuz", "-initrd", f"{work}/initrd"]
    command += ["-serial", f"file:{work}/console", "-serial", f"file:{work}/told"]
    settings = f"runs={runs} duration={duration} warmup={warmup}"
    command += ["-append", f"console=ttyS0 quiet panic=1 mitigations=off {settings}"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def heard(work: Path) -> tuple[str, dict[str, Guest]]:
    """The kernel's version, and the runs by name."""
    lines = (work / "told").read_text().replace("\r", "").splitlines()
    kernel, guests = "", dict[str, Guest]()
    if not lines or lines[-1] != "end":
        sys.exit(f"the kernel did not come to its end: {work}/console, {work}/told")
    for words in (line.split(" ") for line in lines[:-1]):
        match words:
            case ["kernel", version]:
                kernel = version
            case ["control", *_]:
                pass
            case ["run", name]:
                guests[name] = Guest()
            case _ if guests:
                list(guests.values())[-1].take(words)
            case _:
                raise ValueError(f"the guest said: {' '.join(words)}")
    return kernel, guests


class Guest:
    """What one run of the guest said."""

    def __init__(self) -> None:
        """Empty."""
        self.counts: dict[tuple[str, str], dict[str, int]] = {}
        self.queue: dict[str, dict[str, Any]] = {}
        self.times: dict[str, float] = {}
        self.samples: list[dict[str, Any]] = []

    def take(self, words: list[str]) -> None:
        """One line."""
        match words:
            case ["count", when, receiver, *counts]:
                pairs = (each.split("=") for each in counts if each)
                self.counts[when, receiver] = {name: int(value) for name, value in pairs}
            case ["sent", when, sender, _, again]:
                self.counts[when, sender] = {"again": int(again)}
            case ["time", when, seconds]:
                self.times[when] = float(seconds)
            case ["queue", when, *text]:
                self.queue[when] = dualpi2(json.loads(" ".join(text)))
            case ["samples", text]:
                lines = gzip.decompress(base64.b64decode(text)).decode().splitlines()
                self.samples = [dualpi2(json.loads(line)) for line in lines if line]
            case _:
                raise ValueError(f"the guest said: {' '.join(words)}")

    def gained(self, host: str, name: str) -> int:
        """A counter's difference between the end of the warm-up and the end."""
        first, last = (self.counts[when, host][name] for when in ("first", "last"))
        return last - first

    def queued(self, name: str) -> int:
        """The same of the queueing discipline's."""
        first, last = (self.queue[when][name] for when in ("first", "last"))
        gained: int = last - first
        return gained


def dualpi2(qdiscs: list[dict[str, Any]]) -> dict[str, Any]:
    """The one of this kind."""
    return next(each for each in qdiscs if each["kind"] == "dualpi2")


def measured(guest: Guest, rate: float, flows: tuple[str, ...]) -> Figures:
    """The kernel's. Nothing else loses packets, so what was sent again was dropped."""
    seconds = guest.times["last"] - guest.times["first"]
    sent = guest.queued("bytes") * PACKET / (PACKET + 14)
    marked, rates = {}, {}
    for flow in flows:
        sender, receiver = {"cubic": ("a1", "b1"), "dctcp": ("a2", "b2")}[flow]
        codes = ("InCEPkts", "InECT0Pkts", "InECT1Pkts", "InNoECTPkts")
        came = sum(guest.gained(receiver, code) for code in codes)
        drops = guest.gained(sender, "again")
        marked[flow] = (guest.gained(receiver, "InCEPkts") + drops) / (came + drops)
        rates[flow] = 8e-6 * guest.gained(receiver, "InOctets") / seconds
    older = [max(each["delay-c"], each["delay-l"]) for each in guest.samples]
    return Figures(
        8 * sent / seconds / (rate * 1e6),
        statistics.fmean(each["prob"] for each in guest.samples),
        statistics.fmean(each["prob"] ** 2 for each in guest.samples),
        statistics.fmean(older) / 1e3,
        marked,
        rates,
    )


def mean(runs: list[Figures]) -> Figures:
    """Of several runs of a cell."""

    def over(each: list[dict[str, float]]) -> dict[str, float]:
        return {name: statistics.fmean(one[name] for one in each) for name in each[0]}

    return Figures(
        statistics.fmean(run.utilization for run in runs),
        statistics.fmean(run.p for run in runs),
        statistics.fmean(run.p2 for run in runs),
        statistics.fmean(run.delay_ms for run in runs),
        over([run.marked for run in runs]),
        over([run.rates for run in runs]),
    )


def row(label: str, of: str, figures: Figures, own: str) -> str:
    """A line of the table."""
    marked = (f"{figures.marked[flow]:.5f}" if flow in figures.marked else "" for flow in MARKING)
    rates = f"{ratio(figures):.2f}" if len(figures.rates) == 2 else ""
    return (
        f"| {label} | {of} | {figures.utilization:.3f} | {figures.p:.4f} | "
        f"{figures.p2:.5f} | {figures.delay_ms:.1f} | {' | '.join(marked)} | {rates} | {own} |"
    )


def main() -> None:
    """Print a table, and what misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder for the kernel, kept")
    parser.add_argument("--duration", type=int, default=60, help="seconds; a third is warm-up")
    parser.add_argument("--again", action="store_true", help="judge what the kernel said last time")
    asked = parser.parse_args()
    work: Path = asked.work.resolve()
    duration, warmup = asked.duration, asked.duration // 3
    cells = {
        f"{rate}Mbps-{rtt}ms-{'+'.join(flows)}": (rate, rtt, flows)
        for flows in MIXES
        for rate, rtt in CELLS
    }
    if not asked.again:
        built = subprocess.run([HERE / "dualpi2" / "build.sh", work], check=False)
        if built.returncode != 0:
            sys.exit(built.returncode)
        boot(work, cells, duration, warmup)
    kernel, guests = heard(work)
    print(f"Linux {kernel}, {duration} s of which {warmup} do not count\n")
    names = "utilization | mean p' | mean p'^2 | delay, ms | p_C | p_L | DCTCP/CUBIC | own counters"
    print(f"| Mb/s, RTT, flows | of | {names} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    missed = []
    for name, (rate, rtt, flows) in cells.items():
        label = f"{rate}, {rtt} ms, {' and '.join(flows)}"
        guest = guests[name]
        theirs = measured(guest, rate, flows)
        seeds = range(1, SEEDS + 1)
        ours = mean([simulated(rate, rtt, flows, duration, warmup, seed) for seed in seeds])
        counters = ("ecn-mark", "step-mark", "drops")
        own = ", ".join(f"{counter} {guest.queued(counter)}" for counter in counters)
        print(row(label, "Linux", theirs, own))
        print(row("", "packets", ours, ""), flush=True)
        missed += [f"{label}: {one}" for one in misses(theirs, ours)]
    bounds = ", ".join(f"{name} {bound}" for name, bound in BOUNDS.items())
    print(f"\nbounds: {bounds}")
    print("misses:" if missed else "no misses", *missed, sep="\n  ")


if __name__ == "__main__":
    main()
