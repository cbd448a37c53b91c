"""A flow whose path stops giving its protocol's signals for a while: what its sender then does.

Two links of the same rate and delay join two network namespaces: one with the protocol's router,
one without. Or one link leads to a third namespace, which forwards through a TBF whose router is a
program of the kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import garbling
import kernel_bpf

from clearpipe import api
from clearpipe.linux import engine, hosts, namespaces, shell
from clearpipe.linux.process import Process

RATE, RTT = "20Mbps", "40ms"
"""100 kB under way, 66 packets of 1500 bytes, and as much of buffer."""
MTU = 1500
OTHER = "cp1"
"""The device of the link without a router."""
BEHIND = "v0"
"""The device behind the third namespace."""
ENDS = {4: ("10.77.0.1", "10.77.0.2"), 6: ("fd77::1:1", "fd77::1:2")}
WAYS = ("strip", "bleach", "flip", "silent")
"""What breaks: all signals are removed on the way; IP's two bits are; the route goes over a link
without a router; the router's program is gone and its queue is still there."""

# Sends until its end; what TCP and the protocol's programs say, every millisecond.
SOURCE = """
import ctypes, json, os, socket, struct, sys, time
name, seconds, told = sys.argv[1].encode(), float(sys.argv[2]), json.loads(sys.argv[3])
address, libc = sys.argv[4], ctypes.CDLL(None, use_errno=True)
def bpf(command, attr):
    done = libc.syscall(told["syscall"], command, attr, len(attr))
    assert done >= 0, os.strerror(ctypes.get_errno())
    return done
source = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
source.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
source.setsockopt(socket.IPPROTO_TCP, 25, 1 << 16)  # TCP_NOTSENT_LOWAT
source.connect((address, 5001))
source.setblocking(False)
flows = bpf(14, ctypes.create_string_buffer(struct.pack("I", told["map"]), 128))
key, value = ctypes.c_int(source.fileno()), ctypes.create_string_buffer(told["size"])
places = ctypes.addressof(key), ctypes.addressof(value)
lookup = ctypes.create_string_buffer(struct.pack("I4xQQQ", flows, *places, 0), 128)
data, rows, end = bytes(1 << 16), [], time.monotonic() + seconds
while (now := time.monotonic()) < end:
    try:
        while source.send(data):
            pass
    except BlockingIOError:
        pass
    info = source.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128)
    srtt, cwnd = struct.unpack_from("=I", info, 68)[0], struct.unpack_from("=I", info, 80)[0]
    again, acked = struct.unpack_from("=I", info, 100)[0], struct.unpack_from("=Q", info, 120)[0]
    bpf(1, lookup)
    at = told["at"]
    reno = any(value.raw[at[name]] for name in ("fallback.reno", "fallback.blind"))
    rows.append((now, srtt / 1e6, cwnd, again, acked, reno))
    time.sleep(0.001)
print(json.dumps(rows), flush=True)
os._exit(0)
"""
SINK = """
import socket, sys
name, address = sys.argv[1].encode(), sys.argv[2]
server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # The last one's FIN may be under way.
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
server.bind((address, 5001))
server.listen()
print("ready", flush=True)
peer = server.accept()[0]
while peer.recv(1 << 18):
    pass
"""


# Sends little, in one of several ways.
QUIET = """
import socket, sys, time
name, address, how = sys.argv[1].encode(), sys.argv[2], sys.argv[3]
source = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
source.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
if how == "small window":
    source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
source.connect((address, 5001))
pieces = {"drops": (40, 1000, 0.09), "bursts": (6, 30000, 0.6), "small window": (60, 3000, 0.0)}
times, size, pause = pieces[how]
for _ in range(times):
    source.sendall(bytes(size))
    time.sleep(pause)
"""
QUIET_WAYS = ("drops", "bursts", "small window")
"""A packet each 90 ms; 30 kB each 0.6 s; all that a buffer of a packet or two lets."""


def where(flows: kernel_bpf.Flows) -> dict[str, Any]:
    """What SOURCE must know to read a socket's state."""
    number = kernel_bpf.SYSCALL[os.uname().machine]
    return {"syscall": number, "map": flows.map, "size": flows.size, "at": flows.offsets}


class Row(NamedTuple):
    """The sender at a time."""

    at: float
    srtt: float
    cwnd: int
    again: int
    """Packets sent again so far."""
    acked: int
    reno: bool
    """Does Reno move the window?"""


@dataclass(frozen=True)
class Outcome:
    """What a sender did; times in RTTs, the sender's smoothed one when the path broke."""

    rtt_s: float
    before: float
    """The mean rate in the second before the path broke, over the link's."""
    first_loss: float | None
    """From the break to the first packet that was sent again."""
    to_reno: float | None
    """From the break to Reno."""
    steepest: float
    """The most packets that the window grew by per RTT of the moment, while it was Reno's."""
    back: float | None
    """From the end of it to the protocol."""
    after: float
    """The mean rate in the last second, over the link's."""


def run(
    protocol: str,
    way: str,
    folder: Path,
    seconds: tuple[float, float, float],
    version: int = 4,
) -> Outcome:
    """Have one flow send for some seconds over the whole path, the broken and the mended one."""
    with contextlib.ExitStack() as stack:
        path = _Path(stack, protocol, way, version)
        program = garbling.compiled(folder) if way in {"strip", "bleach"} else None
        whole, broken, _ = seconds
        with path.sending(sum(seconds)) as source:
            time.sleep(whole)
            began = path.break_it(program)
            time.sleep(broken)
            ended = path.mend()
            rows = [Row(*row) for row in json.loads(source.communicate(timeout=60)[0])]
        path.end()
    return _outcome(rows, began, ended)


def quiet(protocol: str, version: int) -> list[int]:
    """How often flows that send little were Reno on a path whose router marks: one after another
    in each of `QUIET_WAYS`, with a receiver that delays its ACKs."""
    found = []
    with contextlib.ExitStack() as stack:
        path = _Path(stack, protocol, "silent", version)
        path.delay_acks()
        for way in QUIET_WAYS:
            before = _counters(protocol)
            path.send_little(way)
            after = _counters(protocol)
            # Both ends have the protocol: else nobody could have fallen back.
            assert after["flows"] - before["flows"] >= 2
            found.append(after["fallbacks"] - before["fallbacks"])
        path.end()
    return found


def _counters(protocol: str) -> dict[str, int]:
    counters: dict[str, int] = next(
        one["counters"] for one in hosts.status() if one["name"] == protocol
    )
    return counters


class _Path:
    """Both ends, the links between them, and what breaks them."""

    def __init__(
        self,
        stack: contextlib.ExitStack,
        protocol: str,
        way: str,
        version: int,
    ) -> None:
        self.stack, self.way, self.protocol, self.version = stack, way, protocol, version
        silent = way == "silent"
        names = ["left", "right", *(["middle"] if silent else [])]
        left, right, *middle = stack.enter_context(namespaces.several(names))
        self.ends, self.between = (left, right), (left, middle[0] if silent else right)
        links = [(engine.DEVICE, "1Gbps" if silent else RATE, "droptail" if silent else protocol)]
        if way == "flip":
            links.append((OTHER, RATE, "droptail"))
        self.emulators = [self._link(*link) for link in links]
        if silent:
            self._lead_on()
        attach = [(name, device) for device, _, _ in links for name in self.between]
        if silent:
            attach = [(left, engine.DEVICE), (right, BEHIND)]
        else:
            for number, (device, _, _) in enumerate(links):
                self._configure(device, first=number == 0)
        self.control = stack.enter_context(hosts.attached(protocol, attach))
        if way in {"strip", "bleach"}:
            # A device stops for a moment when it gets one.
            for end in (0, 1):
                self._inside(end, f"tc qdisc replace dev {engine.DEVICE} clsact")
        if silent:
            self._router(there=True)
            stack.callback(self._router, there=False)

    def _lead_on(self) -> None:
        """A third namespace, and a TBF with the rate and buffer of the other links."""
        v6 = self.version == 6
        (left, right), middle = self.ends, self.between[1]
        source, sink = ENDS[self.version]
        any_way = "ipv6/conf/all/forwarding" if v6 else "ipv4/ip_forward"
        add = f"link add {BEHIND} type veth peer name {BEHIND} netns {right}"
        namespaces.ip("-n", middle, *add.split())
        setting = {"ipv4/tcp_ecn": "0"}
        near = engine.device_commands(source, MTU)
        how = f"dev {engine.DEVICE} src {source} quickack 1"
        namespaces.configure(left, [*near, f"route add {sink} {how}"], setting)
        forward = [line for line in near if not line.startswith("addr add")]
        forward += [f"link set {BEHIND} up", f"route add {source} dev {engine.DEVICE}"]
        gateway = "fd78::1" if v6 else "10.78.0.1"
        of_ends = [f"addr add {gateway}/{64 if v6 else 24} dev {BEHIND}{' nodad' if v6 else ''}"]
        other = f"{gateway[:-1]}2"
        forward += [*of_ends, f"route add {sink} via {other}"]
        far = [
            "link set lo up",
            f"link set {BEHIND} up",
            *(line.replace(gateway, other) for line in of_ends),
        ]
        far.append(f"addr add {sink}/{128 if v6 else 32} dev lo{' nodad' if v6 else ''}")
        far.append(f"route add {source} via {gateway} src {sink} quickack 1")
        namespaces.configure(right, far, setting)
        namespaces.configure(middle, forward, {any_way: "1"})
        shaper = f"tc qdisc replace dev {BEHIND} root tbf rate 20mbit burst 5kb limit 100kb"
        subprocess.run(namespaces.inside(middle, shaper.split()), check=True, timeout=60)

    def _link(self, device: str, rate: str, queue: str) -> Process:
        text = shell.scenario(shell.Link(rate, RTT, queue=queue))
        plan = shell._plan(api.resolve(api.Source("<path>", text))[0], self.between, None)
        for each in plan["devices"]:
            each["name"] = device
        emulator = self.stack.enter_context(Process("emulate", plan))
        emulator.start()
        emulator.ready()
        return emulator

    def _configure(self, device: str, *, first: bool) -> None:
        for name, own, peer in zip(
            self.ends, ENDS[self.version], reversed(ENDS[self.version]), strict=True
        ):
            commands = [
                line.replace(engine.DEVICE, device) for line in engine.device_commands(own, MTU)
            ]
            if not first:
                commands = [line for line in commands if not line.startswith("addr")]
            else:
                commands.append(f"route add {peer} dev {device} src {own} quickack 1")
            namespaces.configure(name, commands, {"ipv4/tcp_ecn": "0"})

    def _inside(self, end: int, command: str) -> None:
        inside = namespaces.inside(self.ends[end], command.split())
        subprocess.run(inside, check=True, timeout=60)

    def _router(self, *, there: bool) -> None:
        name, middle = f"{self.protocol}-router", self.between[1]
        if there:
            hosts.load(name, rate_bps=20_000_000, dev=BEHIND, netns=middle)
        else:
            hosts.unload(name, dev=BEHIND, netns=middle)

    def _route(self, device: str) -> None:
        ways = (ENDS[self.version], ENDS[self.version][::-1])
        for end, (own, peer) in enumerate(ways):
            how = f"route replace {peer} dev {device} src {own} quickack 1"
            namespaces.ip("-n", self.ends[end], *how.split())

    def break_it(self, program: Path | None) -> float:
        """When it was broken."""
        if self.way == "flip":
            self._route(OTHER)
        elif self.way == "silent":
            self._router(there=False)
        else:
            where = f"tc filter add dev {engine.DEVICE} egress prio 65000"
            what = f"bpf direct-action object-file {program} section {self.way}"
            # Data first, so that it is broken with that.
            self._inside(0, f"{where} {what}")
            broken = time.monotonic()
            self._inside(1, f"{where} {what}")
            return broken
        return time.monotonic()

    def mend(self) -> float:
        """When it was mended."""
        if self.way == "flip":
            self._route(engine.DEVICE)
        elif self.way == "silent":
            self._router(there=True)
        else:
            for end in (0, 1):
                self._inside(end, f"tc filter del dev {engine.DEVICE} egress prio 65000")
        return time.monotonic()

    def delay_acks(self) -> None:
        """The kernel's own way, where a route does not ask for one at once."""
        right, source = self.ends[1], ENDS[self.version][0]
        family = "-6" if self.version == 6 else "-4"
        shown = namespaces.run(["ip", family, "-n", right, "route", "show", source]).stdout
        namespaces.ip("-n", right, "route", "replace", *shown.replace("quickack 1", "").split())

    def send_little(self, way: str) -> None:
        address = ENDS[self.version][1]
        with contextlib.ExitStack() as stack:
            sink = self._python(stack, 1, SINK, self.control, address)
            assert sink.stdout is not None
            assert sink.stdout.readline() == "ready\n"
            source = self._python(stack, 0, QUIET, self.control, address, way)
            assert source.wait(60) == 0
            assert sink.wait(60) == 0

    @contextlib.contextmanager
    def sending(self, seconds: float) -> Iterator[subprocess.Popen[str]]:
        flows = kernel_bpf.flows_of(
            kernel_bpf.Program(hosts.PINS[0] / self.protocol / "ingress_raw")
        )
        told = where(flows)
        address = ENDS[self.version][1]
        with contextlib.ExitStack() as stack:
            sink = self._python(stack, 1, SINK, self.control, address)
            assert sink.stdout is not None
            assert sink.stdout.readline() == "ready\n"
            arguments = (self.control, str(seconds), json.dumps(told), address)
            yield self._python(stack, 0, SOURCE, *arguments)

    def _python(
        self, stack: contextlib.ExitStack, end: int, program: str, *arguments: str
    ) -> subprocess.Popen[str]:
        command = namespaces.inside(self.ends[end], [sys.executable, "-c", program, *arguments])
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        return process

    def end(self) -> None:
        for emulator in self.emulators:
            emulator.tell("stop")
            emulator.finish(10.0)


def _outcome(rows: Sequence[Row], began: float, ended: float) -> Outcome:
    def first(after: float, is_it: Callable[[Row], bool], until: float = 1e30) -> float | None:
        found = (row.at for row in rows if after <= row.at < until and is_it(row))
        return next(found, None)

    def rate(start: float, end: float) -> float:
        some = [row for row in rows if start <= row.at <= end]
        return (some[-1].acked - some[0].acked) * 8 / (some[-1].at - some[0].at) / 20e6

    before = [row for row in rows if row.at < began][-1]
    rtt = before.srtt

    def rtts(at: float | None, since: float) -> float | None:
        return None if at is None else (at - since) / rtt

    loss = first(began, lambda row: row.again > before.again, ended)
    reno = first(began, lambda row: row.reno, ended)
    back = first(ended, lambda row: not row.reno)
    return Outcome(
        rtt,
        rate(began - 1.0, began),
        rtts(loss, began),
        rtts(reno, began),
        _steepest([row for row in rows if began <= row.at < ended and row.reno]),
        rtts(back, ended) if reno is not None else None,
        rate(rows[-1].at - 1.0, rows[-1].at),
    )


def _steepest(rows: Sequence[Row]) -> float:
    """The largest growth of the window over at least two RTTs in which nothing was sent again."""
    worst, start = 0.0, 0
    for row in rows:
        while rows[start].again != row.again or rows[start].cwnd > row.cwnd:
            start += 1
        took = (row.at - rows[start].at) / row.srtt
        if took >= 2.0:
            worst = max(worst, (row.cwnd - rows[start].cwnd - 1) / took)
            start = next(i for i, one in enumerate(rows) if one.at >= row.at)
    return worst
