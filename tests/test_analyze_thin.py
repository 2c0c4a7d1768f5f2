"""Laws of what is left out of figures, and of which bytes are new."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cclab.captures.series import bins
from cclab.captures.series.seen import Seen
from cclab.drawing import thin

POINTS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 300)), min_size=1, max_size=300)
SEGMENTS = st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 9)), min_size=1, max_size=60)


def arrays(points: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Times, which do not fall, and values."""
    return np.array(sorted(x for x, _ in points)) / 100, np.array([y for _, y in points])


def cell(values: np.ndarray, of: np.ndarray, cells: int) -> np.ndarray:
    """In which of `cells` parts of the range of `of` each of the `values` lies."""
    span = float(np.ptp(of)) or 1.0
    part = (values - of.min()) * (cells / span)
    return np.asarray(np.minimum(part, cells - 1).astype(int))


@given(POINTS, st.integers(1, 40), st.integers(1, 20))
def test_every_dot_that_has_points_keeps_just_one(
    points: list[tuple[int, int]], across: int, up: int
) -> None:
    x, y = arrays(points)
    kept = thin.dots(x, y, across, up)

    def at(chosen: np.ndarray) -> list[tuple[int, int]]:
        columns, rows = cell(x[chosen], x, across), cell(y[chosen], y, up)
        return list(zip(columns.tolist(), rows.tolist(), strict=True))

    assert sorted(at(kept)) == sorted(set(at(np.arange(len(x)))))
    assert list(kept) == sorted(kept)


@given(POINTS, st.integers(1, 300))
def test_no_more_points_are_left_than_asked(points: list[tuple[int, int]], most: int) -> None:
    x, y = arrays(points)
    kept = thin.dots_at_most(x, y, most)
    assert 0 < len(kept) <= max(most, 1)
    if len(x) <= most:
        assert len(kept) == len(x)


@given(POINTS, st.integers(1, 20))
def test_a_thinned_line_keeps_the_ends_and_extremes_of_each_column(
    points: list[tuple[int, int]], across: int
) -> None:
    x, y = arrays(points)
    kept = thin.line(x, y, across)
    if len(x) <= 4 * across:
        assert len(kept) == len(x)
        return
    assert len(kept) <= 4 * across
    column = cell(x, x, across)
    for own in np.unique(column):
        whole = np.flatnonzero(column == own)
        left = kept[column[kept] == own]
        assert (left[0], left[-1]) == (whole[0], whole[-1])
        assert (y[left].min(), y[left].max()) == (y[whole].min(), y[whole].max())


@given(POINTS, st.lists(st.integers(1, 40), min_size=300, max_size=300), st.integers(1, 20))
def test_joined_bars_cover_the_same_and_little_more(
    points: list[tuple[int, int]], heights: list[int], across: int
) -> None:
    x, low = arrays(points)
    high = low + np.array(heights[: len(low)])
    up = 50
    at, foot, head = thin.bars(x, low, high, across, up)
    if len(x) <= across:
        assert len(at) == len(x)
        return
    gap = (high.max() - low.min() + 1) // up
    column = cell(x, x, across)
    for own in np.unique(column):
        inside = cell(at, x, across) == own
        covered = {v for f, h in zip(foot[inside], head[inside], strict=True) for v in range(f, h)}
        those = column == own
        bars = {v for f, h in zip(low[those], high[those], strict=True) for v in range(f, h)}
        assert bars <= covered
        # What was joined over is no more than a gap away from what was there on both sides.
        for value in covered - bars:
            assert any(value - gap <= v < value for v in bars)
            assert any(value < v <= value + gap for v in bars)


@given(SEGMENTS, st.integers(0, 60))
def test_each_byte_is_new_once(segments: list[tuple[int, int]], cut: int) -> None:
    start, payload = (np.array(column) for column in zip(*segments, strict=True))
    seen = Seen()
    new = np.concatenate(
        [seen.take(start[:cut], payload[:cut]), seen.take(start[cut:], payload[cut:])]
    )
    known: set[int] = set()
    for (begin, length), counted in zip(segments, new, strict=True):
        bytes_ = set(range(begin, begin + length))
        assert counted == len(bytes_ - known)
        known |= bytes_


@pytest.mark.parametrize(
    ("span", "least", "length"),
    [(100.0, 0.0, 0.5), (3.49, 0.0, 0.02), (3.49, 0.03, 0.05), (200.0, 0.0, 1.0), (0.0, 0.0, 1e-4)],
)
def test_bins_have_round_lengths(span: float, least: float, length: float) -> None:
    assert bins.width(span, least) == length
