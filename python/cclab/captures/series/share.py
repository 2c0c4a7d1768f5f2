"""Each flow's part of what is sent, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.captures.series.across import CONNECTION, CONVERSATION, across

if TYPE_CHECKING:
    from cclab.captures.series.across import Across
    from cclab.captures.series.flows import Flows

COLUMNS = {
    "time_s": "the bin's beginning",
    "bin_s": "its length",
    "connection": "one that has data in the bin; null where the flow is a conversation over UDP",
    "conversation": "one that has data in the bin; null where the flow is a connection",
    "throughput_bps": (
        "payload of its direction that carries more, captured in the bin, each byte of a "
        "connection counted once, in bits per second"
    ),
    "share": "its part of that of all flows",
}


def compute(flows: Flows, bin_s: float | None = None) -> pl.DataFrame:
    """A row for each bin and flow that has data in it."""
    return of(across(flows, bin_s))


def of(sums: Across) -> pl.DataFrame:
    """The shares of what is summed already."""
    bits = pl.col("new_bytes") * 8 / sums.bin_s
    return sums.sent.select(
        (pl.col("bin") * sums.bin_s).alias("time_s"),
        pl.lit(sums.bin_s).alias("bin_s"),
        CONNECTION,
        CONVERSATION,
        bits.alias("throughput_bps"),
        (pl.col("new_bytes") / pl.col("new_bytes").sum().over("bin")).alias("share"),
    )
