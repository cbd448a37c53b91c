"""The report in a real browser: headless Chromium, if there is one."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearpipe as cp
from clearpipe import examples, report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no {', '.join(NAMES)} is installed")

SETS = [
    "duration=6s",
    "warmup=1s",
    "topology.rate=10Mbps",
    "flows.fwd.count=20",
    "flows.rev.count=3",
    "flows.fwd.start=0s",
    "flows.rev.start=0s",
    "flows.rev.size=50kB",
    'probe.series=["goodput","queue","utilization","cwnd","srtt","drops","sender","router"]',
]

# Before all other scripts: what goes wrong is written down.
WATCH = """<script>
window.wrongs = [];
addEventListener("error", (e) => wrongs.push(String(e.message)));
addEventListener("unhandledrejection", (e) => wrongs.push(String(e.reason)));
</script>"""

# After them: what can be seen, and what happens on a key.
LOOK = """<pre id="seen"></pre><script>
addEventListener("load", () => setTimeout(() => {
  const all = (q, from = document) => [...from.querySelectorAll(q)];
  const colors = (canvas) => {
    const copy = Object.assign(document.createElement("canvas"),
      { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const data = context.getImageData(0, 0, copy.width, copy.height).data;
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 0) found.add([data[i], data[i + 1], data[i + 2]].join());
    }
    return found.size;
  };
  const box = (node) => { const b = node.getBoundingClientRect(); return [b.width, b.height]; };
  const key = (node, name) => node.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const values = () => all(".band").map((band) =>
    all(".chart", band).map((chart) => all(".legend b", chart).map((b) => b.textContent)));
  const seen = {
    paper: getComputedStyle(document.body).backgroundColor,
    width: [document.documentElement.scrollWidth, document.documentElement.clientWidth],
    canvases: all(".plot").map(
      (plot) => [Number(plot.dataset.chart), ...all("canvas", plot).map(colors)]),
    plots: all(".plot").map(box),
    svgs: all("svg").map((svg) => [...box(svg), all("line,circle,polyline", svg).length]),
    before: values(),
    theme: document.getElementById("theme").textContent,
  };
  const plot = document.querySelector(".band .plot");
  plot.focus();
  for (let i = 0; i < 3; i += 1) key(plot, "ArrowRight");
  setTimeout(() => {
    seen.after = values();
    seen.told = plot.getAttribute("aria-description");
    seen.when = plot.parentElement.querySelector(".when").textContent;
    const reset = document.getElementById("reset");
    seen.reset = [reset.disabled];
    key(plot, "+");
    setTimeout(() => {
      seen.reset.push(reset.disabled);
      reset.click();
      const item = plot.parentElement.querySelector(".legend button");
      const canvas = plot.querySelector("canvas");
      item.click();
      setTimeout(() => {
        seen.reset.push(reset.disabled);
        seen.pressed = item.getAttribute("aria-pressed");
        seen.hidden = colors(canvas);
        const tip = document.querySelector("[data-tip]");
        tip.focus();
        seen.tip = [document.getElementById("tip").textContent, tip.dataset.tip];
        document.getElementById("theme").click();
        seen.turned = getComputedStyle(document.body).backgroundColor;
        const over = all(".band")[1].querySelector(".u-over");
        const at = over.getBoundingClientRect();
        const mouse = (type) => over.dispatchEvent(new MouseEvent(type, {
          clientX: at.left + at.width / 2, clientY: at.top + at.height / 2, bubbles: true }));
        mouse("mouseenter");
        mouse("mousemove");
      }, 100);
      setTimeout(() => {
        seen.pointed = values();
        seen.wrongs = wrongs;
        document.getElementById("seen").textContent = JSON.stringify(seen);
      }, 200);
    }, 100);
  }, 100);
}, 200));
</script>"""


def browse(*options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    fixed = ["--headless", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
    # Chromium refuses to run as root with its sandbox.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return subprocess.run(
        [BROWSER, *fixed, *root, "--enable-logging=stderr", *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def results() -> list[cp.Result]:
    return [
        cp.run(examples.path(name), set=SETS) for name in ("base-case-xcp", "base-case-sack-red")
    ]


@pytest.fixture(scope="module")
def text(results: list[cp.Result]) -> str:
    return report.html(results, "Two <schemes>")


def look(text: str, folder: Path, *options: str) -> dict[str, Any]:
    """What the page says about itself."""
    page = folder / "page.html"
    watched = text.replace("<head>", "<head>" + WATCH, 1).replace("</body>", LOOK + "</body>", 1)
    page.write_text(watched, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    done = browse("--virtual-time-budget=8000", profile, *options, "--dump-dom", page.as_uri())
    assert complaints(done) == []
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    assert found
    assert found[1], done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def seen(text: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return look(text, tmp_path_factory.mktemp("wide"), "--window-size=1280,1000")


def charts(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_every_chart_is_drawn_without_an_error(seen: dict[str, Any], text: str) -> None:
    assert seen["wrongs"] == []
    assert sorted(number for number, _ in seen["canvases"]) == list(range(len(charts(text))))
    # Axes alone have but a few shades of grey.
    assert min(count for _, count in seen["canvases"]) > 12
    assert min(width for width, _ in seen["plots"]) > 200
    assert len(seen["svgs"]) == 1 + 6  # the network, six dot plots
    assert all(w > 200 and h > 50 and marks >= 3 for w, h, marks in seen["svgs"])


def test_keys_read_values_in_all_charts_of_one_scheme(seen: dict[str, Any], text: str) -> None:
    assert all(value == "" for band in seen["before"] for chart in band for value in chart)
    # The pointer does the same in the other scheme, and the first one has lost the focus.
    assert [all(chart) for chart in seen["pointed"][1]] == [True] * len(seen["pointed"][1])
    assert not any(value for chart in seen["pointed"][0] for value in chart)
    first, second = seen["after"]
    assert all(value == "" for chart in second for value in chart)
    assert all(value != "" for chart in first for value in chart)
    goodput = next(chart for chart in charts(text) if chart["row"] == 0)
    number = goodput["x"].index(float(seen["when"].removesuffix(" s")))
    for curve, told in zip(goodput["curves"], first[0], strict=True):
        value = curve["y"][number]
        assert told.startswith(
            f"{value:g} {goodput['unit']}" if value is not None else "\N{EN DASH}"
        )
    assert goodput["curves"][0]["label"] in seen["told"]


def test_zoom_legend_tips_and_theme(seen: dict[str, Any]) -> None:
    assert seen["reset"] == [True, False, True]  # nothing to undo, zoomed, undone
    assert seen["pressed"] == "false"
    assert seen["hidden"] > 3
    assert seen["tip"][0] == seen["tip"][1] != ""
    assert (seen["paper"], seen["turned"]) == ("rgb(255, 255, 255)", "rgb(20, 24, 29)")
    assert seen["theme"] == "Dark"


@pytest.mark.parametrize("width", [600, 1280])
def test_nothing_is_wider_than_the_window(text: str, tmp_path: Path, width: int) -> None:
    seen = look(text, tmp_path, f"--window-size={width},900")
    content, window = seen["width"]
    assert window <= width
    assert content <= window


def pixels(path: Path) -> Any:
    image = pytest.importorskip("PIL.Image", reason="pillow reads the screenshots")
    return np.asarray(image.open(path).convert("RGB"))


@pytest.mark.parametrize(("scheme", "low", "high"), [("light", 215, 256), ("dark", 0, 60)])
def test_looks_light_and_dark(
    text: str, tmp_path: Path, scheme: str, low: float, high: float
) -> None:
    page, shot = tmp_path / "page.html", tmp_path / "shot.png"
    page.write_text(text, encoding="utf-8")
    preferred = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    done = browse(
        "--virtual-time-budget=4000", f"--user-data-dir={tmp_path / 'profile'}", preferred,
        "--window-size=1280,2400", f"--screenshot={shot}", page.as_uri(),
    )  # fmt: skip
    assert complaints(done) == []
    image = pixels(shot)
    assert low <= image.mean() < high
    # Colours, not greys, in many shades: text and frames have none.
    spread = image.max(axis=2).astype(int) - image.min(axis=2)
    colored = image[spread > 60]
    assert len(colored) > 5000
    assert len(np.unique(colored, axis=0)) > 100


def test_prints_on_paper_even_from_a_dark_screen(text: str, tmp_path: Path) -> None:
    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(text, encoding="utf-8")
    done = browse(
        "--virtual-time-budget=4000", f"--user-data-dir={tmp_path / 'profile'}",
        "--blink-settings=preferredColorScheme=0", f"--print-to-pdf={paper}", page.as_uri(),
    )  # fmt: skip
    assert complaints(done) == []
    content = paper.read_bytes()
    # A4 across, in points.
    boxes = {
        tuple(round(float(edge)) for edge in box.split())
        for box in re.findall(rb"/MediaBox \[([^\]]*)\]", content)
    }
    assert boxes == {(0, 0, 842, 595)}
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 12
