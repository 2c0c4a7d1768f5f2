"""Each connection's part of what is sent, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.series.across import across

if TYPE_CHECKING:
    from cclab.series.across import Across
    from cclab.series.tables import Tables

COLUMNS = {
    "time_s": "the bin's beginning",
    "bin_s": "its length",
    "connection": "one that has data in the bin",
    "throughput_bps": (
        "payload of its direction that carries more, captured in the bin, each byte counted once, "
        "in bits per second"
    ),
    "share": "its part of that of all connections",
}


def compute(tables: Tables, bin_s: float | None = None) -> pl.DataFrame:
    """A row for each bin and connection that has data in it."""
    return of(across(tables, bin_s))


def of(sums: Across) -> pl.DataFrame:
    """The shares of what is summed already."""
    bits = pl.col("new_bytes") * 8 / sums.bin_s
    return sums.sent.select(
        (pl.col("bin") * sums.bin_s).alias("time_s"),
        pl.lit(sums.bin_s).alias("bin_s"),
        "connection",
        bits.alias("throughput_bps"),
        (pl.col("new_bytes") / pl.col("new_bytes").sum().over("bin")).alias("share"),
    )
