"""Response functions against the tables and formulas of their sources."""

from __future__ import annotations

import numpy as np
import pytest

from clearpipe.errors import ConfigError
from clearpipe.theory import responses


def test_reno() -> None:
    # RFC 3649, section 2: 1.2 / sqrt(p); with delayed ACKs sqrt(3 / 4p).
    assert responses.reno(1e-4) == pytest.approx(122.5, abs=0.1)
    assert responses.reno(1e-4, b=2) == pytest.approx(86.6, abs=0.1)
    assert responses.reno([1e-2, 1e-8]) == pytest.approx([12.2, 12247], rel=1e-2)


def test_hstcp() -> None:
    # RFC 3649, table 3: loss rate and average window.
    table = {1e-3: 38, 1e-4: 263, 1e-5: 1795, 1e-6: 12279, 1e-7: 83981}
    found = responses.hstcp(list(table))
    assert found == pytest.approx(list(table.values()), rel=0.02)


def test_cubic() -> None:
    # RFC 9438, section 5.1, table for C = 0.4 and an RTT of 100 ms.
    table = {1e-2: 12, 1e-3: 38, 1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33325, 1e-8: 187400}
    found = responses.cubic(list(table), 0.1)
    assert found == pytest.approx(list(table.values()), rel=0.025)
    # eq. (6): 1.054 RTT^0.75 / p^0.75.
    assert responses.cubic(1e-6, 0.2) == pytest.approx(1.054 * 0.2**0.75 / 1e-6**0.75, rel=1e-3)


def test_scalable_gaimd_and_binomial() -> None:
    # Kelly: 0.08 / p with a = 0.01, b = 1/8.
    assert responses.scalable(1e-5) == pytest.approx(8000)
    # AIMD (1, 1/2) is Reno in both families, but for binomial's own constant sqrt 2 for sqrt 1.5.
    assert responses.gaimd(1e-4) == pytest.approx(responses.reno(1e-4))
    assert responses.binomial(1e-4, 0, 1) == pytest.approx(np.sqrt(2e4))
    # Without timeouts alpha = 3 (1 - beta) / (1 + beta) is as fast as Reno: 0.2 for 7/8.
    assert responses.gaimd(1e-4, 0.2, 0.875) == pytest.approx(responses.reno(1e-4))
    # IIAD: k = 1, l = 0: the same exponent, 1/2.
    iiad = responses.binomial([1e-4, 1e-2], 1, 0)
    assert iiad[0] / iiad[1] == pytest.approx(10)


def test_tfrc_and_the_full_model() -> None:
    # RFC 5348 with R = 0.1, p = 0.01: sqrt(2p/3) = 0.0816497, 12 sqrt(3p/8) p (1 + 32p^2) =
    # 12 * 0.0612372 * 0.01 * 1.0032 = 0.00737200: 1 / 0.0890217 = 11.2332.
    assert responses.tfrc(0.01, 0.1) == pytest.approx(11.2332, abs=1e-3)
    # Padhye with b = 1, p = 0.01, R = 0.1, T0 = 1: E[W] = 1 + sqrt(8 * 0.99 / 0.03 + 1) = 17.279;
    # Q = (1 - 0.99^3) (1 + 0.99^3 (1 - 0.99^14.279)) / (1 - 0.99^17.279) = 0.029701 * 1.129711 /
    # 0.159415 = 0.210480; f = 1.010204; (99 + 17.279 + 0.2126) / (0.1 * 9.6395 + 0.21477) * 0.1.
    assert responses.pftk(0.01, 0.1) == pytest.approx(9.883, abs=5e-3)
    # Few losses: both are Reno's.
    assert responses.pftk(1e-7, 0.1) == pytest.approx(responses.reno(1e-7), rel=1e-3)
    assert responses.tfrc(1e-7, 0.1) == pytest.approx(responses.reno(1e-7), rel=1e-3)
    # With a receiver's window of 10 and rare losses the rate is that window's.
    assert responses.pftk(1e-6, 0.1, w_max=10) == pytest.approx(10, rel=1e-3)


def test_htcp() -> None:
    # Below one second between losses H-TCP is AIMD (2 (1 - b), b) = Reno's sqrt(1.5 / p).
    assert responses.htcp(1e-2, 0.1) == pytest.approx(responses.reno(1e-2), rel=1e-3)
    # Two seconds, 0.1 s: W = 2 (2 + 5 + 1/12) / 0.1 = 141.67; the area of g is 2 + 5/3 + 1/48 =
    # 3.6875; packets (0.5 * 141.67 * 2 + 3.6875 / 0.1) / 0.1 = 1785.4, mean 1785.4 * 0.1 / 2.
    assert responses.htcp(1 / 1785.4, 0.1) == pytest.approx(89.27, rel=1e-3)


def test_bic() -> None:
    # Few losses: linear growth by s_max, so AIMD (32, 7/8): sqrt(32 * 1.875 / (2 * 0.125 p)).
    assert responses.bic(1e-9) == pytest.approx(np.sqrt(32 * 1.875 / 0.25 / 1e-9), rel=0.05)
    p = np.geomspace(1e-8, 1e-2, 60)
    assert np.all(np.diff(responses.bic(p)) < 0)
    # At 14 packets it is Reno.
    assert responses.bic(2e-2) == pytest.approx(responses.reno(2e-2), rel=0.03)


def test_dctcp() -> None:
    assert responses.dctcp(0.01) == 200
    # alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2 with W = (100 + 20) / 2 = 60.
    told = responses.dctcp_step(2, 100, 20)
    assert told.window == 60
    assert told.alpha**2 * (1 - told.alpha / 4) == pytest.approx(121 / 61**2)
    assert told.amplitude == pytest.approx(61 * told.alpha / 2)
    assert told.queue_max == 22
    assert told.queue_min == pytest.approx(22 - 2 * told.amplitude)
    # Large windows: alpha about sqrt(2 / W) (eq. (6) there).
    assert responses.dctcp_step(1, 1e6, 0).alpha == pytest.approx(np.sqrt(2e-6), rel=1e-3)


def test_every_response_falls_with_loss() -> None:
    p = np.geomspace(1e-7, 0.05, 80)
    for response in responses.RESPONSES:
        window = response.window(p, 0.1)
        assert window.shape == p.shape, response.name
        assert np.all(np.isfinite(window)), response.name
        assert np.all(np.diff(window) < 0), response.name


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, float("nan")])
def test_impossible_losses_are_refused(p: float) -> None:
    with pytest.raises(ConfigError, match="loss: allowed is above 0 and below 1"):
        responses.reno(p)
