"""Verdicts on papers' claims, as the published reproduction has them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from docsite.sources import ROOT

FOLDER = ROOT / "docs/evidence/reproduction"
TITLES = {"xcp": "XCP", "ixcp": "iXCP", "vcp": "VCP", "mlcp": "MLCP", "dpcp": "DPCP", "abc": "ABC"}
"""The papers, by the names of their pages."""

ORDER = (
    "holds as printed",
    "holds within the stated tolerance or range",
    "deviates",
    "contradicted by the paper itself",
    "not run",
)


@dataclass(frozen=True)
class Figure:
    """One published figure, table or section."""

    id: str
    title: str
    parts: frozenset[str]
    """What its runs used: `vcp`, `queue vcp`, ..."""
    claims: tuple[dict[str, Any], ...]

    @property
    def paper(self) -> str:
        """The paper's name."""
        return self.id.partition("-")[0]

    @property
    def verdicts(self) -> Counter[str]:
        """How many claims have each verdict."""
        return Counter(str(claim["verdict"]) for claim in self.claims)


@cache
def figures() -> tuple[Figure, ...]:
    """All of them, by paper and name."""
    found = []
    for path in sorted(FOLDER.glob("*-*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        parts = frozenset(data.get("parts") or ())
        found.append(Figure(data["figure"], data["title"], parts, tuple(data["claims"])))
    return tuple(found)


def using(part: str) -> list[Figure]:
    """The figures whose runs used it."""
    return [figure for figure in figures() if part in figure.parts]


def of(paper: str) -> list[Figure]:
    """The figures of a paper, those too that are computed or that show other protocols alone."""
    return [figure for figure in figures() if figure.paper == paper]


def counted(chosen: list[Figure]) -> Counter[str]:
    """Verdicts of all of them together."""
    return sum((figure.verdicts for figure in chosen), Counter[str]())
