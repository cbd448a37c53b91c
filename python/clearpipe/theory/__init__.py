"""The theory beside the packets: equilibria, stability, convergence and response functions.

    network     links and flows, of a scenario or of arrays
    waterfill   weighted max-min fair rates, and their certificate
    lowmodel    XCP's, iXCP's and MIAIMD's equilibrium on any network
    xcp         XCP's loop: margins, stability map, wrong capacity, mixed RTTs
    vcp         the MIAIMD fluid model
    rounds      AIMD, VCP and XCP's shuffling in whole rounds
    mlcp        how much feedback is enough
    responses   throughput against loss, for the baselines
    aqm         TCP with RED, REM, PI, a virtual queue, AVQ
    delay       systems with delays: roots and trajectories
    figures     the plots

`clearpipe theory` is the same on the command line; docs/reference/theory has formulas and sources.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearpipe.theory.lowmodel import ixcp_equilibrium, miaimd_equilibrium, xcp_equilibrium
    from clearpipe.theory.network import Network, of_paths, of_scenario
    from clearpipe.theory.waterfill import Allocation, Certificate, certify, maxmin

_PLACES = {
    "lowmodel": ("ixcp_equilibrium", "miaimd_equilibrium", "xcp_equilibrium"),
    "network": ("Network", "of_paths", "of_scenario"),
    "waterfill": ("Allocation", "Certificate", "certify", "maxmin"),
}


def __getattr__(name: str) -> Any:
    """Imported when asked for: the command line starts without NumPy."""
    for module, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"clearpipe.theory.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Allocation",
    "Certificate",
    "Network",
    "certify",
    "ixcp_equilibrium",
    "maxmin",
    "miaimd_equilibrium",
    "of_paths",
    "of_scenario",
    "xcp_equilibrium",
]
