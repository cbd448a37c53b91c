"""What the documentation site is made of: formulas, files' heads, tables' columns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import clearpipe as cp
from clearpipe.reproduce import data as reproduced

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "python/tools"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The generator, without the parts that only Sphinx needs."""
    monkeypatch.syspath_prepend(str(TOOLS))
    import docsite.laws
    import docsite.metrics
    import docsite.pictures
    import docsite.published
    import docsite.sources
    import docsite.write  # noqa: F401 - all of them by the package's name

    yield sys.modules["docsite"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "docsite"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x <- x + 1/w", r"x \leftarrow x + \frac{1}{w}"),
        ("y = a*(b - c)^2", r"y = a \, \left(b - c\right)^{2}"),
        ("t_rho < lam", r"t_{\rho} < \lambda"),
        ("max(q, 0)", r"\max\left(q, 0\right)"),
        ("w^(1/3)", r"w^{1/3}"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("cwnd = sqrt(2*p)", r"\mathit{cwnd} = \sqrt{2 \, p}"),
        ("x = a if b else c", r"\begin{cases}"),
        ("p_L = k*p_prime", r"p_{L} = k \, p'"),
    ],
)
def test_formulas_become_latex(site: Any, formula: str, expected: str) -> None:
    assert expected in site.laws.latex(formula)


@pytest.mark.parametrize("formula", ["x <- ", "a[1] = 2", "x = lambda y: y"])
def test_what_is_no_formula_is_refused(site: Any, formula: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        site.laws.latex(formula)


WITHOUT_LAW = {
    "python": "what the reader's own class does",
    "udp": "no control at all",
    "droptail": "first in, first out",
    "dropfront": "first in, first out, and which packet an overflow costs",
    "priority": "an order of classes, and no number",
}
"""Protocols and queues without an equation, and why there is none."""


@pytest.mark.parametrize("kind", ["protocols", "queues"])
def test_every_protocol_and_queue_has_a_page(site: Any, kind: str) -> None:
    """The file is found, its head has a title and text, and its laws are formulas."""
    known = {one["name"] for one in (cp.protocols() if kind == "protocols" else cp.queues())}
    files = site.sources.entries(kind)
    assert set(files) == known
    for name, file in files.items():
        head = site.sources.header(file)
        assert head.title, name
        assert bool(site.laws.rows(head.laws)) != (name in WITHOUT_LAW), name
        scenario = site.pictures.scenario(kind, name)
        assert (scenario is None) == (name in site.pictures.NONE)
        if scenario is not None:
            cp.resolve(scenario)


def test_a_head_is_taken_apart(site: Any) -> None:
    head = site.sources.header(site.sources.entries("protocols")["vcp"])
    assert head.title.startswith("VCP, the variable-structure congestion control protocol.")
    assert head.lists["Deviations"].count("\n- **D") == 4  # D1 and D2 share a line
    assert "```" not in " ".join(head.prose)
    assert len(site.laws.rows(head.laws)) == 5


def test_deviations_that_are_shared_are_in_the_list(site: Any) -> None:
    """`Deviations: F1 to F6 of ..., and` is the list's first entry."""
    files = site.sources.entries("protocols")
    listed = site.sources.header(files["aimd-queue"]).lists["Deviations"].splitlines()
    assert listed[0] == "- F1 to F6 of `crate::tcp::window`."
    assert listed[1].startswith("- **D1**:")
    # A relative goes on behind the numbers of what it varies, so that none is there twice.
    listed = site.sources.header(files["ixcp"]).lists["Deviations"].splitlines()
    assert listed[0] == "- D1 to D6, D8, D9 and R1 of `xcp`, as the rest is XCP's."
    assert listed[1].startswith("- **D10**:")
    for name, file in files.items():
        assert not any("Deviations" in part for part in site.sources.header(file).prose), name


def test_every_metric_has_its_unit_and_its_definition(site: Any) -> None:
    """Of a run's tables no column is missing."""
    page = site.metrics.page()
    result = cp.run("xcp-fig10")
    for table in (result.links, result.groups, result.flows):
        for column in table.column_names:
            row = next(line for line in page.splitlines() if line.startswith(f"| `{column}` |"))
            assert row.rstrip(" |").split("|")[-1].strip(), column
    assert "| `utilization_ratio` | Utilization | 1 | Bits that left" in page
    assert "| `queue_mean_pkts` | Mean queue | packets |" in page


def test_verdicts_are_those_that_are_published(site: Any) -> None:
    """The overview counts the same claims of the five papers, and the others' apart."""
    every = site.published.figures()
    counts = site.published.counted([one for one in every if one.paper in reproduced.FIVE])
    page = (ROOT / "docs/evidence/reproduction/README.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| all claims |"))
    assert [int(cell) for cell in row.split("|")[2:7]] == [
        counts[verdict] for verdict in site.published.ORDER
    ]


@pytest.mark.parametrize("paper", ["xcp", "ixcp", "vcp", "mlcp", "dpcp"])
def test_a_papers_protocol_has_all_of_its_claims(site: Any, paper: str) -> None:
    """Its page counts what the published overview counts: DPCP's paper has figures of VCP alone."""
    overview = (ROOT / "docs/evidence/reproduction/README.md").read_text(encoding="utf-8")
    row = next(line for line in overview.splitlines() if f"({paper}.md) ({paper}) |" in line)
    expected = dict(zip(site.published.ORDER, map(int, row.split("|")[3:8]), strict=True))
    for kind, known in (("protocols", cp.protocols()), ("queues", cp.queues())):
        for one in (one for one in known if one["name"] == paper):
            page = "\n".join(site.write._about(kind, one))
            for verdict, count in expected.items():
                assert (f"\n| {verdict} | {count} |" in page) == (count > 0), (kind, verdict)
            failing = expected["deviates"] + expected["contradicted by the paper itself"]
            assert page.count("\n- <a href=") == failing


def test_generated_pages_are_short(site: Any) -> None:
    """As those that are written: test_docs_snippets.py."""
    import docsite.commands

    texts = {"metrics": site.metrics.page(), **dict(docsite.commands.pages())}
    for kind, known in (("protocols", cp.protocols()), ("queues", cp.queues())):
        for one in known:
            texts[f"{kind}/{one['name']}"] = "\n".join(site.write._about(kind, one))
    assert {name for name, text in texts.items() if len(text.splitlines()) > 250} == set()


def test_exit_codes_are_all_there() -> None:
    page = (ROOT / "docs/reference/exit-codes.md").read_text(encoding="utf-8")
    for error in (cp.RunError, cp.ConfigError, cp.ToleranceError, cp.UnsupportedError):
        assert f"\n| {error.exit_code} | " in page
