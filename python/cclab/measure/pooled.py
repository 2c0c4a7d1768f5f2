"""Percentiles over the flows of several runs together, with an interval over the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cclab.measure.stats import Estimate, percentiles, resamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.measure.stats import Floats, Whole


def percentile(runs: Sequence[Sequence[float]], share: float) -> Estimate | None:
    """The smallest value that at least `share` of all do not pass; None if there is none.

    `runs` are the values of each run; those without any do not count. The interval is that of
    `stats.estimate`: resamples take whole runs, for the flows of one are not independent.
    `numpy.quantile` with weights gives the same numbers for a resample at a time: of ten runs of
    1,000 values in 18 s, not 0.03 s (measured).
    """
    measured = [np.sort(np.asarray(run, dtype=np.float64)) for run in runs if len(run)]
    n = len(measured)
    if n == 0:
        return None
    values = np.unique(np.concatenate(measured))
    reached = np.stack([np.searchsorted(run, values, side="right") for run in measured])
    whole = float(_of_resamples(values, reached, np.ones((n, 1)), share)[0])
    if n == 1:
        return Estimate(whole, None, None, 1)
    drawn = resamples(n)
    percentile_of = _of_resamples(values, reached, drawn.counts, share)
    low, high = percentiles(percentile_of[None, :], drawn.times)[0].tolist()
    return Estimate(whole, min(low, whole), max(high, whole), n)


def _of_resamples(values: Floats, reached: Whole, counts: Floats, share: float) -> Floats:
    """The percentile in each resample, a column of `counts`.

    `reached` says how many values of each run, a row, do not pass each of the sorted `values`.
    """
    wanted = np.maximum(np.ceil(share * (reached[:, -1] @ counts)), 1.0)
    low = np.zeros(counts.shape[1], dtype=np.int64)
    high = np.full(counts.shape[1], len(values) - 1)
    while (low < high).any():
        middle = (low + high) // 2
        enough = (reached[:, middle] * counts).sum(axis=0) >= wanted
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle + 1)
    value: Floats = values[low]
    return value
