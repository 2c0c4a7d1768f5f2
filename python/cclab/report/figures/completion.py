"""How long the transfers of each group took: their distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from cclab import grouped, units
from cclab.report.figures import legend
from cclab.report.figures.style import Drawing
from cclab.report.palette import Looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cclab.report.palette import Look
    from cclab.results import Point, Results

TITLE = "Completion times of groups"
CAPTION = (
    "Share of the transfers of each group that took no longer, over the flows of all runs of the "
    "sweep point; where some did not end, a line stops below all. The p50, p95 and p99 of the "
    "table are where it crosses 50, 95 and 99%."
)
NEEDS = "a group of flows with transfers, two of which ended"

MOST_PANELS = 6
"""More sweep points than this do not fit on a page; the first ones are shown."""

_COLUMNS = 3
_WIDE = 20.0
"""Longest over shortest time from which the axis is logarithmic."""


def draw(results: Results) -> Drawing | None:
    """The figure; None without a group of which two transfers ended."""
    shown = [(point, lines) for point in results.points if point.runs and (lines := curves(point))][
        :MOST_PANELS
    ]
    if not shown:
        return None
    ends = [seconds for _, lines in shown for times, _ in lines.values() for seconds in times]
    divisor, unit = units.time(max(ends))
    columns = 2 if len(shown) == 4 else min(len(shown), _COLUMNS)
    rows = math.ceil(len(shown) / columns)
    width = 5.6 if columns == 1 else 3.3 * columns
    figure = Drawing(figsize=(width, 2.6 * rows + 0.2), layout="constrained")
    given = Looks()
    looks: dict[str, Look] = {}
    first: Axes | None = None
    for place, (point, lines) in enumerate(shown):
        axes = figure.add_subplot(rows, columns, place + 1, sharex=first, sharey=first)
        first = first or axes
        if len(shown) > 1:
            axes.set_title(point.short_label)
        groups = point.runs[0].metrics["groups"]
        variants: dict[str, list[str]] = {g["name"]: g["variants"] for g in groups}
        for name, (times, shares) in lines.items():
            label = f"{name} ({', '.join(variants[name])})"
            looks[label] = given.of(label, variants[name][0])
            style = looks[label]
            x = np.repeat(times, 2) / divisor
            y = np.concatenate([[0.0], np.repeat(shares, 2)[:-1]])
            axes.plot(x, 100 * y, color=style.colour, linestyle=style.dash)
        if place % columns == 0:
            axes.set_ylabel("transfers (%)")
        if place >= len(shown) - columns:
            axes.set_xlabel(f"completion time ({unit})")
    if first is not None:
        first.set_ylim(0, 102)
        if min(ends) > 0 and max(ends) / min(ends) > _WIDE:
            first.set_xscale("log")
        else:
            first.set_xlim(0, 1.03 * max(ends) / divisor)
    legend.above(
        figure,
        [
            Line2D([], [], color=style.colour, linestyle=style.dash, label=label)
            for label, style in looks.items()
        ],
    )
    return figure


def curves(point: Point) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each group the completion times in order, and which share of its transfers each reaches.

    Only of groups of which two ended. Those that did not end count among all.
    """
    runs = [run.metrics for run in point.runs]
    found = {}
    for name in grouped.names_in(runs):
        times = np.sort([t for of_run in grouped.completion_times(runs, name) for t in of_run])
        if len(times) >= 2:
            every = len(runs) * len(grouped.members(runs[0], name))
            found[name] = (times, np.arange(1, len(times) + 1) / every)
    return found
