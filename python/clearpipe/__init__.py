"""Clearpipe: keep the pipe full and the queue empty.

Congestion control for paths with a large bandwidth-delay product, simulated packet by packet.

    import clearpipe as cp

    result = cp.run("base-case-xcp", seed=1)
    result.summary["links"][0]["utilization_ratio"]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clearpipe.api import (
    Param,
    Progress,
    Protocol,
    Queue,
    Resolved,
    Variable,
    load,
    model_version,
    outdated,
    parts,
    protocols,
    queues,
    resolve,
    run,
    schema,
    version,
    versions,
)
from clearpipe.errors import (
    ClearpipeError,
    ConfigError,
    RunError,
    ToleranceError,
    UnsupportedError,
)
from clearpipe.result import GroupSummary, LinkSummary, Meta, Result, Spread, Summary
from clearpipe.table import Table

if TYPE_CHECKING:
    from clearpipe.branching import branch
    from clearpipe.prototype import Router, Sender
    from clearpipe.replications import Replications
    from clearpipe.scenario import *  # noqa: F403 - whatever tables a scenario has

__version__ = version()

_LATER = {
    "Replications": "clearpipe.replications",
    "Router": "clearpipe.prototype",
    "Sender": "clearpipe.prototype",
    "branch": "clearpipe.branching",
}


def __getattr__(name: str) -> Any:
    """What takes time to import, when it is asked for: the classes of `clearpipe.scenario` above
    all, which are made then."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name == "statistics":
        return import_module("clearpipe.statistics")
    # Submodules are asked for here too, by names in small letters.
    if name[:1].isupper():
        models = import_module("clearpipe.scenario")
        if name in models.__all__:
            return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *import_module("clearpipe.scenario").__all__})


__all__ = [
    "ClearpipeError",
    "ConfigError",
    "GroupSummary",
    "LinkSummary",
    "Meta",
    "Param",
    "Progress",
    "Protocol",
    "Queue",
    "Replications",
    "Resolved",
    "Result",
    "Router",
    "RunError",
    "Sender",
    "Spread",
    "Summary",
    "Table",
    "ToleranceError",
    "UnsupportedError",
    "Variable",
    "branch",
    "load",
    "model_version",
    "outdated",
    "parts",
    "protocols",
    "queues",
    "resolve",
    "run",
    "schema",
    "version",
    "versions",
]
