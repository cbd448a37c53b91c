"""VCP's analysis (sections III and V, Table I) and DPCP's of it, claim by claim."""

from __future__ import annotations

from math import ceil, log, log10, pi

import numpy as np
import pytest
from theorising import base_rtts, random_network

from clearpipe.errors import ConfigError
from clearpipe.theory import miaimd_equilibrium, of_paths, rounds, vcp
from clearpipe.theory.delay import Past, integrate


def jain(values: np.ndarray) -> float:
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


def dumbbell(rtts: str, count: int) -> str:
    return f"""\
schema = 1
name = "x"
duration = "1s"
[topology]
kind = "dumbbell"
rate = "100Mbps"
rtt = "40ms"
[flows.a]
protocol = "vcp"
count = {count}
rtt = {rtts}
"""


def test_vcp_sec3b_transition_c1() -> None:
    """With beta = 0.95 halving takes 14 rounds."""
    assert rounds.rounds_to_halve(0.95) == 14
    assert 0.95**14 <= 0.5 < 0.95**13


def test_vcp_sec3b_transition_c2() -> None:
    """beta = 1/2 allows transition points up to 50 %: a cut at full load lands there."""
    for beta in (0.5, 0.7, 0.875):
        lands = rounds.vcp(100.0, [60.0, 40.0], 2, beta=beta).load[1]
        assert lands == pytest.approx(beta)


def test_vcp_sec3b_transition_c3() -> None:
    """0.875 with the transition at 80 % leaves 7.5 %."""
    assert pytest.approx(0.075) == vcp.BETA - rounds.LOW


def test_vcp_sec3b_transition_c4() -> None:
    """One MI step from just below 80 % lands in high load, never in overload."""
    for load in np.linspace(0.76, 0.7999, 50):
        after = rounds.vcp(1000.0, [1000.0 * load], 2).load[1]
        assert 0.8 <= after < 1.0
    assert rounds.vcp(1000.0, [799.999], 2).load[1] == pytest.approx(0.85, abs=1e-5)


def test_vcp_sec3b_transition_c5() -> None:
    """One cut from an overload below 1 / 0.875 lands in high load."""
    for load in np.linspace(1.0, 1.1428, 50):
        assert 0.8 <= rounds.vcp(1000.0, [1000.0 * load], 2).load[1] < 1.0


def test_vcp_sec3d_scaling_c1() -> None:
    """The windows of AIMD flows tend to the ratio of their alphas."""
    for ratio in (0.1, 0.25, 0.5, 1, 2, 4, 10):
        for start in ([1.0, 1.0], [100.0, 1.0], [1.0, 500.0]):
            first, second = rounds.aimd(start, [ratio, 1.0], epochs=60)
            assert first / second == pytest.approx(ratio, rel=0.01)


def test_vcp_sec3d_scaling_c2() -> None:
    """Growth per t_rho is 1 + xi for MI and alpha for AI, whatever the RTT."""
    rtt = np.array([0.001, 0.02, 0.08, 0.2, 0.5])
    assert (1 + rounds.scaled_mi(rtt)) ** (0.2 / rtt) == pytest.approx(np.full(5, 1.0625))
    added = rounds.scaled_ai(rtt, fair_rates=False) * 0.2 / rtt
    assert added == pytest.approx(np.full(5, 1.0))


def test_vcp_sec3d_scaling_c3() -> None:
    """With alpha (rtt / t_rho)^2 flows of different RTTs have equal rates."""
    rtt = np.array([0.02, 0.04, 0.08, 0.2, 0.4])
    # A round of the map is t_rho, in which a flow adds t_rho / rtt times.
    window = rounds.aimd(np.full(5, 50.0), rounds.scaled_ai(rtt) * 0.2 / rtt)
    assert jain(window / rtt) == pytest.approx(1, abs=0.005)


def test_vcp_tab1_c1() -> None:
    """The MI gain is xi(80 %) = 0.25 * 0.2 / 0.8 = 0.0625."""
    assert vcp.xi(0.8) == pytest.approx(0.0625)
    assert pytest.approx(0.0625) == rounds.MI


def test_vcp_fig07_c9() -> None:
    """30 RTTs 4 ms apart are 40 to 156 ms, 10 ms apart 40 to 330 ms."""
    for delta, last in ((4, 0.156), (10, 0.330)):
        rtts = base_rtts(dumbbell(f'"formula(40ms + {delta}ms * i)"', 30), "a")
        assert (rtts[0], rtts[-1]) == pytest.approx((0.040, last))


def test_vcp_fn5_rttprop_c1() -> None:
    """Scaled by eq. (7) only, rates go as 1 / RTT."""
    for delta, index in ((2, None), (4, 0.847), (10, 0.668)):
        rtt = 0.040 + 0.001 * delta * np.arange(30)
        added = rounds.scaled_ai(rtt, fair_rates=False) * 0.2 / rtt
        rate = rounds.aimd(np.full(30, 20.0), added) / rtt
        slope = np.polyfit(np.log(rtt), np.log(rate), 1)[0]
        assert slope == pytest.approx(-1, abs=0.2)
        if index is not None:
            assert jain(rate) == pytest.approx(index, abs=0.001)
    # The fluid model says the same of flows that go by their own RTTs.
    mixed = np.array(vcp.mixed_rtts([0.04, 0.08, 0.16], 10_000).rates)
    assert mixed * [0.04, 0.08, 0.16] == pytest.approx(mixed[0] * 0.04)


def test_vcp_fig12_c1() -> None:
    """The sum of the windows obeys eq. (13)."""
    link = vcp.Link(capacity=1000, rtt=0.2, flows=4, kappa=0.3)
    start = np.array([10.0, 20.0, 30.0, 80.0])
    each, together = vcp.windows(link, start, rounds=30), vcp.windows(link, start.sum(), rounds=30)
    assert each.x.sum(axis=1) == pytest.approx(together.x[:, 0], rel=1e-9)
    # In the first T the past is constant: W' = (g W + N alpha) / T, g = kappa (target / W0 - 1).
    t = together.t[: 20 + 1] / 0.2
    g = 0.3 * (196 / 140 - 1)
    exact = (140 + 4 / g) * np.exp(g * t) - 4 / g
    assert together.x[:21, 0] == pytest.approx(exact, rel=1e-8)


def test_vcp_fig12_c2() -> None:
    """The trajectory depends on t / T only, at equal N alpha / (gamma C T)."""
    runs = []
    for capacity, rtt, flows in ((1000, 0.2, 4), (10_000, 0.02, 4), (500, 4.0, 40)):
        link = vcp.Link(capacity=capacity, rtt=rtt, flows=flows)
        assert link.push == pytest.approx(4 / 196)
        runs.append(vcp.windows(link, 0.1 * link.target, rounds=60).x[:, 0] / link.target)
    assert runs[1] == pytest.approx(runs[0], rel=1e-3)
    assert runs[2] == pytest.approx(runs[0], rel=1e-3)


def test_vcp_thm1_c1() -> None:
    """Up to kappa = 1/2 every start converges to gamma C T + N alpha / kappa."""
    for kappa in (0.1, 0.25, 0.5):
        link = vcp.Link(capacity=1000, rtt=0.2, flows=4, kappa=kappa)
        assert link.window == pytest.approx(196 + 4 / kappa)
        for load in (0.01, 0.5, 10):
            run = vcp.windows(link, load * link.target, rounds=300, steps_per_rtt=8)
            assert run.x[-1, 0] == pytest.approx(link.window, rel=1e-3), (kappa, load)
    # 1/2 is sufficient and not necessary: without AI the edge is that of Wright's equation.
    assert vcp.edge(0.0) == pi / 2
    assert vcp.edge(1e-9) == pytest.approx(pi / 2, abs=1e-6)
    for push in (0.0, 0.02, 0.5, 3.0):
        assert vcp.edge(push) > vcp.KAPPA_MAX


def test_vcp_thm1_c2() -> None:
    """All flows reach gamma C / N + alpha / (kappa T)."""
    link = vcp.Link(capacity=1000, rtt=0.2, flows=4)
    run = vcp.windows(link, [10.0, 20.0, 30.0, 60.0], rounds=600, steps_per_rtt=4)
    # (0.98 * 200 + 16) / 4 = 53 packets; 245 + 20 = 265 packets/s.
    assert link.rate == pytest.approx(265)
    assert run.x[-1] / 0.2 == pytest.approx(np.full(4, 265.0), rel=0.01)


def test_vcp_thm1_c3() -> None:
    """The utilization is gamma + alpha / (kappa P): above 1 for P below 200 packets."""
    for flows in (1, 4, 10):
        link = vcp.Link(capacity=1000, rtt=0.2, flows=flows)
        run = vcp.windows(link, link.target, rounds=150, steps_per_rtt=4)
        used = run.x[-1, 0] / 200
        assert used == pytest.approx(0.98 + flows / (0.25 * 200), abs=1e-3)
        assert used == pytest.approx(link.utilization, abs=1e-3)
    assert link.smallest_bdp == pytest.approx(200)
    assert vcp.Link(capacity=1000, rtt=0.2).utilization == pytest.approx(1)


def test_vcp_eq14_c1() -> None:
    """gamma comes to rest, but for its last step, where the utilization is the target."""
    for per_flow, target in ((50, 0.95), (100, 0.98), (20, 0.9)):
        link = vcp.Link(capacity=2 * per_flow / 0.08, rtt=0.08, flows=2)
        told = vcp.steer(link, target, updates=80)
        # The fixed point: gamma = U - alpha / (kappa P).
        assert told.gamma[-30:].mean() == pytest.approx(target - 4 / per_flow, abs=0.02)
        assert np.abs(told.utilization[-30:] - target).max() < 0.02
        assert told.utilization[-30:].mean() == pytest.approx(target, abs=0.01)
        # It stops there and nowhere else: before, each step goes towards the target.
        far = np.abs(told.utilization[1:] - target) > 0.03
        steps = np.diff(told.gamma)[far]
        assert np.all(steps * (target - told.utilization[1:][far]) > 0)


def test_vcp_thm2_c1() -> None:
    """r_i = alpha / (kappa T (1 - 1 / rho_i)), by integrating two links."""
    # Figure 1 of iXCP in packets per RTT: 4 long flows over 155 and 100, one short over 155.
    capacity = np.array([155.0, 100.0])

    def rhs(t: float, w: np.ndarray, past: Past) -> np.ndarray:
        then = past(t - 1.0)
        rho = np.array([4 * then[0] + then[1], 4 * then[0]]) / (0.98 * capacity)
        worst = np.array([rho.max(), rho[0]])
        return np.asarray(w * 0.25 * (1 - worst) / worst + 1.0)

    run = integrate(rhs, [5.0, 5.0], t_end=1000, step=0.25, smallest_delay=1.0)
    found = miaimd_equilibrium(of_paths(capacity, [[0, 1], [0]], count=[4, 1]), 1.0)
    assert found.rate == pytest.approx([28.5, 50.865], abs=1e-3)
    assert run.x[-1] == pytest.approx(found.rate, rel=1e-3)
    rho = found.load / (0.98 * capacity)
    assert found.rate == pytest.approx(
        [1 / (0.25 * (1 - 1 / rho.max())), 1 / (0.25 * (1 - 1 / rho[0]))]
    )


def test_vcp_thm2_c2() -> None:
    """No flow has a larger rate than another at the most loaded link of that one."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        network = random_network(rng, limits=False)
        found = miaimd_equilibrium(network, 0.1)
        rho = found.load / (0.98 * network.capacity)
        per_weight = found.rate / network.weight
        for i in range(len(network.flows)):
            path = network.path(i)
            worst = rho[path].max()
            assert per_weight[i] == pytest.approx(0.1 / (0.25 * (1 - 1 / worst)), rel=1e-9)
            link = path[int(np.argmax(rho[path]))]
            here = np.unique(network.flow[network.link == link])
            assert per_weight[here].max() <= per_weight[i] * (1 + 1e-9)


def test_vcp_thm3_c1() -> None:
    """Filling a link takes 38 intervals more for each power of ten of its capacity."""
    packets = np.array([25.0 * 10**k for k in range(5)])  # 1 Mb/s to 10 Gb/s in 200 ms
    taken = []
    for target in packets:
        run = rounds.vcp(target, [1.0], 400)
        count = int(np.argmax(run.load >= 0.8))
        assert count == ceil(vcp.rounds_to_efficiency(target))
        taken.append(count)
    slope = np.polyfit(np.log10(packets), taken, 1)[0]
    assert 1 / log10(1.0625) == pytest.approx(37.98, abs=0.01)
    assert slope == pytest.approx(37.98, rel=0.15)


def test_vcp_thm3_c2() -> None:
    """Releasing over-used capacity takes about 2 ln(over-use) / ln(1 / 0.875) intervals."""
    for over in (1.1, 1.5, 2.0, 3.0, 4.0):
        run = rounds.vcp(1000.0, [over * 1000.0], 60)
        count = int(np.argmax(run.load < 1.0))
        assert count <= 2 * vcp.rounds_to_release(over)
        # A cut for each factor 0.875, two rounds waited and added after each but the last.
        cuts = ceil(log(over) / log(1 / 0.875))
        assert cuts <= count <= 3 * cuts


def test_vcp_thm4_c1() -> None:
    """AIMD takes 0.936 P ln(dP) intervals to become fair."""
    assert 0.125 / log(1 / 0.875) == pytest.approx(0.936, abs=0.001)
    for bdp in (30, 100, 300, 1000):
        told = vcp.rounds_to_fairness(bdp, bdp)
        assert told == pytest.approx(0.936 * bdp * log(bdp), rel=0.001)
        assert 0.5 < rounds.aimd_to_fair(bdp, bdp) / told < 2


def test_vcp_thm4_c2() -> None:
    """XCP takes ln(dP) / ln(1 / 0.9) RTTs, whatever P is."""
    for bdp in (30, 100, 300, 1000):
        for apart in (10.0, 0.9 * bdp):
            taken = rounds.xcp_to_fair([bdp + apart / 2, bdp - apart / 2])
            told = vcp.xcp_rounds_to_fairness(apart)
            assert told == pytest.approx(9.49 * log(apart), rel=0.001)
            assert 0.5 < taken / told < 2
    assert len({rounds.xcp_to_fair([p + 5.0, p - 5.0]) for p in (30, 300, 3000)}) == 1


def test_vcp_sec6c_tcpfriendly_c1() -> None:
    """For beta = 0.875 the friendly alpha is 4 (1 - beta^2) / 3 = 0.3125, or 0.2 of the other."""
    assert vcp.friendly_alpha() == pytest.approx(0.3125)
    assert vcp.friendly_alpha(timeouts=False) == pytest.approx(0.2)


def test_dpcp_sec2b_overload_c1() -> None:
    """One cut is not enough above a load of 1 / 0.875 = 1.143, so not at 115 %."""
    assert rounds.vcp(1000.0, [1151.0], 2).load[1] > 1.0
    assert rounds.vcp(1e6, [1e6 / 0.875 + 1], 2).load[1] > 1.0
    assert rounds.vcp(1e6, [1e6 / 0.875 - 1], 2).load[1] < 1.0


def test_dpcp_tab1_c2() -> None:
    """Cutting from the upper bound of each overload level lands in high load."""
    # From the lower bounds 1.05 and 1.4 it does not: 0.63 and 0.602 are low load.
    for upper, beta in ((1.05, 0.875), (1.4, 0.6), (2.0, 0.43)):
        assert 0.8 <= rounds.vcp(1000.0, [1000 * upper], 2, beta=beta).load[1] <= 1.0
    for lower, beta in ((1.05, 0.6), (1.4, 0.43)):
        assert rounds.vcp(1000.0, [1000 * lower], 2, beta=beta).load[1] < 0.8


def test_dpcp_tab1_c3() -> None:
    """The gains at the upper edges of the levels are those of the MIAIMD law."""
    gains = vcp.xi([0.2, 0.4, 0.8, 0.85, 0.95, 1.0], kappa=0.25)
    assert gains == pytest.approx([1.0, 0.375, 0.0625, 0.0441, 0.0132, 0.0], abs=5e-5)


def test_the_edge_is_where_roots_cross() -> None:
    for push in (0.01, 0.1, 1.0):
        at = vcp.edge(push)
        assert vcp.stability(at, push).decay == pytest.approx(0, abs=1e-9)
        assert vcp.stability(0.98 * at, push).stable
        assert not vcp.stability(1.02 * at, push).stable
        assert vcp.stability(1.02 * at, push).decay > 0


def test_a_trajectory_leaves_an_unstable_equilibrium() -> None:
    link = vcp.Link(capacity=100_000, rtt=0.2, flows=1, kappa=1.7)
    run = vcp.windows(link, 1.001 * link.window, rounds=200, steps_per_rtt=10)
    assert np.ptp(run.x[-100:, 0]) > 0.1 * link.window


def test_the_map_is_the_edge() -> None:
    told = vcp.stability_map([0.5, 1.6, 2.0], [1.0, 10.0], [0.04, 0.4], per_flow=250.0)
    assert told.edge.shape == (2, 2)
    assert told.edge[0, 1] == vcp.edge(10 / (0.98 * 250 * 0.04))
    assert told.stable[0].all()
    assert told.stable[2].tolist() == (told.edge > 2.0).tolist()


def test_mixed_rtts() -> None:
    # Equal RTTs: the slowest mode is that of differences, -A = -kappa a / (kappa + a).
    told = vcp.mixed_rtts([0.08] * 3, 1000)
    push = 3 / (0.98 * 80)
    assert told.load == pytest.approx(1 + push / 0.25)
    assert told.decay == pytest.approx(-0.25 * push / (0.25 + push))
    # Scaled by eq. (6) to (8): equal rates.
    scaled = vcp.mixed_rtts([0.04, 0.08, 0.32], 10_000, t_rho=0.2)
    assert scaled.rates == pytest.approx([scaled.rates[0]] * 3)
    assert scaled.decay < 0
    # Two delays that are one: the edge of the single delay.
    assert vcp.mixed_edge(1.0, 1000.0) == pytest.approx(vcp.edge(2 / 980), abs=1e-3)
    # t_rho shorter than the RTT multiplies the gain: Wright's edge at kappa T / t_rho = pi / 2.
    assert vcp.mixed_edge(1.0, 1e6, t_rho=0.2) == pytest.approx(0.2 * pi / 2, abs=1e-3)


def test_the_edge_of_two_rtts_by_hand() -> None:
    # Scaled, alpha -> 0, RTTs 1 and 8, t_rho 4.5: s + (k / 4.5) (e^-s + e^-8s) / 2 = 0. With s =
    # j w the mean is cos(3.5 w) e^(-4.5 j w): w = pi / 9, k = 4.5 w / cos(3.5 w) = 4.593.
    w = pi / 9
    assert vcp.mixed_edge(8.0, 1e7, t_rho=4.5) == pytest.approx(4.5 * w / np.cos(3.5 * w), rel=1e-3)


def test_mixed_rtts_against_a_trajectory() -> None:
    delay = np.array([1.0, 3.0])
    capacity, kappa = 200.0, 0.8

    def rhs(t: float, w: np.ndarray, past: Past) -> np.ndarray:
        rate = np.array([past(t - d)[i] / d for i, d in enumerate(delay)])
        rho = rate.sum() / (0.98 * capacity)
        return np.asarray((w * kappa * (1 - rho) / rho + 1.0) / delay)

    told = vcp.mixed_rtts(delay.tolist(), capacity, kappa=kappa)
    start = np.array(told.rates) * delay
    run = integrate(rhs, 1.05 * start, t_end=900, step=0.25, smallest_delay=1.0)
    away = np.abs(run.x / start - 1).max(axis=1)
    late, later = away[len(away) // 3], away[-1]
    rate = np.log(late / later) / (run.t[-1] * 2 / 3)
    assert -rate == pytest.approx(told.decay / 2.0, rel=0.05)  # decay is per mean RTT, 2 s


def test_bad_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="kappa: 0 is not allowed"):
        vcp.Link(capacity=1, rtt=1, kappa=0)
    with pytest.raises(ConfigError, match="start: one value or 4, each above 0"):
        vcp.windows(vcp.Link(capacity=1, rtt=1, flows=4), [1.0, 2.0])
