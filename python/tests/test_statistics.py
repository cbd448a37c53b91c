"""Intervals against tables and known answers."""

from __future__ import annotations

import random

import pytest

import clearpipe as cp
from clearpipe import statistics


def test_a_t_interval_by_hand() -> None:
    # 1, 2, 3, 4, 5: mean 3, s = sqrt(2.5) = 1.5811, t(0.975, 4) = 2.7764 (printed tables),
    # half = 2.7764 * 1.5811 / sqrt(5) = 1.9632.
    found = statistics.t_interval([1, 2, 3, 4, 5])
    assert (found.mean, found.n) == (3, 5)
    assert found.half == pytest.approx(1.9632, abs=1e-4)
    assert found.ratio == pytest.approx(0.6544, abs=1e-4)


@pytest.mark.parametrize(
    ("draws", "mean"),
    [
        (lambda draw: draw.gauss(7, 2), 7.0),
        (lambda draw: draw.uniform(0, 1), 0.5),
        # The mean of 200 exponential draws, as a replication's mean over many packets is.
        (lambda draw: sum(draw.expovariate(1) for _ in range(200)) / 200, 1.0),
    ],
)
def test_95_percent_intervals_cover_the_mean_95_percent_of_the_time(draws, mean) -> None:  # type: ignore[no-untyped-def]
    draw = random.Random(3)
    covered = 0
    for _ in range(1000):
        found = statistics.t_interval([draws(draw) for _ in range(10)])
        covered += found.low <= mean <= found.high
    # Three standard errors of a count of 1000 are 20.7.
    assert 930 <= covered <= 970


def test_the_bootstrap_covers_the_mean_of_skewed_values() -> None:
    draw = random.Random(4)
    covered = 0
    for i in range(300):
        values = [draw.expovariate(1) for _ in range(40)]
        found = statistics.bootstrap_interval(values, seed=i, resamples=999)
        covered += found.low <= 1 <= found.high
    assert 270 <= covered <= 297


def test_mser_finds_where_a_transient_ends() -> None:
    draw = random.Random(5)
    values = [20 * 0.9**i + draw.gauss(0, 0.5) for i in range(400)]
    # The transient is below the noise (0.5) after ln(40)/ln(1/0.9) = 35 values.
    assert 20 <= statistics.mser(values) <= 60
    assert statistics.mser([draw.gauss(0, 1) for _ in range(400)]) <= 60
    # Far from zero, squares would lose what the values differ by.
    assert statistics.mser([1e9 + value for value in values]) == statistics.mser(values)
    rising = [float(i) for i in range(400)]
    assert statistics.mser(rising) == 200


MD1 = """\
schema = 1
name = "m-d-1"
duration = "6s"
warmup = "1s"
[packets]
data = "1000B"
ack = "1B"
[topology]
kind = "dumbbell"
rate = "8Mbps"
rtt = "4ms"
buffer = "10000pkt"
[flows.packets]
protocol = "reno"
arrivals = "poisson(500/s)"
size = "1000B"
access_rate = "100Gbps"
"""


@pytest.mark.long
def test_intervals_of_runs_cover_what_queueing_theory_says() -> None:
    """An M/D/1 queue: packets of 1 ms that come by Poisson's law, 500 a second.

    The load is 0.5 and the mean number that waits 0.5^2 / (2 (1 - 0.5)) = 0.25 (Pollaczek and
    Khinchine). 1000 experiments of 10 replications each.
    """
    from concurrent.futures import ThreadPoolExecutor

    def waits(rep: int) -> float:
        summary = cp.run(MD1, rep=rep).summary
        return summary["links"][0]["queue_mean_pkts"]

    with ThreadPoolExecutor() as pool:
        means = list(pool.map(waits, range(10_000)))
    covered = 0
    for experiment in range(1000):
        found = statistics.t_interval(means[10 * experiment : 10 * (experiment + 1)])
        covered += found.low <= 0.25 <= found.high
    print(f"{covered} of 1000 intervals cover 0.25; mean {sum(means) / len(means):.5f}")
    assert 930 <= covered <= 970


def test_the_table_of_students_t_is_scipys() -> None:
    from scipy.special import stdtrit

    for freedom in range(1, 200):
        wanted = float(stdtrit(freedom, 0.975))
        assert statistics.t_quantile(freedom) == pytest.approx(wanted, rel=1e-14), freedom
        assert statistics.t_quantile(freedom, 0.9) == pytest.approx(float(stdtrit(freedom, 0.95)))
    # Between two whole ones, as Welch's degrees of freedom are.
    assert statistics.t_quantile(2.5) == pytest.approx(float(stdtrit(2.5, 0.975)), rel=1e-14)
