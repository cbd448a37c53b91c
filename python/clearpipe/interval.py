"""Confidence intervals of a difference of means: another name for those of `statistics`."""

from clearpipe.statistics import LEVEL, paired, welch

__all__ = ["LEVEL", "paired", "welch"]
