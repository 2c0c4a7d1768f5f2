"""What all flows of a capture sent, in bins of time.

Each connection, and each conversation over UDP, counts with its direction that carries more data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from cclab import _core
from cclab.captures.series import bins, seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.captures.series.flows import Flows
    from cclab.captures.series.tables import Tables
    from cclab.captures.series.talks import Talks

_BATCH = 500_000
"""Segments in memory at a time."""

_LEAST_BINS = 20

_SUMS = {"bin": pl.Int64, "flow": pl.Int64, "new_bytes": pl.Int64}


@dataclass(frozen=True)
class Across:
    """Payload of each flow in each bin.

    The `flow` of a connection is its number, that of a conversation the negative of its number.
    """

    bin_s: float
    """The length of a bin."""
    bins: int
    """How many there are, from the time 0 to the last data."""
    sent: pl.DataFrame
    """`bin`, `flow` and `new_bytes`, each byte of a connection counted once, where there are any:
    connections in their order, then conversations.
    """
    spans: pl.DataFrame
    """`flow`, the bins `first` and `last` in which its data begin and end, and its `bytes`."""

    @property
    def compared(self) -> pl.DataFrame:
        """Of `spans`, the flows that are held against each other: small ones say nothing."""
        return self.spans.filter(pl.col("bytes") >= _core.LEAST_SHARE * pl.col("bytes").max())


CONNECTION = pl.when(pl.col("flow") > 0).then(pl.col("flow")).alias("connection")
"""The number of the connection that a flow is; null if it is none."""
CONVERSATION = pl.when(pl.col("flow") < 0).then(-pl.col("flow")).alias("conversation")
"""Likewise of a conversation."""
_ORDER = (pl.col("flow") < 0, pl.col("flow").abs())


def across(flows: Flows, bin_s: float | None = None) -> Across:
    """All of the capture, in bins of `bin_s` seconds (a length that suits its span if None).

    It is a pass over all packets: `flows` keeps what comes of it.
    """
    if bin_s not in flows.sums:
        flows.sums[bin_s] = _summed(flows, bin_s)
    return flows.sums[bin_s]


def _summed(flows: Flows, bin_s: float | None) -> Across:
    tables, talks = flows.tables, flows.talks
    senders = [tables.main_sender(number) for number in tables.numbers]
    rows = tables.connections[[2 * place + sender for place, sender in enumerate(senders)]]
    began = (pl.col("started_ns").cast(pl.Int64) - tables.epoch_ns) * 1e-9
    ends = (
        frame.select((began + pl.col("last_packet_s")).max()).item()
        for frame in (rows, talks.conversations)
    )
    span_s = max((float(end) for end in ends if end is not None), default=0.0)
    length = bins.asked(bin_s, span_s, _round_trip(rows, span_s))
    place = (pl.col("time_s") / length).floor().cast(pl.Int64)
    main = [2 * n + sender for n, sender in zip(tables.numbers, senders, strict=True)]
    sums = [
        own.with_columns(bin=place)
        .group_by("bin", flow=pl.col("connection").cast(pl.Int64))
        .agg(pl.col("new_bytes").sum())
        for own in seen.new_bytes(_batches(tables, main))
    ]
    sums.append(_datagrams(talks, place))
    whole = pl.concat([pl.DataFrame(schema=_SUMS), *sums])
    sent = whole.group_by("bin", "flow").agg(pl.col("new_bytes").sum())
    spans = sent.group_by("flow").agg(
        first=pl.col("bin").min(), last=pl.col("bin").max(), bytes=pl.col("new_bytes").sum()
    )
    last = sent["bin"].max()
    return Across(
        length,
        last + 1 if isinstance(last, int) else 0,
        sent.filter(pl.col("new_bytes") > 0).sort("bin", *_ORDER),
        spans.sort(*_ORDER),
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


def _datagrams(talks: Talks, place: pl.Expr) -> pl.DataFrame:
    """The sums of what was sent over UDP; `place` is the bin of a `time_s`."""
    main = [2 * number + talks.main_sender(number) for number in talks.numbers]
    of_them = (2 * pl.col("conversation").cast(pl.Int64) + pl.col("sender")).is_in(main)
    timed = (pl.col("time_ns").cast(pl.Int64) - talks.epoch_ns) * 1e-9
    sent = talks.datagrams.filter(of_them & (pl.col("payload") > 0)).with_columns(time_s=timed)
    sums = sent.group_by(bin=place, flow=-pl.col("conversation").cast(pl.Int64))
    return sums.agg(new_bytes=pl.col("payload").cast(pl.Int64).sum()).collect()
