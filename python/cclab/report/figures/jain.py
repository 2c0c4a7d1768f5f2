"""Jain's fairness index at each sweep point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.drawing import legend
from cclab.drawing.marks import ALONE_PT, cap_pt, size_pt, whisker
from cclab.drawing.palette import look
from cclab.drawing.style import INK
from cclab.report.figures.asked import at_most
from cclab.report.figures.crossed import crossing
from cclab.report.figures.panels import reference
from cclab.report.figures.sweep import layout

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured, Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.measure.summary import PointSummary

TITLE = "Jain's fairness index by sweep point"
CAPTION = (
    "(Σx)² / (n Σx²) over the goodputs x of the n flows beside each other: 1 when all are equal, "
    "1/n when one flow has everything. Flows that go back, and those at different bottlenecks, "
    "have an index of their own. Mean over runs; whiskers are 95% bootstrap intervals over runs."
)
NEEDS = "a sweep of two points or more, and two flows or more"


_LOWEST = 0.15
"""Below a line at this height there is no room for words."""

MOST_SERIES = 8
"""More series side by side cannot be told apart."""


@dataclass(frozen=True)
class _Beside:
    """Flows that share a link, and how fairly."""

    where: str
    """Their link or direction, in words; empty where all flows of the point share one."""
    flows: int
    value: Estimate


def draw(results: Results) -> Drawing | None:
    """The figure; None without a sweep or where no two flows are beside each other.

    Raises `TooMuchError` if it would have more than `MOST_SERIES`.
    """
    placed = layout(results)
    if placed is None:
        return None
    drawn = [(place, beside) for place in placed.places for beside in _of(results, place.point)]
    if not drawn:
        return None
    variants = list(dict.fromkeys(place.series for place in placed.places))
    wheres = list(dict.fromkeys(beside.where for _, beside in drawn))
    series = [(variant, where) for variant in variants for where in wheres]
    would = "it would have {} series side by side"
    other = "the figure heatmap with --metric jain has a cell for each"
    at_most(MOST_SERIES, len(series), would, "told apart", other)
    sheet = placed.frame("Jain's index", len(series))
    step = min(0.2, 0.7 / len(series))
    cap = cap_pt(placed.room(len(series), step))
    handles: dict[str, Line2D] = {}
    alone = placed.labelled_every(len(series)) == 1 and len(series) == 1
    for place, beside in drawn:
        number = series.index((place.series, beside.where))
        axes = sheet.panels[place.panel]
        x = place.slot + (number - (len(series) - 1) / 2) * step
        style = _style(variants, wheres, place.series, beside.where)
        value = beside.value
        whisker(axes, x, value, cap=cap, color=style["color"])
        label = ", ".join(filter(None, (place.series, beside.where)))
        style |= {"linestyle": "none"}
        axes.plot(x, value.mean, zorder=3, markersize=size_pt(value), label=label, **style)
        handles.setdefault(label, legend.entry(label, markersize=ALONE_PT, **style))
        if alone:  # The numbers of several would hide each other.
            axes.annotate(
                f"{value.mean:.2f}",
                (x, value.mean),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=style["color"],
            )
    for number, axes in enumerate(sheet.panels):
        axes.set_ylim(0, 1.05)
        here = [beside for place, beside in drawn if place.panel == number]
        counts = sorted({beside.flows for beside in here})
        for flows in counts:
            own = dict.fromkeys(beside.where for beside in here if beside.flows == flows)
            among = f" ({', '.join(own)})" if any(own) and len(counts) > 1 else ""
            told = f"1/{flows} = {1 / flows:.2g}: one flow has all{among}"
            # Below a line near the foot there is no room for words.
            reference(axes, 1 / flows, told, below=1 / flows >= _LOWEST)
    legend.above(sheet.figure, [handle for label, handle in handles.items() if label])
    return sheet.figure


def _of(results: Results, point: Point) -> list[_Beside]:
    """The index of the flows of each direction, or of each bottleneck where they have several."""
    summary = results.summary_of(point)
    among = _bottlenecks(point.runs[0], summary)
    ways = {flow.direction for flow in summary.flows}
    indices = []
    for way in sorted(ways):
        own = [flow for flow in summary.flows if flow.direction == way]
        if any(flow.estimate("bottleneck_jain") is not None for flow in own):
            by_link = {among[flow.name][0]: flow for flow in own}
            indices += [
                _Beside(link, among[flow.name][1], value)
                for link, flow in sorted(by_link.items())
                if (value := flow.estimate("bottleneck_jain")) is not None
                and among[flow.name][1] > 1
            ]
            continue
        value = summary.jain if way == "forward" or len(ways) == 1 else summary.of_whole(_BACK)
        if len(own) > 1 and value is not None:
            indices.append(_Beside(way if len(ways) > 1 else "", len(own), value))
    return indices


def _bottlenecks(run: Measured, summary: PointSummary) -> dict[str, tuple[str, int]]:
    """The bottleneck of each flow, and how many flows cross it, sampled or not."""
    across = crossing(run)
    links = {flow["name"]: flow["bottleneck"] or "" for flow in run.metrics["flows"]}
    return {
        flow.name: (links[flow.name], len(across.get(links[flow.name], [])))
        for flow in summary.flows
    }


_BACK = "reverse_jain"


def _style(variants: list[str], wheres: list[str], variant: str, where: str) -> dict[str, Any]:
    """Colour and marker of the variant; flows elsewhere have other, hollow markers."""
    firsts = [name.split(", ")[0] for name in variants]
    place, nth = variants.index(variant), wheres.index(where)
    style = look(firsts[place], firsts[:place].count(firsts[place]))
    colour = style.colour if variant else INK
    markers = "os^Dv<>"
    # A variant's own marker is that of its flows in the first place.
    marker = style.marker if variant else "o"
    others = [other for other in markers if other != marker]
    return {
        "marker": marker if nth == 0 else others[(nth - 1) % len(others)],
        "color": colour,
        "markerfacecolor": colour if nth == 0 else "white",
        "markeredgecolor": "white" if nth == 0 else colour,
        "markeredgewidth": 0.5 if nth == 0 else 1.1,
    }
