"""`clearpipe attack`: its space, its search, shrinking, and what others have published."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import attack
from clearpipe.attack import known, search, space
from clearpipe.cli import app
from clearpipe.errors import ConfigError
from clearpipe.evaluate.cast import cast

pytest.importorskip("cmaes", reason="cmaes is not installed")

CUBIC = cast("cubic", None, ())


def point(**changes: float) -> dict[str, float]:
    named = {key.replace("_", "-"): value for key, value in changes.items()}
    return {**space.space().harmless, **named}


# The space.


@pytest.mark.parametrize("seed", range(20))
def test_every_point_is_a_valid_scenario(seed: int) -> None:
    dice, of = random.Random(seed), space.space()
    values = of.values([dice.choice((0.0, dice.random(), 1.0)) for _ in of.free])
    for one in of.dimensions:
        assert one.lo <= values[one.name] <= one.hi
    cp.resolve(space.scenario(CUBIC, values, "x"))


def test_dimensions_go_from_end_to_end_and_off_is_off() -> None:
    of = {one.name: one for one in space.space().dimensions}
    assert (of["rate"].at(0.0), of["rate"].at(1.0)) == (1e6, 50e6)
    assert of["rtt"].at(0.5) == pytest.approx(0.0707, rel=1e-3)  # sqrt(5 ms * 1 s)
    assert of["flows"].at(0.5) == 6.0  # sqrt(2 * 16) = 5.66
    assert of["loss"].at(0.2) == 1e-6  # 6.3e-6 is below 1e-5
    assert of["jitter"].at(0.01) == 0.0


def test_capacity_is_the_mean_of_the_levels_that_count() -> None:
    """35 s, the last 21 count: from 14 to 35 s in quarters of 5 s at 1, 1/2, 1, 1/2: 1 s of 1 (to
    15), 5 of 1/2, 5 of 1 (20 to 25 s), 5 of 1/2, 5 of 1."""
    values = point(rate=10e6, period=20.0, level_2=0.5, level_4=0.5)
    assert (space.duration(values), space.warmup(values)) == (35.0, 14.0)
    # 5 to 10 s: 1/2, 15 to 20 s: 1/2, 25 to 30 s: 1/2.
    bits = 1 * 1.0 + 5 * 0.5 + 5 * 1.0 + 5 * 0.5 + 5 * 1.0
    assert space.capacity(values) == pytest.approx(10e6 * bits / 21)


def test_bounds_and_fixed_dimensions_are_kept() -> None:
    of = space.space(["loss"], {"rtt": (0.2, 0.4)})
    assert "loss" not in [one.name for one in of.free]
    assert of.harmless["rtt"] == 0.2
    found = of.values([1.0] * len(of.free))
    assert (found["rtt"], found["loss"]) == (0.4, 1e-6)
    with pytest.raises(ConfigError, match="did you mean jitter"):
        space.space(["jiter"])
    with pytest.raises(ConfigError, match="allowed"):
        space.space([], {"rtt": (0.001, 0.1)})


@pytest.mark.parametrize("text", ["rtt", "rtt=1ms", "rtt=a..b", "rtt=5ms..2s..3s"])
def test_a_bound_that_is_none_is_refused(text: str) -> None:
    assert CliRunner().invoke(app, ["attack", "bbr", "--bound", text]).exit_code == 2


# What a scenario is worth.


def test_an_idle_link_a_starved_flow_and_a_full_buffer_are_worth_little() -> None:
    """UDP at 3/4 of the rate in the place of a control: idle 0.75 of the capacity; of two such
    flows each has half of 1.5, and the buffer stands full."""
    values = point()
    document = space.scenario(CUBIC, values, "x")
    document["protocols"]["host"] = {"kind": "udp"}
    for flow in ("own", "last"):
        document["flows"][flow] |= {"rate": "7.5Mbps"}
    result = cp.run(document)
    assert search.worth("idle", values, result) == pytest.approx(0.75, abs=0.005)
    assert search.worth("starve", values, result) == pytest.approx(0.75, abs=0.005)
    document["flows"]["last"]["rate"] = "1Mbps"
    assert search.worth("starve", values, cp.run(document)) == pytest.approx(0.1, abs=0.005)
    document["flows"]["last"]["rate"] = "20Mbps"
    # 50 ms of 50 + 50: the buffer holds one product, and is full.
    assert search.worth("bloat", values, cp.run(document)) == pytest.approx(0.5, abs=0.02)


# The search.

SLOW = space.space([], {"rate": (1e6, 2e6), "rtt": (0.005, 0.05)})
"""Scenarios that take little time to run."""


def found(folder: Path | None, evaluations: int = 24, **more: object) -> search.Found:
    job = search.Job(CUBIC, "idle", SLOW, 5, evaluations, folder, jobs=2)
    return search.run(replace(job, **more))  # type: ignore[arg-type]


def test_a_seed_finds_the_same_and_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = found(None)
    left = iter([True])
    with pytest.raises(search.Stopped):
        found(tmp_path, goes_on=lambda: next(left, False))
    (journal,) = tmp_path.glob("evaluations-*.jsonl")
    done = len(journal.read_text(encoding="utf-8").splitlines())
    assert done > 1
    with journal.open("a", encoding="utf-8") as file:
        file.write('{"values": {"rat')  # a writer that died
    again = found(tmp_path)
    assert (again.values, again.interval, again.history) == (
        whole.values, whole.interval, whole.history,
    )  # fmt: skip
    lines = journal.read_text(encoding="utf-8").splitlines()
    assert len({json.dumps([(x := json.loads(one))["values"], x["rep"]]) for one in lines[1:]}) == (
        len(lines) - 1
    )
    assert found(tmp_path).values == whole.values
    assert len(journal.read_text(encoding="utf-8").splitlines()) == len(lines)
    other = search.Job(CUBIC, "idle", SLOW, 6, 24, tmp_path)
    assert search.Bench(other).path != journal


def test_shrinking_leaves_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worth 0.1 where the jitter is 20 ms or more, else 1. From 50 ms no halving from 0 on but the
    last, 25 ms, keeps that: 6.25 and 12.5 ms are less; nor does any from 25 ms."""

    def of_rep(bench: object, values: Mapping[str, float], rep: int) -> float:
        return 0.1 if values["jitter"] >= 0.02 else 1.0

    monkeypatch.setattr(search.Bench, "of_rep", of_rep)
    bench = search.Bench(search.Job(CUBIC, "starve", space.space()))
    values = point(jitter=0.05, loss=0.01, flows=9.0, level_1=0.5, rate=3e6)
    small = search._shrunk(bench.job, bench, values, 0.1)
    assert [one.name for one in space.space().differs(small)] == ["jitter"]
    assert small["jitter"] == pytest.approx(0.025)
    whole = search.run(bench.job)
    assert whole.value == 0.1
    assert dict(whole.without) == {"jitter": 1.0}
    assert whole.harmless == 1.0


def test_published_weaknesses_show() -> None:
    for case in known.cases():
        one = known.check(case)
        assert one.shown, f"{case.id}: {one.value}, {one.without}"


def test_the_command_writes_a_scenario_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["attack", "vcp", "--goal", "idle", "--evaluations", "20", "--seed", "3", "-q"]
    command += ["--bound", "rate=1Mbps..2Mbps", "--bound", "rtt=5ms..50ms"]
    done = CliRunner().invoke(app, [*command, "--publish", "docs"])
    assert done.exit_code == 0, done.output
    folder = Path("results/attack/vcp-idle-3")
    told = json.loads((folder / "attack.json").read_text(encoding="utf-8"))
    values = told["values"]
    worth = [
        search.worth("idle", values, cp.run(folder / "worst.toml", seed=3, rep=rep))
        for rep in range(told["replications"])
    ]
    assert sum(worth) / len(worth) == pytest.approx(told["value"], rel=1e-3)
    assert told["value"] < told["harmless"]
    page = Path("docs/vcp.md").read_text(encoding="utf-8")
    assert "[Scenario](vcp-idle.toml)" in page
    assert Path("docs/vcp-idle.toml").exists()


@pytest.mark.long
@pytest.mark.parametrize("seed", [11, 12])
def test_fresh_seeds_find_what_is_known(seed: int) -> None:
    """BBR starves a flow of another round trip in a deep buffer; VCP idles at long ones."""
    names = [one.name for one in space.space().dimensions]

    def only(*free: str) -> list[str]:
        return [name for name in names if name not in free]

    bounds = {"rate": (20e6, 50e6), "rtt": (0.01, 0.1), "buffer": (1.0, 8.0)}
    trips = attack.protocol(
        "bbr", "starve", seed=seed, evaluations=200, bounds=bounds,
        fixed=only("rate", "rtt", "buffer", "farther"),
    )  # fmt: skip
    assert trips.value < 0.25
    assert "farther" in [one.name for one in trips.harm]
    far = attack.protocol(
        "vcp", "idle", seed=seed, evaluations=200, fixed=only("rate", "rtt", "buffer")
    )
    assert far.value < 0.75
    assert far.values["rtt"] > 0.5
