"""XCP's control loop (XCP, section 4 and appendix B) and TCP's with AQMs, claim by claim."""

from __future__ import annotations

from math import atan, isnan, pi, sqrt

import numpy as np
import pytest

from clearpipe.errors import ConfigError
from clearpipe.theory import aqm, of_paths, xcp
from clearpipe.theory.delay import integrate, rightmost_root, unstable_roots
from clearpipe.theory.lowmodel import xcp_feedback

EDGE = pi / (4 * sqrt(2))


def growth(alpha: float) -> float:
    """The last 20 RTTs' largest deviation over that of the first 20, integrated."""
    beta = alpha**2 * sqrt(2)
    run = xcp.trajectory(alpha, beta, start=xcp.Start(0.5, 0.0), steps_per_rtt=8)
    away = np.abs(run.x - np.array([1.0, 0.0]))
    part = len(away) // 10
    return float(away[-part:].max() / away[:part].max())


def test_xcp_thm1_c1() -> None:
    """Stable for every alpha below pi / (4 sqrt 2) = 0.5554."""
    assert pytest.approx(EDGE) == xcp.ALPHA_MAX
    for alpha in np.linspace(0.01, 0.5553, 20):
        loop = xcp.margins(alpha, xcp.theorem_beta(alpha))
        assert loop.stable
        assert loop.decay < 0
    for alpha in (0.5555, 0.56, 0.6, 0.7):
        loop = xcp.margins(alpha, xcp.theorem_beta(alpha))
        assert not loop.stable
        assert loop.decay > 0
    # The same from trajectories, to either side of the edge.
    for alpha in (0.5, 0.55):
        assert growth(alpha) < 1, alpha
    for alpha in (0.56, 0.6):
        assert growth(alpha) > 1, alpha


def test_xcp_thm1_c2() -> None:
    """alpha 0.4 and beta 0.226 are the theorem's."""
    assert xcp.theorem_beta(0.4) == pytest.approx(0.226, abs=0.0005)
    assert xcp.ALPHA < xcp.ALPHA_MAX


def test_xcp_thm1_c3() -> None:
    """Stability and settling in units of d do not depend on d, c or N."""
    first = xcp.trajectory(d=0.01, capacity=1.5e6, start=xcp.Start(0.5, 0.2), t_end=0.5)
    for d, capacity in ((0.08, 155e6), (1.4, 4e9)):
        other = xcp.trajectory(d=d, capacity=capacity, start=xcp.Start(0.5, 0.2), t_end=50 * d)
        scale, scale_1 = (np.array([c, c * x]) for c, x in ((capacity, d), (1.5e6, 0.01)))
        assert other.x / scale == pytest.approx(first.x / scale_1, abs=1e-6)
    decay = xcp.margins().decay
    for n in (1, 10, 100):
        assert xcp.mixed_rtts([0.08] * n).decay == pytest.approx(decay, abs=1e-6)
        assert xcp.mixed_rtts([1.4] * n).stable
    # N flows get together what one would: here 10 of 100 is spare.
    for n in (1, 10, 1000):
        told = xcp_feedback(of_paths([100.0], [[0]], count=n), [90.0 / n])
        assert n * told.net[0] == pytest.approx(0.4 * 10)


def test_xcp_fig14_c1() -> None:
    """On the theorem's curve the crossover is the zero's frequency: omega d = alpha sqrt 2."""
    assert xcp.margins(0.4, 0.226).crossover == pytest.approx(0.5657, abs=0.001)
    for alpha in (0.1, 0.4, 0.5):
        beta = xcp.theorem_beta(alpha)
        crossover = xcp.margins(alpha, beta).crossover
        assert crossover == pytest.approx(alpha * sqrt(2))
        assert crossover == pytest.approx(beta / alpha)
        assert abs(xcp.open_loop(crossover, alpha, beta)) == pytest.approx(1)


def test_xcp_fig14_c4() -> None:
    """At alpha = pi / (4 sqrt 2) the phase margin is 0 and the gain margin 1."""
    loop = xcp.margins(EDGE, xcp.theorem_beta(EDGE))
    assert (loop.phase_rad, loop.gain) == pytest.approx((0, 1), abs=1e-3)


def test_xcp_fig14_c5() -> None:
    """The margins do not depend on d."""
    one = xcp.margins(d=1e-3)
    for d in (0.01, 0.08, 1.0, 10.0):
        other = xcp.margins(d=d)
        assert (other.phase_rad, other.gain) == pytest.approx((one.phase_rad, one.gain), abs=1e-9)
        assert other.delay_s / d == pytest.approx(one.delay_s / 1e-3, abs=1e-9)


def encirclements(alpha: float) -> int:
    """How often G and its mirror image go clockwise around -1, by counting crossings left of it."""
    beta = xcp.theorem_beta(alpha)
    omega = np.geomspace(1e-3, 1e2, 200_001)
    g = xcp.open_loop(omega, alpha, beta)
    crossing = np.flatnonzero(np.diff(np.sign(g.imag)) != 0)
    left = crossing[g.real[crossing] < -1]
    # From above to below is a clockwise half; the mirror image gives the other one.
    return 2 * int(sum(np.sign(g.imag[k + 1] - g.imag[k]) for k in left))


def test_xcp_fig15_c1() -> None:
    """The Nyquist curve does not encircle -1 below the edge, and does above it."""
    assert [encirclements(a) for a in (0.1, 0.3, 0.4, 0.5, 0.55, 0.5553)] == [0] * 6
    assert [encirclements(a) for a in (0.556, 0.6, 0.7)] == [2] * 3


def test_margins_by_hand() -> None:
    # u^2 = (0.16 + sqrt(0.0256 + 4 * 0.051076)) / 2 = 0.319742; PM = atan(0.4 u / 0.226) - u.
    loop = xcp.margins(d=0.08)
    u = sqrt(0.3197415)
    assert loop.crossover == pytest.approx(u / 0.08, rel=1e-6)
    assert loop.phase_rad == pytest.approx(atan(0.4 * u / 0.226) - u, rel=1e-6)
    assert loop.delay_s == pytest.approx(loop.phase_rad / loop.crossover)
    # The margins are what they are called: at each the root is on the axis.
    at_gain = xcp.margins(0.4 * loop.gain, 0.226 * loop.gain)
    assert at_gain.decay == pytest.approx(0, abs=1e-9)
    later = 1 + loop.delay_s / 0.08
    assert xcp.margins(0.4 * later, 0.226 * later**2).decay == pytest.approx(0, abs=1e-9)


def test_only_beta_above_alpha_has_no_stable_gain() -> None:
    loop = xcp.margins(0.2, 0.3)
    assert not loop.stable
    assert loop.gain == 0
    assert isnan(loop.turnover)


def test_the_map_agrees_with_roots_and_boundary() -> None:
    alpha, beta = np.linspace(0.05, 1.5, 6), np.linspace(0.01, 0.6, 5)
    told = xcp.stability_map(alpha, beta)
    for i, b in enumerate(beta):
        for j, a in enumerate(alpha):

            def response(w: np.ndarray, a: float = a, b: float = b) -> np.ndarray:
                return np.asarray(-(w**2) + (1j * a * w + b) * np.exp(-1j * w))

            count = unstable_roots(response, 2, 4.0)
            assert (told.phase_rad[i, j] > 0) == (count == 0)
            assert (xcp.margins(float(a), float(b)).decay < 0) == (count == 0)
    for a, b in zip(*xcp.boundary(20), strict=True):
        if b > 1e-9 and a > 0:
            assert xcp.margins(float(a), float(b)).phase_rad == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("error", [-0.1, 0.1, 0.3])
def test_a_wrong_capacity(error: float) -> None:
    """Integrated with a queue that cannot be negative, the model settles where the formula says."""
    told = xcp.wrong_capacity(error)
    assert told.utilization == min(1.0, 1 + error)
    # d is the RTT that results; the router's capacity is 1 + error.
    queue = told.queue_rtts / told.rtt_factor

    def rhs(t: float, x: np.ndarray, past: object) -> list[float]:
        then = past(t - 1)  # type: ignore[operator]
        fill = x[0] - 1 if x[1] > 0 else max(x[0] - 1, 0)
        return [-0.4 * (then[0] - 1 - error) - 0.226 * then[1], fill]

    run = integrate(rhs, [0.5, 0.0], t_end=150, step=0.05, smallest_delay=1.0, floor=0.0)
    assert run.x[-1] == pytest.approx([told.utilization, queue], abs=1e-3)


def test_no_equilibrium_from_beta_over_alpha_on() -> None:
    assert xcp.wrong_capacity(0.56).queue_rtts > 100
    assert xcp.wrong_capacity(0.57).queue_rtts == np.inf


def test_mixed_rtts() -> None:
    """A controller of the mean RTT is stable for XCP's constants, whatever the mix."""
    for rtts in ([1, 2], [1, 16], [0.06, 1.335], np.linspace(40, 330, 30).tolist()):
        mixed = xcp.mixed_rtts(rtts)
        assert mixed.stable
        assert mixed.unstable_roots == 0
    assert xcp.mixed_edge(1.0) == pytest.approx(EDGE, abs=1e-5)
    # Two independent counts agree to either side of an edge.
    edge = xcp.mixed_edge(4.0)
    for alpha, stable in ((edge * 0.99, True), (edge * 1.01, False)):
        mixed = xcp.mixed_rtts([1, 4], alpha=alpha, beta=xcp.theorem_beta(alpha))
        assert (mixed.unstable_roots == 0) == (mixed.decay < 0) == stable


def test_bad_constants_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"alpha: 0 is not allowed \(allowed: above 0\)"):
        xcp.margins(0.0, 0.226)
    with pytest.raises(ConfigError, match="capacity error -1 is not allowed"):
        xcp.wrong_capacity(-1)


def test_roots_of_a_single_delay() -> None:
    # s + b exp(-s): b = pi/2 has the root j pi/2, b = 1/e the double root -1; b = 0.5: Lambert's.
    assert rightmost_root([[0.0]], [([[-pi / 2]], 1.0)]) == pytest.approx(1j * pi / 2, abs=1e-9)
    assert rightmost_root([[0.0]], [([[-np.exp(-1)]], 1.0)]).real == pytest.approx(-1, abs=1e-6)
    from scipy.special import lambertw

    root = rightmost_root([[0.0]], [([[-0.5]], 2.0)])
    assert root == pytest.approx(complex(lambertw(-1.0)) / 2, abs=1e-10)


def test_the_integrator_is_of_fourth_order() -> None:
    # x' = -x(t - 1), x = 1 up to 0: x = 1 - t on [0, 1], then 1 - t + (t - 1)^2 / 2.
    def error(step: float) -> float:
        run = integrate(
            lambda t, x, past: -past(t - 1.0) * np.cos(t),
            lambda t: [np.cos(t)],
            t_end=6.0,
            step=step,
            smallest_delay=1.0,
        )
        fine = integrate(
            lambda t, x, past: -past(t - 1.0) * np.cos(t),
            lambda t: [np.cos(t)],
            t_end=6.0,
            step=1 / 256,
            smallest_delay=1.0,
        )
        return abs(float(run.x[-1, 0] - fine.x[-1, 0]))

    exact = integrate(
        lambda t, x, past: -past(t - 1.0), [1.0], t_end=2, step=0.1, smallest_delay=1.0
    )
    assert exact.x[10, 0] == pytest.approx(0, abs=1e-12)
    assert exact.x[20, 0] == pytest.approx(-0.5, abs=1e-12)
    assert error(1 / 4) / error(1 / 8) > 12


def test_xcp_sec1_aqm_c1() -> None:
    """RED, REM, PI and a virtual queue lose stability as capacity or delay grows; so does AVQ."""
    # 50 flows, 80 ms, as in the paper's Figure 4; packets of 1000 bytes.
    mbps = 125.0
    for name in ("red", "rem", "pi", "vq", "avq"):
        by_capacity = [
            aqm.margin(name, aqm.Path(c * mbps, 0.08, 50)).phase_rad for c in (10, 100, 1000, 4000)
        ]
        assert by_capacity[0] > 0, name
        assert by_capacity[-1] < 0, name
        assert np.all(np.diff(by_capacity) < 0), name
        by_delay = [
            aqm.margin(name, aqm.Path(45 * mbps, d, 50)).phase_rad for d in (0.01, 0.2, 1.0)
        ]
        assert by_delay[0] > 0, name
        assert by_delay[-1] < 0, name
        edge = aqm.edge_capacity(name, 0.08, 50)
        assert 10 * mbps < edge < 1000 * mbps, name
    # AVQ's rule has an alpha at 10 Mb/s and none at gigabit capacity.
    assert aqm.avq_alpha(aqm.Path(10 * mbps, 0.08, 50)) > 0
    assert aqm.avq_alpha(aqm.Path(1000 * mbps, 0.08, 50)) == 0


def test_xcp_sec1_aqm_c2() -> None:
    """TCP's increase grows with N and no constants suit every N; XCP's does not depend on N."""
    assert aqm.tcp_increase(1000, 0.08) == 1000 * aqm.tcp_increase(1, 0.08)
    few, many = (aqm.margin("red", aqm.Path(5625, 0.08, n)) for n in (10, 200))
    assert not few.stable
    assert many.stable
    sums = []
    for n in (1, 10, 100, 1000):
        told = xcp_feedback(of_paths([100.0], [[0]], count=n), [80.0 / n])
        sums.append(n * float(told.net[0]))
    # 0.4 * 20 in each interval d = 80 ms.
    assert sums == pytest.approx([0.08 * aqm.xcp_increase(20.0, 0.08)] * 4, rel=0.01)


def test_avq_alpha_is_at_the_edge() -> None:
    path = aqm.Path(500.0, 0.08, 50)
    alpha, k = aqm.avq_alpha(path), aqm.rates(path)
    # lambda' = -K11 lambda - K12 lambda_d + K2 C~_d and C~' = -alpha lambda.
    back = np.array([[-k.k12, k.k2], [0.0, 0.0]])
    root = rightmost_root([[-k.k11, 0], [-alpha, 0]], [(back, path.rtt)])
    assert root.real == pytest.approx(0, abs=1e-6)
    assert aqm.margin("avq", path, aqm.Tuning(avq_alpha=alpha * 0.99)).stable
    assert not aqm.margin("avq", path, aqm.Tuning(avq_alpha=alpha * 1.01)).stable


def test_red_by_hand() -> None:
    # With w_q = 1 the average is the queue: at omega where |L| = 1 the two poles give the phase.
    path = aqm.Path(1250.0, 0.1, 10)
    told = aqm.margin("red", path, aqm.Tuning(w_q=1 - 1e-12))
    slope = 0.1 * 3 / 125
    w = told.crossover
    # 2 N / (R^2 C) = 1.6; C^2 / 2N = 78125; the filter's pole is far away.
    size = slope * 78125 / abs((1j * w + 1.6) * (1j * w + 10))
    assert size == pytest.approx(1, rel=1e-5)
    phase = pi - atan(w / 1.6) - atan(w / 10) - 0.1 * w
    assert told.phase_rad == pytest.approx(phase, abs=2e-3)
