"""The report: whole, by itself, and drawn from what was recorded."""

from __future__ import annotations

import itertools
import json
import re
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from markupsafe import escape

import clearpipe as cp
from clearpipe import examples, report
from clearpipe.report import charts, page

SMALL = [
    "duration=4s",
    "warmup=1s",
    "topology.rate=5Mbps",
    "flows.fwd.count=8",
    "flows.rev.count=2",
    "flows.fwd.start=0s",
    "flows.rev.start=0s",
]

MANY = ["flows.fwd.count=20", "topology.rate=20Mbps"]


def run(name: str, *sets: str) -> cp.Result:
    return cp.run(examples.path(name), set=[*SMALL, *sets])


@pytest.fixture(scope="module")
def results() -> list[cp.Result]:
    return [run("base-case-xcp"), run("base-case-sack-red")]


@pytest.fixture(scope="module")
def text(results: list[cp.Result]) -> str:
    return report.html(results, "Two <schemes>")


def data(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


class Outline(HTMLParser):
    """Counts elements and checks that they are closed in order."""

    VOID = frozenset(("meta", "input", "br", "link", "img"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        # What may be left open in HTML is closed here as well.
        assert self.open, tag
        assert self.open.pop() == tag


def outline(text: str) -> Outline:
    parser = Outline()
    parser.feed(text)
    assert parser.open == []
    return parser


def test_fetches_nothing(text: str) -> None:
    # A link to the lab is followed by whoever presses it, and by nobody else.
    text = re.sub(r'<a class="lab" href="https://[^"]*" rel="noopener">', "", text)
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|#)""", text)
    assert not re.findall(r"url\((?!#)|@import|fetch\(|XMLHttpRequest|<link\b|<iframe", text)


def test_holds_every_run(text: str, results: list[cp.Result]) -> None:
    for result in results:
        assert result.fingerprint in text
        assert str(escape(result.scenario_toml)) in text
        name = f"{result.meta['name']}-{sha256(result.scenario_toml.encode()).hexdigest()[:8]}.toml"
        assert f"clearpipe run {name} --seed 1 --rep 0" in text
    # A file of the scenario's name may be another one.
    assert not re.search(rf"clearpipe run {results[0].meta['name']}(?:\.toml)? ", text)
    assert "Two &lt;schemes&gt;" in text


def test_what_a_page_saves_is_what_its_commands_run(tmp_path: Path) -> None:
    """Two scenarios of one name, as --set makes them, are two files."""
    pair = [run("base-case-xcp", f"topology.rtt={rtt}") for rtt in ("40ms", "80ms")]
    text = unescape(report.html([*pair, cp.run(pair[1].scenario_toml, rep=1)]))
    saved = re.findall(r'download="(base-case-xcp-\w{8}\.toml)" href="data:([^"]*)"', text)
    assert len({name for name, _ in saved}) == 2
    for name, content in saved:
        path = tmp_path / name
        path.write_text(unquote(content.partition(",")[2]), encoding="utf-8")
    for result in pair:
        commands = re.findall(r"<code[^>]*>clearpipe run (\S+) --seed 1 --rep 0</code>", text)
        again = {name: cp.run(tmp_path / name, seed=1, rep=0).fingerprint for name in commands}
        assert result.fingerprint in again.values()


def test_the_page_is_well_formed_and_every_figure_has_its_table(text: str) -> None:
    parts = text.split("<figure")[1:]
    assert len(parts) >= 2 * 4 + 5 + 1
    for part in parts:
        figure = part.split("</figure>")[0]
        assert "<details" in figure or 'class="missing"' in figure
    found = outline(text).found
    plots = [a for tag, a in found if tag == "div" and a.get("class") == "plot"]
    assert sorted(int(a["data-chart"] or -1) for a in plots) == list(range(len(data(text))))
    assert all(a["aria-label"] and a["tabindex"] == "0" for a in plots)
    tips = [a for tag, a in found if "data-tip" in a]
    assert tips
    assert all(a["aria-label"] for a in tips)


def test_charts_are_thinned_out_and_share_axes(text: str) -> None:
    drawn = data(text)
    assert len(drawn) == 8
    for first, second in zip(drawn[::2], drawn[1::2], strict=True):
        assert [first[k] for k in ("unit", "bottom", "top", "end")] == [
            second[k] for k in ("unit", "bottom", "top", "end")
        ]
    for chart in drawn:
        assert len(chart["x"]) <= charts.POINTS + 1
        assert all(len(curve["y"]) == len(chart["x"]) for curve in chart["curves"])
        assert chart["own"][1] <= chart["top"] or chart["unit"] != "%"


def test_a_scheme_has_one_hue_and_a_lone_result_one_per_group(
    text: str, results: list[cp.Result]
) -> None:
    for chart in data(text):
        hues = {curve["c"][0] for curve in chart["curves"] if curve["c"][0] >= 0}
        assert hues == {chart["row"]}
    for scheme in page.schemes(results):
        assert scheme.color(0) == scheme.color(1) == f"var(--c{scheme.hue})"
    lone = data(report.html(results[:1]))
    goodput = next(chart for chart in lone if chart["unit"] in ("kb/s", "Mb/s"))
    assert {curve["label"][:3]: curve["c"][0] for curve in goodput["curves"]} == {
        "fwd": 0,
        "rev": 1,
    }


def test_many_flows_are_bands_and_a_few_lines() -> None:
    result = run("base-case-xcp", *MANY)
    goodput = next(c for c in data(report.html([result])) if c["unit"].endswith("b/s"))
    labels = [curve["label"] for curve in goodput["curves"]]
    assert labels[:2] == ["fwd (20 flows)", "rev (2 flows)"]
    rates = result.flows.column("goodput_bps")[:20]
    least, most = (int(np.argmin(rates)), int(np.argmax(rates)))
    assert labels[2:] == [f"fwd {least}, least", f"fwd {most}, most"]
    band = goodput["curves"][0]
    for low, q1, y, q3, high in zip(
        *(band[k] for k in ("low", "q1", "y", "q3", "high")), strict=True
    ):
        assert low <= q1 <= y <= q3 <= high


def test_units_have_prefixes_that_suit(results: list[cp.Result]) -> None:
    slow = run("base-case-xcp", "topology.rate=50kbps", "topology.buffer=20pkt", "duration=20s")
    made = {s.quantity.id: s for s in charts.sections([slow])}
    assert made["goodput"].quantity.unit == "kb/s"
    peak = max(panel.peak() for panel in made["goodput"].panels)
    # Means over 0.4 s cannot exceed the link's rate by more than a packet of 8 kbit.
    assert 0 < peak <= 50 + 8 / 0.4
    wide = {s.quantity.id: s for s in charts.sections(results)}
    assert wide["goodput"].quantity.unit == "Mb/s"


def test_what_is_not_recorded_is_said() -> None:
    bare = run("base-case-xcp", 'probe.series=["queue"]')
    full = run("base-case-xcp")
    text = report.html([bare, full])
    assert "Not recorded" in text
    assert len(data(report.html([bare]))) == 1
    assert "No series were recorded" in report.html([run("base-case-xcp", "probe.series=[]")])


def test_inner_variables_stand_under_their_names() -> None:
    series = 'probe.series=["queue","sender","router","srtt","drops"]'
    xcp, vcp = run("base-case-xcp", series), run("base-case-vcp", series)
    text = report.html([xcp, vcp])
    bands = text.split('<section class="band">')[1:]
    inner = [re.findall(r"<figcaption>([a-z_]+)<", band.split("<h4>")[1]) for band in bands]
    assert {"phi", "xi_p", "residue_pos", "h_feedback"} <= set(inner[0])
    assert {"rho", "q", "xi_s"} <= set(inner[1])
    assert "phi" not in inner[1]
    negative = [c for c in data(text) if c["bottom"] < 0]
    assert negative  # phi and feedback go below 0
    for chart in negative:
        lows = [v for c in chart["curves"] for v in c.get("low", c["y"]) if v is not None]
        assert chart["bottom"] <= min(lows)


def test_partial_results_and_warnings_come_first(results: list[cp.Result]) -> None:
    meta = results[0].meta | {
        "state": "partial",
        "simulated_s": 2.5,
        "warnings": ["beware <b>", "two", "three", "four"],
    }
    text = report.html([changed(results[0], meta=meta, complete=False)])
    head = text[: text.index("<main>")]
    assert "partial result: stopped at 2.5 s of 4 s." in head
    assert "beware &lt;b&gt;" in head
    assert "1 more notes" in head
    assert "Stopped early" not in report.html(results)


def bands(text: str) -> int:
    """Curves with a band, in all charts over time."""
    curves = [one for chart in data(text) for one in chart.get("curves", [])]
    assert curves
    return sum(one.get("low") is not None for one in curves)


def test_replications_of_other_times_have_no_intervals() -> None:
    """As in `compare`: --max-wall ends replications where it does, and no two at the same time."""
    start = ["flows.fwd.start=uniform(0s, 1s)", "probe.every=500ms"]
    whole = [cp.run(examples.path("base-case-xcp"), set=[*SMALL, *start], rep=n) for n in range(4)]
    text = report.html(whole)
    assert "±" in text
    assert "bar: 95 % interval" in text
    assert 'class="interval"' in text
    assert bands(text) > 0
    meta = whole[3].meta | {"state": "partial", "simulated_s": 2.5}
    text = report.html([*whole[:3], changed(whole[3], meta=meta, complete=False)])
    why = "No interval: 1 run was stopped before the end, and the numbers are of other times."
    assert text.count(why) >= 2, "of the dots and of the curves"
    assert "seed 1 rep 3: partial result: stopped at 2.5 s of 4 s." in text
    shown = text[text.index("<main>") : text.index('id="charts"')]
    for sign in ("±", "95 %", 'class="interval"'):
        assert sign not in shown, sign
    assert bands(text) == 0


def test_a_figure_of_stopped_replications_has_no_interval(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from clearpipe.report import static

    whole = [run("base-case-xcp") for _ in range(3)]
    stopped = changed(whole[2], complete=False)
    for results, told in ((whole, "line: 95 % interval"), ([*whole[:2], stopped], "no interval")):
        path = tmp_path / "queue.svg"
        static.draw(results, path, ["queue_mean_pkts"])
        assert told in path.read_text(encoding="utf-8")


def test_what_holds_for_all_runs_is_said_once(results: list[cp.Result]) -> None:
    first, second = (
        changed(one, meta=one.meta | {"warnings": ["all", name]})
        for one, name in zip(results, ("one", "other"), strict=True)
    )
    told = [text for kind, text in page.alerts(page.schemes([first, second])) if kind == "warning"]
    labels = [scheme.label for scheme in page.schemes([first, second])]
    assert told == ["all", f"{labels[0]}: one", f"{labels[1]}: other"]


def changed(result: cp.Result, **other: Any) -> Any:
    """A result with other attributes."""
    names = ("flows", "links", "series_names", "series", "meta", "summary", "fingerprint")
    kept = {name: getattr(result, name) for name in (*names, "complete", "scenario_toml")}
    return SimpleNamespace(**(kept | other))


def test_all_that_users_name_is_escaped(results: list[cp.Result]) -> None:
    evil = "</script><img src=x onerror=boom()>\"'&"
    result = results[0]
    summary = json.loads(json.dumps(result.summary))
    for group in summary["groups"]:
        group["group"] = evil
    for link in summary["links"]:
        link["name"] = link["queue"] = evil
    toml = result.scenario_toml.replace('"bottleneck"', json.dumps(evil))
    toml = toml.replace("[links.bottleneck]", f"[links.{json.dumps(evil)}]")
    toml = toml.replace('"left"', json.dumps(evil + "l")).replace('"right"', json.dumps(evil))
    toml = toml.replace("[flows.fwd]", f"[flows.{json.dumps(evil)}]")
    meta = result.meta | {"name": evil, "warnings": [evil]}
    bad = changed(result, summary=summary, meta=meta, scenario_toml=toml)
    text = report.html([bad, results[1]], evil)
    assert "<img" not in text
    assert text.count("</script>") == 2
    outline(text)


def test_writes_the_file_whole_and_small(results: list[cp.Result], tmp_path: Path) -> None:
    path = report.render(results, tmp_path / "new" / "report.html")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    assert path.stat().st_size < 2_000_000


def test_no_result_at_all_is_a_page_too() -> None:
    outline(report.html([]))


# The palette.


def linear(color: str) -> Any:
    """An sRGB colour as linear light (IEC 61966-2-1)."""
    value = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

# Machado, Oliveira, Fernandes 2009, severity 1: protanopia, deuteranopia, tritanopia.
VISIONS = (
    (1, 0, 0, 0, 1, 0, 0, 0, 1),
    (0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998),
    (0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881),
    (1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900),
)


def lab(light: Any) -> Any:
    """CIELAB, white D65."""
    xyz = TO_XYZ @ np.clip(light, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def palettes() -> list[tuple[str, list[str]]]:
    css = (files("clearpipe.report") / "report.css").read_text(encoding="utf-8")
    papers = re.findall(r"--paper: (#\w+);", css)
    colors = [re.findall(r"--c\d: (#\w{6});", line) for line in re.findall(r"--c0:.*", css)]
    assert len(papers) == len(colors) == 3
    assert (papers[1], colors[1]) == (papers[2], colors[2])  # by choice and by the system's theme
    long = [
        paper if len(paper) == 7 else "#" + "".join(2 * c for c in paper[1:]) for paper in papers
    ]
    return list(zip(long, colors, strict=True))[:2]


@pytest.mark.parametrize(("paper", "colors"), palettes())
def test_colours_are_told_apart_by_everyone(paper: str, colors: list[str]) -> None:
    assert len(colors) == 8
    for vision in VISIONS:
        seen = [lab(np.reshape(vision, (3, 3)) @ linear(color)) for color in colors]
        # 2.3 is a just noticeable difference (Mahy et al. 1994).
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 5 * 2.3
    for color in colors:
        # WCAG 2.2, 1.4.11: 3 to 1 for graphical objects.
        a, b = sorted(float(TO_XYZ[1] @ linear(c)) for c in (paper, color))
        assert (b + 0.05) / (a + 0.05) >= 3
