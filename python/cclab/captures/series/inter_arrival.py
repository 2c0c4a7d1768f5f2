"""Time between packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk

COLUMNS = {
    "time_s": "when the packet was captured",
    "gap_s": "since the one before it of the same direction, at the point of capture",
    "payload_bytes": "what the packet carries",
}


def compute(direction: Direction | Talk) -> pl.DataFrame:
    """A row for each packet of the direction but the first."""
    # Differences of whole nanoseconds: those of seconds would have lost the last digits.
    gap = pl.col("time_ns").cast(pl.Int64).diff() * 1e-9
    rows = direction.sent.select(
        "time_s", gap.alias("gap_s"), pl.col("payload").cast(pl.Int64).alias("payload_bytes")
    )
    return rows.slice(1)
