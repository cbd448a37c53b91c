"""Checks the built site as a reader meets it.

    check.py FOLDER               every link within it leads somewhere; nothing is fetched
    check.py --external FOLDER    lists the links to other places

A page may link to the web. It may not need it: scripts, styles, fonts and pictures are the
site's own.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LAB = "lab"
"""The folder of the lab, whose script reads the fragment of a link to its page: a scenario's name,
or one of these."""
NAMED = re.compile(r"explore-[\w-]+|v1\.[\w-]+")

NEEDED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
FETCHED = ("stylesheet", "icon", "preload", "preconnect", "shortcut icon")


@dataclass
class Page(HTMLParser):
    """What one page defines and asks for."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    unnamed: int = 0
    """Pictures without an `alt`."""
    is_lab: bool = False

    def has(self, anchor: str) -> bool:
        """Does a link to this place lead somewhere?"""
        named = self.is_lab and NAMED.fullmatch(anchor) is not None
        return named or not self.anchors or anchor in self.anchors

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.anchors.update(found[key] for key in ("id", "name") if found.get(key))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "img" and "alt" not in found:
            self.unnamed += 1
        source = found.get(NEEDED.get(tag, ""), "")
        if source and (tag != "link" or found.get("rel") in FETCHED):
            self.needs.append(source)


def read(folder: Path) -> dict[Path, Page]:
    """Every page but rustdoc's own, which it checks itself."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        page = Page()
        if path.relative_to(folder).parts[0] != "rust":
            page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    if lab := pages.get((folder / LAB / "index.html").resolve()):
        lab.is_lab = True
        script = (folder / LAB / "lab.js").read_text(encoding="utf-8")
        lab.anchors.update(re.findall(r'"([\w-]+)\.toml":', script))
    return pages


def broken(folder: Path) -> list[str]:
    """What is wrong, a line each."""
    pages, found = read(folder), []
    for path, page in pages.items():
        here = path.relative_to(folder.resolve())
        if page.unnamed:
            found.append(f"{here}: {page.unnamed} pictures without alt")
        for needed in page.needs:
            if urlsplit(needed).scheme not in ("", "data") or needed.startswith("//"):
                found.append(f"{here}: needs {needed} from outside")
        for link in (*page.links, *page.needs):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{here}: {link} is not there")
            elif anchor and target in pages and not pages[target].has(anchor):
                found.append(f"{here}: {link} has no such place")
    return found


def main() -> None:
    """The command."""
    folder = Path(sys.argv[-1])
    if "--external" in sys.argv:
        away = {
            link
            for page in read(folder).values()
            for link in page.links
            if urlsplit(link).scheme in ("http", "https")
        }
        print("\n".join(sorted(away)))
        return
    found = broken(folder)
    if not any(folder.rglob("*.html")):
        sys.exit(f"{folder}: no pages; make docs")
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
