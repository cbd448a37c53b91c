"""Captures and traces: other tools read them, and they change nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import clearpipe as cp
from clearpipe import examples, recording
from clearpipe.cli import app

QUICK = [
    "duration=3s",
    "warmup=1s",
    "topology.rate=5Mbps",
    "flows.fwd.count=3",
    "flows.rev.count=2",
    "flows.fwd.start=uniform(0s, 0.5s)",
    "flows.rev.start=uniform(0s, 0.5s)",
]
DPCP = ["topology.queue=dpcp", "flows.fwd.protocol=dpcp", "flows.rev.protocol=dpcp"]
CASES = {
    "xcp": ("base-case-xcp", []),
    # A buffer this short loses packets, also those that RED would have marked.
    "sack": ("base-case-sack-red", ["topology.buffer=10pkt", "queues.gentle-red.w_q=0.05"]),
    # A slow link, so that the load has time to become high.
    "vcp": ("base-case-vcp", ["topology.rate=1Mbps", "duration=8s"]),
    "dpcp": ("base-case-vcp", ["topology.rate=1Mbps", "duration=8s", *DPCP]),
}
XCP = str(examples.path("base-case-xcp"))
RUN = ["run", XCP, *(f"--set={key}" for key in QUICK), "--quiet"]

needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (make deps-dev)"
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in an empty directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[cp.Result, Path]]:
    """Each case with all its links."""
    found = {}
    for name, (example, sets) in CASES.items():
        out = tmp_path_factory.mktemp("captured") / name
        path = examples.path(example)
        found[name] = cp.run(path, set=[*QUICK, *sets], out=out, capture="all"), out
    return found


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def tshark(file: Path, *options: str) -> list[str]:
    """The lines that tshark prints, with all checksums verified."""
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    command = ["tshark", "-n", *checks, "-r", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.splitlines()


def fields(file: Path, *names: str, where: str = "", options: tuple[str, ...] = ()) -> list[str]:
    chosen = [part for name in names for part in ("-e", name)]
    return tshark(file, *options, "-Y", where or "frame", "-T", "fields", *chosen)


def departures(result: cp.Result) -> dict[str, int]:
    return {link["name"]: link["total_departures_pkts"] for link in result.summary["links"]}


@needs_tshark
@pytest.mark.parametrize("case", CASES)
def test_tshark_finds_nothing_wrong_and_every_departure(
    case: str, captured: dict[str, tuple[cp.Result, Path]]
) -> None:
    result, out = captured[case]
    for link, packets in departures(result).items():
        file = out / f"{link}.pcapng"
        bad = "_ws.malformed || tcp.checksum.status==0 || ip.checksum.status==0"
        assert tshark(file, "-Y", bad) == []
        # Status 1 is "good"; 2 would be "not checked".
        good = "tcp.checksum.status==1 && ip.checksum.status==1"
        assert len(tshark(file, "-Y", good)) == packets > 0
        last, end = float(fields(file, "frame.time_epoch")[-1]), result.meta["simulated_s"]
        assert end - 0.5 < last <= end


@needs_tshark
def test_losses_show_as_sack_blocks_and_ecn_as_bits(
    captured: dict[str, tuple[cp.Result, Path]],
) -> None:
    result, out = captured["sack"]
    retransmitted = sum(group["retransmitted_pkts"] for group in result.summary["groups"])
    assert retransmitted > 0
    files = [out / f"{link}.pcapng" for link in departures(result)]
    edges = [
        line
        for file in files
        for line in fields(
            file, "tcp.options.sack_le", "tcp.options.sack_re", where="tcp.options.sack"
        )
    ]
    assert edges
    for line in edges:
        left, right = (side.split(",") for side in line.split("\t"))
        # A payload of 960 bytes.
        assert all((int(r) - int(le)) % 960 == 0 for le, r in zip(left, right, strict=True))
    # Segments are whole payloads from the start, and what is lost is seen again.
    numbers = [int(n) for file in files for n in fields(file, "tcp.seq_raw", where="tcp.len > 0")]
    assert numbers
    assert all(number % 960 == 0 for number in numbers)
    again = [
        line
        for file in files
        for line in tshark(
            file,
            "-Y",
            "tcp.analysis.retransmission || tcp.analysis.out_of_order",
        )
    ]
    assert again
    marks = sum(link["total_marks_pkts"] for link in result.summary["links"])
    seen = sum(len(fields(file, "ip.dsfield.ecn", where="ip.dsfield.ecn == 3")) for file in files)
    # Each packet crosses one link, so a mark is seen where it was made, if the packet left it.
    waiting = sum(link["queued_end_pkts"] for link in result.summary["links"])
    assert seen > 0
    assert 0 <= marks - seen <= waiting


@needs_tshark
def test_dpcp_orders_its_numbers_and_a_tie_makes_a_checksum_wrong(
    captured: dict[str, tuple[cp.Result, Path]], tmp_path: Path
) -> None:
    _, out = captured["dpcp"]
    names = ("ip.src", "tcp.seq_raw", "tcp.ack_raw", "ip.dsfield.ecn")
    packets = [
        line.split("\t") for line in fields(out / "bottleneck.pcapng", *names, where="tcp.len > 0")
    ]
    before: dict[str, bool] = {}
    parts = {True: set[str](), False: set[str]()}
    for source, seq, ack, ecn in packets:
        msp = int(seq) > int(ack)
        assert before.get(source) != msp, "the parts alternate"
        before[source] = msp
        parts[msp].add(ecn)
    assert len(before) == 3
    # Low load, and at least one other code.
    assert "1" in parts[True]
    assert len(parts[True] | parts[False]) > 1
    # The receiver's number is that of the data's eleventh packet: one tie there, and one in the ACK
    # that asks for it.
    gap = "flows.{}.protocol={{ kind = 'dpcp', gap = 9600 }}"
    sets = [DPCP[0], *(gap.format(group) for group in ("fwd", "rev"))]
    tied = tmp_path / "tied"
    cp.run(examples.path("base-case-vcp"), set=[*QUICK, *sets], out=tied, capture="all")
    for file in sorted(tied.glob("*.pcapng")):
        assert tshark(file, "-Y", "_ws.malformed || ip.checksum.status==0") == []
    lines = [
        line.split("\t")
        for file in sorted(tied.glob("*.pcapng"))
        for line in fields(
            file, "tcp.seq_raw", "tcp.ack_raw", "tcp.len", where="tcp.checksum.status==0"
        )
    ]
    assert all(abs(int(seq) - int(ack)) == 1 for seq, ack, _ in lines)
    assert sorted(length == "0" for *_, length in lines) == [False] * 5 + [True] * 5


@needs_tshark
def test_headers_alone_are_smaller_and_as_long(tmp_path: Path) -> None:
    names = {}
    for name, headers in (("full", False), ("headers", True)):
        out = tmp_path / name
        cp.run(XCP, set=QUICK, out=out, capture=["bottleneck"], capture_headers=headers)
        names[name] = out / "bottleneck.pcapng"
        assert {path.name for path in out.iterdir() if path.suffix == ".pcapng"} == {
            "bottleneck.pcapng"
        }
    assert fields(names["full"], "frame.len") == fields(names["headers"], "frame.len")
    assert names["headers"].stat().st_size < names["full"].stat().st_size / 3
    assert set(fields(names["headers"], "frame.cap_len", where="tcp.len > 0")) == {"60"}


def has_lua() -> bool:
    if shutil.which("tshark") is None:
        return False
    version = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True)
    return "with Lua" in version.stdout.replace("\n", " ")


needs_lua = pytest.mark.skipif(not has_lua(), reason="no tshark with Lua is installed")


@needs_lua
def test_the_dissector_shows_xcps_header(captured: dict[str, tuple[cp.Result, Path]]) -> None:
    _, out = captured["xcp"]
    script = ("-X", f"lua_script:{recording.DISSECTOR}")
    names = [f"clearpipe.xcp.{name}" for name in ("h_rtt", "h_cwnd", "h_feedback", "largest")]
    lines = fields(out / "bottleneck.pcapng", "tcp.options", *names, options=script)
    assert len(lines) > 1000
    feedbacks = []
    for line in lines:
        options, rtt, cwnd, feedback, largest = line.split("\t")
        raw = bytes.fromhex(options.replace(":", ""))
        # Beside the dissector: kind, length, ExID, and the fields by the paper's units.
        assert raw[:4] == b"\xfd\x14XC"
        assert int(rtt) == int.from_bytes(raw[4:8])
        assert int(cwnd) == int.from_bytes(raw[8:12])
        units = int.from_bytes(raw[12:20], signed=True)
        assert float(feedback) == pytest.approx(units / 65536, rel=1e-5)
        assert bool(largest) == (units == 2**63 - 1)
        if int(rtt):
            # The base RTT is 80 ms, less than a millisecond short of it on the wire's scale.
            assert 79_000 < int(rtt) < 2_000_000
        feedbacks.append(units)
    assert min(feedbacks) < 0 < max(feedbacks)


@needs_lua
def test_the_dissector_shows_vcps_loads_when_asked(
    captured: dict[str, tuple[cp.Result, Path]],
) -> None:
    _, out = captured["vcp"]
    file = out / "bottleneck.pcapng"
    script = ("-X", f"lua_script:{recording.DISSECTOR}")
    asked = (*script, "-o", "clearpipe.vcp:TRUE")
    assert set(fields(file, "clearpipe.vcp.load", options=script)) == {""}
    pairs = fields(file, "ip.dsfield.ecn", "clearpipe.vcp.load", where="tcp.len > 0", options=asked)
    assert {tuple(pair.split("\t")) for pair in pairs} >= {("1", "1"), ("2", "2")}
    assert all(len(set(pair.split("\t"))) == 1 for pair in pairs)
    shown = "\n".join(tshark(file, *asked, "-Y", "clearpipe.vcp.load == 2"))
    assert "[VCP high load]" in shown


def test_what_is_written_changes_neither_result_nor_identity(tmp_path: Path) -> None:
    plain = cp.run(XCP, set=QUICK)
    out = tmp_path / "run"
    written = cp.run(XCP, set=QUICK, out=out, capture="all", trace=True)
    assert (written.fingerprint, written.meta["identity"]) == (
        plain.fingerprint,
        plain.meta["identity"],
    )
    assert written.summary == plain.summary
    assert cp.load(out).summary == plain.summary
    described = recording.recorded(out)
    assert described is not None
    assert described["packets"] == {
        f"{link}.pcapng": packets for link, packets in departures(plain).items()
    }
    assert described["trace_bytes"] == (out / "trace.pftrace").stat().st_size
    assert described["trace_stopped_s"] is None


def test_a_trace_that_reaches_its_limit_says_so(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = cp.run(XCP, set=QUICK, out=out, trace=True, trace_limit="50kB")
    (said,) = (text for text in result.warnings if "trace.pftrace" in text)
    assert "0.05 MB" in said
    assert "capture_from" in said
    assert 49_000 < (out / "trace.pftrace").stat().st_size <= 50_000
    described = recording.recorded(out)
    assert described is not None
    assert 0 < described["trace_stopped_s"] < 3
    assert cp.load(out).complete


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"capture": ["botleneck"]}, 'did you mean "bottleneck"?'),
        ({"capture": "all", "capture_from": "3s"}, "the run ends at 3s"),
        ({"trace": True, "capture_from": "2s", "capture_to": "1s"}, "not after capture_from = 2s"),
        ({"trace": True, "capture_to": "soon"}, "capture_to"),
        ({"trace": True, "trace_limit": "200"}, "no unit"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is(
    tmp_path: Path, keywords: dict[str, Any], said: str
) -> None:
    with pytest.raises(cp.ConfigError, match=r"base-case-xcp") as caught:
        cp.run(XCP, set=QUICK, out=tmp_path / "a" / "run", **keywords)
    assert said in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_captures_need_a_directory() -> None:
    with pytest.raises(cp.ConfigError, match="capture: needs out"):
        cp.run(XCP, set=QUICK, capture="all")
    with pytest.raises(cp.ConfigError, match="trace: needs out"):
        cp.run(XCP, set=QUICK, trace=True)


def test_a_stopped_run_keeps_what_it_has(tmp_path: Path, endless: str) -> None:
    out = tmp_path / "run"
    result = cp.run(
        endless,
        out=out,
        capture="all",
        trace=True,
        trace_limit="1MB",
        capture_headers=True,
        capture_to="5s",
        progress=lambda _: False,
    )
    assert not result.complete
    assert cp.load(out).meta["state"] == "partial"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert {"trace.pftrace", "bottleneck.pcapng"} <= {path.name for path in out.iterdir()}


def test_a_full_disk_fails_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    script = (
        "import resource, signal, sys, clearpipe as cp\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "from clearpipe.cli import main\n"
        "sys.argv[0] = 'clearpipe'\n"
        "main()\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    done = subprocess.run(
        [sys.executable, "-c", script, *RUN, "--out", "run", "--capture", "all"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert ".pcapng: File too large" in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_the_command_line_writes_each_replications_files() -> None:
    done = invoke(*RUN, "--reps", "2", "--capture", "bottleneck", "--trace", "--out", "runs")
    assert done.exit_code == 0, done.output
    for rep in (0, 1):
        out = Path("runs") / f"seed1-rep{rep}"
        names = {path.name for path in out.iterdir()}
        assert {"bottleneck.pcapng", "trace.pftrace", "recorded.json", "meta.json"} <= names
    first, second = (
        (Path("runs") / f"seed1-rep{rep}" / "bottleneck.pcapng").read_bytes() for rep in (0, 1)
    )
    assert first != second
    assert invoke(*RUN, "--capture", "bottleneck", "--out", "one").exit_code == 0
    assert (Path("one") / "bottleneck.pcapng").read_bytes() == first


def test_a_stored_result_counts_only_with_what_is_asked_for() -> None:
    ask = [*RUN, "--out", "run"]
    assert invoke(*ask, "--capture", "bottleneck").exit_code == 0
    written = Path("run/meta.json").stat().st_mtime_ns
    assert invoke(*ask, "--capture", "bottleneck").exit_code == 0
    assert invoke(*ask).exit_code == 0
    assert Path("run/meta.json").stat().st_mtime_ns == written
    other = invoke(*ask, "--capture", "bottleneck", "--capture-to", "2s")
    assert other.exit_code == 1
    assert "--force" in other.stderr
    assert invoke(*ask, "--capture", "bottleneck", "--capture-to", "2s", "--force").exit_code == 0
    described = json.loads(Path("run/recorded.json").read_text())
    assert described["wanted"]["to_s"] == 2.0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--capture", "botleneck"], 3, 'did you mean "bottleneck"?'),
        (["--capture", "all", "--json"], 2, "--out"),
        (["--trace", "--json"], 2, "--out"),
        (["--capture-headers"], 2, "--capture"),
        (["--capture-from", "1s"], 2, "--trace"),
        (["--trace-limit", "1MB"], 2, "--trace"),
        (["--trace", "--capture-from", "1"], 3, "no unit"),
        (["--trace", "--trace-limit", "much"], 3, "trace_limit"),
    ],
)
def test_exit_codes(options: list[str], code: int, said: str) -> None:
    done = invoke(*RUN, *options)
    assert done.exit_code == code, done.output
    assert said in done.stderr
    assert not list(Path.cwd().iterdir())
