"""How much a metric differs between the runs of a sweep point: a box for each flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch, Rectangle

from cclab.drawing import legend
from cclab.drawing.palette import Looks
from cclab.report.figures.asked import ONE_FLOW, at_most
from cclab.report.figures.sweep import layout
from cclab.report.quantities import called, lent_in, measured, transfers_only, variants_of
from cclab.report.swept import beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.asked import Asked
    from cclab.report.figures.sweep import Place
    from cclab.report.quantities import Quantity

LEAST_RUNS = 5
"""Of fewer a box has no middle half to speak of."""

MOST_BOXES = 16
"""At one place of the axis; more cannot be told apart."""

TITLE = "Spread over runs"
CAPTION = (
    "Each dot is a run. A box holds the middle half of the runs of a sweep point, the line in it "
    "is their median, and the whiskers reach to the smallest and the largest. It says how runs "
    "differ, not how sure their mean is."
)
NEEDS = f"{LEAST_RUNS} runs of a sweep point or more"


def draw(results: Results, asked: Asked) -> Drawing | None:
    """The figure; None if no sweep point has enough runs.

    Raises `TooMuchError` if a place of the axis would have more than `MOST_BOXES`.
    """
    if max((len(point.runs) for point in results.points), default=0) < LEAST_RUNS:
        return None
    quantities = _quantities(results, asked)
    placed = layout(results, least=1)
    if not quantities or placed is None:
        return None
    series = list(dict.fromkeys(place.series for place in placed.places))
    lanes = len(series) * len(quantities)
    would = "{} boxes would stand over each place of its axis"
    at_most(MOST_BOXES, lanes, would, "told apart", ONE_FLOW)
    step = min(0.22, 0.8 / lanes)
    looks = Looks(lent_in(results))
    drawn: dict[str, Look] = {}
    samples = [(place, q, q.values(place.point)) for place in placed.places for q in quantities]
    known = [value for *_, values in samples for value in values if value is not None]
    if not known:
        return None
    largest = max(map(abs, known))
    unit = quantities[0].unit(largest)[0]
    sheet = placed.frame(quantities[0].label(largest), lanes)
    for place, quantity, values in samples:
        own = [value / unit for value in values if value is not None]
        label, variant = _label(place, quantity, placed.apart)
        style = drawn.setdefault(label, looks.of(label, variant))
        lane = series.index(place.series) * len(quantities) + quantities.index(quantity)
        if own:
            x = place.slot + (lane - (lanes - 1) / 2) * step
            _box(sheet.panels[place.panel], x, step, own, style)
    if min(known) >= 0:
        sheet.panels[0].set_ylim(0, 1.06 * max(known) / unit or 1)
    handles = [
        Patch(facecolor=(style.colour, _FILL), edgecolor=style.colour, label=label)
        for label, style in drawn.items()
        if label
    ]
    legend.above(sheet.figure, handles)
    return sheet.figure


def _quantities(results: Results, asked: Asked) -> list[Quantity]:
    """The quantities asked for; by default completion time of transfers, goodput of other flows."""
    if asked.metrics:
        return called(results, asked.metrics[0])
    transfers = all(transfers_only(point) for point in results.points if point.runs)
    times = measured(results, "fct_s") if transfers else []
    return times or measured(results, "goodput")


def _label(place: Place, quantity: Quantity, apart: tuple[str, ...]) -> tuple[str, str]:
    """What a box stands for, and the variant that it looks like."""
    flows = variants_of(place.point)
    variant, label = flows.get(quantity.owner, ("", quantity.owner))
    return beside(label, quantity.owner, apart, place.point.params), variant


_FILL = 0.22


def _box(axes: Axes, x: float, step: float, values: list[float], style: Look) -> None:
    least, low, median, high, most = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    half = 0.36 * step
    axes.add_patch(
        Rectangle(
            (x - half, low),
            2 * half,
            high - low,
            facecolor=(style.colour, _FILL),
            edgecolor=style.colour,
            linewidth=0.9,
            zorder=2,
        )
    )
    for foot, head in ((least, low), (high, most)):
        axes.plot([x, x], [foot, head], color=style.colour, linewidth=0.9, zorder=2)
    axes.plot([x - half, x + half], [median, median], color=style.colour, linewidth=1.8, zorder=3)
    # Runs that hardly differ lie beside each other, in the order of their seeds.
    places = x + half * 0.7 * np.linspace(-1, 1, len(values))
    axes.plot(
        places, values, linestyle="none", marker=".", markersize=3, color=style.colour, zorder=4
    )
