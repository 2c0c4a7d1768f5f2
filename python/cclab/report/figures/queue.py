"""How long packets wait at the bottleneck over time, and when it dropped and marked some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.patches import Patch

from cclab import units
from cclab.drawing import legend
from cclab.drawing.marks import events, note, remark
from cclab.drawing.style import LOST
from cclab.explain import limits
from cclab.report.figures.crossed import crossed, rate_bps
from cclab.report.figures.panels import finish, grid, panels, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured
    from cclab.measure.results import Results
    from cclab.report.figures.panels import Panel

TITLE = "Queues at the bottlenecks over time"
CAPTION = (
    "The time that the bottleneck takes to transmit what waits in front of it (bytes where its "
    "rate is infinite): a panel for each link under study and direction that data of flows "
    "cross. Of a discipline with named queues (dualpi2) it is what waits in all of them together, "
    "and not the delay of a packet of either, which the figure queue-cdf shows. The axis ends "
    "above the longest wait; the queue's limit is written in the panel. The ticks on top mark "
    "the sampling intervals in which it dropped packets, those below them the intervals in which "
    "it marked some (ECN). First run of each sweep point."
)
NEEDS = "samples of the bottleneck's queue"

MOST_QUEUES = 18
"""Panels; more do not fit on a page."""

DELAY, BACKLOG = "queue delay", "backlog"
"""What is drawn of a queue: the latter where its link has no rate to make time of it."""

WATER = "#6f8fb3"
EVENTS = (("drops", "drops", LOST, 0.965), ("marks", "ECN marks", "#8a6d00", 0.905))
"""Columns that count events: name, label, and the colour and height in the axes of their ticks."""
_HEADROOM = 1.25
"""Room above the longest queue, for the ticks and the limit."""


@dataclass(frozen=True)
class _At:
    """A queue in a panel: whose sweep point, and at which link."""

    panel: Panel
    link: str

    @cached_property
    def samples(self) -> pl.DataFrame:
        """What was seen of it, in the order of time."""
        return self.panel.run.table("queue_samples").filter(link=self.link).sort("time_s")


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its queue."""
    points = [p for p in panels(results) if p.run.records("queue_samples")]
    if not points:
        return None
    queues = [[_At(panel, link) for link in crossed(panel.run)] for panel in points]
    most = max(len(own) for own in queues)
    # Sweep points are whole: rather fewer of them than one without its last queues.
    every = [queue for own in queues[: max(1, MOST_QUEUES // most)] for queue in own]
    shown = every[:MOST_QUEUES]
    delays = [_delays(queue) for queue in shown]
    waiting = [delay for delay in delays if delay is not None]
    timed = len(waiting) == len(shown)
    if not timed:  # Panels share their axis.
        waiting = [queue.samples["backlog_bytes"].to_numpy().astype(float) for queue in shown]
    top = max(float(np.nanmax(values, initial=0)) for values in waiting)
    unit, name = units.time(top) if timed else units.size(top)
    word = DELAY if timed else BACKLOG
    columns = most if most in (2, 3) else None
    sheet = grid(len(shown), height=2.4, columns=columns)
    handles: dict[str, Artist] = {"queue": Patch(facecolor=WATER, alpha=0.5, label=word)}
    for axes, queue, values in zip(sheet.panels, shown, waiting, strict=True):
        samples = queue.samples
        seconds = samples["time_s"].to_numpy()
        x, y = thinned(seconds, values / unit)
        axes.fill_between(x, y, color=WATER, alpha=0.35, linewidth=0)
        axes.plot(x, y, color=WATER, linewidth=0.9)
        for event, label, colour, height in EVENTS:
            when = seconds[np.diff(samples[event].to_numpy().astype(np.int64), prepend=0) > 0]
            if len(when):
                ticks = events(axes, when, height, colour, markersize=7, label=label)
                handles.setdefault(event, ticks)
        if not samples["backlog_bytes"].to_numpy().any():
            # As often as it was looked at.
            remark(axes, "empty in every sample", (0.5, 0.5), va="center", fontsize=7.5)
        _say_limit(axes, queue)
        _say_bands(axes, queue)
    labels = [f"{word} ({name})"]
    named = (
        [queue.panel for queue in shown] if _one_way(queues) else [_named(queue) for queue in shown]
    )
    finish(sheet, named, labels, legend=False, headroom=_HEADROOM)
    if not _one_way(queues) and len(shown) == 1:
        sheet.panels[0].set_title(named[0].title)
    left_out = sum(map(len, queues)) - len(shown)
    if left_out:
        told = [sheet.figure.get_supxlabel(), f"{left_out} more queues are not shown"]
        more = "; ".join(filter(None, told))
        note(sheet.figure, more)
    legend.above(sheet.figure, list(handles.values()))
    return sheet.figure


def _one_way(queues: Sequence[Sequence[_At]]) -> bool:
    """Whether each panel is of the first link under study, which needs no name."""
    return all(
        [queue.link for queue in own] == [own[0].panel.run.trace.bottleneck] for own in queues
    )


def _named(queue: _At) -> Panel:
    """Its panel with the link's name in the title."""
    return replace(queue.panel, title="\n".join(filter(None, (queue.panel.title, queue.link))))


def _delays(queue: _At) -> npt.NDArray[np.float64] | None:
    """How long the link takes to transmit what waits at each sample; None if that is not known.

    Of a rate that changes, what the link could have transmitted by when was sampled too; what it
    has not transmitted by the last sample is not known (NaN).
    """
    seconds, backlog, could = (
        queue.samples[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for column in ("time_s", "backlog_bytes", "capacity_bytes")
    )
    return waits(seconds, backlog, could, rate_bps(queue.panel.run, queue.link))


def waits(
    seconds: npt.NDArray[np.float64],
    backlog: npt.NDArray[np.float64],
    could: npt.NDArray[np.float64],
    rate: float | None,
) -> npt.NDArray[np.float64] | None:
    """How long a link of constant `rate` takes to transmit its `backlog` at each time; where the
    rate changes, by the bytes that it `could` have transmitted so far. None if neither is known.
    """
    if not np.isnan(could).any():
        sent = np.interp(could + backlog, could, seconds, right=np.nan)
        return np.asarray(sent - seconds, dtype=np.float64)
    return None if rate is None else backlog * 8 / rate


def _say_bands(axes: Axes, queue: _At) -> None:
    """Says of what the series is where the discipline has several queues with names."""
    run = queue.panel.run
    bands = run.table("bands") if run.records("bands") else None
    told = together([] if bands is None else bands.filter(link=queue.link)["name"].to_list())
    if told:
        remark(axes, told, (0.0, 0.82), (3, 0))


def together(names: Sequence[str]) -> str:
    """Of what a series is that shows queues with these names; empty of fewer than two."""
    return f"{', '.join(names[:-1])} and {names[-1]} together" if len(names) > 1 else ""


def _say_limit(axes: Axes, queue: _At) -> None:
    """Tells the limit of the queue above what waited in it."""
    told = limit_words(queue.panel.run, queue.link, rate_bps(queue.panel.run, queue.link))
    if told:
        remark(axes, told, (1.0, 0.82), (-2, 0))


def limit_words(run: Measured, link: str, rate: float | None) -> str:
    """The limit of the queue in front of a link of this constant rate, if it has one; empty if the
    study does not say it."""
    written = limits.link_called(run.run.scenario["network"], link)
    if written is None:
        return ""
    limit = written["queue"]["limit"]
    told = [f"{limit['packets']:,} packets"] if "packets" in limit else []
    if "bytes" in limit:
        unit, name = units.size(limit["bytes"])
        told.append(f"{limit['bytes'] / unit:.4g} {name}")
        if rate is not None:
            unit, name = units.time(limit["bytes"] * 8 / rate)
            told.append(f"{limit['bytes'] * 8 / rate / unit:.3g} {name}")
    return f"limit: {' = '.join(told)}" if told else ""
