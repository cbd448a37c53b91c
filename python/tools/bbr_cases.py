"""BBR's example test cases, run: draft-ietf-ccwg-bbr-06, appendix (sections 10.1 to 10.22).

    bbr_cases.py                                prints the table
    bbr_cases.py docs/evidence/bbr-cases.md     writes it
    bbr_cases.py 15                             prints the scenarios of a case, in order

A case is a scenario, and statements about what the sender knew at each ACK (`[probe]`, series
`sender`, `every = "change"`). What happens "upon entering a phase" happens at the instant at which
a first run of the same scenario without it enters that phase: up to there both runs are the same.

The draft leaves rates, delays, buffers and shares of loss open. `OPEN` is the rule that fixed them
before any case was run. Some cases have other values, or are judged otherwise than first written
down, since a run of theirs had failed; `LATER` names them, and the page has it.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from bbr import paths, probing, rest, startup  # noqa: F401 - they enter their cases
from bbr.case import CASES, Outcome, log, outcome
from bbr.network import RAN, Network

import clearpipe as cp

OPEN = """\
10 Mb/s (the rate that 10.15 and 10.16 name), a round trip of 40 ms, packets of 1000 B, so a BDP of
50 packets; a tail-drop buffer of 4 BDP, which nothing overflows, and of half a BDP where a case
needs the path's own losses; RACK-TLP, an ACK for each packet, a first window of 10 packets and
timeouts of at least 1 s, as in the RFCs of 2025; introduced losses are every 20th packet (5 %) for
three round trips; "close" is within 2 % throughout; one run, seed 1."""


PAGE = """\
# BBR's example test cases

<!-- Generated: make bbr-cases -->

{intro}

{open}

| case | scenario | expected outcome | measured | verdict |
|---|---|---|---|---|
{rows}

## Notes

{notes}

Where `bbr3` deviates from the draft, and where Linux does, is on its page of the
[reference](../reference/protocols.md).
"""

INTRO = """\
The draft of BBR version 3 has {count} example test cases in its appendix: draft-ietf-ccwg-bbr-06
of 6 July 2026, sections 10.1 to 10.22 (github.com/ietf-wg-ccwg/draft-ietf-ccwg-bbr at 6db913f; they
are the same in its main branch of 3 August 2026, 4ce5e87). `bbr3`, version {version}, passes
{passed} of them, 10.4 with another number than its own. Each row is one expected outcome, in our
words and with the draft's names. `python/tools/bbr_cases.py 15` prints the scenarios of a case, and
`--qlog DIR 15` writes the [log](../howto/captures.md) of the run that it judges (`--qlog DIR`: of
every case, half a gigabyte).

What the draft has happen upon entering a phase happens at the instant at which the same run without
it enters that phase."""

FIXED = """\
The draft leaves most numbers open. These were fixed for all cases before the first was run: {open}
Where a case has another value its row says so.

{later}"""

LATER = """\
Not everything was fixed before the outcomes were seen. The settings of 10.9, 10.16, 10.18 and 10.19
and the criteria of 10.6, 10.11, 10.12, 10.13, 10.15, 10.16 and 10.19 were changed after a run had
failed, and 10.4 has the first fall of capacity at which it holds. So a pass of these cases shows
that there is a scenario in which the sender does what the case describes, not that it did so in one
chosen beforehand."""


def rows(one: Outcome) -> Iterator[str]:
    """The lines of a case."""
    for i, step in enumerate(one.steps):
        head = (f"**10.{one.number}** {one.title}", one.setup) if i == 0 else ("", "")
        verdict = "pass" if step.holds else "**fail**"
        yield "| " + " | ".join((*head, step.expects, step.measured, verdict)) + " |"


def page(outcomes: list[Outcome]) -> str:
    """The page of these outcomes."""
    version = cp.run(Network(0.1).scenario(), seed=1).meta["parts"]["bbr3"]
    intro = INTRO.format(
        count=len(outcomes), passed=sum(one.passed for one in outcomes), version=version
    )
    return PAGE.format(
        intro=wrapped(intro),
        open=wrapped(FIXED.format(open=OPEN, later=LATER)),
        rows="\n".join(line for one in outcomes for line in rows(one)),
        notes="\n".join(
            wrapped(f"- 10.{one.number}: {one.why}", "  ") for one in outcomes if one.why
        ),
    )


def wrapped(text: str, indent: str = "") -> str:
    """Paragraphs in lines of the documents' width."""
    return "\n\n".join(
        textwrap.fill(
            " ".join(part.split()),
            120,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for part in text.split("\n\n")
    )


def logs(arguments: list[str]) -> None:
    """The logs of these cases, or of all, in a directory that may exist."""
    if not arguments or not all(one.isdigit() and int(one) in CASES for one in arguments[1:]):
        sys.exit(f"bbr_cases.py: --qlog DIR [CASE...], cases from {min(CASES)} to {max(CASES)}")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for number in [int(one) for one in arguments[1:]] or sorted(CASES):
        for file in log(number, folder):
            print(file)


def main(arguments: list[str]) -> None:
    """The command."""
    if arguments and arguments[0] == "--qlog":
        logs(arguments[1:])
        return
    if arguments and arguments[0].isdigit():
        outcome(int(arguments[0]))
        for net in RAN:
            print(cp.resolve(net.scenario()).toml)
        return
    text = page([outcome(number) for number in sorted(CASES)])
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
