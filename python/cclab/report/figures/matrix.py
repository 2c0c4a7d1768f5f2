"""All pairs of variants: what the row's flow has beside the column's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.report.figures import heatmap
from cclab.report.quantities import called, measured
from cclab.report.swept import axes_of, axis_called

if TYPE_CHECKING:
    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.asked import Asked

TITLE = "All pairs of variants"
CAPTION = (
    "The share of the goodput of both that the row's flow has beside the column's, in per cent, "
    "mean over runs: white is an equal division, blue more than that, vermillion less. Outlined: "
    "a variant against itself. A corner marks cells whose 95% bootstrap interval over runs is "
    "longer than a fifth of the colour scale."
)
NEEDS = "the `cc` of two flows swept, each on its own"


def draw(results: Results, asked: Asked) -> Drawing | None:
    """The figure; None unless the variants of two flows are swept."""
    axes = axes_of([point.params for point in results.plan.points])
    pair = [axis_called(axes, pattern) for pattern in asked.axes]
    for axis in pair:
        if not axis.of_variants:
            raise InputError(f"the axes of a matrix list variants, and {axis.name} does not")
    pair += [axis for axis in axes if axis.of_variants and axis not in pair]
    if len(pair) < 2 or len(set(pair[:2])) < 2:
        return None
    y, x = pair[:2]
    if asked.metrics and asked.metrics[0] != "share":
        return heatmap.over(results, called(results, asked.metrics[0]), axes, x, y, diagonal=True)
    flow = y.keys[0].split(".")[1]
    shares = measured(results, f"flow.{flow}.share")
    if not shares:
        return None
    middle = heatmap.fair_share(results, shares)
    fair = f"; equal: {100 * middle:.3g}" if middle is not None else ""
    scale = f"share of {flow}, the row's flow (%{fair})"
    return heatmap.over(results, shares, axes, x, y, scale=scale, diagonal=True)
