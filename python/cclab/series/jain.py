"""Fairness between the connections that are active, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab.series.across import across

if TYPE_CHECKING:
    from cclab.series.across import Across
    from cclab.series.tables import Tables

COLUMNS = {
    "time_s": "the bin's beginning",
    "bin_s": "its length",
    "connections": (
        "those that are active in it: their data, in the direction that carries more, begin in it "
        "or before and end in it or later"
    ),
    "throughput_bps": "their payload captured in it, each byte counted once, in bits per second",
    "jain": "Jain's index of what each of them sent in it; null if nobody sent anything",
}


def compute(tables: Tables, bin_s: float | None = None) -> pl.DataFrame:
    """A row for each bin from the first data to the last."""
    return of(across(tables, bin_s))


def of(sums: Across) -> pl.DataFrame:
    """The indices of what is summed already."""
    n = sums.bins
    first, last = (sums.spans[column].to_numpy() for column in ("first", "last"))
    change = np.bincount(first, minlength=n + 1) - np.bincount(last + 1, minlength=n + 1)
    active = np.cumsum(change)[:n]
    place = sums.sent["bin"].to_numpy()
    sent = sums.sent["new_bytes"].to_numpy().astype(float)
    total = np.bincount(place, weights=sent, minlength=n)
    squares = np.bincount(place, weights=sent * sent, minlength=n)
    # Jain, Chiu and Hawe 1984: those that are active and send nothing count too.
    index = np.divide(total * total, active * squares, out=np.full(n, np.nan), where=squares > 0)
    return pl.DataFrame(
        {
            "time_s": np.arange(n) * sums.bin_s,
            "bin_s": np.full(n, sums.bin_s),
            "connections": active.astype(np.int64),
            "throughput_bps": total * 8 / sums.bin_s,
            "jain": pl.Series(index).fill_nan(None),
        }
    )
