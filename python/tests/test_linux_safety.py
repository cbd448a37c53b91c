"""Senders whose path stops giving signals: Reno soon, and the protocol again when they come back.

`pytest -s python/tests/test_linux_safety.py` prints docs/evidence/linux.md's table."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import breaking
import pytest

from clearpipe.linux import hosts, namespaces

LACKS = namespaces.missing()
LACK = hosts.missing()
pytestmark = pytest.mark.skipif(bool(LACKS or LACK), reason=f"exit 5: {LACKS or LACK}")

CODES = ("vcp", "dpcp", "mlcp")
"""Without a router their codes say low load, and only that it said to measure tells of it."""
WITHIN = 10.0
"""RTTs."""


def _seconds(protocol: str, way: str) -> tuple[float, float, float]:
    """The whole path, the broken one and the mended one; windows of codes double in 2.3 s."""
    if protocol not in CODES:
        return 3.0, 2.0, 2.0
    return 9.0, 9.0 if way in {"flip", "silent"} else 2.0, 3.0


def _check(protocol: str, way: str, version: int, folder: Path, *, short: bool = False) -> None:
    if shutil.which("clang") is None or shutil.which("tc") is None:
        pytest.skip("clang and tc are needed")
    seconds = (1.5, 0.8, 0.8) if short else _seconds(protocol, way)
    seen = breaking.run(protocol, way, folder, seconds, version)
    loss = "none" if seen.first_loss is None else f"{seen.first_loss:.1f}"
    assert seen.to_reno is not None
    assert seen.back is not None
    print(
        f"\n| {protocol} | {way} | {version} | {1e3 * seen.rtt_s:.0f} ms | {loss} | "
        f"{seen.to_reno:.1f} | {seen.steepest:.2f} | {seen.back:.1f} | {seen.before:.2f} | "
        f"{seen.after:.2f} | load {os.getloadavg()[0]:.1f} |"
    )
    assert seen.to_reno <= WITHIN
    assert seen.steepest <= 1.0
    assert seen.back <= WITHIN
    assert short or seen.after >= 0.5


# Beside other tests. Eight of the ten RTTs are what a sender waits, so a pause of the machine of
# two can make one miss; a wrong sender misses both times.
@pytest.mark.parametrize(
    ("protocol", "way", "version"), [("xcp", "strip", 6), ("vcp", "silent", 4)]
)
def test_a_sender_without_its_signals_is_reno(
    protocol: str, way: str, version: int, tmp_path: Path
) -> None:
    try:
        _check(protocol, way, version, tmp_path, short=True)
    except AssertionError as missed:
        print(f"missed: {missed}; once more")
        _check(protocol, way, version, tmp_path, short=True)


@pytest.mark.long
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", CODES)
def test_who_sends_little_stays_with_its_protocol(protocol: str, version: int) -> None:
    assert breaking.quiet(protocol, version) == [0, 0, 0]


@pytest.mark.long
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", hosts.PROTOCOLS)
def test_a_firewall_strips_codes_and_options(protocol: str, version: int, tmp_path: Path) -> None:
    _check(protocol, "strip", version, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["vcp", "dpcp"])
def test_a_middlebox_bleaches_the_ecn_bits(protocol: str, tmp_path: Path) -> None:
    _check(protocol, "bleach", 4, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("protocol", hosts.PROTOCOLS)
def test_a_route_leads_over_a_link_without_a_router(protocol: str, tmp_path: Path) -> None:
    _check(protocol, "flip", 4, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("protocol", CODES)
def test_a_router_stops_marking(protocol: str, tmp_path: Path) -> None:
    _check(protocol, "silent", 4, tmp_path)
