"""BBR's example test cases, and that a sender which is not quite BBR fails them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import bbr_cases
from bbr.case import CASES, outcome
from bbr.network import JUDGED, RAN, Network

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "python/tests/qlog.schema.json"


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


def test_each_case_says_which_runs_it_judges() -> None:
    # 10.7 is about PROBE_UP, and about STARTUP in a run of its own.
    judged = {}
    for number in sorted(CASES):
        outcome(number)
        judged[number] = len(JUDGED)
        assert all(net in RAN and net.every == "change" for net in JUDGED)
    assert judged == {number: 2 if number == 7 else 1 for number in range(1, 23)}


def test_the_log_of_a_case_follows_the_drafts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bbr_cases.main(["--qlog", str(tmp_path / "logs"), "1"])
    file = tmp_path / "logs" / "case-01.sqlog"
    assert capsys.readouterr().out == f"{file}\n"
    texts = file.read_text(encoding="utf-8").split("\x1e")[1:]
    valid = fastjsonschema.compile(json.loads(SCHEMA.read_text("utf-8")))
    for text in texts:
        valid(json.loads(text))
    # 10 Mb/s carry 3750 packets of 1000 B in three seconds, the buffer holds 200, and the path 50.
    sent = [one for one in map(json.loads, texts[1:]) if one["name"] == "quic:packet_sent"]
    assert 3000 < len(sent) <= 4000


@pytest.mark.parametrize("wrong", [[], ["23"], ["one"]])
def test_a_log_of_no_case_is_refused(wrong: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    with pytest.raises(SystemExit, match="cases from 1 to 22"):
        bbr_cases.main(["--qlog", *([str(folder)] if wrong else []), *wrong])
    assert not folder.exists()
