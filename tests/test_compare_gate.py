"""What `--fail-if` judges, all together, and how often it fails where nothing differs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from cclab.comparison import demand, doubts
from cclab.comparison.margin import Margin
from cclab.comparison.matching import Match, Row, Subject
from cclab.comparison.metric import metric_names
from cclab.comparison.overall import overall
from cclab.comparison.results import Comparison, _compared, _point
from cclab.errors import InputError

if TYPE_CHECKING:
    from cclab.comparison.demand import Outcome

GOODPUT, SRTT, DROPS = metric_names(["goodput_bps", "srtt_mean_s", "drop_rate"])
FIVE = Margin.of("5%")


def _comparison(points: list[list[Row]], runs: int, margin: Margin | None) -> Comparison:
    """Of rows that are each a flow's, at every sweep point."""
    paired = points[0][0].paired
    seeds = list(range(runs)), list(range(runs) if paired else range(runs, 2 * runs))
    matches = [
        Match(
            params={},
            label=f"point {number}",
            seeds_a=seeds[0],
            seeds_b=seeds[1],
            left_out_a=[],
            left_out_b=[],
            changes=[],
            groups=[],
            flows=[Subject(f"f{k}", "reno", "reno", [row]) for k, row in enumerate(rows)],
            traffic=[],
            whole=[],
            flows_only_a=[],
            flows_only_b=[],
            traffic_only_a=[],
            traffic_only_b=[],
            same_runs=False,
            unfinished={},
        )
        for number, rows in enumerate(points)
    ]
    tested = iter(_compared([row for match in matches for row in match.rows], "fdr", margin))
    compared = [_point(match, tested) for match in matches]
    nobody = cast("Any", None)
    across = overall(matches, "fdr")
    return Comparison("stores", nobody, nobody, "fdr", margin, compared, across, [], [], [])


def _rows(
    chance: np.random.Generator, number: int, runs: int, *, spread: float, paired: bool = False
) -> list[Row]:
    """Where nothing differs: goodput and RTTs of flows, that vary by so much of their mean."""
    sizes = chance.normal(100, 100 * spread, size=(number, 2 * runs)).clip(1)
    return [
        Row((GOODPUT, SRTT)[k % 2], a.tolist(), b.tolist(), paired, repeated=False)
        for k, (a, b) in enumerate(zip(sizes[:, :runs], sizes[:, runs:], strict=True))
    ]


@pytest.mark.parametrize("margin", [None, FIVE])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("points", "rows"), [(1, 50), (10, 5)])
def test_where_nothing_differs_a_check_of_fifty_numbers_fails_one_time_in_twenty_at_most(
    margin: Margin | None, paired: bool, points: int, rows: int
) -> None:
    chance = np.random.default_rng(7)
    trials, failed = 120, 0
    for _ in range(trials):
        given = [_rows(chance, rows, 12, spread=0.3, paired=paired) for _ in range(points)]
        judged = demand.judge(_comparison(given, 12, margin), ["worse"])
        assert judged.number >= 50
        failed += bool(judged.faults)
    # Three standard errors of that many trials above 5%.
    assert failed / trials <= 0.11


def test_what_is_worse_by_more_than_the_margin_fails_and_what_is_by_less_does_not() -> None:
    chance = np.random.default_rng(3)
    rows = _rows(chance, 50, 12, spread=0.01, paired=True)
    assert rows[0].metric is GOODPUT

    def with_b(share: float, margin: Margin | None, *asked: Outcome) -> list[str]:
        b = [None if v is None else v * (1 + share) for v in rows[0].b]
        compared = _comparison([[replace(rows[0], b=b), *rows[1:]]], 12, margin)
        return [f"{f.subject} {f.outcome}" for f in demand.judge(compared, asked).faults]

    assert with_b(-0.2, FIVE, "worse") == ["f0 worse"]
    assert with_b(-0.02, FIVE, "worse", "undecided") == []
    assert with_b(-0.05, FIVE, "worse", "undecided") == ["f0 undecided"]
    assert with_b(+0.2, FIVE, "worse") == []
    assert with_b(-0.05, None, "worse") == ["f0 worse"]
    assert with_b(+0.05, None, "different") == ["f0 better"]
    assert with_b(-0.05, None, "worse", "different") == ["f0 worse"]


def test_a_margin_is_of_a_even_of_what_a_has_none_of() -> None:
    none = Row(DROPS, [0.0] * 12, [0.001 + 0.0001 * k for k in range(12)], True, False)
    for margin, failing in (("5%", True), ("5%,1pp", False)):
        compared = _comparison([[none]], 12, Margin.of(margin))
        assert bool(demand.judge(compared, ["worse"]).faults) == failing


def test_few_seeds_at_many_points_can_fail_together() -> None:
    chance = np.random.default_rng(5)
    points = [_rows(chance, 1, 3, spread=0.02, paired=True) for _ in range(20)]
    for rows in points:
        rows[0] = replace(rows[0], b=[0.9 * v for v in rows[0].a if v is not None])
    found = demand.judge(_comparison(points, 3, FIVE), ["worse"]).faults
    assert [fault.point for fault in found] == ["over all sweep points"]


def test_runs_that_are_too_few_for_any_failure_are_refused_with_the_number_that_would_do() -> None:
    rows = _rows(np.random.default_rng(1), 50, 5, spread=0.1, paired=True)
    with pytest.raises(
        InputError, match=r"50 comparisons .* below 0\.031; .*\(--repeat 10 or more"
    ):
        demand.judge(_comparison([rows], 5, FIVE), ["worse"])
    rows = _rows(np.random.default_rng(1), 50, 10, spread=0.1, paired=True)
    assert demand.judge(_comparison([rows], 10, FIVE), ["worse"]).number == 50


def test_that_runs_are_too_few_is_said_only_where_no_verdict_is_given() -> None:
    """Ten pairs tell one of three comparisons; of eight, seven of forty have to differ."""

    def codes(runs: int, tested: int, *, told: bool) -> list[str]:
        compared = _comparison([_rows(np.random.default_rng(1), 1, runs, spread=0.1)], runs, None)
        points = [point.match for point in compared.points]
        points = [replace(point, seeds_b=point.seeds_a) for point in points]
        return [doubt.code for doubt in doubts.of_tests(points, tested, "fdr", told=told)]

    for told in (True, False):
        assert codes(10, 3, told=told) == []
        assert codes(5, 3, told=told) == ["too-few-runs-to-tell"]
    assert codes(8, 40, told=False) == ["too-few-runs-to-tell"]
    assert codes(8, 40, told=True) == []


def _refusal(name: str) -> str:
    with pytest.raises(InputError) as refused:
        metric_names([name])
    return str(refused.value)


def test_metrics_are_found_as_documents_spell_them() -> None:
    def meant(name: str) -> list[str]:
        return [metric.path for metric in metric_names([name])]

    assert meant("share") == meant("flow.share") == ["flow.share"]
    assert meant("flow.datagrams.loss") == meant("datagrams.loss") == ["flow.datagrams_loss"]


def test_the_name_of_a_metric_that_is_refused_is_answered_in_a_line() -> None:
    # As [expect] has it, of one flow.
    assert _refusal("flow.mine.goodput").endswith("has a row of its own; write flow.goodput")
    assert _refusal("flow.call.datagrams.loss").endswith("write flow.datagrams.loss")
    told = _refusal("loss")
    assert "datagrams_loss" in told
    assert "started" not in told
    for name in ("loss", "rtt", "delay", "flow.nonsense", "nonsense"):
        told = _refusal(name)
        assert told.count(",") < 12
        assert "cclab list metrics" in told
