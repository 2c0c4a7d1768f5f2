"""Fewer points that look the same: what a screen of so many dots can show."""

from __future__ import annotations

import itertools

import numpy as np

FINEST = (4096, 1024)
"""The finest grid of dots, across and up, that points are laid on."""


def dots(x: np.ndarray, y: np.ndarray, across: int, up: int) -> np.ndarray:
    """The points to draw: one for every dot of a grid of `across` by `up` that has any.

    The first point on each dot is drawn, so no dot disappears.
    """
    if len(x) == 0:
        return np.zeros(0, dtype=np.int64)
    cells = _place(x, across) * np.int64(up) + _place(y, up)
    return np.sort(np.unique(cells, return_index=True)[1])


def dots_at_most(x: np.ndarray, y: np.ndarray, most: int) -> np.ndarray:
    """All points if they are at most `most`; else `dots` on the finest grid that leaves no more.

    The grid is `FINEST`, or halved as often as it takes.
    """
    if len(x) <= most:
        return np.arange(len(x))
    across, up = FINEST
    while True:
        kept = dots(x, y, across, up)
        if len(kept) <= most or across == 1:
            return kept
        across, up = across // 2, max(1, up // 2)


def line(x: np.ndarray, y: np.ndarray, across: int) -> np.ndarray:
    """The points of a line to draw: the first, the last, the least and the greatest of each of
    `across` columns. A line through them covers the same dots."""
    if len(x) <= 4 * across:
        return np.arange(len(x))
    column = _place(x, across)
    starts = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    ends = np.append(starts[1:], len(x))
    order = np.lexsort((y, column))
    # The rows of a column lie together in both orders, for x does not fall.
    return np.unique(np.concatenate((starts, ends - 1, order[starts], order[ends - 1])))


def extremes(x: np.ndarray, y: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """About `points` points of a curve: the smallest and the largest of stretches of as many each.

    Where time goes on evenly a curve through them looks as `line`'s does; where the values are
    unknown it has a gap.
    """
    if len(x) <= points:
        return x, y
    edges = np.linspace(0, len(x), points // 2 + 1).astype(int)
    keep: set[int] = {0, len(x) - 1}
    for start, stop in itertools.pairwise(edges):
        stretch = y[start:stop]
        if np.all(np.isnan(stretch)):
            continue
        keep.add(int(start + np.nanargmin(stretch)))
        keep.add(int(start + np.nanargmax(stretch)))
    chosen = np.array(sorted(keep))
    return x[chosen], y[chosen]


def bars(
    x: np.ndarray, low: np.ndarray, high: np.ndarray, across: int, up: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertical bars, those in one of `across` columns that overlap or touch joined to one.

    A gap of less than one of `up` rows is none.
    """
    if len(x) <= across:
        return x, low, high
    column = _place(x, across)
    order = np.lexsort((low, column))
    column, x, low, high = (a[order] for a in (column, x, low, high))
    # Within a column, a bar begins one of its own where it lies above all before it.
    span = int(high.max()) - int(low.min()) + 1
    reach = np.maximum.accumulate(high.astype(np.int64) + column * (2 * span))
    above = low.astype(np.int64) + column * (2 * span) > np.roll(reach, 1) + span // up
    new = above | (column != np.roll(column, 1))
    new[0] = True
    first = np.flatnonzero(new)
    return x[first], low[first], np.maximum.reduceat(high, first)


def _place(values: np.ndarray, cells: int) -> np.ndarray:
    """In which of `cells` equal parts of their range each of the values lies."""
    least, span = float(np.min(values)), float(np.ptp(values))
    if span <= 0:
        return np.zeros(len(values), dtype=np.int64)
    return np.minimum((values - least) * (cells / span), cells - 1).astype(np.int64)
