"""Sweeps that meet others, odd stores, and files that change under them."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from sweeping import BASE, call, command, seals, times_done, write

from clearpipe import ConfigError, RunError, _core, sweep
from clearpipe import seals as sealing
from clearpipe.sweep import progress, results, runner
from clearpipe.sweep import store as storing
from clearpipe.sweep.store import Store
from clearpipe.until import Until, needed

SMALL = """[sweep]
reps = 5
vary."topology.rtt" = ["10ms", "20ms", "40ms", "80ms"]
"""

UNTIL = """[sweep]
until = { ci = "2%", metric = "queue_mean_pkts", min_reps = 3, max_reps = 20 }
vary."topology.rtt" = ["10ms", "20ms", "40ms", "80ms"]
"""


def together(count: int, *arguments: object, cwd: Path) -> list[tuple[int, str]]:
    """Several of one command at once: exit codes and what they said."""
    running = [
        subprocess.Popen(
            command(*arguments), cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for _ in range(count)
    ]
    said = [one.communicate(timeout=120)[1].decode() for one in running]
    return [(one.returncode, text) for one, text in zip(running, said, strict=True)]


def test_runners_that_make_a_store_at_once_make_one(tmp_path: Path) -> None:
    def make(_: int) -> str:
        store = Store(tmp_path / "threads")
        barrier.wait()
        store.open()
        return store.identify()

    for _ in range(20):
        shutil.rmtree(tmp_path / "threads", ignore_errors=True)
        barrier = threading.Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(make, range(8)))) == 1
    file = write(tmp_path, SMALL)
    ends = together(4, "sweep", "run", file, "-q", "--store", "store", cwd=tmp_path)
    assert {code for code, _ in ends} in ({0}, {0, 75}), ends
    assert len(seals(tmp_path / "store")) == 20


@pytest.mark.parametrize("left", ["folders", "empty head"])
def test_a_store_whose_maker_died_is_finished(tmp_path: Path, left: str) -> None:
    store = Store(tmp_path / "store")
    store.runs.mkdir(parents=True)
    if left == "empty head":
        (store.path / "store.json").touch()
    with pytest.raises(RunError, match="not a store"):
        store.identify()
    store.open()
    assert store.identify() == Store(store.path).identify()


def test_status_needs_no_store_but_no_other_directory(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    none = call("sweep", "status", file, "--store", "none", cwd=tmp_path)
    assert "0 of 20 runs done, 0 failed, 20 missing" in none.stdout
    assert not (tmp_path / "none").exists()
    (tmp_path / "other").mkdir()
    other = call("sweep", "status", file, "--store", "other", cwd=tmp_path, expect=1)
    assert "other: not a store" in other.stderr


def test_runners_that_find_the_same_damage_repair_it_once(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    path = tmp_path / "store"
    sweep.run(sweep.load(file), path)
    before = seals(path)
    for identity in before:
        (Store(path).directory(identity) / "summary.json").write_text("{}")
    ends = together(4, "sweep", "run", file, "-q", "--store", path, cwd=tmp_path)
    assert {code for code, _ in ends} in ({0}, {0, 75}), ends
    assert seals(path) == before
    assert set(times_done(path).values()) == {2}


def test_damage_that_another_runner_repaired_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = sweep.load(write(tmp_path, SMALL))
    store = Store(tmp_path / "store")
    sweep.run(spec, store.path)
    found = store.damage
    asked: list[str] = []

    def first_bad(identity: str) -> storing.Damage | None:
        asked.append(identity)
        if asked.count(identity) == 1:
            return storing.Damage(identity, store.path, "for this test")
        return found(identity)

    monkeypatch.setattr(store, "damage", first_bad)
    again = runner.Sweep(
        spec, store, runner.Threads(1), runner.Options(), progress.Watching()
    ).run()
    assert (again.done, again.fresh, again.damaged) == (20, 0, [])
    assert len(asked) == 40
    store.remove("0" * 64)  # what is gone already


def test_threads_of_a_process_exclude_each_other(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "store"), Store(tmp_path / "store")
    one.open()
    identity = "ab" * 32
    with one.claimed(identity) as ours:
        assert ours
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(lambda: other.claimed(identity).__enter__()).result()
    with other.claimed(identity) as ours:
        assert ours


def test_a_store_that_was_made_anew_has_locks_of_its_own(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.open()
    before = storing._locks(store.path / "locks")
    shutil.rmtree(store.path)
    store.open()
    after = storing._locks(store.path / "locks")
    assert before != after
    assert storing._is_at(after, store.path / "locks")


def test_sweeps_in_threads_do_each_run_once(tmp_path: Path) -> None:
    spec = sweep.load(write(tmp_path, SMALL))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: sweep.run(spec, tmp_path / "store", jobs=2), range(4)))
    assert len(seals(tmp_path / "store")) == 20
    assert set(times_done(tmp_path / "store").values()) == {1}


def test_a_file_that_changes_ends_the_sweep(tmp_path: Path) -> None:
    base = BASE.replace('rate = "10Mbps"', 'trace = "up.trace"')
    file = write(tmp_path, SMALL, base)
    trace = tmp_path / "up.trace"
    trace.write_text("1\n2\n3\n")
    spec = sweep.load(file)

    class Changing(progress.Watching):
        def begin(self, tally: runner.Tally) -> None:
            trace.write_text("1\n2\n7\n")

    again = runner.Sweep(
        spec,
        Store(tmp_path / "store"),
        runner.Threads(1),
        runner.Options(),
        Changing(),
    )
    with pytest.raises(RunError, match="the scenario or a file that it names has changed"):
        again.run()
    assert seals(tmp_path / "store") == {}


def test_a_plan_knows_files_by_their_content(tmp_path: Path) -> None:
    sweeps = '[sweep]\nvary."topology.trace" = ["a.trace", "b.trace"]\n'
    (tmp_path / "a.trace").write_text("1\n2\n3\n")
    (tmp_path / "b.trace").write_text("1\n2\n4\n")
    spec = sweep.load(write(tmp_path, sweeps, BASE.replace('rate = "10Mbps"', "trace = [1, 2]")))
    store = Store(tmp_path / "store")
    store.open()
    before = runner.planned(spec, store, range(1))
    about = (tmp_path / "b.trace").stat()
    (tmp_path / "b.trace").write_text("1\n2\n5\n")
    os.utime(tmp_path / "b.trace", ns=(about.st_atime_ns, about.st_mtime_ns))
    after = runner.planned(spec, store, range(1))
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_shards_with_until_go_on_when_the_others_did_their_part(tmp_path: Path) -> None:
    file = write(tmp_path, UNTIL)
    alone = tmp_path / "alone"
    tally = sweep.run(sweep.load(file), alone)
    assert tally.wanted > 4 * 3
    first = ["sweep", "run", file, "--store", "store", "--shard"]
    waits = call(*first, "0/2", cwd=tmp_path, expect=75)
    assert "wait for runs of other shards or runners" in waits.stderr
    for turn in range(40):
        done = subprocess.run(
            command(*first, f"{(turn + 1) % 2}/2"), cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode in (0, 75), done.stderr
        status = call("sweep", "status", file, "--store", "store", "--json", cwd=tmp_path)
        if done.returncode == 0:
            break
    assert json.loads(status.stdout)["missing"] == 0
    assert seals(tmp_path / "store") == seals(alone)


def test_status_of_until_counts_what_was_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path, UNTIL)
    begun = call("sweep", "status", file, cwd=tmp_path)
    assert "0 of 12 runs done, 0 failed, 12 missing" in begun.stdout
    done = call("sweep", "run", file, "--json", cwd=tmp_path)
    number = json.loads(done.stdout)["done"]
    assert 12 < number < 80
    status = call("sweep", "status", file, cwd=tmp_path)
    assert f"{number} of {number} runs done, 0 failed, 0 missing" in status.stdout


def test_how_many_replications_are_needed() -> None:
    until = Until("x", 0.02, 3, 40)
    assert needed(until, [1.0, 1.0, 1.0], 3) == 3
    assert needed(until, [1.0, 1.5, 2.0], 3) == 6
    # With two that failed, growth is from what was done.
    assert needed(until, [1.0, 1.5, 2.0], 5) == 10
    assert needed(until, [1.0], 4) == 8
    assert needed(until, [], 3) == 3
    assert needed(until, [1.0, 1.0], 3, lacking=1) == 40
    assert needed(until, [1.0, 2.0], 40) == 40


def test_a_metric_that_only_some_runs_have_is_no_error(tmp_path: Path) -> None:
    text = """[sweep]
    until = { ci = "5%", metric = "groups.a.fct_p50_s", min_reps = 5, max_reps = 8 }
    vary."flows.a.start" = ["0s", "uniform(600ms, 1190ms)", "995ms"]
    """
    base = BASE.replace('start = "uniform(0s, 100ms)"', 'size = "100kB"').replace("reno", "sack")
    file = write(tmp_path, text, base.replace('"1s"', '"1200ms"'))
    spec = sweep.load(file)
    sweep.run(spec, tmp_path / "results/store")
    rows = sweep.table(spec, tmp_path / "results/store").to_pylist()
    lacks: dict[str, list[bool]] = {}
    for row in rows:
        value = row["groups.a.fct_p50_s"]
        lacks.setdefault(row["flows.a.start"], []).append(math.isnan(value))
    assert lacks["0s"] == [False] * 5
    assert len(set(lacks["uniform(600ms, 1190ms)"])) == 2
    assert len(lacks["uniform(600ms, 1190ms)"]) == 8
    out = call("sweep", "report", file, cwd=tmp_path)
    assert "points have runs without groups.a.fct_p50_s: " in out.stderr
    assert "(n = " in out.stdout
    assert "nothing in them is random" in out.stderr


@pytest.mark.parametrize(
    ("metric", "meant"),
    [
        ("queue_maen_pkts", "queue_mean_pkts"),
        ("links.bottlenek.queue_mean_pkts", "links.bottleneck.queue_mean_pkts"),
        ("jain_index", "jain_index_ratio"),
        ("groups.b.timeouts", "groups.a.timeouts"),
    ],
)
@pytest.mark.parametrize(
    ("text", "until", "key"),
    [
        (UNTIL, "", "sweep.until.metric"),
        (SMALL, "ci=5%,metric={}", "--until"),
        (SMALL + '[plot]\nx = "topology.rtt"\ny = ["drop_ratio", "{}"]\n', "", "plot.y"),
        (SMALL + '[plot.one]\nx = "topology.rtt"\ny = "{}"\n', "", "plot.one.y"),
    ],
)
def test_a_metric_that_no_run_can_have_is_refused_before_the_first(
    tmp_path: Path, metric: str, meant: str, text: str, until: str, key: str
) -> None:
    text = text.replace("queue_mean_pkts", metric).replace("{}", metric)
    file = write(tmp_path, text)
    file = write(tmp_path, text)
    told = f"{file}: {key}: unknown metric {metric!r}; did you mean {meant}?"
    with pytest.raises(ConfigError) as refused:
        sweep.load(file, until=until.format(metric) if until else None)
    assert str(refused.value) == told


def test_every_command_refuses_it(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL + '[plot]\nx = "topology.rtt"\ny = "jain_index"\n')
    told = f"clearpipe: {file}: plot.y: unknown metric 'jain_index'; did you mean jain_index_"
    for one in ("sweep run", "sweep run --dry-run", "sweep status", "sweep report", "show"):
        assert call(*one.split(), file, cwd=tmp_path, expect=3).stderr == f"{told}ratio?\n"
    assert not (tmp_path / "results").exists()


def test_groups_of_some_points_have_metrics_in_all(tmp_path: Path) -> None:
    # The second group is there in one of the points only.
    two = 'vary."flows.b" = [{ protocol = "reno", count = 1 }]\n'
    plot = '[plot]\nx = "topology.rtt"\ny = ["groups.b.timeouts", "groups.a.timeouts"]\n'
    text = '[sweep]\nvary."topology.rtt" = ["10ms", "20ms"]\n' + two + plot
    assert len(sweep.load(write(tmp_path, text)).points) == 2


def test_a_metric_that_no_run_happens_to_have_is_noted(tmp_path: Path) -> None:
    text = SMALL + '[plot]\nx = "topology.rtt"\ny = ["groups.a.fct_mean_s", "drop_ratio"]\n'
    file = write(tmp_path, text)
    call("sweep", "run", file, cwd=tmp_path)
    out = call("sweep", "report", file, cwd=tmp_path)
    assert "No run has a value of groups.a.fct_mean_s (plot.y)." in out.stderr
    text = text.replace("reps = 5", 'until = { ci = "5%", metric = "groups.a.fct_p50_s" }')
    out = call("sweep", "run", write(tmp_path, text), cwd=tmp_path, expect=3)
    assert "sweep.until.metric: no run has a value of groups.a.fct_p50_s" in out.stderr


def test_a_metric_that_is_like_none_lists_the_short_names() -> None:
    from clearpipe.sweep import metrics

    known = {"utilization_ratio": 1.0, "links.b.utilization_ratio": 1.0}
    with pytest.raises(ConfigError, match=r"there are utilization_ratio$"):
        metrics.check("zzz", known, "plot.y")


def test_a_time_too_short_for_any_run_says_so(tmp_path: Path) -> None:
    slow = BASE.replace('"1s"', '"1000000s"')
    file = write(tmp_path, "[sweep]\nreps = 2\n", slow)
    out = call("sweep", "run", file, "--max-time", "1s", cwd=tmp_path, expect=75)
    assert "no run ended within it" in out.stderr


def test_a_store_that_cannot_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = sweep.load(write(tmp_path, SMALL))
    store = Store(tmp_path / "store")
    sweep.run(spec, store.path)
    for plan in store.plans.iterdir():
        plan.unlink()

    def read_only(path: Path, _: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(runner, "write_whole", read_only)
    assert runner.standing(spec, store).done == 20
    assert sweep.table(spec, store.path).num_rows == 20


def test_stray_files_in_a_store_are_passed_over(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    sweep.run(sweep.load(file), tmp_path / "results/store")
    runs = tmp_path / "results/store/runs"
    (runs / ".DS_Store").write_text("x")
    (runs / "ab").mkdir(exist_ok=True)
    (runs / "ab" / "notes.txt").write_text("x")
    (runs / "ab" / ".partial-notes").mkdir()
    (runs / "ab" / ("ab" * 32)).write_text("a file with a run's name")
    for command_ in ("status", "run"):
        done = call("sweep", command_, file, cwd=tmp_path)
        assert "20 of 20 runs done" in done.stdout


def test_a_result_that_is_there_already_is_kept(tmp_path: Path) -> None:
    import clearpipe as cp

    spec = sweep.load(write(tmp_path, SMALL))
    store = Store(tmp_path / "store")
    sweep.run(spec, store.path)
    identity = sorted(store.present())[0]
    result = cp.load(store.directory(identity))
    before = times_done(store.path)
    assert not store.add(identity, result, "all")
    assert times_done(store.path) == before
    assert not list(store.path.rglob(".partial-*"))


def test_a_journal_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.open()
    (store.path / "journal.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device.*journal\.jsonl"):
        store.note("ab" * 32, "done")


def test_a_damaged_summary_is_a_row_and_not_the_end(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    spec = sweep.load(file)
    sweep.run(spec, tmp_path / "results/store")
    store = Store(tmp_path / "results/store")
    bad, odd = sorted(store.present())[:2]
    (store.directory(bad) / "summary.json").write_text("{")
    (store.directory(odd) / "summary.json").write_text("[]")
    out = call("sweep", "report", file, cwd=tmp_path)
    assert out.stderr.count("A run cannot be read: ") == 2
    assert "18 runs done, 2 damaged" in out.stdout
    rows = sweep.table(spec, store.path).to_pylist()
    assert {row["run"] for row in rows if row["state"] == "damaged"} == {bad, odd}


def test_run_status_and_report_count_invalid_points_alike(tmp_path: Path) -> None:
    file = write(tmp_path, '[sweep]\nreps = 3\nvary."warmup" = ["0s", "1s"]\n')
    ran = call("sweep", "run", file, cwd=tmp_path, expect=1)
    assert "3 of 6 runs done (3 now), 3 failed" in ran.stdout
    assert "3 failed" in call("sweep", "status", file, cwd=tmp_path).stdout
    assert "3 runs done, 3 failed" in call("sweep", "report", file, cwd=tmp_path).stdout


def test_jobs_are_no_option_of_dask(tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    options = ["--executor", "dask", "--scheduler", "tcp://127.0.0.1:1", "--jobs", 2]
    out = call("sweep", "run", file, *options, cwd=tmp_path, expect=2)
    assert "--jobs needs --executor local" in out.stderr


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def damaged(folder: Path) -> Store:
    """A store with the runs of SMALL, and what its report says."""
    write(folder, SMALL)
    call("sweep", "run", "sweep.toml", "-q", "--store", "store", cwd=folder)
    return Store(folder / "store")


def table(folder: Path) -> str:
    call("sweep", "report", "sweep.toml", "--store", "store", "--out", "o", cwd=folder)
    return (folder / "o/runs.csv").read_text(encoding="utf-8")


def test_runs_that_changed_places_are_told_and_done_again(tmp_path: Path) -> None:
    store = damaged(tmp_path)
    right = table(tmp_path)
    one, other = (store.directory(identity) for identity in sorted(store.present())[:2])
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    status = call(
        "sweep", "status", "sweep.toml", "--store", "store", "--verify", cwd=tmp_path, expect=1
    )
    assert status.stdout.count("the result of another run") == 2
    told = call("sweep", "report", "sweep.toml", "--store", "store", "--out", "o", cwd=tmp_path)
    assert told.stderr.count("the result of another run") == 2
    assert "2 damaged" in told.stdout
    again = call("sweep", "run", "sweep.toml", "--store", "store", cwd=tmp_path)
    assert "20 of 20 runs done (2 now)" in again.stdout
    assert table(tmp_path) == right


@pytest.mark.parametrize("file", ["summary.json", "seal.json"])
def test_an_edited_file_is_told_and_done_again(tmp_path: Path, file: str) -> None:
    store = damaged(tmp_path)
    right = table(tmp_path)
    folder = store.directory(min(store.present()))
    if file == "seal.json":
        about = json.loads((folder / file).read_text(encoding="utf-8"))
        (folder / file).write_text(json.dumps(about | {"files": {}, "bytes": {}}), encoding="utf-8")
    else:
        edit(folder / file, '"utilization_ratio": 0.', '"utilization_ratio": 1.')
    told = call("sweep", "report", "sweep.toml", "--store", "store", "--out", "o", cwd=tmp_path)
    name = (folder / file).relative_to(tmp_path)
    assert f"{name}: not the bytes that were written" in told.stderr
    again = call("sweep", "run", "sweep.toml", "--store", "store", cwd=tmp_path)
    assert f"{name}: not the bytes that were written; done again" in again.stderr
    assert "20 of 20 runs done (1 now)" in again.stdout
    assert table(tmp_path) == right


@pytest.mark.parametrize("how", ["points", "digit"])
def test_an_edited_plan_is_told_and_made_again(tmp_path: Path, how: str) -> None:
    store = damaged(tmp_path)
    right = table(tmp_path)
    plans = {path: json.loads(path.read_text(encoding="utf-8")) for path in store.plans.iterdir()}
    path, plan = next((path, plan) for path, plan in plans.items() if len(plan["points"][0]) == 5)
    points = plan["points"]
    if how == "points":
        points[0], points[1] = points[1], points[0]
    else:
        points[0][0] = ("0" if points[0][0][0] != "0" else "1") + points[0][0][1:]
    path.write_text(json.dumps(plan), encoding="utf-8")
    run = call("sweep", "run", "sweep.toml", "--store", "store", cwd=tmp_path)
    assert f"{path.name}: not what was written; worked out anew" in run.stderr
    assert "20 of 20 runs done (0 now)" in run.stdout
    assert "worked out anew" not in call(
        "sweep", "status", "sweep.toml", "--store", "store", cwd=tmp_path
    ).stderr  # fmt: skip
    assert table(tmp_path) == right


def test_an_edited_result_is_told_and_run_again(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(BASE, encoding="utf-8")
    first = call("run", "s.toml", "--out", "r", cwd=tmp_path)
    there = call("run", "s.toml", "--out", "r", cwd=tmp_path)
    assert "was there already" in there.stderr
    edit(tmp_path / "r/summary.json", '"utilization_ratio": 0.', '"utilization_ratio": 1.')
    compared = call("compare", "r", "r", cwd=tmp_path, expect=1)
    assert "r/summary.json: not the bytes that were written" in compared.stderr
    again = call("run", "s.toml", "--out", "r", cwd=tmp_path)
    assert "r/summary.json: not the bytes that were written; run again" in again.stderr
    assert again.stdout.splitlines()[:9] == first.stdout.splitlines()[:9]
    assert "was there already" in call("run", "s.toml", "--out", "r", cwd=tmp_path).stderr


def test_cells_of_numbers_are_those_that_python_writes() -> None:
    """Of all sizes, with the ends of where there is no exponent, and whole ones."""
    random = Random(7)
    values = [random.uniform(-1, 1) * 10 ** random.randint(-30, 30) for _ in range(3000)]
    values += [struct.unpack("<d", random.randbytes(8))[0] for _ in range(3000)]
    values += [0.0, -0.0, 1.0, -3.0, 1e15, 1e16, 9999999999999998.0, 1e-4, 9.999e-5, 0.5, 1e22]
    rows = [{"a": value} for value in values if math.isfinite(value)]
    assert _core.csv_cells(["a"], rows) == [repr(row["a"]) for row in rows]
    assert _core.csv_cells(["a", "b", "c"], [{"b": 2.0}, {"c": 1.0, "a": 3.5}]) == [
        ",2.0,",
        "3.5,,1.0",
    ]


def test_runs_are_read_in_their_order_and_each_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a thread takes at once, some of them damaged, swapped or of another shape."""
    store = Store(tmp_path)
    names = [f"{number:064x}" for number in range(300)]
    for number, name in enumerate(names):
        folder = store.directory(name)
        folder.mkdir(parents=True)
        meta = {"identity": name, "model_version": "7", "fingerprint": "f", "parts": {"a": "1"}}
        link = {"link": 0, "name": "core", "drops_pkts": number, "flag": True}
        group = {"group": "g", "flows": 1, **({"fct_p50_s": 0.5} if number % 2 else {})}
        summary = {"links": [link], "groups": [group], "goodput_bps": None}
        (folder / "meta.json").write_text(json.dumps(meta))
        (folder / "summary.json").write_text(json.dumps(summary))
        (folder / "run.toml").write_text("")
        (folder / "seal.json").write_text(sealing.seal(folder))
    store.directory(names[7]).joinpath("summary.json").write_text("{}")
    edit(store.directory(names[8]) / "meta.json", '"7"', '"8"')
    moved = store.directory(names[10])
    moved.rename(tmp_path / "moved")
    store.directory(names[9]).rename(moved)
    (tmp_path / "moved").rename(store.directory(names[9]))

    found = store.read_numbers([(name, "core") for name in names])
    assert len(found) == 300
    for number, (numbers, damage) in enumerate(found):
        if number in (7, 8, 9, 10):
            assert numbers is None
            file = "summary.json" if number == 7 else "meta.json"
            assert damage.startswith(f"{store.directory(names[number]) / file}: ")
            assert damage.endswith("; `sweep run` finds and repeats it")
            continue
        assert damage == ""
        assert numbers is not None
        late = {"fct_p50_s": 0.5} if number % 2 else {}
        wanted: dict[str, float] = {"links.core.drops_pkts": number, "groups.g.flows": 1}
        wanted |= {f"groups.g.{name}": value for name, value in late.items()}
        assert numbers == (wanted | {"drops_pkts": number, "flows": 1} | late, "7", "f", {"a": "1"})
    assert "2 bytes, " in found[7][1]
    assert "not the bytes that were written" in found[8][1]
    assert "the result of another run" in found[9][1]
    assert "of another run" in found[10][1]

    # So are those of many calls of the core.
    monkeypatch.setattr(storing, "AT_ONCE", 7)
    assert store.read_numbers([(name, "core") for name in names]) == found


def test_a_directory_called_as_a_run_that_cannot_be_moves_no_numbers(tmp_path: Path) -> None:
    """The first point is no scenario; numbers stay those of the second."""
    file = write(tmp_path, '[sweep]\nvary."flows.a.count" = [0, 1]\n')
    call("sweep", "run", file, "--store", "store", cwd=tmp_path, expect=1)
    spec, store = sweep.load(file), Store(tmp_path / "store")
    before = results.read(spec, store).rows
    assert [row.state for row in before] == ["failed", "done"]
    store.directory(before[0].run.identity).mkdir(parents=True)
    assert results.read(spec, store).rows == before


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="paths are text there")
def test_a_report_names_a_damaged_run_in_a_store_whose_path_is_no_text(tmp_path: Path) -> None:
    file = write(tmp_path, "[sweep]\nreps = 2\n")
    folder = tmp_path / os.fsdecode(b"s\xff")
    call("sweep", "run", file, "--store", folder, cwd=tmp_path)
    one = sorted(Store(folder).present())[0]
    Store(folder).directory(one).joinpath("summary.json").write_text("{}")
    call("sweep", "report", file, "--store", folder, "--out", "r", cwd=tmp_path)
    assert f"s\\udcff/runs/{one[:2]}/{one}/summary.json: 2 bytes" in (
        tmp_path / "r" / "runs.csv"
    ).read_text(encoding="utf-8")
