"""Bad input: its kind's exit code, one message that says what is wrong, and nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from sweeping import call

GOOD = """\
schema = 1
name = "good"
duration = "2s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "20ms"
[flows.a]
protocol = "reno"
"""
ARRIVING = GOOD + 'size = "10kB"\narrivals = "poisson(50/s)"\n'
TRACE = GOOD.replace('rate = "10Mbps"', 'trace = "no.trace"')
SWEEP = '[sweep]\nvary."topology.rtt" = ["10ms", "20ms"]\n'


class Bad(NamedTuple):
    """What is typed, what stands in `s.toml`, and what must come of it."""

    arguments: str
    text: str
    code: int
    message: str


def line(key_and_value: str) -> str:
    """The good file with a line for its topology replaced or added."""
    return GOOD.replace("[flows.a]", f"{key_and_value}\n[flows.a]")


CASES = [
    Bad("run missing.toml", GOOD, 3, "missing.toml: no such scenario file"),
    Bad("run .", GOOD, 3, ".: a directory, not a scenario file"),
    Bad("run s.toml", "", 3, "s.toml: schema: missing key; a scenario file begins with schema = 1"),
    Bad("run s.toml", "schema = 2\n", 3, "s.toml:1: schema: "),
    Bad("run s.toml", "schema = 1\nname = \n", 3, "s.toml:2: "),
    Bad("run s.toml", GOOD + "\x00", 3, "s.toml:10: "),
    Bad("run s.toml", GOOD.replace("rate", "rat"), 3, 'unknown key "rat"; did you mean "rate"?'),
    Bad("run s.toml", GOOD.replace("10Mbps", "10"), 3, "s.toml:6: topology.rate: "),
    Bad("run s.toml", GOOD.replace("10Mbps", "10Mbit"), 3, 'unknown unit "Mbit"'),
    Bad("run s.toml", GOOD.replace("10Mbps", "0Mbps"), 3, "s.toml:6: topology.rate: "),
    Bad("run s.toml", GOOD.replace("10Mbps", "-1Mbps"), 3, "s.toml:6: topology.rate: "),
    Bad("run s.toml", GOOD.replace("20ms", "20 hours"), 3, "s.toml:7: topology.rtt: "),
    Bad("run s.toml", GOOD.replace('"2s"', '"0s"'), 3, "s.toml:3: duration: "),
    Bad("run s.toml", GOOD.replace('"2s"', '"9999h"'), 3, "duration: "),
    Bad("run s.toml", GOOD.replace("reno", "rino"), 3, 'did you mean "reno"?'),
    Bad("run s.toml", line('queue = "redd"'), 3, 'did you mean "red"?'),
    Bad("run s.toml", line("loss = 0.5"), 3, "topology.loss: "),
    Bad("run s.toml", line('loss = "101%"'), 3, "topology.loss: "),
    Bad("run s.toml", line('loss = { kind = "burst" }'), 3, "topology.loss.kind: "),
    Bad(
        "run s.toml", line('steps = [{ at = "1s", rate = "0bps" }]'), 3, "topology.steps[0].rate: "
    ),
    Bad("run s.toml", line('down = [["2s", "1s"]]'), 3, "topology.down[0]"),
    Bad("run s.toml", line('jitter = "gauss(1ms)"'), 3, "topology.jitter: "),
    Bad("run s.toml", line('reorder = { p = "5%" }'), 3, "topology.reorder.delay: missing key"),
    Bad(
        "run s.toml",
        TRACE,
        3,
        'cannot read the file "no.trace"',
    ),
    Bad("run s.toml", ARRIVING.replace("50/s", "0/s"), 3, "flows.a.arrivals: "),
    Bad("run s.toml", ARRIVING.replace('size = "10kB"\n', ""), 3, "flows.a"),
    Bad("run s.toml", GOOD + 'arrivals = "every(0s)"\nsize = "1kB"\n', 3, "flows.a.arrivals: "),
    Bad("run s.toml", GOOD + 'rate = "0bps"\n', 3, "flows.a.rate: "),
    Bad("run s.toml", GOOD + 'size = "pareto(10kB, 1)"\n', 3, "flows.a.size: "),
    Bad("run s.toml", GOOD + 'size = { cdf = "no.cdf" }\n', 3, 'cannot read the file "no.cdf"'),
    Bad("run s.toml", GOOD + 'rtt = "formula(10ms / (i - i))"\n', 3, "flows.a.rtt: "),
    Bad("run s.toml", GOOD + '[probe]\nseries = ["cwmd"]\n', 3, 'did you mean "cwnd"?'),
    Bad(
        "run s.toml",
        GOOD + '[probe]\nseries = ["goodput"]\nevery = "change"\n',
        3,
        "probe.series[0]: ",
    ),
    Bad("run s.toml --set topology.rate", GOOD, 3, "--set"),
    Bad("run s.toml --set topology.rate=fast", GOOD, 3, "topology.rate: "),
    Bad("run s.toml --engine fluidd", GOOD, 3, "unknown engine fluidd"),
    Bad("run s.toml --seed -1", GOOD, 2, "--seed"),
    Bad("run s.toml --rep 1 --reps 2", GOOD, 2, "give one of --rep and --reps"),
    Bad("run s.toml --wrong", GOOD, 2, "--wrong"),
    Bad("run s.toml --capture bottlneck", GOOD, 3, "did you mean"),
    Bad("run s.toml --max-wall soon", GOOD, 2, "--max-wall"),
    Bad("run s.toml --branch-at 5s --variant a", GOOD, 3, "branch"),
    Bad("run s.toml --branch-at 1s --variant a:packets.data=500B", GOOD, 3, "packets"),
    Bad("run s.toml --figure x.gif", GOOD, 3, "x.gif: a figure's name ends in .png, .svg, .pdf"),
    Bad("run s.toml --out s.toml/x", GOOD, 1, "s.toml"),
    Bad("explain s.toml --flow 9 --at 1s", GOOD, 3, "flow"),
    Bad("explain s.toml --flow 0 --at 9s", GOOD, 3, "at: 9.000000 s is beyond the run"),
    Bad("compare nowhere nowhere", GOOD, 3, "nowhere: no such directory"),
    Bad("list protcols", GOOD, 2, "protcols"),
    Bad("sweep run s.toml", GOOD, 3, "s.toml: sweep: missing table"),
    Bad("sweep run s.toml --shard 2/2", GOOD + SWEEP, 2, "--shard"),
    Bad("sweep run s.toml --until 5", GOOD + SWEEP, 3, "--until"),
    Bad("sweep report s.toml", GOOD + SWEEP, 1, "not a store"),
]


def test_there_are_forty_kinds() -> None:
    assert len({(case.arguments, case.text) for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_bad_input(tmp_path: Path, case: Bad) -> None:
    (tmp_path / "s.toml").write_text(case.text, encoding="utf-8")
    done = call(*case.arguments.split(), cwd=tmp_path, expect=case.code)
    assert case.message in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert done.stdout == ""
    # One message: one line, or what the option parser prints around it.
    assert case.code == 2 or len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]
