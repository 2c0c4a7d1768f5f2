"""Payload in flight, and the window that it may fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.captures.series.seen import NOT_DATA

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction

COLUMNS = {
    "time_s": "when it became so: a segment with new payload was sent, or an acknowledgement came",
    "outstanding_bytes": "payload between the highest ACK and the highest byte sent",
    "window_bytes": "the receiver's window as it was advertised last; null before",
}


def compute(direction: Direction) -> pl.DataFrame:
    """A row for each segment that changes what is in flight, and for each answer."""
    own = pl.col("sender") == direction.sender
    # Control bits take sequence numbers but are no payload; RSTs take none.
    carries = own & (pl.col("payload") > 0) & ~pl.col("kind").is_in(NOT_DATA)
    answers = ~own & pl.col("ack").is_not_null() & ~pl.col("rst")
    begins = pl.col("seq") + pl.col("syn").cast(pl.Int64)
    ends = begins + pl.col("payload").cast(pl.Int64)
    rows = direction.segments.with_columns(
        end=pl.when(carries).then(ends).cum_max().forward_fill(),
        acknowledged=pl.when(answers).then(pl.col("ack")).cum_max().forward_fill(),
        window=pl.when(answers).then("window_bytes").forward_fill(),
        first=pl.when(carries).then(begins).forward_fill().cum_min(),
    )
    grown = carries & (pl.col("end") > pl.col("end").shift(1).fill_null(-1))
    # An ACK of what was sent before the capture began is below its first byte.
    since = pl.max_horizontal("acknowledged", "first")
    in_flight = (pl.col("end") - since).clip(lower_bound=0)
    shown = rows.filter((grown | answers) & pl.col("end").is_not_null())
    return shown.select(
        "time_s",
        in_flight.alias("outstanding_bytes"),
        pl.col("window").cast(pl.Int64).alias("window_bytes"),
    )
