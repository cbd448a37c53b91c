"""What the pages in docs say is true: their examples are run."""

from __future__ import annotations

import doctest
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

import clearpipe as cp
from clearpipe.reproduce import data as papers

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in an empty directory."""
    monkeypatch.chdir(tmp_path)


def test_the_python_page_is_true() -> None:
    mpl = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    mpl.use("agg")
    from matplotlib import pyplot

    text = "\n".join(blocks("howto/python.md", "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "python.md", 0)
    assert len(test.examples) > 20
    told: list[str] = []
    try:
        failed, tried = doctest.DocTestRunner().run(test, out=told.append)
    finally:
        pyplot.close("all")
    assert failed == 0, "".join(told)
    assert tried == len(test.examples)


def test_the_tutorials_parts_go_together() -> None:
    """What it shows of RED and of its own links fits into the scenario that it begins with."""
    first, red, own, *_ = blocks("tutorials/own-network.md", "toml")
    scenario, changes = tomllib.loads(first), tomllib.loads(red)
    scenario["flows"]["fwd"] |= changes["flows"]["fwd"]
    scenario["topology"]["queue"] = "my-red"
    assert cp.resolve({**scenario, "queues": changes["queues"]}).warnings == []
    without = re.sub(r"\[topology\].*?(?=\[probe\])", "", first, flags=re.DOTALL)
    assert cp.run(f"{without}\n{own}", set=["duration=4s"]).links["name"][0] == "up"


def test_the_tutorials_python_is_true() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("agg")
    pytest.importorskip("polars", reason="polars is not installed")
    from matplotlib import pyplot

    first = blocks("tutorials/own-network.md", "toml")[0]
    Path("mine.toml").write_text(first.replace('"30s"', '"4s"'))
    names: dict[str, object] = {}
    try:
        for block in blocks("tutorials/own-network.md", "python"):
            exec(compile(textwrap.dedent(block), "tutorials/own-network.md", "exec"), names)
    finally:
        pyplot.close("all")
    assert isinstance(names["result"], cp.Result)


def test_the_readme_points_to_pages_that_are_there() -> None:
    made = (
        "protocols/",
        "queues/",
        "commands/",
        "metrics.md",
    )  # by `make docs`, which checks all links
    for page in (DOCS.parent / "README.md", *DOCS.rglob("*.md")):
        if page.relative_to(DOCS.parent).parts[1:2] == ("_build",):
            continue
        text = page.read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text)
        targets = [one for one in targets if not any(part in one for part in made)]
        missing = [target for target in targets if not (page.parent / target).exists()]
        assert missing == [], page.name


def test_the_labels_are_those_in_use() -> None:
    """The letters at the heads of files are in the table, and its ranges end with the last ones."""
    text = (DOCS / "reference/labels.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Za-z])(?:(\d+)(?: to [A-Z](\d+))?)?,? ", text, re.MULTILINE)
    last = {letter: int(end or 0) for letter, _, end in rows}
    repository = DOCS.parent
    used: dict[str, int] = {}
    for source in repository.glob("crates/**/src/**/*.rs"):
        heads = re.findall(r"^//! - ([A-Z])(\d+):", source.read_text(encoding="utf-8"), re.M)
        for letter, number in heads:
            used[letter] = max(used.get(letter, 0), int(number))
    assert set(used) <= set(last)
    notes = papers.notes()
    for letter, kind in (("A", "ambiguity"), ("I", "inconsistency")):
        numbers = [name[1:] for name in notes[kind] if re.fullmatch(rf"{letter}\d+", name)]
        used[letter] = max(map(int, numbers))
    for letter in "FSAI":
        assert last[letter] == used[letter], letter


def test_every_ambiguity_and_inconsistency_that_is_spoken_of_is_known() -> None:
    notes = papers.notes()
    known = {*notes["ambiguity"], *notes["inconsistency"]}
    repository = DOCS.parent
    sources = repository.glob("crates/**/*.rs")
    pages = (*DOCS.rglob("*.md"), *sources)
    texts = (path.read_text(encoding="utf-8") for path in pages)
    spoken = {label for text in texts for label in re.findall(r"\b[AI]\d{1,2}\b", text)}
    assert len(spoken) > 5
    assert spoken <= known
