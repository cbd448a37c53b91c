"""What of this system the linux engine would use: for `clearpipe doctor`."""

from __future__ import annotations

import contextlib
import gzip
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clearpipe import api, interrupts
from clearpipe.doctor import Check
from clearpipe.linux import namespaces
from clearpipe.linux.engine import DEVICE, address, device_commands
from clearpipe.linux.process import Process

PROGRAMS = (
    ("ip", "makes network namespaces for the linux engine", "apt-get install iproute2"),
    ("nsenter", "runs programs in them", "apt-get install util-linux"),
    ("ethtool", "shows offloads", "apt-get install ethtool"),
    ("iperf3", "traffic for clearpipe linux shell", "apt-get install iperf3"),
)
OPTIONS = (
    ("TUN", "the emulator's devices"),
    ("NET_NS", "network namespaces"),
    ("HIGH_RES_TIMERS", "delays to the microsecond"),
    ("BPF_SYSCALL", "end hosts in eBPF"),
    ("BPF_JIT", "end hosts in eBPF"),
    ("DEBUG_INFO_BTF", "end hosts in eBPF"),
    ("NET_CLS_ACT", "end hosts in eBPF"),
    ("CGROUP_BPF", "end hosts in eBPF"),
)
CAP_SYS_NICE = 23
PROBES, PROBE_EVERY_S = 400, 0.002
WANTED_S = 2e-4
PROBE_RATE_BPS, PROBE_RTT_S = 100e6, 0.02


def checks() -> list[Check]:
    """What can be seen without running anything."""
    if platform.system() != "Linux":
        return [Check("linux", False, "missing", "runs the linux engine", "a machine with Linux")]
    lacks = namespaces.missing()
    found = [
        Check("linux", not lacks, "ready", "runs the linux engine", "; ".join(lacks)),
        *(_program(*program) for program in PROGRAMS),
        *_options(),
        Check("tcp", True, congestion_controls(), "the kernel's congestion controls", ""),
        _realtime(),
        _clock(),
    ]
    return [*found, *_offloads()]


def congestion_controls() -> str:
    """The kernel's list."""
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    with contextlib.suppress(OSError):
        return file.read_text(encoding="ascii").strip()
    return "unknown"


def _program(name: str, purpose: str, get: str) -> Check:
    where = shutil.which(name)
    return Check(name, where is not None, where or "missing", purpose, get)


def _options() -> list[Check]:
    """The kernel's options, where it tells them."""
    config = _config()
    if config is None:
        what = "the kernel does not tell its options (/proc/config.gz, /boot/config-*)"
        return [Check("kernel", True, platform.release(), what, "")]
    rows = []
    for option, purpose in OPTIONS:
        value = config.get(option)
        get = f"a kernel with CONFIG_{option}"
        rows.append(Check(f"CONFIG_{option}", value is not None, value or "", purpose, get))
    return rows


def _config() -> dict[str, str] | None:
    text = None
    with contextlib.suppress(OSError):
        text = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    if text is None:
        with contextlib.suppress(OSError):
            text = Path(f"/boot/config-{platform.release()}").read_text(encoding="utf-8")
    return None if text is None else dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.MULTILINE))


def _realtime() -> Check:
    """May the emulator run before other processes?"""
    status = ""
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
    held = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    allowed = held is not None and bool(int(held[1], 16) >> CAP_SYS_NICE & 1)
    share = "all of a core"
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        rt = Path("/proc/sys/kernel/sched_rt_runtime_us").read_text(encoding="ascii")
        period = Path("/proc/sys/kernel/sched_rt_period_us").read_text(encoding="ascii")
        if int(rt) >= 0:
            share = f"{100 * int(rt) // int(period)} % of a core"
    purpose = "SCHED_FIFO: delays of the emulator do not depend on other processes"
    return Check("realtime", allowed, f"allowed, {share}", purpose, "root, or CAP_SYS_NICE")


def _clock() -> Check:
    step = time.clock_getres(time.CLOCK_MONOTONIC)
    fine = step <= 1e-6
    value = f"{step * 1e9:g} ns"
    return Check("timer", fine, value, "CLOCK_MONOTONIC's step", "a kernel with HIGH_RES_TIMERS")


def _offloads() -> list[Check]:
    """What devices put together, which end hosts in eBPF do not want on a real network."""
    if shutil.which("ethtool") is None:
        return []
    rows = []
    for device in sorted(Path("/sys/class/net").iterdir()):
        if not (device / "device").exists():
            continue  # lo, and what is not hardware
        done = subprocess.run(
            ["ethtool", "-k", device.name], capture_output=True, text=True, check=False
        )
        names = "tcp-segmentation|generic-segmentation|generic-receive|large-receive"
        on = re.findall(rf"^({names})-offload: on", done.stdout, re.MULTILINE)
        purpose = "offloads of a device that end hosts in eBPF would use; the emulator's has none"
        rows.append(Check(f"offload {device.name}", True, ", ".join(on) or "none", purpose, ""))
    return rows


def measured() -> list[Check]:
    """How exact the emulator's delays are here, and how fast it can go; takes three seconds."""
    if namespaces.missing():
        return []
    error = delay_error()
    late = error["error"]
    value = f"50 %: {late['p50_s'] * 1e6:.0f} us, 99 %: {late['p99_s'] * 1e6:.0f} us"
    purpose = f"error of a delay of {PROBE_RTT_S * 500:g} ms, end to end (0.2 ms is wanted)"
    if late["p99_s"] >= WANTED_S:
        value += " (too much: use a machine with less to do)"
    punctual = Check("delay", True, value, purpose, "")
    bps, share = ceiling()
    purpose = "TCP through an emulated link without limit: faster links are this machine's limit"
    fast = Check(
        "ceiling", True, f"{bps / 1e6:.0f} Mb/s, {100 * share:.0f} % of a core", purpose, ""
    )
    return [punctual, fast]


def delay_error() -> dict[str, Any]:
    """Errors of one-way delays of small UDP packets, by the prober."""
    toml = _scenario(f"{PROBE_RATE_BPS / 1e6:g}Mbps", f"{PROBE_RTT_S * 1e3:g}ms", "droptail")
    with _pair(toml) as (names, _):
        octets = [[int(part) for part in address(0, sink).split(".")] for sink in (False, True)]
        plan = {
            "netns": [namespaces.path(name) for name in names],
            "address": octets,
            "count": PROBES,
            "every_s": PROBE_EVERY_S,
            "expected_s": PROBE_RTT_S / 2 + 100 * 8 / PROBE_RATE_BPS,
        }
        with Process("probe", plan) as prober:
            prober.start()
            return prober.finish(30.0)


def ceiling(duration: float = 1.5) -> tuple[float, float]:
    """What a TCP flow reaches over a link of 100 Gb/s [bit/s]; the emulator's part of a core."""
    toml = _scenario("100Gbps", "1ms", "droptail")
    with _pair(toml) as (names, emulator):
        zero = time.monotonic_ns() + 500_000_000
        octets = [[int(part) for part in address(0, sink).split(".")] for sink in (False, True)]
        flow = {
            "netns": [namespaces.path(name) for name in names],
            "address": octets,
            "port": 20_000,
            "congestion": "cubic" if "cubic" in congestion_controls() else "reno",
            "start_s": 0.0,
            "connect_s": -0.3,
            "stop_s": None,
            "wire_bytes": None,
            "sampled": False,
        }
        plan = {
            "flows": [flow],
            "zero_ns": zero,
            "duration_s": duration,
            "warmup_s": duration / 3,
            "every_s": None,
            "series": [],
            "packet_bytes": 1500,
        }
        with Process("traffic", plan) as traffic:
            traffic.start()
            report = traffic.finish(duration + 30)["flows"][0]
        emulator.tell("stop")
        used = emulator.finish(10.0)
        fresh = report["received_bytes"] - report["received_at_warmup_bytes"]
        return fresh * 8 / (duration * 2 / 3), used["cpu_s"] / max(used["wall_s"], 1e-9)


def _scenario(rate: str, rtt: str, queue: str) -> str:
    text = (
        f'schema = 1\nname = "check"\nduration = "1000h"\n[packets]\ndata = "1500B"\n[topology]\n'
        f'kind = "dumbbell"\nrate = "{rate}"\nrtt = "{rtt}"\nbuffer = "10MB"\nqueue = "{queue}"\n'
        '[flows.all]\nprotocol = "sack"\n'
    )
    return api.resolve(api.Source("<check>", text)).toml


@contextlib.contextmanager
def _pair(toml: str) -> Iterator[tuple[list[str], Process]]:
    """Two namespaces with an emulated link between them."""
    with interrupts.held(), namespaces.several(["in", "peer"]) as names:
        plan = {
            "scenario": toml,
            "seed": 1,
            "rep": 0,
            "devices": [{"netns": namespaces.path(name), "name": DEVICE} for name in names],
            "groups": [[0, 1]],
            "numbering": "any",
            "endless": True,
        }
        with Process("emulate", plan) as emulator:
            emulator.start()
            emulator.ready()
            for name, sink in zip(names, (False, True), strict=True):
                own, peer = address(0, sink), address(0, not sink)
                commands = device_commands(own, 1500)
                commands.append(f"route add {peer}/32 dev {DEVICE} src {own}")
                window = "4096 33554432 67108864"
                sysctls = {"ipv4/tcp_rmem": window, "ipv4/tcp_wmem": window}
                sysctls["ipv6/conf/all/disable_ipv6"] = "1"
                namespaces.configure(name, commands, sysctls)
            yield names, emulator
