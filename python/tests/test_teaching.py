"""The exercises: skeletons say "not yet", solutions are right, wrong answers get a hint."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearpipe.teaching import NotYet, Right, Verdict, Wrong, aimd, bufferbloat, slowstart, vcp, xcp

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/tutorials/exercises"
NAMES = ["1-aimd", "2-bufferbloat", "3-slow-start", "4-xcp", "5-vcp"]


def cells(path: Path) -> list[str]:
    """The code of each cell."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def verdicts(path: Path) -> list[Right | Verdict]:
    """What each check says; all other cells must run."""
    space: dict[str, Any] = {"__name__": "exercise"}
    found: list[Right | Verdict] = []
    for code in cells(path):
        if ".check_" not in code:
            exec(code, space)
            continue
        try:
            found.append(eval(code, space))
        except Verdict as verdict:
            found.append(verdict)
    pyplot.close("all")
    return found


def test_every_exercise_is_there() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES
    assert sorted(path.stem for path in (FOLDER / "solutions").glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_skeletons_are_not_yet_done(name: str) -> None:
    found = verdicts(FOLDER / f"{name}.ipynb")
    assert [type(verdict) for verdict in found] == [NotYet] * 3
    assert str(found[0]).startswith("Task 1, ")
    assert ": not yet. " in str(found[0])


@pytest.mark.parametrize("name", NAMES)
def test_solutions_are_right(name: str) -> None:
    found = verdicts(FOLDER / "solutions" / f"{name}.ipynb")
    assert [type(verdict) for verdict in found] == [Right] * 3, found


def test_skeletons_are_the_solutions_without_them() -> None:
    pytest.importorskip("nbformat")
    tool = ROOT / "python/tools/make_exercises.py"
    command = [sys.executable, str(tool), "--check", str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run `make notebook`: {done.stdout}"
    for name in NAMES:
        text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
        assert "SOLUTION" not in text
        assert '"outputs": []' in text
        assert "raise NotImplementedError" in text


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_say_what_they_said(name: str) -> None:
    for library in ("ipykernel", "nbclient"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    tool = ROOT / "python/tools/run_notebook.py"
    command = [sys.executable, str(tool), "--check", str(FOLDER / f"solutions/{name}.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run `make notebook`\n{done.stdout}\n{done.stderr}"


def test_a_skeleton_in_a_kernel_says_one_line() -> None:
    """And the marks of a folder of notebooks can be had at once."""
    for library in ("ipykernel", "nbclient"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    files = [str(FOLDER / "3-slow-start.ipynb"), str(FOLDER / "solutions/3-slow-start.ipynb")]
    command = [sys.executable, "-m", "clearpipe.teaching", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[2] for row in rows] == ["not yet"] * 3 + ["right"] * 3
    assert [row[1] for row in rows[:3]] == [row[1] for row in rows[3:]]
    shown = NotYet("Nothing.", "Task 1, x")._render_traceback_()
    assert shown == ["Task 1, x: not yet. Nothing."]


def notebook(path: Path, code: str) -> str:
    """A notebook of one cell."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "a",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    told = {"cells": [{**cell, "source": code}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(told), encoding="utf-8")
    return str(path)


def test_a_notebook_that_cannot_be_executed_does_not_stop_marking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("ipykernel", "nbclient", "nbformat"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    from clearpipe.teaching import __main__ as marking

    monkeypatch.setattr(marking, "TIMEOUT_S", 5)
    text = tmp_path / "text.ipynb"
    text.write_text("no notebook", encoding="utf-8")
    bad = [
        str(tmp_path / "missing.ipynb"),
        str(text),
        notebook(tmp_path / "slow.ipynb", "import time; time.sleep(600)"),
        notebook(tmp_path / "dead.ipynb", "import os; os._exit(1)"),
    ]
    right = "from clearpipe.teaching import NotYet; raise NotYet('Nothing.', 'Task 1, x')"
    good = notebook(tmp_path / "good.ipynb", right)
    assert marking.main([*bad, good]) == 1
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [*bad, good]
    assert all(row[1] == "-" and row[2].startswith("not executed: ") for row in rows[:4])
    assert rows[0][2] == "not executed: No such file or directory"
    assert "timed out" in rows[2][2]
    assert "died" in rows[3][2].lower()
    assert rows[4][1:] == ["Task 1, x", "not yet"]
    assert marking.main([good]) == 0


def broken(*_: float) -> float:
    raise ZeroDivisionError("division by zero")


def unwritten(*_: float) -> float:
    raise NotImplementedError


WRONG: list[tuple[Callable[[Any], Right], Any, str]] = [
    (aimd.check_jain, lambda rates: min(rates) / max(rates), r"\[8.0, 0.0, 0.0, 0.0\] it is 0.25"),
    (aimd.check_jain, broken, "ZeroDivisionError"),
    (aimd.check_jain, 0.8, "Expected a function"),
    (aimd.check_step, lambda w, c: w / 2 if c else w * 1.05, "index of 0.5"),
    (aimd.check_step, lambda w, c: w - 8 if c else w + 1, "difference of the two"),
    (aimd.check_step, lambda w, c: w - 8 if c else w * 1.1, "difference of the two"),
    (aimd.check_step, lambda w, c: w - 1, "must grow"),
    (aimd.check_step, lambda w, c: w + 1, "must shrink"),
    (aimd.check_step, lambda w, c: 1 if c else w + 1, "use 75.* % of the link"),
    (aimd.check_friendly, lambda beta: 4 * (1 - beta**2) / 3, "keeps 0.7"),
    (aimd.check_friendly, lambda beta: 1.0, "for 1/2 it must be 1"),
    (bufferbloat.check_delay, lambda buffer, rate: buffer / rate, "40.8 ms, by your function 5 ms"),
    (bufferbloat.check_delay, lambda buffer, rate: 8e3 * buffer / rate, "in seconds"),
    (bufferbloat.check_buffer, "0.5bdp", "too little"),
    (bufferbloat.check_buffer, "3bdp", "more than it takes"),
    (bufferbloat.check_buffer, 125_000, "A text with a unit"),
    (bufferbloat.check_buffer, "a lot", "does not take it"),
    (bufferbloat.check_queue, "droptail", "more than 20 ms"),
    (bufferbloat.check_queue, "red", "more than 20 ms"),
    (bufferbloat.check_queue, "codell", 'did you mean "codel"'),
    (slowstart.check_bdp, lambda rate, rtt, size: rate * rtt / size, "not 8000"),
    (slowstart.check_bdp, lambda rate, rtt, size: 1000.0, "rests at 228"),
    (slowstart.check_rounds, lambda packets, window: packets / window, "3 packets .* 2 RTTs"),
    (slowstart.check_rounds, lambda packets, window: math.log2(packets / window + 1), "by your"),
    (slowstart.check_window, 9, "start with more"),
    (slowstart.check_window, 11, "less is enough"),
    (slowstart.check_window, 10.5, "whole number"),
    (xcp.check_feedback, lambda d, spare, queue: 0.4 * d * spare, "persistent queue"),
    (xcp.check_feedback, lambda d, spare, queue: 0.4 * spare - 0.226 * queue, "bytes per second"),
    (xcp.check_shuffle, lambda d, y, phi: 0.1 * y * d - abs(phi), "never below 0"),
    (xcp.check_shuffle, lambda d, y, phi: 0.1 * y * d, "gamma = 0.1"),
    (xcp.check_rounds, lambda gamma: 1 / gamma, "takes 32 RTTs"),
    (xcp.check_rounds, lambda gamma: 15.3, "gamma = 0.05"),
    (vcp.check_level, lambda rho: 1 if rho < 0.7 else 2 if rho < 1 else 3, "factor of 0.79"),
    (vcp.check_level, lambda rho: 1 if rho < 0.8 else 2, "factor of 1.01"),
    (vcp.check_increase, lambda rho, kappa: kappa * (1 - rho), "over what is used"),
    (vcp.check_scaling, lambda xi, alpha, rtt, period: (xi, alpha), "same factor"),
    (
        vcp.check_scaling,
        lambda xi, alpha, rtt, period: ((1 + xi) ** (rtt / period) - 1, alpha * rtt / period),
        "half the RTT",
    ),
    (vcp.check_scaling, lambda xi, alpha, rtt, period: xi, "two numbers"),
]


@pytest.mark.parametrize(("check", "answer", "hint"), WRONG)
def test_wrong_answers_get_a_hint(check: Callable[[Any], Right], answer: Any, hint: str) -> None:
    with pytest.raises(Wrong, match=hint):
        check(answer)


CHECKS = [
    getattr(module, name)
    for module in (aimd, bufferbloat, slowstart, xcp, vcp)
    for name in vars(module)
    if name.startswith("check_")
]


@pytest.mark.parametrize("check", CHECKS)
def test_nothing_filled_in_is_not_yet(check: Callable[[Any], Right]) -> None:
    with pytest.raises(NotYet):
        check(None)
    with pytest.raises(NotYet):
        check(...)


def test_an_unwritten_function_is_not_yet() -> None:
    for check in (aimd.check_jain, aimd.check_step, xcp.check_feedback, vcp.check_scaling):
        with pytest.raises(NotYet, match="not written"):
            check(unwritten)
    with pytest.raises(NotYet, match="needs a return"):
        aimd.check_jain(lambda rates: None)


def test_an_error_within_the_engine_is_the_students() -> None:
    def step(window: float, congested: bool) -> float:
        if window == 51.5:  # half of where the engine's start ends
            raise ValueError("boo")
        return window / 2 if congested else window + 1

    with pytest.raises(Wrong, match="boo"):
        aimd.check_step(step)
    assert aimd.STUDENT not in sys.modules
