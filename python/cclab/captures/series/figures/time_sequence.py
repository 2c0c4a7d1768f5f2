"""The time-sequence graph: Shepard's, as tcptrace made it known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.collections import LineCollection

from cclab import units
from cclab.captures.series import time_sequence
from cclab.captures.series.figures.curves import frame_of
from cclab.captures.series.looks import ACK, DASHED, LOOKS, WINDOW
from cclab.drawing import thin
from cclab.drawing.legend import above, entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.captures.series.figures.curves import Between
    from cclab.captures.series.looks import Look
    from cclab.captures.series.tables import Direction
    from cclab.drawing.style import Drawing

TITLE = "Time and sequence numbers"
CAPTION = (
    "Each bar is a segment, from its first sequence number to its last, when it was captured; "
    "below are the bytes acknowledged, above the edge of the receiver's window. Marks are one for "
    "each dot of 1,600 by 800: what falls on the same dot is drawn once, and bars of new data that "
    "touch in a column of it are joined."
)

_ACROSS, _UP = 1600, 800
_ACKS, _EDGES = ("ack", "duplicate-ack"), ("window", "zero-window")
_HEIGHT_IN = 5.0


def draw(direction: Direction, between: Between = None) -> Drawing | None:
    """The figure; None if the direction carries no data then."""
    rows = time_sequence.compute(direction)
    if between is not None:
        early = rows.filter(pl.col("time_s") < between[0])
        stairs = [early.filter(pl.col("what").is_in(those)).tail(1) for those in (_ACKS, _EDGES)]
        rows = pl.concat([*stairs, rows.filter(pl.col("time_s").is_between(*between))])
    if rows.filter(pl.col("what").is_in(time_sequence.SENT)).is_empty():
        return None
    unit, name = units.size(float(max(1, _highest(rows))))
    figure, axes = frame_of(direction, between, f"sequence number ({name})", _HEIGHT_IN)
    axes.margins(y=0.03)
    handles = [h for h in (_stairs(axes, rows, WINDOW, unit), _stairs(axes, rows, ACK, unit)) if h]
    handles += [h for kind in LOOKS if (h := _marks(axes, rows, kind, unit)) is not None]
    above(figure, handles)
    return figure


def lines(rows: pl.DataFrame, which: Look) -> pl.DataFrame:
    """`time_s` and `end_bytes` of the stairs of ACKs or of windows."""
    if which is ACK:
        acks = rows.filter(pl.col("what").is_in(_ACKS))
        # One that arrives late takes nothing back.
        return acks.select("time_s", pl.col("end_bytes").cum_max())
    return rows.filter(pl.col("what").is_in(_EDGES)).select("time_s", "end_bytes")


def _highest(rows: pl.DataFrame) -> int:
    highest = rows["end_bytes"].max()
    return highest if isinstance(highest, int) else 0


def _stairs(axes: Axes, rows: pl.DataFrame, which: Look, unit: float) -> Line2D | None:
    frame = lines(rows, which)
    if frame.is_empty():
        return None
    x, y = frame["time_s"].to_numpy(), frame["end_bytes"].to_numpy()
    kept = thin.line(x, y, _ACROSS)
    style: dict[str, Any] = {"color": which.colour, "linewidth": 1.0}
    if which is WINDOW:
        style["linestyle"] = DASHED
    axes.plot(x[kept], y[kept] / unit, drawstyle="steps-post", **style)
    return entry(which.label, **style)


def _marks(axes: Axes, rows: pl.DataFrame, kind: str, unit: float) -> Line2D | None:
    """Draws all that is `kind`, and gives its entry of the legend; None if there is none."""
    own = rows.filter(what=kind)
    if own.is_empty():
        return None
    look = LOOKS[kind]
    x, low, high = (own[c].to_numpy() for c in ("time_s", "start_bytes", "end_bytes"))
    if look.bar:
        at, foot, head = thin.bars(x, low, high, _ACROSS, _UP) if kind == "new" else (x, low, high)
        if kind != "new":
            kept = thin.dots(x, low, _ACROSS, _UP)
            at, foot, head = x[kept], low[kept], high[kept]
        ends = np.stack((np.stack((at, foot / unit), 1), np.stack((at, head / unit), 1)), 1)
        width = 1.1 if kind in time_sequence.SENT else 0.7
        axes.add_collection(LineCollection(list(ends), colors=look.colour, linewidths=width))
    style: dict[str, Any] = {"linestyle": "none", "color": look.colour, "markersize": 4.2}
    # Ticks on the line of ACKs are many, and what they say is no news.
    ticks = look.marker == "|"
    style |= {"markeredgewidth": 0.5, "markersize": 3.0} if ticks else {"markeredgewidth": 0.9}
    if look.hollow:
        style["markerfacecolor"] = "none"
    if look.marker is None:
        bar: dict[str, Any] = {
            "linestyle": "none",
            "marker": "|",
            "markersize": 8,
            "color": look.colour,
        }
        return entry(look.label, **bar)
    kept = thin.dots(x, high, _ACROSS, _UP)
    axes.plot(x[kept], high[kept] / unit, marker=look.marker, **style)
    return entry(look.label, marker=look.marker, **style)
