"""A margin (non-inferiority), what `--fail-if` makes of a comparison, and the figure."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest

import cclab
from cclab.cli.exits import DONE, EXPECTATION_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.comparison.difference import difference
from cclab.comparison.margin import Margin
from cclab.comparison.metric import metric_names
from cclab.errors import InputError
from conftest import ROOT, STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from cclab.comparison.difference import Difference

GOODPUT, RETRANSMITS, UTILIZATION, SENT = metric_names(
    ["goodput_bps", "retransmits", "bottleneck.utilization", "rtt_min_s"]
)
FIVE = Margin.of("5%")
_WAVE = [math.sin(k) / 100 for k in range(12)]
"""Runs differ by up to 1%: their interval is about 1% wide."""


def _standing(name: str, shift: float, *, spread: float = 1.0) -> str | None:
    """Where B stands whose runs are higher than A's by `shift` and a little more or less."""
    (metric,) = metric_names([name])
    a = [100.0] * len(_WAVE)
    b = [100 * (1 + shift + spread * w) for w in _WAVE]
    return FIVE.standing(metric, difference(a, b, paired=True), repeated=False)


@pytest.mark.parametrize(
    ("shift", "spread", "standing"),
    [
        (0.03, 1.0, "better"),
        (0.0, 1.0, "no-worse"),
        (-0.03, 1.0, "no-worse"),
        (-0.05, 1.0, "undecided"),
        (-0.08, 1.0, "worse"),
        (0.0, 30.0, "undecided"),
    ],
)
def test_the_interval_decides_where_b_stands(shift: float, spread: float, standing: str) -> None:
    assert _standing("goodput_bps", shift, spread=spread) == standing
    # Of what is better as it gets less, the other side is the better one.
    assert _standing("retransmits", -shift, spread=-spread) == standing
    # Neither way is better as such.
    assert _standing("rtt_min_s", shift, spread=spread) is None


def test_a_margin_in_per_cent_is_of_a_and_one_in_points_of_fractions() -> None:
    """0.90 against 0.93 is 3.2% less, and 3 points; 0.01 against 0.02 half, and one point."""
    wave = np.array(_WAVE) / 10
    points = Margin.of("5pp")
    for a, b, of_a, as_it_is in (
        (0.93, 0.90, "no-worse", "no-worse"),
        (0.02, 0.01, "worse", "no-worse"),
        (0.5, 0.4, "worse", "worse"),
    ):
        found = difference([a] * len(wave), list(b + wave), paired=True)
        assert FIVE.standing(UTILIZATION, found, repeated=False) == of_a
        assert points.standing(UTILIZATION, found, repeated=False) == as_it_is
        # With both, each has its own.
        assert Margin.of("50%, 5pp").standing(UTILIZATION, found, repeated=False) == as_it_is
    # A drop rate of ten times as much is worse, however small it is.
    (drops,) = metric_names(["drop_rate"])
    many = difference([0.001] * len(wave), list(0.0104 + wave), paired=True)
    assert FIVE.standing(drops, many, repeated=False) == "worse"


def test_points_of_what_is_no_fraction_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(STUDY)
    with pytest.raises(
        InputError, match=r"points are of fractions, and flow\.goodput_bps.* 5%,1pp"
    ):
        cclab.compare(
            "cubic", "reno", study=tmp_path / "one.toml", out=tmp_path / "out", margin="1pp"
        )
    assert not (tmp_path / "out").exists()


def test_of_a_that_has_none_any_more_is_worse() -> None:
    some, none = [3.0, 4.0, 5.0, 4.0], [0.0] * 4
    assert FIVE.standing(RETRANSMITS, difference(none, some, paired=True), False) == "worse"
    assert FIVE.standing(RETRANSMITS, difference(some, none, paired=True), False) == "better"
    assert FIVE.standing(RETRANSMITS, difference(none, none, paired=True), True) == "no-worse"


def test_what_has_no_interval_is_undecided_unless_it_is_equal() -> None:
    single = difference([1.0], [2.0], paired=True)
    assert FIVE.standing(GOODPUT, single, repeated=False) == "undecided"
    same = difference([1.0] * 3, [2.0] * 3, paired=True)
    # Repeats of one run say nothing of others.
    assert FIVE.standing(GOODPUT, same, repeated=True) == "undecided"
    assert FIVE.standing(GOODPUT, same, repeated=False) == "better"
    assert FIVE.standing(GOODPUT, None, repeated=False) is None


@pytest.mark.parametrize(
    "wrong", ["0%", "5ms", "-5%", "5", "five", "", 0, -0.1, "120%", "0pp", "5%,6%", "1pp,5"]
)
def test_a_margin_is_a_part_of_a(wrong: str | float) -> None:
    with pytest.raises(InputError, match=r"^margin .*(such as 5%|is 5% meant\?)"):
        Margin.of(wrong)
    assert Margin.of(0.05) == FIVE
    assert [str(Margin.of(text)) for text in ("5%", "1pp", "1pp, 5%")] == ["5%", "1pp", "5%,1pp"]


# The command.

_LOSSY = STUDY.replace('delay = "5ms"', 'delay = "5ms"\nloss = "0.5%"').replace('"2s"', '"4s"')


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A study and the same with a fifth of its rate: twelve seeds each."""
    folder = tmp_path_factory.mktemp("margins")
    (folder / "lossy.toml").write_text(_LOSSY)
    for name, rate in (("fast", "10Mbit"), ("slow", "2Mbit")):
        keys = [f"network.bottleneck.rate={rate}"]
        cclab.run(folder / "lossy.toml", out=folder / name, repeat=12, set=keys)
    return folder / "fast", folder / "slow"


def test_what_got_worse_ends_with_one_and_is_named(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", *map(str, folders), "--metric", "goodput_bps"]
    assert invoke(command) == DONE
    capsys.readouterr()
    assert invoke([*command, "--fail-if", "worse"]) == EXPECTATION_FAILED
    told = capsys.readouterr()
    # Two flows at each of two points, and over both points.
    assert "--fail-if worse: 6 comparisons came out so; 6 tests judged together" in told.err
    assert re.search(
        r"short\.cc = reno: long, goodput: worse, -\d+%.*, p (= 0\.00\d|< 0\.001)$", told.err, re.M
    )
    assert "over all sweep points: short, goodput: worse" in told.err
    # The other way round it got better, which differs and is not worse.
    back = ["compare", *map(str, reversed(folders)), "--metric", "goodput_bps", "--fail-if"]
    assert invoke([*back, "worse"]) == DONE
    assert invoke([*back, "different"]) == EXPECTATION_FAILED
    # With a margin, what is undecided can fail too; against itself nothing does.
    assert invoke([*back, "worse,undecided", "--margin", "5%"]) == DONE
    same = ["compare", str(folders[0]), str(folders[0]), "--margin", "5%", "--fail-if"]
    assert invoke([*same, "worse,undecided,different"]) == DONE


def test_the_margin_is_in_the_table_the_document_and_python(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", *map(str, folders), "--margin", "5%"]
    assert invoke(command) == DONE
    shown = capsys.readouterr().out
    assert shown.count("within 5%\n") == 2
    assert re.search(r"^within 5% of A: .*\d+ worse", shown, re.MULTILINE)
    assert invoke([*command, "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads((ROOT / "docs/compare.schema.json").read_text()))
    assert document["margin"] == 0.05
    compared = cclab.compare(*folders, margin="5%")
    assert json.loads(json.dumps(compared.document())) == document
    goodput = document["points"][0]["flows"][0]["metrics"]["window_goodput_bps"]
    assert (goodput["verdict"], goodput["standing"]) == ("worse", "worse")
    faults = compared.failing("worse")
    assert {fault.outcome for fault in faults} == {"worse"}
    at_points = [fault for fault in faults if fault.point != "over all sweep points"]
    # By the interval alone more may be worse: they are not judged together.
    assert 0 < len(at_points) <= sum(c.standing == "worse" for c in compared.compared)
    # Without a margin nothing stands anywhere.
    plain = cclab.compare(*folders).document()
    assert plain["margin"] is None
    assert {c["standing"] for c in plain["points"][0]["bottleneck"].values()} == {None}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--fail-if", "bad"],
            "--fail-if bad: no such outcome; one of worse, undecided, different",
        ),
        (["--fail-if", "undecided"], "a margin says; add --margin 5%"),
        (["--fail-if", ","], "--fail-if names nothing"),
        (["--margin", "5"], "margin 5: in per cent of A's mean; is 5% meant?"),
        (["--figure", "f.txt"], "--figure f.txt: a file that ends in .svg, .pdf or .png"),
        (["--figure", "nowhere/f.svg"], "--figure nowhere/f.svg: no folder nowhere"),
    ],
)
def test_wrong_input_is_refused(
    folders: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    assert invoke(["compare", *map(str, folders), *arguments]) == WRONG_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err


def test_a_check_that_cannot_fail_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.toml").write_text(STUDY)
    command = ["compare", "cubic", "sack", "--study", str(tmp_path / "one.toml"), "--repeat", "1"]
    command += ["--out", str(tmp_path), "--set", "duration=1s", "--fail-if"]
    assert invoke([*command, "worse"]) == WRONG_INPUT
    assert "nothing could be tested, so nothing could fail" in capsys.readouterr().err
    assert invoke([*command, "worse,undecided", "--margin", "5%"]) == EXPECTATION_FAILED


# The figure.


def test_the_figure_has_a_panel_for_each_metric_and_the_margin(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.svg"
    command = ["compare", *map(str, folders), "--margin", "5%", "--figure", str(file)]
    assert invoke(command) == DONE
    assert f"figure: {file}" in capsys.readouterr().err
    first = file.read_bytes()
    assert first.startswith(b"<?xml")
    assert invoke(command) == DONE
    assert file.read_bytes() == first
    compared = cclab.compare(*folders, margin="5%")
    figure = compared.figure()
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert [*panels][:3] == ["goodput ↑", "retransmits ↓", "srtt mean ↓"]
    goodput = panels["goodput ↑"]
    apart = _differences(compared, "window_goodput_bps")  # the study has a warm-up
    means = {100 * d.relative.mean for d in apart if d.relative}
    drawn = _drawn(goodput)
    assert len(means) == 4
    assert means <= drawn
    # The margin is where B would be worse by more.
    assert -5.0 in drawn
    assert 5.0 in _drawn(panels["srtt mean ↓"])
    # Beside a difference in points, a part of A has a place of its own in each row.
    used = panels["utilization ↑"]
    means = {d.a.mean for d in _differences(compared, "utilization")}
    assert all(any(x == pytest.approx(-5 * mean) for x in _drawn(used)) for mean in means)
    assert used.get_xlim()[0] < -5 * max(means)


def _drawn(axes: Axes) -> set[float]:
    """Every abscissa of a panel's lines."""
    return {float(x) for line in axes.lines for x in np.asarray(line.get_xdata(), dtype=float)}


def _differences(compared: cclab.Comparison, name: str) -> list[Difference]:
    of_it = (c.difference for c in compared.compared if c.metric.name == name)
    return [found for found in of_it if found is not None]
