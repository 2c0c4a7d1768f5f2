"""The window that the receiver advertises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction

COLUMNS = {
    "time_s": "when a segment with it was captured",
    "window_bytes": "the receiver's window, scaled",
}


def compute(direction: Direction) -> pl.DataFrame:
    """A row for each segment of the receiver, RSTs excepted, which have none."""
    known = (pl.col("sender") != direction.sender) & pl.col("window_bytes").is_not_null()
    rows = direction.segments.filter(known)
    if direction.row["window_scaling"]:
        # Those of SYNs are never scaled (RFC 7323 section 2.2).
        rows = rows.filter(~pl.col("syn"))
    return rows.select("time_s", pl.col("window_bytes").cast(pl.Int64))
