"""Checks of a study: what they compute, what intervals say of them, and what is refused."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cclab.errors import StudyError
from cclab.measure import expect, findings
from cclab.measure.stats import Estimate, estimate
from cclab.plan import Expectation, Named, Plan
from cclab.plan.study import Study
from conftest import STUDY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

GOODPUT = "flow.{}.goodput_bps"


def _metrics(a: float | None, b: float | None) -> dict[str, Any]:
    flows = [
        {"name": name, "goodput_bps": value, "datagrams": None, "limited": None}
        for name, value in (("a", a), ("b-c", b))
    ]
    return {"flows": flows, "warmup_s": 0.0}


def _points(*points: Sequence[tuple[float | None, float | None]]) -> list[Any]:
    return [
        SimpleNamespace(
            params={"n": number},
            runs=[SimpleNamespace(metrics=_metrics(*values)) for values in runs],
        )
        for number, runs in enumerate(points)
    ]


def _outcome(expression: str, runs: Sequence[tuple[float | None, float | None]]) -> expect.Outcome:
    named = [
        Named(GOODPUT.format(name), {"flow": name}, "goodput_bps")
        for name in ("a", "b-c")
        if f".{name}." in expression
    ]
    (outcome,) = expect.outcomes([Expectation(expression, named, "check")], _points(runs))
    return outcome


# The runs of both: a is above b-c by 1 in each, though each varies by more.
PAIRED = [(10e6, 9e6), (20e6, 19e6), (30e6, 29e6), (25e6, 24e6), (15e6, 14e6)]


@pytest.mark.parametrize(
    ("expression", "met", "finding"),
    [
        ("flow.a.goodput_bps > 5Mbit", True, "holds"),
        ("flow.a.goodput_bps > 40Mbit", False, "fails"),
        ("flow.a.goodput_bps > 19Mbit", True, "open"),
        ("flow.a.goodput_bps > 21Mbit", False, "open"),
        ("19Mbit < flow.a.goodput_bps", True, "open"),
        ("5Mbit < flow.a.goodput_bps <= 40Mbit", True, "holds"),
        ("flow.a.goodput_bps > flow.b-c.goodput_bps", True, "holds"),
        ("flow.a.goodput_bps >= flow.b-c.goodput_bps + 1Mbit", True, "holds"),
        ("flow.a.goodput_bps > flow.b-c.goodput_bps + 1.5Mbit", False, "fails"),
        ("flow.a.goodput_bps - flow.b-c.goodput_bps == 1Mbit", True, "holds"),
        ("flow.a.goodput_bps / flow.b-c.goodput_bps < 2", True, "holds"),
        ("max(flow.a.goodput_bps, flow.b-c.goodput_bps) > 9Mbit", True, "holds"),
        ("flow.a.goodput_bps > 5Mbit and flow.a.goodput_bps > 40Mbit", False, "fails"),
        ("flow.a.goodput_bps > 5Mbit and flow.a.goodput_bps > 19Mbit", True, "open"),
        ("flow.a.goodput_bps > 5Mbit or flow.a.goodput_bps > 40Mbit", True, "holds"),
        ("not flow.a.goodput_bps > 40Mbit", True, "holds"),
        ("flow.a.goodput_bps != 20Mbit", False, "open"),
    ],
)
def test_means_decide_whether_a_check_is_met_and_intervals_whether_that_is_shown(
    expression: str, met: bool, finding: str
) -> None:
    outcome = _outcome(expression, PAIRED)
    assert (outcome.met, outcome.finding) == (met, finding)


def test_what_was_not_measured_meets_nothing() -> None:
    nothing = [(None, 1.0), (None, 2.0)]
    for expression in (
        "flow.a.goodput_bps > 0",
        "not flow.a.goodput_bps > 0",
        "flow.a.goodput_bps != flow.b-c.goodput_bps",
        "flow.a.goodput_bps > 0 and flow.b-c.goodput_bps > 0",
    ):
        outcome = _outcome(expression, nothing)
        assert not outcome.met, expression
        assert outcome.finding == "open", expression
        assert "but it is not measured" in str(outcome)
    assert _outcome("flow.a.goodput_bps > 0 or flow.b-c.goodput_bps > 0", nothing).met


def test_a_failure_says_what_was_measured() -> None:
    one = _outcome("flow.a.goodput_bps > 21Mbit", PAIRED)
    told = estimate([a for a, _ in PAIRED])
    assert told is not None
    assert one.measured == told.mean == 20e6
    assert f"but it is 2e+07 ({told.low:.6g} to {told.high:.6g}: more repeats may decide)" in str(
        one
    )
    both = _outcome("flow.a.goodput_bps < flow.b-c.goodput_bps", PAIRED)
    assert "but it is 2e+07 and 1.9e+07 at n = 0" in str(both)
    assert both.means == {"flow.a.goodput_bps": 20e6, "flow.b-c.goodput_bps": 19e6}
    second = _outcome("flow.a.goodput_bps > 0 and flow.b-c.goodput_bps < 1Mbit", PAIRED)
    assert second.measured == 19e6
    assert "but it is 1.9e+07 (flow.a.goodput_bps 2e+07, flow.b-c.goodput_bps 1.9e+07)" in str(
        second
    )


def test_points_have_runs_of_their_own_and_as_many_as_they_have() -> None:
    name = GOODPUT.format("a")
    check = Expectation(f"{name} > 2", [Named(name, {"flow": "a"}, "goodput_bps")], "check")
    outcomes = expect.outcomes([check], _points([(1, 0)], [(3, 0), (5, 0)], []))
    assert [outcome.measured for outcome in outcomes] == [1, 4, None]
    assert [outcome.met for outcome in outcomes] == [False, True, False]
    assert [outcome.finding for outcome in outcomes] == ["fails", "holds", "open"]


@pytest.mark.parametrize(
    ("check", "place", "why"),
    [
        ("jain > 50ms", "26:8", None),
        ("flow.long.goodput_bps > 50ms", "26:8", "a rate does not go with a time"),
        ("flow.long.goodput_bps > jain and 1", "26:8", "compares nothing"),
        ("flow.long.goodput_bps", "26:8", "compares nothing"),
        ("flow.long.goodput_bps > 'x'", "26:8", "compares nothing"),
        ("jain > 0.95 +", "26:8", "character 14: not an expression: something is missing"),
        ("jain > 50mss", "26:8", "`50mss` is no quantity"),
        ("1 < 2", "26:8", "names no metric"),
        ("sqrt(jain) > 1", "26:8", "compares nothing"),
        ("jian > 1", "26:8", "did you mean `jain`"),
    ],
)
def test_a_wrong_check_is_refused_with_its_place(
    tmp_path: Path, check: str, place: str, why: str | None
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f'{STUDY}[expect]\nfair = "{check}"\n')
    if why is None:
        Study.load(file).plan()
        return
    with pytest.raises(StudyError) as raised:
        Study.load(file).plan()
    assert str(raised.value).startswith(f"{file}:{place}: ")
    assert why in str(raised.value)


def test_names_of_flows_keep_their_signs(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    text = STUDY.replace('"short"', '"short-lived"').replace("flow.short", "flow.short-lived")
    check = "flow.short-lived.goodput_bps - flow.long.goodput_bps > 0"
    rule = "until ci95(flow.short-lived.goodput_bps/flow.long.goodput_bps) < 2%"
    text = text.replace("repeat   = 2", f'repeat = "{rule}"')
    file.write_text(f'{text}[expect]\nfair = "{check}"\n')
    plan = Study.load(file).plan()
    assert [m.name for m in plan.expectations[0].metrics] == [
        "flow.short-lived.goodput_bps",
        "flow.long.goodput_bps",
    ]
    assert plan.until is not None
    assert [m.expression for m in plan.until.measures] == [
        "flow.short-lived.goodput_bps/flow.long.goodput_bps"
    ]
    assert Plan.from_json(plan.to_json()).expectations == plan.expectations


def test_a_check_of_a_ratio_is_run_and_told(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    checks = (
        'less = "flow.short.goodput_bps < flow.long.goodput_bps / 10"\n'
        'more = "flow.short.goodput_bps / flow.long.goodput_bps > 0.01"\n'
    )
    file.write_text(f"{STUDY}[expect]\n{checks}")
    done = cli("run", str(file), "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 1
    assert "expectation not met: less: flow.short.goodput_bps < flow.long" in done.stderr
    less, more = json.loads(done.stdout)["expectations"]
    assert (less["met"], less["finding"]) == (False, "fails")
    assert (more["met"], more["finding"]) == (True, "holds")
    assert set(less["failures"][0]["means"]) == {"flow.short.goodput_bps", "flow.long.goodput_bps"}


def test_an_interval_decides_where_it_lies_wholly_on_one_side() -> None:
    wide, single = Estimate(2.0, 1.0, 3.0, 5), Estimate(2.0, None, None, 1)
    assert findings.compared(wide, "<", 3.0) == "open"
    assert findings.compared(wide, "<=", 3.0) == "holds"
    assert findings.compared(wide, ">", 3.0) == "fails"
    assert findings.compared(wide, ">=", 3.0) == "open"
    assert findings.compared(wide, "==", 4.0) == "fails"
    assert findings.compared(wide, "!=", 4.0) == "holds"
    assert findings.compared(single, "==", 2.0) == "holds"
    assert findings.every([]) == "holds"
    assert findings.every(["holds", "open"]) == "open"
    assert findings.some(["fails", "open"]) == "open"


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("flow.a.goodput_bps > 5Mbit", "2e+07"),
        ("5Mbit < flow.a.goodput_bps", "2e+07"),
        ("1Mbit < flow.a.goodput_bps < 40Mbit", "2e+07"),
        ("flow.a.goodput_bps > flow.b-c.goodput_bps", "2e+07 and 1.9e+07"),
    ],
)
def test_what_is_told_is_the_side_that_varies(expression: str, told: str) -> None:
    assert _outcome(expression, PAIRED).value == told


def test_the_interval_is_told_where_it_does_not_decide() -> None:
    told = _outcome("21Mbit < flow.a.goodput_bps", PAIRED).value
    assert re.fullmatch(r"2e\+07 \(1\.\d+e\+07 to 2\.\d+e\+07: more repeats may decide\)", told)


def test_notebooks_show_what_becomes_of_expectations() -> None:
    checks = [
        Expectation(
            f"flow.a.goodput_bps {says}",
            [Named("flow.a.goodput_bps", {"flow": "a"}, "goodput_bps")],
            label,
        )
        for label, says in (("fast", "> 10Mbit"), ("slow", "< 10Mbit"))
    ]
    reached = expect.outcomes(checks, _points([(20e6, None)]))
    assert str(reached) == (
        "met: fast: flow.a.goodput_bps > 10Mbit, it is 2e+07 at n = 0\n"
        "not met: slow: flow.a.goodput_bps < 10Mbit, but it is 2e+07 at n = 0"
    )
    assert repr(reached) == str(reached)
    shown = reached._repr_html_()
    assert (
        "<td>flow.a.goodput_bps &lt; 10Mbit</td><td>n = 0</td><td>2e+07</td><td>not met</td>"
        in shown
    )
    assert shown.count("<tr>") == 3


def test_no_expectations_are_shown_as_none(results: Results) -> None:
    assert (str(results.failures), results.failures._repr_html_()) == ("none", "<p>none</p>")


def test_notebooks_show_every_metric_of_a_check_that_has_several() -> None:
    named = [Named(GOODPUT.format(n), {"flow": n}, "goodput_bps") for n in ("a", "b-c")]
    either = "flow.a.goodput_bps > 40Mbit or flow.b-c.goodput_bps > 5Mbit"
    reached = expect.outcomes([Expectation(either, named, "either")], _points([(20e6, 7e6)]))
    assert "<td>flow.a.goodput_bps 2e+07, flow.b-c.goodput_bps 7e+06</td>" in reached._repr_html_()
