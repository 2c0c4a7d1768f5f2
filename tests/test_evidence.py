"""Evidence: permutation tests, their correction, verdicts, and what they say over all points."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from cclab.comparison import doubts, permutation
from cclab.comparison.correction import CORRECTIONS, LEVEL, adjusted
from cclab.comparison.difference import difference, differences
from cclab.comparison.matching import Match, Row, Subject
from cclab.comparison.metric import METRICS, metric_names
from cclab.comparison.overall import overall
from cclab.comparison.results import _compared as compared_rows
from cclab.comparison.verdict import code_of
from cclab.measure.stats import CONFIDENCE, RESAMPLES, SEED
from cclab.plan.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.comparison.overall import Overall

GOODPUT, RETRANSMITS, JAIN = metric_names(["goodput_bps", "retransmits", "jain"])


def _total(sample: Any, axis: int) -> Any:
    return np.sum(sample, axis=axis)


def _apart(a: Any, b: Any, axis: int) -> Any:
    return np.abs(np.mean(b, axis=axis) - np.mean(a, axis=axis))


# The tests.


@pytest.mark.parametrize("n", [2, 3, 6, 10, 13])
def test_p_values_of_pairs_are_scipys(n: int) -> None:
    chance = np.random.default_rng(n)
    rows = chance.normal(0.5, 1, size=(4, n))
    rows[2] = np.round(rows[2])  # Ties, and differences of zero.
    rows[3] += 2
    for row, p in zip(rows, permutation.of_pairs(rows), strict=True):
        oracle: Any = scipy_stats.permutation_test(
            (row,), _total, permutation_type="samples", n_resamples=10**9
        )
        assert p == pytest.approx(oracle.pvalue, abs=1e-12)


@pytest.mark.parametrize(("size_a", "size_b"), [(2, 3), (5, 5), (4, 7), (2, 8)])
def test_p_values_of_groups_are_scipys(size_a: int, size_b: int) -> None:
    chance = np.random.default_rng(size_a)
    a, b = chance.normal(0, 1, size=(4, size_a)), chance.normal(0.7, 1, size=(4, size_b))
    a[2], b[2] = np.round(a[2]), np.round(b[2])
    a[3], b[3] = a[3] + 1e9, b[3] + 1e9
    for one, other, p in zip(a, b, permutation.of_groups(a, b), strict=True):
        oracle: Any = scipy_stats.permutation_test(
            (one, other),
            _apart,
            permutation_type="independent",
            alternative="greater",
            n_resamples=10**9,
        )
        assert p == pytest.approx(oracle.pvalue, abs=1e-12)


def test_what_is_drawn_is_near_what_is_exact_and_never_zero() -> None:
    chance = np.random.default_rng(5)
    rows = chance.normal([[0.0], [0.5], [5.0]], 1, size=(3, 16))
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=16))).T
    exact = (np.abs(rows @ signs) >= np.abs(rows.sum(axis=1))[:, None] - 1e-9).mean(axis=1)
    found = permutation.of_pairs(rows)
    for p, q in zip(found, exact, strict=True):
        # Four standard errors, and the labelling that was seen.
        error = 4 * math.sqrt(q * (1 - q) / permutation.DRAWN)
        assert p == pytest.approx(q, abs=error + 1e-4)
    # Phipson and Smyth's least: the one that was seen, of 10,000.
    assert found[2] == 1e-4


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9), st.floats(-8, 8))
def test_a_p_value_depends_neither_on_the_unit_nor_on_the_order_nor_on_which_is_a(
    row: list[float], exponent: float
) -> None:
    rows = np.array([row, [-v for v in row], row[::-1], [v * 10**exponent for v in row]])
    found = permutation.of_pairs(rows)
    # The smallest numbers lose bits when they are scaled.
    assert found[:3] == pytest.approx(found[0])
    if min((abs(v) for v in row if v), default=1.0) > 1e-250:
        assert found[3] == pytest.approx(found[0])


@pytest.mark.parametrize("n", range(1, 20))
def test_the_smallest_p_value_is_that_of_sides_far_apart(n: int) -> None:
    far = np.arange(1.0, n + 1)[None, :]
    ways = [(2**n, permutation.smallest(n, n, paired=True), permutation.of_pairs(far)[0])]
    for m in (n, n + 1):
        p = permutation.of_groups(far, 1e6 + np.arange(1.0, m + 1)[None, :])[0]
        ways.append((math.comb(n + m, n), permutation.smallest(n, m, paired=False), p))
    for number, least, p in ways:
        if number <= permutation.EXACT_UP_TO:
            assert p == pytest.approx(least)
        else:
            # The labelling that was seen may be among those that are drawn, some times.
            assert least <= p <= 8 * least


def test_five_pairs_can_tell_nothing_and_six_can() -> None:
    assert permutation.smallest(5, 5, paired=True) == 2 / 2**5 > LEVEL
    assert permutation.smallest(6, 6, paired=True) == 2 / 2**6 < LEVEL
    assert permutation.enough_pairs(LEVEL) == 6
    for level in (0.5, 0.05, 0.001, 1e-4):
        n = permutation.enough_pairs(level)
        assert n is not None
        assert permutation.smallest(n, n, paired=True) <= level
        assert permutation.smallest(n - 1, n - 1, paired=True) > level
    assert permutation.enough_pairs(1e-6) is None


# Their correction.


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=40))
def test_the_false_discovery_rate_is_adjusted_as_scipy_does(p: list[float]) -> None:
    assert adjusted(p, "fdr") == pytest.approx(scipy_stats.false_discovery_control(p))


def test_holm_by_hand() -> None:
    # 4 x 0.005; 3 x 0.01; 2 x 0.03; 0.04, not below the one before.
    found = adjusted([0.01, 0.04, 0.03, 0.005], "holm")
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted([0.9, 0.8], "holm") == [1.0, 1.0]


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=40))
def test_no_correction_makes_a_p_value_smaller_and_holm_is_the_stricter(p: list[float]) -> None:
    fdr, holm = (adjusted(p, correction) for correction in ("fdr", "holm"))
    for raw, one, other in zip(p, fdr, holm, strict=True):
        assert raw <= one * (1 + 1e-12)
        assert one <= other * (1 + 1e-12) <= 1 + 1e-12
    assert all(adjusted([], correction) == [] for correction in CORRECTIONS)


# Differences and their p-values of many rows.


def test_differences_of_many_rows_are_as_each_alone_to_the_last_bit() -> None:
    chance = np.random.default_rng(8)
    for n, m in ((5, 5), (10, 10), (4, 6)):
        a, b = chance.lognormal(size=(60, n)), chance.lognormal(size=(60, m))
        for table in (a, b):
            table[chance.random(table.shape) < 0.1] = math.nan
        for paired in (True, False) if n == m else (False,):
            alone = [
                difference(x, y, paired=paired) for x, y in zip(a.tolist(), b.tolist(), strict=True)
            ]
            assert differences(a, b, paired=paired) == alone


@pytest.mark.parametrize(("n", "m", "paired"), [(5, 5, True), (10, 10, True), (6, 9, False)])
def test_intervals_of_differences_are_scipys_of_the_same_seed(n: int, m: int, paired: bool) -> None:
    chance = np.random.default_rng(n + m)
    a, b = chance.lognormal(3, 1, size=(5, n)), chance.lognormal(3.5, 1, size=(5, m))

    def absolute(a: Any, b: Any, axis: int) -> Any:
        return np.mean(b, axis=axis) - np.mean(a, axis=axis)

    def relative(a: Any, b: Any, axis: int) -> Any:
        return absolute(a, b, axis) / np.mean(a, axis=axis)

    for one, other, found in zip(a, b, differences(a, b, paired=paired), strict=True):
        assert found is not None
        for statistic, interval in ((absolute, found.absolute), (relative, found.relative)):
            oracle: Any = scipy_stats.bootstrap(
                (one, other),
                statistic,
                n_resamples=RESAMPLES,
                confidence_level=CONFIDENCE,
                paired=paired,
                method="percentile",
                random_state=np.random.Generator(np.random.PCG64(SEED)),
            )
            assert interval is not None
            ends = (oracle.confidence_interval.low, oracle.confidence_interval.high)
            assert (interval.low, interval.high) == pytest.approx(ends, rel=1e-9)


def test_equal_sides_and_single_runs_have_no_p_value() -> None:
    for a, b, paired in (
        ([1.0, 2.0], [1.0, 2.0], True),
        ([3.0, 3.0], [3.0, 3.0], False),
        ([3.0], [4.0], True),
        ([3.0], [4.0, 5.0], False),
    ):
        found = difference(a, b, paired=paired)
        assert found is not None
        assert found.p is None
    shifted = difference([4.0, 9.0, 7.0], [6.0, 11.0, 9.0], paired=True)
    assert shifted is not None
    assert (shifted.constant, shifted.p) == (True, 0.25)


# Verdicts.


def _row(a: list[float | None], b: list[float | None], *, repeated: bool = False) -> Row:
    return Row(GOODPUT, a, b, paired=True, repeated=repeated)


def test_verdicts_know_which_way_is_better() -> None:
    assert code_of(GOODPUT, 1.0, 0.01) == "better"
    assert code_of(GOODPUT, -1.0, 0.01) == "worse"
    assert code_of(RETRANSMITS, 1.0, 0.05) == "worse"
    assert code_of(RETRANSMITS, -1.0, 0.051) == "no-evidence"
    assert code_of(RETRANSMITS, -1.0, None) == "no-evidence"
    (window,) = metric_names(["cwnd_mean_segments"])
    assert (code_of(window, 1.0, 0.01), code_of(window, -1.0, 0.01)) == ("higher", "lower")


def test_what_ends_in_loss_delay_or_drops_is_better_lower_wherever_it_occurs() -> None:
    way = {metric.path: metric.better for metric in METRICS}
    for path, better in way.items():
        worse = ("delay", "loss", "drop", "fct", "slowdown", "retrans", "_cov")
        if any(word in path for word in worse):
            assert better == "lower", path
        elif "solo_" in path or "self_" in path:
            assert better is None, f"{path} is what others are held against"
        elif "harm" in path:
            assert better == "lower", path
        elif "goodput" in path or "utilization" in path:
            assert better == "higher", path


def test_a_row_is_corrected_for_all_that_are_tested_and_for_no_others() -> None:
    base: list[float | None] = [100.0 + k for k in range(8)]
    up: list[float | None] = [v + 5 + k * 0.1 for k, v in enumerate(base) if v is not None]
    rows = [
        _row(base, up),
        _row(base, base),
        _row(base, [None] * 8),
        _row([1.0], [2.0]),
        _row([5.0] * 8, [6.0] * 8, repeated=True),
        _row(base, base[::-1]),
    ]
    found = compared_rows(rows, "holm")
    assert [c.verdict.untested for c in found] == [
        *(None, "equal", "not-measured", "single-run", "no-variance", None)
    ]
    assert [c.p for c in found[1:5]] == [None] * 4
    # Two of the six are tested; 2 / 2^8 twice.
    assert (found[0].p, found[0].p_adjusted) == (2 / 2**8, 4 / 2**8)
    assert [c.verdict.code for c in found] == ["better", *["no-evidence"] * 5]


# Over all points.


def _match(
    rows: list[Row],
    *,
    seeds: tuple[list[int], list[int]],
    names: list[str] | None = None,
    left_out: tuple[list[int], list[int]] = ([], []),
) -> Match:
    names = names or ["f"] * len(rows)
    return Match(
        params={},
        label="",
        seeds_a=seeds[0],
        seeds_b=seeds[1],
        left_out_a=left_out[0],
        left_out_b=left_out[1],
        changes=[],
        groups=[],
        flows=[Subject(n, "reno", "cubic", [r]) for n, r in zip(names, rows, strict=True)],
        traffic=[],
        whole=[],
        flows_only_a=[],
        flows_only_b=[],
        traffic_only_a=[],
        traffic_only_b=[],
        same_runs=False,
        unfinished={},
    )


def _points(
    chance: np.random.Generator, points: int, runs: int, effect: float, *, paired: bool = True
) -> list[Match]:
    found = []
    for _ in range(points):
        size = 10 ** chance.uniform(0, 6)
        a = (size * chance.normal(10, 1, runs)).tolist()
        b = (size * chance.normal(10 + effect, 1, runs)).tolist()
        seeds = (list(range(runs)), list(range(runs) if paired else range(runs, 2 * runs)))
        found.append(_match([Row(GOODPUT, a, b, paired, False)], seeds=seeds))
    return found


def _one(found: list[Overall]) -> Overall:
    (one,) = found
    return one


@pytest.mark.parametrize(("runs", "paired"), [(3, True), (5, False)])
def test_many_points_show_what_few_seeds_at_one_cannot(runs: int, paired: bool) -> None:
    points = _points(np.random.default_rng(2), 45, runs, 0.7, paired=paired)
    assert all(c.verdict.code == "no-evidence" for c in compared_rows(_rows(points), "fdr"))
    one = _one(overall(points, "fdr"))
    assert (one.code, one.points) == ("better", 45)
    assert one.difference == pytest.approx(0.07, abs=0.03)
    assert one.higher + one.lower == 45
    other = _one(overall([_swapped(point) for point in points], "fdr"))
    assert other.code == "worse"
    assert other.difference == pytest.approx(-one.difference)
    assert overall(points[:1], "fdr") == []


def _rows(points: list[Match]) -> list[Row]:
    return [row for point in points for row in point.rows]


def _swapped(point: Match) -> Match:
    rows = [Row(r.metric, r.b, r.a, r.paired, r.repeated) for r in point.rows]
    return _match(rows, seeds=(point.seeds_b, point.seeds_a))


def test_the_test_over_few_points_is_exact_and_that_of_a_hand_worked_example() -> None:
    # Two points of two pairs; scaled by the mean of both sides (10 and 100), 16 labellings.
    points = [
        _match([_row([9.5, 9.0], [10.5, 11.0])], seeds=([1, 2], [1, 2])),
        _match([_row([99.0, 98.0], [101.0, 102.0])], seeds=([1, 2], [1, 2])),
    ]
    one = _one(overall(points, "fdr"))
    # 1/10 and 2/10 at the first, 2/100 and 4/100 at the second.
    assert one.difference == pytest.approx((0.15 + 0.03) / 2)
    # All four one way, or all four the other: the smallest p-value there is.
    assert one.p == 2 / 16
    assert (one.higher, one.lower, one.words) == (2, 0, "+9%")


def test_repeats_of_one_run_are_one_pair_and_not_several_that_agree() -> None:
    points = [
        _match([_row([10.0] * 5, [11.0 + k] * 5, repeated=True)], seeds=([1, 2, 3, 4, 5],) * 2)
        for k in range(3)
    ]
    assert _one(overall(points, "fdr")).p == 2 / 2**3


@pytest.mark.parametrize("missing", [0, 1, 3, 12])
def test_what_a_seed_does_at_every_point_is_no_evidence(missing: int) -> None:
    """Found beside real runs: what the seeds of a side had in common at 24 points was taken for
    24 times as much evidence, and two samples of the same runs differed in half of all trials."""
    chance = np.random.default_rng(6)
    below, trials = 0, 200
    for _ in range(trials):
        of_seeds = chance.normal(10, 1, 10)
        points = []
        for point in range(12):
            runs = (of_seeds + chance.normal(0, 0.5, 10)).tolist()
            # At some points a run is missing, of one seed or the other.
            gone = {point % 2} if point < missing else set()
            mine = [seed for seed in range(5) if seed not in gone]
            row = Row(GOODPUT, [runs[seed] for seed in mine], runs[5:], False, False)
            points.append(_match([row], seeds=(mine, list(range(5, 10)))))
        below += (_one(overall(points, "fdr")).p or 1.0) <= 0.05
    # Four standard errors of 200 trials.
    assert below / trials == pytest.approx(0.05, abs=0.062)
    # A test that never rejects would be within them; of one at 5%, 4 of 100,000 samples do not.
    assert below > 0


def test_without_a_seed_at_all_points_nothing_is_tested_over_them() -> None:
    seeds = [([1, 2], [5, 6]), ([3, 4], [5, 6])]
    rows = [Row(GOODPUT, [10.0, 11.0], [11.0, 12.0], False, False) for _ in seeds]
    one = _one(overall([_match([r], seeds=s) for r, s in zip(rows, seeds, strict=True)], "fdr"))
    assert one.p is None
    assert (one.points, one.higher, one.code) == (2, 2, "no-evidence")


def test_copies_of_a_flow_are_one_subject_and_what_was_not_measured_is_no_point() -> None:
    rows = [_row([10.0, 11.0], [11.0, 12.0]), _row([20.0, 22.0], [22.0, 24.0])]
    first = _match(rows, seeds=([1, 2], [1, 2]), names=["f.1", "f.2"])
    gone = _match(
        [_row([None, None], [1.0, 2.0])] * 2, seeds=([1, 2], [1, 2]), names=["f.1", "f.2"]
    )
    one = _one(overall([first, gone], "fdr"))
    assert (one.subject, one.points, one.higher) == ("f.*", 1, 1)
    assert one.difference == pytest.approx((1 / 11 + 2 / 22) / 2)


def test_fractions_are_told_as_they_are() -> None:
    rows = [[Row(JAIN, [0.5, 0.6], [0.7, 0.9], True, False)] for _ in "ab"]
    one = _one(overall([_match(r, seeds=([1, 2], [1, 2])) for r in rows], "fdr"))
    assert one.difference == pytest.approx(0.25)
    assert one.words == "+0.250"


@pytest.mark.parametrize(("points", "runs", "paired"), [(2, 5, True), (12, 2, True), (6, 5, False)])
def test_where_nothing_differs_one_in_twenty_is_below_five_per_cent(
    points: int, runs: int, paired: bool
) -> None:
    chance = np.random.default_rng(points)
    trials = 300
    below = sum(
        (_one(overall(_points(chance, points, runs, 0.0, paired=paired), "fdr")).p or 1.0) <= 0.05
        for _ in range(trials)
    )
    # Four standard errors of 300 trials.
    assert below / trials == pytest.approx(0.05, abs=0.051)
    assert below > 0


# Doubts.


@pytest.mark.parametrize(
    ("common", "left_out", "codes", "said", "remedy"),
    [
        (12, True, set(), "", ""),
        (
            *(5, True, {"few-runs", "too-few-runs-to-tell"}),
            "intervals from 5 runs whose seeds A and B have in common are too narrow",
            "repeat the runs with the same seeds on both sides (--repeat 10 or more)",
        ),
        (
            *(1, True, {"single-runs", "too-few-runs-to-tell"}),
            "A and B have a single seed in common at a sweep point",
            "repeat the runs with the same seeds on both sides (--repeat 10)",
        ),
        (
            *(1, False, {"single-runs", "too-few-runs-to-tell"}),
            "a side has a single run at a sweep point",
            "repeat the runs (--repeat 10)",
        ),
    ],
)
def test_many_runs_of_which_few_are_pairs_are_doubted_as_few_runs(
    study: Path, common: int, left_out: bool, codes: set[str], said: str, remedy: str
) -> None:
    plan = Study.load(study).plan()
    both = list(range(common))
    rest = (list(range(50, 70)), list(range(80, 100))) if left_out else ([], [])
    points = [_match([], seeds=(both, both), left_out=rest)]
    found = [
        *doubts.of_comparison("stores", points, [], plan, plan),
        *doubts.of_tests(points, 10, "fdr"),
    ]
    assert {doubt.code for doubt in found} == codes
    for doubt in found[:1]:
        assert said in doubt.message
        assert doubt.remedy.startswith(remedy)
    for doubt in found[1:]:
        assert "repeat the runs with the same seeds on both sides" in doubt.remedy


def test_so_few_runs_that_nothing_can_be_told_are_doubted() -> None:
    def said(runs: int, tested: int, correction: Any) -> tuple[str, str]:
        points = [_match([], seeds=(list(range(runs)),) * 2)]
        found = doubts.of_tests(points, tested, correction)
        return (found[0].message, found[0].remedy) if found else ("", "")

    message, remedy = said(5, 10, "fdr")
    assert "runs are too few for any verdict" in message
    assert "is 0.062, and at most 0.05 is asked" in message
    # 2 / 2^9 is below 0.05 / 10, and 2 / 2^8 is not.
    assert "(--repeat 6 or more; 9 to see one difference among 10)" in remedy
    message, remedy = said(6, 10, "fdr")
    assert "unless 7 of 10 comparisons do" in message
    assert "(--repeat 9 or more)" in remedy
    message, remedy = said(8, 10, "holm")
    assert "too few for any verdict" in message
    assert "(--repeat 9 or more)" in remedy
    assert said(9, 10, "holm") == said(9, 10, "fdr") == said(5, 0, "fdr") == ("", "")
    assert "compare fewer metrics" in said(20, 10_000, "holm")[1]
