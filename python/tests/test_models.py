"""Scenarios in Python: the generated classes, what they render to, what the reader says of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearpipe as cp
from clearpipe import examples, scenario, values

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "python" / "tools" / "make_models.py"
SCHEMA = ROOT / "python" / "clearpipe" / "scenario.schema.json"


def generate(schema: dict[str, Any]) -> str:
    return str(runpy.run_path(str(GENERATOR))["models"](schema))


def test_the_checked_in_classes_are_those_of_the_schema() -> None:
    committed = (ROOT / "python" / "clearpipe" / "scenario.py").read_text(encoding="utf-8")
    assert generate(json.loads(SCHEMA.read_text(encoding="utf-8"))) == committed, (
        "run `make models`"
    )


def test_the_schema_is_the_one_that_the_core_gives() -> None:
    assert cp.schema() == json.loads(SCHEMA.read_text(encoding="utf-8")), (
        "run `make docs-reference`"
    )


def keys(of: type[values.Model]) -> set[str]:
    return {entry.metadata.get("key", entry.name) for entry in dataclasses.fields(of)}


def test_every_key_of_every_table_has_a_field() -> None:
    schema = cp.schema()
    assert keys(cp.Scenario) == schema["properties"].keys()
    classes = [getattr(scenario, name) for name in scenario.__all__]
    known = [keys(of) for of in classes if isinstance(of, type) and issubclass(of, values.Model)]
    tables = [schema["$defs"]["FlowFile"], *schema["$defs"]["ProtocolTable"]["oneOf"]]
    tables += [schema["$defs"]["LinkFile"], *schema["$defs"]["QueueTable"]["oneOf"]]
    assert len(tables) > 8
    for table in tables:
        assert set(table["properties"]) in known


def base_case() -> cp.Scenario:
    """The example base-case-xcp, by hand."""
    flows = cp.Flows(protocol="xcp", count=30, start="uniform(0s, 10s)")
    return cp.Scenario(
        name="base-case-xcp",
        duration="120s",
        warmup="20%",
        topology=cp.Dumbbell(rate="150Mbps", rtt="80ms", buffer="1bdp", queue="xcp"),
        flows={
            "fwd": flows,
            "rev": dataclasses.replace(flows, direction="reverse"),
        },
        probe=cp.Probe(series=["cwnd", "queue", "utilization", "goodput"], every="100ms"),
    )


def test_a_model_is_the_same_scenario_as_its_file() -> None:
    text = examples.path("base-case-xcp").read_text(encoding="utf-8")
    assert tomllib.loads(base_case().to_toml()) == tomllib.loads(text)
    resolved = cp.resolve(examples.path("base-case-xcp"))
    assert cp.resolve(base_case()) == resolved


def small(**changes: Any) -> cp.Scenario:
    made = cp.Scenario(
        name="small",
        duration="2s",
        links={
            "up": cp.Link(from_="a", to="b", rate="10Mbps", owd="5ms", duplex=True),
            "on": cp.Link(
                from_="b",
                to="c",
                rate="5Mbps",
                owd="5ms",
                duplex=True,
                queue=cp.RedQueue(max_p=0.2),
            ),
        },
        flows={"x": cp.Flows(protocol=cp.SackProtocol(ecn=True), from_="a", to="c")},
    )
    return dataclasses.replace(made, **changes)


def test_a_model_runs() -> None:
    result = cp.run(small(), seed=3)
    assert result.links["name"] == ["up", "up.reverse", "on", "on.reverse"]
    assert cp.run(small().to_toml(), seed=3).fingerprint == result.fingerprint
    assert cp.run({**small().to_dict()}, seed=3).fingerprint == result.fingerprint
    mixed = {**small().to_dict(), "flows": {"x": cp.Flows(protocol="reno", from_="a", to="c")}}
    assert cp.run(mixed).meta["name"] == "small"


@pytest.mark.parametrize(
    ("changes", "key", "told"),
    [
        ({"duration": "2"}, "duration", "unit"),
        ({"flows": {"x": cp.Flows(protocol="xpc", from_="a", to="c")}}, "flows.x.protocol", "xcp"),
        (
            {"flows": {"x": cp.Flows(protocol=cp.XcpProtocol(price=0), from_="a", to="c")}},
            "flows.x.protocol.price",
            "0.001",
        ),
        (
            {"links": {"up": cp.Link(from_="a", to="b", rate="1", owd="1ms")}},
            "links.up.rate",
            "unit",
        ),
        ({"topology": cp.Dumbbell(rate="1Mbps", rtt="1ms")}, "links", "topology"),
    ],
)
def test_the_reader_names_the_key(changes: dict[str, Any], key: str, told: str) -> None:
    with pytest.raises(cp.ConfigError, match=told) as caught:
        cp.run(small(**changes))
    assert caught.value.key == key
    assert str(caught.value).startswith("<Scenario>:")
    assert key in str(caught.value)


def test_models_do_not_change() -> None:
    series: list[Any] = ["cwnd"]
    flows = {"x": cp.Flows(protocol="xcp")}
    probe = cp.Probe(series=series)
    scenario = cp.Scenario(name="x", duration="1s", flows=flows, probe=probe)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.name = "y"  # type: ignore[misc]
    with pytest.raises(TypeError):
        scenario.flows["y"] = flows["x"]  # type: ignore[index]
    with pytest.raises(TypeError):
        cp.Probe("100ms")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="rat"):
        cp.Dumbbell(rat="1Mbps")  # type: ignore[call-arg]
    series.append("queue")
    flows.clear()
    assert probe.series == ("cwnd",)
    assert list(scenario.flows) == ["x"]


def test_models_are_values() -> None:
    for twin in (pickle.loads(pickle.dumps(small())), copy.deepcopy(small())):
        assert twin == small()
        assert hash(twin) == hash(small())
    assert small() != small(duration="3s")
    assert repr(cp.Dumbbell(rate="1Mbps", rtt="1ms")) == (
        "Dumbbell(kind='dumbbell', rtt='1ms', rate='1Mbps')"
    )


def test_values_that_toml_does_not_know() -> None:
    texts = {"x": cp.Flows(protocol="xcp", count=np.int64(3))}  # type: ignore[arg-type]
    assert values.plain(texts)["x"]["count"] == 3
    assert values.plain({"trace": Path("a") / "b"}) == {"trace": str(Path("a") / "b")}
    with pytest.raises(cp.ConfigError, match=r"^flows.x.stop: .* is a object") as caught:
        small(flows={"x": cp.Flows(protocol="xcp", stop=object())}).to_toml()  # type: ignore[arg-type]
    assert caught.value.key == "flows.x.stop"
    with pytest.raises(cp.ConfigError, match=r"^topology.rate: None"):
        cp.run({"topology": {"rate": None}})


TEXT = {"type": "string"}
GROWN: dict[str, Any] = {
    "$defs": {
        "Time": {"type": "string", "description": "a time"},
        "Loss": {"anyOf": [{"type": "number", "maximum": 1.0}, {"$ref": "#/$defs/LossTable"}]},
        "LossTable": {
            "oneOf": [
                {
                    "type": "object",
                    "title": "gilbert-elliott",
                    "properties": {
                        "kind": {"const": "gilbert-elliott"},
                        "good": {"type": "number"},
                    },
                    "required": ["kind", "good"],
                },
                {"type": "object", "properties": {"kind": {"const": "trace"}, "file": TEXT}},
            ]
        },
        # Its name is taken: `cp.Table` are results.
        "TableFile": {"type": "object", "properties": {"loss": {"$ref": "#/$defs/Loss"}}},
    },
    "type": "object",
    "description": "Everything at once.",
    "oneOf": [{"required": ["lambda"]}, {"required": ["steps"]}],
    "properties": {
        "schema": {"const": 2},
        "lambda": {"type": "number", "minimum": 0.5, "default": 1.0, "description": "The rate."},
        "max-size": {"type": ["integer", "null"]},
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"at": {"$ref": "#/$defs/Time"}, "to": TEXT},
                "required": ["at", "to"],
            },
        },
        "lines": {"type": "object", "additionalProperties": {"$ref": "#/$defs/TableFile"}},
        "either": {"oneOf": [{"type": "string"}, {"enum": ["a", 3]}, {"type": "array"}]},
        "open": True,
        "reserved": {"type": "object"},
    },
    "required": ["schema", "steps"],
}


@pytest.fixture(scope="module")
def grown() -> dict[str, Any]:
    """What the generator makes of every kind of schema."""
    name: dict[str, Any] = {"__name__": "grown"}
    # A dataclass looks up its module.
    module = type(sys)("grown")
    sys.modules["grown"] = module
    exec(compile(generate(GROWN), "grown", "exec"), module.__dict__)
    name.update(module.__dict__)
    return name


def test_the_generator_takes_every_kind_of_schema(grown: dict[str, Any]) -> None:
    assert grown["__all__"] == [
        *("GilbertElliottLoss", "Loss", "LossTable", "Scenario", "ScenarioSteps"),
        *("TableTable", "Time", "TraceLoss"),
    ]
    told = {entry.name: entry.type for entry in dataclasses.fields(grown["Scenario"])}
    assert told == {
        "schema": "Literal[2]",
        "steps": "Sequence[ScenarioSteps]",
        "either": "str | Literal['a', 3] | Sequence[Any] | None",
        "lambda_": "float | None",
        "lines": "Mapping[str, TableTable] | None",
        "max_size": "int | None",
        "open": "Any | None",
        "reserved": "Mapping[str, Any] | None",
    }
    loss = next(iter(dataclasses.fields(grown["TableTable"]))).type
    assert loss == "Loss | None"
    assert grown["Loss"] == float | grown["GilbertElliottLoss"] | grown["TraceLoss"]


def test_what_is_generated_renders(grown: dict[str, Any]) -> None:
    scenario = grown["Scenario"](
        steps=[grown["ScenarioSteps"](at="1s", to="2Mbps")],
        lambda_=2.5,
        max_size=3,
        lines={"a b": grown["TableTable"](loss=grown["GilbertElliottLoss"](good=0.5))},
    )
    assert tomllib.loads(scenario.to_toml()) == {
        "schema": 2,
        "steps": [{"at": "1s", "to": "2Mbps"}],
        "lambda": 2.5,
        "max-size": 3,
        "lines": {"a b": {"loss": {"kind": "gilbert-elliott", "good": 0.5}}},
    }


# For speed: the base class alone matters.
SKIPPED = (
    "[mypy-clearpipe]\nfollow_imports = skip\n[mypy-clearpipe.errors]\nfollow_imports = skip\n"
)


def test_what_is_generated_is_typed(tmp_path: Path) -> None:
    use = """
from grown import Scenario, ScenarioSteps
steps = [ScenarioSteps(at="1s", to="2Mbps")]
Scenario(steps=steps, lambda_=1, either="a")
Scenario(steps=steps, lambda_="1")
Scenario()
"""
    (tmp_path / "grown.py").write_text(generate(GROWN))
    (tmp_path / "use.py").write_text(use)
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = true\nmypy_path = {ROOT / 'python'}\n{SKIPPED}")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "grown.py", "use.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    errors = [line.partition(": error: ") for line in out.splitlines() if ": error: " in line]
    assert [(where, code.rpartition("[")[2]) for where, _, code in errors] == [
        ("use.py:5", "arg-type]"),
        ("use.py:6", "call-arg]"),
    ], out
