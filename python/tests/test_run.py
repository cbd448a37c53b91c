"""Running: what goes in, what comes out, and how a run is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

import clearpipe as cp


def test_a_path_a_text_and_a_mapping_are_the_same_scenario(small: str, tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(small)
    scenarios: list[Any] = [path, str(path), small, tomllib.loads(small)]
    assert len({cp.run(scenario).meta["identity"] for scenario in scenarios}) == 1


def test_the_seed_decides(small: str, result: cp.Result) -> None:
    again = cp.run(small, seed=1)
    assert again.fingerprint == result.fingerprint
    assert again.meta["identity"] == result.meta["identity"]
    assert cp.run(small, seed=2).fingerprint != result.fingerprint
    assert cp.run(small, seed=1, rep=1).fingerprint != result.fingerprint


def test_the_resolved_scenario_repeats_the_run(small: str) -> None:
    first = cp.run(small, seed=7)
    assert cp.run(first.scenario_toml).fingerprint == first.fingerprint


def test_set_overrides_a_key(small: str) -> None:
    links = cp.run(small, set=["topology.rate=5Mbps"]).summary["links"]
    assert links[0]["rate_bps"] == 5e6


def test_a_seed_or_replication_out_of_range_is_refused(small: str) -> None:
    for seed in (-1, 2**63, 2**70):
        with pytest.raises(cp.ConfigError, match="seed") as caught:
            cp.run(small, seed=seed)
        assert caught.value.key == "seed"
        assert "--set" not in str(caught.value)
    for rep in (-1, 2**64, 10**30):
        with pytest.raises(cp.ConfigError, match="rep") as caught:
            cp.run(small, rep=rep)
        assert caught.value.key == "rep"
    most = cp.run(small, seed=2**63 - 1, rep=2**64 - 1, set=["duration=2s"]).meta
    assert (most["seed"], most["rep"]) == (2**63 - 1, 2**64 - 1)


def test_set_is_a_list_of_options(small: str) -> None:
    with pytest.raises(TypeError):
        cp.run(small, set="seed=2")


def test_a_result_does_not_change(result: cp.Result) -> None:
    with pytest.raises(AttributeError):
        result._run = result._run  # type: ignore[misc]


def test_meta_says_what_ran(result: cp.Result) -> None:
    meta = result.meta
    assert (meta["name"], meta["engine"], meta["state"]) == ("small", "packet", "done")
    assert (meta["seed"], meta["rep"], meta["simulated_s"], meta["warmup_s"]) == (1, 0, 5.0, 1.0)
    assert (meta["version"], meta["model_version"]) == (cp.version(), cp.model_version())
    assert meta["parts"]["packet engine"] == cp.model_version()
    assert not cp.outdated(meta)
    assert cp.outdated(meta | {"parts": {"reno": "0"}}) == "reno 0"
    assert len(result.fingerprint) == 32
    assert meta["packet_hops"] > meta["events"] > 1000
    assert meta["wall_s"] > 0
    assert result.complete


def test_parts_that_only_some_scenarios_use_are_known(small: str) -> None:
    rules = ["era=linux-6.1", "transport.accecn=ace", "flows.long.protocol=sack"]
    of_some = cp.parts(small, set=rules)
    assert (of_some["rack"], of_some["accecn"]) == ("2", "2")
    assert not cp.outdated({"parts": of_some})
    assert not {"rack", "accecn"} & set(cp.parts(small))
    assert cp.outdated({"parts": {"rack": "1"}}) == "rack 1"


def test_the_summary_agrees_with_the_tables(result: cp.Result) -> None:
    groups = {group["group"]: group for group in result.summary["groups"]}
    assert groups["short"]["finished_flows"] == 3
    goodput = list(result.flows.column("goodput_bps"))
    assert groups["long"]["goodput_bps"] is not None
    assert groups["long"]["goodput_bps"]["max"] == max(goodput[:2])
    used = result.links.column("utilization_ratio")
    assert result.summary["links"][0]["utilization_ratio"] == used[0]
    assert 0.5 < used[0] <= 1


def test_repr_is_one_line_with_units(result: cp.Result) -> None:
    text = repr(result)
    assert text.startswith("<Result 'small', seed=1, rep=0, done at 5 s, ")
    assert "% used" in text
    assert "\n" not in text


def test_a_protocol_without_its_router_is_warned_of(small: str) -> None:
    alone = small.replace('queue = "xcp"', 'queue = "droptail"')
    assert any("xcp" in warning for warning in cp.resolve(alone).warnings)
    assert cp.run(alone).warnings == cp.resolve(alone).warnings


def test_progress_goes_up_and_can_stop_the_run(endless: str) -> None:
    seen: list[cp.Progress] = []

    def watch(now: cp.Progress) -> bool:
        seen.append(now)
        return len(seen) < 3

    result = cp.run(endless, progress=watch)
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert seen[0].simulated_s > 0
    assert result.meta["state"] == "partial"
    assert not result.complete
    assert seen[-1].simulated_s <= result.meta["simulated_s"] < 100_000


def test_an_error_in_progress_ends_the_run(endless: str) -> None:
    def watch(_: cp.Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cp.run(endless, progress=watch)


def test_other_threads_go_on_during_a_run(endless: str) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.01):
            ticks += 1

    start = time.monotonic()
    thread = threading.Thread(target=tick)
    thread.start()
    cp.run(endless, progress=lambda _: time.monotonic() - start < 2)
    done.set()
    thread.join()
    # 200 on an idle machine; holding the interpreter would leave the 20 calls of `progress`.
    assert ticks > 60


def test_ctrl_c_stops_a_run(endless: str) -> None:
    code = f"""
import clearpipe as cp
print("started", flush=True)
try:
    cp.run({endless!r})
except KeyboardInterrupt:
    print("stopped")
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "started\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        out, _ = child.communicate(timeout=30)
    assert out == "stopped\n"
    assert child.returncode == 0
    assert time.monotonic() - sent < 5


HEAVY = {"IPython", "jinja2", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "pydantic"}
HEAVY |= {"scipy", "tomli_w", "clearpipe.scenario", "clearpipe.plot", "clearpipe.report"}


def loaded(code: str) -> set[str]:
    """The modules that are there after `code`."""
    code = f"import sys\n{code}\nprint('\\nmodules', *sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.rpartition("\nmodules ")[2].split())


def test_importing_loads_nothing_heavy() -> None:
    modules = loaded("import clearpipe")
    assert "clearpipe._core" in modules
    assert not (HEAVY | {"typer", "rich"}) & modules
    assert "clearpipe.scenario" in loaded("import clearpipe; clearpipe.Scenario")


@pytest.mark.parametrize("arguments", ["'--help'", "'compare', '--help'", "'list', 'protocols'"])
def test_the_command_line_loads_nothing_heavy(arguments: str) -> None:
    code = f"from clearpipe.cli import app\ntry: app([{arguments}])\nexcept SystemExit: pass"
    modules = loaded(code)
    assert "typer" in modules
    # Typer has its own use of pydantic.
    assert not (HEAVY - {"pydantic"}) & modules


def test_a_run_and_its_repr_load_nothing_heavy(small: str) -> None:
    modules = loaded(f"import clearpipe as cp; repr(cp.run({small!r})); cp.run({small!r}).flows")
    assert not HEAVY & modules
