"""The figures of one quantity over time, of one direction of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab import units
from cclab.captures.series import inter_arrival, outstanding, rtt, throughput, window
from cclab.captures.series.looks import DASHED, WINDOW
from cclab.drawing import thin
from cclab.drawing.kind import Kind
from cclab.drawing.legend import above
from cclab.drawing.palette import BLUE, GREEN, VERMILLION
from cclab.drawing.sheet import alone
from cclab.drawing.ticks import logged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk
    from cclab.drawing.style import Drawing

Between = tuple[float, float] | None
"""The seconds from which and to which a figure shows something; None is all of it."""

_ACROSS, _UP = 1600, 400
_WIDTH_IN, _HEIGHT_IN = 9.0, 3.0

AMBER = WINDOW.colour


def _outstanding(direction: Direction, between: Between = None) -> Drawing | None:
    frame = within(outstanding.compute(direction), between)
    if frame.is_empty():
        return None
    most = _most(frame, "outstanding_bytes", "window_bytes")
    unit, name = units.size(most)
    figure, axes = frame_of(direction, between, f"bytes ({name})")
    steps = {"drawstyle": "steps-post"}
    edge = {"color": AMBER, "linestyle": DASHED, "label": "receiver's window", **steps}
    window = _line(axes, frame, "window_bytes", unit, **edge)
    flying = {"color": BLUE, "linewidth": 1.0, "label": "in flight", **steps}
    above(figure, [_line(axes, frame, "outstanding_bytes", unit, **flying), window])
    return figure


def _window(direction: Direction, between: Between = None) -> Drawing | None:
    frame = within(window.compute(direction), between)
    if frame.is_empty():
        return None
    unit, name = units.size(_most(frame, "window_bytes"))
    figure, axes = frame_of(direction, between, f"window ({name})")
    _line(axes, frame, "window_bytes", unit, color=AMBER, drawstyle="steps-post")
    return figure


def _throughput(direction: Direction, between: Between = None) -> Drawing | None:
    if not direction.row["unique_bytes"]:
        return None
    frame = within(throughput.compute(direction), between)
    unit, name = units.rate(_most(frame, "sent_bps"))
    figure, axes = frame_of(direction, between, f"rate ({name})")
    steps = {"drawstyle": "steps-post"}
    repeated = {"color": VERMILLION, "linewidth": 0.8, "label": "with repeated bytes", **steps}
    sent = _line(axes, frame, "sent_bps", unit, **repeated)
    unique, mean = _rates(axes, frame, unit, "unique bytes")
    above(figure, [unique, sent, mean])
    return figure


def _rates(axes: Axes, frame: pl.DataFrame, unit: float, what: str) -> list[Line2D]:
    """Draws the rate of `what` in bins of time, and its mean so far."""
    told = f"{what}, in {1e3 * frame['bin_s'][0]:g} ms"
    binned = {"color": BLUE, "linewidth": 1.1, "drawstyle": "steps-post", "label": told}
    mean = {"color": GREEN, "linestyle": DASHED, "label": "mean so far"}
    return [
        _line(axes, frame, "throughput_bps", unit, **binned),
        _line(axes, frame, "mean_bps", unit, **mean),
    ]


def _rtt(direction: Direction, between: Between = None) -> Drawing | None:
    frame = within(rtt.compute(direction), between, early=False)
    if frame.is_empty():
        return None
    unit, name = units.time(_most(frame, "rtt_s"))
    figure, axes = frame_of(direction, between, f"RTT ({name})")
    _dots(axes, frame["time_s"].to_numpy(), frame["rtt_s"].to_numpy(), unit)
    axes.set_ylim(bottom=0)
    return figure


def _inter_arrival(direction: Direction | Talk, between: Between = None) -> Drawing | None:
    frame = within(inter_arrival.compute(direction), between, early=False)
    if frame.is_empty():
        return None
    figure, axes = frame_of(direction, between, "time since the packet before (s)")
    gap = frame["gap_s"].to_numpy()
    positive = gap[gap > 0]
    # Packets that were captured in the same instant lie on the lowest line.
    least = float(positive.min()) if len(positive) else 1e-9
    logged(axes.yaxis)
    shown = np.maximum(gap, least)
    time_s = frame["time_s"].to_numpy()
    kept = thin.dots(time_s, np.log(shown), _ACROSS, _UP)
    axes.plot(time_s[kept], shown[kept], **_DOT)
    return figure


def _talk_throughput(talk: Talk, between: Between = None) -> Drawing | None:
    frame = within(talk.throughput(), between)
    unit, name = units.rate(_most(frame, "throughput_bps"))
    figure, axes = frame_of(talk, between, f"rate ({name})")
    above(figure, _rates(axes, frame, unit, "payload"))
    return figure


def _talk_size(talk: Talk, between: Between = None) -> Drawing | None:
    frame = within(talk.size(), between, early=False)
    if frame.is_empty():
        return None
    figure, axes = frame_of(talk, between, "payload (bytes)")
    _dots(axes, frame["time_s"].to_numpy(), frame["payload_bytes"].to_numpy(), 1.0)
    axes.set_ylim(bottom=0)
    return figure


_DOT: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 2.2,
    "markeredgewidth": 0,
    "color": BLUE,
    "alpha": 0.7,
}

CURVES: tuple[Kind[[Direction, Between]], ...] = (
    Kind(
        "outstanding",
        "Outstanding data",
        "Payload sent and not acknowledged, beside the window that the receiver advertises. Where "
        "they meet, the receiver holds the sender back.",
        _outstanding,
    ),
    Kind("window", "Advertised window", "The receiver's window, scaled.", _window),
    Kind(
        "throughput",
        "Throughput",
        "Payload in bins of time, each byte counted once, and with repeated bytes; dashed, the "
        "mean since the connection's first packet.",
        _throughput,
    ),
    Kind(
        "rtt",
        "Round-trip time",
        "From the capture point to the receiver and back; segments that were sent more than once "
        "give no sample.",
        _rtt,
    ),
    Kind(
        "inter-arrival",
        "Time between packets",
        "Of this direction, at the point of capture, on a logarithmic scale; those of one instant "
        "lie on the lowest line.",
        _inter_arrival,
    ),
)
"""Those of a direction of a connection."""

TALKS: tuple[Kind[[Talk, Between]], ...] = (
    Kind(
        "throughput",
        "Throughput",
        "Payload of datagrams in bins of time; dashed, the mean since the conversation's first.",
        _talk_throughput,
    ),
    Kind(
        "inter-arrival",
        "Time between datagrams",
        "Of this direction, at the point of capture, on a logarithmic scale; those of one instant "
        "lie on the lowest line.",
        _inter_arrival,
    ),
    Kind("size", "Sizes of datagrams", "The payload of each.", _talk_size),
)
"""Those of a direction of a conversation over UDP."""


def within(frame: pl.DataFrame, between: Between, *, early: bool = True) -> pl.DataFrame:
    """The rows of a series in a stretch of time, and the `early` one from which a curve goes on."""
    if between is None:
        return frame
    before = frame.filter(pl.col("time_s") < between[0]).tail(int(early))
    return pl.concat([before, frame.filter(pl.col("time_s").is_between(*between))])


def frame_of(
    direction: Direction | Talk, between: Between, ylabel: str, height: float = _HEIGHT_IN
) -> tuple[Drawing, Axes]:
    """An empty figure over time of a direction, or of a stretch of its time."""
    figure, axes = alone((_WIDTH_IN, height))
    axes.set_xlabel("time (s)")
    axes.set_ylabel(ylabel)
    axes.margins(x=0.01)
    if between is not None:
        axes.set_xlim(*between)
    axes.set_title(direction.title)
    return figure, axes


def _line(axes: Axes, frame: pl.DataFrame, column: str, unit: float, **style: Any) -> Line2D:
    known = frame.select("time_s", column).drop_nulls()
    x, y = known["time_s"].to_numpy(), known[column].to_numpy()
    kept = thin.line(x, y, _ACROSS)
    (drawn,) = axes.plot(x[kept], y[kept] / unit, **style)
    axes.set_ylim(bottom=0)
    return drawn


def _dots(axes: Axes, x: np.ndarray, y: np.ndarray, unit: float) -> None:
    kept = thin.dots(x, y, _ACROSS, _UP)
    axes.plot(x[kept], y[kept] / unit, **_DOT)


def _most(frame: pl.DataFrame, *columns: str) -> float:
    greatest = [frame[column].max() for column in columns]
    return max(float(m) for m in greatest if isinstance(m, int | float))
