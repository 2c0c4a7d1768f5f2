"""The figures across flows: what each has of what is sent, and how fair that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cclab import units
from cclab.captures.series import jain
from cclab.captures.series.across import across
from cclab.captures.words import named
from cclab.drawing.legend import above
from cclab.drawing.palette import LOOKS
from cclab.drawing.sheet import alone
from cclab.drawing.style import FAINT, MUTED, Drawing

if TYPE_CHECKING:
    from cclab.captures.series.across import Across
    from cclab.captures.series.flows import Flows

SHARE = "Share over time"
SHARE_CAPTION = (
    "Payload of each connection, and of each conversation over UDP, in its direction that carries "
    "more, each byte of a connection counted once, in bins of time, stacked. All but the seven "
    "largest are one grey area."
)
JAIN = "Fairness over time"
JAIN_CAPTION = (
    "Jain's index of what the active connections and conversations over UDP sent in each bin of "
    "time: 1 if all sent the same. Below, how many are active: their data have begun and not "
    "ended. Those with less than a hundredth of the data of the largest do not count."
)

MOST_APART = 7
"""Flows with an area of their own."""

HUES = tuple(
    LOOKS[name].colour for name in ("cubic", "reno", "bbr", "vegas", "htcp", "dctcp", "lp")
)
"""Their colours, the largest flow's first."""

_HATCHES = ("", "////", "....", "\\\\\\\\", "xxx", "---", "++")
_SIZE_IN = (9.0, 3.2)


def share(flows: Flows) -> Drawing | None:
    """The figure; None if nobody sends anything."""
    sums = across(flows)
    if not sums.bins:
        return None
    names, bits = stacked(sums)
    unit, name = units.rate(float(bits.sum(axis=0).max()))
    figure, axes = alone(_SIZE_IN)
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
    """The largest flows, then "others", and the bits per second of each in each bin."""
    by_size = sums.spans.sort("bytes", descending=True, maintain_order=True)["flow"]
    largest = by_size.head(MOST_APART).to_list()
    names = [named(n, None) if n > 0 else named(None, -n) for n in largest]
    if len(by_size) > len(largest):
        names.append("others")
    bits = np.zeros((len(names), sums.bins))
    row = {number: place for place, number in enumerate(largest)}
    for place, number, sent in sums.sent.iter_rows():
        bits[row.get(number, len(largest)), place] += sent * 8 / sums.bin_s
    return names, bits


def fairness(flows: Flows) -> Drawing | None:
    """The figure; None if there are no two flows to compare."""
    sums = across(flows)
    if len(sums.compared) < 2:
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
    active = frame["flows"].to_numpy()
    below.fill_between(
        np.append(time_s, time_s[-1] + sums.bin_s),
        np.append(active, active[-1]),
        step="post",
        color=MUTED,
        linewidth=0,
        alpha=0.5,
    )
    below.set_ylim(0, max(1, int(active.max())) * 1.1)
    below.yaxis.set_major_locator(MaxNLocator(3, integer=True, steps=[1, 2, 5, 10]))
    below.set_ylabel("active")
    below.set_xlabel("time (s)")
    figure.align_ylabels()
    return figure
