"""The window that the receiver advertises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cclab.series.tables import Direction

COLUMNS = {
    "time_s": "when an acknowledgement with it was captured",
    "window_bytes": "the receiver's window, scaled",
}


def compute(direction: Direction) -> pl.DataFrame:
    """A row for each acknowledgement of the receiver."""
    shown = direction.answers.filter(advertised(direction))
    return shown.select("time_s", pl.col("window_bytes").cast(pl.Int64))


def advertised(direction: Direction) -> pl.Expr:
    """Which segments have a window to be shown: those of SYNs are never scaled, unlike others."""
    known = pl.col("window_bytes").is_not_null()
    if direction.row["window_scaling"]:
        return known & ~pl.col("flags").str.contains("S")
    return known
