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

import clearpipe as cp
from clearpipe import batch, examples, overview, terminal, units
from clearpipe.cli import app, main

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
        ([*RUN, "--rep", "99999999999999999999"], 2, "--rep"),
        ([*RUN, "--seed", "99999999999999999999"], 2, "--seed"),
        ([*RUN, "--seed", "9223372036854775808"], 2, "--seed"),
        ([*RUN, "--figure", "x.png", "--reps", "2"], 2, "--figure"),
        ([*RUN, "--json", "--report"], 2, "--out"),
        (["run", "no.toml"], 3, "no.toml"),
        (["run", "."], 3, "directory"),
        ([*RUN, "--set", "topology.rat=1Mbps"], 3, "rat"),
        ([*RUN, "--set", "nonsense"], 3, "nonsense"),
        ([*RUN, "--engine", "ns4"], 3, "ns4"),
        ([*RUN, "--engine", "magic"], 3, "magic"),
        ([*RUN, "--figure", "x.bmp"], 3, ".png"),
        (["list", "papers"], 2, "papers"),
        (["show", "no.toml"], 3, "no.toml"),
        (["compare", "a", "b"], 3, "a"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, said: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    assert said in (result.stdout if code == 0 else result.stderr)
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rep", "1", "--until", "ci=2%", "--log-format", "json"], "--until"),
        (["--seed", "x", "--log-format=json"], "--seed"),
        (["--nope", "--log-format", "json"], "--nope"),
    ],
)
def test_a_usage_error_is_json_where_stderr_is(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    monkeypatch.setattr(terminal, "log_format", "text")
    monkeypatch.setattr(sys, "argv", ["clearpipe", "run", XCP, *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["event"], told["exit_code"]) == ("error", 2)
    assert said in told["message"]


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
    assert shown.keys() == {"meta", "bottleneck", "links", "groups", "flows"}
    assert shown["meta"]["seed"] == 1
    assert re.fullmatch(r"[0-9a-f]{32}", shown["meta"]["fingerprint"])
    assert {"utilization_ratio", "total_drops_pkts", "queue_p90_pkts"} <= shown["links"][0].keys()
    assert {"flow", "group", "goodput_bps", "fct_s"} <= shown["flows"][0].keys()
    assert [group["group"] for group in shown["groups"]] == ["fwd", "rev"]
    assert not list(Path.cwd().iterdir())


def test_json_of_several_runs_is_a_list_and_they_differ_by_replication() -> None:
    shown = json.loads(invoke("run", XCP, *UNEVEN, "--reps", "2", "--json").stdout)["runs"]
    assert [one["meta"]["rep"] for one in shown] == [0, 1]
    assert len({one["meta"]["fingerprint"] for one in shown}) == 2


def test_a_stored_result_is_shown_and_another_is_not_overwritten() -> None:
    first = invoke(*RUN)
    assert first.exit_code == 0, first.output
    (place,) = Path("results").glob("base-case-xcp-*/seed1-rep0")
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


def test_each_resolved_scenario_has_a_directory_of_its_own() -> None:
    for change in ([], ["--set", "topology.rtt=200ms"], ["--seed", "3"], ["--set", "seed=3"]):
        result = invoke(*RUN, *change)
        assert result.exit_code == 0, result.output
    places = sorted(Path("results").glob("*/*"))
    assert [place.name for place in places if place.name != "seed1-rep0"] == ["seed3-rep0"]
    names = sorted({place.parent.name for place in places})
    assert len(names) == 2
    assert all(re.fullmatch(r"base-case-xcp-[0-9a-f]{8}", name) for name in names)
    # What is written below `results` is what `compare` takes.
    assert invoke("compare", *(f"results/{name}" for name in names)).exit_code == 0


@pytest.mark.skipif(os.name != "posix", reason="reads /dev/stdin")
def test_a_scenario_comes_through_a_pipe() -> None:
    code = "from clearpipe.cli import main; main()"
    command = [sys.executable, "-c", code, "run", "/dev/stdin", *SMALL, "--reps", "2", "--json"]
    text = Path(XCP).read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    piped = [one["meta"]["fingerprint"] for one in json.loads(done.stdout)["runs"]]
    read = json.loads(invoke(*RUN, "--reps", "2", "--json").stdout)["runs"]
    assert piped == [one["meta"]["fingerprint"] for one in read]


def test_runs_are_of_the_file_as_it_was_when_it_was_checked() -> None:
    path = Path("mine.toml")
    path.write_text(Path(XCP).read_text())
    sets = [option.removeprefix("--set=") for option in SMALL]
    jobs, _ = batch.plan(path, sets, None, (0, 1))
    path.write_text("not a scenario any more")
    done = batch.run_all(jobs, quiet=True)
    assert [one.result.meta["rep"] for one in done] == [0, 1]
    assert {one.result.scenario_toml for one in done} == {jobs[0].toml}


def test_an_error_names_the_file() -> None:
    Path("mine.toml").write_text(Path(XCP).read_text().replace("rtt =", "rt ="))
    result = invoke("run", "mine.toml", "--reps", "2")
    assert result.exit_code == 3
    assert "mine.toml:" in result.stderr


SWEPT = """
[sweep]
reps = 2
vary."topology.rtt" = ["20ms", "40ms"]
[plot]
x = "topology.rtt"
y = "utilization_ratio"
"""


def test_a_run_of_a_sweeps_file_says_what_it_does_not_vary() -> None:
    """Where it may be taken for the sweep, and nowhere else."""
    text = Path(XCP).read_text().replace("120s", "3s").replace("uniform(0s, 10s)", "0s")
    Path("mine.toml").write_text(text + SWEPT)
    told = "note: sweep: this is the file as it stands; `clearpipe sweep run` varies topology.rtt\n"
    for command in ("run", "show"):
        done = invoke(command, "mine.toml")
        assert done.exit_code == 0, done.output
        assert told in done.stderr
        assert "plot" not in done.stderr, "it belongs to the sweep"
    assert invoke("run", "mine.toml", "--set", "topology.rtt=20ms").stderr.count("sweep") == 0
    assert invoke("sweep", "run", "mine.toml", "-q").exit_code == 0
    stored = [cp.load(seal.parent) for seal in Path("results/store/runs").rglob("meta.json")]
    assert [list(run.warnings) for run in stored] == [[]] * 4
    alone = Path(stored[0].meta["name"] + ".toml")
    alone.write_text(stored[0].scenario_toml)
    assert "sweep" not in invoke("run", str(alone)).stderr
    Path("mine.toml").write_text(text + SWEPT[SWEPT.index("[plot]") :])
    told = "note: plot: it draws a sweep, and there is no [sweep]\n"
    assert told in invoke("show", "mine.toml").stderr


def test_transfers_show_when_they_finished() -> None:
    sized = [*RUN, "--set", "flows.fwd.size=10kB"]
    result = invoke(*sized, "--out", "x")
    cells = next(line.split() for line in result.stdout.splitlines() if line.startswith("fwd "))
    # All of them finish within the warm-up: no goodput, no index, but times.
    assert cells[2:5] == ["2", "(0", "active)"]
    assert cells[5:7] == ["\N{EN DASH}"] * 2
    assert cells[8:11] == ["2", "of", "2"]
    back = next(line.split() for line in result.stdout.splitlines() if line.startswith("rev "))
    assert back[-2:] == ["\N{EN DASH}"] * 2
    shown = json.loads(invoke(*sized, "--json").stdout)
    (fwd, rev) = shown["groups"]
    assert (fwd["active_flows"], fwd["finished_flows"], fwd["goodput_bps"]) == (0, 2, None)
    times = [flow["fct_s"] for flow in shown["flows"] if flow["group"] == "fwd"]
    assert fwd["fct_s"]["max"] == max(times)
    assert (rev["active_flows"], rev["fct_s"]) == (2, None)
    several = invoke(*sized, "--reps", "2", "--out", "y")
    assert "Mean time to finish, group fwd" in several.stdout
    assert invoke(*sized, "--out", "v", "--report").exit_code == 0
    assert "2 of 2" in Path("v/report.html").read_text(encoding="utf-8")
    assert invoke(*sized, "--reps", "2", "--out", "w", "--report").exit_code == 0
    assert "<td>2 ± " not in Path("w/report.html").read_text()  # two runs have no interval
    assert "Finished flows" in Path("w/report.html").read_text()
    assert "Finished" not in invoke(*RUN, "--out", "z").stdout
    assert invoke("compare", "x", "z").exit_code == 0


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
    assert names == {f"seed1-rep{rep}" for rep in range(3)} | {"report.html"}
    assert "Over 3 replications" in result.stdout


def test_figure_is_the_same_file_every_time() -> None:
    pytest.importorskip("matplotlib")
    first = invoke(*RUN, "--figure", "a.svg", "--out", "x")
    assert first.exit_code == 0
    assert "figure: a.svg\n" in first.stderr
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


def test_lists_are_sorted_and_show_presets() -> None:
    for what in ("protocols", "queues"):
        entries = json.loads(invoke("list", what, "--json").stdout)
        keys = [(entry.get("role", ""), entry["name"]) for entry in entries]
        assert keys == sorted(keys)
        presets = [preset["name"] for entry in entries for preset in entry["presets"]]
        assert presets
        text = invoke("list", what).stdout
        assert all(preset in text for preset in presets)
        assert "presets: -" not in text
        assert units.DASH not in text


def test_what_a_listed_thing_has_not_is_the_dash_of_all_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cells(self: overview.Listing) -> list[str]:
        return [cell for row in self.rows for cell in row]

    monkeypatch.setattr(overview.Listing, "lines", cells)
    told = invoke("list", "protocols").stdout.splitlines()
    assert units.DASH in told
    assert "-" not in told


def test_every_listed_scenario_is_valid_and_says_what_it_is() -> None:
    for entry in examples.every():
        assert entry["about"]
        assert invoke("show", entry["path"]).exit_code == 0


def test_a_scenario_that_comes_along_is_run_by_its_name(tmp_path: Path) -> None:
    shown = invoke("show", "xcp-fig10", "--json")
    assert json.loads(shown.stdout)["scenario"]["name"] == "xcp-fig10"
    told = invoke("show", "xcp-fig100")
    assert told.exit_code == 3
    assert "did you mean xcp-fig10?" in told.stderr
    # What is there is meant, whatever its name.
    (tmp_path / "xcp-fig10").write_text('schema = 1\nname = "mine"\n', encoding="utf-8")
    assert "mine" not in shown.stdout
    assert examples.meant(tmp_path / "xcp-fig10") == tmp_path / "xcp-fig10"


def test_doctor() -> None:
    shown = json.loads(invoke("doctor", "--json").stdout)
    assert shown["ok"] is True
    checks = {check["name"]: check for check in shown["checks"]}
    assert {"python", "core", "cores", "memory", "matplotlib", "tshark", "ns2"} <= checks.keys()
    assert all(check["found"] or check["get"] for check in checks.values())
    assert "How to get it" in invoke("doctor").stdout


def in_process(*arguments: str) -> subprocess.Popen[str]:
    # Tests that run in the background inherit a SIGINT that is ignored.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; from clearpipe.cli import main; main()"
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_runs_with_what_they_have(number: signal.Signals, code: int) -> None:
    process = in_process("run", XCP, "--set", "duration=100h", "--reps", "2", "--out", "long")
    while len(list(Path("long").glob(".partial-*"))) < 2:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    assert out == ""
    assert "is kept, marked partial" in err
    assert {path.name for path in Path("long").iterdir()} == {"seed1-rep0", "seed1-rep1"}
    for path in Path("long").iterdir():
        kept = cp.load(path)
        assert kept.meta["state"] == "partial"
        assert kept.meta["simulated_s"] > 0


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_what_a_killed_run_left_is_removed_by_the_next() -> None:
    command = ["run", XCP, "--set", "duration=100h", "--reps", "2", "--out", "long"]
    process = in_process(*command)
    while not Path("long").is_dir():
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=20)
    assert [path for path in Path("long").iterdir() if path.name[0] != "."] == []
    # As a run that is killed while it writes leaves it.
    partial = Path("long/.partial-seed1-rep0")
    partial.mkdir(exist_ok=True)
    (partial / "run.toml").write_text("half")
    assert invoke(*RUN, "--reps", "2", "--out", "long").exit_code == 0
    assert {path.name for path in Path("long").iterdir()} == {"seed1-rep0", "seed1-rep1"}


def test_the_help_of_run_is_in_groups() -> None:
    """Each option once, `--help` with those of no group at the end."""
    text = invoke("run", "--help").stdout
    _, *groups = re.split(r"^(?=\S.*:$)", text, flags=re.MULTILINE)
    options = {
        group.splitlines()[0]: re.findall(r"^  (?:-\w, )?(--[\w-]+)", group, flags=re.MULTILINE)
        for group in groups
    }
    assert list(options)[:3] == ["Arguments:", "Which runs:", "What is kept and shown:"]
    assert {"--seed", "--set", "--reps"} <= set(options["Which runs:"])
    assert {"--out", "--json"} <= set(options["What is kept and shown:"])
    assert options["Branches:"] == ["--branch-at", "--variant"]
    assert list(options)[-1] == "Options:"
    assert "--help" in options["Options:"]
    named = [name for group in options.values() for name in group]
    assert len(named) == len(set(named)) > 20


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
