"""`cclab evaluate`: what is refused, where it stands, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_suite
from cclab import evaluation
from cclab.cli.exits import WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError, StudyError
from small_suite import SUITE


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return small_suite.write(tmp_path / "small")


def test_nobody_is_compared_with_itself_alone(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="with itself alone"):
        evaluation.evaluate("bbr", suite=suite, out=tmp_path / "out", against="bbr")


@pytest.mark.parametrize(
    ("change", "place", "problem"),
    [
        (("better     = ", "bettr      = "), "22:1", "unknown key `bettr`; did you mean `better`?"),
        (('scenario   = "two"', 'scenario   = "tow"'), "22:1", "no scenario 'tow'"),
        (("margin     = 1.0\nslack      = 0.01\n", ""), "18:1", "a margin, a bound"),
        (('"two.toml"', '"tow.toml"'), "11:1", "no such file"),
        (
            ('id         = "rival"', 'id         = "loss"'),
            "34:1",
            "2 times a criterion called 'loss'",
        ),
        (('id         = "3"', 'id         = "loss"'), "49:1", "a criterion is called 'loss'"),
        (("bottleneck_drop_rate", "bottleneck_drop_rate +"), "24:1", "in `bottleneck_drop_rate +`"),
        (("better     = ", "better       "), "22:12", "Expected '='"),
    ],
)
def test_a_suite_with_an_error_is_refused_where_it_stands(
    tmp_path: Path, change: tuple[str, str], place: str, problem: str
) -> None:
    text = SUITE.replace(*change, 1)
    assert text != SUITE
    small_suite.write(tmp_path, text)
    with pytest.raises(StudyError) as raised:
        evaluation.load(tmp_path)
    assert problem in str(raised.value)
    line = str(raised.value).removeprefix(f"{tmp_path}/suite.toml:").partition(":")[0]
    assert line.isdecimal(), raised.value


@pytest.mark.parametrize(
    ("value", "flow", "problem"),
    [
        ("window_goodput_bpz", "rival", "did you mean 'window_goodput_bps'?"),
        ("window_goodput_bps", "", "it is a number of a flow"),
        ("window_goodput_bps", "rifal", "no flow is called 'rifal'; there are rival, x"),
        ("of('rifal', 'window_goodput_bps')", "rival", "no flow is called 'rifal'"),
        ("sum(each('y*', 'window_goodput_bps'))", "", "no flow is called 'y*'"),
        ("of('x', 'window_goodput')", "rival", "nothing is called 'window_goodput'"),
        ("sum(sources('web*', 'fct_p95_s'))", "", "no source of traffic is called 'web*'"),
        ("rate_bps(3)", "rival", "missing a required argument"),
        ("window_goodput_bps", "*", "gives a number for each of several flows"),
        ("each('*', 'window_goodput_bps')", "", "gives a number for each of several flows"),
        ("slope(each('*', 'window_goodput_bpz'), each('*', 'rtt_min_s'))", "", "did you mean"),
        ("rates_bps(3, 4)", "rival", "no function 'rates_bps'"),
    ],
)
def test_a_value_that_no_run_will_have_is_refused_before_any(
    tmp_path: Path, value: str, flow: str, problem: str
) -> None:
    asked = ('value      = "window_goodput_bps"', f'value      = "{value}"')
    text = SUITE.replace(*asked).replace('"rival"\nunit', f'"{flow}"\nunit')
    small_suite.write(tmp_path, text)
    out = tmp_path / "out"
    with pytest.raises(StudyError) as raised:
        evaluation.evaluate("cubic", suite=tmp_path, out=out)
    key = "flow" if flow == "rifal" else "value"
    line = next(
        number
        for number, written in enumerate(text.splitlines(), 1)
        if written.startswith(f"{key}  ") and (flow if key == "flow" else value) in written
    )
    assert str(raised.value).startswith(f"{tmp_path}/suite.toml:{line}:1: ")
    assert problem in str(raised.value)
    assert not out.exists()


def test_an_unknown_variant_and_an_unknown_suite_are_refused(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--suite", str(suite), "--out", str(tmp_path / "out")]
    assert invoke(["evaluate", "cubik", *words]) == WRONG_INPUT
    said = capsys.readouterr().err
    assert "no variant 'cubik' to evaluate; did you mean 'cubic'?" in said
    assert "suite.toml" not in said
    assert invoke(["evaluate", str(tmp_path / "absent.c"), *words]) == WRONG_INPUT
    assert not (tmp_path / "out").exists()
    assert invoke(["evaluate", "cubic", "--suite", "nope"]) == WRONG_INPUT
    assert "rfc9743" in capsys.readouterr().err
    assert invoke(["evaluate", "cubic", "--suite", str(tmp_path)]) == WRONG_INPUT
    assert "is no suite: there is no suite.toml in it" in capsys.readouterr().err


def test_a_kernel_that_is_to_be_built_first_is_asked_for(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cclab.sweep.absent_kernels", lambda plan: ["kernel 6.12 is not built"])
    with pytest.raises(InputError, match=r"can do no scenario of the suite: kernel 6\.12 is not"):
        evaluation.evaluate("cubic", suite=suite, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("quick", [False, True])
def test_a_wrong_setting_of_a_scenario_is_told_once_with_its_key(
    tmp_path: Path, *, quick: bool
) -> None:
    wrong = "set = ['network.bottleneck.rat=1Mbit']"
    short = "quick   = { repeat = 2 }"
    changed = short.replace(" }", f", {wrong} }}") if quick else f"{wrong}\n{short}"
    folder = small_suite.write(tmp_path / "small", SUITE.replace(short, changed))
    with pytest.raises(InputError) as raised:
        evaluation.evaluate("cubic", suite=folder, out=tmp_path / "out", quick=quick)
    told, key = str(raised.value), "quick.set" if quick else "set"
    assert told.startswith(f"{folder}/suite.toml, scenario 'two', {key}: unknown key `rat`")
    assert told.count("scenario 'two'") == 1
