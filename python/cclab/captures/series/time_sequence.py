"""Sequence numbers over time: what was sent, acknowledged and allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.captures.series.tables import CONTROLS

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction

COLUMNS = {
    "time_s": "when it was captured",
    "what": (
        "`new`, `retransmit`, `out-of-order`, `spurious`, `keep-alive` or `probe`, segments of the "
        "sender with that payload; its `syn`, `fin` and `rst`; the receiver's `ack`, "
        "`duplicate-ack`, `window`, `zero-window`, `sack` and `duplicate-sack`"
    ),
    "start_bytes": (
        "the first sequence number, relative to the sender's initial one; of an ACK the one before "
        "it, of a window the ACK it comes with"
    ),
    "end_bytes": "the one after the last; of an ACK its number, of a window its right edge",
}
SENT = ("new", "retransmit", "out-of-order", "spurious", "keep-alive", "probe")
"""What segments with payload are."""


def compute(direction: Direction) -> pl.DataFrame:
    """One row for each thing that a time-sequence graph shows, in the order of the capture.

    A segment that is several things has several rows: what it carries, and each control bit.
    """
    parts = [
        _payload(direction),
        *(_control(direction, control) for control in CONTROLS),
        *_answers(direction),
        _sacks(direction),
    ]
    return pl.concat(parts).sort("time_s", maintain_order=True)


def _payload(direction: Direction) -> pl.DataFrame:
    sent = direction.sent.filter(pl.col("payload") > 0)
    # One with a SYN or a FIN that carries data too is named after the bit.
    what = pl.when(pl.col("kind").is_in(SENT)).then("kind").otherwise(pl.lit("new"))
    # The SYN itself takes the number before its data.
    start = pl.col("seq") + pl.col("syn").cast(pl.Int64)
    return _rows(sent, what, start, start + pl.col("payload").cast(pl.Int64))


def _control(direction: Direction, control: str) -> pl.DataFrame:
    sent = direction.sent.filter(pl.col(control))
    at = pl.col("seq")
    if control != "syn":
        at = at + pl.col("payload").cast(pl.Int64)
    takes = 0 if control == "rst" else 1
    return _rows(sent, pl.lit(control), at, at + takes)


def _answers(direction: Direction) -> list[pl.DataFrame]:
    answers = direction.answers
    before = pl.col("ack").cum_max().shift(1).fill_null(pl.col("ack"))
    repeated = pl.col("kind") == "duplicate-ack"
    named = pl.when(repeated).then(pl.lit("duplicate-ack")).otherwise(pl.lit("ack"))
    acks = _rows(answers, named, before, pl.col("ack"))
    with_window = answers.filter(pl.col("window_bytes").is_not_null())
    window = pl.col("window_bytes").cast(pl.Int64)
    shut = pl.when(window == 0).then(pl.lit("zero-window")).otherwise(pl.lit("window"))
    return [acks, _rows(with_window, shut, pl.col("ack"), pl.col("ack") + window)]


def _sacks(direction: Direction) -> pl.DataFrame:
    duplicate = pl.when("duplicate").then(pl.lit("duplicate-sack")).otherwise(pl.lit("sack"))
    return _rows(direction.sacks, duplicate, pl.col("start"), pl.col("end"))


def _rows(frame: pl.DataFrame, what: pl.Expr, start: pl.Expr, end: pl.Expr) -> pl.DataFrame:
    return frame.select(
        "time_s", what.alias("what"), start.alias("start_bytes"), end.alias("end_bytes")
    )
