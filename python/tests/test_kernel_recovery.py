"""RACK-TLP and PRR send again what a Linux kernel sent again after the same losses.

The kernel's sequences are in linux-recovery.json, from `make check-kernel-recovery`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import clearpipe as cp
from clearpipe import api

ROOT = Path(__file__).parents[2]
FACTS = json.loads((Path(__file__).parent / "linux-recovery.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recovery() -> ModuleType:
    """peers/recovery.py, which is a script among scripts."""
    sys.path.insert(0, str(ROOT / "peers"))
    try:
        return importlib.import_module("recovery")
    finally:
        sys.path.remove(str(ROOT / "peers"))


def order(recovery: ModuleType, lost: list[int], out: Path) -> list[int]:
    """Every segment that is sent, from 1; the log's numbers are of its first byte."""
    source = api.Source("recovery.toml", recovery.SCENARIO.format(lost=lost))
    cp.run(source, set=recovery.HERE_ONLY, out=out, qlog=["0"])
    events = [json.loads(line) for line in (out / "flow-0.sqlog").read_text().split("\x1e") if line]
    sent = [one["data"] for one in events if one.get("name") == "quic:packet_sent"]
    return [one["frames"][0]["offset"] // 1460 + 1 for one in sent]


def again(order: list[int]) -> list[int]:
    return [one for place, one in enumerate(order) if one in order[:place]]


def test_the_cases_are_those_that_the_kernel_had(recovery: ModuleType) -> None:
    assert list(FACTS["cases"]) == [*recovery.CASES, recovery.TWICE]


@pytest.mark.parametrize("case", list(FACTS["cases"]))
def test_the_same_segments_are_sent_again(case: str, recovery: ModuleType, tmp_path: Path) -> None:
    lost = list(recovery.CASES.get(case, [20]))
    if case == recovery.TWICE:
        first = order(recovery, lost, tmp_path / "first")
        place = next(n for n, one in enumerate(first, 1) if one in first[: n - 1])
        lost.append(place)
    assert again(order(recovery, lost, tmp_path / "run")) == FACTS["cases"][case]["again"]
