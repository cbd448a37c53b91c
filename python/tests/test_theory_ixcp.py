"""XCP's and iXCP's equilibria: iXCP's sections II-B and V, claim by claim."""

from __future__ import annotations

import numpy as np
import pytest
from theorising import base_rtts, random_network

import clearpipe as cp
from clearpipe.errors import ConfigError
from clearpipe.theory import (
    Network,
    certify,
    ixcp_equilibrium,
    maxmin,
    of_paths,
    xcp_equilibrium,
)
from clearpipe.theory.lowmodel import iterate, ixcp_feedback, xcp_feedback

# Figure 1: n long flows over 155 and 100 Mb/s, one short flow over the 155 Mb/s link.
MANY = 1_000_000


def figure_1(n: int) -> Network:
    return of_paths([155.0, 100.0], [[0, 1], [0]], count=[n, 1])


def test_ixcp_sec2b_example_c1() -> None:
    """The short flow stops at 43 Mb/s, the long ones at 25."""
    # r W ((a+g) (Y+r) - a c) = g (Y+r)^2 with W = 5, Y = 100: 2.4 r^2 - 80 r - 1000 = 0.
    long, short = xcp_equilibrium(figure_1(4)).rate
    assert short == pytest.approx((80 + np.sqrt(16000)) / 4.8, rel=1e-12)
    assert (short, long) == pytest.approx((43, 25), abs=0.1)


def test_ixcp_sec2b_example_c2() -> None:
    """12 of 155 Mb/s are unused."""
    assert 155 - xcp_equilibrium(figure_1(4)).load[0] == pytest.approx(12, abs=0.1)


def test_ixcp_sec2b_example_c3() -> None:
    """Spare 4.8 and shuffled 9.5 Mb/s; increase 2.86; decrease 2.86 and 1.66."""
    # At the text's rounded rates.
    told = xcp_feedback(figure_1(4), [25.0, 43.0])
    assert told.spare[0] == pytest.approx(4.8, abs=0.01)
    assert told.shuffled[0] == pytest.approx(9.5, abs=0.01)
    long, _, short = range(3)  # link 0 and 1 of the long flows, link 0 of the short one
    assert told.increase[[long, short]] == pytest.approx([2.86, 2.86], abs=0.01)
    assert told.decrease[[short, long]] == pytest.approx([2.86, 1.66], abs=0.01)


def test_ixcp_sec2b_example_c4() -> None:
    """Packets come to rest where the model does, within 4 %."""
    link = {"owd": "10ms", "buffer": "1bdp", "queue": "xcp", "duplex": True}
    flow = {"protocol": "xcp", "rtt": "80ms"}
    result = cp.run(
        {
            "schema": 1,
            "name": "figure-1",
            "duration": "14s",
            "warmup": "8s",
            "links": {
                "first": {"from": "a", "to": "b", "rate": "155Mbps", **link},
                "second": {"from": "b", "to": "c", "rate": "100Mbps", **link},
            },
            "flows": {
                "long": {"from": "a", "to": "c", "count": 4, **flow},
                "short": {"from": "a", "to": "b", **flow},
            },
        }
    )
    groups = result.summary["groups"]
    rates = {g["group"]: g["total_goodput_bps"] / g["flows"] / 1e6 for g in groups}
    assert rates["short"] == pytest.approx(43, rel=0.04)
    assert rates["long"] == pytest.approx(25, rel=0.04)


def test_ixcp_lowmodel_c1() -> None:
    """At worst 80 % of the link are used: alpha / (alpha + gamma)."""
    assert xcp_equilibrium(figure_1(MANY)).utilization[0] == pytest.approx(0.8, abs=1e-3)
    rng = np.random.default_rng(1)
    for _ in range(300):
        found = xcp_equilibrium(random_network(rng, limits=False))
        held = np.unique(found.bottleneck)
        assert np.all(found.utilization[held] > 0.8)
        assert np.all(found.utilization < 1 + 1e-9)


def test_ixcp_lowmodel_c2() -> None:
    """The short flow has 53.38 (n = 2) down to 24.00 Mb/s, so between 24 and 55."""
    # Each the positive root of (n+1) r (0.5 (100+r) - 62) = 0.1 (100+r)^2.
    table = {
        2: 53.38, 4: 43.02, 8: 35.49, 16: 30.56, 32: 27.58, 64: 25.88, 1024: 24.12, MANY: 24.00,
    }  # fmt: skip
    for n, expected in table.items():
        short = xcp_equilibrium(figure_1(n)).rate[1]
        assert short == pytest.approx(expected, abs=0.006), n
        assert (n + 1) * short * (0.5 * (100 + short) - 62) == pytest.approx(
            0.1 * (100 + short) ** 2
        )
        assert 24 - 0.2 <= short <= 55 + 0.2


def test_ixcp_sec3_overhead_c2() -> None:
    """iXCP gains almost 20 % of the link."""
    network = figure_1(1024)
    gain = ixcp_equilibrium(network).utilization[0] - xcp_equilibrium(network).utilization[0]
    assert gain == pytest.approx(0.2, abs=0.03)


def test_ixcp_fig16_c3() -> None:
    """16 RTTs from 60 ms on in steps of 85 ms end at 1335 ms: the text's 1.4 s does not fit."""
    scenario = f"""\
schema = 1
name = "x"
duration = "1s"
[topology]
kind = "dumbbell"
rate = "100Mbps"
rtt = "60ms"
[flows.a]
protocol = "xcp"
count = 16
rtt = {[f"{60 + 85 * i}ms" for i in range(16)]}
"""
    rtts = base_rtts(scenario, "a")
    assert (rtts[0], rtts[-1]) == pytest.approx((0.060, 1.335))
    assert rtts[-1] != pytest.approx(1.4, abs=0.01)


TOPOLOGIES = {
    "figure 1, n = 4": figure_1(4),
    "figure 1, n = 1024": figure_1(1024),
    # Five links in a row, one long flow and one short one each.
    "five links": of_paths(
        [100.0, 80.0, 60.0, 80.0, 100.0], [[0, 1, 2, 3, 4], [0], [1], [2], [3], [4]]
    ),
    "nine links": of_paths(
        [155.0, 155.0, 100.0, 50.0, 155.0, 70.0, 100.0, 155.0, 155.0],
        [list(range(9)), [0, 1, 2], [3, 4], [4, 5, 6], [7, 8], [1], [6, 7]],
        count=[10, 5, 3, 8, 2, 1, 4],
    ),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_ixcp_thm1_c1(name: str) -> None:
    """phi is 0 at every bottleneck."""
    found = ixcp_equilibrium(TOPOLOGIES[name])
    told = ixcp_feedback(found.network, found.rate, found.bottleneck)
    held = np.unique(found.bottleneck)
    assert told.spare[held] == pytest.approx(0, abs=1e-6)
    assert found.utilization[held] == pytest.approx(1, abs=1e-6)
    assert told.smallest == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_ixcp_thm1_c2(name: str) -> None:
    """The flows held at l share (y - y0) / (N - N0) each, and the rates are max-min fair."""
    found = ixcp_equilibrium(TOPOLOGIES[name])
    network = found.network
    for link in np.unique(found.bottleneck):
        here = np.unique(network.flow[network.link == link])
        own = here[found.bottleneck[here] == link]
        others = np.setdiff1d(here, own)
        rest = found.load[link] - float(np.dot(found.rate[others], network.count[others]))
        assert found.rate[own] == pytest.approx(rest / network.count[own].sum(), rel=1e-6)
    assert certify(network, found.rate).holds


def test_ixcp_thm1_c2_on_200_random_networks() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        network = random_network(rng, limits=False)
        found = ixcp_equilibrium(network)
        assert found.rate == pytest.approx(maxmin(network).rate, rel=1e-6)
        # By iXCP's own feedback nothing moves.
        told = ixcp_feedback(network, found.rate, found.bottleneck)
        assert told.smallest == pytest.approx(0, abs=1e-9 * float(network.capacity.max()))


def test_ixcp_thm1_c3() -> None:
    """With phi = 0 flows that others hold get nothing, and the feedback to the rest sums to 0."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        flows = int(rng.integers(2, 30))
        rate = rng.uniform(0.1, 5, flows)
        network = of_paths([float(rate.sum()), 1e6], [[0, 1]] * flows)
        bottleneck = rng.integers(0, 2, flows)
        told = ixcp_feedback(network, rate, bottleneck)
        net = told.net.reshape(flows, 2)[:, 0]
        assert told.spare[0] == pytest.approx(0, abs=1e-9)
        assert net[bottleneck == 1] == pytest.approx(0, abs=1e-9)
        assert net.sum() == pytest.approx(0, abs=1e-9)


def test_the_feedback_leads_to_the_equilibria() -> None:
    """From any start the rates go where the solvers say; the solvers know nothing of the way."""
    # Capacities that do not tie: with ties a flow's bottleneck goes to and fro for ever.
    rng = np.random.default_rng(7)
    for _ in range(5):
        links, flows = int(rng.integers(2, 6)), int(rng.integers(2, 9))
        used = rng.random((flows, links)) < 0.5
        used[np.arange(flows), rng.integers(0, links, flows)] = True
        network = of_paths(rng.uniform(1, 10, links), [np.flatnonzero(row) for row in used])
        start = rng.uniform(0.01, 0.3, flows)
        for ixcp, solve in ((False, xcp_equilibrium), (True, ixcp_equilibrium)):
            came = iterate(network, start, 1500, ixcp=ixcp, gain=0.3)
            assert came == pytest.approx(solve(network).rate, rel=1e-6)


def test_xcp_equilibrium_is_where_its_feedback_is_zero() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        network = random_network(rng, limits=False)
        found = xcp_equilibrium(network)
        told = xcp_feedback(network, found.rate)
        assert told.smallest == pytest.approx(0, abs=1e-9 * float(network.capacity.max()))


def test_xcp_takes_the_routers_parameters_from_the_scenario() -> None:
    text = """\
schema = 1
name = "x"
duration = "1s"
[links.first]
from = "a"
to = "b"
rate = "155Mbps"
owd = "10ms"
queue = { kind = "xcp", gamma = 0.2 }
duplex = true
[links.second]
from = "b"
to = "c"
rate = "100Mbps"
owd = "10ms"
queue = "xcp"
duplex = true
[flows.long]
protocol = "xcp"
from = "a"
to = "c"
count = 4
[flows.short]
protocol = "xcp"
from = "a"
to = "b"
"""
    from clearpipe.theory import of_scenario

    with pytest.raises(ConfigError, match="without shuffling there is no one equilibrium"):
        xcp_equilibrium(of_scenario(text.replace("gamma = 0.2", "gamma = 0.0")))
    network = of_scenario(text)
    assert network.gamma[:1].tolist() == [0.2]
    # 5 r (0.6 (100+r) - 62) = 0.2 (100+r)^2: 2.8 r^2 - 50 r - 2000 = 0.
    short = xcp_equilibrium(network).rate[1]
    assert short / 1e6 == pytest.approx((50 + np.sqrt(2500 + 4 * 2.8 * 2000)) / 5.6)
