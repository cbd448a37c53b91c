"""`clearpipe new`, `clearpipe schema`, and what a shell completes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sweeping import call
from typer.testing import CliRunner, Result

import clearpipe as cp
from clearpipe import examples, overview, sweep
from clearpipe.cli import app


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def completed(line: str) -> list[str]:
    """What bash is offered after the line, as typer is asked by it."""
    words = line.split(" ")
    asked = {
        "_CLEARPIPE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    code = "import sys; sys.argv[0] = 'clearpipe'; from clearpipe.cli import app; app()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout.split("\n")


# Files to begin with.


def test_a_sweep_of_todays_hosts_whose_runs_can_be_drawn() -> None:
    """What a point's run keeps is there without running it again, and the era is the file's."""
    options = ("--protocol", "cubic", "--protocol", "bbr", "--era", "linux-6.1", "--reps", "1")
    made = invoke("new", "two.toml", *options, "--duration", "3s", "--rate", "5Mbps")
    assert made.exit_code == 0, made.output
    assert invoke("sweep", "run", "two.toml", "-q").exit_code == 0
    (first, *_) = sorted(Path("results/store/runs").glob("*/*/run.toml"))
    assert 'initial_window = "10.0pkt"' in first.read_text()
    assert "goodput_bps" in cp.load(first.parent).series_names
    refused = invoke("new", "three.toml", "--era", "linux-6.2")
    assert refused.exit_code == 3
    assert "linux-6.1" in completed("clearpipe new x.toml --era l")


def test_a_scenario_runs_as_it_is() -> None:
    made = invoke("new", "mine.toml", "--protocol", "xcp", "--rate", "10Mbps", "--duration", "3s")
    assert made.exit_code == 0, made.output
    text = Path("mine.toml").read_text()
    assert text.startswith("#:schema ./scenario.schema.json\n")
    assert 'queue = "xcp"' in text, "what the protocol needs"
    result = cp.run("mine.toml", reps=2)
    assert result[0].meta["name"] == "mine"
    assert not result.one_run
    known = json.loads(Path("scenario.schema.json").read_text())["properties"]
    assert tomllib.loads(text).keys() <= known.keys()


def test_a_sweep_runs_as_it_is() -> None:
    options = ["--protocol", "xcp", "--protocol", "cubic", "--reps", "3", "--flows", "2"]
    options += ["--vary", "topology.rtt=logspace(10ms, 40ms, 2)", "--rate", "5Mbps"]
    options += ["--duration", "2s", "--no-schema"]
    assert invoke("new", "s.toml", *options).exit_code == 0
    assert not Path("scenario.schema.json").exists()
    spec = sweep.load(Path("s.toml"))
    assert [axis.name for axis in spec.axes] == ["topology.rtt", "scheme"]
    assert (len(spec.points), spec.reps) == (4, 3)
    assert spec.plots[0].x == "topology.rtt"
    assert spec.points[1].values["topology.queue"] == "droptail"
    done = invoke("sweep", "run", "s.toml", "-q")
    assert done.stdout.startswith("12 of 12 runs done"), done.output


def test_what_comments_name_is_there_wherever_clearpipe_is() -> None:
    """An installed wheel has no docs, and no file but those that were written."""
    swept = ["--vary", "topology.rtt=10ms,40ms", "--protocol", "xcp", "--protocol", "cubic"]
    for name, options in (("one.toml", []), ("many.toml", swept)):
        assert invoke("new", name, *options, "--force").exit_code == 0
        text = Path(name).read_text()
        assert "docs/" not in text
        for file in re.findall(r"[\w./-]+\.(?:md|toml|json)\b", text):
            assert Path(file).exists(), file
        named = set(re.findall(r"clearpipe ([a-z]+)", text))
        assert {"show", "run", "list"} <= named if name == "one.toml" else "schema" in named
        assert all(invoke(command, "--help").exit_code == 0 for command in named)


def test_values_of_all_kinds() -> None:
    vary = ["--vary", "flows.long.count=1,20", "--vary", "topology.buffer=50pkt, 1bdp"]
    assert invoke("new", "v.toml", *vary, "--no-schema").exit_code == 0
    values = [axis.values for axis in sweep.load(Path("v.toml")).axes]
    assert values == [((1,), (20,)), (("50pkt",), ("1bdp",))]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--protocol", "cubik"], 3, 'did you mean "cubic"'),
        (["--rate", "45"], 3, '"45Mbps"'),
        (["--duration", "30"], 3, '"30s"'),
        (["--vary", "topology.rt=10ms,20ms"], 3, "rtt"),
        (["--vary", "topology.rtt"], 3, "KEY=VALUE"),
        (["--vary", "topology.rtt=10ms,10ms"], 3, "twice"),
        (["--reps", "10"], 2, "clearpipe run x.toml --reps 10"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    options: list[str], code: int, told: str
) -> None:
    done = invoke("new", "x.toml", *options)
    assert done.exit_code == code, done.output
    assert told in done.stderr
    assert not list(Path().iterdir())


def test_what_is_there_stays() -> None:
    Path("mine.toml").write_text("mine\n")
    done = invoke("new")
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert Path("mine.toml").read_text() == "mine\n"
    assert invoke("new", "--force").exit_code == 0
    Path("scenario.schema.json").write_text("{}")
    assert invoke("new", "other.toml").exit_code == 2
    assert not Path("other.toml").exists()


# The schema.


def test_the_schema_is_data_of_the_package_and_has_a_name() -> None:
    printed = invoke("schema").stdout
    schema = json.loads(printed)
    assert schema == cp.schema(), "make docs-reference"
    assert schema["$id"] == "urn:clearpipe:scenario:1"
    path = Path(invoke("schema", "--path").stdout.strip())
    assert path.parent == Path(cp.__file__).parent
    assert path.read_text(encoding="utf-8") == printed
    assert invoke("schema", "--out", "a/b.json").exit_code == 0
    assert Path("a/b.json").read_text(encoding="utf-8") == printed
    Path("notes.json").write_text("[]")
    assert invoke("schema", "--out", "notes.json").exit_code == 2
    assert Path("notes.json").read_text() == "[]"


# Names of scenarios.


def test_every_listed_scenario_runs_by_its_name() -> None:
    for example in examples.every():
        result = cp.run(example["name"], progress=lambda _: False)
        assert result.meta["name"]
        assert example["about"], example["name"]
        assert "\n" not in example["about"]


def test_the_sentences_are_whole() -> None:
    about = {one["name"]: one["about"] for one in examples.every()}
    assert about["abilene"].startswith("A map: transfers across the Abilene backbone, its links")
    listed = invoke("list", "scenarios").stdout
    assert all(sentence in listed for sentence in about.values())


def test_the_command_to_run_it_again_works_from_anywhere(tmp_path: Path) -> None:
    result = cp.run("xcp-fig10", seed=3, progress=lambda _: False)
    command = overview.repeat_command(result)
    assert command == "clearpipe run xcp-fig10 --seed 3 --rep 0"
    changed = cp.run("xcp-fig10", set=["topology.rtt=90ms"], progress=lambda _: False)
    assert overview.repeat_command(changed).startswith("clearpipe run xcp-fig10.toml ")
    meta = {**changed.meta, "name": "-a b; rm x"}
    named = SimpleNamespace(meta=meta, scenario_toml=changed.scenario_toml)
    hostile = overview.repeat_command(cast(cp.Result, named))
    assert hostile == "clearpipe run './-a b; rm x.toml' --seed 1 --rep 0"
    done = call(*command.split()[1:], "-q", cwd=tmp_path)
    assert cp.run("xcp-fig10", seed=3).fingerprint in done.stdout


# Completion.


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("clearpipe run base-case-x", ["base-case-xcp"]),
        ("clearpipe sweep run sweep", ["sweep-rtt"]),
        ("clearpipe sweep run base-case-x", [""]),
        ("clearpipe run x --engine fl", ["fluid"]),
        ("clearpipe sweep run x --engine l", [""]),
        ("clearpipe reproduce xcp:fig1", [f"xcp:fig1{i}" for i in range(7)]),
        # Bash takes the colon for a word of its own.
        ("clearpipe reproduce vcp : fig0", [f"fig0{i}" for i in range(1, 10)]),
        ("clearpipe run x --set topology.rt", ["topology.rtt="]),
        ("clearpipe run x --set flows.long.protocol=vcp-f", ["flows.long.protocol=vcp-friendly"]),
        ("clearpipe new --protocol cub", ["cubic", "cubic-2005"]),
        ("clearpipe new --queue fq", None),
        ("clearpipe list proto", ["protocols"]),
        (
            "clearpipe run xcp-fig10 --until ci=2%,metric=goodput_me",
            ["ci=2%,metric=goodput_mean_bps"],
        ),
        (
            "clearpipe run two-paths --until ci=2%,metric=links.sea.reverse.utilization",
            ["ci=2%,metric=links.sea.reverse.utilization_ratio"],
        ),
    ],
)
def test_completion(line: str, wanted: list[str] | None) -> None:
    found = completed(line)
    if wanted is None:
        assert found
        assert all(text.startswith("fq") for text in found if text)
        return
    assert [text for text in found if text] == [text for text in wanted if text]


def test_completion_of_files() -> None:
    Path("folder").mkdir()
    Path("folder/mine.toml").write_text("")
    Path("folder/mine.txt").write_text("")
    assert "folder/" in completed("clearpipe run fo")
    assert [one for one in completed("clearpipe run folder/m") if one] == ["folder/mine.toml"]
