"""What a sweep costs besides its runs, and what two cores bring."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import clearpipe_cli
from dumbbell import PeerError, Point
from settings import Settings, Task, note

TINY = """\
schema = 1
name = "tiny"
duration = "1s"
[topology]
kind = "dumbbell"
rate = "1Mbps"
rtt = "20ms"
[flows.a]
protocol = "reno"
[sweep]
reps = {reps}
vary."topology.rtt" = "linspace(10ms, 109ms, 100)"
[plot]
x = "topology.rtt"
y = "utilization_ratio"
"""


def tasks() -> list[Task]:
    """Ten thousand tiny runs, and sixteen larger ones on one core and two."""
    return [Task(("scale=sweep-10000",), tiny_lines), Task(("scale=sweep-cores",), core_lines)]


def tiny_lines(settings: Settings) -> Iterator[str]:
    """Overhead per run on one core, and how long status and report take."""
    reps = 10 if settings.quick else 100
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tiny.toml").write_text(TINY.format(reps=reps), encoding="utf-8")
        run_s = _wall_s(folder, "sweep", "run", "tiny.toml", "-q", "--jobs", "1")
        status_s = _wall_s(folder, "sweep", "status", "tiny.toml")
        again_s = _wall_s(folder, "sweep", "run", "tiny.toml", "-q")
        report_s = _wall_s(folder, "sweep", "report", "tiny.toml", "-q")
        inside_s = _inside_s(Path(folder))
    runs = 100 * reps
    overhead_ms = (run_s - inside_s) / runs * 1e3
    note(f"{runs} runs in {run_s:.1f} s, of which {inside_s:.1f} s in the engine")
    yield (
        f"scale=sweep-10000 runs={runs} overhead_ms={overhead_ms:.2f} status_s={status_s:.2f} "
        f"verify_s={again_s:.2f} report_s={report_s:.2f}"
    )


def _inside_s(folder: Path) -> float:
    """The time that the runs themselves took."""
    texts = (path.read_text() for path in folder.glob("results/store/runs/*/*/meta.json"))
    found = (re.search(r'"wall_s": ([0-9.e-]+)', text) for text in texts)
    return sum(float(match[1]) for match in found if match)


def core_lines(settings: Settings) -> Iterator[str]:
    """Sixteen runs of the base case's size on two cores and on one."""
    if len(settings.cores) < 2:
        yield 'scale=sweep-cores skipped="fewer than two cores"'
        return
    point = Point("cores", 150, 80, 30, 30, "xcp", "xcp", settings.duration_s(60.0))
    text = point.scenario() + "\n[sweep]\nreps = 16\n"
    ratios = []
    for _ in range(settings.pairs):
        two, one = (_on_cores(text, settings.cores[-count:]) for count in (2, 1))
        ratios.append(two / one)
        note(f"sweep: {two:.2f} s on two cores, {one:.2f} s on one, {two / one:.3f}")
    yield f"scale=sweep-cores cores=2 ratio={median(ratios):.3f}"


def _on_cores(text: str, cores: tuple[int, ...]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cores.toml").write_text(text, encoding="utf-8")
        jobs = str(len(cores))
        arguments = ("sweep", "run", "cores.toml", "-q", "--jobs", jobs)
        return _wall_s(folder, *arguments, cores=cores)


def _wall_s(folder: str, *arguments: str, cores: tuple[int, ...] | None = None) -> float:
    command = [clearpipe_cli.find(), *arguments]
    # One core for all but the comparison: this process is pinned to it.
    pin = partial(os.sched_setaffinity, 0, cores) if cores else None
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, preexec_fn=pin
    )
    wall_s = time.perf_counter() - start
    if done.returncode != 0:
        raise PeerError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return wall_s
