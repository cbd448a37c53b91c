"""What tests ask of the kernel's BPF: pinned programs, what they keep for a socket, and where."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SYSCALL = {"x86_64": 321, "aarch64": 280}
"""The number of bpf(2)."""
MAP_LOOKUP, OBJ_GET, PROG_TEST_RUN, MAP_BY_ID, INFO, BTF_BY_ID = 1, 7, 10, 14, 15, 19
STRUCT = 4
# What follows a type of BTF, for each kind: fixed bytes, and bytes for each of its members.
BEHIND = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0)}
BEHIND |= {15: (0, 12), 17: (4, 0), 19: (0, 12)}


def bpf(command: int, attr: ctypes.Array[ctypes.c_char]) -> int:
    number = SYSCALL.get(os.uname().machine)
    if number is None:
        pytest.skip("the number of bpf(2) on this machine is not known here")
    libc = ctypes.CDLL(None, use_errno=True)
    done: int = libc.syscall(number, command, attr, len(attr))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


def _attr(form: str, *values: int) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(struct.pack(form, *values), 128)


def _info(fd: int, size: int, form: str = "", *values: int) -> bytes:
    info = ctypes.create_string_buffer(struct.pack(form, *values), size)
    bpf(INFO, _attr("IIQ", fd, size, ctypes.addressof(info)))
    return info.raw


class Program:
    """A pinned program."""

    def __init__(self, pin: Path) -> None:
        self.pin = pin
        path = ctypes.create_string_buffer(os.fspath(pin).encode())
        self.fd = bpf(OBJ_GET, _attr("QII", ctypes.addressof(path), 0, 0))
        self.out = ctypes.create_string_buffer(4096)

    def run(self, packet: bytes, times: int = 1, segments: int = 0) -> tuple[int, bytes, int]:
        """What it returns, what it leaves of the packet, and how long each time took [ns]. A large
        packet is of several segments (GSO)."""
        data = ctypes.create_string_buffer(packet, len(packet))
        # struct __sk_buff; gso_segs is its word at 164.
        context = ctypes.create_string_buffer(struct.pack("164xI24x", segments), 192)
        large = (len(context), 0, ctypes.addressof(context), 0) if segments else (0, 0, 0, 0)
        lengths = (self.fd, 0, len(packet), len(self.out))
        places = (ctypes.addressof(data), ctypes.addressof(self.out))
        attr = _attr("IIIIQQIIIIQQ", *lengths, *places, times, 0, *large)
        bpf(PROG_TEST_RUN, attr)
        _, verdict, _, length, _, _, _, took = struct.unpack_from("IIIIQQII", attr.raw)
        return verdict, self.out.raw[:length], took

    def maps(self) -> list[int]:
        """The numbers of its maps."""
        ids = (ctypes.c_uint32 * 16)()
        info = _info(self.fd, 136, "52xIQ", len(ids), ctypes.addressof(ids))
        return list(ids)[: struct.unpack_from("I", info, 52)[0]]


@dataclass(frozen=True)
class Flows:
    """The map that holds `struct flow` for each socket of a protocol."""

    map: int
    size: int
    offsets: dict[str, int]
    """Where a member begins, by its path, such as fallback.reno."""


def flows_of(program: Program) -> Flows:
    """The map `flows` that a program uses."""
    for number in program.maps():
        fd = bpf(MAP_BY_ID, _attr("I", number))
        try:
            info = _info(fd, 80)
        finally:
            os.close(fd)
        size, btf = struct.unpack_from("I", info, 12)[0], struct.unpack_from("I", info, 64)[0]
        if info[24:40].rstrip(b"\0") == b"flows":
            return Flows(number, size, _offsets(btf))
    raise AssertionError("no map flows")


def _offsets(number: int) -> dict[str, int]:
    fd = bpf(BTF_BY_ID, _attr("I", number))
    try:
        size = struct.unpack_from("I", _info(fd, 32), 8)[0]
        data = ctypes.create_string_buffer(size)
        _info(fd, 32, "QI", ctypes.addressof(data), size)
    finally:
        os.close(fd)
    structs = dict(_structs(data.raw))
    at = {name: offset // 8 for name, offset in structs["flow"]}
    for outer in ("fallback", "xcp"):
        for name, offset in structs.get(outer, structs.get(f"{outer}_state", [])):
            if outer in at:
                at[f"{outer}.{name}"] = at[outer] + offset // 8
    return at


def _structs(btf: bytes) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Name, and the names of the members with their offsets [bits], of each struct of BTF."""
    header, types, types_size, names = struct.unpack_from("4I", btf, 4)

    def name(at: int) -> str:
        begin = header + names + at
        return btf[begin : btf.index(0, begin)].decode()

    at = header + types
    while at < header + types + types_size:
        called, info, _ = struct.unpack_from("3I", btf, at)
        kind, count = info >> 24 & 31, info & 0xFFFF
        at += 12
        if kind == STRUCT:
            members = [struct.unpack_from("3I", btf, at + 12 * i) for i in range(count)]
            yield name(called), [(name(one), offset & 0xFFFFFF) for one, _, offset in members]
        fixed, each = BEHIND.get(kind, (0, 0))
        at += fixed + each * count
