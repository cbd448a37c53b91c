"""A scenario or a sweep to begin with, as a file with comments."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import clearpipe as cp
from clearpipe import api, units
from clearpipe.errors import ConfigError

SCHEMA = "scenario.schema.json"
"""What the schema beside a scenario is called."""

COMMENT_AT = 34
"""Where comments begin."""


@dataclass(frozen=True)
class Wanted:
    """What the file is to say."""

    name: str = "mine"
    protocols: tuple[str, ...] = ("cubic",)
    queue: str = ""
    """Empty for what each protocol needs."""
    rate: str = "45Mbps"
    rtt: str = "80ms"
    buffer: str = "1bdp"
    flows: int = 10
    duration: str = "60s"
    era: str = "papers"
    vary: tuple[str, ...] = ()
    """`KEY=VALUE,VALUE` or `KEY=logspace(...)`."""
    reps: int = 5

    @property
    def sweeps(self) -> bool:
        """Does anything vary?"""
        return bool(self.vary) or len(self.protocols) > 1


def text(wanted: Wanted, file: str, schema: bool) -> str:
    """The file's text, which is checked: a run or a sweep takes it as it is.

    Raises ConfigError for what is wrong in it. `schema` says whether a schema lies beside it.
    """
    queues = [wanted.queue or _queue(protocol) for protocol in wanted.protocols]
    lines = [f"#:schema ./{SCHEMA}"] if schema else []
    lines += [*_head(wanted, file), "", *_scenario(wanted, queues[0])]
    if wanted.sweeps:
        lines += ["", *_sweep(wanted, queues)]
    made = "\n".join(lines) + "\n"
    _check(wanted, api.Source(file, made))
    return made


def _check(wanted: Wanted, source: api.Source) -> None:
    if not wanted.sweeps:
        api.resolve(source)
        return
    from clearpipe.sweep import runner, spec

    read = spec.parse(source)
    plans = runner.planned(read, None, ())
    for plan in plans:
        if isinstance(plan, str):
            raise ConfigError(plan, file=source.name)


def _queue(protocol: str) -> str:
    """The queue that the protocol needs, or a plain one."""
    known = {one["name"]: one for one in cp.protocols()}
    return (known[protocol]["router"] if protocol in known else None) or "droptail"


def _head(wanted: Wanted, file: str) -> list[str]:
    told = f"{wanted.flows} flows of {', '.join(wanted.protocols)}"
    if wanted.sweeps:
        return [
            f"# {told} over one link; [sweep] says what varies.",
            f"# What it takes: clearpipe sweep run {file} --dry-run",
            f"# Do it, and again what is missing: clearpipe sweep run {file}",
            f"# Page, tables and figures: clearpipe sweep report {file}",
        ]
    return [
        f"# {told} over {wanted.rate}, {wanted.rtt}.",
        f"# clearpipe run {file} --report runs it; every key that could be here, with its default:",
        f"# clearpipe show {file} --resolved",
    ]


def _scenario(wanted: Wanted, queue: str) -> list[str]:
    duration = units.split(wanted.duration)
    spread = f"{duration[0] / 20:.3g}s" if duration and duration[1] == "s" else "1s"
    lines = [
        _key("schema", 1),
        _key("name", wanted.name),
        _key("duration", wanted.duration, "simulated time"),
        _key("warmup", "20%", "measurements start here"),
        _key("era", wanted.era, "end hosts: papers (2002), rfc, ns2, linux-6.1"),
        "",
        "[topology]",
        _key("kind", "dumbbell", "one link that all share, there and back"),
        _key("rate", wanted.rate),
        _key("rtt", wanted.rtt, "two-way propagation delay, end to end"),
        _key("buffer", wanted.buffer, "a bandwidth-delay product; or 100pkt, 1.5MB"),
        _key("queue", queue, "clearpipe list queues"),
        "",
        "[flows.long]",
        _key("protocol", wanted.protocols[0], "clearpipe list protocols"),
        _key("count", wanted.flows),
        _key("start", f"uniform(0s, {spread})", "by chance: replications differ"),
    ]
    every = f"{duration[0] / 200:.3g}s" if duration and duration[1] == "s" else "100ms"
    return [
        *lines,
        "",
        f"{'[probe]':<{COMMENT_AT - 1}} # what each run keeps over time, to be drawn",
        'series = ["cwnd", "queue", "utilization", "goodput"]',
        _key("every", every),
    ]


def _sweep(wanted: Wanted, queues: Sequence[str]) -> list[str]:
    lines = ["[sweep]", _key("reps", wanted.reps, "of each point; --reps adds more later")]
    axes = []
    for one in wanted.vary:
        key, value = _varied(one)
        lines.append(f"vary.{json.dumps(key)} = {value}")
        axes.append(key)
    if len(wanted.protocols) > 1:
        axes.insert(0 if not axes else 1, "scheme")
        lines += [
            "",
            f"{'[[sweep.zip]]':<{COMMENT_AT - 1}} # keys that vary together",
            'name = "scheme"',
            f"labels = {json.dumps(list(wanted.protocols))}",
            f'"flows.long.protocol" = {json.dumps(list(wanted.protocols))}',
        ]
        if len(set(queues)) > 1:
            lines.append(f'"topology.queue" = {json.dumps(list(queues))}')
    if len(axes) > 3:
        return [*lines, "", "# More than three axes: [plot] draws those that `only` leaves."]
    roles = dict(zip(("x", "lines", "panels"), axes, strict=False))
    where = "docs/reference/scenario/sweep.md"
    lines += ["", f"{'[plot]':<{COMMENT_AT - 1}} # axes, and metrics as in {where}"]
    lines += [_key(role, axis) for role, axis in roles.items()]
    if "logspace(" in "".join(one for one in wanted.vary[:1]):
        lines.append(_key("x_scale", "log"))
    return [*lines, 'y = ["utilization_ratio", "queue_mean_pkts", "jain_index_ratio"]']


def _varied(option: str) -> tuple[str, str]:
    """A key and its values as TOML."""
    key, sign, values = option.partition("=")
    key, values = key.strip(), values.strip()
    if not sign or not key or not values:
        message = f"--vary {option!r}: expected KEY=VALUE,VALUE or KEY=logspace(FIRST, LAST, N)"
        raise ConfigError(message, key="vary")
    if re.fullmatch(r"(linspace|logspace)\(.*\)", values):
        return key, json.dumps(values)
    return key, "[" + ", ".join(_value(one.strip()) for one in values.split(",")) + "]"


def _value(text: str) -> str:
    """Numbers and truth values as they are, all else as a text."""
    if text in ("true", "false") or re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _key(name: str, value: object, about: str = "") -> str:
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    return f"{line:<{COMMENT_AT - 1}} # {about}" if about else line
