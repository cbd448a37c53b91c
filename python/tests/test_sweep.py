"""Sweeps survive: kills, full disks, other runners, damage; and add up what they should."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sweeping import BASE, call, command, seals, times_done, write

import clearpipe as cp
from clearpipe import _core, sweep
from clearpipe.sweep import forecast, runner
from clearpipe.sweep.store import Store

SMALL = """[sweep]
reps = 5
vary."topology.rtt" = ["10ms", "20ms", "40ms", "80ms"]
"""


def test_only_missing_runs_are_done_and_replications_can_be_added(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    store = tmp_path / "store"
    first = sweep.run(sweep.load(file), store)
    assert (first.wanted, first.done, first.fresh) == (20, 20, 20)
    before = seals(store)
    again = sweep.run(sweep.load(file), store)
    assert (again.done, again.fresh) == (20, 0)
    more = sweep.run(sweep.load(file, reps=7), store)
    assert (more.wanted, more.fresh) == (28, 8)
    after = seals(store)
    assert {run: after[run] for run in before} == before
    assert set(times_done(store).values()) == {1}


def test_a_runs_result_is_that_of_a_single_run(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    store = tmp_path / "store"
    sweep.run(sweep.load(file), store)
    rows = sweep.table(sweep.load(file), store).to_pylist()
    row = next(r for r in rows if r["topology.rtt"] == "40ms" and r["rep"] == 3)
    alone = cp.run(file, rep=3, set=["topology.rtt=40ms"])
    assert row["fingerprint"] == alone.fingerprint
    assert (
        row["links.bottleneck.utilization_ratio"] == alone.summary["links"][0]["utilization_ratio"]
    )
    assert cp.load(Store(store).directory(row["run"])).fingerprint == alone.fingerprint


def test_points_have_means_and_intervals(tmp_path: Path) -> None:
    """As scipy tells them, for a sweep that was made in Python and has no file."""
    from scipy import stats

    base = tomllib.loads(BASE)
    made = {**base, "sweep": {"reps": 3, "vary": {"topology.rtt": ["10ms", "20ms"]}}}
    spec, store = sweep.load(made), str(tmp_path / "store")
    sweep.run(spec, store)
    rows = sweep.table(spec, store).to_pylist()
    points = sweep.points(spec, store).to_pylist()
    assert [(one["topology.rtt"], one["runs"]) for one in points] == [("10ms", 3), ("20ms", 3)]
    for one in points:
        mine = [row for row in rows if row["topology.rtt"] == one["topology.rtt"]]
        values = [row["queue_mean_pkts"] for row in mine]
        assert one["queue_mean_pkts"] == pytest.approx(sum(values) / 3, rel=1e-12)
        half = stats.t.ppf(0.975, 2) * stats.sem(values)
        assert one["queue_mean_pkts_half"] == pytest.approx(half, rel=1e-9)
        assert (one["queue_mean_pkts_min"], one["queue_mean_pkts_max"]) == (
            min(values),
            max(values),
        )
        assert one["queue_mean_pkts_n"] == 3
        assert cp.load(Store(store).directory(mine[0]["run"])).fingerprint == mine[0]["fingerprint"]
    few = sweep.points(sweep.load(made, reps=2), store).to_pylist()
    assert [one["queue_mean_pkts_half"] for one in few] == [None, None]
    page = sweep.report(spec, store, tmp_path / "page").read_text(encoding="utf-8")
    assert f'"command":"clearpipe run {base["name"]}.toml"' in page, "which the page saves"


def test_an_axis_called_like_another_column_keeps_its_own(tmp_path: Path) -> None:
    """`zip` lets a file call an axis as it likes, as a metric or as a count of runs, too."""
    text = """[sweep]
vary."topology.rtt" = ["10ms", "20ms"]
zip = [
  { name = "queue_mean_pkts", "flows.a.count" = [1, 2], labels = ["few", "more"] },
  { name = "runs", "duration" = ["2s"], labels = ["short"] },
  { name = "seed", "warmup" = ["1s"], labels = ["later"] },
]
"""
    spec, store = sweep.load(write(tmp_path, text)), str(tmp_path / "store")
    sweep.run(spec, store)
    points = sweep.points(spec, store).to_pylist()
    assert [one["axis_queue_mean_pkts"] for one in points] == ["few", "more"] * 2
    assert [(one["axis_runs"], one["seed"], one["runs"]) for one in points] == [
        ("short", "later", 1)
    ] * 4
    rows = sweep.table(spec, store).to_pylist()
    assert {(row["axis_queue_mean_pkts"], row["runs"], row["axis_seed"]) for row in rows} == {
        ("few", "short", "later"),
        ("more", "short", "later"),
    }
    for row in rows:
        alone = cp.load(Store(store).directory(row["run"]))
        assert row["queue_mean_pkts"] == alone.summary["links"][0]["queue_mean_pkts"]
        assert row["seed"] == alone.meta["seed"]
    from pyarrow import parquet

    sweep.export(spec, store, tmp_path / "data")
    flows = parquet.read_table(tmp_path / "data" / "flows.parquet")
    assert set(flows["axis_seed"].to_pylist()) == {"later"}


def test_schemes_share_their_random_numbers(tmp_path: Path) -> None:
    text = '[sweep]\nreps = 2\n[[sweep.zip]]\n"flows.a.protocol" = ["reno", "sack"]\n'
    store = tmp_path / "store"
    spec = sweep.load(write(tmp_path, text))
    sweep.run(spec, store)
    starts: dict[int, set[tuple[float, ...]]] = {}
    for row in sweep.table(spec, store).to_pylist():
        flows = cp.load(Store(store).directory(row["run"])).flows
        starts.setdefault(row["rep"], set()).add(tuple(flows.column("start_s")))
    assert [len(found) for found in starts.values()] == [1, 1]
    assert starts[0] != starts[1]


def test_a_failed_run_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    # A warm-up as long as the run leaves nothing to measure.
    text = '[sweep]\nreps = 2\nvary."warmup" = ["0s", "1s"]\n'
    file = write(tmp_path, text)
    done = call("sweep", "run", file, "--store", "store", cwd=tmp_path, expect=1)
    assert "2 of 4 runs done (2 now), 2 failed" in done.stdout
    shown = call("sweep", "status", file, "--store", "store", cwd=tmp_path)
    assert "2 x " in shown.stdout
    assert "warmup" in shown.stdout
    rows = sweep.table(sweep.load(file), tmp_path / "store").to_pylist()
    assert [row["state"] for row in rows if row["warmup"] == "1s"] == ["failed"] * 2
    assert "warm-up of 1s leaves nothing" in next(r["error"] for r in rows if r["error"])


def test_what_is_damaged_is_named_and_done_again(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    store = tmp_path / "store"
    sweep.run(sweep.load(file), store)
    before = seals(store)
    cut, changed, gone, empty = sorted(before)[:4]
    place = Store(store)
    flows = place.directory(cut) / "flows.parquet"
    flows.write_bytes(flows.read_bytes()[:-7])
    summary = place.directory(changed) / "summary.json"
    summary.write_text(summary.read_text().replace("0", "1", 1))
    (place.directory(gone) / "links.parquet").unlink()
    for path in place.directory(empty).iterdir():
        if path.is_file():
            path.unlink()
    bad = call("sweep", "status", file, "--store", store, "--verify", cwd=tmp_path, expect=1)
    done = call("sweep", "run", file, "--store", store, cwd=tmp_path)
    for name in (flows, summary, place.directory(gone) / "links.parquet", empty):
        assert str(name) in bad.stdout
        assert str(name) in done.stderr
    assert "20 of 20 runs done (4 now)" in done.stdout
    assert seals(store) == before


def test_shards_do_each_run_once(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    parts = []
    for index in range(3):
        out = call(
            "sweep", "run", file, "--shard", f"{index}/3", "--store", "s", "--json", cwd=tmp_path
        )
        parts.append(json.loads(out.stdout)["fresh"])
    assert sum(parts) == 20
    assert min(parts) > 0
    assert set(times_done(tmp_path / "s").values()) == {1}


def test_max_time_is_75_and_the_same_command_goes_on(tmp_path: Path) -> None:
    slow = BASE.replace('"1s"', '"1000000s"').replace("10Mbps", "1Mbps")
    file = write(tmp_path, '[sweep]\nreps = 2\nvary."flows.a.count" = [1, 2]\n', slow)
    out = call("sweep", "run", file, "--max-time", "1s", cwd=tmp_path, expect=75)
    assert "the same command continues" in out.stderr
    status = call("sweep", "status", file, cwd=tmp_path)
    assert "0 of 4 runs done, 0 failed, 4 missing" in status.stdout
    assert not list((tmp_path / "results/store/runs").glob("*/.partial-*"))


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_sweep_and_it_goes_on(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    slow = BASE.replace('"1s"', '"400s"')
    file = write(tmp_path, '[sweep]\nreps = 40\nvary."flows.a.count" = [1, 2]\n', slow)
    running = subprocess.Popen(command("sweep", "run", file), cwd=tmp_path, stderr=subprocess.PIPE)
    journal = tmp_path / "results/store/journal.jsonl"
    wait_for(journal.is_file)
    running.send_signal(sent)
    _, said = running.communicate(timeout=30)
    assert running.returncode == code, said
    done = len(times_done(tmp_path / "results/store"))
    assert 0 < done < 80
    out = call("sweep", "status", file, "--json", cwd=tmp_path)
    assert json.loads(out.stdout)["done"] == done


def wait_for(holds, timeout_s: float = 30) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_two_runners_at_once_do_each_run_once(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL.replace("reps = 5", "reps = 50"))
    both = [
        subprocess.Popen(command("sweep", "run", file, "-q"), cwd=tmp_path, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for one in both:
        one.communicate(timeout=120)
    # The one that ends first may leave runs to the other.
    assert {one.returncode for one in both} in ({0}, {0, 75})
    times = times_done(tmp_path / "results/store")
    assert len(times) == 200
    assert set(times.values()) == {1}
    undisturbed = tmp_path / "alone"
    sweep.run(sweep.load(file), undisturbed)
    assert seals(tmp_path / "results/store") == seals(undisturbed)


def test_a_run_that_another_runner_works_on_is_left_to_it(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    spec, store = sweep.load(file), Store(tmp_path / "results/store")
    store.open()
    run = next(one for one in runner.runs(spec, None, [0]) if not isinstance(one, tuple))
    with store.claimed(run.identity) as ours:
        assert ours
        done = call("sweep", "run", file, "-q", cwd=tmp_path, expect=75)
    assert "19 of 20 runs done (19 now), 1 left to another runner" in done.stdout
    assert "nothing else is missing" in done.stderr
    assert "20 of 20 runs done (1 now)" in call("sweep", "run", file, "-q", cwd=tmp_path).stdout


def kill_and_resume(tmp_path: Path, kills: int, reps: int) -> int:
    """kill -9 at random moments; at the end the store is that of an undisturbed sweep.

    Gives how many of the kills found work left.
    """
    # Runs of some 20 ms, so that most kills find some in flight.
    slow = BASE.replace('"1s"', '"60s"')
    file = write(tmp_path, SMALL.replace("reps = 5", f"reps = {reps}"), slow)
    undisturbed = tmp_path / "alone"
    sweep.run(sweep.load(file), undisturbed)
    draw = random.Random(1)
    store = tmp_path / "store"
    found_work = 0
    for _ in range(kills):
        running = subprocess.Popen(
            command("sweep", "run", file, "-q", "--store", store),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
        )
        time.sleep(draw.uniform(0.0, 0.6))
        running.kill()
        found_work += running.wait() == -signal.SIGKILL
    call("sweep", "run", file, "--store", store, cwd=tmp_path)
    assert seals(store) == seals(undisturbed)
    assert max(times_done(store).values()) == 1
    assert not list(store.rglob(".partial-*"))
    return found_work


def test_killed_runners_leave_a_store_that_goes_on(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, kills=4, reps=10)


@pytest.mark.long
def test_fifty_kills(tmp_path: Path) -> None:
    assert kill_and_resume(tmp_path, kills=50, reps=100) >= 30


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_is_a_clear_error_and_the_store_stays_whole(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this system does not let root mount a tmpfs")
    try:
        file = write(tmp_path, SMALL)
        full = call("sweep", "run", file, "--store", small / "store", cwd=tmp_path, expect=1)
        assert "No space left on device" in full.stderr
        there = len(seals(small / "store"))
        assert 0 < there < 20
        assert not list((small / "store").rglob(".partial-*"))
        grown = ["mount", "-o", "remount,size=20m", str(small)]
        subprocess.run(grown, check=True)
        done = call("sweep", "run", file, "--store", small / "store", cwd=tmp_path)
        assert f"20 of 20 runs done ({20 - there} now)" in done.stdout
        assert len(seals(small / "store")) == 20
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_directory_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    file = write(tmp_path, SMALL)
    out = call("sweep", "run", file, "--store", "mine", cwd=tmp_path, expect=1)
    assert "mine: not a store, and not empty" in out.stderr
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_until_stops_when_the_interval_is_narrow(tmp_path: Path) -> None:
    text = """[sweep]
    until = { ci = "1%", metric = "groups.a.goodput_mean_bps", min_reps = 3, max_reps = 40 }
    vary."topology.rtt" = ["10ms", "200ms"]
    """
    spec = sweep.load(write(tmp_path, text))
    sweep.run(spec, tmp_path / "store")
    from clearpipe.sweep import results

    found = results.read(spec, Store(tmp_path / "store"))
    for point in spec.points:
        interval = found.interval(point, "groups.a.goodput_mean_bps")
        assert interval is not None
        assert interval.n == 40 or interval.ratio <= 0.01
        assert interval.n >= 3
    again = sweep.run(spec, tmp_path / "store")
    assert again.fresh == 0


def test_the_report_draws_what_plot_says(tmp_path: Path) -> None:
    plot = """[plot]
    x = "topology.rtt"
    x_scale = "log"
    y = ["utilization_ratio", "links.bottleneck.queue_mean_pkts"]
    title = "Two <measures>"
    """
    file = write(tmp_path, SMALL + plot)
    call("sweep", "run", file, cwd=tmp_path)
    out = call("sweep", "report", file, "--out", "out", cwd=tmp_path)
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "Two \\u003cmeasures>" in page
    for kind in ("png", "svg", "pdf"):
        assert (tmp_path / f"out/plot.{kind}").stat().st_size > 2000
        assert f"out/plot.{kind}" in out.stdout
    first = (tmp_path / "out/plot.svg").read_bytes()
    call("sweep", "report", file, "--out", "out", cwd=tmp_path)
    assert (tmp_path / "out/plot.svg").read_bytes() == first
    lines = (tmp_path / "out/runs.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 21


def test_python_draws_what_the_command_draws(tmp_path: Path) -> None:
    plots = """[plot.one]
    x = "topology.rtt"
    y = "utilization_ratio"
    [plot.two]
    x = "topology.rtt"
    y = "queue_mean_pkts"
    """
    file = write(tmp_path, SMALL + plots)
    spec, store = sweep.load(file), tmp_path / "store"
    sweep.run(spec, store)
    call("sweep", "report", file, "--store", "store", "--out", "out", cwd=tmp_path)
    page = sweep.report(spec, store, tmp_path / "page")
    assert page == tmp_path / "page" / "report.html"
    names = {f"{plot}.{kind}" for plot in ("one", "two") for kind in ("png", "svg", "pdf")}
    assert {path.name for path in page.parent.iterdir()} == names | {"report.html", "runs.csv"}
    (tmp_path / "figures").mkdir()
    drawn = sweep.figure(spec, store, tmp_path / "figures", "two")
    assert {path.name for path in drawn} == {"two.png", "two.svg", "two.pdf"}
    for path in [page.parent / "runs.csv", page.parent / "one.svg", *drawn]:
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()
    with pytest.raises(cp.ConfigError, match=r"a figure called 'thre' is wanted.*one, two"):
        sweep.figure(spec, store, tmp_path / "figures", "thre")


@pytest.mark.parametrize(
    ("said", "scales"),
    [
        ("", ("log", "linear")),
        ('x_scale = "linear"', ("linear", "linear")),
        ('y_scale = "log"', ("log", "log")),
    ],
)
def test_files_and_the_page_have_the_same_scales(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, scales: tuple[str, str]
) -> None:
    """Settings that spread over a decade are on a logarithmic axis unless the file says else."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from clearpipe import style
    from clearpipe.sweep import drawing, results, study

    text = '[sweep]\nvary."topology.rtt" = ["10ms", "100ms"]\n'
    plot = f'[plot]\nx = "topology.rtt"\ny = "utilization_ratio"\n{said}\n'
    spec = sweep.load(write(tmp_path, text + plot))
    sweep.run(spec, tmp_path / "store")
    table = results.read(spec, Store(tmp_path / "store"))
    drawn: list[Any] = []
    monkeypatch.setattr(style, "save", lambda figure, *_: drawn.append(figure))
    drawing.draw(table, spec.plots[0], tmp_path)
    (axes,) = drawn[0].axes
    assert (axes.get_xscale(), axes.get_yscale()) == scales
    (paged,) = study.study(table, ["utilization_ratio"], tmp_path)["plots"]
    assert (paged["log"], paged["ylog"]) == tuple(scale == "log" for scale in scales)


def test_notes_count_in_words_that_suit(tmp_path: Path) -> None:
    from clearpipe.sweep import page, results

    assert page.not_random(1).startswith("1 point has replications ")
    assert page.not_random(2).startswith("2 points have replications ")
    (one,) = page.other_models({"reno 0": ["a" * 64]})
    assert one.startswith("1 run of this sweep is of reno 0, and not used: aaaa")
    file = write(tmp_path, '[sweep]\nvary."topology.rtt" = ["10ms"]\nreps = 2\n')
    sweep.run(sweep.load(file, reps=1), tmp_path / "store")
    table = results.read(sweep.load(file), Store(tmp_path / "store"))
    told = list(page.notes(table))
    assert told[0] == "1 run is missing; `clearpipe sweep run` does it."
    assert told[1].startswith("1 point has fewer than 3 replications, ")


def test_a_point_without_a_link_has_a_dash() -> None:
    from clearpipe import units
    from clearpipe.sweep import page

    table: Any = SimpleNamespace(
        spec=SimpleNamespace(axes=()), links=["a", "b"], link=lambda _point: None
    )
    point: Any = None
    assert page.place(table, point) == [units.DASH]


def test_a_forecast_has_no_exponents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from clearpipe import units
    from clearpipe.cli import app

    told = forecast.Forecast(1, 0, 0, 1, 1.25e9, 12345.0, 1.0, 1.0, 1, 1e6, 1e6, 1, 0)
    monkeypatch.setattr(forecast, "forecast", lambda *_: told)
    app(["sweep", "run", str(write(tmp_path, SMALL)), "--dry-run"], standalone_mode=False)
    events, hops = units.THIN.join(["1", "250", "000", "000"]), f"12{units.THIN}345"
    assert f"events   {events}, packet-hops {hops}" in capsys.readouterr().out


def test_a_real_kernel_is_a_part_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans that are kept in the store name the runs of the kernel that they were made on only."""
    spec = replace(sweep.load(write(tmp_path, SMALL)), engine="linux")
    store = Store(tmp_path / "store")
    store.plans.mkdir(parents=True)
    # A faked core, as it tells kernels apart.
    kernel = [""]
    monkeypatch.setattr(
        _core,
        "identities",
        lambda *_, reps, **__: (
            [f"{kernel[0]}-{rep}" for rep in reps],
            {"kernel": kernel[0]},
            None,
        ),
    )
    monkeypatch.setattr(_core, "versions", lambda: {"linux engine": "4", "kernel": kernel[0]})
    found = {}
    for release in ("6.1.0", "6.18.0", "6.1.0"):
        kernel[0] = release
        found[release] = runner.planned(spec, store, range(2))
        names = [f"{release}-0", f"{release}-1"]
        assert found[release] == [(names, {"kernel": release}, None)] * 4
    assert len(list(store.plans.iterdir())) == 2
    monkeypatch.setattr(Store, "present", lambda _: {"6.1.0-1", "6.18.0-0"})
    others = runner.of_other_models(spec, store)
    assert others == {"kernel 6.18.0": ["6.18.0-0"]}
    # Simulations are the same on all.
    simulated = replace(spec, engine="packet")
    runner.planned(simulated, store, range(2))
    kernel[0] = "6.18.0"
    runner.planned(simulated, store, range(2))
    assert len(list(store.plans.iterdir())) == 3


def test_a_preset_that_changed_makes_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that is kept holds only as long as the names in it stand for the same values."""
    spec = sweep.load(write(tmp_path, SMALL))
    store = Store(tmp_path / "store")
    store.plans.mkdir(parents=True)
    before = runner.planned(spec, store, range(1))
    queues = _core.queues_json()
    monkeypatch.setattr(_core, "queues_json", lambda: queues.replace("0.1", "0.2"))
    # A faked core, whose runs are others with another preset.
    monkeypatch.setattr(_core, "identities", lambda *_, **__: (["other"], {}, "bottleneck"))
    assert runner.planned(spec, store, range(1)) == before, "asked of the core once"
    runner._registry.cache_clear()
    try:
        assert runner.planned(spec, store, range(1)) == [(["other"], {}, "bottleneck")] * 4
    finally:
        runner._registry.cache_clear()


def test_plans_know_the_eras_values() -> None:
    """They are in the schema, which is in a plan's key."""
    era = json.loads(_core.schema_json())["properties"]["era"]
    told = dict(zip(era["enum"], era["x-taplo"]["docs"]["enumValues"], strict=True))
    assert 'transport.min_rto = "200ms"' in told["linux-6.1"]
    assert 'protocols.cubic.slow_start = "hystart"' in told["linux-6.1"]
    assert 'transport.min_rto = "1s"' in told["papers"]


def test_runs_of_another_model_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, SMALL)
    spec, store = sweep.load(file), Store(tmp_path / "store")
    sweep.run(spec, store.path)
    now = runner.planned(spec, store, range(5))
    identities = _core.identities

    def of_older(*args: Any, **kw: Any) -> tuple[list[str], dict[str, str], str | None]:
        """Another version has other identities."""
        mine, parts, link = identities(*args, **kw)
        assert "reno" in parts
        assert "bbr" not in parts
        return [x[::-1] for x in mine], parts | {"reno": "0"}, link

    versions = cp.versions()
    with monkeypatch.context() as older:
        older.setattr(_core, "versions", lambda: versions | {"reno": "0"})
        older.setattr(_core, "identities", of_older)
        before = runner.planned(spec, store, range(3))
    assert len(list(store.plans.iterdir())) == 2
    assert not any(isinstance(one, str) for one in [*now, *before])
    for new, old in ((now[0][0][1], before[0][0][1]), (now[2][0][0], before[2][0][0])):
        shutil.copytree(store.directory(new), store.directory(old))
    page = call("sweep", "report", file, "--store", "store", "--out", "o", cwd=tmp_path)
    status = call("sweep", "status", file, "--store", "store", cwd=tmp_path)
    for said in (page.stderr, status.stdout):
        assert "2 runs of this sweep are of reno 0, and not used: " in said
        assert before[0][0][1][:16] in said
    assert "20 of 20 runs done" in status.stdout


def test_runs_of_version_6_are_named(tmp_path: Path) -> None:
    """Its plans say no parts, and are known by the scenario with all defaults that there were."""
    spec, store = sweep.load(write(tmp_path, SMALL)), Store(tmp_path / "store")
    sweep.run(spec, store.path)
    done = sorted(store.present())[:3]
    name = runner._former_name(spec)
    assert name != runner._name(spec)
    old = store.plans / f"{name}.0.json"
    old.write_text(json.dumps({"model_version": "6", "points": [done[:2], done[2:]]}))
    assert runner.of_other_models(spec, store) == {"model 6": done}
    # What cannot be read as a plan says nothing.
    bad = ["[]", "{}", '{"points": [[]]}', '{"points": [3], "parts": [3]}']
    for number, text in enumerate(bad):
        (store.plans / f"{name}.bad{number}.json").write_text(text)
    assert runner.of_other_models(spec, store) == {"model 6": done}


def test_a_kept_plan_that_is_none_is_made_again(tmp_path: Path) -> None:
    spec, store = sweep.load(write(tmp_path, SMALL)), Store(tmp_path / "store")
    store.open()
    found = runner.planned(spec, store, range(2))
    (path,) = store.plans.iterdir()
    path.write_text('{"points": [3], "parts": 3, "bottlenecks": 3}')
    assert runner.planned(spec, store, range(2)) == found


def test_a_sweep_keeps_its_name_when_a_default_comes(tmp_path: Path) -> None:
    spec = sweep.load(write(tmp_path, SMALL))
    assert runner._name(spec) == runner._name(replace(spec, resolved="new_key = 1\n"))
    text = spec.source.text
    other = replace(spec, source=spec.source._replace(text=text.replace('"reno"', '"sack"')))
    assert other.source.text != text
    assert runner._name(spec) != runner._name(other)
    # Comments decide nothing.
    noted = replace(spec, source=spec.source._replace(text=f"# a note\n{text}"))
    assert runner._name(spec) == runner._name(noted)


def test_a_dry_run_counts_what_will_be_done(tmp_path: Path) -> None:
    sweeps = '[sweep]\nreps = 2\nvary."flows.a.count" = [1, 2, 3]\n'
    file = write(tmp_path, sweeps)
    whole, *parts = (
        json.loads(call("sweep", "run", file, "--dry-run", "--json", *more, cwd=tmp_path).stdout)
        for more in ([], ["--shard", "0/2"], ["--shard", "1/2"])
    )
    assert whole["missing"] == 6
    assert sum(part["missing"] for part in parts) == 6
    kept = write(tmp_path, sweeps.replace("reps", 'keep = "summary"\nreps'))
    store = Store(tmp_path / "results/store")
    store.open()
    spec = sweep.load(kept)
    run = next(one for one in runner.runs(spec, store, range(1)) if isinstance(one, runner.Run))
    store.fail(run.identity, {"error": "for this test"})
    failed = json.loads(call("sweep", "run", kept, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert (failed["runs"], failed["failed"], failed["missing"]) == (6, 1, 5)
    retried = ["--retry-failed", "--jobs", 3]
    again = call("sweep", "run", kept, "--dry-run", "--json", *retried, cwd=tmp_path)
    assert json.loads(again.stdout)["missing"] == 6
    assert forecast.forecast(spec, store, 1, runner.Options()).disk_bytes == 5 * 4 * 4096


def test_a_dry_run_does_nothing_and_is_near(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL, BASE.replace('"1s"', '"20s"'))
    out = call("sweep", "run", file, "--dry-run", "--json", cwd=tmp_path)
    said = json.loads(out.stdout)
    assert (said["runs"], said["missing"]) == (20, 20)
    assert not (tmp_path / "results").exists()
    call("sweep", "run", file, cwd=tmp_path)
    store = Store(tmp_path / "results/store")
    hops = sum(store.read_json(run)[0]["packet_hops"] for run in store.present())
    assert said["packet_hops"] == pytest.approx(hops, rel=0.1)
