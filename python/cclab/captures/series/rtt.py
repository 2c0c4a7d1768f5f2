"""Samples of the round-trip time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction

COLUMNS = {
    "time_s": "when the acknowledgement was captured that gave the sample",
    "rtt_s": "from the segment that it acknowledges to it (Karn's rule)",
}


def compute(direction: Direction) -> pl.DataFrame:
    """A row for each sample."""
    others = direction.segments.filter(pl.col("sender") != direction.sender)
    sampled = others.filter(pl.col("rtt_ns").is_not_null())
    return sampled.select("time_s", (pl.col("rtt_ns") * 1e-9).alias("rtt_s"))
