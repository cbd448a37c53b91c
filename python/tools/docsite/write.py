"""Writes the generated pages: `write.all_pages()` is called by docs/conf.py.

A page is written only when its text differs, so that Sphinx reads no more than it must.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import clearpipe as cp
from docsite import commands, laws, metrics, pictures, published, sources
from docsite.sources import ROOT

REFERENCE = ROOT / "docs/reference"
FAMILIES = {
    "explicit/xcp": "XCP and its kin: routers compute each flow's change",
    "explicit/load": "Load factor: routers report a level",
    "explicit/neighbours": "Other explicit schemes",
    "explicit/experimental": "Experimental",
    "tcp": "TCP and its kin: losses, delays, models of the path",
    "rate": "Rate-based and without control",
    "aqm": "Queue management and scheduling",
    ".": "Your own",
}
TYPES = {
    "number": "number", "flag": "true or false", "choice": "one of", "span": "time",
    "count": "whole number", "text": "text",
}  # fmt: skip


def page(path: Path, text: str) -> None:
    """Write it if it differs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def all_pages() -> None:
    """Everything that is generated."""
    known: dict[str, list[Any]] = {"protocols": list(cp.protocols()), "queues": list(cp.queues())}
    for kind, entries in known.items():
        for one in entries:
            name = one["name"]
            if pictures.stale(kind, name):
                _draw(kind, name)
            page(REFERENCE / kind / f"{name}.md", "\n".join(_about(kind, one)) + "\n")
        page(REFERENCE / kind / "table.txt", "\n".join(_table(kind, entries)) + "\n")
        names = {one["name"] for one in entries}
        for old in (REFERENCE / kind).glob("*.md"):
            if old.stem not in names:
                old.unlink()
    texts = dict(commands.pages())
    for name, text in texts.items():
        page(REFERENCE / "commands" / f"{name}.md", text)
    for old in (REFERENCE / "commands").glob("*.md"):
        if old.stem not in texts:
            old.unlink()
    page(REFERENCE / "metrics.md", metrics.page())


def _draw(kind: str, name: str) -> None:
    try:
        pictures.draw(kind, name)
    except cp.ConfigError as error:
        message = f"{kind} {name}: {error}; docsite/pictures.py can give it what it needs"
        raise SystemExit(message) from error


def _table(kind: str, entries: Sequence[Any]) -> Iterator[str]:
    files = sources.entries(kind)
    found = {one["name"]: sources.header(files[one["name"]]).family for one in entries}
    others = {family: family for family in sorted({*found.values()} - {*FAMILIES})}
    for family, title in {**FAMILIES, **others}.items():
        chosen = [one for one in entries if found[one["name"]] == family]
        if not chosen:
            continue
        yield f"\n## {title}\n"
        yield "| name | what it is | source |\n|---|---|---|"
        for one in chosen:
            name = one["name"]
            yield f"| [{name}]({kind}/{name}.md) | {cell(one['summary'])} | {cell(one['source'])} |"


def cell(text: object) -> str:
    """A text that fits into a table."""
    return re.sub(r"\s+", " ", str(text)).replace("|", r"\|").replace("<", "&lt;")


def _about(kind: str, one: Any) -> Iterator[str]:
    name, file = one["name"], sources.entries(kind)[one["name"]]
    head = sources.header(file)
    yield f"(ref-{kind[:-1]}-{name})=\n# {name}\n"
    yield f"{md(one['summary'])}.\n"
    yield "\n".join(_facts(kind, one, file)) + "\n"
    yield from _example(kind, name)
    yield "## How it works\n"
    yield f"*{md(head.title)}*\n"
    yield "\n\n".join(md(part) for part in head.prose) + "\n"
    if head.laws:
        yield "## The law\n"
        yield "| law | when it applies, what it means |\n|---|---|"
        for formula, when in laws.rows(head.laws):
            yield f"| $\\displaystyle {formula}$ | {md(when)} |"
        yield ""
    yield from _params(kind, one)
    yield from _lists(head)
    yield from _inside(kind, one)
    yield from _claims(kind, name)


def md(text: str) -> str:
    """Text of a header as Markdown: nothing in it is HTML or an accidental link."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([<>$*_\[\]])", r"\\\1", parts[i])
    return "".join(parts)


def _facts(kind: str, one: Any, file: Path) -> Iterator[str]:
    yield "| property | value |\n|---|---|"
    yield f"| From | {md(cell(one['source']))} |"
    if kind == "protocols":
        router = one["router"]
        needs = f"[{router}](../queues/{router}.md) on the path" if router else "no special queue"
        yield f"| Needs | {needs} |"
        yield f"| Lost packets | recovery `{one['recovery']}` |"
    else:
        role = "a policy: drops, marks or orders packets"
        over = 'a feedback queue: stands over a policy, `over = "droptail"`'
        yield f"| Role | {role if one['role'] == 'policy' else over} |"
        served = [p["name"] for p in cp.protocols() if p["router"] == one["name"]]
        if served:
            links = ", ".join(f"[{s}](../protocols/{s}.md)" for s in served)
            yield f"| Serves | {links} |"
    path = file.as_posix()
    target = f"../../rust/src/clearpipe_cc/{path}.html"
    yield f'| Source | <a href="{target}"><code>crates/cc/src/{path}</code></a> |'


def _example(kind: str, name: str) -> Iterator[str]:
    text = pictures.scenario(kind, name)
    if text is None:
        yield (
            "This is a Python class of your own. [The tutorial](../../tutorials/prototypes.md) has "
            "one; `clearpipe.Sender` and `clearpipe.Router` are the [base classes](../python.md).\n"
        )
        return
    yield "## What it does\n"
    flows = (
        "three flows join ten seconds apart" if kind == "protocols" else "six flows start together"
    )
    alt = f"{name} on a 20 Mb/s link of 60 ms: {flows}"
    yield f"```{{image}} /images/{kind}/{name}.svg\n:alt: {alt}\n:class: figure\n```\n"
    yield f"{alt}. The scenario, `{name}.toml`:\n"
    yield f"```toml\n{text}```\n"
    command = f"clearpipe run {name}.toml --figure {name}.svg"
    yield f"Run it, and draw the picture:\n\n```console\n$ {command}\n```\n"


def _params(kind: str, one: Any) -> Iterator[str]:
    yield "## Parameters\n"
    if not one["params"]:
        yield f"This {kind[:-1]} has no parameters.\n"
        return
    table = f"{kind}.mine"
    first = one["params"][0]
    default = first["default"]
    value = f'"{default}"' if isinstance(default, str) else str(default).lower()
    yield (
        f"Set them in the table where the scenario names it, `{kind[:-1]} = {{ kind = "
        f'"{one["name"]}", {first["name"]} = {value} }}`, or in `[{table}]`.\n'
    )
    yield "| name | value | default | meaning |\n|---|---|---|---|"
    for param in one["params"]:
        about, default = md(cell(param["doc"])), _default(param)
        yield f"| `{param['name']}` | {_value(param)} | `{default}` | {about} |"
    yield ""
    if one["presets"]:
        yield "### Presets\n"
        yield "| preset | what it is | sets |\n|---|---|---|"
        for preset in one["presets"]:
            sets = ", ".join(f"`{key} = {_toml(value)}`" for key, value in preset["values"].items())
            yield f"| `{preset['name']}` | {md(cell(preset['doc']))} | {sets} |"
        yield ""


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _default(param: Any) -> str:
    return _toml(param["default"])


def _value(param: Any) -> str:
    if param["choices"]:
        return " ".join(f"`{choice}`" for choice in param["choices"])
    if param["low"] is None:
        return TYPES[param["type"]]
    unit = " s" if param["type"] == "span" else ""
    return f"{TYPES[param['type']]}, {param['low']:g} to {param['high']:g}{unit}"


def _lists(head: sources.Header) -> Iterator[str]:
    for title, items in head.lists.items():
        if title == "Deviations":
            yield "## Deviations\n\nWhere it deliberately departs from its source:\n"
        else:
            yield f"## {md(title)}\n"
        yield md_list(items) + "\n"


def md_list(items: str) -> str:
    """A header's list, whose labels are bold already."""
    found = []
    for line in items.splitlines():
        label = re.match(r"^(- (?:\*\*[^*]+\*\*:)?)(.*)$", line)
        found.append(label[1] + md(label[2]) if label else md(line))
    return "\n".join(found)


def _inside(kind: str, one: Any) -> Iterator[str]:
    variables = one["variables"]
    who, series = ("sender", "sender") if kind == "protocols" else ("router", "router")
    if variables:
        yield "## Inner variables\n"
        yield f'`series = ["{series}"]` records these, with `{who}_` before each name.\n'
        yield "| name | unit | meaning |\n|---|---|---|"
        for var in variables:
            yield f"| `{var['name']}` | {var['unit'] or '1'} | {md(cell(var['doc']))} |"
        yield ""
    if one.get("header"):
        yield "## Header\n\nThe fields that its packets carry.\n"
        yield "| field | unit | meaning |\n|---|---|---|"
        for var in one["header"]:
            yield f"| `{var['name']}` | {var['unit'] or '1'} | {md(cell(var['doc']))} |"
        yield ""


def _claims(kind: str, name: str) -> Iterator[str]:
    part = name if kind == "protocols" else f"queue {name}"
    chosen = published.of(name) if name in published.TITLES else published.using(part)
    if not chosen:
        return
    counts = published.counted(chosen)
    yield "## Published claims\n"
    whose = (
        f"The paper's claims, from {len(chosen)} figures, tables and sections, are"
        if name in published.TITLES
        else f"It is one of the schemes in {len(chosen)} published figures, whose claims are"
    )
    yield f"{whose} [judged by runs](../../evidence/reproduction/README.md):\n"
    yield "| verdict | claims |\n|---|---|"
    for verdict in published.ORDER:
        if counts[verdict]:
            yield f"| {verdict} | {counts[verdict]} |"
    yield ""
    bad = [
        (figure, claim)
        for figure in chosen
        for claim in figure.claims
        if claim["verdict"] in ("deviates", "contradicted by the paper itself")
    ]
    if bad and name in published.TITLES:
        yield "These do not hold. Each link leads to the measurement and the reason:\n"
        for figure, claim in bad:
            target = f"../../evidence/reproduction/{figure.paper}.html#{claim['id']}"
            said = html.escape(claim["statement"])
            yield f'- <a href="{target}">{claim["id"]}</a>: {md_html(said)}'
        yield ""
    elif len(chosen) <= 40:
        links = (
            f'<a href="../../evidence/reproduction/{f.paper}.html#{f.id}">{f.id}</a>'
            for f in chosen
        )
        yield ", ".join(links) + "\n"


def md_html(text: str) -> str:
    """Escaped HTML text that Markdown leaves alone."""
    return re.sub(r"([*_`$\[\]])", r"\\\1", text)
