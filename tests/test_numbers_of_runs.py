"""What is worked out of a run once, for reports of thousands of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cclab.measure import numbers
from cclab.measure.results import _frame
from cclab.report.figures import sequence

if TYPE_CHECKING:
    from cclab import Results

SAMPLES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 50), st.integers(0, 3)), max_size=40, unique=True
)


@given(SAMPLES)
def test_a_loss_is_a_sample_with_more_retransmissions_than_the_flows_one_before(
    rows: list[tuple[int, int, int]],
) -> None:
    rows = list({(flow, time): (flow, time, again) for flow, time, again in rows}.values())
    flows, times, again = (np.array([row[n] for row in rows], dtype=float) for n in range(3))
    samples = {"flow": flows, "time_ns": times, "retransmits": again, "snd_una_bytes": times * 7}
    found = sequence.losses(None, samples, [0.0, 2.0], "time_ns")
    expected = []
    for flow in (0, 2):
        own = sorted((time, count) for of, time, count in rows if of == flow)
        pairs = itertools.pairwise(own)
        expected += [(flow, time, time * 7) for (_, before), (time, now) in pairs if now > before]
    assert list(zip(*(found[name].tolist() for name in found), strict=True)) == expected


KINDS = (
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**64 - 1),
    st.floats(),
    st.integers(-9, 9) | st.floats(),
    st.text(max_size=2),
    st.booleans(),
    st.nothing(),
    st.lists(st.integers(-9, 9), max_size=2),
    st.lists(st.floats(), max_size=2),
    st.fixed_dictionaries({}, optional={"a": st.integers(-9, 9), "b": st.floats()}),
)
ROWS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4).flatmap(
    lambda kinds: st.lists(st.tuples(*(st.none() | kind for kind in kinds)), max_size=8)
)


@given(ROWS)
def test_a_frame_made_by_columns_is_the_one_made_by_rows(cells: list[tuple[object, ...]]) -> None:
    """Whatever stands in a column: whole numbers beside others, nothing at all, long seeds."""
    rows = [{f"c{place}": cell for place, cell in enumerate(row)} for row in cells]
    by_rows = pl.DataFrame(rows, infer_schema_length=None)
    assert_frame_equal(_frame(rows), by_rows, check_exact=True)
    rows.append({"other": 1, **(rows[0] if rows else {})})
    assert_frame_equal(_frame(rows), pl.DataFrame(rows, infer_schema_length=None))


def test_drops_are_those_of_the_flows_in_order_and_evenly_chosen() -> None:
    many = 2 * sequence.MOST_CROSSES + 2
    names = np.array(["a", "b"] * many, dtype=object)
    drops = {"flow": names, "time_s": np.arange(2.0 * many), "offset_bytes": np.arange(2.0 * many)}
    found = sequence.losses(drops, None, ["b"])
    assert set(found["flow"]) == {"b"}
    assert found["time_s"].tolist() == [1.0 + 6 * n for n in range(-(-many // 3))]
    assert len(sequence.losses(None, None, ["b"])["flow"]) == 0


def test_numbers_of_a_run_are_worked_out_once_and_found_by_name(results: Results) -> None:
    first, second = results.runs[:2]
    assert first.numbers is first.numbers
    assert first.numbers["flow.short.goodput_bps"] == first.metrics["flows"][0]["goodput_bps"]
    assert first.numbers["bottleneck.utilization"] == first.metrics["bottleneck"]["utilization"]
    assert dict(second.numbers) == dict(numbers.of(second.metrics))
    with pytest.raises(KeyError):
        first.numbers["flow.nobody.goodput_bps"]
