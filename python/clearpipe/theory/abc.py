"""ABC's loop: Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, NSDI 2020, section 3.1.

A router lets the share f = tr/(2 cr) of the packets that leave accelerate, a sender sends two
packets for each of them, and N senders add N packets per round trip. What arrives a round trip tau
later is tr + N/tau, with tr = mu (eta - max(0, x - d_t)/delta) and not below 0. So the queueing
delay x of a link of the capacity mu [packets/s] follows

    x'(t) = a - 1 + max(0, eta - max(0, x(t - tau) - d_t)/delta),    x >= 0,    a = N/(mu tau)

All times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from clearpipe.errors import ConfigError
from clearpipe.theory.delay import Trajectory, integrate

LOCAL = 2 / pi
"""Of delta over tau: above it, y' = -y(t - tau)/delta has no root with a real part of 0 or more."""
GLOBAL = 2 / 3
"""Of delta over tau: above it every solution of y' = -g(y(t - tau)) with 0 < g(y)/y <= 1/delta goes
to 0: tau/delta < 3/2 (Yorke, "Asymptotic stability for one dimensional differential-delay
equations", J. Differential Equations 7, 1970). It is ABC's theorem 3.1."""


@dataclass(frozen=True)
class Loop:
    """One link and its flows; `added` is a, their additive increase over the capacity."""

    tau: float = 0.1
    delta: float = 0.133
    added: float = 0.1
    d_t: float = 0.05
    eta: float = 0.98

    def __post_init__(self) -> None:
        for name in ("tau", "delta"):
            if not getattr(self, name) > 0:
                raise ConfigError(
                    f"{name}: {getattr(self, name)}: expected more than 0 s", key=name
                )

    @property
    def above(self) -> float:
        """By how much x is above d_t where all is at rest [s]; not positive: nothing waits."""
        return self.delta * (self.eta - 1 + self.added)

    @property
    def at_rest(self) -> float:
        """The delay x of the fixed point [s]."""
        return self.d_t + self.above if self.above > 0 else 0.0

    @property
    def utilization(self) -> float:
        """What of the link is used there."""
        return min(1.0, self.eta + self.added)

    @property
    def stable_nearby(self) -> bool:
        """Does a small disturbance die out?"""
        return self.above <= 0 or self.delta > LOCAL * self.tau

    @property
    def stable(self) -> bool:
        """Does every disturbance, by Yorke's condition? It suffices and need not be necessary."""
        return self.above <= 0 or self.delta > GLOBAL * self.tau

    def trajectory(self, start: float, t_end: float) -> Trajectory:
        """x from a constant history [s]."""

        def rate(t: float, _: object, past: object) -> list[float]:
            late = float(past(t - self.tau)[0])  # type: ignore[operator]
            told = max(0.0, self.eta - max(0.0, late - self.d_t) / self.delta)
            return [self.added - 1 + told]

        return integrate(
            rate, [start], t_end=t_end, step=self.tau / 10, smallest_delay=self.tau, floor=0.0
        )

    def swing(self, start: float, rounds: float = 300.0) -> float:
        """Half the distance between the extremes of the last 20 of so many round trips, in units
        of `above`: 0 at rest. A cycle swings through d_t, where nothing holds the rate back."""
        path = self.trajectory(start, rounds * self.tau)
        late = path.x[path.t > (rounds - 20) * self.tau, 0]
        return float(np.ptp(late)) / 2 / self.above
