"""End hosts in eBPF on this kernel: loading, transfers, what goes wrong. Skips without them."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import breaking
import garbling
import kernel_bpf
import pytest

import clearpipe as cp
from clearpipe import api
from clearpipe.errors import ConfigError, RunError, UnsupportedError
from clearpipe.linux import cgroups, hosts, namespaces, shell
from clearpipe.linux.engine import DEVICE, device_commands
from clearpipe.linux.process import Process

SOURCES = Path(__file__).resolve().parents[2]
PINS = Path("/sys/fs/bpf/clearpipe")
SIZE = 1_500_000
HOSTILE = int(os.environ.get("CLEARPIPE_HOSTILE_PKTS", "1000"))
ALL = (*hosts.PROTOCOLS, *hosts.DECOUPLED)
CLIENT_AT = {4: "10.76.0.1", 6: "fd76::1"}
SERVER_AT = {4: "10.76.0.2", 6: "fd76::2"}
both_versions = pytest.mark.parametrize("version", [4, 6])


def _marks(*, quick: bool) -> list[pytest.MarkDecorator]:
    return [] if quick else [pytest.mark.long]


# Bits and options over both versions; the rest over IPv4, and everything in the long tests.
garbled = pytest.mark.parametrize(
    ("protocol", "version"),
    [
        pytest.param(protocol, version, marks=_marks(quick=protocol in few))
        for version, few in ((4, hosts.PROTOCOLS), (6, ("vcp", "xcp")))
        for protocol in ALL
    ],
)

# Both send what they are told to while they receive, and print what came.
BOTH = """
import hashlib, random, socket, struct, sys, threading
name, size, address = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[4]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
def talk(peer):
    def send():
        peer.sendall(random.Random(1).randbytes(size))
        peer.shutdown(socket.SHUT_WR)
    sending = threading.Thread(target=send)
    sending.start()
    digest, received = hashlib.sha256(), 0
    while data := peer.recv(1 << 16):
        digest.update(data)
        received += len(data)
    sending.join()
    info = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 120)
    # TCPI_OPT_ECN; tcpi_snd_cwnd.
    print(received, digest.hexdigest(), info[5] >> 3 & 1, *struct.unpack_from("=I", info, 80))
"""
SERVER = f"""{BOTH}
server = socket.socket(family)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
if int(sys.argv[3]):
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[3]))
server.bind((address, 5001))
server.listen()
print("ready", flush=True)
talk(server.accept()[0])
"""
CLIENT = f"""{BOTH}
client = socket.socket(family)
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
if int(sys.argv[3]):
    client.setsockopt(socket.SOL_SOCKET, 47, int(sys.argv[3]))  # SO_MAX_PACING_RATE
client.connect((address, 5001))
talk(client)
"""

# Sends for some seconds; its window, whenever it was another: (time, packets).
WINDOWS = """
import json, os, socket, struct, sys, time
name, end = sys.argv[1].encode(), time.monotonic() + float(sys.argv[2])
client = socket.socket()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
client.connect(("10.76.0.2", 5001))
client.setblocking(False)
data, told = bytes(1 << 16), []
while (now := time.monotonic()) < end:
    try:
        client.send(data)
    except BlockingIOError:
        pass
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 84)
    cwnd = struct.unpack_from("=I", info, 80)[0]
    if not told or told[-1][1] != cwnd:
        told.append((now, cwnd))
    time.sleep(0.001)
print(json.dumps(told), flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module", autouse=True)
def _supported() -> None:
    if lacks := hosts.missing():
        pytest.skip(lacks)


def sh(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@dataclass
class Pair:
    """Two network namespaces joined by a veth pair."""

    left: str
    right: str
    # Was the protocol loaded for this pair first, so that what it counts is ours?
    fresh: bool = False
    # The client's window at the end of the last transfer.
    sender_cwnd: int = 0

    def inside(self, netns: str, *command: str) -> list[str]:
        # `ip netns exec` would hide the pins.
        return ["nsenter", f"--net=/run/netns/{netns}", *command]

    def load(self, protocol: str, *sides: str) -> None:
        self.fresh = all(each["name"] != protocol for each in hosts.status())
        for netns in sides:
            hosts.load(protocol, dev="v0", netns=netns)

    def transfer(  # noqa: PLR0913 - one for each setting
        self,
        protocol: str,
        *,
        back: int = 0,
        limit_s: float = 30,
        answering: str | None = None,
        buffer_bytes: int = 0,
        pacing_bytes: int = 0,
        version: int = 4,
    ) -> tuple[int, int]:
        """Sends random bytes, and `back` the other way meanwhile; they must come whole, in time.

        Where nothing comes back the server's socket is Reno's. The server's buffer and the client's
        pacing (a second) are the kernel's if 0. At the end: has the server's socket ECN, and its
        window."""
        # The kernel's names have no hyphens.
        protocol = protocol.replace("-", "_")
        answering = (answering or (protocol if back else "reno")).replace("-", "_")
        at = SERVER_AT[version]
        server_arguments = ("-c", SERVER, answering, str(back), str(buffer_bytes), at)
        server = subprocess.Popen(
            self.inside(self.right, sys.executable, *server_arguments),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            client_arguments = ("-c", CLIENT, protocol, str(SIZE), str(pacing_bytes), at)
            client = self.inside(self.left, sys.executable, *client_arguments)
            done = subprocess.run(
                client, check=False, timeout=limit_s, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            received = server.communicate(timeout=limit_s)[0].split()
        finally:
            server.kill()
            server.wait()
        for sent, came in ((SIZE, received), (back, done.stdout.split())):
            digest = hashlib.sha256(random.Random(1).randbytes(sent)).hexdigest()
            assert came[:2] == [str(sent), digest]
        ecn, cwnd = map(int, received[2:])
        self.sender_cwnd = int(done.stdout.split()[3])
        return ecn, cwnd

    def counter(self, netns: str, name: str) -> int:
        """One of the kernel's counters in a namespace."""
        text = sh(*self.inside(netns, "cat", "/proc/net/snmp", "/proc/net/netstat"))
        rows = [line.split() for line in text.splitlines()]
        for keys, values in zip(rows[::2], rows[1::2], strict=True):
            if name in keys:
                return int(values[keys.index(name)])
        raise AssertionError(name)


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = f"cphosts{os.getpid()}a", f"cphosts{os.getpid()}b"
    try:
        for netns in (left, right):
            sh("ip", "netns", "add", netns)
        sh("ip", "-n", left, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        sh("ip", "-n", left, "link", "set", "v1", "netns", right, "name", "v0")
        for netns, ends in ((left, CLIENT_AT), (right, SERVER_AT)):
            sh("ip", "-n", netns, "addr", "add", f"{ends[4]}/24", "dev", "v0")
            sh("ip", "-n", netns, "addr", "add", f"{ends[6]}/64", "dev", "v0", "nodad")
            sh("ip", "-n", netns, "link", "set", "v0", "up")
        yield Pair(left, right)
    finally:
        for netns in (left, right):
            for name in (*ALL, *hosts.ROUTERS):
                hosts.unload(name, dev="v0", netns=netns)
            subprocess.run(["ip", "netns", "del", netns], check=False, capture_output=True)


def available() -> list[str]:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return path.read_text(encoding="ascii").split()


def loaded(pair: Pair) -> dict[str, set[str | None]]:
    """The namespaces of this test in which each protocol is."""
    ours = {pair.left, pair.right}
    return {
        each["name"]: places
        for each in hosts.status()
        if (places := {device["netns"] for device in each["devices"]} & ours)
    }


def own_counters(pair: Pair) -> dict[str, int] | None:
    """What DPCP counted; None where others use it, too, as the counters are the kernel's."""
    status = next(each for each in hosts.status() if each["name"] == "dpcp")
    ours = {device["netns"] for device in status["devices"]} == {pair.left, pair.right}
    return dict(status["counters"]) if ours and pair.fresh else None


def load_overloaded_router(netns: str, name: str = "vcp-router") -> None:
    """A router that believes in 80 bit/s: after its first period every packet is overload."""
    hosts.load(name, dev="v0", netns=netns, rate_bps=80)


def gso_max_segs(pair: Pair, netns: str) -> int:
    text = sh("ip", "-n", netns, "-d", "-j", "link", "show", "dev", "v0")
    return int(json.loads(text)[0]["gso_max_segs"])


@pytest.mark.parametrize("protocol", hosts.PROTOCOLS)
def test_what_is_loaded_is_there_and_unloading_leaves_nothing(pair: Pair, protocol: str) -> None:
    before = gso_max_segs(pair, pair.left)
    with hosts.attached(protocol, [(pair.left, "v0"), (pair.right, "v0")]) as name:
        assert name in available()
        assert loaded(pair) == {protocol: {pair.left, pair.right}}
        # What must be one packet at TC is; VCP's may be large.
        assert gso_max_segs(pair, pair.left) == (before if protocol == "vcp" else 1)
        hosts.unload(protocol, dev="v0", netns=pair.left)
        assert loaded(pair) == {protocol: {pair.right}}
    assert loaded(pair) == {}
    assert gso_max_segs(pair, pair.left) == before
    if not any(each["name"] == protocol for each in hosts.status()):
        assert protocol not in available()


@both_versions
@pytest.mark.parametrize("protocol", hosts.PROTOCOLS)
def test_data_comes_whole(pair: Pair, protocol: str, version: int) -> None:
    pair.load(protocol, pair.left, pair.right)
    pair.transfer(protocol, version=version)
    assert pair.counter(pair.right, "InCsumErrors") == 0
    assert pair.counter(pair.left, "InCsumErrors") == 0
    if protocol == "dpcp" and (counts := own_counters(pair)):
        assert counts["switched"] > 300
        assert counts["undone"] == counts["switched"]


@both_versions
@pytest.mark.parametrize("protocol", hosts.PROTOCOLS)
def test_data_of_both_ways_comes_whole(pair: Pair, protocol: str, version: int) -> None:
    pair.load(protocol, pair.left, pair.right)
    pair.transfer(protocol, back=SIZE, version=version)
    assert pair.counter(pair.right, "InCsumErrors") == 0
    assert pair.counter(pair.left, "InCsumErrors") == 0


@both_versions
@pytest.mark.parametrize("protocol", ALL)
def test_an_end_without_the_programs_gets_plain_tcp(
    pair: Pair, protocol: str, version: int
) -> None:
    pair.load(protocol, pair.left)
    # A sender that heard no feedback would keep ten packets; Reno fills the pipe.
    pair.transfer(protocol, version=version)
    assert pair.counter(pair.right, "InCsumErrors") == 0


@contextlib.contextmanager
def narrow(rate: str, rtt: str) -> Iterator[Pair]:
    """Two network namespaces joined by a link with a buffer of one BDP, first in first out."""
    toml, _ = api.resolve(api.Source("<narrow>", shell.scenario(shell.Link(rate, rtt))))
    with contextlib.ExitStack() as stack:
        left, right = stack.enter_context(namespaces.several(["left", "right"]))
        plan = shell._plan(toml, [left, right], None)
        emulator = stack.enter_context(Process("emulate", plan))
        emulator.start()
        emulator.ready()
        for name, own, peer in (
            (left, "10.76.0.1", "10.76.0.2"),
            (right, "10.76.0.2", "10.76.0.1"),
        ):
            route = f"route add {peer}/32 dev {DEVICE} src {own}"
            namespaces.configure(name, [*device_commands(own, 1500), route], {})
        yield Pair(left, right)
        emulator.tell("stop")
        emulator.finish(10.0)


@pytest.mark.parametrize("protocol", ALL)
def test_losses_on_the_way_to_an_end_without_the_programs_cut_the_window(protocol: str) -> None:
    """Without an answer to losses more is sent again than after the slow start of the kernel's
    Reno; Reno from ten packets on, without slow start, has little of both."""

    def sent_again(pair: Pair, protocol: str) -> int:
        before = pair.counter(pair.left, "RetransSegs")
        pair.transfer(protocol)
        return pair.counter(pair.left, "RetransSegs") - before

    # 34 packets fit; 1.5 MB are 1036, and more than 60 RTTs.
    with narrow("10Mbps", "20ms") as pair, hosts.attached(protocol, [(pair.left, DEVICE)]):
        of_reno, ours = sent_again(pair, "reno"), sent_again(pair, protocol)
    print(f"{protocol}: {ours} packets sent again, Reno {of_reno}")
    assert 0 < ours <= of_reno / 2


def test_codes_that_come_again_find_renos_window(tmp_path: Path) -> None:
    """Without a router the window opens as long as codes come; then there are none for a while."""
    protocol = "dpcp-decoupled"
    if shutil.which("clang") is None or shutil.which("tc") is None:
        pytest.skip("clang and tc are needed to strip packets")
    strip = f"bpf direct-action object-file {garbling.compiled(tmp_path)} section strip"
    with narrow("10Mbps", "20ms") as pair, contextlib.ExitStack() as stack:
        both = [(pair.left, DEVICE), (pair.right, DEVICE)]
        control = stack.enter_context(hosts.attached(protocol, both))
        for netns, device in both:
            sh(*pair.inside(netns, *f"tc qdisc replace dev {device} clsact".split()))
        serving = pair.inside(
            pair.right, sys.executable, "-c", SERVER, "reno", "0", "0", SERVER_AT[4]
        )
        server = stack.enter_context(subprocess.Popen(serving, stdout=subprocess.PIPE, text=True))
        stack.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        sending = pair.inside(pair.left, sys.executable, "-c", WINDOWS, control, "7")
        client = stack.enter_context(subprocess.Popen(sending, stdout=subprocess.PIPE, text=True))
        stack.callback(client.kill)
        time.sleep(4.0)
        for netns, device in both:
            where = f"tc filter add dev {device} egress prio 65000 {strip}"
            sh(*pair.inside(netns, *where.split()))
        blind = time.monotonic()
        time.sleep(1.5)
        seeing = time.monotonic()
        for netns, device in both:
            where = f"tc filter del dev {device} egress prio 65000"
            sh(*pair.inside(netns, *where.split()))
        soon = time.monotonic() + 0.1
        told: list[tuple[float, int]] = json.loads(client.communicate(timeout=30)[0])
    before = [cwnd for at, cwnd in told if at < blind][-1]
    renos = [cwnd for at, cwnd in told if at < seeing][-1]
    after = max([renos, *(cwnd for at, cwnd in told if seeing <= at < soon)])
    print(f"{protocol}: {before} packets, {renos} without codes, then {after}")
    # 34 packets fit, which is what Reno has at most; losses have not held the window from before.
    assert renos <= 36 < before
    assert after < (renos + before) / 2


def test_a_window_that_the_receiver_holds_does_not_open_on_and_on() -> None:
    """Without a router MLCP's code is the lowest, which opens the window most."""
    with (
        narrow("50Mbps", "40ms") as pair,
        hosts.attached("mlcp", [(pair.left, DEVICE), (pair.right, DEVICE)]),
    ):
        # Linux doubles the 32 kB: 64 kB with its own overhead, which is not more than 46 packets.
        pair.transfer("mlcp", buffer_bytes=32_000)
        assert pair.counter(pair.left, "RetransSegs") == 0
    assert 10 < pair.sender_cwnd <= 2 * 46


@pytest.mark.parametrize("protocol", hosts.DECOUPLED)
def test_an_application_that_wants_a_lower_rate_gets_it(pair: Pair, protocol: str) -> None:
    pair.load(protocol, pair.left, pair.right)
    began = time.monotonic()
    pair.transfer(protocol, pacing_bytes=1_000_000)
    # 1.5 MB at 1 MB/s, of which the first ten packets may come at once.
    assert time.monotonic() - began > 1.4


@pytest.mark.parametrize("protocol", hosts.PROTOCOLS)
def test_a_receiver_with_the_programs_takes_plain_tcp(pair: Pair, protocol: str) -> None:
    pair.load(protocol, pair.left, pair.right)
    pair.transfer("reno")


@pytest.fixture(scope="module")
def garbage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broken middlebox does, as a program for TC."""
    if shutil.which("clang") is None or shutil.which("tc") is None:
        pytest.skip("clang and tc are needed to garble packets")
    made = tmp_path_factory.mktemp("garbage") / "garbage.o"
    source = SOURCES / "ebpf" / "tests" / "garbage.bpf.c"
    include = f"-I/usr/include/{os.uname().machine}-linux-gnu"
    flags = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-DETHER", include]
    sh("clang", *flags, "-c", str(source), "-o", str(made))
    return made


def garble(pair: Pair, garbage: Path, how: str) -> None:
    """Puts a section of the garbage at the egress of both sides, behind the protocol's programs."""
    for netns in (pair.left, pair.right):
        sh(*pair.inside(netns, "tc", "qdisc", "replace", "dev", "v0", "clsact"))
        program = ["bpf", "direct-action", "object-file", str(garbage), "section", how]
        where = ["dev", "v0", "egress", "prio", "65000"]
        sh(*pair.inside(netns, "tc", "filter", "add", *where, *program))


@garbled
@pytest.mark.parametrize("how", ["garbage", "strip"])
def test_garbage_on_the_way_stops_nothing(
    pair: Pair, garbage: Path, protocol: str, how: str, version: int
) -> None:
    pair.load(protocol, pair.left, pair.right)
    if how == "garbage":
        how = "option" if protocol in {"mlcp", "xcp", "ixcp"} else "bits"
    garble(pair, garbage, how)
    pair.transfer(protocol, version=version)
    assert pair.counter(pair.right, "InCsumErrors") == 0


@pytest.mark.parametrize(
    "protocol",
    [
        pytest.param(protocol, marks=_marks(quick=protocol in {"vcp", "xcp"}))
        for protocol in hosts.PROTOCOLS
    ],
)
def test_garbage_stalls_no_connection(tmp_path: Path, protocol: str) -> None:
    if shutil.which("clang") is None or shutil.which("tc") is None:
        pytest.skip("clang and tc are needed to garble packets")
    wanted = int(os.environ.get("CLEARPIPE_GARBLED_PKTS", "0"))
    seconds = max(3.0, wanted / garbling.LEAST_PKTS_PER_S[protocol])
    came = garbling.run(protocol, garbling.compiled(tmp_path), seconds)
    longest = came.silences[0] if came.silences else (0.0, 0.0)
    print(
        f"{protocol}: {came.packets} packets, {came.bits_per_second / 1e6:.1f} Mb/s, longest "
        f"silence above 0.5 s: {longest[0]:.2f} s at an RTO of {longest[1]:.2f} s"
    )
    assert came.packets >= wanted
    assert came.stalls == []
    assert came.least_bytes > 0
    assert came.bits_per_second <= garbling.RATE_BPS


@garbled
def test_hostile_packets_stop_no_host(protocol: str, version: int) -> None:
    """They reach the state of a connection that goes on meanwhile; none is touched or kept long."""
    with namespaces.several(["hostile"]) as (netns,):
        sh("ip", "-n", netns, "link", "set", "lo", "up")
        with hosts.attached(protocol, [(netns, "lo")]) as control:
            pin = hosts.PINS[0] / protocol / "ingress_ether"
            helper = Path(__file__).with_name("hostile_hosts.py")
            arguments = [helper, control, pin, str(HOSTILE), str(version)]
            done = subprocess.run(
                namespaces.inside(netns, [sys.executable, *map(str, arguments)]),
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    print(f"{protocol}, IPv{version}: {told}")
    assert told["ran"] > HOSTILE / 2
    assert told["longest_s"] < 1.0
    assert told["silence_s"] < 5.0
    assert 1 <= told["windows"][0] <= told["windows"][1] <= 1 << 20


@both_versions
def test_dpcp_stops_switching_where_a_firewall_drops_it(
    pair: Pair, garbage: Path, version: int
) -> None:
    pair.load("dpcp", pair.left, pair.right)
    garble(pair, garbage, "firewall")
    pair.transfer("dpcp", version=version)
    counts = own_counters(pair)
    # It tried: four packets, and three times again.
    assert counts is None or 0 < counts["switched"] <= 16
    assert counts is None or counts["undone"] == 0


GUARD = """
table inet guard {
    chain forward {
        type filter hook forward priority 0;
        ct state invalid counter drop
    }
}
"""


@contextlib.contextmanager
def guarded() -> Iterator[tuple[Pair, str]]:
    """Two network namespaces, and between them one whose firewall drops what conntrack finds
    invalid, such as numbers out of window; the third's name."""
    with namespaces.several(["left", "guard", "right"]) as (left, guard, right):
        for end, device in ((left, "v1"), (right, "v2")):
            peer = f"link add v0 type veth peer name {device} netns {guard}"
            namespaces.ip("-n", end, *peer.split())
        near = ["addr add 10.76.0.1/24 dev v0", "addr add fd76::1/64 dev v0 nodad"]
        near += ["link set v0 up", "route add 10.76.0.2 via 10.76.0.254"]
        near += ["route add fd76::2 via fd76::fe"]
        far = [
            "link set lo up",
            "addr add 10.76.0.2/32 dev lo",
            "addr add fd76::2/128 dev lo nodad",
        ]
        far += ["addr add 10.76.1.2/24 dev v0", "addr add fd76:1::2/64 dev v0 nodad"]
        far += ["link set v0 up", "route add 10.76.0.1 via 10.76.1.254"]
        far += ["route add fd76::1 via fd76:1::fe"]
        own = ["addr add 10.76.0.254/24 dev v1", "addr add fd76::fe/64 dev v1 nodad"]
        own += ["addr add 10.76.1.254/24 dev v2", "addr add fd76:1::fe/64 dev v2 nodad"]
        own += ["link set v1 up", "link set v2 up", "route add 10.76.0.2 via 10.76.1.2"]
        own += ["route add fd76::2 via fd76:1::2"]
        forwarding = {"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1"}
        namespaces.configure(guard, own, forwarding)
        namespaces.configure(left, near, {})
        namespaces.configure(right, far, {})
        done = namespaces.run(namespaces.inside(guard, ["nft", "-f", "-"]), GUARD)
        if done.returncode:
            pytest.skip(f"no stateful firewall here: {done.stderr.strip()}")
        yield Pair(left, right), guard


@both_versions
def test_conntrack_breaks_no_connection_of_dpcps(version: int) -> None:
    if shutil.which("nft") is None:
        pytest.skip("nft is needed")
    with guarded() as (pair, guard), contextlib.ExitStack() as stack:
        fresh = all(each["name"] != "dpcp" for each in hosts.status())
        stack.enter_context(hosts.attached("dpcp", [(pair.left, "v0"), (pair.right, "v0")]))
        pair.fresh = fresh
        began = time.monotonic()
        pair.transfer("dpcp", version=version)
        took = time.monotonic() - began
        rules = sh(*namespaces.inside(guard, ["nft", "list", "ruleset"]))
        dropped = int(rules.split("counter packets ")[1].split()[0])
        counts = own_counters(pair)
    print(f"IPv{version}: {dropped} packets dropped, {counts}, {took:.1f} s")
    # Each packet that was switched, and no other.
    assert 0 < dropped <= 16
    assert counts is None or counts["switched"] == dropped
    assert counts is None or counts["undone"] == 0


@pytest.mark.long
def test_dpcp_stops_switching_where_a_firewall_comes_later() -> None:
    """Switched packets came through before: the sender must notice that they do not any more."""
    if shutil.which("nft") is None:
        pytest.skip("nft is needed")
    if any(each["name"] == "dpcp" for each in hosts.status()):
        pytest.skip("dpcp is loaded already, so what it counts is not ours")
    with guarded() as (pair, guard), contextlib.ExitStack() as stack:
        stack.enter_context(hosts.attached("dpcp", [(pair.left, "v0"), (pair.right, "v0")]))
        # Until the rule below, conntrack's verdict is without effect.
        for rule in ("flush chain inet guard forward", "add rule inet guard forward ct state new"):
            sh(*namespaces.inside(guard, ["nft", *rule.split()]))
        shaper = "tc qdisc replace dev v2 root tbf rate 20mbit burst 5kb limit 100kb"
        sh(*namespaces.inside(guard, shaper.split()))
        sink = [sys.executable, "-c", breaking.SINK, "dpcp", SERVER_AT[4]]
        server = subprocess.Popen(pair.inside(pair.right, *sink), stdout=subprocess.PIPE, text=True)
        stack.enter_context(server)
        stack.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        program = kernel_bpf.Program(PINS / "dpcp" / "ingress_ether")
        told = json.dumps(breaking.where(kernel_bpf.flows_of(program)))
        source = [sys.executable, "-c", breaking.SOURCE, "dpcp", "9", told, SERVER_AT[4]]
        client = subprocess.Popen(
            pair.inside(pair.left, *source), stdout=subprocess.PIPE, text=True
        )
        stack.enter_context(client)
        stack.callback(client.kill)

        def counts() -> dict[str, int]:
            return dict(next(each for each in hosts.status() if each["name"] == "dpcp")["counters"])

        time.sleep(3.0)
        before = counts()
        drop = "add rule inet guard forward ct state invalid counter drop"
        sh(*namespaces.inside(guard, ["nft", *drop.split()]))
        time.sleep(3.0)
        then = counts()
        rows = [breaking.Row(*row) for row in json.loads(client.communicate(timeout=60)[0])]
        after = counts()
    steps = [row for last, row in itertools.pairwise(rows) if row.acked > last.acked]
    silence = max(b.at - a.at for a, b in itertools.pairwise(steps))
    last = (rows[-1].acked - next(row.acked for row in rows if row.at > rows[-1].at - 2)) * 4
    print(f"{before}, {then}, {after}; longest silence {silence:.2f} s, then {last / 1e6:.1f} Mb/s")
    assert before["undone"] > 100
    # It has tried again, four times four packets, and no more in the last three seconds.
    assert after["switched"] - then["switched"] <= 16
    assert silence < 2.0
    assert last > 10e6


def test_a_killed_loader_leaves_nothing_that_cleanup_does_not_find(pair: Pair) -> None:
    loader = hosts.program()
    assert loader is not None
    stream = random.Random(1)
    before = gso_max_segs(pair, pair.left)
    for _ in range(12):
        command = [str(loader), "load", "xcp", "--netns", pair.left, "--dev", "v0"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(stream.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        # Whole or not at all, and the device accordingly.
        assert not hosts.cleanup()[1]
        assert gso_max_segs(pair, pair.left) == (1 if loaded(pair) else before)
        hosts.unload("xcp", dev="v0", netns=pair.left)
    hosts.load("xcp", dev="v0", netns=pair.left)
    assert loaded(pair) == {"xcp": {pair.left}}
    # The namespace goes with the link still pinned.
    sh("ip", "netns", "del", pair.left)
    # The kernel takes a namespace down a little later.
    deadline = time.monotonic() + 10
    while not hosts.cleanup()[0] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert loaded(pair) == {}
    if not PINS.exists():
        assert "xcp" not in available()


def test_what_cannot_be_is_refused(pair: Pair) -> None:
    with pytest.raises(RunError, match="no device nowhere in netns"):
        hosts.load("vcp", dev="nowhere", netns=pair.left)
    known = "there are dpcp, dpcp-decoupled, dpcp-router, ixcp, ixcp-router, mlcp, mlcp-router"
    with pytest.raises(RunError, match=known):
        hosts.load("vegas", dev="v0", netns=pair.left)
    with pytest.raises(RunError, match="--rate is what a router needs"):
        hosts.load("vcp-router", dev="v0", netns=pair.left)
    with (
        pytest.raises(ConfigError, match=r"protocols\.vcp\.beta: the kernel's vcp has"),
        hosts.attached("vcp", [], params={"beta": "0.5"}),
    ):
        pass
    hosts.load("vcp", dev="v0", netns=pair.left)
    with pytest.raises(RunError, match="v0 has vcp, which uses the same ECN bits"):
        hosts.load("dpcp", dev="v0", netns=pair.left)
    sh(*pair.inside(pair.right, "sysctl", "-qw", "net.ipv4.tcp_ecn=1"))
    with pytest.raises(RunError, match="tcp_ecn is 1"):
        hosts.load("vcp", dev="v0", netns=pair.right)
    assert loaded(pair) == {"vcp": {pair.left}}


def test_without_privileges_it_says_so() -> None:
    loader = hosts.program()
    assert loader is not None
    done = subprocess.run(
        [loader, "check"], user=65534, check=False, capture_output=True, text=True
    )
    assert done.returncode == 5
    assert "needs root" in done.stderr
    # Root without its capabilities, and in a user namespace.
    for way, told in (
        (["setpriv", "--bounding-set=-all", "--inh-caps=-all"], "lacks CAP_BPF, CAP_NET_ADMIN"),
        (["unshare", "--user", "--map-root-user"], "outside of user namespaces"),
    ):
        done = subprocess.run(
            [*way, loader, "load", "vcp", "--dev", "lo"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, told in done.stderr) == (5, True), done.stderr


CHOOSE = (
    "import socket; "
    "socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'{name}')"
)


def test_only_who_is_allowed_to_may_choose_a_protocol(pair: Pair) -> None:
    def choose(user: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["python3", "-c", CHOOSE.format(name="vcp")],
            user=user,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    if any(each["name"] == "vcp" for each in hosts.status()):
        pytest.skip("vcp is loaded already")
    pair.load("vcp", pair.left)
    assert choose(0).returncode == 0
    assert "PermissionError" in choose(65534).stderr
    hosts.load("vcp", dev="v0", netns=pair.right, for_all=True)
    assert choose(65534).returncode == 0
    for netns in (pair.left, pair.right):
        hosts.unload("vcp", dev="v0", netns=netns)
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
    until = time.monotonic() + 10
    # The kernel ends a registration a moment after its link.
    while "vcp" in allowed.read_text(encoding="ascii").split() and time.monotonic() < until:
        time.sleep(0.1)
    assert "vcp" not in allowed.read_text(encoding="ascii").split()


def test_a_runs_options_are_its_own_cgroups(tmp_path: Path) -> None:
    """While an XCP run goes on, the kernel calls its programs for the run's sockets only."""
    if any(each["name"] == "xcp" for each in hosts.status()):
        pytest.skip("xcp is loaded already")
    seen = []

    def look(_: cp.Progress) -> bool:
        pin = hosts.PINS[0] / "xcp" / "cgroup"
        shared = cgroups.shared()
        assert shared is not None
        own = shared / namespaces.owner()
        seen.append((link_cgroup(pin), shared.stat().st_ino, (own / "cgroup.procs").read_text()))
        return len(seen) < 5

    text = """
schema = 1
name = "own"
duration = "3s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "1bdp"
queue = "xcp"
[flows.all]
protocol = "xcp"
"""
    cp.run(text, engine="linux", progress=look)
    *_, (link, shared, processes) = seen
    assert link == shared
    assert len(processes.split()) == 1
    folder = cgroups.shared()
    assert folder is not None
    assert not (folder / namespaces.owner()).exists()


def link_cgroup(pin: Path) -> int:
    """The number of the cgroup that a pinned link is on."""
    fd = bpf_get(pin)
    try:
        told = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="ascii")
    finally:
        os.close(fd)
    return int(told.split("cgroup_id:")[1].split()[0])


def bpf_get(pin: Path) -> int:
    """BPF_OBJ_GET."""
    number = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)
    if number is None:
        pytest.skip("the number of bpf(2) on this machine is not known here")
    path = ctypes.create_string_buffer(os.fspath(pin).encode())
    attr = ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(path), 0, 0), 128)
    fd: int = ctypes.CDLL(None).syscall(number, 7, attr, len(attr))
    assert fd >= 0
    return fd


def test_without_the_loader_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLEARPIPE_BPF", str(tmp_path / "nothing"))
    with pytest.raises(UnsupportedError, match="nothing: No such file"):
        hosts.status()


@pytest.mark.parametrize(("first", "version"), [("router", 4), ("end host", 4), ("end host", 6)])
@pytest.mark.parametrize("protocol", ["vcp", "dpcp", "mlcp"])
def test_the_router_in_the_kernel_counts_and_marks(
    pair: Pair, protocol: str, first: str, version: int
) -> None:
    """Whichever is loaded first: the router reads what the end host writes."""
    router = f"{protocol}-router"

    def counters() -> dict[str, int]:
        own = {"netns": pair.left, "dev": "v0", "direction": "egress", "gone": False}
        for each in hosts.status():
            if each["name"] == router and own in each["devices"]:
                return dict(each["counters"])
        raise AssertionError("no router")

    if first == "router":
        load_overloaded_router(pair.left, router)
    pair.load(protocol, pair.left, pair.right)
    if first != "router":
        load_overloaded_router(pair.left, router)
    pair.transfer(protocol, version=version)
    # A period of 200 ms ends with the first packet after it: those of the second transfer meet the
    # load of the first.
    time.sleep(0.25)
    pair.transfer(protocol, version=version)
    counts = counters()
    assert counts["periods"] >= 1
    assert counts["overload"] > 0
    # Large packets are 64 kB at most; each byte passed once.
    data = counts["low"] + counts["high"] + counts["overload"]
    assert data >= 2 * SIZE / 65536
    assert counts["rho_milli"] > 1000
    assert counts["bytes"] > 2 * SIZE
    hosts.unload(router, dev="v0", netns=pair.left)
    assert router not in loaded(pair)


@pytest.mark.parametrize("protocol", ["vcp", "dpcp", *hosts.DECOUPLED])
def test_a_client_that_asks_for_ecn_gets_reno_with_ecn(pair: Pair, protocol: str) -> None:
    """Its kernel answers a router's mark with ECE alone, which is the code of low load."""
    pair.load(protocol, pair.right)
    load_overloaded_router(pair.right)
    sh(*pair.inside(pair.left, "sysctl", "-qw", "net.ipv4.tcp_ecn=1"))
    assert sh(*pair.inside(pair.right, "sysctl", "-n", "net.ipv4.tcp_ecn")).strip() == "2"
    pair.transfer("reno", back=SIZE, answering=protocol)
    time.sleep(0.25)
    ecn, cwnd = pair.transfer("reno", back=SIZE, answering=protocol)
    assert ecn
    # The server's kernel took the router's marks for what they are, and closed the window.
    assert pair.counter(pair.right, "TCPDeliveredCE") > 0
    assert cwnd <= 10


def test_devices_get_back_what_they_had(pair: Pair) -> None:
    sh("ip", "-n", pair.left, "link", "set", "dev", "v0", "gso_max_segs", "4000")
    hosts.load("xcp", dev="v0", netns=pair.left)
    hosts.load("mlcp", dev="v0", netns=pair.left)
    hosts.load("mlcp", dev="v0", netns=pair.left)
    hosts.unload("mlcp", dev="v0", netns=pair.left)
    assert gso_max_segs(pair, pair.left) == 1
    hosts.unload("xcp", dev="v0", netns=pair.left)
    assert gso_max_segs(pair, pair.left) == 4000


def test_a_device_with_another_name_gets_back_what_it_had(pair: Pair) -> None:
    """By its number; and not before the last protocol is gone, which may know the new name."""

    def rename(old: str, new: str) -> None:
        for change in (["down"], ["name", new]):
            sh("ip", "-n", pair.left, "link", "set", "dev", old, *change)
        sh("ip", "-n", pair.left, "link", "set", "dev", new, "up")

    def now() -> int:
        text = sh("ip", "-n", pair.left, "-d", "-j", "link", "show", "dev", "w0")
        return int(json.loads(text)[0]["gso_max_segs"])

    sh("ip", "-n", pair.left, "link", "set", "dev", "v0", "gso_max_segs", "4000")
    hosts.load("xcp", dev="v0", netns=pair.left)
    rename("v0", "w0")
    hosts.load("mlcp", dev="w0", netns=pair.left)
    hosts.unload("xcp", dev="v0", netns=pair.left)
    assert now() == 1
    hosts.unload("mlcp", dev="w0", netns=pair.left)
    assert now() == 4000
    hosts.load("xcp", dev="w0", netns=pair.left)
    rename("w0", "v0")
    assert gso_max_segs(pair, pair.left) == 1
    hosts.unload("xcp", dev="w0", netns=pair.left)
    assert gso_max_segs(pair, pair.left) == 4000


def test_what_another_loader_has_loaded_is_refused(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.load("xcp", dev="v0", netns=pair.left)
    build = next(each["build"] for each in hosts.status() if each["name"] == "xcp")
    assert sh(str(hosts.program()), "--version").split() == [hosts.PROGRAM, build]
    hosts.load("xcp", dev="v0", netns=pair.right)
    hosts.unload("xcp", dev="v0", netns=pair.right)
    # An older one leaves no note.
    (PINS / "xcp" / "build").unlink()
    told = rf"xcp is loaded by an older clearpipe-bpf, and this is {re.escape(build)}: unload xcp"
    with pytest.raises(RunError, match=told):
        hosts.load("xcp", dev="v0", netns=pair.right)
    assert loaded(pair) == {"xcp": {pair.left}}
    hosts.unload("xcp")
    # And one of another version is not this package's.
    other = tmp_path / hosts.PROGRAM
    other.write_text("#!/bin/sh\necho clearpipe-bpf 9.8.7+0\n", encoding="utf-8")
    other.chmod(0o755)
    monkeypatch.setenv("CLEARPIPE_BPF", str(other))
    with pytest.raises(UnsupportedError, match=r"is of version 9\.8\.7, and clearpipe of 0\."):
        hosts.load("xcp", dev="v0", netns=pair.left)


@pytest.mark.parametrize("legacy", [False, True])
def test_what_cannot_be_attached_leaves_nothing(
    pair: Pair, legacy: bool, garbage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = gso_max_segs(pair, pair.left)
    if legacy:
        monkeypatch.setenv("CLEARPIPE_BPF_LEGACY", "1")
        # Ingress succeeds; at egress a filter for IP only has the priority that is ours.
        sh(*pair.inside(pair.left, "tc", "qdisc", "replace", "dev", "v0", "clsact"))
        where = ["dev", "v0", "egress", "protocol", "ip", "prio", "49408"]
        program = ["bpf", "direct-action", "object-file", str(garbage), "section", "bits"]
        sh(*pair.inside(pair.left, "tc", "filter", "add", *where, *program))
    else:
        # Ingress succeeds; egress lacks its program.
        hosts.load("dpcp", dev="v0", netns=pair.right)
        (PINS / "dpcp" / "egress_ether").unlink()
    with pytest.raises((RunError, UnsupportedError)):
        hosts.load("dpcp", dev="v0", netns=pair.left)
    assert loaded(pair) == ({} if legacy else {"dpcp": {pair.right}})
    assert gso_max_segs(pair, pair.left) == before
    if not any(each["name"] == "dpcp" for each in hosts.status()):
        assert "dpcp" not in available()


def test_settings_that_differ_are_refused(pair: Pair) -> None:
    hosts.load("xcp", dev="v0", netns=pair.left, initial_window=2)
    with pytest.raises(RunError, match="xcp is loaded with --initial-window 2, which holds for"):
        hosts.load("xcp", dev="v0", netns=pair.right)
    hosts.load("xcp", dev="v0", netns=pair.right, initial_window=2)
    root = next(
        Path(line.split()[1])
        for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
        if line.split()[2] == "cgroup2"
    )
    group = root / f"cphosts{os.getpid()}"
    group.mkdir()
    try:
        # What the root's programs see is seen; a cgroup's do not see the others' sockets.
        hosts.load("xcp", dev="v0", netns=pair.right, initial_window=2, cgroup=group)
        hosts.unload("xcp")
        hosts.load("xcp", dev="v0", netns=pair.left, initial_window=2, cgroup=group)
        with pytest.raises(RunError, match="xcp is loaded with another --cgroup"):
            hosts.load("xcp", dev="v0", netns=pair.right, initial_window=2, cgroup=root)
        hosts.unload("xcp")
    finally:
        group.rmdir()
    hosts.load("xcp", dev="v0", netns=pair.left, initial_window=2)
    hosts.load("xcp", dev="v0", netns=pair.right, initial_window=2, cgroup=root)
    assert loaded(pair) == {"xcp": {pair.left, pair.right}}
    with pytest.raises(RunError, match="--cgroup is for TCP options, and vcp has none"):
        hosts.load("vcp", dev="v0", netns=pair.left, cgroup=root)
