"""The window after an idle time (`transport.idle_restart`), in the packet engine."""

from pathlib import Path

import pytest

import clearpipe as cp

SCENARIO = """
schema = 1
name = "idle"
duration = "3s"
[packets]
data = "1000B"
[transport]
initial_window = "2pkt"
min_rto = "200ms"
rto_granularity = "1ms"
[topology]
kind = "dumbbell"
rate = "1Gbps"
rtt = "50ms"
[flows.a]
protocol = "sack"
rate = "8Mbps"
on = "1s"
off = "1s"
[probe]
series = ["cwnd"]
every = "10ms"
"""


def windows(folder: Path, *sets: str) -> list[float]:
    """The window just before the pause, and 20 ms after it, before any ACK [packets]."""
    file = folder / "idle.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    table = cp.run(file, set=sets).series("cwnd_pkts")
    at = dict(zip((round(t, 3) for t in table["t_s"]), table["cwnd_pkts"], strict=True))
    return [at[0.99], at[2.02]]


def test_a_window_restarts_after_an_idle_time(tmp_path: Path) -> None:
    """8 Mb/s over 50 ms take 50 packets of 1000 B, so far the window grows at least. A packet goes
    at 0.999 s and the next at 2 s, more than five timeouts of 200 ms later: RFC 5681 leaves the
    first window of 2, RFC 2861 halves the window five times."""
    kept = windows(tmp_path)
    assert kept[0] >= 50
    assert kept[1] == kept[0]
    for restart, timeouts in [("rfc5681", None), ("rfc2861", 5)]:
        before, after = windows(tmp_path, f"transport.idle_restart={restart}")
        assert before == kept[0]
        expected = 2 if timeouts is None else max(2, before / 2**timeouts)
        assert after == pytest.approx(expected), restart
