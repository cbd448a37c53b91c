"""The kernel's routers packet by packet, by BPF_PROG_TEST_RUN: what they make of IPv4 and IPv6,
that nothing stops them, and how long a packet takes. What they compute is held against the
simulator's routers by ebpf/arithmetic/tests/routers.rs."""

from __future__ import annotations

import errno
import importlib
import os
import random
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from kernel_bpf import Program
from test_linux_service import switch

from clearpipe.linux import hosts, namespaces

LACKS = namespaces.missing()
LACK = hosts.missing()
pytestmark = pytest.mark.skipif(bool(LACKS or LACK), reason=f"exit 5: {LACKS or LACK}")

TC_ACT_UNSPEC = 0xFFFFFFFF
LOW, OVERLOAD = 1, 3
MEASURED = 2
"""The last of TCP's reserved bits, in the byte of its data offset."""
RATE, LINK = 8_000_000, 8
OPTIONS = ((4, b"ML"), (16, b"XC"), (24, b"IX"))
"""Bytes of the header, and the ExID."""
HOSTILE = int(os.environ.get("CLEARPIPE_HOSTILE_PKTS", "20000"))


def checksum(*parts: bytes) -> int:
    """RFC 1071."""
    words = b"".join(parts)
    total: int = sum(struct.unpack(f"!{len(words) // 2}H", words))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def segment(version: int, ecn: int, numbers: tuple[int, int], payload: int = 1000) -> bytes:
    """An Ethernet frame with a TCP segment."""
    tcp = struct.pack("!HHIIBBHHH", 1000, 2000, *numbers, 5 << 4, 0x10, 65535, 0, 0)
    body = tcp + bytes(payload)
    if version == 6:
        # Traffic class 0b101110 and the ECN bits.
        word = 6 << 28 | (0xB8 | ecn) << 20 | 0x12345
        ends = bytes(15) + b"\1" + bytes(15) + b"\2"
        return bytes(12) + b"\x86\xdd" + struct.pack("!IHBB", word, len(body), 6, 64) + ends + body
    head = struct.pack("!BBHHHBBH", 0x45, 0xB8 | ecn, 20 + len(body), 7, 0x4000, 64, 6, 0)
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    head = head[:10] + struct.pack("!H", checksum(head, ends))
    return bytes(12) + b"\x08\0" + head + ends + body


def ecn_of(frame: bytes) -> int:
    return frame[15] >> 4 & 3 if frame[12:14] == b"\x86\xdd" else frame[15] & 3


@pytest.fixture(params=hosts.ROUTERS)
def router(request: pytest.FixtureRequest) -> Iterator[tuple[str, Program]]:
    """A router of 8 Mb/s on the loopback device of a namespace."""
    name = request.param
    with namespaces.several(["router"]) as (netns,):
        link = LINK if name == "ixcp-router" else None
        hosts.load(name, dev="lo", netns=netns, rate_bps=RATE, link=link)
        try:
            place = f"{name}@{netns}:lo".replace(".", "=")
            program = Program(hosts.PINS[0] / place / "egress_ether")
            yield name, program
            os.close(program.fd)
        finally:
            hosts.unload(name, dev="lo", netns=netns)


def header_at(frame: bytes) -> int:
    """Where the header begins in the option."""
    starts = (frame.find(bytes([253, 4 + n]) + exid) for n, exid in OPTIONS)
    return next(at for at in starts if at >= 0) + 4


def with_option(frame: bytes, exid: bytes, header: bytes, before: int = 2) -> bytes:
    """The frame with a protocol's option behind this many bytes of padding."""
    option = bytes([1] * before + [253, 4 + len(header)]) + exid + header
    option += bytes(-len(option) % 4)
    tcp = 54 if frame[12:14] == b"\x86\xdd" else 34
    made = bytearray(frame[: tcp + 20] + option + frame[tcp + 20 :])
    made[tcp + 12] = (5 + len(option) // 4) << 4
    if tcp == 34:
        made[16:18] = struct.pack("!H", len(made) - 14)
        made[24:26] = bytes(2)
        made[24:26] = struct.pack("!H", checksum(bytes(made[14:34])))
    else:
        made[18:20] = struct.pack("!H", len(made) - 54)
    return bytes(made)


def mlcp(frame: bytes, word: int, before: int = 2) -> bytes:
    return with_option(frame, b"ML", struct.pack("!I", word), before)


def congestion(
    name: str, frame: bytes, feedback: int = (1 << 63) - 1, rtt_s: float = 0.1, before: int = 2
) -> bytes:
    """The frame of a flow with 50 kB of window, in XCP's or iXCP's header; its bottleneck is
    another link."""
    if name == "ixcp-router":
        header = struct.pack("!fIqII", rtt_s, 50_000, feedback, LINK + 1, 0)
        return with_option(frame, b"IX", header, before)
    return with_option(
        frame, b"XC", struct.pack("!IIq", round(rtt_s * 1e6), 50_000, feedback), before
    )


def typical(name: str, version: int, payload: int = 1000) -> bytes:
    """A data packet as the router's protocol has it."""
    data = segment(version, LOW, (9, 5), payload)
    if name == "mlcp-router":
        return mlcp(data, 1 << 28 | 150_000)
    return congestion(name, data) if name in hosts.FEEDBACK_ROUTERS else data


@pytest.mark.parametrize("version", [4, 6])
def test_mlcps_header_is_raised_and_the_checksum_kept(
    router: tuple[str, Program], version: int
) -> None:
    name, program = router
    if name != "mlcp-router":
        pytest.skip("of MLCP only")
    # The lowest load, an RTT of 150 ms.
    data = mlcp(segment(version, 0, (9, 5)), 1 << 28 | 150_000)
    program.run(data, 1000)
    time.sleep(0.25)
    program.run(data)
    verdict, left, _ = program.run(data)
    at = header_at(data)
    # Five times the capacity is the last level; it was measured over the first t_p, code 1.
    word = 15 << 28 | 1 << 25 | 150_000
    assert (verdict, left[at : at + 4]) == (TC_ACT_UNSPEC, struct.pack("!I", word))
    tcp = 54 if version == 6 else 34
    changed = {place for place in range(len(data)) if data[place] != left[place]}
    assert changed <= {*range(at, at + 4), tcp + 12, tcp + 16, tcp + 17}
    assert left[tcp + 12] == data[tcp + 12] | MEASURED
    # What is added to the header is taken from the checksum (RFC 1624).
    assert checksum(left[tcp:]) == checksum(data[tcp:])
    # 0 is a host that knows no load, and what is not at an even place is none of ours.
    incapable = mlcp(segment(version, 0, (9, 5)), 3 << 25 | 150_000)
    assert program.run(incapable)[1] == incapable
    odd = mlcp(segment(version, 0, (9, 5)), 1 << 28 | 150_000, before=1)
    assert program.run(odd)[1] == odd


@pytest.mark.parametrize("version", [4, 6])
def test_codes_are_raised_and_checksums_kept(router: tuple[str, Program], version: int) -> None:
    name, program = router
    if name not in {"vcp-router", "dpcp-router"}:
        pytest.skip("of VCP and DPCP")
    # The greater number first: DPCP's MSP, which has the zone, as VCP's code.
    data, tcp = segment(version, LOW, (9, 5)), 54 if version == 6 else 34
    # At low load the code stays, and the router says that it has measured.
    verdict, left, _ = program.run(data)
    changed = {at for at in range(len(data)) if data[at] != left[at]}
    assert (verdict, left[tcp + 12]) == (TC_ACT_UNSPEC, data[tcp + 12] | MEASURED)
    assert {tcp + 12} <= changed <= {tcp + 12, tcp + 16, tcp + 17}
    assert checksum(left[tcp:]) == checksum(data[tcp:])
    # A router behind it has nothing to change.
    assert program.run(left)[1] == left
    # ECT(0) and CE are ordinary ECN's, too.
    for ecn in (2, OVERLOAD):
        ordinary = segment(version, ecn, (9, 5))
        assert program.run(ordinary)[1] == ordinary
    # A period of 200 ms at 8 Mb/s takes 196 kB: 1000 packets of 1040 bytes are 5 times that.
    program.run(data, 1000)
    time.sleep(0.25)
    program.run(data)
    verdict, left, _ = program.run(data)
    assert (verdict, ecn_of(left)) == (TC_ACT_UNSPEC, OVERLOAD)
    changed = {at for at in range(len(data)) if data[at] != left[at]}
    of_ip = {15} if version == 6 else {15, 24, 25}
    assert {15, tcp + 12} <= changed <= of_ip | {tcp + 12, tcp + 16, tcp + 17}
    assert checksum(left[tcp:]) == checksum(data[tcp:])
    assert version == 6 or checksum(left[14:34]) == 0
    # No code is lowered, 00 is no host of ours, and an ACK answers and asks nothing.
    for other in (segment(version, 0, (9, 5)), segment(version, LOW, (9, 5), payload=0)):
        assert program.run(other)[1] == other


def test_dpcp_tells_the_level_after_the_zone(router: tuple[str, Program]) -> None:
    name, program = router
    if name != "dpcp-router":
        pytest.skip("of DPCP only")
    msp, lsp = segment(4, LOW, (9, 5)), segment(4, LOW, (5, 9))
    program.run(msp, 1000)
    time.sleep(0.25)
    # A load of 5 is in the highest level of the highest zone.
    assert [ecn_of(program.run(one)[1]) for one in (msp, msp, lsp)][1:] == [3, 3]
    time.sleep(0.25)
    # Two packets are next to nothing: the lowest zone, the path's own, and its lowest level.
    assert [ecn_of(program.run(one)[1]) for one in (msp, msp, lsp)][1:] == [1, 1]


def test_no_packet_stops_a_router(router: tuple[str, Program]) -> None:
    """Random bytes, and packets with a few of them wrong: all pass, none changes its length, and
    none takes a second of the processor's time."""
    draw, (name, program) = random.Random(25), router
    kinds = [typical(name, version, payload=60) for version in (4, 6)]
    longest, ran = 0.0, 0
    for number in range(HOSTILE):
        if number % 3:
            packet = bytearray(kinds[number % 2])
            if number % 3 == 2 and name not in {"vcp-router", "dpcp-router"}:
                # Nothing but what the option says is wrong.
                at = header_at(kinds[number % 2])
                packet[at : at + 4] = draw.randbytes(4)
            for _ in range(draw.randrange(1, 6)):
                packet[draw.randrange(len(packet))] = draw.randrange(256)
            packet = packet[: draw.randrange(14, len(packet) + 1)]
        else:
            packet = bytearray(draw.randbytes(draw.randrange(14, 200)))
        began = time.thread_time()
        try:
            verdict, left, _ = program.run(bytes(packet))
        except OSError as error:
            # The kernel hands no program a packet that is shorter than its IP header.
            if error.errno != errno.EINVAL or len(packet) >= 60:
                raise
            continue
        ran += 1
        longest = max(longest, time.thread_time() - began)
        assert (verdict, len(left)) == (TC_ACT_UNSPEC, len(packet))
    assert longest < 1.0
    assert ran > HOSTILE / 2


def test_the_time_that_a_router_is_off_is_no_idle_time(router: tuple[str, Program]) -> None:
    """When it is on again its period begins anew, and none of low load ends first."""
    (name, program), packet = router, typical(router[0], 4)
    if others := [each["name"] for each in hosts.status() if each["name"] != name]:
        pytest.skip(f"the switch is others' too: {', '.join(others)}")

    def periods() -> int:
        count: int = next(iter(hosts.status()))["counters"]["periods"]
        return count

    program.run(packet)
    switch("off")
    try:
        time.sleep(0.3)
        program.run(packet)
    finally:
        switch("on")
    before = periods()
    program.run(packet, times=100)
    assert periods() == before
    time.sleep(0.3)
    program.run(packet)
    assert periods() == before + 1
    # 100 kB in 0.3 s of 1 MB/s; a machine that is late makes it less.
    rho = next(iter(hosts.status()))["counters"]["rho_milli"]
    assert 100 < rho < 400


def feedback_of(frame: bytes) -> int:
    units: int = struct.unpack_from("!q", frame, header_at(frame) + 8)[0]
    return units


@pytest.mark.parametrize("version", [4, 6])
def test_feedback_is_handed_out_and_the_checksum_kept(
    router: tuple[str, Program], version: int
) -> None:
    name, program = router
    if name not in hosts.FEEDBACK_ROUTERS:
        pytest.skip("of XCP and iXCP")
    data = typical(name, version)
    # Before the first interval has ended nothing is handed out.
    early = time.monotonic()
    first = program.run(data)[1]
    began = time.monotonic()
    assert feedback_of(first) == 0
    program.run(data, 1000)
    quick = time.monotonic() - early < 0.05
    time.sleep(0.25)
    late = time.monotonic()
    verdict, left, _ = program.run(data)
    ended = time.monotonic()
    large = program.run(typical(name, version, payload=3000), segments=3)[1]
    if not quick or ended - early > 0.9 or time.monotonic() - late > 0.09:
        pytest.skip("this machine is too busy: an interval was not what it should be")
    # Three packets in one: each gets as much as a single one.
    assert abs(feedback_of(large) - feedback_of(left)) <= 2
    # y is 1001 packets in the interval, five times C and more: phi = 0.4*0.1*(C - y), nothing is
    # shuffled, and of 1001 equal packets each gets as much of phi.
    size = len(data) - 14
    least, most = (
        0.04 * (RATE / 8 - 1001 * size / length) / 1001 for length in (late - began, ended - early)
    )
    assert verdict == TC_ACT_UNSPEC
    assert 65_536 * least - 2 <= feedback_of(left) <= 65_536 * most + 2 < 0
    at, tcp = header_at(data), 54 if version == 6 else 34
    changed = {place for place in range(len(data)) if data[place] != left[place]}
    assert changed <= {*range(at + 8, at + 16), *range(at + 20, at + 24), tcp + 16, tcp + 17}
    # What is added to the header is taken from the checksum (RFC 1624).
    assert checksum(left[tcp:]) == checksum(data[tcp:])
    if name == "ixcp-router":
        assert left[at + 16 : at + 24] == struct.pack("!II", LINK + 1, LINK)
    # A packet that holds less keeps it, and is left as it is; so are those without an RTT whose
    # feedback is no increase, and what is not at an even place.
    plain = segment(version, LOW, (9, 5))
    held = congestion(name, plain, feedback=-(1 << 40))
    assert program.run(held)[1] == held
    startless = congestion(name, plain, feedback=-77, rtt_s=0.0)
    assert program.run(startless)[1] == startless
    odd = congestion(name, plain, before=1)
    assert program.run(odd)[1] == odd
    # A first packet that asks for more gets nothing.
    assert feedback_of(program.run(congestion(name, plain, rtt_s=0.0))[1]) == 0


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", ["vcp-router", "ixcp-router"])
def test_unloading_leaves_nothing(name: str, legacy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a tcx link, and as a filter of clsact, which kernels before 6.6 have."""
    if legacy:
        monkeypatch.setenv("CLEARPIPE_BPF_LEGACY", "1")
    with namespaces.several(["router"]) as (netns,):
        hosts.load(name, dev="lo", netns=netns, rate_bps=RATE)
        show = namespaces.inside(netns, ["tc", "filter", "show", "dev", "lo", "egress"])
        assert ("egress_ether" in namespaces.run(show).stdout) == legacy
        hosts.unload(name, dev="lo", netns=netns)
        assert namespaces.run(show).stdout == ""
        assert not any(netns in pin.name for pins in hosts.PINS for pin in pins.glob("*"))


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool that measures the kernel's routers."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1] / "tools")
    return importlib.import_module("linux_routers")


@pytest.mark.parametrize(
    ("protocol", "router_first"),
    [("xcp", True), pytest.param("ixcp", False, marks=pytest.mark.long)],
)
def test_hosts_fill_the_link_as_in_the_packet_engine(
    live: ModuleType, protocol: str, router_first: bool
) -> None:
    """Whichever is loaded first, the hosts or the router; and nothing is left. Another try where
    it is not so: a machine that is busy with other things is late now and then."""
    case, duration = live.CASES[0], 7.5
    theirs = live.simulated(protocol, case, duration)
    for _ in range(3):
        ours = live.measured(protocol, case, duration, router_first=router_first)
        near = [abs(a - b) <= live.WITHIN for a, b in zip(ours[:2], theirs[:2], strict=True)]
        if all(near):
            break
    assert all(near), (ours, theirs)
    assert ours.drops == 0
    left = [
        pin for pins in hosts.PINS for pin in pins.glob("**/*") if namespaces.owner() in pin.name
    ]
    assert not left


@pytest.mark.long
def test_two_million_packets_a_second_on_one_core(router: tuple[str, Program]) -> None:
    """The quickest of ten times 100,000, as other work only makes it longer."""
    name, program = router
    for version in (4, 6):
        data = typical(name, version, payload=1400)
        took = min(program.run(data, 100_000)[2] for _ in range(10))
        load = os.getloadavg()[0]
        print(f"{name}, IPv{version}: {took} ns a packet, {1e3 / took:.1f} M/s; load {load:.1f}")
        assert took <= 500


@pytest.mark.long
def test_two_processors_at_once_cost_each_other_little(router: tuple[str, Program]) -> None:
    """Both on one router. XCP's and iXCP's packets draw on one account, under a lock."""
    name, program = router
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        pytest.skip("one processor")
    data, times = typical(name, 4, payload=1400), 60_000
    alone = min(program.run(data, times)[2] for _ in range(10))
    together = threading.Barrier(2)
    took: list[list[int]] = [[], []]

    def run(number: int) -> None:
        # A processor of its own, before all that is no real-time process: else the two take turns.
        os.sched_setaffinity(0, {processors[number]})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        one = Program(program.pin)
        for _ in range(10):
            together.wait()
            took[number].append(one.run(data, times)[2])
        os.close(one.fd)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    both = min(max(pair) for pair in zip(*took, strict=True))
    load = os.getloadavg()[0]
    print(f"{name}: {alone} ns a packet alone, {both} ns on each of two; load {load:.1f}")
    assert both <= 1000
