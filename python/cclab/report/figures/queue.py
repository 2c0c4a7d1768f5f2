"""Bytes waiting at the bottleneck over time, and when it dropped packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch

from cclab import trace
from cclab.report import units
from cclab.report.figures import legend
from cclab.report.figures.panels import finish, grid, panels, reference, thinned
from cclab.report.figures.style import MUTED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.report.figures.style import Drawing
    from cclab.results import Results

TITLE = "Queue at the bottleneck over time"
CAPTION = (
    "Bytes waiting in front of the bottleneck; the ticks on top mark the sampling intervals in "
    "which it dropped packets. First run of each sweep point."
)
NEEDS = "samples of the bottleneck's queue"

_WATER = "#6f8fb3"
_DROP = "#b3261e"


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its queue."""
    shown = [p for p in panels(results) if trace.has(p.run.entry, "queue_samples")]
    if not shown:
        return None
    series = [
        trace.table(p.run.entry, "queue_samples")
        .filter(link=trace.bottleneck(p.run.entry))
        .sort("time_s")
        for p in shown
    ]
    limits = [p.run.run.scenario["network"]["bottleneck"]["queue"]["limit"] for p in shown]
    tops = [
        float(max(np.max(s["backlog_bytes"].to_numpy(), initial=0), limit.get("bytes", 0)))
        for s, limit in zip(series, limits, strict=True)
    ]
    unit, name = units.size(max(tops))
    figure, cells = grid(len(shown), height=2.4)
    handles: list[Artist] = [Patch(facecolor=_WATER, alpha=0.5, label="backlog")]
    for axes, samples, limit in zip(cells[0], series, limits, strict=True):
        seconds = samples["time_s"].to_numpy()
        backlog = samples["backlog_bytes"].to_numpy() / unit
        x, y = thinned(seconds, backlog)
        axes.fill_between(x, y, color=_WATER, alpha=0.35, linewidth=0)
        axes.plot(x, y, color=_WATER, linewidth=0.9)
        dropped = np.diff(samples["drops"].to_numpy().astype(np.int64), prepend=0) > 0
        if dropped.any():
            (ticks,) = axes.plot(
                seconds[dropped],
                np.full(int(dropped.sum()), 0.985),
                transform=axes.get_xaxis_transform(),
                linestyle="none",
                marker="|",
                markersize=7,
                color=_DROP,
                clip_on=False,
                label="drops",
            )
            if len(handles) == 1:
                handles.append(ticks)
        if not backlog.any():
            _say_empty(axes)
        if "bytes" in limit:
            reference(axes, limit["bytes"] / unit, "limit")
    finish(figure, cells, shown, [f"backlog ({name})"], legend=False)
    cells[0][0].set_ylim(0, max(tops) / unit * 1.14 or 1)
    legend.above(figure, handles)
    return figure


def _say_empty(axes: Axes) -> None:
    """Says that the panel is empty because the queue was, each time it was looked at."""
    axes.annotate(
        "empty in every sample",
        (0.5, 0.5),
        xycoords="axes fraction",
        ha="center",
        va="center",
        fontsize=7.5,
        color=MUTED,
    )
