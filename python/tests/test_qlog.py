"""Logs of flows: valid qlog, with the run's own numbers, and asked for as captures are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from typer.testing import CliRunner, Result

import clearpipe as cp
from clearpipe import examples, recording
from clearpipe.cli import app

SCHEMA = json.loads((Path(__file__).parent / "qlog.schema.json").read_text(encoding="utf-8"))
VALID = fastjsonschema.compile(SCHEMA)
FEW = [
    "duration=3s",
    "warmup=1s",
    "topology.rate=5Mbps",
    "flows.fwd.count=3",
    "flows.rev.count=2",
    "flows.fwd.start=uniform(0s, 0.5s)",
    "flows.rev.start=uniform(0s, 0.5s)",
]
# Headers of XCP, losses and marks, RACK with pacing, marks alone.
CASES = {
    "base-case-xcp": FEW,
    "base-case-sack-red": [*FEW, "topology.buffer=10pkt"],
    "modern-hosts": ["duration=3s", "topology.rate=20Mbps", "topology.buffer=20pkt"],
    "dctcp": ["duration=100ms", "warmup=0s", "flows.hosts.count=2", "flows.hosts.start=0s"],
}
XCP = str(examples.path("base-case-xcp"))
RUN = ["run", XCP, *(f"--set={key}" for key in FEW), "--quiet"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in an empty directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[cp.Result, Path]]:
    """Each case with the logs of all its flows."""
    found = {}
    for name, sets in CASES.items():
        out = tmp_path_factory.mktemp("logged") / name
        found[name] = cp.run(examples.path(name), set=sets, out=out, qlog="all"), out
    return found


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def records(file: Path) -> list[Any]:
    """The texts of a JSON text sequence (RFC 7464), read."""
    texts = file.read_text(encoding="utf-8").split("\x1e")
    assert texts[0] == ""
    assert all(text.endswith("\n") and text.count("\n") == 1 for text in texts[1:])
    return [json.loads(text) for text in texts[1:]]


@pytest.mark.parametrize("case", CASES)
def test_every_record_follows_the_drafts(
    case: str, logged: dict[str, tuple[cp.Result, Path]]
) -> None:
    result, out = logged[case]
    flows = range(len(result.flows["flow"]))
    assert {file.name for file in out.glob("*.sqlog")} == {f"flow-{flow}.sqlog" for flow in flows}
    for flow in flows:
        head, *events = records(out / f"flow-{flow}.sqlog")
        assert "file_schema" in head
        for record in (head, *events):
            VALID(record)
        assert all("name" in event for event in events)
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert times[-1] <= result.meta["simulated_s"] * 1e3


def test_the_schema_refuses_what_is_none() -> None:
    event = {"time": 1.5, "name": "quic:packet_lost", "data": {"header": {"packet_type": "1RTT"}}}
    VALID(event)
    for wrong in (
        {**event, "time": -1.0},
        {**event, "name": "quic:packet_found"},
        {**event, "extra": 1},
        {**event, "data": {"header": {"packet_number": 1}}},
        {**event, "data": {"header": {"packet_type": "1RTT"}, "trigger": "whim"}},
        {"time": 1.5, "data": {}},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            VALID(wrong)


def test_what_happened_is_in_the_log(logged: dict[str, tuple[cp.Result, Path]]) -> None:
    def all_of(case: str, name: str) -> list[Any]:
        files = logged[case][1].glob("*.sqlog")
        return [event for file in files for event in records(file)[1:] if event["name"] == name]

    triggers = {event["data"]["trigger"] for event in all_of("modern-hosts", "quic:packet_lost")}
    assert "time_threshold" in triggers
    assert any(
        "pacing_rate" in event["data"]
        for event in all_of("modern-hosts", "quic:recovery_metrics_updated")
    )
    # A hole leaves its SACK block beside nothing that is acknowledged anew.
    ranges = [
        event["data"]["frames"][0].get("acked_ranges", [])
        for event in all_of("base-case-sack-red", "quic:packet_received")
    ]
    assert max(len(pairs) for pairs in ranges) >= 2
    heard = all_of("base-case-xcp", "quic:packet_received")
    assert all({"h_cwnd", "h_rtt"} <= event["clearpipe"]["header"].keys() for event in heard)
    # DCTCP: what the switch marked comes back as CE, and moves alpha.
    codes = {event["clearpipe"]["ecn"] for event in all_of("dctcp", "quic:packet_received")}
    assert codes == {"ECT(0)", "CE"}
    alphas = [
        event["clearpipe"]["alpha"]
        for event in all_of("dctcp", "quic:recovery_metrics_updated")
        if "alpha" in event.get("clearpipe", {})
    ]
    assert len(set(alphas)) > 10


def test_a_log_changes_neither_result_nor_identity(tmp_path: Path) -> None:
    plain = cp.run(XCP, set=FEW)
    out = tmp_path / "run"
    written = cp.run(XCP, set=FEW, out=out, qlog=["rev", "0"], capture="all", trace=True)
    assert (written.fingerprint, written.meta["identity"]) == (
        plain.fingerprint,
        plain.meta["identity"],
    )
    assert written.summary == plain.summary
    described = recording.recorded(out)
    assert described is not None
    files = ["flow-0.sqlog", "flow-3.sqlog", "flow-4.sqlog"]
    assert described["wanted"]["qlog"] == files
    assert described["events"] == {file: len(records(out / file)) - 1 for file in files}
    assert sorted(file.name for file in out.glob("*.sqlog")) == files


def test_a_stopped_run_keeps_whole_records(tmp_path: Path, endless: str) -> None:
    out = tmp_path / "run"
    result = cp.run(endless, out=out, qlog="0", capture_to="5s", progress=lambda _: False)
    assert not result.complete
    assert len(records(out / "flow-0.sqlog")) > 2


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--qlog", "forward"], 3, "qlog: unknown group"),
        (["--qlog", "5"], 3, "qlog: there is no flow 5 (allowed: 0 to 4)"),
        (["--qlog", "all", "--json"], 2, "--out"),
        (["--qlog", "all", "--engine", "fluid"], 2, "--qlog: only the packet engine"),
        (["--qlog", "all", "--branch-at", "1s", "--variant", "a"], 2, "--qlog does not go"),
        (["--qlog", "all", "--set", "flows.fwd.count=300"], 3, "more than the 256"),
    ],
)
def test_exit_codes(options: list[str], code: int, said: str) -> None:
    done = invoke(*RUN, *options)
    assert done.exit_code == code, done.output
    assert said in done.stderr
    assert not list(Path.cwd().iterdir())


def test_a_stored_result_counts_only_with_its_logs() -> None:
    ask = [*RUN, "--out", "run"]
    assert invoke(*ask, "--qlog", "fwd").exit_code == 0
    written = Path("run/meta.json").stat().st_mtime_ns
    assert invoke(*ask, "--qlog", "0", "--qlog", "1", "--qlog", "2").exit_code == 0
    assert Path("run/meta.json").stat().st_mtime_ns == written
    other = invoke(*ask, "--qlog", "0")
    assert other.exit_code == 1
    assert "--force" in other.stderr


def test_logs_need_a_directory_and_an_engine_of_packets() -> None:
    with pytest.raises(cp.ConfigError, match="qlog: needs out"):
        cp.run(XCP, set=FEW, qlog="all")
    with pytest.raises(cp.ConfigError, match="qlog: the fluid engine has no packets"):
        cp.run(XCP, set=FEW, qlog="all", engine="fluid")
