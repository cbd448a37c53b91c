"""Critical gains, encirclements and roots, beside what is known of them in closed form."""

from __future__ import annotations

import json
from cmath import exp
from math import e, log, pi, sqrt

import pytest
from typer.testing import CliRunner

from clearpipe.cli import app
from clearpipe.errors import ConfigError
from clearpipe.theory import aqm, delay, edges, xcp


def test_xcps_edge_is_theorem_1s_along_its_curve() -> None:
    edge = pi / (4 * sqrt(2))
    assert edges.xcp_edge().critical == pytest.approx(edge)
    # The Nyquist curve goes round -1 twice beyond it: a pair of roots.
    for alpha, times in ((0.9 * edge, 0), (0.999 * edge, 0), (1.001 * edge, 2), (1.2 * edge, 2)):
        found = edges.xcp_edge(alpha)
        assert (found.encirclements, found.stable) == (times, times == 0)
        assert (found.roots[0].real > 0) == (times > 0)


def test_the_critical_alpha_and_beta_are_one_curve() -> None:
    """alpha = u sin u, beta = u^2 cos u: at u = pi/4 pi sqrt(2)/8 and pi^2 sqrt(2)/32."""
    assert edges.critical_beta(pi * sqrt(2) / 8) == pytest.approx(pi**2 * sqrt(2) / 32)
    # At u = 1.3, where alpha is largest for its beta: 1.3 sin 1.3 and 1.69 cos 1.3.
    assert edges.critical_alpha(0.452073) == pytest.approx(1.252625, rel=1e-5)
    for beta in (0.1, 0.226, 0.5):
        alpha = edges.critical_alpha(beta)
        assert xcp.margins(alpha, beta).phase_rad == pytest.approx(0, abs=1e-9)
        assert xcp.margins(0.99 * alpha, beta).stable
    with pytest.raises(ConfigError, match="no alpha is stable"):
        edges.critical_alpha(0.8)


def test_the_scalable_law_is_stable_up_to_half_pi() -> None:
    assert edges.scalable_edge(1.57).encirclements == 0
    assert edges.scalable_edge(1.58).encirclements == 2
    assert edges.scalable_edge().ratio == pytest.approx(pi / 2)
    # At 1/e the two rightmost roots meet at -1: s + exp(-s)/e.
    assert edges.scalable_edge(1 / e).roots[0].real == pytest.approx(-1, abs=1e-3)


def test_vcps_edge_is_wrights_without_push() -> None:
    found = edges.miaimd_edge("VCP", 0.25, 1e-9)
    assert found.critical == pytest.approx(pi / 2, rel=1e-6)
    assert found.encirclements == 0
    assert edges.miaimd_edge("VCP", 1.6, 1e-9).encirclements == 2


def test_roots_solve_the_characteristic_equation() -> None:
    """s + exp(-s) = 0: Lambert's W(-1), -0.318 + 1.337j, -2.062 + 7.589j and so on."""
    found = delay.roots(0.0, [(-1.0, 1.0)], 2)
    assert found[0] == pytest.approx(-0.3181315052 + 1.3372357014j)
    assert found[1] == pytest.approx(-2.0622777296 + 7.5886311785j)
    for root in found:
        assert abs(root + exp(-root)) < 1e-9


def test_shuffling_and_rounds() -> None:
    assert edges.shuffling_rtts() == pytest.approx(9.4912, abs=1e-4)
    rounds = edges.fairness_rounds()
    assert [level for level, _, _ in rounds] == list(range(8))
    # ln 0.3 / ln 0.875 and / ln 0.675: the paper says 9 and 3.
    assert rounds[0][2] == pytest.approx(9.0164, abs=1e-3)
    assert rounds[7][2] == pytest.approx(log(0.3) / log(0.675))


def test_a_gain_margin_is_where_the_phase_margin_ends() -> None:
    for path in (aqm.Path(3750.0, 0.246, 60), aqm.Path(300.0, 0.05, 20)):
        for name in ("red", "rem", "pi", "vq", "avq"):
            margin = edges.queue_gain_margin(name, path)
            stable = aqm.margin(name, path).stable
            assert (margin > 1) == stable, name
    # A virtual queue is one pole and a delay, K12/(s + K11) exp(-s d): its phase is -180 degrees
    # where w d + atan(w/K11) = pi. 750 packets/s per flow and 100 ms: K12 = 2/3 * 735 = 490,
    # K11 = 1/(735 * 0.01) = 0.13605, so w = (pi/2 + 0.13605/w)/0.1 = 15.794 within a step of the
    # grid, and the margin w/490.
    margin = edges.queue_gain_margin("vq", aqm.Path(7500.0, 0.1, 10))
    assert margin == pytest.approx(15.794 / 490, rel=1e-3)


def test_the_command_prints_them() -> None:
    told = CliRunner().invoke(app, ["theory", "edges", "--json"])
    assert told.exit_code == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["shuffling_rtts"] == pytest.approx(9.4912, abs=1e-4)
    assert [loop["loop"] for loop in found["loops"]] == [
        "XCP", "XCP", "VCP", "MLCP", "Paganini, Doyle, Low",
    ]  # fmt: skip
    assert len(found["fairness"]) == 8
    assert CliRunner().invoke(app, ["theory", "edges"]).exit_code == 0
