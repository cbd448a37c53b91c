"""The published wire formats: a decoder written from docs/reference/wire*.md alone, with nothing of
the package, reads every vector of docs/reference/wire-vectors.json. The protocols' own code meets
the same file in crates/emulator/tests/wire_vectors.rs, the kernel's C code in
ebpf/arithmetic/tests/vectors.rs."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
VECTORS: dict[str, Any] = json.loads((REFERENCE / "wire-vectors.json").read_text(encoding="utf-8"))

Fields = dict[str, float]

T_P = (0.08, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
"""MLCP's periods by their codes [s]."""


# Headers in TCP options (wire-options.md).


def xcp(header: bytes) -> Fields:
    rtt, cwnd, feedback = struct.unpack(">IIq", header)
    granted = math.inf if feedback == 2**63 - 1 else feedback / 65536
    return {"h_rtt": rtt / 1e6, "h_cwnd": cwnd, "h_feedback": granted}


def ixcp(header: bytes) -> Fields:
    rtt, bottleneck, following = struct.unpack(">f12xII", header)
    fields = xcp(header[:16])
    return {**fields, "h_rtt": rtt, "h_bottleneck": bottleneck, "h_next_bottleneck": following}


def doubles(*names: str) -> Callable[[bytes], Fields]:
    return lambda header: dict(zip(names, struct.unpack(">3d", header), strict=True))


def core(header: bytes) -> Fields:
    cwnd, feedback, rtt, count = struct.unpack(">ddfI", header)
    return {"h_cwnd": cwnd, "h_feedback": feedback, "h_rtt": rtt, "h_bytes": count}


def timing(word: int) -> Fields:
    return {"h_t_p": T_P[word >> 25 & 7], "h_rtt": (word & 0x1FFFFFF) / 1e6}


def mlcp(header: bytes) -> Fields:
    (word,) = struct.unpack(">I", header)
    return {"h_load": word >> 28, **timing(word)}


def nbit(header: bytes) -> Fields:
    load, word = struct.unpack(">II", header)
    return {"h_load": load, **timing(word)}


def rcp(header: bytes) -> Fields:
    rate, rtt = struct.unpack(">QI", header)
    return {"h_rate": math.inf if rate == 2**64 - 1 else rate, "h_rtt": rtt / 1e6}


def maxnet(header: bytes) -> Fields:
    price, rtt = struct.unpack(">II", header)
    return {"h_price": price / 2**24, "h_rtt": rtt / 1e6}


def jetmax(header: bytes) -> Fields:
    link, proposed, gap, offer = struct.unpack(">IIQQ", header)
    return {"h_link": link, "h_proposed": proposed, "h_gap": gap / 1e9, "h_offer": offer}


def quickstart(header: bytes) -> Fields | None:
    (byte,) = header
    return None if byte & 0x70 else {"h_request": byte & 15, "h_seen": byte >> 7}


def tfrc(header: bytes) -> Fields:
    rtt, rate, p = struct.unpack(">III", header)
    return {"h_rtt": rtt / 1e6, "h_x_recv": rate, "h_p": p / (2**32 - 1)}


def abr(header: bytes) -> Fields:
    ccr, er, laf = struct.unpack(">QQI", header)
    granted = math.inf if er == 2**64 - 1 else er
    return {"h_ccr": ccr, "h_er": granted, "h_laf": laf / 65536}


def scone(header: bytes) -> Fields:
    (byte,) = header
    return {"h_asks": byte >> 7, "h_scone": byte & 127}


def csig(header: bytes) -> Fields | None:
    locator, rest = struct.unpack(">HI", header)
    asks, value = rest >> 28, rest >> 8 & 0xFFFFF
    return {"h_t": asks, "h_s": value, "h_lm": locator} if asks in (0, 1, 2) else None


HEADERS: dict[int, tuple[str, int, Callable[[bytes], Fields | None]]] = {
    0x5843: ("xcp", 16, xcp),
    0x4958: ("ixcp", 24, ixcp),
    0x5844: ("xcp-division-free", 24, doubles("h_a", "h_rtt", "h_feedback")),
    0x584F: ("xcp-core", 24, core),
    0x4D4C: ("mlcp", 4, mlcp),
    0x4E42: ("nbit", 8, nbit),
    0x5243: ("rcp", 12, rcp),
    0x4D4E: ("maxnet", 8, maxnet),
    0x4A4D: ("jetmax", 24, jetmax),
    0x5153: ("quickstart", 1, quickstart),
    0x5446: ("tfrc", 12, tfrc),
    0x4142: ("abr", 20, abr),
    0x534E: ("scone", 1, scone),
    0x4353: ("csig", 6, csig),
    0x5059: ("python", 24, doubles("h_0", "h_1", "h_2")),
}


def options(area: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and contents of each TCP option, up to one that makes no sense."""
    at = 0
    while at < len(area) and area[at] != 0:
        if area[at] == 1:
            at += 1
            continue
        length = area[at + 1] if at + 1 < len(area) else 0
        if length < 2 or at + length > len(area):
            return
        yield area[at], area[at + 2 : at + length]
        at += length


def carried(area: bytes) -> tuple[str, Fields] | None:
    """The protocol and the fields of the header in these TCP options."""
    for kind, contents in options(area):
        if kind == 253 and len(contents) >= 2:
            name, length, read = HEADERS.get(int.from_bytes(contents[:2], "big"), ("", -1, tfrc))
            if length < 0:
                continue  # another experiment's
            if length != len(contents) - 2:
                return None
            fields = read(contents[2:])
            if fields is None or any(math.isnan(value) for value in fields.values()):
                return None
            return name, fields
    return None


# Packets (wire.md).


def ones(data: bytes) -> int:
    """The sum of 16-bit words in one's complement (RFC 1071)."""
    padded = data + bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Packet(NamedTuple):
    ecn: int
    ident: int
    echo: int
    """CWR and ECE."""
    seq: int
    ack: int
    payload: int
    found: tuple[str, Fields] | None
    right: bool
    """Is TCP's checksum that of the segment?"""
    tied: bool
    """Is it that of the larger of two numbers that are one apart, twice?"""


def read(packet: bytes) -> Packet:
    ip, tcp = packet[:20], packet[20:]
    assert ip[0] == 0x45
    assert ip[9] == 6
    assert int.from_bytes(ip[2:4], "big") == len(packet)
    assert ones(ip) == 0xFFFF
    seq, ack, offset, flags = struct.unpack(">4xIIBB", tcp[:14])
    header = (offset >> 4) * 4
    pseudo = ip[12:20] + struct.pack(">HH", 6, len(tcp))
    both = struct.pack(">I", max(seq, ack)) * 2
    tied = abs(seq - ack) == 1 and ones(pseudo + tcp[:4] + both + tcp[12:]) == 0xFFFF
    return Packet(
        ecn=ip[1] & 3,
        ident=int.from_bytes(ip[4:6], "big"),
        echo=flags >> 6,
        seq=seq,
        ack=ack,
        payload=len(tcp) - header,
        found=carried(tcp[20:header]),
        right=ones(pseudo + tcp) == 0xFFFF,
        tied=tied,
    )


ROUNDED = {"ixcp": {"h_rtt"}, "tfrc": {"h_p"}}
"""Fields whose units do not divide what a vector says: a single, and 2^-32."""


def near(protocol: str, found: Fields, meant: dict[str, Any]) -> bool:
    assert found.keys() == meant.keys()
    loose = ROUNDED.get(protocol, set())
    return all(
        found[name] == pytest.approx(float(value), rel=1e-7 if name in loose else 1e-15)
        for name, value in meant.items()
    )


@pytest.mark.parametrize("vector", VECTORS["options"], ids=lambda vector: vector["name"])
def test_options(vector: dict[str, Any]) -> None:
    option = bytes.fromhex(vector["option"])
    found = carried(option)
    assert found is not None
    name, fields = found
    assert name == vector["protocol"]
    assert vector.get("only") == "encode" or near(name, fields, vector["means"])


def test_what_saturates_stands_at_the_end_of_its_range() -> None:
    only = {v["name"]: v["option"] for v in VECTORS["options"] if v.get("only")}
    assert len(only) == 3
    # The largest number for what is too large; 1 us for an RTT that is less.
    assert only["xcp: what is too large saturates"][8:24] == "f" * 16
    assert only["xcp: an RTT of 0.2 us is not 'no RTT'"][8:16] == "00000001"
    assert int(only["mlcp: an RTT of 40 s saturates"][8:], 16) & 0x1FFFFFF == 2**25 - 1


def test_every_protocol_has_a_vector() -> None:
    named = {vector["protocol"] for vector in VECTORS["options"]}
    assert named == {name for name, _, _ in HEADERS.values()}


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_no_header(vector: dict[str, Any]) -> None:
    assert carried(bytes.fromhex(vector["options"])) is None


@pytest.mark.parametrize("vector", VECTORS["packets"], ids=lambda vector: vector["name"])
def test_packets(vector: dict[str, Any]) -> None:
    packet = read(bytes.fromhex(vector["packet"]))
    assert (packet.ecn, packet.payload) == (vector["ecn"], vector["payload"])
    assert (packet.payload == 0) == (vector["kind"] == "ack")
    assert packet.echo == vector.get("echo", 0)
    stale = vector.get("stale", False)
    assert (packet.right, packet.tied) == (not stale, stale)
    protocol, meant = vector.get("protocol"), vector.get("header", {})
    if protocol == "bmcc":
        assert packet.ident == meant["h_id"]
    elif protocol == "dpcp":
        assert (packet.seq, packet.ack) == (meant["h_seq"], meant["h_ack"])
        assert ("msp" if packet.seq > packet.ack else "lsp") == vector["part"]
    elif protocol is None:
        assert packet.found is None
    else:
        assert packet.found is not None
        assert packet.found[0] == protocol
        assert near(protocol, packet.found[1], meant)


@pytest.mark.parametrize("vector", VECTORS["rewritten"], ids=lambda vector: vector["name"])
def test_routers_change_what_they_must(vector: dict[str, Any]) -> None:
    before, after = (bytes.fromhex(vector[name]) for name in ("before", "after"))
    one, other = read(before), read(after)
    assert one.right
    assert other.right
    assert other.ecn == vector["ecn"]
    if "header" in vector:
        assert other.found is not None
        assert other.found[0] == vector["protocol"]
        assert near(vector["protocol"], other.found[1], vector["header"])
    else:
        assert other.found == one.found
    # Nothing else: neither length nor DSCP, addresses, numbers or payload.
    same = ("ident", "echo", "seq", "ack", "payload")
    assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same]
    assert len(before) == len(after)
    assert before[1] >> 2 == after[1] >> 2
    assert before[12:20] == after[12:20]
    assert before[-one.payload :] == after[-one.payload :]


# Codes of load factors, and who keeps which (wire-bits.md, wire-options.md).


def vcp_code(rho: float) -> int:
    return 1 if rho < 0.8 else 2 if rho < 1 else 3


def mlcp_code(sigma: float) -> int:
    if sigma < 0.8:
        return 1 + sum(sigma >= edge for edge in (0.16, 0.32, 0.48, 0.64))
    if sigma < 1:
        return 6 if sigma < 0.95 else 7
    return 8 + min(7, math.floor((sigma - 1) * 7 / 0.2))


def dpcp_codes(rho: float) -> list[int]:
    edges = (0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4)
    level = sum(rho >= edge for edge in edges)
    return [1 + level // 3, 1 + level % 3]


@pytest.mark.parametrize(
    ("protocol", "code"), [("vcp", vcp_code), ("mlcp", mlcp_code), ("dpcp", dpcp_codes)]
)
def test_codes_of_load_factors(protocol: str, code: Callable[[float], Any]) -> None:
    for load, meant in VECTORS["loads"][protocol]:
        assert code(load) == meant, load


def test_a_path_leaves_the_largest_code() -> None:
    for path in VECTORS["paths"]:
        carried, seen = path["leaves"], []
        for router in path["routers"]:
            carried = max(carried, router)
            seen.append(carried)
        assert (seen, carried) == (path["seen"], path["arrives"])


def test_receivers() -> None:
    answers: dict[str, Callable[[list[Any]], Any]] = {
        "vcp": max,
        "xcp": sum,
        # The latest of the highest.
        "mlcp": lambda words: max(enumerate(words), key=lambda at: (at[1][0], at[0]))[1],
    }
    for sequence in VECTORS["receivers"]:
        waiting: list[Any] = []
        for data, ack in zip(sequence["data"], sequence["acks"], strict=True):
            waiting.append(data)
            if ack is not None:
                assert answers[sequence["protocol"]](waiting) == ack
                waiting.clear()


# DPCP's numbers and BMCC's identification (wire-bits.md).


def order(part: str, seq: int, ack: int) -> tuple[int, int, bool]:
    less, more = min(seq, ack), max(seq, ack)
    stale = less == more
    less = (less - stale) % 2**32
    return (more, less, stale) if part == "msp" else (less, more, stale)


def distance(a: int, b: int) -> int:
    return min((a - b) % 2**32, (b - a) % 2**32)


def undone(seq: int, ack: int, stale: bool, host: dict[str, int]) -> tuple[int, int]:
    if stale:
        return max(seq, ack), max(seq, ack)
    reach = (host["sent_to"] - host["sent_from"]) % 2**32
    as_is, switched = ((n - host["sent_from"]) % 2**32 <= reach for n in (ack, seq))
    if as_is == switched:
        switched = distance(seq, host["expected"]) > distance(ack, host["expected"])
    return (ack, seq) if switched else (seq, ack)


@pytest.mark.parametrize("vector", VECTORS["order"], ids=lambda vector: vector["name"])
def test_dpcps_order(vector: dict[str, Any]) -> None:
    wire = vector["wire"]
    stale = wire.get("stale", False)
    assert order(vector["part"], vector["seq"], vector["ack"]) == (wire["seq"], wire["ack"], stale)
    meant = (vector["seq"], vector["ack"])
    assert undone(wire["seq"], wire["ack"], stale, vector["host"]) == meant


ONE = 51200


def threshold(ident: int) -> int:
    return int(f"{ident:016b}"[::-1], 2)


def test_bmccs_thresholds_and_codes() -> None:
    bmcc = VECTORS["bmcc"]
    for ident, meant in bmcc["thresholds"]:
        assert threshold(ident) == meant
    for vector in bmcc["codes"]:
        load = min(int(vector["load"] * ONE), 65535)
        low, high = sorted((threshold(vector["id"]), ONE))
        assert 1 + (load >= low) + (load >= high) == vector["code"], vector


def test_bmccs_estimate() -> None:
    estimate = VECTORS["bmcc"]["estimates"]["start"]
    for packet in VECTORS["bmcc"]["estimates"]["packets"]:
        if packet["code"]:
            estimate = estimated(estimate, packet["id"], packet["code"])
        assert estimate == packet["estimate"], packet


# Whole exchanges.


def estimated(estimate: int, ident: int, code: int) -> int:
    low, high = sorted((threshold(ident), ONE))
    if code == 1:
        return min(estimate, max(low - 1, 0))
    if code == 2:
        return min(max(estimate, low), max(high - 1, low))
    return max(estimate, high)


@pytest.mark.parametrize("sequence", VECTORS["sequences"], ids=lambda sequence: sequence["name"])
def test_sequences(sequence: dict[str, Any]) -> None:
    """Each packet means what it says, and each ACK is the one that its data calls for."""
    waiting: list[dict[str, Any]] = []
    estimate = VECTORS["bmcc"]["estimates"]["start"]
    for step in sequence["steps"]:
        packet, means = read(bytes.fromhex(step["packet"])), step["means"]
        assert packet.right
        assert (packet.ecn, packet.echo) == (means["code"], means.get("echo", 0))
        assert (packet.payload > 0) == (step["from"] == "A")
        if sequence["protocol"] == "dpcp":
            assert ("msp" if packet.seq > packet.ack else "lsp") == means["part"]
            meant = (means["seq"], means["ack"])
            assert undone(packet.seq, packet.ack, packet.tied, step["host"]) == meant
        elif sequence["protocol"] == "bmcc":
            assert packet.ident == means["h_id"]
        elif packet.found is not None:
            fields = {name: value for name, value in means.items() if name.startswith("h_")}
            assert packet.found[0] == sequence["protocol"]
            assert near(sequence["protocol"], packet.found[1], fields)
        if step["from"] == "A":
            waiting.append(means)
            continue
        match sequence["protocol"]:
            case "vcp" | "dpcp":
                assert means["echo"] == max(one["code"] for one in waiting)
                assert means.get("part") == waiting[-1].get("part")
            case "bmcc":
                for one in waiting:
                    estimate = estimated(estimate, one["h_id"], one["code"])
                assert means["h_id"] == estimate
            case "xcp":
                assert means["h_feedback"] == sum(one["h_feedback"] for one in waiting)
            case _:
                assert means["h_load"] == max(one["h_load"] for one in waiting)
        waiting.clear()


# The pages.


def shown(page: str) -> list[str]:
    """The bytes of each line of a page that is nothing but bytes."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    lines = re.findall(r"^    ((?:fd|45) [0-9a-f ]+)$", text, re.MULTILINE)
    return [line.replace(" ", "") for line in lines]


def test_what_the_pages_work_by_hand_is_in_the_vectors() -> None:
    options = {vector["option"] for vector in VECTORS["options"]}
    worked = shown("wire-options.md")
    assert set(worked) <= options
    # A case of every header but those that are bare numbers of the machine's own form.
    exids = {int(option[4:8], 16) for option in worked}
    assert {HEADERS[exid][0] for exid in exids} == {name for name, _, _ in HEADERS.values()} - {
        "xcp-core",
        "python",
    }
    packets = {vector["packet"] for vector in VECTORS["packets"]}
    packets |= {vector[when] for vector in VECTORS["rewritten"] for when in ("before", "after")}
    for page in ("wire.md", "wire-bits.md"):
        assert shown(page)
        assert set(shown(page)) <= packets


def test_the_page_names_every_identifier() -> None:
    text = (REFERENCE / "wire-options.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| 0x([0-9a-f]{4}) `\w\w` \| (\d+) \| (\d+) \|", text)
    told = {int(exid, 16): (int(header), int(option)) for exid, header, option in rows}
    assert told == {exid: (length, 4 + length) for exid, (_, length, _) in HEADERS.items()}
