"""Clearpipe: keep the pipe full and the queue empty.

Congestion control for paths with a large bandwidth-delay product, simulated packet by packet.

    import clearpipe as cp

    result = cp.run("examples/dumbbell.toml", seed=1)
    result.summary["links"][0]["utilization_ratio"]
"""

from clearpipe._core import Table
from clearpipe.api import (
    Param,
    Progress,
    Protocol,
    Queue,
    Resolved,
    Variable,
    load,
    model_version,
    protocols,
    queues,
    resolve,
    run,
    schema,
    version,
)
from clearpipe.branching import branch
from clearpipe.errors import (
    ClearpipeError,
    ConfigError,
    RunError,
    ToleranceError,
    UnsupportedError,
)
from clearpipe.result import GroupSummary, LinkSummary, Meta, Result, Spread, Summary

__version__ = version()

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
    "Resolved",
    "Result",
    "RunError",
    "Spread",
    "Summary",
    "Table",
    "ToleranceError",
    "UnsupportedError",
    "Variable",
    "branch",
    "load",
    "model_version",
    "protocols",
    "queues",
    "resolve",
    "run",
    "schema",
    "version",
]
