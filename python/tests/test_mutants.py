"""What judges the tests: sources with the bodies of many mutants, which tests judge one, shares."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import judge
import mutants

SOURCE = """\
/// Not its { body.
pub fn law<'a>(x: &'a [f64; 2], c: char) -> f64 {
    // Nor is } this, nor "that
    if c == '}' || c == '\\'' { x[0] + r#"}""#.len() as f64 } else { x[1] }
}

const fn fixed() -> u32 { 1 + 1 }
"""


def mutant(line: int, start: int, old: str, new: str, number: int) -> dict[str, Any]:
    """One whose line has `new` for `old`, as cargo-mutants would list it."""
    text = SOURCE.splitlines()[line - 1]
    difference = (
        f"--- law.rs\n+++ {new}\n@@ -{line} +{line} @@\n-{text}\n+{text.replace(old, new)}\n"
    )
    span = {"span": {"start": {"line": start, "column": 1}}}
    return {
        "name": f"m{number}", "file": "law.rs", "package": "p", "function": span, "diff": difference
    }  # fmt: skip


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    (tmp_path / "law.rs").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return [
        mutant(4, 2, "||", "&&", 1), mutant(7, 7, "1 + 1", "1 - 1", 2), mutant(4, 2, "+", "-", 3)
    ]  # fmt: skip


def test_a_body_ends_where_rust_says() -> None:
    start = SOURCE.index("pub fn")
    opened, closed = mutants.body(SOURCE, start)
    assert SOURCE[opened:].startswith("{\n    // Nor")
    assert SOURCE[closed:].startswith("\n\nconst fn")
    with pytest.raises(ValueError, match="without a body"):
        mutants.body("fn of_a_trait(&self);", 0)


def test_functions_are_numbered_and_constants_known(batch: list[dict[str, Any]]) -> None:
    law, fixed = mutants.places(batch)["law.rs"]
    assert (law.number, law.constant, sorted(law.mutants)) == (1, False, [1, 2])
    assert [law.mutants[n]["name"] for n in (1, 2)] == ["m1", "m3"]
    assert (fixed.number, fixed.constant) == (2, True)


def test_a_function_has_its_own_body_and_its_mutants(batch: list[dict[str, Any]]) -> None:
    law, _ = mutants.places(batch)["law.rs"]
    text, lines = mutants.rewritten(SOURCE, [law])
    condition = "    if c == '}' || c == '\\'' { x[0] + "
    assert text.count(condition) == 1
    head, one, two, rest = text.split(condition.split("||", maxsplit=1)[0])
    assert "match ::units::switch::on(1) {\nchange if !(1..=2).contains(&change) => {" in head
    # One change each.
    assert one.startswith("|| c == '\\'' { x[0] +")
    assert two.startswith("&& c == '\\'' { x[0] +")
    assert rest.startswith("|| c == '\\'' { x[0] -")
    assert text.endswith("const fn fixed() -> u32 { 1 + 1 }\n")
    # An error in a body is its mutant's.
    where = {number: text.splitlines().index(line) + 1 for line, number in (
        (next(row for row in text.splitlines() if "&&" in row), 1),
        (next(row for row in text.splitlines() if "x[0] -" in row), 2),
    )}  # fmt: skip
    assert (lines[where[1]], lines[where[2]]) == (1, 2)
    own = next(i for i, row in enumerate(text.splitlines(), 1) if condition in row)
    assert own not in lines


def test_quick_tests_that_come_by_come_first() -> None:
    program = judge.Program("p", "lib", "p", ".")
    slow, quick, other = (
        judge.Test(program, name, seconds, frozenset(places))
        for name, seconds, places in (("slow", 5.0, "12"), ("quick", 0.1, "1"), ("other", 0.1, "2"))
    )
    assert list(judge.waves([slow, quick, other], "1")) == [[quick], [slow]]


def test_shares_have_wilsons_interval() -> None:
    # Brown, Cai and DasGupta's formula for 8 of 10 by hand: 0.4902 to 0.9433.
    assert mutants.interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert mutants.interval(10, 10)[1] == pytest.approx(1.0)


def test_a_program_is_ended_by_its_first_failure(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.write_text(
        "#!/bin/sh\necho 'test a ... ok'\necho 'test b ... FAILED'\nexec sleep 60\n",
        encoding="utf-8",
    )
    tests.chmod(0o755)
    program = judge.Program("p", "lib", str(tests), str(tmp_path))
    failed, seconds, hung = judge.run(program, [], {"PATH": "/usr/bin:/bin"}, 10, stop=True)
    assert (failed, hung) == (["b"], False)
    assert seconds < 10
