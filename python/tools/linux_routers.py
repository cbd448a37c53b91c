"""The kernel's routers between kernel hosts, and the packet engine on the same link: four flows of
eBPF end hosts through a network namespace that forwards to a veth with a TBF and the router's
program; the emulator adds the delay before it. A minute for each row, in real time: nothing else
should run. Needs root, iperf3 and clearpipe-bpf."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from linux_figures import PACED, PROTOCOLS, SCENARIO

import clearpipe as cp
from clearpipe import api
from clearpipe.linux import cgroups, hosts, namespaces, shell
from clearpipe.linux.engine import DEVICE, HEADERS_V6, LEAST_MTU_V6, TCP, device_commands
from clearpipe.linux.process import Process

CASES = ((10, 40), (50, 100), (20, 200))
"""Rates [Mb/s] and RTTs [ms]."""
WITHIN = 0.03
"""How far utilization and mean queue (over the buffer) may be from the packet engine's."""
PACKET, ETHERNET = 1000, 14
EVERY_S = 0.1
MEMORY = 16_000_000


class Family(NamedTuple):
    """IPv4 or IPv6: addresses, the prefix of all and the length of a host's, devices' MTU, and
    iperf3's options for packets of PACKET."""

    source: str
    router: str
    sink: str
    every: str
    bits: int
    mtu: int
    options: tuple[str, ...]


FAMILIES = {
    4: Family("10.78.0.1", "10.78.0.3", "10.78.0.2", "0.0.0.0/0", 32, PACKET, ()),
    # A device's MTU may not be as small as a packet here, so the sender's segments are.
    6: Family(
        "fd78::1", "fd78::3", "fd78::2", "::/0", 128, LEAST_MTU_V6, ("-M", str(PACKET - HEADERS_V6))
    ),
}


class Figures(NamedTuple):
    """Of a run, from the end of its warm-up on."""

    utilization: float
    queue: float
    """Mean, over the buffer of one bandwidth-delay product."""
    drops: int
    retransmissions: int


def simulated(protocol: str, case: tuple[float, float], duration: float, ip: int = 4) -> Figures:
    """The packet engine's."""
    sender = f'kind = "{protocol}"' + (", pacing = 0.85" if protocol in PACED else "")
    result = cp.run(
        SCENARIO.format(
            duration=duration,
            warmup=duration / 3,
            rate=f"{case[0]}Mbps",
            rtt=f"{case[1]}ms",
            protocol=protocol,
            sender=sender,
            ip=ip,
        )
    )
    link = result.summary["links"][0]
    return Figures(link["utilization_ratio"], link["queue_mean_ratio"], link["drops_pkts"], 0)


def measured(
    protocol: str,
    case: tuple[float, float],
    duration: float,
    ip: int = 4,
    *,
    router_first: bool = False,
) -> Figures:
    """The kernel's, with the router's program on the bottleneck."""
    capacity, rtt_s = case[0] * 1e6, case[1] / 1e3
    buffer = capacity * rtt_s / 8
    family = FAMILIES[ip]
    with network(protocol, capacity, rtt_s, family, router_first=router_first) as made:
        source, router, sink, cgroup = made
        listens = _iperf(sink, cgroup, "-s", "-1", "-J")
        server = subprocess.Popen(listens, stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        often = ("-P", "4", "-t", f"{duration + 1:.0f}", "-J", *family.options)
        sends = _iperf(source, cgroup, "-c", family.sink, "-C", protocol, *often)
        client = subprocess.Popen(sends, stdout=subprocess.PIPE, text=True)
        try:
            began = time.monotonic()
            time.sleep(duration / 3)
            first, queues = _qdisc(router), []
            while time.monotonic() < began + duration:
                time.sleep(EVERY_S)
                last = _qdisc(router)
                queues.append(last.backlog)
            told = json.loads(client.communicate(timeout=20)[0])
        finally:
            for process in (client, server):
                process.kill()
                process.wait()
    if "end" not in told or "sum_sent" not in told["end"]:
        raise RuntimeError(told.get("error", "iperf3 told nothing"))
    return Figures(
        8 * (last.bytes - first.bytes) / (last.at - first.at) / capacity,
        sum(queues) / len(queues) / buffer,
        last.drops - first.drops,
        told["end"]["sum_sent"]["retransmits"],
    )


def _iperf(netns: str, cgroup: Path | None, *arguments: str) -> list[str]:
    """The command of an iperf3 in a namespace and, for protocols with an option, in the cgroup."""
    if cgroup is None:
        return namespaces.inside(netns, ["iperf3", *arguments])
    joins = 'echo $$ > "$0/cgroup.procs"; exec iperf3 "$@"'
    return namespaces.inside(netns, ["sh", "-ec", joins, str(cgroup), *arguments])


class _Qdisc(NamedTuple):
    """What the bottleneck's queueing discipline says; bytes are without Ethernet's headers."""

    at: float
    bytes: float
    drops: int
    backlog: float


def _qdisc(netns: str) -> _Qdisc:
    command = ["tc", "-s", "-j", "qdisc", "show", "dev", "v0", "root"]
    done = namespaces.run(namespaces.inside(netns, command))
    told: dict[str, Any] = json.loads(done.stdout)[0]
    share = PACKET / (PACKET + ETHERNET)
    sent = told["bytes"] - ETHERNET * told["packets"]
    return _Qdisc(time.monotonic(), sent, told["drops"], share * told["backlog"])


@contextmanager
def network(
    protocol: str, capacity: float, rtt_s: float, family: Family, *, router_first: bool
) -> Iterator[tuple[str, str, str, Path | None]]:
    """Namespaces with the source, the router and the sink, the protocol in both hosts, and the
    cgroup of its sockets, which is below the one that runs of the linux engine have."""
    # Ten times as fast as the bottleneck, so that nothing waits there.
    link = shell.Link(f"{10 * capacity:.0f}bps", f"{rtt_s}s")
    toml, _ = api.resolve(api.Source("<tool>", shell.scenario(link)))
    with ExitStack() as stack:
        names = stack.enter_context(namespaces.several(["source", "router", "sink"]))
        source, router, sink = names
        plan = shell._plan(toml, [source, router], None)
        emulator = stack.enter_context(Process("emulate", plan))
        emulator.start()
        emulator.ready()
        _configure(protocol, family, names)
        # TBF counts Ethernet's headers, the router and the packet engine do not.
        whole = (PACKET + ETHERNET) / PACKET
        shape = ["rate", f"{capacity * whole:.0f}bit", "burst", "5kb"]
        shape += ["limit", f"{capacity * rtt_s / 8 * whole:.0f}"]
        tbf = ["tc", "qdisc", "add", "dev", "v0", "root", "tbf", *shape]
        done = namespaces.run(namespaces.inside(router, tbf))
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        cgroup = stack.enter_context(cgroups.own())
        places = [(source, DEVICE), (sink, "v0")]
        loads: list[AbstractContextManager[object]] = [
            hosts.attached(protocol, places, cgroup=None if cgroup is None else cgroup.parent),
            _router(protocol, router, capacity),
        ]
        for load in reversed(loads) if router_first else loads:
            stack.enter_context(load)
        yield source, router, sink, cgroup


@contextmanager
def _router(protocol: str, netns: str, capacity: float) -> Iterator[None]:
    name = f"{protocol}-router"
    try:
        hosts.load(name, dev="v0", netns=netns, rate_bps=round(capacity))
        yield
    finally:
        hosts.unload(name, dev="v0", netns=netns)


def _configure(protocol: str, family: Family, names: Sequence[str]) -> None:
    ratio = 85 if protocol in PACED else 0
    sysctls = {
        **TCP,
        **{f"ipv4/tcp_{way}mem": f"4096 {MEMORY} {MEMORY}" for way in "rw"},
        **{f"ipv4/tcp_pacing_{phase}_ratio": f"{ratio}" for phase in ("ca", "ss")},
        "ipv4/ip_forward": "1",
        "ipv4/conf/all/rp_filter": "0",
        "ipv6/conf/all/forwarding": "1",
    }
    mtu = f"mtu {family.mtu} txqueuelen 10000 up"
    own, router, peer = (f"{end}/{family.bits}" for end in family[:3])
    nodad = " nodad" if family.bits == 128 else ""
    source, forwarder, sink = names
    ways = {
        source: [
            *device_commands(family.source, PACKET),
            f"route add {family.every} dev {DEVICE} initcwnd 10",
        ],
        forwarder: [
            "link set lo up",
            f"link set {DEVICE} {mtu}",
            f"link add v0 type veth peer name v0 netns {sink}",
            f"link set v0 {mtu}",
            f"addr add {router} dev v0{nodad}",
            f"route add {own} dev {DEVICE}",
            f"route add {peer} dev v0",
        ],
        sink: [
            "link set lo up",
            f"link set v0 {mtu}",
            f"addr add {peer} dev v0{nodad}",
            f"route add {router} dev v0",
            # One ACK for each packet, as in the papers and in the packet engine.
            f"route add {family.every} via {family.router} dev v0 quickack 1",
        ],
    }
    for name, commands in ways.items():
        namespaces.configure(name, commands, sysctls)


def main() -> None:
    """Print a table, and what misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=60.0, help="seconds; a third is warm-up")
    parser.add_argument("--ip", nargs="+", type=int, default=[*FAMILIES], choices=FAMILIES)
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS, choices=PROTOCOLS)
    asked = parser.parse_args()
    missed = []
    names = "utilization, kernel | packets | mean queue / buffer, kernel | packets"
    print(f"| link | IP | router | {names} | drops | retransmissions |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case, ip, protocol in itertools.product(CASES, asked.ip, asked.protocols):
        link = f"{case[0]} Mb/s x {case[1]} ms"
        ours = measured(protocol, case, asked.duration, ip)
        theirs = simulated(protocol, case, asked.duration, ip)
        print(
            f"| {link} | {ip} | {protocol} | {ours.utilization:.3f} | "
            f"{theirs.utilization:.3f} | {ours.queue:.3f} | {theirs.queue:.3f} | "
            f"{ours.drops} | {ours.retransmissions} |",
            flush=True,
        )
        apart = {
            "utilization": abs(ours.utilization - theirs.utilization),
            "mean queue": abs(ours.queue - theirs.queue),
        }
        missed += [
            f"{protocol} over IPv{ip} at {link}: {name} {100 * by:.1f} points apart"
            for name, by in apart.items()
            if by > WITHIN
        ]
    print("\nmisses:" if missed else "\nno misses", *missed, sep="\n  ")


if __name__ == "__main__":
    main()
