"""What the tests share: one small scenario and its result."""

from __future__ import annotations

import pytest

import clearpipe as cp

SMALL = """\
schema = 1
name = "small"
duration = "5s"
warmup = "1s"

[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "1bdp"
queue = "xcp"

[flows.long]
protocol = "xcp"
count = 2

[flows.short]
protocol = "xcp"
count = 3
start = "uniform(0s, 1s)"
size = "100kB"

[probe]
series = ["cwnd", "queue"]
every = "100ms"
"""

# Longer than any test lasts: it must be stopped.
ENDLESS = SMALL.replace('duration = "5s"', 'duration = "100000s"')


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """There is one kernel: what uses its network is run by one process, one test after another."""
    for item in items:
        if item.path.name.startswith("test_linux"):
            item.add_marker(pytest.mark.kernel)


@pytest.fixture(scope="session")
def small() -> str:
    return SMALL


@pytest.fixture(scope="session")
def endless() -> str:
    return ENDLESS


@pytest.fixture(scope="session")
def result() -> cp.Result:
    return cp.run(SMALL, seed=1)
