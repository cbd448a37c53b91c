"""How numbers are written, worked out by hand."""

from __future__ import annotations

import math

import pytest

import clearpipe as cp
from clearpipe import metric_titles, units

T = units.THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1"),
        (9.99996, "10"),
        (0.12345, "0.1235"),
        (0.5, "0.5"),
        (1234.4, "1234"),
        (123456.7, f"123{T}457"),
        (-3.14159, "-3.142"),
        (1.25e-5, "0.0000125"),
        (1e-9, "1 × 10⁻⁹"),  # noqa: RUF001
        (2.5e16, "2.5 × 10¹⁶"),  # noqa: RUF001
        (9.99996e15, "1 × 10¹⁶"),  # noqa: RUF001
        (1e30, "1 × 10³⁰"),  # noqa: RUF001
        (-1e308, "-1 × 10³⁰⁸"),  # noqa: RUF001
        (5e-324, "4.941 × 10⁻³²⁴"),  # noqa: RUF001
        (math.nan, units.DASH),
        (math.inf, units.DASH),
    ],
)
def test_four_digits_and_no_exponents(value: float, text: str) -> None:
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (9.9732e6, "bps", "9.973 Mb/s"),
        (999.99e3, "bps", "1 Mb/s"),
        (0, "bps", "0 b/s"),
        (0.0278316, "s", "27.83 ms"),
        (2e-6, "s", "2 µs"),
        (3437500, "bytes", "3.438 MB"),
        (0.987123, "ratio", "98.71 %"),
        (12.5, "pkts", "12.5 pkts"),
        (0.99, "", "0.99"),
    ],
)
def test_units_have_prefixes_that_suit(value: float, unit: str, text: str) -> None:
    assert units.tell(value, unit) == text


@pytest.mark.parametrize(
    ("mean", "half", "unit", "text"),
    [
        (9.9732e6, 8.6e2, "bps", "9.97320 ± 0.00086 Mb/s"),
        (12.3456, 1.234, "pkts", "12.3 ± 1.2 pkts"),
        (0.5, 0.0123, "ratio", "50.0 ± 1.2 %"),
        (1362.4, 103.2, "pkts", "1362 ± 103 pkts"),
        (5, 0, "pkts", "5 ± 0 pkts"),
        (0.98712, 1e-9, "ratio", "98.7120 ± 0.0001 %"),
        (5, math.inf, "pkts", "5 pkts"),
        (4802, 5143, "", "4802 ± 5143"),
        (1e30, 1e20, "", "1 × 10³⁰ ± 1 × 10²⁰"),  # noqa: RUF001
        (0, 5e-324, "", "0 ± 4.9 × 10⁻³²⁴"),  # noqa: RUF001
    ],
)
def test_a_mean_has_the_digits_that_its_interval_leaves(
    mean: float, half: float, unit: str, text: str
) -> None:
    assert units.spread(mean, half, unit) == text


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("27.8316ms", "27.83 ms"),
        ("10Mbps", "10 Mb/s"),
        ("1500B", "1.5 kB"),
        ("2bdp", "2 bdp"),
        ("1e40bps", "1 × 10³¹ Gb/s"),  # noqa: RUF001
        (7, "7"),
        ("xcp", "xcp"),
    ],
)
def test_settings_of_a_scenario(setting: object, text: str) -> None:
    assert units.setting(setting) == text


def test_places_behind_the_point_of_any_number() -> None:
    assert units.fixed(2.0**90, 3).replace(T, "") == "1237940039285380274899124224.000"
    assert units.fixed(5e-324, 3) == "0.000"
    assert units.count(1e21) == T.join(["1", *["000"] * 7])


def test_counts_have_words_that_suit() -> None:
    told = [units.counted(n, "run is", "runs are") for n in (0, 1, 2, 12345)]
    assert told == ["0 runs are", "1 run is", "2 runs are", f"12{T}345 runs are"]


def test_a_column_has_one_unit() -> None:
    by = units.scale([9e3, 2e6, math.nan], "bps")
    assert by == units.Scale(1e6, "Mb/s")
    assert units.spread(9e3, 2e3, by=by) == "0.0090 ± 0.0020"


def test_measures_have_names_and_units() -> None:
    assert metric_titles.of("links.core.queue_mean_pkts").heading("pkts") == "Mean queue (pkts)"
    assert metric_titles.of("total_drops_pkts").title == "Drops, whole run"
    assert metric_titles.of("shiny_new_bps") == metric_titles.Measure("Shiny new", "bps")
    assert metric_titles.owner("links.core.reverse.queue_mean_pkts") == "link core.reverse"
    assert metric_titles.owner("utilization_ratio", ["a", "b"]) == "link a or b"
    assert metric_titles.key_title("topology.rtt", ["topology.rtt"]) == "RTT"
    assert (
        metric_titles.key_title("flows.web.protocol", ["flows.web.protocol"]) == "Protocol of web"
    )
    assert metric_titles.key_title("scheme", ["a", "b"]) == "Scheme"
    assert metric_titles.of("utilization_ratio").difference(0.0825, "+") == "+8.25 % points"


def test_yes_and_no_are_no_numbers(result: cp.Result) -> None:
    assert result.summary["groups"][0]["arriving"] is False
    found = metric_titles.values(result)
    assert ("groups", result.summary["groups"][0]["group"], "flows") in found
    assert not any(column == "arriving" for _, _, column in found)
