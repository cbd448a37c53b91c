"""Linear and nonlinear systems with constant delays: roots, margins, trajectories.

All with the exact delay, no Pade approximation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearpipe.errors import ConfigError

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A solution: `x[k]` is the state at `t[k]`."""

    t: Array
    x: Array


class Past:
    """What has been: the state at any time up to now, cubic between the steps."""

    def __init__(self, history: Callable[[float], Array], begin: float) -> None:
        self._history = history
        self._begin = begin
        self._t: list[float] = []
        self._x: list[Array] = []
        self._dx: list[Array] = []

    def add(self, t: float, x: Array, dx: Array) -> None:
        self._t.append(t)
        self._x.append(x)
        self._dx.append(dx)

    def __call__(self, t: float) -> Array:
        """The state at `t`, which may not lie after the last step."""
        if t <= self._begin:
            return self._history(t)
        times = self._t
        k = min(bisect_right(times, t), len(times) - 1)
        low, high = times[k - 1], times[k]
        h = high - low
        s = (t - low) / h
        p, q = s * s * (3 - 2 * s), s * (1 - s)
        return (
            (1 - p) * self._x[k - 1]
            + p * self._x[k]
            + h * q * ((1 - s) * self._dx[k - 1] - s * self._dx[k])
        )


def integrate(
    rhs: Callable[[float, Array, Past], ArrayLike],
    history: Callable[[float], ArrayLike] | ArrayLike,
    *,
    t_end: float,
    step: float,
    smallest_delay: float,
    floor: float | None = None,
) -> Trajectory:
    """The solution of x' = rhs(t, x, past) from 0 to `t_end`, by the method of steps.

    `past(t - d)` is the state a delay d ago; `history` is the state up to 0, a function of time or
    a constant. Runge-Kutta of fourth order with a fixed step, which is shortened to a whole part of
    `smallest_delay`, so that no stage asks for what is not there yet and the corners of the
    solution, at multiples of a single delay, fall on steps. `floor` bounds every state from below.

    >>> decay = integrate(lambda t, x, past: -past(t - 1.0), [1.0], t_end=1, step=0.1,
    ...                   smallest_delay=1.0)
    >>> round(float(decay.x[-1][0]), 12)
    0.0
    """
    if not (step > 0 and smallest_delay > 0 and t_end >= 0):
        raise ConfigError("step and delay must be above 0, and t_end not below")
    h = smallest_delay / np.ceil(smallest_delay / step)
    steps = int(np.ceil(t_end / h - 1e-9))
    before = _function(history)
    past = Past(before, 0.0)

    def slope(t: float, x: Array) -> Array:
        return np.asarray(rhs(t, x, past), dtype=float)

    x = before(0.0)
    states = [x]
    past.add(0.0, x, slope(0.0, x))
    for k in range(steps):
        t = k * h
        k1 = slope(t, x)
        k2 = slope(t + h / 2, x + h / 2 * k1)
        k3 = slope(t + h / 2, x + h / 2 * k2)
        k4 = slope(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if floor is not None:
            x = np.maximum(x, floor)
        states.append(x)
        past.add(t + h, x, slope(t + h, x))
    return Trajectory(h * np.arange(steps + 1), np.array(states))


def _function(history: Callable[[float], ArrayLike] | ArrayLike) -> Callable[[float], Array]:
    if callable(history):
        return lambda t: np.atleast_1d(np.asarray(history(t), dtype=float))
    constant = np.atleast_1d(np.asarray(history, dtype=float))
    return lambda _: constant


def rightmost_root(
    now: ArrayLike, delayed: Sequence[tuple[ArrayLike, float]], nodes: int = 20
) -> complex:
    """The root of largest real part of x' = A x + sum of B_k x(t - d_k), all of it stable below 0.

    Of a pair of complex roots the one above the axis; as `roots` finds them.
    """
    polished = _roots(now, delayed, nodes)
    found = max(polished, key=lambda root: root.real)
    return complex(found.real, abs(found.imag))


def roots(
    now: ArrayLike, delayed: Sequence[tuple[ArrayLike, float]], count: int, nodes: int = 20
) -> list[complex]:
    """The `count` roots of largest real part, from the right; one of each pair of complex ones.

    By collocation of the generator of the solution on Chebyshev points (Breda, Maset, Vermiglio,
    SIAM J. Sci. Comput. 27(2), 2005), then Newton's method on the characteristic determinant. Of
    n states the collocation is trusted for 2 n + 4 roots.
    """
    found: list[complex] = []
    for root in sorted(_roots(now, delayed, nodes), key=lambda root: -root.real):
        above = complex(root.real, abs(root.imag))
        if all(abs(above - other) > 1e-6 * max(abs(above), 1.0) for other in found):
            found.append(above)
    return found[:count]


def _roots(now: ArrayLike, delayed: Sequence[tuple[ArrayLike, float]], nodes: int) -> list[complex]:
    matrix = np.atleast_2d(np.asarray(now, dtype=float))
    terms = [(np.atleast_2d(np.asarray(b, dtype=float)), float(d)) for b, d in delayed]
    size, longest = len(matrix), max(d for _, d in terms)
    points, derivative = _chebyshev(nodes)
    # The state from now back to the longest delay, on points from 1 to -1.
    generator = np.kron(2 / longest * derivative, np.eye(size))
    first = np.kron(_lagrange(points, 1.0), matrix)
    for b, d in terms:
        first = first + np.kron(_lagrange(points, 1 - 2 * d / longest), b)
    generator[:size] = first
    values = np.linalg.eigvals(generator)
    best = values[np.argsort(-values.real)[: 2 * size + 4]]
    return [_polish(matrix, terms, complex(root)) for root in best]


def _chebyshev(n: int) -> tuple[Array, Array]:
    """Points cos(pi k / n) and the matrix that differentiates on them."""
    k = np.arange(n + 1)
    x = np.cos(np.pi * k / n)
    c = np.where((k == 0) | (k == n), 2.0, 1.0) * (-1.0) ** k
    difference = x[:, None] - x[None, :] + np.eye(n + 1)
    d = np.outer(c, 1 / c) / difference
    d -= np.diag(d.sum(axis=1))
    return x, d


def _lagrange(x: Array, at: float) -> Array:
    """A row that interpolates from Chebyshev points to `at` (barycentric)."""
    n = len(x) - 1
    weight = (-1.0) ** np.arange(n + 1)
    weight[[0, n]] *= 0.5
    gap = at - x
    hit = np.isclose(gap, 0.0, atol=1e-14)
    if hit.any():
        return hit[None, :].astype(float)
    terms = weight / gap
    return np.asarray((terms / terms.sum())[None, :])


def _polish(matrix: Array, terms: Sequence[tuple[Array, float]], root: complex) -> complex:
    """Newton's method on det(s I - A - sum of B exp(-s d)), if it stays where it began."""
    s = root
    for _ in range(20):
        inner = s * np.eye(len(matrix)) - matrix
        slope: Complex = np.eye(len(matrix), dtype=complex)
        for b, d in terms:
            decay = np.exp(-s * d)
            inner = inner - b * decay
            slope = slope + d * b * decay
        try:
            step = 1 / np.trace(np.linalg.solve(inner, slope))
        except np.linalg.LinAlgError:
            return s
        s -= complex(step)
        if abs(step) < 1e-13 * max(abs(s), 1.0):
            break
    return s if abs(s - root) < 0.1 * max(abs(root), 0.1) else root


def unstable_roots(
    response: Callable[[Array], Complex], order: int, highest: float, points: int = 20001
) -> int:
    """How many roots a quasi-polynomial of retarded type has on the right (Mikhailov).

    `response` is f(j omega) for an array of omega, of degree `order` without delay, and `highest` a
    frequency beyond which the delay-free term exceeds the rest. The argument of f turns by
    (order - 2 n) pi / 2 from 0 to infinity if n roots are on the right.
    """
    omega = highest * np.linspace(0.0, 1.0, points) ** 2
    values = response(omega)
    turned = float(np.sum(np.angle(values[1:] / values[:-1])))
    # Beyond `highest` the argument ends at that of (j omega)^order, less than pi/2 away.
    rest = float(np.angle(values[-1] / (1j) ** order))
    return round(order / 2 - (turned - rest) / np.pi)
