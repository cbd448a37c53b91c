"""DPCP's claims that are computed, by the theory or from series; dpcp.toml has the others.

A function named by `check` gets the figure's runs and gives a number, or numbers by label; one
named by a metric `@name` gets a result and gives a number; one named by `draw` gets axes.
"""

from __future__ import annotations

import functools
import itertools
import struct
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import clearpipe as cp
from clearpipe.errors import ConfigError
from clearpipe.reproduce.claims import Reading
from clearpipe.reproduce.draw import COLORS, plot_means
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.reproduce.tools import (
    by_label,
    claim_of,
    exact,
    flow_series,
    link_of,
    link_series,
    seconds,
    windowed,
)
from clearpipe.theory import rounds, vcp
from clearpipe.units import split as split_quantity

EDGES = np.array([0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4])
"""Table I: where one level ends and the next begins; the last has everything from 1.4 on."""
UPPER = (0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4, 2.0)
MD = (0.875, 0.6, 0.43)

# Section II-B.


def sec2b_overload_c1(_: Data) -> dict[str, float]:
    """The load factor after one cut by 0.875."""
    return {
        f"from {load:g}": float(rounds.vcp(1e6, [1e6 * load], 2).load[1])
        for load in (1.151, 1.2, 1.4, 1.7, 2.0)
    }


def _overload(result: cp.Result) -> tuple[float, float, float, bool] | None:
    """After the step at 60 s: when the router first finds overload, which load factor it is, when
    it finds less than full load or the run ends, and whether it is the end.

    Packets come in bursts, an RTT of 500 ms apart: a load is the mean of three periods of 200 ms.
    """
    t, rho = link_series(result, "router_rho")
    load = np.convolve(rho, np.full(3, 1 / 3), "valid")
    over = np.flatnonzero((t > 60) & (rho >= 1))
    if not len(over) or over[0] >= len(load):
        return None
    first = over[0]
    below = np.flatnonzero(load[first:] < 1) + first + 2
    until = float(t[below[0]] if len(below) else t[-1])
    return float(t[first]), float(load[first]), until, not len(below)


def _cut_times(result: cp.Result, flow: str) -> Any:
    """When a flow cut its window as the load told: its last ACK becomes one of decrease."""
    at, mode = flow_series(result, "sender_mode")[flow]
    return at[1:][(mode[1:] == 3) & (mode[:-1] != 3)]


def _cut_counts(result: cp.Result) -> list[float]:
    """Each flow's cuts from then on until the router finds less than full load; none without any
    overload."""
    found = _overload(result)
    if found is None:
        return []
    start, _, until, unended = found
    counts = [
        float(((cuts > start) & (cuts <= until)).sum())
        for cuts in (_cut_times(result, flow) for flow in flow_series(result, "sender_mode"))
    ]
    return [Censored(count) for count in counts] if unended else counts


def overload_cuts(result: cp.Result) -> float | None:
    """A flow's cuts on average."""
    counts = _cut_counts(result)
    return Censored.if_any(counts, float(np.mean(counts))) if counts else None


def additive_after(result: cp.Result) -> float | None:
    """The share of these cuts after which the flow increases additively before anything else."""
    found = _overload(result)
    if found is None:
        return None
    start, _, until, _ = found
    after = []
    for at, mode in flow_series(result, "sender_mode").values():
        cut = np.flatnonzero((mode[:-1] != 3) & (mode[1:] == 3)) + 1
        within = cut[(at[cut] > start) & (at[cut] <= until) & (cut + 1 < len(mode))]
        after += [float(mode[i + 1] == 2) for i in within]
    return float(np.mean(after)) if after else None


def _overloaded(data: Data, scheme: str) -> dict[str, list[Cell]]:
    """By the step, the runs in which the router finds a load factor above 1.15."""
    out: dict[str, list[Cell]] = {}
    for cell in data.of("", scheme):
        if (found := _overload(cell.result)) is not None and found[1] > 1.15:
            out.setdefault(cell.label, []).append(cell)
    return out


def _extreme_cuts(
    data: Data, scheme: str, extreme: Callable[[list[float]], float]
) -> dict[str, float]:
    """The least or the most cuts of a flow, of all flows and runs of a step."""
    out = {}
    for label, cells in _overloaded(data, scheme).items():
        counts = [count for cell in cells for count in _cut_counts(cell.result)]
        out[f"{label}, {len(counts)} flows"] = Censored.if_any(counts, extreme(counts))
    return out


def sec2b_overload_c2a(data: Data) -> dict[str, float]:
    return _extreme_cuts(data, "vcp", min)


def sec2b_overload_c2b(data: Data) -> Any:
    cells = [cell for found in _overloaded(data, "vcp").values() for cell in found]
    return by_label(data, "c2.b", cells, lambda cell: additive_after(cell.result))


def sec2b_overload_c2c(data: Data) -> dict[str, float]:
    return _extreme_cuts(data, "dpcp", max)


def used(result: cp.Result) -> float:
    """The mean utilization of the run."""
    return float(link_series(result, "utilization_ratio")[1].mean())


def used_later(result: cp.Result) -> float:
    """The mean utilization of the run's second half."""
    t, values = link_series(result, "utilization_ratio")
    return float(values[t > t[-1] / 2].mean())


def transition(result: cp.Result) -> float:
    """Seconds from the first flow's start until the mean utilization over a second is 80 %."""
    start = min(float(at) for at in result.flows["start_s"])
    t, values = link_series(result, "utilization_ratio")
    mean = np.convolve(values, np.full(5, 0.2), "valid")
    reached = np.flatnonzero(mean >= 0.8)
    return float(t[reached[0] + 4]) - start if len(reached) else Censored(t[-1] - start)


def fig05_utilization(place: Any, data: Data, part: str = "one") -> None:
    """The first run of each scheme with one flow at 4 Mb/s, 500 ms."""
    for scheme, color in zip(("vcp", "dpcp"), COLORS, strict=False):
        cells = [cell for cell in data.of(part, scheme) if cell.label == "4M, 500ms"]
        for cell in cells[:1]:
            t, values = windowed(*link_series(cell.result, "utilization_ratio"), "1s")
            place.plot(t, values, color=color, label=data.paper.schemes[scheme].label)
    place.set_xlabel("Time (s)")


def fig05_linux(place: Any, data: Data) -> None:
    fig05_utilization(place, data, "linux")


def _mean_times(data: Data) -> dict[float, dict[str, float]]:
    """By RTT and scheme."""
    points: dict[float, dict[str, list[float]]] = {}
    for cell in data.cells:
        time = data.number(cell, "@transition")
        if time is not None:
            points.setdefault(cell.x, {}).setdefault(cell.scheme, []).append(time)
    return {
        rtt: {name: Censored.if_any(v, float(np.mean(v))) for name, v in times.items()}
        for rtt, times in sorted(points.items())
    }


def _vcp_slower(means: dict[str, float], other: str) -> float:
    """1 if VCP's time is above the other's, else 0; censored where the runs are too short to tell.
    A time of VCP's that has not come when the other's has is above it for certain."""
    vcps, others = means["vcp"], means[other]
    slower = vcps > others
    unknown = isinstance(others, Censored) or (isinstance(vcps, Censored) and not slower)
    return Censored(slower, 0) if unknown else float(slower)


def sec2b_transition400_c1a(data: Data) -> dict[str, float]:
    return {
        f"{rtt:g} s": _vcp_slower(means, "xcp")
        for rtt, means in _mean_times(data).items()
        if rtt >= 0.4
    }


def sec2b_transition400_c1b(data: Data) -> dict[str, float]:
    return {
        f"{rtt:g} s": _vcp_slower(means, "sack")
        for rtt, means in _mean_times(data).items()
        if rtt >= 0.4
    }


def sec2b_transition400_c1c(data: Data) -> float | None:
    """The least RTT from which on VCP's mean time is above those of XCP and of SACK [s]: at most
    the least that was run if it is so at all, infinite if not at the longest."""
    found = np.inf
    points = _mean_times(data)
    for rtt in sorted(points, reverse=True):
        both = [_vcp_slower(points[rtt], other) for other in ("xcp", "sack")]
        if any(isinstance(one, Censored) for one in both):
            return Censored(0.0)
        if min(both) < 1:
            return found
        found = rtt
    return found if points else None


# Section III-A: table I.


def _levels(result: cp.Result, link: str = "bottleneck") -> tuple[Any, Any, Any]:
    """Times, load factors and levels 0 to 8 that a router told in its periods."""
    t, rho = link_series(result, "router_rho", link)
    at, zone = link_series(result, "router_msp1", link)
    level_at, level = link_series(result, "router_lsp1", link)
    where = np.maximum(np.searchsorted(at, t, side="right") - 1, 0)
    place = np.maximum(np.searchsorted(level_at, t, side="right") - 1, 0)
    return t, rho, 3 * (zone[where] - 1) + level[place] - 1


def tab1_c1a(data: Data) -> dict[str, float]:
    """Periods whose level is another than the table's, and levels that did not come. How far from
    a bound the nearest load is, of the side of the bound where that is the most, is told."""
    _, rho, level = _levels(data.cells[0].result)
    near = max(max(edge - rho[rho < edge].max(), rho[rho >= edge].min() - edge) for edge in EDGES)
    periods = f"periods of another level, of {len(rho)}; loads within {near:.3f} of each bound"
    return {
        periods: float((level != np.digitize(rho, EDGES)).sum()),
        "levels that did not come": float(9 - len(set(level.astype(int)))),
    }


def tab1_c1b(data: Data) -> dict[str, float]:
    """Cuts by another factor than the table's; a factor that did not come counts as one."""
    cuts = _cuts(data.cells[0].result)
    out = {}
    for told, factor in zip((13, 14, 15), MD, strict=True):
        mine = cuts.get(told, [])
        wrong = sum(abs(cut - factor) > 1e-9 for cut in mine)
        out[f"cuts by another factor than {factor:g}, of {len(mine)}"] = float(wrong or not mine)
    return out


def _cuts(result: cp.Result) -> dict[int, list[float]]:
    """By the load of the pair (4 MSP + LSP), windows over those before the cut: what the LSP left,
    which comes just behind the MSP, or the MSP where the LSP says no less."""
    out: dict[int, list[float]] = {}
    loads, modes = flow_series(result, "sender_lf"), flow_series(result, "sender_vcp")
    exceptions = flow_series(result, "sender_exceptions")
    for name, (t, window) in flow_series(result, "sender_cwnd").items():
        at, lf = loads[name]
        for when in _cut_times(result, name):
            i = int(np.searchsorted(t, when))
            # Small windows end at 1; VCP has one factor; a window may be cut by a loss just then.
            known = i < len(t) and t[i] == when and window[i - 1] >= 3
            if not known or _at(modes[name], when) > 0:
                continue
            later = np.flatnonzero((at > when) & (at < when + 0.2))
            told, last = 15, when
            if len(later) and at[later[0]] > when + 0.002:
                # The LSP said 11, or it is lost: then the load is that of another pair.
                continue
            if len(later) and lf[later[0]] in (13, 14):
                told, last = int(lf[later[0]]), at[later[0]]
            if _at(exceptions[name], last) > _at(exceptions[name], when - 1e-9):
                continue
            after = window[np.searchsorted(t, last, side="right") - 1]
            out.setdefault(told, []).append(float(after / window[i - 1]))
    return out


def tab1_c2(_: Data) -> dict[str, float]:
    return {
        f"from {load:g} by {beta:g}": float(rounds.vcp(1000.0, [1000 * load], 2, beta=beta).load[1])
        for load, beta in zip((1.05, 1.4, 2.0), MD, strict=True)
    }


def tab1_c3a(_: Data) -> dict[str, float]:
    expected = (1.0, 0.375, 0.0625, 0.0441, 0.0132, 0.0)
    return {
        f"up to {edge:.0%}": float(vcp.xi(edge)) - gain
        for edge, gain in zip(UPPER[:6], expected, strict=True)
    }


def tab1_c3b(data: Data) -> dict[str, float]:
    """What an ACK added to the window less what the level's upper bound gives [packets], where it
    is farthest off. RTTs are 500 ms and more, which count as 2.5 periods."""
    result = data.cells[0].result
    worst: dict[float, float] = {}
    series = {
        name: flow_series(result, f"sender_{name}") for name in ("alpha_s", "lf", "mode", "vcp")
    }
    for flow, (t, window) in flow_series(result, "sender_cwnd").items():
        alpha, lf, mode, fell = (
            _at(series[name][flow], t[1:]) for name in ("alpha_s", "lf", "mode", "vcp")
        )
        added = np.diff(window)
        for place in np.flatnonzero((added > 0) & (mode == 1) & (fell == 0)):
            msp, lsp = divmod(int(lf[place]), 4)
            edge = UPPER[3 * (msp - 1) + lsp - 1]
            gain = (1 + 0.25 * (1 - edge) / edge) ** 2.5 - 1
            error = float(added[place] - gain - alpha[place] / window[place])
            worst[edge] = max(worst.get(edge, 0.0), error, key=abs)
    # A level that did not come has not been seen to be right.
    return {f"up to {edge:.0%}": worst.get(edge, np.inf) for edge in UPPER[:6]}


def tab1_c4a(data: Data) -> float:
    """Periods in which a half of the code was 00."""
    result = data.cells[0].result
    halves = [link_series(result, f"router_{name}")[1] for name in ("msp1", "lsp1")]
    return float(sum((half < 1).sum() for half in halves))


def tab1_c4b(data: Data) -> float:
    """Codes that the router wrote."""
    _, _, level = _levels(data.cells[0].result)
    return float(len(set(level)))


def tab1_levels(place: Any, data: Data) -> None:
    _, rho, level = _levels(data.cells[0].result)
    place.plot(rho, level, ".", color=COLORS[0], markersize=4)
    codes = ("0101", "0110", "0111", "1001", "1010", "1011", "1101", "1110", "1111")
    place.set_yticks(range(9), codes)
    place.set_xlabel("Load factor")


# Section III-B: algorithm 1.


def _last(result: cp.Result, name: str) -> list[float]:
    """A sender's variable at the end, of each flow."""
    return [float(values[-1]) for _, values in flow_series(result, f"sender_{name}").values()]


def alg1_c1a(data: Data) -> dict[str, float]:
    """Packets of a part after the same part, and numbers that were not undone rightly, of flows
    that sent nothing twice."""
    out = {}
    for cell in data.of("numbers"):
        once = [not again for again in cell.result.flows["retransmitted_pkts"]]
        found = zip(
            _last(cell.result, "exceptions"), _last(cell.result, "misread"), once, strict=True
        )
        counts = [wrong + misread for wrong, misread, alone in found if alone]
        out[f"gap {cell.label}, {len(counts)} flows"] = sum(counts) if counts else np.inf
    return out


class Packet(NamedTuple):
    """A packet of data, as it left the bottleneck."""

    t: float
    seq: int
    ack: int
    code: int
    """Its ECN bits."""
    stale: bool
    """Is its TCP checksum wrong?"""


@dataclass(frozen=True)
class Wire:
    """A run of part `numbers` once more, watched: it is the same packet by packet."""

    result: cp.Result
    flows: list[list[Packet]]
    """Of each flow that sent nothing twice, in the order in which it sent them."""
    gap: int
    """The receivers' first number less the senders'."""

    def expected(self, packets: list[Packet]) -> Iterator[tuple[Packet, bool, int, int]]:
        """Each packet, whether it is an MSP, and its numbers before algorithm 1 orders them."""
        # Nothing comes back but ACKs, so the receiver's number stays, tie or not.
        first, second = packets[:2]
        (ack,) = {first.seq, first.ack} & {second.seq, second.ack}
        for number, packet in enumerate(packets):
            yield packet, number % 2 == 0, (ack - self.gap + number * PAYLOAD) % WRAP, ack


WRAP = 2**32
PAYLOAD = 960


@functools.cache
def _wire_of(text: str, rep: int) -> Wire:
    with tempfile.TemporaryDirectory() as folder:
        watched = cp.run(
            text,
            rep=rep,
            set=['probe.series=["router"]', "probe.every=change"],
            out=folder,
            replace=True,
            capture=["bottleneck"],
            capture_headers=True,
        )
        captured = _data_packets((Path(folder) / "bottleneck.pcapng").read_bytes())
    again = list(watched.flows["retransmitted_pkts"])
    once = [captured[flow] for flow in sorted(captured) if not again[flow]]
    gap = tomllib.loads(text)["protocols"]["host"]["gap"]
    return Wire(watched, once, int(gap))


def _wires(data: Data) -> dict[str, Wire]:
    """By the gap."""
    found = {}
    for cell in data.of("numbers"):
        found[cell.label] = _wire_of(cell.result.scenario_toml, cell.rep)
    return found


def _data_packets(capture: bytes) -> dict[int, list[Packet]]:
    """By the flow, the packets with a payload of a capture (pcapng, raw IPv4, ns)."""
    out: dict[int, list[Packet]] = {}
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == ENHANCED_PACKET:
            high, low, captured = struct.unpack_from("<III", capture, at + 12)
            packet = capture[at + 28 : at + 28 + captured]
            total, source = struct.unpack_from(">2xH8xI", packet)
            header = 4 * (packet[32] >> 4)
            if total > 20 + header:
                seq, ack = struct.unpack_from(">II", packet, 24)
                t = ((high << 32) + low) / 1e9
                stale = _checksum(packet, total - 20) != 0
                one = Packet(t, seq, ack, packet[1] & 3, stale)
                out.setdefault(source - FIRST_SOURCE, []).append(one)
        at += length
    return out


ENHANCED_PACKET = 6
FIRST_SOURCE = 0x0A000001
"""10.0.0.1, where the first flow sends from."""


def _checksum(packet: bytes, length: int) -> int:
    """What TCP's checksum leaves: 0 if it is right. Payloads are zeros, which add nothing."""
    header = 4 * (packet[32] >> 4)
    words = struct.unpack(f">{header // 2}H", packet[20 : 20 + header])
    addresses = struct.unpack(">4H", packet[12:20])
    total = int(sum(words) + sum(addresses) + packet[9] + length)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def alg1_c1b(data: Data) -> dict[str, float]:
    """Packets on the wire whose numbers are not in the order that their place has: of a flow's
    first packet and every second one after it the sequence number is the larger."""
    out = {}
    for label, wire in _wires(data).items():
        packets = [one for flow in wire.flows for one in wire.expected(flow)]
        wrong = sum((one.seq > one.ack) != msp for one, msp, _, _ in packets)
        out[f"gap {label}, {len(packets)} packets"] = float(wrong if packets else np.inf)
    return out


TIED = ("0", "1", "960", "96000")
"""Gaps at which the numbers meet in ties, and one at which they differ by one without a tie."""


def alg1_c2a(data: Data) -> dict[str, float]:
    """Packets whose numbers are not what the rule makes of them: exchanged where that is needed,
    and of two equal ones the one that must be smaller less one."""
    out = {}
    for label, wire in _wires(data).items():
        if label in TIED:
            packets = [one for flow in wire.flows for one in wire.expected(flow)]
            wrong = sum((p.seq, p.ack) != _ordered(msp, seq, ack) for p, msp, seq, ack in packets)
            ties = sum(seq == ack for _, _, seq, ack in packets)
            out[f"gap {label}, {ties} ties"] = float(wrong)
    return out


def _ordered(msp: bool, seq: int, ack: int) -> tuple[int, int]:
    small, large = sorted((seq, ack))
    if small == large:
        small = (small - 1) % WRAP
    return (large, small) if msp else (small, large)


def alg1_c2b(data: Data) -> dict[str, float]:
    """Packets with a wrong checksum that are no tie or with a right one that are, numbers that
    senders undid wrongly, and transfers that did not end."""
    out = {}
    for cell in data.of("numbers"):
        if cell.label in TIED:
            wire = _wires(data)[cell.label]
            packets = [one for flow in wire.flows for one in wire.expected(flow)]
            wrong = sum(p.stale != (seq == ack) for p, _, seq, ack in packets)
            unfinished = sum(time is None for time in cell.result.flows["fct_s"])
            misread = sum(_last(cell.result, "misread"))
            out[f"gap {cell.label}"] = float(wrong + misread + unfinished)
    return out


def alg1_c3c(data: Data) -> dict[str, float]:
    """Packets whose ECN bits are not the half of the router's code that their numbers ask for."""
    out = {}
    for label, wire in _wires(data).items():
        msp, lsp = (link_series(wire.result, f"router_{name}") for name in ("msp1", "lsp1"))
        packets = [packet for flow in wire.flows for packet in flow]
        rate = link_of(wire.result)["rate_bps"]
        # The router marks what it begins to send; a capture has when it had sent it.
        sent = np.array([packet.t for packet in packets]) - 8 * _size(wire.result, "data") / rate
        of_msp = np.array([packet.seq > packet.ack for packet in packets])
        asked = np.where(of_msp, _at(msp, sent), _at(lsp, sent))
        wrong = int((asked != [packet.code for packet in packets]).sum())
        out[f"gap {label}, {len(packets)} packets"] = float(wrong)
    return out


def alg1_c3a(data: Data) -> dict[str, Reading]:
    """Flows whose windows are other than with 4096 flags: none with a flag for each flow, some
    with one flag less, which shows that flags decide them."""
    windows = {cell.scheme: flow_series(cell.result, "sender_cwnd") for cell in data.of("flags")}
    if len(windows) < 3:
        return {}
    many = windows["dpcp"]
    out = {}
    for scheme, name, least, most in (
        ("dpcp-flags", "a flag for each flow", 0, 0),
        ("dpcp-shared", "one flag less", 1, len(many)),
    ):
        other = sum(
            not all(map(np.array_equal, windows[scheme][flow], many[flow])) for flow in many
        )
        label = f"{name}, of {len(many)} flows"
        out[label] = Reading(label, exact(float(other)), least, most)
    return out


def _size(result: cp.Result, kind: str) -> float:
    """Bytes of a packet of data, or of an ACK, headers included."""
    text = tomllib.loads(result.scenario_toml)["packets"][kind]
    quantity = split_quantity(text)
    if quantity is None or quantity[1] != "B":
        raise ConfigError(f"packets.{kind}: {text!r}: expected bytes", key=f"packets.{kind}")
    return quantity[0]


def alg1_c3b(data: Data) -> dict[str, float]:
    """Packets that began to be sent later than they had come and the packet before them had been
    sent, of flows that come from the link before."""
    (cell,) = data.of("flags", "dpcp")
    wire = _sent_over(cell.result.scenario_toml, cell.rep, LINKS)
    links = tomllib.loads(cell.result.scenario_toml)["links"]
    size = 8 * _size(cell.result, "data")
    out = {}
    for before, link in itertools.pairwise(LINKS):
        sending = size / link_of(cell.result, link)["rate_bps"]
        ends = np.array(sorted(packet.t for flow in wire[link].values() for packet in flow))
        late = seen = 0
        for flow in wire[link].keys() & wire[before].keys():
            # Nothing is lost, and links keep a flow's order; at the end some are under way.
            pairs = list(zip(wire[before][flow], wire[link][flow], strict=False))
            if any((first.seq, first.ack) != (then.seq, then.ack) for first, then in pairs):
                return {}
            end = np.array([then.t for _, then in pairs])
            came = np.array([first.t for first, _ in pairs]) + seconds(links[before]["owd"])
            place = np.searchsorted(ends, end)
            idle = np.where(place > 0, ends[place - 1], 0.0)
            late += int((end - sending > np.maximum(came, idle) + 1e-6).sum())
            seen += len(pairs)
        out[f"{link}, {seen} packets"] = float(late if seen else np.inf)
    return out


@functools.cache
def _sent_over(text: str, rep: int, links: tuple[str, ...]) -> dict[str, dict[int, list[Packet]]]:
    """By link and flow, the packets of data of a run when they had been sent."""
    with tempfile.TemporaryDirectory() as folder:
        cp.run(text, rep=rep, out=folder, replace=True, capture=list(links), capture_headers=True)
        return {
            link: _data_packets((Path(folder) / f"{link}.pcapng").read_bytes()) for link in links
        }


# Section III-C: algorithm 2.


LINKS = ("link0", "link1", "link2")


def _at(series: tuple[Any, Any], t: Any) -> Any:
    """A series' values at these times."""
    at, values = series
    return values[np.maximum(np.searchsorted(at, t, side="right") - 1, 0)]


def _highest(result: cp.Result, t: Any) -> Any:
    """The highest level of the links at these times, as 4 MSP + LSP."""
    codes = [
        4 * _at(link_series(result, "router_msp1", link), t)
        + _at(link_series(result, "router_lsp1", link), t)
        for link in LINKS
    ]
    return np.max(codes, axis=0)


def alg2_c1(data: Data) -> dict[str, float]:
    """Stretches without a change on any link, from a tenth of a second after the last: those in
    which the long flow knows anything but the highest level, or, between a pair's two packets,
    MSP||11; and those in which it never knows the level. Their levels are told, 4 MSP + LSP."""
    result = data.cells[0].result
    t, lf = flow_series(result, "sender_lf")["long"]
    changes = np.unique(
        np.concatenate(
            [
                link_series(result, name, link)[0]
                for link in LINKS
                for name in ("router_msp1", "router_lsp1")
            ]
        )
    )
    wrong = without = 0
    levels: Counter[int] = Counter()
    # An RTT is 32 ms and queues: two of them.
    for start, end in zip(changes[:-1] + 0.1, changes[1:], strict=True):
        if end - start < 0.1:
            continue
        told = int(_highest(result, np.array([start]))[0])
        known = {int(_at((t, lf), start)), *map(int, lf[(t > start) & (t < end)])}
        levels[told] += 1
        wrong += not known <= {told, 4 * (told // 4) + 3}
        without += told not in known
    stretches = levels.total()
    of = "; ".join(f"{n} of level {level}" for level, n in sorted(levels.items()))
    return {
        f"wrong, of {stretches} ({of})": float(wrong),
        f"level never known, of {stretches}": float(without),
        "nothing to judge": float(not stretches),
    }


def alg2_c2a(data: Data) -> dict[str, float]:
    """Changes of the MSP with which the LSP was not 11."""
    result = data.cells[0].result
    t, msp = flow_series(result, "sender_msp")["long"]
    changed = t[1:][np.diff(msp) != 0]
    lsp = _at(flow_series(result, "sender_lsp")["long"], changed)
    return {f"of {len(changed)} changes": float((lsp != 3).sum()) if len(changed) else np.inf}


def alg2_c2b(data: Data) -> dict[str, float]:
    """ACKs next to one another after neither of which the LSP was 11: one of the two brought an
    MSP. An ACK is a change of the window, but for those of a freeze."""
    result = data.cells[0].result
    t, _ = flow_series(result, "sender_cwnd")["long"]
    lsp = _at(flow_series(result, "sender_lsp")["long"], t)
    at, mode = flow_series(result, "sender_mode")["long"]
    # Nothing else was done from the one to the other.
    place = np.searchsorted(at, t, side="right") - 1
    beside = (place[1:] == place[:-1]) & (mode[place[1:]] != 3)
    told = beside & ((lsp[1:] != 3) | (lsp[:-1] != 3))
    wrong = beside & (lsp[1:] != 3) & (lsp[:-1] != 3)
    count = int(told.sum())
    return {f"of {count} pairs with an LSP below 11": float(wrong.sum()) if count else np.inf}


def _first_change(result: cp.Result) -> float:
    """When the long flow's window changes for the first time."""
    t, window = flow_series(result, "sender_cwnd")["long"]
    return float(t[1:][np.diff(window) != 0][0])


def alg2_c3a(data: Data) -> float:
    """RTTs from the first packet to the first change of the window."""
    result = data.cells[0].result
    starts = zip(result.flows["group"], result.flows["start_s"], strict=True)
    start = next(float(at) for group, at in starts if group == "long")
    _, srtt = flow_series(result, "srtt_s")["long"]
    rtt = float(srtt[np.isfinite(srtt) & (srtt > 0)][0])
    return (_first_change(result) - start) / rtt


def alg2_c3b(data: Data) -> float:
    """The LSP just after it: it begins as 01, an MSP makes it 11, and an LSP is what came."""
    result = data.cells[0].result
    return float(_at(flow_series(result, "sender_lsp")["long"], _first_change(result)))


def alg2_levels(place: Any, data: Data) -> None:
    result = data.cells[0].result
    t, lf = flow_series(result, "sender_lf")["long"]
    grid = np.arange(0.0, float(t[-1]), 0.05)
    place.plot(grid, _highest(result, grid), color="0.6", linewidth=1.2, label="routers")
    place.plot(t, lf, ".", color=COLORS[0], markersize=1.5, label="long flow")
    place.set_xlabel("Time (s)")


# Section III-D: exceptions.


def _events(result: cp.Result, name: str) -> Any:
    """When a counter of the one flow rose, and to what."""
    (t, values), *_ = flow_series(result, f"sender_{name}").values()
    rose = np.flatnonzero(np.diff(values) > 0) + 1
    return t[rose], values[rose]


def _rows(cell: Cell) -> list[int]:
    """Of each fall-back, how many packets of a kind had come in a row: the exceptions up to it
    between which no other ACK came, and the first of the row, which is none."""
    when, _ = _events(cell.result, "exceptions")
    t, window = _series(cell.result, "cwnd")
    # What a loss does to the window is no ACK; duplicates change the RTT alone.
    told = [_series(cell.result, name)[0] for name in ("msp", "lsp", "mode")]
    acks = np.unique(np.concatenate([t[1:][np.diff(window) > 0], *told]))
    found = []
    for fell in _events(cell.result, "downgrades")[0]:
        row, last = 1, fell
        for at in when[when <= fell + 1e-9][::-1]:
            if ((acks > at + 1e-9) & (acks < last - 1e-9)).any():
                break
            row, last = row + 1, at
        found.append(row)
    return found


def _farthest(rows: list[int]) -> float:
    """The one that is farthest from three; infinite if there is none."""
    return float(max(rows, key=lambda row: abs(row - 3))) if rows else np.inf


def _series(result: cp.Result, name: str) -> tuple[Any, Any]:
    """A sender's variable, of the one flow."""
    (found,) = flow_series(result, f"sender_{name}").values()
    return found


def sec3d_exceptions_c1a(data: Data) -> dict[str, float]:
    """With delayed ACKs all are MSPs; without every second packet, too."""
    return {
        f"{name}, {len(rows)} fall-backs": _farthest(rows)
        for part, name in (("delayed", "delayed ACKs"), ("transient", "LSPs lost"))
        for rows in [[row for cell in data.of(part) for row in _rows(cell)]]
    }


def sec3d_exceptions_c1b(data: Data) -> float | None:
    """The LSP before must have told 01 or 10: an MSP would have put 11 in its place."""
    for cell in data.of("transient-odd"):
        when, _ = _events(cell.result, "exceptions")
        lsp = _at(_series(cell.result, "lsp"), when[0] - 1e-9)
        return _farthest(_rows(cell)) if lsp < 3 else np.inf
    return None


DISTURBED = ("delayed", "transient", "transient-odd", "loss", "reorder")


def _disturbed(data: Data) -> dict[str, Cell]:
    """The runs of a single flow."""
    return {f"{part} {cell.label}".strip(): cell for part in DISTURBED for cell in data.of(part)}


def sec3d_exceptions_c1c(data: Data) -> dict[str, float]:
    """While the sender is VCP: ACKs whose numbers were not undone rightly, and loads, every 50 ms
    from an RTT on, that are none that the router had in the 1.2 s before, an RTT with queues."""
    out = {}
    for name, cell in _disturbed(data).items():
        mode, told, code = (
            _series(cell.result, "vcp"),
            _series(cell.result, "msp"),
            link_series(cell.result, "router_msp1"),
        )
        grid = np.arange(0.0, float(cell.result.meta["simulated_s"]), 0.05)
        grid = grid[np.isin(_at(mode, grid), (1, 3)) & (_at(mode, grid) == _at(mode, grid - 1.2))]
        had = [_codes(code, when) for when in grid]
        wrong = sum(msp not in codes for msp, codes in zip(_at(told, grid), had, strict=True))
        out[f"{name}: misread"] = float(_series(cell.result, "misread")[1][-1])
        out[f"{name}: other loads, of {len(grid)}"] = float(wrong if len(grid) else np.inf)
    return out


def _codes(code: tuple[Any, Any], when: float) -> set[float]:
    """The MSPs that the router had in the 1.2 s before."""
    return {_at(code, when - 1.2), *code[1][(code[0] > when - 1.2) & (code[0] <= when)]}


def sec3d_exceptions_c1d(data: Data) -> dict[str, float]:
    """How far changes of a window are from VCP's law while the sender is VCP: what an ACK adds by
    multiplicative increase, 1.0625^2.5 - 1 at RTTs of 500 ms and more, and additively, and what
    is left by a cut. The one that is farthest off."""
    out = {}
    for name, cell in _disturbed(data).items():
        t, window = _series(cell.result, "cwnd")
        alpha, fell, mode = (
            _at(_series(cell.result, one), t[1:]) for one in ("alpha_s", "vcp", "mode")
        )
        added = np.diff(window)
        # Its own last ACK as DPCP has done what it did.
        vcp = (fell > 0) & (_at(_series(cell.result, "vcp"), t[1:] - 1e-9) > 0) & (added > 0)
        grown = {"MI": 1.0625**2.5 - 1, "AI": alpha / window[:-1]}
        for number, (law, gain) in enumerate(grown.items(), 1):
            off = (added - gain)[vcp & (mode == number)]
            if len(off):
                out[f"{name}: {law}, {len(off)} ACKs"] = float(max(off, key=abs))
        cuts = [
            window[i] / window[i - 1] - 0.875
            for when in _cut_times(cell.result, _only(cell.result))
            if _at(_series(cell.result, "vcp"), when - 1e-9) > 0
            and t[i := int(np.searchsorted(t, when))] == when
            and window[i - 1] >= 2
        ]
        if cuts:
            out[f"{name}: cuts, {len(cuts)}"] = float(max(cuts, key=abs))
    return out


def _only(result: cp.Result) -> str:
    (name,) = flow_series(result, "sender_cwnd")
    return name


def sec3d_exceptions_c1e(data: Data) -> dict[str, float]:
    """Of every fall-back of every run."""
    out = {}
    for name, cell in _disturbed(data).items():
        rows = _rows(cell)
        out[f"{name}, {len(rows)} fall-backs"] = _farthest(rows)
    return out


class Exceptions(NamedTuple):
    """The exceptions of a run that leave the sender DPCP, one in each place."""

    after_lsp: Any
    """Was it an LSP? That is told by an LSP below 11 before: an MSP puts 11 there."""
    right: Any
    """Is the LSP 11 then and the MSP not lower, and after LSPs the same as before?"""
    rose: Any
    """Is the MSP higher than before?"""
    stayed: Any
    """Is it the same, and higher than what the router has had for an RTT?"""


def _exceptions(result: cp.Result) -> Exceptions:
    when, _ = _events(result, "exceptions")
    msp, lsp, mode = (_series(result, name) for name in ("msp", "lsp", "vcp"))
    when = when[_at(mode, when) == 0]
    before, after = _at(msp, when - 1e-9), _at(msp, when)
    after_lsp = _at(lsp, when - 1e-9) < 3
    code = link_series(result, "router_msp1")
    # A larger one has come from the router.
    known = [
        now == first or (now > first and now in _codes(code, at))
        for at, first, now in zip(when, before, after, strict=True)
    ]
    right = (_at(lsp, when) == 3) & np.array(known, dtype=bool)
    right &= ~after_lsp | (after == before)
    # What comes at an exception left the router half an RTT before and later.
    lower = [max(_at(code, at - 0.5), _at(code, at - 0.25)) for at in when]
    stayed = (after == before) & (np.array(lower, dtype=float) < before)
    return Exceptions(after_lsp, right, after > before, stayed)


def _after_exceptions(data: Data, *, lsps: bool) -> dict[str, float]:
    """The share of exceptions of the kind, in each run, after which all is as it should be."""
    out = {}
    for cell in data.of("loss"):
        found = _exceptions(cell.result)
        mine = found.right[found.after_lsp == lsps]
        if len(mine):
            out[f"{cell.label} % lost, {len(mine)} exceptions"] = float(mine.mean())
    return out


def sec3d_exceptions_c2a(data: Data) -> dict[str, float | Reading]:
    often = [_exceptions(cell.result) for cell in data.of("often")]
    mine = np.concatenate([one.right[~one.after_lsp] for one in often])
    seen: dict[str, float | Reading] = {}
    for label, counts in (
        ("a higher MSP took its place", [one.rose[~one.after_lsp] for one in often]),
        ("a higher MSP stayed", [one.stayed[~one.after_lsp] for one in often]),
    ):
        # Without any nothing of the rule has been seen.
        seen[label] = Reading(label, exact(float(np.concatenate(counts).sum())), 1, np.inf)
    share = {f"1 % lost often, {len(mine)} exceptions": float(mine.mean())}
    return {**_after_exceptions(data, lsps=False), **share, **seen}


def sec3d_exceptions_c2b(data: Data) -> dict[str, float]:
    return _after_exceptions(data, lsps=True)


def sec3d_exceptions_c3a(data: Data) -> dict[str, float]:
    """RTTs, of the smoothed RTT at that moment, from the fall-back until the first pair has come
    back; infinite if it does not fall back once and send pairs at the end."""
    out = {}
    for part in ("transient", "transient-odd"):
        for cell in data.of(part):
            t, mode = _series(cell.result, "vcp")
            fell = np.flatnonzero(mode == 1)
            if len(fell) != 1 or mode[-1] != 0:
                out[part] = np.inf
                continue
            (srtt,) = flow_series(cell.result, "srtt_s").values()
            pairs = t[fell[0] :][mode[fell[0] :] == 0][0]
            out[part] = float((pairs - t[fell[0]]) / _at(srtt, t[fell[0]]))
    return out


def sec3d_exceptions_c3b(data: Data) -> dict[str, float]:
    """1 where the sender is VCP for good at the end."""
    return {
        f"{cell.label} {what}": float(_series(cell.result, "vcp")[1][-1] == 3)
        for part, what in (("loss", "% lost"), ("reorder", "overtaken"))
        for cell in data.of(part)
    }


def paths_utilization(place: Any, data: Data) -> None:
    """Each run's utilization where one packet in a hundred is held up."""
    for color, scheme in zip(COLORS, ("dpcp", "vcp"), strict=False):
        used = [cell.metrics["utilization_ratio"] for cell in data.of("paths", scheme)]
        label = data.paper.schemes[scheme].label
        place.plot(range(1, len(used) + 1), used, "o", color=color, markersize=4, label=label)
    place.set_xlabel("Run")


# Section IV-A: four links.


def _shares(result: cp.Result, link: int) -> tuple[Any, Any, Any]:
    """Times, and what the long and the local flows of a link get of its capacity."""
    capacity = link_of(result, f"link{link}")["rate_bps"]
    sums: dict[str, Any] = {}
    t = np.array([])
    for name, (at, rate) in flow_series(result, "goodput_bps").items():
        group = name.partition(" ")[0]
        t = at if len(at) > len(t) else t
        sums.setdefault(group, []).append((at, np.nan_to_num(rate)))

    def total(group: str) -> Any:
        out = np.zeros(len(t))
        for at, rate in sums.get(group, []):
            out[np.searchsorted(t, at)] += rate
        return out / capacity

    return t, total("long"), total(f"local{link}")


def _phase(result: cp.Result, link: int, phase: tuple[float, float]) -> tuple[float, float]:
    """The mean shares of the long and the local flows in this time."""
    t, long, local = _shares(result, link)
    within = (t > phase[0]) & (t <= phase[1])
    return float(long[within].mean()), float(local[within].mean())


BEFORE, AFTER = (200.0, 1000.0), (1200.0, 3000.0)


def fig01_ratio(result: cp.Result) -> float:
    """Local over long goodput on link 0, of the whole run but its first 200 s."""
    long, local = _phase(result, 0, (200.0, 3000.0))
    return local / long


def long0_before(result: cp.Result) -> float:
    """The long flows' share of link 0's capacity before 1000 s."""
    return _phase(result, 0, BEFORE)[0]


def local0_before(result: cp.Result) -> float:
    return _phase(result, 0, BEFORE)[1]


def long0_after(result: cp.Result) -> float:
    return _phase(result, 0, AFTER)[0]


def local0_after(result: cp.Result) -> float:
    return _phase(result, 0, AFTER)[1]


def long2_before(result: cp.Result) -> float:
    """The long flows' share of link 2's capacity before 1000 s."""
    return _phase(result, 2, BEFORE)[0]


def long2_after(result: cp.Result) -> float:
    return _phase(result, 2, AFTER)[0]


def local2_after(result: cp.Result) -> float:
    return _phase(result, 2, AFTER)[1]


def long2_change(result: cp.Result) -> float:
    return long2_after(result) - long2_before(result)


def long2_settled(result: cp.Result) -> float:
    """Seconds after 1000 s until the long flows' share over 20 s is within a tenth of what it is
    from 1200 s on."""
    t, long, _ = _shares(result, 2)
    later = float(long[t > 1200].mean())
    last = int(t[-1]) - 20
    for start in range(1000, last + 1, 10):
        if abs(float(long[(t > start) & (t <= start + 20)].mean()) / later - 1) < 0.1:
            return float(start - 1000)
    return Censored(last - 1000)


def _draw_shares(place: Any, data: Data, part: str, link: int) -> None:
    cell = next(iter(data.of(part)), None)
    if cell is None:
        return
    t, long, local = _shares(cell.result, link)
    place.plot(t, long, color=COLORS[0], linewidth=0.9, label="long")
    place.plot(t, local, color=COLORS[1], linewidth=0.9, label="local")
    place.set_xlabel("Time (s)")


def link0_main(place: Any, data: Data) -> None:
    _draw_shares(place, data, "main", 0)


def link0_least(place: Any, data: Data) -> None:
    _draw_shares(place, data, "least", 0)


def link0_small(place: Any, data: Data) -> None:
    _draw_shares(place, data, "small", 0)


def link2_small(place: Any, data: Data) -> None:
    _draw_shares(place, data, "small", 2)


def link0_thirty(place: Any, data: Data) -> None:
    _draw_shares(place, data, "thirty", 0)


def link2_main(place: Any, data: Data) -> None:
    _draw_shares(place, data, "main", 2)


def link2_thirty(place: Any, data: Data) -> None:
    _draw_shares(place, data, "thirty", 2)


def link2_least(place: Any, data: Data) -> None:
    _draw_shares(place, data, "least", 2)


def link2_dpcp_linux(place: Any, data: Data) -> None:
    _draw_shares(place, data, "dpcp-linux", 2)


def link2_vcp_linux(place: Any, data: Data) -> None:
    _draw_shares(place, data, "vcp-linux", 2)


SHARES = (
    "long0_before",
    "local0_before",
    "long0_after",
    "local0_after",
    "long2_before",
    "long2_after",
    "local2_after",
)


def _with_linux(data: Data, kind: str, short: str) -> dict[str, Reading]:
    """Each share with Linux's packets less that of the figures."""
    claim = claim_of(data, short)
    plain = {cell.rep: cell for cell in data.of(kind)}
    out = {}
    for name in SHARES:
        values = [
            here - there
            for cell in data.of(f"{kind}-linux")
            if (other := plain.get(cell.rep)) is not None
            and (here := data.number(cell, f"@{name}")) is not None
            and (there := data.number(other, f"@{name}")) is not None
        ]
        if values:
            out[name] = Reading.of(name.replace("_", ", "), values, claim.lo, claim.hi)
    return out


def sec4b_multi_c1a(data: Data) -> dict[str, Reading]:
    return _with_linux(data, "dpcp", "c1.a")


def sec4b_multi_c1b(data: Data) -> dict[str, Reading]:
    return _with_linux(data, "vcp", "c1.b")


# Section IV-C: losses.


def completion(result: cp.Result) -> float:
    """The mean time to finish [s]; with one that has not it is only known to be longer."""
    end = float(result.meta["simulated_s"])
    done = [t is not None and bool(np.isfinite(t)) for t in result.flows["fct_s"]]
    pairs = zip(result.flows["fct_s"], result.flows["start_s"], done, strict=True)
    mean = float(np.mean([float(t) if ended else end - float(at) for t, at, ended in pairs]))
    return mean if all(done) else Censored(mean)


def fig06_c1c(data: Data) -> dict[str, float]:
    """DPCP's time less VCP's at each rate, in the run where it is the largest [s]."""
    vcps = {(c.label, c.rep): data.number(c, "@completion") for c in data.of("main", "vcp-lossy")}
    worst: dict[str, list[float]] = {}
    for cell in data.of("main", "dpcp-lossy"):
        time, other = data.number(cell, "@completion"), vcps.get((cell.label, cell.rep))
        if time is not None and other is not None:
            less = Censored.less(time, other, time - other)
            worst.setdefault(f"{cell.label} %", []).append(less)
    return {label: Censored.if_any(found, max(found)) for label, found in worst.items()}


def fig06_c2(
    data: Data, part: str = "main", scheme: str = "dpcp-lossy", short: str = "c2"
) -> dict[str, Reading]:
    """DPCP's times over that without losses, below 30 %."""
    claim = claim_of(data, short)
    clean = {c.rep: data.number(c, "@completion") for c in data.of(part, scheme) if not c.x}
    found: dict[str, list[float]] = {}
    for cell in data.of(part, scheme):
        time, first = data.number(cell, "@completion"), clean.get(cell.rep)
        if 0 < cell.x < 30 and time is not None and first:
            ratio = Censored.less(time, first, time / first)
            found.setdefault(f"{cell.label} %", []).append(ratio)
    return {name: Reading.of(name, values, claim.lo, claim.hi) for name, values in found.items()}


def fig06_c6(data: Data) -> dict[str, Reading]:
    return fig06_c2(data, "linux", "dpcp-uncut", "c6")


def _curves(data: Data, part: str, scheme: str) -> list[tuple[Any, Any, bool]]:
    """Of each replication loss rates, times, and whether one of these is cut off; those that have
    two points and more from 35 % on."""
    curves: dict[int, list[tuple[float, float]]] = {}
    for cell in data.of(part, scheme):
        if (time := data.number(cell, "@completion")) is not None:
            curves.setdefault(cell.rep, []).append((cell.x, time))
    out = []
    for curve in curves.values():
        x, y = np.array(sorted(curve)).T
        if np.count_nonzero(x >= 35) >= 2:
            out.append((x, y, any(isinstance(time, Censored) for _, time in curve)))
    return out


def _slope_from_35(data: Data, part: str, scheme: str, short: str) -> dict[str, Reading]:
    """The slope of the time from 35 % on [s per %]."""
    claim = claim_of(data, short)
    slopes = []
    for x, y, cut_off in _curves(data, part, scheme):
        slope = float(np.polyfit(x[x >= 35], y[x >= 35], 1)[0])
        slopes.append(Censored(slope, 0) if cut_off else slope)
    return {"slope": Reading.of("slope", slopes, claim.lo, claim.hi)} if slopes else {}


def _knee(data: Data, part: str, scheme: str, short: str) -> dict[str, Reading]:
    """Where the time passes 1.5 times that without losses [%]."""
    claim = claim_of(data, short)
    knees = []
    for x, y, cut_off in _curves(data, part, scheme):
        if x[0] > 0:
            # Not without the time without losses.
            continue
        at = knee(x, y)
        # Not up to the last point: above it.
        beyond = float(np.nextafter(x[-1], np.inf))
        found = at if np.isfinite(at) else Censored(beyond)
        knees.append(Censored(found, 0) if cut_off else found)
    return {"knee": Reading.of("knee", knees, claim.lo, claim.hi)} if knees else {}


def fig06_c3a(data: Data) -> dict[str, Reading]:
    return _slope_from_35(data, "main", "dpcp-lossy", "c3.a")


def fig06_c3b(data: Data) -> dict[str, Reading]:
    return _knee(data, "main", "dpcp-lossy", "c3.b")


def fig06_c7a(data: Data) -> dict[str, Reading]:
    return _slope_from_35(data, "linux", "dpcp-uncut", "c7.a")


def fig06_c7b(data: Data) -> dict[str, Reading]:
    return _knee(data, "linux", "dpcp-uncut", "c7.b")


def fig06_reno(place: Any, data: Data) -> None:
    """Mean times where losses are answered as by Reno; not at quick scale."""
    for scheme, color in zip(("vcp-reno", "dpcp-reno"), COLORS, strict=False):
        times: dict[float, list[float]] = {}
        for cell in data.of("reno", scheme):
            if (time := data.number(cell, "@completion")) is not None:
                times.setdefault(cell.x, []).append(time)
        label = data.paper.schemes[scheme].label
        plot_means(place, list(times), list(times.values()), color=color, label=label)
    place.set_xlabel("Packets lost (%)")


def knee(x: Any, y: Any) -> float:
    """Where y first passes 1.5 times its first value, between the points on a straight line;
    infinite if it never does."""
    over = np.flatnonzero(y > 1.5 * y[0])
    if not len(over):
        return float("inf")
    at = slice(over[0] - 1, over[0] + 1)
    return float(np.interp(1.5 * y[0], y[at], x[at]))


def fig06_c4(data: Data) -> dict[str, Reading]:
    """The slope of VCP's time less DPCP's over the loss rate above 20 % [s per %]."""
    claim = claim_of(data, "c4")
    vcps = {(c.label, c.rep): data.number(c, "@completion") for c in data.of("main", "vcp-lossy")}
    gaps: dict[int, list[tuple[float, float]]] = {}
    for cell in data.of("main", "dpcp-lossy"):
        time, other = data.number(cell, "@completion"), vcps.get((cell.label, cell.rep))
        if cell.x > 20 and time is not None and other is not None:
            gap = Censored.less(other, time, other - time)
            gaps.setdefault(cell.rep, []).append((cell.x, gap))
    slopes = []
    for points in gaps.values():
        x, y = [loss for loss, _ in points], [gap for _, gap in points]
        if len(points) > 1:
            slope = float(np.polyfit(x, y, 1)[0])
            slopes.append(Censored(slope, 0) if any(isinstance(v, Censored) for v in y) else slope)
    return {"slope": Reading.of("slope", slopes, claim.lo, claim.hi)} if slopes else {}
