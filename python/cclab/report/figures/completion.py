"""How long transfers take: the share of them that is complete after a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import PercentFormatter

from cclab import units
from cclab.drawing import legend
from cclab.drawing.marks import settings, stairs
from cclab.drawing.palette import Looks
from cclab.drawing.ticks import spanned
from cclab.report.figures.asked import OF_VARIANTS, at_most, divided
from cclab.report.figures.facets import facets
from cclab.report.quantities import grouped, lent_in, named, transfers
from cclab.report.swept import beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.report.figures.asked import Asked
    from cclab.report.swept import Axis

TITLE = "Completion times of transfers"
CAPTION = (
    "The share of the transfers that were complete after a time, of all runs together: a line for "
    "each flow that is a transfer, and for those of one group. A line that ends below 100% is of "
    "transfers of which some did not end. The axis is logarithmic where times differ by more than "
    "a factor of 20."
)
SHARE = "complete transfers"
"""What is drawn of the transfers, up."""

LEAST = 5
"""Transfers of a line; fewer are no distribution."""

MOST_LINES = 16

NEEDS = f"{LEAST} or more transfers of one name over all runs of a sweep point"

SPREAD = 20
"""Largest over smallest from which the axis is logarithmic."""


def draw(results: Results, asked: Asked) -> Drawing | None:
    """The figure; None without a flow of which there are enough transfers."""
    apart, over = divided(results, asked)
    if not any(transfers(point) for point in results.points):
        return None
    panels = facets(over)
    lines: list[dict[str, tuple[Look, list[float | None]]]] = [{} for _ in range(panels.count)]
    looks = Looks(lent_in(results))
    for point in results.points:
        panel = lines[panels.panel([axis.place(point.params) for axis in over])]
        for label, variant, took in times_of(point, apart):
            panel.setdefault(label, (looks.of(label, variant), []))[1].extend(took)
    known = [
        time for own in lines for _, times in own.values() for time in times if time is not None
    ]
    longest = max((len(times) for own in lines for _, times in own.values()), default=0)
    if longest < LEAST or not known:
        return None
    most = max(len(own) for own in lines)
    at_most(MOST_LINES, most, "a panel would have {} lines", "told apart", OF_VARIANTS)
    unit, name = units.time(max(known))
    sheet = panels.frame(*panels.size)
    handles: dict[str, Line2D] = {}
    for axes, own in zip(sheet.panels, lines, strict=True):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        for label, (style, times) in own.items():
            handles.setdefault(label, _stairs(axes, label, style, times, unit))
    first = sheet.panels[0]
    spanned(first.xaxis, min(known) / unit, max(known) / unit, SPREAD)
    first.set_ylim(0, 1.02)
    sheet.label(f"completion time ({name})", SHARE)
    legend.above(sheet.figure, list(handles.values()))
    return sheet.figure


def times_of(point: Point, apart: list[Axis]) -> list[tuple[str, str, list[float | None]]]:
    """The label, the variant and the completion times of each group of transfers at a point."""
    ending = transfers(point)
    if not ending:
        return []
    groups = []
    keys = [key for axis in apart for key in axis.keys]
    first = point.flows
    own = [flow for flow in first if flow["name"] in ending]
    for name, (variant, label, flows) in grouped(own, wide=True).items():
        if len(own) < len(first):  # Its name tells them from the flows beside them.
            label = named(name, variant, len(flows))
        took = [
            flow["fct_s"]
            for run in point.runs
            for flow in run.metrics["flows"]
            if flow["name"] in flows
        ]
        groups.append((beside(label, name, keys, point.params), variant, took))
    return groups


def _stairs(axes: Axes, label: str, style: Look, times: list[float | None], unit: float) -> Line2D:
    ends = np.sort([time / unit for time in times if time is not None])
    shares = np.arange(1, len(ends) + 1) / len(times)
    every = max(1, (len(ends) + 1) // 5)
    return stairs(axes, ends, shares, **settings(style, 3.6, markevery=every, label=label))
