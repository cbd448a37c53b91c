"""Replications until a metric is known well enough: for a run, and for each point of a sweep.

There are `min_reps`, then as many as the interval so far asks for, at most twice what is there, and
so on until half of the 95 % t interval is within the wanted share of the mean, or `max_reps` is
reached. Stopping when an interval looks narrow makes it cover a little less than 95 %; `min_reps`
keeps that small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from clearpipe import statistics
from clearpipe.api import MAX_REPS
from clearpipe.errors import ConfigError

OPTION = "--until"
WANTED = "expected ci=2%[,metric=NAME][,min=N][,max=N]"


@dataclass(frozen=True)
class Until:
    """What is to be known how well."""

    metric: str
    ci_ratio: float
    """Half of the 95 % interval over the mean."""
    min_reps: int = 5
    max_reps: int = 100
    key: str = "sweep.until.metric"
    """What named the metric: a key of a file, or an option."""


def parse(text: str, default: Until | None = None, where: str = OPTION) -> Until:
    """`ci=2%` and perhaps `,metric=NAME,max=N,min=N`, as `--until` takes it."""
    split = (part.partition("=")[::2] for part in text.split(","))
    parts = {name.strip(): value.strip() for name, value in split}
    if "ci" not in parts or parts.keys() - {"ci", "metric", "min", "max"}:
        raise ConfigError(f"{where}: {text!r}: {WANTED}", key=where)
    base = default or Until("utilization_ratio", 0.0)
    try:
        low = int(parts.get("min", base.min_reps))
        high = int(parts.get("max", base.max_reps))
    except ValueError:
        raise ConfigError(f"{where}: {text!r}: {WANTED}", key=where) from None
    ratio = percentage(parts["ci"], where)
    key = where if default is None or "metric" in parts else base.key
    return checked(Until(parts.get("metric", base.metric), ratio, low, high, key), where)


def checked(until: Until, where: str) -> Until:
    """Refuses numbers of replications that there cannot be."""
    least = statistics.FEW
    if not least <= until.min_reps <= until.max_reps <= MAX_REPS:
        raise ConfigError(
            f"{where}: min_reps = {until.min_reps} and max_reps = {until.max_reps}: "
            f"expected {least} <= min_reps <= max_reps <= {MAX_REPS}",
            key=where,
        )
    return until


def percentage(text: object, where: str) -> float:
    """`2%` as 0.02."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*%\s*", str(text))
    try:
        value = float(match[1]) / 100 if match else math.nan
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        told = f"{where}: {text!r}: expected a share above 0% and up to 100%"
        raise ConfigError(told, key=where)
    return value


def needed(until: Until, found: Sequence[float], have: int, lacking: int = 0) -> int:
    """How many replications are needed where there are `have`; as many when that is enough.

    `found` is the metric where there is one. A mean over some of the runs only is no mean of them
    all, so with `lacking` runs there is nothing to stop at before `max_reps`.
    """
    if have >= until.max_reps or not found:
        return have
    if lacking:
        return until.max_reps
    most = min(2 * have, until.max_reps)
    if len(found) < 2:
        return most
    interval = statistics.t_interval(found)
    if interval.ratio <= until.ci_ratio:
        return have
    if math.isinf(interval.ratio):
        return most
    guess = math.ceil(have * (interval.ratio / until.ci_ratio) ** 2)
    return min(max(guess, have + 1), most)
