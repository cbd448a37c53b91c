"""Comparing results: pairs, differences, tolerances."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import compare, examples, metric_titles, statistics
from clearpipe.cli import app
from clearpipe.errors import ConfigError, RunError
from clearpipe.report import sides as siding

SMALL = ["duration=2s", "warmup=0.5s", "topology.rate=5Mbps", "flows.fwd.count=2"]
SMALL += ["flows.rev.count=2", "flows.fwd.start=0s", "flows.rev.start=uniform(0s, 1s)"]


def write(name: str, place: Path, rep: int = 0) -> Path:
    cp.run(examples.path(name), rep=rep, set=SMALL).write(place)
    return place


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Replications 0 to 2 of XCP, and 0 to 3 of SACK."""
    root = tmp_path_factory.mktemp("sides")
    for rep in range(3):
        write("base-case-xcp", root / "a" / str(rep), rep)
    for rep in range(4):
        write("base-case-sack-red", root / "b" / str(rep), rep)
    return root / "a", root / "b"


def test_a_result_equals_itself(sides: tuple[Path, Path]) -> None:
    same = compare.compare(sides[0] / "0", sides[0] / "0")
    assert same.pairs[0]["same_fingerprint"]
    assert {row.difference for row in same.rows if row.difference is not None} == {0.0}
    assert all(row.within is None for row in same.rows)


def test_pairs_by_seed_and_replication(sides: tuple[Path, Path]) -> None:
    both = compare.compare(*sides)
    assert [pair["a"]["rep"] for pair in both.pairs] == [0, 1, 2]
    assert both.only_in_b == ["seed 1 rep 3"]
    row = next(row for row in both.rows if row.column == "utilization_ratio")
    used = [cp.load(sides[0] / str(rep)).summary["links"] for rep in range(3)]
    mean = sum(next(x for x in u if x["name"] == row.item)["utilization_ratio"] for u in used) / 3
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


def numbers(place: Path, column: str, item: str = "fwd") -> list[float]:
    """Each run's number, straight out of the result directories, by replication."""
    found = []
    for rep in sorted(place.iterdir()):
        summary = json.loads((rep / "summary.json").read_text())
        group = next(group for group in summary["groups"] if group["group"] == item)
        found.append(group[column])
    return found


def row_of(comparison: compare.Comparison, item: str, column: str) -> compare.Row:
    return next(r for r in comparison.rows if (r.item, r.column) == (item, column))


def test_the_interval_by_hand() -> None:
    # Differences 1, 2, 3: mean 2, s = 1, and t(2 degrees, 97.5 %) = 4.302653 (any t table).
    span = statistics.paired([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    assert span == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), rel=1e-6)
    # Means 2 and 6, variances 1 and 4 of 3 values: freedom (5/3)^2 / (1/18 + 16/18) = 50/17.
    span = statistics.welch([1.0, 2.0, 3.0], [4.0, 6.0, 8.0])
    assert span is not None
    assert (span.low + span.high) / 2 == pytest.approx(4)
    # Between t(2) = 4.3027 and t(3) = 3.1824, near the latter, times the root of 5/3.
    assert 3.1824 < (span.high - span.low) / 2 / (5 / 3) ** 0.5 < 3.3
    assert statistics.paired([1.0], [2.0]) is None
    assert statistics.welch([1.0], [2.0, 3.0]) is None
    assert statistics.paired([1.0, 2.0], [3.0, 4.0]) == (2, 2)
    assert statistics.welch([1.0, 1.0], [3.0, 3.0]) == (2, 2)


@pytest.mark.filterwarnings("default")
def test_the_interval_is_that_of_scipy() -> None:
    from scipy import stats

    a, b = [3.1, 4.7, 2.2, 9.0, 5.5], [4.0, 4.1, 3.9, 11.0, 7.5]
    there = stats.ttest_rel(b, a).confidence_interval(0.95)
    assert statistics.paired(a, b) == pytest.approx((there.low, there.high))
    there = stats.ttest_ind(b[:3], a, equal_var=False).confidence_interval(0.95)
    assert statistics.welch(a, b[:3]) == pytest.approx((there.low, there.high))


def test_pairs_have_an_interval(sides: tuple[Path, Path]) -> None:
    both = compare.compare(*sides)
    assert both.method == "paired t"
    row = row_of(both, "fwd", "jain_index_ratio")
    a = numbers(sides[0], "jain_index_ratio")
    b = numbers(sides[1], "jain_index_ratio")[:3]
    off = [y - x for x, y in zip(a, b, strict=True)]
    middle = sum(off) / 3
    # Three differences: t(2, 97.5 %) = 4.302653 (any t table).
    reach = 4.302653 * (sum((x - middle) ** 2 for x in off) / 2 / 3) ** 0.5
    assert reach > 0
    assert (row.n_a, row.n_b) == (3, 3)
    assert row.a == pytest.approx(sum(a) / 3)
    assert (row.low, row.high) == pytest.approx((middle - reach, middle + reach))


@pytest.mark.parametrize("pairs", [1, 2])
def test_few_pairs_have_no_interval_and_say_why(
    sides: tuple[Path, Path], tmp_path: Path, pairs: int
) -> None:
    for side, place in zip("ab", sides, strict=True):
        for rep in map(str, range(pairs)):
            shutil.copytree(place / rep, tmp_path / side / rep)
    few = compare.compare(tmp_path / "a", tmp_path / "b")
    assert len(few.pairs) == pairs
    assert few.method is None
    assert few.note == "no interval: it takes 3 pairs or more (clearpipe run --reps 3)"
    assert {row.low for row in few.rows} == {None}
    assert row_of(few, "fwd", "jain_index_ratio").difference is not None
    assert compare.sentences(few) == []


def test_scenarios_of_one_name_are_no_replications(small: str, tmp_path: Path) -> None:
    for side, sets in (("a", []), ("b", ["flows.long.protocol=cubic"])):
        for seed, rtt in ((1, "20ms"), (2, "80ms"), (3, "20ms")):
            sets_ = [*sets, f"topology.rtt={rtt}"]
            cp.run(small, seed=seed, set=sets_).write(tmp_path / side / str(seed))
    mixed = compare.compare(tmp_path / "a", tmp_path / "b")
    assert mixed.names == {"a": ["small"], "b": ["small"]}
    assert len(mixed.pairs) == 3
    assert mixed.method is None
    assert "a side holds several scenarios" in mixed.note
    page = compare.report(mixed, tmp_path / "a", tmp_path / "b", tmp_path / "page.html")
    shown = re.findall(r"<b>(.*?)</b>, (\d) run", page.read_text(encoding="utf-8"))
    assert [number for _, number in shown] == ["2", "1", "2", "1"]
    other = tmp_path / "other"
    for rep in (5, 6):
        cp.run(small, rep=rep).write(other / str(rep))
    with pytest.raises(RunError, match="each side must be one scenario"):
        compare.compare(tmp_path / "a", other)


def test_without_pairs_two_samples(sides: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    for rep in (5, 6, 7):
        write("base-case-sack-red", other / str(rep), rep)
    apart = compare.compare(sides[0], other)
    assert apart.method == "Welch t"
    assert apart.pairs == []
    assert apart.only_in_a == [f"seed 1 rep {rep}" for rep in (0, 1, 2)]
    assert apart.only_in_b == ["seed 1 rep 5", "seed 1 rep 6", "seed 1 rep 7"]
    row = row_of(apart, "fwd", "jain_index_ratio")
    assert (row.n_a, row.n_b) == (3, 3)
    a, b = (numbers(place, "jain_index_ratio") for place in (sides[0], other))
    assert (row.low, row.high) == pytest.approx(statistics.welch(a, b))
    runner = CliRunner()
    out = runner.invoke(app, ["compare", str(sides[0]), str(other)])
    assert out.exit_code == 0
    assert "Welch's t, unpaired, 3 runs of A and 3 of B" in out.stdout
    assert "only in B: seed 1 rep 5" in out.stderr
    shutil.rmtree(other / "7")
    two = compare.compare(sides[0], other)
    assert (two.method, two.pairs) == (None, [])
    assert "it takes 3 runs or more on each side" in two.note
    file = tmp_path / "tolerance.toml"
    file.write_text("[links]\nutilization_ratio = { abs = 1.0 }")
    refused = runner.invoke(app, ["compare", str(sides[0]), str(other), "--tol", str(file)])
    assert refused.exit_code == 1
    assert "pair by pair" in refused.stderr
    assert refused.stdout == ""


def test_replications_that_are_all_the_same_are_no_sample(small: str, tmp_path: Path) -> None:
    fixed = small.replace('start = "uniform(0s, 1s)"\n', "")
    for rep in range(3):
        cp.run(fixed, rep=rep).write(tmp_path / "a" / str(rep))
        cp.run(fixed, rep=rep, set=["topology.rate=9Mbps"]).write(tmp_path / "b" / str(rep))
    same = compare.compare(tmp_path / "a", tmp_path / "b")
    assert same.method is None
    assert "nothing in it is random" in same.note
    assert {row.low for row in same.rows} == {None}


def test_the_table_and_the_json_tell_the_interval(sides: tuple[Path, Path]) -> None:
    arguments = ["compare", *map(str, sides)]
    text = CliRunner().invoke(app, arguments).stdout
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert "95 % interval" in text
    assert "95 % interval: paired t over 3 pairs." in text
    assert (told["method"], told["level_ratio"]) == ("paired t", 0.95)
    assert told["names"] == {"a": ["base-case-xcp"], "b": ["base-case-sack-red"]}
    row = next(row for row in told["rows"] if row["column"] == "jain_index_ratio")
    assert f"{row['low']:+.4g} to {row['high']:+.4g}" in text
    assert told["labels"] == {"a": "xcp", "b": "sack-red"}
    assert row["low"] < row["difference"] < row["high"]


def test_the_report_tells_the_interval(sides: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "new" / "both.html"
    arguments = ["compare", *map(str, sides), "--json", "--report", str(file)]
    out = CliRunner().invoke(app, arguments)
    assert out.exit_code == 0, out.output
    assert str(file) in out.stderr
    page = file.read_text(encoding="utf-8")
    section = re.search(r"<section>\s*<h2>Differences</h2>.*?</section>", page, re.DOTALL)
    assert section is not None
    tree = ET.fromstring(section[0])
    cells = [[cell.text for cell in row] for row in tree.iter("tr")][1:]
    rows = json.loads(out.stdout)["rows"]
    assert [row[:2] for row in cells] == [
        [metric_titles.of(row["column"]).title, f"{row['table'][:-1]} {row['item']}"]
        for row in rows
    ]
    jain = next(row for row in rows if row["column"] == "jain_index_ratio")
    assert f"{jain['low']:+.4g} to {jain['high']:+.4g}" in cells[rows.index(jain)]
    assert "95 % interval: paired t over 3 pairs. Bottleneck: link bottleneck. Only in" in page
    assert "n = 3, 4." in page
    plot = next(p for p in page.split('<figure class="dotplot">') if "Mean queue" in p)
    drawn = [part.count('class="interval"') for part in plot.split('class="tip"')[1:]]
    assert drawn == [3, 3]
    assert [part.count('class="small"') for part in plot.split('class="tip"')[1:]] == [3, 4]
    for place in (*sides[0].iterdir(), *sides[1].iterdir()):
        assert cp.load(place).fingerprint in page


def row(
    column: str, low: float, high: float, item: str = "core", table: str = "links"
) -> compare.Row:
    return compare.Row(table, item, column, 1.0, 2.0, 1.0, 1.0, None, low, high, 5, 5)


def test_differences_in_plain_words(sides: tuple[Path, Path]) -> None:
    rows = [
        row("utilization_ratio", 0.021, 0.0345),
        row("queue_mean_pkts", -18.2, -12.04),
        row("drops_pkts", 10, 1234567),
        row("goodput_mean_bps", -2e3, 1e6, "fwd", "groups"),
        row("timeouts", 0, 0, "fwd", "groups"),
    ]
    made = replace(compare.compare(*sides), rows=rows, bottlenecks={"a": ["core"], "b": ["core"]})
    made = replace(made, labels=("CUBIC", "XCP"))
    thin, s = "\N{NARROW NO-BREAK SPACE}", "\N{RIGHT SINGLE QUOTATION MARK}s"
    assert compare.sentences(made) == [
        f"XCP{s} utilization is 2.1 to 3.45 percentage points higher than CUBIC{s}.",
        f"XCP{s} mean queue is 12 to 18.2 packets smaller than CUBIC{s}.",
        f"XCP{s} drops are 10 to 1{thin}234{thin}567 packets more than CUBIC{s}.",
        "No difference is sure in goodput per flow.",
    ]
    assert compare.sentences(replace(made, method=None)) == []


def test_sides_are_called_what_differs(small: str, tmp_path: Path) -> None:
    def side(name: str, *sets: str) -> Path:
        cp.run(small, set=list(sets)).write(tmp_path / name / "run")
        return tmp_path / name

    plain = side("plain")
    other = side("other", "flows.long.protocol=cubic")
    protocol = tomllib.loads(cp.resolve(small).toml)["flows"]["long"]["protocol"]
    assert compare.compare(plain, other).labels == (protocol, "cubic")
    # Nothing differs: the directories' names, and where those are one, letters.
    assert compare.compare(plain, side("again")).labels == ("plain", "again")
    assert compare.compare(plain, plain).labels == ("A", "B")


def test_sides_are_not_called_by_what_their_own_runs_differ_in(small: str, tmp_path: Path) -> None:
    for side, seeds in (("first", (1, 2, 3)), ("second", (4,))):
        for seed in seeds:
            cp.run(small, seed=seed).write(tmp_path / side / str(seed))
    first, second = tmp_path / "first", tmp_path / "second"
    assert [side.name for side in siding.of(list(compare.load_side(first).values()))] == ["small"]
    groups = [list(compare.load_side(place).values()) for place in (first, second)]
    assert siding.names(groups, ["first", "second"]) == ["first", "second"]
    # Of one run each the seed is what differs.
    assert siding.names([[groups[0][0]], groups[1]], ["a", "b"]) == ["seed 1", "seed 4"]


def test_scenarios_of_one_side_are_not_drawn_as_replications(tmp_path: Path) -> None:
    for side in "ab":
        for name in ("base-case-xcp", "base-case-vcp"):
            write(name, tmp_path / side / name)
    both = compare.compare(tmp_path / "a", tmp_path / "b")
    page = compare.report(both, tmp_path / "a", tmp_path / "b", tmp_path / "page.html")
    shown = re.findall(r"<b>(.*?)</b>, 1 run\.", page.read_text(encoding="utf-8"))
    assert shown == [f"{side} {name}" for side in "ab" for name in ("vcp", "xcp")]


def test_nothing_in_common_and_nothing_there(sides: tuple[Path, Path], tmp_path: Path) -> None:
    runner = CliRunner()
    apart = ["compare", str(sides[0] / "0"), str(sides[1] / "2")]
    assert runner.invoke(app, apart).exit_code == 1
    assert runner.invoke(app, ["compare", str(tmp_path), str(sides[0])]).exit_code == 3


def test_runs_that_were_stopped_are_no_replications(tmp_path: Path) -> None:
    """Their numbers are of as much time as they had, each of another."""
    text = (
        'schema = 1\nname = "long"\nduration = "100000s"\n[topology]\nkind = "dumbbell"\n'
        'rate = "10Mbps"\nrtt = "20ms"\n[flows.f]\nprotocol = "reno"\nstart = "uniform(0s, 1s)"\n'
    )
    for side, seed in (("a", 1), ("b", 2)):
        for rep in range(3):
            result = cp.run(text, seed=seed, rep=rep, progress=lambda now: now.simulated_s < 1)
            assert not result.complete
            result.write(tmp_path / side / str(rep))
    found = compare.compare(tmp_path / "a", tmp_path / "b")
    assert found.method is None
    assert found.note.startswith("no interval: 6 runs were stopped before the end")
    assert all(row.low is None for row in found.rows)
