"""Hostile packets at an end host's ingress program, while its connection goes on.

    python hostile_hosts.py PROTOCOL PIN PACKETS VERSION

runs in a network namespace whose loopback device has the protocol. The packets have a connection's
own addresses and ports, and everything else of them is drawn: they reach its socket's state."""

from __future__ import annotations

import errno
import json
import random
import socket
import struct
import sys
import time
from pathlib import Path

from kernel_bpf import Program

EXIDS = {"mlcp": (0x4D4C, 4), "xcp": (0x5843, 16), "ixcp": (0x4958, 24)}
"""ExID and header of those with a TCP option [bytes]."""
EVERY = 500
"""Packets between two pieces of the connection's own data."""
PIECE = bytes(32_000)
TC_ACT_UNSPEC = 0xFFFFFFFF


def connection(protocol: str, version: int) -> tuple[socket.socket, socket.socket]:
    """Both ends, with the protocol at either."""
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    server, client = socket.socket(family), socket.socket(family)
    for one in (server, client):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, protocol.encode())
    server.bind(("::1" if version == 6 else "127.0.0.1", 0))
    server.listen()
    client.connect(server.getsockname()[:2])
    peer = server.accept()[0]
    for one in (client, peer):
        one.settimeout(20)
    server.close()
    return client, peer


def frame(
    draw: random.Random, ports: tuple[int, int], numbers: tuple[int, int], protocol: str
) -> bytes:
    """A segment of the connection, as an attacker on the path would draw it: Ethernet and IP follow
    in `hostile`."""
    options = b""
    if protocol in EXIDS and draw.random() < 0.9:
        exid, length = EXIDS[protocol]
        padding = bytes([1] * draw.choice([0, 0, 0, 1, 2]))
        said = 4 + length if draw.random() < 0.8 else draw.randrange(256)
        options = padding + bytes([253, said]) + struct.pack("!H", exid) + draw.randbytes(length)
        options = options[:40] + bytes(-len(options[:40]) % 4)
    elif draw.random() < 0.2:
        options = draw.randbytes(4 * draw.randrange(11))
    offset = 5 + len(options) // 4 if draw.random() < 0.95 else draw.randrange(16)
    flags = draw.choice([0x10, 0x18, 0x50, 0x90, 0xD0, draw.randrange(256)])
    seq, ack = (
        one + draw.choice([0, 1, -1, draw.randrange(-100_000, 100_000), draw.randrange(1 << 32)])
        for one in numbers
    )
    if draw.random() < 0.3:
        seq, ack = ack, seq
    head = struct.pack("!HHII", *ports, seq % (1 << 32), ack % (1 << 32))
    head += struct.pack("!BBHHH", offset << 4, flags, draw.randrange(1 << 16), 0, 0)
    return head + options + bytes(draw.choice([0, 0, 1, 60, 900]))


def hostile(draw: random.Random, version: int, body: bytes) -> bytes:
    """With its IP header, and sometimes cut off, padded or with some bytes wrong."""
    said = len(body) if draw.random() < 0.95 else draw.randrange(1 << 16)
    if version == 6:
        word = 6 << 28 | draw.randrange(1 << 28)
        ends = (bytes(15) + b"\1") * 2
        packet = struct.pack("!IHBB", word, said % (1 << 16), 6, 64) + ends
        kind = b"\x86\xdd"
    else:
        head = struct.pack(
            "!BBHHHBBH", 0x45, draw.randrange(256), (20 + said) % (1 << 16), 0, 0, 64, 6, 0
        )
        packet = head + bytes([127, 0, 0, 1]) * 2
        kind = b"\x08\0"
    whole = bytearray(bytes(12) + kind + packet + body)
    how = draw.random()
    if how < 0.1:
        for _ in range(draw.randrange(1, 5)):
            whole[draw.randrange(len(whole))] = draw.randrange(256)
    elif how < 0.15:
        whole = whole[: draw.randrange(14, len(whole) + 1)]
    elif how < 0.2:
        whole += bytes(draw.randrange(1, 40))
    elif how < 0.22:
        whole = bytearray(draw.randbytes(draw.randrange(14, 200)))
    return bytes(whole)


def main(protocol: str, pin: str, packets: int, version: int) -> None:
    """Print how many ran, the longest run (of processor time) and silence [s], and the least and
    largest window."""
    draw, program = random.Random(25), Program(Path(pin))
    client, peer = connection(protocol, version)
    ends = [client.getsockname()[1], peer.getsockname()[1]]
    ran, longest, silence, windows = 0, 0.0, 0.0, []
    # Where the connection's numbers are does not show; hostile ones are anywhere anyway.
    numbers = (draw.randrange(1 << 32), draw.randrange(1 << 32))
    for number in range(packets):
        ports = (ends[0], ends[1]) if draw.random() < 0.5 else (ends[1], ends[0])
        packet = hostile(draw, version, frame(draw, ports, numbers, protocol))
        began = time.thread_time()
        try:
            verdict, left, _ = program.run(packet)
        except OSError as error:
            # The kernel hands no program a packet that is shorter than its IP header.
            if error.errno != errno.EINVAL or len(packet) >= 60:
                raise
            continue
        ran += 1
        longest = max(longest, time.thread_time() - began)
        assert (verdict, len(left)) == (TC_ACT_UNSPEC, len(packet))
        if number % EVERY == 0:
            began, came = time.monotonic(), 0
            client.sendall(PIECE)
            while came < len(PIECE):
                came += len(peer.recv(1 << 16))
            silence = max(silence, time.monotonic() - began)
            info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
            windows.append(struct.unpack_from("=I", info, 80)[0])
    told = {"ran": ran, "longest_s": longest, "silence_s": silence}
    print(json.dumps({**told, "windows": [min(windows), max(windows)]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
