"""A link is named by the scenario: no number is of a link that a run's outcome chose."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sweeping import call, write

import clearpipe as cp
from clearpipe import sweep, units
from clearpipe.errors import ConfigError
from clearpipe.replications import Replications
from clearpipe.reproduce import data, work
from clearpipe.reproduce.data import Panel
from clearpipe.seals import seal
from clearpipe.sweep import drawing, results
from clearpipe.sweep import page as reporting
from clearpipe.sweep.store import Store

# One flow that sends little one way, ten that fill the link the other way.
WEAK = """\
schema = 1
name = "weak"
duration = "4s"
warmup = "1s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
queue = "vcp"
[flows.one]
protocol = "vcp"
rate = "1Mbps"
direction = "ONE"
[flows.many]
protocol = "cubic"
count = 10
direction = "MANY"
start = "uniform(0s, 100ms)"
"""
AGAINST = WEAK.replace("ONE", "forward").replace("MANY", "reverse")
ALONG = WEAK.replace("ONE", "reverse").replace("MANY", "forward")
BACK = WEAK.replace("ONE", "reverse").replace("MANY", "reverse")

LOT = """\
schema = 1
name = "lot"
duration = "1s"
[topology]
kind = "parking-lot"
links = 2
rate = "10Mbps"
link_rtt = "10ms"
[flows.f]
protocol = "reno"
start = "uniform(0s, 100ms)"
"""

VARY = '[sweep]\nvary."topology.rtt" = ["20ms", "40ms"]\n'
PLOT = '[plot]\nx = "topology.rtt"\ny = "utilization_ratio"\n'

CANDIDATES = (
    "utilization_ratio is a link's, and the scenario (topology.rtt=20ms) says of no link that it "
    "is its bottleneck: take one of links.l1.utilization_ratio, links.l2.utilization_ratio, "
    "links.l1.reverse.utilization_ratio, links.l2.reverse.utilization_ratio, or give the scenario "
    'bottleneck = "LINK"'
)


def flowing(text: str) -> str:
    """A text without its line breaks: a caption is as wide as its table."""
    return re.sub(r"\s+", " ", text)


def used(result: cp.Result) -> dict[str, float]:
    return {link["name"]: link["utilization_ratio"] for link in result.summary["links"]}


@pytest.mark.parametrize(
    ("text", "busiest"), [(AGAINST, "bottleneck.reverse"), (ALONG, "bottleneck")]
)
def test_the_forward_link_is_told_whichever_is_busier(
    tmp_path: Path, text: str, busiest: str
) -> None:
    result = cp.run(text)
    links = used(result)
    assert max(links, key=lambda name: links[name]) == busiest
    assert result.summary["bottleneck"] == "bottleneck"
    assert f"bottleneck: {units.percent(links['bottleneck'])} used" in repr(result)
    assert "Bottleneck: link bottleneck." in result._repr_html_()
    assert 'bottleneck = "bottleneck"\n' in result.scenario_toml

    file = tmp_path / "weak.toml"
    file.write_text(text)
    shown = json.loads(call("run", file, "--json", cwd=tmp_path).stdout)
    assert shown["bottleneck"] == "bottleneck"
    for side in "ab":
        call("run", file, "--report", "--out", side, cwd=tmp_path)
    assert json.loads((tmp_path / "a/summary.json").read_text())["bottleneck"] == "bottleneck"
    page = (tmp_path / "a/report.html").read_text(encoding="utf-8")
    assert "Link bottleneck; flows of group one." in page
    head = re.search(r"<h2>Result</h2>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert head is not None
    first = re.findall(r"<td>(.*?)</td>", head[1])[0]
    assert first == units.number(100 * links["bottleneck"])
    compared = call("compare", "a", "b", cwd=tmp_path)
    assert "Bottleneck: link bottleneck." in flowing(compared.stdout)
    found = json.loads(call("compare", "a", "b", "--json", cwd=tmp_path).stdout)
    assert found["bottlenecks"] == {"a": ["bottleneck"], "b": ["bottleneck"]}
    several = call("run", file, "--reps", 2, cwd=tmp_path)
    assert "Utilization, link bottleneck " in several.stdout

    write(tmp_path, VARY + PLOT, text)
    call("sweep", "run", "sweep.toml", cwd=tmp_path)
    out = call("sweep", "report", "sweep.toml", "--json", "--out", "out", cwd=tmp_path)
    for point in json.loads(out.stdout)["points"]:
        assert point["link"] == "bottleneck"
        numbers = {name: entry["mean"] for name, entry in point["metrics"].items()}
        assert numbers["utilization_ratio"] == numbers["links.bottleneck.utilization_ratio"]
        assert numbers["utilization_ratio"] != numbers["links.bottleneck.reverse.utilization_ratio"]
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "Of link bottleneck: Utilization, Mean queue, Share of arrivals dropped." in page
    assert '"title":"Utilization","unit":"ratio","of":"link bottleneck"' in page
    with (tmp_path / "out/runs.csv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            assert row["link"] == "bottleneck"
            assert row["utilization_ratio"] == row["links.bottleneck.utilization_ratio"]


def test_where_all_data_goes_back_the_reverse_link_is_told() -> None:
    for engine in ("packet", "fluid"):
        text = BACK.replace('protocol = "vcp"\nrate = "1Mbps"', 'protocol = "vcp"')
        text = text.replace("cubic", "vcp")
        assert cp.run(text, engine=engine).summary["bottleneck"] == "bottleneck.reverse"


def test_without_a_name_every_loaded_link_is_told(tmp_path: Path) -> None:
    (tmp_path / "lot.toml").write_text(LOT)
    result = cp.run(LOT)
    assert result.summary["bottleneck"] is None
    assert "l1: " in repr(result)
    assert "l2: " in repr(result)
    assert "and 2 more links" in repr(result), "with ACKs"
    out = call("run", "lot.toml", "--reps", 2, cwd=tmp_path).stdout
    for name in ("l1", "l2", "l1.reverse", "l2.reverse"):
        assert f"Utilization, link {name} " in out
    call("run", "lot.toml", "--report", "--out", "a", cwd=tmp_path)
    page = (tmp_path / "a/report.html").read_text(encoding="utf-8")
    rows = re.search(r"<h2>Result</h2>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert rows is not None
    told = [re.findall(r"<td>(.*?)</td>", row)[:2] for row in rows[1].split("</tr>")[:-1]]
    wanted = [[name, units.number(100 * ratio)] for name, ratio in used(result).items()]
    assert told == wanted


@pytest.mark.parametrize(
    "arguments",
    [
        ["sweep", "run"],
        ["sweep", "run", "--dry-run"],
        ["sweep", "report"],
        ["show"],
    ],
)
def test_a_metric_of_no_link_is_refused_before_anything_runs(
    tmp_path: Path, arguments: list[str]
) -> None:
    write(tmp_path, VARY + PLOT, LOT)
    store = Store(tmp_path / "results/store")
    store.open()
    said = call(*arguments, "sweep.toml", cwd=tmp_path, expect=3).stderr
    assert f"sweep.toml: plot.y: {CANDIDATES}\n" in said
    assert store.present() == set()


@pytest.mark.parametrize("given", [["--until", "ci=2%"], []])
def test_until_needs_a_named_link(tmp_path: Path, given: list[str]) -> None:
    table = VARY if given else VARY.replace("[sweep]\n", '[sweep]\nuntil = { ci = "2%" }\n')
    write(tmp_path, table, LOT)
    said = call("sweep", "run", "sweep.toml", *given, cwd=tmp_path, expect=3).stderr
    key = "--until" if given else "sweep.until.metric"
    assert f"sweep.toml: {key}: {CANDIDATES}\n" in said
    assert Store(tmp_path / "results/store").present() == set()


def test_until_says_of_which_link_it_is(tmp_path: Path) -> None:
    until = 'until = { ci = "50%", min_reps = 3, max_reps = 4 }'
    write(tmp_path, VARY.replace("[sweep]\n", f"[sweep]\n{until}\n"), AGAINST)
    call("sweep", "run", "sweep.toml", cwd=tmp_path)
    told = call("sweep", "report", "sweep.toml", cwd=tmp_path).stdout
    assert "interval of links.bottleneck.utilization_ratio is within" in flowing(told)


def test_the_key_names_another(tmp_path: Path) -> None:
    named = LOT.replace('duration = "1s"', 'duration = "1s"\nbottleneck = "l2"')
    write(tmp_path, VARY + PLOT, named)
    call("sweep", "run", "sweep.toml", cwd=tmp_path)
    out = call("sweep", "report", "sweep.toml", "--json", cwd=tmp_path)
    for point in json.loads(out.stdout)["points"]:
        numbers = point["metrics"]
        assert point["link"] == "l2"
        assert numbers["queue_mean_pkts"] == numbers["links.l2.queue_mean_pkts"]
        assert numbers["queue_mean_pkts"] != numbers["links.l1.queue_mean_pkts"]
    # The runs are those of the file without the key, and without a plot the table does without it.
    write(tmp_path, VARY, LOT)
    assert "(0 now)" in call("sweep", "run", "sweep.toml", cwd=tmp_path).stdout
    told = call("sweep", "report", "sweep.toml", cwd=tmp_path).stdout
    assert "The scenario names no link" in flowing(told)
    assert "utilization_ratio" not in told
    # The page has a column for each loaded link: ACKs alone come back.
    page = (tmp_path / "results/lot-sweep/report.html").read_text(encoding="utf-8")
    for name in ("l1", "l2", "l1.reverse", "l2.reverse"):
        assert f">Utilization, link {name}</th>" in page
    assert "<th>utilization_ratio</th>" not in page
    wrong = named.replace('"l2"', '"l2.revers"')
    said = call("show", write(tmp_path, VARY, wrong), cwd=tmp_path, expect=3).stderr
    assert 'bottleneck: unknown link "l2.revers"; did you mean "l2.reverse"?' in said


def test_a_link_is_named_before_anything_has_run(tmp_path: Path) -> None:
    spec = sweep.load(write(tmp_path, VARY + PLOT, AGAINST))
    store = Store(tmp_path / "store")
    store.open()
    found = results.read(spec, store)
    assert {row.state for row in found.rows} == {"missing"}
    assert found.links == ["bottleneck"]
    assert reporting.of_links(found, ["utilization_ratio"]) == "Of link bottleneck: Utilization."
    by = units.Scale(0.01, "%")
    named = drawing.name("utilization_ratio", by, found.links)
    assert named == "Utilization (%)\nlink bottleneck"
    assert drawing.name("utilization_ratio", by, []) == "Utilization (%)"


def test_a_mean_over_replications_counts_a_link_that_was_idle_in_one() -> None:
    """In a second a transfer comes, or more do, or none does."""
    some = 'path = "cross(1)"\nsize = "10kB"\narrivals = "poisson(1/s)"'
    idle = LOT.replace('start = "uniform(0s, 100ms)"', some)
    results = [cp.run(idle, rep=rep) for rep in range(8)]
    ratios = [r.summary["links"][0]["utilization_ratio"] for r in results]
    assert min(ratios) == 0 < max(ratios)
    rows = {row[0]: row[1:] for row in Replications(tuple(results)).table().rows}
    mean, least, _ = rows["Utilization, link l1"]
    assert float(mean.partition(" ±")[0]) == pytest.approx(100 * sum(ratios) / 8, rel=0.05)
    assert least == "0 %"


def test_points_may_name_different_links(tmp_path: Path) -> None:
    sweeps = '[sweep]\nvary."flows.one.direction" = ["forward", "reverse"]\n'
    plot = '[plot]\nx = "flows.one.direction"\ny = "utilization_ratio"\n'
    write(tmp_path, sweeps + plot, BACK)
    call("sweep", "run", "sweep.toml", cwd=tmp_path)
    out = call("sweep", "report", "sweep.toml", "--out", "out", cwd=tmp_path).stdout
    assert "Of the link in the column of that name: Utilization" in flowing(out)
    found = results.read(sweep.load(tmp_path / "sweep.toml"), Store(tmp_path / "results/store"))
    assert [found.link(point) for point in found.spec.points] == [
        "bottleneck",
        "bottleneck.reverse",
    ]
    for row in found.rows:
        name = f"links.{row.run.bottleneck}.utilization_ratio"
        assert row.metrics["utilization_ratio"] == row.metrics[name]
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    shown = next(part for part in page.split("<tr>") if ">reverse</th>" in part)
    assert ">bottleneck.reverse</td>" in shown
    assert '"of":"link bottleneck or bottleneck.reverse"' in page


def make_old(folder: Path, bottleneck: str) -> None:
    """A result as earlier versions wrote it: the busiest link, and a scenario without the key."""
    toml, summary = folder / "run.toml", folder / "summary.json"
    text, changes = re.subn(r"(?m)^bottleneck = .*\n", "", toml.read_text())
    assert changes == 1
    toml.write_text(text)
    told = {**json.loads(summary.read_text()), "bottleneck": bottleneck}
    summary.write_text(json.dumps(told, indent=2) + "\n")


def test_old_results_answer_by_the_rule(tmp_path: Path) -> None:
    file = tmp_path / "weak.toml"
    file.write_text(AGAINST)
    call("run", file, "--out", "a", cwd=tmp_path)
    make_old(tmp_path / "a", "bottleneck.reverse")
    (tmp_path / "a/seal.json").unlink()
    assert cp.load(tmp_path / "a").summary["bottleneck"] == "bottleneck"
    found = json.loads(call("compare", "a", "a", "--json", cwd=tmp_path).stdout)
    assert found["bottlenecks"]["a"] == ["bottleneck"]
    again = call("run", file, "--out", "a", cwd=tmp_path)
    assert "a: was there already" in again.stderr
    assert "Bottleneck: link bottleneck." in again.stdout

    write(tmp_path, VARY + PLOT, AGAINST)
    call("sweep", "run", "sweep.toml", cwd=tmp_path)
    store = Store(tmp_path / "results/store")
    shutil.rmtree(store.plans)
    for identity in store.present():
        folder = store.directory(identity)
        make_old(folder, "bottleneck.reverse")
        (folder / "seal.json").write_text(seal(folder))
    assert "2 of 2 runs done (0 now)" in call("sweep", "run", "sweep.toml", cwd=tmp_path).stdout
    for row in results.read(sweep.load(tmp_path / "sweep.toml"), store).rows:
        name = "links.bottleneck.utilization_ratio"
        assert row.metrics["utilization_ratio"] == row.metrics[name]


def test_a_result_that_is_there_is_shown_with_the_link_that_is_named_now(tmp_path: Path) -> None:
    file = tmp_path / "lot.toml"
    file.write_text(LOT)
    first = call("run", file, cwd=tmp_path)
    assert "Bottleneck" not in first.stdout
    before = sorted(next(tmp_path.rglob("meta.json")).parent.iterdir())
    file.write_text(LOT.replace('duration = "1s"', 'duration = "1s"\nbottleneck = "l2"'))
    for _ in range(2):
        again = call("run", file, cwd=tmp_path)
        assert "was there already" in again.stderr
        assert "Bottleneck: link l2." in again.stdout
    # Whoever reads the directory is told the same, and it is the run that it was.
    (folder,) = (meta.parent for meta in tmp_path.rglob("meta.json"))
    result = cp.load(folder)
    assert result.summary["bottleneck"] == "l2"
    assert 'bottleneck = "l2"' in (folder / "run.toml").read_text()
    assert json.loads((folder / "summary.json").read_text())["bottleneck"] == "l2"
    assert sorted(folder.iterdir()) == before
    anew = cp.run(file, seed=1)
    assert anew.fingerprint == result.fingerprint


def test_a_link_that_is_not_there_is_no_bottleneck() -> None:
    result = cp.run(LOT)
    with pytest.raises(ValueError, match=r"no link is called \"l9\"; there are l1, "):
        result._run.with_bottleneck("l9")


def test_papers_measure_links_by_name(tmp_path: Path) -> None:
    """Every link's number that a figure uses is of a link that its runs name."""
    for scale in data.SCALES:
        job = work.Job(Store(tmp_path), scale)
        for figure in data.every():
            job.sweeps(figure)
    (figure,) = data.chosen("xcp:fig09")
    metric = "mean(links.l?.queue_mean_pkts) - queue_mean_pkts"
    wrong = replace(figure, panels=(Panel(metric=metric),))
    text = r"xcp-fig09: panel: queue_mean_pkts is a link's.* take one of links\.l1\.queue_mean"
    with pytest.raises(ConfigError, match=text):
        work.Job(Store(tmp_path), "quick").sweeps(wrong)
