"""The tables of RFCs' statements name tests that exist, and their pages are of them."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

import clearpipe as cp

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "evidence" / "rfc"

_spec = importlib.util.spec_from_file_location(
    "make_rfc", ROOT / "python" / "tools" / "make_rfc.py"
)
assert _spec is not None
assert _spec.loader is not None
make_rfc = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_rfc)

TABLES = make_rfc.load(FOLDER)
NAMED = sorted(
    {test for table in TABLES for one in table["statement"] for test in make_rfc.tests(one)}
)


def test_every_test_that_a_table_names_is_there_and_runs() -> None:
    assert len(NAMED) > 50
    assert not [why for test in NAMED if (why := make_rfc.missing(test))]


def test_the_pages_are_of_the_tables() -> None:
    for path, text in make_rfc.pages(FOLDER).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: make rfc"
    assert {path.stem for path in FOLDER.glob("rfc*.md")} == {
        path.stem for path in FOLDER.glob("rfc*.toml")
    }


def test_a_test_that_is_missing_or_skipped_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_rfc, "ROOT", tmp_path)
    (tmp_path / "a.rs").write_text(
        "#[test]\nfn there() {}\n\n    #[test]\n    #[ignore]\n    fn slow() {}\n\nfn helper() {}\n"
    )
    (tmp_path / "a.py").write_text(
        "def test_there() -> None: ...\n\n\n@pytest.mark.skip\ndef test_off() -> None: ...\n"
    )
    for test, why in [
        ("a.rs::there", None),
        ("a.rs::slow", "it is skipped"),
        ("a.rs::helper", "not a test"),
        ("a.rs::there_is_not", "no such test"),
        ("b.rs::there", "no such file"),
        ("a.py::test_there", None),
        ("a.py::test_off", "it is skipped"),
        ("a.py::test_the", "no such test"),
    ]:
        assert make_rfc.missing(test) == (why and f"{test}: {why}")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ({"holds": ["a.rs::a"]}, "names its tests"),
        ({"holds": [], "scenario": "one"}, "names its tests"),
        ({}, "one of holds, differs"),
        ({"differs": "so", "left_out": "so"}, "one of holds, differs"),
        ({"differs": "so", "level": "OUGHT"}, "no such level: OUGHT"),
        ({"left_out": "so", "pinned": ["a.rs::a"]}, "only a difference is pinned"),
        ({"left_out": "so", "test": "a.rs::a"}, "no such key: test"),
    ],
)
def test_a_statement_has_one_verdict(statement: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make_rfc.verdict({"section": "1", "level": "MUST", "says": "That.", **statement})


def test_a_page_that_is_not_of_its_table_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "rfc"
    shutil.copytree(FOLDER, folder)
    table = folder / "rfc8289.toml"
    table.write_text(table.read_text(encoding="utf-8").replace("5 ms", "6 ms"), encoding="utf-8")
    stale = {
        path.name
        for path, text in make_rfc.pages(folder).items()
        if path.read_text(encoding="utf-8") != text
    }
    assert stale == {"rfc8289.md"}


SPARSE = """
schema = 1
name = "sparse"
duration = "12s"
warmup = "2s"
[packets]
data = "1000B"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "100pkt"
[flows.greedy]
protocol = "reno"
count = 8
[flows.sparse]
protocol = "reno"
rate = "400kbps"
"""


def test_a_sparse_flow_waits_for_nobody() -> None:
    """RFC 8290 section 4.2: eight greedy flows, and a packet of 1000 B each 20 ms.

    A packet takes 0.8 ms and a round of the eight 6.4 ms, so the sparse flow's queue has left the
    lists when its next packet comes, which is first among the new ones: it waits for the packet in
    service and at most for that of another new queue. Beside 40 ms of propagation, 0.8 ms of its
    own and 0.032 ms of the ACK that is 1.6 ms at most. A FIFO has a queue of up to 80 ms.
    """
    waits = {}
    for queue in ("fq-codel", "droptail"):
        result = cp.run(SPARSE, set=[f"topology.queue={queue}"])
        rows = zip(
            *(result.flows[name] for name in ("group", "srtt_s", "dropped_pkts")), strict=True
        )
        [(_, srtt_s, dropped)] = [row for row in rows if row[0] == "sparse"]
        waits[queue] = srtt_s - 0.040832
        if queue == "fq-codel":
            assert dropped == 0
    assert 0.0 <= waits["fq-codel"] < 0.0016, waits
    assert waits["droptail"] > 0.02, waits
