"""Input that means harm: no traceback, no hang, no growth, nothing that a terminal would obey."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest
from sweeping import command
from test_bad_input import GOOD, SWEEP

import clearpipe as cp
from clearpipe.sweep import results
from clearpipe.terminal import LONGEST, printable

GIGABYTE = 1 << 30
CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), 127, 0x202E, 0x2066)]


def bounded(
    *arguments: str | bytes, cwd: Path, limit_s: float = 20
) -> subprocess.CompletedProcess[bytes]:
    """A command with bounded time and memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 * GIGABYTE, 3 * GIGABYTE))

    return subprocess.run(
        [*command(), *arguments],
        cwd=cwd,
        capture_output=True,
        timeout=limit_s,
        preexec_fn=limit,
        check=False,
    )


def refused(*arguments: str | bytes, cwd: Path, code: int = 3) -> str:
    """What a command says that must fail with this code and without a traceback."""
    done = bounded(*arguments, cwd=cwd)
    said = done.stderr.decode("utf-8", "backslashreplace")
    assert done.returncode == code, said
    assert "Traceback" not in said
    assert len(said) < 2 * LONGEST
    assert not any(control in said for control in CONTROLS)
    return said


@pytest.mark.parametrize("what", ["run", "show"])
def test_a_device_without_an_end(tmp_path: Path, what: str) -> None:
    assert "more than 16 MB" in refused(what, "/dev/zero", cwd=tmp_path)


def test_a_file_of_gigabytes(tmp_path: Path) -> None:
    with (tmp_path / "big.toml").open("wb") as file:
        file.truncate(3 * GIGABYTE)
    assert "big.toml: more than 16 MB" in refused("run", "big.toml", cwd=tmp_path)


def test_long_values_are_not_echoed_whole(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD.replace("20ms", "x" * 1_000_000), encoding="utf-8")
    assert "characters ...]" in refused("run", "s.toml", cwd=tmp_path)
    (tmp_path / "s.toml").write_text(f'{GOOD}"{"y" * 100_000}" = 1\n', encoding="utf-8")
    assert "characters ...]" in refused("run", "s.toml", cwd=tmp_path)
    assert "characters ...]" in refused("run", "s.toml", "--engine", "z" * 100_000, cwd=tmp_path)


@pytest.mark.parametrize("control", ["\\u001b[31m", "\\u202e", "\\u0007"])
def test_keys_do_not_write_to_the_terminal(tmp_path: Path, control: str) -> None:
    text = GOOD.replace("[flows.a]", f'[flows."a{control}"]\nwhat = 1')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    refused("run", "s.toml", cwd=tmp_path)
    raw = control.encode().decode("unicode_escape")
    (tmp_path / "t.toml").write_text(GOOD, encoding="utf-8")
    refused("run", "t.toml", "--set", f"topology.{raw}=1", cwd=tmp_path)
    refused("run", "t.toml", "--engine", f"p{raw}", cwd=tmp_path)
    refused("run", f"{raw}.toml", cwd=tmp_path)


def test_a_name_that_turns_the_writing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD.replace('"good"', '"a\\u202eb"'), encoding="utf-8")
    assert "printable" in refused("run", "s.toml", cwd=tmp_path)


def test_a_result_directory_need_not_be_text(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD, encoding="utf-8")
    done = bounded("run", "s.toml", "--out", b"\xff\xfe", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / os.fsdecode(b"\xff\xfe") / "meta.json").is_file()


def test_lines_end_as_toml_has_it(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(GOOD.replace("\n", "\r").encode())
    refused("run", "s.toml", cwd=tmp_path)
    (tmp_path / "s.toml").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert bounded("show", "s.toml", cwd=tmp_path).returncode == 0


def test_a_map_with_an_element_of_many_attributes(tmp_path: Path) -> None:
    attributes = " ".join(f'a{i}="x"' for i in range(200_000))
    (tmp_path / "m.graphml").write_text(f"<graphml><graph><node {attributes}/></graph></graphml>")
    text = GOOD.replace('kind = "dumbbell"', 'kind = "graphml"\nfile = "m.graphml"')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    done = bounded("run", "s.toml", cwd=tmp_path, limit_s=10)
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", [r"$\frac{$", "$", "a_$b$", "$$$"])
def test_names_are_no_formulas(tmp_path: Path, name: str) -> None:
    text = GOOD.replace('"good"', f"'{name}'")
    (tmp_path / "s.toml").write_text(text + SWEEP + "[plot.p]\nx = 'topology.rtt'\n"
        "y = ['utilization_ratio']\ntitle = '" + name + "'\n", encoding="utf-8")  # fmt: skip
    drawn = ("--figure", "f.png", "--draw", "queue_mean_pkts")
    run = bounded("run", "s.toml", "--out", "r", *drawn, "--report", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert bounded("sweep", "run", "s.toml", "-q", cwd=tmp_path).returncode == 0
    report = bounded("sweep", "report", "s.toml", "--out", "o", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert name in (tmp_path / "o/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("value", [5, [], None, 1.5, b"x", object()])
def test_what_is_no_scenario(value: object) -> None:
    with pytest.raises(cp.ConfigError, match="a scenario is a file, a text, a mapping"):
        cp.run(value)  # type: ignore[call-overload]


def test_mappings_within_themselves() -> None:
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(cp.ConfigError, match="nested more than 32 deep"):
        cp.run(deep)
    deep["a"] = deep
    with pytest.raises(cp.ConfigError, match="nested more than 32 deep"):
        cp.run(deep)


def test_any_false_stops_a_run() -> None:
    numpy = pytest.importorskip("numpy")
    text = GOOD.replace('"2s"', '"4000h"')
    assert not cp.run(text, progress=lambda _: numpy.bool_(False)).complete


def test_long_runs_without_series_need_no_samples(tmp_path: Path) -> None:
    text = GOOD.replace('"2s"', '"4800h"')
    assert cp.resolve(text).toml
    with pytest.raises(cp.ConfigError, match=r"probe\.every: more than 100000000 samples"):
        cp.resolve(text + '[probe]\nseries = ["goodput"]\nevery = "100ms"\n')


def test_cells_are_no_formulas() -> None:
    cells = {"=cmd|'/C calc'!A0": "'=cmd|'/C calc'!A0", "@a": "'@a", "-5": "-5", "+1e3": "+1e3"}
    assert {cell: results._cell(cell) for cell in cells} == cells
    assert results._cell(-2.5) == -2.5
    assert results._cell(float("nan")) == ""


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.toml")).write_text(GOOD, encoding="utf-8")
    assert "must be UTF-8" in refused("show", b"\xff.toml", cwd=tmp_path)


def test_messages_are_short_however_they_are_written() -> None:
    assert len(printable("\u202e" * 100_000)) <= LONGEST
    assert printable("x" * LONGEST) == "x" * LONGEST


def test_messages_show_what_they_quote() -> None:
    assert printable("a\x1b[31mb\u202ec") == "a\\u{1b}[31mb\\u{202e}c"
    assert printable("two\nlines, ünïcode ✓") == "two\nlines, ünïcode ✓"
    long = printable("x" * 10_000 + "end")
    assert len(long) < LONGEST
    assert long.endswith("end")


def test_looking_at_a_result_runs_no_code(tmp_path: Path) -> None:
    """The directory of somebody else's run, with code beside it."""
    (tmp_path / "toy.py").write_text(
        "import clearpipe as cp\nfrom pathlib import Path\nPath('ran').touch()\n"
        "class Toy(cp.Sender):\n"
        "    def on_ack(self, ack): pass\n    def on_loss(self, loss): pass\n"
    )
    text = GOOD.replace('protocol = "reno"', 'protocol = { kind = "python", code = "toy.py:Toy" }')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    assert bounded("run", "s.toml", "--out", "r", cwd=tmp_path).returncode == 0
    (tmp_path / "r/toy.py").write_bytes((tmp_path / "toy.py").read_bytes())
    (tmp_path / "ran").unlink()
    said = refused("explain", "r", "--flow", "0", "--at", "1s", cwd=tmp_path)
    assert "--run-code" in said
    for what in (["compare", "r", "r"], ["show", "r/run.toml"]):
        assert bounded(*what, cwd=tmp_path).returncode == 0
    assert not (tmp_path / "ran").exists()
    told = bounded("explain", "r", "--flow", "0", "--at", "1s", "--run-code", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "ran").exists()


def test_usage_errors_are_bounded_and_plain(tmp_path: Path) -> None:
    refused("run", "s.toml", "x" * 100_000, cwd=tmp_path, code=2)
    refused("sweep", "status", "s.toml", "x\x1b[2J\u202e", cwd=tmp_path, code=2)
    helped = bounded("sweep", cwd=tmp_path)
    assert helped.returncode == 2
    assert b"status" in helped.stderr
    assert bounded("--version", cwd=tmp_path).returncode == 0
