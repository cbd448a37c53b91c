"""What Windows and macOS lack or do otherwise, as far as it can be had here: consoles without
UTF-8, no fcntl, no SIGHUP, locks by msvcrt. The workflows run the wheel on the systems themselves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from sweeping import BASE, seals

from clearpipe import terminal

# Python of Windows, from inside: what it has not is taken away once other libraries are loaded, and
# msvcrt's locks are made of fcntl's. Offsets of a C `long` have 32 bits there.
WINDOWS = """
import errno, fcntl, os, platform, signal, sys, types
import asyncio, concurrent.futures, multiprocessing, shutil, socket, subprocess, tempfile, zipfile
import jinja2, numpy, rich.console, rich.live, rich.progress, rich.table, scipy.stats, tomli_w
import typer, typer.rich_utils

def locking(descriptor, mode, count):
    offset = os.lseek(descriptor, 0, os.SEEK_CUR)
    assert 0 <= offset < 2**31 and count == 1
    how = {0: fcntl.LOCK_UN, 2: fcntl.LOCK_EX | fcntl.LOCK_NB}[mode]
    try:
        fcntl.lockf(descriptor, how, count, offset)
    except OSError:
        raise OSError(errno.EACCES, "Permission denied") from None

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_UNLCK=0, LK_NBLCK=2, LK_LOCK=1)
for name in ("fcntl", "termios", "resource", "pwd", "grp", "pty", "tty", "syslog", "matplotlib"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGQUIT"):
    delattr(signal, name)
for name in ("fork", "getuid", "geteuid", "getgid", "sysconf", "killpg", "setsid", "getpgid",
             "sched_getaffinity", "O_CLOEXEC", "O_DIRECTORY", "uname", "mkfifo", "statvfs"):
    delattr(os, name)
platform.system = lambda: "Windows"
sys.platform = "win32"

from clearpipe.cli import main
main()
"""

PLOTTED = """[sweep]
reps = 3
vary."topology.rtt" = ["10ms", "20ms"]
[plot]
x = "topology.rtt"
y = "queue_mean_pkts"
"""


def on_windows(
    *arguments: object, cwd: Path, expect: int = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == expect, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def test_a_run_a_sweep_and_a_comparison_without_what_windows_lacks(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(BASE + PLOTTED, encoding="utf-8")
    on_windows("sweep", "run", "sweep.toml", cwd=tmp_path)
    assert len(seals(tmp_path / "results/store")) == 6
    assert "±" in on_windows("sweep", "report", "sweep.toml", cwd=tmp_path).stdout
    (tmp_path / "tiny.toml").write_text(BASE, encoding="utf-8")
    for side in ("a", "b"):
        on_windows("run", "tiny.toml", "--reps", 2, "--out", side, "--report", cwd=tmp_path)
    on_windows("compare", "a", "b", "--report", "page.html", cwd=tmp_path)
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_two_runners_share_a_store_by_the_locks_of_windows(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(BASE + PLOTTED, encoding="utf-8")
    command = [sys.executable, "-c", WINDOWS, "sweep", "run", "sweep.toml"]
    both = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) for _ in range(2)]
    said = [one.communicate(timeout=300)[1].decode() for one in both]
    assert "Traceback" not in "".join(said)
    # The one that ends first may leave runs to the other.
    assert {one.returncode for one in both} in ({0}, {0, 75}), said
    assert len(seals(tmp_path / "results/store")) == 6
    lines = (tmp_path / "results/store/journal.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [json.loads(line)["run"] for line in lines]
    assert len(runs) == len(set(runs)) == 6


def test_what_only_linux_has_is_said(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(BASE, encoding="utf-8")
    done = on_windows("run", "tiny.toml", "--engine", "linux", cwd=tmp_path, expect=5)
    assert "Linux" in done.stderr
    done = on_windows("linux", "status", cwd=tmp_path, expect=5)
    assert "need Linux" in done.stderr
    shown = json.loads(on_windows("doctor", "--json", cwd=tmp_path).stdout)
    rows = {check["name"]: check for check in shown["checks"]}
    assert rows["linux"]["get"] == "a machine with Linux"
    assert rows["memory"]["value"] == "unknown"


@pytest.mark.parametrize(("encoding", "interval"), [("cp1252", "±"), ("ascii", "+-")])
def test_consoles_without_utf8_get_signs_that_they_have(
    encoding: str, interval: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.toml").write_text(BASE.replace("tiny", "café"), encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}

    def printed(*arguments: object) -> str:
        command = [sys.executable, "-m", "clearpipe", *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode(encoding)

    assert interval in printed("run", "tiny.toml", "--reps", 3, "--out", "runs")
    # JSON is UTF-8, whatever the console has.
    shown = printed("show", "tiny.toml", "--json").encode(encoding)
    assert json.loads(shown.decode("utf-8"))["scenario"]["name"] == "café"


# A run of signs that are missing is one exponent; cp1252 has ¹ and ², cp437 has ² alone.
@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("utf-8", "≤ 5·10⁻¹² µs ± 3 → \u2013 \u2588 \u4e2d"),
        ("cp1252", "<= 5·10^-¹² µs ± 3 -> \u2013 # \\u4e2d"),
        ("cp437", "≤ 5·10^-1² µs ± 3 -> - █ \\u4e2d"),
        ("ascii", "<= 5.10^-12 us +- 3 -> - # \\u4e2d"),
    ],
)
def test_each_sign_has_one_that_means_the_same(
    encoding: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = TextIOWrapper(BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    terminal.write_anything()
    out.write("≤ 5·10⁻¹² µs ± 3 → \u2013 \u2588 \u4e2d")
    out.flush()
    assert out.buffer.getvalue().decode(encoding) == written


def test_every_file_is_read_and_written_with_an_encoding(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(BASE + PLOTTED, encoding="utf-8")
    env = {**os.environ, "PYTHONWARNDEFAULTENCODING": "1", "PYTHONWARNINGS": "default"}
    for arguments in (
        ("sweep", "run", "sweep.toml"),
        ("sweep", "report", "sweep.toml"),
        ("run", "two-paths", "--set", "duration=3s", "--set", "warmup=1s", "--report"),
        ("new", "--protocol", "xcp", "mine.toml"),
    ):
        command = [sys.executable, "-m", "clearpipe", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        warned = [line for line in done.stderr.splitlines() if "EncodingWarning" in line]
        assert [line for line in warned if "site-packages" not in line] == []
