"""Sweep, comparison and reproduction pages in headless Chromium, read back against the files."""

from __future__ import annotations

import csv
import html
import json
import math
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_lab_links
import test_report_browser as browser
from sweeping import BASE, call, write

import clearpipe as cp
from clearpipe import compare, units

pytestmark = pytest.mark.skipif(browser.BROWSER is None, reason="no browser is installed")

SWEEP = """
[sweep]
reps = 3
vary."topology.rtt" = ["10ms", "40ms", "160ms"]
vary."flows.a.protocol" = ["reno", "cubic"]
[plot]
x = "topology.rtt"
lines = "flows.a.protocol"
y = ["utilization_ratio", "queue_mean_pkts"]
"""

START = """<pre id="seen"></pre><script>
const all = (q, from = document) => [...from.querySelectorAll(q)];
const key = (node, name) => node.dispatchEvent(
  new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const tell = (seen) => {
  seen.wrongs = wrongs;
  seen.width = [document.documentElement.scrollWidth, document.documentElement.clientWidth];
  seen.low = all("svg.points").map((svg) => svg.querySelectorAll("path, rect").length);
  document.getElementById("seen").textContent = JSON.stringify(seen);
};
addEventListener("load", () => setTimeout(() => {"""
END = "}, 300));</script>"


def look(page: Path, script: str, *options: str) -> dict[str, Any]:
    """What the script found in the page, and that nothing went wrong."""
    text = page.read_text(encoding="utf-8")
    watched = text.replace("<head>", "<head>" + browser.WATCH, 1)
    other = page.with_name("looked.html")
    other.write_text(watched.replace("</body>", START + script + END + "</body>", 1), "utf-8")
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = browser.browse(
        "--virtual-time-budget=20000", profile, *options, "--dump-dom", other.as_uri()
    )
    assert browser.complaints(done) == []
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    assert found[1], done.stderr[-2000:]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    assert seen["wrongs"] == []
    return seen


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep's report."""
    folder = tmp_path_factory.mktemp("swept")
    call("sweep", "run", write(folder, SWEEP), "-q", cwd=folder)
    call("sweep", "report", "sweep.toml", "--out", "out", "-q", cwd=folder)
    return folder / "out"


def runs(folder: Path, **wanted: str) -> list[dict[str, str]]:
    with (folder / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = {"rtt": "topology.rtt", "protocol": "flows.a.protocol"}
    return [row for row in rows if all(row[names[k]] == v for k, v in wanted.items())]


def spread(values: Sequence[float], unit: str) -> str:
    """A mean with half of its 95 % interval, by scipy."""
    from scipy import stats

    mean = math.fsum(values) / len(values)
    if len(set(values)) == 1:
        return units.spread(mean, 0.0, unit)
    low, _ = stats.t.interval(0.95, len(values) - 1, mean, stats.sem(values))
    return units.spread(mean, mean - float(low), unit)


READ = """
  const panel = document.querySelector(".panel");
  panel.focus();
  const told = [];
  for (const step of ["ArrowRight", "ArrowRight", "ArrowRight"]) {
    key(panel, step);
    told.push(panel.getAttribute("aria-description"));
  }
  key(panel, "Enter");
  const drill = document.getElementById("drill");
  tell({
    told,
    head: drill.querySelector("h3").firstChild.textContent,
    rows: all("table tr", drill).map((tr) => all("th, td", tr).map((c) => c.textContent)),
    commands: all("code", drill).map((c) => c.textContent),
    links: all("a:not(.lab)", drill).map((a) => a.getAttribute("href")),
    points: all("table.sortable tbody tr").map((tr) => all("th, td", tr).map((c) => c.textContent)),
  });
"""


def test_the_sweeps_page_tells_what_the_csv_has(swept: Path) -> None:
    seen = look(swept / "report.html", READ)
    for rtt, told in zip(("10ms", "40ms", "160ms"), seen["told"], strict=True):
        found = [float(r["utilization_ratio"]) for r in runs(swept, rtt=rtt, protocol="reno")]
        assert len(found) == 3
        assert f"RTT {units.setting(rtt)}, Protocol of a reno" in told
        assert f"Utilization: {spread(found, 'ratio')} (n = 3)" in told
    # The last point was opened: its runs, one by one.
    mine = runs(swept, rtt="160ms", protocol="reno")
    assert seen["head"] == "RTT 160 ms, Protocol of a reno"
    queue = next(row for row in seen["rows"] if row[0].startswith("Mean queue"))
    by = units.scale([float(r["queue_mean_pkts"]) for r in mine], "pkts")
    assert queue[2:] == [units.number(float(r["queue_mean_pkts"]) / by.factor) for r in mine]
    assert [link.rpartition("/runs/")[2] for link in seen["links"]] == [
        f"{r['run'][:2]}/{r['run']}/" for r in mine
    ]
    for link in seen["links"]:
        assert (swept / link / "summary.json").is_file()
    # The table of all points.
    for row in seen["points"]:
        rtt = row[0].replace(" ", "")
        of = [float(r["goodput_mean_bps"]) for r in runs(swept, rtt=rtt, protocol=row[1])]
        assert row[2] == "3"
        assert spread(of, "bps") in row


LABS = """
  all("#points tbody tr")[1].click();
  setTimeout(() => tell({ labs: all("#drill a.lab").map((a) => a.href) }), 500);
"""


def test_a_points_runs_are_linked_to_the_lab(swept: Path) -> None:
    links = look(swept / "report.html", LABS)["labs"]
    rtt, protocol = "10ms", "cubic"
    mine = runs(swept, rtt=rtt, protocol=protocol)
    found = test_lab_links.unpacked(*(link.partition("#")[2] for link in links))
    again = [
        cp.run(lane["toml"], set=lane["sets"], rep=lane["rep"])
        for one in found
        for lane in one["lanes"]
    ]
    assert [one.fingerprint for one in again] == [row["fingerprint"] for row in mine]
    assert len(again) == 3


def test_a_points_key_is_stronger_than_an_option_in_its_link_too(tmp_path: Path) -> None:
    options = ("sweep.toml", "--set", "topology.rtt=99ms")
    write(tmp_path, SWEEP.replace("reps = 3", "reps = 1"))
    call("sweep", "run", *options, "-q", cwd=tmp_path)
    call("sweep", "report", *options, "--out", "out", "-q", cwd=tmp_path)
    link, *_ = look(tmp_path / "out" / "report.html", LABS)["labs"]
    (found,) = test_lab_links.unpacked(link.partition("#")[2])
    (lane,) = found["lanes"]
    again = cp.run(lane["toml"], set=lane["sets"], rep=lane["rep"])
    rows = runs(tmp_path / "out", rtt="10ms", protocol="cubic")
    assert again.fingerprint == rows[0]["fingerprint"]


ROWS = """
  const rows = all("#points tbody tr");
  const drill = document.getElementById("drill");
  const seen = [];
  for (const row of [rows[1], rows[2]]) {
    row.cells[2].click();
    seen.push([[0, 1].map((i) => row.cells[i].textContent),
      drill.querySelector("h3").firstChild.textContent]);
  }
  // A heading turns the order round; each row keeps its point. By keys the row's heading opens it.
  document.querySelector("#points th button").click();
  document.querySelector("#points th button").click();
  const first = document.querySelector("#points tbody tr");
  first.querySelector("button").click();
  seen.push([[0, 1].map((i) => first.cells[i].textContent),
    drill.querySelector("h3").firstChild.textContent]);
  tell({ seen });
"""


def test_a_row_of_the_table_opens_its_point(swept: Path) -> None:
    seen = look(swept / "report.html", ROWS)["seen"]
    assert len({head for _, head in seen}) == 3
    for (rtt, protocol), head in seen:
        assert head == f"RTT {rtt}, Protocol of a {protocol}"


def test_the_command_of_a_point_does_the_same_run(swept: Path) -> None:
    import shlex

    seen = look(swept / "report.html", READ)
    command = shlex.split(seen["commands"][1])
    assert command[:3] == ["clearpipe", "run", "sweep.toml"]
    done = call(*command[1:], "--json", "-q", cwd=swept.parent)
    wanted = runs(swept, rtt="160ms", protocol="reno")[1]["fingerprint"]
    assert json.loads(done.stdout)["meta"]["fingerprint"] == wanted


CHOOSE = """
  const set = (name, value) => {
    const control = document.querySelector(`[data-control="${name}"]`);
    if (control.type === "checkbox") control.checked = value; else control.value = value;
    control.dispatchEvent(new Event("change"));
  };
  const count = () => [all("#views figure").length, all("#views .panel").length];
  const seen = { lines: count() };
  set("Panels", "1");
  seen.multiples = count();
  seen.titles = all("#views .panel svg").map((svg) => svg.querySelector(".name").textContent);
  set("Lines", "1");
  set("As", "heat");
  seen.heat = count();
  const cells = (svg) => all("text.small", svg).map((t) => t.textContent);
  seen.cells = all("#views .panel svg").map(cells);
  set("As", "lines");
  set("log y", true);
  const item = document.querySelector("#lines button");
  item.click();
  seen.pressed = all("#lines button").map((b) => b.getAttribute("aria-pressed"));
  tell(seen);
"""


def test_panels_heat_map_and_legend(swept: Path) -> None:
    seen = look(swept / "report.html", CHOOSE, "--window-size=1400,900")
    assert seen["lines"] == [2, 2]  # two measures
    assert seen["multiples"] == [2, 4]  # each for two protocols
    assert seen["titles"][:2] == ["Protocol of a: reno", "Protocol of a: cubic"]
    assert seen["heat"] == [2, 2]
    of = [
        [float(r["utilization_ratio"]) for r in runs(swept, rtt=rtt, protocol=protocol)]
        for protocol in ("reno", "cubic")
        for rtt in ("10ms", "40ms", "160ms")
    ]
    assert seen["cells"][0] == [units.number(100 * math.fsum(v) / len(v), 3) for v in of]
    assert seen["pressed"] == ["false", "true"]


def test_numbers_are_written_alike_in_python_and_in_the_page(swept: Path) -> None:
    draw = random.Random(23)
    values = [0, 1, 9.9995, 0.125, 2.5, 12345.5, 99995, 1e15, 1e-7, -0.0004, 2e16]
    values += [draw.choice((-1, 1)) * 10 ** draw.uniform(-9, 17) for _ in range(2000)]
    values += [1e30, -1e300, 5e-324, 9.99996e15, 1.2345e18, 999999999999999.9]
    halves = [abs(v) * 10 ** draw.uniform(-9, 1) for v in values]
    kinds = ["bps", "s", "bytes", "pkts", "ratio", "", "x"]
    script = f"""
      const values = {json.dumps(values)}, halves = {json.dumps(halves)};
      const kinds = {json.dumps(kinds)};
      const {{ number, tell: told, spread }} = clearpipe;
      tell({{
        number: values.map((v) => number(v)), signed: values.map((v) => number(v, 3, "+")),
        told: kinds.map((k) => values.map((v) => told(v, k))),
        spread: values.map((v, i) => spread(v, halves[i], kinds[i % 7])),
      }});"""
    seen = look(swept / "report.html", script)
    assert seen["number"] == [units.number(v) for v in values]
    assert seen["signed"] == [units.number(v, 3, "+") for v in values]
    assert seen["told"] == [[units.tell(v, kind) for v in values] for kind in kinds]
    assert seen["spread"] == [
        units.spread(v, half, kinds[i % 7])
        for i, (v, half) in enumerate(zip(values, halves, strict=True))
    ]


SAVE = """
  const saved = [], names = [], texts = new Map();
  URL.createObjectURL = (blob) => { saved.push(blob); return "#"; };
  HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
  const Made = Blob;
  window.Blob = function (parts, options) {
    const blob = new Made(parts, options);
    texts.set(blob, parts.join(""));
    return blob;
  };
  all("button", document.querySelector("#views .save")).forEach((b) => b.click());
  // A picture takes its time.
  const wait = setInterval(() => {
    if (saved.length < 3) return;
    clearInterval(wait);
    tell({ names, kinds: saved.map((b) => b.type), sizes: saved.map((b) => b.size),
      texts: saved.map((b) => texts.get(b) || "") });
  }, 50);
"""


def test_a_figure_is_saved_in_three_ways(swept: Path) -> None:
    import xml.etree.ElementTree as ET

    seen = look(swept / "report.html", SAVE)
    files = dict(zip(seen["kinds"], zip(seen["names"], seen["texts"], strict=True), strict=True))
    assert sorted(files) == ["image/png", "image/svg+xml", "text/csv"]
    name, text = files["image/svg+xml"]
    assert name == "tiny-Utilization.svg"
    assert ET.fromstring(text).tag.endswith("svg")
    assert "var(" not in text  # it stands alone
    assert seen["sizes"][seen["kinds"].index("image/png")] > 5000
    rows = list(csv.reader(files["text/csv"][1].splitlines()))
    assert rows[0][2:4] == ["RTT [s]", "Utilization [ratio]"]
    assert len(rows) == 1 + 6
    for row in rows[1:]:
        label = f"{1000 * float(row[2]):g}ms"
        found = [float(r["utilization_ratio"]) for r in runs(swept, rtt=label, protocol=row[1])]
        assert [float(v) for v in row[7].split()] == found
        assert float(row[3]) == pytest.approx(math.fsum(found) / 3, rel=1e-12)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    (folder / "tiny.toml").write_text(TINY, encoding="utf-8")
    for protocol in ("reno", "cubic"):
        sets = ["--set", f"flows.a.protocol={protocol}"]
        call("run", "tiny.toml", "--reps", 3, "--out", protocol, *sets, "-q", cwd=folder)
    call("compare", "reno", "cubic", "--report", "page.html", cwd=folder)
    return folder


TINY = """\
schema = 1
name = "tiny"
duration = "4s"
warmup = "1s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
[flows.a]
protocol = "reno"
count = 2
start = "uniform(0s, 100ms)"
[probe]
series = ["queue", "cwnd"]
every = "20ms"
"""


def test_the_comparisons_page_tells_what_the_runs_have(compared: Path) -> None:
    script = """
      tell({
        title: document.querySelector("h1").textContent,
        charts: all(".plot").length,
        legend: all(".chart .legend").map((l) => all("span", l).map((s) => s.textContent)),
        rows: all("table.sides tr").map((tr) => all("th, td", tr).map((c) => c.textContent)),
      });"""
    seen = look(compared / "page.html", script)
    assert seen["title"] == "reno and cubic"
    assert seen["charts"] == 2
    assert seen["legend"] == [["reno", "cubic"]] * 2
    for protocol in ("reno", "cubic"):
        row = next(r for r in seen["rows"] if r[:2] == [protocol, "bottleneck"])
        side = compare.load_side(compared / protocol)
        links = [x for r in side.values() for x in r.summary["links"] if x["name"] == "bottleneck"]
        assert row[2:5] == [
            "3",
            spread([x["utilization_ratio"] for x in links], "ratio"),
            spread([x["queue_mean_pkts"] for x in links], "pkts"),
        ]


@pytest.mark.parametrize("width", [500, 1400, 3840])
def test_no_page_is_wider_than_the_window(swept: Path, compared: Path, width: int) -> None:
    for page in (swept / "report.html", compared / "page.html"):
        seen = look(page, "tell({});", f"--window-size={width},900")
        content, window = seen["width"]
        assert window <= width
        assert content <= window, page


def test_the_reproductions_page_tells_what_the_runs_have(tmp_path: Path) -> None:
    """Measured numbers are those of the verdicts, a panel's CSV those of the run's own series."""
    call("reproduce", "vcp:fig01", "-q", cwd=tmp_path)
    folder = tmp_path / "results/reproduce/quick/vcp-fig01"
    script = SAVE.replace("#views .save", "figure.chart .save").replace(
        "tell({ names",
        "tell({ measured: all('td[data-of=measured]').map((c) => c.textContent), names",
    )
    seen = look(folder / "report.html", script)
    claims = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))["claims"]
    assert len(seen["measured"]) == len(claims) == 2
    for told, claim in zip(seen["measured"], claims, strict=True):
        means = [one["mean"] for part in claim["parts"] for one in part["readings"]]
        # 0.2697 (40): of the point that is farthest outside, to four figures.
        assert float(told.split()[0]) == pytest.approx(max(means), rel=5e-4)
    text = next(text for text in seen["texts"] if text.startswith("panel,"))
    rows = [row for row in csv.DictReader(text.splitlines()) if row["curve"] == "first"]
    assert len(rows) == 320  # 160 s in steps of 500 ms
    found = [cp.load(meta.parent) for meta in tmp_path.glob("results/store/runs/*/*/meta.json")]
    run = next(one for one in found if 'start = "20s"' in one.scenario_toml)
    series = run.series("goodput_bps")
    flow, time, rate = (np.asarray(series[name]) for name in ("flow", "t_s", "goodput_bps"))
    times, values = time[flow == 0], rate[flow == 0]
    for row in (rows[0], rows[100], rows[319]):
        end = float(row["Time (s)"])
        within = (times > end - 0.5 + 1e-9) & (times <= end + 1e-9)
        assert float(row["Mb/s"]) == pytest.approx(values[within].mean() / 1e6, rel=1e-3)


def test_words_stand_left_and_numbers_right(swept: Path) -> None:
    script = """
      const cells = ["td.words", "tbody td:last-child"].map((q) => all(`#points ${q}`)[0]);
      const align = cells.map((cell) => getComputedStyle(cell).textAlign);
      tell({ word: cells[0].textContent, align });"""
    seen = look(swept / "report.html", script)
    assert seen["word"] == "reno"
    assert seen["align"] == ["left", "right"]


def test_the_axis_of_a_share_ends_at_one(swept: Path) -> None:
    """0.5, 0.99 and 0.98 have the interval 0.8 ± 0.7."""
    text = (swept / "report.html").read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="study">(.*?)</script>', text, re.DOTALL)
    assert data
    study = json.loads(data[1])
    assert study["measures"][0]["unit"] == "ratio"
    study["values"][0] = [0.5, 0.99, 0.98] * (len(study["values"][0]) // 3)
    page = swept / "wide.html"
    page.write_text(text.replace(data[1], json.dumps(study)), encoding="utf-8")
    script = """
      const ticks = all("text", document.querySelector("#views .panel"));
      tell({ ticks: ticks.map((t) => t.textContent).filter((t) => /^[0-9.]+$/.test(t)) });"""
    ticks = [float(tick) for tick in look(page, script)["ticks"]]
    assert 90 < max(ticks) <= 100


def test_a_measure_that_some_runs_lack_has_its_interval(tmp_path: Path) -> None:
    # Flows that start late do not finish.
    flows = 'buffer = "100pkt"\n[flows.a]\nsize = "20kB"'
    base = BASE.replace("[flows.a]", flows).replace("100ms", "1s").replace("10Mbps", "2Mbps")
    told = '[sweep]\nreps = 8\nvary."topology.rtt" = ["60ms", "80ms"]\n'
    file = write(tmp_path, told + '[plot]\nx = "topology.rtt"\ny = ["fct_mean_s"]\n', base)
    call("sweep", "run", file, "-q", cwd=tmp_path)
    call("sweep", "report", file, "--out", "out", "-q", cwd=tmp_path)
    with (tmp_path / "out/runs.csv").open(encoding="utf-8", newline="") as text:
        rows = [row for row in csv.DictReader(text) if row["topology.rtt"] == "60ms"]
    found = [float(row["fct_mean_s"]) for row in rows if row["fct_mean_s"]]
    assert 3 < len(found) < 8
    assert len(set(found)) > 1
    script = """
      const panel = document.querySelector(".panel");
      panel.focus();
      key(panel, "ArrowRight");
      tell({ told: panel.getAttribute("aria-description") });"""
    seen = look(tmp_path / "out/report.html", script)
    assert f"{spread(found, 's')} (n = {len(found)})" in seen["told"]


def test_two_replications_have_no_bars_and_a_word_why(tmp_path: Path) -> None:
    file = write(tmp_path, SWEEP.replace("reps = 3", "reps = 2"))
    call("sweep", "run", file, "-q", cwd=tmp_path)
    out = call("sweep", "report", file, "--out", "out", cwd=tmp_path)
    assert "6 points have fewer than 3 replications, and so no interval" in out.stderr
    assert "±" not in out.stdout
    script = """
      const panel = document.querySelector(".panel");
      panel.focus();
      key(panel, "ArrowRight");
      tell({ bars: all("path.bar").length, dots: all("path.every").length,
        told: panel.getAttribute("aria-description"),
        hint: document.getElementById("hint").textContent });"""
    seen = look(tmp_path / "out/report.html", script)
    assert seen["bars"] == 0
    assert seen["dots"] == 4
    assert "no interval: 2 runs" in seen["told"]
    assert "two say too little about a mean" in seen["hint"]


@pytest.mark.parametrize(
    ("sweep", "panels"),
    [("[sweep]\nreps = 3\n", 3), ('[sweep]\nvary."flows.a.count" = [1, 2]\n', 3)],
)
def test_a_sweep_of_little_and_without_a_plot(tmp_path: Path, sweep: str, panels: int) -> None:
    file = write(tmp_path, sweep)
    call("sweep", "run", file, "-q", cwd=tmp_path)
    call("sweep", "report", file, "--out", "out", cwd=tmp_path)
    script = """
      key(document.querySelector(".panel"), "ArrowRight");
      key(document.querySelector(".panel"), "Enter");
      tell({ panels: all("#views .panel").length, marks: all("path.mark").length,
        head: document.querySelector("#drill h3").firstChild.textContent });"""
    seen = look(tmp_path / "out/report.html", script)
    assert seen["panels"] == seen["marks"] == panels
    assert seen["head"]


def test_the_reports_run_is_that_of_python(compared: Path) -> None:
    result = cp.load(compared / "reno" / "seed1-rep0")
    assert result.fingerprint in (compared / "page.html").read_text(encoding="utf-8")
