"""BBR's example test cases, and that a sender which is not quite BBR fails them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import bbr_cases
from bbr.case import CASES, outcome
from bbr.network import Network

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("number", range(1, 23))
def test_a_case_passes(number: int) -> None:
    one = outcome(number)
    assert one.passed, [step for step in one.steps if not step.holds]


def test_the_page_is_that_of_these_runs() -> None:
    page = (ROOT / "docs/evidence/bbr-cases.md").read_text(encoding="utf-8")
    assert page == bbr_cases.page([outcome(number) for number in sorted(CASES)])


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
    scenario = Network.scenario

    def other(net: Any) -> Any:
        document = scenario(net)
        document["protocols"]["host"].update(changed)
        return document

    monkeypatch.setattr(Network, "scenario", other)
    assert [number for number in fails if outcome(number).passed] == []


def test_the_scenarios_of_a_case_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    bbr_cases.main(["9"])
    printed = capsys.readouterr().out
    assert printed.count("schema = 1\n") == 2
    assert 'rate = "9Mbps"' in printed
