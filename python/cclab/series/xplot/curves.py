"""The graphs of one quantity or two over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.series import inter_arrival, outstanding, rtt, throughput, window
from cclab.series.xplot.plot import Plot, titled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cclab.series.tables import Direction


def outstanding_data(direction: Direction) -> Plot:
    """Payload in flight (red) and the window (yellow), in bytes."""
    drawn = Plot(f"{titled(direction)} (outstanding data)", "outstanding data (bytes)")
    frame = outstanding.compute(direction)
    for colour, column, label in (
        ("red", "outstanding_bytes", "in flight"),
        ("yellow", "window_bytes", "window"),
    ):
        drawn.colour(colour)
        drawn.curve(_points(direction, frame, column), label)
    return drawn


def windows(direction: Direction) -> Plot:
    """The receiver's window in bytes."""
    drawn = Plot(f"{titled(direction)} (window)", "advertised window (bytes)")
    drawn.colour("yellow")
    drawn.stairs(_points(direction, window.compute(direction), "window_bytes"))
    return drawn


def rates(direction: Direction) -> Plot:
    """Throughput in bins (red) and since the beginning (blue), in bits per second."""
    drawn = Plot(f"{titled(direction)} (throughput)", "throughput (bits/s)")
    frame = throughput.compute(direction)
    for colour, column, label in (
        ("red", "throughput_bps", "throughput"),
        ("blue", "mean_bps", "mean"),
    ):
        drawn.colour(colour)
        drawn.curve(_points(direction, frame, column), label)
    return drawn


def round_trips(direction: Direction) -> Plot:
    """RTT samples in milliseconds."""
    return _dots(direction, rtt.compute(direction), "rtt_s", "rtt samples", "rtt (ms)")


def gaps(direction: Direction) -> Plot:
    """Time between packets in milliseconds."""
    frame = inter_arrival.compute(direction)
    return _dots(direction, frame, "gap_s", "inter-arrival times", "inter-arrival time (ms)")


SUFFIXES: dict[str, Callable[[Direction], Plot]] = {
    "owin": outstanding_data,
    "win": windows,
    "tput": rates,
    "rtt": round_trips,
    "iat": gaps,
}
"""By the end of their files' names, which is tcptrace's where it has the graph."""


def _dots(direction: Direction, frame: pl.DataFrame, column: str, what: str, label: str) -> Plot:
    drawn = Plot(f"{titled(direction)} ({what})", label)
    drawn.colour("red")
    for time_ns, value in _points(direction, frame.with_columns(pl.col(column) * 1e3), column):
        drawn.mark("dot", time_ns, value)
    return drawn


def _points(direction: Direction, frame: pl.DataFrame, column: str) -> Iterator[tuple[int, float]]:
    for time_s, value in frame.select("time_s", column).drop_nulls().iter_rows():
        yield direction.epoch_ns + round(time_s * 1e9), value
