"""Senders and routers that are Python classes."""

from __future__ import annotations

import gc
import sys
import textwrap
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clearpipe as cp
from clearpipe import examples, prototype
from clearpipe.cli import app

PROTOTYPE = examples.path("prototype")

SCENARIO = """\
schema = 1
name = "prototype"
duration = "20s"
warmup = "5s"
[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "40ms"
buffer = "0.5bdp"
queue = "q"
[queues.q]
{queue}
[protocols.p]
{protocol}
[flows.a]
protocol = "p"
count = 3
start = "uniform(0s, 1s)"
"""


def scenario(protocol: str = 'kind = "sack"', queue: str = 'kind = "droptail"') -> str:
    return SCENARIO.format(protocol=protocol, queue=queue)


def python(name: str) -> str:
    return f'kind = "python"\ncode = "{name}"'


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own, in which the example's classes are."""
    monkeypatch.chdir(tmp_path)
    Path("toys.py").write_text(PROTOTYPE.with_suffix(".py").read_text(encoding="utf-8"))
    return tmp_path / "toys.py"


def add(toys: Path, code: str) -> None:
    with toys.open("a", encoding="utf-8") as file:
        file.write("\n\n" + textwrap.dedent(code))


def run(text: str, **keywords: object) -> cp.Result:
    Path("it.toml").write_text(text, encoding="utf-8")
    return cp.run("it.toml", **keywords)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("extra", ["", 'recovery = "reno"'])
def test_reno_in_python_is_reno(toys: Path, extra: str) -> None:
    """To the bit: the same packets at the same picoseconds."""
    builtin = run(scenario(f'kind = "sack"\n{extra}'), seed=5)
    own = run(scenario(f"{python('toys.py:Reno')}\n{extra}"), seed=5)
    assert own.fingerprint == builtin.fingerprint
    assert own.meta["identity"] != builtin.meta["identity"]
    assert builtin.summary["links"][0]["drops_pkts"] > 0


def test_a_router_in_python_drops(toys: Path) -> None:
    """HalfFull drops from half a buffer on, at most a fifth: the queue stays below the whole."""
    own = run(scenario(queue=python("toys.py:HalfFull")), seed=5).summary["links"][0]
    tail = run(scenario(), seed=5).summary["links"][0]
    assert 0 < own["queue_mean_pkts"] < tail["queue_mean_pkts"]
    assert own["utilization_ratio"] > 0.7


def test_the_example_shares_fairly() -> None:
    mine, theirs = cp.run(PROTOTYPE, seed=1).summary["groups"]
    assert mine["goodput_bps"] is not None
    assert theirs["goodput_bps"] is not None
    assert mine["goodput_bps"]["mean"] == pytest.approx(theirs["goodput_bps"]["mean"], rel=0.35)


STILL = """\
import clearpipe as cp
{imported}

class Still(cp.Sender):
    def on_ack(self, ack):
        self.cwnd = {window}

    def on_loss(self, loss):
        pass
"""


def still(window: str, imported: str = "") -> None:
    text = STILL.format(window=window, imported=imported)
    Path("still.py").write_text(text, encoding="utf-8")


def command(*arguments: str, expect: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == expect, result.output
    return result.output


def test_an_edited_class_is_another_run(toys: Path) -> None:
    text = scenario(python("still.py:Still")).replace('"20s"', '"6s"')
    Path("it.toml").write_text(text, encoding="utf-8")
    still("5.0")
    first = cp.run("it.toml", seed=1)
    command("run", "it.toml", "--out", "r")
    assert "was there already" in command("run", "it.toml", "--out", "r")
    still("40.0")
    second = cp.run("it.toml", seed=1)
    assert first.fingerprint != second.fingerprint
    assert first.meta["identity"] != second.meta["identity"]
    told = command("run", "it.toml", "--out", "r", expect=1)
    assert "r: contains the result of another run" in told
    still("5.0")
    assert "was there already" in command("run", "it.toml", "--out", "r")


@pytest.mark.parametrize(
    ("where", "form"),
    [
        ("helper.py", "from helper import WINDOW"),
        ("deep/__init__.py", "import deep; WINDOW = deep.WINDOW"),
    ],
)
def test_an_edited_helper_is_another_run(toys: Path, where: str, form: str) -> None:
    helper = Path(where)
    helper.parent.mkdir(exist_ok=True)
    still("WINDOW", form)
    found = []
    for window in ("5.0", "40.0", "5.0"):
        helper.write_text(f"WINDOW = {window}\n", encoding="utf-8")
        result = run(scenario(python("still.py:Still")).replace('"20s"', '"6s"'))
        found.append((result.meta["identity"], result.fingerprint))
    assert found[0] == found[2]
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_an_edited_module_is_imported_anew(toys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(toys.parent))
    found = []
    for window in ("5.0", "40.0"):
        still(window)
        result = run(scenario(python("still:Still")).replace('"20s"', '"6s"'))
        found.append((result.meta["identity"], result.fingerprint))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_a_sweep_tells_versions_of_a_class_apart(toys: Path) -> None:
    text = scenario(python("still.py:Still")).replace('"20s"', '"6s"')
    text += '[sweep]\nreps = 2\nvary."topology.rtt" = ["20ms", "40ms"]\n'
    Path("it.toml").write_text(text, encoding="utf-8")
    sweep = ("sweep", "run", "it.toml", "--store", "store")
    still("5.0")
    assert "4 of 4 runs done (4 now)" in command(*sweep)
    assert "4 of 4 runs done (0 now)" in command(*sweep)
    still("40.0")
    assert "4 of 4 runs done (4 now)" in command(*sweep)
    still("5.0")
    assert "4 of 4 runs done (0 now)" in command(*sweep)


def test_a_class_without_a_file_is_known_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = set()
    for window in (5.0, 40.0, 5.0):
        space: dict[str, object] = {"__name__": "__main__", "WINDOW": window}
        code = STILL.format(imported="", window="WINDOW")
        exec(compile(code, "<cell>", "exec"), space)
        monkeypatch.setattr(sys.modules["__main__"], "Still", space["Still"], raising=False)
        versions.add(prototype.version("__main__:Still", "x.toml", False, "p"))
    assert len(versions) == 2


def test_headers_pacing_timers_and_marks(toys: Path) -> None:
    """An explicit protocol: the router writes a rate, the sender paces at it."""
    add(
        toys,
        """
        class Rated(cp.Sender):
            def __init__(self, context):
                super().__init__(context)
                self.cwnd, self.pacing, self.timer = 1000.0, 1e6, 3.0
                self.ticks = []

            def on_send(self, segment):
                return (1e9, segment.seq, 0.0)

            def on_ack(self, ack):
                assert ack.header[1] >= 0 and ack.code in (1, 3)
                self.pacing = ack.header[0]

            def on_loss(self, loss):
                raise AssertionError(loss.kind)

            def on_timer(self, now):
                assert self.timer is None
                self.ticks.append(now)
                self.timer = now + 0.5
                assert now == 3.0 + 0.5 * (len(self.ticks) - 1)


        class Meter(cp.Router):
            def __init__(self, context):
                super().__init__(context)
                self.share = context.capacity_bps / 4
                self.timer = 0.25

            def on_arrival(self, packet, backlog):
                if packet.header is None:
                    assert packet.is_ack
                    return
                packet.ecn = 3
                packet.header = (min(packet.header[0], self.share), *packet.header[1:])

            def on_departure(self, packet, backlog):
                assert packet.is_ack or packet.header[0] == self.share
                assert packet.queued_for >= 0.0

            def on_timer(self, now, backlog):
                self.timer = now + 0.25
        """,
    )
    text = toys.read_text(encoding="utf-8")
    toys.write_text(
        text.replace("class Rated(cp.Sender):", 'class Rated(cp.Sender):\n    ecn = "codes"')
    )
    result = run(scenario(python("toys.py:Rated"), python("toys.py:Meter")), seed=1)
    link = result.summary["links"][0]
    # Three flows at a quarter of the line each.
    assert link["utilization_ratio"] == pytest.approx(0.75, abs=0.01)
    assert link["drops_pkts"] == 0
    assert link["marks_pkts"] > 0


def test_an_exception_ends_the_run(toys: Path) -> None:
    add(
        toys,
        """
        class Breaks(Reno):
            def on_ack(self, ack):
                super().on_ack(ack)
                if ack.now > 2.0:
                    raise ZeroDivisionError("at last")
        """,
    )
    text = scenario(python("toys.py:Breaks"))
    with pytest.raises(ZeroDivisionError, match="at last") as caught:
        run(text, out="result")
    assert "on_ack" in str(caught.traceback[-1])
    result = CliRunner().invoke(app, ["run", "it.toml", "--out", "result"])
    assert result.exit_code == 1
    assert not Path("result").exists()
    assert sorted(path.name for path in Path().iterdir() if path.name != "__pycache__") == [
        "it.toml",
        "toys.py",
    ]
    # What comes after is not touched by it.
    assert run(scenario(), seed=5).meta["state"] == "done"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("self.cwnd = 0.5", r"cwnd is 0\.5: a finite number of packets, 1 to 10000000, is allowed"),
        ("self.cwnd = float('nan')", "cwnd is nan: a finite number"),
        ("self.cwnd = 10000001", "cwnd is 10000001: a finite number"),
        ("self.cwnd = 'a'", "cwnd is 'a': a finite number of packets, 1 to 10000000, is allowed"),
        ("self.pacing = 0.0", r"pacing is 0\.0: None or a number of bit/s, 1 to 1e18, is allowed"),
        ("self.pacing = 'a'", "pacing is 'a': None or a number"),
        ("self.timer = float('nan')", "timer is nan: None or a time in seconds is allowed"),
        ("self.timer = 'a'", "timer is 'a': None or a time in seconds is allowed"),
    ],
)
def test_senseless_wishes_are_refused(toys: Path, body: str, said: str) -> None:
    add(toys, f"class Senseless(Reno):\n    def on_ack(self, ack):\n        {body}\n")
    with pytest.raises(ValueError, match=rf"^Senseless\.{said}"):
        run(scenario(python("toys.py:Senseless")))


@pytest.mark.parametrize(("ecn", "shown"), [("'often'", "'often'"), ("1", "1")])
def test_a_senseless_use_of_ecn_is_refused(toys: Path, ecn: str, shown: str) -> None:
    add(toys, f"class Senseless(Reno):\n    ecn = {ecn}\n")
    said = f'^Senseless\\.ecn is {shown}: "none", "classic" or "codes" is allowed'
    with pytest.raises(ValueError, match=said):
        run(scenario(python("toys.py:Senseless")))


@pytest.mark.parametrize("at", ["now", "now - 1.0"])
def test_a_timer_that_stands_still_is_refused(toys: Path, at: str) -> None:
    """It would be called again and again, and the clock would stand."""
    body = """
        class {name}:
            def __init__(self, context):
                super().__init__(context)
                self.timer = 1.5

            def on_timer(self, now{more}):
                self.timer = {at}
        """
    add(toys, body.format(name="Still(Reno)", more="", at=at))
    add(toys, body.format(name="StillQueue(HalfFull)", more=", backlog", at=at))
    said = r"\.timer is (1|0)\.5: None or a time after now \(1\.5\) is allowed"
    with pytest.raises(ValueError, match=f"^Still{said}"):
        run(scenario(python("toys.py:Still")))
    with pytest.raises(ValueError, match=f"^StillQueue{said}"):
        run(scenario(queue=python("toys.py:StillQueue")))


def test_a_timer_that_is_over_fires_soon(toys: Path) -> None:
    """Set in on_ack to the ACK's own time, or before it: a microsecond later it is there."""
    add(
        toys,
        """
        class Late(Reno):
            def on_ack(self, ack):
                super().on_ack(ack)
                self.set_at, self.timer = ack.now, ack.now - 1.0

            def on_timer(self, now):
                assert 0.999e-6 < now - self.set_at < 1.001e-6
                self.fired = True

            def on_loss(self, loss):
                super().on_loss(loss)
                assert self.fired
        """,
    )
    late = run(scenario(python("toys.py:Late")), seed=5)
    assert late.summary["links"][0]["drops_pkts"] > 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "expected a class"),
        ("Reno", 'found "Reno"'),
        ("no.py:Reno", "there is no file"),
        ("no_such_module:Reno", "there is no module no_such_module"),
        ("toys.py:Remo", r"has no class Remo \(there are: Reno\)"),
        ("toys.py:HalfFull", "is no subclass of clearpipe.Sender"),
    ],
)
def test_a_class_that_is_not_there(toys: Path, name: str, said: str) -> None:
    with pytest.raises(cp.ConfigError, match=said) as caught:
        run(scenario(python(name)))
    assert caught.value.key == "protocols.p.code"
    assert CliRunner().invoke(app, ["run", "it.toml"]).exit_code == 3


def test_what_a_module_raises_goes_through(toys: Path) -> None:
    toys.write_text("import clearpipe as cp\n1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        run(scenario(python("toys.py:Reno")))


def test_a_notebooks_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Still(cp.Sender):
        def on_ack(self, ack: object) -> None:
            pass

        def on_loss(self, loss: object) -> None:
            pass

    monkeypatch.setattr(sys.modules["__main__"], "Still", Still, raising=False)
    result = cp.run(scenario(python("__main__:Still")))
    # A window of one packet per RTT: 1000 B in 40 ms and little more.
    rates = result.flows.column("goodput_bps")
    assert all(rate == pytest.approx(8000 / 0.041, rel=0.05) for rate in rates)


def test_objects_do_not_outlive_their_flows(toys: Path) -> None:
    """Arriving flows come and go, and so do their senders."""
    module = prototype.load("toys.py:Reno", "it.toml", False, "p")
    seen: list[weakref.ref[object]] = []
    alive: list[int] = []

    class Counted(module):  # type: ignore[misc,valid-type]
        def __init__(self, context: object) -> None:
            super().__init__(context)
            seen.append(weakref.ref(self))
            alive.append(sum(ref() is not None for ref in seen))

    sys.modules["__main__"].Counted = Counted  # type: ignore[attr-defined]
    try:
        text = scenario(python("__main__:Counted"))
        text = text.replace(
            'count = 3\nstart = "uniform(0s, 1s)"', 'size = "5kB"\narrivals = "poisson(50/s)"'
        )
        cp.run(text, seed=1)
    finally:
        del sys.modules["__main__"].Counted
    gc.collect()
    assert len(seen) > 500
    assert max(alive) < 100
    assert all(ref() is None for ref in seen)


def test_branches_have_senders_of_their_own(toys: Path) -> None:
    """A variant that changes nothing is the run itself, bit for bit, and the other one is not."""
    text = scenario(python("toys.py:Reno"))
    whole = run(text, seed=5)
    same, slower = cp.branch(
        "it.toml",
        at=10,
        variants={"same": {}, "slower": {"links.bottleneck.rate": "10Mbps"}},
        seed=5,
    ).values()
    assert same.fingerprint == whole.fingerprint
    assert slower.fingerprint != whole.fingerprint


def test_a_prototype_may_run_a_scenario(toys: Path) -> None:
    add(
        toys,
        f"""
        class Curious(Reno):
            def on_loss(self, loss):
                super().on_loss(loss)
                if not hasattr(self, "seen"):
                    self.seen = cp.run({scenario(python("toys.py:Reno"))!r}, set=["duration=6s"])
        """,
    )
    curious = run(scenario(python("toys.py:Curious")), seed=5)
    assert curious.fingerprint == run(scenario(python("toys.py:Reno")), seed=5).fingerprint


def test_threads_read_files_at_once() -> None:
    """Collections of garbage let other threads in while a syntax tree is made."""
    file = Path(__file__).parent / "controls" / "cubic.py"
    wanted = prototype.files(file)
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()

    def work(deeper: int) -> list[Path]:
        return work(deeper - 1) if deeper else prototype.files(file)

    def pause(*_: object) -> None:
        sum(range(200))

    gc.callbacks.append(pause)
    try:
        sys.setswitchinterval(1e-6)
        gc.set_threshold(50)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(work, [n % 7 for n in range(200)]))
    finally:
        gc.callbacks.remove(pause)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert found == [wanted] * len(found)
