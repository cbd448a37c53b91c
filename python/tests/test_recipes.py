"""The recipes for clusters say what the commands understand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sweeping import call, times_done, write

RECIPES = Path(__file__).parents[2] / "recipes"


def test_the_slurm_script_runs_every_shard(tmp_path: Path) -> None:
    """Run as Slurm would, task after task, with this installation as `clearpipe`."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    sweep = '[sweep]\nreps = 5\nvary."topology.rtt" = ["10ms", "20ms", "40ms"]\n'
    file = write(tmp_path, sweep)
    tools = tmp_path / "bin"
    tools.mkdir()
    from sweeping import command

    python, *rest = command()
    line = f'exec {python} {rest[0]} "{rest[1]}" "$@"'
    (tools / "clearpipe").write_text(f"#!/bin/sh\n{line}\n")
    (tools / "clearpipe").chmod(0o755)
    script = RECIPES / "slurm-array.sh"
    # Array indices may start anywhere.
    for task in range(3, 7):
        environment = {
            "PATH": f"{tools}:/usr/bin:/bin",
            "SLURM_ARRAY_TASK_ID": str(task),
            "SLURM_ARRAY_TASK_MIN": "3",
            "SLURM_ARRAY_TASK_COUNT": "4",
            "SLURM_CPUS_PER_TASK": "2",
        }
        subprocess.run(
            [bash, str(script), str(file), "store"], cwd=tmp_path, env=environment, check=True
        )
    assert len(times_done(tmp_path / "store")) == 15
    assert set(times_done(tmp_path / "store").values()) == {1}
    done = call("sweep", "status", file, "--store", "store", cwd=tmp_path)
    assert "15 of 15 runs done" in done.stdout


def test_a_slurm_task_that_gets_nothing_done_is_not_queued_again(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    tools, store = tmp_path / "bin", tmp_path / "store"
    tools.mkdir()
    store.mkdir()
    # What it does to the journal, the test says.
    (tools / "clearpipe").write_text('#!/bin/sh\nprintf "$DONE" >>store/journal.jsonl\nexit 75\n')
    (tools / "scontrol").write_text('#!/bin/sh\necho "$@" >>queued\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    ends = []
    for done in ("", "a line", ""):
        environment = {
            "PATH": f"{tools}:/usr/bin:/bin",
            "SLURM_ARRAY_JOB_ID": "7",
            "SLURM_ARRAY_TASK_ID": "3",
            "SLURM_ARRAY_TASK_MIN": "3",
            "SLURM_ARRAY_TASK_COUNT": "4",
            "SLURM_CPUS_PER_TASK": "2",
            "DONE": done,
        }
        script = [bash, str(RECIPES / "slurm-array.sh"), "sweep.toml", "store"]
        ends.append(subprocess.run(script, cwd=tmp_path, env=environment, check=False).returncode)
    assert ends == [75, 0, 75]
    assert (tmp_path / "queued").read_text() == "requeue 7_3\n"


def manifest() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    content: dict[str, Any] = yaml.safe_load((RECIPES / "kubernetes-job.yaml").read_text())
    return content


def test_the_job_is_what_kubernetes_accepts() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing")
    validate.validate(manifest(), "1.31", strict=True)


def test_the_jobs_shards_are_its_completions() -> None:
    spec = manifest()["spec"]
    command = spec["template"]["spec"]["containers"][0]["command"][-1]
    shards = re.search(r'--shard "\$JOB_COMPLETION_INDEX/(\d+)"', command)
    assert shards is not None
    assert int(shards[1]) == spec["completions"]
