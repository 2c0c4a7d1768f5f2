"""What each group of flows had, where there are too many flows to show each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from cclab import units
from cclab.drawing import legend
from cclab.drawing.marks import highest, whisker
from cclab.drawing.palette import Looks, lent
from cclab.drawing.sheet import alone
from cclab.drawing.style import INK

if TYPE_CHECKING:
    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.measure.grouped import GroupSummary
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate

TITLE = "Goodput of groups"
CAPTION = (
    "What the flows of each group had together, from the first byte that any of them received to "
    "the last: mean over the runs of each sweep point; whiskers are 95% bootstrap intervals over "
    "runs."
)
NEEDS = "a group of flows, and more than 8 flows at some sweep point"

MOST_POINTS = 12
"""Sweep points; the bars of more cannot be told apart."""


def draw(results: Results) -> Drawing | None:
    """The figure; None without groups, or where the flows are few or the points many."""
    # Before anything is estimated: a sweep may have thousands of points.
    if sum(bool(point.runs) for point in results.points) > MOST_POINTS:
        return None
    summaries = results.summaries
    if not any(point.folds and point.groups for point in summaries):
        return None
    names = list(dict.fromkeys(group.name for point in summaries for group in point.groups))
    told = [point for point in results.points if point.runs]
    sums = [
        {group.name: group for group in point.groups if _sum(group) is not None}
        for point in summaries
    ]
    tops = [
        highest(value)
        for point in sums
        for group in point.values()
        if (value := _sum(group)) is not None
    ]
    divisor, unit = units.rate(max(tops, default=0.0))
    width = max(3.4, 0.9 + 0.9 * len(told) + 0.25 * len(told) * len(names))
    figure, axes = alone((width, 2.6))
    axes.grid(visible=False, axis="x")
    step = 0.8 / len(names)
    # A bar has neither marker nor dash: groups of one variant are told apart by hue.
    given = Looks(lent([{group.variants[0] for point in sums for group in point.values()}]))
    looks: dict[str, Look] = {}
    for place, point in enumerate(sums):
        for lane, name in enumerate(names):
            group = point.get(name)
            value = None if group is None else _sum(group)
            if group is None or value is None:
                continue
            label = f"{name} ({group.cc}, {group.flows} flows)"
            looks[label] = given.of(label, group.variants[0])
            x = place + (lane - (len(names) - 1) / 2) * step
            axes.bar(x, value.mean / divisor, 0.85 * step, color=looks[label].colour)
            look: dict[str, Any] = {"color": INK, "linewidth": 0.9, "solid_capstyle": "butt"}
            whisker(axes, x, value, divisor, **look)
    axes.set_xlim(-0.6, len(told) - 0.4)
    axes.set_xticks(range(len(told)), [point.short_label for point in told])
    if sum(len(point.short_label) for point in told) > 12 * max(1, figure.get_figwidth()):
        axes.tick_params(axis="x", labelrotation=30)
    axes.set_ylabel(f"goodput ({unit})")
    axes.set_ylim(0, 1.08 * max(tops, default=1.0) / divisor)
    patches = [Patch(color=style.colour, label=label) for label, style in looks.items()]
    legend.above(figure, patches)
    return figure


def _sum(group: GroupSummary) -> Estimate | None:
    """After a warm-up what it had after it, as tables have it."""
    return group.estimate("goodput_sum_bps")
