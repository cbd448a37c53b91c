"""What a sweep will take, by what its scenario says; numbers worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping import call

from clearpipe import api, sweep
from clearpipe.sweep import forecast, runner
from clearpipe.sweep.store import Store

DUMBBELL = """
schema = 1
name = "busy"
duration = "100s"
topology = { kind = "dumbbell", rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }
[flows.a]
protocol = "reno"
"""

LINKS = """
schema = 1
name = "two"
duration = "100s"
bottleneck = "one"
[links]
one = { from = "a", to = "b", rate = "4Mbps", owd = "5ms", buffer = "50pkt", duplex = true }
two = { from = "b", to = "c", rate = "2Mbps", owd = "5ms", buffer = "50pkt", duplex = true }
[flows]
long = { protocol = "reno", from = "a", to = "c", access_owd = "1ms", count = 2, start = "50s" }
short = { protocol = "reno", from = "a", to = "b", access_owd = "1ms", start = "uniform(20s, 30s)" }
"""


def busy(text: str, *sets: str) -> float:
    return forecast.busy_hops(api.resolve(api.Source("x.toml", text), set=sets).toml)


def test_a_busy_link_by_hand() -> None:
    # 10 Mb/s for 100 s are 125,000 packets of 1000 B; each crosses three links, its ACK as many.
    assert busy(DUMBBELL) == pytest.approx(750_000)
    assert busy(DUMBBELL, "packets.data=500B") == pytest.approx(1_500_000)
    assert busy(DUMBBELL, "flows.a.start=60s") == pytest.approx(300_000)
    # The first starts then, too.
    assert busy(DUMBBELL, "flows.a.start=every(1s, 60s)") == pytest.approx(300_000)
    # How much a flow with a size sends, its size says.
    assert busy(DUMBBELL, "flows.a.size=1MB") == 0


def test_links_in_a_row_by_hand() -> None:
    """The first is busy from 20 s on, 4 Mb/s for 80 s: 40,000 packets; the second from 50 s on,
    2 Mb/s for 50 s: 12,500. Two flows cross two links with 8 hops of a packet and its ACK, one
    crosses one with 6: 22 hops for 5 crossings."""
    assert busy(LINKS) == pytest.approx(52_500 * 22 / 5)


def test_points_that_are_not_tried_go_by_their_capacity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of five points are tried, for a moment that is all slow start: the sum of 1, 10, 100, 200
    and 50 Mb/s is 361 Mb/s, 1,353,750 hops in 5 s, and XCP uses nearly all of it."""
    monkeypatch.setattr(forecast, "MOST_TRIALS", 2)
    monkeypatch.setattr(forecast, "TRIAL_S", 0.0)
    text = DUMBBELL.replace("100s", "5s").replace("reno", "xcp") + (
        'start = "0s"\n[queues.router]\nkind = "xcp"\n'
        '[sweep]\nvary."topology.rate" = ["1Mbps", "10Mbps", "100Mbps", "200Mbps", "50Mbps"]\n'
    )
    text = text.replace('buffer = "1bdp"', 'buffer = "1bdp", queue = "router"')
    file = tmp_path / "x.toml"
    file.write_text(text)
    spec, store = sweep.load(file), Store(tmp_path / "store")
    found = forecast.forecast(spec, store, 1, runner.Options())
    assert found.tried_points == 2
    assert found.packet_hops == pytest.approx(1_353_750, rel=0.05)
    call("sweep", "run", file, "--store", tmp_path / "store", cwd=tmp_path)
    hops = sum(store.read_json(run)[0]["packet_hops"] for run in store.present())
    assert found.packet_hops == pytest.approx(hops, rel=0.15)
