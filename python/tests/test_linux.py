"""The linux engine and the shell, on this machine's kernel; skipped where it lacks something."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import _core, api, doctor, interrupts
from clearpipe.cli import app
from clearpipe.errors import ConfigError, RunError, UnsupportedError
from clearpipe.exits import Terminated
from clearpipe.linux import engine, hosts, namespaces, preflight, shell
from clearpipe.linux.process import Process

LACKS = namespaces.missing()
needs_linux = pytest.mark.skipif(bool(LACKS), reason=f"exit 5: {'; '.join(LACKS)}")

SCENARIO = """
schema = 1
name = "small"
duration = "6s"
warmup = "3s"
[packets]
data = "1500B"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "1bdp"
queue = "droptail"
[flows.all]
protocol = "sack"
count = 2
[probe]
series = ["cwnd", "srtt", "goodput", "rate", "queue", "utilization", "drops"]
every = "100ms"
"""

REST = ("vcp", "mlcp", "ixcp")
"""The other end hosts in eBPF."""
EXAMPLES = Path(cp.__file__).parent / "examples"
MAIN = [sys.executable, "-c", "from clearpipe.cli import main; main()"]
SHELL = [*MAIN, "linux", "shell", "--rate", "20Mbps", "--rtt", "40ms"]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line as a process."""
    return subprocess.run(
        [*MAIN, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def ours() -> list[str]:
    """Namespaces that this process or a child of it has made."""
    return [path.name for path in namespaces.FOLDER.glob("clearpipe-*")]


def left_of(pid: int) -> list[str]:
    """What a process has left: namespaces, and directories for temporary files."""
    folders = Path(tempfile.gettempdir()).glob(f"clearpipe-{pid}-*")
    names = [name for name in ours() if name.startswith(f"clearpipe-{pid}-")]
    return [*names, *(str(folder) for folder in folders)]


def ended(pid: int) -> bool:
    """Has a process gone, or is it waiting for its parent only?"""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@needs_linux
def test_a_run_has_the_tables_of_every_engine(tmp_path: Path) -> None:
    out = tmp_path / "linux"
    seen: list[float] = []
    result = cp.run(
        SCENARIO,
        engine="linux",
        out=out,
        progress=lambda p: seen.append(p[0]),
        capture="bottleneck",
        capture_headers=True,
    )
    packet = cp.run(SCENARIO, out=tmp_path / "packet")
    for table in ("flows", "links", "groups"):
        ours, theirs = getattr(result, table), getattr(packet, table)
        assert ours.column_names == theirs.column_names
    assert set(result.series_names) == set(packet.series_names)
    assert result.meta["engine"] == "linux"
    assert result.meta["state"] == "done"
    assert seen == sorted(seen)
    assert seen[-1] > 4
    link = result.summary["links"][0]
    # Two Reno flows and a buffer of one BDP: the line is hardly ever idle after slow start.
    assert link["utilization_ratio"] > 0.9
    assert link["departures_bytes"] * 8 / 3.0 <= 10e6 * 1.001
    group = result.summary["groups"][0]
    assert group["total_goodput_bps"] == pytest.approx(
        link["utilization_ratio"] * link["rate_bps"], rel=0.05
    )
    # The smoothed RTT lies between the propagation delay and that with a full buffer.
    assert all(0.040 <= srtt <= 0.085 for srtt in result.flows["srtt_s"])
    names = ("sent_pkts", "arrived_pkts", "dropped_pkts", "in_flight_pkts")
    for sent, arrived, dropped, under_way in zip(
        *(result.flows[name] for name in names), strict=True
    ):
        assert sent == arrived + dropped + under_way
    assert cp.load(out).meta["identity"] == result.meta["identity"]
    told = json.loads((out / "recorded.json").read_text(encoding="utf-8"))
    assert told["packets"] == {"bottleneck.pcapng": link["total_departures_pkts"]}
    assert (out / "bottleneck.pcapng").stat().st_size >= 72 * link["total_departures_pkts"]
    done = command("compare", str(tmp_path / "packet"), str(out), "--json")
    assert done.returncode == 0, done.stderr
    assert any(row["column"] == "utilization_ratio" for row in json.loads(done.stdout)["rows"])


@needs_linux
@pytest.mark.parametrize(
    "protocol", ["dpcp", "xcp", *(pytest.param(p, marks=pytest.mark.long) for p in REST)]
)
def test_a_run_over_ipv6(protocol: str) -> None:
    if lack := hosts.missing():
        pytest.skip(lack)
    text = f"""
schema = 1
name = "six"
duration = "4s"
warmup = "2s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "1bdp"
queue = "{protocol}"
[transport]
initial_window = "10pkt"
[flows.all]
protocol = "{protocol}"
count = 2
[linux]
ip = 6
"""
    result, packet = cp.run(text, engine="linux"), cp.run(text)
    link, theirs = (one.summary["links"][0] for one in (result, packet))
    # Without the protocol's signals both flows are Reno and fill the buffer.
    assert link["utilization_ratio"] == pytest.approx(theirs["utilization_ratio"], abs=0.05)
    assert link["queue_mean_ratio"] == pytest.approx(theirs["queue_mean_ratio"], abs=0.1)
    assert link["drops_pkts"] == 0
    # All data packets are full, of the 1000 bytes that `packets.data` is by default.
    assert link["departures_bytes"] / link["departures_pkts"] == pytest.approx(1000, rel=0.001)
    assert result.meta["parts"]["ip"] == "6"
    assert any(told.startswith("IPv6: ") for told in result.meta["warnings"])


def test_the_version_of_ip_is_the_linux_engines_alone() -> None:
    """Runs of other engines have the name they had, and a linux run of IPv4, too."""
    six = f"{SCENARIO}[linux]\nip = 6\n"
    for engine_name in ("packet", "linux"):
        names = [
            _core.identities("s", text, [], seed=1, reps=[0], engine=engine_name)[0]
            for text in (SCENARIO, f"{SCENARIO}[linux]\nip = 4\n", six)
        ]
        assert names[0] == names[1]
        assert (names[0] == names[2]) == (engine_name == "packet")
    assert "[linux]" not in cp.resolve(SCENARIO).toml
    assert "[linux]\nip = 6\n" in cp.resolve(six).toml
    with pytest.raises(ConfigError, match=r"linux\.ip.*4 or 6"):
        cp.resolve(six.replace("ip = 6", "ip = 5"))
    small = six.replace("1500B", "140B")
    with pytest.raises(ConfigError, match="148 to 65535 bytes over IPv6"):
        cp.resolve(small, engine="linux")
    cp.resolve(small.replace("ip = 6", "ip = 4"), engine="linux")


@needs_linux
def test_a_run_is_over_with_its_last_flow() -> None:
    text = SCENARIO.replace('duration = "6s"', 'duration = "60s"').replace("3s", "0s", 1)
    result = cp.run(text.replace("count = 2", 'count = 2\nsize = "300kB"'), engine="linux")
    assert result.meta["state"] == "done"
    assert all(result.flows["fct_s"])
    assert max(result.flows["finish_s"]) <= result.meta["simulated_s"] < 20


@needs_linux
@pytest.mark.parametrize(
    "protocol",
    [
        '{ kind = "vcp", recovery = "decoupled" }',
        '{ kind = "dpcp", recovery = "decoupled", decoupled_loss = true }',
    ],
)
def test_losses_move_no_window_of_decoupled_end_hosts(protocol: str) -> None:
    if lack := hosts.missing():
        pytest.skip(lack)
    kind = protocol.split('"')[1]
    text = f"""
schema = 1
name = "lossy"
duration = "60s"
[topology]
kind = "dumbbell"
rate = "4Mbps"
rtt = "100ms"
buffer = "1bdp"
queue = "{kind}"
loss = {{ kind = "random", p = "20%", data_only = true }}
[transport]
initial_window = "10pkt"
[flows.all]
protocol = {protocol}
count = 2
size = "300kB"
"""
    result = cp.run(text, engine="linux")
    # 600 kB are 1.2 s of the link and 1.5 with what is sent again; windows that were halved for
    # every fifth packet would be of two packets, and take half a minute.
    assert all(time is not None and time < 15 for time in result.flows["fct_s"])
    assert sum(result.flows["retransmitted_pkts"]) > 60


@needs_linux
def test_sizes_chains_and_both_directions() -> None:
    """Two links in a row, a flow back over others, transfers that end."""
    text = """
schema = 1
name = "chain"
duration = "5s"
warmup = "1s"
[packets]
data = "1500B"
[links.ab]
from = "a"
to = "b"
rate = "20Mbps"
owd = "10ms"
buffer = "100pkt"
queue = "droptail"
[links.bc]
from = "b"
to = "c"
rate = "10Mbps"
owd = "10ms"
buffer = "100pkt"
queue = "droptail"
[links.cb]
from = "c"
to = "b"
rate = "20Mbps"
owd = "10ms"
buffer = "100pkt"
queue = "droptail"
[links.ba]
from = "b"
to = "a"
rate = "20Mbps"
owd = "10ms"
buffer = "100pkt"
queue = "droptail"
[flows.long]
protocol = "sack"
path = ["ab", "bc"]
reverse_path = ["cb", "ba"]
[flows.short]
protocol = "cubic"
path = ["cb"]
reverse_path = ["bc"]
count = 2
size = "150kB"
start = "every(1s, 1s)"
"""
    result = cp.run(text, engine="linux")
    rows = {row["name"]: row for row in result.summary["links"]}
    assert rows["bc"]["utilization_ratio"] > 0.8
    long, short = result.summary["groups"]
    assert long["finished_flows"] == 0
    assert short["finished_flows"] == 2
    # As many full packets on the wire: the last is not full, and headers are 40 of 1500 bytes.
    delivered = list(result.flows["delivered_bytes"])[1:]
    assert delivered == pytest.approx([150_000, 150_000], rel=0.01)
    # At 20 Mb/s 150 kB take 60 ms, and slow start from one packet needs seven round trips. ACKs
    # wait behind up to 100 packets of the long flow, 120 ms. An answer to a SYN that is dropped
    # there comes a second later, or three: so it is if the flow starts 12 ms earlier.
    flows = result.flows
    for fct, dropped in list(zip(flows["fct_s"], flows["acks_dropped_pkts"], strict=True))[1:]:
        assert 0.06 < fct < (1.5 if dropped == 0 else 4.5)


def test_what_the_engine_cannot_do_is_told_with_its_keys() -> None:
    text = SCENARIO.replace('"sack"', '{ kind = "cubic", c = 0.5 }').replace(
        'every = "100ms"', 'every = "change"'
    )
    text = text.replace('"goodput", "rate", "queue", "utilization", ', '"sender", "queue", ')
    with pytest.raises(ConfigError) as caught:
        cp.run(text, engine="linux")
    told = str(caught.value)
    for key in ("probe.every", "probe.series: sender", "flows.all.protocol", "no parameters: c"):
        assert key in told
    assert caught.value.exit_code == 3
    with pytest.raises(ConfigError, match="udp: no kernel has it"):
        cp.resolve(
            SCENARIO.replace('protocol = "sack"', 'protocol = "udp"\nrate = "1Mbps"'),
            engine="linux",
        )


def test_a_prototype_is_exit_3() -> None:
    done = command("run", str(EXAMPLES / "prototype.toml"), "--engine", "linux")
    assert done.returncode == 3, done.stderr
    assert "flows.mine.protocol: prototypes are simulated only" in done.stderr
    assert "panic" not in done.stderr


def test_sweeps_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = SCENARIO + '[sweep]\nreps = 2\naxes = { "topology.rate" = ["5Mbps", "10Mbps"] }\n'
    file.write_text(text, encoding="utf-8")
    done = command("sweep", "run", str(file), "--engine", "linux")
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize(
    ("lacks", "told"),
    [("ip", "the program ip"), ("nsenter", "the program nsenter")],
)
def test_what_lacks_is_exit_5(lacks: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == lacks else which(name))
    with pytest.raises(UnsupportedError, match=told) as caught:
        cp.run(SCENARIO, engine="linux")
    assert caught.value.exit_code == 5


def test_without_privileges_it_is_exit_5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_capable", lambda: False)
    with pytest.raises(UnsupportedError, match="CAP_SYS_ADMIN and CAP_NET_ADMIN"):
        cp.run(SCENARIO, engine="linux")


@needs_linux
def test_in_a_user_namespace_what_is_missing_is_named(tmp_path: Path) -> None:
    unshare = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.replace("sack", "cubic"), encoding="utf-8")
    done = subprocess.run(
        [*unshare, *MAIN, "run", str(file), "--engine", "linux"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert "privileges over the mount and network namespace" in done.stderr
    assert "CONFIG" not in done.stderr


def test_a_congestion_control_that_only_others_may_use_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Probe(socket.socket):
        def setsockopt(self, *_: object) -> None:
            raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(socket, "socket", Probe)
    assert engine._has_congestion_control("cubic")


def test_a_congestion_control_that_the_kernel_lacks_is_named() -> None:
    about = {"groups": [{"kernel": "nosuch", "explicit": False}]}
    with pytest.raises(UnsupportedError, match="CONFIG_TCP_CONG_NOSUCH"):
        engine.check(about)


@needs_linux
def test_the_shell_has_the_commands_exit_code() -> None:
    for code in (0, 7):
        done = subprocess.run([*SHELL, "--", "sh", "-c", f"exit {code}"], check=False, timeout=60)
        assert done.returncode == code
    done = subprocess.run([*SHELL, "--", "sh", "-c", "kill -9 $$"], check=False, timeout=60)
    assert done.returncode == 128 + signal.SIGKILL
    assert command("linux", "shell", "--rate", "1Mbps", "--rtt", "1s", "nosuch").returncode == 127


@needs_linux
def test_the_shell_runs_behind_the_link(tmp_path: Path) -> None:
    """One byte to a server and back takes a handshake's RTT and another one, and little more."""
    server = (
        "import socket; s = socket.create_server(('10.77.0.2', 8000)); c = s.accept()[0]; "
        "c.sendall(c.recv(1))"
    )
    client = (
        "import socket, time, sys; t = time.monotonic(); "
        "s = socket.create_connection(('10.77.0.2', 8000)); s.sendall(b'x'); s.recv(1); "
        "print(time.monotonic() - t); print(sys.stdin.read())"
    )
    report = tmp_path / "report.json"
    capture = tmp_path / "there.pcapng"
    done = subprocess.run(
        [
            *(*SHELL, "--rtt", "200ms", "--queue", "vcp", "--report", str(report)),
            *("--capture", str(capture), "--server", f'{sys.executable} -c "{server}"'),
            *("--", sys.executable, "-c", client),
        ],
        input="through",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    took, read = done.stdout.split()
    assert 0.4 <= float(took) < 0.5
    assert read == "through"
    counted = json.loads(report.read_text(encoding="utf-8"))
    assert counted["network"]["links"][0]["queue"] == "vcp"
    assert counted["network"]["captured"][0][1] >= 3
    assert capture.stat().st_size > 300


# Sends to a server, then receives from it: both in seconds of the sender.
BOTH_WAYS = """
import os, socket, sys, time


def read(peer):
    while peer.recv(1 << 16):
        pass


host, sent = os.environ[sys.argv[1]], bytes(400_000)
if sys.argv[2] == "serve":
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 8000), family=family) as server:
        peer = server.accept()[0]
        read(peer)
        peer.sendall(sent)
else:
    with socket.create_connection((host, 8000)) as peer:
        began = time.monotonic()
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)
        peer.recv(1)
        there = time.monotonic()
        read(peer)
        print(there - began, time.monotonic() - there)
"""


@needs_linux
@pytest.mark.parametrize("version", ["", "6"])
def test_each_way_has_its_own_rate(version: str, tmp_path: Path) -> None:
    """400 kB take 0.8 s at 4 Mb/s, and 0.16 s at the trace's packet per 0.6 ms; IPv4 and IPv6."""
    program, trace = tmp_path / "both.py", tmp_path / "down.trace"
    program.write_text(BOTH_WAYS, encoding="utf-8")
    trace.write_text("".join(f"{(n * 3 + 4) // 5}\n" for n in range(1, 501)), encoding="ascii")
    done = subprocess.run(
        [
            *(*MAIN, "linux", "shell", "--rtt", "20ms", "--up", "4Mbps", "--down", str(trace)),
            *("--up-buffer", "50pkt", "--down-buffer", "300pkt"),
            *("--report", str(tmp_path / "report.json")),
            *("--server", f"{sys.executable} {program} CLEARPIPE_PEER{version} serve"),
            *("--", sys.executable, str(program), f"CLEARPIPE_PEER{version}", "ask"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    up_s, down_s = map(float, done.stdout.split())
    assert 0.8 < up_s < 2.0
    assert 0.1 < down_s < 0.6
    links = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["network"]["links"]
    assert [link["name"] for link in links] == ["up", "down"]
    assert [link["buffer_bytes"] for link in links] == [75_000, 450_000]
    # 400 kB in packets of 1500 bytes: 274 or more.
    assert all(link["departures_pkts"] > 270 for link in links)
    assert "us late at the median" in done.stderr


def test_a_way_without_a_rate_is_exit_3() -> None:
    with pytest.raises(ConfigError, match="--down or --rate: the link needs a rate each way"):
        shell.scenario(shell.Link(None, "20ms", up="4Mbps"))
    with pytest.raises(ConfigError, match="--rtt: 'soon' is not a time"):
        shell.scenario(shell.Link("4Mbps", "soon"))


@needs_linux
def test_the_command_has_the_terminal() -> None:
    """Behind a pseudo-terminal the command sees one, at both ends."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(
            SHELL[0], [*SHELL, "--", "sh", "-c", "test -t 0 && test -t 1 && echo here; exit 3"]
        )
    told = b""
    with contextlib.suppress(OSError):  # what reading says when the other end is closed
        while part := os.read(terminal, 1024):
            told += part
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert b"here" in told


@needs_linux
def test_a_terminal_that_goes_away_leaves_nothing() -> None:
    # Whoever runs the tests may ignore it, as nohup does, and what is started inherits that.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = subprocess.Popen([*SHELL, "--", "sleep", "60"])
    signal.signal(signal.SIGHUP, before)
    time.sleep(2.0)
    process.send_signal(signal.SIGHUP)
    assert process.wait(20) == 143
    assert left_of(process.pid) == []


@needs_linux
def test_a_link_that_is_not_valid_is_exit_3() -> None:
    done = subprocess.run(
        [*SHELL, "--queue", "vcq", "--", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert 'did you mean "vcp"' in done.stderr


def test_loss_of_the_shells_link() -> None:
    text = shell.scenario(shell.Link("1Mbps", "1s", loss=0.01))
    assert 'p = "1%"' in api.resolve(api.Source("<command line>", text)).toml
    assert "loss" not in shell.scenario(shell.Link("1Mbps", "1s"))


@needs_linux
def test_nothing_is_left_after_the_end() -> None:
    process = subprocess.Popen([*SHELL, "--", "true"])
    assert process.wait(60) == 0
    assert left_of(process.pid) == []


@needs_linux
@pytest.mark.parametrize("delay", [0.35, 0.8, 1.5])
def test_kill_leaves_what_cleanup_removes(delay: float, tmp_path: Path) -> None:
    """Killed while it sets up, while it runs: then cleanup removes it, and nobody else's."""
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}; exec sleep 60"
    other = namespaces.add("test")
    try:
        killed = subprocess.Popen([*SHELL, "--server", "sleep 60", "--", "sh", "-c", script])
        time.sleep(delay)
        killed.kill()
        killed.wait()
        done = command("linux", "cleanup")
        assert done.returncode == 0, done.stderr
        assert left_of(killed.pid) == []
        assert other in ours()
        if pid_file.exists():
            assert ended(int(pid_file.read_text(encoding="ascii")))
    finally:
        namespaces.remove(other)


def test_a_process_that_has_ended_by_itself_can_be_told_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "{}" > "$3"\n', encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("CLEARPIPE_EMULATOR", str(program))
    with Process("emulate", {}) as process:
        process.start()
        assert process.process is not None
        process.process.wait(20)
        assert process.ended()
        with pytest.raises(RunError, match="has ended"):
            process.tell("stop")
        # The line is still in the pipe's buffer, and nobody will read it.
        assert process.finish(1.0) == {}


def test_flows_that_end_between_two_looks_have_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending:
        """Runs when it is first looked at, and has done its work when it is again."""

        def __init__(self) -> None:
            self.codes: list[int | None] = [None, 0]

        def poll(self) -> int | None:
            return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

    emulator, traffic = Process("emulate", {}), Process("traffic", {})
    with emulator, traffic, monkeypatch.context() as patched:
        for process in (emulator, traffic):
            patched.setattr(process, "process", Ending())
        zero = time.monotonic_ns()
        assert engine._watch({"duration_s": 5.0}, zero, (emulator, traffic), None)
        assert time.monotonic_ns() - zero < 4e9


def test_signals_are_held_until_all_is_removed() -> None:
    """The first counts, is raised once and at the end at the latest, and the handlers are back."""
    # Whoever starts the tests in the background of a shell has them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    done = []

    def make_and_remove() -> None:
        with interrupts.held():
            interrupts.check()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                os.kill(os.getpid(), number)
            with interrupts.held():
                done.append("inner")
            with pytest.raises(Terminated):
                interrupts.check()
            done.append("removed")

    def fail_because_of_it() -> None:
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGINT)
            raise RunError("a child had Ctrl-C, too")

    with pytest.raises(Terminated):
        make_and_remove()
    assert done == ["inner", "removed"]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    interrupts.check()
    with interrupts.held(), interrupts.spared(signal.SIGINT):
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fail_because_of_it()


def test_how_a_process_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -9 $$\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("CLEARPIPE_EMULATOR", str(program))
    with Process("emulate", {}) as process:
        process.start()
        with pytest.raises(RunError, match=r"killed by signal 9 \(SIGKILL\)"):
            process.finish(20.0)
        assert process.errors() == "it was killed by signal 9 (SIGKILL)"
    assert namespaces.ended(3) == "it ended with exit code 3"


@needs_linux
def test_a_killed_emulator_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    run = subprocess.Popen(
        [*MAIN, "run", str(file), "--engine", "linux", "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
    )
    emulator = None
    until = time.monotonic() + 20
    while emulator is None and time.monotonic() < until:
        time.sleep(0.1)
        children = Path(f"/proc/{run.pid}/task").glob("*/children")
        for pid in " ".join(c.read_text(encoding="ascii") for c in children).split():
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            emulator = int(pid) if b"emulate" in line else emulator
    assert emulator is not None
    time.sleep(1.0)
    os.kill(emulator, signal.SIGKILL)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1, errors
    assert "the emulator process has ended: it was killed by signal 9 (SIGKILL)" in errors
    assert left_of(run.pid) == []
    assert not (tmp_path / "out").exists()


@needs_linux
def test_a_run_can_be_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.replace("6s", "60s"), encoding="utf-8")
    run = subprocess.Popen([*MAIN, "run", str(file), "--engine", "linux"], cwd=tmp_path)
    time.sleep(3.0)
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 130
    assert left_of(run.pid) == []


@needs_linux
def test_a_run_that_is_stopped_early_is_partial() -> None:
    began = time.monotonic()
    result = cp.run(SCENARIO, engine="linux", progress=lambda now: now.simulated_s < 4.0)
    assert time.monotonic() - began < 20
    assert result.meta["state"] == "partial"
    assert 3.9 <= result.meta["simulated_s"] < 5.5


@needs_linux
def test_delays_are_exact() -> None:
    error = preflight.delay_error()
    assert error["missing"] == 0
    # Wanted are 0.2 ms under SCHED_FIFO; a test must also pass where that is not granted.
    assert error["error"]["p50_s"] < 1e-3


def test_doctor_tells_of_the_engine() -> None:
    names = {check.name for check in doctor.checks()}
    assert {"linux", "ip", "tcp", "realtime", "timer"} <= names


def test_names_of_living_owners_are_not_stale() -> None:
    assert not namespaces.is_abandoned(f"{namespaces.owner()}-s0")
    assert namespaces.is_abandoned(f"clearpipe-{os.getpid()}-1-s0")
    assert namespaces.is_abandoned("clearpipe-4194305-1")
    # Of another PID namespace nobody here knows.
    assert not namespaces.is_abandoned("clearpipe-4194305-1p7-s0")
    assert not namespaces.is_abandoned("clearpipe-x-1-s0")
    assert not namespaces.is_abandoned("somebody-4194305-1")


def test_cleanup_goes_on_after_what_it_cannot_remove(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stuck, gone = (tmp_path / f"clearpipe-4194305-{number}-x" for number in (1, 2))
    for folder in (stuck, gone):
        folder.mkdir()
    rmtree = shutil.rmtree

    def refuse(folder: Path) -> None:
        if folder == stuck:
            raise PermissionError("not permitted")
        rmtree(folder)

    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(namespaces, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(shutil, "rmtree", refuse)
    monkeypatch.setattr(hosts, "cleanup", lambda: (["vcp on v0"], ["xcp: busy"]))
    done = CliRunner().invoke(app, ["linux", "cleanup"])
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [f"directory {gone}", "vcp on v0"]
    assert f"directory {stuck}: not permitted; xcp: busy" in done.stderr
    assert stuck.exists()
    assert not gone.exists()


def test_explicit_hosts_that_are_missing_are_known_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(namespaces, "missing", list)
    monkeypatch.setattr(hosts, "missing", lambda: "the kernel has no BTF")
    about = {"groups": [{"explicit": True, "kernel": None}]}
    with pytest.raises(UnsupportedError, match="lacks: the kernel has no BTF"):
        engine.check(about)


@pytest.mark.skipif(sys.platform != "linux", reason="the emulator's programs need Linux")
@pytest.mark.parametrize("what", ["emulate", "traffic", "probe"])
def test_a_program_whose_parent_has_gone_does_not_start(what: str, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "clearpipe.linux.process", what]
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    done = subprocess.run(
        [*program, str(tmp_path / "plan.json"), str(tmp_path / "report.json")],
        env={**os.environ, "CLEARPIPE_PARENT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "has ended" in done.stderr


def test_help_says_where_the_other_end_is() -> None:
    text = CliRunner().invoke(app, ["linux", "shell", "--help"]).output
    assert "10.77.0.2" in text


def test_engine_names() -> None:
    with pytest.raises(ConfigError, match="packet, fluid and linux"):
        api.check_engine("ns4")


SPACED = """
schema = 1
name = "spaced"
duration = "4s"
warmup = "1s"
[packets]
data = "1000B"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "400ms"
buffer = "1bdp"
queue = "vcp"
[transport]
initial_window = "10pkt"
[flows.all]
protocol = { kind = "vcp", pacing = PACING }
[probe]
series = ["utilization"]
every = "50ms"
"""


@pytest.mark.parametrize(("pacing", "percent"), [("0.0", "0"), ("1.15", "115")])
def test_the_kernel_is_told_the_files_pacing(
    pacing: str, percent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = api.Source("s.toml", SPACED.replace("PACING", pacing))
    about = engine.describe(source, (), None)
    told: list[dict[str, str]] = []
    monkeypatch.setattr(namespaces, "configure", lambda _name, _, sysctls: told.append(sysctls))
    engine._configure(about, about["groups"][0], 0, ("left", "right"))
    for sysctls in told:
        assert sysctls["ipv4/tcp_pacing_ca_ratio"] == percent
        assert sysctls["ipv4/tcp_pacing_ss_ratio"] == percent
    assert len(told) == 2
    with pytest.raises(ConfigError, match="whole per cent"):
        engine.describe(api.Source("s.toml", SPACED.replace("PACING", "1.125")), (), None)


@needs_linux
@pytest.mark.skipif(hosts.missing() is not None, reason="no end hosts in eBPF")
@pytest.mark.parametrize(
    ("of", "recovery"), [("packet", "sack"), ("linux", "sack"), ("linux", "decoupled")]
)
def test_both_engines_space_what_the_file_says(
    of: Literal["packet", "linux"], recovery: str
) -> None:
    def idle(pacing: str) -> float:
        text = SPACED.replace("PACING", f'{pacing}, recovery = "{recovery}"')
        result = cp.run(text, engine=of)
        table = result.series("utilization_ratio")
        rows = zip(table["t_s"], table["link"], table["utilization_ratio"], strict=True)
        used: list[float] = [value for at, link, value in rows if at > 1.0 and link == 0]
        return used.count(0.0) / len(used)

    # The window has 10 to 40 packets: at once they take 8 to 32 of 400 ms, spaced there is one in
    # every 50 ms.
    assert idle("0.0") > 0.5
    assert idle("1.0") < 0.1


@needs_linux
@pytest.mark.skipif(hosts.missing() is not None, reason="no end hosts in eBPF")
def test_both_engines_space_few_packets_of_a_large_rtt() -> None:
    text = SPACED.replace('"400ms"', '"900ms"').replace('"10pkt"', '"6pkt"')

    def idle(of: Literal["packet", "linux"], more: str) -> float:
        result = cp.run(text.replace("PACING", more), engine=of)
        table = result.series("utilization_ratio")
        rows = zip(table["t_s"], table["link"], table["utilization_ratio"], strict=True)
        used: list[float] = [value for at, link, value in rows if at > 2.0 and link == 0]
        return used.count(0.0) / len(used)

    # Of 18 samples of 50 ms six packets at once are in one or two, in gaps of 900/8 ms in six.
    assert idle("packet", "0.0, pace_large_rtt = false") > 0.85
    assert idle("packet", "0.0") < 0.7
    assert idle("linux", "0.0") < 0.7
