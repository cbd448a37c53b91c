"""The command line: exit codes, what goes where, and what is left on disk."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clearpipe import examples
from clearpipe.cli import app

SMALL = [
    "--set=duration=2s",
    "--set=warmup=0.5s",
    "--set=topology.rate=5Mbps",
    "--set=flows.fwd.count=2",
    "--set=flows.rev.count=2",
    "--set=flows.fwd.start=0s",
    "--set=flows.rev.start=0s",
]
UNEVEN = [*SMALL[:-1], "--set=flows.rev.start=uniform(0s, 1s)"]
XCP = str(examples.path("base-case-xcp"))
RUN = ["run", XCP, *SMALL]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in an empty directory."""
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "Exit codes"),
        (["--version"], 0, "model"),
        (["run", XCP, "--bogus"], 2, "--bogus"),
        (["run"], 2, "FILE"),
        ([*RUN, "--rep", "1", "--reps", "2"], 2, "--rep"),
        ([*RUN, "--reps", "0"], 2, "--reps"),
        ([*RUN, "--figure", "x.png", "--reps", "2"], 2, "--figure"),
        ([*RUN, "--json", "--report"], 2, "--out"),
        (["run", "no.toml"], 3, "no.toml"),
        (["run", "."], 3, "directory"),
        ([*RUN, "--set", "topology.rat=1Mbps"], 3, "rat"),
        ([*RUN, "--set", "nonsense"], 3, "nonsense"),
        ([*RUN, "--engine", "fluid"], 3, "fluid"),
        ([*RUN, "--engine", "magic"], 3, "magic"),
        ([*RUN, "--figure", "x.bmp"], 3, ".png"),
        (["list", "figures"], 2, "figures"),
        (["show", "no.toml"], 3, "no.toml"),
        (["compare", "a", "b"], 3, "a"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, said: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    assert said in (result.stdout if code == 0 else result.stderr)
    assert not Path("results").exists()


def test_unwritable_output_stops_before_anything_runs() -> None:
    Path("file").write_text("in the way")
    result = invoke(*RUN, "--out", "file/result")
    assert result.exit_code == 1
    assert "file" in result.stderr
    assert result.stdout == ""


def test_other_files_are_never_replaced() -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("x")
    assert invoke(*RUN, "--out", "mine", "--force").exit_code == 1
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.tex"]


def test_json_of_one_run_and_nothing_on_disk() -> None:
    result = invoke(*RUN, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown.keys() == {"meta", "links", "groups", "flows"}
    assert shown["meta"]["seed"] == 1
    assert re.fullmatch(r"[0-9a-f]{32}", shown["meta"]["fingerprint"])
    assert {"utilization_ratio", "total_drops_pkts", "queue_p90_pkts"} <= shown["links"][0].keys()
    assert {"flow", "group", "goodput_bps", "fct_s"} <= shown["flows"][0].keys()
    assert [group["group"] for group in shown["groups"]] == ["fwd", "rev"]
    assert not list(Path.cwd().iterdir())


def test_json_of_several_runs_is_a_list_and_they_differ_by_replication() -> None:
    shown = json.loads(invoke("run", XCP, *UNEVEN, "--reps", "2", "--json").stdout)
    assert [one["meta"]["rep"] for one in shown] == [0, 1]
    assert len({one["meta"]["fingerprint"] for one in shown}) == 2


def test_a_stored_result_is_shown_and_another_is_not_overwritten() -> None:
    first = invoke(*RUN)
    assert first.exit_code == 0, first.output
    place = Path("results/base-case-xcp-seed1-rep0")
    assert {"meta.json", "run.toml"} <= {path.name for path in place.iterdir()}
    written = (place / "meta.json").stat().st_mtime_ns
    again = invoke(*RUN)
    assert "was there already" in again.stderr
    assert (place / "meta.json").stat().st_mtime_ns == written
    other = invoke(*RUN, "--seed", "2", "--out", str(place))
    assert other.exit_code == 1
    assert "--force" in other.stderr
    forced = invoke(*RUN, "--seed", "2", "--out", str(place), "--force")
    assert forced.exit_code == 0, forced.output
    assert json.loads((place / "meta.json").read_text())["seed"] == 2


def test_table_names_fingerprint_and_speed() -> None:
    result = invoke(*RUN, "--out", "x")
    fingerprint = json.loads(Path("x/meta.json").read_text())["fingerprint"]
    assert fingerprint in result.stdout
    assert "x real time" in result.stdout
    assert "Utilization" in result.stdout


def test_replications_with_report() -> None:
    result = invoke(*RUN, "--reps", "3", "--out", "many", "--report")
    assert result.exit_code == 0, result.output
    names = {path.name for path in Path("many").iterdir()}
    assert names == {f"base-case-xcp-seed1-rep{rep}" for rep in range(3)} | {"report.html"}
    assert "Over 3 replications" in result.stdout


def test_figure_is_the_same_file_every_time() -> None:
    pytest.importorskip("matplotlib")
    assert invoke(*RUN, "--figure", "a.svg", "--out", "x").exit_code == 0
    assert invoke(*RUN, "--figure", "b.svg", "--out", "x").exit_code == 0
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()


def test_figure_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke(*RUN, "--figure", "a.svg")
    assert result.exit_code == 5
    assert "clearpipe[figures]" in result.stderr


def test_show_resolves_to_a_file_that_runs_to_the_same_fingerprint() -> None:
    resolved = invoke("show", XCP, *SMALL, "--resolved")
    Path("resolved.toml").write_text(resolved.stdout)
    a = json.loads(invoke(*RUN, "--json").stdout)
    b = json.loads(invoke("run", "resolved.toml", "--json").stdout)
    assert a["meta"]["fingerprint"] == b["meta"]["fingerprint"]
    assert "links" in invoke("show", XCP).stdout


@pytest.mark.parametrize("what", ["protocols", "queues", "scenarios"])
def test_lists(what: str) -> None:
    entries = json.loads(invoke("list", what, "--json").stdout)
    assert entries
    text = invoke("list", what).stdout
    assert all(entry["name"] in text for entry in entries)


def test_every_listed_scenario_is_valid_and_says_what_it_is() -> None:
    for entry in examples.every():
        assert entry["about"]
        assert invoke("show", entry["path"]).exit_code == 0


def test_every_example_of_the_source_tree_is_shipped() -> None:
    source = Path(__file__).parents[2] / "examples"
    assert {path.name for path in source.glob("*.toml")} == {
        f"{entry['name']}.toml" for entry in examples.every()
    }


def test_doctor() -> None:
    shown = json.loads(invoke("doctor", "--json").stdout)
    assert shown["ok"] is True
    checks = {check["name"]: check for check in shown["checks"]}
    assert {"python", "core", "cores", "memory", "matplotlib", "tshark", "ns2"} <= checks.keys()
    assert all(check["found"] or check["get"] for check in checks.values())
    assert "How to get it" in invoke("doctor").stdout


def in_process(*arguments: str) -> subprocess.Popen[str]:
    code = "from clearpipe.cli import main; main()"
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_no_half_result(number: signal.Signals, code: int) -> None:
    process = in_process("run", XCP, "--set", "duration=100h", "--reps", "2", "--out", "long")
    time.sleep(2)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    assert out == ""
    assert "finished runs are kept" in err
    assert [path for path in Path("long").glob("*") if path.name[0] != "."] == []


def test_help_does_not_load_what_it_does_not_need() -> None:
    heavy = "('rich.table', 'jinja2', 'numpy', 'matplotlib')"
    code = f"import sys, clearpipe.cli; print([m for m in {heavy} if m in sys.modules])"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.long
def test_demo() -> None:
    result = invoke("demo", "--out", "shown")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "shown/report.html"
    assert all(name in result.stdout for name in ("xcp", "vcp", "sack-red"))
    assert Path("shown/base-case-vcp/meta.json").is_file()
    assert "was there already" in invoke("demo", "--out", "shown").stderr
