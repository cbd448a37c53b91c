"""How far runs are, in a log, for machines, and live."""

from __future__ import annotations

import json
import time
from io import StringIO
from pathlib import Path

import pytest
from conftest import ENDLESS, SMALL
from rich.console import Console
from sweeping import write
from typer.testing import CliRunner

from clearpipe import api, progress, terminal
from clearpipe.cli import app
from clearpipe.progress import Board, Going, Standing
from clearpipe.recording import NOTHING

SWEEP = '[sweep]\nreps = 10\nvary."topology.rtt" = ["10ms", "20ms"]\n'


def test_a_line_of_a_log_by_hand() -> None:
    half = Going("b rep 1", 10.0, simulated_s=5.0)
    # 40 runs and a half in 81 s: 2 s each, and 59.5 to go.
    now = Standing("", 81.0, 100, 40, 3, 405.0, [half])
    assert now.words() == "40 of 100 runs done, 3 failed, 60 left, 30 runs/min, 119.0 s to go"
    told = now.as_json()
    assert (told["done"], told["failed"], told["left"]) == (37, 3, 60)
    assert told["eta_s"] == pytest.approx(119.0)
    assert told["runs_per_s"] == pytest.approx(0.5)
    assert told["running"] == [{"run": "b rep 1", "simulated_s": 5.0, "duration_s": 10.0}]
    alone = Standing("vcp-fig04 (1 of 2)", 60.0, 1, 0, 0, 5.0, [half])
    words = "b rep 1: 5.0 of 10 s simulated (50 %), 0.0833 x real time, 60.0 s to go"
    assert alone.words() == f"vcp-fig04 (1 of 2): {words}"
    fast = Standing("", 2.0, 1, 0, 0, 2469.0, [Going("a", None, simulated_s=2469.0)])
    assert fast.words().endswith("2469.0 s simulated, 1235 x real time")
    assert Standing("", 9.0, 2, 0, 0, 0.0, []).words() == "0 of 2 runs done, 2 left, 0 runs/h"


@pytest.mark.parametrize(
    ("per_s", "told"),
    [
        (2.5, "2.5 runs/s"),
        (0.05, "3 runs/min"),
        (0.001, "3.6 runs/h"),
        (1234.5, "1235 runs/s"),
    ],
)
def test_rates_are_above_one(per_s: float, told: str) -> None:
    assert progress.rate(per_s) == told


def test_a_board_counts() -> None:
    board = Board()
    board.expect(3)
    track = board.started("a", "run a", 4.0)
    track(1.0)
    assert board.now().share == pytest.approx(0.25)
    board.ended("a", failed=True)
    board.expect(4)
    now = board.now()
    assert (now.total, now.ended, now.failed, now.left) == (5, 1, 1, 4)
    assert now.simulated_s == 1.0


@pytest.mark.parametrize("how", ["text", "json"])
def test_a_sweep_tells_a_log_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.02)
    monkeypatch.chdir(tmp_path)
    long = SMALL.replace('duration = "5s"', 'duration = "60s"')
    file = write(tmp_path, SWEEP, long)
    done = CliRunner().invoke(app, ["sweep", "run", str(file), "--log-format", how])
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    if how == "text":
        told = [line for line in lines if "of 20 runs done" in line]
        assert told, done.stderr
        assert "left" in told[0]
        assert any("to go" in line for line in told)
    else:
        events = [json.loads(line) for line in lines]
        steps = [one for one in events if one["event"] == "progress"]
        assert steps
        assert all(one["done"] + one["failed"] + one["left"] == 20 for one in steps)
    assert done.stdout.startswith("20 of 20 runs done (20 now)")


def test_a_run_tells_a_log_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.1)
    monkeypatch.chdir(tmp_path)
    Path("endless.toml").write_text(ENDLESS)
    done = CliRunner().invoke(app, ["run", "endless.toml", "--max-wall", "1s"])
    assert done.exit_code == 75
    assert "small seed 1 rep 0: " in done.stderr
    assert "of 100000 s simulated" in done.stderr
    quiet = CliRunner().invoke(app, ["run", "endless.toml", "--max-wall", "1s", "-q"])
    assert "simulated" not in quiet.stderr


@pytest.mark.parametrize("engine", ["fluid", "linux"])
def test_what_cannot_be_watched_is_refused_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path, SWEEP)
    calls = [["run", str(file)], ["sweep", "run", str(file)]]
    for call in calls if engine == "fluid" else calls[:1]:
        done = CliRunner().invoke(app, [*call, "--engine", engine, "--watch"])
        assert done.exit_code == 2
        told = " ".join(done.stderr.replace("│", " ").split())
        assert (
            f"--watch: the {engine} engine tells its links and windows when a run is over" in told
        )
    assert not Path("results").exists()


def test_errors_are_json_where_it_is_asked_for() -> None:
    done = CliRunner().invoke(app, ["run", "no-such.toml", "--log-format", "json"])
    assert done.exit_code == 3
    (event,) = map(json.loads, done.stderr.splitlines())
    assert (event["event"], event["exit_code"]) == ("error", 3)
    assert event["message"].startswith("no-such.toml: ")
    assert CliRunner().invoke(app, ["run", "no-such.toml"]).stderr.startswith("clearpipe: ")
    assert terminal.log_format == "text"


def test_looking_at_a_run_sees_what_its_tables_say() -> None:
    looks: list[api.Look] = []
    source = api.source(SMALL.replace('duration = "5s"', 'duration = "3000s"'))
    deadline = time.monotonic() + 20
    result = api.run_recording(
        source,
        NOTHING,
        1,
        0,
        (),
        progress=lambda _: time.monotonic() < deadline,
        look=looks.append,
    )
    assert looks
    last = looks[-1]
    names = [link["name"] for link in result.summary["links"]]
    assert len(last.links) == len(names)
    queue, bits, capacity, drops = last.links[0]
    link = result.summary["links"][0]
    assert 0 <= queue <= link["queue_max_pkts"]
    assert 0 < bits <= capacity
    assert drops <= link["total_drops_pkts"]
    assert [group[0] for group in last.groups] == [2, 0], "the short ones are over"
    assert result.fingerprint == api.run(source, seed=1).fingerprint


def test_the_live_view_shows_queue_utilization_and_windows() -> None:
    going = Going("small seed 1 rep 0", 5.0, (["there", "back"], ["long"]))
    going.saw(api.Look([(4, 2e6, 4e6, 0), (0, 0.0, 4e6, 0)], [(2, 3.0, 9.0, 12.0)]))
    going.saw(api.Look([(8, 5e6, 8e6, 1), (0, 0.0, 8e6, 0)], [(2, 3.0, 9.0, 12.0)]))
    console = Console(file=StringIO(), width=100, record=True)
    console.print(*progress.tables_of(going))
    text = console.export_text()
    # 3 Mbit left of 4 that could since the last look; the window's mean is 12 / 2.
    assert "75.0 %" in text
    assert "▅█" in text
    assert "3 / 6 / 9" in text
    assert "there" in text
    assert "back" not in text, "nothing went over it"
