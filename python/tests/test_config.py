"""Scenarios that are refused, and what can be asked without running."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import clearpipe as cp


def test_an_error_says_where(small: str, tmp_path: Path) -> None:
    path = tmp_path / "typo.toml"
    path.write_text(small.replace("rtt =", "rt ="))
    with pytest.raises(cp.ConfigError, match='did you mean "rtt"') as caught:
        cp.run(path)
    assert caught.value.file == str(path)
    assert caught.value.line == 9
    assert caught.value.key is not None
    assert caught.value.key.startswith("topology")
    assert caught.value.exit_code == 3


def test_an_error_in_a_set_option_has_no_line(small: str) -> None:
    with pytest.raises(cp.ConfigError, match=r"--set topology\.rate=fast") as caught:
        cp.resolve(small, set=["topology.rate=fast"])
    assert caught.value.line is None
    assert caught.value.key == "topology.rate"


def test_a_mapping_is_checked_too() -> None:
    with pytest.raises(cp.ConfigError):
        cp.resolve({"schema": 1})


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(cp.ConfigError, match="no such scenario file"):
        cp.run(tmp_path / "none.toml")
    with pytest.raises(cp.ConfigError, match="a directory"):
        cp.run(tmp_path)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"schema = 1\nname = '\xe9'\n")
    with pytest.raises(cp.ConfigError, match="not UTF-8") as caught:
        cp.run(latin)
    assert caught.value.line == 2


def test_resolving_twice_changes_nothing(small: str) -> None:
    resolved = cp.resolve(small)
    assert cp.resolve(resolved.toml).toml == resolved.toml
    assert tomllib.loads(resolved.toml)["name"] == "small"


def test_protocols_and_queues_are_listed() -> None:
    protocols = {protocol["name"]: protocol for protocol in cp.protocols()}
    queues = {queue["name"]: queue for queue in cp.queues()}
    assert protocols["xcp"]["router"] == "xcp"
    assert queues["xcp"]["role"] == "feedback"
    assert queues["droptail"]["role"] == "policy"
    alpha = next(p for p in queues["xcp"]["params"] if p["name"] == "alpha")
    assert alpha["default"] == 0.4
    assert alpha["low"] is not None
    for kind in (*protocols.values(), *queues.values()):
        for param in kind["params"]:
            assert param["doc"]
            assert param["default"] is not None


@pytest.mark.parametrize("queue", [queue["name"] for queue in cp.queues()])
def test_listed_defaults_are_what_a_file_may_say(queue: str, small: str) -> None:
    params = next(q for q in cp.queues() if q["name"] == queue)["params"]
    scenario = tomllib.loads(small)
    scenario["topology"]["queue"] = "mine"
    scenario["queues"] = {"mine": {"kind": queue} | {p["name"]: p["default"] for p in params}}
    plain = tomllib.loads(small)
    plain["topology"]["queue"] = "mine"
    plain["queues"] = {"mine": {"kind": queue}}
    assert cp.resolve(scenario) == cp.resolve(plain)


@pytest.mark.parametrize(
    ("queue", "preset"), [(q["name"], p["name"]) for q in cp.queues() for p in q["presets"]]
)
def test_a_preset_is_the_values_that_it_lists(queue: str, preset: str, small: str) -> None:
    listed = next(q for q in cp.queues() if q["name"] == queue)["presets"]
    values = next(p for p in listed if p["name"] == preset)["values"]
    assert values
    scenario = tomllib.loads(small)
    scenario["topology"]["queue"] = "mine"
    scenario["queues"] = {"mine": {"kind": queue, "preset": preset}}
    spelled = tomllib.loads(small)
    spelled["topology"]["queue"] = "mine"
    spelled["queues"] = {"mine": {"kind": queue, **values}}
    assert cp.resolve(scenario) == cp.resolve(spelled)


def test_the_schema_names_the_tables() -> None:
    assert {"schema", "flows", "topology", "probe"} <= set(cp.schema()["properties"])
