"""Looking inside a run: explain, branches, and runs that are cut short."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import clearpipe as cp
from clearpipe import branching, examples, explain
from clearpipe.cli import app
from clearpipe.errors import ConfigError, RunError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in an empty directory."""
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def base(name: str, *more: str) -> list[str]:
    """A base case at 20 Mb/s for 12 s."""
    early = ["flows.fwd.start=uniform(0s, 500ms)", "flows.rev.start=uniform(0s, 500ms)"]
    short = ["duration=12s", "warmup=1s", "topology.rate=20Mbps"]
    sets = [part for key in (*early, *short, *more) for part in ("--set", key)]
    return [str(examples.path(f"base-case-{name}")), *sets]


def last_ack(text: str) -> tuple[float, float]:
    match = re.search(r"took the window from ([\d.,]+) to ([\d.,]+) packets", text)
    assert match is not None, text
    before, after = (float(number.replace(",", "")) for number in match.groups())
    return before, after


def feedback_instant(sign: int) -> float:
    """When flow 3 of the base case under XCP gets feedback of this sign, in mid-run."""
    arguments = base("xcp")
    sets = [*arguments[2::2], 'probe.series=["sender"]', "probe.every=10ms"]
    series = cp.run(arguments[0], set=sets, seed=1).series("sender_h_feedback")
    rows = zip(
        series.column("t_s"), series.column("flow"), series.column("sender_h_feedback"), strict=True
    )
    found = next(t for t, flow, value in rows if flow == 3 and t > 6 and value * sign > 0)
    return float(found)


@pytest.mark.parametrize(("sign", "verb"), [(1, "raise"), (-1, "lower")])
def test_xcp_in_words(sign: int, verb: str) -> None:
    at = feedback_instant(sign)
    text = invoke("explain", *base("xcp"), "--flow", "3", "--at", f"{at}s").stdout
    before, after = last_ack(text)
    told = re.search(rf"tells the sender to {verb} its window by ([\d.,]+) bytes", text)
    assert told is not None, text
    # Packets of 1000 bytes, and four decimals are printed.
    assert after - before == pytest.approx(sign * float(told[1]) / 1000, abs=2e-4)
    assert "Link bottleneck (xcp over droptail), 20 Mb/s" in text
    assert "the router changed h_feedback from the largest value to" in text
    for name in ("phi", "xi_p", "xi_n", "residue_pos", "residue_neg", "persistent_queue"):
        assert f"  {name} = " in text


def test_vcp_in_words() -> None:
    arguments = base("vcp", 'probe.series=["sender"]', "probe.every=10ms")
    series = cp.run(arguments[0], set=arguments[2::2], seed=1).series("sender_mode")
    rows = list(
        zip(
            series.column("t_s"),
            series.column("flow"),
            series.column("sender_mode"),
            strict=True,
        )
    )
    said = {1: "multiplicative increase (MI)", 2: "additive increase (AI)", 3: "(MD) is done"}
    for mode, words in said.items():
        at = next(t for t, flow, value in rows if flow == 3 and value == mode)
        text = invoke("explain", *base("vcp"), "--flow", "3", "--at", str(at)).stdout
        assert words in text
        before, after = last_ack(text)
        assert after >= before or mode == 3
        assert re.search(r"code \d\d \((low load|high load|overload)\)", text), text
        assert "  rho = " in text


def test_dpcp_in_words() -> None:
    dpcp = ["topology.queue=dpcp", "flows.fwd.protocol=dpcp", "flows.rev.protocol=dpcp"]
    arguments = base("vcp", *dpcp, 'probe.series=["sender"]', "probe.every=10ms")
    sets = arguments[2::2]
    result = cp.run(arguments[0], set=sets, seed=1)
    series = {name: result.series(f"sender_{name}") for name in ("mode", "lf")}
    flows = series["mode"].column("flow")
    instants = list(zip(series["mode"].column("t_s"), flows, strict=True))
    said = {1: "MI and AI: an ACK adds xi_s", 2: "additive increase", 3: "a cut is done"}
    for mode, words in said.items():
        modes = series["mode"].column("sender_mode")
        at, lf = next(
            (t, lf)
            for (t, flow), value, lf in zip(
                instants, modes, series["lf"].column("sender_lf"), strict=True
            )
            if flow == 3 and value == mode
        )
        text = invoke("explain", *base("vcp", *dpcp), "--flow", "3", "--at", str(at)).stdout
        assert words in text, text
        assert f"load factor {int(lf) >> 2:02b} {int(lf) & 3:02b}, " in text, text
        assert re.search(r"code \d\d \((low load|high load|overload|\w+ level of)", text), text
        assert re.search(r"DPCP measured [\d.]+ % of its target load: [01]{2} [01]{2}", text), text
        assert "the router left its header as it came" in text


def test_sack_over_red_in_words() -> None:
    text = invoke("explain", *base("sack-red"), "--flow", "3", "--at", "12s").stdout
    assert re.search(r"slow start|congestion avoidance above ssthresh", text)
    assert re.search(r"last sign of congestion at [\d.]+ s: (ECN echo|fast retr|timeout)", text)
    assert "Link bottleneck (red), 20 Mb/s" in text
    assert "  avg = " in text


@pytest.mark.parametrize("kind", ["bbr", "bbr3"])
def test_bbr_in_words(kind: str) -> None:
    arguments = base("sack-red", f'flows.fwd.protocol="{kind}"')
    text = invoke("explain", *arguments, "--flow", "3", "--at", "6s").stdout
    model = r"BBR: (\w[\w ]*), pacing gain [\d.]+; the model's path holds (.*) packets"
    said = re.search(model, text)
    assert said is not None, text
    assert re.search(r"packets are spaced at [\d.]+ [kM]?b/s", text)


def test_a_result_directory_is_explained_as_its_scenario() -> None:
    arguments = base("xcp")
    assert invoke("run", *arguments, "--seed", "5", "--rep", "2", "--out", "r").exit_code == 0
    asked = ["--flow", "3", "--at", "9s", "--json"]
    stored = json.loads(invoke("explain", "r", *asked).stdout)
    again = json.loads(invoke("explain", *arguments, "--seed", "5", "--rep", "2", *asked).stdout)
    assert stored == again
    assert stored["at_s"] == 9
    other = json.loads(invoke("explain", *arguments, *asked).stdout)
    assert stored["sent_pkts"] != other["sent_pkts"]

    ends = invoke("explain", "r", "--flow", "3", "--at", "13s")
    assert (ends.exit_code, "0 to 12 s" in ends.stderr) == (3, True)
    assert invoke("explain", "r", "--flow", "3", "--at", "1s", "--seed", "1").exit_code == 3
    # What another version of a part gave cannot be repeated.
    Path("r/seal.json").unlink()
    meta = json.loads(Path("r/meta.json").read_text())
    Path("r/meta.json").write_text(json.dumps(meta | {"parts": meta["parts"] | {"xcp": "0"}}))
    old = invoke("explain", "r", *asked)
    assert (old.exit_code, "made by xcp 0, and" in old.stderr) == (1, True)
    # Before version 7 results named the model alone.
    del meta["parts"]
    Path("r/meta.json").write_text(json.dumps(meta | {"model_version": "6"}))
    old = invoke("explain", "r", *asked)
    assert (old.exit_code, "made by model 6, and" in old.stderr) == (1, True)


@pytest.mark.parametrize("engine", ["fluid", "linux"])
def test_a_result_of_another_engine_is_not_explained(engine: str) -> None:
    arguments = base("xcp")
    by = "packet" if engine == "linux" else engine
    assert invoke("run", *arguments, "--engine", by, "--out", "r").exit_code == 0
    Path("r/seal.json").unlink()
    meta = json.loads(Path("r/meta.json").read_text())
    Path("r/meta.json").write_text(json.dumps(meta | {"engine": engine}))
    said = invoke("explain", "r", "--flow", "3", "--at", "1s")
    assert said.exit_code == 3
    assert f"r: made by the {engine} engine" in said.stderr


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (["--flow", "60", "--at", "1s"], 3, "allowed: 0 to 59"),
        (["--flow", "3", "--at", "12.1s"], 3, "allowed: 0 s to 12"),
        (["--flow", "3", "--at", "soon"], 2, "soon"),
        (["--flow", "-1", "--at", "1s"], 2, "--flow"),
        (["--flow", "3"], 2, "--at"),
    ],
)
def test_what_cannot_be_explained(asked: list[str], code: int, said: str) -> None:
    result = invoke("explain", *base("xcp"), *asked)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stdout == ""


def test_before_its_start_a_flow_waits() -> None:
    facts = explain.explain(examples.path("base-case-xcp"), flow=3, at=0.0, seed=1)
    assert facts["phase"] == "waiting"
    assert "it starts at" in explain.words(facts)
    assert "no data packet of this flow" in explain.words(facts)


def test_variables_are_listed_with_their_protocols() -> None:
    protocols = json.loads(invoke("list", "protocols", "--json").stdout)
    (xcp,) = (one for one in protocols if one["name"] == "xcp")
    assert [one["name"] for one in xcp["header"]] == ["h_cwnd", "h_rtt", "h_feedback"]
    queues = json.loads(invoke("list", "queues", "--json").stdout)
    (vcp,) = (one for one in queues if one["name"] == "vcp")
    assert {"rho", "q", "code"} <= {one["name"] for one in vcp["variables"]}
    assert all(one["doc"] for one in vcp["variables"])


def test_a_variant_without_changes_is_the_undisturbed_run(small: str) -> None:
    plain = cp.run(small, seed=1)
    variants = {"same": {}, "slow": {"links.forward.rate": "5Mbps"}}
    name = next(link["name"] for link in plain.summary["links"])
    variants["slow"] = {f"links.{name}.rate": "5Mbps"}
    results = cp.branch(small, at=2.5, variants=variants, seed=1)
    same, slow = results["same"], results["slow"]
    assert same.fingerprint == plain.fingerprint
    assert same.summary == plain.summary
    for series in plain.series_names:
        assert same.series(series).column(series) == plain.series(series).column(series)
    assert same.meta["identity"] == plain.meta["identity"] == slow.meta["branched_from"]
    assert slow.meta["identity"] != plain.meta["identity"]
    assert slow.meta["branch_at_s"] == 2.5
    assert slow.meta["variant"] == f"slow:links.{name}.rate=5Mbps"
    assert '"5Mbps"' in slow.scenario_toml
    assert slow.fingerprint != plain.fingerprint


def test_branches_on_the_command_line() -> None:
    name = "bottleneck"
    command = ["run", *base("xcp"), "--branch-at", "6s", "--variant", "same"]
    command += ["--variant", f"half:links.{name}.rate=10Mbps,duration=14s", "--out", "b"]
    result = invoke(*command)
    assert result.exit_code == 0, result.stderr
    same, half = cp.load("b/same"), cp.load("b/half")
    arguments = base("xcp")
    assert same.fingerprint == cp.run(arguments[0], set=arguments[2::2]).fingerprint
    assert same.fingerprint in result.stdout
    assert half.meta["simulated_s"] == 14
    # 5 s of 20 Mb/s and 8 s of 10 Mb/s after the warm-up.
    link = half.summary["links"][0]
    most = 5 * 20e6 + 8 * 10e6
    # But for the part of a packet that the measured time cuts at each end.
    off = link["utilization_ratio"] - link["departures_bytes"] * 8 / most
    assert abs(off) < 8000 / most
    assert invoke(*command).exit_code == 1  # it is there
    assert invoke(*command, "--force").exit_code == 0
    refused = invoke("explain", "b/half", "--flow", "3", "--at", "7s")
    assert (refused.exit_code, "branch" in refused.stderr) == (3, True)
    # A plain run does not take a branch for its own result.
    assert invoke("run", *base("xcp"), "--out", "b/same").exit_code == 1


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--branch-at", "6s"], 2, "--variant"),
        (["--variant", "a"], 2, "--branch-at"),
        (["--branch-at", "6s", "--variant", "a", "--reps", "2"], 2, "--reps"),
        (["--branch-at", "13s", "--variant", "a"], 3, "branch_at"),
        (["--branch-at", "6s", "--variant", "a", "--variant", "a"], 3, "twice"),
        (["--branch-at", "6s", "--variant", "../a"], 3, "../a"),
        (["--branch-at", "6s", "--variant", "a:topology.rate=5Mbps"], 3, "topology"),
        (["--branch-at", "6s", "--variant", "a:links.bottleneck.owd=1ms"], 3, "bottleneck.owd"),
        (["--branch-at", "6s", "--variant", "a:flows.fwd.start=1s"], 3, "flows.fwd.start"),
        (["--branch-at", "6s", "--variant", "a:duration=5s"], 3, "duration"),
        (["--branch-at", "6s", "--variant", "a:seed=7"], 3, "seed"),
        (["--branch-at", "6s", "--variant", "a:protocols.xcp.price=2"], 3, "protocols.xcp"),
        (["--branch-at", "6s", "--variant", "a:nonsense"], 3, "nonsense"),
    ],
)
def test_what_no_branch_may_change(options: list[str], code: int, said: str) -> None:
    result = invoke("run", *base("xcp"), *options)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert not Path("results").exists() or code == 3
    assert not list(Path().rglob("meta.json"))


def test_variants_are_split_at_the_commas_between_keys() -> None:
    parsed = branching.parse(['a:probe.series=["cwnd", "queue"],duration=5s', "b", "c:"])
    assert parsed == {"a": ['probe.series=["cwnd", "queue"]', "duration=5s"], "b": [], "c": []}
    with pytest.raises(ConfigError):
        cp.branch("x", at=1.0, variants={})


def test_a_branch_that_is_stopped_gives_nothing(small: str) -> None:
    with pytest.raises(RunError, match="stopped"):
        cp.branch(
            small.replace('duration = "5s"', 'duration = "100000s"'),
            at=2.0,
            variants={"a": {}},
            progress=lambda name, now: name is None,
        )


def test_max_wall_keeps_what_there_is(endless: str) -> None:
    Path("endless.toml").write_text(endless)
    command = ["run", "endless.toml", "--max-wall", "0.5s", "--out", "r"]
    result = invoke(*command)
    assert result.exit_code == 75, result.stderr
    assert "stopped by --max-wall" in result.stderr
    partial = cp.load("r")
    now = partial.meta["simulated_s"]
    assert partial.meta["state"] == "partial"
    assert 0 < now < 100_000
    assert all(max(partial.series(name).column("t_s")) <= now for name in partial.series_names)
    # All that happened up to then, and nothing else: the run of that duration.
    whole = cp.run(endless, set=[f"duration={round(now * 1e12)}ps"])
    assert (whole.fingerprint, whole.summary) == (partial.fingerprint, partial.summary)
    # The same command has another try; a run that is not the same does not.
    assert invoke(*command).exit_code == 75
    assert invoke(*command, "--seed", "9").exit_code == 1
    assert invoke("run", "endless.toml", "--max-wall", "x").exit_code == 2


EARLIER = {
    "dpcp-fig01": ["flows.local2.start=10s"],
    "ixcp-fig12": ["flows.s567.start=10s"],
}
EXAMPLES = sorted(examples.FOLDER.glob("*.toml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_captured_and_branched(tmp_path: Path, file: Path) -> None:
    """Also those that name other files, and those whose flows arrive."""
    # The last flow of the examples starts within 11 s, but for these.
    short = ["duration=11s", "warmup=0s", *EARLIER.get(file.stem, ())]
    out = tmp_path / "run"
    whole = cp.run(file, set=short, out=out, capture="all", capture_headers=True, capture_to="2s")
    branched = cp.branch(file, at=5.5, variants={"same": []}, set=short)["same"]
    assert branched.fingerprint == whole.fingerprint
    assert list(out.glob("*.pcapng"))


APP = """\
schema = 1
name = "apps"
duration = "4s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
[flows.talk]
protocol = "reno"
rate = "1Mbps"
on = "exponential(200ms)"
off = "200ms"
[flows.web]
protocol = "reno"
arrivals = "poisson(100/s)"
size = "5kB"
"""


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("flows.talk.stop=3s", "flows.talk.stop"),
        ("flows.web.stop=3s", "flows.web.stop"),
        ("flows.web.start=3s", "flows.web.stop"),
    ],
)
def test_a_branch_refuses_what_it_cannot_change(change: str, key: str) -> None:
    with pytest.raises(cp.ConfigError, match=re.escape(key)):
        cp.branch(APP, at=1.0, variants={"other": [change]})


def test_a_longer_branch_is_the_longer_run() -> None:
    longer = cp.branch(APP, at=1.0, variants={"longer": ["duration=8s"]})["longer"]
    assert longer.fingerprint == cp.run(APP, set=["duration=8s"]).fingerprint


def test_flows_that_arrive_after_a_branch_are_recorded_as_it_says() -> None:
    probe = ['probe.series=["cwnd"]', "probe.every=change"]
    from_start = cp.run(APP, set=probe).series("cwnd_pkts").to_polars()
    branched = cp.branch(APP, at=2.0, variants={"seen": probe})["seen"]
    late = branched.series("cwnd_pkts").to_polars()
    whole = from_start.filter(from_start["t_s"] > 2.2)
    assert late.filter(late["t_s"] > 2.2).height == whole.height
