"""The fluid engine from Python and the command line, beside the packet engine and SciPy."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import examples
from clearpipe.cli import app


@pytest.fixture(scope="module")
def fluid(small: str) -> cp.Result:
    return cp.run(small, engine="fluid")


def _run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_tables_are_those_of_packets(fluid: cp.Result, result: cp.Result) -> None:
    for a, b in ((fluid.flows, result.flows), (fluid.links, result.links)):
        assert a.column_names == b.column_names
        assert len(a) == len(b)
    assert fluid.summary["groups"][0].keys() == result.summary["groups"][0].keys()
    assert fluid.series("cwnd_pkts").column_names == result.series("cwnd_pkts").column_names
    assert fluid.meta["engine"] == "fluid"
    assert fluid.meta["numerics"]["steps"] == fluid.meta["events"] > 100
    assert fluid.meta["numerics"]["step_error_ratio"] <= 2e-4
    # The start times are the ones that packets have, and so are the rates.
    starts = [list(r.flows.column("start_s")) for r in (fluid, result)]
    assert starts[0] == pytest.approx(starts[1])
    rates = [r.flows.column("goodput_bps")[0] for r in (fluid, result)]
    assert rates[0] == pytest.approx(rates[1], rel=0.05)


def test_equal_runs_are_equal_and_the_step_is_part_of_the_name(
    fluid: cp.Result, result: cp.Result, small: str
) -> None:
    again = cp.run(small, engine="fluid")
    assert again.fingerprint == fluid.fingerprint
    assert again.meta["identity"] == fluid.meta["identity"] != result.meta["identity"]
    fixed = cp.run(small, engine="fluid", set=["fluid.step=1ms"])
    assert fixed.meta["identity"] != fluid.meta["identity"]
    assert fixed.meta["numerics"]["fixed_step"]
    packets = cp.run(small, set=["fluid.step=1ms"], seed=1)
    assert packets.meta["identity"] == result.meta["identity"]


def test_results_are_written_read_reported_and_compared(small: str, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small)
    for engine in ("packet", "fluid"):
        done = _run("run", file, "--engine", engine, "--out", tmp_path / engine, "--report", "-q")
        assert done.exit_code == 0, done.output
        assert (tmp_path / engine / "report.html").stat().st_size > 10_000
    meta = json.loads((tmp_path / "fluid" / "meta.json").read_text())
    assert (meta["engine"], meta["model_version"]) == ("fluid", cp.model_version("fluid"))
    assert meta["parts"] == {"fluid engine": cp.model_version("fluid")}
    again = _run("run", file, "--engine", "fluid", "--out", tmp_path / "fluid")
    assert "was there already" in again.output
    other = _run("run", file, "--out", tmp_path / "fluid", "-q")
    assert other.exit_code == 1
    assert "another run" in other.output
    compared = _run("compare", tmp_path / "packet", tmp_path / "fluid", "--json")
    assert compared.exit_code == 0, compared.output
    rows = {
        (row["table"], row["item"], row["column"]): row
        for row in json.loads(compared.stdout)["rows"]
    }
    assert abs(rows["links", "bottleneck", "utilization_ratio"]["difference"]) < 0.05


def test_what_has_no_fluid_form_exits_with_3(small: str, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small)
    out = _run("run", file, "--engine", "fluid", "--set", "topology.loss=1%", "--json")
    assert out.exit_code == 3
    assert "links.bottleneck.loss: loss on the line has no fluid form" in out.output
    assert "the fluid engine has the protocols reno," in out.output
    prototype = examples.path("prototype")
    out = _run("run", prototype, "--engine", "fluid", "--out", tmp_path / "prototype", "--json")
    assert out.exit_code == 3
    assert "queues.half-full: a prototype" in out.output
    protocol = 'flows.long.protocol={kind="dpcp", gap=5.0}'
    with pytest.raises(cp.ConfigError, match="gap: has no fluid form"):
        cp.run(small, engine="fluid", set=[protocol])
    with pytest.raises(cp.ConfigError, match="no packets to record"):
        cp.run(small, engine="fluid", capture="all", out=tmp_path / "x")
    with pytest.raises(cp.ConfigError, match="unknown engine magic"):
        cp.run(small, engine="magic")  # type: ignore[call-overload]


def test_a_sweep_runs_it(small: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(small + '[sweep]\nreps = 1\nvary."topology.rate" = ["5Mbps", "10Mbps"]\n')
    store = tmp_path / "store"
    done = _run("sweep", "run", file, "--engine", "fluid", "--store", store, "-q")
    assert done.exit_code == 0, done.output
    metas = [json.loads(path.read_text()) for path in store.rglob("meta.json")]
    assert [meta["engine"] for meta in metas] == ["fluid", "fluid"]
    status = _run("sweep", "status", file, "--store", store, "--json")
    assert json.loads(status.stdout)["done"] == 0
    status = _run("sweep", "status", file, "--engine", "fluid", "--store", store, "--json")
    assert json.loads(status.stdout)["done"] == 2


def test_without_delays_it_is_what_scipy_integrates() -> None:
    """VCP's model with an RTT of 2 ms moves in 200 ms: its delays hardly matter."""
    integrate = pytest.importorskip("scipy.integrate")
    scenario = {
        "schema": 1,
        "name": "model",
        "duration": "60s",
        "topology": {"kind": "dumbbell", "rate": "1Gbps", "rtt": "2ms", "queue": "vcp"},
        "flows": {"a": {"protocol": "vcp"}, "b": {"protocol": "vcp", "start": "5s"}},
        "probe": {"series": ["cwnd"], "every": "1s"},
        "fluid": {"vcp": "miaimd"},
    }
    result = cp.run(scenario, engine="fluid")
    rtt = result.flows.column("base_rtt_s")[0]
    capacity = 0.98 * 125_000.0  # packets/s
    # (RTT/t_d)^2 with the limiter's 20 ms: 0.01*0.1 packets per RTT.
    increase = (rtt / 0.2) * 0.1 / rtt

    def slope(t: float, w: Any) -> Any:
        on = [1.0, 1.0 if t >= 5.0 + rtt else 0.0]
        sent = w[0] + (w[1] if t >= 5.0 else 0.0)
        rho = max(sent / rtt / capacity, 0.8)
        xi = 0.25 * (1.0 - rho) / rho
        return [go * (x * xi / 0.2 + increase) for go, x in zip(on, w, strict=True)]

    times = list(range(6, 60))
    exact = integrate.solve_ivp(
        slope, (rtt, 60.0), [1.0, 1.0], t_eval=times, rtol=1e-8, max_step=0.05
    )
    series = result.series("cwnd_pkts")
    rows = zip(*(series.column(name) for name in ("t_s", "flow", "cwnd_pkts")), strict=True)
    found = {(round(t), flow): w for t, flow, w in rows}
    for n, t in enumerate(times):
        for flow in (0, 1):
            assert found[t, flow] == pytest.approx(exact.y[flow][n], rel=0.01), (t, flow)


def test_two_hundred_small_runs_are_quick() -> None:
    scenario = {
        "schema": 1,
        "name": "small",
        "duration": "30s",
        "warmup": "80%",
        "topology": {
            "kind": "parking-lot",
            "links": 3,
            "rate": "10Mbps",
            "owd": "10ms",
            "queue": "xcp",
        },
        "flows": {
            "long": {"protocol": "xcp", "path": "long"},
            "cross": {"protocol": "xcp", "path": "each"},
        },
    }
    start = time.perf_counter()
    for i in range(20):
        cp.run(scenario, engine="fluid", set=[f"topology.rate={10 + i}Mbps"])
    # 20 of them: 40 ms each with a build that is not optimised, on a busy machine ten times that.
    assert time.perf_counter() - start < 20.0


def test_the_table_is_written_out(fluid: cp.Result) -> None:
    wanted = {"step": "auto", "tolerance": 1e-4, "vcp": "switching", "xcp": "intervals"}
    wanted |= {"sending": "rates"}
    assert tomllib.loads(fluid.scenario_toml)["fluid"] == wanted
