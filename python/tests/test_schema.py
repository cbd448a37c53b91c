"""The JSON Schema as editors use it: by a validator of JSON Schema, on real and on wrong files."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from clearpipe import api
from clearpipe.errors import ConfigError
from clearpipe.sweep import metrics, spec

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "python/clearpipe/scenario.schema.json").read_text(encoding="utf-8"))
FILES = [
    path
    for folder in ("python/clearpipe/examples", "python/clearpipe/papers", "docs")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if "\nschema = 1" in f"\n{path.read_text(encoding='utf-8')}"
]
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def errors(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert len(FILES) > 60


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_example_is_valid(path: Path) -> None:
    assert errors(tomllib.loads(path.read_text(encoding="utf-8"))) == []


BASE: dict[str, Any] = {
    "schema": 1,
    "name": "mine",
    "duration": "10s",
    "topology": {"kind": "dumbbell", "rate": "10Mbps", "rtt": "40ms"},
    "flows": {"a": {"protocol": "sack"}},
}
SWEEP = """
reps = 3
keep = "summary"
until = { ci = "2%", metric = "links.bottleneck.queue_mean_pkts", min_reps = 3, max_reps = 9 }
only = [{ "topology.rtt" = ">= 10ms" }]
skip = [{ "topology.rtt" = "10ms", scheme = "A" }]
vary."topology.rtt" = ["10ms", "20ms"]
vary."flows.a.count" = "linspace(1, 9, 9)"
vary."flows.a.access_owd" = ["1ms", "linspace(1ms, 2ms)"]
[[zip]]
name = "scheme"
labels = ["A", "B"]
"flows.a.protocol" = ["xcp", { kind = "sack", ecn = true }]
"topology.queue" = ["xcp", "red"]
[[zip]]
"topology.buffer" = ["1bdp", "2bdp"]
"flows.a.stop" = ["5s", "6s"]
"""
PLOT = {
    "x": "topology.rtt",
    "y": ["utilization_ratio", "groups.a.goodput_mean_bps"],
    "lines": "scheme",
    "panels": "flows.a.count",
    "x_scale": "log",
    "y_scale": "linear",
    "y_min": 0,
    "y_max": 1.5,
    "title": "T",
    "x_label": "x",
    "y_label": "y",
}


def with_(sweep: str, **plot: Any) -> dict[str, Any]:
    return {**BASE, "sweep": tomllib.loads(sweep), **({"plot": plot} if plot else {})}


def test_all_keys_of_a_sweep_are_valid() -> None:
    assert errors(with_(SWEEP, **PLOT)) == []
    assert errors(with_(SWEEP, left=PLOT, right={"x": "topology.rtt", "y": "timeouts"})) == []


WRONG = {
    "a misspelt key": "repz = 3",
    "no number": 'reps = "3"',
    "none at all": "reps = 0",
    "another word": 'keep = "some"',
    "a share without its sign": 'until = { ci = "2" }',
    "until without its share": "until = { min_reps = 5 }",
    "a misspelt key of until": 'until = { ci = "2%", max = 5 }',
    "a metric that no run has": 'until = { ci = "2%", metric = "utilisation_ratio" }',
    "a link's metric that none has": 'until = { ci = "2%", metric = "links.a.jain_index_ratio" }',
    "a key that no scenario has": 'vary."topolgy.rtt" = ["1ms", "2ms"]',
    "the seed": "vary.seed = [1, 2]",
    "a key that is not quoted": 'vary.topology.rtt = ["1ms", "2ms"]',
    "a value that is no time": 'vary."topology.rtt" = ["1ms", 2]',
    "a single value": 'vary."topology.rtt" = "1ms"',
    "a word that is none": 'vary."flows.a.direction" = ["forward", "back"]',
    "no values": 'vary."topology.rtt" = []',
    "a series of two": 'vary."topology.rtt" = "linspace(1ms, 2ms)"',
    "a zip that is a table": '[zip]\n"topology.rtt" = ["1ms"]',
    "no labels": '[[zip]]\nlabels = []\n"topology.rtt" = ["1ms"]',
    "a misspelt key of a zip": '[[zip]]\nlabel = ["a"]\n"topology.rtt" = ["1ms"]',
    "an empty condition": 'vary."topology.rtt" = ["1ms"]\nskip = [{}]',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_wrong_sweep_is_marked_by_editors_and_refused_by_the_runner(
    tmp_path: Path, text: str
) -> None:
    assert errors(BASE) == []
    assert errors(with_(text))
    lines = [f"{key} = {json.dumps(BASE[key])}" for key in ("schema", "name", "duration")]
    tables = '\n[topology]\nkind = "dumbbell"\nrate = "10Mbps"\nrtt = "40ms"\n'
    tables += '[flows.a]\nprotocol = "sack"\n[sweep]\n'
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(lines) + tables + text.replace("[zip]", "[sweep.zip]"))
    with pytest.raises(ConfigError):
        valid(file)


def valid(file: Path) -> None:
    """Refuses also a single point that is none: to a sweep that is a failed run."""
    read = spec.load(file)
    for point in read.points:
        api.resolve(read.source, set=point.sets)


@pytest.mark.parametrize(
    "change",
    [
        {"xx": "topology.rtt"},
        {"x_scale": "logarithmic"},
        {"y_min": "0"},
        {"y": "utilisation_ratio"},
        {"y": ["links.bottleneck.queue_pkts"]},
        {"y": []},
        {"title": 3},
    ],
)
def test_a_wrong_plot_is_marked(change: dict[str, Any]) -> None:
    one = {"x": "topology.rtt", "y": "timeouts"}
    for plot in ({**one, **change}, {"left": one, "right": {**one, **change}}):
        assert errors(with_("reps = 3", **plot)), plot
    for key in one:
        assert errors(with_("reps = 3", **{k: v for k, v in one.items() if k != key}))


def test_both_tables_have_the_runners_keys() -> None:
    """The runner's own lists are in its messages."""
    sweep, plot = SCHEMA["$defs"]["SweepFile"], SCHEMA["$defs"]["PlotFile"]
    assert set(plot["properties"]) == set(spec.Plot.__dataclass_fields__) - {"name"}
    source = (ROOT / "python/clearpipe/sweep/spec.py").read_text(encoding="utf-8")
    for name, table in (("sweep", sweep), ("sweep.until", sweep["properties"]["until"])):
        known = re.search(rf'self\.known\(table, "{re.escape(name)}", (\(.*?\))\)', source)
        assert known
        assert set(table["properties"]) == set(re.findall(r'"(\w+)"', known[1]))
    for table in (sweep, plot):
        assert all(len(one["description"]) > 10 for one in table["properties"].values())


def test_metrics_are_those_that_runs_have() -> None:
    alone, of_links, of_groups = SCHEMA["$defs"]["Metric"]["anyOf"]
    assert alone["enum"] == [*metrics.LINK_COLUMNS, *metrics.GROUP_COLUMNS]
    scenario: dict[str, Any] = {"links": {"b.reverse": {}}, "flows": {"a": {}}}
    for metric in metrics.possible(scenario):
        assert errors(with_("reps = 3", x="topology.rtt", y=metric)) == [], metric
    for pattern in (of_links["pattern"], of_groups["pattern"]):
        assert not re.search(pattern, "links.a.b")


def test_scenarios_made_in_python_have_typed_sweeps(tmp_path: Path) -> None:
    import clearpipe as cp

    made = cp.Scenario(
        name="mine",
        duration="10s",
        topology=cp.Dumbbell(rate="10Mbps", rtt="40ms"),
        flows={"a": cp.Flows(protocol="sack")},
        sweep=cp.Sweep(reps=2, vary={"topology.rtt": ["10ms", "20ms"]}),
        plot=cp.PlotTable(x="topology.rtt", y="utilization_ratio"),
    )
    assert errors(copy.deepcopy(made.to_dict())) == []
    file = tmp_path / "mine.toml"
    file.write_text(made.to_toml())
    read = spec.load(file)
    assert (len(read.points), read.reps, read.plots[0].y) == (2, 2, ("utilization_ratio",))
