"""clearpipe-bpf as a service: its file, its metrics as Prometheus reads them, and the kill switch
under traffic."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_linux_hosts import SERVER, SERVER_AT, WINDOWS, Pair, narrow, sh

from clearpipe.linux import hosts, namespaces
from clearpipe.linux.engine import DEVICE

LACKS = namespaces.missing()
LACK = hosts.missing()
supported = pytest.mark.skipif(bool(LACKS or LACK), reason=f"exit 5: {LACKS or LACK}")
DASHBOARD = Path(__file__).resolve().parents[2] / "ebpf" / "debian" / "grafana-dashboard.json"

# The packets of a device for some seconds: (time, is it coded?) of each TCP segment.
SNIFF = """
import json, re, socket, sys, time
tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
tap.bind((sys.argv[1], 0))
tap.settimeout(0.05)
end, seen = time.monotonic() + float(sys.argv[2]), []
print("ready", flush=True)
while (now := time.monotonic()) < end:
    try:
        packet = tap.recv(256)
    except TimeoutError:
        continue
    if len(packet) < 40 or packet[0] != 0x45 or packet[9] != 6:
        continue
    options = packet[40 : 20 + (packet[32] >> 4) * 4]
    ours = re.search(rb"\\xfd(\\x08ML|\\x14XC|\\x1cIX)", options)
    if not packet[33] & 2:  # no SYN
        seen.append((now, bool(packet[1] & 3 or packet[33] >> 6 or ours)))
print(json.dumps(seen))
"""


def loader() -> str:
    found = hosts.program()
    if found is None:
        pytest.skip("clearpipe-bpf is missing: make linux")
    return os.fspath(found)


def test_a_wrong_file_is_one_line(tmp_path: Path) -> None:
    """Before anything is asked of the kernel, so without root too."""
    file = tmp_path / "router.toml"
    file.write_text('[links.wan]\ndevice = "eth0"\nqueue = "red"\nrate = "20Mbps"\n', "utf-8")
    for command in ("check", "run"):
        done = subprocess.run(
            [loader(), command, "--config", file], check=False, capture_output=True, text=True
        )
        said = f'clearpipe-bpf: {file}:3: links.wan.queue: unknown router "red"'
        assert done.returncode == 2
        assert done.stderr.startswith(said)
        assert "(allowed: vcp, dpcp, mlcp, xcp, ixcp)" in done.stderr
        assert done.stderr.count("\n") == 1


def test_the_guides_file_is_read_and_its_error_is_that(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/howto/linux-service.md").read_text("utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    file = tmp_path / "router.toml"

    def said(text: str) -> tuple[int, str]:
        file.write_text(text, "utf-8")
        done = subprocess.run(
            [loader(), "check", "--config", file], check=False, capture_output=True, text=True
        )
        return done.returncode, done.stderr

    # What follows the file is the machine: its rights, its kernel, its devices.
    assert said(blocks[0])[0] != 2
    code, message = said(blocks[0].replace("20Mbps", "20mbps"))
    shown = message.replace(os.fspath(file), "/etc/clearpipe/clearpipe-bpf.toml")
    assert code == 2
    assert shown in page


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    """As far as its documentation says: panels have ids, places that do not overlap in 24 columns,
    and queries of a data source that is chosen."""
    board = json.loads(DASHBOARD.read_text("utf-8"))
    assert isinstance(board["schemaVersion"], int)
    assert {"title", "uid", "panels", "templating", "time"} <= board.keys()
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] in {"timeseries", "stat"}
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        taken |= cells
        for target in panel["targets"]:
            assert target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            # What is open is closed.
            for left, right in ("()", "[]", "{}"):
                assert target["expr"].count(left) == target["expr"].count(right)
    names = {variable["name"] for variable in board["templating"]["list"]}
    assert {"datasource", "instance"} <= names


class Service:
    """`clearpipe-bpf run`, and what it says."""

    def __init__(self, file: Path, notify: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(os.fspath(notify))
        self.socket.settimeout(20)
        self.events: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [loader(), "run", "--config", file, "--log-format", "json"],
            env={**os.environ, "NOTIFY_SOCKET": os.fspath(notify)},
            stderr=subprocess.PIPE,
            text=True,
        )
        # What waits for its log reads to the end.
        self.latest = threading.Timer(60, self.process.kill)
        self.latest.start()

    def notified(self) -> str:
        return self.socket.recv(100).decode()

    def until(self, event: str, **about: object) -> dict[str, Any]:
        """Reads its log up to an event."""
        return self.until_all(event, about)

    def until_all(self, event: str, *all_about: dict[str, object]) -> dict[str, Any]:
        """Up to the last of several, in any order; every line is an object."""
        missing = list(all_about)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            said = json.loads(line)
            assert {"time", "level", "event", "message"} <= said.keys()
            self.events.append(said)
            if said["event"] == event:
                missing = [about for about in missing if not about.items() <= said.items()]
            if not missing:
                return dict(said)
        raise AssertionError(f"ended without {event} of {missing}: {self.events}")

    def end(self) -> None:
        self.latest.cancel()
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.socket.close()


def devices(netns: str) -> None:
    sh("ip", "-n", netns, "link", "add", "r0", "type", "veth", "peer", "name", "r1")
    for dev in ("r0", "r1"):
        sh("ip", "-n", netns, "link", "set", dev, "up")


def ours(netns: str) -> dict[str, dict[str, Any]]:
    """What is loaded on the devices of a namespace."""
    return {
        each["name"]: each
        for each in hosts.status()
        if any(device["netns"] == netns for device in each["devices"])
    }


@contextlib.contextmanager
def service(tmp_path: Path, netns: str) -> Iterator[tuple[Service, Path]]:
    file = tmp_path / "router.toml"
    file.write_text(
        f'[links.wan]\ndevice = "r0"\nnetns = "{netns}"\nqueue = "vcp"\nrate = "20Mbps"\n'
        f'owd = "5ms"\n[hosts.mlcp]\ndevices = ["r0", "r1"]\nnetns = "{netns}"\n'
        '[service]\nmetrics = "127.0.0.1:0"\n',
        "utf-8",
    )
    running = Service(file, tmp_path / "notify")
    try:
        yield running, file
    finally:
        running.end()
        subprocess.run([loader(), "unload", "--config", file], check=False)


@supported
def test_the_service_keeps_loaded_what_its_file_names(tmp_path: Path) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    with namespaces.several(["service"]) as (netns,):
        devices(netns)
        with service(tmp_path, netns) as (running, file):
            address = running.until("metrics")["address"]
            assert running.notified() == "READY=1"
            assert ours(netns).keys() == {"vcp-router", "mlcp"}
            sh(
                *("tc", "-n", netns, "qdisc", "add", "dev", "r0", "root"),
                *("tbf", "rate", "20mbit", "burst", "5kb", "limit", "100kb"),
            )
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                text = answer.read().decode()
            samples = {
                (sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in parser.text_string_to_metric_families(text)
                for sample in family.samples
            }
            at = (("dev", "r0"), ("netns", netns), ("router", "vcp"))
            assert samples["clearpipe_router_rate_bits_per_second", at] == 20e6
            assert samples["clearpipe_router_queue_bytes", at] >= 0
            assert samples["clearpipe_off", ()] == 0
            assert samples["clearpipe_host_flows", (("protocol", "mlcp"),)] >= 0
            attached = (("dev", "r1"), ("netns", netns), ("program", "mlcp"))
            assert samples["clearpipe_attached", attached] == 1
            # A device that goes, and comes back.
            sh("ip", "-n", netns, "link", "del", "r0")
            running.until("lost", program="vcp-router")
            devices(netns)
            # Which of them it looks at before the devices are back is chance.
            running.until_all(
                "loaded",
                {"program": "vcp-router", "dev": "r0"},
                {"program": "mlcp", "dev": "r0"},
                {"program": "mlcp", "dev": "r1"},
            )
            assert ours(netns).keys() == {"vcp-router", "mlcp"}
            # What its file no longer names goes; a wrong file changes nothing.
            whole = file.read_text("utf-8")
            file.write_text(whole.replace("20Mbps", "20mbps"), "utf-8")
            running.process.send_signal(signal.SIGHUP)
            assert 'unknown unit "mbps"' in running.until("reload")["message"]
            file.write_text(whole[: whole.index("[hosts")], "utf-8")
            running.process.send_signal(signal.SIGHUP)
            running.until("reload", level="info")
            assert ours(netns).keys() == {"vcp-router"}
            running.process.send_signal(signal.SIGTERM)
            running.until("stopped")
            assert running.process.wait(10) == 0
            told = [running.notified() for _ in range(5)]
            assert told == ["RELOADING=1", "READY=1"] * 2 + ["STOPPING=1"]
            assert ours(netns) == {}


@supported
def test_what_cannot_be_loaded_leaves_nothing_of_the_rest(tmp_path: Path) -> None:
    with namespaces.several(["service"]) as (netns,):
        sh("ip", "-n", netns, "link", "add", "r0", "type", "veth", "peer", "name", "r2")
        with service(tmp_path, netns) as (running, _):
            assert running.process.wait(20) == 1
            assert running.process.stderr is not None
            assert f"no device r1 in netns {netns}" in running.process.stderr.read()
            assert ours(netns) == {}


def switch(how: str) -> float:
    """When it was done."""
    sh(loader(), how)
    return time.monotonic()


def only_ours(protocol: str | None = None) -> None:
    """The kill switch is the whole kernel's, and so is a protocol's name."""
    if others := [each["name"] for each in hosts.status()]:
        pytest.skip(f"others use this kernel: {', '.join(others)}")
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text("ascii")
    if protocol is not None and protocol in available.split():
        pytest.skip(f"{protocol} is registered by others")


def run_switched(pair: Pair, protocol: str) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """A flow of 7 s, off from 2.5 s to 4.5 s: its packets, its windows, and what was seen."""
    router = f"{protocol}-router"
    with contextlib.ExitStack() as stack:

        def begin(netns: str, script: str, *arguments: str) -> subprocess.Popen[str]:
            command = pair.inside(netns, sys.executable, "-c", script, *arguments)
            started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            stack.enter_context(started)
            stack.callback(started.kill)
            return started

        server = begin(pair.right, SERVER, "reno", "0", "0", SERVER_AT[4])
        sniffer = begin(pair.left, SNIFF, DEVICE, "7.5")
        for each in (server, sniffer):
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        client = begin(pair.left, WINDOWS, protocol, "7")
        time.sleep(2.5)
        seen: dict[str, Any] = {"off": switch("off")}
        time.sleep(0.2)
        seen["while off"] = {each["name"]: each for each in hosts.status()}
        time.sleep(1.8)
        seen["still off"] = {each["name"]: each for each in hosts.status()}
        seen["on asked"] = time.monotonic()
        switch("on")
        windows = json.loads(client.communicate(timeout=20)[0])
        packets = json.loads(sniffer.communicate(timeout=20)[0])
        seen["on"] = {each["name"]: each for each in hosts.status()}
    assert seen["on"][router]["off"] is False
    return packets, windows, seen


@supported
@pytest.mark.parametrize(
    "protocol",
    [
        "vcp",
        pytest.param("dpcp", marks=pytest.mark.long),
        pytest.param("mlcp", marks=pytest.mark.long),
        "xcp",
        pytest.param("ixcp", marks=pytest.mark.long),
    ],
)
def test_the_kill_switch_leaves_reno_within_one_round_trip(protocol: str) -> None:
    only_ours(protocol)
    # One BDP of buffer: no round trip takes longer than 80 ms.
    longest = 0.08
    with narrow("20Mbps", "40ms") as pair, contextlib.ExitStack() as stack:
        both = [(pair.left, DEVICE), (pair.right, DEVICE)]
        stack.enter_context(hosts.attached(protocol, both))
        router = f"{protocol}-router"
        hosts.load(router, dev=DEVICE, netns=pair.left, rate_bps=20_000_000)
        stack.callback(hosts.unload, router, dev=DEVICE, netns=pair.left)
        stack.callback(switch, "on")
        packets, windows, seen = run_switched(pair, protocol)
    off, on = seen["off"], seen["on asked"]
    coded_before = [at for at, coded in packets if coded and at < off]
    coded_off = [at - off for at, coded in packets if coded and off < at < on]
    plain_off = [at for at, coded in packets if not coded and off + longest < at < on]
    coded_after = [at for at, coded in packets if coded and at > on]
    last = max(coded_off, default=0.0)
    print(f"{protocol}: last code {1e3 * last:.0f} ms after off; {len(plain_off)} packets without")
    assert len(coded_before) > 200
    assert last < longest
    assert len(plain_off) > 200
    assert len(coded_after) > 200
    # The router touches and counts nothing.
    counts = [seen[when][router]["counters"] for when in ("while off", "still off")]
    assert counts[0] == counts[1]
    assert seen["while off"][router]["off"] is True
    # The sender is Reno: one packet more in a round trip, until packets are lost.
    senders = [seen[when][protocol]["counters"] for when in ("while off", "on")]
    assert (senders[0]["flows"], senders[0]["fallbacks"]) == (1, 1)
    assert senders[1]["returns"] == 1
    while_off = [(at, window) for at, window in windows if off + longest < at < on]
    steps = [later[1] - one[1] for one, later in itertools.pairwise(while_off)]
    rising = next((at for at, step in enumerate(steps) if step < 0), len(steps))
    assert rising >= 3
    assert set(steps[:rising]) == {1}
    times = [at for at, _ in while_off[: rising + 1]]
    assert min(b - a for a, b in itertools.pairwise(times)) > 0.03


@supported
def test_what_is_loaded_while_off_starts_off() -> None:
    only_ours()
    with namespaces.several(["service"]) as (netns,):
        devices(netns)
        switch("off")
        try:
            hosts.load("vcp-router", dev="r0", netns=netns, rate_bps=1_000_000)
            assert ours(netns)["vcp-router"]["off"] is True
            assert "switched off" in sh(loader(), "status").splitlines()[0]
        finally:
            switch("on")
            hosts.unload("vcp-router", dev="r0", netns=netns)
