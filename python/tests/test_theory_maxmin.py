"""Max-min fair rates: by hand, against the definition on random networks, and fast."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from theorising import random_network

from clearpipe import examples
from clearpipe.errors import ConfigError
from clearpipe.theory import Network, certify, maxmin, of_paths, of_scenario
from clearpipe.theory.waterfill import OWN

EXAMPLES = examples.FOLDER


def by_filling(network: Network) -> list[Fraction]:
    """Raises all levels together until a link is full or a limit is reached; in exact fractions."""
    flows, links = len(network.flows), len(network.capacity)
    capacity = [Fraction(c) for c in network.capacity]
    demand = [Fraction(n * w) for n, w in zip(network.count, network.weight, strict=True)]
    paths = [set(network.path(i).tolist()) for i in range(flows)]
    level = [Fraction(0)] * flows
    free = set(range(flows))
    while free:
        room = []
        for link in range(links):
            used = sum(
                (demand[i] * level[i] for i in range(flows) if link in paths[i]), Fraction(0)
            )
            weight = sum((demand[i] for i in free if link in paths[i]), Fraction(0))
            if weight:
                room.append((capacity[link] - used) / weight)
        step = min(room)
        for i in free:
            if np.isfinite(network.limit[i]):
                top = Fraction(network.limit[i]) / Fraction(network.weight[i])
                step = min(step, top - level[i])
        for i in free:
            level[i] += step
        load = [
            sum((demand[i] * level[i] for i in range(flows) if link in paths[i]), Fraction(0))
            for link in range(links)
        ]
        held = {i for i in free if any(load[link] == capacity[link] for link in paths[i])}
        for i in free - held:
            if np.isfinite(network.limit[i]) and level[i] * Fraction(network.weight[i]) == Fraction(
                network.limit[i]
            ):
                held.add(i)
        free -= held
    return [value * Fraction(w) for value, w in zip(level, network.weight, strict=True)]


def test_two_links_by_hand() -> None:
    # Two long flows share 100: 50 each; the short one has what is left of 155.
    found = maxmin(of_paths([155.0, 100.0], [[0, 1], [0, 1], [0]]))
    assert found.rate.tolist() == [50.0, 50.0, 55.0]
    assert found.bottleneck.tolist() == [1, 1, 0]
    assert found.utilization.tolist() == [1.0, 1.0]


def test_weights_counts_and_limits_by_hand() -> None:
    # 100 = 2 * 10 (limit) + 4 x + 1 x: x = 16 per weight; the weight-4 flow has 64.
    net = of_paths(
        [100.0], [[0], [0], [0]], weight=[1.0, 4.0, 1.0], count=[2, 1, 1], limit=[10.0, 1e9, 1e9]
    )
    found = maxmin(net)
    assert found.rate.tolist() == [10.0, 64.0, 16.0]
    assert found.bottleneck.tolist() == [OWN, 0, 0]


def test_against_filling_in_exact_fractions() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        network = random_network(rng)
        exact = np.array([float(x) for x in by_filling(network)])
        assert maxmin(network).rate == pytest.approx(exact, rel=1e-12)


def certified(cases: int) -> None:
    rng = np.random.default_rng(2)
    for case in range(cases):
        network = random_network(rng)
        found = maxmin(network)
        assert certify(network, found.rate).holds, case
        held = found.bottleneck != OWN
        assert found.utilization[found.bottleneck[held]] == pytest.approx(1, rel=1e-9)


def test_random_networks_are_certified() -> None:
    certified(2_000)


@pytest.mark.long
def test_ten_thousand_random_networks_are_certified() -> None:
    certified(10_000)


def test_the_certificate_refuses_what_is_not_fair() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        network = random_network(rng, limits=False)
        rate = maxmin(network).rate
        entry = int(rng.integers(len(rate)))
        for factor in (1.01, 0.99):
            wrong = rate.copy()
            wrong[entry] *= factor
            told = certify(network, wrong)
            assert not told.holds
            assert (told.overload > 1e-4) == (factor > 1)
    shared = of_paths([10.0], [[0], [0]])
    told = certify(shared, [6.0, 4.0])  # full, but unfair
    assert (told.overload, told.unfair) == (0.0, 1)
    assert not certify(of_paths([10.0], [[0]], limit=5.0), [6.0]).holds


def test_a_hundred_thousand_flows_take_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    links, flows, hops = 10_000, 100_000, 5
    # One link of each fifth: paths of five different links.
    paths = rng.integers(0, links // hops, (flows, hops)) * hops + np.arange(hops)
    network = of_paths(rng.uniform(1, 100, links), paths, weight=rng.uniform(0.5, 4, flows))
    begin = time.perf_counter()
    found = maxmin(network)
    took = time.perf_counter() - begin
    assert certify(network, found.rate).holds
    with capsys.disabled():
        print(f"\nmax-min of {flows} flows over {links} links: {took:.2f} s")
    assert took < 10


def test_scenarios() -> None:
    lot = of_scenario(EXAMPLES / "parking-lot.toml")
    assert "group back left out: its transfers end" in lot.notes
    found = maxmin(lot)
    # 10 long and 2 crossing flows at each 50 Mb/s link.
    assert found.rate == pytest.approx(np.full(6, 50e6 / 12))
    paths = maxmin(of_scenario(EXAMPLES / "two-paths.toml"))
    names = dict(zip(paths.network.flows, paths.rate, strict=True))
    # 4 + 1 flows by satellite, 8 over 20 Mb/s at sea.
    assert names == pytest.approx({"bulk": 20e6, "split": 20e6, "ground": 2.5e6})


def test_overrides_weights_and_access_lines() -> None:
    text = (EXAMPLES / "base-case-xcp.toml").read_text(encoding="utf-8")
    slow = of_scenario(text, set=["flows.fwd.access_rate=1Mbps"])
    found = dict(zip(slow.flows, maxmin(slow).rate, strict=True))
    assert found["fwd"] == 1e6
    asked = 'flows.fwd.protocol={ kind = "xcp", rate = 2e5, price = 3.0 }'
    modest = of_scenario(text, set=[asked])
    assert modest.weight[modest.flows.index("fwd")] == 3.0
    assert dict(zip(modest.flows, maxmin(modest).rate, strict=True))["fwd"] == 2e5


def test_a_link_as_slow_as_the_access_line_is_the_bottleneck() -> None:
    text = (EXAMPLES / "base-case-xcp.toml").read_text(encoding="utf-8")
    alone = ["flows.fwd.count=1", "flows.fwd.access_rate=1x"]
    network = of_scenario(text, set=alone)
    found = maxmin(network)
    fwd = network.flows.index("fwd")
    assert network.links[found.bottleneck[fwd]] == "bottleneck"
    assert found.rate[fwd] == network.limit[fwd] == 150e6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([0.0], [[0]]), "capacity: 0 is not allowed (allowed: above 0)"),
        (([1.0], [[]]), "paths: flow 0 has no link"),
        (([1.0], [[1]]), "paths: links are numbered 0 to 0"),
        (([1.0, 2.0], [[0], [1, 1]]), "paths: flow 1 crosses link 1 twice"),
    ],
)
def test_bad_networks_are_refused(
    arguments: tuple[list[float], list[list[int]]], told: str
) -> None:
    with pytest.raises(ConfigError) as error:
        of_paths(*arguments)
    assert str(error.value) == told


def test_a_scenario_without_long_flows_is_refused() -> None:
    text = (EXAMPLES / "web-traffic.toml").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="an equilibrium needs a group of flows without an end"):
        of_scenario(
            text.replace('size = { cdf = "web-search.cdf" }', 'size = "1MB"'),
            set=["flows.long.size=1MB"],
        )
