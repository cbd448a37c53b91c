"""docs/reference/theory is true: its commands print what it shows. And the rest of `theory`."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clearpipe.cli import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = ("networks", "xcp", "vcp", "mlcp", "responses")
PAGE = "\n".join(
    (DOCS / f"reference/theory/{name}.md").read_text(encoding="utf-8") for name in NAMES
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


SHOWN = [block.partition("\n") for block in blocks("console")]
COMMANDS = [command.removeprefix("$ ") for command, _, _ in SHOWN]


@pytest.fixture(autouse=True)
def two_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's scenario, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    Path("two-links.toml").write_text(blocks("toml")[0], encoding="utf-8")


def invoke(command: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    return result.exit_code, result.stdout, result.stderr


def words(text: str) -> list[list[str]]:
    """The lines that say something, without their layout."""
    lines = [line.split() for line in text.splitlines()]
    return [line for line in lines if line and not set(line[0]) <= {"─"}]


@pytest.mark.parametrize(("command", "_newline", "output"), SHOWN, ids=COMMANDS)
def test_the_pages_commands(command: str, _newline: str, output: str) -> None:
    code, out, err = invoke(command.removeprefix("$ "))
    assert code == 0, err
    assert words(out) == words(output)


def test_the_page_shows_every_command() -> None:
    shown = {" ".join(re.findall(r"[a-z]+", command)[1:4]) for command in COMMANDS}
    for name in (
        "theory maxmin", "theory xcp equilibrium", "theory ixcp equilibrium",
        "theory vcp equilibrium", "theory xcp stability", "theory vcp fluid",
        "theory mlcp feedback", "theory response", "theory aqm",
    ):  # fmt: skip
        assert any(one.startswith(name) for one in shown), name


def test_the_pages_python() -> None:
    text = "\n".join(blocks("pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, "theory.md", "theory.md", 0)
    told: list[str] = []
    failed, tried = doctest.DocTestRunner().run(test, out=told.append)
    assert failed == 0, "".join(told)
    assert tried == 6


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_json(command: str) -> None:
    code, out, err = invoke(f"{command} --json")
    assert code == 0, err
    assert isinstance(json.loads(out), dict)


def test_json_has_the_numbers() -> None:
    found = json.loads(invoke("clearpipe theory xcp equilibrium two-links.toml --json")[1])
    assert found["maxmin"] is False
    assert [g["rate_mbps"] for g in found["groups"]] == pytest.approx([25, 43.019], abs=1e-3)
    assert found["links"][0]["utilization_percent"] == pytest.approx(92.27, abs=0.01)
    loop = json.loads(invoke("clearpipe theory xcp stability --alpha 0.2 --beta 0.3 --json")[1])
    assert loop["stable"] is False
    assert loop["turnover_rad_s"] is None


@pytest.mark.parametrize("command", COMMANDS[:6] + COMMANDS[-3:])
def test_figures_are_drawn(command: str) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    code, _, err = invoke(f"{command} --figure drawn/figure.svg")
    assert code == 0, err
    assert Path("drawn/figure.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("command", "expected", "told"),
    [
        ("theory xcp stability --rtt 0s", 2, "--rtt: 0s is not allowed (allowed: above 0)"),
        ("theory xcp stability --rtt 80", 2, "--rtt: '80' is not one such as 80ms (units: ps, ns,"),
        ("theory xcp stability --beta 0", 3, "beta: 0 is not allowed (allowed: above 0)"),
        ("theory xcp stability --rtts 40ms,x", 2, "--rtts: 'x' is not one such as 80ms"),
        ("theory xcp stability --alpha 0", 3, "alpha: 0 is not allowed (allowed: above 0)"),
        ("theory xcp stability --capacity-error -1", 3, "capacity error -1 is not allowed"),
        ("theory vcp fluid --kappa 0", 3, "kappa: 0 is not allowed (allowed: above 0)"),
        ("theory vcp fluid --t-rho 1s", 2, "--t-rho needs --rtts"),
        ("theory vcp fluid --capacity 3", 2, "--capacity: '3' is not one such as 45Mbps"),
        ("theory vcp fluid --capacity 1bps", 3, "(allowed: at least one packet of 1000B per RTT)"),
        ("theory vcp fluid --kappa 1e300", 3, "kappa: 1e+300 is not allowed (allowed: above 0,"),
        ("theory mlcp feedback --kappa 0", 3, "kappa: 0 is not allowed (allowed: above 0)"),
        (
            "theory mlcp feedback --additive 0 --inverse 0",
            3,
            "additive and inverse: 0 and 0 rounds",
        ),
        ("theory aqm --capacity 0Mbps", 2, "--capacity: 0Mbps is not allowed (allowed: above 0)"),
        ("theory response --packet 0B", 2, "--packet: 0B is not allowed (allowed: above 0)"),
        ("theory response --loss 2", 3, "loss: allowed is above 0 and below 1"),
        ("theory maxmin nowhere.toml", 3, "nowhere.toml: no such scenario file"),
        ("theory aqm --figure a.bmp", 3, "a.bmp: a figure's name ends in .png, .svg, .pdf"),
    ],
)
def test_bad_input_gets_one_clear_error(command: str, expected: int, told: str) -> None:
    code, _, err = invoke(f"clearpipe {command}")
    assert code == expected
    assert told in " ".join(err.split())


def test_sizes_have_units() -> None:
    told = [invoke(f"clearpipe theory response --packet {size}")[1] for size in ("1kB", "1000B")]
    assert told[0] == told[1]
    assert "times 0.08 in Mb/s" in " ".join(told[0].split())


def test_no_number_is_impossible() -> None:
    # Windows of 0.0015 packets: filling takes what it takes, fair they are at once.
    crowd = json.loads(invoke("clearpipe theory vcp fluid --flows 1000000 --map --json")[1])
    assert crowd["rounds_to_efficiency"] == pytest.approx(116.95, abs=0.01)
    assert crowd["rounds_to_fairness"] == 0
    # Two equal RTTs are one RTT.
    assert crowd["two_rtts"][0]["edge"] == pytest.approx(crowd["kappa_edge"], rel=1e-4)
    # 25 bytes are less than the first packet: the link is full.
    slow = json.loads(invoke("clearpipe theory mlcp feedback --capacity 1kbps --json")[1])
    assert [row["rounds"] for row in slow["schemes"]] == [0, 0, 0, 0]
    # Less than a packet per window: no loop gain reaches 1.
    idle = json.loads(invoke("clearpipe theory aqm --capacity 1kbps --json")[1])
    assert [row["phase_margin_rad"] for row in idle["aqms"][:5]] == [None] * 5
    assert all(row["stable"] for row in idle["aqms"])
