"""A scenario on this machine's kernel: real TCP in network namespaces, links by the emulator."""

from __future__ import annotations

import contextlib
import errno
import json
import platform
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe import _core, interrupts
from clearpipe.errors import ConfigError, RunError, UnsupportedError
from clearpipe.linux import cgroups, hosts, namespaces
from clearpipe.linux.process import Process
from clearpipe.recording import NOTHING, Recording
from clearpipe.result import Result
from clearpipe.terminal import note

if TYPE_CHECKING:
    from clearpipe.api import Progress, Source

DEVICE = "cp0"
CAPTURES = ".captures-"
"""What the folder of unfinished captures is called, before its owner."""
BASE_PORT = 20_000
"""The sinks' first port; a flow's is this and its number in its group."""
HEAD_START_S = 0.3
"""Flows connect two RTTs and this before they send."""
WATCH = "budget"
"""When the emulator watches the clock instead of sleeping: budget, always or never."""
LOOK_S = 0.1
"""How often the progress is told."""
PATIENCE_S = 20.0
"""A process that has not ended so long after the run's end has failed."""
TOO_LATE_US = 1e3
"""A 99th percentile of packets' lateness above this means that the machine was too slow."""


def describe(source: Source, sets: Sequence[str], seed: int | None, rep: int = 0) -> dict[str, Any]:
    """The scenario for this engine; ConfigError if it holds what the engine cannot do."""
    text = _core.linux_describe(source.name, source.text, sets, seed=seed, rep=rep)
    about: dict[str, Any] = json.loads(text)
    if not about["unsupported"]:
        return about
    lines = [f"{key}: {reason}" for key, reason in about["unsupported"]]
    key = about["unsupported"][0][0]
    told = lines[0] if len(lines) == 1 else "\n  ".join(["", *lines])
    message = f"{source.name}: the linux engine cannot run this: {told}"
    raise ConfigError(message, file=source.name, key=key)


def check(about: dict[str, Any]) -> None:
    """Raise UnsupportedError if this system lacks something that the scenario needs."""
    lacks = namespaces.missing()
    for name in sorted({group["kernel"] for group in about["groups"] if not group["explicit"]}):
        if not _has_congestion_control(name):
            option = f"CONFIG_TCP_CONG_{name.upper()}"
            lacks.append(f"the kernel's congestion control {name} (kernel option {option})")
    if about.get("ip") == 6 and not Path("/proc/sys/net/ipv6").exists():
        lacks.append("IPv6 (kernel option CONFIG_IPV6)")
    if any(group["explicit"] for group in about["groups"]) and (lack := hosts.missing()):
        lacks.append(lack)
    if lacks:
        raise UnsupportedError(f"this system lacks: {'; '.join(lacks)}")


def collect() -> None:
    """Remove what runs that were killed have left, and no living run has; what cannot be removed
    is told."""
    _, failed = namespaces.remove_stale()
    if hosts.stale():
        failed += hosts.cleanup()[1]
    for what in failed:
        note(f"clearpipe: left by a run that was killed: {what}")


def _has_congestion_control(name: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            # There, but not for this process here; a run's namespaces are its own.
            return error.errno == errno.EPERM
    return True


def run(  # noqa: PLR0913 - as api.run_recording
    source: Source,
    seed: int | None,
    rep: int,
    sets: Sequence[str],
    *,
    recording: Recording = NOTHING,
    progress: Callable[[Progress], object] | None = None,
    out: str | PathLike[str] | None = None,
    replace: bool = False,
) -> Result:
    """Run a scenario; the result has the tables of every engine."""
    about = describe(source, sets, seed, rep)
    check(about)
    if out is not None:
        _core.check_writable(fspath(out), replace=replace)
    collect()
    with interrupts.held(), _captures(source, sets, recording, out) as (folder, wanted):
        result, emulator = _result(about, rep, (folder, wanted), progress)
        if out is not None:
            result.write(out, replace=replace)
            _keep(Path(fspath(out)), folder, wanted, dict(emulator["network"]["captured"]), about)
    return result


@contextlib.contextmanager
def _captures(
    source: Source,
    sets: Sequence[str],
    recording: Recording,
    out: str | PathLike[str] | None,
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Where captures are written, and what is wanted of them; what is left there is removed."""
    if not recording.wanted or out is None:
        yield Path(), {"captures": {}}
        return
    asked = {
        "trace": recording.trace,
        "qlog": recording.qlog,
        "capture_from": recording.capture_from,
        "capture_to": recording.capture_to,
    }
    if key := next((key for key, value in asked.items() if value), None):
        raise ConfigError(f"{key}: the linux engine writes captures of whole runs only", key=key)
    wanted = recording.check(source, sets)
    parent = Path(fspath(out)).absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{CAPTURES}*"):
        if namespaces.is_abandoned(left.name.removeprefix(CAPTURES)):
            shutil.rmtree(left)
    with tempfile.TemporaryDirectory(
        prefix=f"{CAPTURES}{namespaces.owner()}-", dir=parent
    ) as folder:
        yield Path(folder), wanted


def _keep(
    out: Path, folder: Path, wanted: dict[str, Any], packets: dict[int, int], about: dict[str, Any]
) -> None:
    """Put the captures beside the result, and what they are."""
    if not wanted["captures"]:
        return
    counted = {}
    for link, file in wanted["captures"].items():
        (folder / file).rename(out / file)
        counted[file] = packets[about["links"].index(link)]
    told = {"wanted": wanted, "packets": counted, "trace_bytes": None, "trace_stopped_s": None}
    (out / "recorded.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _result(
    about: dict[str, Any],
    rep: int,
    captures: tuple[Path, dict[str, Any]],
    progress: Callable[[Progress], object] | None,
) -> tuple[Result, dict[str, Any]]:
    """The result, and what the emulator said."""
    folder, wanted = captures
    about["captures"] = [
        {
            "link": about["links"].index(link),
            "path": str(folder / file),
            "headers_only": wanted["headers_only"],
        }
        for link, file in wanted["captures"].items()
    ]
    began = time.monotonic()
    emulator, traffic, complete = _measure(about, rep, progress)
    run = _core.linux_tables(
        about["toml"],
        json.dumps(emulator),
        json.dumps(traffic),
        rep=rep,
        wall_s=time.monotonic() - began,
        complete=complete,
        warnings=_warnings(emulator, traffic, about["ip"]),
    )
    return Result(run), emulator


def _warnings(emulator: dict[str, Any], traffic: dict[str, Any], version: int) -> list[str]:
    """What a reader of the numbers should know."""
    told = lateness(emulator)
    if version == 6:
        told.append("IPv6: ACKs had 60 bytes, and payloads 20 bytes less than over IPv4")
    for number, flow in enumerate(traffic["flows"]):
        if flow["error"] is not None:
            told.append(f"flow {number} failed: {flow['error']}")
    return told


def lateness(emulator: dict[str, Any]) -> list[str]:
    """How exact the emulator was; the first line always, others where it was not."""
    late = emulator["late"]
    if not late["packets"]:
        return ["no packet came through the emulator"]
    told = [
        f"linux {platform.release()}; packets left the emulator {late['p50_s'] * 1e6:.0f} us late "
        f"at the median, {late['p99_s'] * 1e6:.0f} us at the 99th percentile, "
        f"{late['max_s'] * 1e3:.2f} ms at most; it used "
        f"{100 * emulator['cpu_s'] / max(emulator['wall_s'], 1e-9):.0f} % of a core"
    ]
    if not emulator["realtime"]:
        told.append("the emulator ran without SCHED_FIFO: delays are those of a busy machine")
    if emulator["stops"]:
        told.append(
            f"the system did not let the emulator run for over 20 ms {emulator['stops']} times, "
            f"{emulator['stopped_s']:.2f} s in all"
        )
    if late["p99_s"] * 1e6 > TOO_LATE_US:
        told.append("more than 1 % of the packets were late by over 1 ms: the machine is too slow")
    if emulator["refused_pkts"]:
        told.append(f"{emulator['refused_pkts']} packets were not taken by the kernel")
    return told


def late_p99_us(warnings: Sequence[str]) -> float | None:
    """The 99th percentile of packets' lateness that a run's warnings tell [us]; None if they do
    not."""
    found = (re.search(r"(\d+) us at the 99th percentile", one) for one in warnings)
    return next((float(match[1]) for match in found if match), None)


def _measure(
    about: dict[str, Any], rep: int, progress: Callable[[Progress], object] | None
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The reports of emulator and flows, and whether the run came to its end."""
    with contextlib.ExitStack() as stack:
        numbers = range(len(about["groups"]))
        names = stack.enter_context(
            namespaces.several(f"{side}{number}" for number in numbers for side in "sk")
        )
        pairs = list(zip(names[::2], names[1::2], strict=True))
        emulator = stack.enter_context(Process("emulate", _emulator_plan(about, rep, pairs)))
        emulator.start()
        emulator.ready()
        for number, (pair, group) in enumerate(zip(pairs, about["groups"], strict=True)):
            _configure(about, group, number, pair)
        cgroup = stack.enter_context(cgroups.own())
        controls = _end_hosts(stack, about, pairs, cgroup)
        zero = time.monotonic_ns() + int((_head_start(about) + HEAD_START_S) * 1e9)
        emulator.tell(f"start {zero}")
        plan = _traffic_plan(about, pairs, controls, zero)
        plan["cgroup"] = None if cgroup is None else str(cgroup)
        traffic = stack.enter_context(Process("traffic", plan))
        traffic.start()
        complete = _watch(about, zero, (emulator, traffic), progress)
        if not complete:
            assert traffic.process is not None
            traffic.process.terminate()
        # It may have come to its own end by now.
        with contextlib.suppress(RunError):
            emulator.tell("stop")
        return emulator.finish(PATIENCE_S), traffic.finish(PATIENCE_S), complete


def _watch(
    about: dict[str, Any],
    zero: int,
    processes: tuple[Process, Process],
    progress: Callable[[Progress], object] | None,
) -> bool:
    """Wait for the run's end, or that of all flows; False if `progress` says that it is to be
    stopped."""
    from clearpipe.api import Progress

    duration = about["duration_s"]
    while True:
        interrupts.check()
        now = (time.monotonic_ns() - zero) / 1e9
        if now >= duration:
            return True
        emulator, traffic = processes
        if traffic.ended():
            return True
        for name, process in (("emulator", emulator), ("flows'", traffic)):
            # Either may do the last of its work between two looks.
            if not process.running() and not process.ended():
                raise RunError(f"the {name} process has ended: {process.errors()}")
        if progress is not None and progress(Progress(max(now, 0.0), 0, 0)) is False:
            return False
        time.sleep(min(LOOK_S, max(duration - now, 0.001)))


def _head_start(about: dict[str, Any]) -> float:
    """How long before they send flows connect."""
    return float(2 * about["max_rtt_s"] + HEAD_START_S)


def _end_hosts(
    stack: contextlib.ExitStack,
    about: dict[str, Any],
    pairs: Sequence[tuple[str, str]],
    cgroup: Path | None,
) -> list[str]:
    """The kernel's name of each group's congestion control; loads those that are eBPF programs."""
    names: dict[str, str] = {}
    params: dict[str, dict[str, str]] = {}
    for group in about["groups"]:
        kind, own = group["end_host"], dict(group["params"])
        if kind and params.setdefault(kind, own) != own:
            key = f"flows.{group['name']}.protocol"
            raise ConfigError(f"{key}: one kernel has one set of {kind}'s parameters", key=key)
    for kind, own in params.items():
        attach = [
            (name, DEVICE)
            for group, pair in zip(about["groups"], pairs, strict=True)
            if group["end_host"] == kind
            for name in pair
        ]
        all_runs = None if cgroup is None else cgroup.parent
        names[kind] = stack.enter_context(hosts.attached(kind, attach, own, cgroup=all_runs))
    return [names.get(group["end_host"]) or group["kernel"] for group in about["groups"]]


def address(group: int, sink: bool, version: int = 4) -> str:
    """The address of a group's sources or sinks."""
    last = 2 if sink else 1
    if version == 6:
        return f"fd77::{group + 1:x}:{last}"
    return f"10.{77 + group // 256}.{group % 256}.{last}"


def _configure(
    about: dict[str, Any], group: dict[str, Any], number: int, pair: tuple[str, str]
) -> None:
    """Device, route and TCP's settings of both namespaces, as the scenario's transport has them."""
    window = min(max(4 * about["window_bytes"], 4_000_000), 1_000_000_000)
    sysctls = {
        **TCP,
        "ipv4/tcp_rmem": f"4096 {window} {window}",
        "ipv4/tcp_wmem": f"4096 {window} {window}",
        "ipv4/tcp_sack": str(int(group["sack"])),
        "ipv4/tcp_ecn": str(int(group["ecn"] == "classic")),
    }
    if group["pacing_percent"] is not None:
        # 0: packets leave at once when the window allows.
        for phase in ("ca", "ss"):
            sysctls[f"ipv4/tcp_pacing_{phase}_ratio"] = str(group["pacing_percent"])
    version: int = about["ip"]
    route = [
        f"initcwnd {max(round(about['initial_window']), 1)}",
        f"rto_min {max(about['min_rto_s'] * 1e3, 1):.0f}ms",
    ]
    if not about["delayed_acks"]:
        route.append("quickack 1")
    if version == 6:
        # A device's MTU may not be as small as a packet here, so both ends tell each other.
        route.append(f"advmss {about['packet_bytes'] - HEADERS_V6}")
    else:
        sysctls["ipv6/conf/all/disable_ipv6"] = "1"
    for name, sink in zip(pair, (False, True), strict=True):
        own, peer = (address(number, end, version) for end in (sink, not sink))
        commands = device_commands(own, about["packet_bytes"])
        host = f"{peer}/{128 if version == 6 else 32}"
        commands.append(f"route add {host} dev {DEVICE} src {own} {' '.join(route)}")
        namespaces.configure(name, commands, sysctls)


TCP = {
    # Each connection starts from nothing, as in the packet engine.
    "ipv4/tcp_no_metrics_save": "1",
    # ACKs have 40 bytes then, and data packets the payload that the packet engine's have.
    "ipv4/tcp_timestamps": "0",
    "ipv4/tcp_slow_start_after_idle": "0",
    # What nobody has open any more holds its namespace and its protocol until it gives up.
    "ipv4/tcp_orphan_retries": "1",
}
"""Settings in /proc/sys/net of every namespace of a run."""


HEADERS_V6 = 60
"""IPv6's and TCP's."""
LEAST_MTU_V6 = 1280
"""Below, a device has no IPv6 (RFC 8200, section 5)."""


def device_commands(own: str, mtu: int) -> list[str]:
    """What sets up a device with an address: no bursts are cut before the emulator has them."""
    v6 = ":" in own
    return [
        "link set lo up",
        # Without an address of the line's own there is no chatter about neighbours.
        *([f"link set {DEVICE} addrgenmode none"] if v6 else []),
        f"link set {DEVICE} mtu {max(mtu, LEAST_MTU_V6) if v6 else mtu} txqueuelen 10000 up",
        f"addr add {own}/128 dev {DEVICE} nodad" if v6 else f"addr add {own}/32 dev {DEVICE}",
    ]


def _emulator_plan(
    about: dict[str, Any], rep: int, pairs: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    devices = [{"netns": namespaces.path(name), "name": DEVICE} for pair in pairs for name in pair]
    return {
        "scenario": about["toml"],
        "seed": about["seed"],
        "rep": rep,
        "devices": devices,
        "groups": [[2 * number, 2 * number + 1] for number in range(len(pairs))],
        "numbering": {"port": BASE_PORT},
        "captures": about["captures"],
        "watch": WATCH,
    }


def _traffic_plan(
    about: dict[str, Any], pairs: Sequence[tuple[str, str]], names: Sequence[str], zero: int
) -> dict[str, Any]:
    flows = [
        {
            "netns": [namespaces.path(name) for name in pairs[flow["group"]]],
            "address": [address(flow["group"], sink, about["ip"]) for sink in (False, True)],
            "port": BASE_PORT + flow["number"],
            "congestion": names[flow["group"]],
            "start_s": flow["start_s"],
            "connect_s": flow["start_s"] - _head_start(about),
            "stop_s": flow["stop_s"],
            "wire_bytes": flow["wire_bytes"],
            "sampled": flow["sampled"],
        }
        for flow in about["flows"]
    ]
    return {
        "flows": flows,
        "zero_ns": zero,
        "duration_s": about["duration_s"],
        "warmup_s": about["warmup_s"],
        "every_s": about["every_s"],
        "series": about["series"],
        "packet_bytes": about["packet_bytes"],
    }
