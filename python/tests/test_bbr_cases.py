"""BBR's example test cases, and that a sender which is not quite BBR fails them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "python" / "tools" / "bbr_cases.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bbr_cases", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bbr_cases"] = module
    spec.loader.exec_module(module)
    return module


cases = load()


@pytest.mark.parametrize("number", range(1, 23))
def test_a_case_passes(number: int) -> None:
    one = cases.outcome(number)
    assert one.passed, [step for step in one.steps if not step.holds]


def test_the_page_is_that_of_these_runs() -> None:
    page = (ROOT / "docs/evidence/bbr-cases.md").read_text(encoding="utf-8")
    assert page == cases.page([cases.outcome(number) for number in sorted(cases.CASES)])


@pytest.mark.parametrize(
    ("changed", "fails"),
    [
        # Half of a round may be lost: no losses end STARTUP or UP, and none are too many.
        ({"loss_thresh": 0.5}, [2, 6, 17, 21]),
        ({"beta": 0.2}, [16]),
        ({"headroom": 0.8}, [8]),
        ({"pacing_margin": 0.1}, [13, 14]),
        ({"probe_rtt_interval": "2s"}, [10, 11]),
    ],
)
def test_another_sender_fails(
    changed: dict[str, Any], fails: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = cases.Network.scenario

    def other(net: Any) -> Any:
        document = scenario(net)
        document["protocols"]["host"].update(changed)
        return document

    monkeypatch.setattr(cases.Network, "scenario", other)
    assert [number for number in fails if cases.outcome(number).passed] == []


def test_the_scenarios_of_a_case_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    cases.main(["9"])
    printed = capsys.readouterr().out
    assert printed.count("schema = 1\n") == 2
    assert 'rate = "9Mbps"' in printed
