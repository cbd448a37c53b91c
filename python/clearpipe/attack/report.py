"""What is written of an attack: the scenario, its figure, its numbers, and a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clearpipe as cp
from clearpipe import style, units
from clearpipe.atomic_files import clean, write_text
from clearpipe.attack import search, space
from clearpipe.attack.search import Found
from clearpipe.terminal import note

DPI = 80
CAUSES = "causes.json"
"""In the folder of a publication: what the authors say of the causes, by page and goal."""


def write(found: Found, folder: Path, name: str) -> Path:
    """`worst.toml`, `attack.json` and, with matplotlib, `worst.png`; gives the scenario's path."""
    folder.mkdir(parents=True, exist_ok=True)
    clean(folder)
    path = folder / "worst.toml"
    write_text(path, _scenario(found, folder, f"{name}-{found.goal}"))
    write_text(folder / "attack.json", json.dumps(as_json(found), indent=1) + "\n")
    if lack := style.lacking():
        note(f"note: no figure: {lack}")
    else:
        _draw(found, path, folder / "worst.png")
    return path


def _scenario(found: Found, folder: Path, name: str) -> str:
    return found.who.moved(search.document(found, name), folder)


def _draw(found: Found, scenario: Path, path: Path, dpi: int = 200) -> None:
    from clearpipe.report import static

    static.draw([cp.run(scenario, seed=found.seed)], path, ["goodput", "queue"], dpi)


def as_json(found: Found) -> dict[str, Any]:
    """All that was found."""
    return {
        "protocol": dict(found.who.subject.host),
        "queue": dict(found.who.router),
        "goal": found.goal,
        "value_is": space.says(found.goal),
        "seed": found.seed,
        "scenarios": found.evaluations,
        "bounds": {
            one.name: [one.lo, one.hi] if one in found.space.free else "fixed"
            for one in found.space.dimensions
        },
        "value": _short(found.value),
        "half_95": _short(found.interval.half),
        "replications": found.interval.n,
        "harmless": _short(found.harmless),
        "first": {"value": _short(found.first_value), "values": dict(found.first)},
        "values": dict(found.values),
        "left": [one.name for one in found.harm],
        "without": {key: _short(value) for key, value in found.without.items()},
        "model_version": cp.model_version(),
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def number(value: float) -> str:
    """A value as the house writes numbers."""
    return units.number(value, 3)


def harm(found: Found) -> str:
    """What is not harmless in it, in a line."""
    return ", ".join(f"{one.name} {told(one, found.values[one.name])}" for one in found.harm)


def told(one: space.Dimension, value: float) -> str:
    """A dimension's value with its unit."""
    if one.unit in ("bdp", "x"):
        return f"{units.number(value, 3)} {'BDP' if one.unit == 'bdp' else 'times'}"
    return units.tell(value, one.unit, digits=3)


def publish(found: Found, folder: Path, name: str) -> Path:
    """`NAME-GOAL.toml`, `.png` and `.json`, and the pages `NAME.md` and README.md anew."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-{found.goal}"
    scenario = folder / f"{stem}.toml"
    write_text(scenario, _scenario(found, folder, stem))
    write_text(folder / f"{stem}.json", json.dumps(as_json(found), indent=1) + "\n")
    if not style.lacking():
        _draw(found, scenario, folder / f"{stem}.png", DPI)
    page = folder / f"{name}.md"
    write_text(page, "\n".join(_page(folder, name, found.space)).rstrip() + "\n")
    write_text(folder / "README.md", "\n".join(_overview(folder)).rstrip() + "\n")
    return page


def _found_in(folder: Path) -> dict[str, dict[str, Any]]:
    """What is published, by name and goal."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
        if path.name != CAUSES
    }


def _cause(folder: Path, stem: str) -> str:
    path = folder / CAUSES
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return str(known.get(stem, ""))


def _page(folder: Path, name: str, of: space.Space) -> Iterator[str]:
    yield f"# {name}, attacked"
    yield ""
    yield "The worst scenarios that a search found within its bounds, shrunk to what matters."
    yield "[All controls](README.md); [how to](../../howto/attack.md)."
    yield ""
    dimensions = {one.name: one for one in of.dimensions}
    for goal in space.GOALS:
        stem = f"{name}-{goal}"
        one = _found_in(folder).get(stem)
        if one is not None:
            yield from _section(folder, stem, one, dimensions)


def _section(
    folder: Path, stem: str, one: dict[str, Any], dimensions: dict[str, space.Dimension]
) -> Iterator[str]:
    yield f"## {one['goal'].capitalize()}"
    yield ""
    half = f" ± {units.number(one['half_95'], 2)}" if one["half_95"] else ""
    yield (
        f"{one['value_is'].capitalize()} is **{number(one['value'])}**{half} (mean of "
        f"{one['replications']} replications, 95 % interval) and {number(one['harmless'])} in the "
        f"harmless scenario. {one['scenarios']} scenarios, seed {one['seed']}; found at "
        f"{number(one['first']['value'])} before it was shrunk. "
        f"[Scenario]({stem}.toml), [numbers and bounds]({stem}.json)."
    )
    yield ""
    if one["left"]:
        yield "| what is left in it | value | harmless | bounds | value without it |"
        yield "|---|---|---|---|---|"
    for name in one["left"]:
        about = dimensions[name]
        bounds = one["bounds"][name]
        ends = " to ".join(told(about, end) for end in bounds) if bounds != "fixed" else "fixed"
        value = told(about, one["values"][name])
        without = number(one["without"][name])
        harmless = told(about, about.harmless)
        yield f"| {name}: {about.says} | {value} | {harmless} | {ends} | {without} |"
    yield ""
    if cause := _cause(folder, stem):
        yield f"Cause: {cause}"
        yield ""
    if (folder / f"{stem}.png").exists():
        yield f"![Goodput of each flow and the queue against time]({stem}.png)"
        yield ""


def _overview(folder: Path) -> Iterator[str]:
    yield "# Congestion controls, attacked"
    yield ""
    yield (
        "For each control the worst scenarios that `clearpipe attack` found within the bounds of "
        "[its space](../../howto/attack.md), shrunk. 1 is best, 0 is worst; "
        f"{'; '.join(f'{goal}: {space.says(goal)}' for goal in space.GOALS)}."
    )
    yield ""
    yield "| control | goal | value | harmless | seed | what is left in the scenario | cause |"
    yield "|---|---|---|---|---|---|---|"
    for stem, one in _found_in(folder).items():
        name = stem.removesuffix(f"-{one['goal']}")
        cells = (
            f"[{name}]({name}.md)",
            one["goal"],
            number(one["value"]),
            number(one["harmless"]),
            str(one["seed"]),
            ", ".join(one["left"]),
            _cause(folder, stem),
        )
        yield f"| {' | '.join(cells)} |"
