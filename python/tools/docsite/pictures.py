"""The picture of each protocol and queue: one scenario for all of them, drawn by `--figure`.

    python python/tools/docsite/pictures.py [NAME...]

draws all, or those named, into docs/images/protocols and docs/images/queues. Of a protocol: three
flows join a 20 Mb/s link of 60 ms, ten seconds apart; the link's queue is the one that the protocol
needs, or drop-tail. Of a queue: six SACK flows that speak ECN join it together, or, over a
feedback queue, flows of a protocol that it serves.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import clearpipe as cp
from clearpipe import ConfigError, UnsupportedError, _core
from docsite.sources import ROOT

IMAGES = ROOT / "docs/images"

PROTOCOL = """\
schema = 1
name = "{name}"
duration = "40s"

[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "60ms"
buffer = "1bdp"
queue = {queue}

[flows.{group}]
protocol = {protocol}
count = 3
start = ["0s", "10s", "20s"]

[probe]
series = ["goodput", "queue"]
every = "200ms"
"""

QUEUE = """\
schema = 1
name = "{name}"
duration = "20s"

[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "60ms"
buffer = "2bdp"
queue = {queue}

[flows.{group}]
protocol = {protocol}
count = 6

[probe]
series = ["queue", "utilization"]
every = "100ms"
"""

# A protocol that does its work only with something the plain scenario has not.
PROTOCOLS = {
    "dctcp": {"queue": '{ kind = "step", k = 17 }'},
    "udp": {"protocol": '"udp"\nrate = "6Mbps" # of each: no congestion control holds it back'},
}
NONE = ("python",)
"""Nothing to draw: what a class of the reader's does."""


def scenario(kind: str, name: str) -> str | None:
    """The scenario behind a picture; None where there is none to show."""
    if name in NONE:
        return None
    if kind == "protocols":
        known = {one["name"]: one for one in cp.protocols()}[name]
        words = {"queue": f'"{known["router"] or "droptail"}"', "protocol": f'"{name}"'}
        words |= PROTOCOLS.get(name, {})
        return PROTOCOL.format(name=name, group="a", **words)
    served = [one["name"] for one in cp.protocols() if one["router"] == name]
    protocol = f'"{served[0]}"' if served else '{ kind = "sack", ecn = true }'
    return QUEUE.format(name=name, group="a", queue=f'"{name}"', protocol=protocol)


def path(kind: str, name: str) -> Path:
    """Where its picture is."""
    return IMAGES / kind / f"{name}.svg"


def draw(kind: str, name: str) -> Path | None:
    """Run its scenario and draw what it recorded."""
    text = scenario(kind, name)
    if text is None:
        return None
    target = path(kind, name)
    result = cp.run(text)
    result.plot.figure(target)
    return target


def stale(kind: str, name: str) -> bool:
    """Is there no picture, or one that is older than the program?"""
    if name in NONE:
        return False
    target, core = path(kind, name), Path(str(_core.__file__))
    return not target.exists() or target.stat().st_mtime < core.stat().st_mtime


def main() -> None:
    """The command."""
    wanted = sys.argv[1:]
    for kind, known in (("protocols", cp.protocols()), ("queues", cp.queues())):
        for one in known:
            if wanted and one["name"] not in wanted:
                continue
            try:
                drawn = draw(kind, one["name"])
            except (ConfigError, UnsupportedError) as error:
                sys.exit(f"{kind} {one['name']}: {error}")
            if drawn:
                print(drawn.relative_to(ROOT))


if __name__ == "__main__":
    main()
