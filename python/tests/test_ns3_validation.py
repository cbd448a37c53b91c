"""ns-3's four validation cases: what docs/evidence/ns3.md says of them here, and ns-3's own numbers
where both simulators do the same.

The table's numbers of ns-3 are from its runs (`make check-peers-ns3`), not from ours.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence" / "ns3.md"


@pytest.fixture(scope="module")
def validation() -> Any:
    """peers/validation.py, which is a script among scripts."""
    sys.path.insert(0, str(ROOT / "peers"))
    try:
        module: ModuleType = importlib.import_module("validation")
    finally:
        sys.path.remove(str(ROOT / "peers"))
    return module


def rows(columns: int) -> list[list[str]]:
    """The page's table lines with so many columns."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return [row for row in cells if len(row) == columns and not set(row[0]) <= {"-"}][1:]


@pytest.mark.parametrize(
    "case", ["dctcp-10ms", "dctcp-80ms", "cubic-50ms-no-ecn", "cubic-50ms-ecn"]
)
def test_the_page_says_what_the_cases_show(validation: Any, case: str) -> None:
    said = {row[1]: row for row in rows(8) if row[0] == case}
    trace, alike = validation.ours(case), validation.ours(case, (), validation.AS_NS3)
    assert said.keys() == {statement.said for statement in validation.STATEMENTS[case]}
    for statement in validation.STATEMENTS[case]:
        for seen, cells in (
            (statement.see(trace), said[statement.said][4:6]),
            (statement.see(alike), said[statement.said][6:]),
        ):
            assert cells == [seen.shown, validation.verdict(seen)], statement.said


def numbers(cell: str) -> list[float]:
    return [float(text) for text in re.findall(r"\d+(?:\.\d+)?", cell)]


@pytest.mark.parametrize(("case", "within_s"), [("cubic-50ms-no-ecn", 0.2), ("cubic-50ms-ecn", 1)])
def test_without_hystart_and_delayed_acks_cubics_windows_are_ns3s(
    validation: Any, case: str, within_s: float
) -> None:
    (both,) = (one for one in validation.EXPERIMENTS if (one.case, one.what) == (case, "both"))
    trace = validation.ours(case, both.sets)
    theirs = {row[2]: row[3] for row in rows(5) if row[:2] == [case, "both"]}
    assert len(theirs) == 4
    for statement in validation.STATEMENTS[case]:
        window, at = numbers(statement.see(trace).shown)
        peer_window, peer_at = numbers(theirs[statement.said])
        assert window == pytest.approx(peer_window, rel=0.03), statement.said
        assert at == pytest.approx(peer_at, abs=within_s), statement.said


def test_without_delayed_acks_dctcps_throughput_is_ns3s(validation: Any) -> None:
    case, what = "dctcp-80ms", "an ACK per packet"
    (one,) = (one for one in validation.EXPERIMENTS if (one.case, one.what) == (case, what))
    trace = validation.ours(case, one.sets)
    theirs = {row[2]: row[3] for row in rows(5) if row[:2] == [case, what]}
    throughput = [s for s in validation.STATEMENTS[case] if "throughput" in s.said]
    assert len(throughput) == 3
    for statement in throughput:
        for mine, peer in zip(
            numbers(statement.see(trace).shown), numbers(theirs[statement.said]), strict=True
        ):
            assert mine == pytest.approx(peer, abs=0.5), statement.said
