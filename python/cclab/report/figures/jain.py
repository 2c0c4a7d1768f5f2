"""Jain's fairness index at each sweep point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.report.figures import legend
from cclab.report.figures.asked import TooMuchError
from cclab.report.figures.panels import reference
from cclab.report.figures.style import INK
from cclab.report.figures.sweep import layout
from cclab.report.palette import look

if TYPE_CHECKING:
    from cclab.report.figures.style import Drawing
    from cclab.results import Results

TITLE = "Jain's fairness index by sweep point"
CAPTION = (
    "(Σx)² / (n Σx²) over the goodputs x of the n flows: 1 when all are equal, 1/n when one flow "
    "has everything. Mean over runs; whiskers are 95% bootstrap intervals over runs."
)
NEEDS = "a sweep of two points or more, and two flows or more"


MOST_SERIES = 8
"""More series side by side cannot be told apart."""


def draw(results: Results) -> Drawing | None:
    """The figure; None without a sweep or with a single flow.

    Raises `TooMuchError` if it would have more than `MOST_SERIES`.
    """
    placed = layout(results)
    if placed is None:
        return None
    flows = max(len(results.summary_of(p.point).flows) for p in placed.places)
    if flows < 2:
        return None
    figure, cells = placed.frame()
    series = list(dict.fromkeys(p.series for p in placed.places))
    if len(series) > MOST_SERIES:
        raise TooMuchError(
            f"it would have {len(series)} series side by side, and {MOST_SERIES} is the most that "
            "can be told apart; the figure heatmap with --metric jain has a cell for each"
        )
    step = min(0.2, 0.7 / len(series))
    firsts = [name.split(", ")[0] for name in series]
    for number, name in enumerate(series):
        style = look(firsts[number], firsts[:number].count(firsts[number]))
        colour = style.colour if name else INK
        for panel, axes in enumerate(cells):
            labelled = False
            for place in placed.places:
                value = results.summary_of(place.point).jain
                if place.panel != panel or place.series != name or value is None:
                    continue
                x = place.slot + (number - (len(series) - 1) / 2) * step
                if value.low is not None and value.high is not None:
                    axes.plot([x, x], [value.low, value.high], color=colour, linewidth=1.4)
                axes.plot(
                    x,
                    value.mean,
                    linestyle="none",
                    marker=style.marker if name else "o",
                    markersize=5.5,
                    color=colour,
                    markeredgecolor="white",
                    markeredgewidth=0.5,
                    zorder=3,
                    label=None if labelled or not name else name,
                )
                labelled = True
                if placed.labelled_every() > 1 or len(series) > 1:
                    continue  # The numbers would hide each other.
                axes.annotate(
                    f"{value.mean:.2f}",
                    (x, value.mean),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                    color=colour,
                )
    for axes in cells:
        axes.set_ylim(0, 1.05)
        reference(axes, 1 / flows, f"1/n = {1 / flows:.2g}: one flow has everything")
    for axes in cells[:: placed.columns]:
        axes.set_ylabel("Jain's index")
    if any(series):
        handles, _ = cells[0].get_legend_handles_labels()
        legend.above(figure, handles)
    return figure
