"""Flows over an emulated link, their codes or options random: what a connection then gets."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from clearpipe import api
from clearpipe.linux import hosts, namespaces, shell
from clearpipe.linux.engine import DEVICE, device_commands
from clearpipe.linux.process import Process

PROGRAM = Path(__file__).resolve().parents[2] / "ebpf" / "tests" / "garbage.bpf.c"
INSIDE, PEER = "10.77.0.1", "10.77.0.2"
FLOWS = 20
"""At 20 ms with a BDP of buffer there is room for 14 packets of 1500 bytes each."""
RATE_BPS, RATE, RTT = 100e6, "100Mbps", "20ms"
PATIENCE_S = 180.0
"""For what backed-off timers may take."""
SHORT_RTT = "4ms"
"""Random codes cut VCP's and DPCP's windows to a few packets: shorter RTTs bring more of them."""

LEAST_PKTS_PER_S = {"vcp": 7500, "dpcp": 8000, "mlcp": 8500, "xcp": 8500, "ixcp": 8500}
"""How many packets cross the link at least; measured were 9600 (vcp), 10500 (dpcp), 9900 (rest)."""

# From the first connection to the last arrival [s]; for each flow: its port, what it got, the times
# between which nothing came for over half a second.
SINK = """
import json, select, socket, sys, time
name, count = sys.argv[1].encode(), int(sys.argv[2])
server = socket.socket()
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
server.bind(("10.77.0.2", 5001))
server.listen(count)
print("ready", flush=True)
poll, flows = select.epoll(), {}
for _ in range(count):
    peer, (_, port) = server.accept()
    peer.setblocking(False)
    flows[peer.fileno()] = [peer, port, 0, time.monotonic(), []]
    poll.register(peer, select.EPOLLIN)
left, first = count, min(flow[3] for flow in flows.values())
last = first
while left:
    for number, _ in poll.poll():
        flow = flows[number]
        try:
            data = flow[0].recv(1 << 18)
        except ConnectionError:
            data = b""
        now = time.monotonic()
        if now - flow[3] > 0.5:
            flow[4].append((flow[3], now))
        flow[2], flow[3] = flow[2] + len(data), now
        if data:
            last = now
        else:
            poll.unregister(number)
            left -= 1
print(json.dumps([last - first, [flow[1:3] + flow[4:] for flow in flows.values()]]))
"""
# The RTO of each flow, whenever it was another: (time, seconds) by port.
SOURCE = """
import json, os, socket, struct, sys, time
name, count, seconds = sys.argv[1].encode(), int(sys.argv[2]), float(sys.argv[3])
flows = []
for _ in range(count):
    source = socket.socket()
    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
    source.setsockopt(socket.IPPROTO_TCP, 25, 1 << 16)  # TCP_NOTSENT_LOWAT
    source.connect(("10.77.0.2", 5001))
    source.setblocking(False)
    flows.append((source, source.getsockname()[1], []))
data, end = bytes(1 << 16), time.monotonic() + seconds
while time.monotonic() < end:
    for source, _, told in flows:
        try:
            while source.send(data):
                pass
        except BlockingIOError:
            pass
        info = source.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 12)
        rto = struct.unpack_from("=I", info, 8)[0] / 1e6
        if not told or told[-1][1] != rto:
            told.append((time.monotonic(), rto))
    time.sleep(0.001)
print(json.dumps({port: told for _, port, told in flows}), flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class Outcome:
    """What came of all flows."""

    bits_per_second: float
    """TCP's payload that arrived until the last did, of all flows together."""
    least_bytes: int
    """Of the flow that got least."""
    silences: list[tuple[float, float]]
    """How long nothing came to a flow where that was over half a second, and the largest RTO that
    its sender had meanwhile [s]."""
    packets: int
    """How many crossed the link, both ways."""

    @property
    def stalls(self) -> list[tuple[float, float]]:
        """The silences longer than a second and two RTOs."""
        return [(length, rto) for length, rto in self.silences if length > max(1.0, 2 * rto)]


def compiled(folder: Path) -> Path:
    """The program that garbles, for devices without Ethernet headers."""
    made = folder / "garbage-raw.o"
    include = f"-I/usr/include/{os.uname().machine}-linux-gnu"
    flags = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", include]
    subprocess.run(["clang", *flags, "-c", str(PROGRAM), "-o", str(made)], check=True, timeout=120)
    return made


def run(protocol: str, program: Path, seconds: float) -> Outcome:
    """Have flows of a protocol send while every code or option of theirs is random."""
    bits = protocol in {"vcp", "dpcp"}
    link = shell.Link(RATE, SHORT_RTT if bits else RTT, queue=protocol)
    how = "bits" if bits else "option"
    toml, _ = api.resolve(api.Source("<garbage>", shell.scenario(link)))
    with contextlib.ExitStack() as stack:
        names = stack.enter_context(namespaces.several(["in", "peer"]))
        emulator = stack.enter_context(Process("emulate", shell._plan(toml, names, None)))
        emulator.start()
        emulator.ready()
        for name, own, peer in ((names[0], INSIDE, PEER), (names[1], PEER, INSIDE)):
            route = f"route add {peer}/32 dev {DEVICE} src {own} quickack 1"
            sysctls = {"ipv6/conf/all/disable_ipv6": "1", "ipv4/tcp_ecn": "0"}
            namespaces.configure(name, [*device_commands(own, 1500), route], sysctls)
        attach = [(name, DEVICE) for name in names]
        control = stack.enter_context(hosts.attached(protocol, attach))
        for name in names:
            garble = f"bpf direct-action object-file {program} section {how}"
            for command in (
                f"tc qdisc replace dev {DEVICE} clsact",
                f"tc filter add dev {DEVICE} egress prio 65000 {garble}",
            ):
                subprocess.run(namespaces.inside(name, command.split()), check=True, timeout=60)
        python = [sys.executable, "-c"]
        sink = subprocess.Popen(
            namespaces.inside(names[1], [*python, SINK, control, str(FLOWS)]),
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(sink.kill)
        assert sink.stdout is not None
        assert sink.stdout.readline() == "ready\n"
        source = subprocess.run(
            namespaces.inside(names[0], [*python, SOURCE, control, str(FLOWS), str(seconds)]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=seconds + PATIENCE_S,
        )
        # What the sockets still hold is sent after their program's end.
        took, arrived = json.loads(sink.communicate(timeout=PATIENCE_S)[0])
        emulator.tell("stop")
        packets = emulator.finish(10.0)["forwarded_pkts"]
    return _outcome(arrived, json.loads(source.stdout), packets, took)


def _outcome(
    arrived: list[tuple[int, int, list[tuple[float, float]]]],
    timeouts: dict[str, list[tuple[float, float]]],
    packets: int,
    took: float,
) -> Outcome:
    silences = []
    for port, _, gaps in arrived:
        told = timeouts[str(port)]
        for start, end in gaps:
            before = [rto for at, rto in told if at <= start][-1:]
            during = [rto for at, rto in told if start < at <= end]
            silences.append((end - start, max([*before, *during, 0.0])))
    total = sum(flow[1] for flow in arrived)
    least = min(flow[1] for flow in arrived)
    return Outcome(total * 8 / took, least, sorted(silences, reverse=True), packets)
