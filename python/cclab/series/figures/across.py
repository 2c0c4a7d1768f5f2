"""The figures across connections: what each has of what is sent, and how fair that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.patches import Patch

from cclab import units
from cclab.report.figures.legend import above
from cclab.report.figures.style import FAINT, MUTED, Drawing
from cclab.report.palette import LOOKS
from cclab.series import jain
from cclab.series.across import across

if TYPE_CHECKING:
    from cclab.series.across import Across
    from cclab.series.tables import Tables

SHARE = "Share over time"
SHARE_CAPTION = (
    "Payload of each connection, in its direction that carries more, each byte counted once, in "
    "bins of time, stacked. All but the seven largest are one grey area."
)
JAIN = "Fairness over time"
JAIN_CAPTION = (
    "Jain's index of what the active connections sent in each bin of time: 1 if all sent the same. "
    "Below, how many are active: their data have begun and not ended."
)

MOST_APART = 7
"""Connections with an area of their own."""

HUES = tuple(
    LOOKS[name].colour for name in ("cubic", "reno", "bbr", "vegas", "htcp", "dctcp", "lp")
)
"""Their colours, the largest connection's first."""

_HATCHES = ("", "////", "....", "\\\\\\\\", "xxx", "---", "++")
_SIZE_IN = (9.0, 3.2)


def share(tables: Tables) -> Drawing | None:
    """The figure; None if nobody sends anything."""
    sums = across(tables)
    if not sums.bins:
        return None
    names, bits = stacked(sums)
    unit, name = units.rate(float(bits.sum(axis=0).max()))
    figure = Drawing(figsize=_SIZE_IN, layout="constrained")
    axes = figure.add_subplot()
    edges = np.arange(sums.bins + 1) * sums.bin_s
    floor = np.zeros(sums.bins + 1)
    handles = []
    for place, (label, own) in enumerate(zip(names, bits, strict=True)):
        apart = label != "others"
        colour = HUES[place] if apart else FAINT
        top = floor + np.append(own, own[-1]) / unit
        style: dict[str, Any] = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.3}
        hatch = _HATCHES[place] if apart else None
        axes.fill_between(edges, floor, top, step="post", hatch=hatch, **style)
        handles.append(Patch(label=label, hatch=hatch, **style))
        floor = top
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"rate ({name})")
    above(figure, handles)
    return figure


def stacked(sums: Across) -> tuple[list[str], np.ndarray]:
    """The largest connections, then "others", and the bits per second of each in each bin."""
    totals = sums.sent.group_by("connection").agg(pl.col("new_bytes").sum())
    by_size = totals.sort(["new_bytes", "connection"], descending=[True, False])["connection"]
    largest = by_size.head(MOST_APART).to_list()
    names = [f"connection {number}" for number in largest]
    if len(by_size) > len(largest):
        names.append("others")
    bits = np.zeros((len(names), sums.bins))
    row = {number: place for place, number in enumerate(largest)}
    for place, number, sent in sums.sent.iter_rows():
        bits[row.get(number, len(largest)), place] += sent * 8 / sums.bin_s
    return names, bits


def fairness(tables: Tables) -> Drawing | None:
    """The figure; None if there are no two connections that send anything."""
    sums = across(tables)
    if len(sums.spans) < 2:
        return None
    frame = jain.of(sums)
    figure = Drawing(figsize=_SIZE_IN, layout="constrained")
    above_axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    time_s = frame["time_s"].to_numpy()
    middle = time_s + sums.bin_s / 2
    index = frame["jain"].cast(pl.Float64).to_numpy()
    above_axes.plot(middle, index, color=HUES[0], linewidth=1.2, marker="o", markersize=2)
    above_axes.set_ylim(0, 1.05)
    above_axes.set_ylabel("Jain's index")
    active = frame["connections"].to_numpy()
    below.fill_between(
        np.append(time_s, time_s[-1] + sums.bin_s),
        np.append(active, active[-1]),
        step="post",
        color=MUTED,
        linewidth=0,
        alpha=0.5,
    )
    below.set_ylim(0, max(1, int(active.max())) * 1.1)
    below.set_ylabel("active")
    below.set_xlabel("time (s)")
    figure.align_ylabels()
    return figure
