"""cclab's columns by tcptrace's names (`tcptrace -l -r -W`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agreement.field import UNTOLD, Field

if TYPE_CHECKING:
    from collections.abc import Callable

    from agreement.directions import Direction, Row
    from agreement.field import Value

SAME = {
    "packets": "total packets",
    "pure_acks": "pure acks sent",
    "data_packets": "actual data pkts",
    "total_bytes": "actual data bytes",
    "unique_bytes": "unique bytes sent",
    "out_of_order_packets": "outoforder pkts",
    "duplicate_acks": "duplicate acks",
    "sacks": "sack pkts sent",
    "sack_blocks_max": "max sack blks/ack",
    "dsacks": "dsack pkts sent",
    "window_probes": "zwnd probe pkts",
    "zero_windows": "zero win adv",
    "rsts": "resets sent",
    "urgent_packets": "urgent data pkts",
    "segment_max_bytes": "max segm size",
    "segment_min_bytes": "min segm size",
    "window_min_bytes": "min win adv",
    "window_max_bytes": "max win adv",
    "initial_window_bytes": "initial window",
    "initial_window_packets": "initial window pkts",
    "mss_announced_bytes": "mss requested",
    "window_scale_announced": "adv wind scale",
    "rtt_samples": "RTT samples",
    "rtt_ambiguous": "ambiguous acks",
}
"""Columns that are its numbers as they are."""

MILLISECONDS = {
    "idle_max_s": "idletime max",
    "rtt_min_s": "RTT min",
    "rtt_max_s": "RTT max",
    "rtt_stdev_s": "RTT stdev",
}
"""Columns in seconds that it has in milliseconds with one digit after the point."""


def _number(
    column: str,
    name: str,
    ours: Callable[[Row], Value],
    how: str = "",
    rounding: float = 0.0,
) -> Field[Direction]:
    """A number, which tcptrace shows as 0 (or not at all) where there is none."""
    return Field(
        column,
        "tcptrace",
        name,
        lambda direction: ours(direction.row),
        lambda direction: direction.column.get(name, 0),
        how,
        rounding,
    )


def _word(
    column: str, name: str, ours: Callable[[Row], Value], how: str, unshown: str | None = None
) -> Field[Direction]:
    """A word such as `Y`, which is `unshown` where neither end has it."""

    def theirs(direction: Direction) -> Value:
        return direction.words.get(name, unshown)

    return Field(column, "tcptrace", name, lambda direction: ours(direction.row), theirs, how)


def _handshake(direction: Direction) -> Value:
    columns = direction.report.columns
    if direction.row["handshake_rtt_s"] is None:
        return UNTOLD
    return sum(column["RTT from 3WHS"] for column in columns)


def _yes(flag: object) -> str:
    return "Y" if flag else "N"


def _same(column: str, name: str) -> Field[Direction]:
    return _number(column, name, lambda row: row[column] or 0)


def _in_milliseconds(column: str, name: str) -> Field[Direction]:
    return _number(column, name, lambda row: (row[column] or 0) * 1e3, "in ms", 0.05)


FIELDS: tuple[Field[Direction], ...] = (
    *(_same(column, name) for column, name in SAME.items()),
    *(_in_milliseconds(column, name) for column, name in MILLISECONDS.items()),
    _number(
        "rtt_mean_s",
        "RTT avg",
        lambda row: (
            (row["rtt_mean_s"] or 0) * 1e3 * row["rtt_samples"] / (row["rtt_samples"] + 1e-4)
        ),
        "in ms; its sum is divided by 0.0001 more than there are samples",
        0.05,
    ),
    _number(
        "retransmitted_packets",
        "rexmt data pkts",
        lambda row: row["retransmitted_packets"] + row["retransmitted_syn_fin"],
        "with `retransmitted_syn_fin`, which it counts as data",
    ),
    _number(
        "retransmitted_bytes",
        "rexmt data bytes",
        lambda row: row["retransmitted_bytes"] + row["retransmitted_syn_fin"],
        "with `retransmitted_syn_fin`, which it counts as data of one byte",
    ),
    _number(
        "window_mean_bytes",
        "avg win adv",
        lambda row: math.floor(row["window_mean_bytes"] or 0),
        "cut to whole bytes",
    ),
    _number(
        "outstanding_max_bytes",
        "max owin",
        lambda row: 0 if row["outstanding_max_bytes"] is None else row["outstanding_max_bytes"] + 1,
        "one byte more: it counts from the byte before the first one in flight",
    ),
    _number(
        "outstanding_mean_bytes",
        "avg owin",
        lambda row: (
            0
            if row["outstanding_mean_bytes"] is None
            else math.floor(row["outstanding_mean_bytes"] + 1)
        ),
        "one byte more, cut to whole bytes",
    ),
    _number(
        "throughput_bps",
        "throughput",
        lambda row: (row["throughput_bps"] or 0) / 8,
        "in bytes per second",
        0.5,
    ),
    _number("data_s", "data xmit time", lambda row: row["data_s"] or 0, rounding=0.5e-3),
    Field(
        "handshake_rtt_s",
        "tcptrace",
        "RTT from 3WHS",
        lambda direction: direction.row["handshake_rtt_s"] * 1e3,
        _handshake,
        "in ms, the sum of both directions; where each SYN was seen once",
        0.1,
    ),
    Field(
        "missed_bytes",
        "tcptrace",
        "missed data",
        lambda direction: direction.row["missed_bytes"],
        lambda direction: direction.column.get("missed data", UNTOLD),
        "where SYN and FIN were seen",
    ),
    Field(
        "elapsed_s",
        "tcptrace",
        "elapsed time",
        lambda direction: direction.row["elapsed_s"],
        lambda direction: direction.report.elapsed_s,
        "cut to whole microseconds, and a fraction short of one",
        1e-6,
    ),
    Field(
        "end",
        "tcptrace",
        "complete conn",
        lambda direction: direction.row["end"],
        lambda direction: direction.report.end,
        "`yes` is complete, `RESET` reset, `no` open",
    ),
    _word(
        "syns",
        "SYN/FIN pkts sent",
        lambda row: f"{row['syns']}/{row['fins']}",
        "both counts in one, `SYNs/FINs`",
    ),
    _word(
        "sack_permitted",
        "req sack",
        lambda row: _yes(row["sack_permitted"]),
        "`Y` or `N`, which unseen is as well",
        "N",
    ),
    _word(
        "timestamps",
        "req 1323 ws/ts",
        lambda row: f"{_yes(row['window_scale_announced'] is not None)}/{_yes(row['timestamps'])}",
        "scaling and timestamps in one, `Y/N`",
        "N/N",
    ),
)
