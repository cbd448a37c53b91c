"""Draws the fluid engine's runs over the packet engine's: `fluid_figures.py DIR`.

Writes `fluid-NAME.png` for each of the papers' figures that docs/fluid.md shows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import clearpipe as cp

RTTS = ["40ms", "60ms", "80ms", "100ms", "120ms"]


class Figure(NamedTuple):
    """What is drawn."""

    name: str
    title: str
    column: str
    label: str
    unit: float
    scenario: dict[str, Any]


def scenario(
    protocol: str,
    *,
    duration: str,
    rate: str,
    rtt: str,
    every: str,
    flows: dict[str, Any],
    **topology: Any,
) -> dict[str, Any]:
    """A dumbbell with one protocol."""
    flows = {name: {"protocol": protocol, **flow} for name, flow in flows.items()}
    dumbbell = {"kind": "dumbbell", "rate": rate, "rtt": rtt, "queue": protocol}
    return {
        "schema": 1,
        "name": protocol,
        "duration": duration,
        "topology": {**dumbbell, **topology},
        "flows": flows,
        "probe": {"series": ["cwnd", "goodput"], "every": every},
    }


FIGURES = [
    Figure(
        "xcp-fig10",
        "XCP: five flows join 45 Mb/s every 2 s (SIGCOMM 2002, figure 10)",
        "goodput_bps",
        "Mb/s",
        1e-6,
        scenario(
            "xcp",
            duration="10s",
            rate="45Mbps",
            rtt="40ms",
            every="200ms",
            flows={"a": {"count": 5, "start": "every(2s)"}},
        ),
    ),
    Figure(
        "vcp-fig01",
        "VCP: 10, 20 and 10 Mb/s from 80 and 120 s, flows from 0 and 40 s (ToN 2008, figure 1)",
        "cwnd_pkts",
        "packets",
        1.0,
        scenario(
            "vcp",
            duration="160s",
            rate="10Mbps",
            rtt="80ms",
            every="500ms",
            flows={"a": {}, "b": {"start": "40s"}},
            steps=[{"at": "80s", "rate": "20Mbps"}, {"at": "120s", "rate": "10Mbps"}],
        ),
    ),
    Figure(
        "vcp-fig10",
        "VCP: RTTs of 40 to 120 ms join 45 Mb/s every 100 s (ToN 2008, figure 10)",
        "goodput_bps",
        "Mb/s",
        1e-6,
        scenario(
            "vcp",
            duration="500s",
            rate="45Mbps",
            rtt="80ms",
            every="2s",
            flows={
                "fwd": {"count": 5, "rtt": RTTS, "start": "every(100s)"},
                "rev": {"count": 5, "rtt": RTTS, "direction": "reverse"},
            },
        ),
    ),
    Figure(
        "mlcp-start",
        "MLCP: the start of a flow at 1 Gb/s and 80 ms",
        "goodput_bps",
        "Mb/s",
        1e-6,
        scenario("mlcp", duration="6s", rate="1Gbps", rtt="80ms", every="80ms", flows={"a": {}}),
    ),
    Figure(
        "ixcp-fig01",
        "iXCP: four long flows over 155 and 100 Mb/s, one short over 155 Mb/s (iXCP, figure 1)",
        "goodput_bps",
        "Mb/s",
        1e-6,
        {
            "schema": 1,
            "name": "ixcp-fig01",
            "duration": "20s",
            "links": {
                "l1": {
                    **{"from": "a", "to": "b", "rate": "155Mbps", "owd": "10ms"},
                    **{"queue": "ixcp", "duplex": True},
                },
                "l2": {
                    **{"from": "b", "to": "c", "rate": "100Mbps", "owd": "10ms"},
                    **{"queue": "ixcp", "duplex": True},
                },
            },
            "flows": {
                "long": {
                    **{"protocol": "ixcp", "count": 4, "from": "a", "to": "c"},
                    **{"rtt": "80ms"},
                },
                "short": {"protocol": "ixcp", "from": "a", "to": "b", "rtt": "80ms"},
            },
            "probe": {"series": ["cwnd", "goodput"], "every": "100ms"},
        },
    ),
]


def draw(figure: Figure, path: Path) -> None:
    """One colour for each forward flow: packets pale, the fluid dashed on top."""
    fig, ax = plt.subplots(figsize=(8, 3.2))
    styles: dict[str, dict[str, Any]] = {
        "packet": {"alpha": 0.4, "linewidth": 2.2},
        "fluid": {"linestyle": "--", "linewidth": 1.0},
    }
    for engine, style in styles.items():
        result = cp.run(figure.scenario, engine=engine)  # type: ignore[arg-type]
        table = result.series(figure.column)
        columns = [table.column(name) for name in ("flow", "t_s", figure.column)]
        ids, times, values = (np.asarray(column) for column in columns)
        names = result.flows.column("group")
        seen = [flow for flow, name in enumerate(names) if name != "rev"]
        for k, flow in enumerate(seen):
            rows = ids == flow
            label = engine if k == 0 else None
            y = values[rows] * figure.unit
            ax.plot(times[rows], y, color=f"C{k}", label=label, **style)
    ax.set(xlabel="s", ylabel=figure.label, title=figure.title, ylim=(0, None))
    ax.title.set_fontsize(9)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    fig.tight_layout()
    fig.savefig(path, dpi=90)
    plt.close(fig)


def main() -> None:
    """Draws what this build has the protocols for."""
    known = {protocol["name"] for protocol in cp.protocols()}
    for figure in FIGURES:
        protocol = figure.name.split("-", maxsplit=1)[0]
        if protocol in known:
            path = Path(sys.argv[1]) / f"fluid-{figure.name}.png"
            draw(figure, path)
            print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
