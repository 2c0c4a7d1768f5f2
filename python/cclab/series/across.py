"""What all connections of a capture sent, in bins of time.

Each connection counts with its direction that carries more data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from cclab.series import bins, seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.series.tables import Tables

_BATCH = 500_000
"""Segments in memory at a time."""

_LEAST_BINS = 20


@dataclass(frozen=True)
class Across:
    """Payload of each connection in each bin."""

    bin_s: float
    """The length of a bin."""
    bins: int
    """How many there are, from the time 0 to the last data."""
    sent: pl.DataFrame
    """`bin`, `connection` and `new_bytes`, each byte counted once, where there are any."""
    spans: pl.DataFrame
    """`connection`, and the bins `first` and `last` in which its data begin and end."""


def across(tables: Tables, bin_s: float | None = None) -> Across:
    """All of the capture, in bins of `bin_s` seconds (a length that suits its span if None).

    It is a pass over all segments: `tables` keeps what comes of it.
    """
    if bin_s not in tables.sums:
        tables.sums[bin_s] = _summed(tables, bin_s)
    return tables.sums[bin_s]


def _summed(tables: Tables, bin_s: float | None) -> Across:
    senders = [tables.main_sender(number) for number in tables.numbers]
    rows = tables.connections[[2 * place + sender for place, sender in enumerate(senders)]]
    spans = rows.select(
        "connection",
        end=(pl.col("started_ns") - tables.epoch_ns) * 1e-9 + pl.col("last_packet_s"),
    )
    end = spans["end"].max()
    span_s = end if isinstance(end, float) else 0.0
    length = bins.asked(bin_s, span_s, _round_trip(rows, span_s))
    place = (pl.col("time_s") / length).floor().cast(pl.Int64)
    main = [2 * n + sender for n, sender in zip(tables.numbers, senders, strict=True)]
    sums = [
        own.with_columns(bin=place).group_by("bin", "connection").agg(pl.col("new_bytes").sum())
        for own in seen.new_bytes(_batches(tables, main))
    ]
    schema = {"bin": pl.Int64, "connection": pl.UInt32, "new_bytes": pl.Int64}
    whole = pl.concat([pl.DataFrame(schema=schema), *sums])
    sent = whole.group_by("bin", "connection").agg(pl.col("new_bytes").sum())
    ends = sent.group_by("connection").agg(first=pl.col("bin").min(), last=pl.col("bin").max())
    last = sent["bin"].max()
    return Across(
        length,
        last + 1 if isinstance(last, int) else 0,
        sent.filter(pl.col("new_bytes") > 0).sort("bin", "connection"),
        ends.sort("connection"),
    )


def _round_trip(rows: pl.DataFrame, span_s: float) -> float:
    """The longest mean RTT of the connections with a part of the data worth the name.

    Within a round trip each sends its window at once, and nobody's share is what it is. But no
    less than `_LEAST_BINS` are to be seen.
    """
    worth = rows.filter(pl.col("unique_bytes") >= 0.01 * pl.col("unique_bytes").sum())
    longest = worth["rtt_mean_s"].max()
    return min(longest, span_s / _LEAST_BINS) if isinstance(longest, float) else 0.0


def _batches(tables: Tables, main: list[int]) -> Iterator[pl.DataFrame]:
    """The segments with payload of directions, in the order of the capture.

    `main` has twice the number of each connection, and its sender added.
    """
    columns = ["connection", "sender", "time_ns", "seq", "payload", "kind"]
    chosen = (2 * pl.col("connection").cast(pl.Int64) + pl.col("sender")).is_in(main)
    timed = (pl.col("time_ns").cast(pl.Int64) - tables.epoch_ns) * 1e-9
    rows = int(tables.segments.select(pl.len()).collect().item())
    for offset in range(0, rows, _BATCH):
        batch = tables.segments.slice(offset, _BATCH).select(columns).collect()
        yield batch.filter((pl.col("payload") > 0) & chosen).with_columns(time_s=timed)
