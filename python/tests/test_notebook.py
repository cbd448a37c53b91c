"""What a notebook shows of a result, and the notebook in docs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import clearpipe as cp
from clearpipe import examples

SVG = "{http://www.w3.org/2000/svg}"


def parse(html: str) -> ET.Element:
    """The HTML as XML: an element that is not closed, or a stray `<` or `&`, is an error."""
    return ET.fromstring(html)


def named(small: str, name: str) -> cp.Result:
    return cp.run(small.replace('name = "small"', f"name = {name!r}"))


def test_it_is_well_formed_and_tells_what_ran(small: str) -> None:
    result = cp.run(small, seed=77, rep=3)
    tree = parse(result._repr_html_())
    text = "".join(tree.itertext())
    assert "seed 77, rep 3" in text
    assert result.fingerprint in text
    assert "clearpipe run small.toml --seed 77 --rep 3" in text
    cells = [cell.text for cell in tree.iter("td")]
    used = 100 * result.summary["links"][0]["utilization_ratio"]
    assert f"{used:.2f}" in cells
    assert {"long", "short", "bottleneck", "3 of 3"} <= set(cells)


def test_the_command_gives_the_fingerprint_again(small: str, tmp_path: Path) -> None:
    result = cp.run(small, seed=5, rep=2, set=["topology.rate=7Mbps"])
    tree = parse(result._repr_html_())
    codes = [code.text or "" for code in tree.iter("code")]
    command = next(code for code in codes if code.startswith("clearpipe run"))
    details = tree.find(".//details")
    assert details is not None
    file, scenario = details.findtext("summary"), details.findtext("pre")
    assert file is not None
    assert scenario is not None
    (tmp_path / file).write_text(scenario)
    words = [sys.executable, "-c", "from clearpipe.cli import main; main()"]
    words += shlex.split(command)[1:]
    out = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (again,) = re.findall(r"fingerprint ([0-9a-f]{32})", out)
    assert again == result.fingerprint
    assert again in codes


def test_names_from_outside_are_escaped(small: str, tmp_path: Path) -> None:
    result = named(small, '<b>&"$(x) y')
    html = result._repr_html_()
    assert '<b>&"' not in html
    text = "".join(parse(html).itertext())
    assert '<b>&"$(x) y' in text
    assert "clearpipe run b-x-y.toml --seed 1 --rep 0" in text


def test_it_fetches_nothing_and_goes_with_dark_and_light(result: cp.Result) -> None:
    html = result._repr_html_()
    assert not re.findall(r"(?:src|href)\s*=|url\(|@import|<script|<link", html)
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert "currentColor" in html
    assert "prefers-color-scheme: dark" in html
    # Nothing but the curves has a colour of its own, so text is as light as the page wants.
    style, _, rest = html.partition("</style>")
    assert not re.findall(r"#[0-9a-fA-F]{3,6}\b", unescape(rest))
    assert all(f"--c{i}:" in style for i in range(8))


def test_it_says_no_time_of_day_nor_how_fast(small: str) -> None:
    assert cp.run(small)._repr_html_() == cp.run(small)._repr_html_()


def test_the_network_is_drawn() -> None:
    short = ["duration=3s", "warmup=1s"]
    for name in ("two-paths", "base-case-vcp"):
        result = cp.run(examples.path(name), set=[*short, *START.get(name, ())])
        first = next(parse(result._repr_html_()).iter(f"{SVG}svg"))
        texts = " ".join(first.itertext())
        assert {"two-paths": "lisbon", "base-case-vcp": "bottleneck"}[name] in texts


START = {"base-case-vcp": ["flows.fwd.start=0s", "flows.rev.start=0s"]}


def test_small_curves_are_means_of_the_series(small: str) -> None:
    # 160 samples in 5 s: one for each point.
    result = cp.run(small, set=["probe.every=31250us"])
    tree = parse(result._repr_html_())
    rows = [row for row in tree.iter("tr") if row.find(f".//{SVG}polyline") is not None]
    assert [row.findtext("td") for row in rows] == ["cwnd", "queue"]
    queue = result.series("queue_pkts")
    values = [q for link, q in zip(queue["link"], queue["queue_pkts"], strict=True) if link == 0]
    assert f"0 to {max(values):.4g} pkts" in [cell.text for cell in rows[1].iter("td")]
    line = rows[1].find(f".//{SVG}polyline")
    assert line is not None
    points = np.array([pair.split(",") for pair in line.attrib["points"].split()], dtype=float)
    # The top of the drawing is the largest value, the bottom is 0.
    low, high = points[:, 1].max(), points[:, 1].min()
    heights = (low - points[:, 1]) / (low - high) * max(values)
    # Sample k falls on the edge where point k begins; the last point has the last two.
    assert len(heights) == 159
    np.testing.assert_allclose(heights[:-1], values[:158], atol=0.02 * max(values))
    assert abs(heights[-1] - (values[158] + values[159]) / 2) < 0.02 * max(values)


def test_repr_of_tables(result: cp.Result) -> None:
    tree = parse(result.flows._repr_html_())
    assert [cell.text for cell in tree.iter("th")] == result.flows.column_names
    assert len(list(tree.iter("tr"))) == 1 + 5
    more = parse(result.series("cwnd_pkts")._repr_html_())
    assert f"and {len(result.series('cwnd_pkts')) - 10} more rows" in "".join(more.itertext())


@pytest.mark.parametrize("name", ["first-figure", "prototype"])
def test_the_notebooks_in_docs_say_what_they_said(name: str) -> None:
    for library in ("ipykernel", "matplotlib", "nbclient", "pandas"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    root = Path(__file__).resolve().parents[2]
    tool, notebook = root / "python/tools/run_notebook.py", root / f"docs/tutorials/{name}.ipynb"
    command = [sys.executable, str(tool), "--check", str(notebook)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run `make notebook`\n{done.stdout}\n{done.stderr}"


def test_the_notebook_goes_from_the_import_to_a_figure_in_ten_lines() -> None:
    root = Path(__file__).resolve().parents[2]
    text = (root / "docs/tutorials/first-figure.ipynb").read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    lines = [line for line in "".join(first["source"]).splitlines() if line.strip()]
    assert len(lines) <= 10
    assert lines[0] == "import clearpipe as cp"
    assert [list(output["data"]) for output in first["outputs"]] == [["image/png", "text/plain"]]


def test_the_check_of_a_notebook_can_fail(tmp_path: Path) -> None:
    for library in ("ipykernel", "nbclient"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "a",
        "source": "print(6 * 7)",
        "metadata": {},
    }
    output = {"output_type": "stream", "name": "stdout", "text": "41\n"}
    cell |= {"outputs": [output], "execution_count": 1}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "wrong.ipynb").write_text(json.dumps(notebook))
    tool = Path(__file__).resolve().parents[1] / "tools/run_notebook.py"
    command = [sys.executable, str(tool), "--check", str(tmp_path / "wrong.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "-41" in done.stdout
    assert "+42" in done.stdout
