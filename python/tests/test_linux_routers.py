"""The kernel's routers packet by packet, by BPF_PROG_TEST_RUN: what they make of IPv4 and IPv6,
that nothing stops them, and how long a packet takes. What they compute is held against the
simulator's routers by ebpf/arithmetic/tests/routers.rs."""

from __future__ import annotations

import errno
import os
import random
import struct
import time
from collections.abc import Iterator

import pytest
from kernel_bpf import Program

from clearpipe.linux import hosts, namespaces

LACKS = namespaces.missing()
LACK = hosts.missing()
pytestmark = pytest.mark.skipif(bool(LACKS or LACK), reason=f"exit 5: {LACKS or LACK}")

TC_ACT_UNSPEC = 0xFFFFFFFF
LOW, OVERLOAD = 1, 3
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
        hosts.load(name, dev="lo", netns=netns, rate_bps=8_000_000)
        try:
            place = f"{name}@{netns}:lo".replace(".", "=")
            program = Program(hosts.PINS[0] / place / "egress_ether")
            yield name, program
            os.close(program.fd)
        finally:
            hosts.unload(name, dev="lo", netns=netns)


def with_option(frame: bytes, word: int, before: int = 2) -> bytes:
    """The frame with MLCP's option behind this many bytes of padding."""
    option = bytes([1] * before + [253, 8]) + b"ML" + struct.pack("!I", word)
    option += bytes(-len(option) % 4)
    tcp = 54 if frame[12:14] == b"\x86\xdd" else 34
    made = bytearray(frame[: tcp + 20] + option + frame[tcp + 20 :])
    made[tcp + 12] = (5 + len(option) // 4) << 4
    return bytes(made)


@pytest.mark.parametrize("version", [4, 6])
def test_mlcps_header_is_raised_and_the_checksum_kept(
    router: tuple[str, Program], version: int
) -> None:
    name, program = router
    if name != "mlcp-router":
        pytest.skip("of MLCP only")
    # The lowest load, an RTT of 150 ms.
    data = with_option(segment(version, 0, (9, 5)), 1 << 28 | 150_000)
    program.run(data, 1000)
    time.sleep(0.25)
    program.run(data)
    verdict, left, _ = program.run(data)
    at = data.index(b"\xfd\x08ML") + 4
    # Five times the capacity is the last level; it was measured over the first t_p, code 1.
    word = 15 << 28 | 1 << 25 | 150_000
    assert (verdict, left[at : at + 4]) == (TC_ACT_UNSPEC, struct.pack("!I", word))
    tcp = 54 if version == 6 else 34
    changed = {place for place in range(len(data)) if data[place] != left[place]}
    assert changed <= {*range(at, at + 4), tcp + 16, tcp + 17}
    # What is added to the header is taken from the checksum (RFC 1624).
    assert checksum(left[tcp:]) == checksum(data[tcp:])
    # 0 is a host that knows no load, and what is not at an even place is none of ours.
    incapable = with_option(segment(version, 0, (9, 5)), 3 << 25 | 150_000)
    assert program.run(incapable)[1] == incapable
    odd = with_option(segment(version, 0, (9, 5)), 1 << 28 | 150_000, before=1)
    assert program.run(odd)[1] == odd


@pytest.mark.parametrize("version", [4, 6])
def test_codes_are_raised_and_checksums_kept(router: tuple[str, Program], version: int) -> None:
    name, program = router
    if name == "mlcp-router":
        pytest.skip("of VCP and DPCP")
    # The greater number first: DPCP's MSP, which has the zone, as VCP's code.
    data = segment(version, LOW, (9, 5))
    before = program.run(data)
    assert before[:2] == (TC_ACT_UNSPEC, data)
    # A period of 200 ms at 8 Mb/s takes 196 kB: 1000 packets of 1040 bytes are 5 times that.
    program.run(data, 1000)
    time.sleep(0.25)
    program.run(data)
    verdict, left, _ = program.run(data)
    assert (verdict, ecn_of(left)) == (TC_ACT_UNSPEC, OVERLOAD)
    changed = {at for at in range(len(data)) if data[at] != left[at]}
    assert {15} <= changed <= ({15} if version == 6 else {15, 24, 25})
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
    """Random bytes, and packets with a few of them wrong: all pass, none changes its length."""
    draw, (_, program) = random.Random(25), router
    kinds = [segment(version, LOW, (9, 5), payload=60) for version in (4, 6)]
    longest, ran = 0.0, 0
    for number in range(HOSTILE):
        if number % 3:
            packet = bytearray(kinds[number % 2])
            for _ in range(draw.randrange(1, 6)):
                packet[draw.randrange(len(packet))] = draw.randrange(256)
            packet = packet[: draw.randrange(14, len(packet) + 1)]
        else:
            packet = bytearray(draw.randbytes(draw.randrange(14, 200)))
        began = time.monotonic()
        try:
            verdict, left, _ = program.run(bytes(packet))
        except OSError as error:
            # The kernel hands no program a packet that is shorter than its IP header.
            if error.errno != errno.EINVAL or len(packet) >= 60:
                raise
            continue
        ran += 1
        longest = max(longest, time.monotonic() - began)
        assert (verdict, len(left)) == (TC_ACT_UNSPEC, len(packet))
    assert longest < 1.0
    assert ran > HOSTILE / 2


@pytest.mark.long
def test_two_million_packets_a_second_on_one_core(router: tuple[str, Program]) -> None:
    """The quickest of ten times 100,000, as other work only makes it longer."""
    name, program = router
    for version in (4, 6):
        data = segment(version, LOW, (9, 5), payload=1400)
        if name == "mlcp-router":
            data = with_option(data, 1 << 28 | 150_000)
        took = min(program.run(data, 100_000)[2] for _ in range(10))
        load = os.getloadavg()[0]
        print(f"{name}, IPv{version}: {took} ns a packet, {1e3 / took:.1f} M/s; load {load:.1f}")
        assert took <= 500
