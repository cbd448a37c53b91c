"""Comparing results: pairs, differences, tolerances."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import compare, examples
from clearpipe.cli import app
from clearpipe.errors import ConfigError

SMALL = ["duration=2s", "warmup=0.5s", "topology.rate=5Mbps", "flows.fwd.count=2"]
SMALL += ["flows.rev.count=2", "flows.fwd.start=0s", "flows.rev.start=uniform(0s, 1s)"]


def write(name: str, place: Path, rep: int = 0) -> Path:
    cp.run(examples.path(name), rep=rep, set=SMALL).write(place)
    return place


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Replications 0 and 1 of XCP, and 0 to 2 of SACK."""
    root = tmp_path_factory.mktemp("sides")
    for rep in range(2):
        write("base-case-xcp", root / "a" / str(rep), rep)
    for rep in range(3):
        write("base-case-sack-red", root / "b" / str(rep), rep)
    return root / "a", root / "b"


def test_a_result_equals_itself(sides: tuple[Path, Path]) -> None:
    same = compare.compare(sides[0] / "0", sides[0] / "0")
    assert same.pairs[0]["same_fingerprint"]
    assert {row.difference for row in same.rows if row.difference is not None} == {0.0}
    assert all(row.within is None for row in same.rows)


def test_pairs_by_seed_and_replication(sides: tuple[Path, Path]) -> None:
    both = compare.compare(*sides)
    assert [pair["a"]["rep"] for pair in both.pairs] == [0, 1]
    assert both.only_in_b == ["seed 1 rep 2"]
    row = next(row for row in both.rows if row.column == "utilization_ratio")
    used = [cp.load(sides[0] / str(rep)).summary["links"] for rep in range(2)]
    mean = sum(next(x for x in u if x["name"] == row.item)["utilization_ratio"] for u in used) / 2
    assert row.a == pytest.approx(mean)
    assert row.difference == pytest.approx((row.b or 0) - (row.a or 0))


@pytest.mark.parametrize(
    ("tolerance", "code"),
    [
        ("[links]\nutilization_ratio = { abs = 1.0 }", 0),
        ("[links]\nutilization_ratio = { rel = 0.0 }", 4),
        ("[links]\nutilization_ratio = { rel = 0.0, abs = 1.0 }", 0),
        ("[groups]\ngoodput_mean_bps = { abs = 0 }", 4),
        ("groups.jain_index_ratio = { abs = 1 }", 0),
        ("[links]\nutilisation_ratio = { abs = 1.0 }", 3),
        ("[links]\nutilization_ratio = 1.0", 3),
        ("[links]\nutilization_ratio = { abs = -1.0 }", 3),
        ("[flows]\nx = { abs = 1.0 }", 3),
        ("not toml", 3),
    ],
)
def test_tolerance(sides: tuple[Path, Path], tmp_path: Path, tolerance: str, code: int) -> None:
    file = tmp_path / "tolerance.toml"
    file.write_text(tolerance)
    arguments = ["compare", *map(str, sides), "--tol", str(file), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    if code == 3:
        assert result.stdout == ""
    else:
        assert json.loads(result.stdout)["within"] is (code == 0)


def test_a_missing_column_name_gets_a_hint(sides: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "tolerance.toml"
    file.write_text("[links]\nutilisation_ratio = { abs = 1.0 }")
    with pytest.raises(ConfigError, match="did you mean utilization_ratio"):
        compare.compare(*sides, file)


@pytest.mark.parametrize(
    ("a", "b", "abs_", "rel", "holds"),
    [
        (1.0, 1.1, 0.2, None, True),
        (1.0, 1.3, 0.2, None, False),
        (10.0, 11.0, None, 0.1, True),
        (-10.0, -12.0, None, 0.1, False),
        (0.0, 0.0, None, 0.1, True),
        (0.0, 0.1, None, 0.5, False),
        (0.0, 0.1, 0.2, 0.5, True),
    ],
)
def test_bounds(a: float, b: float, abs_: float | None, rel: float | None, holds: bool) -> None:
    assert compare.Bound(abs_, rel).holds(a, b) is holds


def test_nothing_in_common_and_nothing_there(sides: tuple[Path, Path], tmp_path: Path) -> None:
    runner = CliRunner()
    apart = ["compare", str(sides[0] / "0"), str(sides[1] / "2")]
    assert runner.invoke(app, apart).exit_code == 1
    assert runner.invoke(app, ["compare", str(tmp_path), str(sides[0])]).exit_code == 3
