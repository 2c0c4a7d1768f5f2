"""Which payload of a direction was seen for the first time."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

_BELOW = -(1 << 62)

_MOST_HOLES = 1 << 17
"""Holes that are kept at least, as many as the core keeps. What fills one that was given up is not
counted.
"""

NOT_DATA = ("rst",)
"""Kinds of segments whose payload, if any, is none of the stream."""


class Seen:
    """The bytes of a direction seen so far."""

    def __init__(self) -> None:
        """None yet."""
        self._highest: int | None = None
        self._begins: list[int] = []
        self._ends: list[int] = []

    def take(self, start: np.ndarray, payload: np.ndarray) -> np.ndarray:
        """How many bytes of each of these segments, in their order, are new; and takes them in."""
        if len(start) == 0:
            return np.zeros(0, dtype=np.int64)
        if self._highest is None:
            self._highest = int(start[0])
            self._open(_BELOW, self._highest)
        end = start + payload
        reached = np.maximum.accumulate(np.concatenate(([self._highest], end)))
        before = reached[:-1]
        new = np.maximum(end - np.maximum(start, before), 0)
        # In order, nearly all of them are only that.
        for i in np.flatnonzero(start != before):
            low, high, top = int(start[i]), int(end[i]), int(before[i])
            if low > top:
                self._open(top, low)
            else:
                new[i] += self._fill(low, min(high, top))
        self._highest = int(reached[-1])
        return np.asarray(new)

    def _open(self, begin: int, end: int) -> None:
        """A hole above all others; the lowest is given up if there are too many."""
        self._begins.append(begin)
        self._ends.append(end)
        if len(self._begins) > 2 * _MOST_HOLES:
            del self._begins[:_MOST_HOLES], self._ends[:_MOST_HOLES]

    def _fill(self, low: int, high: int) -> int:
        """Fills the holes between `low` and `high`, and counts their bytes."""
        # Holes are in order, and none overlaps another: these are the first that ends above
        # `low` and the first that begins at `high` or above.
        first, last = bisect_right(self._ends, low), bisect_left(self._begins, high)
        if first >= last:
            return 0
        begins, ends = self._begins[first:last], self._ends[first:last]
        left = [(begins[0], low)] * (begins[0] < low) + [(high, ends[-1])] * (high < ends[-1])
        self._begins[first:last] = [begin for begin, _ in left]
        self._ends[first:last] = [end for _, end in left]
        held = sum(ends) - sum(begins)
        return held - sum(end - begin for begin, end in left)


def payload(sent: pl.DataFrame) -> pl.DataFrame:
    """The rows of `sent`, segments of one direction, with payload, and `new_bytes` of each."""
    data = sent.filter((pl.col("payload") > 0) & ~pl.col("kind").is_in(NOT_DATA))
    new = Seen().take(*_arrays(data))
    return data.with_columns(pl.Series("new_bytes", new, dtype=pl.Int64))


def new_bytes(batches: Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
    """`new_bytes` of the segments with payload in `batches`, of any number of directions.

    The rows of a batch come out by direction.
    """
    seen: dict[int, Seen] = {}
    for batch in batches:
        data = batch.filter((pl.col("payload") > 0) & ~pl.col("kind").is_in(NOT_DATA))
        which = 2 * pl.col("connection").cast(pl.Int64) + pl.col("sender")
        by_direction = data.sort(which, maintain_order=True)
        directions = by_direction.select(which).to_series().to_numpy()
        start, length = _arrays(by_direction)
        new = np.zeros(len(start), dtype=np.int64)
        firsts = np.flatnonzero(np.diff(directions, prepend=-1))
        for first, end in itertools.pairwise([*firsts.tolist(), len(start)]):
            direction = seen.setdefault(int(directions[first]), Seen())
            new[first:end] = direction.take(start[first:end], length[first:end])
        yield by_direction.with_columns(pl.Series("new_bytes", new, dtype=pl.Int64))


def _arrays(data: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return data["seq"].to_numpy(), data["payload"].cast(pl.Int64).to_numpy()
