"""Estimates over runs: laws, and values worked out by hand."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cclab import _core, summary
from cclab.stats import estimate

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
    assert {f"flow.{name}" for name in summary.FLOW_METRICS} <= known
    assert {f"bottleneck.{name}" for name in summary.BOTTLENECK_METRICS} <= known
