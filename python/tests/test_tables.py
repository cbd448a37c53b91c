"""Tables: the Arrow capsule protocol and the columns without it."""

from __future__ import annotations

from array import array

import numpy as np
import pyarrow as pa
import pytest

import clearpipe as cp


def test_pyarrow_takes_every_table(result: cp.Result) -> None:
    flows = pa.table(result.flows)
    assert flows.num_rows == len(result.flows) == 5
    assert flows.column_names == result.flows.column_names
    assert flows["group"].to_pylist() == ["long"] * 2 + ["short"] * 3
    assert flows["fct_s"].null_count == 2
    assert pa.table(result.links)["name"].to_pylist() == result.links.column("name")
    groups = pa.table(result.groups)
    assert groups["group"].to_pylist() == ["long", "short"]
    assert groups["flows"].to_pylist() == [2, 3]
    assert groups["finished"].to_pylist() == [0, 3]
    assert sum(groups["sent_pkts"].to_pylist()) == sum(flows["sent_pkts"].to_pylist())
    assert result.transfers is None, "no group has arriving flows"
    for name in result.series_names:
        assert pa.table(result.series(name)).num_rows == len(result.series(name)) > 0


def test_a_capsule_may_be_taken_twice_or_dropped(result: cp.Result) -> None:
    table = result.flows
    table.__arrow_c_stream__()
    assert pa.table(table) == pa.table(table)
    assert pa.schema(table) == pa.table(table).schema


def test_every_column_says_its_unit_or_counts(result: cp.Result) -> None:
    units = ("_s", "_bps", "_bytes", "_pkts", "_ratio")
    bare = {"flow", "link", "group", "protocol", "name", "queue", "timeouts", "fast_retransmits"}
    bare |= {"flows", "finished"}
    for table in (result.flows, result.links, result.groups):
        assert [c for c in table.column_names if not c.endswith(units) and c not in bare] == []


def test_columns_need_no_arrow(result: cp.Result) -> None:
    flows = result.flows
    assert flows.column("flow") == array("I", range(5))
    assert flows.column("sent_pkts").typecode == "Q"  # type: ignore[attr-defined]
    assert flows.column("group")[4] == "short"
    assert flows.column("fct_s")[0] is None
    assert flows.column("fct_s")[4] > 0
    values = np.asarray(flows.column("goodput_bps"))
    assert values.dtype == np.float64
    assert values.tolist() == pa.table(flows)["goodput_bps"].to_pylist()


def test_a_series_is_in_long_form(result: cp.Result) -> None:
    assert list(result.series_names) == ["cwnd_pkts", "queue_pkts"]
    assert result.series("cwnd_pkts").column_names == ["t_s", "flow", "cwnd_pkts"]
    queue = result.series("queue_pkts")
    assert queue.column_names == ["t_s", "link", "queue_pkts"]
    times = np.asarray(queue.column("t_s"))
    assert (np.diff(times) >= 0).all()
    assert times[-1] <= 5


def test_unknown_names_say_which_there_are(result: cp.Result) -> None:
    with pytest.raises(KeyError, match="cwnd_pkts, queue_pkts"):
        result.series("rtt_s")
    with pytest.raises(KeyError, match="goodput_bps"):
        result.flows.column("goodput")


def test_repr_names_the_columns(result: cp.Result) -> None:
    assert repr(result.series("cwnd_pkts")).endswith("rows: t_s, flow, cwnd_pkts>")


def test_frames_of_three_libraries_hold_the_same(result: cp.Result) -> None:
    arrow = result.flows.to_pyarrow().to_pydict()
    assert result.flows.to_polars().to_dict(as_series=False) == arrow
    frame = result.flows.to_pandas()
    assert list(frame.columns) == result.flows.column_names
    for name, values in arrow.items():
        known = [np.nan if value is None else value for value in values]
        np.testing.assert_array_equal(frame[name].to_numpy(), known)
    assert frame["flow"].dtype == np.uint32
    assert frame["fct_s"].dtype == np.float64
    assert result.flows["flow"] == result.flows.column("flow")
