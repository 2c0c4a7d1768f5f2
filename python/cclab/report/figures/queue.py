"""How long packets wait at the bottleneck over time, and when it dropped and marked some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch

from cclab import trace, units
from cclab.explain import limits
from cclab.report.figures import legend
from cclab.report.figures.panels import finish, grid, panels, thinned
from cclab.report.figures.style import MUTED

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.report.figures.panels import Panel
    from cclab.report.figures.style import Drawing
    from cclab.results import Results

TITLE = "Queue at the bottleneck over time"
CAPTION = (
    "The time that the bottleneck takes to transmit what waits in front of it (bytes where its "
    "rate is infinite). The axis ends above the longest wait; the queue's limit is written in "
    "the panel. The ticks on top mark the sampling intervals in which it dropped packets, those "
    "below them the intervals in which it marked some (ECN). First run of each sweep point."
)
NEEDS = "samples of the bottleneck's queue"

_WATER = "#6f8fb3"
_EVENTS = (("drops", "drops", "#b3261e", 0.965), ("marks", "ECN marks", "#8a6d00", 0.905))
"""Columns that count events: name, label, and the colour and height in the axes of their ticks."""
_HEADROOM = 1.25
"""Room above the longest queue, for the ticks and the limit."""


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its queue."""
    shown = [p for p in panels(results) if p.run.records("queue_samples")]
    if not shown:
        return None
    series = [
        p.run.table("queue_samples").filter(link=p.run.read(trace.bottleneck)).sort("time_s")
        for p in shown
    ]
    delays = [_delays(panel, samples) for panel, samples in zip(shown, series, strict=True)]
    waiting = [delay for delay in delays if delay is not None]
    timed = len(waiting) == len(shown)
    if not timed:  # Panels share their axis.
        waiting = [samples["backlog_bytes"].to_numpy().astype(float) for samples in series]
    top = max(float(np.nanmax(values, initial=0)) for values in waiting)
    unit, name = units.time(top) if timed else units.size(top)
    word = "queue delay" if timed else "backlog"
    figure, cells = grid(len(shown), height=2.4)
    handles: dict[str, Artist] = {"queue": Patch(facecolor=_WATER, alpha=0.5, label=word)}
    for axes, panel, samples, values in zip(cells[0], shown, series, waiting, strict=True):
        seconds = samples["time_s"].to_numpy()
        x, y = thinned(seconds, values / unit)
        axes.fill_between(x, y, color=_WATER, alpha=0.35, linewidth=0)
        axes.plot(x, y, color=_WATER, linewidth=0.9)
        for event, label, colour, height in _EVENTS:
            when = seconds[np.diff(samples[event].to_numpy().astype(np.int64), prepend=0) > 0]
            if len(when):
                handles.setdefault(event, _ticks(axes, when, label, colour, height))
        if not samples["backlog_bytes"].to_numpy().any():
            _say_empty(axes)
        _say_limit(axes, panel)
    finish(figure, cells, shown, [f"{word} ({name})"], legend=False, headroom=_HEADROOM)
    legend.above(figure, list(handles.values()))
    return figure


def _delays(panel: Panel, samples: pl.DataFrame) -> npt.NDArray[np.float64] | None:
    """How long the link takes to transmit what waits at each sample; None if that is not known.

    Of a rate that changes, what the link could have transmitted by when was sampled too; what it
    has not transmitted by the last sample is not known (NaN).
    """
    backlog = samples["backlog_bytes"].to_numpy().astype(float)
    capacity = samples["capacity_bytes"]
    if not capacity.null_count():
        seconds, could = samples["time_s"].to_numpy(), capacity.to_numpy().astype(float)
        sent = np.interp(could + backlog, could, seconds, right=np.nan)
        return np.asarray(sent - seconds, dtype=np.float64)
    rate = _rate(panel)
    return None if rate is None else backlog * 8 / rate


def _rate(panel: Panel) -> float | None:
    """The one rate of the bottleneck in bit/s, or that of its shaper; None if it has none."""
    network = panel.run.run.scenario["network"]
    link = panel.run.table("links").row(0, named=True)
    written = limits.link_called(network, link["name"]) or {}
    if written.get("schedule") or written.get("trace"):
        return None
    links = [{"name": link["name"], "rate_bps": link["rate_bps"]}]
    limits.apply_shapers(network, links)
    rate = links[0]["rate_bps"]
    return float(rate) if rate else None


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


def _say_limit(axes: Axes, panel: Panel) -> None:
    """Tells the limit of the queue above what waited in it."""
    limit = panel.run.run.scenario["network"]["bottleneck"]["queue"].get("limit") or {}
    told = [f"{limit['packets']:,} packets"] if "packets" in limit else []
    if "bytes" in limit:
        unit, name = units.size(limit["bytes"])
        told.append(f"{limit['bytes'] / unit:.4g} {name}")
        rate = _rate(panel)
        if rate is not None:
            unit, name = units.time(limit["bytes"] * 8 / rate)
            told.append(f"{limit['bytes'] * 8 / rate / unit:.3g} {name}")
    if told:
        axes.annotate(
            f"limit: {' = '.join(told)}",
            (1.0, 0.82),
            xycoords="axes fraction",
            xytext=(-2, 0),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=7,
            color=MUTED,
        )
