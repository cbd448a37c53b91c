"""`clearpipe evaluate`: its statements, its rule, and controllers that are broken on purpose."""

from __future__ import annotations

import csv
import json
import math
import platform
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import evaluate
from clearpipe.cli import app
from clearpipe.errors import ConfigError, UnsupportedError
from clearpipe.evaluate import data, functions, judge, report, work
from clearpipe.evaluate.cast import SUBJECT, Cast, cast
from clearpipe.linux import engine, namespaces
from clearpipe.reproduce import runs
from clearpipe.reproduce.data import paper
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.sweep.runner import OutOfTime
from clearpipe.sweep.store import Store

CONTROLS = Path(__file__).parent / "controls"
AGAINST = ("cubic", "bbr3", "reno")
LACKS = namespaces.missing()
needs_linux = pytest.mark.skipif(bool(LACKS), reason=f"exit 5: {'; '.join(LACKS)}")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one test has run another need not."""
    return tmp_path_factory.mktemp("evaluate") / "store"


def evaluated(who: Cast, store: Path, *only: str) -> work.Done:
    job = work.Job(Store(store), who, "quick", only=only)
    work.run(job)
    return work.judge(job)


def coded(name: str, file: str) -> Cast:
    return cast(name, None, AGAINST, f"{CONTROLS / file}:{name}")


def verdicts(done: work.Done) -> dict[str, str]:
    return {one.statement.id: one.verdict for one in done.outcomes}


def failing(done: work.Done) -> set[str]:
    return {name for name, verdict in verdicts(done).items() if verdict == judge.FAIL}


# What is declared.


@pytest.mark.parametrize("name", ["cubic", "vcp", "dctcp"])
def test_every_scenario_of_every_area_is_valid_at_both_scales(name: str) -> None:
    who = cast(name)
    for area in data.areas(who.book()):
        if area.figure is None:
            continue
        for scale in ("quick", "full"):
            for part in area.figure.parts[scale]:
                spec = runs.sweep(area.figure, part)
                assert spec is not None
                for point in (spec.points[0], spec.points[-1]):
                    cp.resolve(spec.source, set=(*spec.sets, *point.sets))


def test_every_statement_says_where_it_is_from_and_how_it_is_judged() -> None:
    areas = data.areas(cast("cubic").book())
    statements = [one for area in areas for one in area.statements]
    assert len(statements) > 45
    for one in statements:
        assert one.says.endswith(".")
        assert one.cites
        assert one.not_run or (one.metric and one.quantity)
        assert not (one.lo is not None or one.hi is not None) or one.source


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cubik",), "did you mean cubic?"),
        (("python",), "--code FILE:CLASS"),
        (("cubic", "--queue", "codell"), "did you mean codel?"),
        (("cubic", "--against", "renno"), "did you mean reno?"),
        (("cubic", "--area", "besides"), "beside"),
        (("{ kind = }",), "PROTOCOL"),
        (("{ beta = 0.5 }",), "kind"),
    ],
)
def test_what_there_is_not_is_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(app, ["evaluate", *arguments, "--store", str(tmp_path / "s")])
    assert done.exit_code == 3
    assert message in done.stderr
    assert not (tmp_path / "s").exists()


def test_a_protocol_brings_its_own_queue_and_others_meet_it_there() -> None:
    vcp, plain, chosen = cast("vcp"), cast("cubic"), cast("cubic", "codel")
    assert vcp.router == {"kind": "vcp"}
    assert vcp.book().schemes["subject/cubic"].router == {"kind": "vcp"}
    assert vcp.book().schemes["reno"].router == {"kind": "droptail"}
    assert plain.router == {"kind": "droptail"}
    assert chosen.book().schemes["reno"].router == {"kind": "codel"}
    # One threshold on the queue as it is. What is not ECN-capable is dropped there.
    assert cast("dctcp").router == {"kind": "step", "k_ratio": 0.2}


# The rule, with numbers made by hand.


def hand_made(who: Cast, area: str, numbers: dict[tuple[str, str], list[float]]) -> Data:
    """Runs of an area's only part whose metrics are all these numbers, by scheme and label."""
    figure = next(one.figure for one in data.areas(who.book()) if one.id == area)
    assert figure is not None
    part = figure.parts["quick"][0]
    found = Data(figure.book, figure, figure.parts["quick"])
    for (scheme, label), values in numbers.items():
        for rep, value in enumerate(values):
            metrics = {
                "links.bottleneck.drop_ratio": value,
                "groups.own.goodput_min_bps": value,
                "groups.own.goodput_max_bps": 1.0,
                "groups.other.total_goodput_bps": value,
                "groups.own.total_goodput_bps": value,
                "links.bottleneck.rate_bps": 1.0,
            }
            name = "solo" if scheme.startswith("/") else part.name
            found.cells.append(Cell(name, scheme, label, 0.0, rep, metrics, no_result, ()))
    return found


def no_result() -> cp.Result:
    raise AssertionError("a table made by hand has no result")


def judged(who: Cast, area: str, statement: str, found: Data) -> judge.Outcome:
    of = next(one for one in data.areas(who.book()) if one.id == area)
    one = next(one for one in of.statements if one.id == statement)
    return judge.Judge(who, data.sheet().margin).statement(of, one, found)


@pytest.mark.parametrize(
    ("mine", "verdict"), [(0.46, "pass"), (0.45, "pass"), (0.44, "fail"), (2.0, "pass")]
)
def test_more_is_better_down_to_a_quarter_below_the_worse_standard(
    mine: float, verdict: str
) -> None:
    """Reno 0.8 and CUBIC 0.6 (0.5 and 0.7): 0.6 - 0.6/4 = 0.45; BBRv3's 0.1 is not a standard."""
    who = cast("vegas")
    numbers = {(SUBJECT, ""): [mine], ("reno", ""): [0.8], ("cubic", ""): [0.5, 0.7]}
    found = hand_made(who, "rtt", numbers | {("bbr3", ""): [0.1]})
    one = judged(who, "rtt", "rtt-bias", found)
    assert one.verdict == verdict
    assert one.rows[0].reading.lo == pytest.approx(0.45)
    assert [(b.label, b.bound) for b in one.rows[0].beside] == [
        ("reno", True),
        ("cubic", True),
        ("bbr3", False),
    ]


@pytest.mark.parametrize(("mine", "verdict"), [(0.0269, "pass"), (0.0271, "fail")])
def test_less_is_better_up_to_a_quarter_and_the_resolution(mine: float, verdict: str) -> None:
    """0.02 + 0.02/4 + 0.002 = 0.027 where buffers are half a product; one place suffices to
    fail."""
    who = cast("vegas")
    numbers = {
        (scheme, label): [value]
        for scheme, value in ((SUBJECT, mine), ("reno", 0.01), ("cubic", 0.02))
        for label in ("0.5bdp",)
    }
    passes = {(scheme, "2bdp"): [0.0] for scheme in (SUBJECT, "reno", "cubic")}
    one = judged(who, "loss", "loss-sustained", hand_made(who, "loss", numbers | passes))
    assert one.verdict == verdict
    assert len(one.rows) == 2
    assert one.worst is not None
    assert one.worst.reading.label == "0.5bdp"


def test_harm_is_what_a_flow_loses_of_what_it_has_alone() -> None:
    """Ware et al., section 4: alone 10, met 4, and so 0.6; a delay of 10 that becomes 40, 0.75."""
    goodput, delay = data.Alone("solo", "m", "more"), data.Alone("solo", "m", "less")
    assert goodput.harm(10.0, 4.0) == pytest.approx(0.6)
    assert delay.harm(10.0, 40.0) == pytest.approx(0.75)
    assert goodput.harm(10.0, 12.0) == pytest.approx(-0.2)


@pytest.mark.parametrize(("met", "verdict"), [(0.33, "pass"), (0.32, "fail")])
def test_harm_is_judged_by_what_the_victims_own_kind_does(met: float, verdict: str) -> None:
    """Reno alone has 1, beside Reno 0.5: harm 0.5, accepted 0.5 + 0.125 + 0.05 = 0.675. What Reno
    has beside CUBIC (0.1) is no bound."""
    who = cast("vegas", None, ("reno",))
    numbers = {
        ("subject/reno", "1bdp"): [met],
        ("reno/reno", "1bdp"): [0.5],
        ("cubic/reno", "1bdp"): [0.1],
        ("/reno", "1bdp"): [1.0],
    }
    one = judged(who, "beside", "beside-harm", hand_made(who, "beside", numbers))
    assert one.verdict == verdict
    assert one.rows[0].reading.hi == pytest.approx(0.675)


def test_what_the_end_of_a_run_cuts_off_never_passes() -> None:
    """Transfers that take more than 20 s where 2 s are accepted fail; where 40 s are, nobody
    knows."""
    who = cast("vegas")
    one = data.Statement("x-y", "s.", ("RFC 9743, 6",), "m", "q", "s", "less", bound="standards")
    area = data.Area("x", "t", "s", (one,))
    made = judge.Judge(who, 0.25)
    for accepted, verdict in ((2.0, judge.FAIL), (40.0, judge.NOT_RUN)):
        found = hand_made(who, "rtt", {})
        for scheme, value in ((SUBJECT, Censored(20.0, 1)), ("reno", accepted), ("cubic", 0.1)):
            cell = Cell("main", scheme, "", 0.0, 0, {"m": value}, no_result, ())
            found.cells.append(cell)
        assert made.statement(area, one, found).verdict == verdict


def test_missing_runs_are_told_and_not_judged(tmp_path: Path) -> None:
    job = work.Job(Store(tmp_path), cast("cubic"), "quick", only=["rtt"])
    job.store.open()
    done = work.judge(job)
    assert verdicts(done) == {"rtt-bias": judge.NOT_RUN}
    assert done.missing == 8  # CUBIC, who is evaluated, and Reno, CUBIC and BBRv3, twice
    assert "missing" in done.outcomes[0].reason


# On the kernel.


def test_what_the_kernel_cannot_run_is_not_run_and_says_why(tmp_path: Path) -> None:
    job = work.Job(
        Store(tmp_path),
        cast("cubic", None, ("reno",)),
        "quick",
        only=["short", "rtt"],
        engine="linux",
    )
    assert {part.name for one in job.figures for part in one.parts["quick"]} == {
        "main",
        "transfers",
    }
    assert all(part.real for one in job.figures for part in one.parts["quick"])
    job.store.open()
    done = work.judge(job)
    reasons = {one.statement.id: one.reason for one in done.outcomes}
    assert set(verdicts(done).values()) == {judge.NOT_RUN}
    # Short flows come while the run goes on; a transfer is a flow of its own.
    for name in ("short-own", "short-long", "short-others"):
        assert "flows.other.arrivals: flows that come while the run goes on" in reasons[name]
    for name in ("short-transfer", "rtt-bias"):
        assert "runs are missing" in reasons[name]
    assert done.as_json()["engine"] == "linux"
    assert "--engine linux" in report.command(done)


def test_what_no_engine_has_names_none_of_them(tmp_path: Path) -> None:
    only = ["unresponsive", "beyond"]
    job = work.Job(Store(tmp_path), cast("cubic"), "quick", only=only, engine="linux")
    job.store.open()
    reasons = [one.reason for one in work.judge(job).outcomes if one.statement.not_run]
    assert len(reasons) == 4
    assert not [why for why in reasons if "packet engine" in why]


@needs_linux
def test_no_run_in_real_time_begins_after_the_deadline(tmp_path: Path) -> None:
    past = time.monotonic()
    job = work.Job(
        Store(tmp_path),
        cast("cubic", None, ("reno",)),
        "quick",
        only=["rtt"],
        engine="linux",
        deadline=past,
    )
    with pytest.raises(OutOfTime):
        work.run(job)


def test_what_the_system_lacks_is_said_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "missing", lambda: ["CAP_NET_ADMIN"])
    job = work.Job(
        Store(tmp_path), cast("cubic", None, ("reno",)), "quick", only=["rtt"], engine="linux"
    )
    with pytest.raises(UnsupportedError, match="CAP_NET_ADMIN"):
        work.run(job)
    assert not (tmp_path / "plans").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bbr3", "--engine", "linux"], "flows.own.protocol: bbr3: no kernel has it"),
        # Where the others alone could run, nothing would be judged.
        (["bbr3", "--engine", "linux", "--area", "beside"], "bbr3: no kernel has it"),
        (["cubic", "--engine", "fluid"], "--engine: fluid: expected packet or linux"),
    ],
)
def test_who_has_no_run_on_the_kernel_is_refused(words: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["evaluate", *words, "--quick", "--area", "rtt"])
    assert done.exit_code == 3
    assert told in " ".join(done.output.split())


def test_real_runs_do_not_stand_for_simulated_ones() -> None:
    figure = next(one for one in paper("dpcp").figures if one.id == "dpcp-fig05")
    real = [part for part in figure.parts["full"] if part.real]
    simulated = [part for part in figure.parts["full"] if not part.real]
    assert real
    assert Data(figure.book, figure, tuple(real)).named() == []
    assert Data(figure.book, figure, (*real, *simulated)).named() == [p.name for p in simulated]
    alone = replace(figure, parts={"full": tuple(real)})
    assert Data(figure.book, alone, tuple(real)).named() == [part.name for part in real]


def test_lateness_is_read_from_what_a_run_tells() -> None:
    about = {"packets": 9, "p50_s": 4e-6, "p99_s": 119e-6, "max_s": 2e-3}
    run = {"realtime": True, "stops": 0, "refused_pkts": 0, "cpu_s": 1.0, "wall_s": 10.0}
    assert engine.late_p99_us(engine.lateness({"late": about, **run})) == 119.0
    assert engine.late_p99_us(["something else"]) is None


@pytest.mark.kernel
@pytest.mark.long
@needs_linux
def test_the_kernels_cubic_is_evaluated(store: Path) -> None:
    job = work.Job(
        Store(store), cast("cubic", None, ("reno",)), "quick", only=["incast"], engine="linux"
    )
    work.run(job)
    done = work.judge(job)
    assert verdicts(done) == {"incast-finish": judge.PASS}  # CUBIC is a standard
    assert done.kernels == [platform.release().partition("-")[0]]
    assert "at the 99th percentile of a run's packets" in done.lateness
    assert done.missing == 0


def test_capacity_is_what_could_leave() -> None:
    """20 Mb/s to 20 s, 5 to 40 s, 20 to 60 s: from 10 to 60 s 200 + 100 + 400 Mb."""
    steps = [(0.0, "20Mbps"), (20.0, "5Mbps"), (40.0, "20Mbps")]
    assert functions.capacity(steps, 10.0, 60.0) == pytest.approx(700e6)


def test_times_are_those_of_windows_of_a_second() -> None:
    """A flow of 8 Mb/s whose link is down from 2 to 4 s has its 80 % again in the second that ends
    at 5 s or later."""
    text = """schema = 1
name = "x"
duration = "10s"
topology = { kind = "dumbbell", rate = "10Mbps", rtt = "10ms", down = [["2s", "4s"]] }
[flows.own]
protocol = "udp"
rate = "9Mbps"
[probe]
series = ["goodput"]
"""
    # What waits leaves first, at 10 Mb/s: from 4 s on there is goodput.
    assert functions.returns(cp.run(text)) == pytest.approx(1.0)


# What is run.


def test_a_report_is_written_and_the_same_command_does_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "areas", lambda book, whole=data.areas: whole(book)[-7:])
    monkeypatch.setattr(work, "areas", data.areas)
    command = ["evaluate", "vcp", "--quick", "--store", str(store), "--publish", "docs"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "statements:" in done.stdout.splitlines()[-1]
    folder = Path("results/evaluate/vcp")
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    by_id = {one["id"]: one for one in told["statements"]}
    assert by_id["deployment-goodput"]["verdict"] == "fail"  # VCP needs its routers
    assert by_id["satellite-goodput"]["rows"][0]["beside"]
    assert by_id["beyond-tunnels"]["verdict"] == "not run"
    with (folder / "statements.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["control"] for row in rows} >= {"vcp", "reno", "cubic", "bbr3"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "RFC 9743, section 5, sets no thresholds" in page
    assert "clearpipe evaluate vcp --against cubic,bbr3,reno --quick" in page
    published = Path("docs/vcp.md").read_text(encoding="utf-8")
    assert "**fail**" in published
    assert "[vcp](vcp.md)" in Path("docs/README.md").read_text(encoding="utf-8")
    assert json.loads(Path("docs/vcp.json").read_text(encoding="utf-8"))["runs"] == told["runs"]
    scenario = folder / "scenarios" / "satellite.toml"
    assert cp.resolve(scenario).toml
    again = CliRunner().invoke(app, [*command, "--check"])
    assert again.exit_code == 4
    assert " runs in " not in again.stderr


def test_the_published_overview_names_what_is_of_former_versions(tmp_path: Path) -> None:
    published = Path(__file__).resolve().parents[2] / "docs/evidence/evaluate"
    text = (published / "README.md").read_text(encoding="utf-8")
    assert text == report.overview(published)
    for name, version in (("now", cp.versions()["reno"]), ("then", "0")):
        told = json.loads((published / "reno.json").read_text(encoding="utf-8"))
        told["parts"] = {"reno": version, "a prototype": "2"}
        (tmp_path / f"{name}.json").write_text(json.dumps(told), encoding="utf-8")
    assert report.overview(tmp_path).endswith("\n\n- then: runs with reno 0, which is 1 by now.\n")
    (tmp_path / "then.json").unlink()
    assert "by now" not in report.overview(tmp_path)


def test_a_class_is_found_from_where_its_scenarios_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line names it from here, a scenario from its own folder."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_bytes((CONTROLS / "cubic.py").read_bytes())
    job = work.Job(Store(Path("store")), cast("mine", code="mine.py:Cubic"), "quick", only=["rtt"])
    job.store.open()
    report.write(work.judge(job), Path("out"))
    scenario = Path("out/scenarios/rtt.toml")
    assert 'code = "../../mine.py:Cubic"' in scenario.read_text(encoding="utf-8")
    assert cp.resolve(scenario).toml


def test_out_of_time_ends_with_75_and_goes_on(tmp_path: Path) -> None:
    command = ["evaluate", "cubic", "--quick", "--area", "tiny", "--store", str(tmp_path)]
    done = CliRunner().invoke(app, [*command, "--max-time", "1us"])
    assert done.exit_code == 75
    assert CliRunner().invoke(app, command).exit_code == 0


def test_full_backoff_is_found_missing(store: Path) -> None:
    """RFC 6298: 2 or 3 packets in 50 s without an ACK; a window that stays open sends its whole."""
    broken = coded("NeverBacksOff", "broken.py")
    found = failing(evaluated(broken, store, "collapse", "loss"))
    assert found == {"collapse-backoff", "loss-sustained"}
    assert not failing(evaluated(cast("reno"), store, "collapse", "loss"))


def test_a_window_that_collapses_is_found(store: Path) -> None:
    broken = coded("CollapsesAtOneLoss", "broken.py")
    assert failing(evaluated(broken, store, "line", "collapse", "incast")) == {
        "line-loss",
        "line-reordering",
        "line-jitter",  # slow start overshoots
    }


def test_who_starves_beside_another_is_found(store: Path) -> None:
    broken = coded("StarvesBesideAnother", "broken.py")
    assert failing(evaluated(broken, store, "beside", "loss", "collapse")) == {"beside-share"}


def test_cubic_in_python_gets_cubics_report(store: Path) -> None:
    mine = evaluated(coded("Cubic", "cubic.py"), store, "line")
    built_in = evaluated(cast("cubic"), store, "line")
    assert verdicts(mine) == verdicts(built_in)
    for one, other in zip(mine.outcomes, built_in.outcomes, strict=True):
        for row, its in zip(one.rows, other.rows, strict=True):
            assert row.reading.values == pytest.approx(its.reading.values, rel=1e-9)


# In full.

SHOULD_FAIL = {
    # It loses without end, at whoever's cost, and nothing drives its flows to equal shares
    # (Chiu, Jain 1989: that takes a multiplicative decrease). Goodputs of its own are full.
    "NeverBacksOff": {
        "single-loss", "loss-sustained", "tiny-loss", "many-loss", "voice-loss", "beside-loss",
        "collapse-backoff", "within-jain", "many-jain", "beside-harm", "beside-harm-delay",
        "short-own", "short-others", "aqm-delay",
    },
    # Everywhere where there is a loss it has no goodput. Queues are short, others have all they
    # want, and where all flows are alike it is fair.
    "CollapsesAtOneLoss": {
        "single-goodput", "guests-goodput", "rtt-bias", "beside-share", "short-long", "line-loss",
        "line-reordering", "line-jitter", "acks-goodput", "changes-follows", "changes-cellular",
        "changes-outage", "aqm-goodput", "unresponsive-share", "two-way-goodput",
        "satellite-goodput",
    },
    # It starves beside another flow, and one of its own kind that keeps more of the queue, or has
    # another round trip or jitter, is another; jitter looks like another's queue. Else it is CUBIC.
    "StarvesBesideAnother": {
        "beside-share", "within-jain", "rtt-bias", "starved-jitter", "line-jitter",
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", SHOULD_FAIL)
def test_a_broken_control_fails_what_it_should_and_only_that(name: str, store: Path) -> None:
    done = evaluated(coded(name, "broken.py"), store)
    assert not done.errors
    assert failing(done) == SHOULD_FAIL[name]


@pytest.mark.long
def test_cubic_in_python_gets_all_of_cubics_verdicts(store: Path) -> None:
    mine = evaluated(coded("Cubic", "cubic.py"), store)
    assert not mine.errors
    assert verdicts(mine) == verdicts(evaluated(cast("cubic"), store)) | {
        # A class has no ECN unless it says so.
        "ecn-goodput": judge.EXCLUDED,
        "ecn-delay": judge.EXCLUDED,
    }


def test_the_python_call_is_the_same(store: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        evaluate.protocol("cubik", store)
    assert math.isclose(data.sheet().margin, 0.25)
