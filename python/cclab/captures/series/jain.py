"""Fairness between the flows that are active, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab.captures.series.across import across

if TYPE_CHECKING:
    from cclab.captures.series.across import Across
    from cclab.captures.series.flows import Flows

COLUMNS = {
    "time_s": "the bin's beginning",
    "bin_s": "its length",
    "flows": (
        "connections and conversations over UDP that are active in it: their data, in the "
        "direction that carries more, begin in it or before and end in it or later; those with "
        "less than a hundredth of the data of the largest do not count"
    ),
    "throughput_bps": (
        "their payload captured in it, each byte of a connection counted once, in bits per second"
    ),
    "jain": "Jain's index of what each of them sent in it; null if nobody sent anything",
}


def compute(flows: Flows, bin_s: float | None = None) -> pl.DataFrame:
    """A row for each bin from the time 0 to the last data."""
    return of(across(flows, bin_s))


def of(sums: Across) -> pl.DataFrame:
    """The indices of what is summed already."""
    n = sums.bins
    compared = sums.compared
    first, last = (compared[column].to_numpy() for column in ("first", "last"))
    change = np.bincount(first, minlength=n + 1) - np.bincount(last + 1, minlength=n + 1)
    active = np.cumsum(change)[:n]
    own = sums.sent.join(compared, on="flow", how="semi")
    place = own["bin"].to_numpy()
    sent = own["new_bytes"].to_numpy().astype(float)
    total = np.bincount(place, weights=sent, minlength=n)
    squares = np.bincount(place, weights=sent * sent, minlength=n)
    # Jain, Chiu and Hawe 1984: those that are active and send nothing count too.
    index = np.divide(total * total, active * squares, out=np.full(n, np.nan), where=squares > 0)
    return pl.DataFrame(
        {
            "time_s": np.arange(n) * sums.bin_s,
            "bin_s": np.full(n, sums.bin_s),
            "flows": active.astype(np.int64),
            "throughput_bps": total * 8 / sums.bin_s,
            "jain": pl.Series(index).fill_nan(None),
        }
    )
