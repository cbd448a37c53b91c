"""Links of reports to the lab: what they hold is what the lab reads, and only what it can run."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import clearpipe as cp
from clearpipe import examples, report, sweep
from clearpipe.errors import ConfigError
from clearpipe.report import lab
from clearpipe.report.lab import Lane
from clearpipe.sweep import results, study
from clearpipe.sweep.store import Store

REPOSITORY = Path(__file__).resolve().parents[2]
NODE = shutil.which("node")
SHORT = ["duration=2s", "warmup=1s"]
HERE = "http://127.0.0.1:8300/"

UNPACK = """
import { unpack } from "./share.js";
let text = "";
for await (const part of process.stdin) text += part;
const found = [];
for (const one of JSON.parse(text)) found.push(await unpack(one));
console.log(JSON.stringify(found));
"""


def unpacked(*fragments: str) -> list[dict[str, Any]]:
    """What lab/src/share.js makes of them, in node."""
    if NODE is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", UNPACK],
        input=json.dumps(fragments),
        cwd=REPOSITORY / "lab" / "src",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return list(json.loads(done.stdout))


def links(page: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r'<a class="lab" href="([^"]*)"', page)]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lab.VARIABLE, HERE)


def run(name: str, **options: Any) -> cp.Result:
    options.setdefault("set", () if name == "xcp-fig10" else SHORT)
    made: cp.Result = cp.run(examples.path(name), **options)
    return made


@pytest.mark.parametrize("level", [0, 9])
def test_the_lab_unpacks_what_is_packed_here(level: int) -> None:
    toml = 'schema = 1\nname = "Fußgängerübergang, 渋滞, \U0001f6a6 \\"x\\""\n' * 40
    lanes = [
        Lane(toml, "a label", ("topology.rate=10Mbps", "seed=9223372036854775807"), 3),
        Lane("schema = 1\n", "\U0001f6a6" * 50),
    ]
    (found,) = unpacked(lab.fragment(lanes, level=level))
    assert found["lanes"] == [
        {"toml": toml, "label": "a label", "sets": list(lanes[0].sets), "rep": 3},
        # Two of JavaScript's characters each, of which a label has 60.
        {"toml": "schema = 1\n", "label": "\U0001f6a6" * 30, "sets": [], "rep": 0},
    ]


def test_the_largest_link_that_is_made_is_read() -> None:
    toml = "# " + "é" * (lab.MOST_CHARACTERS - 60_000) + "\n"
    assert lab.can_run(toml)
    (found,) = unpacked(lab.fragment([Lane(toml)]))
    assert found["lanes"][0]["toml"] == toml


@pytest.mark.usefixtures("here")
def test_two_that_are_too_long_together_have_no_link() -> None:
    toml = "# " + "x" * 120_000 + "\n"
    assert lab.of([Lane(toml)]).startswith(f"{HERE}#v1.")
    assert lab.of([Lane(toml), Lane(toml)]) == ""
    assert lab.of([Lane(toml + toml)]) == ""


@pytest.mark.usefixtures("here")
def test_a_report_links_to_its_own_run() -> None:
    result = run("two-paths", seed=5, rep=2)
    (link,) = links(report.html([result]))
    place, _, fragment = link.partition("#")
    (found,) = unpacked(fragment)
    (lane,) = found["lanes"]
    assert place == HERE
    assert lane["rep"] == 2
    again = cp.run(lane["toml"], set=lane["sets"], rep=lane["rep"])
    assert again.fingerprint == result.fingerprint


@pytest.mark.usefixtures("here")
def test_an_example_is_linked_as_it_was_written() -> None:
    result = run("xcp-fig10", seed=4)
    (found,) = unpacked(lab.of_result(result).partition("#")[2])
    assert found["lanes"][0]["toml"] == examples.path("xcp-fig10").read_text(encoding="utf-8")
    assert found["lanes"][0]["sets"] == ["seed=4"]


@pytest.mark.usefixtures("here")
def test_comparisons_are_linked_side_by_side() -> None:
    results = [run("xcp-fig10"), run("xcp-fig10", set=["topology.rate=20Mbps"])]
    page = report.html(results, "two")
    first, *each = links(page)
    (found,) = unpacked(first.partition("#")[2])
    assert len(found["lanes"]) == 2
    assert len(each) == 2
    runs = [run("two-paths", rep=rep) for rep in (0, 1)] + [run("xcp-fig10", rep=0)]
    page = report.html(runs, "sides")
    together, *each = links(page)
    (found,) = unpacked(together.partition("#")[2])
    assert [lane["label"] for lane in found["lanes"]] == ["two-paths", "xcp-fig10"]
    assert [unpacked(one.partition("#")[2])[0]["lanes"][0]["rep"] for one in each] == [0, 1, 0]


@pytest.mark.usefixtures("here")
def test_what_the_lab_cannot_run_has_no_link() -> None:
    assert lab.of_result(run("xcp-fig10", engine="fluid")) == ""
    branched = cp.branch(examples.path("xcp-fig10"), at=1, variants={"same": {}})["same"]
    assert lab.of_result(branched) == ""
    assert lab.of_result(run("prototype")) == ""
    assert lab.of_result(run("xcp-fig10", rep=2**32)) == ""
    assert lab.can_run('size = { cdf = "web-search.cdf" }')
    assert not lab.can_run('size = { cdf = "my.cdf" }')
    assert not lab.can_run('rate = { trace = "/etc/passwd" }')


def test_every_key_that_names_a_file_is_known() -> None:
    schema = json.loads((Path(cp.__file__).parent / "scenario.schema.json").read_text("utf-8"))

    def names(node: Any, key: str = "") -> set[str]:
        if isinstance(node, list):
            return set().union(*(names(one, key) for one in node))
        if not isinstance(node, dict):
            return set()
        if node.get("description", "").startswith("a file; its name"):
            return {key}
        found = set()
        for name, inner in node.items():
            if name in ("properties", "patternProperties"):
                # A sweep's keys are paths, and those of names patterns: `topology.trace`.
                parts = [(own.rstrip("$").rpartition(".")[2], one) for own, one in inner.items()]
                found |= set().union(*(names(one, own) for own, one in parts))
            else:
                found |= names(inner, key)
        return found

    assert names(schema) <= set(lab.FILES)
    assert len(names(schema)) >= 2


def test_where_the_lab_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(lab.VARIABLE, raising=False)
    assert re.fullmatch(r"https://[\w.-]+/(.*/)?lab/index\.html", lab.address())
    monkeypatch.setenv(lab.VARIABLE, "file:///srv/lab/index.html#xcp-fig10")
    assert lab.address() == "file:///srv/lab/index.html"
    monkeypatch.setenv(lab.VARIABLE, "")
    assert lab.of([Lane("schema = 1\n")]) == ""
    monkeypatch.setenv(lab.VARIABLE, "javascript:alert(1)")
    with pytest.raises(ConfigError, match=r"CLEARPIPE_LAB: 'javascript:.*https:// or file"):
        lab.address()


@pytest.mark.usefixtures("here")
def test_a_stopped_run_has_no_link() -> None:
    """The lab would go on to its end, which has another fingerprint."""
    stopped = cp.run(examples.path("xcp-fig10"), set=["duration=1000s"], progress=lambda _: False)
    assert stopped.meta["state"] == "partial"
    assert lab.of_result(stopped) == ""


def test_options_that_the_lab_would_not_read_are_refused() -> None:
    """By Python before a link is made, and by the lab, which does not leave them out."""
    for sets in (("seed=1",) * 101, ("name=" + "x" * 500,), ("name=" + "\U0001f6a6" * 250,)):
        lane = Lane("schema = 1\n", "", sets)
        assert lab.of([lane]) == ""
        with pytest.raises(subprocess.CalledProcessError) as raised:
            unpacked(lab.fragment([lane]))
        assert "it has options of a wrong form" in raised.value.stderr
    assert unpacked(lab.fragment([Lane("schema = 1\n", "", ("seed=1",) * 100)]))


@pytest.mark.parametrize(
    ("option", "can"),
    [
        ("topology.rtt=10ms", True),
        ('topology.trace="cellular.trace"', True),
        ("topology.trace=cellular.trace", True),
        ("topology.trace=/etc/passwd", False),
        ('topology.trace="../examples/cellular.trace"', False),
        ('links.down."trace"="mine.trace"', False),
        ('flows.a.protocol={ kind = "python", code = "mine.py:Mine" }', False),
        ("protocols.mine.kind=python", False),
        ('flows.a.size={ cdf = "mine.cdf" }', False),
    ],
)
def test_options_ask_for_what_the_lab_has(option: str, can: bool) -> None:
    assert lab.can_set(option) == can


def swept(file: Path, *sets: str) -> Any:
    spec = sweep.load(file, sets=sets)
    return study.study(results.read(spec, Store(file.parent / "store")), [], file.parent)["lab"]


@pytest.mark.usefixtures("here")
def test_a_sweep_is_linked_only_with_files_that_the_lab_has(tmp_path: Path) -> None:
    text = examples.path("cellular-trace").read_text(encoding="utf-8")
    file = tmp_path / "mine.toml"
    file.write_text(f'{text}\n[sweep.vary]\n"links.down.owd" = ["20ms", "30ms"]\n', "utf-8")
    trace = tmp_path / "cellular.trace"
    shipped = (examples.FOLDER / trace.name).read_bytes()
    trace.write_bytes(shipped)
    assert swept(file)["of"] == [[['links.down.owd="20ms"'], ['links.down.owd="30ms"']]]
    # The lab would take its own file of that name.
    trace.write_bytes(b"1\n" + shipped)
    assert swept(file) is None
    trace.write_bytes(shipped)
    (tmp_path / "other.trace").write_bytes(shipped)
    assert swept(file, 'links.down.trace="other.trace"') is None
    varied = text.replace(
        "[links.", '[sweep.vary]\n"links.down.trace" = ["other.trace"]\n[links.', 1
    )
    file.write_text(varied, "utf-8")
    assert swept(file) is None
