"""What waits at the bottleneck over time, and when it dropped and marked packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch

from cclab import trace, units
from cclab.report.figures import legend
from cclab.report.figures.panels import finish, grid, panels, reference, thinned
from cclab.report.figures.style import MUTED

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.report.figures.style import Drawing
    from cclab.results import Results

TITLE = "Queue at the bottleneck over time"
CAPTION = (
    "What waits in front of the bottleneck, in packets where its limit counts those; the ticks on "
    "top mark the sampling intervals in which it dropped packets, those below them the intervals "
    "in which it marked some (ECN). First run of each sweep point."
)
NEEDS = "samples of the bottleneck's queue"

_WATER = "#6f8fb3"
_EVENTS = (("drops", "drops", "#b3261e", 0.985), ("marks", "ECN marks", "#8a6d00", 0.92))
"""Columns that count events: name, label, and the colour and height in the axes of their ticks."""
_HEADROOM = 1.2
"""Room above the largest backlog, for the ticks."""


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its queue."""
    shown = [p for p in panels(results) if p.run.records("queue_samples")]
    if not shown:
        return None
    series = [
        p.run.table("queue_samples").filter(link=p.run.read(trace.bottleneck)).sort("time_s")
        for p in shown
    ]
    limits = [p.run.run.scenario["network"]["bottleneck"]["queue"]["limit"] for p in shown]
    # Panels share their axis: packets where every limit counts them, else bytes.
    counted = "packets" if all("packets" in limit for limit in limits) else "bytes"
    backlogs = [s[f"backlog_{counted}"].to_numpy() for s in series]
    tops = [
        float(max(np.max(backlog, initial=0), limit.get(counted, 0)))
        for backlog, limit in zip(backlogs, limits, strict=True)
    ]
    unit, name = units.size(max(tops)) if counted == "bytes" else (1.0, counted)
    figure, cells = grid(len(shown), height=2.4)
    handles: dict[str, Artist] = {"backlog": Patch(facecolor=_WATER, alpha=0.5, label="backlog")}
    for axes, samples, waiting, limit in zip(cells[0], series, backlogs, limits, strict=True):
        seconds, backlog = samples["time_s"].to_numpy(), waiting / unit
        x, y = thinned(seconds, backlog)
        axes.fill_between(x, y, color=_WATER, alpha=0.35, linewidth=0)
        axes.plot(x, y, color=_WATER, linewidth=0.9)
        for event, label, colour, height in _EVENTS:
            when = seconds[np.diff(samples[event].to_numpy().astype(np.int64), prepend=0) > 0]
            if len(when):
                handles.setdefault(event, _ticks(axes, when, label, colour, height))
        if not backlog.any():
            _say_empty(axes)
        if counted in limit:
            reference(axes, limit[counted] / unit, "limit")
    finish(figure, cells, shown, [f"backlog ({name})"], legend=False, headroom=_HEADROOM)
    legend.above(figure, list(handles.values()))
    return figure


def _ticks(
    axes: Axes, when: npt.NDArray[np.float64], label: str, colour: str, height: float
) -> Artist:
    """Ticks at the times `when`, at this height of the axes."""
    (ticks,) = axes.plot(
        when,
        np.full(len(when), height),
        transform=axes.get_xaxis_transform(),
        linestyle="none",
        marker="|",
        markersize=7,
        color=colour,
        clip_on=False,
        label=label,
    )
    return ticks


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
