"""What the heads of `crates/cc/src` say: which file a protocol or a queue is in, and its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SRC = ROOT / "crates/cc/src"

ENTRY = re.compile(
    r"^    \w+ \{ name: \"(?P<name>[\w-]+)\".*?"
    r"(?:sender|router|scheduler):\s*(?:\w+<)?(?P<path>[a-z]\w*(?:::\w+)+)",
    re.M | re.S,
)


@dataclass(frozen=True)
class Header:
    """The head of a protocol's file."""

    file: Path
    """From the sources' root."""
    title: str
    """Its first paragraph: what it is, and from where."""
    prose: list[str]
    """The paragraphs behind."""
    laws: str
    lists: dict[str, str]
    """Deviations and the like: a heading and a list in Markdown."""

    @property
    def family(self) -> str:
        """The folder: `tcp`, `explicit/xcp`, ..."""
        parent = self.file.parent
        if self.file.name == "mod.rs":
            parent = parent.parent
        return parent.as_posix()


@cache
def entries(table: str) -> dict[str, Path]:
    """Each name of the registry's `table` ("protocols" or "queues") and its file."""
    text = (SRC / "registry.rs").read_text(encoding="utf-8")
    start = text.index(f"\n{table}! {{\n")
    body = text[start : text.index("\n}\n", start)]
    return {found["name"]: _file(found["path"]) for found in ENTRY.finditer(body)}


def _file(path: str) -> Path:
    """Where `load::vcp::VcpSender` is."""
    parts = path.split("::")[:-1]
    for tail in (Path(*parts).with_suffix(".rs"), Path(*parts) / "mod.rs"):
        found = [one for one in (SRC / tail, *SRC.glob(f"*/{tail}")) if one.exists()]
        if len(found) == 1:
            return found[0].relative_to(SRC)
    raise ValueError(f"no file of crates/cc/src is {path}")


@cache
def header(file: Path) -> Header:
    """The `//!` lines of a file, taken apart."""
    lines = (SRC / file).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!"))
    laws = "\n".join(re.findall(r"^```math\n(.*?)^```$", text, re.M | re.S))
    text = re.sub(r"^```math\n.*?^```$", "", text, flags=re.M | re.S)
    text = plain(text)
    # What is shared with others stands behind the heading; it is the list's first entry.
    text = re.sub(
        r"^Deviations: ((?:.+\n?)(?:(?!- ).+\n?)*)",
        lambda found: f"Deviations:\n- {_entry(found[1])}\n",
        text,
        flags=re.M,
    )
    lists: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        items = re.sub(r"^- ([A-Z]\d+(?:, [A-Z]\d+)*):", r"- **\1**:", found[2], flags=re.M)
        lists[found[1]] = items
        return ""

    text = re.sub(
        r"^([A-Z][^\n]*):\n+((?:- .*\n?(?:  .*\n?|\n(?=- |  ))*)+)", take, text, flags=re.M
    )
    title, *prose = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    return Header(file, title, prose, laws, lists)


def _entry(text: str) -> str:
    """`F1 to F6 of that, and` as an entry of a list."""
    whole = " ".join(text.split())
    whole = re.sub(r"(,| and|, and)$", "", whole).rstrip(".")
    return f"{whole[0].upper()}{whole[1:]}."


def plain(text: str) -> str:
    """Rustdoc's links to items as plain code, without the way up from the file."""
    text = re.sub(r"\[(`[^`\]]+`)\](?:\((?!https?:)[^)]*\))?", r"\1", text)
    text = re.sub(r"`(?:super::)+", "`", text)
    return re.sub(r"\[([^\]]+)\]\((?:super|crate|self)::[^)]*\)", r"\1", text)
