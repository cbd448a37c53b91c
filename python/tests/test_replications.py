"""Several replications: means with intervals, from Python and from the command line."""

from __future__ import annotations

import json
import math
import statistics as plain
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import api, until
from clearpipe.cli import app
from clearpipe.replications import Replications

RANDOM = """\
schema = 1
name = "chance"
duration = "2s"
[topology]
kind = "dumbbell"
rate = "5Mbps"
rtt = "20ms"
[flows.a]
protocol = "reno"
count = 3
start = "uniform(0s, 500ms)"
[flows.b]
protocol = "vegas"
start = "uniform(0s, 500ms)"
"""
FIXED = RANDOM.replace("uniform(0s, 500ms)", "0s")
# Student's t for 95 % and two degrees of freedom, from printed tables.
T_2 = 4.303


def test_the_interval_by_hand() -> None:
    runs = cp.run(RANDOM, reps=3)
    assert [run.meta["rep"] for run in runs] == [0, 1, 2]
    found = [run.summary["links"][0]["queue_mean_pkts"] for run in runs]
    assert runs.values("queue_mean_pkts") == found
    span = runs.interval("queue_mean_pkts")
    assert span is not None
    assert span.mean == pytest.approx(sum(found) / 3)
    assert span.half == pytest.approx(T_2 * plain.stdev(found) / math.sqrt(3), rel=1e-4)
    assert runs.note == ""


def test_each_is_the_run_that_it_would_be_alone() -> None:
    several = cp.run(RANDOM, reps=2)
    alone = cp.run(RANDOM, rep=1)
    assert several[1].meta["identity"] == alone.meta["identity"]
    assert several[1].fingerprint == alone.fingerprint


def test_two_have_no_interval_and_a_word_why() -> None:
    runs = cp.run(RANDOM, reps=2)
    assert runs.interval("queue_mean_pkts") is None
    assert "Fewer than 3 replications, and so no interval" in runs.note
    cells = [row[1] for row in runs.table().rows]
    assert cells
    assert not any("±" in cell for cell in cells)
    assert runs.as_json()["metrics"]["queue_mean_pkts"]["low"] is None


def test_replications_without_chance_say_so() -> None:
    runs = cp.run(FIXED, reps=3)
    assert runs.one_run
    assert "nothing in it is random" in runs.note


def test_until_stops_where_the_interval_is_narrow_or_at_the_most() -> None:
    metric = "groups.a.goodput_mean_bps"
    wide = cp.run(RANDOM, until=f"ci=100%,metric={metric},min=3")
    assert len(wide) == 3
    assert "within 100 % of its mean after 3 replications" in wide.note
    narrow = cp.run(RANDOM, until=f"ci=0.001%,metric={metric},min=3,max=7")
    assert len(narrow) == 7
    assert "7 replications did not bring" in narrow.note
    between = cp.run(RANDOM, until="ci=15%,metric=queue_mean_pkts,min=3,max=50")
    span = between.interval("queue_mean_pkts")
    assert span is not None
    assert 3 < len(between) < 50
    assert span.half <= 0.15 * span.mean
    fewer = narrow.values(metric)[:3]
    assert fewer == wide.values(metric), "the first of them are always the same"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"until": "ci=2%,metric=jain_index"}, "did you mean groups.a.jain_index_ratio"),
        ({"until": "ci=2%,min=2"}, "3 <= min_reps"),
        ({"until": "2%"}, "ci=2%"),
        ({"until": "ci=2%", "reps": 3}, "give only one of them"),
        ({"reps": 0}, "reps: 0 is out of range"),
        ({"reps": 2, "rep": 1}, "rep: cannot be combined"),
    ],
)
def test_what_is_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(cp.ConfigError, match=told.replace("<", ".")):
        cp.run(RANDOM, **options)  # type: ignore[call-overload]


def test_an_unknown_metric_names_the_nearest() -> None:
    with pytest.raises(cp.ConfigError, match=r"did you mean groups\.a\.timeouts"):
        cp.run(RANDOM, reps=1).values("groups.a.timeout")
    # No flow has an end: that is no wrong name.
    assert math.isnan(cp.run(RANDOM, reps=1).mean("groups.a.fct_mean_s"))


def test_needed_by_hand() -> None:
    wanted = until.parse("ci=10%,min=3,max=30")
    # 1, 2, 3: half is 4.303 / sqrt(3) = 2.484, over the mean 1.242: 12.42 times too wide.
    assert until.needed(wanted, [1.0, 2.0, 3.0], 3) == 6
    # Half over mean is 0.1242: (1.242)^2 x 3 = 4.63.
    assert until.needed(wanted, [19.0, 20.0, 21.0], 3) == 5


def test_results_are_kept_and_read_again(tmp_path: Path) -> None:
    first = cp.run(RANDOM, reps=2, out=tmp_path / "all")
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "all").rglob("meta.json")}
    assert sorted(p.parent.name for p in times) == ["seed1-rep0", "seed1-rep1"]
    again = cp.run(RANDOM, reps=3, out=tmp_path / "all")
    assert [run.fingerprint for run in again][:2] == [run.fingerprint for run in first]
    assert all(p.stat().st_mtime_ns == time for p, time in times.items())
    with pytest.raises(cp.RunError, match="another run"):
        cp.run(FIXED, reps=1, out=tmp_path / "all")


def test_progress_of_all_of_them_can_end_all() -> None:
    long = RANDOM.replace('"2s"', '"100000s"')
    runs = cp.run(long, reps=4, progress=lambda now: now.simulated_s < 1)
    assert 1 <= len(runs) <= 4
    assert not any(run.complete for run in runs)
    # What was stopped is in no number.
    told = f"{len(runs)} of {len(runs)} {'was' if len(runs) == 1 else 'were'} stopped before"
    assert runs.note.startswith(told)
    assert runs.values("queue_mean_pkts") == []
    assert runs.interval("queue_mean_pkts") is None
    assert runs.as_json()["metrics"] == {}
    assert runs.table().rows == []


def test_what_has_not_begun_when_all_end_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    real = api.run_recording

    def watched(*arguments: Any, **options: Any) -> cp.Result:
        begun.append(arguments[3])
        return real(*arguments, **options)

    monkeypatch.setattr(api, "run_recording", watched)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    long = RANDOM.replace('"2s"', '"100000s"')
    runs = cp.run(long, reps=4, progress=lambda _: False)
    assert (begun, len(runs)) == ([0], 1)
    begun.clear()
    sought = cp.run(long, until="ci=1%,min=4,max=30", progress=lambda _: False)
    assert (begun, len(sought)) == ([0], 1)
    assert "did not bring" not in sought.note


def test_stopped_runs_are_in_no_mean() -> None:
    whole = cp.run(RANDOM, reps=3)
    long = RANDOM.replace('"2s"', '"100000s"')
    stopped = cp.run(long, rep=3, progress=lambda _: False)
    mixed = Replications((*whole, stopped))
    assert mixed.note == "1 of 4 was stopped before its end and was left out."
    assert mixed.values("queue_mean_pkts") == whole.values("queue_mean_pkts")
    assert mixed.interval("queue_mean_pkts") == whole.interval("queue_mean_pkts")
    assert mixed.table().title == whole.table().title
    assert mixed.table().rows == whole.table().rows
    assert "Over 3 replications" in mixed.table().title


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chance.toml").write_text(RANDOM)
    call = ["run", "chance.toml", "-q"]
    out = CliRunner().invoke(app, [*call, "--reps", "5"]).stdout
    line = next(line for line in out.splitlines() if "Utilization, link bottleneck" in line)
    assert "±" in line
    assert "Goodput per flow, group b" in out, "not of the first group alone"
    metric = "groups.a.goodput_mean_bps"
    more = [*call, "--until", f"ci=100%,metric={metric},min=3", "--json"]
    found = json.loads(CliRunner().invoke(app, more).stdout)
    assert [run["meta"]["rep"] for run in found["runs"]] == [0, 1, 2]
    told = found["metrics"][metric]
    assert told["low"] < told["mean"] < told["high"]
    assert told["n"] == 3
    for wrong, code in (("ci=2%,metric=jain", 3), ("ci=2", 3)):
        done = CliRunner().invoke(app, [*call, "--until", wrong])
        assert done.exit_code == code
        assert "--until" in done.stderr
    assert CliRunner().invoke(app, [*call, "--until", "ci=2%", "--rep", "1"]).exit_code == 2


def test_runs_on_a_real_kernel_are_never_the_same() -> None:
    """They have no fingerprint that could be."""
    from types import SimpleNamespace

    from clearpipe import overview
    from clearpipe.result import one_run

    meta: Any = {"engine": "linux", "fingerprint": "none", "packet_hops_per_s": 0.0}
    runs: Any = [SimpleNamespace(meta=meta, fingerprint="none")] * 3
    assert not one_run(runs)
    assert overview.fingerprint(meta) == "no fingerprint: a real kernel does nothing twice"
    assert overview.speed(meta) == "in real time"


def test_blanks_in_until_and_the_key_of_what_is_wrong() -> None:
    read = until.parse("ci = 2% , min = 4", None)
    assert (read.ci_ratio, read.min_reps) == (0.02, 4)
    with pytest.raises(cp.ConfigError) as refused:
        until.parse("ci=0%")
    assert refused.value.key == until.OPTION
