"""What no paper says, read another way; what is told beside a verdict, and what it counts."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer

import clearpipe as cp
from clearpipe.errors import ConfigError
from clearpipe.papers import mlcp, xcp
from clearpipe.reproduce import (
    claims,
    cli,
    data,
    draw,
    publication,
    readings,
    runs,
    settings,
    work,
)
from clearpipe.reproduce.runs import Cell, Censored, Data
from clearpipe.sweep.store import Store

DOCUMENT: dict[str, Any] = {
    "topology": {"kind": "dumbbell", "rtt": "80ms"},
    "flows": {
        "fwd": {"start": "uniform(1ms, 300ms)", "access_rate": "2x"},
        "late": {"start": "uniform(80s, 81s)"},
        "one": {"start": "20s"},
        "first": {},
    },
    "sweep": {"zip": [{"name": "scheme", "labels": ["a"], "protocols.host": [{"kind": "vcp"}]}]},
}


def read(name: str, **more: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT) | more
    readings.by_name(name).change(document)
    return document


def starts(document: dict[str, Any]) -> list[Any]:
    return [flow.get("start") for flow in document["flows"].values()]


def test_only_random_starts_at_the_beginning_are_read_otherwise() -> None:
    kept = ["uniform(80s, 81s)", "20s", None]
    assert starts(read("starts-10s")) == ["uniform(0s, 10s)", *kept]
    # 2.5 x 80 ms.
    assert starts(read("starts-rtt")) == ["uniform(0s, 200ms)", *kept]


def test_a_start_by_round_trips_follows_the_axis() -> None:
    axis = {
        "name": "rtt",
        "labels": ["10ms", "1s"],
        "topology.rtt": ["10ms", "1s"],
        "flows.fwd.start": ["uniform(0s, 5s)", "uniform(0s, 5s)"],
        "flows.late.start": ["uniform(80s, 81s)", "uniform(80s, 81s)"],
    }
    found = read("starts-rtt", sweep={"zip": [axis]})["sweep"]["zip"][0]
    assert found["flows.fwd.start"] == ["uniform(0s, 25ms)", "uniform(0s, 2500ms)"]
    assert found["flows.late.start"] == ["uniform(80s, 81s)", "uniform(80s, 81s)"]


def test_starts_by_round_trips_are_each_point_s_own_where_only_the_axis_sets_them() -> None:
    axis = {"name": "rtt", "labels": ["10ms", "1s"], "topology.rtt": ["10ms", "1s"]}
    document = read("starts-rtt", sweep={"zip": [copy.deepcopy(axis)]})
    # 2.5 x 10 ms and 2.5 x 1 s.
    (found,) = document["sweep"]["zip"]
    assert found["flows.fwd.start"] == ["uniform(0s, 25ms)", "uniform(0s, 2500ms)"]
    assert {key for key in found if key.startswith("flows")} == {"flows.fwd.start"}
    # The others have one law for all points, and no need of a column.
    (other,) = read("starts-10s", sweep={"zip": [axis]})["sweep"]["zip"]
    assert not any(key.startswith("flows") for key in other)


@pytest.mark.parametrize(
    "more",
    [
        {"topology": {"kind": "parking-lot", "rtt": "80ms"}},
        {"topology": {}},
        {"flows": {"a": {"start": "uniform(0s, 100ms)", "rtt": "formula(40ms + 4ms * i)"}}},
        {
            "flows": {
                "a": {"start": "uniform(0s, 100ms)", "rtt": "40ms"},
                "b": {"start": "uniform(0s, 100ms)"},
            }
        },
    ],
    ids=["several links", "links of their own", "a spread", "two round trips"],
)
def test_starts_by_round_trips_want_one_round_trip(more: dict[str, Any]) -> None:
    assert read("starts-rtt", **more) == copy.deepcopy(DOCUMENT) | more


def test_a_flow_s_own_round_trip_is_its_spread() -> None:
    flows = {"a": {"start": "uniform(0s, 100ms)", "rtt": "400ms"}, "late": {"start": "20s"}}
    # 2.5 x 400 ms, in whole seconds.
    assert starts(read("starts-rtt", flows=flows)) == ["uniform(0s, 1s)", "20s"]


def test_the_rule_s_own_starts_by_round_trips_are_no_other_reading() -> None:
    """XCP's figures have them over one bottleneck already."""
    figure = data.chosen("xcp:fig05")[0]
    assert not any(
        runs.concerns(readings.by_name("starts-rtt"), figure, part)
        for parts in figure.parts.values()
        for part in parts
    )


def test_a_buffer_is_read_in_bytes_wherever_it_is_set() -> None:
    axis = {"name": "n", "labels": ["1", "2"], "topology.buffer": ["1bdp-pkt", "40pkt"]}
    found = read("buffer-bytes", topology={"buffer": "2bdp-pkt"}, sweep={"zip": [axis]})
    assert found["topology"]["buffer"] == "2bdp"
    assert found["sweep"]["zip"][0]["topology.buffer"] == ["1bdp", "40pkt"]


def test_access_links_and_timeouts() -> None:
    rates = [flow["access_rate"] for flow in read("access-10x")["flows"].values()]
    assert rates == ["10x"] * 4
    lot = read("access-10x", topology={"kind": "parking-lot", "rtt": "80ms"})
    assert lot["flows"] == DOCUMENT["flows"]
    assert read("rto-1s", transport={"initial_rto": "6s"})["transport"] == {
        "initial_rto": "6s",
        "min_rto": "1s",
    }
    with pytest.raises(ConfigError, match=r"unknown reading \(allowed: starts-300ms"):
        readings.by_name("starts")


def test_every_reading_gives_scenarios_that_are_valid() -> None:
    figure = data.chosen("vcp:fig04")[0]
    (part,) = figure.parts["quick"]
    for reading in readings.READINGS:
        assert runs.sweep(figure, part, reading=reading) is not None
    # One of the three starts is the rule's own.
    starting = [one for one in readings.READINGS if one.name.startswith("starts")]
    assert [runs.concerns(one, figure, part) for one in starting].count(False) <= 1


def test_a_table_tells_what_changes() -> None:
    stands = {"x-fig01-c1": claims.HOLDS, "x-fig01-c2": claims.HOLDS}
    other = stands | {"x-fig01-c2": claims.DEVIATES}
    one, two = readings.READINGS[:2]
    lines = list(readings.table("x-fig01: T", stands, [(one, other), (two, None)]))
    assert "| as it stands | 2 as printed | |" in lines
    row = f"| {one.what} | 1 as printed, 1 deviate | c2 deviates (was: holds as printed) |"
    assert row in lines
    assert not any(two.what in line for line in lines)
    assert list(readings.table("x-fig01: T", stands, [(one, None)])) == []
    lines = list(readings.table("x-fig01: T", stands, [(one, {})]))
    assert lines[-2] == f"| {one.what} | not run yet |  |"


def test_settings_beside_a_verdict_are_those_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the part sets, what its own scheme sets, and what is not as its paper has it."""
    figure = data.chosen("vcp:fig13")[0]
    owner = data.paper("vcp")
    scheme = replace(owner.schemes["vcp-nolimit"], host={"kind": "vcp", "limiters": False})
    part = replace(figure.parts["quick"][0], schemes=("vcp", "vcp-nolimit"))
    changed = replace(owner, schemes=dict(owner.schemes) | {"vcp-nolimit": scheme})
    figure = replace(figure, book=changed)
    told = {"departure": {"vcp": {"t_d": "why"}, "xcp": {"overdraw": "why not"}}}
    monkeypatch.setattr(data, "notes", lambda: told)
    one = data.Assertion(lo=0.0, measures=(data.Measure("m", ("vcp-nolimit",)),))
    claim = replace(figure.claims[0], assertions=(one,))
    found = settings.of(claim, Data(changed, figure, (part,)))
    assert "VCP without limiters: protocols.host.limiters = False" in found
    assert "transport.min_rto = 200ms" in found
    assert "vcp: t_d: why" in found
    assert not any("xcp" in line for line in found)
    only_vcp = replace(one, measures=(data.Measure("m", ("vcp",)),))
    other = settings.of(replace(claim, assertions=(only_vcp,)), Data(changed, figure, (part,)))
    assert not any("limiters" in line for line in other)


def told(figure: str, claim: str) -> list[str]:
    """The settings beside a claim at full scale."""
    found = data.chosen(figure)[0]
    one = next(one for one in found.claims if one.id.endswith(f"-{claim}"))
    return settings.of(one, Data(data.paper(found.paper), found, found.parts["full"]))


def test_what_an_axis_without_a_key_varies_is_told_and_not_its_base() -> None:
    target = told("xcp:sec5.2-targetqueue", "c1")
    assert "queues.router.target_queue varies with q0" in target
    assert not any(line.startswith("XCP: queues.router.target_queue") for line in target)
    buffers = told("mlcp:fig17", "c1")
    assert "topology.buffer varies with buffer" in buffers
    assert not any(line.startswith("topology.buffer =") for line in buffers)
    # The axis of the figure itself is no choice; that its starts follow it is one.
    trips = told("xcp:fig05", "c1")
    assert "flows.fwd.start varies with rtt" in trips
    assert not any(line.startswith(("topology.rtt", "start of flows")) for line in trips)


def test_settings_are_of_the_parts_and_schemes_that_a_claim_is_about() -> None:
    """Of a part that only shares a claim's unnamed parts nothing is told, and a router that is not
    of the protocol's own paper is."""
    figure = data.chosen("vcp:fig13")[0]
    (part,) = figure.parts["quick"]
    other = replace(part, name="other", schemes=("sack",), sets={"transport.min_rto": "777ms"})
    claim = replace(
        figure.claims[0], assertions=(data.Assertion(measures=(data.Measure("m", ("vcp",)),)),)
    )
    both = Data(data.paper("vcp"), figure, (part, other))
    assert not any("777ms" in line for line in settings.of(claim, both))
    all_of_it = replace(
        claim, assertions=(*claim.assertions, data.Assertion(measures=(data.Measure("m"),)))
    )
    assert "transport.min_rto = 777ms" in settings.of(all_of_it, both)
    # A check that reads one part is about no other.
    checked = data.Assertion(check="fig13_c1", reads=(data.Reads("main"),))
    assert not any("777ms" in line for line in settings.of(claim_of(claim, checked), both))
    unnamed = replace(checked, reads=())
    assert "transport.min_rto = 777ms" in settings.of(claim_of(claim, unnamed), both)
    shown = told("mlcp:fig09", "c5")
    assert "TCP SACK+RIO (ns-2): protocols.host = sack, queues.router = droptail" in shown


def claim_of(like: data.Claim, *assertions: data.Assertion) -> data.Claim:
    return replace(like, assertions=assertions)


def test_links_tell_buffers_and_queues() -> None:
    found = told("dpcp:fig01", "c1")
    assert "buffer of links = 1bdp-pkt" in found
    assert "buffer_per_flow of links = 2pkt" in found
    assert "queue of links = router" in found


def departures(*schemes: dict[str, Any], varied: tuple[str, ...] = ()) -> list[str]:
    return list(settings._departures(schemes, varied))


def test_a_departure_that_the_schemes_choose_is_not_told() -> None:
    class_wise = {"queues.router": {"kind": "ixcp"}}
    shared = {"queues.router": {"kind": "ixcp", "residues": "shared"}}
    assert len(departures(class_wise)) == len(departures(class_wise, shared)) == 1
    assert departures(shared) == []
    # As a key of its own, or of an axis.
    assert departures({**class_wise, "queues.router.residues": "none"}) == []
    assert departures(class_wise, varied=("queues.router.residues",)) == []
    # The switch is a choice over both limits.
    plain, off = ({"protocols.host": {"kind": "vcp", **more}} for more in ({}, {"limiters": False}))
    assert [line.split(": ")[1] for line in departures(off)] == ["pace_large_rtt"]
    assert [line.split(": ")[1] for line in departures(plain)] == [
        "limiters, mi_limit",
        "limiters, ai_limit_low",
        "pace_large_rtt",
    ]


def test_departures_are_of_parameters_that_there_are() -> None:
    known: dict[str, set[str]] = {}
    for one in (*cp.protocols(), *cp.queues()):
        known.setdefault(one["name"], set()).update(param["name"] for param in one["params"])
    for kind, found in data.notes()["departure"].items():
        assert {name for key in found for name in key.split(", ")} <= known[kind]


def test_what_the_end_of_a_run_cut_off_is_drawn_open() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    place = figure.subplots()
    cut = Censored(4.0)
    draw.plot_means(place, [1.0, 2.0, 3.0], [[1.0, 3.0], [2.0, cut], [5.0]], color="k", marker="o")
    line, *_, mark = place.get_lines()
    assert line.get_markevery() == [0, 2]
    assert (mark.get_marker(), mark.get_markerfacecolor(), mark.get_gid()) == (
        "^",
        "white",
        "cut-off",
    )
    assert [*mark.get_xdata(), *mark.get_ydata()] == [2.0, 3.0]


def arrivals(start: list[float], took: list[float]) -> Any:
    table = {"start_s": start, "fct_s": took}
    return SimpleNamespace(transfers=table, meta={"simulated_s": 10.0, "warmup_s": 1.0})


def test_times_to_finish_are_of_the_same_transfers() -> None:
    """Of six one comes before the warm-up, two after the half, and one ends with one of the two."""
    nan = float("nan")
    start = [0.5, 1.0, 2.0, 4.9, 5.0, 9.0]
    slow = arrivals(start, [9.0, 2.0, nan, 4.0, 1.0, nan])
    fast = arrivals(start, [9.0, 1.0, 7.0, 2.0, 1.0, 0.5])
    assert mlcp.both_ended(slow, fast) == (3.0, 1.5)
    with pytest.raises(ConfigError, match="different arrivals"):
        mlcp.both_ended(slow, arrivals([0.5, 1.0, 2.0, 4.9, 5.0, 9.1], [1.0] * 6))


def test_differences_by_link_are_of_the_same_replication() -> None:
    figure = data.chosen("mlcp:fig13")[0]
    found = Data(data.paper("mlcp"), figure, figure.parts["full"])
    for scheme, rep, used in (("mlcp", 0, 0.9), ("mlcp", 1, 0.5), ("vcp", 1, 0.4), ("vcp", 0, 0.6)):
        numbers = {f"links.l{n}.utilization_ratio": used for n in mlcp.LINKS}
        found.cells.append(Cell("main", scheme, "", 0.0, rep, numbers, lambda: None, ()))  # type: ignore[arg-type, return-value]
    # (0.9 - 0.6 + 0.5 - 0.4) / 2, the interval of 0.3 and 0.1.
    one = mlcp.fig13_c1_vcp(found)["MLCP less VCP, link 1"]
    assert one.interval.mean == pytest.approx(0.2)
    assert one.interval.half == pytest.approx(12.706 * 0.1, rel=1e-4)
    del found.cells[-1]
    with pytest.raises(KeyError):
        mlcp.fig13_c1_vcp(found)


def test_a_flow_that_two_links_flag_is_one_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.array([1.0, 2.0, 3.0])
    columns = {
        "router_flagged": {"a": [0.0, 0.0, 1.0], "b": [0.0, 1.0, 1.0]},
        "router_flagged_flow": {"a": [0.0, 0.0, 7.0], "b": [0.0, 7.0, 7.0]},
        "router_flagged_after": {"a": [0.0, 0.0, 0.3], "b": [0.0, 0.2, 0.2]},
    }
    series = {
        name: {link: (t, np.array(values)) for link, values in by_link.items()}
        for name, by_link in columns.items()
    }
    monkeypatch.setattr(xcp, "flow_series", lambda _, name: series[name])
    assert xcp._caught(None) == {7: (2.0, 0.2)}  # type: ignore[arg-type]


def test_what_an_axis_has_of_one_value_does_not_vary() -> None:
    """The duration of xcp-fig04 is 60 s at each capacity; a buffer that is one is told as such."""
    assert not any("duration" in line for line in told("xcp:fig04", "c1"))
    figure = data.chosen("xcp:fig04")[0]
    part = figure.parts["full"][0]
    assert part.axis is not None
    sets = {"topology.buffer": ["77pkt"] * len(part.axis.values)}
    part = replace(part, axis=replace(part.axis, sets=sets))
    found = settings.of(figure.claims[0], Data(data.paper("xcp"), figure, (part,)))
    assert "topology.buffer = 77pkt" in found
    assert not any("varies" in line and "buffer" in line for line in found)


def test_a_stop_leaves_the_page_with_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = data.chosen("dpcp:alg2")[0]
    job = work.Job(Store(tmp_path / "store"), "quick")
    page = tmp_path / "readings.md"

    def stops(*_: object) -> int:
        raise typer.Exit(75)

    monkeypatch.setattr(cli, "_run", stops)
    job.store.open()
    with pytest.raises(typer.Exit):
        cli._read_otherwise(job, [work.judge(job, figure)], page, run=True)
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "not run yet" in line]
    assert rows == [
        "| timeouts of 1 s at least | not run yet |  |",
        "| delayed ACKs, 100 ms | not run yet |  |",
    ]


def test_the_overview_links_the_readings_where_they_are() -> None:
    for there in (True, False):
        lines = publication._overview(data.every(), {}, read_otherwise=there)
        assert any("[tables](readings.md)" in line for line in lines) == there


def test_what_a_reading_wins_and_loses_is_counted() -> None:
    one, two = readings.READINGS[:2]
    stands = {
        "x-fig01-c1": claims.HOLDS,
        "x-fig01-c2": claims.DEVIATES,
        "x-fig01-c3": claims.WITHIN,
    }
    other = stands | {"x-fig01-c1": claims.NOT_RUN, "x-fig01-c2": claims.WITHIN}
    same = stands | {"x-fig01-c3": claims.HOLDS}
    figures: list[Any] = [(stands, [(one, other), (two, {})]), (stands, [(one, same), (two, None)])]
    _, _, *rows, last = readings.overview(figures)
    # The other reading changes nothing in one of them and is not run yet in the other.
    assert (rows, last) == ([f"| {one.what} | 2 | 6 | 1 | 1 |"], "")
