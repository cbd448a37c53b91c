"""Input that means harm, made from a seed: files, stores, results and command lines."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from test_bad_input import ARRIVING, GOOD, SWEEP

from clearpipe import examples

SEED = 20_261_122
COUNT = 500


class Hostile(NamedTuple):
    """A command line, and what is in the folder that it is called in."""

    kind: str
    number: int
    arguments: Sequence[str]
    prepare: Callable[[Path], None]


Made = tuple[list[str], Callable[[Path], None]]

# Values, as a TOML file may say them, and as few expect them.
VALUES = [
    "nan", "-nan", "inf", "-inf", "0", "-0.0", "-1", "1e308", "5e-324", "1e-300", "9" * 18,
    "9223372036854775807", "-9223372036854775808", "9" * 400, "0x7fffffffffffffff", "true", "[]",
    "{}", "[[]]", "[{}]", '""', '" "', '"-1ms"', '"nanms"', '"infMbps"', '"1e400s"', '"1e-400s"',
    '"99999999999999999999Tbps"', '"0bps"', '"1.5.5ms"', '"1 ms"', '"1ms "', '"\\u0000"',
    '"\\u001b[2J"', '"\\u202e\\u2066"', '"\\ud7ff\\ue000"', '"\U0001f600"', '"é́"',
    '"$(reboot)"', '"../../../../etc/passwd"', '"/dev/zero"', '"."', '"con:"', '"%s%n"', '"a\\nb"',
    "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "[1, 'a', [2]]", "{ a = { b = { c = 1 } } }",
    '"' + "x" * 100_000 + '"', "[" + "1," * 20_000 + "]", "[" * 60 + "]" * 60,
    "[" * 5000 + "]" * 5000, "{ a = " * 200 + "1" + " }" * 200, '"uniform(1s, 0s)"',
    '"formula(i ** i ** i)"', '"formula(1 / 0)"', '"logspace(0, 0, 0)"', '"poisson(1e30/s)"',
    '"linspace(1ms, 2ms)"', "'''\n'''", '"1bdp"', '"1e9bdp"', '"-1bdp"', '"1000000000x"',
]  # fmt: skip

WORDS = [
    "", " ", "-", "--", "=", "a=", "=a", "topology", "topology.", ".topology", "a.b.c.d=1",
    "nan", "inf", "-1", "1e999", "9" * 5000, "\x1b[31m", "\u202e", "\udcff\udcfe", "é" * 3000,
    "../..", "/", "/dev/null", "/dev/full", "/proc/self/mem", "~", "*", "a\nb", "a\tb", "%00", "'",
    '"', "`id`", "$HOME", "\\", "\U0001f600", "0", "1/0", "0/0", "3/2", "-1/4", "1e3ms", "5",
    "[]", "{}", "{", "]", "x" * 100_000, "s.toml", "r", "store", "true", "\u2028", "\x7f",
]  # fmt: skip

OPTIONS = {
    "run": ("--engine", "--set", "--seed", "--rep", "--reps", "--out", "--figure", "--capture",
            "--capture-from", "--capture-to", "--trace-limit", "--qlog", "--max-wall",
            "--branch-at", "--variant"),
    "show": ("--set",),
    "compare": ("--tol", "--report"),
    "explain": ("--flow", "--at", "--set", "--seed", "--rep"),
    "sweep run": ("--set", "--seed", "--reps", "--until", "--engine", "--store", "--jobs",
                  "--shard", "--max-time", "--executor", "--scheduler"),
    "sweep status": ("--set", "--seed", "--reps", "--until", "--engine", "--store"),
    "sweep report": ("--set", "--reps", "--until", "--engine", "--store", "--out"),
    "reproduce": ("--scale", "--only", "--store", "--out", "--jobs", "--shard", "--max-time",
                  "--publish"),
    "list": (), "theory": (), "linux": (), "doctor": (), "demo": ("--out",),
}  # fmt: skip

TARGETS = {"compare": ["r", "r"], "explain": ["r"], "list": ["queues"], "reproduce": ["vcp:fig13"],
           "theory": ["xcp"], "linux": ["status"], "doctor": [], "demo": []}  # fmt: skip

EXAMPLES = ("abilene", "two-paths", "parking-lot", "lossy-satellite", "web-traffic", "vcp-island",
            "sweep-rtt", "cellular-trace", "xcp-fig10", "mlcp-fig05", "dpcp-fig06")  # fmt: skip

# Whatever comes, no run of it lasts.
SHORT = ["--max-wall", "1s", "--json"]

MAP = '[topology]\nkind = "graphml"\nfile = "m.graphml"\nrate = "10Mbps"\nqueue = "droptail"\n'
MAPPED = (
    'schema = 1\nname = "m"\nduration = "1s"\n'
    + MAP
    + '[flows.a]\nprotocol = "reno"\nfrom = "n0"\nto = "n1"\n'
)
TRACED = GOOD.replace('rate = "10Mbps"', 'trace = "t.trace"')
DRAWN = ARRIVING.replace('"10kB"', '{ cdf = "c.cdf" }')
SWEPT = GOOD.replace('"2s"', '"100ms"') + SWEEP


def inputs(folder: Path, seed: int = SEED, count: int = COUNT) -> Iterator[Hostile]:
    """Hostile inputs, each of its own random stream. `folder` has `r`, a result, and `store`."""
    makers = [_text, _text, _value, _value, _swept, _data, _data, _store, _result, _line, _line,
              _place]  # fmt: skip
    for number in range(count):
        maker = makers[number % len(makers)]
        arguments, prepare = maker(random.Random(f"{seed} {number}"), folder)
        yield Hostile(maker.__name__.strip("_"), number, arguments, prepare)


def _file(name: str, content: str | bytes) -> Callable[[Path], None]:
    content = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return lambda place: _write(place / name, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _scenario(rng: random.Random) -> str:
    return rng.choice([GOOD, SWEPT, ARRIVING, *map(_text_of, EXAMPLES)])


def _text_of(example: str) -> str:
    return examples.path(example).read_text(encoding="utf-8")


def _command(rng: random.Random, file: str) -> list[str]:
    return rng.choice([["run", file, *SHORT], ["show", file], ["show", file, "--resolved"]])


def _spoilt(rng: random.Random, content: bytes) -> bytes:
    """Bytes that were cut, turned, doubled, moved or exchanged."""
    spoilt = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        at = rng.randrange(len(spoilt) + 1)
        to = min(len(spoilt), at + rng.choice([1, 2, 8, 100, 5000]))
        match rng.randrange(7):
            case 0:
                del spoilt[at:to]
            case 1:
                spoilt[at:to] = rng.randbytes(to - at)
            case 2:
                spoilt[at:at] = spoilt[at:to] * rng.choice([1, 3, 500])
            case 3:
                spoilt[at:at] = rng.choice([b"\0", b"\xff", b"\r", b"\xef\xbb\xbf", b"\x1b[2J"])
            case 4:
                spoilt[at:at] = rng.choice(b'[]{}"=#.,\n\\').to_bytes() * rng.choice([1, 2, 3000])
            case 5:
                spoilt[at:at] = rng.choice(VALUES).encode()
            case _:
                del spoilt[at:]
    return bytes(spoilt)


def _text(rng: random.Random, _: Path) -> Made:
    """A scenario whose bytes were spoilt."""
    return _command(rng, "s.toml"), _file("s.toml", _spoilt(rng, _scenario(rng).encode()))


def _value(rng: random.Random, _: Path) -> Made:
    """A scenario with another value, key or table."""
    lines = _scenario(rng).splitlines()
    for _again in range(rng.choice([1, 1, 1, 3])):
        at = rng.randrange(len(lines))
        key = lines[at].partition("=")[0].strip() or "name"
        value = rng.choice(VALUES)
        lines[at] = rng.choice(
            [f"{key} = {value}", f'{json.dumps(rng.choice(WORDS))} = {value}',
             f"[{json.dumps(rng.choice(WORDS))}]", f"{lines[at]}\n{key} = {value}",
             f"{key}.{key} = {value}"]
        )  # fmt: skip
    return _command(rng, "s.toml"), _file("s.toml", "\n".join(lines))


def _swept(rng: random.Random, _: Path) -> Made:
    """A sweep that varies what it should not, or too much of it."""
    value, other = rng.choice(VALUES), rng.choice(VALUES)
    key = rng.choice(["topology.rtt", "flows.a.count", "name", "sweep.reps", "x", "topology", ""])
    table = rng.choice([
        f'[sweep]\nvary."{key}" = [{value}, {other}]',
        f'[sweep]\nreps = {value}\nvary."{key}" = ["1ms"]',
        f'[sweep]\nvary."{key}" = {value}',
        f"[sweep]\nuntil = {{ ci = {value}, metric = {other} }}",
        f'[sweep]\nonly = {value}\nskip = {other}\nvary."{key}" = ["1ms"]',
        "[sweep]\n" + "".join(f'vary."a{i}" = [{"1," * 50}]\n' for i in range(30)),
        f'[[sweep.zip]]\nname = {value}\nlabels = {other}\n"{key}" = {value}',
        f'[sweep]\nvary."{key}" = ["1ms"]\n[plot.p]\nx = {value}\ny = {other}',
        f'[sweep]\nreps = 100000000\nvary."{key}" = ["1ms", "2ms"]',
    ])  # fmt: skip
    what = rng.choice([["run", "s.toml", "--max-time", "1s", "-q"], ["status", "s.toml"],
                       ["report", "s.toml", "--out", "o"]])  # fmt: skip
    return ["sweep", *what], _file("s.toml", GOOD.replace('"2s"', '"100ms"') + table + "\n")


def _data(rng: random.Random, _: Path) -> Made:
    """A map, a trace or sizes that are none."""
    words = ["0", "-1", "nan", "inf", "1e309", "9" * 400, "", "\t", "1 2 3", "a", "\0", "\x1b[0m"]
    lines = "\n".join(rng.choice(["1", "2", "1500", "0.5", *words]) for _ in range(50))
    numbers = "\n".join(str(i) for i in range(rng.choice([0, 1, 400_000])))
    node = rng.choice(["<node id='n0'/>" * 3, "<node/>", "<node id='\u202e'/>", "<!--" * 1000])
    deep = "<graph>" * rng.choice([1, 3000])
    bomb = '<!DOCTYPE a [<!ENTITY b "' + "c" * 1000 + '"><!ENTITY d "' + "&b;" * 1000 + '">]>'
    graph = f"<graphml>{deep}{node}<edge source='n0' target='n{rng.randrange(3)}'/></graph>"
    texts = {
        "m.graphml": [graph, f"{graph}</graphml>", f"{bomb}<graphml>&d;</graphml>", lines,
                      f"<graphml>{'<node id=' * 10_000}", "<graphml/>"],
        "t.trace": [lines, numbers, "1\n" * 300_000, "5\n3\n", "9" * 30, "0\n0\n", "0\n"],
        "c.cdf": [lines, numbers, "0 0\n1 1\n", "1 1\n1 1\n", "1 2\n", "nan 1\n", "1 0 1\n2 1\n",
                  "1e300 0\n1e308 1\n", "10 -1\n20 1\n"],
    }  # fmt: skip
    name = rng.choice(list(texts))
    content = rng.choice(texts[name]).encode()
    if rng.random() < 0.3:
        content = _spoilt(rng, content)
    scenario = {"m.graphml": MAPPED, "t.trace": TRACED, "c.cdf": DRAWN}[name]

    def prepare(place: Path) -> None:
        _write(place / "s.toml", scenario.encode())
        _write(place / name, content)

    return ["run", "s.toml", *SHORT], prepare


def _broken(rng: random.Random, folder: Path) -> None:
    """Changes something in a directory."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for _ in range(rng.choice([1, 1, 2, 6])):
        path = rng.choice(files)
        if not path.is_file():
            continue
        match rng.randrange(8):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(b"")
            case 2:
                path.unlink()
                path.mkdir()
            case 3:
                path.unlink()
                path.symlink_to(rng.choice([path.name, "/dev/null", "/nowhere", "..", "/dev/full"]))
            case 4:
                path.write_bytes(rng.choice([b"{}", b"[]", b"null", b"5", b'{"format": 99}']))
            case 5:
                path.write_bytes(rng.choice(VALUES).encode())
            case 6:
                shutil.copy(path, folder / rng.choice(["x", "meta.json.bak", ".partial-x"]))
            case _:
                path.write_bytes(_spoilt(rng, path.read_bytes()))


def _store(rng: random.Random, folder: Path) -> Made:
    """A store that is no longer one."""

    def prepare(place: Path) -> None:
        _write(place / "s.toml", SWEPT.encode())
        shutil.copytree(folder / "store", place / "store")
        _broken(rng, place / "store")

    what = rng.choice([["run", "s.toml", "--max-time", "2s"], ["status", "s.toml"],
                       ["status", "s.toml", "--verify"], ["report", "s.toml", "--out", "o"],
                       ["run", "s.toml", "--retry-failed"]])  # fmt: skip
    return ["sweep", *what, "--store", "store"], prepare


def _result(rng: random.Random, folder: Path) -> Made:
    """A result that is no longer one."""

    def prepare(place: Path) -> None:
        _write(place / "s.toml", GOOD.encode())
        shutil.copytree(folder / "r", place / "r")
        shutil.copytree(folder / "r", place / "r2")
        _broken(rng, place / "r")

    what = rng.choice([["compare", "r", "r2"], ["compare", "r", "r"], ["show", "r/run.toml"],
                       ["explain", "r", "--flow", "0", "--at", "1s"], ["run", "r/run.toml", *SHORT],
                       ["run", "s.toml", "--out", "r", "--report"],
                       ["run", "s.toml", "--out", "r", "--force"]])  # fmt: skip
    return what, prepare


def _line(rng: random.Random, folder: Path) -> Made:
    """A command line that nobody means."""
    command = rng.choice(list(OPTIONS))
    words = [*command.split(), *TARGETS.get(command, ["s.toml"])]
    for option in rng.sample(OPTIONS[command], min(len(OPTIONS[command]), rng.randrange(3))):
        words += [option, rng.choice(WORDS)]
    if rng.random() < 0.4:
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(WORDS))
    if command == "run" and "--max-wall" not in words:
        words += ["--max-wall", "1s"]
    if command in {"sweep run", "reproduce"} and "--max-time" not in words:
        words += ["--max-time", "1s"]

    def prepare(place: Path) -> None:
        _write(place / "s.toml", SWEPT.encode())
        for name in ("r", "store"):
            shutil.copytree(folder / name, place / name)

    return [word.replace("\0", "") for word in words], prepare


def _place(rng: random.Random, _: Path) -> Made:
    """A file that is something else, or where nothing can be."""

    def feed(path: Path) -> None:
        """A pipe with a writer that has nothing to say, or something."""
        os.mkfifo(path)
        text = path.with_name("fed")
        text.write_text(rng.choice(["", GOOD, "\x1b[2J", "x" * 60_000]), encoding="utf-8")
        subprocess.run(
            ["sh", "-c", 'timeout 20 cp "$0" "$1" 2>/dev/null &', text, path], check=True
        )

    def hollow(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(1 << 40)

    def locked(path: Path) -> None:
        path.mkdir()
        path.chmod(0o500)

    name = rng.choice(["s.toml", "a b.toml", "-s.toml", "s\n.toml", "\udcff.toml", "é\u202e.toml"])
    made: list[Callable[[Path], None]] = [
        lambda path: path.mkdir(),
        lambda path: path.symlink_to(path.name),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("/dev/null"),
        lambda path: path.symlink_to("/nowhere/at/all"),
        lambda path: path.symlink_to("/proc/self/mem"),
        lambda path: path.symlink_to("/proc/self/maps"),
        lambda path: _write(path, b""),
        lambda path: _write(path, b"\xff\xfe" + GOOD.encode("utf-16-le")),
        lambda path: _write(path, b"\n" * 15_000_000),
        hollow,
        lambda path: _write(path, GOOD.encode()),
        feed,
    ]
    make = rng.choice(made)
    out = rng.choice(["r", "locked/r", "full", "loop", "s.toml", "a/" * 2000, "x" * 300, "", "."])

    def prepare(place: Path) -> None:
        make(place / name)
        locked(place / "locked")
        (place / "full").symlink_to("/dev/full")
        (place / "loop").symlink_to("loop")

    path = f"./{name}"
    run = ["run", path, "--out", out, "--max-wall", "1s"]
    drawn = ["run", path, "--out", "q", "--figure", f"{out}.png", "--max-wall", "1s"]
    what = [run, drawn, ["show", path], ["sweep", "run", path, "--store", out, "--max-time", "1s"],
            ["compare", path, path], ["compare", "nothing", path],
            ["explain", path, "--flow", "0", "--at", "1s"]]  # fmt: skip
    return rng.choice(what), prepare
