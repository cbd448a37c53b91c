"""ABC's claims: its loop, the traces it needs, and what is measured over them."""

from __future__ import annotations

import json
from dataclasses import replace
from math import pi
from pathlib import Path
from typing import Any

import cellular
import numpy as np
import pytest
from sweeping import call

from clearpipe.errors import ConfigError
from clearpipe.papers import abc
from clearpipe.reproduce import claims, data, publication, work
from clearpipe.reproduce.runs import Data
from clearpipe.reproduce.traces import Traces, blob_of
from clearpipe.sweep.store import Store
from clearpipe.theory.abc import LOCAL, Loop

# The loop.


def test_the_fixed_point_is_where_as_much_comes_as_goes() -> None:
    """20 flows add 20 packets in 150 ms, of 375 that leave: 0.05333. x = 50 + 133 (0.98 - 1 +
    0.05333) = 54.43 ms. 3 flows over 250 packets add 0.012: nothing waits, 0.992 is used."""
    loop = Loop(0.15, 0.133, 20 / (2500 * 0.15))
    assert loop.at_rest == pytest.approx(0.05443, abs=1e-5)
    assert loop.utilization == 1.0
    few = Loop(0.1, 0.133, 3 / 250)
    assert (few.at_rest, few.stable) == (0.0, True)
    assert few.utilization == pytest.approx(0.992)
    with pytest.raises(ConfigError, match=r"delta: 0: expected more than 0 s"):
        Loop(delta=0)


def test_small_swings_last_at_two_over_pi() -> None:
    """y = cos(t/delta) solves y' = -y(t - tau)/delta where tau/delta is a quarter of a turn."""
    assert pytest.approx(2 / pi) == LOCAL
    for ratio, dies in ((0.6, False), (0.67, True)):
        loop = Loop(delta=ratio * 0.1)
        assert loop.stable_nearby == dies == (loop.swing(1.01 * loop.at_rest) < 0.01)
    assert Loop(delta=0.065).stable_nearby
    assert not Loop(delta=0.065).stable  # between 0.637 and 0.667 Yorke's condition says nothing


# What is measured.


def test_waits_are_from_arrival_to_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two arrive at 0 and at 2; one leaves at 1, two at 3, one at 4: they waited 1, 3, 1 and 2. A
    fifth found the line idle."""
    t, queue = np.arange(5.0), np.array([2.0, 1.0, 3.0, 1.0, 0.0])
    monkeypatch.setattr(abc, "link_series", lambda *_: (t, queue))
    monkeypatch.setattr(abc, "link_of", lambda *_: {"departures_pkts": 5, "utilization_ratio": 0.5})
    result: Any = None
    assert list(abc.waits(result)) == [0, 1, 3, 1, 2]
    # The quantile at 0.95 of 0, 1, 1, 2, 3 lies 0.8 of the way from 2 to 3.
    assert abc.wait_p95(result) == pytest.approx(2.8)
    assert abc.power(result) == pytest.approx(0.5 / 2.9)


# The traces.


def test_a_blob_is_what_git_calls_it(tmp_path: Path) -> None:
    """`printf 'hello\\n' | git hash-object --stdin` prints it."""
    (tmp_path / "x").write_bytes(b"hello\n")
    assert blob_of(tmp_path / "x") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_files_of_another_content_are_refused(tmp_path: Path) -> None:
    traces = Traces("somewhere", {"a.up": "ce013625030ba8dba906f756967f9e9ca394464a", "b.up": "0"})
    with pytest.raises(ConfigError, match=r"nowhere: there is no such folder"):
        traces.found(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"has none of a\.up, b\.up"):
        traces.found(tmp_path)
    (tmp_path / "a.up").write_bytes(b"hello\n")
    assert traces.found(tmp_path) == {"a.up": tmp_path / "a.up"}
    (tmp_path / "a.up").write_bytes(b"hallo\n")
    with pytest.raises(ConfigError, match=r"a\.up: not the authors' file: .* theirs ce0136"):
        traces.found(tmp_path)


def test_an_axis_of_traces_names_traces() -> None:
    document = {
        "title": "X",
        "cite": "Y",
        "schemes": {"a": {"label": "A", "host": "reno"}},
        "base": {"b": {}},
        "traces": {"source": "s", "blobs": {"t.up": "1"}},
        "figure": [
            {
                "id": "x-1", "figure": "1", "title": "t", "kind": "k", "setup": "s", "axes": "a",
                "part": [
                    {
                        "base": "b", "schemes": ["a"], "traced": True,
                        "axis": {"name": "n", "key": "links.l.trace", "values": ["u.up"]},
                    }
                ],
            }
        ],
    }  # fmt: skip
    with pytest.raises(ConfigError, match=r"'u\.up' is none of the paper's traces: t\.up"):
        data.Reader("x.toml", document).paper("x")


def cell() -> data.Figure:
    return next(figure for figure in data.paper("abc").figures if figure.id == "abc-cell")


def test_without_traces_it_says_where_they_are(tmp_path: Path) -> None:
    """Nothing is run, no verdict says otherwise, and what was published stays."""
    told = call("reproduce", "abc:cell", "--json", "--check", cwd=tmp_path)
    assert "abc-cell: not run: needs recorded traces, --traces FOLDER; they are in" in told.stderr
    (one,) = json.loads(told.stdout)["figures"]
    assert {claim["verdict"] for claim in one["claims"]} == {claims.NOT_RUN}
    assert one["claims"][0]["parts"][0]["reason"].startswith("needs recorded traces")
    pages = tmp_path / "pages"
    publication.publish([work.judge(work.Job(Store(tmp_path / "s"), "quick"), cell())], pages)
    assert not (pages / "abc-cell.json").exists()


def test_over_traces_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two links that nobody recorded, in place of the authors': everything is run and judged, and
    the six that are not there are told as left out of the range."""
    folder = tmp_path / "traces"
    folder.mkdir()
    names = cell().parts["quick"][0].axis.values  # type: ignore[union-attr]
    for seed, name in enumerate(names):
        (folder / name).write_text(cellular.text(cellular.walk(seed, 30)), "ascii")
    blobs = dict.fromkeys(data.paper("abc").traces.blobs, "")
    blobs |= {name: blob_of(folder / name) for name in names}
    ours = replace(data.paper("abc"), traces=Traces("here", blobs))
    monkeypatch.setattr(work, "paper", lambda _: ours)
    short = replace(cell().parts["quick"][0], duration="20s")
    figure = replace(cell(), parts={"quick": (short,), "full": cell().parts["full"]})
    job = work.Job(Store(tmp_path / "store"), "quick", traces=folder)
    work.run(job, figure)
    done = work.judge(job, figure)
    assert done.data.errors == []
    assert len(done.data.cells) == len(names) * len(done.data.schemes("main"))
    first = done.outcomes[0].judged[0]
    assert first.verdict != claims.HOLDS  # two of eight traces are not all of the range
    assert {point.label for point in first.left_out} == set(blobs) - set(names)
    # The average over the average, by hand.
    used = {
        scheme: [done.data.number(one, abc.UTILIZATION) or 0.0 for one in done.data.of("", scheme)]
        for scheme in ("abc", "cubic-codel")
    }
    ratio = sum(used["abc"]) / sum(used["cubic-codel"])
    assert first.readings[0].interval.mean == pytest.approx(ratio)
    # CUBIC fills the buffer, and waits longer than with CoDel, which aims at 50 ms.
    waited = {
        scheme: [done.data.number(one, "@wait_p95") or 0.0 for one in done.data.of("", scheme)]
        for scheme in ("cubic", "cubic-codel")
    }
    assert min(waited["cubic"]) > 2 * max(waited["cubic-codel"])
    place = work.write(done, tmp_path / "out")
    assert str(folder / names[0]) in (place / "scenario.toml").read_text("utf-8")
    # What is published names no folder.
    pages = tmp_path / "pages"
    publication.publish([done], pages)
    assert str(tmp_path) not in (pages / "abc-cell.json").read_text("utf-8")
    # Another store with one of them only: no other is asked for.
    (folder / names[1]).unlink()
    alone = work.Job(Store(tmp_path / "store"), "quick", traces=folder)
    assert {one.label for one in work.judge(alone, figure).data.cells} == {names[0]}


def test_a_scheme_without_runs_draws_nothing() -> None:
    class Place:
        def plot(self, *_: object, **__: object) -> None:
            raise AssertionError

        def set_xlabel(self, _: str) -> None: ...

        set_ylabel = set_xlabel

    abc.averages(Place(), Data(data.paper("abc"), cell(), cell().parts["quick"]))
