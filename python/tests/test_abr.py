"""Explicit rates on random networks, with Bertsekas and Gallager's max-min as the referee."""

from __future__ import annotations

import random

import pytest

import clearpipe as cp
from clearpipe.theory import network, waterfill

TARGET = 0.95


def drawn(seed: int, links: int, groups: int) -> str:
    """A chain of links of any capacities, and groups of flows over any stretches of it."""
    draw = random.Random(seed)
    text = f'schema = 1\nname = "abr-{seed}"\nduration = "20s"\nwarmup = "50%"\n'
    for i in range(links):
        rate = draw.choice([4, 6, 10, 15, 25])
        text += (
            f'[links.l{i}]\nfrom = "n{i}"\nto = "n{i + 1}"\nrate = "{rate}Mbps"\nowd = "5ms"\n'
            'queue = "charny"\nbuffer = "500pkt"\nduplex = true\n'
        )
    for g in range(groups):
        first = draw.randrange(links)
        last = draw.randrange(first, links)
        text += (
            f'[flows.g{g}]\nprotocol = "charny"\ncount = {draw.randint(1, 3)}\n'
            f'from = "n{first}"\nto = "n{last + 1}"\naccess_owd = "{draw.choice([0, 2, 9])}ms"\n'
            'start = "uniform(0s, 1s)"\n'
        )
    return text


@pytest.mark.parametrize("seed", range(1, 7))
def test_rates_are_max_min_within_2_percent(seed: int) -> None:
    scenario = drawn(seed, links=3 + seed % 4, groups=4 + seed)
    result = cp.run(scenario, seed=seed)
    net = network.of_scenario(scenario)
    fair = dict(zip(net.flows, TARGET * waterfill.maxmin(net).rate, strict=True))
    assert len(fair) == 4 + seed
    for group, rate in zip(result.flows["group"], result.flows["goodput_bps"], strict=True):
        assert rate == pytest.approx(fair[group], rel=0.02), group
