"""Tables, CSV and pages need no matplotlib; what cannot be drawn is said in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sweeping import BASE, command, write

PLOTTED = """[sweep]
reps = 3
vary."topology.rtt" = ["10ms", "20ms"]
[plot]
x = "topology.rtt"
y = "queue_mean_pkts"
"""
TOLD = "figures need matplotlib: pip install 'clearpipe[figures]'"


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """The environment of an interpreter that finds no matplotlib."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text('import sys\nsys.modules["matplotlib"] = None\n')
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def call(
    *arguments: object, cwd: Path, env: dict[str, str], expect: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == expect, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def test_it_is_not_there(without: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import matplotlib"],
        env=without,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ModuleNotFoundError" in done.stderr


def test_a_sweeps_report(tmp_path: Path, without: dict[str, str]) -> None:
    file = write(tmp_path, PLOTTED)
    call("sweep", "run", file, cwd=tmp_path, env=without)
    done = call("sweep", "report", file, "--out", "out", cwd=tmp_path, env=without)
    assert f"note: no PNG, SVG and PDF: {TOLD}\n" in done.stderr
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["report.html", "runs.csv"]
    assert "±" in done.stdout
    assert len((tmp_path / "out/runs.csv").read_text().splitlines()) == 7


def test_a_comparison_and_a_run_with_a_page(tmp_path: Path, without: dict[str, str]) -> None:
    (tmp_path / "tiny.toml").write_text(BASE)
    for side, protocol in (("a", "reno"), ("b", "vegas")):
        options = ["--reps", 3, "--set", f"flows.a.protocol={protocol}", "--out", side, "--report"]
        call("run", "tiny.toml", *options, cwd=tmp_path, env=without)
        assert (tmp_path / side / "report.html").is_file()
    call("compare", "a", "b", "--report", "page.html", cwd=tmp_path, env=without)
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    done = call("run", "tiny.toml", "--figure", "x.png", cwd=tmp_path, env=without, expect=5)
    assert done.stderr == f"clearpipe: {TOLD}\n"


def test_a_reproduced_figure(tmp_path: Path, without: dict[str, str]) -> None:
    # It computes and needs no run.
    done = call("reproduce", "vcp:fig11", cwd=tmp_path, env=without)
    assert "claims:" in done.stdout
    assert f"note: no PNG, SVG and PDF: {TOLD}\n" in done.stderr
    folder = tmp_path / "results/reproduce/quick/vcp-fig11"
    assert (folder / "verdicts.json").is_file()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "</html>" in page
    publishing = ["reproduce", "vcp:fig11", "--publish", "pages"]
    done = call(*publishing, cwd=tmp_path, env=without, expect=5)
    assert done.stderr == f"clearpipe: --publish: {TOLD}\n"
    assert not (tmp_path / "pages").exists()


@pytest.mark.long
def test_the_demo(tmp_path: Path, without: dict[str, str]) -> None:
    call("demo", cwd=tmp_path, env=without)
    assert (tmp_path / "demo/report.html").is_file()
