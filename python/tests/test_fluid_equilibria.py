"""The fluid engine comes to rest where the algebra of the theory says, on random networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clearpipe as cp
from clearpipe.theory import ixcp_equilibrium, of_scenario, xcp_equilibrium


def random_scenario(rng: np.random.Generator, protocol: str) -> dict[str, Any]:
    """Nodes in a row, with a link to the next and some that leap; data go up, by any way there is.

    So a link carries data or ACKs and not both: the algebra knows no ACKs. Capacities do not tie.
    """
    nodes = int(rng.integers(2, 7))
    leaps = [(i, j) for i in range(nodes) for j in range(i + 2, nodes) if rng.random() < 0.15]
    links = {
        f"l{i}-{j}": {
            "from": f"n{i}",
            "to": f"n{j}",
            "rate": f"{rng.uniform(20, 200):.3f}Mbps",
            "owd": f"{rng.uniform(1, 6):.2f}ms",
            "queue": protocol,
            "duplex": True,
        }
        for i, j in [(i, i + 1) for i in range(nodes - 1)] + leaps
    }
    flows: dict[str, Any] = {}
    for i in range(int(rng.integers(1, 9))):
        at, last = map(int, np.sort(rng.choice(nodes, 2, replace=False)))
        path: list[str] = []
        while at != last:
            ways = [b for a, b in [(at, at + 1), *leaps] if a == at and b <= last]
            to = int(rng.choice(ways))
            path.append(f"l{at}-{to}")
            at = to
        flows[f"f{i}"] = {
            "protocol": protocol,
            "path": path,
            "reverse_path": [f"{link}.reverse" for link in reversed(path)],
            "count": int(rng.integers(1, 4)),
            "rtt": f"{rng.uniform(65, 160):.1f}ms",
        }
    return {
        "schema": 1,
        "name": "random",
        "duration": "200s",
        "warmup": "90%",
        "links": links,
        "flows": flows,
    }


# At rest a full link tells all packets a spare feedback of 0, so for a flow that crosses two the
# least is a tie, and iXCP's packets name now this link and now that: its rates rest a little off,
# the more where the links tell what they saw an interval before.
@pytest.mark.parametrize(
    ("cases", "protocol", "form", "solve", "off"),
    [
        (200, "xcp", "intervals", xcp_equilibrium, 0.002),
        (50, "xcp", "continuous", xcp_equilibrium, 0.002),
        (200, "ixcp", "intervals", ixcp_equilibrium, 0.03),
        (50, "ixcp", "continuous", ixcp_equilibrium, 0.01),
    ],
)
def test_it_rests_where_the_algebra_says(
    cases: int, protocol: str, form: str, solve: Any, off: float
) -> None:
    rng = np.random.default_rng(11)
    for case in range(cases):
        scenario = random_scenario(rng, protocol)
        want = solve(of_scenario(scenario)).rate
        result = cp.run(scenario, engine="fluid", set=[f"fluid.xcp={form}"])
        names = result.groups.column("group")
        rates = dict(zip(names, result.groups.column("goodput_bps"), strict=True))
        counts = [flow["count"] for flow in scenario["flows"].values()]
        each = [rates[name] / n for name, n in zip(scenario["flows"], counts, strict=True)]
        assert each == pytest.approx(want, rel=off), case
