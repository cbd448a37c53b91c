"""What `[sweep]` and `[plot]` may say, and the message for what they may not."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping import BASE

from clearpipe import ConfigError
from clearpipe.sweep import load
from clearpipe.sweep.spec import Spec


def read(tmp_path: Path, text: str) -> Spec:
    file = tmp_path / "sweep.toml"
    file.write_text(BASE + text, encoding="utf-8")
    return load(file)


def test_points_are_the_product_of_the_axes(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        """[sweep]
        reps = 3
        vary."topology.rtt" = ["10ms", "20ms"]
        vary."flows.a.count" = [1, 2, 3]
        """,
    )
    assert [point.number for point in spec.points] == list(range(6))
    assert spec.points[1].sets == ('topology.rtt="10ms"', "flows.a.count=2")
    assert spec.points[5].coordinates == {"topology.rtt": "20ms", "flows.a.count": "3"}
    assert spec.reps == 3


@pytest.mark.parametrize(
    ("series", "values"),
    [
        ("linspace(10ms, 40ms, 4)", ["10ms", "20ms", "30ms", "40ms"]),
        ("logspace(1Mbps, 1Gbps, 4)", ["1Mbps", "10Mbps", "100Mbps", "1Gbps"]),
        ("logspace(500kbps, 2Mbps, 3)", ["500kbps", "1Mbps", "2Mbps"]),
        ("linspace(1, 10, 4)", [1, 4, 7, 10]),
        ("linspace(0.5bdp-pkt, 1.5bdp-pkt, 3)", ["0.5bdp-pkt", "1bdp-pkt", "1.5bdp-pkt"]),
        ("linspace(1x, 2x, 3)", ["1x", "1.5x", "2x"]),
        ("logspace(1, 100, 3)", [1, 10, 100]),
        ("linspace(0.5, 1.0, 3)", [0.5, 0.75, 1.0]),
        # 1 and 7 in equal ratios: 7^(1/2) = 2.645751.
        ("logspace(1ms, 7ms, 3)", ["1ms", "2.64575ms", "7ms"]),
    ],
)
def test_series_by_hand(tmp_path: Path, series: str, values: list[object]) -> None:
    spec = read(tmp_path, f'[sweep]\nvary."flows.a.x" = "{series}"\n')
    assert [value[0] for value in spec.axes[0].values] == values


def test_a_zip_varies_keys_together(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        """[sweep]
        [[sweep.zip]]
        name = "scheme"
        labels = ["XCP", "SACK"]
        "flows.a.protocol" = ["xcp", "sack"]
        "topology.queue" = ["xcp", "droptail"]
        """,
    )
    assert [point.coordinates for point in spec.points] == [{"scheme": "XCP"}, {"scheme": "SACK"}]
    assert spec.points[1].sets == ('flows.a.protocol="sack"', 'topology.queue="droptail"')


def test_conditions_choose_points(tmp_path: Path) -> None:
    axes = 'vary."topology.rtt" = ["10ms", "0.02s", "40ms"]\nvary."flows.a.count" = [1, 2]\n'

    def left(conditions: str) -> list[tuple[str, ...]]:
        spec = read(tmp_path, f"[sweep]\n{axes}{conditions}\n")
        return [tuple(point.coordinates.values()) for point in spec.points]

    assert left('skip = [{ "topology.rtt" = ">= 20ms", "flows.a.count" = 2 }]') == [
        ("10ms", "1"),
        ("10ms", "2"),
        ("0.02s", "1"),
        ("40ms", "1"),
    ]
    assert left('only = [{ "topology.rtt" = ["10ms", "40ms"], "flows.a.count" = 1 }]') == [
        ("10ms", "1"),
        ("40ms", "1"),
    ]
    assert left('only = [{ "topology.rtt" = "< 20ms" }, { "topology.rtt" = "> 20ms" }]') == [
        ("10ms", "1"),
        ("10ms", "2"),
        ("40ms", "1"),
        ("40ms", "2"),
    ]


def test_conditions_compare_quantities(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        """[sweep]
        vary."topology.rtt" = ["100ms", "1000ms", "2s"]
        skip = [{ "topology.rtt" = ["1s", "0.1s"] }]
        """,
    )
    assert [point.label for point in spec.points] == ["topology.rtt=2s"]


def test_a_plot_may_leave_out_an_axis_with_one_setting_left(tmp_path: Path) -> None:
    text = f"""[sweep]
    {AXIS}
    vary."flows.a.count" = [1, 2]
    only = [{{ "flows.a.count" = 2 }}]
    [plot]
    x = "topology.rtt"
    y = "utilization_ratio"
    """
    assert len(read(tmp_path, text).plots) == 1


AXIS = 'vary."topology.rtt" = ["10ms", "20ms"]\n'
BAD = {
    "no table": ("", "sweep: missing table; a sweep says what varies in [sweep]"),
    "unknown key": ("[sweep]\nvery = 1\n", "sweep.very: unknown key; did you mean vary?"),
    "no list": ('[sweep]\nvary."a.b" = 3\n', "sweep.vary.a.b: 3: expected a list, linspace"),
    "a key without quotes": (
        "[sweep]\nvary.topology.rtt = [1]\n",
        "sweep.vary.topology: expected a list or a series; write it as one quoted key: "
        '"topology.rtt"',
    ),
    "empty list": ('[sweep]\nvary."a.b" = []\n', "sweep.vary.a.b: the list is empty"),
    "twice": ('[sweep]\nvary."a.b" = [1, 1]\n', "sweep.vary.a.b: 1 appears twice"),
    "units": (
        '[sweep]\nvary."a.b" = "linspace(1ms, 2Mbps, 3)"\n',
        "sweep.vary.a.b: linspace(1ms, 2Mbps, 3): expected two quantities of one kind",
    ),
    "one step": (
        '[sweep]\nvary."a.b" = "linspace(1ms, 2ms, 1)"\n',
        "sweep.vary.a.b: 1: expected a number of values from 2 on",
    ),
    "log of zero": (
        '[sweep]\nvary."a.b" = "logspace(0ms, 2ms, 3)"\n',
        "sweep.vary.a.b: logspace(0ms, 2ms, 3): both ends must be above zero",
    ),
    "zip of unequal lists": (
        '[[sweep.zip]]\n"a.b" = [1, 2]\n"a.c" = [1]\n',
        "sweep.zip[0]: the lists are of different lengths: a.b 2, a.c 1",
    ),
    "labels": (
        '[[sweep.zip]]\n"a.b" = [1, 2]\nlabels = ["x"]\n',
        "sweep.zip[0].labels: expected a list of 2 texts",
    ),
    "equal labels": (
        '[[sweep.zip]]\n"a.b" = [1, 2]\nlabels = ["x", "x"]\n',
        "sweep.zip[0].labels: two settings have the same label",
    ),
    "a key twice": (
        '[sweep]\nvary."a.b" = [1]\n[[sweep.zip]]\nname = "z"\n"a.b" = [2]\n',
        "sweep: the key a.b varies twice",
    ),
    "reps": (
        f"[sweep]\nreps = 0\n{AXIS}",
        "sweep.reps: 0: expected a whole number from 1 to 1000000",
    ),
    "keep": (
        f'[sweep]\nkeep = "some"\n{AXIS}',
        'sweep.keep: \'some\': expected "all" or "summary"',
    ),
    "until without ci": (
        f'[sweep]\nuntil = {{ metric = "x" }}\n{AXIS}',
        'sweep.until.ci: missing key; expected a share such as "2%"',
    ),
    "until's share": (
        f'[sweep]\nuntil = {{ ci = "2" }}\n{AXIS}',
        "sweep.until.ci: '2': expected a share above 0% and up to 100%",
    ),
    "until's reps": (
        f'[sweep]\nuntil = {{ ci = "2%", min_reps = 9, max_reps = 4 }}\n{AXIS}',
        "sweep.until: min_reps = 9 and max_reps = 4",
    ),
    "condition on nothing": (
        f"[sweep]\n{AXIS}skip = [{{ rtt = 1 }}]\n",
        "sweep.skip[0].rtt: unknown key; ",
    ),
    "condition without a quantity": (
        f'[sweep]\n{AXIS}skip = [{{ "topology.rtt" = "< soon" }}]\n',
        "sweep.skip[0].topology.rtt: soon: expected a quantity after <",
    ),
    "nothing left": (
        f'[sweep]\n{AXIS}only = [{{ "topology.rtt" = "> 1s" }}]\n',
        "sweep: the conditions leave no point",
    ),
    "a value that is no setting": (
        f'[sweep]\n{AXIS}only = [{{ "topology.rtt" = ["10ms", "1s"] }}]\n',
        "sweep.only[0].topology.rtt: '1s': no setting of it has this value",
    ),
    "a date": (
        '[sweep]\nvary."a.b" = [2020-01-01]\n',
        "sweep.vary.a.b: 2020-01-01: expected a text, a number, true, false, a list or a table; "
        "write dates and times in quotes",
    ),
    "the seed": ("[sweep]\nvary.seed = [1, 2]\n", "sweep: the seed cannot vary: it is one"),
    "a plot's name": (
        f'[sweep]\n{AXIS}[plot."a/b"]\nx = "topology.rtt"\ny = "a"\n',
        "plot.a/b: 'a/b' cannot be the name of a file",
    ),
    "a plot that leaves an axis out": (
        f'[sweep]\n{AXIS}vary."flows.a.count" = [1, 2]\n[plot]\nx = "topology.rtt"\ny = "a"\n',
        "plot: the axis flows.a.count has 2 settings and is not in the plot; "
        'lines = "flows.a.count" or panels = "flows.a.count" or `only` makes it one',
    ),
    "plot of no axis": (
        f'[sweep]\n{AXIS}[plot]\nx = "topology.rrt"\ny = "utilization_ratio"\n',
        "plot.x: 'topology.rrt' is not an axis; did you mean topology.rtt?",
    ),
    "plot without y": (f'[sweep]\n{AXIS}[plot]\nx = "topology.rtt"\n', "plot.y: missing key"),
    "plot's scale": (
        f'[sweep]\n{AXIS}[plot]\nx = "topology.rtt"\ny = "a"\nx_scale = "lin"\n',
        'plot.x_scale: \'lin\': expected "linear" or "log"',
    ),
    "plot's key": (
        f'[sweep]\n{AXIS}[plot.one]\nx = "topology.rtt"\ny = "a"\nscale = "lin"\n',
        "plot.one.scale: unknown key; did you mean",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_named(tmp_path: Path, what: str) -> None:
    text, message = BAD[what]
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path / 'sweep.toml'}: {message}")


def test_a_wrong_scenario_is_the_scenarios_error(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(BASE.replace('"10Mbps"', '"10"') + f"[sweep]\n{AXIS}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"sweep\.toml:\d+: topology\.rate"):
        load(file)


@pytest.mark.parametrize("reps", [0, -1, 10**9])
def test_replications_from_python_have_the_bounds_of_the_file(tmp_path: Path, reps: int) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f"{BASE}\n[sweep]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"reps: {reps}: expected a whole number from 1 to"):
        load(file, reps=reps)


@pytest.mark.parametrize("key", ["sweep.reps", "plot.x", '"sweep".reps'])
def test_what_a_sweep_would_not_hear_of_is_refused(tmp_path: Path, key: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f"{BASE}\n[sweep]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"--set .* are read from the file"):
        load(file, sets=[f"{key}=2"])
    with pytest.raises(ConfigError, match="cannot vary: it is no key of a single run"):
        read(tmp_path, f"[sweep]\nvary.'{key}' = [1, 2]\n")
