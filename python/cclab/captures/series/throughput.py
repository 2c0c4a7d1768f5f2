"""Payload per second, in bins and since the beginning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab.captures.series import bins, seen

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction

COLUMNS = {
    "time_s": "the bin's beginning",
    "bin_s": "its length",
    "throughput_bps": "payload captured in it, each byte counted once, in bits per second",
    "sent_bps": "all payload captured in it, repeated bytes too",
    "mean_bps": (
        "payload captured from the connection's first packet to the bin's end (or the last "
        "packet, if that is earlier), each byte counted once, over that time"
    ),
}


def compute(direction: Direction, bin_s: float | None = None) -> pl.DataFrame:
    """A row for each bin of the connection's time, the empty ones too."""
    row = direction.row
    began, elapsed = direction.began_s, row["elapsed_s"]
    length = bins.asked(bin_s, elapsed, row["rtt_mean_s"] or 0.0)
    number = math.floor(elapsed / length) + 1
    data = seen.payload(direction.sent)
    times = data["time_s"].to_numpy()
    new, sent = (
        bins.totals(times, data[column].to_numpy(), began, length, number)
        for column in ("new_bytes", "payload")
    )
    beginnings = np.arange(number) * length
    # The last bin goes beyond the last packet.
    passed = np.minimum(beginnings + length, elapsed)
    mean = np.divide(np.cumsum(new) * 8, passed, out=np.full(number, np.nan), where=passed > 0)
    return pl.DataFrame(
        {
            "time_s": began + beginnings,
            "bin_s": np.full(number, length),
            "throughput_bps": new * 8 / length,
            "sent_bps": sent * 8 / length,
            "mean_bps": pl.Series(mean).fill_nan(None),
        }
    )
