"""The graphs of one quantity or two over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.captures.series import inter_arrival, outstanding, rtt, throughput, window
from cclab.captures.series.xplot.plot import curve, graph, placed, stairs, titled

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk


def outstanding_data(direction: Direction) -> bytes:
    """Payload in flight (red) and the window (yellow), in bytes."""
    rows = placed(direction, outstanding.compute(direction))
    parts = [
        curve(rows.drop_nulls("outstanding_bytes"), "outstanding_bytes", "red", "in flight"),
        curve(rows.drop_nulls("window_bytes"), "window_bytes", "yellow", "window"),
    ]
    return graph(f"{titled(direction)} (outstanding data)", "outstanding data (bytes)", parts)


def windows(direction: Direction) -> bytes:
    """The receiver's window in bytes."""
    rows = placed(direction, window.compute(direction))
    parts = [stairs(rows, "window_bytes", "yellow")]
    return graph(f"{titled(direction)} (window)", "advertised window (bytes)", parts)


def rates(direction: Direction) -> bytes:
    """Throughput in bins (red) and since the beginning (blue), in bits per second."""
    return rated(direction, throughput.compute(direction))


def rated(direction: Direction | Talk, frame: pl.DataFrame) -> bytes:
    """The graph of a series of throughput."""
    rows = placed(direction, frame)
    whole = rows.with_columns(pl.col("throughput_bps", "mean_bps").round().cast(pl.Int64))
    parts = [
        curve(whole, "throughput_bps", "red", "throughput"),
        curve(whole.drop_nulls("mean_bps"), "mean_bps", "blue", "mean"),
    ]
    return graph(f"{titled(direction)} (throughput)", "throughput (bits/s)", parts)


def round_trips(direction: Direction) -> bytes:
    """RTT samples in milliseconds."""
    return _dots(direction, rtt.compute(direction), "rtt_s", "rtt samples", "rtt (ms)")


def gaps(direction: Direction | Talk) -> bytes:
    """Time between packets in milliseconds."""
    frame = inter_arrival.compute(direction)
    return _dots(direction, frame, "gap_s", "inter-arrival times", "inter-arrival time (ms)")


SUFFIXES: dict[str, Callable[[Direction], bytes]] = {
    "owin": outstanding_data,
    "win": windows,
    "tput": rates,
    "rtt": round_trips,
    "iat": gaps,
}
"""By the end of their files' names, which is tcptrace's where it has the graph."""


def _dots(
    direction: Direction | Talk, frame: pl.DataFrame, column: str, what: str, label: str
) -> bytes:
    # Whole nanoseconds: the digits below are not of the capture.
    rows = placed(direction, frame).with_columns(y=(pl.col(column) * 1e3).round(6))
    dot = pl.format("dot {} {}\n", "t", "y")
    parts = [rows.with_columns(commands=dot, colour=pl.lit("red"))]
    return graph(f"{titled(direction)} ({what})", label, parts)
