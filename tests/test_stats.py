"""Estimates over runs: laws, and values worked out by hand."""

from __future__ import annotations

import json
import math
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from cclab import _core, metrics, units
from cclab.measure import summary
from cclab.measure.points import Point
from cclab.measure.stats import CONFIDENCE, RESAMPLES, SEED, Estimate, estimate, estimates

_finite = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)
_many = st.lists(_finite, min_size=2, max_size=12)


def test_nothing_measured_is_no_estimate() -> None:
    assert estimate([]) is None
    assert estimate([None, None]) is None


def test_a_single_run_has_no_interval() -> None:
    one = estimate([3.5])
    assert one is not None
    assert (one.mean, one.low, one.high, one.n, one.half_width) == (3.5, None, None, 1, None)


def test_runs_that_did_not_measure_it_do_not_count() -> None:
    some = estimate([1.0, None, 3.0, math.nan])
    assert some is not None
    assert (some.mean, some.n) == (2.0, 2)


def test_two_runs_give_their_own_range() -> None:
    # A quarter of the resamples takes the same run twice: more than 2.5% on either side.
    two = estimate([10.0, 20.0])
    assert two is not None
    assert (two.low, two.high) == (10.0, 20.0)


def test_interval_is_that_of_the_normal_law_for_many_runs() -> None:
    values = [math.sin(i) for i in range(1000)]
    many = estimate(values)
    assert many is not None
    sigma = math.sqrt(sum((v - many.mean) ** 2 for v in values) / len(values))
    assert many.half_width == pytest.approx(1.96 * sigma / math.sqrt(len(values)), rel=0.03)


def _scipys(values: list[float]) -> tuple[float, float]:
    """The interval that scipy finds, which draws the same resamples from the same seed."""
    found: Any = scipy_stats.bootstrap(
        (np.array(values),),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.Generator(np.random.PCG64(SEED)),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 8, 10, 25])
def test_interval_is_scipys_of_the_same_seed(n: int) -> None:
    chance = random.Random(n)
    rows = [[chance.lognormvariate(10, 2) for _ in range(n)] for _ in range(20)]
    rows += [[float(chance.randrange(3)) for _ in range(n)] for _ in range(20)]
    for values in rows:
        found = estimate(values)
        assert found is not None
        # They are added up in another order: the last bits may differ.
        assert (found.low, found.high) == pytest.approx(_scipys(values), rel=1e-12)


@given(st.lists(st.lists(st.none() | _finite, min_size=6, max_size=6), max_size=9))
def test_an_estimate_does_not_depend_on_what_is_estimated_beside_it(
    rows: list[list[float | None]],
) -> None:
    assert estimates(rows) == [estimate(row) for row in rows]


def test_many_rows_are_as_each_alone_to_the_last_bit() -> None:
    chance = np.random.default_rng(4)
    for n in (5, 10):
        table = chance.lognormal(size=(300, n))
        table[chance.random(table.shape) < 0.05] = math.nan
        assert estimates(table) == [estimate(row) for row in table.tolist()]


def test_summaries_of_many_points_are_those_of_each_alone() -> None:
    def run(chance: random.Random, utilization: float | None) -> dict[str, Any]:
        flow = {name: chance.random() for name in metrics.FLOW_METRICS}
        whole = {name: chance.random() for name in metrics.BOTTLENECK_METRICS}
        return {
            "flows": [
                {
                    **flow,
                    "name": "one",
                    "cc": "reno",
                    "direction": "forward",
                    "transport": "tcp",
                    "bottleneck": "bottleneck",
                    "bottleneck_goodput_bps": 2 * flow["goodput_bps"],
                    "window_bottleneck_goodput_bps": 2 * flow["window_goodput_bps"],
                    "limited": {"cwnd": 0.5},
                }
            ],
            "bottleneck": whole | {"utilization": utilization},
            **{name: chance.random() for name in metrics.RUN_METRICS},
        }

    chance = random.Random(9)

    def measured(number: int) -> Any:
        """Of a run, what it measured alone."""
        return SimpleNamespace(metrics=run(chance, number * 0.1 if number else None))

    points = [
        Point(
            index=n,
            params={"n": n},
            label=f"n = {n}",
            short_label=str(n),
            runs=[measured(k) for k in range(n)],
        )
        for n in (1, 2, 5, 2)
    ]
    together = summary.summarise(points)
    assert together == [one for point in points for one in summary.summarise([point])]
    assert [point.n for point in together] == [1, 2, 5, 2]
    of_one, of_two, of_five, _ = (point.bottleneck["utilization"] for point in together)
    assert of_one is None
    assert of_two == Estimate(0.1, None, None, 1)
    assert of_five == estimate([None, 0.1, 0.2, 0.30000000000000004, 0.4])
    goodputs = [run.metrics["flows"][0]["goodput_bps"] for run in points[2].runs]
    assert together[2].flows[0].estimates["goodput_bps"] == estimate(goodputs)
    assert together[2].flows[0].share == Estimate(0.5, 0.5, 0.5, 5)


@given(_many)
def test_interval_holds_the_mean_and_stays_within_the_runs(values: list[float]) -> None:
    found = estimate(values)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert min(values) <= found.low <= found.mean <= found.high <= max(values)


@given(_many)
def test_equal_runs_give_equal_estimates(values: list[float]) -> None:
    assert estimate(values) == estimate(values)


@given(_finite, st.integers(min_value=2, max_value=9))
def test_identical_runs_leave_no_doubt(value: float, n: int) -> None:
    found = estimate([value] * n)
    assert found is not None
    assert (found.mean, found.low, found.high) == (value, value, value)


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=12),
    st.integers(-(10**6), 10**6),
)
def test_a_shift_of_the_runs_shifts_the_interval(values: list[int], shift: int) -> None:
    here, there = estimate(values), estimate([v + shift for v in values])
    assert here is not None
    assert there is not None
    assert here.low is not None
    assert there.low is not None
    assert there.mean == pytest.approx(here.mean + shift, abs=1e-6)
    assert there.low == pytest.approx(here.low + shift, abs=1e-6)


def test_what_is_estimated_is_in_the_catalog_of_metrics() -> None:
    known = {metric["name"] for metric in json.loads(_core.metrics())}
    # What is of a group of a flow's rows has both names in one: `datagrams_loss`.
    split = [name.split(".") for name in known]
    known |= {f"{subject}.{'_'.join(rest)}" for subject, *rest in split if len(rest) > 1}
    assert {f"flow.{name}" for name in metrics.FLOW_METRICS} <= known
    assert {f"bottleneck.{name}" for name in metrics.BOTTLENECK_METRICS} <= known
    assert set(metrics.RUN_METRICS) <= known


@pytest.mark.parametrize(
    ("mean", "half", "told"),
    [
        (20.8, 1.23, "20.8 ± 1.2"),
        (20.806407, 0.000054, "20.806 ± <0.001"),  # however narrow, five digits count
        (20.806407, 0.0054, "20.806 ± 0.005"),
        (123456.7, 0.2, "123457 ± <1"),
        (20.8, 0.0, "20.8"),  # what does not vary has no interval
        (9.564, 1e-12, "9.56"),  # nor has what differs by the rounding of sums
        (0.0, 0.5, "0.00 ± 0.50"),
        (0.0, 0.0, "0"),
    ],
)
def test_a_number_has_the_digits_that_its_interval_deserves(
    mean: float, half: float, told: str
) -> None:
    assert units.told(mean, half) == told
