"""MLCP's analysis (sections 2 and 3.1.2), claim by claim."""

from __future__ import annotations

import numpy as np
import pytest
from theorising import base_rtts

from clearpipe.errors import ConfigError
from clearpipe.theory import mlcp, vcp

# 1 Gb/s and 200 ms.
BDP = 25e6


def test_mlcp_fig01_c1() -> None:
    """The 2-bit factor is 1.0875 at all loads."""
    assert mlcp.factor(np.linspace(0.001, 0.799, 50), 2) == pytest.approx(np.full(50, 1.0875))


def test_mlcp_fig01_c2() -> None:
    """The 3-bit factors, at the upper ends 16, 32, 48, 64, 80 %."""
    ends = [0.16, 0.32, 0.48, 0.64, 0.80]
    table = [2.8375, 1.7437, 1.3792, 1.1969, 1.0875]
    assert mlcp.edges(3) == pytest.approx(ends)
    assert mlcp.factor(ends, 3) == pytest.approx(table, abs=1e-3)
    assert mlcp.factor([0.01, 0.17, 0.33, 0.49, 0.65], 3) == pytest.approx(table, abs=1e-3)


def test_mlcp_fig01_c3() -> None:
    """The 4-bit factors fall from 6.3375 to 1.0875 in 13 levels."""
    table = mlcp.factor(mlcp.edges(4), 4)
    assert len(table) == 13
    assert (table[0], table[-1]) == pytest.approx((6.3375, 1.0875), abs=1e-3)
    assert np.all(np.diff(table) < 0)


def test_mlcp_fig01_c4() -> None:
    """Steps lie below the ideal and close in with bits; beyond 3 bits mostly below 10 % load."""
    load = np.arange(0.01, 0.8, 0.01)
    ideal = 1 + mlcp.gain(load)
    steps = [mlcp.factor(load, bits) for bits in (2, 3, 4)]
    for values in steps:
        assert np.all(values <= ideal + 1e-12)
    assert np.all(steps[1] >= steps[0])
    # Not at each load: levels of 3 and 4 bits do not nest. On the whole they close in.
    gaps = [float(np.mean((ideal - values) / ideal)) for values in steps]
    assert gaps[0] > 2 * gaps[1]
    assert gaps[1] > gaps[2]
    high = load > 0.1
    apart = steps[2] - steps[1]
    assert apart[~high].mean() > 5 * np.abs(apart[high]).mean()


@pytest.mark.parametrize(
    ("bits", "printed", "exact"),
    [(2, 118, 117.78), (3, 15, 14.70), (4, 11, 10.28), (15, 8, 7.16)],
    ids=[f"mlcp-sec2.1-rl-c{k}" for k in (1, 2, 3, 4)],
)
def test_mlcp_sec2_1_rl(bits: int, printed: int, exact: float) -> None:
    """118, 15, 11 and 8 RTTs to 80 % of 1 Gb/s with 2, 3, 4, 15 bits."""
    assert mlcp.rounds(bits, BDP) == pytest.approx(exact, abs=0.005)
    assert mlcp.whole_rounds(bits, BDP) == printed


def test_mlcp_sec2_1_rl_by_hand() -> None:
    # One level: ln(0.8 * 25e6 / 1024) / ln(1.0875) = 9.8798 / 0.083881.
    assert mlcp.rounds(2, BDP) == pytest.approx(np.log(0.8 * BDP / 1024) / np.log(1.0875))
    # Two of five levels, from 16 % on: ln 2 / ln 1.74375 + ln 1.5 / ln 1.37917.
    upper = mlcp.rounds(3, BDP, initial_bytes=0.16 * BDP)
    parts = zip([2, 1.5, 4 / 3, 1.25], [1.74375, 1.3791667, 1.196875, 1.0875], strict=True)
    assert upper == pytest.approx(sum(np.log(a) / np.log(m) for a, m in parts))


def test_mlcp_fig02_c2() -> None:
    """From 2 to 3 bits r falls by more than 4.4, from 3 to 15 by 1.25 to 2.3; 4.388 at 1 Mb/s."""
    for bps in (1e6, 1e7, 1e8, 1e9, 1e10):
        two, three, many = (mlcp.rounds(bits, bps * 0.2 / 8) for bits in (2, 3, 15))
        if bps == 1e6:
            # 25,000 bytes. 2 bits: ln(20000 / 1024) / ln 1.0875 = 2.97202 / 0.0838815 = 35.431.
            # 3 bits: ln(4000 / 1024) / ln 2.8375 + ln 2 / ln 1.74375 + ln 1.5 / ln 1.37917 +
            # ln(4 / 3) / ln 1.196875 + ln 1.25 / ln 1.0875 = 1.30650 + 1.24658 + 1.26125 +
            # 1.60078 + 2.66022 = 8.0753.
            assert two / three == pytest.approx(4.388, abs=0.0005)
        else:
            assert two / three > 4.4
        assert 1.25 < three / many < 2.3
        assert three / many < two / three / 2


def test_mlcp_fig06_c2() -> None:
    """D goes from 0.875 to 0.675 in eight equal steps."""
    k = np.arange(8)
    assert mlcp.beta(1 + k * 0.2 / 7) == pytest.approx(0.875 - k * 0.2 / 7, abs=1e-3)
    assert len(np.unique(np.round(mlcp.beta(np.linspace(1, 3, 5000)), 9))) == 8
    assert mlcp.beta([1.0, 1.19, 1.2, 2.0], "C") == pytest.approx([0.875, 0.875, 0.675, 0.675])
    assert mlcp.beta([1.0, 2.0], "A") == pytest.approx([0.675] * 2)
    assert mlcp.beta([1.0, 2.0], "B") == pytest.approx([0.875] * 2)


def test_mlcp_fig06_c3() -> None:
    """A cut by D never lands below 80 %."""
    load = np.concatenate((np.linspace(1, 3, 20001), 1 + np.arange(8) * 0.2 / 7))
    assert (load * mlcp.beta(load)).min() == pytest.approx(0.81)
    # A's would: 0.675 at full load.
    assert (load * mlcp.beta(load, "A")).min() < 0.8


def test_mlcp_sec2_2_2_rounds_c1() -> None:
    """At beta 0.875 nine rounds bring 70 % of the way, within one."""
    assert mlcp.rounds_to_fair(0.7, 0.875) == pytest.approx(9, abs=1)
    assert pytest.approx(0.6993, abs=1e-4) == 1 - 0.875**9
    assert mlcp.rounds_to_fair(0.7, 0.675) == pytest.approx(3.06, abs=0.01)


def test_mlcp_sec3_1_2_scaling_c1() -> None:
    """Windows tend to alpha_1 / alpha_2 with AI alone. With II they do not: the paper is wrong."""
    for ratio in (0.1, 0.25, 1, 4, 10):
        first, second = mlcp.after_epochs([50.0, 1.0], [ratio, 1.0], mlcp.Epoch(5, 0))
        assert first / second == pytest.approx(ratio, rel=0.01)
    # Eq. (11) at rest is (1 - b) c = b alpha (n + m / sqrt c), with another ratio.
    for n, m, ratio, found in ((5, 20, 4, 3.36), (2, 20, 10, 6.3)):
        epoch = mlcp.Epoch(n, m)
        first, second = (mlcp.fixed_point(a, epoch) for a in (ratio, 1.0))
        for c, alpha in ((first, ratio), (second, 1.0)):
            assert 0.125 * c == pytest.approx(0.875 * alpha * (n + m / np.sqrt(c)))
        assert first / second == pytest.approx(found, abs=0.05)
        assert mlcp.after_epochs([1.0, 90.0], [ratio, 1.0], epoch) == pytest.approx([first, second])
    # II alone: c^1.5 goes as alpha.
    only = mlcp.Epoch(0, 20)
    assert mlcp.fixed_point(8, only) / mlcp.fixed_point(1, only) == pytest.approx(4)


def test_mlcp_sec3_1_2_scaling_c2() -> None:
    """alpha (rtt / t_p)^2 makes rates equal with AI alone; with II they go as rtt^(-1/3)."""
    rtt = np.array([0.1, 0.25, 1.0, 4.0, 10.0])

    def rates(epoch: mlcp.Epoch) -> np.ndarray:
        return np.array([1 / mlcp.rate_ratio(r, epoch) for r in rtt])

    fair = rates(mlcp.Epoch(5, 0))
    assert fair.sum() ** 2 / (5 * (fair**2).sum()) == pytest.approx(1, abs=0.02)
    # By hand: alpha_f is added t_p / rtt times in a round of t_p.
    window = mlcp.after_epochs(np.full(5, 9.0), rtt**2 / rtt, mlcp.Epoch(5, 0))
    assert window / rtt == pytest.approx(np.full(5, window[2]))
    # II alone: c^1.5 goes as the increment, rtt.
    skewed = rates(mlcp.Epoch(0, 20))
    assert skewed / skewed[2] == pytest.approx(rtt ** (-1 / 3))


def test_mlcp_fig13_c6() -> None:
    """Ten links of 20 ms and 40 ms of access make 440 ms; one link and 20 ms make 60 ms."""
    scenario = """\
schema = 1
name = "x"
duration = "1s"
[topology]
kind = "parking-lot"
links = 10
rate = "100Mbps"
owd = "20ms"
[flows.long]
protocol = "vcp"
path = "long"
access_owd = "10ms"
[flows.cross]
protocol = "vcp"
path = "each"
access_owd = "5ms"
"""
    assert base_rtts(scenario, "long") == pytest.approx([0.440])
    assert base_rtts(scenario, "cross.1") == pytest.approx([0.060])


def test_mlcp_fig15_c3() -> None:
    """RTTs of 40 ms and 4 delta more for each of 30 flows: to 156 and to 3520 ms."""
    for delta, last in ((1, 0.156), (30, 3.520)):
        scenario = f"""\
schema = 1
name = "x"
duration = "1s"
[topology]
kind = "dumbbell"
rate = "100Mbps"
rtt = "40ms"
[flows.a]
protocol = "vcp"
count = 30
rtt = "formula(40ms + {4 * delta}ms * i)"
"""
        rtts = base_rtts(scenario, "a")
        assert (rtts[0], rtts[-1]) == pytest.approx((0.040, last))


def test_mlcp_thm1_c1() -> None:
    """w* = gamma C RTT + N alpha / kappa and r* = gamma C / N + alpha / (kappa RTT)."""
    link = vcp.Link(capacity=2500, rtt=0.08, flows=4, kappa=mlcp.KAPPA)
    run = vcp.windows(link, [5.0, 10.0, 40.0, 90.0], rounds=600, steps_per_rtt=4)
    # 0.98 * 200 + 4 / 0.35 packets; 0.98 * 625 + 1 / (0.35 * 0.08) packets/s.
    assert run.x[-1].sum() == pytest.approx(196 + 4 / 0.35, rel=1e-3)
    assert run.x[-1] / 0.08 == pytest.approx(np.full(4, 612.5 + 1 / 0.028), rel=1e-2)


def test_bad_values_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"bits: 1 is not allowed \(allowed: 2 to 24\)"):
        mlcp.levels(1)
    with pytest.raises(ConfigError, match=r"load: MI is for 0 to 0\.8"):
        mlcp.factor([0.9], 3)
    with pytest.raises(ConfigError, match="load: MD is for 1 and above"):
        mlcp.beta([0.9])
