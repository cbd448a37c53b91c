"""Runs the committed golden scenarios by the installed Clearpipe and compares the fingerprints.

    check_fingerprints.py golden/packet-engine.txt

`crates/net/tests/golden.rs` does so from Rust. This goes the way of a user's run, and so checks
a wheel on any processor and system. What is run are the rows that the file has.
"""

from __future__ import annotations

import platform
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clearpipe as cp

# Name, example and keys, as golden.rs has them.
EXAMPLES = {
    "xcp": ("base-case-xcp", ["duration=12s", "warmup=6s"]),
    "vcp": ("base-case-vcp", ["duration=24s", "warmup=18s"]),
    "red": ("base-case-sack-red", ["duration=12s", "warmup=6s"]),
    "fig10": ("xcp-fig10", []),
    "lot": ("parking-lot", ["duration=12s", "warmup=6s"]),
    "paths": ("two-paths", ["duration=10s", "warmup=5s"]),
}

ROW = re.compile(r"^(\S+) (\d+) ([0-9a-f]{32}) \|", re.MULTILINE)


def small(protocol: str | dict[str, Any], queue: str | dict[str, Any]) -> dict[str, Any]:
    """A small network with losses, and data both ways."""
    return {
        "schema": 1,
        "name": "small",
        "duration": "12s",
        "warmup": "2s",
        "topology": {
            "kind": "dumbbell",
            "rate": "10Mbps",
            "rtt": "40ms",
            "buffer": "100pkt",
            "queue": queue,
            "loss": "0.2%",
        },
        "flows": {
            "long": {"protocol": protocol, "count": 3, "start": "uniform(0s, 500ms)"},
            "short": {
                "protocol": protocol,
                "direction": "reverse",
                "size": "200kB",
                "start": "1s",
            },
        },
    }


def of_queue(name: str) -> dict[str, Any]:
    """The run of a queue that no protocol needs."""
    if name == "xcp-police":
        return small("xcp", {"kind": "xcp", "over": name})
    if name.startswith("xcp"):
        return small("xcp", name)
    return small({"kind": "sack", "ecn": True}, name)


def of_protocol(name: str) -> dict[str, Any]:
    """The run of a protocol over the queue that it needs."""
    router = next(one["router"] for one in cp.protocols() if one["name"] == name)
    scenario = small(name, router or "droptail")
    try:
        cp.resolve(scenario)
    except cp.ConfigError as error:
        # A source without a window sends at the rate that it is given.
        if "rate" not in str(error):
            raise
        for group in scenario["flows"].values():
            group["rate"] = "4Mbps"
    return scenario


def rows(text: str) -> Iterator[tuple[str, int, str, cp.Result]]:
    """Name, seed, the fingerprint written down, and the run."""
    for name, seed, fingerprint in ROW.findall(text):
        scenario: str | dict[str, Any]
        sets: list[str] = []
        if name in EXAMPLES:
            scenario, sets = EXAMPLES[name]
        elif name.startswith("small-queue-"):
            scenario = of_queue(name.removeprefix("small-queue-"))
        elif name.startswith("small-recovery-"):
            cubic = {"kind": "cubic", "recovery": name.removeprefix("small-recovery-")}
            scenario = small(cubic, "droptail")
        else:
            scenario = of_protocol(name.removeprefix("small-"))
        yield name, int(seed), fingerprint, cp.run(scenario, seed=int(seed), set=sets)


def main() -> None:
    """The command."""
    file = Path(sys.argv[1])
    text = file.read_text(encoding="utf-8")
    began, count, wrong = time.monotonic(), 0, []
    for name, seed, wanted, result in rows(text):
        count += 1
        if result.meta["fingerprint"] != wanted:
            wrong.append(f"{name} {seed}: {result.meta['fingerprint']}, not {wanted}")
    if count == 0 or count != sum(" parts " in line for line in text.splitlines()[2:]):
        wrong.append(f"{count} rows were read, which is not what {file} has")
    print(
        f"{count} fingerprints on {platform.machine()}, {platform.system()}: "
        f"{'equal' if not wrong else f'{len(wrong)} differ'}; {time.monotonic() - began:.0f} s"
    )
    for line in wrong:
        print(f"  {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
