"""How many calls of a Python class the engine makes in a second."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from settings import Settings, Task

SCENARIO = """\
schema = 1
name = "prototype"
duration = "60s"
[topology]
kind = "dumbbell"
rate = "50Mbps"
rtt = "40ms"
[protocols.mine]
kind = "python"
code = "prototype.py:Reno"
[flows.a]
protocol = "mine"
count = 4
"""

COUNT = """\
import sys
import clearpipe as cp

result = cp.run("it.toml", set=[f"duration={sys.argv[1]}s"], seed=1)
print(sum(result.flows.column("acks_sent_pkts")) / result.meta["wall_s"])
"""


def tasks() -> list[Task]:
    """One: a minute of four Python Renos."""
    return [Task(("scale=prototype",), lines)]


def lines(settings: Settings) -> Iterator[str]:
    """ACKs that reached a Python sender per second of the run."""
    root = Path(__file__).resolve().parents[1]
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        code = (root / "python/clearpipe/examples/prototype.py").read_text(encoding="utf-8")
        Path(folder, "prototype.py").write_text(code, encoding="utf-8")
        Path(folder, "it.toml").write_text(SCENARIO, encoding="utf-8")
        for _ in range(settings.pairs):
            command = [sys.executable, "-c", COUNT, str(settings.duration_s(60.0))]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            rates.append(float(done.stdout))
    yield f"scale=prototype callbacks_per_s={median(rates):.0f}"
